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

fn sample(cards: &Cards, key: &UserKey) {
    let _ = cards.update(key).set(Card::NAME, "Corrie").clear(Card::LOG);
    let _ = cards.increment(key, Card::VISITS, 1);
    let _ = cards.append(key, Card::LOG, "in ");
    let _ = cards.modify(key).increment(Card::VISITS, 1);
}

fn main() {}
