//! A page of a scan's rows.

/// Some rows of a scan, and the way to those after them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Page<T> {
    /// The rows, in the order of the scan.
    pub rows: Vec<T>,
    /// The token of the next page, for [`Scan::after`](super::Scan::after); none at the end.
    pub next: Option<String>,
}
