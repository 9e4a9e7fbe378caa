//! Merges the cell chunks that the service streams into rows.
//!
//! A row is one chunk or many; a large value is split over several; a chunk may inherit family and qualifier from the one
//! before; rows and values may span messages. The server may also reset a row that it has sent in part. The rules are
//! those that Google's clients enforce; each error says which one was broken.
//!
//! A row within one message borrows its bytes. A row that spans messages, or has a split value, is copied.

mod chunk;
mod fast_path;
mod requested;

use std::{fmt, mem};

use bytes::Bytes;
use keyderive_proto::data::RequestStats;
use prost::Message as _;

use self::chunk::{Chunk, MessagePart, Status};
use self::fast_path::LastNumber;
pub(super) use self::requested::{KeyOrRange, RequestedRows, in_key_order};
use super::fault;
use super::stats::ReadCost;
use crate::client::Clock;
use crate::row::{CellSpans, RawRow, RowBuilder, Shown as ShownBytes, Span, TooLarge};

/// A minute in microseconds, the unit of cell timestamps. Clocks differ by less.
const MINUTE: i64 = 60_000_000;

/// Which rule an answer breaks.
type ProtocolViolation = String;

/// Bytes from the server; an error shows only the first ones.
struct Shown<'a>(&'a [u8]);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const MAX_BYTES: usize = 256;
        match self.0.get(..MAX_BYTES).filter(|start| start.len() < self.0.len()) {
            Some(start) => write!(f, "{}… (of {} bytes)", ShownBytes(start), self.0.len()),
            None => write!(f, "{}", ShownBytes(self.0)),
        }
    }
}

/// Why the rows of an answer cannot be read.
#[derive(Debug)]
pub(super) enum MergeError {
    ProtocolViolation(ProtocolViolation),
    /// The row with this key takes more than this many bytes.
    TooLarge(Bytes, usize),
}

impl From<ProtocolViolation> for MergeError {
    fn from(violation: ProtocolViolation) -> Self {
        Self::ProtocolViolation(violation)
    }
}

impl From<MergeError> for tonic::Status {
    fn from(error: MergeError) -> Self {
        match error {
            MergeError::ProtocolViolation(how) => fault::ProtocolViolation::status(how),
            MergeError::TooLarge(_, limit) => fault::TooLarge::Row(limit).status(),
        }
    }
}

/// Merges the chunks of one `ReadRows` stream into rows.
pub(super) struct RowMerger {
    requested: RequestedRows,
    /// The key of the last committed row, if it lies in the current message.
    last: Option<Span>,
    /// Otherwise the last key that was committed, or that the server reports as scanned; empty before the first.
    last_key: Vec<u8>,
    /// Whether no row was open when the current message arrived.
    starts_between_rows: bool,
    /// `last_key` as it was when the message arrived, if a row of the message has changed it.
    key_before: Option<Vec<u8>>,
    /// The current message, and the position in it.
    message: Bytes,
    at: usize,
    last_number: LastNumber,
    clock: Clock,
    /// A cell with a later timestamp than this is from the future, by that clock.
    latest: i64,
    /// How many cells were from the future since the last [`take_future_cells`](Self::take_future_cells).
    future_cells: u64,
    /// How many keys were reported as scanned since the last [`take_scanned`](Self::take_scanned).
    scanned: u64,
    /// The key that the message reports as scanned; empty if it has reported none yet.
    scanned_key: Span,
    /// What the server says that the request has cost.
    cost: Option<Box<ReadCost>>,
    /// The current row, complete or not.
    row: RawRow,
    open: Open,
    /// How many bytes a row may take.
    limit: usize,
}

/// The part of a row that no chunk has committed yet.
enum Open {
    None,
    /// It lies in the current message: `row` has its cells.
    Shared,
    Copied(Box<RowBuilder>),
    /// Its last cell is incomplete.
    Split(Box<SplitCell>),
}

/// An incomplete cell, and its row up to that cell.
struct SplitCell {
    row: Box<RowBuilder>,
    labels: Vec<Vec<u8>>,
    size: usize,
    received: usize,
}

