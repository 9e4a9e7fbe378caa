//! Protobuf by hand, for the messages that are read or written in place: cell chunks, mutations, and the outcomes of bulk
//! writes. Everything else uses the generated messages.

use crate::row::Span;

/// How deep groups, a deprecated wire type, may nest. Bigtable's messages have none.
const MAX_GROUP_DEPTH: u32 = 100;

/// The wire types.
pub(super) const VARINT: u8 = 0;
const FIXED64: u8 = 1;
pub(super) const LENGTH: u8 = 2;
const GROUP: u8 = 3;
const END_GROUP: u8 = 4;
const FIXED32: u8 = 5;

/// The continuation bit of each byte of a varint.
const CONTINUATION: u64 = 0x8080_8080_8080_8080;

/// Reads the fields of a message of at most 4 GiB.
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

/// Why a message is malformed, and at which byte. It is small, so that results that carry it stay cheap.
#[derive(Clone, Copy, Debug)]
pub(super) struct WireError {
    what: WireErrorKind,
    at: u32,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum WireErrorKind {
    WireType,
    NotUtf8,
    LargeFieldNumber,
    FieldNumber0,
    UnknownWireType,
    Overlong,
    TruncatedNumber,
    WideNumber,
    DeepGroups,
    EndOfGroup,
    TruncatedGroup,
}

impl WireError {
    #[cold]
    pub(super) fn into_text(self) -> String {
        let what = match self.what {
            WireErrorKind::WireType => "a field does not have the wire type of its schema",
            WireErrorKind::NotUtf8 => "a family or a label is not UTF-8",
            WireErrorKind::LargeFieldNumber => "a field's number is too large",
            WireErrorKind::FieldNumber0 => "a field has the number 0",
            WireErrorKind::UnknownWireType => "a field has an unknown wire type",
            WireErrorKind::Overlong => "a field is longer than the message around it",
            WireErrorKind::TruncatedNumber => "it ends in the middle of a number",
            WireErrorKind::WideNumber => "a number has more than 64 bits",
            WireErrorKind::DeepGroups => "groups are nested too deep",
            WireErrorKind::EndOfGroup => "a group ends that never began",
            WireErrorKind::TruncatedGroup => "it ends in the middle of a group",
        };
        format!("a message cannot be read at byte {}: {what}", self.at)
    }
}

impl<'a> Reader<'a> {
    #[inline]
    pub(super) fn new(bytes: &'a [u8], at: usize) -> Self {
        Self { bytes, at: at.min(bytes.len()) }
    }

    #[inline]
    pub(super) fn at(&self) -> usize {
        self.at
    }

    #[inline]
    pub(super) fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    #[cold]
    pub(super) fn wrong(&self, what: WireErrorKind) -> WireError {
        WireError { what, at: place(self.at) }
    }

    /// The next field's number and wire type; none at the end.
    #[inline]
    pub(super) fn field(&mut self) -> Result<Option<(u32, u8)>, WireError> {
        match self.bytes.get(self.at) {
            // The tags of the first 15 fields take one byte.
            Some(byte @ 8..0x80) if byte & 7 < 6 => {
                self.at += 1;
                Ok(Some((u32::from(byte >> 3), byte & 7)))
            }
            Some(_) => self.long_field().map(Some),
            None => Ok(None),
        }
    }

    #[cold]
    fn long_field(&mut self) -> Result<(u32, u8), WireError> {
        let key = u32::try_from(self.varint()?).map_err(|_| self.wrong(WireErrorKind::LargeFieldNumber))?;
        match (key >> 3, (key & 7) as u8) {
            (0, _) => Err(self.wrong(WireErrorKind::FieldNumber0)),
            (_, 6 | 7) => Err(self.wrong(WireErrorKind::UnknownWireType)),
            field => Ok(field),
        }
    }

    /// The length-delimited value of a field.
    #[inline]
    pub(super) fn span(&mut self) -> Result<Span, WireError> {
        let length = self.varint()?;
        let start = self.at;
        match usize::try_from(length) {
            Ok(length) if length <= self.bytes.len() - start => {
                self.at = start + length;
                Ok(Span::new(place(start), place(self.at)))
            }
            _ => Err(self.wrong(WireErrorKind::Overlong)),
        }
    }

    #[inline]
    pub(super) fn varint(&mut self) -> Result<u64, WireError> {
        match self.bytes.get(self.at) {
            Some(byte @ ..0x80) => {
                self.at += 1;
                Ok(u64::from(*byte))
            }
            _ => self.long_varint(),
        }
    }

