//! `Uuid`: hexadecimal with or without hyphens in text, 16 bytes in the ordered layout; of any version or of version 4.

use std::borrow::Cow;

use uuid::Uuid;

use super::super::field::{Cut, FieldError, KeyField, RangeField, Side};
use super::super::format::{FieldValues, Format, Width};
use super::super::show::Readable;
use super::{Ordered, Simple, Text, V4};

/// A format for UUIDs. Every format sorts as the 16 bytes do.
pub trait UuidCodec {
    /// The format, as the schema names it.
    const FORMAT: Format;
    /// How many bytes are written.
    const WIDTH: usize;
    /// Whether UUIDs of other versions than 4 are rejected.
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

/// Accepts every form that a codec writes, and others: the caller compares the UUID's encoding with the bytes.
fn parse(bytes: &[u8]) -> Option<Uuid> {
    match bytes.try_into() {
        Ok(bytes) => Some(Uuid::from_bytes(bytes)),
        Err(_) => Uuid::try_parse_ascii(bytes).ok(),
    }
}

/// Accepts version 4 of the variant of RFC 9562, the one that has versions.
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
    by_value!(FieldValues::Uuid { version: if C::V4 { Some(4) } else { None } });
    const FORMAT: Format = C::FORMAT;
    const WIDTH: Width = Width::Fixed(C::WIDTH);

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
        // Using the next UUID gives one cut between two neighbours, so an empty range is recognized as empty.
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
mod tests {
    use super::*;

    const RANDOM: Uuid = Uuid::from_u128(0x67e5_5044_10b1_426f_9247_bb68_0e5f_e0c8);
    const OF_TIME: Uuid = Uuid::from_u128(0x0190_5c2e_8d7a_7b3c_9247_bb68_0e5f_e0c8);

    fn write<C: UuidCodec>(value: Uuid) -> Result<String, String> {
        let mut out = Vec::new();
        <Uuid as KeyField<C>>::write(value, &mut out).map_err(|error| error.to_string())?;
        Ok(String::from_utf8(out).unwrap())
    }

    fn read<C: UuidCodec>(text: &str) -> Result<Uuid, String> {
        <Uuid as KeyField<C>>::read(Cow::Borrowed(text.as_bytes())).map_err(|error| error.to_string())
    }

    #[test]
    fn bytes() {
        assert_eq!(write::<Text>(RANDOM).unwrap(), "67e55044-10b1-426f-9247-bb680e5fe0c8");
        assert_eq!(write::<V4>(RANDOM).unwrap(), "67e55044-10b1-426f-9247-bb680e5fe0c8");
        assert_eq!(write::<Simple>(RANDOM).unwrap(), "67e5504410b1426f9247bb680e5fe0c8");
        assert_eq!(write::<V4<Simple>>(RANDOM).unwrap(), "67e5504410b1426f9247bb680e5fe0c8");
    }

    #[test]
    fn other_versions_are_rejected_by_write_and_read() {
        let text = write::<Text>(OF_TIME).unwrap();
        for error in [write::<V4>(OF_TIME).unwrap_err(), read::<V4>(&text).unwrap_err()] {
            assert!(
                error.contains(&text) && error.contains("version 7") && error.contains("version 4"),
                "{error}"
            );
        }
        assert!(write::<V4>(Uuid::nil()).unwrap_err().contains("a variant without versions"));
    }

    #[test]
    fn only_the_written_form_is_read() {
        for text in [
            "67E55044-10B1-426F-9247-BB680E5FE0C8",
            "67e5504410b1426f9247bb680e5fe0c8",
            "{67e55044-10b1-426f-9247-bb680e5fe0c8}",
            "urn:uuid:67e55044-10b1-426f-9247-bb680e5fe0c8",
            "67e55044-10b1-426f-9247-bb680e5fe0cg",
            "",
        ] {
            let error = read::<Text>(text).unwrap_err();
            assert!(error.contains(text) && error.contains("with hyphens, 36 bytes"), "{error}");
        }
        assert!(read::<Simple>("67e55044-10b1-426f-9247-bb680e5fe0c8").is_err());
    }
}
