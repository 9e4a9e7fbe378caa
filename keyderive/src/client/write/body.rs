//! A request's body of which most is encoded already, and is sent from where it lies.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use http_body::{Frame, SizeHint};
use tonic::Status;
use tonic::body::Body;
use tower_service::Service;

use crate::client::transport::Transport;

/// Before a message are whether it is compressed, in one byte, and its length, in four: the gRPC protocol over
/// HTTP/2, "Length-Prefixed-Message".
const PREFIX: usize = 5;

/// What is no longer than this is copied after the message's beginning, and has no frame of its own.
const MOST_COPIED: usize = 4 * 1024;

/// Carries a request, with these bytes at the end of its message.
pub(super) struct Completed {
    pub(super) transport: Transport,
    pub(super) rest: Bytes,
}

impl Service<http::Request<Body>> for Completed {
    type Response = <Transport as Service<http::Request<Body>>>::Response;
    type Error = <Transport as Service<http::Request<Body>>>::Error;
    type Future = <Transport as Service<http::Request<Body>>>::Future;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.transport.poll_ready(context)
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let rest = self.rest.clone();
        self.transport
            .call(request.map(|body| Body::new(CompletedBody { body, rest: Some(rest), next: None })))
    }
}

/// The body of a request with one message, and the end of the message.
struct CompletedBody {
    body: Body,
    /// What is at the end of the message, until its beginning has come.
    rest: Option<Bytes>,
    /// What is to be sent now.
    next: Option<Bytes>,
}

impl CompletedBody {
    /// The beginning of the message, with the length of all of it.
    fn begin(&mut self, first: &Bytes, rest: Bytes) -> Result<Bytes, Status> {
        let message = first.len().checked_sub(PREFIX).map(|len| len + rest.len());
        let Some(Ok(len)) = message.map(u32::try_from) else {
            return Err(Status::internal("a message of 4 GiB, or without the length before it"));
        };
        let is_copied = rest.len() <= MOST_COPIED;
        let mut begin = BytesMut::with_capacity(first.len() + if is_copied { rest.len() } else { 0 });
        begin.extend_from_slice(first);
        begin[1..PREFIX].copy_from_slice(&len.to_be_bytes());
        match is_copied {
            true => begin.extend_from_slice(&rest),
            false => self.next = Some(rest),
        }
        Ok(begin.freeze())
    }
}

impl http_body::Body for CompletedBody {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        if let Some(next) = self.next.take() {
            return Poll::Ready(Some(Ok(Frame::data(next))));
        }
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        let Some(rest) = self.rest.take() else { return Poll::Ready(frame) };
        let first = frame.transpose()?.and_then(|frame| frame.into_data().ok()).unwrap_or_default();
        Poll::Ready(Some(self.begin(&first, rest).map(Frame::data)))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_none() && self.next.is_none() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All frames of a body.
    async fn frames(mut body: CompletedBody) -> Vec<Result<Bytes, Status>> {
        let mut frames = Vec::new();
        loop {
            match std::future::poll_fn(|context| http_body::Body::poll_frame(Pin::new(&mut body), context))
                .await
            {
                Some(frame) => frames.push(frame.map(|frame| frame.into_data().unwrap_or_default())),
                None => {
                    assert!(http_body::Body::is_end_stream(&body));
                    return frames;
                }
            }
        }
    }

    fn completed(first: &str, rest: &[u8]) -> CompletedBody {
        let body = Body::new(first.to_owned());
        CompletedBody { body, rest: Some(Bytes::copy_from_slice(rest)), next: None }
    }

    #[tokio::test]
    async fn the_length_in_front_is_that_of_all() {
        for len in [0, 1, 300, MOST_COPIED, MOST_COPIED + 1, 1 << 20] {
            let rest: Vec<u8> = (0..len).map(|at| (at % 251) as u8).collect();
            let frames = frames(completed("\0\0\0\0\u{4}head", &rest)).await;
            assert_eq!(frames.len(), if len > MOST_COPIED { 2 } else { 1 });
            let all = frames.into_iter().collect::<Result<Vec<_>, _>>().unwrap().concat();
            let length = u32::try_from(4 + len).unwrap().to_be_bytes();
            assert_eq!(all, [&[0], &length[..], b"head", &rest].concat());
        }
    }

    #[tokio::test]
    async fn what_has_no_length_is_an_error() {
        let frames = frames(completed("\0\0", b"rest")).await;
        assert!(matches!(&frames[..], [Err(status)] if status.message().contains("length")));
    }

    #[tokio::test]
    async fn what_is_not_copied_is_sent_from_where_it_lies() {
        let rest = Bytes::from(vec![7; MOST_COPIED + 1]);
        let body =
            CompletedBody { body: Body::new("\0\0\0\0\0".to_owned()), rest: Some(rest.clone()), next: None };
        let frames = frames(body).await;
        assert_eq!(frames[1].as_ref().unwrap().as_ptr(), rest.as_ptr());
    }
}
