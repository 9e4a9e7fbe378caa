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
pub(super) use self::durable::FileStorage;
pub use self::durable::OpenError;
use crate::check::Granularity;
use crate::interval::Interval;
use crate::tokens::{Token, TokenChanges, Tokens};

/// The definition of a table: all but its rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Definition {
    /// Unique among all tables. `None` if a release without identifiers created the table.
    pub(super) id: Option<u64>,
    pub(super) families: Families,
    /// The first keys of all tablets but the first, sorted and without duplicates.
    pub(super) splits: Vec<Bytes>,
    pub(super) row_key_schema: Option<Struct>,
    pub(super) deletion_protection: bool,
    pub(super) granularity: Granularity,
}

pub(super) type Families = BTreeMap<Arc<str>, ColumnFamily>;

/// The cells of a row in the table's order: by family, by qualifier, newest first.
pub(super) type Cells = Vec<Cell>;

/// Rows and their keys, in key order.
pub(super) type RowPage = Vec<(Bytes, Arc<Cells>)>;

/// Row keys, each with the encoded cells of its row.
pub(super) type EncodedRows = Vec<(Bytes, Bytes)>;

/// Rows of more encoded bytes are large: they are not processed inline or under the lock of writers.
pub(super) const LARGE_BYTES: usize = 64 << 10;

/// Some rows of an interval, in the requested order.
#[derive(Debug, Default)]
pub(super) struct Page {
    pub(super) rows: RowPage,
    /// Whether the interval has no more rows.
    pub(super) is_last: bool,
}

/// A page ends with the row that reaches this size.
const PAGE_BYTES: usize = 1 << 20;

/// The error for a row whose bytes are not cells, although its checksum is right.
pub(super) fn unreadable(key: &[u8]) -> Status {
    Status::data_loss(format!("the cells of row `{}` cannot be decoded; restore the row", key.escape_ascii()))
}

/// Stores tables and rows, without validating them.
///
/// Methods may be called from any thread, but the caller serializes those that change something. Each change is atomic:
/// concurrent readers see a row before the change or after it. A missing table has no rows.
///
/// A change may be visible at once; it is visible and durable when a later `commit` has returned.
pub(super) trait Storage: Send + Sync {
    /// The table's definition, if it exists.
    fn table(&self, name: &str) -> Result<Option<Arc<Definition>>, Status>;

    /// The first `count` table names after `after` that begin with `prefix`, in order.
    fn tables(&self, prefix: &str, after: &str, count: usize) -> Result<Vec<String>, Status>;

    /// Creates a table, or replaces its definition and keeps its rows.
    fn put_table(&self, name: &str, definition: Definition) -> Result<(), Status>;

    /// Deletes a table with its rows.
    fn delete_table(&self, name: &str) -> Result<(), Status>;

    /// The encoded cells of a row, including uncommitted changes: for writers. Empty for a missing row.
    fn row(&self, table: &str, key: &[u8]) -> Result<Bytes, Status>;

    /// The first rows of `interval`, or the last ones in reverse order: `count`, or fewer if they are large.
    fn page(&self, table: &str, interval: &Interval, reversed: bool, count: usize) -> Result<Page, Status> {
        let definition = self.table(table)?.unwrap_or_default();
        let (mut found, mut bytes) = (EncodedRows::new(), 0);
        let is_last = self.visit(table, interval, reversed, &mut |key, cells| {
            if found.len() == count || bytes >= PAGE_BYTES {
                return false;
            }
            bytes += cells.len();
            found.push((Bytes::copy_from_slice(key), cells.body()));
            true
        })?;
        // Decode after the visit, which may block writers.
        let decoded = |(key, body): (Bytes, Bytes)| match cells::decode(&body, &definition.families) {
            Some(cells) => Ok((key, Arc::new(cells))),
            None => Err(unreadable(&key)),
        };
        Ok(Page { rows: found.into_iter().map(decoded).collect::<Result<_, _>>()?, is_last })
    }

