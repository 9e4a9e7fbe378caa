//! `DateTime<Utc>` and `NaiveDate` of `chrono`.

use chrono::{DateTime, Datelike as _, NaiveDate, Utc};

use super::calendar::{DAY, SECOND};
use super::on_a_scale;
use super::scale::Instant;

/// In a leap second `chrono` counts more than a second's nanoseconds.
fn instant(time: DateTime<Utc>) -> Instant {
    let in_second = i128::from(time.timestamp_subsec_nanos());
    Instant {
        nanos: i128::from(time.timestamp()) * SECOND + in_second.min(SECOND - 1),
        in_leap_second: in_second >= SECOND,
    }
}

fn from_nanos(nanos: i128) -> Option<DateTime<Utc>> {
    let seconds = i64::try_from(nanos.div_euclid(SECOND)).ok()?;
    DateTime::from_timestamp(seconds, u32::try_from(nanos.rem_euclid(SECOND)).ok()?)
}

/// Days of the year 1 that the epoch is after.
const EPOCH: i32 = 719_163;

fn day(date: NaiveDate) -> Instant {
    (i128::from(date.num_days_from_ce() - EPOCH) * DAY).into()
}

fn from_day(nanos: i128) -> Option<NaiveDate> {
    let days = i32::try_from(nanos.div_euclid(DAY)).ok()?;
    NaiveDate::from_num_days_from_ce_opt(days.checked_add(EPOCH)?)
}

on_a_scale!(DateTime<Utc>, TimeCodec, instant, from_nanos);
on_a_scale!(NaiveDate, DateCodec, day, from_day);
