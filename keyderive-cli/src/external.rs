//! Subcommands that are programs of their own: `keyderive NAME` runs `keyderive-NAME` of `PATH`, as git and cargo do.

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
    // The unknown subcommand may be that of a known one.
    if arguments().find_subcommand(name).is_some() {
        return None;
    }
    let program = format!("keyderive-{name}");
    match start(Command::new(&program).args(given)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => Some(Err(Failure::failed(format_args!("`{program}` cannot be run: {error}")))),
        Ok(ended) => Some(ended),
    }
}

/// A path would name a program that is not on `PATH`.
fn is_name(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
}

/// It gets the signals of this one, and its exit code is that of this one.
#[cfg(unix)]
fn start(command: &mut Command) -> io::Result<Outcome> {
    use std::os::unix::process::CommandExt as _;

    Err(command.exec())
}

#[cfg(not(unix))]
fn start(command: &mut Command) -> io::Result<Outcome> {
    let status = command.status()?;
    std::process::exit(status.code().unwrap_or(crate::exit::Exit::Failed as i32))
}
