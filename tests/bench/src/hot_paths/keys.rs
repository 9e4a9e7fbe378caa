//! Keys, without a table.

use std::hint::black_box;

use keyderive::dynamic::KeyLayout;

use super::report::{Comparison, Line, Table};
use super::{Print, Size, turns};
use crate::peers::{LentStoreKey, StoreKey};
use crate::program::Failure;
use crate::{EventKey, LentKey, hand, keys};

/// The most keys; there are a tenth as many as rows, if that is less.
const KEYS: u32 = 10_000;
/// How often one measurement goes over all keys, and how many measurements replace one run of the other sections.
const PASSES: u32 = 10;
const ROUNDS: usize = 20;

const TITLE: &str = "Keys";

/// A path: its name, what it is compared with, and what goes over all keys and says whether each was valid.
type Path<'a> = (&'static str, Comparison, Box<dyn FnMut() -> bool + 'a>);

/// Measures them all.
pub(super) fn measure(size: Size<'_>, print: Print<'_>) -> Result<(), Failure> {
    let count = KEYS.min(size.rows.div_ceil(10));
    let events = keys(count as usize);
    let lent: Vec<_> = events.iter().map(EventKey::lend).collect();
    let stores: Vec<_> = events.iter().map(StoreKey::from).collect();
    let encoded = events.iter().map(EventKey::encode).collect::<Result<Vec<_>, _>>()?;
    let stored = stores.iter().map(storekey::encode_vec).collect::<Result<Vec<_>, _>>()?;
    let layout = KeyLayout::of::<EventKey>();
    let dynamic = encoded.iter().map(|key| layout.decode(key)).collect::<Result<Vec<_>, _>>()?;
    let none = Comparison::default();
    let mut paths = [
        path("encode, storekey", none, || each_into(&stores, |key, out| storekey::encode(out, key).is_ok())),
        path("encode, by hand", none, || each_into(&lent, |key, out| hand::encode_into(key, out).is_ok())),
        path("encode, keyderive", none.peer(0, 1.6).floor(1, 1.15), || {
            each_into(&events, |key, out| key.encode_into(out).is_ok())
        }),
        path("encode into an owned key, keyderive", none.allocations(1.0), || {
            each(&events, |key| key.encode().is_ok_and(|key| use_key(&key)))
        }),
        path("borrowed decode, storekey", none, || {
            each(&stored, |key| {
                storekey::decode_borrow::<LentStoreKey<'_>>(key).is_ok_and(|key| use_key(&key))
            })
        }),
        path("borrowed decode, by hand", none, || {
            each(&encoded, |key| hand::decode(key).is_ok_and(|key| use_key(&key)))
        }),
        path("borrowed decode, keyderive", none.peer(4, 2.0).floor(5, 1.15), || {
            each(&encoded, |key| LentKey::decode(key).is_ok_and(|key| use_key(&key)))
        }),
        path("owned decode, storekey", none, || {
            each(&stored, |key| {
                storekey::decode::<_, StoreKey>(key.as_slice()).is_ok_and(|key| use_key(&key))
            })
        }),
        path("owned decode, keyderive", none.peer(7, 2.0), || {
            each(&encoded, |key| EventKey::decode(key).is_ok_and(|key| use_key(&key)))
        }),
        path("encode by data, keyderive", none, || {
            each(&dynamic, |key| layout.encode(key.iter()).is_ok_and(|key| use_key(&key)))
        }),
        path("borrowed decode by data, keyderive", none, || {
            each(&encoded, |key| layout.walk(key, |_, value| _ = black_box(value)).is_ok())
        }),
        path("owned decode by data, keyderive", none, || {
            each(&encoded, |key| layout.decode(key).is_ok_and(|key| use_key(&key)))
        }),
    ];
    let names: Vec<_> = paths.iter().map(|(name, ..)| *name).collect();
    let rounds = Size { runs: size.runs * ROUNDS, ..size };
    let costs = turns::in_turn(TITLE, &names, rounds, |path| match passes(&mut paths[path].2) {
        true => Ok(()),
        false => Err(format!("{}: a key was refused", names[path]).into()),
    });
    let line = |((name, beside, _), (cost, _)): (&Path<'_>, _)| Line::new(name, cost, *beside);
    let lines = costs?.into_iter();
    print(Table {
        title: TITLE.to_owned(),
        about: format!(
            "{count} varied keys of the manual's `EventKey`; decoding checks the salt. Encoding reuses one buffer. `storekey` \
             0.11 has its own format, without salt and checks. The hand-written path handles this key type only, with the \
             same bytes, hash and checks."
        ),
        unit: "key",
        units: u64::from(count) * u64::from(PASSES),
        lines: paths.iter().zip(lines).map(line).collect(),
    });
    Ok(())
}

fn path<'a>(name: &'static str, beside: Comparison, run: impl FnMut() -> bool + 'a) -> Path<'a> {
    (name, beside, Box::new(run))
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
