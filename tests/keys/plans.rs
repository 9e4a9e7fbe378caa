//! Plans beyond the law that they are exact: what their errors say, which rows whole keys are, the same plan of a layout as data, and examples.

use std::ops::Bound;

use fastrand::Rng;
use keyderive::RowKey;
use keyderive::dynamic::KeyLayout;
use keyderive::key::Field;
use keyderive::plan::{PlanError, Request};
use keyderive_tests::fuzz::{Input, fuzz};
use proptest::prelude::*;

use crate::key_types::{from_seed, of, siblings};
use crate::keys::{
    Battery, Escaped, Event, Grown, GrownAfter, GrownFront, Integers, Log, Name, Names, OrderedEvent,
    OrderedGrown, OrderedMix, OrderedNames, OrderedResalted, Orders, PageView, Phone, Quote, Resalted,
    Sample, Trade, Visit, each_key, for_every_key,
};
use crate::laws::{Subject as _, check, plan_is_exact};
use crate::stored::asks_for;

/// The law [`plans_are_exact`](crate::laws::plans_are_exact), for keys whose values are texts from an input.
fn by_bytes<K: Sample>(mut input: Input<'_>) {
    let layout = KeyLayout::of::<K>();
    let mut key = || {
        let names = layout.schema().fields().iter().map(Field::name);
        let fields: Vec<_> = names.map(|name| (name, input.text())).collect();
        let bytes = layout.encode(fields.iter().map(|(name, value)| (name, value.as_str()))).ok()?;
        K::decode(&bytes).ok()
    };
    let (Some(lo), Some(hi)) = (key(), key()) else { return };
    let keys: Vec<_> = std::iter::from_fn(key).take(4).chain([lo.clone(), hi.clone()]).collect();
    let stored: Vec<_> = keys.iter().map(|key| (key.encode().unwrap(), key.clone())).collect();
    for constraints in of::<K>().constraints(&keys, [&lo, &hi], &mut Rng::with_seed(0)) {
        plan_is_exact(&of::<K>(), &constraints, &stored).unwrap();
    }
}

#[test]
fn plans() {
    let types = each_key!(
        by_bytes: Event Names Battery Quote Name Orders Escaped OrderedEvent OrderedNames OrderedMix Visit
        Phone PageView Trade Grown Resalted GrownFront GrownAfter OrderedGrown OrderedResalted Log
    );
    fuzz("plans", |bytes| {
        let mut input = Input::new(bytes);
        types[input.below(types.len())](input);
    });
}

/// Law 13: the same layout as data plans, explains, refuses and continues as the key type does.
fn layouts_as_data_plan_the_same<K: Sample>() {
    let inputs =
        (siblings::<K>(1..12), from_seed(K::nasty), from_seed(K::nasty), any::<u64>(), any::<bool>());
    check(&of::<K>(), inputs, |(keys, lo, hi, seed, reversed)| {
        let stored = keys[0].encode().unwrap();
        let mut rng = Rng::with_seed(seed);
        let all = of::<K>().constraints(&keys, [&lo, &hi], &mut rng);
        // About eight: to test all of them takes minutes.
        let step = 1 + all.len() / 8;
        for constraints in all.into_iter().skip(rng.usize(..step)).step_by(step) {
            let (typed, from_data) = match (K::plan(&constraints), K::plan_from_data(&constraints)) {
                (Ok(typed), Ok(from_data)) => (typed, from_data),
                (typed, from_data) => {
                    let typed = typed.map(drop).map_err(|error| error.to_string());
                    prop_assert_eq!(from_data.map(drop).map_err(|error| error.to_string()), typed);
                    continue;
                }
            };
            prop_assert_eq!(from_data.requests(), typed.requests());
            prop_assert_eq!(from_data.explain().to_string(), typed.explain().to_string());
            let token = typed.page_token(&stored, reversed);
            prop_assert_eq!(&from_data.page_token(&stored, reversed), &token);
            let (from_data, typed) = (from_data.after(&token, reversed), typed.after(&token, reversed));
            let from_data = from_data.map(|plan| plan.requests()).map_err(|error| error.to_string());
            prop_assert_eq!(from_data, typed.map(|plan| plan.requests()).map_err(|error| error.to_string()));
        }
        Ok(())
    });
}
for_every_key!(layouts_as_data_plan_the_same);

/// Law 7 for lists: a value that no key can hold is the same error in a list as alone.
fn lists_hold_what_keys_can_hold<K: Sample>() {
    check(&of::<K>(), (from_seed(K::random), from_seed(K::nasty)), |(fixed, odd)| {
        for [alone, among_others] in fixed.with_odd(&odd) {
            prop_assert_eq!(K::plan(&alone).err(), K::plan(&among_others).err());
        }
        Ok(())
    });
}
for_every_key!(lists_hold_what_keys_can_hold);

