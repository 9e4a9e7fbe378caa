//! Values of every type as one type, for writing laws.

use std::borrow::Cow;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use chrono::{DateTime, Datelike as _, NaiveDate, Utc};
use jiff::{Timestamp, civil};
use keyderive::KeyField;
use proptest::prelude::*;
use proptest::string::string_regex;
use time::{OffsetDateTime, UtcDateTime};
use uuid::Uuid;

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

macro_rules! integers {
    ($variant:ident $wide:ident $examples:tt: $($type:ident)*) => {$(
        impl Model<'_> for $type {
            fn values() -> Values {
                let any = prop_oneof![
                    2 => 0..5 as $type,
                    2 => 0..=(9_999 as $wide).min($type::MAX as $wide) as $type,
                    2 => any::<$type>(),
                    1 => Just($type::MAX),
                    1 => Just($type::MIN),
                ];
                any.prop_map(|value| Value::$variant(value.into())).boxed()
            }

            fn of(value: &Value) -> Option<Self> {
                match value {
                    Value::$variant(value) => (*value).try_into().ok(),
                    _ => None,
                }
            }

            fn value(&self) -> Value {
                Value::$variant((*self).into())
            }

            fn examples() -> Vec<Value> {
                $examples.map(Value::$variant).to_vec()
            }
        }
    )*};
}

integers!(Unsigned u128 [42]: u8 u16 u32 u64 u128);
integers!(Signed i128 [-42, 42]: i8 i16 i32 i64 i128);

impl Model<'_> for bool {
    fn values() -> Values {
        any::<bool>().prop_map(Value::Bool).boxed()
    }

    fn of(value: &Value) -> Option<Self> {
        match value {
            Value::Bool(value) => Some(*value),
            _ => None,
        }
    }

    fn value(&self) -> Value {
        Value::Bool(*self)
    }

    fn examples() -> Vec<Value> {
        vec![Value::Bool(true)]
    }
}

impl Model<'_> for char {
    fn values() -> Values {
        prop_oneof![any::<char>(), proptest::char::range('\0', '~')].prop_map(Value::Char).boxed()
    }

    fn of(value: &Value) -> Option<Self> {
        match value {
            Value::Char(value) => Some(*value),
            _ => None,
        }
    }

    fn value(&self) -> Value {
        Value::Char(*self)
    }

    fn examples() -> Vec<Value> {
        vec![Value::Char('é')]
    }
}

impl Model<'_> for Kind {
    fn values() -> Values {
        prop_oneof![Just(1), Just(2), Just(300)].prop_map(Value::Unsigned).boxed()
    }

    fn of(value: &Value) -> Option<Self> {
        match value {
            Value::Unsigned(1) => Some(Self::Created),
            Value::Unsigned(2) => Some(Self::Changed),
            Value::Unsigned(300) => Some(Self::Deleted),
            _ => None,
        }
    }

    fn value(&self) -> Value {
        Value::Unsigned(*self as u128)
    }

    fn examples() -> Vec<Value> {
        vec![Value::Unsigned(2)]
    }
}

/// From small alphabets of the bytes that layouts treat specially, so that values repeat and some are rejected.
fn texts() -> Values {
    let texts = prop_oneof![
        4 => string_regex("[ab$]{0,3}").unwrap(),
        2 => string_regex("[ab %#!]{0,4}").unwrap(),
        1 => string_regex("[\\x00\\x01\\x1f\u{7f}é\u{10ffff}]{0,4}").unwrap(),
        1 => Just("a".repeat(31)),
        1 => Just("a".repeat(4097)),
    ];
    texts.prop_map(Value::Text).boxed()
}

macro_rules! texts {
    ($([$lifetime:lifetime] $type:ty, $of:expr;)*) => {$(
        impl<$lifetime> Model<$lifetime> for $type {
            fn values() -> Values {
                texts()
            }

            fn of(value: &$lifetime Value) -> Option<Self> {
                match value {
                    Value::Text(value) => Some($of(value.as_str())),
                    _ => None,
                }
            }

            fn value(&self) -> Value {
                Value::Text(self.to_string())
            }

            fn examples() -> Vec<Value> {
                vec![Value::Text("Köln".to_owned())]
            }
        }
    )*};
}

