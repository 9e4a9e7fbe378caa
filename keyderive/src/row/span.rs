//! Places in bytes.

/// Where a part of some bytes is. They have less than 4 GiB, as messages and rows do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) start: u32,
    pub(crate) end: u32,
}

impl Span {
    /// The part of `bytes` that it names; of other bytes, which it does not know, perhaps nothing.
    #[inline]
    pub(crate) fn of(self, bytes: &[u8]) -> &[u8] {
        bytes.get(self.start as usize..self.end as usize).unwrap_or_default()
    }

    /// The part of `bytes` up to its end.
    #[inline]
    pub(crate) fn upto(self, bytes: &[u8]) -> &[u8] {
        bytes.get(..self.end as usize).unwrap_or_default()
    }

    #[inline]
    pub(crate) fn len(self) -> usize {
        (self.end - self.start) as usize
    }
}
