//! Scans, ordered merges, bulk writes, reads and writes of one row, and keys, each compared with its peer and its floor, as tables in Markdown.
//!
//! `cargo run --release -p keyderive-bench --bin hot-paths -- [--rows N] [--runs N] [scans] [rows] [merges] [bulk] [points] [recording] [keys]`;
//! by default 1,000,000 rows, 5 runs, and all sections.

use std::process::ExitCode;

use keyderive_bench::allocations::Counting;
use keyderive_bench::hot_paths::{self, Failure, Peak, Section, Size};
use lexopt::{Arg, Parser, ValueExt as _};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

enum Command {
    Measure(Vec<Section>, Size<'static>),
    /// A path that the program runs in a process of its own.
    Peak(Peak),
}

fn main() -> ExitCode {
    match parse().map_err(Failure::from).and_then(run) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> Result<(), Failure> {
    match command {
        Command::Measure(sections, size) => hot_paths::run(&sections, size),
        Command::Peak(peak) => peak.print(),
    }
}

fn parse() -> Result<Command, lexopt::Error> {
    let (mut sections, mut size) = (Vec::new(), Size::new(1_000_000, 5));
    let (mut path, mut host, mut buckets) = (None, String::new(), 4);
    let mut parser = Parser::from_env();
    while let Some(argument) = parser.next()? {
        match argument {
            Arg::Long("rows") => size.rows = parser.value()?.parse()?,
            Arg::Long("runs") => size.runs = parser.value()?.parse()?,
            Arg::Long("peak") => path = Some(parser.value()?.string()?),
            Arg::Long("host") => host = parser.value()?.string()?,
            Arg::Long("buckets") => buckets = parser.value()?.parse()?,
            Arg::Value(name) => {
                let name = name.string()?;
                sections.push(Section::named(&name).ok_or_else(|| format!("there are no `{name}`"))?);
            }
            _ => return Err(argument.unexpected()),
        }
    }
    if sections.is_empty() {
        sections.extend(Section::ALL);
    }
    Ok(match path {
        Some(path) => Command::Peak(Peak { path, buckets, host }),
        None => Command::Measure(sections, size),
    })
}
