//! Rows out of the chunks in which the service streams them.
//!
//! A row is one chunk or many; a large value is several; a chunk may inherit family and qualifier from
//! the one before; and neither a row nor a value need end where a response does. A server may also take
//! back what it sent of a row. The rules are those that Google's clients enforce, with the reason in
//! each error.
//!
//! A row that lies in one message shares its bytes. One that goes over the end of a message, or has a value in pieces,
//! is copied as it comes.

mod chunk;

use std::mem;

use bytes::Bytes;

use self::chunk::{Chunk, Status};
use crate::row::{CellSpans, Row, RowBuilder, Shown, Span, TooLarge};

/// What an answer that breaks the rules is told.
type Broken = String;

/// Merges the chunks of one `ReadRows` stream into rows.
pub(super) struct RowMerger {
    reversed: bool,
    /// The key of the last row that was committed, or that the server says it has scanned; empty before the first.
    last_key: Vec<u8>,
    /// The last message, and how far it has been read.
    message: Bytes,
    at: usize,
    /// A scan marker that belongs behind the message's rows, or nothing.
    marker: Span,
    /// The last row, whole or not.
    row: Row,
    open: Open,
}

/// What has come of a row that no chunk has committed yet.
enum Open {
    None,
    /// It is all in the present message, as `row` says.
    Shared,
    Copied(RowBuilder),
    /// The last cell has come in part.
    Split(RowBuilder, SplitCell),
}

/// A cell of which only some pieces have come.
struct SplitCell {
    labels: Vec<Vec<u8>>,
    size: usize,
    received: usize,
}

impl RowMerger {
    /// A merger for a scan in key order, or against it when `reversed`, that goes on behind `last_key`.
    pub(super) fn new(reversed: bool, last_key: Option<&[u8]>) -> Self {
        Self {
            reversed,
            last_key: last_key.unwrap_or_default().to_vec(),
            message: Bytes::new(),
            at: 0,
            marker: Span::default(),
            row: Row::default(),
            open: Open::None,
        }
    }

    /// How far the stream has come: the key of the last row that was committed, or that the server says it has scanned.
    pub(super) fn last_key(&self) -> Option<&[u8]> {
        Some(&self.last_key[..]).filter(|key| !key.is_empty())
    }

    /// Takes a message, when there is no further row in the one before.
    pub(super) fn take(&mut self, message: Bytes) -> Result<(), Broken> {
        if let Open::Shared = self.open {
            self.open = Open::Copied(self.copied().map_err(too_large)?);
        }
        let marker = chunk::marker(&message)?;
        (self.message, self.at, self.marker) = (message, 0, Span::default());
        let key = marker.of(&self.message);
        if key.is_empty() {
            return Ok(());
        }
        if self.is_scanned_first(key)? {
            return self.scanned(marker);
        }
        self.marker = marker;
        Ok(())
    }

    /// Whether there is a further row in the message, which is [`row`](Self::row) then.
    #[inline]
    pub(super) fn advance(&mut self) -> Result<bool, Broken> {
        while let Some(chunk) = chunk::next(&self.message, &mut self.at)? {
            if self.push(chunk)? {
                return Ok(true);
            }
        }
        match mem::take(&mut self.marker) {
            marker if marker.len() == 0 => Ok(false),
            marker => self.scanned(marker).map(|()| false),
        }
    }

    /// The row that has been advanced to.
    #[inline]
    pub(super) fn row(&self) -> &Row {
        &self.row
    }

    /// Takes the end of the stream.
    pub(super) fn finish(&self) -> Result<(), Broken> {
        match &self.open {
            Open::None => Ok(()),
            _ => Err(format!("the stream ends before row {} is committed", Shown(self.open_key()))),
        }
    }

    /// Takes the next chunk; whether it commits a row.
    fn push(&mut self, chunk: Chunk) -> Result<bool, Broken> {
        if chunk.status == Status::Reset {
            return self.reset(&chunk).map(|()| false);
        }
        let commit = chunk.status == Status::Commit;
        let key = chunk.key.of(&self.message);
        match &self.open {
            Open::None => self.begin(&chunk)?,
            _ if key.is_empty() || key == self.open_key() => {}
            _ => {
                let open = Shown(self.open_key());
                return Err(format!("row {} begins before row {open} is committed", Shown(key)));
            }
        }
        if commit && chunk.value_size > 0 {
            return Err(format!("row {} is committed in the middle of a value", Shown(self.open_key())));
        }
        match mem::replace(&mut self.open, Open::None) {
            Open::Split(row, split) => self.continue_cell(row, split, &chunk)?,
            open => {
                self.open = open;
                self.begin_cell(chunk)?;
            }
        }
        if commit {
            self.commit();
        }
        Ok(commit)
    }

