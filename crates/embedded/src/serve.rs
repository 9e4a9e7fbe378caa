//! The embedded Bigtable on a port, for programs in other processes and languages.

mod shutdown;

use std::convert::Infallible;
use std::future::{Future, pending};
use std::io::{self, ErrorKind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_core::Stream;
use futures_util::future::{Either, select};
use futures_util::stream::unfold;
use http::HeaderValue;
use http_body::Frame;
use keyderive_proto::{EMBEDDED_HEADER, MAX_MESSAGE_BYTES, code_name};
use percent_encoding::percent_decode;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::futures::OwnedNotified;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::{Instant, Sleep, sleep};
use tonic::Status;
use tonic::body::Body;
use tonic::transport::Server;
use tonic::transport::server::Connected;
use tower_service::Service;

pub use self::shutdown::shutdown_signal;
use crate::{Bigtable, BoxFuture};

/// With this value of the header, each response says what serves it.
const VERSION: HeaderValue = HeaderValue::from_static(env!("CARGO_PKG_VERSION"));

/// The most open requests on one connection, the same as at Google's front ends.
const MAX_CONCURRENT_STREAMS: u32 = 100;

/// How many streams a client may reset before the server accepts them. A dropped scan resets all its streams at once;
/// the default limit of 20 would close its connection.
const MAX_RESET_STREAMS: usize = 10_000;

/// The flow-control windows of a stream and of a connection, which has room for all its streams.
const STREAM_WINDOW: u32 = 1 << 20;
const CONNECTION_WINDOW: u32 = MAX_CONCURRENT_STREAMS * STREAM_WINDOW;

/// The bounds of the keep-alive settings.
const MIN_KEEP_ALIVE: Duration = Duration::from_secs(1);
const MAX_KEEP_ALIVE: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// Settings of a served Bigtable: `bigtable.serve_with(listener, shutdown, |settings| settings.connections = 8)`.
///
/// | setting | default |
/// |---|---|
/// | `connections` | 512 |
/// | `handshake_timeout` | 10 s |
/// | `keep_alive_interval` | 30 s |
/// | `keep_alive_timeout` | 20 s |
/// | `grace` | 5 s |
/// | `request_bytes` | 512 MiB |
/// | `request_idle_timeout` | 60 s |
///
/// A single request may have 256 MiB, the limit of Bigtable.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServeSettings {
    /// How many connections may be open; 0 counts as 1. Further ones wait until one closes, and a warning is logged.
    pub connections: usize,
    /// Closes a connection that does not send the HTTP/2 preface within this time.
    pub handshake_timeout: Duration,
    /// How often each peer gets an HTTP/2 ping; at most once a second.
    pub keep_alive_interval: Duration,
    /// Closes a connection whose peer does not answer a ping within this time, or reads nothing within this time plus
    /// `keep_alive_interval`.
    pub keep_alive_timeout: Duration,
    /// How long open requests may take after shutdown begins. Then their connections are closed.
    pub grace: Duration,
    /// How many bytes the unfinished messages of all requests may have together. A request whose message does not fit is
    /// rejected with `RESOURCE_EXHAUSTED`.
    pub request_bytes: usize,
    /// Rejects a request with `DEADLINE_EXCEEDED` when its message has begun and no byte of it arrives within this time.
    pub request_idle_timeout: Duration,
}

impl Default for ServeSettings {
    fn default() -> Self {
        Self {
            connections: 512,
            handshake_timeout: Duration::from_secs(10),
            keep_alive_interval: Duration::from_secs(30),
            keep_alive_timeout: Duration::from_secs(20),
            grace: Duration::from_secs(5),
            request_bytes: 512 << 20,
            request_idle_timeout: Duration::from_secs(60),
        }
    }
}

