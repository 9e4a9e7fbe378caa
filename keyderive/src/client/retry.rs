//! How an operation is sent: attempt by attempt, until one is answered or the operation fails for good. Which failures are repeated is in
//! `failure.rs`, and how long the backoff is in `settings.rs`.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::Duration;

use futures_util::future::{Either, select};
use http::{HeaderMap, HeaderName, HeaderValue};
use keyderive_proto::EMBEDDED_HEADER;
use tokio::task::coop::consume_budget;
use tokio::time::{Instant, sleep_until, timeout_at};
use tonic::{Code, Status};

use super::budget::RetryBudget;
use super::connections::{self, Pool, PooledConnection};
use super::credentials::Authorizer;
use super::error::{AttemptSummary, Error, RetryLimit};
use super::failure::{Failure, NO_COMPLETE_ANSWER};
use super::grpc::{Answer, Request};
use super::heat::AttemptInfo;
use super::observe::{self, Watch};
use super::operation::{self, Idempotency, Operation};
use super::settings::{CallSettings, Hedging};
use super::shutdown::InFlightGuard;
use super::write::token;
use super::{Client, Inner};

/// Longer timeouts count as this one: tokio's `Instant` overflows if more is added.
pub(super) const NEVER: Duration = Duration::from_secs(30 * 365 * 24 * 60 * 60);

/// How long an operation fails before its retries are logged as a warning.
const WARN_AFTER: Duration = Duration::from_secs(5);

/// How often a request that has no answer looks whether its connection has stalled.
pub(super) const LOOK_INTERVAL: Duration = Duration::from_millis(250);

/// An attempt that timed out after less than this does not count as silence of its connection.
const SILENT_FOR: Duration = Duration::from_secs(1);

/// Sends `request` until an attempt succeeds, or the operation fails for good.
///
/// One attempt's timeout covers all of `read`, which reads an answer to its end.
pub(super) async fn call<R, F>(
    mut attempts: Attempts,
    request: Request,
    read: impl Fn(Answer) -> F,
) -> Result<R, Error>
where
    F: Future<Output = Result<Received<R>, Status>>,
{
    if attempts.watch.is_wanted() && !attempts.operation.is_point_read() {
        attempts.watch.count(attempts.operation().rows_sent(), request.bytes());
    }
    loop {
        let attempt = attempts.begin().await?;
        let answer = match attempts.hedge_after() {
            None => attempts.answer(&attempt, &request, &read).await,
            // In a box, since few operations need the room.
            Some(delay) => Box::pin(attempts.hedged(&attempt, &request, &read, delay)).await,
        };
        match answer {
            Ok(Received { answer, rows, bytes, future_cells }) => {
                attempts.watch.count(rows, bytes);
                attempts.future_cells(future_cells);
                attempts.succeeded();
                return Ok(answer);
            }
            Err(failure) => {
                let retry_at = attempts.failed(&attempt, failure)?;
                drop(attempt);
                sleep_until(retry_at).await;
            }
        }
    }
}

/// An answer that was read to its end.
pub(super) struct Received<R> {
    pub(super) answer: R,
    /// How many rows it has.
    pub(super) rows: usize,
    /// The size of the messages that the rows came in.
    pub(super) bytes: usize,
    /// How many of their cells are from the future.
    pub(super) future_cells: u64,
}

impl<R> Received<R> {
    /// An answer without rows.
    pub(super) fn new(answer: R) -> Self {
        Self { answer, rows: 0, bytes: 0, future_cells: 0 }
    }
}

/// An operation and the state of its attempts.
pub(super) struct Attempts {
    client: Client,
    pool: Arc<Pool>,
    operation: Operation,
    settings: CallSettings,
    _in_flight: InFlight,
    pub(super) watch: Watch,
    begun: Instant,
    /// How many attempts have been made.
    made: u32,
    /// How many attempts have failed since the last progress.
    failed: u32,
    /// How many failures in a row came without a delay from the server; the backoff grows with it.
    backoffs: u32,
    failing_since: Option<Instant>,
    /// The failure that is about to be retried.
    last: Option<Box<Failure>>,
    /// Whether a backoff has been shortened to the remaining time.
    is_shortened: bool,
    /// Whether the server has rejected a token, and the request was sent again with another.
    is_reauthorized: bool,
    cookies: Option<Box<Cookies>>,
    /// The number of the connection on which the last attempt failed.
    avoided: Option<usize>,
    /// Whether an attempt to write may have been applied.
    may_be_applied: bool,
    /// Whether an attempt stays on a connection that has stalled.
    pub(super) stays: bool,
}

