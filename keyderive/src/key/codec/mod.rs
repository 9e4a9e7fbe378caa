//! The codecs: marker types that name the format a field is stored in.
//!
//! The derive picks one for each field, by its attributes and the key's layout. The page of the key format, which
//! follows, has the bytes of each codec for each type.
//!
#![doc = include_str!("../../../FORMAT.md")]

/// The items of [`KeyField`](crate::KeyField) for a `Copy` type that is its own argument and has no lifetime.
macro_rules! by_value {
    ($values:expr) => {
        type Arg<'a> = Self;
        type Decoded<'a> = Self;
        const VALUES: FieldValues = $values;

        #[inline]
        fn arg(&self) -> Self {
            *self
        }
    };
}

mod bytes;
mod code;
mod erased;
mod integer;
mod list;
mod string;
mod time;
mod uuid;

#[doc(hidden)]
pub use bytes::BytesCodec;
pub(crate) use bytes::{read_hex, write_hex};
#[doc(hidden)]
pub use code::{BoolCodec, Code, CodeCodec};
pub(crate) use erased::{ErasedCodec, ErasedPart, ReadValue};
pub(crate) use string::ESCAPED;
#[doc(hidden)]
pub use string::{BorrowStr, StrCodec};
pub(crate) use time::{DAY, calendar_day, write_utc};
#[doc(hidden)]
pub use time::{DateCodec, Scale, TimeCodec, Unit, UnixCodec, UnixTime};
pub(crate) use time::{parse_date, parse_utc};
pub(crate) use uuid::ShownUuid;
#[cfg(feature = "uuid")]
#[doc(hidden)]
pub use uuid::UuidCodec;

use std::marker::PhantomData;

/// The type's own format in the text layout: see the table in [the module](self).
#[derive(Clone, Copy, Debug)]
pub enum Text {}

/// The type's own format in the ordered layout, as in Bigtable's `Struct.OrderedCodeBytes`.
#[derive(Clone, Copy, Debug)]
pub enum Ordered {}

/// `#[pad(N)]`: N digits of an integer, or N bytes of a string.
#[derive(Clone, Copy, Debug)]
pub enum Pad<const N: usize> {}

/// `#[reverse_ts(max = MAX)]`: `MAX - t` in place of the number `t` that `C` writes, so that the newest comes first.
#[derive(Clone, Copy, Debug)]
pub struct ReverseTs<const MAX: u64, C = Text>(PhantomData<C>);

/// `#[row_key(desc)]`: what `C` writes, the greatest first.
#[derive(Clone, Copy, Debug)]
pub struct Desc<C = Text>(PhantomData<C>);

/// `#[row_key(bit_reverse)]`: the bits of a sequential number in reverse, which spreads it over the key space.
#[derive(Clone, Copy, Debug)]
pub struct BitReverse<C = Text>(PhantomData<C>);

/// `#[row_key(escape)]`: any string in a delimited field, with every byte up to `%` written `%XX`.
#[derive(Clone, Copy, Debug)]
pub enum Escape {}

/// `#[row_key(ts(unit = "millis"))]`: a time as the count of the unit `U` since 1970.
#[derive(Clone, Copy, Debug)]
pub struct Ts<U, C = Text>(PhantomData<(U, C)>);

/// `unit = "secs"`: 10 digits in text.
#[derive(Clone, Copy, Debug)]
pub enum Secs {}

/// `unit = "millis"`: 13 digits in text.
#[derive(Clone, Copy, Debug)]
pub enum Millis {}

/// `unit = "micros"`, and the unit of a time without attributes: 16 digits in text.
#[derive(Clone, Copy, Debug)]
pub enum Micros {}

/// `unit = "nanos"`: 19 digits in text.
#[derive(Clone, Copy, Debug)]
pub enum Nanos {}

/// `ts(exact)`: rejects a time that is finer than the unit `U`, instead of rounding it down.
#[derive(Clone, Copy, Debug)]
pub struct Exact<U>(PhantomData<U>);

/// `#[row_key(ts(format = "datetime17"))]`: a time as `YYYYMMDDHHMMSSmmm`, in UTC.
#[derive(Clone, Copy, Debug)]
pub struct DateTime17<U = Millis>(PhantomData<U>);

/// `#[row_key(uuid(simple))]`: a UUID without hyphens.
#[derive(Clone, Copy, Debug)]
pub enum Simple {}

/// `#[row_key(uuid(v4))]`: a random UUID, of version 4, in the format that `C` writes.
#[derive(Clone, Copy, Debug)]
pub struct V4<C = Text>(PhantomData<C>);
