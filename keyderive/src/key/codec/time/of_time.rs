//! `OffsetDateTime`, `UtcDateTime` and `Date` of `time`.

use time::{Date, OffsetDateTime, UtcDateTime};

use super::calendar::DAY;
use super::on_a_scale;
use super::scale::Instant;

fn instant(time: OffsetDateTime) -> Instant {
    time.unix_timestamp_nanos().into()
}

fn from_nanos(nanos: i128) -> Option<OffsetDateTime> {
    OffsetDateTime::from_unix_timestamp_nanos(nanos).ok()
}

fn utc_instant(time: UtcDateTime) -> Instant {
    time.unix_timestamp_nanos().into()
}

fn utc_from_nanos(nanos: i128) -> Option<UtcDateTime> {
    UtcDateTime::from_unix_timestamp_nanos(nanos).ok()
}

/// The Julian day of 1970-01-01.
const EPOCH: i32 = 2_440_588;

fn day(date: Date) -> Instant {
    (i128::from(date.to_julian_day() - EPOCH) * DAY).into()
}

fn from_day(nanos: i128) -> Option<Date> {
    let days = i32::try_from(nanos.div_euclid(DAY)).ok()?;
    Date::from_julian_day(days.checked_add(EPOCH)?).ok()
}

on_a_scale!(OffsetDateTime, TimeCodec, instant, from_nanos);
on_a_scale!(UtcDateTime, TimeCodec, utc_instant, utc_from_nanos);
on_a_scale!(Date, DateCodec, day, from_day);
