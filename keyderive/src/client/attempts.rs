//! One operation over all its attempts: when to try again, how long to wait first, and when to give up.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, timeout_at};
use tonic::metadata::MetadataMap;
use tonic::{Code, Request, Status};

use super::Client;
use super::channels::{Channels, Lease};
use super::cookies::Cookies;
use super::error::{Ended, Error, Tries};
use super::failure::{Failure, NO_WHOLE_ANSWER};
use super::headers;
use super::observe::{self, Watch};
use super::operation::{Operation, Replay};
use super::runtime;
use super::settings::CallSettings;
use super::shutdown::InFlightGuard;
use super::transport::Transport;

/// A timeout stands for never from here on: tokio counts no further.
pub(super) const NEVER: Duration = Duration::from_secs(30 * 365 * 24 * 60 * 60);

/// After so long without success it is a warning that an operation is tried again.
const WARN_AFTER: Duration = Duration::from_secs(5);

/// An operation, and what its attempts have come to.
pub(super) struct Attempts {
    client: Client,
    /// The connections that it may go by.
    channels: Arc<Channels>,
    operation: Operation,
    settings: CallSettings,
    _pass: Arc<InFlightGuard>,
    pub(super) watch: Watch,
    begun: Instant,
    /// How many attempts have been made.
    made: u32,
    /// How many have failed since anything came of one.
    failed: u32,
    /// How many of them in a row did not say when to come back: what the pause grows with.
    paused: u32,
    /// Since when they have failed.
    failing_since: Option<Instant>,
    /// Whether a pause has been cut to the time that is left.
    is_cut: bool,
    cookies: Cookies,
    /// The connection that the last attempt failed by.
    avoided: Option<usize>,
    /// Whether it writes, and an attempt may have been applied.
    is_open: bool,
}

/// Caps the backoff to the remaining time. A pause that is too long is shortened, once, so that an attempt fits into the
/// last quarter or second.
fn fitting(pause: Duration, left: Duration, cut: &mut bool) -> Option<Duration> {
    if pause < left {
        return Some(pause);
    }
    let shorter = left.saturating_sub((left / 4).min(Duration::from_secs(1)));
    (!left.is_zero() && !std::mem::replace(cut, true)).then_some(shorter)
}

/// One attempt, which holds its connection.
pub(super) struct Attempt {
    lease: Lease,
    /// From 0.
    number: u32,
    pub(super) ends: Instant,
    timeout: Duration,
}

impl Attempts {
    /// The first attempt of an operation may begin.
    ///
    /// # Errors
    /// When the client is closed, the table has no name, or no tokio runtime is running.
    pub(super) fn new(client: &Client, operation: Operation) -> Result<Self, Error> {
        let channels = Arc::clone(client.channels(&operation));
        Self::over(channels, client, operation)
    }

