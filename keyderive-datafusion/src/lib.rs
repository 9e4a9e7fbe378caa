//! Tables of keyderive in DataFusion: SQL over Bigtable that turns a query's predicates on key fields into key ranges, and reads only
//! those.
//!
//! [`BigtableTable`], which has an example, is a table provider over the layout of a table: from the types, from the file of layouts or
//! from the registry.
//!
//! # Columns
//!
//! The fields of the key come first, then the columns of the row type.
//!
//! | keyderive | Arrow |
//! |---|---|
//! | text, a `char`, names of variants, UUIDs in lower case, IP addresses, JSON | `Utf8` |
//! | integers of a key | of the same width; `u128` and `i128`: `Decimal256(39, 0)` |
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
//! The fields of the key are not NULL, and are the primary key unless one is hashed. An absent column is NULL, even if the program with the
//! row type reads it as a default. A time that is text or counts nanoseconds fails the query if it is outside of the years 1677 to 2262,
//! unless the query leaves the column out.
//!
//! A column is named by its qualifier, and an optional family or a map by its family. If that name is taken, by a field of the key or
//! another column, the column is `family:qualifier` and the family `family:`, which SQL needs in quotation marks; the field of the key
//! keeps its name.
//!
//! # What is read
//!
//! A predicate on a key field limits what is read if all fields left of it are fixed, by `=`, `IN` or an `OR` of equalities.
//!
//! | predicate | |
//! |---|---|
//! | `f = v`, `v = f`, `f IN (…)`, `f = v OR f = w` | fixes the field |
//! | `<`, `<=`, `>`, `>=`, `BETWEEN` | a range, the last constraint |
//! | `LIKE 'x%'` without another wildcard | a prefix, the last constraint; it takes precedence over a range |
//! | any of these on an enum | fixes the field to the matching variants |
//! | a `bool` field alone, or after `NOT` | fixes the field |
//! | on a field further right, `<>`, other functions, lossy casts, more than 100,000 values in all | filtered after the scan |
//! | on a column | filtered after the scan |
//!
//! So each predicate is applied exactly, by the plan or by a filter. A value that no key can hold matches nothing; it is not an error.
//! `EXPLAIN` shows the constraints, the number of salt buckets, and the first ranges or keys.
//!
//! - **Order.** A scan returns rows sorted by the key fields that are not fixed, as far as they have an order, in either direction: such an
//!   `ORDER BY` needs no sort, and with a `LIMIT` reads few rows.
//! - **Joins.** A join reads only the keys that its other side has, up to 150 values and 128 KiB by default, or else their range. The
//!   options `hash_join_inlist_pushdown_max_distinct_values` and `hash_join_inlist_pushdown_max_size` allow more.
//! - **Columns.** Only the columns of a query are sent, and for `count(*)` only keys.
//! - **Partitions** are neighbouring tablets and buckets, sampled at most once a minute.
//! - **Memory.** A partition holds one batch, of at most `batch_size` rows and about 8 MiB, and what the client buffers.
//!   `sort_pushdown_buffer_capacity` bounds what DataFusion buffers of each partition when it omits a sort, 1 GiB by default.
//! - **Unreadable rows**, whose cells do not decode as the row type, fail a query that reads a column of the rows; `count(*)` counts them.
//! - **Consistency.** A query is not a snapshot: a row written while it runs may or may not be in the result, but is never partial.
//!
//! # Insert
//!
//! `INSERT INTO` writes its rows by [`DynTable::load`](keyderive::DynTable::load): it replaces each row atomically, but not all rows at
//! once. Of two rows with one key, the later one in the statement wins. If it fails or is cancelled, some of its rows are written; you can
//! run the same statement again. It cannot set sums, minima and maxima, which the server computes: leave them out, or insert NULL. A table
//! whose key has a hashed field cannot be written, nor a map whose keys are bytes.
//!
//! # On several machines
//!
//! With the feature `codec`, `KeyderiveCodec` has scans and tables as bytes, for engines that run parts of a plan in other processes. A scan
//! takes the windows of the table that it reads from its child, and an engine gives each task some of them: [`ScanWindows`] does so for an
//! engine that cannot divide rows in memory by itself. Such an engine also needs [`SortAfterShuffle`], without which some queries have another
//! order and other groups, and no error. `README.md` says how, and what happens when a machine fails.

mod batches;
#[cfg(feature = "codec")]
mod codec;
mod columns;
mod constraints;
mod exec;
mod insert;
mod provider;
mod shuffle;
mod windows;

#[cfg(feature = "codec")]
pub use codec::KeyderiveCodec;
pub use provider::BigtableTable;
pub use shuffle::SortAfterShuffle;
pub use windows::ScanWindows;
