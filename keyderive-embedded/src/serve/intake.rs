//! Requests while they come in: how much memory their messages may take, and how long they may stand still.
//!
//! A message begins with its length, and is given as much memory when that is known. Without a bound, peers that announce
//! messages and do not end them would have the process hold whatever they like.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::Frame;
use tokio::time::{Sleep, sleep};
use tonic::Status;
use tonic::body::Body;

use keyderive_proto::MAX_MESSAGE_BYTES;

/// What a message is headed by in gRPC: whether it is compressed, and its length.
const HEADER_BYTES: usize = 5;

/// How many bytes the messages may have that have not come to their end, of all requests.
pub(super) struct Budget {
    all: usize,
    left: AtomicUsize,
    idle_timeout: Duration,
}

impl Budget {
    pub(super) fn new(all: usize, idle_timeout: Duration) -> Self {
        Self { all, left: AtomicUsize::new(all), idle_timeout }
    }

    /// # Errors
    /// When so much is not left.
    fn take(&self, bytes: usize) -> Result<(), Status> {
        let rest = |left: usize| left.checked_sub(bytes);
        self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, rest).map(drop).map_err(|left| {
            Status::resource_exhausted(format!(
                "the request's message says that it has {bytes} bytes, and {left} are left of the {} that unfinished \
                 requests of all connections may have together; send smaller requests, or fewer at a time",
                self.all
            ))
        })
    }

    fn give_back(&self, bytes: usize) {
        self.left.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// The body of a request. It holds its share of the budget until its message is read, or nobody wants it any more.
pub(super) struct Intake {
    body: Body,
    budget: Arc<Budget>,
    taken: usize,
    header: [u8; HEADER_BYTES],
    /// How much of the next message's header has come.
    known: usize,
    /// How much of the message is still to come.
    missing: usize,
    /// Until when a message that has begun is to go on; none while it does.
    stalled: Option<Pin<Box<Sleep>>>,
}

impl Intake {
    pub(super) fn new(body: Body, budget: Arc<Budget>) -> Self {
        Self { body, budget, taken: 0, header: [0; HEADER_BYTES], known: 0, missing: 0, stalled: None }
    }

    /// Takes the budget for the messages that begin in a part of the body.
    fn count(&mut self, mut part: &[u8]) -> Result<(), Status> {
        while !part.is_empty() {
            if self.missing > 0 {
                let here = self.missing.min(part.len());
                self.missing -= here;
                part = &part[here..];
                continue;
            }
            let here = (HEADER_BYTES - self.known).min(part.len());
            self.header[self.known..self.known + here].copy_from_slice(&part[..here]);
            self.known += here;
            part = &part[here..];
            if self.known == HEADER_BYTES {
                let [_, length @ ..] = self.header;
                self.known = 0;
                self.begin(u32::from_be_bytes(length) as usize)?;
            }
        }
        Ok(())
    }

    fn begin(&mut self, bytes: usize) -> Result<(), Status> {
        self.missing = bytes;
        // What is larger is refused by who reads it, by its own limit.
        if bytes <= MAX_MESSAGE_BYTES {
            self.budget.take(bytes)?;
            self.taken += bytes;
        }
        Ok(())
    }

    /// Waits for a further part, as long as it may take.
    fn wait<T>(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<T, Status>>> {
        if self.missing == 0 && self.known == 0 {
            return Poll::Pending;
        }
        let timeout = self.budget.idle_timeout;
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(timeout)));
        stalled.as_mut().poll(cx).map(|()| {
            Some(Err(Status::deadline_exceeded(format!(
                "the request's message is not whole, and nothing of it has come for {timeout:?}"
            ))))
        })
    }
}

impl http_body::Body for Intake {
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
        self.stalled = None;
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

impl Drop for Intake {
    fn drop(&mut self) {
        self.budget.give_back(self.taken);
    }
}

#[cfg(test)]
mod tests {
    use http_body::Body as _;

    use super::*;

    const IDLE: Duration = Duration::from_secs(60);

    fn intake(budget: &Arc<Budget>) -> Intake {
        Intake::new(Body::empty(), Arc::clone(budget))
    }

    fn message(bytes: u32) -> Vec<u8> {
        [&[0][..], &bytes.to_be_bytes(), &vec![7; bytes as usize]].concat()
    }

    #[test]
    fn messages_are_counted_wherever_they_are_cut() {
        let budget = Arc::new(Budget::new(1000, IDLE));
        let all = [message(300), message(0), message(200)].concat();
        for size in 1..all.len() {
            let mut intake = intake(&budget);
            for part in all.chunks(size) {
                intake.count(part).unwrap();
            }
            assert_eq!((intake.taken, intake.missing, intake.known), (500, 0, 0), "in parts of {size}");
        }
        assert_eq!(budget.left.load(Ordering::Relaxed), 1000);
    }

    /// A body that has one part and no end.
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
    async fn a_message_that_stands_still_is_refused() {
        let budget = Arc::new(Budget::new(1000, IDLE));
        let body = |part: &[u8]| {
            let body = Body::new(Unfinished(Some(Bytes::copy_from_slice(part))));
            Intake::new(body, Arc::clone(&budget))
        };
        for part in [1, 5, 100] {
            let mut intake = body(&message(600)[..part]);
            let mut next = async || std::future::poll_fn(|cx| Pin::new(&mut intake).poll_frame(cx)).await;
            next().await.unwrap().unwrap();
            let begun = tokio::time::Instant::now();
            let status = next().await.unwrap().unwrap_err();
            assert_eq!((status.code(), begun.elapsed()), (tonic::Code::DeadlineExceeded, IDLE), "{part}");
        }
        // One that is whole has nothing more to say.
        let mut whole = body(&message(600));
        let mut next = async || std::future::poll_fn(|cx| Pin::new(&mut whole).poll_frame(cx)).await;
        next().await.unwrap().unwrap();
        assert!(tokio::time::timeout(10 * IDLE, next()).await.is_err());
    }

    #[test]
    fn what_is_over_the_budget_is_refused_and_takes_nothing() {
        let budget = Arc::new(Budget::new(1000, IDLE));
        let (mut first, mut second) = (intake(&budget), intake(&budget));
        first.count(&message(600)[..100]).unwrap();
        let status = second.count(&message(401)).unwrap_err();
        assert_eq!(status.code(), tonic::Code::ResourceExhausted);
        for told in ["401 bytes", "400 are left", "the 1000"] {
            assert!(status.message().contains(told), "{status}");
        }
        drop(first);
        intake(&budget).count(&message(1000)).unwrap();
        // It is refused by who reads it.
        intake(&budget).count(&[0, 255, 0, 0, 0]).unwrap();
        assert_eq!(budget.left.load(Ordering::Relaxed), 1000);
    }
}
