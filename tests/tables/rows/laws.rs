//! A put reads back as written, whatever was there before; a merge reads back as the columns of both.

use std::collections::BTreeMap;

use keyderive::Client;
use keyderive::row::{ReadModifyWrite, Timestamped, Versions};
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, TestRunner};
use tokio::runtime::Runtime;

use super::{Deep, Page, Pages, Stats, key, pages};

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("METER:0015".to_owned()),
        Just("clicks".to_owned()),
        Just("ü\0\n".to_owned()),
        "[a-c]{1,2}"
    ]
}

/// Few values, so that timestamps collide.
fn time() -> impl Strategy<Value = i64> {
    prop_oneof![0..4_i64, Just(1_426_535_612_156), Just(i64::MAX / 1000)].prop_map(|millis| millis * 1000)
}

fn versions<T: std::fmt::Debug>(value: impl Strategy<Value = T>) -> impl Strategy<Value = Versions<T>> {
    let timestamped = |(at, value)| Timestamped::new(at, value);
    btree_map(time(), value, 0..4).prop_map(move |versions| versions.into_iter().map(timestamped).collect())
}

/// At least one version: a column without versions does not exist, so a map does not have it.
fn some_versions() -> impl Strategy<Value = Versions<i64>> {
    versions(any::<i64>()).prop_filter("versions", |versions| !versions.is_empty())
}

fn deep() -> impl Strategy<Value = Deep> {
    (".{0,3}", btree_map(name(), -1e9..1e9, 0..3)).prop_map(|(name, numbers)| Deep { name, numbers })
}

fn stats() -> impl Strategy<Value = Stats> {
    (option::of(any::<u32>()), option::of(any::<bool>()), option::of(deep()))
        .prop_map(|(clicks, open, deep)| Stats { clicks, open, deep })
}

fn page() -> impl Strategy<Value = Page> {
    let columns = (".{0,3}", option::of(any::<i64>()), option::of(vec(any::<u8>(), 0..3)));
    let structs = (stats(), option::of(stats()));
    let maps = (
        btree_map(name(), any::<i64>(), 0..4),
        option::of(btree_map(name(), ".{0,3}", 0..3)),
        btree_map(name(), some_versions(), 0..3),
    );
    let level = option::of((time(), any::<u32>()).prop_map(|(at, value)| Timestamped::new(at, value)));
    (columns, structs, maps, (level, versions(".{0,3}"))).prop_map(
        |((title, visits, list), (stats, extra), (daily, tags, series), (level, history))| Page {
            title,
            visits,
            list,
            stats,
            extra,
            daily,
            tags,
            level,
            history,
            series,
        },
    )
}

/// The row `old` after merging `new` into it.
fn merged(old: Page, new: Page) -> Page {
    let stats = |old: Stats, new: Stats| Stats {
        clicks: new.clicks.or(old.clicks),
        open: new.open.or(old.open),
        deep: new.deep.or(old.deep),
    };
    let mut series = old.series;
    for (name, versions) in new.series {
        let column = series.remove(&name).unwrap_or_default();
        series.insert(name, both(column, versions));
    }
    Page {
        title: new.title,
        visits: new.visits.or(old.visits),
        list: new.list.or(old.list),
        stats: stats(old.stats, new.stats),
        extra: match (old.extra, new.extra) {
            (Some(old), Some(new)) => Some(stats(old, new)),
            (old, new) => new.or(old),
        },
        daily: old.daily.into_iter().chain(new.daily).collect(),
        tags: match (old.tags, new.tags) {
            (Some(old), Some(new)) => Some(old.into_iter().chain(new).collect()),
            (old, new) => new.or(old),
        },
        level: both(old.level.into_iter().collect(), new.level.into_iter().collect()).first().copied(),
        history: both(old.history, new.history),
        series,
    }
}

/// The versions of both; at equal timestamps, the new one.
fn both<T>(old: Versions<T>, new: Versions<T>) -> Versions<T> {
    let versions: BTreeMap<_, _> =
        old.into_iter().chain(new).map(|version| (version.timestamp_micros, version.value)).collect();
    versions.into_iter().map(|(at, value)| Timestamped::new(at, value)).collect()
}

/// Puts and merges one row repeatedly.
async fn holds(
    client: &Client,
    pages: &Pages,
    rows: &[(Page, bool)],
    increments: (i64, i64),
) -> Result<(), TestCaseError> {
    let key = key("/");
    pages.delete(&key).await.unwrap();
    let mut expected = None;
    for (row, merges) in rows {
        if *merges {
            pages.merge(&key, row).await.unwrap();
            expected = Some(expected.map_or(row.clone(), |old| merged(old, row.clone())));
        } else {
            pages.put(&key, row).await.unwrap();
            expected = Some(row.clone());
        }
        prop_assert_eq!(&pages.get(&key).await.unwrap(), &expected);
    }
    let Some(mut expected) = expected else { return Ok(()) };

    // By the raw client, as another program would.
    let raw = client.raw_table("pages");
    let (visits, clicks) = increments;
    let rules = vec![
        ReadModifyWrite::increment("cf", "visits", visits),
        ReadModifyWrite::increment("daily", "METER:0015", clicks),
    ];
    raw.read_modify_write_row(key.encode().unwrap(), rules).await.unwrap();
    expected.visits = Some(expected.visits.unwrap_or(0).wrapping_add(visits));
    let meter = expected.daily.entry("METER:0015".to_owned()).or_default();
    *meter = meter.wrapping_add(clicks);
    prop_assert_eq!(pages.get(&key).await.unwrap(), Some(expected));
    Ok(())
}

/// Rows, each put or merged, and the increments of two columns afterwards.
fn case() -> impl Strategy<Value = (Vec<(Page, bool)>, (i64, i64))> {
    (vec((page(), any::<bool>()), 0..5), any::<(i64, i64)>())
}

#[test]
fn rows_are_read_as_they_are_written() {
    let runtime = Runtime::new().unwrap();
    let client = Client::embedded();
    let pages = runtime.block_on(pages(&client));
    let run = |(rows, increments): (Vec<_>, _)| runtime.block_on(holds(&client, &pages, &rows, increments));
    TestRunner::new(Config::with_cases(256)).run(&case(), run).unwrap();
}

#[tokio::test]
async fn rows_are_read_as_they_are_written_on_the_emulator() {
    let Some((_emulator, client)) = crate::servers::emulator().await else { return };
    let pages = pages(&client).await;
    let mut runner = TestRunner::deterministic();
    for _ in 0..64 {
        let (rows, increments) = case().new_tree(&mut runner).unwrap().current();
        holds(&client, &pages, &rows, increments).await.unwrap();
    }
}