/// One attempt. It counts as in flight on its connection until dropped.
pub(super) struct Attempt {
    connection: PooledConnection,
    /// Counted from 0.
    number: u32,
    pub(super) deadline: Instant,
    timeout: Duration,
    /// Whether it may be repeated on another connection before it has an answer.
    may_move: bool,
    /// Whether the request no longer waits to be sent.
    pub(super) is_sent: AtomicBool,
}

/// Counts an operation as in flight, by itself or as part of another.
pub(super) enum InFlight {
    Own { _guard: InFlightGuard },
    Shared { _guard: Arc<InFlightGuard> },
}

impl Attempts {
    /// # Errors
    /// When the client is closed, the table's name is invalid, or no tokio runtime is running.
    pub(super) fn new(client: &Client, operation: Operation) -> Result<Self, Error> {
        let pool = Arc::clone(client.pool(&operation));
        Self::over(pool, client, operation)
    }

    /// As [`new`](Self::new), on these connections.
    pub(super) fn over(pool: Arc<Pool>, client: &Client, operation: Operation) -> Result<Self, Error> {
        operation.check_table()?;
        connections::check_timers("operations run")?;
        let in_flight = client.admit(&operation)?;
        let begun = Instant::now();
        let mut attempts = Self {
            settings: operation.settings(client).clone(),
            client: client.clone(),
            pool,
            watch: Watch::new(&operation, begun),
            operation,
            _in_flight: in_flight,
            begun,
            made: 0,
            failed: 0,
            backoffs: 0,
            failing_since: None,
            last: None,
            is_shortened: false,
            is_reauthorized: false,
            cookies: None,
            avoided: None,
            may_be_applied: false,
            stays: false,
        };
        if attempts.operation.idempotency() == Idempotency::ByToken {
            attempts.end_before_tokens(Duration::ZERO);
        }
        Ok(attempts)
    }

    /// Ends the attempts while servers still remember the tokens of the first, which was made `age` ago.
    pub(super) fn end_before_tokens(&mut self, age: Duration) {
        let left = token::RETRIED_FOR.saturating_sub(age);
        self.settings.total_timeout = self.settings.total_timeout.min(left);
    }

    pub(super) fn operation(&self) -> &Operation {
        &self.operation
    }

    pub(super) fn client(&self) -> &Client {
        &self.client
    }

    pub(super) fn idle_timeout(&self) -> Duration {
        self.settings.idle_timeout.min(NEVER)
    }

    /// Begins an attempt on the least busy connection, not the one on which the last attempt failed.
    ///
    /// # Errors
    /// When no time is left, or too many requests wait for a connection.
    pub(super) async fn begin(&mut self) -> Result<Attempt, Error> {
        let begun = self.try_begin();
        if begun.is_err() {
            // A caller that tries again at once would not let other tasks run.
            consume_budget().await;
        }
        begun
    }

    fn try_begin(&mut self) -> Result<Attempt, Error> {
        let now = if self.made == 0 { self.begun } else { Instant::now() };
        let timeout = self.settings.attempt_timeout.min(self.left_at(now)).min(NEVER);
        if timeout.is_zero() {
            let failure = self.last.take().map_or_else(Failure::no_time, |last| *last);
            let limit = match self.time_limit(now) {
                RetryLimit::Time(total) => RetryLimit::Time(total.min(self.settings.attempt_timeout)),
                limit => limit,
            };
            return Err(self.not_begun(failure, Some(limit)));
        }
        let max_waiting = self.client.settings().max_waiting;
        let connection = match self.pool.get(self.avoided, max_waiting) {
            Ok(connection) => connection,
            Err(overload) => {
                observe::rejected(&self.operation);
                return Err(self.not_begun(Failure::overloaded(&overload, max_waiting), None));
            }
        };
        self.watch.attempt_begins(now);
        let number = self.made;
        self.made += 1;
        let may_move = !self.stays && self.client.may_repeat(self.operation.idempotency());
        let is_sent = AtomicBool::new(false);
        Ok(Attempt { connection, number, deadline: now + timeout, timeout, may_move, is_sent })
    }

