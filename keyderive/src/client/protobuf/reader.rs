//! The fields of protobuf messages, one after the other.

use crate::row::Span;

/// How deep groups, which are fields of an old form, may lie in one another. Messages have none.
const MOST_GROUPS: u32 = 100;

/// The forms that fields have on the wire.
pub(in crate::client) const VARINT: u8 = 0;
const FIXED64: u8 = 1;
pub(in crate::client) const LENGTH: u8 = 2;
const GROUP: u8 = 3;
const END_OF_GROUP: u8 = 4;
const FIXED32: u8 = 5;

/// The bit of each byte that says that a number goes on.
const GOES_ON: u64 = 0x8080_8080_8080_8080;

/// Reads fields up to the end of `bytes`, which have at most 4 GiB.
pub(in crate::client) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

/// What is wrong with a message, and at which byte. It is small, so that what can fail is not slow where it does not.
#[derive(Clone, Copy, Debug)]
pub(in crate::client) struct Wrong {
    what: What,
    at: u32,
}

#[derive(Clone, Copy, Debug)]
pub(in crate::client) enum What {
    Form,
    NotUtf8,
    LargeNumber,
    Number0,
    NoForm,
    Overlong,
    CutNumber,
    WideNumber,
    DeepGroups,
    EndOfGroup,
    CutField,
}

impl Wrong {
    #[cold]
    pub(in crate::client) fn into_text(self) -> String {
        let what = match self.what {
            What::Form => "a field is not of its type",
            What::NotUtf8 => "a family or a label is not UTF-8",
            What::LargeNumber => "a field's number is too large",
            What::Number0 => "a field has the number 0",
            What::NoForm => "a field has no form that there is",
            What::Overlong => "a field is longer than what it is in",
            What::CutNumber => "it ends in a number",
            What::WideNumber => "a number has more than 64 bits",
            What::DeepGroups => "groups lie too deep in one another",
            What::EndOfGroup => "a group ends that has not begun",
            What::CutField => "it ends in a field",
        };
        format!("a message cannot be read at byte {}: {what}", self.at)
    }
}

impl<'a> Reader<'a> {
    #[inline]
    pub(in crate::client) fn new(bytes: &'a [u8], at: usize) -> Self {
        Self { bytes, at: at.min(bytes.len()) }
    }

    #[inline]
    pub(in crate::client) fn at(&self) -> usize {
        self.at
    }

    #[inline]
    pub(in crate::client) fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    #[cold]
    pub(in crate::client) fn wrong(&self, what: What) -> Wrong {
        Wrong { what, at: place(self.at) }
    }

    /// The number of the next field, and its form; none at the end.
    #[inline]
    pub(in crate::client) fn field(&mut self) -> Result<Option<(u32, u8)>, Wrong> {
        match self.bytes.get(self.at) {
            // The first 15 fields have one byte, of a form that there is.
            Some(byte @ 8..0x80) if byte & 7 < 6 => {
                self.at += 1;
                Ok(Some((u32::from(byte >> 3), byte & 7)))
            }
            Some(_) => self.long_field().map(Some),
            None => Ok(None),
        }
    }

    #[cold]
    fn long_field(&mut self) -> Result<(u32, u8), Wrong> {
        let key = u32::try_from(self.varint()?).map_err(|_| self.wrong(What::LargeNumber))?;
        match (key >> 3, (key & 7) as u8) {
            (0, _) => Err(self.wrong(What::Number0)),
            (_, 6 | 7) => Err(self.wrong(What::NoForm)),
            field => Ok(field),
        }
    }

    /// What is as long as it says.
    #[inline]
    pub(in crate::client) fn span(&mut self) -> Result<Span, Wrong> {
        let length = self.varint()?;
        let start = self.at;
        match usize::try_from(length) {
            Ok(length) if length <= self.bytes.len() - start => {
                self.at = start + length;
                Ok(Span::new(place(start), place(self.at)))
            }
            _ => Err(self.wrong(What::Overlong)),
        }
    }

    #[inline]
    pub(in crate::client) fn varint(&mut self) -> Result<u64, Wrong> {
        match self.bytes.get(self.at) {
            Some(byte @ ..0x80) => {
                self.at += 1;
                Ok(u64::from(*byte))
            }
            _ => self.long_varint(),
        }
    }

    /// A number of several bytes, seven bits in each, the lowest first.
    #[inline]
    #[expect(clippy::little_endian_bytes, reason = "protobuf's numbers have their lowest byte first")]
    fn long_varint(&mut self) -> Result<u64, Wrong> {
        if let Some(word) = self.bytes.get(self.at..).and_then(<[u8]>::first_chunk)
            && let Some((number, len)) = short_varint(u64::from_le_bytes(*word))
        {
            self.at += len;
            return Ok(number);
        }
        self.longest_varint()
    }

    #[cold]
    fn longest_varint(&mut self) -> Result<u64, Wrong> {
        let mut number = 0;
        for place in 0..10 {
            let Some(byte) = self.bytes.get(self.at) else {
                return Err(self.wrong(What::CutNumber));
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
        Err(self.wrong(What::WideNumber))
    }

    /// Goes after a field that nobody here knows.
    #[cold]
    pub(in crate::client) fn skip(&mut self, number: u32, form: u8) -> Result<(), Wrong> {
        self.skip_in(number, form, 0)
    }

    fn skip_in(&mut self, number: u32, form: u8, groups: u32) -> Result<(), Wrong> {
        match form {
            VARINT => self.varint().map(drop),
            LENGTH => self.span().map(drop),
            FIXED64 => self.skip_bytes(8),
            FIXED32 => self.skip_bytes(4),
            GROUP if groups < MOST_GROUPS => loop {
                match self.field()? {
                    Some((end, END_OF_GROUP)) if end == number => return Ok(()),
                    Some((inner, form)) => self.skip_in(inner, form, groups + 1)?,
                    None => return Err(self.wrong(What::CutField)),
                }
            },
            GROUP => Err(self.wrong(What::DeepGroups)),
            _ => Err(self.wrong(What::EndOfGroup)),
        }
    }

    fn skip_bytes(&mut self, count: usize) -> Result<(), Wrong> {
        if self.bytes.len() - self.at < count {
            return Err(self.wrong(What::CutNumber));
        }
        self.at += count;
        Ok(())
    }
}

/// The number that eight bytes begin with, the lowest byte first, and how many of them it takes, if it ends in them.
#[inline]
pub(in crate::client) fn short_varint(word: u64) -> Option<(u64, usize)> {
    let ends = !word & GOES_ON;
    if ends == 0 {
        return None;
    }
    let bits = ends.trailing_zeros() + 1;
    Some((seven_bits_of_eight(word & (u64::MAX >> (64 - bits))), bits as usize / 8))
}

/// A number out of the lower seven bits of each byte, the lowest byte first.
#[inline]
fn seven_bits_of_eight(word: u64) -> u64 {
    let word = word & !GOES_ON;
    let word = (word & 0x007f_007f_007f_007f) | ((word & 0x7f00_7f00_7f00_7f00) >> 1);
    let word = (word & 0x0000_3fff_0000_3fff) | ((word & 0x3fff_0000_3fff_0000) >> 2);
    (word & 0x0fff_ffff) | ((word & 0x0fff_ffff_0000_0000) >> 4)
}

/// A place in a message, none of which is at more than 4 GiB.
#[inline]
#[expect(
    clippy::cast_possible_truncation,
    reason = "whoever makes a reader has seen that its bytes are fewer"
)]
fn place(at: usize) -> u32 {
    at as u32
}