    fn commit(&mut self) {
        match mem::replace(&mut self.open, Open::None) {
            Open::Copied(row) | Open::Split(row, _) => self.row = row.build(),
            Open::None | Open::Shared => {}
        }
        self.last_key.clear();
        self.last_key.extend_from_slice(self.row.key.of(&self.row.bytes));
    }

    /// The key of the row that is open.
    fn open_key(&self) -> &[u8] {
        match &self.open {
            Open::Copied(row) | Open::Split(row, _) => row.key(),
            Open::None | Open::Shared => self.row.key(),
        }
    }

    /// Takes the server's word that it has scanned the table as far as a key of the message.
    fn scanned(&mut self, marker: Span) -> Result<(), Broken> {
        let key = marker.of(&self.message);
        if !matches!(self.open, Open::None) {
            let open = Shown(self.open_key());
            return Err(format!("the scan is said to have come to {} while row {open} is open", Shown(key)));
        }
        self.check_order(key)?;
        self.last_key.clear();
        self.last_key.extend_from_slice(key);
        Ok(())
    }

    /// Whether the scan comes to `key` before it comes to the row that the message begins with. Of a response with
    /// both, Google's clients do not agree which is first.
    fn is_scanned_first(&self, key: &[u8]) -> Result<bool, Broken> {
        if !matches!(self.open, Open::None) {
            return Ok(false);
        }
        let Some(chunk) = chunk::next(&self.message, &mut 0)? else { return Ok(false) };
        let first = chunk.key.of(&self.message);
        Ok(if self.reversed { key > first } else { key < first })
    }

    fn reset(&mut self, chunk: &Chunk) -> Result<(), Broken> {
        if let Open::None = self.open {
            return Err("a reset comes while no row is open".to_owned());
        }
        let bare = chunk.key.len() == 0 && chunk.value.len() == 0 && chunk.value_size == 0;
        if !bare || !has_no_column(chunk) || !has_no_version(chunk) {
            return Err(format!("the reset of row {} carries data", Shown(self.open_key())));
        }
        self.open = Open::None;
        Ok(())
    }

    fn begin(&mut self, chunk: &Chunk) -> Result<(), Broken> {
        let key = chunk.key.of(&self.message);
        if key.is_empty() {
            return Err("the first chunk of a row has no row key".to_owned());
        }
        self.check_order(key)?;
        if chunk.family.is_none() {
            return Err(format!("the first chunk of row {} has no family", Shown(key)));
        }
        if chunk.qualifier.is_none() {
            return Err(format!("the first chunk of row {} has no qualifier", Shown(key)));
        }
        if self.row.bytes.as_ptr() != self.message.as_ptr() || self.row.bytes.len() != self.message.len() {
            self.row.bytes = self.message.clone();
        }
        self.row.key = chunk.key;
        self.row.cells.clear();
        self.row.labels.clear();
        self.open = Open::Shared;
        Ok(())
    }

    fn check_order(&self, key: &[u8]) -> Result<(), Broken> {
        let last = &self.last_key[..];
        let in_order = if self.reversed { key < last } else { key > last };
        if in_order || last.is_empty() {
            return Ok(());
        }
        let rule = if self.reversed { "strictly decreasing" } else { "strictly increasing" };
        Err(format!("row keys must be {rule}, and {} follows {}", Shown(key), Shown(last)))
    }

    /// A cell's first piece, which may be all of it.
    #[inline]
    fn begin_cell(&mut self, chunk: Chunk) -> Result<(), Broken> {
        if let (Some(family), None) = (chunk.family, chunk.qualifier) {
            let (family, key) = (Shown(family.of(&self.message)), Shown(self.open_key()));
            return Err(format!("family {family} comes without a qualifier in row {key}"));
        }
        let size = size_of_value(self.open_key(), chunk.value_size)?;
        if size != 0 {
            return self.begin_pieces(&chunk, size);
        }
        let message = &self.message;
        match &mut self.open {
            Open::Copied(row) | Open::Split(row, _) => copy_cell(row, &chunk, message).map_err(too_large)?,
            Open::None | Open::Shared => {
                let last = self.row.cells.last();
                // A row's first cell has both.
                let family = chunk.family.or(last.map(|cell| cell.family)).unwrap_or_default();
                let qualifier = chunk.qualifier.or(last.map(|cell| cell.qualifier)).unwrap_or_default();
                let Chunk { timestamp_micros, value, .. } = chunk;
                if !chunk.labels.is_empty() {
                    let number = self.row.cells.len();
                    self.row.labels.extend(chunk.labels.into_iter().map(|label| (number, label)));
                }
                self.row.cells.push(CellSpans { family, qualifier, value, timestamp_micros });
            }
        }
        Ok(())
    }

