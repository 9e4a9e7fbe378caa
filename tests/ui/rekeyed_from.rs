//! Key types that take the place of others, and tables that are re-keyed.

use keyderive::table::rekey::Rekeyed;
use keyderive::{Row, RowKey};

#[derive(RowKey, Clone, Debug)]
struct Old {
    user_id: String,
    #[pad(4)]
    seq: u32,
}

#[derive(RowKey, Clone, Debug)]
#[row_key(rekeyed_from = Old)]
struct OtherType {
    #[row_key(was = "user_id")]
    user: String,
    #[pad(4)]
    seq: u64,
}

#[derive(RowKey, Clone, Debug)]
#[row_key(rekeyed_from = Old)]
struct OneIsLeft {
    user_id: String,
}

#[derive(RowKey, Clone, Debug)]
#[row_key(rekeyed_from = Old)]
struct NoSuchField {
    #[row_key(was = "user")]
    user: String,
    user_id: String,
    #[pad(4)]
    seq: u32,
}

#[derive(RowKey, Clone, Debug)]
#[salt(range = 4, over = "user_id")]
struct ByHand {
    user_id: String,
    seq: u32,
}

impl From<Old> for ByHand {
    fn from(Old { user_id, seq }: Old) -> Self {
        Self { user_id, seq }
    }
}

impl From<&ByHand> for Old {
    fn from(ByHand { user_id, seq }: &ByHand) -> Self {
        Self { user_id: user_id.clone(), seq: *seq }
    }
}

#[derive(RowKey, Clone, Debug)]
#[row_key(rekeyed_from = Old)]
#[salt(range = 4, over = "user_id")]
struct Declared {
    user_id: String,
    seq: u32,
}

#[derive(Row)]
struct Card {
    title: String,
}

fn one_plan(cards: &Rekeyed<Old, ByHand, Card>) {
    let _ = cards.scan(ByHand::scan());
    let _ = cards.count(ByHand::scan());
    let _ = cards.partitions();
    let _ = cards.delete_rows(ByHand::scan());
}

fn one_table(cards: &Rekeyed<Old, Declared, Card>) {
    let _ = cards.load_iter([(Declared { user_id: "alice".into(), seq: 7 }, Card { title: "first".into() })]);
    let _ = cards.drop_rows(Declared::scan().user_id("alice"));
    let _ = cards.export(Declared::scan());
    let _ = cards.sizes();
}

fn main() {}
