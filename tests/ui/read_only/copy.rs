use keyderive::table::ReadOnly;
use keyderive::{Row, RowKey, Table};

#[derive(RowKey, Debug)]
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

fn sample(whole: &Table<UserKey, Card>, cards: &Cards) {
    // A part is a source, and either side of a comparison.
    let _ = cards.copy_to(whole, |key, _| key);
    let _ = cards.diff(whole, |key, _| key);
    let _ = whole.diff(cards, |key, _| key);
    let _ = whole.copy_to(cards, |key, _| key);
}

fn main() {}
