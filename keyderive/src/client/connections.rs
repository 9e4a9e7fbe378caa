//! The connections of a client: the pool that requests take them from, which grows and shrinks with the load.

mod dial;
pub(super) mod health;
mod http2;
mod runtime;
#[cfg(feature = "cloud")]
mod tls;
mod upkeep;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};
use std::time::Duration;

use http::HeaderMap;
use http::uri::PathAndQuery;
use tokio::sync::Notify;
use tokio::time::Instant;
use tonic::Status;
#[cfg(feature = "embedded")]
use tonic::body::Body;

pub(super) use dial::{Connector, Dial, Dialer, check_emulator};
use health::{Health, Pulse};
use http2::Http2;
pub(super) use runtime::check_timers;
pub(super) use upkeep::{REFRESH_AFTER, Upkeep, UpkeepTask, prime};

use super::fault::{ConnectError, Overload};
use super::grpc::{Answer, Request};
use crate::row::now_micros;

/// A connection is replaced after this many attempts in a row that timed out without an answer, even if its server still
/// answers pings.
const SILENT_ATTEMPTS: usize = 3;

/// A pool grows when even its least busy connection has this many requests in flight: half of what servers allow.
const BUSY: usize = 50;

/// A warning is not repeated within this time.
const WARN_INTERVAL: Duration = Duration::from_secs(30);

/// How many connections a pool has at least and at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PoolSize {
    pub(super) min: usize,
    pub(super) max: usize,
}

impl PoolSize {
    /// A pool that neither grows nor shrinks.
    pub(super) fn fixed(count: usize) -> Self {
        Self { min: count, max: count }
    }
}

/// A pool of connections. Each request takes the one with the fewest requests in flight.
pub(super) struct Pool {
    connections: RwLock<Vec<Arc<Connection>>>,
    size: PoolSize,
    /// Makes the connections that replace others, or join them.
    dialer: Option<Arc<dyn Dial>>,
    /// Where the search for the least busy connection begins, so that equally busy ones take turns.
    next: AtomicUsize,
    /// How many connections there have been.
    made: AtomicUsize,
    /// Notified when the pool should grow.
    too_busy: Notify,
    /// Limits the warning that operations fail.
    failure_warnings: WarnLimit,
    /// Limits the warning that cells with a time in the future were read.
    future_cell_warnings: WarnLimit,
    /// Limits the warning that the stamp of a table lacks a salt whose bound has passed.
    bound_warnings: WarnLimit,
    /// Whether a warning has been logged that there is no connection for hedged reads.
    warned_of_single_connection: AtomicBool,
}

/// A pool that connects when it is first used.
pub(super) struct LazyPool {
    dialer: Arc<dyn Dial>,
    count: usize,
    pool: OnceLock<Arc<Pool>>,
}

impl LazyPool {
    /// A pool of connections with [small windows](Dial::small_windows).
    pub(super) fn small_windows(dialer: Arc<dyn Dial>, count: usize) -> Self {
        Self { dialer, count, pool: OnceLock::new() }
    }

    pub(super) fn pool(&self) -> &Arc<Pool> {
        self.pool
            .get_or_init(|| Arc::new(Pool::dialed(self.dialer.small_windows(), PoolSize::fixed(self.count))))
    }
}

/// How much a connection is to be avoided: whether its server lives, whether a request would wait, how many are in flight.
type Busy = (Pulse, bool, usize);

/// A connection of a pool.
#[derive(Debug)]
struct Connection {
    /// Tells the connections of a pool apart.
    number: usize,
    transport: Transport,
    health: Arc<Health>,
    /// The most requests that were in flight since the pool last asked.
    peak: AtomicUsize,
    /// How many attempts have timed out since the server last answered.
    silent: AtomicUsize,
}

/// Counts a request as in flight on its connection until dropped.
#[derive(Debug)]
pub(super) struct PooledConnection(Arc<Connection>);

/// How busy a pool is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PoolLoad {
    pub(super) connections: usize,
    pub(super) in_flight: usize,
    /// How many of the requests in flight wait for a connection.
    pub(super) waiting: usize,
}

