//! `Uuid`, hyphenated or not, of any version or random ones only.

use std::borrow::Cow;

use uuid::Uuid;

use super::super::error::FieldError;
use super::super::field::{Cut, KeyField, RangeField, Side};
use super::super::format::{Format, Width};
use super::super::show::Readable;
use super::{Simple, Text, V4};

/// A format for UUIDs. The order of the text is that of the 16 bytes.
pub trait UuidCodec {
    /// Whether the groups are set apart by hyphens.
    const HYPHENATED: bool;
    /// Whether UUIDs that are not of version 4 are errors.
    const V4: bool = false;
}

impl UuidCodec for Text {
    const HYPHENATED: bool = true;
}

impl UuidCodec for Simple {
    const HYPHENATED: bool = false;
}

impl<C: UuidCodec> UuidCodec for V4<C> {
    const HYPHENATED: bool = C::HYPHENATED;
    const V4: bool = true;
}

/// Appends the lower-case hexadecimal form.
#[inline]
fn append(value: &Uuid, hyphenated: bool, out: &mut Vec<u8>) {
    let mut buffer = [0; 36];
    let text = if hyphenated {
        value.hyphenated().encode_lower(&mut buffer)
    } else {
        value.simple().encode_lower(&mut buffer)
    };
    out.extend_from_slice(text.as_bytes());
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
    const FORMAT: Format = if C::HYPHENATED { Format::Uuid } else { Format::UuidSimple };
    const WIDTH: Width = Width::Fixed(if C::HYPHENATED { 36 } else { 32 });

    #[inline]
    fn arg(&self) -> Uuid {
        *self
    }

    #[inline]
    fn write(value: Uuid, out: &mut Vec<u8>) -> Result<(), FieldError> {
        if C::V4 {
            check_v4(&value)?;
        }
        append(&value, C::HYPHENATED, out);
        Ok(())
    }

    #[inline]
    fn read(bytes: Cow<'_, [u8]>) -> Result<Uuid, FieldError> {
        let mut canonical = Vec::with_capacity(36);
        let value = Uuid::try_parse_ascii(&bytes).ok().filter(|value| {
            append(value, C::HYPHENATED, &mut canonical);
            canonical == *bytes
        });
        let value = value.ok_or_else(|| not_a_uuid(&bytes, C::HYPHENATED))?;
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
        append(&next, C::HYPHENATED, &mut encoding);
        Cut::Before(encoding)
    }
}

#[cold]
fn not_a_uuid(bytes: &[u8], hyphenated: bool) -> FieldError {
    FieldError::new(format_args!(
        "`{}` is not a UUID in lower-case hexadecimal {}",
        Readable(bytes),
        if hyphenated { "with hyphens, 36 bytes" } else { "without hyphens, 32 bytes" },
    ))
}

#[cfg(test)]
mod tests;
