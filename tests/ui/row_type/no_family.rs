use keyderive::Row;
use std::collections::BTreeMap;

#[derive(Row)]
struct Event {
    kind: String,
    #[row(family)]
    place: String,
    #[row(family)]
    numbers: BTreeMap<u32, f64>,
    #[row(family)]
    parts: BTreeMap<String, Option<f64>>,
}

fn main() {}