    /// The error of an attempt that was not begun.
    #[cold]
    fn not_begun(&mut self, failure: Failure, ended: Option<RetryLimit>) -> Error {
        let tries = AttemptSummary { attempts: self.made, ..self.tries(ended) };
        let error = Error::rpc(&self.operation, failure, tries);
        self.watch.set_outcome(error.code().unwrap_or(Code::Unknown));
        error
    }

    /// The headers of an attempt.
    ///
    /// # Errors
    /// When there is no access token. The attempt has then failed.
    pub(super) async fn headers(&self, attempt: &Attempt) -> Result<HeaderMap, Failure> {
        let mut headers = self.operation.headers(attempt.number);
        if let Some(cookies) = &self.cookies {
            operation::insert_all(&mut headers, &cookies.kept);
        }
        if let Some(credentials) = &self.client.inner.credentials {
            let token = timeout_at(attempt.deadline, credentials.headers()).await;
            let token = token
                .map_err(|_| Failure::timed_out("no access token came", attempt.timeout).before_sending())?;
            operation::insert_all(&mut headers, &token.map_err(Failure::no_token)?);
        }
        Ok(headers)
    }

    /// Where an attempt goes, for the recording.
    pub(super) fn sending<'a>(&'a self, attempt: &'a Attempt) -> AttemptInfo<'a> {
        AttemptInfo {
            table: self.operation.table(),
            is_write: self.operation.is_write(),
            clock: self.client.clock(),
            is_sent: &attempt.is_sent,
        }
    }

    /// Sends the request and reads its answer.
    async fn answer<R, F>(
        &self,
        attempt: &Attempt,
        request: &Request,
        read: &impl Fn(Answer) -> F,
    ) -> Result<R, Failure>
    where
        F: Future<Output = Result<R, Status>>,
    {
        let _heat = self.client.inner.heat.row(self.operation.asked(), self.sending(attempt));
        let answer = async {
            let headers = self.headers(attempt).await?;
            let answer = async {
                let path = self.operation.path();
                let transport = attempt.connection.transport();
                let request = request.clone();
                let answer =
                    transport.send(path, headers, request, attempt.deadline, &attempt.is_sent).await?;
                self.note_server(answer.headers());
                read(answer).await
            };
            attempt.within(answer).await
        };
        self.watch.entered(pin!(answer)).await.inspect(|_| self.pool.answered(&attempt.connection))
    }

    /// Sends the request of a stream, up to the head of its answer.
    pub(super) async fn open(&self, attempt: &Attempt, request: Request) -> Result<Answer, Failure> {
        let head = async {
            let headers = self.headers(attempt).await?;
            let path = self.operation.path();
            let transport = attempt.connection.transport();
            let head = transport.send(path, headers, request, attempt.deadline, &attempt.is_sent);
            attempt.head_within(self.idle_timeout(), head).await
        };
        self.watch.entered(pin!(head)).await
    }

    /// After how long a read is sent a second time, if it is.
    fn hedge_after(&self) -> Option<Duration> {
        if !self.operation.is_point_read() {
            return None;
        }
        match self.client.settings().hedging {
            Hedging::Off => None,
            Hedging::After(delay) => Some(delay),
            // Where all reads take about as long, one in twenty is a little slower than the percentile. Before the first read
            // there is nothing to go by.
            Hedging::Adaptive => Some(match self.client.inner.p95.get() {
                Some(p95) => p95 + p95 / 4,
                None => self.settings.attempt_timeout,
            }),
        }
    }

