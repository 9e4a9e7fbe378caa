//! The distinct values of the first fields of keys: beside the values of all keys, in every layout, with few and with many rows
//! each; beside writers, lost streams and dropped scans.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use keyderive::client::ReadStats;
use keyderive::embedded::{Bigtable, Faults, Method};
use keyderive::key::OwnedRowKey;
use keyderive::plan::Plan;
use keyderive::{Client, ErrorKind, OnForeign, RowKey, Table};
use keyderive_tests::fixtures::{created, fails};

use crate::servers::on_every_bigtable;

type Columns = BTreeMap<String, i64>;

/// A key of a user, a site and a number.
trait VisitKey: OwnedRowKey + Clone + PartialEq + std::fmt::Debug {
    fn new(user: &str, site: &str, number: u16) -> Self;
    /// The first fields.
    fn values(&self, count: usize) -> (String, String, u16);
    fn plans() -> Vec<Plan<Self>>;
}

macro_rules! keys {
    ($($test:ident: $(#[$attribute:meta])* $key:ident;)*) => {
        $(
            #[derive(RowKey, Clone, Debug, PartialEq)]
            $(#[$attribute])*
            struct $key {
                user: String,
                site: String,
                number: u16,
            }

            impl VisitKey for $key {
                fn new(user: &str, site: &str, number: u16) -> Self {
                    Self { user: user.into(), site: site.into(), number }
                }

                fn values(&self, count: usize) -> (String, String, u16) {
                    let site = if count > 1 { self.site.clone() } else { String::new() };
                    (self.user.clone(), site, if count > 2 { self.number } else { 0 })
                }

                fn plans() -> Vec<Plan<Self>> {
                    [
                        Self::scan().into_plan(),
                        Self::scan().user_range("a".."b").into_plan(),
                        Self::scan().user_prefix("a").into_plan(),
                        Self::scan().user("a").into_plan(),
                        Self::scan().user_any_of(["b", "", "a", "none"]).into_plan(),
                        Self::scan().user_any_of(["a", "a0", "ab"]).site_prefix("a").into_plan(),
                        Self::scan().user_any_of(["a", "b"]).site_any_of(["", "a", "b"]).number_range(3..).into_plan(),
                        Self::scan().user("b").site("a").number_any_of([0, 1, 700]).into_plan(),
                    ]
                    .map(Result::unwrap)
                    .into()
                }
            }

            async fn $test(client: Client) {
                values_are_those_of_all_keys::<$key>(client).await;
            }
        )*
        on_every_bigtable! {
            $($test)*
            foreign_rows_are_skipped_or_fail
            filters_choose_among_the_rows_first
            a_wrong_number_of_fields_is_an_error
            a_page_resumes_after_a_value_left_of_the_salt
            a_page_of_interleaved_buckets_is_an_error
        }
    };
}

keys! {
    unsalted: Unsalted;
    unsalted_with_a_tag: #[row_key(tag = "VISIT")] Tagged;
    each_value_in_a_bucket: #[salt(range = 5, over = "user")] ByUser;
    values_in_every_bucket: #[row_key(tag = "VISIT")] #[salt(range = 5)] Spread;
    in_front_of_a_tag: #[row_key(tag = "VISIT")] #[salt(range = 11, position = "front", over = "site")] Front;
    by_javas_hash: #[salt(range = 3, sep = "-", hash = "java")] Java;
    after_the_first_field: #[salt(range = 4, over = "number", after = "user")] AfterUser;
    after_the_first_field_by_the_second: #[salt(range = 4, over = "site", after = "user", sep = "/")] AfterUserBySite;
    after_the_second_field: #[row_key(tag = "VISIT")] #[salt(range = 3, over = "user,number", after = "site")] AfterSite;
    ordered: #[row_key(layout = "ordered")] OrderedUnsalted;
    ordered_with_a_tag: #[row_key(layout = "ordered", tag = "VISIT")] OrderedTagged;
    ordered_and_salted: #[row_key(layout = "ordered", tag = "VISIT")] #[salt(range = 70, over = "site")] OrderedSalted;
    salted_since: #[salt(range = 4, sep = "!", since(number = 500))] Since;
    salted_after_a_field_since: #[salt(range = 4, over = "number", after = "user", sep = "!", since(number = 200))] AfterSince;
    ordered_and_salted_since: #[row_key(layout = "ordered")] #[salt(range = 3, over = "user")] #[salt(range = 9, over = "site", since(number = 200))] OrderedSince;
    salted_again_since: #[salt(range = 2, over = "user")] #[salt(range = 5, since(number = 300))] Again;
}

const NAMES: [&str; 7] = ["", "a", "a$", "a0", "ab", "b", "\u{10ffff}"];

/// Values of one row and of many, so that scans both read on and seek.
fn rows<K: VisitKey>(rng: &mut fastrand::Rng) -> Vec<K> {
    let mut keys = BTreeMap::new();
    for user in NAMES {
        for site in NAMES {
            let count = match rng.u8(..12) {
                0 => 0,
                1 => 800,
                2 => 40,
                _ => rng.u16(1..4),
            };
            for _ in 0..count {
                let key = K::new(user, site, rng.u16(..1000));
                keys.insert(key.encode().unwrap(), key);
            }
        }
    }
    keys.into_values().collect()
}

fn columns() -> Columns {
    Columns::from([("n".to_owned(), 1)])
}

async fn table<K: VisitKey>(client: &Client, name: &str, keys: &[K]) -> Table<K, Columns> {
    let table = created::<K, Columns>(client, name).await;
    for keys in keys.chunks(2_000) {
        table.put_all(keys.iter().map(|key| (key.clone(), columns()))).await.unwrap();
    }
    table
}

/// The first key of each value among keys in the order of a scan.
fn firsts<K: VisitKey>(keys: Vec<K>, count: usize) -> Vec<K> {
    let mut values = BTreeSet::new();
    keys.into_iter().filter(|key| values.insert(key.values(count))).collect()
}

async fn values_are_those_of_all_keys<K: VisitKey>(client: Client) {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut rng = fastrand::Rng::with_seed(seed);
    let keys = rows::<K>(&mut rng);
    let visits = table(&client, "visits", &keys).await;
    for (plan, number) in K::plans().into_iter().zip(0..) {
        for reversed in [false, true] {
            let scan = || match reversed {
                false => visits.scan(plan.clone()),
                true => visits.scan(plan.clone()).reversed(),
            };
            let all = scan().keys_only().collect().await.unwrap();
            for count in [rng.usize(1..3), rng.usize(1..=3)] {
                let place = format!("plan {number}, reversed {reversed}, {count} fields, seed {seed}");
                let expected = firsts(all.clone(), count);
                assert_eq!(scan().distinct(count).collect().await.unwrap(), expected, "{place}");
                assert_eq!(scan().distinct(count).count().await.unwrap(), expected.len() as u64, "{place}");
                let limit = rng.usize(..=expected.len());
                let few = scan().distinct(count).limit(limit as u64).collect().await.unwrap();
                assert_eq!(few, expected[..limit], "{place}, limit {limit}");
                if !plan.is_ordered() && scan().distinct(count).page(3).await.is_err() {
                    continue; // `a_page_of_interleaved_buckets_is_an_error`
                }
                if count < 3 {
                    let size = rng.u64(1..=3);
                    let (mut paged, mut token) = (Vec::new(), None::<String>);
                    loop {
                        let scan = scan().distinct(count);
                        let scan = token.iter().fold(scan, |scan, token| scan.after(token));
                        let page = scan.page(size).await.unwrap();
                        paged.extend(page.rows);
                        token = page.next;
                        if token.is_none() {
                            break;
                        }
                    }
                    assert_eq!(paged, expected, "{place}, in pages of {size}");
                }
            }
        }
    }
}

async fn foreign_rows_are_skipped_or_fail(client: Client) {
    let visits = table(&client, "visits", &[Unsalted::new("a", "a", 1), Unsalted::new("c", "a", 1)]).await;
    let foreign = client.table::<OrderedUnsalted, Columns>("visits").unchecked();
    foreign.put(&OrderedUnsalted::new("b", "", 7), &columns()).await.unwrap();
    let error = visits.scan(Unsalted::scan()).distinct(1).collect().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ForeignRow, "{error}");
    let scan = visits.scan(Unsalted::scan()).distinct(1).on_foreign(OnForeign::Skip);
    let skipped = scan.skipped();
    assert_eq!(scan.count().await.unwrap(), 2);
    assert_eq!(skipped.foreign(), 1);
}

async fn filters_choose_among_the_rows_first(client: Client) {
    let keys: Vec<_> =
        (0..2_000).map(|number| Spread::new(NAMES[usize::from(number % 7)], "s", number)).collect();
    let visits = table(&client, "visits", &keys).await;
    let late = |key: &Spread| key.number >= 1_995;
    let scan = visits.scan(Spread::scan()).distinct(1).filter_key(late);
    let late: Vec<_> = scan.collect().await.unwrap().into_iter().map(|key| key.number).collect();
    assert_eq!(late, [1_995, 1_996, 1_997, 1_998, 1_999], "the others have no row that late");
    let none = visits.scan(Spread::scan()).filter(keyderive::row::RowFilter::block_all()).distinct(2);
    assert_eq!(none.count().await.unwrap(), 0);
    let explained = visits.scan(Spread::scan()).distinct(2).explain().unwrap().to_string();
    assert!(explained.contains("`distinct`: the first row of each value of user, site"), "{explained}");
}

async fn a_wrong_number_of_fields_is_an_error(client: Client) {
    let visits = client.table::<Unsalted, Columns>("visits");
    for count in [0, 4] {
        fails(visits.scan(Unsalted::scan()).distinct(count).collect().await, "give it a number from 1 to 3");
        assert!(visits.scan(Unsalted::scan()).distinct(count).explain().is_err());
    }
}

/// Several fields left of the salt, of which the scan has the values of the first one.
async fn a_page_resumes_after_a_value_left_of_the_salt(client: Client) {
    let (users, sites) = (["a", "a$", "b"], ["a", "b", "1", "~"]);
    let keys = users.map(|user| sites.map(|site| [1, 2].map(|number| AfterSite::new(user, site, number))));
    let keys: Vec<_> = keys.into_iter().flatten().flatten().collect();
    let visits = table(&client, "visits", &keys).await;
    for reversed in [false, true] {
        let plan = AfterSite::scan().user_any_of(users).site_any_of(sites).into_plan().unwrap();
        let scan = || visits.scan(plan.clone()).distinct(1);
        let scan = || if reversed { scan().reversed() } else { scan() };
        let (mut found, mut token) = (Vec::new(), None::<String>);
        loop {
            let page = token.iter().fold(scan(), |scan, token| scan.after(token)).page(1).await.unwrap();
            found.extend(page.rows.into_iter().map(|key| key.user));
            token = page.next;
            if token.is_none() {
                break;
            }
        }
        let mut expected = users;
        if reversed {
            expected.reverse();
        }
        assert_eq!(found, expected);
    }
}

async fn a_page_of_interleaved_buckets_is_an_error(client: Client) {
    let visits = table(&client, "visits", &[AfterUser::new("a", "a", 1)]).await;
    let page = async |plan: Plan<AfterUser>, count| visits.scan(plan).distinct(count).page(3).await;
    let (all, one) =
        (|| AfterUser::scan().into_plan().unwrap(), || AfterUser::scan().user("a").into_plan().unwrap());
    fails(page(all(), 2).await, "fix the fields left of the salt");
    for (plan, count) in [(all(), 1), (one(), 2)] {
        assert_eq!(page(plan, count).await.unwrap().rows.len(), 1);
    }
    let by_site = table(&client, "by-site", &[AfterUserBySite::new("a", "a", 1)]).await;
    assert_eq!(by_site.scan(AfterUserBySite::scan()).distinct(2).page(3).await.unwrap().rows.len(), 1);
}

/// Each bucket seeks on its own, so that many rows of few values cost a few requests.
#[tokio::test]
async fn many_rows_of_a_value_are_not_read() {
    let client = Client::embedded();
    let keys: Vec<_> =
        (0..20_000).map(|number| ByUser::new(NAMES[usize::from(number / 5_000)], "s", number)).collect();
    let visits = table(&client, "visits", &keys).await;
    let stats = ReadStats::new();
    let users = visits.scan(ByUser::scan()).distinct(1).with_stats(&stats).collect().await.unwrap();
    assert_eq!(users.len(), 4);
    assert_eq!(stats.requests(), stats.reported());
    assert!(stats.rows_seen() <= 4 * 513 && stats.requests() <= 5 + 4 * 2, "{stats}");
}

#[tokio::test(start_paused = true)]
async fn a_distinct_scan_resumes_after_lost_streams() {
    let bigtable = Bigtable::in_memory();
    let keys = rows::<Spread>(&mut fastrand::Rng::with_seed(7));
    let visits = table(&bigtable.client(), "visits", &keys).await;
    let expected = visits.scan(Spread::scan()).distinct(2).collect().await.unwrap();
    for seed in 0..20 {
        let faulty = bigtable.with_faults(Faults::seeded(seed).cut_streams(0.3)).client();
        let faulty = faulty.with(|settings| settings.read_rows.max_attempts = u32::MAX);
        let visits = faulty.table::<Spread, Columns>("visits");
        for reversed in [false, true] {
            let scan = visits.scan(Spread::scan()).distinct(2);
            let scan = if reversed { scan.reversed() } else { scan };
            let read = scan.collect().await.unwrap();
            let values = |keys: &[Spread]| keys.iter().map(|key| key.values(2)).collect::<Vec<_>>();
            let mut read = values(&read);
            if reversed {
                read.reverse();
            }
            assert_eq!(read, values(&expected), "seed {seed}, reversed {reversed}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_dropped_distinct_scan_sends_no_more() {
    let bigtable = Bigtable::in_memory().with_faults(Faults::seeded(0));
    let keys: Vec<_> = (0..40)
        .flat_map(|user| (0..600).map(move |number| Unsalted::new(&format!("{user:02}"), "", number)))
        .collect();
    let visits = table(&bigtable.client(), "visits", &keys).await;
    let before = bigtable.calls(Method::ReadRows);
    let mut users = visits.scan(Unsalted::scan()).distinct(1).stream();
    for user in 0..3 {
        assert_eq!(users.next().await.unwrap().unwrap().user, format!("{user:02}"));
    }
    drop(users);
    let sent = bigtable.calls(Method::ReadRows) - before;
    assert!((1..=4).contains(&sent), "{sent}");
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(bigtable.calls(Method::ReadRows) - before, sent);
    bigtable.client().close().await;
}

/// A value of which a row stays is delivered, and none twice, whatever is written and deleted beside it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn values_that_stay_are_delivered_beside_writers() {
    let client = Client::embedded();
    let user = |number: usize| format!("{number:03}");
    // Each value has one row that stays and rows that come and go before and after it.
    let stay: Vec<_> = (0..200).map(|number| Spread::new(&user(number), "m", 500)).collect();
    let visits = table(&client, "visits", &stay).await;
    let writers: Vec<_> = (0..3)
        .map(|seed| {
            let visits = visits.clone();
            tokio::spawn(async move {
                let mut rng = fastrand::Rng::with_seed(seed);
                loop {
                    let name = ["a", "z"][rng.usize(..2)];
                    let user = format!("{:03}", rng.usize(..300));
                    let keys: Vec<_> = (0..200).map(|number| Spread::new(&user, name, number)).collect();
                    match rng.bool() {
                        true => {
                            visits.put_all(keys.iter().map(|key| (key.clone(), columns()))).await.unwrap();
                        }
                        false => visits.delete_all(&keys).await.unwrap(),
                    }
                    tokio::task::yield_now().await;
                }
            })
        })
        .collect();
    for _ in 0..20 {
        for reversed in [false, true] {
            let scan = visits.scan(Spread::scan()).distinct(1);
            let scan = if reversed { scan.reversed() } else { scan };
            let users: Vec<_> = scan.collect().await.unwrap().into_iter().map(|key| key.user).collect();
            let distinct: BTreeSet<_> = users.iter().cloned().collect();
            assert_eq!(distinct.len(), users.len(), "no value twice");
            assert!((0..200).all(|number| distinct.contains(&user(number))), "{distinct:?}");
        }
    }
    writers.iter().for_each(tokio::task::JoinHandle::abort);
}
