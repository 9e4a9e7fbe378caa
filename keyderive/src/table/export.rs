//! Exports: all rows of a plan, read by concurrent scans of the table's partitions.

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::vec;

use futures_core::Stream;
use futures_util::stream::SelectAll;

use super::scan::Scan;
use super::scan::{RowType, Rows};
use super::skipped::{Skipped, SkippedLog};
use super::{Next, OneTable, Reads, Table};
use crate::client::{Client, Error, StreamGuard};
use crate::key::TableKey;
use crate::plan::{Explain, IntoPlan, KeyRange, Plan};

/// The default number of partitions that are read at a time.
const PARALLEL: usize = 8;

/// How many partitions an explanation lists.
const SHOWN: usize = 8;

impl<K: TableKey, R: 'static, S: Reads> Table<K, R, S> {
    /// All rows that a plan selects, read from several partitions of the table at a time, in no order.
    ///
    /// ```
    /// # use keyderive::{Client, RowKey};
    /// # #[derive(RowKey)] struct EventKey { user_id: String, #[reverse_ts] at: u64 }
    /// # type Event = std::collections::BTreeMap<String, i64>;
    /// # async fn sample(client: Client) -> Result<(), keyderive::Error> {
    /// let events = client.table::<EventKey, Event>("events");
    /// let mut rows = events.export(EventKey::scan()).parallel(16).stream();
    /// while let Some(row) = rows.next().await {
    ///     let (key, event) = row?;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// The partitions are those of [`partitions_of`](Self::partitions_of), requested when the stream is first polled. Together
    /// they have every row of the plan exactly once. With a salt, a row outside of every bucket is neither exported nor an error:
    /// [`Plan::complement`] says where such rows are. An optional column that was [renamed without an `alias`](Table#renamed-columns) is
    /// absent in every row.
    pub fn export(&self, plan: impl IntoPlan<K>) -> Export<K, R>
    where
        S: OneTable,
    {
        let plan = plan.into_plan().map_err(|error| Error::plan(&self.handle.name, error));
        Export::new(self.scanned(), plan.map(|plan| Parts::Plan(Box::new(plan))))
    }

    /// [`export`](Self::export) of some of the partitions that [`partitions_of`](Self::partitions_of) returned: the share
    /// of one of several processes.
    ///
    /// ```
    /// # use keyderive::{Client, RowKey};
    /// # use keyderive::plan::Plan;
    /// # #[derive(RowKey)] struct EventKey { user_id: String, #[reverse_ts] at: u64 }
    /// # type Event = std::collections::BTreeMap<String, i64>;
    /// # async fn sample(client: Client) -> Result<(), Box<dyn std::error::Error>> {
    /// let events = client.table::<EventKey, Event>("events");
    /// // One process partitions the table, and hands out the parts as serialized plans.
    /// let parts = events.partitions().await?;
    /// let shares: Vec<String> = parts.chunks(4).map(serde_json::to_string).collect::<Result<_, _>>()?;
    /// // Another process reads its share.
    /// let share: Vec<Plan<EventKey>> = serde_json::from_str(&shares[0])?;
    /// let mut rows = events.export_parts(share).stream();
    /// while let Some(row) = rows.next().await {
    ///     let (key, event) = row?;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Partition the table in one process alone: another one may get other partitions, so that rows come twice or not at all.
    pub fn export_parts(&self, parts: impl IntoIterator<Item = Plan<K>>) -> Export<K, R>
    where
        S: OneTable,
    {
        Export::new(self.scanned(), Ok(Parts::Given(parts.into_iter().collect())))
    }
}

/// A scan of several partitions at a time, from [`Table::export`].
#[must_use = "an export reads nothing until it is streamed"]
pub struct Export<K: TableKey, R> {
    table: Table<K, ()>,
    parts: Result<Parts<K>, Error>,
    parallel: usize,
    scan: MakeScan<K, R>,
    /// Counts and logs the rows that the scans of all partitions skip.
    log: Arc<SkippedLog>,
}

type MakeScan<K, R> = Arc<dyn Fn(Plan<K>) -> Scan<K, R> + Send + Sync>;

enum Parts<K> {
    Plan(Box<Plan<K>>),
    Given(Vec<Plan<K>>),
}

