//! One connection of HTTP/2: it connects when it is first used, and again when it broke or the server closed it.
//!
//! Requests go straight to h2, where the requests of a connection share one lock: a task for each request, as general
//! clients have, costs more than the request itself.

use std::error::Error as StdError;
use std::fmt;
use std::future::{Future, poll_fn};
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::Shared;
use h2::client::{Connection, SendRequest};
use http::uri::{Authority, PathAndQuery, Scheme, Uri};
use http::{HeaderMap, Method, Version};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, TryAcquireError};
use tokio::time::{Instant, Sleep, sleep_until, timeout};
use tonic::Status;

use super::BoxFuture;
use super::health::{Health, Pulse, StreamPermit, Vitals};
use crate::client::fault::{ConnectError, RuntimeEnded};
use crate::client::grpc::{self, Answer, AnswerBody, Request};

/// The most that HTTP/2 allows. h2 counts unread small frames against a budget of half this window, and closes the
/// connection when that is used up; streams of tiny rows exhaust the default in moments.
const CONNECTION_WINDOW: u32 = (1 << 31) - 1;

const MAX_SEND_BUFFER: usize = 1 << 20;

/// How many requests a new connection carries until the server says how many it takes, which is rarely fewer.
const FIRST_STREAMS: usize = 100;

/// How long a connection may take until it carries requests.
pub(super) const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// How often an idle connection is pinged: Google's front ends drop connections that are idle for minutes.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(30);

/// A connection is closed when a ping has no answer for this long.
const KEEP_ALIVE_TIMEOUT: Duration = Duration::from_secs(10);

/// How often a connection with requests in flight is looked at: one that received nothing for this long is pinged.
const LOOK_INTERVAL: Duration = Duration::from_millis(250);

/// A connection counts as stalled when such a ping has no answer for this long.
const STALLED_AFTER: Duration = Duration::from_secs(1);

/// A connection that answered a ping and then stayed silent for this long is pinged again if requests have been sent
/// since.
const SECOND_PING_AFTER: Duration = Duration::from_secs(5);

/// An attempt fails after this many connections ended before they took its request.
const MAX_CONNECTIONS: u32 = 3;

/// How many streams that were reset h2 remembers.
const MAX_RESET_STREAMS: usize = 1_000;

/// A stream of bytes: a socket, with or without TLS, or a pipe.
pub(super) trait Io: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Io for T {}

/// Opens the stream of bytes of a connection.
pub(super) type Open =
    Arc<dyn Fn() -> BoxFuture<Result<Box<dyn Io>, Box<dyn StdError + Send + Sync>>> + Send + Sync>;

/// Where a connection goes, and with which options.
#[derive(Clone)]
pub(super) struct Endpoint {
    pub(super) scheme: Scheme,
    pub(super) authority: Authority,
    /// The flow-control window of a stream.
    pub(super) stream_window: u32,
    /// How long h2 remembers a stream that was reset. It answers what comes for others with a reset.
    pub(super) reset_memory: Duration,
    /// The runtime of the connection.
    pub(super) runtime: Handle,
    pub(super) open: Open,
}

/// A connection of HTTP/2.
pub(crate) struct Http2 {
    endpoint: Endpoint,
    state: Mutex<State>,
    health: Arc<Health>,
}

enum State {
    Unconnected,
    Connecting(Connecting),
    Connected(Sender),
}

type Connecting = Shared<BoxFuture<Result<Sender, ConnectError>>>;

/// Sends requests on one connection.
#[derive(Clone)]
struct Sender {
    requests: SendRequest<Bytes>,
    /// The streams that the server allows. A request waits here for its own: in h2's queue, a request that is dropped would still be
    /// sent, and cancelled at once.
    streams: Arc<Semaphore>,
    health: Arc<Health>,
    /// The generation of the connection, for its [`Health`].
    generation: u32,
}

impl Http2 {
    pub(super) fn new(endpoint: Endpoint) -> Self {
        Self { endpoint, state: Mutex::new(State::Unconnected), health: Arc::new(Health::default()) }
    }

    pub(super) fn health(&self) -> &Arc<Health> {
        &self.health
    }

    pub(in crate::client) fn runtime(&self) -> &Handle {
        &self.endpoint.runtime
    }

