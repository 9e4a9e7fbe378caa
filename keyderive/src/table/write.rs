//! Every way to write: whole rows, some columns, increments, conditional writes, deletions.
//!
//! A row is encoded into an [`Entry`], checked, and sent in one request; `put_all`, `merge_all` and `delete_rows` send many in
//! a request. The writer and the loads, which run for long, are in `writer.rs` and `load.rs`.

use std::borrow::Borrow;
use std::fmt;
use std::future::{Future, IntoFuture};
use std::num::NonZeroU64;
use std::ops::Not;
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use rapidhash::v3::{RapidSecrets, rapidhash_v3_nano_inline};

use super::handle::{BoundTable, WriteScope};
use super::watch::Watch;
use super::{Direct, OnForeign, OneTable, ReadStore as _, Reads, Scans, Table, UntypedTable, Writes};
use crate::client::{
    Batch, Entry, Error, ExplicitTimestamp, Family, GcRule, Granularity, Mutations, REQUEST_BYTES, TableInfo,
};
use crate::key::TableKey;
use crate::plan::{IntoPlan, Plan};
use crate::row::{
    Addable, AddableAt, AdditionsOnly, Appendable, CellError, CellType, CellValue, CellWriter, Clearable,
    ColumnKind, ColumnPlace, ColumnRef, ColumnType, Condition, Countable, FamilyRef, History, Mutation,
    MutationList, MutationSink, Name, RawRow, ReadModifyWrite, Row, RowError, RowFilter, RowWriter,
    SERVER_TIME, Settable, SettableAt, ValuesOnly, VisibleCells, aggregate_addition, check_kind,
    check_timestamp,
};

/// Which versions of a column must be young enough to be read.
#[derive(Clone, Copy, Debug)]
enum CheckedVersions {
    /// The newest, for a whole row: the others may have expired since they were read.
    Newest,
    /// Each, for changes: the caller gave every one by itself.
    Each,
}

/// How many rows a request deletes.
const DELETED_ROWS: usize = 5_000;

impl<K: TableKey, R, S: Reads> Table<K, R, S> {
    /// Stores a whole row: makes the columns of the row type equal to those of `row`, in one atomic request.
    ///
    /// ```
    /// # use keyderive::{Client, Row, RowKey};
    /// # #[derive(RowKey)] struct UserKey { id: u64 }
    /// # #[derive(Row)] struct User { age: u32 }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), keyderive::Error> {
    /// # let users = Client::embedded().table::<UserKey, User>("users");
    /// # users.create_if_absent().await?;
    /// users.put(&UserKey { id: 7 }, &User { age: 42 }).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// When it returns, the stored columns of the type are those of this value, whatever the clients' clocks say. Of
    /// concurrent puts, the one that the server applies last stays, and no reader sees a mixture. A request that timed out can
    /// arrive after the call has returned and bring this value back, whole; use [`put_if`](Self::put_if) where that matters.
    ///
    /// Present fields are set at the server's time, and absent options are deleted. Columns that the struct does not name
    /// stay, since a newer version of the program may have written them; so do [aggregates](crate::row#columns-and-families). A
    /// map owns its whole family. A row whose fields are all absent still exists: `put` stores an empty cell for it.
    ///
    /// This relies on two things. The server's clock never steps back. And no program sets cells in the future, by a raw write
    /// or a [`Timestamped`](crate::row::Timestamped) that is ahead: such a cell hides every put until its time has passed.
    /// Reads report cells more than a minute in the future by a warning and the metric `keyderive.future_cells`.
    ///
    /// Every transient failure is retried: a put that is applied twice stores one more version of the same value.
    ///
    /// # Errors
    /// When the key or the row cannot be encoded, or the write fails, for example because the table lacks the family of a
    /// field. After an error with [`is_outcome_unknown`](Error::is_outcome_unknown), put the row again.
    ///
    /// # Cancel safety
    /// If the future is dropped, the row is put whole or not at all, perhaps later.
    pub async fn put(&self, key: &K, row: &R) -> Result<(), Error>
    where
        R: Row,
        S: Writes,
    {
        self.bound().ensure_writable(WriteScope::Rows).await?;
        self.bound().mutate(self.entry(key, row)?).await
    }

    /// Sets what is present in `row`, in one atomic request, and leaves the rest of the stored row as it is.
    ///
    /// The changes apply together. Later reads return the new value of each changed column, except that a
    /// [`Timestamped`](crate::row::Timestamped) value which is older than the stored one stays hidden by it. A missing row is
    /// created with these columns alone: where keys are always new, as in a time series, it costs less than a `put`.
    ///
    /// ```
    /// # use keyderive::{Client, Row, RowKey};
    /// # #[derive(RowKey)] struct UserKey { id: u64 }
    /// #[derive(Row, Debug, Default, PartialEq)]
    /// struct User {
    ///     name: Option<String>,
    ///     age: Option<u32>,
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), keyderive::Error> {
    /// let users = Client::embedded().table::<UserKey, User>("users");
    /// users.create_if_absent().await?;
    /// let key = UserKey { id: 7 };
    /// users.put(&key, &User { name: Some("Corrie".into()), age: None }).await?;
    /// users.merge(&key, &User { age: Some(42), ..User::default() }).await?;
    /// assert_eq!(users.get(&key).await?, Some(User { name: Some("Corrie".into()), age: Some(42) }));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// A `None` leaves the stored column as it is. A map adds its entries to the stored ones, and
    /// [`Versions`](crate::row::Versions) add theirs. `merge` deletes only what is stored under the alias of a column that it
    /// sets. After a concurrent `put` of the row, columns of both may stay.
    ///
    /// # Errors
    /// Those of [`put`](Self::put).
    ///
    /// # Cancel safety
    /// As `put`.
    pub async fn merge(&self, key: &K, row: &R) -> Result<(), Error>
    where
        R: Row,
        S: Writes,
    {
        self.bound().ensure_writable(WriteScope::Columns).await?;
        let mut entry = Entry::default();
        self.encode_row(&mut entry, key, row, true)?;
        self.bound().mutate(entry).await
    }

    /// [`put`](Self::put) for many rows, in requests of about 1 MiB, one after the other.
    ///
    /// Rows are stored whole, request by request in the order given; of two rows with one key the last stays. After an error
    /// earlier requests are stored, and rows of the failed one may be. [Load](Self::load) a file or a finite stream instead, and
    /// pass rows that arrive one by one to a [`writer`](Self::writer).
    ///
    /// ```
    /// # use keyderive::{Client, Row, RowKey};
    /// # #[derive(RowKey)] struct UserKey { id: u64 }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), keyderive::Error> {
    /// # #[derive(Row)] struct User { age: u32 }
    /// let users = Client::embedded().table::<UserKey, User>("users");
    /// users.create_if_absent().await?;
    /// let rows = (0..1000).map(|id| (UserKey { id }, User { age: 42 }));
    /// users.put_all(rows).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// The iterator is read while requests are built. It must be `Send`, so that the future can be spawned.
    ///
    /// # Errors
    /// For the first row that cannot be encoded, with its index in the input, after the rows before it were sent; for
    /// the first row that the server rejects, with its key.
    ///
    /// # Cancel safety
    /// If the future is dropped, some of the rows are put, each whole or not at all, perhaps later.
    pub fn put_all<'a, I>(&'a self, rows: I) -> impl Future<Output = Result<(), Error>> + Send + 'a
    where
        I: IntoIterator<Item: Borrow<(K, R)>, IntoIter: Send + 'a>,
        R: Row,
        S: Writes,
    {
        self.write_all(rows.into_iter(), false)
    }

    /// [`merge`](Self::merge) for many rows, as [`put_all`](Self::put_all) writes them.
    ///
    /// # Errors
    /// Those of `put_all`.
    ///
    /// # Cancel safety
    /// As `put_all`.
    pub fn merge_all<'a, I>(&'a self, rows: I) -> impl Future<Output = Result<(), Error>> + Send + 'a
    where
        I: IntoIterator<Item: Borrow<(K, R)>, IntoIter: Send + 'a>,
        R: Row,
        S: Writes,
    {
        self.write_all(rows.into_iter(), true)
    }

    /// Deletes the row with this key; a missing row is no error.
    ///
    /// ```
    /// # use keyderive::{Client, Row, RowKey};
    /// # #[derive(RowKey)] struct UserKey { id: u64 }
    /// # #[derive(Row)] struct User { age: u32 }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), keyderive::Error> {
    /// # let users = Client::embedded().table::<UserKey, User>("users");
    /// # users.create_if_absent().await?;
    /// users.put(&UserKey { id: 7 }, &User { age: 42 }).await?;
    /// users.delete(&UserKey { id: 7 }).await?;
    /// assert!(!users.exists(&UserKey { id: 7 }).await?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// When it returns the row is gone, with the columns of all row types. A write that arrives later creates it again.
    ///
    /// # Errors
    /// When the key cannot be encoded, or the write fails. After any failure, delete it again.
    ///
    /// # Cancel safety
    /// If the future is dropped, the row is deleted or not, perhaps later.
    pub async fn delete(&self, key: &K) -> Result<(), Error>
    where
        S: Writes,
    {
        self.bound().ensure_checked().await?;
        let key = self.encode(key)?;
        self.store.delete_row(&self.handle, key).await
    }
}

