//! Rows: how they are written, changed and read.
//!
//! A row is a struct by serde. Its fields are columns of one family, `cf` unless [`Table::family`](crate::Table::family)
//! names another; a field that is a struct or a map is a family of its own. [`row`](crate::row) says how each value is
//! stored, and which attributes of serde hold.
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
//!     readings: i64,                   // cf:n, which `increment` counts up
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
//! `create_if_absent` declares the families of the row type. Columns that it does not name are ignored when it is read,
//! and left alone when it is written. A column is named `name` in the table's own family and `family:name` in another,
//! in every call; `family:` is all of a family, where a call takes several columns. The bare name of a family is that of no
//! column, and an error: it is for [`update`](crate::Table::update) alone, which sets and deletes whole fields.
//!
//! | to | write |
//! |---|---|
//! | make a row equal to a value | [`put`](crate::Table::put); many, in order: [`put_all`](crate::Table::put_all) |
//! | set what is present in a value | [`merge`](crate::Table::merge), [`merge_all`](crate::Table::merge_all) |
//! | change some columns | [`update`](crate::Table::update), then `.set(…)` and `.delete(…)`; `.await` it, or `.only_if(condition)` |
//! | write many rows in the background | [`writer`](crate::Table::writer), then [`close`](crate::Writer::close), whose error has each failed row with its key |
//! | load a file or a stream; export | [the page on loading](super::loading) |
//! | write a record to two tables | [`put_both`](crate::put_both), whose error says which of the two holds |
//! | write where the row is as expected | [`put_if_absent`](crate::Table::put_if_absent), [`put_if`](crate::Table::put_if), [`delete_if`](crate::Table::delete_if) with a [`Condition`](crate::row::Condition) |
//! | count and append in the server | [`increment`](crate::Table::increment), [`append`](crate::Table::append); several at once: [`modify`](crate::Table::modify) |
//! | delete a row | [`delete`](crate::Table::delete) |
//! | read one row; many by their keys, in their order | [`get`](crate::Table::get), [`exists`](crate::Table::exists); [`get_many`](crate::Table::get_many) |
//! | read some columns | [`columns`](crate::Table::columns); into a smaller struct: [`rows_as`](crate::Table::rows_as) |
//! | see the cells themselves | [`get_raw`](crate::Table::get_raw); without a key type or a row type: [`raw_table`](crate::Client::raw_table) |
//!
//! # What is refused
//!
//! What could be written and not be read back is an error of the write, before anything is sent, which names the column and
//! what to do: values that serde reads without a type, such as untagged enums and `serde_json::Value`, unless they are
//! [`json`](crate::row::json); numbers in a flattened field, unless they are marked as [`flattened`](crate::row::flattened)
//! shows; NaN and infinity inside a sequence or another value that is JSON; two fields with one name. A row with a column
//! under the name of its field and another under its `alias` is read, by the name, unless a field is flattened:
//! [`row`](crate::row#attributes-of-serde) has the rest.
//!
//! Single columns are named as they are stored, not as the Rust field is, and written as they are given: a name that the row
//! type does not have is another column, and an `f64` column that is set to `&3`, or incremented, holds the eight bytes of an
//! integer, which read as another number.
//!
//! # What is atomic
//!
//! A call about one row is one request, and takes effect whole or not at all. Nothing spans two rows: `put_all`, a
//! writer and a load write each row by itself, and `put_both` says which of its two rows holds after a failure.
//!
//! # What is sent twice
//!
//! A write is sent again after a transient failure where a repetition leaves the same row: one more version of the same
//! values. Conditional writes, increments and appends are sent again only where nothing was done of them: they were not
//! sent, or were refused. After an error that [`is_outcome_unknown`](crate::Error::is_outcome_unknown) they may have been
//! applied, or not, and the program has to look: [errors](super::errors#unknown-outcomes).
//!
//! [What each call promises](super::promises) has each call beside others, after a lost answer, dropped and killed.
