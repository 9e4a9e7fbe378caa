//! Rows: how a struct is stored in the cells of a row.
//!
//! ```
//! use std::collections::BTreeMap;
//! use keyderive::row::{Sum, Timestamped, Versions};
//! use keyderive::{Cell, Client, Row, RowKey};
//! # #[derive(RowKey)] struct SensorKey { id: u64 }
//!
//! #[derive(Row)]
//! struct Sensor {
//!     name: String,                    // `cf:name`
//!     kind: Kind,                      // `cf:kind`, the name of the variant
//!     #[row(name = "n", counter)]
//!     readings: i64,                   // `cf:n`, which `increment` adds to
//!     level: Option<Timestamped<f64>>, // `cf:level`, with its timestamp
//!     #[row(json)]
//!     tags: Vec<String>,               // `cf:tags`, as JSON
//!     #[row(family)]
//!     place: Option<Place>,            // the family `place`: `place:city`, `place:floor`
//!     #[row(family)]
//!     daily: BTreeMap<String, f64>,    // the family `daily`, a column for each key: `daily:METER:0015`
//!     #[row(family = "h")]
//!     state: Versions<String>,         // `h:state`, every version of it
//!     #[row(family = "sums")]
//!     alarms: Sum,                     // `sums:alarms`, which updates add to
//! }
//!
//! #[derive(Row)]
//! struct Place {
//!     city: String,
//!     floor: Option<i32>,
//! }
//!
//! #[derive(Cell, Clone, Copy)]
//! enum Kind {
//!     Indoor,
//!     Outdoor,
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), keyderive::Error> {
//! let sensors = Client::embedded().table::<SensorKey, Sensor>("sensors");
//! sensors.create_if_absent().await?; // with the families `cf`, `place`, `daily`, `h` and `sums`
//! let key = SensorKey { id: 7 };
//! sensors.update(&key).set(Sensor::KIND, Kind::Outdoor).set(Sensor::PLACE.city, "Zürich").add(Sensor::ALARMS, 1).await?;
//! # Ok(())
//! # }
//! ```
//!
//! # Columns and families
//!
//! [`#[derive(Row)]`](macro@crate::Row) makes each field a column of the row's default family, which is `cf` unless
//! `#[row(family = "…")]` on the struct names another.
//!
//! - `#[row(family = "h")]` on a field puts its column into another family.
//! - `#[row(family)]` makes the field a family: a struct, whose fields are its columns, an `Option` of one, or a map, whose
//!   entries are its columns. The fields of such a struct are columns, and no families.
//! - An *aggregate* is a field of the type [`Sum`], [`Min`] or [`Max`]: programs add values, and the server keeps the result. A
//!   family has aggregates of one type alone, which is fixed when it is created, or no aggregates.
//! - A [`BTreeMap`](std::collections::BTreeMap) or [`HashMap`](std::collections::HashMap) of [`Cell`]s is a row too. Its entries
//!   are columns of one family, which [`Table::family`](crate::Table::family) names. `()` is a row without columns.
//!
//! Columns are named by their stored names, which each cell repeats: keep them short with `#[row(name = "n")]`.
//!
//! Reads take the newest version of a column. They ignore columns and families that the row type does not have, so that older
//! and newer programs can share a table. A row without a column that its type needs is *unreadable*: an error that names what it
//! has and what it lacks, unless the read [skips such rows](crate::OnUnreadable).
//!
//! | field | reads an absent column as | what `put` does where the field is absent or empty |
//! |---|---|---|
//! | `T`, [`Timestamped<T>`] | an error | a value is never absent |
//! | `Option<T>`, `Option<Timestamped<T>>` | `None` | deletes the column |
//! | `T` with `default` | the default | a value is never absent |
//! | `i64` with `counter` | 0 | a value is never absent |
//! | [`Versions<T>`] | no versions | deletes the column |
//! | [`Sum`]; [`Min`], [`Max`] | 0; `None` | never writes the column |
//! | a struct that is a family | a struct whose columns are absent | each column as its type says |
//! | an `Option` of a struct | `None` if all its columns are absent | deletes its columns |
//! | a map that is a family; an `Option` of one | an empty map; `None` | deletes the family |
//!
//! Empty text is a value. A row whose columns are all absent, and an `Option` of a family that is `Some` without a column, are
//! stored as an empty value under the empty qualifier, so that they exist. So no column can have the empty name.
//!
//! [`put`](crate::Table::put) makes the columns of the row type equal to the value's, in one request. It deletes absent columns and
//! former names, and sets present ones at the server's time, so the request applied last decides all of them.
//! [`merge`](crate::Table::merge) sets only what is present. Neither changes columns that the row type does not have, except
//! that `put` empties a family that is `exclusive`.
//!
//! # Values
//!
//! [`Cell`] lists the types that are values and their stored bytes. An attribute chooses another encoding:
//!
//! | attribute | type | stored as |
//! |---|---|---|
//! | `json` | any with `serde::Serialize` and `serde::Deserialize` | compact JSON |
//! | `ts(unit = "millis")` | a time: `SystemTime`, or of chrono, jiff or time | an integer of `secs`, `millis`, `micros` or `nanos` since 1970, rounded down |
//! | `proto` | a message of `prost`, with the feature `proto` | the encoded message |
//! | `with = "module"` | any | as the module's `encode` and `decode` say |
//!
//! - **JSON** has no NaN and no infinity, the same `null` for `None`, `Some(None)` and `Some(())`, and at most 127 nested arrays
//!   and objects. A write rejects a value that JSON does not give back.
//! - **Keys of maps** are [`Qualifier`]s: text, bytes, UUIDs, dates, and enums and newtypes by `#[derive(Cell)]`.
//! - **Aliases.** `#[row(alias = "mail")]` names a former column, under which reads and conditions find the value where the
//!   column itself has none. A write of the column deletes it.
//!
//! Cells have the server's time of the write, in the table's [granularity](crate::client::Granularity), unless [`Timestamped`] or
//! [`Versions`] set another. A retried write can add a second version with the same values, if the family keeps several versions.
//!
//! # Columns as values
//!
//! The derive declares a constant for each field: a [`Column`], a [`Family`] or a [`MapFamily`]. Its type says what can be done:
//! [`update`](crate::Table::update) sets and clears, [`increment`](crate::Table::increment) counts,
//! [`select`](crate::Table::select) reads some columns alone, and a [`Condition`] compares values at the server.
//! [`Row::column`] names a column by text.
//!
//! # When row types change
//!
//! Programs with older and newer row types share tables. [`RowSchema::changes_from`] compares a row type with a schema that was
//! saved as JSON, and says whether each of the two programs reads what both write. `#[row(fingerprint = "…")]` pins a layout in the
//! source.

mod aggregate;
mod build;
mod cell;
mod column;
mod condition;
mod decode;
mod encode;
mod encoding;
mod error;
mod family;
mod field;
mod filter;
mod json;
mod live;
mod mutation;
mod qualifier;
mod raw;
mod schema;
mod select;
mod show;
mod sink;
mod span;
#[cfg(feature = "embedded")]
#[cfg(test)]
mod tests;
mod text;
mod typed;
mod versions;
mod visible;

pub(crate) use aggregate::addition as aggregate_addition;
pub use aggregate::{Max, Min, Sum};
pub(crate) use build::{RowBuilder, TooLarge};
#[doc(no_inline)]
pub use cell::Cell;
pub use cell::{CellError, CellType, CellWriter, StoredCell};
pub(crate) use cell::{ComparableCell, OrderedCell, OwnedCell};
pub(crate) use column::{
    Addable, AddableAt, Appendable, CellValue, Clearable, ColumnRef, ColumnType, Countable, FamilyRef,
    History, Settable, SettableAt,
};
pub use column::{Any, Column, Counter, Entry, Family, MapFamily};
pub(crate) use column::{ColumnPlace, entry};
pub use condition::Condition;
#[doc(hidden)]
pub use decode::RowCells;
#[doc(hidden)]
pub use encode::RowWriter;
pub(crate) use encode::check_timestamp;
#[cfg(feature = "proto")]
pub use encoding::Proto;
pub use encoding::{As, Encoding, Json};
pub use error::RowError;
pub use family::FamilyField;
pub(crate) use family::MapRow;
pub(crate) use field::is_present;
pub(crate) use filter::{ByteRange, FilterFault, FilterKind, Largest as LargestPart, TimeRange};
pub use filter::{FilterError, RowFilter};
#[doc(no_inline)]
pub use keyderive_macros::{Cell, Row};
pub use mutation::{Mutation, ReadModifyWrite};
pub(crate) use mutation::{MutationKind, Rule, SERVER_TIME};
pub(crate) use qualifier::Name;
pub use qualifier::Qualifier;
pub(crate) use raw::CellSpans;
pub(crate) use raw::Shown;
pub use raw::{RawCell, RawCells, RawRow};
pub use schema::{
    ColumnKind, ColumnSchema, DeclaredColumn, LayoutChange, LayoutChanges, RowSchema, SchemaError,
};
pub(crate) use schema::{DeclaredGc, FamilyRule, FieldSchema};
pub(crate) use select::Selection;
pub use select::{SelectedColumns, SelectionReader};
pub(crate) use select::{copy_without_presence, without_presence};
pub(crate) use show::EscapedText;
pub(crate) use sink::{AdditionsOnly, ComparedVersion, MutationList, MutationSink, ValuesOnly};
pub(crate) use span::{Span, is_same_name};
pub(crate) use text::check_kind;
#[doc(no_inline)]
pub use typed::{OwnedRow, Row};
pub(crate) use versions::now_micros;
pub use versions::{Timestamped, Versions};
#[doc(hidden)]
pub use visible::DEFAULT_FAMILY;
pub(crate) use visible::{DEFAULT_VERSIONS, ReadFilters, VisibleCells};

/// The bounds of calls: which columns, families, rows and values a call takes. Derives implement them.
pub mod bounds {
    pub use super::cell::{ComparableCell, OrderedCell, OwnedCell};
    pub use super::column::{
        Addable, AddableAt, Appendable, CellValue, Clearable, ColumnRef, ColumnType, Countable, FamilyRef,
        History, Settable, SettableAt,
    };
    pub use super::family::MapRow;
    pub use super::select::Selection;
}

/// What generated code uses of rows.
#[doc(hidden)]
pub mod generated {
    pub use super::RowError;
    pub use super::aggregate::Aggregate;
    pub use super::column::{Column, Counter, Family, Faulty, MapFamily};
    pub use super::decode::{FamilyRun, RowCells, Slot};
    pub use super::encode::RowWriter;
    #[cfg(feature = "proto")]
    pub use super::encoding::Proto;
    pub use super::encoding::{As, Encoding, Json};
    pub(crate) use super::family::delete_columns;
    pub use super::family::{FamilyConst, FamilyField, FamilyName};
    pub use super::field::{
        aggregate, aggregates, map, newest, newest_timestamped, optional_family, owns_all, required, versions,
    };
    pub use super::qualifier::Name;
    pub use super::raw::CellSlice;
    pub use super::schema::{
        Alias, ColumnKind, ColumnSchema, DeclaredGc, FamilyRule, FieldSchema, RowSchema,
    };
    pub use super::span::is_same_name;
    pub use super::typed::{OwnedRow, Row};
    pub use super::versions::{Timestamped, Versions};
}
