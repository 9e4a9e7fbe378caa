//! A row as the table stores it: cells under families and qualifiers.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;

/// A row as it is stored: its key and the cells that were read.
///
/// Cells come in the table's order: by family, then by qualifier, then newest first.
#[derive(Clone, PartialEq, Eq)]
pub struct Row {
    key: Bytes,
    cells: Vec<Cell>,
}

impl Row {
    pub(crate) fn new(key: Bytes, cells: Vec<Cell>) -> Self {
        Self { key, cells }
    }

    /// The row key, as stored.
    #[must_use]
    pub fn key(&self) -> &Bytes {
        &self.key
    }

    /// The cells that were read, in the table's order.
    #[must_use]
    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// The cells of one column that were read, the newest first.
    pub fn versions(&self, family: &str, qualifier: impl AsRef<[u8]>) -> impl Iterator<Item = &Cell> {
        self.cells.iter().filter(move |cell| cell.family() == family && cell.qualifier == qualifier.as_ref())
    }

    /// The newest cell of one column that was read.
    #[must_use]
    pub fn newest(&self, family: &str, qualifier: impl AsRef<[u8]>) -> Option<&Cell> {
        self.versions(family, qualifier).next()
    }
}

impl Row {
    /// About how much memory it takes.
    pub(crate) fn bytes(&self) -> usize {
        let cell = |cell: &Cell| size_of::<Cell>() + cell.qualifier.len() + cell.value.len();
        size_of::<Self>() + self.key.len() + self.cells.iter().map(cell).sum::<usize>()
    }
}

impl fmt::Debug for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Row").field("key", &self.key).field("cells", &self.cells).finish()
    }
}

/// One version of one column's value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    pub(crate) family: Arc<str>,
    pub(crate) qualifier: Bytes,
    pub(crate) timestamp_micros: i64,
    pub(crate) value: Bytes,
    pub(crate) labels: Vec<String>,
}

impl Cell {
    /// The column family's name.
    #[must_use]
    pub fn family(&self) -> &str {
        &self.family
    }

    /// The column qualifier; it may be empty.
    #[must_use]
    pub fn qualifier(&self) -> &Bytes {
        &self.qualifier
    }

    /// The version's timestamp in microseconds since the epoch. Bigtable stores whole milliseconds.
    #[must_use]
    pub fn timestamp_micros(&self) -> i64 {
        self.timestamp_micros
    }

    /// The value's bytes.
    #[must_use]
    pub fn value(&self) -> &Bytes {
        &self.value
    }

    /// The labels that a filter put on the cell.
    #[must_use]
    pub fn labels(&self) -> &[String] {
        &self.labels
    }
}
