//! What a type must know to be a field of a row key.

use std::borrow::Cow;
use std::fmt;

use super::encode::holds_forbidden;
use super::error::FieldError;
use super::schema::{FieldOrder, Format, Width};

/// A type that can be stored as a field of a row key, in the format that the codec `C` names.
///
/// The derive picks `C` from the field's attributes: [`Text`](super::codec::Text) where there are none.
///
/// # Laws
/// For every value that `write` accepts:
/// - `read(write(v)) == v`, and `write(read(bytes)) == bytes` for all bytes that `read` accepts;
/// - the order of the bytes is the order of the values, or its reverse where the codec says so;
/// - a fixed [`WIDTH`](Self::WIDTH) is the length of every encoding.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a row key field stored as `{C}`",
    label = "no row key format for this type with these attributes",
    note = "without an attribute: every integer but `usize` and `isize`, `String`, `&str`, `Cow<str>`",
    note = "`#[pad(n)]` takes integers and strings; `#[reverse_ts]` takes integers",
    note = "for a type of your own, store the integer or string that it stands for, or implement `KeyField` for it"
)]
pub trait KeyField<C> {
    /// The value as scans and encoders take it: by copy or borrowed.
    type Arg<'a>: Copy + fmt::Debug;

    /// The value as read out of `'a` bytes: `Self`, with what it borrows borrowed from them.
    type Decoded<'a>;

    /// What is written, for the schema.
    const FORMAT: Format;

    /// How many bytes are written.
    const WIDTH: Width;

    /// How the order of the bytes follows from the order of the values.
    const ORDER: FieldOrder = FieldOrder::Ascending;

    /// The value in the form that [`write`](Self::write) takes.
    fn arg(&self) -> Self::Arg<'_>;

    /// Appends the encoding of `value` to `out`.
    ///
    /// # Errors
    /// When the format cannot hold the value; nothing is truncated, wrapped or defaulted. What has been
    /// appended by then is the caller's to remove.
    fn write(value: Self::Arg<'_>, out: &mut Vec<u8>) -> Result<(), FieldError>;

    /// Appends as [`write`](Self::write) does; whether a byte at or below the delimiter is among what was appended.
    ///
    /// Here so that a format that appends bytes as they are can look at them on the way.
    ///
    /// # Errors
    /// Those of `write`.
    #[doc(hidden)]
    #[inline]
    fn write_delimited(value: Self::Arg<'_>, delimiter: u8, out: &mut Vec<u8>) -> Result<bool, FieldError> {
        let start = out.len();
        Self::write(value, out)?;
        Ok(holds_forbidden(&out[start..], delimiter))
    }

    /// Reads a value back from exactly the bytes of its encoding.
    ///
    /// The bytes are borrowed from the key, but where a layout had to take an escape out of them.
    ///
    /// # Errors
    /// For all bytes that `write` would not have written.
    fn read(bytes: Cow<'_, [u8]>) -> Result<Self::Decoded<'_>, FieldError>;
}

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
/// A bound of a range is a cut and not a value, so it need not be a value that the field can hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cut {
    /// Before every encoding.
    First,
    /// Just before the field that is encoded as these bytes, and all that extend them.
    Before(Vec<u8>),
    /// Just after the field that is encoded as exactly these bytes, before those that extend them.
    After(Vec<u8>),
    /// After every encoding that begins with these bytes.
    AfterPrefix(Vec<u8>),
    /// After every encoding.
    Last,
}

/// A field with an order that a scan can cut a range from.
#[diagnostic::on_unimplemented(
    message = "a field of type `{Self}` stored as `{C}` has no range",
    label = "this field can be fixed, not ranged over"
)]
pub trait RangeField<C>: KeyField<C> {
    /// The cut on the given side of `bound`, a value of the field's argument type that the field
    /// need not be able to hold.
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
