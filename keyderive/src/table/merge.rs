//! The bucket scans of a scan as one stream: merged by logical key, or as rows arrive.

mod heap;

use std::task::{Context, Poll, ready};

use self::heap::{Head, Heap, key};
use super::bucket_scan::BucketScan;
use crate::client::Error;
use crate::key::TableKey;
use crate::row::Row;

/// Lanes that run side by side.
pub(super) enum Merge<K: TableKey> {
    /// One is in order by itself.
    One(Box<BucketScan<K>>),
    Ordered(Ordered<K>),
    Unordered(Unordered<K>),
}

impl<K: TableKey> Merge<K> {
    pub(super) fn ordered(mut bucket_scans: Vec<BucketScan<K>>, reversed: bool) -> Self {
        if bucket_scans.len() == 1
            && let Some(bucket_scan) = bucket_scans.pop()
        {
            return Self::One(Box::new(bucket_scan));
        }
        Self::Ordered(Ordered {
            awaited: (0..bucket_scans.len()).collect(),
            heap: Heap::new(K::SCHEMA, reversed, bucket_scans.len()),
            taken: None,
            bucket_scans,
        })
    }

    pub(super) fn unordered(bucket_scans: Vec<BucketScan<K>>) -> Self {
        Self::Unordered(Unordered { bucket_scans, next: 0 })
    }

    /// Advances to the next row, which [`row`](Self::row) returns; false at the end.
    #[inline]
    pub(super) fn poll_advance(&mut self, cx: &mut Context<'_>) -> Poll<Result<bool, Error>> {
        match self {
            Self::One(bucket_scan) => bucket_scan.poll_advance(cx),
            Self::Ordered(bucket_scans) => bucket_scans.poll_advance(cx),
            Self::Unordered(bucket_scans) => bucket_scans.poll_advance(cx),
        }
    }

    /// The row that was gone on to last.
    #[inline]
    pub(super) fn row(&self) -> Option<&Row> {
        self.bucket_scan()?.row()
    }

    /// Calls `f` on the current row and the rows already buffered that follow it, at most `most`, until `f` returns false. Returns
    /// the current row of the bucket scan, which is in the same message as the rows passed to `f` after the first.
    #[inline]
    pub(super) fn for_each_buffered(&mut self, most: u64, f: impl FnMut(&Row) -> bool) -> Option<&Row> {
        let bucket_scan = match self {
            Self::One(bucket_scan) => &mut **bucket_scan,
            Self::Unordered(Unordered { bucket_scans, next }) => bucket_scans.get_mut(*next)?,
            Self::Ordered(bucket_scans) => return bucket_scans.for_each_buffered(most, f),
        };
        bucket_scan.for_each_buffered(most, f);
        bucket_scan.row()
    }

    /// The bucket that it is of, where its bucket scan reads one alone.
    pub(super) fn bucket(&self) -> Option<i32> {
        self.bucket_scan()?.bucket()
    }

    /// Counts the row that was gone on to last for no limit, since it is left out.
    pub(super) fn left_out(&mut self) {
        let bucket_scan = match self {
            Self::One(bucket_scan) => Some(&mut **bucket_scan),
            Self::Ordered(Ordered { bucket_scans, taken, .. }) => {
                taken.and_then(|bucket_scan| bucket_scans.get_mut(bucket_scan))
            }
            Self::Unordered(Unordered { bucket_scans, next }) => bucket_scans.get_mut(*next),
        };
        bucket_scan.into_iter().for_each(BucketScan::left_out);
    }

    /// The bucket scan that has the row that was gone on to last.
    #[inline]
    fn bucket_scan(&self) -> Option<&BucketScan<K>> {
        match self {
            Self::One(bucket_scan) => Some(bucket_scan),
            Self::Ordered(Ordered { bucket_scans, taken, .. }) => bucket_scans.get((*taken)?),
            Self::Unordered(Unordered { bucket_scans, next }) => bucket_scans.get(*next),
        }
    }
}

