//! The salt in keys: the head that it is written in, the bucket that the fields choose, and where a stored key has it.

use super::super::format::{KeyEncoding, Width};
use super::super::ordered;
use super::super::salt::{Bucket, Salt, SaltHash, SaltPlace, Span, hash_code};
use super::KeySchema;

/// The head of a key: the tag and the salt.
impl KeySchema {
    /// The length of the tag and the salt, each with its separator; if `bucket` is `None`, with the shortest bucket.
    pub(crate) const fn head_len(&self, salt: Option<&Salt>, bucket: Option<i32>) -> usize {
        let tag = match self.tag {
            Some(tag) => tag.len() + 1,
            None => 0,
        };
        let salt = match salt {
            Some(salt) => salt.len(bucket) + self.salt_end(salt).len(),
            None => 0,
        };
        tag + salt
    }

    /// The least and the greatest [`head_len`](Self::head_len) of all epochs.
    pub(crate) const fn head_lens(&self) -> (usize, usize) {
        let first = self.head_len(self.salt(), None);
        let (mut min, mut max, mut epoch) = (first, first, 1);
        while epoch < self.epoch_count() {
            let len = self.head_len(self.salt_of(epoch), None);
            min = if len < min { len } else { min };
            max = if len > max { len } else { max };
            epoch += 1;
        }
        (min, max)
    }

    /// What separates the salt from the next part.
    #[inline(always)]
    pub(crate) const fn salt_end<'a>(&'a self, salt: &Salt) -> &'a [u8] {
        match salt.sep() {
            Some(sep) => sep.as_bytes(),
            None => self.separator(),
        }
    }

    #[inline(always)]
    fn write_tag(&self, out: &mut Vec<u8>) {
        if let Some(tag) = self.tag {
            out.extend_from_slice(tag.as_bytes());
            out.push(self.delimiter());
        }
    }

    /// A bucket of a salt as keys of this type have it.
    #[inline]
    pub(crate) const fn numbered(&self, salt: &Salt, number: i32) -> Bucket {
        match self.layout {
            KeyEncoding::Delimited => salt.numbered(number),
            KeyEncoding::OrderedCode => Bucket::unpadded(number),
        }
    }

    /// Writes a bucket and its separator.
    #[inline(always)]
    pub(crate) fn write_salt(&self, salt: &Salt, bucket: Bucket, out: &mut Vec<u8>) {
        bucket.write(out);
        out.extend_from_slice(self.salt_end(salt));
    }

    /// Writes the head of a bucket's keys: the tag, the salt and `left`, the fields left of the salt, each with its
    /// delimiter. Without a bucket, it leaves out the salt.
    ///
    /// In the text layout the head ends with a separator. In the ordered layout it does not, since a key whose fields are
    /// all empty ends there.
    pub(crate) fn write_head(&self, bucket: Option<Bucket>, left: &[u8], out: &mut Vec<u8>) {
        if let KeyEncoding::OrderedCode = self.layout {
            return self.write_ordered_head(bucket, out);
        }
        let write_salt = |out: &mut Vec<u8>| {
            if let (Some(salt), Some(bucket)) = (self.first_salt(), bucket) {
                self.write_salt(salt, bucket, out);
            }
        };
        let front = self.first_salt().is_some_and(|salt| salt.place() == SaltPlace::Front);
        if front {
            write_salt(out);
        }
        self.write_tag(out);
        out.extend_from_slice(left);
        if !front {
            write_salt(out);
        }
    }

    /// The row keys to split a new table at: the start of each bucket, in order, without the first if no key comes before
    /// it.
    ///
    /// Empty for a key type without a salt, and for a salt after a field, whose buckets repeat for each value of that
    /// field.
    #[must_use]
    pub fn bucket_splits(&self) -> Vec<Vec<u8>> {
        let Some(salt) = self.first_salt().filter(|salt| salt.fields_before() == 0) else {
            return Vec::new();
        };
        let mut starts: Vec<_> =
            self.all_buckets().into_iter().map(|bucket| self.bucket_start(salt, bucket)).collect();
        starts.sort_unstable();
        let all_salted = self.salt.is_some();
        starts.into_iter().skip(usize::from(all_salted)).collect()
    }

    /// What all keys of a bucket begin with. If the salt stands before the tag, key types with other tags share it.
    fn bucket_start(&self, salt: &Salt, bucket: Bucket) -> Vec<u8> {
        let mut start = Vec::with_capacity(64);
        if let KeyEncoding::OrderedCode = self.layout {
            self.write_ordered_head(Some(bucket), &mut start);
            return start;
        }
        if salt.place() != SaltPlace::Front {
            self.write_tag(&mut start);
        }
        self.write_salt(salt, bucket, &mut start);
        start
    }

    fn write_ordered_head(&self, bucket: Option<Bucket>, out: &mut Vec<u8>) {
        if let Some(tag) = self.tag {
            out.extend_from_slice(&ordered::escaped(tag.as_bytes()));
        }
        if let Some(bucket) = bucket {
            if self.tag.is_some() {
                out.extend_from_slice(&ordered::SEPARATOR);
            }
            let start = out.len();
            ordered::write_int(bucket.number().into(), out);
            ordered::escape_from(out, start);
        }
    }
}