    /// As [`new`](Self::new), by these connections.
    pub(super) fn over(
        channels: Arc<Channels>,
        client: &Client,
        operation: Operation,
    ) -> Result<Self, Error> {
        operation.check_table()?;
        runtime::check_timers("operations run")?;
        let pass = client.admit(&operation)?;
        Ok(Self {
            settings: operation.settings(client).clone(),
            client: client.clone(),
            channels,
            watch: Watch::new(&operation),
            operation,
            _pass: pass,
            begun: Instant::now(),
            made: 0,
            failed: 0,
            paused: 0,
            failing_since: None,
            is_cut: false,
            cookies: Cookies::default(),
            avoided: None,
            is_open: false,
        })
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

    /// Begins an attempt, by the least busy connection that the last one did not fail by.
    ///
    /// # Errors
    /// When it would have no time.
    pub(super) fn begin(&mut self) -> Result<Attempt, Error> {
        let timeout = self.settings.attempt_timeout.min(self.left()).min(NEVER);
        if timeout.is_zero() {
            let status = Status::deadline_exceeded("no time is left for an attempt");
            let failure =
                Failure { answered: false, timed_out: true, ..Failure::from(status).before_sending() };
            let allowed = self.settings.attempt_timeout.min(self.settings.total_timeout);
            let tries = Tries { attempts: self.made, ..self.tries(Some(Ended::Time(allowed))) };
            self.watch.ends(Code::DeadlineExceeded);
            return Err(Error::rpc(&self.operation, failure, tries));
        }
        let lease = self.channels.lease(self.avoided);
        let lease = lease.ok_or_else(|| Error::configuration("the client has no connection"))?;
        self.watch.attempt_begins();
        let number = self.made;
        self.made += 1;
        Ok(Attempt { lease, number, ends: Instant::now() + timeout, timeout })
    }

    /// The request of an attempt, with all its headers.
    ///
    /// # Errors
    /// When there is no token to send it with. The attempt has failed then.
    pub(super) async fn request<M>(&self, attempt: &Attempt, message: M) -> Result<Request<M>, Failure> {
        let mut request = Request::new(message);
        // Told to the server, so that it stops too.
        request.set_timeout(attempt.timeout);
        let metadata = request.metadata_mut();
        self.operation.insert_headers(metadata, &self.client, attempt.number);
        headers::insert_all(metadata, self.cookies.kept());
        if let Some(credentials) = self.client.credentials() {
            let headers = timeout_at(attempt.ends, credentials.headers()).await;
            let headers = headers
                .map_err(|_| Failure::timed_out("no access token came", attempt.timeout).before_sending())?;
            headers::insert_all(metadata, &headers.map_err(Failure::no_token)?);
        }
        Ok(request)
    }

    /// Keeps the routing cookies that an answer has, the newest of each name.
    pub(super) fn learn(&mut self, metadata: &MetadataMap) {
        let Some(name) = self.cookies.take(metadata) else { return };
        tracing::warn!(
            parent: self.watch.span(),
            operation = self.operation.rpc,
            table = &*self.operation.table,
            cookie = name,
            "the server sends more routing cookies than are kept; this one is left out"
        );
    }

    /// Something has come of the attempts so far: failures count from the beginning again.
    pub(super) fn progressed(&mut self) {
        self.failed = 0;
        self.paused = 0;
        self.failing_since = None;
    }

    /// An attempt has been answered, whatever the answer is.
    pub(super) fn answered(&self, attempt: &Attempt) {
        self.channels.heard(&attempt.lease);
    }

    /// An attempt has had a whole answer, and with it the operation.
    pub(super) fn succeeded(&mut self) {
        self.watch.attempt_ends(Code::Ok);
        self.watch.ends(Code::Ok);
    }

    /// An attempt has failed; when to make the next one, if there is to be one.
    ///
    /// # Errors
    /// The failure as an error, when there is to be none.
    pub(super) fn failed(&mut self, attempt: &Attempt, failure: Failure) -> Result<Instant, Error> {
        self.decide(attempt, &failure).map_err(|ended| {
            let error = self.error(failure, ended);
            self.watch.ends(error.code().unwrap_or(Code::Unknown));
            error
        })
    }

    /// As [`failed`](Self::failed); when there is to be no further attempt, why not, unless the failure is final.
    pub(super) fn decide(&mut self, attempt: &Attempt, failure: &Failure) -> Result<Instant, Option<Ended>> {
        self.watch.attempt_ends(failure.code);
        self.is_open |= self.operation.is_write() && !failure.is_refused();
        let pause = self.pause_after(attempt, failure);
        tracing::debug!(
            parent: self.watch.span(),
            operation = self.operation.rpc,
            table = &*self.operation.table,
            attempt = self.made,
            code = keyderive_proto::code_name(failure.code),
            reason = failure.message,
            again = pause.is_ok(),
            pause_ms = pause.ok().map(|pause| u64::try_from(pause.as_millis()).unwrap_or(u64::MAX)),
            "an attempt failed"
        );
        if pause.is_ok() {
            self.warn(failure);
        }
        pause.map(|pause| Instant::now() + pause)
    }

    /// Says now and then that what is tried again has failed for some time.
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
                // A server's own words may name a row.
                reason = (!failure.answered).then_some(&*failure.message),
                ?failing,
                "an operation fails, and is tried again"
            );
        }
    }

    /// So many cells have been read whose time is more than a minute in the future. It is a warning now and then.
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

    fn pause_after(&mut self, attempt: &Attempt, failure: &Failure) -> Result<Duration, Option<Ended>> {
        self.learn(&failure.metadata);
        if failure.answered {
            self.answered(attempt);
        } else if failure.timed_out && !failure.unsent {
            self.channels.lost(&attempt.lease);
        }
        self.failed = self.failed.saturating_add(1);
        self.avoided = Some(attempt.lease.slot());
        let safe = failure.is_refused() || self.operation.replay() == Replay::Always;
        if !(failure.transient && safe) {
            return Err(None);
        }
        if self.failed >= self.settings.max_attempts {
            return Err(Some(Ended::Attempts));
        }
        let pause = self.pause(failure.retry_after);
        let over = Ended::Time(self.settings.total_timeout);
        let pause = match failure.retry_after {
            // Before that the server is not to be asked.
            Some(pause) => Some(pause).filter(|pause| *pause < self.left()),
            None => fitting(pause, self.left(), &mut self.is_cut),
        };
        pause.ok_or(Some(over))
    }

    /// How many attempts have been made.
    pub(super) fn made(&self) -> u32 {
        self.made
    }

    /// The failure as the error of the whole operation.
    pub(super) fn error(&self, failure: Failure, ended: Option<Ended>) -> Error {
        Error::rpc(&self.operation, failure, self.tries(ended))
    }

    fn tries(&self, ended: Option<Ended>) -> Tries {
        let open = self.is_open.then(|| self.operation.replay());
        Tries { attempts: self.made.max(1), elapsed: self.begun.elapsed(), ended, open }
    }

    /// How long is left of the time for all attempts.
    pub(super) fn left(&self) -> Duration {
        self.settings.total_timeout.saturating_sub(self.begun.elapsed())
    }

    /// When the time for all attempts is over.
    pub(super) fn ends(&self) -> Instant {
        Instant::now() + self.left().min(NEVER)
    }

    fn pause(&mut self, retry_after: Option<Duration>) -> Duration {
        match retry_after {
            Some(pause) => {
                // When the server stops saying, pauses begin at the shortest again.
                self.paused = 0;
                pause
            }
            None => {
                self.paused = self.paused.saturating_add(1);
                self.settings.backoff.pause(self.paused, fastrand::f64())
            }
        }
    }
}

