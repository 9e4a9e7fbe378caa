//! Values of Bigtable's SQL: the parameters of queries, and the columns and rows of their results.
//!
//! [`Client::query`](crate::Client::query) runs a query; [the guide](crate::guide::sql) has examples. These Rust types can be
//! parameters ([`ToSql`]) and results ([`FromSql`]):
//!
//! | SQL | parameter | result |
//! |---|---|---|
//! | `BYTES` | `bytes::Bytes`, `&[u8]` | `bytes::Bytes` |
//! | `STRING` | `String`, `&str` | `String` |
//! | `INT64` | `i64` | `i64`; the smaller integers and `u64`, if the value fits |
//! | `FLOAT32` | `f32` | `f32`, `f64` |
//! | `FLOAT64` | `f64` | `f64` |
//! | `BOOL` | `bool` | `bool` |
//! | `TIMESTAMP` | `SystemTime`, [`SqlTimestamp`]; with the features `chrono`, `jiff` and `time` their times in UTC | the same |
//! | `DATE` | [`SqlDate`]; with these features their dates | the same |
//! | `ARRAY` | `Vec` of a parameter | `Vec` of a result |
//! | `STRUCT` | | a tuple of up to 8 results, one for each field, in order |
//! | `MAP` | | `BTreeMap` or `HashMap` |
//! | a protobuf message | | `bytes::Bytes`, its encoding |
//! | a protobuf enum | | `i64`, its number |
//!
//! - Any of them may be NULL: use an `Option`.
//! - A `Vec<u8>` is an `ARRAY<INT64>` in a result, and no parameter: for `BYTES` use `Bytes`.
//! - Integers other than `i64` are no parameters: bind `i64::from(n)`, or `i64::try_from(n)?` for a `u64`.
//! - [`SqlValue`] holds a value of any type; [`bind_value`](crate::client::Query::bind_value) takes one as a parameter.

mod assembler;
mod calendar;
mod convert;
mod row;
mod types;
mod value;

pub(crate) use assembler::Assembler;
pub use convert::{FromSql, SqlMismatch, ToSql};
#[doc(inline)]
pub use keyderive_macros::FromQueryRow;
pub(crate) use row::Columns;
pub use row::{ColumnError, FromQueryRow, QueryColumn, QueryRow};
pub use types::SqlType;
pub(crate) use value::InvalidTime;
pub use value::{SqlDate, SqlTimestamp, SqlValue};
