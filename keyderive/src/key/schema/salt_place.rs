//! Where the salt lies in the bytes of a key, and a key with another bucket.

use super::super::format::Width;
use super::super::ordered;
use super::super::salt::{Salt, SaltPlace};
use super::{Layout, Schema};

impl Schema {
    /// What stands before a stored key's salt, and what after it: two keys of one key type are in the order of
    /// their fields where they are in the order of these two.
    ///
    /// A key type without a salt has nothing after it, and neither has a key that is not of this key type.
    pub(crate) fn split_at_salt<'a>(&self, key: &'a [u8]) -> (&'a [u8], &'a [u8]) {
        let split = self.salt().and_then(|salt| {
            let start = self.salt_start(salt, key)?;
            let (front, rest) = key.split_at_checked(start)?;
            Some((front, rest.get(self.salt_len(salt, rest)?..)?))
        });
        split.unwrap_or((key, &[]))
    }

    /// The bucket that a key of this key type is written in; none without a salt.
    pub(crate) fn bucket_of(&self, key: &[u8]) -> Option<i32> {
        let salt = self.salt()?;
        let rest = key.get(self.salt_start(salt, key)?..)?;
        match self.layout() {
            Layout::Delimited => Some(salt.read(rest)?.0),
            Layout::OrderedCode => {
                let (raw, _) = ordered::take_part(rest).ok()?;
                ordered::read_int(&raw)?.try_into().ok()
            }
        }
    }

    /// The key in `bucket` of what [`split_at_salt`](Self::split_at_salt) gives.
    pub(crate) fn join_at_salt(&self, bucket: Option<i32>, (front, after): (&[u8], &[u8])) -> Vec<u8> {
        let mut key = front.to_vec();
        if let (Some(salt), Some(bucket)) = (self.salt(), bucket) {
            match self.layout() {
                Layout::Delimited => self.write_salt(salt, bucket, &mut key),
                Layout::OrderedCode => {
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

    /// Where the salt begins.
    fn salt_start(&self, salt: &Salt, key: &[u8]) -> Option<usize> {
        let tag = match (self.tag(), self.layout()) {
            (None, _) => 0,
            (Some(tag), Layout::Delimited) => tag.len() + 1,
            (Some(tag), Layout::OrderedCode) => {
                ordered::escaped(tag.as_bytes()).len() + ordered::SEPARATOR.len()
            }
        };
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

    /// How long the salt is with what stands after it.
    fn salt_len(&self, salt: &Salt, rest: &[u8]) -> Option<usize> {
        match self.layout() {
            Layout::Delimited => Some(salt.read(rest)?.1 + self.salt_end(salt).len()),
            Layout::OrderedCode => {
                let (_, len) = ordered::take_part(rest).ok()?;
                let separator = if rest.len() > len { ordered::SEPARATOR.len() } else { 0 };
                Some(len + separator)
            }
        }
    }
}
