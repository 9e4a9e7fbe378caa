use std::borrow::Cow;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::super::{DateTime17, Desc, Exact, Micros, Millis, Nanos, Ordered, ReverseTs, Secs, Text, Ts};
use super::parse_utc;
use super::{Civil, DAY, DisplayUtc, SECOND};
use crate::key::{Cut, FieldOrder, KeyField, RangeField, Side};

const MAX: u64 = i64::MAX as u64;

fn at(nanos: i128) -> SystemTime {
    let distance = Duration::from_nanos_u128(nanos.unsigned_abs());
    if nanos < 0 { UNIX_EPOCH - distance } else { UNIX_EPOCH + distance }
}

fn write<C, T: for<'a> KeyField<C, Arg<'a> = T>>(value: T) -> Result<String, String> {
    let mut out = Vec::new();
    T::write(value, &mut out).map_err(|error| error.to_string())?;
    Ok(String::from_utf8(out).unwrap())
}

fn read<C, T: for<'a> KeyField<C, Decoded<'a> = T>>(bytes: &[u8]) -> Result<T, String> {
    T::read(Cow::Borrowed(bytes)).map_err(|error| error.to_string())
}

#[test]
fn the_bytes_of_every_unit_and_order() {
    let time = at(1_426_535_612_156_000_000);
    let second = at(1_426_535_612_000_000_000);
    for (written, expected) in [
        (write::<Text, _>(time), "1426535612156000"),
        (write::<Ts<Secs>, _>(second), "1426535612"),
        (write::<Ts<Millis>, _>(time), "1426535612156"),
        (write::<Ts<Micros>, _>(time), "1426535612156000"),
        (write::<Ts<Nanos>, _>(time), "1426535612156000000"),
        (write::<Ts<Secs>, _>(time), "1426535612"),
        (write::<Ts<Exact<Secs>>, _>(second), "1426535612"),
        (write::<DateTime17, _>(time), "20150316195332156"),
        (write::<DateTime17, _>(at(-1)), "19691231235959999"),
        (write::<DateTime17, _>(at(3600 * SECOND)), "19700101010000000"),
        (write::<ReverseTs<MAX>, _>(time), "9221945501242619807"),
        (write::<ReverseTs<MAX, Ts<Millis>>, _>(time), "9223370610319163651"),
        (write::<ReverseTs<9_999_999_999_999, Ts<Millis>>, _>(time), "8573464387843"),
        (write::<Desc, _>(time), "8573464387843999"),
        (write::<Desc<Ts<Millis>>, _>(time), "8573464387843"),
        (write::<Desc<DateTime17>, _>(time), "79849683804667843"),
        (write::<DateTime17, _>(at(253_402_300_799_999_999_999)), "99991231235959999"),
        (write::<Ts<Nanos>, _>(UNIX_EPOCH), "0000000000000000000"),
        (write::<Ts<Nanos>, _>(at(9_999_999_999_999_999_999)), "9999999999999999999"),
    ] {
        assert_eq!(written.as_deref(), Ok(expected));
    }
}

#[test]
fn errors_say_why_and_what_to_do() {
    for (written, parts) in [
        (
            write::<Ts<Exact<Millis>>, _>(at(1_426_535_612_156_000_001)),
            &[
                "2015-03-16T19:53:32.156000001Z is finer than the milliseconds",
                "\"nanos\"",
                "leave out `exact`",
            ][..],
        ),
        (
            write::<Text, _>(at(-1_000)),
            &[
                "1969-12-31T23:59:59.999999Z is too early",
                "16 digits of microseconds hold 1970-01-01T00:00:00Z to 2286-11-20T17:46:39.999999Z; \
                 `row_key(ts(format = \"datetime17\"))`",
            ],
        ),
        (
            write::<Ts<Secs>, _>(at(10_000_000_000_000_000_000)),
            &["2286-11-20T17:46:40Z is too late", "to 2286-11-20T17:46:39Z", "datetime17"],
        ),
        (
            write::<ReverseTs<9_999_999_999_999>, _>(at(1_426_535_612_156_000_000)),
            &["too late", "1970-04-26T17:46:39.999999Z", "greater `max`", "coarser unit"],
        ),
        (
            write::<DateTime17<Exact<Millis>>, _>(at(1_000)),
            &["1970-01-01T00:00:00.000001Z is finer", "leave out `exact`"],
        ),
        // Rounded down, it is a second before 1970.
        (write::<Ts<Secs>, _>(at(-1)), &["1969-12-31T23:59:59.999999999Z is too early"]),
        (
            write::<DateTime17, _>(at(-62_135_596_800_001_000_000)),
            &["0000-12-31T23:59:59.999Z is too early", "0001-01-01T00:00:00Z to 9999-12-31T23:59:59.999Z"],
        ),
        (
            write::<DateTime17, _>(at(253_402_300_800_000_000_000)),
            &["10000-01-01T00:00:00Z is too late", "layout = \"ordered\""],
        ),
        // The remedy is not `datetime17`, which ends with the year 9999.
        (
            write::<Ts<Secs>, _>(at(253_402_300_800_000_000_000)),
            &["2286-11-20T17:46:39Z; `row_key(layout = \"ordered\")` on the struct"],
        ),
        // The remedy is not a greater `max`.
        (
            write::<ReverseTs<MAX>, _>(at(-1_000)),
            &[
                "too early; `#[reverse_ts(max = 9223372036854775807)]`",
                "row_key(desc, ts(format = \"datetime17\"))",
            ],
        ),
        (
            write::<ReverseTs<MAX, Ordered>, _>(at(-1_000)),
            &[
                "too early; `#[reverse_ts(max = 9223372036854775807)]` of microseconds holds 1970",
                "`row_key(desc)`",
            ],
        ),
        (write::<ReverseTs<{ u64::MAX }, Ts<Nanos, Ordered>>, _>(at(0)), &["too early", "a smaller `max`"]),
        // The least `max` that leaves out 1970.
        (write::<ReverseTs<{ 1 << 63 }, Ts<Nanos, Ordered>>, _>(at(0)), &["too early", "a smaller `max`"]),
    ] {
        let text = written.unwrap_err();
        for part in parts {
            assert!(text.contains(part), "{text:?} does not say {part:?}");
        }
    }
}

