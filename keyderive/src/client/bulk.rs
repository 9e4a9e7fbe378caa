//! Writes of many rows in the background: gathered into batches, several at a time, within bounds.

mod flow_control;
mod outcome;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::task::{AbortHandle, yield_now};
use tokio::time::timeout;

use self::outcome::Outcome;
pub use self::outcome::{FailedWrite, WriteErrors};
use keyderive_proto::code_name;

use self::flow_control::{FlowControl, Permit};
use super::operation::Kind;
use super::shutdown::InFlightGuard;
use super::write::{Batch, Entries};
use super::{Client, Entry, Error};
use crate::row::Mutation;

/// The size of a writer's batches, and how much it has in flight: set by
/// `table.writer_with(|settings| settings.batch_entries = 5_000)`.
///
/// | knob | unless set |
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
    /// A batch is sent when it has so many rows, of which 0 counts as 1.
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

/// Writes rows in the background, many with one request and several requests at a time.
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
/// share a writer by an [`Arc`]; for them, `flush` stands for `close`.
///
/// A dropped writer sends its unsent batch as long as the runtime runs: **rows are lost if `main` returns before they are
/// written**, so close the writer, or await [`Client::close`]. Failures that nobody asked for are logged as a warning.
pub struct RawWriter {
    inner: Arc<WriterInner>,
}

/// What a writer shares with its timers and with the batches in flight.
struct WriterInner {
    client: Client,
    table: Arc<str>,
    settings: WriterSettings,
    /// Bounds the entries in flight, and their bytes.
    entries: FlowControl,
    bytes: FlowControl,
    state: Mutex<State>,
    /// Whether a full batch waits until the caller yields.
    yield_requested: AtomicBool,
    /// Notified when a batch has ended.
    ended: Notify,
}

#[derive(Default)]
struct State {
    batch: Batch,
    /// What the batch's rows have taken of the room for entries, and of that for bytes.
    entries: Permit,
    bytes: Permit,
    /// Sends the batch when it has waited for long enough; none while it is empty.
    timer: Option<AbortHandle>,
    /// Leave to send the batch, whenever the client is closed.
    pass: Option<Arc<InFlightGuard>>,
    /// How many batches have been sent.
    sent: u64,
    /// The numbers of those that have not ended, counted from 0.
    on_the_way: BTreeSet<u64>,
    outcome: Outcome,
    /// Whether the writer was dropped, and nobody will ask for the outcome.
    abandoned: bool,
}

/// A batch in flight. It has ended when this is dropped, whatever drops it.
struct Sending {
    inner: Arc<WriterInner>,
    number: u64,
    entries: Entries,
    /// What there was taken of the room, in entries and in bytes.
    taken: (usize, usize),
    pass: Option<Arc<InFlightGuard>>,
}

/// The runtime in which a batch is sent.
fn runtime() -> Result<Handle, Error> {
    super::runtime::check_timers("a writer sends its rows")
}

impl RawWriter {
    pub(super) fn new(client: Client, table: Arc<str>, settings: WriterSettings) -> Self {
        Self {
            inner: Arc::new(WriterInner {
                client,
                table,
                entries: FlowControl::new(settings.entries_in_flight, 64),
                bytes: FlowControl::new(settings.bytes_in_flight, 64 * 1024),
                settings,
                state: Mutex::default(),
                yield_requested: AtomicBool::new(false),
                ended: Notify::new(),
            }),
        }
    }

    /// Takes a write to one row; waits while too much is in flight, and once for the runtime's other tasks when a full
    /// batch has been sent.
    ///
    /// Dropped while it waits, it has taken nothing.
    ///
    /// # Errors
    /// When the write is above a limit of Bigtable, the client is closed, or no tokio runtime is running. Failures of
    /// the write itself are returned by [`flush`](Self::flush) and [`close`](Self::close).
    pub async fn write(&self, key: impl Into<Bytes>, mutations: Vec<Mutation>) -> Result<(), Error> {
        let key = key.into();
        self.take(|entry| {
            entry.key.extend_from_slice(&key);
            mutations.iter().for_each(|mutation| entry.mutations.push(mutation));
            Ok(())
        })
        .await
    }

    /// Takes a write that is encoded by `fill`, which is given an empty entry.
    #[inline]
    pub(crate) async fn take(&self, fill: impl FnOnce(&mut Entry) -> Result<(), Error>) -> Result<(), Error> {
        if self.inner.take_yield_request() {
            yield_now().await;
        }
        match self.take_now(fill)? {
            None => Ok(()),
            Some(entry) => Box::pin(self.take_later(entry)).await,
        }
    }

    /// Takes a write when there is room for it.
    async fn take_later(&self, entry: Box<Entry>) -> Result<(), Error> {
        // Flush first: our own unsent batch may hold the permits that we are about to wait for.
        self.inner.send();
        let WriterInner { entries, bytes, .. } = &*self.inner;
        let permits = (entries.permit(1).await, bytes.permit(entry.bytes()).await);
        let room = |state: &mut State| {
            state.entries.take_permit(permits.0);
            state.bytes.take_permit(permits.1);
            true
        };
        self.inner.take(&entry, room).map(drop)
    }

