//! A model of scans: random tables, plans and ways to run them, compared with a filter over the rows.
//!
//! The model computes which rows a plan selects, and their order, from values: in each field's own order, reversed if it
//! is declared so. It uses the library's encoder only where rows come in the order of stored keys.
//!
//! Each key type of `model/keys.rs` has a test. They are short by default; two variables make them long, in release:
//!
//! ```sh
//! KEYDERIVE_MODEL_PAIRS=10000 cargo test --release -p keyderive-tests --test keys model::embedded
//! KEYDERIVE_MODEL_EMULATOR_PAIRS=500 cargo test --release -p keyderive-tests --test keys model::emulator
//! ```
//!
//! A failure prints a seed; `KEYDERIVE_MODEL_SEED` starts the test of that key type there.

mod case;
mod check;
mod constraints;
mod foreign;
mod keys;
mod products;
mod regressions;
mod run;
mod values;

use keyderive::Client;
use keyderive_tests::amount;
use keyderive_tests::emulator::Emulator;

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

/// Makes a test of each key type, on the embedded Bigtable and on the emulator.
macro_rules! model {
    ($($test:ident: $key:ident;)*) => {
        mod embedded {
            $(#[tokio::test(flavor = "current_thread")]
            async fn $test() {
                let client = super::Client::embedded();
                super::run::run::<super::keys::$key>(&client, super::pairs()).await;
            })*
        }
        mod emulator {
            $(#[tokio::test(flavor = "current_thread")]
            async fn $test() {
                let Some(emulator) = super::Emulator::start() else { return };
                let client = super::Client::emulator(emulator.host()).await.unwrap();
                super::run::run::<super::keys::$key>(&client, super::emulator_pairs()).await;
            })*
        }
    };
}

model! {
    salted_in_front: SaltedInFront;
    behind_tag: BehindTag;
    behind_one_field: BehindOneField;
    behind_two_fields: BehindTwoFields;
    front_of_tag: FrontOfTag;
    unsalted: Unsalted;
    one_name: OneName;
    java: Java;
    java_behind_tag: JavaBehindTag;
    padded_strings: PaddedStrings;
    descending: Descending;
    bit_reversed: BitReversed;
    escaped: Escaped;
    integers: Integers;
    codes_and_times: CodesAndTimes;
    ordered_salted: OrderedSalted;
    ordered_tagged: OrderedTagged;
    ordered_unsalted: OrderedUnsalted;
    grown: Grown;
    grown_front: GrownFront;
    grown_after: GrownAfter;
    resalted: Resalted;
    ordered_grown: OrderedGrown;
    ordered_resalted: OrderedResalted;
    log: Log;
}
