//! Parts of a plan by ranges of stored keys, into which a full scan is split.

use fastrand::Rng;
use keyderive::RowKey;
use keyderive::plan::{KeyRange, Plan};
use proptest::prelude::*;

use crate::key_types::{lists, of, siblings};
use crate::keys::{Phone, Sample, for_every_key};
use crate::laws::check;
use crate::products::Salted;
use crate::stored::asks_for;

/// The ranges between these keys, which together cover all row keys.
fn between(mut splits: Vec<Vec<u8>>) -> Vec<KeyRange> {
    splits.retain(|split| !split.is_empty());
    splits.sort();
    splits.dedup();
    let starts = [Vec::new()].into_iter().chain(splits.clone());
    let ends = splits.into_iter().map(Some).chain([None]);
    starts.zip(ends).map(|(start, end)| KeyRange::new(start, end)).collect()
}

/// Wherever a plan is split, also within a key and right before or after one, the parts together read each of its rows
/// once, and each part reads the rows in its range.
fn parts_are_the_whole<K: Sample>() {
    let cut = (any::<prop::sample::Index>(), any::<prop::sample::Index>(), prop::option::of(any::<u8>()));
    let inputs = (siblings::<K>(2..8), prop::collection::vec(cut, 0..5), any::<u64>());
    check(&of::<K>(), inputs, |(keys, cuts, seed)| {
        let encoded: Vec<_> = keys.iter().map(|key| key.encode().unwrap()).collect();
        let splits = cuts.iter().map(|(key, len, byte)| {
            let key = key.get(&encoded);
            key[..len.index(key.len() + 1)].iter().copied().chain(*byte).collect()
        });
        let (windows, mut rng) = (between(splits.collect()), Rng::with_seed(seed));
        let mut lists = lists(&keys, &mut rng);
        lists.iter_mut().for_each(|list| list.truncate(3));
        let all = K::every_plan(&lists, true, &keys[0], &keys[1]);
        let step = 1 + all.len() / 10;
        let plans = all.iter().skip(rng.usize(..step)).step_by(step);
        for plan in plans.filter_map(|constraints| K::plan(constraints).ok()) {
            let parts: Vec<Plan<K>> = windows.iter().map(|window| plan.within(window)).collect();
            let whole = plan.requests();
            let asked: Vec<_> = parts.iter().flat_map(Plan::requests).collect();
            for key in &encoded {
                prop_assert_eq!(asks_for(&asked, key), asks_for(&whole, key), "{:?} in {:?}", plan, windows);
            }
            for (part, window) in parts.iter().zip(&windows) {
                prop_assert_eq!(part.is_empty(), part.requests().is_empty());
                // A part of a part lies in both ranges.
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

#[derive(RowKey)]
struct UserKey {
    user: u64,
    at: u64,
}

#[derive(RowKey)]
#[salt(range = 4, over = "user")]
struct SaltedUserKey {
    user: u64,
    at: u64,
}

/// A long list is split, not copied: each part has its own values, and all parts together read what the whole plan reads,
/// each range once, except ranges that a split goes through.
#[test]
fn parts_of_a_long_list_are_not_each_as_long() {
    const VALUES: u64 = 20_000;
    const WINDOWS: u64 = 200;

    fn parts<K: RowKey>(plan: &Plan<K>, splits: Vec<Vec<u8>>, buckets: usize) {
        let windows = between(splits);
        let parts: Vec<_> = windows.iter().map(|window| plan.within(window)).collect();
        let ranges =
            |plan: &Plan<K>| plan.requests().iter().map(|request| request.ranges().len()).sum::<usize>();
        let whole = ranges(plan);
        assert_eq!(whole, VALUES as usize);
        let sum: usize = parts.iter().map(ranges).sum();
        assert!((whole..=whole + windows.len()).contains(&sum), "{sum} of {whole}");
        // As data: each bucket has a value in at most one part, and each part adds little beside its values.
        let len = |plan: &Plan<K>| serde_json::to_string(plan).unwrap().len();
        let (all, own) = (len(plan), 1000);
        let sum: usize = parts.iter().map(len).sum();
        assert!(sum <= buckets * all + windows.len() * own, "{sum} bytes of parts, {all} of the whole");
        let sent: Plan<K> = serde_json::from_str(&serde_json::to_string(&parts[7]).unwrap()).unwrap();
        assert_eq!(sent.requests(), parts[7].requests());
    }

    let values = || (0..VALUES).map(|value| value * 3);
    let cuts = || (0..WINDOWS).map(|cut| cut * VALUES * 3 / WINDOWS);
    let plan = UserKey::scan().user_any_of(values()).at_range(5..).into_plan().unwrap();
    parts(&plan, cuts().map(|cut| format!("{cut:020}").into_bytes()).collect(), 1);
    let plan = SaltedUserKey::scan().user_any_of(values()).into_plan().unwrap();
    let splits = (0..4).flat_map(|bucket| cuts().map(move |cut| format!("{bucket}#{cut:020}").into_bytes()));
    // A table is split between its buckets too.
    parts(&plan, splits.chain(SaltedUserKey::SCHEMA.bucket_splits()).collect(), 4);
}

/// A list is one request of each bucket, up to the size of a request.
#[test]
fn a_long_list_of_keys_is_one_request() {
    #[derive(RowKey)]
    struct UserKey {
        user: u64,
    }

    let plan = UserKey::scan().user_any_of(0..10_000).into_plan().unwrap();
    assert_eq!(plan.requests().iter().map(|request| request.keys().len()).collect::<Vec<_>>(), [10_000]);
}

/// Buckets of `"java"` do not sort as their numbers do.
#[test]
fn parts_of_a_list_under_an_unpadded_salt_have_all_of_its_rows() {
    let devices = || (0..60).map(|device| format!("d{device}"));
    let plan = Phone::scan().device_any_of(devices()).into_plan().unwrap();
    let keys = devices().flat_map(|device| (1..9).map(move |date| Phone { device: device.clone(), date }));
    let keys: Vec<_> = keys.map(|key| key.encode().unwrap()).collect();
    let windows =
        between(Phone::SCHEMA.bucket_splits().into_iter().chain(keys.iter().step_by(7).cloned()).collect());
    let parts: Vec<_> = windows.iter().map(|window| plan.within(window)).collect();
    for key in &keys {
        let asked = parts.iter().flat_map(Plan::requests).filter(|request| request.asks_for(key)).count();
        assert_eq!(asked, 1, "{}", key.escape_ascii());
    }
}

/// A part of a product of millions of values is found without visiting the values before it.
#[test]
fn a_part_of_a_huge_product_is_found_at_once() {
    let many = || 0..20_000_u32;
    let plan = Salted::scan().user_any_of(many()).site_any_of(many()).into_plan().unwrap();
    let window = |from: &str, to: &str| KeyRange::new(from, Some(to.into()));
    let part = plan.within(&window("2#0000019999#0000019990", "2#0000019999#0000019995"));
    let ranges: Vec<_> = part.requests().into_iter().flat_map(|request| request.into_rows().1).collect();
    assert!(!ranges.is_empty() && ranges.len() <= 5, "{ranges:?}");
    assert!(plan.within(&window("2#0000020000#", "3#")).is_empty());
    assert!(plan.within(&window("2#0000000007$", "2#0000000008")).is_empty());
}

/// A salt after a field that a plan leaves free: its rows are read in the order of the stored keys.
#[derive(RowKey, Debug, PartialEq)]
#[salt(range = 4, over = "user", after = "user")]
struct InterleavedKey {
    user: String,
    site: String,
}

/// The row after which a part resumes is compared by its whole key. With anything behind it, such as a salt, `a` would come
/// after `a$`.
#[test]
fn of_two_tokens_the_one_further_on_counts() {
    let plan: Plan<InterleavedKey> = InterleavedKey::scan().into_plan().unwrap();
    for (near, far, reversed) in [("a", "a$", false), ("a$", "a", true)] {
        let token = |site: &str| {
            let key = InterleavedKey { user: "alice".into(), site: site.into() };
            plan.page_token(&key.encode().unwrap(), reversed)
        };
        let rest = plan.after(&token(far), reversed).unwrap();
        for (first, second) in [(near, far), (far, near), (far, far)] {
            let part =
                plan.after(&token(first), reversed).and_then(|part| part.after(&token(second), reversed));
            assert_eq!(part.unwrap().requests(), rest.requests(), "{first} {second}");
        }
    }
}

/// Its values may be as what the hash of a plan has between values.
#[test]
fn a_token_is_of_no_other_plan() {
    let site = InterleavedKey::scan().user("alice").site("x").into_plan().unwrap();
    let key = InterleavedKey { user: "alice".into(), site: "x".into() }.encode().unwrap();
    for others in ["field", "home"] {
        let users = InterleavedKey::scan().user_any_of(["alice", others, "x"]).into_plan().unwrap();
        let error = users.after(&site.page_token(&key, false), false).unwrap_err().to_string();
        assert!(error.contains("other constraints"), "{others}: {error}");
    }
}

/// The ends of its range count, and not only that it has some.
#[test]
fn a_token_is_of_one_range() {
    let from = |site: &str| InterleavedKey::scan().user("alice").site_range(site..).into_plan().unwrap();
    let until = |site: &str| InterleavedKey::scan().user("alice").site_range(..site).into_plan().unwrap();
    let key = InterleavedKey { user: "alice".into(), site: "x".into() }.encode().unwrap();
    for (own, other) in [(from("a"), from("b")), (until("y"), until("z"))] {
        let token = own.page_token(&key, false);
        assert!(own.after(&token, false).is_ok());
        let error = other.after(&token, false).unwrap_err().to_string();
        assert!(error.contains("other constraints"), "{error}");
    }
}
