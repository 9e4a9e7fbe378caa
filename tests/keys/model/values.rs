//! The values of key fields: small alphabets and extremes, and the order of each field.

use std::cmp::Ordering;
use std::fmt::Debug;
use std::marker::PhantomData;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fastrand::Rng;
use keyderive::KeyField;
use keyderive::dynamic::Value;

/// The values of a field and their order, written from the description of the formats, without their code.
pub(crate) trait Domain {
    type Value: Ord + Clone + Debug + Send + Sync + 'static;

    /// A value that a key can hold.
    fn stored(rng: &mut Rng) -> Self::Value;

    /// Any value of the type.
    fn any(rng: &mut Rng) -> Self::Value {
        Self::stored(rng)
    }

    /// Whether a key can hold the value.
    fn holds(_: &Self::Value) -> bool {
        true
    }

    /// The value as a key stores it.
    fn rounded(value: &Self::Value) -> Self::Value {
        value.clone()
    }

    /// The order of the field.
    fn order(one: &Self::Value, other: &Self::Value) -> Ordering {
        one.cmp(other)
    }

    /// Whether a value begins with a prefix, for fields that have prefixes.
    fn begins(_: &Self::Value, _: &Self::Value) -> bool {
        false
    }
}

/// A domain in reverse order.
pub(crate) struct Reversed<D>(PhantomData<D>);

impl<D: Domain> Domain for Reversed<D> {
    type Value = D::Value;

    fn stored(rng: &mut Rng) -> Self::Value {
        D::stored(rng)
    }

    fn any(rng: &mut Rng) -> Self::Value {
        D::any(rng)
    }

    fn holds(value: &Self::Value) -> bool {
        D::holds(value)
    }

    fn rounded(value: &Self::Value) -> Self::Value {
        D::rounded(value)
    }

    fn order(one: &Self::Value, other: &Self::Value) -> Ordering {
        D::order(other, one)
    }
}

fn pick<T: Clone>(rng: &mut Rng, from: &[T]) -> T {
    from[rng.usize(..from.len())].clone()
}

/// Up to three characters, mostly the first few of the alphabet.
fn word(rng: &mut Rng, alphabet: &[char]) -> String {
    let few = if rng.u8(..4) > 0 { alphabet.len().min(3) } else { alphabet.len() };
    let len = rng.usize(..4);
    (0..len).map(|_| pick(rng, &alphabet[..few])).collect()
}

/// Strings without the delimiter: with the bytes right above it, the greatest character, and empty.
pub(crate) struct Delimited<const DELIMITER: u8, const EMPTY: bool = true>;

impl<const DELIMITER: u8, const EMPTY: bool> Domain for Delimited<DELIMITER, EMPTY> {
    type Value = String;

    fn stored(rng: &mut Rng) -> String {
        let next = char::from(DELIMITER + 1);
        let word = word(rng, &['a', 'b', next, '0', '~', 'é', '\u{10ffff}']);
        if EMPTY || !word.is_empty() { word } else { "a".into() }
    }

    fn any(rng: &mut Rng) -> String {
        let next = char::from(DELIMITER + 1);
        word(rng, &['a', char::from(DELIMITER), next, ' ', '!', '\0', '~', '\u{10ffff}'])
    }

    fn holds(value: &String) -> bool {
        value.bytes().all(|byte| byte > DELIMITER) && (EMPTY || !value.is_empty())
    }

    fn begins(value: &String, prefix: &String) -> bool {
        value.starts_with(prefix.as_str())
    }
}

/// Strings of every character.
pub(crate) struct Text;

impl Domain for Text {
    type Value = String;

    fn stored(rng: &mut Rng) -> String {
        word(rng, &['a', '\0', '\u{1}', '\u{2}', '%', '#', '&', ' ', '\u{7f}', '\u{10ffff}'])
    }

    fn begins(value: &String, prefix: &String) -> bool {
        value.starts_with(prefix.as_str())
    }
}

/// Strings padded to `BYTES` bytes with spaces.
pub(crate) struct Padded<const BYTES: usize>;

impl<const BYTES: usize> Domain for Padded<BYTES> {
    type Value = String;

    fn stored(rng: &mut Rng) -> String {
        let word = word(rng, &['a', ' ', '!', '#', '~', 'é']);
        let word = word.trim_end_matches(' ');
        if word.len() <= BYTES { word.into() } else { "a!".into() }
    }

    fn any(rng: &mut Rng) -> String {
        let word = word(rng, &['a', ' ', '!', '\0', '\u{1f}', '\u{10ffff}']);
        if rng.u8(..8) == 0 { word.repeat(3) } else { word }
    }

