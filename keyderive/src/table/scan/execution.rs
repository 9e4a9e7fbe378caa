//! A running scan: one stream of rows for each bucket, merged; the requests run in batches, one after the other.

use std::future::Future;
use std::panic::resume_unwind;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use std::vec;

use bytes::Bytes;
use futures_util::TryStreamExt as _;
use tokio::sync::OwnedSemaphorePermit;
use tokio::task::JoinHandle;
use tokio::time::{Sleep, sleep};

use super::merge::Merge;
use crate::client::{
    Client, Error, PageShare, ReadRows, ReadStats, Route, RowCursor, RowStream, RowTurns, StreamBudget,
    StreamGuard, is_high_fan_out,
};
use crate::key::{Bucket, DecodeError, KeyType};
use crate::plan::{MANY_ROW_ITEMS, Plan, Request, RequestBatches, many_row_items};
use crate::row::{RawRow, RowFilter, Span};
use crate::table::marker;
use crate::table::read::Skipped;
use crate::table::store::ScanCursor;

/// How many rows the pages of all buckets hold together, where the scan cannot keep a stream open for each.
const PAGED_ROWS: u64 = 65_536;

/// How many rows a page asks for that has no more than the least share, while it is not known how large they are.
const FIRST_ROWS: u64 = 16;

/// How long a scan that has reached its limit waits for the costs of its requests.
const COSTS_WITHIN: Duration = Duration::from_secs(1);

/// What became of a row that was passed to a visitor.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Visited {
    Delivered,
    Skipped,
    /// It ends the visit.
    Refused,
}

/// A scan, as it is asked for.
pub(crate) struct ScanRequest {
    pub(in crate::table) plan: Plan<()>,
    /// The most rows.
    pub(in crate::table) limit: Option<u64>,
    pub(in crate::table) options: ScanOptions,
}

/// What the buckets of a scan have in common.
pub(crate) struct ScanOptions {
    pub(in crate::table) client: Client,
    pub(in crate::table) table: Route,
    pub(in crate::table) key: KeyType,
    pub(in crate::table) filter: Option<RowFilter>,
    pub(in crate::table) reversed: bool,
    pub(in crate::table) unordered: bool,
    pub(in crate::table) key_filter: Option<KeyFilter>,
    /// Whether rows that are not of the key type are skipped, and counted in `skipped`.
    pub(in crate::table) skip_foreign: bool,
    pub(in crate::table) skipped: Skipped,
    /// What to add the cost of its requests to.
    pub(in crate::table) stats: Option<ReadStats>,
}

/// Decides by its stored key whether a row is kept. Fails for a foreign row.
pub(crate) type KeyFilter = Arc<dyn Fn(&[u8]) -> Result<bool, DecodeError> + Send + Sync>;

/// Checks the table before the first request.
pub(crate) type TableCheck = Pin<Box<dyn Future<Output = Result<(), Error>> + Send>>;

/// A scan while it runs. A row counts as delivered once the caller calls [`delivered`](Self::delivered),
/// or takes it in [`visit_buffered`](Self::visit_buffered).
pub(crate) struct ScanExecution {
    options: Arc<ScanOptions>,
    batches: RequestBatches<'static>,
    /// How many keys and ranges have been requested, until too many have been warned of.
    row_items: Option<u64>,
    check: Option<TableCheck>,
    /// How many rows may still be delivered.
    remaining: u64,
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
            self.message = row.bytes.clone();
        }
        self.key = row.key;
    }

    fn get(&self) -> &[u8] {
        self.key.of(&self.message)
    }
}

