//! Laws 3, 4 and 7 of plans: they read exactly the rows that satisfy the constraints, whatever keys there are.

use std::ops::{Bound, RangeBounds as _};

use keyderive::RowKey;
use keyderive::dynamic::KeyLayout;
use keyderive::key::{Field, KeySchema};
use keyderive::plan::{KeyRange, Plan, PlanError, Request};
use keyderive_tests::fuzz::{Input, fuzz};
use proptest::prelude::*;

use crate::keys::{
    Battery, Escaped, Event, Grown, GrownAfter, GrownFront, Integers, Log, Name, Names, OrderedEvent,
    OrderedGrown, OrderedMix, OrderedNames, OrderedResalted, Orders, PageView, Phone, Quote, Resalted,
    Sample, Trade, Visit, check, for_every_key,
};
use crate::stored::{asks_for, logical, salt_span};

/// A plan, and a predicate of the keys it selects.
pub(crate) struct Candidate<K> {
    pub(crate) plan: Planned<K>,
    pub(crate) satisfied: Box<dyn Fn(&K) -> bool>,
}

type Planned<K> = Result<Plan<K>, PlanError>;

/// The most fields of any key type here.
const MOST_FIELDS: usize = 10;

/// Every plan over the values of some keys: fields fixed as in `fixed` or to a list of values, then nothing, every kind of
/// range from `lo` to `hi`, or the prefix `lo`.
pub(crate) trait Candidates: Sized {
    fn candidates(fixed: &Self, lo: &Self, hi: &Self) -> Vec<Candidate<Self>>;

    fn candidates_of_lists(lists: &[Vec<Self>], lo: &Self, hi: &Self) -> Vec<Candidate<Self>>;

    /// For each field, the plans that fix it to the value of `odd`, after the values of `fixed` left of it: alone, and in a
    /// list.
    fn refusals(fixed: &Self, odd: &Self) -> Vec<(Planned<Self>, Planned<Self>)>;
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

            fn candidates_of_lists(lists: &[Vec<Self>], lo: &Self, hi: &Self) -> Vec<Candidate<Self>> {
                let mut all = Vec::new();
                let values = (lists, lo, hi);
                candidates!(@lists all values ($key::scan()) [] (0) $($fields)*);
                all
            }

