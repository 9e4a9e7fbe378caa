//! The store: tables over a storage, with atomic changes of rows, garbage collection and a clock.

use std::collections::{BTreeMap, HashSet};
use std::mem;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};
use std::task::Poll;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use keyderive_proto::data::Idempotency;
use tonic::Status;

use crate::check::Granularity;
use crate::gc::{self, GarbageFilter};
use crate::interval::Interval;
use crate::storage::{
    CellReader, Cells, Definition, EncodedRows, Families, LARGE_BYTES, MemoryStorage, Page, Storage, cells,
    unreadable,
};
use crate::tokens::{Token, Tokens};

/// A change of at most this much work runs inline, under the lock. A mutation counts as 1, plus 1 for each `WORK_BYTES`
/// of its value.
pub(super) const SHORT_WORK: usize = 256;
pub(super) const WORK_BYTES: usize = 1 << 10;

/// How many rows a bulk step changes, and a sweep step scans, under one lock.
const BATCH_ROWS: usize = 64;

/// How much work a bulk step does, and how many bytes of rows a step processes, before it releases the lock.
const BATCH_WORK: usize = 2 * SHORT_WORK;
const BATCH_BYTES: usize = 1 << 20;

/// How many rows are swept for each row written. Each sweep continues where the last one ended, and starts over at the
/// end of the table.
const SWEPT_PER_WRITE: usize = 2;

/// The interval that the current sweep of a table has not yet reached, by table.
type Sweeps = BTreeMap<String, Interval>;

/// Tables over a storage.
///
/// A change reads and writes a row under the one lock of all writers, so that it is atomic; readers do not take it. A
/// slow change is [prepared](Self::prepare) without the lock, and applied if the row has not changed meanwhile.
///
/// A change takes its server time under the lock, so that the change applied last has the latest time.
pub(super) struct Store {
    storage: Box<dyn Storage>,
    clock: SteadyClock,
    writers: Mutex<Sweeps>,
    /// Changed under the lock of writers.
    tokens: RwLock<Tokens>,
    max_row_bytes: usize,
    /// Whether garbage stays until [`collect_garbage`](Self::collect_garbage) removes it.
    keeps_garbage: AtomicBool,
}

/// A change of one row. `apply` may run more than once, but takes effect once.
pub(super) struct RowChange<F> {
    pub(super) table: String,
    pub(super) key: Bytes,
    /// The size in encoded bytes up to which a row is changed under the lock; `None` if the change is slow for any row.
    pub(super) inline_bytes: Option<usize>,
    pub(super) apply: F,
}

/// Changes a row's cells, which contain no garbage.
pub(super) trait ApplyChange<T>: Fn(&mut Context<'_>, &mut Cells) -> Result<T, Status> {}

impl<T, F: Fn(&mut Context<'_>, &mut Cells) -> Result<T, Status>> ApplyChange<T> for F {}

/// What the change of a row needs besides its cells.
pub(super) struct Context<'a> {
    pub(super) families: &'a Families,
    pub(super) granularity: Granularity,
    /// The server time, in the table's granularity.
    pub(super) now: i64,
    store: &'a Store,
    table: &'a str,
    table_id: Option<u64>,
    noted: HashSet<Token>,
}

impl Context<'_> {
    /// The token of a mutation of the row `key`.
    ///
    /// # Errors
    /// If it is too short, or from so long ago that it may be forgotten.
    pub(super) fn token(&self, key: &Bytes, idempotency: &Idempotency) -> Result<Token, Status> {
        Token::new(idempotency, self.table, self.table_id, key, self.now)
    }

    /// Whether a mutation with this token was applied.
    pub(super) fn is_applied(&self, token: &Token) -> Result<bool, Status> {
        Ok(self.noted.contains(token) || self.store.has_token(token, self.now)?)
    }

    /// Remembers the token of a mutation that is applied.
    ///
    /// # Errors
    /// If too many tokens are remembered. The mutation must not be applied then.
    pub(super) fn note(&mut self, token: Token) -> Result<(), Status> {
        self.store.tokens().check_room(self.noted.len(), self.now)?;
        self.noted.insert(token);
        Ok(())
    }
}

