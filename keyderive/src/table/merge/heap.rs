//! Which lane has the next row: a binary heap over the lanes' rows, which stay where they are.

use crate::key::{SaltPlace, Schema, TableKey};
use crate::table::lane::Lane;

/// How many bytes of what orders a row are compared before the row itself is looked at.
const PREFIX: usize = size_of::<u128>();

/// The next row of a lane, by what orders it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    pub(super) lane: usize,
    /// The first bytes of the part of the key that tells most rows apart.
    prefix: u128,
    /// Where in its key what orders it ends in front of the salt, and begins again behind it.
    front: usize,
    behind: usize,
}

impl Head {
    #[inline]
    pub(super) fn new(lane: usize, key: &[u8], schema: &Schema) -> Self {
        let (front, behind) = schema.split_at_salt(key);
        let (front, behind) = match schema.salt() {
            // A foreign row that goes on behind its salt without a separator is in front of all rows that have one.
            Some(_) if front.len() == key.len() => (&[][..], &[][..]),
            _ => (front, behind),
        };
        // In front of the fields there is at most a tag, which is that of all rows.
        let after_fields = schema.salt().is_none_or(|salt| matches!(salt.place(), SaltPlace::After { .. }));
        let prefix = first_bytes(if after_fields { front } else { behind });
        Self { lane, prefix, front: front.len(), behind: key.len() - behind.len() }
    }
}

/// The key of the lane's row.
pub(super) fn key<K: TableKey>(lane: &Lane<K>) -> &[u8] {
    lane.row().map_or(&[], |row| row.key())
}

/// The first bytes as a number that is in their order.
fn first_bytes(bytes: &[u8]) -> u128 {
    let mut first = [0; PREFIX];
    let count = bytes.len().min(PREFIX);
    first[..count].copy_from_slice(&bytes[..count]);
    u128::from_be_bytes(first)
}

/// The lanes that have a next row, the first of them at the top.
pub(super) struct Heap {
    schema: &'static Schema,
    reversed: bool,
    heads: Vec<Head>,
}

impl Heap {
    pub(super) fn new(schema: &'static Schema, reversed: bool, lanes: usize) -> Self {
        Self { schema, reversed, heads: Vec::with_capacity(lanes) }
    }

    pub(super) fn schema(&self) -> &'static Schema {
        self.schema
    }

    /// The lane with the first row.
    pub(super) fn top(&self) -> Option<usize> {
        self.heads.first().map(|head| head.lane)
    }

    /// The row that comes behind the one at the top, unless its own lane has one before it.
    pub(super) fn second<K: TableKey>(&self, lanes: &[Lane<K>]) -> Option<Head> {
        let second = if self.heads.len() > 2 && self.is_before(2, 1, lanes) { 2 } else { 1 };
        self.heads.get(second).copied()
    }

    pub(super) fn push<K: TableKey>(&mut self, head: Head, lanes: &[Lane<K>]) {
        self.heads.push(head);
        let mut at = self.heads.len() - 1;
        while at > 0 && self.is_before(at, (at - 1) / 2, lanes) {
            self.heads.swap(at, (at - 1) / 2);
            at = (at - 1) / 2;
        }
    }

    /// The lane at the top has gone on.
    pub(super) fn replace_top<K: TableKey>(&mut self, head: Head, lanes: &[Lane<K>]) {
        if let Some(top) = self.heads.first_mut() {
            *top = head;
        }
        self.sink(lanes);
    }

    /// The lane at the top has ended.
    pub(super) fn remove_top<K: TableKey>(&mut self, lanes: &[Lane<K>]) {
        if !self.heads.is_empty() {
            self.heads.swap_remove(0);
        }
        self.sink(lanes);
    }

    /// Moves the head at the top to where it belongs.
    fn sink<K: TableKey>(&mut self, lanes: &[Lane<K>]) {
        let mut at = 0;
        loop {
            let (left, right) = (2 * at + 1, 2 * at + 2);
            if left >= self.heads.len() {
                return;
            }
            let first =
                if right < self.heads.len() && self.is_before(right, left, lanes) { right } else { left };
            if !self.is_before(first, at, lanes) {
                return;
            }
            self.heads.swap(at, first);
            at = first;
        }
    }

    /// Whether one of two rows comes first.
    #[inline]
    fn is_before<K: TableKey>(&self, one: usize, other: usize, lanes: &[Lane<K>]) -> bool {
        let (one, other) = (&self.heads[one], &self.heads[other]);
        self.is_first((one, key(&lanes[one.lane])), (other, key(&lanes[other.lane])))
    }

    /// Whether the first of two rows, with their keys, comes first: by its logical key, then by its lane, so that equal
    /// ones keep an order.
    #[inline]
    pub(super) fn is_first(&self, (one, key): (&Head, &[u8]), (other, other_key): (&Head, &[u8])) -> bool {
        if one.prefix != other.prefix {
            return (one.prefix < other.prefix) != self.reversed;
        }
        let order = (&key[..one.front], &key[one.behind..], one.lane).cmp(&(
            &other_key[..other.front],
            &other_key[other.behind..],
            other.lane,
        ));
        order.is_lt() != self.reversed
    }
}
