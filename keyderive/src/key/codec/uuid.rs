//! UUIDs: hexadecimal with or without hyphens in text, 16 bytes in the ordered layout; of any version or of version 4.

use std::fmt;

use super::super::field::{Cut, FieldError, Side};
use super::super::format::Format;
use super::super::show::Readable;
use super::bytes::{read_hex, write_hex};

/// How a UUID is written. Every form sorts as the 16 bytes do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "uuid"), allow(unreachable_pub, reason = "the typed codec shows it"))]
pub enum UuidForm {
    /// With hyphens.
    Hyphenated,
    /// Without hyphens.
    Simple,
    /// Its bytes.
    Bytes,
}

/// Where the hyphens are in text.
const HYPHENS: [usize; 4] = [8, 13, 18, 23];

impl UuidForm {
    pub(crate) const fn format(self) -> Format {
        match self {
            Self::Hyphenated | Self::Bytes => Format::Uuid,
            Self::Simple => Format::UuidSimple,
        }
    }

    /// How many bytes are written.
    pub(crate) const fn width(self) -> usize {
        match self {
            Self::Hyphenated => 36,
            Self::Simple => 32,
            Self::Bytes => 16,
        }
    }

    /// Appends any UUID.
    pub(crate) fn append(self, value: u128, out: &mut Vec<u8>) {
        let bytes = value.to_be_bytes();
        match self {
            Self::Bytes => out.extend_from_slice(&bytes),
            Self::Simple => write_hex(&bytes, out),
            Self::Hyphenated => {
                for (at, part) in
                    [&bytes[..4], &bytes[4..6], &bytes[6..8], &bytes[8..10], &bytes[10..]].iter().enumerate()
                {
                    if at > 0 {
                        out.push(b'-');
                    }
                    write_hex(part, out);
                }
            }
        }
    }

    /// Reads a UUID; with `is_v4`, of that version.
    ///
    /// # Errors
    /// For all bytes that `append` does not append, and for a UUID of another version.
    pub(crate) fn read(self, bytes: &[u8], is_v4: bool) -> Result<u128, FieldError> {
        let value = self.parse(bytes).ok_or_else(|| self.malformed(bytes))?;
        if is_v4 {
            check_v4(value)?;
        }
        Ok(value)
    }

    fn parse(self, bytes: &[u8]) -> Option<u128> {
        if bytes.len() != self.width() {
            return None;
        }
        let raw = match self {
            Self::Bytes => return bytes.try_into().ok().map(u128::from_be_bytes),
            Self::Simple => read_hex(bytes).ok()?,
            Self::Hyphenated if HYPHENS.iter().any(|at| bytes[*at] != b'-') => return None,
            Self::Hyphenated => {
                let digits: Vec<u8> = bytes.iter().copied().filter(|byte| *byte != b'-').collect();
                read_hex(&digits).ok()?
            }
        };
        raw.try_into().ok().map(u128::from_be_bytes)
    }

    /// The cut on one side of a UUID.
    pub(crate) fn cut(self, bound: u128, side: Side) -> Cut {
        // Using the next UUID gives one cut between two neighbours, so an empty range is recognized as empty.
        let next = match side {
            Side::Before => Some(bound),
            Side::After => bound.checked_add(1),
        };
        let Some(next) = next else {
            return Cut::Last;
        };
        let mut encoding = Vec::with_capacity(self.width());
        self.append(next, &mut encoding);
        Cut::Before(encoding)
    }

    #[cold]
    fn malformed(self, bytes: &[u8]) -> FieldError {
        let form = match self {
            Self::Bytes => "as its 16 bytes",
            Self::Simple => "in lower-case hexadecimal without hyphens, 32 bytes",
            Self::Hyphenated => "in lower-case hexadecimal with hyphens, 36 bytes",
        };
        FieldError::new(format_args!("`{}` is not a UUID {form}", Readable(bytes)))
    }
}

