//! How long a key and its parts are.

use super::super::MAX_KEY_LEN;
use super::super::format::{Format, Width};
use super::super::salt::{Salt, SaltHash};
use super::{Layout, Part, Schema};

/// The least and the greatest length of a part as it stands in a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bounds {
    pub(super) min: usize,
    pub(super) max: usize,
}

impl Bounds {
    const fn exactly(len: usize) -> Self {
        Self { min: len, max: len }
    }

    /// The length, where there is only one.
    pub(super) const fn exact(self) -> Option<usize> {
        if self.min == self.max { Some(self.min) } else { None }
    }
}

impl Schema {
    /// The least number of bytes that a key has: its fixed widths and delimiters, its strings empty. In
    /// the ordered layout an empty string between others is two bytes, and those at the end are none. It is never 0, since
    /// an empty key is refused: a string that is all of its key has a byte.
    #[must_use]
    pub const fn min_len(&self) -> usize {
        if let Layout::OrderedCode = self.layout {
            return self.ordered_min_len();
        }
        let mut len = self.head_len(None) + self.fields.len().saturating_sub(1);
        let mut at = 0;
        while at < self.fields.len() {
            len += self.fields[at].width().min();
            at += 1;
        }
        if len == 0 { 1 } else { len }
    }

    /// Fields after the last one that is never empty may be dropped.
    const fn ordered_min_len(&self) -> usize {
        let mut len = match self.tag {
            Some(tag) => tag.len(),
            None => 0,
        };
        let mut parts = self.tag.is_some() as usize;
        if self.salt.is_some() {
            len += 1;
            parts += 1;
        }
        let mut needed = len;
        let mut needed_parts = parts;
        let mut at = 0;
        while at < self.fields.len() {
            parts += 1;
            let least = self.fields[at].width().min();
            // An empty part in between is written in two bytes, so the least one has one.
            len += if least == 0 { 1 } else { least };
            if least > 0 {
                (needed, needed_parts) = (len, parts);
            }
            at += 1;
        }
        if needed_parts == 0 { 1 } else { needed + 2 * (needed_parts - 1) }
    }

    /// The greatest number of bytes that a key has; 4096, Bigtable's limit, where some field is text or bytes of any
    /// length.
    ///
    /// ```
    /// # use keyderive::RowKey;
    /// #[derive(RowKey)]
    /// #[row_key(tag = "BATTERY")]
    /// struct BatteryKey {
    ///     level: u8,
    ///     #[reverse_ts]
    ///     at: u64,
    /// }
    ///
    /// let schema = BatteryKey::SCHEMA;
    /// assert_eq!((schema.min_len(), schema.max_len()), (31, 31));
    /// ```
    ///
    /// In the ordered layout it counts each byte twice that can be zero, since that is how zero bytes are written.
    #[must_use]
    pub const fn max_len(&self) -> usize {
        let separator = self.separator().len();
        let mut len = match self.tag {
            Some(tag) => self.tag_len(tag) + separator,
            None => 0,
        };
        if let Some(salt) = &self.salt {
            len += self.salt_bounds(salt).max + self.salt_end(salt).len();
        }
        let mut at = 0;
        while at < self.fields.len() {
            let after = if at + 1 < self.fields.len() { separator } else { 0 };
            len = len.saturating_add(self.field_bounds(at).max).saturating_add(after);
            at += 1;
        }
        if len < MAX_KEY_LEN { len } else { MAX_KEY_LEN }
    }

    /// The byte of the key that the field at this index begins with, counted from 0; none where that differs from
    /// key to key, since something left of it is text or a number without a fixed width.
    #[must_use]
    pub fn offset(&self, field: usize) -> Option<usize> {
        self.offsets().find(|(part, _)| matches!(part, Part::Field(at) if *at == field))?.1
    }

    /// Every part, with the byte that it begins at where that is one.
    pub(super) fn offsets(&self) -> impl Iterator<Item = (Part, Option<usize>)> {
        let mut next = Some(0);
        self.parts().map(move |part| {
            let offset = next;
            next = offset
                .zip(self.bounds(part).exact())
                .map(|(offset, len)| offset + len + self.separator_behind(part).len());
            (part, offset)
        })
    }

