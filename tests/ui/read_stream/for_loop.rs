use keyderive::{Row, RowKey, Table};

#[derive(RowKey)]
struct EventKey {
    tenant: String,
    at: u64,
}

#[derive(Row)]
struct Event {
    kind: String,
}

async fn read(events: Table<EventKey, Event>) -> Result<(), keyderive::Error> {
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

fn main() {
    let _ = read;
}
