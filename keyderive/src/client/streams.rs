//! How many streams scans keep open on one connection.

use std::sync::Arc;

use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore, TryAcquireError};

use super::Client;
use super::transport::Transport;

/// How many streams of one connection stay open for as long as a scan does.
///
/// Servers allow 100 streams on a connection, Google's front ends too. With the short ones it makes 90, which leaves
/// room for reads of a row and for writes.
const LONG_STREAMS: usize = 70;

/// How many streams are kept for requests that are read to their end at once, whoever waits for what.
const SHORT_STREAMS: usize = 20;

/// The streams of one connection that scans may have open.
#[derive(Debug)]
pub(super) struct Streams {
    long: Arc<Semaphore>,
    short: Arc<Semaphore>,
}

impl Default for Streams {
    fn default() -> Self {
        Self { long: Arc::new(Semaphore::new(LONG_STREAMS)), short: Arc::new(Semaphore::new(SHORT_STREAMS)) }
    }
}

impl Client {
    /// Room for streams that stay open side by side; an error where there is none for all of them.
    ///
    /// It is none for servers in this process, which have no connection to share.
    pub(crate) fn long_streams(&self, count: usize) -> Result<Option<OwnedSemaphorePermit>, TryAcquireError> {
        if !self.shares_a_connection() {
            return Ok(None);
        }
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        Arc::clone(&self.inner.streams.long).try_acquire_many_owned(count).map(Some)
    }

    /// Room for one stream that is read to its end at once; waits until there is some.
    pub(crate) async fn short_stream(&self) -> Option<OwnedSemaphorePermit> {
        if !self.shares_a_connection() {
            return None;
        }
        let Streams { long, short } = &self.inner.streams;
        match Arc::clone(long).try_acquire_owned() {
            Ok(stream) => Some(stream),
            // The semaphore is never closed.
            Err(_) => Arc::clone(short).acquire_owned().await.map_err(|_: AcquireError| ()).ok(),
        }
    }

    fn shares_a_connection(&self) -> bool {
        match self.inner.transport {
            Transport::Channel(_) => true,
            #[cfg(feature = "embedded")]
            Transport::InProcess(_) => false,
        }
    }
}
