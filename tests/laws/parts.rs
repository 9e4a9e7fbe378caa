//! Parts of a plan by ranges of stored keys: what a full scan is parted into.

use keyderive::plan::{KeyRange, Plan};
use proptest::prelude::*;

use crate::keys::{Sample, check, for_every_key};
use crate::plans::{Candidates, asks_for, lists, picks};

/// The ranges between some keys, which together are all row keys.
fn between(mut splits: Vec<Vec<u8>>) -> Vec<KeyRange> {
    splits.retain(|split| !split.is_empty());
    splits.sort();
    splits.dedup();
    let starts = [Vec::new()].into_iter().chain(splits.clone());
    let ends = splits.into_iter().map(Some).chain([None]);
    starts.zip(ends).map(|(start, end)| KeyRange::new(start, end)).collect()
}

/// Cut anywhere, also within a key, right in front of one and right behind, the parts of a plan together ask for each
/// of its rows once, and each for what lies in its range.
fn parts_are_the_whole<K: Sample + Candidates>() {
    let cut = (any::<prop::sample::Index>(), any::<prop::sample::Index>(), prop::option::of(any::<u8>()));
    let inputs = (
        prop::collection::vec(K::key(), 2..8),
        picks(),
        prop::collection::vec(cut, 0..5),
        any::<prop::sample::Index>(),
    );
    check(inputs, |(keys, picks, cuts, at)| {
        let encoded: Vec<_> = keys.iter().filter_map(|key| key.encode().ok()).collect();
        let splits = cuts.iter().map(|(key, len, byte)| {
            let key = key.get(&encoded);
            key[..len.index(key.len() + 1)].iter().copied().chain(*byte).collect()
        });
        let windows = between(splits.collect());
        let lists: Vec<_> = lists(&picks, &keys)
            .into_iter()
            .map(|mut list| {
                list.truncate(3);
                list
            })
            .collect();
        let candidates = K::candidates_of_lists(&lists, &keys[0], &keys[1]);
        let step = 1 + candidates.len() / 10;
        for plan in candidates.into_iter().skip(at.index(step)).step_by(step).filter_map(|one| one.plan.ok())
        {
            let parts: Vec<Plan<K>> = windows.iter().map(|window| plan.within(window)).collect();
            let whole = plan.requests();
            let asked: Vec<_> = parts.iter().flat_map(Plan::requests).collect();
            for key in &encoded {
                prop_assert_eq!(asks_for(&asked, key), asks_for(&whole, key), "{:?} in {:?}", plan, windows);
            }
            for (part, window) in parts.iter().zip(&windows) {
                prop_assert_eq!(part.is_empty(), part.requests().is_empty());
                // A part of a part is in both ranges.
                prop_assert_eq!(part.within(&KeyRange::new("", None)).requests(), part.requests());
                for request in part.requests() {
                    prop_assert!(request.keys().iter().all(|key| window.contains(key)));
                    for range in request.ranges() {
                        prop_assert_eq!(&range.intersection(window), range);
                    }
                }
            }
        }
        Ok(())
    });
}
for_every_key!(parts_are_the_whole);
