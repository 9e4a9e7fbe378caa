//! Integers: decimal digits in text, `OrderedCodeBytes` in the ordered layout; padded, reversed and bit-reversed.

use std::borrow::Cow;
use std::fmt::Display;

use super::super::decimal;
use super::super::fast::{KeyBuf, append_to};
use super::super::field::{Cut, FieldError, KeyField, RangeField, Side};
use super::super::format::{FieldOrder, FieldValues, Format, Width};
use super::super::ordered::{read_int, write_int};
use super::super::show::{Hex, Readable};
use super::{BitReverse, Desc, Ordered, Pad, ReverseTs, Text};

/// The values of an integer type.
macro_rules! limits_of {
    ($type:ident) => {
        FieldValues::Integer { min: $type::MIN as i128, max: $type::MAX as u128 }
    };
}

/// The first integer after the cut on `$side` of `$bound`, if the type has one.
///
/// Using the next integer gives one cut between two neighbours, so an empty range is recognized as empty.
macro_rules! first_after {
    ($bound:ident, $side:ident) => {
        match $side {
            Side::Before => Some($bound),
            Side::After => $bound.checked_add(1),
        }
    };
}

/// The last integer before the cut on `$side` of `$bound`, if the type has one. In reversed bytes, the
/// cut is just before it.
macro_rules! last_before {
    ($bound:ident, $side:ident) => {
        match $side {
            Side::After => Some($bound),
            Side::Before => $bound.checked_sub(1),
        }
    };
}

/// An integer type, in the formats that have a parameter: a width of digits, or the greatest value.
///
/// The typed codecs pass constants, so that the compiler sees them; a codec from data passes what its schema says.
pub(crate) trait Integer: Copy + 'static {
    /// What the checks of a width calculate in: it holds every value that is not negative.
    type Wide: Copy;

    /// The type's name.
    const NAME: &'static str;
    const MIN: i128;
    const MAX: u128;

    /// The least number of more than `width` digits; none if the type has no such number.
    fn limit_of(width: usize) -> Option<Self::Wide>;

    /// Appends as many digits as `zeros` has; if `is_descending`, so that the greatest number comes first.
    fn append_padded(
        self,
        limit: Option<Self::Wide>,
        is_descending: bool,
        zeros: &mut [u8],
        out: &mut KeyBuf<'_>,
    ) -> Result<(), FieldError>;

    /// Reads digits.
    fn read_padded(bytes: &[u8]) -> Result<Self, FieldError>;

    /// Reads digits, the greatest number first.
    fn read_padded_descending(bytes: &[u8]) -> Result<Self, FieldError>;

    /// The cut before the next padded number, which `write` appends.
    fn cut_padded(self, side: Side, write: impl FnOnce(Self, &mut Vec<u8>) -> Result<(), FieldError>) -> Cut;

    /// The cut before the last padded number, the greatest first, which `write` appends.
    fn cut_padded_descending(
        self,
        side: Side,
        write: impl FnOnce(Self, &mut Vec<u8>) -> Result<(), FieldError>,
    ) -> Cut;

    /// Appends `max - self` in `width` digits, those of `max`.
    fn append_reversed(self, max: u64, width: usize, out: &mut KeyBuf<'_>) -> Result<(), FieldError>;

    /// Reads the digits of `max - self`.
    fn read_reversed(bytes: &[u8], max: u64) -> Result<Self, FieldError>;

    /// Appends `max - self` as an Int64.
    fn write_reversed_int(self, max: u64, out: &mut Vec<u8>) -> Result<(), FieldError>;

    /// Reads the Int64 of `max - self`.
    fn read_reversed_int(bytes: &[u8], max: u64) -> Result<Self, FieldError>;

    /// The cut before the last reversed number, which `write` appends.
    fn cut_reversed(
        self,
        side: Side,
        write: impl FnOnce(Self, &mut Vec<u8>) -> Result<(), FieldError>,
    ) -> Cut;
}

