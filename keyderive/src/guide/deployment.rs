//! Deployment: how a program gets to an emulator and to the cloud, and what to check there first.
//!
//! The same program runs on all three. What differs is the address:
//!
//! ```no_run
//! use keyderive::Client;
//!
//! # async fn sample() -> Result<(), keyderive::Error> {
//! let address = std::env::args().nth(1).expect("an address");
//! let client = Client::connect(&address).await?;
//! println!("tables are in the {}", client.target());
//! # Ok(())
//! # }
//! ```
//!
//! [`Client::connect`](crate::Client::connect) lists the forms of an address, such as `bigtable://my-project/my-instance`,
//! `emulator://localhost:8086` and `embedded:events.keyderive`. [`Client::from_env`](crate::Client::from_env) reads the
//! variables that Google's tools and clients know:
//!
//! | variable | what it names |
//! |---|---|
//! | `BIGTABLE_EMULATOR_HOST` | an emulator, as `host:port`; it goes before an instance of the cloud |
//! | `GOOGLE_CLOUD_PROJECT` | the project; `keyderive` at an emulator where it is not set |
//! | `BIGTABLE_INSTANCE` | the instance; `local` at an emulator where it is not set |
//! | `GOOGLE_APPLICATION_CREDENTIALS` | a file of credentials for the cloud, read by Google's own crate |
//!
//! An empty variable counts as not set. An instance without a project is an error, and so is an environment that names
//! neither an emulator nor an instance: no client writes to memory unless the program says so.
//!
//! # On the embedded Bigtable
//!
//! [`Client::embedded`](crate::Client::embedded) is in memory; [`Client::embedded_at`](crate::Client::embedded_at) keeps its
//! tables in a file. For tests, [`Bigtable::with_faults`](crate::embedded::Bigtable::with_faults) has calls fail, wait or
//! break as a seed or a script says. With the feature `serve`, or the program `keyderive-emulator` of the repository, it
//! serves `cbt` and the clients of other languages on a port. What peers may cost it has bounds, which
//! `keyderive-emulator --help` and `embedded::ServeSettings` list: connections, silence, unfinished requests, and how long
//! it may take to end.
//!
//! # On Google's emulator
//!
//! ```sh
//! gcloud beta emulators bigtable start --host-port=localhost:8086 &
//! BIGTABLE_EMULATOR_HOST=localhost:8086 cargo run
//! ```
//!
//! It needs no credentials and is never shown any. It keeps no row key schema and has no tablets, so splits change
//! nothing there, and [`verify`](crate::Table::verify) finds no schema; a marker is kept.
//!
//! # On the cloud
//!
//! The feature `cloud`, on by default, brings TLS and Google's credentials.
//!
//! ```no_run
//! use keyderive::Client;
//!
//! # #[cfg(feature = "cloud")]
//! # async fn sample() -> Result<(), keyderive::Error> {
//! let client = Client::builder().app_profile("serving").cloud("my-project", "my-instance").await?;
//! # Ok(())
//! # }
//! ```
//!
//! The client shows the application-default credentials: the file that `GOOGLE_APPLICATION_CREDENTIALS` names, the one
//! that `gcloud auth application-default login` leaves, or the service account of the machine. The first token is
//! fetched when the client is made, so that a program without credentials does not start. Others come by
//! [`credentials`](crate::client::ClientBuilder::credentials).
//!
//! This release has not been run against the service itself.
//!
//! # Permissions
//!
//! | role | what it allows |
//! |---|---|
//! | `roles/bigtable.reader` | reads, scans, counts, `partitions`, `export`, `verify` |
//! | `roles/bigtable.user` | the same, and writes, loads, `drop_rows`, a marker in a family that is there |
//! | `roles/bigtable.admin` | the same, and tables and families created, changed and deleted |
//!
//! A service that creates its tables when it starts asks for more than it needs afterwards. Create them in a step of its
//! own, by an account with the admin role, and let the service [`verify`](crate::Table::verify). For a custom role:
//!
//! | permission | for |
//! |---|---|
//! | `bigtable.tables.readRows` | every read; with `mutateRows`, conditional writes, increments and appends |
//! | `bigtable.tables.mutateRows` | every write, `drop_rows` |
//! | `bigtable.tables.sampleRowKeys` | `load`, `export`, `partitions` |
//! | `bigtable.instances.ping` | connections made ready before they are used; without it, a warning |
//! | `bigtable.tables.get` | `verify`, `info`, `create_if_absent`, `vouch`; the check of the [layout](super::tables#layout) before the first request, without it a warning |
//! | `bigtable.tables.list` | `list_tables` |
//! | `bigtable.tables.create`, `update`, `delete` | `create`, `create_if_absent`; `modify_families`, `vouch`, `write_marker` where its family is not there; `delete_table` |
//! | `bigtable.tables.generateConsistencyToken`, `checkConsistency` | `wait_for_consistency` |
//!
//! The roles and permissions are those of Google's page
//! [Access control with IAM](https://cloud.google.com/bigtable/docs/access-control).
//!
//! # App profiles
//!
//! Requests go by the instance's default profile unless [`app_profile`](crate::client::ClientBuilder::app_profile) names
//! another. Conditional writes, increments, appends and markers are single-row transactions: they need a profile with
//! single-cluster routing that allows them, and fail by one with multi-cluster routing. With more than one cluster, such
//! a profile is also what makes a program read its own writes. Profiles for serving and for batch work keep one from
//! slowing down the other: make a client for each.
//!
//! # Splits
//!
//! A table is split when it is created, or by the load that it gets. [`create_if_absent`](crate::Table::create_if_absent)
//! splits by salt bucket; name further keys before a large first load, as [`tables`](super::tables#splits) says.
//!
//! # The first deployment
//!
//! ```
//! use keyderive::{Client, RowKey};
//! # #[derive(RowKey)] #[salt(range = 4, over = "user_id")] struct EventKey { user_id: String, #[reverse_ts] at: u64 }
//! # #[derive(serde::Serialize, serde::Deserialize)] struct Event { kind: String }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), keyderive::Error> {
//! # let client = Client::embedded();
//! let events = client.table::<EventKey, Event>("events");
//!
//! // Once, by whoever may create tables.
//! events.create_if_absent().await?;
//!
//! // At every start of the service: an error, with both sides, where the table is another one than this program's.
//! events.verify().await?;
//! # Ok(())
//! # }
//! ```
//!
//! 1. Pin the layout of each key type with `#[row_key(fingerprint = "…")]`, so that a change of it fails the build.
//! 2. Verify at the start, and write only after it. The table [vouches](super::tables#layout) for the layout of its keys,
//!    so that a program of another layout fails then, and at its first request at the latest.
//! 3. Where Terraform or another tool declares the table, have it ignore the [families](super::tables#layout) that
//!    keyderive adds.
//! 4. Print the [`explain`](crate::plan::Plan::explain) of each query once: the number of requests is its cost.
//! 5. Write some rows and look at them with `cbt read`; load with [`throttle`](crate::client::ClientBuilder::throttle)
//!    where others share the cluster.
//! 6. After a day, look at [Key Visualizer](https://cloud.google.com/bigtable/docs/keyvis-overview): a bright diagonal is a
//!    key that only grows, a bright horizontal line a few rows that take more than their share.
//!
//! # Running it
//!
//! - Make one client and clone it: clones share connections. [`Client::close`](crate::Client::close) lets what is in
//!   flight end, and gives streams up that nobody polls for 10 s.
//! - A client makes 4 connections to the cloud, makes them ready before they are used, and renews each before Google's
//!   front ends close it. [`ClientBuilder`](crate::client::ClientBuilder) has every knob.
//! - [`client`](crate::client) lists the spans and warnings of `tracing`, and the metrics of the feature `metrics`, by table.
//!   From the level info up, no row key and no value is in it. An error that the program logs has both, unless it logs
//!   [`redacted`](crate::Error::redacted).
//!
//! Three lines show each operation in a terminal when it ends, by the crate `tracing-subscriber`:
//!
//! ```
//! tracing_subscriber::fmt()
//!     .with_span_events(tracing_subscriber::fmt::format::FmtSpan::CLOSE)
//!     .init();
//! ```
//!
//! ```text
//! INFO bigtable{operation="ReadRows" table="users" attempts=1 code="OK" rows=1 bytes=67}: keyderive::client::observe: close time.busy=210µs time.idle=1.30ms
//! ```
//!
//! # Features
//!
//! | feature | default | what it brings |
//! |---|---|---|
//! | `client` | yes | the client, rows by serde, tables: tokio and tonic |
//! | `embedded` | yes | the Bigtable inside the process |
//! | `serve` | no | the embedded Bigtable on a port, for other processes and languages |
//! | `cloud` | no | Google Cloud itself: TLS and Google's credentials |
//! | `metrics` | no | what operations take and come to, by the crate `metrics` |
//! | `chrono` | no | `DateTime<Utc>` and `NaiveDate` as key fields |
//! | `jiff` | no | `Timestamp` and `civil::Date` as key fields |
//! | `time` | no | `OffsetDateTime`, `UtcDateTime` and `Date` as key fields |
//! | `uuid` | no | `Uuid` as a key field |
//!
//! Without default features keys and plans alone remain, without tokio and tonic:
//! [`Plan::requests`](crate::plan::Plan::requests) is plain data for any other client.
