//! Keys, rows and tables whose layout is known only at run time: for tools that work on a table without the structs of the program that
//! writes it.
//!
//! Keys and plans need no feature, and to read their layout from JSON `json`; rows and tables need `client`.
//!
//! Applications should use their types: the compiler checks them, and they are faster.
//!
//! | for | with types | at run time |
//! |---|---|---|
//! | keys | a struct with [`RowKey`](derive@crate::RowKey) | [`KeyLayout`], [`DynScan`], [`KeyFilter`] |
//! | rows | a struct with [`Row`](derive@crate::Row) | [`DynRow`]; borrowed, [`DynRowRef`] |
//! | the key of a row in another table | closures, `From` | [`KeyMapping`] |
//! | a table | [`Client::table`](crate::Client::table) | [`Client::dynamic_table`](crate::Client::dynamic_table) |
//! | copies and comparisons | [`Table::copy_to`](crate::Table::copy_to), [`Table::diff`](crate::Table::diff) | [`DynTable::copy_to`](crate::table::DynTable::copy_to), [`DynTable::diff`](crate::table::DynTable::diff) |
//! | the driver of a re-keying | [`Rekeyed::migration`](crate::table::rekey::Rekeyed::migration) | [`Client::dynamic_migration`](crate::Client::dynamic_migration) |

#[cfg(feature = "json")]
mod error;
mod filter;
mod key;
#[cfg(feature = "client")]
mod mapping;
#[cfg(feature = "client")]
mod pairing;
#[cfg(feature = "client")]
mod read;
#[cfg(feature = "client")]
mod row;
mod scan;
#[cfg(feature = "client")]
mod table_layout;
#[cfg(all(feature = "chrono", feature = "jiff", feature = "time", feature = "uuid", feature = "proto"))]
#[cfg(test)]
pub(crate) mod tests;
#[cfg(feature = "json")]
pub(crate) mod unique_json;

#[cfg(feature = "json")]
pub use self::error::LayoutError;
pub use self::filter::{KeyFilter, KeyTest};
pub use self::key::{DynKey, KeyLayout, KeyStart};
#[cfg(feature = "client")]
pub use self::mapping::{KeyMapping, MappingError};
#[cfg(feature = "client")]
pub(crate) use self::pairing::{FieldPairs, OldPlan};
#[cfg(feature = "client")]
pub(crate) use self::read::DynReader;
#[cfg(feature = "client")]
pub use self::read::{DynColumnRef, DynRowRef};
#[cfg(feature = "client")]
pub(crate) use self::read::{RowBuffer, RowReader};
#[cfg(feature = "client")]
pub use self::row::{ColumnValue, DynColumn, DynRow};
pub use self::scan::DynScan;
#[cfg(feature = "client")]
pub use self::table_layout::TableLayout;
#[cfg(feature = "json")]
#[doc(hidden)]
pub use self::unique_json::UniqueJson;
pub use crate::key::{Value, ValueRef};
#[cfg(feature = "client")]
use crate::row::{CellError, CellType};

/// Parses text, such as a command-line argument, as a value of a column with this type of cell.
///
/// ```
/// use keyderive::dynamic::{Value, parse_cell};
/// use keyderive::row::CellType;
///
/// let count = CellType::Integer { min: 0, max: 255 };
/// assert_eq!(parse_cell(count, "12")?, Value::Integer(12));
/// assert_eq!(parse_cell(CellType::Bytes, "00ff")?, Value::Bytes(vec![0, 255]));
///
/// let error = parse_cell(count, "256").unwrap_err().to_string();
/// assert_eq!(error, "holds an integer of 0 to 255, which `256` is not");
/// # Ok::<(), keyderive::row::CellError>(())
/// ```
///
/// Numbers are decimal, a `bool` is `true` or `false`, bytes are hexadecimal digits, a time is RFC 3339 (or, in a column of integers, the
/// stored number), and a variant that is stored as a code is its name or the code. The text that `value.to_string()` prints parses as that
/// value; a time must be in the years 0000 to 9999.
///
/// # Errors
/// If such a column cannot hold the text's value.
#[cfg(feature = "client")]
pub fn parse_cell(stored: CellType, text: &str) -> Result<Value, CellError> {
    stored.parse(text)
}
