//! A row as the table stores it: cells under families and qualifiers.

use std::fmt;
use std::slice;

use bytes::Bytes;

use super::span::Span;

/// A row as it is stored: its key and the cells that were read.
///
/// Cells come in the table's order: by family, then by qualifier, then newest first.
///
/// A row that is kept keeps the message of some hundred KiB that brought it, with the rows beside it; what is to be
/// kept of few rows for long is better copied out of them.
#[derive(Clone, Default)]
pub struct Row {
    /// What all spans are of.
    pub(crate) bytes: Bytes,
    pub(crate) key: Span,
    pub(crate) cells: Vec<CellSpans>,
    /// With the number of the cell that has it.
    pub(crate) labels: Vec<(usize, Span)>,
}

/// Where the parts of a cell are.
#[derive(Clone, Copy)]
pub(crate) struct CellSpans {
    pub(crate) family: Span,
    pub(crate) qualifier: Span,
    pub(crate) value: Span,
    pub(crate) timestamp_micros: i64,
}

impl Row {
    /// The row key, as stored.
    #[inline]
    #[must_use]
    pub fn key(&self) -> &[u8] {
        self.key.of(&self.bytes)
    }

    /// The cells that were read, in the table's order.
    #[inline]
    #[must_use]
    pub fn cells(&self) -> Cells<'_> {
        Cells { row: self, spans: self.cells.iter(), first: 0 }
    }

    /// About how much memory it takes.
    pub(crate) fn size(&self) -> usize {
        let cell = |cell: &CellSpans| size_of::<CellSpans>() + cell.qualifier.len() + cell.value.len();
        size_of::<Self>() + self.key.len() + self.cells.iter().map(cell).sum::<usize>()
    }
}

impl PartialEq for Row {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key() && self.cells().eq(other.cells())
    }
}

impl Eq for Row {}

impl fmt::Debug for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Row").field("key", &Shown(self.key())).field("cells", &self.cells()).finish()
    }
}

/// The cells of a row: [`Row::cells`].
#[derive(Clone)]
pub struct Cells<'a> {
    row: &'a Row,
    spans: slice::Iter<'a, CellSpans>,
    /// The number of the next cell from the front.
    first: usize,
}

impl<'a> Iterator for Cells<'a> {
    type Item = Cell<'a>;

    #[inline]
    fn next(&mut self) -> Option<Cell<'a>> {
        let spans = self.spans.next()?;
        let number = self.first;
        self.first += 1;
        Some(Cell { row: self.row, spans, number })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.spans.size_hint()
    }
}

impl DoubleEndedIterator for Cells<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        let spans = self.spans.next_back()?;
        Some(Cell { row: self.row, spans, number: self.first + self.spans.len() })
    }
}

impl ExactSizeIterator for Cells<'_> {}

impl fmt::Debug for Cells<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.clone()).finish()
    }
}

/// One version of one column's value, borrowed from its [`Row`].
#[derive(Clone, Copy)]
pub struct Cell<'a> {
    row: &'a Row,
    spans: &'a CellSpans,
    number: usize,
}

impl<'a> Cell<'a> {
    /// The column family's name.
    #[must_use]
    pub fn family(self) -> &'a str {
        // Checked when it came.
        str::from_utf8(self.family_bytes()).unwrap_or_default()
    }

    #[inline]
    pub(crate) fn family_bytes(self) -> &'a [u8] {
        self.spans.family.of(&self.row.bytes)
    }

    /// The column qualifier; it may be empty.
    #[inline]
    #[must_use]
    pub fn qualifier(self) -> &'a [u8] {
        self.spans.qualifier.of(&self.row.bytes)
    }

    /// The version's timestamp in microseconds since the epoch. Bigtable stores whole milliseconds.
    #[must_use]
    pub fn timestamp_micros(self) -> i64 {
        self.spans.timestamp_micros
    }

    /// The value's bytes.
    #[inline]
    #[must_use]
    pub fn value(self) -> &'a [u8] {
        self.spans.value.of(&self.row.bytes)
    }

    /// The labels that a filter put on the cell.
    pub fn labels(self) -> impl Iterator<Item = &'a str> {
        let Self { row, number, .. } = self;
        let own = row.labels.iter().filter(move |(cell, _)| *cell == number);
        own.map(|(_, label)| str::from_utf8(label.of(&row.bytes)).unwrap_or_default())
    }
}

impl PartialEq for Cell<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.family() == other.family()
            && self.qualifier() == other.qualifier()
            && self.timestamp_micros() == other.timestamp_micros()
            && self.value() == other.value()
            && self.labels().eq(other.labels())
    }
}

impl Eq for Cell<'_> {}

impl fmt::Debug for Cell<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cell")
            .field("family", &self.family())
            .field("qualifier", &Shown(self.qualifier()))
            .field("timestamp_micros", &self.timestamp_micros())
            .field("value", &Shown(self.value()))
            .field("labels", &self.labels().collect::<Vec<_>>())
            .finish()
    }
}

/// Bytes as a byte string literal.
struct Shown<'a>(&'a [u8]);

impl fmt::Debug for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "b\"{}\"", self.0.escape_ascii())
    }
}
