//! A row as the table stores it: cells under families and qualifiers.

use std::fmt;
use std::ops::Range;
use std::ptr;

use bytes::Bytes;

use super::span::Span;

/// A row as it is stored: its key and the cells that were read.
///
/// Cells come in the table's order: by family, then by qualifier, then newest first.
///
/// A `RawRow` borrows from its response, some hundred KiB with other rows, and keeps it in memory. To keep a few rows for long,
/// copy their values.
#[derive(Clone, Default)]
pub struct RawRow {
    /// What all spans are of.
    pub(crate) bytes: Bytes,
    pub(crate) key: Span,
    pub(crate) cells: Vec<CellSpans>,
    /// Each with the number of its cell.
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
        self.qualifier.is_same_in(other.qualifier, bytes) && self.family.is_same_in(other.family, bytes)
    }
}

impl RawRow {
    /// The row key, as stored.
    #[inline]
    #[must_use]
    pub fn key(&self) -> &[u8] {
        self.key.of(&self.bytes)
    }

    /// The cells that were read, in the table's order.
    #[inline]
    #[must_use]
    pub fn cells(&self) -> RawCells<'_> {
        self.cell_slice().iter()
    }

    /// The cells of one column that were read, the newest first.
    pub fn versions(&self, family: &str, qualifier: impl AsRef<[u8]>) -> impl Iterator<Item = RawCell<'_>> {
        let is_of = move |cell: &RawCell<'_>| {
            cell.family_bytes() == family.as_bytes() && cell.qualifier() == qualifier.as_ref()
        };
        self.cells().filter(is_of)
    }

    /// The newest cell of one column that was read.
    #[must_use]
    pub fn newest(&self, family: &str, qualifier: impl AsRef<[u8]>) -> Option<RawCell<'_>> {
        self.versions(family, qualifier).next()
    }

    /// The cells, as a slice.
    #[inline]
    pub(crate) fn cell_slice(&self) -> CellSlice<'_> {
        CellSlice { row: self, cells: &self.cells }
    }

    /// The row without the cells that have this label; none if no cell has it.
    pub(crate) fn without_label(&self, label: &str) -> Option<Self> {
        let mut copy = Self::default();
        self.copy_without_label(label, &mut copy).then_some(copy)
    }

    /// Makes `copy` the row without the cells that have this label, in the memory that it has; false if no cell has it.
    pub(crate) fn copy_without_label(&self, label: &str, copy: &mut Self) -> bool {
        let is_it = |own: &Span| own.of(&self.bytes) == label.as_bytes();
        if !self.labels.iter().any(|(_, own)| is_it(own)) {
            return false;
        }
        if copy.bytes.as_ptr() != self.bytes.as_ptr() || copy.bytes.len() != self.bytes.len() {
            copy.bytes = self.bytes.clone();
        }
        copy.key = self.key;
        copy.cells.clear();
        copy.labels.clear();
        // Labels are in the order of their cells.
        let mut labels = &self.labels[..];
        for (number, cell) in self.cells.iter().enumerate() {
            let (own, rest) = labels.split_at(labels.partition_point(|(at, _)| *at <= number));
            labels = rest;
            if !own.iter().any(|(_, label)| is_it(label)) {
                copy.labels.extend(own.iter().map(|(_, label)| (copy.cells.len(), *label)));
                copy.cells.push(*cell);
            }
        }
        true
    }

    /// The row without the cells that have this label, and the row of these cells, without that label.
    pub(crate) fn split_by_label(&self, label: &str) -> [Self; 2] {
        let is_it = |own: &Span| own.of(&self.bytes) == label.as_bytes();
        let mut is_labelled = vec![false; self.cells.len()];
        for (cell, own) in &self.labels {
            is_labelled[*cell] |= is_it(own);
        }
        [false, true].map(|of_label| {
            let mut places = vec![0; self.cells.len()];
            let mut cells = Vec::new();
            for (number, cell) in self.cells.iter().enumerate().filter(|(at, _)| is_labelled[*at] == of_label)
            {
                places[number] = cells.len();
                cells.push(*cell);
            }
            let labels =
                self.labels.iter().filter(|(cell, own)| is_labelled[*cell] == of_label && !is_it(own));
            let labels = labels.map(|(cell, own)| (places[*cell], *own)).collect();
            Self { bytes: self.bytes.clone(), key: self.key, cells, labels }
        })
    }

    /// A row of the cells that `keeps` keeps, without labels. A row without cells holds no memory.
    pub(crate) fn filtered(&self, mut keeps: impl FnMut(RawCell<'_>) -> bool) -> Self {
        let cells: Vec<_> =
            self.cells.iter().filter(|spans| keeps(RawCell { row: self, spans })).copied().collect();
        if cells.is_empty() {
            return Self::default();
        }
        Self { bytes: self.bytes.clone(), key: self.key, cells, labels: Vec::new() }
    }

    /// About how much memory it takes.
    pub(crate) fn size(&self) -> usize {
        let cell = |cell: &CellSpans| size_of::<CellSpans>() + cell.qualifier.len() + cell.value.len();
        size_of::<Self>() + self.key.len() + self.cells.iter().map(cell).sum::<usize>()
    }
}

