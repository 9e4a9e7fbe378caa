//! How values are stored, as data that can be kept and compared.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use serde::{Deserialize, Serialize};

use super::super::{Cell as _, CellType};
use crate::key::TimeUnit;

/// A [`CellType`] that owns its names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum StoredType {
    Integer {
        #[serde(with = "as_text")]
        min: i64,
        #[serde(with = "as_text")]
        max: i64,
    },
    #[serde(rename = "nonzero")]
    NonZero {
        #[serde(with = "as_text")]
        min: i64,
        #[serde(with = "as_text")]
        max: i64,
    },
    Bool,
    Code(Vec<Variant>),
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
    UnixTime(TimeUnit),
    Custom(String),
}

/// A variant of an enum that is stored as a code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Variant {
    #[serde(with = "as_text")]
    pub(super) code: i64,
    pub(super) name: String,
}

/// Numbers as text, since many readers of JSON hold numbers as floats, which round `i64::MAX`.
mod as_text {
    use serde::{Deserialize as _, Deserializer, Serializer, de};

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    pub(super) fn serialize<S: Serializer>(number: &i64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(number)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i64, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse()
            .map_err(|_| de::Error::custom(format_args!("`{text}` is not an integer of 64 bits, as text")))
    }
}

impl From<CellType> for StoredType {
    fn from(stored: CellType) -> Self {
        match stored {
            CellType::Integer { min, max } => Self::Integer { min, max },
            CellType::NonZero { min, max } => Self::NonZero { min, max },
            CellType::Bool => Self::Bool,
            CellType::Code(codes) => {
                let variant = |(code, name): &(i64, &str)| Variant { code: *code, name: (*name).to_owned() };
                Self::Code(codes.iter().map(variant).collect())
            }
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
            CellType::UnixTime(unit) => Self::UnixTime(unit),
            CellType::Custom(name) => Self::Custom(name.to_owned()),
        }
    }
}

/// The integers that a type has.
enum Integers<'t> {
    Within { min: i64, max: i64, has_zero: bool },
    Listed(&'t [Variant]),
}

impl Integers<'_> {
    fn contain(&self, number: i64) -> bool {
        match self {
            Self::Within { min, max, has_zero } => {
                (min..=max).contains(&&number) && (*has_zero || number != 0)
            }
            Self::Listed(variants) => variants.iter().any(|variant| variant.code == number),
        }
    }

    fn contain_all(&self, other: &Self) -> bool {
        match (self, other) {
            // A name whose code is another one would be read as another variant.
            (Self::Listed(all), Self::Listed(some))
                if some.iter().any(|one| all.iter().any(|of| of.name == one.name && of.code != one.code)) =>
            {
                false
            }
            (_, Self::Listed(variants)) => variants.iter().all(|variant| self.contain(variant.code)),
            (Self::Within { min, max, .. }, Self::Within { min: least, max: greatest, .. }) => {
                min <= least && greatest <= max && (self.contain(0) || !other.contain(0))
            }
            // Only a `bool` has few enough.
            (Self::Listed(_), Self::Within { min, max, .. }) => {
                (0..=1).contains(min)
                    && (0..=1).contains(max)
                    && (*min..=*max).all(|number| self.contain(number) || !other.contain(number))
            }
        }
    }
}

impl StoredType {
    fn integers(&self) -> Option<Integers<'_>> {
        match self {
            Self::Integer { min, max } => Some(Integers::Within { min: *min, max: *max, has_zero: true }),
            Self::NonZero { min, max } => Some(Integers::Within { min: *min, max: *max, has_zero: false }),
            Self::Bool => Some(Integers::Within { min: 0, max: 1, has_zero: true }),
            Self::Code(variants) => Some(Integers::Listed(variants)),
            _ => None,
        }
    }

    /// Whether every value that is stored as `other` is read as the same value.
    ///
    /// JSON, messages and encodings of the user's own are not read as text or bytes, which would give their encoding and not the value.
    pub(super) fn reads(&self, other: &Self) -> bool {
        if self == other {
            return true;
        }
        if let (Some(all), Some(some)) = (self.integers(), other.integers()) {
            return all.contain_all(&some);
        }
        match (self, other) {
            (Self::IpAddress, Self::Ipv4Address | Self::Ipv6Address) | (Self::Bytes, Self::Array(_)) => true,
            (Self::Enum(all), Self::Enum(some)) => some.iter().all(|name| all.contains(name)),
            (Self::Text | Self::Bytes, other) => other.is_text(),
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
        )
    }

    /// Whether a map with such keys reads a column of this name.
    pub(super) fn is_name(&self, name: &str) -> bool {
        match self {
            Self::Custom(_) => false,
            _ => self.may_be_named(name),
        }
    }

    /// Whether a map with such keys can have a column of this name.
    pub(super) fn may_be_named(&self, name: &str) -> bool {
        match self {
            Self::Text | Self::Bytes | Self::Custom(_) => true,
            Self::Enum(names) => names.iter().any(|own| own == name),
            Self::Char => name.chars().count() == 1,
            Self::Array(length) => name.len() == *length,
            Self::Uuid => CellType::Uuid.read(name.as_bytes()).is_ok(),
            Self::Date => CellType::Date.read(name.as_bytes()).is_ok(),
            Self::IpAddress => IpAddr::decode(name.as_bytes()).is_ok(),
            Self::Ipv4Address => Ipv4Addr::decode(name.as_bytes()).is_ok(),
            Self::Ipv6Address => Ipv6Addr::decode(name.as_bytes()).is_ok(),
            _ => false,
        }
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
            Self::Code(variants) => {
                let codes: Vec<_> = variants
                    .iter()
                    .map(|variant| format!("{} of `{}`", variant.code, variant.name))
                    .collect();
                write!(f, "one of the codes {}", codes.join(", "))
            }
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
            Self::UnixTime(unit) => write!(f, "{} from 1970", unit.name()),
            Self::Custom(name) => write!(f, "the encoding `{name}`"),
        }
    }
}

/// As a noun: `text`.
impl fmt::Display for CellType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        StoredType::from(*self).fmt(f)
    }
}
