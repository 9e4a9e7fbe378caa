//! Integers, `bool` and floats.

use std::cmp::Ordering;
use std::fmt::Display;
use std::num::{
    NonZeroI8, NonZeroI16, NonZeroI32, NonZeroI64, NonZeroU8, NonZeroU16, NonZeroU32, NonZeroU64,
};

use super::{Cell, CellError, CellType, CellWriter};

/// A column's integers have 64 bits: `ReadModifyWriteRow` adds to them, and SQL reads them with `TO_INT64`.
macro_rules! integers {
    ($($type:ident $non_zero:ident $max:expr;)*) => {
        /// The names of the types with these bounds, with 0 and without it.
        pub(super) fn names_of(min: i64, max: i64) -> [&'static str; 2] {
            $(if min == $type::MIN as i64 && max == $max as i64 {
                return [stringify!($type), stringify!($non_zero)];
            })*
            // A type whose `Cell` is written by hand.
            ["integer", "integer"]
        }

        $(integers!(@ $type $non_zero $max);)*
    };
    (@ $type:ident $non_zero:ident $max:expr) => {
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
                // It is within the bounds of the type.
                read_integer(value, stringify!($type), $type::MIN as i64, $max as i64).map(|number| number as Self)
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
                Self::new(number).ok_or_else(|| is_zero(stringify!($non_zero)))
            }
        }
    };
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

/// An integer of the type of this name, which has these bounds.
#[inline]
pub(super) fn read_integer(value: &[u8], name: &str, min: i64, max: i64) -> Result<i64, CellError> {
    let number = read_i64(value, name)?;
    if (min..=max).contains(&number) { Ok(number) } else { Err(outside(number, name, min, max)) }
}

/// An integer of the type with these bounds.
#[inline]
pub(super) fn read_integer_between(value: &[u8], min: i64, max: i64) -> Result<i64, CellError> {
    match read_integer(value, "", min, max) {
        Ok(number) => Ok(number),
        // The name is looked for only where it is needed.
        Err(_) => read_integer(value, names_of(min, max)[0], min, max),
    }
}

#[cold]
pub(super) fn is_zero(name: &str) -> CellError {
    CellError::malformed(format_args!("holds the integer 0; `{name}` has no 0"))
}

#[cold]
fn outside(number: i64, name: &str, min: i64, max: i64) -> CellError {
    CellError::malformed(format_args!("holds the integer {number}; `{name}` is {min} to {max}"))
}

#[cold]
pub(super) fn too_large(number: impl Display) -> CellError {
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
