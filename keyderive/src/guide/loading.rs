//! Loading and exporting many rows, with the work spread over all tablets.
//!
//! Rows written in key order go to one tablet at a time, and a scan from the start of a table to its end reads from one
//! tablet at a time. [`Table::load`](crate::Table::load) and [`Table::export`](crate::Table::export) use all tablets at
//! once, whatever the order of the input.
//!
//! ```
//! use keyderive::{Client, Row, RowKey};
//! # #[derive(RowKey)] #[salt(range = 4, over = "user_id")] struct EventKey { user_id: String, at: u64 }
//! # #[derive(Row)] struct Event { kind: String }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let client = Client::embedded();
//! let events = client.table::<EventKey, Event>("events");
//! events.create_if_absent().await?; // split by bucket, so the load starts with several tablets
//!
//! let input = (0..1000).map(|at| {
//!     (EventKey { user_id: format!("user-{}", at % 50), at }, Event { kind: "login".into() })
//! });
//! let mut stored = None;
//! let report = events
//!     .load_iter(input)
//!     .on_checkpoint(|checkpoint| stored = Some(checkpoint.clone()))
//!     .await?;
//! assert_eq!((report.written(), report.failed_count()), (1000, 0));
//!
//! let mut exported = 0;
//! let mut rows = events.export(EventKey::scan()).parallel(4).stream();
//! while let Some(row) = rows.next().await {
//!     let (_key, _event) = row?;
//!     exported += 1;
//! }
//! assert_eq!(exported, 1000);
//! # assert!(stored.is_some());
//! # Ok(())
//! # }
//! ```
//!
//! | to | use |
//! |---|---|
//! | write a few rows and wait for them | [`put_all`](crate::Table::put_all) |
//! | write rows one by one, in the background | [`writer`](crate::Table::writer) |
//! | write a finite file or stream | [`load`](crate::Table::load), [`load_iter`](crate::Table::load_iter) |
//! | write a stream to two tables, such as a table and its lookup | [`load`](crate::Table::load) for each table, or [`put_both`](crate::put_both) for each record |
//! | copy a table to one with another key type, or to another instance, while nobody writes | [`copy_to`](crate::Table::copy_to) |
//! | compare two tables, row by row and cell by cell | [`diff`](crate::Table::diff) |
//! | read a table as a stream, in no order | [`export`](crate::Table::export) |
//! | write a table as CSV or JSON lines | [`Flat`](crate::Flat), for each row of an export or a scan |
//! | read a table in parts, by workers in other processes | [`partitions`](crate::Table::partitions), [`export_parts`](crate::Table::export_parts) |
//!
//! A load writes rows in one of three modes:
//!
//! | mode | writes each row as | use it |
//! |---|---|---|
//! | default | `put`: replaces the whole row | |
//! | [`new_rows`](crate::load::Load::new_rows) | `insert`: deletes nothing | for keys that no row has |
//! | [`if_absent`](crate::load::Load::if_absent) | `put_if_absent`: keeps existing rows | while other programs write; it takes several times as long |
//!
//! With [`add_sums`](crate::load::Load::add_sums), the first two modes also add to [sums](#sums).
//!
//! Resume a load in the mode in which it began: its checkpoint does not store the mode.
//!
//! [`explain`](crate::Export::explain) on an export prints the requests of its scan and its partitions.
//!
//! # How a load runs
//!
//! A load partitions the key space where salt buckets begin and at the tablet boundaries that the service samples. It
//! reads 64 MiB ahead (the *look-ahead*) and sends 8 requests at a time, each to one partition, in an order that keeps
//! concurrent requests far apart. [`Load`](crate::load::Load) has the details and settings.
//!
//! Input in key order that is larger than the look-ahead covers few partitions at a time: shuffle it first, or increase
//! the look-ahead.
//!
//! A load that waits for its input for a long time may find that its table was [re-keyed or created again](super::tables#layout) meanwhile:
//! it then ends with an error that says how many of its rows may be in a table that is not read.
//!
//! # Resuming
//!
//! A [`Checkpoint`](crate::load::Checkpoint) says how far a load has come; serde serializes it. Store each one that
//! [`on_checkpoint`](crate::load::Load::on_checkpoint) passes to your closure. After a crash, pass the last one to
//! [`resume`](crate::load::Load::resume), with the same input in the same order.
//!
//! A load makes a checkpoint before the first row, one at its end, and one whenever the first 10,000, 20,000, 30,000 … rows of the
//! input are finished. Within the look-ahead, rows are written out of order. So the checkpoint for the first 10,000 rows comes when
//! the load has read far beyond them, and a load that is smaller than the look-ahead makes only the first and the last one. For
//! earlier checkpoints, set a smaller [`look_ahead`](crate::load::Load::look_ahead).
//!
//! A resumed load rewrites the rows that were written after the checkpoint: each cell gets one more version of the same
//! value. This also overwrites what others have written to these rows since, unless the load is
//! [`if_absent`](crate::load::Load::if_absent).
//!
//! A checkpoint also has the positions of the failed rows, and a resumed load retries them. So you can fix the input
//! and resume a load that ended with failed rows, with its report's
//! [`checkpoint`](crate::load::LoadReport::checkpoint): it reads the whole input and writes only these rows. The fix
//! must not change how many rows precede them.
//!
//! ```
//! # use keyderive::{Client, Row, RowKey};
//! # #[derive(RowKey)] struct UserKey { name: String }
//! # #[derive(Row)] struct User { age: u32 }
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let users = Client::embedded().table::<UserKey, User>("users");
//! # users.create_if_absent().await?;
//! let input = |names: [&'static str; 3]| names.map(|name| (UserKey { name: name.into() }, User { age: 42 }));
//! // One name contains the delimiter.
//! let report = users.load_iter(input(["alice", "bob#1", "carol"])).await?;
//! assert_eq!(report.checkpoint().failed(), [1]);
//!
//! let fixed = input(["alice", "bob-1", "carol"]);
//! let report = users.load_iter(fixed).resume(report.checkpoint().clone()).await?;
//! assert_eq!((report.read(), report.written()), (1, 1));
//! # Ok(())
//! # }
//! ```
//!
//! A checkpoint belongs to one table. The embedded Bigtable detects a table that was deleted and created again, or that
//! belongs to another [`Client::embedded`](crate::Client::embedded), and rejects the checkpoint. The service and the
//! emulator know a table only by its name: after you delete a table there or restart the emulator, load from the start,
//! without [`resume`](crate::load::Load::resume).
//!
//! # Sums
//!
//! By default, a load leaves each [`Sum`](crate::row::Sum), [`Min`](crate::row::Min) and [`Max`](crate::row::Max) as it is, so that
//! repeating a load adds nothing. With [`add_sums`](crate::load::Load::add_sums) it adds the values of the rows, each item once:
//!
//! ```
//! use keyderive::row::Sum;
//! # use keyderive::{Client, Row, RowKey};
//! # #[derive(RowKey)] struct DepotKey { depot: String }
//!
//! #[derive(Row)]
//! struct Depot {
//!     #[row(family = "sums")]
//!     parcels: Sum,
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let client = Client::embedded();
//! let depots = client.table::<DepotKey, Depot>("depots");
//! # depots.create_if_absent().await?;
//! let scans = ["north", "south", "north"];
//! let input = scans.map(|depot| (DepotKey { depot: depot.into() }, Depot { parcels: Sum::new(1) }));
//! depots.load_iter(input).add_sums().await?.all_written()?;
//! assert_eq!(depots.get(&DepotKey { depot: "north".into() }).await?.unwrap().parcels.get(), 2);
//! # Ok(())
//! # }
//! ```
//!
//! Each item has a token that stays the same when a load is resumed, so a server that [honours tokens](super::rows#sums-that-count-once)
//! counts it once. Servers remember tokens for 15 minutes. So store every checkpoint before `on_checkpoint` returns, and restart a killed
//! load within some minutes, from the last one:
//!
//! | a load | counts each item once if |
//! |---|---|
//! | that ends by itself, without failed rows | always |
//! | that ended because an item of its input was an error | you resume it, at any time, on any server |
//! | that was killed, or ended by another error | you resume it within 10 minutes, and the server honours tokens. Otherwise the resumed load fails, before it adds anything, with an error that names the items in doubt; with [`may_count_twice`](crate::load::Load::may_count_twice) it adds them, and the report names them |
//!
//! A smaller [`look_ahead`](crate::load::Load::look_ahead) makes these items fewer. [`Load`](crate::load::Load#sums) says what happens if
//! clocks are wrong. Where 10 minutes are too short, load one row for each event, under a key of its own, and count those: [messages that
//! arrive twice](super::rows#messages-that-arrive-twice).
//!
//! To add from a stream that does not end, use [`Writer::update`](crate::Writer::update) with [`Update::add`](crate::Update::add). A writer
//! has no checkpoint: after a kill, you cannot know which of the last additions were applied.
//!
//! # Copies
//!
//! [`copy_to`](crate::Table::copy_to) copies every cell of every row, with its timestamp, and compares both tables at the end. The tables
//! can belong to two clients, and so to two instances, projects or servers; [`diff`](crate::Table::diff) compares such tables too:
//!
//! ```
//! # use keyderive::{Client, Row, RowKey};
//! # #[derive(RowKey, Debug)] struct UserKey { id: u64 }
//! # #[derive(Row)] struct User { age: u32 }
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let (from, to) = (Client::embedded(), Client::embedded());
//! // let from = Client::cloud("my-project", "events-eu").await?;
//! // let to = Client::cloud("my-project", "events-us").await?;
//! let old = from.table::<UserKey, User>("users");
//! let new = to.table::<UserKey, User>("users");
//! # old.create_if_absent().await?;
//! # old.put(&UserKey { id: 7 }, &User { age: 42 }).await?;
//! new.create_if_absent().await?;
//! assert_eq!(old.copy_to(&new, |key, _| key).await?.copied(), 1);
//! # Ok(())
//! # }
//! ```
//!
//! All rows go through the program that copies, so run it near one of the instances. Its account needs
//! [`roles/bigtable.reader`](super::deployment#permissions) on the old table and `roles/bigtable.user` on the new one.
//! [`CopyTo`](crate::copy::CopyTo) says what it copies, its preconditions, and how to resume a copy.
//!
//! # Failed rows
//!
//! The report lists a row that could not be written as a [`FailedRow`](crate::load::FailedRow), with its position in
//! the input, its key and the reason. The load continues until more than
//! [`max_failures`](crate::load::Load::max_failures) rows have failed.
//! [`all_written`](crate::load::LoadReport::all_written) turns a report with failed rows into an error. A failure that
//! would hit every row ends the load with a [`LoadError`](crate::load::LoadError), whose checkpoint says where to
//! resume.
//!
//! # Sharing a cluster
//!
//! On a cluster that serves other work, build the client with [`throttle`](crate::client::ClientBuilder::throttle): it
//! limits bulk writes to the rate that the service asks for. Or route a load to a separate cluster with an app
//! profile, [`app_profile`](crate::client::ClientBuilder::app_profile).
