//! Typed row keys for Google Cloud Bigtable: annotate a struct, and the compiler writes its row key, reads it back
//! and plans its scans.
//!
//! ```
//! use keyderive::{Client, RowKey};
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
//! #[derive(serde::Serialize, serde::Deserialize)]
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
//! This page is the manual in short; [`guide`] has a page for each of its parts, and [`designs`] the published schema
//! designs as key types.
//!
//! # Choosing a key
//!
//! Rows lie in the order of their keys. Fields that a query fixes come first, the one that it ranges over after them.
//! Where many writes go to one place, take the first remedy that fits:
//!
//! | what is seen | remedy | in keyderive |
//! |---|---|---|
//! | the key begins with a value that only grows, and queries name another field | field promotion | that field in front |
//! | no field can be promoted, or few values of it take most writes | salting | `#[salt(range = 4)]`, with `over = "…"` to keep some rows together |
//! | rows are only looked up one by one, or read all | randomization | `uuid(v4)`, `bit_reverse`, `hash(md5)` |
//!
//! [`guide::choosing`] has the reasons, what each costs, and Google's pages that say so.
//!
//! # Keys
//!
//! [`#[derive(RowKey)]`](derive@RowKey) takes a struct with named fields. Fields are written from left to right,
//! joined by a delimiter, each in the format that its type and attributes choose; [`guide::attributes`] has each
//! attribute, [`key::codec`] every format with its bytes.
//!
//! | to | write |
//! |---|---|
//! | keep rows of a user together | the user as the first field |
//! | spread a busy user's rows over tablets | `#[salt(range = 4)]` on the struct |
//! | read the newest first | `#[reverse_ts]` on the time |
//! | sort numbers, and bound their digits | `#[pad(6)]`; without it a number has the digits of its type's maximum |
//! | let key types share a table | `#[row_key(tag = "BATTERY")]` on each |
//! | store a newtype, or an enum by its codes | [`#[derive(KeyField)]`](derive@KeyField) on it |
//! | store a type of another crate | `#[row_key(with = "module")]`, with a module that writes and reads it |
//! | rename a field, and keep the schema | `#[row_key(name = "…")]` |
//! | see where each field lies in the bytes | `println!("{}", EventKey::SCHEMA)`; it is [`serde::Serialize`] too |
//! | print and parse keys | [`RowKey::to_text`], [`RowKey::from_text`], or `#[row_key(display)]` |
//!
//! A key that begins with a value that only grows, a time, a date, a number marked `#[row_key(sequential)]`, sends all writes to one tablet.
//! It does not compile without a salt or `#[row_key(allow(hotspot))]`.
//!
//! [`RowKey::encode`] refuses what the key cannot hold, with the field, the value and the limit;
//! [`RowKey::decode`] accepts exactly what encode writes. Borrowed fields (`&'a str`, `Cow<'a, str>`) decode
//! without allocating.
//!
//! # Scans
//!
//! `EventKey::scan()` begins a scan of every row. For a field `f`, `.f(value)` fixes it, and goes on to the next one;
//! `.f_any_of([a, b])` fixes it to each of several values, and goes on too; `.f_range(a..b)` and, for text,
//! `.f_prefix("x")` end the scan. Only the leftmost free field can be
//! constrained; anything else does not compile.
//!
//! ```
//! # use keyderive::RowKey;
//! # #[derive(RowKey)]
//! # #[salt(range = 4, over = "user_id")]
//! # struct EventKey { user_id: String, #[reverse_ts] at: u64 }
//! // Ranges are in the field's own terms: forwards, also on a reversed field.
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
//! Each step has a type of its own. Where a condition decides how far a scan is constrained, make each branch a
//! [`plan::Plan`] with `.into_plan()`; a function that returns a scan returns `impl IntoPlan<EventKey>`.
//!
//! Range bounds need not be storable: a bound that the field cannot hold is clamped, or the range is empty. A fixed value
//! that no key can hold is an error, raised when the scan is planned, explained or run.
//!
//! A [`plan::Plan`] knows its requests without a table: one for each bucket that can hold a row, a single one where
//! the salted fields are fixed, a row key and no range where all fields are. It is data of serde, so that another
//! process can run it. [`guide::scans`] has the table of all that a scan can be told.
//!
//! # Tables
//!
//! [`Client::table`] gives a [`Table`] with typed keys and rows. [`Table::put`] makes a row equal to a value,
//! [`Table::get`] reads one by its key, [`Table::scan`] streams many in the order of their keys, merged from all
//! buckets. A [`Scan`] takes a limit, a direction, filters of the server's, and can be read in pages by a token.
//! [`Table::partitions`] cuts a table into plans for workers, [`Table::count`], [`Table::delete_rows`] and
//! [`Table::drop_rows`] take plans as well.
//!
//! # Rows
//!
//! Rows are structs by serde: a column for each field, and a column family for each field that is a struct or a map. [`row`]
//! lists how values are stored.
//!
//! ```
//! # use std::collections::BTreeMap;
//! # use keyderive::{Client, RowKey};
//! # #[derive(RowKey)] struct PageKey { url: String }
//! #[derive(serde::Serialize, serde::Deserialize)]
//! struct Page {
//!     title: String,                // `cf:title`
//!     author: Option<Author>,       // the family `author`: `author:name`
//!     visits: BTreeMap<String, u64> // the family `visits`: a column for each day
//! }
//!
//! #[derive(serde::Serialize, serde::Deserialize)]
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
//! pages.increment(&home, "visits:2026-05-01", 1).await?;
//! pages.update(&home).set("title", "Welcome").set("author:name", "alice").await?;
//! let page = pages.get(&home).await?.unwrap();
//! assert_eq!((page.title.as_str(), page.visits["2026-05-01"]), ("Welcome", 1));
//! # Ok(())
//! # }
//! ```
//!
//! [`Table::merge`] sets what is present in a value, [`Table::update`] some columns, [`Table::increment`],
//! [`Table::append`] and [`Table::modify`] change what the server holds, and [`Table::put_if`] and its like write where the
//! row is as a [`row::Condition`] says. [`Table::get_many`] reads rows by their keys, [`Table::rows_as`] and
//! [`Table::columns`] parts of them, [`row::Timestamped`] and [`row::Versions`] timestamps and history,
//! [`Table::get_raw`] and [`Scan::raw`] the cells themselves. A column is named `name` in the table's own family,
//! `family:name` in another. [`guide::rows`] has the table of all calls.
//!
//! # Loading
//!
//! [`Table::load`] writes the rows of a stream, spread over the tablets whatever their order, and goes on after a
//! [`Checkpoint`](load::Checkpoint) after its process has died; [`load::Load`] says how. [`Table::export`] reads a
//! table by several partitions at a time. [`put_both`] writes a record to two tables. [`guide::loading`] says when to
//! use which.
//!
//! # Administration
//!
//! [`Table::create`] declares families with a [`GcRule`] each, splits and a marker row, [`Table::verify`] compares a
//! table with the key type, and [`Table::modify_families`] changes its families; [`guide::tables`] shows them.
//!
//! # Deployment
//!
//! [`Client::embedded`] is a Bigtable in this process, [`Client::embedded_at`] one that keeps its tables in a file,
//! [`Client::emulator`] Google's emulator, [`Client::cloud`] an instance of Google Cloud; [`Client::connect`] takes the
//! address of any of them, and [`Client::from_env`] what the environment names. All run the same client code.
//! [`client::ClientBuilder`] and [`client::Settings`] list what can be set, and what it is unless it is.
//! [`guide::deployment`] has the variables, the permissions, app profiles and splits, and what a first deployment checks.
//!
//! # Errors
//!
//! [`key::EncodeError`], [`key::DecodeError`] and [`plan::PlanError`] need no table; [`Error`] is what tables
//! return, with predicates for what a program may want to decide on. Texts name the table, the key, readable and in
//! hexadecimal, the value and the limit. [`guide::errors`] has each predicate, and what to do then.
//!
//! # Limits
//!
//! A row key is 1 to 4096 bytes. A salt has 2 to 4096 buckets; a scan over all of them is one request each.
//! A row whose key is not of the table's type ends a scan with an error, or is skipped and counted with
//! [`Scan::on_foreign`]. Only rows within the ranges that a scan asks for are met: a foreign row outside of them, such as
//! one without a salt in a table with one, is neither an error nor counted. `explain` prints the ranges.
//! [`guide::limits`] has the other limits.
//!
//! # Features
//!
//! `client` and `cloud` are on by default: a client of Google Cloud, with TLS and Google's credentials. Without them keys
//! and plans remain, without tokio and tonic. `embedded` adds a Bigtable inside the process, for tests and first steps,
//! `serve` a port for it, `metrics` what operations tell by the crate of that name; [`client`] lists it.
//!
//! | feature | times | dates |
//! |---|---|---|
//! | none | [`std::time::SystemTime`] | |
//! | `chrono` | `DateTime<Utc>` | `NaiveDate` |
//! | `jiff` | `Timestamp` | `civil::Date` |
//! | `time` | `OffsetDateTime`, `UtcDateTime` | `Date` |
//!
//! `uuid` makes `Uuid` a key field. Times in other zones, and times and dates without a zone, are none: convert them.

