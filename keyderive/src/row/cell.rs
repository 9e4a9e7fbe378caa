//! Values of cells: the bytes in which a Rust type is stored.
//!
//! The modules implement [`Cell`] for types of the standard library and, behind features, of other crates. `#[derive(Cell)]`
//! implements it for enums and newtypes.

mod binary;
mod calendar;
mod erased;
mod number;
mod order;
#[cfg(all(feature = "chrono", feature = "jiff", feature = "time", feature = "uuid", feature = "proto"))]
#[cfg(test)]
mod page;
#[cfg(test)]
mod tests;
mod text;

use std::cmp::Ordering;
use std::error::Error;
use std::fmt::{self, Display};
use std::io;
use std::sync::Arc;

pub(crate) use self::order::{Bounded, StoredOrder, StoredRange};
pub use self::order::{ComparableCell, OrderedCell};
use super::show::{Excerpt, Names, ShownBytes};
use crate::key::TimeUnit;

/// A value that one cell holds.
///
/// ```
/// use keyderive::Cell;
///
/// #[derive(Cell, Clone, Copy, Debug, PartialEq)]
/// enum Kind {
///     Login,
///     #[row(name = "lo")]
///     Logout,
/// }
///
/// assert_eq!(Kind::Logout.to_stored()?, b"lo");
/// assert_eq!(42_u32.to_stored()?, 42_i64.to_be_bytes());
/// # Ok::<(), keyderive::row::CellError>(())
/// ```
///
/// # Stored bytes
///
/// | Rust | stored as |
/// |---|---|
/// | `i8` to `i64`, `u8` to `u64`, `NonZero` of these | 8 bytes, two's complement, big-endian |
/// | `bool` | the integer 0 or 1 |
/// | `f64`; `f32` | 8 bytes; 4 bytes, IEEE 754, big-endian |
/// | `String`, `&str`, `Cow<str>`, `Box<str>`, `Arc<str>`, `char` | UTF-8 |
/// | `Vec<u8>`, `&[u8]`, `Cow<[u8]>`, `Bytes`, `[u8; N]` | as they are |
/// | `()`, a unit struct | no bytes |
/// | an enum | the name of the variant; with `#[row(code)]` the integer of its discriminant |
/// | a newtype, `Box`, `Arc` | what is inside |
/// | `IpAddr`, `Ipv4Addr`, `Ipv6Addr` | text, as `Display` writes it |
/// | `Uuid` | text, hyphenated, in lower case |
/// | UTC times of chrono, jiff and time | text in RFC 3339, as each crate writes it |
/// | dates of chrono, jiff and time | text, such as `2015-03-16`, of the years 0000 to 9999 |
///
/// A `u64` above `i64::MAX` is an error. Types of crates need the feature of their name. A type of your own is a value by
/// `#[derive(Cell)]`, or by an implementation of this trait.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no encoding, so it cannot be the value of a column",
    label = "not the value of a column",
    note = "times, dates and UUIDs of chrono, jiff, time and uuid are values with the feature of keyderive that has the crate's name, \
            such as `features = [\"jiff\"]`",
    note = "an enum or a newtype is a value by `#[derive(Cell)]`; a `SystemTime` is one by `#[row(ts(unit = \"millis\"))]`; any type of serde is one as JSON: `#[row(json)]`",
    note = "a struct or a map is a family of columns: `#[row(family)]`, or `#[row(family, name = \"…\")]`; write `Option<…>`, `Versions<…>` and aggregates in the field \
            itself, not by an alias"
)]
pub trait Cell {
    /// The type without borrows, which names the type of a column: `String` for `&str`.
    type Owned: OwnedCell;
    /// The type that is read, which may borrow from the row.
    type Decoded<'r>;
    /// How it is stored.
    const TYPE: CellType;

