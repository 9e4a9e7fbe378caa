//! The schema of a key type: its parts in order, as constant data.

use std::fmt;

use super::MAX_KEY_LEN;
use super::salt::{Salt, SaltPlace};
use super::show::Readable;

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
        Self { key_type, delimiter, tag, salt, fields }
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
    pub const fn min_len(&self) -> usize {
        let mut len = self.head_len(None) + self.fields.len().saturating_sub(1);
        let mut at = 0;
        while at < self.fields.len() {
            len += self.fields[at].width.min();
            at += 1;
        }
        len
    }

    /// How many bytes are not of the fields: the tag and the salt, each with what stands behind it. Without a
    /// bucket, the least number.
    pub(crate) const fn head_len(&self, bucket: Option<i32>) -> usize {
        let tag = match self.tag {
            Some(tag) => tag.len() + 1,
            None => 0,
        };
        let salt = match &self.salt {
            Some(salt) => salt.len(bucket) + self.salt_end(salt).len(),
            None => 0,
        };
        tag + salt
    }

    /// What stands behind the salt.
    pub(crate) const fn salt_end<'a>(&'a self, salt: &Salt) -> &'a [u8] {
        match salt.sep() {
            Some(sep) => sep.as_bytes(),
            None => std::slice::from_ref(&self.delimiter),
        }
    }

    pub(crate) fn write_tag(&self, out: &mut Vec<u8>) {
        if let Some(tag) = self.tag {
            out.extend_from_slice(tag.as_bytes());
            out.push(self.delimiter);
        }
    }

    /// Writes a bucket with what stands behind it.
    pub(crate) fn write_salt(&self, salt: &Salt, bucket: i32, out: &mut Vec<u8>) {
        salt.write(bucket, out);
        out.extend_from_slice(self.salt_end(salt));
    }

    /// Writes what the keys of a bucket begin with whose fields left of the salt are `left`, each with its
    /// delimiter. Without a bucket, what they begin with left of it.
    pub(crate) fn write_head(&self, bucket: Option<i32>, left: &[u8], out: &mut Vec<u8>) {
        let write_salt = |out: &mut Vec<u8>| {
            if let (Some(salt), Some(bucket)) = (&self.salt, bucket) {
                self.write_salt(salt, bucket, out);
            }
        };
        let front = self.salt.is_some_and(|salt| salt.place() == SaltPlace::Front);
        if front {
            write_salt(out);
        }
        self.write_tag(out);
        out.extend_from_slice(left);
        if !front {
            write_salt(out);
        }
    }

    /// The row keys at which a new table is best split: the first of each bucket but the first one, in
    /// order.
    ///
    /// Empty for a key type without a salt, and for a salt behind a field, since its buckets begin anew with
    /// each value of that field.
    #[must_use]
    pub fn bucket_splits(&self) -> Vec<Vec<u8>> {
        let Some(salt) = self.salt.as_ref().filter(|salt| salt.fields_left() == 0) else {
            return Vec::new();
        };
        let mut starts: Vec<_> = salt.buckets().map(|bucket| self.bucket_start(salt, bucket)).collect();
        starts.sort_unstable();
        starts.into_iter().skip(1).collect()
    }

    /// What all keys of a bucket begin with. In front of a tag, key types with other tags share it.
    fn bucket_start(&self, salt: &Salt, bucket: i32) -> Vec<u8> {
        let mut start = Vec::with_capacity(64);
        if salt.place() != SaltPlace::Front {
            self.write_tag(&mut start);
        }
        self.write_salt(salt, bucket, &mut start);
        start
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
        let salt = |f: &mut fmt::Formatter<'_>, place| match &self.salt {
            Some(salt) if salt.place() == place => {
                write!(f, "<salt {}>{}", salt.bounds(), Readable(self.salt_end(salt)))
            }
            _ => Ok(()),
        };
        salt(f, SaltPlace::Front)?;
        if let Some(tag) = self.tag {
            write!(f, "{tag}{delimiter}")?;
        }
        salt(f, SaltPlace::BeforeFields)?;
        for (at, field) in self.fields.iter().enumerate() {
            if at > 0 {
                write!(f, "{delimiter}")?;
                salt(f, SaltPlace::After { field: at - 1 })?;
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
