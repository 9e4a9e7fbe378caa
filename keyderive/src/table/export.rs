//! All rows of a plan, read by several scans side by side.

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::vec;

use futures_core::Stream;
use futures_util::stream::SelectAll;

use super::read::{LogSkipped, Skipped};
use super::scan::Scan;
use super::scan::{ReadRow, Rows};
use super::{Next, Table};
use crate::client::{Client, Error, StreamGuard};
use crate::key::TableKey;
use crate::plan::{Explain, IntoPlan, KeyRange, Plan};

/// How many partitions are read at a time, unless it is said.
const PARALLEL: usize = 8;

/// How many partitions are printed before the rest is counted.
const SHOWN: usize = 8;

impl<K: TableKey, R: 'static> Table<K, R> {
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
    /// The partitions are those of [`partitions_of`](Self::partitions_of), asked for when the stream is first polled, and
    /// together they have every row exactly once.
    pub fn export(&self, plan: impl IntoPlan<K>) -> Export<K, R> {
        let plan = plan.into_plan().map_err(|error| Error::plan(&self.name, error));
        Export::new(self, plan.map(|plan| Parts::Of(Box::new(plan))))
    }

    /// [`export`](Self::export) of some partitions, which [`partitions_of`](Self::partitions_of) has made: the share of
    /// one process of several.
    ///
    /// ```
    /// # use keyderive::{Client, RowKey};
    /// # use keyderive::plan::Plan;
    /// # #[derive(RowKey)] struct EventKey { user_id: String, #[reverse_ts] at: u64 }
    /// # type Event = std::collections::BTreeMap<String, i64>;
    /// # async fn sample(client: Client) -> Result<(), Box<dyn std::error::Error>> {
    /// let events = client.table::<EventKey, Event>("events");
    /// // One process cuts the table, and deals the parts out as data of serde.
    /// let parts = events.partitions().await?;
    /// let shares: Vec<String> = parts.chunks(4).map(serde_json::to_string).collect::<Result<_, _>>()?;
    /// // Another one reads its share.
    /// let share: Vec<Plan<EventKey>> = serde_json::from_str(&shares[0])?;
    /// let mut rows = events.export_parts(share).stream();
    /// while let Some(row) = rows.next().await {
    ///     let (key, event) = row?;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Each process that cut the table itself might cut it elsewhere, and rows would come twice or not at all.
    pub fn export_parts(&self, parts: impl IntoIterator<Item = Plan<K>>) -> Export<K, R> {
        Export::new(self, Ok(Parts::Given(parts.into_iter().collect())))
    }
}

/// A scan of several partitions at a time, from [`Table::export`].
#[must_use = "an export reads nothing until it is streamed"]
pub struct Export<K: TableKey, R> {
    table: Table<K, ()>,
    parts: Result<Parts<K>, Error>,
    parallel: usize,
    scan: MakeScan<K, R>,
    /// What the scans of all partitions leave out.
    log: Arc<LogSkipped>,
}

type MakeScan<K, R> = Arc<dyn Fn(Plan<K>) -> Scan<K, R> + Send + Sync>;

/// What is exported.
enum Parts<K> {
    Of(Box<Plan<K>>),
    Given(Vec<Plan<K>>),
}

impl<K: TableKey, R: 'static> Export<K, R> {
    fn new(table: &Table<K, R>, parts: Result<Parts<K>, Error>) -> Self {
        let (scanned, log) = (table.clone(), Arc::new(LogSkipped::new(&table.name)));
        Self {
            table: table.clone().with_rows(),
            parts,
            parallel: PARALLEL,
            scan: Arc::new(move |part| scanned.scan(part).unordered()),
            log,
        }
    }

    /// How many partitions are read at a time; 8 unless said. 0 counts as 1.
    pub fn parallel(self, partitions: usize) -> Self {
        Self { parallel: partitions.max(1), ..self }
    }

    /// Changes the scan of each partition: which columns it reads, what it does with foreign and unreadable rows.
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
    /// A limit is one of each partition.
    pub fn with<S: 'static>(
        self,
        change: impl Fn(Scan<K, R>) -> Scan<K, S> + Send + Sync + 'static,
    ) -> Export<K, S> {
        let Self { table, parts, parallel, scan, log } = self;
        Export { table, parts, parallel, scan: Arc::new(move |part| change(scan(part))), log }
    }

    /// Tells which rows the scans of all partitions leave out, while the export runs and after it.
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

    /// What the export will read, in words: its scan, and the partitions that it is cut into. The service is asked for
    /// the samples; no row is read.
    ///
    /// ```
    /// # use keyderive::{Client, RowKey};
    /// # #[derive(RowKey)] #[salt(range = 4, over = "user_id")] struct EventKey { user_id: String, at: u64 }
    /// # type Event = std::collections::BTreeMap<String, i64>;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), keyderive::Error> {
    /// # let events = Client::embedded().table::<EventKey, Event>("events");
    /// # events.create_if_absent().await?;
    /// let told = events.export(EventKey::scan()).parallel(2).explain().await?.to_string();
    /// assert!(told.ends_with(
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
    /// Another export may be cut elsewhere, as tablets are split and merged.
    ///
    /// # Errors
    /// As those of the [`stream`](Self::stream) before its first row.
    pub async fn explain(&self) -> Result<ExplainExport, Error> {
        let (scan, parts) = match &self.parts {
            Ok(Parts::Of(plan)) => {
                let scan = (self.scan)(Plan::clone(plan)).explain()?;
                (Some(scan), self.table.partitions_of(Plan::clone(plan)).await?)
            }
            Ok(Parts::Given(parts)) => (None, parts.clone()),
            Err(error) => return Err(error.clone()),
        };
        let windows = parts.iter().map(|part| part.window().cloned()).collect();
        Ok(ExplainExport { key_type: K::SCHEMA.key_type(), scan, windows, parallel: self.parallel })
    }

    /// Runs the export. Nothing is sent before the stream is first polled; dropping it cancels what runs.
    ///
    /// An error is the stream's last item: of the plan, of the request for the partitions, or of the scan of one.
    #[must_use = "a stream reads nothing until it is polled"]
    pub fn stream(self) -> Exported<K, R>
    where
        R: ReadRow<K>,
    {
        let Self { mut table, parts, parallel, scan, log } = self;
        // What an export still has to send goes on when the client is closed meanwhile.
        let (client, pass) = table.client.streaming();
        table.client = client.clone();
        let name = Arc::clone(&table.name);
        let cut = async move {
            match parts? {
                Parts::Of(plan) => table.partitions_of(*plan).await,
                Parts::Given(parts) => Ok(parts),
            }
        };
        Exported { table: name, client, pass, parallel, scan, log, state: State::Cutting(Box::pin(cut)) }
    }
}

