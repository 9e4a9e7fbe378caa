//! The loop of a transfer: it reads ahead, sends requests in turn, and keeps track of every row.

use std::future::{Future as _, poll_fn};
use std::panic::resume_unwind;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use tokio::task::{JoinError, JoinSet, yield_now};
use tokio::time::{Instant, Sleep, sleep, sleep_until};

use super::look_ahead::{BatchLimits, LoadBatch, LookAhead, Request};
use super::sink::{Outcomes, Sink, fails_every_row};
use super::source::{Intake, READ_AT_ONCE, Source};
use super::tracker::{Tracker, TransferError};
use crate::client::{Entries, Error};

/// How a transfer runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    /// How many requests are in flight.
    pub(crate) workers: usize,
    /// How many rows and bytes are in flight. A single request may exceed them.
    pub(crate) in_flight: BatchLimits,
    pub(crate) limits: BatchLimits,
    /// How many rows and bytes are buffered before any is sent, and kept buffered. 0 counts as 1.
    pub(crate) look_ahead: BatchLimits,
    /// How long the transfer waits for its source while it has less; none waits as long as the source takes.
    pub(crate) patience: Option<Duration>,
    /// Whether a row with the key of one before it ends the transfer. Else the later one counts.
    pub(crate) keys_are_distinct: bool,
}

/// The largest size of requests that may be set: well below what the service accepts.
pub(crate) const MAX_BATCH_BYTES: usize = 8 * 1024 * 1024;

impl Default for Settings {
    fn default() -> Self {
        Self {
            workers: 8,
            in_flight: BatchLimits { bytes: usize::MAX, rows: usize::MAX },
            limits: BatchLimits { bytes: 4 * 1024 * 1024, rows: 10_000 },
            look_ahead: BatchLimits { bytes: 64 * 1024 * 1024, rows: usize::MAX },
            patience: None,
            keys_are_distinct: false,
        }
    }
}

/// Moves the rows of a source to a sink.
pub(crate) struct Engine<'a> {
    settings: Settings,
    tracker: Tracker<'a>,
    ahead: LookAhead,
    sink: Arc<dyn Sink>,
    requests: JoinSet<Finished>,
    in_flight: BatchLimits,
    patience: Option<Patience>,
    /// When the next checkpoint or report is due, while the engine waits for it.
    due_at: Option<Pin<Box<Sleep>>>,
    /// Whether the source has ended, or failed.
    input_ended: bool,
    /// Whether rows are sent although the look-ahead is not full.
    out_of_patience: bool,
    /// Why the transfer ends before its source.
    error: Option<TransferError>,
}

/// A request with the outcomes of its rows.
struct Finished {
    request: Request,
    entries: Arc<Entries>,
    /// The numbers of the rows.
    indexes: Vec<u64>,
    bytes: usize,
    outcomes: Outcomes,
}

enum Event {
    Finished(Result<Finished, JoinError>),
    /// This many rows were read, or none at the end.
    Read(Option<Result<u64, TransferError>>),
    /// The source kept the transfer waiting for too long.
    OutOfPatience,
    /// A checkpoint or a report is due.
    Due,
}

impl<'a> Engine<'a> {
    /// An engine that writes to a table: where its partitions begin, and what writes to them.
    pub(crate) fn new(
        settings: Settings,
        tracker: Tracker<'a>,
        starts: Vec<Vec<u8>>,
        sink: Arc<dyn Sink>,
    ) -> Self {
        Self {
            ahead: LookAhead::new(starts.into_iter().map(Bytes::from).collect(), settings.limits),
            patience: settings.patience.map(Patience::new),
            settings,
            tracker,
            sink,
            requests: JoinSet::new(),
            in_flight: BatchLimits { bytes: 0, rows: 0 },
            due_at: None,
            input_ended: false,
            out_of_patience: false,
            error: None,
        }
    }

    /// Takes rows in.
    pub(crate) fn intake(&mut self) -> Intake<'_, 'a> {
        let Self { ahead, tracker, settings, .. } = self;
        Intake { ahead, tracker, look_ahead: settings.look_ahead }
    }

