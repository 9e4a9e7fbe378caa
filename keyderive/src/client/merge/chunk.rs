//! The chunks of a `ReadRowsResponse`, read where they lie.
//!
//! Field numbers are those of `CellChunk` in `wire/proto/data.proto`. What a protobuf reader accepts is accepted:
//! fields in any order, the last of several, and fields that nobody here knows. A server is not trusted: every length
//! is checked against what holds it.

mod reader;

use self::reader::{LENGTH, Reader, VARINT, What, Wrong};
use crate::row::Span;

/// What is wrong with a message.
pub(super) type Malformed = String;

/// A piece of a row, as places in the message that it comes in.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Chunk {
    pub(super) key: Span,
    pub(super) family: Option<Span>,
    pub(super) qualifier: Option<Span>,
    pub(super) timestamp_micros: i64,
    pub(super) labels: Labels,
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

/// The labels of a chunk, which few have: the place of the chunk that they are in, or of nothing.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Labels(Span);

impl Labels {
    pub(super) fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// Where they are.
    pub(super) fn of(self, message: &[u8]) -> Vec<Span> {
        let mut labels = Vec::new();
        let mut reader = Reader::new(self.0.upto(message), self.0.start() as usize);
        // The chunk has been read before, from the first field to the last.
        while let Ok(Some((number, form))) = reader.field() {
            let read = match (number, form) {
                (5, LENGTH) => reader.span().map(|label| labels.push(label)),
                (number, form) => reader.skip(number, form),
            };
            if read.is_err() {
                break;
            }
        }
        labels
    }
}

/// Where the last scanned key of a message is, if it has one. Fails for a message that is cut or overlong anywhere but
/// inside its chunks.
pub(super) fn marker(message: &[u8]) -> Result<Span, Malformed> {
    if u32::try_from(message.len()).is_err() {
        return Err("a message has more than 4 GiB".to_owned());
    }
    let mut reader = Reader::new(message, 0);
    reader.marker().map_err(Wrong::into_text)
}

/// Reads the next chunk of a message behind `at`, which is moved behind it; whether there is one. The message is one whose
/// [`marker`] has been read.
#[inline]
pub(super) fn next(message: &[u8], at: &mut usize, chunk: &mut Chunk) -> Result<bool, Malformed> {
    read_next(message, at, chunk).map_err(Wrong::into_text)
}

#[inline]
fn read_next(message: &[u8], at: &mut usize, chunk: &mut Chunk) -> Result<bool, Wrong> {
    let mut reader = Reader::new(message, *at);
    let Some(place) = reader.chunk_place()? else { return Ok(false) };
    *at = reader.at();
    let mut reader = Reader::new(place.upto(message), place.start() as usize);
    if !reader.usual_chunk(chunk) {
        *chunk = Reader::new(place.upto(message), place.start() as usize).any_chunk(place)?;
    }
    Ok(true)
}

#[inline]
fn is_text(bytes: &[u8]) -> bool {
    // Names are short, and nearly always ASCII.
    (bytes.len() < 16 && bytes.is_ascii()) || str::from_utf8(bytes).is_ok()
}