    /// Sends a request and waits for the head of its answer. Dropping the future cancels the request at the server; until
    /// `is_sent`, the request waits for its stream.
    pub(super) async fn send(
        &self,
        path: PathAndQuery,
        mut headers: HeaderMap,
        request: Request,
        deadline: Instant,
        is_sent: &AtomicBool,
    ) -> Result<Answer, Status> {
        let (mut requests, permit) =
            self.permitted().await.map_err(|error| Status::from_error(Box::new(error)))?;
        is_sent.store(true, Ordering::Relaxed);
        grpc::set_timeout(&mut headers, deadline.saturating_duration_since(Instant::now()));
        let (response, mut stream) =
            requests.send_request(self.head(path, headers)?, false).map_err(unsent)?;
        drop(requests);
        let (frame, tail) = request.into_frames();
        // The connection may take no more since a moment ago. A server does nothing for a request without an end.
        stream.send_data(frame, tail.is_none()).map_err(unsent)?;
        if let Some(tail) = tail {
            stream.send_data(tail, true).map_err(unsent)?;
        }
        let response = response.await.map_err(|error| Status::from_error(Box::new(error)))?;
        Answer::new(response.map(|stream| AnswerBody::Http2 { stream, _permit: permit }))
    }

    /// A sender on the open connection, once the server allows another stream.
    async fn permitted(&self) -> Result<(SendRequest<Bytes>, StreamPermit), ConnectError> {
        for _ in 0..MAX_CONNECTIONS {
            let sender = self.sender().await?;
            // Without a wait it takes nothing of the task's budget: with many requests in one task, the others would be polled in vain.
            let permit = match Arc::clone(&sender.streams).try_acquire_owned() {
                Err(TryAcquireError::NoPermits) => sender.streams.acquire_owned().await.ok(),
                permit => permit.ok(),
            };
            // None when the connection has ended.
            let Some(permit) = permit else { continue };
            if let Some(requests) = usable(&sender.requests) {
                return Ok((requests, StreamPermit::new(sender.health, sender.generation, permit)));
            }
        }
        Err(ConnectError(Arc::new(ConnectionsEnded)))
    }

    fn head(&self, path: PathAndQuery, headers: HeaderMap) -> Result<http::Request<()>, Status> {
        let Endpoint { scheme, authority, .. } = &self.endpoint;
        let mut uri = http::uri::Parts::default();
        (uri.scheme, uri.authority) = (Some(scheme.clone()), Some(authority.clone()));
        uri.path_and_query = Some(path);
        let mut head = http::Request::new(());
        (*head.method_mut(), *head.version_mut()) = (Method::POST, Version::HTTP_2);
        *head.uri_mut() = Uri::from_parts(uri).map_err(|error| Status::internal(error.to_string()))?;
        *head.headers_mut() = headers;
        Ok(head)
    }

    /// Waits until the connection carries requests.
    ///
    /// # Errors
    /// When it cannot be made. Nothing was sent then.
    pub(super) async fn connected(&self) -> Result<(), ConnectError> {
        self.sender().await.map(drop)
    }

    /// Begins to connect, if the connection is not open, has not been begun, and did not fail within the last second.
    #[cold]
    pub(super) fn begin(&self) {
        let state = &mut *self.state();
        let is_open = match state {
            State::Connected(sender) => usable(&sender.requests).is_some(),
            State::Connecting(connecting) => !is_over(connecting),
            State::Unconnected => false,
        };
        if !is_open && self.health.may_dial() {
            *state = State::Connecting(self.connect());
        }
    }

