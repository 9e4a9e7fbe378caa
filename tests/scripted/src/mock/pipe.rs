//! The client's end of connections inside the process.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use http::Uri;
use hyper_util::rt::TokioIo;
use tokio::io::DuplexStream;
use tower_service::Service;

use super::Mock;

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
