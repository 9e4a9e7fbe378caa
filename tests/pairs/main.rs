//! Every two features of the library meet in a table, and every read is that of a model in memory.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "these are tests"
)]

mod direct;
mod features;
mod layouts;
mod model;
mod reads;
mod rows;
mod world;
mod writes;

use std::panic::{AssertUnwindSafe, catch_unwind};

use fastrand::Rng;
use features::{Feature, Met};
use keyderive_tests::amount;

const SEED: &str = "KEYDERIVE_PAIRS_SEED";

/// Makes a run on a clock that jumps over its waits.
fn run(seed: u64) -> Met {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
    runtime.unwrap().block_on(direct::run(Rng::with_seed(seed)))
}

#[test]
fn every_read_is_that_of_the_model_and_every_pair_meets() {
    if let Ok(seed) = std::env::var(SEED) {
        run(seed.parse().unwrap());
        return;
    }
    let runs = amount("KEYDERIVE_PAIRS_RUNS", "runs of pairs of features", 24, 2000);
    let (mut met, mut failed) = (Met::default(), Vec::new());
    for seed in 0..runs {
        match catch_unwind(AssertUnwindSafe(|| run(seed))) {
            Ok(of_run) => met.add(of_run),
            Err(_) => failed.push(seed),
        }
    }
    assert!(failed.is_empty(), "{} of {runs} runs failed; {SEED} repeats one: {failed:?}", failed.len());
    for one in Feature::ALL {
        for other in Feature::ALL.iter().filter(|other| one < *other) {
            println!("{} {one} and {other}", met.reads(*one, *other));
        }
    }
}
