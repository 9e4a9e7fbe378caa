//! Loading and exporting: many rows, with every tablet spared.
//!
//! Rows that are written in the order of their keys go to one tablet at a time, and so does a scan that reads a table
//! from its start to its end. [`Table::load`](crate::Table::load) and [`Table::export`](crate::Table::export) work on all
//! of a table at once, whatever the order of the input.
//!
//! ```
//! use keyderive::{Client, RowKey};
//! # #[derive(RowKey)] #[salt(range = 4, over = "user_id")] struct EventKey { user_id: String, at: u64 }
//! # #[derive(serde::Serialize, serde::Deserialize)] struct Event { kind: String }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let client = Client::embedded();
//! let events = client.table::<EventKey, Event>("events");
//! events.create_if_absent().await?; // split by bucket, so that the load has several tablets from the start
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
//! | for | use |
//! |---|---|
//! | a few rows that must be there before the program goes on | [`put_all`](crate::Table::put_all) |
//! | rows that come one by one, for as long as the program runs | [`writer`](crate::Table::writer) |
//! | a file or a stream with an end | [`load`](crate::Table::load), [`load_iter`](crate::Table::load_iter) |
//! | a table into a stream, in no order | [`export`](crate::Table::export) |
//! | a table in parts, for workers in other processes | [`partitions`](crate::Table::partitions), [`export_parts`](crate::Table::export_parts) |
//!
//! A load has three forms. As it is, each row replaces the one that is there, whole, as `put` does.
//! [`new_rows`](crate::load::Load::new_rows) deletes nothing, as `insert`, for keys that no row has.
//! [`if_absent`](crate::load::Load::if_absent) leaves rows as they are that the table has, as `put_if_absent`, for loads beside
//! live writers; it takes several times as long. Resume a load in the form in which it began: its checkpoint does not know
//! it.
//!
//! [`explain`](crate::Export::explain) on an export says what its scan asks for, and into which partitions it is cut.
//!
//! # How a load runs
//!
//! It cuts the key space where salt buckets begin and where the service samples tablets, reads 64 MiB ahead, and sends
//! requests of one partition each, 8 at a time, in an order in which neighbours are far apart.
//! [`Load`](crate::load::Load) says the whole of it, with what can be set.
//!
//! Input in the order of the keys that is larger than the look-ahead has rows of few partitions in it at a time: shuffle it
//! first, or look further ahead.
//!
//! # Resuming
//!
//! [`on_checkpoint`](crate::load::Load::on_checkpoint) hands out a [`Checkpoint`](crate::load::Checkpoint), data of serde,
//! before the first row, and then whenever 10,000 further rows, from the beginning of the input, are all dealt with. Rows are
//! sent out of order within the look-ahead, so checkpoints come once the input is well beyond it, of 64 MiB unless set: a load
//! of less has one at its end, and a smaller [`look_ahead`](crate::load::Load::look_ahead) has them sooner. Store it; after
//! the death of the process give it to
//! [`resume`](crate::load::Load::resume) with the same input in the same order. Rows after it that had been written are
//! written again, each whole: one more version of the same values, which also replaces what others have written to these
//! rows meanwhile, unless the load is [`if_absent`](crate::load::Load::if_absent).
//!
//! The rows that failed are not forgotten: a checkpoint has their places, and a resumed load tries them again. So a load
//! that has come to its end with failed rows is resumed with its report's
//! [`checkpoint`](crate::load::LoadReport::checkpoint) too, once the input is mended: it reads all of it, and writes these
//! rows alone. What is mended must not change how many rows are before them.
//!
//! ```
//! # use keyderive::{Client, RowKey};
//! # #[derive(RowKey)] struct UserKey { name: String }
//! # #[derive(serde::Serialize, serde::Deserialize)] struct User { age: u32 }
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let users = Client::embedded().table::<UserKey, User>("users");
//! # users.create_if_absent().await?;
//! let input = |names: [&'static str; 3]| names.map(|name| (UserKey { name: name.into() }, User { age: 42 }));
//! // The delimiter is in a name.
//! let report = users.load_iter(input(["alice", "bob#1", "carol"])).await?;
//! assert_eq!(report.checkpoint().failed(), [1]);
//!
//! let mended = input(["alice", "bob-1", "carol"]);
//! let report = users.load_iter(mended).resume(report.checkpoint().clone()).await?;
//! assert_eq!((report.read(), report.written()), (1, 1));
//! # Ok(())
//! # }
//! ```
//!
//! A checkpoint is of one table. The embedded Bigtable tells a table that was deleted and made anew, or is in another
//! [`Client::embedded`](crate::Client::embedded), and refuses the checkpoint of the one before. The service and the
//! emulator know a table by its name alone: after deleting one there, or when the emulator has been started anew, load
//! from the beginning, without [`resume`](crate::load::Load::resume).
//!
//! # What failed
//!
//! A row that cannot be written is a [`FailedRow`](crate::load::FailedRow) of the report, with its place in the input,
//! its key and the reason, and the load goes on until more than
//! [`max_failures`](crate::load::Load::max_failures) have failed. [`all_written`](crate::load::LoadReport::all_written)
//! makes an error of them. A failure that would be that of every row ends the load with a
//! [`LoadError`](crate::load::LoadError), whose checkpoint is where to resume.
//!
//! # Leaving room for others
//!
//! On a cluster that serves other work, make the client with [`throttle`](crate::client::ClientBuilder::throttle): writes
//! of many rows are then held to the rate that the service asks for. An app profile of its own, by
//! [`app_profile`](crate::client::ClientBuilder::app_profile), routes a load to a cluster of its own.