/// Lanes that are each in order, as one stream that is.
///
/// A bucket scan is asked for its next row only when its last one has been handed out, so at most one row of
/// each is held here; what arrives meanwhile waits in the transport, which is bounded for each stream.
pub(super) struct Ordered<K: TableKey> {
    bucket_scans: Vec<BucketScan<K>>,
    /// The bucket scans whose first row is not known yet.
    awaited: Vec<usize>,
    heap: Heap,
    /// The bucket scan whose row has been handed out last, which is still at the top of the heap and to go on. None before the
    /// first row, and where it has gone on.
    taken: Option<usize>,
}

impl<K: TableKey> Ordered<K> {
    fn poll_advance(&mut self, cx: &mut Context<'_>) -> Poll<Result<bool, Error>> {
        ready!(self.poll_awaited(cx))?;
        let Self { bucket_scans, heap, taken, .. } = self;
        if let Some(bucket_scan) = *taken {
            match ready!(bucket_scans[bucket_scan].poll_advance(cx)?) {
                true => heap.replace_top(
                    Head::new(bucket_scan, key(&bucket_scans[bucket_scan]), heap.schema()),
                    bucket_scans,
                ),
                false => heap.remove_top(bucket_scans),
            }
        }
        *taken = heap.top();
        Poll::Ready(Ok(taken.is_some()))
    }

    /// [`Merge::for_each_buffered`], up to the first row of another bucket scan.
    #[inline]
    fn for_each_buffered(&mut self, most: u64, mut f: impl FnMut(&Row) -> bool) -> Option<&Row> {
        let Self { bucket_scans, heap, taken, .. } = self;
        let bucket_scan = (*taken)?;
        let Some(second) = heap.second(bucket_scans) else {
            let last = &mut bucket_scans[bucket_scan];
            last.for_each_buffered(most, f);
            return last.row();
        };
        let [first, other] = bucket_scans.get_disjoint_mut([bucket_scan, second.bucket_scan]).ok()?;
        let (mut is_lent, mut held) = (false, None);
        first.for_each_buffered(most, |row| {
            let head = is_lent.then(|| Head::new(bucket_scan, row.key(), heap.schema()));
            held = head.filter(|head| !heap.is_first((head, row.key()), (&second, key(other))));
            is_lent = true;
            held.is_none() && f(row)
        });
        if let Some(head) = held {
            // It has gone on to a row whose turn is later.
            heap.replace_top(head, bucket_scans);
            *taken = None;
        }
        bucket_scans[bucket_scan].row()
    }

    /// Asks all awaited bucket scans, so that their requests run side by side.
    fn poll_awaited(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        if self.awaited.is_empty() {
            return Poll::Ready(Ok(()));
        }
        let mut failed = None;
        let Self { bucket_scans, awaited, heap, .. } = self;
        awaited.retain(|bucket_scan| match bucket_scans[*bucket_scan].poll_advance(cx) {
            Poll::Pending => true,
            Poll::Ready(Ok(true)) => {
                heap.push(
                    Head::new(*bucket_scan, key(&bucket_scans[*bucket_scan]), heap.schema()),
                    bucket_scans,
                );
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
    bucket_scans: Vec<BucketScan<K>>,
    /// The bucket scan that had the last row, and is asked first for the next.
    next: usize,
}

impl<K: TableKey> Unordered<K> {
    /// Asks one bucket scan after the other until one has a row, so that their requests run side by side.
    fn poll_advance(&mut self, cx: &mut Context<'_>) -> Poll<Result<bool, Error>> {
        let mut pending = 0;
        while pending < self.bucket_scans.len() {
            if self.next >= self.bucket_scans.len() {
                self.next = 0;
            }
            match self.bucket_scans[self.next].poll_advance(cx) {
                Poll::Pending => {
                    pending += 1;
                    self.next += 1;
                }
                Poll::Ready(Ok(false)) => drop(self.bucket_scans.swap_remove(self.next)),
                row => return row,
            }
        }
        if self.bucket_scans.is_empty() { Poll::Ready(Ok(false)) } else { Poll::Pending }
    }
}
