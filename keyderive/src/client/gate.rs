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

/// Lets operations begin until it is closed, and knows when all have ended.
#[derive(Debug, Default)]
pub(super) struct Gate {
    closed: AtomicBool,
    inside: AtomicUsize,
    left: Notify,
    closing: Notify,
    /// How often it was asked which streams are still polled. That is asked only when it is closed.
    round: AtomicU64,
    /// The passes of streams. Those that have ended are cleared away when there is no room for another.
    streams: Mutex<Vec<Weak<Pass>>>,
}

/// Leave to run one operation, with all requests that it takes.
#[derive(Debug)]
pub(crate) struct Pass {
    gate: Arc<Gate>,
    /// Of a stream, the last round in which it was polled; `ENDED` when this is leave no more.
    seen: AtomicU64,
    /// Wakes who waits for the stream.
    reader: AtomicWaker,
}

/// A stream's own leave to run; none where the stream is part of what has it, or has ended.
///
/// A stream that is in scope and not polled cannot end. So whoever closes the client wakes all streams, and gives those
/// up that are not polled for some time after that.
#[derive(Debug, Default)]
pub(crate) struct StreamPass(Option<Arc<Pass>>);

impl Gate {
    /// Lets an operation begin, unless the gate is closed.
    pub(super) fn enter(self: &Arc<Self>) -> Option<Arc<Pass>> {
        // Counted first, so that one who closes at the same time sees it.
        self.inside.fetch_add(1, Ordering::SeqCst);
        let seen = AtomicU64::new(self.round.load(Ordering::SeqCst));
        let pass = Pass { gate: Arc::clone(self), seen, reader: AtomicWaker::new() };
        (!self.is_closed()).then(|| Arc::new(pass))
    }

    /// As [`enter`](Self::enter), for a stream.
    pub(super) fn enter_stream(self: &Arc<Self>) -> Option<Arc<Pass>> {
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

    /// Ready when the gate is closed.
    pub(super) async fn closing(&self) {
        let closing = self.closing.notified();
        if !self.is_closed() {
            closing.await;
        }
    }

    /// Closes the gate at once; what is returned is ready when all that were inside have left or were given up.
    pub(super) fn close(self: &Arc<Self>) -> impl Future<Output = ()> + Send + use<> {
        self.closed.store(true, Ordering::SeqCst);
        self.closing.notify_waiters();
        let gate = Arc::clone(self);
        async move {
            while !gate.is_empty() {
                let round = gate.ask();
                match Handle::try_current() {
                    Ok(_) if timeout(GIVEN_UP_AFTER, gate.emptied()).await.is_err() => gate.give_up(round),
                    Ok(_) => {}
                    // There is no clock to give up by.
                    Err(_) => gate.emptied().await,
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

    fn open_streams(&self) -> Vec<Arc<Pass>> {
        let streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        streams.iter().filter_map(Weak::upgrade).collect()
    }

    fn leave(&self) {
        if self.inside.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.left.notify_waiters();
        }
    }
}

impl Pass {
    /// Leaves, unless it has.
    fn end(&self) {
        if self.seen.swap(ENDED, Ordering::SeqCst) != ENDED {
            self.gate.leave();
        }
    }

    /// Notes that its stream is polled; whether it has not been given up.
    #[inline]
    fn is_polled(&self) -> bool {
        let round = self.gate.round.load(Ordering::Relaxed);
        self.seen.load(Ordering::Relaxed) == round || self.is_polled_in(round)
    }

    #[cold]
    fn is_polled_in(&self, round: u64) -> bool {
        let polled = |seen| (seen != ENDED).then_some(round);
        self.seen.fetch_update(Ordering::SeqCst, Ordering::SeqCst, polled).is_ok()
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        self.end();
    }
}

impl StreamPass {
    pub(super) fn new(pass: Option<Arc<Pass>>) -> Self {
        Self(pass)
    }

    pub(super) fn pass(&self) -> Option<Arc<Pass>> {
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
        let gate = Arc::new(Gate::default());
        let passes = [gate.enter().unwrap(), gate.enter_stream().unwrap()];
        let mut closed = std::pin::pin!(gate.close());
        assert!(gate.enter().is_none() && gate.enter_stream().is_none());
        assert!((&mut closed).now_or_never().is_none());
        drop(passes);
        assert!(closed.now_or_never().is_some());
        gate.close().await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_leaves_once() {
        let gate = Arc::new(Gate::default());
        let (other, given_up) = (gate.enter().unwrap(), StreamPass::new(gate.enter_stream()));
        let mut ended = StreamPass::new(gate.enter_stream());
        ended.end();
        assert!(timeout(2 * GIVEN_UP_AFTER, gate.close()).await.is_err());
        assert!(!given_up.is_polled() && ended.is_polled());
        drop((given_up, ended));
        drop(other);
        assert!(gate.close().now_or_never().is_some());
    }

    #[test]
    fn outside_of_a_runtime_it_is_closed_too() {
        let gate = Arc::new(Gate::default());
        let stream = gate.enter_stream().unwrap();
        let mut closed = std::pin::pin!(gate.close());
        assert!((&mut closed).now_or_never().is_none());
        drop(stream);
        assert!(closed.now_or_never().is_some());
    }

    #[test]
    fn passes_of_streams_that_have_ended_are_cleared_away() {
        let gate = Arc::new(Gate::default());
        let kept: Vec<_> = (0..20).map(|_| gate.enter_stream().unwrap()).collect();
        for _ in 0..10_000 {
            gate.enter_stream().unwrap();
        }
        assert_eq!(gate.open_streams().len(), kept.len());
        assert!(gate.streams.lock().unwrap().capacity() < 100);
    }
}
