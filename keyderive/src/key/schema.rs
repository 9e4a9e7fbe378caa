//! The schema of a key type: its parts in order, their lengths and its fingerprint, as constant data.

#[cfg(feature = "json")]
pub(super) mod changes;
mod epochs;
#[cfg(feature = "json")]
mod from_json;
mod salted;
mod show;

use std::fmt;

use serde::{Serialize, Serializer};

use super::epoch::Epoch;
use super::format::{Field, FieldOrder, Format, KeyEncoding, Width};
use super::salt::{Salt, SaltHash, SaltPlace};
use super::{MAX_KEY_LEN, ordered};

pub(crate) use self::salted::bucket_of;

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
/// Printed with `{}`, it has a line for each part: its name, Rust type, start, width and format. `v` is the field's
/// value. The text is for people: its wording may change in any release.
///
/// # As data
/// A schema is [`serde::Serialize`], for programs in other languages that read or write the same keys. In JSON:
///
/// | name | value |
/// |---|---|
/// | `version` | [`KeySchema::JSON_VERSION`]: the version of this list of names |
/// | `key_type` | the name of the struct |
/// | `format_version` | [`KeySchema::FORMAT_VERSION`] |
/// | `layout` | `"delimited"` or `"ordered_code"` |
/// | `delimiter` | the character between the parts; `null` in the ordered layout, which separates them by `00 01` |
/// | `tag` | the constant before the fields, or `null` |
/// | `salt` | `null`, or an object of the five below; with `epochs`, the salt before the first bound |
/// | `salt.range` | the modulus of the hash |
/// | `salt.hash` | `"farm"` or `"java"`, those of [`SaltHash`](super::SaltHash) |
/// | `salt.place` | `"before_fields"`, `"front"` before a tag, or `{"after": "…"}` with the name of a field |
/// | `salt.sep` | the text after the salt; `null` in the ordered layout |
/// | `salt.over` | the names of the fields that choose the bucket; with `"java"` the tag does too |
/// | `epochs` | for each salt from a date on, in order, an object of the four below |
/// | `epochs.field` | the name of the field that has the bound |
/// | `epochs.since` | the bound, as text: RFC 3339, a date or a number |
/// | `epochs.stored` | the bytes that keys store for the bound, in hexadecimal |
/// | `epochs.salt` | an object as that of `salt` |
/// | `fields` | for each field from left to right, an object of the eight below |
/// | `name`, `type` | the field's name, and its Rust type |
/// | `format` | a [`Format`] in snake case: `"decimal"`, `{"unix_time": "millis"}`, `{"custom": "…"}` |
/// | `order` | a [`FieldOrder`](super::FieldOrder): `"ascending"`, `{"reversed_from": {"max": "9223372036854775807"}}`, whose number is text |
/// | `width` | a [`Width`]: `{"fixed": 6}`, `"delimited"`, `{"between": [1, 10]}` |
/// | `values` | a [`FieldValues`](super::FieldValues): `"text"`, `{"integer": {"min": "0", "max": "65535"}}`, `{"codes": [{"code": "1", "name": "Created"}]}`, whose numbers are text |
/// | `hash_of` | for a hashed field, an object of the `format`, `order` and `width` whose bytes are hashed; or `null` |
/// | `offset` | the byte that the field begins at, or `null` if it differs from key to key |
/// | `fingerprint` | the [`Fingerprint`](super::Fingerprint), 16 hexadecimal digits |
/// | `min_len`, `max_len` | the least and the greatest length of a key, in bytes |
/// | `template` | the text of [`KeySchema::template`] |
///
/// All names are always present. Every addition or change raises the `version`, since a reader that does not know it could
/// read or write other keys; so a reader should refuse a later version, and names that it does not know. The
/// `format_version` numbers the rules by which a schema becomes bytes.
///
/// # Equality
/// Two schemas are equal if all of this is equal, the names of Rust types too. To see whether two key types store the
/// same bytes, compare their [`fingerprint`](KeySchema::fingerprint)s.
#[derive(Debug, PartialEq, Eq)]
pub struct KeySchema {
    key_type: &'static str,
    delimiter: [u8; 1],
    tag: Option<&'static str>,
    salt: Option<Salt>,
    /// The epochs after the first.
    epochs: &'static [Epoch],
    /// The index of the field that has their bounds.
    epoch_field: usize,
    fields: &'static [Field],
    layout: KeyEncoding,
}

