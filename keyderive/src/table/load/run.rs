//! The loop of a load: it reads ahead, sends requests in turn, and keeps track of every item.

use std::borrow::Borrow as _;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::future::{Future as _, poll_fn};
use std::panic::resume_unwind;
use std::pin::{Pin, pin};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use crate::row::{Row, RowFilter};
use bytes::Bytes;
use futures_core::Stream;
use futures_util::StreamExt as _;
use futures_util::stream::iter;
use tokio::task::{JoinError, JoinSet, yield_now};
use tokio::time::{Instant, Sleep, sleep};

use super::look_ahead::{LoadBatch, LookAhead, Request};
use super::report::{LowWater, MAX_LISTED, Reason};
use super::{
    Checkpoint, FailedRow, Load, LoadError, LoadItem, LoadReport, OnCheckpoint, OnProgress, Progress,
    Settings, Table, WriteMode,
};
use crate::client::{Client, Entries, Entry, Error, Route};
use crate::key::TableKey;
use crate::table::Handle;

/// How many rows are read before the load yields to other tasks.
const READ_AT_ONCE: u64 = 128;

pub(super) async fn run<K, R, S>(load: Load<'_, K, R, S>) -> Result<LoadReport, LoadError>
where
    K: TableKey,
    R: Row,
    S: Stream<Item: LoadItem<K, R>>,
{
    let Load { table, rows, settings, on_progress, on_checkpoint, resume } = load;
    // A load waits out an outage, also where it writes row by row.
    let table = table.with(|settings| settings.retry_budget = false);
    let resumes = resume.is_some();
    let given = resume.unwrap_or_else(|| Checkpoint::begin(&table.handle));
    let mut tracker = Tracker::new(table.handle.name.table(), given, &settings, on_progress, on_checkpoint);
    let starts = match begin(&mut tracker, &table.handle).await {
        Ok(starts) => starts,
        Err(error) => return tracker.end(Some(Reason::NotStarted(error))),
    };
    let mut loader = Loader {
        ahead: LookAhead::new(starts, settings.limits),
        patience: Patience { left: settings.patience, wait: None },
        table,
        settings,
        tracker,
        scratch: Entry::default(),
        requests: JoinSet::new(),
        input_ended: false,
        out_of_patience: false,
        reason: None,
    };
    let mut input = pin!(rows);
    if resumes && let Err(reason) = loader.skip_to_checkpoint(input.as_mut()).await {
        return loader.tracker.end(Some(reason));
    }
    loader.tracker.begin();
    loader.run(input).await
}

/// Checks the checkpoint against the table; returns where the partitions begin.
async fn begin(tracker: &mut Tracker<'_>, table: &Handle) -> Result<Vec<Bytes>, Error> {
    tracker.checkpoint().check(table)?;
    let starts = table.partition_starts().await?;
    // The request has shown that the table exists, so its id is known now.
    tracker.rebind(tracker.checkpoint().bound_to(table)?);
    Ok(starts.into_iter().map(Bytes::from).collect())
}

struct Loader<'a, K, R> {
    table: Table<K, R>,
    settings: Settings,
    tracker: Tracker<'a>,
    ahead: LookAhead,
    requests: JoinSet<Finished>,
    patience: Patience,
    /// The buffer in which a row is encoded.
    scratch: Entry,
    /// Whether the input has ended, or failed.
    input_ended: bool,
    /// Whether rows are sent although the look-ahead is not full.
    out_of_patience: bool,
    /// Why the load ends before its input.
    reason: Option<Reason>,
}

/// A request with the outcomes of its rows.
struct Finished {
    request: Request,
    entries: Arc<Entries>,
    /// The indexes of the rows in the input.
    indexes: Vec<u64>,
    outcomes: Vec<Result<(), Error>>,
    /// The positions among them, in order, of rows that existed and were kept.
    kept: Vec<usize>,
}

enum Event {
    Finished(Result<Finished, JoinError>),
    /// This many items were read.
    Read(u64),
    /// The input kept the load waiting for too long.
    OutOfPatience,
}

