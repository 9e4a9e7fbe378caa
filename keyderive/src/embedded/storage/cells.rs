//! The cells of a row as the bytes that are kept, in memory and in a file.
//!
//! Cells are in the table's order, one after the other:
//!
//! | bytes | |
//! |---|---|
//! | 1 | what has changed since the cell before: 0 nothing, 1 the qualifier, 2 the family and the qualifier |
//! | 1, and as many as it says | the family, where it has changed |
//! | 2, and as many as they say | the qualifier, where it has changed |
//! | 8 | the timestamp in microseconds |
//! | 4, and as many as they say | the value |
//!
//! Numbers are big-endian.

use std::sync::Arc;

use bytes::{Buf as _, Bytes};

use super::{Cells, Families};
use crate::embedded::cell::{Cell, CellRef};

/// What one row takes at most. The service keeps rows of 256 MiB.
pub(in crate::embedded) const MAX_BYTES: usize = 1 << 30;

const SAME_COLUMN: u8 = 0;
const NEW_QUALIFIER: u8 = 1;
const NEW_FAMILY: u8 = 2;

/// The bytes of cells; none where they are too many.
pub(super) fn encode(cells: &Cells) -> Option<Vec<u8>> {
    let bytes: usize = cells.iter().map(|cell| cell.qualifier.len() + cell.value.len() + 32).sum();
    let mut body = Vec::with_capacity(bytes);
    let mut last: Option<&Cell> = None;
    for cell in cells {
        let same_family = last.is_some_and(|last| last.family == cell.family);
        let same_column = same_family && last.is_some_and(|last| last.qualifier == cell.qualifier);
        body.push(match (same_family, same_column) {
            (_, true) => SAME_COLUMN,
            (true, false) => NEW_QUALIFIER,
            (false, false) => NEW_FAMILY,
        });
        if !same_family {
            body.push(u8::try_from(cell.family.len()).ok()?);
            body.extend(cell.family.as_bytes());
        }
        if !same_column {
            body.extend(u16::try_from(cell.qualifier.len()).ok()?.to_be_bytes());
            body.extend(&cell.qualifier);
        }
        body.extend(cell.timestamp_micros.to_be_bytes());
        body.extend(u32::try_from(cell.value.len()).ok()?.to_be_bytes());
        body.extend(&cell.value);
        if body.len() > MAX_BYTES {
            return None;
        }
        last = Some(cell);
    }
    Some(body)
}

/// The cells of `body`, which share its memory, and their families' names with `families`; none where it is of no
/// cells.
pub(super) fn decode(body: &Bytes, families: &Families) -> Option<Cells> {
    let mut cells = Cells::new();
    let mut reader = CellReader::new(body);
    while let Some(cell) = reader.next()? {
        let CellRef { family, qualifier, timestamp_micros, value, .. } = cell;
        let known = cells.last().filter(|_| !cell.new_family).map(|last: &Cell| Arc::clone(&last.family));
        let known = known.or_else(|| families.get_key_value(family).map(|(known, _)| Arc::clone(known)));
        cells.push(Cell {
            family: known.unwrap_or_else(|| family.into()),
            qualifier: body.slice_ref(qualifier),
            timestamp_micros,
            value: body.slice_ref(value),
            labels: Vec::new(),
        });
    }
    Some(cells)
}

/// Reads cells one after the other where they lie.
#[derive(Clone, Debug)]
pub(in crate::embedded) struct CellReader<'a> {
    rest: &'a [u8],
    family: &'a str,
    qualifier: &'a [u8],
    begun: bool,
}

impl<'a> CellReader<'a> {
    pub(in crate::embedded) fn new(body: &'a [u8]) -> Self {
        Self { rest: body, family: "", qualifier: &[], begun: false }
    }

    /// How many bytes the cells take that are still to come.
    pub(in crate::embedded) fn len(&self) -> usize {
        self.rest.len()
    }

    /// The cells that are still to come, by themselves; nothing where the bytes are of no cells.
    pub(super) fn decoded(&self, families: &Families) -> Option<Cells> {
        decode(&Bytes::copy_from_slice(self.rest), families)
    }

    /// The next cell, or none at the end; nothing where the bytes are of no cell.
    pub(in crate::embedded) fn next(&mut self) -> Option<Option<CellRef<'a>>> {
        let Ok(changed) = self.rest.try_get_u8() else { return Some(None) };
        let (new_family, new_column) = match changed {
            NEW_FAMILY => (true, true),
            NEW_QUALIFIER if self.begun => (false, true),
            SAME_COLUMN if self.begun => (false, false),
            _ => return None,
        };
        self.begun = true;
        if new_family {
            let bytes = self.rest.try_get_u8().ok()?;
            self.family = str::from_utf8(self.take(bytes.into())?).ok()?;
        }
        if new_column {
            let bytes = self.rest.try_get_u16().ok()?;
            self.qualifier = self.take(bytes.into())?;
        }
        let timestamp_micros = self.rest.try_get_i64().ok()?;
        let bytes = self.rest.try_get_u32().ok()?;
        let value = self.take(usize::try_from(bytes).ok()?)?;
        let Self { family, qualifier, .. } = *self;
        Some(Some(CellRef { family, qualifier, timestamp_micros, value, new_family, new_column }))
    }

    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(taken)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    fn cell(family: &str, qualifier: &'static str, timestamp_micros: i64, value: &'static str) -> Cell {
        Cell {
            family: family.into(),
            qualifier: qualifier.into(),
            timestamp_micros,
            value: value.into(),
            labels: Vec::new(),
        }
    }

    pub(in crate::embedded::storage) fn row() -> Cells {
        vec![
            cell("f", "", 0, ""),
            cell("f", "q", 2000, "new"),
            cell("f", "q", 1000, "old"),
            cell("g", "q", i64::MAX, "other"),
            cell("h", "r", -1, "w"),
        ]
    }

    #[test]
    fn cells_come_back() {
        for row in [row(), vec![], vec![cell("f", "", 0, "")]] {
            let body = Bytes::from(encode(&row).unwrap());
            assert_eq!(decode(&body, &Families::new()), Some(row));
        }
    }

    #[test]
    fn cells_that_are_cut_are_none() {
        let body = Bytes::from(encode(&row()).unwrap());
        let ends = (0..body.len()).filter(|end| decode(&body.slice(..*end), &Families::new()).is_some());
        assert_eq!(ends.count(), row().len());
        assert_eq!(decode(&Bytes::from_static(&[3]), &Families::new()), None);
        assert_eq!(decode(&Bytes::from_static(&[0; 13]), &Families::new()), None);
    }
}
