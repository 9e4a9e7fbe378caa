//! Times, dates and UUIDs in keys: their bytes, and the rejected values.

use std::ops::Bound;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use keyderive::RowKey;
use keyderive::key::{Field, Format, TimeUnit};

use crate::keys::Visit;

fn visit() -> Visit {
    let begin = Duration::from_millis(1_426_535_612_156);
    Visit {
        day: chrono::NaiveDate::from_ymd_opt(2015, 3, 16).unwrap(),
        id: uuid::Uuid::from_u128(0x67e5_5044_10b1_426f_9247_bb68_0e5f_e0c8),
        begin: UNIX_EPOCH + begin,
        end: jiff::Timestamp::from_millisecond(1_426_535_612_156).unwrap(),
        stored: time::OffsetDateTime::from_unix_timestamp(1_426_535_612).unwrap(),
    }
}

#[test]
fn a_key_of_times() {
    let bytes = visit().encode().unwrap();
    let fields = "20150316#67e5504410b1426f9247bb680e5fe0c8#9223370610319163651#20150316195332156#1426535612";
    assert_eq!(String::from_utf8(bytes[2..].to_vec()).unwrap(), fields);
    let formats: Vec<_> = Visit::SCHEMA.fields().iter().map(Field::format).collect();
    let [millis, secs] = [TimeUnit::Millis, TimeUnit::Secs].map(Format::UnixTime);
    assert_eq!(formats, [Format::Date, Format::UuidSimple, millis, Format::DateTime17, secs]);
}

/// A clock reads times that are finer than every unit but nanoseconds.
#[test]
fn the_present_time_is_a_key() {
    #[derive(RowKey, Debug, PartialEq)]
    struct Present {
        user_id: u64,
        std: SystemTime,
        chrono: chrono::DateTime<chrono::Utc>,
        #[row_key(ts(unit = "millis"))]
        jiff: jiff::Timestamp,
        #[row_key(ts(unit = "secs"))]
        time: time::OffsetDateTime,
        #[row_key(desc, ts(format = "datetime17"))]
        sent: SystemTime,
    }

    let nanos = 1_426_535_612_156_987_654_i64;
    let std = UNIX_EPOCH + Duration::from_nanos(nanos.cast_unsigned());
    let present = Present {
        user_id: 7,
        std,
        chrono: chrono::DateTime::from_timestamp_nanos(nanos),
        jiff: jiff::Timestamp::from_nanosecond(nanos.into()).unwrap(),
        time: time::OffsetDateTime::from_unix_timestamp_nanos(nanos.into()).unwrap(),
        sent: std,
    };
    let bytes = present.encode().unwrap();
    assert_eq!(
        String::from_utf8(bytes.clone()).unwrap(),
        "00000000000000000007#1426535612156987#1426535612156987#1426535612156#1426535612#79849683804667843"
    );
    let micros = nanos / 1000 * 1000;
    let stored = Present {
        user_id: 7,
        std: UNIX_EPOCH + Duration::from_nanos(micros.cast_unsigned()),
        chrono: chrono::DateTime::from_timestamp_nanos(micros),
        jiff: jiff::Timestamp::from_millisecond(1_426_535_612_156).unwrap(),
        time: time::OffsetDateTime::from_unix_timestamp(1_426_535_612).unwrap(),
        sent: UNIX_EPOCH + Duration::from_millis(1_426_535_612_156),
    };
    assert_eq!(Present::decode(&bytes).unwrap(), stored);
    assert_eq!(stored.encode().unwrap(), bytes);
    // The original time finds the row, although it was rounded down.
    let plan = Present::scan().user_id(7).std(std).into_plan().unwrap();
    assert!(plan.requests()[0].asks_for(&bytes));
    // `exact` decides which values are accepted, and changes no stored byte.
    assert_eq!(Rounded::SCHEMA.fingerprint(), Exact::SCHEMA.fingerprint());
}

#[derive(RowKey)]
struct Rounded {
    user_id: u64,
    #[row_key(ts(unit = "secs"))]
    at: SystemTime,
}

#[derive(RowKey)]
struct Exact {
    user_id: u64,
    #[row_key(ts(unit = "secs", exact))]
    at: SystemTime,
}

#[test]
fn what_is_finer_or_not_random_is_refused() {
    let key = Exact { user_id: 7, at: UNIX_EPOCH + Duration::from_millis(1_001) };
    assert_eq!(
        key.encode().unwrap_err().to_string(),
        "field `at` of `Exact`: 1970-01-01T00:00:01.001Z is finer than the seconds that the field stores; \
         store a finer unit, such as `row_key(ts(unit = \"nanos\"))`, or leave out `exact` to round down"
    );
    assert_eq!(
        Exact::scan().user_id(7).at(key.at).into_plan().unwrap_err().to_string(),
        format!("the scan cannot be planned: {}", key.encode().unwrap_err())
    );
    let error = Visit { id: uuid::Uuid::nil(), ..visit() }.encode().unwrap_err();
    assert_eq!(error.field_name(), Some("id"));
}

/// A bound that is finer than the unit lies between two values: no row is exactly there.
#[test]
fn bounds_need_not_be_values() {
    let visit = visit();
    let finer = visit.begin + Duration::from_nanos(1);
    let scan = || Visit::scan().day(visit.day).id(visit.id);
    assert!(scan().begin_range(finer..=finer).into_plan().unwrap().is_empty());
    assert!(scan().begin_range(..UNIX_EPOCH).into_plan().unwrap().is_empty());
    assert!(!scan().begin_range(visit.begin..finer).into_plan().unwrap().is_empty());
}

/// Stored times compare with the exact bounds of a range, also if these are finer than the unit.
#[test]
fn bounds_are_not_rounded() {
    let at = |nanos: u64| UNIX_EPOCH + Duration::from_nanos(nanos);
    let written = at(5_000_000_999);
    let bytes = Rounded { user_id: 7, at: written }.encode().unwrap();
    let asks = |range: (Bound<SystemTime>, Bound<SystemTime>)| {
        let plan = Rounded::scan().user_id(7).at_range(range).into_plan().unwrap();
        plan.requests().iter().any(|request| request.asks_for(&bytes))
    };
    use std::ops::Bound::{Excluded, Included, Unbounded};
    let (stored, finer) = (at(5_000_000_000), at(5_000_000_001));
    for (range, expected) in [
        ((Included(stored), Unbounded), true),
        ((Excluded(stored), Unbounded), false),
        ((Included(finer), Unbounded), false),
        ((Excluded(finer), Unbounded), false),
        // Not even from the original time.
        ((Included(written), Unbounded), false),
        ((Unbounded, Included(stored)), true),
        ((Unbounded, Excluded(stored)), false),
        ((Unbounded, Included(finer)), true),
        ((Unbounded, Excluded(finer)), true),
        ((Included(stored), Excluded(finer)), true),
        ((Included(finer), Included(written)), false),
    ] {
        assert_eq!(asks(range), expected, "{range:?}");
    }
}
