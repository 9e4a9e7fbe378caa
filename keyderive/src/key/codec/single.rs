//! `bool` and `char`.

use std::borrow::Cow;

use super::super::error::FieldError;
use super::super::field::{Cut, KeyField, RangeField, Side};
use super::super::format::{FieldOrder, Format, Width};
use super::super::ordered::{read_int, write_int};
use super::super::show::Readable;
use super::{Desc, Escape, Ordered, StrCodec, Text};

/// A format for a `bool`.
pub trait BoolCodec {
    /// What is written, for the schema.
    const FORMAT: Format;
    /// How many bytes are written.
    const WIDTH: Width;
    /// How the bytes are ordered.
    const ORDER: FieldOrder;

    /// Appends the encoding of `value`.
    fn write(value: bool, out: &mut Vec<u8>);

    /// Reads a value back; none for what `write` does not write.
    #[must_use]
    fn read(bytes: &[u8]) -> Option<bool>;
}

impl BoolCodec for Text {
    const FORMAT: Format = Format::Bool;
    const WIDTH: Width = Width::Fixed(1);
    const ORDER: FieldOrder = FieldOrder::Ascending;

    fn write(value: bool, out: &mut Vec<u8>) {
        out.push(if value { b'1' } else { b'0' });
    }

    fn read(bytes: &[u8]) -> Option<bool> {
        match bytes {
            b"0" => Some(false),
            b"1" => Some(true),
            _ => None,
        }
    }
}

impl BoolCodec for Ordered {
    const FORMAT: Format = Format::BoolInt64;
    const WIDTH: Width = Width::Fixed(1);
    const ORDER: FieldOrder = FieldOrder::Ascending;

    fn write(value: bool, out: &mut Vec<u8>) {
        write_int(value.into(), out);
    }

    fn read(bytes: &[u8]) -> Option<bool> {
        match read_int(bytes)? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }
}

impl BoolCodec for Desc<Text> {
    const FORMAT: Format = Format::Bool;
    const WIDTH: Width = Width::Fixed(1);
    const ORDER: FieldOrder = FieldOrder::Descending;

    fn write(value: bool, out: &mut Vec<u8>) {
        <Text as BoolCodec>::write(!value, out);
    }

    fn read(bytes: &[u8]) -> Option<bool> {
        <Text as BoolCodec>::read(bytes).map(|value| !value)
    }
}

/// The Int64 of `!0` and `!1`.
impl BoolCodec for Desc<Ordered> {
    const FORMAT: Format = Format::BoolInt64;
    const WIDTH: Width = Width::Fixed(1);
    const ORDER: FieldOrder = FieldOrder::Descending;

    fn write(value: bool, out: &mut Vec<u8>) {
        write_int(!i64::from(value), out);
    }

    fn read(bytes: &[u8]) -> Option<bool> {
        match !read_int(bytes)? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }
}

#[diagnostic::do_not_recommend]
impl<C: BoolCodec> KeyField<C> for bool {
    type Arg<'a> = bool;
    type Decoded<'a> = bool;
    const FORMAT: Format = C::FORMAT;
    const WIDTH: Width = C::WIDTH;
    const ORDER: FieldOrder = C::ORDER;

    fn arg(&self) -> bool {
        *self
    }

    fn write(value: bool, out: &mut Vec<u8>) -> Result<(), FieldError> {
        C::write(value, out);
        Ok(())
    }

    fn read(bytes: Cow<'_, [u8]>) -> Result<bool, FieldError> {
        C::read(&bytes).ok_or_else(|| FieldError::new(format_args!("`{}` is no `bool`", Readable(&bytes))))
    }
}

#[diagnostic::do_not_recommend]
impl<C: BoolCodec> RangeField<C> for bool {
    fn cut(bound: bool, side: Side) -> Cut {
        // In reversed bytes `true` comes first: the cut before it is the one after `false`, seen from there.
        let first = match (C::ORDER.is_reversed(), side, bound) {
            (false, Side::Before, value) | (true, Side::After, value) => Some(value),
            (false, Side::After, false) => Some(true),
            (true, Side::Before, true) => Some(false),
            (false, Side::After, true) | (true, Side::Before, false) => None,
        };
        first.map_or(Cut::Last, encoded::<C>)
    }
}

fn encoded<C: BoolCodec>(value: bool) -> Cut {
    let mut out = Vec::with_capacity(1);
    C::write(value, &mut out);
    Cut::Before(out)
}

/// A character is a string of one.
macro_rules! char_codec {
    ($($codec:ident)*) => {$(
        #[diagnostic::do_not_recommend]
        impl KeyField<$codec> for char {
            type Arg<'a> = char;
            type Decoded<'a> = char;
            const FORMAT: Format = <$codec as StrCodec>::FORMAT;
            const WIDTH: Width = <$codec as StrCodec>::WIDTH;

            fn arg(&self) -> char {
                *self
            }

            fn write(value: char, out: &mut Vec<u8>) -> Result<(), FieldError> {
                <$codec as StrCodec>::write(value.encode_utf8(&mut [0; 4]), out)
            }

            fn read(bytes: Cow<'_, [u8]>) -> Result<char, FieldError> {
                let text = <$codec as StrCodec>::read(bytes)?;
                let mut chars = text.chars();
                match (chars.next(), chars.next()) {
                    (Some(value), None) => Ok(value),
                    _ => Err(FieldError::new(format_args!("{text:?} is not one character"))),
                }
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
