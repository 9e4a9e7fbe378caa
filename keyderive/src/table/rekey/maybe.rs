//! A table that is re-keyed or not, as one type.

use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;

use super::keys::PairKey;
use super::scan::{OldSelection, PairCursor};
use super::store::{Pair, Rekeyed};
use crate::client::{Entries, Error, Mutations, NextRow, TableInfo};
use crate::key::{RekeyedFrom, TableKey};
use crate::plan::{Explain, ExplainOptions, Plan, PlanError};
use crate::row::{MutationList, RawRow, ReadModifyWrite, RowFilter};
use crate::table::execution::{ScanCursor, ScanExecution, ScanRequest, VisitResult};
use crate::table::handle::WriteScope;
use crate::table::store::{FoundRows, ReadStore, Source, WriteStore};
use crate::table::watch::Watch;
use crate::table::{Direct, ReadOnly, Reads, Scan, Scans, Table, UntypedTable, Writes};

/// The rows of one table, or of a pair that is re-keyed: for a program whose releases during a re-keying and after it differ in the line that
/// opens the table.
///
/// ```
/// use keyderive::table::rekey::MaybeRekeyed;
/// use keyderive::{Client, Error, Row, RowKey, Table};
/// # #[derive(RowKey, Debug)] struct OldKey { user: String, at: u64 }
/// # #[derive(RowKey, Debug)] #[row_key(rekeyed_from = OldKey)] #[salt(range = 64, over = "user")] struct EventKey { user: String, at: u64 }
/// # #[derive(Row)] struct Event { kind: String }
///
/// type Events = Table<EventKey, Event, MaybeRekeyed>;
///
/// async fn during(client: &Client) -> Result<Events, Error> {
///     Ok(client.rekeyed::<OldKey, EventKey, Event>("events", "events-64").await?.maybe_rekeyed())
/// }
///
/// fn after(client: &Client) -> Events {
///     client.table("events-64").maybe_rekeyed()
/// }
/// ```
///
/// It has the calls of [`Pair`], and [scans](Table::scan) by one plan. For loads, exports, copies, sizes and drops of rows, open the table as a plain
/// one, once it is.
#[derive(Clone, Debug)]
pub struct MaybeRekeyed {
    pair: Option<Pair<()>>,
}

impl<K: TableKey, R> Table<K, R> {
    /// The same table, as one that [may be re-keyed](MaybeRekeyed).
    #[must_use]
    pub fn maybe_rekeyed(&self) -> Table<K, R, MaybeRekeyed> {
        self.with_store(MaybeRekeyed { pair: None })
    }
}

impl<Old: PairKey, New: PairKey + RekeyedFrom<Old>, R> Rekeyed<Old, New, R> {
    /// The same table, as one that [may be re-keyed](MaybeRekeyed).
    #[must_use]
    pub fn maybe_rekeyed(&self) -> Table<New, R, MaybeRekeyed> {
        self.with_store(MaybeRekeyed { pair: Some(self.store.untyped()) })
    }
}

impl<New: PairKey, R> Rekeyed<(), New, R> {
    /// The same table, whose mapping declares the fields.
    pub(super) fn into_maybe(self) -> Table<New, R, MaybeRekeyed> {
        self.with_store(MaybeRekeyed { pair: Some(self.store.clone()) })
    }
}

impl Source for MaybeRekeyed {}

impl Reads for MaybeRekeyed {
    type Scanned = Self;

    fn scanned(&self) -> &Self {
        self
    }
}

#[diagnostic::do_not_recommend]
impl Writes for MaybeRekeyed {}

#[diagnostic::do_not_recommend]
impl<K: TableKey> Scans<K> for MaybeRekeyed {
    fn begin<R>(table: Table<K, R, Self>, plan: Result<Plan<K>, PlanError>) -> Scan<K, R, Self> {
        Scan::new(table, plan, OldSelection::Derived)
    }
}

#[diagnostic::do_not_recommend]
impl<K: TableKey> Scans<K> for ReadOnly<MaybeRekeyed> {
    fn begin<R>(
        table: Table<K, R, MaybeRekeyed>,
        plan: Result<Plan<K>, PlanError>,
    ) -> Scan<K, R, MaybeRekeyed> {
        Scan::new(table, plan, OldSelection::Derived)
    }
}

/// A scan of one of both while it runs.
#[expect(clippy::large_enum_variant, reason = "a scan has its cursor in a box")]
pub(crate) enum MaybePairCursor {
    One(ScanExecution),
    Pair(PairCursor),
}

/// The expression for the cursor that there is.
macro_rules! of_cursor {
    ($self:ident, $cursor:ident => $call:expr) => {
        match $self {
            MaybePairCursor::One($cursor) => $call,
            MaybePairCursor::Pair($cursor) => $call,
        }
    };
}

/// The expression for the store that there is.
macro_rules! of_store {
    ($self:ident, $store:ident => $call:expr) => {
        match &$self.pair {
            None => {
                let $store = &Direct;
                $call
            }
            Some($store) => $call,
        }
    };
}