/// The text formats that every integer type shares.
///
/// `$wide` holds every value that is not negative; `$fill` and `$parse` are the functions of [`decimal`] for it.
macro_rules! integer {
    ($type:ident, $wide:ident, $fill:ident, $parse:ident) => {
        impl Integer for $type {
            type Wide = $wide;
            const NAME: &'static str = stringify!($type);
            const MIN: i128 = $type::MIN as i128;
            const MAX: u128 = $type::MAX as u128;

            fn limit_of(width: usize) -> Option<$wide> {
                u32::try_from(width).ok().and_then(|width| $wide::checked_pow(10, width))
            }

            #[cfg_attr(not(debug_assertions), inline(always))]
            fn append_padded(
                self,
                limit: Option<$wide>,
                is_descending: bool,
                zeros: &mut [u8],
                out: &mut KeyBuf<'_>,
            ) -> Result<(), FieldError> {
                let digits = $wide::try_from(self);
                // If the type cannot hold 10^N, every value has at most N digits.
                let digits = digits.ok().filter(|digits| limit.is_none_or(|limit| *digits < limit));
                let Some(digits) = digits else {
                    return Err(not_padded(self, self < 0 as $type, zeros.len(), is_descending));
                };
                decimal::$fill(zeros, digits);
                if is_descending {
                    complement(zeros);
                }
                out.put(zeros);
                Ok(())
            }

            #[cfg_attr(not(debug_assertions), inline(always))]
            fn read_padded(bytes: &[u8]) -> Result<$type, FieldError> {
                decimal::$parse(bytes)
                    .and_then(|digits| $type::try_from(digits).ok())
                    .ok_or_else(|| not_digits(bytes, stringify!($type)))
            }

            fn read_padded_descending(bytes: &[u8]) -> Result<$type, FieldError> {
                let mut digits = bytes.to_vec();
                complement(&mut digits);
                let value = decimal::$parse(&digits).and_then(|value| $type::try_from(value).ok());
                value.ok_or_else(|| match greatest_of(bytes.len()) {
                    Some(max) => not_reversed(bytes, max, stringify!($type)),
                    None => not_digits(bytes, stringify!($type)),
                })
            }

            fn cut_padded(
                self,
                side: Side,
                write: impl FnOnce($type, &mut Vec<u8>) -> Result<(), FieldError>,
            ) -> Cut {
                let Some(next) = first_after!(self, side) else {
                    return Cut::Last;
                };
                // A rejected bound is negative, so below all values, or has too many digits, so above them.
                let otherwise = if $wide::try_from(next).is_err() { Cut::First } else { Cut::Last };
                cut_before(|out| write(next, out), otherwise)
            }

            fn cut_padded_descending(
                self,
                side: Side,
                write: impl FnOnce($type, &mut Vec<u8>) -> Result<(), FieldError>,
            ) -> Cut {
                let Some(last) = last_before!(self, side) else {
                    return Cut::Last;
                };
                // The bytes are in reverse: a negative bound is after all values, one with too many digits before them.
                let otherwise = if $wide::try_from(last).is_err() { Cut::Last } else { Cut::First };
                cut_before(|out| write(last, out), otherwise)
            }

            #[cfg_attr(not(debug_assertions), inline(always))]
            fn append_reversed(self, max: u64, width: usize, out: &mut KeyBuf<'_>) -> Result<(), FieldError> {
                let reversed = u64::try_from(self).ok().and_then(|value| max.checked_sub(value));
                let Some(reversed) = reversed else {
                    return Err(not_reversible(self, max.into()));
                };
                // 20 digits hold every u64.
                let mut buffer = [b'0'; 20];
                decimal::fill(&mut buffer, reversed);
                out.put(&buffer[20 - width..]);
                Ok(())
            }

            #[cfg_attr(not(debug_assertions), inline(always))]
            fn read_reversed(bytes: &[u8], max: u64) -> Result<$type, FieldError> {
                decimal::parse(bytes)
                    .and_then(|reversed| max.checked_sub(reversed))
                    .and_then(|value| $type::try_from(value).ok())
                    .ok_or_else(|| not_reversed(bytes, max.into(), stringify!($type)))
            }

            fn write_reversed_int(self, max: u64, out: &mut Vec<u8>) -> Result<(), FieldError> {
                let reversed = u64::try_from(self).ok().and_then(|value| max.checked_sub(value));
                match reversed {
                    Some(reversed) => write_number(reversed, |number| number, out),
                    None => Err(not_reversible(self, max.into())),
                }
            }

            fn read_reversed_int(bytes: &[u8], max: u64) -> Result<$type, FieldError> {
                let unreversed = |number| max.checked_sub(u64::try_from(number).ok()?)?.try_into().ok();
                read_number(bytes, unreversed, stringify!($type))
            }

            fn cut_reversed(
                self,
                side: Side,
                write: impl FnOnce($type, &mut Vec<u8>) -> Result<(), FieldError>,
            ) -> Cut {
                let Some(last) = last_before!(self, side) else {
                    return Cut::Last;
                };
                // The bytes are in reverse: a negative bound is after all values, a bound above `max` before them.
                let otherwise = if $wide::try_from(last).is_err() { Cut::Last } else { Cut::First };
                cut_before(|out| write(last, out), otherwise)
            }
        }

        #[diagnostic::do_not_recommend]
        impl<const N: usize> KeyField<Pad<N>> for $type {
            by_value!(limits_of!($type));
            const FORMAT: Format = Format::Decimal;
            const WIDTH: Width = Width::Fixed(N);

            #[inline]
            fn write(value: $type, out: &mut Vec<u8>) -> Result<(), FieldError> {
                append_to(out, |out| <Self as KeyField<Pad<N>>>::append(value, 0, out))
            }

            #[cfg_attr(not(debug_assertions), inline(always))]
            fn append(value: $type, _delimiter: u8, out: &mut KeyBuf<'_>) -> Result<bool, FieldError> {
                let limit = const { $wide::checked_pow(10, N as u32) };
                value.append_padded(limit, false, &mut [b'0'; N], out).map(|()| false)
            }

            #[cfg_attr(not(debug_assertions), inline(always))]
            fn read(bytes: Cow<'_, [u8]>) -> Result<$type, FieldError> {
                $type::read_padded(&bytes)
            }
        }

        #[diagnostic::do_not_recommend]
        impl<const N: usize> RangeField<Pad<N>> for $type {
            fn cut(bound: $type, side: Side) -> Cut {
                bound.cut_padded(side, <$type as KeyField<Pad<N>>>::write)
            }
        }

        #[diagnostic::do_not_recommend]
        impl<const MAX: u64> KeyField<ReverseTs<MAX>> for $type {
            by_value!(limits_of!($type));
            const FORMAT: Format = Format::Decimal;
            const ORDER: FieldOrder = FieldOrder::ReversedFrom { max: MAX as u128 };
            const WIDTH: Width = Width::Fixed(decimal::width(MAX as u128));

            #[inline]
            fn write(value: $type, out: &mut Vec<u8>) -> Result<(), FieldError> {
                append_to(out, |out| <Self as KeyField<ReverseTs<MAX>>>::append(value, 0, out))
            }

            #[cfg_attr(not(debug_assertions), inline(always))]
            fn append(value: $type, _delimiter: u8, out: &mut KeyBuf<'_>) -> Result<bool, FieldError> {
                value.append_reversed(MAX, const { decimal::width(MAX as u128) }, out).map(|()| false)
            }

            #[cfg_attr(not(debug_assertions), inline(always))]
            fn read(bytes: Cow<'_, [u8]>) -> Result<$type, FieldError> {
                $type::read_reversed(&bytes, MAX)
            }
        }

        #[diagnostic::do_not_recommend]
        impl<const MAX: u64> RangeField<ReverseTs<MAX>> for $type {
            fn cut(bound: $type, side: Side) -> Cut {
                bound.cut_reversed(side, <$type as KeyField<ReverseTs<MAX>>>::write)
            }
        }

        #[diagnostic::do_not_recommend]
        impl RangeField<Text> for $type {
            fn cut(bound: $type, side: Side) -> Cut {
                match first_after!(bound, side) {
                    Some(next) => cut_before(|out| <$type as KeyField<Text>>::write(next, out), Cut::Last),
                    None => Cut::Last,
                }
            }
        }

        #[diagnostic::do_not_recommend]
        impl KeyField<Desc<Text>> for $type {
            by_value!(limits_of!($type));
            const FORMAT: Format = <$type as KeyField<Text>>::FORMAT;
            const WIDTH: Width = <$type as KeyField<Text>>::WIDTH;
            // For an unsigned number, `!v` is `MAX - v`.
            const ORDER: FieldOrder = match $type::MIN {
                0 => FieldOrder::ReversedFrom { max: $type::MAX as u128 },
                _ => FieldOrder::Descending,
            };

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
                    Some(last) => {
                        cut_before(|out| <$type as KeyField<Desc<Text>>>::write(last, out), Cut::Last)
                    }
                    None => Cut::Last,
                }
            }
        }

        #[diagnostic::do_not_recommend]
        impl<const N: usize> KeyField<Desc<Pad<N>>> for $type {
            by_value!(limits_of!($type));
            const FORMAT: Format = Format::Decimal;
            const WIDTH: Width = Width::Fixed(N);
            const ORDER: FieldOrder = match 10_u128.checked_pow(N as u32) {
                Some(limit) => FieldOrder::ReversedFrom { max: limit - 1 },
                None => FieldOrder::Descending,
            };

            fn write(value: $type, out: &mut Vec<u8>) -> Result<(), FieldError> {
                append_to(out, |out| value.append_padded($type::limit_of(N), true, &mut [b'0'; N], out))
            }

            fn read(bytes: Cow<'_, [u8]>) -> Result<$type, FieldError> {
                $type::read_padded_descending(&bytes)
            }
        }

        #[diagnostic::do_not_recommend]
        impl<const N: usize> RangeField<Desc<Pad<N>>> for $type {
            fn cut(bound: $type, side: Side) -> Cut {
                bound.cut_padded_descending(side, <$type as KeyField<Desc<Pad<N>>>>::write)
            }
        }
    };
}

