//! Writes of many rows in the background, in batches, with bounded memory.
//!
//! [`WriterInner::add`] adds a row to the open batch. A full batch, or one that has lingered, is sent by a task of its own.
//! [`FlowControl`] bounds the rows and bytes that are buffered or in flight.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::error::Error as StdError;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use keyderive_proto::{Rpc, code_name};
use tokio::runtime::Handle;
use tokio::sync::{Notify, Semaphore, SemaphorePermit};
use tokio::task::{AbortHandle, yield_now};
use tokio::time::timeout;

use super::shutdown::InFlightGuard;
use super::write::{Batch, Entries};
use super::{Client, Entry, Error, Route};
use crate::row::Mutation;

/// The size of a writer's batches, and how much it has in flight: set by
/// `table.writer_with(|settings| settings.batch_entries = 5_000)`.
///
/// | setting | default |
/// |---|---|
/// | `batch_entries` | 100 |
/// | `batch_bytes` | 8 MiB |
/// | `linger` | 1 s |
/// | `entries_in_flight` | 20,000 |
/// | `bytes_in_flight` | 100 MiB |
/// | `failures_kept` | 10,000 |
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WriterSettings {
    /// A batch with this many rows is sent. 0 counts as 1.
    pub batch_entries: usize,
    /// A batch is sent before it has more bytes than this. One row may have more.
    pub batch_bytes: usize,
    /// How long a row waits for others before its batch is sent.
    pub linger: Duration,
    /// How many rows may be buffered or in flight. A write beyond them waits.
    pub entries_in_flight: usize,
    /// How many bytes may be buffered or in flight. A write beyond them waits.
    pub bytes_in_flight: usize,
    /// How many failed rows are kept with their keys and errors until the next flush, about 1 KiB each. The rest are
    /// counted.
    pub failures_kept: usize,
}

impl Default for WriterSettings {
    fn default() -> Self {
        Self {
            batch_entries: 100,
            batch_bytes: 8 * 1024 * 1024,
            linger: Duration::from_secs(1),
            entries_in_flight: 20_000,
            bytes_in_flight: 100 * 1024 * 1024,
            failures_kept: 10_000,
        }
    }
}

/// Writes rows in the background, many in a request and several requests at a time.
///
/// ```
/// # #[cfg(feature = "embedded")]
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # use keyderive::{Client, RowKey};
/// # #[derive(RowKey)] struct UserKey { id: u64 }
/// # let client = Client::embedded();
/// # client.table::<UserKey, ()>("users").create_if_absent().await?;
/// use keyderive::row::Mutation;
///
/// let writer = client.raw_table("users").writer();
/// for id in 0..1000 {
///     writer.write(id.to_string(), vec![Mutation::set("cf", "name", 0, "Corrie")]).await?;
/// }
/// assert_eq!(writer.close().await?, 1000);
/// # Ok(())
/// # }
/// # #[cfg(not(feature = "embedded"))]
/// # fn main() {}
/// ```
///
/// Rows are written in no order. Two writes of one row may be swapped: [`flush`](Self::flush) between them.
///
/// A batch is sent when it is full, when it has waited for `linger`, or when the client is [closed](Client::close), which
/// waits for it. [`flush`](Self::flush) and [`close`](Self::close) return the failures; both are cancel-safe. Several tasks
/// can share a writer in an [`Arc`], and then call `flush` where one owner would call `close`.
///
/// A dropped writer sends its unsent batch as long as the runtime runs: **rows are lost if `main` returns before they are
/// written**, so close the writer, or await [`Client::close`]. The failures of a dropped writer are logged as a warning.
pub struct RawWriter {
    inner: Arc<WriterInner>,
}

/// Where a writer's rows go, and whether that is still the table that it began with.
pub(crate) trait WriterTarget: Send + Sync {
    /// Called before a batch of `rows` rows is sent.
    ///
    /// # Errors
    /// If they must not be sent.
    fn before<'a>(&'a self, client: &'a Client, rows: usize) -> WriterFuture<'a, Result<(), Error>>;