    fn holds(value: &String) -> bool {
        value.len() <= BYTES && !value.ends_with(' ') && value.bytes().all(|byte| byte >= b' ')
    }

    fn begins(value: &String, prefix: &String) -> bool {
        value.starts_with(prefix.as_str())
    }
}

/// Bytes of any length.
pub(crate) struct Blob;

impl Domain for Blob {
    type Value = Vec<u8>;

    fn stored(rng: &mut Rng) -> Vec<u8> {
        (0..rng.usize(..4)).map(|_| pick(rng, &[0, 1, 2, b'a', 0xfe, 0xff])).collect()
    }

    fn begins(value: &Vec<u8>, prefix: &Vec<u8>) -> bool {
        value.starts_with(prefix)
    }
}

/// Two bytes.
pub(crate) struct Pair;

impl Domain for Pair {
    type Value = [u8; 2];

    fn stored(rng: &mut Rng) -> [u8; 2] {
        [0; 2].map(|_: u8| pick(rng, &[0, 1, 0x7f, 0xff]))
    }
}

/// Characters above `#`.
pub(crate) struct Letter;

impl Domain for Letter {
    type Value = char;

    fn stored(rng: &mut Rng) -> char {
        pick(rng, &['$', 'a', 'b', '\u{7f}', 'é', '\u{10ffff}'])
    }

    fn any(rng: &mut Rng) -> char {
        pick(rng, &['\0', '"', '#', '$', 'a', '\u{d7ff}', '\u{10ffff}'])
    }

    fn holds(value: &char) -> bool {
        *value > '#'
    }
}

pub(crate) struct Bool;

impl Domain for Bool {
    type Value = bool;

    fn stored(rng: &mut Rng) -> bool {
        rng.bool()
    }
}

/// All numbers of a type.
macro_rules! numbers {
    ($($name:ident: $type:ident;)*) => {$(
        pub(crate) struct $name;

        impl Domain for $name {
            type Value = $type;

            fn stored(rng: &mut Rng) -> $type {
                match rng.u8(..8) {
                    0 => $type::MIN,
                    1 => $type::MAX,
                    2 => pick(rng, &[$type::MIN + 1, $type::MAX - 1, 9, 10, 63, 64, 99, 100]),
                    3 => rng.$type(..),
                    // Around 0 for signed ones.
                    _ => (rng.u8(..5) as $type).wrapping_sub(($type::MIN != 0) as $type * 2),
                }
            }
        }
    )*};
}

numbers! {
    U8: u8;
    U16: u16;
    U32: u32;
    U64: u64;
    U128: u128;
    I8: i8;
    I16: i16;
    I32: i32;
    I64: i64;
    I128: i128;
}

/// Numbers from 0 to a maximum below the type's.
macro_rules! numbers_up_to {
    ($($name:ident: $type:ident, $all:ident;)*) => {$(
        pub(crate) struct $name<const MAX: $type>;

        impl<const MAX: $type> Domain for $name<MAX> {
            type Value = $type;

            fn stored(rng: &mut Rng) -> $type {
                match rng.u8(..6) {
                    0 => MAX,
                    1 => MAX - 1,
                    2 => rng.$type(0..=MAX),
                    _ => rng.$type(0..4),
                }
            }

            fn any(rng: &mut Rng) -> $type {
                if rng.u8(..3) == 0 { MAX.saturating_add(1) } else { $all::stored(rng) }
            }

            fn holds(value: &$type) -> bool {
                (0..=MAX).contains(value)
            }
        }
    )*};
}

numbers_up_to! {
    U32UpTo: u32, U32;
    U64UpTo: u64, U64;
    I64UpTo: i64, I64;
}

/// Numbers in the order of their reversed bits.
pub(crate) struct Bits;

impl Domain for Bits {
    type Value = u32;

    fn stored(rng: &mut Rng) -> u32 {
        U32::stored(rng)
    }

    fn order(one: &u32, other: &u32) -> Ordering {
        one.reverse_bits().cmp(&other.reverse_bits())
    }
}

/// Variants are not declared in the order of their codes.
#[derive(KeyField, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Deleted = 200,
    Created = 0,
    Changed = 9,
    Moved = 10,
}

impl Ord for Kind {
    fn cmp(&self, other: &Self) -> Ordering {
        (*self as u8).cmp(&(*other as u8))
    }
}

impl PartialOrd for Kind {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

pub(crate) struct Kinds;

impl Domain for Kinds {
    type Value = Kind;

