use keyderive::{Error, Row, RowKey, Table};

#[derive(RowKey)]
struct EventKey {
    tenant: String,
    at: u64,
}

#[derive(Row)]
struct Event {
    kind: String,
}

async fn send(_: &str) -> Result<(), Error> {
    Ok(())
}

async fn read(events: Table<EventKey, Event>) -> Result<(), Error> {
    events
        .scan(EventKey::scan().tenant("acme"))
        .visit::<EventKey, Error>(async |_, row| {
            let event = row.read::<Event>()?;
            send(&event.kind).await
        })
        .await?;
    Ok(())
}

fn main() {
    let _ = read;
}
