//! The services through raw messages, with manual clocks.

mod administration;
mod aggregates;
mod broken;
mod budgets;
mod clock;
mod differential;
mod garbage;
mod granularity;
mod limits;
mod protocol;
mod queries;
mod raw;
mod rules;
mod schemas;
mod tokens;
mod writes;

use std::sync::Arc;

use bytes::Bytes;

use super::Bigtable;
use super::storage::{FileStorage, MemoryStorage};
use super::store::{Clock, Store, SystemClock};
use super::worker::Worker;

/// Set for the run of these tests that keeps their tables in a file.
const OVER_A_FILE: &str = "KEYDERIVE_TEST_OVER_A_FILE";

fn is_over_a_file() -> bool {
    std::env::var_os(OVER_A_FILE).is_some()
}

/// A storage of the kind that this run is for.
fn store(clock: impl Clock + 'static) -> Store {
    if is_over_a_file() {
        Store::new(FileStorage::in_memory(), clock)
    } else {
        Store::new(MemoryStorage::default(), clock)
    }
}

fn bigtable() -> Bigtable {
    Bigtable::new(Arc::new(Worker::new(Arc::new(store(SystemClock))).unwrap()))
}

/// Runs the tests of this module once more, in a process of their own.
#[test]
fn all_of_this_holds_over_a_file() {
    if is_over_a_file() || !keyderive_tests::runs_long("the tests of the embedded Bigtable over a file") {
        return;
    }
    let tests = std::env::current_exe().unwrap();
    let run = std::process::Command::new(tests).arg("tests::").env(OVER_A_FILE, "1").output().unwrap();
    let said = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success() && said.contains("writes::"), "{said}");
}
