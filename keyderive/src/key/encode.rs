//! Encoding a key: its parts in order, then the salt in its reserved place.
//!
//! The code for each field is `inline(always)`: otherwise key types share it in programs that have several, and encoding
//! takes a fifth longer.

use std::marker::PhantomData;

use md5::{Digest as _, Md5};

use super::codec::write_hex;
use super::error::EncodeError;
use super::fast::{KeyBuf, append_to};
use super::field::{FieldError, KeyField};
use super::format::Layout;
use super::row_key::RowKey;
use super::salt::{Salt, SaltPlace, Span};
use super::schema::{Schema, bucket_of};
use super::show::Byte;
use super::{MAX_KEY_LEN, ordered};

/// Encodes the `N` fields of a key of type `K`; the derived code calls it field by field, from the left.
///
/// The compiler knows the schema of `K`, and the index of each field from the derived call, so what depends on them is
/// decided at compile time.
#[derive(Debug)]
pub struct KeyWriter<'a, K, const N: usize> {
    out: KeyBuf<'a>,
    spans: [Span; N],
    /// The start of the salt in `out`.
    salt_at: usize,
    key_type: PhantomData<K>,
}

impl<'a, K: RowKey, const N: usize> KeyWriter<'a, K, N> {
    const LAYOUT: Layout = K::SCHEMA.layout();
    /// The salt of the first epoch that has one, whose place all share.
    const SALT: Option<&'static Salt> = K::SCHEMA.first_salt();
    /// Whether the salt has a length that is known before the fields.
    const IS_RESERVED: bool = match Self::SALT {
        Some(salt) => salt.is_padded() && !K::SCHEMA.has_epochs(),
        None => false,
    };

    #[inline(always)]
    fn new(out: &'a mut Vec<u8>, capacity: usize) -> Self {
        let salt_at = out.len();
        let out = KeyBuf::new(out, capacity);
        Self { out, spans: [Span::default(); N], salt_at, key_type: PhantomData }
    }

    /// Writes the tag, and reserves the salt's place before the fields.
    #[inline(always)]
    fn head(&mut self) {
        self.reserve_salt_at(SaltPlace::Front);
        if let Some(tag) = K::SCHEMA.tag() {
            self.out.put(tag.as_bytes());
            self.out.push(const { K::SCHEMA.delimiter() });
        }
        self.reserve_salt_at(SaltPlace::BeforeFields);
    }

    /// Reserves the salt's place, if this is it: the bucket is known only after the fields. `finish` inserts a salt
    /// without padding, and one that depends on the time, since its length is not known either.
    #[inline(always)]
    fn reserve_salt_at(&mut self, place: SaltPlace) {
        let Some(salt) = Self::SALT.filter(|salt| salt.place() == place) else {
            return;
        };
        self.salt_at = self.out.len();
        if Self::IS_RESERVED {
            for _ in 0..salt.width() {
                self.out.push(b'0');
            }
            self.out.put(K::SCHEMA.salt_end(salt));
        }
    }

    /// Writes the bucket in its place.
    #[inline(always)]
    fn finish(self) {
        let Self { out, spans, salt_at, .. } = self;
        let out = out.finish();
        let Some(salt) = Self::SALT else {
            return;
        };
        if Self::IS_RESERVED {
            let bucket = bucket_of(salt, out, &spans, K::SCHEMA);
            Salt::fill_digits(bucket, &mut out[salt_at..salt_at + salt.width()]);
        } else {
            insert_salt(K::SCHEMA, out, &spans, salt_at);
        }
    }

    /// Writes the next field, whose index is `at`.
    ///
    /// # Errors
    /// When the field's format cannot hold the value, or a delimited one holds a forbidden byte.
    #[inline(always)]
    pub fn field<C, T: KeyField<C>>(&mut self, at: usize, value: &T) -> Result<(), EncodeError> {
        let start = self.begin_field(at);
        let written = append_field::<C, T>(value.arg(), K::SCHEMA, &mut self.out);
        self.end_field(at, start, written)
    }

