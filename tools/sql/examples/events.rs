//! Queries of a table of events on an embedded Bigtable, and what they read.

use std::error::Error;
use std::sync::Arc;

use datafusion::prelude::SessionConfig;
use keyderive::dynamic::TableLayout;
use keyderive::{Client, Row, RowKey};
use keyderive_datafusion::Exact;

#[derive(RowKey)]
#[salt(range = 4, over = "user_id,site")]
struct EventKey {
    user_id: String,
    site: String,
    #[reverse_ts]
    at: u64,
}

#[derive(Row)]
struct Event {
    kind: String,
    amount: Option<f64>,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let client = Client::embedded();
    let events = client.table::<EventKey, Event>("events");
    events.create_if_absent().await?;
    let rows = (0..1000_u64).map(|at| {
        let user_id = ["alice", "bob", "carol"][at as usize % 3].to_owned();
        let site = ["home", "shop"][at as usize % 2].to_owned();
        let amount = (at % 5 == 0).then_some(at as f64 / 4.0);
        (EventKey { user_id, site, at }, Event { kind: "click".into(), amount })
    });
    events.put_all(rows.collect::<Vec<_>>()).await?;

    let exact = Exact::new(SessionConfig::new());
    let layout = TableLayout::of::<EventKey, Event>("events");
    exact.context().register_table("events", Arc::new(exact.table(&client, &layout)?))?;
    for sql in [
        "SELECT user_id, count(*), sum(amount) FROM events GROUP BY user_id ORDER BY user_id",
        "SELECT at, kind, amount FROM events WHERE user_id = 'alice' AND site = 'home' ORDER BY at DESC LIMIT 3",
        "EXPLAIN SELECT at, kind FROM events WHERE user_id = 'alice' AND site = 'home' ORDER BY at DESC LIMIT 3",
    ] {
        exact.sql(sql).await?.show().await?;
    }
    Ok(())
}
