//! Encoding a key: its parts in order, then the salt in its reserved place.
//!
//! The code for each field is `inline(always)`: otherwise key types share it in programs that have several, and encoding
//! takes a fifth longer. In a build without optimizations nothing is gained, and a key type would take twice the code.

use std::fmt;

use md5::{Digest as _, Md5};

use super::codec::write_hex;
use super::error::EncodeError;
use super::fast::{KeyBuf, append_to};
use super::field::{FieldError, KeyField};
use super::format::KeyEncoding;
use super::row_key::RowKey;
use super::salt::{Salt, SaltPlace, Span};
use super::schema::{KeySchema, bucket_of};
use super::shape::{Derived, Shape};
use super::show::Byte;
use super::{MAX_KEY_LEN, ordered};

/// Encodes the fields of a key, field by field, from the left; `P` are their places in the key.
///
/// For a derived key type the compiler knows the shape, and the index of each field from the derived call, so what depends on them is
/// decided at compile time.
#[derive(Debug)]
pub struct KeyWriter<'a, S, P> {
    out: KeyBuf<'a>,
    spans: P,
    /// The start of the salt in `out`.
    salt_at: usize,
    shape: S,
}

impl<'a, S: Shape, P: AsMut<[Span]>> KeyWriter<'a, S, P> {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn new(shape: S, spans: P, out: &'a mut Vec<u8>, capacity: usize) -> Self {
        let salt_at = out.len();
        let out = KeyBuf::new(out, capacity);
        Self { out, spans, salt_at, shape }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn schema(&self) -> &'static KeySchema {
        self.shape.schema()
    }

    /// Writes the tag, and reserves the salt's place before the fields.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn head(&mut self) {
        self.reserve_salt_at(SaltPlace::Front);
        if let Some(tag) = self.schema().tag() {
            self.out.put(tag.as_bytes());
            self.out.push(self.shape.delimiter());
        }
        self.reserve_salt_at(SaltPlace::BeforeFields);
    }

    /// Reserves the salt's place, if this is it: the bucket is known only after the fields. `finish` inserts a salt
    /// without padding, and one that depends on the time, since its length is not known either.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn reserve_salt_at(&mut self, place: SaltPlace) {
        let Some(salt) = self.shape.first_salt().filter(|salt| salt.place() == place) else {
            return;
        };
        self.salt_at = self.out.len();
        if self.shape.has_salt_of_known_len() {
            for _ in 0..salt.width() {
                self.out.push(b'0');
            }
            self.out.put(self.schema().salt_end(salt));
        }
    }

    /// Writes the bucket in its place.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn finish(self) {
        let Self { out, mut spans, salt_at, shape } = self;
        let (out, spans) = (out.finish(), &*spans.as_mut());
        let Some(salt) = shape.first_salt() else {
            return;
        };
        if shape.has_salt_of_known_len() {
            let bucket = bucket_of(salt, out, spans, shape.schema());
            Salt::fill_digits(bucket, &mut out[salt_at..salt_at + salt.width()]);
        } else {
            insert_salt(shape.schema(), out, spans, salt_at);
        }
    }

    /// Writes the next field, whose index is `at`.
    ///
    /// # Errors
    /// When the field's format cannot hold the value, or a delimited one holds a forbidden byte.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn field<C, T: KeyField<C>>(&mut self, at: usize, value: &T) -> Result<(), EncodeError> {
        self.part(at, &Typed::<C, T>(value.arg()))
    }

    /// Writes the part of the next field, whose index is `at`.
    ///
    /// # Errors
    /// Those of [`field`](Self::field).
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn part(&mut self, at: usize, part: &impl Part) -> Result<(), EncodeError> {
        let start = self.begin_field(at);
        let written = append_part(part, self.shape.schema(), &mut self.out);
        self.end_field(at, start, written)
    }

    /// Writes the hash of the part of the next field, whose index is `at`.
    ///
    /// # Errors
    /// When the part cannot be written.
    pub(crate) fn hashed_part(&mut self, at: usize, part: &impl Part) -> Result<(), EncodeError> {
        let start = self.begin_field(at);
        let schema = self.schema();
        let written = self.out.with_vec(|out| write_hash(part, schema, out));
        self.end_field(at, start, written)
    }

    /// Writes the hash of the next field, whose index is `at`.
    ///
    /// # Errors
    /// When the field's format cannot hold the value that is hashed.
    pub fn hashed_field<C, T: KeyField<C>>(&mut self, at: usize, value: &T) -> Result<(), EncodeError> {
        self.hashed_part(at, &Typed::<C, T>(value.arg()))
    }

    /// Writes what separates the next field from the previous one; returns where it begins.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn begin_field(&mut self, at: usize) -> usize {
        if at > 0 {
            match self.shape.layout() {
                KeyEncoding::Delimited => self.out.push(self.shape.delimiter()),
                KeyEncoding::OrderedCode => self.out.put(&ordered::SEPARATOR),
            }
            self.reserve_salt_at(SaltPlace::After { field: at - 1 });
        }
        self.out.len()
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn end_field(
        &mut self,
        at: usize,
        start: usize,
        written: Result<(), FieldError>,
    ) -> Result<(), EncodeError> {
        if let Err(error) = written {
            return Err(field_error(self.schema(), at, error));
        }
        self.spans.as_mut()[at] = Span { start, end: self.out.len() };
        Ok(())
    }
}

