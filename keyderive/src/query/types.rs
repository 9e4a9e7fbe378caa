//! The types of SQL values.

use std::fmt;

use keyderive_proto::admin::Type;
use keyderive_proto::admin::r#type::{self as messages, Kind, r#struct::Field};

/// The type of a column or a parameter of a query.
///
/// ```
/// use keyderive::query::SqlType;
///
/// let visits = SqlType::Map(Box::new(SqlType::Text), Box::new(SqlType::Array(Box::new(SqlType::Int64))));
/// assert_eq!(visits.to_string(), "MAP<STRING, ARRAY<INT64>>");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum SqlType {
    /// `BYTES`.
    Bytes,
    /// `STRING`. It is not called `String`, so that the compiler's messages keep the short name of Rust's `String`.
    Text,
    /// `INT64`.
    Int64,
    /// `FLOAT32`.
    Float32,
    /// `FLOAT64`.
    Float64,
    /// `BOOL`.
    Bool,
    /// `TIMESTAMP`.
    Timestamp,
    /// `DATE`.
    Date,
    /// `ARRAY`, with the type of its elements.
    Array(Box<SqlType>),
    /// `STRUCT`, with its fields. A field may have no name, and names may repeat.
    Struct(Vec<(String, SqlType)>),
    /// `MAP`, with the types of its keys and values.
    Map(Box<SqlType>, Box<SqlType>),
    /// A protobuf message of a schema bundle.
    Proto {
        /// The schema bundle.
        bundle: String,
        /// The full name of the message.
        message: String,
    },
    /// A protobuf enum of a schema bundle.
    Enum {
        /// The schema bundle.
        bundle: String,
        /// The full name of the enum.
        name: String,
    },
}

impl SqlType {
    /// The type that a message states.
    ///
    /// # Errors
    /// What is wrong with the message.
    pub(crate) fn of_message(message: Option<Type>) -> Result<Self, String> {
        let Some(kind) = message.and_then(|message| message.kind) else {
            return Err("its column type cannot be empty".to_owned());
        };
        let boxed = |inner: Option<Box<Type>>| Self::of_message(inner.map(|inner| *inner)).map(Box::new);
        Ok(match kind {
            Kind::BytesType(_) => Self::Bytes,
            Kind::StringType(_) => Self::Text,
            Kind::Int64Type(_) => Self::Int64,
            Kind::Float32Type(_) => Self::Float32,
            Kind::Float64Type(_) => Self::Float64,
            Kind::BoolType(_) => Self::Bool,
            Kind::TimestampType(_) => Self::Timestamp,
            Kind::DateType(_) => Self::Date,
            Kind::ArrayType(array) => Self::Array(boxed(array.element_type)?),
            Kind::StructType(fields) => {
                let field = |Field { field_name, r#type }| Ok((field_name, Self::of_message(r#type)?));
                Self::Struct(fields.fields.into_iter().map(field).collect::<Result<_, String>>()?)
            }
            Kind::MapType(map) => Self::Map(boxed(map.key_type)?, boxed(map.value_type)?),
            Kind::ProtoType(proto) => {
                Self::Proto { bundle: proto.schema_bundle_id, message: proto.message_name }
            }
            Kind::EnumType(named) => Self::Enum { bundle: named.schema_bundle_id, name: named.enum_name },
            Kind::AggregateType(_) => return Err("an aggregate is no type of a result".to_owned()),
        })
    }

    /// The message for this type.
    pub(crate) fn to_message(&self) -> Type {
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
                Kind::StructType(messages::Struct {
                    fields: fields.iter().map(field).collect(),
                    encoding: None,
                })
            }
            Self::Map(key, value) => {
                Kind::MapType(Box::new(messages::Map { key_type: boxed(key), value_type: boxed(value) }))
            }
            Self::Proto { bundle, message } => Kind::ProtoType(messages::Proto {
                schema_bundle_id: bundle.clone(),
                message_name: message.clone(),
            }),
            Self::Enum { bundle, name } => {
                Kind::EnumType(messages::Enum { schema_bundle_id: bundle.clone(), enum_name: name.clone() })
            }
        };
        Type { kind: Some(kind) }
    }
}

/// As in SQL.
impl fmt::Display for SqlType {
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
                for (index, (name, of)) in fields.iter().enumerate() {
                    let comma = if index == 0 { "" } else { ", " };
                    let space = if name.is_empty() { "" } else { " " };
                    write!(f, "{comma}{name}{space}{of}")?;
                }
                f.write_str(">")
            }
            Self::Map(key, value) => write!(f, "MAP<{key}, {value}>"),
            Self::Proto { message, .. } => write!(f, "PROTO<{message}>"),
            Self::Enum { name, .. } => write!(f, "ENUM<{name}>"),
        }
    }
}