    /// Sends a batch; returns the outcomes of its rows in their order.
    fn send<'a>(
        &'a self,
        client: &'a Client,
        entries: &'a Entries,
    ) -> WriterFuture<'a, Vec<Result<(), Error>>>;

    /// Called after `rows` rows were sent; `not_written` of them are certainly not written.
    fn after(&self, rows: usize, not_written: usize);

    /// Called when the writer is flushed.
    ///
    /// # Errors
    /// If rows that were written may be in a table that is not read.
    fn end(&self) -> WriterFuture<'_, Result<(), Error>>;
}

/// What a [`WriterTarget`] does.
pub(crate) type WriterFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

impl RawWriter {
    pub(super) fn new(client: Client, table: Route, settings: WriterSettings) -> Self {
        let batch = Batch::timed_by(client.clock());
        Self {
            inner: Arc::new(WriterInner {
                client,
                table,
                entries: FlowControl::new(settings.entries_in_flight, 64),
                bytes: FlowControl::new(settings.bytes_in_flight, 64 * 1024),
                settings,
                target: None,
                state: Mutex::new(State { batch, ..State::default() }),
                yield_requested: AtomicBool::new(false),
                ended: Notify::new(),
            }),
        }
    }

    /// The same, to another target, if it has not been used yet.
    pub(crate) fn to(mut self, target: impl WriterTarget + 'static) -> Self {
        if let Some(inner) = Arc::get_mut(&mut self.inner) {
            inner.target = Some(Box::new(target));
        }
        self
    }

    /// Buffers a write to one row; waits while too much is buffered or in flight, and yields once after a full batch.
    ///
    /// # Errors
    /// When the write is above a limit of Bigtable, a deletion has [finer bounds](Mutation::delete_versions) and the table cannot be read,
    /// the client is closed, or no tokio runtime is running. [`flush`](Self::flush) and [`close`](Self::close) return the failures of the
    /// write itself.
    ///
    /// # Cancel safety
    /// If the future is dropped while it waits, nothing is buffered.
    pub async fn write(&self, key: impl Into<Bytes>, mut mutations: Vec<Mutation>) -> Result<(), Error> {
        let key = key.into();
        let WriterInner { client, table, .. } = &*self.inner;
        client.cut_bounds(table, &mut mutations).await?;
        self.write_with(|entry| {
            entry.key.extend_from_slice(&key);
            mutations.iter().for_each(|mutation| entry.mutations.push(mutation));
            Ok(())
        })
        .await
    }

    /// Buffers the write that `fill` encodes into an empty entry.
    #[inline]
    pub(crate) async fn write_with(
        &self,
        fill: impl FnOnce(&mut Entry) -> Result<(), Error>,
    ) -> Result<(), Error> {
        if self.inner.take_yield_request() {
            yield_now().await;
        }
        match self.try_write(fill)? {
            None => Ok(()),
            Some(entry) => Box::pin(self.wait_and_write(entry)).await,
        }
    }

    async fn wait_and_write(&self, entry: Box<Entry>) -> Result<(), Error> {
        // Send first: our own unsent batch may hold the permits that we are about to wait for.
        self.inner.send();
        let WriterInner { entries, bytes, .. } = &*self.inner;
        let permits = (entries.acquire(1).await, bytes.acquire(entry.bytes()).await);
        let acquire = |state: &mut State| {
            state.entries.add(permits.0);
            state.bytes.add(permits.1);
            true
        };
        self.inner.add(&entry, acquire).map(drop)
    }

    /// Buffers a write if it need not wait; returns its entry if it must.
    fn try_write(
        &self,
        fill: impl FnOnce(&mut Entry) -> Result<(), Error>,
    ) -> Result<Option<Box<Entry>>, Error> {
        thread_local! {
            static SCRATCH: RefCell<Entry> = RefCell::default();
        }
        SCRATCH.with(|scratch| match scratch.try_borrow_mut() {
            Ok(mut entry) => self.try_write_by(&mut entry, fill),
            // A row's own `Serialize` writes another row.
            Err(_) => self.try_write_by(&mut Entry::default(), fill),
        })
    }

