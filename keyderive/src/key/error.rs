//! The errors of encoding and decoding keys.

use std::error::Error;
use std::fmt;

use super::MAX_KEY_LEN;
use super::field::FieldError;
use super::format::KeyEncoding;
use super::salt::{Salt, SaltPlace};
use super::schema::KeySchema;
use super::show::{Readable, ShownKey};

/// A key that cannot be encoded: a field rejects its value, or the key is empty or too long.
///
/// The text names the key type, the field, the value and the limit. Values are never truncated, wrapped or defaulted.
#[derive(Clone, PartialEq, Eq)]
pub struct EncodeError(Box<EncodeFault>);

#[derive(Clone, PartialEq, Eq)]
struct EncodeFault {
    key_type: &'static str,
    kind: EncodeKind,
}

#[derive(Clone, PartialEq, Eq)]
enum EncodeKind {
    Field {
        name: &'static str,
        error: FieldError,
    },
    TooLong {
        len: usize,
    },
    Empty,
    NotText {
        why: &'static str,
    },
    /// Fields that are named at run time.
    Names {
        fault: String,
    },
}

impl EncodeError {
    #[cold]
    pub(crate) fn field(key_type: &'static str, name: &'static str, error: FieldError) -> Self {
        Self::new(key_type, EncodeKind::Field { name, error })
    }

    #[cold]
    pub(crate) fn too_long(key_type: &'static str, len: usize) -> Self {
        Self::new(key_type, EncodeKind::TooLong { len })
    }

    #[cold]
    pub(crate) fn empty(key_type: &'static str) -> Self {
        Self::new(key_type, EncodeKind::Empty)
    }

    #[cold]
    pub(crate) fn not_text(key_type: &'static str, layout: KeyEncoding) -> Self {
        let why = match layout {
            KeyEncoding::Delimited => {
                "a `with` module or a handwritten `KeyField` writes bytes that are not UTF-8"
            }
            KeyEncoding::OrderedCode => "the ordered layout is binary",
        };
        Self::new(key_type, EncodeKind::NotText { why })
    }

    #[cold]
    pub(crate) fn names(key_type: &'static str, fault: String) -> Self {
        Self::new(key_type, EncodeKind::Names { fault })
    }

    fn new(key_type: &'static str, kind: EncodeKind) -> Self {
        Self(Box::new(EncodeFault { key_type, kind }))
    }

    /// The field that rejected its value; `None` if the whole key is at fault.
    #[must_use]
    pub fn field_name(&self) -> Option<&'static str> {
        match self.0.kind {
            EncodeKind::Field { name, .. } => Some(name),
            _ => None,
        }
    }

    /// Whether the encoded key is longer than the 4096 bytes that Bigtable allows.
    #[must_use]
    pub fn is_too_long(&self) -> bool {
        matches!(self.0.kind, EncodeKind::TooLong { .. })
    }

    /// Whether the encoded key is empty, which Bigtable rejects.
    #[must_use]
    pub fn is_empty_key(&self) -> bool {
        matches!(self.0.kind, EncodeKind::Empty)
    }
}

impl EncodeError {
    /// The text without the value, for logs.
    #[must_use = "it is the text to print"]
    pub fn redacted(&self) -> impl fmt::Display + '_ {
        fmt::from_fn(|f| self.write(f, true))
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, is_redacted: bool) -> fmt::Result {
        let EncodeFault { key_type, kind } = &*self.0;
        match kind {
            EncodeKind::Field { name, .. } if is_redacted => {
                write!(f, "field `{name}` of `{key_type}` cannot hold the value that was given")
            }
            EncodeKind::Field { name, error } => write!(f, "field `{name}` of `{key_type}`: {error}"),
            EncodeKind::TooLong { len } => write!(
                f,
                "the row key of this `{key_type}` is {len} bytes; Bigtable allows {MAX_KEY_LEN}: \
                 shorten its strings, or keep them in columns",
            ),
            EncodeKind::Empty => write!(
                f,
                "the row key of this `{key_type}` is empty; Bigtable needs at least 1 byte: \
                 give its only field a value, or the key a tag",
            ),
            EncodeKind::NotText { why } => {
                write!(f, "the row key of this `{key_type}` is not text: {why}; use `encode` and `decode`")
            }
            EncodeKind::Names { fault } => write!(f, "a row key of `{key_type}`: {fault}"),
        }
    }
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, false)
    }
}

/// The text, as for [`FieldError`].
impl fmt::Debug for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("EncodeError").field(&format_args!("{self}")).finish()
    }
}

impl Error for EncodeError {}

/// A row key that does not decode as its key type.
///
/// The text shows the key, also in hexadecimal if it is not plain text, and says how it differs from the key type.
/// Decode accepts exactly what encode writes: a wrong bucket, a byte that encode rejects and a non-canonical encoding
/// of a value are errors too.
#[derive(Clone, PartialEq, Eq)]
pub struct DecodeError(Box<DecodeFault>);

#[derive(Clone, PartialEq, Eq)]
struct DecodeFault {
    key_type: &'static str,
    key: Box<[u8]>,
    kind: DecodeKind,
}

