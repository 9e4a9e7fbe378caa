//! The types of SQL values.

use std::fmt;

use keyderive_proto::admin::Type as Message;
use keyderive_proto::admin::r#type::{self as messages, Kind, r#struct::Field};
use tonic::Status;

use crate::error::{invalid, unimplemented};

/// The type of an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    Bytes,
    Text,
    Int64,
    Float32,
    Float64,
    Bool,
    Timestamp,
    Date,
    Array(Box<Type>),
    /// The names and types of its fields. A name may be empty.
    Struct(Vec<(String, Type)>),
    Map(Box<Type>, Box<Type>),
}

impl Type {
    pub(crate) fn array(element: Self) -> Self {
        Self::Array(Box::new(element))
    }

    /// How many types it consists of.
    pub(crate) fn count(&self) -> usize {
        1 + match self {
            Self::Array(element) => element.count(),
            Self::Map(key, value) => key.count() + value.count(),
            Self::Struct(fields) => fields.iter().map(|(_, of)| of.count()).sum(),
            _ => 0,
        }
    }

    pub(crate) fn map(key: Self, value: Self) -> Self {
        Self::Map(Box::new(key), Box::new(value))
    }

    /// The versions of a value, as `with_history` shows them: newest first.
    pub(crate) fn history(value: Self) -> Self {
        let fields = vec![("timestamp".to_owned(), Self::Timestamp), ("value".to_owned(), value)];
        Self::array(Self::Struct(fields))
    }

    /// The type of the values in the versions of a value, if this is the type of these.
    pub(crate) fn of_history(&self) -> Option<&Self> {
        let Self::Array(element) = self else { return None };
        match &**element {
            Self::Struct(fields) => match &fields[..] {
                [(timestamp, Self::Timestamp), (value, of)]
                    if timestamp == "timestamp" && value == "value" =>
                {
                    Some(of)
                }
                _ => None,
            },
            _ => None,
        }
    }

    pub(crate) fn is_text_or_bytes(&self) -> bool {
        matches!(self, Self::Text | Self::Bytes)
    }

    pub(crate) fn is_float(&self) -> bool {
        matches!(self, Self::Float32 | Self::Float64)
    }

    pub(crate) fn is_number(&self) -> bool {
        self.is_float() || *self == Self::Int64
    }

    /// Whether its values have an order.
    pub(crate) fn is_ordered(&self) -> bool {
        !matches!(self, Self::Array(_) | Self::Struct(_) | Self::Map(..))
    }

    /// Whether rows can be grouped by its values.
    pub(crate) fn is_groupable(&self) -> bool {
        match self {
            Self::Map(..) => false,
            Self::Array(element) => element.is_groupable(),
            Self::Struct(fields) => fields.iter().all(|(_, of)| of.is_groupable()),
            _ => true,
        }
    }

    /// The type of a parameter.
    pub(crate) fn of_message(message: &Message) -> Result<Self, Status> {
        let Some(kind) = &message.kind else {
            return Err(invalid("a parameter has a type without a kind"));
        };
        let inner = |inner: &Option<Box<Message>>| match inner {
            Some(inner) => Self::of_message(inner),
            None => Err(invalid("a parameter has an array or a map without the type of its elements")),
        };
        Ok(match kind {
            Kind::BytesType(_) => Self::Bytes,
            Kind::StringType(_) => Self::Text,
            Kind::Int64Type(_) => Self::Int64,
            Kind::Float32Type(_) => Self::Float32,
            Kind::Float64Type(_) => Self::Float64,
            Kind::BoolType(_) => Self::Bool,
            Kind::TimestampType(_) => Self::Timestamp,
            Kind::DateType(_) => Self::Date,
            Kind::ArrayType(array) => Self::array(inner(&array.element_type)?),
            Kind::StructType(fields) => {
                let field = |field: &Field| {
                    Ok((field.field_name.clone(), inner(&field.r#type.clone().map(Box::new))?))
                };
                Self::Struct(fields.fields.iter().map(field).collect::<Result<_, Status>>()?)
            }
            Kind::MapType(map) => Self::map(inner(&map.key_type)?, inner(&map.value_type)?),
            Kind::AggregateType(_) => return Err(unimplemented("parameters that are aggregates")),
            Kind::ProtoType(_) | Kind::EnumType(_) => {
                return Err(unimplemented("parameters of types from schema bundles"));
            }
        })
    }

    /// The message for this type.
    pub(crate) fn to_message(&self) -> Message {
        let boxed = |inner: &Self| Some(Box::new(inner.to_message()));
        let kind = match self {
            Self::Bytes => Kind::BytesType(messages::Bytes::default()),
            Self::Text => Kind::StringType(messages::String::default()),
            Self::Int64 => Kind::Int64Type(messages::Int64::default()),
            Self::Float32 => Kind::Float32Type(messages::Float32::default()),
            Self::Float64 => Kind::Float64Type(messages::Float64::default()),
            Self::Bool => Kind::BoolType(messages::Bool::default()),
            Self::Timestamp => Kind::TimestampType(messages::Timestamp::default()),
            Self::Date => Kind::DateType(messages::Date::default()),
            Self::Array(element) => {
                Kind::ArrayType(Box::new(messages::Array { element_type: boxed(element) }))
            }
            Self::Struct(fields) => {
                let field = |(name, of): &(String, Self)| Field {
                    field_name: name.clone(),
                    r#type: Some(of.to_message()),
                };
                let fields = fields.iter().map(field).collect();
                Kind::StructType(messages::Struct { fields, encoding: None })
            }
            Self::Map(key, value) => {
                Kind::MapType(Box::new(messages::Map { key_type: boxed(key), value_type: boxed(value) }))
            }
        };
        Message { kind: Some(kind) }
    }
}

/// As in SQL.
impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes => f.write_str("BYTES"),
            Self::Text => f.write_str("STRING"),
            Self::Int64 => f.write_str("INT64"),
            Self::Float32 => f.write_str("FLOAT32"),
            Self::Float64 => f.write_str("FLOAT64"),
            Self::Bool => f.write_str("BOOL"),
            Self::Timestamp => f.write_str("TIMESTAMP"),
            Self::Date => f.write_str("DATE"),
            Self::Array(element) => write!(f, "ARRAY<{element}>"),
            Self::Struct(fields) => {
                f.write_str("STRUCT<")?;
                for (place, (name, of)) in fields.iter().enumerate() {
                    let comma = if place == 0 { "" } else { ", " };
                    let space = if name.is_empty() { "" } else { " " };
                    write!(f, "{comma}{name}{space}{of}")?;
                }
                f.write_str(">")
            }
            Self::Map(key, value) => write!(f, "MAP<{key}, {value}>"),
        }
    }
}
