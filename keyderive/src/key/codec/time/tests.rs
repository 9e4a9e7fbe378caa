//! The bytes of each format, its order, its cuts and its refusals.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt::Debug;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use proptest::prelude::*;

use super::super::{DateTime17, Desc, Floor, Micros, Millis, Nanos, ReverseTs, Secs, Text, Ts};
use crate::key::{Cut, FieldOrder, KeyField, RangeField, Side, Width};

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
        (write::<Ts<Floor<Secs>>, _>(time), "1426535612"),
        (write::<DateTime17, _>(time), "20150316195332156"),
        (write::<DateTime17<Floor<Millis>>, _>(at(-1)), "19691231235959999"),
        (write::<ReverseTs<MAX>, _>(time), "9221945501242619807"),
        (write::<ReverseTs<MAX, Ts<Millis>>, _>(time), "9223370610319163651"),
        (write::<ReverseTs<9_999_999_999_999, Ts<Millis>>, _>(time), "8573464387843"),
        (write::<Desc, _>(time), "8573464387843999"),
        (write::<Desc<Ts<Millis>>, _>(time), "8573464387843"),
        (write::<Desc<DateTime17>, _>(time), "79849683804667843"),
        (write::<Ts<Nanos>, _>(UNIX_EPOCH), "0000000000000000000"),
        (write::<Ts<Nanos>, _>(at(9_999_999_999_999_999_999)), "9999999999999999999"),
    ] {
        assert_eq!(written.as_deref(), Ok(expected));
    }
}

#[test]
fn what_is_refused_says_why() {
    for (written, parts) in [
        (
            write::<Ts<Millis>, _>(at(1_426_535_612_156_000_001)),
            &["2015-03-16T19:53:32.156000001Z is finer than the milliseconds", "\"nanos\"", "ts(floor)"][..],
        ),
        (
            write::<Text, _>(at(-1_000)),
            &["1969-12-31T23:59:59.999999Z is too early", "16 digits of microseconds", "datetime17"],
        ),
        (
            write::<Ts<Secs>, _>(at(10_000_000_000_000_000_000)),
            &["2286-11-20T17:46:40Z is too late", "to 2286-11-20T17:46:39Z", "datetime17"],
        ),
        (
            write::<ReverseTs<9_999_999_999_999>, _>(at(1_426_535_612_156_000_000)),
            &["too late", "1970-04-26T17:46:39.999999Z", "greater `max`", "coarser unit"],
        ),
        (write::<DateTime17, _>(at(1_000)), &["1970-01-01T00:00:00.000001Z is finer", "ts(floor)"]),
        (
            write::<DateTime17, _>(at(-62_135_596_800_001_000_000)),
            &["0000-12-31T23:59:59.999Z is too early", "0001-01-01T00:00:00Z to 9999-12-31T23:59:59.999Z"],
        ),
        (write::<DateTime17, _>(at(253_402_300_800_000_000_000)), &["10000-01-01T00:00:00Z is too late"]),
    ] {
        let text = written.unwrap_err();
        for part in parts {
            assert!(text.contains(part), "{text:?} does not say {part:?}");
        }
    }
}

