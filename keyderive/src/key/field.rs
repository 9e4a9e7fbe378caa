//! The traits of a field of a row key, their error, and the checks of fields that a user's module reads and writes.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;

use super::fast::{KeyBuf, holds_forbidden};
use super::format::{FieldOrder, FieldValues, Format, Width};
use super::show::Readable;

/// What the scan of a key takes for a field of the type `T` that is stored as `C`: a copy of the value, or a reference into it.
///
/// ```
/// use keyderive::key::Arg;
/// use keyderive::key::custom::Text;
///
/// let site: Arg<'_, String, Text> = "example.com";
/// let id: Arg<'_, u64, Text> = 7;
/// # let _ = (site, id);
/// ```
pub type Arg<'a, T, C> = <T as KeyField<C>>::Arg<'a>;

/// A type that can be stored as a field of a row key, in the format that the codec `C` names.
///
/// The derive of row keys picks `C` from the field's attributes: [`Text`](super::codec::Text) without any.
/// For newtypes and enums of codes [there is a derive](derive@crate::KeyField), for a foreign type
/// `#[row_key(with = "module")]`.
///
/// # By hand
/// Any other type implements the trait, and [`RangeField`] if its bytes sort as its values do:
///
/// ```
/// use std::borrow::Cow;
///
/// use keyderive::key::custom::{Cut, RangeField, Side, Text};
/// use keyderive::key::{FieldError, Format, Width};
/// use keyderive::{KeyField, RowKey};
///
/// /// A release, stored as `001.024`.
/// #[derive(Clone, Copy, Debug, PartialEq)]
/// struct Release {
///     major: u16,
///     minor: u16,
/// }
///
/// impl KeyField<Text> for Release {
///     type Arg<'a> = Release;
///     type Decoded<'a> = Release;
///     const FORMAT: Format = Format::Custom("Release");
///     const WIDTH: Width = Width::Fixed(7);
///
///     fn arg(&self) -> Release {
///         *self
///     }
///
///     fn write(value: Release, out: &mut Vec<u8>) -> Result<(), FieldError> {
///         let Release { major, minor } = value;
///         if major.max(minor) > 999 {
///             return Err(FieldError::new(format_args!("{value:?} does not fit; each part is at most 999")));
///         }
///         out.extend_from_slice(format!("{major:03}.{minor:03}").as_bytes());
///         Ok(())
///     }
///
///     fn read(bytes: Cow<'_, [u8]>) -> Result<Release, FieldError> {
///         let digits = |part: &[u8]| {
///             let all_digits = part.iter().all(u8::is_ascii_digit);
///             str::from_utf8(part).ok().filter(|_| all_digits)?.parse().ok()
///         };
///         match *bytes {
///             [ref major @ .., b'.', _, _, _] if major.len() == 3 => {
///                 digits(major).zip(digits(&bytes[4..])).map(|(major, minor)| Release { major, minor })
///             }
///             _ => None,
///         }
///         .ok_or_else(|| FieldError::new(format_args!("{bytes:?} is not a release, such as `001.024`")))
///     }
/// }
///
/// impl RangeField<Text> for Release {
///     fn cut(bound: Release, side: Side) -> Cut {
///         let mut encoding = Vec::new();
///         match (Self::write(bound, &mut encoding), side) {
///             (Ok(()), Side::Before) => Cut::Before(encoding),
///             (Ok(()), Side::After) => Cut::After(encoding),
///             // A bound need not fit: one that does not is after every key, or after all keys of its `major`.
///             (Err(_), _) if bound.major > 999 => Cut::Last,
///             (Err(_), _) => Cut::AfterPrefix(format!("{:03}.", bound.major).into_bytes()),
///         }
///     }
/// }
///
/// #[derive(RowKey)]
/// struct NoteKey {
///     release: Release,
///     line: u16,
/// }
///
/// let key = NoteKey { release: Release { major: 1, minor: 24 }, line: 7 };
/// assert_eq!(key.encode()?, b"001.024#00007");
/// assert_eq!(NoteKey::decode(b"001.024#00007")?.release, key.release);
/// NoteKey::scan().release_range(Release { major: 1, minor: 0 }..).into_plan()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Laws
/// For every value that `write` accepts:
/// - `read(write(v)) == v`, and `write(read(bytes)) == bytes` for all bytes that `read` accepts;
/// - the order of the bytes is the order of the values, or its reverse where the codec says so;
/// - a fixed [`WIDTH`](Self::WIDTH) is the length of every encoding.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a row key field stored as `{C}`",
    label = "no row key format for this type with these attributes",
    note = "without an attribute: every integer but `usize` and `isize`, `bool`, `char`, `String`, `&str`, `Cow<str>`, `Vec<u8>`, `Cow<[u8]>`, `[u8; N]`",
    note = "`#[pad(n)]` takes integers and strings; `escape` takes `char`, `String` and `Cow<str>`; `#[reverse_ts]` takes integers and times; `desc` takes integers, times, dates and `bool`; `bit_reverse` takes `u32` and `u64`; the ordered layout has no 128-bit integers",
    note = "`row_key(ts(…))` takes times: `SystemTime`, and with the feature of keyderive named after their crate `chrono::DateTime<Utc>`, `jiff::Timestamp`, `time::OffsetDateTime` and `time::UtcDateTime`",
    note = "dates and UUIDs need the feature of keyderive named after their crate: `chrono::NaiveDate`, `jiff::civil::Date`, `time::Date`, and `uuid::Uuid`, which `row_key(uuid(…))` takes",
    note = "for a newtype or an enum of your own, write `#[derive(KeyField)]` on it; any other type implements `KeyField` by hand"
)]
pub trait KeyField<C> {
    /// The value as scans and encoders take it: by copy or borrowed.
    type Arg<'a>: Copy + fmt::Debug;