impl RowMerger {
    /// A merger for a read of these rows that resumes after `last_key`. A row may take at most `limit` bytes.
    pub(super) fn new(requested: RequestedRows, last_key: Option<&[u8]>, clock: Clock, limit: usize) -> Self {
        // Spans have 32 bits.
        let limit = limit.min(usize::try_from(u32::MAX).unwrap_or(usize::MAX));
        Self {
            limit,
            clock,
            requested,
            last: None,
            last_key: last_key.unwrap_or_default().to_vec(),
            starts_between_rows: true,
            key_before: None,
            message: Bytes::new(),
            at: 0,
            last_number: LastNumber::default(),
            latest: i64::MAX,
            future_cells: 0,
            scanned: 0,
            scanned_key: Span::default(),
            cost: None,
            row: RawRow::default(),
            open: Open::None,
        }
    }

    /// The last key that was committed, or that the server reports as scanned.
    pub(super) fn last_key(&self) -> Option<&[u8]> {
        Some(self.last_seen()).filter(|key| !key.is_empty())
    }

    #[inline]
    fn last_seen(&self) -> &[u8] {
        self.last.map_or(&self.last_key[..], |key| key.of(&self.message))
    }

    /// How many cells were more than a minute in the future since the last call.
    pub(super) fn take_future_cells(&mut self) -> u64 {
        mem::take(&mut self.future_cells)
    }

    /// How many keys the server has reported as scanned since the last call, each with no row.
    pub(super) fn take_scanned(&mut self) -> u64 {
        mem::take(&mut self.scanned)
    }

    /// What the server says that the request has cost, if it has said so.
    pub(super) fn cost(&self) -> Option<ReadCost> {
        self.cost.as_deref().copied()
    }

    /// Takes the next message, once the one before has no further row.
    pub(super) fn take(&mut self, message: Bytes) -> Result<(), MergeError> {
        if let Open::Shared = self.open {
            self.open = Open::Copied(self.copy()?);
        }
        if let Some(key) = self.last.take() {
            self.last_key.clear();
            self.last_key.extend_from_slice(key.of(&self.message));
        }
        if u32::try_from(message.len()).is_err() {
            return Err("a message has more than 4 GiB".to_owned().into());
        }
        (self.starts_between_rows, self.key_before) = (matches!(self.open, Open::None), None);
        self.latest = self.clock.now_micros().saturating_add(MINUTE);
        (self.message, self.at, self.scanned_key) = (message, 0, Span::default());
        Ok(())
    }

    /// Advances [`row`](Self::row) to the next row; returns false if the message has no further one.
    #[inline]
    pub(super) fn advance(&mut self) -> Result<bool, MergeError> {
        if self.try_fast_path() { Ok(true) } else { self.advance_by_chunks() }
    }

    fn advance_by_chunks(&mut self) -> Result<bool, MergeError> {
        loop {
            match chunk::next(&self.message, &mut self.at)? {
                MessagePart::Chunk(chunk) => {
                    if self.push(&chunk)? || self.try_fast_path() {
                        return Ok(true);
                    }
                }
                MessagePart::Scanned(scanned_key) => self.scanned_key = scanned_key,
                MessagePart::Stats(stats) => self.note_cost(stats)?,
                MessagePart::End => {
                    self.end_message()?;
                    return Ok(false);
                }
            }
        }
    }

    #[cold]
    fn note_cost(&mut self, stats: Span) -> Result<(), ProtocolViolation> {
        let stats = RequestStats::decode(stats.of(&self.message));
        let stats = stats.map_err(|error| format!("its request statistics cannot be decoded: {error}"))?;
        self.cost = ReadCost::of(&stats).map(Box::new);
        Ok(())
    }

    /// Applies the reported scan position after the rows of the message.
    fn end_message(&mut self) -> Result<(), ProtocolViolation> {
        let scanned_key = mem::take(&mut self.scanned_key);
        if scanned_key.is_empty() {
            return Ok(());
        }
        self.scanned += 1;
        match self.starts_between_rows && self.is_scanned_first(scanned_key.of(&self.message))? {
            // The rows of the message lie after the position.
            true if self.last.is_some() || self.key_before.is_some() => {
                let before = self.key_before.as_ref().unwrap_or(&self.last_key);
                self.check_order_after(before, scanned_key.of(&self.message))
            }
            true => Ok(()),
            false => self.scanned(scanned_key),
        }
    }