#[test]
fn only_what_is_written_is_read() {
    for text in [
        "20150229000000000",
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

/// Where an encoding is, seen from a cut.
fn from_cut(bytes: &[u8], cut: &Cut) -> Ordering {
    match cut {
        Cut::First => Ordering::Greater,
        Cut::Last => Ordering::Less,
        Cut::Before(cut) if bytes < cut.as_slice() => Ordering::Less,
        Cut::Before(_) => Ordering::Greater,
        _ => panic!("a fixed width needs no other cut"),
    }
}

/// Round trip, order and exact cuts over pairs of values of which the codec cannot hold all.
fn laws<C, T>(values: impl Strategy<Value = T> + Clone)
where
    T: for<'a> RangeField<C, Arg<'a> = T, Decoded<'a> = T> + Copy + Ord + Debug,
{
    let reversed = T::ORDER.is_reversed();
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(512) };
    let pairs = (values.clone(), values);
    proptest::test_runner::TestRunner::new(config)
        .run(&pairs, |(value, other)| {
            let Ok(bytes) = write::<C, T>(value) else {
                return Ok(());
            };
            // What `floor` has rounded is another value.
            let stored = read::<C, T>(bytes.as_bytes()).unwrap();
            prop_assert_eq!(Width::Fixed(bytes.len()), T::WIDTH);
            prop_assert_eq!(write::<C, T>(stored).unwrap(), bytes.clone());
            if let Ok(other_bytes) = write::<C, T>(other) {
                let other = read::<C, T>(other_bytes.as_bytes()).unwrap();
                let order = stored.cmp(&other);
                prop_assert_eq!(bytes.cmp(&other_bytes), if reversed { order.reverse() } else { order });
            }
            for side in [Side::Before, Side::After] {
                let behind = match side {
                    Side::Before => stored >= other,
                    Side::After => stored > other,
                };
                let cut = T::cut(other, side);
                let greater = from_cut(bytes.as_bytes(), &cut).is_gt();
                // In front of a cut in reversed bytes is behind it in values.
                let greater = if reversed { !greater } else { greater };
                prop_assert_eq!(greater, behind, "{:?} {:?} {:?}", cut, stored, other);
            }
            Ok(())
        })
        .unwrap();
}

/// Times near each other, on and off every unit, at the ends of the formats, and far from all of them.
fn nanos() -> impl Strategy<Value = i128> + Clone {
    let anchor = prop_oneof![
        4 => Just(1_426_535_612_000_000_000),
        1 => Just(0_i128),
        1 => Just(10_000_000_000_000_000_000),
        1 => Just(-62_135_596_800_000_000_000),
        1 => Just(253_402_300_800_000_000_000),
    ];
    let step = prop_oneof![
        Just(1_i128),
        Just(1_000),
        Just(1_000_000),
        Just(1_000_000_000),
        Just(86_400_000_000_000)
    ];
    let near = (anchor, step, -3..3_i128).prop_map(|(anchor, step, steps)| anchor + step * steps);
    prop_oneof![4 => near, 1 => 0..9_999_999_999_i128, 1 => (0..9_999_999_999_i128).prop_map(|s| s * 1_000_000_000)]
}

/// The laws of a type in every format of times.
fn time_laws<T>(from: impl Fn(i128) -> Option<T> + Clone)
where
    T: Copy + Ord + Debug,
    T: for<'a> RangeField<Text, Arg<'a> = T, Decoded<'a> = T>,
    T: for<'a> RangeField<Ts<Secs>, Arg<'a> = T, Decoded<'a> = T>,
    T: for<'a> RangeField<Ts<Millis>, Arg<'a> = T, Decoded<'a> = T>,
    T: for<'a> RangeField<Ts<Nanos>, Arg<'a> = T, Decoded<'a> = T>,
    T: for<'a> RangeField<Ts<Floor<Millis>>, Arg<'a> = T, Decoded<'a> = T>,
    T: for<'a> RangeField<DateTime17, Arg<'a> = T, Decoded<'a> = T>,
    T: for<'a> RangeField<DateTime17<Floor<Millis>>, Arg<'a> = T, Decoded<'a> = T>,
    T: for<'a> RangeField<ReverseTs<MAX>, Arg<'a> = T, Decoded<'a> = T>,
    T: for<'a> RangeField<ReverseTs<1_500_000_000, Ts<Floor<Secs>>>, Arg<'a> = T, Decoded<'a> = T>,
    T: for<'a> RangeField<Desc<Ts<Millis>>, Arg<'a> = T, Decoded<'a> = T>,
    T: for<'a> RangeField<Desc<DateTime17<Floor<Millis>>>, Arg<'a> = T, Decoded<'a> = T>,
{
    let values = || nanos().prop_filter_map("out of the type's range", from.clone());
    laws::<Text, T>(values());
    laws::<Ts<Secs>, T>(values());
    laws::<Ts<Millis>, T>(values());
    laws::<Ts<Nanos>, T>(values());
    laws::<Ts<Floor<Millis>>, T>(values());
    laws::<DateTime17, T>(values());
    laws::<DateTime17<Floor<Millis>>, T>(values());
    laws::<ReverseTs<MAX>, T>(values());
    laws::<ReverseTs<1_500_000_000, Ts<Floor<Secs>>>, T>(values());
    laws::<Desc<Ts<Millis>>, T>(values());
    laws::<Desc<DateTime17<Floor<Millis>>>, T>(values());
}

#[test]
fn system_times_keep_the_laws() {
    time_laws(|nanos| Some(at(nanos)));
}

#[test]
fn orders_are_declared() {
    assert_eq!(<SystemTime as KeyField<Ts<Millis>>>::ORDER, FieldOrder::Ascending);
    assert_eq!(<SystemTime as KeyField<Desc>>::ORDER, FieldOrder::Descending);
    assert_eq!(<SystemTime as KeyField<ReverseTs<10>>>::ORDER, FieldOrder::ReversedFrom { max: 10 });
}

/// No time lies between two neighbours, so the cuts between them are one.
#[test]
fn empty_ranges_are_seen_to_be_empty() {
    let cut = |nanos, side| <SystemTime as RangeField<Ts<Millis>>>::cut(at(nanos), side);
    assert_eq!(cut(1_000_000, Side::After), cut(2_000_000, Side::Before));
    assert_eq!(cut(1_000_001, Side::Before), cut(1_999_999, Side::After));
    assert_eq!(cut(-1, Side::After), Cut::Before(b"0000000000000".to_vec()));
    assert_eq!(cut(-1, Side::Before), Cut::Before(b"0000000000000".to_vec()));
    assert_eq!(cut(-1_000_001, Side::Before), Cut::First);
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
    fn keep_the_laws() {
        time_laws(from);
        let days =
            prop_oneof![-719_170..-719_155_i32, 16_500..16_510, 2_932_890..2_932_900, -1_000_000..4_000_000];
        let dates = days.prop_map(|days| NaiveDate::from_num_days_from_ce_opt(days + 719_163).unwrap());
        laws::<Text, NaiveDate>(dates.clone());
        laws::<Desc, NaiveDate>(dates);
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

    /// Unix time has no number for a leap second; a bound inside one is behind the second before it.
    #[test]
    fn leap_seconds() {
        let day = NaiveDate::from_ymd_opt(2016, 12, 31).unwrap();
        let in_leap = NaiveTime::from_hms_milli_opt(23, 59, 59, 1_500).unwrap();
        let time = day.and_time(in_leap).and_utc();
        let error = write::<Ts<Floor<Secs>>, _>(time).unwrap_err();
        assert!(error.contains("the leap second behind 2016-12-31T23:59:59.999999999Z"), "{error}");
        for side in [Side::Before, Side::After] {
            let cut = <DateTime<Utc> as RangeField<Ts<Secs>>>::cut(time, side);
            assert_eq!(cut, Cut::Before(b"1483228800".to_vec()));
        }
    }
}

#[cfg(feature = "jiff")]
mod jiff_types {
    use jiff::Timestamp;
    use jiff::civil::Date;

    use super::*;

    #[test]
    fn keep_the_laws() {
        time_laws(|nanos| Timestamp::from_nanosecond(nanos).ok());
        let years = prop_oneof![-2..3_i16, 2014..2016_i16, 9_998..=9_999_i16];
        let dates =
            (years, 1..=12_i8, 1..=28_i8).prop_map(|(year, month, day)| Date::new(year, month, day).unwrap());
        laws::<Text, Date>(dates.clone());
        laws::<Desc, Date>(dates);
    }

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
    use time::{Date, OffsetDateTime, UtcDateTime, UtcOffset};

    use super::*;

    #[test]
    fn keep_the_laws() {
        time_laws(|nanos| OffsetDateTime::from_unix_timestamp_nanos(nanos).ok());
        time_laws(|nanos| UtcDateTime::from_unix_timestamp_nanos(nanos).ok());
        let days = prop_oneof![-719_170..-719_155_i32, 16_500..16_510, 2_932_890..2_932_897];
        let dates =
            days.prop_filter_map("the type's range", |days| Date::from_julian_day(days + 2_440_588).ok());
        laws::<Text, Date>(dates.clone());
        laws::<Desc, Date>(dates);
    }

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