#[test]
fn read_accepts_only_what_write_writes() {
    for text in [
        "20150229000000000",
        "20151301000000000",
        "20150301240000000",
        "20150301006000000",
        "20150301000060000",
        "00000101000000000",
    ] {
        let error = read::<DateTime17, SystemTime>(text.as_bytes()).unwrap_err();
        assert!(error.contains(text) && error.contains("YYYYMMDDHHMMSSmmm"), "{error}");
    }
    for text in ["142653561215", "14265356121560", "+426535612156", ""] {
        assert!(read::<Ts<Millis>, SystemTime>(text.as_bytes()).is_err(), "{text:?}");
    }
    // Over the maximum, in its digits.
    let error = read::<ReverseTs<10>, SystemTime>(b"11").unwrap_err();
    assert!(error.contains("subtracted from 10, in 2 digits"), "{error}");
}

#[test]
fn orders_are_declared() {
    assert_eq!(<SystemTime as KeyField<Ts<Millis>>>::ORDER, FieldOrder::Ascending);
    assert_eq!(<SystemTime as KeyField<Desc>>::ORDER, FieldOrder::Descending);
    assert_eq!(<SystemTime as KeyField<ReverseTs<10>>>::ORDER, FieldOrder::ReversedFrom { max: 10 });
}

/// No time lies between two neighbours, so there is one cut between them.
#[test]
fn empty_ranges_are_recognized() {
    let cut = |nanos, side| <SystemTime as RangeField<Ts<Millis>>>::cut(at(nanos), side);
    assert_eq!(cut(1_000_000, Side::After), cut(2_000_000, Side::Before));
    assert_eq!(cut(1_000_001, Side::Before), cut(1_999_999, Side::After));
    assert_eq!(cut(-1, Side::After), Cut::Before(b"0000000000000".to_vec()));
    assert_eq!(cut(-1, Side::Before), Cut::Before(b"0000000000000".to_vec()));
    assert_eq!(cut(-1_000_001, Side::Before), Cut::First);
}

/// A bound that no number has is before or after all rows; in reversed bytes, the other way round.
#[test]
fn bounds_out_of_range_are_clamped() {
    let late = 10_000_000_000 * SECOND;
    for side in [Side::Before, Side::After] {
        assert_eq!(<SystemTime as RangeField<Ts<Secs>>>::cut(at(late), side), Cut::Last);
        assert_eq!(<SystemTime as RangeField<Ts<Secs>>>::cut(at(-SECOND - 1), side), Cut::First);
        assert_eq!(<SystemTime as RangeField<Desc<Ts<Secs>>>>::cut(at(late + 1), side), Cut::First);
        assert_eq!(<SystemTime as RangeField<Desc<Ts<Secs>>>>::cut(at(-SECOND), side), Cut::Last);
    }
}

#[test]
fn every_day_of_the_years_1_to_9999_round_trips() {
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
        assert_eq!(format!("{:#}", DisplayUtc(i128::from(days) * DAY)), shown);
    }
}

#[test]
fn instants_print_without_trailing_zeros() {
    for (nanos, shown) in [
        (0, "1970-01-01T00:00:00Z"),
        (1_426_535_612_156_000_000, "2015-03-16T19:53:32.156Z"),
        (-1, "1969-12-31T23:59:59.999999999Z"),
    ] {
        assert_eq!(DisplayUtc(nanos).to_string(), shown);
    }
    // The extremes of a time in 64 bits of seconds.
    DisplayUtc(i128::from(i64::MIN) * SECOND).to_string();
    DisplayUtc(i128::from(i64::MAX) * SECOND).to_string();
}

