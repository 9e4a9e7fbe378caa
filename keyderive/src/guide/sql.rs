//! Bigtable's SQL: queries, parameters, results.
//!
//! Bigtable runs SQL itself, over one table at a time: filters, aggregates, time travel. Use it for what a [scan](super::scans) cannot do:
//! groups, aggregates, expressions over columns. For a range of keys use a scan: it also runs on an emulator, resumes after the last row,
//! and reports [its cost](crate::client::ReadStats). Google's service runs SQL, and so does the embedded Bigtable [in
//! tests](#sql-in-tests); Google's emulator does not. For joins, see the crate `keyderive-datafusion`.
//!
//! ```no_run
//! use keyderive::Client;
//!
//! # async fn sample() -> Result<(), keyderive::Error> {
//! let client = Client::cloud("shop", "orders").await?;
//! let counts: Vec<(String, i64)> = client
//!     .query("SELECT user_id, COUNT(*) AS n FROM events WHERE salt = @salt GROUP BY user_id")
//!     .bind("salt", "0")
//!     .fetch()
//!     .await?;
//!
//! let mut rows = client.query("SELECT _key, cf['kind'] FROM events").rows::<(bytes::Bytes, Option<bytes::Bytes>)>();
//! while let Some(row) = rows.next().await {
//!     let (key, kind) = row?;
//! }
//! # Ok(())
//! # }
//! ```
//!
//! `_key` is the row key, `cf['kind']` the newest value of a column, also if a `ttl` hides it from reads: both are `BYTES`. Rows become
//! [tuples](crate::query::FromQueryRow), structs with [`#[derive(FromQueryRow)]`](derive@crate::query::FromQueryRow), or a
//! [`QueryRow`](crate::query::QueryRow) whose columns have names. A wrong type is an error that names the query, the column and its
//! type. [`query`](crate::query) lists the types.
//!
//! # Parameters
//!
//! Write `@name` in the text and [`bind`](crate::client::Query::bind) its value. Parameters prevent SQL injection: no value can change what
//! the query means. They also save requests: the client prepares each text once, by `PrepareQuery`, and caches the prepared query until it
//! expires, while a text with values written into it costs a `PrepareQuery` each time. A client and its clones cache up to 1,000 prepared
//! queries; one more clears the cache.
//!
//! # Key fields as columns
//!
//! A table that keyderive creates has a [row key schema](super::tables) if the layout of its keys allows one: each field of the key
//! is a column. In the text layout these columns are strings. [`Schema::sql`](crate::key::Schema::sql) has an expression for each, which
//! casts it to its type and undoes the reversal of times:
//!
//! ```
//! use keyderive::RowKey;
//!
//! #[derive(RowKey)]
//! #[salt(range = 4, over = "user_id")]
//! struct EventKey {
//!     user_id: String,
//!     #[reverse_ts]
//!     at: u64,
//! }
//!
//! println!("{}", EventKey::SCHEMA.sql()?);
//! # Ok::<(), keyderive::key::SqlError>(())
//! ```
//!
//! These expressions have not been run on the service yet, and we have not verified that Bigtable's SQL has `FARM_FINGERPRINT`, which
//! recomputes the salt. Numbers above `i64::MAX` fail the query. [`Sql`](crate::key::Sql#limits) lists the limits, and the [deployment
//! page](super::deployment#checks-on-the-service) says how to check them.
//!
//! # Worked queries
//!
//! Two queries of a table of events whose keys have a salt, a user and a time, newest first:
//!
//! ```no_run
//! use std::time::{Duration, SystemTime};
//!
//! use keyderive::query::FromQueryRow;
//! use keyderive::{Client, RowKey};
//!
//! #[derive(RowKey)]
//! #[salt(range = 4, over = "user_id")]
//! struct EventKey {
//!     user_id: String,
//!     #[reverse_ts]
//!     at: SystemTime,
//! }
//!
//! /// The events of a user on a day.
//! #[derive(FromQueryRow)]
//! struct Daily {
//!     user_id: String,
//!     day: SystemTime,
//!     events: u64,
//! }
//!
//! # async fn sample(client: Client) -> Result<(), Box<dyn std::error::Error>> {
//! let sql = EventKey::sql()?;
//! let at = sql.field("at").ok_or("the key has no such field")?; // a TIMESTAMP, from the stored digits
//!
//! // Of all users: the server reads the whole table.
//! let text = format!(
//!     "SELECT user_id, TIMESTAMP_TRUNC({at}, DAY) AS day, COUNT(*) AS events FROM events GROUP BY user_id, day"
//! );
//! for Daily { user_id, day, events } in client.query(&text).fetch().await? {
//!     println!("{user_id}: {events} events on {day:?}");
//! }
//!
//! // Of one user, the last hour. The parts of a key's text are the columns as they are stored. A later time has a smaller
//! // number, since it is reversed: "at or after" is `<=`.
//! let hour_ago = SystemTime::now() - Duration::from_secs(3600);
//! let key = EventKey { user_id: "alice".into(), at: hour_ago }.to_text()?;
//! let [salt, user_id, at] = key.split('#').collect::<Vec<_>>()[..] else {
//!     return Err("the key has a salt and two fields".into());
//! };
//! let counts: Vec<(i64,)> = client
//!     .query("SELECT COUNT(*) FROM events WHERE salt = @salt AND user_id = @user_id AND at <= @at")
//!     .bind("salt", salt)
//!     .bind("user_id", user_id)
//!     .bind("at", at)
//!     .fetch()
//!     .await?;
//! # Ok(())
//! # }
//! ```
//!
//! The second query compares columns as they are stored, from the left, salt first: only such conditions let the server seek; others scan
//! the table. A condition on an expression, such as `{at} >= @since`, selects the same rows, but the server must compute it for every row.
//!
//! # What the client promises
//!
//! A query is a read: transient failures are retried, within [`prepare_query`](crate::client::Settings::prepare_query) and
//! [`execute_query`](crate::client::Settings::execute_query). The server sends rows in batches with checksums, and then a resume
//! token. The client verifies each checksum, delivers only rows that a resume token follows, and resumes after the last resume
//! token. So no row is lost, and none comes twice.
//!
//! The client buffers rows as received and decodes each when it delivers it. It buffers at most 256 MiB of rows that no resume token
//! follows yet, counted as received; the buffer can take twice as much memory, 512 MiB. It decodes at most 4,194,304 values of a row,
//! including those in arrays, structs and maps, at 40 bytes each plus the bytes of texts. Beyond that the query fails with an error that
//! names the limit. [`fetch`](crate::client::Query::fetch) holds all rows in the program's own type.
//!
//! The timeouts of `execute_query` apply even while the server sends batches without a resume token. `idle_timeout` counts only time spent
//! waiting for the server. `attempt_timeout` and `total_timeout` run from the beginning, even while the program does not ask for rows: the
//! client still delivers buffered rows, and fails when it needs more.
//!
//! A prepared query expires at a time that the server sets. The client prepares it again before that time. If the server says that the
//! query has expired, the client also prepares it again, unless it has delivered rows already: a resume token is valid only for its
//! prepared query. The query then fails, and [`is_retryable`](crate::Error::is_retryable) is true: discard the rows you have and run it
//! again.
//!
//! # SQL in tests
//!
//! The embedded Bigtable runs queries only with a query engine, such as the crate `keyderive-googlesql`:
//!
//! ```toml
//! [dev-dependencies]
//! keyderive-googlesql = { path = "../keyderive/crates/googlesql" }
//! ```
//!
//! ```ignore
//! let bigtable = keyderive::embedded::Bigtable::in_memory().with_query_engine(std::sync::Arc::new(keyderive_googlesql::Engine));
//! let client = bigtable.client();
//! ```
//!
//! `keyderive serve` serves such a Bigtable on a port, also to Google's clients for Go, Java and Python. The engine follows Google's
//! documentation, with GoogleSQL's types, NULLs and errors, but has not been compared with the service; its page lists the differences. A
//! query that uses what it lacks fails with [`Unimplemented`](crate::ErrorKind::Unimplemented) and names it.
//!
//! # What a query does not have
//!
//! | feature | for queries |
//! |---|---|
//! | the [layout check](super::tables#layout) | none: a query belongs to no table. Call [`verify`](crate::Table::verify) |
//! | a deadline of its own | its client's: `client.with_deadline(at).query(…)`, also between rows |
//! | [`ReadStats`](crate::client::ReadStats), [hedging](super::serving#hedged-reads) | none |
//! | the [retry budget](super::serving#the-retry-budget) | takes no tokens and is not stopped by it |
//! | Google's emulator, an embedded Bigtable without an engine | fail with [`Unimplemented`](crate::ErrorKind::Unimplemented) |
//!
//! # Columns of rows
//!
//! In SQL a column family is a map from qualifiers to the newest values, as stored `BYTES`, which you convert to compute with them. A
//! column that a row lacks is NULL.
//!
//! | field | stored as | expression |
//! |---|---|---|
//! | an integer, a `#[row(counter)]` | 8 bytes, big-endian | `TO_INT64(cf['rev'])` |
//! | `f64` | 8 bytes, big-endian | `TO_FLOAT64(cf['level'])` |
//! | `f32` | 4 bytes, big-endian | `TO_FLOAT32(cf['level'])` |
//! | `String` | UTF-8 | `CAST(cf['name'] AS STRING)` |
//! | a [`Sum`](crate::row::Sum), [`Min`](crate::row::Min) or [`Max`](crate::row::Max) | an aggregate of the server | `sums['views']`: it is an `INT64` already, since the family has a type |
//! | any other | bytes | `cf['data']`, as [`bytes::Bytes`] |
//!
//! Google documents the [casts](https://cloud.google.com/bigtable/docs/reference/sql/conversion_functions) and that
//! [aggregates have their type](https://cloud.google.com/bigtable/docs/data-types). Public programs of Google's use
//! `TO_INT64`. This library has not been tested against the service: try an expression before a program relies on it.
