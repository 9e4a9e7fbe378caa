//! Scans of a pair of tables.
//!
//! Where both key types have the same fields in the same order, and each field sorts its values alike in both, the rows of both tables are
//! merged by their fields, and the scan resumes after its last row when the state changes. Otherwise the base table, which nobody writes,
//! is read first, with the rows of the front table beside it; then the rows of the front table alone.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::future::{Future as _, poll_fn};
use std::panic::resume_unwind;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::try_join;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::control::View;
use super::pair::TablePair;
use super::state::{Reads, Side, Writes};
use crate::client::{Error, RekeyingEnd, Route};
use crate::dynamic::KeyLayout;
use crate::key::{Field, KeySchema, KeyType, ShownKey};
use crate::plan::{KeyRange, Plan, PlanError};
use crate::row::{RawRow, RowFilter};
use crate::table::execution::{ScanCursor, ScanExecution, ScanOptions, ScanRequest, TableCheck};
use crate::table::skipped::Skipped;
use crate::table::transfer::Origin;

/// How many rows of one table are looked up in the other at a time.
const LOOKED_UP: usize = 256;

/// A scan in no order remembers the rows that garbage collection may remove within this time, so that they come once.
const EXPIRING: Duration = Duration::from_secs(3600);

/// How many rows wait for the caller, at most.
const BUFFERED: usize = 256;

/// A scan of a pair of tables.
struct PairScan {
    pair: Arc<TablePair>,
    old: Result<Plan<()>, PlanError>,
    new: Plan<()>,
    scan: ScanRequest,
}

impl PairScan {
    /// Delivers the rows, after `check` if there is one.
    async fn run(self, rows: mpsc::Sender<Result<RawRow, Error>>, check: Option<TableCheck>) {
        let schemas = self.pair.key_types().map(KeyType::schema);
        let [old, new] = schemas.map(|schema| (schema.fields(), schema.layout(), schema.delimiter()));
        let layouts = (old != new).then(|| schemas.map(KeyLayout::of_checked));
        let mut delivery = Delivery { rows, last: None, selected: Default::default(), layouts };
        let checked = match check {
            Some(check) => check.await,
            None => Ok(()),
        };
        let ended = match checked {
            Ok(()) => self.deliver(&mut delivery).await,
            Err(error) => Err(error.into()),
        };
        if let Err(ScanEnd::Failed(error)) = ended {
            // Nobody may be waiting any more.
            let _ = delivery.rows.send(Err(error)).await;
        }
    }

    async fn deliver(&self, delivery: &mut Delivery) -> Result<(), ScanEnd> {
        let Self { pair, new, scan, .. } = self;
        let ScanRequest { client, table, filter, options: ScanOptions { reversed, unordered, .. }, .. } =
            scan;
        let old = self.old.as_ref().map_err(|error| Error::plan(pair.route(Side::Old), error.clone()))?;
        filter.check_keyless().map_err(|error| Error::filter(table, error))?;
        let difference = match pair.keys().reads_rows() {
            true => Some("the new keys are made of rows".to_owned()),
            false => order_difference(pair.key_types().map(KeyType::schema)),
        };
        if !unordered && let Some(difference) = difference {
            return Err(Error::definition(
                table,
                format!(
                    "a scan in order needs keys of the same fields in the same order in both tables, and {difference}; add \
                     `.unordered()` to the scan"
                ),
            )
            .into());
        }
        delivery.selected = [SelectedKeys::of(old), SelectedKeys::of(new)];
        loop {
            let deadline = Instant::now() + client.settings().read_rows.total_timeout;
            let deadline = client.deadline().map_or(deadline, |at| at.min(deadline));
            let view = pair.lease().acquire(deadline, *unordered).await?;
            let (old, new) = match &delivery.last {
                None => (old.clone(), new.clone()),
                Some(last) => {
                    let old_last = pair.keys().old_of(last)?;
                    (old.after_row(&old_last, *reversed), new.after_row(last, *reversed))
                }
            };
            let ended = match view.state.reads() {
                Reads::One(Side::Old) => self.one(&view, Side::Old, old, delivery).await,
                Reads::One(Side::New) => self.one(&view, Side::New, new, delivery).await,
                Reads::Both if !unordered => self.merge(&view, old, new, delivery).await,
                Reads::Both => match view.state.writes() {
                    Writes::CopyFirst { front: Side::New } => {
                        self.both(&view, Side::Old, old, new, delivery).await
                    }
                    _ => self.both(&view, Side::New, new, old, delivery).await,
                },
            };
            match ended {
                // Rows in no order have no last row to resume after.
                Err(ScanEnd::Changed) if *unordered => {
                    return Err(pair.lease().error(None, RekeyingEnd::Changed).into());
                }
                Err(ScanEnd::Changed) => {}
                ended => return ended,
            }
        }
    }

