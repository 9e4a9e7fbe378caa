//! A cell by itself, as it is kept and filtered.

use std::sync::Arc;

use bytes::Bytes;

/// One version of one column's value, with what a filter put on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cell {
    pub(super) family: Arc<str>,
    pub(super) qualifier: Bytes,
    pub(super) timestamp_micros: i64,
    pub(super) value: Bytes,
    pub(super) labels: Vec<String>,
}

/// A cell where it lies among those of its row.
#[derive(Clone, Copy, Debug)]
pub(super) struct CellRef<'a> {
    pub(super) family: &'a str,
    pub(super) qualifier: &'a [u8],
    pub(super) timestamp_micros: i64,
    pub(super) value: &'a [u8],
    /// Whether the family is another one than that of the cell before.
    pub(super) new_family: bool,
    /// Whether the family or the qualifier is.
    pub(super) new_column: bool,
}
