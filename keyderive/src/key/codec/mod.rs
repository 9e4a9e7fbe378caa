//! The codecs: marker types that name the format a field is stored in.
//!
//! | codec | attribute | types | what is written |
//! |---|---|---|---|
//! | [`Text`] | none | unsigned integers | decimal, zero padded to the width of the type's maximum |
//! | [`Text`] | none | signed integers | `0` and the digits, or `-` and the digits of `10^w + v` |
//! | [`Text`] | none | `String`, `&str`, `Cow<str>` | UTF-8, ended by the delimiter |
//! | [`Text`] | none | `#[derive(KeyField)]` enums | the code of the variant, zero padded to the digits of the greatest |
//! | all | | `#[derive(KeyField)]` newtypes | what the inner type writes |
//! | [`Text`] | none | `bool`, `char` | `0` or `1`; UTF-8 |
//! | [`Text`] | none | `Vec<u8>`, `Cow<[u8]>`, `[u8; N]` | lower-case hexadecimal |
//! | [`Ordered`] | `layout = "ordered"` | integers up to 64 bits, `bool`, enums | `OrderedCodeBytes` of the Int64 |
//! | [`Ordered`] | `layout = "ordered"` | text, bytes | as they are |
//! | [`Desc`] | `row_key(desc)` | integers, `bool`, dates, times | the format of `!v`, or the difference from the greatest value of the width |
//! | [`BitReverse`] | `row_key(bit_reverse)` | `u32`, `u64` | the format of the number with its bits reversed |
//! | [`Escape`] | `row_key(escape)` | `String`, `Cow<str>`, `char` | UTF-8, every byte up to `%` as `%XX` |
//! | [`Pad`] | `#[pad(n)]` | integers | n digits, zero padded; no sign |
//! | [`Pad`] | `#[pad(n)]` | `String`, `&str`, `Cow<str>` | n bytes of UTF-8, space padded on the right |
//! | [`ReverseTs`] | `#[reverse_ts]`, `#[reverse_ts(max = m)]` | integers | `max - t`, in the digits of max |
//! | [`Text`] | none | `SystemTime`, and the time types of the features `chrono`, `jiff` and `time` | microseconds since 1970, 16 digits |
//! | [`Ts`] | `row_key(ts(unit = "millis"))` | times | the count of the unit since 1970: [`Secs`] 10 digits, [`Millis`] 13, [`Micros`] 16, [`Nanos`] 19 |
//! | [`DateTime17`] | `row_key(ts(format = "datetime17"))` | times | `YYYYMMDDHHMMSSmmm`, UTC, the years 0001 to 9999 |
//! | [`ReverseTs`] of [`Text`] or [`Ts`] | `#[reverse_ts]` | times | `max - t` of the count, in the digits of max |
//! | [`Text`] | none | the date types of the features `chrono`, `jiff` and `time` | `YYYYMMDD`, the years 0001 to 9999 |
//! | [`Desc`] | `row_key(desc)` | times, dates | what its codec writes, subtracted from the greatest number of those digits |
//! | [`Text`] | none | `Uuid` of the feature `uuid` | hyphenated lower-case hexadecimal, 36 bytes |
//! | [`Simple`] | `row_key(uuid(simple))` | `Uuid` | lower-case hexadecimal, 32 bytes |
//! | [`V4`] | `row_key(uuid(v4))` | `Uuid` | what its codec writes; other versions are errors |
//!
//! # Times
//! A time that is finer than its unit is an error, unless the unit is a [`Floor`], which rounds it down: such a
//! value reads back as the rounded one, and the bounds of a range are compared with the rounded ones. A count is
//! of Unix time, without leap seconds; an instant inside one is an error. An `OffsetDateTime` is stored as the
//! instant that it is, and read back in UTC.

mod bytes;
mod code;
mod escape;
mod integer;
mod list;
mod ordered;
mod reversed;
mod single;
mod string;
mod time;
#[cfg(feature = "uuid")]
mod uuid;

pub use bytes::BytesCodec;
pub(crate) use bytes::write_hex;
pub use code::{Code, CodeCodec};
pub use single::BoolCodec;

pub use string::{LentStr, StrCodec};
pub use time::{DateCodec, Scale, TimeCodec, Unit, UnixCodec};
#[cfg(feature = "uuid")]
pub use uuid::UuidCodec;

use std::marker::PhantomData;

/// The type's own format in the text layout: see the table in [the module](self).
#[derive(Clone, Copy, Debug)]
pub enum Text {}

/// The type's own format in the ordered layout: that of Bigtable's `Struct.OrderedCodeBytes`.
#[derive(Clone, Copy, Debug)]
pub enum Ordered {}

/// `#[pad(N)]`: N digits of an integer, or N bytes of a string.
#[derive(Clone, Copy, Debug)]
pub enum Pad<const N: usize> {}

/// `#[reverse_ts(max = MAX)]`: `MAX - t`, so that the newest comes first, of the number that `C` writes.
#[derive(Clone, Copy, Debug)]
pub struct ReverseTs<const MAX: u64, C = Text>(PhantomData<C>);

/// `#[row_key(desc)]`: greatest first, of what `C` writes.
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

/// `ts(floor)`: a time that is finer than the unit `U` is rounded down to it.
#[derive(Clone, Copy, Debug)]
pub struct Floor<U>(PhantomData<U>);

/// `#[row_key(ts(format = "datetime17"))]`: a time as `YYYYMMDDHHMMSSmmm`, in UTC.
#[derive(Clone, Copy, Debug)]
pub struct DateTime17<U = Millis>(PhantomData<U>);

/// `#[row_key(uuid(simple))]`: a UUID without hyphens.
#[derive(Clone, Copy, Debug)]
pub enum Simple {}

/// `#[row_key(uuid(v4))]`: a random UUID, of version 4, in the format that `C` writes.
#[derive(Clone, Copy, Debug)]
pub struct V4<C = Text>(PhantomData<C>);
