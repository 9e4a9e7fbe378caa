//! The seam between what a table's calls mean and where its rows are.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use bytes::Bytes;

use super::execution::{ScanCursor, ScanExecution, ScanRequest, TableCheck};
use super::handle::WriteScope;
use super::watch::Watch;
use super::{Scan, Table, UntypedTable};
use crate::client::{Client, Entries, Error, Mutations, ReadRows, RowStream, TableInfo};
use crate::key::TableKey;
use crate::plan::{Explain, ExplainOptions, Plan, PlanError};
use crate::row::{Mutation, MutationList, RawRow, ReadModifyWrite, RowFilter};

/// A bound for code that reads tables of any kind: in place or [re-keyed](crate::table::rekey), whole or [as a part](super::Table::rows_as).
///
/// ```
/// use keyderive::table::Reads;
/// use keyderive::{Error, Table};
/// # use keyderive::{Row, RowKey};
/// # #[derive(RowKey)] struct UserKey { id: u64 }
/// # #[derive(Row)] struct User { age: u32 }
///
/// async fn age<S: Reads>(users: &Table<UserKey, User, S>, id: u64) -> Result<Option<u32>, Error> {
///     Ok(users.get(&UserKey { id }).await?.map(|user| user.age))
/// }
/// ```
///
/// [`Writes`] adds the calls that write, and [`OneTable`] the calls of a table that is not re-keyed.
/// [`Direct`], [`Pair`](crate::table::rekey::Pair) and [`ReadOnly`] implement it, and no other type can.
#[expect(private_bounds, reason = "it is sealed: its calls take types of the client")]
pub trait Reads: Source {
    /// What scans and selections of the table read. It is the same for a table that only reads, so no scan is compiled
    /// twice.
    type Scanned: ReadStore + Reads<Scanned = Self::Scanned>;

    #[doc(hidden)]
    fn scanned(&self) -> &Self::Scanned;
}

/// A bound for code that writes tables of any kind, in place or [re-keyed](crate::table::rekey).
///
/// ```
/// use keyderive::table::Writes;
/// use keyderive::{Error, Table};
/// # use keyderive::{Row, RowKey};
/// # #[derive(RowKey)] struct UserKey { id: u64 }
/// # #[derive(Row)] struct User { age: u32 }
///
/// async fn set_age<S: Writes>(users: &Table<UserKey, User, S>, id: u64, age: u32) -> Result<(), Error> {
///     users.update(&UserKey { id }).set(User::AGE, age).await
/// }
/// ```
///
/// [`Direct`] and [`Pair`](crate::table::rekey::Pair) implement it. [`ReadOnly`] does not: the table of a part of the columns only reads.
#[expect(private_bounds, reason = "it is sealed: its calls take types of the client")]
#[diagnostic::on_unimplemented(
    message = "this call writes, and a table over `{Self}` only reads",
    label = "a table that only reads",
    note = "a table from `rows_as` only reads; update the columns of the whole (`update(&key).set(User::NAME, …)`; in bulk `update_all`, \
            `writer().update`)",
    note = "generic code that writes takes a `Table<K, R, S>` with `S: Writes`"
)]
pub trait Writes: Reads + WriteStore {}

/// A bound for code that needs what a table has only while it is not [re-keyed](crate::table::rekey): exports, copies, sizes; and with
/// [`Writes`] loads, and drops of rows.
///
/// ```
/// use keyderive::table::{OneTable, Writes};
/// use keyderive::{Error, Table};
/// # use keyderive::{Row, RowKey};
/// # #[derive(RowKey)] #[salt(range = 4, over = "id")] struct UserKey { id: u64 }
///
/// async fn clear<R, S: OneTable + Writes>(users: &Table<UserKey, R, S>) -> Result<(), Error> {
///     users.drop_rows(UserKey::scan()).await
/// }
/// ```
///
/// [`Direct`] and `ReadOnly<Direct>` implement it.
#[diagnostic::on_unimplemented(
    message = "this call is of one table, and `{Self}` may be a pair of tables",
    label = "may be a pair of tables",
    note = "while a table is re-keyed it has no loads, exports, copies, sizes or drops of rows; put rows by `put_all` or a `writer`, and delete them by \
            `delete_rows`; before and after it, open the table as a plain one, by `client.table(…)`",
    note = "generic code for one table takes a `Table<K, R, S>` with `S: OneTable`, or with `S: OneTable + Writes`"
)]
pub trait OneTable: Reads<Scanned = Direct> {}