/// A part of a key.
#[derive(Clone, Copy)]
enum KeyPart {
    Tag(&'static str),
    Salt(Salt),
    /// The field at this index.
    Field(usize),
}

impl KeySchema {
    /// The version of the key format: the rules by which a schema becomes bytes, as `FORMAT.md` in the
    /// repository has them. Another version has other fingerprints.
    pub const FORMAT_VERSION: u32 = 1;

    /// The version of the JSON of a schema: of its names, and of what their values mean.
    pub const JSON_VERSION: u32 = 1;

    #[doc(hidden)]
    #[must_use]
    pub const fn new(
        key_type: &'static str,
        delimiter: u8,
        tag: Option<&'static str>,
        salt: Option<Salt>,
        fields: &'static [Field],
    ) -> Self {
        let (epochs, epoch_field) = (&[] as &[Epoch], 0);
        let layout = KeyEncoding::Delimited;
        Self { key_type, delimiter: [delimiter], tag, salt, epochs, epoch_field, fields, layout }
    }

    #[doc(hidden)]
    #[must_use]
    pub const fn with_layout(self, layout: KeyEncoding) -> Self {
        Self { layout, ..self }
    }

    #[doc(hidden)]
    #[must_use]
    pub const fn with_epochs(self, epoch_field: usize, epochs: &'static [Epoch]) -> Self {
        Self { epochs, epoch_field, ..self }
    }

    /// How the parts are put together.
    #[must_use]
    pub const fn layout(&self) -> KeyEncoding {
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
    fn parts(&self) -> impl Iterator<Item = KeyPart> {
        let salt = |place| self.first_salt().filter(|salt| salt.place() == place).copied().map(KeyPart::Salt);
        let fields = (0..self.fields.len())
            .flat_map(move |field| [Some(KeyPart::Field(field)), salt(SaltPlace::After { field })]);
        let tag = self.tag.map(KeyPart::Tag);
        [salt(SaltPlace::Front), tag, salt(SaltPlace::BeforeFields)].into_iter().chain(fields).flatten()
    }

    /// What follows a part that is not the last one.
    fn separator_after(&self, part: KeyPart) -> &[u8] {
        match part {
            KeyPart::Salt(salt) => self.salt_end(&salt),
            KeyPart::Tag(_) | KeyPart::Field(_) => self.separator(),
        }
    }

    /// What separates two parts.
    #[inline]
    pub(crate) const fn separator(&self) -> &[u8] {
        match self.layout {
            KeyEncoding::Delimited => &self.delimiter,
            KeyEncoding::OrderedCode => &ordered::SEPARATOR,
        }
    }

    /// The constant that stands before the fields of every key.
    #[must_use]
    pub const fn tag(&self) -> Option<&'static str> {
        self.tag
    }

    /// The salt, for keys that are spread over buckets; with [`epochs`](Self::epochs), the salt of the keys before the
    /// first bound.
    #[must_use]
    pub const fn salt(&self) -> Option<&Salt> {
        self.salt.as_ref()
    }

    /// The salts from a date on, in the order of their bounds.
    #[must_use]
    pub const fn epochs(&self) -> &'static [Epoch] {
        self.epochs
    }

    /// The index of the field that has the bounds of [`epochs`](Self::epochs).
    #[inline]
    pub(crate) const fn epoch_field(&self) -> usize {
        self.epoch_field
    }

    /// The fields from left to right.
    #[must_use]
    pub const fn fields(&self) -> &'static [Field] {
        self.fields
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