impl PartialEq for RawRow {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key() && self.cells().eq(other.cells())
    }
}

impl Eq for RawRow {}

impl fmt::Debug for RawRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Row").field("key", &Shown(self.key())).field("cells", &self.cells()).finish()
    }
}

/// Some cells of a row, side by side.
#[doc(hidden)]
#[derive(Clone, Copy)]
pub struct CellSlice<'a> {
    row: &'a RawRow,
    cells: &'a [CellSpans],
}

impl<'a> CellSlice<'a> {
    /// The row of these cells.
    #[inline]
    pub(crate) fn row(self) -> &'a RawRow {
        self.row
    }

    #[inline]
    pub(crate) fn iter(self) -> RawCells<'a> {
        RawCells(self)
    }

    #[inline]
    pub(crate) fn first(self) -> Option<RawCell<'a>> {
        let Self { row, cells } = self;
        Some(RawCell { row, spans: cells.first()? })
    }

    #[inline]
    pub(crate) fn last(self) -> Option<RawCell<'a>> {
        let Self { row, cells } = self;
        Some(RawCell { row, spans: cells.last()? })
    }

    /// How many there are: fewer than 4 billion, since a row has less than 4 GiB.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "a row has less than 4 GiB")]
    pub(crate) fn len(self) -> u32 {
        self.cells.len() as u32
    }

    /// The cells with these numbers.
    #[inline]
    pub(crate) fn part(self, numbers: Range<usize>) -> Self {
        Self { cells: self.cells.get(numbers).unwrap_or_default(), ..self }
    }

    /// The cells before the first that `ends`, and the rest.
    #[inline]
    pub(crate) fn split_where(self, mut ends: impl FnMut(RawCell<'a>) -> bool) -> (Self, Self) {
        let Self { row, cells } = self;
        let end = cells.iter().position(|spans| ends(RawCell { row, spans })).unwrap_or(cells.len());
        let (before, after) = cells.split_at(end);
        (Self { row, cells: before }, Self { row, cells: after })
    }

    /// The cells of each column, the newest first.
    pub(crate) fn columns(self) -> impl Iterator<Item = Self> {
        let mut left = self;
        std::iter::from_fn(move || {
            let first = left.first()?;
            let (column, rest) =
                left.split_where(|cell| !cell.spans.is_of_column_of(first.spans, &cell.row.bytes));
            left = rest;
            Some(column)
        })
    }
}

/// The cells of a row: [`RawRow::cells`].
#[derive(Clone)]
pub struct RawCells<'a>(CellSlice<'a>);

impl<'a> Iterator for RawCells<'a> {
    type Item = RawCell<'a>;

    #[inline]
    fn next(&mut self) -> Option<RawCell<'a>> {
        let CellSlice { row, cells } = self.0;
        let (spans, rest) = cells.split_first()?;
        self.0.cells = rest;
        Some(RawCell { row, spans })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.0.cells.len();
        (left, Some(left))
    }
}

impl DoubleEndedIterator for RawCells<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        let CellSlice { row, cells } = self.0;
        let (spans, rest) = cells.split_last()?;
        self.0.cells = rest;
        Some(RawCell { row, spans })
    }
}

impl ExactSizeIterator for RawCells<'_> {}

impl fmt::Debug for RawCells<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.clone()).finish()
    }
}

/// One version of one column's value, borrowed from its [`RawRow`].
#[derive(Clone, Copy)]
pub struct RawCell<'a> {
    row: &'a RawRow,
    /// Where its parts are: one of the row's own.
    spans: &'a CellSpans,
}

impl<'a> RawCell<'a> {
    /// The column family's name.
    #[must_use]
    pub fn family(self) -> &'a str {
        // Checked when it came.
        str::from_utf8(self.family_bytes()).unwrap_or_default()
    }

    /// Whether two cells of a row have one place for their family. If not, they may still be of the same.
    #[inline]
    pub(crate) fn has_family_span_of(self, other: Self) -> bool {
        self.spans.family == other.spans.family
    }

    /// Whether two cells of a row are of the same family.
    #[inline]
    pub(crate) fn is_of_family_of(self, other: Self) -> bool {
        self.spans.family.is_same_in(other.spans.family, &self.row.bytes)
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

    /// The version's timestamp in microseconds since the epoch.
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

    /// Its number in the row.
    fn number(self) -> usize {
        let offset = ptr::from_ref(self.spans).addr() - self.row.cells.as_ptr().addr();
        offset / size_of::<CellSpans>()
    }

    /// The labels that a filter put on the cell.
    pub fn labels(self) -> impl Iterator<Item = &'a str> {
        let (row, number) = (self.row, self.number());
        let own = row.labels.iter().filter(move |(cell, _)| *cell == number);
        own.map(|(_, label)| str::from_utf8(label.of(&row.bytes)).unwrap_or_default())
    }
}

impl PartialEq for RawCell<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.family() == other.family()
            && self.qualifier() == other.qualifier()
            && self.timestamp_micros() == other.timestamp_micros()
            && self.value() == other.value()
            && self.labels().eq(other.labels())
    }
}

impl Eq for RawCell<'_> {}

impl fmt::Debug for RawCell<'_> {
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
