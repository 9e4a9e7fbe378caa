//! Scans: how they are described, and their rows as a stream, a list, a count, pages or a visit.

use std::fmt;
use std::future::poll_fn;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use futures_core::Stream;

use super::execution::{KeepsValue, ScanCursor as _, ScanOptions, ScanRequest, VisitResult, is_spread};
use super::skipped::{LastRead, OnForeign, OnUnreadable, Skipped, SkippedLog};
use super::{Direct, Next, ReadStore, Reads, Table, UntypedTable};
use crate::client::{Client, Error, NextRow, ROWS_PER_TURN, ReadStats, Route};
use crate::dynamic::DynReader;
use crate::key::{DecodeError, Field, KeySchema, RowKey, TableKey};
use crate::plan::{Explain, ExplainOptions, Limit, Pages, Plan, PlanError, VersionsRead};
use crate::row::{
    Condition, DEFAULT_VERSIONS, OwnedRow, RawCell, RawCells, RawRow, ReadFilters, Row, RowCells, RowError,
    RowFilter, RowSchema, VisibleCells,
};

/// A scan of a table: a plan and how to run it.
///
/// Rows come in the order of their logical keys, the key without its salt: one stream for each bucket, in parallel,
/// merged. If a field left of the salt is not fixed, they come in one stream, in the order of the stored keys.
///
/// An optional column that was [renamed without an `alias`](Table#renamed-columns) is absent in every row.
#[must_use = "a scan reads nothing until it is streamed or collected"]
pub struct Scan<K: TableKey, R, S: Reads = Direct> {
    pub(super) table: Table<K, R, S>,
    plan: Result<Plan<()>, PlanError>,
    /// What it selects besides, for a pair of tables.
    other: <S::Scanned as ReadStore>::OldPlan,
    key_filter: Option<KeyPredicate<K>>,
    pub(super) options: ScanOptions,
}

/// Decides by its key whether a row is kept.
type KeyPredicate<K> = Arc<dyn Fn(&<K as TableKey>::Stored) -> bool + Send + Sync>;

impl<K: TableKey, R, S: Reads> Scan<K, R, S> {
    pub(super) fn new(
        table: Table<K, R, S>,
        plan: Result<Plan<K>, PlanError>,
        other: <S::Scanned as ReadStore>::OldPlan,
    ) -> Self {
        let options = ScanOptions {
            limit: None,
            reversed: false,
            unordered: false,
            filters_keys: false,
            skip_foreign: false,
            skip_unreadable: table.handle.skipped.is_some(),
            log: Arc::new(SkippedLog::new(table.handle.name.table())),
            keys_only: false,
            filters: ReadFilters::default(),
            after: None,
            stats: None,
            distinct: None,
            name: None,
        };
        Self { table, plan: plan.map(Plan::untyped), other, key_filter: None, options }
    }

    /// The same scan with another client.
    pub(super) fn with_client(mut self, client: Client) -> Self {
        self.table.handle.client = client;
        self
    }

    /// Reads at most this many rows, the first ones in the scan's order. Each request carries the limit, unless there is
    /// a [`filter_key`](Self::filter_key), which drops rows only after the server has sent them. A limit of 0 sends no
    /// request.
    pub fn limit(mut self, rows: u64) -> Self {
        self.options.limit = Some(rows);
        self
    }

    /// Reverses the order: from the last row to the first, or back if the scan is reversed already.
    pub fn reversed(mut self) -> Self {
        self.options.reversed = !self.options.reversed;
        self
    }

    /// Reads rows as they arrive, in no order among buckets, so that no bucket waits for another.
    pub fn unordered(mut self) -> Self {
        self.options.unordered = true;
        self
    }

    /// Names the scan in traces, metrics and warnings: the field `scan` of its requests' spans and the label `scan` of their
    /// [metrics](crate::client#traces-and-metrics).
    ///
    /// ```
    /// # use keyderive::{Client, Row, RowKey};
    /// # #[derive(RowKey)] struct EventKey { user_id: String, #[reverse_ts] at: u64 }
    /// # type Event = std::collections::BTreeMap<String, i64>;
    /// # async fn sample(client: Client) -> Result<(), keyderive::Error> {
    /// let events = client.table::<EventKey, Event>("events");
    /// let newest = events.scan(EventKey::scan().user_id("alice")).named("newest").limit(10).collect().await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Name the question, not the answer. Each value of a label is a time series of its own in a metrics store, so the name is
    /// `'static`: a program has as many as its code has literals, and none is made of a user's id. The last name counts.
    pub fn named(mut self, name: &'static str) -> Self {
        self.options.name = Some(name);
        self
    }

    /// Keeps only rows whose key satisfies `keep`, for conditions that a plan cannot express. The server still sends
    /// the other rows, and the client drops them.
    pub fn filter_key(mut self, keep: impl Fn(&K::Stored) -> bool + Send + Sync + 'static) -> Self {
        self.key_filter = Some(match self.key_filter {
            None => Arc::new(keep),
            Some(before) => Arc::new(move |key| before(key) && keep(key)),
        });
        self.options.filters_keys = true;
        self
    }

    /// What to do with rows whose keys are not of this key type. The default is [`OnForeign::Fail`](super::OnForeign::Fail).
    pub fn on_foreign(mut self, policy: OnForeign) -> Self {
        self.options.skip_foreign = policy == OnForeign::Skip;
        self
    }

    /// What to do with rows that cannot be read as the row type, because a column is missing or holds something else. The
    /// default is the [table's](Table::on_unreadable) policy. Skipped rows count towards no limit and no page.
    ///
    /// [`keys_only`](Self::keys_only), [`count`](Self::count) and [`raw`](Self::raw) decode no columns, so no row is
    /// unreadable to them.
    pub fn on_unreadable(mut self, policy: OnUnreadable) -> Self {
        self.options.skip_unreadable = policy == OnUnreadable::Skip;
        self
    }

    /// Which rows the scan has skipped, while it runs and after it.
    #[must_use]
    pub fn skipped(&self) -> Skipped {
        self.options.log.skipped.clone()
    }

    /// The scan as a part of a larger one, with which it shares the count of skipped rows.
    ///
    /// # Errors
    /// With `distinct`: other parts may have rows of the same values.
    pub(super) fn part_of(mut self, log: &Arc<SkippedLog>) -> Result<Self, Error> {
        if let Some(count) = self.options.distinct {
            let fault = format!(
                "an export reads `distinct({count})` in each partition, and several can have rows of one value; call it on \
                 `table.scan(plan)`"
            );
            return Err(Error::definition(&self.table.handle.name, fault));
        }
        self.options.log = Arc::clone(log);
        Ok(self)
    }