impl<K: TableKey, R: 'static> Export<K, R> {
    fn new(scanned: Table<K, R>, parts: Result<Parts<K>, Error>) -> Self {
        let log = Arc::new(SkippedLog::new(scanned.handle.name.table()));
        Self {
            table: scanned.with_handle(scanned.handle.clone()),
            parts,
            parallel: PARALLEL,
            scan: Arc::new(move |part| scanned.scan(part).unordered()),
            log,
        }
    }

    /// How many partitions are read at a time: 8 by default. 0 counts as 1.
    pub fn parallel(self, partitions: usize) -> Self {
        Self { parallel: partitions.max(1), ..self }
    }

    /// Changes the scan of each partition: the columns it reads, what it does with foreign and unreadable rows.
    ///
    /// ```
    /// # use keyderive::{Client, OnForeign, RowKey};
    /// # #[derive(RowKey)] struct EventKey { user_id: String, #[reverse_ts] at: u64 }
    /// # type Event = std::collections::BTreeMap<String, i64>;
    /// # async fn sample(client: Client) -> Result<(), keyderive::Error> {
    /// # let events = client.table::<EventKey, Event>("events");
    /// let export = events.export(EventKey::scan());
    /// let mut keys = export.with(|scan| scan.on_foreign(OnForeign::Skip).keys_only()).stream();
    /// while let Some(key) = keys.next().await {
    ///     let key: EventKey = key?;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// A limit applies to each partition. `distinct` is an error, since several partitions can have rows of one value.
    pub fn with<S: 'static>(
        self,
        change: impl Fn(Scan<K, R>) -> Scan<K, S> + Send + Sync + 'static,
    ) -> Export<K, S> {
        let Self { table, parts, parallel, scan, log } = self;
        Export { table, parts, parallel, scan: Arc::new(move |part| change(scan(part))), log }
    }

    /// The rows that the scans of all partitions skip, while the export runs and after it.
    ///
    /// ```
    /// # use keyderive::{Client, OnUnreadable, RowKey};
    /// # #[derive(RowKey)] struct EventKey { user_id: String, #[reverse_ts] at: u64 }
    /// # type Event = std::collections::BTreeMap<String, i64>;
    /// # async fn sample(client: Client) -> Result<(), keyderive::Error> {
    /// # let events = client.table::<EventKey, Event>("events");
    /// let export = events.export(EventKey::scan()).with(|scan| scan.on_unreadable(OnUnreadable::Skip));
    /// let skipped = export.skipped();
    /// let mut rows = export.stream();
    /// while let Some(row) = rows.next().await {
    ///     let (key, event) = row?;
    /// }
    /// println!("{} rows could not be read", skipped.unreadable());
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn skipped(&self) -> Skipped {
        self.log.skipped.clone()
    }

    /// Explains what the export will read: its scan and its partitions. Requests row key samples from the service, and reads no
    /// row.
    ///
    /// ```
    /// # use keyderive::{Client, RowKey};
    /// # #[derive(RowKey)] #[salt(range = 4, over = "user_id")] struct EventKey { user_id: String, at: u64 }
    /// # type Event = std::collections::BTreeMap<String, i64>;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), keyderive::Error> {
    /// # let events = Client::embedded().table::<EventKey, Event>("events");
    /// # events.create_if_absent().await?;
    /// let text = events.export(EventKey::scan()).parallel(2).explain().await?.to_string();
    /// assert!(text.ends_with(
    ///     "
    ///   partitions   4, 2 at a time
    ///                [start of table, 1#)
    ///                [1#, 2#)
    ///                [2#, 3#)
    ///                [3#, end of table)"
    /// ));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Another export may have other partitions, as tablets are split and merged.
    ///
    /// # Errors
    /// Those of the [`stream`](Self::stream) before its first row.
    ///
    /// # Cancel safety
    /// A dropped future cancels the read.
    pub async fn explain(&self) -> Result<ExplainExport, Error> {
        let (scan, parts) = match &self.parts {
            Ok(Parts::Plan(plan)) => {
                let scan = (self.scan)(Plan::clone(plan)).explain()?;
                (Some(scan), self.table.partitions_of(Plan::clone(plan)).await?)
            }
            Ok(Parts::Given(parts)) => (None, parts.clone()),
            Err(error) => return Err(error.clone()),
        };
        let windows = parts.iter().map(|part| part.window().cloned()).collect();
        Ok(ExplainExport {
            key_type: self.table.handle.key.schema().key_type(),
            scan,
            windows,
            parallel: self.parallel,
        })
    }

    /// Runs the export. Nothing is sent before the stream is first polled; dropping it cancels its requests.
    ///
    /// The stream ends with the first error: of the plan, of the request for the partitions, or of a partition's scan.
    #[must_use = "a stream reads nothing until it is polled"]
    pub fn stream(self) -> Exported<K, R>
    where
        R: RowType<K>,
    {
        let Self { mut table, parts, parallel, scan, log } = self;
        // The export may still send its requests after the client is closed.
        let (client, guard) = table.handle.client.streaming();
        table.handle.client = client.clone();
        let name = Arc::clone(table.handle.name.table());
        let partitions = async move {
            match parts? {
                Parts::Plan(plan) => table.partitions_of(*plan).await,
                Parts::Given(parts) => Ok(parts),
            }
        };
        Exported {
            table: name,
            client,
            guard,
            parallel,
            scan,
            log,
            state: State::Partitioning(Box::pin(partitions)),
        }
    }
}

