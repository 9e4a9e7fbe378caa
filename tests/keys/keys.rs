//! The key types that the laws are tested on, and values for them: ordinary, extreme and nasty.

use std::fmt::Debug;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use keyderive::RowKey;
use keyderive::key::OwnedRowKey;
use keyderive_tests::amount;
use proptest::prelude::*;
use proptest::string::string_regex;

/// The key of the README's example: a salt first, then delimited strings, a reversed and a padded number.
#[derive(RowKey, Clone, Debug, PartialEq)]
#[salt(range = 4, over = "user_id,site")]
pub(crate) struct Event {
    pub(crate) user_id: String,
    pub(crate) site: String,
    #[reverse_ts]
    pub(crate) at: u64,
    #[pad(6)]
    pub(crate) seq: u32,
}

/// Strings only, unsalted: fields that are prefixes of one another.
#[derive(RowKey, Clone, Debug, PartialEq)]
pub(crate) struct Names {
    pub(crate) first: String,
    pub(crate) second: String,
    pub(crate) third: String,
}

/// Every integer type in its own format.
#[derive(RowKey, Clone, Debug, PartialEq)]
#[row_key(delimiter = '!')]
pub(crate) struct Integers {
    pub(crate) a: u8,
    pub(crate) b: u16,
    pub(crate) c: u32,
    pub(crate) d: u64,
    pub(crate) e: u128,
    pub(crate) f: i8,
    pub(crate) g: i16,
    pub(crate) h: i32,
    pub(crate) i: i64,
    pub(crate) j: i128,
}

/// A tag; a salt of two digits over fields that are not contiguous.
#[derive(RowKey, Clone, Debug, PartialEq)]
#[row_key(tag = "BATTERY", delimiter = '-')]
#[salt(range = 20, over(at, user))]
pub(crate) struct Battery {
    pub(crate) user: String,
    pub(crate) level: i16,
    #[reverse_ts(max = 9999999999999)]
    pub(crate) at: i64,
}

/// Padded strings and integers: a market's quotes.
#[derive(RowKey, Clone, Debug, PartialEq)]
#[salt(range = 10)]
pub(crate) struct Quote {
    #[pad(6)]
    pub(crate) exchange: String,
    #[pad(5)]
    pub(crate) symbol: String,
    #[pad(13)]
    pub(crate) at: i64,
}

/// The key of Google's salting sample: Java's hash with negative buckets, before the tag.
#[derive(RowKey, Clone, Debug, PartialEq)]
#[row_key(tag = "phone")]
#[salt(range = 4, sep = "-", hash = "java")]
pub(crate) struct Phone {
    pub(crate) device: String,
    #[pad(8)]
    pub(crate) date: u32,
}

/// A salt of two digits before a tag, with a separator of two bytes.
#[derive(RowKey, Clone, Debug, PartialEq)]
#[row_key(tag = "VISIT")]
#[salt(range = 12, sep = "::", over = "page", position = "front")]
pub(crate) struct PageView {
    pub(crate) user: String,
    pub(crate) page: String,
}

/// A salt after two fields, over fields on both sides of it.
#[derive(RowKey, Clone, Debug, PartialEq)]
#[row_key(tag = "TRADE", delimiter = '-')]
#[salt(range = 3, over = "symbol,at", after = "symbol", sep = "/")]
pub(crate) struct Trade {
    #[pad(2)]
    pub(crate) exchange: u8,
    pub(crate) symbol: String,
    #[reverse_ts(max = 99)]
    pub(crate) at: u64,
    pub(crate) id: String,
}

/// A single delimited string, so that the key itself can be empty.
#[derive(RowKey, Clone, Debug, PartialEq)]
pub(crate) struct Name {
    pub(crate) name: String,
}

/// Every field order of the text layout, and the small types.
#[derive(RowKey, Clone, Debug, PartialEq)]
pub(crate) struct Orders {
    #[row_key(desc)]
    pub(crate) a: u8,
    #[row_key(desc)]
    pub(crate) b: i64,
    #[row_key(desc)]
    #[pad(3)]
    pub(crate) c: u32,
    pub(crate) d: bool,
    #[row_key(desc)]
    pub(crate) e: bool,
    #[row_key(desc)]
    pub(crate) f: i128,
    #[row_key(bit_reverse)]
    pub(crate) g: u32,
}