    /// As [`answer`](Self::answer), but sends the request a second time over another connection if it has no answer after
    /// `delay`. The first answer counts; a failure counts only if there is no other request.
    async fn hedged<R, F>(
        &self,
        attempt: &Attempt,
        request: &Request,
        read: &impl Fn(Answer) -> F,
        delay: Duration,
    ) -> Result<R, Failure>
    where
        F: Future<Output = Result<R, Status>>,
    {
        let Inner { hedge_budget, retry_budget, p95, .. } = &*self.client.inner;
        hedge_budget.earn();
        let begun = Instant::now();
        let mut first = pin!(self.answer(attempt, request, read));
        if let Ok(answer) = timeout_at(begun + delay.min(NEVER), &mut first).await {
            if answer.is_ok() {
                p95.record(begun.elapsed());
            }
            return answer;
        }
        let may_hedge = !self.client.settings().retry_budget || retry_budget.is_open();
        let own = attempt.connection.number();
        let connection = match may_hedge {
            true => self.pool.get(Some(own), 0).ok().filter(|connection| connection.number() != own),
            false => None,
        };
        if connection.is_none() && self.pool.may_warn_of_single_connection() {
            tracing::warn!(
                at = %self.operation.target(),
                "`hedging` does nothing: this client has one connection, and a second request needs another; allow more \
                 with `ClientBuilder::connections`"
            );
        }
        let Some(connection) = connection.filter(|_| hedge_budget.take()) else {
            let answer = first.await;
            p95.record(begun.elapsed());
            return answer;
        };
        observe::hedged(self.operation.table());
        // The server sees a repetition.
        let hedge =
            Attempt { connection, number: attempt.number + 1, is_sent: AtomicBool::new(false), ..*attempt };
        let second = pin!(self.answer(&hedge, request, read));
        let (answer, is_second) = match select(first, second).await {
            Either::Left((Err(_), second)) => (second.await, true),
            Either::Right((Err(_), first)) => (first.await, false),
            Either::Left((answer, _)) => (answer, false),
            Either::Right((answer, _)) => (answer, true),
        };
        p95.record(begun.elapsed());
        if is_second && answer.is_ok() {
            observe::hedge_won(self.operation.table());
        }
        answer
    }

    /// Notes what the headers of an answer say: of the server, and its routing cookies.
    pub(super) fn note(&mut self, headers: &HeaderMap) {
        self.note_server(headers);
        self.keep_cookies(headers);
    }

    /// Notes whether the answer is of a server that honours idempotency tokens.
    pub(super) fn note_server(&self, headers: &HeaderMap) {
        if !self.client.honours_tokens() && headers.contains_key(EMBEDDED_HEADER) {
            self.client.inner.honours_tokens.store(true, Ordering::Relaxed);
        }
    }

    /// Keeps the routing cookies of an answer.
    pub(super) fn keep_cookies(&mut self, headers: &HeaderMap) {
        if !headers.keys().any(is_cookie) {
            return;
        }
        let Some(name) = self.cookies.get_or_insert_default().keep(headers) else { return };
        tracing::warn!(
            parent: self.watch.span(),
            operation = self.operation.name(),
            table = &**self.operation.table(),
            cookie = name,
            "the server sends more routing cookies than the client keeps; this one is dropped"
        );
    }

    /// Records progress, which resets the count of failures and the backoff.
    pub(super) fn progressed(&mut self) {
        self.failed = 0;
        self.backoffs = 0;
        self.failing_since = None;
        self.last = None;
    }

    /// Records that the server has answered an attempt, with any status.
    pub(super) fn answered(&self, attempt: &Attempt) {
        self.pool.answered(&attempt.connection);
    }

    /// Records that the operation has succeeded.
    pub(super) fn succeeded(&mut self) {
        if let Some(budget) = self.budget() {
            budget.succeeded();
        }
        self.watch.attempt_ends(Code::Ok);
        self.watch.set_outcome(Code::Ok);
    }

    /// Records that an attempt has failed, and returns when to retry.
    ///
    /// # Errors
    /// When the operation is not retried.
    pub(super) fn failed(&mut self, attempt: &Attempt, failure: Failure) -> Result<Instant, Error> {
        self.decide(attempt, &failure).map_err(|ended| {
            let error = self.error(failure, ended);
            self.watch.set_outcome(error.code().unwrap_or(Code::Unknown));
            error
        })
    }

    /// As [`failed`](Self::failed). The error is the limit that ended the retries; `Err(None)` means that the failure
    /// cannot be retried.
    pub(super) fn decide(
        &mut self,
        attempt: &Attempt,
        failure: &Failure,
    ) -> Result<Instant, Option<RetryLimit>> {
        self.watch.attempt_ends(failure.code);
        self.may_be_applied |= self.operation.is_write() && !failure.is_not_applied();
        let pause = self.retry_delay(attempt, failure);
        tracing::debug!(
            parent: self.watch.span(),
            operation = self.operation.name(),
            table = &**self.operation.table(),
            attempt = self.made,
            code = keyderive_proto::code_name(failure.code),
            reason = failure.message,
            retried = pause.is_ok(),
            pause_ms = pause.ok().map(|pause| u64::try_from(pause.as_millis()).unwrap_or(u64::MAX)),
            "an attempt failed"
        );
        if pause.is_ok() {
            self.warn(failure);
            self.last = Some(Box::new(failure.clone().after(self.last.as_deref())));
        }
        pause.map(|pause| Instant::now() + pause)
    }