    fn filter(&self) -> RowFilter {
        self.scan.filter.clone()
    }

    /// The stored rows of one table.
    fn rows_of(&self, side: Side, plan: Plan<()>, filter: RowFilter) -> SideRows {
        let (table, key) = (self.pair.route(side).clone(), self.pair.key_type(side));
        let options = ScanOptions { limit: None, stats: None, ..self.scan.options.clone() };
        let skipped = options.skip_foreign.then(|| options.log.skipped.clone());
        let scan = ScanRequest { table: table.clone(), key, filter, options, ..self.scan.clone() };
        SideRows { scan: ScanExecution::new(plan, scan, |_| None), key, table, skipped }
    }

    /// Delivers a row; it counts only if the state still holds.
    async fn deliver_row(
        &self,
        view: &View,
        key: &[u8],
        row: &RawRow,
        delivery: &mut Delivery,
    ) -> Result<(), ScanEnd> {
        let pair = &self.pair;
        let Some(row) = pair.logical(row, key)? else { return Ok(()) };
        delivery.check(pair, key, !self.scan.options.unordered)?;
        if !pair.lease().is_newest(view) {
            return Err(ScanEnd::Changed);
        }
        if delivery.rows.send(Ok(row)).await.is_err() {
            return Err(ScanEnd::Enough);
        }
        if !self.scan.options.unordered {
            delivery.last = Some(Bytes::copy_from_slice(key));
        }
        Ok(())
    }

    /// Scans one table.
    async fn one(
        &self,
        view: &View,
        side: Side,
        plan: Plan<()>,
        delivery: &mut Delivery,
    ) -> Result<(), ScanEnd> {
        let pair = &*self.pair;
        let filter = pair.without_origins(Some(self.filter()));
        let mut stream = self.rows_of(side, plan, filter.clone());
        let looked_up = if side == Side::Old && pair.keys().reads_rows() { LOOKED_UP } else { 1 };
        loop {
            let rows = stream.next_rows(pair, view, looked_up).await?;
            if rows.is_empty() {
                return still(pair, view);
            }
            for (key, row) in self.with_keys(side, rows, &filter).await? {
                self.deliver_row(view, &key, &row, delivery).await?;
            }
        }
    }

    /// Rows that were read with this filter, with their keys in the new table. If a key needs its whole row of the old table, both are
    /// read again.
    async fn with_keys(
        &self,
        side: Side,
        rows: Vec<RawRow>,
        filter: &RowFilter,
    ) -> Result<Vec<(Bytes, RawRow)>, Error> {
        let pair = &*self.pair;
        let stored = |row: &RawRow| Bytes::copy_from_slice(row.key());
        match side {
            Side::New => rows.into_iter().map(|row| Ok((stored(&row), row))).collect(),
            Side::Old if pair.keys().reads_rows() => {
                let keys = rows.iter().map(stored).collect();
                let filter = filter.clone().without_samples();
                let rows = pair.old_rows(&self.scan.client, keys, Some(filter)).await?;
                // Rows that were deleted meanwhile, or no longer pass the filter, are left out.
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
        view: &View,
        old: Plan<()>,
        new: Plan<()>,
        delivery: &mut Delivery,
    ) -> Result<(), ScanEnd> {
        let pair = &*self.pair;
        let filter = pair.with_origins(Some(self.filter()));
        let mut old_rows = self.rows_of(Side::Old, old, filter.clone());
        let mut new_rows = self.rows_of(Side::New, new, filter.clone());
        let (mut old_row, mut new_row) = (None, None);
        let mut last: Option<Bytes> = None;
        loop {
            if old_row.is_none() {
                let read = old_rows.next_rows(pair, view, 1).await?;
                old_row = self.with_keys(Side::Old, read, &filter).await?.pop();
                if let (Some((key, _)), Some(last)) = (&old_row, &last)
                    && self.order(last, key) != Ordering::Less
                {
                    return Err(out_of_order(pair, key, last).into());
                }
                last = old_row.as_ref().map(|(key, _)| key.clone());
            }
            if new_row.is_none() {
                let read = new_rows.next_rows(pair, view, 1).await?;
                new_row = self.with_keys(Side::New, read, &filter).await?.pop();
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
                self.deliver_row(view, &key, &row, delivery).await?;
            }
        }
    }

    /// The order of two keys of the new table in this scan.
    fn order(&self, one: &[u8], other: &[u8]) -> Ordering {
        let schema = self.pair.key_type(Side::New).schema();
        let order = schema.split_at_salt(one).cmp(&schema.split_at_salt(other));
        if self.scan.options.reversed { order.reverse() } else { order }
    }

    /// Scans both tables in no order: the rows of `base`, which nobody writes, with those of the other table beside them; then
    /// the rows of the other table that are not in `base`.
    ///
    /// Whether a row is in `base` must not depend on the filter: the other table may have cells that it lets through.
    async fn both(
        &self,
        view: &View,
        base: Side,
        base_plan: Plan<()>,
        front_plan: Plan<()>,
        delivery: &mut Delivery,
    ) -> Result<(), ScanEnd> {
        let pair = &*self.pair;
        let (front, client) = (base.other(), &self.scan.client);
        let filter = pair.with_origins(Some(self.filter()));
        // The rows that may be gone from `base` when the other table is read.
        let mut expiring = HashSet::new();
        let mut stream = self.rows_of(base, base_plan, pair.origins_and_newest());
        loop {
            let mut rows = stream.next_rows(pair, view, LOOKED_UP).await?;
            if rows.is_empty() {
                break;
            }
            // To a re-keying that is rolled back, a row without an origin is not in the new table.
            rows.retain(|row| base == Side::Old || Origin::of(Some(row)).is_some());
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
                    self.deliver_row(view, key, &row, delivery).await?;
                }
            }
        }
        let mut stream = self.rows_of(front, front_plan, filter.clone());
        loop {
            let rows = stream.next_rows(pair, view, LOOKED_UP).await?;
            if rows.is_empty() {
                return still(pair, view);
            }
            let rows = self.with_keys(front, rows, &filter).await?;
            let keys: Vec<Bytes> = rows.iter().map(|(key, _)| key.clone()).collect();
            let are_in_base: Vec<bool> = match base {
                Side::Old => pair.are_in_old(client, keys).await?,
                Side::New => {
                    let origins = Some(pair.origins_and_existence());
                    let rows = pair.rows_by_key(client, base, keys, origins).await?;
                    rows.iter().map(|row| Origin::of(row.as_ref()).is_some()).collect()
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
                    self.deliver_row(view, &key, &row, delivery).await?;
                }
            }
        }
    }
}

