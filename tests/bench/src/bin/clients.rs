//! Scans and bulk writes of keyderive, `bigtable_rs` and Google's clients for Go, Java and Python, as a table in Markdown.
//!
//! `cargo run --release -p keyderive-bench --bin clients -- [--rows N] [--runs N]`; by default 500,000 rows and 5 runs. It
//! installs Google's clients by `.ci/clients`, which needs Go or Python, and Java with Maven.

use std::process::ExitCode;

use keyderive_bench::hot_paths::{Size, WORKS, run_client, run_clients};
use keyderive_bench::program;

fn main() -> ExitCode {
    program::run(|mut arguments| {
        // A client in Rust, in a process of its own.
        if let Some(client) = arguments.option::<String>("client")? {
            let [work, rows, runs] = &arguments.words()?[..] else {
                return Err("which work, how many rows and runs?".into());
            };
            return run_client(
                &client,
                program::named(&WORKS, work)?,
                Size::new(rows.parse()?, runs.parse()?),
            );
        }
        let (rows, runs) = (arguments.option("rows")?, arguments.option("runs")?);
        arguments.words()?;
        run_clients(Size::new(rows.unwrap_or(500_000), runs.unwrap_or(5)))
    })
}