            fn refusals(fixed: &Self, odd: &Self) -> Vec<(Planned<Self>, Planned<Self>)> {
                let mut all = Vec::new();
                let values = (fixed, odd);
                candidates!(@refusals all values ($key::scan()) $($fields)*);
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
        fixed $next:ident $range:ident $prefix:ident $any_of:ident; $($rest:tt)*
    ) => {
        candidates!(@push $all $values ($scan) [$($fixed)*] |_key| true);
        candidates!(@fields $all $values ($scan.$next($values.0.$next)) [$($fixed)* $next] $($rest)*);
    };
    (@fields $all:ident $values:ident ($scan:expr) [$($fixed:ident)*]
        $kind:ident $next:ident $range:ident $prefix:ident $any_of:ident; $($rest:tt)*
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
    (@lists $all:ident $values:ident ($scan:expr) [$($fixed:ident $at:expr;)*] ($next_at:expr)) => {
        candidates!(@push_lists $all $values ($scan) [$($fixed $at;)*] |_key| true);
    };
    (@lists $all:ident $values:ident ($scan:expr) [$($fixed:ident $at:expr;)*] ($next_at:expr)
        $kind:ident $next:ident $range:ident $prefix:ident $any_of:ident; $($rest:tt)*
    ) => {
        candidates!(@push_lists $all $values ($scan) [$($fixed $at;)*] |_key| true);
        candidates!(@ends $kind $all $values ($scan) [$($fixed $at;)*] $next $range $prefix);
        candidates!(
            @lists $all $values
            ($scan.$any_of($values.0[$next_at].iter().map(|one| candidates!(@value $kind one.$next))))
            [$($fixed $at;)* $next $next_at;] ($next_at + 1) $($rest)*
        );
    };
    (@ends fixed $($rest:tt)*) => {};
    (@ends $kind:ident $all:ident $values:ident ($scan:expr) [$($fixed:tt)*] $next:ident $range:ident $prefix:ident) => {
        for bounds in bounds(&$values.1.$next, &$values.2.$next) {
            let range = (candidates!(@bound $kind bounds.0), candidates!(@bound $kind bounds.1));
            candidates!(@push_lists $all $values ($scan.$range(range)) [$($fixed)*] |key| bounds.contains(&key.$next));
        }
        candidates!(@list_prefix $kind $all $values ($scan) [$($fixed)*] $next $prefix);
    };
    (@list_prefix number $($rest:tt)*) => {};
    (@list_prefix array $($rest:tt)*) => {};
    (@list_prefix $kind:ident $all:ident $values:ident ($scan:expr) [$($fixed:tt)*] $next:ident $method:ident) => {
        let prefix = $values.1.$next.clone();
        candidates!(
            @push_lists $all $values ($scan.$method(&prefix)) [$($fixed)*] |key| key.$next.starts_with(&prefix)
        );
    };
    (@push_lists $all:ident $values:ident ($scan:expr) [$($fixed:ident $at:expr;)*] |$key:ident| $also:expr) => {{
        let plan = $scan.into_plan();
        let lists = $values.0.to_vec();
        let satisfied = Box::new(move |$key: &Self| {
            let _ = &lists;
            true $(&& lists[$at].iter().any(|one| one.$fixed == $key.$fixed))* && $also
        });
        $all.push(Candidate { plan, satisfied });
    }};
    (@refusals $all:ident $values:ident ($scan:expr)) => {};
    (@refusals $all:ident $values:ident ($scan:expr)
        $kind:ident $next:ident $range:ident $prefix:ident $any_of:ident; $($rest:tt)*
    ) => {
        let [fixed, odd] = [&$values.0, &$values.1].map(|key| candidates!(@value $kind key.$next));
        $all.push(($scan.$next(odd).into_plan(), $scan.$any_of([fixed, odd, fixed]).into_plan()));
        candidates!(@refusals $all $values ($scan.$next(fixed)) $($rest)*);
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
    (@value fixed $value:expr) => { $value };
    (@value text $value:expr) => { $value.as_str() };
    (@value bytes $value:expr) => { $value.as_slice() };
    (@value array $value:expr) => { &$value };
    (@bound text $value:expr) => { $value.as_ref().map(String::as_str) };
    (@bound bytes $value:expr) => { $value.as_ref().map(Vec::as_slice) };
    (@bound array $value:expr) => { $value.as_ref() };
    (@bound number $value:expr) => { $value };
}

candidates! {
    Event {
        text user_id user_id_range user_id_prefix user_id_any_of;
        text site site_range site_prefix site_any_of;
        number at at_range at_prefix at_any_of;
        number seq seq_range seq_prefix seq_any_of;
    }
    Names {
        text first first_range first_prefix first_any_of;
        text second second_range second_prefix second_any_of;
        text third third_range third_prefix third_any_of;
    }
    Integers {
        number a a_range a_prefix a_any_of;
        number b b_range b_prefix b_any_of;
        number c c_range c_prefix c_any_of;
        number d d_range d_prefix d_any_of;
        number e e_range e_prefix e_any_of;
        number f f_range f_prefix f_any_of;
        number g g_range g_prefix g_any_of;
        number h h_range h_prefix h_any_of;
        number i i_range i_prefix i_any_of;
        number j j_range j_prefix j_any_of;
    }
    Battery {
        text user user_range user_prefix user_any_of;
        number level level_range level_prefix level_any_of;
        number at at_range at_prefix at_any_of;
    }
    Quote {
        text exchange exchange_range exchange_prefix exchange_any_of;
        text symbol symbol_range symbol_prefix symbol_any_of;
        number at at_range at_prefix at_any_of;
    }
    Name {
        text name name_range name_prefix name_any_of;
    }
    Orders {
        number a a_range a_prefix a_any_of;
        number b b_range b_prefix b_any_of;
        number c c_range c_prefix c_any_of;
        number d d_range d_prefix d_any_of;
        number e e_range e_prefix e_any_of;
        number f f_range f_prefix f_any_of;
        fixed g g_range g_prefix g_any_of;
    }
    Escaped {
        text name name_range name_prefix name_any_of;
        bytes blob blob_range blob_prefix blob_any_of;
        number letter letter_range letter_prefix letter_any_of;
        array pair pair_range pair_prefix pair_any_of;
        text note note_range note_prefix note_any_of;
    }
    OrderedEvent {
        text user user_range user_prefix user_any_of;
        number at at_range at_prefix at_any_of;
        number rank rank_range rank_prefix rank_any_of;
        bytes blob blob_range blob_prefix blob_any_of;
        text note note_range note_prefix note_any_of;
    }
    OrderedNames {
        text first first_range first_prefix first_any_of;
        text second second_range second_prefix second_any_of;
        text third third_range third_prefix third_any_of;
    }
    OrderedMix {
        text name name_range name_prefix name_any_of;
        number count count_range count_prefix count_any_of;
        number flag flag_range flag_prefix flag_any_of;
        number id id_range id_prefix id_any_of;
        text last last_range last_prefix last_any_of;
    }
    Visit {
        number day day_range day_prefix day_any_of;
        number id id_range id_prefix id_any_of;
        number begin begin_range begin_prefix begin_any_of;
        number end end_range end_prefix end_any_of;
        number stored stored_range stored_prefix stored_any_of;
    }
    Phone {
        text device device_range device_prefix device_any_of;
        number date date_range date_prefix date_any_of;
    }
    PageView {
        text user user_range user_prefix user_any_of;
        text page page_range page_prefix page_any_of;
    }
    Trade {
        number exchange exchange_range exchange_prefix exchange_any_of;
        text symbol symbol_range symbol_prefix symbol_any_of;
        number at at_range at_prefix at_any_of;
        text id id_range id_prefix id_any_of;
    }
    Grown {
        text user_id user_id_range user_id_prefix user_id_any_of;
        text site site_range site_prefix site_any_of;
        number at at_range at_prefix at_any_of;
        number seq seq_range seq_prefix seq_any_of;
    }
    Resalted {
        text host host_range host_prefix host_any_of;
        number day day_range day_prefix day_any_of;
        number rack rack_range rack_prefix rack_any_of;
    }
    GrownFront {
        text user user_range user_prefix user_any_of;
        number level level_range level_prefix level_any_of;
        number at at_range at_prefix at_any_of;
    }
    GrownAfter {
        number exchange exchange_range exchange_prefix exchange_any_of;
        text symbol symbol_range symbol_prefix symbol_any_of;
        text id id_range id_prefix id_any_of;
        number at at_range at_prefix at_any_of;
    }
    OrderedGrown {
        text user user_range user_prefix user_any_of;
        text note note_range note_prefix note_any_of;
        number at at_range at_prefix at_any_of;
        number rank rank_range rank_prefix rank_any_of;
    }
    OrderedResalted {
        text user user_range user_prefix user_any_of;
        number at at_range at_prefix at_any_of;
    }
    Log {
        number at at_range at_prefix at_any_of;
        array id id_range id_prefix id_any_of;
    }
}

/// Every pair of kinds of bounds on two values.
fn bounds<T: Clone>(lo: &T, hi: &T) -> Vec<(Bound<T>, Bound<T>)> {
    let kinds =
        |value: &T| [Bound::Included(value.clone()), Bound::Excluded(value.clone()), Bound::Unbounded];
    kinds(lo).into_iter().flat_map(|lower| kinds(hi).map(|upper| (lower.clone(), upper))).collect()
}

/// Law 3: a plan reads exactly the keys that satisfy its constraints. The fixed fields come from the first key, which can be stored, the
/// bounds from values that need not be storable.
fn each_plan_is_exact<K: Sample + Candidates>((keys, lo, hi): &(Vec<K>, K, K)) -> Result<(), TestCaseError> {
    for candidate in K::candidates(&keys[0], lo, hi) {
        let Ok(plan) = &candidate.plan else {
            prop_assert!(keys[0].encode().is_err(), "{:?}", candidate.plan);
            continue;
        };
        let (requests, prefixes) = (plan.requests(), plan.prefixes());
        for key in keys {
            let Ok(encoded) = key.encode() else { continue };
            let satisfied = (candidate.satisfied)(key);
            prop_assert_eq!(asks_for(&requests, &encoded), satisfied, "{:?} {:?}", plan, key);
            // The prefixes hold exactly the rows that the plan reads.
            let dropped = prefixes.iter().flatten().any(|prefix| encoded.starts_with(prefix));
            prop_assert_eq!(
                prefixes.is_some() && dropped,
                prefixes.is_some() && satisfied,
                "{:?} {:?}",
                plan,
                key
            );
        }
    }
    Ok(())
}

fn plans_are_exact<K: Sample + Candidates>() {
    let bound = || prop_oneof![K::key(), K::nasty()];
    let keys = prop::collection::vec(K::key(), 1..12);
    check((keys, bound(), bound()), |keys_and_bounds| each_plan_is_exact(&keys_and_bounds));
}
for_every_key!(plans_are_exact);

/// The same, for keys whose values are texts from an input.
fn by_bytes<K: Sample + Candidates>(mut input: Input<'_>) {
    let layout = KeyLayout::of::<K>();
    let mut key = || {
        let names = layout.schema().fields().iter().map(Field::name);
        let fields: Vec<_> = names.map(|name| (name, input.text())).collect();
        let bytes = layout.encode(fields.iter().map(|(name, value)| (name, value.as_str()))).ok()?;
        K::decode(&bytes).ok()
    };
    let (Some(lo), Some(hi)) = (key(), key()) else { return };
    let keys = std::iter::from_fn(key).take(4).chain([lo.clone(), hi.clone()]).collect();
    each_plan_is_exact(&(keys, lo, hi)).unwrap();
}

#[test]
fn plans() {
    let types = [
        by_bytes::<Event>,
        by_bytes::<Names>,
        by_bytes::<Battery>,
        by_bytes::<Quote>,
        by_bytes::<Name>,
        by_bytes::<Orders>,
        by_bytes::<Escaped>,
        by_bytes::<OrderedEvent>,
        by_bytes::<OrderedNames>,
        by_bytes::<OrderedMix>,
        by_bytes::<Visit>,
        by_bytes::<Phone>,
        by_bytes::<PageView>,
        by_bytes::<Trade>,
        by_bytes::<Grown>,
        by_bytes::<Resalted>,
        by_bytes::<GrownFront>,
        by_bytes::<GrownAfter>,
        by_bytes::<OrderedGrown>,
        by_bytes::<OrderedResalted>,
        by_bytes::<Log>,
    ];
    fuzz("plans", |bytes| {
        let mut input = Input::new(bytes);
        types[input.below(types.len())](input);
    });
}

/// For each field, the indexes of the keys whose values are in its list: often one, sometimes none, some twice.
pub(crate) fn picks() -> impl Strategy<Value = Vec<Vec<prop::sample::Index>>> {
    let index = || any::<prop::sample::Index>();
    let list = prop_oneof![
        6 => prop::collection::vec(index(), 1..4),
        6 => prop::collection::vec(index(), 4..8),
        1 => Just(Vec::new()),
    ];
    prop::collection::vec(list, MOST_FIELDS)
}

/// The lists of keys at these indexes, shortened so that their product is at most 60.
pub(crate) fn lists<K: Clone>(picks: &[Vec<prop::sample::Index>], keys: &[K]) -> Vec<Vec<K>> {
    let mut room = 60;
    let list = |list: &Vec<prop::sample::Index>| -> Vec<K> {
        let all = list.iter().map(|index| index.get(keys).clone());
        let list: Vec<_> = all.take(room).collect();
        room /= list.len().max(1);
        list
    };
    picks.iter().map(list).collect()
}

/// Whether all keys and ranges of one request come before those of the other.
fn is_before(request: &Request, later: &Request) -> bool {
    let start = later.keys().first().map(Vec::as_slice).or(later.ranges().first().map(KeyRange::start));
    let key = request.keys().last().map(Vec::as_slice);
    let end = request.ranges().last().map(KeyRange::end);
    key.is_none_or(|key| Some(key) < start) && end.is_none_or(|end| end.is_some() && end <= start)
}

/// Whether the keys and ranges of each request are ascending and do not overlap, and no request is empty.
fn are_ascending(requests: &[Request]) -> Result<(), TestCaseError> {
    for request in requests {
        let (keys, ranges) = (request.keys(), request.ranges());
        prop_assert!(!keys.is_empty() || !ranges.is_empty(), "{request:?} asks for nothing");
        prop_assert!(keys.is_sorted_by(|a, b| a < b), "{request:?}");
        prop_assert!(ranges.is_sorted_by(|a, b| a.end().is_some_and(|end| end <= b.start())), "{request:?}");
        prop_assert!(!ranges.iter().any(KeyRange::is_empty), "{request:?}");
        prop_assert!(!ranges.iter().any(|range| keys.iter().any(|key| range.contains(key))), "{request:?}");
    }
    for (at, request) in requests.iter().enumerate() {
        let bucket = |request: &Request| (request.bucket(), request.bucket_digits());
        let mut later = requests[at + 1..].iter().filter(|later| bucket(later) == bucket(request));
        prop_assert!(later.all(|later| is_before(request, later)), "{requests:?}");
    }
    Ok(())
}

/// Law 3 with lists of values at every depth: a plan reads exactly the rows that have one of the values in each of the
/// fields, each row once.
fn lists_are_exact<K: Sample + Candidates>() {
    let bound = || prop_oneof![K::key(), K::nasty()];
    check((prop::collection::vec(K::key(), 1..12), picks(), bound(), bound()), |(keys, picks, lo, hi)| {
        for candidate in K::candidates_of_lists(&lists(&picks, &keys), &lo, &hi) {
            // Each value is storable, but several together may be too long for a key.
            let Ok(plan) = &candidate.plan else {
                prop_assert!(keys.iter().any(|key| key.encode().is_err()), "{:?}", candidate.plan);
                continue;
            };
            let requests = plan.requests();
            are_ascending(&requests)?;
            prop_assert_eq!(plan.is_empty(), requests.is_empty(), "{:?}", plan);
            for key in &keys {
                let Ok(encoded) = key.encode() else { continue };
                let asked = asks_for(&requests, &encoded);
                prop_assert_eq!(asked, (candidate.satisfied)(key), "{:?} {:?}", plan, key);
            }
        }
        Ok(())
    });
}
for_every_key!(lists_are_exact);

/// Law 7 for lists: a value that no key can hold is the same error in a list as alone.
fn lists_hold_what_keys_can_hold<K: Sample + Candidates>() {
    check((K::key(), K::nasty()), |(fixed, odd)| {
        if fixed.encode().is_err() {
            return Ok(());
        }
        for (alone, among_others) in K::refusals(&fixed, &odd) {
            prop_assert_eq!(alone.err(), among_others.err());
        }
        Ok(())
    });
}
for_every_key!(lists_hold_what_keys_can_hold);

/// The parts of a row key before and after its salt.
fn around_salt(schema: &KeySchema, key: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let salt = salt_span(schema, key);
    (key[..salt.start].to_vec(), key[salt.end..].to_vec())
}

/// The rows are in the order that the plan claims: merged by the parts of the key before and after the salt, they are in
/// the order of their logical keys.
fn requests_merge_into_logical_order<K: Sample + Candidates>() {
    check((prop::collection::vec(K::key(), 2..12), picks()), |(keys, picks)| {
        let of_lists = K::candidates_of_lists(&lists(&picks, &keys), &keys[0], &keys[1]);
        for candidate in K::candidates(&keys[0], &keys[0], &keys[1]).into_iter().chain(of_lists) {
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
