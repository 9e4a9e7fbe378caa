use keyderive::row::{Sum, Versions};
use keyderive::{Cell, Row, RowKey, Table};

#[derive(RowKey)]
struct Key {
    id: u64,
}

#[derive(Cell)]
enum Kind {
    Login,
    Logout,
}

#[derive(Row)]
struct Event {
    kind: Kind,
    amount: f64,
    note: Option<String>,
    #[row(counter)]
    views: i64,
    #[row(json)]
    tags: Vec<String>,
    #[row(family = "h")]
    state: Versions<String>,
    #[row(family = "sums")]
    hits: Sum,
}

#[derive(Row)]
struct Order {
    total: i64,
}

fn sample(events: &Table<Key, Event>, key: &Key) {
    let _ = events.update(key).clear(Event::KIND);
}

fn main() {}
