//! Values of Bigtable's SQL: the parameters of queries, and the columns and rows of their results.
//!
//! [`Client::query`](crate::Client::query) runs a query; [the guide](crate::guide::sql) has examples. Each SQL type has a Rust
//! type for parameters ([`ToSql`]) and results ([`FromSql`]):
//!
//! | SQL | Rust |
//! |---|---|
//! | `BYTES` | `bytes::Bytes`; `&[u8]` as a parameter |
//! | `STRING` | `String`; `&str` as a parameter |
//! | `INT64` | `i64`; results also as smaller integers and `u64`, if the value fits |
//! | `FLOAT32`, `FLOAT64` | `f32`, `f64`; a result of `FLOAT32` also as `f64` |
//! | `BOOL` | `bool` |
//! | `TIMESTAMP` | `SystemTime`, [`SqlTimestamp`]; with the features `chrono`, `jiff` and `time` their times in UTC |
//! | `DATE` | [`SqlDate`]; with these features their dates |
//! | `ARRAY` | `Vec` of a type of this table |
//! | `STRUCT` | a tuple of up to 8 types of this table, in the order of the fields; as a result |
//! | `MAP` | `BTreeMap` or `HashMap`; as a result |
//! | a protobuf message | `bytes::Bytes`, its encoding; as a result |
//! | a protobuf enum | `i64`, its number; as a result |
//!
//! Any of them may be NULL: use an `Option`. [`SqlValue`] holds a value of any type.
//!
//! The columns of a result are checked against the Rust types once, before its first row, and also if it has no rows or only NULLs.
//! Parameters are checked before anything is sent: a date must be of the calendar, and a time must not be in a leap second.

mod calendar;
mod convert;
mod row;
mod types;
mod value;

pub use convert::{FromSql, SqlMismatch, ToSql};
#[doc(inline)]
pub use keyderive_macros::FromQueryRow;
pub use row::{ColumnError, FromQueryRow, QueryColumn, QueryColumns, QueryRow};
#[doc(hidden)]
pub use row::{NamedColumn, named_column};
pub use types::SqlType;
pub use value::{SqlDate, SqlTimestamp, SqlValue};
