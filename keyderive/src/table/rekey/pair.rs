//! Calls on one row of a pair of tables, as the state of the re-keying says.
//!
//! Origins decide which row counts (rule M): the old table's if it has an origin, else the new table's if that has one, else
//! the old table's. A row that has nothing but an origin is absent.

mod by_row;

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::try_join;
use futures_util::{StreamExt as _, stream};
use tokio::select;
use tokio::time::Instant;

use super::control::{Lease, View, is_idempotent};
use super::keys::PairKeys;
use super::order::Pairing;
use super::scan::OldSelection;
use super::state::{PairTables, Reads, Side, State, Writes};
use crate::client::{
    Batch, Client, Entries, Error, ErrorKind, Family, Idempotency, Mutations, REQUEST_BYTES, ReadRows,
    RekeyingEnd, Route, TableInfo,
};
use crate::dynamic::OldPlan;
use crate::key::{EncodeError, KeyType};
use crate::plan::{Explain, ExplainOptions, Plan};
use crate::row::{Mutation, RawRow, ReadModifyWrite, RowBuilder, RowFilter, TooLarge};
use crate::table::UntypedTable;
use crate::table::reserved::{ORIGINS, is_reserved};
use crate::table::transfer::{Origin, StoredRow};

const ORIGIN_COLUMN: &str = "o";
/// The label of cells that are read for the key that they give.
const WHOLE: &str = "keyderive-whole";
/// A fixed time, so that a row has one origin.
const ORIGIN_TIMESTAMP: i64 = 0;

/// How many rows of a batch are copied at a time, each by a request of its own.
const COPIES_IN_FLIGHT: usize = 64;

/// A future that borrows from a pair of tables.
type PairFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send + 'a>>;

impl Origin {
    fn value(self) -> &'static str {
        match self {
            Self::Copied => "c",
            Self::Written => "w",
        }
    }

    /// Stores it in a row.
    pub(super) fn set(self) -> Mutation {
        Mutation::set(ORIGINS, ORIGIN_COLUMN, ORIGIN_TIMESTAMP, self.value())
    }

    /// The origin of a stored row; none for a row that is not there.
    pub(super) fn of(row: Option<&RawRow>) -> Option<Self> {
        let origin = row?.newest(ORIGINS, ORIGIN_COLUMN)?;
        // Any other value was no copy.
        Some(if origin.value() == b"c" { Self::Copied } else { Self::Written })
    }
}

/// Whether a row has a cell other than its origin.
pub(super) fn has_data(row: &RawRow) -> bool {
    row.cells().any(|cell| !is_reserved(cell.family()))
}

/// Both keys of a row.
#[derive(Clone, Debug)]
struct RowKeys {
    old: Bytes,
    new: Bytes,
}

impl RowKeys {
    fn of(&self, side: Side) -> &Bytes {
        match side {
            Side::Old => &self.old,
            Side::New => &self.new,
        }
    }
}

/// Why an operation by a state ends without an answer.
pub(super) enum Stop {
    /// Its lease has ended.
    Lost,
    Failed(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// What a call is, for its time limit and for what a lost lease means.
#[derive(Clone, Copy)]
enum Call<'a> {
    Read,
    /// A write that may be repeated.
    Repeatable {
        sent: &'a Sent,
    },
    /// A write that may not, once its own request may have been applied.
    Once {
        sent: &'a Sent,
        timeout: fn(&Client) -> Duration,
    },
}

/// Whether the request of a write may have been applied, although the call has not returned.
#[derive(Default)]
struct Sent(AtomicBool);

impl Sent {
    /// Sends the request of a write. One that was dropped, or whose outcome is not known, may have been applied.
    async fn send<T>(&self, request: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        let before = self.0.swap(true, Ordering::Relaxed);
        let answer = request.await;
        if answer.as_ref().is_err_and(|error| !error.is_outcome_unknown()) {
            self.0.store(before, Ordering::Relaxed);
        }
        answer
    }