    /// Calls `visit` on the rows of `interval` in place, in order or in reverse order, until it returns false. Returns
    /// whether it visited all rows. May block writers meanwhile.
    fn visit(
        &self,
        table: &str,
        interval: &Interval,
        reversed: bool,
        visit: &mut dyn FnMut(&[u8], CellReader<'_>) -> bool,
    ) -> Result<bool, Status>;

    /// Writes rows, which replace those with the same keys; a row without cells deletes.
    fn put_rows(&self, table: &str, rows: EncodedRows) -> Result<(), Status> {
        self.put_rows_and_tokens(table, rows, &TokenChanges::default())
    }

    /// Writes rows, and remembers and forgets tokens in the same step.
    fn put_rows_and_tokens(
        &self,
        table: &str,
        rows: EncodedRows,
        tokens: &TokenChanges<'_>,
    ) -> Result<(), Status>;

    /// Whether this token is remembered, including uncommitted changes, given that it was added in this minute.
    fn has_token(&self, minute: i64, token: &Token) -> Result<bool, Status> {
        let _ = (minute, token);
        // In memory no change is lost.
        Ok(true)
    }

    /// The tokens that are remembered since before the storage was opened.
    fn tokens(&self) -> Tokens {
        Tokens::default()
    }

    /// Deletes a batch of the rows of an interval. Returns whether none are left.
    fn delete_rows(&self, table: &str, interval: &Interval) -> Result<bool, Status>;

    /// Makes all changes so far visible and durable, with the latest server time. If it fails, they are lost, and later
    /// changes fail until `commit` has returned the error.
    fn flush(&self, latest_micros: i64) -> Result<(), Status> {
        let _ = latest_micros;
        Ok(())
    }

    /// Like `flush`, but also returns the error of changes lost since the last `commit`.
    fn commit(&self, latest_micros: i64) -> Result<(), Status> {
        self.flush(latest_micros)
    }

    /// The latest server time that is stored.
    fn latest_micros(&self) -> i64 {
        0
    }

    /// Whether its methods may block on a disk.
    fn blocks(&self) -> bool {
        false
    }

    /// Releases resources such as the lock of a file. Every later call fails.
    fn close(&self) {}
}

fn names<T>(tables: &BTreeMap<String, T>, prefix: &str, after: &str, count: usize) -> Vec<String> {
    // Names with the prefix are not before it, so the prefix itself can be the start.
    let start = if after < prefix { Bound::Included(prefix) } else { Bound::Excluded(after) };
    let names = tables.range::<str, _>((start, Bound::Unbounded)).map(|(name, _)| name);
    names.take_while(|name| name.starts_with(prefix)).take(count).cloned().collect()
}

/// How many rows are deleted under one lock.
const MAX_DELETED_ROWS: usize = 1024;

#[derive(Default)]
pub(super) struct MemoryStorage {
    tables: RwLock<BTreeMap<String, Table>>,
}

#[derive(Clone, Default)]
struct Table {
    definition: Arc<Definition>,
    /// With a lock for each table, so that a write to one does not wait for a scan of another.
    rows: Arc<RwLock<Rows>>,
}

/// The encoded cells of rows by row key.
#[derive(Default)]
struct Rows {
    /// Every row. Its value is empty if the row is in `large`.
    small: BTreeMap<Box<[u8]>, Box<[u8]>>,
    /// Shared with readers and writers, so that they are not copied under the lock.
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

impl MemoryStorage {
    fn get(&self, table: &str) -> Option<Table> {
        read(&self.tables).get(table).cloned()
    }
}

impl Storage for MemoryStorage {
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
        // Free the rows after releasing the lock.
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

    fn put_rows_and_tokens(
        &self,
        table: &str,
        changed: EncodedRows,
        _: &TokenChanges<'_>,
    ) -> Result<(), Status> {
        let Some(table) = self.get(table) else { return Ok(()) };
        let mut rows = write(&table.rows);
        for (key, body) in changed {
            rows.put(&key, body);
        }
        Ok(())
    }

    fn delete_rows(&self, table: &str, interval: &Interval) -> Result<bool, Status> {
        let Some(table) = self.get(table).filter(|_| !interval.is_empty()) else { return Ok(true) };
        // Free the rows after releasing the lock.
        if *interval == Interval::all() {
            let gone = mem::take(&mut *write(&table.rows));
            drop(gone);
            return Ok(true);
        }
        let start = Bound::Included(Box::from(&interval.start[..]));
        let end = interval.end.as_deref().map_or(Bound::Unbounded, |end| Bound::Excluded(Box::from(end)));
        let mut rows = write(&table.rows);
        let gone: Vec<_> = rows.small.extract_if((start, end), |_, _| true).take(MAX_DELETED_ROWS).collect();
        let large = gone.iter().filter(|(_, body)| body.is_empty());
        let large: Vec<_> = large.map(|(key, _)| rows.large.remove(key)).collect();
        drop(rows);
        drop(large);
        Ok(gone.len() < MAX_DELETED_ROWS)
    }
}

/// Ignores poisoning: changes are not made in steps that can panic.
fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

fn write<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}
