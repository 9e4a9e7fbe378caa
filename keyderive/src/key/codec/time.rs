//! Times and dates: a count of a unit, or digits of the calendar.
//!
//! A time type is a conversion to nanoseconds of the Unix epoch and back, a date type one to days; all formats
//! are a [`Scale`] of such. A type of another crate is one small file.

mod calendar;
#[cfg(feature = "chrono")]
mod of_chrono;
#[cfg(feature = "jiff")]
mod of_jiff;
mod of_std;
#[cfg(feature = "time")]
mod of_time;
mod scale;

pub use scale::Scale;

use super::super::format::TimeUnit;
use super::{DateTime17, Desc, Exact, Micros, Millis, Nanos, Ordered, ReverseTs, Secs, Text, Ts};

/// A unit of time: [`Secs`], [`Millis`], [`Micros`], [`Nanos`], or [`Exact`] of one.
pub trait Unit {
    /// Which unit it is.
    const UNIT: TimeUnit;
    /// Whether a finer time is an error; it is rounded down otherwise.
    const EXACT: bool = false;
}

impl Unit for Secs {
    const UNIT: TimeUnit = TimeUnit::Secs;
}

impl Unit for Millis {
    const UNIT: TimeUnit = TimeUnit::Millis;
}

impl Unit for Micros {
    const UNIT: TimeUnit = TimeUnit::Micros;
}

impl Unit for Nanos {
    const UNIT: TimeUnit = TimeUnit::Nanos;
}

impl<U: Unit> Unit for Exact<U> {
    const UNIT: TimeUnit = U::UNIT;
    const EXACT: bool = true;
}

/// A format for times.
pub trait TimeCodec {
    /// How an instant becomes digits.
    const SCALE: Scale;
}

/// A format for times that is a count, least first.
pub trait UnixCodec: TimeCodec {}

/// A format for dates.
pub trait DateCodec {
    /// How a day becomes digits.
    const SCALE: Scale;
}

impl TimeCodec for Text {
    const SCALE: Scale = Scale::unix(TimeUnit::Micros, false);
}

impl UnixCodec for Text {}

impl<U: Unit> TimeCodec for Ts<U> {
    const SCALE: Scale = Scale::unix(U::UNIT, U::EXACT);
}

impl<U: Unit> UnixCodec for Ts<U> {}

/// The Int64 of the count.
impl TimeCodec for Ordered {
    const SCALE: Scale = <Text as TimeCodec>::SCALE.ordered();
}

impl UnixCodec for Ordered {}

impl<U: Unit> TimeCodec for Ts<U, Ordered> {
    const SCALE: Scale = Ts::<U>::SCALE.ordered();
}

impl<U: Unit> UnixCodec for Ts<U, Ordered> {}

impl TimeCodec for DateTime17 {
    const SCALE: Scale = Scale::datetime17(false);
}

impl TimeCodec for DateTime17<Exact<Millis>> {
    const SCALE: Scale = Scale::datetime17(true);
}

impl<const MAX: u64, C: UnixCodec> TimeCodec for ReverseTs<MAX, C> {
    const SCALE: Scale = C::SCALE.reversed_from(MAX);
}

impl<C: UnixCodec> TimeCodec for Desc<C> {
    const SCALE: Scale = C::SCALE.descending();
}

impl TimeCodec for Desc<DateTime17> {
    const SCALE: Scale = DateTime17::<Millis>::SCALE.descending();
}

impl TimeCodec for Desc<DateTime17<Exact<Millis>>> {
    const SCALE: Scale = DateTime17::<Exact<Millis>>::SCALE.descending();
}

impl DateCodec for Text {
    const SCALE: Scale = Scale::date();
}

impl DateCodec for Desc {
    const SCALE: Scale = Scale::date().descending();
}

/// The Int64 of the number `YYYYMMDD`.
impl DateCodec for Ordered {
    const SCALE: Scale = Scale::date().ordered();
}

impl DateCodec for Desc<Ordered> {
    const SCALE: Scale = Scale::date().ordered().descending();
}

/// Makes a type a field in every format of `$codec`, through its conversions: to an [`Instant`](scale::Instant), and
/// from nanoseconds of the Unix epoch, with none for those that the type cannot hold.
macro_rules! on_a_scale {
    ($type:ty, $codec:ident, $to:expr, $from:expr) => {
        #[diagnostic::do_not_recommend]
        impl<C: $crate::key::codec::$codec> $crate::key::KeyField<C> for $type {
            type Arg<'a> = $type;
            type Decoded<'a> = $type;
            const FORMAT: $crate::key::Format = C::SCALE.format();
            const WIDTH: $crate::key::Width = C::SCALE.width();
            const ORDER: $crate::key::FieldOrder = C::SCALE.order();

            #[inline]
            fn arg(&self) -> $type {
                *self
            }

            #[inline]
            fn write(value: $type, out: &mut Vec<u8>) -> Result<(), $crate::key::FieldError> {
                C::SCALE.write($to(value), out)
            }

            #[inline]
            fn read(bytes: std::borrow::Cow<'_, [u8]>) -> Result<$type, $crate::key::FieldError> {
                let nanos = C::SCALE.read(&bytes)?;
                $from(nanos).ok_or_else(|| super::scale::not_of_the_type(nanos, stringify!($type)))
            }
        }

        #[diagnostic::do_not_recommend]
        impl<C: $crate::key::codec::$codec> $crate::key::RangeField<C> for $type {
            fn cut(bound: $type, side: $crate::key::Side) -> $crate::key::Cut {
                C::SCALE.cut($to(bound), side)
            }
        }
    };
}
use on_a_scale;

#[cfg(test)]
mod tests;
