//! How an operation is sent: attempt by attempt, until one is answered or the operation fails for good.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use keyderive_proto::admin::bigtable_table_admin_client::BigtableTableAdminClient;
use keyderive_proto::data::bigtable_client::BigtableClient;
use keyderive_proto::{EMBEDDED_HEADER, MAX_MESSAGE_BYTES};
use prost::Message;
use tokio::time::{Instant, sleep_until, timeout_at};
use tonic::metadata::{KeyRef, MetadataMap};
use tonic::{Code, Request, Response, Status};

use super::Client;
use super::connections::{self, Channels, Lease, Transport};
use super::error::{AttemptSummary, Error, RetryLimit};
use super::failure::{Failure, NO_COMPLETE_ANSWER};
use super::observe::{self, Watch};
use super::operation::{self, Idempotency, Operation};
use super::settings::CallSettings;
use super::shutdown::InFlightGuard;
use super::write::token;

/// Longer timeouts count as this one: tokio's `Instant` overflows if more is added.
pub(super) const NEVER: Duration = Duration::from_secs(30 * 365 * 24 * 60 * 60);

/// How long an operation fails before its retries are logged as a warning.
const WARN_AFTER: Duration = Duration::from_secs(5);

/// Sends `message` with `send` until an attempt succeeds, or the operation fails for good.
///
/// One attempt's timeout covers all of `send`, so `send` must read a stream to its end.
pub(super) async fn call<M, R, F>(
    mut attempts: Attempts,
    message: M,
    send: impl Fn(Transport, Request<M>) -> F,
) -> Result<R, Error>
where
    M: Payload,
    F: Future<Output = Result<Response<R>, Status>>,
{
    if attempts.watch.is_wanted() {
        attempts.watch.count(attempts.operation().rows_sent(), message.bytes());
    }
    loop {
        let attempt = attempts.begin()?;
        let answer = match attempts.request(&attempt, message.clone()).await {
            Ok(request) => attempt.within(send(attempt.transport(), request)).await,
            Err(failure) => Err(failure),
        };
        match answer {
            Ok(response) => {
                attempts.answered(&attempt);
                attempts.note_server(response.metadata());
                attempts.succeeded();
                return Ok(response.into_inner());
            }
            Err(failure) => {
                let retry_at = attempts.failed(&attempt, failure)?;
                drop(attempt);
                sleep_until(retry_at).await;
            }
        }
    }
}

/// A request message, which is cloned for each attempt.
pub(super) trait Payload: Clone {
    fn bytes(&self) -> usize;
}

impl<M: Message + Clone> Payload for M {
    fn bytes(&self) -> usize {
        self.encoded_len()
    }
}

/// An operation and the state of its attempts.
pub(super) struct Attempts {
    client: Client,
    channels: Arc<Channels>,
    operation: Operation,
    settings: CallSettings,
    _in_flight: Arc<InFlightGuard>,
    pub(super) watch: Watch,
    begun: Instant,
    /// How many attempts have been made.
    made: u32,
    /// How many attempts have failed since the last progress.
    failed: u32,
    /// How many failures in a row came without a delay from the server; the backoff grows with it.
    backoffs: u32,
    failing_since: Option<Instant>,
    /// Whether a backoff has been shortened to the remaining time.
    is_shortened: bool,
    cookies: Cookies,
    /// The slot of the connection on which the last attempt failed.
    avoided: Option<usize>,
    /// Whether an attempt to write may have been applied.
    may_be_applied: bool,
}

/// One attempt. It counts as in flight on its connection until dropped.
pub(super) struct Attempt {
    lease: Lease,
    /// Counted from 0.
    number: u32,
    pub(super) deadline: Instant,
    timeout: Duration,
}

impl Attempts {
    /// # Errors
    /// When the client is closed, the table's name is invalid, or no tokio runtime is running.
    pub(super) fn new(client: &Client, operation: Operation) -> Result<Self, Error> {
        let channels = Arc::clone(client.channels(&operation));
        Self::over(channels, client, operation)
    }

    /// As [`new`](Self::new), on these connections.
    pub(super) fn over(
        channels: Arc<Channels>,
        client: &Client,
        operation: Operation,
    ) -> Result<Self, Error> {
        operation.check_table()?;
        connections::check_timers("operations run")?;
        let in_flight = client.admit(&operation)?;
        let mut attempts = Self {
            settings: operation.settings(client).clone(),
            client: client.clone(),
            channels,
            watch: Watch::new(&operation),
            operation,
            _in_flight: in_flight,
            begun: Instant::now(),
            made: 0,
            failed: 0,
            backoffs: 0,
            failing_since: None,
            is_shortened: false,
            cookies: Cookies::default(),
            avoided: None,
            may_be_applied: false,
        };
        if attempts.operation.idempotency() == Idempotency::ByToken {
            attempts.end_before_tokens();
        }
        Ok(attempts)
    }

