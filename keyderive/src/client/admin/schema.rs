//! Row key schemas: as the service has them, in words, and where two of them differ.

use std::fmt;

use keyderive_proto::admin;
use keyderive_proto::admin::r#type::r#struct::encoding::{self, Encoding as Joined};
use keyderive_proto::admin::r#type::r#struct::{Encoding, Field};
use keyderive_proto::admin::r#type::{self, Kind, Struct, bytes, int64, string};

use crate::key::{ColumnEncoding, ColumnKind, RowKeySchema};

/// The row key schema that a table has: how Bigtable's SQL reads its row keys.
///
/// ```
/// use keyderive::RowKey;
/// use keyderive::client::TableSchema;
///
/// #[derive(RowKey)]
/// #[row_key(layout = "ordered")]
/// struct EventKey {
///     user_id: String,
///     at: u64,
/// }
///
/// // What `Table::info` gives of a table that was created for these keys.
/// let schema = TableSchema::from(&EventKey::row_key_schema()?);
/// assert_eq!(schema.to_string(), "`user_id` STRING, `at` INT64, in ordered code");
/// # Ok::<(), keyderive::key::SqlError>(())
/// ```
#[derive(Clone, PartialEq)]
pub struct TableSchema(pub(super) Struct);

impl TableSchema {
    /// The names of its columns, from left to right.
    pub fn columns(&self) -> impl Iterator<Item = &str> {
        self.0.fields.iter().map(|field| field.field_name.as_str())
    }

    /// Where this schema is not the one that is expected; none where it is.
    pub(crate) fn difference(&self, expected: &Self) -> Option<String> {
        let (Self(found), Self(expected)) = (self, expected);
        for (at, (field, wanted)) in found.fields.iter().zip(&expected.fields).enumerate() {
            let place = at + 1;
            if field.field_name != wanted.field_name {
                return Some(format!(
                    "column {place} is to be `{}` and is `{}`",
                    wanted.field_name, field.field_name
                ));
            }
            let (type_, wanted_type) = (type_words(field), type_words(wanted));
            if type_ != wanted_type {
                return Some(format!(
                    "column {place}, `{}`, is to be {wanted_type} and is {type_}",
                    field.field_name
                ));
            }
        }
        if found.fields.len() != expected.fields.len() {
            let (some, all) = (found.fields.len(), expected.fields.len());
            return Some(format!("it is to have {all} columns and has {some}"));
        }
        let (joined, wanted) = (joined_words(found), joined_words(expected));
        (joined != wanted).then(|| format!("its columns are to be {wanted} and are {joined}"))
    }
}

/// The schema that a key type has.
impl From<&RowKeySchema> for TableSchema {
    fn from(schema: &RowKeySchema) -> Self {
        let field = |(name, kind): (&str, ColumnKind)| Field {
            field_name: name.to_owned(),
            r#type: Some(admin::Type { kind: Some(kind_message(kind)) }),
        };
        let encoding = match schema.encoding() {
            ColumnEncoding::Singleton => Joined::Singleton(encoding::Singleton {}),
            ColumnEncoding::OrderedCode => Joined::OrderedCodeBytes(encoding::OrderedCodeBytes {}),
            ColumnEncoding::Delimited(byte) => {
                Joined::DelimitedBytes(encoding::DelimitedBytes { delimiter: vec![byte].into() })
            }
        };
        Self(Struct {
            fields: schema.columns().map(field).collect(),
            encoding: Some(Encoding { encoding: Some(encoding) }),
        })
    }
}

