//! How many streams scans keep open on one connection, and how much memory scans take that keep none open.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

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
    pages: PageBudget,
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
                pages: PageBudget::default(),
                runtime: http2.runtime().clone(),
                deadline: None,
            }),
            #[cfg(feature = "embedded")]
            Transport::InProcess(_) => None,
        }
    }

    /// The memory of the scans that keep no stream open.
    pub(crate) fn pages(&self) -> &PageBudget {
        &self.pages
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

/// How many bytes the pages of all scans of a client hold together, not counting each one's least share and one row.
const PAGED_BYTES: usize = 64 * 1024 * 1024;

/// The least share of a page, and of all pages of a scan together. A merge needs a row of every bucket, so no page waits for memory.
const LEAST_PAGE_BYTES: usize = 16 * 1024;
const LEAST_SCAN_BYTES: usize = 1024 * 1024;

/// One page takes at most 1 / `LARGEST_PART` of the free bytes, so that others find some.
const LARGEST_PART: usize = 4;

/// The memory of the pages of a client's scans.
#[derive(Clone, Debug, Default)]
pub(crate) struct PageBudget(Arc<AtomicUsize>);

/// The memory of a page, until dropped.
#[derive(Debug)]
pub(crate) struct PageShare {
    budget: PageBudget,
    bytes: usize,
    /// How many of the bytes count against the budget.
    charged: usize,
}

impl PageBudget {
    /// Memory for a page of a scan that reads `buckets` buckets concurrently.
    pub(crate) fn take(&self, buckets: usize) -> PageShare {
        let buckets = buckets.max(1);
        let (most, least) = (PAGED_BYTES / buckets, LEAST_PAGE_BYTES.min(LEAST_SCAN_BYTES / buckets));
        let Self(taken) = self;
        let mut charged = 0;
        let _ = taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |taken| {
            let free = PAGED_BYTES.saturating_sub(taken);
            charged = most.min(free / LARGEST_PART);
            if charged <= least {
                charged = 0;
            }
            Some(taken + charged)
        });
        PageShare { budget: self.clone(), bytes: charged.max(least), charged }
    }
}

impl PageShare {
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether no more was free than every page gets.
    pub(crate) fn is_least(&self) -> bool {
        self.charged == 0
    }

    /// Returns what a page of this size does not need.
    pub(crate) fn shrink_to(&mut self, bytes: usize) {
        let charged = self.charged.min(bytes);
        self.budget.0.fetch_sub(self.charged - charged, Ordering::Relaxed);
        (self.bytes, self.charged) = (bytes, charged);
    }
}

impl Drop for PageShare {
    fn drop(&mut self) {
        self.budget.0.fetch_sub(self.charged, Ordering::Relaxed);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_share_a_budget_beside_their_least_shares() {
        let budget = PageBudget::default();
        let first = budget.take(4);
        assert_eq!((first.bytes(), first.is_least()), (PAGED_BYTES / 4, false));
        let mut shares: Vec<_> = (0..1_200).map(|_| budget.take(4)).collect();
        assert!(budget.0.load(Ordering::Relaxed) <= PAGED_BYTES);
        assert!(shares.iter().all(|share| share.bytes() >= LEAST_PAGE_BYTES));
        assert_eq!(shares.last().map(|last| (last.bytes(), last.is_least())), Some((LEAST_PAGE_BYTES, true)));
        // A scan of many buckets gets no more than others.
        let many = budget.take(256).bytes();
        assert!((LEAST_SCAN_BYTES / 256..LEAST_PAGE_BYTES).contains(&many), "{many}");
        // A page that is small returns the rest, and each what it has.
        shares.iter_mut().for_each(|share| share.shrink_to(100));
        drop(first);
        assert!(budget.take(4).bytes() > 15 << 20);
        drop(shares);
        assert_eq!(budget.0.load(Ordering::Relaxed), 0);
    }
}