impl ScanExecution {
    /// Begins a scan, after `check` if there is one.
    pub(in crate::table) fn new(
        scan: ScanRequest,
        check: impl FnOnce(&Client) -> Option<TableCheck>,
    ) -> Self {
        let ScanRequest { plan, limit, mut options } = scan;
        // A scan that has begun runs on when the client is closed.
        let (client, guard) = options.client.streaming();
        options.client = client;
        let check = if limit == Some(0) { None } else { check(&options.client) };
        Self {
            batches: plan.into_batches(options.reversed),
            options: Arc::new(options),
            row_items: Some(0),
            check,
            remaining: limit.unwrap_or(u64::MAX),
            merge: None,
            streams: None,
            guard,
            turns: RowTurns::default(),
            last: LastKey::default(),
            costs_until: None,
            ended: false,
        }
    }

    /// Counts rows against the limit.
    #[inline]
    pub(super) fn count(&mut self, rows: u64) {
        if self.remaining < u64::MAX {
            self.remaining = self.remaining.saturating_sub(rows);
            if self.remaining == 0 {
                self.guard.end();
            }
        }
    }

    /// The key of the last row that was delivered; empty before the first.
    pub(super) fn last_key(&self) -> &[u8] {
        self.last.get()
    }

    #[cold]
    fn fail(&mut self, error: Error) -> Error {
        self.end();
        let last = self.last.get();
        error.with_last_row((!last.is_empty()).then(|| Bytes::copy_from_slice(last)))
    }

    /// Ends the scan and drops its streams, which cancels their requests.
    pub(super) fn end(&mut self) {
        self.ended = true;
        self.merge = None;
        self.streams = None;
        self.guard.end();
    }

    /// Checks the table, then begins the next batch of requests, if there is one. Always returns false: it reaches no
    /// row.
    #[cold]
    fn poll_batch(&mut self, cx: &mut Context<'_>) -> Poll<Result<bool, Error>> {
        if let Some(check) = &mut self.check {
            ready!(check.as_mut().poll(cx))?;
            self.check = None;
        }
        let Some(requests) = self.batches.next() else {
            self.ended = true;
            return Poll::Ready(Ok(false));
        };
        self.warn_of_many_row_items(&requests);
        let mode = self.read_mode(requests.len());
        let limit = Some(self.remaining).filter(|rows| *rows < u64::MAX);
        let bucket_scan =
            |request: Request| BucketScan::new(Arc::clone(&self.options), request, limit, mode.clone());
        let bucket_scans = requests.into_iter().map(bucket_scan).collect();
        let ScanOptions { key, reversed, unordered, .. } = *self.options;
        self.merge = Some(match unordered {
            true => Merge::unordered(bucket_scans),
            false => Merge::ordered(bucket_scans, key.schema(), reversed),
        });
        Poll::Ready(Ok(false))
    }

