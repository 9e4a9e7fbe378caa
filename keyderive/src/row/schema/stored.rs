//! How values are stored, as data that can be kept and compared.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::super::CellType;

/// A [`CellType`] that owns its names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum StoredType {
    Integer { min: i64, max: i64 },
    NonZero { min: i64, max: i64 },
    Bool,
    Code(Vec<i64>),
    F32,
    F64,
    Text,
    Char,
    Enum(Vec<String>),
    Bytes,
    Array(usize),
    Unit,
    Uuid,
    IpAddress,
    Ipv4Address,
    Ipv6Address,
    Time,
    Date,
    Json,
    Proto,
    UnixTime(String),
    Custom(String),
}

impl From<CellType> for StoredType {
    fn from(stored: CellType) -> Self {
        match stored {
            CellType::Integer { min, max } => Self::Integer { min, max },
            CellType::NonZero { min, max } => Self::NonZero { min, max },
            CellType::Bool => Self::Bool,
            CellType::Code(codes) => Self::Code(codes.to_vec()),
            CellType::F32 => Self::F32,
            CellType::F64 => Self::F64,
            CellType::Text => Self::Text,
            CellType::Char => Self::Char,
            CellType::Enum(names) => Self::Enum(names.iter().map(ToString::to_string).collect()),
            CellType::Bytes => Self::Bytes,
            CellType::Array(length) => Self::Array(length),
            CellType::Unit => Self::Unit,
            CellType::Uuid => Self::Uuid,
            CellType::IpAddress => Self::IpAddress,
            CellType::Ipv4Address => Self::Ipv4Address,
            CellType::Ipv6Address => Self::Ipv6Address,
            CellType::Time => Self::Time,
            CellType::Date => Self::Date,
            CellType::Json => Self::Json,
            CellType::Proto => Self::Proto,
            CellType::UnixTime(unit) => Self::UnixTime(unit.name().to_owned()),
            CellType::Custom(name) => Self::Custom(name.to_owned()),
        }
    }
}

impl StoredType {
    /// Whether every value that is stored as `other` is read as the same value.
    pub(super) fn reads(&self, other: &Self) -> bool {
        if self == other {
            return true;
        }
        match (self, other) {
            (Self::Integer { min, max }, Self::Integer { min: least, max: greatest })
            | (
                Self::Integer { min, max } | Self::NonZero { min, max },
                Self::NonZero { min: least, max: greatest },
            ) => min <= least && greatest <= max,
            (Self::IpAddress, Self::Ipv4Address | Self::Ipv6Address) => true,
            (Self::Integer { min, max }, Self::Bool) => *min <= 0 && *max >= 1,
            (Self::Integer { min, max }, Self::Code(codes)) => {
                codes.iter().all(|code| (min..=max).contains(&code))
            }
            (Self::Code(all), Self::Code(some)) => some.iter().all(|code| all.contains(code)),
            (Self::Enum(all), Self::Enum(some)) => some.iter().all(|name| all.contains(name)),
            (Self::Text, other) => other.is_text(),
            (Self::Bytes, Self::Array(_) | Self::Proto | Self::Custom(_)) => true,
            (Self::Bytes, other) => other.is_text(),
            _ => false,
        }
    }

    fn is_text(&self) -> bool {
        matches!(
            self,
            Self::Text
                | Self::Char
                | Self::Enum(_)
                | Self::Uuid
                | Self::IpAddress
                | Self::Ipv4Address
                | Self::Ipv6Address
                | Self::Time
                | Self::Date
                | Self::Json
        )
    }
}

/// As a noun: `text`.
impl fmt::Display for StoredType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = |names: &[String]| {
            let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
            names.join(", ")
        };
        match self {
            Self::Integer { min, max } => write!(f, "an integer of {min} to {max}"),
            Self::NonZero { min, max } => write!(f, "an integer of {min} to {max} without 0"),
            Self::Bool => f.write_str("a `bool`"),
            Self::Code(codes) => write!(f, "one of the codes {codes:?}"),
            Self::F32 => f.write_str("an `f32`"),
            Self::F64 => f.write_str("an `f64`"),
            Self::Text => f.write_str("text"),
            Self::Char => f.write_str("a character"),
            Self::Enum(variants) => write!(f, "an enum of {}", names(variants)),
            Self::Bytes => f.write_str("bytes"),
            Self::Array(length) => write!(f, "{length} bytes"),
            Self::Unit => f.write_str("a value without bytes"),
            Self::Uuid => f.write_str("a UUID"),
            Self::IpAddress => f.write_str("an IP address"),
            Self::Ipv4Address => f.write_str("an IPv4 address"),
            Self::Ipv6Address => f.write_str("an IPv6 address"),
            Self::Time => f.write_str("a time in RFC 3339"),
            Self::Date => f.write_str("a date"),
            Self::Json => f.write_str("JSON"),
            Self::Proto => f.write_str("a message"),
            Self::UnixTime(unit) => write!(f, "{unit} from 1970"),
            Self::Custom(name) => write!(f, "the form `{name}`"),
        }
    }
}

/// As a noun: `text`.
impl fmt::Display for CellType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        StoredType::from(*self).fmt(f)
    }
}
