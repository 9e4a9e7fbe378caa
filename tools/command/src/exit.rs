//! How a command ends: its exit code, and why it failed.

use std::fmt;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use keyderive::ErrorKind;
use keyderive::layouts::LayoutsError;
use keyderive::plan::PlanError;

use crate::output::{self, Safe};

/// What `--help` lists.
pub const CODES: &str = "\
Exit codes:
  0  done
  1  done, with findings: differences, rows that do not belong, keys that do not decode, a missing row
  2  the arguments are wrong
  3  refused: the table, its layout or a file is not as the command needs it; nothing was changed, or the message says what
  4  the server, the network or a file failed, also for one table of `status`, or Ctrl-C stopped a command that writes or deletes rows, or \
`export`; what is done stays done
  5  done, and the busiest tablet of `simulate` takes as much as `--below` says, or more

Ctrl-C ends other commands at once, as the signal does: 130 in most shells. A second one ends every command at once.";

/// How a command ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Done.
    Done = 0,
    /// Done, with findings.
    Findings = 1,
    /// The arguments are wrong.
    Usage = 2,
    /// The table, its layout or a file is not as the command needs it.
    Refused = 3,
    /// The server, the network or a file failed, or Ctrl-C stopped a command that writes.
    Failed = 4,
    /// Done, and the busiest tablet of a simulation takes as much as a bound, or more.
    AboveBound = 5,
}

impl Exit {
    /// Done, or done with findings.
    pub fn found(has_findings: bool) -> Self {
        if has_findings { Self::Findings } else { Self::Done }
    }
}

/// Ends a command: says on standard error why it failed, if it did.
pub fn end(ended: Outcome) -> ExitCode {
    match ended {
        Ok(exit) => exit.into(),
        // The reader of the output has all that it wants.
        Err(failure) if failure.is_broken_pipe => ExitCode::SUCCESS,
        Err(failure) => {
            output::error(&failure);
            failure.exit.into()
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Why a command failed.
#[derive(Debug)]
pub struct Failure {
    /// The exit code.
    pub exit: Exit,
    message: String,
    /// Whether the reader of the output has gone, as `head` does: no failure.
    pub is_broken_pipe: bool,
}

/// How a command ends, or what a part of it found.
pub type Outcome<T = Exit> = Result<T, Failure>;

impl Failure {
    fn new(exit: Exit, message: String) -> Self {
        Self { exit, message, is_broken_pipe: false }
    }

    /// With this exit code.
    pub fn of(exit: Exit, message: impl fmt::Display) -> Self {
        Self::new(exit, message.to_string())
    }

    /// The arguments are wrong.
    pub fn usage(message: impl fmt::Display) -> Self {
        Self::new(Exit::Usage, message.to_string())
    }

    /// The table, its layout or a file is not as the command needs it.
    pub fn refused(message: impl fmt::Display) -> Self {
        Self::new(Exit::Refused, message.to_string())
    }

    /// A file that the command writes cannot be written.
    pub fn unwritten(path: &Path, error: &io::Error) -> Self {
        Self::failed(format_args!("`{}` cannot be written: {error}", path.display()))
    }

    /// An input cannot be read, or is no text.
    pub fn unread(what: impl fmt::Display, error: &io::Error) -> Self {
        let exit = match error.kind() {
            io::ErrorKind::InvalidData => Exit::Refused,
            _ => Exit::Failed,
        };
        Self::of(exit, format_args!("{what} is not read: {error}"))
    }

    /// What was asked for is not there.
    pub fn not_there(message: impl fmt::Display) -> Self {
        Self::new(Exit::Findings, message.to_string())
    }

    /// The same failure, with what to do about it by this command: errors of the library name its calls.
    #[must_use]
    pub fn help(self, help: impl fmt::Display) -> Self {
        Self { message: format!("{}\nhelp: {help}", self.message), ..self }
    }

    /// The same failure, after what the command had done.
    pub fn after(self, done: impl fmt::Display) -> Self {
        Self { message: format!("{}\n{done}", self.message), ..self }
    }

    /// The server, the network or a file failed.
    pub fn failed(message: impl fmt::Display) -> Self {
        Self::new(Exit::Failed, message.to_string())
    }
}

/// Without what a terminal would obey.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lines = self.message.lines();
        write!(f, "{}", Safe(lines.next().unwrap_or_default()))?;
        lines.try_for_each(|line| write!(f, "\n{}", Safe(line)))
    }
}

/// What an operator can do about a failure with this command. Errors of the library name its calls, unless they are printed with `{:#}`.
pub fn remedy(error: &keyderive::Error) -> Option<&'static str> {
    match error.kind() {
        ErrorKind::TableMismatch => Some(
            "`keyderive status` shows all that differs, and `keyderive apply` changes what can be changed in place: families, their rules, a stamp that is missing; a table of another \
             program needs the layout file of that one, by `--layouts`, and keys of another layout another table, to which `keyderive \
             rekey` moves the rows",
        ),
        ErrorKind::NotFound => Some(
            "check the name of the table, and the Bigtable that `--address`, `--file` or `--on` names; `keyderive status` shows which \
             tables of the layout file exist there",
        ),
        ErrorKind::ForeignRow | ErrorKind::InvalidRow => Some(
            "`keyderive verify` finds all such rows, and `keyderive get --key` shows one as it is stored",
        ),
        _ => None,
    }
}

impl From<keyderive::Error> for Failure {
    fn from(error: keyderive::Error) -> Self {
        (&error).into()
    }
}

impl From<&keyderive::Error> for Failure {
    fn from(error: &keyderive::Error) -> Self {
        let exit = match error.kind() {
            ErrorKind::InvalidKey
            | ErrorKind::InvalidPageToken
            | ErrorKind::InvalidArgument
            | ErrorKind::Misconfiguration => Exit::Usage,
            ErrorKind::TableMismatch
            | ErrorKind::ForeignRow
            | ErrorKind::InvalidRow
            | ErrorKind::NotFound
            | ErrorKind::AlreadyExists
            | ErrorKind::PermissionDenied
            | ErrorKind::MissingCredentials
            | ErrorKind::FileInUse
            | ErrorKind::Unimplemented
            | ErrorKind::FailedPrecondition => Exit::Refused,
            _ => Exit::Failed,
        };
        let failure = Self::of(exit, format_args!("{error:#}"));
        match remedy(error) {
            Some(remedy) => failure.help(remedy),
            None => failure,
        }
    }
}

impl From<PlanError> for Failure {
    fn from(error: PlanError) -> Self {
        Self::usage(error)
    }
}

impl From<LayoutsError> for Failure {
    fn from(error: LayoutsError) -> Self {
        Self::refused(error)
    }
}

/// A write of the output that failed.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        let is_broken_pipe = error.kind() == io::ErrorKind::BrokenPipe;
        Self { is_broken_pipe, ..Self::failed(format_args!("the output cannot be written: {error}")) }
    }
}