texts! {
    ['v] String, str::to_owned;
    ['v] Cow<'v, str>, Cow::Borrowed;
    ['v] &'v str, std::convert::identity;
}

fn blobs() -> Values {
    let byte = || prop_oneof![Just(0), Just(1), Just(2), Just(0xff), any::<u8>()];
    prop_oneof![prop::collection::vec(byte(), 0..5), prop::collection::vec(byte(), 4)]
        .prop_map(Value::Bytes)
        .boxed()
}

macro_rules! blobs {
    ($([$lifetime:lifetime] $type:ty, $of:expr;)*) => {$(
        impl<$lifetime> Model<$lifetime> for $type {
            fn values() -> Values {
                blobs()
            }

            fn of(value: &$lifetime Value) -> Option<Self> {
                match value {
                    Value::Bytes(value) => $of(value.as_slice()),
                    _ => None,
                }
            }

            fn value(&self) -> Value {
                Value::Bytes(self.to_vec())
            }

            fn examples() -> Vec<Value> {
                vec![Value::Bytes(vec![0, 42, 128, 255])]
            }
        }
    )*};
}

blobs! {
    ['v] Vec<u8>, |value: &'v [u8]| Some(value.to_vec());
    ['v] Cow<'v, [u8]>, |value| Some(Cow::Borrowed(value));
    ['v] [u8; 4], |value: &'v [u8]| value.try_into().ok();
}

/// 2015-03-16T19:53:32Z.
const EXAMPLE: i128 = 1_426_535_612_000_000_000;

/// On and off the steps of every unit: near one another, near the limits of units and types, and far away.
fn times() -> Values {
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
    prop_oneof![2 => near, 2 => since_1970, 1 => any::<i64>().prop_map(i128::from)]
        .prop_map(Value::Time)
        .boxed()
}

macro_rules! times {
    ($($type:ty: |$nanos:ident| $of:expr, |$time:ident| $value:expr;)*) => {$(
        impl Model<'_> for $type {
            fn values() -> Values {
                times()
            }

            fn of(value: &Value) -> Option<Self> {
                match *value {
                    Value::Time($nanos) => $of,
                    _ => None,
                }
            }

            fn value(&self) -> Value {
                let $time = self;
                Value::Time($value)
            }

            fn examples() -> Vec<Value> {
                vec![Value::Time(EXAMPLE), Value::Time(42_000)]
            }
        }
    )*};
}

times! {
    SystemTime: |nanos| {
        let distance = Duration::from_nanos_u128(nanos.unsigned_abs());
        if nanos < 0 { UNIX_EPOCH.checked_sub(distance) } else { UNIX_EPOCH.checked_add(distance) }
    }, |time| match time.duration_since(UNIX_EPOCH) {
        Ok(since) => since.as_nanos() as i128,
        Err(before) => -(before.duration().as_nanos() as i128),
    };
    DateTime<Utc>: |nanos| {
        let seconds = i64::try_from(nanos.div_euclid(1_000_000_000)).ok()?;
        DateTime::from_timestamp(seconds, nanos.rem_euclid(1_000_000_000) as u32)
    }, |time| i128::from(time.timestamp()) * 1_000_000_000 + i128::from(time.timestamp_subsec_nanos());
    Timestamp: |nanos| Timestamp::from_nanosecond(nanos).ok(), |time| time.as_nanosecond();
    OffsetDateTime: |nanos| OffsetDateTime::from_unix_timestamp_nanos(nanos).ok(), |time| time.unix_timestamp_nanos();
    UtcDateTime: |nanos| UtcDateTime::from_unix_timestamp_nanos(nanos).ok(), |time| time.unix_timestamp_nanos();
}

/// Around 2015, around the years 1 and 9999, and far away.
fn days() -> Values {
    let days = prop_oneof![
        4 => 16_505..16_515_i32,
        1 => -719_165..-719_160_i32,
        1 => 2_932_894..2_932_899_i32,
        1 => -1_000_000..4_000_000_i32,
    ];
    days.prop_map(Value::Day).boxed()
}

macro_rules! days {
    ($($type:ty: |$days:ident| $of:expr, |$date:ident| $value:expr;)*) => {$(
        impl Model<'_> for $type {
            fn values() -> Values {
                days()
            }

            fn of(value: &Value) -> Option<Self> {
                match *value {
                    Value::Day($days) => $of,
                    _ => None,
                }
            }

            fn value(&self) -> Value {
                let $date = self;
                Value::Day($value)
            }

            fn examples() -> Vec<Value> {
                vec![Value::Day(16_510)]
            }
        }
    )*};
}

days! {
    NaiveDate: |days| NaiveDate::from_num_days_from_ce_opt(days + 719_163),
        |date| date.num_days_from_ce() - 719_163;
    civil::Date: |days| civil::Date::constant(1970, 1, 1).checked_add(jiff::Span::new().try_days(days).ok()?).ok(),
        |date| (*date - civil::Date::constant(1970, 1, 1)).get_days();
    time::Date: |days| time::Date::from_julian_day(days + 2_440_588).ok(), |date| date.to_julian_day() - 2_440_588;
}

impl Model<'_> for Uuid {
    fn values() -> Values {
        let uuids = prop_oneof![
            any::<u128>(),
            0..4_u128,
            (0..4_u128).prop_map(|back| u128::MAX - back),
            // Random ones, of version 4.
            any::<u128>().prop_map(|bits| bits & !(0xf << 76) & !(0b11 << 62) | 0x4 << 76 | 0b10 << 62),
        ];
        uuids.prop_map(Value::Unsigned).boxed()
    }

    fn of(value: &Value) -> Option<Self> {
        match value {
            Value::Unsigned(bits) => Some(Self::from_u128(*bits)),
            _ => None,
        }
    }

    fn value(&self) -> Value {
        Value::Unsigned(self.as_u128())
    }

    fn examples() -> Vec<Value> {
        vec![Value::Unsigned(0x67e5_5044_10b1_426f_9247_bb68_0e5f_e0c8)]
    }
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