/// A bound for code that scans tables of any kind by one plan: in place, or [re-keyed](crate::table::rekey) from a key that `K` takes the
/// [place](crate::key::RekeyedFrom) of.
///
/// ```
/// use keyderive::table::Scans;
/// use keyderive::{Error, Table};
/// # use keyderive::{Row, RowKey};
/// # #[derive(RowKey)] struct UserKey { id: u64 }
///
/// async fn count<R, S: Scans<UserKey>>(users: &Table<UserKey, R, S>) -> Result<u64, Error> {
///     users.count(UserKey::scan()).await
/// }
/// ```
///
/// Whatever has [`OneTable`] has it too.
#[diagnostic::on_unimplemented(
    message = "a table over `{Self}` is not scanned by one plan of `{K}`",
    label = "`{K}` does not declare which fields of the old key it takes",
    note = "while a table is re-keyed from `OldKey`, a plan of the new key is enough if that has `#[row_key(rekeyed_from = OldKey)]`, which writes \
            both conversions; with conversions by hand, give a plan of each key, `scan_both(new, old)`, and there are no partitions and no `delete_rows`",
    note = "generic code that scans takes a `Table<K, R, S>` with `S: Scans<K>`"
)]
pub trait Scans<K: TableKey>: Reads {
    #[doc(hidden)]
    fn begin<R>(
        table: Table<K, R, Self::Scanned>,
        plan: Result<Plan<K>, PlanError>,
    ) -> Scan<K, R, Self::Scanned>;
}

impl<K: TableKey, S: OneTable> Scans<K> for S {
    fn begin<R>(table: Table<K, R, Direct>, plan: Result<Plan<K>, PlanError>) -> Scan<K, R> {
        Scan::new(table, plan, ())
    }
}

/// The rows of one table, which calls go to directly.
#[derive(Clone, Copy, Debug)]
pub struct Direct;

/// The rows of a table, or of a pair of tables that is re-keyed, for reads alone: what [`rows_as`](super::Table::rows_as) gives.
///
/// ```
/// use keyderive::table::ReadOnly;
/// use keyderive::Table;
/// # use keyderive::{Row, RowKey};
/// # #[derive(RowKey)] struct UserKey { id: u64 }
/// # #[derive(Row)] struct User { name: String, portrait: String }
///
/// /// A part of a `User`.
/// #[derive(Row)]
/// struct Card {
///     name: String,
/// }
///
/// struct Cards(Table<UserKey, Card, ReadOnly>);
///
/// # fn sample(users: &Table<UserKey, User>) -> Cards {
/// Cards(users.rows_as())
/// # }
/// ```
///
/// A call that writes does not compile:
///
/// ```compile_fail,E0277
/// # use keyderive::table::ReadOnly;
/// # use keyderive::Table;
/// # use keyderive::{Row, RowKey};
/// # #[derive(RowKey)] struct UserKey { id: u64 }
/// # #[derive(Row)] struct Card { name: String }
/// # async fn sample(cards: Table<UserKey, Card, ReadOnly>) -> Result<(), keyderive::Error> {
/// cards.put(&UserKey { id: 7 }, &Card { name: "Corrie".into() }).await
/// # }
/// ```
///
/// Update the columns of the whole in its place: `users.update(&key).set(User::NAME, "Corrie")`, and in bulk
/// [`update_all`](super::Table::update_all) or [`Writer::update`](super::Writer::update).
#[derive(Clone, Debug)]
pub struct ReadOnly<S = Direct>(pub(super) S);

/// Seals [`Reads`].
pub(crate) trait Source: Clone + fmt::Debug + Send + Sync + 'static {}

impl Source for Direct {}
impl<S: ReadStore> Source for ReadOnly<S> {}

impl Reads for Direct {
    type Scanned = Self;

    fn scanned(&self) -> &Self {
        self
    }
}

impl<S: ReadStore + Reads<Scanned = S>> Reads for ReadOnly<S> {
    type Scanned = S;

    fn scanned(&self) -> &S {
        &self.0
    }
}

#[diagnostic::do_not_recommend]
impl Writes for Direct {}

#[diagnostic::do_not_recommend]
impl OneTable for Direct {}
#[diagnostic::do_not_recommend]
impl OneTable for ReadOnly<Direct> {}

