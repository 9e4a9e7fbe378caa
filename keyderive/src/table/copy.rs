//! Copies of all rows of a table to a table with another key type, for programs that can stop their writers.
//!
//! [`Table::copy_to`] starts one; [`CopyTo`] describes how it runs.

mod checkpoint;
mod report;
mod run;

use std::fmt;
use std::future::{Future, IntoFuture};
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::pin::Pin;

pub use self::report::{CopyError, CopyFindings, CopyReport};
use super::diff;
use super::transfer::{self, Comparison, MAX_BATCH_BYTES, Mapping, OnProgress, Progress, StopSignal};
pub use super::transfer::{Fault, NewKey};
use super::{OneTable, Reads, RowRef, Table, Writes};
use crate::key::TableKey;

impl<K: TableKey, R, S: Reads> Table<K, R, S> {
    /// Copies all rows to another table, in which each has the key that a closure gives it, and compares both tables.
    ///
    /// ```
    /// use keyderive::{Client, Row, RowKey};
    ///
    /// #[derive(RowKey, Debug)]
    /// struct EventKey {
    ///     at: u64,
    ///     user_id: String,
    /// }
    ///
    /// #[derive(RowKey, Debug)]
    /// #[salt(range = 4, over = "user_id")]
    /// struct UserEventKey {
    ///     user_id: String,
    ///     #[reverse_ts]
    ///     at: u64,
    /// }
    ///
    /// #[derive(Row)]
    /// struct Event {
    ///     kind: String,
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let client = Client::embedded();
    /// let old = client.table::<EventKey, Event>("events");
    /// let new = client.table::<UserEventKey, Event>("user-events");
    /// # old.create_if_absent().await?;
    /// # for at in 0..10 {
    /// #     old.put(&EventKey { at, user_id: "alice".into() }, &Event { kind: "login".into() }).await?;
    /// # }
    /// # let folder = std::env::temp_dir().join(format!("keyderive-copy-doc-{}", std::process::id()));
    /// # std::fs::create_dir_all(&folder)?;
    /// new.create_if_absent().await?;
    /// let report = old
    ///     .copy_to(&new, |key, _| UserEventKey { user_id: key.user_id, at: key.at })
    ///     .checkpoint(folder.join("events.checkpoint")) // resumes there if the program was killed
    ///     .on_progress(|progress| println!("{} rows", progress.written))
    ///     .await?;
    /// println!("{report}");
    /// assert_eq!(report.copied(), 10);
    /// # std::fs::remove_dir_all(folder)?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// The closure has the decoded key and the row; [`RowRef::read`] decodes its columns. It returns the new key, an
    /// `Option` of it, where `None` leaves the row out, or a `Result` of one of them. It must always return the same for the
    /// same row, and different keys for different rows: two rows with one new key are an error.
    ///
    /// [`CopyTo`] says what is copied, what must hold before, and what its settings are.
    pub fn copy_to<'a, N, Q, T>(
        &self,
        new: &Table<N, Q, impl OneTable + Writes>,
        new_key: impl Fn(K::Stored, RowRef<'_>) -> T + Send + Sync + 'a,
    ) -> CopyTo<'a>
    where
        N: TableKey,
        T: NewKey<N>,
        K::Stored: fmt::Debug,
        N::Stored: fmt::Debug,
        S: OneTable,
    {
        CopyTo::new(Mapping::of_closure(self, new, new_key))
    }
}