    /// Counts requests of many rows as sent.
    fn open(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Counts the request as not applied: it found that its condition did not hold.
    fn shut(&self) {
        self.0.store(false, Ordering::Relaxed);
    }

    fn is_open(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// A table that is re-keyed, and the one that it becomes.
pub(crate) struct TablePair {
    tables: PairTables,
    keys: Arc<dyn PairKeys>,
    pairing: Pairing,
    /// The old table's schema, when the pair was opened.
    info: Arc<TableInfo>,
    /// The families of rows.
    families: Vec<Arc<str>>,
    /// Lets the cells of these families through.
    data: RowFilter,
    lease: Arc<Lease>,
    /// The number of the state in which the origins were found to be gone; 0 before that.
    without_origins_since: AtomicU64,
}

impl TablePair {
    pub(super) fn new(
        tables: PairTables,
        keys: Arc<dyn PairKeys>,
        info: Arc<TableInfo>,
        lease: Arc<Lease>,
    ) -> Self {
        let names = info.families().iter().map(Family::name);
        let families: Vec<Arc<str>> = names.filter(|name| !is_reserved(name)).map(Arc::from).collect();
        let patterns: Vec<_> = families.iter().map(|name| name.replace('.', "\\.")).collect();
        let data = RowFilter::family_regex(patterns.join("|"));
        let without_origins_since = AtomicU64::new(0);
        let pairing = Pairing::of(&tables, &*keys);
        Self { tables, keys, pairing, info, families, data, lease, without_origins_since }
    }

    pub(super) fn route(&self, side: Side) -> &Route {
        self.tables.route(side)
    }

    /// The old table's schema, when the pair was opened.
    pub(super) fn info(&self) -> &Arc<TableInfo> {
        &self.info
    }

    /// The tables for which programs declare the rows, each with its key type.
    pub(super) fn declared_in(&self) -> [(Route, KeyType); 2] {
        [Side::Old, Side::New].map(|side| (self.route(side).clone(), self.key_type(side)))
    }

    pub(super) fn key_types(&self) -> [KeyType; 2] {
        self.tables.key_types
    }

    pub(super) fn key_type(&self, side: Side) -> KeyType {
        self.tables.key_type(side)
    }

    /// One of the tables, as its stored rows.
    pub(super) fn table(&self, client: &Client, side: Side) -> UntypedTable {
        UntypedTable::stored(client, self.route(side), self.key_type(side))
    }

    pub(super) fn lease(&self) -> &Arc<Lease> {
        &self.lease
    }

    pub(super) fn keys(&self) -> &dyn PairKeys {
        &*self.keys
    }

    /// Which fields of both keys have the same values.
    pub(super) fn pairing(&self) -> &Pairing {
        &self.pairing
    }

    /// What a scan by a plan of new keys reads of the old table.
    ///
    /// # Errors
    /// If a plan that was given cannot be.
    pub(super) fn old_of(&self, new: &Plan<()>, old: &OldSelection) -> Result<OldPlan, Error> {
        let all = || Plan::full(self.key_type(Side::Old).schema());
        match (old, &self.pairing) {
            (OldSelection::Given(old), _) => {
                let plan = old.clone().map_err(|error| Error::plan(self.route(Side::Old), error))?;
                Ok(OldPlan { plan, undecided: Vec::new() })
            }
            (OldSelection::Derived, Pairing::Declared(fields)) => Ok(fields.old_plan(new)),
            // The new key of each row decides.
            (OldSelection::Derived, _) => Ok(OldPlan { plan: all(), undecided: Vec::new() }),
        }
    }

    /// The parts of a plan of new keys: ranges of its first open field, which begin where the tablets of the tables with its rows do.
    pub(super) async fn partitions(&self, client: &Client, plan: Plan<()>) -> Result<Vec<Plan<()>>, Error> {
        let Some(fields) = self.pairing.fields() else { return Ok(vec![plan]) };
        let limit = Instant::now() + client.settings().sample_row_keys.total_timeout;
        let deadline = client.deadline().map_or(limit, |deadline| deadline.min(limit));
        let sides = match self.lease.acquire(deadline, false).await?.state.reads() {
            Reads::One(side) => vec![side],
            Reads::Both => vec![Side::Old, Side::New],
        };
        let mut places = Vec::new();
        for side in sides {
            let tablets = client.sample_row_keys(self.route(side)).await?;
            let place = |(key, _): &(Bytes, _)| fields.place_in(&plan, side == Side::New, key);
            places.extend(tablets.iter().filter_map(place));
        }
        Ok(plan.split_at(places))
    }

    /// Describes a scan.
    pub(super) fn explain(
        &self,
        new: &Plan<()>,
        old: &OldSelection,
        options: ExplainOptions,
    ) -> Result<Explain, Error> {
        let OldPlan { plan, undecided } = self.old_of(new, old)?;
        let turned = self.pairing.is_turned([&plan, new]);
        let is_turned = match &turned {
            Ok(is_turned) => *is_turned,
            Err(_) if options.unordered => false,
            Err(difference) => return Err(self.not_in_order(difference)),
        };
        let mut of_old = ExplainOptions { limit: None, ..options.clone() };
        of_old.reversed ^= is_turned;
        if !undecided.is_empty() {
            of_old.filters.push(format!(
                "rows are read, and dropped by their new keys: the old table cannot be asked for {}",
                undecided.iter().map(|field| format!("`{field}`")).collect::<Vec<_>>().join(", ")
            ));
        }
        let old_table = self.route(Side::Old).table().to_string();
        Ok(new.explain_with(options).and_old(old_table, plan.explain_with(of_old)))
    }

    /// Whether the first fields of both keys are the same.
    pub(super) fn have_same_first_fields(&self, count: usize) -> bool {
        let in_new = self.pairing.fields().and_then(|fields| fields.in_new().get(..count));
        in_new.is_some_and(|in_new| in_new.iter().all(|at| *at < count))
    }

    /// The error of a scan in order that cannot be.
    pub(super) fn not_in_order(&self, difference: &str) -> Error {
        Error::definition(
            self.route(Side::New),
            format!(
                "a scan in order needs the fields that its plan leaves open in the same order in both keys, all sorted as before or all the \
                 other way round, and {difference}; add `.unordered()` to the scan, which has no pages then, and no distinct values"
            ),
        )
    }

    /// Both keys of a row. Once there is no way back, a row need not have an old one, which is then empty.
    fn keys_of(&self, new: Bytes) -> Result<RowKeys, Error> {
        match self.keys.old_of(&new) {
            Ok(old) => Ok(RowKeys { old, new }),
            Err(_) if self.lease.is_over() => Ok(RowKeys { old: Bytes::new(), new }),
            Err(error) if matches!(error.kind(), ErrorKind::InvalidKey) => {
                let fault =
                    format!("until `finish()` ends its re-keying, each row needs an old key too: {error}");
                let key_type = self.key_type(Side::New).schema().key_type();
                Err(Error::key(self.route(Side::New), EncodeError::names(key_type, fault)))
            }
            Err(error) => Err(error),
        }
    }

    /// A filter without the origins.
    pub(super) fn without_origins(&self, filter: Option<RowFilter>) -> RowFilter {
        RowFilter::chain([self.data.clone()].into_iter().chain(filter))
    }

    /// A filter that lets the origins through as well.
    pub(super) fn with_origins(&self, filter: Option<RowFilter>) -> RowFilter {
        RowFilter::interleave([RowFilter::family(ORIGINS), self.without_origins(filter)])
    }

    /// A filter that a row passes with its origin, and with one cell if it has data.
    pub(super) fn origins_and_existence(&self) -> RowFilter {
        self.with_origins(Some(RowFilter::chain(RowFilter::existence())))
    }

    /// A filter that each stored row passes: with its origin, and whole if its key needs that, else with what tells whether it
    /// [expires](Self::expires_within).
    pub(super) fn origins_and_newest(&self) -> RowFilter {
        let expires = |family: &Family| family.gc_rule().removes(Duration::MAX, 0);
        match self.keys.reads_rows() {
            true => self.with_origins(None),
            false if self.info.families().iter().any(expires) => {
                self.with_origins(Some(RowFilter::chain([RowFilter::latest(1), RowFilter::strip_value()])))
            }
            false => self.origins_and_existence(),
        }
    }

    /// Whether garbage collection may remove a stored row within this time from now on.
    pub(super) fn expires_within(&self, row: &RawRow, now_micros: i64, time: Duration) -> bool {
        self.stored(row, now_micros).removable_within(time).is_some()
    }

    /// A row of one of the tables, whose families have the same rules.
    pub(super) fn stored<'a>(&'a self, row: &'a RawRow, now_micros: i64) -> StoredRow<'a> {
        StoredRow { row, info: &self.info, now_micros }
    }

    /// Deletes a row and leaves its origin.
    pub(super) fn deletions(&self) -> impl Iterator<Item = Mutation> {
        self.families.iter().map(|family| Mutation::delete_family(Arc::clone(family)))
    }

    /// The mutations that copy a row to the other table, with its timestamps.
    pub(super) fn copy(&self, row: &RawRow) -> Vec<Mutation> {
        let cells = row.cells().filter(|cell| !is_reserved(cell.family()));
        let set = cells.map(|cell| {
            let (family, qualifier) = (cell.family(), Bytes::copy_from_slice(cell.qualifier()));
            Mutation::set(family, qualifier, cell.timestamp_micros(), Bytes::copy_from_slice(cell.value()))
        });
        self.deletions().chain(set).collect()
    }

    /// The row as a caller sees it: under its new key, without its origin. None if nothing is left.
    pub(super) fn logical(&self, row: &RawRow, key: &[u8]) -> Result<Option<RawRow>, Error> {
        let too_large = |TooLarge| {
            Error::limit(
                self.route(Side::New),
                &Bytes::copy_from_slice(key),
                "the row has more than 4 GiB".into(),
            )
        };
        let mut built = RowBuilder::new(key).map_err(too_large)?;
        let mut cells = 0;
        for cell in row.cells().filter(|cell| !is_reserved(cell.family())) {
            let name = (Some(cell.family().as_bytes()), Some(cell.qualifier()));
            built.cell(name.0, name.1, cell.timestamp_micros()).map_err(too_large)?;
            built.value(cell.value()).map_err(too_large)?;
            for label in cell.labels() {
                built.label(label.as_bytes()).map_err(too_large)?;
            }
            cells += 1;
        }
        Ok((cells > 0).then(|| built.build()))
    }

    /// The row that counts in the two tables (rule M).
    pub(super) fn counting(old: Option<RawRow>, new: Option<RawRow>) -> Option<RawRow> {
        match (Origin::of(old.as_ref()), Origin::of(new.as_ref())) {
            (None, Some(_)) => new,
            _ => old,
        }
    }

    /// Runs an operation by the newest state, for as long as the lease on it lasts. If it may be repeated, the next state
    /// repeats it.
    async fn run<T, F>(
        &self,
        client: &Client,
        key: Option<&Bytes>,
        call: Call<'_>,
        operation: impl Fn(View, Client) -> F,
    ) -> Result<T, Error>
    where
        F: Future<Output = Result<T, Stop>>,
    {
        let settings = client.settings();
        let limit = match call {
            Call::Read => settings.read_row.total_timeout,
            Call::Repeatable { .. } => settings.mutate_row.total_timeout,
            Call::Once { timeout, .. } => timeout(client),
        };
        let limit = Instant::now() + limit;
        let deadline = client.deadline().map_or(limit, |deadline| deadline.min(limit));
        let client = client.with_deadline(deadline.into_std());
        loop {
            let view = self.lease.acquire(deadline, !matches!(call, Call::Read)).await;
            let view = view.map_err(|error| self.unknown_if_sent(key, call, error))?;
            let client = view.bound_attempts(&client);
            let answer = select! {
                biased;
                () = self.lease.ended(&view) => Err(Stop::Lost),
                answer = operation(view.clone(), client.clone()) => answer,
            };
            let failed = match answer {
                Ok(answer) if self.lease.holds(&view) => return Ok(answer),
                // Nothing was sent, or it was rejected: that needs no lease.
                Err(Stop::Failed(error)) if self.lease.holds(&view) || !error.is_retryable() => {
                    return Err(self.unknown_if_sent(key, call, error));
                }
                Ok(_) | Err(Stop::Lost) => None,
                Err(Stop::Failed(error)) => Some(error),
            };
            if let Call::Once { sent, .. } = call
                && sent.is_open()
            {
                let unknown = failed.filter(Error::is_outcome_unknown);
                return Err(unknown.unwrap_or_else(|| self.lease.error(key, RekeyingEnd::Late)));
            }
        }
    }

    /// The error of a call: of unknown outcome if an earlier request of it may have been applied.
    fn unknown_if_sent(&self, key: Option<&Bytes>, call: Call<'_>, error: Error) -> Error {
        let end = match call {
            Call::Repeatable { sent } if sent.is_open() => RekeyingEnd::Unanswered,
            Call::Once { sent, .. } if sent.is_open() => RekeyingEnd::Late,
            _ => return error,
        };
        if error.is_outcome_unknown() {
            return error;
        }
        Error::rekeying(self.route(Side::Old).table(), key, end, Some(error))
    }

    /// Fails if the lease on a state has ended, before the next request by it.
    fn ensure(&self, view: &View) -> Result<(), Stop> {
        if self.lease.holds(view) { Ok(()) } else { Err(Stop::Lost) }
    }

    /// Reads a row of one table.
    async fn get(
        &self,
        client: &Client,
        side: Side,
        keys: &RowKeys,
        filter: Option<RowFilter>,
    ) -> Result<Option<RawRow>, Error> {
        if side == Side::New || !self.keys.reads_rows() {
            return client.read_row(self.route(side), keys.of(side).clone(), filter).await;
        }
        let filter = Some(self.with_whole(filter));
        let row = client.read_row(self.route(side), keys.old.clone(), filter).await?;
        let row = row.map(|row| self.with_key(&row)).transpose()?.flatten();
        // A row of the old table counts only for the key that it gives.
        Ok(row.filter(|(key, _)| *key == keys.new).map(|(_, row)| row))
    }

    /// What the filter lets through of a row and, in the same read, all that can give its key: another row may take its place at any
    /// time.
    fn with_whole(&self, filter: Option<RowFilter>) -> RowFilter {
        let whole = RowFilter::chain([self.without_origins(None), RowFilter::own_label(WHOLE)]);
        RowFilter::interleave([filter.unwrap_or_else(RowFilter::pass_all), whole])
    }

    /// The key in the new table of a row that was read [whole](Self::with_whole) too, and what the filter let through of it, if that
    /// is anything.
    fn with_key(&self, row: &RawRow) -> Result<Option<(Bytes, RawRow)>, Error> {
        let [passed, whole] = row.split_by_label(WHOLE);
        if passed.cells().len() == 0 || whole.cells().len() == 0 {
            return Ok(None);
        }
        Ok(Some((self.keys.new_of(row.key(), &whole)?, passed)))
    }
}

/// Reads.
impl TablePair {
    /// What the filter lets through of the row with this key.
    pub(super) fn read_row<'a>(
        &'a self,
        client: &'a Client,
        key: Bytes,
        filter: Option<RowFilter>,
    ) -> PairFuture<'a, Option<RawRow>> {
        Box::pin(async move {
            let keys = &self.keys_of(key)?;
            let filter = &filter;
            self.run(client, Some(&keys.new), Call::Read, |view, client| async move {
                let row = match view.state.reads() {
                    Reads::One(side) => {
                        let filter = self.without_origins(filter.clone());
                        self.get(&client, side, keys, Some(filter)).await?
                    }
                    Reads::Both => {
                        let filter = Some(self.with_origins(filter.clone()));
                        let (old, new) = try_join(
                            self.get(&client, Side::Old, keys, filter.clone()),
                            self.get(&client, Side::New, keys, filter),
                        )
                        .await?;
                        Self::counting(old, new)
                    }
                };
                Ok(row.map(|row| self.logical(&row, &keys.new)).transpose()?.flatten())
            })
            .await
        })
    }

    /// The rows with these keys, which are distinct, in the order of the keys.
    pub(super) fn read_many<'a>(
        &'a self,
        client: &'a Client,
        keys: &'a [Bytes],
        filter: Option<RowFilter>,
    ) -> PairFuture<'a, Vec<RawRow>> {
        Box::pin(async move {
            let keys: Vec<_> = keys.iter().map(|key| self.keys_of(key.clone())).collect::<Result<_, _>>()?;
            let (keys, filter) = (&keys, &filter);
            self.run(client, None, Call::Read, |view, client| async move {
                let rows = match view.state.reads() {
                    Reads::One(side) => {
                        let filter = self.without_origins(filter.clone());
                        self.get_all(&client, side, keys, Some(filter)).await?
                    }
                    Reads::Both => {
                        let filter = Some(self.with_origins(filter.clone()));
                        let (old, new) = try_join(
                            self.get_all(&client, Side::Old, keys, filter.clone()),
                            self.get_all(&client, Side::New, keys, filter),
                        )
                        .await?;
                        old.into_iter().zip(new).map(|(old, new)| Self::counting(old, new)).collect()
                    }
                };
                let logical = rows.into_iter().zip(keys);
                let logical = logical.filter_map(|(row, keys)| self.logical(&row?, &keys.new).transpose());
                Ok(logical.collect::<Result<_, Error>>()?)
            })
            .await
        })
    }

