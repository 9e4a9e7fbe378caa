//! Closing: what is in flight ends, and nothing new begins.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio::sync::Notify;

/// Lets operations begin until it is closed, and knows when all have ended.
#[derive(Debug, Default)]
pub(super) struct Gate {
    closed: AtomicBool,
    inside: AtomicUsize,
    left: Notify,
    closing: Notify,
}

/// Leave to run one operation, with all requests that it takes.
#[derive(Debug)]
pub(crate) struct Pass(Arc<Gate>);

impl Gate {
    /// Lets an operation begin, unless the gate is closed.
    pub(super) fn enter(self: &Arc<Self>) -> Option<Pass> {
        // Counted first, so that one who closes at the same time sees it.
        self.inside.fetch_add(1, Ordering::SeqCst);
        let pass = Pass(Arc::clone(self));
        (!self.closed.load(Ordering::SeqCst)).then_some(pass)
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

    /// Closes the gate at once; what is returned is ready when all that were inside have left.
    pub(super) fn close(self: &Arc<Self>) -> impl Future<Output = ()> + Send + use<> {
        self.closed.store(true, Ordering::SeqCst);
        self.closing.notify_waiters();
        let gate = Arc::clone(self);
        async move {
            loop {
                let left = gate.left.notified();
                if gate.inside.load(Ordering::SeqCst) == 0 {
                    return;
                }
                left.await;
            }
        }
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        if self.0.inside.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.0.left.notify_waiters();
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
        let passes = [gate.enter().unwrap(), gate.enter().unwrap()];
        let mut closed = std::pin::pin!(gate.close());
        assert!(gate.enter().is_none());
        assert!((&mut closed).now_or_never().is_none());
        drop(passes);
        assert!(closed.now_or_never().is_some());
        gate.close().await;
    }
}
