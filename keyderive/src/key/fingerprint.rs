//! The fingerprint of a key type: a number that changes when the stored bytes do.

use std::fmt;

use serde::{Serialize, Serializer};

use super::format::{FieldOrder, Format, TimeUnit, Width};
use super::salt::{SaltHash, SaltPlace};
use super::schema::{Layout, Schema};

/// A number that stands for the layout of a key type.
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
/// found. It is FNV-1a over 64 bits, the same on every machine and in every release.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint(u64);

impl Fingerprint {
    #[cfg(feature = "client")]
    pub(crate) const fn to_u64(self) -> u64 {
        self.0
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// The text of 16 hexadecimal digits.
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

/// The hash over what a schema consists of. Each part is closed by a zero byte, so that parts do not run together.
struct Hasher(u64);

impl Hasher {
    const fn bytes(mut self, bytes: &[u8]) -> Self {
        const PRIME: u64 = 0x0100_0000_01b3;
        let mut at = 0;
        while at < bytes.len() {
            self.0 = (self.0 ^ bytes[at] as u64).wrapping_mul(PRIME);
            at += 1;
        }
        self.0 = self.0.wrapping_mul(PRIME);
        self
    }

    const fn text(self, text: &str) -> Self {
        self.bytes(text.as_bytes())
    }

    const fn number(self, number: u64) -> Self {
        self.bytes(&number.to_be_bytes())
    }
}

impl Schema {
    /// The number that stands for the layout.
    #[must_use]
    pub const fn fingerprint(&self) -> Fingerprint {
        const START: u64 = 0xcbf2_9ce4_8422_2325;
        // A change of what a format writes is another `FORMAT_VERSION`, and so another fingerprint.
        let mut hasher = Hasher(START).text("keyderive key format 1");
        hasher = match self.layout() {
            Layout::Delimited => hasher.text("text").bytes(&[self.delimiter()]),
            Layout::OrderedCode => hasher.text("ordered"),
        };
        if let Some(tag) = self.tag() {
            hasher = hasher.text("tag").text(tag);
        }
        if let Some(salt) = self.salt() {
            hasher = hasher.text("salt").number(salt.range() as u64);
            // What is as usual is left out, so that a key type is the same however it says so.
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

    /// Fails the build of a key type whose layout is no longer the pinned one.
    #[doc(hidden)]
    #[track_caller]
    #[allow(clippy::panic)] // Evaluated at compile time only.
    pub const fn assert_fingerprint(&self, pinned: u64) {
        let now = self.fingerprint().0;
        if now != pinned {
            let text = Drift::new(pinned, now);
            panic!("{}", text.as_str());
        }
    }
}

impl Format {
    /// The format's name, which is part of the fingerprint.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Decimal => "decimal",
            Self::SignedDecimal => "signed decimal",
            Self::Utf8 => "utf-8",
            Self::PaddedUtf8 => "padded utf-8",
            Self::Int64 => "int64",
            Self::BoolInt64 => "bool int64",
            Self::Bytes => "bytes",
            Self::EscapedUtf8 => "escaped utf-8",
            Self::Hex => "hex",
            Self::Bool => "bool",
            Self::Md5 => "md5",
            Self::Custom(name) => name,
            Self::UnixTime(TimeUnit::Secs) => "unix seconds",
            Self::UnixTime(TimeUnit::Millis) => "unix milliseconds",
            Self::UnixTime(TimeUnit::Micros) => "unix microseconds",
            Self::UnixTime(TimeUnit::Nanos) => "unix nanoseconds",
            Self::DateTime17 => "datetime17",
            Self::Date => "date",
            Self::Uuid => "uuid",
            Self::UuidSimple => "uuid simple",
        }
    }
}

impl FieldOrder {
    /// The order's name, which is part of the fingerprint.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ascending => "ascending",
            Self::Descending => "descending",
            Self::BitReversed => "bit-reversed",
            Self::Hashed => "hashed",
            Self::ReversedFrom { .. } => "reversed from",
        }
    }
}

/// What the compiler says of a layout that has changed, put together while compiling.
struct Drift {
    text: [u8; Self::CAPACITY],
    len: usize,
}

impl Drift {
    const CAPACITY: usize = 256;

    const fn new(pinned: u64, now: u64) -> Self {
        Self { text: [0; Self::CAPACITY], len: 0 }
            .text("the layout of this row key has changed: its fingerprint was `")
            .hex(pinned)
            .text("` and is `")
            .hex(now)
            .text("`, so stored rows would no longer be found; undo the change, or pin the new value for a new table")
    }

    const fn text(mut self, text: &str) -> Self {
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

    const fn as_str(&self) -> &str {
        match str::from_utf8(self.text.split_at(self.len).0) {
            Ok(text) => text,
            Err(_) => "the layout of this row key has changed",
        }
    }
}
