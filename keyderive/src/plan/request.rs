//! What a plan asks a table for, as plain data for any client.

use serde::{Deserialize, Serialize};

use super::data::hex;
use super::range::KeyRange;

/// What a plan asks a table for in one request: rows by their keys, and rows of ranges.
///
/// Never without either: where nothing is asked for, there is no request. Keys and ranges are ascending and lie apart.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Request {
    bucket: Option<i32>,
    #[serde(with = "hex::list")]
    keys: Vec<Vec<u8>>,
    ranges: Vec<KeyRange>,
}

impl Request {
    pub(super) fn new(bucket: Option<i32>) -> Self {
        Self { bucket, keys: Vec::new(), ranges: Vec::new() }
    }

    pub(super) fn push(&mut self, rows: Asked) {
        match rows {
            Asked::Key(key) => self.keys.push(key),
            Asked::Range(range) => self.ranges.push(range),
        }
    }

    /// The request with its keys and ranges ascending, where they were pushed in the order of the scan.
    pub(super) fn ascending(mut self, reversed: bool) -> Self {
        if reversed {
            self.keys.reverse();
            self.ranges.reverse();
        }
        self
    }

    /// The bucket that is read; none for a key type without a salt, and where one request reads them all,
    /// since a field left of the salt is not fixed.
    #[must_use]
    pub fn bucket(&self) -> Option<i32> {
        self.bucket
    }

    /// The rows that are asked for by their keys: point reads, never ranges.
    #[must_use]
    pub fn keys(&self) -> &[Vec<u8>] {
        &self.keys
    }

    /// The ranges that are read.
    #[must_use]
    pub fn ranges(&self) -> &[KeyRange] {
        &self.ranges
    }

    /// Whether the row with this key is asked for.
    #[must_use]
    pub fn asks_for(&self, key: &[u8]) -> bool {
        self.keys.iter().any(|asked| asked == key) || self.ranges.iter().any(|range| range.contains(key))
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
    /// Below the limit by more than a last range of two long keys, and the names.
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
pub(super) enum Asked {
    Key(Vec<u8>),
    Range(KeyRange),
}
