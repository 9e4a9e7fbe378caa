//! The program of `README.md`, word for word, which a test compares.
//!
//! ```sh
//! cargo run --example quickstart
//! ```

use keyderive::{Client, Row, RowKey};

#[derive(RowKey)]
#[salt(range = 4, over = "user_id,site")] // four buckets, by a hash of the user and the site
struct EventKey {
    user_id: String,
    site: String,
    #[reverse_ts] // newest first
    at: u64,
    #[pad(6)]
    seq: u32,
}

#[derive(Row)]
struct Event {
    kind: String,
    amount: f64,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let client = Client::embedded(); // a Bigtable in this process; `Client::cloud` connects to Google's
    let events = client.table::<EventKey, Event>("events");
    events.create_if_absent().await?; // split by salt bucket

    let event = |site: &str| {
        let key = EventKey { user_id: "alice".into(), site: site.into(), at: 1426535612156, seq: 42 };
        (key, Event { kind: "order".into(), amount: 9.5 })
    };
    events.put_all(["shop", "home", "docs", "blog", "mail", "news", "search"].map(event)).await?;

    let scan = events.scan(EventKey::scan().user_id("alice"));
    println!("{}\n", scan.explain()?); // what it will request
    for (key, Event { kind, amount }) in scan.collect().await? {
        println!("{}  {kind} {amount}", key.to_text()?);
    }

    let (home, _) = event("home");
    assert!(events.get(&home).await?.is_some()); // one point read: the key says its bucket
    Ok(())
}
