//! The fast path of the merger: cells of the common shape, decoded in one step.
//!
//! The common shape is a whole cell with one label at most, whose fields come once, in the order of their numbers, and whose
//! names are neither empty nor long. Everything else falls back to the [chunk reader](super::chunk), with the same result.

use super::chunk::is_text;
use super::{Open, RowMerger};
use crate::client::protobuf::short_varint;
use crate::row::{CellSpans, Span};

/// A whole cell, as spans of its message.
#[derive(Clone, Copy, Debug)]
pub(super) struct WholeCell {
    /// The key of its row; empty if the row is the previous cell's.
    pub(super) key: Span,
    pub(super) family: Option<Span>,
    pub(super) qualifier: Option<Span>,
    pub(super) timestamp_micros: i64,
    pub(super) label: Option<Span>,
    pub(super) value: Span,
    pub(super) is_committed: bool,
}

/// The first byte of a field: its number and its wire type.
const CHUNK: u8 = 0x0a;
const KEY: u8 = 0x0a;
const FAMILY: u8 = 0x12;
const QUALIFIER: u8 = 0x1a;
const TIMESTAMP: u8 = 0x20;
const LABEL: u8 = 0x2a;
const VALUE: u8 = 0x32;
const COMMIT: u8 = 0x48;

/// The tag of the only field in the message that wraps a name.
const NAME: u8 = 0x0a;

/// Decodes the chunk at this place of a message, which has less than 4 GiB. Returns the cell and its end, or none if
/// there is no chunk, or it has another shape.
#[inline(always)]
pub(super) fn cell(message: &[u8], at: usize, last: &mut LastNumber) -> Option<(WholeCell, usize)> {
    let (chunk, after) = split(CHUNK, message.get(at..)?)?;
    let end = message.len() - after.len();
    let mut fields = Fields { rest: chunk, end };
    let key = fields.bytes(KEY);
    let family = fields.name(FAMILY);
    let qualifier = fields.name(QUALIFIER);
    let timestamp_micros = fields.number(TIMESTAMP, last);
    let label = fields.text(LABEL);
    let value = fields.bytes(VALUE);
    let is_committed = match *fields.rest {
        [] => false,
        [COMMIT, 1] => true,
        _ => return None,
    };
    Some((WholeCell { key, family, qualifier, timestamp_micros, label, value, is_committed }, end))
}

/// The fields of a chunk that are left to read. A field of another shape stays, with all after it.
struct Fields<'m> {
    rest: &'m [u8],
    /// The end of the chunk in the message.
    end: usize,
}

impl<'m> Fields<'m> {
    /// Moves on to `rest`; returns the span of the `len` bytes before it.
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

    #[inline(always)]
    fn text(&mut self, field: u8) -> Option<Span> {
        let (text, rest) = split(field, self.rest).filter(|(text, _)| is_text(text))?;
        Some(self.taken(text.len(), rest))
    }

    /// A name of up to 125 bytes, wrapped in a message of its own.
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

    /// A number of up to 56 bits; 0 if the field is absent.
    #[inline(always)]
    #[expect(clippy::little_endian_bytes, reason = "protobuf's numbers have their lowest byte first")]
    fn number(&mut self, field: u8, last: &mut LastNumber) -> i64 {
        if let [tag, ref rest @ ..] = *self.rest
            && tag == field
            && let Some(word) = rest.first_chunk()
            && let Some((number, len)) = last.decode_or_reuse(u64::from_le_bytes(*word))
        {
            self.rest = &rest[len..];
            return number.cast_signed();
        }
        0
    }
}

/// The last number that was decoded: the cells of a row mostly share one timestamp.
#[derive(Clone, Copy, Debug)]
pub(super) struct LastNumber {
    /// The eight bytes from its start.
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
    /// The number at the start of these bytes, and its length.
    #[inline(always)]
    fn decode_or_reuse(&mut self, word: u64) -> Option<(u64, usize)> {
        if word != self.word {
            let (number, len) = short_varint(word)?;
            *self = Self { word, number, len };
        }
        Some((self.number, self.len))
    }
}

/// The next field's bytes and the rest, if it is this field and has less than 16 KiB.
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
    /// Takes cells while they have the common shape; returns whether one of them commits the row. All others are left to
    /// [`push`](RowMerger::push).
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

    /// Takes further cells after one of this column; returns whether one of them commits the row.
    #[inline(always)]
    fn take_further_cells(&mut self, mut column: (Span, Span)) -> bool {
        while self.has_room_for_cell()
            && let Some((further, end)) = cell(&self.message, self.at, &mut self.last_number)
            && let Some(next) = self.column_after(column, &further)
        {
            column = next;
            self.add_whole(&further, column, end);
            if further.is_committed {
                return true;
            }
        }
        false
    }

    /// The column of a row's first cell, if the row is allowed here.
    #[inline(always)]
    fn begins_row(&mut self, cell: &WholeCell) -> Option<(Span, Span)> {
        let key = cell.key.of(&self.message);
        let (family, qualifier) = (cell.family?, cell.qualifier?);
        let is_allowed =
            !key.is_empty() && self.is_in_order(self.last_seen(), key) && self.requested.advance_to(key);
        (is_allowed && is_text(family.of(&self.message))).then_some((family, qualifier))
    }

    /// The column of a further cell, if it is allowed after one of the given column.
    #[inline(always)]
    fn column_after(&self, (last, qualifier): (Span, Span), cell: &WholeCell) -> Option<(Span, Span)> {
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
        let WholeCell { timestamp_micros, label, value, .. } = *cell;
        self.future_cells += u64::from(timestamp_micros > self.latest);
        if let Some(label) = label {
            self.row.labels.push((self.row.cells.len(), label));
        }
        self.row.cells.push(CellSpans { family, qualifier, value, timestamp_micros });
        self.at = end;
    }
}