impl Bigtable {
    /// Serves this Bigtable on a port until `shutdown` completes. Then open requests have 5 s to finish.
    ///
    /// ```no_run
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> std::io::Result<()> {
    /// use keyderive_embedded::Bigtable;
    ///
    /// let listener = tokio::net::TcpListener::bind("127.0.0.1:8086").await?;
    /// Bigtable::in_memory().serve(listener, std::future::pending()).await
    /// # }
    /// ```
    ///
    /// There is no authentication: anyone who can reach the port can read and change everything, so listen on the loopback
    /// interface. Each request is logged by `tracing` at debug level, with its method, its table if its headers name one,
    /// the time to the head of its response, and the code and message of its status if the head has one.
    ///
    /// # Errors
    /// If listening on the port fails.
    ///
    /// # Cancel safety
    /// A dropped future accepts no further connections. Open connections continue until their peers close them.
    pub async fn serve(&self, listener: TcpListener, shutdown: impl Future<Output = ()>) -> io::Result<()> {
        self.serve_with(listener, shutdown, |_| {}).await
    }

    /// Like [`serve`](Self::serve), with other [settings](ServeSettings).
    ///
    /// ```no_run
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> std::io::Result<()> {
    /// use std::time::Duration;
    ///
    /// use keyderive_embedded::Bigtable;
    ///
    /// let listener = tokio::net::TcpListener::bind("127.0.0.1:8086").await?;
    /// let grace = |settings: &mut keyderive_embedded::ServeSettings| settings.grace = Duration::from_secs(30);
    /// Bigtable::in_memory().serve_with(listener, std::future::pending(), grace).await
    /// # }
    /// ```
    ///
    /// # Errors
    /// As `serve`.
    ///
    /// # Cancel safety
    /// As `serve`.
    pub async fn serve_with(
        &self,
        listener: TcpListener,
        shutdown: impl Future<Output = ()>,
        change: impl FnOnce(&mut ServeSettings),
    ) -> io::Result<()> {
        let mut settings = ServeSettings::default();
        change(&mut settings);
        let keep_alive_interval = settings.keep_alive_interval.clamp(MIN_KEEP_ALIVE, MAX_KEEP_ALIVE);
        let keep_alive_timeout = settings.keep_alive_timeout.min(MAX_KEEP_ALIVE);
        let abort = Arc::new(Notify::new());
        let (begin_grace, grace_begun) = oneshot::channel();
        let shutdown = async move {
            shutdown.await;
            // The receiver is gone only if serving has ended.
            let _ = begin_grace.send(());
        };
        let grace = async {
            match grace_begun.await {
                Ok(()) => sleep(settings.grace).await,
                Err(_) => pending().await,
            }
        };
        let budget = Arc::new(RequestBudget::new(settings.request_bytes, settings.request_idle_timeout));
        let service = PortService { bigtable: self.clone(), budget };
        let incoming = incoming(listener, &settings, Arc::clone(&abort));
        let serving = Server::builder()
            .max_concurrent_streams(MAX_CONCURRENT_STREAMS)
            .http2_max_pending_accept_reset_streams(Some(MAX_RESET_STREAMS))
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .http2_keepalive_interval(Some(keep_alive_interval))
            .http2_keepalive_timeout(Some(keep_alive_timeout))
            .serve_with_incoming_shutdown(service, incoming, shutdown);
        let ended = match select(pin!(serving), pin!(grace)).await {
            Either::Left((ended, _)) => ended,
            Either::Right(((), serving)) => {
                tracing::warn!(grace = ?settings.grace, "open requests have exceeded the grace period; closing their connections");
                abort.notify_waiters();
                serving.await
            }
        };
        ended.map_err(io::Error::other)
    }
}

/// The service on the port: limits the memory of request bodies, and logs requests.
#[derive(Clone)]
struct PortService {
    bigtable: Bigtable,
    budget: Arc<RequestBudget>,
}

impl Service<http::Request<Body>> for PortService {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let method = request.uri().path().rsplit('/').next().unwrap_or_default().to_owned();
        let table = request.headers().get("x-goog-request-params").and_then(routed_table);
        let request = request.map(|body| Body::new(RequestBody::new(body, Arc::clone(&self.budget))));
        let (begun, answer) = (Instant::now(), self.bigtable.call(request));
        Box::pin(async move {
            let mut answer = answer.await?;
            answer.headers_mut().insert(EMBEDDED_HEADER, VERSION);
            let status = Status::from_header_map(answer.headers());
            let code = status.as_ref().map(|status| code_name(status.code()));
            let message = status.as_ref().map(Status::message).filter(|message| !message.is_empty());
            let elapsed = begun.elapsed();
            tracing::debug!(method, table, ?elapsed, code, status = message, "sent the head of the response");
            Ok(answer)
        })
    }
}

/// The table in a routing header.
fn routed_table(parameters: &HeaderValue) -> Option<String> {
    let parameters = percent_decode(parameters.as_bytes()).decode_utf8_lossy();
    let (_, table) = parameters.split_once("/tables/")?;
    table.split(['&', '/']).next().map(str::to_owned)
}

/// The length of the HTTP/2 preface, `PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n`.
const PREFACE_BYTES: usize = 24;

/// The initial and the largest backoff after a failed accept. The usual cause: the process has no file descriptor left
/// until a connection closes.
const MIN_BACKOFF: Duration = Duration::from_millis(50);
const MAX_BACKOFF: Duration = Duration::from_secs(1);

/// The least interval between warnings about held-up connections.
const WARN_EVERY: Duration = Duration::from_secs(10);

/// The connections that peers open. Notifying `abort` closes them.
fn incoming(
    listener: TcpListener,
    settings: &ServeSettings,
    abort: Arc<Notify>,
) -> impl Stream<Item = io::Result<Connection>> + use<> {
    let most = settings.connections.clamp(1, Semaphore::MAX_PERMITS);
    let acceptor = Acceptor {
        listener,
        most,
        permits: Arc::new(Semaphore::new(most)),
        abort,
        handshake_timeout: settings.handshake_timeout,
        write_timeout: settings.keep_alive_interval.saturating_add(settings.keep_alive_timeout),
        warned: None,
    };
    unfold(acceptor, |mut acceptor| async move {
        let connection = acceptor.accept().await;
        Some((Ok(connection), acceptor))
    })
}

/// Accepts connections.
struct Acceptor {
    listener: TcpListener,
    most: usize,
    permits: Arc<Semaphore>,
    abort: Arc<Notify>,
    handshake_timeout: Duration,
    write_timeout: Duration,
    warned: Option<Instant>,
}

impl Acceptor {
    async fn accept(&mut self) -> Connection {
        let permit = self.permit().await;
        let mut backoff = MIN_BACKOFF;
        let stream = loop {
            match self.listener.accept().await {
                Ok((stream, _)) => break stream,
                // The peer closed the connection before it was accepted.
                Err(error)
                    if matches!(error.kind(), ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset) => {}
                Err(error) => {
                    if self.may_warn() {
                        tracing::warn!(%error, "no connection can be accepted; retrying");
                    }
                    sleep(backoff).await;
                    backoff = (backoff * 2).min(MAX_BACKOFF);
                }
            }
        };
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "TCP_NODELAY failed; small responses may be delayed");
        }
        Connection {
            stream,
            _permit: permit,
            preface_timeout: Some(Box::pin(sleep(self.handshake_timeout))),
            missing_bytes: PREFACE_BYTES,
            write_timeout: self.write_timeout,
            stall_timer: None,
            abort: Box::pin(Arc::clone(&self.abort).notified_owned()),
        }
    }

    /// Waits for the permit of another connection. The semaphore is never closed.
    async fn permit(&mut self) -> Option<OwnedSemaphorePermit> {
        if let Ok(permit) = Arc::clone(&self.permits).try_acquire_owned() {
            return Some(permit);
        }
        if self.may_warn() {
            tracing::warn!(
                connections = self.most,
                "the limit of open connections is reached; further ones wait"
            );
        }
        Arc::clone(&self.permits).acquire_owned().await.ok()
    }

    fn may_warn(&mut self) -> bool {
        let may_warn = self.warned.is_none_or(|warned| warned.elapsed() >= WARN_EVERY);
        if may_warn {
            self.warned = Some(Instant::now());
        }
        may_warn
    }
}