impl<K: TableKey, R, S: Reads> Table<K, R, S> {
    /// Changes some columns of a row, and leaves the others as they are.
    ///
    /// ```
    /// # use keyderive::{Client, Row, RowKey};
    /// # use std::collections::BTreeMap;
    /// # #[derive(RowKey)] struct UserKey { id: u64 }
    /// #[derive(Row, Debug, PartialEq)]
    /// struct User {
    ///     name: String,
    ///     email: Option<String>,
    ///     #[row(family)]
    ///     visits: BTreeMap<String, u64>, // a column for each day
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), keyderive::Error> {
    /// let users = Client::embedded().table::<UserKey, User>("users");
    /// users.create_if_absent().await?;
    /// let (key, email) = (UserKey { id: 7 }, Some("corrie@example.com".to_owned()));
    /// users.put(&key, &User { name: "Corrie".into(), email, visits: BTreeMap::new() }).await?;
    ///
    /// let visits = User::VISITS.at("2026-05-01");
    /// users.update(&key).set(User::NAME, "Cornelia").clear(User::EMAIL).set(visits, 3).await?;
    ///
    /// let visits = BTreeMap::from([("2026-05-01".into(), 3)]);
    /// assert_eq!(users.get(&key).await?, Some(User { name: "Cornelia".into(), email: None, visits }));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// A missing row is created with these columns alone, and cannot be read if the row type requires others:
    /// `.only_if(Condition::row_exists())` prevents that. A row that loses its last cell is gone; a row whose fields were all absent when
    /// it was put has an empty cell, and exists until it is deleted. Use [`increment`](Self::increment) for counters, or
    /// [`modify`](Self::modify) for several at once: Bigtable has no request that both sets columns and increments others.
    pub fn update(&self, key: &K) -> Update<K, R, S>
    where
        S: Writes,
    {
        let changes = Changes { key: self.encode(key), mutations: MutationList::default(), fault: None };
        Update { table: self.clone(), changes }
    }

    /// [Updates](Self::update) of many rows, in requests of about 1 MiB, one after the other.
    ///
    /// ```
    /// # use keyderive::{Client, Row, RowKey};
    /// # #[derive(RowKey)] struct PageKey { url: String }
    /// use keyderive::row::Sum;
    ///
    /// #[derive(Row)]
    /// struct Page {
    ///     title: Option<String>,
    ///     #[row(family = "sums")]
    ///     views: Sum,
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), keyderive::Error> {
    /// let pages = Client::embedded().table::<PageKey, Page>("pages");
    /// pages.create_if_absent().await?;
    /// let urls = ["/", "/about", "/"];
    /// let views = urls.map(|url| pages.update(&PageKey { url: url.into() }).add(Page::VIEWS, 1));
    /// pages.update_all(views).await?;
    /// let home = pages.get(&PageKey { url: "/".into() }).await?.unwrap();
    /// assert_eq!(home.views.get(), 2);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Each row is updated whole. Two updates of one row are applied in the order given. Updates without a change are skipped.
    /// After an error, earlier requests are applied, and rows of the failed one may be.
    ///
    /// # Errors
    /// For the first update with an error, with its index in the input, after the updates before it were sent; for the first row
    /// that the server rejects, with its key.
    ///
    /// # Cancel safety
    /// If the future is dropped, some of the rows are updated, each whole or not at all, perhaps later.
    pub fn update_all<'a, I>(&'a self, updates: I) -> impl Future<Output = Result<(), Error>> + Send + 'a
    where
        I: IntoIterator<Item = Update<K, R, S>, IntoIter: Send + 'a>,
        S: Writes,
    {
        let mut updates = updates.into_iter().enumerate();
        async move {
            let mut next = |entry: &mut Entry| {
                let (index, update) = updates.find(|(_, update)| !update.is_empty())?;
                Some(update.encode_into(self, entry).map_err(|error| Error::input(index, error)))
            };
            self.bound().write_entries(Some(WriteScope::Columns), &mut next).await
        }
    }

    /// Adds to a counter of a row; returns the new count. An absent column counts as 0, and a missing row is created.
    ///
    /// A counter is a field with `#[row(counter)]`, or an entry of a map of `i64`.
    ///
    /// ```
    /// # use keyderive::{Client, Row, RowKey};
    /// # #[derive(RowKey)] struct PageKey { url: String }
    /// # #[derive(Row)] struct Page { #[row(counter)] visits: i64 }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), keyderive::Error> {
    /// let pages = Client::embedded().table::<PageKey, Page>("pages");
    /// pages.create_if_absent().await?;
    /// let home = PageKey { url: "/".into() };
    /// assert_eq!(pages.increment(&home, Page::VISITS, 1).await?, 1);
    /// assert_eq!(pages.increment(&home, Page::VISITS, 41).await?, 42);
    /// assert_eq!(pages.get(&home).await?.map(|page| page.visits), Some(42));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// A call that succeeds was applied exactly once. It is not retried when it may have been applied: after an error with
    /// [`is_outcome_unknown`](Error::is_outcome_unknown), the same call may count twice. A sum that overflows wraps around.
    ///
    /// An absent column counts from 0, whatever its `default` is. A row that is missing, or was deleted meanwhile, is created with this
    /// column alone; reads can
    /// [skip](crate::Scan::on_unreadable) rows that lack others. A `put` of the row overwrites the count: keep counters
    /// in a row type of their own, in the same table or in another, or use a [`Sum`](crate::row::Sum), which `put` leaves alone.
    ///
    /// # Errors
    /// When the key cannot be encoded, the column does not hold 8 bytes, or the write fails. Bigtable takes any 8 bytes as an
    /// integer, also those of a float.
    ///
    /// # Cancel safety
    /// If the future is dropped, the amount is added or not, perhaps later.
    pub async fn increment<C: ColumnRef<R>>(&self, key: &K, column: C, amount: i64) -> Result<i64, Error>
    where
        C::Type: Countable,
        S: Writes,
    {
        let count = |value: &[u8]| {
            let value = value.try_into().map_err(|_| "the new count does not have 8 bytes".to_owned())?;
            Ok(i64::from_be_bytes(value))
        };
        self.modify(key).increment(column, amount).send_one(count).await
    }

    /// Appends bytes to a column of a row, of text or bytes; returns the new value. An absent column counts as empty, and a
    /// missing row is created.
    ///
    /// ```
    /// # use keyderive::{Client, Row, RowKey};
    /// # #[derive(RowKey)] struct UserKey { id: u64 }
    /// # #[derive(Row)] struct User { log: Option<String> }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), keyderive::Error> {
    /// # let users = Client::embedded().table::<UserKey, User>("users");
    /// # users.create_if_absent().await?;
    /// let key = UserKey { id: 7 };
    /// users.append(&key, User::LOG, "in ").await?;
    /// assert_eq!(users.append(&key, User::LOG, "out ").await?, "in out ");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// As [`increment`](Self::increment), it is not retried when it may have been applied.
    ///
    /// # Errors
    /// When the key cannot be encoded, or the write fails.
    ///
    /// # Cancel safety
    /// If the future is dropped, the bytes are appended or not, perhaps later.
    pub async fn append<C: ColumnRef<R>>(
        &self,
        key: &K,
        column: C,
        value: impl Into<Bytes>,
    ) -> Result<Bytes, Error>
    where
        C::Type: Appendable,
        S: Writes,
    {
        self.modify(key).append(column, value).send_one(|value| Ok(Bytes::copy_from_slice(value))).await
    }

    /// Increments and appends to several columns of a row at once; [`increment`](Self::increment) and
    /// [`append`](Self::append) are for one.
    ///
    /// ```
    /// # use keyderive::{Client, Row, RowKey};
    /// # use std::collections::BTreeMap;
    /// # #[derive(RowKey)] struct PageKey { url: String }
    /// #[derive(Row)]
    /// struct Page {
    ///     #[row(counter)]
    ///     visits: i64,
    ///     #[row(family)]
    ///     daily: BTreeMap<String, i64>, // a column for each day
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), keyderive::Error> {
    /// let pages = Client::embedded().table::<PageKey, Page>("pages");
    /// pages.create_if_absent().await?;
    /// let home = PageKey { url: "/".into() };
    /// let changed = pages.modify(&home).increment(Page::VISITS, 1).increment(Page::DAILY.at("2026-05-01"), 1).await?;
    /// assert_eq!(changed.cells().len(), 2);
    /// let page = pages.get(&home).await?.unwrap();
    /// assert_eq!((page.visits, page.daily["2026-05-01"]), (1, 1));
    /// # Ok(())
    /// # }
    /// ```
    pub fn modify(&self, key: &K) -> Modify<K, R, S>
    where
        S: Writes,
    {
        Modify { table: self.clone(), key: self.encode(key), rules: Vec::new(), fault: None }
    }
}