/// Text and bytes that a delimited field cannot hold unchanged.
#[derive(RowKey, Clone, Debug, PartialEq)]
pub(crate) struct Escaped {
    #[row_key(escape)]
    pub(crate) name: String,
    pub(crate) blob: Vec<u8>,
    pub(crate) letter: char,
    pub(crate) pair: [u8; 2],
    #[row_key(escape)]
    pub(crate) note: String,
}

/// The ordered layout, with a salt of one byte or two, and with numbers between strings that can be empty.
#[derive(RowKey, Clone, Debug, PartialEq)]
#[row_key(layout = "ordered")]
#[salt(range = 70, over(user, note))]
pub(crate) struct OrderedEvent {
    pub(crate) user: String,
    #[reverse_ts]
    pub(crate) at: i64,
    #[row_key(desc)]
    pub(crate) rank: u16,
    pub(crate) blob: Vec<u8>,
    pub(crate) note: String,
}

/// The ordered layout of strings only, after a tag.
#[derive(RowKey, Clone, Debug, PartialEq)]
#[row_key(layout = "ordered", tag = "N#")]
pub(crate) struct OrderedNames {
    pub(crate) first: String,
    pub(crate) second: String,
    pub(crate) third: String,
}

/// The ordered layout of strings and numbers, without tag and salt.
#[derive(RowKey, Clone, Debug, PartialEq)]
#[row_key(layout = "ordered")]
pub(crate) struct OrderedMix {
    pub(crate) name: String,
    pub(crate) count: i32,
    #[row_key(desc)]
    pub(crate) flag: bool,
    pub(crate) id: u64,
    pub(crate) last: String,
}

/// Dates, UUIDs, and times in every format, of every supported crate.
#[derive(RowKey, Clone, Debug, PartialEq)]
#[salt(range = 4, over = "id")]
pub(crate) struct Visit {
    pub(crate) day: chrono::NaiveDate,
    #[row_key(uuid(simple, v4))]
    pub(crate) id: uuid::Uuid,
    #[reverse_ts]
    #[row_key(ts(unit = "millis"))]
    pub(crate) begin: SystemTime,
    #[row_key(ts(format = "datetime17"))]
    pub(crate) end: jiff::Timestamp,
    #[row_key(ts(unit = "secs"))]
    pub(crate) stored: time::OffsetDateTime,
}

/// Salts from a date on: keys without one, of one digit and of two.
#[derive(RowKey, Clone, Debug, PartialEq)]
#[salt(range = 4, over = "user_id", sep = "!", since(at = "2015-03-16T19:53:31Z"))]
#[salt(range = 16, over(user_id, seq), sep = "!", since(at = "2015-03-16T19:53:34Z"))]
pub(crate) struct Grown {
    pub(crate) user_id: String,
    pub(crate) site: String,
    #[reverse_ts]
    pub(crate) at: SystemTime,
    #[pad(4)]
    pub(crate) seq: u16,
}

/// Salts of one digit and of three since dates, after one of one digit.
#[derive(RowKey, Clone, Debug, PartialEq)]
#[salt(range = 4, over = "host")]
#[salt(range = 8, over = "host", since(day = "0001-01-03"))]
#[salt(range = 101, over(host, rack), since(day = "2015-03-20"))]
pub(crate) struct Resalted {
    pub(crate) host: String,
    pub(crate) day: chrono::NaiveDate,
    pub(crate) rack: u8,
}

/// A salt before a tag since a number, a reversed one.
#[derive(RowKey, Clone, Debug, PartialEq)]
#[row_key(tag = "GROWN", delimiter = '-')]
#[salt(range = 12, over = "level", sep = "!!", position = "front", since(at = 3))]
pub(crate) struct GrownFront {
    pub(crate) user: String,
    pub(crate) level: i16,
    #[reverse_ts(max = 99)]
    pub(crate) at: i64,
}