    /// Logs a warning, now and then, for an operation that has been retried for some time.
    fn warn(&mut self, failure: &Failure) {
        let failing = self.failing_since.get_or_insert_with(Instant::now).elapsed();
        if failing >= WARN_AFTER && self.pool.may_warn() {
            tracing::warn!(
                parent: self.watch.span(),
                operation = self.operation.name(),
                table = &**self.operation.table(),
                at = %self.operation.target(),
                attempt = self.made,
                code = keyderive_proto::code_name(failure.code),
                // The server's message may name a row.
                reason = (!failure.answered).then_some(&*failure.message),
                ?failing,
                "an operation keeps failing and is retried"
            );
        }
    }

    /// Counts cells that were read whose time is more than a minute in the future, and logs a warning now and then.
    #[inline]
    pub(super) fn future_cells(&self, cells: u64) {
        if cells > 0 {
            self.warn_of_future_cells(cells);
        }
    }

    #[cold]
    fn warn_of_future_cells(&self, cells: u64) {
        observe::future_cells(self.operation.table(), cells);
        if self.pool.may_warn_of_future_cells() {
            tracing::warn!(
                parent: self.watch.span(),
                table = &**self.operation.table(),
                cells,
                "cells are more than a minute in the future, by the client's clock, and hide what is written to their \
                 columns until then; find the program that sets their times, and delete these versions"
            );
        }
    }

    fn retry_delay(&mut self, attempt: &Attempt, failure: &Failure) -> Result<Duration, Option<RetryLimit>> {
        self.note(&failure.headers);
        if failure.answered {
            self.answered(attempt);
        } else if failure.timed_out && !failure.unsent && attempt.timeout >= SILENT_FOR {
            self.pool.timed_out(&attempt.connection);
        }
        self.failed = self.failed.saturating_add(1);
        self.avoided = Some(attempt.connection.number());
        let now = Instant::now();
        let is_over = failure.code == Code::DeadlineExceeded && self.left_at(now).is_zero();
        if let Some(credentials) = self.rejected_credentials(failure)
            && self.failed < self.settings.max_attempts
            && !self.left_at(now).is_zero()
        {
            credentials.rejected();
            self.is_reauthorized = true;
            return Ok(Duration::ZERO);
        }
        let safe = failure.is_not_applied() || self.client.may_repeat(self.operation.idempotency());
        if !(failure.transient && safe) {
            return Err(is_over.then(|| self.time_limit(now)));
        }
        if self.failed >= self.settings.max_attempts {
            return Err(Some(RetryLimit::Attempts));
        }
        // The first move costs nothing: the server did no work. More of them are load, and take their turn.
        if failure.is_of_connection() && self.failed == 1 && !self.left_at(now).is_zero() {
            return Ok(Duration::ZERO);
        }
        // A failure that leaves no time for a retry costs the budget nothing.
        if is_over {
            return Err(Some(self.time_limit(now)));
        }
        // A request that timed out before it was sent is no load for the server, and costs the budget nothing either.
        let is_load = !(failure.unsent && failure.timed_out);
        if let Some(budget) = self.budget().filter(|_| is_load)
            && !budget.failed()
        {
            return Err(Some(RetryLimit::Budget));
        }
        let pause = match failure.retry_after {
            Some(delay) => {
                self.backoffs = 0;
                Some(delay).filter(|delay| *delay < self.left_at(now))
            }
            None => {
                self.backoffs = self.backoffs.saturating_add(1);
                let backoff = self.settings.backoff.pause(self.backoffs, fastrand::f64());
                cap_backoff(backoff, self.left_at(now), &mut self.is_shortened)
            }
        };
        pause.ok_or_else(|| Some(self.time_limit(now)))
    }

    /// The credentials whose token the server has rejected, for the first time. It has applied nothing then.
    fn rejected_credentials(&self, failure: &Failure) -> Option<&Authorizer> {
        let is_rejected = failure.answered && failure.code == Code::Unauthenticated && !self.is_reauthorized;
        self.client.inner.credentials.as_ref().filter(|_| is_rejected)
    }