/// A copy of a table, from [`Table::copy_to`]. Await it to run it.
///
/// # What is copied
///
/// Every cell of every row, with its own timestamp: all versions, all families, also columns that the row type does not have. The
/// server filters nothing. Not copied are the rows that the closure leaves out, and stamps: the new table has its
/// own from [`create`](Table::create). A row is written by one atomic request, so a reader of the new table sees it whole or not.
///
/// **Aggregates** cannot be set, only added to. So the request of a row that has sums, minima or maxima deletes these families of
/// the new row first and then merges the stored values into them, in one atomic step. However often the request is repeated,
/// by a retry or by a copy that is resumed, each value counts once, also where the server ignores
/// [idempotency tokens](crate::guide::rows#sums-that-count-once).
///
/// **Old cells.** The families of both tables must have the same garbage collection rules. A cell that the rule may already remove
/// is copied as long as the old table returns it, and the new table removes it some time later, as the old one does.
///
/// # Before it runs
///
/// - **Stop the writers of the old table, and let nobody write to the new one** until the copy has ended. A write to the old table
///   during the copy may be copied or not; the comparison at the end shows it if it came early enough. A request of the copy whose
///   answer was lost can arrive late, at most as long after as its [timeout](crate::client::Settings), and would then reset a sum
///   that somebody has added to.
/// - Cells are copied as they are, so the new table's row type must read the values that the old one's row types
///   [write](crate::guide::tables#registry). Otherwise the copy does not start; [`unchecked`](Table::unchecked) handles are not compared.
///   The registry then names these row types for the new table too.
/// - Create the new table, with its splits. It must have each family of the old one, of the same kind and with the same rule.
/// - It must be empty, unless the copy resumes: rows of an earlier rehearsal would stay beside the copied ones.
///   [`allow_existing`](Self::allow_existing) accepts them, and the comparison finds those that the old table does not have.
///
/// # How it runs
///
/// Partitions of the old table are read several at a time, and rows are written as by a [load](super::load::Load#order): spread over
/// the new table's partitions, in requests of one partition each, with bounded memory, and
/// [throttled](crate::client::ClientBuilder::throttle) if the client is. A row whose request would be above a limit of
/// Bigtable, 100,000 cells or 64 MiB, ends the copy with an error that names its key, as does every other row that cannot be
/// written. Rows written before that stay.
///
/// Then both tables are compared by a [diff](Table::diff), and a difference is an error. So the copy succeeds only if the
/// new table has every row cell by cell, no two rows have one key, and no row is there besides.
///
/// # Resuming
///
/// With a [`checkpoint`](Self::checkpoint), a copy continues where an earlier one ended, also one of another process that was
/// killed. Rows after the checkpoint that were written already are written again, with the same cells. Nothing is lost if two
/// processes copy at the same time.
///
/// # Settings
///
/// | | default | |
/// |---|---|---|
/// | [`parallel`](Self::parallel) | 8 | partitions read at a time |
/// | [`workers`](Self::workers) | 8 | requests at a time |
/// | [`batch_bytes`](Self::batch_bytes) | 4 MiB | bytes of a request |
/// | [`batch_rows`](Self::batch_rows) | 10,000 | rows of a request |
/// | [`look_ahead`](Self::look_ahead) | 64 MiB | bytes that are buffered before they are sent |
/// | [`rate`](Self::rate) | any | rows written in a second |
/// | [`at_most`](Self::at_most) | any number | rows, above which the copy stops |
/// | [`stop_on`](Self::stop_on) | never | ends the copy, so that it can be resumed |
/// | [`checkpoint`](Self::checkpoint) | none | the file that a copy resumes from |
/// | [`checkpoint_every`](Self::checkpoint_every) | 100,000 | rows between checkpoints |
/// | [`first_differences`](Self::first_differences) | 20 | differing rows that the error shows |
///
/// # Errors
/// A [`CopyError`] if the copy did not start, ended early, or found a difference. It ends early, too, if the new table was [re-keyed,
/// deleted or created again](crate::guide::tables#layout) meanwhile, and says how many rows may be in a table that is not read.
///
/// # Cancel safety
/// If its future is dropped, it sends nothing more. Requests in flight may still be applied; written rows stay. The registry may name row
/// types for the new table without a copied row: [`retire_row_type`](Table::retire_row_type) takes them off.
#[must_use = "a copy does nothing until it is awaited"]
pub struct CopyTo<'a> {
    mapping: Mapping<'a>,
    settings: Settings,
    checkpoint: Option<PathBuf>,
    stop: Option<StopSignal<'a>>,
    on_progress: Option<OnProgress<'a>>,
}

#[derive(Clone, Copy, Debug)]
struct Settings {
    parallel: usize,
    engine: transfer::Settings,
    checkpoint_every: u64,
    allows_existing: bool,
    at_most: Option<u64>,
    rate: Option<NonZeroU32>,
    verifies: bool,
    diff: Comparison,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            parallel: 8,
            engine: transfer::Settings { keys_are_distinct: true, ..transfer::Settings::default() },
            checkpoint_every: 100_000,
            allows_existing: false,
            at_most: None,
            rate: None,
            verifies: true,
            diff: diff::DEFAULT,
        }
    }
}

impl<'a> CopyTo<'a> {
    pub(super) fn new(mapping: Mapping<'a>) -> Self {
        Self { mapping, settings: Settings::default(), checkpoint: None, stop: None, on_progress: None }
    }

