//! The layout of a key, and what a field writes in it: its format, its width and its order.

use std::fmt;

pub use keyderive_layout::key_rules::KeyEncoding;
use serde::{Deserialize, Serialize, Serializer};

/// One field of a key: its name, Rust type, format, width and order.
///
/// Two fields are equal if all of these are, the Rust type as text. Stored bytes and the
/// [`Fingerprint`](super::Fingerprint) do not depend on the Rust type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Field {
    name: &'static str,
    #[serde(rename = "type")]
    rust_type: &'static str,
    format: Format,
    width: Width,
    order: FieldOrder,
    values: FieldValues,
    hash_of: Option<&'static Field>,
}

impl Field {
    #[doc(hidden)]
    #[must_use]
    pub const fn new(
        name: &'static str,
        rust_type: &'static str,
        format: Format,
        width: Width,
        order: FieldOrder,
    ) -> Self {
        Self { name, rust_type, format, width, order, values: FieldValues::Custom, hash_of: None }
    }

    #[doc(hidden)]
    #[must_use]
    pub const fn with_values(self, values: FieldValues) -> Self {
        Self { values, ..self }
    }

    /// The hash of what `of` writes.
    #[doc(hidden)]
    #[must_use]
    pub const fn hashed(of: &'static Self, layout: KeyEncoding) -> Self {
        let width = match layout {
            KeyEncoding::Delimited => 32,
            KeyEncoding::OrderedCode => 16,
        };
        let (format, order) = (Format::Md5, FieldOrder::Hashed);
        Self { format, width: Width::Fixed(width), order, hash_of: Some(of), ..*of }
    }