    /// Ends the attempts while servers remember the tokens of the first.
    pub(super) fn end_before_tokens(&mut self) {
        self.settings.total_timeout = self.settings.total_timeout.min(token::RETRIED_FOR);
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
    /// When no time is left.
    pub(super) fn begin(&mut self) -> Result<Attempt, Error> {
        let timeout = self.settings.attempt_timeout.min(self.left()).min(NEVER);
        if timeout.is_zero() {
            let status = Status::deadline_exceeded("no time is left for an attempt");
            let failure =
                Failure { answered: false, timed_out: true, ..Failure::from(status).before_sending() };
            let allowed = self.settings.attempt_timeout.min(self.settings.total_timeout);
            let tries = AttemptSummary { attempts: self.made, ..self.tries(Some(RetryLimit::Time(allowed))) };
            self.watch.set_outcome(Code::DeadlineExceeded);
            return Err(Error::rpc(&self.operation, failure, tries));
        }
        let lease = self.channels.lease(self.avoided);
        let lease = lease.ok_or_else(|| Error::configuration("the client has no connection"))?;
        self.watch.attempt_begins();
        let number = self.made;
        self.made += 1;
        Ok(Attempt { lease, number, deadline: Instant::now() + timeout, timeout })
    }

    /// The request of an attempt, with all its headers.
    ///
    /// # Errors
    /// When there is no access token. The attempt has then failed.
    pub(super) async fn request<M>(&self, attempt: &Attempt, message: M) -> Result<Request<M>, Failure> {
        let mut request = Request::new(message);
        // The server stops at the same deadline.
        request.set_timeout(attempt.timeout);
        let metadata = request.metadata_mut();
        self.operation.insert_headers(metadata, &self.client.inner.features, attempt.number);
        operation::insert_all(metadata, &self.cookies.kept);
        if let Some(credentials) = &self.client.inner.credentials {
            let headers = timeout_at(attempt.deadline, credentials.headers()).await;
            let headers = headers
                .map_err(|_| Failure::timed_out("no access token came", attempt.timeout).before_sending())?;
            operation::insert_all(metadata, &headers.map_err(Failure::no_token)?);
        }
        Ok(request)
    }

    /// Notes what the metadata of an answer say: of the server, and its routing cookies.
    pub(super) fn note(&mut self, metadata: &MetadataMap) {
        self.note_server(metadata);
        self.keep_cookies(metadata);
    }

    /// Notes whether the answer is of a server that honours idempotency tokens.
    pub(super) fn note_server(&self, metadata: &MetadataMap) {
        if !self.client.honours_tokens() && metadata.contains_key(EMBEDDED_HEADER) {
            self.client.inner.honours_tokens.store(true, Ordering::Relaxed);
        }
    }

    /// Keeps the routing cookies of an answer.
    pub(super) fn keep_cookies(&mut self, metadata: &MetadataMap) {
        let Some(name) = self.cookies.keep(metadata) else { return };
        tracing::warn!(
            parent: self.watch.span(),
            operation = self.operation.rpc,
            table = &*self.operation.table,
            cookie = name,
            "the server sends more routing cookies than the client keeps; this one is dropped"
        );
    }

    /// Records progress, which resets the count of failures and the backoff.
    pub(super) fn progressed(&mut self) {
        self.failed = 0;
        self.backoffs = 0;
        self.failing_since = None;
    }

    /// Records that the server has answered an attempt, with whatever status.
    pub(super) fn answered(&self, attempt: &Attempt) {
        self.channels.answered(&attempt.lease);
    }

    /// Records that the operation has succeeded.
    pub(super) fn succeeded(&mut self) {
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
            operation = self.operation.rpc,
            table = &*self.operation.table,
            attempt = self.made,
            code = keyderive_proto::code_name(failure.code),
            reason = failure.message,
            retried = pause.is_ok(),
            pause_ms = pause.ok().map(|pause| u64::try_from(pause.as_millis()).unwrap_or(u64::MAX)),
            "an attempt failed"
        );
        if pause.is_ok() {
            self.warn(failure);
        }
        pause.map(|pause| Instant::now() + pause)
    }

