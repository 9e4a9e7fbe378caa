//! The proleptic Gregorian calendar in days of the Unix epoch, and how an instant is shown.

use std::fmt;

/// The nanoseconds of a day; no leap seconds, as in Unix time.
pub(super) const DAY: i128 = 86_400 * SECOND;
/// The nanoseconds of a second.
pub(super) const SECOND: i128 = 1_000_000_000;

/// A day of the calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Civil {
    pub(super) year: i64,
    pub(super) month: u8,
    pub(super) day: u8,
}

impl Civil {
    /// The day that is `days` after 1970-01-01.
    ///
    /// Years begin in March here, so that the leap day is the last of its year, and come in eras of 400
    /// years, which are all of one length.
    pub(super) const fn from_days(days: i64) -> Self {
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

    /// How many days after 1970-01-01 it is.
    pub(super) const fn days(self) -> i64 {
        let Self { year, month, day } = self;
        let year = year - (month <= 2) as i64;
        let era = year.div_euclid(400);
        let year_of_era = year.rem_euclid(400);
        let month = (month as i64 + 9) % 12;
        let day_of_year = (153 * month + 2) / 5 + day as i64 - 1;
        era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
    }
}

/// Nanoseconds of the Unix epoch as `2015-03-16T19:53:32.156Z`.
pub(super) struct Shown(pub(super) i128);

/// With `#`, the day alone.
impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(nanos) = *self;
        // The seconds of every time type are 64 bits, so the days are too.
        let days = nanos.div_euclid(DAY) as i64;
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
mod tests {
    use super::*;

    #[test]
    fn every_day_of_the_years_1_to_9999_comes_back() {
        let first = Civil { year: 1, month: 1, day: 1 };
        let last = Civil { year: 9999, month: 12, day: 31 };
        let mut previous = Civil::from_days(first.days() - 1);
        for days in first.days()..=last.days() {
            let civil = Civil::from_days(days);
            assert_eq!(civil.days(), days);
            let key = |civil: Civil| (civil.year, civil.month, civil.day);
            assert!(key(previous) < key(civil));
            previous = civil;
        }
        assert_eq!(previous, last);
    }

    #[test]
    fn known_days() {
        for (days, shown) in
            [(0, "1970-01-01"), (16_495, "2015-03-01"), (11_016, "2000-02-29"), (-1, "1969-12-31")]
        {
            assert_eq!(format!("{:#}", Shown(i128::from(days) * DAY)), shown);
        }
    }

    #[test]
    fn instants_are_shown_without_trailing_zeros() {
        for (nanos, shown) in [
            (0, "1970-01-01T00:00:00Z"),
            (1_426_535_612_156_000_000, "2015-03-16T19:53:32.156Z"),
            (-1, "1969-12-31T23:59:59.999999999Z"),
        ] {
            assert_eq!(Shown(nanos).to_string(), shown);
        }
        // The extremes of a time in 64 bits of seconds.
        Shown(i128::from(i64::MIN) * SECOND).to_string();
        Shown(i128::from(i64::MAX) * SECOND).to_string();
    }
}
