//! One bucket scan of a scan: the rows of one bucket, in order, over as many requests as it takes.

use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::vec;

use bytes::Bytes;

use super::marker;
use super::skipped::Skipped;
use crate::client::{Client, Error, Page, PageRows, PageSize, ReadRows, RowStream, Streams};
use crate::key::TableKey;
use crate::plan::Request;
use crate::row::{Row, RowFilter};

/// What all bucket scans of a scan have in common.
pub(super) struct Reader<K: TableKey> {
    pub(super) client: Client,
    pub(super) table: Arc<str>,
    pub(super) filter: Option<RowFilter>,
    pub(super) reversed: bool,
    pub(super) keep: Option<Keep<K>>,
    /// Whether rows that are not of the key type are left out, and how many have been.
    pub(super) skip_foreign: bool,
    pub(super) skipped: Skipped,
}

/// Decides by its key whether a row is wanted.
pub(super) type Keep<K> = Arc<dyn Fn(&<K as TableKey>::Stored) -> bool + Send + Sync>;

/// How a bucket scan asks for its rows.
#[derive(Clone, Debug)]
pub(super) enum ReadMode {
    /// In one stream, open until the bucket scan ends, of a scan that has so many that they go by connections of their own, or
    /// not.
    Stream { high_fan_out: bool },
    /// In pages, each read to its end, so that no stream stays open between them.
    Pages(PageSize, Streams),
}

pub(super) struct BucketScan<K: TableKey> {
    reader: Arc<Reader<K>>,
    bucket: Option<i32>,
    /// What is left to ask for, without a limit.
    request: ReadRows,
    /// How many rows may still be handed out.
    wanted: u64,
    /// How many rows are asked for at least, since an answer ended on its limit and more were wanted.
    at_least: u64,
    pace: ReadMode,
    open: Option<Open>,
    ended: bool,
}

/// A request whose answer has not been handed out to its end.
struct Open {
    answer: Answer,
    limit: Option<u64>,
    received: u64,
    /// The key of the last row, where a limit may make the answer end there; empty before the first.
    last: Vec<u8>,
}

enum Answer {
    Stream(RowStream),
    Page(Page),
    Rows(ReadPage),
}

/// A page that has been read.
struct ReadPage {
    rows: vec::IntoIter<Row>,
    /// The row that has been handed out last.
    row: Option<Row>,
    /// Whether it was cut short.
    cut: bool,
}

impl Answer {
    /// The next row of a page.
    #[inline(never)]
    fn poll_page(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<&Row>, Error>> {
        if let Self::Page(page) = self {
            let PageRows { rows, cut } = ready!(page.poll_rows(cx))?;
            *self = Self::Rows(ReadPage { rows: rows.into_iter(), row: None, cut });
        }
        let Self::Rows(page) = self else { return Poll::Ready(Ok(None)) };
        page.row = page.rows.next();
        Poll::Ready(Ok(page.row.as_ref()))
    }
}

impl Open {
    /// Advances to the next row; false at the end.
    #[inline]
    fn poll_advance(&mut self, cx: &mut Context<'_>) -> Poll<Result<bool, Error>> {
        let row = match &mut self.answer {
            Answer::Stream(rows) => ready!(rows.poll_row(cx)?),
            Answer::Page(_) | Answer::Rows(_) => ready!(self.answer.poll_page(cx))?,
        };
        if let (Some(row), Some(_)) = (row, self.limit) {
            self.received += 1;
            self.last.clear();
            self.last.extend_from_slice(row.key());
        }
        Poll::Ready(Ok(row.is_some()))
    }

    #[inline]
    fn row(&self) -> Option<&Row> {
        match &self.answer {
            Answer::Stream(rows) => rows.row(),
            Answer::Rows(page) => page.row.as_ref(),
            Answer::Page(_) => None,
        }
    }
}

impl<K: TableKey> BucketScan<K> {
    pub(super) fn new(reader: Arc<Reader<K>>, request: Request, wanted: u64, pace: ReadMode) -> Self {
        let bucket = request.bucket();
        let (keys, ranges) = request.into_rows();
        let ranges = marker::leave_out::<K>(ranges);
        let request = ReadRows {
            keys: keys.into_iter().map(Bytes::from).collect(),
            ranges,
            limit: None,
            filter: reader.filter.clone(),
            reversed: reader.reversed,
            bucket,
            high_fan_out: matches!(pace, ReadMode::Stream { high_fan_out: true }),
        };
        // No empty set of rows is ever sent: it would be the whole table.
        let ended = request.keys.is_empty() && request.ranges.is_empty();
        Self { reader, bucket, request, wanted, at_least: 0, pace, open: None, ended }
    }

