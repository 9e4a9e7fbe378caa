//! What a row and a definition are in the file: a checksum, and what it is of.
//!
//! The checksum is 8 bytes: the FarmHash fingerprint of three fingerprints of 8 bytes each, of the name of the table,
//! of the key under which the record is stored, and of the record's other bytes. So a record that has changed shows,
//! and so does one that stands under the key of another.
//!
//! A row's other bytes are its cells, in the table's order, one after the other:
//!
//! | bytes | |
//! |---|---|
//! | 1 | what has changed since the cell before: 0 nothing, 1 the qualifier, 2 the family and the qualifier |
//! | 1, and as many as it says | the family, where it has changed |
//! | 2, and as many as they say | the qualifier, where it has changed |
//! | 8 | the timestamp in microseconds |
//! | 4, and as many as they say | the value |
//!
//! A definition's other bytes are the `CreateTableRequest` that makes the table. Numbers are big-endian.

use std::sync::Arc;

use bytes::{Buf as _, Bytes};
use prost::Message as _;

use crate::embedded::storage::{Cells, Definition, Families};
use crate::key::fingerprint64;
use crate::row::Cell;
use crate::wire::admin::create_table_request::Split;
use crate::wire::admin::{CreateTableRequest, Table};

const CHECKSUM_BYTES: usize = size_of::<u64>();

/// What one record holds at most. The service keeps rows of 256 MiB.
pub(super) const MAX_BYTES: usize = 1 << 30;

const SAME_COLUMN: u8 = 0;
const NEW_QUALIFIER: u8 = 1;
const NEW_FAMILY: u8 = 2;

/// The records of one table of the file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Records {
    table: u64,
}

/// Why a record is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Damage {
    Checksum,
    Content,
}

impl Records {
    pub(super) fn of(table: &str) -> Self {
        Self { table: fingerprint64(table.as_bytes()) }
    }

    /// The record that holds `body` under `key`.
    pub(super) fn seal(self, key: &[u8], body: &[u8]) -> Vec<u8> {
        let mut record = Vec::with_capacity(CHECKSUM_BYTES + body.len());
        record.extend(self.checksum(key, body).to_be_bytes());
        record.extend(body);
        record
    }

    /// What a record under `key` holds.
    pub(super) fn open(self, key: &[u8], record: &[u8]) -> Result<Bytes, Damage> {
        let (checksum, body) = split(record)?;
        if checksum != self.checksum(key, body) {
            return Err(Damage::Checksum);
        }
        Ok(Bytes::copy_from_slice(body))
    }

    fn checksum(self, key: &[u8], body: &[u8]) -> u64 {
        let mut parts = [0; 3 * CHECKSUM_BYTES];
        let of = [self.table, fingerprint64(key), fingerprint64(body)];
        for (part, fingerprint) in parts.chunks_exact_mut(CHECKSUM_BYTES).zip(of) {
            part.copy_from_slice(&fingerprint.to_be_bytes());
        }
        fingerprint64(&parts)
    }
}

/// What a record holds whose checksum, as version 0 had it, is of its other bytes alone.
pub(super) fn open_version_0(record: &[u8]) -> Result<&[u8], Damage> {
    let (checksum, body) = split(record)?;
    if checksum == fingerprint64(body) { Ok(body) } else { Err(Damage::Checksum) }
}

fn split(record: &[u8]) -> Result<(u64, &[u8]), Damage> {
    let (checksum, body) = record.split_first_chunk().ok_or(Damage::Checksum)?;
    Ok((u64::from_be_bytes(*checksum), body))
}