/// A change that was computed without the lock.
pub(super) struct Prepared<T> {
    definition: Arc<Definition>,
    before: Bytes,
    change: Applied<T>,
    now: i64,
}

/// The outcome of a change, the encoded row after it, and the tokens that came with it.
struct Applied<T> {
    outcome: T,
    after: Bytes,
    tokens: HashSet<Token>,
}

impl Store {
    pub(super) fn new(storage: impl Storage + 'static, clock: impl Clock + 'static) -> Self {
        let clock = SteadyClock::new(clock, storage.latest_micros());
        Self {
            clock,
            writers: Mutex::default(),
            tokens: RwLock::new(storage.tokens()),
            storage: Box::new(storage),
            max_row_bytes: cells::MAX_BYTES,
            keeps_garbage: AtomicBool::new(false),
        }
    }

    pub(super) fn in_memory() -> Self {
        Self::new(MemoryStorage::default(), SystemClock)
    }

    /// The store with another limit of row sizes.
    #[cfg(test)]
    pub(super) fn with_max_row_bytes(self, max_row_bytes: usize) -> Self {
        Self { max_row_bytes, ..self }
    }

    /// The store with another limit of tokens.
    #[cfg(test)]
    pub(super) fn with_max_tokens(self, most: usize) -> Self {
        self.tokens.write().unwrap_or_else(PoisonError::into_inner).set_most(most);
        self
    }

    /// The time in microseconds since the epoch. It never steps back.
    pub(super) fn now_micros(&self) -> i64 {
        self.clock.now_micros()
    }

    /// The clock, for tests that set it.
    pub(super) fn clock(&self) -> &SteadyClock {
        &self.clock
    }

    /// Garbage stays from now on.
    pub(super) fn pause_garbage_collection(&self) {
        self.keeps_garbage.store(true, Ordering::Relaxed);
    }

    /// Whether cells that the rules of these families release are removed, and not shown.
    pub(super) fn collects(&self, families: &Families) -> bool {
        gc::has_rules(families) && !self.keeps_garbage.load(Ordering::Relaxed)
    }

    /// Removes the garbage of all tables, even while garbage collection is paused.
    pub(super) fn collect_garbage(&self) -> Result<(), Status> {
        // A sweep sees only flushed rows.
        self.flush()?;
        let mut after = String::new();
        while let Some(name) = self.tables("", &after, 1)?.pop() {
            let mut rest = Some(Interval::all());
            while let Some(interval) = rest {
                let _writing = self.lock();
                // The table may have been deleted meanwhile.
                let Some(definition) = self.storage.table(&name)? else { break };
                let now = Some(self.now_micros());
                rest = self.sweep_rows(&name, &definition.families, now, interval, BATCH_ROWS)?;
            }
            after = name;
        }
        self.flush()
    }

    pub(super) fn table(&self, name: &str) -> Result<Arc<Definition>, Status> {
        self.storage.table(name)?.ok_or_else(|| Status::not_found(format!("table `{name}` does not exist")))
    }

    /// The first `count` table names after `after` that begin with `prefix`, in order.
    pub(super) fn tables(&self, prefix: &str, after: &str, count: usize) -> Result<Vec<String>, Status> {
        self.storage.tables(prefix, after, count)
    }

    /// Creates a table with a unique identifier.
    pub(super) fn create_table(&self, name: &str, definition: Definition) -> Result<(), Status> {
        let _writing = self.lock();
        if self.storage.table(name)?.is_some() {
            return Err(Status::already_exists(format!("table `{name}` already exists")));
        }
        self.storage.put_table(name, Definition { id: Some(fastrand::u64(..)), ..definition })?;
        self.flush()
    }

