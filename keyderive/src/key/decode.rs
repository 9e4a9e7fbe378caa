//! Decoding a key: exactly the bytes that encode writes are accepted.
//!
//! The code for each field is `inline(always)`, for the reason given in `encode`.

use std::borrow::Cow;

use super::codec::{Ordered, Text};
use super::error::{DecodeError, DecodeKind};
use super::fast::MaskedKey;
use super::field::{FieldError, KeyField};
use super::format::{KeyEncoding, Width};
use super::ordered::Malformed;
use super::row_key::RowKey;
use super::salt::{Salt, SaltPlace, Span};
use super::schema::{KeySchema, bucket_of};
use super::shape::{Derived, Shape};
use super::show::{Byte, Readable};
use super::{MAX_KEY_LEN, ordered};

type Md5 = [u8; 16];

/// Decodes a key field by field, from the left; `P` are the places of its fields.
///
/// For a derived key type the compiler knows the shape, and the index of each field from the derived call, so what depends on them is
/// decided at compile time.
#[derive(Debug)]
pub struct KeyReader<'a, S, P> {
    key: &'a [u8],
    masked: MaskedKey<'a>,
    /// The salt that a key with this time has.
    salt: Option<&'static Salt>,
    /// The bucket in the salt.
    bucket: Option<i32>,
    spans: P,
    /// The start of the unread bytes.
    at: usize,
    /// Whether the last byte read belongs to a separator of the ordered layout, so that a part must follow.
    separated: bool,
    shape: S,
}

impl<'a, S: Shape, P: AsMut<[Span]>> KeyReader<'a, S, P> {
    /// Begins a key of this shape: read its [`head`](Self::head) next, then each field, then [`finish`](Self::finish).
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn new(shape: S, spans: P, key: &'a [u8]) -> Self {
        Self {
            key,
            masked: MaskedKey::unmasked(key),
            salt: shape.schema().salt(),
            bucket: None,
            spans,
            at: 0,
            separated: false,
            shape,
        }
    }

