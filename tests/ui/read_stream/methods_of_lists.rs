use keyderive::{Row, RowKey, Table};

#[derive(RowKey)]
struct EventKey {
    tenant: String,
    at: u64,
}

#[derive(Row)]
struct Event {
    amount: i64,
}

async fn read(events: Table<EventKey, Event>) -> Result<(), keyderive::Error> {
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

fn main() {
    let _ = read;
}
