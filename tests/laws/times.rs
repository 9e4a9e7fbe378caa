//! Times, dates and UUIDs in keys: the bytes, and what is refused.

use std::time::{Duration, UNIX_EPOCH};

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

#[test]
fn what_is_finer_or_not_random_is_refused() {
    let key = Visit { stored: visit().stored + Duration::from_millis(1), ..visit() };
    assert_eq!(
        key.encode().unwrap_err().to_string(),
        "field `stored` of `Visit`: 2015-03-16T19:53:32.001Z is finer than the seconds that are stored; \
         store a finer unit, such as `row_key(ts(unit = \"nanos\"))`, or round down with `ts(floor)`"
    );
    let error = Visit { id: uuid::Uuid::nil(), ..visit() }.encode().unwrap_err();
    assert_eq!(error.field_name(), Some("id"));
}

/// A bound that is finer than the unit is between two values: no row is exactly there.
#[test]
fn bounds_need_not_be_values() {
    let visit = visit();
    let finer = visit.begin + Duration::from_nanos(1);
    let scan = || Visit::scan().day(visit.day).id(visit.id);
    assert!(scan().begin_range(finer..=finer).into_plan().unwrap().is_empty());
    assert!(scan().begin_range(..UNIX_EPOCH).into_plan().unwrap().is_empty());
    assert!(!scan().begin_range(visit.begin..finer).into_plan().unwrap().is_empty());
}
