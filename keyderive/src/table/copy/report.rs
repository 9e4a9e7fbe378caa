//! What a copy has done, and why it ended.

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

use crate::client::Error;
use crate::key::ShownKey;
use crate::table::transfer::{Fault, Mapping, Progress, TableDiff, TransferError, counted, list_faults};

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
    /// The report of a copy that has done nothing.
    pub(super) fn of(mapping: &Mapping<'_>) -> Self {
        Self {
            old: Arc::clone(mapping.old.name.table()),
            new: Arc::clone(mapping.new.name.table()),
            progress: Progress::default(),
            copied: 0,
            left_out: 0,
            diff: None,
        }
    }

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

/// What a copy would do, from [`CopyTo::check`](super::CopyTo::check). Print it with `{}`.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct CopyFindings {
    /// How many rows it would copy, beside those that the checkpoint counts.
    pub rows: u64,
    /// How many cells they have.
    pub cells: u64,
    /// Their size in requests, which [`Progress::bytes`] counts.
    pub bytes: u64,
    /// How many rows the closure leaves out.
    pub left_out: u64,
    /// How many rows the checkpoint counts as copied.
    pub copied: u64,
    /// How many rows cannot be copied: without a key of the new table, or above 100,000 cells or 64 MiB. The copy ends at the first one.
    pub faulty: u64,
    /// How many rows have the same new key as another one, among the rows whose keys were compared.
    pub collisions: u64,
    /// Whether there were more keys than are compared, 64 MiB of them.
    pub has_uncompared_keys: bool,
    /// The first 100 faults that were found, collisions too.
    pub faults: Vec<Fault>,
}

impl CopyFindings {
    /// Whether every row can be copied, as far as reading tells.
    #[must_use]
    pub fn is_ok(&self) -> bool {
        self.faulty == 0 && self.collisions == 0
    }
}

impl fmt::Display for CopyFindings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rows, cells, bytes, left_out, copied, faulty, collisions, has_uncompared_keys, faults } =
            self;
        let (rows, cells, bytes) = (counted(*rows, "row"), counted(*cells, "cell"), counted(*bytes, "byte"));
        write!(f, "{rows} with {cells}, {bytes}, {left_out} left out")?;
        if *copied > 0 {
            write!(f, ", beside {copied} that are copied")?;
        }
        if *faulty > 0 {
            write!(f, "; {} cannot be copied", counted(*faulty, "row"))?;
        }
        if *collisions > 0 {
            write!(
                f,
                "; {} the new key of another one",
                if *collisions == 1 { "1 row has".to_owned() } else { format!("{collisions} rows have") }
            )?;
        }
        if *has_uncompared_keys {
            f.write_str("; there are more rows than those whose new keys were compared")?;
        }
        list_faults(f, faults)
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

    /// Whether the old table has more rows than [`at_most`](super::CopyTo::at_most) allows.
    #[must_use]
    pub fn is_above_limit(&self) -> bool {
        matches!(self.reason, Reason::Stopped(TransferError::AboveLimit { .. }))
    }

    /// Whether [`stop_on`](super::CopyTo::stop_on) ended the copy.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        matches!(self.reason, Reason::Stopped(TransferError::Stopped))
    }

    /// Whether all rows were written, and the tables differ: [`CopyReport::diff`] says how.
    #[must_use]
    pub fn is_difference(&self) -> bool {
        matches!(self.reason, Reason::Differs)
    }
}

/// With `{:#}`, without a remedy that names calls, as [`Error`].
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
                write!(f, "the copy of table `{old}` to table `{new}` did not start: ")?;
                error.fmt(f)
            }
            Reason::Stopped(error) => {
                ended(f)?;
                match error {
                    TransferError::Failed(error) => {
                        f.write_str(": ")?;
                        error.fmt(f)
                    }
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
                    TransferError::AboveLimit { limit } => write!(
                        f,
                        ": table `{old}` has more rows than the {limit} that may be copied: somebody writes to it"
                    ),
                    TransferError::Stopped => f.write_str(": it was stopped"),
                    // Of streams.
                    TransferError::Input(_)
                    | TransferError::TooManyFailed { .. }
                    | TransferError::MayBeCounted(_) => Ok(()),
                }
            }
            Reason::NotCompared(error) => {
                write!(
                    f,
                    "table `{old}` was copied to table `{new}`, and the tables could not be compared: "
                )?;
                error.fmt(f)
            }
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