    /// The decoded value: `Self`, whose borrowed parts borrow from the key's bytes for `'a`.
    type Decoded<'a>;

    /// The format, as the schema names it.
    const FORMAT: Format;

    /// How many bytes are written.
    ///
    /// If it is delimited, the key rejects bytes at or below the delimiter.
    const WIDTH: Width;

    /// How the order of the bytes follows from the order of the values.
    const ORDER: FieldOrder = FieldOrder::Ascending;

    /// Which values the field takes, for readers of the schema.
    const VALUES: FieldValues = FieldValues::Custom;

    /// The value in the form that [`write`](Self::write) takes.
    fn arg(&self) -> Self::Arg<'_>;

    /// Appends the encoding of `value` to `out`.
    ///
    /// # Errors
    /// When the format cannot hold the value; nothing is truncated, wrapped or defaulted. The caller removes what was
    /// appended before the error.
    fn write(value: Self::Arg<'_>, out: &mut Vec<u8>) -> Result<(), FieldError>;

    /// An estimate of how many bytes [`write`](Self::write) appends for `value`, so that a key is allocated once.
    #[doc(hidden)]
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn written_len(_value: Self::Arg<'_>) -> usize {
        match Self::WIDTH {
            Width::Fixed(width) | Width::Between(_, width) => width,
            Width::Delimited => 32,
        }
    }

    /// Appends as [`write`](Self::write) does, and returns true if the field is delimited and the appended bytes
    /// contain one at or below the delimiter. A format that copies bytes can check them while copying.
    ///
    /// # Errors
    /// Those of `write`.
    #[doc(hidden)]
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn append(value: Self::Arg<'_>, delimiter: u8, out: &mut KeyBuf<'_>) -> Result<bool, FieldError> {
        out.with_vec(|out| {
            let start = out.len();
            Self::write(value, out)?;
            let is_delimited = !matches!(Self::WIDTH, Width::Fixed(_));
            Ok(is_delimited && holds_forbidden(&out[start..], delimiter))
        })
    }

    /// The value as `explain` and errors show it.
    ///
    /// # Errors
    /// Those of `f`.
    #[doc(hidden)]
    fn show(value: Self::Arg<'_>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&value, f)
    }

    /// Reads a value back from exactly the bytes of its encoding.
    ///
    /// The bytes are borrowed from the key, unless the ordered layout had escaped some.
    ///
    /// # Errors
    /// For all bytes that `write` would not have written.
    fn read(bytes: Cow<'_, [u8]>) -> Result<Self::Decoded<'_>, FieldError>;

    /// Reads as [`read`](Self::read) does; `text` is `bytes` as a `str` if they are known to be ASCII, so that strings
    /// need no UTF-8 check.
    ///
    /// # Errors
    /// Those of `read`.
    #[doc(hidden)]
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn read_borrowed<'a>(bytes: &'a [u8], _text: Option<&'a str>) -> Result<Self::Decoded<'a>, FieldError> {
        Self::read(Cow::Borrowed(bytes))
    }
}

/// Why a field's value cannot be encoded, or its bytes cannot be decoded.
///
/// A codec returns it; encoding and decoding add the field's name and the key. The text is the fault, then the limit or
/// the remedy, in lower case without a full stop.
#[derive(Clone, PartialEq, Eq)]
pub struct FieldError(Box<str>);

impl FieldError {
    /// An error with `fault` as its text.
    #[cold]
    pub fn new(fault: impl fmt::Display) -> Self {
        Self(fault.to_string().into())
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The text, since `unwrap` and a `main` that returns an error print `Debug`.
impl fmt::Debug for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FieldError").field(&format_args!("{self}")).finish()
    }
}

impl Error for FieldError {}

/// Which side of a value a cut is on, in the value's own order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Between the value and all smaller ones.
    Before,
    /// Between the value and all greater ones.
    After,
}

/// A place between two encodings of a field, in the order of the bytes.
///
/// A range bound is turned into a cut, so it need not be a value that the field can store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cut {
    /// Before every encoding.
    First,
    /// Just before this encoding, and all that extend it.
    Before(Vec<u8>),
    /// Just after exactly this encoding, before those that extend it.
    After(Vec<u8>),
    /// After every encoding that begins with these bytes.
    AfterPrefix(Vec<u8>),
    /// After every encoding.
    Last,
}