    /// The budget that its retries need, if they need one.
    fn budget(&self) -> Option<&RetryBudget> {
        let is_on = self.client.settings().retry_budget && self.operation.is_point();
        is_on.then_some(&self.client.inner.retry_budget)
    }

    /// How many attempts have been made.
    pub(super) fn made(&self) -> u32 {
        self.made
    }

    /// Records that the answer of the attempt breaks the protocol, as `how` says, and returns the error.
    pub(super) fn violation(&mut self, how: impl Into<String>) -> Error {
        self.watch.attempt_ends(Code::Internal);
        self.watch.set_outcome(Code::Internal);
        Error::protocol(&self.operation, self.made, how)
    }

    /// The failure as the error of the whole operation.
    pub(super) fn error(&self, failure: Failure, ended: Option<RetryLimit>) -> Error {
        if failure.is_violation {
            return Error::protocol(&self.operation, self.made, failure.message);
        }
        Error::rpc(&self.operation, failure.after(self.last.as_deref()), self.tries(ended))
    }

    fn tries(&self, ended: Option<RetryLimit>) -> AttemptSummary {
        let unknown_outcome = self.may_be_applied.then(|| self.operation.idempotency());
        let (attempts, elapsed) = (self.made.max(1), self.begun.elapsed());
        let honours_tokens = self.client.honours_tokens();
        AttemptSummary { attempts, elapsed, ended, unknown_outcome, honours_tokens }
    }

    /// The time left for all attempts.
    fn left(&self) -> Duration {
        self.left_at(Instant::now())
    }

    fn left_at(&self, now: Instant) -> Duration {
        let left = self.settings.total_timeout.saturating_sub(now.saturating_duration_since(self.begun));
        match self.client.deadline {
            Some(deadline) => left.min(deadline.saturating_duration_since(now)),
            None => left,
        }
    }

    /// Which limit the time left ends with.
    fn time_limit(&self, now: Instant) -> RetryLimit {
        let total = self.settings.total_timeout;
        match self.client.deadline {
            Some(deadline)
                if deadline.saturating_duration_since(now) < total.saturating_sub(now - self.begun) =>
            {
                RetryLimit::Deadline
            }
            _ => RetryLimit::Time(total),
        }
    }

    /// When the time for all attempts ends.
    pub(super) fn deadline(&self) -> Instant {
        Instant::now() + self.left().min(NEVER)
    }
}

/// Caps the backoff to the remaining time. One that is too long is shortened, once, to leave a quarter of that time, at
/// most a second, for an attempt.
fn cap_backoff(backoff: Duration, left: Duration, is_shortened: &mut bool) -> Option<Duration> {
    if backoff < left {
        return Some(backoff);
    }
    let shorter = left.saturating_sub((left / 4).min(Duration::from_secs(1)));
    (!left.is_zero() && !std::mem::replace(is_shortened, true)).then_some(shorter)
}

impl Attempt {
    /// The answer, or a failure when the attempt times out, or its connection stalls and it may be repeated.
    pub(super) async fn within<T>(
        &self,
        answer: impl Future<Output = Result<T, Status>>,
    ) -> Result<T, Failure> {
        match self.until(self.deadline, answer).await {
            Some(answer) => answer,
            None => Err(self.timed_out()),
        }
    }

    /// The head of an answer, or a failure when the attempt or the idle timeout ends first.
    pub(super) async fn head_within<T>(
        &self,
        idle_timeout: Duration,
        answer: impl Future<Output = Result<T, Status>>,
    ) -> Result<T, Failure> {
        let idle = Instant::now() + idle_timeout;
        match self.until(idle.min(self.deadline), answer).await {
            Some(answer) => answer,
            None => Err(self.late(idle_timeout)),
        }
    }

