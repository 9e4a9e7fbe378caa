//! Times and dates of the standard library, chrono, jiff and time.

use std::time::SystemTime;

#[cfg(any(feature = "chrono", feature = "jiff", feature = "time"))]
use super::SqlDate;
use super::convert::check_scalar;
use super::{FromSql, SqlMismatch, SqlTimestamp, SqlType, SqlValue, ToSql};
use crate::key::codec::UnixTime;

const SECOND: i128 = 1_000_000_000;

impl SqlTimestamp {
    /// A time of this process; one too far from 1970 for seconds in an `i64` becomes the first or last of these.
    pub(super) fn of_unix_nanos(nanos: i128) -> Self {
        let seconds = nanos.div_euclid(SECOND);
        Self {
            seconds: i64::try_from(seconds).unwrap_or(if seconds < 0 { i64::MIN } else { i64::MAX }),
            // A part of a second.
            nanos: u32::try_from(nanos.rem_euclid(SECOND)).unwrap_or(0),
        }
    }

    pub(super) fn unix_nanos(self) -> i128 {
        i128::from(self.seconds) * SECOND + i128::from(self.nanos)
    }
}

macro_rules! times {
    ($($type:ty),*) => {$(
        times!($type, |time: &$type| SqlTimestamp::of_unix_nanos(time.unix_nanos()));
    )*};
    ($type:ty, $timestamp:expr) => {
        impl ToSql for $type {
            fn sql_type() -> SqlType {
                SqlType::Timestamp
            }

            fn to_sql(&self) -> SqlValue {
                SqlValue::Timestamp($timestamp(self))
            }
        }

        impl FromSql for $type {
            fn check_type(of: &SqlType) -> Result<(), SqlMismatch> {
                check_scalar(&SqlType::Timestamp, of)
            }

            fn from_sql(value: SqlValue) -> Result<Self, SqlMismatch> {
                let SqlTimestamp { seconds, nanos } = SqlTimestamp::from_sql(value)?;
                Self::of_unix_nanos(SqlTimestamp { seconds, nanos }.unix_nanos()).ok_or_else(|| {
                    SqlMismatch::new(format!(
                        "`{}` has no time {seconds} s and {nanos} ns after 1970",
                        stringify!($type)
                    ))
                })
            }
        }
    };
}

times!(SystemTime);
// In a leap second it counts more nanoseconds than a second has, which are rejected before sending.
#[cfg(feature = "chrono")]
times!(chrono::DateTime<chrono::Utc>, |time: &Self| SqlTimestamp {
    seconds: time.timestamp(),
    nanos: time.timestamp_subsec_nanos()
});
#[cfg(feature = "jiff")]
times!(jiff::Timestamp);
#[cfg(feature = "time")]
times!(time::OffsetDateTime, time::UtcDateTime);

#[cfg(any(feature = "chrono", feature = "jiff", feature = "time"))]
macro_rules! dates {
    ($type:ty, $fields:expr, $make:expr) => {
        impl ToSql for $type {
            fn sql_type() -> SqlType {
                SqlType::Date
            }

            fn to_sql(&self) -> SqlValue {
                let (year, month, day) = $fields(*self);
                SqlValue::Date(SqlDate { year, month, day })
            }
        }

        impl FromSql for $type {
            fn check_type(of: &SqlType) -> Result<(), SqlMismatch> {
                check_scalar(&SqlType::Date, of)
            }

            fn from_sql(value: SqlValue) -> Result<Self, SqlMismatch> {
                let date = SqlDate::from_sql(value)?;
                let SqlDate { year, month, day } = date;
                let made: Option<Self> = $make(date);
                made.ok_or_else(|| {
                    SqlMismatch::new(format!(
                        "`{}` has no date {year:04}-{month:02}-{day:02}",
                        stringify!($type)
                    ))
                })
            }
        }
    };
}

#[cfg(feature = "chrono")]
mod chrono_types {
    use chrono::{Datelike as _, NaiveDate};

    use super::*;

    dates!(
        NaiveDate,
        |date: NaiveDate| (date.year(), date.month(), date.day()),
        |SqlDate { year, month, day }| Self::from_ymd_opt(year, month, day)
    );
}

#[cfg(feature = "jiff")]
mod jiff_types {
    use jiff::civil::Date;

    use super::*;

    dates!(
        Date,
        // A month and a day are positive.
        |date: Date| (
            date.year().into(),
            date.month().unsigned_abs().into(),
            date.day().unsigned_abs().into()
        ),
        |SqlDate { year, month, day }| {
            Self::new(year.try_into().ok()?, month.try_into().ok()?, day.try_into().ok()?).ok()
        }
    );
}

