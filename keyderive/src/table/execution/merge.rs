//! The buckets of a scan as one stream of rows: merged by logical key, or as rows arrive.

use std::task::{Context, Poll, ready};

use super::bucket::BucketScan;
use crate::client::{Error, NextRow, RowCursor};
use crate::key::{Bucket, KeySchema, SaltPlace};
use crate::row::RawRow;

/// Buckets that are read side by side.
pub(super) struct Merge {
    bucket_scans: Vec<BucketScan>,
    /// The index of the bucket with the current row; with [`Order::Arrival`], of the bucket to poll first.
    current: Option<usize>,
    order: Order,
}

enum Order {
    /// As rows arrive, in no order among buckets. A single bucket is in key order by itself.
    Arrival,
    /// By logical key.
    ///
    /// A bucket advances only after its row was delivered, so one row of each is held here. What arrives meanwhile waits
    /// in the transport, which bounds it for each stream.
    Key {
        heap: Heap,
        /// The buckets whose first row has not arrived.
        awaited: Vec<usize>,
    },
}

impl Merge {
    pub(super) fn ordered(bucket_scans: Vec<BucketScan>, schema: &'static KeySchema, reversed: bool) -> Self {
        let count = bucket_scans.len();
        if count == 1 {
            return Self::unordered(bucket_scans);
        }
        let heap = Heap::new(schema, reversed, count);
        Self { bucket_scans, current: None, order: Order::Key { heap, awaited: (0..count).collect() } }
    }

    pub(super) fn unordered(bucket_scans: Vec<BucketScan>) -> Self {
        Self { bucket_scans, current: None, order: Order::Arrival }
    }

    /// The bucket of the current row, if its stream reads a single one.
    pub(super) fn bucket(&self) -> Option<Bucket> {
        self.bucket_scans.get(self.current?)?.bucket()
    }

    /// Reads the requests that run to their ends, side by side, and drops their rows.
    pub(super) fn poll_ends(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.bucket_scans.retain_mut(|bucket_scan| bucket_scan.poll_end(cx).is_pending());
        if self.bucket_scans.is_empty() { Poll::Ready(()) } else { Poll::Pending }
    }

    /// Polls one bucket after the other until one has a row, so that all requests run side by side.
    #[inline]
    fn poll_arrival(&mut self, cx: &mut Context<'_>) -> Poll<NextRow> {
        let Self { bucket_scans, current, .. } = self;
        // Polls each bucket once, from the current one on.
        let mut next = current.unwrap_or(0);
        for _ in 0..bucket_scans.len() {
            if next >= bucket_scans.len() {
                next = 0;
            }
            match bucket_scans[next].poll_next_row(cx) {
                Poll::Pending => next += 1,
                Poll::Ready(None) => drop(bucket_scans.remove(next)),
                row => {
                    *current = Some(next);
                    return row;
                }
            }
        }
        *current = Some(next);
        if bucket_scans.is_empty() { Poll::Ready(None) } else { Poll::Pending }
    }

    /// Advances the current bucket and makes the bucket with the first row the current one.
    #[inline]
    fn poll_by_key(&mut self, cx: &mut Context<'_>) -> Poll<NextRow> {
        let Self { bucket_scans, current, order: Order::Key { heap, awaited } } = self else {
            return Poll::Ready(None);
        };
        ready!(poll_awaited(bucket_scans, awaited, heap, cx))?;
        if let Some(top) = *current {
            let polled = bucket_scans[top].poll_next_row(cx);
            if polled.is_pending() && bucket_scans[top].is_distinct() {
                bucket_scans.iter_mut().enumerate().for_each(|(index, bucket_scan)| {
                    if index != top {
                        bucket_scan.read_ahead(cx);
                    }
                });
            }
            match ready!(polled).transpose()? {
                Some(()) => {
                    let head = Head::new(top, &bucket_scans[top], heap.schema);
                    heap.replace_top(head, bucket_scans);
                }
                None => heap.remove_top(bucket_scans),
            }
        }
        *current = heap.top();
        Poll::Ready(current.map(|_| Ok(())))
    }
}

