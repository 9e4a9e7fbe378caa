//! Rows out of the chunks in which the service streams them.
//!
//! A row is one chunk or many; a large value is several; a chunk may inherit family and qualifier from
//! the one before; and neither a row nor a value need end where a response does. A server may also take
//! back what it sent of a row. The rules are those that Google's clients enforce, with the reason in
//! each error.

use std::sync::Arc;

use bytes::Bytes;

use crate::row::{Cell, Row};
use crate::wire::data::read_rows_response::CellChunk;
use crate::wire::data::read_rows_response::cell_chunk::RowStatus;

/// What an answer that breaks the rules is told.
type Broken = String;

/// Merges the chunks of one `ReadRows` stream into rows.
pub(super) struct RowMerger {
    reversed: bool,
    /// The key of the last row that was committed, or that the server says it has scanned.
    last_key: Option<Bytes>,
    /// The family of the last cell, shared by the cells of every row that name it again.
    family: Arc<str>,
    row: Option<OpenRow>,
}

/// A row that no chunk has committed yet.
struct OpenRow {
    key: Bytes,
    cells: Vec<Cell>,
    qualifier: Bytes,
    split: Option<SplitCell>,
}

/// A cell of which only some pieces have come.
struct SplitCell {
    timestamp_micros: i64,
    labels: Vec<String>,
    size: usize,
    value: Vec<u8>,
}

impl RowMerger {
    /// A merger for a scan in key order, or against it when `reversed`, that goes on behind `last_key`.
    pub(super) fn new(reversed: bool, last_key: Option<Bytes>) -> Self {
        Self { reversed, last_key, family: Arc::from(""), row: None }
    }

    /// The key of the last row that was committed, or that the server says it has scanned.
    pub(super) fn last_key(&self) -> Option<&Bytes> {
        self.last_key.as_ref()
    }

    /// Takes the next chunk; the row, when the chunk commits it.
    pub(super) fn push(&mut self, chunk: CellChunk) -> Result<Option<Row>, Broken> {
        if chunk.row_status == Some(RowStatus::ResetRow(true)) {
            return self.reset(&chunk).map(|()| None);
        }
        let commit = chunk.row_status == Some(RowStatus::CommitRow(true));
        let mut row = match self.row.take() {
            None => self.open(&chunk)?,
            Some(row) if chunk.row_key.is_empty() || chunk.row_key == row.key => row,
            Some(row) => {
                return Err(format!("row {:?} begins before row {:?} is committed", chunk.row_key, row.key));
            }
        };
        if commit && chunk.value_size > 0 {
            return Err(format!("row {:?} is committed in the middle of a value", row.key));
        }
        match row.split.take() {
            None => self.begin_cell(&mut row, chunk)?,
            Some(split) => self.continue_cell(&mut row, split, &chunk)?,
        }
        if commit {
            self.last_key = Some(row.key.clone());
            return Ok(Some(Row::new(row.key, row.cells)));
        }
        self.row = Some(row);
        Ok(None)
    }

    /// Takes the server's word that it has scanned the table as far as `key`.
    pub(super) fn scanned(&mut self, key: Bytes) -> Result<(), Broken> {
        if let Some(row) = &self.row {
            return Err(format!("the scan is said to have come to {key:?} while row {:?} is open", row.key));
        }
        self.check_order(&key)?;
        self.last_key = Some(key);
        Ok(())
    }

    /// Whether the scan comes to `key` before it comes to the row that `chunk` begins. Of a response
    /// with both, Google's clients do not agree which is first.
    pub(super) fn is_scanned_before(&self, key: &Bytes, chunk: Option<&CellChunk>) -> bool {
        let begins = chunk.filter(|_| self.row.is_none()).map(|chunk| &chunk.row_key);
        begins.is_some_and(|first| if self.reversed { key > first } else { key < first })
    }

    /// Takes the end of the stream.
    pub(super) fn finish(&self) -> Result<(), Broken> {
        match &self.row {
            Some(row) => Err(format!("the stream ends before row {:?} is committed", row.key)),
            None => Ok(()),
        }
    }

    fn reset(&mut self, chunk: &CellChunk) -> Result<(), Broken> {
        let Some(row) = self.row.take() else {
            return Err("a reset comes while no row is open".to_owned());
        };
        let bare = chunk.row_key.is_empty() && chunk.value.is_empty() && chunk.value_size == 0;
        if bare && has_no_column(chunk) && has_no_version(chunk) {
            return Ok(());
        }
        Err(format!("the reset of row {:?} carries data", row.key))
    }