#[cfg(feature = "time")]
mod time_types {
    use time::{Date, Month};

    use super::*;

    dates!(
        Date,
        |date: Date| (date.year(), u8::from(date.month()).into(), date.day().into()),
        |SqlDate { year, month, day }| {
            let month = Month::try_from(u8::try_from(month).ok()?).ok()?;
            Self::from_calendar_date(year, month, u8::try_from(day).ok()?).ok()
        }
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seconds, nanoseconds, and the same in nanoseconds.
    const TIMES: [(i64, u32, i128); 6] = [
        (0, 0, 0),
        (0, 1, 1),
        (-1, 999_999_999, -1),
        (-1, 500_000_000, -500_000_000),
        (253_402_300_799, 999_999_999, 253_402_300_799_999_999_999),
        (-62_135_596_800, 0, -62_135_596_800_000_000_000),
    ];

    #[cfg(any(feature = "chrono", feature = "jiff", feature = "time"))]
    fn returns<T: ToSql + FromSql + PartialEq + std::fmt::Debug>(value: &T) {
        assert_eq!(T::from_sql(value.to_sql()).as_ref(), Ok(value));
    }

    fn times<T: UnixTime + ToSql + FromSql + PartialEq + std::fmt::Debug>() {
        for (seconds, nanos, unix_nanos) in TIMES {
            let time = SqlTimestamp { seconds, nanos };
            assert_eq!(time.unix_nanos(), unix_nanos);
            assert_eq!(SqlTimestamp::of_unix_nanos(unix_nanos), time);
            let value = SqlValue::Timestamp(time);
            let decoded = T::from_sql(value.clone()).unwrap();
            assert_eq!((decoded.unix_nanos(), decoded.to_sql()), (unix_nanos, value));
        }
        assert_eq!(T::sql_type(), SqlType::Timestamp);
        let error = T::from_sql(SqlValue::Text("2015".into())).unwrap_err();
        assert_eq!(error.to_string(), "expected TIMESTAMP, found STRING");
    }

    #[test]
    fn times_of_the_system() {
        times::<SystemTime>();
        for (nanos, end) in [(i128::MAX, i64::MAX), (i128::MIN, i64::MIN)] {
            assert_eq!(SqlTimestamp::of_unix_nanos(nanos).seconds, end);
        }
    }

    #[cfg(feature = "chrono")]
    #[test]
    fn times_and_dates_of_chrono() {
        times::<chrono::DateTime<chrono::Utc>>();
        for (year, month, day) in [(1, 1, 1), (2016, 2, 29), (9999, 12, 31)] {
            returns(&chrono::NaiveDate::from_ymd_opt(year, month, day).unwrap());
        }
        let leap_second = chrono::NaiveDate::from_ymd_opt(2016, 12, 31)
            .unwrap()
            .and_hms_milli_opt(23, 59, 59, 1_500)
            .unwrap();
        let error = leap_second.and_utc().to_sql().check().unwrap_err();
        assert!(
            error.contains("1483228799 s and 1500000000 ns") && error.contains("a leap second"),
            "{error}"
        );
        let never = SqlValue::Date(SqlDate { year: 2015, month: 2, day: 29 });
        let error = chrono::NaiveDate::from_sql(never).unwrap_err();
        assert_eq!(error.to_string(), "`NaiveDate` has no date 2015-02-29");
        let late = SqlValue::Timestamp(SqlTimestamp { seconds: i64::MAX, nanos: 0 });
        assert!(
            chrono::DateTime::<chrono::Utc>::from_sql(late).unwrap_err().to_string().contains("has no time")
        );
    }

    #[cfg(feature = "jiff")]
    #[test]
    fn times_and_dates_of_jiff() {
        for (year, month, day) in [(1, 1, 1), (2016, 2, 29), (9999, 12, 31)] {
            returns(&jiff::civil::date(year, month, day));
        }
        for (seconds, nanos, _) in &TIMES[..4] {
            returns(&jiff::Timestamp::new(*seconds, i32::try_from(*nanos).unwrap()).unwrap());
        }
        let late = SqlValue::Timestamp(SqlTimestamp { seconds: 253_402_300_800, nanos: 0 });
        assert!(jiff::Timestamp::from_sql(late).is_err());
    }

    #[cfg(feature = "time")]
    #[test]
    fn times_and_dates_of_time() {
        times::<time::OffsetDateTime>();
        times::<time::UtcDateTime>();
        for (year, ordinal) in [(1, 1), (2016, 60), (9999, 365)] {
            returns(&time::Date::from_ordinal_date(year, ordinal).unwrap());
        }
    }
}
