//! SQL values: their messages, and how they compare.

use std::cmp::Ordering;

use bytes::Bytes;
use keyderive_proto::data::value::Kind;
use keyderive_proto::data::{ArrayValue, Value as Message};
use keyderive_proto::values;
use tonic::{Code, Status};

use crate::error::invalid;
use crate::time;
use crate::types::Type;

/// A value of any type. Its expression has its type.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Null,
    Bytes(Bytes),
    Text(String),
    Int64(i64),
    Float32(f32),
    Float64(f64),
    Bool(bool),
    /// Microseconds since the epoch.
    Timestamp(i64),
    /// Days since the epoch.
    Date(i32),
    Array(Vec<Value>),
    Struct(Vec<Value>),
    /// In the order of its keys.
    Map(Vec<(Value, Value)>),
}

impl Value {
    pub(crate) fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    pub(crate) fn is_true(&self) -> bool {
        matches!(self, Self::Bool(true))
    }

    /// The bytes of a text or of bytes.
    pub(crate) fn raw(&self) -> &[u8] {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Text(text) => text.as_bytes(),
            _ => &[],
        }
    }

    /// What it takes in memory.
    pub(crate) fn bytes(&self) -> usize {
        let all = |values: &[Self]| values.iter().map(Self::bytes).sum();
        size_of::<Self>()
            + match self {
                Self::Array(values) | Self::Struct(values) => all(values),
                Self::Map(entries) => entries.iter().map(|(key, value)| key.bytes() + value.bytes()).sum(),
                value => value.raw().len(),
            }
    }

    pub(crate) fn int(&self) -> i64 {
        match self {
            Self::Int64(number) => *number,
            _ => 0,
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "an INT64 becomes the nearest FLOAT64, as in SQL")]
    pub(crate) fn float(&self) -> f64 {
        match self {
            Self::Int64(number) => *number as f64,
            Self::Float32(number) => f64::from(*number),
            Self::Float64(number) => *number,
            _ => 0.0,
        }
    }

    pub(crate) fn elements(&self) -> &[Self] {
        match self {
            Self::Array(elements) | Self::Struct(elements) => elements,
            _ => &[],
        }
    }

    pub(crate) fn entries(&self) -> &[(Self, Self)] {
        match self {
            Self::Map(entries) => entries,
            _ => &[],
        }
    }

    /// The value of a parameter.
    pub(crate) fn of_message(message: &Message, of: &Type) -> Result<Self, Status> {
        let Some(kind) = &message.kind else { return Ok(Self::Null) };
        let elements = |array: &ArrayValue, of: &Type| -> Result<Vec<Self>, Status> {
            array.values.iter().map(|value| Self::of_message(value, of)).collect()
        };
        Ok(match (of, kind) {
            (Type::Bytes, Kind::BytesValue(value)) => Self::Bytes(value.clone()),
            (Type::Text, Kind::StringValue(value)) => Self::Text(value.clone()),
            (Type::Int64, Kind::IntValue(value)) => Self::Int64(*value),
            #[expect(clippy::cast_possible_truncation, reason = "the client widened it")]
            (Type::Float32, Kind::FloatValue(value)) => Self::Float32(*value as f32),
            (Type::Float64, Kind::FloatValue(value)) => Self::Float64(*value),
            (Type::Bool, Kind::BoolValue(value)) => Self::Bool(*value),
            (Type::Timestamp, Kind::TimestampValue(value)) => {
                let micros = value.seconds.checked_mul(1_000_000);
                let micros = micros.and_then(|micros| micros.checked_add(i64::from(value.nanos) / 1000));
                let micros = micros.filter(|micros| time::is_timestamp(*micros));
                Self::Timestamp(micros.ok_or_else(|| {
                    invalid(format!("a timestamp of {} s is not between the years 1 and 9999", value.seconds))
                })?)
            }
            (Type::Date, Kind::DateValue(date)) => {
                let days = time::days(date.year.into(), date.month.into(), date.day.into());
                Self::Date(days.and_then(|days| i32::try_from(days).ok()).ok_or_else(|| {
                    invalid(format!("{}-{}-{} is no date", date.year, date.month, date.day))
                })?)
            }
            (Type::Array(of), Kind::ArrayValue(array)) => Self::Array(elements(array, of)?),
            (Type::Struct(fields), Kind::ArrayValue(array)) if fields.len() == array.values.len() => {
                let values = fields.iter().zip(&array.values);
                Self::Struct(
                    values.map(|((_, of), value)| Self::of_message(value, of)).collect::<Result<_, _>>()?,
                )
            }
            _ => return Err(invalid(format!("a parameter of type {of} has a value of another kind"))),
        })
    }

    /// The message for this value, without its type. NULL has no kind.
    pub(crate) fn to_message(&self) -> Message {
        let array = |values: Vec<Message>| Kind::ArrayValue(ArrayValue { values });
        let kind = match self {
            Self::Null => None,
            Self::Bytes(value) => Some(Kind::BytesValue(value.clone())),
            Self::Text(value) => Some(Kind::StringValue(value.clone())),
            Self::Int64(value) => Some(Kind::IntValue(*value)),
            Self::Float32(value) => Some(Kind::FloatValue(f64::from(*value))),
            Self::Float64(value) => Some(Kind::FloatValue(*value)),
            Self::Bool(value) => Some(Kind::BoolValue(*value)),
            Self::Timestamp(micros) => {
                let nanos = i32::try_from(micros.rem_euclid(1_000_000) * 1000).unwrap_or(0);
                let seconds = micros.div_euclid(1_000_000);
                Some(Kind::TimestampValue(values::Timestamp { seconds, nanos }))
            }
            Self::Date(days) => time::date_of(i64::from(*days)).map(|date| {
                let (year, month, day) = (date.year().into(), date.month().into(), date.day().into());
                Kind::DateValue(values::Date { year, month, day })
            }),
            Self::Array(values) | Self::Struct(values) => {
                Some(array(values.iter().map(Self::to_message).collect()))
            }
            Self::Map(entries) => {
                let entry = |(key, value): &(Self, Self)| Message {
                    r#type: None,
                    kind: Some(array(vec![key.to_message(), value.to_message()])),
                };
                Some(array(entries.iter().map(entry).collect()))
            }
        };
        Message { r#type: None, kind }
    }

    /// Whether two values that are not NULL are equal, and which is less; `None` for NaN.
    pub(crate) fn compare(&self, other: &Self) -> Option<Ordering> {
        Some(match (self, other) {
            (Self::Bytes(left), Self::Bytes(right)) => left.cmp(right),
            (Self::Text(left), Self::Text(right)) => left.cmp(right),
            (Self::Int64(left), Self::Int64(right)) => left.cmp(right),
            (Self::Bool(left), Self::Bool(right)) => left.cmp(right),
            (Self::Timestamp(left), Self::Timestamp(right)) => left.cmp(right),
            (Self::Date(left), Self::Date(right)) => left.cmp(right),
            (left, right) => return left.float().partial_cmp(&right.float()),
        })
    }

    /// Whether it takes the place of the least or greatest value so far. Once there is a NaN, it is the result.
    pub(crate) fn replaces(&self, best: &Self, sought: Ordering) -> bool {
        let is_nan = match self {
            Self::Float32(number) => number.is_nan(),
            Self::Float64(number) => number.is_nan(),
            _ => false,
        };
        is_nan || self.compare(best) == Some(sought)
    }

    /// Compares in the order of `ORDER BY`: NULL is the least, then NaN.
    pub(crate) fn sort_order(&self, other: &Self) -> Ordering {
        let rank = |value: &Self| match value {
            Self::Null => 0,
            Self::Float32(number) if number.is_nan() => 1,
            Self::Float64(number) if number.is_nan() => 1,
            _ => 2,
        };
        let (left, right) = (rank(self), rank(other));
        match left.cmp(&right) {
            Ordering::Equal if left == 2 => self.compare(other).unwrap_or(Ordering::Equal),
            order => order,
        }
    }

    /// Appends bytes that are equal for values in one group, and for no others of the same type.
    pub(crate) fn group_key(&self, key: &mut Vec<u8>) {
        let mut framed = |tag: u8, bytes: &[u8]| {
            key.push(tag);
            key.extend((bytes.len() as u64).to_be_bytes());
            key.extend(bytes);
        };
        let float = |number: f64| match number {
            _ if number.is_nan() => f64::NAN.to_bits(),
            // Both zeros are one value.
            _ if number == 0.0 => 0,
            number => number.to_bits(),
        };
        match self {
            Self::Null => key.push(0),
            Self::Bytes(bytes) => framed(1, bytes),
            Self::Text(text) => framed(1, text.as_bytes()),
            Self::Int64(number) | Self::Timestamp(number) => framed(1, &number.to_be_bytes()),
            Self::Float32(number) => framed(1, &float(f64::from(*number)).to_be_bytes()),
            Self::Float64(number) => framed(1, &float(*number).to_be_bytes()),
            Self::Bool(value) => framed(1, &[u8::from(*value)]),
            Self::Date(days) => framed(1, &days.to_be_bytes()),
            Self::Array(values) | Self::Struct(values) => {
                framed(2, &(values.len() as u64).to_be_bytes());
                values.iter().for_each(|value| value.group_key(key));
            }
            Self::Map(entries) => {
                framed(2, &(entries.len() as u64).to_be_bytes());
                for (name, value) in entries {
                    name.group_key(key);
                    value.group_key(key);
                }
            }
        }
    }
}

/// What a safe function, such as `SAFE_CAST`, returns where the plain one fails: NULL, unless this engine lacks a
/// feature.
pub(crate) fn null_unless_unimplemented(error: Status) -> Result<Value, Status> {
    if error.code() == Code::Unimplemented { Err(error) } else { Ok(Value::Null) }
}
