//! The rows of a message by hand, for the columns of one row type and no others: the fastest safe code that we know.
//!
//! Lengths, wire types and unknown fields are checked, as hostile input requires. Fields are expected where servers
//! put them, in the order of their numbers; a loop finds any others. Rows end with their messages and cells are
//! whole, as Google's servers and the scripted one send them; anything else is rejected, where a client would take a
//! slower path.

#![allow(clippy::little_endian_bytes, reason = "protobuf stores numbers so")]

use std::str;

use super::data::{FAMILY, LentReading};

/// An invalid message, or a row of another form.
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
pub(super) struct Row<'m, R = LentReading<'m>> {
    pub(super) key: &'m [u8],
    pub(super) reading: R,
}

/// The columns of a row, by hand, while its cells are read.
pub(super) trait Columns<'m>: Default {
    type Row;

    fn take(&mut self, qualifier: &[u8], value: &'m [u8]) -> Result<(), Refused>;
    fn row(&self) -> Option<Self::Row>;
}

/// The fields of a chunk that are needed here.
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

/// A row whose end has not been read yet.
#[derive(Default)]
struct Open<'m, C> {
    key: &'m [u8],
    is_of_family: bool,
    qualifier: &'m [u8],
    columns: C,
}

/// The columns of a [`LentReading`].
#[derive(Default)]
pub(super) struct ReadingColumns<'m> {
    celsius: Option<f64>,
    humidity: Option<i64>,
    station: Option<&'m str>,
}

impl<'m> Columns<'m> for ReadingColumns<'m> {
    type Row = LentReading<'m>;

    #[inline(always)]
    fn take(&mut self, qualifier: &[u8], value: &'m [u8]) -> Result<(), Refused> {
        match qualifier {
            b"celsius" => self.celsius = Some(f64::from_be_bytes(number(value)?)),
            b"humidity" => self.humidity = Some(i64::from_be_bytes(number(value)?)),
            b"station" => self.station = Some(text(value)?),
            _ => {}
        }
        Ok(())
    }

    #[inline(always)]
    fn row(&self) -> Option<LentReading<'m>> {
        Some(LentReading { celsius: self.celsius?, humidity: self.humidity?, station: self.station? })
    }
}

/// Splits the next row off the rest of a message.
#[inline(always)]
pub(super) fn next_row<'m>(message: &mut &'m [u8]) -> Result<Option<Row<'m>>, Refused> {
    next_row_of::<ReadingColumns<'m>>(message)
}

/// [`next_row`] for other columns.
#[inline(always)]
pub(super) fn next_row_of<'m, C: Columns<'m>>(
    message: &mut &'m [u8],
) -> Result<Option<Row<'m, C::Row>>, Refused> {
    let mut open = Open::<'m, C>::default();
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

impl<'m, C: Columns<'m>> Open<'m, C> {
    #[inline(always)]
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
        self.columns.take(self.qualifier, chunk.value)
    }

    #[inline(always)]
    fn close(&self) -> Result<Row<'m, C::Row>, Refused> {
        Ok(Row { key: self.key, reading: self.columns.row().ok_or(Refused)? })
    }
}

#[inline(always)]
pub(super) fn number(value: &[u8]) -> Result<[u8; 8], Refused> {
    value.try_into().map_err(|_| Refused)
}

#[inline(always)]
pub(super) fn text(value: &[u8]) -> Result<&str, Refused> {
    str::from_utf8(value).map_err(|_| Refused)
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

#[inline(always)]
fn next_chunk<'m>(message: &mut &'m [u8]) -> Result<Option<Chunk<'m>>, Refused> {
    while !message.is_empty() {
        match varint(message)? {
            CHUNKS => return chunk(bytes(message)?).map(Some),
            tag => skip(tag, message)?,
        }
    }
    Ok(None)
}