    /// Reads what the copy would read, and says what it would do; it writes nothing, and no checkpoint.
    ///
    /// ```
    /// # use keyderive::{Client, Row, RowKey};
    /// # #[derive(RowKey, Debug)] struct UserKey { id: u64 }
    /// # #[derive(RowKey, Debug)] #[salt(range = 4)] struct SaltedKey { id: u64 }
    /// # #[derive(Row)] struct User { age: u32 }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let client = Client::embedded();
    /// # let (old, new) = (client.table::<UserKey, User>("users"), client.table::<SaltedKey, User>("users-4"));
    /// # old.create_if_absent().await?;
    /// # new.create_if_absent().await?;
    /// # for id in 0..20 { old.put(&UserKey { id }, &User { age: 42 }).await?; }
    /// let copy = || old.copy_to(&new, |key, _| SaltedKey { id: key.id / 2 });
    /// let findings = copy().check().await?;
    /// assert!(!findings.is_ok() && findings.collisions == 10, "{findings}");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// It makes every check that the copy begins with: the families of both tables, whether the new one is empty, and the
    /// checkpoint. If nobody writes to the table, `rows` and `bytes` are what the copy then writes. Two rows with one new
    /// key are found among as many rows as have 64 MiB of keys.
    ///
    /// # Errors
    /// Those with which the copy would not start; when a request fails. That rows cannot be copied is no error: see
    /// [`CopyFindings::is_ok`].
    ///
    /// # Cancel safety
    /// A dropped future cancels the reads.
    pub async fn check(self) -> Result<CopyFindings, CopyError> {
        Box::pin(run::check(self)).await
    }

    /// Ends the copy with an error, [`is_above_limit`](CopyError::is_above_limit), before it writes more rows than that: rows that earlier
    /// runs copied, by the [`checkpoint`](Self::checkpoint), count too. So a copy that announced a number stops if somebody writes.
    pub fn at_most(mut self, rows: u64) -> Self {
        self.settings.at_most = Some(rows);
        self
    }

    /// Ends the copy with an error, [`is_stopped`](CopyError::is_stopped), once the signal is ready.
    ///
    /// ```no_run
    /// # use keyderive::{Client, Row, RowKey};
    /// # #[derive(RowKey, Debug)] struct UserKey { id: u64 }
    /// # #[derive(RowKey, Debug)] #[salt(range = 4)] struct SaltedKey { id: u64 }
    /// # #[derive(Row)] struct User { age: u32 }
    /// # async fn sample(client: Client, shutdown: impl Future<Output = ()> + Send) {
    /// # let (old, new) = (client.table::<UserKey, User>("users"), client.table::<SaltedKey, User>("users-4"));
    /// let copy = old.copy_to(&new, |key, _| SaltedKey { id: key.id });
    /// match copy.checkpoint("users-4.checkpoint").stop_on(shutdown).await {
    ///     Err(error) if error.is_stopped() => println!("{} rows are copied so far", error.report().copied()),
    ///     ended => println!("{ended:?}"),
    /// }
    /// # }
    /// ```
    ///
    /// It reads no further row, and writes the rows that it has read: up to the [look-ahead](Self::look_ahead), or with a
    /// [`rate`](Self::rate) the rows of a second. So the checkpoint counts every row that is written, and
    /// [`copied`](CopyReport::copied) too. A copy whose future is dropped instead repeats the rows since its last
    /// checkpoint.
    pub fn stop_on(mut self, signal: impl Future<Output = ()> + Send + 'a) -> Self {
        self.stop = Some(Box::pin(signal));
        self
    }

    /// The most rows that are written in a second, over all requests; the signals of a server that is overloaded are heeded in any case.
    ///
    /// Rows are sent in requests of a quarter of a second, and as many are read ahead.
    pub fn rate(mut self, rows: NonZeroU32) -> Self {
        self.settings.rate = Some(rows);
        self
    }

    /// How many partitions of the old table are read at a time, and of both when they are compared. 0 counts as 1.
    pub fn parallel(mut self, partitions: usize) -> Self {
        self.settings.parallel = partitions.max(1);
        self.settings.diff.parallel = partitions.max(1);
        self
    }

    /// How many requests to the new table are in flight at a time. 0 counts as 1.
    pub fn workers(mut self, requests: usize) -> Self {
        self.settings.engine.workers = requests.max(1);
        self
    }