impl<K: TableKey, R, S: Reads> Table<K, R, S> {
    /// [`put`](Self::put), if the row meets a condition; returns whether it did.
    ///
    /// ```
    /// # use keyderive::{Client, Row, RowKey};
    /// # #[derive(RowKey)] struct JobKey { id: u64 }
    /// # #[derive(Row)] struct Job { owner: String }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), keyderive::Error> {
    /// let jobs = Client::embedded().table::<JobKey, Job>("jobs");
    /// jobs.create_if_absent().await?;
    /// let (key, job) = (JobKey { id: 7 }, Job { owner: "alice".into() });
    /// let unclaimed = || Job::OWNER.absent();
    /// assert!(jobs.put_if(&key, &job, unclaimed()).await?);
    /// assert!(!jobs.put_if(&key, &job, unclaimed()).await?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// True: the condition held, and the row was written in the same atomic step. False: nothing was written. For conditions
    /// with `and`, see [`Condition`].
    ///
    /// It is not retried when it may have been applied. After an error with
    /// [`is_outcome_unknown`](Error::is_outcome_unknown), repeat the call, with a value that only this caller writes in one of
    /// the columns: true means written, once; after false, read the row: with that value, the first request was applied. This
    /// needs a condition that the write makes false. A read alone proves nothing, since the first request may be applied later:
    /// [unknown outcomes](crate::guide::errors#unknown-outcomes).
    ///
    /// # Errors
    /// When the key, the row or the condition's value cannot be encoded, the condition names no column, or the write
    /// fails.
    ///
    /// # Cancel safety
    /// If the future is dropped, the row is written or not, perhaps later; the condition still guards the write.
    #[must_use = "false means that nothing was written"]
    pub async fn put_if(&self, key: &K, row: &R, condition: Condition<R>) -> Result<bool, Error>
    where
        R: Row,
        S: Writes,
    {
        self.write_if(key, row, false, condition).await
    }

    /// [`delete`](Self::delete), if the row meets a condition; returns whether it did.
    ///
    /// ```
    /// # use keyderive::{Client, Row, RowKey};
    /// # #[derive(RowKey)] struct UserKey { id: u64 }
    /// # #[derive(Row)] struct User { age: u32 }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), keyderive::Error> {
    /// # let users = Client::embedded().table::<UserKey, User>("users");
    /// # users.create_if_absent().await?;
    /// let key = UserKey { id: 7 };
    /// users.put(&key, &User { age: 42 }).await?;
    /// assert!(!users.delete_if(&key, User::AGE.equals(17)).await?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// True: the row is gone. After an unknown outcome, repeat the call: after false, the row does not meet the condition. A read
    /// alone proves nothing, as after [`put_if`](Self::put_if).
    ///
    /// To a condition, a column that was renamed without an [`alias`](macro@crate::Row) is absent: `delete_if` with
    /// [`absent`](crate::row::Column::absent) deletes a row that has the column under its former name.
    ///
    /// # Errors
    /// Those of [`put_if`](Self::put_if); [`is_table_mismatch`](Error::is_table_mismatch) at a handle's first call if other programs
    /// [store values](crate::guide::tables#registry) that the row type reads otherwise.
    ///
    /// # Cancel safety
    /// As `put_if`.
    pub async fn delete_if(&self, key: &K, condition: Condition<R>) -> Result<bool, Error>
    where
        S: Writes,
    {
        self.bound().ensure_fits(WriteScope::Nothing).await?;
        let (key, deletion) = (self.encode(key)?, self.store.deletion());
        self.bound().mutate_if(key, deletion, CheckedVersions::Newest, condition.retyped()).await
    }

    /// [`put`](Self::put), if no row has this key; returns whether none had.
    ///
    /// ```
    /// # use keyderive::{Client, Row, RowKey};
    /// # #[derive(RowKey)] struct UserKey { id: u64 }
    /// # #[derive(Row)] struct User { age: u32 }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), keyderive::Error> {
    /// # let users = Client::embedded().table::<UserKey, User>("users");
    /// # users.create_if_absent().await?;
    /// let key = UserKey { id: 7 };
    /// assert!(users.put_if_absent(&key, &User { age: 42 }).await?);
    /// assert!(!users.put_if_absent(&key, &User { age: 17 }).await?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// A row with any cell exists, even if the cell is in a family that the row type does not have. If a `ttl` hides [every
    /// cell](crate::guide::promises#rows-that-a-ttl-hides) of a row, by the client's clock, the row does not exist, and is
    /// replaced whole. The result and unknown outcomes are as for [`put_if`](Self::put_if).
    ///
    /// # Errors
    /// Those of [`put_if`](Self::put_if).
    ///
    /// # Cancel safety
    /// As `put_if`.
    pub async fn put_if_absent(&self, key: &K, row: &R) -> Result<bool, Error>
    where
        R: Row,
        S: Writes,
    {
        self.write_if(key, row, self.handle.visible.hides_no_row(), Condition::row_exists().not()).await
    }
}

/// What the calls that write are made of.
impl<K: TableKey, R, S: Writes> Table<K, R, S> {
    async fn write_if(&self, key: &K, row: &R, merges: bool, condition: Condition<R>) -> Result<bool, Error>
    where
        R: Row,
    {
        self.bound().ensure_writable(WriteScope::Rows).await?;
        let (key, mut mutations) = (self.encode(key)?, MutationList::default());
        let written = mutations
            .write(|sink| row.encode(&mut RowWriter::new(sink, self.handle.visible.family(), merges)));
        written.map_err(|error| Error::row(&self.handle.name, &key, error))?;
        self.bound().mutate_if(key, mutations, CheckedVersions::Newest, condition.retyped()).await
    }

