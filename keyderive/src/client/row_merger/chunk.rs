//! The chunks of a `ReadRowsResponse`, decoded in place.
//!
//! Field numbers are those of `CellChunk` in keyderive-proto's `data.proto`. Like every protobuf reader, it accepts fields
//! in any order, keeps the last of repeated ones, and skips unknown ones. It does not trust the server: every length is
//! checked against what encloses it.

use crate::client::protobuf::{LENGTH, Reader, VARINT, WireError, WireErrorKind};
use crate::row::Span;

/// Why a message cannot be decoded.
pub(super) type Malformed = String;

/// A piece of a row, as spans of its message.
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

/// What a chunk does to its row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Status {
    #[default]
    Open,
    Commit,
    Reset,
}

/// The labels of a chunk, decoded on demand, since few chunks have any. Holds the span of the chunk; empty without
/// labels.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Labels(Span);

impl Labels {
    pub(super) fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// The spans of the labels.
    pub(super) fn of(self, message: &[u8]) -> Vec<Span> {
        let mut labels = Vec::new();
        let mut reader = Reader::new(self.0.upto(message), self.0.start() as usize);
        // The chunk was decoded before, so no field fails.
        while let Ok(Some((number, wire_type))) = reader.field() {
            let read = match (number, wire_type) {
                (5, LENGTH) => reader.span().map(|label| labels.push(label)),
                (number, wire_type) => reader.skip(number, wire_type),
            };
            if read.is_err() {
                break;
            }
        }
        labels
    }
}

/// A part of a message.
#[derive(Debug)]
pub(super) enum MessagePart {
    Chunk(Chunk),
    /// The key that the server reports as scanned; the last one counts.
    Scanned(Span),
    /// What the request has cost.
    Stats(Span),
    End,
}

/// Decodes the part of a message at `at`, which moves past it. The message has less than 4 GiB.
pub(super) fn next(message: &[u8], at: &mut usize) -> Result<MessagePart, Malformed> {
    let mut reader = Reader::new(message, *at);
    let part = reader.part().map_err(WireError::into_text)?;
    *at = reader.at();
    Ok(part)
}

#[inline]
pub(super) fn is_text(bytes: &[u8]) -> bool {
    // Names are short, and nearly always ASCII.
    (bytes.len() < 16 && bytes.is_ascii()) || str::from_utf8(bytes).is_ok()
}

impl Reader<'_> {
    fn part(&mut self) -> Result<MessagePart, WireError> {
        while let Some(field) = self.field()? {
            match field {
                (1, LENGTH) => {
                    let place = self.span()?;
                    let chunk = Reader::new(place.upto(self.bytes()), place.start() as usize);
                    return chunk.chunk(place).map(MessagePart::Chunk);
                }
                (2, LENGTH) => return self.span().map(MessagePart::Scanned),
                (3, LENGTH) => return self.span().map(MessagePart::Stats),
                (1..=3, _) => return Err(self.wrong(WireErrorKind::WireType)),
                (number, wire_type) => self.skip(number, wire_type)?,
            }
        }
        Ok(MessagePart::End)
    }

    /// Decodes all fields as a chunk.
    fn chunk(mut self, place: Span) -> Result<Chunk, WireError> {
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
                // A oneof: the last of the two counts.
                (8, VARINT) => chunk.status = if self.varint()? == 0 { Status::Open } else { Status::Reset },
                (9, VARINT) => chunk.status = if self.varint()? == 0 { Status::Open } else { Status::Commit },
                (1..=9, _) => return Err(self.wrong(WireErrorKind::WireType)),
                (number, wire_type) => self.skip(number, wire_type)?,
            }
        }
        Ok(chunk)
    }

    fn family(&mut self, before: Option<Span>) -> Result<Span, WireError> {
        let family = self.wrapped(before)?;
        self.check_text(family)?;
        Ok(family)
    }

    /// The value of a wrapper message, in its field 1; if that is absent, the value of an earlier occurrence of the
    /// message.
    fn wrapped(&mut self, before: Option<Span>) -> Result<Span, WireError> {
        let place = self.span()?;
        let mut reader = Reader::new(place.upto(self.bytes()), place.start() as usize);
        let mut value = before.unwrap_or(Span::new(place.start(), place.start()));
        while let Some(field) = reader.field()? {
            match field {
                (1, LENGTH) => value = reader.span()?,
                (1, _) => return Err(reader.wrong(WireErrorKind::WireType)),
                (number, wire_type) => reader.skip(number, wire_type)?,
            }
        }
        Ok(value)
    }

    fn check_text(&self, text: Span) -> Result<(), WireError> {
        if is_text(text.of(self.bytes())) { Ok(()) } else { Err(self.wrong(WireErrorKind::NotUtf8)) }
    }
}

/// A number of 32 bits, truncated as protobuf demands.
#[expect(clippy::cast_possible_truncation, reason = "the rule for numbers that are too large")]
fn low_half(number: u64) -> i32 {
    number as i32
}

#[cfg(test)]
mod tests;
