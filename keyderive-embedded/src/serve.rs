//! The embedded Bigtable on a port, for programs in other processes and languages.

mod connection;
mod intake;

use std::convert::Infallible;
use std::future::{Future, pending};
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use futures_util::future::{Either, select};
use http::HeaderValue;
use keyderive_proto::code_name;
use percent_encoding::percent_decode;
use tokio::net::TcpListener;
use tokio::sync::{Notify, oneshot};
use tokio::time::sleep;
use tonic::Status;
use tonic::body::Body;
use tonic::transport::Server;
use tower_service::Service;

use self::intake::{Budget, Intake};
use super::Bigtable;
use crate::BoxFuture;

/// How many requests a client may have open on one connection: as many as Google's front ends allow.
const MAX_CONCURRENT_STREAMS: u32 = 100;

/// How many streams a client may reset before they are accepted. A scan that is dropped resets as many as it has, all
/// at once; without this, more than 20 would close its connection.
const MAX_RESET_STREAMS: usize = 10_000;

/// A stream that nobody reads holds this much back, and a connection with all its streams still has room.
const STREAM_WINDOW: u32 = 1 << 20;
const CONNECTION_WINDOW: u32 = MAX_CONCURRENT_STREAMS * STREAM_WINDOW;

/// What a peer is asked by pings is not asked more often, nor later.
const PINGS: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(365 * 24 * 60 * 60));

/// How a Bigtable is served on a port: set by `bigtable.serve_with(listener, shutdown, |settings| settings.connections = 8)`.
///
/// | knob | unless set |
/// |---|---|
/// | `connections` | 512 |
/// | `handshake_timeout` | 10 s |
/// | `keep_alive_interval` | 30 s |
/// | `keep_alive_timeout` | 20 s |
/// | `grace` | 5 s |
/// | `request_bytes` | 512 MiB |
/// | `request_idle_timeout` | 60 s |
///
/// One request may have 256 MiB, as Bigtable has it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServeSettings {
    /// How many connections may be open, of which 0 counts as 1. Further ones wait until one has ended, and a warning
    /// says that they do.
    pub connections: usize,
    /// A connection is closed that has not said within this time that it speaks HTTP/2.
    pub handshake_timeout: Duration,
    /// How often a peer is asked whether it is there still, by a ping of HTTP/2; at most once a second.
    pub keep_alive_interval: Duration,
    /// A connection is closed whose peer does not answer a ping within this time, or takes nothing of what is sent to it
    /// within this time and `keep_alive_interval`.
    pub keep_alive_timeout: Duration,
    /// How long requests that have begun may take when serving is to end. Then their connections are cut off.
    pub grace: Duration,
    /// How many bytes the messages of all requests may have that have not come to their end. A request is refused by
    /// `RESOURCE_EXHAUSTED` when its message says that it has more than is left of them.
    pub request_bytes: usize,
    /// A request is refused by `DEADLINE_EXCEEDED` when its message has begun, and no byte of it comes within this time.
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
    /// Serves it on a port until `shutdown` is ready, and then until the requests that have begun are answered, or 5 s
    /// are over.
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
    /// Whoever can reach the port can read and change everything: listen on the loopback interface. Each request is
    /// told to `tracing` at debug level, with its method, its table where its headers name one, the time to the head
    /// of its answer, and the code and the message of its status if it has one by then.
    ///
    /// # Errors
    /// When the port cannot be listened on any more.
    ///
    /// # Cancel safety
    /// A future that is dropped takes no further connections. Those that are open go on until their peers close them.
    pub async fn serve(&self, listener: TcpListener, shutdown: impl Future<Output = ()>) -> io::Result<()> {
        self.serve_with(listener, shutdown, |_| {}).await
    }

    /// As [`serve`](Self::serve), with other [settings](ServeSettings).
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
        let keep_alive_interval = settings.keep_alive_interval.clamp(PINGS.0, PINGS.1);
        let keep_alive_timeout = settings.keep_alive_timeout.min(PINGS.1);
        let over = Arc::new(Notify::new());
        let (asked, is_asked) = oneshot::channel();
        let shutdown = async move {
            shutdown.await;
            // Who is told has ended only where serving has.
            let _ = asked.send(());
        };
        let grace = async {
            match is_asked.await {
                Ok(()) => sleep(settings.grace).await,
                Err(_) => pending().await,
            }
        };
        let budget = Arc::new(Budget::new(settings.request_bytes, settings.request_idle_timeout));
        let served = Served { bigtable: self.clone(), budget };
        let incoming = connection::incoming(listener, &settings, Arc::clone(&over));
        let serving = Server::builder()
            .max_concurrent_streams(MAX_CONCURRENT_STREAMS)
            .http2_max_pending_accept_reset_streams(Some(MAX_RESET_STREAMS))
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .http2_keepalive_interval(Some(keep_alive_interval))
            .http2_keepalive_timeout(Some(keep_alive_timeout))
            .serve_with_incoming_shutdown(served, incoming, shutdown);
        let ended = match select(pin!(serving), pin!(grace)).await {
            Either::Left((ended, _)) => ended,
            Either::Right(((), serving)) => {
                tracing::warn!(grace = ?settings.grace, "connections have not ended in time, and are cut off");
                over.notify_waiters();
                serving.await
            }
        };
        ended.map_err(io::Error::other)
    }
}

/// The Bigtable, as a service over connections.
#[derive(Clone)]
struct Served {
    bigtable: Bigtable,
    budget: Arc<Budget>,
}

impl Service<http::Request<Body>> for Served {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let method = request.uri().path().rsplit('/').next().unwrap_or_default().to_owned();
        let table = request.headers().get("x-goog-request-params").and_then(table);
        let request = request.map(|body| Body::new(Intake::new(body, Arc::clone(&self.budget))));
        let (begun, answer) = (Instant::now(), self.bigtable.call(request));
        Box::pin(async move {
            let answer = answer.await?;
            let status = Status::from_header_map(answer.headers());
            let code = status.as_ref().map(|status| code_name(status.code()));
            let message = status.as_ref().map(Status::message).filter(|message| !message.is_empty());
            tracing::debug!(method, table, elapsed = ?begun.elapsed(), code, status = message, "answered");
            Ok(answer)
        })
    }
}

/// The table that a request is routed by.
fn table(parameters: &HeaderValue) -> Option<String> {
    let parameters = percent_decode(parameters.as_bytes()).decode_utf8_lossy();
    let (_, table) = parameters.split_once("/tables/")?;
    table.split(['&', '/']).next().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_that_of_the_routing() {
        let table = |parameters: &'static str| table(&HeaderValue::from_static(parameters));
        let name = "name=projects%2Fp%2Finstances%2Fi%2Ftables%2Fevents&app_profile_id=a";
        assert_eq!(table(name).as_deref(), Some("events"));
        assert_eq!(table("table_name=projects/p/instances/i/tables/x").as_deref(), Some("x"));
        assert_eq!(table("parent=projects%2Fp%2Finstances%2Fi"), None);
    }
}
