//! A running scan: one stream of rows for each bucket, merged; the requests run in batches, one after the other.

mod bucket;
mod distinct;
mod merge;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Sleep, sleep};

use self::bucket::{BucketScan, ReadMode};
use self::distinct::Delivered;
pub(crate) use self::distinct::{SEEK_ROWS, is_spread};
use self::merge::Merge;
use super::skipped::SkippedLog;
use crate::client::{
    Client, Error, NextRow, ReadStats, Route, RowCursor, RowTurns, ScanCounters, StreamGuard, is_high_fan_out,
};
use crate::key::{Bucket, KeyType};
use crate::plan::{MANY_ROW_ITEMS, Plan, Request, RequestBatches, many_row_items};
use crate::row::{RawRow, ReadFilters, RowFilter, Span};

/// How many rows the pages of all buckets hold together, where the scan cannot keep a stream open for each.
const PAGED_ROWS: u64 = 65_536;

/// How long a scan that has reached its limit waits for the costs of its requests.
const COSTS_WITHIN: Duration = Duration::from_secs(1);

/// A scan while it runs. A row counts as delivered once the caller calls [`delivered`](Self::delivered).
pub(crate) trait ScanCursor {
    /// Advances to the next row.
    fn poll_next_row(&mut self, cx: &mut Context<'_>) -> Poll<NextRow>;

    /// The current row.
    fn current(&self) -> Option<&RawRow>;

    /// Notes that the current row was delivered.
    fn delivered(&mut self);

    /// Ends the scan at a row that cannot be delivered; returns the error with the place of the row.
    fn fail_at_row(&mut self, error: Error) -> Error;

    /// The key of the last row that was delivered; empty before the first.
    fn last_key(&self) -> &[u8];

    /// Calls `visit` on the current row and the rows already buffered, at most `max`, until it refuses one. Rows that it takes
    /// count as delivered, but not against a limit: see [`count`](Self::count).
    fn visit_buffered(&mut self, max: u64, visit: impl FnMut(&RawRow) -> VisitResult);

    /// Counts rows that were delivered, also against the limit.
    fn count(&mut self, rows: u64);

    /// Ends the scan, which cancels its requests.
    fn end(&mut self);
}

/// What became of a row that was passed to a visitor.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum VisitResult {
    Delivered,
    Skipped,
    /// It ends the visit.
    Refused,
}

/// How a scan runs.
#[derive(Clone)]
pub(crate) struct ScanOptions {
    /// The most rows.
    pub(super) limit: Option<u64>,
    pub(super) reversed: bool,
    pub(super) unordered: bool,
    /// Whether the client drops rows by their keys.
    pub(super) filters_keys: bool,
    /// Whether rows that are not of the key type are skipped, and counted in `log`.
    pub(super) skip_foreign: bool,
    pub(super) skip_unreadable: bool,
    pub(super) log: Arc<SkippedLog>,
    pub(super) keys_only: bool,
    pub(super) filters: ReadFilters,
    /// The token of the page before.
    pub(super) after: Option<String>,
    /// What to add the cost of the scan to.
    pub(super) stats: Option<ReadStats>,
    /// For `distinct(n)`: the number of leading fields.
    pub(super) distinct: Option<usize>,
    /// Its name in spans and metrics.
    pub(super) name: Option<&'static str>,
}

impl ScanOptions {
    /// Whether the scan reads or compares values of columns.
    pub(super) fn reads_values(&self) -> bool {
        !self.keys_only || self.filters.is_given()
    }

    /// Whether requests carry the limit: not if the client drops rows by their keys, since nobody knows how many.
    fn sends_limit(&self) -> bool {
        !self.filters_keys
    }
}

/// A scan as it is asked for, but for its plan.
#[derive(Clone)]
pub(crate) struct ScanRequest {
    pub(super) client: Client,
    pub(super) table: Route,
    pub(super) key: KeyType,
    /// What the server sends of each row.
    pub(super) filter: RowFilter,
    /// Decides by its stored key which row begins a value of `distinct`. Other rows are dropped where they are delivered.
    pub(super) keeps_value: Option<KeepsValue>,
    pub(super) options: ScanOptions,
}

/// Decides by the stored key of a row.
pub(crate) type KeepsValue = Arc<dyn Fn(&[u8]) -> bool + Send + Sync>;

/// Checks the table before the first request.
pub(crate) type TableCheck = Pin<Box<dyn Future<Output = Result<(), Error>> + Send>>;