/// The salt in stored keys.
impl KeySchema {
    /// Splits a stored key into the parts before and after its salt. To compare keys of one key type by their fields,
    /// compare these two parts.
    ///
    /// The second part is empty if the key type has no salt, or the key is not of this key type.
    pub(crate) fn split_at_salt<'a>(&self, key: &'a [u8]) -> (&'a [u8], &'a [u8]) {
        let salt = self.salt_of(self.epoch_in(key));
        let split = self.first_salt().and_then(|first| {
            let (front, rest) = key.split_at_checked(self.salt_start(first, key)?)?;
            let len = match salt {
                Some(salt) => self.salt_len(salt, rest)?,
                None => 0,
            };
            Some((front, rest.get(len..)?))
        });
        split.unwrap_or((key, &[]))
    }

    /// Splits a stored key as [`split_at_salt`](Self::split_at_salt) does, but by its bucket instead of its time;
    /// without a bucket, the key has no salt.
    pub(crate) fn split_at_bucket<'a>(&self, bucket: Option<Bucket>, key: &'a [u8]) -> (&'a [u8], &'a [u8]) {
        let split = self.first_salt().and_then(|salt| {
            let (front, rest) = key.split_at_checked(self.salt_start(salt, key)?)?;
            let len = match (bucket, self.layout()) {
                (None, _) => 0,
                (Some(bucket), KeyEncoding::Delimited) => bucket.len() + self.salt_end(salt).len(),
                (Some(_), KeyEncoding::OrderedCode) => self.salt_len(salt, rest)?,
            };
            Some((front, rest.get(len..)?))
        });
        split.unwrap_or((key, &[]))
    }

    /// The bucket in the salt of a key of this key type; `None` without a salt.
    pub(crate) fn bucket_of(&self, key: &[u8]) -> Option<i32> {
        let salt = self.salt_of(self.epoch_in(key))?;
        let rest = key.get(self.salt_start(salt, key)?..)?;
        match self.layout() {
            KeyEncoding::Delimited => Some(salt.read(rest)?.0),
            KeyEncoding::OrderedCode => {
                let (raw, _) = ordered::take_part(rest).ok()?;
                ordered::read_int(&raw)?.try_into().ok()
            }
        }
    }

    /// Joins the parts of [`split_at_salt`](Self::split_at_salt) with another bucket between them, or none.
    pub(crate) fn join_at_salt(&self, bucket: Option<Bucket>, (front, after): (&[u8], &[u8])) -> Vec<u8> {
        let mut key = front.to_vec();
        if let (Some(salt), Some(bucket)) = (self.first_salt(), bucket) {
            match self.layout() {
                KeyEncoding::Delimited => self.write_salt(salt, bucket, &mut key),
                KeyEncoding::OrderedCode => {
                    key.clear();
                    self.write_head(Some(bucket), &[], &mut key);
                    if !after.is_empty() {
                        key.extend_from_slice(&ordered::SEPARATOR);
                    }
                }
            }
        }
        key.extend_from_slice(after);
        key
    }

    /// Where the fields begin in a key without a salt: after the tag and its separator.
    fn fields_start(&self) -> usize {
        let separator = match self.layout() {
            KeyEncoding::Delimited => 1,
            KeyEncoding::OrderedCode => ordered::SEPARATOR.len(),
        };
        self.tag().map_or(0, |tag| self.tag_len(tag) + separator)
    }

    /// The fields of a stored key, without salt and tag. Key types with the same fields and layout have the same bytes here.
    pub(crate) fn fields_in(&self, key: &[u8]) -> Vec<u8> {
        let (front, after) = self.split_at_salt(key);
        let mut fields = [front, after].concat();
        fields.drain(..self.fields_start().min(fields.len()));
        fields
    }

    /// Where the salt begins.
    fn salt_start(&self, salt: &Salt, key: &[u8]) -> Option<usize> {
        let tag = self.fields_start();
        match salt.place() {
            SaltPlace::Front => Some(0),
            SaltPlace::BeforeFields => Some(tag),
            SaltPlace::After { field } => {
                self.fields()[..=field].iter().try_fold(tag, |at, field| match field.width() {
                    Width::Fixed(width) => Some(at + width + 1),
                    _ => {
                        let len = key.get(at..)?.iter().position(|byte| *byte <= self.delimiter())?;
                        Some(at + len + 1)
                    }
                })
            }
        }
    }

    /// The length of the salt with its separator.
    fn salt_len(&self, salt: &Salt, rest: &[u8]) -> Option<usize> {
        match self.layout() {
            KeyEncoding::Delimited => Some(salt.read(rest)?.1 + self.salt_end(salt).len()),
            KeyEncoding::OrderedCode => {
                let (_, len) = ordered::take_part(rest).ok()?;
                let separator = if rest.len() > len { ordered::SEPARATOR.len() } else { 0 };
                Some(len + separator)
            }
        }
    }
}

