//! Reads and writes of one row at a fixed rate: their latencies, and what faults of the server do to them.
//!
//! The load is open: operations start at their intended times, however long earlier ones take, and their latency counts from
//! there. A client that falls behind cannot hide it.

mod far;
mod faults;
mod latency;
mod open_loop;
mod server;

use keyderive::{Client, Row, RowKey, Table};

use crate::program::Failure;

/// What is measured: prints it.
#[derive(Clone, Copy)]
pub struct Section(fn(Size) -> Result<(), Failure>);

/// Latencies of a scripted server, of the embedded Bigtable on a port, of the emulator, and of a server that takes 20 ms; and faults of
/// the server, before, during and after.
pub const SECTIONS: [(&str, Section); 2] =
    [("latency", Section(latency::print)), ("faults", Section(faults::print))];

/// How much is measured.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// Operations a second.
    pub rate: u32,
    /// How long each fault is measured: a third before it, a third during it, a third after.
    pub seconds: u32,
}

/// Prints the sections as Markdown.
///
/// # Errors
/// When an operation fails that no fault explains, or a server does not start.
pub fn run(sections: &[Section], size: Size) -> Result<(), Failure> {
    crate::hot_paths::pin_client();
    println!("\n# Under load\n");
    println!(
        "`cargo run --release -p keyderive-bench --bin serving >> docs/benchmarks.md` adds this part, in about ten minutes. \
         Operations start at a fixed rate, whether or not earlier ones have ended. Their latency counts from the \
         intended start, and includes those that fail. The client and the server have a core each. The scripted server answers \
         each request with the same row, or with success.\n"
    );
    sections.iter().try_for_each(|section| (section.0)(size))
}

#[derive(RowKey, Clone, Debug)]
struct ReadingKey {
    id: u64,
}

#[derive(Row, Clone, Debug, PartialEq)]
struct Reading {
    a: i64,
    b: i64,
    c: i64,
}

const KEY: ReadingKey = ReadingKey { id: 7 };
const READING: Reading = Reading { a: 1, b: 2, c: 3 };

fn table(client: &Client) -> Table<ReadingKey, Reading> {
    client.table("readings")
}

/// A read, or for odd numbers a write.
async fn read_or_write(table: &Table<ReadingKey, Reading>, number: u64) -> Result<(), keyderive::Error> {
    match number % 2 {
        0 => read(table).await,
        // Not always the same row, whose versions would add up.
        _ => table.put(&ReadingKey { id: 1000 + number % 10_000 }, &READING).await,
    }
}

async fn read(table: &Table<ReadingKey, Reading>) -> Result<(), keyderive::Error> {
    let found = table.get(&KEY).await?;
    assert!(found.is_none_or(|reading| reading == READING));
    Ok(())
}

/// A runtime of one thread, in which this runs.
fn block_on<T>(work: impl Future<Output = T>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    Ok(tokio::task::LocalSet::new().block_on(&runtime, work))
}
