//! The store: tables over a storage, with atomic changes of rows, garbage collection and a clock.

use std::collections::BTreeMap;
use std::mem;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use tonic::Status;

use crate::check::GRANULARITY_MICROS;
use crate::gc::{self, GarbageFilter};
use crate::interval::Interval;
use crate::storage::{
    Bodies, CellReader, Cells, Definition, Families, LARGE_BYTES, Memory, Page, Storage, cells, unreadable,
};
use crate::worker::SHORT_WORK;

/// How many rows are changed, and how many looked at by a sweep, in one step of the storage.
const BATCH_ROWS: usize = 64;

/// How much work, and how many bytes of rows, are done while other writers wait.
const BATCH_WORK: usize = 2 * SHORT_WORK;
const BATCH_BYTES: usize = 1 << 20;

/// How many rows are swept for each that is written: as a table is written, all of it is swept again and again.
const SWEPT_ROWS: usize = 2;

/// What is still to be swept, by table.
type Sweeps = BTreeMap<String, Interval>;

/// Tables over a storage.
///
/// A change reads and writes a row under one lock of all writers, so that it is atomic; readers take none. What takes
/// long is made [aside](Self::prepare): without the lock, of the row as it is then, and put where the row is still that
/// one.
///
/// A change has one time of the server, which is taken with the lock: what is applied last has the latest time.
pub(super) struct Store {
    storage: Box<dyn Storage>,
    clock: SteadyClock,
    writers: Mutex<Sweeps>,
    max_row_bytes: usize,
}

/// What is to be done to one row. It may be made more than once, and counts once.
pub(super) struct RowChange<F> {
    pub(super) table: String,
    pub(super) key: Bytes,
    /// The size of the largest row, in encoded bytes, of which it is made while other writers wait; none where it
    /// takes long of any row.
    pub(super) inline_bytes: Option<usize>,
    pub(super) apply: F,
}

/// What a change of a row is made by: its families, its cells without garbage, and the time of the server.
pub(super) trait ApplyChange<T>: Fn(&Families, &mut Cells, i64) -> Result<T, Status> {}

impl<T, F: Fn(&Families, &mut Cells, i64) -> Result<T, Status>> ApplyChange<T> for F {}

/// A change that was made aside of the row as it was.
pub(super) struct Prepared<T> {
    definition: Arc<Definition>,
    before: Bytes,
    after: Bytes,
    now: i64,
    outcome: T,
}

impl Store {
    pub(super) fn new(storage: impl Storage + 'static, clock: impl Clock + 'static) -> Self {
        let clock = SteadyClock::new(clock, storage.latest_micros());
        Self { storage: Box::new(storage), clock, writers: Mutex::default(), max_row_bytes: cells::MAX_BYTES }
    }

    pub(super) fn in_memory() -> Self {
        Self::new(Memory::default(), SystemClock)
    }

    /// The store, but with rows of other sizes.
    #[cfg(test)]
    pub(super) fn with_max_row_bytes(self, max_row_bytes: usize) -> Self {
        Self { max_row_bytes, ..self }
    }

