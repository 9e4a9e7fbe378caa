//! Columns, their values and their conditions.

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
    text: String,
    size: u64,
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

mod visits {
    #[derive(keyderive::Row)]
    pub struct Visit {
        pub kind: String,
        note: Option<String>,
    }
}

fn columns(events: &Table<Key, Event>, key: &Key) {
    let _ = events.update(key).set(Event::KINDS, Kind::Login);
    let _ = events.increment(key, Event::VIEW, 1);
    let _ = events.select(Event::NOTES);
    let _ = Event::AMOUNTS.less_than(1.5);
    let _ = events.update(key).set(Order::TOTAL, 3);
    let _ = events.select(Order::TOTAL);
    let _ = events.delete_if(key, Order::TOTAL.exists());
    let _ = events.update(key).set("kind", Kind::Login);
    let _ = visits::Visit::KIND;
    let _ = visits::Visit::NOTE;
}

fn values(events: &Table<Key, Event>, key: &Key) {
    let _ = events.update(key).set(Event::AMOUNT, 3);
    let _ = events.update(key).set(Event::VIEWS, "3");
    let _ = Event::AMOUNT.equals(3);
    let _ = events.update(key).set(Event::NOTE, None::<String>);
    let _ = events.update(key).clear(Event::KIND);
    let _ = events.update(key).set(Event::STATE, "new");
    let _ = events.update(key).add_version(Event::NOTE, 1000, "new");
    let _ = events.update(key).set(Event::HITS, 3);
    let _ = events.update(key).add(Event::VIEWS, 1);
    let _ = events.update(key).increment(Event::VIEWS, 1);
    let _ = events.increment(key, Event::AMOUNT, 1);
    let _ = events.append(key, Event::AMOUNT, "x");
}

fn conditions() {
    let _ = Event::HITS.at_least(3);
    let _ = Event::TAGS.equals(vec![]);
    let _ = Event::KIND.less_than(Kind::Logout);
    let _ = Event::TEXT.equals("buy") && Event::SIZE.at_least(7);
    let _ = Event::TEXT.eq("login");
    let _ = Event::SIZE.gt(5);
    let _ = Event::TEXT.not_equals("login");
    let _ = Event::NOTE.is_none();
    let _ = Event::SIZE.in_range(3..5);
    let _ = Event::TEXT.contains("in");
}

fn main() {}
