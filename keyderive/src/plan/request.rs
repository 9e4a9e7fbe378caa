//! What a plan requests of a table: row keys and half-open ranges of them, as plain data for any client.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::hex;
use crate::key::{Bucket, Hex, MAX_KEY_LEN, UnquotedKey};

/// One request of a plan: rows by their keys, and ranges of rows.
///
/// It has at least one key or range. Keys and ranges are ascending and do not overlap.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Request {
    bucket: Option<i32>,
    /// How many digits the bucket is padded to, since salts of other epochs can have the same number in more.
    bucket_digits: u8,
    #[serde(with = "hex::list")]
    keys: Vec<Vec<u8>>,
    ranges: Vec<KeyRange>,
}

impl Request {
    /// How many keys and ranges it has.
    pub(crate) fn row_items(&self) -> u64 {
        (self.keys.len() + self.ranges.len()) as u64
    }

    pub(super) fn new(bucket: Option<Bucket>) -> Self {
        let bucket_digits = bucket.map_or(0, Bucket::width);
        Self { bucket: bucket.map(Bucket::number), bucket_digits, keys: Vec::new(), ranges: Vec::new() }
    }

    /// The bucket as its keys have it.
    pub(crate) fn stored_bucket(&self) -> Option<Bucket> {
        self.bucket.map(|number| Bucket::padded(self.bucket_digits, number))
    }

    pub(super) fn push(&mut self, rows: RowSetItem) {
        match rows {
            RowSetItem::Key(key) => self.keys.push(key),
            RowSetItem::Range(range) => self.ranges.push(range),
        }
    }

    /// Puts keys and ranges in ascending order; `push` added them in the order of the scan.
    pub(super) fn ascending(mut self, reversed: bool) -> Self {
        if reversed {
            self.keys.reverse();
            self.ranges.reverse();
        }
        self
    }

    /// The bucket that is read; `None` if the key type has no salt, if the request reads the keys before the first bound of a
    /// salt from a date on, or if one request reads all buckets because a field left of the salt is not fixed.
    #[must_use]
    pub fn bucket(&self) -> Option<i32> {
        self.bucket
    }

    /// How many digits the bucket is padded to, since the salts [from a date on](crate::key::Epoch) can have the same number
    /// in more digits; 0 without a bucket, without padding and in the ordered layout.
    #[must_use]
    pub fn bucket_digits(&self) -> usize {
        self.bucket_digits.into()
    }

    /// The keys of rows to read one by one.
    #[must_use]
    pub fn keys(&self) -> &[Vec<u8>] {
        &self.keys
    }

    /// The ranges to read.
    #[must_use]
    pub fn ranges(&self) -> &[KeyRange] {
        &self.ranges
    }

    /// Whether the request reads the row with this key.
    #[must_use]
    pub fn asks_for(&self, key: &[u8]) -> bool {
        self.keys.iter().any(|item| item == key) || self.ranges.iter().any(|range| range.contains(key))
    }

    /// The keys and the ranges, without the bucket.
    #[must_use]
    pub fn into_rows(self) -> (Vec<Vec<u8>>, Vec<KeyRange>) {
        (self.keys, self.ranges)
    }
}

/// Counts the bytes of the keys and ranges of a request.
///
/// The service takes requests of 1 MB, but refuses row sets of 512 KiB (googleapis/google-cloud-go#1463).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RequestSize(usize);

impl RequestSize {
    /// Leaves room below the limit for a last range of two long keys, and for the names in the request.
    const FULL: usize = 500 << 10;

    /// What the message adds to a key or a bound.
    const OVERHEAD: usize = 8;

    pub(crate) fn add_key(&mut self, key: &[u8]) {
        self.0 += Self::OVERHEAD + key.len();
    }

    pub(crate) fn add_range(&mut self, range: &KeyRange) {
        self.0 += 2 * Self::OVERHEAD + range.start().len() + range.end().map_or(0, <[u8]>::len);
    }

    /// Whether the request must be sent before more is added.
    pub(crate) fn is_full(self) -> bool {
        self.0 >= Self::FULL
    }

    pub(super) fn bytes(self) -> usize {
        self.0
    }
}

