//! Row keys and half-open ranges of them: what a scan asks a table for.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::data::hex;
use crate::key::{Hex, MAX_KEY_LEN, Readable};

/// A half-open range of row keys: from `start`, inclusive, to `end`, exclusive.
///
/// An empty `start` is the table's first row; no `end` is everything after `start`. Every cut that a
/// plan can make between two row keys has this one form, so inclusive ends and exclusive starts do
/// not occur.
///
/// ```
/// use keyderive::plan::KeyRange;
///
/// let range = KeyRange::prefix(b"alice#");
/// assert_eq!(range.start(), b"alice#");
/// assert_eq!(range.end(), Some(&b"alice$"[..]));
/// // The end of a prefix of greatest bytes is the end of the next shorter one, or of the table.
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
    /// A bound longer than the longest row key is moved to the same place between row keys.
    #[must_use]
    pub fn new(start: impl Into<Vec<u8>>, end: Option<Vec<u8>>) -> Self {
        match within_key_len(start.into()) {
            Some(start) => Self { start, end: end.and_then(within_key_len) },
            // It starts after all row keys.
            None => Self { start: vec![u8::MAX], end: Some(Vec::new()) },
        }
    }

    /// All row keys that begin with `prefix`.
    #[must_use]
    pub fn prefix(prefix: &[u8]) -> Self {
        Self::new(prefix, prefix_end(prefix))
    }

    /// The first key that can be in the range; empty for the start of the table.
    #[must_use]
    pub fn start(&self) -> &[u8] {
        &self.start
    }

    /// The first key after the range; none where it goes to the end of the table.
    #[must_use]
    pub fn end(&self) -> Option<&[u8]> {
        self.end.as_deref()
    }

    /// Whether no key is in the range.
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

/// Moves a bound that is longer than any row key to the same place between row keys.
///
/// Keys of at most 4096 bytes that come before such a bound are those up to its first 4096 bytes, so
/// the place is right after them. None is the end of the table.
fn within_key_len(mut bound: Vec<u8>) -> Option<Vec<u8>> {
    if bound.len() <= MAX_KEY_LEN {
        return Some(bound);
    }
    bound.truncate(MAX_KEY_LEN);
    prefix_end(&bound)
}

/// The first key after all those that begin with `prefix`; none at the end of the table.
///
/// The last byte that can be incremented is, and what follows it is dropped: `01 ff` gives `02`, and not
/// `02 00`, which a scan for `01 ff` would then return a row of.
#[must_use]
pub fn prefix_end(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|byte| *byte < u8::MAX)?;
    let mut end = prefix[..=last].to_vec();
    end[last] += 1;
    Some(end)
}

/// The range as text, such as `[a#, a$)`; the alternate form `{:#}` is in hexadecimal.
impl fmt::Display for KeyRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_hex = f.alternate();
        let bound =
            |bytes| fmt::from_fn(move |f| if is_hex { Hex(bytes).fmt(f) } else { Readable(bytes).fmt(f) });
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