impl<K: TableKey, R: Row> Loader<'_, K, R> {
    /// Reads the items before the checkpoint, and skips those that had not failed.
    async fn skip_to_checkpoint<S>(&mut self, mut input: Pin<&mut S>) -> Result<(), Reason>
    where
        S: Stream<Item: LoadItem<K, R>>,
    {
        let items = self.tracker.checkpoint().items();
        let failed: HashSet<u64> = self.tracker.checkpoint().failed().iter().copied().collect();
        let mut retries = RetryRows::default();
        for index in 0..items {
            match poll_fn(|cx| input.as_mut().poll_next(cx)).await {
                Some(item) => self.skip(index, item, failed.contains(&index), &mut retries)?,
                None => {
                    return Err(Reason::NotStarted(Error::mismatch(
                        &self.table.handle.name,
                        format!(
                            "the checkpoint was made after {items} items, and the input has {index}; resume with the \
                             whole input that the load began with, or load from the beginning: leave `.resume(…)` out"
                        ),
                    )));
                }
            }
            if index % READ_AT_ONCE == 0 {
                self.tracker.report_if_due();
                yield_now().await;
            }
        }
        for (index, row) in retries.into_rows() {
            self.tracker.read_again();
            match row {
                Ok(row) => self.ahead.push(index, &row),
                Err((key, error)) => self.fail(index, key, error),
            }
        }
        Ok(())
    }

    /// Skips an item before the checkpoint, or encodes it to be retried.
    fn skip(
        &mut self,
        index: u64,
        item: impl LoadItem<K, R>,
        has_failed: bool,
        retries: &mut RetryRows,
    ) -> Result<(), Reason> {
        let item = item.into_row().map_err(Reason::Input)?;
        let (key, row) = item.borrow();
        if has_failed {
            let row = self.encode(key, row).map(|()| self.scratch.clone());
            retries.add(index, row);
            return Ok(());
        }
        self.tracker.left_out();
        if !retries.is_empty()
            && let Ok(key) = key.encode()
        {
            retries.supersede(&key).into_iter().for_each(|index| self.tracker.superseded(index));
        }
        Ok(())
    }

    async fn run<S>(mut self, mut input: Pin<&mut S>) -> Result<LoadReport, LoadError>
    where
        S: Stream<Item: LoadItem<K, R>>,
    {
        let mut read = 0;
        loop {
            self.send();
            if self.is_done() {
                return self.tracker.end(self.reason);
            }
            match poll_fn(|cx| self.poll_event(input.as_mut(), cx)).await {
                Event::Finished(finished) => self.finish(finished),
                Event::Read(items) => read += items,
                Event::OutOfPatience => self.out_of_patience = true,
            }
            self.tracker.report_if_due();
            if read >= READ_AT_ONCE {
                read = 0;
                yield_now().await;
            }
        }
    }

    /// Whether no further request is sent.
    fn is_stopped(&self) -> bool {
        matches!(self.reason, Some(Reason::Failed(_) | Reason::TooManyFailed { .. }))
    }

    fn is_done(&self) -> bool {
        self.requests.is_empty() && (self.is_stopped() || (self.input_ended && self.ahead.is_empty()))
    }

    fn is_full(&self) -> bool {
        self.ahead.bytes() >= self.settings.look_ahead.max(1)
    }

    /// Sends requests while workers are free.
    fn send(&mut self) {
        while !self.is_stopped()
            && self.requests.len() < self.settings.workers
            && (self.is_full() || self.input_ended || self.out_of_patience)
            && let Some((request, LoadBatch { entries, indexes, .. })) = self.ahead.take()
        {
            let (client, table) = (self.table.handle.client.clone(), self.table.handle.name.clone());
            if self.settings.mode == WriteMode::IfAbsent {
                self.tracker.sent(entries.len());
                let there = self.table.handle.visible.presence(client.now_micros());
                self.requests.spawn(async move {
                    let (outcomes, kept) = write_if_absent(&client, &table, &entries, there.as_ref()).await;
                    Finished { request, entries, indexes, outcomes, kept }
                });
                continue;
            }
            self.tracker.sent(1);
            self.requests.spawn(async move {
                let outcomes = client.send_entries(&table, &entries).await;
                Finished { request, entries, indexes, outcomes, kept: Vec::new() }
            });
        }
        if self.ahead.is_empty() || self.is_full() {
            self.out_of_patience = false;
            self.patience = Patience { left: self.settings.patience, wait: None };
        }
    }

    fn poll_event<S>(&mut self, input: Pin<&mut S>, cx: &mut Context<'_>) -> Poll<Event>
    where
        S: Stream<Item: LoadItem<K, R>>,
    {
        if let Poll::Ready(Some(finished)) = self.requests.poll_join_next(cx) {
            return Poll::Ready(Event::Finished(finished));
        }
        if !self.reads() {
            self.patience.end_wait();
            return Poll::Pending;
        }
        if let Poll::Ready(read) = self.poll_read(input, cx) {
            self.patience.end_wait();
            return Poll::Ready(Event::Read(read));
        }
        if self.ahead.is_empty() || self.out_of_patience {
            self.patience.end_wait();
            return Poll::Pending;
        }
        ready!(self.patience.poll(cx));
        Poll::Ready(Event::OutOfPatience)
    }

    /// Whether the input is read now.
    fn reads(&self) -> bool {
        !self.input_ended && !self.is_stopped() && !self.is_full()
    }

    /// Reads what the input has, up to [`READ_AT_ONCE`] items; returns how many.
    fn poll_read<S>(&mut self, mut input: Pin<&mut S>, cx: &mut Context<'_>) -> Poll<u64>
    where
        S: Stream<Item: LoadItem<K, R>>,
    {
        let mut read = 0;
        while read < READ_AT_ONCE && self.reads() {
            match input.as_mut().poll_next(cx) {
                Poll::Ready(Some(item)) => self.read(item),
                Poll::Ready(None) => {
                    self.input_ended = true;
                    break;
                }
                Poll::Pending if read == 0 => return Poll::Pending,
                Poll::Pending => break,
            }
            read += 1;
        }
        Poll::Ready(read)
    }

    fn read(&mut self, item: impl LoadItem<K, R>) {
        let item = match item.into_row() {
            Ok(item) => item,
            Err(error) => {
                self.input_ended = true;
                self.reason = Some(Reason::Input(error));
                return;
            }
        };
        let index = self.tracker.read();
        let (key, row) = item.borrow();
        match self.encode(key, row) {
            Ok(()) => self.ahead.push(index, &self.scratch),
            Err((key, error)) => self.fail(index, key, error),
        }
    }

    /// Encodes a row into `scratch`.
    fn encode(&mut self, key: &K, row: &R) -> EncodeResult<()> {
        let Self { table, settings, scratch, .. } = self;
        let merges = match settings.mode {
            WriteMode::Put => false,
            WriteMode::Insert => true,
            WriteMode::IfAbsent => table.handle.visible.hides_no_row(),
        };
        table.encode_row(scratch, key, row, merges).and_then(|()| scratch.check(&table.handle.name)).map_err(
            |error| {
                let key = Bytes::copy_from_slice(&scratch.key);
                (Some(key).filter(|key| !key.is_empty()), error)
            },
        )
    }

    fn fail(&mut self, index: u64, key: Option<Bytes>, error: Error) {
        if let Err(reason) = self.tracker.failed(index, key, error)
            && !self.is_stopped()
        {
            self.reason = Some(reason);
        }
    }

    fn finish(&mut self, finished: Result<Finished, JoinError>) {
        let Finished { request, entries, indexes, outcomes, kept } = match finished {
            Ok(finished) => finished,
            Err(failed) => match failed.try_into_panic() {
                Ok(panic) => resume_unwind(panic),
                Err(_) => {
                    return self.stop(Error::configuration("the tokio runtime ended before the load did"));
                }
            },
        };
        self.ahead.finish(request);
        let mut kept = kept.into_iter().peekable();
        for (position, (index, outcome)) in indexes.into_iter().zip(outcomes).enumerate() {
            match outcome {
                Ok(()) if kept.next_if_eq(&position).is_some() => self.tracker.kept(index),
                Ok(()) => self.tracker.written(index, entries.entry(position).len()),
                Err(error) if fails_every_row(&error) => self.stop(error),
                Err(error) => self.fail(index, Some(entries.key(position)), error),
            }
        }
    }

    /// Ends the load for a failure that every other row would share.
    fn stop(&mut self, error: Error) {
        if !self.is_stopped() {
            self.reason = Some(Reason::Failed(error));
        }
    }
}

/// How many rows of a batch are in flight at a time if each is a request of its own.
const ROWS_IN_FLIGHT: usize = 64;

/// Writes the rows of a batch that do not exist: those without a cell that `there` passes, as for `put_if_absent`. Returns the
/// outcomes, and the positions of rows that existed.
///
/// After a failure that every row would share, no further row is tried.
async fn write_if_absent(
    client: &Client,
    table: &Route,
    entries: &Entries,
    there: Option<&RowFilter>,
) -> (Vec<Result<(), Error>>, Vec<usize>) {
    let shared_error = OnceLock::new();
    let written = iter(0..entries.len()).map(|position| {
        let shared_error = &shared_error;
        async move {
            if let Some(error) = shared_error.get().cloned() {
                return Err(error);
            }
            let written = client.write_if_absent(table, entries, position, there.cloned()).await;
            written.map_err(Error::with_if_absent_hint).inspect_err(|error| {
                if fails_every_row(error) {
                    let _ = shared_error.set(error.clone());
                }
            })
        }
    });
    let (mut outcomes, mut kept) = (Vec::with_capacity(entries.len()), Vec::new());
    let mut written = pin!(written.buffered(ROWS_IN_FLIGHT));
    while let Some(is_written) = written.next().await {
        if matches!(is_written, Ok(false)) {
            kept.push(outcomes.len());
        }
        outcomes.push(is_written.map(drop));
    }
    (outcomes, kept)
}

/// Whether a failure is not the row's own: any row would have failed, or the row may be written later.
pub(in crate::table) fn fails_every_row(error: &Error) -> bool {
    error.is_retryable()
        || error.is_deadline_exceeded()
        || error.is_unavailable()
        || error.is_resource_exhausted()
        || error.is_not_found()
        || error.is_permission_denied()
        || error.is_unimplemented()
        || error.needs_single_row_transactions()
        || error.is_client_closed()
        || error.is_misconfiguration()
        || error.is_protocol_violation()
}

/// How long the load may still wait for its input.
struct Patience {
    left: Duration,
    /// When the current wait began, and its timer.
    wait: Option<(Instant, Pin<Box<Sleep>>)>,
}

impl Patience {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let left = self.left;
        let (_, until) = self.wait.get_or_insert_with(|| (Instant::now(), Box::pin(sleep(left))));
        until.as_mut().poll(cx)
    }

    /// Ends the current wait.
    fn end_wait(&mut self) {
        if let Some((since, _)) = self.wait.take() {
            self.left = self.left.saturating_sub(since.elapsed());
        }
    }
}

