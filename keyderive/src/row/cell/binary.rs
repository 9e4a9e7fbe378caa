//! Bytes, the value without bytes, and pointers.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::sync::Arc;

use bytes::Bytes;

use super::{Cell, CellError, CellType, CellWriter, OwnedCell};

macro_rules! bytes {
    ($($type:ty, $owned:ty, $decoded:ty, $read:expr;)*) => {$(
        impl Cell for $type {
            type Owned = $owned;
            type Decoded<'r> = $decoded;
            const TYPE: CellType = CellType::Bytes;

            #[inline]
            fn encode(&self, out: &mut CellWriter<'_>) -> Result<(), CellError> {
                out.write(self);
                Ok(())
            }

            #[inline]
            fn decode(value: &[u8]) -> Result<Self::Decoded<'_>, CellError> {
                Ok($read(value))
            }
        }
    )*};
}

bytes! {
    Vec<u8>, Vec<u8>, Vec<u8>, <[u8]>::to_vec;
    &[u8], Vec<u8>, &'r [u8], std::convert::identity;
    Cow<'_, [u8]>, Vec<u8>, Cow<'r, [u8]>, Cow::Borrowed;
    Bytes, Bytes, Bytes, Bytes::copy_from_slice;
}

impl<const N: usize> Cell for [u8; N] {
    type Owned = Self;
    type Decoded<'r> = Self;
    const TYPE: CellType = CellType::Array(N);

    fn encode(&self, out: &mut CellWriter<'_>) -> Result<(), CellError> {
        out.write(self);
        Ok(())
    }

    fn decode(value: &[u8]) -> Result<Self, CellError> {
        value.try_into().map_err(|_| not_of_length(value, N))
    }
}

#[cold]
pub(super) fn not_of_length(value: &[u8], length: usize) -> CellError {
    CellError::not_these_bytes(value, format_args!("the array has {length}"))
}

impl Cell for () {
    type Owned = Self;
    type Decoded<'r> = Self;
    const TYPE: CellType = CellType::Unit;

    fn encode(&self, _: &mut CellWriter<'_>) -> Result<(), CellError> {
        Ok(())
    }

    fn decode(value: &[u8]) -> Result<Self, CellError> {
        if value.is_empty() {
            return Ok(());
        }
        Err(CellError::not_these_bytes(value, "a unit is stored as no bytes"))
    }
}

/// Stored as what they point to.
macro_rules! pointers {
    ($($pointer:ident)*) => {$(
        impl<C: OwnedCell> Cell for $pointer<C> {
            type Owned = Self;
            type Decoded<'r> = Self;
            const TYPE: CellType = C::TYPE;

            fn encode(&self, out: &mut CellWriter<'_>) -> Result<(), CellError> {
                C::encode(self, out)
            }

            fn encode_bound(&self, out: &mut CellWriter<'_>) -> Result<Ordering, CellError> {
                C::encode_bound(self, out)
            }

            fn decode(value: &[u8]) -> Result<Self, CellError> {
                C::decode(value).map($pointer::new)
            }
        }
    )*};
}

pointers! { Box Arc }