    fn try_write_by(
        &self,
        entry: &mut Entry,
        fill: impl FnOnce(&mut Entry) -> Result<(), Error>,
    ) -> Result<Option<Box<Entry>>, Error> {
        let WriterInner { table, entries, bytes, .. } = &*self.inner;
        entry.reset();
        fill(entry)?;
        entry.check(table)?;
        let size = entry.bytes();
        let acquire = |state: &mut State| {
            let has_entry = state.entries.try_acquire(entries, 1);
            let has_both = has_entry && state.bytes.try_acquire(bytes, size);
            if has_entry && !has_both {
                state.entries.return_to_reserve(1);
            }
            has_both
        };
        let is_added = self.inner.add(entry, acquire)?;
        Ok((!is_added).then(|| Box::new(std::mem::take(entry))))
    }

    /// Waits until every buffered row is written or has failed; returns how many were written since the last flush.
    ///
    /// # Errors
    /// The rows that failed since the last flush, each with its key.
    ///
    /// # Cancel safety
    /// A dropped future stops waiting. The buffered rows are still sent, and the next flush returns their outcomes.
    pub async fn flush(&self) -> Result<u64, WriteErrors> {
        self.inner.send();
        self.inner.wait_for_sent().await;
        let unread = match &self.inner.target {
            Some(target) => target.end().await.err(),
            None => None,
        };
        Outcomes { unread, ..std::mem::take(&mut self.inner.state().outcomes) }.into_result()
    }

    /// [`flush`](Self::flush), for the last time.
    ///
    /// # Errors
    /// Those of `flush`.
    ///
    /// # Cancel safety
    /// If the future is dropped, the buffered rows are still sent, and nobody learns their outcomes.
    pub async fn close(self) -> Result<u64, WriteErrors> {
        self.flush().await
    }
}

impl fmt::Debug for RawWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RawWriter").field("table", &self.inner.table).finish_non_exhaustive()
    }
}

/// A row that a writer did not write, or may not have written, and why.
#[derive(Debug)]
pub struct FailedWrite {
    key: Bytes,
    error: Error,
}

/// The rows that a writer did not write since its last flush, or may not have written.
#[derive(Debug)]
pub struct WriteErrors(Outcomes);

impl FailedWrite {
    /// The row key.
    #[must_use]
    pub fn key(&self) -> &Bytes {
        &self.key
    }

    /// Why the row was not written, or may not have been. It names the row.
    #[must_use]
    pub fn error(&self) -> &Error {
        &self.error
    }
}

impl WriteErrors {
    /// The first rows that were not written, up to [`failures_kept`](crate::client::WriterSettings::failures_kept).
    #[must_use]
    pub fn failed(&self) -> &[FailedWrite] {
        &self.0.kept
    }

    /// How many rows were not written, kept or not.
    #[must_use]
    pub fn failed_count(&self) -> u64 {
        self.0.failed
    }

    /// Whether some of these rows may have been written: [`is_outcome_unknown`](Error::is_outcome_unknown) of a row's error
    /// says which.
    #[must_use]
    pub fn is_outcome_unknown(&self) -> bool {
        self.0.unknown > 0
    }

    /// The text without row keys and values, as [`Error::redacted`].
    #[must_use = "it is a text, to be printed"]
    pub fn redacted(&self) -> impl fmt::Display + '_ {
        fmt::from_fn(|f| {
            self.write_counts(f)?;
            self.0.first_error().map_or(Ok(()), |error| write!(f, "{}", error.redacted()))
        })
    }

    /// What stands before the first error.
    fn write_counts(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Outcomes { written, failed, unknown, unread, .. } = &self.0;
        let verb = if *unknown == 0 { "were not" } else { "may not have been" };
        match (failed, unread) {
            (0, Some(_)) => write!(f, "{written} rows were written, perhaps to a table that is not read: "),
            (_, Some(_)) => write!(
                f,
                "{failed} of {} rows {verb} written, and the others perhaps to a table that is not read: ",
                failed + written
            ),
            (_, None) => write!(f, "{failed} of {} rows {verb} written; the first: ", failed + written),
        }
    }

    /// Why rows that were written, and are no failures, may be in a table that is not read, since it was re-keyed or created again
    /// meanwhile. The error says how many.
    #[must_use]
    pub fn table_error(&self) -> Option<&Error> {
        self.0.unread.as_ref()
    }

    /// How many rows were written.
    #[must_use]
    pub fn written(&self) -> u64 {
        self.0.written
    }
}

