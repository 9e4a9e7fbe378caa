//! The key in SQL: the row key schema of its table, and expressions over its columns.

use std::error::Error;
use std::fmt;

use super::codec::ESCAPED;
use super::codec::Ordered;
use super::field::KeyField;
use super::format::{Field, FieldOrder, Format, KeyEncoding, TimeUnit, Width};
use super::salt::{Salt, SaltHash, SaltPlace};
use super::schema::KeySchema;
use super::show::Byte;
use crate::intern::{Interner, TooManyLayouts, leak_list, leak_text};

/// Column names that SQL reserves.
const RESERVED: [&str; 2] = ["_key", "_timestamp"];

/// Why a key type has no row key schema, or no SQL expressions.
///
/// The text names the part of the key, the rule of the service that it breaks, and what to do.
#[derive(Clone, PartialEq, Eq)]
pub struct SqlError(String);

impl fmt::Display for SqlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The text, as [`FieldError`](super::FieldError) does.
impl fmt::Debug for SqlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SqlError").field(&format_args!("{self}")).finish()
    }
}

impl Error for SqlError {}

/// The row key schema of a table, which makes the parts of its row keys columns in SQL.
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
/// [`to_json`](Self::to_json) gives the message `google.bigtable.admin.v2.Type.Struct` as protobuf JSON,
/// [`to_yaml`](Self::to_yaml) the file for `gcloud bigtable tables update --row-key-schema-definition-file`, with the
/// delimiter in base64 (`--row-key-schema-pre-encoded-bytes`). In the text layout, all columns are strings; the
/// expressions of [`KeySchema::sql`] cast the numbers.
///
/// Columns have the names of the fields. The tag and the salt are called `tag` and `salt`, followed by `_` if a field has
/// that name: `salt_` beside a field `salt`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowKeySchema {
    columns: Vec<SchemaColumn>,
    encoding: ColumnJoin,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct SchemaColumn {
    name: String,
    kind: SqlColumnType,
}

/// The type of a column, which also decides its encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SqlColumnType {
    String,
    Bytes,
    Int64,
}

/// How the columns are joined into a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ColumnJoin {
    Singleton,
    Delimited(u8),
    OrderedCode,
}

impl SqlColumnType {
    /// The names of the type and its encoding in the message.
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
    pub(crate) fn columns(&self) -> impl Iterator<Item = (&str, SqlColumnType)> {
        self.columns.iter().map(|column| (column.name.as_str(), column.kind))
    }

    /// How they are joined.
    pub(crate) fn encoding(&self) -> ColumnJoin {
        self.encoding
    }

