//! Laws 3, 4 and 7 of plans: exactly the rows that satisfy the constraints, over any keys.

use std::ops::{Bound, RangeBounds as _};

use keyderive::RowKey;
use keyderive::key::Schema;
use keyderive::plan::{Plan, PlanError, Request};
use proptest::prelude::*;

use crate::keys::{
    Battery, Escaped, Event, Integers, Name, Names, OrderedEvent, OrderedMix, OrderedNames, Orders, PageView,
    Phone, Quote, Sample, Trade, Visit, check, for_every_key, logical, salt_span,
};

/// A plan, and what it means in words of the key's values.
struct Candidate<K> {
    plan: Result<Plan<K>, PlanError>,
    satisfied: Box<dyn Fn(&K) -> bool>,
}

/// Every plan that can be made of three keys' values: fields fixed as in `fixed`, and behind them
/// nothing, every kind of range from `lo` to `hi`, or the prefix `lo`.
trait Candidates: Sized {
    fn candidates(fixed: &Self, lo: &Self, hi: &Self) -> Vec<Candidate<Self>>;
}

macro_rules! candidates {
    ($($key:ident { $($fields:tt)* })*) => {$(
        impl Candidates for $key {
            fn candidates(fixed: &Self, lo: &Self, hi: &Self) -> Vec<Candidate<Self>> {
                let mut all = Vec::new();
                let values = (fixed, lo, hi);
                candidates!(@fields all values ($key::scan()) [] $($fields)*);
                all
            }
        }
    )*};
    // All fields are fixed: a point read.
    (@fields $all:ident $values:ident ($scan:expr) [$($fixed:ident)*]) => {
        candidates!(@push $all $values ($scan) [$($fixed)*] |_key| true);
    };
    // No range and no prefix.
    (@fields $all:ident $values:ident ($scan:expr) [$($fixed:ident)*]
        fixed $next:ident $range:ident $prefix:ident; $($rest:tt)*
    ) => {
        candidates!(@push $all $values ($scan) [$($fixed)*] |_key| true);
        candidates!(@fields $all $values ($scan.$next($values.0.$next)) [$($fixed)* $next] $($rest)*);
    };
    (@fields $all:ident $values:ident ($scan:expr) [$($fixed:ident)*]
        $kind:ident $next:ident $range:ident $prefix:ident; $($rest:tt)*
    ) => {
        candidates!(@push $all $values ($scan) [$($fixed)*] |_key| true);
        for bounds in bounds(&$values.1.$next, &$values.2.$next) {
            let range = (candidates!(@bound $kind bounds.0), candidates!(@bound $kind bounds.1));
            candidates!(@push $all $values ($scan.$range(range)) [$($fixed)*] |key| bounds.contains(&key.$next));
        }
        candidates!(@prefix $kind $all $values ($scan) [$($fixed)*] $next $prefix);
        candidates!(
            @fields $all $values ($scan.$next(candidates!(@value $kind $values.0.$next))) [$($fixed)* $next] $($rest)*
        );
    };
    (@prefix number $($rest:tt)*) => {};
    (@prefix array $($rest:tt)*) => {};
    (@prefix $kind:ident $all:ident $values:ident ($scan:expr) [$($fixed:ident)*] $next:ident $method:ident) => {
        let prefix = $values.1.$next.clone();
        candidates!(
            @push $all $values ($scan.$method(&prefix)) [$($fixed)*] |key| key.$next.starts_with(&prefix)
        );
    };
    (@push $all:ident $values:ident ($scan:expr) [$($fixed:ident)*] |$key:ident| $also:expr) => {{
        let plan = $scan.into_plan();
        let values = $values.0.clone();
        let satisfied = Box::new(move |$key: &Self| {
            let _ = &values;
            true $(&& $key.$fixed == values.$fixed)* && $also
        });
        $all.push(Candidate { plan, satisfied });
    }};
    (@value number $value:expr) => { $value };
    (@value $kind:ident $value:expr) => { &$value };
    (@bound text $value:expr) => { $value.as_ref().map(String::as_str) };
    (@bound bytes $value:expr) => { $value.as_ref().map(Vec::as_slice) };
    (@bound array $value:expr) => { $value.as_ref() };
    (@bound number $value:expr) => { $value };
}

candidates! {
    Event {
        text user_id user_id_range user_id_prefix;
        text site site_range site_prefix;
        number at at_range at_prefix;
        number seq seq_range seq_prefix;
    }
    Names {
        text first first_range first_prefix;
        text second second_range second_prefix;
        text third third_range third_prefix;
    }
    Integers {
        number a a_range a_prefix;
        number b b_range b_prefix;
        number c c_range c_prefix;
        number d d_range d_prefix;
        number e e_range e_prefix;
        number f f_range f_prefix;
        number g g_range g_prefix;
        number h h_range h_prefix;
        number i i_range i_prefix;
        number j j_range j_prefix;
    }
    Battery {
        text user user_range user_prefix;
        number level level_range level_prefix;
        number at at_range at_prefix;
    }
    Quote {
        text exchange exchange_range exchange_prefix;
        text symbol symbol_range symbol_prefix;
        number at at_range at_prefix;
    }
    Name {
        text name name_range name_prefix;
    }
    Orders {
        number a a_range a_prefix;
        number b b_range b_prefix;
        number c c_range c_prefix;
        number d d_range d_prefix;
        number e e_range e_prefix;
        number f f_range f_prefix;
        fixed g g_range g_prefix;
    }
    Escaped {
        text name name_range name_prefix;
        bytes blob blob_range blob_prefix;
        number letter letter_range letter_prefix;
        array pair pair_range pair_prefix;
        text note note_range note_prefix;
    }
    OrderedEvent {
        text user user_range user_prefix;
        number at at_range at_prefix;
        number rank rank_range rank_prefix;
        bytes blob blob_range blob_prefix;
        text note note_range note_prefix;
    }
    OrderedNames {
        text first first_range first_prefix;
        text second second_range second_prefix;
        text third third_range third_prefix;
    }
    OrderedMix {
        text name name_range name_prefix;
        number count count_range count_prefix;
        number flag flag_range flag_prefix;
        number id id_range id_prefix;
        text last last_range last_prefix;
    }
    Visit {
        number day day_range day_prefix;
        number id id_range id_prefix;
        number begin begin_range begin_prefix;
        number end end_range end_prefix;
        number stored stored_range stored_prefix;
    }
    Phone {
        text device device_range device_prefix;
        number date date_range date_prefix;
    }
    PageView {
        text user user_range user_prefix;
        text page page_range page_prefix;
    }
    Trade {
        number exchange exchange_range exchange_prefix;
        text symbol symbol_range symbol_prefix;
        number at at_range at_prefix;
        text id id_range id_prefix;
    }
}