impl Attempt {
    pub(super) fn transport(&self) -> Transport {
        self.lease.transport()
    }

    /// The answer, if it comes in time.
    pub(super) async fn within<T>(
        &self,
        answer: impl Future<Output = Result<T, Status>>,
    ) -> Result<T, Failure> {
        match timeout_at(self.ends, answer).await {
            Ok(answer) => answer.map_err(|status| self.failure(status)),
            Err(_) => Err(self.timed_out()),
        }
    }

    /// The head of an answer, if it comes in time and before the server has been silent for so long.
    pub(super) async fn head_within<T>(
        &self,
        idle_timeout: Duration,
        answer: impl Future<Output = Result<T, Status>>,
    ) -> Result<T, Failure> {
        let idle = Instant::now() + idle_timeout;
        if idle >= self.ends {
            return self.within(answer).await;
        }
        match timeout_at(idle, answer).await {
            Ok(answer) => answer.map_err(|status| self.failure(status)),
            Err(_) => Err(Failure::silent(idle_timeout)),
        }
    }

    /// The failure of an attempt that took too long.
    pub(super) fn timed_out(&self) -> Failure {
        Failure::timed_out(NO_WHOLE_ANSWER, self.timeout)
    }

    /// The failure that a status stands for. At the deadline, the server's timer may have fired before ours.
    pub(super) fn failure(&self, status: Status) -> Failure {
        /// `grpc-timeout` is sent in whole units, so the server's timer may fire this much before ours.
        const UNIT: Duration = Duration::from_millis(1);
        let failure = Failure::from(status);
        match Instant::now() + UNIT >= self.ends {
            true => failure.at_deadline(self.timeout),
            false => failure,
        }
    }
}
