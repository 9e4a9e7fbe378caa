//! Rows through serde: how a value is stored in the cells of a row.
//!
//! ```
//! use std::collections::BTreeMap;
//! use keyderive::row::{Timestamped, Versions};
//! # use keyderive::{Client, RowKey};
//! # #[derive(RowKey)] struct SensorKey { id: u64 }
//!
//! #[derive(serde::Serialize, serde::Deserialize)]
//! struct Sensor {
//!     name: String,                         // `cf:name`
//!     #[serde(rename = "n")]
//!     readings: i64,                        // `cf:n`, which `increment` adds to
//!     place: Option<Place>,                 // the family `place`: `place:city`, `place:floor`
//!     daily: BTreeMap<String, f64>,         // the family `daily`, a column for each key: `daily:METER:0015`
//!     level: Option<Timestamped<f64>>,      // `cf:level`, with its timestamp
//!     state: Versions<String>,              // `cf:state`, every version of it
//! }
//!
//! #[derive(serde::Serialize, serde::Deserialize)]
//! struct Place {
//!     city: String,
//!     floor: Option<i32>,
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), keyderive::Error> {
//! let sensors = Client::embedded().table::<SensorKey, Sensor>("sensors");
//! sensors.create_if_absent().await?; // with the families `cf`, `place` and `daily`
//! # Ok(())
//! # }
//! ```
//!
//! # Columns and families
//!
//! A row is a struct, or a map from names to values.
//!
//! - A field that is a plain value is a column of the table's family, `cf` unless
//!   [`Table::family`](crate::Table::family) sets another.
//! - A field that is a struct or a map is a column family with the field's name; its fields or entries are columns.
//! - In a row that is a map, all entries are columns of the table's family.
//! - Structs, maps and sequences nested deeper than a column are JSON.
//!
//! Reads take the newest version of a column. They ignore columns and families that the row type does not have, so that
//! older and newer programs can share a table. If a column that the row type needs is missing, the read fails with an
//! error that names the table, the key, the family and the column. Reads of several rows can [skip such
//! rows](crate::OnUnreadable).
//!
//! | field | an absent column reads as | `put` of an absent value |
//! |---|---|---|
//! | `Option<T>` of a value | `None` | deletes the column |
//! | `Option<T>` of a struct | `None`: the family has none of its columns | deletes the columns of its fields |
//! | a struct | its default, or a struct whose columns are all absent | |
//! | a map, `Option<T>` of a map | `None`, its default, or an empty map | deletes the family, then sets the entries |
//! | [`Versions<T>`] | no versions | deletes the column |
//! | `#[serde(default)]` of anything else | the default | |
//!
//! If the column is absent, an `Option` reads as `None` and [`Versions`] as no versions, even with `#[serde(default =
//! "…")]`, so that a row reads back as it was written. A map cannot store an entry without a value: a write rejects one
//! with `None` or no versions.
//!
//! An empty struct or map that is present is stored as an empty value under the empty qualifier of its family, and a
//! row without columns as one in the table's family. So no column can have the empty qualifier as its name.
//!
//! [`put`](crate::Table::put) makes the row equal to the value, in one request. It deletes all versions of absent
//! columns and sets present ones at the server's time, so the request applied last decides the whole row.
//! [`insert`](crate::Table::insert) and [`merge`](crate::Table::merge) set what is present and delete nothing. None of
//! them changes columns that the row type does not have.
//!
//! A field is a family if its type asks serde for a struct or a map, as [`Duration`](std::time::Duration) and
//! [`SystemTime`](std::time::SystemTime) do; [`json`] makes a column of it. [`Client::table`](crate::Client::table)
//! asks the row type's `Deserialize` once for its fields, so that it knows whether an absent `Option` is a column or a
//! family.
//!
//! # Values
//!
//! | Rust | stored as |
//! |---|---|
//! | `i8` to `i64`, `u8` to `u64` | 8 bytes, two's complement, big-endian |
//! | `bool` | the integer 0 or 1 |
//! | `f64` | 8 bytes, IEEE 754, big-endian |
//! | `f32` | 4 bytes, IEEE 754, big-endian |
//! | `char`, `str`, `String` | UTF-8 |
//! | bytes (`bytes::Bytes`, `serde_bytes`) | as they are |
//! | `()`, unit struct | no bytes |
//! | unit variant of an enum | its name in UTF-8 |
//! | newtype struct | its inner value |
//! | `Some(x)` | `x` |
//! | `None` | no cell: the column is absent |
//! | [`Timestamped<T>`](Timestamped) | `T`, in a cell with this timestamp, the only cell of its column |
//! | [`Versions<T>`] | `T` in a cell for each version |
//! | sequence, tuple, array, tuple struct | JSON array |
//! | enum variant with data | JSON object of one member, its name |
//! | struct or map, inside a family or as an entry of a row that is a map | JSON object |
//! | any type with `#[serde(with = "keyderive::row::json")]` | JSON: [`json`] |
//! | `u64` above `i64::MAX`, `i128`, `u128` | an error |
//!
//! - **Integers** are stored as Bigtable increments them: `ReadModifyWriteRow` adds to them, and SQL reads them with
//!   `TO_INT64`.
//! - **Bytes**: serde treats a `Vec<u8>` as a sequence, so it becomes JSON. Use `serde_bytes` or `bytes::Bytes` to
//!   store bytes.
//! - **JSON** has no NaN and no infinity, the same `null` for `None`, `Some(None)` and `Some(())`, and at most 127
//!   nested arrays and objects. A write rejects a value that JSON would not read back.
//! - **Types with two serde formats**, such as UUIDs and IP addresses, use the human-readable one.
//! - **Keys of maps** are strings, enums without data, and types that serde writes as a string.
//!
//! Cells have the server's time of the write, in whole milliseconds, unless [`Timestamped`] or [`Versions`] set
//! another. A retried write can add a second version with the same values, if the family keeps several versions.
//!
//! Reads take the newest version of each column, or all versions if the row type has a [`Versions`] field.
//! [`Table::create`](crate::Table::create) declares the family of such a field to keep every version of all its
//! columns, so put `Versions` into a family of their own if other columns change often. Creating a table and
//! [`Table::verify`](crate::Table::verify) reject a family with `Versions` that keeps one version.
//!
//! # Attributes of serde
//!
//! `rename`, `rename_all`, `default`, `skip`, `skip_serializing_if`, `with` and `transparent` work as in other formats.
//! Names are column and family names: keep them short, since the service stores them with each cell. A field that
//! `skip_serializing_if` skips is absent. serde does not report fields with `skip` and `skip_serializing`, so writes
//! leave their columns as they are. Creating or writing a table rejects two fields with one name, which would be one
//! column.
//!
//! ## `alias`
//!
//! Reads accept an `alias`; writes use the name. A row can then have both columns, if a program writes over the row of
//! an older one. The column of the name counts. The alias's column stays in the row, and is read again when the field
//! becomes `None`, until `table.update(&key).delete("mail")` deletes it. Two aliases without the name are an error. A
//! family with an alias is created under both names.
//!
//! Only reads of whole rows know aliases. `increment`, `merge`, [`columns`](crate::Table::columns) and conditions use
//! the column that they name, and find nothing if the value is still under the alias. Rewrite such rows with `get` and
//! `put` first.
//!
//! Do not combine aliases with a flattened field: a row with both columns is then an error, and a write does not detect
//! an entry of a flattened map with the name of an alias.
//!
//! ## `flatten`
//!
//! Only the row itself can have flattened fields, not a struct that is a family. serde treats a row with one as a map,
//! so
//!
//! - the row owns the whole family: `put` deletes the columns that the value does not have;
//! - serde does not report the names of the fields: name the families in [`Table::create`](crate::Table::create), and
//!   call [`Table::every_version`](crate::Table::every_version) if there are [`Versions`]; a `None` counts as a column;
//! - serde reads the columns of the flattened field before it knows their types, as text, or as bytes if they are not
//!   UTF-8. Mark numbers and `bool`s with `#[serde(with = "keyderive::row::flattened")]`, as [`flattened`] shows, also
//!   in a map.
//!
//! A write rejects other values that would read back as text, and an entry of a flattened map with the name of a field.
//!
//! ## Enums with tags, and `serde_json::Value`
//!
//! serde reads internally tagged, adjacently tagged and untagged enums and `serde_json::Value` without a type, but
//! stored values do not have their type. A write rejects such a field unless it is [`json`], and a row of such a type
//! in any case. For the values of a map, use a newtype: `struct Any(#[serde(with = "keyderive::row::json")] Value)`. A
//! [`write_only_table`](crate::Client::write_only_table) does not know how its rows are read, and accepts them.

mod build;
mod cell;
mod condition;
mod de;
mod error;
mod filter;
pub mod flattened;
pub mod json;
mod mutation;
mod path;
mod raw;
mod ser;
mod shape;
mod sink;
mod span;
#[cfg(test)]
mod tests;
mod untyped;
mod value;
mod versions;

pub(crate) use build::{RowBuilder, TooLarge};
pub use cell::{Cell, CellError, CellType, CellWriter, ComparableCell, OrderedCell, OwnedCell, StoredOrder};
pub use condition::Condition;
pub(crate) use de::from_row;
pub use error::RowError;
pub(crate) use filter::{ByteRange, Fault as FilterFault, Kind as FilterKind, TimeRange};
pub use filter::{FilterError, RowFilter};
pub(crate) use mutation::{Change, Rule, SERVER_TIME};
pub use mutation::{Mutation, ReadModifyWrite};
pub(crate) use path::{Path, filter_of};
pub(crate) use raw::{CellSlice, CellSpans, Column, Columns, Shown};
pub use raw::{RawCell, RawCells, RawRow};
pub(crate) use ser::{Write, write_column, write_field, write_row};
pub(crate) use shape::{Kind as FieldKind, Shape};
pub(crate) use sink::{ComparedVersion, MutationList, Sink};
pub(crate) use span::{Span, is_same_name};
pub(crate) use versions::now_micros;
pub use versions::{Timestamped, Versions};
