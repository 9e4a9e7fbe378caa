//! The command `keyderive`: tables of Bigtable by the fields of their keys.

#![warn(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, clippy::print_stderr)]

mod change;
mod codegen;
mod commands;
mod conditions;
mod exchange;
mod external;
#[cfg(test)]
mod hostile;
mod outside;
mod pair;

use std::process::ExitCode;

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use keyderive_command::arguments::{joined, refuse};
use keyderive_command::{exit, input, instance, layout, output};

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
    Count(commands::count::Count),
    Tablets(commands::tablets::Tablets),
    Heat(commands::heat::Heat),
    Simulate(commands::simulate::Simulate),
    Verify(commands::verify::Verify),
    Status(commands::status::Status),
    Create(commands::create::Create),
    Apply(commands::apply::Apply),
    Delete(commands::delete::Delete),
    Export(commands::export::Export),
    Import(commands::import::Import),
    Copy(commands::copy::Copy),
    Diff(commands::diff::Diff),
    Rekey(commands::rekey::Rekey),
    Layouts(commands::layouts::LayoutsCommand),
    Codegen(commands::codegen::Codegen),
    Serve(commands::serve::Serve),
    Sql(commands::sql::Sql),
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
            Self::Count(command) => command.run(),
            Self::Tablets(command) => command.run(),
            Self::Heat(command) => command.run(),
            Self::Simulate(command) => command.run(),
            Self::Verify(command) => command.run(),
            Self::Status(command) => command.run(),
            Self::Create(command) => command.run(),
            Self::Apply(command) => command.run(),
            Self::Delete(command) => command.run(),
            Self::Export(command) => command.run(),
            Self::Import(command) => command.run(),
            Self::Copy(command) => command.run(),
            Self::Diff(command) => command.run(),
            Self::Rekey(command) => command.run(),
            Self::Layouts(command) => command.run(),
            Self::Codegen(command) => command.run(),
            Self::Serve(command) => command.run(),
            Self::Sql(command) => command.run(),
            Self::Completions(command) => command.run(),
            Self::Man(command) => command.run(),
        }
    }
}

/// The arguments of all commands.
pub(crate) fn arguments() -> clap::Command {
    joined(Cli::command())
}

fn main() -> ExitCode {
    let parsed = arguments().try_get_matches().and_then(|matches| Cli::from_arg_matches(&matches));
    let ended = match parsed {
        Ok(cli) => cli.command.run(),
        Err(error) => match external::run(&error) {
            Some(ended) => ended,
            None => refuse(&error),
        },
    };
    exit::end(ended)
}
