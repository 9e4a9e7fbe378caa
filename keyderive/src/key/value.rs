//! A value whose type is known at run time.

use std::cmp::Ordering;
use std::fmt;

use serde::{Serialize, Serializer};

use super::codec::{DAY, ShownUuid, write_utc};
use super::format::TimeUnit;
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

/// A [`Value`] that borrows its text or bytes from where they were read: from a row key, or from the cells of a row.
///
/// ```
/// use keyderive::dynamic::{Value, ValueRef};
///
/// let seen = Value::from("seen");
/// assert_eq!(seen.as_ref(), ValueRef::Text("seen"));
/// assert_eq!(ValueRef::Text("seen").to_value(), seen);
/// ```
///
/// It is printed as the value.
// Compilers copy the padding after a tag of one byte as two overlapping halves, and a processor stalls when it reads back what was just
// written in other pieces. A tag of a word is moved in one register.
#[repr(u64)]
#[derive(Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum ValueRef<'a> {
    /// An integer, or the code of an enum that a column stores as its code.
    Integer(i128),
    /// An integer above `i128::MAX`.
    Unsigned(u128),
    /// A `bool`.
    Bool(bool),
    /// An `f32`.
    F32(f32),
    /// An `f64`.
    F64(f64),
    /// Text, a `char`, the name of a variant, an IP address, or JSON.
    Text(&'a str),
    /// Bytes, a hash, and what an encoding of your own has stored.
    Bytes(&'a [u8]),
    /// A time: nanoseconds since 1970-01-01T00:00:00Z, negative before it. [`time_in`](Self::time_in) counts another unit.
    Time(i128),
    /// A date: days since 1970-01-01, negative before it.
    Date(i64),
    /// A UUID.
    Uuid(u128),
}

impl ValueRef<'_> {
    /// The value, with text and bytes of its own.
    #[must_use]
    pub fn to_value(self) -> Value {
        match self {
            Self::Integer(value) => Value::Integer(value),
            Self::Unsigned(value) => Value::Unsigned(value),
            Self::Bool(value) => Value::Bool(value),
            Self::F32(value) => Value::F32(value),
            Self::F64(value) => Value::F64(value),
            Self::Text(value) => Value::Text(value.to_owned()),
            Self::Bytes(value) => Value::Bytes(value.to_owned()),
            Self::Time(nanos) => Value::Time(nanos),
            Self::Date(days) => Value::Date(days),
            Self::Uuid(value) => Value::Uuid(value),
        }
    }

    /// A time as a count of this unit since 1970, rounded down; none if it is no time, or the count does not fit in 64 bits.
    ///
    /// ```
    /// use keyderive::dynamic::ValueRef;
    /// use keyderive::key::TimeUnit;
    ///
    /// let time = ValueRef::Time(-1);
    /// assert_eq!((time.time_in(TimeUnit::Nanos), time.time_in(TimeUnit::Secs)), (Some(-1), Some(-1)));
    /// assert_eq!(ValueRef::Time(i128::MAX).time_in(TimeUnit::Secs), None);
    /// ```
    ///
    /// The count of a time that is stored as a count of this unit is exact.
    #[must_use]
    #[inline]
    pub fn time_in(self, unit: TimeUnit) -> Option<i64> {
        let Self::Time(nanos) = self else { return None };
        // A division of 64 bits is several times as fast, and these have the times of 1677 to 2262.
        match (i64::try_from(nanos), i64::try_from(unit.nanos())) {
            (Ok(nanos), Ok(unit)) => Some(nanos.div_euclid(unit)),
            _ => i64::try_from(nanos.div_euclid(unit.nanos())).ok(),
        }
    }

    /// As a noun: `an integer`.
    pub(crate) fn noun(self) -> &'static str {
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

impl Value {
    /// The same value, borrowed.
    #[must_use]
    #[inline]
    pub fn as_ref(&self) -> ValueRef<'_> {
        match self {
            Self::Integer(value) => ValueRef::Integer(*value),
            Self::Unsigned(value) => ValueRef::Unsigned(*value),
            Self::Bool(value) => ValueRef::Bool(*value),
            Self::F32(value) => ValueRef::F32(*value),
            Self::F64(value) => ValueRef::F64(*value),
            Self::Text(value) => ValueRef::Text(value),
            Self::Bytes(value) => ValueRef::Bytes(value),
            Self::Time(nanos) => ValueRef::Time(*nanos),
            Self::Date(days) => ValueRef::Date(*days),
            Self::Uuid(value) => ValueRef::Uuid(*value),
        }
    }

    /// The order of two values of one field or column: numbers, times and dates by value, text and bytes by their bytes.
    ///
    /// ```
    /// use std::cmp::Ordering;
    /// use keyderive::dynamic::Value;
    ///
    /// assert_eq!(Value::from(3).compare(&Value::from(20)), Some(Ordering::Less));
    /// assert_eq!(Value::from(i128::MAX).compare(&Value::from(u128::MAX)), Some(Ordering::Less));
    /// assert_eq!(Value::from(3).compare(&Value::from("20")), None);
    /// ```
    ///
    /// `None` for values of different kinds, such as an integer and text, and for floats, which no key has: their equality is no order.
    /// Otherwise it is a total order, and values are equal in it if they are `==`.
    #[must_use]
    pub fn compare(&self, other: &Self) -> Option<Ordering> {
        Some(match (self, other) {
            (Self::Integer(one), Self::Integer(other)) | (Self::Time(one), Self::Time(other)) => {
                one.cmp(other)
            }
            (Self::Unsigned(one), Self::Unsigned(other)) | (Self::Uuid(one), Self::Uuid(other)) => {
                one.cmp(other)
            }
            // It is above every `Integer`.
            (Self::Integer(_), Self::Unsigned(_)) => Ordering::Less,
            (Self::Unsigned(_), Self::Integer(_)) => Ordering::Greater,
            (Self::Bool(one), Self::Bool(other)) => one.cmp(other),
            (Self::Text(one), Self::Text(other)) => one.cmp(other),
            (Self::Bytes(one), Self::Bytes(other)) => one.cmp(other),
            (Self::Date(one), Self::Date(other)) => one.cmp(other),
            _ => return None,
        })
    }

    /// Whether it is a time between two counts of this unit. A field or column in the unit stores the earlier count.
    ///
    /// ```
    /// use keyderive::dynamic::Value;
    /// use keyderive::key::TimeUnit;
    ///
    /// let time = Value::Time(1_500_000_000);
    /// assert!(time.is_finer_than(TimeUnit::Secs) && !time.is_finer_than(TimeUnit::Millis));
    /// assert_eq!(time.rounded_to(TimeUnit::Secs), Value::Time(2_000_000_000));
    /// ```
    #[must_use]
    pub fn is_finer_than(&self, unit: TimeUnit) -> bool {
        matches!(self, Self::Time(nanos) if nanos % unit.nanos() != 0)
    }

    /// A time as the nearest count of this unit, the later of two; another value unchanged.
    #[must_use]
    pub fn rounded_to(&self, unit: TimeUnit) -> Self {
        match self {
            Self::Time(nanos) => {
                let rest = nanos.rem_euclid(unit.nanos());
                let up = if rest * 2 < unit.nanos() { 0 } else { unit.nanos() };
                Self::Time(nanos.saturating_sub(rest).saturating_add(up))
            }
            value => value.clone(),
        }
    }

    /// As a noun: `an integer`.
    pub(crate) fn noun(&self) -> &'static str {
        self.as_ref().noun()
    }
}

