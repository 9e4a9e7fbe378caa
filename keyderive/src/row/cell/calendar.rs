//! Times and dates of chrono, jiff and time: RFC 3339 in UTC, as each crate writes it, and `2015-03-16`.

use std::cmp::Ordering;
use std::fmt::{Display, Write as _};

use super::text::read_text;
#[cfg(any(feature = "chrono", feature = "jiff", feature = "time"))]
use super::{Cell, CellType};
use super::{CellError, CellWriter};
use crate::key::Value;
use crate::key::{parse_date, parse_utc};

/// A date by its calendar fields.
#[cfg(any(feature = "chrono", feature = "jiff", feature = "time"))]
struct CalendarDate {
    year: i32,
    month: u8,
    day: u8,
}

/// 0000-01-01 and 9999-12-31 in days since 1970.
const FIRST_DAY: i64 = -719_528;
const LAST_DAY: i64 = 2_932_896;
const DAY_SECONDS: i64 = 86_400;
const SECOND: i128 = 1_000_000_000;

/// Writes the date that is `days` days after 1970.
pub(super) fn write_days(days: i64, out: &mut CellWriter<'_>) -> Result<(), CellError> {
    /// Later years have more digits than `Value` prints.
    const SHOWN: u64 = 1 << 40;
    match days {
        FIRST_DAY..=LAST_DAY => write!(out, "{}", Value::Date(days)).map_err(CellError::unsupported),
        _ if days.unsigned_abs() < SHOWN => {
            let date = Value::Date(days).to_string();
            let year = date.rsplitn(3, '-').nth(2).and_then(|year| year.parse::<i64>().ok());
            Err(year_out_of_range(year.unwrap_or_default()))
        }
        _ => Err(CellError::unsupported(format_args!(
            "is a date {days} days from 1970; a date column holds the years 0000 to 9999"
        ))),
    }
}

/// Writes the date, or the first or last one that a column holds if it is before or after all of them.
pub(super) fn write_days_bound(days: i64, out: &mut CellWriter<'_>) -> Result<Ordering, CellError> {
    let held = days.clamp(FIRST_DAY, LAST_DAY);
    write_days(held, out).map(|()| days.cmp(&held))
}

/// Writes the time that is `nanos` nanoseconds after 1970, with as many digits as it needs.
pub(super) fn write_nanos(nanos: i128, out: &mut CellWriter<'_>) -> Result<(), CellError> {
    write_time(is_of_four_digits(nanos).then_some(Value::Time(nanos)), out)
}

/// Whether a time is in the years 0000 to 9999, which all crates of times have.
pub(super) fn is_of_four_digits(nanos: i128) -> bool {
    let seconds = nanos.div_euclid(SECOND);
    (i128::from(FIRST_DAY * DAY_SECONDS)..i128::from((LAST_DAY + 1) * DAY_SECONDS)).contains(&seconds)
}

/// The nanoseconds from 1970 to a time in RFC 3339. A leap second is the second after it, as in Unix time.
pub(super) fn parse_time(text: &str) -> Option<i128> {
    parse_utc(text, true)
}

/// Whether text is a time as the crates write it: `2015-03-16T19:53:32.156Z`, or with `+00:00`.
pub(super) fn is_stored_time(text: &str) -> bool {
    let is_utc = text.ends_with('Z') || text.ends_with("+00:00");
    is_utc
        && text.as_bytes().get(10) == Some(&b'T')
        && text.get(17..19) != Some("60")
        && parse_time(text).is_some()
}

/// Up to nine digits.
#[cfg(any(feature = "chrono", feature = "jiff", feature = "time"))]
fn number(digits: &[u8]) -> Option<i32> {
    digits.iter().try_fold(0, |number: i32, digit| {
        digit.is_ascii_digit().then(|| number * 10 + i32::from(digit - b'0'))
    })
}

#[cold]
fn year_out_of_range(year: impl Display) -> CellError {
    CellError::unsupported(format_args!(
        "is a date of the year {year}; a date column holds the years 0000 to 9999"
    ))
}

#[cfg(any(feature = "chrono", feature = "jiff", feature = "time"))]
impl CalendarDate {
    fn write(&self, out: &mut CellWriter<'_>) -> Result<(), CellError> {
        let Self { year, month, day } = self;
        if !(0..=9999).contains(year) {
            return Err(year_out_of_range(year));
        }
        write!(out, "{year:04}-{month:02}-{day:02}").map_err(CellError::unsupported)
    }

    /// Writes the date, or the first or last one that a column holds if it is before or after all of them.
    fn write_bound(&self, out: &mut CellWriter<'_>) -> Result<Ordering, CellError> {
        let (date, ordering) = match self.year {
            ..0 => (&Self { year: 0, month: 1, day: 1 }, Ordering::Less),
            0..=9999 => (self, Ordering::Equal),
            _ => (&Self { year: 9999, month: 12, day: 31 }, Ordering::Greater),
        };
        date.write(out).map(|()| ordering)
    }

    /// The fields of `2015-03-16`, which need not be a date of the calendar.
    fn parse(text: &[u8]) -> Option<Self> {
        let [year @ .., b'-', m1, m2, b'-', d1, d2] = text else { return None };
        if year.len() != 4 {
            return None;
        }
        let [month, day] = [[*m1, *m2], [*d1, *d2]].map(|digits| number(&digits));
        Some(Self { year: number(year)?, month: u8::try_from(month?).ok()?, day: u8::try_from(day?).ok()? })
    }

    /// Reads a date, and makes the type's value of it; fails if the type has none.
    fn read<D>(value: &[u8], make: impl FnOnce(Self) -> Option<D>) -> Result<D, CellError> {
        Self::parse(value).and_then(make).ok_or_else(|| not_a_date(value))
    }
}

