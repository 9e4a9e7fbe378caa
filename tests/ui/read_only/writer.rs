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
    let _ = cards.writer();
    let _ = cards.writer_with(|settings| settings.batch_entries = 1);
}

fn main() {}
