//! Closing a client: operations in flight finish, and no new ones begin.

use std::future::Future;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::Context;
use std::time::Duration;

use futures_util::task::AtomicWaker;
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::time::timeout;

/// How long `close` waits for a stream that is not polled.
const GIVEN_UP_AFTER: Duration = Duration::from_secs(10);

/// The value of `polled_in` for a stream that no longer counts.
const ENDED: u64 = u64::MAX;

/// Whether the client is closed, and what is in flight.
#[derive(Debug, Default)]
pub(super) struct Shutdown {
    closed: AtomicBool,
    in_flight: AtomicUsize,
    /// Notified when nothing is in flight.
    idle: Notify,
    /// Notified when the client is closed.
    closing: Notify,
    /// Counts the rounds in which `close` looks for streams that are not polled.
    round: AtomicU64,
    /// The streams in flight. Streams that have ended are removed when the list is full.
    streams: Mutex<Vec<Weak<InFlightGuard>>>,
}

/// Counts an operation, with all its requests, as in flight until the guard is dropped.
#[derive(Debug)]
pub(crate) struct InFlightGuard {
    shutdown: Arc<Shutdown>,
    /// For a stream: the last round in which it was polled, or `ENDED` once it no longer counts.
    polled_in: AtomicU64,
    /// Wakes the task that waits for the stream.
    reader: AtomicWaker,
}

/// Counts a stream as in flight. Empty if the stream has ended, or is part of an operation that is counted.
///
/// A stream that its owner keeps without polling it cannot end. So `close` wakes all streams, and after some time gives up
/// those that have not been polled since.
#[derive(Debug, Default)]
pub(crate) struct StreamGuard(Option<Arc<InFlightGuard>>);

impl Shutdown {
    /// Counts an operation as in flight, unless the client is closed.
    pub(super) fn enter(self: &Arc<Self>) -> Option<InFlightGuard> {
        // Counted first, so that a concurrent `close` sees it.
        self.in_flight.fetch_add(1, Ordering::SeqCst);
        let polled_in = AtomicU64::new(self.round.load(Ordering::SeqCst));
        let guard = InFlightGuard { shutdown: Arc::clone(self), polled_in, reader: AtomicWaker::new() };
        (!self.is_closed()).then_some(guard)
    }

    /// As [`enter`](Self::enter), for a stream.
    pub(super) fn enter_stream(self: &Arc<Self>) -> Option<Arc<InFlightGuard>> {
        let guard = Arc::new(self.enter()?);
        let mut streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        if streams.len() == streams.capacity() {
            streams.retain(|stream| stream.strong_count() > 0);
            let live = streams.len();
            streams.reserve(live.max(8));
        }
        streams.push(Arc::downgrade(&guard));
        Some(guard)
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::SeqCst)
    }

    /// Waits until the client is closed.
    pub(super) async fn closing(&self) {
        let closing = self.closing.notified();
        if !self.is_closed() {
            closing.await;
        }
    }

    /// Closes the client at once. The future is ready when everything in flight has ended or was given up.
    pub(super) fn close(self: &Arc<Self>) -> impl Future<Output = ()> + Send + use<> {
        self.closed.store(true, Ordering::SeqCst);
        self.closing.notify_waiters();
        let shutdown = Arc::clone(self);
        async move {
            while !shutdown.is_idle() {
                let round = shutdown.begin_round();
                match Handle::try_current() {
                    Ok(_) if timeout(GIVEN_UP_AFTER, shutdown.wait_until_idle()).await.is_err() => {
                        shutdown.give_up(round);
                    }
                    Ok(_) => {}
                    // Without a runtime there is no timer.
                    Err(_) => shutdown.wait_until_idle().await,
                }
            }
        }
    }

    fn is_idle(&self) -> bool {
        self.in_flight.load(Ordering::SeqCst) == 0
    }

    async fn wait_until_idle(&self) {
        loop {
            let idle = self.idle.notified();
            if self.is_idle() {
                return;
            }
            idle.await;
        }
    }

    /// Begins a round: wakes all streams, so that the tasks that wait for them poll them.
    fn begin_round(&self) -> u64 {
        let round = self.round.fetch_add(1, Ordering::SeqCst) + 1;
        for stream in self.open_streams() {
            stream.reader.wake();
        }
        round
    }

    /// Gives up the streams that have not been polled since a round began.
    fn give_up(&self, round: u64) {
        for stream in self.open_streams() {
            let unpolled = |polled_in| (polled_in < round).then_some(ENDED);
            if stream.polled_in.fetch_update(Ordering::SeqCst, Ordering::SeqCst, unpolled).is_ok() {
                self.leave();
            }
        }
    }

    fn open_streams(&self) -> Vec<Arc<InFlightGuard>> {
        let streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        streams.iter().filter_map(Weak::upgrade).collect()
    }

    fn leave(&self) {
        if self.in_flight.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.idle.notify_waiters();
        }
    }
}

