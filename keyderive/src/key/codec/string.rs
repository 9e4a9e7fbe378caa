//! Strings and characters: as they are, padded with spaces, or escaped.
//!
//! A codec reads and writes `str`; the string types differ only in how they lend a `str` and are built from one. A
//! `char` is a string of one character.

use std::borrow::Cow;
use std::ops::RangeInclusive;

use super::super::fast::{self, KeyBuf, holds_forbidden};
use super::super::field::{Cut, FieldError, KeyField, PrefixField, RangeField, Side};
use super::super::format::{FieldValues, Format, Width};
use super::super::show::{Byte, Readable};
use super::{Escape, Ordered, Pad, Text};

/// A format for strings.
pub trait StrCodec {
    /// The format, as the schema names it.
    const FORMAT: Format;
    /// How many bytes are written.
    const WIDTH: Width;

    /// Appends the encoding of `value`.
    ///
    /// # Errors
    /// When the format cannot hold it.
    fn write(value: &str, out: &mut Vec<u8>) -> Result<(), FieldError>;

    /// How many bytes `write` appends for `value`.
    #[doc(hidden)]
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[must_use]
    fn written_len(value: &str) -> usize {
        value.len()
    }

    /// Appends as `write` does, and returns whether it appended a byte at or below the delimiter.
    ///
    /// # Errors
    /// Those of `write`.
    #[doc(hidden)]
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn append(value: &str, delimiter: u8, out: &mut KeyBuf<'_>) -> Result<bool, FieldError> {
        out.with_vec(|out| {
            let start = out.len();
            Self::write(value, out)?;
            let is_delimited = !matches!(Self::WIDTH, Width::Fixed(_));
            Ok(is_delimited && holds_forbidden(&out[start..], delimiter))
        })
    }

    /// Reads a string back, borrowed from the key unless it has escapes.
    ///
    /// # Errors
    /// For all bytes that `write` would not have written.
    fn read(bytes: Cow<'_, [u8]>) -> Result<Cow<'_, str>, FieldError>;

    /// Reads as `read` does; `text` is `bytes` as a `str` if they are known to be ASCII.
    ///
    /// # Errors
    /// Those of `read`.
    #[doc(hidden)]
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn read_borrowed<'a>(bytes: &'a [u8], _text: Option<&'a str>) -> Result<Cow<'a, str>, FieldError> {
        Self::read(Cow::Borrowed(bytes))
    }

    /// The cut on one side of `bound`.
    fn cut(bound: &str, side: Side) -> Cut;

    /// The cuts around all strings that begin with `prefix`.
    fn prefix_cuts(prefix: &str) -> (Cut, Cut);
}

/// A format that stores strings unchanged, so that a `&str` can be borrowed from the key.
pub trait BorrowStr: StrCodec {
    /// Rejects strings that cannot be borrowed.
    ///
    /// # Errors
    /// For a string whose bytes the key's layout changes.
    fn check_borrowed(_value: &str) -> Result<(), FieldError> {
        Ok(())
    }
}

impl StrCodec for Text {
    const FORMAT: Format = Format::Utf8;
    const WIDTH: Width = Width::Delimited;

