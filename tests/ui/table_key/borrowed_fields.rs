use keyderive::RowKey;
use keyderive::key::OwnedRowKey;

#[derive(RowKey)]
struct EventKey<'a> {
    user_id: &'a str,
}

/// As `Client::table` asks.
fn table<K: OwnedRowKey>() {}

fn main() {
    table::<EventKey<'static>>();
}
