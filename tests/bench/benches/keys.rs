//! Time and allocations for one key: encoded into a reused buffer, and decoded with borrowed strings.
//!
//! Measured by divan, whose profiler counts allocations in the timed runs themselves. An iteration takes 10,000 keys,
//! so 100 µs and 10,000 allocations mean 10 ns and one allocation per key. Compare within one run, by the column
//! `fastest`, which other load on the machine disturbs least.

use std::hint::black_box;

use divan::counter::ItemsCount;
use divan::{AllocProfiler, Bencher};
use keyderive_bench::peers::{LentStoreKey, LentTupleKey, StoreKey, tuple_key};
use keyderive_bench::{EventKey, LentKey, hand, keys, naive};

#[global_allocator]
static ALLOC: AllocProfiler = AllocProfiler::system();

const KEYS: usize = 10_000;

fn main() {
    divan::main();
}

/// Runs once over all inputs in each iteration.
fn each<T>(bencher: Bencher<'_, '_>, inputs: &[T], mut run: impl FnMut(&T)) {
    bencher.counter(ItemsCount::new(inputs.len())).bench_local(|| {
        for input in inputs {
            run(black_box(input));
        }
    });
}

/// The same for functions that append to a buffer, which is cleared but not freed.
fn append<T>(bencher: Bencher<'_, '_>, inputs: &[T], mut run: impl FnMut(&T, &mut Vec<u8>)) {
    let mut out = Vec::with_capacity(4096);
    each(bencher, inputs, |input| {
        out.clear();
        run(input, &mut out);
        black_box(out.as_slice());
    });
}

/// Makes a decoded key count as used.
fn consume<K>(key: &K) {
    black_box(key);
}

fn encoded() -> Vec<Vec<u8>> {
    keys(KEYS).iter().map(|key| key.encode().unwrap()).collect()
}

#[divan::bench_group(sample_count = 400, sample_size = 1)]
mod encode {
    use super::*;

    #[divan::bench]
    fn keyderive(bencher: Bencher<'_, '_>) {
        append(bencher, &keys(KEYS), |key: &EventKey, out| key.encode_into(out).unwrap());
    }

    #[divan::bench]
    fn by_hand(bencher: Bencher<'_, '_>) {
        append(bencher, &keys(KEYS), |key, out| hand::encode_into(&key.lend(), out).unwrap());
    }

    #[divan::bench]
    fn storekey(bencher: Bencher<'_, '_>) {
        let keys: Vec<_> = keys(KEYS).iter().map(StoreKey::from).collect();
        append(bencher, &keys, |key, out| storekey::encode(out, key).unwrap());
    }

    #[divan::bench]
    fn foundationdb_tuple(bencher: Bencher<'_, '_>) {
        let keys: Vec<_> = keys(KEYS).iter().map(tuple_key).collect();
        append(bencher, &keys, |key, out| {
            foundationdb_tuple::pack_into(key, out);
        });
    }

    #[divan::bench]
    fn naive_format(bencher: Bencher<'_, '_>) {
        each(bencher, &keys(KEYS), |key| drop(black_box(naive::encode(key))));
    }
}

#[divan::bench_group(sample_count = 400, sample_size = 1)]
mod decode {
    use super::*;

    #[divan::bench]
    fn keyderive(bencher: Bencher<'_, '_>) {
        each(bencher, &encoded(), |key| consume(&LentKey::decode(key).unwrap()));
    }

    #[divan::bench]
    fn by_hand(bencher: Bencher<'_, '_>) {
        each(bencher, &encoded(), |key| consume(&hand::decode(key).unwrap()));
    }

    #[divan::bench]
    fn storekey(bencher: Bencher<'_, '_>) {
        let encoded: Vec<_> =
            keys(KEYS).iter().map(|key| storekey::encode_vec(&StoreKey::from(key)).unwrap()).collect();
        each(bencher, &encoded, |key| {
            consume(&storekey::decode_borrow::<LentStoreKey<'_>>(key).unwrap());
        });
    }

    #[divan::bench]
    fn foundationdb_tuple(bencher: Bencher<'_, '_>) {
        let encoded: Vec<_> =
            keys(KEYS).iter().map(|key| foundationdb_tuple::pack(&tuple_key(key))).collect();
        each(bencher, &encoded, |key| consume(&foundationdb_tuple::unpack::<LentTupleKey<'_>>(key).unwrap()));
    }

    #[divan::bench]
    fn naive_split(bencher: Bencher<'_, '_>) {
        each(bencher, &encoded(), |key| consume(&naive::decode(key).unwrap()));
    }
}

/// Into a new buffer.
#[divan::bench_group(sample_count = 400, sample_size = 1)]
mod encode_owned {
    use super::*;

    #[divan::bench]
    fn keyderive(bencher: Bencher<'_, '_>) {
        each(bencher, &keys(KEYS), |key| consume(&key.encode().unwrap()));
    }

    #[divan::bench]
    fn storekey(bencher: Bencher<'_, '_>) {
        let keys: Vec<_> = keys(KEYS).iter().map(StoreKey::from).collect();
        each(bencher, &keys, |key| consume(&storekey::encode_vec(key).unwrap()));
    }
}

/// Into new strings.
#[divan::bench_group(sample_count = 400, sample_size = 1)]
mod decode_owned {
    use super::*;

    #[divan::bench]
    fn keyderive(bencher: Bencher<'_, '_>) {
        each(bencher, &encoded(), |key| consume(&EventKey::decode(key).unwrap()));
    }

    #[divan::bench]
    fn storekey(bencher: Bencher<'_, '_>) {
        let encoded: Vec<_> =
            keys(KEYS).iter().map(|key| storekey::encode_vec(&StoreKey::from(key)).unwrap()).collect();
        each(bencher, &encoded, |key| consume(&storekey::decode::<_, StoreKey>(key.as_slice()).unwrap()));
    }
}