    /// The schema as protobuf JSON.
    #[must_use]
    pub fn to_json(&self) -> String {
        let columns = self.columns.iter().map(|SchemaColumn { name, kind }| {
            let (kind, encoding) = kind.message();
            format!(r#"{{"fieldName":"{name}","type":{{"{kind}":{{"encoding":{{"{encoding}":{{}}}}}}}}}}"#)
        });
        let columns = columns.collect::<Vec<_>>().join(",");
        let encoding = match self.encoding {
            ColumnJoin::Singleton => r#"{"singleton":{}}"#.to_owned(),
            ColumnJoin::OrderedCode => r#"{"orderedCodeBytes":{}}"#.to_owned(),
            ColumnJoin::Delimited(byte) => {
                format!(r#"{{"delimitedBytes":{{"delimiter":"{}"}}}}"#, base64(byte))
            }
        };
        format!(r#"{{"fields":[{columns}],"encoding":{encoding}}}"#)
    }

    /// The schema as YAML.
    #[must_use]
    pub fn to_yaml(&self) -> String {
        let columns = self.columns.iter().map(|SchemaColumn { name, kind }| {
            let (kind, encoding) = kind.message();
            format!("- fieldName: {name}\n  type:\n    {kind}:\n      encoding:\n        {encoding}: {{}}\n")
        });
        let encoding = match self.encoding {
            ColumnJoin::Singleton => "  singleton: {}\n".to_owned(),
            ColumnJoin::OrderedCode => "  orderedCodeBytes: {}\n".to_owned(),
            ColumnJoin::Delimited(byte) => format!("  delimitedBytes:\n    delimiter: {}\n", base64(byte)),
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

impl KeySchema {
    /// The row key schema that declares this key type's parts as columns of SQL.
    ///
    /// # Errors
    /// A field is called `_key` or `_timestamp`, which SQL reserves, or has a name with characters other than letters,
    /// digits and `_`.
    ///
    /// In the text layout, columns cannot hold bytes at or below the delimiter, and only the delimiter can end them:
    /// - a padded string needs a delimiter below the space;
    /// - a signed number, a UUID with hyphens and the salt of `hash = "java"` need one below `-`;
    /// - a number and a salt need one below `0`;
    /// - a field written `with` a module or by a handwritten [`KeyField`](crate::KeyField), whose bytes are not known, and a
    ///   salt with a `sep` always fail.
    ///
    /// A key type with salts [from a date on](Self::epochs) always fails: its keys have other parts before a bound.
    pub fn row_key_schema(&self) -> Result<RowKeySchema, SqlError> {
        if let Some(epoch) = self.epochs().first() {
            return Err(SqlError(format!(
                "the keys of `{}` have other parts before {} than since then, and a row key schema has the same parts for all \
                 keys; read the table through scans",
                self.key_type(),
                epoch.since(),
            )));
        }
        let mut columns = Vec::with_capacity(self.fields().len() + 2);
        let place_salt = |columns: &mut Vec<SchemaColumn>, place| {
            if self.salt().is_some_and(|salt| salt.place() == place) {
                columns.push(SchemaColumn { name: self.unused_name("salt"), kind: self.salt_column_kind()? });
            }
            Ok(())
        };
        place_salt(&mut columns, SaltPlace::Front)?;
        if self.tag().is_some() {
            columns.push(SchemaColumn { name: self.unused_name("tag"), kind: SqlColumnType::String });
        }
        place_salt(&mut columns, SaltPlace::BeforeFields)?;
        for (at, field) in self.fields().iter().enumerate() {
            columns.push(SchemaColumn { name: field.name().to_owned(), kind: self.column_kind(field)? });
            place_salt(&mut columns, SaltPlace::After { field: at })?;
        }
        let encoding = match self.layout() {
            KeyEncoding::OrderedCode => ColumnJoin::OrderedCode,
            KeyEncoding::Delimited if columns.len() == 1 => ColumnJoin::Singleton,
            KeyEncoding::Delimited => ColumnJoin::Delimited(self.delimiter()),
        };
        Ok(RowKeySchema { columns, encoding })
    }

    /// The ordered layout of keys that are known only by their row key schema: text, bytes and integers of 64 bits.
    ///
    /// # Errors
    /// As [`KeySchema::from_json`], if there are too many.
    pub(crate) fn of_ordered_columns(
        table: &str,
        columns: &[(&str, SqlColumnType)],
    ) -> Result<&'static Self, TooManyLayouts> {
        fn field<T: KeyField<Ordered>>(name: &'static str, rust_type: &'static str) -> Field {
            Field::new(name, rust_type, T::FORMAT, T::WIDTH, T::ORDER).with_values(T::VALUES)
        }

        static KEPT: Interner<KeySchema> = Interner::new("row key schemas");
        KEPT.intern(format!("{table} {columns:?}"), || {
            let fields = columns.iter().map(|(name, kind)| match kind {
                SqlColumnType::String => field::<String>(leak_text(name), "String"),
                SqlColumnType::Bytes => field::<Vec<u8>>(leak_text(name), "Vec<u8>"),
                SqlColumnType::Int64 => field::<i64>(leak_text(name), "i64"),
            });
            Self::new(leak_text(table), b'#', None, None, leak_list(fields))
                .with_layout(KeyEncoding::OrderedCode)
        })
    }

    /// `name`, followed by `_` as long as a field has that name.
    fn unused_name(&self, name: &str) -> String {
        let mut name = name.to_owned();
        while self.fields().iter().any(|field| field.name() == name) {
            name.push('_');
        }
        name
    }

    /// The salt is a column too: the delimiter must end it, and it must not hold a byte at or below the delimiter.
    fn salt_column_kind(&self) -> Result<SqlColumnType, SqlError> {
        let fault = |reason: String| SqlError(format!("the salt of `{}` {reason}", self.key_type()));
        if let KeyEncoding::OrderedCode = self.layout() {
            return Ok(SqlColumnType::Int64);
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
            false => Ok(SqlColumnType::String),
        }
    }

    fn column_kind(&self, field: &Field) -> Result<SqlColumnType, SqlError> {
        let fault =
            |reason: String| SqlError(format!("field `{}` of `{}` {reason}", field.name(), self.key_type()));
        if RESERVED.contains(&field.name()) {
            return Err(fault(
                "has a name that SQL reserves; give it another one, such as `#[row_key(name = \"key\")]`"
                    .into(),
            ));
        }
        if !field.name().bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            return Err(fault("has a name that a column cannot have; use letters, digits and `_`".into()));
        }
        if let KeyEncoding::OrderedCode = self.layout() {
            return Ok(match field.format() {
                Format::Int64 | Format::BoolInt64 | Format::UnixTime(_) | Format::Date => {
                    SqlColumnType::Int64
                }
                Format::Utf8 => SqlColumnType::String,
                _ => SqlColumnType::Bytes,
            });
        }
        if let Format::Custom(name) = field.format() {
            return Err(fault(format!(
                "is written by `{name}`, which may write any byte, but a delimited row key schema allows none \
                 at or below its delimiter; use `layout = \"ordered\"` for a new table"
            )));
        }
        let least = least_byte(field.format()).filter(|least| *least <= self.delimiter());
        match least {
            None => Ok(SqlColumnType::String),
            Some(byte) => Err(fault(below_delimiter(byte, self.delimiter()))),
        }
    }
}

/// The least byte that a format of the text layout can write; `None` for text, which the key checks against the
/// delimiter.
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

/// The error for a part that can hold this byte.
fn below_delimiter(byte: u8, delimiter: u8) -> String {
    format!(
        "can contain {}, but a delimited row key schema allows no byte at or below its delimiter {}; choose a \
         delimiter below {} for a new table, or `layout = \"ordered\"`",
        Byte(byte),
        Byte(delimiter),
        Byte(byte),
    )
}

/// The typed fields of a key, and its salt, as SQL expressions.
///
/// ```
/// use keyderive::RowKey;
///
/// #[derive(RowKey)]
/// struct EventKey {
///     user_id: String,
///     #[reverse_ts]
///     at: u64,
/// }
///
/// assert_eq!(EventKey::sql()?.field("at"), Some("9223372036854775807 - CAST(`at` AS INT64)"));
/// # Ok::<(), keyderive::key::SqlError>(())
/// ```
///
/// Printed, it is a `SELECT` list over the columns of the row key schema. Each expression has the name of its field, and
/// the recomputed bucket the name of the salt's column.
///
/// | stored as | expression of |
/// |---|---|
/// | a number, a code | `INT64` |
/// | a `bool` | `BOOL` |
/// | a time | `TIMESTAMP`, whose nanoseconds are rounded down to microseconds |
/// | a date | `DATE` |
/// | bytes | `BYTES` |
/// | a string | `STRING`, without its padding and its escapes |
/// | a UUID, a hash | what is stored: `STRING` in the text layout, `BYTES` in the ordered one |
///
/// # Limits
/// The expressions use functions and types of GoogleSQL that BigQuery, Spanner and Bigtable document; they have not been
/// run on any of them. `FARM_FINGERPRINT`, which recomputes the bucket, is documented for BigQuery and Spanner, and not
/// verified in Bigtable's own SQL.
///
/// Numbers are computed as `INT64`. A value above 9223372036854775807 fails the query that reads it; a `u64` can be above
/// it, also with `#[pad(n)]`, `desc` or a `#[reverse_ts]` with a greater `max`, and so can the nanoseconds of times after
/// 2262-04-11. A time that the engine's `TIMESTAMP` cannot hold fails the query too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sql {
    columns: Vec<(&'static str, String)>,
    salt: Option<SaltColumn>,
}

/// The recomputed bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
struct SaltColumn {
    name: String,
    expression: String,
}

impl Sql {
    /// The expression that recomputes the bucket of a row from its salted columns.
    #[must_use]
    pub fn salt(&self) -> Option<&str> {
        self.salt.as_ref().map(|salt| salt.expression.as_str())
    }

    /// The expression of a field's value, by the field's name.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&str> {
        self.columns.iter().find(|(known, _)| *known == name).map(|(_, expression)| expression.as_str())
    }
}

impl fmt::Display for Sql {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(SaltColumn { name, expression }) = &self.salt {
            writeln!(f, "{expression} AS {name},")?;
        }
        for (at, (name, expression)) in self.columns.iter().enumerate() {
            let comma = if at + 1 == self.columns.len() { "" } else { "," };
            writeln!(f, "{expression} AS {}{comma}", quoted(name))?;
        }
        Ok(())
    }
}

impl KeySchema {
    /// The expressions over the columns of the row key schema that compute the typed fields and the salt.
    ///
    /// # Errors
    /// Those of [`row_key_schema`](Self::row_key_schema); for a field whose numbers can have more than 20 digits, whose
    /// values are all above an `INT64`, or whose bits are reversed; for a salt with `hash = "java"`, or over numbers,
    /// times and dates of the ordered layout, which SQL cannot encode.
    pub fn sql(&self) -> Result<Sql, SqlError> {
        self.row_key_schema()?;
        let mut columns = Vec::with_capacity(self.fields().len());
        for field in self.fields() {
            columns.push((field.name(), self.typed(field)?));
        }
        let salt = match self.salt() {
            Some(_) => {
                Some(SaltColumn { name: self.unused_name("salt"), expression: self.salt_expression()? })
            }
            None => None,
        };
        Ok(Sql { columns, salt })
    }

    fn typed(&self, field: &Field) -> Result<String, SqlError> {
        let name = quoted(field.name());
        Ok(match field.format() {
            Format::Decimal | Format::SignedDecimal | Format::Int64 => self.number(field)?,
            Format::UnixTime(unit) => self.timestamp(unit, &self.number(field)?),
            Format::Date => format!("PARSE_DATE('%Y%m%d', {})", self.digits(field, 8)?),
            Format::DateTime17 => date_time(&self.digits(field, 17)?),
            Format::Bool if field.order().is_reversed() => format!("{name} = '0'"),
            Format::Bool => format!("{name} = '1'"),
            // The Int64 of `!1`.
            Format::BoolInt64 if field.order().is_reversed() => format!("{name} = -2"),
            Format::BoolInt64 => format!("{name} = 1"),
            Format::Hex => format!("FROM_HEX({name})"),
            Format::PaddedUtf8 => format!("RTRIM({name}, ' ')"),
            Format::EscapedUtf8 => unescaped(&name),
            _ => name,
        })
    }

    /// The digits of a date or time, with the leading zeros of years before 1000.
    fn digits(&self, field: &Field, width: usize) -> Result<String, SqlError> {
        match (field.order().is_reversed(), field.width()) {
            (false, Width::Fixed(_)) => Ok(quoted(field.name())),
            _ => Ok(format!("LPAD(CAST({} AS STRING), {width}, '0')", self.number(field)?)),
        }
    }

    /// A count of a unit since the epoch as a `TIMESTAMP`, which holds microseconds.
    fn timestamp(&self, unit: TimeUnit, count: &str) -> String {
        match (unit, self.layout()) {
            (TimeUnit::Secs, _) => format!("TIMESTAMP_SECONDS({count})"),
            (TimeUnit::Millis, _) => format!("TIMESTAMP_MILLIS({count})"),
            (TimeUnit::Micros, _) => format!("TIMESTAMP_MICROS({count})"),
            (TimeUnit::Nanos, KeyEncoding::Delimited) => format!("TIMESTAMP_MICROS(DIV({count}, 1000))"),
            // Rounded down, also before the epoch.
            (TimeUnit::Nanos, KeyEncoding::OrderedCode) => {
                format!("TIMESTAMP_MICROS(DIV({count} - MOD(MOD({count}, 1000) + 1000, 1000), 1000))")
            }
        }
    }

    fn salt_expression(&self) -> Result<String, SqlError> {
        let Some(salt) = self.salt() else {
            return Ok(String::new());
        };
        if let SaltHash::Java = salt.hash() {
            return Err(SqlError(format!(
                "the salt of `{}` is Java's `String.hashCode`, which SQL has no function for; select the columns \
                 of the row key schema as they are, or leave `hash` out for a new table",
                self.key_type()
            )));
        }
        let mut parts = Vec::with_capacity(salt.over().len());
        for at in salt.over() {
            let field = &self.fields()[*at];
            let name = quoted(field.name());
            parts.push(match (self.layout(), self.column_kind(field)?) {
                (KeyEncoding::Delimited, _) => name,
                (KeyEncoding::OrderedCode, SqlColumnType::String) => {
                    ordered_part(&format!("CAST({name} AS BYTES)"))
                }
                (KeyEncoding::OrderedCode, SqlColumnType::Bytes) => ordered_part(&name),
                (KeyEncoding::OrderedCode, SqlColumnType::Int64) => {
                    return Err(SqlError(format!(
                        "the salt of `{}` is over `{}`, whose ordered code SQL has no function for; \
                         salt over text or bytes",
                        self.key_type(),
                        field.name()
                    )));
                }
            });
        }
        let separator = match self.layout() {
            // A quote or a control character needs an escape.
            KeyEncoding::Delimited if !self.delimiter().is_ascii_graphic() || self.delimiter() == b'\'' => {
                format!(r"'\x{:02x}'", self.delimiter())
            }
            KeyEncoding::Delimited => format!("'{}'", char::from(self.delimiter())),
            KeyEncoding::OrderedCode => r"b'\x00\x01'".to_owned(),
        };
        let bytes = match &parts[..] {
            [one] => one.clone(),
            all => format!("CONCAT({})", all.join(&format!(", {separator}, "))),
        };
        let range = salt.range();
        Ok(format!("MOD(MOD(FARM_FINGERPRINT({bytes}), {range}) + {range}, {range})"))
    }
}

/// Bytes, encoded as a part of the ordered layout.
fn ordered_part(bytes: &str) -> String {
    format!(r"IF({bytes} = b'', b'\x00\x00', REPLACE({bytes}, b'\x00', b'\x00\xff'))")
}

/// A string without its escapes. `%25` is replaced last, so that its `%` does not begin another escape.
fn unescaped(name: &str) -> String {
    ESCAPED.fold(name.to_owned(), |text, byte| format!(r"REPLACE({text}, '%{byte:02X}', '\x{byte:02x}')"))
}

/// `YYYYMMDDHHMMSSmmm` as a `TIMESTAMP`.
fn date_time(digits: &str) -> String {
    format!(
        "TIMESTAMP_ADD(PARSE_TIMESTAMP('%Y%m%d%H%M%S', SUBSTR({digits}, 1, 14)), \
         INTERVAL CAST(SUBSTR({digits}, 15) AS INT64) MILLISECOND)"
    )
}

/// A name quoted for SQL.
fn quoted(name: &str) -> String {
    format!("`{name}`")
}

/// The greatest `INT64`.
const INT64_MAX: u128 = i64::MAX as u128;
/// Numbers that may exceed an `INT64` are computed in two parts; the low one has this many digits.
const LOW_DIGITS: usize = 10;
/// `10^LOW_DIGITS`.
const LOW_POWER: u128 = 10_000_000_000;

impl KeySchema {
    /// The number in a field, as an `INT64`: the only type of exact numbers that all engines have.
    fn number(&self, field: &Field) -> Result<String, SqlError> {
        let name = quoted(field.name());
        let fault = |reason: &str| {
            SqlError(format!(
                "field `{}` of `{}` {reason}, so SQL cannot compute its number; select the columns of the row key \
                 schema as they are",
                field.name(),
                self.key_type()
            ))
        };
        Ok(match (field.format(), field.order(), field.width()) {
            (_, FieldOrder::BitReversed, _) => {
                return Err(fault("has its bits reversed, which no engine undoes"));
            }
            (_, FieldOrder::Descending, Width::Between(..)) => format!("-1 - {name}"),
            (_, FieldOrder::ReversedFrom { max }, Width::Between(..)) => {
                subtracted_int64(max, &name).ok_or_else(|| fault("holds numbers above an `INT64` only"))?
            }
            (_, _, Width::Between(..)) => name,
            (Format::SignedDecimal, order, Width::Fixed(width @ ..=20)) => match order {
                FieldOrder::Descending => format!("-1 - {}", signed(&name, width - 1)),
                _ => signed(&name, width - 1),
            },
            (_, FieldOrder::ReversedFrom { max }, Width::Fixed(width @ ..=20)) => {
                subtracted_digits(max, &name, width)
            }
            (_, FieldOrder::Descending, Width::Fixed(width @ ..=20)) => {
                subtracted_digits(10_u128.pow(width as u32) - 1, &name, width)
            }
            (_, FieldOrder::Ascending, Width::Fixed(..=20)) => format!("CAST({name} AS INT64)"),
            _ => return Err(fault("can be wider than an `INT64`")),
        })
    }
}

/// `max` minus an `INT64` that is not negative; `None` if the difference is never an `INT64`.
fn subtracted_int64(max: u128, name: &str) -> Option<String> {
    match max.checked_sub(INT64_MAX) {
        None | Some(0) => Some(format!("{max} - {name}")),
        Some(rest @ ..=INT64_MAX) => Some(format!("({INT64_MAX} - {name}) + {rest}")),
        Some(_) => None,
    }
}

/// `max` minus the number in digits. No step overflows if the difference is an `INT64`.
fn subtracted_digits(max: u128, name: &str, width: usize) -> String {
    if max <= INT64_MAX {
        return format!("{max} - CAST({name} AS INT64)");
    }
    let high = width - LOW_DIGITS;
    // The low part borrows one from the high part, so that it is not negative.
    format!(
        "({} - CAST(SUBSTR({name}, 1, {high}) AS INT64)) * {LOW_POWER} + ({} - CAST(SUBSTR({name}, {}) AS INT64))",
        (max / LOW_POWER).cast_signed() - 1,
        max % LOW_POWER + LOW_POWER,
        high + 1,
    )
}

/// The number of a signed field in text: its digits, less a power of ten if they follow a `-`.
fn signed(name: &str, digits: usize) -> String {
    let negative = match digits {
        ..=18 => format!("CAST(SUBSTR({name}, 2) AS INT64) - 1{}", "0".repeat(digits)),
        // The high part is one greater and the low part negative, so that the product is an `INT64` for every number.
        _ => format!(
            "(CAST(SUBSTR({name}, 2, {}) AS INT64) - {}) * {LOW_POWER} + (CAST(SUBSTR({name}, {}) AS INT64) - {LOW_POWER})",
            digits - LOW_DIGITS,
            "9".repeat(digits - LOW_DIGITS),
            digits - LOW_DIGITS + 2,
        ),
    };
    format!("IF(STARTS_WITH({name}, '-'), {negative}, CAST({name} AS INT64))")
}

#[cfg(test)]
mod tests;
