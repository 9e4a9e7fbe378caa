//! The connections of a client: the pool that requests take them from, how they are made, and how they are refreshed.

use std::cell::Cell;
use std::error::Error as StdError;
use std::fmt;
use std::future::Future;
use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::panic::catch_unwind;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock, Weak};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_util::future::{Either, join_all, select};
use http::Uri;
use http::uri::{Authority, Scheme};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioIo;
use keyderive_proto::data::PingAndWarmRequest;
use tokio::io::DuplexStream;
use tokio::net::TcpStream;
use tokio::runtime::{Handle, Id};
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tonic::body::Body;
use tonic::transport::{Channel, Endpoint};
use tower_service::Service;

use super::error::Error;
use super::operation::RpcMethod;
use super::retry::{self, Attempts, NEVER};
use super::shutdown::Shutdown;
use super::{Client, Inner, Settings, observe};

/// A connection counts as dead after this many attempts in a row that timed out without an answer, even if its
/// keepalive has not failed yet.
const SILENT_ATTEMPTS: usize = 3;

/// A warning is not repeated within this time.
const WARN_INTERVAL: Duration = Duration::from_secs(30);

/// A pool of connections. Each request takes the one with the fewest requests in flight.
pub(super) struct Channels {
    slots: Vec<RwLock<Arc<Connection>>>,
    /// Replaces a dead connection.
    dialer: Option<Arc<dyn Dial>>,
    /// Where the search for the least busy connection begins, so that equally busy ones take turns.
    next: AtomicUsize,
    /// Limits the warning that operations fail.
    failure_warnings: WarnLimit,
    /// Limits the warning that cells with a time in the future were read.
    future_cell_warnings: WarnLimit,
}

/// A pool that connects when it is first used.
pub(super) struct LazyPool {
    dialer: Arc<dyn Dial>,
    count: usize,
    channels: OnceLock<Arc<Channels>>,
}

impl LazyPool {
    /// A pool of connections with [small windows](Dial::small_windows).
    pub(super) fn small_windows(dialer: Arc<dyn Dial>, count: usize) -> Self {
        Self { dialer, count, channels: OnceLock::new() }
    }

    pub(super) fn channels(&self) -> &Arc<Channels> {
        self.channels.get_or_init(|| {
            let dialer = self.dialer.small_windows();
            let dialed = (0..self.count).map(|_| dialer.dial());
            Arc::new(Channels::new(dialed).with_dialer(Arc::clone(&dialer)))
        })
    }
}

/// A connection and its number of requests in flight.
#[derive(Debug)]
struct Connection {
    transport: Transport,
    in_flight: AtomicUsize,
    /// How many attempts have timed out since the server last answered.
    silent: AtomicUsize,
}

/// Counts a request as in flight on its connection until dropped.
#[derive(Debug)]
pub(super) struct Lease {
    connection: Arc<Connection>,
    slot: usize,
}

impl Channels {
    /// A pool of these connections, at least one.
    pub(super) fn new(transports: impl IntoIterator<Item = Transport>) -> Self {
        Self {
            slots: transports.into_iter().map(|transport| RwLock::new(Connection::new(transport))).collect(),
            dialer: None,
            next: AtomicUsize::new(0),
            failure_warnings: WarnLimit::default(),
            future_cell_warnings: WarnLimit::default(),
        }
    }

    /// Replaces dead connections by those that `dialer` makes.
    pub(super) fn with_dialer(self, dialer: Arc<dyn Dial>) -> Self {
        Self { dialer: Some(dialer), ..self }
    }

    fn len(&self) -> usize {
        self.slots.len()
    }