#[inline(always)]
fn chunk(mut fields: &[u8]) -> Result<Chunk<'_>, Refused> {
    let mut chunk = Chunk::default();
    if let Some(key) = short_bytes(ROW_KEY, &mut fields) {
        chunk.key = key;
    }
    if let Some(family) = short_bytes(FAMILY_NAME, &mut fields) {
        chunk.family = Some(wrapped(family)?);
    }
    if let Some(qualifier) = short_bytes(QUALIFIER, &mut fields) {
        chunk.qualifier = Some(wrapped(qualifier)?);
    }
    if has(TIMESTAMP_MICROS, &mut fields) {
        skip_varint(&mut fields)?;
    }
    if let Some(value) = short_bytes(VALUE, &mut fields) {
        chunk.value = value;
    }
    if has(COMMIT_ROW, &mut fields) {
        chunk.is_committed = varint(&mut fields)? != 0;
    }
    if !fields.is_empty() {
        other_fields(fields, &mut chunk)?;
    }
    Ok(chunk)
}

#[cold]
fn other_fields<'m>(mut fields: &'m [u8], chunk: &mut Chunk<'m>) -> Result<(), Refused> {
    while !fields.is_empty() {
        match varint(&mut fields)? {
            ROW_KEY => chunk.key = bytes(&mut fields)?,
            FAMILY_NAME => chunk.family = Some(wrapped(bytes(&mut fields)?)?),
            QUALIFIER => chunk.qualifier = Some(wrapped(bytes(&mut fields)?)?),
            VALUE => chunk.value = bytes(&mut fields)?,
            VALUE_SIZE => chunk.is_split = varint(&mut fields)? != 0,
            RESET_ROW => chunk.is_reset = varint(&mut fields)? != 0,
            COMMIT_ROW => chunk.is_committed = varint(&mut fields)? != 0,
            tag => skip(tag, &mut fields)?,
        }
    }
    Ok(())
}

/// Steps over the tag, if it is next.
#[inline(always)]
fn has(tag: u64, fields: &mut &[u8]) -> bool {
    match fields.split_first() {
        Some((byte, rest)) if u64::from(*byte) == tag => {
            *fields = rest;
            true
        }
        _ => false,
    }
}

/// The field with this tag, if it is next and has a length of one byte.
#[inline(always)]
fn short_bytes<'m>(tag: u64, fields: &mut &'m [u8]) -> Option<&'m [u8]> {
    match **fields {
        [byte, len @ ..0x80, ref rest @ ..] if u64::from(byte) == tag => {
            let (bytes, rest) = rest.split_at_checked(len.into())?;
            *fields = rest;
            Some(bytes)
        }
        _ => None,
    }
}

#[inline(always)]
fn wrapped(fields: &[u8]) -> Result<&[u8], Refused> {
    let mut rest = fields;
    match short_bytes(WRAPPED, &mut rest) {
        Some(value) if rest.is_empty() => Ok(value),
        _ => wrapped_otherwise(fields),
    }
}

#[cold]
fn wrapped_otherwise(mut fields: &[u8]) -> Result<&[u8], Refused> {
    let mut value: &[u8] = &[];
    while !fields.is_empty() {
        match varint(&mut fields)? {
            WRAPPED => value = bytes(&mut fields)?,
            tag => skip(tag, &mut fields)?,
        }
    }
    Ok(value)
}

#[inline(always)]
pub(super) fn bytes<'m>(fields: &mut &'m [u8]) -> Result<&'m [u8], Refused> {
    let len = usize::try_from(varint(fields)?).map_err(|_| Refused)?;
    let (bytes, rest) = fields.split_at_checked(len).ok_or(Refused)?;
    *fields = rest;
    Ok(bytes)
}

#[inline(always)]
pub(super) fn varint(fields: &mut &[u8]) -> Result<u64, Refused> {
    match **fields {
        [byte @ ..0x80, ref rest @ ..] => {
            *fields = rest;
            Ok(byte.into())
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

/// Timestamps take 8 bytes, which are checked together.
#[inline(always)]
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

/// Skips an unknown field. Groups are rejected: this protocol has none.
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