    /// Appends the stored bytes.
    ///
    /// # Errors
    /// When the value has no encoding, such as a `u64` above `i64::MAX`.
    fn encode(&self, out: &mut CellWriter<'_>) -> Result<(), CellError>;

    /// Reads the value from its stored bytes.
    ///
    /// # Errors
    /// When no value of this type has these bytes.
    fn decode(value: &[u8]) -> Result<Self::Decoded<'_>, CellError>;

    /// Appends the stored bytes of this value or, if it has none, of the storable value next to it; returns how this value
    /// compares with that one. A comparison is exact for a bound that no cell can hold.
    #[doc(hidden)]
    fn encode_bound(&self, out: &mut CellWriter<'_>) -> Result<Ordering, CellError> {
        self.encode(out).map(|()| Ordering::Equal)
    }

    /// The stored bytes.
    ///
    /// # Errors
    /// Those of [`encode`](Self::encode).
    fn to_stored(&self) -> Result<Vec<u8>, CellError> {
        let mut bytes = Vec::new();
        self.encode(&mut CellWriter::new(&mut bytes))?;
        Ok(bytes)
    }
}

/// A value that borrows nothing.
pub trait OwnedCell: Cell<Owned = Self> + for<'r> Cell<Decoded<'r> = Self> {}

impl<C: Cell<Owned = C> + for<'r> Cell<Decoded<'r> = C>> OwnedCell for C {}

/// What one cell of a column holds.
#[doc(hidden)]
pub trait StoredCell {
    /// What a read gives.
    type Value;
    const STORED: CellType;

    fn read(value: &[u8]) -> Result<Self::Value, CellError>;
}

#[diagnostic::do_not_recommend]
impl<C: OwnedCell> StoredCell for C {
    type Value = C;
    const STORED: CellType = C::TYPE;

    fn read(value: &[u8]) -> Result<C, CellError> {
        C::decode(value)
    }
}

/// Takes the stored bytes of a value.
///
/// ```
/// use std::fmt::Write as _;
///
/// use keyderive::Cell;
/// use keyderive::row::{CellError, CellType, CellWriter};
///
/// /// Stored as 6 hexadecimal digits.
/// struct Color(u32);
///
/// impl Cell for Color {
///     type Owned = Self;
///     type Decoded<'r> = Self;
///     const TYPE: CellType = CellType::Custom("Color");
///
///     fn encode(&self, out: &mut CellWriter<'_>) -> Result<(), CellError> {
///         write!(out, "{:06x}", self.0).map_err(CellError::unsupported)
///     }
///
///     fn decode(value: &[u8]) -> Result<Self, CellError> {
///         let digits = <&str>::decode(value)?;
///         u32::from_str_radix(digits, 16).map(Self).map_err(|error| {
///             CellError::malformed(format_args!("holds `{digits}`; a color has hexadecimal digits")).with_source(error)
///         })
///     }
/// }
///
/// assert_eq!(Color(0xff_8800).to_stored()?, b"ff8800");
/// # Ok::<(), CellError>(())
/// ```
#[derive(Debug)]
pub struct CellWriter<'w>(&'w mut Vec<u8>);

impl<'w> CellWriter<'w> {
    pub(crate) fn new(bytes: &'w mut Vec<u8>) -> Self {
        Self(bytes)
    }

    /// Appends bytes.
    #[inline]
    pub fn write(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }
}

/// Never fails.
impl fmt::Write for CellWriter<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.write(text.as_bytes());
        Ok(())
    }
}

/// How the values of a column are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CellType {
    /// 8 bytes, two's complement, big-endian, of a type with these bounds.
    Integer {
        /// The least value.
        min: i64,
        /// The greatest value.
        max: i64,
    },
    /// An [`Integer`](Self::Integer) other than 0.
    NonZero {
        /// The least value.
        min: i64,
        /// The greatest value.
        max: i64,
    },
    /// The integer 0 or 1.
    Bool,
    /// The integer code of a variant; each code with the variant's name.
    Code(&'static [(i64, &'static str)]),
    /// 4 bytes, IEEE 754, big-endian.
    F32,
    /// 8 bytes, IEEE 754, big-endian.
    F64,
    /// UTF-8.
    Text,
    /// One character in UTF-8.
    Char,
    /// The name of a variant.
    Enum(&'static [&'static str]),
    /// As they are.
    Bytes,
    /// As they are, this many.
    Array(usize),
    /// No bytes.
    Unit,
    /// Hyphenated, in lower case.
    Uuid,
    /// As `Display` writes an address.
    IpAddress,
    /// As `Display` writes an IPv4 address.
    Ipv4Address,
    /// As `Display` writes an IPv6 address.
    Ipv6Address,
    /// RFC 3339, in UTC.
    Time,
    /// `2015-03-16`.
    Date,
    /// Compact JSON, with `#[row(json)]`.
    Json,
    /// A message of Protocol Buffers, with `#[row(proto)]`.
    Proto,
    /// An integer from 1970 in this unit, with `#[row(ts(unit = "…"))]`.
    UnixTime(TimeUnit),
    /// An encoding of the user's own, by its name.
    Custom(&'static str),
}

