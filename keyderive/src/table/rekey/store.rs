//! A table over a pair: the calls that programs make while a table is re-keyed.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use bytes::Bytes;

use super::keys::PairKey;
use super::migration::Migration;
use super::pair::TablePair;
use super::scan::{OldSelection, PairCursor};
use crate::client::{Entries, Error, Mutations, TableInfo};
use crate::key::RekeyedFrom;
use crate::plan::{Explain, ExplainOptions, IntoPlan, Plan, PlanError};
use crate::row::{MutationList, RawRow, ReadModifyWrite, RowFilter};
use crate::table::execution::{ScanRequest, TableCheck};
use crate::table::handle::WriteScope;
use crate::table::store::{FoundRows, ReadStore, Source, WriteStore};
use crate::table::watch::Watch;
use crate::table::{ReadOnly, Reads, Scan, Scans, Table, UntypedTable, Writes};

/// A table with keys `Old` that becomes one with keys `New`, from [`Client::rekeyed`](crate::Client::rekeyed).
///
/// Its calls take new keys, and go to the table that the state of the re-keying says: [`Pair`].
pub type Rekeyed<Old, New, R> = Table<New, R, Pair<Old>>;

/// The rows of a table with keys `Old` that is re-keyed: in that table, or in the one that it becomes.
///
/// A [`Table`] over a pair has the calls of one table that can be kept during a re-keying: there are no loads, exports, copies, sizes and drops of
/// rows. Each has the errors of the call for one table, and these: the call fails with
/// [`is_unavailable`](Error::is_unavailable) if the state cannot be read for longer than a lease, and a write that waits for
/// the next state fails with [`is_deadline_exceeded`](Error::is_deadline_exceeded) when its timeout passes; both can be
/// [repeated](Error::is_retryable). An increment, an append or a conditional write has an [unknown
/// outcome](Error::is_outcome_unknown) if the lease ends before its answer arrives.
///
/// [`delete`](Table::delete) deletes the families that the table had when it was opened, and leaves the row's origin until the
/// re-keying ends. For the calls of this handle there is no row then; a client that knows nothing of the re-keying sees the origin.
///
/// ```compile_fail,E0277
/// # use keyderive::table::rekey::Rekeyed;
/// # use keyderive::{Row, RowKey};
/// # #[derive(RowKey, Debug)] struct Old { id: u64 }
/// # #[derive(RowKey, Debug)] #[salt(range = 16)] struct New { id: u64 }
/// # #[derive(Row)] struct Event { kind: String }
/// # fn sample(events: Rekeyed<Old, New, Event>) {
/// let export = events.export(New::scan()); // it would read by a state that may have passed
/// # }
/// ```
///
/// A handle: clones share the client and the lease on the state.
pub struct Pair<Old> {
    tables: Arc<TablePair>,
    old: PhantomData<fn() -> Old>,
}

impl<Old> Pair<Old> {
    pub(super) fn new(tables: Arc<TablePair>) -> Self {
        Self { tables, old: PhantomData }
    }

    /// The same without the type of the old key.
    pub(super) fn untyped(&self) -> Pair<()> {
        Pair::new(Arc::clone(&self.tables))
    }
}

impl<Old: PairKey, New: PairKey, R> Rekeyed<Old, New, R> {
    /// The driver, which moves the table from state to state.
    pub fn migration(&self) -> Migration {
        Migration::new(Arc::clone(&self.store.tables), self.handle.client.clone())
    }
}

