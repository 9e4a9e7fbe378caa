//! Tables and rows in the memory of this process.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use bytes::Bytes;
use tonic::Status;

use super::{CellReader, Cells, Definition, RowPage, Storage, cells, names};
use crate::embedded::interval::Interval;

#[derive(Default)]
pub(in crate::embedded) struct Memory {
    tables: RwLock<BTreeMap<String, Table>>,
}

#[derive(Clone, Default)]
struct Table {
    definition: Arc<Definition>,
    /// Behind a lock of its own, so that a write to one table does not wait for a scan of another.
    rows: Arc<RwLock<Rows>>,
}

/// The bytes of cells by row key. No row is without cells.
type Rows = BTreeMap<Box<[u8]>, Box<[u8]>>;

impl Memory {
    fn get(&self, table: &str) -> Option<Table> {
        read(&self.tables).get(table).cloned()
    }
}

impl Table {
    fn cells(&self, body: &[u8]) -> Result<Arc<Cells>, Status> {
        let cells = cells::decode(&Bytes::copy_from_slice(body), &self.definition.families);
        cells.map(Arc::new).ok_or_else(|| Status::internal("a row in memory has no cells"))
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
        let Some(table) = self.get(table) else { return Ok(None) };
        read(&table.rows).get(key).map(|body| table.cells(body)).transpose()
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
        let mut found = rows.range::<[u8], _>((Bound::Included(&interval.start[..]), end));
        while let Some((key, body)) = if reversed { found.next_back() } else { found.next() } {
            if !visit(key, CellReader::new(body)) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn put_rows(&self, table: &str, changed: RowPage) -> Result<(), Status> {
        let Some(table) = self.get(table) else { return Ok(()) };
        let encoded = changed.into_iter().map(|(key, cells)| match cells::encode(&cells) {
            Some(body) => Ok((key, body.into_boxed_slice())),
            None => Err(Status::resource_exhausted(format!("row {key:?} is more than memory keeps"))),
        });
        let encoded: Vec<_> = encoded.collect::<Result<_, _>>()?;
        let mut rows = write(&table.rows);
        for (key, body) in encoded {
            if body.is_empty() {
                rows.remove(&key[..]);
            } else if let Some(known) = rows.get_mut(&key[..]) {
                *known = body;
            } else {
                rows.insert(Box::from(&key[..]), body);
            }
        }
        Ok(())
    }

    fn delete_rows(&self, table: &str, interval: &Interval) -> Result<(), Status> {
        let Some(table) = self.get(table).filter(|_| !interval.is_empty()) else { return Ok(()) };
        let start = Bound::Included(Box::from(&interval.start[..]));
        let end = interval.end.as_deref().map_or(Bound::Unbounded, |end| Bound::Excluded(Box::from(end)));
        write(&table.rows).extract_if((start, end), |_, _| true).for_each(drop);
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