    /// Changes a table's definition, and removes the cells that become garbage, also of the families in `dropped`,
    /// which `change` may have created again.
    pub(super) fn redefine(
        &self,
        name: &str,
        dropped: &[String],
        change: impl FnOnce(&mut Definition) -> Result<(), Status>,
    ) -> Result<Definition, Status> {
        let _writing = self.lock();
        let old = self.table(name)?;
        let mut new = Definition::clone(&old);
        change(&mut new)?;
        // Sweep first, so that a family that is created again never shows the cells of the dropped one.
        if new.families != old.families || !dropped.is_empty() {
            // A sweep sees only flushed rows.
            self.flush()?;
            let mut kept = new.families.clone();
            kept.retain(|family, _| !dropped.iter().any(|dropped| **dropped == **family));
            self.sweep(name, &kept)?;
        }
        self.storage.put_table(name, new.clone())?;
        self.flush()?;
        Ok(new)
    }

    /// Deletes a table unless `check` fails.
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

    /// Makes all changes so far durable; an error means that those since the last commit are lost. Changes of rows wait
    /// for a `commit`; the other methods flush, so that later calls see their changes.
    pub(super) fn commit(&self) -> Result<(), Status> {
        self.storage.commit(self.clock.latest_micros())
    }

    fn flush(&self) -> Result<(), Status> {
        self.storage.flush(self.clock.latest_micros())
    }

    /// Whether its methods may block on a disk, and so must not run on an async thread.
    pub(super) fn blocks(&self) -> bool {
        self.storage.blocks()
    }

    pub(super) fn close(&self) {
        self.storage.close();
    }

    /// The first rows of `interval`, or the last ones in reverse order, at most `count`. They include garbage.
    pub(super) fn page(
        &self,
        table: &str,
        interval: &Interval,
        reversed: bool,
        count: usize,
    ) -> Result<Page, Status> {
        let page = self.storage.page(table, interval, reversed, count)?;
        if page.rows.is_empty() {
            // A scan fails if its table is deleted meanwhile; it does not end early.
            self.table(table)?;
        }
        Ok(page)
    }

