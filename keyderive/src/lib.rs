//! Typed row keys for Google Cloud Bigtable: annotate a struct, and the derive encodes its row key, decodes it and
//! plans its scans.
//!
//! ```toml
//! [dependencies]
//! # A checkout, until it is published. With the default feature `cloud`, 167 crates are built in place of 85.
//! keyderive = { path = "../keyderive/keyderive", default-features = false, features = ["embedded"] }
//! tokio = { version = "1", features = ["macros", "rt-multi-thread"] }
//! ```
//!
//! ```
//! use keyderive::{Client, Row, RowKey};
//!
//! #[derive(RowKey, Debug, Clone, PartialEq)]
//! #[salt(range = 4, over = "user_id,site")]
//! struct EventKey {
//!     user_id: String,
//!     site: String,
//!     #[reverse_ts]
//!     at: u64, // milliseconds; newest first
//!     #[pad(6)]
//!     seq: u32,
//! }
//!
//! #[derive(Row)]
//! struct Event {
//!     kind: String,
//!     amount: f64,
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let client = Client::embedded();
//! let events = client.table::<EventKey, Event>("events");
//! events.create_if_absent().await?; // pre-split by salt bucket
//!
//! let key = EventKey { user_id: "alice".into(), site: "home".into(), at: 1426535612156, seq: 42 };
//! assert_eq!(key.encode()?, b"1#alice#home#9223370610319163651#000042");
//!
//! events.put(&key, &Event { kind: "login".into(), amount: 0.0 }).await?;
//! let one = events.get(&key).await?; // always one point read, never a range
//! assert!(one.is_some());
//!
//! let mut newest = events.scan(EventKey::scan().user_id("alice").site("home")).limit(10).stream();
//! while let Some(row) = newest.next().await {
//!     let (key, event) = row?;
//! }
//! # Ok(())
//! # }
//! ```
//!
//! This page is a short manual. [`guide`] has a page for each part, and [`designs`] has Google's published schema
//! designs as key types.
//!
//! # Choosing a key
//!
//! Bigtable sorts rows by their keys. Put the fields that a query fixes first, then the one that it ranges over. A key
//! that begins with a growing value, such as a time, a date or a number marked `#[row_key(sequential)]`, sends all
//! writes to one tablet: a hotspot. It does not compile without a salt or `#[row_key(allow(hotspot))]`. Take the first
//! remedy that fits:
//!
//! | situation | remedy | in keyderive |
//! |---|---|---|
//! | the key begins with a growing value, and queries fix another field | field promotion | put that field first |
//! | no field can be promoted, or few values of it take most writes | salting | `#[salt(range = 4)]`, with `over = "…"` to keep some rows together |
//! | the program looks up single rows, or reads all | randomization | `uuid(v4)`, `bit_reverse`, `hash(md5)` |
//!
//! A *salt* is a *bucket* number before the fields; a hash of the salted fields chooses the bucket.
//! [`guide::choosing`] has the reasons, the cost of each remedy, and Google's pages on them.
//!
//! # Keys
//!
//! [`#[derive(RowKey)]`](derive@RowKey) takes a struct with named fields. A delimiter joins the fields; the type and
//! attributes of each field choose its format. [`guide::attributes`] explains each attribute, [`key::codec`] specifies
//! every format with its bytes.
//!
//! | to | write |
//! |---|---|
//! | keep the rows of a user together | the user as the first field |
//! | spread a busy user's rows over tablets | `#[salt(range = 4)]` on the struct |
//! | read the newest first | `#[reverse_ts]` on the time |
//! | set the digits of a number | `#[pad(6)]`; the default is the digits of its type's maximum |
//! | let key types share a table | `#[row_key(tag = "BATTERY")]` on each |
//! | store a newtype, or an enum by its codes | [`#[derive(KeyField)]`](derive@KeyField) on it |
//! | store a type of another crate | `#[row_key(with = "module")]`, with a module that encodes and decodes it |
//! | rename a field, but keep the schema | `#[row_key(name = "…")]` |
//! | see where each field is in the bytes | `println!("{}", EventKey::SCHEMA)`; it is also [`serde::Serialize`] |
//! | print and parse keys | [`RowKey::to_text`], [`RowKey::from_text`], or `#[row_key(display)]` |
//!
//! The derive gives the type these methods too, so that `EventKey::scan()` and `key.encode()` need no import; generic code uses
//! the trait [`RowKey`](trait@RowKey).
//!
//! [`RowKey::encode`] rejects what the key cannot hold; the error names the field, the value and the limit.
//! [`RowKey::decode`] accepts exactly what `encode` writes. Borrowed fields (`&'a str`, `Cow<'a, str>`) decode without
//! allocating.
//!
//! # Scans
//!
//! `EventKey::scan()` starts a scan of all rows. For a field `f`, `.f(value)` fixes it to one value and `.f_any_of([a,
//! b])` to several; both continue with the next field. `.f_range(a..b)` and, for text and bytes, `.f_prefix("x")` are
//! the last constraint. Only the leftmost field that is not yet fixed can be constrained; anything else does not
//! compile.
//!
//! ```
//! # use keyderive::RowKey;
//! # #[derive(RowKey)]
//! # #[salt(range = 4, over = "user_id")]
//! # struct EventKey { user_id: String, #[reverse_ts] at: u64 }
//! // A range begins with its lesser value, also on a reversed field.
//! let scan = EventKey::scan().user_id("alice").at_range(1426535612000..=1426535612156);
//! println!("{}", scan.explain()?);
//! # Ok::<(), keyderive::plan::PlanError>(())
//! ```
//!
//! ```compile_fail
//! # use keyderive::RowKey;
//! # #[derive(RowKey)] struct EventKey { user_id: String, site: String }
//! EventKey::scan().site("home"); // `user_id` comes first
//! ```
//!
//! Each step has its own type. If a condition decides how many fields are constrained, make a [`plan::Plan`] in each
//! branch with `.into_plan()`. A function can return a scan as `impl IntoPlan<EventKey>`.
//!
//! Range bounds need not be storable: a bound the field cannot hold is clamped, or the range is empty. A fixed value
//! that no key can hold is an error when the scan is planned, explained or run.
//!
//! A [`plan::Plan`] computes its requests without a table: one for each bucket that can hold a row. If all salted
//! fields are fixed, there is a single request; if all fields are fixed, it reads one row key, not a range. serde
//! serializes a plan, so that another process can run it. [`guide::scans`] lists all options of a scan.
//!
//! # Tables
//!
//! [`Client::table`] returns a [`Table`] with typed keys and rows. [`Table::put`] makes a row equal to a value,
//! [`Table::get`] reads one by its key, and [`Table::scan`] streams rows in key order, merged from all buckets. A
//! [`Scan`] has a limit, a direction, server-side filters, and pages with tokens. [`Table::partitions`] divides a table
//! into plans for workers. [`Table::count`], [`Table::delete_rows`] and [`Table::drop_rows`] also take plans.
//!
//! # Rows
//!
//! Rows are structs with `#[derive(Row)]`: each field is a column, or a column family with `#[row(family)]`. The derive declares
//! a typed constant for each: `Page::TITLE`. [`row`] says how values are stored.
//!
//! ```
//! # use std::collections::BTreeMap;
//! # use keyderive::{Client, Row, RowKey};
//! # #[derive(RowKey)] struct PageKey { url: String }
//! #[derive(Row)]
//! struct Page {
//!     title: String,                // `cf:title`
//!     #[row(family)]
//!     author: Option<Author>,       // the family `author`: `author:name`
//!     #[row(family)]
//!     visits: BTreeMap<String, i64> // the family `visits`: a column for each day
//! }
//!
//! #[derive(Row)]
//! struct Author {
//!     name: String,
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), keyderive::Error> {
//! # let client = Client::embedded();
//! let pages = client.table::<PageKey, Page>("pages");
//! pages.create_if_absent().await?; // with all three families
//! let home = PageKey { url: "/".into() };
//! pages.put(&home, &Page { title: "Home".into(), author: None, visits: BTreeMap::new() }).await?;
//! pages.increment(&home, Page::VISITS.at("2026-05-01"), 1).await?;
//! pages.update(&home).set(Page::TITLE, "Welcome").set(Page::AUTHOR.name, "alice").await?;
//! let page = pages.get(&home).await?.unwrap();
//! assert_eq!((page.title.as_str(), page.visits["2026-05-01"]), ("Welcome", 1));
//! # Ok(())
//! # }
//! ```
//!
//! - Write: [`Table::merge`] sets the present fields of a value, [`Table::update`] some columns. [`Table::increment`],
//!   [`Table::append`] and [`Table::modify`] change values at the server. [`Table::put_if`], [`Table::put_if_absent`]
//!   and [`Table::delete_if`] write only if the row meets a condition.
//! - Read: [`Table::get_many`] reads rows by their keys, [`Table::rows_as`] and [`Table::select`] parts of rows,
//!   [`row::Timestamped`] and [`row::Versions`] timestamps and history, [`Table::get_raw`] and [`Scan::raw`] stored
//!   cells.
//!
//! A column that the row type does not have, or a value of another type, does not compile. [`guide::rows`] lists all calls.
//!
//! # Loading
//!
//! [`Table::load`] writes the rows of a stream, spread over the tablets whatever their order. After a crash it resumes
//! from a [`Checkpoint`](table::load::Checkpoint). [`Table::export`] reads several partitions of a table at a time.
//! [`Table::copy_to`] copies a table to one with another key type, and [`Table::diff`] compares two tables.
//! [`guide::loading`] says when to use which call. [`put_both`](table::put_both) writes a record to two tables.
//!
//! # Administration
//!
//! [`Table::create`] creates a table with families, a [`GcRule`] for each, and splits. [`Table::verify`] compares a
//! table with its types, and [`Table::modify_families`] changes its families. [`guide::tables`] shows them.
//!
//! # Layouts
//!
//! [`layouts::Layouts`] names the tables of a program with their types. [`Layouts::check`](layouts::Layouts::check), in a test, compares
//! them with a committed file, and says what a change of a type does to stored rows;
//! [`create_if_absent`](layouts::Layouts::create_if_absent) and [`verify`](layouts::Layouts::verify) create and verify all tables in one
//! call. From the file, or from what programs have [registered](Client::registered_layouts), a tool reads and writes a table without its
//! types: [`dynamic`], [`Client::dynamic_table`].
//!
//! # Hotspots
//!
//! [`heat::simulate`] says before the first write how a workload would load a table: the share of the busiest tablet, which other key
//! layouts would spread the load, and a heatmap. [`assert_busiest_tablet_below`](heat::Simulation::assert_busiest_tablet_below) checks that
//! in a test. A running client [records](client::ClientBuilder::record_heat) what it reads and writes: [heat of a running
//! service](guide::heat#of-a-running-service).
//!
//! # Deployment
//!
//! | client | connects to |
//! |---|---|
//! | [`Client::embedded`], [`Client::embedded_at`] | a Bigtable in this process, in memory or in a file |
//! | [`Client::emulator`] | Google's emulator |
//! | [`Client::cloud`] | an instance of Google Cloud |
//! | [`Client::connect`] | any of them, by an address |
//! | [`Client::from_env`] | the emulator or instance that the environment names |
//!
//! All run the same client code. [`client::ClientBuilder`] and [`client::Settings`] list the settings and their
//! defaults. [`guide::deployment`] covers environment variables, permissions, app profiles, splits and a checklist.
//!
//! # Errors
//!
//! Tables and clients return [`Error`], with predicates for programs to decide on. Keys and plans return
//! [`key::EncodeError`], [`key::DecodeError`] and [`plan::PlanError`]. The texts name the table, the key (readable and
//! in hexadecimal), the value and the limit. [`guide::errors`] explains each predicate and what to do.
//!
//! # Limits
//!
//! A row key is 1 to 4096 bytes. A salt has 2 to 4096 buckets; a scan over all of them sends one request to each.
//!
//! A *foreign row*, one whose key does not decode as the table's key type, ends a scan with an error, unless
//! [`Scan::on_foreign`] skips and counts it. A scan sees only rows in the ranges that it requests: a foreign row
//! elsewhere, such as one without a salt in a salted table, is neither an error nor counted. `explain` prints the
//! ranges. [`guide::limits`] has the other limits.
//!
//! # Features
//!
//! | feature | default | adds |
//! |---|---|---|
//! | `client` | yes | tables and the client, on tokio and tonic |
//! | `cloud` | yes | Google Cloud: TLS and Google's credentials |
//! | `embedded` | no | a Bigtable in the process, for tests and first steps |
//! | `serve` | no | the embedded Bigtable on a port, for other processes and languages |
//! | `heat` | no | [`heat`]: simulates the load of a workload on a key layout, records the load of a client, and draws heatmaps of both |
//! | `json` | with `client` | reads key layouts from JSON: [`dynamic::KeyLayout::from_json`] |
//! | `metrics` | no | the metrics that [`client`] lists, through the crate `metrics` |
//! | `chrono` | no | as key fields and columns: `DateTime<Utc>` as a time, `NaiveDate` as a date |
//! | `jiff` | no | as key fields and columns: `Timestamp` as a time, `civil::Date` as a date |
//! | `time` | no | as key fields and columns: `OffsetDateTime` and `UtcDateTime` as times, `Date` as a date |
//! | `uuid` | no | as key fields and columns: `Uuid` |
//! | `proto` | no | messages of `prost` as columns |
//!
//! A call whose feature is off does not compile, and the message names the feature: [`Client::embedded`], [`Client::embedded_at`],
//! [`Client::cloud`], and `serve` of the embedded Bigtable. Without its feature, the module `embedded` does not exist.
//!
//! Without `client`, keys and plans remain, without tokio and tonic: [`plan::Plan::requests`] is plain data for any
//! client. [`std::time::SystemTime`] is a key field in every build. Convert a time with
//! another zone or without a zone to UTC before you store it.

#![warn(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, clippy::print_stderr)]
#![cfg_attr(
    not(all(feature = "cloud", feature = "embedded", feature = "heat")),
    allow(
        dead_code,
        unused_imports,
        reason = "some parts serve one feature only; a build with all three still warns of dead code"
    )
)]

