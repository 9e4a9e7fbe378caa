//! The schema of a key type: its parts in order, as constant data.

mod data;
mod len;
mod salt_place;
mod table;

use serde::Serialize;

use super::format::{Field, Format, Width};
use super::salt::{Salt, SaltPlace};
use super::{MAX_KEY_LEN, ordered};

/// How the parts of a key type are laid out in its bytes; a constant that the derive makes.
///
/// ```
/// use keyderive::RowKey;
///
/// #[derive(RowKey)]
/// #[salt(range = 4, over = "user_id,site")]
/// struct EventKey {
///     user_id: String,
///     site: String,
///     #[reverse_ts]
///     at: u64,
///     #[pad(6)]
///     seq: u32,
/// }
///
/// let schema = EventKey::SCHEMA;
/// assert_eq!(schema.template().to_string(), "<salt 0 to 3>#<user_id>#<site>#<at>#<seq>");
/// assert_eq!(schema.salt().map(|salt| salt.range()), Some(4));
/// assert_eq!(schema.fields()[2].name(), "at");
///
/// let table = "
/// EventKey: text layout, delimiter `#` (0x23), 30 to 4096 bytes, fingerprint 6c1705375cfbd9b0
///   salt     bucket  byte 0           1 byte               0 to 3, FarmHash of user_id#site
///   user_id  String  byte 2           up to the delimiter  UTF-8
///   site     String  after delimiter  up to the delimiter  UTF-8
///   at       u64     after delimiter  19 bytes             decimal, zero padded, descending as 9223372036854775807 - v
///   seq      u32     after delimiter  6 bytes              decimal, zero padded";
/// assert_eq!(format!("\n{schema}"), table);
/// ```
///
/// Printed with `{}`, it has a line for each part: the name, the Rust type, where the part begins, its width and what
/// is written. `v` is the field's value. The text is for people: its wording may change in any release.
///
/// # As data
/// It is [`serde::Serialize`], for programs in other languages that read or write the same keys. In JSON:
///
/// | name | value |
/// |---|---|
/// | `key_type` | the name of the struct |
/// | `format_version` | [`Schema::FORMAT_VERSION`] |
/// | `layout` | `"delimited"` or `"ordered_code"` |
/// | `delimiter` | the character between the parts; `null` in the ordered layout, which separates them by `00 01` |
/// | `tag` | the constant in front, or `null` |
/// | `salt` | `null`, or an object of the five below |
/// | `salt.range` | what the hash is reduced by |
/// | `salt.hash` | `"farm"` or `"java"`, those of [`SaltHash`](super::SaltHash) |
/// | `salt.place` | `"before_fields"`, `"front"` where a tag stands after it, or `{"after": "…"}` with the name of a field |
/// | `salt.sep` | the text after the salt; `null` in the ordered layout |
/// | `salt.over` | the names of the fields that choose the bucket; with `"java"` the tag does too |
/// | `fields` | an object of the six below for each field, from left to right |
/// | `name`, `type` | the field's name, and its Rust type |
/// | `format` | a [`Format`] in snake case: `"decimal"`, `{"unix_time": "millis"}`, `{"custom": "…"}` |
/// | `order` | a [`FieldOrder`](super::FieldOrder): `"ascending"`, `{"reversed_from": {"max": "9223372036854775807"}}`, whose number is text |
/// | `width` | a [`Width`]: `{"fixed": 6}`, `"delimited"`, `{"between": [1, 10]}` |
/// | `offset` | the byte that the field begins at, or `null` where that differs from key to key |
/// | `fingerprint` | the [`Fingerprint`](super::Fingerprint), 16 hexadecimal digits |
/// | `min_len`, `max_len` | the least and the greatest length of a key, in bytes |
/// | `template` | the text of [`Schema::template`] |
///
/// All names are always there. A salt by itself refers to its fields by index, so it is data only as a part of its
/// schema. Releases add names, and a change of what one means is another `format_version`.
///
/// # Equality
/// Two schemas are equal where all of this is, names of Rust types too. Whether two key types store the same bytes is
/// asked of [`fingerprint`](Schema::fingerprint).
#[derive(Debug, PartialEq, Eq)]
pub struct Schema {
    key_type: &'static str,
    delimiter: [u8; 1],
    tag: Option<&'static str>,
    salt: Option<Salt>,
    fields: &'static [Field],
    layout: Layout,
}

/// How the parts of a key are put together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Layout {
    /// Readable text, joined by a delimiter.
    Delimited,
    /// Bigtable's `Struct.OrderedCodeBytes`, whose fields SQL can see as typed columns.
    OrderedCode,
}

/// A part of a key.
#[derive(Clone, Copy)]
enum Part {
    Tag(&'static str),
    Salt(Salt),
    /// The field at this index.
    Field(usize),
}

impl Schema {
    /// The version of the key format: the rules by which a schema becomes bytes, those of `FORMAT.md` in the
    /// repository. Another version has other fingerprints.
    pub const FORMAT_VERSION: u32 = 1;

    #[doc(hidden)]
    #[must_use]
    pub const fn new(
        key_type: &'static str,
        delimiter: u8,
        tag: Option<&'static str>,
        salt: Option<Salt>,
        fields: &'static [Field],
    ) -> Self {
        Self { key_type, delimiter: [delimiter], tag, salt, fields, layout: Layout::Delimited }
    }

