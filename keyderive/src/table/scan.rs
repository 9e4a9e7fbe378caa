//! A scan of a table before it runs.

use std::fmt;
use std::sync::Arc;

use super::bucket_scan::{Keep, Reader};
use super::execution::ScanExecution;
use super::page::Page;
use super::read::Projection;
use super::rows::{ReadRow, Rows};
use super::skipped::{LogSkipped, OnForeign, OnUnreadable, Skipped};
use super::{KeyOnly, Table, VERSIONS};
use crate::client::{Client, Error};
use crate::key::{RowKey, TableKey};
use crate::plan::{Explain, ExplainOptions, Limit, Plan, PlanError, VersionsRead};
use crate::row::{Path, Row, RowFilter, filter_of};

/// A scan of a table: a plan and how it is to be run.
///
/// Rows come in the order of their logical keys, the key without its salt: one stream for each bucket, in
/// parallel, merged. Where a field left of the salt is not fixed, they come in one stream, in the order of
/// the stored keys.
#[must_use = "a scan reads nothing until it is streamed or collected"]
pub struct Scan<K: TableKey, R> {
    table: Table<K, R>,
    plan: Result<Plan<K>, PlanError>,
    limit: Option<u64>,
    reversed: bool,
    unordered: bool,
    keep: Option<Keep<K>>,
    skip_foreign: bool,
    skip_unreadable: bool,
    /// What is left out.
    log: Arc<LogSkipped>,
    /// Only for what is said of the scan: what is read follows from `R`.
    keys_only: bool,
    /// How many versions of a column are read, where it is said.
    versions: Option<u32>,
    /// Whether all are, where it is not said.
    every_version: bool,
    /// What the server is to leave out, in this order.
    filters: Vec<RowFilter>,
    /// The token of the page before.
    after: Option<String>,
}

impl<K: TableKey, R> Scan<K, R> {
    pub(super) fn new(table: Table<K, R>, plan: Result<Plan<K>, PlanError>) -> Self {
        Self {
            every_version: table.every_version,
            skip_unreadable: table.skipped.is_some(),
            log: Arc::new(LogSkipped::new(&table.name)),
            table,
            plan,
            limit: None,
            reversed: false,
            unordered: false,
            keep: None,
            skip_foreign: false,
            keys_only: false,
            versions: None,
            filters: Vec::new(),
            after: None,
        }
    }

    /// The same scan by another client.
    pub(super) fn by(mut self, client: Client) -> Self {
        self.table.client = client;
        self
    }

    /// At most this many rows, the first ones in the scan's order. The limit is sent with each request, but not with
    /// [`filter_key`](Self::filter_key), which is behind the server; a limit of 0 sends no request.
    pub fn limit(self, rows: u64) -> Self {
        Self { limit: Some(rows), ..self }
    }

    /// From the last row to the first.
    pub fn reversed(self) -> Self {
        Self { reversed: !self.reversed, ..self }
    }

    /// Rows as they arrive, in no order among buckets, so that no bucket waits for another.
    pub fn unordered(self) -> Self {
        Self { unordered: true, ..self }
    }

    /// Only rows whose key is kept. All others are read too, and left out here: for what the fields from the left
    /// cannot say.
    pub fn filter_key(self, keep: impl Fn(&K::Stored) -> bool + Send + Sync + 'static) -> Self {
        let keep: Keep<K> = match self.keep {
            None => Arc::new(keep),
            Some(before) => Arc::new(move |key| before(key) && keep(key)),
        };
        Self { keep: Some(keep), ..self }
    }

    /// What to do with rows whose keys are not of this key type.
    pub fn on_foreign(self, policy: OnForeign) -> Self {
        Self { skip_foreign: policy == OnForeign::Skip, ..self }
    }

    /// What to do with rows that cannot be read as the row type, because a column is missing or holds something else. It is
    /// that of the [table](Table::on_unreadable) unless said. Rows that are left out count for no limit and no page.
    ///
    /// Scans of [keys alone](Self::keys_only), a [`count`](Self::count) and [raw](Self::raw) rows read no columns, so that
    /// none of theirs is unreadable.
    pub fn on_unreadable(self, policy: OnUnreadable) -> Self {
        Self { skip_unreadable: policy == OnUnreadable::Skip, ..self }
    }

    /// Tells which rows are left out, while the scan runs and after it.
    #[must_use]
    pub fn skipped(&self) -> Skipped {
        self.log.skipped.clone()
    }

    /// The scan as a part of a greater one, which has left out what its parts have.
    pub(super) fn part_of(self, log: &Arc<LogSkipped>) -> Self {
        Self { log: Arc::clone(log), ..self }
    }

    /// Only these columns: `name` of the table's family, `family:name` of another one, `family:` for all columns of a
    /// family. A row that has none of them is not sent, and neither is any where two calls name different columns: what
    /// the first leaves out, the second cannot bring back.
    pub fn columns<Q: AsRef<[u8]>>(self, columns: impl IntoIterator<Item = Q>) -> Self {
        let paths: Vec<_> = columns.into_iter().map(|path| Path::new(path.as_ref().to_vec())).collect();
        let columns = filter_of(&paths, &self.table.family, &self.table.shape);
        self.filter(columns)
    }

