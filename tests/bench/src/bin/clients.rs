//! Scans and bulk writes of keyderive, `bigtable_rs` and Google's clients for Go, Java and Python, as a table in Markdown.
//!
//! `cargo run --release -p keyderive-bench --bin clients -- [--rows N] [--runs N]`; by default 500,000 rows and 5 runs. It
//! installs Google's clients by `.ci/clients`, which needs Go or Python, and Java with Maven.

use std::process::ExitCode;

use keyderive_bench::hot_paths::{Failure, Size, Work, run_client, run_clients};
use lexopt::{Arg, Parser, ValueExt as _};

enum Command {
    Measure(Size<'static>),
    /// A client in Rust, in a process of its own.
    Client(String, Work, Size<'static>),
}

fn main() -> ExitCode {
    let run = parse().map_err(Failure::from).and_then(|command| match command {
        Command::Measure(size) => run_clients(size),
        Command::Client(name, work, size) => run_client(&name, work, size),
    });
    match run {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn parse() -> Result<Command, lexopt::Error> {
    let mut size = Size::new(500_000, 5);
    let mut parser = Parser::from_env();
    while let Some(argument) = parser.next()? {
        match argument {
            Arg::Long("rows") => size.rows = parser.value()?.parse()?,
            Arg::Long("runs") => size.runs = parser.value()?.parse()?,
            Arg::Long("client") => {
                let (name, work) = (parser.value()?.string()?, parser.value()?.string()?);
                let work = Work::named(&work).ok_or_else(|| format!("there is no `{work}`"))?;
                let size = Size::new(parser.value()?.parse()?, parser.value()?.parse()?);
                return Ok(Command::Client(name, work, size));
            }
            _ => return Err(argument.unexpected()),
        }
    }
    Ok(Command::Measure(size))
}
