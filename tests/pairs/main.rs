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

use fastrand::Rng;
use features::{Feature, Met, apart};
use keyderive_tests::amount;

const SEED: &str = "KEYDERIVE_PAIRS_SEED";

/// How many states a re-keying has.
const STATES: usize = 8;

/// The futures of a run, which an unoptimized build does not fold, take more than the stack of a test.
const STACK: usize = 32 << 20;

/// Makes a run in a thread of its own; fails if it panics.
fn run(seed: u64) -> std::thread::Result<Met> {
    std::thread::Builder::new()
        .name(format!("seed {seed}"))
        .stack_size(STACK)
        .spawn(move || of_seed(seed))
        .unwrap()
        .join()
}

/// Makes a run on a clock that jumps over its waits.
fn of_seed(seed: u64) -> Met {
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
        return drop(run(seed.parse().unwrap()).unwrap());
    }
    let runs = amount("KEYDERIVE_PAIRS_RUNS", "runs of pairs of features", 24, 2000);
    let (mut met, mut failed) = (Met::default(), Vec::new());
    for seed in 0..runs {
        match run(seed) {
            Ok(of_run) => met.add(of_run),
            Err(_) => failed.push(seed),
        }
    }
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
