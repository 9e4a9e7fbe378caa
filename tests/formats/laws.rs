//! The laws, each tested on every case.

use std::cmp::Ordering;
use std::ops::Bound;

use keyderive::key::{Format, KeyEncoding, MAX_KEY_LEN, TimeUnit, fingerprint64};
use keyderive_tests::amount;
use proptest::prelude::*;
use proptest::test_runner::{TestCaseError, TestRunner};

use super::cases::cases;
use super::{Case, Key, Order, Value};
use crate::stored::{asks_for, logical};

/// How many inputs a law is tested on for each case.
fn tries() -> u32 {
    amount("KEYDERIVE_FORMAT_CASES", "inputs of each law for each format", 3, 48).try_into().unwrap()
}

/// Keys of a case, some of which its format rejects.
pub(super) fn keys(case: &Case) -> BoxedStrategy<Key> {
    let text = match case.schema.layout() {
        KeyEncoding::Delimited => "[ab]{0,2}",
        _ => "[\\x00\\x01a]{0,2}",
    };
    (text, case.values.clone(), text).prop_map(|(first, value, last)| Key { first, value, last }).boxed()
}

fn encode(case: &Case, key: &Key) -> Option<Vec<u8>> {
    (case.encode)(key)?.ok()
}

/// The key as stored: its value may be rounded down.
fn stored(case: &Case, key: &Key) -> Option<(Vec<u8>, Key)> {
    let bytes = encode(case, key)?;
    let stored = (case.decode)(&bytes).unwrap_or_else(|error| panic!("{}: {key:?}: {error}", case.name()));
    Some((bytes, stored))
}

/// Tests a law on inputs for each case.
pub(super) fn on_every_case<S: Strategy>(
    inputs: impl Fn(&Case) -> S,
    law: impl Fn(&Case, S::Value) -> Result<(), TestCaseError>,
) {
    for case in cases() {
        let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(tries()) };
        let tried = TestRunner::new(config).run(&inputs(&case), |input| law(&case, input));
        if let Err(error) = tried {
            panic!("{}: {error}", case.name());
        }
    }
}

/// A time rounded down to its field's unit, also before 1970; other values unchanged.
fn floor_to_unit(case: &Case, value: &Value) -> Value {
    let (Value::Time(nanos), true) = (value, case.rounds) else { return value.clone() };
    let step = match case.schema.fields()[1].format() {
        Format::UnixTime(TimeUnit::Secs) => 1_000_000_000,
        Format::UnixTime(TimeUnit::Millis) | Format::DateTime17 => 1_000_000,
        Format::UnixTime(TimeUnit::Micros) => 1_000,
        Format::UnixTime(TimeUnit::Nanos) => 1,
        format => panic!("{}: {format:?} is no format of times", case.name()),
    };
    Value::Time(nanos.div_euclid(step) * step)
}

/// Laws 1 and 7: a value decodes as it was stored, or encoding fails with an error that names its field.
#[test]
fn values_come_back_or_are_refused_by_name() {
    on_every_case(keys, |case, key| {
        match (case.encode)(&key) {
            None => {}
            Some(Ok(bytes)) => {
                let decoded = (case.decode)(&bytes);
                let decoded = decoded.map_err(|error| TestCaseError::fail(error.to_string()))?;
                let again = encode(case, &decoded);
                prop_assert_eq!(again, Some(bytes));
                prop_assert_eq!(decoded, Key { value: floor_to_unit(case, &key.value), ..key });
            }
            Some(Err(error)) => prop_assert!(
                error.to_string().contains("`value`") || error.is_too_long(),
                "{} does not name the field",
                error
            ),
        }
        Ok(())
    });
}

/// Without this, a format that rejects all values would keep every law.
#[test]
fn every_format_holds_some_of_the_values() {
    for case in cases() {
        let mut runner = TestRunner::deterministic();
        let held = (0..200).filter(|_| {
            let key = keys(&case).new_tree(&mut runner).unwrap().current();
            encode(&case, &key).is_some()
        });
        let held = held.count();
        assert!(held >= 10, "{} holds {held} of 200 values", case.name());
    }
}

/// Law 1 for bytes: decode rejects bytes near those of a key, or encode writes them back.
#[test]
fn what_decodes_is_what_encode_writes() {
    let inputs = |case: &Case| (keys(case), any::<prop::sample::Index>(), any::<u8>(), 0..3_u8);
    on_every_case(inputs, |case, (key, at, byte, kind)| {
        let Some(mut bytes) = encode(case, &key) else { return Ok(()) };
        let at = at.index(bytes.len());
        match kind {
            0 => bytes[at] = byte,
            1 => bytes.insert(at, byte),
            _ => drop(bytes.remove(at)),
        }
        if let Ok(decoded) = (case.decode)(&bytes) {
            prop_assert_eq!(encode(case, &decoded), Some(bytes));
        }
        Ok(())
    });
}

