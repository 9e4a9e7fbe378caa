//! What needs a feature of keyderive that is off.

use std::collections::BTreeMap;

use chrono::NaiveDate;
use jiff::Timestamp;
use keyderive::query::FromQueryRow;
use keyderive::{Client, Row, RowKey};
use uuid::Uuid;

async fn embedded() -> Result<(), keyderive::Error> {
    let _in_memory = Client::embedded();
    let _in_a_file = Client::embedded_at("events.keyderive").await?;
    let _built = Client::builder().embedded();
    let _built_in_a_file = Client::builder().embedded_at("events.keyderive").await?;
    Ok(())
}

async fn cloud() -> Result<(), keyderive::Error> {
    let _client = Client::cloud("project", "instance").await?;
    let _built = Client::builder().cloud("project", String::from("instance")).await?;
    Ok(())
}

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
