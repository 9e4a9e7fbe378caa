//! The values of SQL.

use std::time::SystemTime;

use bytes::Bytes;
use keyderive_proto::data::value::Kind;
use keyderive_proto::data::{ArrayValue, Value};
use keyderive_proto::values;

use super::SqlType;
use crate::key::codec::UnixTime as _;

/// A value of a column or a parameter.
///
/// ```
/// use keyderive::query::SqlValue;
///
/// let tags = SqlValue::Array(vec![SqlValue::Text("new".to_owned()), SqlValue::Null]);
/// assert_ne!(tags, SqlValue::Null);
/// ```
///
/// The [`SqlType`] of its column says more than the value: NULL has every type, and a field of a struct has its name there.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum SqlValue {
    /// `NULL`.
    Null,
    /// `BYTES`, or the encoding of a protobuf message.
    Bytes(Bytes),
    /// `STRING`.
    Text(String),
    /// `INT64`, or the number of a protobuf enum.
    Int64(i64),
    /// `FLOAT32`.
    Float32(f32),
    /// `FLOAT64`.
    Float64(f64),
    /// `BOOL`.
    Bool(bool),
    /// `TIMESTAMP`.
    Timestamp(SqlTimestamp),
    /// `DATE`.
    Date(SqlDate),
    /// `ARRAY`: its elements.
    Array(Vec<SqlValue>),
    /// `STRUCT`: the values of its fields, in their order.
    Struct(Vec<SqlValue>),
    /// `MAP`: its entries, in the server's order. A key comes once, with the last value that the server sent for it.
    Map(Vec<(SqlValue, SqlValue)>),
}

/// A point in time: the time since 1970, in seconds and nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SqlTimestamp {
    /// Seconds since 1970, rounded down.
    pub seconds: i64,
    /// Nanoseconds beyond these, up to 999,999,999.
    pub nanos: u32,
}

/// A day of the Gregorian calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SqlDate {
    /// From 1 to 9999.
    pub year: i32,
    /// From 1 to 12.
    pub month: u32,
    /// From 1 to 31.
    pub day: u32,
}

impl SqlValue {
    /// The value of this type that a message states: no array, struct or map.
    ///
    /// # Errors
    /// How the two differ.
    pub(crate) fn of_kind(kind: Kind, of: &SqlType) -> Result<Self, String> {
        Ok(match (of, kind) {
            (SqlType::Bytes | SqlType::Proto { .. }, Kind::BytesValue(value)) => Self::Bytes(value),
            (SqlType::Text, Kind::StringValue(value)) => Self::Text(value),
            (SqlType::Int64 | SqlType::Enum { .. }, Kind::IntValue(value)) => Self::Int64(value),
            (SqlType::Float32, Kind::FloatValue(value)) => {
                #[expect(clippy::cast_possible_truncation, reason = "the server widened it")]
                let narrow = value as f32;
                if narrow.is_infinite() && value.is_finite() {
                    return Err(format!("{value:e} is no FLOAT32"));
                }
                Self::Float32(narrow)
            }
            (SqlType::Float64, Kind::FloatValue(value)) => Self::Float64(value),
            (SqlType::Bool, Kind::BoolValue(value)) => Self::Bool(value),
            (SqlType::Timestamp, Kind::TimestampValue(value)) => {
                Self::Timestamp(SqlTimestamp::of_message(value)?)
            }
            (SqlType::Date, Kind::DateValue(value)) => Self::Date(SqlDate::of_message(value)?),
            (of, kind) => return Err(format!("a value of the type {of} has the kind {}", name(&kind))),
        })
    }

