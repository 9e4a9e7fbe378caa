//! The schema of a key type: its parts in order, as constant data.

use std::fmt;

use super::format::{Field, Format, Width};
use super::salt::{Salt, SaltPlace};
use super::show::Readable;
use super::{MAX_KEY_LEN, ordered};

/// How the parts of a key type are laid out in its bytes; a constant that the derive makes.
///
/// ```
/// use keyderive::RowKey;
///
/// #[derive(RowKey)]
/// #[salt(range = 4, over = "user_id")]
/// struct EventKey {
///     user_id: String,
///     #[reverse_ts]
///     at: u64,
/// }
///
/// let schema = EventKey::SCHEMA;
/// assert_eq!(schema.to_string(), "<salt 0 to 3>#<user_id>#<at>");
/// assert_eq!(schema.salt().map(|salt| salt.range()), Some(4));
/// assert_eq!(schema.fields()[1].name(), "at");
/// ```
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Layout {
    /// Readable text, joined by a delimiter.
    Delimited,
    /// Bigtable's `Struct.OrderedCodeBytes`, whose fields SQL can see as typed columns.
    OrderedCode,
}

impl Schema {
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

    /// The least number of bytes that a key has: its fixed widths and delimiters, its strings empty.
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
        len
    }

    /// Fields behind the last one that is never empty may be dropped.
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

    /// How many bytes at least stand behind the last delimited string; none where there is no such field.
    pub(crate) const fn len_behind_strings(&self) -> Option<usize> {
        let mut len = 0;
        let mut at = self.fields.len();
        while at > 0 {
            at -= 1;
            let field = &self.fields[at];
            if matches!((field.format(), field.width()), (Format::Utf8, Width::Delimited)) {
                return Some(len);
            }
            len += 1 + field.width().min();
        }
        None
    }

    /// How many bytes are not of the fields: the tag and the salt, each with what stands behind it. Without a
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

    /// What stands behind the salt.
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

    /// Writes a bucket with what stands behind it.
    #[inline(always)]
    pub(crate) fn write_salt(&self, salt: &Salt, bucket: i32, out: &mut Vec<u8>) {
        salt.write(bucket, out);
        out.extend_from_slice(self.salt_end(salt));
    }

    /// Writes what the keys of a bucket begin with whose fields left of the salt are `left`, each with its
    /// delimiter. Without a bucket, what they begin with left of it.
    ///
    /// In the text layout it ends with what stands behind the last part, in the ordered layout without a separator:
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
    /// Empty for a key type without a salt, and for a salt behind a field, since its buckets begin anew with
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

    /// What all keys of a bucket begin with. In front of a tag, key types with other tags share it.
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
            if matches!(self.fields[at].width(), Width::Delimited) {
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

/// The layout in one line, such as `BATTERY#<salt 0 to 3>#<user>#<at>`; with ` | ` for the separator of the
/// ordered layout.
impl fmt::Display for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let delimiter = match self.layout {
            Layout::Delimited => char::from(self.delimiter()).to_string(),
            Layout::OrderedCode => " | ".to_owned(),
        };
        let salt = |f: &mut fmt::Formatter<'_>, place| match (&self.salt, self.layout) {
            (Some(salt), Layout::Delimited) if salt.place() == place => {
                write!(f, "<salt {}>{}", salt.bounds(), Readable(self.salt_end(salt)))
            }
            (Some(salt), Layout::OrderedCode) if salt.place() == place => {
                write!(f, "<salt {}>{delimiter}", salt.bounds())
            }
            _ => Ok(()),
        };
        salt(f, SaltPlace::Front)?;
        if let Some(tag) = self.tag {
            write!(f, "{tag}{delimiter}")?;
        }
        salt(f, SaltPlace::BeforeFields)?;
        for (at, field) in self.fields.iter().enumerate() {
            if at > 0 {
                write!(f, "{delimiter}")?;
                salt(f, SaltPlace::After { field: at - 1 })?;
            }
            write!(f, "<{}>", field.name())?;
        }
        Ok(())
    }
}