    /// Calls `visit` on the rows of `interval` in place, in order or in reverse order, until it returns false. Returns
    /// whether it visited all rows. They include garbage.
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
            // A scan of a deleted table fails, as in `page`.
            self.table(table)?;
        }
        Ok(all)
    }

    /// Changes one row under the lock. Returns `None` if the change is too slow for that: [`prepare`](Self::prepare) it.
    pub(super) fn change<T>(&self, change: &RowChange<impl ApplyChange<T>>) -> Result<Option<T>, Status> {
        match change.inline_bytes {
            Some(most) => self.change_up_to(change, most),
            None => Ok(None),
        }
    }

    /// Changes one row of any size under the lock.
    pub(super) fn change_any_size<T>(
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
        let Applied { outcome, after, tokens } =
            self.apply_change(table, key, &definition, &before, now, apply)?;
        self.put(&mut sweeps, table, &definition, now, vec![(key.clone(), after)], &tokens)?;
        Ok(Some(outcome))
    }

    /// Computes a change without the lock.
    pub(super) fn prepare<T>(&self, change: &RowChange<impl ApplyChange<T>>) -> Result<Prepared<T>, Status> {
        let RowChange { table, key, apply, .. } = change;
        let definition = self.table(table)?;
        let before = self.storage.row(table, key)?;
        // Taken after reading the row, so that it is not before the time of any write that the row contains.
        let now = self.now_micros();
        let change = self.apply_change(table, key, &definition, &before, now, apply)?;
        Ok(Prepared { definition, before, change, now })
    }

    /// Applies a prepared change. Returns `None` if the row or its table has changed since.
    pub(super) fn put_prepared<T, F>(
        &self,
        change: &RowChange<F>,
        prepared: Prepared<T>,
    ) -> Result<Option<T>, Status> {
        let RowChange { table, key, .. } = change;
        let Prepared { definition, before, change: Applied { outcome, after, tokens }, now } = prepared;
        let mut sweeps = self.lock();
        if !Arc::ptr_eq(&self.table(table)?, &definition) {
            return Ok(None);
        }
        let row = self.storage.row(table, key)?;
        // Shared memory is equal; there is no need to compare it.
        let is_shared = row.as_ptr() == before.as_ptr() && row.len() == before.len();
        if !is_shared && row != before {
            return Ok(None);
        }
        // The row may have changed and changed back.
        for token in &tokens {
            if self.has_token(token, now)? {
                return Ok(None);
            }
        }
        self.put(&mut sweeps, table, &definition, now, vec![(key.clone(), after)], &tokens)?;
        Ok(Some(outcome))
    }

    fn apply_change<T>(
        &self,
        table: &str,
        key: &Bytes,
        definition: &Definition,
        before: &Bytes,
        now: i64,
        apply: &impl ApplyChange<T>,
    ) -> Result<Applied<T>, Status> {
        let families = &definition.families;
        let mut cells = cells::decode(before, families).ok_or_else(|| unreadable(key))?;
        let gc_time = self.collects(families).then_some(now);
        if gc_time.is_some() {
            gc::collect(&mut cells, families, gc_time);
        }
        let granularity = definition.granularity;
        let mut context = Context {
            families,
            granularity,
            now: granularity.floor(now),
            store: self,
            table,
            table_id: definition.id,
            noted: HashSet::new(),
        };
        let outcome = apply(&mut context, &mut cells)?;
        let tokens = context.noted;
        if gc_time.is_some() {
            gc::collect(&mut cells, families, gc_time);
        }
        let most = self.max_row_bytes;
        match cells::encode(&cells, most) {
            Ok(after) => Ok(Applied { outcome, after: after.into(), tokens }),
            Err(bytes) => Err(Status::failed_precondition(format!(
                "row {key:?} of table `{table}` would have {bytes} bytes, and the limit is {most}; it is unchanged: delete columns or old versions \
                 first, or spread it over several rows"
            ))),
        }
    }

    /// Writes changed rows, and sweeps some others. The caller holds the lock.
    fn put(
        &self,
        sweeps: &mut Sweeps,
        table: &str,
        definition: &Definition,
        now: i64,
        rows: EncodedRows,
        tokens: &HashSet<Token>,
    ) -> Result<(), Status> {
        let swept_rows = SWEPT_PER_WRITE * rows.len();
        match tokens.is_empty() {
            true => self.storage.put_rows(table, rows)?,
            false => {
                let mut known = self.tokens.write().unwrap_or_else(PoisonError::into_inner);
                let changes = known.add(tokens, now);
                // Even if this fails: a token that is remembered by mistake is looked up in the storage.
                self.storage.put_rows_and_tokens(table, rows, &changes)?;
            }
        }
        if swept_rows == 0 || !self.collects(&definition.families) {
            return Ok(());
        }
        let interval = sweeps.remove(table).unwrap_or_else(Interval::all);
        if let Some(rest) = self.sweep_rows(table, &definition.families, Some(now), interval, swept_rows)? {
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
        let now = self.collects(families).then(|| self.now_micros());
        let mut rest = Some(Interval::all());
        while let Some(interval) = rest {
            rest = self.sweep_rows(table, families, now, interval, BATCH_ROWS)?;
        }
        Ok(())
    }

    /// Removes the garbage of the first `count` rows of an interval, and returns the rest of the interval.
    fn sweep_rows(
        &self,
        table: &str,
        families: &Families,
        now: Option<i64>,
        mut interval: Interval,
        count: usize,
    ) -> Result<Option<Interval>, Status> {
        let (mut scanned, mut bytes, mut last) = (0, 0, None);
        let mut dirty: Vec<Bytes> = Vec::new();
        let is_last = self.storage.visit(table, &interval, false, &mut |key, cells| {
            if scanned == count || bytes >= BATCH_BYTES {
                return false;
            }
            scanned += 1;
            bytes += cells.len();
            let key = Bytes::copy_from_slice(key);
            last = Some(key.clone());
            if has_garbage(cells, families, now) {
                dirty.push(key);
            }
            true
        })?;
        let mut swept = EncodedRows::new();
        for key in dirty {
            // The visited row may lack uncommitted changes, so read it again.
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

    /// Whether a mutation with this token was applied.
    fn has_token(&self, token: &Token, now: i64) -> Result<bool, Status> {
        for minute in self.tokens().minutes_of(token, now) {
            // The change may be lost that came with the token.
            if self.storage.has_token(minute, token)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn tokens(&self) -> RwLockReadGuard<'_, Tokens> {
        self.tokens.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ignores poisoning: each call of the storage is atomic.
    fn lock(&self) -> MutexGuard<'_, Sweeps> {
        self.writers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn has_garbage(mut cells: CellReader<'_>, families: &Families, now: Option<i64>) -> bool {
    let mut filter = GarbageFilter::new(families, now);
    // Readers report undecodable cells.
    while let Some(Some(cell)) = cells.next() {
        if !filter.keeps(&cell) {
            return true;
        }
    }
    false
}

/// Entries with their indexes in the request.
type Indexed<E> = Vec<(usize, E)>;

/// Rows whose changes are too slow for the lock, each with its entries.
type Deferred<E> = Vec<(Bytes, Indexed<E>)>;

/// The changes of one request to many rows, applied in batches.
pub(super) struct Bulk<E, F> {
    table: String,
    /// Sorted by key, and by index within a row.
    entries: Indexed<E>,
    key: fn(&E) -> &Bytes,
    work: fn(&E) -> usize,
    apply: F,
    /// How many entries are finished.
    done: usize,
    outcomes: Vec<Result<(), Status>>,
    deferred: Deferred<E>,
}

/// Applies the entries of one row. Returns an outcome for each.
pub(super) trait ApplyEntries<E>:
    Fn(&mut Context<'_>, &mut Cells, &[(usize, E)]) -> Vec<Result<(), Status>>
{
}

impl<E, F> ApplyEntries<E> for F where
    F: Fn(&mut Context<'_>, &mut Cells, &[(usize, E)]) -> Vec<Result<(), Status>>
{
}

impl<E: Default, F: ApplyEntries<E>> Bulk<E, F> {
    /// `key` and `work` return the row key and the amount of work of an entry.
    pub(super) fn new(
        table: String,
        entries: Vec<E>,
        key: fn(&E) -> &Bytes,
        work: fn(&E) -> usize,
        apply: F,
    ) -> Self {
        let outcomes = vec![Ok(()); entries.len()];
        let mut entries: Vec<_> = entries.into_iter().enumerate().collect();
        // Entries for different rows may be applied in any order; those for one row are applied together.
        if !entries.is_sorted_by(|(_, left), (_, right)| key(left) <= key(right)) {
            entries.sort_by(|(_, left), (_, right)| key(left).cmp(key(right)));
        }
        Self { table, entries, key, work, apply, done: 0, outcomes, deferred: Vec::new() }
    }

    /// Changes some more rows; ready when all are changed.
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
        let (mut work, mut bytes, mut changed, mut noted) = (0, 0, EncodedRows::new(), HashSet::new());
        while changed.len() < BATCH_ROWS && work < BATCH_WORK && bytes < BATCH_BYTES {
            let Some(rest) = self.entries.get(self.done..).filter(|rest| !rest.is_empty()) else { break };
            let key = (self.key)(&rest[0].1).clone();
            let count = rest.iter().take_while(|(_, entry)| *(self.key)(entry) == key).count();
            let work_of_row: usize = rest[..count].iter().map(|(_, entry)| (self.work)(entry)).sum();
            let row = self.done..self.done + count;
            self.done += count;
            // Rejected and deferred rows count, too.
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
            let apply = |context: &mut Context<'_>, cells: &mut Cells| {
                Ok((self.apply)(context, cells, &self.entries[row.clone()]))
            };
            match store.apply_change(&self.table, &key, &definition, &before, now, &apply) {
                Ok(Applied { outcome: outcomes, after, tokens }) => {
                    noted.extend(tokens);
                    for ((place, _), outcome) in self.entries[row].iter().zip(outcomes) {
                        self.outcomes[*place] = outcome;
                    }
                    bytes += before.len() + after.len();
                    changed.push((key, after));
                }
                Err(status) => self.reject(row, &status),
            }
        }
        store.put(&mut sweeps, &self.table, &definition, now, changed, &noted)
    }

    fn reject(&mut self, row: Range<usize>, status: &Status) {
        for (place, _) in &self.entries[row] {
            self.outcomes[*place] = Err(status.clone());
        }
    }

    /// The outcomes of the applied entries, and the deferred rows.
    pub(super) fn into_outcomes(self) -> (Vec<Result<(), Status>>, Deferred<E>) {
        (self.outcomes, self.deferred)
    }
}

/// How far the machine's clock may lag without a warning.
const MAX_LAG_MICROS: i64 = 60_000_000;

/// A source of time. Tests use one that stands still.
pub(super) trait Clock: Send + Sync {
    /// The time in microseconds since the epoch.
    fn now_micros(&self) -> i64;
}

/// The clock of this machine.
pub(super) struct SystemClock;

impl Clock for SystemClock {
    fn now_micros(&self) -> i64 {
        let micros = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_micros();
        i64::try_from(micros).unwrap_or(i64::MAX)
    }
}

/// The clock of a Bigtable. It never steps back, even if the underlying clock does: reads return the newest version, so a
/// later write must not get an earlier time. Only a test that sets it can turn it back.
pub(super) struct SteadyClock {
    clock: Box<dyn Clock>,
    latest: AtomicI64,
    warned: AtomicBool,
    /// How far tests have moved it ahead of the underlying clock, in microseconds.
    ahead: AtomicI64,
    /// The time at which it stands still; `RUNS` if it does not.
    stopped_at: AtomicI64,
    /// Serializes those that set it.
    setting: Mutex<()>,
}

const RUNS: i64 = i64::MIN;

/// The last time that a clock shows, at the end of the year 9999: `SystemTime` can hold it on every system.
const LAST_MICROS: i64 = 253_402_300_799_999_000;

impl SteadyClock {
    /// A clock that is never before `latest`, the latest time that a file's cells may have.
    pub(super) fn new(clock: impl Clock + 'static, latest: i64) -> Self {
        let clock = Self {
            clock: Box::new(clock),
            latest: AtomicI64::new(latest),
            warned: AtomicBool::new(false),
            ahead: AtomicI64::new(0),
            stopped_at: AtomicI64::new(RUNS),
            setting: Mutex::default(),
        };
        // Logs the warning when the file is opened.
        clock.now_micros();
        clock
    }

    pub(super) fn now_micros(&self) -> i64 {
        let stopped_at = self.stopped_at.load(Ordering::Relaxed);
        if stopped_at != RUNS {
            self.latest.fetch_max(stopped_at, Ordering::Relaxed);
            return stopped_at;
        }
        let ahead = self.ahead.load(Ordering::Relaxed);
        let now = self.clock.now_micros();
        let now = if ahead == 0 { now } else { now.saturating_add(ahead).min(LAST_MICROS) };
        let latest = self.latest.fetch_max(now, Ordering::Relaxed);
        let lag = latest.saturating_sub(now);
        if lag > MAX_LAG_MICROS && !self.warned.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                lag = ?Duration::from_micros(lag.unsigned_abs()),
                "this machine's clock lags the latest time of the embedded Bigtable; writes at the server's time \
                 get that latest time until the machine's clock has passed it"
            );
        }
        latest.max(now)
    }

    /// Moves the clock ahead, by at most the time until the end of the year 9999.
    pub(super) fn advance(&self, by: Duration) {
        let by = i64::try_from(by.as_micros()).unwrap_or(i64::MAX);
        let after = |micros: i64| micros.saturating_add(by).min(LAST_MICROS);
        let _setting = self.setting.lock().unwrap_or_else(PoisonError::into_inner);
        match self.stopped_at.load(Ordering::Relaxed) {
            // From the time that it shows: a file's may be far ahead of this machine's.
            RUNS => {
                let ahead = after(self.now_micros()).saturating_sub(self.clock.now_micros());
                self.ahead.store(ahead, Ordering::Relaxed);
            }
            stopped_at => self.stopped_at.store(after(stopped_at), Ordering::Relaxed),
        }
    }

    /// Stops the clock at a time, which may be before the times that it has shown.
    pub(super) fn set(&self, micros: i64) {
        let _setting = self.setting.lock().unwrap_or_else(PoisonError::into_inner);
        self.stopped_at.store(micros.clamp(0, LAST_MICROS), Ordering::Relaxed);
    }

    /// The latest time it returned.
    pub(super) fn latest_micros(&self) -> i64 {
        self.latest.load(Ordering::Relaxed)
    }
}
