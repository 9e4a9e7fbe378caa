//! The rows of a message by hand, for these columns and no others: the best that safe code seems to allow.
//!
//! Lengths, wire types and unknown fields are checked as hostile input asks for. Rows end with their messages and cells
//! are whole, as Google's servers send them and the scripted one does; what is otherwise is refused, where a client
//! would go a slower way.

use std::str;

use super::data::{FAMILY, LentReading};

/// What is not a message, or not such a row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Refused;

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the message is refused by the floor")
    }
}

impl std::error::Error for Refused {}

/// A row, borrowed from its message.
#[derive(Clone, Copy)]
pub(super) struct Row<'m> {
    pub(super) key: &'m [u8],
    pub(super) reading: LentReading<'m>,
}

/// The fields of a chunk that matter here.
#[derive(Default)]
struct Chunk<'m> {
    key: &'m [u8],
    family: Option<&'m [u8]>,
    qualifier: Option<&'m [u8]>,
    value: &'m [u8],
    is_split: bool,
    is_reset: bool,
    is_committed: bool,
}

/// What of a row has come.
#[derive(Default)]
struct Open<'m> {
    key: &'m [u8],
    is_of_family: bool,
    qualifier: &'m [u8],
    celsius: Option<f64>,
    humidity: Option<i64>,
    station: Option<&'m str>,
}

/// The next row of what is left of a message, which it shortens.
#[inline]
pub(super) fn next_row<'m>(message: &mut &'m [u8]) -> Result<Option<Row<'m>>, Refused> {
    let mut open = Open::default();
    while let Some(chunk) = next_chunk(message)? {
        if chunk.is_reset {
            open = Open::default();
            continue;
        }
        open.take(&chunk)?;
        if chunk.is_committed {
            return open.close().map(Some);
        }
    }
    if open.key.is_empty() { Ok(None) } else { Err(Refused) }
}

impl<'m> Open<'m> {
    #[inline]
    fn take(&mut self, chunk: &Chunk<'m>) -> Result<(), Refused> {
        if self.key.is_empty() {
            if chunk.key.is_empty() || chunk.family.is_none() || chunk.qualifier.is_none() {
                return Err(Refused);
            }
            self.key = chunk.key;
        } else if !chunk.key.is_empty() && chunk.key != self.key {
            return Err(Refused);
        }
        if chunk.is_split || (chunk.family.is_some() && chunk.qualifier.is_none()) {
            return Err(Refused);
        }
        if let Some(family) = chunk.family {
            self.is_of_family = family == FAMILY.as_bytes();
        }
        self.qualifier = chunk.qualifier.unwrap_or(self.qualifier);
        if !self.is_of_family {
            return Ok(());
        }
        match self.qualifier {
            b"celsius" => self.celsius = Some(f64::from_be_bytes(number(chunk.value)?)),
            b"humidity" => self.humidity = Some(i64::from_be_bytes(number(chunk.value)?)),
            b"station" => self.station = Some(str::from_utf8(chunk.value).map_err(|_| Refused)?),
            _ => {}
        }
        Ok(())
    }

    #[inline]
    fn close(&self) -> Result<Row<'m>, Refused> {
        let (Some(celsius), Some(humidity), Some(station)) = (self.celsius, self.humidity, self.station)
        else {
            return Err(Refused);
        };
        Ok(Row { key: self.key, reading: LentReading { celsius, humidity, station } })
    }
}

fn number(value: &[u8]) -> Result<[u8; 8], Refused> {
    value.try_into().map_err(|_| Refused)
}

const CHUNKS: u64 = 1 << 3 | BYTES;

const ROW_KEY: u64 = 1 << 3 | BYTES;
const FAMILY_NAME: u64 = 2 << 3 | BYTES;
const QUALIFIER: u64 = 3 << 3 | BYTES;
const TIMESTAMP_MICROS: u64 = 4 << 3;
const VALUE: u64 = 6 << 3 | BYTES;
const VALUE_SIZE: u64 = 7 << 3;
const RESET_ROW: u64 = 8 << 3;
const COMMIT_ROW: u64 = 9 << 3;