    /// The answer; none at the end of the time. Fails when the connection stalls, if the request may be repeated.
    async fn until<T>(
        &self,
        end: Instant,
        answer: impl Future<Output = Result<T, Status>>,
    ) -> Option<Result<T, Failure>> {
        let next = |now: Instant| if self.may_move { end.min(now + LOOK_INTERVAL) } else { end };
        let mut answer = pin!(answer);
        // An answer that is not there at once sets the only timer.
        let mut timer = pin!(sleep_until(end));
        let mut is_set = false;
        poll_fn(|cx| {
            if let Poll::Ready(answer) = answer.as_mut().poll(cx) {
                return Poll::Ready(Some(answer.map_err(|status| self.failure(status))));
            }
            match is_set {
                // An answer whose messages are always ready uses up tokio's budget; then no timer fires.
                true if Instant::now() >= end => return Poll::Ready(None),
                false if self.may_move => timer.as_mut().reset(next(Instant::now())),
                _ => {}
            }
            is_set = true;
            while timer.as_mut().poll(cx).is_ready() {
                let now = Instant::now();
                if now >= end {
                    return Poll::Ready(None);
                }
                if self.has_stalled() {
                    return Poll::Ready(Some(Err(self.stalled())));
                }
                timer.as_mut().reset(next(now));
            }
            Poll::Pending
        })
        .await
    }

    pub(super) fn connection(&self) -> &PooledConnection {
        &self.connection
    }

    /// Whether its connection has stalled, and it may be repeated on another.
    pub(super) fn has_stalled(&self) -> bool {
        self.may_move && self.connection.has_stalled()
    }

    /// The failure of an attempt whose deadline, or whose idle timeout, has passed.
    pub(super) fn late(&self, idle_timeout: Duration) -> Failure {
        match self.is_past_deadline() {
            true => self.timed_out(),
            false if !self.is_sent() => Failure::not_sent(self.connection.is_open(), idle_timeout),
            false => Failure::silent(idle_timeout),
        }
    }

    /// Whether its deadline, or its operation's, has passed.
    pub(super) fn is_past_deadline(&self) -> bool {
        Instant::now() >= self.deadline
    }

    /// The failure of an attempt that timed out.
    pub(super) fn timed_out(&self) -> Failure {
        match self.is_sent() {
            true => Failure::timed_out(NO_COMPLETE_ANSWER, self.timeout),
            false => Failure::not_sent(self.connection.is_open(), self.timeout),
        }
    }

    /// The failure of an attempt whose connection has stalled.
    pub(super) fn stalled(&self) -> Failure {
        match self.is_sent() {
            true => Failure::stalled(),
            false => Failure::stalled().before_sending(),
        }
    }

    fn is_sent(&self) -> bool {
        self.is_sent.load(Ordering::Relaxed)
    }

    /// The failure that a status means for this attempt.
    pub(super) fn failure(&self, status: Status) -> Failure {
        /// `grpc-timeout` is sent in whole units, so the server's timer may fire this long before ours.
        const UNIT: Duration = Duration::from_millis(1);
        let failure = Failure::from(status);
        match Instant::now() + UNIT >= self.deadline {
            true => failure.at_deadline(self.timeout),
            false => failure,
        }
    }
}

/// What the name of a routing cookie begins with.
const COOKIE_PREFIX: &str = "x-goog-cbt-cookie";

/// Limits for the cookies of an operation and for the bytes of their names and values: far above what Bigtable sends, far
/// below what the headers of a request may have.
const MAX_COOKIES: usize = 32;
const MAX_COOKIE_BYTES: usize = 8 * 1024;

/// The routing cookies of an operation, the newest of each name. The client returns those that a server sends with every
/// later attempt.
#[derive(Default)]
struct Cookies {
    kept: HeaderMap,
    bytes: usize,
    /// Whether a cookie was dropped.
    is_full: bool,
}

fn is_cookie(name: &HeaderName) -> bool {
    name.as_str().starts_with(COOKIE_PREFIX)
}

impl Cookies {
    /// Keeps the cookies of an answer. Returns the first one that it ever drops.
    fn keep<'a>(&mut self, headers: &'a HeaderMap) -> Option<&'a str> {
        let mut dropped = None;
        for (name, value) in headers.iter().filter(|(name, _)| is_cookie(name)) {
            let size = |value: &HeaderValue| name.as_str().len() + value.len();
            let old = self.kept.get(name).map(size);
            let bytes = self.bytes - old.unwrap_or(0) + size(value);
            if bytes > MAX_COOKIE_BYTES || (old.is_none() && self.kept.len() >= MAX_COOKIES) {
                if !std::mem::replace(&mut self.is_full, true) {
                    dropped = Some(name.as_str());
                }
                continue;
            }
            self.bytes = bytes;
            self.kept.insert(name, value.clone());
        }
        dropped
    }
}
