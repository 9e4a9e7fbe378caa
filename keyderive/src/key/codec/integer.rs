//! Integers in text: fixed digits, signed digits, padded, reversed.

use std::borrow::Cow;

use super::super::decimal;
use super::super::error::FieldError;
use super::super::fast::{KeyBuf, append_to};
use super::super::field::{Cut, KeyField, RangeField, Side};
use super::super::format::{FieldOrder, Format, Width};
use super::super::show::Readable;
use super::{Pad, ReverseTs, Text};

/// The cut just before the bytes that `write` gives; at an end where it has none to give.
pub(super) fn cut_before(write: impl FnOnce(&mut Vec<u8>) -> Result<(), FieldError>, otherwise: Cut) -> Cut {
    let mut encoding = Vec::with_capacity(40);
    match write(&mut encoding) {
        Ok(()) => Cut::Before(encoding),
        Err(_) => otherwise,
    }
}

/// What `read` says of bytes that are not the digits it expects.
#[cold]
pub(super) fn not_digits(bytes: &[u8], type_name: &str) -> FieldError {
    FieldError::new(format_args!(
        "`{}` is not the {} decimal digits of a `{type_name}` in its range",
        Readable(bytes),
        bytes.len(),
    ))
}

/// The first integer after a cut; none where the type has none. Between two neighbours there is only
/// one cut, so that an empty range is seen to be empty.
macro_rules! first_behind {
    ($bound:ident, $side:ident) => {
        match $side {
            Side::Before => Some($bound),
            Side::After => $bound.checked_add(1),
        }
    };
}

pub(super) use first_behind;