    /// Takes the least busy connection. If there are several, not the slot `avoided`, on which the last attempt failed.
    pub(super) fn lease(&self, avoided: Option<usize>) -> Option<Lease> {
        let count = self.slots.len();
        let first = self.next.fetch_add(1, Ordering::Relaxed);
        let slots = (0..count).map(|offset| first.wrapping_add(offset) % count);
        let leasable = slots.filter(|slot| count == 1 || Some(*slot) != avoided);
        let busy =
            |slot: &usize| self.slots.get(*slot).map(|slot| current(slot).in_flight.load(Ordering::Relaxed));
        let slot = leasable.min_by_key(busy)?;
        let connection = current(self.slots.get(slot)?);
        connection.in_flight.fetch_add(1, Ordering::Relaxed);
        Some(Lease { connection, slot })
    }

    /// Puts a new connection into a slot. The old one closes when its last request has ended.
    fn replace(&self, slot: usize, transport: Transport) {
        if let Some(slot) = self.slots.get(slot) {
            *slot.write().unwrap_or_else(PoisonError::into_inner) = Connection::new(transport);
        }
    }

    /// Records that the server answered an attempt.
    pub(super) fn answered(&self, lease: &Lease) {
        lease.connection.silent.store(0, Ordering::Relaxed);
    }

    /// Records that an attempt timed out without an answer, and replaces the connection if it counts as dead.
    pub(super) fn timed_out(&self, lease: &Lease) {
        let silent = lease.connection.silent.fetch_add(1, Ordering::Relaxed) + 1;
        let (Some(dialer), Some(slot)) = (&self.dialer, self.slots.get(lease.slot)) else { return };
        if silent < SILENT_ATTEMPTS {
            return;
        }
        let mut slot = slot.write().unwrap_or_else(PoisonError::into_inner);
        if Arc::ptr_eq(&slot, &lease.connection) {
            *slot = Connection::new(dialer.dial());
            tracing::warn!(silent, "a connection has gone silent; it is replaced");
        }
    }

    /// Whether a warning about failing operations may be logged now.
    pub(super) fn may_warn(&self) -> bool {
        self.failure_warnings.permits()
    }

    /// Whether a warning about cells with a time in the future may be logged now.
    pub(super) fn may_warn_of_future_cells(&self) -> bool {
        self.future_cell_warnings.permits()
    }

    /// The servers in this process, if requests go to these.
    #[cfg(feature = "embedded")]
    pub(super) fn in_process(&self) -> Option<Arc<dyn InProcess>> {
        match &current(self.slots.first()?).transport {
            Transport::InProcess(servers) => Some(Arc::clone(servers)),
            Transport::Channel(..) | Transport::Ended => None,
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

impl fmt::Debug for Channels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Channels").field("slots", &self.slots).finish_non_exhaustive()
    }
}

fn current(slot: &RwLock<Arc<Connection>>) -> Arc<Connection> {
    // Nothing panics while it holds the lock.
    Arc::clone(&slot.read().unwrap_or_else(PoisonError::into_inner))
}

impl Connection {
    fn new(transport: Transport) -> Arc<Self> {
        Arc::new(Self { transport, in_flight: AtomicUsize::new(0), silent: AtomicUsize::new(0) })
    }
}

impl Lease {
    pub(super) fn transport(&self) -> Transport {
        self.connection.transport.clone()
    }

