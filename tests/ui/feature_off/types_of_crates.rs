use std::collections::BTreeMap;

use chrono::NaiveDate;
use jiff::Timestamp;
use keyderive::query::FromQueryRow;
use keyderive::{Row, RowKey};
use uuid::Uuid;

#[derive(RowKey)]
struct EventKey {
    user_id: String,
    id: Uuid,
}

#[derive(Row)]
struct Event {
    at: Timestamp,
    day: Option<NaiveDate>,
}

#[derive(Row)]
struct Span {
    #[row(ts(unit = "millis"))]
    ends: Timestamp,
}

#[derive(Row)]
struct Meter {
    #[row(family)]
    daily: BTreeMap<NaiveDate, u64>,
}

#[derive(FromQueryRow)]
struct Found {
    at: Timestamp,
}

fn main() {}
