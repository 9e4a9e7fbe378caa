//! Bytes: lower-case hexadecimal in text, unchanged in the ordered layout.

use std::borrow::Cow;

use super::super::field::{Cut, FieldError, KeyField, PrefixField, RangeField, Side};
use super::super::format::{FieldValues, Format, Width};
use super::super::show::Readable;
use super::{Ordered, Text};

const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// Appends two lower-case hexadecimal digits for each byte.
pub(crate) fn write_hex(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend(
        bytes.iter().flat_map(|byte| [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]),
    );
}

/// Reads hexadecimal digits, in lower case only.
pub(crate) fn read_hex(digits: &[u8]) -> Result<Vec<u8>, FieldError> {
    let digit = |digit: &u8| DIGITS.iter().position(|known| known == digit);
    let pairs = digits.chunks_exact(2);
    let whole = pairs.remainder().is_empty();
    let bytes: Option<Vec<u8>> =
        pairs.map(|pair| u8::try_from(digit(&pair[0])? << 4 | digit(&pair[1])?).ok()).collect();
    bytes.filter(|_| whole).ok_or_else(|| {
        FieldError::new(format_args!(
            "`{}` is not an even number of lower-case hexadecimal digits",
            Readable(digits)
        ))
    })
}

/// A format for bytes.
pub trait BytesCodec {
    /// The format, as the schema names it.
    const FORMAT: Format;
    /// How many bytes are written for each byte.
    const WIDTH_OF_BYTE: usize;

    /// Appends the encoding of `value`.
    fn write(value: &[u8], out: &mut Vec<u8>);

    /// Reads bytes back.
    ///
    /// # Errors
    /// For what `write` would not have written.
    fn read(bytes: Cow<'_, [u8]>) -> Result<Cow<'_, [u8]>, FieldError>;
}

impl BytesCodec for Text {
    const FORMAT: Format = Format::Hex;
    const WIDTH_OF_BYTE: usize = 2;

    fn write(value: &[u8], out: &mut Vec<u8>) {
        write_hex(value, out);
    }

    fn read(bytes: Cow<'_, [u8]>) -> Result<Cow<'_, [u8]>, FieldError> {
        read_hex(&bytes).map(Cow::Owned)
    }
}

impl BytesCodec for Ordered {
    const FORMAT: Format = Format::Bytes;
    const WIDTH_OF_BYTE: usize = 1;

    fn write(value: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(value);
    }

    fn read(bytes: Cow<'_, [u8]>) -> Result<Cow<'_, [u8]>, FieldError> {
        Ok(bytes)
    }
}

fn encoded<C: BytesCodec>(value: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(value.len() * C::WIDTH_OF_BYTE);
    C::write(value, &mut out);
    out
}

fn cut<C: BytesCodec>(bound: &[u8], side: Side) -> Cut {
    match side {
        Side::Before => Cut::Before(encoded::<C>(bound)),
        Side::After => Cut::After(encoded::<C>(bound)),
    }
}

macro_rules! bytes_type {
    ([$($params:tt)*] $type:ty => $decoded:ty, $arg:ty, $width:expr, |$read:ident| $take:expr) => {
        #[diagnostic::do_not_recommend]
        impl<$($params)* C: BytesCodec> KeyField<C> for $type {
            type Arg<'a> = $arg;
            type Decoded<'a> = $decoded;
            const FORMAT: Format = C::FORMAT;
            const WIDTH: Width = $width;
            const VALUES: FieldValues = FieldValues::Bytes;

            fn arg(&self) -> Self::Arg<'_> {
                self
            }

            fn write(value: Self::Arg<'_>, out: &mut Vec<u8>) -> Result<(), FieldError> {
                C::write(value, out);
                Ok(())
            }

            #[inline]
            fn written_len(value: Self::Arg<'_>) -> usize {
                value.len() * C::WIDTH_OF_BYTE
            }

            fn read(bytes: Cow<'_, [u8]>) -> Result<Self::Decoded<'_>, FieldError> {
                let $read = C::read(bytes)?;
                $take
            }
        }

        #[diagnostic::do_not_recommend]
        impl<$($params)* C: BytesCodec> RangeField<C> for $type {
            fn cut(bound: Self::Arg<'_>, side: Side) -> Cut {
                cut::<C>(bound, side)
            }
        }
    };
}

bytes_type!([] Vec<u8> => Vec<u8>, &'a [u8], Width::Delimited, |read| Ok(read.into_owned()));
bytes_type!(['s,] Cow<'s, [u8]> => Cow<'a, [u8]>, &'a [u8], Width::Delimited, |read| Ok(read));
bytes_type!([const N: usize,] [u8; N] => [u8; N], &'a [u8; N], Width::Fixed(N * C::WIDTH_OF_BYTE), |read| {
    read.as_ref().try_into().map_err(|_| other_len(read.len(), N))
});

/// The number of bytes is not the field's.
#[cold]
pub(crate) fn other_len(len: usize, expected: usize) -> FieldError {
    FieldError::new(format_args!("it is {len} bytes long, not {expected}"))
}

macro_rules! prefixes {
    ([$($params:tt)*] $type:ty) => {
        #[diagnostic::do_not_recommend]
        impl<$($params)* C: BytesCodec> PrefixField<C> for $type {
            fn prefix_cuts(prefix: &[u8]) -> (Cut, Cut) {
                (Cut::Before(encoded::<C>(prefix)), Cut::AfterPrefix(encoded::<C>(prefix)))
            }
        }
    };
}

prefixes!([] Vec<u8>);
prefixes!(['s,] Cow<'s, [u8]>);