    /// Adds a filter that the server applies to each row, after earlier ones. The server does not send a row without a
    /// cell left. So a filter of a family that the table does not have gives no rows, and no error.
    ///
    /// The filter is applied to every stored version, before the newest of each column is taken: a filter of timestamps reads rows as of
    /// a time, and a filter of values may leave an earlier value, which a server keeps for a while, as the newest. For rows whose columns
    /// have a value now, ask by [`matching`](Self::matching).
    ///
    /// A filter sees the row as it is without a [`select`](Self::select), which picks of what all filters leave. With a selection, a filter
    /// that [labels](RowFilter::label) cells or has a [sink](RowFilter::sink) is an error of the scan.
    pub fn filter(mut self, filter: RowFilter) -> Self {
        self.options.filters.cells.push(filter);
        self
    }

    /// Returns only the rows that meet a condition, whole.
    ///
    /// ```
    /// # use keyderive::{Client, Row, RowKey};
    /// # #[derive(RowKey)] struct UserKey { id: u64 }
    /// # #[derive(Row)] struct User { name: String, age: u32 }
    /// # async fn sample(client: Client) -> Result<(), keyderive::Error> {
    /// let users = client.table::<UserKey, User>("users");
    /// let adults = users.scan(UserKey::scan()).matching(User::AGE.at_least(18)).collect().await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// The server evaluates it, by a condition filter, which Bigtable calls slow: it reads every row that the plan selects.
    /// A second `matching` has to hold too. A condition with an error, such as a comparison with NaN, is an error of the scan. To a
    /// condition, a column that was renamed without an [`alias`](macro@crate::Row) is absent.
    pub fn matching(mut self, condition: Condition<R>) -> Self {
        let UntypedTable { client, visible, .. } = &self.table.handle;
        match visible.condition(condition, client.now_micros()) {
            Ok((filter, is_negated)) => {
                let holds = filter.unwrap_or_else(RowFilter::pass_all);
                let (then, otherwise) = match is_negated {
                    false => (RowFilter::pass_all(), RowFilter::block_all()),
                    true => (RowFilter::block_all(), RowFilter::pass_all()),
                };
                self.options.filters.rows.push(RowFilter::condition(holds, then, otherwise));
            }
            Err(error) => self.options.filters.rows.push(RowFilter::of_no_column(&error)),
        }
        self
    }

    /// Reads up to this many versions of each column, the newest first. The default is one, or all if the row type has
    /// [`Versions`](crate::row::Versions) or the scan is [`raw`](Self::raw). Other fields are read from the newest. Of 0 versions, there
    /// are no rows.
    pub fn latest(mut self, versions: u32) -> Self {
        self.options.filters.versions = Some(versions);
        self
    }

    /// Reads only the keys of the rows: the server sends no values.
    pub fn keys_only(mut self) -> Scan<K, KeyOnly, S> {
        self.options.keys_only = true;
        self.with_rows()
    }

    /// Reads the rows as they are stored: every version of every column of every family, hidden by a `ttl` or not, unless
    /// [`latest`](Self::latest) or a filter says otherwise.
    ///
    /// ```
    /// # use keyderive::{Client, Row, RowKey};
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
    pub fn raw(mut self) -> Scan<K, RawRow, S> {
        self.options.keys_only = false;
        let visible = self.table.handle.visible.clone().stored();
        self.with_visible(visible)
    }

    /// The same scan with another row type.
    pub(super) fn with_rows<T>(self) -> Scan<K, T, S> {
        let Self { table: Table { handle, store, .. }, plan, other, key_filter, options } = self;
        Scan { table: Table { handle, store, types: PhantomData }, plan, other, key_filter, options }
    }

    /// The same scan of rows of which other cells count.
    pub(super) fn with_visible<T>(mut self, visible: VisibleCells) -> Scan<K, T, S> {
        self.table.handle.visible = visible;
        self.with_rows()
    }

    fn untyped(&self) -> UntypedScan<'_> {
        UntypedScan { table: &self.table.handle, plan: &self.plan, options: &self.options }
    }

    /// Runs the scan. The first poll of the stream sends the first request.
    ///
    /// The stream ends with the first error: an invalid plan or filter, a failed request, or a foreign or unreadable
    /// row.
    ///
    /// # Cancel safety
    /// Dropping the stream cancels its requests.
    #[must_use = "a stream reads nothing until it is polled"]
    pub fn stream(self) -> Rows<K, R, S>
    where
        R: RowType<K>,
    {
        self.rows()
    }

    pub(super) fn rows(self) -> Rows<K, R, S> {
        Rows { kept: self.with_rows::<()>().kept(), types: PhantomData }
    }

    /// Runs the scan and collects its rows.
    ///
    /// ```
    /// # use keyderive::{Client, Row, RowKey};
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
    ///
    /// # Cancel safety
    /// A dropped future cancels the read.
    pub async fn collect(self) -> Result<Vec<R::Item>, Error>
    where
        R: RowType<K>,
    {
        let mut stream = self.stream();
        let mut rows = Vec::new();
        while let Some(row) = stream.next().await {
            rows.push(row?);
        }
        Ok(rows)
    }
}

impl<K: TableKey, S: Reads> Scan<K, (), S> {
    fn kept(self) -> KeptRows<K, S> {
        let filter = self.untyped().read_filter();
        let planned = self.untyped().planned_for(&filter);
        let Self { table: Table { mut handle, store, .. }, other, key_filter, options, .. } = self;
        let ScanOptions { skip_foreign, skip_unreadable, keys_only, distinct, .. } = options;
        let log = Arc::clone(&options.log);
        let codecs = K::codecs(handle.key.schema());
        let check = (key_filter.is_some() || skip_foreign).then(|| KeyCheck {
            codecs: codecs.clone(),
            table: handle.name.clone(),
            filter: key_filter,
            skipped: skip_foreign.then(|| log.skipped.clone()),
        });
        // Where each value is delivered once, the check decides which row begins one.
        let (check, keeps_value) = if distinct.is_some() { (None, check) } else { (check, None) };
        let execution = planned.and_then(|plan| {
            let scan = ScanRequest {
                client: handle.client.clone(),
                table: handle.name.clone(),
                key: handle.key,
                filter,
                keeps_value: keeps_value.map(|check| -> KeepsValue {
                    // A foreign row begins a value too: it ends the scan in its turn.
                    Arc::new(move |key| !matches!(check.kept(key), Ok(None)))
                }),
                options,
            };
            store.scanned().scan(&handle, plan, other, scan)
        });
        if keys_only {
            handle.visible = handle.visible.of_keys();
        }
        KeptRows {
            handle,
            codecs,
            execution: execution.map(Box::new).map_err(Some),
            check,
            key: None,
            skip_unreadable,
            log,
            compared: ComparedSchema::default(),
            by_data: None,
        }
    }
}

