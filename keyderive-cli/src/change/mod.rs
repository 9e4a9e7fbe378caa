//! What commands that change a table have in common: they ask before they begin, keep to a rate, can be stopped, and go on where they were.

mod ask;
mod pace;
mod resume;
mod stop;

use std::num::NonZeroU32;
use std::path::PathBuf;

use clap::Args;

pub(crate) use self::ask::{is_agreed, name_production};
pub(crate) use self::pace::Pace;
pub(crate) use self::resume::{ResumeFile, check_distinct};
pub(crate) use self::stop::Stop;

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Change")]
pub(crate) struct ChangeArgs {
    /// Do it, without a question; otherwise the command says what it would do, and on a terminal asks
    #[arg(long)]
    pub(crate) yes: bool,
    /// Write at most this many rows a second
    ///
    /// The signals of a server that is overloaded are heeded in any case.
    #[arg(long, value_name = "ROWS")]
    pub(crate) rate: Option<NonZeroU32>,
    /// Keep in this file how far the command is; go on from there if the file exists
    ///
    /// The same command with the same file goes on after it was stopped, killed, or failed. The file is replaced at once or not at all.
    #[arg(long, value_name = "FILE")]
    pub(crate) resume: Option<PathBuf>,
}

impl ChangeArgs {
    /// How to go on, for a command that ends before it has done all.
    pub(crate) fn how_to_go_on(&self) -> &'static str {
        match self.resume {
            Some(_) => "the same command goes on from here",
            None => "the next time, `--resume FILE` lets the command go on where it was",
        }
    }
}

/// A number with its noun.
pub(crate) fn counted(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}
