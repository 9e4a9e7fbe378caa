//! The codecs: marker types that name the format a field is stored in.
//!
//! | codec | attribute | types | what is written |
//! |---|---|---|---|
//! | [`Text`] | none | unsigned integers | decimal, zero padded to the width of the type's maximum |
//! | [`Text`] | none | signed integers | `0` and the digits, or `-` and the digits of `10^w + v` |
//! | [`Text`] | none | `String`, `&str`, `Cow<str>` | UTF-8, ended by the delimiter |
//! | [`Text`] | none | `#[derive(KeyField)]` enums | the code of the variant, zero padded to the digits of the greatest |
//! | all | | `#[derive(KeyField)]` newtypes | what the inner type writes |
//! | [`Pad`] | `#[pad(n)]` | integers | n digits, zero padded; no sign |
//! | [`Pad`] | `#[pad(n)]` | `String`, `&str`, `Cow<str>` | n bytes of UTF-8, space padded on the right |
//! | [`ReverseTs`] | `#[reverse_ts]`, `#[reverse_ts(max = m)]` | integers | `max - t`, in the digits of max |

mod bytes;
mod code;
mod escape;
mod integer;
mod ordered;
mod reversed;
mod single;
mod string;

pub use bytes::BytesCodec;
pub(crate) use bytes::write_hex;
pub use code::{Code, CodeCodec};
pub use single::BoolCodec;

pub use string::{LentStr, StrCodec};

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
