//! A table that only reads, and one that is re-keyed.

use keyderive::table::rekey::Rekeyed;
use keyderive::table::{OneTable, ReadOnly, Reads};
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

fn administration(cards: &Cards) {
    let _ = cards.create();
    let _ = cards.stamp();
    let _ = cards.row_types();
    let _ = cards.retire_row_type("0123456789abcdef");
}

fn rows(cards: &Cards, key: &UserKey, card: &Card) {
    let _ = cards.put(key, card);
    let _ = cards.merge(key, card);
    let _ = cards.delete(key);
}

fn conditions(cards: &Cards, key: &UserKey, card: &Card) {
    let _ = cards.put_if(key, card, Card::NAME.absent());
    let _ = cards.put_if_absent(key, card);
    let _ = cards.delete_if(key, Card::NAME.absent());
}

fn columns(cards: &Cards, key: &UserKey) {
    let _ = cards.update(key).set(Card::NAME, "Corrie").clear(Card::LOG);
    let _ = cards.increment(key, Card::VISITS, 1);
    let _ = cards.append(key, Card::LOG, "in ");
    let _ = cards.modify(key).increment(Card::VISITS, 1);
    let _ = cards.update_all([]);
}

fn many_rows(cards: &Cards, rows: &[(UserKey, Card)], keys: &[UserKey]) {
    let _ = cards.put_all(rows);
    let _ = cards.merge_all(rows);
    let _ = cards.delete_all(keys);
    let _ = cards.delete_rows(UserKey::scan());
    let _ = cards.drop_rows(UserKey::scan());
    let _ = cards.writer();
    let _ = cards.writer_with(|settings| settings.batch_entries = 1);
}

fn two_tables(whole: &Table<UserKey, Card>, cards: &Cards, rows: &[(UserKey, Card)], key: &UserKey, card: &Card) {
    let _ = cards.load_iter(rows);
    let _ = cards.load(whole.scan(UserKey::scan()).stream());
    let _ = keyderive::table::put_both((whole, key, card), (cards, key, card));
    // A part is a source, and either side of a comparison.
    let _ = cards.copy_to(whole, |key, _| key);
    let _ = cards.diff(whole, |key, _| key);
    let _ = whole.diff(cards, |key, _| key);
    let _ = whole.copy_to(cards, |key, _| key);
}

fn bound<S: Reads>(cards: &Table<UserKey, Card, S>, key: &UserKey, card: &Card) {
    let _ = cards.put(key, card);
    let _ = cards.count(UserKey::scan());
}

fn bound_of_one_table<S: OneTable>(cards: &Table<UserKey, Card, S>) {
    let _ = cards.writer();
}

#[derive(RowKey, Clone, Debug)]
struct Old {
    id: u64,
}

#[derive(RowKey, Clone, Debug)]
#[salt(range = 4, over = "id")]
struct New {
    id: u64,
}

impl From<Old> for New {
    fn from(Old { id }: Old) -> Self {
        Self { id }
    }
}

impl From<&New> for Old {
    fn from(New { id }: &New) -> Self {
        Self { id: *id }
    }
}

fn rekeyed(cards: &Rekeyed<Old, New, Card>, key: &New, card: &Card) {
    let _ = cards.export(New::scan());
    let part = cards.rows_as::<Card>();
    let _ = part.scan_both(New::scan(), Old::scan());
    let _ = part.put(key, card);
}

fn main() {}
