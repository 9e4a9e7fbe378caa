//! Scans of a pair of tables.
//!
//! Where both key types have the same fields in the same order, the rows of both tables are merged by their fields, and the scan
//! resumes after its last row when the state changes. Otherwise the base table, which nobody writes, is read first, with the rows
//! of the front table beside it; then the rows of the front table alone.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::fmt;
use std::future::{Future as _, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use futures_core::Stream;
use futures_util::future::try_join;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::control::{Reads, Side, View, Writes};
use super::keys::{PairKey, decode};
use super::pair::{Mark, TablePair};
use crate::client::{Client, Error, RekeyingEnd};
use crate::key::{Field, Schema, ShownKey};
use crate::plan::{KeyRange, Plan, PlanError};
use crate::row::{Condition, RawRow, RowFilter};
use crate::table::scan::ReadRow;
use crate::table::{OnForeign, OnUnreadable, Rows, Scan, Skipped};

/// How many rows of one table are looked up in the other at a time.
const LOOKED_UP: usize = 256;

/// A scan in no order remembers the rows that garbage collection may remove within this time, so that they come once.
const EXPIRING: Duration = Duration::from_secs(3600);

/// How many rows wait for the caller.
const BUFFERED: usize = 256;

/// A scan of a table that is re-keyed, from [`Rekeyed::scan`](super::Rekeyed::scan).
///
/// ```
/// # use keyderive::rekey::Rekeyed;
/// # use keyderive::{Row, RowKey};
/// # #[derive(RowKey, Clone)] #[salt(range = 4, over = "user")] struct Old { user: String, at: u64 }
/// # #[derive(RowKey, Clone)] #[salt(range = 16, over = "user")] struct New { user: String, at: u64 }
/// # impl From<Old> for New { fn from(Old { user, at }: Old) -> Self { Self { user, at } } }
/// # impl From<&New> for Old { fn from(new: &New) -> Self { Self { user: new.user.clone(), at: new.at } } }
/// # #[derive(Row)] struct Event { kind: String }
/// # async fn sample(events: Rekeyed<Old, New, Event>) -> Result<(), keyderive::Error> {
/// let scan = events.scan(New::scan().user("alice"), Old::scan().user("alice"));
/// let newest = scan.reversed().limit(5).collect().await?;
/// # Ok(())
/// # }
/// ```
#[must_use = "a scan reads nothing until it runs"]
pub struct RekeyedScan<Old, New: PairKey, R> {
    scan: Scan<New, R>,
    old: Result<Plan<Old>, PlanError>,
    new: Result<Plan<New>, PlanError>,
    pair: Arc<TablePair>,
    reversed: bool,
    unordered: bool,
    limit: Option<u64>,
    skip_foreign: bool,
    skip_unreadable: bool,
}

impl<Old, New, R> RekeyedScan<Old, New, R>
where
    Old: PairKey + for<'a> From<&'a New>,
    New: PairKey,
{
    pub(super) fn new(
        pair: Arc<TablePair>,
        scan: Scan<New, R>,
        new: Result<Plan<New>, PlanError>,
        old: Result<Plan<Old>, PlanError>,
    ) -> Self {
        let skip_unreadable = scan.skips_unreadable();
        Self {
            scan,
            old,
            new,
            pair,
            reversed: false,
            unordered: false,
            limit: None,
            skip_foreign: false,
            skip_unreadable,
        }
    }

    /// Reads at most this many rows.
    pub fn limit(self, rows: u64) -> Self {
        Self { limit: Some(rows), ..self }
    }

    /// Reverses the order.
    pub fn reversed(self) -> Self {
        Self { reversed: !self.reversed, ..self }
    }

    /// Reads the rows in no order.
    ///
    /// The scan must be unordered if the key types have other fields, or the same ones in another order. Such a scan waits in the
    /// states in which writes wait, and fails with [`is_retryable`](Error::is_retryable) when the state changes.
    pub fn unordered(self) -> Self {
        Self { unordered: true, ..self }
    }

    /// Adds a filter that the server applies to each row, after earlier ones. It sees no marks.
    ///
    /// A filter with [`row_key_regex`](RowFilter::row_key_regex) is an error when the scan runs, with
    /// [`is_invalid_argument`](Error::is_invalid_argument): use the plans.
    pub fn filter(self, filter: RowFilter) -> Self {
        Self { scan: self.scan.filter(filter), ..self }
    }

    /// Returns only the rows that meet a condition, whole, as [`Scan::matching`] does.
    pub fn matching(self, condition: Condition<R>) -> Self {
        Self { scan: self.scan.matching(condition), ..self }
    }

    /// Reads up to this many versions of each column, as [`Scan::latest`] does.
    pub fn latest(self, versions: u32) -> Self {
        Self { scan: self.scan.latest(versions), ..self }
    }

    /// What to do with rows whose keys are not of their table's key type. The default is [`OnForeign::Fail`].
    pub fn on_foreign(self, policy: OnForeign) -> Self {
        Self { skip_foreign: policy == OnForeign::Skip, ..self }
    }

    /// What to do with rows that cannot be read as the row type, as [`Scan::on_unreadable`].
    pub fn on_unreadable(self, policy: OnUnreadable) -> Self {
        let skip_unreadable = policy == OnUnreadable::Skip;
        Self { scan: self.scan.on_unreadable(policy), skip_unreadable, ..self }
    }

    /// Which rows the scan has skipped, while it runs and after it.
    #[must_use]
    pub fn skipped(&self) -> Skipped {
        self.scan.skipped()
    }

    /// Runs the scan. Each row comes once, with its key in the new table.
    ///
    /// Each row is one that the table had at some time between the call and its delivery. A filter, a condition and a `ttl` see the row
    /// that counts, whatever the other table has. The stream ends with the first error.
    ///
    /// While rows are copied, an [`unordered`](Self::unordered) scan reads the table that nobody writes twice, and keeps the keys of
    /// its rows in memory that garbage collection may remove within an hour. If it runs for longer, a row that is removed from
    /// that table meanwhile can come twice.
    ///
    /// # Errors
    /// Those of [`Scan::stream`]; that the scan must be [`unordered`](Self::unordered); for an unordered scan, that the state has
    /// changed, which [`is_retryable`](Error::is_retryable).
    ///
    /// # Cancel safety
    /// Dropping the stream cancels its requests.
    #[must_use = "a stream reads nothing until it is polled"]
    pub fn stream(self) -> RekeyedRows<R::Item>
    where
        R: ReadRow<New> + 'static,
        R::Item: Send + 'static,
    {
        let (rows, receiver) = mpsc::channel(BUFFERED);
        RekeyedRows { begin: Some(Box::new(move || tokio::spawn(self.run(rows)))), receiver, task: None }
    }

    /// Runs the scan and collects its rows.
    ///
    /// # Errors
    /// The first one of [`stream`](Self::stream); the rows before it are dropped.
    ///
    /// # Cancel safety
    /// A dropped future cancels the read.
    pub async fn collect(self) -> Result<Vec<R::Item>, Error>
    where
        R: ReadRow<New> + 'static,
        R::Item: Send + 'static,
    {
        let (mut stream, mut rows) = (self.stream(), Vec::new());
        while let Some(row) = stream.next().await {
            rows.push(row?);
        }
        Ok(rows)
    }

    /// Runs the scan and counts its rows.
    ///
    /// # Errors
    /// The first one of [`stream`](Self::stream).
    ///
    /// # Cancel safety
    /// A dropped future cancels the read.
    pub async fn count(self) -> Result<u64, Error> {
        let mut stream = self.keys_only().stream();
        let mut count = 0;
        while stream.next().await.transpose()?.is_some() {
            count += 1;
        }
        Ok(count)
    }

    /// Reads only the keys of the rows.
    pub fn keys_only(self) -> RekeyedScan<Old, New, crate::table::KeyOnly> {
        let Self { scan, old, new, pair, reversed, unordered, limit, skip_foreign, skip_unreadable } = self;
        let scan = scan.keys_only();
        RekeyedScan { scan, old, new, pair, reversed, unordered, limit, skip_foreign, skip_unreadable }
    }
}

/// The task of a scan.
impl<Old, New, R> RekeyedScan<Old, New, R>
where
    Old: PairKey + for<'a> From<&'a New>,
    New: PairKey,
    R: ReadRow<New> + 'static,
    R::Item: Send + 'static,
{
    async fn run(self, rows: mpsc::Sender<Result<R::Item, Error>>) {
        let mut delivery =
            Delivery { rows, left: self.limit.unwrap_or(u64::MAX), last: None, selected: Default::default() };
        if let Err(End::Failed(error)) = self.deliver(&mut delivery).await {
            // Nobody may be waiting any more.
            let _ = delivery.rows.send(Err(error)).await;
        }
    }

    async fn deliver(&self, delivery: &mut Delivery<R::Item>) -> Result<(), End> {
        let pair = &*self.pair;
        let name = pair.route(Side::New);
        let plans = (self.old.clone(), self.new.clone());
        let old = plans.0.map_err(|error| Error::plan(pair.route(Side::Old), error))?;
        let new = plans.1.map_err(|error| Error::plan(name, error))?;
        self.scan.read_filter().check_keyless().map_err(|error| Error::filter(name, error))?;
        let merges = !self.unordered;
        let difference = match pair.keys().reads_rows() {
            true => Some("the new keys are made of rows".to_owned()),
            false => order_difference(Old::SCHEMA, New::SCHEMA),
        };
        if merges && let Some(difference) = difference {
            return Err(Error::definition(
                name,
                format!(
                    "a scan in order needs keys of the same fields in the same order in both tables, and {difference}; add \
                     `.unordered()` to the scan"
                ),
            )
            .into());
        }
        let client = self.scan.client();
        delivery.selected = [SelectedKeys::of(&old), SelectedKeys::of(&new)];
        while delivery.left > 0 {
            let deadline = Instant::now() + self.patience(client);
            let deadline = client.deadline().map_or(deadline, |at| at.min(deadline));
            let view = pair.lease().acquire(deadline, self.unordered).await?;
            let (old, new) = (self.rest(&old, delivery, pair)?, self.rest_of_new(&new, delivery)?);
            let ended = match view.state.reads() {
                Reads::One(Side::Old) => self.one::<Old>(pair, &view, Side::Old, old, delivery).await,
                Reads::One(Side::New) => self.one::<New>(pair, &view, Side::New, new, delivery).await,
                Reads::Both if merges => self.merge(pair, &view, old, new, delivery).await,
                Reads::Both => match view.state.writes() {
                    Writes::CopyFirst { front: Side::New } => {
                        self.both::<Old, New>(pair, &view, Side::Old, old, new, delivery).await
                    }
                    _ => self.both::<New, Old>(pair, &view, Side::New, new, old, delivery).await,
                },
            };
            match ended {
                // Rows in no order have no last row to resume after.
                Err(End::Changed) if !merges => return Err(changed(pair).into()),
                Err(End::Changed) => {}
                ended => return ended,
            }
        }
        Ok(())
    }

    /// How long to wait for a state to read by.
    fn patience(&self, client: &Client) -> Duration {
        client.settings().read_rows.total_timeout
    }

    /// The plan after the last row that was delivered.
    fn rest(
        &self,
        plan: &Plan<Old>,
        delivery: &Delivery<R::Item>,
        pair: &TablePair,
    ) -> Result<Plan<Old>, Error> {
        let Some(last) = &delivery.last else { return Ok(plan.clone()) };
        let last = pair.keys().old_of(last)?;
        resumed(plan, &last, self.reversed, pair.route(Side::Old))
    }

    fn rest_of_new(&self, plan: &Plan<New>, delivery: &Delivery<R::Item>) -> Result<Plan<New>, Error> {
        let Some(last) = &delivery.last else { return Ok(plan.clone()) };
        resumed(plan, last, self.reversed, self.scan.table().name())
    }

    /// The stored rows of one table.
    fn rows_of<K: PairKey>(
        &self,
        pair: &TablePair,
        side: Side,
        plan: Plan<K>,
        filter: RowFilter,
    ) -> Rows<K, RawRow> {
        let table = self.scan.client().table::<K, ()>(pair.route(side)).unchecked();
        let scan = table.scan(plan).filter(filter).raw();
        let scan = if self.reversed { scan.reversed() } else { scan };
        let scan = if self.unordered { scan.unordered() } else { scan };
        let foreign = if self.skip_foreign { OnForeign::Skip } else { OnForeign::Fail };
        scan.on_foreign(foreign).shares_skipped(&self.scan).stream()
    }

    /// Delivers a row; it counts only if the state still holds.
    async fn deliver_row(
        &self,
        pair: &TablePair,
        view: &View,
        key: &[u8],
        row: &RawRow,
        delivery: &mut Delivery<R::Item>,
    ) -> Result<(), End> {
        let Some(row) = pair.logical(row, key)? else { return Ok(()) };
        delivery.check(pair, key)?;
        let item = R::read(&self.scan.table().handle, decode::<New>(self.scan.table().name(), key)?, &row);
        if !pair.lease().is_newest(view) {
            return Err(End::Changed);
        }
        let item = match item {
            Err(error) if self.skip_unreadable && error.is_unreadable_row() => {
                self.scan.skipped().add_unreadable(key, error);
                return Ok(());
            }
            item => item?,
        };
        if delivery.left == 0 || delivery.rows.send(Ok(item)).await.is_err() {
            return Err(End::Enough);
        }
        delivery.left -= 1;
        if !self.unordered {
            delivery.last = Some(Bytes::copy_from_slice(key));
        }
        if delivery.left == 0 { Err(End::Enough) } else { Ok(()) }
    }

    /// Scans one table.
    async fn one<K: PairKey>(
        &self,
        pair: &TablePair,
        view: &View,
        side: Side,
        plan: Plan<K>,
        delivery: &mut Delivery<R::Item>,
    ) -> Result<(), End> {
        let filter = pair.without_marks(Some(self.scan.read_filter()));
        let mut stream = self.rows_of(pair, side, plan, filter.clone());
        let looked_up = if side == Side::Old && pair.keys().reads_rows() { LOOKED_UP } else { 1 };
        loop {
            let rows = next_rows(pair, view, &mut stream, looked_up).await?;
            if rows.is_empty() {
                return still(pair, view);
            }
            for (key, row) in self.with_keys(pair, side, rows, &filter).await? {
                self.deliver_row(pair, view, &key, &row, delivery).await?;
            }
        }
    }

    /// Rows that were read with this filter, with their keys in the new table. If a key needs its whole row of the old table, both are
    /// read again.
    async fn with_keys(
        &self,
        pair: &TablePair,
        side: Side,
        rows: Vec<RawRow>,
        filter: &RowFilter,
    ) -> Result<Vec<(Bytes, RawRow)>, Error> {
        let stored = |row: &RawRow| Bytes::copy_from_slice(row.key());
        match side {
            Side::New => rows.into_iter().map(|row| Ok((stored(&row), row))).collect(),
            Side::Old if pair.keys().reads_rows() => {
                let keys = rows.iter().map(stored).collect();
                let rows = pair.old_rows(self.scan.client(), keys, Some(filter.clone())).await?;
                // What was deleted meanwhile, or does not pass the filter any more, is not given.
                Ok(rows.into_iter().flatten().collect())
            }
            Side::Old => {
                rows.into_iter().map(|row| Ok((pair.keys().new_of(row.key(), &row)?, row))).collect()
            }
        }
    }

    /// Merges both tables by the fields of their keys.
    async fn merge(
        &self,
        pair: &TablePair,
        view: &View,
        old: Plan<Old>,
        new: Plan<New>,
        delivery: &mut Delivery<R::Item>,
    ) -> Result<(), End> {
        let filter = pair.with_marks(Some(self.scan.read_filter()));
        let mut old_rows = self.rows_of(pair, Side::Old, old, filter.clone());
        let mut new_rows = self.rows_of(pair, Side::New, new, filter.clone());
        let (mut old_row, mut new_row) = (None, None);
        let mut last: Option<Bytes> = None;
        loop {
            if old_row.is_none() {
                let read = next_rows(pair, view, &mut old_rows, 1).await?;
                old_row = self.with_keys(pair, Side::Old, read, &filter).await?.pop();
                if let (Some((key, _)), Some(last)) = (&old_row, &last)
                    && self.order(last, key) != Ordering::Less
                {
                    return Err(out_of_order(pair, key, last).into());
                }
                last = old_row.as_ref().map(|(key, _)| key.clone());
            }
            if new_row.is_none() {
                let read = next_rows(pair, view, &mut new_rows, 1).await?;
                new_row = self.with_keys(pair, Side::New, read, &filter).await?.pop();
            }
            let (key, old, new) = match (old_row.take(), new_row.take()) {
                (None, None) => return still(pair, view),
                (Some((key, old)), None) => (key, Some(old), None),
                (None, Some((key, new))) => (key, None, Some(new)),
                (Some((old_key, old)), Some((key, new))) => match self.order(&old_key, &key) {
                    Ordering::Less => {
                        new_row = Some((key, new));
                        (old_key, Some(old), None)
                    }
                    Ordering::Greater => {
                        old_row = Some((old_key, old));
                        (key, None, Some(new))
                    }
                    Ordering::Equal => (key, Some(old), Some(new)),
                },
            };
            if let Some(row) = TablePair::counting(old, new) {
                self.deliver_row(pair, view, &key, &row, delivery).await?;
            }
        }
    }

    /// The order of two keys of the new table in this scan.
    fn order(&self, one: &[u8], other: &[u8]) -> Ordering {
        let order = New::SCHEMA.split_at_salt(one).cmp(&New::SCHEMA.split_at_salt(other));
        if self.reversed { order.reverse() } else { order }
    }

    /// Scans both tables in no order: the rows of `base`, which nobody writes, with those of the other table beside them; then
    /// the rows of the other table that are not in `base`.
    ///
    /// Whether a row is in `base` must not depend on the filter: the other table may have cells that it lets through.
    async fn both<B: PairKey, F: PairKey>(
        &self,
        pair: &TablePair,
        view: &View,
        base: Side,
        base_plan: Plan<B>,
        front_plan: Plan<F>,
        delivery: &mut Delivery<R::Item>,
    ) -> Result<(), End> {
        let (front, client) = (base.other(), self.scan.client());
        let filter = pair.with_marks(Some(self.scan.read_filter()));
        // The rows that may be gone from `base` when the other table is read.
        let mut expiring = HashSet::new();
        let mut stream = self.rows_of(pair, base, base_plan, pair.marks_and_newest());
        loop {
            let mut rows = next_rows(pair, view, &mut stream, LOOKED_UP).await?;
            if rows.is_empty() {
                break;
            }
            // What has no mark is not in the new table, to a re-keying that is rolled back.
            rows.retain(|row| base == Side::Old || Mark::of(Some(row)).is_some());
            let keys = rows.iter().map(|row| match base {
                Side::Old => pair.keys().new_of(row.key(), row),
                Side::New => Ok(Bytes::copy_from_slice(row.key())),
            });
            let keys: Vec<Bytes> = keys.collect::<Result<_, _>>()?;
            if base == Side::Old {
                let soon = rows
                    .iter()
                    .zip(&keys)
                    .filter(|(row, _)| pair.expires_within(row, client.now_micros(), EXPIRING));
                expiring.extend(soon.map(|(_, key)| key.clone()));
            }
            let olds = keys.iter().map(|key| pair.keys().old_of(key)).collect::<Result<_, _>>()?;
            let (olds, news) = try_join(
                pair.rows_by_key(client, Side::Old, olds, Some(filter.clone())),
                pair.rows_by_key(client, Side::New, keys.clone(), Some(filter.clone())),
            )
            .await?;
            for ((key, old), new) in keys.iter().zip(olds).zip(news) {
                if let Some(row) = TablePair::counting(old, new) {
                    self.deliver_row(pair, view, key, &row, delivery).await?;
                }
            }
        }
        let mut stream = self.rows_of(pair, front, front_plan, filter.clone());
        loop {
            let rows = next_rows(pair, view, &mut stream, LOOKED_UP).await?;
            if rows.is_empty() {
                return still(pair, view);
            }
            let rows = self.with_keys(pair, front, rows, &filter).await?;
            let keys: Vec<Bytes> = rows.iter().map(|(key, _)| key.clone()).collect();
            let are_in_base: Vec<bool> = match base {
                Side::Old => pair.are_in_old(client, keys).await?,
                Side::New => {
                    let marks = Some(pair.marks_and_existence());
                    let rows = pair.rows_by_key(client, base, keys, marks).await?;
                    rows.iter().map(|row| Mark::of(row.as_ref()).is_some()).collect()
                }
            };
            for ((key, row), is_in_base) in rows.into_iter().zip(are_in_base) {
                if is_in_base || expiring.contains(&key) {
                    continue;
                }
                let counting = match front {
                    Side::Old => TablePair::counting(Some(row), None),
                    Side::New => TablePair::counting(None, Some(row)),
                };
                if let Some(row) = counting {
                    self.deliver_row(pair, view, &key, &row, delivery).await?;
                }
            }
        }
    }
}

/// The next rows of a stream, at most `most`, while the state lasts; none at its end.
async fn next_rows<K: PairKey>(
    pair: &TablePair,
    view: &View,
    rows: &mut Rows<K, RawRow>,
    most: usize,
) -> Result<Vec<RawRow>, End> {
    let mut read = Vec::new();
    while read.len() < most {
        match next(pair, view, rows).await? {
            Some((_, row)) => read.push(row),
            None => break,
        }
    }
    Ok(read)
}

/// The next row of a stream, while the state lasts.
async fn next<K: PairKey>(
    pair: &TablePair,
    view: &View,
    rows: &mut Rows<K, RawRow>,
) -> Result<Option<(K, RawRow)>, End> {
    tokio::select! {
        biased;
        () = pair.lease().superseded(view) => Err(End::Changed),
        row = rows.next() => match row.transpose() {
            Ok(row) => Ok(row),
            Err(_) if !pair.lease().is_newest(view) => Err(End::Changed),
            Err(error) => Err(error.into()),
        },
    }
}

/// Fails if the state has changed: what was not there may have been in the next.
fn still(pair: &TablePair, view: &View) -> Result<(), End> {
    if pair.lease().is_newest(view) { Ok(()) } else { Err(End::Changed) }
}

fn resumed<K>(plan: &Plan<K>, last: &[u8], reversed: bool, table: &str) -> Result<Plan<K>, Error> {
    let token = plan.page_token(last, reversed);
    plan.after(&token, reversed).map_err(|error| Error::plan(table, error))
}

fn changed(pair: &TablePair) -> Error {
    pair.lease().error(None, RekeyingEnd::Changed)
}

fn out_of_order(pair: &TablePair, key: &[u8], last: &[u8]) -> Error {
    Error::definition(
        pair.route(Side::Old),
        format!(
            "its rows are not in the order of the new keys: {} comes after {}; add `.unordered()` to the scan",
            ShownKey(key),
            ShownKey(last),
        ),
    )
}

/// Why keys of these types do not sort the same, in words.
fn order_difference(old: &Schema, new: &Schema) -> Option<String> {
    if old.layout() != new.layout() || old.delimiter() != new.delimiter() {
        return Some("the key types have different layouts or delimiters".to_owned());
    }
    let (one, other) = (old.fields(), new.fields());
    if one.len() != other.len() {
        return Some(format!("the old key has {} fields and the new one {}", one.len(), other.len()));
    }
    let differs = |(old, new): &(&Field, &Field)| {
        old.name() != new.name() || old.order() != new.order() || old.format() != new.format()
    };
    let (old, new) = one.iter().zip(other).find(differs)?;
    Some(match old.name() == new.name() {
        false => format!("the field `{}` is in the place of `{}`", new.name(), old.name()),
        true => format!("the field `{}` is stored in another way", new.name()),
    })
}

/// What a scan has delivered.
struct Delivery<T> {
    rows: mpsc::Sender<Result<T, Error>>,
    left: u64,
    /// The key in the new table of the last row, if rows come in order.
    last: Option<Bytes>,
    /// What each plan selects.
    selected: [SelectedKeys; 2],
}

impl<T> Delivery<T> {
    /// Fails for a row that one plan selects and the other does not: in other states the scan would give other rows.
    fn check(&self, pair: &TablePair, key: &[u8]) -> Result<(), Error> {
        let [old, new] = &self.selected;
        let old_key = pair.keys().old_of(key)?;
        let (selects, leaves_out) = match (old.contains(&old_key), new.contains(key)) {
            (true, true) => return Ok(()),
            (is_old, _) if is_old => ("old", "new"),
            _ => ("new", "old"),
        };
        Err(Error::definition(
            pair.route(Side::New),
            format!(
                "both plans of a scan must select the same rows, and only the one of the {selects} keys selects the row {}; the \
                 one of the {leaves_out} keys leaves it out",
                ShownKey(key)
            ),
        ))
    }
}

/// The keys that a plan selects.
#[derive(Default)]
struct SelectedKeys {
    keys: HashSet<Vec<u8>>,
    /// In their order, without overlaps.
    ranges: Vec<KeyRange>,
}

impl SelectedKeys {
    fn of<K>(plan: &Plan<K>) -> Self {
        let mut selected = Self::default();
        for request in plan.requests() {
            let (keys, ranges) = request.into_rows();
            selected.keys.extend(keys);
            selected.ranges.extend(ranges);
        }
        selected.ranges.sort_unstable_by(|one, other| one.start().cmp(other.start()));
        selected
    }

    fn contains(&self, key: &[u8]) -> bool {
        let after = self.ranges.partition_point(|range| range.start() <= key);
        let range = after.checked_sub(1).and_then(|last| self.ranges.get(last));
        self.keys.contains(key) || range.is_some_and(|range| range.contains(key))
    }
}

/// Why a part of a scan ends before its last row.
enum End {
    /// The state has changed.
    Changed,
    /// The caller has all that it wants.
    Enough,
    Failed(Error),
}

impl From<Error> for End {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// The rows of a [`RekeyedScan`]: a [`Stream`], and [`next`](Self::next) for callers without that trait.
///
/// # Cancel safety
/// Dropping the stream cancels its requests.
#[must_use = "a stream reads nothing until it is polled"]
pub struct RekeyedRows<T> {
    begin: Option<Box<dyn FnOnce() -> JoinHandle<()> + Send>>,
    receiver: mpsc::Receiver<Result<T, Error>>,
    task: Option<JoinHandle<()>>,
}

impl<T> RekeyedRows<T> {
    /// The next row; none after the last one, or after an error.
    ///
    /// # Errors
    /// Those of [`RekeyedScan::stream`].
    ///
    /// # Cancel safety
    /// A future that is dropped loses no row.
    pub async fn next(&mut self) -> Option<Result<T, Error>> {
        poll_fn(|cx| self.poll_item(cx)).await
    }

    fn poll_item(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<T, Error>>> {
        if let Some(begin) = self.begin.take() {
            self.task = Some(begin());
        }
        let item = ready!(self.receiver.poll_recv(cx));
        if matches!(item, None | Some(Err(_))) {
            self.receiver.close();
        }
        if item.is_none()
            && let Some(task) = &mut self.task
        {
            let ended = ready!(Pin::new(task).poll(cx));
            self.task = None;
            if let Err(failed) = ended
                && let Ok(panic) = failed.try_into_panic()
            {
                std::panic::resume_unwind(panic);
            }
        }
        Poll::Ready(item)
    }
}

impl<T> Unpin for RekeyedRows<T> {}

impl<T> Stream for RekeyedRows<T> {
    type Item = Result<T, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll_item(cx)
    }
}

impl<T> Drop for RekeyedRows<T> {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}

impl<T> fmt::Debug for RekeyedRows<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RekeyedRows").finish_non_exhaustive()
    }
}

impl<Old, New: PairKey, R> fmt::Debug for RekeyedScan<Old, New, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { scan, reversed, unordered, limit, .. } = self;
        f.debug_struct("RekeyedScan")
            .field("scan", scan)
            .field("reversed", reversed)
            .field("unordered", unordered)
            .field("limit", limit)
            .finish_non_exhaustive()
    }
}