impl fmt::Display for WriteErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_counts(f)?;
        self.0.first_error().map_or(Ok(()), |error| write!(f, "{error}"))
    }
}

impl StdError for WriteErrors {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.first_error().map(|error| error as _)
    }
}

/// What a writer shares with its timers and its batches in flight.
struct WriterInner {
    client: Client,
    table: Route,
    settings: WriterSettings,
    /// Where the entries of a batch go. `None` sends them to `table`.
    target: Option<Box<dyn WriterTarget>>,
    entries: FlowControl,
    bytes: FlowControl,
    state: Mutex<State>,
    /// Whether a spawned batch waits for the caller to yield.
    yield_requested: AtomicBool,
    /// Notified when a batch ends.
    ended: Notify,
}

#[derive(Default)]
struct State {
    batch: Batch,
    /// The permits of the batch's rows.
    entries: Permit,
    bytes: Permit,
    /// Sends the batch after `linger`; none while it is empty.
    timer: Option<AbortHandle>,
    /// Lets the batch be sent after the client is closed.
    guard: Option<Arc<InFlightGuard>>,
    /// The number of the open batch.
    number: u64,
    in_flight: BTreeSet<u64>,
    outcomes: Outcomes,
    /// Whether the writer was dropped, so that nobody will ask for the outcomes.
    abandoned: bool,
}

/// A batch in flight. Dropping it ends the batch, also when the runtime drops it.
struct InFlightBatch {
    inner: Arc<WriterInner>,
    number: u64,
    entries: Entries,
    /// The permits that it holds, for entries and for bytes.
    permits: (usize, usize),
    guard: Option<Arc<InFlightGuard>>,
}

impl Drop for RawWriter {
    fn drop(&mut self) {
        self.inner.send();
        let state = &mut *self.inner.state();
        state.abandoned = true;
        self.inner.log_abandoned_failures(state);
    }
}

impl WriterInner {
    #[inline]
    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing panics while it holds the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// True once when the caller should yield so that a spawned batch can run.
    #[inline]
    fn take_yield_request(&self) -> bool {
        let yield_requested = self.yield_requested.load(Ordering::Relaxed);
        if yield_requested {
            self.yield_requested.store(false, Ordering::Relaxed);
        }
        yield_requested
    }

    /// Adds a row to the batch if `acquire` gets its permits, and sends a full batch; returns whether it was added.
    ///
    /// # Errors
    /// When the client is closed, or no tokio runtime is running.
    #[inline]
    fn add(self: &Arc<Self>, entry: &Entry, acquire: impl FnOnce(&mut State) -> bool) -> Result<bool, Error> {
        let mut locked = self.state();
        let state = &mut *locked;
        if self.begins_or_ends(state, entry) {
            return self.add_first_or_last(locked, entry, acquire);
        }
        let is_added = acquire(state);
        if is_added {
            state.batch.add(&entry.key, &entry.mutations);
        }
        Ok(is_added)
    }

    /// Whether a batch begins with a row, or ends with it or before it.
    #[inline]
    fn begins_or_ends(&self, state: &State, entry: &Entry) -> bool {
        let WriterSettings { batch_entries, batch_bytes, .. } = self.settings;
        state.guard.is_none()
            || state.batch.is_empty()
            || state.batch.len() + 1 >= batch_entries
            || state.batch.is_full_for(&entry.key, &entry.mutations, batch_bytes)
            || self.client.inner.shutdown.is_closed()
    }

