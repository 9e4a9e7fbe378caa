//! Scans and loads over connections that keep breaking: no row is lost, duplicated or out of order, and every row
//! reported as written is there.
//!
//! `KEYDERIVE_CHAOS_ROUNDS` is the number of scans and loads, and `KEYDERIVE_CHAOS_ROWS` the rows of each scan, 20,000 by default.
//! `KEYDERIVE_CHAOS_SEED` repeats the faults of a run.

use std::time::{Duration, Instant};

use keyderive::client::Settings;
use keyderive::{Client, Row, RowKey, Table};
use keyderive_tests::emulator::Emulator;
use keyderive_tests::proxy::Relay;
use keyderive_tests::{amount, variable};
use tokio::task::JoinSet;

#[derive(RowKey, Clone, Debug, PartialEq)]
#[salt(range = 8, over = "id")]
struct ReadingKey {
    load: u32,
    id: u32,
}

#[derive(Row, Clone, Debug, PartialEq)]
struct Reading {
    value: u64,
    unit: String,
}

type Readings = Table<ReadingKey, Reading>;

/// The load that is scanned; the others count from 0.
const SCANNED: u32 = 1_000_000;

/// How many rows a load has.
const LOADED: u32 = 20_000;

/// Settings for a network that breaks within a second.
fn hasty(settings: &mut Settings) {
    settings.each(|call| {
        call.idle_timeout = Duration::from_millis(500);
        call.attempt_timeout = call.attempt_timeout.min(Duration::from_secs(5));
        call.total_timeout = Duration::from_secs(300);
        call.max_attempts = 30;
        call.backoff.max = Duration::from_millis(200);
    });
}

fn reading(load: u32, id: u32) -> (ReadingKey, Reading) {
    let value = u64::from(load) << 32 | u64::from(id);
    (ReadingKey { load, id }, Reading { value, unit: "kWh".to_owned() })
}

/// The stored rows of a load, in order.
async fn stored(readings: &Readings, load: u32) -> Vec<(ReadingKey, Reading)> {
    let mut rows = readings.scan(ReadingKey::scan().load(load)).stream();
    let mut stored = Vec::new();
    while let Some(row) = rows.next().await {
        stored.push(row.unwrap_or_else(|error| panic!("after {} rows: {error}", stored.len())));
    }
    stored
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_row_is_lost_or_doubled_when_connections_to_the_emulator_break() {
    let Some(emulator) = Emulator::start() else { return };
    let rounds = amount("KEYDERIVE_CHAOS_ROUNDS", "scans and loads beside broken connections", 1, 3) as u32;
    let rows = variable("KEYDERIVE_CHAOS_ROWS", 20_000) as u32;
    let seed = variable("KEYDERIVE_CHAOS_SEED", fastrand::u64(..));
    println!("KEYDERIVE_CHAOS_SEED={seed}, {rounds} rounds, {rows} rows a scan");

    let steady: Readings = Client::emulator(emulator.host()).await.unwrap().table("readings");
    steady.create_if_absent().await.unwrap();
    let expected: Vec<_> = (0..rows).map(|id| reading(SCANNED, id)).collect();
    steady.put_all(&expected).await.unwrap();

    let mut tasks = JoinSet::new();
    let relay = Relay::serve(emulator.host(), seed, &mut tasks).await;
    let client = Client::builder().connections(2).settings(hasty).emulator(relay.host()).await.unwrap();
    let readings: Readings = client.table("readings");

    let begun = Instant::now();
    // Further ones as long as chance has broken too few connections to say something.
    for round in 0..rounds * 20 {
        if round >= rounds && relay.broken() > u64::from(rounds) {
            break;
        }
        let scanned = stored(&readings, SCANNED).await;
        assert!(scanned == expected, "scan {round} of seed {seed} has {} rows", scanned.len());
    }
    println!("scans: {:.1?}, {} connections broken", begun.elapsed(), relay.broken());

    let (begun, broken) = (Instant::now(), relay.broken());
    for load in 0..rounds {
        let writer = readings.writer();
        for id in 0..LOADED {
            let (key, reading) = reading(load, id);
            writer.put(&key, &reading).await.unwrap();
        }
        let failed = match writer.close().await {
            Ok(written) => {
                assert_eq!(written, u64::from(LOADED));
                Vec::new()
            }
            Err(errors) => {
                println!("load {load}: {errors}");
                errors.failed().iter().map(|failed| failed.key().to_vec()).collect()
            }
        };
        let there = stored(&steady, load).await;
        let mut there = there.into_iter().peekable();
        for id in 0..LOADED {
            let (key, reading) = reading(load, id);
            match there.next_if(|(stored, _)| *stored == key) {
                Some((_, stored)) => assert_eq!(stored, reading),
                None => assert!(
                    failed.contains(&key.encode().unwrap()),
                    "{key:?} was reported written and is not there, seed {seed}"
                ),
            }
        }
        assert!(there.next().is_none());
    }
    println!("{rounds} loads: {:.1?}, {} connections broken", begun.elapsed(), relay.broken() - broken);
    assert!(relay.broken() > u64::from(rounds), "only {} connections were broken", relay.broken());
}
