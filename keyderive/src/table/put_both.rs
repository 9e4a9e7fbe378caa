//! `put_both`: one record in two tables, under two key types.

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

use crate::row::Row;
use bytes::Bytes;

use super::handle::WriteScope;
use super::{Table, Writes};
use crate::client::{Entry, Error};
use crate::key::{ShownKey, TableKey};

/// Writes a record to two tables, by a [`Table::put`] to the first and then one to the second.
///
/// ```
/// use keyderive::table::put_both;
/// use keyderive::{Client, Row, RowKey};
///
/// /// What was measured, the newest first.
/// #[derive(RowKey)]
/// struct MetricKey {
///     host: String,
///     #[reverse_ts]
///     at: u64,
/// }
///
/// /// What was measured last.
/// #[derive(RowKey)]
/// struct CurrentMetricKey {
///     host: String,
/// }
///
/// #[derive(Row)]
/// struct Metric {
///     at: u64,
///     cpu: f64,
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let client = Client::embedded();
/// let metrics = client.table::<MetricKey, Metric>("metric");
/// let current = client.table::<CurrentMetricKey, Metric>("current-metric");
/// # metrics.create_if_absent().await?;
/// # current.create_if_absent().await?;
/// let (host, at) = ("server-1".to_owned(), 1426535612156);
/// let metric = Metric { at, cpu: 0.2 };
/// put_both(
///     (&metrics, &MetricKey { host: host.clone(), at }, &metric),
///     (&current, &CurrentMetricKey { host }, &metric),
/// )
/// .await?;
/// # Ok(())
/// # }
/// ```
///
/// It is not atomic: Bigtable cannot write two rows at once, and a reader in between sees the first without the second. Each
/// write is retried as the settings of its table for `mutate_row` allow. Both rows are encoded before anything is sent, so
/// a value that one of the keys cannot hold leaves both tables as they are.
///
/// The first table must be the one that the second can be rebuilt from: the history, not the current values. The second row is
/// written only after the first, so the second table never has a record that the first lacks. A reader that finds the
/// second outdated or empty repairs it: it reads the newest record of the first, by a scan with a limit of 1, and puts it to
/// the second.
///
/// It is idempotent: after an error, make the same call again.
///
/// Two concurrent calls with the same second key have no order, and the older record may be written last. Where several
/// writers share a key, put the second row with [`Table::put_if`] instead.
///
/// # Errors
/// A [`PutBothError`], which says for each row whether it is written.
///
/// # Cancel safety
/// If the future is dropped, neither row is put, or the first, or both, perhaps later. Make the same call again.
pub async fn put_both<K, R, S, L, T, U>(
    first: (&Table<K, R, S>, &K, &R),
    second: (&Table<L, T, U>, &L, &T),
) -> Result<(), PutBothError>
where
    K: TableKey,
    R: Row,
    S: Writes,
    L: TableKey,
    T: Row,
    U: Writes,
{
    let (mut one, mut other) = (PutSide::new(first.0), PutSide::new(second.0));
    let are_checked = one.check_table(first.0).await && other.check_table(second.0).await;
    if are_checked
        && let (Some(entry), Some(other_entry)) = (one.encode(first), other.encode(second))
        && one.put(first.0, entry).await
        && other.put(second.0, other_entry).await
    {
        return Ok(());
    }
    Err(PutBothError { sides: Box::new([one, other]) })
}

/// Why a record may be missing in one of the tables of a [`put_both`].
#[derive(Debug)]
pub struct PutBothError {
    sides: Box<[PutSide; 2]>,
}

/// One of the two rows of a failed [`put_both`].
#[derive(Debug)]
pub struct PutSide {
    table: Arc<str>,
    key: Option<Bytes>,
    outcome: WriteOutcome,
    error: Option<Error>,
}

/// Whether a row was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WriteOutcome {
    /// It was.
    Written,
    /// It was not: nothing was sent, or the server rejected it.
    NotWritten,
    /// It may have been: [`is_outcome_unknown`](Error::is_outcome_unknown) of the error is true.
    Unknown,
}

impl PutSide {
    /// The table's name.
    #[must_use]
    pub fn table(&self) -> &str {
        &self.table
    }