/// Inserts the bucket of a key whose fields lie at `spans`.
fn insert_salt(schema: &KeySchema, out: &mut Vec<u8>, spans: &[Span], salt_at: usize) {
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
fn field_error(schema: &KeySchema, field: usize, error: FieldError) -> EncodeError {
    EncodeError::field(schema.key_type(), schema.fields()[field].name(), error)
}

/// A value of a field with its codec.
pub(crate) trait Part {
    /// Appends the encoding, as [`KeyField::write`] does.
    ///
    /// # Errors
    /// When the format cannot hold the value.
    fn write(&self, out: &mut Vec<u8>) -> Result<(), FieldError>;

    /// Appends the encoding, as [`KeyField::append`] does.
    ///
    /// # Errors
    /// Those of `write`.
    fn append(&self, delimiter: u8, out: &mut KeyBuf<'_>) -> Result<bool, FieldError>;

    /// The value as an error shows it.
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result;
}

/// The value of a field of type `T`, stored as `C`.
pub(crate) struct Typed<'a, C, T: KeyField<C>>(pub(crate) T::Arg<'a>);

impl<C, T: KeyField<C>> Part for Typed<'_, C, T> {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn write(&self, out: &mut Vec<u8>) -> Result<(), FieldError> {
        T::write(self.0, out)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn append(&self, delimiter: u8, out: &mut KeyBuf<'_>) -> Result<bool, FieldError> {
        T::append(self.0, delimiter, out)
    }

    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        T::show(self.0, f)
    }
}

/// Appends the hash of a field, encoded as a part of a key.
pub(crate) fn write_hash(part: &impl Part, schema: &KeySchema, out: &mut Vec<u8>) -> Result<(), FieldError> {
    let start = out.len();
    part.write(out)?;
    let hash = Md5::digest(&out[start..]);
    out.truncate(start);
    match schema.layout() {
        KeyEncoding::Delimited => write_hex(&hash, out),
        KeyEncoding::OrderedCode => {
            out.extend_from_slice(&hash);
            ordered::escape_from(out, start);
        }
    }
    Ok(())
}

/// Appends a field, encoded as a part of a key: checked for the delimiter if that ends it, escaped in the ordered layout.
pub(crate) fn write_part(part: &impl Part, schema: &KeySchema, out: &mut Vec<u8>) -> Result<(), FieldError> {
    append_to(out, |out| append_part(part, schema, out))
}

