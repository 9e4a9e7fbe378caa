//! Writing a key: the parts in order, then the salt into its place.
//!
//! What runs for each field is inlined always: where a program has several key types, the optimizer would share it
//! among them, and a key would cost a fifth more.

use super::MAX_KEY_LEN;
use super::error::{EncodeError, FieldError};
use super::field::KeyField;
use super::salt::{Salt, Span, bucket_of};
use super::schema::{Schema, Width};
use super::show::Byte;

/// The fields of a key on their way into its bytes; `N` is how many there are.
///
/// What the derive calls, field by field from the left.
#[derive(Debug)]
pub struct KeyWriter<'a, const N: usize> {
    schema: &'static Schema,
    out: &'a mut Vec<u8>,
    spans: [Span; N],
    next: usize,
}

impl<const N: usize> KeyWriter<'_, N> {
    /// Writes the next field.
    ///
    /// # Errors
    /// When the field's format cannot hold the value, or a delimited one holds a forbidden byte.
    #[inline(always)]
    pub fn field<C, T: KeyField<C>>(&mut self, value: &T) -> Result<(), EncodeError> {
        let at = self.next;
        if at > 0 {
            self.out.push(self.schema.delimiter());
        }
        let start = self.out.len();
        write_field::<C, T>(value.arg(), self.schema.delimiter(), self.out).map_err(|error| {
            EncodeError::field(self.schema.key_type(), self.schema.fields()[at].name(), error)
        })?;
        self.spans[at] = Span { start, end: self.out.len() };
        self.next = at + 1;
        Ok(())
    }
}

/// Appends one field, checked against the delimiter where that is what ends it.
#[inline(always)]
pub(crate) fn write_field<C, T: KeyField<C>>(
    value: T::Arg<'_>,
    delimiter: u8,
    out: &mut Vec<u8>,
) -> Result<(), FieldError> {
    let start = out.len();
    if !matches!(T::WIDTH, Width::Delimited) {
        return T::write(value, out);
    }
    if T::write_delimited(value, delimiter, out)? {
        return Err(forbidden(format_args!("{value:?}"), &out[start..], delimiter));
    }
    Ok(())
}

/// Whether some byte is at or below the delimiter, which is ASCII.
///
/// Fields are short, and what costs is a branch that goes another way for each length: so eight bytes at a time, and
/// the last eight once more.
#[inline]
pub(crate) fn holds_forbidden(bytes: &[u8], delimiter: u8) -> bool {
    let Some(last) = bytes.last_chunk::<8>() else {
        return bytes.iter().any(|byte| *byte <= delimiter);
    };
    forbidden_in(*last, delimiter) != 0
        || bytes.as_chunks::<8>().0.iter().any(|word| forbidden_in(*word, delimiter) != 0)
}

/// Appends `bytes`; whether some byte of them is at or below the delimiter.
///
/// Up to 32 bytes go as four words that overlap where there are fewer, so that no branch depends on the length.
#[inline(always)]
pub(crate) fn append_checked(bytes: &[u8], delimiter: u8, out: &mut Vec<u8>) -> bool {
    const BLOCK: usize = 32;
    let len = bytes.len();
    if !(8..=BLOCK).contains(&len) {
        out.extend_from_slice(bytes);
        return holds_forbidden(bytes, delimiter);
    }
    let end = out.len() + len;
    out.extend_from_slice(&[0; BLOCK]);
    let mut found = 0;
    if let Some(block) = out.last_chunk_mut::<BLOCK>() {
        for at in [0, 8, 16, 24] {
            let at = at.min(len - 8);
            let mut word = [0; 8];
            word.copy_from_slice(&bytes[at..at + 8]);
            found |= forbidden_in(word, delimiter);
            block[at..at + 8].copy_from_slice(&word);
        }
    }
    out.truncate(end);
    found != 0
}

/// The bytes at or below the delimiter, each by its high bit; exact up to the first of them.
#[inline]
pub(crate) fn forbidden_in(bytes: [u8; 8], delimiter: u8) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    // The first byte is the lowest, so that what it borrows reaches only those behind it.
    #[allow(clippy::little_endian_bytes)]
    let word = u64::from_le_bytes(bytes);
    word.wrapping_sub(ONES * (u64::from(delimiter) + 1)) & !word & (ONES << 7)
}

/// The error for a delimited field that holds a byte at or below the delimiter.
#[cold]
fn forbidden(value: std::fmt::Arguments<'_>, bytes: &[u8], delimiter: u8) -> FieldError {
    let byte = bytes.iter().copied().find(|byte| *byte <= delimiter).unwrap_or(delimiter);
    FieldError::new(format_args!(
        "{value} holds {}; a delimited field holds no byte at or below the delimiter {}, which is what \
         keeps keys in order: replace it, or give the field a width with `#[pad(n)]`",
        Byte(byte),
        Byte(delimiter),
    ))
}

/// Appends the key that `fields` writes to `out`; on an error `out` is as it was.
///
/// # Errors
/// Those of the fields; a key that is empty or too long.
#[inline]
pub fn encode<const N: usize>(
    schema: &'static Schema,
    out: &mut Vec<u8>,
    fields: impl FnOnce(&mut KeyWriter<'_, N>) -> Result<(), EncodeError>,
) -> Result<(), EncodeError> {
    let base = out.len();
    let result = encode_at(schema, out, base, fields);
    if result.is_err() {
        out.truncate(base);
    }
    result
}

#[inline(always)]
fn encode_at<const N: usize>(
    schema: &'static Schema,
    out: &mut Vec<u8>,
    base: usize,
    fields: impl FnOnce(&mut KeyWriter<'_, N>) -> Result<(), EncodeError>,
) -> Result<(), EncodeError> {
    out.reserve(schema.min_len());
    // The bucket is known once the fields are written; until then bucket 0 keeps its place.
    schema.write_head(0, out);
    let mut writer = KeyWriter { schema, out, spans: [Span::default(); N], next: 0 };
    fields(&mut writer)?;
    let KeyWriter { out, spans, .. } = writer;
    if let Some(salt) = schema.salt() {
        let bucket = bucket_of(salt, out, &spans, schema.delimiter());
        let end = base + schema.head_len() - 1;
        Salt::patch(bucket, &mut out[end - salt.width()..end]);
    }
    check_len(schema, out.len() - base)
}

/// Refuses the lengths that Bigtable does.
#[inline]
pub(crate) fn check_len(schema: &Schema, len: usize) -> Result<(), EncodeError> {
    match len {
        0 => Err(EncodeError::empty(schema.key_type())),
        1..=MAX_KEY_LEN => Ok(()),
        _ => Err(EncodeError::too_long(schema.key_type(), len)),
    }
}
