//! Integers greatest first, and with their bits reversed, in text.

use std::borrow::Cow;

use super::super::decimal;
use super::super::error::FieldError;
use super::super::field::{Cut, KeyField, RangeField, Side};
use super::super::format::{FieldOrder, Format, Width};
use super::integer::{cut_before, negative_padded, not_digits, too_many_digits};
use super::{BitReverse, Desc, Pad, Text};

/// The last integer before a cut, where bytes that run the other way begin; none where the type has none.
macro_rules! last_before {
    ($bound:ident, $side:ident) => {
        match $side {
            Side::After => Some($bound),
            Side::Before => $bound.checked_sub(1),
        }
    };
}
pub(super) use last_before;

macro_rules! descending {
    ($($type:ident $wide:ident $fill:ident $parse:ident;)*) => {$(
        #[diagnostic::do_not_recommend]
        impl KeyField<Desc<Text>> for $type {
            type Arg<'a> = $type;
            type Decoded<'a> = $type;
            const FORMAT: Format = <$type as KeyField<Text>>::FORMAT;
            const WIDTH: Width = <$type as KeyField<Text>>::WIDTH;
            // `!v` of an unsigned number is its difference from the greatest one.
            const ORDER: FieldOrder = match $type::MIN {
                0 => FieldOrder::ReversedFrom { max: $type::MAX as u128 },
                _ => FieldOrder::Descending,
            };

            fn arg(&self) -> $type {
                *self
            }

            fn write(value: $type, out: &mut Vec<u8>) -> Result<(), FieldError> {
                <$type as KeyField<Text>>::write(!value, out)
            }

            fn read(bytes: Cow<'_, [u8]>) -> Result<$type, FieldError> {
                <$type as KeyField<Text>>::read(bytes).map(|value| !value)
            }
        }

        #[diagnostic::do_not_recommend]
        impl RangeField<Desc<Text>> for $type {
            fn cut(bound: $type, side: Side) -> Cut {
                match last_before!(bound, side) {
                    Some(last) => cut_before(|out| <$type as KeyField<Desc<Text>>>::write(last, out), Cut::Last),
                    None => Cut::Last,
                }
            }
        }

        #[diagnostic::do_not_recommend]
        impl<const N: usize> KeyField<Desc<Pad<N>>> for $type {
            type Arg<'a> = $type;
            type Decoded<'a> = $type;
            const FORMAT: Format = Format::Decimal;
            const WIDTH: Width = Width::Fixed(N);
            const ORDER: FieldOrder = match 10_u128.checked_pow(N as u32) {
                Some(limit) => FieldOrder::ReversedFrom { max: limit - 1 },
                None => FieldOrder::Descending,
            };

            fn arg(&self) -> $type {
                *self
            }

            fn write(value: $type, out: &mut Vec<u8>) -> Result<(), FieldError> {
                let digits = $wide::try_from(value).map_err(|_| negative_padded(value, N))?;
                if $wide::checked_pow(10, N as u32).is_some_and(|limit| digits >= limit) {
                    return Err(too_many_digits(value, N));
                }
                let mut buffer = [b'0'; N];
                decimal::$fill(&mut buffer, digits);
                complement(&mut buffer);
                out.extend_from_slice(&buffer);
                Ok(())
            }

            fn read(bytes: Cow<'_, [u8]>) -> Result<$type, FieldError> {
                let mut digits = bytes.to_vec();
                complement(&mut digits);
                decimal::$parse(&digits)
                    .and_then(|value| $type::try_from(value).ok())
                    .ok_or_else(|| not_digits(&bytes, stringify!($type)))
            }
        }

        #[diagnostic::do_not_recommend]
        impl<const N: usize> RangeField<Desc<Pad<N>>> for $type {
            fn cut(bound: $type, side: Side) -> Cut {
                let Some(last) = last_before!(bound, side) else {
                    return Cut::Last;
                };
                // Below all values is after them in the bytes; above them is in front.
                let otherwise = if $wide::try_from(last).is_err() { Cut::Last } else { Cut::First };
                cut_before(|out| <$type as KeyField<Desc<Pad<N>>>>::write(last, out), otherwise)
            }
        }
    )*};
}

/// Replaces each digit by its difference from 9. Other bytes never become digits.
fn complement(digits: &mut [u8]) {
    for digit in digits {
        *digit = (b'0' + b'9').wrapping_sub(*digit);
    }
}

descending! {
    u8 u64 fill parse;
    u16 u64 fill parse;
    u32 u64 fill parse;
    u64 u64 fill parse;
    u128 u128 fill_wide parse_wide;
    i8 u64 fill parse;
    i16 u64 fill parse;
    i32 u64 fill parse;
    i64 u64 fill parse;
    i128 u128 fill_wide parse_wide;
}

macro_rules! bit_reversed {
    ($($type:ident)*) => {$(
        #[diagnostic::do_not_recommend]
        impl KeyField<BitReverse<Text>> for $type {
            type Arg<'a> = $type;
            type Decoded<'a> = $type;
            const FORMAT: Format = Format::Decimal;
            const WIDTH: Width = <$type as KeyField<Text>>::WIDTH;
            const ORDER: FieldOrder = FieldOrder::BitReversed;

            fn arg(&self) -> $type {
                *self
            }

            fn write(value: $type, out: &mut Vec<u8>) -> Result<(), FieldError> {
                <$type as KeyField<Text>>::write(value.reverse_bits(), out)
            }

            fn read(bytes: Cow<'_, [u8]>) -> Result<$type, FieldError> {
                <$type as KeyField<Text>>::read(bytes).map($type::reverse_bits)
            }
        }
    )*};
}

bit_reversed!(u32 u64);