    async fn get_all(
        &self,
        client: &Client,
        side: Side,
        keys: &[RowKeys],
        filter: Option<RowFilter>,
    ) -> Result<Vec<Option<RawRow>>, Error> {
        let asked: Vec<_> = keys.iter().map(|keys| keys.of(side).clone()).collect();
        if side == Side::New || !self.keys.reads_rows() {
            return self.rows_by_key(client, side, asked, filter).await;
        }
        let rows = self.old_rows(client, asked, filter).await?;
        let counting = |(row, keys): (Option<(Bytes, RawRow)>, &RowKeys)| {
            row.filter(|(key, _)| *key == keys.new).map(|(_, row)| row)
        };
        Ok(rows.into_iter().zip(keys).map(counting).collect())
    }

    /// The rows of the old table with these keys, in their order, each with its key in the new table, which is read from the row.
    pub(super) async fn old_rows(
        &self,
        client: &Client,
        keys: Vec<Bytes>,
        filter: Option<RowFilter>,
    ) -> Result<Vec<Option<(Bytes, RawRow)>>, Error> {
        let rows = self.rows_by_key(client, Side::Old, keys, Some(self.with_whole(filter))).await?;
        rows.iter()
            .map(|row| row.as_ref().map(|row| self.with_key(row)).transpose().map(Option::flatten))
            .collect()
    }

