//! The tables: ordered maps from row keys to cells.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use bytes::Bytes;
use tonic::Status;

use super::interval::Interval;
use crate::row::Cell;
use crate::wire::admin::ColumnFamily;
use crate::wire::admin::r#type::Struct;

/// Every table, by its full name.
#[derive(Default)]
pub(super) struct Store {
    tables: RwLock<BTreeMap<String, Arc<Table>>>,
}

/// One table. A row is changed as a whole under the lock, so no reader sees half of a change.
pub(super) struct Table {
    /// The first keys of all tablets but the first, in order, each once.
    pub(super) splits: Vec<Bytes>,
    state: RwLock<State>,
}

#[derive(Default)]
pub(super) struct State {
    pub(super) families: Families,
    pub(super) row_key_schema: Option<Struct>,
    /// No row is without cells. A scan shares the rows that it is at.
    pub(super) rows: BTreeMap<Bytes, Arc<Cells>>,
}

pub(super) type Families = BTreeMap<Arc<str>, ColumnFamily>;

/// The cells of a row in the table's order: by family, by qualifier, newest first.
pub(super) type Cells = Vec<Cell>;

impl Store {
    pub(super) fn get(&self, name: &str) -> Result<Arc<Table>, Status> {
        read(&self.tables).get(name).cloned().ok_or_else(|| no_table(name))
    }

    pub(super) fn create(&self, name: String, table: Table) -> Result<(), Status> {
        let mut tables = write(&self.tables);
        if tables.contains_key(&name) {
            return Err(Status::already_exists(format!("table `{name}` exists")));
        }
        tables.insert(name, Arc::new(table));
        Ok(())
    }

    pub(super) fn delete(&self, name: &str) -> Result<(), Status> {
        write(&self.tables).remove(name).map(|_| ()).ok_or_else(|| no_table(name))
    }

    /// The full names of the tables of an instance.
    pub(super) fn names(&self, instance: &str) -> Vec<String> {
        let prefix = format!("{instance}/tables/");
        read(&self.tables).keys().filter(|name| name.starts_with(&prefix)).cloned().collect()
    }
}

fn no_table(name: &str) -> Status {
    Status::not_found(format!("table `{name}` does not exist"))
}

impl Table {
    pub(super) fn new(families: Families, row_key_schema: Option<Struct>, mut splits: Vec<Bytes>) -> Self {
        splits.sort_unstable();
        splits.dedup();
        Self { splits, state: RwLock::new(State { families, row_key_schema, rows: BTreeMap::new() }) }
    }

    pub(super) fn read(&self) -> RwLockReadGuard<'_, State> {
        read(&self.state)
    }

    pub(super) fn write(&self) -> RwLockWriteGuard<'_, State> {
        write(&self.state)
    }

    /// The first `count` rows of `interval`, or the last ones from its end backwards.
    pub(super) fn page(&self, interval: &Interval, reversed: bool, count: usize) -> Vec<(Bytes, Arc<Cells>)> {
        if interval.is_empty() {
            return Vec::new();
        }
        let end = interval.end.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        let state = self.read();
        let rows = state.rows.range::<[u8], _>((Bound::Included(&interval.start[..]), end));
        let owned = |(key, cells): (&Bytes, &Arc<Cells>)| (key.clone(), Arc::clone(cells));
        if reversed {
            rows.rev().take(count).map(owned).collect()
        } else {
            rows.take(count).map(owned).collect()
        }
    }
}

/// A lock is taken even when a thread panicked with it: no change is made in steps that can panic.
fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

fn write<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}
