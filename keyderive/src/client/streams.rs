//! How many streams scans keep open on one connection.

use std::future::Future;
use std::panic::resume_unwind;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures_util::TryStreamExt as _;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinHandle;

use super::Client;
use super::error::Error;
use super::read::RowStream;
use super::transport::Transport;
use crate::row::Row;

/// How many streams of one connection stay open for as long as a scan does.
///
/// Servers allow 100 streams on a connection, Google's front ends too. With the short ones it makes 90, which leaves
/// room for reads of a row and for writes.
const LONG_STREAMS: usize = 70;

/// How many streams are kept for requests that are read to their end at once, whoever waits for what.
const SHORT_STREAMS: usize = 20;

/// How many streams of a scan have large windows. More than that go by connections of their own, with small ones.
const FEW_STREAMS: usize = 8;

/// The streams that scans may have open, of all connections. Each request goes by the connection that carries the
/// fewest, so that they are spread.
#[derive(Clone, Debug)]
pub(crate) struct Streams {
    long: Arc<Semaphore>,
    /// Those of scans with many.
    small_windows: Arc<Semaphore>,
    short: Arc<Semaphore>,
    /// Where the connection runs.
    runtime: Handle,
}

impl Streams {
    /// The streams of all connections; none for servers in this process, which have no connection to share.
    pub(super) fn of(transports: &[Transport]) -> Option<Self> {
        let count = transports.len();
        match transports.first()? {
            Transport::Channel(_, runtime) => Some(Self {
                long: Arc::new(Semaphore::new(LONG_STREAMS * count)),
                small_windows: Arc::new(Semaphore::new(LONG_STREAMS * count)),
                short: Arc::new(Semaphore::new(SHORT_STREAMS * count)),
                runtime: runtime.clone(),
            }),
            #[cfg(feature = "embedded")]
            Transport::InProcess(_) => None,
            Transport::Ended => None,
        }
    }

    /// Reads an answer to its end, on one stream, when there is one.
    ///
    /// A task does it, so that the stream is free again whether or not the page is ever polled: a scan that its user
    /// leaves alone holds up no other.
    pub(crate) fn read_page(&self, rows: RowStream, size: PageSize) -> Page {
        let Self { long, short, runtime, .. } = self;
        let (long, short) = (Arc::clone(long), Arc::clone(short));
        Page(runtime.spawn(async move {
            let _stream = match long.try_acquire_owned() {
                Ok(stream) => Some(stream),
                // The semaphore is never closed.
                Err(_) => short.acquire_owned().await.ok(),
            };
            size.read(rows).await
        }))
    }
}

/// Whether so many streams of one scan go by connections of their own.
pub(crate) fn are_many(streams: usize) -> bool {
    streams > FEW_STREAMS
}

impl Client {
    /// Room for streams that stay open side by side, all that are needed; else those that pages are to be read on.
    pub(crate) fn long_streams(&self, count: usize) -> Result<Option<OwnedSemaphorePermit>, Streams> {
        let Some(streams) = &self.inner.streams else {
            return Ok(None);
        };
        let room = if are_many(count) { &streams.small_windows } else { &streams.long };
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        Arc::clone(room).try_acquire_many_owned(count).map(Some).map_err(|_| streams.clone())
    }
}

/// How much a page may hold.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PageSize {
    pub(crate) rows: u64,
    /// A page ends with the row that has it hold more. One row is always read.
    pub(crate) bytes: usize,
}

/// What a page holds.
#[derive(Debug)]
pub(crate) struct PageRows {
    pub(crate) rows: Vec<Row>,
    /// Whether it ends before its request does.
    pub(crate) cut: bool,
}

impl PageSize {
    async fn read(self, mut stream: RowStream) -> Result<PageRows, Error> {
        let (mut rows, mut bytes) = (Vec::new(), 0);
        while let Some(row) = stream.try_next().await? {
            bytes += row.size();
            rows.push(row);
            if bytes > self.bytes {
                return Ok(PageRows { rows, cut: true });
            }
        }
        Ok(PageRows { rows, cut: false })
    }
}

/// The rows of a page, when it is read to its end. Dropping it cancels its request.
#[derive(Debug)]
pub(crate) struct Page(JoinHandle<Result<PageRows, Error>>);

impl Page {
    pub(crate) fn poll_rows(&mut self, cx: &mut Context<'_>) -> Poll<Result<PageRows, Error>> {
        Poll::Ready(ready!(Pin::new(&mut self.0).poll(cx)).unwrap_or_else(|failed| match failed.try_into_panic() {
            Ok(panic) => resume_unwind(panic),
            Err(_) => Err(Error::configuration(
                "the tokio runtime that the client was made in has ended; make the client in the one that scans run in",
            )),
        }))
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        self.0.abort();
    }
}
