//! A model of scans: random tables, plans and ways to run them, compared with a filter over the rows.
//!
//! The model computes which rows a plan selects, and their order, from values: in each field's own order, reversed if it
//! is declared so. It uses the library's encoder only where rows come in the order of stored keys.
//!
//! Each key type of `keys/mod.rs` has a test. They are short by default; two variables make them long, in release:
//!
//! ```sh
//! KEYDERIVE_MODEL_PAIRS=10000 cargo test --release -p keyderive-tests --test keys model::embedded
//! KEYDERIVE_MODEL_EMULATOR_PAIRS=500 cargo test --release -p keyderive-tests --test keys model::emulator
//! ```
//!
//! A failure prints a seed; `KEYDERIVE_MODEL_SEED` starts the test of that key type there.

mod case;
mod check;
mod foreign;
mod products;
mod regressions;
mod run;

use keyderive::Client;
use keyderive_tests::amount;
use keyderive_tests::emulator::Emulator;

use crate::keys::{Sample, for_every_key};

/// Pairs of a table and a plan for each key type.
fn pairs() -> u64 {
    amount("KEYDERIVE_MODEL_PAIRS", "pairs of a table and a plan for each key type", 6, 300)
}

fn emulator_pairs() -> u64 {
    amount(
        "KEYDERIVE_MODEL_EMULATOR_PAIRS",
        "pairs of a table and a plan for each key type on the emulator",
        10,
        40,
    )
}

fn block_on(future: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future);
}

fn embedded<K: Sample>() {
    block_on(async { run::run::<K>(&Client::embedded(), pairs()).await });
}
for_every_key!(embedded);

fn emulator<K: Sample>() {
    let Some(emulator) = Emulator::start() else { return };
    block_on(async {
        let client = Client::emulator(emulator.host()).await.unwrap();
        run::run::<K>(&client, emulator_pairs()).await;
    });
}
for_every_key!(emulator);
