//! Where tables and rows are stored: an ordered map, in memory or in a file.

pub(super) mod cells;
mod durable;

use std::collections::BTreeMap;
use std::mem;
use std::ops::Bound;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use bytes::Bytes;
use keyderive_proto::admin::ColumnFamily;
use keyderive_proto::admin::r#type::Struct;
use tonic::Status;

pub(super) use self::cells::{Cell, CellReader, CellRef};
pub(super) use self::durable::Durable;
pub use self::durable::OpenError;
use crate::interval::Interval;

/// What a table is, apart from its rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Definition {
    /// What tells it from every other table that has had its name; none in a file in which it was created before tables
    /// had one.
    pub(super) id: Option<u64>,
    pub(super) families: Families,
    /// The first keys of all tablets but the first, in order, each once.
    pub(super) splits: Vec<Bytes>,
    pub(super) row_key_schema: Option<Struct>,
    pub(super) deletion_protection: bool,
}

pub(super) type Families = BTreeMap<Arc<str>, ColumnFamily>;

/// The cells of a row in the table's order: by family, by qualifier, newest first.
pub(super) type Cells = Vec<Cell>;

/// Rows and their keys, in key order.
pub(super) type RowPage = Vec<(Bytes, Arc<Cells>)>;

/// Row keys, each with the encoded cells of its row.
pub(super) type Bodies = Vec<(Bytes, Bytes)>;

/// The size of a row, in encoded bytes, from which it is large: it is not worked on while others wait.
pub(super) const LARGE_BYTES: usize = 64 << 10;

/// Some rows of an interval, in the order that was asked for.
#[derive(Debug, Default)]
pub(super) struct Page {
    pub(super) rows: RowPage,
    /// Whether the interval has no more of them.
    pub(super) is_last: bool,
}

/// A page ends with the row that brings it to so many bytes.
const PAGE_BYTES: usize = 1 << 20;

/// A row whose bytes are those of no cells, which no checksum has told.
pub(super) fn unreadable(key: &[u8]) -> Status {
    Status::data_loss(format!("the cells of row `{}` cannot be read; restore the row", key.escape_ascii()))
}

/// Keeps tables and rows as they are given; what they may be is decided by its caller.
///
/// Its methods are called from any thread. Those that change something are called one at a time, and each is done
/// as a whole or not at all, so that readers beside it see a row before a change or after it. A table that is not
/// there has no rows.
///
/// A change may be seen at once, and is seen and lasts when a `commit` after it has returned.
pub(super) trait Storage: Send + Sync {
    /// The table's definition, where there is such a table.
    fn table(&self, name: &str) -> Result<Option<Arc<Definition>>, Status>;

    /// The first `count` names of tables that come after `after` and begin with `prefix`, in order.
    fn tables(&self, prefix: &str, after: &str, count: usize) -> Result<Vec<String>, Status>;

    /// Defines a table, or defines it anew and leaves its rows.
    fn put_table(&self, name: &str, definition: Definition) -> Result<(), Status>;

    /// Deletes a table with its rows.
    fn delete_table(&self, name: &str) -> Result<(), Status>;

    /// The encoded cells of a row as the changes so far leave it, committed or not: for the one who changes it. A row
    /// that is not there has none.
    fn row(&self, table: &str, key: &[u8]) -> Result<Bytes, Status>;

    /// The first rows of `interval`, or the last ones from its end backwards: `count`, or fewer where they are large.
    fn page(&self, table: &str, interval: &Interval, reversed: bool, count: usize) -> Result<Page, Status> {
        let definition = self.table(table)?.unwrap_or_default();
        let (mut found, mut bytes) = (Bodies::new(), 0);
        let is_last = self.visit(table, interval, reversed, &mut |key, cells| {
            if found.len() == count || bytes >= PAGE_BYTES {
                return false;
            }
            bytes += cells.len();
            found.push((Bytes::copy_from_slice(key), cells.body()));
            true
        })?;
        // Not while rows are visited, since writers may wait for that.
        let decoded = |(key, body): (Bytes, Bytes)| match cells::decode(&body, &definition.families) {
            Some(cells) => Ok((key, Arc::new(cells))),
            None => Err(unreadable(&key)),
        };
        Ok(Page { rows: found.into_iter().map(decoded).collect::<Result<_, _>>()?, is_last })
    }

    /// Shows the rows of `interval` where they lie, or from its end backwards, until `visit` says that it is enough;
    /// whether it never did. What is visited waits, and so may writers.
    fn visit(
        &self,
        table: &str,
        interval: &Interval,
        reversed: bool,
        visit: &mut dyn FnMut(&[u8], CellReader<'_>) -> bool,
    ) -> Result<bool, Status>;

    /// Puts rows, each in the place of the one with its key; a row without cells deletes it.
    fn put_rows(&self, table: &str, rows: Bodies) -> Result<(), Status>;

    /// Deletes the rows of an interval, or so many of them that others need not wait long; whether those were all.
    fn delete_rows(&self, table: &str, interval: &Interval) -> Result<bool, Status>;

    /// Has readers see all changes so far, and keeps them for good, with the latest time that the store has given.
    /// Where that fails, none of them is kept, and what follows is changed in vain until `commit` has said so.
    fn flush(&self, latest_micros: i64) -> Result<(), Status> {
        let _ = latest_micros;
        Ok(())
    }

    /// As `flush`, where whoever made changes since the last `commit` is told what came of them.
    fn commit(&self, latest_micros: i64) -> Result<(), Status> {
        self.flush(latest_micros)
    }

    /// The latest time that a `commit` has kept.
    fn latest_micros(&self) -> i64 {
        0
    }

    /// Whether its methods may wait for a disk.
    fn blocks(&self) -> bool {
        false
    }

    /// Lets go of what others wait for, such as a file; every later call fails.
    fn close(&self) {}
}

/// The first `count` names that come after `after` and begin with `prefix`, in order.
fn names<T>(tables: &BTreeMap<String, T>, prefix: &str, after: &str, count: usize) -> Vec<String> {
    // What begins with the prefix is not before it.
    let start = if after < prefix { Bound::Included(prefix) } else { Bound::Excluded(after) };
    let names = tables.range::<str, _>((start, Bound::Unbounded)).map(|(name, _)| name);
    names.take_while(|name| name.starts_with(prefix)).take(count).cloned().collect()
}

/// How many rows are deleted while others wait.
const DELETED_ROWS: usize = 1024;

#[derive(Default)]
pub(super) struct Memory {
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
