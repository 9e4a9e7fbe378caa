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

fn sample(cards: &Cards) {
    let _ = cards.row_types();
    let _ = cards.retire_row_type("0123456789abcdef");
}

fn main() {}
