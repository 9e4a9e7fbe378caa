//! The one way to a Bigtable, wherever it is.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
#[cfg(feature = "embedded")]
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::uri::Authority;
use tokio::runtime::Handle;
use tonic::body::Body;
use tonic::transport::{Channel, Endpoint};
use tower_service::Service;

use super::error::Error;

/// Sent and received messages may have this size. The service's own limit is a little above it.
pub(crate) const MAX_MESSAGE_BYTES: usize = 256 << 20;

/// How much one stream may have on the way. Streams that wait for their turn in an ordered merge fill
/// it, so that times the streams of a connection must fit in [`CONNECTION_WINDOW`], or the merge hangs.
const STREAM_WINDOW: u32 = 1 << 20;

/// The most that HTTP/2 allows. h2 charges a reader for small frames that it leaves unread, against a
/// budget of half this window, and closes the connection when that is gone; streams of tiny rows
/// exhaust the default in moments.
const CONNECTION_WINDOW: u32 = (1 << 31) - 1;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Google's front ends drop connections that are idle for minutes.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(30);
const KEEP_ALIVE_TIMEOUT: Duration = Duration::from_secs(10);

const USER_AGENT: &str = concat!("keyderive/", env!("CARGO_PKG_VERSION"));

/// Carries requests to a Bigtable over a connection, or by a call to servers in this process. The
/// generated clients run on top of it and cannot tell the difference.
#[derive(Clone)]
pub(crate) enum Transport {
    /// A connection, and the runtime that it runs in.
    Channel(Channel, Handle),
    #[cfg(feature = "embedded")]
    InProcess(Arc<dyn InProcess>),
}

/// gRPC servers in this process.
#[cfg(feature = "embedded")]
pub(crate) trait InProcess: Send + Sync {
    fn call(&self, request: http::Request<Body>) -> BoxFuture<http::Response<Body>>;
}

pub(crate) type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

impl Transport {
    /// A connection to `host` without encryption, made at its first use and again when it breaks.
    pub(super) fn plaintext(host: &str) -> Result<Self, Error> {
        // The channel's background task is spawned here, which panics outside a runtime.
        let runtime = Handle::try_current().map_err(|_| {
            Error::configuration("a client is made inside a tokio runtime, and none is running")
        })?;
        let address: Option<Authority> = host.parse().ok();
        address
            .filter(|address| address.port_u16().is_some())
            .and_then(|address| Endpoint::from_shared(format!("http://{address}")).ok())
            .and_then(|endpoint| endpoint.user_agent(USER_AGENT).ok())
            .map(|endpoint| Self::Channel(configure(endpoint).connect_lazy(), runtime))
            .ok_or_else(|| {
                Error::configuration(format!(
                    "`{host}` is no emulator address; write a host and a port, such as `localhost:8086`"
                ))
            })
    }
}

fn configure(endpoint: Endpoint) -> Endpoint {
    endpoint
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .http2_keep_alive_interval(KEEP_ALIVE_INTERVAL)
        .keep_alive_timeout(KEEP_ALIVE_TIMEOUT)
        .keep_alive_while_idle(true)
        .tcp_nodelay(true)
        .connect_timeout(CONNECT_TIMEOUT)
}

impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Channel(..) => f.write_str("Channel"),
            #[cfg(feature = "embedded")]
            Self::InProcess(_) => f.write_str("InProcess"),
        }
    }
}

impl Service<http::Request<Body>> for Transport {
    type Response = http::Response<Body>;
    type Error = tonic::transport::Error;
    type Future = BoxFuture<Result<Self::Response, Self::Error>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        match self {
            Self::Channel(channel, _) => channel.poll_ready(context),
            #[cfg(feature = "embedded")]
            Self::InProcess(_) => Poll::Ready(Ok(())),
        }
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        match self {
            Self::Channel(channel, _) => Box::pin(channel.call(request)),
            #[cfg(feature = "embedded")]
            Self::InProcess(servers) => {
                let response = servers.call(request);
                Box::pin(async move { Ok(response.await) })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outside_a_runtime_is_an_error() {
        let error = Transport::plaintext("localhost:1").err().unwrap();
        assert!(error.is_configuration() && error.to_string().contains("tokio runtime"));
    }

    #[tokio::test]
    async fn an_address_that_is_none_is_an_error() {
        for host in ["local host", "http://localhost:8086", "localhost", "localhost:99999", "localhost:1/"] {
            let error = Transport::plaintext(host).err().unwrap();
            assert_eq!(
                error.to_string(),
                format!("`{host}` is no emulator address; write a host and a port, such as `localhost:8086`")
            );
        }
        assert!(Transport::plaintext("[::1]:8086").is_ok());
    }
}
