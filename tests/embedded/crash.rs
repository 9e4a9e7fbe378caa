//! Processes that are killed while they write.
//!
//! `KEYDERIVE_CRASH_ROUNDS` is the number of processes, 4 by default; `KEYDERIVE_CRASH_SEED` repeats the moments of the
//! kills, as far as possible.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicU32, Ordering};

use fastrand::Rng;
use keyderive::{Client, RowKey};

use keyderive_tests::{Folder, variable};

use super::{FILE, ReadingKey, child, reading, readings};

const TASKS: u32 = 4;
const BATCH_ROWS: u32 = 100;

/// How many rounds use one file.
const ROUNDS_OF_A_FILE: u32 = 20;

/// Passes the round to a child.
const ROUND: &str = "KEYDERIVE_DURABLE_CHILD_ROUND";

#[derive(RowKey)]
struct CounterKey {
    round: u32,
}

type Counters = keyderive::Table<CounterKey, BTreeMap<String, i64>>;

fn counters(client: &Client) -> Counters {
    client.table("counters")
}

/// The writes that a child reported as done.
#[derive(Default)]
struct Acknowledged {
    /// The first id of each batch.
    batches: Vec<u32>,
    counter: i64,
}

#[test]
fn what_is_acknowledged_survives_a_kill() {
    let rounds = u32::try_from(variable("KEYDERIVE_CRASH_ROUNDS", 4)).unwrap();
    let seed = variable("KEYDERIVE_CRASH_SEED", 6);
    let folder = Folder::new("crash");
    let mut rng = Rng::with_seed(seed);
    let mut acknowledged: BTreeMap<u32, Acknowledged> = BTreeMap::new();
    let (mut batches, mut unacknowledged) = (0, 0);
    for round in 0..rounds {
        if round % ROUNDS_OF_A_FILE == 0 {
            acknowledged.clear();
        }
        let file = folder.join(format!("{}.keyderive", round / ROUNDS_OF_A_FILE));
        // Killed as soon as it starts to open the file, or after some writes.
        let until = if rng.u8(..8) == 0 { None } else { Some(rng.usize(1..80)) };
        let said = kill_after(&file, round, until);
        batches += said.batches.len();
        acknowledged.insert(round, said);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        unacknowledged += runtime.block_on(check(&file, round, &acknowledged));
    }
    println!(
        "seed {seed}: {rounds} rounds, {batches} batches of {BATCH_ROWS} rows acknowledged and there, \
         {unacknowledged} rows of batches that were not acknowledged"
    );
}

/// Runs a child that writes, and kills it after `until` reports.
fn kill_after(file: &Path, round: u32, until: Option<usize>) -> Acknowledged {
    let mut child = child("crash::writes_until_it_is_killed", file)
        .env(ROUND, round.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = Acknowledged::default();
    let mut count = 0;
    let mut killed = false;
    // Reports sent before the kill are read after it.
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let line = line.unwrap();
        let words: Vec<&str> = line.split_whitespace().collect();
        let opening = match words[..] {
            [.., "opening"] => true,
            ["batch", first] => {
                said.batches.push(first.parse().unwrap());
                count += 1;
                false
            }
            ["counter", value] => {
                said.counter = said.counter.max(value.parse().unwrap());
                count += 1;
                false
            }
            _ => continue,
        };
        if !killed && until.map_or(opening, |until| count >= until) {
            child.kill().unwrap();
            killed = true;
        }
    }
    let status = child.wait().unwrap();
    assert!(killed && !status.success(), "round {round} ended by itself: {status}");
    said
}

/// Fails unless every row acknowledged in any round is there; returns how many others are.
async fn check(file: &Path, round: u32, acknowledged: &BTreeMap<u32, Acknowledged>) -> usize {
    let client = Client::embedded_at(file).await.unwrap_or_else(|error| panic!("round {round}: {error}"));
    readings(&client).create_if_absent().await.unwrap();
    counters(&client).create_if_absent().await.unwrap();
    let rows = readings(&client).scan(ReadingKey::scan()).collect().await.unwrap();
    let expected: usize = acknowledged.values().map(|said| said.batches.len() * BATCH_ROWS as usize).sum();
    let mut found: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    let count = rows.len();
    for (key, row) in rows {
        assert_eq!(row, reading(key.round, key.id).1, "round {round}: a row is not whole");
        found.entry(key.round).or_default().push(key.id);
    }
    for (of, said) in acknowledged {
        let ids = found.remove(of).unwrap_or_default();
        for first in &said.batches {
            for id in *first..first + BATCH_ROWS {
                assert!(ids.binary_search(&id).is_ok(), "round {round}: row {id} of round {of} is lost");
            }
        }
        let counter = counters(&client).get(&CounterKey { round: *of }).await.unwrap();
        let counted = counter.and_then(|counter| counter.get("n").copied()).unwrap_or(0);
        let in_flight = i64::from(TASKS);
        assert!(
            (said.counter..=said.counter + in_flight).contains(&counted),
            "round {round}: counter {of} is {counted}, and {} was acknowledged",
            said.counter
        );
    }
    count - expected
}

/// Runs in a child.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writes_until_it_is_killed() {
    let Some(file) = std::env::var_os(FILE) else { return };
    let round: u32 = std::env::var(ROUND).unwrap().parse().unwrap();
    println!("\nopening");
    let client = Client::embedded_at(file).await.unwrap();
    let (table, counters) = (readings(&client), counters(&client));
    table.create_if_absent().await.unwrap();
    counters.create_if_absent().await.unwrap();
    let next = AtomicU32::new(0);
    let write = async || -> Result<(), keyderive::Error> {
        loop {
            let first = next.fetch_add(BATCH_ROWS, Ordering::Relaxed);
            let rows: Vec<_> = (first..first + BATCH_ROWS).map(|id| reading(round, id)).collect();
            table.put_all(&rows).await?;
            println!("batch {first}");
            let value = counters.increment(&CounterKey { round }, counters.column("n"), 1).await?;
            println!("counter {value}");
        }
    };
    let ended = tokio::join!(write(), write(), write(), write());
    panic!("{ended:?}");
}
