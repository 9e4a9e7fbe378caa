//! Integers, `bool` and floats.

use std::cmp::Ordering;
use std::num::{
    NonZeroI8, NonZeroI16, NonZeroI32, NonZeroI64, NonZeroU8, NonZeroU16, NonZeroU32, NonZeroU64,
};

use super::{Cell, CellError, CellType, CellWriter};

/// A column's integers have 64 bits: `ReadModifyWriteRow` adds to them, and SQL reads them with `TO_INT64`.
macro_rules! integers {
    ($($type:ident $non_zero:ident $max:expr;)*) => {$(
        impl Cell for $type {
            type Owned = Self;
            type Decoded<'r> = Self;
            const TYPE: CellType = CellType::Integer { min: $type::MIN as i64, max: $max as i64 };

            #[inline]
            fn encode(&self, out: &mut CellWriter<'_>) -> Result<(), CellError> {
                match i64::try_from(*self) {
                    Ok(number) => out.write(&number.to_be_bytes()),
                    Err(_) => return Err(too_large(*self as u64)),
                }
                Ok(())
            }

            fn encode_bound(&self, out: &mut CellWriter<'_>) -> Result<Ordering, CellError> {
                match self.encode(out) {
                    Ok(()) => Ok(Ordering::Equal),
                    // Only a `u64` can be too large, and none is too small.
                    Err(_) => i64::MAX.encode(out).map(|()| Ordering::Greater),
                }
            }

            #[inline]
            fn decode(value: &[u8]) -> Result<Self, CellError> {
                let number = read_i64(value, stringify!($type))?;
                Self::try_from(number).map_err(|_| {
                    outside(number, stringify!($type), $type::MIN as i64, $max as i64)
                })
            }
        }

        impl Cell for $non_zero {
            type Owned = Self;
            type Decoded<'r> = Self;
            const TYPE: CellType = CellType::NonZero { min: $type::MIN as i64, max: $max as i64 };

            #[inline]
            fn encode(&self, out: &mut CellWriter<'_>) -> Result<(), CellError> {
                self.get().encode(out)
            }

            fn encode_bound(&self, out: &mut CellWriter<'_>) -> Result<Ordering, CellError> {
                self.get().encode_bound(out)
            }

            #[inline]
            fn decode(value: &[u8]) -> Result<Self, CellError> {
                let number = <$type as Cell>::decode(value)?;
                Self::new(number).ok_or_else(|| {
                    CellError::malformed(concat!("holds the integer 0; `", stringify!($non_zero), "` has no 0"))
                })
            }
        }
    )*};
}

integers! {
    i8 NonZeroI8 i8::MAX; i16 NonZeroI16 i16::MAX; i32 NonZeroI32 i32::MAX; i64 NonZeroI64 i64::MAX;
    u8 NonZeroU8 u8::MAX; u16 NonZeroU16 u16::MAX; u32 NonZeroU32 u32::MAX; u64 NonZeroU64 i64::MAX;
}

#[inline]
fn read_i64(value: &[u8], name: &str) -> Result<i64, CellError> {
    value.try_into().map(i64::from_be_bytes).map_err(|_| {
        CellError::not_these_bytes(
            value,
            format_args!("`{name}` is stored as an integer of 8 bytes, big-endian"),
        )
    })
}

#[cold]
fn outside(number: i64, name: &str, min: i64, max: i64) -> CellError {
    CellError::malformed(format_args!("holds the integer {number}; `{name}` is {min} to {max}"))
}

#[cold]
fn too_large(number: u64) -> CellError {
    CellError::unsupported(format_args!(
        "is {number}; an integer column ends at {}: store it as text or as bytes",
        i64::MAX
    ))
}

impl Cell for bool {
    type Owned = Self;
    type Decoded<'r> = Self;
    const TYPE: CellType = CellType::Bool;

    fn encode(&self, out: &mut CellWriter<'_>) -> Result<(), CellError> {
        i64::from(*self).encode(out)
    }

    fn decode(value: &[u8]) -> Result<Self, CellError> {
        match read_i64(value, "bool")? {
            0 => Ok(false),
            1 => Ok(true),
            number => Err(CellError::malformed(format_args!(
                "holds the integer {number}; `bool` is stored as the integer 0 or 1"
            ))),
        }
    }
}

macro_rules! floats {
    ($($type:ident $cell:ident $bytes:literal;)*) => {$(
        impl Cell for $type {
            type Owned = Self;
            type Decoded<'r> = Self;
            const TYPE: CellType = CellType::$cell;

            #[inline]
            fn encode(&self, out: &mut CellWriter<'_>) -> Result<(), CellError> {
                out.write(&self.to_be_bytes());
                Ok(())
            }

            #[inline]
            fn decode(value: &[u8]) -> Result<Self, CellError> {
                value.try_into().map(Self::from_be_bytes).map_err(|_| {
                    let expected = concat!(
                        "`", stringify!($type), "` is stored as ", $bytes, " bytes, IEEE 754 big-endian"
                    );
                    CellError::not_these_bytes(value, expected)
                })
            }
        }
    )*};
}

floats! { f32 F32 4; f64 F64 8; }
