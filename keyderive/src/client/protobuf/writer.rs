//! Fields of protobuf messages, written one after the other. They have one of the first 15 numbers.

use super::reader::{LENGTH, VARINT};

/// Writes the number and the length of a field of so many bytes, which come next.
#[inline]
pub(in crate::client) fn begin(field: u8, len: usize, out: &mut Vec<u8>) {
    out.push(field << 3 | LENGTH);
    varint(len as u64, out);
}

/// Writes a field of bytes.
#[inline]
pub(in crate::client) fn bytes(field: u8, bytes: &[u8], out: &mut Vec<u8>) {
    begin(field, bytes.len(), out);
    out.extend_from_slice(bytes);
}

/// What a field of so many bytes takes.
#[inline]
pub(in crate::client) fn bytes_len(len: usize) -> usize {
    1 + varint_len(len as u64) + len
}

/// Writes a field of type `int64`.
#[inline]
pub(in crate::client) fn int(field: u8, value: i64, out: &mut Vec<u8>) {
    out.push(field << 3 | VARINT);
    varint(value.cast_unsigned(), out);
}

/// What a field of type `int64` takes.
#[inline]
pub(in crate::client) fn int_len(value: i64) -> usize {
    1 + varint_len(value.cast_unsigned())
}

/// Writes a number, seven bits in each byte, the lowest first.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "a byte takes the lowest bits alone")]
fn varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

#[inline]
fn varint_len(value: u64) -> usize {
    (70 - (value | 1).leading_zeros() as usize) / 7
}
