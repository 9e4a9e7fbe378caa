//! A scan over all its attempts, as one stream of rows.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use futures_core::Stream;
use futures_core::future::BoxFuture;
use keyderive_proto::RowsMessage;
use tokio::time::{Instant, Sleep, sleep_until};
use tonic::{Code, Response, Streaming};

use super::{ReadRows, RequestedRows};
use crate::client::attempts::{Attempt, Attempts};
use crate::client::failure::Failure;
use crate::client::merge::RowMerger;
use crate::client::operation::{Kind, Operation};
use crate::client::{Client, Error, StreamGuard, call};
use crate::row::Row;

/// The rows of a table as they are stored, one after the other.
///
/// Nothing is sent before the stream is first polled. It holds back the server while it is not polled. When a
/// request fails and may be made again, the stream goes on after the last row that came, so that each row comes
/// once. It ends with the first error that it cannot mend; dropping it cancels its request.
pub struct RowStream {
    phase: Phase,
    pass: StreamGuard,
    table: Arc<str>,
}

enum Phase {
    /// Not polled yet.
    New(Client, Box<(Operation, ReadRows)>),
    Opening(BoxFuture<'static, Opened>),
    Reading(Box<Reading>),
    /// Until the next attempt.
    Pausing(Box<Scan>, Pin<Box<Sleep>>),
    Ended,
}

/// A scan between its attempts.
struct Scan {
    attempts: Attempts,
    /// What is left to read of the present portion.
    request: ReadRows,
    /// The portions after it, the next one at the end.
    portions: Vec<ReadRows>,
    /// How far the scan has come.
    last_key: Option<Bytes>,
}

/// A scan with its next attempt.
struct Opened {
    scan: Box<Scan>,
    begun: Result<Begun, Error>,
}

/// An attempt that has the head of an answer, or none.
struct Begun {
    attempt: Attempt,
    answer: Result<Response<Streaming<RowsMessage>>, Failure>,
}

/// An attempt that is being answered.
struct Reading {
    scan: Box<Scan>,
    attempt: Attempt,
    responses: Streaming<RowsMessage>,
    merger: RowMerger,
    /// How many rows have come of this attempt.
    rows: u64,
    patience: Patience,
}

/// Why there are no further rows of an attempt.
enum Stop {
    Failed(Failure),
    Broken(String),
}

impl RowStream {
    pub(super) fn new(client: Client, pass: StreamGuard, kind: Kind, table: &str, request: ReadRows) -> Self {
        let operation =
            client.data_operation(kind, table).in_bucket(request.bucket).high_fan_out(request.high_fan_out);
        let table = Arc::clone(&operation.table);
        if request.is_empty() {
            return Self { phase: Phase::Ended, pass: StreamGuard::default(), table };
        }
        Self { phase: Phase::New(client, Box::new((operation, request))), pass, table }
    }

    fn begin(client: &Client, operation: Operation, request: ReadRows) -> Result<Phase, Error> {
        let attempts = Attempts::new(client, operation)?;
        let (request, portions) = request.into_portions();
        Ok(Phase::open(Box::new(Scan { attempts, request, portions, last_key: None })))
    }
}

impl Phase {
    fn open(scan: Box<Scan>) -> Self {
        Self::Opening(Box::pin(open(scan)))
    }
}

async fn open(mut scan: Box<Scan>) -> Opened {
    let begun = scan.open().await;
    Opened { scan, begun }
}

impl Stream for RowStream {
    type Item = Result<Row, Error>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let stream = self.get_mut();
        if !stream.pass.is_polled() {
            stream.phase = Phase::Ended;
            stream.pass.end();
            return Poll::Ready(Some(Err(Error::closed_scan(&stream.table))));
        }
        let polled = stream.poll_row(cx).map(|row| row.map(Result::<&Row, Error>::cloned));
        match &polled {
            Poll::Pending => stream.pass.waits(cx),
            Poll::Ready(Some(Ok(_))) if !stream.has_all() => {}
            Poll::Ready(_) => stream.pass.end(),
        }
        polled
    }
}

