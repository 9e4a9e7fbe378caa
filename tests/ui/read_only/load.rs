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

fn sample(whole: &Table<UserKey, Card>, cards: &Cards, rows: &[(UserKey, Card)]) {
    let _ = cards.load_iter(rows);
    let _ = cards.load(whole.scan(UserKey::scan()).stream());
}

fn main() {}