    /// Writes the hash of the next field, whose index is `at`.
    ///
    /// # Errors
    /// When the field's format cannot hold the value that is hashed.
    pub fn hashed_field<C, T: KeyField<C>>(&mut self, at: usize, value: &T) -> Result<(), EncodeError> {
        let start = self.begin_field(at);
        let written = self.out.with_vec(|out| write_hashed::<C, T>(value.arg(), K::SCHEMA, out));
        self.end_field(at, start, written)
    }

    /// Writes what separates the next field from the previous one; returns where it begins.
    #[inline(always)]
    fn begin_field(&mut self, at: usize) -> usize {
        if at > 0 {
            match Self::LAYOUT {
                Layout::Delimited => self.out.push(const { K::SCHEMA.delimiter() }),
                Layout::OrderedCode => self.out.put(&ordered::SEPARATOR),
            }
            self.reserve_salt_at(SaltPlace::After { field: at - 1 });
        }
        self.out.len()
    }

    #[inline(always)]
    fn end_field(
        &mut self,
        at: usize,
        start: usize,
        written: Result<(), FieldError>,
    ) -> Result<(), EncodeError> {
        if let Err(error) = written {
            return Err(field_error(K::SCHEMA, at, error));
        }
        self.spans[at] = Span { start, end: self.out.len() };
        Ok(())
    }
}

/// Inserts the bucket of a key whose fields lie at `spans`.
fn insert_salt(schema: &Schema, out: &mut Vec<u8>, spans: &[Span], salt_at: usize) {
    let Some(salt) = schema.salt_of(schema.epoch_of_fields(out, spans)) else {
        return;
    };
    let bucket = bucket_of(salt, out, spans, schema);
    let len = out.len();
    schema.write_salt(salt, salt.numbered(bucket), out);
    let inserted = out.len() - len;
    out[salt_at..].rotate_right(inserted);
}

#[cold]
fn field_error(schema: &Schema, field: usize, error: FieldError) -> EncodeError {
    EncodeError::field(schema.key_type(), schema.fields()[field].name(), error)
}

/// Appends the hash of a field, encoded as a part of a key.
pub(crate) fn write_hashed<C, T: KeyField<C>>(
    value: T::Arg<'_>,
    schema: &Schema,
    out: &mut Vec<u8>,
) -> Result<(), FieldError> {
    let start = out.len();
    T::write(value, out)?;
    let hash = Md5::digest(&out[start..]);
    out.truncate(start);
    match schema.layout() {
        Layout::Delimited => write_hex(&hash, out),
        Layout::OrderedCode => {
            out.extend_from_slice(&hash);
            ordered::escape_from(out, start);
        }
    }
    Ok(())
}

/// Appends a field, encoded as a part of a key: checked for the delimiter if that ends it, escaped in the ordered layout.
pub(crate) fn write_field<C, T: KeyField<C>>(
    value: T::Arg<'_>,
    schema: &Schema,
    out: &mut Vec<u8>,
) -> Result<(), FieldError> {
    append_to(out, |out| append_field::<C, T>(value, schema, out))
}

#[inline(always)]
fn append_field<C, T: KeyField<C>>(
    value: T::Arg<'_>,
    schema: &Schema,
    out: &mut KeyBuf<'_>,
) -> Result<(), FieldError> {
    let start = out.len();
    match schema.layout() {
        Layout::OrderedCode => out.with_vec(|out| {
            T::write(value, out)?;
            ordered::escape_from(out, start);
            Ok(())
        }),
        Layout::Delimited => {
            let delimiter = schema.delimiter();
            if T::append(value, delimiter, out)? {
                return out.with_vec(|out| {
                    Err(forbidden_byte(format_args!("{value:?}"), &out[start..], delimiter))
                });
            }
            Ok(())
        }
    }
}

#[cold]
fn forbidden_byte(value: std::fmt::Arguments<'_>, bytes: &[u8], delimiter: u8) -> FieldError {
    let byte = bytes.iter().copied().find(|byte| *byte <= delimiter).unwrap_or(delimiter);
    let remedy = match byte {
        b' '.. => ", or give the field a width with `#[pad(n)]`",
        _ => "",
    };
    FieldError::new(format_args!(
        "{value} contains {}; a delimited field must not contain a byte at or below the delimiter {}, or \
         keys would sort wrong: store text with `#[row_key(escape)]`{remedy}",
        Byte(byte),
        Byte(delimiter),
    ))
}

