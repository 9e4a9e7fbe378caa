//! The whole system in one thread, by one seed: clients, a bulk writer, a load, a copy, a re-keying and an embedded Bigtable, over a
//! network and a disk with faults.
//!
//! A deterministic simulation: the seed decides everything that happens, so a failed run can be reproduced exactly. [`world`] replaces what is not
//! deterministic. All clients and the server use tokio's paused clock; the library draws random numbers from the thread's `fastrand` generator;
//! pipes replace sockets, and [`network`] delays, loses, reorders and repeats requests on them, and breaks streams and connections; [`disk`] loses
//! what was not synced. HTTP/2, the connection pool, retries, the typed calls, the server and redb are the real code. [`history`] checks the
//! results that the callers got.
//!
//! ```sh
//! KEYDERIVE_SEEDS=10000 cargo test --release -p keyderive-tests --test system seeds
//! KEYDERIVE_SEED=17 cargo test -p keyderive-tests --test system seeds -- --nocapture
//! ```
//!
//! The first command runs that many seeds, 50 by default. The second repeats one seed and prints its trace. When a seed fails, we keep it as a
//! named test. `tests/faults/system` lists bugs that the seeds must find. It also lists bugs that they cannot reach, each with the test that finds
//! it.
//!
//! # What is not simulated
//!
//! - tokio's own seed, which can be set only with `tokio_unstable`. Only `select!` without `biased` uses it, and no run does.
//! - The header with the time of an attempt, which has the machine's time. Nothing reads it, and the trace leaves it out.
//! - The seeds of the standard library's hash tables. If the order of one changed a run, the traces of one seed would differ.
//! - The writer thread of a file. The runtime's thread waits for it, so they never run at the same time, and each write is its own commit: runs do
//!   not cover writes that share a commit.

mod bulk;
mod calls;
mod disk;
mod driver;
mod history;
mod network;
mod points;
mod rows;
mod run;
mod world;

use std::sync::Mutex;
use std::time::Instant;

use keyderive_tests::{amount, failed_runs, threads};
use peak_alloc::PeakAlloc;

use crate::run::{Ran, run};
use crate::world::TraceTo;

/// Repeats one seed.
const SEED: &str = "KEYDERIVE_SEED";

/// What a run may hold in memory, in bytes.
const MOST_BYTES: usize = 64 << 20;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

#[test]
fn seeds() {
    if let Ok(seed) = std::env::var(SEED) {
        let ran = run(seed.parse().unwrap(), TraceTo::Stderr);
        return eprintln!("seed {seed}: {ran:?}");
    }
    let seeds = amount("KEYDERIVE_SEEDS", "seeds of the whole system", 30, 400);
    let (begun, before) = (Instant::now(), MEMORY.current_usage());
    let all = Mutex::new(Ran::default());
    let failed = failed_runs(seeds, |seed| {
        let ran = run(seed, TraceTo::Nowhere);
        all.lock().unwrap().add(&ran);
    });
    let (peak, left) = (MEMORY.peak_usage() - before, MEMORY.current_usage().saturating_sub(before));
    let all = all.into_inner().unwrap();
    println!("{seeds} seeds in {:.1?}, {peak} bytes at most and {left} at the end: {all:?}", begun.elapsed());
    assert!(failed.is_empty(), "{} of {seeds} seeds failed; {SEED} repeats one: {failed:?}", failed.len());
    assert!(
        peak < (threads() + 1) * MOST_BYTES && left < MOST_BYTES,
        "runs hold {peak} bytes, and {left} at their end"
    );
}

/// Twice the same seed is twice the same run: each request, and each call with its time and its result, byte by byte.
#[test]
fn a_seed_is_one_run() {
    for seed in 0..4 {
        let (first, second) = (run(seed, TraceTo::Text), run(seed, TraceTo::Text));
        let lines = first.text.lines().zip(second.text.lines());
        let differs = (1..).zip(lines).find(|(_, (first, second))| first != second);
        assert!(first.text.lines().count() > 100, "seed {seed} has no trace");
        assert_eq!(differs, None, "seed {seed}: the first line that differs");
        assert_eq!(first, second, "seed {seed}");
    }
}
