//! Scans, ordered merges, bulk writes, reads and writes of one row, and keys, each compared with its peer and its floor, as tables in Markdown.
//!
//! `cargo run --release -p keyderive-bench --bin hot-paths -- [--rows N] [--runs N] [scans] [rows] [merges] [bulk] [points] [recording] [keys]`;
//! by default 1,000,000 rows, 5 runs, and all sections.

use std::process::ExitCode;

use keyderive_bench::allocations::Counting;
use keyderive_bench::hot_paths::{self, Peak, SECTIONS, Size};
use keyderive_bench::program;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn main() -> ExitCode {
    program::run(|mut arguments| {
        // A path that the program runs in a process of its own.
        if let Some(path) = arguments.option("peak")? {
            let (host, buckets) = (arguments.option("host")?, arguments.option("buckets")?);
            return Peak { path, host: host.unwrap_or_default(), buckets: buckets.unwrap_or(4) }.print();
        }
        let (rows, runs) = (arguments.option("rows")?, arguments.option("runs")?);
        let size = Size::new(rows.unwrap_or(1_000_000), runs.unwrap_or(5));
        hot_paths::run(&arguments.chosen(&SECTIONS)?, size)
    })
}
