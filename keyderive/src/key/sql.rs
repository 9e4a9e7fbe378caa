//! The key as SQL sees it: the row key schema of its table, and the expressions over its columns.

mod expressions;
mod numbers;

pub use expressions::Sql;

use std::error::Error;
use std::fmt;

use super::format::{Field, Format};
use super::salt::{Salt, SaltHash, SaltPlace};
use super::schema::{Layout, Schema};
use super::show::Byte;

/// The names that SQL reserves in a table.
const RESERVED: [&str; 2] = ["_key", "_timestamp"];

/// Why a key type cannot be declared as a row key schema.
///
/// The text names the part of the key, the rule of the service that it breaks, and what to do.
#[derive(Clone, PartialEq, Eq)]
pub struct SqlError(String);

impl fmt::Display for SqlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The text, as that of [`FieldError`](super::FieldError).
impl fmt::Debug for SqlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SqlError").field(&format_args!("{self}")).finish()
    }
}

impl Error for SqlError {}

/// The row key schema of a table: what makes the parts of its row keys columns of SQL.
///
/// ```
/// use keyderive::RowKey;
///
/// #[derive(RowKey)]
/// #[salt(range = 4, over = "user_id")]
/// struct EventKey {
///     user_id: String,
///     #[reverse_ts]
///     at: u64,
/// }
///
/// let schema = EventKey::SCHEMA.row_key_schema()?;
/// assert!(schema.to_json().contains(r#"{"fieldName":"user_id","type":{"stringType":"#));
/// println!("{}", schema.to_yaml());
/// # Ok::<(), keyderive::key::SqlError>(())
/// ```
///
/// The forms are those of the message `google.bigtable.admin.v2.Type.Struct`: protobuf JSON, and the YAML that
/// `gcloud bigtable tables update --row-key-schema-definition-file` takes, with the delimiter in base64
/// (`--row-key-schema-pre-encoded-bytes`). Text layouts declare all parts as strings; numbers are cast by
/// [`Schema::sql`].
///
/// Fields have the names of the schema. The tag and the salt are called `tag` and `salt`, with as many `_` after it as
/// no field has: `salt_` where a field is called `salt`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowKeySchema {
    columns: Vec<Column>,
    encoding: Encoding,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Column {
    name: String,
    kind: Kind,
}

/// What a column holds. Its encoding is the one that SQL has for it in row keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    String,
    Bytes,
    Int64,
}

/// How the columns become one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    Singleton,
    Delimited(u8),
    OrderedCode,
}

impl Kind {
    /// The type and its encoding, by the names of the message.
    fn message(self) -> (&'static str, &'static str) {
        match self {
            Self::String => ("stringType", "utf8Bytes"),
            Self::Bytes => ("bytesType", "raw"),
            Self::Int64 => ("int64Type", "orderedCodeBytes"),
        }
    }
}

impl RowKeySchema {
    /// The columns from left to right.
    #[cfg(feature = "client")]
    pub(crate) fn columns(&self) -> impl Iterator<Item = (&str, Kind)> {
        self.columns.iter().map(|column| (column.name.as_str(), column.kind))
    }