    /// A sender on the open connection; connects first if there is none. Concurrent callers share the attempt.
    async fn sender(&self) -> Result<Sender, ConnectError> {
        loop {
            let connecting = {
                let state = &mut *self.state();
                match state {
                    State::Connected(sender) if usable(&sender.requests).is_some() => {
                        return Ok(sender.clone());
                    }
                    // An old failure says nothing of the server now.
                    State::Connecting(connecting) if !is_over(connecting) => connecting.clone(),
                    _ => {
                        let connecting = self.connect();
                        *state = State::Connecting(connecting.clone());
                        connecting
                    }
                }
            };
            let connected = connecting.clone().await;
            {
                let state = &mut *self.state();
                if matches!(state, State::Connecting(current) if current.ptr_eq(&connecting)) {
                    *state = match &connected {
                        Ok(sender) => State::Connected(sender.clone()),
                        Err(_) => State::Unconnected,
                    };
                }
            }
            let sender = connected?;
            // The connection may have ended while nobody waited for it.
            if usable(&sender.requests).is_some() {
                return Ok(sender);
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing panics while it holds the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins to connect, on the runtime of the connection.
    fn connect(&self) -> Connecting {
        let connecting = open(self.endpoint.clone(), Vitals::begin(&self.health));
        let task = self.endpoint.runtime.spawn(connecting);
        task.map(|ended| ended.unwrap_or_else(|_| Err(ConnectError(Arc::new(RuntimeEnded))))).boxed().shared()
    }
}

impl fmt::Debug for Http2 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Http2").field("authority", &self.endpoint.authority).finish_non_exhaustive()
    }
}

/// A sender for one request; none if the connection takes no more, as after a `GOAWAY`.
fn usable(sender: &SendRequest<Bytes>) -> Option<SendRequest<Bytes>> {
    // A clone waits for no other request, so it is ready at once.
    let mut sender = sender.clone();
    let is_ready = sender.poll_ready(&mut Context::from_waker(Waker::noop()));
    matches!(is_ready, Poll::Ready(Ok(()))).then_some(sender)
}

/// Whether the attempt to connect has failed, or its connection takes no requests any more.
fn is_over(connecting: &Connecting) -> bool {
    // Nobody may have asked before, so look at the task itself.
    match connecting.clone().now_or_never() {
        None => false,
        Some(Ok(sender)) => usable(&sender.requests).is_none(),
        Some(Err(_)) => true,
    }
}

/// The status of a request that was not sent, or not to its end.
fn unsent(error: h2::Error) -> Status {
    Status::from_error(Box::new(ConnectError(Arc::new(error))))
}

/// Opens a connection, and starts the task that drives it.
async fn open(endpoint: Endpoint, mut vitals: Vitals) -> Result<Sender, ConnectError> {
    let opening = async {
        let io = (endpoint.open)().await.map_err(|error| ConnectError(error.into()))?;
        let io = Watched { io, reads: Arc::clone(&vitals.reads) };
        let mut http2 = h2::client::Builder::new();
        http2
            .initial_window_size(endpoint.stream_window)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .max_send_buffer_size(MAX_SEND_BUFFER)
            .initial_max_send_streams(FIRST_STREAMS)
            // Calls that are dropped reset their streams, and answers to them may still come.
            .max_concurrent_reset_streams(MAX_RESET_STREAMS)
            .reset_stream_duration(endpoint.reset_memory)
            .max_local_error_reset_streams(None)
            .enable_push(false);
        http2.handshake(io).await.map_err(|error| ConnectError(Arc::new(error)))
    };
    let opened = timeout(CONNECT_TIMEOUT, opening).await;
    let opened = opened.unwrap_or_else(|_| Err(ConnectError(Arc::new(ConnectTimeout))));
    let (requests, connection) = opened.inspect_err(|error| vitals.health.dial_failed(error))?;
    vitals.health.dialed();
    vitals.set_streams(requests.current_max_send_streams());
    let (health, generation) = (Arc::clone(&vitals.health), vitals.generation);
    let streams = Arc::clone(&vitals.permits);
    tokio::spawn(drive(connection, vitals));
    Ok(Sender { requests, streams, health, generation })
}

/// Runs a connection until it ends, or answers no ping. Its requests fail then.
async fn drive(mut connection: Connection<Watched, Bytes>, mut vitals: Vitals) {
    let mut pings = connection.ping_pong().map(|pings| Pings::new(pings, vitals.clone()));
    poll_fn(|cx| {
        if let Poll::Ready(ended) = Pin::new(&mut connection).poll(cx) {
            if let Err(error) = ended {
                tracing::debug!(%error, "a connection broke");
            }
            return Poll::Ready(());
        }
        vitals.set_streams(connection.max_concurrent_send_streams());
        match &mut pings {
            Some(pings) => pings.poll_dead(cx),
            None => Poll::Pending,
        }
    })
    .await;
    vitals.permits.close();
    vitals.show_streams(0);
    vitals.set_pulse(Pulse::Lively);
}

/// Pings the server: now and then, and when requests wait and nothing comes.
///
/// A silence is pinged twice at most, until the server has sent something else than the answers: servers close a connection that
/// pings often while they send nothing. gRPC's own allow two pings.
struct Pings {
    pings: h2::PingPong,
    vitals: Vitals,
    timer: Pin<Box<Sleep>>,
    /// Whether the timer runs for a connection with requests in flight.
    is_looking: bool,
    /// The number of reads at the last look.
    reads: u64,
    /// Since when only answers to pings have been received.
    silent_since: Instant,
    /// When the open ping was sent.
    pinged: Option<Instant>,
    /// When the last ping was sent, or the connection opened.
    last_ping: Instant,
    /// How often this silence was pinged.
    pings_sent: u32,
    /// How many requests there were at the last ping.
    requests: u64,
}

impl Pings {
    fn new(pings: h2::PingPong, vitals: Vitals) -> Self {
        let now = Instant::now();
        Self {
            pings,
            timer: Box::pin(sleep_until(now + KEEP_ALIVE_INTERVAL)),
            is_looking: false,
            reads: vitals.reads(),
            vitals,
            silent_since: now,
            pinged: None,
            last_ping: now,
            pings_sent: 0,
            requests: 0,
        }
    }

