//! Types of the user's own as fields: newtypes, and enums by their codes.

use keyderive::key::{FieldOrder, Format, Width};
use keyderive::plan::{KeyRange, Plan, RequestRows};
use keyderive::{KeyField, RowKey};
use proptest::prelude::*;

use crate::keys::{Sample, check, text};

#[derive(KeyField, Clone, Debug, PartialEq)]
pub(crate) struct UserId(String);

#[derive(KeyField, Clone, Debug, PartialEq)]
pub(crate) struct Millis(u64);

/// A newtype of a newtype.
#[derive(KeyField, Clone, Debug, PartialEq)]
pub(crate) struct Deadline(pub(crate) Millis);

/// Declared out of the order of its codes.
#[derive(KeyField, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Deleted = 20,
    Created = 0,
    Changed = 0x09,
}

#[derive(KeyField, Clone, Copy, Debug, PartialEq)]
#[repr(u64)]
enum Wide {
    Least = 0,
    Greatest = 18_446_744_073_709_551_615,
}

#[derive(RowKey, Clone, Debug, PartialEq)]
#[salt(range = 4, over = "user_id")]
pub(crate) struct Task {
    pub(crate) user_id: UserId,
    pub(crate) kind: Kind,
    #[reverse_ts]
    pub(crate) at: Deadline,
    #[pad(4)]
    pub(crate) place: UserId,
}

fn kind() -> BoxedStrategy<Kind> {
    prop_oneof![Just(Kind::Created), Just(Kind::Changed), Just(Kind::Deleted)].boxed()
}

impl Sample for Task {
    fn key() -> BoxedStrategy<Self> {
        let at = prop_oneof![0..5_u64, 0..=i64::MAX.unsigned_abs()];
        (text(), kind(), at, "[ab]{0,4}").prop_map(task).boxed()
    }

    fn nasty() -> BoxedStrategy<Self> {
        (crate::keys::nasty_text(), kind(), any::<u64>(), "[ab #]{0,6}").prop_map(task).boxed()
    }
}

fn task((user_id, kind, at, place): (String, Kind, u64, String)) -> Task {
    Task { user_id: UserId(user_id), kind, at: Deadline(Millis(at)), place: UserId(place) }
}

#[test]
fn exact_bytes() {
    let key = task(("alice".into(), Kind::Changed, 1_426_535_612_156, "home".into()));
    let bytes = key.encode().unwrap();
    assert_eq!(&bytes[1..], b"#alice#09#9223370610319163651#home");
    assert_eq!(Task::decode(&bytes).unwrap(), key);

    let [user_id, kind, at, place] = Task::SCHEMA.fields() else { panic!() };
    assert_eq!((user_id.format(), user_id.width()), (Format::Utf8, Width::Delimited));
    assert_eq!((kind.format(), kind.width()), (Format::Decimal, Width::Fixed(2)));
    assert_eq!(at.order(), FieldOrder::ReversedFrom { max: i64::MAX.unsigned_abs() });
    assert_eq!((place.format(), place.width()), (Format::PaddedUtf8, Width::Fixed(4)));
}

#[test]
fn the_greatest_code_of_all() {
    #[derive(RowKey, Clone, Debug, PartialEq)]
    struct WideKey {
        wide: Wide,
    }
    let encoded = |wide| WideKey { wide }.encode().unwrap();
    assert_eq!(encoded(Wide::Greatest), b"18446744073709551615");
    assert_eq!(encoded(Wide::Least), b"00000000000000000000");
    assert_eq!(WideKey::decode(&encoded(Wide::Greatest)).unwrap().wide, Wide::Greatest);
    // Nothing is behind it.
    let behind = (std::ops::Bound::Excluded(Wide::Greatest), std::ops::Bound::Unbounded);
    assert!(WideKey::scan().wide_range(behind).into_plan().unwrap().is_empty());
}

#[test]
fn decode_reverses_encode() {
    check(Task::key(), |key| {
        let bytes = key.encode().unwrap();
        prop_assert_eq!(Task::decode(&bytes).unwrap(), key);
        Ok(())
    });
}

