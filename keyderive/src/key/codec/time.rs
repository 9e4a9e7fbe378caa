//! Times and dates: a count of a unit, or digits of the calendar.
//!
//! A time type converts to nanoseconds since the Unix epoch and back, a date type to midnight of its day. A format is a
//! [`Scale`], which turns these nanoseconds into a number.

use std::borrow::Cow;
use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::super::decimal;
use super::super::field::{Cut, FieldError, KeyField, RangeField, Side};
use super::super::format::{FieldOrder, FieldValues, Format, TimeUnit, Width};
use super::super::ordered::{read_int, write_int};
use super::super::show::{Hex, Readable};
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

/// A format for times that is an ascending count.
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

/// A type of times, as nanoseconds of Unix time.
#[diagnostic::on_unimplemented(message = "`{Self}` is no time", label = "not a time in UTC")]
pub trait UnixTime: Copy {
    /// Since 1970, or before it if negative.
    fn unix_nanos(&self) -> i128;

    /// The time; none if the type does not have it.
    fn of_unix_nanos(nanos: i128) -> Option<Self>;
}

macro_rules! unix_times {
    ($($type:ty),*) => {$(
        impl UnixTime for $type {
            fn unix_nanos(&self) -> i128 {
                self.to_instant().nanos
            }

            fn of_unix_nanos(nanos: i128) -> Option<Self> {
                Self::from_nanos(nanos)
            }
        }
    )*};
}

unix_times! { SystemTime }
#[cfg(feature = "chrono")]
unix_times! { ::chrono::DateTime<::chrono::Utc> }
#[cfg(feature = "jiff")]
unix_times! { ::jiff::Timestamp }
#[cfg(feature = "time")]
unix_times! { ::time::OffsetDateTime, ::time::UtcDateTime }

/// A type of times or dates, as an instant of Unix time.
trait ToUnixInstant: Copy {
    fn to_instant(self) -> UnixInstant;

    /// The value at these nanoseconds since the Unix epoch, if the type has one.
    fn from_nanos(nanos: i128) -> Option<Self>;
}

/// Makes a type a field in every format of `$codec`, by its [`ToUnixInstant`].
macro_rules! time_field {
    ($type:ty, $codec:ident) => {
        #[diagnostic::do_not_recommend]
        impl<C: $codec> KeyField<C> for $type {
            by_value!(C::SCALE.values());
            const FORMAT: Format = C::SCALE.format;
            const WIDTH: Width = C::SCALE.width();
            const ORDER: FieldOrder = C::SCALE.order;

            #[inline]
            fn write(value: $type, out: &mut Vec<u8>) -> Result<(), FieldError> {
                C::SCALE.write(value.to_instant(), out)
            }

            fn show(value: $type, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                C::SCALE.show(value.to_instant().nanos, f)
            }

            #[inline]
            fn read(bytes: Cow<'_, [u8]>) -> Result<$type, FieldError> {
                let nanos = C::SCALE.read(&bytes)?;
                Self::from_nanos(nanos).ok_or_else(|| out_of_type_range(nanos, stringify!($type)))
            }
        }

        #[diagnostic::do_not_recommend]
        impl<C: $codec> RangeField<C> for $type {
            fn cut(bound: $type, side: Side) -> Cut {
                C::SCALE.cut(bound.to_instant(), side)
            }
        }
    };
}

time_field!(SystemTime, TimeCodec);

impl ToUnixInstant for SystemTime {
    fn to_instant(self) -> UnixInstant {
        // The seconds of a `SystemTime` have at most 64 bits, so the nanoseconds fit.
        let nanos = match self.duration_since(UNIX_EPOCH) {
            Ok(since) => since.as_nanos() as i128,
            Err(before) => -(before.duration().as_nanos() as i128),
        };
        nanos.into()
    }

    fn from_nanos(nanos: i128) -> Option<Self> {
        let distance = Duration::from_nanos_u128(nanos.unsigned_abs());
        let time =
            if nanos < 0 { UNIX_EPOCH.checked_sub(distance) } else { UNIX_EPOCH.checked_add(distance) };
        // A system whose clock is coarser than nanoseconds rounds.
        time.filter(|time| time.to_instant().nanos == nanos)
    }
}