    fn open(&mut self, chunk: &CellChunk) -> Result<OpenRow, Broken> {
        if chunk.row_key.is_empty() {
            return Err("the first chunk of a row has no row key".to_owned());
        }
        self.check_order(&chunk.row_key)?;
        if chunk.family_name.is_none() {
            return Err(format!("the first chunk of row {:?} has no family", chunk.row_key));
        }
        if chunk.qualifier.is_none() {
            return Err(format!("the first chunk of row {:?} has no qualifier", chunk.row_key));
        }
        Ok(OpenRow { key: chunk.row_key.clone(), cells: Vec::new(), qualifier: Bytes::new(), split: None })
    }

    fn check_order(&self, key: &Bytes) -> Result<(), Broken> {
        let Some(last) = &self.last_key else { return Ok(()) };
        let (in_order, rule) = if self.reversed {
            (key < last, "strictly decreasing")
        } else {
            (key > last, "strictly increasing")
        };
        if in_order { Ok(()) } else { Err(format!("row keys must be {rule}, and {key:?} follows {last:?}")) }
    }

    /// A cell's first piece, which may be all of it.
    fn begin_cell(&mut self, row: &mut OpenRow, chunk: CellChunk) -> Result<(), Broken> {
        if let Some(family) = &chunk.family_name {
            if chunk.qualifier.is_none() {
                return Err(format!(
                    "family `{}` comes without a qualifier in row {:?}",
                    family.value, row.key
                ));
            }
            if *self.family != *family.value {
                self.family = Arc::from(family.value.as_str());
            }
        }
        if let Some(qualifier) = chunk.qualifier {
            row.qualifier = qualifier.value;
        }
        let size = size_of_value(&row.key, chunk.value_size)?;
        if size == 0 {
            self.end_cell(row, chunk.timestamp_micros, chunk.labels, chunk.value);
            return Ok(());
        }
        if chunk.value.is_empty() {
            return Err(format!("a piece of a value of {size} bytes is empty in row {:?}", row.key));
        }
        let split = SplitCell {
            timestamp_micros: chunk.timestamp_micros,
            labels: chunk.labels,
            size,
            value: Vec::new(),
        };
        row.split = Some(split.append(&row.key, &chunk.value)?);
        Ok(())
    }

    /// A further piece of a cell.
    fn continue_cell(
        &mut self,
        row: &mut OpenRow,
        split: SplitCell,
        chunk: &CellChunk,
    ) -> Result<(), Broken> {
        if !has_no_column(chunk) || !has_no_version(chunk) {
            return Err(format!("a further piece of a value names its cell again in row {:?}", row.key));
        }
        let size = size_of_value(&row.key, chunk.value_size)?;
        if size != 0 && size != split.size {
            return Err(format!(
                "a value of {} bytes is said to have {size} in a further piece, in row {:?}",
                split.size, row.key
            ));
        }
        let split = split.append(&row.key, &chunk.value)?;
        if size != 0 {
            row.split = Some(split);
            return Ok(());
        }
        if split.value.len() != split.size {
            return Err(format!(
                "the pieces of a value of {} bytes have {} bytes in row {:?}",
                split.size,
                split.value.len(),
                row.key
            ));
        }
        self.end_cell(row, split.timestamp_micros, split.labels, split.value.into());
        Ok(())
    }

    fn end_cell(&self, row: &mut OpenRow, timestamp_micros: i64, labels: Vec<String>, value: Bytes) {
        let (family, qualifier) = (self.family.clone(), row.qualifier.clone());
        row.cells.push(Cell { family, qualifier, timestamp_micros, value, labels });
    }
}

impl SplitCell {
    fn append(mut self, key: &Bytes, piece: &[u8]) -> Result<Self, Broken> {
        if piece.len() > self.size - self.value.len() {
            return Err(format!("the pieces of a value of {} bytes have more in row {key:?}", self.size));
        }
        self.value.extend_from_slice(piece);
        Ok(self)
    }
}

fn size_of_value(key: &Bytes, size: i32) -> Result<usize, Broken> {
    usize::try_from(size).map_err(|_| format!("a value has the size {size} in row {key:?}"))
}

fn has_no_column(chunk: &CellChunk) -> bool {
    chunk.family_name.is_none() && chunk.qualifier.is_none()
}

fn has_no_version(chunk: &CellChunk) -> bool {
    chunk.timestamp_micros == 0 && chunk.labels.is_empty()
}

#[cfg(test)]
mod tests;
