//! The codecs: marker types that name the format a field is stored in.
//!
//! | codec | attribute | types | what is written |
//! |---|---|---|---|
//! | [`Text`] | none | unsigned integers | decimal, zero padded to the width of the type's maximum |
//! | [`Text`] | none | signed integers | `0` and the digits, or `-` and the digits of `10^w + v` |
//! | [`Text`] | none | `String`, `&str`, `Cow<str>` | UTF-8, ended by the delimiter |
//! | [`Pad`] | `#[pad(n)]` | integers | n digits, zero padded; no sign |
//! | [`Pad`] | `#[pad(n)]` | `String`, `&str`, `Cow<str>` | n bytes of UTF-8, space padded on the right |
//! | [`ReverseTs`] | `#[reverse_ts]`, `#[reverse_ts(max = m)]` | integers | `max - t`, in the digits of max |

mod integer;
mod string;

/// The type's own format: see the table in [the module](self).
#[derive(Clone, Copy, Debug)]
pub enum Text {}

/// `#[pad(N)]`: N digits of an integer, or N bytes of a string.
#[derive(Clone, Copy, Debug)]
pub enum Pad<const N: usize> {}

/// `#[reverse_ts(max = MAX)]`: `MAX - t`, so that the newest comes first.
#[derive(Clone, Copy, Debug)]
pub enum ReverseTs<const MAX: u64> {}
