//! Keys and rows that a table cannot have.

use keyderive::key::TableKey;
use keyderive::{Client, Row, RowKey, Table};

#[derive(RowKey)]
struct Key {
    id: u64,
}

#[derive(RowKey)]
struct LentKey<'a> {
    user_id: &'a str,
}

#[derive(Row)]
struct Lent<'a> {
    kind: &'a str,
}

struct Event;

fn no_row(client: &Client) {
    let _ = client.table::<Key, Event>("events");
}

async fn borrowed_row(table: &Table<Key, Lent<'static>>, key: &Key) {
    let _ = table.get(key).await;
}

/// As `Client::table` asks.
fn table<K: TableKey>() {}

fn main() {
    table::<LentKey<'static>>();
}