#[cfg(feature = "chrono")]
mod chrono_types {
    use chrono::{DateTime, Datelike as _, NaiveDate, Utc};

    use super::*;

    time_field!(DateTime<Utc>, TimeCodec);
    time_field!(NaiveDate, DateCodec);

    impl ToUnixInstant for DateTime<Utc> {
        fn to_instant(self) -> UnixInstant {
            // In a leap second `chrono` counts more nanoseconds than a second has.
            let in_second = i128::from(self.timestamp_subsec_nanos());
            UnixInstant {
                nanos: i128::from(self.timestamp()) * SECOND + in_second.min(SECOND - 1),
                in_leap_second: in_second >= SECOND,
            }
        }

        fn from_nanos(nanos: i128) -> Option<Self> {
            let seconds = i64::try_from(nanos.div_euclid(SECOND)).ok()?;
            Self::from_timestamp(seconds, u32::try_from(nanos.rem_euclid(SECOND)).ok()?)
        }
    }

    /// 1970-01-01 in days of the common era.
    const EPOCH: i32 = 719_163;

    impl ToUnixInstant for NaiveDate {
        fn to_instant(self) -> UnixInstant {
            (i128::from(self.num_days_from_ce() - EPOCH) * DAY).into()
        }

        fn from_nanos(nanos: i128) -> Option<Self> {
            let days = i32::try_from(nanos.div_euclid(DAY)).ok()?;
            Self::from_num_days_from_ce_opt(days.checked_add(EPOCH)?)
        }
    }
}

#[cfg(feature = "jiff")]
mod jiff_types {
    use jiff::Timestamp;
    use jiff::civil::Date;

    use super::*;

    time_field!(Timestamp, TimeCodec);
    time_field!(Date, DateCodec);

    impl ToUnixInstant for Timestamp {
        fn to_instant(self) -> UnixInstant {
            self.as_nanosecond().into()
        }

        fn from_nanos(nanos: i128) -> Option<Self> {
            Self::from_nanosecond(nanos).ok()
        }
    }

    impl ToUnixInstant for Date {
        fn to_instant(self) -> UnixInstant {
            // Months and days are positive and below 32.
            let (month, day) = (self.month().unsigned_abs(), self.day().unsigned_abs());
            (i128::from(Civil { year: self.year().into(), month, day }.days()) * DAY).into()
        }

        fn from_nanos(nanos: i128) -> Option<Self> {
            let Civil { year, month, day } = Civil::from_days(i64::try_from(nanos.div_euclid(DAY)).ok()?);
            Self::new(year.try_into().ok()?, month.try_into().ok()?, day.try_into().ok()?).ok()
        }
    }
}

#[cfg(feature = "time")]
mod time_types {
    use time::{Date, OffsetDateTime, UtcDateTime};

    use super::*;

    time_field!(OffsetDateTime, TimeCodec);
    time_field!(UtcDateTime, TimeCodec);
    time_field!(Date, DateCodec);

    impl ToUnixInstant for OffsetDateTime {
        fn to_instant(self) -> UnixInstant {
            self.unix_timestamp_nanos().into()
        }

        fn from_nanos(nanos: i128) -> Option<Self> {
            Self::from_unix_timestamp_nanos(nanos).ok()
        }
    }

    impl ToUnixInstant for UtcDateTime {
        fn to_instant(self) -> UnixInstant {
            self.unix_timestamp_nanos().into()
        }

        fn from_nanos(nanos: i128) -> Option<Self> {
            Self::from_unix_timestamp_nanos(nanos).ok()
        }
    }

    /// The Julian day of 1970-01-01.
    const EPOCH: i32 = 2_440_588;

    impl ToUnixInstant for Date {
        fn to_instant(self) -> UnixInstant {
            (i128::from(self.to_julian_day() - EPOCH) * DAY).into()
        }

