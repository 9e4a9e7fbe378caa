//! Strings: as they are, padded with spaces, or escaped.
//!
//! The string types are one type to the key. A codec writes and reads `str`; a string type says how it lends one
//! and takes one back.

use std::borrow::Cow;

use super::super::error::FieldError;
use super::super::fast::{self, KeyBuf, holds_forbidden};
use super::super::field::{Cut, KeyField, PrefixField, RangeField, Side};
use super::super::format::{Format, Width};
use super::super::show::{Byte, Readable};
use super::{Pad, Text};

/// The bytes that end a padded string and so cannot be its last ones.
const PADDING: u8 = b' ';

/// Reads UTF-8, or says where it is not.
#[inline(always)]
fn utf8(bytes: &[u8]) -> Result<&str, FieldError> {
    fast::utf8(bytes).ok_or_else(|| not_utf8(bytes))
}

#[cold]
fn not_utf8(bytes: &[u8]) -> FieldError {
    let valid = str::from_utf8(bytes).map_or_else(|error| error.valid_up_to(), str::len);
    FieldError::new(format_args!("`{}` is not UTF-8 from byte {valid} of the field on", Readable(bytes)))
}

/// Checks a string against `#[pad(width)]`.
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

/// Writes a string that `check_padded` has passed.
fn write_padded(value: &str, width: usize, out: &mut Vec<u8>) -> Result<(), FieldError> {
    check_padded(value, width)?;
    let end = out.len() + width;
    out.extend_from_slice(value.as_bytes());
    out.resize(end, PADDING);
    Ok(())
}

fn read_padded(bytes: &[u8]) -> Result<&str, FieldError> {
    let value = utf8(trim_padding(bytes))?;
    check_padded(value, bytes.len())?;
    Ok(value)
}

/// The cut beside a string that the padded field may not be able to hold.
///
/// Below, `stored` are the bytes of the longest string that is a prefix of `bound` and that the field
/// can compare: cut at the width, at the first byte that the field never holds, and at trailing spaces.
/// Where that left something of `bound` out, `bound` itself comes right after it.
fn cut_padded(bound: &str, width: usize, side: Side) -> Cut {
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
fn padded_prefix_cuts(prefix: &str, width: usize) -> (Cut, Cut) {
    let held = prefix.len() <= width && prefix.bytes().all(|byte| byte >= PADDING);
    let start = cut_padded(prefix, width, Side::Before);
    let end = if held { Cut::AfterPrefix(prefix.as_bytes().to_vec()) } else { start.clone() };
    (start, end)
}

/// `bytes` without the spaces at their end.
fn trim_padding(bytes: &[u8]) -> &[u8] {
    let len = bytes.iter().rposition(|byte| *byte != PADDING).map_or(0, |last| last + 1);
    &bytes[..len]
}

/// A format for strings.
pub trait StrCodec {
    /// What is written, for the schema.
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
    #[inline(always)]
    #[must_use]
    fn written_len(value: &str) -> usize {
        value.len()
    }

    /// Appends as `write` does; whether a byte at or below the delimiter is among what was appended.
    ///
    /// # Errors
    /// Those of `write`.
    #[doc(hidden)]
    #[inline(always)]
    fn append(value: &str, delimiter: u8, out: &mut KeyBuf<'_>) -> Result<bool, FieldError> {
        out.with_vec(|out| {
            let start = out.len();
            Self::write(value, out)?;
            let is_delimited = !matches!(Self::WIDTH, Width::Fixed(_));
            Ok(is_delimited && holds_forbidden(&out[start..], delimiter))
        })
    }

    /// Reads a string back, borrowed where its bytes stand in the key as they are.
    ///
    /// # Errors
    /// For all bytes that `write` would not have written.
    fn read(bytes: Cow<'_, [u8]>) -> Result<Cow<'_, str>, FieldError>;

    /// Reads as `read` does; `text` is the same as `bytes`, where it is known to be UTF-8.
    ///
    /// # Errors
    /// Those of `read`.
    #[doc(hidden)]
    #[inline(always)]
    fn read_lent<'a>(bytes: &'a [u8], _text: Option<&'a str>) -> Result<Cow<'a, str>, FieldError> {
        Self::read(Cow::Borrowed(bytes))
    }

    /// The cut on one side of `bound`.
    fn cut(bound: &str, side: Side) -> Cut;

    /// The cuts around all strings that begin with `prefix`.
    fn prefix_cuts(prefix: &str) -> (Cut, Cut);
}

/// A format whose strings stand in the key as they are, so that they can be borrowed from it.
pub trait LentStr: StrCodec {
    /// # Errors
    /// For a string that the key's layout would write in other bytes.
    fn check_lent(_value: &str) -> Result<(), FieldError> {
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

    #[inline(always)]
    fn append(value: &str, delimiter: u8, out: &mut KeyBuf<'_>) -> Result<bool, FieldError> {
        Ok(out.put_checked(value.as_bytes(), delimiter))
    }

    #[inline(always)]
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

    #[inline(always)]
    fn read_lent<'a>(bytes: &'a [u8], text: Option<&'a str>) -> Result<Cow<'a, str>, FieldError> {
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

impl LentStr for Text {}

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

impl<const N: usize> LentStr for Pad<N> {}

macro_rules! string_type {
    ([$($lifetime:lifetime)?] $type:ty => $decoded:ty, $codec:ident, |$value:ident| $check:expr, |$read:ident| $take:expr) => {
        #[diagnostic::do_not_recommend]
        impl<$($lifetime,)? C: $codec> KeyField<C> for $type {
            type Arg<'a> = &'a str;
            type Decoded<'a> = $decoded;
            const FORMAT: Format = C::FORMAT;
            const WIDTH: Width = C::WIDTH;

            #[inline(always)]
            fn arg(&self) -> &str {
                self
            }

            #[inline(always)]
            fn write($value: &str, out: &mut Vec<u8>) -> Result<(), FieldError> {
                $check?;
                C::write($value, out)
            }

            #[inline(always)]
            fn written_len(value: &str) -> usize {
                match C::WIDTH {
                    Width::Fixed(width) | Width::Between(_, width) => width,
                    Width::Delimited => C::written_len(value),
                }
            }

            #[inline(always)]
            fn append(
                $value: &str,
                delimiter: u8,
                out: &mut KeyBuf<'_>,
            ) -> Result<bool, FieldError> {
                $check?;
                C::append($value, delimiter, out)
            }

            #[inline(always)]
            fn read(bytes: Cow<'_, [u8]>) -> Result<Self::Decoded<'_>, FieldError> {
                let $read = C::read(bytes)?;
                $take
            }

            #[inline(always)]
            fn read_lent<'b>(
                bytes: &'b [u8],
                text: Option<&'b str>,
            ) -> Result<Self::Decoded<'b>, FieldError> {
                let $read = C::read_lent(bytes, text)?;
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
string_type!(['s] &'s str => &'a str, LentStr, |value| C::check_lent(value), |read| match read {
    Cow::Borrowed(value) => Ok(value),
    Cow::Owned(_) => Err(FieldError::new("it is written with escapes, so it cannot be borrowed: use `Cow<str>`")),
});
