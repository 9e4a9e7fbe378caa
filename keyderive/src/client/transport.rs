//! The one way to a Bigtable, wherever it is.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
#[cfg(feature = "embedded")]
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::runtime::Handle;
use tonic::body::Body;
use tonic::transport::Channel;
use tower_service::Service;

/// Sent and received messages may have this size. The service's own limit is a little above it.
pub(crate) const MAX_MESSAGE_BYTES: usize = 256 << 20;

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
