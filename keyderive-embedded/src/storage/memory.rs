//! Tables and rows in the memory of this process.

use std::collections::BTreeMap;
use std::mem;
use std::ops::Bound;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use bytes::Bytes;
use tonic::Status;

use super::{Bodies, CellReader, Definition, LARGE_BYTES, Storage, names};
use crate::interval::Interval;

/// How many rows are deleted while others wait.
const DELETED_ROWS: usize = 1024;

#[derive(Default)]
pub(crate) struct Memory {
    tables: RwLock<BTreeMap<String, Table>>,
}

#[derive(Clone, Default)]
struct Table {
    definition: Arc<Definition>,
    /// Behind a lock of its own, so that a write to one table does not wait for a scan of another.
    rows: Arc<RwLock<Rows>>,
}

/// The encoded cells of rows by row key.
#[derive(Default)]
struct Rows {
    /// No row is without cells: where there are none, the row is among the large ones.
    small: BTreeMap<Box<[u8]>, Box<[u8]>>,
    /// These are shared with who reads and changes them, and not copied while others wait.
    large: BTreeMap<Box<[u8]>, Bytes>,
}

impl Rows {
    fn reader<'a>(&'a self, key: &[u8], body: &'a [u8]) -> CellReader<'a> {
        let large = if body.is_empty() { self.large.get(key) } else { None };
        large.map_or_else(|| CellReader::new(body), CellReader::of_shared)
    }

    fn put(&mut self, key: &[u8], body: Bytes) {
        let known = self.small.get_mut(key);
        if known.as_ref().is_some_and(|known| known.is_empty()) {
            self.large.remove(key);
        }
        if body.is_empty() {
            self.small.remove(key);
            return;
        }
        let small = match body.len() {
            ..=LARGE_BYTES => Vec::from(body).into_boxed_slice(),
            _ => {
                self.large.insert(Box::from(key), body);
                Box::default()
            }
        };
        match known {
            Some(known) => *known = small,
            None => drop(self.small.insert(Box::from(key), small)),
        }
    }
}

impl Memory {
    fn get(&self, table: &str) -> Option<Table> {
        read(&self.tables).get(table).cloned()
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

    fn row(&self, table: &str, key: &[u8]) -> Result<Bytes, Status> {
        let Some(table) = self.get(table) else { return Ok(Bytes::new()) };
        let rows = read(&table.rows);
        Ok(rows.small.get(key).map(|body| rows.reader(key, body).body()).unwrap_or_default())
    }

    fn visit(
        &self,
        table: &str,
        interval: &Interval,
        reversed: bool,
        visit: &mut dyn FnMut(&[u8], CellReader<'_>) -> bool,
    ) -> Result<bool, Status> {
        let Some(table) = self.get(table).filter(|_| !interval.is_empty()) else { return Ok(true) };
        let end = interval.end.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        let rows = read(&table.rows);
        let mut found = rows.small.range::<[u8], _>((Bound::Included(&interval.start[..]), end));
        while let Some((key, body)) = if reversed { found.next_back() } else { found.next() } {
            if !visit(key, rows.reader(key, body)) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn put_rows(&self, table: &str, changed: Bodies) -> Result<(), Status> {
        let Some(table) = self.get(table) else { return Ok(()) };
        let mut rows = write(&table.rows);
        for (key, body) in changed {
            rows.put(&key, body);
        }
        Ok(())
    }

    fn delete_rows(&self, table: &str, interval: &Interval) -> Result<bool, Status> {
        let Some(table) = self.get(table).filter(|_| !interval.is_empty()) else { return Ok(true) };
        // Rows are freed after the lock.
        if *interval == Interval::all() {
            let gone = mem::take(&mut *write(&table.rows));
            drop(gone);
            return Ok(true);
        }
        let start = Bound::Included(Box::from(&interval.start[..]));
        let end = interval.end.as_deref().map_or(Bound::Unbounded, |end| Bound::Excluded(Box::from(end)));
        let mut rows = write(&table.rows);
        let gone: Vec<_> = rows.small.extract_if((start, end), |_, _| true).take(DELETED_ROWS).collect();
        let large = gone.iter().filter(|(_, body)| body.is_empty());
        let large: Vec<_> = large.map(|(key, _)| rows.large.remove(key)).collect();
        drop(rows);
        drop(large);
        Ok(gone.len() < DELETED_ROWS)
    }
}

/// A lock is taken even when a thread panicked with it: no change is made in steps that can panic.
fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

fn write<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}
