//! A read as one stream of rows, over all its attempts and requests: it retries and resumes.

use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use futures_core::Stream;
use futures_core::future::BoxFuture;
use keyderive_proto::Rpc;
use tokio::task::coop::poll_proceed;
use tokio::task::yield_now;
use tokio::time::{Instant, Sleep, sleep_until};
use tonic::{Code, Status};

use super::ReadRows;
use crate::client::failure::Failure;
use crate::client::grpc::{Answer, Request};
use crate::client::heat::RowHeat;
use crate::client::observe;
use crate::client::operation::Operation;
use crate::client::retry::{Attempt, Attempts, LOOK_INTERVAL};
use crate::client::row_merger::{MergeError, RequestedRows, RowMerger};
use crate::client::{Client, Error, Route, StreamGuard};
use crate::plan::KeyRange;
use crate::row::RawRow;

/// Whether a cursor has a next row, which is the current one then; `None` at the end.
///
/// Each layer of a read returns one for each row. It fits into registers; a `Result<bool, Error>` goes through memory.
pub(crate) type NextRow = Option<Result<(), Error>>;

/// Rows one after the other, each borrowed until the next: the protocol of every layer of a read.
pub(crate) trait RowCursor {
    /// Advances to the next row.
    fn poll_next_row(&mut self, cx: &mut Context<'_>) -> Poll<NextRow>;

    /// The current row; none before the first row and after the last.
    fn current(&self) -> Option<&RawRow>;

    /// Calls `f` on the current row and the rows already buffered, at most `max`, until `f` returns false.
    fn buffered(&mut self, max: u64, f: impl FnMut(&RawRow) -> bool);
}

/// How many rows that have been received a task handles before others have a turn.
pub(crate) const ROWS_PER_TURN: u64 = 1024;

/// Charges rows to tokio's budget of a task. tokio does not count what a stream finds buffered, so a task that reads only such
/// rows would never let others run, or notice its timeout.
#[derive(Default)]
pub(crate) struct RowTurns {
    rows: u8,
}

impl RowTurns {
    /// How many rows take one unit of tokio's cooperative budget, which has 128.
    const ROWS_PER_UNIT: u8 = 8;