/// An encoded row; or its key, if that could be encoded, and the error.
type EncodeResult<T = Entry> = Result<T, (Option<Bytes>, Error)>;

/// The rows that failed before the checkpoint, for a retry.
///
/// Of two rows with one key the later in the input counts. So a failed row is not retried if a later one with its key was
/// written.
#[derive(Default)]
struct RetryRows {
    rows: BTreeMap<u64, EncodeResult>,
    by_key: HashMap<Bytes, Vec<u64>>,
}

impl RetryRows {
    fn add(&mut self, index: u64, row: EncodeResult) {
        let key = match &row {
            Ok(entry) => Some(&entry.key[..]),
            Err((key, _)) => key.as_deref(),
        };
        if let Some(key) = key {
            self.by_key.entry(Bytes::copy_from_slice(key)).or_default().push(index);
        }
        self.rows.insert(index, row);
    }

    fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Removes the rows with this key, since a later one was written; returns their indexes.
    fn supersede(&mut self, key: &[u8]) -> Vec<u64> {
        let indexes = self.by_key.remove(key).unwrap_or_default();
        for index in &indexes {
            self.rows.remove(index);
        }
        indexes
    }

    /// The remaining rows, in the order of the input.
    fn into_rows(self) -> impl Iterator<Item = (u64, EncodeResult)> {
        self.rows.into_iter()
    }
}