impl Pool {
    /// A pool of these connections, at least one.
    pub(super) fn new(transports: impl IntoIterator<Item = Transport>) -> Self {
        let connections: Vec<_> =
            transports.into_iter().enumerate().map(|(number, one)| Connection::new(number, one)).collect();
        Self {
            size: PoolSize::fixed(connections.len()),
            made: AtomicUsize::new(connections.len()),
            connections: RwLock::new(connections),
            dialer: None,
            next: AtomicUsize::new(0),
            too_busy: Notify::new(),
            failure_warnings: WarnLimit::default(),
            future_cell_warnings: WarnLimit::default(),
            bound_warnings: WarnLimit::default(),
            warned_of_single_connection: AtomicBool::new(false),
        }
    }

    /// A pool that begins with its least number of connections.
    pub(super) fn dialed(dialer: Arc<dyn Dial>, size: PoolSize) -> Self {
        let first: Vec<_> = (0..size.min).map(|_| dialer.dial()).collect();
        Self { size, dialer: Some(dialer), ..Self::new(first) }
    }

    fn connections(&self) -> Vec<Arc<Connection>> {
        // Nothing panics while it holds the lock.
        self.connections.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn transports(&self) -> Vec<Transport> {
        self.connections().iter().map(|connection| connection.transport.clone()).collect()
    }

    pub(super) fn load(&self) -> PoolLoad {
        let connections = self.connections();
        let healths = || connections.iter().map(|connection| &connection.health);
        PoolLoad {
            connections: connections.len(),
            in_flight: healths().map(|health| health.in_flight()).sum(),
            waiting: healths().map(|health| health.waiting()).sum(),
        }
    }

    /// Takes the least busy connection whose server lives, and one that is open rather than one that is not. If there are several,
    /// not the one with the number `avoided`, on which the last attempt failed.
    ///
    /// # Errors
    /// When `max_waiting` requests wait, and this one would wait too.
    pub(super) fn get(
        &self,
        avoided: Option<usize>,
        max_waiting: usize,
    ) -> Result<PooledConnection, Overload> {
        let (mut has_stalled, mut has_closed) = (false, false);
        let least_busy = {
            let connections = self.connections.read().unwrap_or_else(PoisonError::into_inner);
            let count = connections.len();
            let first = self.next.fetch_add(1, Ordering::Relaxed);
            let in_turn = (0..count).filter_map(|offset| connections.get(first.wrapping_add(offset) % count));
            let mut least_busy: Option<(Busy, &Arc<Connection>)> = None;
            for connection in in_turn {
                let health = &connection.health;
                let pulse = health.pulse();
                has_stalled |= pulse == Pulse::Stalled;
                has_closed |= health.is_closed();
                let busy = (pulse, health.would_wait(), health.in_flight());
                let is_avoided = count > 1 && Some(connection.number) == avoided;
                if !is_avoided && least_busy.is_none_or(|(least, _)| busy < least) {
                    least_busy = Some((busy, connection));
                }
            }
            let Some(((_, _, in_flight), connection)) = least_busy else { return Err(self.overload(0)) };
            if in_flight >= BUSY && count < self.size.max {
                self.too_busy.notify_one();
            }
            Arc::clone(connection)
        };
        if has_stalled {
            self.replace_stalled();
        }
        if has_closed {
            self.open_closed();
        }
        if least_busy.health.would_wait() {
            let waiting = self.load().waiting;
            if waiting >= max_waiting {
                return Err(self.overload(waiting));
            }
        }
        Ok(PooledConnection::new(least_busy))
    }

    #[cold]
    fn overload(&self, waiting: usize) -> Overload {
        let connections = self.connections();
        let is_open = connections.iter().any(|connection| !connection.health.is_closed());
        let causes = || connections.iter().find_map(|connection| connection.health.connect_error());
        Overload { waiting, is_open, cause: if is_open { None } else { causes() } }
    }

    /// Whether reads cannot be hedged, since there is never another connection. True once.
    pub(super) fn may_warn_of_single_connection(&self) -> bool {
        self.size.max < 2 && !self.warned_of_single_connection.swap(true, Ordering::Relaxed)
    }

    /// Begins to open the connections that are not open, so that no request has to wait for them.
    #[cold]
    fn open_closed(&self) {
        for connection in self.connections() {
            if let (true, Transport::Http2(http2)) = (connection.health.is_closed(), &connection.transport) {
                http2.begin();
            }
        }
    }

    /// Replaces the connections that have stalled. The old ones close when their last requests have ended.
    #[cold]
    fn replace_stalled(&self) {
        let Some(dialer) = &self.dialer else { return };
        let mut connections = self.connections.write().unwrap_or_else(PoisonError::into_inner);
        for slot in connections.iter_mut().filter(|slot| slot.health.pulse() == Pulse::Stalled) {
            *slot = Connection::new(self.made.fetch_add(1, Ordering::Relaxed), dialer.dial());
            tracing::warn!("a connection has stalled; it is replaced");
        }
    }

    /// Puts a new connection in the place of the one with this number. The old one closes when its last request has ended.
    fn replace(&self, number: usize, transport: Transport) {
        let mut connections = self.connections.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(slot) = connections.iter_mut().find(|slot| slot.number == number) {
            *slot = Connection::new(self.made.fetch_add(1, Ordering::Relaxed), transport);
        }
    }

    /// Adds a connection.
    fn add(&self, transport: Transport) {
        let mut connections = self.connections.write().unwrap_or_else(PoisonError::into_inner);
        if connections.len() < self.size.max {
            connections.push(Connection::new(self.made.fetch_add(1, Ordering::Relaxed), transport));
        }
    }

    /// Removes half of the connections that the load since the last call did not need. They close when their last requests
    /// have ended.
    fn shrink(&self) {
        let mut connections = self.connections.write().unwrap_or_else(PoisonError::into_inner);
        let peak: usize = connections.iter().map(|connection| connection.take_peak()).sum();
        // Half as busy as a pool that grows, so that it does not grow again at once.
        let needed = peak.div_ceil(BUSY / 2).max(self.size.min);
        let excess = connections.len().saturating_sub(needed);
        let kept = connections.len() - excess.div_ceil(2);
        connections.truncate(kept);
    }

    /// Records that the server answered an attempt.
    pub(super) fn answered(&self, connection: &PooledConnection) {
        if connection.0.silent.load(Ordering::Relaxed) > 0 {
            connection.0.silent.store(0, Ordering::Relaxed);
        }
    }

    /// Records that an attempt timed out without an answer, and replaces the connection if that happens too often.
    pub(super) fn timed_out(&self, connection: &PooledConnection) {
        // One that is being opened, or waits for its server, has a timeout of its own.
        if connection.0.health.is_closed() {
            return;
        }
        let silent = connection.0.silent.fetch_add(1, Ordering::Relaxed) + 1;
        let Some(dialer) = self.dialer.as_ref().filter(|_| silent == SILENT_ATTEMPTS) else { return };
        self.replace(connection.0.number, dialer.dial());
        tracing::warn!(silent, "a connection has gone silent; it is replaced");
    }

    /// Whether a warning about failing operations may be logged now.
    pub(super) fn may_warn(&self) -> bool {
        self.failure_warnings.permits()
    }

    /// Whether a warning about cells with a time in the future may be logged now.
    pub(super) fn may_warn_of_future_cells(&self) -> bool {
        self.future_cell_warnings.permits()
    }

    /// Whether a warning about the bound of a salt may be logged now.
    pub(super) fn may_warn_of_bounds(&self) -> bool {
        self.bound_warnings.permits()
    }

    /// The servers in this process, if requests go to these.
    #[cfg(feature = "embedded")]
    pub(super) fn in_process(&self) -> Option<Arc<dyn InProcess>> {
        match &self.connections().first()?.transport {
            Transport::InProcess(servers) => Some(Arc::clone(servers)),
            Transport::Http2(_) => None,
        }
    }
}

/// Lets a warning through once in [`WARN_INTERVAL`].
#[derive(Default)]
struct WarnLimit(Mutex<Option<Instant>>);

impl WarnLimit {
    fn permits(&self) -> bool {
        // Nothing panics while it holds the lock.
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let permits = last.is_none_or(|last| last.elapsed() >= WARN_INTERVAL);
        if permits {
            *last = Some(Instant::now());
        }
        permits
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool").field("connections", &self.connections()).finish_non_exhaustive()
    }
}

impl Connection {
    fn new(number: usize, transport: Transport) -> Arc<Self> {
        let health = match &transport {
            Transport::Http2(http2) => Arc::clone(http2.health()),
            #[cfg(feature = "embedded")]
            Transport::InProcess(_) => Arc::new(Health::in_process()),
        };
        Arc::new(Self { number, transport, health, peak: AtomicUsize::new(0), silent: AtomicUsize::new(0) })
    }

