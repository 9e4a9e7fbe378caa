//! A scan that runs: wave after wave of bucket scans, until the plan or the limit ends.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::sync::OwnedSemaphorePermit;

use super::bucket_scan::{BucketScan, ReadMode, Reader};
use super::merge::Merge;
use crate::client::{Client, Error, PageSize, StreamGuard, are_many};
use crate::key::TableKey;
use crate::plan::{Request, RequestBatches};
use crate::row::{Row, Span};

/// How many rows the pages of all bucket scans hold together, where they cannot all be streams.
const PAGED_ROWS: u64 = 65_536;

/// How many bytes they hold together, beside the row that each ends with.
const PAGED_BYTES: usize = 64 * 1024 * 1024;

pub(super) struct ScanExecution<K: TableKey> {
    reader: Arc<Reader<K>>,
    waves: RequestBatches<'static>,
    unordered: bool,
    /// How many rows may still be handed out.
    remaining: u64,
    merge: Option<Merge<K>>,
    /// The streams that the bucket scans of the merge may keep open.
    streams: Option<OwnedSemaphorePermit>,
    pass: StreamGuard,
    /// The key of the last row that was handed out; empty before the first.
    last: Vec<u8>,
    ended: bool,
}

impl<K: TableKey> ScanExecution<K> {
    pub(super) fn new(
        mut reader: Reader<K>,
        waves: RequestBatches<'static>,
        unordered: bool,
        limit: Option<u64>,
    ) -> Self {
        // What a scan still has to send goes on when the client is closed meanwhile.
        let (client, pass) = reader.client.streaming();
        reader.client = client;
        Self {
            reader: Arc::new(reader),
            pass,
            waves,
            unordered,
            remaining: limit.unwrap_or(u64::MAX),
            merge: None,
            streams: None,
            last: Vec::new(),
            ended: false,
        }
    }

    /// Whether nothing is ever sent.
    pub(super) fn is_empty(&self) -> bool {
        self.remaining == 0
    }

    /// By which it is sent, and what comes before it.
    pub(super) fn client(&self) -> &Client {
        &self.reader.client
    }

    /// Polls what comes before the scan, which is closed as the scan is.
    pub(super) fn poll_before(
        &self,
        before: Pin<&mut (impl Future<Output = Result<(), Error>> + ?Sized)>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(), Error>> {
        if !self.pass.is_polled() {
            return Poll::Ready(Err(Error::closed_scan(&self.reader.table)));
        }
        let polled = before.poll(cx);
        if polled.is_pending() {
            self.pass.waits(cx);
        }
        polled
    }

    /// Advances to the next row, which [`row`](Self::row) returns; false at the end.
    #[inline]
    pub(super) fn poll_advance(&mut self, cx: &mut Context<'_>) -> Poll<Result<bool, Error>> {
        while self.remaining > 0 && !self.ended {
            if !self.pass.is_polled() {
                let error = Error::closed_scan(&self.reader.table);
                return Poll::Ready(Err(self.failed(error)));
            }
            let Some(merge) = &mut self.merge else {
                self.begin_wave();
                continue;
            };
            match merge.poll_advance(cx) {
                Poll::Ready(Ok(true)) => {
                    // Without a limit, all may be.
                    self.remaining -= u64::from(self.remaining < u64::MAX);
                    if self.remaining == 0 {
                        self.pass.end();
                    }
                    return Poll::Ready(Ok(true));
                }
                Poll::Ready(Ok(false)) => self.merge = None,
                Poll::Ready(Err(error)) => return Poll::Ready(Err(self.failed(error))),
                Poll::Pending => {
                    self.pass.waits(cx);
                    return Poll::Pending;
                }
            }
        }
        self.end();
        Poll::Ready(Ok(false))
    }

    /// The row that was gone on to last.
    #[inline]
    pub(super) fn row(&self) -> Option<&Row> {
        self.merge.as_ref().and_then(Merge::row)
    }

    /// Calls `f` on the current row and the rows already buffered that follow it, at most `most`, until `f` returns false.
    /// All but the last have been delivered.
    #[inline]
    pub(super) fn for_each_buffered(&mut self, most: u64, mut f: impl FnMut(&Row) -> bool) {
        let Self { merge: Some(merge), last, remaining, .. } = self else { return };
        // A limit is looked at with each row.
        let most = if *remaining < u64::MAX { 1 } else { most };
        let mut keep = |key: &[u8]| {
            last.clear();
            last.extend_from_slice(key);
        };
        let (mut taken, mut last) = (0_u64, Span::default());
        let row = merge.for_each_buffered(most, |row| {
            if !f(row) {
                return false;
            }
            if taken == 0 {
                keep(row.key());
            }
            (taken, last) = (taken + 1, row.key);
            true
        });
        if let (2.., Some(row)) = (taken, row) {
            keep(last.of(&row.bytes));
        }
    }

    /// Notes that the row has been handed out.
    #[inline]
    pub(super) fn handed_out(&mut self) {
        self.last.clear();
        if let Some(row) = self.merge.as_ref().and_then(Merge::row) {
            self.last.extend_from_slice(row.key());
        }
    }

    /// Counts the row that was gone on to last for no limit, since it is left out.
    pub(super) fn left_out(&mut self) {
        self.remaining += u64::from(self.remaining < u64::MAX);
        self.merge.iter_mut().for_each(Merge::left_out);
    }

    /// The key of the row that was handed out last.
    pub(super) fn last_key(&self) -> &[u8] {
        &self.last
    }

    /// Ends the scan at a row that cannot be handed out. The error says how far the scan had come.
    pub(super) fn failed_at_row(&mut self, error: Error) -> Error {
        let bucket = self.merge.as_ref().and_then(Merge::bucket);
        self.failed(Error::in_scan(bucket, error))
    }

    #[cold]
    fn failed(&mut self, error: Error) -> Error {
        self.end();
        let last = Some(&self.last).filter(|key| !key.is_empty());
        error.behind_row(last.map(|key| key.clone().into()))
    }

    /// Ends the scan: every bucket scan is dropped, which cancels its request.
    fn end(&mut self) {
        self.ended = true;
        self.merge = None;
        self.streams = None;
        self.pass.end();
    }

    #[cold]
    fn begin_wave(&mut self) {
        let Some(requests) = self.waves.next() else {
            self.ended = true;
            return;
        };
        let pace = self.pace(requests.len());
        let bucket_scan = |request: Request| {
            BucketScan::new(Arc::clone(&self.reader), request, self.remaining, pace.clone())
        };
        let bucket_scans = requests.into_iter().map(bucket_scan).collect();
        self.merge = Some(match self.unordered {
            true => Merge::unordered(bucket_scans),
            false => Merge::ordered(bucket_scans, self.reader.reversed),
        });
    }

    /// Streams, where the connection has room for all bucket scans; pages otherwise, which need none to stay open.
    fn pace(&mut self, bucket_scans: usize) -> ReadMode {
        self.streams = None;
        match self.reader.client.long_streams(bucket_scans) {
            Ok(streams) => {
                self.streams = streams;
                ReadMode::Stream { high_fan_out: are_many(bucket_scans) }
            }
            Err(streams) => {
                let bucket_scans = bucket_scans.max(1);
                let rows = (PAGED_ROWS / bucket_scans as u64).clamp(16, 1024);
                ReadMode::Pages(PageSize { rows, bytes: PAGED_BYTES / bucket_scans }, streams)
            }
        }
    }
}