/// Polls every bucket whose first row has not arrived, so that all requests run side by side.
fn poll_awaited(
    bucket_scans: &mut [BucketScan],
    awaited: &mut Vec<usize>,
    heap: &mut Heap,
    cx: &mut Context<'_>,
) -> Poll<Result<(), Error>> {
    if awaited.is_empty() {
        return Poll::Ready(Ok(()));
    }
    let mut failed = None;
    awaited.retain(|&index| match bucket_scans[index].poll_next_row(cx) {
        Poll::Pending => true,
        Poll::Ready(Some(Ok(()))) => {
            let head = Head::new(index, &bucket_scans[index], heap.schema);
            heap.push(head, bucket_scans);
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

impl RowCursor for Merge {
    #[inline]
    fn poll_next_row(&mut self, cx: &mut Context<'_>) -> Poll<NextRow> {
        match self.order {
            Order::Arrival => self.poll_arrival(cx),
            Order::Key { .. } => self.poll_by_key(cx),
        }
    }

    #[inline]
    fn current(&self) -> Option<&RawRow> {
        self.bucket_scans.get(self.current?)?.current()
    }

    /// When merging by key, stops before the first row that comes after another bucket's row.
    #[inline]
    fn buffered(&mut self, max: u64, mut f: impl FnMut(&RawRow) -> bool) {
        let Self { bucket_scans, current, order } = self;
        let Some(top) = *current else { return };
        let second = match order {
            Order::Key { heap, .. } => heap.second(bucket_scans).map(|second| (heap, second)),
            Order::Arrival => None,
        };
        let Some((heap, second)) = second else {
            return bucket_scans
                .get_mut(top)
                .into_iter()
                .for_each(|bucket_scan| bucket_scan.buffered(max, &mut f));
        };
        let Ok([first, other]) = bucket_scans.get_disjoint_mut([top, second.index]) else { return };
        let (mut is_first_row, mut later) = (true, None);
        let bucket = first.bucket();
        first.buffered(max, |row| {
            let head = (!is_first_row).then(|| Head::of_key(top, row.key(), bucket, heap.schema));
            is_first_row = false;
            later = head.filter(|head| !heap.is_first((head, row.key()), (&second, key(other))));
            later.is_none() && f(row)
        });
        if let Some(head) = later {
            // The bucket has advanced to a row whose turn comes later.
            heap.replace_top(head, bucket_scans);
            *current = None;
        }
    }
}

/// How many bytes of a row's logical key are compared as one number, before the key itself.
const PREFIX: usize = size_of::<u128>();

/// The current row of a bucket, by its logical key: the key without its salt.
#[derive(Clone, Copy, Debug)]
struct Head {
    index: usize,
    /// The first bytes of the part of the key that tells most rows apart.
    prefix: u128,
    /// Where in the key the part before the salt ends, and the part after it begins.
    front: usize,
    after: usize,
}

impl Head {
    #[inline]
    fn new(index: usize, bucket_scan: &BucketScan, schema: &KeySchema) -> Self {
        Self::of_key(index, key(bucket_scan), bucket_scan.bucket(), schema)
    }

    #[inline]
    fn of_key(index: usize, key: &[u8], bucket: Option<Bucket>, schema: &KeySchema) -> Self {
        let (front, after) = match schema.has_epochs() {
            // A foreign row can have the time of another epoch than its bucket is of.
            true => schema.split_at_bucket(bucket, key),
            false => schema.split_at_salt(key),
        };
        let (front, after) = match schema.first_salt() {
            // A foreign row without a separator after its salt sorts before all rows that have one.
            Some(_) if front.len() == key.len() => (&[][..], &[][..]),
            _ => (front, after),
        };
        // Before the fields there is at most a tag, which all rows share.
        let after_fields =
            schema.first_salt().is_none_or(|salt| matches!(salt.place(), SaltPlace::After { .. }));
        let prefix = first_bytes(if after_fields { front } else { after });
        Self { index, prefix, front: front.len(), after: key.len() - after.len() }
    }
}

/// The key of a bucket's current row.
fn key(bucket_scan: &BucketScan) -> &[u8] {
    bucket_scan.current().map_or(&[], |row| row.key())
}

/// The first bytes as a number in their order.
fn first_bytes(bytes: &[u8]) -> u128 {
    let mut first = [0; PREFIX];
    let count = bytes.len().min(PREFIX);
    first[..count].copy_from_slice(&bytes[..count]);
    u128::from_be_bytes(first)
}

/// A binary heap of the buckets that have a row, the first row at the top. The rows stay in their streams.
struct Heap {
    schema: &'static KeySchema,
    reversed: bool,
    heads: Vec<Head>,
}

impl Heap {
    fn new(schema: &'static KeySchema, reversed: bool, capacity: usize) -> Self {
        Self { schema, reversed, heads: Vec::with_capacity(capacity) }
    }

    /// The bucket with the first row.
    fn top(&self) -> Option<usize> {
        self.heads.first().map(|head| head.index)
    }

    /// The first row of the other buckets.
    fn second(&self, bucket_scans: &[BucketScan]) -> Option<Head> {
        let second = if self.heads.len() > 2 && self.is_before(2, 1, bucket_scans) { 2 } else { 1 };
        self.heads.get(second).copied()
    }

    fn push(&mut self, head: Head, bucket_scans: &[BucketScan]) {
        self.heads.push(head);
        let mut at = self.heads.len() - 1;
        while at > 0 && self.is_before(at, (at - 1) / 2, bucket_scans) {
            self.heads.swap(at, (at - 1) / 2);
            at = (at - 1) / 2;
        }
    }

    /// Replaces the head at the top when its bucket has advanced.
    fn replace_top(&mut self, head: Head, bucket_scans: &[BucketScan]) {
        if let Some(top) = self.heads.first_mut() {
            *top = head;
        }
        self.sift_down(bucket_scans);
    }

    /// Removes the head at the top when its bucket has ended.
    fn remove_top(&mut self, bucket_scans: &[BucketScan]) {
        if !self.heads.is_empty() {
            self.heads.swap_remove(0);
        }
        self.sift_down(bucket_scans);
    }

    /// Moves the head at the top down to its place.
    fn sift_down(&mut self, bucket_scans: &[BucketScan]) {
        let mut at = 0;
        loop {
            let (left, right) = (2 * at + 1, 2 * at + 2);
            if left >= self.heads.len() {
                return;
            }
            let first = if right < self.heads.len() && self.is_before(right, left, bucket_scans) {
                right
            } else {
                left
            };
            if !self.is_before(first, at, bucket_scans) {
                return;
            }
            self.heads.swap(at, first);
            at = first;
        }
    }

    /// Whether the head at one place comes before that at another.
    #[inline]
    fn is_before(&self, one: usize, other: usize, bucket_scans: &[BucketScan]) -> bool {
        let (one, other) = (&self.heads[one], &self.heads[other]);
        self.is_first((one, key(&bucket_scans[one.index])), (other, key(&bucket_scans[other.index])))
    }

    /// Whether the first of two rows, given with their keys, comes before the second: by logical key, then by bucket, so
    /// that equal keys keep an order.
    #[inline]
    fn is_first(&self, (one, key): (&Head, &[u8]), (other, other_key): (&Head, &[u8])) -> bool {
        if one.prefix != other.prefix {
            return (one.prefix < other.prefix) != self.reversed;
        }
        let order = (&key[..one.front], &key[one.after..], one.index).cmp(&(
            &other_key[..other.front],
            &other_key[other.after..],
            other.index,
        ));
        order.is_lt() != self.reversed
    }
}