    /// Takes a write if there is room for it now; what is to be taken, if there is none.
    fn take_now(
        &self,
        fill: impl FnOnce(&mut Entry) -> Result<(), Error>,
    ) -> Result<Option<Box<Entry>>, Error> {
        thread_local! {
            /// Memory in which entries are encoded.
            static SCRATCH: RefCell<Entry> = RefCell::default();
        }
        SCRATCH.with(|scratch| match scratch.try_borrow_mut() {
            Ok(mut entry) => self.take_filled(&mut entry, fill),
            // A row that is being encoded writes another one.
            Err(_) => self.take_filled(&mut Entry::default(), fill),
        })
    }

    fn take_filled(
        &self,
        entry: &mut Entry,
        fill: impl FnOnce(&mut Entry) -> Result<(), Error>,
    ) -> Result<Option<Box<Entry>>, Error> {
        let WriterInner { table, entries, bytes, .. } = &*self.inner;
        entry.reset();
        fill(entry)?;
        entry.check(table)?;
        let size = entry.bytes();
        let room = |state: &mut State| {
            let has_room = state.entries.take(entries, 1);
            let is_taken = has_room && state.bytes.take(bytes, size);
            if has_room && !is_taken {
                state.entries.keep(1);
            }
            is_taken
        };
        let is_taken = self.inner.take(entry, room)?;
        Ok((!is_taken).then(|| Box::new(std::mem::take(entry))))
    }

    /// Waits until all rows that were taken before have been written or have failed; says how many were written
    /// since the last flush.
    ///
    /// # Errors
    /// The rows that failed since the last flush, each with its key.
    pub async fn flush(&self) -> Result<u64, WriteErrors> {
        self.inner.send();
        self.inner.until_ended().await;
        std::mem::take(&mut self.inner.state().outcome).into_result()
    }

    /// As [`flush`](Self::flush), for the last time.
    ///
    /// # Errors
    /// As `flush`.
    pub async fn close(self) -> Result<u64, WriteErrors> {
        self.flush().await
    }
}

impl Drop for RawWriter {
    fn drop(&mut self) {
        self.inner.send();
        let state = &mut *self.inner.state();
        state.abandoned = true;
        self.inner.warn_of_failures(state);
    }
}

impl WriterInner {
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

    /// Puts a row into the batch where there is room for it, and sends what is full; whether there was room.
    ///
    /// # Errors
    /// When the client is closed, or no tokio runtime is running.
    #[inline]
    fn take(self: &Arc<Self>, entry: &Entry, room: impl FnOnce(&mut State) -> bool) -> Result<bool, Error> {
        let mut guard = self.state();
        let state = &mut *guard;
        if self.begins_or_ends(state, entry) {
            return self.take_first_or_last(guard, entry, room);
        }
        let is_taken = room(state);
        if is_taken {
            state.batch.add(&entry.key, &entry.mutations);
        }
        Ok(is_taken)
    }

    /// Whether a batch begins with a row, or ends with it or before it.
    #[inline]
    fn begins_or_ends(&self, state: &State, entry: &Entry) -> bool {
        let WriterSettings { batch_entries, batch_bytes, .. } = self.settings;
        state.pass.is_none()
            || state.batch.is_empty()
            || state.batch.len() + 1 >= batch_entries
            || state.batch.is_full_for(&entry.key, &entry.mutations, batch_bytes)
            || self.client.inner.shutdown.is_closed()
    }

    /// As [`take`](Self::take), of a row that may begin a batch or end one.
    #[inline(never)]
    fn take_first_or_last(
        self: &Arc<Self>,
        mut guard: MutexGuard<'_, State>,
        entry: &Entry,
        room: impl FnOnce(&mut State) -> bool,
    ) -> Result<bool, Error> {
        let WriterSettings { batch_entries, batch_bytes, .. } = self.settings;
        let runtime = runtime()?;
        let state = &mut *guard;
        let pass = self.pass(state, &entry.key)?;
        let is_full = state.batch.is_full_for(&entry.key, &entry.mutations, batch_bytes);
        let before = if is_full { self.cut(state) } else { None };
        let mut after = None;
        let is_taken = room(state);
        if is_taken {
            let pass = || pass.or_else(|| before.as_ref()?.pass.clone());
            state.pass = state.pass.take().or_else(pass);
            let begins = state.batch.is_empty();
            state.batch.add(&entry.key, &entry.mutations);
            match state.batch.len() >= batch_entries {
                true => after = self.cut(state),
                false if begins => state.timer = Some(self.begin_timer(&runtime, state.sent)),
                false => {}
            }
        }
        drop(guard);
        for full in [before, after].into_iter().flatten() {
            full.send();
            self.yield_requested.store(true, Ordering::Relaxed);
        }
        Ok(is_taken)
    }

