//! Rows in little more memory than their bytes: all cells of one in a single allocation.

use std::iter;
use std::sync::Arc;

use bytes::{Buf as _, Bytes};
use tonic::Status;

use super::Cells;
use crate::row::Cell;

/// The number of the family, the length of the qualifier, the timestamp and the length of the value, before the last
/// two themselves.
const HEADER_BYTES: usize = 4 + 4 + 8 + 4;

/// The cells of one row, one behind the other.
#[derive(Clone)]
pub(super) struct Packed(Arc<[u8]>);

/// The names of the families that packed cells have by number.
#[derive(Default)]
pub(super) struct FamilyNames(Vec<Arc<str>>);

impl Packed {
    pub(super) fn new(cells: &Cells, families: &mut FamilyNames) -> Result<Self, Status> {
        let length = |cell: &Cell| HEADER_BYTES + cell.qualifier.len() + cell.value.len();
        let mut bytes = Vec::with_capacity(cells.iter().map(length).sum());
        for cell in cells {
            bytes.extend(families.number(&cell.family)?.to_be_bytes());
            bytes.extend(number(cell.qualifier.len())?.to_be_bytes());
            bytes.extend(cell.timestamp_micros.to_be_bytes());
            bytes.extend(number(cell.value.len())?.to_be_bytes());
            bytes.extend(&cell.qualifier);
            bytes.extend(&cell.value);
        }
        Ok(Self(bytes.into()))
    }

    /// Whether there are no cells.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The cells, which share the memory of the row.
    pub(super) fn cells(&self, families: &FamilyNames) -> Cells {
        let row = Bytes::from_owner(Arc::clone(&self.0));
        let mut place = 0;
        iter::from_fn(|| {
            let mut header: &[u8] = row.get(place..)?.first_chunk::<HEADER_BYTES>()?;
            let family = usize::try_from(header.get_u32()).ok()?;
            let qualifier = usize::try_from(header.get_u32()).ok()?;
            let timestamp_micros = header.get_i64();
            let value = usize::try_from(header.get_u32()).ok()?;
            let start = place + HEADER_BYTES;
            let middle = start + qualifier;
            place = middle + value;
            Some(Cell {
                family: Arc::clone(families.0.get(family)?),
                qualifier: row.slice(start..middle),
                timestamp_micros,
                value: row.slice(middle..place),
                labels: Vec::new(),
            })
        })
        .collect()
    }
}

impl FamilyNames {
    fn number(&mut self, name: &Arc<str>) -> Result<u32, Status> {
        if let Some(place) = self.0.iter().position(|known| known == name) {
            return number(place);
        }
        self.0.push(Arc::clone(name));
        number(self.0.len() - 1)
    }
}

/// A length or number, which the limits of the service keep far below 2^32.
fn number(length: usize) -> Result<u32, Status> {
    u32::try_from(length)
        .map_err(|_| Status::resource_exhausted(format!("{length} is more than memory keeps")))
}

#[cfg(test)]
mod tests {
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

    #[test]
    fn rows_are_unpacked_as_they_were() {
        let families = &mut FamilyNames::default();
        let rows = [
            vec![],
            vec![cell("f", "", 0, "")],
            vec![cell("g", "q", i64::MAX, "new"), cell("g", "q", 0, ""), cell("h", "q", 1000, "v")],
            vec![cell("f", "q", -1, "w"), cell("h", "r", 1000, "v")],
        ];
        let packed: Vec<_> = rows.iter().map(|row| Packed::new(row, families).unwrap()).collect();
        assert!(packed.iter().map(|packed| packed.cells(families)).eq(rows));
        assert_eq!(families.0.len(), 3);
    }
}
