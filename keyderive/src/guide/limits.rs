//! Limits: what is rejected, what causes a warning, and what is out of scope.
//!
//! The client rejects what Bigtable would reject, before sending it, with an error that names the value and the limit.
//! It never truncates, wraps or replaces a value. The server does in one case: an [`increment`](crate::Table::increment) of a counter, and
//! an addition to a [`Sum`](crate::row::Sum), wrap around if the result is too large for an `i64`.
//!
//! # Keys
//!
//! | subject | limit | beyond it |
//! |---|---|---|
//! | a row key | 1 to 4096 bytes | a compile error if its fixed widths exceed it, else an encode error |
//! | a padded or fixed field | its width | an encode error, which names the field |
//! | a delimited string | no byte at or below the delimiter | the same; `#[row_key(escape)]` takes any string |
//! | buckets of a salt | 2 to 4096; 2 to 64 with a `since` in the ordered layout | a compile error |
//! | the field that a [salt from a date on](super::attributes#a-salt-from-a-date-on) goes by | a number, a time or a date, with only fields of fixed width after it | a compile error that says what to write |
//! | a time in the text layout | 1970-01-01 to before 2286-11-20T17:46:40Z; with `reverse_ts`, 1970-01-01 to `max` | an encode error |
//! | a date, `datetime17` | the years 1 to 9999 | an encode error |
//! | a number in the ordered layout | `i64::MAX` | an encode error |
//! | `hash = "java"` | the text layout only | a compile error |
//!
//! A key type is a struct with named fields, without type and const parameters. It may have lifetimes, for borrowed
//! fields that decode without allocating. A [`Table`](crate::Table) needs a key type that owns its fields.
//!
//! # Rows and requests
//!
//! | subject | limit | beyond it |
//! |---|---|---|
//! | a value | 100 MiB | an error; above 10 MB, a `tracing` warning |
//! | a qualifier | 16 KiB | an error |
//! | the mutations of one row | 100,000 | an error |
//! | the mutations of a request of many rows | 100,000 | several requests |
//! | one write to one row | no limit of its own | above 100 MB, a `tracing` warning: Bigtable advises against rows of that size |
//! | an integer in a row | the range of `i64` | an error |
//! | a value stored as JSON | 127 nested arrays and objects, finite numbers | an error |
//! | the keys and ranges of a request | 500 KiB | several requests, in sequence |
//! | a filter or a condition | 20,480 bytes and 20 levels: about 200 comparisons of short columns joined by `and` or `or`, with [`Condition`](crate::row::Condition) | an error that says what takes the space |
//! | a compared value | about 10,000 bytes, since equality sends it twice | the same |
//! | the keys and ranges of a scan, over all requests | 100,000 are fast | a `tracing` warning, once for each scan, and a line of `explain`; [what to do](crate::plan::Plan#many-ranges) |
//! | columns of a row type | tested to 1,000, in about two seconds of the compiler's time | |
//! | columns that one `select` takes | 16 in a tuple; a tuple can hold tuples | a compile error |
//! | a table's name | 1 to 50 of `a-z`, `A-Z`, `0-9`, `_`, `-` and `.` | an error |
//! | a message | 256 MiB | an error |
//! | a row that is read | 512 MiB, by [`max_row_bytes`](crate::client::Settings::max_row_bytes) | an error, which names the row and the limit |
//! | a server's message in the text of an error | 4 KiB | truncated, and marked as such |
//! | the keys that divide a table into parts | 256 MiB | an error |
//! | the rows of a query that no resume token follows yet | 256 MiB, as received | an error |
//! | the values of a row of a query, with those in its arrays, structs and maps | 4,194,304 | an error |
//! | the memory of responses that the program has not read yet | [see Memory](super::serving#memory) | the client holds the server back, and reads smaller pages |
//! | concurrent requests on one connection | what the server allows when it opens: about 100 in the cloud, 100 on an embedded Bigtable on a port, any number on Google's emulator and in the process | the client adds [connections](crate::client::ClientBuilder::connections); at their largest number requests wait, up to [`max_waiting`](crate::client::Settings::max_waiting) |
//!
//! # Scans
//!
//! A scan that does not fix the salted fields sends a request to each bucket, each with the scan's limit: over `N` buckets, a limit of 10
//! reads up to `10 * N` rows and returns 10. Only the fixed fields and the next one narrow what is read: a filter on any field after them
//! reads rows only to drop them, at the server or in the client.
//!
//! With a [salt from a date on](super::attributes#a-salt-from-a-date-on), a scan sends a request to each bucket of each salt whose dates it
//! does not exclude: with 4 buckets before a date and 16 after it, 20, or 16 for a range of times that begins at the date.
//!
//! A foreign row, one whose key does not decode as the table's key type, ends a scan with an error, unless
//! [`on_foreign`](crate::Scan::on_foreign) skips and counts it. A scan never sees rows outside the ranges that it
//! requests.
//!
//! # Out of scope
//!
//! - **Cells with future timestamps.** Writes use the server's time, so no client's clock decides which value is read.
//!   The exceptions are columns with a [`Timestamped`](crate::row::Timestamped), a compared
//!   [`version`](crate::row::Column::version), and raw writes. A cell that one of them sets ahead of
//!   the server's time hides later writes until that time. Reads warn about such cells and count them in the metric
//!   `keyderive.future_cells`.
//! - **Transactions over several rows.** Bigtable has none; the error of [`put_both`](crate::put_both) says which row
//!   was written.
//! - **Changing stored keys in place.** A row keeps its key as long as it exists. A
//!   [salt from a date on](super::attributes#a-salt-from-a-date-on) is only for new rows; a [re-keying](super::rekeying) moves stored rows
//!   to another table while programs read and write them, but no aggregates and no hashed keys.
//! - **Spreading one hot row.** A salt spreads rows, but a single row is on one server.
//! - **SQL on Google's emulator.** [Queries](super::sql) run on Google's service and, [for tests](super::sql#sql-in-tests), on the
//!   embedded Bigtable.
//! - **Authorized views, backups, change streams and instances.** Use Google's tools.
//!
//! # The embedded Bigtable and the emulator
//!
//! The embedded Bigtable rejects what the service rejects. [`Client::embedded`](crate::Client::embedded) lists what it
//! lacks. The emulator is laxer than the service: it accepts keys and writes above the limits, stores no row key
//! schema, has no tablets to split, and reports some failures with other codes.
