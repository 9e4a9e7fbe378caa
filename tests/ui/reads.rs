//! Rows come from a stream, which code for lists and loops does not take.

use keyderive::{Error, Row, RowKey, Table};

#[derive(RowKey)]
struct EventKey {
    tenant: String,
    at: u64,
}

#[derive(Row)]
struct Event {
    kind: String,
    amount: i64,
}

async fn loops(events: Table<EventKey, Event>) -> Result<(), Error> {
    for row in events.scan(EventKey::scan().tenant("acme")).stream() {
        let _ = row;
    }
    let mut rows = events.scan(EventKey::scan().tenant("acme")).stream();
    for row in &mut rows {
        let _ = row;
    }
    for row in events.scan(EventKey::scan().tenant("acme")) {
        let _ = row;
    }
    for row in events.scan(EventKey::scan().tenant("acme")).collect() {
        let _ = row;
    }
    Ok(())
}

async fn methods_of_lists(events: Table<EventKey, Event>) -> Result<(), Error> {
    let mut scan = events.scan(EventKey::scan().tenant("acme"));
    while let Some(row) = scan.next().await {
        let (_, event) = row?;
        println!("{}", event.amount);
    }
    let mut export = events.export(EventKey::scan());
    while let Some(row) = export.next().await {
        let (_, event) = row?;
        println!("{}", event.amount);
    }
    let _sum = events.scan(EventKey::scan()).sum(Event::AMOUNT).await?;
    let _rows = events.scan(EventKey::scan()).take(10).collect().await?;
    Ok(())
}

async fn send(_: &str) -> Result<(), Error> {
    Ok(())
}

async fn async_visit(events: Table<EventKey, Event>) -> Result<(), Error> {
    events
        .scan(EventKey::scan().tenant("acme"))
        .visit::<EventKey, Error>(async |_, row| {
            let event = row.read::<Event>()?;
            send(&event.kind).await
        })
        .await?;
    Ok(())
}

struct Repository<K, R> {
    table: Table<K, R>,
}

impl<K, R> Repository<K, R> {
    async fn load(&self, key: &K) -> Result<Option<R>, Error> {
        self.table.get(key).await
    }

    async fn store(&self, key: &K, row: &R) -> Result<(), Error> {
        self.table.put(key, row).await
    }
}

fn main() {}