/// The calls that a table's reads are made of. Keys are of the table's key type, encoded.
pub(crate) trait ReadStore: Clone + fmt::Debug + Send + Sync + 'static {
    /// What a scan selects besides its plan.
    type OldPlan: Clone + fmt::Debug + Send;
    /// A scan while it runs.
    type Cursor: ScanCursor + Send;

    /// The check that every typed call begins with: that keys and rows of the table are of the declared types.
    ///
    /// # Errors
    /// [`is_table_mismatch`](Error::is_table_mismatch) for the first difference.
    fn ensure_checked(&self, table: &UntypedTable) -> impl Future<Output = Result<(), Error>> + Send;

    /// The check before every call that depends on the row type: as [`ensure_checked`](Self::ensure_checked), and that the
    /// row type fits other programs'.
    fn ensure_fits(
        &self,
        table: &UntypedTable,
        written: WriteScope,
    ) -> impl Future<Output = Result<(), Error>> + Send;

    /// What the filter lets through of the stored row with this key.
    fn read_row(
        &self,
        table: &UntypedTable,
        key: Bytes,
        filter: Option<RowFilter>,
    ) -> impl Future<Output = Result<Option<RawRow>, Error>> + Send;

    /// The rows with these keys, which are in order and distinct.
    fn read_many(
        &self,
        table: &UntypedTable,
        keys: Vec<Bytes>,
        filter: RowFilter,
    ) -> impl Future<Output = Result<FoundRows, Error>> + Send;

    /// The parts of a plan, of about equal size, that together have each row once.
    fn partitions(
        &self,
        table: &UntypedTable,
        plan: Plan<()>,
    ) -> impl Future<Output = Result<Vec<Plan<()>>, Error>> + Send;

    /// Describes a scan.
    ///
    /// # Errors
    /// If it cannot be run.
    fn explain(
        &self,
        plan: &Plan<()>,
        other: &Self::OldPlan,
        options: ExplainOptions,
    ) -> Result<Explain, Error>;

    /// Whether a scan by a caller that needs no order should have one.
    fn prefers_order(&self, plan: &Plan<()>, other: &Self::OldPlan) -> bool;

    /// Begins a scan.
    ///
    /// # Errors
    /// If it cannot be run.
    fn scan(
        &self,
        table: &UntypedTable,
        plan: Plan<()>,
        other: Self::OldPlan,
        scan: ScanRequest,
    ) -> Result<Self::Cursor, Error>;
}

/// The calls that a table's writes are made of, as [`ReadStore`].
pub(crate) trait WriteStore: ReadStore {
    /// The schema of the table, if it is known.
    fn known_info(&self, table: &UntypedTable) -> Option<Arc<TableInfo>>;

    /// Changes one row, all or nothing.
    fn mutate_row(
        &self,
        table: &UntypedTable,
        key: Bytes,
        mutations: Mutations,
    ) -> impl Future<Output = Result<(), Error>> + Send;

    /// Deletes one row.
    fn delete_row(&self, table: &UntypedTable, key: Bytes) -> impl Future<Output = Result<(), Error>> + Send;

    /// The mutations that delete a row, for a larger request.
    fn deletion(&self) -> MutationList;

    /// Watches whether a call with several requests still writes to the table that it began with.
    fn watch(&self, table: &UntypedTable) -> Watch;

    /// The same for calls of which the first may come long after the table was checked.
    fn watch_later(&self, table: &UntypedTable) -> Watch;

    /// Sends the entries of a batch; returns their outcomes in their order.
    fn send_entries(
        &self,
        table: &UntypedTable,
        entries: &Entries,
    ) -> impl Future<Output = Vec<Result<(), Error>>> + Send;

    /// Applies `then` if the filter passes a cell of the row, or without a filter if the row exists; `otherwise` if not.
    fn check_and_mutate_row(
        &self,
        table: &UntypedTable,
        key: Bytes,
        condition: Option<RowFilter>,
        then: Mutations,
        otherwise: Mutations,
    ) -> impl Future<Output = Result<bool, Error>> + Send;

    /// Increments or appends to cells of a row; returns what `check` makes of the changed cells.
    fn read_modify_write_row<T: Send>(
        &self,
        table: &UntypedTable,
        key: Bytes,
        rules: Vec<ReadModifyWrite>,
        check: impl Fn(RawRow) -> Result<T, String> + Send + Sync,
    ) -> impl Future<Output = Result<T, Error>> + Send;
}

/// Rows that were found by their keys, in the order of the keys.
pub(crate) enum FoundRows {
    /// As they arrive.
    Stream(RowStream),
    Rows(Vec<RawRow>),
}