/// A scan by value: what it reads is decided once for all types.
#[derive(Clone, Copy)]
struct UntypedScan<'s> {
    table: &'s UntypedTable,
    plan: &'s Result<Plan<()>, PlanError>,
    options: &'s ScanOptions,
}

impl UntypedScan<'_> {
    /// The plan, or the part of it after the previous page.
    fn planned(self) -> Result<Plan<()>, Error> {
        let planned = self.plan.clone().and_then(|plan| match &self.options.after {
            Some(token) => plan.after_page(self.pages(), token, self.options.reversed),
            None => Ok(plan),
        });
        let plan = planned.map_err(|error| Error::plan(&self.table.name, error))?;
        let schema = self.schema();
        match self.options.distinct {
            Some(count) if !(1..=schema.fields().len()).contains(&count) => Err(Error::definition(
                &self.table.name,
                format!(
                    "`distinct({count})` is of no fields of `{}`; give it a number from 1 to {}, that of its fields",
                    schema.key_type(),
                    schema.fields().len(),
                ),
            )),
            _ => Ok(plan),
        }
    }

    /// The same, if the filter can be sent.
    fn planned_for(self, filter: &RowFilter) -> Result<Plan<()>, Error> {
        self.planned().and_then(|plan| self.table.check_filter(filter).map(|()| plan))
    }

    fn schema(self) -> &'static KeySchema {
        self.table.key.schema()
    }

    /// What page tokens name beside the plan. While a table is re-keyed, this is its new table.
    fn pages(self) -> Pages {
        Pages::new(self.table.name.table(), self.options.distinct)
    }

    /// Rejects pages of values that are delivered once, where a page cannot know those of earlier ones.
    fn check_pages(self) -> Result<(), Error> {
        if let (Some(count), Ok(plan)) = (self.options.distinct, self.plan)
            && !plan.is_ordered()
            && is_spread(self.schema(), count)
        {
            return Err(Error::definition(
                &self.table.name,
                "a page of `distinct` cannot know the values of earlier pages where the buckets of the salt come one after the other; \
                 fix the fields left of the salt, or read the scan whole",
            ));
        }
        Ok(())
    }

    fn token_after(self, key: &[u8]) -> Result<String, Error> {
        let plan = self.plan.as_ref();
        let plan = plan.map_err(|error| Error::plan(&self.table.name, error.clone()))?;
        Ok(plan.token_of(self.pages(), key, self.options.reversed))
    }

    /// What the server sends of each row.
    fn read_filter(self) -> RowFilter {
        let newest = self.table.visible.newest(self.options.filters.versions);
        let keys_only = self.options.keys_only.then(RowFilter::existence);
        RowFilter::chain(
            self.server_filters().into_iter().chain(newest).chain(keys_only.into_iter().flatten()),
        )
    }

    /// What it has of each row, in as many versions as there are.
    fn server_filters(self) -> Vec<RowFilter> {
        self.table.visible.filters(self.table.client.now_micros(), &self.options.filters)
    }

    fn explain_options(self) -> ExplainOptions {
        let (visible, options) = (&self.table.visible, self.options);
        ExplainOptions {
            reversed: options.reversed,
            unordered: options.unordered,
            limit: options.limit.map(|rows| Limit { rows, is_sent: !options.filters_keys }),
            keys_only: options.keys_only,
            versions: match options.filters.versions {
                Some(DEFAULT_VERSIONS) => None,
                Some(versions) => Some(VersionsRead::Newest(versions)),
                None => (visible.has_every_version() && !visible.is_selected()).then_some(VersionsRead::All),
            },
            filters: self.filters(),
        }
    }

    fn filters(self) -> Vec<String> {
        let mut filters: Vec<_> =
            self.server_filters().iter().map(|filter| format!("at the server: {filter}")).collect();
        if let Some(count) = self.options.distinct {
            let names: Vec<_> = self.schema().fields().iter().take(count).map(Field::name).collect();
            filters.push(format!(
                "`distinct`: the first row of each value of {}; the rest is read or sought past",
                names.join(", ")
            ));
        }
        if self.options.filters_keys {
            filters.push("`filter_key`: rows are read, and dropped by their keys".to_owned());
        }
        if self.options.skip_foreign {
            filters.push("foreign rows are read, and left out".to_owned());
        }
        if self.options.skip_unreadable {
            filters.push("rows that cannot be read as the row type are left out".to_owned());
        }
        filters
    }
}

impl<K: TableKey, R, S: Reads> Scan<K, R, S> {
    /// Reads the distinct values of the first `fields` fields: the key of the first row of each value, in the order of the scan.
    ///
    /// ```
    /// use keyderive::{Client, Row, RowKey};
    ///
    /// #[derive(RowKey)]
    /// #[salt(range = 4, over = "user_id,site")]
    /// struct VisitKey {
    ///     user_id: String,
    ///     site: String,
    ///     at: u64,
    /// }
    /// # type Visit = std::collections::BTreeMap<String, i64>;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), keyderive::Error> {
    /// let visits = Client::embedded().table::<VisitKey, Visit>("visits");
    /// # visits.create_if_absent().await?;
    /// # for (user, site) in [("alice", "home"), ("alice", "shop"), ("bob", "shop")] {
    /// #     for at in 0..10 {
    /// #         let key = VisitKey { user_id: user.into(), site: site.into(), at };
    /// #         visits.put(&key, &Visit::from([("n".into(), 1)])).await?;
    /// #     }
    /// # }
    /// let firsts = visits.scan(VisitKey::scan()).distinct(1).collect().await?;
    /// let users: Vec<_> = firsts.into_iter().map(|first| first.user_id).collect();
    /// assert_eq!(users, ["alice", "bob"]);
    ///
    /// // The sites of a user, and how many pairs of both there are.
    /// let sites = visits.scan(VisitKey::scan().user_id("alice")).distinct(2).collect().await?;
    /// assert_eq!((sites[0].site.as_str(), sites[1].site.as_str(), sites.len()), ("home", "shop", 2));
    /// assert_eq!(visits.scan(VisitKey::scan()).distinct(2).count().await?, 3);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// `fields` counts from the left of the key, with those that the plan fixes. The scan reads keys alone, and not all of them: in each
    /// bucket, it reads on where values have few rows, and sends a request for the next value where they have many, 512 or more. That
    /// costs at most about half more than the better of reading all keys and a request for each value, if a request counts as 512 rows.
    /// Values of which several buckets have rows are delivered once, and cost a request or a row in each.
    ///
    /// Filters, [`matching`](Self::matching), [`filter_key`](Self::filter_key) and `ttl` choose among the rows first: a value is
    /// delivered if one of its rows passes, with the first such row. A [`limit`](Self::limit) and a [`page`](Self::page) count values, and
    /// the token of a page resumes after the value. If the scan is [`reversed`](Self::reversed), the row is the last one of the value.
    /// [`unordered`](Self::unordered) has no effect. Foreign rows among those that are passed over are not noticed.
    ///
    /// If the salt stands after a field that the plan does not fix, values come in the order of the stored keys, and those that have rows
    /// in several buckets are remembered, up to 64 MiB for each value of the fields left of the salt; where there can be such, `page` fails.
    ///
    /// The calls that run the scan fail if `fields` is 0, or more than the key has.
    ///
    /// # Concurrent writers
    /// A value of which some row is there during the whole call is delivered; one whose rows are written or deleted meanwhile may be.
    /// None is delivered twice.
    pub fn distinct(mut self, fields: usize) -> Scan<K, KeyOnly, S> {
        self.options.distinct = Some(fields);
        self.keys_only()
    }

