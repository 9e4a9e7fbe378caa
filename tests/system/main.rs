//! The whole system in one thread, by one seed: clients, a bulk writer, a load, a copy, a re-keying and an embedded Bigtable, over a
//! network and a disk with faults.
//!
//! A seed decides everything that happens, so a run that fails can be made again, exactly. [`world`] has the seams: tokio's paused clock,
//! which is also that of every client and of the server; `fastrand`'s generator of the thread, from which the library draws; pipes in the
//! place of sockets, between which [`network`] delays, loses, reorders and repeats requests and breaks streams and connections; and
//! [`disk`], which loses what was not synced. HTTP/2, the pool of connections, retries, the typed calls, the server and redb are the real
//! ones. What a run returns to its callers is checked by [`history`].
//!
//! ```sh
//! KEYDERIVE_SEEDS=10000 cargo test --release -p keyderive-tests --test system seeds
//! KEYDERIVE_SEED=17 cargo test -p keyderive-tests --test system seeds -- --nocapture
//! ```
//!
//! The first runs so many seeds, 100 by default. The second repeats one, and prints its trace. A seed that fails becomes a named test.
//! `tests/faults/system` has faults that the seeds must find, with some that they cannot reach, each beside the test that finds it.
//!
//! # What no seam reaches
//!
//! - tokio's own seed, which `tokio_unstable` sets alone: only `select!` without `biased` draws by it, and nothing of a run uses that.
//! - The header with the time of an attempt has the machine's time. Nothing reads it, and the trace is without it.
//! - The hash tables of the standard library have seeds of their own. No order of one may show, which the trace would.
//! - The writer thread of a file. The thread of the runtime waits for it, so both never run at once, and each write is a commit of its own:
//!   runs do not reach writes that share a commit.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "these are tests")]

mod bulk;
mod disk;
mod driver;
mod history;
mod network;
mod points;
mod run;
mod world;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

use keyderive_tests::amount;
use peak_alloc::PeakAlloc;

use crate::run::{Ran, run};

/// Repeats one seed.
const SEED: &str = "KEYDERIVE_SEED";

/// What a run may hold in memory, in bytes.
const MOST_BYTES: usize = 64 << 20;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

#[test]
fn seeds() {
    if let Ok(seed) = std::env::var(SEED) {
        let ran = run(seed.parse().unwrap(), true);
        return eprintln!("seed {seed}: {ran:?}");
    }
    let seeds = amount("KEYDERIVE_SEEDS", "seeds of the whole system", 100, 400);
    let (begun, before) = (Instant::now(), MEMORY.current_usage());
    let (next, failed, all) = (AtomicU64::new(0), Mutex::new(Vec::new()), Mutex::new(Ran::default()));
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds {
                        return;
                    }
                    match catch_unwind(AssertUnwindSafe(|| run(seed, false))) {
                        Ok(ran) => all.lock().unwrap().add(&ran),
                        Err(_) => {
                            eprintln!("seed {seed} failed after {:.1?}", begun.elapsed());
                            failed.lock().unwrap().push(seed);
                        }
                    }
                }
            });
        }
    });
    let (peak, left) = (MEMORY.peak_usage() - before, MEMORY.current_usage().saturating_sub(before));
    let (failed, all) = (failed.into_inner().unwrap(), all.into_inner().unwrap());
    println!("{seeds} seeds in {:.1?}, {peak} bytes at most and {left} at the end: {all:?}", begun.elapsed());
    assert!(failed.is_empty(), "{} of {seeds} seeds failed; {SEED} repeats one: {failed:?}", failed.len());
    assert!(
        peak < (threads + 1) * MOST_BYTES && left < MOST_BYTES,
        "runs hold {peak} bytes, and {left} at their end"
    );
}

/// Twice the same seed is twice the same run, to the last request.
#[test]
fn a_seed_is_one_run() {
    for seed in 0..8 {
        let (first, second) = (run(seed, false), run(seed, false));
        assert_eq!(first, second, "seed {seed}");
    }
}