    /// How they are joined.
    #[cfg(feature = "client")]
    pub(crate) fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// The schema as protobuf JSON.
    #[must_use]
    pub fn to_json(&self) -> String {
        let columns = self.columns.iter().map(|Column { name, kind }| {
            let (kind, encoding) = kind.message();
            format!(r#"{{"fieldName":"{name}","type":{{"{kind}":{{"encoding":{{"{encoding}":{{}}}}}}}}}}"#)
        });
        let columns = columns.collect::<Vec<_>>().join(",");
        let encoding = match self.encoding {
            Encoding::Singleton => r#"{"singleton":{}}"#.to_owned(),
            Encoding::OrderedCode => r#"{"orderedCodeBytes":{}}"#.to_owned(),
            Encoding::Delimited(byte) => {
                format!(r#"{{"delimitedBytes":{{"delimiter":"{}"}}}}"#, base64(byte))
            }
        };
        format!(r#"{{"fields":[{columns}],"encoding":{encoding}}}"#)
    }

    /// The schema as YAML.
    #[must_use]
    pub fn to_yaml(&self) -> String {
        let columns = self.columns.iter().map(|Column { name, kind }| {
            let (kind, encoding) = kind.message();
            format!("- fieldName: {name}\n  type:\n    {kind}:\n      encoding:\n        {encoding}: {{}}\n")
        });
        let encoding = match self.encoding {
            Encoding::Singleton => "  singleton: {}\n".to_owned(),
            Encoding::OrderedCode => "  orderedCodeBytes: {}\n".to_owned(),
            Encoding::Delimited(byte) => format!("  delimitedBytes:\n    delimiter: {}\n", base64(byte)),
        };
        format!("fields:\n{}encoding:\n{encoding}", columns.collect::<String>())
    }
}

/// One byte in base64.
fn base64(byte: u8) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digit = |value: u8| char::from(DIGITS[usize::from(value)]);
    format!("{}{}==", digit(byte >> 2), digit((byte & 3) << 4))
}

impl Schema {
    /// The row key schema that declares this key type's parts as columns of SQL.
    ///
    /// # Errors
    /// A field is called `_key` or `_timestamp`, which SQL reserves, or by a name with other characters than letters,
    /// digits and `_`.
    ///
    /// In the text layout, where a delimited schema takes no byte at or below its delimiter: a padded string, unless the
    /// delimiter is below the space; a signed number, a UUID with hyphens or the salt of `hash = "java"` where the
    /// delimiter is not below `-`; a number or a salt where it is not below `0`; a field written `with` a module or by a
    /// [`KeyField`](crate::KeyField) of its own, whose bytes are not known; a salt with a `sep`.
    pub fn row_key_schema(&self) -> Result<RowKeySchema, SqlError> {
        let mut columns = Vec::with_capacity(self.fields().len() + 2);
        let place_salt = |columns: &mut Vec<Column>, place| {
            if self.salt().is_some_and(|salt| salt.place() == place) {
                columns.push(Column { name: self.free_name("salt"), kind: self.kind_of_salt()? });
            }
            Ok(())
        };
        place_salt(&mut columns, SaltPlace::Front)?;
        if self.tag().is_some() {
            columns.push(Column { name: self.free_name("tag"), kind: Kind::String });
        }
        place_salt(&mut columns, SaltPlace::BeforeFields)?;
        for (at, field) in self.fields().iter().enumerate() {
            columns.push(Column { name: field.name().to_owned(), kind: self.kind_of(field)? });
            place_salt(&mut columns, SaltPlace::After { field: at })?;
        }
        let encoding = match self.layout() {
            Layout::OrderedCode => Encoding::OrderedCode,
            Layout::Delimited if columns.len() == 1 => Encoding::Singleton,
            Layout::Delimited => Encoding::Delimited(self.delimiter()),
        };
        Ok(RowKeySchema { columns, encoding })
    }

    /// `name`, or the next one that no field has.
    fn free_name(&self, name: &str) -> String {
        let mut name = name.to_owned();
        while self.fields().iter().any(|field| field.name() == name) {
            name.push('_');
        }
        name
    }

    /// The salt is a part as the fields are, so it must end as they do, and hold no byte that they may not.
    fn kind_of_salt(&self) -> Result<Kind, SqlError> {
        let fault = |reason: String| SqlError(format!("the salt of `{}` {reason}", self.key_type()));
        if let Layout::OrderedCode = self.layout() {
            return Ok(Kind::Int64);
        }
        if let Some(sep) = self.salt().and_then(Salt::sep) {
            return Err(fault(format!(
                "ends with `{sep}`, and a row key schema has one delimiter for all parts, which is {}; leave `sep` \
                 out for a new table",
                Byte(self.delimiter())
            )));
        }
        let least = match self.salt().map(Salt::hash) {
            Some(SaltHash::Java) => b'-',
            _ => b'0',
        };
        match least <= self.delimiter() {
            true => Err(fault(below_delimiter(least, self.delimiter()))),
            false => Ok(Kind::String),
        }
    }

    fn kind_of(&self, field: &Field) -> Result<Kind, SqlError> {
        let fault =
            |reason: String| SqlError(format!("field `{}` of `{}` {reason}", field.name(), self.key_type()));
        if RESERVED.contains(&field.name()) {
            return Err(fault(
                "has a name that SQL reserves; give it another one, such as `#[row_key(name = \"key\")]`"
                    .into(),
            ));
        }
        if !field.name().bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            return Err(fault("has a name that is no column's; use letters, digits and `_`".into()));
        }
        if let Layout::OrderedCode = self.layout() {
            return Ok(match field.format() {
                Format::Int64 | Format::BoolInt64 | Format::UnixTime(_) | Format::Date => Kind::Int64,
                Format::Utf8 => Kind::String,
                _ => Kind::Bytes,
            });
        }
        if let Format::Custom(name) = field.format() {
            return Err(fault(format!(
                "is written by `{name}`, of whose bytes nothing is known, and a delimited row key schema takes none \
                 at or below its delimiter; `layout = \"ordered\"` takes any for a new table"
            )));
        }
        let least = least_byte(field.format()).filter(|least| *least <= self.delimiter());
        match least {
            None => Ok(Kind::String),
            Some(byte) => Err(fault(below_delimiter(byte, self.delimiter()))),
        }
    }
}

/// The least byte that a format of the text layout is known to write; none for text that is checked against the
/// delimiter by itself.
fn least_byte(format: Format) -> Option<u8> {
    match format {
        Format::Decimal
        | Format::Hex
        | Format::Bool
        | Format::Md5
        | Format::UnixTime(_)
        | Format::DateTime17
        | Format::Date
        | Format::UuidSimple => Some(b'0'),
        Format::SignedDecimal | Format::Uuid => Some(b'-'),
        Format::PaddedUtf8 => Some(b' '),
        Format::Utf8
        | Format::EscapedUtf8
        | Format::Int64
        | Format::BoolInt64
        | Format::Bytes
        | Format::Custom(_) => None,
    }
}

/// Why a part with this byte cannot be declared.
fn below_delimiter(byte: u8, delimiter: u8) -> String {
    format!(
        "can hold {}, and a delimited row key schema takes no byte at or below its delimiter {}; choose a \
         delimiter below {} for a new table, or `layout = \"ordered\"`",
        Byte(byte),
        Byte(delimiter),
        Byte(byte),
    )
}

#[cfg(test)]
mod tests;
