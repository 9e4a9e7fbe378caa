//! Closing: what is in flight ends, and nothing new begins.

use std::future::Future;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::Context;
use std::time::Duration;

use futures_util::task::AtomicWaker;
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::time::timeout;

/// How long a stream may be left unpolled while somebody waits for the client to be closed.
const GIVEN_UP_AFTER: Duration = Duration::from_secs(10);

/// Stands for a round in the pass of what has ended.
const ENDED: u64 = u64::MAX;

/// Whether the client is closed, and what is in flight.
#[derive(Debug, Default)]
pub(super) struct Shutdown {
    closed: AtomicBool,
    inside: AtomicUsize,
    left: Notify,
    closing: Notify,
    /// How often it was asked which streams are still polled. That is asked only when it is closed.
    round: AtomicU64,
    /// The streams in flight. Those that have ended are removed when the list is full.
    streams: Mutex<Vec<Weak<InFlightGuard>>>,
}

/// Counts an operation as in flight until it is dropped, with all requests that it sends.
#[derive(Debug)]
pub(crate) struct InFlightGuard {
    shutdown: Arc<Shutdown>,
    /// Of a stream, the last round in which it was polled; `ENDED` once it no longer counts.
    seen: AtomicU64,
    /// Wakes who waits for the stream.
    reader: AtomicWaker,
}

/// Counts a stream as in flight; empty if the operation that it is part of is counted, or it has ended.
///
/// A stream that is in scope and not polled cannot end. So whoever closes the client wakes all streams, and gives those
/// up that are not polled for some time after that.
#[derive(Debug, Default)]
pub(crate) struct StreamGuard(Option<Arc<InFlightGuard>>);

impl Shutdown {
    /// Counts an operation as in flight, unless the client is closed.
    pub(super) fn enter(self: &Arc<Self>) -> Option<Arc<InFlightGuard>> {
        // Counted first, so that one who closes at the same time sees it.
        self.inside.fetch_add(1, Ordering::SeqCst);
        let seen = AtomicU64::new(self.round.load(Ordering::SeqCst));
        let pass = InFlightGuard { shutdown: Arc::clone(self), seen, reader: AtomicWaker::new() };
        (!self.is_closed()).then(|| Arc::new(pass))
    }

    /// As [`enter`](Self::enter), for a stream.
    pub(super) fn enter_stream(self: &Arc<Self>) -> Option<Arc<InFlightGuard>> {
        let pass = self.enter()?;
        let mut streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        if streams.len() == streams.capacity() {
            streams.retain(|stream| stream.strong_count() > 0);
            let live = streams.len();
            streams.reserve(live.max(8));
        }
        streams.push(Arc::downgrade(&pass));
        Some(pass)
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::SeqCst)
    }

    /// Ready when the client is closed.
    pub(super) async fn closing(&self) {
        let closing = self.closing.notified();
        if !self.is_closed() {
            closing.await;
        }
    }

    /// Closes the client at once; the future is ready when everything in flight has ended or was given up.
    pub(super) fn close(self: &Arc<Self>) -> impl Future<Output = ()> + Send + use<> {
        self.closed.store(true, Ordering::SeqCst);
        self.closing.notify_waiters();
        let shutdown = Arc::clone(self);
        async move {
            while !shutdown.is_empty() {
                let round = shutdown.ask();
                match Handle::try_current() {
                    Ok(_) if timeout(GIVEN_UP_AFTER, shutdown.emptied()).await.is_err() => {
                        shutdown.give_up(round);
                    }
                    Ok(_) => {}
                    // There is no clock to give up by.
                    Err(_) => shutdown.emptied().await,
                }
            }
        }
    }

    fn is_empty(&self) -> bool {
        self.inside.load(Ordering::SeqCst) == 0
    }

    async fn emptied(&self) {
        loop {
            let left = self.left.notified();
            if self.is_empty() {
                return;
            }
            left.await;
        }
    }

    /// Begins a round: wakes all streams, so that those that are waited for are polled.
    fn ask(&self) -> u64 {
        let round = self.round.fetch_add(1, Ordering::SeqCst) + 1;
        for stream in self.open_streams() {
            stream.reader.wake();
        }
        round
    }

    /// Takes the leave of streams that have not been polled since a round began.
    fn give_up(&self, round: u64) {
        for stream in self.open_streams() {
            let unseen = |seen| (seen < round).then_some(ENDED);
            if stream.seen.fetch_update(Ordering::SeqCst, Ordering::SeqCst, unseen).is_ok() {
                self.leave();
            }
        }
    }

    fn open_streams(&self) -> Vec<Arc<InFlightGuard>> {
        let streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        streams.iter().filter_map(Weak::upgrade).collect()
    }

    fn leave(&self) {
        if self.inside.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.left.notify_waiters();
        }
    }
}