// Generated code uses paths that begin with `::keyderive`, in this crate too.
#[allow(unused_extern_crates)]
extern crate self as keyderive;

#[cfg(feature = "client")]
pub mod client;
pub mod designs;
pub mod dynamic;
#[cfg(feature = "embedded")]
pub mod embedded;
mod flat;
#[cfg(feature = "embedded")]
pub mod guide;
#[cfg(feature = "heat")]
pub mod heat;
mod hints;
mod intern;
pub mod key;
#[cfg(feature = "client")]
pub mod layouts;
pub mod plan;
#[cfg(feature = "client")]
pub mod query;
#[cfg(feature = "client")]
pub mod row;
#[cfg(feature = "client")]
pub mod table;

#[cfg(feature = "client")]
#[doc(inline)]
pub use client::{Client, Error, ErrorKind, GcRule, Target};
pub use flat::Flat;
#[doc(inline)]
pub use key::{KeyField, RowKey};
#[cfg(feature = "client")]
#[doc(inline)]
pub use row::{Cell, Row};
#[cfg(feature = "client")]
#[doc(inline)]
pub use table::{OnForeign, OnUnreadable, Scan, Table, Update, Writer};

/// The examples of the derives. They need this crate, and `keyderive-macros` is one of its dependencies.
#[cfg(all(doctest, feature = "client"))]
mod derives {
    #[doc = include_str!("../../keyderive-macros/src/docs/cell.md")]
    pub struct Cell;
    #[doc = include_str!("../../keyderive-macros/src/docs/from_query_row.md")]
    pub struct FromQueryRow;
    #[doc = include_str!("../../keyderive-macros/src/docs/key_field.md")]
    pub struct KeyField;
    #[doc = include_str!("../../keyderive-macros/src/docs/row.md")]
    pub struct Row;
    #[doc = include_str!("../../keyderive-macros/src/docs/row_key.md")]
    pub struct RowKey;
}