    /// Whether some field has no fixed width, so that the delimiter ends it.
    #[must_use]
    pub const fn has_delimited_field(&self) -> bool {
        if let KeyEncoding::OrderedCode = self.layout {
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
}

/// Lengths.
impl KeySchema {
    /// The length of the shortest key, in bytes: its fixed widths and delimiters, with empty strings, and at least 1.
    ///
    /// In the ordered layout an empty string before other fields is two bytes, and empty ones at the end are dropped.
    #[must_use]
    pub const fn min_len(&self) -> usize {
        if let KeyEncoding::OrderedCode = self.layout {
            return self.ordered_min_len();
        }
        let mut len = self.head_lens().0 + self.fields.len().saturating_sub(1);
        let mut at = 0;
        while at < self.fields.len() {
            len += self.fields[at].width().min();
            at += 1;
        }
        if len == 0 { 1 } else { len }
    }

    /// The key may end after the last field that is never empty, since empty fields at the end are dropped.
    const fn ordered_min_len(&self) -> usize {
        let mut len = match self.tag {
            Some(tag) => tag.len(),
            None => 0,
        };
        let mut parts = self.tag.is_some() as usize;
        // Before the first bound, the salt of later epochs is left out.
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
            // An empty part between others takes two bytes, so a part of one byte is the shortest.
            len += if least == 0 { 1 } else { least };
            if least > 0 {
                (needed, needed_parts) = (len, parts);
            }
            at += 1;
        }
        if needed_parts == 0 { 1 } else { needed + 2 * (needed_parts - 1) }
    }

    /// The length of the longest key, in bytes: Bigtable's limit of 4096 if some field is text or bytes of any length.
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
    /// In the ordered layout each byte that can be zero counts twice, since zero bytes are written as two.
    #[must_use]
    pub const fn max_len(&self) -> usize {
        let separator = self.separator().len();
        let mut len = match self.tag {
            Some(tag) => self.tag_len(tag) + separator,
            None => 0,
        };
        if let Some(salt) = self.first_salt() {
            len += self.salt_len_bounds().max + self.salt_end(salt).len();
        }
        let mut at = 0;
        while at < self.fields.len() {
            let after = if at + 1 < self.fields.len() { separator } else { 0 };
            len = len.saturating_add(self.field_len_bounds(at).max).saturating_add(after);
            at += 1;
        }
        if len < MAX_KEY_LEN { len } else { MAX_KEY_LEN }
    }

    /// The index of the byte that a field begins at, by the index of the field; `None` if it differs from key to key,
    /// since a part left of the field has no fixed width.
    #[must_use]
    pub fn offset(&self, field: usize) -> Option<usize> {
        self.offsets().find(|(part, _)| matches!(part, KeyPart::Field(at) if *at == field))?.1
    }

    /// Every part, with its offset if that is the same in all keys.
    fn offsets(&self) -> impl Iterator<Item = (KeyPart, Option<usize>)> {
        let mut next = Some(0);
        self.parts().map(move |part| {
            let offset = next;
            next = offset
                .zip(self.len_bounds(part).exact())
                .map(|(offset, len)| offset + len + self.separator_after(part).len());
            (part, offset)
        })
    }

    fn len_bounds(&self, part: KeyPart) -> LenBounds {
        match part {
            KeyPart::Tag(tag) => LenBounds::exactly(self.tag_len(tag)),
            KeyPart::Salt(_) => self.salt_len_bounds(),
            KeyPart::Field(at) => self.field_len_bounds(at),
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
            KeyEncoding::Delimited => tag.len(),
            KeyEncoding::OrderedCode => tag.len() + zeros,
        }
    }

    /// The lengths of the salts of all epochs; 0 for an epoch without one.
    const fn salt_len_bounds(&self) -> LenBounds {
        let (mut bounds, mut epoch) = (self.len_bounds_of(self.salt()), 1);
        while epoch < self.epoch_count() {
            let other = self.len_bounds_of(self.salt_of(epoch));
            bounds = LenBounds {
                min: if other.min < bounds.min { other.min } else { bounds.min },
                max: if other.max > bounds.max { other.max } else { bounds.max },
            };
            epoch += 1;
        }
        bounds
    }

    const fn len_bounds_of(&self, salt: Option<&Salt>) -> LenBounds {
        let Some(salt) = salt else { return LenBounds::exactly(0) };
        match (self.layout, salt.hash()) {
            (KeyEncoding::Delimited, SaltHash::Farm) => LenBounds::exactly(salt.width()),
            // The least bucket is the longest, since it has a sign.
            (KeyEncoding::Delimited, SaltHash::Java) => {
                LenBounds { min: salt.len(None), max: salt.len(Some(salt.buckets().start)) }
            }
            // An Int64 below 64 takes one byte, one below 8192 two. The second byte is zero at 256, and escaped.
            (KeyEncoding::OrderedCode, _) => LenBounds {
                min: 1,
                max: match salt.range() {
                    ..=64 => 1,
                    65..=256 => 2,
                    _ => 3,
                },
            },
        }
    }

    const fn field_len_bounds(&self, at: usize) -> LenBounds {
        let field = &self.fields[at];
        let (min, raw) = match field.width() {
            Width::Fixed(width) => (width, width),
            Width::Between(min, max) => (min, max),
            Width::Delimited => return LenBounds { min: 0, max: MAX_KEY_LEN },
        };
        let max = match (self.layout, field.format()) {
            (KeyEncoding::Delimited, _) => raw,
            (KeyEncoding::OrderedCode, Format::Int64) => max_escaped_int_len(raw),
            // The Int64 of 0, 1, -1 or -2 is one byte that is not zero.
            (KeyEncoding::OrderedCode, Format::BoolInt64) => raw,
            // An empty part is written in two bytes.
            (KeyEncoding::OrderedCode, _) if raw == 0 => 2,
            (KeyEncoding::OrderedCode, _) => raw.saturating_mul(2),
        };
        LenBounds { min, max }
    }
}

/// The least and the greatest length of a part in a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct LenBounds {
    min: usize,
    max: usize,
}