    async fn write_all(
        &self,
        rows: impl Iterator<Item: Borrow<(K, R)>> + Send,
        merges: bool,
    ) -> Result<(), Error>
    where
        R: Row,
    {
        let mut rows = rows.enumerate();
        let written = if merges { WriteScope::Columns } else { WriteScope::Rows };
        let mut next = |entry: &mut Entry| {
            let (index, pair) = rows.next()?;
            let (key, row): &(K, R) = Borrow::borrow(&pair);
            Some(self.encode_row(entry, key, row, merges).map_err(|error| Error::input(index, error)))
        };
        self.bound().write_entries(Some(written), &mut next).await
    }

    /// Writes a row whose type is data, as [`put`](Self::put) does, or as [`merge`](Self::merge).
    pub(super) async fn write_by(
        &self,
        key: &K,
        merges: bool,
        encode: impl FnOnce(&mut RowWriter<'_>) -> Result<(), RowError>,
    ) -> Result<(), Error> {
        self.bound().ensure_writable(if merges { WriteScope::Columns } else { WriteScope::Rows }).await?;
        let mut entry = Entry::default();
        let family = self.handle.visible.family();
        self.encode_row_by(&mut entry, key, |sink| encode(&mut RowWriter::new(sink, family, merges)))?;
        self.bound().mutate(entry).await
    }

    /// The entry that [`put`](Self::put) writes.
    pub(super) fn entry(&self, key: &K, row: &R) -> Result<Entry, Error>
    where
        R: Row,
    {
        let mut entry = Entry::default();
        self.encode_row(&mut entry, key, row, false)?;
        Ok(entry)
    }

    /// Encodes a row into an entry. If only the row fails, the entry holds the key.
    pub(super) fn encode_row(&self, entry: &mut Entry, key: &K, row: &R, merges: bool) -> Result<(), Error>
    where
        R: Row,
    {
        let family = self.handle.visible.family();
        self.encode_row_by(entry, key, |sink| row.encode(&mut RowWriter::new(sink, family, merges)))
    }

    /// [`encode_row`](Self::encode_row), and the values of its aggregates as additions.
    pub(super) fn encode_row_and_additions(
        &self,
        entry: &mut Entry,
        key: &K,
        row: &R,
        merges: bool,
    ) -> Result<(), Error>
    where
        R: Row,
    {
        let family = self.handle.visible.family();
        self.encode_row_by(entry, key, |sink| row.encode(&mut RowWriter::new(sink, family, merges).adding()))
    }

    /// [`encode_row`](Self::encode_row) of a row whose additions are an entry of their own; if it has nothing else, the entry has no
    /// mutation.
    pub(super) fn encode_without_additions(
        &self,
        entry: &mut Entry,
        key: &K,
        row: &R,
        merges: bool,
    ) -> Result<(), Error>
    where
        R: Row,
    {
        let family = self.handle.visible.family();
        self.encode_row_by(entry, key, |sink| {
            row.encode(&mut RowWriter::new(&mut ValuesOnly(sink), family, merges).adding())
        })
    }

    /// Encodes the values of a row's aggregates as additions, and no other column; without any, the entry has no mutation.
    pub(super) fn encode_additions(&self, entry: &mut Entry, key: &K, row: &R) -> Result<(), Error>
    where
        R: Row,
    {
        let family = self.handle.visible.family();
        self.encode_row_by(entry, key, |sink| {
            row.encode(&mut RowWriter::new(&mut AdditionsOnly(sink), family, true).adding())
        })
    }

    /// As [`encode_row`](Self::encode_row), of a row whose type is data.
    pub(super) fn encode_row_by(
        &self,
        entry: &mut Entry,
        key: &K,
        encode: impl FnOnce(&mut dyn MutationSink) -> Result<(), RowError>,
    ) -> Result<(), Error> {
        entry.clear();
        self.encode_into(key, &mut entry.key)?;
        let written = entry.mutations.write(encode);
        written.map_err(|error| Error::row(&self.handle.name, &Bytes::copy_from_slice(&entry.key), error))?;
        self.bound().check_explicit_timestamps(&entry.key, &entry.mutations, CheckedVersions::Newest)
    }
}

/// The same for every type.
impl<S: Writes> BoundTable<'_, S> {
    async fn mutate_if(
        self,
        key: Bytes,
        mut mutations: MutationList,
        versions: CheckedVersions,
        condition: Condition<()>,
    ) -> Result<bool, Error> {
        let compared = condition.compared_versions();
        let (filter, negated) = self.condition(&key, condition)?;
        for compared in compared {
            // A newer version must replace the compared one, or a second writer would meet the same condition.
            let superseded = mutations.supersede(&compared, self.handle.client.now_micros());
            superseded.map_err(|error| Error::row(&self.handle.name, &key, error))?;
        }
        let mutations = Mutations::from(mutations);
        self.check_explicit_timestamps(&key, &mutations, versions)?;
        let (then, otherwise) =
            if negated { (Mutations::default(), mutations) } else { (mutations, Mutations::default()) };
        let matched = self.store.check_and_mutate_row(self.handle, key, filter, then, otherwise).await?;
        Ok(if negated { matched.not() } else { matched })
    }

    /// Whether the row meets a condition, for an update without changes.
    async fn meets(self, key: Bytes, condition: Condition<()>) -> Result<bool, Error> {
        let (filter, negated) = self.condition(&key, condition)?;
        let one = filter.into_iter().chain(RowFilter::existence());
        let row = self.store.scanned().read_row(self.handle, key, Some(RowFilter::chain(one))).await?;
        Ok(row.is_some() != negated)
    }

    fn condition(self, key: &Bytes, condition: Condition<()>) -> Result<(Option<RowFilter>, bool), Error> {
        let filter = self.handle.visible.condition(condition, self.handle.client.now_micros());
        filter.map_err(|error| Error::row(&self.handle.name, key, error))
    }

    /// Sends the entries that `next` fills, one by one, in requests of some size, one after the other. Deletions write no columns.
    async fn write_entries(
        self,
        written: Option<WriteScope>,
        next: &mut (dyn FnMut(&mut Entry) -> Option<Result<(), Error>> + Send),
    ) -> Result<(), Error> {
        match written {
            Some(written) => self.ensure_writable(written).await?,
            None => self.ensure_checked().await?,
        }
        let (mut batch, mut entry) = (Batch::timed_by(self.handle.client.clock()), Entry::default());
        let (mut keys, watch) = (BatchKeys::new(), self.store.watch(self.handle));
        // An entry is filled within one call, so that no row is held across an await.
        while let Some(filled) = next(&mut entry) {
            let filled = filled.and_then(|()| {
                let checked = entry.check(&self.handle.name);
                checked.map_err(|error| Error::entry(&Bytes::copy_from_slice(&entry.key), error))
            });
            if let Err(error) = filled {
                self.send_batch(&mut batch, &watch).await?;
                return Err(error);
            }
            let is_full = batch.is_full_for(&entry.key, &entry.mutations, REQUEST_BYTES);
            if is_full || !keys.insert(&entry.key, &batch) {
                // Earlier rows must be stored first: one of them may have the key of this row.
                self.send_batch(&mut batch, &watch).await?;
                keys.clear();
                keys.insert(&entry.key, &batch);
            }
            batch.add(&entry.key, &entry.mutations);
        }
        self.send_batch(&mut batch, &watch).await?;
        watch.end(self.handle).await
    }

    /// Sends a batch; fails with the error of the first entry that failed.
    async fn send_batch(self, batch: &mut Batch, watch: &Watch) -> Result<(), Error> {
        let entries = batch.take();
        watch.before(self.handle, entries.len()).await?;
        let outcomes = self.store.send_entries(self.handle, &entries).await;
        watch.after(entries.len(), 0);
        match outcomes.into_iter().enumerate().find_map(|(index, outcome)| Some((index, outcome.err()?))) {
            Some((index, error)) => Err(Error::entry(&entries.key(index), error)),
            None => {
                batch.reuse(entries);
                Ok(())
            }
        }
    }

    async fn mutate(self, Entry { key, mutations }: Entry) -> Result<(), Error> {
        self.store.mutate_row(self.handle, key.into(), mutations).await
    }

