//! Cells, and the encoding of a row's cells that is stored in memory and in files.
//!
//! Encoded cells follow one another in the table's order:
//!
//! | bytes | |
//! |---|---|
//! | 1 | what differs from the cell before: 0 nothing, 1 the qualifier, 2 the family and the qualifier |
//! | 1 for the length, and the bytes | the family, if it differs |
//! | 2 for the length, and the bytes | the qualifier, if it differs |
//! | 8 | the timestamp in microseconds |
//! | 4 for the length, and the bytes | the value |
//!
//! Numbers are big-endian.

use std::sync::Arc;

use bytes::{Buf as _, Bytes};

use super::{Cells, Families};

/// One version of a column's value, with the labels that a filter added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cell {
    pub(crate) family: Arc<str>,
    pub(crate) qualifier: Bytes,
    pub(crate) timestamp_micros: i64,
    pub(crate) value: Bytes,
    pub(crate) labels: Vec<String>,
}

/// A borrowed cell in the encoding of its row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CellRef<'a> {
    pub(crate) family: &'a str,
    pub(crate) qualifier: &'a [u8],
    pub(crate) timestamp_micros: i64,
    pub(crate) value: &'a [u8],
    /// Whether the family differs from the previous cell's.
    pub(crate) new_family: bool,
    /// Whether the family or the qualifier differs.
    pub(crate) new_column: bool,
}

/// The most bytes of a row. The service allows 256 MiB.
pub(crate) const MAX_BYTES: usize = 1 << 30;

const SAME_COLUMN: u8 = 0;
const NEW_QUALIFIER: u8 = 1;
const NEW_FAMILY: u8 = 2;

/// The size of a cell's timestamp and of the length field of its value.
const FIXED_BYTES: usize = 12;

/// Encodes cells in at most `most` bytes.
///
/// # Errors
/// The size, if it is larger.
pub(crate) fn encode(cells: &Cells, most: usize) -> Result<Vec<u8>, usize> {
    let bytes = encoded_len(cells);
    if bytes > most {
        return Err(bytes);
    }
    let mut writer = CellWriter { body: Vec::with_capacity(bytes), begun: false };
    let mut last: Option<&Cell> = None;
    for cell in cells {
        let Cell { family, qualifier, timestamp_micros, value, .. } = cell;
        let (new_family, new_column) = differences(last, cell);
        let cell_ref =
            CellRef { family, qualifier, timestamp_micros: *timestamp_micros, value, new_family, new_column };
        // The checks of requests reject names and values that are too long for their length fields.
        writer.add(&cell_ref).ok_or(usize::MAX)?;
        last = Some(cell);
    }
    Ok(writer.body)
}

/// Whether the family and the column differ from the previous cell's.
fn differences(last: Option<&Cell>, cell: &Cell) -> (bool, bool) {
    let new_family = last.is_none_or(|last| last.family != cell.family);
    (new_family, new_family || last.is_none_or(|last| last.qualifier != cell.qualifier))
}

fn encoded_len(cells: &Cells) -> usize {
    let (mut bytes, mut last) = (0, None);
    for cell in cells {
        let (new_family, new_column) = differences(last.replace(cell), cell);
        bytes += 1 + FIXED_BYTES + cell.value.len();
        bytes += if new_family { 1 + cell.family.len() } else { 0 };
        bytes += if new_column { 2 + cell.qualifier.len() } else { 0 };
    }
    bytes
}

