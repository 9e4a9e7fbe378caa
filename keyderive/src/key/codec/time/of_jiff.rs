//! `Timestamp` and `civil::Date` of `jiff`.

use jiff::Timestamp;
use jiff::civil::Date;

use super::calendar::{Civil, DAY};
use super::on_a_scale;
use super::scale::Instant;

fn instant(time: Timestamp) -> Instant {
    time.as_nanosecond().into()
}

fn from_nanos(nanos: i128) -> Option<Timestamp> {
    Timestamp::from_nanosecond(nanos).ok()
}

fn day(date: Date) -> Instant {
    // Months and days are positive and below 32.
    let (month, day) = (date.month().unsigned_abs(), date.day().unsigned_abs());
    (i128::from(Civil { year: date.year().into(), month, day }.days()) * DAY).into()
}

fn from_day(nanos: i128) -> Option<Date> {
    let Civil { year, month, day } = Civil::from_days(i64::try_from(nanos.div_euclid(DAY)).ok()?);
    let (year, month, day) = (i16::try_from(year).ok()?, i8::try_from(month).ok()?, i8::try_from(day).ok()?);
    Date::new(year, month, day).ok()
}

on_a_scale!(Timestamp, TimeCodec, instant, from_nanos);
on_a_scale!(Date, DateCodec, day, from_day);
