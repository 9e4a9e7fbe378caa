//! Tables: creating them, comparing them with their key type, and changing them.
//!
//! ```
//! use std::time::Duration;
//! use keyderive::{Client, GcRule, Row, RowKey};
//!
//! #[derive(RowKey)]
//! #[salt(range = 4, over = "user_id")]
//! struct EventKey {
//!     user_id: String,
//!     #[reverse_ts]
//!     at: u64,
//! }
//!
//! #[derive(Row)]
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
//!     .split_before(EventKey::scan().user_id_range("m"..));
//! declared.clone().if_absent().await?;
//! assert!(declared.verify().await?.stamp); // key layout, families and rules are as declared
//! # Ok(())
//! # }
//! ```
//!
//! | to | write |
//! |---|---|
//! | create a table unless it exists, split by salt bucket | [`create_if_absent`](crate::Table::create_if_absent) |
//! | create or verify all tables of a program, with every fault in one error | [`Layouts::create_if_absent`](crate::layouts::Layouts::create_if_absent), [`Layouts::verify`](crate::layouts::Layouts::verify) |
//! | declare families with garbage collection, more splits | [`create`](crate::Table::create), then `.family(…)`, `.split_before(scan)`, [`.granularity(Granularity::Micros)`](#timestamps); `.await` it, or `.if_absent()` |
//! | check at startup that a table is as declared | [`Table::verify`](crate::Table::verify), or [`verify`](crate::CreateTable::verify) on the declaration: the error shows both sides |
//! | add a stamp to a table that another program created | [`stamp`](crate::Table::stamp) |
//! | update a stamp after you added a [salt from a date on](super::attributes#a-salt-from-a-date-on) to the key type | [`advance_stamp`](crate::Table::advance_stamp) |
//! | add, change and drop families | [`modify_families`](crate::Table::modify_families) |
//! | remove the row key schema, before key types with tags share the table, and before a [salt from a date on](super::attributes#a-salt-from-a-date-on) | [`remove_row_key_schema`](crate::Table::remove_row_key_schema) |
//! | list tables, show one | [`list_tables`](crate::Client::list_tables), [`info`](crate::Table::info) |
//! | see the approximate sizes of a table's ranges | [`sizes`](crate::Table::sizes) |
//! | see which tablets are hot | [`hot_tablets`](crate::Table::hot_tablets) |
//! | wait until all clusters have earlier writes | [`wait_for_consistency`](crate::Table::wait_for_consistency) |
//! | delete a table | [`delete_table`](crate::Table::delete_table) |
//!
//! # Splits
//!
//! A new table of the service is one tablet, and one server takes all its writes until the service splits it. You can
//! set splits only when you create a table:
//!
//! - If the key type's salt comes first, the table gets a split at each bucket except the first.
//! - [`.split_before(scan)`](crate::CreateTable::split_before) adds a split where the rows of a scan begin, in every
//!   bucket.
//! - [`.split_at(&key)`](crate::CreateTable::split_at) adds one at a whole key.
//!
//! Without a salt, split the expected rows into parts of about the same size.
//!
//! # Timestamps
//!
//! Timestamps count microseconds. A table stores whole milliseconds, unless it is created with
//! [`.granularity(Granularity::Micros)`](crate::CreateTable::granularity): then it stores every microsecond. This is fixed when the
//! table is created; [`Granularity`](crate::client::Granularity) describes it. Google published it in August 2026. Google's emulators from
//! before September 2026 accept the option, but create a table of milliseconds, which rejects finer timestamps.
//!
//! # Layout
//!
//! A table records the layout of its keys in a *stamp*: an empty column family, added when the table is created. Its name is
//! `keyderive.<fingerprint>.<id>`, or `keyderive.<hash of the tag>.<fingerprint>.<id>` for a key type with a tag. The id is the table's: a
//! table that is recreated under the same name has another id. The family never has a cell; programs without keyderive can ignore it.
//!
//! **The check.** Before its first request, a [`Table`](crate::Table) reads the table's definition (`GetTable`) and
//! compares it with its types: the stamps, if any, must be for this layout, and the families of the row type must exist with the type of
//! its fields: bytes, sums, minima or maxima. A difference fails the request with [`is_table_mismatch`](crate::Error::is_table_mismatch)
//! before anything else is sent. The client caches the result for all handles, and discards it when it changes the table.
//! [`verify`](crate::Table::verify) and [`info`](crate::Table::info) read the definition again, and every handle is checked again if it
//! differs; otherwise a program notices changes by other programs only after a restart.
//!
//! **Long calls check again.** [Loads](crate::Table::load), [writers](crate::Table::writer) and [copies](crate::Table::copy_to) read the
//! table's definition again if the last one is older than 10 s: before they send rows, and at their end. Bulk writes such as
//! [`put_all`](crate::Table::put_all) and [`delete_rows`](crate::Table::delete_rows) do so once they have run for 10 s. A shorter bulk write
//! works like a single call: a handle that was opened before a re-keying writes to the old table. If the table was re-keyed, deleted or
//! created again, a long call fails with `is_table_mismatch` or `is_not_found`, and says how many rows nobody may read. If the table has no
//! stamp, the call cannot see that it was created again. A re-keying that begins in the last 10 s of a successful call can still lose the
//! rows written then: [stop other writers](super::rekeying#the-operators-checklist) before.
//!
//! **If the check cannot run**, because the service account lacks the permission or the admin service does not respond
//! within 3 s, requests proceed unchecked. The client logs one warning, counts the metric `keyderive.layout.unchecked`,
//! and retries every minute in the background. If it then finds a difference, later requests fail. A long call also continues, and
//! succeeds.
//! [`Settings::require_layout_check`](crate::client::Settings::require_layout_check) makes unchecked requests fail
//! instead.
//!
//! **A table without a stamp**, created by Terraform or another program, can be read and written, but
//! [`verify`](crate::Table::verify) and [`create_if_absent`](crate::Table::create_if_absent) fail.
//! [`stamp`](crate::Table::stamp) decodes a sample of its keys and adds the stamp.
//! [`verify().allow_unstamped()`](crate::Verify::allow_unstamped) accepts the table without one.
//!
//! **Key types that share a table** need a tag each, `#[row_key(tag = "…")]`. `create_if_absent` adds the stamp of
//! its key type to the others. It rejects a table of several key types unless each has a tag.
//!
//! **No check.** [`unchecked()`](crate::Table::unchecked) returns a handle without the check. Raw tables are never
//! checked.
//!
//! **Reserved names.** A row type or a declaration with a family named `keyderive`, `keyderive-origin` (the origins of rows in a
//! [re-keying](crate::rekey)), or a name that begins with `keyderive.`, is an error before anything is sent.
//!
//! **Terraform and other tools** that declare tables must declare these families too, or ignore them: else they remove them as drift.
//! `keyderive codegen --hcl` writes the resources of Terraform from a [file of layouts](crate::layouts::Layouts): the table with its families,
//! rules, row key schema and splits, and with its stamp. A re-keying changes the stamp. In resources of your own, after `stamp` has added
//! the stamp:
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
//! # Registry
//!
//! The registry is one more table in the instance, named `keyderive`, which the first [`create`](crate::Table::create),
//! [`create_if_absent`](crate::Table::create_if_absent) or [`stamp`](crate::Table::stamp) creates. It has the layouts of keys and rows as
//! JSON, the types that programs declare for each table, and the state of [re-keyings](crate::rekey). Your tables have only your rows.
//! [`list_tables`](crate::Client::list_tables) names it, and `FORMAT.md` in the repository has its rows. During a re-keying, rows also have
//! an origin cell.
//!
//! - **Errors say what differs**: a stamp has only a fingerprint, but the registry has the layout, so `verify` and the layout check can
//!   name the field that has changed.
//! - **Row types are compared.** Before a handle's first write, besides the layout check, the client compares its row type with those that
//!   other programs declare for the table, by the rules of [`changes_from`](crate::row::RowSchema::changes_from). If the two types cannot
//!   share the table, the write fails with [`is_table_mismatch`](crate::Error::is_table_mismatch), and nothing is written. For programs
//!   that write whole rows ([`put`](crate::Table::put), [`insert`](crate::Table::insert), loads, copies) the client compares the whole
//!   type; for those that write only columns ([`update`](crate::Table::update), [`merge`](crate::Table::merge), increments), what they
//!   store where, under which former names, and what they hide or delete, but not which columns they lack. Of two programs that declare
//!   their types at the same time, one has compared them.
//! - **Reads are compared too.** The first read of a handle fails if another program declares a column whose values this program's row type
//!   reads otherwise, such as text that would be read as an integer, or seconds as milliseconds. Conditions,
//!   [`delete_if`](crate::Table::delete_if) and [`verify_rows`](crate::Table::verify_rows) fail in the same way. A program that only reads
//!   declares nothing. Calls that read no value are not compared: counts of keys, `exists`, raw reads, other deletions.
//! - **A renamed column is not found.** Reads and conditions find a column that no program has written to be absent, such as one that was
//!   renamed without an `alias`. [`Layouts::check`](crate::layouts::Layouts::check) finds it in a test.
//! - **The newer of two types** must also read what only the older one reads, such as a former name. Types are ordered by
//!   when the registry first had them; a type that it does not have is the newest. So a release can be started again, or
//!   rolled back to, beside one that adds a former name. [`row_types`](crate::Table::row_types) lists the types, the oldest
//!   first.
//! - **Retire** an older type with [`retire_row_type`](crate::Table::retire_row_type) when no program has it any more, and the newer ones read
//!   its rows. From then on it counts as the newest, and its release is refused if it does not read what the others store; the error says
//!   that it was retired.
//! - Programs without the registry, raw tables and [`unchecked()`](crate::Table::unchecked) handles are not compared.
//!
//! **If there is no registry**, nothing is compared, and nothing is logged above debug. If it cannot be read within 3 s, calls go ahead
//! with one warning, unless [`Settings::require_layout_check`](crate::client::Settings::require_layout_check) is set. If a record cannot be
//! written, the client only warns. A handle that could not compare does not try again; a new one does.
//! [`Settings::registry`](crate::client::Settings::registry) turns the registry off, except for the state of a re-keying, which programs
//! must read: during one, the registry has deletion protection. Back it up with the tables.
//!
//! # Row key schema
//!
//! A *row key schema* lets Bigtable's SQL read the fields of a key as columns. A new table gets one if its layout
//! allows it. Create a table that several key types share
//! [`without_row_key_schema`](crate::CreateTable::without_row_key_schema), since SQL fails on a row key that does not
//! match the schema.