/// Law 2: without the salt, bytes sort as the fields do.
#[test]
fn bytes_are_in_the_declared_order() {
    on_every_case(
        |case| (keys(case), keys(case), any::<bool>()),
        |case, (a, mut b, same)| {
            if same {
                b.first.clone_from(&a.first);
            }
            let (Some((x, a)), Some((y, b))) = (stored(case, &a), stored(case, &b)) else { return Ok(()) };
            let by_value = a.value.partial_cmp(&b.value).expect("values of one type");
            let by_value = match case.order {
                Order::Ascending => by_value,
                Order::Descending => by_value.reverse(),
                Order::Unordered if by_value == Ordering::Equal => by_value,
                Order::Unordered => return Ok(()),
            };
            let expected = a.first.cmp(&b.first).then(by_value).then(a.last.cmp(&b.last));
            prop_assert_eq!(logical(case.schema, &x).cmp(&logical(case.schema, &y)), expected);
            Ok(())
        },
    );
}

/// Law 3 for ranges: a range reads exactly the rows whose value is in it.
#[test]
fn ranges_are_exact() {
    fn bounds<'v>(kinds: (u8, u8), lo: &'v Key, hi: &'v Key) -> [Bound<&'v Value>; 2] {
        [(kinds.0, &lo.value), (kinds.1, &hi.value)].map(|(kind, value)| match kind {
            0 => Bound::Included(value),
            1 => Bound::Excluded(value),
            _ => Bound::Unbounded,
        })
    }
    let inputs = |case: &Case| (keys(case), keys(case), keys(case), (0..3_u8, 0..3_u8), any::<bool>());
    on_every_case(inputs, |case, (key, lo, hi, kinds, same)| {
        let (Some(range), Some((bytes, stored))) = (case.range, stored(case, &key)) else { return Ok(()) };
        let first = if same { &key.first } else { &lo.first };
        let [lo, hi] = bounds(kinds, &lo, &hi);
        let Some(requests) = range(first, lo, hi) else { return Ok(()) };
        let above = match lo {
            Bound::Included(lo) => stored.value >= *lo,
            Bound::Excluded(lo) => stored.value > *lo,
            Bound::Unbounded => true,
        };
        let below = match hi {
            Bound::Included(hi) => stored.value <= *hi,
            Bound::Excluded(hi) => stored.value < *hi,
            Bound::Unbounded => true,
        };
        let expected = stored.first == *first && above && below;
        prop_assert_eq!(
            asks_for(&requests.unwrap().0, &bytes),
            expected,
            "{:?} in {:?}..{:?}",
            stored,
            lo,
            hi
        );
        Ok(())
    });
}

/// Law 5: the bucket is the hash of the encoded salted fields, and decode accepts no other.
#[test]
fn the_bucket_is_a_function_of_the_salted_bytes() {
    let inputs = |case: &Case| (keys(case), 0..7_i64);
    on_every_case(inputs, |case, (key, other)| {
        let key = Key { last: "z".to_owned(), ..key };
        let Some(bytes) = encode(case, &key) else { return Ok(()) };
        let separator: &[u8] = if case.layout == "text" { b"#" } else { b"\x00\x01" };
        let salted = logical(case.schema, &bytes);
        let salted = salted.strip_suffix(b"z").and_then(|salted| salted.strip_suffix(separator));
        // In an ordered key the separator after the salt remains.
        let salted = salted.expect("the last field is `z`");
        let salted = if case.layout == "text" { salted } else { salted.strip_prefix(separator).unwrap() };
        let bucket = fingerprint64(salted).cast_signed().rem_euclid(7);
        let digit = |bucket: i64| (bucket as u8) + if case.layout == "text" { b'0' } else { 0x80 };
        prop_assert_eq!(bytes[0], digit(bucket));
        let elsewhere = [&[digit(other)], &bytes[1..]].concat();
        prop_assert_eq!((case.decode)(&elsewhere).is_ok(), other == bucket);
        Ok(())
    });
}

/// Law 6: a key has 1 to 4096 bytes, within the bounds of its schema.
#[test]
fn keys_are_bounded() {
    on_every_case(
        |case| (keys(case), 0..5_usize),
        |case, (key, size)| {
            let key = Key { last: "a".repeat([0, 1, 4_000, 4_090, 5_000][size]), ..key };
            match (case.encode)(&key) {
                Some(Ok(bytes)) => {
                    prop_assert!((1..=MAX_KEY_LEN).contains(&bytes.len()));
                    prop_assert!(case.schema.min_len() <= bytes.len());
                }
                Some(Err(error)) if size == 4 => {
                    prop_assert!(error.is_too_long() || error.to_string().contains("`value`"), "{}", error);
                }
                _ => {}
            }
            Ok(())
        },
    );
}
