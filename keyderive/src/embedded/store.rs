//! The store: what is kept, who may change it, and what a reader sees of it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tonic::Status;

use super::clock::{Clock, SystemClock};
use super::gc;
use super::interval::Interval;
use super::storage::{CellReader, Cells, Definition, Families, Memory, Page, Storage};

/// How many rows are changed, and how many looked at by a sweep, in one step of the storage.
const BATCH_ROWS: usize = 64;

/// How many rows are swept for each that is written: as a table is written, all of it is swept again and again.
const SWEPT_ROWS: usize = 2;

/// What is still to be swept, by table.
type Sweeps = BTreeMap<String, Interval>;

/// Tables over a storage.
///
/// A change reads and writes a row under one lock of all writers, so that it is atomic; readers take none.
pub(super) struct Store {
    storage: Box<dyn Storage>,
    clock: Box<dyn Clock>,
    writers: Mutex<Sweeps>,
}

impl Store {
    pub(super) fn new(storage: impl Storage + 'static, clock: impl Clock + 'static) -> Self {
        Self { storage: Box::new(storage), clock: Box::new(clock), writers: Mutex::default() }
    }

    pub(super) fn in_memory() -> Self {
        Self::new(Memory::default(), SystemClock)
    }

    /// The time in whole milliseconds, as microseconds since the epoch.
    pub(super) fn now_micros(&self) -> i64 {
        self.clock.now_micros()
    }

    pub(super) fn table(&self, name: &str) -> Result<Arc<Definition>, Status> {
        self.storage.table(name)?.ok_or_else(|| Status::not_found(format!("table `{name}` does not exist")))
    }

    /// The first `count` names of tables that come after `after` and begin with `prefix`, in order.
    pub(super) fn tables(&self, prefix: &str, after: &str, count: usize) -> Result<Vec<String>, Status> {
        self.storage.tables(prefix, after, count)
    }

    /// Creates a table, which gets an identifier that no other has.
    pub(super) fn create_table(&self, name: &str, definition: Definition) -> Result<(), Status> {
        let _writing = self.lock();
        if self.storage.table(name)?.is_some() {
            return Err(Status::already_exists(format!("table `{name}` exists")));
        }
        self.storage.put_table(name, Definition { id: Some(fastrand::u64(..)), ..definition })?;
        self.storage.commit()
    }

    /// Changes a table's definition by `change`, and removes the cells that it has no place for any more.
    pub(super) fn redefine(
        &self,
        name: &str,
        change: impl FnOnce(&mut Definition) -> Result<(), Status>,
    ) -> Result<Definition, Status> {
        let _writing = self.lock();
        let old = self.table(name)?;
        let mut new = Definition::clone(&old);
        change(&mut new)?;
        // First, so that a family that is made anew never shows the cells of the one that was dropped.
        if new.families != old.families {
            // A sweep looks at what is committed.
            self.storage.commit()?;
            self.sweep(name, &new.families)?;
        }
        self.storage.put_table(name, new.clone())?;
        self.storage.commit()?;
        Ok(new)
    }

    /// Deletes a table that `check` lets go.
    pub(super) fn delete_table(
        &self,
        name: &str,
        check: impl FnOnce(&Definition) -> Result<(), Status>,
    ) -> Result<(), Status> {
        let mut sweeps = self.lock();
        check(&*self.table(name)?)?;
        sweeps.remove(name);
        self.storage.delete_table(name)?;
        self.storage.commit()
    }

    /// Keeps all changes so far for good. What the methods for rows change waits for it; others do it themselves.
    pub(super) fn commit(&self) -> Result<(), Status> {
        self.storage.commit()
    }

    /// Whether what it does may wait for a disk, and has no place on a thread of tasks.
    pub(super) fn waits(&self) -> bool {
        self.storage.waits()
    }

    pub(super) fn close(&self) {
        self.storage.close();
    }

    /// The first rows of `interval`, or the last ones from its end backwards, at most `count`; with their garbage.
    pub(super) fn page(
        &self,
        table: &str,
        interval: &Interval,
        reversed: bool,
        count: usize,
    ) -> Result<Page, Status> {
        let page = self.storage.page(table, interval, reversed, count)?;
        if page.rows.is_empty() {
            // A scan of a table that is deleted beside it ends with an error, not as if it had come to the end.
            self.table(table)?;
        }
        Ok(page)
    }

