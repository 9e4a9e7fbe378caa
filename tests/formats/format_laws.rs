//! The laws of `tests/keys/laws.rs`, each tested on every case.

use std::cmp::Ordering;
use std::ops::{Bound, RangeBounds as _};

use fastrand::Rng;
use keyderive::key::{DecodeError, EncodeError, Format, KeyEncoding, KeySchema, TimeUnit};
use keyderive::plan::PlanError;
use keyderive_tests::amount;
use proptest::prelude::*;
use proptest::test_runner::{TestCaseError, TestRunner};

use super::cases::cases;
use super::{Case, Key, Order, Value};
use crate::laws::{self, Planned, Subject};

/// Keys of a case, some of which its format rejects.
pub(super) fn keys(case: &Case) -> BoxedStrategy<Key> {
    let text = match case.schema.layout() {
        KeyEncoding::Delimited => "[ab]{0,2}",
        _ => "[\\x00\\x01a]{0,2}",
    };
    (text, case.values.clone(), text).prop_map(|(first, value, last)| Key { first, value, last }).boxed()
}

/// Tests a law on inputs for each case.
pub(super) fn on_every_case<S: Strategy>(
    inputs: impl Fn(&Case) -> S,
    law: impl Fn(&Case, S::Value) -> Result<(), TestCaseError>,
) {
    for case in cases() {
        let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(case.tries()) };
        let tried = TestRunner::new(config).run(&inputs(&case), |input| law(&case, input));
        if let Err(error) = tried {
            panic!("{}: {error}", case.name());
        }
    }
}

/// A fixed first field, or none that a key has, and bounds of the values.
type Range = (String, Bound<Value>, Bound<Value>);

pub(super) fn bound<T>(kind: u8, value: T) -> Bound<T> {
    match kind {
        0 => Bound::Included(value),
        1 => Bound::Excluded(value),
        _ => Bound::Unbounded,
    }
}

impl Subject for Case {
    type Key = Key;
    type Constraints = Range;

    fn name(&self) -> String {
        Self::name(self)
    }

    fn schema(&self) -> &'static KeySchema {
        self.schema
    }

    fn tries(&self) -> u32 {
        amount("KEYDERIVE_FORMAT_CASES", "inputs of each law for each format", 3, 48).try_into().unwrap()
    }

    fn damaged(&self) -> u64 {
        4
    }

    /// Some of them are close to the greatest length of a key, or over it.
    fn keys(&self) -> BoxedStrategy<Key> {
        let long = (keys(self), prop::sample::select(vec![0, 1, 4_000, 4_090, 5_000]));
        let long = long.prop_map(|(key, len)| Key { last: "a".repeat(len), ..key });
        prop_oneof![keys(self), long].boxed()
    }

    fn storable(&self) -> BoxedStrategy<Key> {
        keys(self)
    }

    fn siblings(&self, count: std::ops::Range<usize>) -> BoxedStrategy<Vec<Key>> {
        prop::collection::vec(keys(self), count).boxed()
    }

    fn encode_into(&self, key: &Key, out: &mut Vec<u8>) -> Option<Result<(), EncodeError>> {
        (self.encode_into)(key, out)
    }

    fn decode(&self, bytes: &[u8]) -> Result<Key, DecodeError> {
        (self.decode)(bytes)
    }

    fn rounded(&self, key: &Key) -> Key {
        let (Value::Time(nanos), true) = (&key.value, self.rounds) else { return key.clone() };
        let step = match self.schema.fields()[1].format() {
            Format::UnixTime(TimeUnit::Secs) => 1_000_000_000,
            Format::UnixTime(TimeUnit::Millis) | Format::DateTime17 => 1_000_000,
            Format::UnixTime(TimeUnit::Micros) => 1_000,
            Format::UnixTime(TimeUnit::Nanos) => 1,
            format => panic!("{}: {format:?} is no format of times", self.name()),
        };
        // Also before 1970.
        Key { value: Value::Time(nanos.div_euclid(step) * step), ..key.clone() }
    }

    /// The model of a type has no limits of formats.
    fn holds(&self, _: &Key) -> Option<bool> {
        None
    }

    fn order(&self, one: &Key, other: &Key) -> Option<Ordering> {
        let by_value = one.value.partial_cmp(&other.value).expect("values of one type");
        let by_value = match self.order {
            Order::Ascending => by_value,
            Order::Descending => by_value.reverse(),
            Order::Unordered if by_value == Ordering::Equal => by_value,
            Order::Unordered => return None,
        };
        Some(one.first.cmp(&other.first).then(by_value).then(one.last.cmp(&other.last)))
    }

    fn constraints(&self, keys: &[Key], [lo, hi]: [&Key; 2], _: &mut Rng) -> Vec<Range> {
        let all = keys.iter().take(1).chain([lo]).flat_map(|fixed| {
            (0..9).map(|kinds| {
                let (lo, hi) = (lo.value.clone(), hi.value.clone());
                (fixed.first.clone(), bound(kinds / 3, lo), bound(kinds % 3, hi))
            })
        });
        all.collect()
    }

    fn plan(&self, (first, lo, hi): &Range) -> Option<Result<Planned, PlanError>> {
        let plan = (self.range?)(first, lo.as_ref(), hi.as_ref())?;
        Some(plan.map(|(plan, _)| plan))
    }

    fn is_refused(&self, _: &Range) -> bool {
        false
    }

    fn is_ordered(&self, _: &Range) -> bool {
        true
    }

    fn satisfies(&self, key: &Key, (first, lo, hi): &Range) -> bool {
        key.first == *first && (lo.as_ref(), hi.as_ref()).contains(&key.value)
    }
}

/// Without this, a format that rejects all values would keep every law.
#[test]
fn every_format_holds_some_of_the_values() {
    for case in cases() {
        let mut runner = TestRunner::deterministic();
        let held = (0..200).filter(|_| {
            let key = keys(&case).new_tree(&mut runner).unwrap().current();
            Subject::encode(&case, &key).is_some()
        });
        let held = held.count();
        assert!(held >= 10, "{} holds {held} of 200 values", case.name());
    }
}

#[test]
fn keys_come_back_or_are_refused() {
    cases().iter().for_each(laws::keys_come_back_or_are_refused);
}

#[test]
fn what_decodes_is_what_encode_writes() {
    for case in cases() {
        laws::what_decodes_is_what_encode_writes(&case);
    }
}

#[test]
fn bytes_are_in_the_declared_order() {
    cases().iter().for_each(laws::bytes_are_in_the_declared_order);
}

#[test]
fn the_bucket_is_a_function_of_the_salted_fields() {
    cases().iter().for_each(laws::the_bucket_is_a_function_of_the_salted_fields);
}

#[test]
fn plans_are_exact() {
    cases().iter().for_each(laws::plans_are_exact);
}
