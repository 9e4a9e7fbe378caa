//! Tables: created by what is declared of them, compared with their key type, and changed.
//!
//! ```
//! use std::time::Duration;
//! use keyderive::{Client, GcRule, RowKey};
//!
//! #[derive(RowKey)]
//! #[salt(range = 4, over = "user_id")]
//! struct EventKey {
//!     user_id: String,
//!     #[reverse_ts]
//!     at: u64,
//! }
//!
//! #[derive(serde::Serialize, serde::Deserialize)]
//! struct Event {
//!     kind: String,
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), keyderive::Error> {
//! # let client = Client::embedded();
//! let events = client.table::<EventKey, Event>("events");
//! let month = Duration::from_secs(30 * 24 * 60 * 60);
//! let declared = events
//!     .create()
//!     .family("raw", GcRule::max_age(month))
//!     .split_before(EventKey::scan().user_id_range("m"..))
//!     .with_marker();
//! declared.clone().if_absent().await?;
//! assert!(declared.verify().await?.voucher); // the layout of the keys, families and rules are as declared
//! # Ok(())
//! # }
//! ```
//!
//! | to | write |
//! |---|---|
//! | create one where there is none, split by salt bucket | [`create_if_absent`](crate::Table::create_if_absent) |
//! | declare families with their garbage collection, more splits, a marker | [`create`](crate::Table::create), then `.family(…)`, `.split_before(scan)`, `.with_marker()`; `.await` it, or `.if_absent()` |
//! | find out at the start that a table is another one than declared | [`Table::verify`](crate::Table::verify), or [`verify`](crate::CreateTable::verify) on the declaration: an error with both sides |
//! | have a table vouch that another program made | [`vouch`](crate::Table::vouch) |
//! | add, change and drop families | [`modify_families`](crate::Table::modify_families) |
//! | see what there is | [`list_tables`](crate::Client::list_tables), [`info`](crate::Table::info) |
//! | wait until every cluster has what was written | [`wait_for_consistency`](crate::Table::wait_for_consistency) |
//! | delete one | [`delete_table`](crate::Table::delete_table) |
//!
//! # Splits
//!
//! A new table of the service is one tablet, and one server takes all its writes until it has been split. A table of a
//! key type whose salt is in front is created with a split at each bucket but the first;
//! [`.split_before(scan)`](crate::CreateTable::split_before) adds one where the rows of a scan begin, in every bucket, and
//! [`.split_at(&key)`](crate::CreateTable::split_at) one at a whole key. Splits can only be given when a table is created.
//! Without a salt, name places that cut the expected rows into parts of about the same size.
//!
//! # Layout
//!
//! A table vouches for the layout of its keys by an empty column family that it is created with:
//! `keyderive.<fingerprint>`, and `keyderive.<hash of the tag>.<fingerprint>` for a key type with a tag. It never has a
//! cell. An older release, and any other program, sees an empty family and ignores it.
//!
//! - **Before its first request** a [`Table`](crate::Table) reads the table by `GetTable` and compares: that its vouchers,
//!   if it has some, are for this layout, and that it has the families of the row type, of cells that are bytes. A
//!   difference is an error, [`is_table_mismatch`](crate::Error::is_table_mismatch), and nothing else is sent. The client keeps the answer, so that
//!   a handle for each request costs nothing, and forgets it when it changes the table itself. Changes by other programs
//!   are seen at the next start.
//! - **Where the table cannot be read**, because the service account may not or the admin service does not answer within
//!   3 s, requests go on without the check: one warning, the metric `keyderive.layout.unchecked`, and another try each
//!   minute in the background. A difference that is found then fails the requests that come after it.
//!   [`Settings::require_layout_check`](crate::client::Settings::require_layout_check) has such requests fail instead.
//! - **A table that nothing vouches for**, made by Terraform or by another program, is used as it is;
//!   [`verify`](crate::Table::verify) and [`create_if_absent`](crate::Table::create_if_absent) say so by an error.
//!   [`vouch`](crate::Table::vouch) looks at a sample of its keys and adds the voucher;
//!   [`verify().allow_unvouched()`](crate::Verify::allow_unvouched) does without.
//! - **Key types that share a table** have a tag each, `#[row_key(tag = "…")]`. `create_if_absent` adds the voucher of its
//!   key type beside the others. Two without tags, or one without beside one with, are refused.
//! - [`unchecked()`](crate::Table::unchecked) is a handle without the check. Raw tables are never checked.
//!
//! The names `keyderive`, `keyderive-move` and what begins with `keyderive.` are reserved: a row type or a declaration
//! with such a family is an error before anything is sent.
//!
//! **Who declares tables elsewhere** has that tool ignore these families, or it drops them as drift: with Terraform, after
//! `vouch` has added one, by
//!
//! ```text
//! resource "google_bigtable_table" "events" {
//!   # …
//!   lifecycle {
//!     ignore_changes = [column_family]
//!   }
//! }
//! ```
//!
//! # Row key schema and marker
//!
//! The row key schema, by which Bigtable's SQL sees the fields of a key as columns, is sent with a new table where the
//! layout has one. A table that several key types share is created
//! [`without_row_key_schema`](crate::CreateTable::without_row_key_schema), since SQL fails at a row key that the schema
//! does not read.
//!
//! A marker row takes the schema's place where it is asked for, with [`with_marker`](crate::CreateTable::with_marker) or
//! [`write_marker`](crate::Table::write_marker): it stores the whole layout of the key, where a voucher has its fingerprint
//! alone, so that `verify` names the field that has changed. Scans of keyderive do not meet it; other programs see a row with the key `00`.