/// The one field of a wrapper message.
const WRAPPED: u64 = 1 << 3 | BYTES;

/// The wire type of fields with a length.
pub(super) const BYTES: u64 = 2;

#[inline]
fn next_chunk<'m>(message: &mut &'m [u8]) -> Result<Option<Chunk<'m>>, Refused> {
    while !message.is_empty() {
        match varint(message)? {
            CHUNKS => return chunk(bytes(message)?).map(Some),
            tag => skip(tag, message)?,
        }
    }
    Ok(None)
}

#[inline]
fn chunk(mut fields: &[u8]) -> Result<Chunk<'_>, Refused> {
    let mut chunk = Chunk::default();
    while !fields.is_empty() {
        match varint(&mut fields)? {
            ROW_KEY => chunk.key = bytes(&mut fields)?,
            FAMILY_NAME => chunk.family = Some(wrapped(bytes(&mut fields)?)?),
            QUALIFIER => chunk.qualifier = Some(wrapped(bytes(&mut fields)?)?),
            TIMESTAMP_MICROS => skip_varint(&mut fields)?,
            VALUE => chunk.value = bytes(&mut fields)?,
            VALUE_SIZE => chunk.is_split = varint(&mut fields)? != 0,
            RESET_ROW => chunk.is_reset = varint(&mut fields)? != 0,
            COMMIT_ROW => chunk.is_committed = varint(&mut fields)? != 0,
            tag => skip(tag, &mut fields)?,
        }
    }
    Ok(chunk)
}

#[inline]
fn wrapped(mut fields: &[u8]) -> Result<&[u8], Refused> {
    let mut value: &[u8] = &[];
    while !fields.is_empty() {
        match varint(&mut fields)? {
            WRAPPED => value = bytes(&mut fields)?,
            tag => skip(tag, &mut fields)?,
        }
    }
    Ok(value)
}

#[inline]
pub(super) fn bytes<'m>(fields: &mut &'m [u8]) -> Result<&'m [u8], Refused> {
    let len = usize::try_from(varint(fields)?).map_err(|_| Refused)?;
    let (bytes, rest) = fields.split_at_checked(len).ok_or(Refused)?;
    *fields = rest;
    Ok(bytes)
}

#[inline]
pub(super) fn varint(fields: &mut &[u8]) -> Result<u64, Refused> {
    match **fields {
        [byte, ref rest @ ..] if byte < 0x80 => {
            *fields = rest;
            Ok(byte.into())
        }
        [low, high, ref rest @ ..] if high < 0x80 => {
            *fields = rest;
            Ok(u64::from(low & 0x7f) | u64::from(high) << 7)
        }
        _ => long_varint(fields),
    }
}

fn long_varint(fields: &mut &[u8]) -> Result<u64, Refused> {
    let mut value = 0;
    for (at, byte) in fields.iter().take(10).enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * at);
        if *byte < 0x80 {
            *fields = &fields[at + 1..];
            return Ok(value);
        }
    }
    Err(Refused)
}

/// Times take 8 bytes, so these are looked at together.
#[inline]
fn skip_varint(fields: &mut &[u8]) -> Result<(), Refused> {
    if let Some(word) = fields.first_chunk::<8>() {
        let ends = !u64::from_le_bytes(*word) & 0x8080_8080_8080_8080;
        if ends != 0 {
            *fields = &fields[ends.trailing_zeros() as usize / 8 + 1..];
            return Ok(());
        }
    }
    long_varint(fields).map(drop)
}

/// Steps over a field that has no meaning here. Groups are refused: this protocol has none.
pub(super) fn skip(tag: u64, fields: &mut &[u8]) -> Result<(), Refused> {
    let fixed = match tag & 7 {
        0 => return skip_varint(fields),
        BYTES => return bytes(fields).map(drop),
        1 => 8,
        5 => 4,
        _ => return Err(Refused),
    };
    *fields = fields.get(fixed..).ok_or(Refused)?;
    Ok(())
}
