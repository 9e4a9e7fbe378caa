//! Tables of keyderive in DataFusion: SQL over Bigtable that reads only the rows that a query's constraints on the key leave.
//!
//! [`BigtableTable`] is a table provider over the layout of a table, which comes from the types, from the file of layouts or from the
//! registry, and has an example.
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
//! | bytes, messages, what an encoding or a module of your own writes | `Binary` |
//! | times | `Timestamp` of the unit that is stored, in UTC; text in RFC 3339: nanoseconds |
//! | dates | `Date32` |
//! | `Timestamped` | `Struct` of `timestamp`, in microseconds, and `value` |
//! | `Versions`, aggregates in windows | `List` of that struct, the newest first |
//! | a family that is an `Option` of a struct | `Struct` |
//! | a family that is a map | `Map` |
//! | a hashed field | no column: its value is not in the key |
//!
//! The fields of the key are not NULL, and are the primary key unless one is hashed. An absent column is NULL, also one that the program
//! with the row type reads as a default. A time outside of the years 1677 to 2262 that is text, or that counts nanoseconds, is an error
//! of the query, unless it leaves the column out.
//!
//! A column is named by its qualifier, and an optional family or a map by its family. If a field of the key or another column has that name
//! too, a column is named `family:qualifier`, and a family `family:`, in quotation marks in SQL; the field of the key keeps its name.
//!
//! # What is read
//!
//! A predicate on a field limits what is read if all fields left of it are fixed, by `=`, `IN` or an `OR` of equalities.
//!
//! | predicate | |
//! |---|---|
//! | `f = v`, `v = f`, `f IN (…)`, `f = v OR f = w` | fixes the field |
//! | `<`, `<=`, `>`, `>=`, `BETWEEN` | a range, which ends the constraints |
//! | `LIKE 'x%'` without another wildcard | a prefix, which ends the constraints; it counts before a range |
//! | any of these on an enum | fixes the field to variants |
//! | a `bool` field alone, or after `NOT` | fixes the field |
//! | on a field further right, `<>`, other functions, casts that lose something, more than 100,000 values in all | filtered after the scan |
//! | on a column | filtered after the scan |
//!
//! So each predicate is met exactly, by the plan or by a filter. A value that no key can hold matches nothing, and is no error. `EXPLAIN`
//! shows the constraints, the number of salt buckets, and the first ranges or keys.
//!
//! - **Order.** A scan is sorted by the fields of the key that are not fixed, as far as they have an order, in either direction: such an
//!   `ORDER BY` needs no sort, and with a `LIMIT` reads few rows.
//! - **Joins.** A join reads the keys that its other side has, if these are few: 150 values and 128 KiB by default, or else a range. The
//!   options `hash_join_inlist_pushdown_max_distinct_values` and `hash_join_inlist_pushdown_max_size` allow more.
//! - **Columns.** Only the columns of a query are sent, and for `count(*)` only keys.
//! - **Partitions** are neighbouring tablets and buckets. They are sampled once a minute.
//! - **Memory.** A partition holds one batch, of at most `batch_size` rows and about 8 MiB, and what the client buffers.
//!   `sort_pushdown_buffer_capacity` bounds what DataFusion buffers of each partition where it leaves out a sort, 1 GiB by default.
//! - **Rows** that cannot be read as the row type end a query by an error, if it reads a column of theirs; `count(*)` counts them.
//! - **Moments.** A query is no snapshot: a row that is written while it runs may or may not be in its result, and is whole.
//!
//! # Insert
//!
//! `INSERT INTO` writes its rows by [`DynTable::load`](keyderive::DynTable::load): each row atomically and whole, in place of one with the
//! same key, and not all at once. Of two rows with one key the later one counts, in the order of the statement. If it fails or is cancelled,
//! some of its rows are written; the same statement may be run again. The server keeps sums, minima and maxima: a statement leaves them
//! out, or has NULL. A table whose key has a hashed field cannot be written, nor a map whose keys are bytes.
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
