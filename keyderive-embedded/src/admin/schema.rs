//! Row key schemas: the rules that the service has for them.
//!
//! A schema says how SQL reads a row key. Writes are not checked by it, and neither is it used here.

use keyderive_proto::admin::r#type::r#struct::encoding::Encoding;
use keyderive_proto::admin::r#type::r#struct::{Field, encoding};
use keyderive_proto::admin::r#type::{Kind, Struct, bytes, int64, string, timestamp};
use tonic::Status;

use crate::storage::Families;

/// The names that SQL has for the key as a whole and for the time of a row.
const RESERVED: [&str; 2] = ["_key", "_timestamp"];

const MAX_DELIMITER_BYTES: usize = 50;

pub(super) fn check(schema: &Struct, families: &Families) -> Result<(), Status> {
    fault(schema, families)
        .map_or(Ok(()), |fault| Err(Status::invalid_argument(format!("the row key schema {fault}"))))
}

fn fault(schema: &Struct, families: &Families) -> Option<String> {
    if schema.fields.is_empty() {
        return Some("has no fields".to_owned());
    }
    let fields = || schema.fields.iter().enumerate();
    encoding_fault(schema)
        .or_else(|| fields().find_map(|(place, field)| field_fault(place, field, families)))
        .or_else(|| {
            let mut named = fields();
            let (_, field) = named.find(|(place, field)| {
                schema.fields[..*place].iter().any(|other| other.field_name == field.field_name)
            })?;
            Some(format!("has two fields with the name `{}`", field.field_name))
        })
}

fn encoding_fault(schema: &Struct) -> Option<String> {
    let encoding = schema.encoding.as_ref().and_then(|encoding| encoding.encoding.as_ref());
    match encoding {
        None => Some("has no encoding".to_owned()),
        Some(Encoding::Singleton(_)) if schema.fields.len() != 1 => {
            Some(format!("has {} fields, and the encoding `singleton` is for one", schema.fields.len()))
        }
        Some(Encoding::DelimitedBytes(encoding::DelimitedBytes { delimiter }))
            if !(1..=MAX_DELIMITER_BYTES).contains(&delimiter.len()) =>
        {
            Some(format!(
                "has a delimiter of {} bytes, and one has 1 to {MAX_DELIMITER_BYTES}",
                delimiter.len()
            ))
        }
        Some(_) => None,
    }
}

fn field_fault(place: usize, field: &Field, families: &Families) -> Option<String> {
    let Field { field_name: name, r#type } = field;
    if name.is_empty() {
        return Some(format!("has a field without a name, at place {place}"));
    }
    if RESERVED.contains(&name.as_str()) {
        return Some(format!("has a field with the name `{name}`, which SQL reserves"));
    }
    if families.contains_key(name.as_str()) {
        return Some(format!("has a field with the name of the column family `{name}`"));
    }
    match r#type.as_ref().and_then(|r#type| r#type.kind.as_ref()) {
        None => Some(format!("has the field `{name}` without a type")),
        Some(Kind::StructType(_) | Kind::ArrayType(_) | Kind::MapType(_) | Kind::AggregateType(_)) => {
            Some(format!("has the field `{name}`, which is no scalar"))
        }
        Some(kind) if !has_encoding(kind) => Some(format!(
            "has the field `{name}`, whose type has no encoding: bytes, strings, integers and timestamps have one"
        )),
        Some(_) => None,
    }
}

fn has_encoding(kind: &Kind) -> bool {
    match kind {
        Kind::BytesType(bytes) => {
            matches!(bytes.encoding, Some(bytes::Encoding { encoding: Some(_) }))
        }
        Kind::StringType(string) => {
            matches!(string.encoding, Some(string::Encoding { encoding: Some(_) }))
        }
        Kind::Int64Type(int64) => matches!(int64.encoding, Some(int64::Encoding { encoding: Some(_) })),
        Kind::TimestampType(timestamp) => matches!(
            timestamp.encoding,
            Some(timestamp::Encoding {
                encoding: Some(timestamp::encoding::Encoding::UnixMicrosInt64(int64::Encoding {
                    encoding: Some(_)
                }))
            })
        ),
        _ => false,
    }
}