/// Salts after two fields, over fields on both sides of them.
#[derive(RowKey, Clone, Debug, PartialEq)]
#[row_key(tag = "TRADE", delimiter = '-')]
#[salt(range = 3, over = "symbol,at", after = "symbol", sep = "!", since(at = 3))]
#[salt(range = 30, over = "symbol,at", after = "symbol", sep = "!", since(at = 60))]
pub(crate) struct GrownAfter {
    #[pad(2)]
    pub(crate) exchange: u8,
    pub(crate) symbol: String,
    pub(crate) id: String,
    #[pad(2)]
    pub(crate) at: u64,
}

/// The ordered layout, without a salt and then with one, since numbers on both sides of zero.
#[derive(RowKey, Clone, Debug, PartialEq)]
#[row_key(layout = "ordered")]
#[salt(range = 4, over(user, note), since(at = -1))]
#[salt(range = 64, over(user, note), since(at = 256))]
pub(crate) struct OrderedGrown {
    pub(crate) user: String,
    pub(crate) note: String,
    #[row_key(desc)]
    pub(crate) at: i64,
    pub(crate) rank: u16,
}

/// The ordered layout, with salts of one byte and of two or three.
#[derive(RowKey, Clone, Debug, PartialEq)]
#[row_key(layout = "ordered")]
#[salt(range = 4, over = "user")]
#[salt(range = 300, over = "user", since(at = "1970-01-01T00:00:02Z"))]
pub(crate) struct OrderedResalted {
    pub(crate) user: String,
    #[row_key(ts(unit = "secs"))]
    pub(crate) at: SystemTime,
}

/// A salt since a time that is the first field, before digits of another width.
#[derive(RowKey, Clone, Debug, PartialEq)]
#[salt(range = 10, over = "id", since(at = 3))]
pub(crate) struct Log {
    #[pad(13)]
    pub(crate) at: u64,
    pub(crate) id: [u8; 2],
}

/// Text that a delimited field holds: from a small alphabet, so that some values are prefixes of others, with the first
/// byte above the delimiter, the greatest code point, and the empty string.
pub(crate) fn text() -> BoxedStrategy<String> {
    prop_oneof![
        4 => string_regex("[ab$]{0,3}").unwrap(),
        1 => string_regex("[$-~é€\u{10ffff}]{0,6}").unwrap(),
        1 => Just(String::new()),
    ]
    .boxed()
}

/// Text that delimited or padded fields may reject: delimiters, spaces, control characters, lengths.
pub(crate) fn nasty_text() -> BoxedStrategy<String> {
    prop_oneof![
        4 => string_regex("[ab# !\"$\\-]{0,4}").unwrap(),
        2 => text(),
        1 => string_regex("[\\x00-\\x24a-bé]{0,9}").unwrap(),
        1 => Just("a".repeat(5000)),
    ]
    .boxed()
}

/// Nasty text that fits in a key.
fn nasty_short_text() -> BoxedStrategy<String> {
    nasty_text().prop_filter("it fits in a key", |text| text.len() < 1000).boxed()
}