    fn stored(rng: &mut Rng) -> Kind {
        pick(rng, &[Kind::Created, Kind::Changed, Kind::Moved, Kind::Deleted])
    }
}

/// A time rounded down to a step in nanoseconds, also before 1970.
fn round_down(time: SystemTime, step: u128) -> SystemTime {
    let past = match time.duration_since(UNIX_EPOCH) {
        Ok(since) => since.as_nanos() % step,
        Err(before) => (step - before.duration().as_nanos() % step) % step,
    };
    time - Duration::from_nanos_u128(past)
}

/// Times in milliseconds since 1970, of 13 digits.
pub(crate) struct Millis;

const MILLIS: [u64; 7] = [0, 1, 2, 999, 1_426_535_612_156, 1_426_535_612_157, 9_999_999_999_999];

impl Domain for Millis {
    type Value = SystemTime;

    fn stored(rng: &mut Rng) -> SystemTime {
        UNIX_EPOCH + Duration::from_millis(pick(rng, &MILLIS))
    }

    /// Finer than the stored unit, before 1970, and after the last storable time.
    fn any(rng: &mut Rng) -> SystemTime {
        let time = Self::stored(rng);
        match rng.u8(..4) {
            0 => time + Duration::from_micros(1),
            1 => time - Duration::from_micros(1),
            2 => UNIX_EPOCH - Duration::from_millis(1),
            _ => time,
        }
    }

    fn holds(value: &SystemTime) -> bool {
        value.duration_since(UNIX_EPOCH).is_ok_and(|since| since.as_millis() <= 9_999_999_999_999)
    }

    fn rounded(value: &SystemTime) -> SystemTime {
        round_down(*value, 1_000_000)
    }
}

/// Times in microseconds, before 1970 too: the ordered layout.
pub(crate) struct SignedMicros;

impl Domain for SignedMicros {
    type Value = SystemTime;

    fn stored(rng: &mut Rng) -> SystemTime {
        let distance = Duration::from_micros(pick(rng, &[0, 1, 63, 64, 1_426_535_612_156_000]));
        if rng.bool() { UNIX_EPOCH + distance } else { UNIX_EPOCH - distance }
    }

    fn any(rng: &mut Rng) -> SystemTime {
        let time = Self::stored(rng);
        if rng.bool() { time + Duration::from_nanos(1) } else { time - Duration::from_nanos(1) }
    }

    fn rounded(value: &SystemTime) -> SystemTime {
        round_down(*value, 1_000)
    }
}

/// Dates of four-digit years.
pub(crate) struct Days;

impl Domain for Days {
    type Value = chrono::NaiveDate;

    fn stored(rng: &mut Rng) -> chrono::NaiveDate {
        let (year, month, day) = pick(
            rng,
            &[(1, 1, 1), (2015, 3, 16), (2015, 3, 17), (2015, 12, 31), (2016, 2, 29), (9999, 12, 31)],
        );
        chrono::NaiveDate::from_ymd_opt(year, month, day).unwrap()
    }

    fn any(rng: &mut Rng) -> chrono::NaiveDate {
        pick(rng, &[chrono::NaiveDate::MIN, chrono::NaiveDate::MAX])
    }

    fn holds(value: &chrono::NaiveDate) -> bool {
        (1..=9999).contains(&chrono::Datelike::year(value))
    }
}

/// A value of the model as a layout takes it.
pub(crate) fn from_model<V: AsDynamic>(value: &V) -> Value {
    value.as_dynamic()
}

/// A type of the model whose values can be named at run time.
pub(crate) trait AsDynamic {
    fn as_dynamic(&self) -> Value;
}

macro_rules! as_dynamic {
    ($($type:ty: |$value:ident| $of:expr;)*) => {$(
        impl AsDynamic for $type {
            fn as_dynamic(&self) -> Value {
                let $value = self;
                $of
            }
        }
    )*};
}

as_dynamic! {
    u8: |value| (*value).into();
    u16: |value| (*value).into();
    u32: |value| (*value).into();
    u64: |value| (*value).into();
    u128: |value| (*value).into();
    i8: |value| (*value).into();
    i16: |value| (*value).into();
    i32: |value| (*value).into();
    i64: |value| (*value).into();
    i128: |value| (*value).into();
    bool: |value| (*value).into();
    char: |value| (*value).into();
    String: |value| value.as_str().into();
    Vec<u8>: |value| value.as_slice().into();
    [u8; 2]: |value| value.as_slice().into();
    Kind: |value| format!("{value:?}").into();
    SystemTime: |value| Value::Time(match value.duration_since(UNIX_EPOCH) {
        Ok(since) => since.as_nanos() as i128,
        Err(before) => -(before.duration().as_nanos() as i128),
    });
    chrono::NaiveDate: |value| Value::Date((*value - chrono::NaiveDate::default()).num_days());
}
