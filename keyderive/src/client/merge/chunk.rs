//! The chunks of a `ReadRowsResponse`, read where they lie.
//!
//! Field numbers are those of `CellChunk` in `wire/proto/data.proto`. What a protobuf reader accepts is accepted:
//! fields in any order, the last of several, and fields that nobody here knows. A server is not trusted: every length
//! is checked against what holds it.

use crate::row::Span;

/// What is wrong with a message.
pub(super) type Malformed = String;

/// How deep groups, which are fields of an old form, may lie in one another. Messages have none.
const MOST_GROUPS: u32 = 100;

/// A piece of a row, as places in the message that it comes in.
#[derive(Debug, Default)]
pub(super) struct Chunk {
    pub(super) key: Span,
    pub(super) family: Option<Span>,
    pub(super) qualifier: Option<Span>,
    pub(super) timestamp_micros: i64,
    pub(super) labels: Vec<Span>,
    pub(super) value: Span,
    pub(super) value_size: i32,
    pub(super) status: Status,
}

/// What a chunk says of its row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Status {
    #[default]
    Open,
    Commit,
    Reset,
}

/// Where the last scanned key of a message is, if it has one. Fails for a message that is cut or overlong anywhere but
/// inside its chunks.
pub(super) fn marker(message: &[u8]) -> Result<Span, Malformed> {
    let mut reader = Reader { bytes: message, at: 0 };
    let mut marker = Span::default();
    while !reader.is_at_end() {
        match reader.field()? {
            (1, LENGTH) => drop(reader.span()?),
            (2, LENGTH) => marker = reader.span()?,
            (1 | 2, _) => return Err(reader.malformed("a field is not of its type")),
            (number, form) => reader.skip(number, form, 0)?,
        }
    }
    Ok(marker)
}

/// The next chunk of a message behind `at`, which is moved behind it; none at its end.
pub(super) fn next(message: &[u8], at: &mut usize) -> Result<Option<Chunk>, Malformed> {
    let mut reader = Reader { bytes: message, at: *at };
    while !reader.is_at_end() {
        match reader.field()? {
            (1, LENGTH) => {
                let place = reader.span()?;
                *at = place.end as usize;
                let bytes = message.get(..*at).unwrap_or_default();
                return Reader { bytes, at: place.start as usize }.chunk().map(Some);
            }
            (number, form) => reader.skip(number, form, 0)?,
        }
    }
    *at = message.len();
    Ok(None)
}

/// The forms that fields have on the wire.
const VARINT: u8 = 0;
const FIXED64: u8 = 1;
const LENGTH: u8 = 2;
const GROUP: u8 = 3;
const END_OF_GROUP: u8 = 4;
const FIXED32: u8 = 5;

