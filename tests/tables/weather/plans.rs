//! Random plans against the filter.

use keyderive::{Client, Table};
use keyderive_tests::fixtures::created;

use super::data::{self, Weather};
use super::keys::{ByDay, ByStation, Observed};
use super::spec::Spec;
use crate::servers::on_every_bigtable;

/// How many plans run for each key type; the number of a plan is its seed.
const PLANS: u64 = 150;

on_every_bigtable! {
    plans_by_station_are_exact
    plans_by_day_are_exact
}

async fn plans_by_station_are_exact(client: Client) {
    plans_are_exact::<ByStation>(client).await;
}

async fn plans_by_day_are_exact(client: Client) {
    plans_are_exact::<ByDay>(client).await;
}

async fn plans_are_exact<K: Observed>(client: Client) {
    let mut rows = data::read(|line| (K::of(line), line.weather()));
    let lines = rows.len();
    let table = created::<K, Weather>(&client, "weather").await;
    table.put_all(&rows).await.unwrap();

    rows.sort_by(|(one, _), (other, _)| one.rank().cmp(&other.rank()));
    rows.dedup_by(|(one, _), (other, _)| one == other);
    assert_eq!(rows.len(), lines, "two lines have one key");
    let keys: Vec<K> = rows.iter().map(|(key, _)| key.clone()).collect();

    let mut selected = 0;

    for seed in 0..PLANS {
        let spec = Spec::random(&keys, &mut fastrand::Rng::with_seed(seed));
        selected += is_exact(&table, &rows, &spec, seed).await;
    }
    assert!(selected > lines, "the plans select {selected} rows only");
}

/// Runs one plan, and counts its rows.
async fn is_exact<K: Observed>(
    table: &Table<K, Weather>,
    rows: &[(K, Weather)],
    spec: &Spec<K>,
    seed: u64,
) -> usize {
    let context = || format!("seed {seed}: {spec:?}, planned as {:?}", K::plan(spec));
    let mut scan = table.scan(K::plan(spec).unwrap_or_else(|error| panic!("{error}, {}", context())));
    if let Some(limit) = spec.limit {
        scan = scan.limit(limit);
    }
    let found = scan.collect().await.unwrap_or_else(|error| panic!("{error}, {}", context()));

    let limit = spec.limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap());
    let mut expected = rows.iter().filter(|(key, _)| key.satisfies(spec)).take(limit);
    for (place, row) in found.iter().enumerate() {
        assert_eq!(Some(row), expected.next(), "row {place} of {}: {}", found.len(), context());
    }
    assert_eq!(None, expected.next(), "after all {} rows: {}", found.len(), context());
    found.len()
}
