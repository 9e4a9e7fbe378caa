//! A row as the table stores it: cells under families and qualifiers.

use std::fmt;

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
        // A row with so many cells has more than 4 GiB.
        CellSlice { row: self, numbers: Span::new(0, u32::try_from(self.cells.len()).unwrap_or(u32::MAX)) }
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
    /// The numbers of the cells in the row.
    numbers: Span,
}

impl<'a> CellSlice<'a> {
    #[inline]
    pub(crate) fn iter(self) -> Cells<'a> {
        Cells(self)
    }

    #[inline]
    pub(crate) fn first(self) -> Option<Cell<'a>> {
        self.iter().next()
    }

    /// Those in front of the first that is as `is_end` says, and the rest.
    pub(crate) fn split_where(self, is_end: impl Fn(Cell<'a>) -> bool) -> (Self, Self) {
        let front = self.iter().take_while(|cell| !is_end(*cell)).last();
        self.split_at(front.map_or(self.numbers.start(), |cell| cell.number + 1))
    }

    /// Takes the cells of the first one's column.
    #[inline]
    pub(crate) fn next_column(&mut self) -> Option<Column<'a>> {
        let Row { bytes, cells, .. } = self.row;
        let Cell { number: first, .. } = self.first()?;
        let mut end = first + 1;
        while end < self.numbers.end() && cells[end as usize].is_of_column_of(&cells[first as usize], bytes) {
            end += 1;
        }
        let (column, rest) = self.split_at(end);
        *self = rest;
        Some(Column(column))
    }

    /// Those in front of a number, which is one of theirs or the end, and the rest.
    #[inline]
    fn split_at(self, number: u32) -> (Self, Self) {
        let Self { row, numbers } = self;
        let (front, rest) = (Span::new(numbers.start(), number), Span::new(number, numbers.end()));
        (Self { row, numbers: front }, Self { row, numbers: rest })
    }
}

/// The cells of one column, one at least, the newest first.
#[derive(Clone, Copy)]
pub(crate) struct Column<'a>(CellSlice<'a>);

impl<'a> Column<'a> {
    #[inline]
    pub(crate) fn newest(self) -> Cell<'a> {
        let CellSlice { row, numbers } = self.0;
        Cell { row, number: numbers.start() }
    }

    /// Each version by itself.
    pub(crate) fn singly(self) -> impl Iterator<Item = Self> {
        let alone = |Cell { row, number }| Self(CellSlice { row, numbers: Span::new(number, number + 1) });
        self.0.iter().map(alone)
    }
}

/// The cells of a row: [`Row::cells`].
#[derive(Clone)]
pub struct Cells<'a>(CellSlice<'a>);

impl<'a> Iterator for Cells<'a> {
    type Item = Cell<'a>;

    #[inline]
    fn next(&mut self) -> Option<Cell<'a>> {
        let CellSlice { row, numbers } = self.0;
        if numbers.is_empty() {
            return None;
        }
        self.0.numbers = Span::new(numbers.start() + 1, numbers.end());
        Some(Cell { row, number: numbers.start() })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.0.numbers.len();
        (left, Some(left))
    }
}

impl DoubleEndedIterator for Cells<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        let CellSlice { row, numbers } = self.0;
        if numbers.is_empty() {
            return None;
        }
        self.0.numbers = Span::new(numbers.start(), numbers.end() - 1);
        Some(Cell { row, number: numbers.end() - 1 })
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
    number: u32,
}

impl<'a> Cell<'a> {
    /// Where its parts are.
    #[inline]
    fn spans(self) -> &'a CellSpans {
        // Numbers come from the row's own cells.
        &self.row.cells[self.number as usize]
    }

    /// The column family's name.
    #[must_use]
    pub fn family(self) -> &'a str {
        // Checked when it came.
        str::from_utf8(self.family_bytes()).unwrap_or_default()
    }

    #[inline]
    pub(crate) fn family_bytes(self) -> &'a [u8] {
        self.spans().family.of(&self.row.bytes)
    }

    /// The column qualifier; it may be empty.
    #[inline]
    #[must_use]
    pub fn qualifier(self) -> &'a [u8] {
        self.spans().qualifier.of(&self.row.bytes)
    }

    /// The version's timestamp in microseconds since the epoch. Bigtable stores whole milliseconds.
    #[must_use]
    pub fn timestamp_micros(self) -> i64 {
        self.spans().timestamp_micros
    }

    /// The value's bytes.
    #[inline]
    #[must_use]
    pub fn value(self) -> &'a [u8] {
        self.spans().value.of(&self.row.bytes)
    }

    /// The labels that a filter put on the cell.
    pub fn labels(self) -> impl Iterator<Item = &'a str> {
        let Self { row, number, .. } = self;
        let own = row.labels.iter().filter(move |(cell, _)| *cell == number as usize);
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