/// Text without quotation marks, bytes as hexadecimal digits, a time in RFC 3339.
impl fmt::Display for ValueRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(value) => f.write_str(value),
            Self::Bytes(value) => fmt::Display::fmt(&Hex(value), f),
            other => fmt::Debug::fmt(other, f),
        }
    }
}

/// As Rust writes the value of a field.
impl fmt::Debug for ValueRef<'_> {
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
impl Serialize for ValueRef<'_> {
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

/// As [`ValueRef`] is printed.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.as_ref(), f)
    }
}

/// As Rust writes the value of a field.
impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.as_ref(), f)
    }
}

/// As [`ValueRef`] is serialized.
impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.as_ref().serialize(serializer)
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

/// Values that both forms have.
macro_rules! scalars {
    ($($type:ty: |$value:ident| $of:expr;)*) => {$(
        impl From<$type> for Value {
            fn from($value: $type) -> Self {
                $of
            }
        }

        impl From<$type> for ValueRef<'_> {
            #[inline]
            fn from($value: $type) -> Self {
                $of
            }
        }
    )*};
}

scalars! {
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
    f32: |value| Self::F32(value);
    f64: |value| Self::F64(value);
}

values! {
    char: |value| Self::Text(value.into());
    String: |value| Self::Text(value);
    &str: |value| Self::Text(value.into());
    Vec<u8>: |value| Self::Bytes(value);
    &[u8]: |value| Self::Bytes(value.into());
    ValueRef<'_>: |value| value.to_value();
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// A value of a kind, of few that are often equal.
    fn value(kind: u8, random: &mut fastrand::Rng) -> Value {
        let number = i128::from(random.i8(-3..3));
        let number = [number, i128::MIN, i128::MAX][random.usize(..3)];
        match kind {
            0 if random.bool() => Value::from(u128::MAX - u128::from(random.u8(..2))),
            0 => Value::Integer(number),
            1 => Value::Bool(random.bool()),
            2 => Value::Text(["", "a", "ab", "b", "\u{e9}"][random.usize(..5)].to_owned()),
            3 => Value::Bytes(vec![random.u8(..); random.usize(..3)]),
            4 => Value::Time(number),
            5 => Value::Date(random.i64(-2..2)),
            6 => Value::Uuid(u128::from(random.u8(..3))),
            7 => Value::F32(f32::from(random.i8(-2..2))),
            _ => Value::F64(f64::from(random.i8(-2..2))),
        }
    }

    #[test]
    fn the_order_of_a_kind_is_total_and_agrees_with_equality() {
        let mut random = fastrand::Rng::with_seed(7);
        let mut found = BTreeSet::new();
        for _ in 0..100_000 {
            let kind = random.u8(..7);
            let [a, b, c] = std::array::from_fn(|_| value(kind, &mut random));
            let order = |one: &Value, other: &Value| one.compare(other).unwrap();
            assert_eq!(order(&a, &b) == Ordering::Equal, a == b, "{a:?} {b:?}");
            assert_eq!(order(&a, &b), order(&b, &a).reverse(), "{a:?} {b:?}");
            if order(&a, &b).is_le() && order(&b, &c).is_le() {
                assert!(order(&a, &c).is_le(), "{a:?} {b:?} {c:?}");
            }
            found.insert((kind, order(&a, &b)));
            let (one, other) = (random.u8(..9), random.u8(..9));
            if one != other || one > 6 {
                assert_eq!(value(one, &mut random).compare(&value(other, &mut random)), None);
            }
        }
        assert_eq!(found.len(), 21);
    }

    #[test]
    fn times_are_rounded_to_the_nearest() {
        let rounded = |nanos| Value::Time(nanos).rounded_to(TimeUnit::Micros);
        for (nanos, nearest) in
            [(0, 0), (499, 0), (500, 1000), (1000, 1000), (-1, 0), (-500, 0), (-501, -1000), (-1000, -1000)]
        {
            assert_eq!(rounded(nanos), Value::Time(nearest), "{nanos}");
            assert_eq!(Value::Time(nanos).is_finer_than(TimeUnit::Micros), nanos % 1000 != 0);
        }
        for extreme in [i128::MIN, i128::MAX] {
            assert!(matches!(rounded(extreme), Value::Time(_)));
        }
        assert_eq!(Value::from(7).rounded_to(TimeUnit::Secs), Value::from(7));
    }
}