impl LenBounds {
    const fn exactly(len: usize) -> Self {
        Self { min: len, max: len }
    }

    /// The length, if there is only one.
    const fn exact(self) -> Option<usize> {
        if self.min == self.max { Some(self.min) } else { None }
    }
}

/// The most bytes that an Int64 of up to `len` bytes takes once its zero bytes are escaped.
///
/// Up to a length of 8 the first byte is never zero. In 9 or 10 bytes, the bits that encode the length keep all but
/// eight bytes from being zero.
const fn max_escaped_int_len(len: usize) -> usize {
    let zeros = len.saturating_sub(1);
    len + if zeros < 8 { zeros } else { 8 }
}

/// A hash of the layout of a key type.
///
/// ```
/// use keyderive::RowKey;
///
/// #[derive(RowKey)]
/// #[row_key(fingerprint = "687086bb1b4da610")]
/// struct EventKey {
///     user_id: String,
///     #[pad(6)]
///     seq: u32,
/// }
///
/// assert_eq!(EventKey::SCHEMA.fingerprint().to_string(), "687086bb1b4da610");
/// ```
///
/// It covers the names, formats, widths and orders of the fields from left to right, the salt, the delimiter,
/// the tag and the layout, and not the Rust types: key types of equal fingerprint may share a table. With
/// `#[row_key(fingerprint = "…")]` a change of the layout fails the build, because stored rows would no longer be
/// found. The hash is FNV-1a of 64 bits, the same on every machine and in every release.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint(u64);

impl Fingerprint {
    pub(crate) const fn to_u64(self) -> u64 {
        self.0
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// As text of 16 hexadecimal digits.
impl Serialize for Fingerprint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fingerprint({self})")
    }
}

impl KeySchema {
    /// The hash of the layout.
    #[must_use]
    pub const fn fingerprint(&self) -> Fingerprint {
        self.fingerprint_of(self.epoch_count())
    }

    /// The hash of the layout with only its first `epochs` epochs, at least one.
    pub(crate) const fn fingerprint_of(&self, epochs: usize) -> Fingerprint {
        // A format that writes other bytes needs a new `FORMAT_VERSION`, which changes every fingerprint.
        let mut hasher = Fnv::new().text("keyderive key format 1");
        hasher = match self.layout() {
            KeyEncoding::Delimited => hasher.text("text").bytes(&[self.delimiter()]),
            KeyEncoding::OrderedCode => hasher.text("ordered"),
        };
        if let Some(tag) = self.tag() {
            hasher = hasher.text("tag").text(tag);
        }
        if let Some(salt) = self.salt() {
            hasher = hasher.salt(salt);
        }
        let mut later = 0;
        while later + 1 < epochs {
            let epoch = &self.epochs()[later];
            hasher = hasher.text("since").number(self.epoch_field() as u64).bytes(epoch.stored_since());
            hasher = hasher.salt(epoch.salt());
            later += 1;
        }
        let mut at = 0;
        while at < self.fields().len() {
            let field = &self.fields()[at];
            hasher = hasher.text("field").text(field.name());
            if let Format::Custom(_) = field.format() {
                hasher = hasher.text("custom");
            }
            hasher = hasher.text(field.format().name());
            hasher = match field.width() {
                Width::Fixed(width) => hasher.text("fixed").number(width as u64),
                Width::Delimited => hasher.text("delimited"),
                Width::Between(min, max) => hasher.text("between").number(min as u64).number(max as u64),
            };
            hasher = hasher.text(field.order().name());
            if let FieldOrder::ReversedFrom { max } = field.order() {
                hasher = hasher.number(max as u64);
                if max > u64::MAX as u128 {
                    hasher = hasher.number((max >> u64::BITS) as u64);
                }
            }
            at += 1;
        }
        Fingerprint(hasher.0)
    }
}

/// FNV-1a over 64 bits.
pub(crate) struct Fnv(u64);

impl Fnv {
    pub(crate) const fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    pub(crate) const fn fingerprint(self) -> Fingerprint {
        Fingerprint(self.0)
    }

    /// Bytes that nothing separates from those that follow.
    pub(crate) const fn unterminated(mut self, bytes: &[u8]) -> Self {
        let mut at = 0;
        while at < bytes.len() {
            self.0 = (self.0 ^ bytes[at] as u64).wrapping_mul(0x0100_0000_01b3);
            at += 1;
        }
        self
    }

