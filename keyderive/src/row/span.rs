//! Places in bytes.

use std::fmt;

/// Where a part of some bytes is. They have less than 4 GiB, as messages and rows do.
///
/// It is one word, so that it is written and read at once: halves that are written one after the other hold up whoever
/// reads them together.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Span(u64);

impl Span {
    #[inline]
    pub(crate) fn new(start: u32, end: u32) -> Self {
        Self(u64::from(end) << 32 | u64::from(start))
    }

    /// Of no bytes that there are.
    pub(crate) const NOWHERE: Self = Self(u64::MAX);

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

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.start(), self.end())
    }
}