/// Text that `#[pad(n)]` accepts.
pub(crate) fn padded_text(width: usize) -> BoxedStrategy<String> {
    string_regex("[ab !é]{0,7}")
        .unwrap()
        .prop_map(move |text| {
            let end = (0..=width.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
            text[..end.unwrap_or(0)].trim_end_matches(' ').to_owned()
        })
        .boxed()
}

/// A key type that the laws are tested on.
pub(crate) trait Sample: OwnedRowKey + Clone + std::fmt::Debug + PartialEq {
    /// A key that can be encoded.
    fn key() -> BoxedStrategy<Self>;
    /// Values, some of which cannot be encoded.
    fn nasty() -> BoxedStrategy<Self>;

    /// The key as stored: its times are rounded down to their units.
    fn stored(self) -> Self {
        self
    }
}

/// Every number, with small ones often, so that values repeat.
macro_rules! number {
    ($type:ty) => {
        prop_oneof![2 => 0..5 as $type, 1 => any::<$type>(), 1 => Just(<$type>::MAX), 1 => Just(<$type>::MIN)]
    };
}

macro_rules! sample {
    ($key:ident { $($field:ident: $valid:expr, $nasty:expr;)* } $(stored $stored:ident)?) => {
        impl Sample for $key {
            $(fn stored(self) -> Self {
                $stored(&self)
            })?

            fn key() -> BoxedStrategy<Self> {
                ($($valid,)*).prop_map(|($($field,)*)| $key { $($field),* }).boxed()
            }

            fn nasty() -> BoxedStrategy<Self> {
                ($($nasty,)*).prop_map(|($($field,)*)| $key { $($field),* }).boxed()
            }
        }
    };
}

const GREATEST_TIME: u64 = i64::MAX as u64;

sample!(Event {
    user_id: text(), nasty_text();
    site: text(), nasty_text();
    at: prop_oneof![0..5u64, 0..=GREATEST_TIME, Just(GREATEST_TIME)], number!(u64);
    seq: prop_oneof![0..5u32, 0..=999_999u32, Just(999_999)], number!(u32);
});

sample!(Names {
    first: text(), nasty_text();
    second: text(), nasty_text();
    third: text(), nasty_text();
});

sample!(Integers {
    a: number!(u8), number!(u8);
    b: number!(u16), number!(u16);
    c: number!(u32), number!(u32);
    d: number!(u64), number!(u64);
    e: number!(u128), number!(u128);
    f: number!(i8), number!(i8);
    g: number!(i16), number!(i16);
    h: number!(i32), number!(i32);
    i: number!(i64), number!(i64);
    j: number!(i128), number!(i128);
});

sample!(Battery {
    user: string_regex("[.ab]{0,3}").unwrap(), nasty_text();
    level: number!(i16), number!(i16);
    at: prop_oneof![0..5i64, 0..=9_999_999_999_999_i64, Just(9_999_999_999_999)], number!(i64);
});

sample!(Quote {
    exchange: padded_text(6), nasty_text();
    symbol: padded_text(5), nasty_text();
    at: prop_oneof![0..5i64, 0..=9_999_999_999_999_i64, Just(9_999_999_999_999)], number!(i64);
});

sample!(Phone {
    device: text(), nasty_text();
    date: prop_oneof![0..5u32, 0..=99_999_999u32, Just(99_999_999)], number!(u32);
});

sample!(PageView {
    user: text(), nasty_text();
    page: text(), nasty_text();
});

sample!(Trade {
    exchange: 0..=99u8, number!(u8);
    symbol: string_regex("[.ab]{0,2}").unwrap(), nasty_text();
    at: 0..=99u64, number!(u64);
    id: string_regex("[.a]{0,2}").unwrap(), nasty_text();
});

sample!(Name {
    name: string_regex("[ab$]{1,3}").unwrap(), nasty_text();
});

/// Text with zero bytes and their neighbours, which the ordered layout escapes.
fn zero_text() -> BoxedStrategy<String> {
    prop_oneof![
        3 => string_regex("[\\x00\\x01\\x02a]{0,3}").unwrap(),
        1 => string_regex("[ab\u{7f}\u{10ffff}]{0,3}").unwrap(),
        1 => Just(String::new()),
    ]
    .boxed()
}

fn blob() -> BoxedStrategy<Vec<u8>> {
    prop::collection::vec(prop_oneof![Just(0), Just(1), Just(2), Just(255), any::<u8>()], 0..4).boxed()
}

const ANY_TIME: std::ops::RangeInclusive<i64> = 0..=i64::MAX;

sample!(Orders {
    a: number!(u8), number!(u8);
    b: number!(i64), number!(i64);
    c: prop_oneof![0..5u32, 0..=999u32, Just(999)], number!(u32);
    d: any::<bool>(), any::<bool>();
    e: any::<bool>(), any::<bool>();
    f: number!(i128), number!(i128);
    g: number!(u32), number!(u32);
});

sample!(Escaped {
    name: nasty_short_text(), nasty_text();
    blob: blob(), blob();
    letter: prop_oneof![Just('$'), Just('a'), Just('é')], any::<char>();
    pair: any::<[u8; 2]>(), any::<[u8; 2]>();
    note: nasty_short_text(), nasty_text();
});

sample!(OrderedEvent {
    user: zero_text(), nasty_text();
    at: prop_oneof![0..5i64, ANY_TIME], number!(i64);
    rank: number!(u16), number!(u16);
    blob: blob(), blob();
    note: zero_text(), nasty_text();
});

sample!(OrderedNames {
    first: zero_text(), nasty_text();
    second: zero_text(), nasty_text();
    third: zero_text(), nasty_text();
});

sample!(OrderedMix {
    name: zero_text(), nasty_text();
    count: number!(i32), number!(i32);
    flag: any::<bool>(), any::<bool>();
    id: prop_oneof![0..5u64, 0..=GREATEST_TIME], number!(u64);
    last: zero_text(), nasty_text();
});

fn day(days: i32) -> chrono::NaiveDate {
    chrono::NaiveDate::from_num_days_from_ce_opt(days).unwrap()
}

fn random_uuid(bits: u128) -> uuid::Uuid {
    let bits = bits & !(0xf << 76) & !(0b11 << 62);
    uuid::Uuid::from_u128(bits | 0x4 << 76 | 0b10 << 62)
}

fn system_time(nanos: i64) -> SystemTime {
    let distance = Duration::from_nanos(nanos.unsigned_abs());
    if nanos < 0 { UNIX_EPOCH - distance } else { UNIX_EPOCH + distance }
}

/// Counts of `step` nanoseconds since 1970 that often repeat.
fn steps(step: i64) -> BoxedStrategy<i64> {
    (prop_oneof![0..5_i64, 1_426_535_610..1_426_535_615_i64]).prop_map(move |count| count * step).boxed()
}

/// Nanoseconds on and off the steps, and before 1970.
fn nanos() -> BoxedStrategy<i64> {
    prop_oneof![steps(1_000_000_000), steps(1_000_000), steps(1), -5_000_000..5_000_000_i64, any::<i64>()]
        .boxed()
}

sample!(Visit {
    day: prop_oneof![1..5, 735_670..735_680_i32].prop_map(day), (-1_000..4_000_000).prop_map(day);
    id: prop_oneof![0..5_u128, any::<u128>()].prop_map(random_uuid), any::<u128>().prop_map(uuid::Uuid::from_u128);
    begin: prop_oneof![steps(1_000_000), steps(1_000_000_000)].prop_map(system_time), nanos().prop_map(system_time);
    end: prop_oneof![steps(1_000_000), steps(-1_000_000)].prop_map(|at| jiff::Timestamp::from_nanosecond(at.into()).unwrap()),
        nanos().prop_map(|at| jiff::Timestamp::from_nanosecond(at.into()).unwrap());
    stored: steps(1_000_000_000).prop_map(|at| time::OffsetDateTime::from_unix_timestamp_nanos(at.into()).unwrap()),
        nanos().prop_map(|at| time::OffsetDateTime::from_unix_timestamp_nanos(at.into()).unwrap());
} stored rounded_down);

/// The visit with its times rounded down to the units of their fields.
fn rounded_down(visit: &Visit) -> Visit {
    let millis = |nanos| floor(nanos, 1_000_000);
    Visit {
        begin: system_time(millis(nanos_of(visit.begin))),
        end: jiff::Timestamp::from_nanosecond(millis(visit.end.as_nanosecond() as i64).into()).unwrap(),
        stored: time::OffsetDateTime::from_unix_timestamp(visit.stored.unix_timestamp()).unwrap(),
        ..visit.clone()
    }
}

/// A time rounded down to a step in nanoseconds, also before 1970.
fn floor(nanos: i64, step: i64) -> i64 {
    nanos.div_euclid(step) * step
}

/// The inverse of [`system_time`]: nanoseconds since 1970.
fn nanos_of(time: SystemTime) -> i64 {
    match time.duration_since(UNIX_EPOCH) {
        Ok(since) => since.as_nanos() as i64,
        Err(before) => -(before.duration().as_nanos() as i64),
    }
}

/// Times around the bounds of `Grown`, and others.
fn grown_time() -> BoxedStrategy<SystemTime> {
    let near = (1_426_535_610..1_426_535_616_i64, -1..=1_i64);
    let near = near.prop_map(|(seconds, micros)| seconds * 1_000_000_000 + micros * 1000);
    prop_oneof![3 => near, 1 => steps(1_000_000_000)].prop_map(system_time).boxed()
}

sample!(Grown {
    user_id: text(), nasty_text();
    site: text(), nasty_text();
    at: grown_time(), prop_oneof![grown_time(), nanos().prop_map(system_time)];
    seq: prop_oneof![0..5u16, 0..=9_999u16], number!(u16);
} stored grown_rounded_down);

fn grown_rounded_down(key: &Grown) -> Grown {
    Grown { at: system_time(floor(nanos_of(key.at), 1000)), ..key.clone() }
}

sample!(Resalted {
    host: text(), nasty_text();
    day: prop_oneof![1..5, 735_670..735_680_i32].prop_map(day), (-1_000..4_000_000).prop_map(day);
    rack: number!(u8), number!(u8);
});

sample!(GrownFront {
    user: string_regex("[.ab0]{0,3}").unwrap(), nasty_text();
    level: number!(i16), number!(i16);
    at: prop_oneof![0..6i64, 0..=99i64], number!(i64);
});

sample!(GrownAfter {
    exchange: 0..=99u8, number!(u8);
    symbol: string_regex("[.ab]{0,2}").unwrap(), nasty_text();
    id: string_regex("[.a0]{0,2}").unwrap(), nasty_text();
    at: prop_oneof![0..6u64, 58..=62u64], number!(u64);
});

sample!(OrderedGrown {
    user: zero_text(), nasty_text();
    note: zero_text(), nasty_text();
    at: prop_oneof![-3..3i64, 254..259i64, any::<i64>()], number!(i64);
    rank: number!(u16), number!(u16);
});

sample!(OrderedResalted {
    user: zero_text(), nasty_text();
    at: steps(1_000_000_000).prop_map(system_time), nanos().prop_map(system_time);
} stored resalted_rounded_down);

fn resalted_rounded_down(key: &OrderedResalted) -> OrderedResalted {
    OrderedResalted { at: system_time(floor(nanos_of(key.at), 1_000_000_000)), ..key.clone() }
}

sample!(Log {
    at: prop_oneof![0..6u64, 0..=9_999_999_999_999_u64], number!(u64);
    id: any::<[u8; 2]>(), any::<[u8; 2]>();
});

/// Runs a law, a function generic over the key type, as one test for each key type.
macro_rules! for_every_key {
    ($law:ident: $($name:ident $key:ident),*) => {$(
        #[test]
        fn $name() {
            $law::<$crate::keys::$key>();
        }
    )*};
    ($law:ident) => {
        mod $law {
            use super::$law;
            $crate::keys::for_every_key!(
                $law: event Event, names Names, integers Integers, battery Battery, quote Quote, name Name,
                orders Orders, escaped Escaped, ordered_event OrderedEvent, ordered_names OrderedNames,
                ordered_mix OrderedMix, visit Visit, phone Phone, page_view PageView, trade Trade,
                grown Grown, resalted Resalted, grown_front GrownFront, grown_after GrownAfter,
                ordered_grown OrderedGrown, ordered_resalted OrderedResalted, log Log
            );
        }
    };
}
pub(crate) use for_every_key;

/// Tests a property on some inputs.
pub(crate) fn check<S: Strategy<Value: 'static> + 'static>(
    strategy: S,
    property: impl Fn(S::Value) -> Result<(), TestCaseError>,
) {
    check_each(&strategy.boxed(), &property);
}

/// By references to traits: compiled once for each type of input, and not for each property.
fn check_each<V: Debug>(strategy: &BoxedStrategy<V>, property: &dyn Fn(V) -> Result<(), TestCaseError>) {
    let cases = amount("KEYDERIVE_CASES", "inputs of each property of keys", 6, 256).try_into().unwrap();
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases) };
    proptest::test_runner::TestRunner::new(config).run(strategy, property).unwrap();
}
