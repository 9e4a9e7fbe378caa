//! Values of every type as one type, for writing laws.

use std::borrow::Cow;
use std::time::SystemTime;

use chrono::{DateTime, Datelike as _, NaiveDate, Utc};
use jiff::{Timestamp, civil};
use keyderive::KeyField;
use proptest::prelude::*;
use proptest::string::string_regex;
use time::{OffsetDateTime, UtcDateTime};
use uuid::Uuid;

use super::instants::Instant;

/// A value of some type. Values of one type are of one variant, and in its order.
#[derive(Clone, Debug, PartialEq, PartialOrd)]
pub(super) enum Value {
    Signed(i128),
    Unsigned(u128),
    Bool(bool),
    Char(char),
    Text(String),
    Bytes(Vec<u8>),
    /// Nanoseconds since 1970.
    Time(i128),
    /// Days since 1970.
    Day(i32),
}

pub(super) type Values = BoxedStrategy<Value>;

/// An enum of codes.
#[derive(KeyField, Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    Created = 1,
    Changed = 2,
    Deleted = 300,
}

/// A type whose values are some of [`Value`]'s.
pub(super) trait Model<'v>: Sized {
    /// Values, some of which formats reject.
    fn values() -> Values;
    /// `None` if the type has no such value.
    fn of(value: &'v Value) -> Option<Self>;
    fn value(&self) -> Value;
    /// Candidates for the example in FORMAT.md: the first one that the format accepts.
    fn examples() -> Vec<Value>;
}

/// What a variant holds.
macro_rules! held {
    (Signed) => { i128 };
    (Unsigned) => { u128 };
    (Bool) => { bool };
    (Char) => { char };
    (Text) => { String };
    (Bytes) => { Vec<u8> };
    (Time) => { i128 };
    (Day) => { i32 };
}

/// Of each type: its variant, the values of the variant that are tried, a value as the type's, the type's as a value, and examples.
macro_rules! models {
    ($([$lifetime:lifetime] $type:ty: $variant:ident of $values:expr, $of:expr, $value:expr, $examples:expr;)*) => {$(
        impl<$lifetime> Model<$lifetime> for $type {
            fn values() -> Values {
                $values.prop_map(Value::$variant).boxed()
            }

            fn of(value: &$lifetime Value) -> Option<Self> {
                let of: fn(&$lifetime held!($variant)) -> Option<Self> = $of;
                match value {
                    Value::$variant(value) => of(value),
                    _ => None,
                }
            }

            fn value(&self) -> Value {
                let value: fn(&Self) -> held!($variant) = $value;
                Value::$variant(value(self))
            }

            fn examples() -> Vec<Value> {
                $examples.map(Value::$variant).to_vec()
            }
        }
    )*};
}

macro_rules! integers {
    ($variant:ident $wide:ident $examples:tt: $($type:ident)*) => {$(
        models! { ['v] $type: $variant of prop_oneof![
            2 => 0..5 as $type,
            2 => 0..=(9_999 as $wide).min($type::MAX as $wide) as $type,
            2 => any::<$type>(),
            1 => Just($type::MAX),
            1 => Just($type::MIN),
        ].prop_map($wide::from), |value| (*value).try_into().ok(), |value| (*value).into(), $examples; }
    )*};
}

integers!(Unsigned u128 [42]: u8 u16 u32 u64 u128);
integers!(Signed i128 [-42, 42]: i8 i16 i32 i64 i128);

fn kind(code: &u128) -> Option<Kind> {
    [Kind::Created, Kind::Changed, Kind::Deleted].into_iter().find(|kind| *kind as u128 == *code)
}

/// From small alphabets of the bytes that layouts treat specially, so that values repeat and some are rejected.
fn texts() -> BoxedStrategy<String> {
    let texts = prop_oneof![
        4 => string_regex("[ab$]{0,3}").unwrap(),
        2 => string_regex("[ab %#!]{0,4}").unwrap(),
        1 => string_regex("[\\x00\\x01\\x1f\u{7f}é\u{10ffff}]{0,4}").unwrap(),
        1 => Just("a".repeat(31)),
        1 => Just("a".repeat(4097)),
    ];
    texts.boxed()
}

fn blobs() -> BoxedStrategy<Vec<u8>> {
    let byte = || prop_oneof![Just(0), Just(1), Just(2), Just(0xff), any::<u8>()];
    prop_oneof![prop::collection::vec(byte(), 0..5), prop::collection::vec(byte(), 4)].boxed()
}

/// 2015-03-16T19:53:32Z.
const EXAMPLE: i128 = 1_426_535_612_000_000_000;

/// On and off the steps of every unit: near one another, near the limits of units and types, and far away.
fn times() -> BoxedStrategy<i128> {
    let step = || prop_oneof![Just(1_000_000_000_i128), Just(1_000_000), Just(1_000), Just(1)];
    let anchor = prop_oneof![
        4 => Just(EXAMPLE),
        2 => Just(0_i128),
        1 => Just(10_000_000_000_000_000_000),
        1 => Just(i64::MAX.into()),
        1 => Just(-62_135_596_800_000_000_000),
        1 => Just(253_402_300_800_000_000_000),
    ];
    let near = (anchor, step(), -3..3_i128).prop_map(|(anchor, step, steps)| anchor + step * steps);
    let since_1970 = (0..10_000_i128, step()).prop_map(|(count, step)| count * step);
    prop_oneof![2 => near, 2 => since_1970, 1 => any::<i64>().prop_map(i128::from)].boxed()
}

