//! Resumable loads of many rows, spread over the key space, with several requests at a time.
//!
//! [`Table::load`] starts one; [`Load`] describes how it runs.

mod items;
mod report;
mod run;

use std::fmt;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::time::Duration;

use crate::row::Row;
use futures_core::Stream;
use futures_util::stream::{Iter, iter};

pub use self::items::LoadItem;
pub(super) use self::items::{LoadTarget, RowParts};
pub use self::report::{LoadError, LoadReport};
use super::transfer::{self, MAX_BATCH_BYTES, OnProgress, Progress};
pub use super::transfer::{Checkpoint, FailedRow};
use super::{OneTable, Reads, Table, Writes};
use crate::key::TableKey;

impl<K: TableKey, R: Row, S: Reads> Table<K, R, S> {
    /// Loads the rows of a stream, as [`put`](Self::put) writes them, in an order that overloads no tablet.
    ///
    /// ```
    /// # use keyderive::{Client, Row, RowKey};
    /// # #[derive(RowKey)] #[salt(range = 4, over = "user_id")] struct EventKey { user_id: String, at: u64 }
    /// # #[derive(Row)] struct Event { kind: String }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let client = Client::embedded();
    /// let events = client.table::<EventKey, Event>("events");
    /// events.create_if_absent().await?;
    /// let rows = futures_util::stream::iter((0..1000).map(|at| {
    ///     (EventKey { user_id: format!("user-{}", at % 50), at }, Event { kind: "login".into() })
    /// }));
    /// let loaded = events
    ///     .load(rows)
    ///     .workers(4)
    ///     .on_progress(|progress| println!("{} rows read, {} written", progress.read, progress.written))
    ///     .await?
    ///     .all_written()?;
    /// assert_eq!(loaded.written, 1000);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Items are `(K, R)`, `&(K, R)`, or a [`Result`] of one of them. [`Load`] describes how it runs, and its settings.
    pub fn load<'a, I>(&self, rows: I) -> Load<'a, Table<K, R>, I>
    where
        I: Stream<Item: LoadItem<(K, R)>>,
        S: OneTable + Writes,
    {
        Load::new(self.scanned(), rows)
    }

    /// [`load`](Self::load) of the rows of an iterator.
    ///
    /// ```
    /// # use keyderive::{Client, Row, RowKey};
    /// # #[derive(RowKey)] struct UserKey { id: u64 }
    /// # #[derive(Row)] struct User { age: u32 }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let users = Client::embedded().table::<UserKey, User>("users");
    /// # users.create_if_absent().await?;
    /// // Lines that can be malformed: the load ends at the first such line, after all rows before it.
    /// let lines = ["1,42", "2,43", "x,44"];
    /// let rows = lines.iter().map(|line| -> Result<_, Box<dyn std::error::Error + Send + Sync>> {
    ///     let (id, age) = line.split_once(',').ok_or("a line without a comma")?;
    ///     Ok((UserKey { id: id.parse()? }, User { age: age.parse()? }))
    /// });
    /// let ended = users.load_iter(rows).await.unwrap_err();
    /// assert!(ended.is_input());
    /// assert_eq!(ended.checkpoint().items(), 2);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// The iterator runs on the thread that awaits the load, so it must not block: turn one that waits for a disk or a network
    /// into a stream.
    pub fn load_iter<'a, I>(&self, rows: I) -> Load<'a, Table<K, R>, Iter<I::IntoIter>>
    where
        I: IntoIterator<Item: LoadItem<(K, R)>>,
        S: OneTable + Writes,
    {
        Load::new(self.scanned(), iter(rows))
    }
}