impl FoundRows {
    /// Calls `each` on every row, until it fails.
    pub(super) async fn for_each(self, each: impl FnMut(&RawRow) -> Result<(), Error>) -> Result<(), Error> {
        match self {
            Self::Stream(rows) => rows.for_each(each).await,
            Self::Rows(rows) => rows.iter().try_for_each(each),
        }
    }
}

impl ReadStore for Direct {
    type OldPlan = ();
    type Cursor = ScanExecution;

    #[inline]
    async fn ensure_checked(&self, table: &UntypedTable) -> Result<(), Error> {
        table.ensure_checked().await
    }

    #[inline]
    async fn ensure_fits(&self, table: &UntypedTable, written: WriteScope) -> Result<(), Error> {
        table.ensure_fits(written).await
    }

    #[inline]
    async fn read_row(
        &self,
        table: &UntypedTable,
        key: Bytes,
        filter: Option<RowFilter>,
    ) -> Result<Option<RawRow>, Error> {
        table.client.read_row(&table.name, key, filter).await
    }

    async fn read_many(
        &self,
        table: &UntypedTable,
        keys: Vec<Bytes>,
        filter: RowFilter,
    ) -> Result<FoundRows, Error> {
        let request = ReadRows { keys, ..ReadRows::default() }.filter(filter);
        Ok(FoundRows::Stream(table.client.read_rows(&table.name, request)))
    }

    async fn partitions(&self, table: &UntypedTable, plan: Plan<()>) -> Result<Vec<Plan<()>>, Error> {
        Ok(table.partitions().await?.iter().map(|window| plan.within(window)).collect())
    }

    fn explain(&self, plan: &Plan<()>, (): &(), options: ExplainOptions) -> Result<Explain, Error> {
        Ok(plan.explain_with(options))
    }

    fn prefers_order(&self, _: &Plan<()>, (): &()) -> bool {
        false
    }

    fn scan(
        &self,
        table: &UntypedTable,
        plan: Plan<()>,
        (): (),
        scan: ScanRequest,
    ) -> Result<ScanExecution, Error> {
        let reads_values = scan.options.reads_values();
        let is_checked =
            if reads_values { table.is_fit_checked(WriteScope::Nothing) } else { table.is_checked() };
        let check = |client: &Client| {
            (!is_checked).then(|| -> TableCheck {
                let table = table.with_client(client.clone());
                Box::pin(async move {
                    match reads_values {
                        true => table.ensure_fits(WriteScope::Nothing).await,
                        false => table.ensure_checked().await,
                    }
                })
            })
        };
        Ok(ScanExecution::new(plan, scan, check))
    }
}

impl WriteStore for Direct {
    fn known_info(&self, table: &UntypedTable) -> Option<Arc<TableInfo>> {
        table.client.known_info(&table.name)
    }

    #[inline]
    async fn mutate_row(&self, table: &UntypedTable, key: Bytes, mutations: Mutations) -> Result<(), Error> {
        table.client.mutate_row(&table.name, key, mutations).await
    }

    async fn delete_row(&self, table: &UntypedTable, key: Bytes) -> Result<(), Error> {
        table.client.mutate_row(&table.name, key, Mutations::delete_row()).await
    }

    fn deletion(&self) -> MutationList {
        let mut deletion = MutationList::default();
        deletion.push(Mutation::delete_row());
        deletion
    }

    fn watch(&self, table: &UntypedTable) -> Watch {
        Watch::from_now(table)
    }

    fn watch_later(&self, table: &UntypedTable) -> Watch {
        Watch::of(table)
    }

    async fn send_entries(&self, table: &UntypedTable, entries: &Entries) -> Vec<Result<(), Error>> {
        table.client.send_entries(&table.name, entries).await
    }

    async fn check_and_mutate_row(
        &self,
        table: &UntypedTable,
        key: Bytes,
        condition: Option<RowFilter>,
        then: Mutations,
        otherwise: Mutations,
    ) -> Result<bool, Error> {
        table.client.check_and_mutate_row(&table.name, key, condition, then, otherwise).await
    }

    async fn read_modify_write_row<T: Send>(
        &self,
        table: &UntypedTable,
        key: Bytes,
        rules: Vec<ReadModifyWrite>,
        check: impl Fn(RawRow) -> Result<T, String> + Send + Sync,
    ) -> Result<T, Error> {
        table.client.read_modify_write_row(&table.name, key, rules, check).await
    }
}
