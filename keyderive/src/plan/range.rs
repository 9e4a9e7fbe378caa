//! What a scan asks for: row keys and half-open ranges of them.

/// A half-open range of row keys: from `start`, inclusive, to `end`, exclusive.
///
/// An empty `start` is the table's first row; no `end` is everything after `start`. Every cut that a
/// plan can make between two row keys has this one form, so inclusive ends and exclusive starts do
/// not occur.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct KeyRange {
    start: Vec<u8>,
    end: Option<Vec<u8>>,
}

impl KeyRange {
    /// The range from `start`, inclusive, to `end`, exclusive; to the end of the table without `end`.
    pub fn new(start: impl Into<Vec<u8>>, end: Option<Vec<u8>>) -> Self {
        Self { start: start.into(), end }
    }

    /// The first key that can be in the range; empty for the start of the table.
    pub fn start(&self) -> &[u8] {
        &self.start
    }

    /// The first key after the range; none where it goes to the end of the table.
    pub fn end(&self) -> Option<&[u8]> {
        self.end.as_deref()
    }
}