    /// Runs the scan and counts its rows: those that pass its filters, after its [`after`](Self::after) token, up to
    /// its limit.
    ///
    /// ```
    /// # use keyderive::{Client, Row, RowKey};
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
    /// The server sends the key of every row, without values. [`Table::count`] counts the rows of a plan.
    ///
    /// # Errors
    /// The first one of [`stream`](Self::stream).
    ///
    /// # Cancel safety
    /// A dropped future cancels the read.
    pub async fn count(self) -> Result<u64, Error> {
        self.keys_only().in_any_order().stream().count_rows().await
    }

    /// The same in the order that costs least, for a caller that needs none. A scan of a table that is re-keyed stays in order, if it can
    /// be: then it goes on when the state changes.
    pub(super) fn in_any_order(self) -> Self {
        let (scanned, plan) = (self.table.store.scanned(), self.plan.as_ref());
        match plan.is_ok_and(|plan| scanned.prefers_order(plan, &self.other)) {
            true => self,
            false => self.unordered(),
        }
    }

    /// Resumes after the page that returned this token; the scan must otherwise be the same. The token of another table, plan,
    /// direction or [`distinct`](Self::distinct) is an error when this one runs; conditions and filters are not compared.
    pub fn after(mut self, token: &str) -> Self {
        self.options.after = Some(token.to_owned());
        self
    }

    /// Asks the server what the scan costs, and adds that to `stats`.
    ///
    /// ```
    /// use keyderive::client::ReadStats;
    /// # use keyderive::{Client, Row, RowKey};
    /// # #[derive(RowKey)] struct UserKey { id: u64 }
    /// # #[derive(Row)] struct User { name: String, age: u32 }
    /// # async fn sample(client: Client) -> Result<(), keyderive::Error> {
    /// let users = client.table::<UserKey, User>("users");
    /// let stats = ReadStats::new();
    /// let adults = users.scan(UserKey::scan()).matching(User::AGE.at_least(18)).with_stats(&stats).collect().await?;
    /// println!("{} of {} rows", stats.rows_returned(), stats.rows_seen());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// The server reports when a response ends, and not for a request that is cancelled:
    ///
    /// | the scan | its open requests |
    /// |---|---|
    /// | reads to its end | all report |
    /// | reaches its [`limit`](Self::limit) | each has the limit too, so that its response ends soon. The scan waits for that for at most a second after its last row, and cancels the others |
    /// | reaches its limit with [`filter_key`](Self::filter_key) | have no limit: they are cancelled, and report nothing |
    /// | is dropped | are cancelled, and report nothing |
    pub fn with_stats(mut self, stats: &ReadStats) -> Self {
        self.options.stats = Some(stats.clone());
        self
    }

    /// Describes what the scan will do, without running it.
    ///
    /// # Errors
    /// If a field was fixed to a value that no key can hold, the token of [`after`](Self::after) is of another scan, or
    /// the service would reject a [`filter`](Self::filter).
    pub fn explain(&self) -> Result<Explain, Error> {
        let untyped = self.untyped();
        let plan = untyped.planned_for(&untyped.read_filter())?;
        self.table.store.scanned().explain(&plan, &self.other, untyped.explain_options())
    }

    /// Runs the scan, drops its rows, and describes what it did: its plan, and what that cost.
    ///
    /// ```
    /// # use keyderive::{Client, RowKey};
    /// # #[derive(RowKey)] #[salt(range = 4, over = "user_id")] struct EventKey { user_id: String, at: u64 }
    /// # type Event = std::collections::BTreeMap<String, i64>;
    /// # async fn sample(client: Client) -> Result<(), keyderive::Error> {
    /// let events = client.table::<EventKey, Event>("events");
    /// println!("{}", events.scan(EventKey::scan().user_id("alice")).explain_analyze().await?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// The last lines are such as
    ///
    /// ```text
    ///   rows         10 in 5.1ms
    ///   cost         the server read 1000 rows and 3000 cells, and returned 10 and 30, in 3.9ms summed over 1 request
    /// ```
    ///
    /// `rows` are those that pass the filters and [`filter_key`](Self::filter_key), up to the [`limit`](Self::limit). No row is
    /// decoded, so unreadable rows count, and foreign rows count rather than end the scan, unless [`on_foreign`](Self::on_foreign)
    /// skips them. Their time is that of the whole scan, by the client's clock.
    ///
    /// The time of `cost` is the sum of the server's times for all requests. Requests to buckets run side by side and each counts in full,
    /// so it can be longer than the time of the scan: compare it between runs of one scan, and not with that time.
    ///
    /// # Errors
    /// Those of [`explain`](Self::explain), and the first failed request.
    ///
    /// # Cancel safety
    /// A dropped future cancels the read.
    pub async fn explain_analyze(self) -> Result<Analysis, Error> {
        let explain = self.explain()?;
        let stats = self.options.stats.clone().unwrap_or_default();
        let (begun, mut rows) = (Instant::now(), 0);
        let mut scan = self.with_stats(&stats).rows();
        while poll_fn(|cx| scan.kept.poll_next_row(cx)).await.transpose()?.is_some() {
            if let Ok(execution) = &mut scan.kept.execution {
                execution.delivered();
            }
            rows += 1;
        }
        Ok(Analysis { explain, rows, elapsed: begun.elapsed(), stats })
    }

