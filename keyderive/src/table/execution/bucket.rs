//! The rows of one bucket, in order: as a stream, or in pages where the connections cannot keep a stream open for each bucket.

use std::future::Future as _;
use std::panic::resume_unwind;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::vec;

use bytes::Bytes;
use futures_util::TryStreamExt as _;
use tokio::task::JoinHandle;

use super::ScanRequest;
use super::distinct::DistinctRows;
use crate::client::{
    Error, NextRow, PageShare, ReadRows, RowCursor, RowStream, RowTurns, ScanCounters, StreamBudget,
};
use crate::key::Bucket;
use crate::plan::Request;
use crate::row::RawRow;

/// How many rows a page asks for that has no more than the least share, while it is not known how large they are.
const FIRST_ROWS: u64 = 16;

/// How a bucket is read.
#[derive(Clone, Debug)]
pub(super) enum ReadMode {
    /// In one stream that stays open until the bucket is read.
    Stream { high_fan_out: bool },
    /// In pages that are each read to their end, so that no stream stays open between them. A page ends after `rows`
    /// rows, or with the row that exceeds its share of the memory.
    Pages { rows: u64, buckets: usize, budget: StreamBudget },
}

/// The rows of one bucket, in order.
pub(super) struct BucketScan {
    scan: Arc<ScanRequest>,
    bucket: Option<Bucket>,
    mode: ReadMode,
    /// How many rows the next request asks for.
    limit: Option<u64>,
    /// How many bytes a row had on the last page.
    row_bytes: Option<usize>,
    rows: BucketRows,
    turns: RowTurns,
    /// What it keeps of its rows, if it delivers each value once.
    distinct: Option<Box<DistinctRows>>,
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

impl BucketRows {
    #[inline]
    fn current(&self) -> Option<&RawRow> {
        match self {
            Self::Stream(stream) => stream.current(),
            Self::Page { current, .. } => current.as_ref(),
            Self::Reading(_) | Self::Ended => None,
        }
    }
}

impl BucketScan {
    pub(super) fn new(
        scan: Arc<ScanRequest>,
        request: Request,
        limit: Option<u64>,
        mode: ReadMode,
        counters: &Arc<ScanCounters>,
    ) -> Self {
        let bucket = request.stored_bucket();
        let (keys, ranges) = request.into_rows();
        let limit = limit.filter(|_| scan.options.sends_limit());
        let (row_bytes, rows, turns) = (None, BucketRows::Ended, RowTurns::default());
        let distinct = scan.options.distinct.map(|count| Box::new(DistinctRows::new(count, limit)));
        let mut bucket_scan = Self { scan, bucket, mode, limit, row_bytes, rows, turns, distinct };
        let ScanRequest { client, table, filter, options, .. } = &*bucket_scan.scan;
        let request = ReadRows {
            keys: keys.into_iter().map(Bytes::from).collect(),
            ranges,
            limit: bucket_scan.request_limit(),
            filter: Some(filter.clone()),
            reversed: options.reversed,
            bucket: bucket.map(Bucket::number),
            high_fan_out: matches!(bucket_scan.mode, ReadMode::Stream { high_fan_out: true }),
            stats: options.stats.clone(),
            scan: Some(Arc::clone(counters)),
        };
        let stream = client.read_rows(table, request);
        bucket_scan.rows = bucket_scan.mode.read(stream, bucket_scan.row_bytes);
        bucket_scan
    }

    /// The bucket that it reads, if it reads a single one.
    pub(super) fn bucket(&self) -> Option<Bucket> {
        self.bucket
    }

    fn request_limit(&self) -> Option<u64> {
        let limit = self.distinct.as_ref().map_or(self.limit, |distinct| Some(distinct.seeks.limit()));
        match self.mode {
            ReadMode::Stream { .. } => limit,
            ReadMode::Pages { rows, .. } => Some(limit.map_or(rows, |limit| limit.min(rows))),
        }
    }

    /// Advances to the next stored row.
    #[inline]
    fn poll_stored(&mut self, cx: &mut Context<'_>) -> Poll<NextRow> {
        loop {
            if let BucketRows::Stream(stream) = &mut self.rows
                && let next @ Some(_) = ready!(stream.poll_next_row(cx))
            {
                return Poll::Ready(next);
            }
            if let next @ Some(_) = ready!(self.poll_paged(cx)) {
                return Poll::Ready(next);
            }
            if matches!(self.rows, BucketRows::Ended) {
                return Poll::Ready(None);
            }
        }
    }