impl Reader<'_> {
    fn marker(&mut self) -> Result<Span, Wrong> {
        let mut marker = Span::default();
        while let Some(field) = self.field()? {
            match field {
                (1, LENGTH) => drop(self.span()?),
                (2, LENGTH) => marker = self.span()?,
                (1 | 2, _) => return Err(self.wrong(What::Form)),
                (number, form) => self.skip(number, form)?,
            }
        }
        Ok(marker)
    }

    /// Where the next chunk is.
    #[inline]
    fn chunk_place(&mut self) -> Result<Option<Span>, Wrong> {
        while let Some(field) = self.field()? {
            match field {
                (1, LENGTH) => return self.span().map(Some),
                (number, form) => self.skip(number, form)?,
            }
        }
        Ok(None)
    }

    /// Reads all that there is as a chunk, if it is as all servers write nearly all of them: its fields are in the order of
    /// their numbers, and each is there once. Otherwise it says that it is not.
    #[inline]
    fn usual_chunk(&mut self, chunk: &mut Chunk) -> bool {
        *chunk = Chunk::default();
        if self.is_next(1, LENGTH) {
            let Ok(key) = self.span() else { return false };
            chunk.key = key;
        }
        if self.is_next(2, LENGTH) {
            chunk.family = self.wrapped_alone();
            if chunk.family.is_none_or(|family| !is_text(family.of(self.bytes()))) {
                return false;
            }
        }
        if self.is_next(3, LENGTH) {
            chunk.qualifier = self.wrapped_alone();
            if chunk.qualifier.is_none() {
                return false;
            }
        }
        if self.is_next(4, VARINT) {
            let Ok(timestamp) = self.varint() else { return false };
            chunk.timestamp_micros = timestamp.cast_signed();
        }
        if self.is_next(6, LENGTH) {
            let Ok(value) = self.span() else { return false };
            chunk.value = value;
        }
        if self.is_next(9, VARINT) {
            let Ok(status) = self.varint() else { return false };
            chunk.status = if status == 0 { Status::Open } else { Status::Commit };
        }
        self.is_at_end()
    }

    /// All that there is, as a chunk.
    #[cold]
    fn any_chunk(mut self, place: Span) -> Result<Chunk, Wrong> {
        let mut chunk = Chunk::default();
        while let Some(field) = self.field()? {
            match field {
                (1, LENGTH) => chunk.key = self.span()?,
                (2, LENGTH) => chunk.family = Some(self.family(chunk.family)?),
                (3, LENGTH) => chunk.qualifier = Some(self.wrapped(chunk.qualifier)?),
                (4, VARINT) => chunk.timestamp_micros = self.varint()?.cast_signed(),
                (5, LENGTH) => {
                    let label = self.span()?;
                    self.check_text(label)?;
                    chunk.labels = Labels(place);
                }
                (6, LENGTH) => chunk.value = self.span()?,
                (7, VARINT) => chunk.value_size = low_half(self.varint()?),
                // One of the two: the last that is given.
                (8, VARINT) => chunk.status = if self.varint()? == 0 { Status::Open } else { Status::Reset },
                (9, VARINT) => chunk.status = if self.varint()? == 0 { Status::Open } else { Status::Commit },
                (1..=9, _) => return Err(self.wrong(What::Form)),
                (number, form) => self.skip(number, form)?,
            }
        }
        Ok(chunk)
    }

    fn family(&mut self, before: Option<Span>) -> Result<Span, Wrong> {
        let family = self.wrapped(before)?;
        self.check_text(family)?;
        Ok(family)
    }

    /// The value of a message that has nothing but one, in its field 1, which is all of it.
    #[inline]
    fn wrapped_alone(&mut self) -> Option<Span> {
        let place = self.span().ok()?;
        match *place.of(self.bytes()) {
            [] => Some(Span::new(place.end(), place.end())),
            [0x0a, length @ ..0x80, ref value @ ..] if usize::from(length) == value.len() => {
                Some(Span::new(place.start() + 2, place.end()))
            }
            _ => None,
        }
    }

    /// The value of a message that has nothing but one, in its field 1; where it is left out, that of a field before.
    fn wrapped(&mut self, before: Option<Span>) -> Result<Span, Wrong> {
        let place = self.span()?;
        let mut reader = Reader::new(place.upto(self.bytes()), place.start() as usize);
        let mut value = before.unwrap_or(Span::new(place.start(), place.start()));
        while let Some(field) = reader.field()? {
            match field {
                (1, LENGTH) => value = reader.span()?,
                (1, _) => return Err(reader.wrong(What::Form)),
                (number, form) => reader.skip(number, form)?,
            }
        }
        Ok(value)
    }

    fn check_text(&self, text: Span) -> Result<(), Wrong> {
        if is_text(text.of(self.bytes())) { Ok(()) } else { Err(self.wrong(What::NotUtf8)) }
    }
}

/// As protobuf reads a number of 32 bits.
#[expect(clippy::cast_possible_truncation, reason = "the rule for numbers that are too large")]
fn low_half(number: u64) -> i32 {
    number as i32
}

#[cfg(test)]
mod tests;