    pub(super) fn slot(&self) -> usize {
        self.slot
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.connection.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The flow-control window of a stream. Streams that wait for their turn in an ordered merge fill it: the windows of all
/// streams of a connection must fit in [`CONNECTION_WINDOW`], or the merge hangs.
const STREAM_WINDOW: u32 = 1 << 20;

/// The window of a stream of a scan with many streams, which has connections of its own. All waiting streams are
/// buffered in memory; together they have as much in flight as a few streams with large windows.
const SMALL_STREAM_WINDOW: u32 = 1 << 16;

/// The most that HTTP/2 allows. h2 counts unread small frames against a budget of half this window, and closes the
/// connection when that is used up; streams of tiny rows exhaust the default in moments.
const CONNECTION_WINDOW: u32 = (1 << 31) - 1;

/// How long to wait for an emulator that may be starting.
const EMULATOR_TIMEOUT: Duration = Duration::from_secs(3);
const EMULATOR_BACKOFF: Duration = Duration::from_millis(100);

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Google's front ends drop connections that are idle for minutes.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(30);
const KEEP_ALIVE_TIMEOUT: Duration = Duration::from_secs(10);

const USER_AGENT: &str = concat!("keyderive/", env!("CARGO_PKG_VERSION"));

/// Makes connections to one address, all with the same options.
pub(super) trait Dial: Send + Sync {
    /// A new connection. It connects at its first use, and reconnects when it breaks.
    fn dial(&self) -> Transport;

    /// Makes connections to the same address with small stream windows.
    fn small_windows(&self) -> Arc<dyn Dial>;
}

/// Makes connections over TCP, with or without TLS.
#[derive(Clone)]
pub(super) struct Dialer {
    endpoint: Endpoint,
    authority: Authority,
    plaintext: bool,
    /// The runtime of the connections.
    runtime: Handle,
    connect: Connect,
}

/// Makes a connection with the options of an endpoint.
type Connect = Arc<dyn Fn(Endpoint) -> Channel + Send + Sync>;

impl Dialer {
    /// A dialer of the emulator at `host:port`.
    pub(super) fn emulator(host: &str) -> Result<Self, Error> {
        let address: Option<Authority> = host.parse().ok();
        address
            .filter(|address| address.port_u16().is_some() && names_only_a_host(address))
            .and_then(|address| Self::plaintext(address).transpose())
            .unwrap_or_else(|| {
                Err(Error::configuration(format!(
                    "`{host}` is no emulator address; write a host and a port, such as `localhost:8086`"
                )))
            })
    }

    /// A dialer of the server that a URI names, with TLS if its scheme is `https`.
    pub(super) fn endpoint(uri: &str) -> Result<Self, Error> {
        let parts = uri.parse::<Uri>().ok().map(Uri::into_parts);
        let named = parts.filter(|parts| parts.path_and_query.as_ref().is_none_or(|path| path == "/"));
        let named = named.and_then(|parts| parts.scheme.zip(parts.authority.filter(names_only_a_host)));
        let dialer = match named {
            Some((scheme, authority)) if scheme == Scheme::HTTP => Self::plaintext(authority)?,
            Some((scheme, authority)) if scheme == Scheme::HTTPS => Self::tls(&authority)?,
            _ => None,
        };
        dialer.ok_or_else(|| {
            Error::configuration(format!(
                "`{uri}` is no endpoint; write the scheme and the host, such as `https://bigtable.googleapis.com`"
            ))
        })
    }

    /// None if the authority is not a valid address.
    fn plaintext(authority: Authority) -> Result<Option<Self>, Error> {
        let endpoint = Endpoint::from_shared(format!("http://{authority}")).ok();
        Self::new(endpoint, authority, true)
    }

    #[cfg(feature = "cloud")]
    fn tls(authority: &Authority) -> Result<Option<Self>, Error> {
        use tonic::transport::ClientTlsConfig;
        let tls = ClientTlsConfig::new().with_webpki_roots();
        let endpoint = Endpoint::from_shared(format!("https://{authority}")).ok();
        Self::new(endpoint.and_then(|endpoint| endpoint.tls_config(tls).ok()), authority.clone(), false)
    }

    #[cfg(not(feature = "cloud"))]
    fn tls(authority: &Authority) -> Result<Option<Self>, Error> {
        Err(Error::configuration(format!(
            "`https://{authority}` needs TLS, and keyderive was built without it; enable the feature `cloud`"
        )))
    }

    fn new(endpoint: Option<Endpoint>, authority: Authority, plaintext: bool) -> Result<Option<Self>, Error> {
        // A channel spawns its task where it is made, which panics outside a runtime.
        let runtime = check_connections()?;
        let endpoint = endpoint.and_then(|endpoint| endpoint.user_agent(USER_AGENT).ok()).map(configure);
        let connect: Connect = Arc::new(|endpoint| endpoint.connect_with_connector_lazy(tcp()));
        Ok(endpoint.map(|endpoint| Self { endpoint, authority, plaintext, runtime, connect }))
    }

    /// Uses pipes that `connect` makes in place of sockets.
    pub(super) fn connected_by(self, connect: impl Connector) -> Self {
        let pipes = Pipes(Arc::new(connect));
        Self {
            connect: Arc::new(move |endpoint| endpoint.connect_with_connector_lazy(pipes.clone())),
            ..self
        }
    }

    pub(super) fn address(&self) -> &str {
        self.authority.as_str()
    }

    /// Whether requests leave the machine unencrypted.
    pub(super) fn is_exposed(&self) -> bool {
        let host = self.authority.host().trim_start_matches('[').trim_end_matches(']');
        let address = host.parse::<std::net::IpAddr>();
        self.plaintext && host != "localhost" && !address.is_ok_and(|address| address.is_loopback())
    }

    pub(super) fn is_plaintext(&self) -> bool {
        self.plaintext
    }

    pub(super) fn runtime(&self) -> &Handle {
        &self.runtime
    }
}

impl fmt::Debug for Dialer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dialer").field("authority", &self.authority).finish_non_exhaustive()
    }
}

impl Dial for Dialer {
    fn dial(&self) -> Transport {
        let _inside = self.runtime.enter();
        Transport::Channel((self.connect)(self.endpoint.clone()), self.runtime.clone())
    }