    /// Ready when a ping has no answer for [`KEEP_ALIVE_TIMEOUT`].
    fn poll_dead(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.pinged.is_some() && self.pings.poll_pong(cx).is_ready() {
            self.pinged = None;
            self.reads = self.vitals.reads();
            self.vitals.set_pulse(Pulse::Lively);
        }
        if !self.is_looking && self.vitals.is_busy() {
            self.is_looking = true;
            self.silent_since = Instant::now();
            self.timer.as_mut().reset(self.silent_since + LOOK_INTERVAL);
        }
        loop {
            ready!(self.timer.as_mut().poll(cx));
            let now = Instant::now();
            if self.look(now) {
                tracing::warn!("a connection did not answer a ping for {KEEP_ALIVE_TIMEOUT:?}; it is closed");
                return Poll::Ready(());
            }
            self.is_looking = self.vitals.is_busy();
            let next = match (self.is_looking, self.pinged) {
                (true, _) => now + LOOK_INTERVAL,
                (false, Some(pinged)) => pinged + KEEP_ALIVE_TIMEOUT,
                (false, None) => self.last_ping.max(self.silent_since) + KEEP_ALIVE_INTERVAL,
            };
            self.timer.as_mut().reset(next.max(now + LOOK_INTERVAL));
        }
    }

    /// Looks at the connection, and pings it if it is time; returns whether it is dead.
    fn look(&mut self, now: Instant) -> bool {
        let reads = self.vitals.reads();
        if reads != self.reads {
            (self.reads, self.silent_since, self.pings_sent) = (reads, now, 0);
            self.vitals.set_pulse(Pulse::Lively);
            return false;
        }
        if let Some(pinged) = self.pinged {
            let unanswered = now.saturating_duration_since(pinged);
            // A server that has never sent anything is not stalled: the connection is new.
            if unanswered >= STALLED_AFTER && reads > 0 && self.is_looking {
                self.vitals.set_pulse(Pulse::Stalled);
            }
            return unanswered >= KEEP_ALIVE_TIMEOUT;
        }
        let requests = self.vitals.health.requests.load(Ordering::Relaxed);
        let is_due = match self.pings_sent {
            0 => true,
            // The server lived then, but requests have been sent since.
            1 => requests != self.requests && now >= self.last_ping + SECOND_PING_AFTER,
            _ => false,
        };
        let is_quiet = self.is_looking && is_due;
        if (is_quiet || now >= self.last_ping + KEEP_ALIVE_INTERVAL)
            && self.pings.send_ping(h2::Ping::opaque()).is_ok()
        {
            (self.pinged, self.last_ping, self.requests) = (Some(now), now, requests);
            self.pings_sent += 1;
            if is_quiet {
                self.vitals.set_pulse(Pulse::Quiet);
            }
        }
        false
    }
}

/// A stream of bytes that counts what it receives.
struct Watched {
    io: Box<dyn Io>,
    reads: Arc<AtomicU64>,
}

impl AsyncRead for Watched {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut self.io).poll_read(cx, buffer);
        if read.is_ready() {
            self.reads.fetch_add(1, Ordering::Relaxed);
        }
        read
    }
}

impl AsyncWrite for Watched {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}

/// Connections ended before they took the request.
#[derive(Debug)]
struct ConnectionsEnded;

impl fmt::Display for ConnectionsEnded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{MAX_CONNECTIONS} connections ended before they took the request")
    }
}

impl StdError for ConnectionsEnded {}

/// A connection was not open in time.
#[derive(Debug)]
struct ConnectTimeout;

impl fmt::Display for ConnectTimeout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "it was not open within {CONNECT_TIMEOUT:?}")
    }
}

impl StdError for ConnectTimeout {}
