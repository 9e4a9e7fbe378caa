use keyderive::{ReadOnly, Row, RowKey, Table};

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

fn sample(whole: &Table<UserKey, Card>, cards: Cards) {
    let _ = keyderive::load::load_tables(cards, whole.scan(UserKey::scan()).stream());
}

fn main() {}