    /// What was tracked, of a transfer that is not run.
    pub(crate) fn into_tracker(self) -> Tracker<'a> {
        self.tracker
    }

    /// Moves all rows; returns why it ended before the source, if it did. No request is in flight then.
    pub(crate) async fn run(
        mut self,
        mut source: Pin<&mut (dyn Source + Send)>,
    ) -> (Tracker<'a>, Option<TransferError>) {
        // Before the first row is sent.
        if let Err(error) = self.tracker.store() {
            return (self.tracker, Some(error));
        }
        let mut read = 0;
        loop {
            self.send();
            if self.is_done() {
                break;
            }
            match poll_fn(|cx| self.poll_event(source.as_mut(), cx)).await {
                Event::Finished(finished) => self.finish(finished),
                Event::Read(Some(Ok(rows))) => read += rows,
                Event::Read(ended) => {
                    self.input_ended = true;
                    ended.and_then(Result::err).into_iter().for_each(|error| self.stop(error));
                }
                Event::OutOfPatience => self.out_of_patience = true,
                Event::Due => {}
            }
            if let Err(error) = self.tracker.report_if_due() {
                self.stop(error);
            }
            if read >= READ_AT_ONCE {
                read = 0;
                yield_now().await;
            }
        }
        self.tracker.end();
        if let Err(error) = self.tracker.store() {
            self.error.get_or_insert(error);
        }
        (self.tracker, self.error)
    }

    /// Whether no further request is sent. Rows that were read before the source ended are still sent.
    fn is_stopped(&self) -> bool {
        let ends_source =
            |error: &TransferError| matches!(error, TransferError::Input(_) | TransferError::Stopped);
        self.error.as_ref().is_some_and(|error| !ends_source(error))
    }

    fn is_done(&self) -> bool {
        self.requests.is_empty() && (self.is_stopped() || (self.input_ended && self.ahead.is_empty()))
    }

    /// Ends the transfer once the requests in flight have ended.
    fn stop(&mut self, error: TransferError) {
        if !self.is_stopped() {
            self.error = Some(error);
        }
    }

    /// Sends requests while workers are free.
    fn send(&mut self) {
        while !self.is_stopped()
            && self.requests.len() < self.settings.workers
            && self.in_flight.rows < self.settings.in_flight.rows
            && self.in_flight.bytes < self.settings.in_flight.bytes
            && (self.intake().is_full() || self.input_ended || self.out_of_patience)
            && let Some((request, batch)) = self.take()
        {
            let LoadBatch { entries, indexes, bytes } = match batch {
                Ok(batch) => batch,
                Err(error) => return self.stop(error),
            };
            if let Some((index, new_key)) = self.ahead.duplicate().filter(|_| self.settings.keys_are_distinct)
            {
                let old_key = Bytes::copy_from_slice(self.tracker.done.key(*index));
                let new_key = new_key.clone();
                return self.stop(TransferError::Collision { old_key, new_key });
            }
            self.in_flight.rows += entries.len();
            self.in_flight.bytes += bytes;
            let sink = Arc::clone(&self.sink);
            self.tracker.sent(sink.requests(entries.len()));
            self.requests.spawn(async move {
                let outcomes = sink.write(Arc::clone(&entries)).await;
                Finished { request, entries, indexes, bytes, outcomes }
            });
        }
        if self.ahead.is_empty() || self.intake().is_full() {
            self.out_of_patience = false;
            self.patience = self.settings.patience.map(Patience::new);
        }
    }

    /// The rows of the next request, with their tokens.
    fn take(&mut self) -> Option<(Request, Result<LoadBatch, TransferError>)> {
        let Self { ahead, tracker, .. } = self;
        let mut prepared = Ok(());
        let (request, batch) = ahead.take(|batch| prepared = tracker.send(batch))?;
        Some((request, prepared.map(|()| batch)))
    }

    fn poll_event(&mut self, source: Pin<&mut (dyn Source + Send)>, cx: &mut Context<'_>) -> Poll<Event> {
        if let Poll::Ready(Some(finished)) = self.requests.poll_join_next(cx) {
            return Poll::Ready(Event::Finished(finished));
        }
        if let Poll::Ready(event) = self.poll_source(source, cx) {
            return Poll::Ready(event);
        }
        let Some(at) = self.tracker.due_at() else { return Poll::Pending };
        let timer = self.due_at.get_or_insert_with(|| Box::pin(sleep_until(at)));
        if timer.deadline() != at {
            timer.as_mut().reset(at);
        }
        timer.as_mut().poll(cx).map(|()| Event::Due)
    }

    fn poll_source(&mut self, source: Pin<&mut (dyn Source + Send)>, cx: &mut Context<'_>) -> Poll<Event> {
        let reads = !self.input_ended && !self.is_stopped() && !self.intake().is_full();
        if reads && let Poll::Ready(read) = source.poll_read(cx, &mut self.intake()) {
            self.patience.iter_mut().for_each(Patience::end_wait);
            return Poll::Ready(Event::Read(read));
        }
        let Some(patience) = &mut self.patience else { return Poll::Pending };
        if !reads || self.ahead.is_empty() || self.out_of_patience {
            patience.end_wait();
            return Poll::Pending;
        }
        ready!(patience.poll(cx));
        Poll::Ready(Event::OutOfPatience)
    }

    fn finish(&mut self, finished: Result<Finished, JoinError>) {
        let Finished { request, entries, indexes, bytes, outcomes } = match finished {
            Ok(finished) => finished,
            Err(failed) => match failed.try_into_panic() {
                Ok(panic) => resume_unwind(panic),
                Err(_) => {
                    let error = Error::configuration("the tokio runtime ended before the transfer did");
                    return self.stop(TransferError::Failed(error));
                }
            },
        };
        self.in_flight.rows -= entries.len();
        self.in_flight.bytes -= bytes;
        self.ahead.finish(request);
        for (position, (index, outcome)) in indexes.into_iter().zip(outcomes).enumerate() {
            match outcome {
                Ok(true) => self.tracker.written(index, entries.entry(position).len()),
                Ok(false) => self.tracker.kept(index),
                Err(error)
                    if fails_every_row(&error)
                        && !(entries.has_token(position) && self.tracker.gives_up(&error)) =>
                {
                    self.stop(TransferError::Failed(error));
                }
                Err(error) => {
                    let failed = self.tracker.failed(index, Some(entries.key(position)), error);
                    failed.err().into_iter().for_each(|error| self.stop(error));
                }
            }
        }
    }
}

/// How long a transfer may still wait for its source.
struct Patience {
    left: Duration,
    /// When the current wait began, and its timer.
    wait: Option<(Instant, Pin<Box<Sleep>>)>,
}

impl Patience {
    fn new(left: Duration) -> Self {
        Self { left, wait: None }
    }

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