    /// [`add`](Self::add) for a row that may begin a batch or end one.
    #[inline(never)]
    fn add_first_or_last(
        self: &Arc<Self>,
        mut locked: MutexGuard<'_, State>,
        entry: &Entry,
        acquire: impl FnOnce(&mut State) -> bool,
    ) -> Result<bool, Error> {
        let WriterSettings { batch_entries, batch_bytes, .. } = self.settings;
        let runtime = super::connections::check_timers("a writer sends its rows")?;
        let state = &mut *locked;
        let guard = self.guard(state, &entry.key)?;
        let is_full = state.batch.is_full_for(&entry.key, &entry.mutations, batch_bytes);
        let before = if is_full { self.take_batch(state) } else { None };
        let mut after = None;
        let is_added = acquire(state);
        if is_added {
            let guard = || guard.or_else(|| before.as_ref()?.guard.clone());
            state.guard = state.guard.take().or_else(guard);
            let begins = state.batch.is_empty();
            state.batch.add(&entry.key, &entry.mutations);
            match state.batch.len() >= batch_entries {
                true => after = self.take_batch(state),
                false if begins => state.timer = Some(self.start_timer(&runtime, state.number)),
                false => {}
            }
        }
        drop(locked);
        for full in [before, after].into_iter().flatten() {
            full.spawn();
            self.yield_requested.store(true, Ordering::Relaxed);
        }
        Ok(is_added)
    }

    /// Sends the batch with this number after `linger`.
    fn start_timer(self: &Arc<Self>, runtime: &Handle, number: u64) -> AbortHandle {
        let linger = self.settings.linger;
        let (inner, shutdown) = (Arc::downgrade(self), Arc::clone(&self.client.inner.shutdown));
        let timer = runtime.spawn(async move {
            // `Client::close` waits for the batch, so it must not linger then.
            let _ = timeout(linger, shutdown.closing()).await;
            if let Some(inner) = inner.upgrade() {
                // The batch may have been sent before the timer was aborted.
                inner.send_if(|state| state.number == number);
            }
        });
        timer.abort_handle()
    }

    /// A guard to send the batch of this entry, if the batch has none.
    ///
    /// # Errors
    /// When the client is closed.
    fn guard(&self, state: &State, key: &[u8]) -> Result<Option<Arc<InFlightGuard>>, Error> {
        if state.guard.is_some() && !self.client.inner.shutdown.is_closed() {
            return Ok(None);
        }
        let guard = self.client.enter().ok_or_else(|| {
            let operation = self.client.data_operation(Rpc::MutateRows, &self.table);
            Error::closed(&operation).with_row_key(&Bytes::copy_from_slice(key))
        });
        guard.map(Some)
    }

    /// Sends the batch.
    fn send(self: &Arc<Self>) {
        self.send_if(|_| true);
    }

    fn send_if(self: &Arc<Self>, condition: impl FnOnce(&State) -> bool) {
        let batch = {
            let state = &mut *self.state();
            condition(state).then(|| self.take_batch(state)).flatten()
        };
        if let Some(batch) = batch {
            batch.spawn();
        }
    }

    /// Takes the batch out, to be spawned once the state is unlocked.
    fn take_batch(self: &Arc<Self>, state: &mut State) -> Option<InFlightBatch> {
        if state.batch.is_empty() {
            state.entries.release_reserve(&self.entries);
            state.bytes.release_reserve(&self.bytes);
            return None;
        }
        if let Some(timer) = state.timer.take() {
            timer.abort();
        }
        let permits = (state.entries.take(&self.entries), state.bytes.take(&self.bytes));
        let entries = state.batch.take();
        let number = state.number;
        state.number += 1;
        state.in_flight.insert(number);
        let (inner, guard) = (Arc::clone(self), state.guard.take());
        Some(InFlightBatch { inner, number, entries, permits, guard })
    }

    /// Waits until all batches sent so far have ended.
    async fn wait_for_sent(&self) {
        let open = self.state().number;
        loop {
            let ended = self.ended.notified();
            if self.state().in_flight.first().is_none_or(|number| *number >= open) {
                return;
            }
            ended.await;
        }
    }