macro_rules! unsigned {
    ($($type:ident $wide:ident $fill:ident $parse:ident;)*) => {$(
        integer!($type, $wide, $fill, $parse);

        #[diagnostic::do_not_recommend]
        impl KeyField<Text> for $type {
            by_value!(limits_of!($type));
            const FORMAT: Format = Format::Decimal;
            const WIDTH: Width = Width::Fixed(decimal::width($type::MAX as u128));

            #[inline]
            fn write(value: $type, out: &mut Vec<u8>) -> Result<(), FieldError> {
                append_to(out, |out| <Self as KeyField<Text>>::append(value, 0, out))
            }

            #[cfg_attr(not(debug_assertions), inline(always))]
            fn append(value: $type, _delimiter: u8, out: &mut KeyBuf<'_>) -> Result<bool, FieldError> {
                let mut buffer = [b'0'; const { decimal::width($type::MAX as u128) }];
                decimal::$fill(&mut buffer, $wide::from(value));
                out.put(&buffer);
                Ok(false)
            }

            #[cfg_attr(not(debug_assertions), inline(always))]
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
            by_value!(limits_of!($type));
            const FORMAT: Format = Format::SignedDecimal;
            const WIDTH: Width = Width::Fixed(1 + decimal::width($type::MAX as u128));

            #[inline]
            fn write(value: $type, out: &mut Vec<u8>) -> Result<(), FieldError> {
                append_to(out, |out| <Self as KeyField<Text>>::append(value, 0, out))
            }

            #[cfg_attr(not(debug_assertions), inline(always))]
            fn append(value: $type, _delimiter: u8, out: &mut KeyBuf<'_>) -> Result<bool, FieldError> {
                let mut buffer = [b'0'; const { 1 + decimal::width($type::MAX as u128) }];
                // `!v` is `-v - 1`, and never negative for a negative `v`.
                let magnitude = if value < 0 { !value } else { value };
                decimal::$fill(&mut buffer[1..], magnitude.unsigned_abs().into());
                if value < 0 {
                    complement_signed(&mut buffer);
                }
                out.put(&buffer);
                Ok(false)
            }

            #[cfg_attr(not(debug_assertions), inline(always))]
            fn read(bytes: Cow<'_, [u8]>) -> Result<$type, FieldError> {
                let value = match bytes.split_first() {
                    Some((b'0', digits)) => decimal::$parse(digits).and_then(|v| $type::try_from(v).ok()),
                    Some((b'-', _)) => {
                        let mut buffer = [b'0'; const { 1 + decimal::width($type::MAX as u128) }];
                        (bytes.len() == buffer.len()).then(|| {
                            buffer.copy_from_slice(&bytes);
                            complement_signed(&mut buffer);
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

macro_rules! bit_reversed {
    ($($type:ident)*) => {$(
        #[diagnostic::do_not_recommend]
        impl KeyField<BitReverse<Text>> for $type {
            by_value!(limits_of!($type));
            const FORMAT: Format = Format::Decimal;
            const WIDTH: Width = <$type as KeyField<Text>>::WIDTH;
            const ORDER: FieldOrder = FieldOrder::BitReversed;

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

/// The width of an Int64 of the ordered layout.
const INT: Width = Width::Between(1, 10);

macro_rules! ordered_integers {
    ($($type:ident)*) => {$(
        #[diagnostic::do_not_recommend]
        impl KeyField<Ordered> for $type {
            by_value!(limits_of!($type));
            const FORMAT: Format = Format::Int64;
            const WIDTH: Width = INT;

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
                match first_after!(bound, side) {
                    // A rejected bound is above all values.
                    Some(next) => cut_before(|out| <$type as KeyField<Ordered>>::write(next, out), Cut::Last),
                    None => Cut::Last,
                }
            }
        }

        #[diagnostic::do_not_recommend]
        impl KeyField<Desc<Ordered>> for $type {
            by_value!(limits_of!($type));
            const FORMAT: Format = Format::Int64;
            const WIDTH: Width = INT;
            const ORDER: FieldOrder = FieldOrder::Descending;

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
                    // A rejected bound is above all values, so before them in the reversed bytes.
                    Some(last) => cut_before(|out| <$type as KeyField<Desc<Ordered>>>::write(last, out), Cut::First),
                    None => Cut::Last,
                }
            }
        }

        #[diagnostic::do_not_recommend]
        impl<const MAX: u64> KeyField<ReverseTs<MAX, Ordered>> for $type {
            by_value!(limits_of!($type));
            const FORMAT: Format = Format::Int64;
            const WIDTH: Width = INT;
            const ORDER: FieldOrder = FieldOrder::ReversedFrom { max: MAX as u128 };

            fn write(value: $type, out: &mut Vec<u8>) -> Result<(), FieldError> {
                value.write_reversed_int(MAX, out)
            }

            fn read(bytes: Cow<'_, [u8]>) -> Result<$type, FieldError> {
                $type::read_reversed_int(&bytes, MAX)
            }
        }

        #[diagnostic::do_not_recommend]
        impl<const MAX: u64> RangeField<ReverseTs<MAX, Ordered>> for $type {
            fn cut(bound: $type, side: Side) -> Cut {
                bound.cut_reversed(side, <$type as KeyField<ReverseTs<MAX, Ordered>>>::write)
            }
        }
    )*};
}

ordered_integers!(u8 u16 u32 u64 i8 i16 i32 i64);

/// Writes `of(value)` as an Int64; rejects a value above `i64::MAX`.
fn write_number<T: Copy + TryInto<i64> + Display>(
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
            "hex {} is not the shortest OrderedCode form of an Int64 in the range of `{type_name}`",
            Hex(bytes)
        ))
    })
}

/// The cut just before the bytes that `write` appends, or `otherwise` if it rejects the value.
fn cut_before(write: impl FnOnce(&mut Vec<u8>) -> Result<(), FieldError>, otherwise: Cut) -> Cut {
    let mut encoding = Vec::with_capacity(40);
    match write(&mut encoding) {
        Ok(()) => Cut::Before(encoding),
        Err(_) => otherwise,
    }
}

/// Replaces each digit by its difference from 9. Bytes that are not digits never become digits.
fn complement(digits: &mut [u8]) {
    for digit in digits {
        *digit = (b'0' + b'9').wrapping_sub(*digit);
    }
}

/// Converts between the digits of `-v - 1` and those of `10^w + v`, and sets the sign to `-`.
fn complement_signed(signed: &mut [u8]) {
    if let Some((sign, digits)) = signed.split_first_mut() {
        *sign = b'-';
        complement(digits);
    }
}

#[cold]
fn not_digits(bytes: &[u8], type_name: &str) -> FieldError {
    FieldError::new(format_args!(
        "`{}` is not a `{type_name}` in {} decimal digits",
        Readable(bytes),
        bytes.len(),
    ))
}

/// The greatest number of `width` digits; none if 128 bits do not hold it.
pub(super) fn greatest_of(width: usize) -> Option<u128> {
    let limit = u32::try_from(width).ok().and_then(|width| 10_u128.checked_pow(width));
    limit.map(|limit| limit - 1)
}

/// A number cannot be padded to `width` digits. Descending digits are those of a number that is subtracted from the greatest.
#[cold]
pub(super) fn not_padded(
    value: impl Display,
    is_negative: bool,
    width: usize,
    is_descending: bool,
) -> FieldError {
    match greatest_of(width).filter(|_| is_descending) {
        Some(max) => not_reversible(value, max),
        None if is_negative => FieldError::new(format_args!(
            "{value} is negative; a field that is padded to {width} digits stores no sign",
        )),
        None => FieldError::new(format_args!(
            "{value} does not fit; the field is padded to {width} digits, at most {}",
            "9".repeat(width),
        )),
    }
}

#[cold]
fn not_reversible(value: impl Display, max: u128) -> FieldError {
    FieldError::new(format_args!("{value} does not fit; the field holds 0 to {max}, the greatest first"))
}

#[cold]
fn not_reversed(bytes: &[u8], max: u128, type_name: &str) -> FieldError {
    FieldError::new(format_args!(
        "`{}` is not `{max} - t` in {} digits, for a `t` that is a `{type_name}`",
        Readable(bytes),
        bytes.len(),
    ))
}