/// A scan while it runs. A row counts as delivered once the caller calls [`delivered`](ScanCursor::delivered),
/// or takes it in [`visit_buffered`](ScanCursor::visit_buffered).
pub(crate) struct ScanExecution {
    scan: Arc<ScanRequest>,
    batches: RequestBatches<'static>,
    /// How many keys and ranges have been requested, until too many have been warned of.
    row_items: Option<u64>,
    check: Option<TableCheck>,
    /// How many rows may still be delivered.
    remaining: u64,
    returned: ReturnedCounter,
    /// Of a scan that delivers each value once.
    delivered_values: Option<Delivered>,
    merge: Option<Merge>,
    /// The permits for the streams that the buckets of the merge keep open.
    streams: Option<OwnedSemaphorePermit>,
    guard: StreamGuard,
    turns: RowTurns,
    last: LastKey,
    /// Until when a scan that has reached its limit waits for the costs of its requests.
    costs_until: Option<Pin<Box<Sleep>>>,
    ended: bool,
}

/// Counts the rows that were delivered, and passes their number on when the scan is dropped.
struct ReturnedCounter {
    rows: u64,
    counters: Arc<ScanCounters>,
}

impl Drop for ReturnedCounter {
    fn drop(&mut self) {
        self.counters.add_returned(self.rows);
    }
}

/// The key of the last row that was delivered, where it lies in its message.
#[derive(Default)]
struct LastKey {
    message: Bytes,
    key: Span,
}

impl LastKey {
    #[inline]
    fn set(&mut self, row: &RawRow) {
        if self.message.as_ptr() != row.bytes.as_ptr() || self.message.len() != row.bytes.len() {
            self.keep(&row.bytes);
        }
        self.key = row.key;
    }

    #[cold]
    fn keep(&mut self, message: &Bytes) {
        self.message = message.clone();
    }

    fn get(&self) -> &[u8] {
        self.key.of(&self.message)
    }
}

impl ScanExecution {
    /// Begins a scan, after `check` if there is one.
    pub(super) fn new(
        plan: Plan<()>,
        mut scan: ScanRequest,
        check: impl FnOnce(&Client) -> Option<TableCheck>,
    ) -> Self {
        // A scan that has begun runs on when the client is closed.
        let (client, guard) = scan.client.streaming();
        scan.client = client;
        let ScanOptions { limit, reversed, distinct, name, .. } = scan.options;
        let counters = scan.client.scan_counters(&scan.table, name, distinct.is_none());
        let delivered_values =
            distinct.map(|count| Delivered::new(scan.key.schema(), count, plan.is_ordered()));
        let check = if limit == Some(0) { None } else { check(&scan.client) };
        Self {
            batches: plan.into_batches(reversed),
            scan: Arc::new(scan),
            row_items: Some(0),
            check,
            remaining: limit.unwrap_or(u64::MAX),
            returned: ReturnedCounter { rows: 0, counters },
            delivered_values,
            merge: None,
            streams: None,
            guard,
            turns: RowTurns::default(),
            last: LastKey::default(),
            costs_until: None,
            ended: false,
        }
    }

    #[cold]
    fn fail(&mut self, error: Error) -> Error {
        self.end();
        let last = self.last.get();
        error.with_last_row((!last.is_empty()).then(|| Bytes::copy_from_slice(last)))
    }

    /// Checks the table, then begins the next batch of requests, if there is one. It reaches no row.
    #[cold]
    fn poll_batch(&mut self, cx: &mut Context<'_>) -> Poll<NextRow> {
        if let Some(check) = &mut self.check {
            ready!(check.as_mut().poll(cx))?;
            self.check = None;
        }
        let Some(requests) = self.batches.next() else {
            self.ended = true;
            return Poll::Ready(None);
        };
        self.warn_of_many_row_items(&requests);
        let mode = self.read_mode(requests.len());
        let limit = Some(self.remaining).filter(|rows| *rows < u64::MAX);
        let counters = &self.returned.counters;
        let bucket_scan = |request: Request| {
            BucketScan::new(Arc::clone(&self.scan), request, limit, mode.clone(), counters)
        };
        let bucket_scans = requests.into_iter().map(bucket_scan).collect();
        let ScanOptions { reversed, unordered, distinct, .. } = self.scan.options;
        // The rows of one value are found side by side in the merged order alone.
        self.merge = Some(match unordered && distinct.is_none() {
            true => Merge::unordered(bucket_scans),
            false => Merge::ordered(bucket_scans, self.scan.key.schema(), reversed),
        });
        Poll::Ready(None)
    }

    /// Whether the current row has a value that was delivered.
    #[inline]
    fn is_repeated(&mut self) -> Result<bool, Error> {
        let Self { delivered_values: Some(values), merge: Some(merge), scan, .. } = self else {
            return Ok(false);
        };
        match merge.current() {
            Some(row) => values.is_repeated(&scan.table, scan.key, row.key()),
            None => Ok(false),
        }
    }