        fn from_nanos(nanos: i128) -> Option<Self> {
            let days = i32::try_from(nanos.div_euclid(DAY)).ok()?;
            Self::from_julian_day(days.checked_add(EPOCH)?).ok()
        }
    }
}

/// How an instant becomes a number: the step it is rounded down to, the numbers of the steps, and their order.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    format: Format,
    /// How many nanoseconds a step has.
    step: i128,
    /// Whether an instant between two steps is rejected instead of rounded down.
    exact: bool,
    /// The least number.
    least: i128,
    /// The greatest number.
    greatest: i128,
    order: FieldOrder,
    form: NumberForm,
}

/// How a number is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NumberForm {
    /// Decimal digits of the text layout, as many as the greatest number has.
    Digits,
    /// The Int64 of the ordered layout.
    Int64,
}

#[derive(Clone, Copy)]
pub(super) struct UnixInstant {
    /// Nanoseconds since the Unix epoch.
    nanos: i128,
    /// Whether the instant is in a leap second after these nanoseconds, which Unix time has no number for.
    in_leap_second: bool,
}

impl From<i128> for UnixInstant {
    fn from(nanos: i128) -> Self {
        Self { nanos, in_leap_second: false }
    }
}

/// Why a step has no number.
#[derive(Clone, Copy)]
enum OutOfRange {
    Early,
    Late,
}

impl Scale {
    const fn values(self) -> FieldValues {
        match self.format {
            Format::Date => FieldValues::Date,
            _ => FieldValues::Time { exact: self.exact },
        }
    }

    /// The scale of a time field whose schema is data; none if no codec has this format and order.
    pub(super) fn of_time(format: Format, order: FieldOrder, exact: bool, is_ordered: bool) -> Option<Self> {
        let scale = match format {
            Format::UnixTime(unit) => Self::unix(unit, exact),
            Format::DateTime17 if !is_ordered => Self::datetime17(exact),
            _ => return None,
        };
        let scale = if is_ordered { scale.ordered() } else { scale };
        match (order, format) {
            (FieldOrder::Ascending, _) => Some(scale),
            (FieldOrder::Descending, _) => Some(scale.descending()),
            (FieldOrder::ReversedFrom { max }, Format::UnixTime(_)) => {
                Some(scale.reversed_from(max.try_into().ok()?))
            }
            _ => None,
        }
    }

    /// The scale of a date field whose schema is data; none if no codec has this order.
    pub(super) fn of_date(order: FieldOrder, is_ordered: bool) -> Option<Self> {
        let scale = if is_ordered { Self::date().ordered() } else { Self::date() };
        match order {
            FieldOrder::Ascending => Some(scale),
            FieldOrder::Descending => Some(scale.descending()),
            _ => None,
        }
    }

    /// The time of a stored number, in nanoseconds since 1970; none if the scale has no such number.
    pub(super) fn nanos_of(self, stored: i128) -> Option<i128> {
        let number = Some(stored).filter(|number| (self.least..=self.greatest).contains(number))?;
        self.step_of(number).map(|step| step * self.step)
    }

    /// The day of a stored number, counted from 1970-01-01.
    pub(super) fn days_of(self, stored: i128) -> Option<i64> {
        self.nanos_of(stored).and_then(|nanos| i64::try_from(nanos.div_euclid(DAY)).ok())
    }

    #[cold]
    pub(super) fn no_number(self, stored: impl fmt::Display) -> FieldError {
        FieldError::new(format_args!(
            "{stored} is not {}, from {} to {}",
            match self.format {
                Format::Date => "a date as `YYYYMMDD`".to_owned(),
                Format::DateTime17 => "a time as `YYYYMMDDHHMMSSmmm`".to_owned(),
                _ => format!("a count of {} since 1970", self.unit_name()),
            },
            self.least,
            self.greatest
        ))
    }

    /// Steps of a unit, counted from the epoch.
    const fn unix(unit: TimeUnit, exact: bool) -> Self {
        let step = SECOND / 10_i128.pow(unit.fraction_digits());
        Self { step, exact, ..Self::digits_of(Format::UnixTime(unit), 10 + unit.fraction_digits()) }
    }

