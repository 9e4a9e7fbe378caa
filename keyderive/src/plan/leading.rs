//! The first fields of a stored key, and which keys of its bucket have the same values there.

use super::position::Position;
use super::request::{KeyRange, prefix_end};
use super::selection::Selection;
use crate::key::ordered::{AFTER_SEPARATOR, EMPTY, SEPARATOR, take_part};
use crate::key::{KeyEncoding, KeySchema, MAX_KEY_LEN, Salt, SaltPlace, Width};

/// The values of the first fields of a stored key.
pub(crate) struct Leading {
    /// Their bytes: equal for equal values, in any bucket.
    value: Vec<u8>,
    /// The prefix of the stored keys with these values in the key's bucket; in the ordered layout, of all but the shortest.
    prefix: Vec<u8>,
    /// The stored keys with these values in the bucket of the key, from `start`, inclusive, to `end`, exclusive.
    start: Vec<u8>,
    end: Option<Vec<u8>>,
    /// How `start` and `end` begin and go on before and after a salt in another bucket; none without a salt before the last
    /// of the fields.
    around_salt: Option<AroundSalt>,
}

struct AroundSalt {
    front: Vec<u8>,
    start: Vec<u8>,
    end: Vec<u8>,
}

impl Leading {
    /// The values of the first `count` fields of a key of this key type; `count` is at least 1.
    pub(crate) fn of(schema: &KeySchema, key: &[u8], count: usize) -> Option<Self> {
        match schema.layout() {
            KeyEncoding::Delimited => Self::delimited(schema, key, count),
            KeyEncoding::OrderedCode => Self::ordered(schema, key, count),
        }
    }

    pub(crate) fn value(&self) -> &[u8] {
        &self.value
    }

    /// Whether a later key of the same bucket has the same values, as far as its first bytes show. In the ordered layout
    /// they do not show it if all further fields are empty: if this is false, compare the [`value`](Self::value)s.
    #[inline]
    pub(crate) fn begins(&self, key: &[u8]) -> bool {
        key.starts_with(&self.prefix)
    }

    /// The keys of the bucket that a scan reaches after those with these values.
    pub(crate) fn rest(&self, reversed: bool) -> KeyRange {
        match (&self.end, reversed) {
            (_, true) => KeyRange::new(Vec::new(), Some(self.start.clone())),
            (Some(end), false) => KeyRange::new(end.clone(), None),
            // Nothing comes after them.
            (None, false) => KeyRange::new(Vec::new(), Some(Vec::new())),
        }
    }

    fn delimited(schema: &KeySchema, key: &[u8], count: usize) -> Option<Self> {
        let (front, after) = schema.split_at_salt(key);
        let salt = schema.first_salt();
        let salt_end = if salt.is_some() { key.len() - after.len() } else { 0 };
        let tag = schema.tag().map_or(0, |tag| tag.len() + 1);
        let mut at = match salt.map(Salt::place) {
            Some(SaltPlace::Front) => salt_end + tag,
            Some(SaltPlace::BeforeFields) => salt_end,
            Some(SaltPlace::After { .. }) | None => tag,
        };
        let mut end = at;
        for (index, field) in schema.fields().iter().enumerate().take(count) {
            let rest = key.get(at..)?;
            end = match field.width() {
                Width::Fixed(width) => at + width,
                _ => at + rest.iter().position(|byte| *byte <= schema.delimiter()).unwrap_or(rest.len()),
            };
            at = match salt.map(Salt::place) {
                Some(SaltPlace::After { field }) if field == index => salt_end,
                _ => end + 1,
            };
        }
        let has_salt = salt.is_some() && end >= salt_end;
        let value = match has_salt {
            true => [front, key.get(salt_end..end)?].concat(),
            false => key.get(..end)?.to_vec(),
        };
        if count >= schema.fields().len() {
            return Some(Self::whole(key, value));
        }
        let prefix = [key.get(..end)?, &[schema.delimiter()]].concat();
        let range_end = prefix_end(&prefix);
        let around_salt = has_salt.then(|| AroundSalt {
            front: front.to_vec(),
            start: prefix[salt_end..].to_vec(),
            end: range_end.as_ref().and_then(|end| end.get(salt_end..)).unwrap_or(&[u8::MAX]).to_vec(),
        });
        Some(Self { value, start: prefix.clone(), end: range_end, prefix, around_salt })
    }

