//! Which bucket scan has the next row: a binary heap over the bucket scans' rows, which stay where they are.

use crate::key::{SaltPlace, Schema, TableKey};
use crate::table::bucket_scan::BucketScan;

/// How many bytes of what orders a row are compared before the row itself is looked at.
const PREFIX: usize = size_of::<u128>();

/// The next row of a bucket scan, by what orders it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    pub(super) bucket_scan: usize,
    /// The first bytes of the part of the key that tells most rows apart.
    prefix: u128,
    /// Where in its key what orders it ends before the salt, and begins again after it.
    front: usize,
    after: usize,
}

impl Head {
    #[inline]
    pub(super) fn new(bucket_scan: usize, key: &[u8], schema: &Schema) -> Self {
        let (front, after) = schema.split_at_salt(key);
        let (front, after) = match schema.salt() {
            // A foreign row that goes on after its salt without a separator is before all rows that have one.
            Some(_) if front.len() == key.len() => (&[][..], &[][..]),
            _ => (front, after),
        };
        // Before the fields there is at most a tag, which is that of all rows.
        let after_fields = schema.salt().is_none_or(|salt| matches!(salt.place(), SaltPlace::After { .. }));
        let prefix = first_bytes(if after_fields { front } else { after });
        Self { bucket_scan, prefix, front: front.len(), after: key.len() - after.len() }
    }
}

/// The key of the bucket scan's row.
pub(super) fn key<K: TableKey>(bucket_scan: &BucketScan<K>) -> &[u8] {
    bucket_scan.row().map_or(&[], |row| row.key())
}

/// The first bytes as a number that is in their order.
fn first_bytes(bytes: &[u8]) -> u128 {
    let mut first = [0; PREFIX];
    let count = bytes.len().min(PREFIX);
    first[..count].copy_from_slice(&bytes[..count]);
    u128::from_be_bytes(first)
}

/// The bucket scans that have a next row, the first of them at the top.
pub(super) struct Heap {
    schema: &'static Schema,
    reversed: bool,
    heads: Vec<Head>,
}

impl Heap {
    pub(super) fn new(schema: &'static Schema, reversed: bool, bucket_scans: usize) -> Self {
        Self { schema, reversed, heads: Vec::with_capacity(bucket_scans) }
    }

    pub(super) fn schema(&self) -> &'static Schema {
        self.schema
    }

    /// The bucket scan with the first row.
    pub(super) fn top(&self) -> Option<usize> {
        self.heads.first().map(|head| head.bucket_scan)
    }

    /// The row that comes after the one at the top, unless its own bucket scan has one before it.
    pub(super) fn second<K: TableKey>(&self, bucket_scans: &[BucketScan<K>]) -> Option<Head> {
        let second = if self.heads.len() > 2 && self.is_before(2, 1, bucket_scans) { 2 } else { 1 };
        self.heads.get(second).copied()
    }

    pub(super) fn push<K: TableKey>(&mut self, head: Head, bucket_scans: &[BucketScan<K>]) {
        self.heads.push(head);
        let mut at = self.heads.len() - 1;
        while at > 0 && self.is_before(at, (at - 1) / 2, bucket_scans) {
            self.heads.swap(at, (at - 1) / 2);
            at = (at - 1) / 2;
        }
    }

    /// The bucket scan at the top has gone on.
    pub(super) fn replace_top<K: TableKey>(&mut self, head: Head, bucket_scans: &[BucketScan<K>]) {
        if let Some(top) = self.heads.first_mut() {
            *top = head;
        }
        self.sink(bucket_scans);
    }

    /// The bucket scan at the top has ended.
    pub(super) fn remove_top<K: TableKey>(&mut self, bucket_scans: &[BucketScan<K>]) {
        if !self.heads.is_empty() {
            self.heads.swap_remove(0);
        }
        self.sink(bucket_scans);
    }

    /// Moves the head at the top to where it belongs.
    fn sink<K: TableKey>(&mut self, bucket_scans: &[BucketScan<K>]) {
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

    /// Whether one of two rows comes first.
    #[inline]
    fn is_before<K: TableKey>(&self, one: usize, other: usize, bucket_scans: &[BucketScan<K>]) -> bool {
        let (one, other) = (&self.heads[one], &self.heads[other]);
        self.is_first(
            (one, key(&bucket_scans[one.bucket_scan])),
            (other, key(&bucket_scans[other.bucket_scan])),
        )
    }

    /// Whether the first of two rows, with their keys, comes first: by its logical key, then by its bucket scan, so that equal
    /// ones keep an order.
    #[inline]
    pub(super) fn is_first(&self, (one, key): (&Head, &[u8]), (other, other_key): (&Head, &[u8])) -> bool {
        if one.prefix != other.prefix {
            return (one.prefix < other.prefix) != self.reversed;
        }
        let order = (&key[..one.front], &key[one.after..], one.bucket_scan).cmp(&(
            &other_key[..other.front],
            &other_key[other.after..],
            other.bucket_scan,
        ));
        order.is_lt() != self.reversed
    }
}