// The derive prints paths that begin with `::keyderive`, also where it is used in this crate.
#[allow(unused_extern_crates)]
extern crate self as keyderive;

#[cfg(feature = "client")]
#[cfg_attr(
    not(all(feature = "cloud", feature = "embedded")),
    allow(
        dead_code,
        unused_imports,
        reason = "parts are for one feature alone; a build with both finds dead code"
    )
)]
pub mod client;
pub mod designs;
#[cfg(feature = "embedded")]
pub mod embedded;
#[cfg(feature = "embedded")]
pub mod guide;
pub mod key;
pub mod plan;
#[cfg(feature = "client")]
pub mod row;
#[cfg(feature = "client")]
mod table;

#[cfg(feature = "client")]
pub use client::{Client, Error, ErrorKind, GcRule, Target};
#[doc(inline)]
pub use key::{KeyField, RowKey};
pub use keyderive_macros::{KeyField, RowKey};
#[cfg(feature = "client")]
pub use table::{
    CreateTable, DEFAULT_FAMILY, ExplainExport, Export, Exported, KeyOnly, Modify, OnForeign, OnUnreadable,
    Page, PutBothError, PutSide, ReadRow, RowRef, Rows, Scan, Skipped, SkippedRow, Table, Update, Verified,
    Verify, WriteOutcome, Writer, load, put_both,
};

/// What the derive's output calls. Not for use by hand: it changes with every release.
#[doc(hidden)]
pub mod __private {
    #[cfg(feature = "client")]
    pub use crate::client::connected_by;
    pub use std::borrow::Cow;
    pub use std::vec::Vec;

    pub use core;

    pub use crate::key::codec::{
        BitReverse, Code, CodeCodec, DateTime17, Desc, Escape, Exact, Micros, Millis, Nanos, Ordered, Pad,
        ReverseTs, Secs, Simple, Text, Ts, V4,
    };
    pub use crate::key::{
        Cut, DecodeError, EncodeError, Field, FieldError, FieldOrder, Format, KeyBuf, KeyField, KeyReader,
        KeyWriter, Layout, OwnedRowKey, PrefixField, RangeField, RawKey, RowKey, Salt, SaltHash, SaltPlace,
        Schema, Side, TableKey, Width, decode_fields, display_key, encode_fields, read_custom, write_custom,
        written_len,
    };
    pub use crate::plan::{
        CanPlan, Draft, Ended, EndsAt, Explain, Fixed, IntoPlan, IsBehind, IsFirst, IsSecond, IsThird,
        Listed, NextAt, Plan, PlanError,
    };
}
