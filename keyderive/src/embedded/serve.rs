//! The embedded Bigtable on a port, for programs in other processes and languages.

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::task::{Context, Poll};
use std::time::Instant;

use http::HeaderValue;
use percent_encoding::percent_decode;
use tokio::net::TcpListener;
use tonic::Status;
use tonic::body::Body;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tower_service::Service;

use super::{Bigtable, Servers};
use crate::client::{BoxFuture, InProcess as _, code_name as name};

/// How many requests a client may have open on one connection: as many as Google's front ends allow.
const MAX_CONCURRENT_STREAMS: u32 = 100;

/// How many streams a client may reset before they are accepted. A scan that is dropped resets as many as it has, all
/// at once; without this, more than 20 would close its connection.
const MAX_RESET_STREAMS: usize = 10_000;

/// A stream that nobody reads holds this much back, and a connection with all its streams still has room.
const STREAM_WINDOW: u32 = 1 << 20;
const CONNECTION_WINDOW: u32 = MAX_CONCURRENT_STREAMS * STREAM_WINDOW;

impl Bigtable {
    /// Serves it on a port until `shutdown` is ready, and then until the requests that have begun are answered.
    ///
    /// ```no_run
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> std::io::Result<()> {
    /// use keyderive::embedded::Bigtable;
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
    pub async fn serve(&self, listener: TcpListener, shutdown: impl Future<Output = ()>) -> io::Result<()> {
        let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
        Server::builder()
            .max_concurrent_streams(MAX_CONCURRENT_STREAMS)
            .http2_max_pending_accept_reset_streams(Some(MAX_RESET_STREAMS))
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .serve_with_incoming_shutdown(Served(self.servers.clone()), incoming, shutdown)
            .await
            .map_err(io::Error::other)
    }
}

/// The servers, as a service over connections.
#[derive(Clone)]
struct Served(Servers);

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
        let (begun, answer) = (Instant::now(), self.0.call(request));
        Box::pin(async move {
            let answer = answer.await;
            let status = Status::from_header_map(answer.headers());
            let code = status.as_ref().map(|status| name(status.code()));
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
