//! Rows by serde: how a value is stored in the cells of a row.
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
//!     readings: i64,                        // `cf:n`, which `increment` counts up
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
//! - A field that is a value is a column of the table's family, `cf` unless [`Table::family`](crate::Table::family) names
//!   another.
//! - A field that is a struct or a map is a column family of its own, by the field's name, with its fields or its entries
//!   as columns.
//! - A row that is a map has its entries as columns of the table's family, whatever they are.
//! - What is deeper than a column is JSON.
//!
//! A column's newest version is what is read. Columns that the row type does not know are ignored, as other families are,
//! so that programs of several ages share a table. A column that it needs and that is not there is an error which names
//! table, key, family and column; reads of several rows can [leave such rows out](crate::OnUnreadable).
//!
//! | field | what a column's absence is | what `put` does where the value is absent |
//! |---|---|---|
//! | `Option<T>` of a value | `None` | deletes the column |
//! | `Option<T>` of a struct | `None`: the family has none of its columns | deletes the columns of its fields |
//! | a struct | its default, or one of absent columns | |
//! | a map, `Option<T>` of a map | `None`, its default, or an empty map | deletes the family, then sets the entries |
//! | [`Versions<T>`] | no versions | deletes the column |
//! | `#[serde(default)]` of anything else | the default | |
//!
//! An `Option` and [`Versions`] are read as `None` and as no versions where the column is absent, also beside
//! `#[serde(default = "…")]`: what was written is what is read. A map has no entry without a value: one with `None`, or
//! with no versions, is refused when it is written.
//!
//! An empty struct or map that is not absent is a family with a marker, an empty value under the empty qualifier, and so is a
//! row without any column. No column is named by the empty qualifier therefore.
//!
//! [`put`](crate::Table::put) makes the row equal the value, in one request: what is absent is deleted over all time, and what
//! is present set at the server's time, so that the request applied last decides the whole row.
//! [`insert`](crate::Table::insert) and [`merge`](crate::Table::merge) set what is present and delete nothing. Either leaves columns alone that the row type does not name. To know whether an absent
//! `Option` is a column or a family, a table asks the row type's `Deserialize` what it expects, once, when
//! [`Client::table`](crate::Client::table) makes it. A field is a family where its type asks serde for a struct or a map:
//! [`Duration`](std::time::Duration) and [`SystemTime`](std::time::SystemTime) do; [`json`] makes a column of them.
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
//! | [`Timestamped<T>`](Timestamped) | `T`, in a cell with this timestamp, the only one of its column |
//! | [`Versions<T>`] | `T` in a cell for each version |
//! | sequence, tuple, array, tuple struct | JSON array |
//! | enum variant with data | JSON object of one member, its name |
//! | struct, map, inside a family or as the entry of a row that is a map | JSON object |
//! | any type with `#[serde(with = "keyderive::row::json")]` | JSON: [`json`] |
//! | `u64` above `i64::MAX`, `i128`, `u128` | refused |
//!
//! Integers have the one form that Bigtable itself counts in: `ReadModifyWriteRow` increments it, and
//! SQL reads it with `TO_INT64`. A `Vec<u8>` is a sequence to serde, hence JSON, unless `serde_bytes` or
//! `bytes::Bytes` says that it is bytes. JSON has no NaN and no infinity, one `null` for `None`, `Some(None)` and `Some(())`,
//! and is read to a depth of 127 arrays and objects: what it would not give back, below a column, is refused when it is
//! written. Formats that differ between people and machines, such as UUIDs and IP addresses, take the form
//! for people. Keys of maps are strings, enums by name, and what serde writes as a string.
//!
//! Cells have the server's time of the write, in whole milliseconds, unless [`Timestamped`] or [`Versions`] say another. A
//! write that is repeated, as after a lost answer, adds a version of the same values where a family keeps several. A row type
//! is read with the newest version of each column, or with all of them where a field is [`Versions`]: keep such fields in a
//! family of their own where other columns change often, since [`Table::create`](crate::Table::create) declares a family
//! with `Versions` to keep every version of all its columns. A table whose family keeps one version is refused for such a
//! row type, by [`Table::verify`](crate::Table::verify) and where it is created.
//!
//! # Attributes of serde
//!
//! `rename`, `rename_all`, `default`, `skip`, `skip_serializing_if`, `with` and `transparent` hold, and names are column and
//! family names: short ones are worth their while, since the service stores them with each cell. A skipped field is an
//! absent one, but for `skip` and `skip_serializing`, of which serde tells nothing: their columns are left alone. Two fields
//! with one name would be one column, and are refused when the table is created or written.
//!
//! An `alias` is read; what is written has the name. A row can have both columns then, as after a write over what an older
//! program has written: the name counts, and the alias's column is left out. It stays in the row, and is read again where the
//! field becomes `None`, until `table.update(&key).delete("mail")` deletes it. Two aliases without the name are an error. A
//! family that has an alias is created under both names. Reads of whole rows alone know of aliases: `increment`, `merge`,
//! [`columns`](crate::Table::columns) and conditions take the column that they name, and begin at nothing where the value is
//! still under the alias. Move such rows by `get` and `put` first. Beside a flattened field, a row with both columns is an
//! error, and an entry of a flattened map with the name of an alias is not seen when it is written: have no aliases there.
//!
//! `flatten` is for the row itself: a struct that is a family has no flattened field that can be read. It turns the row into a
//! map for serde, which has three consequences. It owns the whole family, so that `put`
//! deletes the columns that it does not have. It does not tell its names: [`Table::create`](crate::Table::create) has to be
//! told of the families, a `None` is taken for a column, and
//! [`Table::every_version`](crate::Table::every_version) says that it has [`Versions`]. And the columns of the flattened
//! field are read before their types are known, as text, or as bytes where they are none: numbers and `bool`s there are marked with
//! `#[serde(with = "keyderive::row::flattened")]`, which [`flattened`] shows, for a map of them too. What would be read back
//! as text and is none is refused when it is written, and so is an entry of a flattened map with the name of a field.
//!
//! Internally tagged, adjacently tagged and untagged enums, and `serde_json::Value`, are read without a type too, and stored
//! values do not say of what type they are: such a field is refused when it is written, unless it is [`json`]; as the
//! values of a map, it is so by a type of its own, `struct Any(#[serde(with = "keyderive::row::json")] Value)`. Such a row is
//! refused as a whole. A table that is only written, of [`write_only_table`](crate::Client::write_only_table), does not know
//! how its rows are read, and takes them.

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
pub use cell::{Cell, Cells, Row};
pub(crate) use cell::{CellSlice, CellSpans, Column, Columns, Shown};
pub use condition::Condition;
pub(crate) use de::from_row;
pub use error::RowError;
pub(crate) use filter::{ByteRange, Fault as FilterFault, Kind as FilterKind, TimeRange};
pub use filter::{FilterError, RowFilter};
pub(crate) use mutation::{Change, Rule, SERVER_TIME};
pub use mutation::{Mutation, ReadModifyWrite};
pub(crate) use path::{Path, filter_of};
pub(crate) use ser::{Write, write_column, write_field, write_row};
pub(crate) use shape::{Kind as FieldKind, Shape};
pub(crate) use sink::{ComparedVersion, MutationList, Sink};
pub(crate) use span::{Span, is_same_name};
pub(crate) use versions::now_micros;
pub use versions::{Timestamped, Versions};