/// Scans by two plans.
///
/// While rows are copied, an [`unordered`](Scan::unordered) scan reads the table that nobody writes twice, and keeps the keys of its
/// rows in memory that garbage collection may remove within an hour. If it runs for longer, a row that is removed from that table
/// meanwhile can come twice.
impl<Old: PairKey, New: PairKey, R> Table<New, R, Pair<Old>> {
    /// A scan of the rows that both plans select: one by new keys, and the same by old keys. For conversions that are written by hand; where
    /// the new key takes the [place](crate::key::RekeyedFrom) of the old one field by field, [`scan`](Table::scan) needs one plan.
    ///
    /// ```
    /// # use keyderive::table::rekey::Rekeyed;
    /// # use keyderive::{Row, RowKey};
    /// # #[derive(RowKey, Clone, Debug)] #[salt(range = 4, over = "user")] struct Old { user: String, at: u64 }
    /// # #[derive(RowKey, Clone, Debug)] #[salt(range = 16, over = "user")] struct New { user: String, at: u64 }
    /// # impl From<Old> for New { fn from(Old { user, at }: Old) -> Self { Self { user, at } } }
    /// # impl From<&New> for Old { fn from(new: &New) -> Self { Self { user: new.user.clone(), at: new.at } } }
    /// # #[derive(Row)] struct Event { kind: String }
    /// # async fn sample(events: Rekeyed<Old, New, Event>) -> Result<(), keyderive::Error> {
    /// let scan = events.scan_both(New::scan().user("alice"), Old::scan().user("alice"));
    /// let newest = scan.reversed().limit(5).collect().await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Sends nothing yet. Each row comes once, with its key in the new table, and is one that the table had at some time between the
    /// call and its delivery. A filter, a condition and a `ttl` see the row that counts, whatever the other table has; a filter sees
    /// no origins. The stream ends with the first error: those of [`Scan::stream`], and these.
    ///
    /// - A row that one of the plans selects, and the other does not.
    /// - The scan must be [`unordered`](Scan::unordered) if [the keys sort otherwise](crate::table::rekey#order), or if the conversions change
    ///   the value of a field. The last is an error once the scan comes to such a row: conversions must change all rows, or none. An
    ///   unordered scan waits in the states in which writes wait, and fails when the state changes, with an error that
    ///   [`is_retryable`](Error::is_retryable).
    /// - A filter with [`row_key_regex`](RowFilter::row_key_regex), with [`InvalidArgument`](crate::ErrorKind::InvalidArgument): use the
    ///   plans.
    pub fn scan_both(&self, new: impl IntoPlan<New>, old: impl IntoPlan<Old>) -> Scan<New, R, Pair<Old>> {
        let old = OldSelection::Given(old.into_plan().map(Plan::untyped));
        Scan::new(self.clone(), new.into_plan(), old)
    }
}

/// Scans of a [part](Table::rows_as) of the row type by two plans.
impl<Old: PairKey, New: PairKey, R> Table<New, R, ReadOnly<Pair<Old>>> {
    /// A [scan](Table::scan_both) of the rows that both plans select, as a scan of the whole.
    pub fn scan_both(&self, new: impl IntoPlan<New>, old: impl IntoPlan<Old>) -> Scan<New, R, Pair<Old>> {
        self.scanned().scan_both(new, old)
    }
}

impl<Old: PairKey, New: PairKey + RekeyedFrom<Old>> Scans<New> for Pair<Old> {
    fn begin<R>(table: Table<New, R, Self>, plan: Result<Plan<New>, PlanError>) -> Scan<New, R, Self> {
        Scan::new(table, plan, OldSelection::Derived)
    }
}

impl<Old: PairKey, New: PairKey + RekeyedFrom<Old>> Scans<New> for ReadOnly<Pair<Old>> {
    fn begin<R>(
        table: Table<New, R, Pair<Old>>,
        plan: Result<Plan<New>, PlanError>,
    ) -> Scan<New, R, Pair<Old>> {
        Scan::new(table, plan, OldSelection::Derived)
    }
}

impl<Old: 'static> Source for Pair<Old> {}

impl<Old: 'static> Reads for Pair<Old> {
    type Scanned = Self;

    fn scanned(&self) -> &Self {
        self
    }
}

#[diagnostic::do_not_recommend]
impl<Old: 'static> Writes for Pair<Old> {}