    fn small_windows(&self) -> Arc<dyn Dial> {
        let endpoint = self.endpoint.clone().initial_stream_window_size(SMALL_STREAM_WINDOW);
        Arc::new(Self { endpoint, ..self.clone() })
    }
}

/// Waits until an HTTP/2 server answers at the address of an emulator.
///
/// # Errors
/// When none answers in time.
pub(super) async fn check_emulator(host: &str) -> Result<(), Error> {
    let mut reason = String::new();
    let answer = timeout(EMULATOR_TIMEOUT, async {
        while let Err(failure) = ping(host, &mut reason).await {
            reason = failure;
            sleep(EMULATOR_BACKOFF).await;
        }
    });
    answer.await.map_err(|_| {
        Error::unreachable(format!(
            "no emulator answered at `{host}` within {EMULATOR_TIMEOUT:?}: {reason}; start one there, or correct the \
             address"
        ))
    })
}

/// Sends an HTTP/2 ping on a new connection. Keeps in `reason` what it waits for, in case the caller times it out.
async fn ping(host: &str, reason: &mut String) -> Result<(), String> {
    "no server accepted the connection".clone_into(reason);
    let socket = TcpStream::connect(host).await.map_err(|error| error.to_string())?;
    "a server accepted the connection, but sent nothing".clone_into(reason);
    let not_http2 = |error: h2::Error| format!("the server there does not speak HTTP/2: {error}");
    let (_requests, mut connection) = h2::client::handshake(socket).await.map_err(not_http2)?;
    let Some(mut pings) = connection.ping_pong() else { return Ok(()) };
    match select(pin!(pings.ping(h2::Ping::opaque())), pin!(connection)).await {
        Either::Left((answer, _)) => answer.map(drop).map_err(not_http2),
        Either::Right((Err(error), _)) => Err(not_http2(error)),
        Either::Right((Ok(()), _)) => Err("the server closed the connection at once".to_owned()),
    }
}

/// Makes pipes in place of sockets.
pub trait Connector: Fn() -> BoxFuture<io::Result<DuplexStream>> + Send + Sync + 'static {}

impl<F: Fn() -> BoxFuture<io::Result<DuplexStream>> + Send + Sync + 'static> Connector for F {}

/// A [`Connector`] as tonic takes it.
#[derive(Clone)]
struct Pipes(Arc<dyn Connector>);

impl Service<Uri> for Pipes {
    type Response = TokioIo<DuplexStream>;
    type Error = io::Error;
    type Future = BoxFuture<io::Result<Self::Response>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Uri) -> Self::Future {
        let pipe = (self.0)();
        Box::pin(async move { pipe.await.map(TokioIo::new) })
    }
}

