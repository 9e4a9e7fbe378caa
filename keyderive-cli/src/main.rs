//! The command `keyderive`: tables of Bigtable by the fields of their keys.

mod change;
mod commands;
mod exchange;
mod exit;
mod filter;
mod instance;
mod layout;
mod output;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use self::exit::{CODES, Outcome};

/// Tables of Bigtable by the fields of their keys.
#[derive(Parser)]
#[command(name = "keyderive", version, after_help = CODES, propagate_version = true, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Decode(commands::decode::Decode),
    Encode(commands::encode::Encode),
    Get(commands::get::Get),
    Scan(commands::scan::Scan),
    Delete(commands::delete::Delete),
    Export(commands::export::Export),
    Import(commands::import::Import),
    Completions(commands::completions::Completions),
    Man(commands::man::Man),
}

impl Command {
    fn run(self) -> Outcome {
        match self {
            Self::Decode(command) => command.run(),
            Self::Encode(command) => command.run(),
            Self::Get(command) => command.run(),
            Self::Scan(command) => command.run(),
            Self::Delete(command) => command.run(),
            Self::Export(command) => command.run(),
            Self::Import(command) => command.run(),
            Self::Completions(command) => command.run(),
            Self::Man(command) => command.run(),
        }
    }
}

fn main() -> ExitCode {
    match Cli::parse().command.run() {
        Ok(exit) => exit.into(),
        // What reads the output has all that it wants.
        Err(failure) if failure.is_broken_pipe => ExitCode::SUCCESS,
        Err(failure) => {
            output::error(&failure);
            failure.exit.into()
        }
    }
}
