use keyderive::table::ReadOnly;
use keyderive::{Row, RowKey, Table};

#[derive(RowKey)]
struct UserKey {
    id: u64,
}

#[derive(Row)]
struct Card {
    name: String,
    visits: Option<i64>,
    log: Option<String>,
}

type Cards = Table<UserKey, Card, ReadOnly>;

fn sample(cards: &Cards, key: &UserKey, card: &Card) {
    let _ = cards.put(key, card);
    let _ = cards.merge(key, card);
    let _ = cards.delete(key);
}

fn main() {}