    /// Rejects a value with a timestamp of its own that is finer than the table's granularity, or so old, by the client's clock,
    /// that the family's `ttl` would hide it, or its GC rule remove it, at once. Without the table's schema, the server rejects
    /// the first.
    #[inline]
    fn check_explicit_timestamps(
        self,
        key: &[u8],
        mutations: &Mutations,
        versions: CheckedVersions,
    ) -> Result<(), Error> {
        match mutations.explicit_timestamps() {
            [] => Ok(()),
            explicit_timestamps => self.check_ages(key, explicit_timestamps, versions),
        }
    }

    fn check_ages(
        self,
        key: &[u8],
        explicit_timestamps: &[ExplicitTimestamp],
        versions: CheckedVersions,
    ) -> Result<(), Error> {
        let known = self.store.known_info(self.handle);
        let info = known.as_deref();
        let now = self.handle.client.now_micros();
        let granularity = info.map(TableInfo::granularity);
        for ExplicitTimestamp { family, qualifier, latest_micros, earliest_micros, fine } in
            explicit_timestamps
        {
            if let (Some(fine), Some(Granularity::Millis)) = (fine, granularity) {
                return Err(Error::row(&self.handle.name, key, RowError::too_fine(family, qualifier, *fine)));
            }
            let at = match versions {
                CheckedVersions::Newest => *latest_micros,
                CheckedVersions::Each => *earliest_micros,
            };
            let age = Duration::from_micros(now.saturating_sub(at).max(0).cast_unsigned());
            let rule = info.and_then(|info| info.family(family)).map(Family::gc_rule);
            let error = if let Some(ttl) = self.handle.visible.hiding_ttl(family, at, now) {
                RowError::hidden_at_once(family, qualifier, at, &GcRule::max_age(ttl))
            } else if let Some(rule) = rule
                && rule.removes(age, 0)
            {
                RowError::removed_at_once(family, qualifier, at, rule)
            } else {
                continue;
            };
            return Err(Error::row(&self.handle.name, key, error));
        }
        Ok(())
    }
}

/// Deletions of many rows, in one table.
impl<K: TableKey, R, S: Reads> Table<K, R, S> {
    /// [`delete`](Self::delete) of many rows, in requests of about 1 MiB, one after the other.
    ///
    /// ```
    /// # use keyderive::{Client, Row, RowKey};
    /// # #[derive(RowKey)] struct UserKey { id: u64 }
    /// # #[derive(Row)] struct User { age: u32 }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), keyderive::Error> {
    /// # let users = Client::embedded().table::<UserKey, User>("users");
    /// # users.create_if_absent().await?;
    /// users.put_all((0..1000).map(|id| (UserKey { id }, User { age: 42 }))).await?;
    /// users.delete_all((0..1000).step_by(2).map(|id| UserKey { id })).await?;
    /// assert_eq!(users.count(UserKey::scan()).await?, 500);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Each row is deleted whole; a missing one is no error. After an error earlier requests are applied, and rows of the failed one may
    /// be. [`delete_rows`](Self::delete_rows) deletes what a scan selects, and a [`writer`](Self::writer) takes keys that arrive one by one.
    ///
    /// # Errors
    /// For the first key that cannot be encoded, with its index in the input, after the rows before it were deleted; for the first row that
    /// the server rejects, with its key.
    ///
    /// # Cancel safety
    /// If the future is dropped, some of the rows are deleted, each whole or not at all, perhaps later.
    pub fn delete_all<'a, I>(&'a self, keys: I) -> impl Future<Output = Result<(), Error>> + Send + 'a
    where
        I: IntoIterator<Item: Borrow<K>, IntoIter: Send + 'a>,
        S: Writes,
    {
        let mut keys = keys.into_iter().enumerate();
        let deletion = self.store.deletion();
        async move {
            let mut next = |entry: &mut Entry| {
                let (index, key) = keys.next()?;
                entry.clear();
                deletion.as_slice().iter().for_each(|part| entry.mutations.push(part));
                Some(
                    self.encode_into(key.borrow(), &mut entry.key)
                        .map_err(|error| Error::input(index, error)),
                )
            };
            self.bound().write_entries(None, &mut next).await
        }
    }

    /// Deletes exactly the rows that a plan selects; returns how many.
    ///
    /// ```
    /// # use keyderive::{Client, Row, RowKey};
    /// # #[derive(RowKey)] struct EventKey { user_id: String, #[reverse_ts] at: u64 }
    /// # type Event = std::collections::BTreeMap<String, i64>;
    /// # async fn sample(client: Client) -> Result<(), keyderive::Error> {
    /// let events = client.table::<EventKey, Event>("events");
    /// let deleted = events.delete_rows(EventKey::scan().user_id("alice").at_range(..1426535612156)).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// It reads keys without values, and deletes rows in batches. Every stored row of the plan goes, also one whose cells a `ttl`
    /// hides, or that has no column of the row type. Foreign rows, whose keys are not of this key type, stay.
    /// After an error, call it again: it does not find deleted rows a second time. Rows written meanwhile may be deleted or not.
    ///
    /// # Errors
    /// When no key can hold a value of the plan, or a read or a write fails.
    ///
    /// # Cancel safety
    /// If the future is dropped, some of the rows are deleted, and others may be deleted later. Call it again.
    pub async fn delete_rows(&self, plan: impl IntoPlan<K>) -> Result<u64, Error>
    where
        S: Scans<K> + Writes,
    {
        // Stored rows, so that rows also go whose cells a `ttl` hides, or that have no column of the row type.
        let rows = self.scan(plan).raw().keys_only();
        let mut rows = rows.in_any_order().on_foreign(OnForeign::Skip).stream();
        let mut deleted = 0;
        let (mut batch, mut deletion) = (Batch::default(), Mutations::default());
        self.store.deletion().as_slice().iter().for_each(|part| deletion.push(part));
        let watch = self.store.watch(&self.handle);
        while rows.next().await.transpose()?.is_some() {
            if batch.len() == DELETED_ROWS || batch.is_full_for(rows.last_key(), &deletion, REQUEST_BYTES) {
                deleted += self.delete_batch(&mut batch, &watch).await?;
            }
            batch.add(rows.last_key(), &deletion);
        }
        deleted += self.delete_batch(&mut batch, &watch).await?;
        watch.end(&self.handle).await.map(|()| deleted)
    }

    /// Drops all rows of a plan by the prefixes of their keys, with one request for each bucket: far cheaper than
    /// [`delete_rows`](Self::delete_rows). After an error some buckets are dropped; call it again. Rows written meanwhile may
    /// be dropped or not.
    ///
    /// ```
    /// # use keyderive::{Client, Row, RowKey};
    /// # #[derive(RowKey)] #[salt(range = 4, over = "user_id")] struct EventKey { user_id: String, at: u64 }
    /// # type Event = std::collections::BTreeMap<String, i64>;
    /// # async fn sample(client: Client) -> Result<(), keyderive::Error> {
    /// let events = client.table::<EventKey, Event>("events");
    /// events.drop_rows(EventKey::scan().user_id("alice")).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// The plan must select all rows under one byte prefix in each bucket: fix fields from the left, to one value each, and
    /// nothing else. A plan that fixes all fields is one row, for [`delete`](Self::delete). The prefix ends on a delimiter or
    /// a fixed width, so rows with other values do not begin with it.
    ///
    /// A salt or a tag is such a prefix by itself: for a key type that begins with one, the unconstrained plan
    /// `EventKey::scan()` drops all rows of every bucket, or of the tag. For others it selects the whole table, which
    /// is an error.
    ///
    /// **Every row under the prefixes is dropped, foreign ones too.** Where key types share a table, give each a tag, which
    /// becomes part of its prefixes. `delete_rows` keeps foreign rows.
    ///
    /// # Errors
    /// When the plan is not of this form, or its prefix is empty: the error says what to write instead, and
    /// [`delete_rows`](Self::delete_rows) accepts every plan. When a request fails.
    ///
    /// # Cancel safety
    /// If the future is dropped, some of the buckets are dropped, and another may be dropped later. Call it again.
    pub async fn drop_rows(&self, plan: impl IntoPlan<K>) -> Result<(), Error>
    where
        S: OneTable + Writes,
    {
        let plan = plan.into_plan().map_err(|error| Error::plan(&self.handle.name, error))?;
        if plan.is_empty() {
            return Ok(());
        }
        let prefixes =
            plan.prefixes().ok_or_else(|| Error::not_prefixes(&self.handle.name, no_prefixes(&plan)))?;
        self.bound().ensure_checked().await?;
        for prefix in prefixes {
            self.handle.client.drop_row_range(&self.handle.name, Bytes::from(prefix)).await?;
        }
        Ok(())
    }

    async fn delete_batch(&self, batch: &mut Batch, watch: &Watch) -> Result<u64, Error>
    where
        S: Writes,
    {
        let rows = batch.len() as u64;
        self.bound().send_batch(batch, watch).await.map(|()| rows)
    }
}