/// Accepts version 4 of the variant of RFC 9562, the one that has versions.
pub(crate) fn check_v4(value: u128) -> Result<(), FieldError> {
    let bytes = value.to_be_bytes();
    if bytes[6] >> 4 == 4 && bytes[8] >> 6 == 0b10 {
        return Ok(());
    }
    let version = match bytes[8] >> 6 {
        0b10 => format!("version {}", bytes[6] >> 4),
        _ => "a variant without versions".to_owned(),
    };
    Err(FieldError::new(format_args!(
        "{} is not a random UUID: it is of {version}, and `row_key(uuid(v4))` holds version 4; leave `v4` out to \
         store every UUID",
        ShownUuid(value),
    )))
}

/// A UUID with hyphens.
pub(crate) struct ShownUuid(pub(crate) u128);

impl fmt::Display for ShownUuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = Vec::with_capacity(36);
        UuidForm::Hyphenated.append(self.0, &mut text);
        f.write_str(str::from_utf8(&text).unwrap_or_default())
    }
}

#[cfg(feature = "uuid")]
mod typed {
    use std::borrow::Cow;

    use uuid::Uuid;

    use super::super::super::field::{Cut, FieldError, KeyField, RangeField, Side};
    use super::super::super::format::{FieldValues, Format, Width};
    use super::super::{Ordered, Simple, Text, V4};
    use super::{UuidForm, check_v4};

    /// A format for UUIDs.
    pub trait UuidCodec {
        /// How they are written.
        const FORM: UuidForm;
        /// Whether UUIDs of other versions than 4 are rejected.
        const V4: bool = false;
    }

    impl UuidCodec for Text {
        const FORM: UuidForm = UuidForm::Hyphenated;
    }

    impl UuidCodec for Simple {
        const FORM: UuidForm = UuidForm::Simple;
    }

    impl UuidCodec for Ordered {
        const FORM: UuidForm = UuidForm::Bytes;
    }

    impl<C: UuidCodec> UuidCodec for V4<C> {
        const FORM: UuidForm = C::FORM;
        const V4: bool = true;
    }

    #[diagnostic::do_not_recommend]
    impl<C: UuidCodec> KeyField<C> for Uuid {
        by_value!(FieldValues::Uuid { version: if C::V4 { Some(4) } else { None } });
        const FORMAT: Format = C::FORM.format();
        const WIDTH: Width = Width::Fixed(C::FORM.width());

        #[inline]
        fn write(value: Uuid, out: &mut Vec<u8>) -> Result<(), FieldError> {
            if C::V4 {
                check_v4(value.as_u128())?;
            }
            C::FORM.append(value.as_u128(), out);
            Ok(())
        }

        #[inline]
        fn read(bytes: Cow<'_, [u8]>) -> Result<Uuid, FieldError> {
            C::FORM.read(&bytes, C::V4).map(Uuid::from_u128)
        }
    }

    #[diagnostic::do_not_recommend]
    impl<C: UuidCodec> RangeField<C> for Uuid {
        fn cut(bound: Uuid, side: Side) -> Cut {
            C::FORM.cut(bound.as_u128(), side)
        }
    }
}
#[cfg(feature = "uuid")]
pub use typed::UuidCodec;

#[cfg(all(test, feature = "uuid"))]
mod tests {
    use std::borrow::Cow;

    use uuid::Uuid;

    use super::super::super::field::KeyField;
    use super::super::{Simple, Text, V4};
    use super::*;

    const RANDOM: Uuid = Uuid::from_u128(0x67e5_5044_10b1_426f_9247_bb68_0e5f_e0c8);
    const OF_TIME: Uuid = Uuid::from_u128(0x0190_5c2e_8d7a_7b3c_9247_bb68_0e5f_e0c8);

    fn write<C: UuidCodec>(value: Uuid) -> Result<String, String> {
        let mut out = Vec::new();
        <Uuid as KeyField<C>>::write(value, &mut out).map_err(|error| error.to_string())?;
        String::from_utf8(out).map_err(|error| error.to_string())
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
            "67e5504-410b1-426f-9247-bb680e5fe0c8",
            "67e55044010b1-426f-9247-bb680e5fe0c8",
            "67e55044-10b1-426f-92470bb680e5fe0c8",
            "",
        ] {
            let error = read::<Text>(text).unwrap_err();
            assert!(error.contains(text) && error.contains("with hyphens, 36 bytes"), "{error}");
        }
        assert!(read::<Simple>("67e55044-10b1-426f-9247-bb680e5fe0c8").is_err());
    }
}