/// An export in words, from [`Export::explain`]; print it with `{}`.
///
/// The text is for people: its wording may change in any release.
#[derive(Clone, Debug)]
pub struct ExplainExport {
    key_type: &'static str,
    /// The scan that is cut, where it is cut here.
    scan: Option<Explain>,
    /// The stored keys that each partition looks at; none where that is all of them.
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

/// The rows of an export, in no order: a [`Stream`], and [`next`](Self::next) without it.
///
/// Memory is bounded, whatever the number of rows: a slow consumer stops the server. Dropping the stream cancels its
/// requests. After an error the stream has ended.
///
/// [`Stream`]: https://docs.rs/futures-core/0.3/futures_core/stream/trait.Stream.html
#[must_use = "a stream reads nothing until it is polled"]
pub struct Exported<K: TableKey, R> {
    table: Arc<str>,
    /// By which all partitions are read.
    client: Client,
    pass: StreamGuard,
    parallel: usize,
    scan: MakeScan<K, R>,
    log: Arc<LogSkipped>,
    state: State<K, R>,
}

/// The partitions, when the service has sampled them.
type Cutting<K> = Pin<Box<dyn Future<Output = Result<Vec<Plan<K>>, Error>> + Send>>;

enum State<K: TableKey, R> {
    Cutting(Cutting<K>),
    Reading { parts: vec::IntoIter<Plan<K>>, open: SelectAll<Rows<K, R>> },
    Ended,
}

/// Nothing in it is pinned in place: what is polled is in boxes.
impl<K: TableKey, R> Unpin for Exported<K, R> {}

impl<K: TableKey, R: ReadRow<K>> Exported<K, R> {
    /// The next row; none after the last one, or after an error.
    ///
    /// Cancel safe: a future that is dropped has taken no row.
    pub async fn next(&mut self) -> Option<Result<R::Item, Error>> {
        poll_fn(|cx| Pin::new(&mut *self).poll_next(cx)).await
    }

    /// Tells which rows have been left out so far.
    #[must_use]
    pub fn skipped(&self) -> Skipped {
        self.log.skipped.clone()
    }

    fn poll_row(&mut self, cx: &mut Context<'_>) -> Next<R::Item> {
        loop {
            match &mut self.state {
                State::Cutting(cut) => {
                    let parts = ready!(cut.as_mut().poll(cx))?.into_iter();
                    self.state = State::Reading { parts, open: SelectAll::new() };
                }
                State::Reading { parts, open } => {
                    while open.len() < self.parallel
                        && let Some(part) = parts.next()
                    {
                        open.push((self.scan)(part).by(self.client.clone()).part_of(&self.log).stream());
                    }
                    let polled = Pin::new(&mut *open).poll_next(cx);
                    let has_room = open.len() < self.parallel && parts.len() > 0;
                    match polled {
                        // A partition has ended, and made room for the next one.
                        Poll::Pending | Poll::Ready(None) if has_room => {}
                        polled => return polled,
                    }
                }
                State::Ended => return Poll::Ready(None),
            }
        }
    }
}

impl<K: TableKey, R: ReadRow<K>> Stream for Exported<K, R> {
    type Item = Result<R::Item, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let polled = match self.pass.is_polled() {
            true => self.poll_row(cx),
            false => Poll::Ready(Some(Err(Error::closed_scan(&self.table)))),
        };
        match &polled {
            Poll::Pending => self.pass.waits(cx),
            Poll::Ready(Some(Ok(_))) => {}
            Poll::Ready(_) => {
                self.state = State::Ended;
                self.pass.end();
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
