//! Moving a table to another key type while programs read and write it.
//!
//! A row key is chosen once, and sometimes regretted: a salt that is too small, a field that should have come first. [`Client::rekeyed`]
//! opens a table together with the table that it becomes. Calls go to one or the other, as the state of the re-keying says, and
//! each row has one place that decides at any time.
//!
//! ```
//! use keyderive::table::rekey::State;
//! use keyderive::{Client, Row, RowKey};
//!
//! #[derive(RowKey, Debug, PartialEq)]
//! #[salt(range = 4, over = "user")]
//! struct OldKey {
//!     user: String,
//!     at: u64,
//! }
//!
//! #[derive(RowKey, Debug, PartialEq)]
//! #[row_key(rekeyed_from = OldKey)]
//! #[salt(range = 64, over = "user")]
//! struct NewKey {
//!     user: String,
//!     at: u64,
//! }
//!
//! #[derive(Row, Debug, PartialEq)]
//! struct Event {
//!     kind: String,
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), keyderive::Error> {
//! # tokio::time::pause();
//! # let client = Client::embedded();
//! # client.table::<OldKey, Event>("events").create().await?;
//! // In every program, in place of `client.table::<OldKey, Event>("events")`:
//! let events = client.rekeyed::<OldKey, NewKey, Event>("events", "events-64").await?;
//! let key = NewKey { user: "alice".into(), at: 7 };
//! events.put(&key, &Event { kind: "login".into() }).await?;
//!
//! // In the operator's program:
//! let migration = events.migration();
//! migration.run().await?;
//! assert_eq!(migration.state().await?, State::Moved);
//! migration.finish().await?;
//!
//! // In every program, from then on:
//! let events = client.table::<NewKey, Event>("events-64");
//! assert_eq!(events.get(&key).await?, Some(Event { kind: "login".into() }));
//! # Ok(())
//! # }
//! ```
//!
//! # Terms
//! The *state* is in the control row, a row of the [registry](crate::guide::tables#registry); nobody may delete or restore it before the
//! end. The stamps of both tables say which states it can have: a process that finds another one there fails. A *driver* is a process that
//! changes the state and copies rows: [`Migration`]. The *lease* is the time for which a process may act by a state that it has read. A
//! row's *origin* is a cell, in the family `keyderive-origin`, which says that the row of the new table was copied or written. A table's
//! *stamp*, an empty family, says what may use it: one key type, or a pair of them while it is re-keyed.
//!
//! # What holds
//! Calls on one row are linearizable, whichever table they go to, except for writes with an unknown outcome: as with one
//! table, a write that timed out can be applied later. If it is applied after the state has changed twice, one read can see
//! it, and a later one not. No write and no delete that was acknowledged is lost or undone, whichever process dies at any
//! moment, and however late its requests arrive. A scan gives each row once, and by the filter that the caller asks for.
//! Rows move with every cell: all versions with their timestamps, in all families, named by the row type or not. Writes wait
//! once in each direction, for about 7 s with a lease of 4 s.
//!
//! This relies on
//! - every program that writes the table opening it by [`Client::rekeyed`], with the same two key types. From the state `paused` on the
//!   table is stamped with the pair, and others are rejected at their first request; one that runs already must be stopped.
//! - the monotonic clocks of machines running at the same rate, to a tenth. A virtual machine that is suspended, and whose clock
//!   stands still meanwhile, breaks this.
//! - an app profile that routes to one cluster: writes need conditions.
//! - conversions that give the same key each time, in every program, and do not panic: a panic is the caller's. Some keys are
//!   [compared](#one-mapping).
//! - the families of the table staying as they are until the end.
//!
//! # One mapping
//! Conversions are code, which nobody can compare. So the driver that begins records up to 16 keys of the old table, with the new keys that
//! its mapping gives them, with the state `paused`: before a new key is stored, every program has read them. Every process that reads the state
//! compares its own mapping with that, once for each record, and fails with [`is_table_mismatch`](crate::Error::is_table_mismatch) if a key
//! differs, in each of its calls: a program whose conversions are others than those of the driver, or than the
//! [`KeyMapping`] of [`Client::dynamic_migration`]. Mappings that differ for other keys alone are not found, nor is
//! anything in an empty table, of keys that are longer than about 1000 bytes, or where new keys are made of rows. Another attempt after a
//! roll-back records its own, and `finish` removes them.
//!
//! # Order
//! A scan in order gives the rows as the new table has them, in every state. So it needs the fields that its plan leaves open in the same
//! order in both keys, and each of them sorted as before, or all of them the other way round: then the old table is read backwards. A field
//! that is fixed to one value does not matter. A field sorts as before if its values have the same order, whatever its width, delimiter,
//! escapes, unit or layout; a hashed or bit-reversed field, and one that a module writes, only if nothing of it has changed. In both keys,
//! the fields before the salt must be fixed. Other scans need [`unordered`](crate::Scan::unordered), and say so before they read.
//!
//! # Conversions
//! | | declared, by [`rekeyed_from`](crate::guide::attributes#rekeyed_from) or by a [mapping](Client::rekeyed_by_mapping) | by hand, as `From` | [of rows](Client::rekeyed_by_row) |
//! |---|---|---|---|
//! | a new key | has the values of the old one, in fields of any name, order and format | is any function of the old one that has an inverse | is made of the old one and the row |
//! | a scan | by the plan of the new key: [`scan`](crate::Table::scan) | by a plan of each key: [`scan_both`](Rekeyed::scan_both) | by a plan of each key, unordered |
//! | counts and visits; pages and distinct values, of scans in order | all | on what `scan_both` returns | counts and visits |
//! | `delete_rows`, partitions | yes | no | no |
//!
//! The plan of the old table has the constraints of the new one on the fields that are a prefix of the old key. It may read more rows, and
//! those are dropped by their new keys: [`explain`](crate::Scan::explain) names the fields.
//!
//! # What it costs
//! | state | requests |
//! |---|---|
//! | `old` | as for one table; with [`rekeyed_by_row`](Client::rekeyed_by_row) a read or a write of one row 2, and a write of several rows 2 for each |
//! | `paused`, `rollback_paused` | a read 2; writes wait, and so do scans in no order |
//! | `copying`, `rollback_copying` | a read 2, a put or an update 2, a delete 1, an increment, an append or a conditional write 3; scans read both tables; an unordered scan reads the copied one twice |
//! | `moved`, `new`, `rolled_back` | as for one table, but an increment, an append or a conditional write 2 |
//!
//! In every state but `new` each process reads the control row once in a quarter of a lease, by default each second.
//!
//! # What it does not do
//! Aggregates ([`Sum`](crate::row::Sum) and its like), hashed fields in keys, loads, exports, copies, sizes and `drop_rows` while it runs,
//! two key types of one table at the same time, and rows above 100,000 cells or 64 MiB. A write of a key that the old table cannot hold
//! fails until [`finish`](Migration::finish): without an old key, a row would have no way back.
//! [`guide::rekeying`](crate::guide::rekeying) compares the ways to change a key.

mod control;
mod examples;
mod keys;
mod maybe;
mod migration;
mod order;
mod pace;
mod pair;
mod pass;
mod scan;
mod stamps;
mod state;
mod store;

use std::marker::PhantomData;
use std::sync::Arc;

pub use keys::PairKey;
pub use maybe::MaybeRekeyed;
pub use migration::{Activity, Migration, MigrationProgress, MigrationStatus};
pub use pass::Findings;
pub use state::State;
pub use store::{Pair, Rekeyed};

pub use super::transfer::Fault;

use self::control::{ControlRow, Lease};
use self::keys::{Converted, KeyOfRow, OfRows, PairKeys, Typed, Unknown};
use self::migration::refuse_aggregates;
use self::pair::TablePair;
use self::state::{Control, DEFAULT_LEASE, PairTables, Side, TableLayout as StoredLayout};
use super::{Table, reserved, stamp};
use crate::client::{Client, Error, TableInfo};
use crate::dynamic::{KeyLayout, KeyMapping, TableLayout};
use crate::key::KeyType;
use crate::row::{OwnedRow, Row};

impl Client {
    /// Opens a table that is re-keyed, together with the table that it becomes. [`rekey`](crate::table::rekey) explains it, with an example.
    ///
    /// `old` is the table with keys `Old`. `new` is the name of the table with keys `New`, which the [migration](Rekeyed::migration)
    /// creates. Both names can be the same if the key types have different tags. The conversions must be inverse to each other; a key
    /// for which they are not is an error of each call.
    ///
    /// It reads the old table's schema and the state, and begins a task that renews the state until the last clone of the handle is
    /// dropped. Open it once and clone it. The task runs on the tokio runtime of this call: once that has ended, every call fails.
    ///
    /// # Errors
    /// [`is_table_mismatch`](Error::is_table_mismatch) if the old table is stamped with neither `Old` nor the pair, lacks a family of
    /// the row type or has aggregates, or is re-keyed to another table; [`is_not_found`](Error::is_not_found) if there is no old table any more;
    /// when a request fails.
    ///
    /// # Cancel safety
    /// A dropped future cancels the reads.
    pub async fn rekeyed<Old, New, R>(&self, old: &str, new: &str) -> Result<Rekeyed<Old, New, R>, Error>
    where
        Old: PairKey + for<'a> From<&'a New>,
        New: PairKey + From<Old>,
        R: Row,
    {
        let routes = [self.route(old), self.route(new)];
        let keys = Arc::new(Converted::new(routes.clone(), Typed::<Old, New>::default()));
        let key_types = [KeyType::of::<Old>(), KeyType::of::<New>()];
        self.open_pair(PairTables { routes, key_types }, keys, false).await
    }

    /// [`rekeyed`](Self::rekeyed) by a [`KeyMapping`], which says by data which fields of the old key the new one takes: for a program that does
    /// not have the old key type any more, and for what `rekeyed_from` cannot say, such as numbers of another type or a constant.
    ///
    /// ```
    /// # use keyderive::{Client, Row, RowKey};
    /// # use keyderive::dynamic::{KeyLayout, KeyMapping};
    /// # #[derive(RowKey)] struct OldKey { user_id: String, at: u32 }
    /// #[derive(RowKey, Debug)]
    /// #[salt(range = 16, over = "user")]
    /// struct EventKey {
    ///     user: String,
    ///     at: u64,
    /// }
    /// # #[derive(Row)] struct Event { kind: String }
    ///
    /// # async fn sample(client: Client, old: KeyLayout) -> Result<(), Box<dyn std::error::Error>> {
    /// // `old` is a layout of a layout file, or of the registry.
    /// let mapping = KeyMapping::new(&old, &KeyLayout::of::<EventKey>(), "user=user_id")?;
    /// let events = client.rekeyed_by_mapping::<EventKey, Event>("events", "events-16", &mapping).await?;
    /// let newest = events.scan(EventKey::scan().user("alice")).reversed().limit(5).collect().await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// The operator's program takes the same mapping, by [`dynamic_migration`](Self::dynamic_migration) or by `keyderive rekey --map`.
    ///
    /// # Errors
    /// If the mapping is of another new key, or has [no way back](KeyMapping::check_reversible); those of [`rekeyed`](Self::rekeyed).
    ///
    /// # Cancel safety
    /// A dropped future cancels the reads.
    pub async fn rekeyed_by_mapping<New, R>(
        &self,
        old: &str,
        new: &str,
        mapping: &KeyMapping,
    ) -> Result<Table<New, R, MaybeRekeyed>, Error>
    where
        New: PairKey,
        R: Row,
    {
        let routes = [self.route(old), self.route(new)];
        let own = KeyLayout::of::<New>();
        check_mapping(mapping, [(old, mapping.old_layout()), (new, &own)])?;
        let keys = Arc::new(Converted::new(routes.clone(), mapping.clone()));
        let key_types = [mapping.old_layout().key_type(), KeyType::of::<New>()];
        let pair = self.open_pair::<(), New, R>(PairTables { routes, key_types }, keys, false).await?;
        Ok(pair.into_maybe())
    }

    /// [`rekeyed`](Self::rekeyed) where a new key needs the row: a field of the row becomes one of the key.
    ///
    /// ```
    /// # use keyderive::{Client, Row, RowKey};
    /// #[derive(RowKey, Debug)]
    /// struct OldKey {
    ///     order: u64,
    /// }
    ///
    /// #[derive(RowKey, Debug)]
    /// struct NewKey {
    ///     shop: String,
    ///     order: u64,
    /// }
    ///
    /// impl From<&NewKey> for OldKey {
    ///     fn from(key: &NewKey) -> Self {
    ///         Self { order: key.order }
    ///     }
    /// }
    ///
    /// #[derive(Row)]
    /// struct Order {
    ///     shop: String,
    ///     total: f64,
    /// }
    ///
    /// # async fn sample(client: Client) -> Result<(), keyderive::Error> {
    /// let orders = client
    ///     .rekeyed_by_row::<OldKey, NewKey, Order>("orders", "orders-by-shop", |old, order| NewKey {
    ///         shop: order.shop.clone(),
    ///         order: old.order,
    ///     })
    ///     .await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// A row of the old table counts only for the key that `key_of` gives. That key must never change for an old key, also if its row
    /// is deleted and stored again. Reads of the old table read each row whole, in addition to what they ask for. There is
    /// no way back from the state `copying` on.
    ///
    /// The old table has one row for all new keys that differ in what the row gives. So in `old` and `rolled_back`, when
    /// writes go there, they read the row first and differ from a plain table's, so that none reaches the row of another
    /// key:
    ///
    /// - a write fails if another key's row is in its place; a delete then finds nothing to delete;
    /// - a write after which the row would have another key, or none, fails: an update of the columns that `key_of` reads, and an
    ///   update, an increment or an append where there is no row.
    ///
    /// These errors say [`InvalidArgument`](crate::ErrorKind::InvalidArgument). Of several programs that store different keys in one
    /// place at the same time, one succeeds. Once writes go to the new table, each key has a row of its own.
    ///
    /// # Errors
    /// Those of [`rekeyed`](Self::rekeyed).
    ///
    /// # Cancel safety
    /// A dropped future cancels the reads.
    pub async fn rekeyed_by_row<Old, New, R>(
        &self,
        old: &str,
        new: &str,
        key_of: impl Fn(&Old, &R) -> New + Send + Sync + 'static,
    ) -> Result<Rekeyed<Old, New, R>, Error>
    where
        Old: PairKey + for<'a> From<&'a New>,
        New: PairKey,
        R: OwnedRow + 'static,
    {
        let routes = [self.route(old), self.route(new)];
        let key_of: KeyOfRow<Old, New, R> = Arc::new(key_of);
        let keys = Arc::new(OfRows::new(self, routes.clone(), key_of));
        let key_types = [KeyType::of::<Old>(), KeyType::of::<New>()];
        self.open_pair(PairTables { routes, key_types }, keys, true).await
    }
}

impl Client {
    async fn open_pair<Old, New, R>(
        &self,
        tables: PairTables,
        keys: Arc<dyn PairKeys>,
        one_way: bool,
    ) -> Result<Rekeyed<Old, New, R>, Error>
    where
        Old: 'static,
        New: PairKey,
        R: Row,
    {
        check_tags(&tables)?;
        let Table { handle, .. } = self.table::<New, R>(tables.route(Side::New));
        reserved::check_reserved(tables.route(Side::Old), handle.family_names())?;
        let info = self.table_info(tables.route(Side::Old)).await?;
        handle.ensure_families(&info)?;
        let pair = self.open_tables(tables, info, keys, one_way, false).await?;
        Ok(Table { handle, store: Pair::new(pair), types: PhantomData })
    }

    /// Opens a pair of tables by the state that is recorded.
    async fn open_tables(
        &self,
        tables: PairTables,
        info: TableInfo,
        keys: Arc<dyn PairKeys>,
        one_way: bool,
        may_lack_registry: bool,
    ) -> Result<Arc<TablePair>, Error> {
        refuse_aggregates(&info)?;
        let layout = |side, id: Option<String>| StoredLayout {
            table: tables.route(side).to_string(),
            fingerprint: tables.key_type(side).schema().fingerprint().to_string(),
            id,
        };
        let initial = Control {
            state: State::Old,
            change: 0,
            fence: None,
            fences_before: Vec::new(),
            lease_ms: u64::try_from(DEFAULT_LEASE.as_millis()).unwrap_or(u64::MAX),
            old: layout(Side::Old, stamp::table_id(&info)),
            new: layout(Side::New, None),
            one_way,
            examples: Vec::new(),
        };
        // Its own requests have no deadline of a caller.
        let client = self.without_deadline();
        let row = ControlRow::new(client, &tables, initial, Arc::clone(&keys), may_lack_registry);
        let lease = match Lease::open(row.clone()).await {
            Err(error) if error.is_not_found() && !may_lack_registry => {
                self.create_registry().await?;
                Lease::open(row).await?
            }
            opened => opened?,
        };
        Ok(Arc::new(TablePair::new(tables, keys, Arc::new(info), lease)))
    }

    /// The driver of a re-keying of tables whose layouts are data, for tools: [`Rekeyed::migration`] for programs that do not have the types.
    ///
    /// ```no_run
    /// # use keyderive::dynamic::{KeyMapping, TableLayout};
    /// # async fn sample(
    /// #     client: keyderive::Client, old: TableLayout, new: TableLayout,
    /// # ) -> Result<(), Box<dyn std::error::Error>> {
    /// let mapping = KeyMapping::new(old.key(), new.key(), "user=user_id")?;
    /// let migration = client.dynamic_migration(&old, &new, Some(&mapping)).await?;
    /// println!("{}", migration.check().await?);
    /// migration.run().await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// The mapping must be the programs' own, by [conversions](Self::rekeyed) or by data:
    /// [`rekey`](crate::table::rekey#one-mapping) says how that is checked. Without a mapping, such as where new keys are made [of
    /// rows](Self::rekeyed_by_row), it has the state and `finish`, and `roll_back` as far as that copies nothing; `check`,
    /// `run` and `verify` are errors.
    ///
    /// It reads the old table's schema and the state, and writes nothing. A task renews the state until the migration is dropped.
    ///
    /// # Errors
    /// If the mapping is of other layouts, or has [no way back](crate::dynamic::KeyMapping::check_reversible);
    /// [`is_table_mismatch`](Error::is_table_mismatch) if the tables are re-keyed by another mapping, and the others of
    /// [`rekeyed`](Self::rekeyed).
    ///
    /// # Cancel safety
    /// A dropped future cancels the reads.
    pub async fn dynamic_migration(
        &self,
        old: &TableLayout,
        new: &TableLayout,
        mapping: Option<&KeyMapping>,
    ) -> Result<Migration, Error> {
        let routes = [old, new].map(|layout| self.route(layout.name()));
        let layouts = [old, new].map(|layout| layout.key().clone());
        let key_types = [old, new].map(|layout| layout.key().key_type());
        let tables = PairTables { routes: routes.clone(), key_types };
        check_tags(&tables)?;
        let keys: Arc<dyn PairKeys> = match mapping {
            None => Arc::new(Unknown { tables: routes, layouts }),
            Some(mapping) => {
                let [old_key, new_key] = &layouts;
                check_mapping(mapping, [(old.name(), old_key), (new.name(), new_key)])?;
                Arc::new(Converted::new(routes, mapping.clone()))
            }
        };
        let info = self.table_info(old.name()).await?;
        let pair = self.open_tables(tables, info, keys, false, true).await?;
        Ok(Migration::new(pair, self.clone()))
    }
}

/// Fails unless a mapping is of the layouts of two tables, and has a way back.
fn check_mapping(mapping: &KeyMapping, tables: [(&str, &KeyLayout); 2]) -> Result<(), Error> {
    let [(old, _), _] = tables;
    mapping.check_layouts(tables).map_err(|(table, fault)| Error::definition(table, fault))?;
    mapping.check_reversible().map_err(|error| {
        let fault =
            format!("it cannot be re-keyed by the mapping `{mapping}`, which has no way back: {error}");
        Error::definition(old, fault)
    })
}

/// Fails if both tables are one, and a key does not show which type it has.
fn check_tags(tables: &PairTables) -> Result<(), Error> {
    let [old, new] = [Side::Old, Side::New].map(|side| tables.route(side));
    let [old_tag, new_tag] = tables.key_types.map(|key| key.schema().tag());
    if old.table() == new.table() && (old_tag.is_none() || new_tag.is_none() || old_tag == new_tag) {
        return Err(Error::definition(
            old,
            "a table becomes itself only if both key types have tags, which differ; name another table",
        ));
    }
    Ok(())
}
