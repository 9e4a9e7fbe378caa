use std::collections::BTreeMap;

use keyderive::Row;

#[derive(Row)]
struct Event {
    #[row(alias = "days:first")]
    first: Option<i64>,
    #[row(alias = "place:town")]
    town: Option<String>,
    #[row(family)]
    days: BTreeMap<String, i64>,
    #[row(family)]
    place: Option<Place>,
}

#[derive(Row)]
struct Place {
    city: String,
}

fn main() {}
