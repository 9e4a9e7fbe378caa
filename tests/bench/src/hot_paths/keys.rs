//! Keys, without a table.

use std::hint::black_box;
use std::time::Duration;

use keyderive::dynamic::KeyLayout;

use super::report::{Comparison, Line, Table, Targets};
use super::turns::{self, Cost};
use super::{Failure, Size};
use crate::allocations::counted;
use crate::meter::processor_time;
use crate::peers::{LentStoreKey, StoreKey};
use crate::{EventKey, LentKey, hand, keys};

/// The most keys; there are a tenth as many as rows, if that is less.
const KEYS: u32 = 10_000;
/// How often one measurement goes over all keys, and how many measurements replace one run of the other sections.
const PASSES: u32 = 10;
const ROUNDS: usize = 20;

const TITLE: &str = "Keys";

struct Path<'a> {
    name: &'static str,
    /// Goes over all keys; whether each was valid.
    run: Box<dyn FnMut() -> bool + 'a>,
    beside: Comparison,
}

/// Measures them all.
pub(super) fn measure(size: Size<'_>) -> Result<Table, Failure> {
    let count = KEYS.min(size.rows.div_ceil(10));
    let events = keys(count as usize);
    let lent: Vec<_> = events.iter().map(EventKey::lend).collect();
    let stores: Vec<_> = events.iter().map(StoreKey::from).collect();
    let encoded = events.iter().map(EventKey::encode).collect::<Result<Vec<_>, _>>()?;
    let stored = stores.iter().map(storekey::encode_vec).collect::<Result<Vec<_>, _>>()?;
    let layout = KeyLayout::of::<EventKey>();
    let dynamic = encoded.iter().map(|key| layout.decode(key)).collect::<Result<Vec<_>, _>>()?;
    let beside = |peer, floor: Option<usize>, less| Comparison {
        peer: Some(peer),
        floor,
        targets: Targets { less_than_peer: Some(less), of_floor: floor.map(|_| 1.15), ..Targets::default() },
    };
    let one_allocation = Comparison {
        targets: Targets { allocations: Some(1.0), ..Targets::default() },
        ..Comparison::default()
    };
    let paths = vec![
        path("encode, storekey", Comparison::default(), || {
            each_into(&stores, |key, out| storekey::encode(out, key).is_ok())
        }),
        path("encode, by hand", Comparison::default(), || {
            each_into(&lent, |key, out| hand::encode_into(key, out).is_ok())
        }),
        path("encode, keyderive", beside(0, Some(1), 1.6), || {
            each_into(&events, |key, out| key.encode_into(out).is_ok())
        }),
        path("encode into an owned key, keyderive", one_allocation, || {
            each(&events, |key| key.encode().is_ok_and(|key| use_key(&key)))
        }),
        path("borrowed decode, storekey", Comparison::default(), || {
            each(&stored, |key| {
                storekey::decode_borrow::<LentStoreKey<'_>>(key).is_ok_and(|key| use_key(&key))
            })
        }),
        path("borrowed decode, by hand", Comparison::default(), || {
            each(&encoded, |key| hand::decode(key).is_ok_and(|key| use_key(&key)))
        }),
        path("borrowed decode, keyderive", beside(4, Some(5), 2.0), || {
            each(&encoded, |key| LentKey::decode(key).is_ok_and(|key| use_key(&key)))
        }),
        path("owned decode, storekey", Comparison::default(), || {
            each(&stored, |key| {
                storekey::decode::<_, StoreKey>(key.as_slice()).is_ok_and(|key| use_key(&key))
            })
        }),
        path("owned decode, keyderive", beside(7, None, 2.0), || {
            each(&encoded, |key| EventKey::decode(key).is_ok_and(|key| use_key(&key)))
        }),
        path("encode by data, keyderive", Comparison::default(), || {
            each(&dynamic, |key| layout.encode(key.iter()).is_ok_and(|key| use_key(&key)))
        }),
        path("borrowed decode by data, keyderive", Comparison::default(), || {
            each(&encoded, |key| layout.walk(key, |_, value| _ = black_box(value)).is_ok())
        }),
        path("owned decode by data, keyderive", Comparison::default(), || {
            each(&encoded, |key| layout.decode(key).is_ok_and(|key| use_key(&key)))
        }),
    ];
    Ok(Table {
        title: TITLE.to_owned(),
        about: format!(
            "{count} varied keys of the manual's `EventKey`; decoding checks the salt. Encoding reuses one buffer. `storekey` \
             0.11 has its own format, without salt and checks. The hand-written path handles this key type only, with the \
             same bytes, hash and checks."
        ),
        unit: "key",
        units: u64::from(count) * u64::from(PASSES),
        lines: least(paths, size)?,
    })
}

fn path<'a>(name: &'static str, beside: Comparison, run: impl FnMut() -> bool + 'a) -> Path<'a> {
    Path { name, run: Box::new(run), beside }
}

fn least(mut paths: Vec<Path<'_>>, size: Size<'_>) -> Result<Vec<Line>, Failure> {
    let mut costs = Vec::new();
    for path in &mut paths {
        let mut checked = || match passes(&mut path.run) {
            true => Ok(()),
            false => Err(format!("{}: a key was refused", path.name).into()),
        };
        if size.only.is_some() {
            turns::simulate_only(TITLE, path.name, size, checked)?;
            costs.push(Cost::NONE);
            continue;
        }
        let (result, allocations) = counted(&mut checked);
        result?;
        costs.push(Cost { time: Duration::MAX, allocations });
    }
    for _ in 0..size.runs * ROUNDS {
        for (path, cost) in paths.iter_mut().zip(&mut costs) {
            let before = processor_time()?;
            passes(&mut path.run);
            cost.time = cost.time.min(processor_time()? - before);
        }
    }
    let line = |(path, cost): (Path<'_>, Cost)| Line {
        path: path.name.to_owned(),
        cost,
        memory: None,
        beside: path.beside,
    };
    Ok(paths.into_iter().zip(costs).map(line).collect())
}

fn passes(run: &mut dyn FnMut() -> bool) -> bool {
    (0..PASSES).all(|_| run())
}

#[inline]
fn each<T>(inputs: &[T], mut run: impl FnMut(&T) -> bool) -> bool {
    inputs.iter().fold(true, |good, input| good & run(black_box(input)))
}

#[inline]
fn each_into<T>(inputs: &[T], mut run: impl FnMut(&T, &mut Vec<u8>) -> bool) -> bool {
    let mut out = Vec::with_capacity(4096);
    each(inputs, |input| {
        out.clear();
        let good = run(input, &mut out);
        black_box(out.as_slice());
        good
    })
}

/// Makes a key count as used.
#[inline]
fn use_key<K>(key: &K) -> bool {
    black_box(key);
    true
}