    /// The stored row key; none if it could not be encoded.
    #[must_use]
    pub fn key(&self) -> Option<&Bytes> {
        self.key.as_ref()
    }

    /// Whether the row was written.
    #[must_use]
    pub fn outcome(&self) -> WriteOutcome {
        self.outcome
    }

    /// Why the row may be missing; none for a row that was not tried, since the other one failed.
    #[must_use]
    pub fn error(&self) -> Option<&Error> {
        self.error.as_ref()
    }

    fn new<K, R, S>(table: &Table<K, R, S>) -> Self {
        Self {
            table: Arc::clone(table.handle.name.table()),
            key: None,
            outcome: WriteOutcome::NotWritten,
            error: None,
        }
    }

    /// Encodes the row, or notes the error.
    fn encode<K: TableKey, R: Row, S: Writes>(
        &mut self,
        (table, key, row): (&Table<K, R, S>, &K, &R),
    ) -> Option<Entry> {
        let encoded = table.encode(key).and_then(|stored| {
            self.key = Some(stored);
            table.entry(key, row)
        });
        encoded.map_err(|error| self.error = Some(error)).ok()
    }

    /// Checks the layout of the table; returns whether the row may be written.
    async fn check_table<K: TableKey, R, S: Writes>(&mut self, table: &Table<K, R, S>) -> bool {
        self.error = table.bound().ensure_writable(WriteScope::Rows).await.err();
        self.error.is_none()
    }

    /// Writes the row; returns whether it is written.
    async fn put<K, R, S: Writes>(
        &mut self,
        table: &Table<K, R, S>,
        Entry { key, mutations }: Entry,
    ) -> bool {
        match table.store.mutate_row(&table.handle, key.into(), mutations).await {
            Ok(()) => self.outcome = WriteOutcome::Written,
            Err(error) => {
                self.outcome = match error.is_outcome_unknown() {
                    true => WriteOutcome::Unknown,
                    false => WriteOutcome::NotWritten,
                };
                self.error = Some(error);
            }
        }
        self.outcome == WriteOutcome::Written
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, is_redacted: bool) -> fmt::Result {
        match self.key.as_ref().filter(|_| !is_redacted) {
            Some(key) => write!(f, "row {} of table `{}` ", ShownKey(key), self.table)?,
            None => write!(f, "the row of table `{}` ", self.table)?,
        }
        f.write_str(match self.outcome {
            WriteOutcome::Written => "was written",
            WriteOutcome::NotWritten => "was not written",
            WriteOutcome::Unknown => "may have been written",
        })
    }
}

impl PutBothError {
    /// The row of the first table.
    #[must_use]
    pub fn first(&self) -> &PutSide {
        &self.sides[0]
    }

    /// The row of the second table.
    #[must_use]
    pub fn second(&self) -> &PutSide {
        &self.sides[1]
    }

    /// Whether the failure is transient, so that the same call may succeed later.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        self.errors().all(Error::is_retryable)
    }

    /// Whether the outcome of a row is unknown; [`PutSide::outcome`] says which one's.
    #[must_use]
    pub fn is_outcome_unknown(&self) -> bool {
        self.errors().any(Error::is_outcome_unknown)
    }

    /// The text without row keys and values, as [`Error::redacted`].
    #[must_use = "it is a text, to be printed"]
    pub fn redacted(&self) -> impl fmt::Display + '_ {
        fmt::from_fn(|f| self.write(f, true))
    }

    fn errors(&self) -> impl Iterator<Item = &Error> {
        self.sides.iter().filter_map(PutSide::error)
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, is_redacted: bool) -> fmt::Result {
        let [first, second] = &*self.sides;
        first.write(f, is_redacted)?;
        f.write_str(", and ")?;
        second.write(f, is_redacted)?;
        self.errors().try_for_each(|error| match is_redacted {
            true => write!(f, ": {}", error.redacted()),
            false => write!(f, ": {}", error.without_own_key()),
        })?;
        match self.is_retryable() {
            true => f.write_str("; the same call again writes both"),
            false => f.write_str("; once that is fixed, the same call again writes both"),
        }
    }
}

impl fmt::Display for PutSide {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, false)
    }
}

impl fmt::Display for PutBothError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, false)
    }
}

impl StdError for PutBothError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.errors().next().map(|error| error as _)
    }
}