#[test]
fn codes_that_no_variant_has() {
    for (code, shown) in [("01", "`01`"), ("0x", "`0x`"), ("99", "`99`")] {
        let key = format!("0#a#{code}#9223372036854775807#home");
        let error = Task::decode(key.as_bytes()).unwrap_err();
        assert_eq!(error.field_name(), Some("kind"));
        let text = error.to_string();
        for part in [shown, "not the code of a `Kind`", "00 `Created`, 09 `Changed`, 20 `Deleted`"] {
            assert!(text.contains(part), "{text:?} does not say {part:?}");
        }
    }
}

#[test]
fn many_codes_are_counted() {
    #[derive(KeyField, Clone, Copy, Debug)]
    #[rustfmt::skip]
    enum Month { A = 1, B = 2, C = 3, D = 4, E = 5, F = 6, G = 7, H = 8, I = 9, J = 10 }
    #[derive(RowKey, Debug)]
    struct MonthKey {
        month: Month,
    }
    let months =
        [Month::A, Month::B, Month::C, Month::D, Month::E, Month::F, Month::G, Month::H, Month::I, Month::J];
    for month in months {
        let bytes = MonthKey { month }.encode().unwrap();
        assert_eq!(MonthKey::decode(&bytes).unwrap().encode().unwrap(), bytes);
    }
    let error = MonthKey::decode(b"11").unwrap_err();
    assert!(error.to_string().ends_with("it has 10 codes of 2 digits"), "{error}");
}

/// The declared order of an enum is that of its codes.
#[test]
fn bytes_are_in_the_order_of_codes() {
    check((Task::key(), Task::key()), |(a, b)| {
        let rank = |key: &Task| {
            let at = std::cmp::Reverse(key.at.0.0);
            (key.user_id.0.clone(), key.kind as u8, at, key.place.0.clone())
        };
        let (x, y) = (a.encode().unwrap(), b.encode().unwrap());
        prop_assert_eq!(x[1..].cmp(&y[1..]), rank(&a).cmp(&rank(&b)));
        Ok(())
    });
}

fn only_range<K>(plan: &Plan<K>) -> KeyRange {
    let [request] = &plan.requests()[..] else { panic!("{plan:?} is not one request") };
    match request.rows() {
        RequestRows::Range(range) => range.clone(),
        rows => panic!("{rows:?} is not a range"),
    }
}

#[test]
fn ranges_are_by_code() {
    #[derive(RowKey)]
    struct KindKey {
        kind: Kind,
        user_id: UserId,
    }
    let plan = KindKey::scan().kind_range(Kind::Created..Kind::Deleted).into_plan().unwrap();
    assert_eq!(only_range(&plan), KeyRange::new("00", Some("20".into())));
    let plan = KindKey::scan().kind_range(Kind::Created..=Kind::Changed).into_plan().unwrap();
    assert_eq!(only_range(&plan), KeyRange::new("00", Some("10".into())));
    assert!(KindKey::scan().kind_range(Kind::Deleted..Kind::Created).into_plan().unwrap().is_empty());

    let explained = KindKey::scan().kind(Kind::Created).user_id_prefix("al").explain().unwrap().to_string();
    assert!(explained.contains("kind = Created, user_id begins with \"al\""), "{explained}");
}

/// Scans of a newtype are those of its inner type.
#[test]
fn newtypes_scan_as_what_they_hold() {
    #[derive(RowKey)]
    struct Plain {
        user_id: String,
        #[reverse_ts]
        at: u64,
    }
    #[derive(RowKey)]
    struct Own {
        user_id: UserId,
        #[reverse_ts]
        at: Deadline,
    }
    let plain = Plain::scan().user_id("alice").at_range(5..=9).into_plan().unwrap();
    let own = Own::scan().user_id("alice").at_range(5..=9).into_plan().unwrap();
    assert_eq!(plain.requests(), own.requests());
    let plain = Plain::scan().user_id_prefix("al").into_plan().unwrap();
    let own = Own::scan().user_id_prefix("al").into_plan().unwrap();
    assert_eq!(plain.requests(), own.requests());
    let plain = Plain::scan().user_id_range("a".."b").into_plan().unwrap();
    let own = Own::scan().user_id_range("a".."b").into_plan().unwrap();
    assert_eq!(plain.requests(), own.requests());
}