/// Reads fields up to the end of `bytes`.
struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn chunk(mut self) -> Result<Chunk, Malformed> {
        let mut chunk = Chunk::default();
        while !self.is_at_end() {
            match self.field()? {
                (1, LENGTH) => chunk.key = self.span()?,
                (2, LENGTH) => chunk.family = Some(self.wrapped(chunk.family, Self::text)?),
                (3, LENGTH) => chunk.qualifier = Some(self.wrapped(chunk.qualifier, Self::span)?),
                (4, VARINT) => chunk.timestamp_micros = self.varint()?.cast_signed(),
                (5, LENGTH) => chunk.labels.push(self.text()?),
                (6, LENGTH) => chunk.value = self.span()?,
                (7, VARINT) => chunk.value_size = low_half(self.varint()?),
                // One of the two: the last that is given.
                (8, VARINT) => chunk.status = if self.varint()? == 0 { Status::Open } else { Status::Reset },
                (9, VARINT) => chunk.status = if self.varint()? == 0 { Status::Open } else { Status::Commit },
                (1..=9, _) => return Err(self.malformed("a field is not of its type")),
                (number, form) => self.skip(number, form, 0)?,
            }
        }
        Ok(chunk)
    }

    /// The value of a message that has nothing but one, in its field 1; where it is left out, that of a field before.
    #[inline]
    fn wrapped(
        &mut self,
        before: Option<Span>,
        read: impl Fn(&mut Self) -> Result<Span, Malformed>,
    ) -> Result<Span, Malformed> {
        let place = self.span()?;
        let bytes = self.bytes.get(..place.end as usize).unwrap_or_default();
        let mut reader = Reader { bytes, at: place.start as usize };
        let mut value = before.unwrap_or(Span { start: place.start, end: place.start });
        while !reader.is_at_end() {
            match reader.field()? {
                (1, LENGTH) => value = read(&mut reader)?,
                (1, _) => return Err(reader.malformed("a field is not of its type")),
                (number, form) => reader.skip(number, form, 0)?,
            }
        }
        Ok(value)
    }

    fn is_at_end(&self) -> bool {
        self.at >= self.bytes.len()
    }

    /// The number of the next field, and its form.
    #[inline]
    fn field(&mut self) -> Result<(u32, u8), Malformed> {
        let key =
            u32::try_from(self.varint()?).map_err(|_| self.malformed("a field's number is too large"))?;
        match (key >> 3, (key & 7) as u8) {
            (0, _) => Err(self.malformed("a field has the number 0")),
            (_, 6 | 7) => Err(self.malformed("a field has no form that there is")),
            field => Ok(field),
        }
    }

    /// What is as long as it says.
    #[inline]
    fn span(&mut self) -> Result<Span, Malformed> {
        let length = self.varint()?;
        let left = self.bytes.len() - self.at;
        let length = usize::try_from(length).ok().filter(|length| *length <= left);
        let Some(length) = length else {
            return Err(self.malformed("a field is longer than what it is in"));
        };
        let start = self.at;
        self.at += length;
        match (u32::try_from(start), u32::try_from(self.at)) {
            (Ok(start), Ok(end)) => Ok(Span { start, end }),
            _ => Err(self.malformed("it has more than 4 GiB")),
        }
    }

    #[inline]
    fn text(&mut self) -> Result<Span, Malformed> {
        let text = self.span()?;
        match str::from_utf8(text.of(self.bytes)) {
            Ok(_) => Ok(text),
            Err(_) => Err(self.malformed("a family or a label is not UTF-8")),
        }
    }

    #[inline]
    fn varint(&mut self) -> Result<u64, Malformed> {
        match self.bytes.get(self.at) {
            Some(byte @ ..0x80) => {
                self.at += 1;
                Ok(u64::from(*byte))
            }
            _ => self.long_varint(),
        }
    }

    fn long_varint(&mut self) -> Result<u64, Malformed> {
        let mut number = 0;
        for place in 0..10 {
            let Some(byte) = self.bytes.get(self.at) else {
                return Err(self.malformed("it ends in a number"));
            };
            self.at += 1;
            number |= u64::from(byte & 0x7f) << (7 * place);
            match byte {
                // The tenth byte has the last of 64 bits.
                2.. if place == 9 => break,
                ..0x80 => return Ok(number),
                _ => {}
            }
        }
        Err(self.malformed("a number has more than 64 bits"))
    }

    fn skip(&mut self, number: u32, form: u8, groups: u32) -> Result<(), Malformed> {
        match form {
            VARINT => self.varint().map(drop),
            LENGTH => self.span().map(drop),
            FIXED64 => self.skip_bytes(8),
            FIXED32 => self.skip_bytes(4),
            GROUP if groups < MOST_GROUPS => loop {
                match self.field()? {
                    (end, END_OF_GROUP) if end == number => return Ok(()),
                    (inner, form) => self.skip(inner, form, groups + 1)?,
                }
            },
            GROUP => Err(self.malformed("groups lie too deep in one another")),
            _ => Err(self.malformed("a group ends that has not begun")),
        }
    }

    fn skip_bytes(&mut self, count: usize) -> Result<(), Malformed> {
        if self.bytes.len() - self.at < count {
            return Err(self.malformed("it ends in a number"));
        }
        self.at += count;
        Ok(())
    }

    #[cold]
    fn malformed(&self, what: &str) -> Malformed {
        format!("a message cannot be read at byte {}: {what}", self.at)
    }
}

/// As protobuf reads a number of 32 bits.
#[expect(clippy::cast_possible_truncation, reason = "the rule for numbers that are too large")]
fn low_half(number: u64) -> i32 {
    number as i32
}

#[cfg(test)]
mod tests;