/// The bucket of a key whose fields lie at `spans` of `key`.
///
/// Contiguous fields are hashed in place; others are copied together first.
#[inline(always)]
pub(crate) fn bucket_of(salt: &Salt, key: &[u8], spans: &[Span], schema: &KeySchema) -> i32 {
    if let SaltHash::Java = salt.hash() {
        let tag = schema.tag().map(str::as_bytes);
        let fields = spans.iter().map(|span| &key[span.start..span.end]);
        let mut parts = tag.into_iter().chain(fields);
        let first = hash_code(0, parts.next().unwrap_or_default());
        return salt.java_bucket(
            parts.fold(first, |hash, part| hash_code(hash_code(hash, schema.separator()), part)),
        );
    }
    let ordered = matches!(schema.layout(), KeyEncoding::OrderedCode);
    // An ordered key drops empty fields at the end.
    let dropped = |field: usize| ordered && spans[field].start == spans[field].end;
    if let Some((first, last)) = salt.contiguous_fields()
        && !dropped(last)
    {
        return salt.bucket(&key[spans[first].start..spans[last].end]);
    }
    let mut joined = Vec::with_capacity(key.len());
    for (at, field) in salt.over().iter().enumerate() {
        if at > 0 {
            joined.extend_from_slice(schema.separator());
        }
        match dropped(*field) {
            true => joined.extend_from_slice(&ordered::EMPTY),
            false => joined.extend_from_slice(&key[spans[*field].start..spans[*field].end]),
        }
    }
    salt.bucket(&joined)
}