    /// Calls `f` on the current row and the rows already buffered, at most `max`, until `f` returns false. Returns how
    /// many rows it advanced by.
    #[inline]
    pub(super) fn buffered(&mut self, max: u64, mut f: impl FnMut(&RawRow) -> bool) -> u64 {
        let mut advanced = 0;
        while f(&self.row) && advanced + 1 < max && self.try_fast_path() {
            advanced += 1;
        }
        advanced
    }

    /// The current row.
    #[inline]
    pub(super) fn row(&self) -> &RawRow {
        &self.row
    }

    /// Checks the end of the stream: no row may be open.
    pub(super) fn finish(&self) -> Result<(), ProtocolViolation> {
        match &self.open {
            Open::None => Ok(()),
            _ => Err(format!("the stream ends before row {} is committed", Shown(self.open_key()))),
        }
    }

    /// Adds a chunk; returns whether it commits a row.
    fn push(&mut self, chunk: &Chunk) -> Result<bool, MergeError> {
        if chunk.status == Status::Reset {
            self.reset(chunk)?;
            return Ok(false);
        }
        self.future_cells += u64::from(chunk.timestamp_micros > self.latest);
        let commit = chunk.status == Status::Commit;
        match self.open {
            Open::None => self.begin(chunk)?,
            _ => self.check_key(chunk)?,
        }
        if commit && chunk.value_size > 0 {
            let key = Shown(self.open_key());
            return Err(format!("row {key} is committed in the middle of a value").into());
        }
        match mem::replace(&mut self.open, Open::None) {
            Open::Split(split) => self.continue_cell(*split, chunk)?,
            open => {
                self.open = open;
                self.begin_cell(chunk)?;
            }
        }
        if !commit {
            return Ok(false);
        }
        match mem::replace(&mut self.open, Open::None) {
            Open::Copied(row) => {
                self.row = row.build();
                self.last = None;
                let before = mem::take(&mut self.last_key);
                self.key_before.get_or_insert(before);
                self.last_key.extend_from_slice(self.row.key());
            }
            _ => self.last = Some(self.row.key),
        }
        Ok(true)
    }

    /// The key of the open row.
    fn open_key(&self) -> &[u8] {
        match &self.open {
            Open::Copied(row) => row.key(),
            Open::Split(split) => split.row.key(),
            Open::None | Open::Shared => self.row.key(),
        }
    }

    /// Fails if a chunk belongs to another row than the open one.
    fn check_key(&self, chunk: &Chunk) -> Result<(), ProtocolViolation> {
        let key = chunk.key.of(&self.message);
        if key.is_empty() || key == self.open_key() {
            return Ok(());
        }
        Err(format!("row {} begins before row {} is committed", Shown(key), Shown(self.open_key())))
    }

    /// Takes a key that the server reports as scanned.
    fn scanned(&mut self, scanned_key: Span) -> Result<(), ProtocolViolation> {
        let key = scanned_key.of(&self.message);
        if !matches!(self.open, Open::None) {
            let open = Shown(self.open_key());
            return Err(format!("the server reports {} as scanned while row {open} is open", Shown(key)));
        }
        self.check_order(key)?;
        self.last = None;
        self.last_key.clear();
        self.last_key.extend_from_slice(scanned_key.of(&self.message));
        Ok(())
    }

    /// Whether `key`, reported as scanned, lies before the first row of the message. Google's clients disagree on which
    /// comes first in a message with both.
    fn is_scanned_first(&self, key: &[u8]) -> Result<bool, ProtocolViolation> {
        let mut at = 0;
        loop {
            match chunk::next(&self.message, &mut at)? {
                MessagePart::Chunk(chunk) => {
                    let first = chunk.key.of(&self.message);
                    return Ok(if self.requested.is_reversed() { key > first } else { key < first });
                }
                MessagePart::Scanned(_) | MessagePart::Stats(_) => {}
                MessagePart::End => return Ok(false),
            }
        }
    }

    fn reset(&mut self, chunk: &Chunk) -> Result<(), ProtocolViolation> {
        if let Open::None = self.open {
            return Err("a reset comes while no row is open".to_owned());
        }
        let bare = chunk.key.is_empty() && chunk.value.is_empty() && chunk.value_size == 0;
        if !bare || !has_no_column(chunk) || !has_no_version(chunk) {
            return Err(format!("the reset of row {} carries data", Shown(self.open_key())));
        }
        self.open = Open::None;
        Ok(())
    }

