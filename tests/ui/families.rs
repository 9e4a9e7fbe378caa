//! Types that a family cannot have.

use std::collections::BTreeMap;

use keyderive::Row;

#[derive(Row)]
struct Event {
    kind: String,
    #[row(family)]
    place: Place,
    #[row(family)]
    text: String,
    #[row(family)]
    numbers: BTreeMap<u32, f64>,
    #[row(family)]
    parts: BTreeMap<String, Option<f64>>,
}

#[derive(Row)]
struct Place {
    city: String,
    #[row(family)]
    inner: Inner,
}

#[derive(Row)]
struct Inner {
    floor: i32,
}

#[derive(Row)]
struct Numbered {
    #[row(family)]
    daily: BTreeMap<u32, f64>,
}

fn main() {}