/// Encodes the cells of `body` for which `keeps` returns true. `None` if it keeps all, or if `body` is invalid.
pub(crate) fn retain(body: &[u8], mut keeps: impl FnMut(&CellRef<'_>) -> bool) -> Option<Vec<u8>> {
    let mut reader = CellReader::new(body);
    let mut writer = CellWriter { body: Vec::new(), begun: false };
    let (mut all, mut new_family, mut new_column) = (true, false, false);
    while let Some(cell) = reader.next()? {
        (new_family, new_column) = (new_family | cell.new_family, new_column | cell.new_column);
        if keeps(&cell) {
            writer.add(&CellRef { new_family, new_column, ..cell })?;
            (new_family, new_column) = (false, false);
        } else {
            all = false;
        }
    }
    (!all).then_some(writer.body)
}

struct CellWriter {
    body: Vec<u8>,
    /// Whether a cell was written.
    begun: bool,
}

impl CellWriter {
    /// `None` if a length does not fit its field.
    fn add(&mut self, cell: &CellRef<'_>) -> Option<()> {
        let CellRef { family, qualifier, timestamp_micros, value, new_family, new_column } = *cell;
        let (new_family, new_column) = (new_family || !self.begun, new_column || !self.begun);
        self.begun = true;
        let body = &mut self.body;
        body.push(match (new_family, new_column) {
            (true, _) => NEW_FAMILY,
            (false, true) => NEW_QUALIFIER,
            (false, false) => SAME_COLUMN,
        });
        if new_family {
            body.push(u8::try_from(family.len()).ok()?);
            body.extend(family.as_bytes());
        }
        if new_family || new_column {
            body.extend(u16::try_from(qualifier.len()).ok()?.to_be_bytes());
            body.extend(qualifier);
        }
        body.extend(timestamp_micros.to_be_bytes());
        body.extend(u32::try_from(value.len()).ok()?.to_be_bytes());
        body.extend(value);
        Some(())
    }
}

/// Decodes the cells of `body`. They share its memory, and the family names of `families`. `None` if `body` is invalid.
pub(crate) fn decode(body: &Bytes, families: &Families) -> Option<Cells> {
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

/// Decodes cells in place, one after the other.
#[derive(Clone, Debug)]
pub(crate) struct CellReader<'a> {
    rest: &'a [u8],
    /// The encoded cells as shared memory, if that is how they are stored.
    shared: Option<&'a Bytes>,
    family: &'a str,
    qualifier: &'a [u8],
    begun: bool,
}

impl<'a> CellReader<'a> {
    pub(crate) fn new(body: &'a [u8]) -> Self {
        Self { rest: body, shared: None, family: "", qualifier: &[], begun: false }
    }

    /// Like `new`, but [`body`](Self::body) shares the memory.
    pub(crate) fn of_shared(body: &'a Bytes) -> Self {
        Self { shared: Some(body), ..Self::new(body) }
    }

    /// The size of the remaining cells.
    pub(crate) fn len(&self) -> usize {
        self.rest.len()
    }

    /// The encoding of the remaining cells.
    pub(crate) fn body(&self) -> Bytes {
        self.shared.map_or_else(|| Bytes::copy_from_slice(self.rest), |shared| shared.slice_ref(self.rest))
    }

    /// The next cell; `Some(None)` at the end, `None` if the bytes are invalid.
    pub(crate) fn next(&mut self) -> Option<Option<CellRef<'a>>> {
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

    pub(in crate::storage) fn row() -> Cells {
        vec![
            cell("f", "", 0, ""),
            cell("f", "q", 2000, "new"),
            cell("f", "q", 1000, "old"),
            cell("g", "q", i64::MAX, "other"),
            cell("h", "r", -1, "w"),
        ]
    }

    #[test]
    fn cells_round_trip() {
        for row in [row(), vec![], vec![cell("f", "", 0, "")]] {
            let body = Bytes::from(encode(&row, MAX_BYTES).unwrap());
            assert_eq!(body.len(), encoded_len(&row));
            assert_eq!(decode(&body, &Families::new()), Some(row));
        }
    }

    #[test]
    fn a_row_that_is_too_large_reports_its_size() {
        let bytes = encoded_len(&row());
        assert_eq!(encode(&row(), bytes).unwrap().len(), bytes);
        assert_eq!(encode(&row(), bytes - 1), Err(bytes));
    }

    #[test]
    fn retained_cells_are_encoded_like_new_ones() {
        let body = encode(&row(), MAX_BYTES).unwrap();
        for kept in 0..1 << row().len() {
            let keeps = |place: usize| kept >> place & 1 == 1;
            let left: Cells =
                (0..row().len()).filter(|place| keeps(*place)).map(|place| row().remove(place)).collect();
            let mut places = 0..;
            let retained = retain(&body, |_| places.next().is_some_and(keeps));
            assert_eq!(retained, (left.len() < row().len()).then(|| encode(&left, MAX_BYTES).unwrap()));
        }
    }

    #[test]
    fn truncated_cells_are_rejected() {
        let body = Bytes::from(encode(&row(), MAX_BYTES).unwrap());
        let ends = (0..body.len()).filter(|end| decode(&body.slice(..*end), &Families::new()).is_some());
        assert_eq!(ends.count(), row().len());
        assert_eq!(decode(&Bytes::from_static(&[3]), &Families::new()), None);
        assert_eq!(decode(&Bytes::from_static(&[0; 13]), &Families::new()), None);
    }
}