/// A row or the rows of a range.
#[derive(Clone, Debug)]
pub(super) enum RowSetItem {
    Key(Vec<u8>),
    Range(KeyRange),
}

/// A half-open range of row keys: from `start`, inclusive, to `end`, exclusive.
///
/// An empty `start` is the start of the table, no `end` its end. Inclusive ends and exclusive starts do not occur, since
/// every range of row keys can be written in this form.
///
/// ```
/// use keyderive::plan::KeyRange;
///
/// let range = KeyRange::prefix(b"alice#");
/// assert_eq!(range.start(), b"alice#");
/// assert_eq!(range.end(), Some(&b"alice$"[..]));
/// // The last byte below `ff` is incremented; without one, the range goes to the end of the table.
/// assert_eq!(KeyRange::prefix(b"\x01\xff").end(), Some(&b"\x02"[..]));
/// assert_eq!(KeyRange::prefix(b"\xff").end(), None);
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct KeyRange {
    #[serde(with = "hex")]
    start: Vec<u8>,
    #[serde(with = "hex::option")]
    end: Option<Vec<u8>>,
}

impl KeyRange {
    /// The range from `start`, inclusive, to `end`, exclusive; to the end of the table without `end`.
    ///
    /// A bound that is longer than any row key is replaced by a shorter one between the same row keys.
    #[must_use]
    pub fn new(start: impl Into<Vec<u8>>, end: Option<Vec<u8>>) -> Self {
        match within_key_len(start.into()) {
            Some(start) => Self { start, end: end.and_then(within_key_len) },
            // The range starts after all row keys.
            None => Self { start: vec![u8::MAX], end: Some(Vec::new()) },
        }
    }

    /// All row keys that begin with `prefix`.
    #[must_use]
    pub fn prefix(prefix: &[u8]) -> Self {
        Self::new(prefix, prefix_end(prefix))
    }

    /// The start, inclusive; empty for the start of the table.
    #[must_use]
    pub fn start(&self) -> &[u8] {
        &self.start
    }

    /// The end, exclusive; `None` for the end of the table.
    #[must_use]
    pub fn end(&self) -> Option<&[u8]> {
        self.end.as_deref()
    }

    /// Whether the range holds no key.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.end.as_ref().is_some_and(|end| *end <= self.start)
    }

    /// The keys that are in both ranges.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        let end = match (&self.end, &other.end) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.as_ref().or(other.as_ref()),
        };
        Self { start: self.start.clone().max(other.start.clone()), end: end.cloned() }
    }

    /// Whether `key` is in the range.
    #[must_use]
    pub fn contains(&self, key: &[u8]) -> bool {
        self.start.as_slice() <= key && self.end.as_deref().is_none_or(|end| key < end)
    }
}

/// Shortens a bound that is longer than any row key; `None` is the end of the table.
///
/// A row key is below such a bound exactly if it is at or below the bound's first 4096 bytes, so the new bound comes
/// right after those.
fn within_key_len(mut bound: Vec<u8>) -> Option<Vec<u8>> {
    if bound.len() <= MAX_KEY_LEN {
        return Some(bound);
    }
    bound.truncate(MAX_KEY_LEN);
    prefix_end(&bound)
}

/// The first key after all keys that begin with `prefix`; `None` for the end of the table.
///
/// It increments the last byte below `ff` and drops the bytes after it: `01 ff` gives `02`. With `02 00`, a scan for `01 ff`
/// would return the row `02`.
#[must_use]
pub(crate) fn prefix_end(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|byte| *byte < u8::MAX)?;
    let mut end = prefix[..=last].to_vec();
    end[last] += 1;
    Some(end)
}

/// The range as text, such as `[a#, a$)`; with `{:#}` in hexadecimal.
impl fmt::Display for KeyRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_hex = f.alternate();
        let bound =
            |bytes| fmt::from_fn(move |f| if is_hex { Hex(bytes).fmt(f) } else { UnquotedKey(bytes).fmt(f) });
        match &*self.start {
            [] => f.write_str("[start of table, ")?,
            start => write!(f, "[{}, ", bound(start))?,
        }
        match &self.end {
            Some(end) => write!(f, "{})", bound(end)),
            None => f.write_str("end of table)"),
        }
    }
}

impl fmt::Debug for KeyRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}
