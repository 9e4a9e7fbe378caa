//! How the rows of a request are written.

use std::future::Future;
use std::num::NonZeroU32;
use std::pin::Pin;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::iter;
use tokio::time::{Instant, sleep_until};

use crate::client::{Entries, Error, ErrorKind};
use crate::table::UntypedTable;
use crate::table::watch::WatchedTable;

/// How many rows of a batch are in flight at a time if each is a request of its own.
pub(crate) const ROWS_IN_FLIGHT: usize = 64;

/// Whether each row of a batch was written, in their order; false if it existed and was kept.
pub(crate) type Outcomes = Vec<Result<bool, Error>>;

/// Writes the rows of requests.
pub(crate) trait Sink: Send + Sync {
    /// Writes the rows of a batch. A future that is dropped sends nothing more.
    fn write(&self, entries: Arc<Entries>) -> Pin<Box<dyn Future<Output = Outcomes> + Send + '_>>;

    /// How many requests a write of `rows` rows takes.
    fn requests(&self, rows: usize) -> usize {
        rows
    }
}

/// Writes rows without a condition, a batch a request.
pub(crate) struct Puts(pub(in crate::table) UntypedTable);

impl Sink for Puts {
    fn write(&self, entries: Arc<Entries>) -> Pin<Box<dyn Future<Output = Outcomes> + Send + '_>> {
        Box::pin(async move {
            let outcomes = self.0.client.send_entries(&self.0.name, &entries).await;
            outcomes.into_iter().map(|outcome| outcome.map(|()| true)).collect()
        })
    }

    fn requests(&self, _: usize) -> usize {
        1
    }
}

/// Writes rows for as long as the table is the one that the call began with.
pub(crate) struct Watched<S> {
    sink: S,
    table: Arc<WatchedTable>,
}

impl<S> Watched<S> {
    pub(in crate::table) fn new(sink: S, table: Arc<WatchedTable>) -> Self {
        Self { sink, table }
    }
}

impl<S: Sink> Sink for Watched<S> {
    fn write(&self, entries: Arc<Entries>) -> Pin<Box<dyn Future<Output = Outcomes> + Send + '_>> {
        Box::pin(async move {
            let rows = entries.len();
            if let Err(error) = self.table.before(rows).await {
                return vec![Err(error); rows];
            }
            let outcomes = self.sink.write(entries).await;
            let is_unwritten = |outcome: &&Result<bool, Error>| match outcome {
                Ok(written) => !written,
                Err(error) => !error.is_outcome_unknown(),
            };
            self.table.after(rows, outcomes.iter().filter(is_unwritten).count());
            outcomes
        })
    }

    fn requests(&self, rows: usize) -> usize {
        self.sink.requests(rows)
    }
}

/// Writes at most a number of rows a second, over all requests.
pub(crate) struct Paced<S> {
    sink: S,
    rate: NonZeroU32,
    /// When the next request may be sent.
    due: Mutex<Instant>,
}

impl<S> Paced<S> {
    pub(crate) fn new(sink: S, rate: NonZeroU32) -> Self {
        Self { sink, rate, due: Mutex::new(Instant::now()) }
    }
}

impl<S: Sink> Sink for Paced<S> {
    fn write(&self, entries: Arc<Entries>) -> Pin<Box<dyn Future<Output = Outcomes> + Send + '_>> {
        Box::pin(async move {
            let begin = {
                let mut due = self.due.lock().unwrap_or_else(PoisonError::into_inner);
                let (begin, rows) = ((*due).max(Instant::now()), entries.len() as u64);
                let nanos = rows.saturating_mul(1_000_000_000) / u64::from(self.rate.get());
                *due = begin + Duration::from_nanos(nanos);
                begin
            };
            sleep_until(begin).await;
            self.sink.write(entries).await
        })
    }

    fn requests(&self, rows: usize) -> usize {
        self.sink.requests(rows)
    }
}

/// Writes rows that do not exist: those without a cell that counts for the row type, as `put_if_absent`.
pub(crate) struct IfAbsent(pub(in crate::table) UntypedTable);

impl Sink for IfAbsent {
    fn write(&self, entries: Arc<Entries>) -> Pin<Box<dyn Future<Output = Outcomes> + Send + '_>> {
        let UntypedTable { client, name, visible, .. } = &self.0;
        let there = visible.presence(client.now_micros());
        let (count, there) = (entries.len(), Arc::new(there));
        Box::pin(write_each(count, move |position| {
            let (entries, there) = (Arc::clone(&entries), Arc::clone(&there));
            async move {
                let written = client.write_if_absent(name, &entries, position, (*there).clone()).await;
                written.map_err(Error::with_if_absent_hint)
            }
        }))
    }
}

/// Writes the rows of a batch, each by a request of its own, in no order. After a failure that every row would share, no further row is
/// tried.
pub(crate) async fn write_each<F>(rows: usize, write: impl Fn(usize) -> F) -> Outcomes
where
    F: Future<Output = Result<bool, Error>>,
{
    let shared_error = OnceLock::new();
    let written = iter(0..rows).map(|position| {
        let (shared_error, write) = (&shared_error, &write);
        async move {
            if let Some(error) = shared_error.get().cloned() {
                return (position, Err(error));
            }
            let written = write(position).await.inspect_err(|error| {
                if fails_every_row(error) {
                    let _ = shared_error.set(error.clone());
                }
            });
            (position, written)
        }
    });
    let mut outcomes: Outcomes = (0..rows).map(|_| Ok(false)).collect();
    let mut written = std::pin::pin!(written.buffer_unordered(ROWS_IN_FLIGHT));
    while let Some((position, outcome)) = written.next().await {
        if let Some(place) = outcomes.get_mut(position) {
            *place = outcome;
        }
    }
    outcomes
}

/// Whether a failure is not the row's own: any row would have failed, or the row may be written later.
pub(crate) fn fails_every_row(error: &Error) -> bool {
    error.is_retryable()
        || error.is_deadline_exceeded()
        || error.is_unavailable()
        || error.is_overloaded()
        || error.is_not_found()
        || error.is_table_mismatch()
        || error.is_permission_denied()
        || error.needs_single_row_transactions()
        || matches!(
            error.kind(),
            ErrorKind::ResourceExhausted
                | ErrorKind::Unimplemented
                | ErrorKind::ClientClosed
                | ErrorKind::Misconfiguration
                | ErrorKind::ProtocolViolation
        )
}
