//! Departures, loaded in bulk: random typed queries must return what a filter over the file returns.

pub(crate) mod data;
mod query;

use std::time::{Duration, Instant};

use keyderive::{Client, Table};
use keyderive_tests::Folder;
use keyderive_tests::emulator::Emulator;
use keyderive_tests::fixtures::created;

use self::data::{Flight, FlightKey};
use self::query::Query;

/// How many queries run; the number of a query is its seed.
const QUERIES: u64 = 200;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn flights_in_the_emulator() {
    let Some(emulator) = Emulator::start() else { return };
    flights("emulator", Client::emulator(emulator.host()).await.unwrap()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn flights_in_the_embedded_file() {
    let folder = Folder::new("flights");
    let file = folder.join("rows.keyderive");
    flights("embedded file", Client::embedded_at(&file).await.unwrap()).await;
}

async fn flights(place: &str, client: Client) {
    let mut rows = data::read();
    let table: Table<FlightKey, Flight> = created(&client, "flights").await;
    let report = table.load_iter(&rows).await.unwrap();
    assert_eq!(report.written(), rows.len() as u64);
    let rate = report.written() as f64 / report.elapsed().as_secs_f64();

    // In key order: the newest departure of a flight first.
    rows.sort_by(|(one, _), (other, _)| {
        let rank = |key: &FlightKey| {
            (key.carrier.clone(), key.flight, std::cmp::Reverse(key.hour), key.origin.clone())
        };
        rank(one).cmp(&rank(other))
    });
    assert!(rows.windows(2).all(|pair| pair[0].0 != pair[1].0), "two departures have one key");
    let (mut found, mut first_row) = (0, Vec::new());
    for seed in 0..QUERIES {
        let query = Query::random(&rows, &mut fastrand::Rng::with_seed(seed));
        let (count, time) = is_exact(&table, &rows, &query, seed).await;
        found += count;
        first_row.extend(time);
    }
    assert!(found > rows.len() / 10, "the queries found {found} rows only");
    first_row.sort_unstable();
    println!(
        "{place}: {report}; {rate:.0} rows/s; {QUERIES} queries found {found} rows, the first of each within {:.1} ms in \
         half of them, {:.1} ms at most",
        millis(first_row[first_row.len() / 2]),
        millis(first_row[first_row.len() - 1]),
    );
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

/// Runs a query; how many rows it finds, and when the first one arrived.
async fn is_exact(
    table: &Table<FlightKey, Flight>,
    rows: &[(FlightKey, Flight)],
    query: &Query,
    seed: u64,
) -> (usize, Option<Duration>) {
    let mut scan = table.scan(query.plan());
    if query.reversed {
        scan = scan.reversed();
    }
    if let Some(limit) = query.limit {
        scan = scan.limit(limit);
    }
    let mut expected: Vec<_> = rows.iter().filter(|(key, _)| query.matches(key)).collect();
    if query.reversed {
        expected.reverse();
    }
    expected.truncate(query.limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap()));
    let begun = Instant::now();
    let (mut found, mut count, mut first) = (scan.stream(), 0, None);
    while let Some(row) = found.next().await {
        first.get_or_insert_with(|| begun.elapsed());
        assert_eq!(expected.get(count), Some(&&row.unwrap()), "seed {seed}, row {count}: {query:?}");
        count += 1;
    }
    assert_eq!(count, expected.len(), "seed {seed}: {query:?}");
    (count, first)
}
