//! The one way to a Bigtable, wherever it is.

use std::error::Error as StdError;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
#[cfg(feature = "embedded")]
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::runtime::Handle;
use tonic::body::Body;
use tonic::transport::Channel;
use tower_service::Service;

/// Carries requests to a Bigtable over a connection, or by a call to servers in this process. The
/// generated clients run on top of it and cannot tell the difference.
#[derive(Clone)]
pub(crate) enum Transport {
    /// A connection, and the runtime that it runs in.
    Channel(Channel, Handle),
    /// What was a connection, until its runtime ended.
    Ended,
    #[cfg(feature = "embedded")]
    InProcess(Arc<dyn InProcess>),
}

/// gRPC servers in this process.
#[cfg(feature = "embedded")]
pub(crate) trait InProcess: Send + Sync {
    fn call(&self, request: http::Request<Body>) -> BoxFuture<http::Response<Body>>;

    /// What tells the table of this full name from every other one that has had it, here or elsewhere; none where there
    /// is no such table, or nothing tells.
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
            // A lazy connection tells its failures where it is called. What fails here is the task that runs it,
            // which ends with its runtime; tonic would make a status of this that cannot be told from a server's.
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

/// The runtime of a connection has ended, and the connection with it.
#[derive(Debug)]
pub(super) struct RuntimeEnded;

impl fmt::Display for RuntimeEnded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the tokio runtime in which this client was made has ended; make one client per runtime")
    }
}

impl StdError for RuntimeEnded {}
