//! The formats of the ordered layout: numbers as `OrderedCodeBytes`, text and bytes as they are.

use std::borrow::Cow;

use super::super::error::FieldError;
use super::super::field::{Cut, KeyField, RangeField, Side};
use super::super::format::{FieldOrder, Format, Width};
use super::super::ordered::{read_int, write_int};
use super::super::show::Hex;
use super::integer::{cut_before, first_behind, not_reversible};
use super::reversed::last_before;
use super::{Desc, LentStr, Ordered, ReverseTs, StrCodec, Text};

/// How many bytes an Int64 takes.
const INT: Width = Width::Between(1, 10);

/// Writes a value that an Int64 may not be able to hold.
fn write_number<T: Copy + TryInto<i64> + std::fmt::Display>(
    value: T,
    of: impl FnOnce(i64) -> i64,
    out: &mut Vec<u8>,
) -> Result<(), FieldError> {
    match value.try_into() {
        Ok(number) => {
            write_int(of(number), out);
            Ok(())
        }
        Err(_) => Err(FieldError::new(format_args!(
            "{value} is above {}, the greatest Int64 of the ordered layout: store it as text or bytes",
            i64::MAX
        ))),
    }
}

fn read_number<T: TryFrom<i64>>(
    bytes: &[u8],
    of: impl FnOnce(i64) -> Option<i64>,
    type_name: &str,
) -> Result<T, FieldError> {
    read_int(bytes).and_then(of).and_then(|number| T::try_from(number).ok()).ok_or_else(|| {
        FieldError::new(format_args!(
            "hex {} is not the shortest OrderedCode of an Int64 that is a `{type_name}`",
            Hex(bytes)
        ))
    })
}

macro_rules! ordered_integers {
    ($($type:ident)*) => {$(
        #[diagnostic::do_not_recommend]
        impl KeyField<Ordered> for $type {
            type Arg<'a> = $type;
            type Decoded<'a> = $type;
            const FORMAT: Format = Format::Int64;
            const WIDTH: Width = INT;

            fn arg(&self) -> $type {
                *self
            }

            fn write(value: $type, out: &mut Vec<u8>) -> Result<(), FieldError> {
                write_number(value, |number| number, out)
            }

            fn read(bytes: Cow<'_, [u8]>) -> Result<$type, FieldError> {
                read_number(&bytes, Some, stringify!($type))
            }
        }

        #[diagnostic::do_not_recommend]
        impl RangeField<Ordered> for $type {
            fn cut(bound: $type, side: Side) -> Cut {
                match first_behind!(bound, side) {
                    // What is refused is above all values.
                    Some(next) => cut_before(|out| <$type as KeyField<Ordered>>::write(next, out), Cut::Last),
                    None => Cut::Last,
                }
            }
        }

        #[diagnostic::do_not_recommend]
        impl KeyField<Desc<Ordered>> for $type {
            type Arg<'a> = $type;
            type Decoded<'a> = $type;
            const FORMAT: Format = Format::Int64;
            const WIDTH: Width = INT;
            const ORDER: FieldOrder = FieldOrder::Descending;

            fn arg(&self) -> $type {
                *self
            }

            fn write(value: $type, out: &mut Vec<u8>) -> Result<(), FieldError> {
                write_number(value, |number| !number, out)
            }

            fn read(bytes: Cow<'_, [u8]>) -> Result<$type, FieldError> {
                read_number(&bytes, |number| Some(!number), stringify!($type))
            }
        }

        #[diagnostic::do_not_recommend]
        impl RangeField<Desc<Ordered>> for $type {
            fn cut(bound: $type, side: Side) -> Cut {
                match last_before!(bound, side) {
                    // What is refused is above all values, before them in the bytes.
                    Some(last) => cut_before(|out| <$type as KeyField<Desc<Ordered>>>::write(last, out), Cut::First),
                    None => Cut::Last,
                }
            }
        }

        #[diagnostic::do_not_recommend]
        impl<const MAX: u64> KeyField<ReverseTs<MAX, Ordered>> for $type {
            type Arg<'a> = $type;
            type Decoded<'a> = $type;
            const FORMAT: Format = Format::Int64;
            const WIDTH: Width = INT;
            const ORDER: FieldOrder = FieldOrder::ReversedFrom { max: MAX as u128 };

            fn arg(&self) -> $type {
                *self
            }

            fn write(value: $type, out: &mut Vec<u8>) -> Result<(), FieldError> {
                let reversed = u64::try_from(value).ok().and_then(|value| MAX.checked_sub(value));
                match reversed {
                    Some(reversed) => write_number(reversed, |number| number, out),
                    None => Err(not_reversible(value, MAX)),
                }
            }

            fn read(bytes: Cow<'_, [u8]>) -> Result<$type, FieldError> {
                let unreversed = |number| MAX.checked_sub(u64::try_from(number).ok()?)?.try_into().ok();
                read_number(&bytes, unreversed, stringify!($type))
            }
        }

        #[diagnostic::do_not_recommend]
        impl<const MAX: u64> RangeField<ReverseTs<MAX, Ordered>> for $type {
            fn cut(bound: $type, side: Side) -> Cut {
                let Some(last) = last_before!(bound, side) else {
                    return Cut::Last;
                };
                // Before all times is after them in the bytes; later than all is in front.
                let otherwise = if u64::try_from(last).is_err() { Cut::Last } else { Cut::First };
                cut_before(|out| <$type as KeyField<ReverseTs<MAX, Ordered>>>::write(last, out), otherwise)
            }
        }
    )*};
}

ordered_integers!(u8 u16 u32 u64 i8 i16 i32 i64);

/// Strings are the same bytes as in text; the layout escapes their zero bytes.
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

impl LentStr for Ordered {
    fn check_lent(value: &str) -> Result<(), FieldError> {
        if value.bytes().any(|byte| byte == 0) {
            return Err(FieldError::new(format_args!(
                "{value:?} holds a zero byte, which is written as two, so that a `&str` cannot be borrowed from \
                 the key: use `String` or `Cow<str>`"
            )));
        }
        Ok(())
    }
}
