//! Testing a service: an embedded Bigtable for each test, clocks that you move, faults, and waits in virtual time.
//!
//! In tests, give your service a [`Client`](crate::Client) of an embedded [`Bigtable`](crate::embedded::Bigtable), from the feature
//! `embedded`. Make one for each test: it starts at once and empty, and ends with its last client. It rejects what the service rejects. For
//! [SQL](super::sql), give it [an engine](super::sql#sql-in-tests).
//!
//! ```toml
//! [dev-dependencies]
//! keyderive = { path = "../keyderive/keyderive", features = ["embedded"] }
//! tokio = { version = "1", features = ["macros", "rt", "test-util"] }
//! ```
//!
//! `test-util` lets a test pause tokio's clock.
//!
//! # Time
//!
//! | clock | what it moves | how a test moves it |
//! |---|---|---|
//! | the Bigtable's | times that the server gives to cells, garbage collection, the 15 minutes of idempotency tokens; in the clients of this Bigtable, [`Client::now`](crate::Client::now), and with it everything that compares or writes the times of cells: `ttl`, the check that a value is not written with a timestamp that the garbage collection rule would remove at once, the timestamp of a write on a compared `version`, the start times of idempotency tokens, the comparisons of `diff` and `Migration::verify`, the warning about cells in the future, and the bounds of `#[salt(since)]` | [`advance`](crate::embedded::Bigtable::advance), [`set_time`](crate::embedded::Bigtable::set_time) |
//! | tokio's | timeouts, deadlines, backoff, hedging, the leases and pauses of a re-keying, the delays of faults | `tokio::time::pause` and `advance`, or `#[tokio::test(start_paused = true)]` |
//! | the machine's | `SystemTime::now`, [`Timestamped::now`](crate::row::Timestamped::now) | it does not |
//!
//! [`with_timeout`](crate::Table::with_timeout) uses tokio's clock. [`with_deadline`](crate::Table::with_deadline) takes an instant of the
//! machine, which has already passed if a paused clock has run ahead: with `start_paused`, use `with_timeout`.
//!
//! No clock moves another one. tokio's clock, paused, jumps to the next timer whenever the program is idle, even to a timer inside the
//! client; if rows aged with it, they would expire by accident.
//!
//! ```
//! use std::time::{Duration, UNIX_EPOCH};
//!
//! use keyderive::embedded::Bigtable;
//! use keyderive::row::{Sum, Versions};
//! use keyderive::{Client, Error, Row, RowKey};
//!
//! #[derive(RowKey)]
//! struct UserKey {
//!     user: String,
//! }
//!
//! #[derive(Row)]
//! #[row(ttl = "1h")]
//! struct Session {
//!     token: String,
//! }
//!
//! #[derive(Row)]
//! struct Visits {
//!     #[row(family = "hourly", window = "1h", gc(max_age = "90d"))]
//!     hourly: Versions<Sum>,
//! }
//!
//! /// The service counts visits in the window of the client's time, so that a test can move it.
//! async fn visit(client: &Client, key: &UserKey) -> Result<(), Error> {
//!     let now = client.now().duration_since(UNIX_EPOCH).unwrap_or_default();
//!     let micros = i64::try_from(now.as_micros()).unwrap_or(i64::MAX);
//!     client.table::<UserKey, Visits>("visits").update(key).add_at(Visits::HOURLY, micros, 1).await
//! }
//!
//! # // A doc test leaves out functions with `#[tokio::test]`, so a macro makes this one a function that `main` calls.
//! # macro_rules! called_by_main {
//! #     (#[tokio::test] $($test:tt)*) => { #[tokio::main(flavor = "current_thread")] $($test)* };
//! # }
//! # called_by_main! {
//! #[tokio::test]
//! async fn sessions_expire_after_an_hour() -> Result<(), Error> {
//!     let bigtable = Bigtable::in_memory();
//!     let client = bigtable.client();
//!     let sessions = client.table::<UserKey, Session>("sessions");
//!     sessions.create_if_absent().await?;
//!     let visits = client.table::<UserKey, Visits>("visits");
//!     visits.create_if_absent().await?;
//!
//!     let key = UserKey { user: "ada".to_owned() };
//!     sessions.put(&key, &Session { token: "t".to_owned() }).await?;
//!     visit(&client, &key).await?;
//!     bigtable.advance(Duration::from_secs(3601));
//!     visit(&client, &key).await?;
//!
//!     assert!(sessions.get(&key).await?.is_none(), "the session has expired");
//!     assert_eq!(visits.get(&key).await?.map(|visits| visits.hourly.len()), Some(2));
//!     Ok(())
//! }
//! # }
//! # fn main() -> Result<(), Error> {
//! #     sessions_expire_after_an_hour()
//! # }
//! ```
//!
//! [`set_time`](crate::embedded::Bigtable::set_time) stops the clock at a time, for tests that compare timestamps; it cannot be restarted.
//! Clients on a port use their own machine's clock: `ttl` ignores a moved server clock, and once the server's clock is 15 minutes ahead of
//! theirs, it rejects their additions to sums as too old.
//!
//! # Garbage collection
//!
//! The embedded Bigtable removes cells at once when they are eligible for garbage collection. The service returns them for up to a week,
//! sometimes longer. A service that takes `max_age` for the end of a row has a bug that this shows: after
//! [`pause_garbage_collection`](crate::embedded::Bigtable::pause_garbage_collection), eligible cells stay. Collection stays paused for the
//! Bigtable and its clones; nothing resumes it. [`collect_garbage`](crate::embedded::Bigtable::collect_garbage) collects once. Test before
//! it and after it; the attribute `ttl` makes both the same for reads.
//!
//! # Faults
//!
//! [`with_faults`](crate::embedded::Bigtable::with_faults) returns the same tables on a server that fails; it shares the clock, and whether
//! garbage collection is paused. A [`FaultRule`](crate::embedded::FaultRule) is one fault: an error, before or after the call takes effect,
//! a delay, a broken stream, or rows split into chunks. It selects calls by method, table and key prefix, and can skip the first n, stop
//! after n, or hit at random. The same calls in the same order meet the same faults.
//!
//! ```
//! use std::time::Duration;
//!
//! use keyderive::embedded::{Bigtable, Fault, FaultRule, Faults, Method};
//! # use keyderive::{Row, RowKey};
//! # #[derive(RowKey)] struct UserKey { id: u64 }
//! # #[derive(Row)] struct User { name: String }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), keyderive::Error> {
//! // With `#[tokio::test(start_paused = true)]`, the delays and the client's backoff take no time.
//! # tokio::time::pause();
//! let bigtable = Bigtable::in_memory();
//! let users = bigtable.client().table::<UserKey, User>("users");
//! users.create_if_absent().await?;
//!
//! // The first write is applied, and its answer is lost; all reads take 100 ms.
//! let lost = FaultRule::fail(Fault::unavailable().after_the_call()).methods([Method::MutateRow]).times(1);
//! let slow = FaultRule::delay(Duration::from_millis(100)).methods([Method::ReadRows]).tables(["users"]);
//! let faulty = bigtable.with_faults(Faults::seeded(1).rule(lost).rule(slow));
//! // Without the requests to the registry, which count as well.
//! let client = faulty.client().with(|settings| settings.registry = false);
//! let users = client.table::<UserKey, User>("users");
//! users.put(&UserKey { id: 7 }, &User { name: "Ada".to_owned() }).await?;
//! assert!(users.get(&UserKey { id: 7 }).await?.is_some());
//! assert_eq!(faulty.calls(Method::MutateRow), 2);
//! # Ok(())
//! # }
//! ```
//!
//! # Waits in virtual time
//!
//! With `#[tokio::test(start_paused = true)]`, from tokio's feature `test-util`, the clock of timeouts and backoff jumps as soon as all
//! tasks wait. A re-keying, which waits several times about 7 s for leases to end, then takes less than a second:
//!
//! ```
//! # use std::time::{Duration, Instant};
//! # use keyderive::embedded::Bigtable;
//! # use keyderive::{Row, RowKey};
//! # #[derive(RowKey, Debug)] struct OldKey { user: String, at: u64 }
//! # #[derive(RowKey, Debug)] #[salt(range = 4, over = "user")] struct NewKey { user: String, at: u64 }
//! # impl From<OldKey> for NewKey { fn from(OldKey { user, at }: OldKey) -> Self { Self { user, at } } }
//! # impl From<&NewKey> for OldKey {
//! #     fn from(NewKey { user, at }: &NewKey) -> Self { Self { user: user.clone(), at: *at } }
//! # }
//! # #[derive(Row, Debug, PartialEq)] struct Event { kind: String }
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), keyderive::Error> {
//! # tokio::time::pause();
//! let client = Bigtable::in_memory().client();
//! let events = client.table::<OldKey, Event>("events");
//! events.create().await?;
//! let key = |at| OldKey { user: "ada".to_owned(), at };
//! events.put(&key(1), &Event { kind: "login".to_owned() }).await?;
//!
//! let waited = tokio::time::Instant::now();
//! let rekeyed = client.rekeyed::<OldKey, NewKey, Event>("events", "events-2").await?;
//! let migration = rekeyed.migration();
//! let moves = async {
//!     migration.run().await?;
//!     assert!(migration.verify().await?.is_equal());
//!     migration.finish().await
//! };
//! // The service goes on meanwhile.
//! let writes = async {
//!     for at in 2..50 {
//!         rekeyed.put(&NewKey::from(key(at)), &Event { kind: "click".to_owned() }).await?;
//!         tokio::time::sleep(Duration::from_millis(200)).await;
//!     }
//!     Ok(())
//! };
//! tokio::try_join!(moves, writes)?;
//! assert!(waited.elapsed() > Duration::from_secs(7), "in virtual time");
//! let moved = client.table::<NewKey, Event>("events-2");
//! assert_eq!(moved.scan(NewKey::scan()).count().await?, 49);
//! # Ok(())
//! # }
//! ```
//!
//! This works with tables in memory and in a file, but not with a client on a port: while it waits for its socket, tokio takes the program
//! for idle, and its timeouts expire at once.
//!
//! # Files, and more than one process
//!
//! Only one process at a time can open a file. If a test, a service and `cbt` need the same tables, one of them serves the file: `keyderive
//! serve --file events.keyderive`, or `Bigtable::serve` with the feature `serve`. The others use
//! [`Client::emulator`](crate::Client::emulator). Do the same if a file is large and each test would open it.
//!
//! Opening reads the whole file twice: redb verifies the checksum of each page, without which a damaged page would hide rows, and
//! then finds the free pages. An optimized program needs about 0.5 s of processor time for 257 MB. Without optimization redb needs
//! ten times as much, 5 s, mostly for zero-filled buffers and checksums. Optimize redb alone in the `Cargo.toml` of your workspace, and
//! a debug build opens a file as fast:
//!
//! ```toml
//! [profile.dev.package.redb]
//! opt-level = 3
//! ```