/// Why the rows of a plan cannot be dropped, and what to write instead.
fn no_prefixes<K>(plan: &Plan<K>) -> &'static str {
    if plan.is_point_read() {
        return "the plan selects one row by its whole key, and rows are dropped by prefixes of their keys; delete it \
                with `table.delete(&key)`";
    }
    if plan.is_fully_fixed() {
        return "the plan selects rows by their whole keys, and rows are dropped by prefixes of their keys; delete them \
                with `table.delete_rows(plan)`";
    }
    if plan.is_unconstrained() {
        return "the plan selects every row, and without a tag or a salt the keys have no common prefix; delete the \
                rows with `table.delete_rows(plan)`, or the table with `client.delete_table(name)`";
    }
    "rows are dropped by prefixes of their keys, and the plan does not select exactly the rows of one prefix in each \
     bucket; fix fields from the left, to one value each, and no more, or delete these rows with \
     `table.delete_rows(plan)`"
}

/// Changes to some columns of one row, all or none, from [`Table::update`].
///
/// Await it to send it, in one request that applies the changes in their order. Without a change nothing is written.
///
/// The changes apply together, and later reads return the new value of each changed column; other columns stay. Of
/// concurrent updates of one column, the one that the server applies last wins. The change of a column that was
/// [renamed without an `alias`](Table#renamed-columns) leaves what is stored under the former name.
///
/// # Errors
/// When the key, the name of a column or a value cannot be encoded, before anything is sent; when the write fails. After an
/// error with [`is_outcome_unknown`](Error::is_outcome_unknown), send the same update again, unless it [adds](Self::add).
///
/// # Cancel safety
/// If the future is dropped, the changes are made together or not at all, perhaps later.
#[must_use = "an update does nothing until it is awaited"]
pub struct Update<K, R, S = Direct> {
    table: Table<K, R, S>,
    changes: Changes,
}

/// The changes of an update.
#[derive(Debug)]
struct Changes {
    key: Result<Bytes, Error>,
    mutations: MutationList,
    /// The first error of a change.
    fault: Option<RowError>,
}

impl Changes {
    fn add(
        &mut self,
        place: Result<ColumnPlace, RowError>,
        change: impl FnOnce(ColumnPlace, &mut dyn MutationSink) -> Result<(), RowError>,
    ) {
        let changed = place.and_then(|place| self.mutations.write(|sink| change(place, sink)));
        self.note(changed);
    }

    fn note(&mut self, changed: Result<(), RowError>) {
        if let Err(error) = changed {
            self.fault.get_or_insert(error);
        }
    }

    fn checked(self, table: &UntypedTable) -> Result<(Bytes, MutationList), Error> {
        let Self { key, mutations, fault } = self;
        let key = key?;
        match fault.or_else(|| mutations.deleted_required_column(table.visible.schema())) {
            Some(error) => Err(Error::row(&table.name, &key, error)),
            None => Ok((key, mutations)),
        }
    }
}

impl<S: Writes> BoundTable<'_, S> {
    async fn update(self, changes: Changes) -> Result<(), Error> {
        self.ensure_writable(WriteScope::Columns).await?;
        let (key, mutations) = changes.checked(self.handle)?;
        if mutations.is_empty() {
            return Ok(());
        }
        let mutations = Mutations::from(mutations);
        self.check_explicit_timestamps(&key, &mutations, CheckedVersions::Each)?;
        self.store.mutate_row(self.handle, key, mutations).await
    }

    async fn update_if(self, changes: Changes, condition: Condition<()>) -> Result<bool, Error> {
        self.ensure_writable(WriteScope::Columns).await?;
        let (key, mutations) = changes.checked(self.handle)?;
        if mutations.is_empty() {
            return self.meets(key, condition).await;
        }
        self.mutate_if(key, mutations, CheckedVersions::Each, condition).await
    }
}

#[expect(clippy::needless_pass_by_value, reason = "values and references to them are both `CellValue`s")]
impl<K: TableKey, R, S: Reads> Update<K, R, S> {
    /// Sets a column to a value, at the server's time.
    ///
    /// A former name of the column is deleted, so that its value does not return. So are the other versions of a column of
    /// [`Timestamped`](crate::row::Timestamped) values, since a newer one would hide this one.
    pub fn set<C: ColumnRef<R>, V>(self, column: C, value: V) -> Self
    where
        C::Type: Settable,
        V: CellValue<<C::Type as ColumnType>::Cell>,
    {
        self.changed(column, |place, sink| {
            let is_settable = |kind: ColumnKind| !kind.is_aggregate() && !kind.reads_versions();
            check_kind(
                &place,
                is_settable,
                "cannot be set; `add` to an aggregate, `add_version` to versions",
            )?;
            delete_former(&place, sink);
            if place.kind == ColumnKind::Timestamped {
                sink.delete_column(&place.family, &place.qualifier);
            }
            encode(&place, SERVER_TIME, sink, |out| value.encode_value(place.stored, out))
        })
    }

    /// Sets a column of [`Timestamped`](crate::row::Timestamped) values to a value with a time of its own, in microseconds since
    /// the epoch. The other versions are deleted. A time that the `ttl` or the rule of the family makes too old, by the client's
    /// clock, is an error before anything is sent; so it is in every write of a row with times of its own.
    pub fn set_at<C: ColumnRef<R>, V>(self, column: C, timestamp_micros: i64, value: V) -> Self
    where
        C::Type: SettableAt,
        V: CellValue<<C::Type as ColumnType>::Cell>,
    {
        self.changed(column, |place, sink| {
            check_timestamp(timestamp_micros).map_err(|error| RowError::cell(place.name(), error))?;
            delete_former(&place, sink);
            sink.delete_column(&place.family, &place.qualifier);
            encode(&place, timestamp_micros, sink, |out| value.encode_value(place.stored, out))
        })
    }

    /// Sets a column if there is a value, and clears it if there is none.
    pub fn set_or_clear<C: ColumnRef<R>, V>(self, column: C, value: Option<V>) -> Self
    where
        C::Type: Settable + Clearable,
        V: CellValue<<C::Type as ColumnType>::Cell>,
    {
        match value {
            Some(value) => self.set(column, value),
            None => self.clear(column),
        }
    }

    /// Deletes every version of a column, and of its former names.
    pub fn clear<C: ColumnRef<R>>(self, column: C) -> Self
    where
        C::Type: Clearable,
    {
        self.changed(column, |place, sink| {
            let is_clearable = |_| !place.is_required;
            check_kind(
                &place,
                is_clearable,
                "cannot be cleared: a row without it can no longer be read; delete the row",
            )?;
            delete_former(&place, sink);
            sink.delete_column(&place.family, &place.qualifier);
            Ok(())
        })
    }

    /// Deletes every column of a family from the row, also those that the row type does not name.
    ///
    /// A struct that is no `Option` and has required columns can be cleared only if the update sets these after it.
    pub fn clear_family<F: FamilyRef<R>>(mut self, family: F) -> Self {
        let cleared = self.changes.mutations.write(|sink| {
            sink.delete_family(family.name());
            Ok(())
        });
        self.changes.note(cleared);
        self
    }