    /// Milliseconds of the calendar.
    const fn datetime17(exact: bool) -> Self {
        Self { step: SECOND / 1000, exact, ..Self::digits_of(Format::DateTime17, 17) }
    }

    /// Days of the calendar.
    const fn date() -> Self {
        Self { step: DAY, ..Self::digits_of(Format::Date, 8) }
    }

    const fn digits_of(format: Format, digits: u32) -> Self {
        Self {
            format,
            step: 1,
            exact: false,
            least: 0,
            greatest: 10_i128.pow(digits) - 1,
            order: FieldOrder::Ascending,
            form: NumberForm::Digits,
        }
    }

    /// The same steps as Int64s, where a count can be negative.
    const fn ordered(self) -> Self {
        let (least, greatest) = match self.format {
            Format::UnixTime(_) => (i64::MIN as i128, i64::MAX as i128),
            _ => (self.least, self.greatest),
        };
        Self { form: NumberForm::Int64, least, greatest, ..self }
    }

    /// The same steps, the greatest first: `!v` for an Int64, else the difference from the greatest number.
    const fn descending(self) -> Self {
        Self { order: FieldOrder::Descending, ..self }
    }

    /// The same steps as `max - t`, in the digits of `max`.
    const fn reversed_from(self, max: u64) -> Self {
        let greatest = max as i128;
        // The difference must be an Int64 too.
        let least = match self.form {
            NumberForm::Int64 if greatest > i64::MAX as i128 => greatest - i64::MAX as i128,
            _ => 0,
        };
        Self { order: FieldOrder::ReversedFrom { max: max as u128 }, least, greatest, ..self }
    }

    pub(super) const fn width(self) -> Width {
        match self.form {
            NumberForm::Digits => Width::Fixed(self.digits()),
            NumberForm::Int64 => Width::Between(1, 10),
        }
    }

    const fn digits(self) -> usize {
        decimal::width(self.greatest as u128)
    }

    /// Appends the digits of an instant.
    #[inline]
    pub(super) fn write(self, at: UnixInstant, out: &mut Vec<u8>) -> Result<(), FieldError> {
        let step = at.nanos.div_euclid(self.step);
        if at.in_leap_second {
            return Err(leap_second(at.nanos));
        }
        if self.exact && step * self.step != at.nanos {
            return Err(self.too_fine(at.nanos));
        }
        let number = self.number(step).map_err(|side| self.out_of_range(at.nanos, side))?;
        self.write_number(number, out);
        Ok(())
    }

    /// Shows an instant in the same form for the types of every crate: a time in RFC 3339, or a date.
    fn show(self, nanos: i128, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.format {
            Format::Date => write!(f, "{:#}", DisplayUtc(nanos)),
            _ => write!(f, "{}", DisplayUtc(nanos)),
        }
    }

    /// Reads a number back, as nanoseconds since the Unix epoch.
    #[inline]
    pub(super) fn read(self, bytes: &[u8]) -> Result<i128, FieldError> {
        let written = match self.form {
            NumberForm::Digits => {
                decimal::parse(bytes).filter(|_| bytes.len() == self.digits()).map(i128::from)
            }
            NumberForm::Int64 => read_int(bytes).map(i128::from),
        };
        written
            .map(|written| self.reordered(written))
            .filter(|number| (self.least..=self.greatest).contains(number))
            .and_then(|number| self.step_of(number))
            .map(|step| step * self.step)
            .ok_or_else(|| self.malformed(bytes))
    }

