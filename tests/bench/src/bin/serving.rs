//! Reads and writes of one row at a fixed rate, and what faults of the server do to their latencies, as tables in Markdown.
//!
//! `cargo run --release -p keyderive-bench --bin serving -- [--rate N] [--seconds N] [latency] [faults]`; by default 5,000
//! operations a second, 60 s for each fault, and both sections.

use std::process::ExitCode;

use keyderive_bench::serving::{self, Failure, Section, Size};
use lexopt::{Arg, Parser, ValueExt as _};

fn main() -> ExitCode {
    let run = parse().map_err(Failure::from).and_then(|(sections, size)| serving::run(&sections, size));
    match run {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn parse() -> Result<(Vec<Section>, Size), lexopt::Error> {
    let (mut sections, mut size) = (Vec::new(), Size { rate: 5_000, seconds: 60 });
    let mut parser = Parser::from_env();
    while let Some(argument) = parser.next()? {
        match argument {
            Arg::Long("rate") => size.rate = parser.value()?.parse()?,
            Arg::Long("seconds") => size.seconds = parser.value()?.parse()?,
            Arg::Value(name) => {
                let name = name.string()?;
                sections.push(Section::named(&name).ok_or_else(|| format!("there is no `{name}`"))?);
            }
            _ => return Err(argument.unexpected()),
        }
    }
    if sections.is_empty() {
        sections.extend(Section::ALL);
    }
    Ok((sections, size))
}
