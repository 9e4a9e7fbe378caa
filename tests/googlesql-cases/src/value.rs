//! Types and values of GoogleSQL, as literals of SQL and as the text of the table.

use std::fmt::Write as _;

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Type {
    Bool,
    Int64,
    Float32,
    Float64,
    Text,
    Bytes,
    Date,
    Timestamp,
    Array(Box<Type>),
    Struct(Vec<(String, Type)>),
    /// A type that Bigtable does not have, by its name, or one without a name, which the source leaves out.
    Other(String),
}

impl Type {
    /// The type of a name of one word.
    pub(crate) fn of_name(name: &str) -> Self {
        match name.to_ascii_uppercase().as_str() {
            "BOOL" => Self::Bool,
            "INT64" => Self::Int64,
            "FLOAT" | "FLOAT32" => Self::Float32,
            "DOUBLE" | "FLOAT64" => Self::Float64,
            "STRING" => Self::Text,
            "BYTES" => Self::Bytes,
            "DATE" => Self::Date,
            "TIMESTAMP" => Self::Timestamp,
            other => Self::Other(other.to_owned()),
        }
    }

    /// The first type in it that Bigtable does not have.
    pub(crate) fn foreign(&self) -> Option<&str> {
        match self {
            Self::Array(element) => element.foreign(),
            Self::Struct(fields) => fields.iter().find_map(|(_, of)| of.foreign()),
            Self::Other(name) if !name.is_empty() => Some(name),
            _ => None,
        }
    }

