//! The bytes of one cell, as [the module above](super) lists them.

use super::error::{Excerpt, Fault, Hex};
use crate::key::as_text;

pub(super) fn integer(value: i64) -> [u8; 8] {
    value.to_be_bytes()
}

pub(super) fn unsigned(value: u64) -> Result<[u8; 8], Fault> {
    i64::try_from(value).map(integer).map_err(|_| {
        Fault::unsupported(format_args!(
            "is {value}; an integer column ends at {}: store it as a string or as bytes",
            i64::MAX
        ))
    })
}

pub(super) fn boolean(value: bool) -> [u8; 8] {
    integer(value.into())
}

/// 128 bits, which no column counts in, whether written or read.
pub(super) fn too_wide(name: &str) -> Fault {
    Fault::unsupported(format_args!(
        "is of type `{name}`; an integer column holds 64 bits: store it as a string or as bytes"
    ))
}

/// An integer type and what a column can hold of it.
pub(super) trait Integer: TryFrom<i64> {
    const NAME: &'static str;
    const MIN: i64;
    const MAX: i64;
}

macro_rules! integers {
    ($($type:ident $max:expr;)*) => {$(
        impl Integer for $type {
            const NAME: &'static str = stringify!($type);
            const MIN: i64 = $type::MIN as i64;
            const MAX: i64 = $max as i64;
        }
    )*};
}

integers! {
    i8 i8::MAX; i16 i16::MAX; i32 i32::MAX; i64 i64::MAX;
    u8 u8::MAX; u16 u16::MAX; u32 u32::MAX; u64 i64::MAX;
}

#[inline]
pub(super) fn read_integer<T: Integer>(value: &[u8]) -> Result<T, Fault> {
    let number = read_i64(value, T::NAME)?;
    T::try_from(number).map_err(|_| outside::<T>(number))
}

#[cold]
fn outside<T: Integer>(number: i64) -> Fault {
    let expected = format_args!("`{}` is {} to {}", T::NAME, T::MIN, T::MAX);
    Fault::malformed(format_args!("the integer {number}"), expected)
}

#[inline]
pub(super) fn read_boolean(value: &[u8]) -> Result<bool, Fault> {
    match read_i64(value, "bool")? {
        0 => Ok(false),
        1 => Ok(true),
        number => Err(Fault::malformed(
            format_args!("the integer {number}"),
            "`bool` is stored as the integer 0 or 1",
        )),
    }
}

/// The timestamp of a cell, which is written as an integer.
pub(super) fn read_timestamp(value: &[u8]) -> Result<i64, Fault> {
    let micros = read_i64(value, "i64")?;
    if is_timestamp(micros) {
        return Ok(micros);
    }
    Err(Fault::unsupported(format_args!(
        "has the timestamp {micros}; Bigtable stores whole milliseconds from 0 on, given in microseconds: write {}",
        micros.max(0) / MILLISECOND * MILLISECOND
    )))
}

/// Whether a cell can have this timestamp, in microseconds.
pub(super) fn is_timestamp(micros: i64) -> bool {
    micros >= 0 && micros % MILLISECOND == 0
}

/// A millisecond in microseconds.
const MILLISECOND: i64 = 1000;

#[inline]
fn read_i64(value: &[u8], name: &str) -> Result<i64, Fault> {
    value.try_into().map(i64::from_be_bytes).map_err(|_| not_an_integer(value, name))
}

#[cold]
fn not_an_integer(value: &[u8], name: &str) -> Fault {
    Fault::malformed(Hex(value), format_args!("`{name}` is stored as an integer of 8 bytes, big-endian"))
}

#[inline]
pub(super) fn read_float(value: &[u8]) -> Result<f32, Fault> {
    value.try_into().map(f32::from_be_bytes).map_err(|_| not_a_float(value, "f32", 4))
}

#[inline]
pub(super) fn read_double(value: &[u8]) -> Result<f64, Fault> {
    value.try_into().map(f64::from_be_bytes).map_err(|_| not_a_float(value, "f64", 8))
}

#[cold]
fn not_a_float(value: &[u8], name: &str, bytes: usize) -> Fault {
    Fault::malformed(Hex(value), format_args!("`{name}` is stored as {bytes} bytes, IEEE 754 big-endian"))
}

#[inline]
pub(super) fn read_text(value: &[u8]) -> Result<&str, Fault> {
    as_text(value).ok_or_else(|| not_text(value))
}

#[cold]
fn not_text(value: &[u8]) -> Fault {
    match str::from_utf8(value) {
        Ok(_) => Fault::malformed(Hex(value), "text is stored as UTF-8"),
        Err(error) => Fault::malformed(Hex(value), format_args!("text is stored as UTF-8: {error}")),
    }
}

pub(super) fn read_char(value: &[u8]) -> Result<char, Fault> {
    let text = read_text(value)?;
    let mut chars = text.chars();
    match (chars.next(), chars.next()) {
        (Some(char), None) => Ok(char),
        _ => Err(Fault::malformed(Excerpt(value), "`char` is stored as one character in UTF-8")),
    }
}

pub(super) fn read_unit(value: &[u8]) -> Result<(), Fault> {
    if value.is_empty() { Ok(()) } else { Err(Fault::malformed(Hex(value), "a unit is stored as no bytes")) }
}