#[cfg_attr(not(debug_assertions), inline(always))]
fn append_part(part: &impl Part, schema: &KeySchema, out: &mut KeyBuf<'_>) -> Result<(), FieldError> {
    let start = out.len();
    match schema.layout() {
        KeyEncoding::OrderedCode => out.with_vec(|out| {
            part.write(out)?;
            ordered::escape_from(out, start);
            Ok(())
        }),
        KeyEncoding::Delimited => {
            let delimiter = schema.delimiter();
            if part.append(delimiter, out)? {
                let value = fmt::from_fn(|f| part.show(f));
                return out
                    .with_vec(|out| Err(forbidden_byte(format_args!("{value}"), &out[start..], delimiter)));
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
#[cfg_attr(not(debug_assertions), inline(always))]
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
    fields: impl FnOnce(&mut KeyWriter<'_, Derived<K>, [Span; N]>) -> Result<(), EncodeError>,
) -> Result<(), EncodeError> {
    // A key over the limit fails later, so the sum need not be exact.
    let head_and_delimiters = const { K::SCHEMA.head_lens().1 + N.saturating_sub(1) };
    let capacity = lens.iter().fold(head_and_delimiters, |capacity, len| capacity.saturating_add(*len));
    encode_by(Derived::new(), [Span::default(); N], capacity, out, fields)
}

/// Appends the key whose fields `fields` writes, of about `capacity` bytes; on an error `out` is unchanged.
///
/// # Errors
/// Those of the fields, and for a key that is empty or too long.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(crate) fn encode_by<S: Shape, P: AsMut<[Span]>>(
    shape: S,
    spans: P,
    capacity: usize,
    out: &mut Vec<u8>,
    fields: impl FnOnce(&mut KeyWriter<'_, S, P>) -> Result<(), EncodeError>,
) -> Result<(), EncodeError> {
    let base = out.len();
    let result = match shape.layout() {
        KeyEncoding::Delimited => encode_text(shape, spans, capacity, out, fields),
        KeyEncoding::OrderedCode => encode_ordered(shape, spans, out, base, fields),
    };
    let result = result.and_then(|()| check_len(shape.schema(), out.len() - base));
    if result.is_err() {
        out.truncate(base);
    }
    result
}

#[cfg_attr(not(debug_assertions), inline(always))]
fn encode_text<S: Shape, P: AsMut<[Span]>>(
    shape: S,
    spans: P,
    capacity: usize,
    out: &mut Vec<u8>,
    fields: impl FnOnce(&mut KeyWriter<'_, S, P>) -> Result<(), EncodeError>,
) -> Result<(), EncodeError> {
    let mut writer = KeyWriter::new(shape, spans, out, capacity.min(MAX_KEY_LEN));
    writer.head();
    fields(&mut writer)?;
    writer.finish();
    Ok(())
}

/// The salt of an ordered key has no fixed width, so the head is inserted after the fields are written.
fn encode_ordered<S: Shape, P: AsMut<[Span]>>(
    shape: S,
    spans: P,
    out: &mut Vec<u8>,
    base: usize,
    fields: impl FnOnce(&mut KeyWriter<'_, S, P>) -> Result<(), EncodeError>,
) -> Result<(), EncodeError> {
    let schema = shape.schema();
    let mut writer = KeyWriter::new(shape, spans, out, 0);
    fields(&mut writer)?;
    let KeyWriter { out, mut spans, .. } = writer;
    let (out, spans) = (out.finish(), &*spans.as_mut());
    let salt = schema.salt_of(schema.epoch_of_fields(out, spans));
    let bucket = salt.map(|salt| schema.numbered(salt, bucket_of(salt, out, spans, schema)));
    out.truncate(ordered_end(out, spans).unwrap_or(base));
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
pub(crate) fn check_len(schema: &KeySchema, len: usize) -> Result<(), EncodeError> {
    match len {
        0 => Err(EncodeError::empty(schema.key_type())),
        1..=MAX_KEY_LEN => Ok(()),
        _ => Err(EncodeError::too_long(schema.key_type(), len)),
    }
}
