//! The ranges of filters; none is empty.

use std::fmt;
use std::ops::{Bound, RangeBounds};

use bytes::Bytes;

use crate::key::Readable;

/// A millisecond in microseconds: the unit of timestamps of most tables.
const MILLISECOND: i64 = 1000;

/// Byte strings between two bounds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ByteRange {
    pub(crate) start: Bound<Bytes>,
    pub(crate) end: Bound<Bytes>,
}

impl ByteRange {
    /// The range, if it holds anything.
    pub(super) fn new<B: AsRef<[u8]>>(range: &impl RangeBounds<B>) -> Option<Self> {
        let owned = |bound: &B| Bytes::copy_from_slice(bound.as_ref());
        let start = match range.start_bound().map(owned) {
            Bound::Included(start) if start.is_empty() => Bound::Unbounded,
            start => start,
        };
        // An empty bound could be taken for none; the byte string after the empty one cannot.
        let end = match range.end_bound().map(owned) {
            Bound::Included(end) if end.is_empty() => Bound::Excluded(Bytes::from_static(b"\0")),
            end => end,
        };
        let range = Self { start, end };
        Some(range).filter(|range| !range.is_empty())
    }

    fn is_empty(&self) -> bool {
        match (&self.start, &self.end) {
            (_, Bound::Unbounded) => false,
            (Bound::Unbounded, Bound::Included(_)) => false,
            (Bound::Unbounded, Bound::Excluded(end)) => end.is_empty(),
            (Bound::Included(start), Bound::Included(end)) => start > end,
            (Bound::Included(start), Bound::Excluded(end)) => start >= end,
            (Bound::Excluded(start), Bound::Included(end)) => start >= end,
            // Nothing is between a byte string and the one that is longer by a zero.
            (Bound::Excluded(start), Bound::Excluded(end)) => {
                start >= end || end.strip_prefix(&start[..]) == Some(b"\0")
            }
        }
    }
}

/// As mathematics writes it, such as ``[`a`, `b`)``.
impl fmt::Display for ByteRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.start {
            Bound::Included(start) => write!(f, "[`{}`, ", Readable(start))?,
            Bound::Excluded(start) => write!(f, "(`{}`, ", Readable(start))?,
            Bound::Unbounded => f.write_str("[``, ")?,
        }
        match &self.end {
            Bound::Included(end) => write!(f, "`{}`]", Readable(end)),
            Bound::Excluded(end) => write!(f, "`{}`)", Readable(end)),
            Bound::Unbounded => f.write_str("end)"),
        }
    }
}

/// Timestamps from `start`, inclusive, to `end`, exclusive, in microseconds since the epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TimeRange {
    pub(crate) start: i64,
    pub(crate) end: Option<i64>,
}

impl TimeRange {
    /// The range, if a cell can have a timestamp in it: one that is not before the epoch.
    pub(in crate::row) fn new(range: &impl RangeBounds<i64>) -> Option<Self> {
        let start = match range.start_bound() {
            Bound::Unbounded => 0,
            Bound::Included(&start) => start.max(0),
            Bound::Excluded(&start) => start.checked_add(1)?.max(0),
        };
        let end = match range.end_bound() {
            Bound::Unbounded => None,
            Bound::Included(&end) => end.checked_add(1),
            Bound::Excluded(&end) => Some(end),
        };
        Self { start, end }.unless_empty()
    }

    /// Whether tables of milliseconds and of microseconds both take it, with the same meaning.
    pub(crate) fn is_in_millis(self) -> bool {
        [self.start, self.end.unwrap_or_default()].iter().all(|bound| bound % MILLISECOND == 0)
    }

    /// The range with bounds of whole milliseconds that holds the same whole milliseconds, if there are any.
    pub(crate) fn in_millis(self) -> Option<Self> {
        Self { start: whole(self.start)?, end: self.end.and_then(whole) }.unless_empty()
    }

    fn unless_empty(self) -> Option<Self> {
        Some(self).filter(|range| range.end.is_none_or(|end| range.start < end))
    }
}

/// The first whole millisecond at or after `micros`, which is not negative; none where an `i64` has none.
fn whole(micros: i64) -> Option<i64> {
    match micros % MILLISECOND {
        0 => Some(micros),
        rest => micros.checked_add(MILLISECOND - rest),
    }
}