/// Whether an address is only a host, with or without a port.
fn names_only_a_host(address: &Authority) -> bool {
    !address.host().is_empty() && !address.as_str().contains('@')
}

fn tcp() -> HttpConnector {
    let mut tcp = HttpConnector::new();
    // The scheme may be `https`: TLS runs on top of this connector.
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_connect_timeout(Some(CONNECT_TIMEOUT));
    tcp
}

fn configure(endpoint: Endpoint) -> Endpoint {
    endpoint
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .http2_keep_alive_interval(KEEP_ALIVE_INTERVAL)
        .keep_alive_timeout(KEEP_ALIVE_TIMEOUT)
        .keep_alive_while_idle(true)
        .connect_timeout(CONNECT_TIMEOUT)
}

/// Carries requests to a Bigtable: over a connection, or by a call to servers in this process. The generated clients run
/// on top of it.
#[derive(Clone)]
pub(crate) enum Transport {
    /// A connection and its runtime.
    Channel(Channel, Handle),
    /// A connection whose runtime has ended.
    Ended,
    #[cfg(feature = "embedded")]
    InProcess(Arc<dyn InProcess>),
}

/// gRPC servers in this process.
#[cfg(feature = "embedded")]
pub(crate) trait InProcess: Send + Sync {
    fn call(&self, request: http::Request<Body>) -> BoxFuture<http::Response<Body>>;

    /// The globally unique id of the table with this full name. None if there is no such table, or the servers assign
    /// no ids.
    fn table_id(&self, _table: &str) -> Option<u64> {
        None
    }
}

pub(crate) type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Channel(..) => f.write_str("Channel"),
            Self::Ended => f.write_str("Ended"),
            #[cfg(feature = "embedded")]
            Self::InProcess(_) => f.write_str("InProcess"),
        }
    }
}

impl Service<http::Request<Body>> for Transport {
    type Response = http::Response<Body>;
    type Error = Box<dyn StdError + Send + Sync>;
    type Future = BoxFuture<Result<Self::Response, Self::Error>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        match self {
            // A lazy connection returns its failures from `call`. What fails here is the task that runs it, which ends
            // with its runtime; the status that tonic would make of this looks like one from a server.
            Self::Channel(channel, _) => {
                if ready!(channel.poll_ready(context)).is_err() {
                    *self = Self::Ended;
                }
                Poll::Ready(Ok(()))
            }
            Self::Ended => Poll::Ready(Ok(())),
            #[cfg(feature = "embedded")]
            Self::InProcess(_) => Poll::Ready(Ok(())),
        }
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        match self {
            Self::Channel(channel, _) => {
                let answer = channel.call(request);
                Box::pin(async move { answer.await.map_err(Into::into) })
            }
            Self::Ended => Box::pin(async { Err(RuntimeEnded.into()) }),
            #[cfg(feature = "embedded")]
            Self::InProcess(servers) => {
                let response = servers.call(request);
                Box::pin(async move { Ok(response.await) })
            }
        }
    }
}

/// The runtime of a connection has ended, which closed the connection.
#[derive(Debug)]
pub(super) struct RuntimeEnded;

impl fmt::Display for RuntimeEnded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the tokio runtime in which this client was made has ended; make one client per runtime")
    }
}

impl StdError for RuntimeEnded {}

/// Google's front ends close a connection after an hour. Google's Go client refreshes its connections after 45 to 50
/// minutes.
pub(super) const REFRESH_AFTER: Duration = Duration::from_secs(45 * 60);

/// The longest random delay of a refresh, as a share of the age, so that connections do not refresh together: 5 minutes
/// of 45.
const REFRESH_JITTER: f64 = 1.0 / 9.0;

const MIN_REFRESH_AFTER: Duration = Duration::from_secs(1);

/// How long to wait after a refresh failed.
const REFRESH_RETRY_AFTER: Duration = Duration::from_secs(60);

