//! A file of layouts: a test that says what a change of a type does to stored rows, before you deploy it.
//!
//! A program's types decide how its keys and rows are stored. If you change a type, the compiler accepts it, but stored rows may no longer
//! be found or read. [`Layouts`](crate::layouts::Layouts) writes the layouts of all tables to a file that you commit beside the code, and a
//! test compares the types with it:
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
//! 3. If you intend that, write the file again and commit it with the change: reviewers see both.
//!
//! A removed optional column and an added one of the same type may be a rename, which needs an `alias`: without it, no program finds the
//! older values. `check` writes such a file only if you name every such pair, and its error has the command:
//! `KEYDERIVE_BLESS='users/cf:mail=cf:email' cargo test`.
//!
//! [`changes_from`](crate::row::RowSchema::changes_from) lists the changes of row types, and [rows](super::rows) says how to make each in
//! steps. These are the changes of key types:
//!
//! | change of a key type | stored rows and older programs |
//! |---|---|
//! | a field is added, removed or moved | every row has another key, and no stored row is found |
//! | another format, order or width of a field, such as another `#[pad(n)]`, `desc`, or `u64` for `u32` without `#[pad(n)]` | every row has another key, and no stored row is found |
//! | another delimiter, tag or layout | every row has another key, and no stored row is found |
//! | a salt is added or removed, or is over other fields, by another hash or at another place | every row has another key, and no stored row is found |
//! | another range of the salt, with the same number of digits | 1 of 2 rows have another key, and are not found |
//! | another range of the salt, with more or fewer digits | every row has another key, and no stored row is found |
//! | a salt from a date on | keys before the bound stay; rows from it on that are stored already have another key, and are not found |
//! | another name of a field | the keys are the same, but a stamped table refuses the program |
//! | an integer type that holds more, with `#[pad(n)]`; more variants of an enum of codes; a UUID of any version for one of version 4 | stored rows are read; older programs cannot read keys with values that they lack |
//! | an integer type that holds less; fewer variants; a UUID of version 4 alone | stored keys with values that it lacks cannot be read, and are foreign rows |
//! | a variant of an enum of codes has another code | stored keys are read as other variants than they were written of, and so are new keys by older programs |
//! | `ts(exact)`, or no longer | the keys are the same |
//! | another name of the struct | stored rows stay as they are |
//!
//! For a salt's range, the message says how many keys get another bucket: from 4 to 8, one of two. [When a key must
//! change](super::rekeying) says how rows move to their new keys.
//!
//! To compare with any older release, read its file with [`Layouts::from_json`](crate::layouts::Layouts::from_json):
//! [`Layouts::changes_from`](crate::layouts::Layouts::changes_from) says what has changed since, and what that does to rows and programs of
//! that release.
//!
//! The same list of tables creates or verifies them all, and reports every fault in one error:
//! [`Layouts::create_if_absent`](crate::layouts::Layouts::create_if_absent), [`Layouts::verify`](crate::layouts::Layouts::verify).
//!
//! # Without the types
//!
//! A tool that has the file but not the structs can encode and decode keys, plan scans, and read and write rows by the names of fields and
//! columns:
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
//! Without the file, [`Client::registered_layouts`](crate::Client::registered_layouts) reads a table's layouts from the registry.
//!
//! [`KeyLayout`](crate::dynamic::KeyLayout) is the layout of keys, [`DynTable`](crate::DynTable) the table, and
//! [`DynRow`](crate::dynamic::DynRow) a row. [`KeyMapping`](crate::dynamic::KeyMapping) maps keys to keys of another table
//! by field names, for [`DynTable::copy_to`](crate::DynTable::copy_to), [`DynTable::diff`](crate::DynTable::diff) and
//! [`Client::dynamic_migration`](crate::Client::dynamic_migration). Every rule of the derive applies to a layout, and an
//! error names each fault's place in the file. Calls on a table that is stamped with another layout fail.
//!
//! A `DynTable` reads, rejects and writes exactly what the types would, with these exceptions:
//!
//! - An absent column with `default` has no value, since only the program knows the default.
//! - The contents of JSON, of values of a `with` module and of `proto` messages are not checked; the latter two are bytes.
//! - A time in RFC 3339 is written with as many digits as it needs. `chrono` writes 3, 6 or 9 of them; every crate reads both.
//! - Times that are stored as numbers are read even if the field's type could not hold them.
//! - [`DynRow::read`](crate::dynamic::DynRow::read) of a raw row also has the cells that a `ttl` hides; a `DynTable` hides them.
//! - A borrowed field (`&str`), or a time type with a narrower range than its format, rejects values that the layout accepts.
//!
//! Applications should use their types: the compiler checks them, and they are faster. Without types, decoding a key of four fields takes
//! two to three times as long, and a scan takes twice the client's CPU with borrowed rows ([`visit`](crate::Scan::visit),
//! [`cursor`](crate::Scan::cursor)) and three times with owned ones.
//!
//! `docs/layouts.schema.json` in the repository is a JSON schema of the file, for editors and for programs in other languages.
//!
//! # What a file does not say
//!
//! The formats of `with` modules and of handwritten [`KeyField`](crate::key::KeyField)s, for which it has only the
//! name, and the contents of JSON and messages.
