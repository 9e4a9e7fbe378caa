//! Users by last access: the latest accesses of all users, in logical shards, and the history of one user, newest
//! first.
//!
//! ```sh
//! cargo run --example sharded_users                                               # in memory
//! KEYDERIVE_ADDRESS=emulator://localhost:8086 cargo run --example sharded_users   # on an emulator
//! ```

use std::error::Error;

use jiff::{Timestamp, ToSpan as _};
use keyderive::table::{KeyOnly, put_both};
use keyderive::{Client, Row, RowKey, Scan, Table};

/// The time comes first, for the latest of all users. Alone it would send every write to one end of the table, and
/// would not compile; three shards, by the hash of the whole key, spread the writes.
#[derive(RowKey, Debug)]
#[salt(range = 3, over = "last_access,user_id")]
struct RecentKey {
    #[row_key(desc, ts(unit = "millis"))]
    last_access: Timestamp,
    #[pad(10)]
    user_id: u64,
}

/// The user comes first, so that the start of a user's rows is the recent history.
#[derive(RowKey, Debug)]
struct HistoryKey {
    #[pad(10)]
    user_id: u64,
    #[row_key(desc, ts(unit = "millis"))]
    last_access: Timestamp,
}

#[derive(Row, Debug)]
struct Access {
    page: String,
}

struct Users {
    history: Table<HistoryKey, Access>,
    recent: Table<RecentKey, Access>,
}

impl Users {
    /// Writes an access to both tables, and deletes the user's previous access from `recent`. Two concurrent visits of
    /// one user may both stay in `recent`; that user's next visit deletes only the later one.
    async fn visit(&self, user_id: u64, at: Timestamp, page: &str) -> Result<(), Box<dyn Error>> {
        let before = self.last_before(user_id, at).collect().await?;
        let access = Access { page: page.to_owned() };
        let (history, recent) =
            (HistoryKey { user_id, last_access: at }, RecentKey { user_id, last_access: at });
        put_both((&self.history, &history, &access), (&self.recent, &recent, &access)).await?;
        for HistoryKey { user_id, last_access } in before {
            self.recent.delete(&RecentKey { user_id, last_access }).await?;
        }
        Ok(())
    }

    fn last_before(&self, user_id: u64, at: Timestamp) -> Scan<HistoryKey, KeyOnly> {
        let before = HistoryKey::scan().user_id(user_id).last_access_range(..at);
        self.history.scan(before).keys_only().limit(1)
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    // An address, such as `emulator://localhost:8086` or `bigtable://my-project/my-instance`; in memory if unset.
    let address = std::env::var("KEYDERIVE_ADDRESS").unwrap_or_else(|_| "embedded:".to_owned());
    let client = Client::connect(&address).await?;
    println!("target: {}", client.target());
    println!("{}\n{}\n", RecentKey::SCHEMA, HistoryKey::SCHEMA);

    let users = Users { history: client.table("users-history"), recent: client.table("users-recent") };
    users.history.create_if_absent().await?;
    users.recent.create_if_absent().await?;
    let begin = Timestamp::from_millisecond(1426535612156)?;
    let pages = ["home", "cart", "search"];
    // A visit every minute; each of 12 users comes five times.
    for n in 0..60_i64 {
        let (user_id, page) =
            (1 + 7 * n.unsigned_abs() % 12, pages[n.unsigned_abs() as usize / 5 % pages.len()]);
        users.visit(user_id, begin + n.minutes(), page).await?;
    }
    println!(
        "{} accesses, {} users\n",
        users.history.count(HistoryKey::scan()).await?,
        users.recent.count(RecentKey::scan()).await?,
    );

    println!("{}\n", users.last_before(8, begin).explain()?);

    let latest = users.recent.scan(RecentKey::scan()).limit(5);
    println!("{}", latest.explain()?);
    for (key, access) in latest.collect().await? {
        println!("{} user {:2}: {}", key.last_access, key.user_id, access.page);
    }

    let since = users.recent.scan(RecentKey::scan().last_access_range(begin + 57.minutes()..));
    println!("\n{}", since.explain()?);
    for (key, access) in since.collect().await? {
        println!("{} user {:2}: {}", key.last_access, key.user_id, access.page);
    }

    // Range bounds ascend, even when rows arrive newest first.
    let history = users.history.scan(HistoryKey::scan().user_id(8).last_access_range(begin + 15.minutes()..));
    println!("\n{}", history.explain()?);
    for (key, access) in history.collect().await? {
        println!("{} user {:2}: {}", key.last_access, key.user_id, access.page);
    }
    Ok(())
}
