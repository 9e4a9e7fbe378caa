//! What is left of the last response of a stream, and of the row that it may have ended in.

use std::vec;

use bytes::Bytes;

use crate::client::merge::RowMerger;
use crate::row::Row;
use crate::wire::data::ReadRowsResponse;
use crate::wire::data::read_rows_response::CellChunk;

pub(super) struct Buffer {
    chunks: vec::IntoIter<CellChunk>,
    /// A scan marker that belongs after `chunks`, or nothing.
    marker: Bytes,
    merger: RowMerger,
}

impl Buffer {
    /// For a stream that goes on behind a row.
    pub(super) fn new(reversed: bool, last_key: Option<Bytes>) -> Self {
        let merger = RowMerger::new(reversed, last_key);
        Self { chunks: Vec::new().into_iter(), marker: Bytes::new(), merger }
    }

    /// Takes a response, when there is no further row in the one before.
    pub(super) fn take(&mut self, response: ReadRowsResponse) -> Result<(), String> {
        let marker = response.last_scanned_row_key;
        if !marker.is_empty() && self.merger.is_scanned_before(&marker, response.chunks.first()) {
            self.merger.scanned(marker)?;
        } else {
            self.marker = marker;
        }
        self.chunks = response.chunks.into_iter();
        Ok(())
    }

    pub(super) fn next(&mut self) -> Result<Option<Row>, String> {
        for chunk in self.chunks.by_ref() {
            if let Some(row) = self.merger.push(chunk)? {
                return Ok(Some(row));
            }
        }
        match std::mem::take(&mut self.marker) {
            marker if marker.is_empty() => Ok(None),
            marker => self.merger.scanned(marker).map(|()| None),
        }
    }

    pub(super) fn finish(&self) -> Result<(), String> {
        self.merger.finish()
    }

    /// How far the stream has come: its last row, or what the server says that it has scanned.
    pub(super) fn last_key(&self) -> Option<&Bytes> {
        self.merger.last_key()
    }
}
