//! One lane of a scan: the rows of one bucket, in order, over as many requests as it takes.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use futures_core::Stream;
use futures_core::stream::BoxStream;
use futures_util::stream;

use crate::client::{Client, Error, ReadRows, RowStream};
use crate::key::{DecodeError, TableKey};
use crate::plan::{KeyRange, Request};
use crate::row::{Row, RowFilter};

/// What all lanes of a scan have in common.
pub(super) struct Reader<K: TableKey> {
    pub(super) client: Client,
    pub(super) table: Arc<str>,
    pub(super) filter: Option<RowFilter>,
    pub(super) reversed: bool,
    pub(super) keep: Option<Keep<K>>,
    /// Whether rows that are not of the key type are left out, and how many have been.
    pub(super) skip_foreign: bool,
    pub(super) skipped: AtomicU64,
}

/// Decides by its key whether a row is wanted.
pub(super) type Keep<K> = Arc<dyn Fn(&<K as TableKey>::Stored) -> bool + Send + Sync>;

/// A row with the key that it is stored under, or what is wrong with it: a foreign row fails the scan when its turn
/// comes, behind all rows in front of it.
pub(super) struct Found<K: TableKey> {
    pub(super) key: Result<K::Stored, DecodeError>,
    pub(super) bucket: Option<i32>,
    pub(super) row: Row,
}

/// How a lane asks for its rows.
#[derive(Clone, Copy, Debug)]
pub(super) enum Pace {
    /// In one stream, open until the lane ends.
    Stream,
    /// In pages of this many rows, each read to its end, so that no stream stays open between them.
    Pages(u64),
}

pub(super) struct Lane<K: TableKey> {
    reader: Arc<Reader<K>>,
    bucket: Option<i32>,
    keys: Vec<Bytes>,
    ranges: Vec<KeyRange>,
    /// How many rows may still be handed out.
    wanted: u64,
    pace: Pace,
    open: Option<Open>,
    /// What is left of a page.
    page: VecDeque<Row>,
    ended: bool,
}

/// A request whose answer has not ended.
struct Open {
    rows: RowStream,
    limit: Option<u64>,
    received: u64,
    last: Option<Bytes>,
}

impl<K: TableKey> Lane<K> {
    pub(super) fn new(reader: Arc<Reader<K>>, request: Request, wanted: u64, pace: Pace) -> Self {
        let bucket = request.bucket();
        let (keys, ranges) = request.into_rows();
        let keys = keys.into_iter().map(Bytes::from).collect();
        Self { reader, bucket, keys, ranges, wanted, pace, open: None, page: VecDeque::new(), ended: false }
    }

    /// The rows of the lane. Nothing is sent before it is first polled.
    pub(super) fn rows(self) -> BoxStream<'static, Result<Found<K>, Error>> {
        let bucket = self.bucket;
        Box::pin(stream::try_unfold(self, move |mut lane| async move {
            let found = lane.next().await.map_err(|error| Error::in_scan(bucket, error))?;
            Ok(found.map(|found| (found, lane)))
        }))
    }

    async fn next(&mut self) -> Result<Option<Found<K>>, Error> {
        while self.wanted > 0 {
            let Some(row) = self.next_row().await? else {
                return Ok(None);
            };
            if let Some(found) = self.accept(row) {
                self.wanted -= 1;
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// The row with its key; none for a row that is to be left out.
    fn accept(&self, row: Row) -> Option<Found<K>> {
        let Reader { keep, skip_foreign, skipped, .. } = &*self.reader;
        let key = K::stored(row.key());
        match &key {
            Ok(key) if keep.as_ref().is_some_and(|keep| !keep(key)) => return None,
            Err(_) if *skip_foreign => {
                skipped.fetch_add(1, Ordering::Relaxed);
                return None;
            }
            _ => {}
        }
        Some(Found { key, bucket: self.bucket, row })
    }

    async fn next_row(&mut self) -> Result<Option<Row>, Error> {
        loop {
            if let Some(row) = self.page.pop_front() {
                return Ok(Some(row));
            }
            if self.ended {
                return Ok(None);
            }
            match self.pace {
                Pace::Stream => {
                    if let Some(row) = self.receive().await? {
                        return Ok(Some(row));
                    }
                }
                Pace::Pages(rows) => self.read_page(rows).await?,
            }
        }
    }

    /// Reads a page to its end, on one of the streams that are kept for such.
    async fn read_page(&mut self, rows: u64) -> Result<(), Error> {
        let reader = Arc::clone(&self.reader);
        let _stream = reader.client.short_stream().await;
        // Foreign rows and those that are not kept count for the page too, so it is never short for them.
        let mut page = VecDeque::new();
        self.send(Some(rows.min(self.wanted)));
        while let Some(row) = self.receive().await? {
            page.push_back(row);
        }
        self.page = page;
        Ok(())
    }

    /// The next row of the open request; none where it has ended. Then either the lane has too, or what is left of it
    /// is to be asked for again.
    async fn receive(&mut self) -> Result<Option<Row>, Error> {
        if self.open.is_none() {
            self.send((self.wanted < u64::MAX).then_some(self.wanted));
        }
        let Some(mut open) = self.open.take() else {
            return Ok(None);
        };
        if let Some(row) = poll_fn(|cx| Pin::new(&mut open.rows).poll_next(cx)).await.transpose()? {
            open.received += 1;
            open.last = Some(row.key().clone());
            self.open = Some(open);
            return Ok(Some(row));
        }
        match open.last {
            // It ended on the limit, so there may be more.
            Some(last) if open.limit == Some(open.received) => self.go_on_behind(&last),
            _ => self.ended = true,
        }
        Ok(None)
    }

    fn send(&mut self, limit: Option<u64>) {
        let Reader { client, table, filter, reversed, .. } = &*self.reader;
        let request = ReadRows {
            keys: self.keys.clone(),
            ranges: self.ranges.clone(),
            limit,
            filter: filter.clone(),
            reversed: *reversed,
        };
        let rows = client.read_rows(table, request);
        self.open = Some(Open { rows, limit, received: 0, last: None });
    }

    /// Leaves out of what is asked for all rows up to this one.
    fn go_on_behind(&mut self, last: &Bytes) {
        let ahead = match self.reader.reversed {
            true => KeyRange::new(Vec::new(), Some(last.to_vec())),
            // The first key behind one.
            false => KeyRange::new([last, &[0][..]].concat(), None),
        };
        self.keys.retain(|key| ahead.contains(key));
        let ranges = self.ranges.iter().map(|range| range.intersection(&ahead));
        self.ranges = ranges.filter(|range| !range.is_empty()).collect();
        // No empty set of rows is ever sent: it would be the whole table.
        self.ended = self.keys.is_empty() && self.ranges.is_empty();
    }
}