/// An explanation of an export, from [`Export::explain`]; print it with `{}`.
///
/// The text is for people: its wording may change in any release.
#[derive(Clone, Debug)]
pub struct ExplainExport {
    key_type: &'static str,
    /// The scan, if the export partitions it itself.
    scan: Option<Explain>,
    /// The range of stored keys of each partition; none if it is the whole table.
    windows: Vec<Option<KeyRange>>,
    parallel: usize,
}

impl ExplainExport {
    /// How many partitions are read.
    #[must_use]
    pub fn partitions(&self) -> usize {
        self.windows.len()
    }
}

impl fmt::Display for ExplainExport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.scan {
            Some(scan) => write!(f, "{scan}")?,
            None => write!(f, "parts of {}", self.key_type)?,
        }
        write!(f, "\n  {:<12} {}, {} at a time", "partitions", self.windows.len(), self.parallel)?;
        for window in self.windows.iter().take(SHOWN) {
            match window {
                Some(window) => write!(f, "\n  {:<12} {window}", "")?,
                None => write!(f, "\n  {:<12} all of the table", "")?,
            }
        }
        match self.windows.len().saturating_sub(SHOWN) {
            0 => Ok(()),
            more => write!(f, "\n  {:<12} and {more} more", ""),
        }
    }
}

/// The rows of an export, in no order: a [`Stream`], and [`next`](Self::next) for callers without that trait.
///
/// Memory is bounded, whatever the number of rows: a slow consumer holds the server back. Dropping the stream cancels its
/// requests. An error ends the stream.
///
/// [`Stream`]: https://docs.rs/futures-core/0.3/futures_core/stream/trait.Stream.html
#[must_use = "a stream reads nothing until it is polled"]
pub struct Exported<K: TableKey, R> {
    table: Arc<str>,
    client: Client,
    guard: StreamGuard,
    parallel: usize,
    scan: MakeScan<K, R>,
    log: Arc<SkippedLog>,
    state: State<K, R>,
}

/// The request for the partitions.
type Partitioning<K> = Pin<Box<dyn Future<Output = Result<Vec<Plan<K>>, Error>> + Send>>;

enum State<K: TableKey, R> {
    Partitioning(Partitioning<K>),
    Reading { parts: vec::IntoIter<Plan<K>>, open: SelectAll<Rows<K, R>> },
    Ended,
}

/// The futures and streams in it are boxed.
impl<K: TableKey, R> Unpin for Exported<K, R> {}

impl<K: TableKey, R: RowType<K>> Exported<K, R> {
    /// The next row; none after the last one, or after an error.
    ///
    /// # Errors
    /// Those of [`Export::stream`](super::Export::stream).
    ///
    /// # Cancel safety
    /// A future that is dropped loses no row.
    pub async fn next(&mut self) -> Option<Result<R::Item, Error>> {
        poll_fn(|cx| Pin::new(&mut *self).poll_next(cx)).await
    }

    /// The rows skipped so far.
    #[must_use]
    pub fn skipped(&self) -> Skipped {
        self.log.skipped.clone()
    }

    fn poll_row(&mut self, cx: &mut Context<'_>) -> Next<R::Item> {
        loop {
            match &mut self.state {
                State::Partitioning(partitions) => {
                    let parts = ready!(partitions.as_mut().poll(cx))?.into_iter();
                    self.state = State::Reading { parts, open: SelectAll::new() };
                }
                State::Reading { parts, open } => {
                    while open.len() < self.parallel
                        && let Some(part) = parts.next()
                    {
                        let part = (self.scan)(part).with_client(self.client.clone());
                        open.push(part.part_of(&self.log)?.stream());
                    }
                    let polled = Pin::new(&mut *open).poll_next(cx);
                    let has_room = open.len() < self.parallel && parts.len() > 0;
                    match polled {
                        // A partition ended: open the next one.
                        Poll::Pending | Poll::Ready(None) if has_room => {}
                        polled => return polled,
                    }
                }
                State::Ended => return Poll::Ready(None),
            }
        }
    }
}

impl<K: TableKey, R: RowType<K>> Stream for Exported<K, R> {
    type Item = Result<R::Item, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let polled = match self.guard.record_poll() {
            true => self.poll_row(cx),
            false => Poll::Ready(Some(Err(Error::closed_scan(&self.table)))),
        };
        match &polled {
            Poll::Pending => self.guard.register_waker(cx),
            Poll::Ready(Some(Ok(_))) => {}
            Poll::Ready(_) => {
                self.state = State::Ended;
                self.guard.end();
            }
        }
        polled
    }
}

impl<K: TableKey, R> fmt::Debug for Export<K, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Export")
            .field("table", &self.table)
            .field("parallel", &self.parallel)
            .finish_non_exhaustive()
    }
}

impl<K: TableKey, R> fmt::Debug for Exported<K, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Exported").field("parallel", &self.parallel).finish_non_exhaustive()
    }
}
