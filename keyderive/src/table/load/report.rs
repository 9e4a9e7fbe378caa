//! What a load has done, and where it can be resumed.

use std::error::Error as StdError;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use crate::client::Error;
use crate::table::transfer::{Checkpoint, FailedRow, MayBeCounted, Progress, TransferError, counted};

/// What a load did with its input.
///
/// A load that returns it without an error processed every row of its input: each is written, or among the
/// [`failed`](Self::failed) ones. [`all_written`](Self::all_written) makes failed rows an error.
#[must_use = "rows that were not written are in the report; `.all_written()?` makes them an error"]
#[derive(Debug)]
pub struct LoadReport {
    pub(super) table: Arc<str>,
    pub(super) progress: Progress,
    pub(super) failed: Vec<FailedRow>,
    pub(super) checkpoint: Checkpoint,
}

/// A load that ended before its input did; or, from [`LoadReport::all_written`], one in which rows failed.
///
/// [`report`](Self::report) says what was done, and its [checkpoint](LoadReport::checkpoint) is where to resume the load.
#[derive(Debug)]
pub struct LoadError {
    pub(super) report: Box<LoadReport>,
    pub(super) reason: Reason,
}

/// Why a load is an error.
#[derive(Debug)]
pub(super) enum Reason {
    /// The table or the checkpoint failed before the first row.
    NotStarted(Error),
    /// Items may have been counted, and the load cannot know it.
    MayBeCounted(MayBeCounted),
    /// A request, the input, or more rows than may.
    Stopped(TransferError),
    /// The load processed all rows, and some failed.
    RowsFailed,
}

impl LoadReport {
    /// How many rows were read to be written, without those that a resumed load skipped.
    #[must_use]
    pub fn read(&self) -> u64 {
        self.progress.read
    }

    /// How many rows were written.
    #[must_use]
    pub fn written(&self) -> u64 {
        self.progress.written
    }

    /// How many rows existed, which a load [`if_absent`](super::Load::if_absent) left as they were.
    #[must_use]
    pub fn kept(&self) -> u64 {
        self.progress.kept
    }

    /// The size of the written rows in their requests.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.progress.bytes
    }

    /// How many requests were made, not counting retries.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.progress.requests
    }

    /// How long the load took.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.progress.elapsed
    }

    /// The first 1000 rows that failed, in the order of their failures.
    #[must_use]
    pub fn failed(&self) -> &[FailedRow] {
        &self.failed
    }

    /// How many rows failed, including those beyond the first 1000 of [`failed`](Self::failed).
    #[must_use]
    pub fn failed_count(&self) -> u64 {
        self.progress.failed
    }

    /// How far the load has come. After a complete load it is after the last item. It holds the places of at most 1000
    /// failed rows; if more failed, it is before the first of the others. A load resumed from it retries the failed rows.
    #[must_use]
    pub fn checkpoint(&self) -> &Checkpoint {
        &self.checkpoint
    }

    /// The items, counted from 0, whose additions may have been counted twice, since the load, or one that it resumed, [may
    /// count twice](super::Load::may_count_twice).
    #[must_use]
    pub fn may_be_counted_twice(&self) -> &[Range<u64>] {
        self.checkpoint.may_be_counted_twice()
    }

    /// The numbers of a load without failed rows.
    ///
    /// # Errors
    /// When rows failed; [`LoadError::report`] lists them.
    pub fn all_written(self) -> Result<Progress, LoadError> {
        match self.progress.failed {
            0 => Ok(self.progress),
            _ => Err(LoadError { report: Box::new(self), reason: Reason::RowsFailed }),
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
        if kept > 0 {
            write!(f, ", {kept} existed and were kept")?;
        }
        match self.may_be_counted_twice() {
            [] => Ok(()),
            items => write!(f, ", and the sums of {} may have been added to twice", ShownItems(items)),
        }
    }
}

/// Items by their places.
struct ShownItems<'i>(&'i [Range<u64>]);

/// The most ranges that are shown.
const MAX_SHOWN: usize = 20;

impl fmt::Display for ShownItems<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            [items] if items.end - items.start == 1 => "item ",
            _ => "items ",
        })?;
        for (at, items) in self.0.iter().take(MAX_SHOWN).enumerate() {
            f.write_str(if at == 0 { "" } else { ", " })?;
            match items.end.saturating_sub(1) {
                last if last <= items.start => write!(f, "{}", items.start)?,
                last => write!(f, "{} to {last}", items.start)?,
            }
        }
        if self.0.len() > MAX_SHOWN {
            f.write_str(" and others")?;
        }
        f.write_str(", counted from 0,")
    }
}

impl LoadError {
    /// Whether the load was [resumed](super::Load::resume) and cannot know which [additions](super::Load#sums) were counted, so that it
    /// sent none of them; [`may_be_counted`](Self::may_be_counted) has the items.
    #[must_use]
    pub fn is_outcome_unknown(&self) -> bool {
        matches!(self.reason, Reason::MayBeCounted(_))
    }

    /// The items, counted from 0, whose additions may have been counted: the load cannot know.
    #[must_use]
    pub fn may_be_counted(&self) -> &[Range<u64>] {
        match &self.reason {
            Reason::MayBeCounted(MayBeCounted(items)) => items,
            _ => &[],
        }
    }

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

