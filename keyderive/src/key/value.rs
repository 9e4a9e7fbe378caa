//! A value whose type is known at run time.

use std::fmt;

use serde::{Serialize, Serializer};

use super::codec::{DAY, ShownUuid, write_utc};
use super::show::Hex;

/// A value of a key field or of a column, whose type is known at run time.
///
/// ```
/// use keyderive::dynamic::Value;
///
/// assert_eq!(Value::from(3), Value::Integer(3));
/// assert_eq!(Value::from("seen"), Value::Text("seen".into()));
/// assert_eq!(Value::Time(1_426_535_612_156_000_000).to_string(), "2015-03-16T19:53:32.156Z");
/// ```
///
/// It must be of the type of the field or column: an integer is not stored in a column of floats. `{}` prints the value alone, and `{:?}`
/// as Rust writes it: text in quotation marks.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub enum Value {
    /// For integers, codes of an enum, and times as the number that is stored.
    Integer(i128),
    /// For integers above `i128::MAX`.
    Unsigned(u128),
    /// For a `bool`.
    Bool(bool),
    /// For a column of `f32`.
    F32(f32),
    /// For a column of `f64`.
    F64(f64),
    /// For text, a `char`, a variant by its name, an IP address, and JSON.
    Text(String),
    /// For bytes, and for what an encoding of your own has stored.
    Bytes(Vec<u8>),
    /// For times: nanoseconds since 1970-01-01T00:00:00Z, negative before it.
    Time(i128),
    /// For dates: days since 1970-01-01, negative before it.
    Date(i64),
    /// For UUIDs.
    Uuid(u128),
}

impl Value {
    /// As a noun: `an integer`.
    pub(crate) fn noun(&self) -> &'static str {
        match self {
            Self::Integer(_) | Self::Unsigned(_) => "an integer",
            Self::Bool(_) => "a `bool`",
            Self::F32(_) => "an `f32`",
            Self::F64(_) => "an `f64`",
            Self::Text(_) => "text",
            Self::Bytes(_) => "bytes",
            Self::Time(_) => "a time",
            Self::Date(_) => "a date",
            Self::Uuid(_) => "a UUID",
        }
    }
}

/// Text without quotation marks, bytes as hexadecimal digits, a time in RFC 3339.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(value) => f.write_str(value),
            Self::Bytes(value) => fmt::Display::fmt(&Hex(value), f),
            other => fmt::Debug::fmt(other, f),
        }
    }
}

/// As Rust writes the value of a field.
impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(value) => write!(f, "{value}"),
            Self::Unsigned(value) => write!(f, "{value}"),
            Self::Bool(value) => write!(f, "{value}"),
            Self::F32(value) => write!(f, "{value:?}"),
            Self::F64(value) => write!(f, "{value:?}"),
            Self::Text(value) => write!(f, "{value:?}"),
            Self::Bytes(value) => write!(f, "{value:?}"),
            Self::Time(nanos) => write_utc(*nanos, f),
            Self::Date(days) => write!(f, "{:#}", fmt::from_fn(|f| write_utc(i128::from(*days) * DAY, f))),
            Self::Uuid(value) => fmt::Display::fmt(&ShownUuid(*value), f),
        }
    }
}

/// Integers of more than 64 bits, floats that are not finite, times, dates and UUIDs as text, and bytes in hexadecimal: what other programs
/// read without loss.
impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Integer(value) => match (i64::try_from(*value), u64::try_from(*value)) {
                (Ok(value), _) => serializer.serialize_i64(value),
                (_, Ok(value)) => serializer.serialize_u64(value),
                _ => serializer.collect_str(value),
            },
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::F32(value) if value.is_finite() => serializer.serialize_f32(*value),
            Self::F64(value) if value.is_finite() => serializer.serialize_f64(*value),
            Self::Bytes(value) => serializer.collect_str(&Hex(value)),
            // JSON has no NaN and no infinity, and would have `null` in their place.
            Self::F32(_) | Self::F64(_) => serializer.collect_str(self),
            Self::Unsigned(_) | Self::Text(_) | Self::Time(_) | Self::Date(_) | Self::Uuid(_) => {
                serializer.collect_str(self)
            }
        }
    }
}

macro_rules! values {
    ($($type:ty: |$value:ident| $of:expr;)*) => {$(
        impl From<$type> for Value {
            fn from($value: $type) -> Self {
                $of
            }
        }
    )*};
}

values! {
    i8: |value| Self::Integer(value.into());
    i16: |value| Self::Integer(value.into());
    i32: |value| Self::Integer(value.into());
    i64: |value| Self::Integer(value.into());
    i128: |value| Self::Integer(value);
    u8: |value| Self::Integer(value.into());
    u16: |value| Self::Integer(value.into());
    u32: |value| Self::Integer(value.into());
    u64: |value| Self::Integer(value.into());
    u128: |value| i128::try_from(value).map_or(Self::Unsigned(value), Self::Integer);
    bool: |value| Self::Bool(value);
    char: |value| Self::Text(value.into());
    f32: |value| Self::F32(value);
    f64: |value| Self::F64(value);
    String: |value| Self::Text(value);
    &str: |value| Self::Text(value.into());
    Vec<u8>: |value| Self::Bytes(value);
    &[u8]: |value| Self::Bytes(value.into());
}

#[cfg(feature = "client")]
values! {
    bytes::Bytes: |value| Self::Bytes(value.into());
}

impl From<&Value> for Value {
    fn from(value: &Value) -> Self {
        value.clone()
    }
}