    /// Reads the next `rows` rows, where 0 counts as 1, and a token for the page after them.
    ///
    /// ```
    /// # use keyderive::{Client, Row, RowKey};
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
    /// The token is text that shows the stored key of the last row, and is not signed:
    /// [encrypt it](crate::plan::Plan::page_token) before you hand it to strangers. It is bound to the table's name, the key layout, the
    /// constraints, the direction and the fields of [`distinct`](Self::distinct); it is valid in every process and
    /// instance, as long as the layout is. Pages need an order, so
    /// [`unordered`](Self::unordered) has no effect here, and the page size replaces the [`limit`](Self::limit).
    ///
    /// # Errors
    /// Those of [`collect`](Self::collect), and the token of another scan in [`after`](Self::after).
    ///
    /// # Cancel safety
    /// A dropped future cancels the read. The same call reads the same page.
    pub async fn page(mut self, rows: u64) -> Result<Page<R::Item>, Error>
    where
        R: RowType<K>,
    {
        let (plan, pages, reversed, rows) =
            (self.plan.clone(), self.untyped().pages(), self.options.reversed, rows.max(1));
        self.untyped().check_pages()?;
        (self.options.limit, self.options.unordered) = (Some(rows.saturating_add(1)), false);
        let mut stream = self.stream();
        let mut page = Page { rows: Vec::new(), next: None };
        while let Some(row) = stream.next().await.transpose()? {
            page.rows.push(row);
            if (page.rows.len() as u64) < rows {
                continue;
            }
            let last = stream.last_key().to_vec();
            let more = stream.next().await.transpose()?.is_some();
            page.next = plan.ok().filter(|_| more).map(|plan| plan.token_of(pages, &last, reversed));
            // No row is left, but the requests end here, where they say what they have cost.
            stream.next().await.transpose()?;
            break;
        }
        Ok(page)
    }

    /// The token of a [page](Self::page) that ends with the row with this stored key: for a tool that reads rows one by one, and goes
    /// on later.
    ///
    /// ```
    /// # use keyderive::{Client, Row, RowKey};
    /// # #[derive(RowKey)] struct UserKey { id: u64 }
    /// # type User = std::collections::BTreeMap<String, i64>;
    /// # async fn sample(client: Client) -> Result<(), keyderive::Error> {
    /// let users = client.table::<UserKey, User>("users");
    /// let scan = || users.scan(UserKey::scan());
    /// let (mut rows, mut token) = (scan().limit(1000).raw().stream(), None);
    /// while let Some(row) = rows.next().await {
    ///     let (_, row) = row?;
    ///     token = Some(scan().token_after(row.key())?);
    /// }
    /// if let Some(token) = token {
    ///     let rest = scan().after(&token).collect().await?;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// When no key can hold a value of the scan.
    pub fn token_after(&self, key: &[u8]) -> Result<String, Error> {
        self.untyped().token_after(key)
    }
}

/// Visits, whose keys are of a type.
impl<K: RowKey + TableKey, R, S: Reads> Scan<K, R, S> {
    /// Fails if `B` has another layout than the table's key type.
    fn check_layout<B: RowKey>(&self) -> Result<(), Error> {
        let (own, other) = (self.untyped().schema(), B::SCHEMA);
        if std::ptr::eq(own, other) || own.fingerprint() == other.fingerprint() {
            return Ok(());
        }
        Err(Error::definition(
            &self.table.handle.name,
            format!(
                "its keys are `{}`, and `{}` has another layout; declare the same fields with the same attributes",
                own.key_type(),
                other.key_type(),
            ),
        ))
    }
    /// Runs the scan and calls `visit` with each key and row, borrowed; returns how many there were.
    ///
    /// For folds over millions of rows: keys and rows are decoded where they lie in the server's messages, and types that
    /// borrow allocate nothing for a row. `B` is the table's key type, or one of the same layout with borrowed fields; the
    /// closure chooses the type of the row.
    ///
    /// ```
    /// use keyderive::{Client, Error, Row, RowKey};
    ///
    /// #[derive(RowKey)]
    /// struct ReadingKey {
    ///     station: String,
    ///     at: u64,
    /// }
    ///
    /// /// The same key, borrowed.
    /// #[derive(RowKey)]
    /// struct LentKey<'a> {
    ///     station: &'a str,
    ///     at: u64,
    /// }
    ///
    /// #[derive(Row)]
    /// struct Reading<'a> {
    ///     celsius: f64,
    ///     sensor: &'a str,
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Error> {
    /// # let client = Client::embedded();
    /// let readings = client.table::<ReadingKey, Reading<'_>>("readings");
    /// # readings.create_if_absent().await?;
    /// # for at in 0..3 {
    /// #     let key = ReadingKey { station: "north".into(), at };
    /// #     readings.put(&key, &Reading { celsius: 20.5, sensor: "a" }).await?;
    /// # }
    /// let mut sum = 0.0;
    /// let rows = readings
    ///     .scan(ReadingKey::scan())
    ///     .visit::<LentKey<'_>, Error>(|key, row| {
    ///         let reading = row.read::<Reading<'_>>()?;
    ///         if key.station == "north" && reading.sensor == "a" {
    ///             sum += reading.celsius;
    ///         }
    ///         Ok(())
    ///     })
    ///     .await?;
    /// assert_eq!((rows, sum), (3, 61.5));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// The rows are those of [`stream`](Self::stream), in its order. Every key is checked as `B` before the call; `B`
    /// repeats the attributes of the table's key type, `#[salt]` among them. Both types must be named: `B` and the
    /// closure's error, which may be the program's own. An `Err` ends the visit early.
    ///
    /// The closure blocks its thread while it runs, and cannot be `async`: for calls that wait, take rows from a [`stream`](Self::stream).
    /// Other tasks have a turn about every thousand rows.
    ///
    /// The closure decodes the row, so a row that [cannot be read](RowRef::read) fails there. Under
    /// [`OnUnreadable::Skip`](super::OnUnreadable::Skip), if the closure's last `read` of a row fails and the closure
    /// returns an error, the visit goes on: the row counts as [skipped](Self::skipped), and towards no limit. So
    /// `row.read()?` is enough. If the closure returns `Ok`, the row counts as visited, even if it could not be read.
    ///
    /// # Errors
    /// The first one of the scan, of a key that is not a `B`, or of `visit`, which ends it; and if `B` has another layout
    /// than the table's key type.
    ///
    /// # Cancel safety
    /// A dropped future cancels the read. The closure has seen some of the rows.
    pub async fn visit<B, E>(
        self,
        mut visit: impl FnMut(B::Decoded<'_>, RowRef<'_>) -> Result<(), E>,
    ) -> Result<u64, E>
    where
        B: RowKey,
        E: From<Error>,
    {
        self.check_layout::<B>()?;
        let mut rows = self.rows();
        let mut visited = 0;
        poll_fn(|cx| {
            let mut left = ROWS_PER_TURN;
            while left > 0 {
                let passed = ready!(rows.poll_visit::<B, E>(cx, left, &mut visit))?;
                if passed.rows == 0 {
                    return Poll::Ready(Ok(visited));
                }
                visited += passed.rows - passed.skipped;
                left -= passed.rows;
            }
            cx.waker().wake_by_ref();
            Poll::Pending
        })
        .await
    }
}

impl<K: TableKey, R, S: Reads> fmt::Debug for Scan<K, R, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { table, plan, options: ScanOptions { limit, reversed, unordered, .. }, .. } = self;
        f.debug_struct("Scan")
            .field("table", table)
            .field("plan", plan)
            .field("limit", limit)
            .field("reversed", reversed)
            .field("unordered", unordered)
            .finish_non_exhaustive()
    }
}

