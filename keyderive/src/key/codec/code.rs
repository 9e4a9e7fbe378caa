//! `bool`, and field-less enums by the codes of their variants.
//!
//! The derive of [`KeyField`](crate::KeyField) makes an enum a field in every format that is a [`CodeCodec`].

use std::borrow::Cow;

use super::super::decimal;
use super::super::field::{Cut, FieldError, KeyField, RangeField, Side};
use super::super::format::{FieldOrder, FieldValues, Format, Width};
use super::super::ordered::{read_int, write_int};
use super::super::show::Readable;
use super::super::value::Value;
use super::{Desc, Ordered, Text};

/// A format for a `bool`.
pub trait BoolCodec {
    /// The format, as the schema names it.
    const FORMAT: Format;
    /// How many bytes are written.
    const WIDTH: Width;
    /// How the bytes are ordered.
    const ORDER: FieldOrder;

    /// Appends the encoding of `value`.
    fn write(value: bool, out: &mut Vec<u8>);

    /// Reads a value back; `None` for bytes that `write` does not write.
    #[must_use]
    fn read(bytes: &[u8]) -> Option<bool>;
}

impl BoolCodec for Text {
    const FORMAT: Format = Format::Bool;
    const WIDTH: Width = Width::Fixed(1);
    const ORDER: FieldOrder = FieldOrder::Ascending;

    fn write(value: bool, out: &mut Vec<u8>) {
        out.push(if value { b'1' } else { b'0' });
    }

    fn read(bytes: &[u8]) -> Option<bool> {
        match bytes {
            b"0" => Some(false),
            b"1" => Some(true),
            _ => None,
        }
    }
}

impl BoolCodec for Ordered {
    const FORMAT: Format = Format::BoolInt64;
    const WIDTH: Width = Width::Fixed(1);
    const ORDER: FieldOrder = FieldOrder::Ascending;

    fn write(value: bool, out: &mut Vec<u8>) {
        write_int(value.into(), out);
    }

    fn read(bytes: &[u8]) -> Option<bool> {
        match read_int(bytes)? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }
}

impl BoolCodec for Desc<Text> {
    const FORMAT: Format = Format::Bool;
    const WIDTH: Width = Width::Fixed(1);
    const ORDER: FieldOrder = FieldOrder::Descending;

    fn write(value: bool, out: &mut Vec<u8>) {
        <Text as BoolCodec>::write(!value, out);
    }

    fn read(bytes: &[u8]) -> Option<bool> {
        <Text as BoolCodec>::read(bytes).map(|value| !value)
    }
}

/// The Int64 of `!0` and `!1`.
impl BoolCodec for Desc<Ordered> {
    const FORMAT: Format = Format::BoolInt64;
    const WIDTH: Width = Width::Fixed(1);
    const ORDER: FieldOrder = FieldOrder::Descending;

    fn write(value: bool, out: &mut Vec<u8>) {
        write_int(!i64::from(value), out);
    }

    fn read(bytes: &[u8]) -> Option<bool> {
        match !read_int(bytes)? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }
}

#[diagnostic::do_not_recommend]
impl<C: BoolCodec> KeyField<C> for bool {
    by_value!(FieldValues::Bool);
    const FORMAT: Format = C::FORMAT;
    const WIDTH: Width = C::WIDTH;
    const ORDER: FieldOrder = C::ORDER;

    fn write(value: bool, out: &mut Vec<u8>) -> Result<(), FieldError> {
        C::write(value, out);
        Ok(())
    }

    fn read(bytes: Cow<'_, [u8]>) -> Result<bool, FieldError> {
        C::read(&bytes).ok_or_else(|| FieldError::new(format_args!("`{}` is not a `bool`", Readable(&bytes))))
    }
}

#[diagnostic::do_not_recommend]
impl<C: BoolCodec> RangeField<C> for bool {
    fn cut(bound: bool, side: Side) -> Cut {
        // The first value after the cut, in the order of the bytes.
        let first = match (C::ORDER.is_reversed(), side, bound) {
            (false, Side::Before, value) | (true, Side::After, value) => Some(value),
            (false, Side::After, false) => Some(true),
            (true, Side::Before, true) => Some(false),
            (false, Side::After, true) | (true, Side::Before, false) => None,
        };
        first.map_or(Cut::Last, encoded::<C>)
    }
}

fn encoded<C: BoolCodec>(value: bool) -> Cut {
    let mut out = Vec::with_capacity(1);
    C::write(value, &mut out);
    Cut::Before(out)
}

/// The most codes that an error lists.
const MAX_LISTED_CODES: usize = 8;

/// A field-less enum whose codes are the explicit discriminants of its variants. The derive of
/// [`KeyField`](crate::KeyField) implements it.
pub trait Code: Sized + 'static {
    /// The enum's name.
    const NAME: &'static str;

    /// Every variant with its code and its name, by ascending code.
    const VARIANTS: &'static [(u64, &'static str, Self)];

    /// The codes with the names of their variants, by ascending code.
    const CODES: &'static [(u64, &'static str)];

    /// The code of this variant.
    fn code(&self) -> u64;
}

/// A format for the codes of `T`.
pub trait CodeCodec<T: Code> {
    /// The format, as the schema names it.
    const FORMAT: Format;
    /// How many bytes are written.
    const WIDTH: Width;

    /// Appends the encoding of a variant's code.
    ///
    /// # Errors
    /// When the format cannot hold it.
    fn write(value: T, out: &mut Vec<u8>) -> Result<(), FieldError>;

