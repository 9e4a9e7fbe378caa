//! The client's end of connections inside the process.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use http::Uri;
use hyper_util::rt::TokioIo;
use tokio::io::DuplexStream;
use tonic::transport::{Channel, Endpoint};
use tower_service::Service;

use super::{Mock, PIPE_BYTES};

/// Makes a pipe for each connection that a channel asks for.
pub(super) struct Pipes(pub(super) Mock);

impl Service<Uri> for Pipes {
    type Response = TokioIo<DuplexStream>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Self::Response>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Uri) -> Self::Future {
        let Self(mock) = self;
        let mock = mock.clone();
        Box::pin(async move { mock.connect().await.map(TokioIo::new) })
    }
}

/// A channel of pipes, of which `serve` is given the far end: for a server that writes its own bytes.
pub fn piped(endpoint: &Endpoint, serve: impl Fn(DuplexStream) + Send + Sync + 'static) -> Channel {
    endpoint.connect_with_connector_lazy(Served(serve))
}

/// Makes a pipe for each connection, and hands its far end over.
struct Served<F>(F);

impl<F: Fn(DuplexStream)> Service<Uri> for Served<F> {
    type Response = TokioIo<DuplexStream>;
    type Error = io::Error;
    type Future = std::future::Ready<io::Result<Self::Response>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Uri) -> Self::Future {
        let (near, far) = tokio::io::duplex(PIPE_BYTES);
        self.0(far);
        std::future::ready(Ok(TokioIo::new(near)))
    }
}