    /// Counts a row. Pending, with a wake-up, when it is the turn of other tasks.
    #[inline]
    pub(crate) fn poll_row(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.rows = (self.rows + 1) % Self::ROWS_PER_UNIT;
        if self.rows == 0 {
            ready!(poll_proceed(cx)).made_progress();
        }
        Poll::Ready(())
    }
}

/// The stored rows of a table, one after the other.
///
/// The first poll sends the request. While the stream is not polled, it holds back the server. It retries transient
/// failures and resumes after the last row that it delivered, so no row comes twice. It ends with the first error that
/// retries cannot mend.
///
/// # Cancel safety
/// Dropping the stream cancels its request.
pub struct RowStream {
    phase: Phase,
    guard: StreamGuard,
    table: Arc<str>,
    ends_at_limit: bool,
    turns: RowTurns,
}

enum Phase {
    /// The next poll sends a request.
    Unsent(Client, Box<Unsent>),
    Opening(BoxFuture<'static, Opened>),
    Reading(Box<Reading>),
    BackingOff(Box<OngoingRead>, Pin<Box<Sleep>>),
    /// The request's limit is used up, or [`pause`](RowStream::pause) cancelled the request: more rows may follow.
    Paused(Box<OngoingRead>),
    Ended,
}

/// A read that has no request in flight.
struct Unsent {
    operation: Operation,
    /// The request to send next.
    request: ReadRows,
    /// The requests after it, in reverse.
    later: Vec<ReadRows>,
    /// The last row that was delivered, or that the server says it has scanned.
    last_key: Option<Bytes>,
}

/// A read that has begun: what it keeps from one attempt to the next.
struct OngoingRead {
    attempts: Attempts,
    request: ReadRows,
    later: Vec<ReadRows>,
    last_key: Option<Bytes>,
}

/// A read whose attempt was sent, up to the head of the answer.
struct Opened {
    read: Box<OngoingRead>,
    sent: Result<SentAttempt, Error>,
}

struct SentAttempt {
    attempt: Attempt,
    answer: Result<Answer, Failure>,
}

/// An attempt whose answer is being read.
struct Reading {
    read: Box<OngoingRead>,
    attempt: Attempt,
    answer: Answer,
    merger: RowMerger,
    /// How many rows this attempt has delivered.
    rows: u64,
    heat: RowHeat,
    idle: IdleTimer,
}

/// Why an attempt failed.
enum AttemptError {
    Failed(Failure),
    ProtocolViolation(String),
    /// The row with this key is larger than the client holds.
    TooLarge(Bytes, Failure),
}

impl AttemptError {
    fn of_rows(error: MergeError) -> Self {
        match error {
            MergeError::ProtocolViolation(how) => Self::ProtocolViolation(how),
            MergeError::TooLarge(ref key, _) => {
                Self::TooLarge(key.clone(), Failure::from(Status::from(error)))
            }
        }
    }
}

impl RowStream {
    pub(super) fn new(client: Client, guard: StreamGuard, table: &Route, request: ReadRows) -> Self {
        let operation = client
            .data_operation(Rpc::ReadRows, table)
            .in_bucket(request.bucket)
            .high_fan_out(request.high_fan_out)
            .of_scan(request.scan.clone());
        let table = Arc::clone(operation.table());
        if request.is_empty() {
            let (phase, guard) = (Phase::Ended, StreamGuard::default());
            return Self { phase, guard, table, ends_at_limit: false, turns: RowTurns::default() };
        }
        let (request, later) = request.split();
        let unsent = Unsent { operation, request, later, last_key: None };
        let phase = Phase::Unsent(client, Box::new(unsent));
        Self { phase, guard, table, ends_at_limit: false, turns: RowTurns::default() }
    }

    /// Resumes after a [pause](Self::pause) or when the request's limit is used up, for at most `limit` further rows, and
    /// only those in `ahead` if it is given, which leaves out rows up to its start. Returns false if no row can follow.
    pub(crate) fn resume(&mut self, limit: Option<u64>, ahead: Option<&KeyRange>) -> bool {
        let Phase::Paused(read) = std::mem::replace(&mut self.phase, Phase::Ended) else { return false };
        let OngoingRead { attempts, mut request, mut later, last_key } = *read;
        if let Some(last) = &last_key {
            request.resume_after(last);
        }
        request.limit = limit;
        loop {
            if let Some(ahead) = ahead {
                request.keep_within(ahead);
            }
            if !request.is_empty() {
                break;
            }
            let Some(next) = later.pop() else { return false };
            request = ReadRows { limit, ..next };
        }
        let (client, operation) = (attempts.client().clone(), attempts.operation().clone());
        self.phase = Phase::Unsent(client, Box::new(Unsent { operation, request, later, last_key }));
        true
    }

    /// Asks for at most `rows` rows, if the request is not sent yet; [`resume`](Self::resume) reads on after them.
    pub(crate) fn limit_next(&mut self, rows: u64) {
        if let Phase::Unsent(_, unsent) = &mut self.phase {
            let limit = unsent.request.limit.map_or(rows, |limit| limit.min(rows));
            unsent.request.limit = Some(limit);
        }
    }

    /// Cancels the open request, so that no stream stays open; [`resume`](Self::resume) reads on after the current row.
    pub(crate) fn pause(&mut self) {
        self.phase = match std::mem::replace(&mut self.phase, Phase::Ended) {
            Phase::Reading(reading) => Phase::Paused(reading.into_read().0),
            phase => phase,
        };
    }

    /// Whether the current row used up the request's limit.
    fn is_at_limit(&self) -> bool {
        matches!(&self.phase, Phase::Reading(reading) if reading.is_at_limit())
    }