/// What a scan did, and what it cost: [`Scan::explain_analyze`]. Print it with `{}`.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Analysis {
    /// The plan.
    pub explain: Explain,
    /// How many rows the scan has, as [`explain_analyze`](Scan::explain_analyze) counts them.
    pub rows: u64,
    /// How long that took, with the layout check if it came first.
    pub elapsed: Duration,
    /// What it cost the server. With figures of other reads, if the scan had the same [`with_stats`](Scan::with_stats).
    pub stats: ReadStats,
}

impl fmt::Display for Analysis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { explain, rows, elapsed, stats } = self;
        write!(f, "{explain}\n  {:<12} {rows} in {elapsed:.1?}\n  {:<12} {stats}", "rows", "cost")
    }
}

/// Some rows of a scan, and the token of the next page.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Page<T> {
    /// The rows, in the order of the scan.
    pub rows: Vec<T>,
    /// The token of the next page, for [`Scan::after`](Scan::after); none at the end. It shows the key of the last row.
    pub next: Option<String>,
}

/// What a scan makes of a row: its key and an `R`, its key and some columns, its key and the [`RawRow`] as stored, or the key
/// alone.
pub trait RowType<K: TableKey>: Sized + sealed::Sealed {
    /// An item of the stream.
    type Item;

    /// An item without its key.
    #[doc(hidden)]
    type Columns;

    /// Reads the columns of a stored row; those whose row type is data by the scan's reader, which the first row makes.
    ///
    /// # Errors
    /// If the stored columns are not such a row.
    #[doc(hidden)]
    fn read(
        table: &UntypedTable,
        by_data: &mut Option<Box<DynReader>>,
        row: &RawRow,
    ) -> Result<Self::Columns, Error>;

    #[doc(hidden)]
    fn item(key: K::Stored, columns: Self::Columns) -> Self::Item;
}

mod sealed {
    pub trait Sealed {}

    impl<R: crate::row::OwnedRow> Sealed for R {}
    impl<T> Sealed for crate::table::Selected<T> {}
    impl Sealed for super::KeyOnly {}
    impl Sealed for super::RawRow {}
    impl Sealed for crate::dynamic::DynRow {}
}

impl<K: TableKey, R: OwnedRow> RowType<K> for R {
    type Item = (K::Stored, R);
    type Columns = R;

    #[inline]
    fn read(table: &UntypedTable, _: &mut Option<Box<DynReader>>, row: &RawRow) -> Result<R, Error> {
        table.decode(row)
    }

    #[inline]
    fn item(key: K::Stored, columns: R) -> Self::Item {
        (key, columns)
    }
}

/// The row type of a scan of keys alone: [`Scan::keys_only`].
#[derive(Clone, Copy, Debug)]
pub enum KeyOnly {}

impl<K: TableKey> RowType<K> for KeyOnly {
    type Item = K::Stored;
    type Columns = ();

    fn read(_: &UntypedTable, _: &mut Option<Box<DynReader>>, _: &RawRow) -> Result<(), Error> {
        Ok(())
    }

    fn item(key: K::Stored, (): ()) -> K::Stored {
        key
    }
}

impl<K: TableKey> RowType<K> for RawRow {
    type Item = (K::Stored, RawRow);
    type Columns = RawRow;

    fn read(table: &UntypedTable, _: &mut Option<Box<DynReader>>, row: &RawRow) -> Result<RawRow, Error> {
        Ok(table.unmarked(row).unwrap_or_else(|| row.clone()))
    }

    fn item(key: K::Stored, columns: RawRow) -> Self::Item {
        (key, columns)
    }
}

/// The rows of a scan, in the scan's order: a [`Stream`], and [`next`](Self::next) for callers without that trait.
///
/// ```
/// # use keyderive::{Client, Row, RowKey};
/// # #[derive(RowKey)] struct UserKey { id: u64 }
/// # type User = std::collections::BTreeMap<String, i64>;
/// # async fn sample(client: Client) -> Result<(), keyderive::Error> {
/// let users = client.table::<UserKey, User>("users");
/// let mut rows = users.scan(UserKey::scan()).stream();
/// while let Some(row) = rows.next().await {
///     let (key, user) = row?;
/// }
/// # Ok(())
/// # }
/// ```
///
/// Memory is bounded however many rows there are: a slow consumer holds back the server. An error ends the stream.
///
/// # Cancel safety
/// Dropping the stream cancels its requests.
///
/// [`Stream`]: https://docs.rs/futures-core/0.3/futures_core/stream/trait.Stream.html
#[must_use = "a stream reads nothing until it is polled"]
pub struct Rows<K: TableKey, R, S: Reads = Direct> {
    pub(super) kept: KeptRows<K, S>,
    types: PhantomData<fn() -> R>,
}

/// The stored rows of a scan whose keys are kept, whatever they are read as.
pub(super) struct KeptRows<K: TableKey, S: Reads> {
    pub(super) handle: UntypedTable,
    codecs: K::Codecs,
    /// The running scan, or the error of its plan until it is returned.
    execution: Result<Box<<S::Scanned as ReadStore>::Cursor>, Option<Error>>,
    /// Which rows are dropped by their keys.
    check: Option<KeyCheck<K>>,
    /// The key of the current row, if the check has decoded it.
    key: Option<K::Stored>,
    skip_unreadable: bool,
    log: Arc<SkippedLog>,
    /// The row type that `visit` has read last.
    compared: ComparedSchema,
    /// Reads rows whose row type is data.
    pub(super) by_data: Option<Box<DynReader>>,
}

