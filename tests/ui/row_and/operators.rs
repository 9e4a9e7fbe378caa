use keyderive::{Row, RowKey, Table};

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

async fn read(events: Table<EventKey, Event>) -> Result<(), keyderive::Error> {
    let buys = Event::KIND.equals("buy");
    events.scan(EventKey::scan()).matching(buys.clone() && Event::AMOUNT.at_least(7)).count().await?;
    events.scan(EventKey::scan()).matching(buys.clone() || Event::AMOUNT.at_least(7)).count().await?;
    events.scan(EventKey::scan()).matching(buys.clone() & Event::AMOUNT.at_least(7)).count().await?;
    events.scan(EventKey::scan()).matching(!buys).count().await?;
    events.scan(EventKey::scan()).matching(Event::KIND == "buy").count().await?;
    Ok(())
}

fn main() {
    let _ = read;
}