    /// Warns once of a plan with too many keys and ranges. Those of a part of a plan are known only as they are requested.
    fn warn_of_many_row_items(&mut self, requests: &[Request]) {
        let Some(requested) = &mut self.row_items else { return };
        *requested += requests.iter().map(Request::row_items).sum::<u64>();
        let whole = self.batches.row_items();
        let count = whole.unwrap_or(*requested);
        if count > MANY_ROW_ITEMS {
            self.row_items = None;
            let (table, key_type) = (&*self.options.table, self.options.key.schema().key_type());
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
        match self.options.client.reserve_streams(buckets) {
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
        let sends_limit = self.options.key_filter.is_none();
        let Some(merge) = self.merge.as_mut().filter(|_| sends_limit) else { return Poll::Ready(()) };
        if merge.poll_ends(cx).is_ready() {
            return Poll::Ready(());
        }
        self.costs_until.get_or_insert_with(|| Box::pin(sleep(COSTS_WITHIN))).as_mut().poll(cx)
    }

    /// Calls `visit` on the current row and the rows already buffered, at most `max`, until it refuses one. Rows that it takes
    /// count as delivered, but not against a limit: see [`count`](Self::count).
    #[inline]
    pub(super) fn visit_buffered(&mut self, max: u64, mut visit: impl FnMut(&RawRow) -> Visited) {
        let Self { merge: Some(merge), last, remaining, .. } = self else { return };
        // A limit is checked row by row.
        let max = if *remaining < u64::MAX { 1 } else { max };
        merge.buffered(max, |row| {
            let visited = visit(row);
            if visited == Visited::Delivered {
                last.set(row);
            }
            visited != Visited::Refused
        });
    }
}

impl ScanCursor for ScanExecution {
    #[inline]
    fn poll_next_row(&mut self, cx: &mut Context<'_>) -> Poll<Result<bool, Error>> {
        while self.remaining > 0 && !self.ended {
            if !self.guard.record_poll() {
                let error = Error::closed_scan(self.options.table.table());
                return Poll::Ready(Err(self.fail(error)));
            }
            if self.turns.poll_row(cx).is_pending() {
                self.guard.register_waker(cx);
                return Poll::Pending;
            }
            let polled = match &mut self.merge {
                Some(merge) => match merge.poll_next_row(cx) {
                    Poll::Ready(Ok(false)) => {
                        self.merge = None;
                        continue;
                    }
                    polled => polled,
                },
                None => self.poll_batch(cx),
            };
            match polled {
                Poll::Ready(Ok(true)) => return Poll::Ready(Ok(true)),
                // The next batch has begun, or there is none.
                Poll::Ready(Ok(false)) => {}
                Poll::Ready(Err(error)) => return Poll::Ready(Err(self.fail(error))),
                Poll::Pending => {
                    self.guard.register_waker(cx);
                    return Poll::Pending;
                }
            }
        }
        if self.options.stats.is_some() {
            ready!(self.poll_costs(cx));
        }
        self.end();
        Poll::Ready(Ok(false))
    }

    #[inline]
    fn current(&self) -> Option<&RawRow> {
        self.merge.as_ref().and_then(Merge::current)
    }

    #[inline]
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
}

/// How a bucket is read.
#[derive(Clone, Debug)]
enum ReadMode {
    /// In one stream that stays open until the bucket is read.
    Stream { high_fan_out: bool },
    /// In pages that are each read to their end, so that no stream stays open between them. A page ends after `rows`
    /// rows, or with the row that exceeds its share of the memory.
    Pages { rows: u64, buckets: usize, budget: StreamBudget },
}

/// The rows of one bucket, in order.
pub(super) struct BucketScan {
    options: Arc<ScanOptions>,
    bucket: Option<Bucket>,
    mode: ReadMode,
    /// How many rows the next request asks for.
    limit: Option<u64>,
    /// How many bytes a row had on the last page.
    row_bytes: Option<usize>,
    rows: BucketRows,
    turns: RowTurns,
}

enum BucketRows {
    Stream(RowStream),
    /// A page that a task reads.
    Reading(PageTask),
    /// A page that was read, the stream to resume, and the memory that the page takes.
    Page {
        rows: vec::IntoIter<RawRow>,
        current: Option<RawRow>,
        stream: RowStream,
        _share: PageShare,
    },
    Ended,
}

impl BucketScan {
    fn new(options: Arc<ScanOptions>, request: Request, limit: Option<u64>, mode: ReadMode) -> Self {
        let bucket = request.stored_bucket();
        let (keys, ranges) = request.into_rows();
        // With `filter_key` the limit is not sent, since nobody knows how many rows that drops.
        let limit = limit.filter(|_| options.key_filter.is_none());
        let (row_bytes, rows, turns) = (None, BucketRows::Ended, RowTurns::default());
        let mut scan = Self { options, bucket, mode, limit, row_bytes, rows, turns };
        let ScanOptions { client, table, key, filter, reversed, stats, .. } = &*scan.options;
        let request = ReadRows {
            keys: keys.into_iter().map(Bytes::from).collect(),
            ranges: marker::exclude_marker(*key, ranges),
            limit: scan.request_limit(),
            filter: filter.clone(),
            reversed: *reversed,
            bucket: bucket.map(Bucket::number),
            high_fan_out: matches!(scan.mode, ReadMode::Stream { high_fan_out: true }),
            stats: stats.clone(),
        };
        let stream = client.read_rows(table, request);
        scan.rows = scan.mode.read(stream, scan.row_bytes);
        scan
    }

    /// The bucket that it reads, if it reads a single one.
    pub(super) fn bucket(&self) -> Option<Bucket> {
        self.bucket
    }

    fn request_limit(&self) -> Option<u64> {
        match self.mode {
            ReadMode::Stream { .. } => self.limit,
            ReadMode::Pages { rows, .. } => Some(self.limit.map_or(rows, |limit| limit.min(rows))),
        }
    }

    /// Advances to the next stored row; returns false at the end.
    #[inline]
    fn poll_stored(&mut self, cx: &mut Context<'_>) -> Poll<Result<bool, Error>> {
        loop {
            if let BucketRows::Stream(stream) = &mut self.rows
                && ready!(stream.poll_next_row(cx))?
            {
                return Poll::Ready(Ok(true));
            }
            if ready!(self.poll_paged(cx))? {
                return Poll::Ready(Ok(true));
            }
            if matches!(self.rows, BucketRows::Ended) {
                return Poll::Ready(Ok(false));
            }
        }
    }

    /// Advances within a page, or resumes where an answer has ended.
    #[inline(never)]
    fn poll_paged(&mut self, cx: &mut Context<'_>) -> Poll<Result<bool, Error>> {
        let ended = match &mut self.rows {
            BucketRows::Reading(page) => {
                let Page { rows, stream, share } = ready!(page.poll_page(cx))?;
                self.row_bytes = share.bytes().checked_div(rows.len()).or(self.row_bytes);
                self.rows = BucketRows::Page { rows: rows.into_iter(), current: None, stream, _share: share };
                return Poll::Ready(Ok(false));
            }
            BucketRows::Page { rows, current, .. } => {
                *current = rows.next();
                if current.is_some() {
                    return Poll::Ready(Ok(true));
                }
                std::mem::replace(&mut self.rows, BucketRows::Ended)
            }
            BucketRows::Stream(_) | BucketRows::Ended => std::mem::replace(&mut self.rows, BucketRows::Ended),
        };
        if let BucketRows::Stream(mut stream) | BucketRows::Page { mut stream, .. } = ended {
            // A scan that still polls after its limit has skipped rows: ask for more at a time.
            self.limit = self.limit.map(|limit| limit.saturating_mul(2));
            if stream.resume(self.request_limit()) {
                self.rows = self.mode.read(stream, self.row_bytes);
            }
        }
        Poll::Ready(Ok(false))
    }

    /// Reads the request that runs to its end, and drops its rows.
    pub(super) fn poll_end(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        match &mut self.rows {
            // Every row was delivered, so no error is one of the scan.
            BucketRows::Stream(stream) => {
                while ready!(stream.poll_next_row(cx)).unwrap_or(false) {
                    ready!(self.turns.poll_row(cx));
                }
            }
            BucketRows::Reading(page) => drop(ready!(page.poll_page(cx))),
            BucketRows::Page { .. } | BucketRows::Ended => {}
        }
        self.rows = BucketRows::Ended;
        Poll::Ready(())
    }

    /// Whether to deliver the current row. A foreign row that is not skipped is delivered, and fails the scan in its
    /// turn, after all rows before it.
    #[inline]
    fn keeps(&self) -> bool {
        self.options.key_filter.is_none() && !self.options.skip_foreign || self.keeps_key()
    }

    #[inline(never)]
    fn keeps_key(&self) -> bool {
        let ScanOptions { table, key, key_filter, skip_foreign, skipped, .. } = &*self.options;
        let Some(row) = self.current() else { return true };
        let keeps = match key_filter {
            Some(keeps) => keeps(row.key()),
            None => key.check(row.key()).map(|()| true),
        };
        match keeps {
            Ok(keeps) => keeps,
            Err(error) if *skip_foreign => {
                skipped.add_foreign(row.key(), || Error::foreign(table, error));
                false
            }
            Err(_) => true,
        }
    }

    #[cold]
    fn fail(&mut self, error: Error) -> Error {
        self.rows = BucketRows::Ended;
        Error::in_scan(self.bucket.map(Bucket::number), error)
    }
}

impl RowCursor for BucketScan {
    #[inline]
    fn poll_next_row(&mut self, cx: &mut Context<'_>) -> Poll<Result<bool, Error>> {
        loop {
            match ready!(self.poll_stored(cx)) {
                // The row is skipped, whether others have a turn now or not.
                Ok(true) if !self.keeps() => ready!(self.turns.poll_row(cx)),
                Ok(has_row) => return Poll::Ready(Ok(has_row)),
                Err(error) => return Poll::Ready(Err(self.fail(error))),
            }
        }
    }

    #[inline]
    fn current(&self) -> Option<&RawRow> {
        match &self.rows {
            BucketRows::Stream(stream) => stream.current(),
            BucketRows::Page { current, .. } => current.as_ref(),
            BucketRows::Reading(_) | BucketRows::Ended => None,
        }
    }

    #[inline]
    fn buffered(&mut self, max: u64, mut f: impl FnMut(&RawRow) -> bool) {
        // Rows that may be skipped are checked one by one.
        let keeps_all = self.options.key_filter.is_none() && !self.options.skip_foreign;
        match &mut self.rows {
            BucketRows::Stream(stream) if keeps_all => stream.buffered(max, f),
            _ => {
                self.current().map(&mut f);
            }
        }
    }
}

impl ReadMode {
    /// Reads on, in rows of about this many bytes if that is known.
    fn read(&self, mut stream: RowStream, row_bytes: Option<usize>) -> BucketRows {
        let (buckets, budget) = match self {
            Self::Stream { .. } => return BucketRows::Stream(stream),
            Self::Pages { buckets, budget, .. } => (*buckets, budget),
        };
        let pages = budget.pages().clone();
        BucketRows::Reading(PageTask(budget.spawn(async move {
            let mut share = pages.take(buckets);
            let asked = match row_bytes {
                Some(bytes) => (share.bytes() / bytes.max(1)).max(1) as u64,
                None if share.is_least() => FIRST_ROWS,
                None => u64::MAX,
            };
            stream.limit_next(asked);
            let (mut rows, mut size) = (Vec::new(), 0);
            while let Some(row) = stream.try_next().await? {
                size += row.size();
                rows.push(row);
                if size > share.bytes() {
                    stream.pause();
                    detach(&mut rows);
                    break;
                }
            }
            share.shrink_to(size);
            Ok(Page { rows, stream, share })
        })))
    }
}

/// Copies the rows of the last message, of which the page has only the first rows, so that it does not keep the others in memory.
fn detach(rows: &mut [RawRow]) {
    let Some(message) = rows.last().map(|row| row.bytes.as_ptr()) else { return };
    let of_message = rows.iter_mut().rev().take_while(|row| row.bytes.as_ptr() == message);
    of_message.for_each(RawRow::detach);
}

/// A page that was read.
struct Page {
    rows: Vec<RawRow>,
    /// The stream, which resumes after it.
    stream: RowStream,
    /// What the rows take.
    share: PageShare,
}

/// A task that reads a page. Dropping it cancels the request.
struct PageTask(JoinHandle<Result<Page, Error>>);

impl PageTask {
    fn poll_page(&mut self, cx: &mut Context<'_>) -> Poll<Result<Page, Error>> {
        Poll::Ready(ready!(Pin::new(&mut self.0).poll(cx)).unwrap_or_else(|failed| match failed.try_into_panic() {
            Ok(panic) => resume_unwind(panic),
            Err(_) => Err(Error::configuration(
                "the tokio runtime that made the client has ended; make the client in the runtime that scans run in",
            )),
        }))
    }
}

impl Drop for PageTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}