    /// Reads a variant back.
    ///
    /// # Errors
    /// For all bytes that `write` would not have written.
    fn read(bytes: Cow<'_, [u8]>) -> Result<T, FieldError>;

    /// The cut on one side of the code of `bound`.
    fn cut(bound: T, side: Side) -> Cut;
}

/// The codes of an enum, by value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Codes {
    /// The enum's name.
    pub(crate) name: &'static str,
    /// Each code with the name of its variant, by ascending code.
    pub(crate) codes: &'static [(u64, &'static str)],
}

impl Codes {
    const fn of<T: Code>() -> Self {
        Self { name: T::NAME, codes: T::CODES }
    }

    /// The digits of the greatest code.
    pub(crate) const fn width(self) -> usize {
        // The codes ascend.
        match self.codes {
            [.., (greatest, _)] => decimal::width(*greatest as u128),
            [] => 0,
        }
    }

    /// Writes a number, padded to the width of the codes.
    pub(crate) fn write(self, code: u64, out: &mut Vec<u8>) {
        let start = out.len();
        out.resize(start + self.width(), b'0');
        decimal::fill(&mut out[start..], code);
    }

    /// The index of a code.
    fn find(self, code: u64) -> Option<usize> {
        self.codes.binary_search_by_key(&code, |(code, _)| *code).ok()
    }

    /// Reads the index of a code from its digits.
    #[inline]
    pub(crate) fn read(self, bytes: &[u8]) -> Result<usize, FieldError> {
        let code = decimal::parse(bytes).filter(|_| bytes.len() == self.width());
        code.and_then(|code| self.find(code)).ok_or_else(|| self.unknown(bytes))
    }

    /// The cut on one side of a code.
    pub(crate) fn cut(self, bound: u64, side: Side) -> Cut {
        // Using the next code gives one cut between two neighbours, so an empty range is recognized as empty.
        let code = match side {
            Side::Before => Some(bound),
            Side::After => bound.checked_add(1),
        };
        match code.filter(|code| decimal::width(u128::from(*code)) <= self.width()) {
            Some(code) => {
                let mut encoding = Vec::with_capacity(self.width());
                self.write(code, &mut encoding);
                Cut::Before(encoding)
            }
            None => Cut::Last,
        }
    }

    /// Reads the index of a code from its Int64.
    pub(crate) fn read_int(self, bytes: &[u8]) -> Result<usize, FieldError> {
        let code = <u64 as KeyField<Ordered>>::read(Cow::Borrowed(bytes))?;
        self.find(code).ok_or_else(|| self.unknown(code.to_string().as_bytes()))
    }

    /// The code and the name of the variant that a value names, by either.
    pub(crate) fn variant(self, value: &Value) -> Result<(u64, &'static str), FieldError> {
        let code = match value {
            Value::Text(text) => match self.codes.iter().find(|(_, name)| name == text) {
                Some((code, _)) => Some(*code),
                None => decimal::parse(text.as_bytes()),
            },
            Value::Integer(code) => u64::try_from(*code).ok(),
            _ => None,
        };
        let found = code.and_then(|code| self.find(code)).map(|at| self.codes[at]);
        found.ok_or_else(|| self.unknown(value.to_string().as_bytes()))
    }

    #[cold]
    fn unknown(self, bytes: &[u8]) -> FieldError {
        let (name, width) = (self.name, self.width());
        let codes = match self.codes.len() {
            ..=MAX_LISTED_CODES => {
                let codes = self.codes.iter().map(|(code, variant)| format!("{code:0width$} `{variant}`"));
                format!("its codes are {}", codes.collect::<Vec<_>>().join(", "))
            }
            count => format!("it has {count} codes of {width} digits"),
        };
        FieldError::new(format_args!("`{}` is not the code of a `{name}`: {codes}", Readable(bytes)))
    }
}

impl<T: Code + Copy> CodeCodec<T> for Text {
    const FORMAT: Format = Format::Decimal;
    const WIDTH: Width = Width::Fixed(Codes::of::<T>().width());

    #[inline]
    fn write(value: T, out: &mut Vec<u8>) -> Result<(), FieldError> {
        const { Codes::of::<T>() }.write(value.code(), out);
        Ok(())
    }

    #[inline]
    fn read(bytes: Cow<'_, [u8]>) -> Result<T, FieldError> {
        // `CODES` are those of `VARIANTS`, in their order.
        const { Codes::of::<T>() }.read(&bytes).map(|at| T::VARIANTS[at].2)
    }

    fn cut(bound: T, side: Side) -> Cut {
        const { Codes::of::<T>() }.cut(bound.code(), side)
    }
}

/// The Int64 of the code.
impl<T: Code + Copy> CodeCodec<T> for Ordered {
    const FORMAT: Format = Format::Int64;
    const WIDTH: Width = Width::Between(1, 10);

    fn write(value: T, out: &mut Vec<u8>) -> Result<(), FieldError> {
        <u64 as KeyField<Ordered>>::write(value.code(), out)
    }

    fn read(bytes: Cow<'_, [u8]>) -> Result<T, FieldError> {
        const { Codes::of::<T>() }.read_int(&bytes).map(|at| T::VARIANTS[at].2)
    }

    fn cut(bound: T, side: Side) -> Cut {
        <u64 as RangeField<Ordered>>::cut(bound.code(), side)
    }
}