    /// The first of several pieces of a cell.
    fn begin_pieces(&mut self, chunk: &Chunk, size: usize) -> Result<(), Broken> {
        if chunk.value.len() == 0 {
            let key = Shown(self.open_key());
            return Err(format!("a piece of a value of {size} bytes is empty in row {key}"));
        }
        let mut row = match mem::replace(&mut self.open, Open::None) {
            Open::Copied(row) | Open::Split(row, _) => row,
            Open::None | Open::Shared => self.copied().map_err(too_large)?,
        };
        let labels = chunk.labels.iter().map(|label| label.of(&self.message).to_vec()).collect();
        begin_copy(&mut row, chunk, &self.message).map_err(too_large)?;
        let mut split = SplitCell { labels, size, received: 0 };
        split.append(&mut row, chunk.value.of(&self.message))?;
        self.open = Open::Split(row, split);
        Ok(())
    }

    /// A further piece of a cell.
    fn continue_cell(
        &mut self,
        mut row: RowBuilder,
        mut split: SplitCell,
        chunk: &Chunk,
    ) -> Result<(), Broken> {
        if !has_no_column(chunk) || !has_no_version(chunk) {
            let key = Shown(row.key());
            return Err(format!("a further piece of a value names its cell again in row {key}"));
        }
        let size = size_of_value(row.key(), chunk.value_size)?;
        let SplitCell { size: whole, .. } = split;
        if size != 0 && size != whole {
            let key = Shown(row.key());
            return Err(format!(
                "a value of {whole} bytes is said to have {size} in a further piece, in row {key}"
            ));
        }
        split.append(&mut row, chunk.value.of(&self.message))?;
        if size != 0 {
            self.open = Open::Split(row, split);
            return Ok(());
        }
        if split.received != whole {
            let (key, received) = (Shown(row.key()), split.received);
            return Err(format!("the pieces of a value of {whole} bytes have {received} bytes in row {key}"));
        }
        for label in &split.labels {
            row.label(label).map_err(too_large)?;
        }
        self.open = Open::Copied(row);
        Ok(())
    }

    /// The row that is open, and shares the message, in memory of its own.
    fn copied(&self) -> Result<RowBuilder, TooLarge> {
        let mut row = RowBuilder::new(self.row.key())?;
        for cell in self.row.cells() {
            row.cell(Some(cell.family_bytes()), Some(cell.qualifier()), cell.timestamp_micros())?;
            row.value(cell.value())?;
            for label in cell.labels() {
                row.label(label.as_bytes())?;
            }
        }
        Ok(row)
    }
}

/// Adds a whole cell of a message to a row.
fn copy_cell(row: &mut RowBuilder, chunk: &Chunk, message: &[u8]) -> Result<(), TooLarge> {
    begin_copy(row, chunk, message)?;
    row.value(chunk.value.of(message))?;
    chunk.labels.iter().try_for_each(|label| row.label(label.of(message)))
}

/// Begins a cell of a message in a row.
fn begin_copy(row: &mut RowBuilder, chunk: &Chunk, message: &[u8]) -> Result<(), TooLarge> {
    let column = |span: Option<Span>| span.map(|span| span.of(message));
    row.cell(column(chunk.family), column(chunk.qualifier), chunk.timestamp_micros)
}

impl SplitCell {
    fn append(&mut self, row: &mut RowBuilder, piece: &[u8]) -> Result<(), Broken> {
        if piece.len() > self.size - self.received {
            let (key, size) = (Shown(row.key()), self.size);
            return Err(format!("the pieces of a value of {size} bytes have more in row {key}"));
        }
        self.received += piece.len();
        row.value(piece).map_err(too_large)
    }
}

fn size_of_value(key: &[u8], size: i32) -> Result<usize, Broken> {
    usize::try_from(size).map_err(|_| format!("a value has the size {size} in row {}", Shown(key)))
}

fn has_no_column(chunk: &Chunk) -> bool {
    chunk.family.is_none() && chunk.qualifier.is_none()
}

fn has_no_version(chunk: &Chunk) -> bool {
    chunk.timestamp_micros == 0 && chunk.labels.is_empty()
}

fn too_large(_: TooLarge) -> Broken {
    "a row has more than 4 GiB".to_owned()
}

#[cfg(test)]
mod tests;
