use std::collections::BTreeMap;

use keyderive::query::FromQueryRow;
use keyderive::{Row, RowKey};

#[derive(RowKey)]
struct EventKey {
    id: uuid::Uuid,
}

#[derive(Row)]
struct Event {
    at: jiff::Timestamp,
    day: Option<chrono::NaiveDate>,
    #[row(ts(unit = "millis"))]
    ends: jiff::Timestamp,
    #[row(family)]
    daily: BTreeMap<chrono::NaiveDate, u64>,
}

#[derive(FromQueryRow)]
struct Found {
    at: jiff::Timestamp,
}

fn main() {}
