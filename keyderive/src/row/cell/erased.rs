//! Values of cells whose type is known at run time, by the functions of the typed ones.

use std::cmp::Ordering;
use std::fmt::Display;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::binary::not_of_length;
use super::calendar::{
    is_of_four_digits, is_stored_time, parse_time, read_days, read_time, write_days, write_days_bound,
    write_nanos,
};
use super::number::{is_zero, names_of, read_integer_between, too_large};
use super::text::{read_text, read_uuid};
use super::{Cell, CellError, CellType, CellWriter};
use crate::key::TimeUnit;
use crate::key::parse_date;
use crate::key::{Value, ValueRef};
use crate::row::encoding::{write_unix_time, write_unix_time_bound};
use crate::row::json;
use crate::row::show::Excerpt;

impl CellType {
    /// Reads a value from its stored bytes, as the types that are stored so do. Text and bytes are where they were.
    pub(crate) fn read(self, stored: &[u8]) -> Result<ValueRef<'_>, CellError> {
        let mut value = ValueRef::Bytes(&[]);
        self.read_to(stored, &mut value)?;
        Ok(value)
    }

    /// [`read`](Self::read) to a place: a value that is moved through several results costs more than reading it, and so does a type that is
    /// copied.
    pub(crate) fn read_to<'r>(&self, stored: &'r [u8], to: &mut ValueRef<'r>) -> Result<(), CellError> {
        // An address is stored as its text.
        let text_of = |_: IpAddr| read_text(stored).map(ValueRef::Text);
        *to = match *self {
            Self::Integer { min, max } => read_integer_between(stored, min, max)?.into(),
            Self::NonZero { min, max } => match read_integer_between(stored, min, max)? {
                0 => return Err(is_zero(names_of(min, max)[1])),
                number => number.into(),
            },
            Self::Bool => bool::decode(stored)?.into(),
            Self::Code(codes) => {
                let number = i64::decode(stored)?;
                if self.variant(number).is_none() {
                    let codes = codes.iter().map(|(code, _)| *code);
                    return Err(CellError::code_of_no_variant(number, codes));
                }
                number.into()
            }
            Self::F32 => f32::decode(stored)?.into(),
            Self::F64 => f64::decode(stored)?.into(),
            Self::Text => ValueRef::Text(read_text(stored)?),
            Self::Char => {
                char::decode(stored)?;
                ValueRef::Text(read_text(stored)?)
            }
            Self::Enum(names) => {
                let variant = names.iter().find(|name| name.as_bytes() == stored);
                ValueRef::Text(variant.ok_or_else(|| CellError::unknown_variant(stored, names))?)
            }
            Self::Bytes | Self::Proto | Self::Custom(_) => ValueRef::Bytes(stored),
            Self::Array(length) if stored.len() != length => return Err(not_of_length(stored, length)),
            Self::Array(_) => ValueRef::Bytes(stored),
            Self::Unit => {
                <()>::decode(stored)?;
                ValueRef::Bytes(stored)
            }
            Self::Uuid => ValueRef::Uuid(read_uuid(stored)?),
            Self::IpAddress => text_of(IpAddr::decode(stored)?)?,
            Self::Ipv4Address => text_of(Ipv4Addr::decode(stored)?.into())?,
            Self::Ipv6Address => text_of(Ipv6Addr::decode(stored)?.into())?,
            Self::Time => ValueRef::Time(read_time(stored, parse_time)?),
            Self::Date => ValueRef::Date(read_days(stored)?),
            // As text, since a number of JSON can be larger than any type of numbers here.
            Self::Json => {
                json::read::<serde_json::Value>(stored)?;
                ValueRef::Text(read_text(stored)?)
            }
            Self::UnixTime(unit) => ValueRef::Time(i128::from(i64::decode(stored)?) * unit.nanos()),
        };
        Ok(())
    }

    /// Appends the stored bytes of a value. Text for a column of another type is parsed, as [`parse`](Self::parse) does.
    pub(crate) fn write(self, value: &Value, out: &mut CellWriter<'_>) -> Result<(), CellError> {
        let is_stored_as = |bytes: &[u8]| self.read(bytes).is_ok();
        match (self, value) {
            (Self::Integer { min, max }, Value::Integer(_) | Value::Unsigned(_)) => {
                self.write_integer(value, out, |number| (min..=max).contains(&number))
            }
            (Self::NonZero { min, max }, Value::Integer(_) | Value::Unsigned(_)) => {
                self.write_integer(value, out, |number| number != 0 && (min..=max).contains(&number))
            }
            (Self::Code(_), Value::Integer(_) | Value::Unsigned(_)) => {
                self.write_integer(value, out, |number| self.variant(number).is_some())
            }
            (Self::UnixTime(unit), Value::Integer(_) | Value::Unsigned(_)) => {
                let is_time = |number| is_of_four_digits(i128::from(number) * unit.nanos());
                self.write_integer(value, out, is_time)
            }
            (Self::UnixTime(unit), Value::Time(nanos)) => write_unix_time(unit, *nanos, out),
            (Self::Bool, Value::Bool(value)) => value.encode(out),
            (Self::F32, Value::F32(value)) => value.encode(out),
            (Self::F64, Value::F64(value)) => value.encode(out),
            // As far as the float is that number: the text of one, such as `1e3`, is rounded to the nearest.
            (Self::F32, Value::Integer(number)) if (*number as f32) as i128 == *number => {
                (*number as f32).encode(out)
            }
            (Self::F64, Value::Integer(number)) if (*number as f64) as i128 == *number => {
                (*number as f64).encode(out)
            }
            (Self::F32 | Self::F64, Value::Integer(number)) => Err(self.not_one(number)),
            (Self::Time, Value::Time(nanos)) => write_nanos(*nanos, out),
            (Self::Time, Value::Text(text)) if is_stored_time(text) => text.encode(out),
            (Self::Date, Value::Date(days)) => write_days(*days, out),
            (Self::Uuid, Value::Uuid(_)) => value.to_string().encode(out),
            (
                Self::Text
                | Self::Char
                | Self::Enum(_)
                | Self::Json
                | Self::IpAddress
                | Self::Ipv4Address
                | Self::Ipv6Address
                | Self::Uuid
                | Self::Date,
                Value::Text(text),
            ) if is_stored_as(text.as_bytes()) => text.encode(out),
            (
                Self::Bytes | Self::Array(_) | Self::Unit | Self::Proto | Self::Custom(_),
                Value::Bytes(bytes),
            ) if is_stored_as(bytes) => bytes.encode(out),
            (_, Value::Text(text)) if self.is_parsed_as_text() => Err(self.not_one(text)),
            // No text: this ends.
            (_, Value::Text(text)) => self.write(&self.parse(text)?, out),
            (Self::Array(_) | Self::Unit, Value::Bytes(bytes)) => {
                Err(self.not_one(format_args!("a value of {} bytes", bytes.len())))
            }
            _ => Err(CellError::unsupported(format_args!(
                "holds {self}, which the value, {}, is not; convert it",
                value.noun()
            ))),
        }
    }

    /// As [`Cell::encode_bound`].
    pub(crate) fn write_bound(self, value: &Value, out: &mut CellWriter<'_>) -> Result<Ordering, CellError> {
        match (self, value) {
            // All of them are stored in 64 bits, so that every integer is comparable with them.
            (
                Self::Integer { .. } | Self::NonZero { .. } | Self::UnixTime(_),
                Value::Integer(_) | Value::Unsigned(_),
            ) => {
                let (held, ordering) = match value {
                    Value::Integer(number) => match i64::try_from(*number) {
                        Ok(number) => (number, Ordering::Equal),
                        Err(_) if *number < 0 => (i64::MIN, Ordering::Less),
                        Err(_) => (i64::MAX, Ordering::Greater),
                    },
                    _ => (i64::MAX, Ordering::Greater),
                };
                held.encode(out).map(|()| ordering)
            }
            (Self::UnixTime(unit), Value::Time(nanos)) => write_unix_time_bound(unit, *nanos, out),
            (Self::Date, Value::Date(days)) => write_days_bound(*days, out),
            _ => self.write(value, out).map(|()| Ordering::Equal),
        }
    }

    /// The value that text says, such as an argument of a command line.
    pub(crate) fn parse(self, text: &str) -> Result<Value, CellError> {
        let parsed = match self {
            Self::Integer { .. } | Self::NonZero { .. } => integer(text),
            // The name of a variant is one that `write` knows.
            Self::Code(codes) => {
                let variant = codes.iter().find(|(_, variant)| *variant == text);
                variant.map(|(code, _)| Value::from(*code)).or_else(|| integer(text))
            }
            Self::Bool => text.parse().ok().map(Value::Bool),
            Self::F32 => {
                text.parse().ok().filter(|number: &f32| is_same(number.is_infinite(), text)).map(Value::F32)
            }
            Self::F64 => {
                text.parse().ok().filter(|number: &f64| is_same(number.is_infinite(), text)).map(Value::F64)
            }
            Self::Text
            | Self::Char
            | Self::Enum(_)
            | Self::Json
            | Self::IpAddress
            | Self::Ipv4Address
            | Self::Ipv6Address => Some(text.into()),
            Self::Bytes | Self::Array(_) | Self::Unit | Self::Proto | Self::Custom(_) => {
                return match of_hex(text) {
                    Some(bytes) => self.checked(Value::Bytes(bytes)),
                    None => Err(CellError::unsupported(format_args!(
                        "holds {self}, which {} is not; write bytes as hexadecimal digits, such as `00ff`",
                        Excerpt(text.as_bytes())
                    ))),
                };
            }
            Self::Uuid => read_uuid(text.to_ascii_lowercase().as_bytes()).ok().map(Value::Uuid),
            Self::Time => parse_time(text).map(Value::Time),
            Self::Date => parse_date(text).map(Value::Date),
            Self::UnixTime(_) => parse_time(text).map(Value::Time).or_else(|| integer(text)),
        };
        match (self, self.checked(parsed.ok_or_else(|| self.not_one(text))?)?) {
            // Its count fits in 64 bits.
            (Self::UnixTime(unit), Value::Integer(count)) => Ok(Value::Time(count * unit.nanos())),
            (_, value) => Ok(value),
        }
    }

    /// The name of the variant that has a code.
    pub(crate) fn variant(self, code: i64) -> Option<&'static str> {
        let Self::Code(codes) = self else { return None };
        codes.iter().find(|(of, _)| *of == code).map(|(_, variant)| *variant)
    }

    /// The value, if a cell can hold it.
    fn checked(self, value: Value) -> Result<Value, CellError> {
        self.write(&value, &mut CellWriter::new(&mut Vec::new())).map(|()| value)
    }

    fn write_integer(
        self,
        value: &Value,
        out: &mut CellWriter<'_>,
        holds: impl Fn(i64) -> bool,
    ) -> Result<(), CellError> {
        let number = match value {
            Value::Integer(number) => i64::try_from(*number).ok(),
            _ => None,
        };
        let is_above_all = match value {
            Value::Integer(number) => *number > i128::from(i64::MAX),
            _ => true,
        };
        match number {
            Some(number) if holds(number) => number.encode(out),
            _ if is_above_all && holds(i64::MAX) => Err(too_large(value)),
            _ => Err(self.not_one(value)),
        }
    }

    /// Whether [`parse`](Self::parse) returns the text itself.
    fn is_parsed_as_text(self) -> bool {
        matches!(
            self,
            Self::Text
                | Self::Char
                | Self::Enum(_)
                | Self::Json
                | Self::IpAddress
                | Self::Ipv4Address
                | Self::Ipv6Address
        )
    }

    /// The value as it is read after it was written: text as what it says.
    pub(crate) fn accept(self, value: &Value) -> Result<Value, CellError> {
        let mut stored = Vec::new();
        self.write(value, &mut CellWriter::new(&mut stored))?;
        self.read(&stored).map(ValueRef::to_value)
    }

    /// Whether a map with such keys has columns of any bytes, whose names are escaped where they are shown.
    pub(crate) fn is_any_bytes(self) -> bool {
        matches!(self, Self::Bytes | Self::Array(_) | Self::Custom(_))
    }

    /// The value is of the right kind, and none that a cell can hold.
    #[cold]
    fn not_one(self, value: impl Display) -> CellError {
        let value = value.to_string();
        let form = match self {
            Self::Time => "; write it in UTC, such as `2015-03-16T20:20:12.156Z`",
            Self::UnixTime(unit) => return self.not_a_time(&value, unit),
            _ => "",
        };
        CellError::unsupported(format_args!("holds {self}, which {} is not{form}", Excerpt(value.as_bytes())))
    }

    #[cold]
    fn not_a_time(self, value: &str, unit: TimeUnit) -> CellError {
        CellError::unsupported(format_args!(
            "holds {self}, which {} is not; write a time of the years 0000 to 9999, such as `2015-03-16T20:20:12.156Z`, or its {}",
            Excerpt(value.as_bytes()),
            unit.name()
        ))
    }
}

fn integer(text: &str) -> Option<Value> {
    text.parse().ok().map(Value::Integer)
}

/// Whether a number is infinite as its text says: `1e999` is no number that a float has.
fn is_same(is_infinite: bool, text: &str) -> bool {
    !is_infinite || text.contains(['i', 'I'])
}

fn of_hex(text: &str) -> Option<Vec<u8>> {
    let digit = |digit: u8| char::from(digit).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let pairs = text.as_bytes().chunks(2).map(|pair| match *pair {
        [high, low] => Some(digit(high)? << 4 | digit(low)?),
        _ => None,
    });
    pairs.collect()
}
