//! What a load has done.

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use super::checkpoint::Checkpoint;
use super::item::InputError;
use crate::client::Error;
use crate::key::ShownKey;

/// How many failed rows a report lists.
pub(super) const LISTED: usize = 1000;

/// How far a load is: what [`Load::on_progress`](super::Load::on_progress) is told, and in the end what
/// [`LoadReport::all_written`] gives.
///
/// All numbers are of this run: what a run before the checkpoint did is not in them. Rows that failed then and are tried
/// again are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// Items that were read and left out, since the checkpoint of a resumed load is after them.
    pub left_out: u64,
    /// Rows that were read from the input to be written. With those left out, it is how much of the input has been read.
    pub read: u64,
    /// Rows that were written.
    pub written: u64,
    /// Rows that a load [`if_absent`](super::Load::if_absent) found there, and left as they were.
    pub kept: u64,
    /// Rows that could not be written, and are in the report.
    pub failed: u64,
    /// How many bytes the written rows took in their requests.
    pub bytes: u64,
    /// How many requests were made, each counted once however often it was tried.
    pub requests: u64,
    /// How long it has taken so far.
    pub elapsed: Duration,
}

/// What a load did with its input.
///
/// A report that comes without an error is of a load that has dealt with every row of its input: each is written, or
/// among the [`failed`](Self::failed) ones. [`all_written`](Self::all_written) makes failed rows an error.
#[must_use = "rows that could not be written are in the report; `.all_written()?` makes them an error"]
#[derive(Debug)]
pub struct LoadReport {
    pub(super) table: Arc<str>,
    pub(super) progress: Progress,
    pub(super) failed: Vec<FailedRow>,
    pub(super) checkpoint: Checkpoint,
}

/// A row of a load's input that was not written, and why.
#[derive(Debug)]
pub struct FailedRow {
    pub(super) index: u64,
    pub(super) key: Option<Bytes>,
    pub(super) error: Error,
}

/// A load that did not deal with the whole of its input, or of which rows failed that all were to be written.
///
/// [`report`](Self::report) says what was done, and its [checkpoint](LoadReport::checkpoint) is where the load can be
/// resumed.
#[derive(Debug)]
pub struct LoadError {
    pub(super) report: Box<LoadReport>,
    pub(super) reason: Reason,
}

/// Why a load ended before its input did.
#[derive(Debug)]
pub(super) enum Reason {
    /// Before the first row: for a failure of the table or of the checkpoint.
    NotBegun(Error),
    /// For a failure that is not that of a row.
    Failed(Error),
    /// For an item of the input that is an error.
    Input(InputError),
    /// For more failed rows than are allowed.
    TooManyFailed { allowed: u64 },
    /// For none: it has dealt with all rows, and some of them failed.
    RowsFailed,
}

impl LoadReport {
    /// How many rows were read from the input to be written: not those left out that a checkpoint had after it.
    #[must_use]
    pub fn read(&self) -> u64 {
        self.progress.read
    }

    /// How many rows were written.
    #[must_use]
    pub fn written(&self) -> u64 {
        self.progress.written
    }

    /// How many rows a load [`if_absent`](super::Load::if_absent) found there, and left as they were.
    #[must_use]
    pub fn kept(&self) -> u64 {
        self.progress.kept
    }

    /// How many bytes the written rows took in their requests.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.progress.bytes
    }

    /// How many requests were made, each counted once however often it was tried.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.progress.requests
    }

    /// How long the load took.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.progress.elapsed
    }

    /// The first 1000 rows that failed, as they were found.
    #[must_use]
    pub fn failed(&self) -> &[FailedRow] {
        &self.failed
    }

    /// How many rows failed, those included that [`failed`](Self::failed) has no room for.
    #[must_use]
    pub fn failed_count(&self) -> u64 {
        self.progress.failed
    }

    /// How far the load has come. At the end of a whole load it is after the last item, or before the first failed
    /// row of which it has no room to keep the place. A load that is resumed from it tries the failed rows again.
    #[must_use]
    pub fn checkpoint(&self) -> &Checkpoint {
        &self.checkpoint
    }

    /// The numbers of a load of which no row has failed.
    ///
    /// # Errors
    /// When rows have failed; [`LoadError::report`] lists them.
    pub fn all_written(self) -> Result<Progress, LoadError> {
        match self.progress.failed {
            0 => Ok(self.progress),
            _ => Err(LoadError { report: Box::new(self), reason: Reason::RowsFailed }),
        }
    }
}

impl FailedRow {
    /// The row's place in the input, counted from 0, the items included that a checkpoint had after it.
    #[must_use]
    pub fn index(&self) -> u64 {
        self.index
    }

    /// Its row key as it would be stored; none where the key could not be encoded.
    #[must_use]
    pub fn key(&self) -> Option<&Bytes> {
        self.key.as_ref()
    }

    /// Why it was not written.
    #[must_use]
    pub fn error(&self) -> &Error {
        &self.error
    }
}

/// The row's place, its key where it has one, and the reason.
impl fmt::Display for FailedRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { index, key, error } = self;
        write!(f, "row {index} of the input, counted from 0")?;
        if let Some(key) = key {
            write!(f, ", with the key {}", ShownKey(key))?;
        }
        match key {
            Some(_) => write!(f, ": {}", error.of_named_row()),
            None => write!(f, ": {error}"),
        }
    }
}

