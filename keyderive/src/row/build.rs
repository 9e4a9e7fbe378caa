//! Rows that are put together from parts.

use bytes::Bytes;

use super::raw::{CellSpans, RawRow};
use super::span::Span;

/// A row whose parts are copied into one piece of memory.
///
/// A family or qualifier equal to the previous cell's is stored once.
pub(crate) struct RowBuilder {
    bytes: Vec<u8>,
    key: Span,
    cells: Vec<CellSpans>,
    labels: Vec<(usize, Span)>,
    /// How many bytes it may take.
    limit: usize,
}

/// More bytes than a row can have here: 4 GiB, or the limit of the builder.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TooLarge;

impl RowBuilder {
    /// A row without cells yet.
    pub(crate) fn new(key: &[u8]) -> Result<Self, TooLarge> {
        Self::within(usize::MAX, key)
    }

    /// As [`new`](Self::new), of a row that takes at most `limit` bytes: its key, names and values, and what the cells take.
    fn within(limit: usize, key: &[u8]) -> Result<Self, TooLarge> {
        let (cells, labels) = (Vec::new(), Vec::new());
        let mut builder = Self { bytes: Vec::new(), key: Span::default(), cells, labels, limit };
        builder.key = builder.copy(key)?;
        Ok(builder)
    }

    /// A copy of a row, to which more may be added, up to `limit` bytes.
    pub(crate) fn copy_of(row: &RawRow, limit: usize) -> Result<Self, TooLarge> {
        let mut copy = Self::within(limit, row.key())?;
        for cell in row.cells() {
            copy.cell(Some(cell.family_bytes()), Some(cell.qualifier()), cell.timestamp_micros())?;
            copy.value(cell.value())?;
            for label in cell.labels() {
                copy.label(label.as_bytes())?;
            }
        }
        Ok(copy)
    }

    pub(crate) fn key(&self) -> &[u8] {
        self.key.of(&self.bytes)
    }

    /// Begins a cell without a value yet. A family or qualifier of `None` is the last cell's.
    pub(crate) fn cell(
        &mut self,
        family: Option<&[u8]>,
        qualifier: Option<&[u8]>,
        timestamp_micros: i64,
    ) -> Result<(), TooLarge> {
        let last = self.cells.last().copied();
        let family = self.name(family, last.map(|last| last.family))?;
        let qualifier = self.name(qualifier, last.map(|last| last.qualifier))?;
        let value = self.copy(&[])?;
        self.cells.push(CellSpans { family, qualifier, value, timestamp_micros });
        Ok(())
    }

    /// Adds to the value of the last cell.
    pub(crate) fn value(&mut self, piece: &[u8]) -> Result<(), TooLarge> {
        let copied = self.copy(piece)?;
        if let Some(cell) = self.cells.last_mut() {
            // Labels come after the value, so that its pieces are side by side.
            cell.value = Span::new(cell.value.start(), copied.end());
        }
        Ok(())
    }

    /// Adds a label to the last cell, whose value is whole.
    pub(crate) fn label(&mut self, label: &[u8]) -> Result<(), TooLarge> {
        let label = self.copy(label)?;
        self.labels.push((self.cells.len().saturating_sub(1), label));
        Ok(())
    }

    pub(crate) fn build(self) -> RawRow {
        let Self { bytes, key, cells, labels, .. } = self;
        RawRow { bytes: Bytes::from(bytes), key, cells, labels }
    }

    fn name(&mut self, name: Option<&[u8]>, last: Option<Span>) -> Result<Span, TooLarge> {
        match (name, last) {
            (Some(name), Some(last)) if last.of(&self.bytes) == name => Ok(last),
            (Some(name), _) => self.copy(name),
            (None, last) => Ok(last.unwrap_or_default()),
        }
    }

    fn copy(&mut self, part: &[u8]) -> Result<Span, TooLarge> {
        let start = u32::try_from(self.bytes.len()).map_err(|_| TooLarge)?;
        let end = u32::try_from(self.bytes.len() + part.len()).map_err(|_| TooLarge)?;
        let of_cells = size_of_val(&*self.cells) + size_of_val(&*self.labels);
        if self.bytes.len() + part.len() + of_cells > self.limit {
            return Err(TooLarge);
        }
        self.bytes.extend_from_slice(part);
        Ok(Span::new(start, end))
    }
}

impl RawRow {
    /// Copies the row out of its message, which it no longer keeps in memory.
    pub(crate) fn detach(&mut self) {
        if let Ok(copy) = RowBuilder::copy_of(self, usize::MAX) {
            *self = copy.build();
        }
    }
}