/// The time between two calls of `on_progress`.
pub(in crate::table) const PROGRESS_EVERY: Duration = Duration::from_millis(100);

/// Tracks the items of a load, and calls back with its progress and its checkpoints.
struct Tracker<'a> {
    report: LoadReport,
    low_water: LowWater,
    max_failures: u64,
    begun: Instant,
    on_progress: Option<OnProgress<'a>>,
    progress_at: Instant,
    on_checkpoint: Option<OnCheckpoint<'a>>,
    checkpoint_every: u64,
}

impl<'a> Tracker<'a> {
    fn new(
        table: &Arc<str>,
        begin: Checkpoint,
        settings: &Settings,
        on_progress: Option<OnProgress<'a>>,
        on_checkpoint: Option<OnCheckpoint<'a>>,
    ) -> Self {
        let begun = Instant::now();
        Self {
            low_water: LowWater::after(begin.items(), begin.failed()),
            report: LoadReport {
                table: Arc::clone(table),
                progress: Progress::default(),
                failed: Vec::new(),
                checkpoint: begin,
            },
            max_failures: settings.max_failures,
            begun,
            on_progress,
            progress_at: begun,
            on_checkpoint,
            checkpoint_every: settings.checkpoint_every,
        }
    }

    /// The last checkpoint, or the one that the load began with.
    fn checkpoint(&self) -> &Checkpoint {
        &self.report.checkpoint
    }