    /// The failure of a request, of the table or of the checkpoint, if that ended the load.
    #[must_use]
    pub fn error(&self) -> Option<&Error> {
        match &self.reason {
            Reason::NotStarted(error) | Reason::Stopped(TransferError::Failed(error)) => Some(error),
            Reason::MayBeCounted(_) | Reason::Stopped(_) | Reason::RowsFailed => None,
        }
    }

    /// Whether an item of the input was an error, which is then the [`source`](StdError::source). All rows before it were
    /// processed.
    #[must_use]
    pub fn is_input(&self) -> bool {
        matches!(self.reason, Reason::Stopped(TransferError::Input(_)))
    }

    /// Whether more rows failed than [`Load::max_failures`](super::Load::max_failures) allows.
    #[must_use]
    pub fn is_too_many_failures(&self) -> bool {
        matches!(self.reason, Reason::Stopped(TransferError::TooManyFailed { .. }))
    }
}

/// Why the load ended, the first failed row if rows did, and, but with `{:#}`, where to resume.
impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LoadReport { table, progress, failed, .. } = &*self.report;
        match &self.reason {
            Reason::NotStarted(error) => write!(f, "the load of table `{table}` did not start: {error}")?,
            Reason::MayBeCounted(MayBeCounted(items)) => write!(
                f,
                "the load of table `{table}` cannot know whether the sums of {} were added to by an earlier run: the server does not remember it, \
                 by the clocks, or is not known to honour idempotency tokens; compare these rows with the input, or add them again by \
                 `.may_count_twice()`, and the report names them",
                ShownItems(items),
            )?,
            Reason::Stopped(error) => {
                write!(f, "the load of table `{table}` ended early")?;
                match error {
                    TransferError::Failed(error) => write!(f, ": {error}")?,
                    TransferError::Input(error) => write!(f, ": its input failed: {error}")?,
                    TransferError::TooManyFailed { allowed } => write!(
                        f,
                        ": {} not written, more than the {allowed} that `max_failures` allows",
                        were(progress.failed, "row"),
                    )?,
                    // Of copies, and of files.
                    TransferError::Stopped
                    | TransferError::AboveLimit { .. }
                    | TransferError::Collision { .. }
                    | TransferError::NotStored { .. }
                    | TransferError::MayBeCounted(_) => {}
                }
            }
            Reason::RowsFailed => {
                let verb = if progress.failed == 1 { "was" } else { "were" };
                let read = counted(progress.read, "row");
                write!(f, "{} of {read} {verb} not written to table `{table}`", progress.failed)?;
            }
        }
        if let (Some(first), Reason::Stopped(TransferError::TooManyFailed { .. }) | Reason::RowsFailed) =
            (failed.first(), &self.reason)
        {
            f.write_str("; the first is ")?;
            first.fmt(f)?;
        }
        if f.alternate() { Ok(()) } else { self.write_remedy(f) }
    }
}

impl LoadError {
    /// Where to resume, unless the cause says so itself.
    fn write_remedy(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let checkpoint = &self.report.checkpoint;
        let (items, failed) = (checkpoint.items(), checkpoint.failed().len() as u64);
        match &self.reason {
            Reason::NotStarted(error) | Reason::Stopped(TransferError::Failed(error))
                if error.is_not_found() && items > 0 =>
            {
                return f.write_str(
                    "; a table that is created again lacks the rows before the checkpoint: create it, and load it from \
                     the beginning: leave `.resume(…)` out",
                );
            }
            Reason::Stopped(TransferError::Failed(error)) if error.is_table_mismatch() => {
                return f.write_str(
                    "; once the table is as the program expects it, load from the beginning of the input: leave `.resume(…)` out",
                );
            }
            Reason::NotStarted(_) | Reason::MayBeCounted(_) => return Ok(()),
            Reason::RowsFailed => {
                return f.write_str("; a load resumed from the report's checkpoint retries them");
            }
            Reason::Stopped(_) => {}
        }
        match items {
            0 => return f.write_str("; the checkpoint is at the beginning of the input"),
            1 => f.write_str("; the first item is processed, and the checkpoint is after it")?,
            _ => {
                write!(f, "; the first {items} items are processed, and the checkpoint is after them")?;
            }
        }
        match failed {
            0 => Ok(()),
            _ => write!(f, "; a resumed load retries the {} that failed", counted(failed, "row")),
        }
    }
}

/// A count with its noun and verb.
fn were(count: u64, noun: &str) -> impl fmt::Display {
    fmt::from_fn(move |f| write!(f, "{} {}", counted(count, noun), if count == 1 { "was" } else { "were" }))
}

impl StdError for LoadError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match &self.reason {
            Reason::NotStarted(error) | Reason::Stopped(TransferError::Failed(error)) => Some(error),
            Reason::Stopped(TransferError::Input(error)) => Some(error.as_ref()),
            Reason::MayBeCounted(_) => None,
            Reason::Stopped(_) | Reason::RowsFailed => self.report.failed.first().map(|row| row.error() as _),
        }
    }
}