impl RowStream {
    /// The next row, borrowed until the one after it is asked for.
    #[inline]
    pub(crate) fn poll_row(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<&Row, Error>>> {
        ready!(self.poll_advance(cx)?);
        Poll::Ready(self.row().map(Ok))
    }

    /// Whether the last row is the last that was asked for.
    fn has_all(&self) -> bool {
        matches!(&self.phase, Phase::Reading(reading) if reading.scan.request.limit == Some(reading.rows))
    }

    /// The row that was polled for last; none at the end.
    #[inline]
    pub(crate) fn row(&self) -> Option<&Row> {
        match &self.phase {
            Phase::Reading(reading) => Some(reading.merger.row()),
            _ => None,
        }
    }

    /// Calls `f` on the current row and the rows already buffered that follow it, at most `most`, until `f` returns false.
    #[inline]
    pub(crate) fn for_each_buffered(&mut self, most: u64, f: impl FnMut(&Row) -> bool) {
        let Phase::Reading(reading) = &mut self.phase else { return };
        let Reading { merger, scan, rows, .. } = &mut **reading;
        // A limit is looked at with each row.
        let most = if scan.request.limit.is_some() { 1 } else { most };
        let advanced = merger.for_each_buffered(most, f);
        *rows += advanced;
        scan.attempts.watch.rows(advanced);
        scan.attempts.future_cells(merger.take_future_cells());
    }

    /// Goes on until there is a further row or the end.
    fn poll_advance(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        let phase = &mut self.phase;
        loop {
            let next = match phase {
                Phase::Ended => return Poll::Ready(Ok(())),
                Phase::Reading(reading) => match ready!(reading.poll_row(cx)) {
                    Ok(true) => return Poll::Ready(Ok(())),
                    Ok(false) => match std::mem::replace(phase, Phase::Ended) {
                        Phase::Reading(reading) => Ok(reading.end()),
                        _ => Ok(Phase::Ended),
                    },
                    Err(stop) => match std::mem::replace(phase, Phase::Ended) {
                        Phase::Reading(reading) => reading.stop(stop),
                        _ => Ok(Phase::Ended),
                    },
                },
                Phase::Opening(opening) => ready!(opening.as_mut().poll(cx)).into_phase(),
                Phase::Pausing(_, sleep) => {
                    ready!(sleep.as_mut().poll(cx));
                    match std::mem::replace(phase, Phase::Ended) {
                        Phase::Pausing(scan, _) => Ok(Phase::open(scan)),
                        _ => Ok(Phase::Ended),
                    }
                }
                Phase::New(..) => match std::mem::replace(phase, Phase::Ended) {
                    Phase::New(client, what) => Self::begin(&client, what.0, what.1),
                    _ => Ok(Phase::Ended),
                },
            };
            match next {
                Ok(next) => *phase = next,
                Err(error) => {
                    *phase = Phase::Ended;
                    return Poll::Ready(Err(error));
                }
            }
        }
    }
}

impl fmt::Debug for RowStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RowStream").finish_non_exhaustive()
    }
}

impl Scan {
    /// Makes an attempt, up to the head of its answer.
    async fn open(&mut self) -> Result<Begun, Error> {
        let Self { attempts, request, .. } = self;
        let (client, table) = (attempts.client(), &attempts.operation().table);
        let message = request
            .clone()
            .into_message(client.table_name(table), client.app_profile().to_owned())
            .map_err(|error| Error::filter(table, error))?;
        let attempt = attempts.begin()?;
        let answer = match attempts.request(&attempt, message).await {
            Ok(request) => {
                let mut service = call::data(attempt.transport());
                attempt.head_within(attempts.idle_timeout(), service.read_rows(request)).await
            }
            Err(failure) => Err(failure),
        };
        Ok(Begun { attempt, answer })
    }

    /// What follows on a portion that has been read.
    fn next_portion(mut self: Box<Self>) -> Phase {
        let limit = self.request.limit;
        let next = self.portions.pop().map(|next| ReadRows { limit, ..next });
        let Some(next) = next.filter(|next| !next.is_empty()) else {
            self.attempts.succeeded();
            return Phase::Ended;
        };
        self.request = next;
        self.attempts.progressed();
        Phase::open(self)
    }

    /// What follows on a failed attempt.
    fn fail(mut self: Box<Self>, attempt: &Attempt, failure: Failure) -> Result<Phase, Error> {
        if failure.transient && self.request.is_empty() {
            // All rows have come; only the end of the answer was lost.
            return Ok(self.next_portion());
        }
        let again = self.attempts.failed(attempt, failure);
        let again = again.map_err(|error| error.behind_row(self.last_key.clone()))?;
        Ok(Phase::Pausing(self, Box::pin(sleep_until(again))))
    }
}

impl Opened {
    fn into_phase(self) -> Result<Phase, Error> {
        let Self { mut scan, begun } = self;
        let begun = begun.map_err(|error| error.behind_row(scan.last_key.clone()));
        let Begun { attempt, answer } = begun?;
        match answer {
            Ok(response) => {
                scan.attempts.learn(response.metadata());
                scan.attempts.answered(&attempt);
                Ok(Phase::Reading(Box::new(Reading {
                    merger: RowMerger::new(RequestedRows::new(&scan.request), scan.last_key.as_deref()),
                    patience: Patience::new(scan.attempts.idle_timeout(), attempt.ends),
                    responses: response.into_inner(),
                    rows: 0,
                    scan,
                    attempt,
                })))
            }
            Err(failure) => scan.fail(&attempt, failure),
        }
    }
}