/// A load of rows, from [`Table::load`]. Await it to run it. If its future is dropped, it sends nothing more; requests in
/// flight may still be applied, and written rows stay.
///
/// ```
/// # use keyderive::{Client, Row, RowKey};
/// # use keyderive::table::load::Checkpoint;
/// # #[derive(RowKey)] struct UserKey { id: u64 }
/// # #[derive(Row)] struct User { age: u32 }
/// # fn stored() -> Option<Checkpoint> { None }
/// # fn store(checkpoint: &Checkpoint) {}
/// # async fn sample(client: Client) -> Result<(), Box<dyn std::error::Error>> {
/// # let users = client.table::<UserKey, User>("users");
/// # let rows = (0..1000).map(|id| (UserKey { id }, User { age: 42 }));
/// let report = users
///     .load_iter(rows)
///     .look_ahead(16 * 1024 * 1024) // a resumed load repeats no more than this
///     .checkpoint_every(50_000)
///     .on_checkpoint(|checkpoint| store(checkpoint))
///     .resume(stored()) // none in the first run
///     .await?;
/// for row in report.failed() {
///     eprintln!("{row}");
/// }
/// # Ok(())
/// # }
/// ```
///
/// # Order
///
/// Rows that are written in the order of their keys all go to one tablet, and then to the next one. Google's guides advise
/// to partition the key space, and to write to all partitions in requests of 1 to 10 MB. A load does that, whatever the order
/// of its input. When it starts, it partitions the key space at the salt's buckets and at the tablets that the service
/// samples, as [`Table::partitions`]. It buffers `look_ahead` bytes of rows before it sends any, and keeps that many buffered.
/// Then partitions take turns, in an order where successive ones are far apart:
///
/// - A request holds rows of one partition, so one tablet serves it. They are in the order of their keys, each key once.
/// - The buffered rows of each partition are split into as many requests as the fullest partition needs, so all partitions
///   run out together. Of any 10 × n successive requests, where n is the number of partitions, no partition has more than 3
///   times an even share, as long as all partitions have buffered rows.
/// - Successive requests of a partition are far apart too, so that sorted input is not written in its order to a table that
///   has not been split yet.
///
/// If sorted input is larger than the look-ahead, few partitions have buffered rows, and no order spreads those over the
/// others: shuffle the input first, or look further ahead.
///
/// Of two rows with one key the later in the input counts: it is sent only after the earlier one was written.
///
/// # Beside live writers
///
/// | | an existing row | a live write of the same row |
/// |---|---|---|
/// | by default | is replaced, whole | is kept or replaced, whole |
/// | [`new_rows`](Self::new_rows) | keeps the columns that the loaded row lacks | mixes with it |
/// | [`if_absent`](Self::if_absent) | stays | stays |
/// | [`add_sums`](Self::add_sums), with either of the first two | as without it, and the row adds to its sums | as without it, and all additions count |
///
/// # Sums
///
/// By default a load leaves aggregates as they are. With [`add_sums`](Self::add_sums) the values of the row's
/// [`Sum`](crate::row::Sum)s, [`Min`](crate::row::Min)s and [`Max`](crate::row::Max)es are added to those that the server keeps, in the
/// same entry of the request as the row's other columns, and each item counts once, also of two items with one key:
///
/// - **Within a run**, an entry has the token of its item in every attempt, as by [`Update::add`](crate::Update::add). Where the server
///   [honours tokens](crate::guide::rows#sums-that-count-once), a retry counts once. Elsewhere an addition that may have been applied is not
///   retried: it is a [`FailedRow`] whose error [says so](crate::Error::is_outcome_unknown), and the load continues.
/// - **A resumed run** sends what an earlier one may have sent with the same tokens, for up to 10 minutes after it was sent first. So
///   resume a killed load within some minutes, from its **last** checkpoint: the load calls [`on_checkpoint`](Self::on_checkpoint) also
///   before it sends items that no checkpoint says it may send, and every 30 seconds. A function that cannot store a checkpoint must not
///   return; let it panic.
/// - **After 10 minutes**, or where the server ignores tokens, or if the clock was set back, a resumed load cannot know what was counted.
///   It ends with an error that [names these items](LoadError::may_be_counted): before it writes anything, or, if the 10 minutes pass while
///   it runs, before it sends the rest of them. With [`may_count_twice`](Self::may_count_twice) it sends them, and
///   [the report](LoadReport::may_be_counted_twice) names them.
/// - A load that ended at an error of its input has nothing in flight: it is resumed at any time, on any server. Other errors leave rows
///   after the checkpoint that were written, as a kill does.
///
/// What holds if clocks are wrong: a client that is ahead or behind by a constant time never counts an item twice, nor does one whose clock
/// is set forward, or set back after it was right: the server rejects what is 10 minutes old by its own clock. Only if the clock was more
/// than 5 minutes ahead of the server's when the item was sent, and was set back by more than 5 minutes before the load was resumed, can a
/// load count an item twice and not say so. A clock that is slow by 10 minutes or more makes the server reject what a resumed load repeats;
/// these are failed rows.
///
/// A resumed load sends a row that an earlier run may have sent as two entries, its columns and its additions, since a server that knows
/// the token of an entry skips all of it: for a moment a reader sees the one without the other.
///
/// # Settings
///
/// | | default | |
/// |---|---|---|
/// | [`workers`](Self::workers) | 8 | requests at a time |
/// | [`batch_bytes`](Self::batch_bytes) | 4 MiB | bytes of a request |
/// | [`batch_rows`](Self::batch_rows) | 10,000 | rows of a request |
/// | [`look_ahead`](Self::look_ahead) | 64 MiB | bytes that are buffered before they are sent |
/// | [`patience`](Self::patience) | 10 s | how long the load waits for its input while the look-ahead is not full |
/// | [`checkpoint_every`](Self::checkpoint_every) | 10,000 | rows between checkpoints |
/// | [`max_failures`](Self::max_failures) | 1000 | failed rows that do not end the load |
///
/// So at most `workers` times `batch_bytes`, and `workers` times `batch_rows`, are in flight. Sizes are those in requests; in
/// memory a row takes some 100 bytes more, and the rows of a partition take twice their memory while they are split into
/// requests. A request is retried as [`Settings`](crate::client::Settings) allow for `mutate_rows`, with the failed rows
/// alone, and is [throttled](crate::client::ClientBuilder::throttle) if the client is.
///
/// # Resuming
///
/// [`on_checkpoint`](Self::on_checkpoint) is called with a [`Checkpoint`] before the first row is sent, and then each time
/// `checkpoint_every` further items are processed. [`resume`](Self::resume) skips the items before the checkpoint in the same
/// input, except those that had failed: the checkpoint keeps the [places](Checkpoint::failed) of up to 1000 of them, and the
/// load retries these. So a load whose input was fixed, or whose server accepts the rows now, ends with all rows written. Beyond
/// 1000 the checkpoint stays before the next failed row. A failed row is not retried if a later one with its key was written,
/// since the later one counts; with [`new_rows`](Self::new_rows) both are written again, in their order. What a failed row
/// [adds](Self#sums) is added in any case.
///
/// After a crash, rows after the checkpoint may have been written already. They are written again, each whole: a family
/// that keeps several versions then has one more of the same values, and what others have put meanwhile is replaced. A
/// load [`if_absent`](Self::if_absent) leaves them as they are.
///
/// [`Checkpoint`](Checkpoint#which-tables-accept-it) says which tables accept it.
///
/// # Failures
///
/// A row that cannot be encoded, is above a limit of Bigtable, or is rejected by the server for its own sake becomes a
/// [`FailedRow`] of the report, with its place, its key and the reason. The load continues until more than `max_failures`
/// failed. A resumed load counts from 0, including rows that fail again.
///
/// A failure that every row would share ends the load: a server that stays unreachable for as long as the settings allow, a
/// missing table or family, a missing permission, a closed client. Rows in flight then count as not processed, and a resumed
/// load writes them. So does a table that was re-keyed, deleted or created again since the load began: its definition is [compared
/// again](crate::guide::tables#layout) after 10 s, and at the end. The error says how many rows may be in a table that is not read; no
/// load resumes there.
///
/// # Errors
///
/// A [`LoadError`] if the load ended before its input did, with the report of what was done. A load that processed all rows
/// returns its [`LoadReport`], also if some of them failed; [`LoadReport::all_written`] makes these an error.
#[must_use = "a load does nothing until it is awaited"]
pub struct Load<'a, T, S> {
    table: T,
    rows: S,
    settings: Settings,
    on_progress: Option<OnProgress<'a>>,
    on_checkpoint: Option<OnCheckpoint<'a>>,
    resume: Option<Checkpoint>,
}