    /// The time in whole milliseconds, as microseconds since the epoch. It never steps back.
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
        self.flush()
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
            self.flush()?;
            self.sweep(name, &new.families)?;
        }
        self.storage.put_table(name, new.clone())?;
        self.flush()?;
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
        self.flush()
    }

    /// Keeps all changes so far for good, or says that those since the last commit are not kept. What the methods for
    /// rows change waits for it; others flush, so that it is seen by those that follow.
    pub(super) fn commit(&self) -> Result<(), Status> {
        self.storage.commit(self.clock.latest_micros())
    }

    fn flush(&self) -> Result<(), Status> {
        self.storage.flush(self.clock.latest_micros())
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

    /// Changes one row, or nothing where that fails or the row is too large: [`prepare`](Self::prepare) it then.
    pub(super) fn change<T>(&self, change: &RowChange<impl ApplyChange<T>>) -> Result<Option<T>, Status> {
        match change.inline_bytes {
            Some(most) => self.change_up_to(change, most),
            None => Ok(None),
        }
    }

    /// Changes one row of any size while other writers wait.
    pub(super) fn change_under_lock<T>(
        &self,
        change: &RowChange<impl ApplyChange<T>>,
    ) -> Result<Option<T>, Status> {
        self.change_up_to(change, usize::MAX)
    }

    fn change_up_to<T>(
        &self,
        change: &RowChange<impl ApplyChange<T>>,
        most: usize,
    ) -> Result<Option<T>, Status> {
        let RowChange { table, key, apply, .. } = change;
        let mut sweeps = self.lock();
        let definition = self.table(table)?;
        let before = self.storage.row(table, key)?;
        if before.len() > most {
            return Ok(None);
        }
        let now = self.now_micros();
        let (outcome, after) = self.apply_change(table, key, &definition, &before, now, apply)?;
        self.put(&mut sweeps, table, &definition, now, vec![(key.clone(), after)])?;
        Ok(Some(outcome))
    }

    /// Makes a change without the lock of writers.
    pub(super) fn prepare<T>(&self, change: &RowChange<impl ApplyChange<T>>) -> Result<Prepared<T>, Status> {
        let RowChange { table, key, apply, .. } = change;
        let definition = self.table(table)?;
        let before = self.storage.row(table, key)?;
        // After the row is read, so that it is no earlier than the time of any write that is part of it.
        let now = self.now_micros();
        let (outcome, after) = self.apply_change(table, key, &definition, &before, now, apply)?;
        Ok(Prepared { definition, before, after, now, outcome })
    }

    /// Puts a change that was made aside; nothing where the row or its table is another one by now.
    pub(super) fn put_prepared<T, F>(
        &self,
        change: &RowChange<F>,
        prepared: Prepared<T>,
    ) -> Result<Option<T>, Status> {
        let RowChange { table, key, .. } = change;
        let Prepared { definition, before, after, now, outcome } = prepared;
        let mut sweeps = self.lock();
        if !Arc::ptr_eq(&self.table(table)?, &definition) {
            return Ok(None);
        }
        let row = self.storage.row(table, key)?;
        // What is shared is the same, and need not be compared.
        let is_shared = row.as_ptr() == before.as_ptr() && row.len() == before.len();
        if !is_shared && row != before {
            return Ok(None);
        }
        self.put(&mut sweeps, table, &definition, now, vec![(key.clone(), after)])?;
        Ok(Some(outcome))
    }

    /// What a change makes of the cells of a row, and what it returns.
    fn apply_change<T>(
        &self,
        table: &str,
        key: &Bytes,
        definition: &Definition,
        before: &Bytes,
        now: i64,
        apply: &impl ApplyChange<T>,
    ) -> Result<(T, Bytes), Status> {
        let families = &definition.families;
        let mut cells = cells::decode(before, families).ok_or_else(|| unreadable(key))?;
        let has_garbage = !gc::has_no_rules(families);
        if has_garbage {
            gc::collect(&mut cells, families, now);
        }
        let outcome = apply(families, &mut cells, now)?;
        if has_garbage {
            gc::collect(&mut cells, families, now);
        }
        let most = self.max_row_bytes;
        match cells::encode(&cells, most) {
            Ok(after) => Ok((outcome, after.into())),
            Err(bytes) => Err(Status::failed_precondition(format!(
                "row {key:?} of table `{table}` would have {bytes} bytes, and a row may have {most} here; it is left as it is: \
                 delete columns or old versions of it first, or spread it over several rows"
            ))),
        }
    }

    /// Puts changed rows, and sweeps some others. Its caller has the lock of writers.
    fn put(
        &self,
        sweeps: &mut Sweeps,
        table: &str,
        definition: &Definition,
        now: i64,
        rows: Bodies,
    ) -> Result<(), Status> {
        let swept_rows = SWEPT_ROWS * rows.len();
        self.storage.put_rows(table, rows)?;
        if swept_rows == 0 || gc::has_no_rules(&definition.families) {
            return Ok(());
        }
        let interval = sweeps.remove(table).unwrap_or_else(Interval::all);
        if let Some(rest) = self.sweep_rows(table, &definition.families, now, interval, swept_rows)? {
            sweeps.insert(table.to_owned(), rest);
        }
        Ok(())
    }

    pub(super) fn delete_rows(&self, table: &str, interval: &Interval) -> Result<(), Status> {
        loop {
            let _writing = self.lock();
            self.table(table)?;
            if self.storage.delete_rows(table, interval)? {
                return self.flush();
            }
        }
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
        let (mut looked_at, mut bytes, mut last) = (0, 0, None);
        let mut found: Vec<Bytes> = Vec::new();
        let is_last = self.storage.visit(table, &interval, false, &mut |key, cells| {
            if looked_at == count || bytes >= BATCH_BYTES {
                return false;
            }
            looked_at += 1;
            bytes += cells.len();
            let key = Bytes::copy_from_slice(key);
            last = Some(key.clone());
            if has_garbage(cells, families, now) {
                found.push(key);
            }
            true
        })?;
        let mut swept = Bodies::new();
        for key in found {
            // What was visited may be older than the last changes of the row.
            let row = self.storage.row(table, &key)?;
            let mut filter = GarbageFilter::new(families, now);
            if let Some(left) = cells::retain(&row, |cell| filter.keeps(cell)) {
                swept.push((key, left.into()));
            }
        }
        self.storage.put_rows(table, swept)?;
        Ok(last.filter(|_| !is_last).map(|last| {
            interval.advance_past(&last, false);
            interval
        }))
    }

    /// Taken even when a thread panicked with it: the storage's steps are whole.
    fn lock(&self) -> MutexGuard<'_, Sweeps> {
        self.writers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn has_garbage(mut cells: CellReader<'_>, families: &Families, now: i64) -> bool {
    let mut filter = GarbageFilter::new(families, now);
    // Cells that are none are left to who reads them.
    while let Some(Some(cell)) = cells.next() {
        if !filter.keeps(&cell) {
            return true;
        }
    }
    false
}

/// Entries of a request, with their places in it.
type Indexed<E> = Vec<(usize, E)>;

/// Rows that are to be changed [aside](Store::prepare), each with its entries.
type Deferred<E> = Vec<(Bytes, Indexed<E>)>;

/// The changes of one request to many rows, made some rows at a time.
pub(super) struct Bulk<E, F> {
    table: String,
    /// With their places in the request, by key, those of one row in the order of the request.
    entries: Indexed<E>,
    key: fn(&E) -> &Bytes,
    work: fn(&E) -> usize,
    apply: F,
    /// How many entries have had their turn.
    done: usize,
    outcomes: Vec<Result<(), Status>>,
    deferred: Deferred<E>,
}

/// What the entries of one row are made by; an outcome for each.
pub(super) trait ApplyEntries<E>:
    Fn(&Families, &mut Cells, &[(usize, E)], i64) -> Vec<Result<(), Status>>
{
}

impl<E, F> ApplyEntries<E> for F where
    F: Fn(&Families, &mut Cells, &[(usize, E)], i64) -> Vec<Result<(), Status>>
{
}

impl<E: Default, F: ApplyEntries<E>> Bulk<E, F> {
    /// Of entries for the rows that `key` names, each of so much `work`.
    pub(super) fn new(
        table: String,
        entries: Vec<E>,
        key: fn(&E) -> &Bytes,
        work: fn(&E) -> usize,
        apply: F,
    ) -> Self {
        let outcomes = vec![Ok(()); entries.len()];
        let mut entries: Vec<_> = entries.into_iter().enumerate().collect();
        // Entries for different rows have no order among each other, and those for one row are made together.
        if !entries.is_sorted_by(|(_, left), (_, right)| key(left) <= key(right)) {
            entries.sort_by(|(_, left), (_, right)| key(left).cmp(key(right)));
        }
        Self { table, entries, key, work, apply, done: 0, outcomes, deferred: Vec::new() }
    }

    /// Changes some more rows of a store; whether those were the last ones.
    pub(super) fn step(&mut self, store: &Store) -> Poll<Result<(), Status>> {
        match self.change_some(store) {
            Ok(()) if self.done < self.entries.len() => Poll::Pending,
            outcome => Poll::Ready(outcome),
        }
    }

    fn change_some(&mut self, store: &Store) -> Result<(), Status> {
        let mut sweeps = store.lock();
        let definition = store.table(&self.table)?;
        let now = store.now_micros();
        let (mut work, mut bytes, mut changed) = (0, 0, Bodies::new());
        while changed.len() < BATCH_ROWS && work < BATCH_WORK && bytes < BATCH_BYTES {
            let Some(rest) = self.entries.get(self.done..).filter(|rest| !rest.is_empty()) else { break };
            let key = (self.key)(&rest[0].1).clone();
            let count = rest.iter().take_while(|(_, entry)| *(self.key)(entry) == key).count();
            let work_of_row: usize = rest[..count].iter().map(|(_, entry)| (self.work)(entry)).sum();
            let row = self.done..self.done + count;
            self.done += count;
            // Rows that are refused or put aside are work, too.
            work += work_of_row.min(SHORT_WORK);
            let before = match store.storage.row(&self.table, &key) {
                Ok(before) => before,
                Err(status) => {
                    self.reject(row, &status);
                    continue;
                }
            };
            if before.len() > LARGE_BYTES || work_of_row > SHORT_WORK {
                let entries = self.entries[row].iter_mut().map(mem::take).collect();
                self.deferred.push((key, entries));
                continue;
            }
            let apply = |families: &Families, cells: &mut Cells, now| {
                Ok((self.apply)(families, cells, &self.entries[row.clone()], now))
            };
            match store.apply_change(&self.table, &key, &definition, &before, now, &apply) {
                Ok((outcomes, after)) => {
                    for ((place, _), outcome) in self.entries[row].iter().zip(outcomes) {
                        self.outcomes[*place] = outcome;
                    }
                    bytes += before.len() + after.len();
                    changed.push((key, after));
                }
                Err(status) => self.reject(row, &status),
            }
        }
        store.put(&mut sweeps, &self.table, &definition, now, changed)
    }

    fn reject(&mut self, row: Range<usize>, status: &Status) {
        for (place, _) in &self.entries[row] {
            self.outcomes[*place] = Err(status.clone());
        }
    }

    /// What came of the entries that were made, and the rows that are to be changed deferred.
    pub(super) fn into_outcomes(self) -> (Vec<Result<(), Status>>, Deferred<E>) {
        (self.outcomes, self.deferred)
    }
}

/// How far the clock below may be behind before a warning says so.
const MOST_BEHIND_MICROS: i64 = 60_000_000;

/// A source of the time; tests have one that stands still.
pub(super) trait Clock: Send + Sync {
    /// The time in whole milliseconds, as microseconds since the epoch.
    fn now_micros(&self) -> i64;
}

/// The clock of this machine.
pub(super) struct SystemClock;

impl Clock for SystemClock {
    fn now_micros(&self) -> i64 {
        let millis = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        i64::try_from(millis).unwrap_or(i64::MAX).min(i64::MAX / GRANULARITY_MICROS) * GRANULARITY_MICROS
    }
}

/// A clock that never steps back, whatever the one below it does: a cell that is set later is read, so it must not be
/// older.
pub(super) struct SteadyClock {
    clock: Box<dyn Clock>,
    latest: AtomicI64,
    warned: AtomicBool,
}

impl SteadyClock {
    /// A clock that is never before `latest`, the latest time that cells in a file may have got from it.
    pub(super) fn new(clock: impl Clock + 'static, latest: i64) -> Self {
        let clock =
            Self { clock: Box::new(clock), latest: AtomicI64::new(latest), warned: AtomicBool::new(false) };
        // Warns of a file of the future when it is opened.
        clock.now_micros();
        clock
    }

    pub(super) fn now_micros(&self) -> i64 {
        let now = self.clock.now_micros();
        let latest = self.latest.fetch_max(now, Ordering::Relaxed);
        let behind = latest.saturating_sub(now);
        if behind > MOST_BEHIND_MICROS && !self.warned.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                behind = ?Duration::from_micros(behind.unsigned_abs()),
                "this machine's clock is behind the latest time that the embedded Bigtable gave to a cell; cells that \
                 are set at the server's time get that latest time until the machine's clock has passed it"
            );
        }
        latest.max(now)
    }

    /// The latest time that it gave.
    pub(super) fn latest_micros(&self) -> i64 {
        self.latest.load(Ordering::Relaxed)
    }
}