    /// The cut on one side of an instant, which need not have a number.
    ///
    /// Between two neighbouring steps there is one cut, so an empty range is recognized as empty.
    pub(super) fn cut(self, at: UnixInstant, side: Side) -> Cut {
        let step = at.nanos.div_euclid(self.step);
        let on_step = step * self.step == at.nanos && !at.in_leap_second;
        // The cut is just before the bytes of the next step; if bytes are reversed, before those of the previous one.
        let next = if on_step && side == Side::Before { step } else { step + 1 };
        let reversed = self.order.is_reversed();
        match self.number(if reversed { next - 1 } else { next }) {
            Ok(number) => {
                let mut encoding = Vec::with_capacity(self.digits());
                self.write_number(number, &mut encoding);
                Cut::Before(encoding)
            }
            Err(OutOfRange::Early) if reversed => Cut::Last,
            Err(OutOfRange::Late) if reversed => Cut::First,
            Err(OutOfRange::Early) => Cut::First,
            Err(OutOfRange::Late) => Cut::Last,
        }
    }

    #[inline]
    fn write_number(self, number: i128, out: &mut Vec<u8>) {
        let written = self.reordered(number);
        match self.form {
            NumberForm::Digits => {
                // 20 digits hold every u64, and `greatest` is a u64.
                let mut buffer = [b'0'; 20];
                decimal::fill(&mut buffer, written as u64);
                out.extend_from_slice(&buffer[20 - self.digits()..]);
            }
            // `least` and `greatest` are Int64s in this form.
            NumberForm::Int64 => write_int(written as i64, out),
        }
    }

    /// Converts a number to the one that is written, and back. They differ if the field reverses the order.
    fn reordered(self, number: i128) -> i128 {
        match (self.order, self.form) {
            (FieldOrder::ReversedFrom { .. }, _) | (FieldOrder::Descending, NumberForm::Digits) => {
                self.greatest - number
            }
            (FieldOrder::Descending, NumberForm::Int64) => !number,
            _ => number,
        }
    }

    /// The number of a step, unless the format cannot hold it.
    #[inline]
    fn number(self, step: i128) -> Result<i128, OutOfRange> {
        let number = match self.format {
            Format::DateTime17 => calendar_number(step, 86_400_000).map(|(day, in_day)| {
                let (second, millis) = (in_day / 1000, in_day % 1000);
                let clock = second / 3600 * 10_000 + second / 60 % 60 * 100 + second % 60;
                i128::from(day * 1_000_000_000 + clock * 1000 + millis)
            })?,
            Format::Date => calendar_number(step, 1).map(|(day, _)| i128::from(day))?,
            _ => step,
        };
        match number {
            number if number < self.least => Err(OutOfRange::Early),
            number if number > self.greatest => Err(OutOfRange::Late),
            number => Ok(number),
        }
    }

    /// The step with this number; `None` if the calendar has no such day or time.
    #[inline]
    fn step_of(self, number: i128) -> Option<i128> {
        match self.format {
            Format::DateTime17 => {
                let number = u64::try_from(number).ok()?;
                let clock = number / 1000 % 1_000_000;
                let (hour, minute, second) = (clock / 10_000, clock / 100 % 100, clock % 100);
                let is_clock = hour < 24 && minute < 60 && second < 60;
                let in_day = (hour * 3600 + minute * 60 + second) * 1000 + number % 1000;
                let days = days_from_number(number / 1_000_000_000).filter(|_| is_clock)?;
                Some(i128::from(days) * 86_400_000 + i128::from(in_day))
            }
            Format::Date => u64::try_from(number).ok().and_then(days_from_number).map(i128::from),
            _ => Some(number),
        }
    }

    /// The first and the last instant that have a number.
    fn instant_range(self) -> (i128, i128) {
        match self.format {
            Format::UnixTime(_) => (self.least * self.step, self.greatest * self.step),
            _ => (i128::from(FIRST_DAY) * DAY, (i128::from(LAST_DAY) + 1) * DAY - self.step),
        }
    }

    #[cold]
    fn too_fine(self, nanos: i128) -> FieldError {
        let remedy = match self.format {
            Format::UnixTime(_) => {
                "store a finer unit, such as `row_key(ts(unit = \"nanos\"))`, or leave out `exact` to round down"
            }
            _ => {
                "leave out `exact` to round down, or store a finer unit, such as `row_key(ts(unit = \"micros\"))`"
            }
        };
        FieldError::new(format_args!(
            "{} is finer than the {} that the field stores; {remedy}",
            DisplayUtc(nanos),
            self.unit_name(),
        ))
    }