type OnCheckpoint<'a> = Box<dyn FnMut(&Checkpoint) + Send + 'a>;

#[derive(Clone, Debug)]
struct Settings {
    engine: transfer::Settings,
    checkpoint_every: u64,
    max_failures: u64,
    mode: WriteMode,
    adds_sums: bool,
    may_count_twice: bool,
}

/// What a load does with an existing row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WriteMode {
    /// Replaces it.
    Put,
    /// Sets columns, and deletes none.
    Insert,
    /// Keeps it as it is.
    IfAbsent,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            engine: transfer::Settings { patience: Some(Duration::from_secs(10)), ..Default::default() },
            checkpoint_every: 10_000,
            max_failures: 1000,
            mode: WriteMode::Put,
            adds_sums: false,
            may_count_twice: false,
        }
    }
}

impl<'a, T, S> Load<'a, T, S> {
    pub(super) fn new(table: T, rows: S) -> Self {
        let settings = Settings::default();
        Self { table, rows, settings, on_progress: None, on_checkpoint: None, resume: None }
    }

    /// Deletes nothing, as [`Table::merge`], for new keys that nobody else writes.
    ///
    /// It is the cheapest mode if many columns are absent. If a row exists, the columns of both mix.
    pub fn new_rows(mut self) -> Self {
        self.settings.mode = WriteMode::Insert;
        self
    }

