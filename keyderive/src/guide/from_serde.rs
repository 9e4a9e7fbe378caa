//! For users of serde, sqlx and ORMs: what you write there, and the equivalent here.
//!
//! ```
//! use std::collections::BTreeMap;
//! use keyderive::row::{Timestamped, Versions};
//! use keyderive::{Cell, Row};
//!
//! #[derive(Row)]
//! struct User {
//!     #[row(name = "n")]                    // serde: #[serde(rename = "n")]
//!     name: String,
//!     #[row(alias = "mail")]                // serde: #[serde(alias = "mail")]
//!     email: Option<String>,
//!     #[row(default)]                       // serde: #[serde(default)]
//!     retries: u32,
//!     #[row(json)]                          // a value that other mappers store as JSON unasked
//!     tags: Vec<String>,
//!     #[row(family)]                        // a nested struct: columns of a family of its own
//!     address: Option<Address>,
//!     #[row(family)]                        // a map: a column for each key
//!     visits: BTreeMap<String, i64>,
//!     role: Role,                           // an enum: #[derive(Cell)]
//!     #[row(ts(unit = "millis"))]           // a time as an integer
//!     created: std::time::SystemTime,
//!     #[row(family = "h")]                  // the history of a column
//!     state: Versions<String>,
//!     level: Option<Timestamped<f64>>,      // a value with the time of its cell
//! }
//!
//! #[derive(Row)]
//! struct Address {
//!     city: String,
//! }
//!
//! #[derive(Cell, Clone, Copy)]
//! enum Role {
//!     #[row(name = "admin")]                // serde: #[serde(rename = "admin")]
//!     Admin,
//!     Guest,
//! }
//! ```
//!
//! | elsewhere | here |
//! |---|---|
//! | `#[derive(Serialize, Deserialize)]` on the row | [`#[derive(Row)]`](macro@crate::Row) |
//! | on an enum or a newtype that is a value | [`#[derive(Cell)]`](macro@crate::Cell); an enum with data is `#[row(json)]`, with serde's derives on it |
//! | `rename_all` | `#[row(name = "…")]` on each field, so that a text search finds a stored name |
//! | `skip` | leave the field out of the row type; several types can read and write parts of one row |
//! | `flatten` | the fields themselves, or a field with `#[row(family)]` |
//! | `with = "module"` | `#[row(with = "module")]`, with `encode` and `decode` for one cell |
//! | `serde_json::Value`, tagged and untagged enums | `#[row(json)]` |
//! | a key and its row as one flat record of CSV or JSON | [`Flat`](crate::Flat)`(&key, &row)`, with serde's `Serialize` on both |
//! | a column by its name, `"visits:2026-05-01"` | `User::VISITS.at("2026-05-01")`; at run time `User::column("visits:2026-05-01")` |
//! | a partial update by a struct of options | [`update`](crate::Table::update) with the columns; or [`merge`](crate::Table::merge) |
//! | `save()`, `upsert` | [`put`](crate::Table::put), which leaves columns that the row type does not have |
//! | a transaction | none: one call on one row is [atomic](super::rows#atomicity), several rows are not |
//! | `create`, which fails if the row exists | [`put_if_absent`](crate::Table::put_if_absent) |
//! | optimistic locking by a version column | a field `Timestamped<T>`, and a condition [`version`](crate::row::Column::version) |
//! | `UPDATE … SET n = n + 1` | [`increment`](crate::Table::increment) of a counter, or `.add(…)` to a [`Sum`](crate::row::Sum) |
//! | `SELECT a, b` | [`select`](crate::Table::select) |
//! | `WHERE` on the key | a scan of the key type: [scans](super::scans) |
//! | `WHERE` on a column | [`Scan::matching`](crate::Scan::matching), which reads every row of the scan at the server |
//! | a migration | [`RowSchema::changes_from`](crate::row::RowSchema::changes_from) says which changes of the type need none |
//!
//! # Tables with rows that serde wrote
//!
//! The derive reads the cells that earlier versions of this library wrote through serde, with these differences:
//!
//! | type | by serde | by the derive |
//! |---|---|---|
//! | `Vec<u8>`, `[u8; N]` | a JSON array | bytes; `#[row(json)]` reads the array |
//! | times of the crate `time` | a JSON array | text in RFC 3339; `#[row(json)]` reads the array |
//! | lists, tuples, enums with data, structs below a column | JSON | the same with `#[row(json)]`; without it they do not compile |
//! | `SystemTime`, `Duration` | a family of two columns | `ts`, `json` or `with`; a struct with `#[row(family)]` reads the family |
//! | `usize`, `isize` | an integer | `u64`, `i64`: the same bytes |