    /// Replaces the checkpoint by one of the same items.
    fn rebind(&mut self, checkpoint: Checkpoint) {
        self.report.checkpoint = checkpoint;
    }

    /// Counts a new item; returns its index.
    fn read(&mut self) -> u64 {
        self.report.progress.read += 1;
        self.low_water.begin()
    }

    /// Counts an item that is retried.
    fn read_again(&mut self) {
        self.report.progress.read += 1;
    }

    /// Counts a failed item that needs no retry, since a later one with its key was written.
    fn superseded(&mut self, index: u64) {
        self.report.progress.left_out += 1;
        self.low_water.settle(index);
    }

    /// Counts a skipped item.
    fn left_out(&mut self) {
        self.report.progress.left_out += 1;
    }

    fn sent(&mut self, requests: usize) {
        self.report.progress.requests += requests as u64;
    }

    /// Counts a row that existed and was kept.
    fn kept(&mut self, index: u64) {
        self.report.progress.kept += 1;
        self.low_water.settle(index);
    }

    /// Counts a written row.
    fn written(&mut self, index: u64, bytes: usize) {
        self.report.progress.written += 1;
        self.report.progress.bytes += bytes as u64;
        self.low_water.settle(index);
    }

    /// Counts a failed row; returns an error if that ends the load.
    fn failed(&mut self, index: u64, key: Option<Bytes>, error: Error) -> Result<(), Reason> {
        self.report.progress.failed += 1;
        self.low_water.fail(index);
        if self.report.failed.len() < MAX_LISTED {
            self.report.failed.push(FailedRow { index, key, error });
        }
        match self.report.progress.failed > self.max_failures {
            true => Err(Reason::TooManyFailed { allowed: self.max_failures }),
            false => Ok(()),
        }
    }

    /// Reports the first checkpoint, before anything is sent.
    fn begin(&mut self) {
        self.report_checkpoint(self.current_checkpoint());
    }

    fn current_checkpoint(&self) -> Checkpoint {
        self.report.checkpoint.at(self.low_water.items(), self.low_water.failed().collect())
    }

    /// Reports a checkpoint or the progress, if due.
    fn report_if_due(&mut self) {
        let further = self.low_water.items().saturating_sub(self.report.checkpoint.items());
        if further >= self.checkpoint_every {
            self.report_checkpoint(self.current_checkpoint());
        }
        if self.on_progress.is_some() && Instant::now() >= self.progress_at {
            self.report_progress();
        }
    }

    fn report_checkpoint(&mut self, checkpoint: Checkpoint) {
        self.report.checkpoint = checkpoint;
        if let Some(call) = &mut self.on_checkpoint {
            call(&self.report.checkpoint);
        }
    }

    fn report_progress(&mut self) {
        let now = Instant::now();
        self.progress_at = now + PROGRESS_EVERY;
        self.report.progress.elapsed = now - self.begun;
        if let Some(call) = &mut self.on_progress {
            call(&self.report.progress);
        }
    }

    /// Reports the end of the load.
    fn end(mut self, reason: Option<Reason>) -> Result<LoadReport, LoadError> {
        let checkpoint = self.current_checkpoint();
        if checkpoint != self.report.checkpoint {
            self.report_checkpoint(checkpoint);
        }
        self.report_progress();
        match reason {
            None => Ok(self.report),
            Some(reason) => Err(LoadError { report: Box::new(self.report), reason }),
        }
    }
}