    /// This stream, which ends after the last row that the request asks for, without waiting for the end of the answer. Only that
    /// end says what the request has cost, so a request that asks for it waits.
    pub(crate) fn ending_at_limit(mut self) -> Self {
        self.ends_at_limit = match &self.phase {
            Phase::Unsent(_, unsent) => unsent.request.stats.is_none(),
            _ => false,
        };
        self
    }

    /// Ends after the last row. The server usually sends the end of the answer with it, and then nothing is cancelled.
    #[cold]
    fn end_at_limit(&mut self, cx: &mut Context<'_>) {
        if let Phase::Reading(reading) = &mut self.phase
            && !matches!(reading.poll_row(cx), Poll::Ready(Ok(false)))
        {
            reading.read.attempts.succeeded();
            self.phase = Phase::Ended;
        }
    }

    /// The next row; none at the end.
    ///
    /// ```
    /// # async fn sample(table: keyderive::client::RawTable) -> Result<(), keyderive::Error> {
    /// use keyderive::client::ReadRows;
    ///
    /// let mut rows = table.read_rows(ReadRows::new().prefix("alice#"));
    /// while let Some(row) = rows.next().await {
    ///     println!("{} cells", row?.cells().len());
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The one that ends the stream.
    ///
    /// # Cancel safety
    /// A future that is dropped loses no row.
    pub async fn next(&mut self) -> Option<Result<RawRow, Error>> {
        futures_util::StreamExt::next(self).await
    }

    /// Calls `each` on every row, until it fails.
    pub(crate) async fn for_each(
        mut self,
        mut each: impl FnMut(&RawRow) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut left = ROWS_PER_TURN;
        while poll_fn(|cx| self.poll_counted(cx)).await.transpose()?.is_some() {
            let mut outcome = Ok(());
            self.buffered(left, |row| {
                left -= 1;
                outcome = each(row);
                outcome.is_ok()
            });
            outcome?;
            if left == 0 {
                left = ROWS_PER_TURN;
                yield_now().await;
            }
        }
        Ok(())
    }

    /// As [`poll_next_row`](RowCursor::poll_next_row), and `close` waits for the stream as long as it is polled.
    fn poll_counted(&mut self, cx: &mut Context<'_>) -> Poll<NextRow> {
        if !self.guard.record_poll() {
            self.phase = Phase::Ended;
            self.guard.end();
            return Poll::Ready(Some(Err(Error::closed_scan(&self.table))));
        }
        let polled = self.poll_next_row(cx);
        match &polled {
            Poll::Pending => self.guard.register_waker(cx),
            Poll::Ready(Some(Ok(()))) if !self.is_at_limit() => {}
            Poll::Ready(_) => self.guard.end(),
        }
        polled
    }
}

impl RowCursor for RowStream {
    #[inline]
    fn poll_next_row(&mut self, cx: &mut Context<'_>) -> Poll<NextRow> {
        loop {
            if let Phase::Reading(reading) = &mut self.phase {
                match ready!(reading.poll_row(cx)) {
                    Ok(true) => return Poll::Ready(Some(Ok(()))),
                    end => self.end_attempt(end)?,
                }
            } else if !ready!(self.poll_next_phase(cx))? {
                return Poll::Ready(None);
            }
        }
    }

    #[inline]
    fn current(&self) -> Option<&RawRow> {
        match &self.phase {
            Phase::Reading(reading) => Some(reading.merger.row()),
            _ => None,
        }
    }

    #[inline]
    fn buffered(&mut self, max: u64, mut f: impl FnMut(&RawRow) -> bool) {
        let Phase::Reading(reading) = &mut self.phase else { return };
        let Reading { merger, read, rows, heat, .. } = &mut **reading;
        // A limit is checked row by row.
        let max = if read.request.limit.is_some() { 1 } else { max };
        let advanced = match heat.is_on() {
            false => merger.buffered(max, f),
            true => {
                let (table, clock) = (read.attempts.operation().table(), read.attempts.client().clock());
                // The first is the current row, which is counted.
                let mut is_new = false;
                merger.buffered(max, |row| {
                    if std::mem::replace(&mut is_new, true) {
                        heat.row(table, row, clock);
                    }
                    f(row)
                })
            }
        };
        *rows += advanced;
        read.attempts.watch.rows(advanced);
        read.attempts.future_cells(merger.take_future_cells());
    }
}

impl RowStream {
    /// Takes the step after an attempt that delivered its last row or failed.
    #[cold]
    fn end_attempt(&mut self, end: Result<bool, AttemptError>) -> Result<(), Error> {
        if let Phase::Reading(reading) = std::mem::replace(&mut self.phase, Phase::Ended) {
            self.phase = match end {
                Ok(_) => reading.end(),
                Err(error) => reading.fail(error)?,
            };
        }
        Ok(())
    }