    #[cold]
    fn out_of_range(self, nanos: i128, side: OutOfRange) -> FieldError {
        let (first, last) = self.instant_range();
        if let Format::Date = self.format {
            return FieldError::new(format_args!(
                "{:#} is out of range; dates are stored as `YYYYMMDD`, {:#} to {:#}",
                DisplayUtc(nanos),
                DisplayUtc(first),
                DisplayUtc(last),
            ));
        }
        let held = match (self.order, self.form) {
            (FieldOrder::ReversedFrom { max }, _) => {
                format!("`#[reverse_ts(max = {max})]` of {} holds", self.unit_name())
            }
            (_, NumberForm::Digits) => format!("{} digits of {} hold", self.digits(), self.unit_name()),
            (_, NumberForm::Int64) => format!("an Int64 of {} holds", self.unit_name()),
        };
        FieldError::new(format_args!(
            "{} is {}; {held} {} to {}{}",
            DisplayUtc(nanos),
            match side {
                OutOfRange::Early => "too early",
                OutOfRange::Late => "too late",
            },
            DisplayUtc(first),
            DisplayUtc(last),
            self.remedy_for_range(nanos, side),
        ))
    }

    /// Which format would hold the instant.
    fn remedy_for_range(self, nanos: i128, side: OutOfRange) -> &'static str {
        let is_reversed_count = matches!(self.order, FieldOrder::ReversedFrom { .. });
        let has_four_digit_year = calendar_number(nanos.div_euclid(DAY), 1).is_ok();
        match (self.format, self.form, side) {
            (Format::UnixTime(TimeUnit::Secs), _, OutOfRange::Late) if is_reversed_count => {
                "; give `#[reverse_ts]` a greater `max`"
            }
            (Format::UnixTime(_), _, OutOfRange::Late) if is_reversed_count => {
                "; give `#[reverse_ts]` a greater `max`, or store a coarser unit with `row_key(ts(unit = \"secs\"))`"
            }
            (Format::UnixTime(_), NumberForm::Int64, OutOfRange::Early)
                if is_reversed_count && self.least > 0 =>
            {
                "; give `#[reverse_ts]` a smaller `max`"
            }
            (Format::UnixTime(_), NumberForm::Int64, OutOfRange::Early) if is_reversed_count => {
                "; `row_key(desc)` holds times before 1970 too"
            }
            (Format::UnixTime(_), NumberForm::Int64, _) => {
                "; `row_key(ts(unit = \"secs\"))` holds every time"
            }
            (Format::UnixTime(_), NumberForm::Digits, _) if is_reversed_count && has_four_digit_year => {
                "; `row_key(desc, ts(format = \"datetime17\"))` holds the years 1 to 9999"
            }
            (Format::UnixTime(_), NumberForm::Digits, _) if has_four_digit_year => {
                "; `row_key(ts(format = \"datetime17\"))` holds the years 1 to 9999"
            }
            _ => "; `row_key(layout = \"ordered\")` on the struct holds it, as the count of a unit",
        }
    }

    #[cold]
    fn malformed(self, bytes: &[u8]) -> FieldError {
        let what = match self.format {
            Format::Date => "a date as `YYYYMMDD`",
            Format::DateTime17 => "a time as `YYYYMMDDHHMMSSmmm`",
            _ => "a count since 1970",
        };
        let order = match (self.order, self.form) {
            (FieldOrder::Ascending, _) => String::new(),
            (FieldOrder::Descending, NumberForm::Int64) => " with all bits inverted".to_owned(),
            _ => format!(" subtracted from {}", self.greatest),
        };
        match self.form {
            NumberForm::Digits => FieldError::new(format_args!(
                "`{}` is not {what}{order}, in {} digits",
                Readable(bytes),
                self.digits(),
            )),
            NumberForm::Int64 => FieldError::new(format_args!(
                "hex {} is not the shortest OrderedCode of {what}{order}",
                Hex(bytes),
            )),
        }
    }

    fn unit_name(self) -> &'static str {
        match self.format {
            Format::UnixTime(unit) => unit.name(),
            _ => "milliseconds",
        }
    }
}