    /// The field's name in the struct, or the one that `#[row_key(name = "…")]` gives it.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// The field's Rust type as the struct has it, such as `&'a str` or `chrono::NaiveDate`.
    #[must_use]
    pub const fn rust_type(&self) -> &'static str {
        self.rust_type
    }

    /// The field's format.
    #[must_use]
    pub const fn format(&self) -> Format {
        self.format
    }

    /// How many bytes the field takes in the key.
    #[must_use]
    pub const fn width(&self) -> Width {
        self.width
    }

    /// How the order of the bytes follows from the order of the values.
    #[must_use]
    pub const fn order(&self) -> FieldOrder {
        self.order
    }

    /// Which values the field takes, beside the limits of its format, width and order.
    ///
    /// ```
    /// use keyderive::RowKey;
    /// use keyderive::key::FieldValues;
    ///
    /// #[derive(RowKey)]
    /// struct EventKey {
    ///     #[pad(4)]
    ///     user: u16,
    /// }
    ///
    /// assert_eq!(EventKey::SCHEMA.fields()[0].values(), FieldValues::Integer { min: 0, max: 65_535 });
    /// ```
    #[must_use]
    pub const fn values(&self) -> FieldValues {
        self.values
    }

    /// The field as it would be stored without `hash`, whose bytes are hashed; `None` if the field is not hashed.
    #[must_use]
    pub const fn hash_of(&self) -> Option<&'static Self> {
        self.hash_of
    }

    /// The unit of the times that the field stores, or hashes; `None` for a field of other values.
    ///
    /// ```
    /// use keyderive::RowKey;
    /// use keyderive::key::TimeUnit;
    ///
    /// # #[derive(RowKey)] struct EventKey { user_id: String, #[reverse_ts] at: std::time::SystemTime }
    /// let units: Vec<_> = EventKey::SCHEMA.fields().iter().map(|field| field.time_unit()).collect();
    /// assert_eq!(units, [None, Some(TimeUnit::Micros)]);
    /// ```
    #[must_use]
    pub const fn time_unit(&self) -> Option<TimeUnit> {
        let written = match self.hash_of {
            Some(of) => of.format,
            None => self.format,
        };
        match written {
            Format::UnixTime(unit) => Some(unit),
            Format::DateTime17 => Some(TimeUnit::Millis),
            _ => None,
        }
    }

    /// Whether the values of the field, as [`ValueRef`](crate::dynamic::ValueRef) has them, descend where the bytes ascend; none if neither
    /// orders them.
    ///
    /// ```
    /// # use keyderive::RowKey;
    /// # #[derive(RowKey)] struct EventKey { user_id: String, #[reverse_ts] at: u64, #[row_key(bit_reverse)] id: u64 }
    /// let descending: Vec<_> = EventKey::SCHEMA.fields().iter().map(|field| field.is_descending()).collect();
    /// assert_eq!(descending, [Some(false), Some(true), None]);
    /// ```
    ///
    /// `None` for a field that is hashed, bit-reversed, or written by a module or a [`KeyField`](crate::KeyField) of the
    /// user's own; also for an enum whose codes and names sort differently, since a reader by data has the names.
    #[must_use]
    pub fn is_descending(&self) -> Option<bool> {
        match (self.order, self.values) {
            (FieldOrder::BitReversed | FieldOrder::Hashed, _) | (_, FieldValues::Custom) => None,
            (_, FieldValues::Codes(codes)) if !codes.is_sorted_by_key(|(_, name)| name) => None,
            (order, _) => Some(order.is_reversed()),
        }
    }

    /// Whether two fields with the same values sort them in opposite directions, however many bytes each takes: `Some(false)` if they sort
    /// them alike. None if the one order says nothing of the other.
    pub(crate) fn is_turned(&self, other: &Self) -> Option<bool> {
        let is_same_kind = match (self.values, other.values) {
            (FieldValues::Codes(one), FieldValues::Codes(other)) => one == other,
            (one, other) => std::mem::discriminant(&one) == std::mem::discriminant(&other),
        };
        if !is_same_kind {
            return None;
        }
        let stored = |field: &Self| (field.format, field.width, field.order, field.hash_of);
        if stored(self) == stored(other) {
            return Some(false);
        }
        Some(self.is_descending()? != other.is_descending()?)
    }

    /// The format in words, and how the order changes the value `v`.
    ///
    /// ```
    /// # use keyderive::RowKey;
    /// # #[derive(RowKey)] struct EventKey { user_id: String, #[reverse_ts] at: u64 }
    /// let words = EventKey::SCHEMA.fields()[1].written().to_string();
    /// assert_eq!(words, "decimal, zero padded, descending as 9223372036854775807 - v");
    /// ```
    ///
    /// The text is for people: its wording may change in any release.
    #[must_use]
    pub fn written(&self) -> impl fmt::Display {
        fmt::from_fn(|f| {
            match (self.format, self.width) {
                (Format::UnixTime(unit), Width::Between(..)) => {
                    write!(f, "{} since 1970, {}", unit.name(), Format::Int64)?;
                }
                (Format::Date, Width::Between(..)) => write!(f, "date as `YYYYMMDD`, {}", Format::Int64)?,
                (Format::Uuid, Width::Fixed(16)) => f.write_str("the bytes of the UUID")?,
                (Format::Md5, Width::Fixed(16)) => f.write_str("the bytes of the MD5 of the field")?,
                // A signed decimal has a sign before its digits.
                (format, Width::Fixed(width)) => format.write_words(f, &width.saturating_sub(1))?,
                (format, _) => write!(f, "{format}")?,
            }
            match (self.order, self.format, self.width) {
                (FieldOrder::Ascending | FieldOrder::Hashed, ..) => Ok(()),
                (FieldOrder::BitReversed, ..) => f.write_str(", bits reversed"),
                (FieldOrder::ReversedFrom { max }, ..) => write!(f, ", descending as {max} - v"),
                (FieldOrder::Descending, Format::SignedDecimal | Format::Int64 | Format::BoolInt64, _)
                | (FieldOrder::Descending, _, Width::Between(..)) => f.write_str(", descending as -1 - v"),
                (FieldOrder::Descending, Format::Bool, _) => f.write_str(", descending as 1 - v"),
                (
                    FieldOrder::Descending,
                    Format::Decimal | Format::UnixTime(_) | Format::DateTime17 | Format::Date,
                    Width::Fixed(width),
                ) => write!(f, ", descending as {} - v", "9".repeat(width)),
                (FieldOrder::Descending, ..) => f.write_str(", descending"),
            }
        })
    }
}

