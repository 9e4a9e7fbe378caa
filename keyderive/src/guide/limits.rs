//! Limits: what is refused, what is advised against, and what is left out.
//!
//! What Bigtable would refuse is refused before it is sent, with an error that names the value and the limit. Nothing is
//! truncated, wrapped or defaulted instead; a sum of [`increment`](crate::Table::increment) that is too large wraps at the
//! server.
//!
//! # Keys
//!
//! | what | limit | beyond it |
//! |---|---|---|
//! | a row key | 1 to 4096 bytes | a compile error where its widths tell, else an error when it is encoded |
//! | a padded or fixed field | its width | an error when it is encoded, which names the field |
//! | a delimited string | no byte at or below the delimiter | the same; `#[row_key(escape)]` takes any |
//! | buckets of a salt | 2 to 4096 | a compile error |
//! | a time in text | 1970-01-01 to before 2286-11-20T17:46:40Z; with `reverse_ts` to `max` | an error when it is encoded |
//! | a date, `datetime17` | the years 1 to 9999 | an error when it is encoded |
//! | a number in the ordered layout | `i64::MAX` | an error when it is encoded |
//! | `hash = "java"` | the text layout | a compile error |
//!
//! A key type has named fields. Tuple structs, enums, unions, type and const parameters are refused; lifetimes are for
//! borrowed fields, which decode without allocating. A [`Table`](crate::Table) takes a key type that owns its fields.
//!
//! # Rows and requests
//!
//! | what | limit | beyond it |
//! |---|---|---|
//! | a value | 100 MiB | an error; above 10 MB a warning through `tracing` |
//! | a qualifier | 16 KiB | an error |
//! | the mutations of one row | 100,000 | an error |
//! | the mutations of a request of many rows | 100,000 | several requests |
//! | what is written to one row at once | | above 100 MB a warning: Bigtable advises against rows of that size |
//! | an integer of a row | `i64` | an error |
//! | a value that is JSON | 127 arrays and objects in one another, finite numbers | an error |
//! | the keys and ranges of a request | 500 KiB | several requests, one after the other |
//! | a table's name | 1 to 50 of `a-z`, `A-Z`, `0-9`, `_`, `-` and `.` | an error |
//! | a message | 256 MiB | an error |
//! | requests at a time on one connection | 100 | others wait: [`channels`](crate::client::ClientBuilder::channels) makes more connections |
//!
//! # Scans
//!
//! A scan that does not fix the salted fields is a request for each bucket, with a limit that is sent to each: over `N`
//! buckets, a limit of 10 reads up to `10 * N` rows for the 10 that it gives. A filter on anything that is not the
//! leftmost free field reads rows and drops them, at the server or here.
//!
//! A row whose key is not of the table's type ends a scan with an error, or is skipped and counted with
//! [`on_foreign`](crate::Scan::on_foreign). Rows outside of the ranges that a scan asks for are not met at all.
//!
//! # What there is none of
//!
//! - **Cells of the future.** Values are set at the server's time, so no client's clock decides what is read, but of
//!   columns that a [`Timestamped`](crate::row::Timestamped) or a compared
//!   [`column_version`](crate::row::Condition::column_version) gives a time. A cell that a
//!   raw write or a [`Timestamped`](crate::row::Timestamped) has set ahead of it hides what is put until its time comes.
//!   Reads warn of such cells and count them in the metric `keyderive.future_cells`.
//! - **Transactions over rows.** Bigtable has none; [`put_both`](crate::put_both) says what holds after a failure.
//! - **A change of the salt range of a table that exists.** Other buckets are other keys: export into a new table.
//! - **Remedies for one hot row.** A salt spreads rows; a single row is on one server.
//! - **SQL.** Bigtable's SQL reads what is written here, typed by [`row_key_schema`](crate::RowKey::row_key_schema); the
//!   client does not run it.
//! - **Authorized views, backups, change streams and instances.** Google's tools manage them.
//!
//! # The embedded Bigtable and the emulator
//!
//! The embedded Bigtable refuses what the service refuses. What it lacks is listed at
//! [`Client::embedded`](crate::Client::embedded). The emulator is laxer than the service: it takes keys and writes above
//! the limits, keeps no row key schema, has no tablets to split, and reports some failures with other codes.