/// How to refresh the connections of a pool.
pub(super) struct Refresh {
    pub(super) channels: Arc<Channels>,
    pub(super) dialer: Arc<dyn Dial>,
    pub(super) after: Duration,
    pub(super) prime: bool,
}

/// The task that refreshes the connections of a pool; it ends when this is dropped.
#[derive(Debug)]
pub(super) struct RefreshTask(AbortHandle);

impl Drop for RefreshTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Refresh {
    /// Refreshes the connections until the client is dropped or closed.
    pub(super) fn spawn(self, client: Weak<Inner>, settings: Arc<Settings>, runtime: &Handle) -> RefreshTask {
        RefreshTask(runtime.spawn(self.run(client, settings)).abort_handle())
    }

    async fn run(self, client: Weak<Inner>, settings: Arc<Settings>) {
        let mut due: Vec<Instant> = (0..self.channels.len()).map(|_| self.due()).collect();
        loop {
            let next = due.iter().copied().enumerate().min_by_key(|(_, due)| *due);
            let Some((slot, time)) = next else { return };
            sleep_until(time).await;
            let Some(inner) = client.upgrade().filter(|inner| !inner.shutdown.is_closed()) else { return };
            // `close` does not wait for what the client does on its own.
            let in_flight = Arc::new(Shutdown::default()).enter();
            let client = Client { inner, settings: Arc::clone(&settings), in_flight };
            let renewed = self.renew(&client, slot).await;
            observe::refreshed(renewed.is_ok());
            due[slot] = match renewed {
                Ok(()) => self.due(),
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be refreshed; the old one stays for now");
                    Instant::now() + REFRESH_RETRY_AFTER
                }
            };
        }
    }

    /// Replaces the connection of a slot.
    ///
    /// # Errors
    /// When the new connection reaches no server.
    pub(super) async fn renew(&self, client: &Client, slot: usize) -> Result<(), Error> {
        let transport = self.dialer.dial();
        if self.prime {
            match ping_and_warm(client, &transport).await {
                Err(error) if error.is_unsent() => return Err(error),
                outcome => warn_if_not_primed(outcome),
            }
        }
        self.channels.replace(slot, transport);
        Ok(())
    }

    fn due(&self) -> Instant {
        let after = self.after.clamp(MIN_REFRESH_AFTER, NEVER);
        Instant::now() + after.mul_f64(1.0 + REFRESH_JITTER * fastrand::f64())
    }
}

/// Primes all connections, and logs failures as warnings.
pub(super) async fn prime(client: &Client, transports: &[Transport]) {
    join_all(transports.iter().map(|transport| async {
        warn_if_not_primed(ping_and_warm(client, transport).await);
    }))
    .await;
}

async fn ping_and_warm(client: &Client, transport: &Transport) -> Result<(), Error> {
    let operation = client.instance_operation(RpcMethod::PingAndWarm);
    let message = PingAndWarmRequest {
        name: client.instance_name().to_owned(),
        app_profile_id: client.app_profile().to_owned(),
    };
    let channels = Arc::new(Channels::new([transport.clone()]));
    let attempts = Attempts::over(channels, client, operation)?;
    let answer = retry::call(attempts, message, |transport, request| async move {
        retry::data(transport).ping_and_warm(request).await
    });
    answer.await.map(drop)
}

fn warn_if_not_primed(outcome: Result<(), Error>) {
    if let Err(error) = outcome {
        tracing::warn!(%error, "a connection could not be primed, and is used anyway");
    }
}

/// Fails outside of a tokio runtime with timers. `what` begins the error's text, such as `operations run`.
///
/// # Errors
/// A configuration error that says what is missing.
#[inline]
pub(super) fn check_timers(what: &str) -> Result<Handle, Error> {
    thread_local! {
        /// The runtime in which the last check succeeded.
        static FOUND: Cell<Option<Id>> = const { Cell::new(None) };
    }
    let runtime = Handle::try_current().map_err(|_| no_runtime(what))?;
    if FOUND.get() == Some(runtime.id()) {
        return Ok(runtime);
    }
    if !has_timers() {
        return Err(Error::configuration(format!(
            "{what} only inside a tokio runtime with timers, and the current runtime has none; build it with \
             `enable_all`, or with `enable_time`"
        )));
    }
    FOUND.set(Some(runtime.id()));
    Ok(runtime)
}

