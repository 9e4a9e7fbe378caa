//! The lanes of a scan as one stream: merged by logical key, or as rows arrive.

mod heap;

use std::task::{Context, Poll, ready};

use self::heap::{Head, Heap, key};
use super::lane::Lane;
use crate::client::Error;
use crate::key::TableKey;
use crate::row::Row;

/// Lanes that run side by side.
pub(super) enum Merge<K: TableKey> {
    /// One is in order by itself.
    One(Box<Lane<K>>),
    Ordered(Ordered<K>),
    Unordered(Unordered<K>),
}

impl<K: TableKey> Merge<K> {
    pub(super) fn ordered(mut lanes: Vec<Lane<K>>, reversed: bool) -> Self {
        if lanes.len() == 1
            && let Some(lane) = lanes.pop()
        {
            return Self::One(Box::new(lane));
        }
        Self::Ordered(Ordered {
            awaited: (0..lanes.len()).collect(),
            heap: Heap::new(K::SCHEMA, reversed, lanes.len()),
            taken: None,
            lanes,
        })
    }

    pub(super) fn unordered(lanes: Vec<Lane<K>>) -> Self {
        Self::Unordered(Unordered { lanes, next: 0 })
    }

    /// Goes on to the next row, which is [`row`](Self::row) until the next call, and says whether there is one.
    #[inline]
    pub(super) fn poll_advance(&mut self, cx: &mut Context<'_>) -> Poll<Result<bool, Error>> {
        match self {
            Self::One(lane) => lane.poll_advance(cx),
            Self::Ordered(lanes) => lanes.poll_advance(cx),
            Self::Unordered(lanes) => lanes.poll_advance(cx),
        }
    }

    /// The row that was gone on to last.
    #[inline]
    pub(super) fn row(&self) -> Option<&Row> {
        self.lane()?.row()
    }

    /// Lends the row that was gone on to last, and those behind it that have come and are next, `most` in all, up to one
    /// of which `lend` says no. Gives the row that its lane is at then, which is in one message with those that were lent
    /// behind the first.
    #[inline]
    pub(super) fn lend(&mut self, most: u64, lend: impl FnMut(&Row) -> bool) -> Option<&Row> {
        let lane = match self {
            Self::One(lane) => &mut **lane,
            Self::Unordered(Unordered { lanes, next }) => lanes.get_mut(*next)?,
            Self::Ordered(lanes) => return lanes.lend(most, lend),
        };
        lane.lend(most, lend);
        lane.row()
    }

    /// The bucket that it is of, where its lane reads one alone.
    pub(super) fn bucket(&self) -> Option<i32> {
        self.lane()?.bucket()
    }

    /// Counts the row that was gone on to last for no limit, since it is left out.
    pub(super) fn left_out(&mut self) {
        let lane = match self {
            Self::One(lane) => Some(&mut **lane),
            Self::Ordered(Ordered { lanes, taken, .. }) => taken.and_then(|lane| lanes.get_mut(lane)),
            Self::Unordered(Unordered { lanes, next }) => lanes.get_mut(*next),
        };
        lane.into_iter().for_each(Lane::left_out);
    }

    /// The lane that has the row that was gone on to last.
    #[inline]
    fn lane(&self) -> Option<&Lane<K>> {
        match self {
            Self::One(lane) => Some(lane),
            Self::Ordered(Ordered { lanes, taken, .. }) => lanes.get((*taken)?),
            Self::Unordered(Unordered { lanes, next }) => lanes.get(*next),
        }
    }
}

/// Lanes that are each in order, as one stream that is.
///
/// A lane is asked for its next row only when its last one has been handed out, so at most one row of
/// each is held here; what arrives meanwhile waits in the transport, which is bounded for each stream.
pub(super) struct Ordered<K: TableKey> {
    lanes: Vec<Lane<K>>,
    /// The lanes whose first row is not known yet.
    awaited: Vec<usize>,
    heap: Heap,
    /// The lane whose row has been handed out last, which is still at the top of the heap and to go on. None before the
    /// first row, and where it has gone on.
    taken: Option<usize>,
}

impl<K: TableKey> Ordered<K> {
    fn poll_advance(&mut self, cx: &mut Context<'_>) -> Poll<Result<bool, Error>> {
        ready!(self.poll_awaited(cx))?;
        let Self { lanes, heap, taken, .. } = self;
        if let Some(lane) = *taken {
            match ready!(lanes[lane].poll_advance(cx)?) {
                true => heap.replace_top(Head::new(lane, key(&lanes[lane]), heap.schema()), lanes),
                false => heap.remove_top(lanes),
            }
        }
        *taken = heap.top();
        Poll::Ready(Ok(taken.is_some()))
    }

    /// [`Merge::lend`], up to the first row of another lane.
    #[inline]
    fn lend(&mut self, most: u64, mut lend: impl FnMut(&Row) -> bool) -> Option<&Row> {
        let Self { lanes, heap, taken, .. } = self;
        let lane = (*taken)?;
        let Some(second) = heap.second(lanes) else {
            let last = &mut lanes[lane];
            last.lend(most, lend);
            return last.row();
        };
        let [first, other] = lanes.get_disjoint_mut([lane, second.lane]).ok()?;
        let (mut is_lent, mut held) = (false, None);
        first.lend(most, |row| {
            let head = is_lent.then(|| Head::new(lane, row.key(), heap.schema()));
            held = head.filter(|head| !heap.is_first((head, row.key()), (&second, key(other))));
            is_lent = true;
            held.is_none() && lend(row)
        });
        if let Some(head) = held {
            // It has gone on to a row whose turn is later.
            heap.replace_top(head, lanes);
            *taken = None;
        }
        lanes[lane].row()
    }

    /// Asks all awaited lanes, so that their requests run side by side.
    fn poll_awaited(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        if self.awaited.is_empty() {
            return Poll::Ready(Ok(()));
        }
        let mut failed = None;
        let Self { lanes, awaited, heap, .. } = self;
        awaited.retain(|lane| match lanes[*lane].poll_advance(cx) {
            Poll::Pending => true,
            Poll::Ready(Ok(true)) => {
                heap.push(Head::new(*lane, key(&lanes[*lane]), heap.schema()), lanes);
                false
            }
            Poll::Ready(Err(error)) => {
                failed.get_or_insert(error);
                false
            }
            Poll::Ready(Ok(false)) => false,
        });
        match failed {
            Some(error) => Poll::Ready(Err(error)),
            None if awaited.is_empty() => Poll::Ready(Ok(())),
            None => Poll::Pending,
        }
    }
}

/// Lanes of which any may have the next row.
pub(super) struct Unordered<K: TableKey> {
    lanes: Vec<Lane<K>>,
    /// The lane that had the last row, and is asked first for the next.
    next: usize,
}

impl<K: TableKey> Unordered<K> {
    /// Asks one lane after the other until one has a row, so that their requests run side by side.
    fn poll_advance(&mut self, cx: &mut Context<'_>) -> Poll<Result<bool, Error>> {
        let mut pending = 0;
        while pending < self.lanes.len() {
            if self.next >= self.lanes.len() {
                self.next = 0;
            }
            match self.lanes[self.next].poll_advance(cx) {
                Poll::Pending => {
                    pending += 1;
                    self.next += 1;
                }
                Poll::Ready(Ok(false)) => drop(self.lanes.swap_remove(self.next)),
                row => return row,
            }
        }
        if self.lanes.is_empty() { Poll::Ready(Ok(false)) } else { Poll::Pending }
    }
}
