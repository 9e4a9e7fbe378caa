//! Arguments: how help is broken, and how wrong ones are refused.

use std::io::{self, Write as _};
use std::process;

use crate::output::Safe;

/// The command with the lines of each paragraph of its help joined: clap breaks them where the terminal ends.
pub fn joined(command: clap::Command) -> clap::Command {
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

/// Prints what is wrong with the arguments, or the help that they ask for, and ends the process.
pub fn refuse(error: &clap::Error) -> ! {
    let text = shown(error);
    if text == error.render().to_string().trim_end_matches('\n') {
        error.exit();
    }
    let _ = writeln!(io::stderr(), "{text}");
    process::exit(error.exit_code())
}

/// What is wrong with the arguments, without what a terminal would obey: it can quote them.
#[must_use]
pub fn shown(error: &clap::Error) -> String {
    let text = error.render().to_string();
    // Not by `lines`, which takes the end `\r\n` of an argument's line for its own.
    let lines = text.trim_end_matches('\n').split('\n').map(|line| Safe(line).to_string());
    lines.collect::<Vec<_>>().join("\n")
}