    /// Adds a version with a time of its own, in microseconds since the epoch, to a column that keeps its versions.
    ///
    /// A table stores whole milliseconds, unless it was [created](crate::client::Granularity) for microseconds. A version of the same time
    /// is replaced. A family with `max_versions` keeps the newest versions, so that an older one may be removed at once.
    pub fn add_version<C: ColumnRef<R>, V>(self, column: C, timestamp_micros: i64, value: V) -> Self
    where
        C::Type: History,
        V: CellValue<<C::Type as ColumnType>::Cell>,
    {
        self.changed(column, |place, sink| {
            check_kind(&place, |kind| kind == ColumnKind::Versions, "keeps one version; `set` it")?;
            check_has_no_former(&place)?;
            check_timestamp(timestamp_micros).map_err(|error| RowError::cell(place.name(), error))?;
            encode(&place, timestamp_micros, sink, |out| value.encode_value(place.stored, out))
        })
    }

    /// Adds a value to an aggregate: a [`Sum`](crate::row::Sum) grows by it, a [`Min`](crate::row::Min) or
    /// [`Max`](crate::row::Max) becomes it if it is less or greater.
    ///
    /// ```
    /// # use keyderive::{Client, Row, RowKey};
    /// # #[derive(RowKey)] struct PageKey { url: String }
    /// use keyderive::row::Sum;
    ///
    /// #[derive(Row)]
    /// struct Page {
    ///     title: Option<String>,
    ///     #[row(family = "sums")]
    ///     views: Sum,
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), keyderive::Error> {
    /// let pages = Client::embedded().table::<PageKey, Page>("pages");
    /// pages.create_if_absent().await?;
    /// let home = PageKey { url: "/".into() };
    /// pages.update(&home).set(Page::TITLE, "Home").add(Page::VIEWS, 1).await?;
    /// pages.update(&home).add(Page::VIEWS, 41).await?;
    /// assert_eq!(pages.get(&home).await?.unwrap().views.get(), 42);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Concurrent additions all count, whatever the clients' clocks say, and retries inside the call
    /// [count once](crate::guide::rows#sums-that-count-once). It fails before sending if the rule of the family would remove the aggregate.
    /// After an error with [`is_outcome_unknown`](Error::is_outcome_unknown), the value may have been added, and a second call may add it
    /// twice.
    pub fn add<C: ColumnRef<R>>(self, column: C, amount: i64) -> Self
    where
        C::Type: Addable,
    {
        self.added(column, 0, amount)
    }

    /// Adds a value to the aggregate of one window of time: the one that contains `timestamp_micros`.
    ///
    /// ```
    /// # use keyderive::{Client, Row, RowKey};
    /// # #[derive(RowKey)] struct PageKey { url: String }
    /// use keyderive::row::{Sum, Versions};
    ///
    /// #[derive(Row)]
    /// struct Page {
    ///     title: Option<String>,
    ///     #[row(family = "hourly", window = "1h", gc(max_age = "90d"))]
    ///     views: Versions<Sum>,
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let now = i64::try_from(std::time::UNIX_EPOCH.elapsed()?.as_micros())?;
    /// let pages = Client::embedded().table::<PageKey, Page>("pages");
    /// pages.create_if_absent().await?;
    /// let home = PageKey { url: "/".into() };
    /// pages.update(&home).add_at(Page::VIEWS, now, 1).await?;
    ///
    /// for hour in &pages.get(&home).await?.unwrap().views {
    ///     println!("{} views from {} on", hour.value.get(), hour.timestamp_micros);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// The time is in microseconds since the epoch, and is rounded down to the start of its window, in UTC. If the family's rule
    /// would remove the window at once, or its `ttl` hide it, the update fails before it is sent. This also finds times in another unit,
    /// if the family has a `max_age` or a `ttl`.
    pub fn add_at<C: ColumnRef<R>>(self, column: C, timestamp_micros: i64, amount: i64) -> Self
    where
        C::Type: AddableAt,
    {
        self.added(column, timestamp_micros, amount)
    }

    fn added<C: ColumnRef<R>>(mut self, column: C, timestamp_micros: i64, amount: i64) -> Self {
        let window = |place: &ColumnPlace| self.table.handle.visible.schema().window_micros(place.name());
        match column.place().and_then(|place| addition(&place, window(&place), timestamp_micros, amount)) {
            Ok(mutation) => self.changes.mutations.push(mutation),
            Err(error) => self.changes.note(Err(error)),
        }
        self
    }

    /// Never compiles; its message says what to do.
    #[doc(hidden)]
    pub fn increment<C: InUpdate>(self, _column: C, _amount: i64) -> Self {
        self
    }

    fn changed<C: ColumnRef<R>>(
        mut self,
        column: C,
        change: impl FnOnce(ColumnPlace, &mut dyn MutationSink) -> Result<(), RowError>,
    ) -> Self {
        self.changes.add(column.place(), change);
        self
    }

    /// Makes the changes if the row meets a condition; returns whether it did.
    ///
    /// ```
    /// # use keyderive::{Client, Row, RowKey};
    /// # #[derive(RowKey)] struct UserKey { id: u64 }
    /// # #[derive(Row)] struct User { age: u32 }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), keyderive::Error> {
    /// # let users = Client::embedded().table::<UserKey, User>("users");
    /// # users.create_if_absent().await?;
    /// let key = UserKey { id: 7 };
    /// users.put(&key, &User { age: 42 }).await?;
    /// assert!(users.update(&key).set(User::AGE, 43).only_if(User::AGE.equals(42)).await?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// True: the condition held, and the changes were made in the same atomic step; for conditions with `and`, see
    /// [`Condition`]. False: nothing was written. As [`put_if`](Table::put_if), it is not retried when it may have been applied.
    /// Without a change nothing is written, and the row is only read.
    ///
    /// # Errors
    /// Those of the update itself, and of `put_if`. After an unknown outcome, do as after [`put_if`](Table::put_if); an update that
    /// [adds](Self::add) under a condition that stays true may add twice if it is repeated.
    ///
    /// # Cancel safety
    /// As `put_if`.
    #[must_use = "false means that nothing was written"]
    pub async fn only_if(self, condition: Condition<R>) -> Result<bool, Error>
    where
        S: Writes,
    {
        self.table.bound().update_if(self.changes, condition.retyped()).await
    }

    /// Makes it the entry of a request with several, of the table `into`.
    pub(super) fn encode_into(self, into: &Table<K, R, S>, entry: &mut Entry) -> Result<(), Error>
    where
        S: Writes,
    {
        entry.clear();
        let (own, into) = (&self.table.handle, into.bound());
        let (key, mutations) = self.changes.checked(own)?;
        if *own.name != *into.handle.name {
            let text = format!(
                "an update of the table `{}` is sent to it; make the update by this table",
                &*own.name
            );
            return Err(Error::definition(&into.handle.name, text));
        }
        entry.key.extend_from_slice(&key);
        mutations.as_slice().iter().for_each(|mutation| entry.mutations.push_change(mutation));
        into.check_explicit_timestamps(&key, &entry.mutations, CheckedVersions::Each)
    }

    /// Whether there is nothing to send, and no error to report.
    pub(super) fn is_empty(&self) -> bool {
        self.changes.key.is_ok() && self.changes.fault.is_none() && self.changes.mutations.is_empty()
    }
}