    /// Reads the tag and the salt.
    ///
    /// # Errors
    /// When the key has another tag, no salt, or a length that no key has.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn head(&mut self) -> Result<(), DecodeError> {
        let Self { key, shape, .. } = *self;
        if !(1..=MAX_KEY_LEN).contains(&key.len()) {
            return Err(self.error(DecodeKind::Length));
        }
        if shape.has_epochs() {
            self.salt = shape.schema().salt_of(shape.schema().epoch_in(key));
        }
        if let KeyEncoding::OrderedCode = shape.layout() {
            return self.ordered_head();
        }
        if shape.has_delimited_field() {
            self.masked = MaskedKey::new(key, shape.delimiter());
        }
        self.read_salt_at(SaltPlace::Front)?;
        if let Some(tag) = shape.schema().tag() {
            let rest = &key[self.at..];
            if !(rest.starts_with(tag.as_bytes()) && rest.get(tag.len()) == Some(&shape.delimiter())) {
                return Err(self.error(DecodeKind::Tag { expected: tag }));
            }
            self.at += tag.len() + 1;
        }
        self.read_salt_at(SaltPlace::BeforeFields)
    }

    /// The bucket that the key begins with.
    pub(crate) fn bucket(&self) -> Option<i32> {
        self.bucket
    }

    /// The bytes after the parts that were read.
    pub(crate) fn rest(&self) -> &'a [u8] {
        &self.key[self.at..]
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn schema(&self) -> &'static KeySchema {
        self.shape.schema()
    }

    /// The salt that the key must have. Of a derived key type without epochs, the compiler knows it.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn salt(&self) -> Option<&'static Salt> {
        if self.shape.has_epochs() { self.salt } else { self.schema().salt() }
    }

    /// Reads the tag and the salt of an ordered key.
    fn ordered_head(&mut self) -> Result<(), DecodeError> {
        if let Some(tag) = self.schema().tag() {
            match self.take_part() {
                Ok(part) if *part == *tag.as_bytes() => {}
                _ => return Err(self.error(DecodeKind::Tag { expected: tag })),
            }
        }
        if let Some(salt) = self.salt() {
            let bucket = self.take_part().ok().and_then(|part| ordered::read_int(&part));
            let bucket = bucket.and_then(|bucket| i32::try_from(bucket).ok());
            self.bucket = bucket.filter(|bucket| salt.buckets().contains(bucket));
            if self.bucket.is_none() {
                return Err(self.missing_salt());
            }
        }
        Ok(())
    }

    /// Reads the next part of an ordered key and the separator after it; the part is empty at the end of the key.
    fn take_part(&mut self) -> Result<Cow<'a, [u8]>, Malformed> {
        if self.at == self.key.len() && !self.separated {
            return Ok(Cow::Borrowed(&[]));
        }
        let (part, len) = ordered::take_part(&self.key[self.at..])?;
        self.at += len;
        self.separated = self.key[self.at..].starts_with(&ordered::SEPARATOR);
        if part.is_empty() && !self.separated && self.key != ordered::EMPTY {
            return Err(Malformed::TrailingEmpty);
        }
        if self.separated {
            self.at += ordered::SEPARATOR.len();
        }
        Ok(part)
    }

    fn ordered_field<V>(
        &mut self,
        at: usize,
        read: impl FnOnce(Cow<'a, [u8]>) -> Result<V, FieldError>,
    ) -> Result<V, FieldError> {
        let start = self.at;
        let part = self.take_part().map_err(Malformed::into_error)?;
        let end = self.at - if self.separated { ordered::SEPARATOR.len() } else { 0 };
        self.spans.as_mut()[at] = Span { start, end };
        read(part)
    }

    /// Reads the salt, if this is its place.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn read_salt_at(&mut self, place: SaltPlace) -> Result<(), DecodeError> {
        let Some(salt) = self.salt().filter(|salt| salt.place() == place) else {
            return Ok(());
        };
        let (rest, end) = (&self.key[self.at..], self.schema().salt_end(salt));
        let Some((bucket, len)) = salt.read(rest).filter(|(_, len)| rest[*len..].starts_with(end)) else {
            return Err(self.missing_salt());
        };
        self.bucket = Some(bucket);
        self.at += len + end.len();
        Ok(())
    }

    /// Reads the next field, whose index is `at`.
    ///
    /// # Errors
    /// When the bytes are not what the field writes.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn field<C, T: KeyField<C>>(&mut self, at: usize) -> Result<T::Decoded<'a>, DecodeError> {
        let layout = self.shape.layout();
        self.part(
            at,
            T::WIDTH,
            #[cfg_attr(not(debug_assertions), inline(always))]
            |bytes, text| match (layout, bytes) {
                (KeyEncoding::Delimited, Cow::Borrowed(bytes)) => T::read_borrowed(bytes, text),
                (_, bytes) => T::read(bytes),
            },
        )
    }

    /// Reads the part of the next field, whose index is `at`, by `read`, which also takes the bytes as text if they are known to be ASCII.
    ///
    /// # Errors
    /// Those of [`field`](Self::field).
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn part<V>(
        &mut self,
        at: usize,
        width: Width,
        read: impl FnOnce(Cow<'a, [u8]>, Option<&'a str>) -> Result<V, FieldError>,
    ) -> Result<V, DecodeError> {
        match self.shape.layout() {
            KeyEncoding::Delimited => self.text_field(
                at,
                width,
                #[cfg_attr(not(debug_assertions), inline(always))]
                |bytes, text| read(Cow::Borrowed(bytes), text),
            ),
            KeyEncoding::OrderedCode => {
                let read = self.ordered_field(at, |part| read(part, None));
                read.map_err(|error| {
                    let name = self.schema().fields()[at].name();
                    self.error(DecodeKind::Field { name, error })
                })
            }
        }
    }

    /// Checks the next field, whose index is `at`. It is stored as a hash, so it cannot be decoded.
    ///
    /// # Errors
    /// When the bytes are not a hash.
    pub fn hashed_field(&mut self, at: usize) -> Result<(), DecodeError> {
        match self.shape.layout() {
            KeyEncoding::Delimited => self.field::<Text, Md5>(at),
            KeyEncoding::OrderedCode => self.field::<Ordered, Md5>(at),
        }
        .map(drop)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn text_field<V>(
        &mut self,
        at: usize,
        width: Width,
        read: impl FnOnce(&'a [u8], Option<&'a str>) -> Result<V, FieldError>,
    ) -> Result<V, DecodeError> {
        let last = at + 1 == self.spans.as_mut().len();
        let read = self.take_field(width, last).and_then(
            #[cfg_attr(not(debug_assertions), inline(always))]
            |bytes| {
                let text = self.masked.ascii(self.at, self.at + bytes.len());
                Ok((bytes.len(), read(bytes, text)?))
            },
        );
        match read {
            Ok((len, value)) => {
                self.spans.as_mut()[at] = Span { start: self.at, end: self.at + len };
                // `take_field` found a delimiter after each field but the last.
                self.at += len + usize::from(!last);
                self.read_salt_at(SaltPlace::After { field: at })?;
                Ok(value)
            }
            Err(error) => {
                let name = self.schema().fields()[at].name();
                Err(self.error(DecodeKind::Field { name, error }))
            }
        }
    }

    /// The bytes of the next field.
    ///
    /// A delimiter must follow each field but the last. After the last one, [`finish`](Self::finish) rejects any byte.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn take_field(&self, width: Width, last: bool) -> Result<&'a [u8], FieldError> {
        let (rest, delimiter) = (&self.key[self.at..], self.shape.delimiter());
        if let Width::Fixed(width) = width {
            let Some(bytes) = rest.get(..width) else {
                return Err(too_short(rest, width));
            };
            if !last && rest.get(width) != Some(&delimiter) {
                return Err(no_delimiter(&rest[width..], width, delimiter));
            }
            return Ok(bytes);
        }
        let end = self.masked.find_forbidden(self.at, delimiter);
        let Some(bytes) = self.key.get(self.at..end) else {
            return Err(unterminated(rest, delimiter));
        };
        match self.key.get(end) {
            None if last => Ok(bytes),
            None => Err(unterminated(rest, delimiter)),
            Some(_) if last => Err(forbidden(rest, delimiter)),
            Some(found) if *found == delimiter => Ok(bytes),
            Some(_) => Err(forbidden(&self.key[self.at..=end], delimiter)),
        }
    }

    /// Rejects unread bytes, and a bucket that the fields do not hash to.
    ///
    /// # Errors
    /// When bytes are left after the last field, or the fields hash to another bucket than the key has.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn finish(mut self) -> Result<(), DecodeError> {
        if self.at != self.key.len() || self.separated {
            return Err(self.error(DecodeKind::Trailing));
        }
        if let (Some(salt), Some(stored)) = (self.salt(), self.bucket) {
            let expected = bucket_of(salt, self.key, self.spans.as_mut(), self.shape.schema());
            if stored != expected {
                return Err(self.error(DecodeKind::Bucket { stored, expected }));
            }
        }
        Ok(())
    }

    #[cold]
    fn missing_salt(&self) -> DecodeError {
        let schema = self.schema();
        self.error(DecodeKind::Salt { schema, epoch: schema.epoch_in(self.key) })
    }

    #[cold]
    fn error(&self, kind: DecodeKind) -> DecodeError {
        DecodeError::new(self.schema().key_type(), self.key, kind)
    }
}

