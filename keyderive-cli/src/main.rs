//! The command `keyderive`: tables of Bigtable by the fields of their keys.

mod change;
mod codegen;
mod commands;
mod exchange;
mod exit;
mod external;
mod filter;
mod instance;
mod layout;
mod output;
mod outside;
mod pair;

use std::io::{self, Write as _};
use std::process::{self, ExitCode};

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use self::exit::{CODES, Outcome};
use self::output::Safe;

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
            Self::Completions(command) => command.run(),
            Self::Man(command) => command.run(),
        }
    }
}

/// The arguments of all commands. Lines of a paragraph are joined: clap breaks them where the terminal ends.
pub(crate) fn arguments() -> clap::Command {
    fn joined(command: clap::Command) -> clap::Command {
        let about = command.get_long_about().map(|text| {
            let text = text.to_string();
            let paragraphs = text.split("\n\n").map(|paragraph| match paragraph.starts_with("    ") {
                // Examples.
                true => paragraph.to_owned(),
                false => paragraph.replace('\n', " "),
            });
            paragraphs.collect::<Vec<_>>().join("\n\n")
        });
        match about {
            Some(about) => command.long_about(about),
            None => command,
        }
        .mut_subcommands(joined)
    }
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
    match ended {
        Ok(exit) => exit.into(),
        // What reads the output has all that it wants.
        Err(failure) if failure.is_broken_pipe => ExitCode::SUCCESS,
        Err(failure) => {
            output::error(&failure);
            failure.exit.into()
        }
    }
}

/// Prints what is wrong with the arguments, or the help that they ask for. It can quote arguments, which a terminal could obey.
fn refuse(error: &clap::Error) -> ! {
    let text = error.render().to_string();
    // Not by `lines`, which takes the end `\r\n` of an argument's line for its own.
    let text = text.trim_end_matches('\n');
    let lines: Vec<_> = text.split('\n').map(|line| Safe(line).to_string()).collect();
    if lines.iter().map(String::as_str).eq(text.split('\n')) {
        error.exit();
    }
    let _ = writeln!(io::stderr(), "{}", lines.join("\n"));
    process::exit(error.exit_code())
}