    pub(crate) fn sql(&self) -> String {
        match self {
            Self::Bool => "BOOL".to_owned(),
            Self::Int64 => "INT64".to_owned(),
            Self::Float32 => "FLOAT32".to_owned(),
            Self::Float64 => "FLOAT64".to_owned(),
            Self::Text => "STRING".to_owned(),
            Self::Bytes => "BYTES".to_owned(),
            Self::Date => "DATE".to_owned(),
            Self::Timestamp => "TIMESTAMP".to_owned(),
            Self::Array(element) => format!("ARRAY<{}>", element.sql()),
            Self::Struct(fields) => {
                let field =
                    |(name, of): &(String, Self)| format!("{name} {}", of.sql()).trim_start().to_owned();
                format!("STRUCT<{}>", fields.iter().map(field).collect::<Vec<_>>().join(", "))
            }
            Self::Other(name) => name.clone(),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    Int64(i64),
    Float32(f32),
    Float64(f64),
    Text(String),
    Bytes(Vec<u8>),
    /// Days since the epoch.
    Date(i64),
    /// Microseconds since the epoch.
    Timestamp(i64),
    Array {
        is_ordered: bool,
        elements: Vec<Value>,
    },
    Struct(Vec<Value>),
    /// Of a type that Bigtable does not have: its literal.
    Other(String),
}

impl Value {
    /// The value as SQL.
    pub(crate) fn sql(&self, of: &Type) -> String {
        let float = |number: f64, shown: String| match number {
            _ if number.is_nan() => format!("CAST('nan' AS {})", of.sql()),
            _ if number.is_infinite() => {
                format!("CAST('{}inf' AS {})", if number < 0.0 { "-" } else { "" }, of.sql())
            }
            _ => shown,
        };
        match (self, of) {
            (Self::Null, of) => format!("CAST(NULL AS {})", of.sql()),
            (Self::Bool(value), _) => value.to_string().to_uppercase(),
            (Self::Int64(number), _) => number.to_string(),
            (Self::Float32(number), _) => {
                float(f64::from(*number), format!("CAST({:?} AS FLOAT32)", f64::from(*number)))
            }
            (Self::Float64(number), _) => float(*number, format!("{number:?}")),
            (Self::Text(text), _) => quoted(text),
            (Self::Bytes(bytes), _) => format!("b'{}'", bytes.escape_ascii()),
            (Self::Date(days), _) => format!("DATE '{}'", date(*days)),
            (Self::Timestamp(micros), _) => format!("TIMESTAMP '{}'", timestamp(*micros)),
            (Self::Array { elements, .. }, Type::Array(element)) => {
                let all: Vec<String> = elements.iter().map(|each| each.element_sql(element)).collect();
                format!("{}[{}]", of.sql(), all.join(", "))
            }
            (Self::Struct(values), Type::Struct(fields)) => {
                let all = values.iter().zip(fields).map(|(value, (name, of))| match name.is_empty() {
                    true => value.sql(of),
                    false => format!("{} AS {name}", value.sql(of)),
                });
                format!("STRUCT({})", all.collect::<Vec<_>>().join(", "))
            }
            (Self::Other(literal), _) => literal.clone(),
            (value, of) => format!("{value:?} of {of:?}"),
        }
    }

    fn element_sql(&self, of: &Type) -> String {
        match self {
            Self::Null => "NULL".to_owned(),
            // The type of the array decides.
            Self::Float32(number) if number.is_finite() => format!("{:?}", f64::from(*number)),
            value => value.sql(of),
        }
    }

    /// The value in the table.
    pub(crate) fn table(&self) -> String {
        let all = |values: &[Self]| values.iter().map(Self::table).collect::<Vec<_>>().join(", ");
        match self {
            Self::Null => "NULL".to_owned(),
            Self::Bool(value) => value.to_string(),
            Self::Int64(number) => number.to_string(),
            Self::Float32(number) => format!("{number:?}"),
            Self::Float64(number) => format!("{number:?}"),
            Self::Text(text) => format!("\"{}\"", text.escape_default()),
            Self::Bytes(bytes) => format!("b\"{}\"", bytes.escape_ascii()),
            Self::Date(days) => date(*days),
            Self::Timestamp(micros) => format!("@{micros}"),
            Self::Array { is_ordered, elements } => {
                format!("{}[{}]", if *is_ordered { "" } else { "?" }, all(elements))
            }
            Self::Struct(values) => format!("({})", all(values)),
            Self::Other(literal) => literal.clone(),
        }
    }
}

fn quoted(text: &str) -> String {
    let mut out = "'".to_owned();
    for each in text.chars() {
        match each {
            '\'' | '\\' => out.extend(['\\', each]),
            '\n' => out.push_str("\\n"),
            each if u32::from(each) < 32 || each == '\u{7f}' => {
                let _ = write!(out, "\\x{:02x}", u32::from(each));
            }
            each => out.push(each),
        }
    }
    out.push('\'');
    out
}

pub(crate) fn days(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = (year - i64::from(month <= 2), (month + 9) % 12);
    365 * year + year.div_euclid(4) - year.div_euclid(100)
        + year.div_euclid(400)
        + (153 * month + 2) / 5
        + day
        - 1
        - 719_468
}

pub(crate) fn date(days: i64) -> String {
    let since = days + 719_468;
    let (era, day) = (since.div_euclid(146_097), since.rem_euclid(146_097));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let year = year + era * 400 + i64::from(month >= 10);
    format!("{year:04}-{:02}-{:02}", (month + 2) % 12 + 1, day - (153 * month + 2) / 5 + 1)
}

fn timestamp(micros: i64) -> String {
    let (days, rest) = (micros.div_euclid(86_400_000_000), micros.rem_euclid(86_400_000_000));
    let (seconds, fraction) = (rest / 1_000_000, rest % 1_000_000);
    let fraction = if fraction == 0 { String::new() } else { format!(".{fraction:06}") };
    format!("{} {:02}:{:02}:{:02}{fraction}+00", date(days), seconds / 3600, seconds / 60 % 60, seconds % 60)
}

/// The days of `2014-1-2`.
pub(crate) fn parse_date(text: &str) -> Option<i64> {
    let mut parts = text.split('-').map(|part| part.parse().ok());
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    parts.next().is_none().then(|| days(year, month, day))
}

/// The microseconds of `2014-01-02 03:04:05.678+09:30`, in UTC if there is no offset.
pub(crate) fn parse_timestamp(text: &str) -> Option<i64> {
    let (day, rest) = text.split_once([' ', 'T']).unwrap_or((text, ""));
    let rest = rest.trim_end_matches(" UTC").trim_end_matches('Z');
    let (time, zone) = match rest.find(['+', '-']) {
        Some(at) => rest.split_at(at),
        None => (rest, "+0"),
    };
    let (clock, fraction) = time.trim().split_once('.').unwrap_or((time.trim(), ""));
    let number = |text: &str| if text.is_empty() { Some(0) } else { text.parse::<i64>().ok() };
    let sixty = |text: &str| {
        let mut parts = text.split(':');
        let total = number(parts.next()?)? * 3600 + number(parts.next().unwrap_or(""))? * 60;
        Some(total + number(parts.next().unwrap_or(""))?)
    };
    let offset = sixty(&zone[1..])? * if zone.starts_with('-') { -1 } else { 1 };
    if fraction.len() > 6 {
        return None;
    }
    let micros = number(&format!("{fraction:0<6}"))?;
    Some(((parse_date(day)? * 86_400 + sixty(clock)? - offset) * 1_000_000) + micros)
}