/// Never fails.
impl io::Write for CellWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Self::write(self, bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Why a value cannot be encoded, or stored bytes are no value of a type. It does not know the column.
#[derive(Clone, Debug)]
pub struct CellError(Box<Inner>);

#[derive(Clone, Debug)]
struct Inner {
    kind: Kind,
    message: String,
    source: Option<Arc<dyn Error + Send + Sync>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Malformed,
    Unsupported,
}

impl CellError {
    /// An error of [`Cell::decode`]: what the column holds, and what it should hold. The text follows the column's name.
    ///
    /// ```
    /// use keyderive::row::CellError;
    ///
    /// let error = CellError::malformed("holds `blue`; a color has 6 hexadecimal digits");
    /// assert!(error.is_malformed());
    /// ```
    #[cold]
    pub fn malformed(message: impl Display) -> Self {
        Self::of(Kind::Malformed, message)
    }

    /// An error of [`Cell::encode`]: why the value cannot be stored, and what to do. The text follows the column's name.
    ///
    /// ```
    /// use keyderive::row::CellError;
    ///
    /// let error = CellError::unsupported("is 3; a level is 0, 1 or 2");
    /// assert!(!error.is_malformed());
    /// ```
    #[cold]
    pub fn unsupported(message: impl Display) -> Self {
        Self::of(Kind::Unsupported, message)
    }

    fn of(kind: Kind, message: impl Display) -> Self {
        Self(Box::new(Inner { kind, message: message.to_string(), source: None }))
    }

    /// The same error with its cause.
    #[must_use]
    pub fn with_source(mut self, source: impl Error + Send + Sync + 'static) -> Self {
        self.0.source = Some(Arc::new(source));
        self
    }

    /// Whether stored bytes are no value of the type; otherwise a value cannot be stored.
    #[must_use]
    pub fn is_malformed(&self) -> bool {
        self.0.kind == Kind::Malformed
    }

    /// No variant of an enum is stored as these bytes.
    #[doc(hidden)]
    #[cold]
    #[must_use]
    pub fn unknown_variant(value: &[u8], names: &'static [&'static str]) -> Self {
        Self::not_this_text(value, format_args!("the variants are {}", Names(names)))
    }

    /// No variant of an enum has this code.
    #[doc(hidden)]
    #[cold]
    #[must_use]
    pub fn unknown_code(code: i64, codes: &'static [i64]) -> Self {
        Self::code_of_no_variant(code, codes.iter().copied())
    }

    /// As [`unknown_code`](Self::unknown_code), of codes that come one by one.
    #[cold]
    fn code_of_no_variant(code: i64, codes: impl Iterator<Item = i64>) -> Self {
        let codes = codes.map(|code| code.to_string()).collect::<Vec<_>>().join(", ");
        Self::malformed(format_args!("holds the integer {code}; the codes of the variants are {codes}"))
    }

    /// The bytes are no stored value.
    #[cold]
    fn not_these_bytes(value: &[u8], expected: impl Display) -> Self {
        Self::malformed(format_args!("holds {}; {expected}", ShownBytes(value)))
    }

    /// The text is no stored value.
    #[cold]
    fn not_this_text(value: &[u8], expected: impl Display) -> Self {
        Self::malformed(format_args!("holds {}; {expected}", Excerpt(value)))
    }
}

impl Display for CellError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl Error for CellError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source.as_ref().map(|source| &**source as _)
    }
}
