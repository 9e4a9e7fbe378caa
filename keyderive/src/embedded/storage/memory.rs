//! Tables and rows in the memory of this process.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use bytes::BytesMut;
use tonic::Status;

use super::packed::{FamilyNames, Packed};
use super::{Cells, Definition, Page, RowPage, Storage, names};
use crate::embedded::interval::Interval;

#[derive(Default)]
pub(in crate::embedded) struct Memory {
    tables: RwLock<BTreeMap<String, Table>>,
}

#[derive(Default)]
struct Table {
    definition: Arc<Definition>,
    /// Behind a lock of its own, so that a write to one table does not wait for a scan of another.
    rows: Arc<RwLock<Rows>>,
}

/// No row is without cells. A scan shares the memory of the rows that it is at.
#[derive(Default)]
struct Rows {
    packed: BTreeMap<Box<[u8]>, Packed>,
    families: FamilyNames,
}

impl Rows {
    /// Rows with their keys, which share one allocation.
    fn unpacked<'a>(&self, rows: impl Iterator<Item = (&'a Box<[u8]>, &'a Packed)>) -> RowPage {
        let mut keys = BytesMut::new();
        let rows: Vec<_> = rows
            .map(|(key, packed)| {
                keys.extend_from_slice(key);
                (key.len(), Arc::new(packed.cells(&self.families)))
            })
            .collect();
        let mut keys = keys.freeze();
        rows.into_iter().map(|(length, cells)| (keys.split_to(length), cells)).collect()
    }
}

impl Memory {
    fn rows(&self, table: &str) -> Option<Arc<RwLock<Rows>>> {
        read(&self.tables).get(table).map(|table| Arc::clone(&table.rows))
    }
}

impl Storage for Memory {
    fn table(&self, name: &str) -> Result<Option<Arc<Definition>>, Status> {
        Ok(read(&self.tables).get(name).map(|table| Arc::clone(&table.definition)))
    }

    fn tables(&self, prefix: &str, after: &str, count: usize) -> Result<Vec<String>, Status> {
        Ok(names(&read(&self.tables), prefix, after, count))
    }

    fn put_table(&self, name: &str, definition: Definition) -> Result<(), Status> {
        write(&self.tables).entry(name.to_owned()).or_default().definition = Arc::new(definition);
        Ok(())
    }

    fn delete_table(&self, name: &str) -> Result<(), Status> {
        // The rows are freed after the lock.
        let gone = write(&self.tables).remove(name);
        drop(gone);
        Ok(())
    }

    fn row(&self, table: &str, key: &[u8]) -> Result<Option<Arc<Cells>>, Status> {
        Ok(self.rows(table).and_then(|rows| {
            let rows = read(&rows);
            rows.packed.get(key).map(|packed| Arc::new(packed.cells(&rows.families)))
        }))
    }

    fn page(&self, table: &str, interval: &Interval, reversed: bool, count: usize) -> Result<Page, Status> {
        let nothing = || Page { rows: Vec::new(), is_last: true };
        let Some(rows) = self.rows(table) else { return Ok(nothing()) };
        if interval.is_empty() {
            return Ok(nothing());
        }
        let end = interval.end.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        let rows = read(&rows);
        let found = rows.packed.range::<[u8], _>((Bound::Included(&interval.start[..]), end));
        let rows =
            if reversed { rows.unpacked(found.rev().take(count)) } else { rows.unpacked(found.take(count)) };
        Ok(Page { is_last: rows.len() < count, rows })
    }

    fn put_rows(&self, table: &str, changed: RowPage) -> Result<(), Status> {
        let Some(rows) = self.rows(table) else { return Ok(()) };
        let rows = &mut *write(&rows);
        let mut packed = Vec::with_capacity(changed.len());
        for (key, cells) in changed {
            packed.push((key, Packed::new(&cells, &mut rows.families)?));
        }
        for (key, row) in packed {
            if row.is_empty() {
                rows.packed.remove(&key[..]);
            } else if let Some(known) = rows.packed.get_mut(&key[..]) {
                *known = row;
            } else {
                rows.packed.insert(Box::from(&key[..]), row);
            }
        }
        Ok(())
    }

    fn delete_rows(&self, table: &str, interval: &Interval) -> Result<(), Status> {
        let Some(rows) = self.rows(table) else { return Ok(()) };
        if interval.is_empty() {
            return Ok(());
        }
        let start = Bound::Included(Box::from(&interval.start[..]));
        let end = interval.end.as_deref().map_or(Bound::Unbounded, |end| Bound::Excluded(Box::from(end)));
        write(&rows).packed.extract_if((start, end), |_, _| true).for_each(drop);
        Ok(())
    }
}

/// A lock is taken even when a thread panicked with it: no change is made in steps that can panic.
fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

fn write<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}
