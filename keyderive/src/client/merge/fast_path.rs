//! Cells as all servers write nearly all of them, read in one go.
//!
//! What is read here is what the [chunks](super::chunk) say, which are read more slowly: a whole cell, without labels, whose
//! fields are in the order of their numbers, each once, and whose names are neither empty nor long. Of whatever is
//! otherwise nothing is said.

use super::chunk::is_text;
use super::{Open, RowMerger};
use crate::client::protobuf::short_varint;
use crate::row::{CellSpans, Span};

/// A whole cell, as places in its message.
#[derive(Clone, Copy, Debug)]
pub(super) struct WholeCell {
    /// The key of its row; empty where it is that of the cell before.
    pub(super) key: Span,
    pub(super) family: Option<Span>,
    pub(super) qualifier: Option<Span>,
    pub(super) timestamp_micros: i64,
    pub(super) value: Span,
    pub(super) is_committed: bool,
}

/// The first byte of a field: its number and its form.
const CHUNK: u8 = 0x0a;
const KEY: u8 = 0x0a;
const FAMILY: u8 = 0x12;
const QUALIFIER: u8 = 0x1a;
const TIMESTAMP: u8 = 0x20;
const VALUE: u8 = 0x32;
const COMMIT: u8 = 0x48;

/// The one field of a message around a name.
const NAME: u8 = 0x0a;

/// The cell of the chunk at this place in a message, and where it ends; none if the chunk has another shape, or there is none.
/// The message has less than 4 GiB.
#[inline(always)]
pub(super) fn cell(message: &[u8], at: usize, last: &mut LastNumber) -> Option<(WholeCell, usize)> {
    let (chunk, after) = split(CHUNK, message.get(at..)?)?;
    let end = message.len() - after.len();
    let mut fields = Fields { rest: chunk, end };
    let key = fields.bytes(KEY);
    let family = fields.name(FAMILY);
    let qualifier = fields.name(QUALIFIER);
    let timestamp_micros = fields.number(TIMESTAMP, last);
    let value = fields.bytes(VALUE);
    let is_committed = match *fields.rest {
        [] => false,
        [COMMIT, 1] => true,
        _ => return None,
    };
    Some((WholeCell { key, family, qualifier, timestamp_micros, value, is_committed }, end))
}

/// The fields of a chunk that have not been read. A field of another shape stays there, with all that follow.
struct Fields<'m> {
    rest: &'m [u8],
    /// Where they end in the message.
    end: usize,
}

impl<'m> Fields<'m> {
    /// The place of the last bytes that were taken, before the rest.
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "messages have less than 4 GiB")]
    fn taken(&mut self, len: usize, rest: &'m [u8]) -> Span {
        self.rest = rest;
        let end = self.end - rest.len();
        Span::new((end - len) as u32, end as u32)
    }

    #[inline(always)]
    fn bytes(&mut self, field: u8) -> Span {
        match split(field, self.rest) {
            Some((bytes, rest)) => self.taken(bytes.len(), rest),
            None => Span::default(),
        }
    }

    /// A name of up to 125 bytes, which is in a message of its own.
    #[inline(always)]
    fn name(&mut self, field: u8) -> Option<Span> {
        match *self.rest {
            [tag, outer @ ..0x80, NAME, len, ref rest @ ..]
                if tag == field && outer == len.wrapping_add(2) =>
            {
                let (name, rest) = rest.split_at_checked(len.into())?;
                Some(self.taken(name.len(), rest))
            }
            _ => None,
        }
    }

    /// A number of up to 56 bits; 0 where there is none.
    #[inline(always)]
    #[expect(clippy::little_endian_bytes, reason = "protobuf's numbers have their lowest byte first")]
    fn number(&mut self, field: u8, last: &mut LastNumber) -> i64 {
        if let [tag, ref rest @ ..] = *self.rest
            && tag == field
            && let Some(word) = rest.first_chunk()
            && let Some((number, len)) = last.or_read(u64::from_le_bytes(*word))
        {
            self.rest = &rest[len..];
            return number.cast_signed();
        }
        0
    }
}

/// The number that was read last. The cells of a row mostly have one timestamp.
#[derive(Clone, Copy, Debug)]
pub(super) struct LastNumber {
    /// The eight bytes that it began.
    word: u64,
    number: u64,
    len: usize,
}