/// Drops rows by their keys.
struct KeyCheck<K: TableKey> {
    codecs: K::Codecs,
    table: Route,
    filter: Option<KeyPredicate<K>>,
    /// Counts foreign rows, if they are dropped.
    skipped: Option<Skipped>,
}

impl<K: TableKey> KeyCheck<K> {
    /// The key of a row; `None` if the row is dropped.
    ///
    /// # Errors
    /// For a foreign row that is not dropped.
    fn kept(&self, key: &[u8]) -> Result<Option<K::Stored>, DecodeError> {
        match (K::stored(&self.codecs, key), &self.skipped) {
            (Ok(key), _) => Ok(Some(key).filter(|key| self.filter.as_ref().is_none_or(|keep| keep(key)))),
            (Err(error), Some(skipped)) => {
                skipped.add_foreign(key, || Error::foreign(&self.table, error));
                Ok(None)
            }
            (Err(error), None) => Err(error),
        }
    }
}

/// Nothing in it is pinned: the scan is in a box, and keys are only moved.
impl<K: TableKey, R, S: Reads> Unpin for Rows<K, R, S> {}

impl<K: TableKey, R, S: Reads> Rows<K, R, S> {
    /// Which rows the scan has skipped so far.
    #[must_use]
    pub fn skipped(&self) -> Skipped {
        self.kept.log.skipped.clone()
    }
}

impl<K: TableKey, S: Reads> KeptRows<K, S> {
    /// Advances to the next row.
    #[inline]
    fn poll_next_row(&mut self, cx: &mut Context<'_>) -> Poll<NextRow> {
        match &mut self.execution {
            Ok(execution) if self.check.is_none() => execution.poll_next_row(cx),
            Ok(_) => self.poll_kept(cx),
            Err(error) => Poll::Ready(error.take().map(Err)),
        }
    }

    /// Advances to the next row that the check does not drop. A foreign row that it does not drop is an error in its turn.
    #[inline(never)]
    fn poll_kept(&mut self, cx: &mut Context<'_>) -> Poll<NextRow> {
        let Self { execution: Ok(execution), check: Some(check), key, .. } = self else {
            return Poll::Ready(None);
        };
        while ready!(execution.poll_next_row(cx)).transpose()?.is_some() {
            let Some(row) = execution.current() else { break };
            match check.kept(row.key()) {
                Ok(None) => {}
                Ok(kept) => {
                    *key = kept;
                    return Poll::Ready(Some(Ok(())));
                }
                Err(error) => {
                    let error = Error::foreign(&check.table, error);
                    return Poll::Ready(Some(Err(execution.fail_at_row(error))));
                }
            }
        }
        Poll::Ready(None)
    }
}

impl<K: TableKey, R: RowType<K>, S: Reads> Rows<K, R, S> {
    /// The next row; none after the last one, or after an error.
    ///
    /// # Errors
    /// Those of [`Scan::stream`].
    ///
    /// # Cancel safety
    /// A future that is dropped loses no row.
    pub async fn next(&mut self) -> Option<Result<R::Item, Error>> {
        poll_fn(|cx| self.poll_item(cx)).await
    }

    /// Counts the rows.
    pub(super) async fn count_rows(mut self) -> Result<u64, Error> {
        let mut count = 0;
        while self.next().await.transpose()?.is_some() {
            count += 1;
        }
        Ok(count)
    }

    #[inline]
    fn poll_item(&mut self, cx: &mut Context<'_>) -> Next<R::Item> {
        loop {
            if ready!(self.kept.poll_next_row(cx)).transpose()?.is_none() {
                return Poll::Ready(None);
            }
            let KeptRows {
                handle, codecs, execution: Ok(execution), key, by_data, skip_unreadable, log, ..
            } = &mut self.kept
            else {
                return Poll::Ready(None);
            };
            let Some(row) = execution.current() else { return Poll::Ready(None) };
            // The item is made where it is returned: it may be large, and each variable on its way would be a copy.
            let error = match key.take().map_or_else(|| K::stored(codecs, row.key()), Ok) {
                Ok(key) => match R::read(handle, by_data, row) {
                    Ok(columns) => {
                        execution.delivered();
                        return Poll::Ready(Some(Ok(R::item(key, columns))));
                    }
                    Err(error) => error,
                },
                Err(error) => Error::foreign(&handle.name, error),
            };
            match *skip_unreadable && error.is_unreadable_row() {
                true => log.skipped.add_unreadable(row.key(), error),
                false => return Poll::Ready(Some(Err(execution.fail_at_row(error)))),
            }
        }
    }
}

impl<K: TableKey, R, S: Reads> Rows<K, R, S> {
    /// The stored key of the last row; empty before the first.
    pub(super) fn last_key(&self) -> &[u8] {
        self.kept.execution.as_ref().map_or(&[], |execution| execution.last_key())
    }

    /// Passes the next row and the rows already buffered to `visit`, at most `max`. Returns how many: 0 at the end.
    fn poll_visit<B: RowKey, E: From<Error>>(
        &mut self,
        cx: &mut Context<'_>,
        max: u64,
        visit: &mut impl FnMut(B::Decoded<'_>, RowRef<'_>) -> Result<(), E>,
    ) -> Poll<Result<Passed, E>> {
        let skip_unreadable = self.kept.skip_unreadable;
        self.kept.poll_each(cx, max, |handle, compared, row| {
            let last_read = skip_unreadable.then(LastRead::default);
            let unmarked = handle.unmarked(row);
            let row = unmarked.as_ref().unwrap_or(row);
            let visited = match B::decode(row.key()) {
                // `visit` is called in the match, so that the key is not moved into a variable of its own.
                Ok(key) => visit(key, RowRef::new(row, handle, compared, last_read.as_ref()))
                    .map_err(VisitError::Visit),
                Err(error) => Err(VisitError::Key(Error::foreign(&handle.name, error))),
            };
            match (visited, last_read.as_ref().and_then(LastRead::take)) {
                (Err(VisitError::Visit(_)), Some(error)) => Err(VisitError::Unreadable(error)),
                (visited, _) => visited,
            }
        })
    }
}

