//! Scans of a pair of tables.
//!
//! Where the fields that the plan leaves open stand in the same order in both keys, and sort their values alike, the rows of both tables are
//! merged by their fields, and the scan resumes after its last row when the state changes; if all of them sort the other way round, the
//! old table is read backwards. Otherwise the base table, which nobody writes, is read first, with the rows of the front table beside it;
//! then the rows of the front table alone.

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
use crate::client::{Error, NextRow, RekeyingEnd, Route};
use crate::dynamic::{FieldPairs, KeyLayout};
use crate::key::{KeySchema, KeyType, ShownKey};
use crate::plan::{KeyRange, Leading, Plan, PlanError};
use crate::row::{RawRow, RowFilter};
use crate::table::execution::{
    KeepsValue, SEEK_ROWS, ScanCursor, ScanExecution, ScanOptions, ScanRequest, TableCheck, VisitResult,
};
use crate::table::skipped::Skipped;
use crate::table::transfer::Origin;

/// How many rows of one table are looked up in the other at a time.
const LOOKED_UP: usize = 256;

/// A scan in no order remembers the rows that garbage collection may remove within this time, so that they come once.
const EXPIRING: Duration = Duration::from_secs(3600);

/// How many rows wait for the caller, at most.
const BUFFERED: usize = 256;

/// What a scan reads of the old table.
#[derive(Clone, Debug)]
pub(crate) enum OldSelection {
    /// A plan that selects the same rows as that of the new table.
    Given(Result<Plan<()>, PlanError>),
    /// What the fields of both keys make of the plan of the new table. It may read other rows too, which are left out by their new keys.
    Derived,
}

/// A scan of a pair of tables.
struct PairScan {
    pair: Arc<TablePair>,
    old: OldSelection,
    new: Plan<()>,
    scan: ScanRequest,
}

/// The parts of both tables that are still to read, and how.
struct Rest {
    old: Plan<()>,
    new: Plan<()>,
    /// Whether the old table has the rows in the opposite order.
    is_turned: bool,
}

impl PairScan {
    /// Delivers the rows, after `check` if there is one.
    async fn run(self, rows: mpsc::Sender<Result<RawRow, Error>>, check: Option<TableCheck>) {
        let checked = match check {
            Some(check) => check.await,
            None => Ok(()),
        };
        let ended = match checked.and_then(|()| self.begin()) {
            Ok((rest, selected)) => {
                let compared = self.pair.pairing().compared(&self.new);
                let mut delivery =
                    Delivery { rows: rows.clone(), last: None, selected, compared, values: None };
                delivery.values = self.scan.options.distinct.map(|count| Values::new(&self.pair, count));
                self.deliver(&rest, &mut delivery).await
            }
            Err(error) => Err(error.into()),
        };
        if let Err(ScanEnd::Failed(error)) = ended {
            // Nobody may be waiting any more.
            let _ = rows.send(Err(error)).await;
        }
    }

    /// Whether rows may come in any order.
    fn is_unordered(&self) -> bool {
        // The rows of one value are found side by side.
        self.scan.options.unordered && self.scan.options.distinct.is_none()
    }

    /// What is read of both tables.
    fn begin(&self) -> Result<(Rest, Selected), Error> {
        let Self { pair, new, scan, .. } = self;
        scan.filter.check_keyless().map_err(|error| Error::filter(&scan.table, error))?;
        let mut old = pair.old_of(new, &self.old)?.plan;
        let reversed = scan.options.reversed;
        let is_turned = match pair.pairing().is_turned([&old, new]) {
            Ok(is_turned) => is_turned,
            Err(_) if self.is_unordered() => false,
            Err(difference) => return Err(pair.not_in_order(&difference)),
        };
        // The rows of earlier pages are left out by their new keys, if the old plan cannot begin after them.
        let mut is_compared = matches!(self.old, OldSelection::Given(_));
        let mut last = new.keys_before(reversed).peekable();
        if last.peek().is_some() {
            match last.find_map(|key| pair.keys().old_of(&key).ok()) {
                Some(last) if !self.is_unordered() => old = old.after_row(&last, reversed != is_turned),
                _ => is_compared = false,
            }
        }
        let selected = match is_compared {
            true => Selected::ByBoth([SelectedKeys::of(&old), SelectedKeys::of(new)]),
            false => Selected::ByNew(SelectedKeys::of(new)),
        };
        Ok((Rest { old, new: new.clone(), is_turned }, selected))
    }