/// An estimate of a field's length in bytes, for [`encode`].
#[inline(always)]
pub fn written_len<C, T: KeyField<C>>(value: &T) -> usize {
    T::written_len(value.arg())
}

/// Appends the key whose fields `fields` writes; on an error `out` is unchanged.
///
/// `lens` are the estimated lengths of the fields, so that `out` is usually reallocated at most once.
///
/// # Errors
/// Those of the fields, and for a key that is empty or too long.
#[inline]
pub fn encode<K: RowKey, const N: usize>(
    out: &mut Vec<u8>,
    lens: [usize; N],
    fields: impl FnOnce(&mut KeyWriter<'_, K, N>) -> Result<(), EncodeError>,
) -> Result<(), EncodeError> {
    let base = out.len();
    let result = match const { K::SCHEMA.layout() } {
        Layout::Delimited => encode_text(out, lens, fields),
        Layout::OrderedCode => encode_ordered(out, base, fields),
    };
    let result = result.and_then(|()| check_len(K::SCHEMA, out.len() - base));
    if result.is_err() {
        out.truncate(base);
    }
    result
}

#[inline(always)]
fn encode_text<K: RowKey, const N: usize>(
    out: &mut Vec<u8>,
    lens: [usize; N],
    fields: impl FnOnce(&mut KeyWriter<'_, K, N>) -> Result<(), EncodeError>,
) -> Result<(), EncodeError> {
    // A key over the limit fails later, so the sum need not be exact.
    let head_and_delimiters = const { K::SCHEMA.head_lens().1 + N.saturating_sub(1) };
    let capacity = lens.iter().fold(head_and_delimiters, |capacity, len| capacity.saturating_add(*len));
    let mut writer = KeyWriter::new(out, capacity.min(MAX_KEY_LEN));
    writer.head();
    fields(&mut writer)?;
    writer.finish();
    Ok(())
}

/// The salt of an ordered key has no fixed width, so the head is inserted after the fields are written.
fn encode_ordered<K: RowKey, const N: usize>(
    out: &mut Vec<u8>,
    base: usize,
    fields: impl FnOnce(&mut KeyWriter<'_, K, N>) -> Result<(), EncodeError>,
) -> Result<(), EncodeError> {
    let schema = K::SCHEMA;
    let mut writer = KeyWriter::new(out, 0);
    fields(&mut writer)?;
    let KeyWriter { out, spans, .. } = writer;
    let out = out.finish();
    let salt = schema.salt_of(schema.epoch_of_fields(out, &spans));
    let bucket = salt.map(|salt| schema.numbered(salt, bucket_of(salt, out, &spans, schema)));
    out.truncate(ordered_end(out, &spans).unwrap_or(base));
    let mut head = Vec::with_capacity(16);
    schema.write_head(bucket, &[], &mut head);
    match (head.is_empty(), out.len() == base) {
        (true, true) => out.extend_from_slice(&ordered::EMPTY),
        (true, false) => {}
        (false, empty) => {
            if !empty {
                head.extend_from_slice(&ordered::SEPARATOR);
            }
            out.splice(base..base, head);
        }
    }
    Ok(())
}

/// The end of the last field that is not empty; the empty ones after it are dropped.
pub(crate) fn ordered_end(key: &[u8], spans: &[Span]) -> Option<usize> {
    let full = |span: &&Span| key[span.start..span.end] != ordered::EMPTY;
    spans.iter().rev().find(full).map(|span| span.end)
}

/// Rejects lengths that Bigtable rejects.
#[inline]
pub(crate) fn check_len(schema: &Schema, len: usize) -> Result<(), EncodeError> {
    match len {
        0 => Err(EncodeError::empty(schema.key_type())),
        1..=MAX_KEY_LEN => Ok(()),
        _ => Err(EncodeError::too_long(schema.key_type(), len)),
    }
}
