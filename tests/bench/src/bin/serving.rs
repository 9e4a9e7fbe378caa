//! Reads and writes of one row at a fixed rate, and what faults of the server do to their latencies, as tables in Markdown.
//!
//! `cargo run --release -p keyderive-bench --bin serving -- [--rate N] [--seconds N] [latency] [faults]`; by default 5,000
//! operations a second, 60 s for each fault, and both sections.

use std::process::ExitCode;

use keyderive_bench::program;
use keyderive_bench::serving::{self, SECTIONS, Size};

fn main() -> ExitCode {
    program::run(|mut arguments| {
        let (rate, seconds) = (arguments.option("rate")?, arguments.option("seconds")?);
        let size = Size { rate: rate.unwrap_or(5_000), seconds: seconds.unwrap_or(60) };
        serving::run(&arguments.chosen(&SECTIONS)?, size)
    })
}
