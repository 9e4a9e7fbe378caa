//! The ordered layout: the bytes of Bigtable's `Struct.OrderedCodeBytes`.
//!
//! `00 01` separates parts; a zero byte in a part is written `00 ff`, an empty part `00 00`. Empty parts at the end of
//! the key are dropped, and a key of only empty parts is `00 00`. Integers are `OrderedCodeBytes`:
//! 1 to 10 bytes, shorter near zero, whose bytes sort as the numbers do. The rules are those of
//! `google/bigtable/admin/v2/types.proto`.

use std::borrow::Cow;

use super::field::FieldError;

/// Separates two parts.
pub(crate) const SEPARATOR: [u8; 2] = [0, 1];
/// An empty part, as written.
pub(crate) const EMPTY: [u8; 2] = [0, 0];
/// A zero byte of a part, escaped.
const ESCAPED_ZERO: [u8; 2] = [0, 0xff];
/// Sorts right after all bytes that begin with a separator.
pub(crate) const AFTER_SEPARATOR: [u8; 2] = [0, 2];

/// Escapes the part from `start` to the end of `out`, in place.
#[inline]
pub(crate) fn escape_from(out: &mut Vec<u8>, start: usize) {
    if out.len() == start {
        out.extend_from_slice(&EMPTY);
    } else if out[start..].contains(&0) {
        let raw = out.split_off(start);
        for byte in raw {
            match byte {
                0 => out.extend_from_slice(&ESCAPED_ZERO),
                byte => out.push(byte),
            }
        }
    }
}

/// An escaped part.
pub(crate) fn escaped(raw: &[u8]) -> Vec<u8> {
    let mut out = raw.to_vec();
    escape_from(&mut out, 0);
    out
}

/// Why bytes are not a sequence of parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Malformed {
    /// A zero byte does not begin an escape.
    Escape,
    /// An empty part is not written as `00 00`.
    MissingEmpty,
    /// An empty part at the end is not dropped.
    TrailingEmpty,
}

impl Malformed {
    #[cold]
    pub(crate) fn into_error(self) -> FieldError {
        FieldError::new(match self {
            Self::Escape => "it contains a zero byte that begins no escape of the ordered layout",
            Self::MissingEmpty => "it is empty, but an empty field must be written as `00 00`",
            Self::TrailingEmpty => "it is empty at the end of the key, where empty fields are dropped",
        })
    }
}

/// The part that `rest` begins with, unescaped, and its length in `rest`.
pub(crate) fn take_part(rest: &[u8]) -> Result<(Cow<'_, [u8]>, usize), Malformed> {
    if rest.starts_with(&EMPTY) {
        return match rest.get(2..) {
            Some([]) => Ok((Cow::Borrowed(&[]), 2)),
            Some(after) if after.starts_with(&SEPARATOR) => Ok((Cow::Borrowed(&[]), 2)),
            _ => Err(Malformed::Escape),
        };
    }
    let mut unescaped: Option<Vec<u8>> = None;
    let mut at = 0;
    while let Some(zero) = rest[at..].iter().position(|byte| *byte == 0).map(|zero| at + zero) {
        match rest.get(zero + 1) {
            Some(0xff) => {
                let raw = unescaped.get_or_insert_with(Vec::new);
                raw.extend_from_slice(&rest[at..=zero]);
                at = zero + 2;
            }
            Some(1) => return finish_part(rest, at, zero, unescaped),
            _ => return Err(Malformed::Escape),
        }
    }
    finish_part(rest, at, rest.len(), unescaped)
}

/// The part that ends at `end`; `unescaped` holds what precedes `at`, if it had escapes.
fn finish_part(
    rest: &[u8],
    at: usize,
    end: usize,
    unescaped: Option<Vec<u8>>,
) -> Result<(Cow<'_, [u8]>, usize), Malformed> {
    match unescaped {
        Some(mut raw) => {
            raw.extend_from_slice(&rest[at..end]);
            Ok((Cow::Owned(raw), end))
        }
        None if end == 0 => Err(Malformed::MissingEmpty),
        None => Ok((Cow::Borrowed(&rest[..end]), end)),
    }
}

/// Appends an integer: as many one bits as it has bytes, a zero bit, then the number; all bits are inverted if it is
/// negative.
pub(crate) fn write_int(value: i64, out: &mut Vec<u8>) {
    let (bytes, len) = int_bytes(value);
    out.extend_from_slice(&bytes[..len]);
}

