//! Subcommands that are programs of their own: `keyderive NAME` runs `keyderive-NAME` of `PATH`, as git and cargo do.

use std::ffi::OsString;
use std::fmt::Display;
use std::io;
use std::process::Command;

use clap::error::ErrorKind;

use crate::arguments;
use crate::exit::{Failure, Outcome};

/// Replaces this process by the program of an unknown subcommand; `None` if `PATH` has no such program.
pub(crate) fn run(error: &clap::Error) -> Option<Outcome> {
    let mut given = std::env::args_os().skip(1);
    let name = given.next()?;
    let name = name.to_str().filter(|name| error.kind() == ErrorKind::InvalidSubcommand && is_name(name))?;
    // The unknown subcommand may belong to a known one.
    if arguments().find_subcommand(name).is_some() {
        return None;
    }
    let program = format!("keyderive-{name}");
    match start(&program, given) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => Some(Err(not_run(&program, &error))),
        Ok(ended) => Some(ended),
    }
}

/// The failure for a program that was found and cannot be run.
pub(crate) fn not_run(program: &str, error: &dyn Display) -> Failure {
    Failure::failed(format_args!("`{program}` cannot be run: {error}"))
}

/// A path would name a program that is not on `PATH`.
fn is_name(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
}

/// Replaces this process by a program of `PATH`. It gets this process's signals and gives its exit code.
#[cfg(unix)]
pub(crate) fn start(program: &str, arguments: impl IntoIterator<Item = OsString>) -> io::Result<Outcome> {
    use std::os::unix::process::CommandExt as _;

    Err(Command::new(program).args(arguments).exec())
}

#[cfg(not(unix))]
pub(crate) fn start(program: &str, arguments: impl IntoIterator<Item = OsString>) -> io::Result<Outcome> {
    let status = Command::new(program).args(arguments).status()?;
    std::process::exit(status.code().unwrap_or(crate::exit::Exit::Failed as i32))
}