/// The parts that every integer type shares: how it goes into digits and comes back.
///
/// `$fill` and `$parse` are the functions of [`decimal`] that work on `$wide`, which holds every value.
macro_rules! integer {
    ($type:ident, $wide:ident, $fill:ident, $parse:ident) => {
        #[diagnostic::do_not_recommend]
        impl<const N: usize> KeyField<Pad<N>> for $type {
            type Arg<'a> = $type;
            type Decoded<'a> = $type;
            const FORMAT: Format = Format::Decimal;
            const WIDTH: Width = Width::Fixed(N);

            #[inline]
            fn arg(&self) -> $type {
                *self
            }

            #[inline]
            fn write(value: $type, out: &mut Vec<u8>) -> Result<(), FieldError> {
                append_to(out, |out| <Self as KeyField<Pad<N>>>::append(value, 0, out))
            }

            #[inline(always)]
            fn append(value: $type, _delimiter: u8, out: &mut KeyBuf<'_>) -> Result<bool, FieldError> {
                let digits = $wide::try_from(value).map_err(|_| negative_padded(value, N))?;
                // Where 10^N is over the type's range, every value has N digits at most.
                if const { $wide::checked_pow(10, N as u32) }.is_some_and(|limit| digits >= limit) {
                    return Err(too_many_digits(value, N));
                }
                let mut buffer = [b'0'; N];
                decimal::$fill(&mut buffer, digits);
                out.put(&buffer);
                Ok(false)
            }

            #[inline(always)]
            fn read(bytes: Cow<'_, [u8]>) -> Result<$type, FieldError> {
                decimal::$parse(&bytes)
                    .and_then(|digits| $type::try_from(digits).ok())
                    .ok_or_else(|| not_digits(&bytes, stringify!($type)))
            }
        }

        #[diagnostic::do_not_recommend]
        impl<const N: usize> RangeField<Pad<N>> for $type {
            fn cut(bound: $type, side: Side) -> Cut {
                let Some(next) = first_behind!(bound, side) else {
                    return Cut::Last;
                };
                // What is refused is below all values for its sign, or above them for its digits.
                let otherwise = if $wide::try_from(next).is_err() { Cut::First } else { Cut::Last };
                cut_before(|out| <$type as KeyField<Pad<N>>>::write(next, out), otherwise)
            }
        }

        #[diagnostic::do_not_recommend]

        impl<const MAX: u64> KeyField<ReverseTs<MAX>> for $type {
            type Arg<'a> = $type;
            type Decoded<'a> = $type;
            const FORMAT: Format = Format::Decimal;
            const ORDER: FieldOrder = FieldOrder::ReversedFrom { max: MAX as u128 };
            const WIDTH: Width = Width::Fixed(decimal::width(MAX as u128));

            #[inline]
            fn arg(&self) -> $type {
                *self
            }

            #[inline]
            fn write(value: $type, out: &mut Vec<u8>) -> Result<(), FieldError> {
                append_to(out, |out| <Self as KeyField<ReverseTs<MAX>>>::append(value, 0, out))
            }

            #[inline(always)]
            fn append(value: $type, _delimiter: u8, out: &mut KeyBuf<'_>) -> Result<bool, FieldError> {
                let reversed = u64::try_from(value).ok().and_then(|value| MAX.checked_sub(value));
                let Some(reversed) = reversed else {
                    return Err(not_reversible(value, MAX));
                };
                // 20 digits hold every u64.
                let mut buffer = [b'0'; 20];
                decimal::fill(&mut buffer, reversed);
                out.put(&buffer[20 - const { decimal::width(MAX as u128) }..]);
                Ok(false)
            }

            #[inline(always)]
            fn read(bytes: Cow<'_, [u8]>) -> Result<$type, FieldError> {
                decimal::parse(&bytes)
                    .and_then(|reversed| MAX.checked_sub(reversed))
                    .and_then(|value| $type::try_from(value).ok())
                    .ok_or_else(|| not_reversed(&bytes, MAX, stringify!($type)))
            }
        }

        #[diagnostic::do_not_recommend]
        impl<const MAX: u64> RangeField<ReverseTs<MAX>> for $type {
            fn cut(bound: $type, side: Side) -> Cut {
                // The bytes run the other way: they begin with the last value before the cut.
                let previous = match side {
                    Side::After => Some(bound),
                    Side::Before => bound.checked_sub(1),
                };
                let Some(previous) = previous else {
                    return Cut::Last;
                };
                // Before all times is after them in the bytes; later than all is in front.
                let otherwise = if $wide::try_from(previous).is_err() { Cut::Last } else { Cut::First };
                cut_before(|out| <$type as KeyField<ReverseTs<MAX>>>::write(previous, out), otherwise)
            }
        }

        #[diagnostic::do_not_recommend]
        impl RangeField<Text> for $type {
            fn cut(bound: $type, side: Side) -> Cut {
                match first_behind!(bound, side) {
                    Some(next) => cut_before(|out| <$type as KeyField<Text>>::write(next, out), Cut::Last),
                    None => Cut::Last,
                }
            }
        }
    };
}

macro_rules! unsigned {
    ($($type:ident $wide:ident $fill:ident $parse:ident;)*) => {$(
        integer!($type, $wide, $fill, $parse);

        #[diagnostic::do_not_recommend]

        impl KeyField<Text> for $type {
            type Arg<'a> = $type;
            type Decoded<'a> = $type;
            const FORMAT: Format = Format::Decimal;
            const WIDTH: Width = Width::Fixed(decimal::width($type::MAX as u128));

            #[inline]
            fn arg(&self) -> $type {
                *self
            }

            #[inline]
            fn write(value: $type, out: &mut Vec<u8>) -> Result<(), FieldError> {
                append_to(out, |out| <Self as KeyField<Text>>::append(value, 0, out))
            }

            #[inline(always)]
            fn append(value: $type, _delimiter: u8, out: &mut KeyBuf<'_>) -> Result<bool, FieldError> {
                let mut buffer = [b'0'; const { decimal::width($type::MAX as u128) }];
                decimal::$fill(&mut buffer, $wide::from(value));
                out.put(&buffer);
                Ok(false)
            }

            #[inline(always)]
            fn read(bytes: Cow<'_, [u8]>) -> Result<$type, FieldError> {
                decimal::$parse(&bytes)
                    .and_then(|digits| $type::try_from(digits).ok())
                    .ok_or_else(|| not_digits(&bytes, stringify!($type)))
            }
        }
    )*};
}