impl Default for LastNumber {
    fn default() -> Self {
        Self { word: 0, number: 0, len: 1 }
    }
}

impl LastNumber {
    /// What these bytes begin with.
    #[inline(always)]
    fn or_read(&mut self, word: u64) -> Option<(u64, usize)> {
        if word != self.word {
            let (number, len) = short_varint(word)?;
            *self = Self { word, number, len };
        }
        Some((self.number, self.len))
    }
}

/// The bytes of the field that comes next, and what is after it, if it is this one and has less than 16 KiB.
#[inline(always)]
fn split(field: u8, rest: &[u8]) -> Option<(&[u8], &[u8])> {
    match *rest {
        [tag, len @ ..0x80, ref rest @ ..] if tag == field => rest.split_at_checked(len.into()),
        [tag, low, high @ ..0x80, ref rest @ ..] if tag == field => {
            rest.split_at_checked(usize::from(low & 0x7f) | usize::from(high) << 7)
        }
        _ => None,
    }
}

impl RowMerger {
    /// Takes cells of a row in the current message while they have the common shape; returns whether one of them commits the row.
    /// Whatever is not to be taken so, for any reason, is left to [`push`](RowMerger::push).
    #[inline]
    pub(super) fn try_fast_path(&mut self) -> bool {
        match self.open {
            Open::None => {}
            Open::Shared => {
                let Some(CellSpans { family, qualifier, .. }) = self.row.cells.last() else { return false };
                let is_committed = self.take_further_cells((*family, *qualifier));
                if is_committed {
                    self.open = Open::None;
                    self.last = Some(self.row.key);
                }
                return is_committed;
            }
            Open::Copied(_) | Open::Split(_) => return false,
        }
        let Some((first, end)) = cell(&self.message, self.at, &mut self.last_number) else { return false };
        let Some(column) = self.begins_row(&first) else { return false };
        self.begin_row(first.key);
        self.add_whole(&first, column, end);
        let is_committed = first.is_committed || self.take_further_cells(column);
        match is_committed {
            true => self.last = Some(self.row.key),
            false => self.open = Open::Shared,
        }
        is_committed
    }

    /// Takes further cells of a row, the last of which was of this column, while they have the common shape; returns whether one of
    /// them commits the row.
    #[inline(always)]
    fn take_further_cells(&mut self, mut column: (Span, Span)) -> bool {
        while let Some((further, end)) = cell(&self.message, self.at, &mut self.last_number)
            && let Some(next) = self.column_behind(column, &further)
        {
            column = next;
            self.add_whole(&further, column, end);
            if further.is_committed {
                return true;
            }
        }
        false
    }

    /// The column of the first cell of a row, if the row may come here.
    #[inline(always)]
    fn begins_row(&mut self, cell: &WholeCell) -> Option<(Span, Span)> {
        let key = cell.key.of(&self.message);
        let (family, qualifier) = (cell.family?, cell.qualifier?);
        let may_come =
            !key.is_empty() && self.is_in_order(self.last_seen(), key) && self.requested.may_come(key);
        (may_come && is_text(family.of(&self.message))).then_some((family, qualifier))
    }

    /// The column of a further cell of a row, if the cell may come after one of the column that is given.
    #[inline(always)]
    fn column_behind(&self, (last, qualifier): (Span, Span), cell: &WholeCell) -> Option<(Span, Span)> {
        match (cell.family, cell.qualifier) {
            _ if !cell.key.is_empty() => None,
            (None, new) => Some((last, new.unwrap_or(qualifier))),
            (Some(family), Some(qualifier)) => {
                let is_known = family.is_same_in(last, &self.message);
                (is_known || is_text(family.of(&self.message)))
                    .then_some((if is_known { last } else { family }, qualifier))
            }
            (Some(_), None) => None,
        }
    }

    #[inline(always)]
    fn add_whole(&mut self, cell: &WholeCell, (family, qualifier): (Span, Span), end: usize) {
        let WholeCell { timestamp_micros, value, .. } = *cell;
        self.future_cells += u64::from(timestamp_micros > self.latest);
        self.row.cells.push(CellSpans { family, qualifier, value, timestamp_micros });
        self.at = end;
    }
}
