//! Places in bytes.

use std::fmt;

/// Where a part of some bytes is. They have less than 4 GiB, as messages and rows do.
///
/// It is one word: if its halves were written separately, a read of both would stall.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Span(u64);

impl Span {
    #[inline]
    pub(crate) fn new(start: u32, end: u32) -> Self {
        Self(u64::from(end) << 32 | u64::from(start))
    }

    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "it is the lower half")]
    pub(crate) fn start(self) -> u32 {
        self.0 as u32
    }

    #[inline]
    pub(crate) fn end(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// The part of `bytes` that it names; of other bytes, which it does not know, perhaps nothing.
    #[inline]
    pub(crate) fn of(self, bytes: &[u8]) -> &[u8] {
        bytes.get(self.start() as usize..self.end() as usize).unwrap_or_default()
    }

    /// Whether the part of `bytes` that it names is equal to the other's.
    #[inline]
    pub(crate) fn is_same_in(self, other: Self, bytes: &[u8]) -> bool {
        self == other || self.len() == other.len() && self.of(bytes) == other.of(bytes)
    }

    /// The part of `bytes` up to its end.
    #[inline]
    pub(crate) fn upto(self, bytes: &[u8]) -> &[u8] {
        bytes.get(..self.end() as usize).unwrap_or_default()
    }

    #[inline]
    pub(crate) fn len(self) -> usize {
        (self.end() - self.start()) as usize
    }

    #[inline]
    pub(crate) fn is_empty(self) -> bool {
        self.start() == self.end()
    }
}

/// Whether two names of columns or families are equal. Most are short, and are compared without a call: by their first
/// and last bytes, which are all.
#[doc(hidden)]
#[inline(always)]
#[must_use]
pub fn is_same_name(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len()
        && match one.len() {
            8..=16 => ends::<8>(one) == ends(other),
            4..8 => ends::<4>(one) == ends(other),
            2..4 => ends::<2>(one) == ends(other),
            _ => one == other,
        }
}

#[inline(always)]
fn ends<const N: usize>(bytes: &[u8]) -> Option<(&[u8; N], &[u8; N])> {
    bytes.first_chunk().zip(bytes.last_chunk())
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.start(), self.end())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_the_same_where_all_bytes_are() {
        let name: Vec<u8> = (0..40).collect();
        for len in 0..=name.len() {
            let one = &name[..len];
            let copy = one.to_vec();
            assert!(is_same_name(one, &copy) && (len == 0 || !is_same_name(one, &one[1..])));
            for at in 0..len {
                let mut other = one.to_vec();
                other[at] ^= 1;
                assert!(!is_same_name(one, &other), "{at} of {len}");
            }
        }
    }
}
