//! Any string in a delimited field: every byte up to `%` as `%` and two upper-case hexadecimal digits.

use std::borrow::Cow;

use super::super::error::FieldError;
use super::super::field::{Cut, Side};
use super::super::format::{Format, Width};
use super::super::show::Readable;
use super::{Escape, StrCodec, Text};

/// The greatest byte that is escaped, and what every escape begins with: escapes sort as the bytes they stand for,
/// before all bytes that are not escaped.
const ESCAPE: u8 = b'%';
/// The bytes that are escaped.
pub(crate) const ESCAPED: std::ops::RangeInclusive<u8> = 0..=ESCAPE;
const DIGITS: &[u8; 16] = b"0123456789ABCDEF";

fn escaped(value: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(value.len());
    write(value, &mut out);
    out
}

fn write(value: &str, out: &mut Vec<u8>) {
    for byte in value.bytes() {
        match byte {
            ..=ESCAPE => {
                out.extend_from_slice(&[
                    ESCAPE,
                    DIGITS[usize::from(byte >> 4)],
                    DIGITS[usize::from(byte & 15)],
                ]);
            }
            byte => out.push(byte),
        }
    }
}

/// The bytes that escapes stand for; none for a byte that should be escaped, or an escape that should not be.
fn unescaped(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes.iter();
    while let Some(byte) = rest.next() {
        match *byte {
            ESCAPE => {
                let mut digit = || {
                    let digit = *rest.next()?;
                    u8::try_from(DIGITS.iter().position(|known| *known == digit)?).ok()
                };
                let value = digit()? << 4 | digit()?;
                if value > ESCAPE {
                    return None;
                }
                out.push(value);
            }
            byte if byte < ESCAPE => return None,
            byte => out.push(byte),
        }
    }
    Some(out)
}

impl StrCodec for Escape {
    const FORMAT: Format = Format::EscapedUtf8;
    const WIDTH: Width = Width::Delimited;

    fn write(value: &str, out: &mut Vec<u8>) -> Result<(), FieldError> {
        write(value, out);
        Ok(())
    }

    fn written_len(value: &str) -> usize {
        value.len() + 2 * value.bytes().filter(|byte| *byte <= ESCAPE).count()
    }

    fn read(bytes: Cow<'_, [u8]>) -> Result<Cow<'_, str>, FieldError> {
        if !bytes.iter().any(|byte| *byte <= ESCAPE) {
            return <Text as StrCodec>::read(bytes);
        }
        match unescaped(&bytes) {
            Some(raw) => <Text as StrCodec>::read(Cow::Owned(raw)),
            None => Err(FieldError::new(format_args!(
                "`{}` is not escaped as `#[row_key(escape)]` does: each byte up to `%`, and no other, as `%` and two \
                 upper-case hexadecimal digits",
                Readable(&bytes)
            ))),
        }
    }

    fn cut(bound: &str, side: Side) -> Cut {
        match side {
            Side::Before => Cut::Before(escaped(bound)),
            Side::After => Cut::After(escaped(bound)),
        }
    }

    fn prefix_cuts(prefix: &str) -> (Cut, Cut) {
        (Cut::Before(escaped(prefix)), Cut::AfterPrefix(escaped(prefix)))
    }
}