/// Fails outside of a tokio runtime with sockets and timers, which connections need.
///
/// # Errors
/// A configuration error that says what is missing.
fn check_connections() -> Result<Handle, Error> {
    let runtime = check_timers("a client is made")?;
    match has_sockets() {
        true => Ok(runtime),
        false => Err(Error::configuration(
            "a client is made only inside a tokio runtime with sockets, since its connections run there, and the \
             current runtime has none; build it with `enable_all`, or with `enable_io` and `enable_time`",
        )),
    }
}

#[cold]
fn no_runtime(what: &str) -> Error {
    Error::configuration(format!("{what} only inside a tokio runtime, and none is running"))
}

// tokio does not say whether a runtime has timers or sockets: creating one panics. These functions catch the panic before
// an operation begins, rather than in the middle of it. The program's panic hook still reports it: replacing the hook would
// silence the panics of other threads. A program with `panic = "abort"` ends here, as it would at the first timer.

fn has_timers() -> bool {
    catch_unwind(|| drop(tokio::time::sleep(Duration::ZERO))).is_ok()
}

/// True also if no socket can be created to find out: connections then fail with the reason.
fn has_sockets() -> bool {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0));
    let Ok(socket) = socket.and_then(|socket| socket.set_nonblocking(true).map(|()| socket)) else {
        return true;
    };
    catch_unwind(|| drop(tokio::net::UdpSocket::from_std(socket))).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outside_a_runtime_is_an_error() {
        let error = Dialer::emulator("localhost:1").unwrap_err();
        assert!(error.is_misconfiguration() && error.to_string().contains("tokio runtime"));
    }

    #[tokio::test]
    async fn an_invalid_emulator_address_is_an_error() {
        for host in [
            "local host",
            "http://localhost:8086",
            "localhost",
            "localhost:99999",
            "localhost:1/",
            ":8086",
            "user@localhost:1",
            "",
        ] {
            let error = Dialer::emulator(host).unwrap_err();
            assert_eq!(
                error.to_string(),
                format!("`{host}` is no emulator address; write a host and a port, such as `localhost:8086`")
            );
        }
        assert!(Dialer::emulator("[::1]:8086").is_ok());
    }

    #[tokio::test]
    async fn an_endpoint_has_a_scheme_and_a_host() {
        for uri in [
            "",
            "localhost:8086",
            "ftp://localhost",
            "http://",
            "http://localhost/path",
            "a b",
            "http://:80",
            "http://me@localhost",
        ] {
            let error = Dialer::endpoint(uri).unwrap_err();
            assert!(error.is_misconfiguration());
            assert!(error.to_string().starts_with(&format!("`{uri}` is no endpoint")), "{error}");
        }
        assert_eq!(Dialer::endpoint("http://localhost:1/").unwrap().address(), "localhost:1");
    }

    #[tokio::test]
    async fn requests_that_leave_the_machine_unencrypted_are_exposed() {
        for (uri, exposed) in [
            ("http://10.0.0.1:80", true),
            ("http://proxy", true),
            ("http://localhost:1", false),
            ("http://127.3.2.1:1", false),
            ("http://[::1]:1", false),
        ] {
            assert_eq!(Dialer::endpoint(uri).unwrap().is_exposed(), exposed, "{uri}");
        }
    }

    #[tokio::test]
    #[cfg(not(feature = "cloud"))]
    async fn without_the_feature_tls_is_an_error_that_names_it() {
        let error = Dialer::endpoint("https://bigtable.googleapis.com").unwrap_err();
        assert!(error.to_string().contains("feature `cloud`"), "{error}");
    }
}