/// The first day of the year 1.
const FIRST_DAY: i64 = Civil { year: 1, month: 1, day: 1 }.days();
/// The last day of the year 9999.
const LAST_DAY: i64 = Civil { year: 9999, month: 12, day: 31 }.days();

/// The day of a step as `YYYYMMDD`, and its steps since midnight.
fn calendar_number(step: i128, steps_of_day: i128) -> Result<(u64, u64), OutOfRange> {
    let days = step.div_euclid(steps_of_day);
    if days < i128::from(FIRST_DAY) {
        return Err(OutOfRange::Early);
    }
    if days > i128::from(LAST_DAY) {
        return Err(OutOfRange::Late);
    }
    // The years 1 to 9999 fit in any integer, and so does the time of a day.
    let civil = Civil::from_days(days as i64);
    let day = civil.year as u64 * 10_000 + u64::from(civil.month) * 100 + u64::from(civil.day);
    Ok((day, step.rem_euclid(steps_of_day) as u64))
}

/// The day that is `days` after 1970-01-01 as `YYYYMMDD`; `None` outside of the years 1 to 9999.
pub(crate) const fn calendar_day(days: i128) -> Option<i128> {
    if days < FIRST_DAY as i128 || days > LAST_DAY as i128 {
        return None;
    }
    let Civil { year, month, day } = Civil::from_days(days as i64);
    Some(year as i128 * 10_000 + month as i128 * 100 + day as i128)
}

/// The days from 1970-01-01 to `YYYYMMDD`; `None` if the calendar has no such day.
fn days_from_number(number: u64) -> Option<i64> {
    let year = i64::try_from(number / 10_000).ok().filter(|year| (1..=9999).contains(year))?;
    // Remainders of 100 fit in a byte.
    let civil = Civil { year, month: (number / 100 % 100) as u8, day: (number % 100) as u8 };
    let is_month = (1..=12).contains(&civil.month);
    is_month.then(|| civil.days()).filter(|days| Civil::from_days(*days) == civil)
}

#[cold]
fn leap_second(nanos: i128) -> FieldError {
    FieldError::new(format_args!(
        "it is in the leap second after {}, which Unix time has no number for; move it to the second before or after",
        DisplayUtc(nanos),
    ))
}

#[cold]
fn out_of_type_range(nanos: i128, type_name: &str) -> FieldError {
    FieldError::new(format_args!("{} is out of the range of `{type_name}`", DisplayUtc(nanos)))
}

/// The nanoseconds of a day without leap seconds, as in Unix time.
pub(crate) const DAY: i128 = 86_400 * SECOND;
/// The nanoseconds of a second.
const SECOND: i128 = 1_000_000_000;

/// A day of the proleptic Gregorian calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Civil {
    year: i64,
    month: u8,
    day: u8,
}