/// Items that generated code calls. Do not use them: they change with every release.
#[doc(hidden)]
pub mod __private {
    #[cfg(feature = "client")]
    pub use crate::client::{connected_by, connected_by_clock};
    #[cfg(feature = "client")]
    pub use crate::query::{ColumnError, FromQueryRow, NamedColumn, QueryColumns, QueryRow, named_column};
    #[cfg(feature = "client")]
    pub use crate::row::bounds::{ComparableCell, OrderedCell, OwnedCell};
    #[cfg(feature = "client")]
    pub use crate::row::generated;
    #[cfg(feature = "client")]
    pub use crate::row::{Cell, CellError, CellType, CellWriter, Qualifier};
    #[cfg(feature = "client")]
    pub use bytes::Bytes;
    pub use std::borrow::Cow;
    pub use std::string::String;
    pub use std::vec::Vec;

    pub use core;

    pub use crate::key::generated::*;
    pub use crate::key::{
        Arg, BoundValue, DecodeError, EncodeError, Epoch, Field, FieldError, FieldOrder, FieldValues,
        Fingerprint, Format, KeyEncoding, KeyField, KeySchema, OwnedRowKey, RawKey, RekeyedFields,
        RekeyedFrom, RowKey, RowKeySchema, Salt, SaltHash, SaltPlace, Sql, SqlError, TableKey, Width,
    };
    pub use crate::plan::{Draft, Ended, Explain, Fixed, IntoPlan, Listed, Open, Plan, PlanError, RangeOf};
}
