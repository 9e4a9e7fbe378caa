//! Tables of keyderive in DataFusion: SQL over Bigtable that turns a query's predicates on key fields into key ranges, and reads only
//! those.
//!
//! [`Exact`] is a session of DataFusion without its wrong answers. It makes a [`BigtableTable`], which has an example: a table provider over
//! the layout of a table, from the types, from the file of layouts or from the registry.
//!
//! # Columns
//!
//! The fields of the key come first, then the columns of the row type.
//!
//! | keyderive | Arrow |
//! |---|---|
//! | text, a `char`, enums (the name of the variant), UUIDs in lower case, IP addresses, JSON | `Utf8` |
//! | integers of a key, with `reverse_ts` too | integers of the same width and sign; `u128` and `i128`: `Decimal256(39, 0)` |
//! | integers of a cell, counters, sums, minima, maxima | `Int64` |
//! | `bool`, `f32`, `f64` | `Boolean`, `Float32`, `Float64` |
//! | bytes, messages, values of your own encodings and `with` modules | `Binary` |
//! | times | `Timestamp` of the unit that is stored, in UTC; text in RFC 3339: nanoseconds |
//! | dates | `Date32` |
//! | `Timestamped` | `Struct` of `timestamp`, in microseconds, and `value` |
//! | `Versions`, aggregates in windows | `List` of that struct, the newest first |
//! | a family that is an `Option` of a struct | `Struct` |
//! | a family that is a map | `Map` |
//! | a hashed field | no column: its value is not in the key |
//!
//! Key fields are NOT NULL, and form the primary key unless one of them is hashed. An absent column is NULL, even where the row type gives it a
//! default. Times in nanoseconds, and times stored as text, must be in the years 1677 to 2262: a query that reads another one fails and names
//! its row; other columns of that row are read.
//!
//! A column is named by its qualifier, and an optional family or a map by its family. If that name is taken, by a field of the key or
//! another column, the column is `family:qualifier` and the family `family:`, which SQL needs in quotation marks; the field of the key
//! keeps its name.
//!
//! # What is read
//!
//! A predicate on a key field narrows the scan if all key fields before it are fixed, by `=`, `IN` or an `OR` of equalities.
//!
//! | predicate | effect |
//! |---|---|
//! | `f = v`, `v = f`, `f IN (…)`, `f = v OR f = w` | fixes the field |
//! | `<`, `<=`, `>`, `>=`, `BETWEEN` | limits the field to a range; later fields do not narrow the scan |
//! | `LIKE 'x%'` without another wildcard | limits the field to a prefix; later fields, and a range on the same field, do not narrow the scan |
//! | any of these on an enum | fixes the field to the matching variants |
//! | a `bool` field alone, or after `NOT` | fixes the field |
//! | on a key field after one that is not fixed; `<>`; other functions; lossy casts; lists whose combinations exceed 100,000 | filtered after the scan |
//! | on a column that is not in the key | filtered after the scan |
//!
//! Every predicate is applied exactly, by the scan or by a filter above it. A value that no key can hold matches nothing; it is not an error.
//! `EXPLAIN` shows the constraints, the number of salt buckets, and the first ranges or keys.
//!
//! - **Order.** A scan returns rows sorted by the key fields that are not fixed, up to the first field whose encoding has no order, ascending or
//!   descending. An `ORDER BY` on these fields needs no sort, and with a `LIMIT` it reads few rows.
//! - **Joins.** In a hash join, the scan of the probe side reads only the keys that the build side has: each key, up to 150 values and 128 KiB by
//!   default, otherwise the range from the least to the greatest. Raise the limits with
//!   `datafusion.optimizer.hash_join_inlist_pushdown_max_distinct_values` and `datafusion.optimizer.hash_join_inlist_pushdown_max_size`.
//! - **Columns.** The server sends only the columns that the query uses, and for `count(*)` only keys.
//! - **Partitions.** Each partition reads neighbouring tablets or buckets. The tablet boundaries are sampled at most once a minute.
//! - **Memory.** A partition holds one batch, of at most `batch_size` rows and about 8 MiB, and what the client buffers. When DataFusion omits a
//!   sort, it also buffers up to `sort_pushdown_buffer_capacity` for each partition, 1 GiB by default.
//! - **Unreadable rows**, whose cells do not decode as the row type, fail a query that reads a column of the rows; `count(*)` counts them.
//! - **Consistency.** A query is not a snapshot: a row written while it runs may or may not be in the result, but is never partial.
//!
//! # One process
//!
//! A query runs in one process. A scan has no form in which it could be sent to workers, so an engine on several machines refuses its plan.
//!
//! # Insert
//!
//! `INSERT INTO` writes its rows with [`DynTable::load`](keyderive::table::DynTable::load). It is an upsert of whole rows: a row replaces the row
//! with the same key, and columns that the statement leaves out are absent afterwards. Each row is written atomically, the statement is not: if
//! it fails or is cancelled, some rows are written, and you can run it again. If two rows of the statement have the same key, the later one
//! wins. It cannot set sums, minima and maxima, which the server computes: leave them out, or insert NULL. It can write neither a table whose
//! key has a hashed field nor a map whose keys are bytes. There is no `INSERT OVERWRITE`, `UPDATE` or `DELETE`.

mod batches;
mod columns;
mod constraints;
mod error;
mod exact;
mod exec;
mod insert;
mod provider;

pub use exact::Exact;
pub use provider::BigtableTable;