    /// Logs the failures of a dropped writer, which nobody will ask for.
    fn log_abandoned_failures(&self, state: &mut State) {
        let outcomes = match state.abandoned {
            true => std::mem::take(&mut state.outcomes),
            false => return,
        };
        if let Some(first) = outcomes.first_error() {
            tracing::warn!(
                table = &*self.table,
                rows = outcomes.failed,
                code = first.code().map(code_name),
                "a writer was dropped, and some of its rows were not written"
            );
        }
    }
}

impl InFlightBatch {
    fn spawn(self) {
        match Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn(self.run())),
            Err(_) => tracing::warn!(
                table = &*self.inner.table,
                rows = self.entries.len(),
                "a writer was flushed or dropped outside of a tokio runtime, and its buffered rows are lost"
            ),
        }
    }

    async fn run(mut self) {
        let WriterInner { client, table, settings, target, .. } = &*self.inner;
        let (client, rows) = (client.with_in_flight(self.guard.clone()), self.entries.len());
        let outcomes = match target {
            None => client.send_entries(table, &self.entries).await,
            Some(target) => match target.before(&client, rows).await {
                Ok(()) => {
                    let outcomes = target.send(&client, &self.entries).await;
                    let is_unwritten = |outcome: &&Result<(), Error>| {
                        outcome.as_ref().is_err_and(|error| !error.is_outcome_unknown())
                    };
                    target.after(rows, outcomes.iter().filter(is_unwritten).count());
                    outcomes
                }
                Err(error) => vec![Err(error); rows],
            },
        };
        let state = &mut *self.inner.state();
        let entries = std::mem::take(&mut self.entries);
        for (index, outcome) in outcomes.into_iter().enumerate() {
            state.outcomes.add(outcome, settings.failures_kept, || entries.key(index));
        }
        state.batch.reuse(entries);
    }
}

impl Drop for InFlightBatch {
    fn drop(&mut self) {
        let Self { inner, entries, permits, .. } = self;
        inner.entries.release(permits.0);
        inner.bytes.release(permits.1);
        let state = &mut *inner.state();
        // Entries are left if the runtime ended before the request did.
        for index in 0..entries.len() {
            let outcome = Err(Error::runtime_ended(inner.table.table(), entries.idempotency(index)));
            state.outcomes.add(outcome, inner.settings.failures_kept, || entries.key(index));
        }
        state.in_flight.remove(&self.number);
        inner.log_abandoned_failures(state);
        inner.ended.notify_waiters();
    }
}

/// The outcomes of rows since the last flush.
#[derive(Debug, Default)]
struct Outcomes {
    written: u64,
    /// The first failures, up to `failures_kept`.
    kept: Vec<FailedWrite>,
    /// All failures, kept or not.
    failed: u64,
    /// The failures whose row may have been written.
    unknown: u64,
    /// Why rows that were written may be in a table that is not read.
    unread: Option<Error>,
}

impl Outcomes {
    /// Adds the outcome of a row; a failure is kept up to `max_kept`.
    fn add(&mut self, outcome: Result<(), Error>, max_kept: usize, key: impl FnOnce() -> Bytes) {
        match outcome {
            Ok(()) => self.written += 1,
            Err(error) => {
                self.failed += 1;
                self.unknown += u64::from(error.is_outcome_unknown());
                // The first is always kept, to say why.
                if self.kept.len() < max_kept.max(1) {
                    let key = key();
                    let error = Error::entry(&key, error);
                    self.kept.push(FailedWrite { key, error });
                }
            }
        }
    }

    fn first_error(&self) -> Option<&Error> {
        self.unread.as_ref().or_else(|| self.kept.first().map(FailedWrite::error))
    }

    fn into_result(self) -> Result<u64, WriteErrors> {
        match (self.failed, &self.unread) {
            (0, None) => Ok(self.written),
            _ => Err(WriteErrors(self)),
        }
    }
}

/// A bound on what is buffered or in flight.
struct FlowControl {
    limit: usize,
    semaphore: Semaphore,
    /// How many permits to reserve at a time, if that many are free.
    step: usize,
}