    /// For each of these keys of the new table, whether the old table has its row.
    pub(super) async fn are_in_old(&self, client: &Client, keys: Vec<Bytes>) -> Result<Vec<bool>, Error> {
        let keys: Vec<_> = keys.into_iter().map(|key| self.keys_of(key)).collect::<Result<_, _>>()?;
        let rows = self.get_all(client, Side::Old, &keys, Some(self.origins_and_existence())).await?;
        Ok(rows.iter().map(|row| row.as_ref().is_some_and(has_data)).collect())
    }

    /// The rows of one table with these keys, in their order.
    pub(super) async fn rows_by_key(
        &self,
        client: &Client,
        side: Side,
        keys: Vec<Bytes>,
        filter: Option<RowFilter>,
    ) -> Result<Vec<Option<RawRow>>, Error> {
        let mut rows = HashMap::with_capacity(keys.len());
        let request = ReadRows { keys: keys.clone(), filter, ..ReadRows::default() };
        let each = |row: &RawRow| {
            rows.insert(Bytes::copy_from_slice(row.key()), row.clone());
            Ok(())
        };
        client.read_rows(self.route(side), request).for_each(each).await?;
        // Several new keys can share a key of the old table.
        Ok(keys.iter().map(|key| rows.get(key).cloned()).collect())
    }
}

