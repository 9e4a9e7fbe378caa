//! Rows: writing, changing and reading them.
//!
//! A row is a struct with serde's derives. Its fields are columns of one family, `cf` unless
//! [`Table::family`](crate::Table::family) sets another. A field that is a struct or a map is a family of its own.
//! [`row`](crate::row) says how each value is stored and which serde attributes apply.
//!
//! ```
//! use std::collections::BTreeMap;
//! use keyderive::row::{Condition, Timestamped, Versions};
//! # use keyderive::{Client, RowKey};
//! # #[derive(RowKey)] struct SensorKey { id: u64 }
//!
//! #[derive(serde::Serialize, serde::Deserialize)]
//! struct Sensor {
//!     name: String,                    // cf:name
//!     #[serde(rename = "n")]
//!     readings: i64,                   // cf:n, which `increment` adds to
//!     place: Option<Place>,            // the family place: place:city
//!     daily: BTreeMap<String, f64>,    // the family daily, a column for each key: daily:METER:0015
//!     level: Option<Timestamped<f64>>, // cf:level, with its timestamp
//!     state: Versions<String>,         // cf:state, every version of it
//! }
//!
//! #[derive(serde::Serialize, serde::Deserialize)]
//! struct Place {
//!     city: String,
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), keyderive::Error> {
//! # let client = Client::embedded();
//! let sensors = client.table::<SensorKey, Sensor>("sensors");
//! sensors.create_if_absent().await?; // with the families cf, place and daily
//!
//! let key = SensorKey { id: 7 };
//! let place = Some(Place { city: "Zürich".into() });
//! let state = Versions::default();
//! let sensor = Sensor { name: "roof".into(), readings: 0, place, daily: BTreeMap::new(), level: None, state };
//! assert!(sensors.put_if_absent(&key, &sensor).await?);
//!
//! assert_eq!(sensors.increment(&key, "n", 1).await?, 1);
//! sensors.update(&key).set("daily:METER:0015", &0.5).delete("place").await?;
//! let named = Condition::column_equals("name", "roof");
//! assert!(sensors.update(&key).set("name", "cellar").only_if(named).await?);
//!
//! let sensor = sensors.get(&key).await?.expect("it was put");
//! assert_eq!((sensor.name.as_str(), sensor.readings, sensor.daily["METER:0015"]), ("cellar", 1, 0.5));
//! assert!(sensor.place.is_none());
//!
//! // One column, into a smaller struct.
//! #[derive(serde::Deserialize)]
//! struct Name {
//!     name: String,
//! }
//! let name = sensors.rows_as::<Name>().columns(["name"]).get(&key).await?;
//! assert_eq!(name.map(|row| row.name).as_deref(), Some("cellar"));
//! # Ok(())
//! # }
//! ```
//!
//! `create_if_absent` creates the families of the row type. Reads ignore columns that the row type does not have, and
//! writes leave them as they are.
//!
//! In every call, `name` is a column of the table's own family, and `family:name` one of another family. If a call
//! takes several columns, `family:` is a whole family. The bare name of a family is an error, except in
//! [`update`](crate::Table::update), which sets and deletes whole fields.
//!
//! | to | write |
//! |---|---|
//! | make a row equal to a value | [`put`](crate::Table::put); many, in order: [`put_all`](crate::Table::put_all) |
//! | set the present fields of a value | [`merge`](crate::Table::merge), [`merge_all`](crate::Table::merge_all) |
//! | change some columns | [`update`](crate::Table::update), then `.set(…)` and `.delete(…)`; `.await` it, or `.only_if(condition)` |
//! | write many rows in the background | [`writer`](crate::Table::writer), then [`close`](crate::Writer::close), whose error lists each failed row with its key |
//! | load a file or a stream; export | [loading](super::loading) |
//! | write a record to two tables | [`put_both`](crate::put_both), whose error says which of the two rows was written |
//! | write only if the row meets a condition | [`put_if_absent`](crate::Table::put_if_absent), [`put_if`](crate::Table::put_if), [`delete_if`](crate::Table::delete_if) with a [`Condition`](crate::row::Condition) |
//! | increment and append at the server | [`increment`](crate::Table::increment), [`append`](crate::Table::append); several at once: [`modify`](crate::Table::modify) |
//! | delete a row | [`delete`](crate::Table::delete) |
//! | read one row; many by their keys, in that order | [`get`](crate::Table::get), [`exists`](crate::Table::exists); [`get_many`](crate::Table::get_many) |
//! | read some columns | [`columns`](crate::Table::columns); into a smaller struct: [`rows_as`](crate::Table::rows_as) |
//! | read stored cells | [`get_raw`](crate::Table::get_raw); without a key type or a row type: [`raw_table`](crate::Client::raw_table) |
//!
//! # What writes reject
//!
//! A write fails, before anything is sent, if the value could not be read back. The error names the column and a
//! remedy:
//!
//! - values that serde reads without a type, such as untagged enums and `serde_json::Value`, unless stored with
//!   [`json`](crate::row::json);
//! - numbers in a flattened field, unless marked with [`flattened`](crate::row::flattened);
//! - NaN and infinity inside a sequence or another value stored as JSON;
//! - two fields with one name.
//!
//! Calls on single columns, such as `update` and `increment`, are not checked against the row type. Use stored names,
//! not those of Rust fields: a name that the row type does not have is a new column. The type of the value counts too:
//! an `f64` column that you set to `&3`, or increment, then holds the eight bytes of an integer, which read as a
//! different `f64`.
//!
//! [`row`](crate::row#attributes-of-serde) says how columns under an `alias` are read.
//!
//! # Atomicity
//!
//! A call on one row is one request, and is applied completely or not at all. Nothing is atomic across rows: `put_all`,
//! a writer and a load write each row on its own, and the error of `put_both` says which of its two rows was written.
//!
//! # Retries of writes
//!
//! A write is retried after a transient failure if repeating it leaves the same row: at most one more version of the
//! same values. Conditional writes, increments and appends are retried only if they were not applied: they were not
//! sent, or the server rejected them. After an error with [`is_outcome_unknown`](crate::Error::is_outcome_unknown) the
//! write may or may not have been applied, and the program must check: [errors](super::errors#unknown-outcomes).
//!
//! [Guarantees of each call](super::promises) covers concurrent calls, lost responses, dropped futures and killed
//! processes.
