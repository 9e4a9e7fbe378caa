//! Times and dates of chrono, jiff and time: RFC 3339 in UTC, as each crate writes it, and `2015-03-16`.

use std::cmp::Ordering;
use std::fmt::{Display, Write as _};

use super::text::read_text;
use super::{Cell, CellError, CellType, CellWriter};

/// A date by its calendar fields.
struct CalendarDate {
    year: i32,
    month: u8,
    day: u8,
}

impl CalendarDate {
    fn write(&self, out: &mut CellWriter<'_>) -> Result<(), CellError> {
        let Self { year, month, day } = self;
        if !(0..=9999).contains(year) {
            return Err(CellError::unsupported(format_args!(
                "is a date of the year {year}; a date column holds the years 0000 to 9999"
            )));
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

    /// Reads a date of which the type has a value, by `make`.
    fn read<D>(value: &[u8], make: impl FnOnce(Self) -> Option<D>) -> Result<D, CellError> {
        let number = |digits: &[u8]| {
            digits.iter().try_fold(0, |number: i32, digit| {
                digit.is_ascii_digit().then(|| number * 10 + i32::from(digit - b'0'))
            })
        };
        let fields = || match value {
            [year @ .., b'-', m1, m2, b'-', d1, d2] if year.len() == 4 => {
                let [month, day] = [[*m1, *m2], [*d1, *d2]].map(|digits| number(&digits));
                let (month, day) = (u8::try_from(month?).ok()?, u8::try_from(day?).ok()?);
                Some(Self { year: number(year)?, month, day })
            }
            _ => None,
        };
        fields()
            .and_then(make)
            .ok_or_else(|| CellError::not_this_text(value, "a date is stored as text, such as `2015-03-16`"))
    }
}

const TIME_OUT_OF_RANGE: &str =
    "is a time without text in RFC 3339; a time column holds the years 0000 to 9999";

/// Writes the text of a time, unless its crate has none for it.
fn write_time(time: Option<impl Display>, out: &mut CellWriter<'_>) -> Result<(), CellError> {
    let written = time.is_some_and(|time| write!(out, "{time}").is_ok());
    if written { Ok(()) } else { Err(CellError::unsupported(TIME_OUT_OF_RANGE)) }
}

/// Reads the text of a time, by `parse`.
fn read_time<T>(value: &[u8], parse: impl FnOnce(&str) -> Option<T>) -> Result<T, CellError> {
    parse(read_text(value)?).ok_or_else(|| {
        let expected = "a time is stored as text in RFC 3339, such as `2015-03-16T20:20:12.156Z`";
        CellError::not_this_text(value, expected)
    })
}

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