    /// Advances to the next row, which [`row`](Self::row) returns; false at the end. Nothing
    /// is sent before the first.
    #[inline]
    pub(super) fn poll_advance(&mut self, cx: &mut Context<'_>) -> Poll<Result<bool, Error>> {
        while self.wanted > 0 {
            if !ready!(self.poll_row(cx)).map_err(|error| self.failed(error))? {
                return Poll::Ready(Ok(false));
            }
            if self.accepts() {
                // Without a limit, all are wanted.
                self.wanted -= u64::from(self.wanted < u64::MAX);
                return Poll::Ready(Ok(true));
            }
        }
        self.end();
        Poll::Ready(Ok(false))
    }

    /// Calls `f` on the current row and the rows already buffered that follow it, at most `most`, until `f` returns false.
    #[inline]
    pub(super) fn for_each_buffered(&mut self, most: u64, f: impl FnMut(&Row) -> bool) {
        // A limit is looked at with each row, and so is a key that may not be wanted.
        let takes_all = self.wanted == u64::MAX && self.reader.keep.is_none() && !self.reader.skip_foreign;
        match &mut self.open {
            Some(Open { answer: Answer::Stream(rows), limit: None, .. }) if takes_all => {
                rows.for_each_buffered(most, f);
            }
            open => _ = open.as_ref().and_then(Open::row).map(f),
        }
    }

    /// Counts the row that was gone on to last for no limit, since it is left out.
    pub(super) fn left_out(&mut self) {
        self.wanted += u64::from(self.wanted < u64::MAX);
    }

    /// The bucket that it reads, where it is one alone.
    pub(super) fn bucket(&self) -> Option<i32> {
        self.bucket
    }

    /// The row that was gone on to last.
    #[inline]
    pub(super) fn row(&self) -> Option<&Row> {
        self.open.as_ref().and_then(Open::row)
    }

    #[cold]
    fn failed(&mut self, error: Error) -> Error {
        self.end();
        Error::in_scan(self.bucket, error)
    }

    /// Asks for nothing more; drops the open request, which cancels it.
    fn end(&mut self) {
        self.ended = true;
        self.open = None;
    }

    /// Whether the row is to be handed out. A foreign one that is not left out is, and fails the scan when its turn comes,
    /// after all rows before it.
    #[inline]
    fn accepts(&self) -> bool {
        self.reader.keep.is_none() && !self.reader.skip_foreign || self.accepts_key()
    }

    #[inline(never)]
    fn accepts_key(&self) -> bool {
        let Reader { table, keep, skip_foreign, skipped, .. } = &*self.reader;
        let Some(row) = self.row() else { return true };
        match K::stored(row.key()) {
            Ok(key) => keep.as_ref().is_none_or(|keep| keep(&key)),
            Err(error) if *skip_foreign => {
                skipped.add_foreign(row.key(), || Error::foreign(table, error));
                false
            }
            Err(_) => true,
        }
    }

    /// Advances to the next stored row; false at the end.
    #[inline]
    fn poll_row(&mut self, cx: &mut Context<'_>) -> Poll<Result<bool, Error>> {
        while !self.ended {
            let Some(open) = &mut self.open else {
                self.send();
                continue;
            };
            if ready!(open.poll_advance(cx))? {
                return Poll::Ready(Ok(true));
            }
            self.answered();
        }
        Poll::Ready(Ok(false))
    }

    #[cold]
    fn send(&mut self) {
        // Foreign rows and those that are not kept count for a limit too. Of those that are kept nothing is known
        // before they are read, and each time that the others have used a limit up, the next one is twice as great.
        let wanted = match self.reader.keep {
            None if self.wanted < u64::MAX => Some(self.wanted.max(self.at_least)),
            _ => None,
        };
        let limit = match self.pace {
            ReadMode::Stream { .. } => wanted,
            ReadMode::Pages(PageSize { rows, .. }, _) => Some(wanted.map_or(rows, |wanted| rows.min(wanted))),
        };
        let Reader { client, table, .. } = &*self.reader;
        let rows = client.read_rows(table, ReadRows { limit, ..self.request.clone() });
        let answer = match &self.pace {
            ReadMode::Stream { .. } => Answer::Stream(rows),
            ReadMode::Pages(size, streams) => Answer::Page(streams.read_page(rows, *size)),
        };
        self.open = Some(Open { answer, limit, received: 0, last: Vec::new() });
    }

    /// The answer has ended. Then either the bucket scan has too, or what is left of it is to be asked for again.
    #[cold]
    fn answered(&mut self) {
        self.ended = true;
        let Some(Open { answer, limit: Some(limit), received, last }) = self.open.take() else { return };
        if last.is_empty() {
            return;
        }
        let cut = matches!(answer, Answer::Rows(ReadPage { cut: true, .. }));
        if !cut && received != limit {
            return;
        }
        // It ended on the limit or was cut short, so there may be more.
        if !cut {
            self.at_least = limit.saturating_mul(2);
        }
        self.request.go_on_behind(&last, 0);
        // No empty set of rows is ever sent: it would be the whole table.
        self.ended = self.request.is_empty();
    }
}