/// A connection that fails if its peer does not send the preface in time, if its peer reads nothing for too long, and when
/// serving ends.
///
/// It checks these whenever a read or write would block, which each idle connection does.
struct Connection {
    stream: TcpStream,
    _permit: Option<OwnedSemaphorePermit>,
    /// The timeout of the preface; `None` after it arrived.
    preface_timeout: Option<Pin<Box<Sleep>>>,
    /// How many bytes of the preface are missing.
    missing_bytes: usize,
    write_timeout: Duration,
    /// The timeout of the current write; `None` while writes make progress.
    stall_timer: Option<Pin<Box<Sleep>>>,
    abort: Pin<Box<OwnedNotified>>,
}

impl Connection {
    fn received(&mut self, bytes: usize) {
        self.missing_bytes = self.missing_bytes.saturating_sub(bytes);
        if self.missing_bytes == 0 {
            self.preface_timeout = None;
        }
    }

    /// Pending, unless a timeout has expired or serving has ended.
    fn wait<T>(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<T>> {
        let mut has_expired = |sleep: &mut Option<Pin<Box<Sleep>>>| {
            sleep.as_mut().is_some_and(|sleep| sleep.as_mut().poll(cx).is_ready())
        };
        let why = if has_expired(&mut self.preface_timeout) {
            "the peer did not send the HTTP/2 preface in time"
        } else if has_expired(&mut self.stall_timer) {
            "the peer reads nothing"
        } else if self.abort.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Err(io::Error::new(ErrorKind::ConnectionAborted, "serving has ended")));
        } else {
            return Poll::Pending;
        };
        tracing::debug!(reason = why, "closing a connection");
        Poll::Ready(Err(io::Error::new(ErrorKind::TimedOut, why)))
    }

    fn wait_to_write(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let Self { stall_timer, write_timeout, .. } = self;
        stall_timer.get_or_insert_with(|| Box::pin(sleep(*write_timeout)));
        self.wait(cx)
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        match Pin::new(&mut self.stream).poll_read(cx, buffer) {
            Poll::Pending => self.wait(cx),
            read => {
                self.received(buffer.filled().len() - before);
                read
            }
        }
    }
}