    /// Moves towards [`Phase::Reading`]; returns false if nothing is left to read.
    #[cold]
    fn poll_next_phase(&mut self, cx: &mut Context<'_>) -> Poll<Result<bool, Error>> {
        let next = match &mut self.phase {
            Phase::Reading(_) => return Poll::Ready(Ok(true)),
            Phase::Paused(_) | Phase::Ended => return Poll::Ready(Ok(false)),
            Phase::Opening(opening) => ready!(opening.as_mut().poll(cx)).into_phase(),
            Phase::BackingOff(_, sleep) => {
                ready!(sleep.as_mut().poll(cx));
                match std::mem::replace(&mut self.phase, Phase::Ended) {
                    Phase::BackingOff(read, _) => Ok(read.open()),
                    phase => Ok(phase),
                }
            }
            Phase::Unsent(..) => match std::mem::replace(&mut self.phase, Phase::Ended) {
                Phase::Unsent(client, unsent) => unsent.begin(&client),
                phase => Ok(phase),
            },
        };
        self.phase = Phase::Ended;
        self.phase = next?;
        Poll::Ready(Ok(true))
    }
}

impl Stream for RowStream {
    type Item = Result<RawRow, Error>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let stream = self.get_mut();
        ready!(stream.turns.poll_row(cx));
        if stream.ends_at_limit && stream.is_at_limit() {
            stream.end_at_limit(cx);
        }
        stream.poll_counted(cx).map(|next| match next? {
            Ok(()) => stream.current().cloned().map(Ok),
            Err(error) => Some(Err(error)),
        })
    }
}

impl fmt::Debug for RowStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RowStream").field("table", &self.table).finish_non_exhaustive()
    }
}

impl Unsent {
    fn begin(self: Box<Self>, client: &Client) -> Result<Phase, Error> {
        let Self { operation, request, later, last_key } = *self;
        let attempts =
            Attempts::new(client, operation).map_err(|error| error.with_last_row(last_key.clone()))?;
        Ok(Box::new(OngoingRead { attempts, request, later, last_key }).open())
    }
}

impl OngoingRead {
    fn open(mut self: Box<Self>) -> Phase {
        Phase::Opening(Box::pin(async move {
            let sent = self.send().await;
            Opened { read: self, sent }
        }))
    }

    /// Sends an attempt and waits for the head of its answer.
    async fn send(&mut self) -> Result<SentAttempt, Error> {
        let Self { attempts, request, .. } = self;
        let (client, route) = (attempts.client(), attempts.operation().route());
        let message = request
            .clone()
            .into_message(route.full_name().to_owned(), client.app_profile().to_owned())
            .map_err(|error| Error::filter(route, error))?;
        let attempt = attempts.begin().await?;
        if let Some(stats) = &request.stats {
            stats.sent();
        }
        let heat = attempts.client().inner.heat.attempt(
            request.starts(),
            |key| (key, 0),
            attempts.sending(&attempt),
        );
        let answer = attempts.open(&attempt, Request::new(&message)).await;
        drop(heat);
        Ok(SentAttempt { attempt, answer })
    }

    /// What follows a request that was answered in full.
    fn next_request(mut self: Box<Self>) -> Phase {
        if self.request.limit == Some(0) {
            self.attempts.succeeded();
            return Phase::Paused(self);
        }
        let limit = self.request.limit;
        let next = self.later.pop().map(|next| ReadRows { limit, ..next });
        let Some(next) = next.filter(|next| !next.is_empty()) else {
            self.attempts.succeeded();
            return Phase::Ended;
        };
        self.request = next;
        self.attempts.progressed();
        self.open()
    }

