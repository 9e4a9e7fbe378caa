//! Columns that are named by text at run time, and their values.

use std::borrow::Cow;
use std::fmt;

use bytes::Bytes;

use super::column::{Any, CellValue, Entry, Place};
use super::schema::ColumnKind;
use super::{Cell, CellError, CellType, CellWriter, Name, RowError, RowSchema};

/// A value whose type is known at run time, for a column that is [named by text](super::Row::column).
///
/// ```
/// use keyderive::row::Value;
///
/// assert_eq!(Value::from(3), Value::Integer(3));
/// assert_eq!(Value::from("seen"), Value::Text("seen".into()));
/// ```
///
/// It must be of the column's type: an integer is not stored in a column of floats.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Value {
    /// For a column of integers, of codes of an enum, or of `ts`.
    Integer(i64),
    /// For a column of `bool`.
    Bool(bool),
    /// For a column of `f32`.
    F32(f32),
    /// For a column of `f64`.
    F64(f64),
    /// For a column of text, an enum, a UUID, an IP address, a time, a date, or JSON.
    Text(String),
    /// For a column of bytes, or the stored bytes of a form of your own.
    Bytes(Bytes),
}

macro_rules! values {
    ($($type:ty: $variant:ident;)*) => {$(
        impl From<$type> for Value {
            fn from(value: $type) -> Self {
                Self::$variant(value.into())
            }
        }

        impl CellValue<Any> for $type {
            fn encode_value(&self, stored: CellType, out: &mut CellWriter<'_>) -> Result<(), CellError> {
                CellValue::<Any>::encode_value(&Value::from(self.clone()), stored, out)
            }
        }
    )*};
}

values! {
    i64: Integer;
    bool: Bool;
    f32: F32;
    f64: F64;
    String: Text;
    &str: Text;
    Bytes: Bytes;
    Vec<u8>: Bytes;
}

/// As a noun: `an integer`.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Integer(_) => "an integer",
            Self::Bool(_) => "a `bool`",
            Self::F32(_) => "an `f32`",
            Self::F64(_) => "an `f64`",
            Self::Text(_) => "text",
            Self::Bytes(_) => "bytes",
        })
    }
}

impl CellValue<Any> for Value {
    fn encode_value(&self, stored: CellType, out: &mut CellWriter<'_>) -> Result<(), CellError> {
        let fits = match (self, stored) {
            (Self::Integer(value), CellType::Integer { min, max }) => (min..=max).contains(value),
            (Self::Integer(value), CellType::Code(codes)) => codes.contains(value),
            (Self::Integer(_), CellType::UnixTime(_))
            | (Self::Bool(_), CellType::Bool)
            | (Self::F32(_), CellType::F32)
            | (Self::F64(_), CellType::F64)
            | (Self::Text(_), CellType::Text)
            | (Self::Bytes(_), CellType::Bytes | CellType::Custom(_)) => true,
            (Self::Text(text), CellType::Char) => text.chars().count() == 1,
            (Self::Text(text), CellType::Enum(names)) => names.contains(&&**text),
            (Self::Text(text), CellType::Json) => serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok(),
            (Self::Text(text), CellType::IpAddress) => {
                <std::net::IpAddr as Cell>::decode(text.as_bytes()).is_ok()
            }
            // Whether the text is one of these is known to the crate of the field's type alone.
            (Self::Text(_), CellType::Uuid | CellType::Time | CellType::Date) => true,
            (Self::Bytes(bytes), CellType::Array(length)) => bytes.len() == length,
            (Self::Bytes(bytes), CellType::Unit) => bytes.is_empty(),
            _ => false,
        };
        if !fits {
            return Err(CellError::unsupported(format_args!(
                "holds {stored}, and the value is {self}; convert it"
            )));
        }
        match self {
            Self::Integer(value) => value.encode(out),
            Self::Bool(value) => value.encode(out),
            Self::F32(value) => value.encode(out),
            Self::F64(value) => value.encode(out),
            Self::Text(value) => value.encode(out),
            Self::Bytes(value) => value.encode(out),
        }
    }
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
            return Ok(Entry::new(Ok(Place {
                family: Cow::Borrowed(family),
                qualifier: Bytes::from_static(column.name().as_bytes()),
                aliases: column.former(),
                stored: column.stored(),
                kind: column.kind(),
                is_required: column.is_required(),
                window_micros: 0,
            })));
        }
        match self.map_of(family) {
            Some((family, stored, kind)) => Ok(Entry::new(Ok(Place {
                family: Cow::Borrowed(family),
                qualifier: Bytes::copy_from_slice(name.as_bytes()),
                aliases: &[],
                stored,
                kind,
                is_required: false,
                window_micros: 0,
            }))),
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
    place: &Place,
    is_one: impl Fn(ColumnKind) -> bool,
    remedy: &str,
) -> Result<(), RowError> {
    if is_one(place.kind) {
        return Ok(());
    }
    Err(RowError::cell(place.name(), CellError::unsupported(remedy)))
}