impl Reading {
    /// Whether there is a further row.
    fn poll_row(&mut self, cx: &mut Context<'_>) -> Poll<Result<bool, Stop>> {
        loop {
            if self.merger.advance().map_err(Stop::Broken)? {
                self.rows += 1;
                let watch = &mut self.scan.attempts.watch;
                watch.rows(1);
                if self.scan.request.limit == Some(self.rows) {
                    // Whoever asked for so many may not wait for the end.
                    watch.ends(Code::Ok);
                }
                if self.scan.request.limit.is_some_and(|limit| self.rows > limit) {
                    return Poll::Ready(Err(Stop::Broken("it has more rows than were asked for".to_owned())));
                }
                self.scan.attempts.future_cells(self.merger.take_future_cells());
                return Poll::Ready(Ok(true));
            }
            match Pin::new(&mut self.responses).poll_next(cx) {
                Poll::Ready(Some(Ok(RowsMessage(message)))) => {
                    self.patience.waited();
                    let watch = &mut self.scan.attempts.watch;
                    if watch.is_wanted() {
                        watch.count(0, message.len());
                    }
                    self.merger.take(message).map_err(Stop::Broken)?;
                }
                Poll::Ready(Some(Err(status))) => {
                    return Poll::Ready(Err(Stop::Failed(self.attempt.failure(status))));
                }
                Poll::Ready(None) => {
                    return Poll::Ready(self.merger.finish().map(|()| false).map_err(Stop::Broken));
                }
                Poll::Pending => {
                    ready!(self.patience.poll_lost(cx));
                    let failure = match Instant::now() >= self.attempt.ends {
                        true => self.attempt.timed_out(),
                        false => Failure::silent(self.patience.idle_timeout),
                    };
                    return Poll::Ready(Err(Stop::Failed(failure)));
                }
            }
        }
    }

    /// What follows on an attempt that was answered to its end.
    fn end(self: Box<Self>) -> Phase {
        let Self { mut scan, merger, rows, .. } = *self;
        scan.request.limit = scan.request.limit.map(|limit| limit.saturating_sub(rows));
        scan.last_key = merger.last_key().map(Bytes::copy_from_slice);
        scan.next_portion()
    }

    /// What follows on the end of an attempt that was not the scan's.
    fn stop(self: Box<Self>, stop: Stop) -> Result<Phase, Error> {
        let Self { mut scan, attempt, merger, rows, .. } = *self;
        if let Some(last) = merger.last_key().filter(|last| scan.last_key.as_deref() != Some(last)) {
            scan.request.go_on_behind(last, rows);
            scan.last_key = Some(Bytes::copy_from_slice(last));
            scan.attempts.progressed();
        }
        match stop {
            Stop::Failed(failure) => scan.fail(&attempt, failure),
            Stop::Broken(broken) => {
                scan.attempts.watch.attempt_ends(Code::Internal);
                scan.attempts.watch.ends(Code::Internal);
                Err(Error::protocol(scan.attempts.operation(), broken).behind_row(scan.last_key))
            }
        }
    }
}

/// How long a reader goes on waiting for the next message.
struct Patience {
    idle_timeout: Duration,
    attempt_ends: Instant,
    sleep: Option<Pin<Box<Sleep>>>,
    waiting: bool,
}

impl Patience {
    fn new(idle_timeout: Duration, attempt_ends: Instant) -> Self {
        Self { idle_timeout, attempt_ends, sleep: None, waiting: false }
    }

    /// A message has come: time begins anew when the next one is waited for.
    fn waited(&mut self) {
        self.waiting = false;
    }

    /// Ready when the wait, which begins with the first call, has been too long.
    fn poll_lost(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let until = (Instant::now() + self.idle_timeout).min(self.attempt_ends);
        let sleep = self.sleep.get_or_insert_with(|| Box::pin(sleep_until(until)));
        if !self.waiting {
            sleep.as_mut().reset(until);
            self.waiting = true;
        }
        sleep.as_mut().poll(cx)
    }
}

impl RowStream {
    /// The next row; none when all have come.
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
    /// The one that the stream ends with.
    pub async fn next(&mut self) -> Option<Result<Row, Error>> {
        futures_util::StreamExt::next(self).await
    }
}
