//! A file of layouts: what a change of a type does to stored rows, said before it is deployed.
//!
//! Keys and rows are stored as the types of a program say. A change of a type is a change of what is stored, and the compiler accepts
//! it. [`Layouts`](crate::layouts::Layouts) writes the layouts of all tables to a file that is committed beside the code, and a test
//! compares the types with it:
//!
//! ```
//! use keyderive::layouts::{Layouts, LayoutsError};
//! # use keyderive::{Row, RowKey};
//! # #[derive(RowKey)] struct EventKey { user: String, at: u64 }
//! # #[derive(Row)] struct Event { kind: String }
//! # #[derive(RowKey)] struct UserKey { id: u64 }
//! # #[derive(Row)] struct User { name: String }
//! # mod test_attribute {}
//!
//! # /*
//! #[test]
//! # */
//! fn layouts_are_as_committed() -> Result<(), LayoutsError> {
//!     Layouts::new()
//!         .table::<EventKey, Event>("events")
//!         .table::<UserKey, User>("users")
//!         .check("layouts.json") // beside the package's Cargo.toml
//! }
//! # layouts_are_as_committed().unwrap_err();
//! ```
//!
//! 1. `KEYDERIVE_BLESS=1 cargo test` writes the file. Commit it.
//! 2. When a type changes, the test fails and says what each change does to stored rows.
//! 3. If that is intended, write the file again, and commit it with the change: the reviewer sees both.
//!
//! The text of a change of a row is that of [`changes_from`](crate::row::RowSchema::changes_from), whose table lists them; [rows](super::rows)
//! says how to make each in steps. These are the changes of keys:
//!
//! | change of a key type | stored rows and older programs |
//! |---|---|
//! | a field is added, removed or moved | every row has another key, and no stored row is found |
//! | another format, order or width of a field, such as another `#[pad(n)]`, `desc`, or `u64` for `u32` without `#[pad(n)]` | every row has another key, and no stored row is found |
//! | another delimiter, tag or layout | every row has another key, and no stored row is found |
//! | a salt is added or removed, or is over other fields, by another hash or at another place | every row has another key, and no stored row is found |
//! | another range of the salt, with as many digits | 1 of 2 rows have another key, and are not found |
//! | another range of the salt, with more or fewer digits | every row has another key, and no stored row is found |
//! | a salt from a date on | keys before the bound stay; rows from it on that are stored already have another key, and are not found |
//! | another name of a field | the keys are the same, but a stamped table refuses the program |
//! | an integer type that holds more, with `#[pad(n)]`; more variants of an enum of codes; a UUID of any version for one of version 4 | stored rows are read; older programs cannot read keys with values that they lack |
//! | an integer type that holds less; fewer variants; a UUID of version 4 alone | stored keys with values that it lacks cannot be read, and are foreign rows |
//! | `ts(exact)`, or no longer | the keys are the same |
//! | another name of the struct | stored rows stay as they are |
//!
//! Of ranges, the text counts the keys that get another bucket: from 4 to 8 that is one of two. [When a key must change](super::rekeying)
//! says how rows move to their new keys.
//!
//! A program that holds the file of an older release, [`Layouts::from_json`](crate::layouts::Layouts::from_json), can ask which rows of
//! today's tables that release could not read: [`Layouts::changes_from`](crate::layouts::Layouts::changes_from).
//!
//! The same list of tables creates them all, or verifies them, with every fault in one error:
//! [`Layouts::create_if_absent`](crate::layouts::Layouts::create_if_absent), [`Layouts::verify`](crate::layouts::Layouts::verify).
//!
//! # Without the types
//!
//! A tool that has the file, and not the structs, encodes and decodes keys, plans scans, and reads and writes rows by the names of fields
//! and columns:
//!
//! ```
//! use keyderive::Client;
//! use keyderive::layouts::Layouts;
//! # use keyderive::{Row, RowKey};
//! # #[derive(RowKey)] #[salt(range = 4, over = "user")] struct EventKey { user: String, #[reverse_ts] at: u64 }
//! # #[derive(Row)] struct Event { kind: String, note: Option<String> }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let client = Client::embedded();
//! # let typed = client.table::<EventKey, Event>("events");
//! # typed.create().await?;
//! # typed.put(&EventKey { user: "alice".into(), at: 5 }, &Event { kind: "login".into(), note: None }).await?;
//! # let json = Layouts::new().table::<EventKey, Event>("events").to_json();
//! let layout = Layouts::from_json(&json)?.table_layout("events")?; // the text of `layouts.json`
//! let events = client.dynamic_table(&layout);
//!
//! // A field's value may be text, such as an argument of a command: it is parsed by the field's type.
//! let key = layout.key().encode([("user", "alice"), ("at", "5")])?;
//! events.update(&key, [("note", "by hand")]).await?;
//!
//! for (key, event) in events.scan(layout.key().scan().fix("user", "alice")?).limit(10).collect().await? {
//!     println!("{key}\n{event}");
//! }
//! # assert_eq!(typed.get(&EventKey { user: "alice".into(), at: 5 }).await?.ok_or("gone")?.note.as_deref(), Some("by hand"));
//! # Ok(())
//! # }
//! ```
//!
//! Without the file, [`Client::registered_layouts`](crate::Client::registered_layouts) has what the registry knows of a table.
//!
//! [`KeyLayout`](crate::dynamic::KeyLayout) is the layout of keys, [`DynTable`](crate::DynTable) the table, and
//! [`DynRow`](crate::dynamic::DynRow) a row. [`KeyMapping`](crate::dynamic::KeyMapping) says by names which key a row has in another table,
//! for [`DynTable::copy_to`](crate::DynTable::copy_to), [`DynTable::diff`](crate::DynTable::diff) and
//! [`Client::dynamic_migration`](crate::Client::dynamic_migration). A layout is checked by every rule of the derive, and each fault has its place in the file. A table
//! whose stamp is of another layout refuses it.
//!
//! It reads what the type reads, refuses what the type refuses, and writes the cells that the type writes, with these exceptions:
//!
//! - A column with `default` that is absent says so, since the default is a function of the program.
//! - JSON is any JSON, and a value of a `with` module or a message of `proto` is its stored bytes: what is inside of them is not checked.
//! - A time in RFC 3339 is written with as many digits as it needs. `chrono` writes 3, 6 or 9 of them; every crate reads both.
//! - Times that are stored as numbers are read whether or not the field's type has them.
//! - [`DynRow::read`](crate::dynamic::DynRow::read) of a raw row also has the cells that a `ttl` hides; a [`DynTable`](crate::DynTable) hides
//!   them.
//! - A field that borrows (`&str`), or whose type of times ends before its format does, refuses what the type alone cannot hold.
//!
//! An application keeps to its types, which the compiler checks. They are faster too: by data, a key of four fields is decoded in two to three
//! times the time of its type, and a scan takes as much more of the client's CPU: twice where rows are borrowed, by
//! [`visit`](crate::DynTableScan::visit) or a [`cursor`](crate::DynTableScan::cursor), and three times where they are owned.
//!
//! `docs/layouts.schema.json` in the repository is a JSON schema of the file, for editors and for programs in other languages.
//!
//! # What a file does not say
//!
//! Bytes of a `with` module or of a [`KeyField`](crate::key::KeyField) by hand, which have a name alone, and what
//! is inside of JSON and messages.
