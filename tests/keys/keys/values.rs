//! The values of key fields: small alphabets and extremes, the order of each field, and what a key holds of them.

use std::cmp::Ordering;
use std::fmt::Debug;
use std::marker::PhantomData;
use std::time::SystemTime;

use fastrand::Rng;
use keyderive::KeyField;
use keyderive::dynamic::Value;

use super::instants::Instant;

/// The values of a field and their order, written from the description of the formats, without their code.
pub(crate) trait Domain {
    type Value: Ord + Clone + Debug + Send + Sync + 'static;

    /// A value that a key can hold.
    fn stored(rng: &mut Rng) -> Self::Value;

    /// Any value of the type.
    fn any(rng: &mut Rng) -> Self::Value {
        Self::stored(rng)
    }

    /// Any value of the type, also one that is longer than a key.
    fn nasty(rng: &mut Rng) -> Self::Value {
        Self::any(rng)
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

    fn nasty(rng: &mut Rng) -> Self::Value {
        D::nasty(rng)
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

/// The values of a domain, half of which lie around a bound.
pub(crate) struct Near<D, const BOUND: i64>(PhantomData<D>);

impl<D: Domain, const BOUND: i64> Domain for Near<D, BOUND>
where
    D::Value: TryFrom<i64>,
{
    type Value = D::Value;

    fn stored(rng: &mut Rng) -> Self::Value {
        let near = rng.bool().then(|| D::Value::try_from(BOUND + rng.i64(-2..=2)).ok()).flatten();
        near.unwrap_or_else(|| D::stored(rng))
    }

    fn any(rng: &mut Rng) -> Self::Value {
        D::any(rng)
    }

    fn holds(value: &Self::Value) -> bool {
        D::holds(value)
    }
}

/// A newtype around the values of a domain.
pub(crate) struct Wrapped<T, D>(PhantomData<(T, D)>);

impl<T: Newtype<Inner = D::Value>, D: Domain> Domain for Wrapped<T, D> {
    type Value = T;

    fn stored(rng: &mut Rng) -> T {
        T::of(D::stored(rng))
    }

    fn any(rng: &mut Rng) -> T {
        T::of(D::any(rng))
    }

    fn nasty(rng: &mut Rng) -> T {
        T::of(D::nasty(rng))
    }

    fn holds(value: &T) -> bool {
        D::holds(value.inner())
    }

    fn order(one: &T, other: &T) -> Ordering {
        D::order(one.inner(), other.inner())
    }

    fn begins(value: &T, prefix: &T) -> bool {
        D::begins(value.inner(), prefix.inner())
    }
}

pub(crate) trait Newtype: Ord + Clone + Debug + Send + Sync + 'static {
    type Inner;

    fn of(inner: Self::Inner) -> Self;

    fn inner(&self) -> &Self::Inner;
}

macro_rules! newtypes {
    ($($(#[$doc:meta])* $name:ident($inner:ty), $value:ident of $of:expr, |$outer:ident| $at:expr => $innermost:ty;)*) => {$(
        $(#[$doc])*
        #[derive(KeyField, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub(crate) struct $name(pub(crate) $inner);

        impl Newtype for $name {
            type Inner = $innermost;

            fn of($value: $innermost) -> Self {
                $of
            }

            fn inner(&self) -> &$innermost {
                let $outer = self;
                $at
            }
        }
    )*};
}

newtypes! {
    UserId(String), id of Self(id), |outer| &outer.0 => String;
    Millis(u64), millis of Self(millis), |outer| &outer.0 => u64;
    /// A newtype of a newtype.
    Deadline(Millis), millis of Self(Millis(millis)), |outer| &outer.0.0 => u64;
}

fn pick<T: Clone>(rng: &mut Rng, from: &[T]) -> T {
    from[rng.usize(..from.len())].clone()
}

/// Up to three characters, mostly the first few of the alphabet; seldom up to 40, which is longer than what is searched at once.
fn word(rng: &mut Rng, alphabet: &[char]) -> String {
    let few = if rng.u8(..4) > 0 { alphabet.len().min(3) } else { alphabet.len() };
    let len = if rng.u8(..16) == 0 { rng.usize(..=40) } else { rng.usize(..4) };
    (0..len).map(|_| pick(rng, &alphabet[..few])).collect()
}

/// A word, or one that is longer than a key.
fn nasty_word(rng: &mut Rng, word: impl FnOnce(&mut Rng) -> String) -> String {
    if rng.u8(..8) == 0 { "a".repeat(5000) } else { word(rng) }
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
        word(rng, &['a', char::from(DELIMITER), next, ' ', '!', '"', '\0', '\n', 'é', '~', '\u{10ffff}'])
    }

    fn nasty(rng: &mut Rng) -> String {
        nasty_word(rng, Self::any)
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
        word(rng, &['a', '\0', '\u{1}', '\u{2}', '%', '#', '$', '-', '&', ' ', '\u{7f}', 'é', '\u{10ffff}'])
    }

    fn nasty(rng: &mut Rng) -> String {
        nasty_word(rng, Self::any)
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
        let mut word = word(rng, &['a', ' ', '!', '#', '~', 'é']);
        // Some fill the field.
        if rng.u8(..8) == 0 {
            word.extend(std::iter::repeat_n('b', BYTES.saturating_sub(word.len())));
        }
        while word.len() > BYTES || word.ends_with(' ') {
            word.pop();
        }
        word
    }

    fn any(rng: &mut Rng) -> String {
        // A bound often lies right after a value that a key holds.
        if rng.bool() {
            let mut word = Self::stored(rng);
            word.push(pick(rng, &[' ', '!', '\0', '\u{1f}']));
            return word;
        }
        let word = word(rng, &['a', ' ', '!', '\0', '\u{1f}', '\u{10ffff}']);
        if rng.u8(..8) == 0 { word.repeat(3) } else { word }
    }

    fn nasty(rng: &mut Rng) -> String {
        nasty_word(rng, Self::any)
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
        (0..rng.usize(..4))
            .map(|_| if rng.u8(..4) == 0 { rng.u8(..) } else { pick(rng, &[0, 1, 2, b'a', 0xfe, 0xff]) })
            .collect()
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
        [0; 2].map(|_: u8| if rng.u8(..4) == 0 { rng.u8(..) } else { pick(rng, &[0, 1, 0x7f, 0xff]) })
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
        if rng.bool() {
            rng.char(..)
        } else {
            pick(rng, &['\0', '"', '#', '$', 'a', '\u{d7ff}', '\u{10ffff}'])
        }
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
                    _ => rng.$type(0..6),
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
    U8UpTo: u8, U8;
    U16UpTo: u16, U16;
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
    Deleted = 20,
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

/// Times in steps of so many nanoseconds, from the least to the most steps since 1970.
pub(crate) struct Times<T, const STEP: i64, const LEAST: i64, const MOST: i64>(PhantomData<T>);

/// Since 1970, around the bounds of the key types with several salts, and far away.
const SECONDS: [i64; 7] = [0, 2, 1_426_535_611, 1_426_535_612, 1_426_535_614, 1_796_083_200, 4_000_000_000];

impl<T: Instant, const STEP: i64, const LEAST: i64, const MOST: i64> Domain for Times<T, STEP, LEAST, MOST> {
    type Value = T;

    fn stored(rng: &mut Rng) -> T {
        let steps = match rng.u8(..10) {
            0 => LEAST,
            1 => MOST,
            2 | 3 => rng.i64(0..6),
            4 => rng.i64(-65..64),
            _ => pick(rng, &SECONDS) * (1_000_000_000 / STEP) + rng.i64(-1..=1),
        };
        let steps = steps.clamp(LEAST, MOST);
        T::of(i128::from(steps) * i128::from(STEP)).unwrap_or_else(|| T::of(0).unwrap())
    }

    /// Finer than the unit, before the first and after the last storable time, and any other.
    fn any(rng: &mut Rng) -> T {
        let at = Self::stored(rng).nanos();
        let nanos = match rng.u8(..8) {
            0 => at + 1,
            1 => at - 1,
            2 => (i128::from(LEAST) - 1) * i128::from(STEP),
            3 => (i128::from(MOST) + 1) * i128::from(STEP),
            4 => rng.i64(-5_000_000..5_000_000).into(),
            5 => rng.i64(..).into(),
            _ => at,
        };
        T::of(nanos).unwrap_or_else(|| Self::stored(rng))
    }

    fn holds(value: &T) -> bool {
        (i128::from(LEAST)..=MOST.into()).contains(&value.nanos().div_euclid(STEP.into()))
    }

    fn rounded(value: &T) -> T {
        T::of(value.nanos().div_euclid(STEP.into()) * i128::from(STEP)).unwrap()
    }
}

/// Random UUIDs, of version 4.
pub(crate) struct RandomUuids;

impl Domain for RandomUuids {
    type Value = uuid::Uuid;

    fn stored(rng: &mut Rng) -> uuid::Uuid {
        let bits = if rng.bool() { rng.u128(..5) } else { rng.u128(..) };
        uuid::Builder::from_random_bytes(bits.to_be_bytes()).into_uuid()
    }

    fn any(rng: &mut Rng) -> uuid::Uuid {
        if rng.bool() { Self::stored(rng) } else { uuid::Uuid::from_u128(rng.u128(..)) }
    }

    fn holds(value: &uuid::Uuid) -> bool {
        value.get_version_num() == 4 && value.get_variant() == uuid::Variant::RFC4122
    }
}

/// Dates of four-digit years.
pub(crate) struct Days;

impl Domain for Days {
    type Value = chrono::NaiveDate;

    fn stored(rng: &mut Rng) -> chrono::NaiveDate {
        let (year, month, day) = pick(
            rng,
            &[
                (1, 1, 1),
                (1, 1, 2),
                (1, 1, 3),
                (2015, 3, 16),
                (2015, 3, 17),
                (2015, 3, 19),
                (2015, 3, 20),
                (2015, 12, 31),
                (2016, 2, 29),
                (9999, 12, 31),
            ],
        );
        chrono::NaiveDate::from_ymd_opt(year, month, day).unwrap()
    }

    fn any(rng: &mut Rng) -> chrono::NaiveDate {
        match rng.u8(..3) {
            0 => pick(rng, &[chrono::NaiveDate::MIN, chrono::NaiveDate::MAX]),
            1 => chrono::NaiveDate::from_num_days_from_ce_opt(rng.i32(-1_000..4_000_000)).unwrap(),
            _ => Self::stored(rng),
        }
    }

    fn holds(value: &chrono::NaiveDate) -> bool {
        (1..=9999).contains(&chrono::Datelike::year(value))
    }
}

/// A value as a layout by data takes it.
pub(crate) fn from_model<V: AsDynamic>(value: &V) -> Value {
    value.as_dynamic()
}

/// A type whose values can be named at run time.
pub(crate) trait AsDynamic {
    fn as_dynamic(&self) -> Value;
}

macro_rules! as_dynamic {
    ($($($type:ty),*: |$value:ident| $of:expr;)*) => {$($(
        impl AsDynamic for $type {
            fn as_dynamic(&self) -> Value {
                let $value = self;
                $of
            }
        }
    )*)*};
}

as_dynamic! {
    u8, u16, u32, u64, u128, i8, i16, i32, i64, i128, bool, char: |value| (*value).into();
    String: |value| value.as_str().into();
    Vec<u8>, [u8; 2]: |value| value.as_slice().into();
    Kind: |value| format!("{value:?}").into();
    SystemTime, jiff::Timestamp, time::OffsetDateTime: |value| Value::Time(value.nanos());
    uuid::Uuid: |value| Value::Uuid(value.as_u128());
    UserId: |value| value.0.as_str().into();
    Deadline: |value| value.0.0.into();
    chrono::NaiveDate: |value| Value::Date((*value - chrono::NaiveDate::default()).num_days());
}
