//! Text, and types that are stored as the text of their `Display`.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use super::{Cell, CellError, CellType, CellWriter};
use crate::key::as_text;

#[inline]
pub(super) fn read_text(value: &[u8]) -> Result<&str, CellError> {
    as_text(value).ok_or_else(|| not_text(value))
}

#[cold]
fn not_text(value: &[u8]) -> CellError {
    match str::from_utf8(value) {
        Ok(_) => CellError::not_these_bytes(value, "text is stored as UTF-8"),
        Err(error) => CellError::not_these_bytes(value, format_args!("text is stored as UTF-8: {error}")),
    }
}

macro_rules! texts {
    ($($type:ty, $owned:ty, $decoded:ty;)*) => {$(
        impl Cell for $type {
            type Owned = $owned;
            type Decoded<'r> = $decoded;
            const TYPE: CellType = CellType::Text;

            #[inline]
            fn encode(&self, out: &mut CellWriter<'_>) -> Result<(), CellError> {
                out.write(self.as_bytes());
                Ok(())
            }

            #[inline]
            fn decode(value: &[u8]) -> Result<Self::Decoded<'_>, CellError> {
                read_text(value).map(Into::into)
            }
        }
    )*};
}

texts! {
    String, String, String;
    &str, String, &'r str;
    Cow<'_, str>, String, Cow<'r, str>;
    Box<str>, Box<str>, Box<str>;
    Arc<str>, Arc<str>, Arc<str>;
}

impl Cell for char {
    type Owned = Self;
    type Decoded<'r> = Self;
    const TYPE: CellType = CellType::Char;

    fn encode(&self, out: &mut CellWriter<'_>) -> Result<(), CellError> {
        out.write(self.encode_utf8(&mut [0; 4]).as_bytes());
        Ok(())
    }

    fn decode(value: &[u8]) -> Result<Self, CellError> {
        let mut chars = read_text(value)?.chars();
        match (chars.next(), chars.next()) {
            (Some(char), None) => Ok(char),
            _ => Err(CellError::not_this_text(value, "`char` is stored as one character in UTF-8")),
        }
    }
}

/// Types that are stored as their `Display`. Another text that their `FromStr` would read, such as `0::1` for `::1`, is rejected:
/// the server compares bytes, and would not find the value.
macro_rules! displayed {
    ($($type:ty, $cell:ident, $expected:literal;)*) => {$(
        impl Cell for $type {
            type Owned = Self;
            type Decoded<'r> = Self;
            const TYPE: CellType = CellType::$cell;

            fn encode(&self, out: &mut CellWriter<'_>) -> Result<(), CellError> {
                write!(out, "{self}").map_err(CellError::unsupported)
            }

            fn decode(value: &[u8]) -> Result<Self, CellError> {
                let text = read_text(value)?;
                let read = text.parse().ok().filter(|read: &Self| read.to_string() == text);
                read.ok_or_else(|| CellError::not_this_text(value, $expected))
            }
        }
    )*};
}

displayed! {
    IpAddr, IpAddress, "an address is stored as text, such as `127.0.0.1` or `::1`";
    Ipv4Addr, Ipv4Address, "an address is stored as text, such as `127.0.0.1`";
    Ipv6Addr, Ipv6Address, "an address is stored as text, such as `::1`";
}

/// Reads a UUID from its text: hyphenated, in lower case.
pub(super) fn read_uuid(value: &[u8]) -> Result<u128, CellError> {
    parse_uuid(read_text(value)?).ok_or_else(|| {
        CellError::not_this_text(
            value,
            "a UUID is stored as text, such as `67e55044-10b1-426f-9247-bb680e5fe0c8`",
        )
    })
}

fn parse_uuid(text: &str) -> Option<u128> {
    let digit = |uuid: u128, (at, byte): (usize, &u8)| match (at, byte) {
        (8 | 13 | 18 | 23, b'-') => Some(uuid),
        (8 | 13 | 18 | 23, _) => None,
        (_, b'0'..=b'9') => Some(uuid << 4 | u128::from(byte - b'0')),
        (_, b'a'..=b'f') => Some(uuid << 4 | u128::from(byte - b'a' + 10)),
        _ => None,
    };
    let digits = text.as_bytes();
    if digits.len() == 36 { digits.iter().enumerate().try_fold(0, digit) } else { None }
}

#[cfg(feature = "uuid")]
impl Cell for uuid::Uuid {
    type Owned = Self;
    type Decoded<'r> = Self;
    const TYPE: CellType = CellType::Uuid;

    fn encode(&self, out: &mut CellWriter<'_>) -> Result<(), CellError> {
        write!(out, "{self}").map_err(CellError::unsupported)
    }

    fn decode(value: &[u8]) -> Result<Self, CellError> {
        read_uuid(value).map(Self::from_u128)
    }
}