    #[inline]
    fn write(value: &str, out: &mut Vec<u8>) -> Result<(), FieldError> {
        out.extend_from_slice(value.as_bytes());
        Ok(())
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn append(value: &str, delimiter: u8, out: &mut KeyBuf<'_>) -> Result<bool, FieldError> {
        Ok(out.put_checked(value.as_bytes(), delimiter))
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn read(bytes: Cow<'_, [u8]>) -> Result<Cow<'_, str>, FieldError> {
        match bytes {
            Cow::Borrowed(bytes) => Ok(Cow::Borrowed(utf8(bytes)?)),
            Cow::Owned(bytes) => {
                String::from_utf8(bytes).map(Cow::Owned).map_err(|error| match utf8(error.as_bytes()) {
                    Err(error) => error,
                    Ok(_) => FieldError::new(error),
                })
            }
        }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn read_borrowed<'a>(bytes: &'a [u8], text: Option<&'a str>) -> Result<Cow<'a, str>, FieldError> {
        match text {
            Some(text) => Ok(Cow::Borrowed(text)),
            None => Self::read(Cow::Borrowed(bytes)),
        }
    }

    fn cut(bound: &str, side: Side) -> Cut {
        match side {
            Side::Before => Cut::Before(bound.into()),
            Side::After => Cut::After(bound.into()),
        }
    }

    fn prefix_cuts(prefix: &str) -> (Cut, Cut) {
        (Cut::Before(prefix.into()), Cut::AfterPrefix(prefix.into()))
    }
}

impl BorrowStr for Text {}

#[cfg_attr(not(debug_assertions), inline(always))]
fn utf8(bytes: &[u8]) -> Result<&str, FieldError> {
    fast::utf8(bytes).ok_or_else(|| not_utf8(bytes))
}

#[cold]
fn not_utf8(bytes: &[u8]) -> FieldError {
    let valid = str::from_utf8(bytes).map_or_else(|error| error.valid_up_to(), str::len);
    FieldError::new(format_args!("`{}` is not UTF-8 from byte {valid} of the field on", Readable(bytes)))
}

/// The same bytes as in text; the layout escapes zero bytes.
impl StrCodec for Ordered {
    const FORMAT: Format = Format::Utf8;
    const WIDTH: Width = Width::Delimited;

    fn write(value: &str, out: &mut Vec<u8>) -> Result<(), FieldError> {
        <Text as StrCodec>::write(value, out)
    }

    fn read(bytes: Cow<'_, [u8]>) -> Result<Cow<'_, str>, FieldError> {
        <Text as StrCodec>::read(bytes)
    }

    fn cut(bound: &str, side: Side) -> Cut {
        <Text as StrCodec>::cut(bound, side)
    }

    fn prefix_cuts(prefix: &str) -> (Cut, Cut) {
        <Text as StrCodec>::prefix_cuts(prefix)
    }
}

impl BorrowStr for Ordered {
    fn check_borrowed(value: &str) -> Result<(), FieldError> {
        if value.bytes().any(|byte| byte == 0) {
            return Err(FieldError::new(format_args!(
                "{value:?} holds a zero byte, which is written as two bytes, so a `&str` cannot be borrowed from \
                 the key: use `String` or `Cow<str>`"
            )));
        }
        Ok(())
    }
}

/// Pads a string on the right, so a value cannot end with this byte.
const PADDING: u8 = b' ';

impl<const N: usize> StrCodec for Pad<N> {
    const FORMAT: Format = Format::PaddedUtf8;
    const WIDTH: Width = Width::Fixed(N);

    #[inline]
    fn write(value: &str, out: &mut Vec<u8>) -> Result<(), FieldError> {
        write_padded(value, N, out)
    }

    #[inline]
    fn read(bytes: Cow<'_, [u8]>) -> Result<Cow<'_, str>, FieldError> {
        match bytes {
            Cow::Borrowed(bytes) => read_padded(bytes).map(Cow::Borrowed),
            Cow::Owned(bytes) => read_padded(&bytes).map(|value| Cow::Owned(value.to_owned())),
        }
    }

    fn cut(bound: &str, side: Side) -> Cut {
        cut_padded(bound, N, side)
    }

    fn prefix_cuts(prefix: &str) -> (Cut, Cut) {
        padded_prefix_cuts(prefix, N)
    }
}

impl<const N: usize> BorrowStr for Pad<N> {}

/// Rejects what `#[pad(width)]` cannot hold.
fn check_padded(value: &str, width: usize) -> Result<(), FieldError> {
    if value.len() > width {
        return Err(FieldError::new(format_args!(
            "{value:?} is {} bytes long; `#[pad({width})]` holds {width}",
            value.len(),
        )));
    }
    if value.as_bytes().last() == Some(&PADDING) {
        return Err(FieldError::new(format_args!(
            "{value:?} ends in a space; `#[pad({width})]` pads with spaces and would lose it: trim it",
        )));
    }
    match value.bytes().find(|byte| *byte < PADDING) {
        Some(byte) => Err(FieldError::new(format_args!(
            "{value:?} holds {}; `#[pad({width})]` pads with spaces, and a byte below them would sort wrong",
            Byte(byte),
        ))),
        None => Ok(()),
    }
}

pub(super) fn write_padded(value: &str, width: usize, out: &mut Vec<u8>) -> Result<(), FieldError> {
    check_padded(value, width)?;
    let end = out.len() + width;
    out.extend_from_slice(value.as_bytes());
    out.resize(end, PADDING);
    Ok(())
}

pub(super) fn read_padded(bytes: &[u8]) -> Result<&str, FieldError> {
    let value = utf8(trim_padding(bytes))?;
    check_padded(value, bytes.len())?;
    Ok(value)
}

/// The cut on one side of a string, which the padded field need not be able to hold.
///
/// `stored` is the longest prefix of `bound` that the field can hold: truncated at the width, at the first byte below
/// a space, and without trailing spaces. If that truncates `bound`, `bound` sorts right after `stored`.
pub(super) fn cut_padded(bound: &str, width: usize, side: Side) -> Cut {
    let bytes = bound.as_bytes();
    let bytes = &bytes[..bytes.iter().position(|byte| *byte < PADDING).unwrap_or(bytes.len())];
    let bytes = &bytes[..bytes.len().min(width)];
    let mut stored = trim_padding(bytes).to_vec();
    let whole = stored.len() == bound.len();
    stored.resize(width, PADDING);
    match side {
        Side::Before if whole => Cut::Before(stored),
        Side::Before | Side::After => Cut::After(stored),
    }
}

/// The cuts around the padded strings that begin with `prefix`.
pub(super) fn padded_prefix_cuts(prefix: &str, width: usize) -> (Cut, Cut) {
    let held = prefix.len() <= width && prefix.bytes().all(|byte| byte >= PADDING);
    let start = cut_padded(prefix, width, Side::Before);
    let end = if held { Cut::AfterPrefix(prefix.as_bytes().to_vec()) } else { start.clone() };
    (start, end)
}

fn trim_padding(bytes: &[u8]) -> &[u8] {
    let len = bytes.iter().rposition(|byte| *byte != PADDING).map_or(0, |last| last + 1);
    &bytes[..len]
}

/// The greatest escaped byte, and the first byte of every escape: so escapes sort as the bytes they stand for, before
/// all other bytes.
const ESCAPE: u8 = b'%';
/// The bytes that are escaped.
pub(crate) const ESCAPED: RangeInclusive<u8> = 0..=ESCAPE;
const DIGITS: &[u8; 16] = b"0123456789ABCDEF";

impl StrCodec for Escape {
    const FORMAT: Format = Format::EscapedUtf8;
    const WIDTH: Width = Width::Delimited;

    fn write(value: &str, out: &mut Vec<u8>) -> Result<(), FieldError> {
        write_escaped(value, out);
        Ok(())
    }

    fn written_len(value: &str) -> usize {
        value.len() + 2 * value.bytes().filter(|byte| *byte <= ESCAPE).count()
    }

    fn read(bytes: Cow<'_, [u8]>) -> Result<Cow<'_, str>, FieldError> {
        if !bytes.iter().any(|byte| *byte <= ESCAPE) {
            return <Text as StrCodec>::read(bytes);
        }
        match unescaped(&bytes) {
            Some(raw) => <Text as StrCodec>::read(Cow::Owned(raw)),
            None => Err(FieldError::new(format_args!(
                "`{}` is not escaped as `#[row_key(escape)]` does: each byte up to `%`, and no other, as `%` and two \
                 upper-case hexadecimal digits",
                Readable(&bytes)
            ))),
        }
    }

    fn cut(bound: &str, side: Side) -> Cut {
        match side {
            Side::Before => Cut::Before(escaped(bound)),
            Side::After => Cut::After(escaped(bound)),
        }
    }

    fn prefix_cuts(prefix: &str) -> (Cut, Cut) {
        (Cut::Before(escaped(prefix)), Cut::AfterPrefix(escaped(prefix)))
    }
}

fn escaped(value: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(value.len());
    write_escaped(value, &mut out);
    out
}

fn write_escaped(value: &str, out: &mut Vec<u8>) {
    for byte in value.bytes() {
        match byte {
            ..=ESCAPE => {
                out.extend_from_slice(&[
                    ESCAPE,
                    DIGITS[usize::from(byte >> 4)],
                    DIGITS[usize::from(byte & 15)],
                ]);
            }
            byte => out.push(byte),
        }
    }
}

/// The bytes without escapes; `None` if a byte lacks its escape, or an escape stands for a byte that needs none.
fn unescaped(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes.iter();
    while let Some(byte) = rest.next() {
        match *byte {
            ESCAPE => {
                let mut digit = || {
                    let digit = *rest.next()?;
                    u8::try_from(DIGITS.iter().position(|known| *known == digit)?).ok()
                };
                let value = digit()? << 4 | digit()?;
                if value > ESCAPE {
                    return None;
                }
                out.push(value);
            }
            byte if byte < ESCAPE => return None,
            byte => out.push(byte),
        }
    }
    Some(out)
}

macro_rules! string_type {
    ([$($lifetime:lifetime)?] $type:ty => $decoded:ty, $codec:ident, |$value:ident| $check:expr, |$read:ident| $take:expr) => {
        #[diagnostic::do_not_recommend]
        impl<$($lifetime,)? C: $codec> KeyField<C> for $type {
            type Arg<'a> = &'a str;
            type Decoded<'a> = $decoded;
            const FORMAT: Format = C::FORMAT;
            const WIDTH: Width = C::WIDTH;
            const VALUES: FieldValues = FieldValues::Text;

            #[cfg_attr(not(debug_assertions), inline(always))]
            fn arg(&self) -> &str {
                self
            }

            #[cfg_attr(not(debug_assertions), inline(always))]
            fn write($value: &str, out: &mut Vec<u8>) -> Result<(), FieldError> {
                $check?;
                C::write($value, out)
            }

            #[cfg_attr(not(debug_assertions), inline(always))]
            fn written_len(value: &str) -> usize {
                match C::WIDTH {
                    Width::Fixed(width) | Width::Between(_, width) => width,
                    Width::Delimited => C::written_len(value),
                }
            }

            #[cfg_attr(not(debug_assertions), inline(always))]
            fn append(
                $value: &str,
                delimiter: u8,
                out: &mut KeyBuf<'_>,
            ) -> Result<bool, FieldError> {
                $check?;
                C::append($value, delimiter, out)
            }

            #[cfg_attr(not(debug_assertions), inline(always))]
            fn read(bytes: Cow<'_, [u8]>) -> Result<Self::Decoded<'_>, FieldError> {
                let $read = C::read(bytes)?;
                $take
            }

            #[cfg_attr(not(debug_assertions), inline(always))]
            fn read_borrowed<'b>(
                bytes: &'b [u8],
                text: Option<&'b str>,
            ) -> Result<Self::Decoded<'b>, FieldError> {
                let $read = C::read_borrowed(bytes, text)?;
                $take
            }
        }

        #[diagnostic::do_not_recommend]
        impl<$($lifetime,)? C: $codec> RangeField<C> for $type {
            fn cut(bound: &str, side: Side) -> Cut {
                C::cut(bound, side)
            }
        }

        #[diagnostic::do_not_recommend]
        impl<$($lifetime,)? C: $codec> PrefixField<C> for $type {
            fn prefix_cuts(prefix: &str) -> (Cut, Cut) {
                C::prefix_cuts(prefix)
            }
        }
    };
}

string_type!([] String => String, StrCodec, |value| Ok::<_, FieldError>(()), |read| Ok(read.into_owned()));
string_type!(['s] Cow<'s, str> => Cow<'a, str>, StrCodec, |value| Ok::<_, FieldError>(()), |read| Ok(read));
string_type!(['s] &'s str => &'a str, BorrowStr, |value| C::check_borrowed(value), |read| match read {
    Cow::Borrowed(value) => Ok(value),
    Cow::Owned(_) => Err(FieldError::new("it is written with escapes, so it cannot be borrowed: use `Cow<str>`")),
});

/// The only character of a text.
pub(super) fn one_char(text: &str) -> Result<char, FieldError> {
    let mut chars = text.chars();
    match (chars.next(), chars.next()) {
        (Some(value), None) => Ok(value),
        _ => Err(FieldError::new(format_args!("{text:?} is not one character"))),
    }
}

macro_rules! char_codec {
    ($($codec:ident)*) => {$(
        #[diagnostic::do_not_recommend]
        impl KeyField<$codec> for char {
            by_value!(FieldValues::Char);
            const FORMAT: Format = <$codec as StrCodec>::FORMAT;
            const WIDTH: Width = <$codec as StrCodec>::WIDTH;

            fn write(value: char, out: &mut Vec<u8>) -> Result<(), FieldError> {
                <$codec as StrCodec>::write(value.encode_utf8(&mut [0; 4]), out)
            }

            fn read(bytes: Cow<'_, [u8]>) -> Result<char, FieldError> {
                one_char(&<$codec as StrCodec>::read(bytes)?)
            }
        }

        #[diagnostic::do_not_recommend]
        impl RangeField<$codec> for char {
            fn cut(bound: char, side: Side) -> Cut {
                <$codec as StrCodec>::cut(bound.encode_utf8(&mut [0; 4]), side)
            }
        }
    )*};
}

char_codec!(Text Ordered Escape);