    /// A varint of several bytes: seven bits in each, the lowest first.
    #[inline]
    #[expect(clippy::little_endian_bytes, reason = "varints have their lowest byte first")]
    fn long_varint(&mut self) -> Result<u64, WireError> {
        if let Some(word) = self.bytes.get(self.at..).and_then(<[u8]>::first_chunk)
            && let Some((number, len)) = short_varint(u64::from_le_bytes(*word))
        {
            self.at += len;
            return Ok(number);
        }
        self.longest_varint()
    }

    #[cold]
    fn longest_varint(&mut self) -> Result<u64, WireError> {
        let mut number = 0;
        for place in 0..10 {
            let Some(byte) = self.bytes.get(self.at) else {
                return Err(self.wrong(WireErrorKind::TruncatedNumber));
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
        Err(self.wrong(WireErrorKind::WideNumber))
    }

    /// Skips an unknown field.
    #[cold]
    pub(super) fn skip(&mut self, number: u32, wire_type: u8) -> Result<(), WireError> {
        self.skip_in(number, wire_type, 0)
    }

    fn skip_in(&mut self, number: u32, wire_type: u8, groups: u32) -> Result<(), WireError> {
        match wire_type {
            VARINT => self.varint().map(drop),
            LENGTH => self.span().map(drop),
            FIXED64 => self.skip_bytes(8),
            FIXED32 => self.skip_bytes(4),
            GROUP if groups < MAX_GROUP_DEPTH => loop {
                match self.field()? {
                    Some((end, END_GROUP)) if end == number => return Ok(()),
                    Some((inner, wire_type)) => self.skip_in(inner, wire_type, groups + 1)?,
                    None => return Err(self.wrong(WireErrorKind::TruncatedGroup)),
                }
            },
            GROUP => Err(self.wrong(WireErrorKind::DeepGroups)),
            _ => Err(self.wrong(WireErrorKind::EndOfGroup)),
        }
    }

    fn skip_bytes(&mut self, count: usize) -> Result<(), WireError> {
        if self.bytes.len() - self.at < count {
            return Err(self.wrong(WireErrorKind::TruncatedNumber));
        }
        self.at += count;
        Ok(())
    }
}

/// Decodes the varint at the start of eight bytes, the lowest byte first, with its length; none if it is longer.
#[inline]
pub(super) fn short_varint(word: u64) -> Option<(u64, usize)> {
    let ends = !word & CONTINUATION;
    if ends == 0 {
        return None;
    }
    let bits = ends.trailing_zeros() + 1;
    Some((seven_bits_of_eight(word & (u64::MAX >> (64 - bits))), bits as usize / 8))
}

/// Joins the lower seven bits of each byte, the lowest byte first.
#[inline]
fn seven_bits_of_eight(word: u64) -> u64 {
    let word = word & !CONTINUATION;
    let word = (word & 0x007f_007f_007f_007f) | ((word & 0x7f00_7f00_7f00_7f00) >> 1);
    let word = (word & 0x0000_3fff_0000_3fff) | ((word & 0x3fff_0000_3fff_0000) >> 2);
    (word & 0x0fff_ffff) | ((word & 0x0fff_ffff_0000_0000) >> 4)
}

/// An offset in a message of at most 4 GiB.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the caller of `Reader::new` has checked the length")]
fn place(at: usize) -> u32 {
    at as u32
}

// Fields are written with one of the first 15 numbers, whose tags take one byte.

/// Writes the tag and the length of a length-delimited field; the caller writes its `len` bytes.
#[inline]
pub(super) fn begin(field: u8, len: usize, out: &mut Vec<u8>) {
    out.push(field << 3 | LENGTH);
    varint(len as u64, out);
}

/// Writes a field of bytes.
#[inline]
pub(super) fn bytes(field: u8, bytes: &[u8], out: &mut Vec<u8>) {
    begin(field, bytes.len(), out);
    out.extend_from_slice(bytes);
}

/// The encoded size of a field of `len` bytes.
#[inline]
pub(super) fn bytes_len(len: usize) -> usize {
    1 + varint_len(len as u64) + len
}

/// Writes an `int64` field.
#[inline]
pub(super) fn int(field: u8, value: i64, out: &mut Vec<u8>) {
    out.push(field << 3 | VARINT);
    varint(value.cast_unsigned(), out);
}

/// The encoded size of an `int64` field.
#[inline]
pub(super) fn int_len(value: i64) -> usize {
    1 + varint_len(value.cast_unsigned())
}

/// Writes a varint: seven bits in each byte, the lowest first.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "each byte takes the lowest bits")]
fn varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

#[inline]
fn varint_len(value: u64) -> usize {
    (70 - (value | 1).leading_zeros() as usize) / 7
}