    pub(super) fn bounds(&self, part: Part) -> Bounds {
        match part {
            Part::Tag(tag) => Bounds::exactly(self.tag_len(tag)),
            Part::Salt(salt) => self.salt_bounds(&salt),
            Part::Field(at) => self.field_bounds(at),
        }
    }

    const fn tag_len(&self, tag: &str) -> usize {
        let bytes = tag.as_bytes();
        let (mut zeros, mut at) = (0, 0);
        while at < bytes.len() {
            zeros += (bytes[at] == 0) as usize;
            at += 1;
        }
        match self.layout {
            Layout::Delimited => tag.len(),
            Layout::OrderedCode => tag.len() + zeros,
        }
    }

    const fn salt_bounds(&self, salt: &Salt) -> Bounds {
        match (self.layout, salt.hash()) {
            (Layout::Delimited, SaltHash::Farm) => Bounds::exactly(salt.width()),
            // The least bucket is the longest one, by its sign.
            (Layout::Delimited, SaltHash::Java) => {
                Bounds { min: salt.len(None), max: salt.len(Some(salt.buckets().start)) }
            }
            // An Int64 below 64 takes one byte, below 8192 two, of which the second is zero for 256.
            (Layout::OrderedCode, _) => Bounds {
                min: 1,
                max: match salt.range() {
                    ..=64 => 1,
                    65..=256 => 2,
                    _ => 3,
                },
            },
        }
    }

    const fn field_bounds(&self, at: usize) -> Bounds {
        let field = &self.fields[at];
        let (min, raw) = match field.width() {
            Width::Fixed(width) => (width, width),
            Width::Between(min, max) => (min, max),
            Width::Delimited => return Bounds { min: 0, max: MAX_KEY_LEN },
        };
        let max = match (self.layout, field.format()) {
            (Layout::Delimited, _) => raw,
            (Layout::OrderedCode, Format::Int64) => int_escaped(raw),
            // The Int64 of 0, 1, -1 or -2 has one byte, and none that is zero.
            (Layout::OrderedCode, Format::BoolInt64) => raw,
            // An empty part is written in two bytes.
            (Layout::OrderedCode, _) if raw == 0 => 2,
            (Layout::OrderedCode, _) => raw.saturating_mul(2),
        };
        Bounds { min, max }
    }
}

/// How many bytes an Int64 of up to `len` bytes takes once its zero bytes are written as two.
///
/// Its first byte is not zero up to a length of 8; beyond, one or two of those that hold the length are not. So at most
/// eight are.
const fn int_escaped(len: usize) -> usize {
    let zeros = len.saturating_sub(1);
    len + if zeros < 8 { zeros } else { 8 }
}

#[cfg(test)]
mod tests {
    use super::super::super::ordered::{escaped, write_int};
    use super::*;

    fn escaped_int(value: i64) -> (usize, usize) {
        let mut raw = Vec::new();
        write_int(value, &mut raw);
        (raw.len(), escaped(&raw).len())
    }

    /// No number is longer than said, and some number of each length is as long.
    #[test]
    fn numbers_with_zero_bytes() {
        let powers = (0..63).map(|bit| 1_i64 << bit).flat_map(|power| [power, power - 1]);
        let longest = powers.chain([i64::MAX]).flat_map(|number| [number, !number]).map(escaped_int).fold(
            [0; 11],
            |mut longest, (len, escaped)| {
                longest[len] = longest[len].max(escaped);
                longest
            },
        );
        assert_eq!(longest[1..], [1, 3, 5, 7, 9, 11, 13, 15, 17, 18]);
        for (len, longest) in longest.into_iter().enumerate().skip(1) {
            assert_eq!(int_escaped(len), longest, "{len}");
        }
    }

    #[test]
    fn ordered_salts_of_every_range() {
        for range in 2..=4096_u16 {
            let schema = Schema::new("Key", b'#', None, Some(Salt::new(range, &[])), &[]);
            let schema = schema.with_layout(Layout::OrderedCode);
            let salt = schema.salt().unwrap();
            let longest = salt.buckets().map(|bucket| escaped_int(bucket.into()).1).max().unwrap();
            assert_eq!(schema.salt_bounds(salt), Bounds { min: 1, max: longest }, "{range}");
        }
    }
}