/// A write of one row, by what it sends once the row is where it belongs.
enum Change<'a> {
    /// In the request that copies the row.
    Mutations(&'a Mutations),
    /// Deletes the row.
    Delete,
}

impl TablePair {
    /// Changes one row.
    pub(super) fn mutate_row<'a>(
        &'a self,
        client: &'a Client,
        key: Bytes,
        mutations: Mutations,
    ) -> PairFuture<'a, ()> {
        Box::pin(async move {
            let keys = &self.keys_of(key)?;
            self.write(client, keys, &Change::Mutations(&mutations), mutations.idempotency()).await
        })
    }

    /// Deletes one row.
    pub(super) fn delete_row<'a>(&'a self, client: &'a Client, key: Bytes) -> PairFuture<'a, ()> {
        Box::pin(async move {
            let keys = &self.keys_of(key)?;
            self.write(client, keys, &Change::Delete, Idempotency::Idempotent).await
        })
    }

    async fn write(
        &self,
        client: &Client,
        keys: &RowKeys,
        change: &Change<'_>,
        idempotency: Idempotency,
    ) -> Result<(), Error> {
        let sent = &Sent::default();
        let call = match is_idempotent(idempotency) {
            true => Call::Repeatable { sent },
            false => Call::Once { sent, timeout: |client| client.settings().mutate_row.total_timeout },
        };
        self.run(client, Some(&keys.new), call, |view, client| async move {
            match view.state.writes() {
                writes if self.row_decides(writes) => {
                    self.write_by_row(&client, &view, keys, change, sent).await
                }
                Writes::Wait => Err(Stop::Lost),
                Writes::Plain(side) => {
                    let write =
                        client.mutate_row(self.route(side), keys.of(side).clone(), self.changed(change));
                    Ok(sent.send(write).await?)
                }
                Writes::WithOrigin(side) => {
                    self.write_with_origin(&client, &view, side, keys, self.changed(change), sent).await
                }
                Writes::CopyFirst { front } => {
                    self.write_over(&client, &view, front, keys, change, idempotency, sent).await
                }
            }
        })
        .await
    }

    fn changed(&self, change: &Change<'_>) -> Mutations {
        match change {
            Change::Mutations(mutations) => (*mutations).clone(),
            Change::Delete => self.deletions().collect::<Vec<_>>().into(),
        }
    }

    /// Writes to a table that has all rows. A copy that is still under way finds the origin, or is rejected because the
    /// origins' family is gone; then a write with an origin is rejected too, and needs none.
    async fn write_with_origin(
        &self,
        client: &Client,
        view: &View,
        side: Side,
        keys: &RowKeys,
        changes: Mutations,
        sent: &Sent,
    ) -> Result<(), Stop> {
        let (table, key) = (self.route(side), keys.of(side));
        let plain = async |changes: Mutations| match changes.is_empty() {
            true => Ok(()),
            false => sent.send(client.mutate_row(table, key.clone(), changes)).await,
        };
        if self.is_known_without_origins(view) {
            return Ok(plain(changes).await?);
        }
        let mut written = Mutations::from(vec![Origin::Written.set()]);
        written.extend(&changes);
        match sent.send(client.mutate_row(table, key.clone(), written)).await {
            Ok(()) => Ok(()),
            Err(error) if self.is_without_origins(client, view, side, &error).await? => {
                self.ensure(view)?;
                Ok(plain(changes).await?)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Whether a write can have failed because the origins' family is gone. If it is, that is remembered for this
    /// state.
    async fn is_without_origins(
        &self,
        client: &Client,
        view: &View,
        side: Side,
        error: &Error,
    ) -> Result<bool, Stop> {
        if !matches!(view.state, State::New | State::RolledBack) || error.attempts() == 0 {
            return Ok(false);
        }
        let is_gone = client.table_info(self.route(side)).await?.family(ORIGINS).is_none();
        if is_gone {
            self.without_origins_since.store(view.change, Ordering::Relaxed);
        }
        Ok(is_gone)
    }

    /// Whether the origins of the table that is written are known to be gone, for good.
    fn is_known_without_origins(&self, view: &View) -> bool {
        self.without_origins_since.load(Ordering::Relaxed) == view.change
    }

    /// Writes to the front table while nobody writes the base table: sets the origin, copies the row of the base table if the row
    /// has no origin yet, and applies the change, all in one request.
    #[expect(clippy::too_many_arguments, reason = "the parts of one write")]
    async fn write_over(
        &self,
        client: &Client,
        view: &View,
        front: Side,
        keys: &RowKeys,
        change: &Change<'_>,
        idempotency: Idempotency,
        sent: &Sent,
    ) -> Result<(), Stop> {
        let base = match change {
            Change::Delete => None,
            Change::Mutations(_) => {
                let base = self.get(client, front.other(), keys, None).await?;
                self.ensure(view)?;
                base.filter(|row| Self::counts_in_base(front, row))
            }
        };
        let (table, key) = (self.route(front), keys.of(front).clone());
        let mut written = Mutations::from(vec![Origin::Written.set()]);
        let Some(base) = base else {
            written.extend(&self.changed(change));
            return Ok(sent.send(client.mutate_row(table, key, written)).await?);
        };
        let mut copied = written.clone();
        copied.extend(&self.copy(&base).into());
        let change = self.changed(change);
        written.extend(&change);
        copied.extend(&change);
        let origins = Some(RowFilter::family(ORIGINS));
        sent.send(client.check_and_mutate(table, key, origins, written, copied, idempotency)).await?;
        Ok(())
    }

    /// Whether a row of the base table is to be copied to the front table: every row of the old table, but of the new table
    /// only rows that were written, since the old table has the source of a copy.
    pub(super) fn counts_in_base(front: Side, row: &RawRow) -> bool {
        match front {
            Side::New => has_data(row),
            Side::Old => Origin::of(Some(row)) == Some(Origin::Written),
        }
    }

    /// Before a request whose effect the server decides: sets the origin of the row in the table that is written, with a copy if needed;
    /// returns that table.
    async fn prepare(&self, client: &Client, view: &View, keys: &RowKeys) -> Result<Side, Stop> {
        // No answer shows whether the origin was set.
        let (nothing, sent) = (Mutations::default(), &Sent::default());
        match view.state.writes() {
            Writes::Wait => Err(Stop::Lost),
            Writes::Plain(side) => Ok(side),
            Writes::WithOrigin(side) => {
                self.write_with_origin(client, view, side, keys, nothing, sent).await?;
                self.ensure(view)?;
                Ok(side)
            }
            Writes::CopyFirst { front } => {
                let nothing = Change::Mutations(&nothing);
                self.write_over(client, view, front, keys, &nothing, Idempotency::Idempotent, sent).await?;
                self.ensure(view)?;
                Ok(front)
            }
        }
    }

    /// Applies `then` if the filter passes a cell of the row, or without a filter if the row exists; `otherwise` if not.
    pub(super) fn check_and_mutate_row<'a>(
        &'a self,
        client: &'a Client,
        key: Bytes,
        condition: Option<RowFilter>,
        then: Mutations,
        otherwise: Mutations,
    ) -> PairFuture<'a, bool> {
        Box::pin(async move {
            let keys = &self.keys_of(key)?;
            let condition = self.without_origins(condition);
            condition.check_keyless().map_err(|error| Error::filter(self.route(Side::New), error))?;
            let (condition, then, otherwise) = (&condition, &then, &otherwise);
            let sent = &Sent::default();
            let timeout = |client: &Client| client.settings().check_and_mutate_row.total_timeout;
            self.run(client, Some(&keys.new), Call::Once { sent, timeout }, |view, client| async move {
                if self.row_decides(view.state.writes()) {
                    let write =
                        self.check_and_mutate_by_row(&client, &view, keys, condition, then, otherwise, sent);
                    return write.await;
                }
                let side = self.prepare(&client, &view, keys).await?;
                let (table, key) = (self.route(side), keys.of(side).clone());
                let (then, otherwise) = (then.clone(), otherwise.clone());
                let condition = Some(condition.clone());
                Ok(sent.send(client.check_and_mutate_row(table, key, condition, then, otherwise)).await?)
            })
            .await
        })
    }

    /// Increments or appends to cells of a row; returns what `check` makes of the changed cells.
    pub(super) fn read_modify_write_row<'a, T: Send + 'a>(
        &'a self,
        client: &'a Client,
        key: Bytes,
        rules: Vec<ReadModifyWrite>,
        check: impl Fn(RawRow) -> Result<T, String> + Send + Sync + 'a,
    ) -> PairFuture<'a, T> {
        Box::pin(async move {
            let keys = &self.keys_of(key)?;
            let (rules, check, sent) = (&rules, &check, &Sent::default());
            let timeout = |client: &Client| client.settings().read_modify_write_row.total_timeout;
            self.run(client, Some(&keys.new), Call::Once { sent, timeout }, |view, client| async move {
                if self.row_decides(view.state.writes()) {
                    return self.read_modify_write_by_row(&client, &view, keys, rules, check, sent).await;
                }
                let side = self.prepare(&client, &view, keys).await?;
                let key = keys.of(side).clone();
                let write = client.read_modify_write_row(self.route(side), key, rules.clone(), check);
                Ok(sent.send(write).await?)
            })
            .await
        })
    }

    /// Sends the entries of a batch; returns their outcomes in their order.
    pub(super) async fn send_entries(&self, client: &Client, entries: &Entries) -> Vec<Result<(), Error>> {
        let decoded = (0..entries.len()).map(|index| {
            let (key, mutations) = entries.decode(index);
            Ok((self.keys_of(key)?, mutations))
        });
        let rows: Vec<Result<(RowKeys, Mutations), Error>> = decoded.collect();
        let (keys, changes): (Vec<_>, Vec<_>) = rows.iter().flatten().cloned().unzip();
        let written = self.write_rows(client, &keys, &changes);
        let written: PairFuture<'_, Vec<Result<(), Error>>> = Box::pin(written);
        match written.await {
            Ok(written) => {
                let mut written = written.into_iter();
                rows.into_iter().map(|row| row.and_then(|_| written.next().unwrap_or(Ok(())))).collect()
            }
            Err(error) => rows.into_iter().map(|row| row.and(Err(error.clone()))).collect(),
        }
    }

    async fn write_rows(
        &self,
        client: &Client,
        keys: &[RowKeys],
        changes: &[Mutations],
    ) -> Result<Vec<Result<(), Error>>, Error> {
        let all = 0..keys.len();
        let origin = || Mutations::from(vec![Origin::Written.set()]);
        let (all, sent) = (&all, &Sent::default());
        let call = Call::Repeatable { sent };
        self.run(client, None, call, |view, client| async move {
            let mut outcomes: Vec<_> = all.clone().map(|_| Ok(())).collect();
            let was_open = sent.is_open();
            match view.state.writes() {
                writes if self.row_decides(writes) => {
                    sent.open();
                    outcomes = self.write_rows_by_row(&client, &view, keys, changes).await?;
                }
                Writes::Wait => return Err(Stop::Lost),
                Writes::Plain(side) => {
                    sent.open();
                    self.send_rows(&client, side, keys, changes, None, all.clone(), &mut outcomes).await;
                }
                Writes::WithOrigin(side) => {
                    let rows = all.clone();
                    let origin = (!self.is_known_without_origins(&view)).then(origin);
                    sent.open();
                    self.send_rows(&client, side, keys, changes, origin, rows, &mut outcomes).await;
                    for (index, outcome) in outcomes.iter_mut().enumerate() {
                        if let Err(error) = outcome
                            && self.is_without_origins(&client, &view, side, error).await?
                        {
                            self.ensure(&view)?;
                            let (key, change) = (keys[index].of(side).clone(), changes[index].clone());
                            *outcome = client.mutate_row(self.route(side), key, change).await;
                        }
                    }
                }
                Writes::CopyFirst { front } => {
                    let base = self.get_all(&client, front.other(), keys, None).await?;
                    self.ensure(&view)?;
                    let (present, absent): (Vec<usize>, Vec<usize>) = all.clone().partition(|index| {
                        base[*index].as_ref().is_some_and(|row| Self::counts_in_base(front, row))
                    });
                    let absent = absent.into_iter();
                    sent.open();
                    self.send_rows(&client, front, keys, changes, Some(origin()), absent, &mut outcomes)
                        .await;
                    let (client, view, base) = (&client, &view, &base);
                    let copies = stream::iter(present).map(|index| async move {
                        let (table, key) = (self.route(front), keys[index].of(front).clone());
                        let Some(row) = &base[index] else { return Ok((index, Ok(()))) };
                        self.ensure(view)?;
                        let (mut written, mut copied) = (origin(), origin());
                        copied.extend(&self.copy(row).into());
                        copied.extend(&changes[index]);
                        written.extend(&changes[index]);
                        let (origins, again) = (RowFilter::family(ORIGINS), Idempotency::Idempotent);
                        let copied =
                            client.check_and_mutate(table, key, Some(origins), written, copied, again).await;
                        Ok::<_, Stop>((index, copied.map(drop)))
                    });
                    let mut copies = Box::pin(copies.buffer_unordered(COPIES_IN_FLIGHT));
                    while let Some(copied) = copies.next().await {
                        let (index, outcome) = copied?;
                        outcomes[index] = outcome;
                    }
                }
            }
            if was_open {
                let with_earlier = |(outcome, keys): (Result<(), Error>, &RowKeys)| {
                    outcome.map_err(|error| self.unknown_if_sent(Some(&keys.new), call, error))
                };
                outcomes = outcomes.into_iter().zip(keys).map(with_earlier).collect();
            }
            Ok(outcomes)
        })
        .await
    }

    /// Sends some rows in batches, each after an origin if there is one.
    #[expect(clippy::too_many_arguments, reason = "the parts of one batch")]
    async fn send_rows(
        &self,
        client: &Client,
        side: Side,
        keys: &[RowKeys],
        changes: &[Mutations],
        origin: Option<Mutations>,
        rows: impl Iterator<Item = usize>,
        outcomes: &mut [Result<(), Error>],
    ) {
        let (mut batch, mut indexes) = (Batch::timed_by(client.clock()), Vec::new());
        let mut rows = rows.peekable();
        while let Some(index) = rows.next() {
            let mut mutations = origin.clone().unwrap_or_default();
            mutations.extend(&changes[index]);
            batch.add(keys[index].of(side), &mutations);
            indexes.push(index);
            if batch.bytes() >= REQUEST_BYTES || rows.peek().is_none() {
                let sent = client.send_entries(self.route(side), &batch.take()).await;
                indexes.drain(..).zip(sent).for_each(|(index, outcome)| outcomes[index] = outcome);
            }
        }
    }
}

impl std::fmt::Debug for TablePair {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TablePair").field("tables", &self.tables.routes).finish_non_exhaustive()
    }
}
