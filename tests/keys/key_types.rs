//! The laws for the key types of `keys/mod.rs`.

use std::cmp::Ordering;
use std::marker::PhantomData;
use std::ops::Range;

use fastrand::Rng;
use keyderive::key::{DecodeError, EncodeError, KeySchema, SaltHash};
use keyderive::plan::PlanError;
use keyderive_tests::amount;
use proptest::prelude::*;

use crate::keys::{Sample, for_every_key};
use crate::laws::{self, Planned, Subject};

/// A key type as the laws see it.
pub(crate) struct Of<K>(PhantomData<K>);

pub(crate) fn of<K>() -> Of<K> {
    Of(PhantomData)
}

/// Keys from seeds.
pub(crate) fn from_seed<T: std::fmt::Debug + 'static>(make: fn(&mut Rng) -> T) -> BoxedStrategy<T> {
    any::<u64>().no_shrink().prop_map(move |seed| make(&mut Rng::with_seed(seed))).boxed()
}

/// Keys that can be stored, some of which have the first fields of others.
pub(crate) fn siblings<K: Sample>(count: Range<usize>) -> BoxedStrategy<Vec<K>> {
    let all = (any::<u64>().no_shrink(), count).prop_map(|(seed, count)| {
        let mut rng = Rng::with_seed(seed);
        let mut keys: Vec<K> = Vec::new();
        for _ in 0..count {
            let key = match rng.choice(&keys) {
                Some(key) if rng.bool() => key.beside(&mut rng),
                _ => K::random(&mut rng),
            };
            keys.push(key);
        }
        keys
    });
    all.boxed()
}

impl<K: Sample> Subject for Of<K> {
    type Key = K;
    type Constraints = K::Constraints;

    fn name(&self) -> String {
        K::SCHEMA.key_type().to_owned()
    }

    fn schema(&self) -> &'static KeySchema {
        K::SCHEMA
    }

    fn tries(&self) -> u32 {
        amount("KEYDERIVE_CASES", "inputs of each property of keys", 6, 256).try_into().unwrap()
    }

    fn many_tries(&self) -> u32 {
        10 * self.tries()
    }

    fn damaged(&self) -> u64 {
        let damaged = amount("KEYDERIVE_DAMAGED_KEYS", "damaged keys of each key type", 3_400, 170_000);
        damaged.div_ceil(self.tries().into())
    }

    fn keys(&self) -> BoxedStrategy<K> {
        prop_oneof![self.storable(), from_seed(K::nasty)].boxed()
    }

    fn storable(&self) -> BoxedStrategy<K> {
        from_seed(K::random)
    }

    fn siblings(&self, count: Range<usize>) -> BoxedStrategy<Vec<K>> {
        siblings(count)
    }

    fn encode_into(&self, key: &K, out: &mut Vec<u8>) -> Option<Result<(), EncodeError>> {
        Some(key.encode_into(out))
    }

    fn decode(&self, bytes: &[u8]) -> Result<K, DecodeError> {
        K::decode(bytes)
    }

    fn rounded(&self, key: &K) -> K {
        key.rounded()
    }

    fn holds(&self, key: &K) -> Option<bool> {
        Some(key.holds())
    }

    fn order(&self, one: &K, other: &K) -> Option<Ordering> {
        Some(one.order(other))
    }

    fn constraints(&self, keys: &[K], [lo, hi]: [&K; 2], rng: &mut Rng) -> Vec<K::Constraints> {
        let mut all = K::every_plan(&lists(keys, rng), true, lo, hi);
        let first = vec![keys[..1].to_vec(); K::SCHEMA.fields().len()];
        all.extend(K::every_plan(&first, false, lo, hi));
        all.extend((0..10).map(|_| K::constraints(rng, keys)));
        all
    }

    fn plan(&self, constraints: &K::Constraints) -> Option<Result<Planned, PlanError>> {
        Some(K::plan(constraints).map(|plan| Planned::of(&plan)))
    }

    fn is_refused(&self, constraints: &K::Constraints) -> bool {
        K::is_refused(constraints)
    }

    fn is_ordered(&self, constraints: &K::Constraints) -> bool {
        K::fixed(constraints) >= K::LEFT
    }

    fn satisfies(&self, key: &K, constraints: &K::Constraints) -> bool {
        key.satisfies(constraints)
    }
}

/// For each field some of the keys, often one, sometimes none, some twice; the product of their counts is at most 60.
pub(crate) fn lists<K: Sample>(keys: &[K], rng: &mut Rng) -> Vec<Vec<K>> {
    let mut room = 60;
    let list = |_| {
        let len = match rng.u8(..13) {
            0 => 0,
            1..7 => rng.usize(1..4),
            _ => rng.usize(4..8),
        };
        let list: Vec<_> = (0..len.min(room)).map(|_| rng.choice(keys).unwrap().clone()).collect();
        room /= list.len().max(1);
        list
    };
    K::SCHEMA.fields().iter().map(list).collect()
}

fn keys_come_back_or_are_refused<K: Sample>() {
    laws::keys_come_back_or_are_refused(&of::<K>());
}
for_every_key!(keys_come_back_or_are_refused);

fn what_decodes_is_what_encode_writes<K: Sample>() {
    let (accepted, tried) = laws::what_decodes_is_what_encode_writes(&of::<K>());
    println!("{accepted} of {tried} decode");
    // Some keys decode, so that the law says something. Damage in salted fields changes the hash: of keys with n buckets, about one in n
    // still decodes. Java's is over the whole key.
    let is_over_all = K::SCHEMA.salt().is_some_and(|salt| salt.hash() == SaltHash::Java);
    let least = if is_over_all { tried / 200 } else { tried / 50 };
    assert!(accepted >= least.max(1), "only {accepted} of {tried} decode");
}
for_every_key!(what_decodes_is_what_encode_writes);

fn bytes_are_in_the_declared_order<K: Sample>() {
    laws::bytes_are_in_the_declared_order(&of::<K>());
}
for_every_key!(bytes_are_in_the_declared_order);

fn the_bucket_is_a_function_of_the_salted_fields<K: Sample>() {
    laws::the_bucket_is_a_function_of_the_salted_fields(&of::<K>());
}
for_every_key!(the_bucket_is_a_function_of_the_salted_fields);

fn plans_are_exact<K: Sample>() {
    laws::plans_are_exact(&of::<K>());
}
for_every_key!(plans_are_exact);