    /// What follows a failed attempt.
    fn fail(mut self: Box<Self>, attempt: &Attempt, failure: Failure) -> Result<Phase, Error> {
        if failure.transient && self.request.is_empty() {
            // Every row was delivered; only the end of the answer was lost.
            return Ok(self.next_request());
        }
        match self.attempts.failed(attempt, failure) {
            Ok(until) => Ok(Phase::BackingOff(self, Box::pin(sleep_until(until)))),
            Err(error) => Err(error.with_last_row(self.last_key)),
        }
    }
}

impl Opened {
    fn into_phase(self) -> Result<Phase, Error> {
        let Self { mut read, sent } = self;
        let SentAttempt { attempt, answer } =
            sent.map_err(|error| error.with_last_row(read.last_key.clone()))?;
        match answer {
            Ok(answer) => {
                read.attempts.keep_cookies(answer.headers());
                read.attempts.answered(&attempt);
                Ok(Phase::Reading(Box::new(Reading {
                    merger: RowMerger::new(
                        RequestedRows::new(&read.request.keys, &read.request.ranges, read.request.reversed),
                        read.last_key.as_deref(),
                        read.attempts.client().clock().clone(),
                        read.attempts.client().settings().max_row_bytes,
                    ),
                    idle: IdleTimer::new(read.attempts.idle_timeout(), attempt.deadline),
                    answer,
                    rows: 0,
                    heat: read.attempts.client().inner.heat.rows(),
                    read,
                    attempt,
                })))
            }
            Err(failure) => read.fail(&attempt, failure),
        }
    }
}

impl Reading {
    /// Whether the current row is the last one that the request asks for.
    fn is_at_limit(&self) -> bool {
        self.read.request.limit == Some(self.rows)
    }

    /// Advances to the next row of the answer; returns false at its end.
    fn poll_row(&mut self, cx: &mut Context<'_>) -> Poll<Result<bool, AttemptError>> {
        if self.read.attempts.client().is_past_deadline() {
            return Poll::Ready(Err(AttemptError::Failed(self.attempt.timed_out())));
        }
        let mut has_taken = false;
        loop {
            if self.merger.advance().map_err(AttemptError::of_rows)? {
                self.rows += 1;
                self.read.attempts.watch.rows(1);
                let attempts = &self.read.attempts;
                self.heat.row(attempts.operation().table(), self.merger.row(), attempts.client().clock());
                if self.is_at_limit() {
                    // The caller may drop the stream now, without waiting for its end.
                    self.read.attempts.watch.set_outcome(Code::Ok);
                }
                if self.read.request.limit.is_some_and(|limit| self.rows > limit) {
                    return Poll::Ready(Err(AttemptError::ProtocolViolation(
                        "it has more rows than were asked for".to_owned(),
                    )));
                }
                self.read.attempts.future_cells(self.merger.take_future_cells());
                return Poll::Ready(Ok(true));
            }
            // Further messages may be there already, so that no timer runs.
            if has_taken && self.attempt.is_past_deadline() {
                return Poll::Ready(Err(AttemptError::Failed(self.attempt.timed_out())));
            }
            self.read.attempts.watch.scanned(self.merger.take_scanned());
            let span = self.read.attempts.watch.span();
            match span.in_scope(|| self.answer.poll_message(cx)) {
                Poll::Ready(Ok(Some(message))) => {
                    self.idle.stop();
                    let watch = &mut self.read.attempts.watch;
                    if watch.is_wanted() {
                        watch.count(0, message.len());
                    }
                    self.merger.take(message).map_err(AttemptError::of_rows)?;
                    has_taken = true;
                }
                Poll::Ready(Err(status)) => {
                    return Poll::Ready(Err(AttemptError::Failed(self.attempt.failure(status))));
                }
                Poll::Ready(Ok(None)) => {
                    self.merger.finish().map_err(AttemptError::ProtocolViolation)?;
                    self.report_cost();
                    return Poll::Ready(Ok(false));
                }
                Poll::Pending => {
                    let failure = match ready!(self.idle.poll_expired(cx, &self.attempt)) {
                        Expired::Stalled => Failure::stalled(),
                        Expired::Late => self.attempt.late(self.idle.timeout),
                    };
                    return Poll::Ready(Err(AttemptError::Failed(failure)));
                }
            }
        }
    }

