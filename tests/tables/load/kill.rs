//! Loads whose process is killed, and some of whose rows fail in every load but the last.
//!
//! `KEYDERIVE_LOAD_KILLS` is how many are killed; `KEYDERIVE_LOAD_SEED` repeats the moments of the kills, as far as possible.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use fastrand::Rng;
use futures_util::TryStreamExt as _;
use keyderive::client::ReadRows;
use keyderive::table::load::{Checkpoint, LoadReport};
use keyderive::{Client, GcRule};

use keyderive_tests::{Folder, amount, variable};

use super::{Reading, ReadingKey, Readings, reading, readings};

/// More rows than the children write before they are killed.
const ROWS: u32 = 60_000;

/// Passes the folder to a child; without it, the child's test does nothing.
pub(super) const FOLDER: &str = "KEYDERIVE_LOAD_CHILD_FOLDER";

/// A table whose family keeps several versions, so that a second write of a row shows.
async fn table(folder: &Path) -> (Client, Readings) {
    let client = Client::embedded_at(folder.join("readings.keyderive")).await.unwrap();
    let table = readings(&client);
    table.create().family("cf", GcRule::max_versions(5)).if_absent().await.unwrap();
    (client, table)
}

pub(super) fn stored(folder: &Path) -> Option<Checkpoint> {
    let text = std::fs::read(folder.join("checkpoint")).ok()?;
    Some(serde_json::from_slice(&text).unwrap())
}

pub(super) fn store(folder: &Path, checkpoint: &Checkpoint) {
    let next = folder.join("checkpoint.next");
    std::fs::write(&next, serde_json::to_vec(checkpoint).unwrap()).unwrap();
    std::fs::rename(next, folder.join("checkpoint")).unwrap();
}

/// Every 500th row has a number that no cell can store.
fn bad(id: u32) -> (ReadingKey, Reading) {
    let (key, reading) = reading(id);
    let value = if id % 500 == 17 { u64::MAX } else { reading.value };
    (key, Reading { value, ..reading })
}

/// Loads the input, which begins with its first row; a stored checkpoint makes the load resume.
async fn load(
    folder: &Path,
    row: fn(u32) -> (ReadingKey, Reading),
    told: impl Fn(&Checkpoint) + Send + Sync,
) -> LoadReport {
    let (_client, table) = table(folder).await;
    println!("\nopened");
    let load = table.load_iter((0..ROWS).map(row)).workers(4).batch_rows(100).look_ahead(100_000);
    let load = load.checkpoint_every(100).resume(stored(folder)).on_checkpoint(|checkpoint| {
        store(folder, checkpoint);
        told(checkpoint);
    });
    load.await.unwrap()
}

#[test]
fn loads_that_are_killed_and_resumed_end_with_the_rows_of_the_input() {
    let kills = amount("KEYDERIVE_LOAD_KILLS", "loads that are killed", 2, 20);
    let seed = variable("KEYDERIVE_LOAD_SEED", 7);
    let folder = Folder::new("load");
    let mut rng = Rng::with_seed(seed);
    let mut marks = Vec::new();
    for kill in 0..kills {
        // As soon as the file is open, or after some checkpoints.
        let checkpoints = if rng.u8(..8) == 0 { 0 } else { rng.usize(1..12) };
        kill_after(&folder, checkpoints, kill, "load::kill::loads_until_it_is_killed");
        marks.push(stored(&folder).map_or(0, |checkpoint| checkpoint.items()));
    }
    println!("seed {seed}: {kills} kills, with checkpoints at {marks:?}");
    assert!(marks.is_sorted() && marks.last() > marks.first());
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let after = stored(&folder).unwrap();
        let failed = (17..after.items()).step_by(500);
        assert!(after.failed().iter().copied().eq(failed), "{after:?}");
        let report = load(&folder, reading, |_| ()).await;
        assert_eq!(report.read(), u64::from(ROWS) - after.items() + after.failed().len() as u64);
        assert_eq!(report.written(), report.read());
        assert_eq!((report.checkpoint().items(), report.checkpoint().failed()), (u64::from(ROWS), &[][..]));
        check(&folder).await;
    });
}

/// Runs a child that loads in this test, and kills it after `checkpoints` checkpoints.
pub(super) fn kill_after(folder: &Path, checkpoints: usize, kill: u64, test: &str) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture", "--test-threads=1"]);
    let mut child = command.env(FOLDER, folder).stdout(Stdio::piped()).spawn().unwrap();
    let (mut told, mut killed) = (0, false);
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        match line.unwrap().as_str() {
            "opened" => {}
            line if line.starts_with("checkpoint ") => told += 1,
            _ => continue,
        }
        if !killed && told >= checkpoints {
            child.kill().unwrap();
            killed = true;
        }
    }
    let status = child.wait().unwrap();
    assert!(killed && !status.success(), "load {kill} ended by itself: {status}");
}

/// Fails unless every row is there, nothing else is, and all versions of a column are equal.
async fn check(folder: &Path) {
    let (client, table) = table(folder).await;
    let mut rows = table.scan(ReadingKey::scan()).stream();
    let mut id = 0;
    while let Some(row) = rows.next().await {
        assert_eq!(row.unwrap(), reading(id));
        id += 1;
    }
    assert_eq!(id, ROWS);
    let mut raw = client.raw_table("readings").read_rows(ReadRows::all());
    let (mut columns, mut cells) = (0, 0);
    while let Some(row) = raw.try_next().await.unwrap() {
        let values: BTreeSet<_> = row.cells().map(|cell| (cell.qualifier(), cell.value())).collect();
        let names: BTreeSet<_> = values.iter().map(|(qualifier, _)| qualifier).collect();
        assert_eq!(values.len(), names.len(), "{row:?}");
        columns += names.len();
        cells += row.cells().len();
    }
    // Two columns, and a third one for odd numbers.
    assert_eq!(columns, ROWS as usize * 5 / 2);
    println!("{cells} cells of {columns} columns");
}

/// Runs in a child.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn loads_until_it_is_killed() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    load(Path::new(&folder), bad, |checkpoint| println!("checkpoint {}", checkpoint.items()))
        .await
        .all_written()
        .unwrap();
}