/// What is written for a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Format {
    /// Decimal digits, zero padded.
    Decimal,
    /// `0` and the `w` digits of the number `v`, or, if it is negative, `-` and the `w` digits of `10^w + v`.
    SignedDecimal,
    /// UTF-8.
    Utf8,
    /// UTF-8, space padded on the right.
    PaddedUtf8,
    /// `OrderedCodeBytes` of a signed number.
    Int64,
    /// `OrderedCodeBytes` of 0 or 1.
    BoolInt64,
    /// The bytes, unchanged.
    Bytes,
    /// UTF-8 with every byte up to `%` written `%XX`.
    EscapedUtf8,
    /// Lower-case hexadecimal.
    Hex,
    /// `0` or `1`.
    Bool,
    /// The MD5 of what the field's own format writes.
    Md5,
    /// What the module of this path writes, for `#[row_key(with = "…")]`, or the type of this name that implements
    /// [`KeyField`](crate::KeyField) by hand.
    Custom(&'static str),
    /// The count of a unit since 1970-01-01T00:00:00Z: zero padded digits in text, an Int64 in the ordered layout.
    UnixTime(TimeUnit),
    /// A time as `YYYYMMDDHHMMSSmmm`, in UTC.
    #[serde(rename = "datetime17")]
    DateTime17,
    /// A date as `YYYYMMDD`, which is an Int64 in the ordered layout.
    Date,
    /// A UUID: hyphenated lower-case hexadecimal in text, its 16 bytes in the ordered layout.
    Uuid,
    /// A UUID in lower-case hexadecimal without hyphens.
    UuidSimple,
}

impl Format {
    /// The format's name, which is part of the fingerprint.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Decimal => "decimal",
            Self::SignedDecimal => "signed decimal",
            Self::Utf8 => "utf-8",
            Self::PaddedUtf8 => "padded utf-8",
            Self::Int64 => "int64",
            Self::BoolInt64 => "bool int64",
            Self::Bytes => "bytes",
            Self::EscapedUtf8 => "escaped utf-8",
            Self::Hex => "hex",
            Self::Bool => "bool",
            Self::Md5 => "md5",
            Self::Custom(name) => name,
            Self::UnixTime(TimeUnit::Secs) => "unix seconds",
            Self::UnixTime(TimeUnit::Millis) => "unix milliseconds",
            Self::UnixTime(TimeUnit::Micros) => "unix microseconds",
            Self::UnixTime(TimeUnit::Nanos) => "unix nanoseconds",
            Self::DateTime17 => "datetime17",
            Self::Date => "date",
            Self::Uuid => "uuid",
            Self::UuidSimple => "uuid simple",
        }
    }

    /// The format in words; `w` is the number of digits of a signed decimal.
    fn write_words(self, f: &mut fmt::Formatter<'_>, w: &dyn fmt::Display) -> fmt::Result {
        f.write_str(match self {
            Self::SignedDecimal => {
                return write!(f, "`0` and {w} digits; below 0, `-` and the {w} digits of 10^{w} + v");
            }
            Self::Custom(name) => return write!(f, "what `{name}` writes"),
            Self::UnixTime(unit) => return write!(f, "{} since 1970, zero padded", unit.name()),
            Self::Decimal => "decimal, zero padded",
            Self::Utf8 => "UTF-8",
            Self::PaddedUtf8 => "UTF-8, padded with spaces on the right",
            Self::Int64 => "ordered Int64",
            Self::BoolInt64 => "`0` or `1`, ordered Int64",
            Self::Bytes => "bytes as they are",
            Self::EscapedUtf8 => "UTF-8, each byte up to `%` as `%XX`",
            Self::Hex => "hexadecimal",
            Self::Bool => "`0` or `1`",
            Self::Md5 => "MD5 of the field",
            Self::DateTime17 => "UTC time as `YYYYMMDDHHMMSSmmm`",
            Self::Date => "date as `YYYYMMDD`",
            Self::Uuid => "UUID with hyphens",
            Self::UuidSimple => "UUID without hyphens",
        })
    }
}

/// The format in words, for people: unlike [`name`](Format::name), the wording may change in any release.
impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_words(f, &"w")
    }
}

/// The unit that a time is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum TimeUnit {
    /// Seconds.
    Secs,
    /// Thousandths of a second.
    Millis,
    /// Millionths of a second.
    Micros,
    /// Billionths of a second.
    Nanos,
}

