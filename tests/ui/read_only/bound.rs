use keyderive::table::{OneTable, Reads};
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

fn sample<S: Reads>(cards: &Table<UserKey, Card, S>, key: &UserKey, card: &Card) {
    let _ = cards.put(key, card);
    let _ = cards.count(UserKey::scan());
}

fn one_table<S: OneTable>(cards: &Table<UserKey, Card, S>) {
    let _ = cards.writer();
}

fn main() {}