impl InFlightGuard {
    fn end(&self) {
        if self.polled_in.swap(ENDED, Ordering::SeqCst) != ENDED {
            self.shutdown.leave();
        }
    }

    /// Records that the stream is polled. False if `close` has given it up.
    #[inline]
    fn record_poll(&self) -> bool {
        let round = self.shutdown.round.load(Ordering::Relaxed);
        self.polled_in.load(Ordering::Relaxed) == round || self.record_poll_in(round)
    }

    #[cold]
    fn record_poll_in(&self, round: u64) -> bool {
        let polled = |polled_in| (polled_in != ENDED).then_some(round);
        self.polled_in.fetch_update(Ordering::SeqCst, Ordering::SeqCst, polled).is_ok()
    }
}

impl Drop for InFlightGuard {
    fn drop(&mut self) {
        self.end();
    }
}

impl StreamGuard {
    pub(super) fn new(guard: Option<Arc<InFlightGuard>>) -> Self {
        Self(guard)
    }

    pub(super) fn guard(&self) -> Option<Arc<InFlightGuard>> {
        self.0.clone()
    }

    /// Records that the stream is polled. False if `close` has given it up.
    #[inline]
    pub(crate) fn record_poll(&self) -> bool {
        self.0.as_ref().is_none_or(|guard| guard.record_poll())
    }

    /// Registers the task that waits for the stream's next item.
    pub(crate) fn register_waker(&self, cx: &Context<'_>) {
        if let Some(guard) = &self.0 {
            guard.reader.register(cx.waker());
            // A round that began before the registration did not wake this task.
            guard.record_poll();
        }
    }

    /// Records that the stream has ended, or has returned all requested rows.
    pub(crate) fn end(&mut self) {
        if let Some(guard) = self.0.take() {
            guard.end();
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::future::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn operations_in_flight_finish_and_no_new_ones_begin() {
        let shutdown = Arc::new(Shutdown::default());
        let guards = (shutdown.enter().unwrap(), shutdown.enter_stream().unwrap());
        let mut closed = std::pin::pin!(shutdown.close());
        assert!(shutdown.enter().is_none() && shutdown.enter_stream().is_none());
        assert!((&mut closed).now_or_never().is_none());
        drop(guards);
        assert!(closed.now_or_never().is_some());
        shutdown.close().await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_is_counted_down_once() {
        let shutdown = Arc::new(Shutdown::default());
        let (other, given_up) = (shutdown.enter().unwrap(), StreamGuard::new(shutdown.enter_stream()));
        let mut ended = StreamGuard::new(shutdown.enter_stream());
        ended.end();
        assert!(timeout(2 * GIVEN_UP_AFTER, shutdown.close()).await.is_err());
        assert!(!given_up.record_poll() && ended.record_poll());
        drop((given_up, ended));
        drop(other);
        assert!(shutdown.close().now_or_never().is_some());
    }

    #[test]
    fn it_closes_outside_of_a_runtime_too() {
        let shutdown = Arc::new(Shutdown::default());
        let stream = shutdown.enter_stream().unwrap();
        let mut closed = std::pin::pin!(shutdown.close());
        assert!((&mut closed).now_or_never().is_none());
        drop(stream);
        assert!(closed.now_or_never().is_some());
    }

    #[test]
    fn guards_of_ended_streams_are_removed() {
        let shutdown = Arc::new(Shutdown::default());
        let kept: Vec<_> = (0..20).map(|_| shutdown.enter_stream().unwrap()).collect();
        for _ in 0..10_000 {
            shutdown.enter_stream().unwrap();
        }
        assert_eq!(shutdown.open_streams().len(), kept.len());
        assert!(shutdown.streams.lock().unwrap().capacity() < 100);
    }
}