#[cold]
fn too_short(rest: &[u8], width: usize) -> FieldError {
    FieldError::new(format_args!("it takes {width} bytes, but the key ends after {} of them", rest.len()))
}

#[cold]
fn no_delimiter(rest: &[u8], width: usize, delimiter: u8) -> FieldError {
    match rest.first() {
        Some(byte) => FieldError::new(format_args!(
            "it takes {width} bytes, and {} follows them instead of the delimiter {}",
            Byte(*byte),
            Byte(delimiter),
        )),
        None => FieldError::new("the key ends after it, but other fields must follow"),
    }
}

#[cold]
fn forbidden(bytes: &[u8], delimiter: u8) -> FieldError {
    let byte = bytes.iter().copied().find(|byte| *byte <= delimiter).unwrap_or(delimiter);
    FieldError::new(format_args!(
        "`{}` contains {}, which a delimited field cannot: the key has another part there, or uses another delimiter",
        Readable(bytes),
        Byte(byte),
    ))
}

#[cold]
fn unterminated(rest: &[u8], delimiter: u8) -> FieldError {
    FieldError::new(format_args!(
        "`{}` runs to the end of the key, but the delimiter `{}` must end it",
        Readable(rest),
        Readable(&[delimiter]),
    ))
}

/// The reader of a key of a derived type with `N` fields.
#[must_use]
#[cfg_attr(not(debug_assertions), inline(always))]
pub fn key_reader<K: RowKey, const N: usize>(key: &[u8]) -> KeyReader<'_, Derived<K>, [Span; N]> {
    KeyReader::new(Derived::new(), [Span::default(); N], key)
}