impl FlowControl {
    fn new(limit: usize, step: usize) -> Self {
        let limit = limit.clamp(1, Semaphore::MAX_PERMITS.min(u32::MAX as usize));
        Self { limit, semaphore: Semaphore::new(limit), step }
    }

    /// Waits for permits.
    async fn acquire(&self, count: usize) -> Option<SemaphorePermit<'_>> {
        // The semaphore is never closed.
        self.semaphore.acquire_many(to_u32(self.clamp(count))).await.ok()
    }

    fn try_acquire(&self, count: usize) -> bool {
        self.semaphore.try_acquire_many(to_u32(count)).map(SemaphorePermit::forget).is_ok()
    }

    fn release(&self, count: usize) {
        self.semaphore.add_permits(count);
    }

    /// A row that is larger than the limit goes alone, with all permits.
    fn clamp(&self, count: usize) -> usize {
        count.min(self.limit)
    }
}

/// Saturates: no semaphore has more permits than a `u32` holds.
fn to_u32(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// The permits of a batch.
#[derive(Clone, Copy, Debug, Default)]
struct Permit {
    used: usize,
    /// Acquired for later rows, so that not every row locks the semaphore.
    reserve: usize,
}

impl Permit {
    /// Uses permits, if enough are free.
    #[inline]
    fn try_acquire(&mut self, flow: &FlowControl, count: usize) -> bool {
        let count = flow.clamp(count);
        if self.reserve < count && !self.grow_reserve(flow, count - self.reserve) {
            return false;
        }
        self.reserve -= count;
        self.used += count;
        true
    }

    fn grow_reserve(&mut self, flow: &FlowControl, missing: usize) -> bool {
        let taken = [missing.max(flow.step), missing].into_iter().find(|count| flow.try_acquire(*count));
        self.reserve += taken.unwrap_or(0);
        taken.is_some()
    }

    /// Returns to the reserve the permits of a row that was not added.
    fn return_to_reserve(&mut self, count: usize) {
        self.used -= count;
        self.reserve += count;
    }

    fn add(&mut self, permit: Option<SemaphorePermit<'_>>) {
        if let Some(permit) = permit {
            self.used += permit.num_permits();
            permit.forget();
        }
    }

    /// Takes the used permits, for the caller to release, and releases the reserve.
    fn take(&mut self, flow: &FlowControl) -> usize {
        let Self { used, reserve } = std::mem::take(self);
        flow.release(reserve);
        used
    }

    fn release_reserve(&mut self, flow: &FlowControl) {
        flow.release(std::mem::take(&mut self.reserve));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reserve_is_released() {
        let (flow, mut permit) = (FlowControl::new(100, 64), Permit::default());
        let available = || flow.semaphore.available_permits();
        assert!(permit.try_acquire(&flow, 10) && available() == 36);
        assert!(permit.try_acquire(&flow, 54) && available() == 36);
        // Too few are left for a step, but enough for this one.
        assert!(permit.try_acquire(&flow, 30) && available() == 6);
        assert!(!permit.try_acquire(&flow, 7));
        assert!(permit.try_acquire(&flow, 6) && !permit.try_acquire(&flow, 1));
        let used = permit.take(&flow);
        assert_eq!((used, available()), (100, 0));
        flow.release(used);
        assert!(permit.try_acquire(&flow, 10));
        permit.return_to_reserve(10);
        permit.release_reserve(&flow);
        assert_eq!(available(), 100);
        // A row above the limit goes alone.
        assert!(permit.try_acquire(&flow, 1000) && available() == 0);
        assert_eq!(permit.take(&flow), 100);
    }

    #[tokio::test]
    async fn a_released_reserve_can_be_acquired() {
        let (flow, mut permit) = (FlowControl::new(100, 64), Permit::default());
        assert!(permit.try_acquire(&flow, 1));
        permit.release_reserve(&flow);
        assert_eq!(flow.acquire(99).await.map(|permit| permit.num_permits()), Some(99));
    }
}