    /// Writes only rows that do not exist, as [`Table::put_if_absent`], so live writers lose nothing.
    ///
    /// ```
    /// # use keyderive::{Client, Row, RowKey};
    /// # #[derive(RowKey)] struct UserKey { id: u64 }
    /// # #[derive(Row, Debug, PartialEq)] struct User { age: u32 }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let users = Client::embedded().table::<UserKey, User>("users");
    /// # users.create_if_absent().await?;
    /// users.put(&UserKey { id: 7 }, &User { age: 43 }).await?;
    /// let history = (0..1000).map(|id| (UserKey { id }, User { age: 42 }));
    /// let loaded = users.load_iter(history).if_absent().await?.all_written()?;
    /// assert_eq!((loaded.written, loaded.kept), (999, 1));
    /// assert_eq!(users.get(&UserKey { id: 7 }).await?, Some(User { age: 43 }));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Existing rows are counted as [`kept`](Progress::kept), and so are rows that this load itself wrote by a request whose
    /// answer was lost. A row exists as for `put_if_absent`: with any cell, also with that of an `increment` alone, but not if a `ttl`
    /// hides them all. If an existing row is deleted before its turn, the loaded one is written. Of two rows with one key the first
    /// stays.
    ///
    /// Each row is a request of its own, with 64 in flight for each of the [`workers`](Self::workers), so it takes 4 to 5
    /// times as long. It needs an app profile that allows single-row transactions: one that routes to a single cluster.
    pub fn if_absent(mut self) -> Self {
        self.settings.mode = WriteMode::IfAbsent;
        self
    }

    /// Adds the values of each row's [`Sum`](crate::row::Sum)s, [`Min`](crate::row::Min)s and [`Max`](crate::row::Max)es to those that the
    /// server keeps, each item [once](Self#sums).
    ///
    /// ```
    /// use keyderive::row::Sum;
    /// # use keyderive::{Client, Row, RowKey};
    /// # #[derive(RowKey)] struct PageKey { url: String }
    ///
    /// #[derive(Row)]
    /// struct Page {
    ///     title: String,
    ///     #[row(family = "sums")]
    ///     views: Sum,
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let pages = Client::embedded().table::<PageKey, Page>("pages");
    /// pages.create_if_absent().await?;
    /// let seen = |views| (PageKey { url: "/".into() }, Page { title: "Home".into(), views: Sum::new(views) });
    /// pages.load_iter([seen(40), seen(3), seen(-1)]).add_sums().await?.all_written()?;
    /// assert_eq!(pages.get(&PageKey { url: "/".into() }).await?.unwrap().views.get(), 42);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// The other columns are written as without it: by default the row's columns are replaced, so of several items with one
    /// key the last one's stay; with [`new_rows`](Self::new_rows) none is deleted. A row may have aggregates alone. Another
    /// load of the same input, from its beginning, adds again.
    ///
    /// A load with it and one without do not accept each other's checkpoints. It cannot be combined with [`if_absent`](Self::if_absent).
    pub fn add_sums(mut self) -> Self {
        self.settings.adds_sums = true;
        self
    }

