//! Loads of many rows: spread over the key space, several requests at a time, to be resumed where they were ended.
//!
//! [`Table::load`] is where one begins; [`Load`] says how it runs.

mod account;
mod ahead;
mod checkpoint;
mod item;
mod low_water;
mod portion;
mod report;
mod retry;
mod row_arena;
mod run;
mod sending;

use std::fmt;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::time::Duration;

use futures_core::Stream;
use futures_util::stream::{Iter, iter};
use serde::Serialize;

pub use self::checkpoint::Checkpoint;
pub use self::item::LoadItem;
use self::portion::Sizes;
pub use self::report::{FailedRow, LoadError, LoadReport, Progress};
use super::Table;
use crate::key::TableKey;

/// The largest request that is made, whatever is set: well under what the service receives.
const MAX_BATCH_BYTES: usize = 8 * 1024 * 1024;

impl<K: TableKey, R> Table<K, R> {
    /// Loads the rows of a stream, as [`put`](Self::put) writes them, in an order that spares every tablet.
    ///
    /// ```
    /// # use keyderive::{Client, RowKey};
    /// # #[derive(RowKey)] #[salt(range = 4, over = "user_id")] struct EventKey { user_id: String, at: u64 }
    /// # #[derive(serde::Serialize, serde::Deserialize)] struct Event { kind: String }
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
    /// Items are `(K, R)`, `&(K, R)`, or a [`Result`] of one of them. [`Load`] says how it runs, and what can be set.
    pub fn load<'a, S>(&self, rows: S) -> Load<'a, K, R, S>
    where
        S: Stream<Item: LoadItem<K, R>>,
    {
        Load::new(self.clone(), rows)
    }

    /// [`load`](Self::load) of the rows of an iterator.
    ///
    /// ```
    /// # use keyderive::{Client, RowKey};
    /// # #[derive(RowKey)] struct UserKey { id: u64 }
    /// # #[derive(serde::Serialize, serde::Deserialize)] struct User { age: u32 }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let users = Client::embedded().table::<UserKey, User>("users");
    /// # users.create_if_absent().await?;
    /// // Lines that can be wrong: the load ends at the first one that is, after all rows before it.
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
    /// The iterator runs on the thread that awaits the load, between requests; one that waits, for a disk or a network,
    /// is better made a stream.
    pub fn load_iter<'a, I>(&self, rows: I) -> Load<'a, K, R, Iter<I::IntoIter>>
    where
        I: IntoIterator<Item: LoadItem<K, R>>,
    {
        Load::new(self.clone(), iter(rows))
    }
}