impl AsyncWrite for Connection {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match Pin::new(&mut self.stream).poll_write(cx, bytes) {
            Poll::Pending => self.wait_to_write(cx),
            written => {
                self.stall_timer = None;
                written
            }
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match Pin::new(&mut self.stream).poll_write_vectored(cx, slices) {
            Poll::Pending => self.wait_to_write(cx),
            written => {
                self.stall_timer = None;
                written
            }
        }
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

impl Connected for Connection {
    type ConnectInfo = ();

    fn connect_info(&self) {}
}

/// The header of a gRPC message: a compression flag and the length.
const HEADER_BYTES: usize = 5;

/// The memory for unfinished messages of all requests.
///
/// A message begins with its length, and is allocated at once. Without a bound, peers that announce messages and do not
/// send them could exhaust memory.
struct RequestBudget {
    all: usize,
    left: AtomicUsize,
    idle_timeout: Duration,
}

impl RequestBudget {
    fn new(all: usize, idle_timeout: Duration) -> Self {
        Self { all, left: AtomicUsize::new(all), idle_timeout }
    }

    fn take(&self, bytes: usize) -> Result<(), Status> {
        let rest = |left: usize| left.checked_sub(bytes);
        self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, rest).map(drop).map_err(|left| {
            Status::resource_exhausted(format!(
                "the request's message has {bytes} bytes, and {left} bytes are left: unfinished requests of all connections \
                 share a limit of {}; send smaller requests, or fewer at a time",
                self.all
            ))
        })
    }