fn kind_message(kind: ColumnKind) -> Kind {
    match kind {
        ColumnKind::String => {
            let encoding = string::encoding::Encoding::Utf8Bytes(string::encoding::Utf8Bytes {});
            Kind::StringType(r#type::String { encoding: Some(string::Encoding { encoding: Some(encoding) }) })
        }
        ColumnKind::Bytes => {
            let encoding = bytes::encoding::Encoding::Raw(bytes::encoding::Raw {});
            Kind::BytesType(r#type::Bytes { encoding: Some(bytes::Encoding { encoding: Some(encoding) }) })
        }
        ColumnKind::Int64 => {
            let encoding = int64::encoding::Encoding::OrderedCodeBytes(int64::encoding::OrderedCodeBytes {});
            Kind::Int64Type(r#type::Int64 { encoding: Some(int64::Encoding { encoding: Some(encoding) }) })
        }
    }
}

/// A column's type, and how it is encoded where that is not how every keyderive type is.
fn type_words(field: &Field) -> &'static str {
    use int64::encoding::Encoding as OfInt64;

    let Some(kind) = field.r#type.as_ref().and_then(|r#type| r#type.kind.as_ref()) else {
        return "of no type";
    };
    match kind {
        // The older name of the encoding writes the same bytes.
        Kind::StringType(_) => "STRING",
        Kind::BytesType(_) => "BYTES",
        Kind::Int64Type(r#type::Int64 { encoding }) => {
            match encoding.as_ref().and_then(|encoding| encoding.encoding.as_ref()) {
                Some(OfInt64::OrderedCodeBytes(_)) => "INT64",
                Some(OfInt64::BigEndianBytes(_)) => "INT64 in 8 big-endian bytes",
                None => "INT64 of no encoding",
            }
        }
        Kind::BoolType(_) => "BOOL",
        Kind::Float32Type(_) => "FLOAT32",
        Kind::Float64Type(_) => "FLOAT64",
        Kind::TimestampType(_) => "TIMESTAMP",
        Kind::DateType(_) => "DATE",
        Kind::AggregateType(_) | Kind::StructType(_) | Kind::ArrayType(_) | Kind::MapType(_) => "no scalar",
    }
}

/// How the columns become one key.
fn joined_words(schema: &Struct) -> String {
    match schema.encoding.as_ref().and_then(|encoding| encoding.encoding.as_ref()) {
        Some(Joined::Singleton(_)) => "the whole key".to_owned(),
        Some(Joined::DelimitedBytes(encoding::DelimitedBytes { delimiter })) => {
            format!("delimited by {}", crate::key::ShownKey(delimiter))
        }
        Some(Joined::OrderedCodeBytes(_)) => "in ordered code".to_owned(),
        None => "of no encoding".to_owned(),
    }
}

impl fmt::Display for TableSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for field in &self.0.fields {
            write!(f, "`{}` {}, ", field.field_name, type_words(field))?;
        }
        f.write_str(&joined_words(&self.0))
    }
}

impl fmt::Debug for TableSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TableSchema({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RowKey;

    #[derive(RowKey)]
    struct Text {
        user: String,
        at: u64,
    }

    #[derive(RowKey)]
    #[row_key(layout = "ordered")]
    struct Ordered {
        user: String,
        at: u64,
    }

    #[derive(RowKey)]
    struct Other {
        user: String,
        on: u64,
    }

    #[derive(RowKey)]
    struct Alone {
        user: String,
    }

    fn schema<K: RowKey>() -> TableSchema {
        (&K::row_key_schema().unwrap()).into()
    }

    #[test]
    fn a_schema_is_said_in_words() {
        assert_eq!(schema::<Text>().to_string(), "`user` STRING, `at` STRING, delimited by `#`");
        assert_eq!(schema::<Ordered>().to_string(), "`user` STRING, `at` INT64, in ordered code");
        assert_eq!(schema::<Alone>().to_string(), "`user` STRING, the whole key");
        assert!(schema::<Text>().columns().eq(["user", "at"]));
    }

    #[test]
    fn a_difference_names_the_column() {
        let difference = |found: TableSchema, expected: TableSchema| found.difference(&expected);
        assert_eq!(difference(schema::<Text>(), schema::<Text>()), None);
        assert_eq!(
            difference(schema::<Ordered>(), schema::<Text>()).unwrap(),
            "column 2, `at`, is to be STRING and is INT64"
        );
        assert_eq!(
            difference(schema::<Other>(), schema::<Text>()).unwrap(),
            "column 2 is to be `at` and is `on`"
        );
        assert_eq!(
            difference(schema::<Alone>(), schema::<Text>()).unwrap(),
            "it is to have 2 columns and has 1"
        );
        let mut dashed = schema::<Text>();
        dashed.0.encoding = Some(Encoding {
            encoding: Some(Joined::DelimitedBytes(encoding::DelimitedBytes { delimiter: "-".into() })),
        });
        assert_eq!(
            difference(dashed, schema::<Text>()).unwrap(),
            "its columns are to be delimited by `#` and are delimited by `-`"
        );
    }

    #[test]
    fn the_older_name_of_an_encoding_makes_no_difference() {
        let mut old = schema::<Alone>();
        let encoding = string::encoding::Encoding::Utf8Raw(string::encoding::Utf8Raw {});
        old.0.fields[0].r#type = Some(admin::Type {
            kind: Some(Kind::StringType(r#type::String {
                encoding: Some(string::Encoding { encoding: Some(encoding) }),
            })),
        });
        assert_eq!(old.difference(&schema::<Alone>()), None);
    }
}
