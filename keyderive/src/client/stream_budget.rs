//! How many streams scans keep open on one connection.

use std::future::Future;
use std::sync::Arc;

use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};

use super::Client;
use super::connections::Transport;

/// How many streams of one connection may stay open for as long as a scan runs.
///
/// Servers allow 100 streams on a connection, Google's front ends too. With the short ones this makes 90, which leaves
/// room for point reads and writes.
const LONG_STREAMS: usize = 70;

/// How many streams of one connection are reserved for requests whose answers a task reads to the end without pause,
/// however slowly the caller polls the scan.
const SHORT_STREAMS: usize = 20;

/// A scan with up to this many streams gives them large windows. A scan with more uses connections with small ones.
const FEW_STREAMS: usize = 8;

/// The streams that scans may keep open, over all connections. Each request takes the connection that carries the
/// fewest, so that they spread.
#[derive(Clone, Debug)]
pub(crate) struct StreamBudget {
    long: Arc<Semaphore>,
    /// The long streams of scans with high fan-out, on the connections with small windows.
    small_windows: Arc<Semaphore>,
    short: Arc<Semaphore>,
    /// The runtime of the connections.
    runtime: Handle,
    /// When the requests end that wait for a stream.
    deadline: Option<Instant>,
}

impl StreamBudget {
    /// The budget of all connections; none for a server in this process, which has no connection to share.
    pub(super) fn of(transports: &[Transport]) -> Option<Self> {
        let count = transports.len();
        match transports.first()? {
            Transport::Http2(http2) => Some(Self {
                long: Arc::new(Semaphore::new(LONG_STREAMS * count)),
                small_windows: Arc::new(Semaphore::new(LONG_STREAMS * count)),
                short: Arc::new(Semaphore::new(SHORT_STREAMS * count)),
                runtime: http2.runtime().clone(),
                deadline: None,
            }),
            #[cfg(feature = "embedded")]
            Transport::InProcess(_) => None,
        }
    }

    /// Runs a request to its end in a task, as soon as a stream is free.
    ///
    /// The task releases the stream even if nobody polls the scan, so an idle scan does not block others.
    pub(crate) fn spawn<T: Send + 'static>(
        &self,
        request: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<T> {
        let (long, short, deadline) = (Arc::clone(&self.long), Arc::clone(&self.short), self.deadline);
        self.runtime.spawn(async move {
            let _stream = match long.try_acquire_owned() {
                Ok(stream) => Some(stream),
                // The semaphore is never closed. After the deadline the request fails without a stream.
                Err(_) => match deadline {
                    Some(deadline) => {
                        timeout_at(deadline, short.acquire_owned()).await.ok().and_then(Result::ok)
                    }
                    None => short.acquire_owned().await.ok(),
                },
            };
            request.await
        })
    }
}

/// Whether a scan with this many streams uses the connections with small windows.
pub(crate) fn is_high_fan_out(streams: usize) -> bool {
    streams > FEW_STREAMS
}

impl Client {
    /// Reserves streams that stay open side by side, if all are free; otherwise returns the budget, for requests that
    /// are [spawned](StreamBudget::spawn).
    pub(crate) fn reserve_streams(&self, count: usize) -> Result<Option<OwnedSemaphorePermit>, StreamBudget> {
        let Some(budget) = &self.inner.streams else {
            return Ok(None);
        };
        let streams = if is_high_fan_out(count) { &budget.small_windows } else { &budget.long };
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        Arc::clone(streams)
            .try_acquire_many_owned(count)
            .map(Some)
            .map_err(|_| StreamBudget { deadline: self.deadline, ..budget.clone() })
    }
}