/// Around 2015, around the years 1 and 9999, and far away.
fn days() -> BoxedStrategy<i32> {
    let days = prop_oneof![
        4 => 16_505..16_515_i32,
        1 => -719_165..-719_160_i32,
        1 => 2_932_894..2_932_899_i32,
        1 => -1_000_000..4_000_000_i32,
    ];
    days.boxed()
}

fn uuids() -> BoxedStrategy<u128> {
    let uuids = prop_oneof![
        any::<u128>(),
        0..4_u128,
        (0..4_u128).prop_map(|back| u128::MAX - back),
        // Random ones, of version 4.
        any::<u128>().prop_map(|bits| bits & !(0xf << 76) & !(0b11 << 62) | 0x4 << 76 | 0b10 << 62),
    ];
    uuids.boxed()
}

models! {
    ['v] bool: Bool of any::<bool>(), |value| Some(*value), |value| *value, [true];
    ['v] char: Char of prop_oneof![any::<char>(), proptest::char::range('\0', '~')], |value| Some(*value), |value| *value, ['é'];
    ['v] Kind: Unsigned of prop_oneof![Just(1), Just(2), Just(300)], kind, |kind| *kind as u128, [2];

    ['v] String: Text of texts(), |text| Some(text.clone()), Self::clone, ["Köln".to_owned()];
    ['v] Cow<'v, str>: Text of texts(), |text| Some(text.into()), |text| text.to_string(), ["Köln".to_owned()];
    ['v] &'v str: Text of texts(), |text| Some(text), |text| (*text).to_owned(), ["Köln".to_owned()];

    ['v] Vec<u8>: Bytes of blobs(), |bytes| Some(bytes.clone()), Self::clone, [vec![0, 42, 128, 255]];
    ['v] Cow<'v, [u8]>: Bytes of blobs(), |bytes| Some(bytes.into()), |bytes| bytes.to_vec(), [vec![0, 42, 128, 255]];
    ['v] [u8; 4]: Bytes of blobs(), |bytes| bytes.as_slice().try_into().ok(), |bytes| bytes.to_vec(), [vec![0, 42, 128, 255]];

    ['v] SystemTime: Time of times(), |nanos| Instant::of(*nanos), |time| time.nanos(), [EXAMPLE, 42_000];
    ['v] DateTime<Utc>: Time of times(), |nanos| Instant::of(*nanos), |time| time.nanos(), [EXAMPLE, 42_000];
    ['v] Timestamp: Time of times(), |nanos| Instant::of(*nanos), |time| time.nanos(), [EXAMPLE, 42_000];
    ['v] OffsetDateTime: Time of times(), |nanos| Instant::of(*nanos), |time| time.nanos(), [EXAMPLE, 42_000];
    ['v] UtcDateTime: Time of times(), |nanos| Instant::of(*nanos), |time| time.nanos(), [EXAMPLE, 42_000];

    ['v] NaiveDate: Day of days(), |days| Self::from_num_days_from_ce_opt(days + 719_163),
        |date| date.num_days_from_ce() - 719_163, [16_510];
    ['v] civil::Date: Day of days(), |days| Self::constant(1970, 1, 1).checked_add(jiff::Span::new().try_days(*days).ok()?).ok(),
        |date| (*date - Self::constant(1970, 1, 1)).get_days(), [16_510];
    ['v] time::Date: Day of days(), |days| Self::from_julian_day(days + 2_440_588).ok(),
        |date| date.to_julian_day() - 2_440_588, [16_510];

    ['v] Uuid: Unsigned of uuids(), |bits| Some(Self::from_u128(*bits)), |uuid| uuid.as_u128(),
        [0x67e5_5044_10b1_426f_9247_bb68_0e5f_e0c8];
}

/// The text on the page: instants and days by the calendar, other values as in a program.
impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Signed(value) => write!(f, "{value}"),
            Self::Unsigned(value) if *value > u128::from(u64::MAX) => {
                write!(f, "{}", Uuid::from_u128(*value))
            }
            Self::Unsigned(value) => write!(f, "{value}"),
            Self::Bool(value) => write!(f, "{value}"),
            Self::Char(value) => write!(f, "{value}"),
            Self::Text(value) => write!(f, "{value}"),
            Self::Bytes(value) => write!(f, "{value:?}"),
            Self::Time(nanos) => match Timestamp::from_nanosecond(*nanos) {
                Ok(time) => write!(f, "{time}"),
                Err(_) => write!(f, "{nanos} ns"),
            },
            Self::Day(days) => match time::Date::from_julian_day(days + 2_440_588) {
                Ok(date) => write!(f, "{date}"),
                Err(_) => write!(f, "day {days}"),
            },
        }
    }
}