    async fn deliver(&self, whole: &Rest, delivery: &mut Delivery) -> Result<(), ScanEnd> {
        let Self { pair, scan: ScanRequest { client, .. }, .. } = self;
        let unordered = self.is_unordered();
        loop {
            let deadline = Instant::now() + client.settings().read_rows.total_timeout;
            let deadline = client.deadline().map_or(deadline, |at| at.min(deadline));
            let view = pair.lease().acquire(deadline, unordered).await?;
            let rest = self.rest(whole, delivery)?;
            let ended = match view.state.reads() {
                Reads::One(side) => self.one(&view, side, &rest, delivery).await,
                Reads::Both if !unordered => self.merge(&view, &rest, delivery).await,
                Reads::Both => match view.state.writes() {
                    Writes::CopyFirst { front: Side::New } => {
                        self.both(&view, Side::Old, &rest, delivery).await
                    }
                    _ => self.both(&view, Side::New, &rest, delivery).await,
                },
            };
            match ended {
                // Rows in no order have no last row to resume after.
                Err(ScanEnd::Changed) if unordered => {
                    return Err(pair.lease().error(None, RekeyingEnd::Changed).into());
                }
                Err(ScanEnd::Changed | ScanEnd::PastValue) => {}
                ended => return ended,
            }
        }
    }

    /// What is left after the last row that was delivered; or after all rows of its value, where each comes once.
    fn rest(&self, whole: &Rest, delivery: &Delivery) -> Result<Rest, Error> {
        let (pair, reversed, is_turned) = (&self.pair, self.scan.options.reversed, whole.is_turned);
        let Some(last) = &delivery.last else {
            return Ok(Rest { old: whole.old.clone(), new: whole.new.clone(), is_turned });
        };
        let after = |plan: &Plan<()>, key: &[u8], fields: Option<usize>, reversed| match fields {
            Some(fields) => plan.after_value(key, fields, reversed),
            None => plan.after_row(key, reversed),
        };
        let seeks = |values: &&Values| values.has_seeks;
        let fields = delivery.values.as_ref().filter(seeks).map(|values| values.count);
        let new = after(&whole.new, last, fields, reversed);
        let old = match pair.keys().old_of(last) {
            Ok(key) => after(&whole.old, &key, fields, reversed != is_turned),
            // It is read no more, and has no place for some rows.
            Err(_) if pair.lease().is_over() => whole.old.clone(),
            Err(error) => return Err(error),
        };
        Ok(Rest { old, new, is_turned })
    }

    fn filter(&self) -> RowFilter {
        self.scan.filter.clone()
    }

    /// The stored rows of one table.
    fn rows_of(&self, side: Side, rest: &Rest, filter: RowFilter) -> SideRows {
        let (table, key) = (self.pair.route(side).clone(), self.pair.key_type(side));
        let mut options = ScanOptions { limit: None, distinct: None, ..self.scan.options.clone() };
        options.reversed ^= side == Side::Old && rest.is_turned;
        let skipped = options.skip_foreign.then(|| options.log.skipped.clone());
        let plan = match side {
            Side::Old => rest.old.clone(),
            Side::New => rest.new.clone(),
        };
        let scan = ScanRequest {
            table: table.clone(),
            key,
            filter,
            options,
            keeps_value: None,
            ..self.scan.clone()
        };
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
        if delivery.leaves_out(key) {
            return Ok(());
        }
        let Some(row) = pair.logical(row, key)? else { return Ok(()) };
        delivery.check(pair, key, !self.is_unordered())?;
        if !pair.lease().is_newest(view) {
            return Err(ScanEnd::Changed);
        }
        if let Some(values) = &mut delivery.values {
            match values.next(pair.key_type(Side::New).schema(), self.scan.keeps_value.as_ref(), key) {
                NextValue::Begins => {}
                NextValue::Repeated => return Ok(()),
                NextValue::RepeatedForLong => return Err(ScanEnd::PastValue),
            }
        }
        if delivery.rows.send(Ok(row)).await.is_err() {
            return Err(ScanEnd::Enough);
        }
        if !self.is_unordered() {
            delivery.last = Some(Bytes::copy_from_slice(key));
        }
        Ok(())
    }