/// Reads the days from 1970 to a date.
pub(super) fn read_days(value: &[u8]) -> Result<i64, CellError> {
    str::from_utf8(value).ok().and_then(parse_date).ok_or_else(|| not_a_date(value))
}

#[cold]
fn not_a_date(value: &[u8]) -> CellError {
    CellError::not_this_text(value, "a date is stored as text, such as `2015-03-16`")
}

const TIME_OUT_OF_RANGE: &str =
    "is a time without text in RFC 3339; a time column holds the years 0000 to 9999";

/// Writes the text of a time, unless its crate has none for it.
fn write_time(time: Option<impl Display>, out: &mut CellWriter<'_>) -> Result<(), CellError> {
    let written = time.is_some_and(|time| write!(out, "{time}").is_ok());
    if written { Ok(()) } else { Err(CellError::unsupported(TIME_OUT_OF_RANGE)) }
}

/// Reads the text of a time, by `parse`.
pub(super) fn read_time<T>(value: &[u8], parse: impl FnOnce(&str) -> Option<T>) -> Result<T, CellError> {
    parse(read_text(value)?).ok_or_else(|| {
        let expected = "a time is stored as text in RFC 3339, such as `2015-03-16T20:20:12.156Z`";
        CellError::not_this_text(value, expected)
    })
}

#[cfg(any(feature = "chrono", feature = "jiff", feature = "time"))]
macro_rules! times {
    ($($type:ty, $write:expr, $parse:expr;)*) => {$(
        impl Cell for $type {
            type Owned = Self;
            type Decoded<'r> = Self;
            const TYPE: CellType = CellType::Time;

            fn encode(&self, out: &mut CellWriter<'_>) -> Result<(), CellError> {
                write_time($write(*self), out)
            }

            fn decode(value: &[u8]) -> Result<Self, CellError> {
                read_time(value, $parse)
            }
        }
    )*};
}

#[cfg(any(feature = "chrono", feature = "jiff", feature = "time"))]
macro_rules! dates {
    ($type:ty, $fields:expr, $make:expr) => {
        impl Cell for $type {
            type Owned = Self;
            type Decoded<'r> = Self;
            const TYPE: CellType = CellType::Date;

            fn encode(&self, out: &mut CellWriter<'_>) -> Result<(), CellError> {
                let (year, month, day) = $fields(*self);
                CalendarDate { year, month, day }.write(out)
            }

            fn encode_bound(&self, out: &mut CellWriter<'_>) -> Result<Ordering, CellError> {
                let (year, month, day) = $fields(*self);
                CalendarDate { year, month, day }.write_bound(out)
            }

            fn decode(value: &[u8]) -> Result<Self, CellError> {
                CalendarDate::read(value, $make)
            }
        }
    };
}

#[cfg(feature = "chrono")]
mod chrono_types {
    use chrono::{DateTime, Datelike as _, NaiveDate, Utc};

    use super::*;

    times! {
        // `Debug` is RFC 3339 with a `Z`, as chrono's serde writes it, in years of four digits.
        DateTime<Utc>, |time: DateTime<Utc>| {
            (0..=9999).contains(&time.year()).then(|| std::fmt::from_fn(move |f| write!(f, "{time:?}")))
        }, |text: &str| DateTime::parse_from_rfc3339(text).ok().map(|time| time.to_utc());
    }

    dates!(
        NaiveDate,
        |date: NaiveDate| {
            // A month and a day are below 32.
            let [month, day] = [date.month(), date.day()].map(|number| u8::try_from(number).unwrap_or(0));
            (date.year(), month, day)
        },
        |CalendarDate { year, month, day }| Self::from_ymd_opt(year, month.into(), day.into())
    );
}

#[cfg(feature = "jiff")]
mod jiff_types {
    use jiff::Timestamp;
    use jiff::civil::Date;

    use super::*;

    times! {
        Timestamp, |time: Timestamp| (time.as_second() >= YEAR_0).then_some(time), |text: &str| text.parse().ok();
    }

    /// 0000-01-01 in seconds since 1970. Before it, the text has a year with a sign and six digits.
    const YEAR_0: i64 = -62_167_219_200;

    dates!(
        Date,
        // A month and a day are positive and below 32.
        |date: Date| (date.year().into(), date.month().unsigned_abs(), date.day().unsigned_abs()),
        |CalendarDate { year, month, day }| {
            Self::new(year.try_into().ok()?, month.try_into().ok()?, day.try_into().ok()?).ok()
        }
    );
}

#[cfg(feature = "time")]
mod time_types {
    use time::format_description::well_known::Rfc3339;
    use time::{Date, Month, OffsetDateTime, UtcDateTime, UtcOffset};

    use super::*;

    times! {
        OffsetDateTime, |time: OffsetDateTime| {
            time.checked_to_offset(UtcOffset::UTC).and_then(|time| time.format(&Rfc3339).ok())
        }, |text: &str| {
            OffsetDateTime::parse(text, &Rfc3339).ok()?.checked_to_offset(UtcOffset::UTC)
        };
        UtcDateTime, |time: UtcDateTime| time.format(&Rfc3339).ok(), |text: &str| {
            OffsetDateTime::parse(text, &Rfc3339).ok()?.checked_to_utc()
        };
    }

    dates!(
        Date,
        |date: Date| (date.year(), u8::from(date.month()), date.day()),
        |CalendarDate { year, month, day }| {
            Self::from_calendar_date(year, Month::try_from(month).ok()?, day).ok()
        }
    );
}