    fn begin(&mut self, chunk: &Chunk) -> Result<(), ProtocolViolation> {
        let key = chunk.key.of(&self.message);
        if key.is_empty() {
            return Err("the first chunk of a row has no row key".to_owned());
        }
        self.check_order(key)?;
        if !self.requested.advance_to(key) {
            return Err(format!("row {} was not asked for", Shown(key)));
        }
        if chunk.family.is_none() {
            return Err(format!("the first chunk of row {} has no family", Shown(key)));
        }
        if chunk.qualifier.is_none() {
            return Err(format!("the first chunk of row {} has no qualifier", Shown(key)));
        }
        self.begin_row(chunk.key);
        self.open = Open::Shared;
        Ok(())
    }

    /// Begins a row that borrows from the current message.
    #[inline]
    fn begin_row(&mut self, key: Span) {
        if self.row.bytes.as_ptr() != self.message.as_ptr() || self.row.bytes.len() != self.message.len() {
            self.row.bytes = self.message.clone();
        }
        self.row.key = key;
        self.row.cells.clear();
        self.row.labels.clear();
    }

    #[inline]
    fn is_in_order(&self, last: &[u8], key: &[u8]) -> bool {
        last.is_empty() || if self.requested.is_reversed() { key < last } else { key > last }
    }

    fn check_order(&self, key: &[u8]) -> Result<(), ProtocolViolation> {
        self.check_order_after(self.last_seen(), key)
    }

    fn check_order_after(&self, last: &[u8], key: &[u8]) -> Result<(), ProtocolViolation> {
        if self.is_in_order(last, key) {
            return Ok(());
        }
        let rule = if self.requested.is_reversed() { "strictly decreasing" } else { "strictly increasing" };
        Err(format!("row keys must be {rule}, and {} follows {}", Shown(key), Shown(last)))
    }

    /// Fails if a cell names a family without a qualifier.
    fn check_column(&self, chunk: &Chunk) -> Result<(), ProtocolViolation> {
        let (Some(family), None) = (chunk.family, chunk.qualifier) else { return Ok(()) };
        let (family, key) = (Shown(family.of(&self.message)), Shown(self.open_key()));
        Err(format!("family {family} comes without a qualifier in row {key}"))
    }

    /// Adds a whole cell to a row that borrows from the current message.
    fn share_cell(&mut self, chunk: &Chunk) -> Result<(), MergeError> {
        if !self.has_room_for_cell() {
            return Err(self.too_large(self.row.key()));
        }
        let last = self.row.cells.last();
        // A row's first cell has both.
        let family = self.family(chunk.family, last.map(|cell| cell.family));
        let qualifier = chunk.qualifier.or(last.map(|cell| cell.qualifier)).unwrap_or_default();
        let Chunk { timestamp_micros, value, .. } = *chunk;
        if !chunk.labels.is_empty() {
            let number = self.row.cells.len();
            let labels = chunk.labels.of(&self.message).into_iter();
            self.row.labels.extend(labels.map(|label| (number, label)));
        }
        self.row.cells.push(CellSpans { family, qualifier, value, timestamp_micros });
        Ok(())
    }

    /// Whether a further cell of a row that borrows from the current message is within the limit. Such cells may take 16
    /// times the message's own bytes.
    #[inline(always)]
    fn has_room_for_cell(&self) -> bool {
        self.row.cells.len() < self.limit / size_of::<CellSpans>()
    }

    #[cold]
    fn too_large(&self, key: &[u8]) -> MergeError {
        MergeError::TooLarge(Bytes::copy_from_slice(key), self.limit)
    }

    /// A copy of the row that borrows from the current message.
    fn copy(&self) -> Result<Box<RowBuilder>, MergeError> {
        let copy = RowBuilder::copy_of(&self.row, self.limit).map_err(|_| self.too_large(self.row.key()))?;
        Ok(Box::new(copy))
    }

    /// The span of a cell's family. It is the last cell's span if the name is the same, so that comparing them is
    /// cheap.
    #[inline]
    fn family(&self, family: Option<Span>, last: Option<Span>) -> Span {
        match (family, last) {
            (Some(family), Some(last)) if family.of(&self.message) == last.of(&self.message) => last,
            (family, last) => family.or(last).unwrap_or_default(),
        }
    }