impl InFlightGuard {
    /// Leaves, unless it has.
    fn end(&self) {
        if self.seen.swap(ENDED, Ordering::SeqCst) != ENDED {
            self.shutdown.leave();
        }
    }

    /// Notes that its stream is polled; whether it has not been given up.
    #[inline]
    fn is_polled(&self) -> bool {
        let round = self.shutdown.round.load(Ordering::Relaxed);
        self.seen.load(Ordering::Relaxed) == round || self.is_polled_in(round)
    }

    #[cold]
    fn is_polled_in(&self, round: u64) -> bool {
        let polled = |seen| (seen != ENDED).then_some(round);
        self.seen.fetch_update(Ordering::SeqCst, Ordering::SeqCst, polled).is_ok()
    }
}

impl Drop for InFlightGuard {
    fn drop(&mut self) {
        self.end();
    }
}

impl StreamGuard {
    pub(super) fn new(pass: Option<Arc<InFlightGuard>>) -> Self {
        Self(pass)
    }

    pub(super) fn pass(&self) -> Option<Arc<InFlightGuard>> {
        self.0.clone()
    }

    /// Notes that the stream is polled; whether it may go on.
    #[inline]
    pub(crate) fn is_polled(&self) -> bool {
        self.0.as_ref().is_none_or(|pass| pass.is_polled())
    }

    /// The stream has nothing yet, and is waited for.
    pub(crate) fn waits(&self, cx: &Context<'_>) {
        if let Some(pass) = &self.0 {
            pass.reader.register(cx.waker());
            // A round that began meanwhile woke nobody.
            pass.is_polled();
        }
    }

    /// The stream has ended, or has all that was asked for.
    pub(crate) fn end(&mut self) {
        if let Some(pass) = self.0.take() {
            pass.end();
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::future::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn what_is_inside_ends_and_nothing_enters() {
        let shutdown = Arc::new(Shutdown::default());
        let passes = [shutdown.enter().unwrap(), shutdown.enter_stream().unwrap()];
        let mut closed = std::pin::pin!(shutdown.close());
        assert!(shutdown.enter().is_none() && shutdown.enter_stream().is_none());
        assert!((&mut closed).now_or_never().is_none());
        drop(passes);
        assert!(closed.now_or_never().is_some());
        shutdown.close().await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_leaves_once() {
        let shutdown = Arc::new(Shutdown::default());
        let (other, given_up) = (shutdown.enter().unwrap(), StreamGuard::new(shutdown.enter_stream()));
        let mut ended = StreamGuard::new(shutdown.enter_stream());
        ended.end();
        assert!(timeout(2 * GIVEN_UP_AFTER, shutdown.close()).await.is_err());
        assert!(!given_up.is_polled() && ended.is_polled());
        drop((given_up, ended));
        drop(other);
        assert!(shutdown.close().now_or_never().is_some());
    }

    #[test]
    fn outside_of_a_runtime_it_is_closed_too() {
        let shutdown = Arc::new(Shutdown::default());
        let stream = shutdown.enter_stream().unwrap();
        let mut closed = std::pin::pin!(shutdown.close());
        assert!((&mut closed).now_or_never().is_none());
        drop(stream);
        assert!(closed.now_or_never().is_some());
    }

    #[test]
    fn passes_of_streams_that_have_ended_are_cleared_away() {
        let shutdown = Arc::new(Shutdown::default());
        let kept: Vec<_> = (0..20).map(|_| shutdown.enter_stream().unwrap()).collect();
        for _ in 0..10_000 {
            shutdown.enter_stream().unwrap();
        }
        assert_eq!(shutdown.open_streams().len(), kept.len());
        assert!(shutdown.streams.lock().unwrap().capacity() < 100);
    }
}
