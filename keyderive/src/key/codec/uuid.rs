//! `Uuid`: in text hyphenated or not, ordered as its 16 bytes; of any version or random ones only.

use std::borrow::Cow;

use uuid::Uuid;

use super::super::error::FieldError;
use super::super::field::{Cut, KeyField, RangeField, Side};
use super::super::format::{Format, Width};
use super::super::show::Readable;
use super::{Ordered, Simple, Text, V4};

/// A format for UUIDs. The order of each is that of the 16 bytes.
pub trait UuidCodec {
    /// What is written, for the schema.
    const FORMAT: Format;
    /// How many bytes are written.
    const WIDTH: usize;
    /// Whether UUIDs that are not of version 4 are errors.
    const V4: bool = false;

    /// Appends the encoding of any UUID.
    fn append(value: &Uuid, out: &mut Vec<u8>);
}

impl UuidCodec for Text {
    const FORMAT: Format = Format::Uuid;
    const WIDTH: usize = 36;

    #[inline]
    fn append(value: &Uuid, out: &mut Vec<u8>) {
        out.extend_from_slice(value.hyphenated().encode_lower(&mut [0; 36]).as_bytes());
    }
}

impl UuidCodec for Simple {
    const FORMAT: Format = Format::UuidSimple;
    const WIDTH: usize = 32;

    #[inline]
    fn append(value: &Uuid, out: &mut Vec<u8>) {
        out.extend_from_slice(value.simple().encode_lower(&mut [0; 32]).as_bytes());
    }
}

impl UuidCodec for Ordered {
    const FORMAT: Format = Format::Uuid;
    const WIDTH: usize = 16;

    #[inline]
    fn append(value: &Uuid, out: &mut Vec<u8>) {
        out.extend_from_slice(value.as_bytes());
    }
}

impl<C: UuidCodec> UuidCodec for V4<C> {
    const FORMAT: Format = C::FORMAT;
    const WIDTH: usize = C::WIDTH;
    const V4: bool = true;

    #[inline]
    fn append(value: &Uuid, out: &mut Vec<u8>) {
        C::append(value, out);
    }
}

/// The UUID that these bytes, of a length that a codec writes, may be an encoding of.
fn parse(bytes: &[u8]) -> Option<Uuid> {
    match bytes.try_into() {
        Ok(bytes) => Some(Uuid::from_bytes(bytes)),
        Err(_) => Uuid::try_parse_ascii(bytes).ok(),
    }
}

/// Version 4 of the variant that has versions, that of RFC 9562.
fn check_v4(value: &Uuid) -> Result<(), FieldError> {
    let bytes = value.as_bytes();
    if bytes[6] >> 4 == 4 && bytes[8] >> 6 == 0b10 {
        return Ok(());
    }
    Err(FieldError::new(format_args!(
        "{value} is not a random UUID: it is of {}, and `row_key(uuid(v4))` holds version 4; leave `v4` out to \
         store every UUID",
        Version(value),
    )))
}

/// The version of a UUID in words.
struct Version<'a>(&'a Uuid);

impl std::fmt::Display for Version<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let bytes = self.0.as_bytes();
        match bytes[8] >> 6 {
            0b10 => write!(f, "version {}", bytes[6] >> 4),
            _ => f.write_str("a variant without versions"),
        }
    }
}

#[diagnostic::do_not_recommend]
impl<C: UuidCodec> KeyField<C> for Uuid {
    type Arg<'a> = Uuid;
    type Decoded<'a> = Uuid;
    const FORMAT: Format = C::FORMAT;
    const WIDTH: Width = Width::Fixed(C::WIDTH);

    #[inline]
    fn arg(&self) -> Uuid {
        *self
    }

    #[inline]
    fn write(value: Uuid, out: &mut Vec<u8>) -> Result<(), FieldError> {
        if C::V4 {
            check_v4(&value)?;
        }
        C::append(&value, out);
        Ok(())
    }

    #[inline]
    fn read(bytes: Cow<'_, [u8]>) -> Result<Uuid, FieldError> {
        let mut canonical = Vec::with_capacity(36);
        let value = parse(&bytes).filter(|value| {
            C::append(value, &mut canonical);
            canonical == *bytes
        });
        let value = value.ok_or_else(|| not_a_uuid::<C>(&bytes))?;
        if C::V4 {
            check_v4(&value)?;
        }
        Ok(value)
    }
}

#[diagnostic::do_not_recommend]
impl<C: UuidCodec> RangeField<C> for Uuid {
    fn cut(bound: Uuid, side: Side) -> Cut {
        // Between two neighbours there is only one cut, so that an empty range is seen to be empty.
        let next = match side {
            Side::Before => Some(bound),
            Side::After => bound.as_u128().checked_add(1).map(Uuid::from_u128),
        };
        let Some(next) = next else {
            return Cut::Last;
        };
        let mut encoding = Vec::with_capacity(36);
        C::append(&next, &mut encoding);
        Cut::Before(encoding)
    }
}

#[cold]
fn not_a_uuid<C: UuidCodec>(bytes: &[u8]) -> FieldError {
    let form = match C::WIDTH {
        16 => "as its 16 bytes",
        32 => "in lower-case hexadecimal without hyphens, 32 bytes",
        _ => "in lower-case hexadecimal with hyphens, 36 bytes",
    };
    FieldError::new(format_args!("`{}` is not a UUID {form}", Readable(bytes)))
}

#[cfg(test)]
mod tests;
