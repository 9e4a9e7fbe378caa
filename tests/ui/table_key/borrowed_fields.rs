use keyderive::RowKey;
use keyderive::key::TableKey;

#[derive(RowKey)]
struct EventKey<'a> {
    user_id: &'a str,
}

/// As `Client::table` asks.
fn table<K: TableKey>() {}

fn main() {
    table::<EventKey<'static>>();
}