    /// Logs a warning, now and then, for an operation that has been retried for some time.
    fn warn(&mut self, failure: &Failure) {
        let failing = self.failing_since.get_or_insert_with(Instant::now).elapsed();
        if failing >= WARN_AFTER && self.channels.may_warn() {
            tracing::warn!(
                parent: self.watch.span(),
                operation = self.operation.rpc,
                table = &*self.operation.table,
                at = %self.operation.target,
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
        observe::future_cells(&self.operation.table, cells);
        if self.channels.may_warn_of_future_cells() {
            tracing::warn!(
                parent: self.watch.span(),
                table = &*self.operation.table,
                cells,
                "cells are more than a minute in the future, by this machine's clock, and hide what is written to their \
                 columns until then; find the program that sets their times, and delete these versions"
            );
        }
    }

    fn retry_delay(&mut self, attempt: &Attempt, failure: &Failure) -> Result<Duration, Option<RetryLimit>> {
        self.note(&failure.metadata);
        if failure.answered {
            self.answered(attempt);
        } else if failure.timed_out && !failure.unsent {
            self.channels.timed_out(&attempt.lease);
        }
        self.failed = self.failed.saturating_add(1);
        self.avoided = Some(attempt.lease.slot());
        let safe = failure.is_not_applied() || self.client.may_repeat(self.operation.idempotency());
        if !(failure.transient && safe) {
            return Err(None);
        }
        if self.failed >= self.settings.max_attempts {
            return Err(Some(RetryLimit::Attempts));
        }
        let pause = match failure.retry_after {
            Some(delay) => {
                self.backoffs = 0;
                Some(delay).filter(|delay| *delay < self.left())
            }
            None => {
                self.backoffs = self.backoffs.saturating_add(1);
                let backoff = self.settings.backoff.pause(self.backoffs, fastrand::f64());
                cap_backoff(backoff, self.left(), &mut self.is_shortened)
            }
        };
        pause.ok_or(Some(RetryLimit::Time(self.settings.total_timeout)))
    }

    /// How many attempts have been made.
    pub(super) fn made(&self) -> u32 {
        self.made
    }

    /// The failure as the error of the whole operation.
    pub(super) fn error(&self, failure: Failure, ended: Option<RetryLimit>) -> Error {
        Error::rpc(&self.operation, failure, self.tries(ended))
    }

    fn tries(&self, ended: Option<RetryLimit>) -> AttemptSummary {
        let unknown_outcome = self.may_be_applied.then(|| self.operation.idempotency());
        let (attempts, elapsed) = (self.made.max(1), self.begun.elapsed());
        let honours_tokens = self.client.honours_tokens();
        AttemptSummary { attempts, elapsed, ended, unknown_outcome, honours_tokens }
    }

    /// The time left for all attempts.
    fn left(&self) -> Duration {
        self.settings.total_timeout.saturating_sub(self.begun.elapsed())
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
    pub(super) fn transport(&self) -> Transport {
        self.lease.transport()
    }

    /// The answer, or a failure when the attempt times out.
    pub(super) async fn within<T>(
        &self,
        answer: impl Future<Output = Result<T, Status>>,
    ) -> Result<T, Failure> {
        match timeout_at(self.deadline, answer).await {
            Ok(answer) => answer.map_err(|status| self.failure(status)),
            Err(_) => Err(self.timed_out()),
        }
    }

    /// The head of an answer, or a failure when the attempt or the idle timeout ends first.
    pub(super) async fn head_within<T>(
        &self,
        idle_timeout: Duration,
        answer: impl Future<Output = Result<T, Status>>,
    ) -> Result<T, Failure> {
        let idle = Instant::now() + idle_timeout;
        if idle >= self.deadline {
            return self.within(answer).await;
        }
        match timeout_at(idle, answer).await {
            Ok(answer) => answer.map_err(|status| self.failure(status)),
            Err(_) => Err(Failure::silent(idle_timeout)),
        }
    }

    /// The failure of an attempt that timed out.
    pub(super) fn timed_out(&self) -> Failure {
        Failure::timed_out(NO_COMPLETE_ANSWER, self.timeout)
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

/// Adds the metadata of the answer's head to the status that ended a stream: either may have a routing cookie.
pub(super) fn with_head(mut status: Status, head: MetadataMap) -> Status {
    let own = std::mem::replace(status.metadata_mut(), head);
    operation::insert_all(status.metadata_mut(), &own);
    status
}

/// The data service over `transport`.
pub(super) fn data(transport: Transport) -> BigtableClient<Transport> {
    BigtableClient::new(transport)
        .max_decoding_message_size(MAX_MESSAGE_BYTES)
        .max_encoding_message_size(MAX_MESSAGE_BYTES)
}

/// The admin service over `transport`.
pub(super) fn admin(transport: Transport) -> BigtableTableAdminClient<Transport> {
    BigtableTableAdminClient::new(transport)
        .max_decoding_message_size(MAX_MESSAGE_BYTES)
        .max_encoding_message_size(MAX_MESSAGE_BYTES)
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
    kept: MetadataMap,
    bytes: usize,
    /// Whether a cookie was dropped.
    is_full: bool,
}

impl Cookies {
    /// Keeps the cookies of an answer. Returns the first one that it ever drops.
    fn keep<'a>(&mut self, metadata: &'a MetadataMap) -> Option<&'a str> {
        let mut dropped = None;
        for key in metadata.keys() {
            let KeyRef::Ascii(key) = key else { continue };
            let Some(value) = metadata.get(key).filter(|_| key.as_str().starts_with(COOKIE_PREFIX)) else {
                continue;
            };
            let old = self.kept.get(key).map(|value| key.as_str().len() + value.as_encoded_bytes().len());
            let new = key.as_str().len() + value.as_encoded_bytes().len();
            let bytes = self.bytes - old.unwrap_or(0) + new;
            if bytes > MAX_COOKIE_BYTES || (old.is_none() && self.kept.len() >= MAX_COOKIES) {
                if !std::mem::replace(&mut self.is_full, true) {
                    dropped = Some(key.as_str());
                }
                continue;
            }
            self.bytes = bytes;
            self.kept.insert(key.clone(), value.clone());
        }
        dropped
    }
}
