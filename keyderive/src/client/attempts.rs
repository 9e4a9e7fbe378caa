//! One operation over all its attempts: when to try again, how long to wait first, and when to give up.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, timeout_at};
use tonic::metadata::{KeyRef, MetadataMap};
use tonic::{Code, Request, Status};

use super::Client;
use super::channels::{Channels, Lease};
use super::error::{Ended, Error, Tries};
use super::failure::Failure;
use super::gate::Pass;
use super::headers;
use super::observe::Watch;
use super::operation::{Operation, Replay};
use super::settings::CallSettings;
use super::transport::Transport;

/// Routing cookies have names that begin so. What a server sends is sent back on every later attempt.
const COOKIE: &str = "x-goog-cbt-cookie";

/// A timeout stands for never from here on: tokio counts no further.
pub(super) const NEVER: Duration = Duration::from_secs(30 * 365 * 24 * 60 * 60);

/// An operation, and what its attempts have come to.
pub(super) struct Attempts {
    client: Client,
    /// The connections that it may go by.
    channels: Arc<Channels>,
    operation: Operation,
    settings: CallSettings,
    _pass: Arc<Pass>,
    pub(super) watch: Watch,
    begun: Instant,
    /// How many attempts have been made.
    made: u32,
    /// How many have failed since anything came of one.
    failed: u32,
    /// How many of them in a row did not say when to come back: what the pause grows with.
    paused: u32,
    cookies: MetadataMap,
    /// The connection that the last attempt failed by.
    avoided: Option<usize>,
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
    /// When the client is closed.
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
            cookies: MetadataMap::new(),
            avoided: None,
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
    pub(super) fn begin(&mut self) -> Result<Attempt, Error> {
        let lease = self.channels.lease(self.avoided);
        let lease = lease.ok_or_else(|| Error::configuration("the client has no connection"))?;
        self.watch.attempt_begins();
        let number = self.made;
        self.made += 1;
        let timeout = self.settings.attempt_timeout.min(self.left()).min(NEVER);
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
        headers::insert_all(metadata, &self.cookies);
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
        for key in metadata.keys() {
            let KeyRef::Ascii(key) = key else { continue };
            if let (true, Some(value)) = (key.as_str().starts_with(COOKIE), metadata.get(key)) {
                self.cookies.insert(key.clone(), value.clone());
            }
        }
    }

    /// Something has come of the attempts so far: failures count from the beginning again.
    pub(super) fn progressed(&mut self) {
        self.failed = 0;
        self.paused = 0;
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
        let pause = self.pause_after(attempt, failure);
        tracing::debug!(
            parent: self.watch.span(),
            operation = self.operation.rpc,
            table = &*self.operation.table,
            attempt = self.made,
            code = super::failure::name(failure.code),
            again = pause.is_ok(),
            pause_ms = pause.ok().map(|pause| u64::try_from(pause.as_millis()).unwrap_or(u64::MAX)),
            "an attempt failed"
        );
        pause.map(|pause| Instant::now() + pause)
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
        let safe = failure.unsent || self.operation.replay() == Replay::Always;
        if !(failure.transient && safe) {
            return Err(None);
        }
        if self.failed >= self.settings.max_attempts {
            return Err(Some(Ended::Attempts));
        }
        let pause = self.pause(failure.retry_after);
        if pause >= self.left() {
            return Err(Some(Ended::Time(self.settings.total_timeout)));
        }
        let contact = self.client.settings().first_contact;
        let nobody_there = failure.unsent && !failure.is_of_credentials() && !self.channels.has_answered();
        if nobody_there && self.begun.elapsed() + pause >= contact {
            return Err(Some(Ended::NoContact));
        }
        Ok(pause)
    }

    /// How many attempts have been made.
    pub(super) fn made(&self) -> u32 {
        self.made
    }

    /// The failure as the error of the whole operation.
    pub(super) fn error(&self, failure: Failure, ended: Option<Ended>) -> Error {
        let tries = Tries { attempts: self.made.max(1), elapsed: self.begun.elapsed(), ended };
        Error::rpc(&self.operation, failure, tries)
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
            Ok(answer) => answer.map_err(Failure::from),
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
            Ok(answer) => answer.map_err(Failure::from),
            Err(_) => Err(Failure::silent(idle_timeout)),
        }
    }

    /// The failure of an attempt that took too long.
    pub(super) fn timed_out(&self) -> Failure {
        Failure::timed_out("no whole answer came", self.timeout)
    }
}
