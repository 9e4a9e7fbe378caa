//! The embedded Bigtable in a file, which is reopened, killed or damaged, and with faults.

mod clock;
mod crash;
mod faults;
mod files;
mod flips;
mod sums;

use std::path::Path;

use keyderive::{Client, Row, RowKey, Table};

#[derive(RowKey, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ReadingKey {
    round: u32,
    id: u32,
}

/// A row of two to four columns.
#[derive(Row, Clone, Debug, PartialEq)]
struct Reading {
    value: u64,
    text: String,
    at_odd: Option<u64>,
    at_third: Option<String>,
}

type Readings = Table<ReadingKey, Reading>;

fn readings(client: &Client) -> Readings {
    client.table("readings")
}

/// The row of this key.
fn reading(round: u32, id: u32) -> (ReadingKey, Reading) {
    let value = u64::from(round) << 32 | u64::from(id);
    let text = format!("{value:x}").repeat(id as usize % 40);
    let at_odd = (id % 2 == 1).then_some(value);
    let at_third = (id % 3 == 2).then(|| text.clone());
    (ReadingKey { round, id }, Reading { value, text, at_odd, at_third })
}

/// A child process that runs one test of this program with `file`.
fn child(test: &str, file: &Path) -> std::process::Command {
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture", "--test-threads=1"]).env(FILE, file);
    command
}

/// Passes the file to a child; without it, the child's tests do nothing.
const FILE: &str = "KEYDERIVE_DURABLE_CHILD_FILE";
