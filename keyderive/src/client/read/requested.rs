//! Which rows an answer may have: those that were asked for.

use super::ReadRows;
use super::portions::{Piece, in_order};

/// The keys and ranges of a request that its answer has not passed yet.
///
/// Rows come strictly in order, so a row in the same range as the one before is compared with one bound only.
pub(in crate::client) struct RequestedRows {
    reversed: bool,
    /// What is left, with the current piece last.
    pieces: Vec<Piece>,
    /// Whether the last row was in the current piece, which is a range.
    is_in_range: bool,
}

impl RequestedRows {
    pub(super) fn new(request: &ReadRows) -> Self {
        let ReadRows { keys, ranges, reversed, .. } = request;
        let mut pieces = match (&keys[..], &ranges[..]) {
            ([key], []) => vec![Piece::Key(key.clone())],
            ([], [range]) => vec![Piece::Range(range.clone())],
            _ => in_order(keys.clone(), ranges.clone()),
        };
        if !reversed {
            pieces.reverse();
        }
        Self { reversed: *reversed, pieces, is_in_range: false }
    }

    /// Those of the whole table.
    #[cfg(test)]
    pub(in crate::client) fn all(reversed: bool) -> Self {
        Self::new(&ReadRows { reversed, ..ReadRows::all() })
    }

    pub(in crate::client) fn is_reversed(&self) -> bool {
        self.reversed
    }

    /// Whether a row with this key may come next. It may be asked again for the same key.
    #[inline]
    pub(in crate::client) fn may_come(&mut self, key: &[u8]) -> bool {
        let is_in_range = self.is_in_range
            && match self.pieces.last() {
                Some(Piece::Range(range)) if self.reversed => range.start() <= key,
                Some(Piece::Range(range)) => range.end().is_none_or(|end| key < end),
                _ => false,
            };
        is_in_range || self.pass_to(key)
    }

    /// Passes what is before a key; whether the key is in what comes then.
    fn pass_to(&mut self, key: &[u8]) -> bool {
        while let Some(piece) = self.pieces.last() {
            let (is_in, is_before) = match piece {
                Piece::Key(one) if self.reversed => (one == key, &one[..] > key),
                Piece::Key(one) => (one == key, &one[..] < key),
                Piece::Range(range) if self.reversed => (range.contains(key), range.start() > key),
                Piece::Range(range) => (range.contains(key), range.end().is_some_and(|end| end <= key)),
            };
            if !is_before {
                self.is_in_range = is_in && matches!(piece, Piece::Range(_));
                return is_in;
            }
            self.pieces.pop();
        }
        false
    }
}
