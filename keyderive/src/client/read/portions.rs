//! Requests that name more than the service takes at a time.

use bytes::Bytes;

use super::ReadRows;
use crate::plan::KeyRange;

/// How many bytes of keys and ranges are sent in one request: a little less than the 512 KiB that the service takes.
const PORTION_BYTES: usize = 500 * 1024;

/// About what a key or a bound takes on the wire beside its bytes.
const OVERHEAD: usize = 8;

/// A part of a request that is not parted further.
pub(super) enum Piece {
    Key(Bytes),
    Range(KeyRange),
}

impl Piece {
    fn start(&self) -> &[u8] {
        match self {
            Self::Key(key) => key,
            Self::Range(range) => range.start(),
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Key(key) => OVERHEAD + key.len(),
            Self::Range(range) => 2 * OVERHEAD + range.start().len() + range.end().map_or(0, <[u8]>::len),
        }
    }
}

impl ReadRows {
    /// The request in the portions in which it is sent: the first one, and the others, the next one at the end. Their
    /// rows come one portion after the other, each once.
    pub(super) fn into_portions(self) -> (Self, Vec<Self>) {
        let keys: usize = self.keys.iter().map(|key| OVERHEAD + key.len()).sum();
        let ranges: usize = self.ranges.iter().map(|range| Piece::Range(range.clone()).bytes()).sum();
        if keys + ranges <= PORTION_BYTES {
            return (self, Vec::new());
        }
        let Self { keys, ranges, limit, filter, reversed, bucket, high_fan_out } = self;
        let mut pieces = in_order(keys, ranges);
        if reversed {
            pieces.reverse();
        }
        let portion = || Self {
            keys: Vec::new(),
            ranges: Vec::new(),
            limit,
            filter: filter.clone(),
            reversed,
            bucket,
            high_fan_out,
        };
        let mut portions = Vec::new();
        let (mut last, mut bytes) = (portion(), 0);
        for piece in pieces {
            if bytes > 0 && bytes + piece.bytes() > PORTION_BYTES {
                portions.push(std::mem::replace(&mut last, portion()));
                bytes = 0;
            }
            bytes += piece.bytes();
            match piece {
                Piece::Key(key) => last.keys.push(key),
                Piece::Range(range) => last.ranges.push(range),
            }
        }
        portions.push(last);
        portions.reverse();
        let first = portions.pop().unwrap_or_else(portion);
        (first, portions)
    }
}

/// The keys and ranges in the order of the table, without those that are in another range.
pub(super) fn in_order(keys: Vec<Bytes>, mut ranges: Vec<KeyRange>) -> Vec<Piece> {
    ranges.retain(|range| !range.is_empty());
    ranges.sort_unstable_by(|one, other| one.start().cmp(other.start()));
    let mut apart: Vec<KeyRange> = Vec::new();
    for range in ranges {
        match apart.last_mut() {
            Some(last) if last.end().is_none_or(|end| range.start() <= end) => *last = joined(last, &range),
            _ => apart.push(range),
        }
    }
    let mut keys: Vec<Bytes> =
        keys.into_iter().filter(|key| !key.is_empty() && !is_in(&apart, key)).collect();
    keys.sort_unstable();
    keys.dedup();
    let keys = keys.into_iter().map(Piece::Key);
    let mut pieces: Vec<Piece> = keys.chain(apart.into_iter().map(Piece::Range)).collect();
    pieces.sort_by(|one, other| one.start().cmp(other.start()));
    pieces
}

/// Two ranges of which the second begins in the first, or right after it.
fn joined(one: &KeyRange, other: &KeyRange) -> KeyRange {
    let end = one.end().zip(other.end()).map(|(one, other)| one.max(other).to_vec());
    KeyRange::new(one.start(), end)
}

/// Whether a key is in one of these ranges, which are in order.
fn is_in(ranges: &[KeyRange], key: &[u8]) -> bool {
    let after = ranges.partition_point(|range| range.start() <= key);
    after.checked_sub(1).and_then(|last| ranges.get(last)).is_some_and(|range| range.contains(key))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(start: &str, end: &str) -> KeyRange {
        KeyRange::new(start, Some(end.into()))
    }

    fn shown(pieces: &[Piece]) -> Vec<String> {
        let shown = |piece: &Piece| match piece {
            Piece::Key(key) => key.escape_ascii().to_string(),
            Piece::Range(range) => range.to_string(),
        };
        pieces.iter().map(shown).collect()
    }

    #[test]
    fn pieces_are_apart_and_in_order() {
        let keys = ["x", "b", "m", "", "x", "c", "a"].map(Bytes::from);
        let ranges = [range("p", "r"), range("b", "c"), range("z", "a"), range("q", "s"), range("s", "t")];
        let pieces = in_order(keys.into(), ranges.into());
        assert_eq!(shown(&pieces), ["a", "[b, c)", "c", "m", "[p, t)", "x"]);
        let whole =
            in_order(vec!["a".into()], vec![range("b", "c"), KeyRange::new("", None), range("d", "e")]);
        assert_eq!(shown(&whole), ["[start of table, end of table)"]);
    }

    #[test]
    fn a_request_that_fits_is_sent_as_it_is() {
        let request = ReadRows::new().key("b").key("a").key("a").range(range("a", "c"));
        let (first, others) = request.into_portions();
        assert_eq!((first.keys.len(), first.ranges.len(), others.len()), (3, 1, 0));
    }

    #[test]
    fn portions_are_read_one_after_the_other() {
        let keys: Vec<Bytes> = (0..3000).map(|row| format!("{row:0>500}").into()).collect();
        for reversed in [false, true] {
            let mut request =
                ReadRows { keys: keys.clone(), limit: Some(7), reversed, ..ReadRows::default() };
            request.keys.reverse();
            let (first, mut others) = request.into_portions();
            let mut all = vec![first];
            all.extend(std::iter::from_fn(|| others.pop()));
            assert_eq!(all.len(), 3);
            assert!(all.iter().all(|portion| portion.limit == Some(7) && portion.reversed == reversed));
            let mut read: Vec<Bytes> = all.into_iter().flat_map(|portion| portion.keys).collect();
            if reversed {
                read.reverse();
            }
            assert_eq!(read, keys);
        }
    }
}