/// Sets a version of a column to what `encode` appends.
fn encode(
    place: &ColumnPlace,
    timestamp_micros: i64,
    sink: &mut dyn MutationSink,
    encode: impl FnOnce(&mut CellWriter<'_>) -> Result<(), CellError>,
) -> Result<(), RowError> {
    RowWriter::new(sink, &place.family, true).set_with(place.name(), timestamp_micros, encode)
}

/// Rejects a change of what the server finds in a column, where the value may be under a former name.
fn check_has_no_former(place: &ColumnPlace) -> Result<(), RowError> {
    let text = "has an alias, and what is still stored under it would not be found any more; put the whole row first, and \
                remove the alias";
    check_kind(place, |_| place.former().next().is_none(), text)
}

/// Rejects a change of what the server finds in a column, where the value may have expired.
fn check_has_no_ttl(place: &ColumnPlace, visible: &VisibleCells) -> Result<(), RowError> {
    let text = "is in a family with `ttl`, and the server would change an expired value that reads hide; count with \
                `Versions<Sum>` and `window`, or `set` it";
    check_kind(place, |_| visible.ttl(&place.family).is_none(), text)
}

fn delete_former(place: &ColumnPlace, sink: &mut dyn MutationSink) {
    for Name { family, qualifier } in place.former() {
        sink.delete_column(family, qualifier);
    }
}

fn addition(
    place: &ColumnPlace,
    window_micros: i64,
    timestamp_micros: i64,
    amount: i64,
) -> Result<Mutation, RowError> {
    check_kind(
        place,
        ColumnKind::is_aggregate,
        "is no aggregate; `increment` a counter, `set` another column",
    )?;
    aggregate_addition(place.name(), place.kind, window_micros, timestamp_micros, amount)
}

/// A column in an update: the server has no request that sets columns and increments others.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "an update cannot increment a counter: Bigtable sets and increments in different requests",
    label = "not in an update",
    note = "increment it with `table.increment(&key, column, amount)`; or make the field a `Sum`, which `.add(…)` changes in an \
            update, and counts once however often the update is retried"
)]
pub trait InUpdate {}

impl<K: TableKey + 'static, R: 'static, S: Writes> IntoFuture for Update<K, R, S> {
    type Output = Result<(), Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { self.table.bound().update(self.changes).await })
    }
}

impl<K, R, S> fmt::Debug for Update<K, R, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Update")
            .field("table", &self.table)
            .field("mutations", &self.changes.mutations)
            .finish_non_exhaustive()
    }
}

/// Increments and appends to columns of one row, all or none, from [`Table::modify`].
///
/// Await it to send it; it returns the changed cells. It is not retried when its outcome is unknown.
///
/// # Errors
/// When the key or the name of a column cannot be encoded, or there is no change, before anything is sent; when a column to
/// increment does not hold 8 bytes; when the write fails.
#[must_use = "a modification does nothing until it is awaited"]
pub struct Modify<K, R, S = Direct> {
    table: Table<K, R, S>,
    key: Result<Bytes, Error>,
    rules: Vec<ReadModifyWrite>,
    /// The first error of a change.
    fault: Option<RowError>,
}

impl<K: TableKey, R, S: Reads> Modify<K, R, S> {
    /// Adds to a counter, or to 0 if the column is absent, as one that was [renamed](Table#renamed-columns) is. A sum that overflows wraps
    /// around.
    pub fn increment<C: ColumnRef<R>>(self, column: C, amount: i64) -> Self
    where
        C::Type: Countable,
    {
        let visible = self.table.handle.visible.clone();
        self.with(column, |place| {
            let is_integer = matches!(place.stored, CellType::Integer { min: i64::MIN, max: i64::MAX });
            let is_counter = |kind| {
                kind == ColumnKind::Counter || (kind == ColumnKind::Value && is_integer && !place.is_required)
            };
            check_kind(&place, is_counter, "is no counter; `set` it, or `add` to an aggregate")?;
            check_has_no_former(&place)?;
            check_has_no_ttl(&place, &visible)?;
            Ok(ReadModifyWrite::increment(place.family, place.qualifier, amount))
        })
    }

    /// Appends bytes to what a column holds, or to nothing if it is absent.
    pub fn append<C: ColumnRef<R>>(self, column: C, value: impl Into<Bytes>) -> Self
    where
        C::Type: Appendable,
    {
        let visible = self.table.handle.visible.clone();
        self.with(column, |place| {
            let is_text = |kind: ColumnKind| {
                kind == ColumnKind::Value && matches!(place.stored, CellType::Text | CellType::Bytes)
            };
            check_kind(&place, is_text, "is neither text nor bytes; `set` it")?;
            check_has_no_former(&place)?;
            check_has_no_ttl(&place, &visible)?;
            Ok(ReadModifyWrite::append(place.family, place.qualifier, value))
        })
    }

    fn with<C: ColumnRef<R>>(
        mut self,
        column: C,
        rule: impl FnOnce(ColumnPlace) -> Result<ReadModifyWrite, RowError>,
    ) -> Self {
        match column.place().and_then(rule) {
            Ok(rule) => self.rules.push(rule),
            Err(error) => _ = self.fault.get_or_insert(error),
        }
        self
    }

    /// Sends a single change; returns what `check` makes of the new value.
    async fn send_one<T: Send>(
        self,
        check: impl Fn(&[u8]) -> Result<T, String> + Send + Sync,
    ) -> Result<T, Error>
    where
        S: Writes,
    {
        self.send(|row| match row.cells().next() {
            Some(cell) => check(cell.value()),
            None => Err("it has no cell".to_owned()),
        })
        .await
    }

    /// Sends it; returns what `check` makes of the changed cells.
    async fn send<T: Send>(
        self,
        check: impl Fn(RawRow) -> Result<T, String> + Send + Sync,
    ) -> Result<T, Error>
    where
        S: Writes,
    {
        self.table.bound().ensure_writable(WriteScope::Columns).await?;
        let Self { table, key, rules, fault } = self;
        let key = key?;
        if let Some(error) = fault {
            return Err(Error::row(&table.handle.name, &key, error));
        }
        table.store.read_modify_write_row(&table.handle, key, rules, check).await
    }
}

impl<K: TableKey + 'static, R: 'static, S: Writes> IntoFuture for Modify<K, R, S> {
    type Output = Result<RawRow, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.send(Ok))
    }
}

impl<K, R, S> fmt::Debug for Modify<K, R, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Modify")
            .field("table", &self.table)
            .field("rules", &self.rules)
            .finish_non_exhaustive()
    }
}

/// The keys of a batch, to keep them distinct: the server applies the entries of a request in any order.
///
/// While keys ascend, each is compared with the last one. After that, a hash set finds duplicates; a collision only ends a
/// batch early.
struct BatchKeys {
    last: Vec<u8>,
    /// A hash table with open addressing, at most half full; empty while keys ascend.
    hashes: Vec<Option<NonZeroU64>>,
    count: usize,
    /// Random, so that nobody can choose keys whose hashes collide.
    secrets: RapidSecrets,
}

impl BatchKeys {
    fn new() -> Self {
        let secrets = RapidSecrets::seed(fastrand::u64(..));
        Self { last: Vec::new(), hashes: Vec::new(), count: 0, secrets }
    }

    /// Adds a key; false if the batch may have it already.
    #[inline]
    fn insert(&mut self, key: &[u8], batch: &Batch) -> bool {
        if self.count == 0 {
            if key > &self.last[..] {
                self.last.clear();
                self.last.extend_from_slice(key);
                return true;
            }
            batch.keys().for_each(|key| _ = self.insert_hash(self.hash(key)));
        }
        self.insert_hash(self.hash(key))
    }

    #[inline]
    fn hash(&self, key: &[u8]) -> NonZeroU64 {
        let hash = rapidhash_v3_nano_inline::<false, false>(key, &self.secrets);
        NonZeroU64::new(hash).unwrap_or(NonZeroU64::MAX)
    }

    fn insert_hash(&mut self, hash: NonZeroU64) -> bool {
        if self.count * 2 >= self.hashes.len() {
            let larger = (self.hashes.len() * 2).max(1024);
            let hashes = std::mem::replace(&mut self.hashes, vec![None; larger]);
            self.count = 0;
            hashes.into_iter().flatten().for_each(|hash| _ = self.insert_hash(hash));
        }
        // The length is a power of two.
        let mask = self.hashes.len() - 1;
        let mut slot = usize::try_from(hash.get() & mask as u64).unwrap_or(0);
        while let Some(known) = self.hashes[slot] {
            if known == hash {
                return false;
            }
            slot = (slot + 1) & mask;
        }
        self.hashes[slot] = Some(hash);
        self.count += 1;
        true
    }

    fn clear(&mut self) {
        self.last.clear();
        self.hashes.fill(None);
        self.count = 0;
    }
}
