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

impl CellSpans {
    /// Whether two cells of these bytes are of the same column.
    #[inline]
    fn is_of_column_of(&self, other: &Self, bytes: &[u8]) -> bool {
        let is_same = |one: Span, other: Span| one == other || one.of(bytes) == other.of(bytes);
        is_same(self.qualifier, other.qualifier) && is_same(self.family, other.family)
    }
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
        self.cell_slice().iter()
    }

    /// The cells of one column that were read, the newest first.
    pub fn versions(&self, family: &str, qualifier: impl AsRef<[u8]>) -> impl Iterator<Item = Cell<'_>> {
        let is_of = move |cell: &Cell<'_>| {
            cell.family_bytes() == family.as_bytes() && cell.qualifier() == qualifier.as_ref()
        };
        self.cells().filter(is_of)
    }

    /// The newest cell of one column that was read.
    #[must_use]
    pub fn newest(&self, family: &str, qualifier: impl AsRef<[u8]>) -> Option<Cell<'_>> {
        self.versions(family, qualifier).next()
    }

    /// The cells, as a slice.
    #[inline]
    pub(crate) fn cell_slice(&self) -> CellSlice<'_> {
        CellSlice { row: self, spans: &self.cells, first: 0 }
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

/// Some cells of a row, side by side.
#[derive(Clone, Copy)]
pub(crate) struct CellSlice<'a> {
    row: &'a Row,
    spans: &'a [CellSpans],
    /// The number of the first cell in its row.
    first: usize,
}

impl<'a> CellSlice<'a> {
    #[inline]
    pub(crate) fn iter(self) -> Cells<'a> {
        Cells { row: self.row, spans: self.spans.iter(), first: self.first }
    }

    #[inline]
    pub(crate) fn first(self) -> Option<Cell<'a>> {
        self.iter().next()
    }

    /// Those in front of the first that is as `is_end` says, and the rest.
    #[inline]
    pub(crate) fn split_where(self, is_end: impl Fn(Cell<'a>) -> bool) -> (Self, Self) {
        self.split_at(self.iter().position(is_end).unwrap_or(self.spans.len()))
    }

    /// The cells of the first one's column, and the rest.
    #[inline]
    pub(crate) fn split_column(self) -> (Self, Self) {
        let Some((first, others)) = self.spans.split_first() else { return (self, self) };
        let bytes = &self.row.bytes;
        let of_column = others.iter().take_while(|cell| cell.is_of_column_of(first, bytes)).count();
        self.split_at(1 + of_column)
    }

    #[inline]
    fn split_at(self, end: usize) -> (Self, Self) {
        let (front, rest) = self.spans.split_at(end.min(self.spans.len()));
        (Self { spans: front, ..self }, Self { spans: rest, first: self.first + end, ..self })
    }

    /// Each by itself.
    pub(crate) fn singly(self) -> impl Iterator<Item = Self> {
        let chunks = self.spans.chunks(1).enumerate();
        chunks.map(move |(number, spans)| Self { spans, first: self.first + number, ..self })
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
pub(crate) struct Shown<'a>(pub(crate) &'a [u8]);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "b\"{}\"", self.0.escape_ascii())
    }
}

impl fmt::Debug for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