    /// Only what a filter of the server's lets through. Several are applied one after the other. A row of which
    /// nothing is left is not sent.
    pub fn filter(mut self, filter: RowFilter) -> Self {
        self.filters.push(filter);
        self
    }

    /// So many versions of each column, the newest first; one unless said, or all where the row type has
    /// [`Versions`](crate::row::Versions), or is [`raw`](Self::raw). Other fields are read from the newest.
    pub fn latest(self, versions: u32) -> Self {
        Self { versions: Some(versions), ..self }
    }

    /// The keys of the rows alone: the server sends no values.
    pub fn keys_only(self) -> Scan<K, KeyOnly> {
        Scan { keys_only: true, ..self.with_rows() }
    }

    /// The rows as they are stored: every version of every column of every family, unless [`latest`](Self::latest) or a
    /// filter says otherwise.
    ///
    /// ```
    /// # use keyderive::{Client, RowKey};
    /// # #[derive(RowKey)] struct UserKey { id: u64 }
    /// # type User = std::collections::BTreeMap<String, i64>;
    /// # async fn sample(client: Client) -> Result<(), keyderive::Error> {
    /// let users = client.table::<UserKey, User>("users");
    /// for (key, row) in users.scan(UserKey::scan()).raw().limit(10).collect().await? {
    ///     println!("{}: {} cells", key.id, row.cells().len());
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn raw(self) -> Scan<K, Row> {
        let mut raw = Scan { every_version: true, keys_only: false, ..self.with_rows() };
        raw.table.reads = Projection::Everything;
        raw
    }

    /// The same scan, whose rows are made into something else.
    fn with_rows<S>(self) -> Scan<K, S> {
        Scan {
            table: self.table.with_rows(),
            plan: self.plan,
            limit: self.limit,
            reversed: self.reversed,
            unordered: self.unordered,
            keep: self.keep,
            skip_foreign: self.skip_foreign,
            skip_unreadable: self.skip_unreadable,
            log: self.log,
            keys_only: self.keys_only,
            versions: self.versions,
            every_version: self.every_version,
            filters: self.filters,
            after: self.after,
        }
    }

    /// Goes on after the page that this token was given with; the scan is otherwise the same. The token of another
    /// scan is an error when this one runs.
    pub fn after(self, token: &str) -> Self {
        Self { after: Some(token.to_owned()), ..self }
    }

    /// Fails for keys of another layout than the table's.
    pub(super) fn check_layout<B: RowKey>(&self) -> Result<(), Error> {
        let (own, other) = (K::SCHEMA, B::SCHEMA);
        if std::ptr::eq(own, other) || own.fingerprint() == other.fingerprint() {
            return Ok(());
        }
        Err(Error::definition(
            &self.table.name,
            format!(
                "its keys are `{}`, and `{}` has another layout; declare the same fields with the same attributes",
                own.key_type(),
                other.key_type(),
            ),
        ))
    }

    /// The plan, or what it has after the page before.
    fn planned(&self) -> Result<Plan<K>, Error> {
        let planned = self.plan.clone().and_then(|plan| match &self.after {
            Some(token) => plan.after(token, self.reversed),
            None => Ok(plan),
        });
        planned.map_err(|error| Error::plan(&self.table.name, error))
    }

    /// What the server shall send of each row.
    fn read_filter(&self) -> RowFilter {
        let versions = self.versions.or((!self.every_version).then_some(VERSIONS));
        let read_filter = self.table.columns_asked().into_iter().chain(self.filters.iter().cloned());
        RowFilter::chain(read_filter.chain(versions.map(RowFilter::latest)))
    }

    /// What the scan will do, in words, without doing it.
    ///
    /// # Errors
    /// When a field was fixed to a value that no key can hold, the token of [`after`](Self::after) is of another
    /// scan, or the service does not take a [`filter`](Self::filter).
    pub fn explain(&self) -> Result<Explain, Error> {
        let plan = self.planned()?;
        self.table.check_filter(&self.read_filter())?;
        Ok(plan.explain_run(ExplainOptions {
            reversed: self.reversed,
            unordered: self.unordered,
            limit: self.limit.map(|rows| Limit { rows, is_sent: self.keep.is_none() }),
            keys_only: self.keys_only,
            versions: match self.versions {
                Some(VERSIONS) => None,
                Some(versions) => Some(VersionsRead::Newest(versions)),
                None => self.every_version.then_some(VersionsRead::All),
            },
            filters: self.filters(),
        }))
    }

    fn filters(&self) -> Vec<String> {
        let columns = self.table.columns_asked();
        let read_filter = columns.iter().chain(&self.filters);
        let mut filters: Vec<_> = read_filter.map(|filter| format!("at the server: {filter}")).collect();
        if self.keep.is_some() {
            filters.push("`filter_key`: rows are read, and dropped by their keys".to_owned());
        }
        if self.skip_foreign {
            filters.push("foreign rows are read, and left out".to_owned());
        }
        if self.skip_unreadable {
            filters.push("rows that cannot be read as the row type are left out".to_owned());
        }
        filters
    }

