//! What became of the rows that a writer took.

use std::error::Error as StdError;
use std::fmt;

use bytes::Bytes;

use crate::client::Error;

/// What became of rows.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    written: u64,
    /// The first that failed, as many as are kept.
    kept: Vec<FailedWrite>,
    /// How many failed, those that are kept and the others.
    failed: u64,
    /// How many of them may have been written all the same.
    unknown: u64,
}

/// A row that a writer could not write, and why.
#[derive(Debug)]
pub struct FailedWrite {
    key: Bytes,
    error: Error,
}

/// The rows that a writer could not write since it was last flushed, or may not have written.
#[derive(Debug)]
pub struct WriteErrors(Outcome);

impl Outcome {
    /// Takes what became of one row. A failure is kept unless `most` are.
    pub(super) fn add(&mut self, outcome: Result<(), Error>, most: usize, key: impl FnOnce() -> Bytes) {
        match outcome {
            Ok(()) => self.written += 1,
            Err(error) => {
                self.failed += 1;
                self.unknown += u64::from(error.is_outcome_unknown());
                // The first is always kept: it says why.
                if self.kept.len() < most.max(1) {
                    let key = key();
                    let error = Error::entry(&key, error);
                    self.kept.push(FailedWrite { key, error });
                }
            }
        }
    }

    /// How many rows failed.
    pub(super) fn failed(&self) -> u64 {
        self.failed
    }

    /// Why the first of those that failed did.
    pub(super) fn first(&self) -> Option<&Error> {
        self.kept.first().map(FailedWrite::error)
    }

    /// How many rows were written, where none failed.
    pub(super) fn into_result(self) -> Result<u64, WriteErrors> {
        match self.failed {
            0 => Ok(self.written),
            _ => Err(WriteErrors(self)),
        }
    }
}

impl FailedWrite {
    /// The row key.
    #[must_use]
    pub fn key(&self) -> &Bytes {
        &self.key
    }

    /// Why the row was not written, or may not have been. It names the row.
    #[must_use]
    pub fn error(&self) -> &Error {
        &self.error
    }
}

impl WriteErrors {
    /// The rows that were not written: the first of them, as many as
    /// [`failures_kept`](crate::client::WriterSettings::failures_kept) says.
    #[must_use]
    pub fn failed(&self) -> &[FailedWrite] {
        &self.0.kept
    }

    /// How many rows were not written, those that were not kept included.
    #[must_use]
    pub fn failed_count(&self) -> u64 {
        self.0.failed
    }

    /// Whether rows are among them that may have been written:
    /// [`is_outcome_unknown`](Error::is_outcome_unknown) says of which row.
    #[must_use]
    pub fn is_outcome_unknown(&self) -> bool {
        self.0.unknown > 0
    }

    /// The text without row keys and values, as [`Error::redacted`].
    #[must_use = "it is a text, to be printed"]
    pub fn redacted(&self) -> impl fmt::Display + '_ {
        fmt::from_fn(|f| {
            self.write_counts(f)?;
            self.0.first().map_or(Ok(()), |error| write!(f, "; the first: {}", error.redacted()))
        })
    }

    fn write_counts(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Outcome { written, failed, unknown, .. } = &self.0;
        let verb = if *unknown == 0 { "were not" } else { "may not have been" };
        write!(f, "{failed} of {} rows {verb} written", failed + written)
    }

    /// How many rows were written.
    #[must_use]
    pub fn written(&self) -> u64 {
        self.0.written
    }
}

impl fmt::Display for WriteErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_counts(f)?;
        self.0.first().map_or(Ok(()), |error| write!(f, "; the first: {error}"))
    }
}

impl StdError for WriteErrors {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.first().map(|error| error as _)
    }
}