/// A load of rows, from [`Table::load`]. It runs when it is awaited; dropped before its end, it sends nothing more; requests in
/// flight may still be applied, and what was written stays.
///
/// ```
/// # use keyderive::{Client, RowKey};
/// # use keyderive::load::Checkpoint;
/// # #[derive(RowKey)] struct UserKey { id: u64 }
/// # #[derive(serde::Serialize, serde::Deserialize)] struct User { age: u32 }
/// # fn stored() -> Option<Checkpoint> { None }
/// # fn store(checkpoint: &Checkpoint) {}
/// # async fn sample(client: Client) -> Result<(), Box<dyn std::error::Error>> {
/// # let users = client.table::<UserKey, User>("users");
/// # let rows = (0..1000).map(|id| (UserKey { id }, User { age: 42 }));
/// let report = users
///     .load_iter(rows)
///     .look_ahead(16 * 1024 * 1024) // a crash repeats no more
///     .checkpoint_every(50_000)
///     .on_checkpoint(|checkpoint| store(checkpoint))
///     .resume(stored()) // none at the first time
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
/// Rows that are written in the order of their keys all go to one tablet, and then to the next one; Google's guides
/// advise to cut the key space into ranges and to write to all of them in requests of 1 to 10 MB. A load does that,
/// whatever the order of its input. It cuts the key space where the salt's buckets begin and where the service samples
/// that tablets do, as [`Table::partitions`], when it begins. It reads `look_ahead` bytes of rows before it sends any,
/// and keeps so much read. Then it takes the partitions in turn, in an order in which neighbours are far apart:
///
/// - A request holds rows of one partition alone, so that one tablet serves it, in the order of their keys, each key
///   once.
/// - What is read of each partition is cut into as many requests as that of the fullest one takes, so that all
///   partitions come to their ends together. In any window of 10 requests for each partition, none has more than 3 times
///   an even share, as long as what is looked ahead at has rows of all of them.
/// - The requests of a partition go in an order that jumps, so that sorted input is not written in its order to a table
///   that has not been split yet.
///
/// Sorted input that is larger than the look-ahead has rows of few partitions in it, and no order spreads those over the
/// others: shuffle it first, or look further ahead.
///
/// Of two rows with one key the later one in the input counts: it is not sent before the other has been written.
///
/// # Beside live writers
///
/// | | a row that is there | a live write of the same row |
/// |---|---|---|
/// | as it is | is replaced, whole | is kept or replaced, whole |
/// | [`new_rows`](Self::new_rows) | keeps the columns that the loaded row has not | mixes with it |
/// | [`if_absent`](Self::if_absent) | stays | stays |
///
/// # What can be set
///
/// | | unless set | |
/// |---|---|---|
/// | [`workers`](Self::workers) | 8 | requests at a time |
/// | [`batch_bytes`](Self::batch_bytes) | 4 MiB | bytes of a request |
/// | [`batch_rows`](Self::batch_rows) | 10,000 | rows of a request |
/// | [`look_ahead`](Self::look_ahead) | 64 MiB | bytes that are read and not sent |
/// | [`patience`](Self::patience) | 10 s | how long the input is waited for while the look-ahead is not full |
/// | [`checkpoint_every`](Self::checkpoint_every) | 10,000 | rows between checkpoints |
/// | [`max_failures`](Self::max_failures) | 1000 | failed rows that do not end the load |
///
/// So at most `workers` times `batch_bytes`, and as many times `batch_rows`, are in flight. Bytes are counted as they
/// are sent; in memory a row takes some 100 more, and the rows of a partition are there twice while its requests are cut.
/// A request is tried again as [`Settings`](crate::client::Settings) say for `mutate_rows`, only with the rows that
/// failed, and is held back to the server's rate where the client
/// [asks for one](crate::client::ClientBuilder::throttle).
///
/// # Resuming
///
/// [`on_checkpoint`](Self::on_checkpoint) is given a [`Checkpoint`] once before the first row is sent, and then each
/// time that so many further items are dealt with. [`resume`](Self::resume) leaves out the first items of the same
/// input, but for those that had failed: the checkpoint has the [places](Checkpoint::failed) of up to 1000 of them, and
/// these are tried again as they come by, so that a load whose input was mended, or whose server takes the rows now, ends
/// with all of them. Beyond 1000 the checkpoint stays before the next row that failed. A failed row is left out where
/// a later one of its key has been written, since the later one counts.
///
/// After the death of a process, rows after the checkpoint may have been written already. They are written again, each
/// whole: one more version of the same values where a family keeps several, and over what others have put meanwhile. A load
/// [`if_absent`](Self::if_absent) leaves them as they are.
///
/// [`Checkpoint`](Checkpoint#what-it-is-of) says which tables take it.
///
/// # Failures
///
/// A row that cannot be encoded, is above a limit of Bigtable, or is refused by the server for itself is a
/// [`FailedRow`] of the report, with its place, its key and the reason, and the load goes on until there are more than
/// `max_failures`. A resumed load counts anew, and those that fail again too.
///
/// A failure that would be that of every row ends the load: a server that cannot be reached for as long as the settings
/// allow, a table or a family that is not there, a caller that may not write, a client that is closed. The rows on the
/// way then count as not dealt with, and a resumed load writes them.
///
/// # Errors
///
/// A [`LoadError`] when the load ended before its input did, with the report of what was done. A load that has dealt with
/// all rows gives its [`LoadReport`], also where some of them failed; [`LoadReport::all_written`] makes an error of
/// these.
#[must_use = "a load begins when it is awaited"]
pub struct Load<'a, K, R, S> {
    table: Table<K, R>,
    rows: S,
    settings: Settings,
    on_progress: Option<OnProgress<'a>>,
    on_checkpoint: Option<OnCheckpoint<'a>>,
    resume: Option<Checkpoint>,
}

type OnProgress<'a> = Box<dyn FnMut(&Progress) + Send + 'a>;
type OnCheckpoint<'a> = Box<dyn FnMut(&Checkpoint) + Send + 'a>;

#[derive(Clone, Debug)]
struct Settings {
    workers: usize,
    sizes: Sizes,
    look_ahead: usize,
    patience: Duration,
    checkpoint_every: u64,
    max_failures: u64,
    form: Form,
}

/// What a load does with a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// It replaces the row that is there.
    Put,
    /// It sets columns and deletes none.
    Insert,
    /// It leaves a row that is there as it is.
    IfAbsent,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            workers: 8,
            sizes: Sizes { bytes: 4 * 1024 * 1024, rows: 10_000 },
            look_ahead: 64 * 1024 * 1024,
            patience: Duration::from_secs(10),
            checkpoint_every: 10_000,
            max_failures: 1000,
            form: Form::Put,
        }
    }
}

impl<'a, K, R, S> Load<'a, K, R, S> {
    fn new(table: Table<K, R>, rows: S) -> Self {
        let settings = Settings::default();
        Self { table, rows, settings, on_progress: None, on_checkpoint: None, resume: None }
    }

    /// Deletes nothing, for keys that no row has and nobody else writes: as [`Table::insert`].
    ///
    /// It is the cheapest form where many columns are absent. Beside a row that is there, the columns of both mix.
    pub fn new_rows(mut self) -> Self {
        self.settings.form = Form::Insert;
        self
    }

