//! The schema of a key type: its parts in order, as constant data.

use std::fmt;

use super::MAX_KEY_LEN;
use super::salt::Salt;

/// How the parts of a key type are laid out in its bytes; a constant that the derive makes.
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
/// let schema = EventKey::SCHEMA;
/// assert_eq!(schema.to_string(), "<salt 0 to 3>#<user_id>#<at>");
/// assert_eq!(schema.salt().map(|salt| salt.range()), Some(4));
/// assert_eq!(schema.fields()[1].name(), "at");
/// ```
#[derive(Debug, PartialEq, Eq)]
pub struct Schema {
    key_type: &'static str,
    delimiter: u8,
    tag: Option<&'static str>,
    salt: Option<Salt>,
    fields: &'static [Field],
    /// These two are kept, since a schema of another crate is no constant to the optimizer.
    min_len: usize,
    head_len: usize,
}

impl Schema {
    #[doc(hidden)]
    #[must_use]
    pub const fn new(
        key_type: &'static str,
        delimiter: u8,
        tag: Option<&'static str>,
        salt: Option<Salt>,
        fields: &'static [Field],
    ) -> Self {
        let mut schema = Self { key_type, delimiter, tag, salt, fields, min_len: 0, head_len: 0 };
        schema.head_len = schema.sum_head();
        schema.min_len = schema.head_len + schema.sum_fields();
        schema
    }

    /// The name of the key's struct.
    #[must_use]
    pub const fn key_type(&self) -> &'static str {
        self.key_type
    }

    /// The byte between the parts of the key.
    #[must_use]
    pub const fn delimiter(&self) -> u8 {
        self.delimiter
    }

    /// The constant that every key begins with.
    #[must_use]
    pub const fn tag(&self) -> Option<&'static str> {
        self.tag
    }

    /// The salt, for keys that are spread over buckets.
    #[must_use]
    pub const fn salt(&self) -> Option<&Salt> {
        self.salt.as_ref()
    }

    /// The fields from left to right.
    #[must_use]
    pub const fn fields(&self) -> &'static [Field] {
        self.fields
    }

    /// The least number of bytes that a key has: its fixed widths and delimiters, its strings empty.
    #[must_use]
    #[inline]
    pub const fn min_len(&self) -> usize {
        self.min_len
    }

    const fn sum_fields(&self) -> usize {
        let mut len = self.fields.len().saturating_sub(1);
        let mut at = 0;
        while at < self.fields.len() {
            len += self.fields[at].width.min();
            at += 1;
        }
        len
    }

    /// How many bytes stand before the fields: the tag and the salt, each with its delimiter.
    #[inline]
    pub(crate) const fn head_len(&self) -> usize {
        self.head_len
    }

    const fn sum_head(&self) -> usize {
        let tag = match self.tag {
            Some(tag) => tag.len() + 1,
            None => 0,
        };
        let salt = match &self.salt {
            Some(salt) => salt.width() + 1,
            None => 0,
        };
        tag + salt
    }

    /// Writes what stands before the fields. The bucket is that of a salted key, and not used for others.
    #[inline]
    pub(crate) fn write_head(&self, bucket: u32, out: &mut Vec<u8>) {
        if let Some(tag) = self.tag {
            out.extend_from_slice(tag.as_bytes());
            out.push(self.delimiter);
        }
        if let Some(salt) = &self.salt {
            salt.write(bucket, out);
            out.push(self.delimiter);
        }
    }

    /// The row keys at which a new table is best split: the first of each bucket but the first one.
    ///
    /// Empty for a key type without a salt.
    #[must_use]
    pub fn bucket_splits(&self) -> Vec<Vec<u8>> {
        let buckets = self.salt.map_or(1, |salt| salt.range());
        let split = |bucket| {
            let mut head = Vec::with_capacity(self.head_len());
            self.write_head(bucket, &mut head);
            head
        };
        (1..buckets).map(split).collect()
    }

    /// Whether some field is text that ends at the delimiter.
    #[must_use]
    pub const fn has_delimited_field(&self) -> bool {
        let mut at = 0;
        while at < self.fields.len() {
            if matches!(self.fields[at].width, Width::Delimited) {
                return true;
            }
            at += 1;
        }
        false
    }

    /// Fails the build of a key type whose least length is over Bigtable's limit.
    #[doc(hidden)]
    #[allow(clippy::panic)] // Evaluated at compile time only.
    #[track_caller]
    pub const fn assert_fits(&self) {
        assert!(
            self.min_len() <= MAX_KEY_LEN,
            "the fixed widths of this row key add up to more than the 4096 bytes that Bigtable allows; \
             make a `#[pad(n)]` smaller, or move a field into a column"
        );
    }

    /// Fails the build of a key type whose delimiter would forbid digits in its strings.
    #[doc(hidden)]
    #[allow(clippy::panic)] // Evaluated at compile time only.
    #[track_caller]
    pub const fn assert_delimiter(&self) {
        assert!(
            self.delimiter < b'0' || !self.has_delimited_field(),
            "this delimiter is not below `0`, and a delimited string holds no byte at or below its \
             delimiter, so it could not hold digits; choose one below `0`, such as '#' or '-'"
        );
    }
}

/// The layout in one line, such as `BATTERY#<salt 0 to 3>#<user>#<at>`.
impl fmt::Display for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let delimiter = char::from(self.delimiter);
        if let Some(tag) = self.tag {
            write!(f, "{tag}{delimiter}")?;
        }
        if let Some(salt) = &self.salt {
            write!(f, "<salt 0 to {}>{delimiter}", salt.range() - 1)?;
        }
        for (at, field) in self.fields.iter().enumerate() {
            if at > 0 {
                write!(f, "{delimiter}")?;
            }
            write!(f, "<{}>", field.name)?;
        }
        Ok(())
    }
}

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

    /// The field's name in the struct.
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
}

/// How the order of a field's bytes follows from the order of its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FieldOrder {
    /// Least first.
    Ascending,
    /// Greatest first: what is written is the difference from the greatest value of the type or width.
    Descending,
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
}

impl Width {
    /// The least number of bytes.
    #[must_use]
    pub const fn min(self) -> usize {
        match self {
            Self::Fixed(width) => width,
            Self::Delimited => 0,
        }
    }
}