#[test]
fn times_are_read_from_rfc_3339() {
    for (text, nanos) in [
        ("1970-01-01T00:00:00Z", 0),
        ("2015-03-16t19:53:32.156z", 1_426_535_612_156_000_000),
        ("2015-03-16T20:53:32.156000000+01:00", 1_426_535_612_156_000_000),
        ("2015-03-16T14:23:32.156-05:30", 1_426_535_612_156_000_000),
        ("1969-12-31T23:59:59.999999999Z", -1),
    ] {
        assert_eq!(parse_utc(text, false), Some(nanos), "{text}");
    }
    for text in [
        "1970-01-01T24:00:00Z",
        "1970-01-01T00:60:00Z",
        "1970-01-01T00:00:60Z",
        "1970-01-01T00:00:00.Z",
        "1970-01-01T00:00:00.0000000000Z",
        "1970-01-01T00:00:00",
        "1970-01-01T00:00:00+24:00",
        "1970-01-01T00:00:00+00:60",
        "1970-13-01T00:00:00Z",
        "1970-02-30T00:00:00Z",
        "1970-01-01 00:00:00Z",
    ] {
        assert_eq!(parse_utc(text, false), None, "{text}");
    }
    let after_leap_second = Some(1_483_228_800 * SECOND);
    assert_eq!(parse_utc("2016-12-31T23:59:60Z", true), after_leap_second);
    assert_eq!(parse_utc("2016-12-31T23:59:61Z", true), None);
}

#[cfg(feature = "chrono")]
mod chrono_types {
    use chrono::{DateTime, NaiveDate, NaiveTime, Utc};

    use super::*;

    fn from(nanos: i128) -> Option<DateTime<Utc>> {
        let subsec = u32::try_from(nanos.rem_euclid(1_000_000_000)).unwrap();
        DateTime::from_timestamp(i64::try_from(nanos.div_euclid(1_000_000_000)).unwrap(), subsec)
    }

    #[test]
    fn bytes() {
        assert_eq!(
            write::<Ts<Millis>, _>(from(1_426_535_612_156_000_000).unwrap()).unwrap(),
            "1426535612156"
        );
        let date = NaiveDate::from_ymd_opt(2015, 3, 16).unwrap();
        assert_eq!(write::<Text, _>(date).unwrap(), "20150316");
        assert_eq!(write::<Desc, _>(date).unwrap(), "79849683");
        assert!(read::<Text, NaiveDate>(b"20150230").unwrap_err().contains("YYYYMMDD"));
        let error = write::<Text, _>(NaiveDate::from_ymd_opt(10_000, 1, 1).unwrap()).unwrap_err();
        assert!(
            error.starts_with("10000-01-01 is out of range") && error.ends_with("0001-01-01 to 9999-12-31")
        );
    }

    /// Unix time has no number for a leap second; a bound inside one is after the second before it.
    #[test]
    fn leap_seconds() {
        let day = NaiveDate::from_ymd_opt(2016, 12, 31).unwrap();
        for millis in [1_000, 1_500] {
            let in_leap = NaiveTime::from_hms_milli_opt(23, 59, 59, millis).unwrap();
            let time = day.and_time(in_leap).and_utc();
            let error = write::<Ts<Secs>, _>(time).unwrap_err();
            assert!(error.contains("the leap second after 2016-12-31T23:59:59.999999999Z"), "{error}");
            for side in [Side::Before, Side::After] {
                let cut = <DateTime<Utc> as RangeField<Ts<Secs>>>::cut(time, side);
                assert_eq!(cut, Cut::Before(b"1483228800".to_vec()));
            }
        }
    }
}

#[cfg(feature = "jiff")]
mod jiff_types {
    use jiff::Timestamp;
    use jiff::civil::Date;

    use super::*;

    #[test]
    fn bytes() {
        let time = Timestamp::from_millisecond(1_426_535_612_156).unwrap();
        assert_eq!(write::<Text, _>(time).unwrap(), "1426535612156000");
        assert_eq!(write::<Text, _>(Date::constant(2015, 3, 16)).unwrap(), "20150316");
        assert!(read::<Text, Date>(b"20150230").is_err());
        // The format holds more than the type.
        assert!(
            read::<DateTime17, Timestamp>(b"99991231235959999").unwrap_err().contains("range of `Timestamp`")
        );
    }
}

#[cfg(feature = "time")]
mod time_types {
    use time::{Date, OffsetDateTime, UtcOffset};

    use super::*;

    #[test]
    fn bytes() {
        let time = OffsetDateTime::from_unix_timestamp(1_426_535_612).unwrap();
        let elsewhere = time.to_offset(UtcOffset::from_hms(5, 30, 0).unwrap());
        assert_eq!(write::<Ts<Secs>, _>(elsewhere).unwrap(), "1426535612");
        let back = read::<Ts<Secs>, OffsetDateTime>(b"1426535612").unwrap();
        assert_eq!((back, back.offset()), (elsewhere, UtcOffset::UTC));
        let date = Date::from_ordinal_date(2015, 75).unwrap();
        assert_eq!(write::<Text, _>(date).unwrap(), "20150316");
    }
}