    /// Runs the scan. Nothing is sent before the stream is first polled; dropping it cancels what runs.
    ///
    /// An error is the stream's last item: of the plan, a filter, a request, or a row that is not one of this table.
    #[must_use = "a stream reads nothing until it is polled"]
    pub fn stream(self) -> Rows<K, R>
    where
        R: ReadRow<K>,
    {
        let filter = R::filter(self.read_filter());
        let planned = self.planned().and_then(|plan| self.table.check_filter(&filter).map(|()| plan));
        let Self { table, limit, reversed, unordered, keep, skip_foreign, skip_unreadable, log, .. } = self;
        let run = planned.map(|plan| {
            let reader = Reader {
                client: table.client.clone(),
                table: Arc::clone(&table.name),
                filter: Some(filter),
                reversed,
                keep,
                skip_foreign,
                skipped: log.skipped.clone(),
            };
            ScanExecution::new(reader, plan.into_batches(reversed), unordered, limit)
        });
        Rows::new(table, run, skip_unreadable, log)
    }

    /// Runs the scan and collects its rows.
    ///
    /// ```
    /// # use keyderive::{Client, RowKey};
    /// # #[derive(RowKey)] struct UserKey { id: u64 }
    /// # type User = std::collections::BTreeMap<String, i64>;
    /// # async fn sample(client: Client) -> Result<(), keyderive::Error> {
    /// let users = client.table::<UserKey, User>("users");
    /// let first = users.scan(UserKey::scan()).limit(10).collect().await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The first one of [`stream`](Self::stream); the rows before it are dropped.
    pub async fn collect(self) -> Result<Vec<R::Item>, Error>
    where
        R: ReadRow<K>,
    {
        let mut stream = self.stream();
        let mut rows = Vec::new();
        while let Some(row) = stream.next().await {
            rows.push(row?);
        }
        Ok(rows)
    }

    /// Runs the scan and counts its rows: those that its filters, its limit and its page leave.
    ///
    /// ```
    /// # use keyderive::{Client, RowKey};
    /// # use keyderive::row::RowFilter;
    /// # #[derive(RowKey)] struct UserKey { id: u64 }
    /// # type User = std::collections::BTreeMap<String, i64>;
    /// # async fn sample(client: Client) -> Result<(), keyderive::Error> {
    /// let users = client.table::<UserKey, User>("users");
    /// let visited = RowFilter::exact_column("cf", "visits");
    /// let even = users.scan(UserKey::scan()).filter(visited).filter_key(|key| key.id % 2 == 0).count().await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Every row is sent, as its key: the server strips the values. [`Table::count`] is the same of a plan alone.
    ///
    /// # Errors
    /// The first one of [`stream`](Self::stream).
    pub async fn count(self) -> Result<u64, Error> {
        let mut rows = self.keys_only().unordered().stream();
        let mut count = 0;
        while rows.next().await.transpose()?.is_some() {
            count += 1;
        }
        Ok(count)
    }

    /// The next `rows` rows, one at least, and a token for those after them.
    ///
    /// ```
    /// # use keyderive::{Client, RowKey};
    /// # #[derive(RowKey)] struct UserKey { id: u64 }
    /// # type User = std::collections::BTreeMap<String, i64>;
    /// # async fn sample(client: Client) -> Result<(), keyderive::Error> {
    /// let users = client.table::<UserKey, User>("users");
    /// let first = users.scan(UserKey::scan()).page(10).await?;
    /// if let Some(token) = &first.next {
    ///     let second = users.scan(UserKey::scan()).after(token).page(10).await?;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// The token is opaque text: it holds the place of the last row, and is bound to the constraints, the direction
    /// and the key layout. It is good in every process, for as long as the layout is. Pages need an order to go on in,
    /// so [`unordered`](Self::unordered) does nothing here, and a page is its own [`limit`](Self::limit).
    ///
    /// # Errors
    /// Those of [`collect`](Self::collect); when the token of [`after`](Self::after) is of another scan.
    pub async fn page(self, rows: u64) -> Result<Page<R::Item>, Error>
    where
        R: ReadRow<K>,
    {
        let (plan, reversed, rows) = (self.plan.clone(), self.reversed, rows.max(1));
        let mut stream = Self { limit: Some(rows.saturating_add(1)), unordered: false, ..self }.stream();
        let mut page = Page { rows: Vec::new(), next: None };
        while let Some(row) = stream.next().await.transpose()? {
            page.rows.push(row);
            if (page.rows.len() as u64) < rows {
                continue;
            }
            let last = stream.last_key().to_vec();
            let more = stream.next().await.transpose()?.is_some();
            page.next = plan.ok().filter(|_| more).map(|plan| plan.page_token(&last, reversed));
            break;
        }
        Ok(page)
    }
}

impl<K: TableKey, R> fmt::Debug for Scan<K, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { table, plan, limit, reversed, unordered, .. } = self;
        f.debug_struct("Scan")
            .field("table", table)
            .field("plan", plan)
            .field("limit", limit)
            .field("reversed", reversed)
            .field("unordered", unordered)
            .finish_non_exhaustive()
    }
}
