//! SQL expressions over the columns of a row key schema: the typed fields, and the salt.

use std::fmt;

use super::super::format::{Field, FieldOrder, Format, TimeUnit, Width};
use super::super::salt::SaltHash;
use super::super::schema::{Layout, Schema};
use super::SqlError;

/// A name as SQL takes any name.
fn quoted(name: &str) -> String {
    format!("`{name}`")
}

/// The typed fields of a key, and its salt, as SQL expressions.
///
/// Their text is a list of `SELECT`ed expressions over the columns that the row key schema declares. They hold in
/// GoogleSQL of BigQuery and Spanner; Bigtable's own SQL documents the same functions but for `FARM_FINGERPRINT`,
/// which has not been verified there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sql {
    columns: Vec<(&'static str, String)>,
    salt: Option<String>,
}

impl Sql {
    /// The expression that recomputes the bucket of a row from its salted columns.
    #[must_use]
    pub fn salt(&self) -> Option<&str> {
        self.salt.as_deref()
    }

    /// The expression of a field's value, by the field's name.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&str> {
        self.columns.iter().find(|(known, _)| *known == name).map(|(_, expression)| expression.as_str())
    }
}

impl fmt::Display for Sql {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(salt) = &self.salt {
            writeln!(f, "{salt} AS salt,")?;
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
    /// When the key type has no row key schema, a field's number is wider than an `INT64`, or the salt is over
    /// numbers of the ordered layout, which SQL cannot encode.
    pub fn sql(&self) -> Result<Sql, SqlError> {
        self.row_key_schema()?;
        let mut columns = Vec::with_capacity(self.fields().len());
        for field in self.fields() {
            columns.push((field.name(), self.typed(field)?));
        }
        let salt = match self.salt() {
            Some(_) => Some(self.salt_expression()?),
            None => None,
        };
        Ok(Sql { columns, salt })
    }

    fn typed(&self, field: &Field) -> Result<String, SqlError> {
        let name = quoted(field.name());
        Ok(match field.format() {
            Format::Decimal | Format::SignedDecimal | Format::Int64 => self.number(field)?,
            Format::UnixTime(unit) => timestamp(unit, &self.number(field)?),
            Format::Date => format!("PARSE_DATE('%Y%m%d', {})", self.digits(field, 8)?),
            Format::DateTime17 => date_time(&self.digits(field, 17)?),
            Format::Bool if field.order().is_reversed() => format!("{name} = '0'"),
            Format::Bool => format!("{name} = '1'"),
            Format::Hex => format!("FROM_HEX({name})"),
            _ => name,
        })
    }

    /// The number that stands in a field.
    fn number(&self, field: &Field) -> Result<String, SqlError> {
        let name = quoted(field.name());
        let fault = |reason| {
            SqlError(format!(
                "field `{}` of `{}` {reason}, so SQL cannot give its number",
                field.name(),
                self.key_type()
            ))
        };
        Ok(match (field.format(), field.order(), field.width()) {
            (_, FieldOrder::BitReversed, _) => {
                return Err(fault("has its bits reversed, which no engine undoes"));
            }
            (_, FieldOrder::Descending, Width::Between(..)) => format!("-1 - {name}"),
            (_, FieldOrder::ReversedFrom { max }, Width::Between(..)) => subtracted(&max.to_string(), &name),
            (_, _, Width::Between(..)) => name,
            (Format::SignedDecimal, FieldOrder::Ascending, Width::Fixed(width @ ..=20)) => {
                signed(&name, width)
            }
            (Format::SignedDecimal, FieldOrder::Descending, Width::Fixed(width @ ..=20)) => {
                format!("-1 - {}", signed(&name, width))
            }
            (Format::SignedDecimal, ..) => return Err(fault("can be wider than an `INT64`")),
            (_, FieldOrder::ReversedFrom { max }, Width::Fixed(..=20)) => {
                subtracted(&max.to_string(), &format!("CAST({name} AS NUMERIC)"))
            }
            (_, FieldOrder::Descending, Width::Fixed(width @ ..=20)) => {
                subtracted(&"9".repeat(width), &format!("CAST({name} AS NUMERIC)"))
            }
            (_, FieldOrder::Ascending, Width::Fixed(..=20)) => format!("CAST({name} AS INT64)"),
            _ => return Err(fault("can be wider than an `INT64`")),
        })
    }

    /// The digits of a date or time of the calendar, which begin with zeros in the years before 1000.
    fn digits(&self, field: &Field, width: usize) -> Result<String, SqlError> {
        match (field.order(), field.width()) {
            (FieldOrder::Ascending, Width::Fixed(_)) => Ok(quoted(field.name())),
            _ => Ok(format!("LPAD(CAST({} AS STRING), {width}, '0')", self.number(field)?)),
        }
    }

    fn salt_expression(&self) -> Result<String, SqlError> {
        let Some(salt) = self.salt() else {
            return Ok(String::new());
        };
        if let SaltHash::Java = salt.hash() {
            return Err(SqlError(format!(
                "the salt of `{}` is Java's `String.hashCode`, which SQL has no function for; the other hash is one \
                 that SQL has",
                self.key_type()
            )));
        }
        let mut parts = Vec::with_capacity(salt.over().len());
        for at in salt.over() {
            let field = &self.fields()[*at];
            let name = quoted(field.name());
            parts.push(match (self.layout(), field.format()) {
                (Layout::Delimited, _) => name,
                (Layout::OrderedCode, Format::Utf8 | Format::Bytes) => format!(
                    r"IF({name} = '', b'\x00\x00', REPLACE(CAST({name} AS BYTES), b'\x00', b'\x00\xff'))"
                ),
                (Layout::OrderedCode, _) => {
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

/// The difference from a number that may be greater than an `INT64`.
fn subtracted(greatest: &str, number: &str) -> String {
    format!("CAST(NUMERIC '{greatest}' - {number} AS INT64)")
}

/// `YYYYMMDDHHMMSSmmm` as a `TIMESTAMP`.
fn date_time(digits: &str) -> String {
    format!(
        "TIMESTAMP_ADD(PARSE_TIMESTAMP('%Y%m%d%H%M%S', SUBSTR({digits}, 1, 14)), \
         INTERVAL CAST(SUBSTR({digits}, 15) AS INT64) MILLISECOND)"
    )
}

/// A count of a unit since the epoch as a `TIMESTAMP`, which holds microseconds.
fn timestamp(unit: TimeUnit, count: &str) -> String {
    match unit {
        TimeUnit::Secs => format!("TIMESTAMP_SECONDS({count})"),
        TimeUnit::Millis => format!("TIMESTAMP_MILLIS({count})"),
        TimeUnit::Micros => format!("TIMESTAMP_MICROS({count})"),
        // Rounded down, also before the epoch.
        TimeUnit::Nanos => {
            format!("TIMESTAMP_MICROS(DIV({count} - MOD(MOD({count}, 1000) + 1000, 1000), 1000))")
        }
    }
}

/// The number of a signed field in text: its digits, less a power of ten behind a `-`.
fn signed(name: &str, width: usize) -> String {
    format!(
        "IF(STARTS_WITH({name}, '-'), CAST(CAST(SUBSTR({name}, 2) AS NUMERIC) - NUMERIC '1{}' AS INT64), \
         CAST({name} AS INT64))",
        "0".repeat(width - 1)
    )
}