    /// Scans one table.
    async fn one(
        &self,
        view: &View,
        side: Side,
        rest: &Rest,
        delivery: &mut Delivery,
    ) -> Result<(), ScanEnd> {
        let pair = &*self.pair;
        let filter = pair.without_origins(Some(self.filter()));
        let mut stream = self.rows_of(side, rest, filter.clone());
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
    async fn merge(&self, view: &View, rest: &Rest, delivery: &mut Delivery) -> Result<(), ScanEnd> {
        let pair = &*self.pair;
        let filter = pair.with_origins(Some(self.filter()));
        let mut old_rows = self.rows_of(Side::Old, rest, filter.clone());
        let mut new_rows = self.rows_of(Side::New, rest, filter.clone());
        let (mut old_row, mut new_row) = (None, None);
        let mut last: Option<Bytes> = None;
        loop {
            if old_row.is_none() {
                loop {
                    let read = old_rows.next_rows(pair, view, 1).await?;
                    old_row = self.with_keys(Side::Old, read, &filter).await?.pop();
                    if old_row.as_ref().is_none_or(|(key, _)| !delivery.leaves_out(key)) {
                        break;
                    }
                }
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
        rest: &Rest,
        delivery: &mut Delivery,
    ) -> Result<(), ScanEnd> {
        let pair = &*self.pair;
        let (front, client) = (base.other(), &self.scan.client);
        let filter = pair.with_origins(Some(self.filter()));
        // The rows that may be gone from `base` when the other table is read.
        let mut expiring = HashSet::new();
        let mut stream = self.rows_of(base, rest, pair.origins_and_newest());
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
            let (rows, keys): (Vec<_>, Vec<_>) =
                rows.iter().zip(keys).filter(|(_, key)| !delivery.leaves_out(key)).unzip();
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
        let mut stream = self.rows_of(front, rest, filter.clone());
        loop {
            let rows = stream.next_rows(pair, view, LOOKED_UP).await?;
            if rows.is_empty() {
                return still(pair, view);
            }
            let mut rows = self.with_keys(front, rows, &filter).await?;
            rows.retain(|(key, _)| !delivery.leaves_out(key));
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
        while poll_fn(|cx| scan.poll_next_row(cx)).await.transpose()?.is_some() {
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

/// What a scan has delivered.
struct Delivery {
    rows: mpsc::Sender<Result<RawRow, Error>>,
    /// The key in the new table of the last row, if rows come in order.
    last: Option<Bytes>,
    selected: Selected,
    /// The fields whose values are compared in both keys of a row.
    compared: Vec<usize>,
    /// Of a scan that delivers each value once.
    values: Option<Values>,
}

/// Which rows a scan selects.
enum Selected {
    /// Those of both plans, which must be the same.
    ByBoth([SelectedKeys; 2]),
    /// Those of the plan of the new table; that of the old one may read others too.
    ByNew(SelectedKeys),
}

/// The last value of the first fields of which a row was delivered.
struct Values {
    /// How many fields.
    count: usize,
    /// Whether both tables can seek past a value.
    has_seeks: bool,
    last: Option<Leading>,
    /// How many rows of that value have come since.
    run: u64,
}

/// What a row is of the values that are delivered once.
enum NextValue {
    Begins,
    Repeated,
    /// So often that it is cheaper to seek past the value.
    RepeatedForLong,
}

impl Values {
    fn new(pair: &TablePair, count: usize) -> Self {
        Self { count, has_seeks: pair.have_same_first_fields(count), last: None, run: 0 }
    }

    fn next(&mut self, schema: &'static KeySchema, keeps: Option<&KeepsValue>, key: &[u8]) -> NextValue {
        let leading = Leading::of(schema, key, self.count);
        let is_repeated =
            self.last.as_ref().zip(leading.as_ref()).is_some_and(|(a, b)| a.value() == b.value());
        if is_repeated {
            self.run += 1;
            return match self.has_seeks && self.run >= SEEK_ROWS {
                true => NextValue::RepeatedForLong,
                false => NextValue::Repeated,
            };
        }
        if keeps.is_some_and(|keeps| !keeps(key)) {
            return NextValue::Repeated;
        }
        (self.last, self.run) = (leading, 0);
        NextValue::Begins
    }
}

impl Delivery {
    /// Whether the row is one that only the plan of the old table reads.
    fn leaves_out(&self, key: &[u8]) -> bool {
        match &self.selected {
            Selected::ByNew(new) => !new.contains(key),
            Selected::ByBoth(_) => false,
        }
    }

    /// Fails if only one of the plans selects the row or, in an ordered scan, if its two keys differ in the fields: in other
    /// states the scan would give other rows.
    fn check(&self, pair: &TablePair, key: &[u8], is_ordered: bool) -> Result<(), Error> {
        if pair.lease().is_over() {
            return Ok(());
        }
        let compared = pair.pairing().fields().filter(|_| is_ordered && !self.compared.is_empty());
        let by_both = match &self.selected {
            Selected::ByBoth(selected) => Some(selected),
            Selected::ByNew(_) => None,
        };
        if compared.is_none() && by_both.is_none() {
            return Ok(());
        }
        let old_key = pair.keys().old_of(key)?;
        if let Some(fields) = compared
            && !has_same_values(pair, fields, &self.compared, &old_key, key)?
        {
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
        let Some([old, new]) = by_both else { return Ok(()) };
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

/// Whether these fields have the same value in both keys of a row.
fn has_same_values(
    pair: &TablePair,
    fields: &FieldPairs,
    compared: &[usize],
    old: &[u8],
    new: &[u8],
) -> Result<bool, Error> {
    let schemas = pair.key_types().map(KeyType::schema);
    let [stored_old, stored_new] =
        schemas.map(|schema| (schema.fields(), schema.layout(), schema.delimiter()));
    let [old_schema, new_schema] = schemas;
    if stored_old == stored_new && old_schema.fields_in(old) == new_schema.fields_in(new) {
        return Ok(true);
    }
    let [old_layout, new_layout] = fields.layouts();
    let decoded = |side, layout: &KeyLayout, key: &[u8]| {
        layout.decode(key).map_err(|error| Error::foreign(pair.route(side), error))
    };
    let (old, new) = (decoded(Side::Old, old_layout, old)?, decoded(Side::New, new_layout, new)?);
    Ok(fields.have_same_values(&old, &new, compared))
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
    /// The next rows have the value of the last one, and are passed over.
    PastValue,
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
    /// The key of the last row that was delivered; empty before the first.
    last: Bytes,
    /// How many rows may still be delivered.
    left: u64,
}

impl PairCursor {
    pub(super) fn new(
        pair: &Arc<TablePair>,
        new: Plan<()>,
        old: OldSelection,
        scan: ScanRequest,
        check: Option<TableCheck>,
    ) -> Self {
        let left = scan.options.limit.unwrap_or(u64::MAX);
        let (sender, rows) = mpsc::channel(usize::try_from(left).unwrap_or(BUFFERED).clamp(1, BUFFERED));
        let scan = PairScan { pair: Arc::clone(pair), old, new, scan };
        let begin = Box::new(move || tokio::spawn(scan.run(sender, check)));
        Self { begin: Some(begin), rows, task: None, current: None, last: Bytes::new(), left }
    }

    fn close(&mut self) {
        (self.begin, self.current, self.left) = (None, None, 0);
        self.rows.close();
        if let Some(task) = self.task.take() {
            task.abort();
        }
    }
}

impl ScanCursor for PairCursor {
    fn poll_next_row(&mut self, cx: &mut Context<'_>) -> Poll<NextRow> {
        if self.left == 0 {
            self.close();
            return Poll::Ready(None);
        }
        if let Some(begin) = self.begin.take() {
            self.task = Some(begin());
        }
        match ready!(self.rows.poll_recv(cx)) {
            Some(Ok(row)) => {
                self.current = Some(row);
                return Poll::Ready(Some(Ok(())));
            }
            Some(Err(error)) => {
                self.close();
                return Poll::Ready(Some(Err(error)));
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
        self.close();
        Poll::Ready(None)
    }

    fn current(&self) -> Option<&RawRow> {
        self.current.as_ref()
    }

    fn delivered(&mut self) {
        if let Some(row) = &self.current {
            self.last = Bytes::copy_from_slice(row.key());
        }
        self.count(1);
    }

    fn last_key(&self) -> &[u8] {
        &self.last
    }

    /// One row at a time: the task decides about each.
    fn visit_buffered(&mut self, _: u64, mut visit: impl FnMut(&RawRow) -> VisitResult) {
        if let Some(row) = &self.current
            && visit(row) == VisitResult::Delivered
        {
            self.last = Bytes::copy_from_slice(row.key());
        }
    }

    fn count(&mut self, rows: u64) {
        self.left = self.left.saturating_sub(rows);
    }

    fn end(&mut self) {
        self.close();
    }

    fn fail_at_row(&mut self, error: Error) -> Error {
        self.close();
        error
    }
}

impl Drop for PairCursor {
    fn drop(&mut self) {
        self.close();
    }
}
