//! Writes a `ReadRowsResponse` in its encoded form, as its rows are read.

use bytes::Bytes;
use prost::encoding::{WireType, encode_key, encode_varint, encoded_len_varint};

use crate::cell::CellRef;

/// An encoded response that grows.
pub(super) struct ResponseWriter {
    bytes: Vec<u8>,
}

/// A row that is written cell by cell.
pub(super) struct RowWriter<'w, 'c> {
    bytes: &'w mut Vec<u8>,
    /// The row's key, until it is written.
    key: &'w [u8],
    /// The last cell, which is written when it is known whether it ends the row.
    last: Option<CellRef<'c>>,
    /// What has changed since that cell.
    new_family: bool,
    new_column: bool,
}

impl ResponseWriter {
    pub(super) fn with_capacity(bytes: usize) -> Self {
        Self { bytes: Vec::with_capacity(bytes) }
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(super) fn into_bytes(self) -> Bytes {
        self.bytes.into()
    }

    /// Adds encoded chunks.
    pub(super) fn extend(&mut self, chunks: &[u8]) {
        self.bytes.extend_from_slice(chunks);
    }

    pub(super) fn row<'w>(&'w mut self, key: &'w [u8]) -> RowWriter<'w, 'w> {
        RowWriter { bytes: &mut self.bytes, key, last: None, new_family: false, new_column: false }
    }
}

impl<'c> RowWriter<'_, 'c> {
    /// Notes a cell, whether it is added or not.
    #[inline]
    pub(super) fn see(&mut self, cell: &CellRef<'_>) {
        self.new_family |= cell.new_family;
        self.new_column |= cell.new_column;
    }

    /// Adds the cell that was noted last.
    #[inline]
    pub(super) fn add(&mut self, cell: CellRef<'c>) {
        let Self { new_family, new_column, .. } = *self;
        (self.new_family, self.new_column) = (false, false);
        if let Some(last) = self.last.replace(CellRef { new_family, new_column, ..cell }) {
            self.write(&last, false);
        }
    }

    /// Ends the row; whether there is one.
    pub(super) fn finish(mut self) -> bool {
        let last = self.last.take();
        last.inspect(|last| self.write(last, true)).is_some()
    }

    /// Field numbers are those of `CellChunk` in `wire/proto/data.proto`. A family and a qualifier are messages of
    /// their own, with one field; what is empty is left out, as protobuf has it.
    fn write(&mut self, cell: &CellRef<'_>, commits: bool) {
        let CellRef { qualifier, timestamp_micros, value, .. } = *cell;
        let family = cell.family.as_bytes();
        let micros = timestamp_micros.cast_unsigned();
        let mut length = field_len(self.key) + field_len(value);
        if cell.new_family {
            length += 1 + prefixed_len(field_len(family));
        }
        if cell.new_column {
            length += 1 + prefixed_len(field_len(qualifier));
        }
        if micros != 0 {
            length += 1 + encoded_len_varint(micros);
        }
        length += 2 * usize::from(commits);
        let bytes = &mut *self.bytes;
        put_length(bytes, 1, length);
        put_field(bytes, 1, self.key);
        self.key = &[];
        if cell.new_family {
            put_length(bytes, 2, field_len(family));
            put_field(bytes, 1, family);
        }
        if cell.new_column {
            put_length(bytes, 3, field_len(qualifier));
            put_field(bytes, 1, qualifier);
        }
        if micros != 0 {
            encode_key(4, WireType::Varint, bytes);
            encode_varint(micros, bytes);
        }
        put_field(bytes, 6, value);
        if commits {
            encode_key(9, WireType::Varint, bytes);
            bytes.push(1);
        }
    }
}

/// What so many bytes and their number take.
fn prefixed_len(bytes: usize) -> usize {
    encoded_len_varint(bytes as u64) + bytes
}

/// What a field takes, whose number is below 16.
fn field_len(bytes: &[u8]) -> usize {
    if bytes.is_empty() { 0 } else { 1 + prefixed_len(bytes.len()) }
}

fn put_length(out: &mut Vec<u8>, number: u32, length: usize) {
    encode_key(number, WireType::LengthDelimited, out);
    encode_varint(length as u64, out);
}

fn put_field(out: &mut Vec<u8>, number: u32, bytes: &[u8]) {
    if !bytes.is_empty() {
        put_length(out, number, bytes.len());
        out.extend_from_slice(bytes);
    }
}