impl fmt::Display for LoadReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Progress { written, kept, failed, bytes, requests, elapsed, .. } = self.progress;
        write!(
            f,
            "{} of {} written to table `{}` by {} in {:.1} s, {failed} failed",
            counted(written, "row"),
            counted(bytes, "byte"),
            self.table,
            counted(requests, "request"),
            elapsed.as_secs_f64(),
        )?;
        match kept {
            0 => Ok(()),
            _ => write!(f, ", {kept} were there and are kept"),
        }
    }
}

impl LoadError {
    /// What was done before the load ended.
    pub fn report(&self) -> &LoadReport {
        &self.report
    }

    /// What was done before the load ended, by value.
    pub fn into_report(self) -> LoadReport {
        *self.report
    }

    /// How far the load had come.
    #[must_use]
    pub fn checkpoint(&self) -> &Checkpoint {
        &self.report.checkpoint
    }

    /// The failure of a request, of the table or of the checkpoint, where that has ended the load.
    #[must_use]
    pub fn error(&self) -> Option<&Error> {
        match &self.reason {
            Reason::NotBegun(error) | Reason::Failed(error) => Some(error),
            Reason::Input(_) | Reason::TooManyFailed { .. } | Reason::RowsFailed => None,
        }
    }

    /// Whether an item of the input was an error, which is then the [`source`](StdError::source). All rows before it are
    /// dealt with.
    #[must_use]
    pub fn is_input(&self) -> bool {
        matches!(self.reason, Reason::Input(_))
    }

    /// Whether more rows failed than [`Load::max_failures`](super::Load::max_failures) allows.
    #[must_use]
    pub fn is_too_many_failures(&self) -> bool {
        matches!(self.reason, Reason::TooManyFailed { .. })
    }
}

/// What has ended the load, the first failed row where they have, and where to go on.
impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LoadReport { table, progress, failed, .. } = &*self.report;
        match &self.reason {
            Reason::NotBegun(error) => write!(f, "the load of table `{table}` has not begun: {error}")?,
            Reason::Failed(error) => write!(f, "the load of table `{table}` has ended early: {error}")?,
            Reason::Input(error) => {
                write!(f, "the load of table `{table}` has ended early: its input failed: {error}")?;
            }
            Reason::TooManyFailed { allowed } => write!(
                f,
                "the load of table `{table}` has ended early: {} not written, more than the {allowed} that `max_failures` \
                 allows",
                were(progress.failed, "row"),
            )?,
            Reason::RowsFailed => {
                let verb = if progress.failed == 1 { "was" } else { "were" };
                let read = counted(progress.read, "row");
                write!(f, "{} of {read} {verb} not written to table `{table}`", progress.failed)?;
            }
        }
        if let (Some(first), Reason::TooManyFailed { .. } | Reason::RowsFailed) =
            (failed.first(), &self.reason)
        {
            write!(f, "; the first is {first}")?;
        }
        self.write_remedy(f)
    }
}

impl LoadError {
    /// Where to go on, where what has failed does not say so itself.
    fn write_remedy(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let checkpoint = &self.report.checkpoint;
        let (items, failed) = (checkpoint.items(), checkpoint.failed().len() as u64);
        match &self.reason {
            Reason::NotBegun(error) | Reason::Failed(error) if error.is_not_found() && items > 0 => {
                return f.write_str(
                    "; the rows before the checkpoint are not in a table that is made anew: create it, and load it \
                     from the beginning: leave `.resume(…)` out",
                );
            }
            Reason::NotBegun(_) => return Ok(()),
            Reason::RowsFailed => {
                return f.write_str("; a load that is resumed from the report's checkpoint tries them again");
            }
            Reason::Failed(_) | Reason::Input(_) | Reason::TooManyFailed { .. } => {}
        }
        match items {
            0 => return f.write_str("; the checkpoint is at the beginning of the input"),
            1 => f.write_str("; the first item is dealt with, and the checkpoint goes on after it")?,
            _ => {
                write!(f, "; the first {items} items are dealt with, and the checkpoint goes on after them")?;
            }
        }
        match failed {
            0 => Ok(()),
            _ => write!(f, ", and tries the {} again that failed", counted(failed, "row")),
        }
    }
}

/// A count with its noun.
fn counted(count: u64, noun: &str) -> impl fmt::Display {
    fmt::from_fn(move |f| write!(f, "{count} {noun}{}", if count == 1 { "" } else { "s" }))
}

/// A count with its noun and the verb that goes with them.
fn were(count: u64, noun: &str) -> impl fmt::Display {
    fmt::from_fn(move |f| write!(f, "{} {}", counted(count, noun), if count == 1 { "was" } else { "were" }))
}

impl StdError for LoadError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match &self.reason {
            Reason::NotBegun(error) | Reason::Failed(error) => Some(error),
            Reason::Input(error) => Some(error.as_ref()),
            Reason::TooManyFailed { .. } | Reason::RowsFailed => {
                self.report.failed.first().map(|row| &row.error as _)
            }
        }
    }
}
