use std::collections::BTreeMap;

use keyderive::Row;

#[derive(Row)]
struct Meter {
    #[row(family)]
    daily: BTreeMap<u32, f64>,
}

fn main() {}
