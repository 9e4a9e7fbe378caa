use keyderive::{Row, RowKey, Table};

#[derive(RowKey)]
struct Key {
    id: u64,
}

#[derive(Row)]
struct Lent<'a> {
    kind: &'a str,
}

async fn sample(table: &Table<Key, Lent<'static>>, key: &Key) {
    let _ = table.get(key).await;
}

fn main() {}
