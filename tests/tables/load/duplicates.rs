//! Several rows with one key: the last one wins.

use std::collections::BTreeMap;
use std::time::Duration;

use fastrand::Rng;
use keyderive::embedded::{Bigtable, Faults, Method};
use keyderive::table::load::Checkpoint;

use super::{Reading, ReadingKey, readings};

/// 3000 rows of 200 keys.
fn rows(seed: u64) -> Vec<(ReadingKey, Reading)> {
    let mut rng = Rng::with_seed(seed);
    let row = |value| Reading { value, text: value.to_string(), at_odd: (value % 3 == 0).then_some(value) };
    (0..3_000).map(|value| (ReadingKey { id: rng.u32(..200) }, row(value))).collect()
}

#[tokio::test(start_paused = true)]
async fn of_two_rows_with_a_key_the_later_one_counts() {
    for seed in 0..5 {
        let bigtable = Bigtable::in_memory();
        let steady = readings(&bigtable.client());
        steady.create_if_absent().await.unwrap();
        // Requests overtake one another.
        let faults = Faults::seeded(seed).delay(Method::MutateRows, 0.5, Duration::from_secs(1));
        let table = readings(&bigtable.with_faults(faults).client());
        let rows = rows(seed);
        let mut told: Vec<Checkpoint> = Vec::new();
        let load = table.load_iter(&rows).batch_rows(7).look_ahead(5_000).checkpoint_every(100);
        load.on_checkpoint(|checkpoint| told.push(checkpoint.clone())).await.unwrap().all_written().unwrap();
        let expected: BTreeMap<ReadingKey, Reading> = rows.iter().cloned().collect();
        let stored = || async {
            let stored = steady.scan(ReadingKey::scan()).collect().await.unwrap();
            stored.into_iter().collect::<BTreeMap<_, _>>()
        };
        assert!(stored().await == expected, "seed {seed}");

        // The last one still wins when a resumed load writes some rows twice.
        let checkpoint = told[told.len() / 2].clone();
        table.load_iter(&rows).batch_rows(7).resume(checkpoint).await.unwrap().all_written().unwrap();
        assert!(stored().await == expected, "seed {seed}, resumed");
    }
}
