//! How the answers to a query become rows.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};
use keyderive_proto::data::{PartialResultSet, ProtoRows, Value, partial_result_set::PartialRows};
use prost::Message as _;

/// The most bytes of a batch that the client accepts.
const MAX_BATCH_BYTES: usize = 256 << 20;

/// Puts the rows of a query together.
///
/// A batch of values comes in parts, the last of them with a checksum. A resume token says that the batches so far are whole
/// rows: only then are they delivered, since what came after the last token is void when the server resets the stream, or the
/// client resumes it.
#[derive(Debug, Default)]
pub(crate) struct Assembler {
    /// The parts of the batch that is not complete.
    batch: BytesMut,
    /// The values since the last token.
    values: Vec<Value>,
    /// The checksums of their batches, in one number.
    checksum: u32,
    /// Rows that may be delivered.
    rows: VecDeque<Vec<Value>>,
    /// The last token that came after rows, and the checksum of these.
    last: (Bytes, u32),
}

impl Assembler {
    /// Takes a part of an answer to a query with so many columns. Returns its resume token.
    ///
    /// # Errors
    /// How the answer breaks the protocol.
    pub(crate) fn take(&mut self, part: PartialResultSet, columns: usize) -> Result<Option<Bytes>, String> {
        if part.reset {
            self.restart();
        }
        if let Some(PartialRows::ProtoRowsBatch(rows)) = part.partial_rows {
            if self.batch.len() + rows.batch_data.len() > MAX_BATCH_BYTES {
                return Err(format!("a batch has more than {MAX_BATCH_BYTES} bytes"));
            }
            self.batch.extend_from_slice(&rows.batch_data);
        }
        if let Some(expected) = part.batch_checksum {
            let batch = self.batch.split().freeze();
            let found = crc32c::crc32c(&batch);
            if found != expected {
                return Err(format!(
                    "unexpected checksum of a batch: {found}, and the server says {expected}"
                ));
            }
            let rows =
                ProtoRows::decode(batch).map_err(|error| format!("a batch cannot be decoded: {error}"))?;
            self.values.extend(rows.values);
            self.checksum = self.checksum.rotate_left(1) ^ found;
        }
        if part.resume_token.is_empty() {
            return Ok(None);
        }
        if !self.batch.is_empty() {
            return Err("a resume token comes within a batch".to_owned());
        }
        if !self.values.len().is_multiple_of(columns) {
            let values = self.values.len();
            return Err(format!("incomplete row received: {values} values for rows of {columns} columns"));
        }
        let checksum = std::mem::take(&mut self.checksum);
        if !self.values.is_empty() {
            // A token stands for a place in the result, so a body has been sent twice. Servers for tests repeat the token alone.
            let last = (part.resume_token.clone(), checksum);
            if last == self.last {
                return Err("the rows before a resume token come a second time".to_owned());
            }
            self.last = last;
        }
        let mut values = std::mem::take(&mut self.values).into_iter();
        while values.len() > 0 {
            self.rows.push_back(values.by_ref().take(columns).collect());
        }
        Ok(Some(part.resume_token))
    }

    /// Drops what came after the last resume token.
    pub(crate) fn restart(&mut self) {
        self.batch.clear();
        self.values.clear();
        self.checksum = 0;
    }

    /// # Errors
    /// When rows are incomplete at the end of the answers.
    pub(crate) fn finish(&self) -> Result<(), String> {
        match self.batch.is_empty() && self.values.is_empty() {
            true => Ok(()),
            false => Err("it ends without a resume token for its last rows".to_owned()),
        }
    }

    pub(crate) fn has_rows(&self) -> bool {
        !self.rows.is_empty()
    }

    /// The next row: one value for each column.
    pub(crate) fn next_row(&mut self) -> Option<Vec<Value>> {
        self.rows.pop_front()
    }
}
