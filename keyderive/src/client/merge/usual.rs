//! Cells as all servers write nearly all of them, read in one go.
//!
//! What is read here is what the [chunks](super::chunk) say, which are read more slowly: a whole cell, without labels, whose
//! fields are in the order of their numbers, each once, and whose names are neither empty nor long. Of whatever is
//! otherwise nothing is said.

use crate::client::protobuf::short_varint;
use crate::row::Span;

/// A whole cell, as places in its message.
#[derive(Clone, Copy, Debug)]
pub(super) struct UsualCell {
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

/// The cell of the chunk at this place in a message, and where it ends; none where it is not as usual, or there is none.
/// The message has less than 4 GiB.
#[inline(always)]
pub(super) fn cell(message: &[u8], at: usize) -> Option<(UsualCell, usize)> {
    let (chunk, behind) = split(CHUNK, message.get(at..)?)?;
    let end = message.len() - behind.len();
    let mut fields = Fields { rest: chunk, end };
    let key = fields.bytes(KEY);
    let family = fields.name(FAMILY);
    let qualifier = fields.name(QUALIFIER);
    let timestamp_micros = fields.number(TIMESTAMP);
    let value = fields.bytes(VALUE);
    let is_committed = match *fields.rest {
        [] => false,
        [COMMIT, 1] => true,
        _ => return None,
    };
    Some((UsualCell { key, family, qualifier, timestamp_micros, value, is_committed }, end))
}

/// The fields of a chunk that have not been read. A field that is not as usual stays there, with all behind it.
struct Fields<'m> {
    rest: &'m [u8],
    /// Where they end in the message.
    end: usize,
}

impl<'m> Fields<'m> {
    /// The place of the last bytes that were taken, in front of the rest.
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
    fn number(&mut self, field: u8) -> i64 {
        if let [tag, ref rest @ ..] = *self.rest
            && tag == field
            && let Some(word) = rest.first_chunk()
            && let Some((number, len)) = short_varint(u64::from_le_bytes(*word))
        {
            self.rest = &rest[len..];
            return number.cast_signed();
        }
        0
    }
}

/// The bytes of the field that comes next, and what is behind it, if it is this one and has less than 16 KiB.
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
