//! The chunks of rows.

use bytes::Bytes;

use keyderive_proto::data::read_rows_response::CellChunk;
use keyderive_proto::data::read_rows_response::cell_chunk::RowStatus;
use keyderive_proto::values::{BytesValue, StringValue};

/// A chunk of a row, which says nothing but what is asked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chunk(CellChunk);

/// A row of one cell, in one chunk.
#[must_use]
pub fn row(key: impl Into<Bytes>) -> Chunk {
    cell(key).commit()
}

/// A first cell of a row, in the column `f:q`.
#[must_use]
pub fn cell(key: impl Into<Bytes>) -> Chunk {
    Chunk::new().key(key).family("f").qualifier("q").value("v")
}

impl Chunk {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    #[must_use]
    pub fn key(mut self, key: impl Into<Bytes>) -> Self {
        self.0.row_key = key.into();
        self
    }

    #[must_use]
    pub fn family(mut self, name: &str) -> Self {
        self.0.family_name = Some(StringValue { value: name.to_owned() });
        self
    }

    #[must_use]
    pub fn qualifier(mut self, qualifier: impl Into<Bytes>) -> Self {
        self.0.qualifier = Some(BytesValue { value: qualifier.into() });
        self
    }

    #[must_use]
    pub fn timestamp(mut self, micros: i64) -> Self {
        self.0.timestamp_micros = micros;
        self
    }

    #[must_use]
    pub fn label(mut self, label: &str) -> Self {
        self.0.labels.push(label.to_owned());
        self
    }

    #[must_use]
    pub fn value(mut self, value: impl Into<Bytes>) -> Self {
        self.0.value = value.into();
        self
    }

    /// More pieces of the value follow, and all have so many bytes.
    #[must_use]
    pub fn of_size(mut self, bytes: i32) -> Self {
        self.0.value_size = bytes;
        self
    }

    #[must_use]
    pub fn commit(mut self) -> Self {
        self.0.row_status = Some(RowStatus::CommitRow(true));
        self
    }

    #[must_use]
    pub fn reset(mut self) -> Self {
        self.0.row_status = Some(RowStatus::ResetRow(true));
        self
    }
}

impl From<Chunk> for CellChunk {
    fn from(Chunk(chunk): Chunk) -> Self {
        chunk
    }
}
