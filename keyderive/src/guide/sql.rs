//! Bigtable's SQL: queries, parameters, results.
//!
//! Bigtable runs SQL itself, over one table at a time: filters, aggregates, time travel. A query that is a range of keys is a
//! [scan](super::scans), which costs less and also runs on an emulator. SQL is for what a scan cannot say: counts, groups,
//! expressions over columns. Only Google's service runs it: Google's emulator and the embedded Bigtable do not.
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
//! Rows become [tuples](crate::query::FromQueryRow), structs with [`#[derive(FromQueryRow)]`](derive@crate::query::FromQueryRow),
//! or a [`QueryRow`](crate::query::QueryRow) whose columns have names. A wrong type is an error that names the query, the column and its type. [`query`](crate::query) lists the types.
//!
//! # Parameters
//!
//! Write `@name` in the text and [`bind`](crate::client::Query::bind) its value. The client prepares each text once, by
//! `PrepareQuery`, and keeps its plan until it expires; a text with other values in it is another query. Besides, no value of a
//! parameter can change what the query means.
//!
//! # Key fields as columns
//!
//! A table that keyderive creates has a [row key schema](super::tables) if the layout of its keys allows one: each field of the key
//! is a column. In the text layout these columns are strings. [`Schema::sql`](crate::key::Schema::sql) has the expression that
//! turns each into its type, and back into the time where it is reversed:
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
//! # Worked queries
//!
//! Two queries of a table of events, of which the key has a salt, a user and the time, greatest first:
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
//! let at = sql.field("at").unwrap_or("at"); // the time that the digits of the column mean
//!
//! // Of all users: the server reads the whole table.
//! let text = format!(
//!     "SELECT user_id, TIMESTAMP_TRUNC({at}, DAY) AS day, COUNT(*) AS events FROM events GROUP BY user_id, day"
//! );
//! for Daily { user_id, day, events } in client.query(&text).fetch().await? {
//!     println!("{user_id}: {events} events on {day:?}");
//! }
//!
//! // Of one user, the last hour. A key gives the columns as they are stored. Of a reversed time, later means less.
//! let hour_ago = SystemTime::now() - Duration::from_secs(3600);
//! let key = EventKey { user_id: "alice".into(), at: hour_ago }.to_text()?;
//! let mut columns = key.split('#');
//! let mut next = || columns.next().unwrap_or_default().to_owned();
//! let (salt, user_id, at) = (next(), next(), next());
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
//! The second compares columns as they are stored, from the left, salt first: only so can a server find the rows by their keys.
//! A condition on an expression, such as `{at} >= @since`, holds for the same rows, but has to be computed for every row.
//!
//! # What the client promises
//!
//! A query is a read: transient failures are retried, within [`prepare_query`](crate::client::Settings::prepare_query) and
//! [`execute_query`](crate::client::Settings::execute_query). The server marks by tokens which rows are complete. The client
//! delivers only those, checks their checksum, and after a failure asks for the rows after the last token: no row is lost, and none
//! comes twice. If the server renews the plan after the first token, the query fails, since the rows after it would be of another
//! plan; run it again.
//!
//! # Columns of rows
//!
//! In SQL a column family is a map from qualifiers to the newest values, and each value is `BYTES`, as it is stored. Convert it to
//! compute with it; a column that a row lacks is NULL.
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
//! [aggregates have their type](https://cloud.google.com/bigtable/docs/data-types). Its own programs convert numbers by the
//! `TO_…` functions. This library has not been tested against the service: try an expression before a program relies on it.
