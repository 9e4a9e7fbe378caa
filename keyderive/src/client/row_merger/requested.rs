//! The rows that a request asks for, which its answer is checked against.

use bytes::Bytes;

use crate::plan::KeyRange;

/// The keys and ranges of a request that its answer has not passed yet: a server's row must be in one of them.
///
/// Rows come strictly in order, so a row in the same range as the one before needs one comparison.
pub(in crate::client) struct RequestedRows {
    reversed: bool,
    /// The keys and ranges left, the current one last.
    left: Vec<KeyOrRange>,
    /// Whether the current one is a range, and the last row was in it.
    is_in_range: bool,
}

impl RequestedRows {
    pub(in crate::client) fn new(keys: &[Bytes], ranges: &[KeyRange], reversed: bool) -> Self {
        let mut left = match (keys, ranges) {
            ([key], []) => vec![KeyOrRange::Key(key.clone())],
            ([], [range]) => vec![KeyOrRange::Range(range.clone())],
            _ => in_key_order(keys.to_vec(), ranges.to_vec()),
        };
        if !reversed {
            left.reverse();
        }
        Self { reversed, left, is_in_range: false }
    }

    /// One row.
    pub(in crate::client) fn key(key: Bytes) -> Self {
        Self { reversed: false, left: vec![KeyOrRange::Key(key)], is_in_range: false }
    }

    /// All rows of a table.
    #[cfg(test)]
    pub(in crate::client) fn all(reversed: bool) -> Self {
        Self::new(&[], &[KeyRange::new("", None)], reversed)
    }

    pub(super) fn is_reversed(&self) -> bool {
        self.reversed
    }

    /// Moves on to a row with this key; returns whether the request asked for it. Idempotent for the same key.
    #[inline]
    pub(super) fn advance_to(&mut self, key: &[u8]) -> bool {
        let is_in_range = self.is_in_range
            && match self.left.last() {
                Some(KeyOrRange::Range(range)) if self.reversed => range.start() <= key,
                Some(KeyOrRange::Range(range)) => range.end().is_none_or(|end| key < end),
                _ => false,
            };
        is_in_range || self.skip_to(key)
    }

    /// Removes what lies before a key; returns whether the key is in what follows.
    fn skip_to(&mut self, key: &[u8]) -> bool {
        while let Some(rows) = self.left.last() {
            let (is_in, is_before) = match rows {
                KeyOrRange::Key(one) if self.reversed => (one == key, &one[..] > key),
                KeyOrRange::Key(one) => (one == key, &one[..] < key),
                KeyOrRange::Range(range) if self.reversed => (range.contains(key), range.start() > key),
                KeyOrRange::Range(range) => (range.contains(key), range.end().is_some_and(|end| end <= key)),
            };
            if !is_before {
                self.is_in_range = is_in && matches!(rows, KeyOrRange::Range(_));
                return is_in;
            }
            self.left.pop();
        }
        false
    }
}

/// A row by its key, or the rows of a range.
pub(in crate::client) enum KeyOrRange {
    Key(Bytes),
    Range(KeyRange),
}

impl KeyOrRange {
    fn start(&self) -> &[u8] {
        match self {
            Self::Key(key) => key,
            Self::Range(range) => range.start(),
        }
    }
}

/// Sorts keys and ranges and merges those that overlap.
pub(in crate::client) fn in_key_order(mut keys: Vec<Bytes>, mut ranges: Vec<KeyRange>) -> Vec<KeyOrRange> {
    ranges.retain(|range| !range.is_empty());
    ranges.sort_unstable_by(|one, other| one.start().cmp(other.start()));
    let mut disjoint: Vec<KeyRange> = Vec::new();
    for range in ranges {
        match disjoint.last_mut() {
            Some(last) if last.end().is_none_or(|end| range.start() <= end) => *last = union(last, &range),
            _ => disjoint.push(range),
        }
    }
    keys.retain(|key| !key.is_empty() && !is_in_one_of(&disjoint, key));
    keys.sort_unstable();
    keys.dedup();
    let mut rows: Vec<KeyOrRange> =
        keys.into_iter().map(KeyOrRange::Key).chain(disjoint.into_iter().map(KeyOrRange::Range)).collect();
    rows.sort_by(|one, other| one.start().cmp(other.start()));
    rows
}

/// The union of two ranges; `other` begins within `one`, or right after it.
fn union(one: &KeyRange, other: &KeyRange) -> KeyRange {
    let end = one.end().zip(other.end()).map(|(one, other)| one.max(other).to_vec());
    KeyRange::new(one.start(), end)
}

/// Whether a key is in one of these sorted, disjoint ranges.
fn is_in_one_of(ranges: &[KeyRange], key: &[u8]) -> bool {
    let after = ranges.partition_point(|range| range.start() <= key);
    after.checked_sub(1).and_then(|last| ranges.get(last)).is_some_and(|range| range.contains(key))
}