/// A field whose values have an order, so that a scan can take a range of them.
#[diagnostic::on_unimplemented(
    message = "a field of type `{Self}` stored as `{C}` has no range",
    label = "this field can be fixed, not ranged over"
)]
pub trait RangeField<C>: KeyField<C> {
    /// The cut on the given side of `bound`, which the field need not be able to hold.
    fn cut(bound: Self::Arg<'_>, side: Side) -> Cut;
}

/// A field of text or bytes, whose values have prefixes.
#[diagnostic::on_unimplemented(
    message = "a field of type `{Self}` stored as `{C}` has no prefix scan",
    label = "only text and bytes have prefixes",
    note = "for a span of numbers or times, use the field's `_range` method"
)]
pub trait PrefixField<C>: KeyField<C> {
    /// The cuts around all values that begin with `prefix`.
    fn prefix_cuts(prefix: Self::Arg<'_>) -> (Cut, Cut);
}

/// Appends what a `with` module's `write` writes for `value`, and checks its width, so that a wrong module fails before
/// its keys are stored.
///
/// # Errors
/// Those of `write`, and when it does not keep to its width.
pub fn write_custom<C, T: KeyField<C>>(
    value: T::Arg<'_>,
    out: &mut Vec<u8>,
    write: impl FnOnce(T::Arg<'_>, &mut Vec<u8>) -> Result<(), FieldError>,
) -> Result<(), FieldError> {
    let start = out.len();
    write(value, out)?;
    match (T::WIDTH, out.len().checked_sub(start)) {
        (Width::Fixed(width), Some(len)) if len != width => Err(FieldError::new(format_args!(
            "the module writes {value:?} as {len} bytes, but its `WIDTH` is {width}: \
             write exactly as many, or use `Width::Delimited`",
        ))),
        (Width::Between(min, max), Some(len)) if !(min..=max).contains(&len) => {
            Err(FieldError::new(format_args!(
                "the module writes {value:?} as {len} bytes, but its `WIDTH` is {min} to {max}: \
                 write that many, or use `Width::Delimited`",
            )))
        }
        (_, Some(_)) => Ok(()),
        (_, None) => Err(FieldError::new(format_args!(
            "the module that writes {value:?} removed bytes of the fields before it from `out`; only append to `out`",
        ))),
    }
}

/// Reads with a `with` module's `read`, and checks that `write` gives the same bytes.
///
/// # Errors
/// Those of `read`, and for a non-canonical encoding of a value.
pub fn read_custom<C, T: KeyField<C>>(
    bytes: &[u8],
    read: impl FnOnce(&[u8]) -> Result<T, FieldError>,
) -> Result<T, FieldError> {
    let value = read(bytes)?;
    let mut written = Vec::with_capacity(bytes.len());
    T::write(value.arg(), &mut written)?;
    if written != bytes {
        return Err(FieldError::new(format_args!(
            "`{}` is read as {:?}, which is written as `{}`",
            Readable(bytes),
            value.arg(),
            Readable(&written),
        )));
    }
    Ok(value)
}
