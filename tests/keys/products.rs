//! Lists of values whose product exceeds one request.

use std::collections::BTreeSet;

use keyderive::RowKey;
use keyderive::key::OwnedRowKey;
use keyderive::plan::{Plan, Request};

/// The size of a request that the service accepts.
const REQUEST_LIMIT: usize = 1 << 20;

/// Without a salt.
#[derive(RowKey, Clone, Debug, PartialEq)]
struct Plain {
    user: u32,
    site: u32,
    note: String,
}

/// A salt over the two fields that lists multiply.
#[derive(RowKey, Clone, Debug, PartialEq)]
#[salt(range = 4, over = "user,site")]
pub(crate) struct Salted {
    user: u32,
    site: u32,
    note: String,
}

/// A salt between them.
#[derive(RowKey, Clone, Debug, PartialEq)]
#[salt(range = 3, over = "site", after = "user")]
struct Between {
    user: u32,
    site: u32,
    note: String,
}

fn values() -> impl Iterator<Item = u32> {
    (0..300).map(|value| value * 7)
}

/// The bytes of keys and ranges.
fn len(request: &Request) -> usize {
    let ranges =
        request.ranges().iter().map(|range| range.start().len() + range.end().map_or(0, <[u8]>::len));
    request.keys().iter().map(Vec::len).sum::<usize>() + ranges.sum::<usize>()
}

/// There are no more requests than needed, none is too large, and those of a bucket are in the order of its keys.
#[track_caller]
fn assert_split<K>(plan: &Plan<K>) -> Vec<Request> {
    let requests = plan.requests();
    let buckets: BTreeSet<_> = requests.iter().map(Request::bucket).collect();
    assert!(requests.len() > buckets.len(), "{} requests", requests.len());
    assert!(requests.iter().all(|request| len(request) < REQUEST_LIMIT));
    for bucket in buckets {
        let of_bucket = requests.iter().filter(|request| request.bucket() == bucket);
        let keys: Vec<_> = of_bucket.clone().flat_map(Request::keys).collect();
        assert!(keys.is_sorted_by(|a, b| a < b));
        let ranges: Vec<_> = of_bucket.flat_map(Request::ranges).collect();
        assert!(ranges.is_sorted_by(|a, b| a.end().is_some_and(|end| end <= b.start())));
    }
    requests
}

#[track_caller]
fn assert_asks_for_keys<K: OwnedRowKey>(plan: &Plan<K>, key: impl Fn(u32, u32) -> K) {
    let requests = assert_split(plan);
    let asked: Vec<_> = requests.iter().flat_map(Request::keys).cloned().collect();
    let expected: BTreeSet<_> = values()
        .flat_map(|user| values().map(move |site| (user, site)))
        .map(|(user, site)| key(user, site).encode().unwrap())
        .collect();
    assert_eq!(asked.len(), expected.len());
    assert!(BTreeSet::from_iter(asked) == expected);
}

#[track_caller]
fn assert_asks_for_ranges<K: OwnedRowKey>(plan: &Plan<K>, key: impl Fn(u32, u32, &str) -> K) {
    let requests = assert_split(plan);
    let ranges: Vec<_> = requests.iter().flat_map(Request::ranges).collect();
    assert_eq!(ranges.len(), 300 * 300);
    let asked = |user, site, note| {
        let key = key(user, site, note).encode().unwrap();
        ranges.iter().filter(|range| range.contains(&key)).count()
    };
    for (user, site) in [(0, 0), (0, 2093), (2093, 0), (2093, 2093), (700, 77)] {
        assert_eq!(asked(user, site, "b"), 1);
        assert_eq!(asked(user, site, "a"), 0);
        assert_eq!(asked(user, site + 1, "b"), 0);
        assert_eq!(asked(user + 1, site, "b"), 0);
    }
}

macro_rules! products {
    ($($name:ident $key:ident;)*) => {$(
        #[test]
        fn $name() {
            let scan = || $key::scan().user_any_of(values()).site_any_of(values());
            assert_asks_for_keys(&scan().note("x").into_plan().unwrap(), |user, site| {
                $key { user, site, note: "x".into() }
            });
            assert_asks_for_ranges(&scan().note_range("b"..).into_plan().unwrap(), |user, site, note| {
                $key { user, site, note: note.into() }
            });
        }
    )*};
}

products! {
    plain Plain;
    salted_in_front Salted;
    salted_in_the_middle Between;
}

/// Explaining a huge product takes little time and memory.
#[test]
fn a_huge_product_is_explained_at_once() {
    let many = || 0..20_000_u32;
    let started = std::time::Instant::now();
    let plan = Salted::scan().user_any_of(many()).site_any_of(many()).into_plan().unwrap();
    assert!(!plan.is_empty() && !plan.is_point_read());
    let text = plan.explain().to_string();
    assert!(text.contains("and more that are not counted here"), "{text}");
    assert!(text.len() < 20_000, "{text}");
    assert!(format!("{plan:?}").len() < 10_000);
    assert!(started.elapsed().as_secs() < 20, "{:?}", started.elapsed());
}

/// A late page does not visit the pages before it.
#[test]
fn a_late_page_of_a_huge_product_is_found_at_once() {
    let many = || 0..20_000_u32;
    let started = std::time::Instant::now();
    let plan = Salted::scan().user_any_of(many()).site_any_of(many()).into_plan().unwrap();
    let last = Salted { user: 19_999, site: 10_000, note: "x".into() };
    let token = plan.page_token(&last.encode().unwrap(), false);
    let rest = plan.after(&token, false).unwrap();
    assert!(!rest.is_empty());
    let requests = rest.requests();
    assert_eq!(requests.iter().map(|request| request.ranges().len()).sum::<usize>(), 10_000);
    assert!(!requests.iter().any(|request| request.asks_for(&last.encode().unwrap())));
    let next = Salted { note: "y".into(), ..last };
    assert!(requests.iter().any(|request| request.asks_for(&next.encode().unwrap())));
    assert!(started.elapsed().as_secs() < 20, "{:?}", started.elapsed());
}