    fn take_peak(&self) -> usize {
        self.peak.swap(self.health.in_flight(), Ordering::Relaxed)
    }
}

impl PooledConnection {
    fn new(connection: Arc<Connection>) -> Self {
        let in_flight = connection.health.enter();
        if in_flight > connection.peak.load(Ordering::Relaxed) {
            connection.peak.fetch_max(in_flight, Ordering::Relaxed);
        }
        Self(connection)
    }

    pub(super) fn transport(&self) -> &Transport {
        &self.0.transport
    }

    /// The number of the connection.
    pub(super) fn number(&self) -> usize {
        self.0.number
    }

    /// Whether the connection is open.
    pub(super) fn is_open(&self) -> bool {
        !self.0.health.is_closed()
    }

    /// Whether the server has stopped answering on this connection.
    pub(super) fn has_stalled(&self) -> bool {
        self.0.health.pulse() == Pulse::Stalled
    }
}

impl Drop for PooledConnection {
    fn drop(&mut self) {
        self.0.health.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Carries requests to a Bigtable: over a connection, or by a call to servers in this process.
#[derive(Clone)]
pub(crate) enum Transport {
    Http2(Arc<Http2>),
    #[cfg(feature = "embedded")]
    InProcess(Arc<dyn InProcess>),
}

impl Transport {
    /// Sends a request with the time until the deadline, and waits for the head of its answer. Dropping the future cancels the
    /// request. Sets `is_sent` once the request no longer waits to be sent.
    pub(super) async fn send(
        &self,
        path: PathAndQuery,
        headers: HeaderMap,
        request: Request,
        deadline: Instant,
        is_sent: &AtomicBool,
    ) -> Result<Answer, Status> {
        request.check()?;
        match self {
            Self::Http2(http2) => http2.send(path, headers, request, deadline, is_sent).await,
            #[cfg(feature = "embedded")]
            Self::InProcess(servers) => {
                // The answer is ready at once, so a task that only makes such calls would never let others run.
                tokio::task::coop::consume_budget().await;
                is_sent.store(true, Ordering::Relaxed);
                let mut headers = headers;
                super::grpc::set_timeout(&mut headers, deadline.saturating_duration_since(Instant::now()));
                let mut http = http::Request::new(Body::new(request));
                (*http.method_mut(), *http.uri_mut()) = (http::Method::POST, path.into());
                *http.headers_mut() = headers;
                Answer::new(servers.call(http).await.map(super::grpc::AnswerBody::InProcess))
            }
        }
    }
}

impl Transport {
    /// Waits until it carries requests.
    ///
    /// # Errors
    /// When it reaches no server.
    async fn open(&self) -> Result<(), ConnectError> {
        match self {
            Self::Http2(http2) => http2.connected().await,
            #[cfg(feature = "embedded")]
            Self::InProcess(_) => Ok(()),
        }
    }
}

/// gRPC servers in this process.
#[cfg(feature = "embedded")]
pub(crate) trait InProcess: Send + Sync {
    fn call(&self, request: http::Request<Body>) -> BoxFuture<http::Response<Body>>;

    /// The time of the servers in microseconds, in whole milliseconds.
    fn now_micros(&self) -> i64 {
        now_micros()
    }

    /// The globally unique id of the table with this full name. None if there is no such table, or the servers assign
    /// no ids.
    fn table_id(&self, _table: &str) -> Option<u64> {
        None
    }
}

/// The clock for the times of cells: this machine's, unless a Bigtable in this process or a test sets another.
#[derive(Clone, Default)]
pub(crate) struct Clock(Option<Arc<dyn Fn() -> i64 + Send + Sync>>);

impl Clock {
    /// A clock that shows what this returns: microseconds since the epoch, in whole milliseconds.
    pub(super) fn by(now_micros: impl Fn() -> i64 + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(now_micros)))
    }

    /// The time in microseconds, in whole milliseconds.
    #[inline]
    pub(crate) fn now_micros(&self) -> i64 {
        self.0.as_ref().map_or_else(now_micros, |now_micros| now_micros())
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}

pub(crate) type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Http2(http2) => http2.fmt(f),
            #[cfg(feature = "embedded")]
            Self::InProcess(_) => f.write_str("InProcess"),
        }
    }
}
