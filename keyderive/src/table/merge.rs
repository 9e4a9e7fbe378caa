//! The ordered merge of the streams of a scan, one for each bucket.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_core::Stream;

use crate::client::{Error, RowStream};
use crate::key::Schema;
use crate::row::Row;

/// The rows of one request, in order.
pub(super) struct Lane {
    pub(super) rows: RowStream,
    pub(super) schema: &'static Schema,
}

/// Streams that are each in order, as one that is.
///
/// A stream is asked for its next row only when its last one has been handed out, so at most one row of
/// each is held here; what arrives meanwhile waits in the transport, which is bounded for each stream.
pub(super) struct Merge {
    lanes: Vec<Lane>,
    /// The lanes whose next row is not known yet.
    awaited: Vec<usize>,
    /// The next row of every other lane that has one.
    heads: BinaryHeap<Head>,
    /// How many rows may still be handed out.
    remaining: u64,
}

impl Merge {
    pub(super) fn new(lanes: Vec<Lane>, limit: Option<u64>) -> Self {
        Self {
            awaited: (0..lanes.len()).collect(),
            heads: BinaryHeap::with_capacity(lanes.len()),
            lanes,
            remaining: limit.unwrap_or(u64::MAX),
        }
    }

    /// Asks all awaited lanes, so that their requests run side by side.
    fn poll_awaited(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        let mut failed = None;
        let Self { lanes, awaited, heads, .. } = self;
        awaited.retain(|lane| match Pin::new(&mut lanes[*lane].rows).poll_next(cx) {
            Poll::Pending => true,
            Poll::Ready(Some(Ok(row))) => {
                heads.push(Head { row, lane: *lane, schema: lanes[*lane].schema });
                false
            }
            Poll::Ready(Some(Err(error))) => {
                failed.get_or_insert(error);
                false
            }
            Poll::Ready(None) => false,
        });
        match failed {
            Some(error) => Poll::Ready(Err(error)),
            None if awaited.is_empty() => Poll::Ready(Ok(())),
            None => Poll::Pending,
        }
    }

    /// Ends the merge: every stream is dropped, which cancels its request.
    fn end(&mut self) {
        self.lanes.clear();
        self.awaited.clear();
        self.heads.clear();
    }
}

impl Stream for Merge {
    type Item = Result<Row, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.remaining == 0 {
            self.end();
            return Poll::Ready(None);
        }
        if let Err(error) = ready!(self.poll_awaited(cx)) {
            self.end();
            return Poll::Ready(Some(Err(error)));
        }
        let Some(Head { row, lane, .. }) = self.heads.pop() else {
            return Poll::Ready(None);
        };
        self.awaited.push(lane);
        self.remaining -= 1;
        Poll::Ready(Some(Ok(row)))
    }
}

/// The next row of a lane. The greatest head is the one with the least logical key.
struct Head {
    row: Row,
    lane: usize,
    schema: &'static Schema,
}

impl Head {
    /// What rows are ordered by: the logical key, then the lane, so that equal ones keep an order.
    fn rank(&self) -> ((&[u8], &[u8]), usize) {
        (self.schema.split_at_salt(self.row.key()), self.lane)
    }
}

impl Ord for Head {
    fn cmp(&self, other: &Self) -> Ordering {
        other.rank().cmp(&self.rank())
    }
}

impl PartialOrd for Head {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Head {
    fn eq(&self, other: &Self) -> bool {
        self.rank() == other.rank()
    }
}

impl Eq for Head {}