impl ScanCursor for MaybePairCursor {
    fn poll_next_row(&mut self, cx: &mut Context<'_>) -> Poll<NextRow> {
        of_cursor!(self, cursor => cursor.poll_next_row(cx))
    }

    fn current(&self) -> Option<&RawRow> {
        of_cursor!(self, cursor => cursor.current())
    }

    fn delivered(&mut self) {
        of_cursor!(self, cursor => cursor.delivered());
    }

    fn fail_at_row(&mut self, error: Error) -> Error {
        of_cursor!(self, cursor => cursor.fail_at_row(error))
    }

    fn last_key(&self) -> &[u8] {
        of_cursor!(self, cursor => cursor.last_key())
    }

    fn visit_buffered(&mut self, max: u64, visit: impl FnMut(&RawRow) -> VisitResult) {
        of_cursor!(self, cursor => cursor.visit_buffered(max, visit));
    }

    fn count(&mut self, rows: u64) {
        of_cursor!(self, cursor => cursor.count(rows));
    }

    fn end(&mut self) {
        of_cursor!(self, cursor => cursor.end());
    }
}

impl ReadStore for MaybeRekeyed {
    type OldPlan = OldSelection;
    type Cursor = MaybePairCursor;

    async fn ensure_checked(&self, table: &UntypedTable) -> Result<(), Error> {
        of_store!(self, store => store.ensure_checked(table).await)
    }

    async fn ensure_fits(&self, table: &UntypedTable, written: WriteScope) -> Result<(), Error> {
        of_store!(self, store => store.ensure_fits(table, written).await)
    }

    async fn read_row(
        &self,
        table: &UntypedTable,
        key: Bytes,
        filter: Option<RowFilter>,
    ) -> Result<Option<RawRow>, Error> {
        of_store!(self, store => store.read_row(table, key, filter).await)
    }

    async fn read_many(
        &self,
        table: &UntypedTable,
        keys: Vec<Bytes>,
        filter: RowFilter,
    ) -> Result<FoundRows, Error> {
        of_store!(self, store => store.read_many(table, keys, filter).await)
    }

    async fn partitions(&self, table: &UntypedTable, plan: Plan<()>) -> Result<Vec<Plan<()>>, Error> {
        of_store!(self, store => store.partitions(table, plan).await)
    }

    fn explain(
        &self,
        plan: &Plan<()>,
        old: &OldSelection,
        options: ExplainOptions,
    ) -> Result<Explain, Error> {
        match &self.pair {
            None => Direct.explain(plan, &(), options),
            Some(pair) => pair.explain(plan, old, options),
        }
    }

    fn prefers_order(&self, plan: &Plan<()>, old: &OldSelection) -> bool {
        self.pair.as_ref().is_some_and(|pair| pair.prefers_order(plan, old))
    }

    fn scan(
        &self,
        table: &UntypedTable,
        plan: Plan<()>,
        old: OldSelection,
        scan: ScanRequest,
    ) -> Result<MaybePairCursor, Error> {
        match &self.pair {
            None => Direct.scan(table, plan, (), scan).map(MaybePairCursor::One),
            Some(pair) => pair.scan(table, plan, old, scan).map(MaybePairCursor::Pair),
        }
    }
}

impl WriteStore for MaybeRekeyed {
    fn known_info(&self, table: &UntypedTable) -> Option<Arc<TableInfo>> {
        of_store!(self, store => store.known_info(table))
    }

    async fn mutate_row(&self, table: &UntypedTable, key: Bytes, mutations: Mutations) -> Result<(), Error> {
        of_store!(self, store => store.mutate_row(table, key, mutations).await)
    }

    async fn delete_row(&self, table: &UntypedTable, key: Bytes) -> Result<(), Error> {
        of_store!(self, store => store.delete_row(table, key).await)
    }

    fn deletion(&self) -> MutationList {
        of_store!(self, store => store.deletion())
    }

    fn watch(&self, table: &UntypedTable) -> Watch {
        of_store!(self, store => store.watch(table))
    }

    fn watch_later(&self, table: &UntypedTable) -> Watch {
        of_store!(self, store => store.watch_later(table))
    }

    async fn send_entries(&self, table: &UntypedTable, entries: &Entries) -> Vec<Result<(), Error>> {
        of_store!(self, store => store.send_entries(table, entries).await)
    }

    async fn check_and_mutate_row(
        &self,
        table: &UntypedTable,
        key: Bytes,
        condition: Option<RowFilter>,
        then: Mutations,
        otherwise: Mutations,
    ) -> Result<bool, Error> {
        of_store!(self, store => store.check_and_mutate_row(table, key, condition, then, otherwise).await)
    }

    async fn read_modify_write_row<T: Send>(
        &self,
        table: &UntypedTable,
        key: Bytes,
        rules: Vec<ReadModifyWrite>,
        check: impl Fn(RawRow) -> Result<T, String> + Send + Sync,
    ) -> Result<T, Error> {
        of_store!(self, store => store.read_modify_write_row(table, key, rules, check).await)
    }
}
