//! Strings in text: delimited as they are, or padded with spaces.

use std::borrow::Cow;

use super::super::error::FieldError;
use super::super::field::{Cut, KeyField, PrefixField, RangeField, Side};
use super::super::schema::{Format, Width};
use super::super::show::{Byte, Readable};
use super::{Pad, Text};

/// The bytes that end a padded string and so cannot be its last ones.
const PADDING: u8 = b' ';

/// Reads UTF-8, or says where it is not.
#[inline]
fn utf8(bytes: &[u8]) -> Result<&str, FieldError> {
    str::from_utf8(bytes).map_err(|error| {
        FieldError::new(format_args!(
            "`{}` is not UTF-8 from byte {} of the field on",
            Readable(bytes),
            error.valid_up_to(),
        ))
    })
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

/// The string types are one type to the key: they differ in how they are lent and given back.
macro_rules! strings {
    ($([$($lifetime:lifetime)?] $type:ty => $decoded:ty;)*) => {$(
        #[diagnostic::do_not_recommend]
        impl<$($lifetime)?> KeyField<Text> for $type {
            type Arg<'a> = &'a str;
            type Decoded<'a> = $decoded;
            const FORMAT: Format = Format::Utf8;
            const WIDTH: Width = Width::Delimited;

            #[inline]
            fn arg(&self) -> &str {
                self
            }

            #[inline]
            fn write(value: &str, out: &mut Vec<u8>) -> Result<(), FieldError> {
                out.extend_from_slice(value.as_bytes());
                Ok(())
            }

            #[inline]
            fn read(bytes: &[u8]) -> Result<Self::Decoded<'_>, FieldError> {
                Ok(utf8(bytes)?.into())
            }
        }

        impl<$($lifetime)?> RangeField<Text> for $type {
            const REVERSED: bool = false;

            fn cut(bound: &str, side: Side) -> Cut {
                match side {
                    Side::Before => Cut::Before(bound.into()),
                    Side::After => Cut::After(bound.into()),
                }
            }
        }

        #[diagnostic::do_not_recommend]

        impl<$($lifetime)?> PrefixField<Text> for $type {
            fn prefix_cuts(prefix: &str) -> (Cut, Cut) {
                (Cut::Before(prefix.into()), Cut::AfterPrefix(prefix.into()))
            }
        }

        #[diagnostic::do_not_recommend]

        impl<$($lifetime,)? const N: usize> KeyField<Pad<N>> for $type {
            type Arg<'a> = &'a str;
            type Decoded<'a> = $decoded;
            const FORMAT: Format = Format::PaddedUtf8;
            const WIDTH: Width = Width::Fixed(N);

            #[inline]
            fn arg(&self) -> &str {
                self
            }

            #[inline]
            fn write(value: &str, out: &mut Vec<u8>) -> Result<(), FieldError> {
                write_padded(value, N, out)
            }

            #[inline]
            fn read(bytes: &[u8]) -> Result<Self::Decoded<'_>, FieldError> {
                Ok(read_padded(bytes)?.into())
            }
        }

        impl<$($lifetime,)? const N: usize> RangeField<Pad<N>> for $type {
            const REVERSED: bool = false;

            fn cut(bound: &str, side: Side) -> Cut {
                cut_padded(bound, N, side)
            }
        }

        #[diagnostic::do_not_recommend]

        impl<$($lifetime,)? const N: usize> PrefixField<Pad<N>> for $type {
            fn prefix_cuts(prefix: &str) -> (Cut, Cut) {
                padded_prefix_cuts(prefix, N)
            }
        }
    )*};
}

strings! {
    [] String => String;
    ['s] &'s str => &'a str;
    ['s] Cow<'s, str> => Cow<'a, str>;
}