/// The bytes of an integer, and how many of them count.
pub(crate) const fn int_bytes(value: i64) -> ([u8; 16], usize) {
    let magnitude = if value < 0 { !value } else { value }.unsigned_abs();
    let len = int_len(magnitude);
    // 10 bytes hold 63 bits and their header, so the number fits in the last 10 of 16.
    let header = !0_u128 << (128 - len);
    let bits = (magnitude as u128) << (128 - 8 * len) | header;
    let bits = if value < 0 { !bits } else { bits };
    (bits.to_be_bytes(), len)
}

/// The length of a magnitude: the least `n` from 1 to 10 whose `7n - 1` bits hold it.
const fn int_len(magnitude: u64) -> usize {
    let bits = (u64::BITS - magnitude.leading_zeros()) as usize;
    // 64 bits take 10 bytes at most, and no bit takes one.
    (bits + 1).div_ceil(7)
}

/// Reads an integer; `None` for bytes that `write_int` does not write: truncated, too long, or not the shortest form.
pub(crate) fn read_int(bytes: &[u8]) -> Option<i64> {
    let negative = bytes.first()? & 0x80 == 0;
    let len = bytes.len();
    if len > 10 {
        return None;
    }
    let mut buffer = [if negative { 0xff } else { 0 }; 16];
    buffer[..len].copy_from_slice(bytes);
    let bits = u128::from_be_bytes(buffer);
    let bits = if negative { !bits } else { bits };
    if bits.leading_ones() as usize != len {
        return None;
    }
    let header = !0_u128 << (128 - len);
    let magnitude = i64::try_from((bits & !header) >> (128 - 8 * len)).ok()?;
    (int_len(magnitude.unsigned_abs()) == len).then_some(if negative { !magnitude } else { magnitude })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn int(value: i64) -> String {
        let mut out = Vec::new();
        write_int(value, &mut out);
        assert_eq!(read_int(&out), Some(value), "{value}");
        crate::key::Hex(&out).to_string()
    }

    /// Values on both sides of each change of length.
    #[test]
    fn integers() {
        for (value, hex) in [
            (0, "80"),
            (-1, "7f"),
            (63, "bf"),
            (-64, "40"),
            (64, "c040"),
            (-65, "3fbf"),
            (8191, "dfff"),
            (-8192, "2000"),
            (8192, "e02000"),
            (-8193, "1fdfff"),
            (i64::from(i32::MAX), "f87fffffff"),
            (i64::from(i32::MIN), "0780000000"),
            ((1 << 62) - 1, "ffbfffffffffffffff"),
            (-(1 << 62), "004000000000000000"),
            (i64::MAX, "ffc07fffffffffffffff"),
            (i64::MIN, "003f8000000000000000"),
        ] {
            assert_eq!(int(value), hex);
        }
    }

    #[test]
    fn only_the_shortest_form_of_an_integer_is_read() {
        for bytes in [
            &b""[..],
            b"\xc0\x00",
            b"\xc0",
            b"\x80\x00",
            b"\xff\xc0\x80\x00\x00\x00\x00\x00\x00\x00",
            b"\xff\xe0\x80\x00\x00\x00\x00\x00\x00\x00\x00",
            b"\x3f\xff",
        ] {
            assert_eq!(read_int(bytes), None, "{bytes:x?}");
        }
    }

    #[test]
    fn parts() {
        let taken = |rest: &[u8]| take_part(rest).map(|(part, len)| (part.into_owned(), len));
        assert_eq!(taken(b"A"), Ok((b"A".to_vec(), 1)));
        assert_eq!(taken(b"A\x00\x01B"), Ok((b"A".to_vec(), 1)));
        assert_eq!(taken(b"A\x00\xffB"), Ok((b"A\x00B".to_vec(), 4)));
        assert_eq!(taken(b"\x00\xff\x00\xff\x00\x01"), Ok((b"\x00\x00".to_vec(), 4)));
        assert_eq!(taken(b"\x00\x00"), Ok((Vec::new(), 2)));
        assert_eq!(taken(b"\x00\x00\x00\x01A"), Ok((Vec::new(), 2)));
        for broken in
            [&b"A\x00"[..], b"A\x00\x02", b"\x00\x00A", b"\x00\x00\x00\xff", b"A\x00\x00", b"\x00\x02"]
        {
            assert_eq!(taken(broken), Err(Malformed::Escape), "{broken:x?}");
        }
        assert_eq!(taken(b""), Err(Malformed::MissingEmpty));
        assert_eq!(taken(b"\x00\x01A"), Err(Malformed::MissingEmpty));
    }
}