    /// A part, which a zero byte ends, so that parts do not run together.
    pub(crate) const fn bytes(self, bytes: &[u8]) -> Self {
        self.unterminated(bytes).unterminated(&[0])
    }

    pub(crate) const fn text(self, text: &str) -> Self {
        self.bytes(text.as_bytes())
    }

    pub(crate) const fn number(self, number: u64) -> Self {
        self.bytes(&number.to_be_bytes())
    }

    const fn salt(self, salt: &Salt) -> Self {
        let mut hasher = self.text("salt").number(salt.range() as u64);
        // Defaults are left out, so that writing one out does not change the fingerprint.
        if let Some(sep) = salt.sep() {
            hasher = hasher.text("sep").text(sep);
        }
        hasher = match salt.place() {
            SaltPlace::BeforeFields => hasher,
            SaltPlace::Front => hasher.text("front"),
            SaltPlace::After { field } => hasher.text("after").number(field as u64),
        };
        if let SaltHash::Java = salt.hash() {
            hasher = hasher.text("java");
        }
        let mut at = 0;
        while at < salt.over().len() {
            hasher = hasher.number(salt.over()[at] as u64);
            at += 1;
        }
        hasher
    }
}

/// Checks at compile time.
impl KeySchema {
    /// Fails the build if the least length of the key is over Bigtable's limit.
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

    /// Fails the build if the delimiter forbids escapes or digits in strings.
    #[doc(hidden)]
    #[allow(clippy::panic)] // Evaluated at compile time only.
    #[track_caller]
    pub const fn assert_delimiter(&self) {
        if let Some(fault) = self.fault_of_delimiter() {
            panic!("{}", fault);
        }
    }

    const fn fault_of_delimiter(&self) -> Option<&'static str> {
        if self.delimiter() >= b'%' && self.has_escaped_field() {
            return Some(
                "this delimiter is not below `%`, which every escape begins with; choose one below it, such as '#'",
            );
        }
        if self.delimiter() >= b'0' && self.has_delimited_field() {
            return Some(
                "this delimiter is not below `0`, and a delimited string holds no byte at or below its \
                 delimiter, so it could not hold digits; choose one below `0`, such as '#' or '-'",
            );
        }
        None
    }

    /// Fails the build if the layout is not the pinned one.
    #[doc(hidden)]
    #[track_caller]
    #[allow(clippy::panic)] // Evaluated at compile time only.
    pub const fn assert_fingerprint(&self, pinned: u64) {
        let now = self.fingerprint();
        if now.0 != pinned {
            const REMEDY: &str = ", so stored rows would no longer be found; undo the change, or pin the new value for a new table";
            let text = ConstText::of_mismatch("row key", pinned, now, REMEDY);
            panic!("{}", text.as_str());
        }
    }
}

/// Text that is built at compile time, for an error of the compiler.
pub(crate) struct ConstText {
    text: [u8; Self::CAPACITY],
    len: usize,
}

impl ConstText {
    const CAPACITY: usize = 512;

    pub(crate) const fn new() -> Self {
        Self { text: [0; Self::CAPACITY], len: 0 }
    }

    /// The error for a layout that is not the pinned one.
    pub(crate) const fn of_mismatch(what: &str, pinned: u64, now: Fingerprint, remedy: &str) -> Self {
        Self::new()
            .text("the layout of this ")
            .text(what)
            .text(" has changed: its fingerprint was `")
            .hex(pinned)
            .text("` and is `")
            .hex(now.0)
            .text("`")
            .text(remedy)
    }

    pub(crate) const fn text(mut self, text: &str) -> Self {
        let bytes = text.as_bytes();
        let mut at = 0;
        while at < bytes.len() && self.len < Self::CAPACITY {
            self.text[self.len] = bytes[at];
            self.len += 1;
            at += 1;
        }
        self
    }

    const fn hex(mut self, number: u64) -> Self {
        let mut shift = 64;
        while shift > 0 && self.len < Self::CAPACITY {
            shift -= 4;
            self.text[self.len] = b"0123456789abcdef"[(number >> shift) as usize & 15];
            self.len += 1;
        }
        self
    }

    /// The text; without its end, if a long name cut a character in two.
    pub(crate) const fn as_str(&self) -> &str {
        match str::from_utf8(self.text.split_at(self.len).0) {
            Ok(text) => text,
            Err(fault) => match str::from_utf8(self.text.split_at(fault.valid_up_to()).0) {
                Ok(text) => text,
                Err(_) => "",
            },
        }
    }
}

#[cfg(test)]
mod tests;
