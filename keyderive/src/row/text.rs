//! Columns that are named by text at run time, and their values.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use bytes::Bytes;

use super::column::{Any, CellValue, ColumnPlace, Entry};
use super::schema::ColumnKind;
use super::{Cell, CellError, CellType, CellWriter, Name, RowError, RowSchema};
use crate::dynamic::Value;

macro_rules! values {
    ($($type:ty)*) => {$(
        impl CellValue<Any> for $type {
            fn encode_value(&self, stored: CellType, out: &mut CellWriter<'_>) -> Result<(), CellError> {
                CellValue::<Any>::encode_value(&Value::from(self.clone()), stored, out)
            }

            fn encode_bound(&self, stored: CellType, out: &mut CellWriter<'_>) -> Result<Ordering, CellError> {
                CellValue::<Any>::encode_bound(&Value::from(self.clone()), stored, out)
            }
        }
    )*};
}

values! { i64 bool f32 f64 String &str Bytes Vec<u8> }

impl Value {
    /// Whether it is a value that a column stored so can hold.
    fn fits(&self, stored: CellType) -> bool {
        match (self, stored) {
            (Self::Integer(value), CellType::Integer { min, max }) => {
                (min.into()..=max.into()).contains(value)
            }
            (Self::Integer(value), CellType::NonZero { min, max }) => {
                *value != 0 && (min.into()..=max.into()).contains(value)
            }
            (Self::Integer(value), CellType::Code(codes)) => {
                codes.iter().any(|(code, _)| i128::from(*code) == *value)
            }
            (Self::Integer(value), CellType::UnixTime(unit)) => {
                // From the year 0000 to 9999, which all crates of times have.
                let seconds = value.saturating_mul(unit.nanos()).div_euclid(1_000_000_000);
                (-62_167_219_200..253_402_300_800).contains(&seconds)
            }
            (Self::Bool(_), CellType::Bool)
            | (Self::F32(_), CellType::F32)
            | (Self::F64(_), CellType::F64)
            | (Self::Text(_), CellType::Text)
            | (Self::Bytes(_), CellType::Bytes | CellType::Custom(_)) => true,
            (Self::Text(text), CellType::Char) => text.chars().count() == 1,
            (Self::Text(text), CellType::Enum(names)) => names.contains(&&**text),
            (Self::Text(text), CellType::Json) => serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok(),
            (Self::Text(text), CellType::IpAddress) => is_address::<IpAddr>(text),
            (Self::Text(text), CellType::Ipv4Address) => is_address::<Ipv4Addr>(text),
            (Self::Text(text), CellType::Ipv6Address) => is_address::<Ipv6Addr>(text),
            (Self::Text(text), CellType::Uuid) => is_uuid(text.as_bytes()),
            (Self::Text(text), CellType::Date) => is_date(text.as_bytes()),
            (Self::Text(text), CellType::Time) => is_time(text.as_bytes()),
            (Self::Bytes(bytes), CellType::Array(length)) => bytes.len() == length,
            (Self::Bytes(bytes), CellType::Unit) => bytes.is_empty(),
            _ => false,
        }
    }
}

impl CellValue<Any> for Value {
    fn encode_value(&self, stored: CellType, out: &mut CellWriter<'_>) -> Result<(), CellError> {
        if !self.fits(stored) {
            return Err(CellError::unsupported(format_args!(
                "holds {stored}, which the value, {}, is not; convert it",
                self.noun()
            )));
        }
        match self {
            // What fits has 64 bits.
            Self::Integer(value) => (*value as i64).encode(out),
            Self::Bool(value) => value.encode(out),
            Self::F32(value) => value.encode(out),
            Self::F64(value) => value.encode(out),
            Self::Text(value) => value.encode(out),
            Self::Bytes(value) => value.encode(out),
            // No column holds these yet: `fits` has refused them.
            Self::Unsigned(_) | Self::Time(_) | Self::Date(_) | Self::Uuid(_) => {
                Err(CellError::unsupported(format_args!("holds {stored}, which {} is not", self.noun())))
            }
        }
    }

    fn encode_bound(&self, stored: CellType, out: &mut CellWriter<'_>) -> Result<Ordering, CellError> {
        match (self, stored) {
            // All of them are stored in 64 bits, so that every integer is comparable with them.
            (
                Self::Integer(value),
                CellType::Integer { .. } | CellType::NonZero { .. } | CellType::UnixTime(_),
            ) => match i64::try_from(*value) {
                Ok(value) => value.encode(out)?,
                Err(_) if *value < 0 => return i64::MIN.encode(out).map(|()| Ordering::Less),
                Err(_) => return i64::MAX.encode(out).map(|()| Ordering::Greater),
            },
            _ => CellValue::<Any>::encode_value(self, stored, out)?,
        }
        Ok(Ordering::Equal)
    }
}

fn is_address<A: Cell>(text: &str) -> bool {
    A::decode(text.as_bytes()).is_ok()
}