    fn give_back(&self, bytes: usize) {
        self.left.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// The body of a request. It holds its share of the budget until it is dropped.
struct RequestBody {
    body: Body,
    budget: Arc<RequestBudget>,
    taken: usize,
    header: [u8; HEADER_BYTES],
    /// How many bytes of the next message's header have arrived.
    header_bytes: usize,
    /// How many bytes of the message are missing.
    missing_bytes: usize,
    /// The idle timeout of an unfinished message; `None` while it makes progress.
    stall_timer: Option<Pin<Box<Sleep>>>,
}

impl RequestBody {
    fn new(body: Body, budget: Arc<RequestBudget>) -> Self {
        Self {
            body,
            budget,
            taken: 0,
            header: [0; HEADER_BYTES],
            header_bytes: 0,
            missing_bytes: 0,
            stall_timer: None,
        }
    }

    /// Takes budget for the messages that begin in `part`.
    fn count(&mut self, mut part: &[u8]) -> Result<(), Status> {
        while !part.is_empty() {
            if self.missing_bytes > 0 {
                let here = self.missing_bytes.min(part.len());
                self.missing_bytes -= here;
                part = &part[here..];
                continue;
            }
            let here = (HEADER_BYTES - self.header_bytes).min(part.len());
            self.header[self.header_bytes..self.header_bytes + here].copy_from_slice(&part[..here]);
            self.header_bytes += here;
            part = &part[here..];
            if self.header_bytes == HEADER_BYTES {
                let [_, length @ ..] = self.header;
                self.header_bytes = 0;
                self.begin(u32::from_be_bytes(length) as usize)?;
            }
        }
        Ok(())
    }

    fn begin(&mut self, bytes: usize) -> Result<(), Status> {
        self.missing_bytes = bytes;
        // The decoder rejects larger messages by its own limit.
        if bytes <= MAX_MESSAGE_BYTES {
            self.budget.take(bytes)?;
            self.taken += bytes;
        }
        Ok(())
    }

    /// Pending, unless the idle timeout of an unfinished message has expired.
    fn wait<T>(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<T, Status>>> {
        if self.missing_bytes == 0 && self.header_bytes == 0 {
            return Poll::Pending;
        }
        let timeout = self.budget.idle_timeout;
        let stall_timer = self.stall_timer.get_or_insert_with(|| Box::pin(sleep(timeout)));
        stall_timer.as_mut().poll(cx).map(|()| {
            Some(Err(Status::deadline_exceeded(format!(
                "the request's message is incomplete, and nothing of it has arrived for {timeout:?}"
            ))))
        })
    }
}

impl http_body::Body for RequestBody {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let frame = match Pin::new(&mut self.body).poll_frame(cx) {
            Poll::Pending => return self.wait(cx),
            Poll::Ready(frame) => frame,
        };
        self.stall_timer = None;
        if let Some(Ok(frame)) = &frame
            && let Some(part) = frame.data_ref()
        {
            self.count(part)?;
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> http_body::SizeHint {
        self.body.size_hint()
    }
}

impl Drop for RequestBody {
    fn drop(&mut self) {
        self.budget.give_back(self.taken);
    }
}

#[cfg(test)]
mod tests {
    use http_body::Body as _;

    use super::*;

    #[test]
    fn the_table_is_read_from_the_routing_header() {
        let table = |parameters: &'static str| routed_table(&HeaderValue::from_static(parameters));
        let name = "name=projects%2Fp%2Finstances%2Fi%2Ftables%2Fevents&app_profile_id=a";
        assert_eq!(table(name).as_deref(), Some("events"));
        assert_eq!(table("table_name=projects/p/instances/i/tables/x").as_deref(), Some("x"));
        assert_eq!(table("parent=projects%2Fp%2Finstances%2Fi"), None);
    }

    const IDLE: Duration = Duration::from_secs(60);

    fn request_body(budget: &Arc<RequestBudget>) -> RequestBody {
        RequestBody::new(Body::empty(), Arc::clone(budget))
    }

    fn message(bytes: u32) -> Vec<u8> {
        [&[0][..], &bytes.to_be_bytes(), &vec![7; bytes as usize]].concat()
    }

    #[test]
    fn messages_are_counted_however_they_are_split() {
        let budget = Arc::new(RequestBudget::new(1000, IDLE));
        let all = [message(300), message(0), message(200)].concat();
        for size in 1..all.len() {
            let mut request_body = request_body(&budget);
            for part in all.chunks(size) {
                request_body.count(part).unwrap();
            }
            assert_eq!(
                (request_body.taken, request_body.missing_bytes, request_body.header_bytes),
                (500, 0, 0),
                "in parts of {size}"
            );
        }
        assert_eq!(budget.left.load(Ordering::Relaxed), 1000);
    }

    /// A body with one part that never ends.
    struct Unfinished(Option<Bytes>);

    impl http_body::Body for Unfinished {
        type Data = Bytes;
        type Error = Status;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
            self.0.take().map_or(Poll::Pending, |part| Poll::Ready(Some(Ok(Frame::data(part)))))
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_message_that_stalls_is_rejected() {
        let budget = Arc::new(RequestBudget::new(1000, IDLE));
        let body = |part: &[u8]| {
            let body = Body::new(Unfinished(Some(Bytes::copy_from_slice(part))));
            RequestBody::new(body, Arc::clone(&budget))
        };
        for part in [1, 5, 100] {
            let mut request_body = body(&message(600)[..part]);
            let mut next =
                async || std::future::poll_fn(|cx| Pin::new(&mut request_body).poll_frame(cx)).await;
            next().await.unwrap().unwrap();
            let begun = tokio::time::Instant::now();
            let status = next().await.unwrap().unwrap_err();
            assert_eq!((status.code(), begun.elapsed()), (tonic::Code::DeadlineExceeded, IDLE), "{part}");
        }
        // A complete message has no idle timeout.
        let mut whole = body(&message(600));
        let mut next = async || std::future::poll_fn(|cx| Pin::new(&mut whole).poll_frame(cx)).await;
        next().await.unwrap().unwrap();
        assert!(tokio::time::timeout(10 * IDLE, next()).await.is_err());
    }

    #[test]
    fn a_message_over_the_budget_is_rejected_and_takes_nothing() {
        let budget = Arc::new(RequestBudget::new(1000, IDLE));
        let (mut first, mut second) = (request_body(&budget), request_body(&budget));
        first.count(&message(600)[..100]).unwrap();
        let status = second.count(&message(401)).unwrap_err();
        assert_eq!(status.code(), tonic::Code::ResourceExhausted);
        for part in ["401 bytes", "400 bytes are left", "a limit of 1000"] {
            assert!(status.message().contains(part), "{status}");
        }
        drop(first);
        request_body(&budget).count(&message(1000)).unwrap();
        // The decoder rejects it.
        request_body(&budget).count(&[0, 255, 0, 0, 0]).unwrap();
        assert_eq!(budget.left.load(Ordering::Relaxed), 1000);
    }
}