    /// Has the batch with this number sent when it has waited for long enough.
    fn begin_timer(self: &Arc<Self>, runtime: &Handle, number: u64) -> AbortHandle {
        let linger = self.settings.linger;
        let (inner, shutdown) = (Arc::downgrade(self), Arc::clone(&self.client.inner.shutdown));
        let timer = runtime.spawn(async move {
            // Who closes the client waits for the batch.
            let _ = timeout(linger, shutdown.closing()).await;
            if let Some(inner) = inner.upgrade() {
                // An abort may come too late to stop it.
                inner.send_if(|state| state.sent == number);
            }
        });
        timer.abort_handle()
    }

    /// Leave to send the batch for an entry with this key, where the batch has none.
    ///
    /// # Errors
    /// When the client is closed.
    fn pass(&self, state: &State, key: &[u8]) -> Result<Option<Arc<InFlightGuard>>, Error> {
        if state.pass.is_some() && !self.client.inner.shutdown.is_closed() {
            return Ok(None);
        }
        let pass = self.client.pass_if_open().ok_or_else(|| {
            let operation = self.client.data_operation(Kind::MutateRows, &self.table);
            Error::closed(&operation).of_row(&Bytes::copy_from_slice(key))
        });
        pass.map(Some)
    }

    /// Sends what is gathered.
    fn send(self: &Arc<Self>) {
        self.send_if(|_| true);
    }

    fn send_if(self: &Arc<Self>, condition: impl FnOnce(&State) -> bool) {
        let cut = {
            let state = &mut *self.state();
            condition(state).then(|| self.cut(state)).flatten()
        };
        if let Some(cut) = cut {
            cut.send();
        }
    }

    /// Ends the batch; it is to be sent when the state is not locked.
    fn cut(self: &Arc<Self>, state: &mut State) -> Option<Sending> {
        if state.batch.is_empty() {
            state.entries.give_back_ahead(&self.entries);
            state.bytes.give_back_ahead(&self.bytes);
            return None;
        }
        if let Some(timer) = state.timer.take() {
            timer.abort();
        }
        let taken = (state.entries.end(&self.entries), state.bytes.end(&self.bytes));
        let entries = state.batch.take();
        let number = state.sent;
        state.sent += 1;
        state.on_the_way.insert(number);
        let (inner, pass) = (Arc::clone(self), state.pass.take());
        Some(Sending { inner, number, entries, taken, pass })
    }

    /// Waits until all batches that have been sent by now have ended.
    async fn until_ended(&self) {
        let sent = self.state().sent;
        loop {
            let ended = self.ended.notified();
            if self.state().on_the_way.first().is_none_or(|number| *number >= sent) {
                return;
            }
            ended.await;
        }
    }

    /// Where nobody will ask what became of rows, failures are logged here.
    fn warn_of_failures(&self, state: &mut State) {
        let outcome = match state.abandoned {
            true => std::mem::take(&mut state.outcome),
            false => return,
        };
        if let Some(first) = outcome.first() {
            tracing::warn!(
                table = &*self.table,
                rows = outcome.failed(),
                code = first.code().map(code_name),
                "a writer was dropped, and rows that it had taken were not written"
            );
        }
    }
}

impl Sending {
    fn send(self) {
        match Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn(self.run())),
            Err(_) => tracing::warn!(
                table = &*self.inner.table,
                rows = self.entries.len(),
                "a writer was used outside of a tokio runtime, and the rows that it held are not written"
            ),
        }
    }

    async fn run(mut self) {
        let WriterInner { client, table, settings, .. } = &*self.inner;
        let client = client.passing(self.pass.clone());
        let outcomes = client.send_entries(table, &self.entries).await;
        let state = &mut *self.inner.state();
        let entries = std::mem::take(&mut self.entries);
        for (place, outcome) in outcomes.into_iter().enumerate() {
            state.outcome.add(outcome, settings.failures_kept, || entries.key(place));
        }
        state.batch.reuse(entries);
    }
}

impl Drop for Sending {
    fn drop(&mut self) {
        let Self { inner, entries, taken, .. } = self;
        inner.entries.give_back(taken.0);
        inner.bytes.give_back(taken.1);
        let state = &mut *inner.state();
        // Entries are left where the runtime has ended before the request had.
        if !entries.is_empty() {
            for place in 0..entries.len() {
                let outcome = Err(Error::runtime_ended(&inner.table, entries.replay(place)));
                state.outcome.add(outcome, inner.settings.failures_kept, || entries.key(place));
            }
        }
        state.on_the_way.remove(&self.number);
        inner.warn_of_failures(state);
        inner.ended.notify_waiters();
    }
}

impl fmt::Debug for RawWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RawWriter").field("table", &self.inner.table).finish_non_exhaustive()
    }
}