/// How a key differs from its type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DecodeKind {
    /// The bytes of one field.
    Field { name: &'static str, error: FieldError },
    /// The tag.
    Tag { expected: &'static str },
    /// The salt is not a bucket, or its separator does not follow.
    Salt { schema: &'static KeySchema, epoch: usize },
    /// The salt is a bucket, but not that of the salted fields.
    Bucket { stored: i32, expected: i32 },
    /// There are bytes after the last field.
    Trailing,
    /// Bigtable does not allow the length.
    Length,
}

impl DecodeError {
    #[cold]
    pub(crate) fn new(key_type: &'static str, key: &[u8], kind: DecodeKind) -> Self {
        Self(Box::new(DecodeFault { key_type, key: key.into(), kind }))
    }

    /// The row key.
    #[must_use]
    pub fn key(&self) -> &[u8] {
        &self.0.key
    }

    /// The field whose bytes are at fault; `None` if the tag, the salt, the length or bytes after the last field are.
    #[must_use]
    pub fn field_name(&self) -> Option<&'static str> {
        match self.0.kind {
            DecodeKind::Field { name, .. } => Some(name),
            _ => None,
        }
    }

    /// Whether the key lacks the tag of its type: another key type that shares the table may have written it.
    #[must_use]
    pub fn is_other_tag(&self) -> bool {
        matches!(self.0.kind, DecodeKind::Tag { .. })
    }

    /// Whether the key's salt is not the bucket of its fields: other code wrote it, or it has another salt range.
    #[must_use]
    pub fn is_wrong_bucket(&self) -> bool {
        matches!(self.0.kind, DecodeKind::Bucket { .. } | DecodeKind::Salt { .. })
    }
}

impl DecodeError {
    /// The text without the key, for logs.
    #[must_use = "it is the text to print"]
    pub fn redacted(&self) -> impl fmt::Display + '_ {
        fmt::from_fn(|f| self.write(f, true))
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, is_redacted: bool) -> fmt::Result {
        let DecodeFault { key_type, key, kind } = &*self.0;
        match is_redacted {
            true => write!(f, "a row key does not decode as `{key_type}`: ")?,
            false => write!(f, "row key {} does not decode as `{key_type}`: ", ShownKey(key))?,
        }
        match kind {
            DecodeKind::Field { name, .. } if is_redacted => {
                write!(f, "the bytes of field `{name}` encode no value")
            }
            DecodeKind::Field { name, error } => write!(f, "field `{name}`: {error}"),
            DecodeKind::Tag { expected } => {
                write!(f, "it does not have the tag `{expected}` before its fields")
            }
            DecodeKind::Salt { schema, epoch } => {
                write_missing_salt(schema, *epoch, (!is_redacted).then_some(&**key), f)
            }
            DecodeKind::Bucket { stored, expected } => write!(
                f,
                "its salt is bucket {stored}, but its fields hash to bucket {expected}; \
                 another program wrote it, or this one with another salt range",
            ),
            DecodeKind::Trailing => f.write_str("there are bytes after the last field"),
            DecodeKind::Length => {
                write!(f, "it is {} bytes long; a row key has 1 to {MAX_KEY_LEN}", key.len())
            }
        }
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, false)
    }
}

/// The number at the place of a salt that is before the fields.
fn number_before_fields<'k>(schema: &KeySchema, salt: &Salt, key: &'k [u8]) -> Option<&'k str> {
    let rest = match (salt.place(), schema.tag()) {
        (SaltPlace::After { .. }, _) => return None,
        (SaltPlace::BeforeFields, Some(tag)) => {
            key.strip_prefix(tag.as_bytes())?.strip_prefix(&[schema.delimiter()])?
        }
        (SaltPlace::Front | SaltPlace::BeforeFields, _) => key,
    };
    let (number, rest) = rest.split_at(rest.iter().take_while(|byte| byte.is_ascii_digit()).count());
    let end = schema.salt_end(salt);
    // Without a separator, the digits may be those of a field.
    let is_number = (1..=5).contains(&number.len()) && !end.is_empty() && rest.starts_with(end);
    str::from_utf8(number).ok().filter(|_| is_number)
}

/// Writes where the salt should be and what it looks like; or the key's bucket, if there is no such bucket.
fn write_missing_salt(
    schema: &KeySchema,
    epoch: usize,
    key: Option<&[u8]>,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    let Some(salt) = schema.salt_of(epoch) else {
        return Ok(());
    };
    if let Some(number) = key.and_then(|key| number_before_fields(schema, salt, key)) {
        let (buckets, width) = (salt.buckets(), if salt.is_padded() { salt.width() } else { 1 });
        write!(f, "bucket `{number}` is not {:0width$} to {:0width$}", buckets.start, buckets.end - 1)?;
        return write_epoch(schema, epoch, f);
    }
    match salt.fields_before().checked_sub(1).and_then(|left| schema.fields().get(left)) {
        Some(field) => write!(f, "it has no salt after `{}`", field.name())?,
        None => f.write_str("it has no salt before its fields")?,
    }
    let padding = if salt.is_padded() { "zero padded" } else { "not padded" };
    write!(
        f,
        ": a bucket from {}, {padding}, followed by `{}`",
        salt.bounds(),
        Readable(schema.salt_end(salt))
    )?;
    write_epoch(schema, epoch, f)
}

/// Writes since when keys have the salt, if it is one from a date on.
fn write_epoch(schema: &KeySchema, epoch: usize, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match epoch.checked_sub(1).and_then(|later| schema.epochs().get(later)) {
        None => Ok(()),
        Some(epoch) => write!(
            f,
            ", which keys have since {}; a program that does not know this salt wrote it",
            epoch.since()
        ),
    }
}

/// The text, as for [`FieldError`].
impl fmt::Debug for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("DecodeError").field(&format_args!("{self}")).finish()
    }
}

impl Error for DecodeError {}