impl TimeUnit {
    /// The unit's name in words, such as `milliseconds`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Secs => "seconds",
            Self::Millis => "milliseconds",
            Self::Micros => "microseconds",
            Self::Nanos => "nanoseconds",
        }
    }

    /// How many nanoseconds the unit has.
    pub(crate) const fn nanos(self) -> i128 {
        10_i128.pow(9 - self.fraction_digits())
    }

    /// How many decimal digits of a second the unit has.
    pub(crate) const fn fraction_digits(self) -> u32 {
        match self {
            Self::Secs => 0,
            Self::Millis => 3,
            Self::Micros => 6,
            Self::Nanos => 9,
        }
    }
}

/// Which values a field takes, beside the limits of its format, width and order. The [`Fingerprint`](super::Fingerprint) does not
/// depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FieldValues {
    /// Integers of a type with these limits.
    Integer {
        /// The least value.
        #[serde(serialize_with = "as_text")]
        min: i128,
        /// The greatest value.
        #[serde(serialize_with = "as_text")]
        max: u128,
    },
    /// `true` and `false`.
    Bool,
    /// Text.
    Text,
    /// Single characters.
    Char,
    /// Bytes, as many as the width says.
    Bytes,
    /// The variants of an enum, by ascending code: each code with the variant's name.
    #[serde(serialize_with = "as_codes")]
    Codes(&'static [(u64, &'static str)]),
    /// Times.
    Time {
        /// Whether a time that is finer than the format's unit is an error; it is rounded down otherwise.
        exact: bool,
    },
    /// Dates.
    Date,
    /// UUIDs.
    Uuid {
        /// The only version that is taken; `None` for UUIDs of every kind.
        version: Option<u8>,
    },
    /// What the module, or the type that implements [`KeyField`](crate::KeyField) by hand, takes.
    Custom,
}

/// Each code as text, with the name of its variant.
fn as_codes<S: Serializer>(codes: &&[(u64, &str)], serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Variant<'a> {
        #[serde(serialize_with = "as_text")]
        code: u64,
        name: &'a str,
    }
    serializer.collect_seq(codes.iter().map(|(code, name)| Variant { code: *code, name }))
}

/// How the order of a field's bytes follows from the order of its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FieldOrder {
    /// Least first.
    Ascending,
    /// Greatest first. The value `v` is written as `1 - v` for a `bool` in text, as `10^w - 1 - v` for a time, a date
    /// or a number padded to more than 38 digits, of `w` digits in text, and as `-1 - v` for a signed number and for
    /// every Int64 of the ordered layout.
    Descending,
    /// Least first after reversing the bits of each number, so neighbouring values are far apart.
    BitReversed,
    /// The order of a hash: unordered.
    Hashed,
    /// Greatest first: the value `v` is written as `max - v`.
    ReversedFrom {
        /// The greatest value, written as zeros.
        #[serde(serialize_with = "as_text")]
        max: u128,
    },
}

/// A number as text, since many readers of JSON hold numbers as floats, which round `i64::MAX`.
fn as_text<N: fmt::Display, S: Serializer>(number: &N, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(number)
}

impl FieldOrder {
    /// The order's name, which is part of the fingerprint.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ascending => "ascending",
            Self::Descending => "descending",
            Self::BitReversed => "bit-reversed",
            Self::Hashed => "hashed",
            Self::ReversedFrom { .. } => "reversed from",
        }
    }

    /// Whether the greatest value comes first. False for `BitReversed`, which has no order.
    #[must_use]
    pub const fn is_reversed(self) -> bool {
        matches!(self, Self::Descending | Self::ReversedFrom { .. })
    }
}

/// How many bytes a field takes in the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Width {
    /// Always this many.
    Fixed(usize),
    /// As many as the value takes; the delimiter or the end of the key ends the field.
    Delimited,
    /// At least the first number and at most the second. In the ordered layout, these limits hold before zero bytes are
    /// escaped; in text, the delimiter or the end of the key ends the field.
    Between(usize, usize),
}

impl Width {
    /// The least number of bytes.
    #[must_use]
    pub const fn min(self) -> usize {
        match self {
            Self::Fixed(width) | Self::Between(width, _) => width,
            Self::Delimited => 0,
        }
    }
}