    /// Shows the rows of `interval` where they lie, or from its end backwards, until `visit` says that it is enough;
    /// whether it never did. They have their garbage.
    pub(super) fn visit(
        &self,
        table: &str,
        interval: &Interval,
        reversed: bool,
        visit: &mut dyn FnMut(&[u8], CellReader<'_>) -> bool,
    ) -> Result<bool, Status> {
        let mut any = false;
        let all = self.storage.visit(table, interval, reversed, &mut |key, cells| {
            any = true;
            visit(key, cells)
        })?;
        if !any {
            // As for a page.
            self.table(table)?;
        }
        Ok(all)
    }

    /// Changes one row by `change`, which gets its cells without garbage, and the time; not at all where that fails.
    ///
    /// The time is taken with the lock of writers: of two changes, the one that is made later has no earlier time.
    pub(super) fn change<T>(
        &self,
        table: &str,
        key: &Bytes,
        change: impl FnOnce(&Families, &mut Cells, i64) -> Result<T, Status>,
    ) -> Result<T, Status> {
        let mut sweeps = self.lock();
        let mut batch = Batch::new(self, table)?;
        let outcome = batch.change(key, change)?;
        batch.put(&mut sweeps)?;
        Ok(outcome)
    }

    /// Changes rows by `change`, each by itself, in order; an outcome for each.
    pub(super) fn change_each<E>(
        &self,
        table: &str,
        entries: Vec<E>,
        key: impl Fn(&E) -> Bytes,
        change: impl Fn(&Families, &mut Cells, E, i64) -> Result<(), Status>,
    ) -> Result<Vec<Result<(), Status>>, Status> {
        let mut outcomes = Vec::with_capacity(entries.len());
        let mut entries = entries.into_iter().peekable();
        while entries.peek().is_some() {
            let mut sweeps = self.lock();
            let mut batch = Batch::new(self, table)?;
            outcomes.extend(entries.by_ref().take(BATCH_ROWS).map(|entry| {
                let key = key(&entry);
                batch.change(&key, |families, cells, now| change(families, cells, entry, now))
            }));
            batch.put(&mut sweeps)?;
        }
        Ok(outcomes)
    }

    pub(super) fn delete_rows(&self, table: &str, interval: &Interval) -> Result<(), Status> {
        let _writing = self.lock();
        self.table(table)?;
        self.storage.delete_rows(table, interval)?;
        self.storage.commit()
    }

    /// Removes the garbage of a whole table.
    fn sweep(&self, table: &str, families: &Families) -> Result<(), Status> {
        let now = self.now_micros();
        let mut rest = Some(Interval::all());
        while let Some(interval) = rest {
            rest = self.sweep_rows(table, families, now, interval, BATCH_ROWS)?;
        }
        Ok(())
    }

    /// Removes the garbage of the first `count` rows of an interval, and returns what is left of the interval.
    fn sweep_rows(
        &self,
        table: &str,
        families: &Families,
        now: i64,
        mut interval: Interval,
        count: usize,
    ) -> Result<Option<Interval>, Status> {
        let page = self.storage.page(table, &interval, false, count)?;
        let rest = page.rows.last().filter(|_| !page.is_last).map(|(last, _)| last.clone());
        let without_garbage = |cells: &Cells| {
            let mut left = cells.clone();
            gc::collect(&mut left, families, now);
            (left.len() < cells.len()).then_some(left)
        };
        let mut swept = Vec::new();
        for (key, _) in page.rows.into_iter().filter(|(_, cells)| without_garbage(cells).is_some()) {
            // The page may be older than the last changes of the row.
            let cells = self.storage.row(table, &key)?;
            if let Some(left) = cells.and_then(|cells| without_garbage(&cells)) {
                swept.push((key, Arc::new(left)));
            }
        }
        self.storage.put_rows(table, swept)?;
        Ok(rest.map(|last| {
            interval.advance_past(&last, false);
            interval
        }))
    }

    /// Taken even when a thread panicked with it: the storage's steps are whole.
    fn lock(&self) -> MutexGuard<'_, Sweeps> {
        self.writers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Rows that are changed together in one step of the storage. Its maker has the lock of writers.
struct Batch<'a> {
    store: &'a Store,
    table: &'a str,
    definition: Arc<Definition>,
    now: i64,
    has_garbage: bool,
    changed: BTreeMap<Bytes, Arc<Cells>>,
}

impl<'a> Batch<'a> {
    fn new(store: &'a Store, table: &'a str) -> Result<Self, Status> {
        let definition = store.table(table)?;
        let has_garbage = !gc::never(&definition.families);
        Ok(Self { store, table, definition, now: store.now_micros(), has_garbage, changed: BTreeMap::new() })
    }

    fn change<T>(
        &mut self,
        key: &Bytes,
        change: impl FnOnce(&Families, &mut Cells, i64) -> Result<T, Status>,
    ) -> Result<T, Status> {
        let families = &self.definition.families;
        let known = match self.changed.get(key) {
            Some(cells) => Some(Arc::clone(cells)),
            None => self.store.storage.row(self.table, key)?,
        };
        let mut cells = known.map_or_else(Cells::new, Arc::unwrap_or_clone);
        if self.has_garbage {
            gc::collect(&mut cells, families, self.now);
        }
        let outcome = change(families, &mut cells, self.now)?;
        if self.has_garbage {
            gc::collect(&mut cells, families, self.now);
        }
        self.changed.insert(key.clone(), Arc::new(cells));
        Ok(outcome)
    }

    fn put(self, sweeps: &mut Sweeps) -> Result<(), Status> {
        let Self { store, table, definition, now, has_garbage, changed } = self;
        let swept_rows = SWEPT_ROWS * changed.len();
        store.storage.put_rows(table, changed.into_iter().collect())?;
        if !has_garbage || swept_rows == 0 {
            return Ok(());
        }
        let interval = sweeps.remove(table).unwrap_or_else(Interval::all);
        if let Some(rest) = store.sweep_rows(table, &definition.families, now, interval, swept_rows)? {
            sweeps.insert(table.to_owned(), rest);
        }
        Ok(())
    }
}
