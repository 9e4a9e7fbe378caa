//! The lanes of a scan as one stream: merged by logical key, or as rows arrive.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_core::Stream;
use futures_util::stream::{SelectAll, select_all};

use super::lane::{Found, Lane};
use crate::client::Error;
use crate::key::{Schema, TableKey};

/// Lanes that run side by side.
pub(super) enum Merge<K: TableKey> {
    Ordered(Ordered<K>),
    Unordered(SelectAll<Lane<K>>),
}

/// Lanes that are each in order, as one stream that is.
///
/// A lane is asked for its next row only when its last one has been handed out, so at most one row of
/// each is held here; what arrives meanwhile waits in the transport, which is bounded for each stream.
pub(super) struct Ordered<K: TableKey> {
    schema: &'static Schema,
    reversed: bool,
    lanes: Vec<Lane<K>>,
    /// The lanes whose next row is not known yet.
    awaited: Vec<usize>,
    /// The next row of every other lane that has one.
    heads: BinaryHeap<Head<K>>,
}

impl<K: TableKey> Merge<K> {
    pub(super) fn ordered(lanes: Vec<Lane<K>>, reversed: bool) -> Self {
        Self::Ordered(Ordered {
            schema: K::SCHEMA,
            reversed,
            awaited: (0..lanes.len()).collect(),
            heads: BinaryHeap::with_capacity(lanes.len()),
            lanes,
        })
    }

    pub(super) fn unordered(lanes: Vec<Lane<K>>) -> Self {
        Self::Unordered(select_all(lanes))
    }

    pub(super) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Found<K>, Error>>> {
        match self {
            Self::Ordered(lanes) => lanes.poll_next(cx),
            Self::Unordered(lanes) => Pin::new(lanes).poll_next(cx),
        }
    }
}

impl<K: TableKey> Ordered<K> {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Found<K>, Error>>> {
        ready!(self.poll_awaited(cx))?;
        let Some(Head { found, lane, .. }) = self.heads.pop() else {
            return Poll::Ready(None);
        };
        self.awaited.push(lane);
        Poll::Ready(Some(Ok(found)))
    }

    /// Asks all awaited lanes, so that their requests run side by side.
    fn poll_awaited(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        let mut failed = None;
        let Self { schema, reversed, lanes, awaited, heads } = self;
        awaited.retain(|lane| match Pin::new(&mut lanes[*lane]).poll_next(cx) {
            Poll::Pending => true,
            Poll::Ready(Some(Ok(found))) => {
                heads.push(Head::new(found, *lane, schema, *reversed));
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
}

/// The next row of a lane. The greatest head is the one that comes first.
struct Head<K: TableKey> {
    found: Found<K>,
    lane: usize,
    /// Where in its key what orders it ends in front of the salt, and begins again behind it.
    front: usize,
    behind: usize,
    reversed: bool,
}

impl<K: TableKey> Head<K> {
    fn new(found: Found<K>, lane: usize, schema: &Schema, reversed: bool) -> Self {
        let key = found.row.key();
        let (front, behind) = schema.split_at_salt(key);
        let (front, behind) = match schema.salt() {
            // A foreign row that goes on behind its salt without a separator is in front of all rows that have one.
            Some(_) if front.len() == key.len() => (0, key.len()),
            _ => (front.len(), key.len() - behind.len()),
        };
        Self { found, lane, front, behind, reversed }
    }

    /// What rows are ordered by: the logical key, then the lane, so that equal ones keep an order.
    fn rank(&self) -> (&[u8], &[u8], usize) {
        let key = self.found.row.key();
        (&key[..self.front], &key[self.behind..], self.lane)
    }
}

impl<K: TableKey> Ord for Head<K> {
    fn cmp(&self, other: &Self) -> Ordering {
        let order = self.rank().cmp(&other.rank());
        if self.reversed { order } else { order.reverse() }
    }
}

impl<K: TableKey> PartialOrd for Head<K> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<K: TableKey> PartialEq for Head<K> {
    fn eq(&self, other: &Self) -> bool {
        self.rank() == other.rank()
    }
}

impl<K: TableKey> Eq for Head<K> {}
