//! Intervals of row keys, and those that a request names.

use bytes::Bytes;
use tonic::Status;

use keyderive_proto::data::row_range::{EndKey, StartKey};
use keyderive_proto::data::{RowRange, RowSet};

/// The row keys from `start`, inclusive, to `end`, exclusive. Without an `end`, all keys from `start` on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interval {
    /// The first key; an empty one is before all others.
    pub start: Bytes,
    /// The first key after all of them, or `None` if they have no upper bound.
    pub end: Option<Bytes>,
}

impl Interval {
    /// Every row key.
    #[must_use]
    pub fn all() -> Self {
        Self { start: Bytes::new(), end: None }
    }

    /// The row keys that begin with `prefix`.
    #[must_use]
    pub fn prefix(prefix: &Bytes) -> Self {
        Self { start: prefix.clone(), end: prefix_end(prefix) }
    }

    /// One row key.
    #[must_use]
    pub fn point(key: &Bytes) -> Self {
        Self { start: key.clone(), end: Some(successor(key)) }
    }

    /// Whether a row key can be in both.
    pub(super) fn overlaps(&self, other: &Self) -> bool {
        let begins_in = |one: &Self, other: &Self| other.end.as_ref().is_none_or(|end| one.start < *end);
        begins_in(self, other) && begins_in(other, self)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.end.as_ref().is_some_and(|end| *end <= self.start)
    }

    /// Removes `key` and the keys that a scan in this direction visits before it.
    pub(super) fn advance_past(&mut self, key: &Bytes, reversed: bool) {
        if reversed {
            self.end = Some(key.clone());
        } else {
            self.start = successor(key);
        }
    }
}

/// The first key after all that begin with `prefix`, if there is one.
fn prefix_end(prefix: &[u8]) -> Option<Bytes> {
    let (last, start) = prefix[..=prefix.iter().rposition(|byte| *byte < u8::MAX)?].split_last()?;
    Some([start, &[last + 1]].concat().into())
}

/// The intervals of a request, disjoint and in order, so that a row named twice is read once. A request without keys
/// and ranges means the whole table.
pub(super) fn from_row_set(rows: Option<RowSet>) -> Result<Vec<Interval>, Status> {
    let rows = rows.unwrap_or_default();
    if rows.row_keys.is_empty() && rows.row_ranges.is_empty() {
        return Ok(vec![Interval::all()]);
    }
    let mut intervals = Vec::with_capacity(rows.row_keys.len() + rows.row_ranges.len());
    intervals.extend(rows.row_keys.iter().map(Interval::point));
    for (place, range) in rows.row_ranges.into_iter().enumerate() {
        intervals.push(interval(place, range)?);
    }
    Ok(union(intervals))
}

/// An empty bound counts as absent. A range that holds no key is an error, also between a key and its successor.
fn interval(place: usize, range: RowRange) -> Result<Interval, Status> {
    let (first, start) = match range.start_key {
        None => (Bytes::new(), Bytes::new()),
        Some(StartKey::StartKeyClosed(key)) => (key.clone(), key),
        Some(StartKey::StartKeyOpen(key)) => (key.clone(), successor(&key)),
    };
    let (last, end) = match range.end_key {
        Some(EndKey::EndKeyOpen(key)) if !key.is_empty() => (Some(key.clone()), Some(key)),
        Some(EndKey::EndKeyClosed(key)) if !key.is_empty() => (Some(key.clone()), Some(successor(&key))),
        _ => (None, None),
    };
    match last {
        Some(last) if first > last => Err(Status::invalid_argument(format!(
            "row range {place} starts at {first:?}, after its end {last:?}"
        ))),
        Some(last) if end.as_ref().is_some_and(|end| start >= *end) => {
            Err(Status::invalid_argument(format!(
                "row range {place} holds no key: it starts at {first:?} and ends at {last:?}; leave it out"
            )))
        }
        _ => Ok(Interval { start, end }),
    }
}

/// These intervals as disjoint ones, in order.
pub(super) fn union(mut intervals: Vec<Interval>) -> Vec<Interval> {
    intervals.retain(|interval| !interval.is_empty());
    intervals.sort_unstable_by(|left, right| left.start.cmp(&right.start));
    let mut merged: Vec<Interval> = Vec::with_capacity(intervals.len());
    for interval in intervals {
        match merged.last_mut() {
            Some(last) if last.end.as_ref().is_none_or(|end| interval.start <= *end) => {
                last.end = match (last.end.take(), interval.end) {
                    (Some(left), Some(right)) => Some(left.max(right)),
                    _ => None,
                };
            }
            _ => merged.push(interval),
        }
    }
    merged
}

