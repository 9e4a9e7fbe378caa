//! Rows by serde: how a value is stored in the cells of a row.
//!
//! A row is a struct, whose fields are columns of one family, or a map from names to values. A column's newest
//! version is what is read; unknown columns are ignored, `#[serde(rename, default, skip)]` hold.
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
//! | sequence, tuple, array, tuple struct | JSON array |
//! | enum variant with data | JSON object of one member, its name |
//! | `u64` above `i64::MAX`, `i128`, `u128` | refused |
//! | struct, map | refused: a family's worth of columns, not a value |
//!
//! Integers have the one form that Bigtable itself counts in: `ReadModifyWriteRow` increments it, and
//! SQL reads it with `TO_INT64`. A `Vec<u8>` is a sequence to serde, hence JSON, unless `serde_bytes` or
//! `bytes::Bytes` says that it is bytes. JSON has no NaN and no infinity: inside a sequence they become
//! `null`. Formats that differ between people and machines, such as UUIDs and IP addresses, take the form
//! for people.
//!
//! A value whose type serde finds out while reading, with `flatten`, or in internally tagged and untagged enums,
//! can be written and not be read back: stored values do not say of what type they are.

mod build;
mod cell;
mod condition;
mod de;
mod error;
mod filter;
mod mutation;
mod ser;
mod span;
#[cfg(test)]
mod tests;
mod value;

pub(crate) use build::{RowBuilder, TooLarge};
pub(crate) use cell::CellSpans;
pub use cell::{Cell, Cells, Row};
pub use condition::Condition;
pub(crate) use de::from_row;
pub use error::RowError;
pub(crate) use filter::{ByteRange, Fault as FilterFault, Kind as FilterKind, TimeRange};
pub use filter::{FilterError, RowFilter};
pub(crate) use mutation::{Change, Rule};
pub use mutation::{Mutation, ReadModifyWrite};
pub(crate) use ser::to_mutations;
pub(crate) use span::Span;