impl<K: TableKey, S: Reads> KeptRows<K, S> {
    /// Passes the next row and the rows already buffered to `each`, at most `max`. Returns how many: 0 at the end.
    #[inline(always)]
    pub(super) fn poll_each<E: From<Error>>(
        &mut self,
        cx: &mut Context<'_>,
        max: u64,
        mut each: impl FnMut(&UntypedTable, &ComparedSchema, &RawRow) -> Result<(), VisitError<E>>,
    ) -> Poll<Result<Passed, E>> {
        let mut passed = Passed::default();
        if ready!(self.poll_next_row(cx)).transpose()?.is_none() {
            return Poll::Ready(Ok(passed));
        }
        let Self { handle, execution: Ok(execution), check, skip_unreadable, log, compared, .. } = self
        else {
            return Poll::Ready(Ok(passed));
        };
        let mut refused = None;
        // The check is of one row at a time.
        let max = if check.is_some() { 1 } else { max };
        execution.visit_buffered(max, |row| {
            passed.rows += 1;
            refused = each(handle, compared, row).err();
            match refused.take_if(|error| *skip_unreadable && matches!(error, VisitError::Unreadable(_))) {
                Some(VisitError::Unreadable(error)) => {
                    log.skipped.add_unreadable(row.key(), error);
                    passed.skipped += 1;
                    VisitResult::Skipped
                }
                _ if refused.is_none() => VisitResult::Delivered,
                _ => VisitResult::Refused,
            }
        });
        Poll::Ready(match refused {
            None => {
                execution.count(passed.rows - passed.skipped);
                Ok(passed)
            }
            Some(VisitError::Key(error) | VisitError::Unreadable(error)) => {
                Err(execution.fail_at_row(error).into())
            }
            Some(VisitError::Visit(error)) => {
                execution.end();
                Err(error)
            }
        })
    }
}

/// Rows that were passed to a visitor.
#[derive(Default)]
pub(super) struct Passed {
    pub(super) rows: u64,
    /// How many of them could not be read, and are skipped.
    pub(super) skipped: u64,
}

/// Why a row ends a visit.
pub(super) enum VisitError<E> {
    Key(Error),
    /// The row is skipped, if such rows are.
    Unreadable(Error),
    Visit(E),
}

impl<K: TableKey, R: RowType<K>, S: Reads> Stream for Rows<K, R, S> {
    type Item = Result<R::Item, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll_item(cx)
    }
}

impl<K: TableKey, R, S: Reads> fmt::Debug for Rows<K, R, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rows").field("table", &self.kept.handle).finish_non_exhaustive()
    }
}

/// A borrowed row, in the closure of [`Scan::visit`], of a [copy](crate::table::copy) or of a [diff](crate::table::diff).
///
/// It borrows from the server's message and lives as long as the closure's call.
#[derive(Clone, Copy)]
pub struct RowRef<'a> {
    row: &'a RawRow,
    table: &'a str,
    visible: &'a VisibleCells,
    compared: &'a ComparedSchema,
    /// Notes that the row could not be read, if such rows are skipped.
    last_read: Option<&'a LastRead>,
}

impl<'a> RowRef<'a> {
    pub(super) fn new(
        row: &'a RawRow,
        table: &'a UntypedTable,
        compared: &'a ComparedSchema,
        last_read: Option<&'a LastRead>,
    ) -> Self {
        let UntypedTable { name, visible, .. } = table;
        Self { row, table: name, visible, compared, last_read }
    }

    /// Decodes the row as any type that reads the table's columns. Its text and bytes may be borrowed.
    ///
    /// The table's row type decides how many versions of a column are read: [`Versions`](crate::row::Versions) that only `S` has
    /// hold the newest version. [`Table::rows_as`] gives the table another row type.
    ///
    /// A column that both types have must be stored in a way that `S` reads, an integer of fewer bits or the name of a variant as
    /// text, and have the same former names. A `ttl` of `S` must be that of the table's row type. Where a scan reads a part of the columns, by [`Table::select`] or [`Table::rows_as`], `S` has some of these. Otherwise the
    /// call fails, before it decodes the first row. An optional column that was [renamed without an `alias`](Table#renamed-columns) is absent.
    ///
    /// # Errors
    /// If the stored columns cannot be read as `S`; [`Scan::visit`] says what happens to such a row. If the scan reads
    /// [keys alone](Scan::keys_only).
    #[inline]
    pub fn read<S: Row>(self) -> Result<S::Decoded<'a>, Error> {
        if !self.compared.is_same(S::SCHEMA) {
            self.compared
                .compare(self.visible, S::SCHEMA)
                .map_err(|text| Error::definition(self.table, text))?;
        }
        let row = S::decode(RowCells::new(self.row, self.visible.family()))
            .map_err(|error| self.unreadable(error))?;
        if let Some(last_read) = self.last_read {
            last_read.note(None);
        }
        Ok(row)
    }

    #[cold]
    fn unreadable(self, error: RowError) -> Error {
        let error = Error::row(self.table, self.row.key(), error.of_row(self.row));
        if let Some(last_read) = self.last_read {
            last_read.note(Some(&error));
        }
        error
    }

    /// The row key, as stored.
    #[must_use]
    pub fn key(self) -> &'a [u8] {
        self.row.key()
    }

    /// The cells that were read, in the table's order.
    #[must_use]
    pub fn cells(self) -> RawCells<'a> {
        self.row.cells()
    }

    /// The newest cell of one column that was read.
    #[must_use]
    pub fn newest(self, family: &str, qualifier: impl AsRef<[u8]>) -> Option<RawCell<'a>> {
        self.row.newest(family, qualifier)
    }

    /// The row as an owned value. It shares the memory of the server's message.
    #[must_use]
    pub fn to_row(self) -> RawRow {
        self.row.clone()
    }
}

/// The row type that rows of a scan were last read as, and that fits the table's row type.
#[derive(Debug, Default)]
pub(super) struct ComparedSchema(AtomicPtr<RowSchema>);

impl ComparedSchema {
    #[inline]
    fn is_same(&self, schema: &'static RowSchema) -> bool {
        std::ptr::eq(self.0.load(Ordering::Relaxed), schema)
    }

    /// Fails if the other type does not fit that of the table, or if rows are read without a column of it, or with cells that it hides.
    #[cold]
    fn compare(&self, visible: &VisibleCells, other: &'static RowSchema) -> Result<(), String> {
        visible.misfit_of(other).map_or(Ok(()), Err)?;
        if let Some(unasked) = visible.column_not_read(other) {
            return Err(format!(
                "`{}` has {unasked}, which this scan does not read; select it too, or read a type without it",
                other.name()
            ));
        }
        if let Some(family) = visible.unheeded_ttl(other) {
            return Err(format!(
                "`{}` has a `ttl` in the family `{family}`, which this scan does not heed; scan the table's `rows_as` of this type",
                other.name()
            ));
        }
        self.0.store(std::ptr::from_ref(other).cast_mut(), Ordering::Relaxed);
        Ok(())
    }
}

impl fmt::Debug for RowRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.row.fmt(f)
    }
}