    #[doc(hidden)]
    #[must_use]
    pub const fn with_layout(self, layout: Layout) -> Self {
        Self { layout, ..self }
    }

    /// How the parts are put together.
    #[must_use]
    pub const fn layout(&self) -> Layout {
        self.layout
    }

    /// The name of the key's struct.
    #[must_use]
    pub const fn key_type(&self) -> &'static str {
        self.key_type
    }

    /// The byte between the parts of a key in the text layout.
    #[must_use]
    pub const fn delimiter(&self) -> u8 {
        self.delimiter[0]
    }

    /// The parts from left to right.
    fn parts(&self) -> impl Iterator<Item = Part> {
        let salt = |place| self.salt.filter(|salt| salt.place() == place).map(Part::Salt);
        let fields = (0..self.fields.len())
            .flat_map(move |field| [Some(Part::Field(field)), salt(SaltPlace::After { field })]);
        let tag = self.tag.map(Part::Tag);
        [salt(SaltPlace::Front), tag, salt(SaltPlace::BeforeFields)].into_iter().chain(fields).flatten()
    }

    /// What stands after a part that is not the last one.
    fn separator_behind(&self, part: Part) -> &[u8] {
        match part {
            Part::Salt(salt) => self.salt_end(&salt),
            Part::Tag(_) | Part::Field(_) => self.separator(),
        }
    }

    /// What stands between two parts.
    #[inline]
    pub(crate) const fn separator(&self) -> &[u8] {
        match self.layout {
            Layout::Delimited => &self.delimiter,
            Layout::OrderedCode => &ordered::SEPARATOR,
        }
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

    /// How many bytes are not of the fields: the tag and the salt, each with what stands after it. Without a
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

    /// What stands after the salt.
    #[inline(always)]
    pub(crate) const fn salt_end<'a>(&'a self, salt: &Salt) -> &'a [u8] {
        match salt.sep() {
            Some(sep) => sep.as_bytes(),
            None => self.separator(),
        }
    }

    #[inline(always)]
    pub(crate) fn write_tag(&self, out: &mut Vec<u8>) {
        if let Some(tag) = self.tag {
            out.extend_from_slice(tag.as_bytes());
            out.push(self.delimiter());
        }
    }

    /// Writes a bucket with what stands after it.
    #[inline(always)]
    pub(crate) fn write_salt(&self, salt: &Salt, bucket: i32, out: &mut Vec<u8>) {
        salt.write(bucket, out);
        out.extend_from_slice(self.salt_end(salt));
    }

    /// Writes what the keys of a bucket begin with whose fields left of the salt are `left`, each with its
    /// delimiter. Without a bucket, what they begin with left of it.
    ///
    /// In the text layout it ends with what stands after the last part, in the ordered layout without a separator:
    /// there a key whose fields are all empty goes no further.
    pub(crate) fn write_head(&self, bucket: Option<i32>, left: &[u8], out: &mut Vec<u8>) {
        if let Layout::OrderedCode = self.layout {
            return self.write_ordered_head(bucket.unwrap_or(0), out);
        }
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
    /// Empty for a key type without a salt, and for a salt after a field, since its buckets begin anew with
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

    /// What all keys of a bucket begin with. Before a tag, key types with other tags share it.
    fn bucket_start(&self, salt: &Salt, bucket: i32) -> Vec<u8> {
        let mut start = Vec::with_capacity(64);
        if let Layout::OrderedCode = self.layout {
            self.write_ordered_head(bucket, &mut start);
            return start;
        }
        if salt.place() != SaltPlace::Front {
            self.write_tag(&mut start);
        }
        self.write_salt(salt, bucket, &mut start);
        start
    }

    fn write_ordered_head(&self, bucket: i32, out: &mut Vec<u8>) {
        if let Some(tag) = self.tag {
            out.extend_from_slice(&ordered::escaped(tag.as_bytes()));
        }
        if self.salt.is_some() {
            if self.tag.is_some() {
                out.extend_from_slice(&ordered::SEPARATOR);
            }
            let start = out.len();
            ordered::write_int(bucket.into(), out);
            ordered::escape_from(out, start);
        }
    }

    const fn has_escaped_field(&self) -> bool {
        let mut at = 0;
        while at < self.fields.len() {
            if matches!(self.fields[at].format(), Format::EscapedUtf8) {
                return true;
            }
            at += 1;
        }
        false
    }

    /// Whether some field is text that ends at the delimiter.
    #[must_use]
    pub const fn has_delimited_field(&self) -> bool {
        if let Layout::OrderedCode = self.layout {
            return false;
        }
        let mut at = 0;
        while at < self.fields.len() {
            if !matches!(self.fields[at].width(), Width::Fixed(_)) {
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
            self.delimiter() < b'%' || !self.has_escaped_field(),
            "this delimiter is not below `%`, which every escape begins with; choose one below it, such as '#'"
        );
        assert!(
            self.delimiter() < b'0' || !self.has_delimited_field(),
            "this delimiter is not below `0`, and a delimited string holds no byte at or below its \
             delimiter, so it could not hold digits; choose one below `0`, such as '#' or '-'"
        );
    }
}

#[cfg(test)]
mod tests;