/// The bytes of cells; none where they are too many.
pub(super) fn encode_cells(cells: &Cells) -> Option<Vec<u8>> {
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

/// The cells of `body`, which share its memory, and their families' names with `families`.
pub(super) fn decode_cells(body: Bytes, families: &Families) -> Result<Cells, Damage> {
    cells(body, families).ok_or(Damage::Content)
}

fn cells(mut body: Bytes, families: &Families) -> Option<Cells> {
    let mut cells = Cells::new();
    let mut family: Option<Arc<str>> = None;
    let mut qualifier: Option<Bytes> = None;
    while body.has_remaining() {
        let changed = body.try_get_u8().ok()?;
        if changed == NEW_FAMILY {
            let bytes = body.try_get_u8().ok()?;
            let name = take(&mut body, bytes.into())?;
            let name = std::str::from_utf8(&name).ok()?;
            family =
                Some(families.get_key_value(name).map_or_else(|| name.into(), |(known, _)| known.clone()));
        }
        if changed == NEW_FAMILY || changed == NEW_QUALIFIER {
            let bytes = body.try_get_u16().ok()?;
            qualifier = Some(take(&mut body, bytes.into())?);
        } else if changed != SAME_COLUMN {
            return None;
        }
        let timestamp_micros = body.try_get_i64().ok()?;
        let bytes = body.try_get_u32().ok()?;
        cells.push(Cell {
            family: family.clone()?,
            qualifier: qualifier.clone()?,
            timestamp_micros,
            value: take(&mut body, usize::try_from(bytes).ok()?)?,
            labels: Vec::new(),
        });
    }
    Some(cells)
}

fn take(bytes: &mut Bytes, count: usize) -> Option<Bytes> {
    (count <= bytes.len()).then(|| bytes.split_to(count))
}

pub(super) fn encode_definition(definition: &Definition) -> Vec<u8> {
    let Definition { families, splits, row_key_schema, deletion_protection } = definition.clone();
    let families = families.into_iter().map(|(name, family)| (name.as_ref().to_owned(), family));
    let request = CreateTableRequest {
        table: Some(Table {
            column_families: families.collect(),
            row_key_schema,
            deletion_protection,
            ..Table::default()
        }),
        initial_splits: splits.into_iter().map(|key| Split { key }).collect(),
        ..CreateTableRequest::default()
    };
    request.encode_to_vec()
}

pub(super) fn decode_definition(body: Bytes) -> Result<Definition, Damage> {
    let request = CreateTableRequest::decode(body).map_err(|_| Damage::Content)?;
    let table = request.table.ok_or(Damage::Content)?;
    Ok(Definition {
        families: table.column_families.into_iter().map(|(name, family)| (name.into(), family)).collect(),
        splits: request.initial_splits.into_iter().map(|split| split.key).collect(),
        row_key_schema: table.row_key_schema,
        deletion_protection: table.deletion_protection,
    })
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

    fn row() -> Cells {
        vec![
            cell("f", "", 0, ""),
            cell("f", "q", 2000, "new"),
            cell("f", "q", 1000, "old"),
            cell("g", "q", i64::MAX, "other"),
        ]
    }

    #[test]
    fn cells_come_back() {
        let body = Bytes::from(encode_cells(&row()).unwrap());
        assert_eq!(decode_cells(body, &Families::new()), Ok(row()));
    }

    #[test]
    fn a_flipped_bit_and_another_place_show() {
        let records = Records::of("t");
        let record = records.seal(b"k", &encode_cells(&row()).unwrap());
        assert!(records.open(b"k", &record).is_ok());
        assert_eq!(records.open(b"l", &record), Err(Damage::Checksum));
        assert_eq!(Records::of("u").open(b"k", &record), Err(Damage::Checksum));
        for bit in 0..8 * record.len() {
            let mut flipped = record.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(records.open(b"k", &flipped), Err(Damage::Checksum));
        }
        for bytes in 0..record.len() {
            assert_eq!(records.open(b"k", &record[..bytes]), Err(Damage::Checksum));
        }
    }

    #[test]
    fn cells_that_are_cut_are_none() {
        let body = Bytes::from(encode_cells(&row()).unwrap());
        let ends = (0..body.len()).filter(|end| cells(body.slice(..*end), &Families::new()).is_some());
        assert_eq!(ends.count(), row().len());
        assert_eq!(decode_cells(Bytes::from_static(&[3]), &Families::new()), Err(Damage::Content));
        assert_eq!(decode_cells(Bytes::from_static(&[0; 13]), &Families::new()), Err(Damage::Content));
    }
}