    /// Writes the rows that the table does not have, and changes none that it has, so live writers lose nothing: as
    /// [`Table::put_if_absent`].
    ///
    /// ```
    /// # use keyderive::{Client, RowKey};
    /// # #[derive(RowKey)] struct UserKey { id: u64 }
    /// # #[derive(serde::Serialize, serde::Deserialize, Debug, PartialEq)] struct User { age: u32 }
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
    /// It is for loads beside live writers. Rows that are there are counted as [`kept`](Progress::kept), and so is a row that
    /// this load has written by a request whose answer was lost. Any cell keeps a row, also that of an `increment` alone. A row
    /// that was deleted before its turn is written. Of a key
    /// given twice the first stays.
    ///
    /// Each row is a request of its own, with 64 at a time for each of the [`workers`](Self::workers), so it takes 4 to 5
    /// times as long. It needs an app profile that allows single-row transactions: one that routes to a single cluster.
    pub fn if_absent(mut self) -> Self {
        self.settings.form = Form::IfAbsent;
        self
    }

    /// How many requests are made at a time. 0 counts as 1.
    pub fn workers(mut self, requests: usize) -> Self {
        self.settings.workers = requests.max(1);
        self
    }

    /// The most bytes of a request: from 1 to 8 MiB, which stands for all above it. One row may have more.
    pub fn batch_bytes(mut self, bytes: usize) -> Self {
        self.settings.sizes.bytes = bytes.clamp(1, MAX_BATCH_BYTES);
        self
    }

    /// The most rows of a request. 0 counts as 1. A request has at most 100,000 mutations, whatever its rows.
    pub fn batch_rows(mut self, rows: usize) -> Self {
        self.settings.sizes.rows = rows.max(1);
        self
    }

    /// How many bytes of rows are read before any is sent, and kept read. More spreads sorted input better; 0 sends rows
    /// as they come.
    pub fn look_ahead(mut self, bytes: usize) -> Self {
        self.settings.look_ahead = bytes;
        self
    }

    /// How long, in all, the input may keep the load waiting while the look-ahead is not full. Then what has been read is
    /// sent, so that the rows of a slow input are not held back for long.
    pub fn patience(mut self, time: Duration) -> Self {
        self.settings.patience = time;
        self
    }

    /// How many further items are dealt with, all from the beginning of the input, before
    /// [`on_checkpoint`](Self::on_checkpoint) is called again. 0 counts as 1.
    ///
    /// Rows within the [look-ahead](Self::look_ahead) are sent out of order, so an input that is no larger has no checkpoint
    /// before its end: a smaller look-ahead has them sooner.
    pub fn checkpoint_every(mut self, items: u64) -> Self {
        self.settings.checkpoint_every = items.max(1);
        self
    }

    /// How many rows may fail. With one more, the load ends; with 0 it ends at the first one.
    pub fn max_failures(mut self, rows: u64) -> Self {
        self.settings.max_failures = rows;
        self
    }

    /// Calls this with how far the load is, at most 10 times a second, and at its end.
    ///
    /// A progress bar over the items of the input shows [`read`](Progress::read) and
    /// [`left_out`](Progress::left_out) together: it moves while the look-ahead is filled and nothing is written yet, and
    /// while a resumed load reads what is before its checkpoint. What is kept is [`written`](Progress::written).
    pub fn on_progress(mut self, tell: impl FnMut(&Progress) + Send + 'a) -> Self {
        self.on_progress = Some(Box::new(tell));
        self
    }

    /// Calls this with each checkpoint: before the first row is sent, then by
    /// [`checkpoint_every`](Self::checkpoint_every), and at the end, also of a load that fails. A load that fails before it
    /// reads a row, as for a table that is not there, calls it not at all.
    ///
    /// The load waits for it. A checkpoint that is to survive the machine is written to another file and renamed. Where it
    /// cannot be stored, the one before it is as right: what is after that is written again.
    pub fn on_checkpoint(mut self, store: impl FnMut(&Checkpoint) + Send + 'a) -> Self {
        self.on_checkpoint = Some(Box::new(store));
        self
    }

    /// Goes on after a checkpoint: the first [items](Checkpoint::items) of the input, which is the same one in the same
    /// order, are read and left out, but for the [failed](Checkpoint::failed) ones, which are tried again. Without a
    /// checkpoint the load begins at the beginning.
    ///
    /// A checkpoint of [another table](Checkpoint#what-it-is-of) or key type, and one that is after the end of the input,
    /// are errors of the load; [`Error::is_table_mismatch`](crate::Error::is_table_mismatch) tells.
    pub fn resume(mut self, checkpoint: impl Into<Option<Checkpoint>>) -> Self {
        self.resume = checkpoint.into();
        self
    }
}

impl<'a, K, R, S> IntoFuture for Load<'a, K, R, S>
where
    K: TableKey,
    R: Serialize + 'a,
    S: Stream<Item: LoadItem<K, R>> + Send + 'a,
{
    type Output = Result<LoadReport, LoadError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'a>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(run::run(self))
    }
}

impl<K, R, S> fmt::Debug for Load<'_, K, R, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Load")
            .field("table", &self.table)
            .field("settings", &self.settings)
            .field("resume", &self.resume)
            .finish_non_exhaustive()
    }
}
