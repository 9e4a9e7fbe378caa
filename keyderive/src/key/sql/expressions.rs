//! SQL expressions over the columns of a row key schema: the typed fields, and the salt.

use std::fmt;

use super::super::codec::ESCAPED;
use super::super::format::{Field, Format, TimeUnit, Width};
use super::super::salt::SaltHash;
use super::super::schema::{Layout, Schema};
use super::{Kind, SqlError};

/// A name as SQL takes any name.
pub(super) fn quoted(name: &str) -> String {
    format!("`{name}`")
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
/// Their text is a list of `SELECT`ed expressions over the columns that the row key schema declares. Each field has
/// its own name, and the recomputed bucket that of the salt's column: `salt`, or `salt_` where a field is called
/// `salt`.
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
/// The expressions are of GoogleSQL, in the functions and types that BigQuery, Spanner and Bigtable document; they have
/// been run on none of them. `FARM_FINGERPRINT`, which recomputes the bucket, is documented for BigQuery and Spanner,
/// and has not been verified in Bigtable's own SQL.
///
/// Numbers are computed as `INT64`. A value above 9223372036854775807 fails the query that reads it: those of `u64`
/// can be, also with `#[pad(n)]`, `desc` or a `#[reverse_ts]` whose `max` is greater, and the nanoseconds of times
/// after 2262-04-11. So does a time that the engine's `TIMESTAMP` does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sql {
    columns: Vec<(&'static str, String)>,
    salt: Option<Salt>,
}

/// The recomputed bucket, and what it is called.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Salt {
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
        if let Some(Salt { name, expression }) = &self.salt {
            writeln!(f, "{expression} AS {name},")?;
        }
        for (at, (name, expression)) in self.columns.iter().enumerate() {
            let comma = if at + 1 == self.columns.len() { "" } else { "," };
            writeln!(f, "{expression} AS {}{comma}", quoted(name))?;
        }
        Ok(())
    }
}

impl Schema {
    /// The expressions that give the typed fields and the salt over the columns of the row key schema.
    ///
    /// # Errors
    /// Those of [`row_key_schema`](Self::row_key_schema). A field whose numbers can have more than 20 digits, whose
    /// values are all above an `INT64`, or whose bits are reversed. A salt with `hash = "java"`, or over numbers, times
    /// and dates of the ordered layout, which SQL cannot encode.
    pub fn sql(&self) -> Result<Sql, SqlError> {
        self.row_key_schema()?;
        let mut columns = Vec::with_capacity(self.fields().len());
        for field in self.fields() {
            columns.push((field.name(), self.typed(field)?));
        }
        let salt = match self.salt() {
            Some(_) => Some(Salt { name: self.free_name("salt"), expression: self.salt_expression()? }),
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
            // Of the Int64 of `!1`.
            Format::BoolInt64 if field.order().is_reversed() => format!("{name} = -2"),
            Format::BoolInt64 => format!("{name} = 1"),
            Format::Hex => format!("FROM_HEX({name})"),
            Format::PaddedUtf8 => format!("RTRIM({name}, ' ')"),
            Format::EscapedUtf8 => unescaped(&name),
            _ => name,
        })
    }

    /// The digits of a date or time of the calendar, which begin with zeros in the years before 1000.
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
            (TimeUnit::Nanos, Layout::Delimited) => format!("TIMESTAMP_MICROS(DIV({count}, 1000))"),
            // Rounded down, also before the epoch.
            (TimeUnit::Nanos, Layout::OrderedCode) => {
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
            parts.push(match (self.layout(), self.kind_of(field)?) {
                (Layout::Delimited, _) => name,
                (Layout::OrderedCode, Kind::String) => ordered_part(&format!("CAST({name} AS BYTES)")),
                (Layout::OrderedCode, Kind::Bytes) => ordered_part(&name),
                (Layout::OrderedCode, Kind::Int64) => {
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
            // As a number, since the delimiter may be a quote or a control character.
            Layout::Delimited if !self.delimiter().is_ascii_graphic() || self.delimiter() == b'\'' => {
                format!(r"'\x{:02x}'", self.delimiter())
            }
            Layout::Delimited => format!("'{}'", char::from(self.delimiter())),
            Layout::OrderedCode => r"b'\x00\x01'".to_owned(),
        };
        let bytes = match &parts[..] {
            [one] => one.clone(),
            all => format!("CONCAT({})", all.join(&format!(", {separator}, "))),
        };
        let range = salt.range();
        Ok(format!("MOD(MOD(FARM_FINGERPRINT({bytes}), {range}) + {range}, {range})"))
    }
}

/// Bytes as they stand in the ordered layout.
fn ordered_part(bytes: &str) -> String {
    format!(r"IF({bytes} = b'', b'\x00\x00', REPLACE({bytes}, b'\x00', b'\x00\xff'))")
}

/// A string without its escapes. The `%` comes last, so that what it becomes is not taken for the next escape.
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