/// Every pair of kinds of bounds on two values.
fn bounds<T: Clone>(lo: &T, hi: &T) -> Vec<(Bound<T>, Bound<T>)> {
    let kinds =
        |value: &T| [Bound::Included(value.clone()), Bound::Excluded(value.clone()), Bound::Unbounded];
    kinds(lo).into_iter().flat_map(|lower| kinds(hi).map(|upper| (lower.clone(), upper))).collect()
}

/// Whether some request of a plan asks for this row key.
pub(crate) fn asks_for(requests: &[Request], key: &[u8]) -> bool {
    let keys = requests.iter().flat_map(Request::keys).filter(|asked| *asked == key).count();
    let ranges = requests.iter().flat_map(Request::ranges).filter(|range| range.contains(key)).count();
    // No row is asked for twice.
    match keys + ranges {
        0 => false,
        1 => true,
        more => panic!("one row is asked for {more} times"),
    }
}

/// Law 3: of any keys, a plan asks for exactly those that satisfy its constraints. The fixed fields come
/// from a key that can be stored, the bounds from values that need not be.
fn plans_are_exact<K: Sample + Candidates>() {
    let bound = || prop_oneof![K::key(), K::nasty()];
    check((prop::collection::vec(K::key(), 1..12), bound(), bound()), |(keys, lo, hi)| {
        for candidate in K::candidates(&keys[0], &lo, &hi) {
            let Ok(plan) = &candidate.plan else {
                prop_assert!(keys[0].encode().is_err(), "{:?}", candidate.plan);
                continue;
            };
            let requests = plan.requests();
            for key in &keys {
                let Ok(encoded) = key.encode() else { continue };
                prop_assert_eq!(
                    asks_for(&requests, &encoded),
                    (candidate.satisfied)(key),
                    "{:?} {:?}",
                    plan,
                    key
                );
            }
        }
        Ok(())
    });
}
for_every_key!(plans_are_exact);

/// What stands in front of a row key's salt, and behind it.
fn around_salt(schema: &Schema, key: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let salt = salt_span(schema, key);
    (key[..salt.start].to_vec(), key[salt.end..].to_vec())
}

/// What a plan says of the order of its rows is so: merged by what stands in front of the salt and then by what stands
/// behind it, rows are in the order of their logical keys.
fn requests_merge_into_logical_order<K: Sample + Candidates>() {
    check(prop::collection::vec(K::key(), 2..12), |keys| {
        for candidate in K::candidates(&keys[0], &keys[0], &keys[1]) {
            let Ok(plan) = &candidate.plan else { continue };
            let mut rows = Vec::new();
            for request in plan.requests() {
                let encoded = keys.iter().filter_map(|key| key.encode().ok());
                let here = encoded.filter(|key| plan.is_ordered() && request.asks_for(key));
                rows.extend(here.map(|key| (around_salt(K::SCHEMA, &key), logical(K::SCHEMA, &key))));
            }
            rows.sort();
            prop_assert!(rows.is_sorted_by_key(|(_, logical)| logical), "{:?}", plan);
        }
        Ok(())
    });
}
for_every_key!(requests_merge_into_logical_order);

/// Law 4: a fully fixed key is one row key. Law 7: a fixed value that no key can hold is an error.
fn fixed_keys_are_point_reads_or_errors<K: Sample + Candidates>() {
    check(prop_oneof![K::key(), K::nasty()], |key| {
        let candidates = K::candidates(&key, &key, &key);
        let whole = candidates.last().expect("the fully fixed plan comes last");
        match (key.encode(), &whole.plan) {
            (Ok(encoded), Ok(plan)) => {
                prop_assert!(plan.is_point_read());
                let [request] = &plan.requests()[..] else { panic!("one request") };
                prop_assert_eq!((request.keys(), request.ranges()), (&[encoded][..], &[][..]));
            }
            (Err(expected), Err(error)) => prop_assert_eq!(&PlanError::from(expected), error),
            (encoded, plan) => prop_assert!(false, "{:?} is planned as {:?}", encoded, plan),
        }
        Ok(())
    });
}
for_every_key!(fixed_keys_are_point_reads_or_errors);

/// Inverted and empty ranges ask for nothing, also where only the merged bounds show it.
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
        // Both bounds hold bytes that no user does, behind the same text.
        Event::scan().user_id_range("a ".."a#").into_plan(),
    ] {
        let plan = plan.unwrap();
        assert!(plan.is_empty(), "{plan:?}");
        assert_eq!(plan.requests(), []);
    }
}

/// The end of the last bucket is asked for too: a key type with one digit of buckets ends at `3#`, `3$`.
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