/// Law 4: a fully fixed key is one row key. Law 7: a fixed value that no key can hold is an error.
fn fixed_keys_are_point_reads_or_errors<K: Sample>() {
    check(&of::<K>(), of::<K>().keys(), |key| {
        match (key.encode(), K::plan(&key.whole())) {
            (Ok(encoded), Ok(plan)) => {
                prop_assert!(plan.is_point_read());
                let [request] = &plan.requests()[..] else { panic!("one request") };
                prop_assert_eq!((request.keys(), request.ranges()), (&[encoded][..], &[][..]));
            }
            (Err(expected), Err(error)) => prop_assert_eq!(PlanError::from(expected), error),
            (encoded, plan) => prop_assert!(false, "{:?} is planned as {:?}", encoded, plan),
        }
        Ok(())
    });
}
for_every_key!(fixed_keys_are_point_reads_or_errors);

/// Inverted and empty ranges make no request, also if only the encoded bounds show that they are empty.
#[test]
#[allow(clippy::reversed_empty_ranges)] // They are the case under test.
fn inverted_and_empty_ranges_send_nothing() {
    let scan = || Event::scan().user_id("alice").site("home");
    for plan in [
        scan().at_range(7..3).into_plan(),
        scan().at_range(7..7).into_plan(),
        scan().at_range((Bound::Excluded(7), Bound::Excluded(8))).into_plan(),
        scan().at_range((Bound::Excluded(7), Bound::Included(7))).into_plan(),
        scan().at_range(u64::MAX..).into_plan(),
        Event::scan().user_id_range("b".."a").into_plan(),
        Event::scan().user_id_prefix("a#").into_plan(),
        // After the same text, each bound has a byte that no `user_id` can hold.
        Event::scan().user_id_range("a ".."a#").into_plan(),
    ] {
        let plan = plan.unwrap();
        assert!(plan.is_empty(), "{plan:?}");
        assert_eq!(plan.requests(), []);
    }
}

/// A prefix that fills a padded field, or has the field's padding in it, selects rows; one that no row can have selects none.
#[test]
fn a_prefix_may_fill_a_padded_field() {
    #[derive(RowKey)]
    struct Stock {
        #[pad(3)]
        symbol: String,
        id: u32,
    }
    for (prefix, symbol, is_read) in [
        ("abc", "abc", true),
        ("a c", "a c", true),
        ("a ", "a c", true),
        ("abcd", "abc", false),
        ("a\n", "a", false),
        ("a\nc", "a c", false),
    ] {
        let plan = Stock::scan().symbol_prefix(prefix).into_plan().unwrap();
        let key = Stock { symbol: symbol.into(), id: 7 }.encode().unwrap();
        assert_eq!(asks_for(&plan.requests(), &key), is_read, "{prefix:?}: {plan:?}");
        assert_eq!(plan.is_empty(), !is_read, "{prefix:?}: {plan:?}");
    }
}

/// Keys without a tag and a salt have no last row: a full scan of them resumes, too.
#[test]
fn a_full_scan_without_an_end_resumes() {
    let key = |first: &str| {
        let key = Names { first: first.into(), second: String::new(), third: String::new() };
        key.encode().unwrap()
    };
    let plan = Names::scan().into_plan().unwrap();
    for reversed in [false, true] {
        let rest = plan.after(&plan.page_token(&key("b"), reversed), reversed).unwrap();
        let read = ["a", "b", "c"].map(|first| asks_for(&rest.requests(), &key(first)));
        assert_eq!(read, [reversed, false, !reversed], "{rest:?}");
    }
}

/// The last bucket has an end too: the range in `3#` ends at `3$`.
#[test]
fn open_ends_are_in_every_bucket() {
    let plan = Event::scan().user_id_range("alice"..).into_plan().unwrap();
    let ranges: Vec<_> = plan.requests().iter().flat_map(Request::ranges).map(ToString::to_string).collect();
    assert_eq!(ranges, [0, 1, 2, 3].map(|bucket| format!("[{bucket}#alice, {bucket}$)")));
}

#[test]
fn a_bound_over_the_longest_key_is_a_place_between_keys() {
    let long = "b".repeat(5000);
    let plan = Names::scan().first_range(..long.as_str()).into_plan().unwrap();
    let key = |first: &str| Names { first: first.into(), second: String::new(), third: String::new() };
    assert!(asks_for(&plan.requests(), &key(&"b".repeat(4094)).encode().unwrap()));
    assert!(!asks_for(&plan.requests(), &key("c").encode().unwrap()));
    assert!(plan.requests()[0].ranges()[0].end().is_some_and(|end| end.len() <= 4096));
}

/// Bounds that differ only after 4096 bytes are equal for row keys: the range makes no request, since a server would reject
/// it.
#[test]
fn a_range_between_bounds_over_the_longest_key_sends_nothing() {
    let (long, longer) = ("b".repeat(5000), "b".repeat(5001));
    let plan = Names::scan().first_range(long.as_str()..longer.as_str()).into_plan().unwrap();
    assert_eq!(plan.requests(), []);
    assert!(plan.is_empty());
}

/// An empty range does not enumerate the products of the lists.
#[test]
#[allow(clippy::reversed_empty_ranges)] // It is the case under test.
fn an_inverted_range_after_a_huge_product_sends_nothing_at_once() {
    let scan =
        Integers::scan().a_any_of(0..=u8::MAX).b_any_of(0..=u16::MAX).c_any_of(0..100_000).d_range(7..3);
    let plan = scan.into_plan().unwrap();
    assert!(plan.is_empty());
    assert_eq!(plan.requests(), []);
}