/// The first key after `key`.
fn successor(key: &Bytes) -> Bytes {
    let mut next = Vec::with_capacity(key.len() + 1);
    next.extend_from_slice(key);
    next.push(0);
    next.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn closed_open(start: &'static str, end: &'static str) -> RowRange {
        RowRange {
            start_key: Some(StartKey::StartKeyClosed(start.into())),
            end_key: Some(EndKey::EndKeyOpen(end.into())),
        }
    }

    fn intervals(keys: &[&'static str], ranges: &[RowRange]) -> Vec<(Bytes, Option<Bytes>)> {
        let row_keys = keys.iter().map(|key| Bytes::from_static(key.as_bytes())).collect();
        let intervals = from_row_set(Some(RowSet { row_keys, row_ranges: ranges.to_vec() })).unwrap();
        intervals.into_iter().map(|interval| (interval.start, interval.end)).collect()
    }

    #[test]
    fn an_empty_row_set_is_the_whole_table() {
        let whole = [Interval { start: Bytes::new(), end: None }];
        assert_eq!(from_row_set(None).unwrap(), whole);
        assert_eq!(from_row_set(Some(RowSet::default())).unwrap(), whole);
        assert_eq!(intervals(&[], &[RowRange::default()]), [(Bytes::new(), None)]);
        assert_eq!(intervals(&["x"], &[closed_open("", "")]), [(Bytes::new(), None)]);
    }

    #[test]
    fn a_row_named_twice_is_read_once() {
        let named = intervals(&["b", "a", "b"], &[closed_open("c", "f"), closed_open("d", "e")]);
        assert_eq!(
            named,
            [
                ("a".into(), Some("a\0".into())),
                ("b".into(), Some("b\0".into())),
                ("c".into(), Some("f".into())),
            ]
        );
        assert_eq!(intervals(&["c"], &[closed_open("a", "d")]), [("a".into(), Some("d".into()))]);
        let open = RowRange { start_key: Some(StartKey::StartKeyOpen("a".into())), end_key: None };
        assert_eq!(intervals(&["a"], &[open, closed_open("c", "d")]), [("a".into(), None)]);
    }

    #[test]
    fn bounds_may_be_open_or_closed() {
        let range = RowRange {
            start_key: Some(StartKey::StartKeyOpen("a".into())),
            end_key: Some(EndKey::EndKeyClosed("b".into())),
        };
        assert_eq!(intervals(&[], &[range]), [("a\0".into(), Some("b\0".into()))]);
    }

    #[test]
    fn a_range_holds_a_key() {
        let closed = |key: &'static str| Some(StartKey::StartKeyClosed(key.into()));
        let open = |key: &'static str| Some(StartKey::StartKeyOpen(key.into()));
        let before = |key: &'static str| Some(EndKey::EndKeyOpen(key.into()));
        let until = |key: &'static str| Some(EndKey::EndKeyClosed(key.into()));
        let none = |first, last| {
            format!(
                "row range 0 holds no key: it starts at b\"{first}\" and ends at b\"{last}\"; leave it out"
            )
        };
        for (start_key, end_key, text) in [
            (closed("b"), before("a"), "row range 0 starts at b\"b\", after its end b\"a\"".to_owned()),
            (closed("a"), before("a"), none("a", "a")),
            (open("a"), before("a"), none("a", "a")),
            (open("a"), until("a"), none("a", "a")),
            (open("a"), before("a\0"), none("a", "a\\0")),
        ] {
            let range = RowRange { start_key, end_key };
            let status =
                from_row_set(Some(RowSet { row_keys: Vec::new(), row_ranges: vec![range] })).unwrap_err();
            assert_eq!((status.code(), status.message()), (tonic::Code::InvalidArgument, &*text));
        }
        for (start_key, end_key) in
            [(closed("a"), until("a")), (closed("a"), before("a\0")), (open("a"), until("a\0"))]
        {
            assert_eq!(intervals(&[], &[RowRange { start_key, end_key }]).len(), 1);
        }
    }
}
