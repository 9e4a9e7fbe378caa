//! What a copy has done, and why it ended.

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

use crate::client::Error;
use crate::key::ShownKey;
use crate::table::transfer::{Progress, TableDiff, TransferError, counted};

/// What a copy did.
///
/// A copy that returns it without an error copied every row that its closure gave a key, and found both tables equal, unless
/// that was [left out](super::CopyTo::without_verifying).
#[derive(Debug)]
pub struct CopyReport {
    pub(super) old: Arc<str>,
    pub(super) new: Arc<str>,
    pub(super) progress: Progress,
    pub(super) copied: u64,
    pub(super) left_out: u64,
    pub(super) diff: Option<TableDiff>,
}

impl CopyReport {
    /// How many rows are copied, by this run and by those that it resumed, without a gap in their partitions.
    #[must_use]
    pub fn copied(&self) -> u64 {
        self.copied
    }

    /// How many rows the closure left out, in this run and in those that it resumed.
    #[must_use]
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// The numbers of this run.
    #[must_use]
    pub fn progress(&self) -> &Progress {
        &self.progress
    }

    /// The comparison of both tables after the copy; none if it was left out, or the copy did not come to it.
    #[must_use]
    pub fn diff(&self) -> Option<&TableDiff> {
        self.diff.as_ref()
    }
}

impl fmt::Display for CopyReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { old, new, progress, copied, left_out, diff } = self;
        let Progress { bytes, requests, elapsed, .. } = progress;
        write!(
            f,
            "{} of table `{old}` copied to table `{new}`, {left_out} left out; in this run {} by {} in {:.1} s",
            counted(*copied, "row"),
            counted(*bytes, "byte"),
            counted(*requests, "request"),
            elapsed.as_secs_f64(),
        )?;
        diff.as_ref().map_or(Ok(()), |diff| write!(f, "; {diff}"))
    }
}

/// A copy that did not start, ended early, or found a difference. [`report`](Self::report) says what was done.
///
/// ```
/// # use keyderive::{Client, Row, RowKey};
/// # #[derive(RowKey, Debug)] struct UserKey { id: u64 }
/// # #[derive(RowKey, Debug)] #[salt(range = 4)] struct SaltedKey { id: u64 }
/// # #[derive(Row)] struct User { age: u32 }
/// # async fn sample(client: Client) {
/// # let (old, new) = (client.table::<UserKey, User>("users"), client.table::<SaltedKey, User>("users-4"));
/// match old.copy_to(&new, |key, _| SaltedKey { id: key.id }).await {
///     Ok(report) => println!("{report}"),
///     Err(error) if error.is_collision() => eprintln!("the closure gives two rows one key: {error}"),
///     Err(error) => eprintln!("{error}, after {} rows", error.report().copied()),
/// }
/// # }
/// ```
///
/// The text names the first row that could not be copied. It shows keys, and the values of cells that differ.
#[derive(Debug)]
pub struct CopyError {
    pub(super) report: Box<CopyReport>,
    pub(super) reason: Reason,
}

/// Why a copy is an error.
#[derive(Debug)]
pub(super) enum Reason {
    /// The tables or the checkpoint failed before the first row.
    NotStarted(Error),
    /// A row, a request, or the checkpoint.
    Stopped(TransferError),
    /// The tables could not be compared.
    NotCompared(Error),
    /// The tables differ.
    Differs,
}

impl CopyError {
    /// What was done before the copy ended.
    #[must_use]
    pub fn report(&self) -> &CopyReport {
        &self.report
    }

    /// The failure of a row, of a request, or of the tables, if that ended the copy.
    #[must_use]
    pub fn error(&self) -> Option<&Error> {
        match &self.reason {
            Reason::NotStarted(error)
            | Reason::Stopped(TransferError::Failed(error))
            | Reason::NotCompared(error) => Some(error),
            Reason::Stopped(_) | Reason::Differs => None,
        }
    }

    /// Whether two rows have one new key.
    #[must_use]
    pub fn is_collision(&self) -> bool {
        match &self.reason {
            Reason::Stopped(TransferError::Collision { .. }) => true,
            Reason::Differs => self.report.diff.as_ref().is_some_and(|diff| diff.collisions() > 0),
            _ => false,
        }
    }

    /// Whether all rows were written, and the tables differ: [`CopyReport::diff`] says how.
    #[must_use]
    pub fn is_difference(&self) -> bool {
        matches!(self.reason, Reason::Differs)
    }
}

impl fmt::Display for CopyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CopyReport { old, new, copied, diff, .. } = &*self.report;
        let ended = |f: &mut fmt::Formatter<'_>| {
            write!(
                f,
                "the copy of table `{old}` to table `{new}` ended early, after {}",
                counted(*copied, "row")
            )
        };
        match &self.reason {
            Reason::NotStarted(error) => {
                write!(f, "the copy of table `{old}` to table `{new}` did not start: {error}")
            }
            Reason::Stopped(error) => {
                ended(f)?;
                match error {
                    TransferError::Failed(error) => write!(f, ": {error}"),
                    TransferError::Collision { old_key, new_key } => write!(
                        f,
                        ": row {} of table `{old}` and one before it have the same key in table `{new}`, {}; give each row a key of \
                         its own",
                        ShownKey(old_key),
                        ShownKey(new_key)
                    ),
                    TransferError::NotStored { path, error } => {
                        write!(f, ": the checkpoint `{}` cannot be stored: {error}", path.display())
                    }
                    // Of streams.
                    TransferError::Input(_)
                    | TransferError::TooManyFailed { .. }
                    | TransferError::MayBeCounted(_) => Ok(()),
                }
            }
            Reason::NotCompared(error) => write!(
                f,
                "table `{old}` was copied to table `{new}`, and the tables could not be compared: {error}"
            ),
            Reason::Differs => {
                write!(f, "table `{old}` was copied to table `{new}`, and they differ: ")?;
                diff.as_ref().map_or(Ok(()), |diff| write!(f, "{diff}"))
            }
        }
    }
}

impl StdError for CopyError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match &self.reason {
            Reason::Stopped(TransferError::NotStored { error, .. }) => Some(error),
            _ => self.error().map(|error| error as _),
        }
    }
}
