//! Field-less enums: the code of a variant, in digits.
//!
//! A codec writes and reads codes; an enum says which ones it has. The derive of
//! [`KeyField`](crate::KeyField) brings the two together, for every codec that is a [`CodeCodec`].

use std::borrow::Cow;

use super::super::decimal;
use super::super::error::FieldError;
use super::super::field::{Cut, KeyField, RangeField, Side};
use super::super::format::{Format, Width};
use super::super::show::Readable;
use super::{Ordered, Text};

/// The most codes that an error lists.
const LISTED: usize = 8;

/// A field-less enum whose variants have explicit codes; derived with [`KeyField`](crate::KeyField).
pub trait Code: Sized + 'static {
    /// The enum's name.
    const NAME: &'static str;

    /// Every variant with its code and its name, the least code first.
    const VARIANTS: &'static [(u64, &'static str, Self)];

    /// The code of this variant.
    fn code(&self) -> u64;
}

/// A format for the codes of `T`.
pub trait CodeCodec<T: Code> {
    /// What is written, for the schema.
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

/// How many digits the greatest code of `T` has.
const fn digits<T: Code>() -> usize {
    // The codes ascend.
    match T::VARIANTS {
        [.., (greatest, ..)] => decimal::width(*greatest as u128),
        [] => 0,
    }
}

/// Writes a code of `T`, or a neighbour of one with as many digits.
fn write_digits<T: Code>(code: u64, out: &mut Vec<u8>) {
    let start = out.len();
    out.resize(start + digits::<T>(), b'0');
    decimal::fill(&mut out[start..], code);
}

/// The variant of `T` with this code.
fn from_code<T: Code + Copy>(code: u64) -> Option<T> {
    let at = T::VARIANTS.binary_search_by_key(&code, |(code, ..)| *code).ok()?;
    Some(T::VARIANTS[at].2)
}

impl<T: Code + Copy> CodeCodec<T> for Text {
    const FORMAT: Format = Format::Decimal;
    const WIDTH: Width = Width::Fixed(digits::<T>());

    #[inline]
    fn write(value: T, out: &mut Vec<u8>) -> Result<(), FieldError> {
        write_digits::<T>(value.code(), out);
        Ok(())
    }

    #[inline]
    fn read(bytes: Cow<'_, [u8]>) -> Result<T, FieldError> {
        let code = decimal::parse(&bytes).filter(|_| bytes.len() == digits::<T>());
        code.and_then(from_code).ok_or_else(|| unknown_code::<T>(&bytes))
    }

    fn cut(bound: T, side: Side) -> Cut {
        // Between two neighbours there is only one cut, so that an empty range is seen to be empty.
        let code = match side {
            Side::Before => Some(bound.code()),
            Side::After => bound.code().checked_add(1),
        };
        match code.filter(|code| decimal::width(u128::from(*code)) <= digits::<T>()) {
            Some(code) => {
                let mut encoding = Vec::with_capacity(digits::<T>());
                write_digits::<T>(code, &mut encoding);
                Cut::Before(encoding)
            }
            None => Cut::Last,
        }
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
        let code = <u64 as KeyField<Ordered>>::read(Cow::Borrowed(&*bytes))?;
        from_code(code).ok_or_else(|| unknown_code::<T>(code.to_string().as_bytes()))
    }

    fn cut(bound: T, side: Side) -> Cut {
        <u64 as RangeField<Ordered>>::cut(bound.code(), side)
    }
}

/// The error for bytes that are no code of `T`.
#[cold]
fn unknown_code<T: Code>(bytes: &[u8]) -> FieldError {
    let (name, digits) = (T::NAME, digits::<T>());
    let codes = match T::VARIANTS.len() {
        ..=LISTED => {
            let codes = T::VARIANTS.iter().map(|(code, variant, _)| format!("{code:0digits$} `{variant}`"));
            format!("its codes are {}", codes.collect::<Vec<_>>().join(", "))
        }
        count => format!("it has {count} codes of {digits} digits"),
    };
    FieldError::new(format_args!("`{}` is not the code of a `{name}`: {codes}", Readable(bytes)))
}
