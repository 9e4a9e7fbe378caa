//! What a row and a definition are in the file: a checksum, and what it is of.
//!
//! The checksum is 8 bytes: the FarmHash fingerprint of three fingerprints of 8 bytes each, of the name of the table,
//! of the key under which the record is stored, and of the record's other bytes. So a record that has changed shows,
//! and so does one that stands under the key of another.
//!
//! A row's other bytes are its cells, as in `storage/cells.rs`.
//!
//! A definition's other bytes are the `CreateTableRequest` that makes the table. Numbers are big-endian.

use keyderive_farmhash::fingerprint64;
use keyderive_proto::admin::create_table_request::Split;
use keyderive_proto::admin::{CreateTableRequest, Table};
use prost::Message as _;

use crate::storage::Definition;

const CHECKSUM_BYTES: usize = size_of::<u64>();

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
        let mut record = vec![0; Self::sealed_len(body)];
        self.seal_into(&mut record, key, body);
        record
    }

    /// How many bytes the record has that holds `body`.
    pub(super) fn sealed_len(body: &[u8]) -> usize {
        CHECKSUM_BYTES + body.len()
    }

    /// Writes the record that holds `body` under `key` to where it is kept, which is as long as it.
    pub(super) fn seal_into(self, record: &mut [u8], key: &[u8], body: &[u8]) {
        let (checksum, rest) = record.split_at_mut(CHECKSUM_BYTES);
        checksum.copy_from_slice(&self.checksum(key, body).to_be_bytes());
        rest.copy_from_slice(body);
    }

    /// What a record under `key` holds.
    pub(super) fn open<'a>(self, key: &[u8], record: &'a [u8]) -> Result<&'a [u8], Damage> {
        let (checksum, body) = split(record)?;
        if checksum != self.checksum(key, body) {
            return Err(Damage::Checksum);
        }
        Ok(body)
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

pub(super) fn encode_definition(definition: &Definition) -> Vec<u8> {
    let Definition { id, families, splits, row_key_schema, deletion_protection } = definition.clone();
    let families = families.into_iter().map(|(name, family)| (name.as_ref().to_owned(), family));
    let request = CreateTableRequest {
        table_id: id.map(|id| format!("{id:016x}")).unwrap_or_default(),
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

pub(super) fn decode_definition(body: &[u8]) -> Result<Definition, Damage> {
    let request = CreateTableRequest::decode(body).map_err(|_| Damage::Content)?;
    let table = request.table.ok_or(Damage::Content)?;
    Ok(Definition {
        id: u64::from_str_radix(&request.table_id, 16).ok(),
        families: table.column_families.into_iter().map(|(name, family)| (name.into(), family)).collect(),
        splits: request.initial_splits.into_iter().map(|split| split.key).collect(),
        row_key_schema: table.row_key_schema,
        deletion_protection: table.deletion_protection,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::cells;
    use crate::storage::cells::tests::row;

    #[test]
    fn a_flipped_bit_and_another_place_show() {
        let records = Records::of("t");
        let record = records.seal(b"k", &cells::encode(&row(), cells::MAX_BYTES).unwrap());
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
}