/// Whether the text is a UUID as it is stored: hyphenated, in lower case.
pub(super) fn is_uuid(text: &[u8]) -> bool {
    let is_at = |(at, byte): (usize, &u8)| match at {
        8 | 13 | 18 | 23 => *byte == b'-',
        _ => byte.is_ascii_digit() || (b'a'..=b'f').contains(byte),
    };
    text.len() == 36 && text.iter().enumerate().all(is_at)
}

fn number(digits: &[u8]) -> Option<u32> {
    let is_number = digits.iter().all(u8::is_ascii_digit);
    is_number.then(|| digits.iter().fold(0, |number, digit| number * 10 + u32::from(digit - b'0')))
}

/// Whether the text is a date of the calendar, as `2015-03-16`.
pub(super) fn is_date(text: &[u8]) -> bool {
    let [y0, y1, y2, y3, b'-', m0, m1, b'-', d0, d1] = *text else { return false };
    let (Some(year), Some(month), Some(day)) =
        (number(&[y0, y1, y2, y3]), number(&[m0, m1]), number(&[d0, d1]))
    else {
        return false;
    };
    let days = match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => 0,
    };
    (1..=days).contains(&day)
}

/// Whether the text is a time in UTC, as the crates of times write it: `2015-03-16T19:53:32.156Z`, or with `+00:00`.
fn is_time(text: &[u8]) -> bool {
    let Some((date, rest)) = text.split_at_checked(10) else { return false };
    let Some((clock, rest)) = rest.split_at_checked(9) else { return false };
    let [b'T', h0, h1, b':', m0, m1, b':', s0, s1] = *clock else { return false };
    let below = |digits: [u8; 2], end| number(&digits).is_some_and(|number| number < end);
    let zone = match rest.strip_prefix(b".") {
        None => rest,
        Some(fraction) => {
            let digits = fraction.iter().take_while(|byte| byte.is_ascii_digit()).count();
            if !(1..=9).contains(&digits) {
                return false;
            }
            &fraction[digits..]
        }
    };
    is_date(date)
        && below([h0, h1], 24)
        && below([m0, m1], 60)
        && below([s0, s1], 60)
        && matches!(zone, b"Z" | b"+00:00")
}

impl RowSchema {
    /// The column that text names, `name` or `family:name`.
    pub(super) fn column_of<R>(&self, path: &str) -> Result<Entry<R, Option<Any>>, RowError> {
        let own = self.own_family().unwrap_or_default();
        let (family, name) = path.split_once(':').unwrap_or((own, path));
        let column = Name { family, qualifier: name.as_bytes() };
        if name.is_empty() {
            return Err(RowError::empty_name(family));
        }
        if let Some((family, column)) =
            self.columns().find(|(of, column)| *of == family && column.name() == name)
        {
            return Ok(Entry::new(Ok(ColumnPlace {
                family: Cow::Borrowed(family),
                qualifier: Bytes::from_static(column.name().as_bytes()),
                aliases: column.former(),
                stored: column.stored(),
                kind: column.kind(),
                is_required: column.is_required(),
            })));
        }
        match self.map_of(family) {
            Some((family, key, stored, kind)) => {
                // A name that no key of the map has would make the row unreadable.
                let is_binary = matches!(key, CellType::Bytes | CellType::Array(_));
                let key_value = match is_binary {
                    true => Value::Bytes(name.as_bytes().to_vec()),
                    false => Value::Text(name.to_owned()),
                };
                if !key_value.fits(key) {
                    let text = format_args!("is named by text that is not {key}, as the keys of the map are");
                    return Err(RowError::cell(column, CellError::unsupported(text)));
                }
                Ok(Entry::new(Ok(ColumnPlace {
                    family: Cow::Borrowed(family),
                    qualifier: Bytes::copy_from_slice(name.as_bytes()),
                    aliases: &[],
                    stored,
                    kind,
                    is_required: false,
                })))
            }
            None => Err(RowError::cell(column, self.no_column(family, name))),
        }
    }

    #[cold]
    fn no_column(&self, family: &str, name: &str) -> CellError {
        let full = |family: &str, name: &str| format!("{family}:{name}");
        let wrong = full(family, name);
        let names = self.columns().map(|(family, column)| full(family, column.name()));
        let nearest = names.map(|name| (strsim::levenshtein(&wrong, &name), name)).min();
        let remedy = match nearest {
            Some((distance, name)) if distance <= 1 + name.len() / 4 => format!("did you mean `{name}`?"),
            _ => {
                let names = self.columns().map(|(family, column)| format!("`{family}:{}`", column.name()));
                let maps = self.maps().map(|family| format!("`{family}:…`"));
                format!("it has {}", names.chain(maps).collect::<Vec<_>>().join(", "))
            }
        };
        CellError::unsupported(format_args!("is not a column of `{}`; {remedy}", self.name()))
    }
}

/// Checks that a column which was named by text is one that a call is for. Other columns are checked by the compiler.
pub(crate) fn check_kind(
    place: &ColumnPlace,
    is_one: impl Fn(ColumnKind) -> bool,
    remedy: &str,
) -> Result<(), RowError> {
    if is_one(place.kind) {
        return Ok(());
    }
    Err(RowError::cell(place.name(), CellError::unsupported(remedy)))
}