    /// Warns once of a plan with too many keys and ranges. Those of a part of a plan are known only as they are requested.
    fn warn_of_many_row_items(&mut self, requests: &[Request]) {
        let Some(requested) = &mut self.row_items else { return };
        *requested += requests.iter().map(Request::row_items).sum::<u64>();
        let whole = self.batches.row_items();
        let count = whole.unwrap_or(*requested);
        if count > MANY_ROW_ITEMS {
            self.row_items = None;
            let (table, key_type) = (&*self.scan.table, self.scan.key.schema().key_type());
            tracing::warn!(
                table,
                key_type,
                ranges = count,
                "a scan reads {}",
                many_row_items(count, whole.is_none())
            );
        }
    }

    /// Streams, where the connections can keep one open for each bucket; otherwise pages, which keep none open.
    fn read_mode(&mut self, buckets: usize) -> ReadMode {
        self.streams = None;
        match self.scan.client.reserve_streams(buckets) {
            Ok(streams) => {
                self.streams = streams;
                ReadMode::Stream { high_fan_out: is_high_fan_out(buckets) }
            }
            Err(budget) => {
                let buckets = buckets.max(1);
                let rows = (PAGED_ROWS / buckets as u64).clamp(16, 1024);
                ReadMode::Pages { rows, buckets, budget }
            }
        }
    }
}

impl ScanExecution {
    /// Reads the requests of a scan that has reached its limit to their ends, where the server says what they have cost. Not if
    /// they carry no limit, and may have many rows left; and not for long, since the caller has every row.
    #[cold]
    fn poll_costs(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let sends_limit = self.scan.options.sends_limit();
        let Some(merge) = self.merge.as_mut().filter(|_| sends_limit) else { return Poll::Ready(()) };
        if merge.poll_ends(cx).is_ready() {
            return Poll::Ready(());
        }
        self.costs_until.get_or_insert_with(|| Box::pin(sleep(COSTS_WITHIN))).as_mut().poll(cx)
    }
}

impl ScanCursor for ScanExecution {
    #[inline]
    fn poll_next_row(&mut self, cx: &mut Context<'_>) -> Poll<NextRow> {
        while self.remaining > 0 && !self.ended {
            if !self.guard.record_poll() {
                let error = Error::closed_scan(self.scan.table.table());
                return Poll::Ready(Some(Err(self.fail(error))));
            }
            if self.turns.poll_row(cx).is_pending() {
                self.guard.register_waker(cx);
                return Poll::Pending;
            }
            let polled = match &mut self.merge {
                Some(merge) => match merge.poll_next_row(cx) {
                    Poll::Ready(None) => {
                        self.merge = None;
                        continue;
                    }
                    polled => polled,
                },
                None => self.poll_batch(cx),
            };
            match polled {
                Poll::Ready(Some(Ok(()))) => match self.is_repeated() {
                    Ok(true) => {}
                    Ok(false) => return Poll::Ready(Some(Ok(()))),
                    Err(error) => return Poll::Ready(Some(Err(self.fail(error)))),
                },
                // The next batch has begun, or there is none.
                Poll::Ready(None) => {}
                Poll::Ready(Some(Err(error))) => return Poll::Ready(Some(Err(self.fail(error)))),
                Poll::Pending => {
                    self.guard.register_waker(cx);
                    return Poll::Pending;
                }
            }
        }
        if self.scan.options.stats.is_some() {
            ready!(self.poll_costs(cx));
        }
        self.end();
        Poll::Ready(None)
    }

    #[inline]
    fn current(&self) -> Option<&RawRow> {
        self.merge.as_ref().and_then(Merge::current)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn delivered(&mut self) {
        if let Some(row) = self.merge.as_ref().and_then(Merge::current) {
            self.last.set(row);
        }
        self.count(1);
    }

    /// The error names the last row before it.
    fn fail_at_row(&mut self, error: Error) -> Error {
        let bucket = self.merge.as_ref().and_then(Merge::bucket).map(Bucket::number);
        self.fail(Error::in_scan(bucket, error))
    }

    fn last_key(&self) -> &[u8] {
        self.last.get()
    }

    #[inline]
    fn visit_buffered(&mut self, max: u64, mut visit: impl FnMut(&RawRow) -> VisitResult) {
        let Self { merge: Some(merge), last, remaining, .. } = self else { return };
        // A limit is checked row by row.
        let max = if *remaining < u64::MAX { 1 } else { max };
        merge.buffered(max, |row| {
            let visited = visit(row);
            if visited == VisitResult::Delivered {
                last.set(row);
            }
            visited != VisitResult::Refused
        });
    }

    #[inline]
    fn count(&mut self, rows: u64) {
        self.returned.rows += rows;
        if self.remaining < u64::MAX {
            self.remaining = self.remaining.saturating_sub(rows);
            if self.remaining == 0 {
                self.guard.end();
            }
        }
    }

    fn end(&mut self) {
        self.ended = true;
        self.merge = None;
        self.streams = None;
        self.guard.end();
    }
}
