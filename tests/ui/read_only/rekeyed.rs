use keyderive::table::rekey::Rekeyed;
use keyderive::{Row, RowKey};

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

#[derive(Row)]
struct Card {
    name: String,
}

fn sample(cards: &Rekeyed<Old, New, Card>, key: &New, card: &Card) {
    let _ = cards.writer();
    let _ = cards.export(New::scan());
    let part = cards.rows_as::<Card>();
    let _ = part.scan(New::scan(), Old::scan());
    let _ = part.put(key, card);
}

fn main() {}