impl<Old: 'static> ReadStore for Pair<Old> {
    type OldPlan = OldSelection;
    type Cursor = PairCursor;

    async fn ensure_checked(&self, table: &UntypedTable) -> Result<(), Error> {
        table.ensure_families(self.tables.info())
    }

    async fn ensure_fits(&self, table: &UntypedTable, written: WriteScope) -> Result<(), Error> {
        table.ensure_families(self.tables.info())?;
        match table.is_row_type_checked(written) {
            true => Ok(()),
            false => Box::pin(table.check_row_type(written, &self.tables.declared_in())).await,
        }
    }

    async fn read_row(
        &self,
        table: &UntypedTable,
        key: Bytes,
        filter: Option<RowFilter>,
    ) -> Result<Option<RawRow>, Error> {
        self.tables.read_row(&table.client, key, filter).await
    }

    async fn read_many(
        &self,
        table: &UntypedTable,
        keys: Vec<Bytes>,
        filter: RowFilter,
    ) -> Result<FoundRows, Error> {
        self.tables.read_many(&table.client, &keys, Some(filter)).await.map(FoundRows::Rows)
    }

    async fn partitions(&self, table: &UntypedTable, plan: Plan<()>) -> Result<Vec<Plan<()>>, Error> {
        self.tables.partitions(&table.client, plan).await
    }

    fn explain(&self, new: &Plan<()>, old: &OldSelection, options: ExplainOptions) -> Result<Explain, Error> {
        self.tables.explain(new, old, options)
    }

    fn prefers_order(&self, new: &Plan<()>, old: &OldSelection) -> bool {
        let old = self.tables.old_of(new, old);
        old.is_ok_and(|old| self.tables.pairing().is_turned([&old.plan, new]).is_ok())
    }

    fn scan(
        &self,
        table: &UntypedTable,
        new: Plan<()>,
        old: Self::OldPlan,
        scan: ScanRequest,
    ) -> Result<PairCursor, Error> {
        table.ensure_families(self.tables.info())?;
        let is_compared = !scan.options.reads_values() || table.is_row_type_checked(WriteScope::Nothing);
        let check = (!is_compared).then(|| -> TableCheck {
            let (table, tables) = (table.with_client(scan.client.clone()), self.tables.declared_in());
            Box::pin(async move { table.check_row_type(WriteScope::Nothing, &tables).await })
        });
        Ok(PairCursor::new(&self.tables, new, old, scan, check))
    }
}

impl<Old: 'static> WriteStore for Pair<Old> {
    fn known_info(&self, _: &UntypedTable) -> Option<Arc<TableInfo>> {
        Some(Arc::clone(self.tables.info()))
    }

    async fn mutate_row(&self, table: &UntypedTable, key: Bytes, mutations: Mutations) -> Result<(), Error> {
        self.tables.mutate_row(&table.client, key, mutations).await
    }

    async fn delete_row(&self, table: &UntypedTable, key: Bytes) -> Result<(), Error> {
        self.tables.delete_row(&table.client, key).await
    }

    fn deletion(&self) -> MutationList {
        let mut deletion = MutationList::default();
        self.tables.deletions().for_each(|family| deletion.push(family));
        deletion
    }

    /// Each request knows the state that it acts by.
    fn watch(&self, _: &UntypedTable) -> Watch {
        Watch::off()
    }

    fn watch_later(&self, _: &UntypedTable) -> Watch {
        Watch::off()
    }

    async fn send_entries(&self, table: &UntypedTable, entries: &Entries) -> Vec<Result<(), Error>> {
        self.tables.send_entries(&table.client, entries).await
    }

    async fn check_and_mutate_row(
        &self,
        table: &UntypedTable,
        key: Bytes,
        condition: Option<RowFilter>,
        then: Mutations,
        otherwise: Mutations,
    ) -> Result<bool, Error> {
        self.tables.check_and_mutate_row(&table.client, key, condition, then, otherwise).await
    }

    async fn read_modify_write_row<T: Send>(
        &self,
        table: &UntypedTable,
        key: Bytes,
        rules: Vec<ReadModifyWrite>,
        check: impl Fn(RawRow) -> Result<T, String> + Send + Sync,
    ) -> Result<T, Error> {
        self.tables.read_modify_write_row(&table.client, key, rules, check).await
    }
}

impl<Old> Clone for Pair<Old> {
    fn clone(&self) -> Self {
        Self { tables: Arc::clone(&self.tables), old: PhantomData }
    }
}

impl<Old> fmt::Debug for Pair<Old> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.tables.fmt(f)
    }
}