    /// Advances within a page, or resumes where an answer has ended.
    #[inline(never)]
    fn poll_paged(&mut self, cx: &mut Context<'_>) -> Poll<NextRow> {
        let ended = match &mut self.rows {
            BucketRows::Reading(page) => {
                let Page { rows, stream, share } = ready!(page.poll_page(cx))?;
                self.row_bytes = share.bytes().checked_div(rows.len()).or(self.row_bytes);
                self.rows = BucketRows::Page { rows: rows.into_iter(), current: None, stream, _share: share };
                return Poll::Ready(None);
            }
            BucketRows::Page { rows, current, .. } => {
                *current = rows.next();
                if current.is_some() {
                    return Poll::Ready(Some(Ok(())));
                }
                std::mem::replace(&mut self.rows, BucketRows::Ended)
            }
            BucketRows::Stream(_) | BucketRows::Ended => std::mem::replace(&mut self.rows, BucketRows::Ended),
        };
        if let BucketRows::Stream(mut stream) | BucketRows::Page { mut stream, .. } = ended {
            // A scan that still polls after its limit has skipped rows: ask for more at a time.
            self.limit = self.limit.map(|limit| limit.saturating_mul(2));
            let reversed = self.scan.options.reversed;
            let ahead = self.distinct.as_mut().and_then(|distinct| {
                distinct.seeks.next_request();
                distinct.rest(reversed)
            });
            if stream.resume(self.request_limit(), ahead.as_ref()) {
                self.rows = self.mode.read(stream, self.row_bytes);
            }
        }
        Poll::Ready(None)
    }

    /// Reads the request that runs to its end, and drops its rows.
    pub(super) fn poll_end(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        match &mut self.rows {
            // Every row was delivered, so no error is one of the scan.
            BucketRows::Stream(stream) => {
                while let Some(Ok(())) = ready!(stream.poll_next_row(cx)) {
                    ready!(self.turns.poll_row(cx));
                }
            }
            BucketRows::Reading(page) => drop(ready!(page.poll_page(cx))),
            BucketRows::Page { .. } | BucketRows::Ended => {}
        }
        self.rows = BucketRows::Ended;
        Poll::Ready(())
    }

    /// The current stored row.
    #[inline]
    fn stored(&self) -> Option<&RawRow> {
        self.rows.current()
    }

    /// Advances to the next row that begins a value; none at the end.
    fn poll_value(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<RawRow>, Error>> {
        loop {
            match ready!(self.poll_stored(cx)) {
                Some(Ok(())) => {
                    if self.begins_value() {
                        let mut row = self.stored().cloned();
                        // Its message may be large, and the row is kept until its turn.
                        row.iter_mut().for_each(RawRow::detach);
                        return Poll::Ready(Ok(row));
                    }
                    if let (Some(distinct), BucketRows::Stream(stream)) = (&self.distinct, &mut self.rows)
                        && distinct.seeks.is_run_long()
                    {
                        stream.pause();
                    }
                    ready!(self.turns.poll_row(cx));
                }
                None => return Poll::Ready(Ok(None)),
                Some(Err(error)) => return Poll::Ready(Err(self.fail(error))),
            }
        }
    }

    /// Whether the current stored row is kept, and begins a value.
    fn begins_value(&mut self) -> bool {
        let Self { scan, rows, distinct: Some(distinct), .. } = self else { return true };
        let Some(row) = rows.current() else { return true };
        !distinct.continues(row.key())
            && scan.keeps_value.as_ref().is_none_or(|keeps| keeps(row.key()))
            && distinct.begins(scan.key, row.key())
    }

    /// Whether it delivers each value once.
    pub(super) fn is_distinct(&self) -> bool {
        self.distinct.is_some()
    }

    /// Reads values ahead, while another bucket is waited for.
    pub(super) fn read_ahead(&mut self, cx: &mut Context<'_>) {
        while self.distinct.as_ref().is_some_and(|distinct| distinct.has_room()) {
            let Poll::Ready(read) = self.poll_value(cx) else { return };
            let Some(distinct) = &mut self.distinct else { return };
            match read {
                Ok(Some(row)) => distinct.ahead.push_back(row),
                Ok(None) => distinct.ended = Some(Ok(())),
                Err(error) => distinct.ended = Some(Err(error)),
            }
        }
    }

    fn poll_distinct(&mut self, cx: &mut Context<'_>) -> Poll<NextRow> {
        let Some(distinct) = &mut self.distinct else { return Poll::Ready(None) };
        let next = match (distinct.ahead.pop_front(), &mut distinct.ended) {
            (Some(row), _) => Some(row),
            (None, Some(ended)) => {
                std::mem::replace(ended, Ok(()))?;
                None
            }
            (None, None) => ready!(self.poll_value(cx))?,
        };
        let row = next.as_ref().map(|_| Ok(()));
        if let Some(distinct) = &mut self.distinct {
            distinct.current = next;
        }
        Poll::Ready(row)
    }

    #[cold]
    fn fail(&mut self, error: Error) -> Error {
        self.rows = BucketRows::Ended;
        Error::in_scan(self.bucket.map(Bucket::number), error)
    }
}

impl RowCursor for BucketScan {
    #[inline]
    fn poll_next_row(&mut self, cx: &mut Context<'_>) -> Poll<NextRow> {
        if self.distinct.is_some() {
            return self.poll_distinct(cx);
        }
        match ready!(self.poll_stored(cx)) {
            Some(Err(error)) => Poll::Ready(Some(Err(self.fail(error)))),
            next => Poll::Ready(next),
        }
    }

    #[inline]
    fn current(&self) -> Option<&RawRow> {
        match &self.distinct {
            Some(distinct) => distinct.current.as_ref(),
            None => self.stored(),
        }
    }

    #[inline]
    fn buffered(&mut self, max: u64, mut f: impl FnMut(&RawRow) -> bool) {
        match &mut self.rows {
            BucketRows::Stream(stream) if self.distinct.is_none() => stream.buffered(max, f),
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