/// The stored rows of one table.
struct SideRows {
    scan: ScanExecution,
    key: KeyType,
    table: Route,
    /// Counts foreign rows, if they are skipped.
    skipped: Option<Skipped>,
}

impl SideRows {
    /// The next rows, at most `most`, while the state lasts; none at the end.
    async fn next_rows(
        &mut self,
        pair: &TablePair,
        view: &View,
        most: usize,
    ) -> Result<Vec<RawRow>, ScanEnd> {
        let mut read = Vec::new();
        while read.len() < most {
            let row = tokio::select! {
                biased;
                () = pair.lease().superseded(view) => return Err(ScanEnd::Changed),
                row = self.next() => row,
            };
            match row {
                Ok(Some(row)) => read.push(row),
                Ok(None) => break,
                Err(_) if !pair.lease().is_newest(view) => return Err(ScanEnd::Changed),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(read)
    }

    async fn next(&mut self) -> Result<Option<RawRow>, Error> {
        let Self { scan, key, table, skipped } = self;
        while poll_fn(|cx| scan.poll_next_row(cx)).await? {
            let Some(row) = scan.current().cloned() else { break };
            match (key.check(row.key()), &*skipped) {
                (Ok(()), _) => {
                    scan.delivered();
                    return Ok(Some(row));
                }
                (Err(error), Some(skipped)) => {
                    skipped.add_foreign(row.key(), || Error::foreign(table, error));
                }
                (Err(error), None) => return Err(scan.fail_at_row(Error::foreign(table, error))),
            }
        }
        Ok(None)
    }
}

/// Fails if the state has changed: a row that was missing may be there in the next.
fn still(pair: &TablePair, view: &View) -> Result<(), ScanEnd> {
    if pair.lease().is_newest(view) { Ok(()) } else { Err(ScanEnd::Changed) }
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
fn order_difference([old, new]: [&KeySchema; 2]) -> Option<String> {
    let (one, other) = (old.fields(), new.fields());
    if one.len() != other.len() {
        return Some(format!("the old key has {} fields and the new one {}", one.len(), other.len()));
    }
    let differs = |(old, new): &(&Field, &Field)| old.name() != new.name() || !old.sorts_as(new);
    let (old, new) = one.iter().zip(other).find(differs)?;
    Some(match old.name() == new.name() {
        false => format!("the field `{}` is in the place of `{}`", new.name(), old.name()),
        true => format!(
            "the field `{}` sorts its values otherwise: it was {}, and is {}",
            new.name(),
            old.written(),
            new.written()
        ),
    })
}

/// What a scan has delivered.
struct Delivery {
    rows: mpsc::Sender<Result<RawRow, Error>>,
    /// The key in the new table of the last row, if rows come in order.
    last: Option<Bytes>,
    /// What each plan selects.
    selected: [SelectedKeys; 2],
    /// How the keys of each table are read, unless the same fields are the same bytes in both.
    layouts: Option<[KeyLayout; 2]>,
}

impl Delivery {
    /// Fails if only one of the plans selects the row or, in an ordered scan, if its two keys differ in the fields: in other
    /// states the scan would give other rows.
    fn check(&self, pair: &TablePair, key: &[u8], is_ordered: bool) -> Result<(), Error> {
        let [old, new] = &self.selected;
        let old_key = pair.keys().old_of(key)?;
        if is_ordered && !self.has_same_values(pair, &old_key, key)? {
            return Err(Error::definition(
                pair.route(Side::New),
                format!(
                    "a scan in order needs conversions that keep the value of each field, and the key {} is {} in the table \
                     `{}`; add `.unordered()` to the scan",
                    ShownKey(key),
                    ShownKey(&old_key),
                    &**pair.route(Side::Old),
                ),
            ));
        }
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

    /// Whether each field has the same value in both keys of a row.
    fn has_same_values(&self, pair: &TablePair, old: &[u8], new: &[u8]) -> Result<bool, Error> {
        let Some([old_layout, new_layout]) = &self.layouts else {
            let fields = |side, key: &[u8]| pair.key_type(side).schema().fields_in(key);
            return Ok(fields(Side::Old, old) == fields(Side::New, new));
        };
        let decoded = |side, layout: &KeyLayout, key: &[u8]| {
            layout.decode(key).map_err(|error| Error::foreign(pair.route(side), error))
        };
        let old = decoded(Side::Old, old_layout, old)?;
        Ok(old.values() == decoded(Side::New, new_layout, new)?.values())
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
    fn of(plan: &Plan<()>) -> Self {
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
enum ScanEnd {
    /// The state has changed.
    Changed,
    /// The caller has all that it wants.
    Enough,
    Failed(Error),
}

impl From<Error> for ScanEnd {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// A scan of a pair of tables while it runs: a task reads, and waits for the caller.
pub(crate) struct PairCursor {
    begin: Option<Box<dyn FnOnce() -> JoinHandle<()> + Send>>,
    rows: mpsc::Receiver<Result<RawRow, Error>>,
    task: Option<JoinHandle<()>>,
    current: Option<RawRow>,
    /// How many rows may still be delivered.
    left: u64,
}

impl PairCursor {
    pub(super) fn new(
        pair: &Arc<TablePair>,
        new: Plan<()>,
        old: Result<Plan<()>, PlanError>,
        scan: ScanRequest,
        check: Option<TableCheck>,
    ) -> Self {
        let left = scan.options.limit.unwrap_or(u64::MAX);
        let (sender, rows) = mpsc::channel(usize::try_from(left).unwrap_or(BUFFERED).clamp(1, BUFFERED));
        let scan = PairScan { pair: Arc::clone(pair), old, new, scan };
        let begin = Box::new(move || tokio::spawn(scan.run(sender, check)));
        Self { begin: Some(begin), rows, task: None, current: None, left }
    }

    /// Ends the scan, which cancels its requests.
    fn end(&mut self) {
        (self.begin, self.current, self.left) = (None, None, 0);
        self.rows.close();
        if let Some(task) = self.task.take() {
            task.abort();
        }
    }
}

impl ScanCursor for PairCursor {
    fn poll_next_row(&mut self, cx: &mut Context<'_>) -> Poll<Result<bool, Error>> {
        if self.left == 0 {
            self.end();
            return Poll::Ready(Ok(false));
        }
        if let Some(begin) = self.begin.take() {
            self.task = Some(begin());
        }
        match ready!(self.rows.poll_recv(cx)) {
            Some(Ok(row)) => {
                self.current = Some(row);
                return Poll::Ready(Ok(true));
            }
            Some(Err(error)) => {
                self.end();
                return Poll::Ready(Err(error));
            }
            None => {}
        }
        if let Some(task) = &mut self.task {
            let ended = ready!(Pin::new(task).poll(cx));
            self.task = None;
            if let Err(failed) = ended
                && let Ok(panic) = failed.try_into_panic()
            {
                resume_unwind(panic);
            }
        }
        self.end();
        Poll::Ready(Ok(false))
    }

    fn current(&self) -> Option<&RawRow> {
        self.current.as_ref()
    }

    fn delivered(&mut self) {
        self.left = self.left.saturating_sub(1);
    }

    fn fail_at_row(&mut self, error: Error) -> Error {
        self.end();
        error
    }
}

impl Drop for PairCursor {
    fn drop(&mut self) {
        self.end();
    }
}