    /// Begins a cell, which may be complete.
    fn begin_cell(&mut self, chunk: &Chunk) -> Result<(), MergeError> {
        self.check_column(chunk)?;
        let size = size_of_value(self.open_key(), chunk.value_size)?;
        if size != 0 {
            return self.begin_pieces(chunk, size);
        }
        match mem::replace(&mut self.open, Open::Shared) {
            Open::Copied(mut row) => {
                copy_cell(&mut row, chunk, &self.message).map_err(|_| self.too_large(row.key()))?;
                self.open = Open::Copied(row);
                Ok(())
            }
            _ => self.share_cell(chunk),
        }
    }

    /// Begins a cell of several pieces.
    fn begin_pieces(&mut self, chunk: &Chunk, size: usize) -> Result<(), MergeError> {
        if chunk.value.is_empty() {
            let key = Shown(self.open_key());
            return Err(format!("a piece of a value of {size} bytes is empty in row {key}").into());
        }
        let mut row = match mem::replace(&mut self.open, Open::None) {
            Open::Copied(row) => row,
            _ => self.copy()?,
        };
        let labels = chunk.labels.of(&self.message);
        let labels = labels.into_iter().map(|label| label.of(&self.message).to_vec()).collect();
        begin_copy(&mut row, chunk, &self.message).map_err(|_| self.too_large(row.key()))?;
        let mut split = SplitCell { row, labels, size, received: 0 };
        self.append(&mut split, chunk.value)?;
        self.open = Open::Split(Box::new(split));
        Ok(())
    }

    /// Adds a piece to the incomplete cell.
    fn continue_cell(&mut self, mut split: SplitCell, chunk: &Chunk) -> Result<(), MergeError> {
        if !has_no_column(chunk) || !has_no_version(chunk) {
            let key = Shown(split.row.key());
            return Err(format!("a further piece of a value names its cell again in row {key}").into());
        }
        let size = size_of_value(split.row.key(), chunk.value_size)?;
        let SplitCell { size: whole, .. } = split;
        if size != 0 && size != whole {
            let key = Shown(split.row.key());
            return Err(format!(
                "a further piece of a value of {whole} bytes states {size} bytes in row {key}"
            )
            .into());
        }
        self.append(&mut split, chunk.value)?;
        if size != 0 {
            self.open = Open::Split(Box::new(split));
            return Ok(());
        }
        let SplitCell { mut row, labels, received, .. } = split;
        if received != whole {
            let key = Shown(row.key());
            return Err(
                format!("the pieces of a value of {whole} bytes have {received} bytes in row {key}").into()
            );
        }
        labels.iter().try_for_each(|label| row.label(label)).map_err(|_| self.too_large(row.key()))?;
        self.open = Open::Copied(row);
        Ok(())
    }

    /// Adds a piece to an incomplete cell.
    fn append(&self, split: &mut SplitCell, piece: Span) -> Result<(), MergeError> {
        let piece = piece.of(&self.message);
        if piece.len() > split.size - split.received {
            let (key, size) = (Shown(split.row.key()), split.size);
            return Err(format!(
                "the pieces of a value of {size} bytes have more bytes than that in row {key}"
            )
            .into());
        }
        split.received += piece.len();
        split.row.value(piece).map_err(|_| self.too_large(split.row.key()))
    }
}

/// Copies a whole cell into a row.
fn copy_cell(row: &mut RowBuilder, chunk: &Chunk, message: &[u8]) -> Result<(), TooLarge> {
    begin_copy(row, chunk, message)?;
    row.value(chunk.value.of(message))?;
    chunk.labels.of(message).iter().try_for_each(|label| row.label(label.of(message)))
}

/// Copies the column and the timestamp of a cell into a row.
fn begin_copy(row: &mut RowBuilder, chunk: &Chunk, message: &[u8]) -> Result<(), TooLarge> {
    let column = |span: Option<Span>| span.map(|span| span.of(message));
    row.cell(column(chunk.family), column(chunk.qualifier), chunk.timestamp_micros)
}

fn size_of_value(key: &[u8], size: i32) -> Result<usize, ProtocolViolation> {
    usize::try_from(size).map_err(|_| format!("a value has the size {size} in row {}", Shown(key)))
}

fn has_no_column(chunk: &Chunk) -> bool {
    chunk.family.is_none() && chunk.qualifier.is_none()
}

fn has_no_version(chunk: &Chunk) -> bool {
    chunk.timestamp_micros == 0 && chunk.labels.is_empty()
}

#[cfg(test)]
mod tests;
