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

fn sample(cards: &Cards, rows: &[(UserKey, Card)], keys: &[UserKey]) {
    let _ = cards.put_all(rows);
    let _ = cards.merge_all(rows);
    let _ = cards.delete_all(keys);
    let _ = cards.delete_rows(UserKey::scan());
    let _ = cards.drop_rows(UserKey::scan());
}

fn main() {}