    /// Passes on what the server says that the request has cost.
    fn report_cost(&mut self) {
        if let (Some(stats), Some(cost)) = (&self.read.request.stats, self.merger.cost()) {
            observe::cost(self.read.attempts.operation().table(), cost);
            stats.add(cost);
            self.read.attempts.watch.seen(cost.rows_seen);
        }
    }

    /// Ends the attempt and notes how far it came; returns whether it made progress.
    fn into_read(self: Box<Self>) -> (Box<OngoingRead>, Attempt, bool) {
        let Self { mut read, attempt, merger, rows, .. } = *self;
        read.request.limit = read.request.limit.map(|limit| limit.saturating_sub(rows));
        let last = merger.last_key().filter(|last| read.last_key.as_deref() != Some(last));
        let last = last.map(Bytes::copy_from_slice);
        let has_progressed = last.is_some();
        read.last_key = last.or(read.last_key);
        (read, attempt, has_progressed)
    }

    /// What follows an attempt that was answered in full.
    fn end(self: Box<Self>) -> Phase {
        self.into_read().0.next_request()
    }

    /// What follows an attempt that failed.
    fn fail(self: Box<Self>, error: AttemptError) -> Result<Phase, Error> {
        let (mut read, attempt, has_progressed) = self.into_read();
        if has_progressed && let Some(last) = &read.last_key {
            read.request.resume_after(last);
            read.attempts.progressed();
        }
        match error {
            AttemptError::Failed(failure) => read.fail(&attempt, failure),
            AttemptError::TooLarge(key, failure) => {
                read.fail(&attempt, failure).map_err(|error| error.with_row_key(&key))
            }
            AttemptError::ProtocolViolation(broken) => {
                Err(read.attempts.violation(broken).with_last_row(read.last_key))
            }
        }
    }
}

/// Bounds how long a reader waits for the next message. Only time spent waiting counts.
struct IdleTimer {
    timeout: Duration,
    attempt_deadline: Instant,
    sleep: Option<Pin<Box<Sleep>>>,
    is_running: bool,
    /// When the wait that runs is over.
    until: Instant,
}

/// Why a reader waits no longer.
enum Expired {
    Late,
    Stalled,
}

impl IdleTimer {
    fn new(timeout: Duration, attempt_deadline: Instant) -> Self {
        Self { timeout, attempt_deadline, sleep: None, is_running: false, until: attempt_deadline }
    }

    /// Stops at a message.
    fn stop(&mut self) {
        self.is_running = false;
    }

    /// Ready when the wait, which the first call starts, is over, or the connection of the attempt has stalled.
    fn poll_expired(&mut self, cx: &mut Context<'_>, attempt: &Attempt) -> Poll<Expired> {
        let now = Instant::now();
        if !self.is_running {
            self.until = (now + self.timeout).min(self.attempt_deadline);
        }
        let next = self.until.min(now + LOOK_INTERVAL);
        let sleep = self.sleep.get_or_insert_with(|| Box::pin(sleep_until(next)));
        if !self.is_running {
            sleep.as_mut().reset(next);
            self.is_running = true;
        }
        loop {
            ready!(sleep.as_mut().poll(cx));
            let now = Instant::now();
            if now >= self.until {
                return Poll::Ready(Expired::Late);
            }
            if attempt.has_stalled() {
                return Poll::Ready(Expired::Stalled);
            }
            sleep.as_mut().reset(self.until.min(now + LOOK_INTERVAL));
        }
    }
}
