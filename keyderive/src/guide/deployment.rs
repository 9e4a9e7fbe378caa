//! Deployment: connecting to an emulator and to the cloud, permissions, and a checklist.
//!
//! The same program runs on the embedded Bigtable, on Google's emulator and on the cloud. Only the address differs:
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
//! [`Client::connect`](crate::Client::connect) lists the forms of an address, such as
//! `bigtable://my-project/my-instance`, `emulator://localhost:8086` and `embedded:events.keyderive`.
//! [`Client::from_env`](crate::Client::from_env) reads such an address, as the command and the examples do, or else the variables of
//! Google's tools and clients:
//!
//! | variable | meaning |
//! |---|---|
//! | `KEYDERIVE_ADDRESS` | an address; takes precedence over the others |
//! | `BIGTABLE_EMULATOR_HOST` | an emulator, as `host:port`; takes precedence over a cloud instance |
//! | `GOOGLE_CLOUD_PROJECT` | the project; the default for an emulator is `keyderive` |
//! | `BIGTABLE_INSTANCE` | the instance; the default for an emulator is `local` |
//! | `GOOGLE_APPLICATION_CREDENTIALS` | a credentials file for the cloud, which Google's own crate reads |
//!
//! An empty variable counts as unset. An instance without a project is an error, and so is an environment that names
//! none of them: a client never falls back to an in-memory Bigtable.
//!
//! # On the embedded Bigtable
//!
//! [`Client::embedded`](crate::Client::embedded) keeps tables in memory,
//! [`Client::embedded_at`](crate::Client::embedded_at) in a file. In tests, move its clock and inject failures, delays and broken streams:
//! [testing a service](super::testing).
//!
//! With the feature `serve`, or the command `keyderive serve`, the embedded Bigtable serves `cbt`
//! and clients in other languages on a port. The server limits connections, idle time, unfinished requests and the time
//! to shut down; `keyderive serve --help` and `embedded::ServeSettings` list the limits.
//!
//! # On Google's emulator
//!
//! ```sh
//! gcloud beta emulators bigtable start --host-port=localhost:8086 &
//! BIGTABLE_EMULATOR_HOST=localhost:8086 cargo run
//! ```
//!
//! The emulator needs no credentials, and the client never sends it any. It stores no row key schema, so
//! [`verify`](crate::Table::verify) finds none. It has no tablets, so splits have no effect.
//!
//! # On the cloud
//!
//! The feature `cloud`, on by default, adds TLS and Google's credentials.
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
//! The client uses application default credentials: the file that `GOOGLE_APPLICATION_CREDENTIALS` names, the one that
//! `gcloud auth application-default login` writes, or the service account of the machine. It fetches the first token
//! when it is created, so a program without credentials fails at startup.
//! [`credentials`](crate::client::ClientBuilder::credentials) sets other credentials.
//!
//! Google's own crate caches the token and fetches the next one 4 min before it expires. Your own
//! [`Credentials`](crate::client::Credentials) must cache theirs. If the server rejects a token, the client fetches another and sends the
//! request once more.
//!
//! | what goes wrong | calls |
//! |---|---|
//! | there is no token, and a later attempt to fetch one may succeed | are retried until their timeout, and fail with [`MissingCredentials`](crate::ErrorKind::MissingCredentials) and [`is_deadline_exceeded`](crate::Error::is_deadline_exceeded) |
//! | there is no token, and retrying cannot help | fail at once, with [`MissingCredentials`](crate::ErrorKind::MissingCredentials); calls work again once a token can be fetched |
//! | the source of tokens does not answer | fail at their timeout, with [`is_deadline_exceeded`](crate::Error::is_deadline_exceeded) |
//! | the server rejects the second token too | fail with [`is_permission_denied`](crate::Error::is_permission_denied) |
//! | the server's certificate is for another name, has expired, or is of an unknown authority | are retried until their timeout, and fail with [`is_unavailable`](crate::Error::is_unavailable); `Client::cloud` succeeds, and logs a warning |
//!
//! A server with such a certificate gets neither requests nor tokens. The text of the error has `invalid peer certificate: ` and then
//! `certificate not valid for name …`, `certificate expired: …` or `UnknownIssuer`.
//!
//! Behind a proxy that intercepts TLS, give its certificate authority to `ClientBuilder::root_certificates`. It is trusted for
//! Bigtable's endpoints only, and not for the servers of Google's tokens: let requests for tokens bypass the proxy, or set
//! [`credentials`](crate::client::ClientBuilder::credentials) of your own.
//!
//! # Checks on the service
//!
//! The tests run all this against servers of their own: TLS, the metadata server, the keys of service accounts and users. This release has
//! not been tested on the service itself. These checks need an instance of your own, and about ten minutes; number 6 runs for over an hour.
//!
//! 1. Log in (`gcloud auth application-default login`) and run a program that creates a table, puts a row and reads it. Then run it
//!    where the service will run: with the service account of the machine, or the workload identity of the cluster.
//! 2. As an account with no role but `roles/bigtable.user`, call `get`. Take the role away and wait some minutes, until the change
//!    has taken effect: `get` fails with [`is_permission_denied`](crate::Error::is_permission_denied).
//! 3. `cbt ls events` shows the stamp family `keyderive.…`; `verify` passes and finds the row key schema.
//! 4. Run `EventKey::sql()` in Bigtable Studio over some rows, and compare it with the decoded keys. If `FARM_FINGERPRINT` is
//!    unknown there, leave out the first expression, the salt's.
//! 5. Use an app profile with multi-cluster routing: conditional writes fail, and the text names single-row transactions.
//! 6. Let a program run for over an hour: the client refreshes connections at 45 to 50 min, and the token before it expires, without an
//!    error.
//! 7. Add to a `Sum` with [`Update::add`](crate::Update::add), with `Some(true)` for
//!    [`Settings::idempotency_tokens`](crate::client::Settings::idempotency_tokens), and with `Some(false)`: each addition counts
//!    once. This shows that the service accepts the tokens, but not that a retry after a lost response counts once.
//! 8. `println!("{}", scan.explain_analyze().await?)` shows how many rows the service has read.
//! 9. Run a [query](super::sql) with a parameter.
//!
//! # Permissions
//!
//! | role | allows |
//! |---|---|
//! | `roles/bigtable.reader` | reads, scans, counts, [SQL](super::sql), `partitions`, `sizes`, `export`, `verify` |
//! | `roles/bigtable.user` | the same, and writes, loads, `drop_rows`, and the [registry](super::tables#registry) if it exists |
//! | `roles/bigtable.admin` | the same, and creating, changing and deleting tables and families |
//!
//! A service that creates its tables at startup needs the admin role for that alone. Create them in a separate step, by
//! an account with the admin role, and let the service call [`verify`](crate::Table::verify); for all tables of a program,
//! [`Layouts::create_if_absent`](crate::layouts::Layouts::create_if_absent) and [`Layouts::verify`](crate::layouts::Layouts::verify). For a custom role:
//!
//! | permission | for |
//! |---|---|
//! | `bigtable.tables.readRows` | all reads, also of the table `keyderive`, by which [row types are compared](super::tables#registry): without the permission there, the client logs a warning and proceeds; with `mutateRows`, conditional writes, increments and appends |
//! | `bigtable.tables.mutateRows` | all writes, `drop_rows` |
//! | `bigtable.instances.executeQuery` | SQL: `PrepareQuery` and `ExecuteQuery`; with `readRows` on the table |
//! | `bigtable.tables.sampleRowKeys` | `load`, `export`, `partitions`, `sizes`, `copy_to`, `diff`, `stamp`, `verify_rows`; `check`, `run`, `verify` and `roll_back` of a [re-keying](crate::rekey) |
//! | `bigtable.instances.ping` | [priming](crate::client::ClientBuilder::prime) connections; without it, a warning |
//! | `bigtable.tables.get` | `verify`, `info`, `create_if_absent`, `stamp`, `rekeyed`; the [layout check](super::tables#layout) before the first request: without the permission, the client logs a warning and proceeds. [`delete_versions`](crate::row::Mutation::delete_versions) with bounds that are not whole milliseconds: without the permission, the write fails |
//! | `bigtable.tables.list` | `list_tables` |
//! | `bigtable.clusters.list`, `bigtable.hotTablets.list` | `hot_tablets` |
//! | `bigtable.tables.create`, `update`, `delete` | `create`, `create_if_absent`; `modify_families`, `stamp`, `advance_stamp`, `create_if_absent` on a table of other key types; the first of them creates the [registry](super::tables#registry); `remove_row_key_schema`; `delete_table`. A re-keying: `create` and `update` for `run`, `update` for `finish` and `roll_back` |
//! | `bigtable.tables.generateConsistencyToken`, `checkConsistency` | `wait_for_consistency` |
//!
//! Google's page [Access control with IAM](https://cloud.google.com/bigtable/docs/access-control) describes the roles
//! and permissions.
//!
//! # App profiles
//!
//! Requests use the instance's default profile unless [`app_profile`](crate::client::ClientBuilder::app_profile) sets
//! another.
//!
//! - Conditional writes, increments, appends and the registry's record of a table are single-row transactions. They need a profile with
//!   single-cluster routing that allows them; they fail with multi-cluster routing.
//! - With more than one cluster, a program reads its own writes only with single-cluster routing.
//! - Separate profiles keep batch work from slowing down serving. Make a client for each.
//! - Timeouts, overload and what to alert on: [a service under load](super::serving).
//!
//! # Splits
//!
//! You can split a table only when you create it; later, the service splits it under load.
//! [`create_if_absent`](crate::Table::create_if_absent) splits by salt bucket. Add [more splits](super::tables#splits)
//! before a large first load.
//!
//! # The first deployment
//!
//! ```
//! use keyderive::{Client, Row, RowKey};
//! # #[derive(RowKey)] #[salt(range = 4, over = "user_id")] struct EventKey { user_id: String, #[reverse_ts] at: u64 }
//! # #[derive(Row)] struct Event { kind: String }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), keyderive::Error> {
//! # let client = Client::embedded();
//! let events = client.table::<EventKey, Event>("events");
//!
//! // Once, by an account that may create tables.
//! events.create_if_absent().await?;
//!
//! // At every start of the service: fails, and shows both sides, if the table differs from the program's types.
//! events.verify().await?;
//! # Ok(())
//! # }
//! ```
//!
//! 1. Commit a [file of the layouts](super::layouts) of all tables, which a test compares with the types: a change fails the test, and the
//!    message says what it does to stored rows.
//! 2. Call `verify` at startup, before the first write, with a [timeout](crate::Table::with_timeout) of some seconds. The table's
//!    [stamp](super::tables#layout) records the layout of its keys, so a program with another layout fails then, or at its first request at
//!    the latest.
//! 3. If Terraform or another tool declares the table, let it declare or ignore the [families](super::tables#layout) that
//!    keyderive adds; `keyderive codegen --hcl` writes what Terraform needs.
//! 4. Print [`explain_analyze`](crate::Scan::explain_analyze) of each query once, on a table of real size: its cost is the rows that the
//!    server reads, returned or not, [not the number of requests](super::scans#what-a-scan-costs).
//! 5. Write some rows and look at them with `cbt read`. Load with [`throttle`](crate::client::ClientBuilder::throttle)
//!    if others share the cluster.
//! 6. After a day, look at [Key Visualizer](https://cloud.google.com/bigtable/docs/keyvis-overview). A bright diagonal
//!    is a growing key; a bright horizontal line is a few rows that take more than their share.
//!
//! # Operation
//!
//! - Make one client and clone it: clones share connections. [`Client::close`](crate::Client::close) waits for
//!   operations in flight. It cancels streams that are not polled for 10 s.
//! - A client opens 4 connections to the cloud, primes them before use, and refreshes each before Google's front ends
//!   close it. [`ClientBuilder`](crate::client::ClientBuilder) lists the settings.
//! - [`client`](crate::client) lists the `tracing` spans and warnings, and the metrics of the feature `metrics`. Row
//!   keys and values are never logged at info or above. If your program logs an error, log
//!   [`redacted`](crate::Error::redacted) to keep them out.
//!
//! These lines print each operation to the terminal when it ends, with the crate `tracing-subscriber`:
//!
//! ```
//! tracing_subscriber::fmt()
//!     .with_span_events(tracing_subscriber::fmt::format::FmtSpan::CLOSE)
//!     .init();
//! ```
//!
//! ```text
//! INFO bigtable{operation="ReadRows" table="users" attempts=1 code="OK" rows=1 bytes=67}: keyderive::operation: close time.busy=210µs time.idle=1.30ms
//! ```
//!
//! [The front page](crate#features) lists the features of the crate.