impl Civil {
    /// The day that is `days` after 1970-01-01.
    ///
    /// Here years begin in March, so that the leap day ends a year, and are grouped in eras of 400 years, all of the
    /// same length.
    const fn from_days(days: i64) -> Self {
        let days = days + 719_468;
        let era = days.div_euclid(146_097);
        let day_of_era = days.rem_euclid(146_097);
        let year_of_era =
            (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month = (5 * day_of_year + 2) / 153;
        let day = (day_of_year - (153 * month + 2) / 5 + 1) as u8;
        let month = (if month < 10 { month + 3 } else { month - 9 }) as u8;
        Self { year: era * 400 + year_of_era + (month <= 2) as i64, month, day }
    }

    /// The days since 1970-01-01.
    const fn days(self) -> i64 {
        let Self { year, month, day } = self;
        let year = year - (month <= 2) as i64;
        let era = year.div_euclid(400);
        let year_of_era = year.rem_euclid(400);
        let month = (month as i64 + 9) % 12;
        let day_of_year = (153 * month + 2) / 5 + day as i64 - 1;
        era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
    }
}

/// Writes nanoseconds since the Unix epoch as `2015-03-16T19:53:32.156Z`, or with `#` the day alone.
pub(crate) fn write_utc(nanos: i128, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    fmt::Display::fmt(&DisplayUtc(nanos), f)
}

/// The nanoseconds since 1970 of a time in RFC 3339: `2015-03-16T19:53:32.156Z`, or with an offset as `+01:00`. A leap second, if it is
/// taken, is the second after it, as in Unix time.
pub(crate) fn parse_utc(text: &str, takes_leap_second: bool) -> Option<i128> {
    let (date, rest) = text.split_at_checked(10)?;
    let (clock, rest) = rest.split_at_checked(9)?;
    let [b'T' | b't', h0, h1, b':', m0, m1, b':', s0, s1] = *clock.as_bytes() else { return None };
    let below = |digits: [u8; 2], end| decimal::parse(&digits).filter(|number| *number < end).map(i128::from);
    let last_second = if takes_leap_second { 61 } else { 60 };
    let seconds = (below([h0, h1], 24)? * 60 + below([m0, m1], 60)?) * 60 + below([s0, s1], last_second)?;
    let (fraction, zone) = match rest.strip_prefix('.') {
        None => ("", rest),
        Some(rest) => rest.split_at(rest.bytes().take_while(u8::is_ascii_digit).count()),
    };
    if fraction.len() > 9 || (fraction.is_empty() && rest.starts_with('.')) {
        return None;
    }
    let scale = 10_i128.pow(9 - u32::try_from(fraction.len()).ok()?);
    let fraction = i128::from(decimal::parse(fraction.as_bytes()).unwrap_or_default()) * scale;
    let offset = match *zone.as_bytes() {
        [b'Z' | b'z'] => 0,
        [sign @ (b'+' | b'-'), h0, h1, b':', m0, m1] => {
            let minutes = below([h0, h1], 24)? * 60 + below([m0, m1], 60)?;
            if sign == b'-' { -minutes } else { minutes }
        }
        _ => return None,
    };
    Some(i128::from(parse_date(date)?) * DAY + (seconds - offset * 60) * SECOND + fraction)
}

/// The days since 1970-01-01 of a date of the calendar, as `2015-03-16`, of the years 0000 to 9999.
pub(crate) fn parse_date(text: &str) -> Option<i64> {
    let [y0, y1, y2, y3, b'-', m0, m1, b'-', d0, d1] = *text.as_bytes() else { return None };
    let number = decimal::parse;
    // Four digits, and two, fit.
    let year = number(&[y0, y1, y2, y3])? as i64;
    let civil = Civil { year, month: number(&[m0, m1])? as u8, day: number(&[d0, d1])? as u8 };
    let is_month = (1..=12).contains(&civil.month);
    is_month.then(|| civil.days()).filter(|days| Civil::from_days(*days) == civil)
}

/// Nanoseconds since the Unix epoch as `2015-03-16T19:53:32.156Z`, or with `#` the day alone.
struct DisplayUtc(i128);

impl fmt::Display for DisplayUtc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// Years of more digits are in no calendar, and no type of times has them.
        const SHOWN: i128 = 1 << 40;
        let Self(nanos) = *self;
        let days = nanos.div_euclid(DAY);
        if !(-SHOWN..SHOWN).contains(&days) {
            return write!(f, "{nanos} ns from 1970");
        }
        let days = days as i64;
        let Civil { year, month, day } = Civil::from_days(days);
        write!(f, "{year:04}-{month:02}-{day:02}")?;
        if f.alternate() {
            return Ok(());
        }
        let in_day = nanos.rem_euclid(DAY);
        let (second, fraction) = (in_day / SECOND, in_day % SECOND);
        write!(f, "T{:02}:{:02}:{:02}", second / 3600, second / 60 % 60, second % 60)?;
        if fraction != 0 {
            write!(f, ".{}", format!("{fraction:09}").trim_end_matches('0'))?;
        }
        f.write_str("Z")
    }
}

#[cfg(test)]
mod tests;
