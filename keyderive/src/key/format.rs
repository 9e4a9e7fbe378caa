//! What a field writes: its format, its width and its order.

use super::schema::Layout;

/// One field of a key: its name, what is written and how wide it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    name: &'static str,
    format: Format,
    width: Width,
    order: FieldOrder,
}

impl Field {
    #[doc(hidden)]
    #[must_use]
    pub const fn new(name: &'static str, format: Format, width: Width, order: FieldOrder) -> Self {
        Self { name, format, width, order }
    }

    #[doc(hidden)]
    #[must_use]
    pub const fn hashed(name: &'static str, layout: Layout) -> Self {
        let width = match layout {
            Layout::Delimited => 32,
            Layout::OrderedCode => 16,
        };
        Self::new(name, Format::Md5, Width::Fixed(width), FieldOrder::Hashed)
    }

    /// The field's name: that in the struct, or that in `#[row_key(name = "…")]`.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// What is written.
    #[must_use]
    pub const fn format(&self) -> Format {
        self.format
    }

    /// How many bytes are written.
    #[must_use]
    pub const fn width(&self) -> Width {
        self.width
    }

    /// How the order of the bytes follows from the order of the values.
    #[must_use]
    pub const fn order(&self) -> FieldOrder {
        self.order
    }
}

/// What is written for a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// Decimal digits, zero padded.
    Decimal,
    /// `0` and the digits of a number, or `-` and those of `10^w + v` for a negative one.
    SignedDecimal,
    /// UTF-8.
    Utf8,
    /// UTF-8, space padded on the right.
    PaddedUtf8,
    /// `OrderedCodeBytes` of a signed number.
    Int64,
    /// The bytes as they are.
    Bytes,
    /// UTF-8 with every byte up to `%` written `%XX`.
    EscapedUtf8,
    /// Lower-case hexadecimal.
    Hex,
    /// `0` or `1`.
    Bool,
    /// The MD5 of what the field's own format writes.
    Md5,
    /// What the module of this path writes, by `#[row_key(with = "…")]`, or the type of this name by its own
    /// [`KeyField`](crate::KeyField).
    Custom(&'static str),
    /// The count of a unit since 1970-01-01T00:00:00Z: zero padded digits in text, an Int64 in the ordered layout.
    UnixTime(TimeUnit),
    /// A time as `YYYYMMDDHHMMSSmmm`, in UTC.
    DateTime17,
    /// A date as `YYYYMMDD`, which is an Int64 in the ordered layout.
    Date,
    /// A UUID: hyphenated lower-case hexadecimal in text, its 16 bytes in the ordered layout.
    Uuid,
    /// A UUID in lower-case hexadecimal without hyphens.
    UuidSimple,
}

/// The unit that a time is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    /// The unit's name in words.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Secs => "seconds",
            Self::Millis => "milliseconds",
            Self::Micros => "microseconds",
            Self::Nanos => "nanoseconds",
        }
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

/// How the order of a field's bytes follows from the order of its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FieldOrder {
    /// Least first.
    Ascending,
    /// Greatest first: what is written is the difference from the greatest value of the type or width.
    Descending,
    /// The order of the number with its bits reversed, which is none for a reader.
    BitReversed,
    /// The order of a hash, which is none.
    Hashed,
    /// Greatest first: what is written is `max - v`.
    ReversedFrom {
        /// The greatest value, written as zeros.
        max: u64,
    },
}

impl FieldOrder {
    /// Whether greater values come first.
    #[must_use]
    pub const fn is_reversed(self) -> bool {
        matches!(self, Self::Descending | Self::ReversedFrom { .. })
    }
}

/// How many bytes a field takes in the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Width {
    /// This many, always.
    Fixed(usize),
    /// As many as the value has; the delimiter or the end of the key ends it.
    Delimited,
    /// From the first to the second number, before zero bytes are escaped: a number of the ordered layout.
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