    /// Adds items again if a resumed load [cannot know](Self#sums) whether they were counted, instead of ending with an
    /// error.
    ///
    /// [`LoadReport::may_be_counted_twice`] names these items, also in the reports of loads that resume this one. The server skips those
    /// whose tokens it still remembers.
    pub fn may_count_twice(mut self) -> Self {
        self.settings.may_count_twice = true;
        self
    }

    /// How many requests are in flight at a time. 0 counts as 1.
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

    /// How many bytes of rows are buffered before any is sent, and kept buffered. More spreads sorted input better; 0 sends
    /// rows as they are read.
    pub fn look_ahead(mut self, bytes: usize) -> Self {
        self.settings.engine.look_ahead.bytes = bytes;
        self
    }

    /// How long, in total, the load waits for its input while the look-ahead is not full. Then it sends the buffered rows, so
    /// that a slow input does not delay them for long.
    pub fn patience(mut self, time: Duration) -> Self {
        self.settings.engine.patience = Some(time);
        self
    }

    /// How many items are processed, without a gap, between calls of [`on_checkpoint`](Self::on_checkpoint). 0 counts as 1.
    ///
    /// Rows within the [look-ahead](Self::look_ahead) are sent out of order, so an input that is no larger has no checkpoint
    /// before its end. A smaller look-ahead makes checkpoints come sooner.
    pub fn checkpoint_every(mut self, items: u64) -> Self {
        self.settings.checkpoint_every = items.max(1);
        self
    }

    /// How many rows may fail. One more ends the load; with 0 the first failed row does.
    pub fn max_failures(mut self, rows: u64) -> Self {
        self.settings.max_failures = rows;
        self
    }

    /// Calls a function with the progress: at least once a second, also while nothing changes, at most 10 times, and at the end.
    ///
    /// A progress bar shows [`fraction`](Progress::fraction): what is written, of an input that knows its length. It stands still while
    /// the look-ahead fills, and moves while a resumed load skips the items before its checkpoint. [`read`](Progress::read) runs ahead of
    /// what is stored by up to the [look-ahead](Self::look_ahead).
    pub fn on_progress(mut self, call: impl FnMut(&Progress) + Send + 'a) -> Self {
        self.on_progress = Some(Box::new(call));
        self
    }

    /// Calls a function with each checkpoint: before the first row is sent, then by
    /// [`checkpoint_every`](Self::checkpoint_every), and at the end, also of a load that fails. A load that fails before it
    /// reads a row, for example because the table is missing, never calls it. A load that [adds sums](Self#sums) calls it more often.
    ///
    /// The load waits for the function. To survive a crash, write the checkpoint to another file and rename it. If it cannot
    /// be stored, an earlier checkpoint is as right: the load repeats the rows after it. One that [adds sums](Self#sums) needs the last.
    pub fn on_checkpoint(mut self, store: impl FnMut(&Checkpoint) + Send + 'a) -> Self {
        self.on_checkpoint = Some(Box::new(store));
        self
    }

    /// Resumes after a checkpoint: reads and skips the first [items](Checkpoint::items) of the same input in the same order,
    /// except the [failed](Checkpoint::failed) ones, which are retried. Without a checkpoint the load starts at the beginning.
    ///
    /// A checkpoint of [another table](Checkpoint#which-tables-accept-it) or key type, or after the end of the input, is an error with
    /// [`Error::is_table_mismatch`](crate::Error::is_table_mismatch).
    pub fn resume(mut self, checkpoint: impl Into<Option<Checkpoint>>) -> Self {
        self.resume = checkpoint.into();
        self
    }
}

impl<'a, T, S> IntoFuture for Load<'a, T, S>
where
    T: LoadTarget + 'a,
    S: Stream<Item: LoadItem<T::Item>> + Send + 'a,
{
    type Output = Result<LoadReport, LoadError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'a>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(run::run(self))
    }
}

impl<T: fmt::Debug, S> fmt::Debug for Load<'_, T, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Load")
            .field("table", &self.table)
            .field("settings", &self.settings)
            .field("resume", &self.resume)
            .finish_non_exhaustive()
    }
}