macro_rules! signed {
    ($($type:ident $wide:ident $fill:ident $parse:ident;)*) => {$(
        integer!($type, $wide, $fill, $parse);

        #[diagnostic::do_not_recommend]

        impl KeyField<Text> for $type {
            type Arg<'a> = $type;
            type Decoded<'a> = $type;
            const FORMAT: Format = Format::SignedDecimal;
            const WIDTH: Width = Width::Fixed(1 + decimal::width($type::MAX as u128));

            #[inline]
            fn arg(&self) -> $type {
                *self
            }

            #[inline]
            fn write(value: $type, out: &mut Vec<u8>) -> Result<(), FieldError> {
                append_to(out, |out| <Self as KeyField<Text>>::append(value, 0, out))
            }

            #[inline(always)]
            fn append(value: $type, _delimiter: u8, out: &mut KeyBuf<'_>) -> Result<bool, FieldError> {
                let mut buffer = [b'0'; const { 1 + decimal::width($type::MAX as u128) }];
                // `!v` is `-v - 1`, and never negative for a negative `v`.
                let magnitude = if value < 0 { !value } else { value };
                decimal::$fill(&mut buffer[1..], magnitude.unsigned_abs().into());
                if value < 0 {
                    complement(&mut buffer);
                }
                out.put(&buffer);
                Ok(false)
            }

            #[inline(always)]
            fn read(bytes: Cow<'_, [u8]>) -> Result<$type, FieldError> {
                let value = match bytes.split_first() {
                    Some((b'0', digits)) => decimal::$parse(digits).and_then(|v| $type::try_from(v).ok()),
                    Some((b'-', _)) => {
                        let mut buffer = [b'0'; const { 1 + decimal::width($type::MAX as u128) }];
                        (bytes.len() == buffer.len()).then(|| {
                            buffer.copy_from_slice(&bytes);
                            complement(&mut buffer);
                            decimal::$parse(&buffer[1..]).and_then(|v| $type::try_from(v).ok()).map(|v| !v)
                        }).flatten()
                    }
                    _ => None,
                };
                value.ok_or_else(|| not_digits(&bytes, stringify!($type)))
            }
        }
    )*};
}

/// Turns the digits of `-v - 1` after their sign into those of `10^w + v`, and back: each digit
/// becomes its difference from 9. Other bytes never become digits.
fn complement(signed: &mut [u8]) {
    if let Some((sign, digits)) = signed.split_first_mut() {
        *sign = b'-';
        for digit in digits {
            *digit = (b'0' + b'9').wrapping_sub(*digit);
        }
    }
}

unsigned! {
    u8 u64 fill parse;
    u16 u64 fill parse;
    u32 u64 fill parse;
    u64 u64 fill parse;
    u128 u128 fill_wide parse_wide;
}

signed! {
    i8 u64 fill parse;
    i16 u64 fill parse;
    i32 u64 fill parse;
    i64 u64 fill parse;
    i128 u128 fill_wide parse_wide;
}

#[cold]
pub(super) fn negative_padded(value: impl std::fmt::Display, width: usize) -> FieldError {
    FieldError::new(format_args!(
        "{value} is negative; `#[pad({width})]` writes digits only: leave `pad` out to store a sign",
    ))
}

#[cold]
pub(super) fn too_many_digits(value: impl std::fmt::Display, width: usize) -> FieldError {
    FieldError::new(format_args!(
        "{value} does not fit; `#[pad({width})]` holds {width} digits, at most {}",
        "9".repeat(width),
    ))
}

#[cold]
pub(super) fn not_reversible(value: impl std::fmt::Display, max: u64) -> FieldError {
    FieldError::new(format_args!("{value} cannot be reversed; `#[reverse_ts]` holds 0 to {max}"))
}

#[cold]
fn not_reversed(bytes: &[u8], max: u64, type_name: &str) -> FieldError {
    FieldError::new(format_args!(
        "`{}` is not `{max} - t` in {} digits, for a `t` that is a `{type_name}`",
        Readable(bytes),
        bytes.len(),
    ))
}
