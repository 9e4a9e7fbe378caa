//! Tests every pair of features in one table: random writes, and reads that are compared with a model in memory. ARCHITECTURE.md, "Pairs of
//! features", lists the features, and says when two of them have met.

mod direct;
#[path = "../rekeying/drive.rs"]
mod drive;
mod features;
mod found;
mod layouts;
mod model;
mod reads;
mod rekeyed;
mod rows;
mod world;
mod writes;

use std::sync::Mutex;

use fastrand::Rng;
use features::{Feature, Met, apart};
use keyderive_tests::{amount, failed_runs};

const SEED: &str = "KEYDERIVE_PAIRS_SEED";

/// How many states a re-keying has.
const STATES: usize = 8;

/// Makes a run on a clock that jumps over its waits.
fn run(seed: u64) -> Met {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
    // Runs take turns, so that few of them have every kind.
    let (turn, rng) = (seed / 3, Rng::with_seed(seed));
    runtime.unwrap().block_on(async {
        match seed % 3 {
            0 => rekeyed::run(turn, rng).await,
            first => direct::run(2 * turn + first, rng).await,
        }
    })
}

#[test]
fn every_read_is_that_of_the_model_and_every_pair_meets() {
    if let Ok(seed) = std::env::var(SEED) {
        let seed = seed.parse().unwrap();
        return assert!(failed_runs(1, |_| drop(run(seed))).is_empty(), "seed {seed} failed");
    }
    let runs = amount("KEYDERIVE_PAIRS_RUNS", "runs of pairs of features", 24, 2000);
    let met = Mutex::new(Met::default());
    let failed = failed_runs(runs, |seed| {
        let of_run = run(seed);
        met.lock().unwrap().add(of_run);
    });
    let met = met.into_inner().unwrap();
    assert!(failed.is_empty(), "{} of {runs} runs failed; {SEED} repeats one: {failed:?}", failed.len());
    let pairs = || Feature::ALL.iter().flat_map(|one| Feature::ALL.iter().map(move |other| (*one, *other)));
    let pairs = || pairs().filter(|(one, other)| one < other);
    for (one, other) in pairs() {
        println!("{:6} reads of {one} and {other}", met.reads(one, other));
    }
    assert_eq!(met.states.len(), STATES, "{:?}", met.states);
    let is_wrong =
        |(one, other): &(Feature, Feature)| (met.reads(*one, *other) == 0) != apart(*one, *other).is_some();
    let wrong: Vec<_> = pairs().filter(is_wrong).collect();
    assert!(
        wrong.is_empty(),
        "in {runs} runs these pairs met no read, or have met although `APART` says that they cannot: {wrong:?}"
    );
}
