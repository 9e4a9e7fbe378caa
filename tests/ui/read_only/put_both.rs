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

fn sample(whole: &Table<UserKey, Card>, cards: &Cards, key: &UserKey, card: &Card) {
    let _ = keyderive::table::put_both((whole, key, card), (cards, key, card));
}

fn main() {}
