//! What the server leaves out of the rows it sends.

/// A filter that the server applies to each row before it sends it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RowFilter {
    /// Only the newest `n` versions of each column.
    LatestPerColumn(u32),
}

impl RowFilter {
    pub(crate) fn keys() -> Self {
        Self::LatestPerColumn(1)
    }
}
