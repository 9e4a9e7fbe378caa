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

/// Prints what is wrong with the arguments, or the help that they ask for, and ends the process. The text can quote arguments, which a terminal
/// could obey.
pub fn refuse(error: &clap::Error) -> ! {
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