    /// The message for this value, without its type.
    pub(crate) fn to_message(&self) -> Value {
        let array = |values: Vec<Value>| Kind::ArrayValue(ArrayValue { values });
        let kind = match self {
            Self::Null => None,
            Self::Bytes(value) => Some(Kind::BytesValue(value.clone())),
            Self::Text(value) => Some(Kind::StringValue(value.clone())),
            Self::Int64(value) => Some(Kind::IntValue(*value)),
            Self::Float32(value) => Some(Kind::FloatValue(f64::from(*value))),
            Self::Float64(value) => Some(Kind::FloatValue(*value)),
            Self::Bool(value) => Some(Kind::BoolValue(*value)),
            Self::Timestamp(value) => Some(Kind::TimestampValue(value.to_message())),
            Self::Date(value) => Some(Kind::DateValue(value.to_message())),
            Self::Array(values) | Self::Struct(values) => {
                Some(array(values.iter().map(Self::to_message).collect()))
            }
            Self::Map(entries) => {
                let entry = |(key, value): &(Self, Self)| Value {
                    r#type: None,
                    kind: Some(array(vec![key.to_message(), value.to_message()])),
                };
                Some(array(entries.iter().map(entry).collect()))
            }
        };
        Value { r#type: None, kind }
    }

    /// Checks that it is a value that a parameter can have.
    ///
    /// # Errors
    /// Which part of it is none.
    pub(crate) fn check(&self) -> Result<(), String> {
        match self {
            Self::Null
            | Self::Bytes(_)
            | Self::Text(_)
            | Self::Int64(_)
            | Self::Float32(_)
            | Self::Float64(_)
            | Self::Bool(_) => Ok(()),
            Self::Timestamp(SqlTimestamp { nanos: 0..=MAX_NANOS, .. }) => Ok(()),
            Self::Timestamp(SqlTimestamp { seconds, nanos }) => Err(format!(
                "the timestamp has {seconds} s and {nanos} ns, and a second has at most {MAX_NANOS} ns; a leap second of chrono \
                 has more, and Unix time has no number for it: use the second before or after"
            )),
            Self::Date(date) => date.check(),
            Self::Array(values) | Self::Struct(values) => values.iter().try_for_each(Self::check),
            Self::Map(entries) => {
                entries.iter().try_for_each(|(key, value)| key.check().and_then(|()| value.check()))
            }
        }
    }

    /// What it is, for errors.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Null => "NULL",
            Self::Bytes(_) => "BYTES",
            Self::Text(_) => "STRING",
            Self::Int64(_) => "INT64",
            Self::Float32(_) => "FLOAT32",
            Self::Float64(_) => "FLOAT64",
            Self::Bool(_) => "BOOL",
            Self::Timestamp(_) => "TIMESTAMP",
            Self::Date(_) => "DATE",
            Self::Array(_) => "ARRAY",
            Self::Struct(_) => "STRUCT",
            Self::Map(_) => "MAP",
        }
    }
}

/// The name of a kind in the protocol.
fn name(kind: &Kind) -> &'static str {
    match kind {
        Kind::RawValue(_) => "RAW_VALUE",
        Kind::RawTimestampMicros(_) => "RAW_TIMESTAMP_MICROS",
        Kind::BytesValue(_) => "BYTES_VALUE",
        Kind::StringValue(_) => "STRING_VALUE",
        Kind::IntValue(_) => "INT_VALUE",
        Kind::BoolValue(_) => "BOOL_VALUE",
        Kind::FloatValue(_) => "FLOAT_VALUE",
        Kind::TimestampValue(_) => "TIMESTAMP_VALUE",
        Kind::DateValue(_) => "DATE_VALUE",
        Kind::ArrayValue(_) => "ARRAY_VALUE",
    }
}

/// The most nanoseconds of a second.
const MAX_NANOS: u32 = 999_999_999;

impl SqlTimestamp {
    fn of_message(values::Timestamp { seconds, nanos }: values::Timestamp) -> Result<Self, String> {
        match u32::try_from(nanos) {
            Ok(nanos) if nanos <= MAX_NANOS => Ok(Self { seconds, nanos }),
            _ => Err(format!("a timestamp has {nanos} ns, which is not a part of a second")),
        }
    }

    fn to_message(self) -> values::Timestamp {
        values::Timestamp { seconds: self.seconds, nanos: i32::try_from(self.nanos).unwrap_or(i32::MAX) }
    }

    /// This time as the system's; none if it is too far from 1970 for it.
    ///
    /// ```
    /// use std::time::{Duration, UNIX_EPOCH};
    ///
    /// use keyderive::query::SqlTimestamp;
    ///
    /// let time = SqlTimestamp { seconds: -1, nanos: 500_000_000 };
    /// assert_eq!(time.to_system_time(), Some(UNIX_EPOCH - Duration::from_millis(500)));
    /// ```
    #[must_use]
    pub fn to_system_time(self) -> Option<SystemTime> {
        SystemTime::of_unix_nanos(self.unix_nanos())
    }
}

impl From<SystemTime> for SqlTimestamp {
    fn from(time: SystemTime) -> Self {
        Self::of_unix_nanos(time.unix_nanos())
    }
}

impl SqlDate {
    fn of_message(values::Date { year, month, day }: values::Date) -> Result<Self, String> {
        let part = |part: i32| u32::try_from(part).unwrap_or(0);
        let date = Self { year, month: part(month), day: part(day) };
        date.check().map_err(|_| format!("{year}-{month}-{day} is no date")).map(|()| date)
    }

    /// Checks that the calendar has it.
    fn check(self) -> Result<(), String> {
        let Self { year, month, day } = self;
        let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let days = match month {
            2 if is_leap => 29,
            2 => 28,
            4 | 6 | 9 | 11 => 30,
            1..=12 => 31,
            _ => 0,
        };
        match (1..=9999).contains(&year) && (1..=days).contains(&day) {
            true => Ok(()),
            false => Err(format!("{year:04}-{month:02}-{day:02} is no date")),
        }
    }

    fn to_message(self) -> values::Date {
        let part = |part: u32| i32::try_from(part).unwrap_or(i32::MAX);
        values::Date { year: self.year, month: part(self.month), day: part(self.day) }
    }
}