    /// The most bytes of a request, up to 8 MiB; more counts as 8 MiB. A single row may exceed it.
    pub fn batch_bytes(mut self, bytes: usize) -> Self {
        self.settings.engine.limits.bytes = bytes.clamp(1, MAX_BATCH_BYTES);
        self
    }

    /// The most rows of a request. 0 counts as 1. A request never has more than 100,000 mutations.
    pub fn batch_rows(mut self, rows: usize) -> Self {
        self.settings.engine.limits.rows = rows.max(1);
        self
    }

    /// How many bytes of rows are buffered before any is sent, and kept buffered. More spreads rows better over the new
    /// table; a resumed copy repeats about this many.
    pub fn look_ahead(mut self, bytes: usize) -> Self {
        self.settings.engine.look_ahead.bytes = bytes;
        self
    }

    /// Stores how far the copy is in this file, and resumes from it if it exists.
    ///
    /// ```no_run
    /// # use keyderive::{Client, Row, RowKey};
    /// # #[derive(RowKey, Debug)] struct UserKey { id: u64 }
    /// # #[derive(RowKey, Debug)] #[salt(range = 4)] struct SaltedKey { id: u64 }
    /// # #[derive(Row)] struct User { age: u32 }
    /// # async fn sample(client: Client) -> Result<(), Box<dyn std::error::Error>> {
    /// # let (old, new) = (client.table::<UserKey, User>("users"), client.table::<SaltedKey, User>("users-4"));
    /// // After a crash, the same call continues.
    /// let copy = old.copy_to(&new, |key, _| SaltedKey { id: key.id });
    /// let report = copy.checkpoint("users-4.checkpoint").await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// It is stored before the first row is written, then by [`checkpoint_every`](Self::checkpoint_every), and at the end, also of a copy
    /// that fails: to a temporary file in the same folder, which then gets its name, so that a crash leaves the checkpoint before. The copy
    /// waits for the disk. The file is JSON, with the names of both tables, the fingerprints of their key types, and the ranges that are
    /// left; so it contains row keys. A copy of other tables or key types, or of a table that was created since in an embedded Bigtable,
    /// rejects it, and so does one to a table without rows, if the file counts some. Other servers do not say that a table was created
    /// again: delete the file when you do so.
    ///
    /// The closure must be the same: what it returns is not in the file. The file of a copy that has ended makes the same call only
    /// compare the tables.
    pub fn checkpoint(mut self, path: impl Into<PathBuf>) -> Self {
        self.checkpoint = Some(path.into());
        self
    }

    /// How many rows are copied between checkpoints. 0 counts as 1.
    ///
    /// A row counts once all rows before it in its partition are copied. As rows are buffered first, a checkpoint of a table that is
    /// not much larger than [`look_ahead`](Self::look_ahead) counts none until shortly before the end.
    pub fn checkpoint_every(mut self, rows: u64) -> Self {
        self.settings.checkpoint_every = rows.max(1);
        self
    }

    /// Copies also if the new table has rows, such as a killed copy without a checkpoint leaves.
    ///
    /// A copied row keeps other cells that the new table has under its key, and rows of other keys stay. The comparison then
    /// reports them.
    pub fn allow_existing(mut self) -> Self {
        self.settings.allows_existing = true;
        self
    }

    /// Does not compare the tables after the copy, which reads both once more.
    ///
    /// **Two rows with one new key are then a mixture of both**, unless the copy happens to meet them together. Compare the tables
    /// later, by [`Table::diff`] or by the same copy with its checkpoint.
    pub fn without_verifying(mut self) -> Self {
        self.settings.verifies = false;
        self
    }

    /// How many differing rows the error of the comparison shows, as [`Diff::first`](super::diff::Diff::first).
    pub fn first_differences(mut self, rows: usize) -> Self {
        self.settings.diff.first = rows;
        self
    }

    /// Calls a function with the progress: at least once a second, also while nothing changes, at most 10 times, and at the end.
    pub fn on_progress(mut self, call: impl FnMut(&Progress) + Send + 'a) -> Self {
        self.on_progress = Some(Box::new(call));
        self
    }
}

impl<'a> IntoFuture for CopyTo<'a> {
    type Output = Result<CopyReport, CopyError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'a>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(run::run(self))
    }
}

impl fmt::Debug for CopyTo<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CopyTo")
            .field("mapping", &self.mapping)
            .field("settings", &self.settings)
            .field("checkpoint", &self.checkpoint)
            .finish_non_exhaustive()
    }
}