    fn ordered(schema: &KeySchema, key: &[u8], count: usize) -> Option<Self> {
        let has_salt = schema.salt_of(schema.epoch_in(key)).is_some();
        let head_parts = usize::from(schema.tag().is_some()) + usize::from(has_salt);
        let (mut at, mut head) = (0, &[][..]);
        let mut parts = Vec::with_capacity(count);
        for part in 0..head_parts + count {
            let rest = key.get(at..).unwrap_or_default();
            let encoded = match rest.is_empty() {
                // Empty fields at the end of a key are dropped.
                true => &EMPTY[..],
                false => rest.get(..take_part(rest).ok()?.1)?,
            };
            match part < head_parts {
                true => head = key.get(..at + encoded.len())?,
                false => parts.push(encoded),
            }
            at += encoded.len() + SEPARATOR.len();
        }
        let value = parts.join(&SEPARATOR[..]);
        if count >= schema.fields().len() {
            return Some(Self::whole(key, value));
        }
        let filled = parts.iter().rposition(|part| *part != EMPTY).map_or(0, |last| last + 1);
        let least = parts[..filled].join(&SEPARATOR[..]);
        let separator = if head.is_empty() { &[][..] } else { &SEPARATOR };
        let all = [head, separator, &value].concat();
        let start = match (least.is_empty(), head.is_empty()) {
            (true, true) => EMPTY.to_vec(),
            (true, false) => head.to_vec(),
            (false, _) => [head, separator, &least].concat(),
        };
        let around_salt = schema.first_salt().map(|_| AroundSalt {
            front: schema.split_at_salt(key).0.to_vec(),
            start: least,
            end: [&value[..], &AFTER_SEPARATOR].concat(),
        });
        Some(Self {
            value,
            prefix: [&all[..], &SEPARATOR].concat(),
            start,
            end: Some([&all[..], &AFTER_SEPARATOR].concat()),
            around_salt,
        })
    }

    /// Every field, which one key has.
    fn whole(key: &[u8], value: Vec<u8>) -> Self {
        let (start, end) = (key.to_vec(), Some([key, &[0]].concat()));
        Self { value, prefix: key.to_vec(), start, end, around_salt: None }
    }
}

impl Position {
    /// The position after all rows that have the values of the first `count` fields of a stored key; of the row alone if the key
    /// is not of the key type, or `count` is all of them.
    pub(super) fn after_value(selection: &Selection, key: &[u8], count: usize, reversed: bool) -> Self {
        let Selection { schema, .. } = selection;
        let leading = Leading::of(schema, key, count).filter(|_| count < schema.fields().len());
        let Some(leading) = leading else { return Self::of(selection, key, reversed) };
        let last = || vec![u8::MAX; MAX_KEY_LEN];
        let bound = |start: Vec<u8>, end: Vec<u8>| if reversed { start } else { end };
        let is_merged = selection.is_ordered() && schema.first_salt().is_some();
        match leading.around_salt {
            Some(AroundSalt { front, start, end }) if is_merged => {
                Self { front, after: bound(start, end), reversed }
            }
            // The value is left of the salt, perhaps with other fields between. The bound comes after every key that begins with the
            // value, in each bucket; in a reversed scan, before every such key, and after those of smaller values.
            None if is_merged => {
                let mut front = leading.prefix;
                if reversed && let Some(delimiter) = front.last_mut() {
                    *delimiter -= 1;
                }
                Self { front: [front, last()].concat(), after: Vec::new(), reversed }
            }
            _ => {
                let end = leading.end.unwrap_or_else(last);
                Self { front: bound(leading.start, end), after: Vec::new(), reversed }
            }
        }
    }
}
