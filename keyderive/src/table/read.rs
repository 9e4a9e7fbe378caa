//! Every way to read: a row, many by their keys, a scan, a table in partitions; and as which row type.

use std::borrow::Borrow;
use std::marker::PhantomData;

use bytes::Bytes;

use super::handle::WriteScope;
use super::skipped::{OnUnreadable, Skipped, SkippedLog};
use super::{ReadOnly, ReadStore as _, Reads, Scan, Scans, Table, UntypedTable};
use crate::client::Error;
use crate::key::TableKey;
use crate::plan::{IntoPlan, Plan};
use crate::row::{OwnedRow, RawRow, Row};

impl<K: TableKey, R, S: Reads> Table<K, R, S> {
    /// Reads the row with this key, if it exists: one point read.
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
    /// let user = users.get(&UserKey { id: 7 }).await?;
    /// assert_eq!(user.map(|user| user.age), Some(42));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// A column that was renamed without an [`alias`](macro@crate::Row) is absent: what is stored under its former name is not read.
    ///
    /// # Errors
    /// If the key cannot be encoded, the read fails, or the stored columns are not an `R`.
    /// [`is_table_mismatch`](Error::is_table_mismatch) at a handle's first read if other programs
    /// [store values](crate::guide::tables#registry) that `R` reads otherwise.
    ///
    /// # Cancel safety
    /// A dropped future cancels the read.
    pub async fn get(&self, key: &K) -> Result<Option<R>, Error>
    where
        R: OwnedRow,
    {
        self.read_stored(key).await?.map(|stored| self.handle.decode(&stored)).transpose()
    }

    /// Reads the rows with these keys, in the order of the keys; `None` where a row does not exist. Keys may repeat. A column that was
    /// [renamed](Table#renamed-columns) is absent.
    ///
    /// ```
    /// # use keyderive::{Client, Row, RowKey};
    /// # #[derive(RowKey)] struct UserKey { id: u64 }
    /// # #[derive(Row)] struct User { age: u32 }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), keyderive::Error> {
    /// let users = Client::embedded().table::<UserKey, User>("users");
    /// users.create_if_absent().await?;
    /// users.put(&UserKey { id: 7 }, &User { age: 42 }).await?;
    /// let found = users.get_many([7, 8, 7].map(|id| UserKey { id })).await?;
    /// let ages: Vec<_> = found.iter().map(|user| user.as_ref().map(|user| user.age)).collect();
    /// assert_eq!(ages, [Some(42), None, Some(42)]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Each row is read once, in as few requests as Bigtable's limits allow: 500 KiB of keys at a time. All rows are in
    /// memory together; a [scan](Self::scan) by `_any_of` streams them.
    ///
    /// # Errors
    /// If a key cannot be encoded, with its index, before anything is sent; if a read fails, or the stored columns are
    /// not an `R`, unless such rows are [skipped](Self::on_unreadable).
    ///
    /// # Cancel safety
    /// A dropped future cancels the read.
    pub async fn get_many(&self, keys: impl IntoIterator<Item: Borrow<K>>) -> Result<Vec<Option<R>>, Error>
    where
        R: OwnedRow,
    {
        self.read_many(keys, |row| self.handle.decode(row)).await
    }

    /// The same table with a policy for rows that cannot be read as the row type. It applies to
    /// [`get_many`](Self::get_many), where a skipped row is `None`, and to every [`scan`](Self::scan) and
    /// [`export`](Self::export) without a policy of its own.
    ///
    /// ```
    /// # use keyderive::{Client, OnUnreadable, Row, RowKey};
    /// # #[derive(RowKey)] struct UserKey { id: u64 }
    /// # #[derive(Row)] struct User { age: u32, #[row(counter)] visits: i64 }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), keyderive::Error> {
    /// let users = Client::embedded().table::<UserKey, User>("users").on_unreadable(OnUnreadable::Skip);
    /// users.create_if_absent().await?;
    /// users.increment(&UserKey { id: 7 }, User::VISITS, 1).await?; // a row without an age
    /// assert!(users.get_many([UserKey { id: 7 }]).await?[0].is_none());
    /// assert_eq!(users.skipped().unreadable(), 1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// [`get`](Self::get) fails for such a row, since the caller asked for just this one: with [`InvalidRow`](crate::ErrorKind::InvalidRow).
    #[must_use]
    pub fn on_unreadable(&self, policy: OnUnreadable) -> Self {
        let skipped = (policy == OnUnreadable::Skip).then(Skipped::default);
        self.with_handle(UntypedTable { skipped, ..self.handle.clone() })
    }

    /// Which rows [`get_many`](Self::get_many) of this handle and its clones has skipped, since
    /// [`on_unreadable`](Self::on_unreadable) made it. Scans have [their own](super::Scan::skipped).
    #[must_use]
    pub fn skipped(&self) -> Skipped {
        self.handle.skipped.clone().unwrap_or_default()
    }

    /// The columns that are read of the stored row with this key.
    pub(super) async fn read_stored(&self, key: &K) -> Result<Option<RawRow>, Error> {
        self.bound().ensure_fits(WriteScope::Nothing).await?;
        let key = self.encode(key)?;
        let filter = self.handle.read_filter();
        self.handle.check_filter(&filter)?;
        self.store.scanned().read_row(&self.handle, key, Some(filter)).await
    }

    /// The rows with these keys, in the order of the keys.
    pub(super) async fn read_many<T>(
        &self,
        keys: impl IntoIterator<Item: Borrow<K>>,
        read: impl Fn(&RawRow) -> Result<T, Error>,
    ) -> Result<Vec<Option<T>>, Error> {
        self.bound().ensure_fits(WriteScope::Nothing).await?;
        let asked = self.sorted(keys)?;
        let mut found: Vec<Option<T>> = asked.iter().map(|_| None).collect();
        let mut distinct: Vec<Bytes> = asked.iter().map(|(key, _)| key.clone()).collect();
        distinct.dedup();
        let filter = self.handle.read_filter();
        self.handle.check_filter(&filter)?;
        let log = SkippedLog::new(self.handle.name.table());
        // Rows come in the order of their keys.
        let mut ahead = asked.iter().peekable();
        let each = |row: &RawRow| {
            while let Some((key, index)) = ahead.next_if(|(key, _)| key[..] <= *row.key()) {
                let Some(found) = found.get_mut(*index).filter(|_| key[..] == *row.key()) else { continue };
                *found = match (read(row), &self.handle.skipped) {
                    (Err(error), Some(skipped)) if error.is_unreadable_row() => {
                        log.skipped.add_unreadable(row.key(), error.clone());
                        skipped.add_unreadable(row.key(), error);
                        None
                    }
                    (read, _) => Some(read?),
                };
            }
            Ok(())
        };
        self.store.scanned().read_many(&self.handle, distinct, filter).await?.for_each(each).await?;
        Ok(found)
    }

    /// The keys in their order, each with its index.
    fn sorted(&self, keys: impl IntoIterator<Item: Borrow<K>>) -> Result<Vec<(Bytes, usize)>, Error> {
        let (mut bytes, mut ends) = (Vec::new(), Vec::new());
        for (index, key) in keys.into_iter().enumerate() {
            self.encode_into(key.borrow(), &mut bytes).map_err(|error| Error::input(index, error))?;
            ends.push(bytes.len());
        }
        let bytes = Bytes::from(bytes);
        let starts = std::iter::once(0).chain(ends.iter().copied());
        let slices = starts.zip(&ends).enumerate();
        let mut sorted: Vec<_> =
            slices.map(|(index, (start, end))| (bytes.slice(start..*end), index)).collect();
        sorted.sort_unstable();
        Ok(sorted)
    }

    /// Whether a row with this key exists: whether [`get`](Self::get) finds one. The server sends only the key.
    ///
    /// ```
    /// # use keyderive::{Client, Row, RowKey};
    /// # #[derive(RowKey)] struct UserKey { id: u64 }
    /// # #[derive(Row)] struct User { age: u32 }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), keyderive::Error> {
    /// # let users = Client::embedded().table::<UserKey, User>("users");
    /// # users.create_if_absent().await?;
    /// assert!(!users.exists(&UserKey { id: 7 }).await?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If the key cannot be encoded, or the read fails.
    ///
    /// # Cancel safety
    /// A dropped future cancels the read.
    pub async fn exists(&self, key: &K) -> Result<bool, Error> {
        self.bound().ensure_checked().await?;
        let existence = self.handle.visible.existence(self.handle.client.now_micros());
        let row = self.store.scanned().read_row(&self.handle, self.encode(key)?, Some(existence)).await?;
        Ok(row.is_some())
    }

    /// Reads the row with this key as it is stored: every version of every column of every family, hidden by a `ttl` or not.
    ///
    /// ```
    /// # use keyderive::{Client, Row, RowKey};
    /// # #[derive(RowKey)] struct UserKey { id: u64 }
    /// # #[derive(Row)] struct User { age: u32 }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), keyderive::Error> {
    /// let users = Client::embedded().table::<UserKey, User>("users");
    /// users.create_if_absent().await?;
    /// users.put(&UserKey { id: 7 }, &User { age: 42 }).await?;
    /// let row = users.get_raw(&UserKey { id: 7 }).await?.unwrap();
    /// assert_eq!(row.newest("cf", "age").unwrap().value(), &42_i64.to_be_bytes()[..]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// A column that was written several times has each version that garbage collection has not removed yet;
    /// [`RawRow::newest`] is what other reads return. [`Scan::raw`](super::Scan::raw) is the same for many rows, and
    /// [`Client::raw_table`](crate::Client::raw_table) has no key type either.
    ///
    /// # Errors
    /// If the key cannot be encoded, or the read fails.
    ///
    /// # Cancel safety
    /// A dropped future cancels the read.
    pub async fn get_raw(&self, key: &K) -> Result<Option<RawRow>, Error> {
        self.bound().ensure_checked().await?;
        self.store.scanned().read_row(&self.handle, self.encode(key)?, None).await
    }

    /// The same table, read as rows of another type, most often with a part of `R`'s fields. It [only reads](ReadOnly).
    ///
    /// ```
    /// # use keyderive::{Client, Row, RowKey};
    /// # #[derive(RowKey)] struct UserKey { id: u64 }
    /// #[derive(Row)]
    /// struct User {
    ///     name: String,
    ///     portrait: String,
    /// }
    ///
    /// #[derive(Row)]
    /// struct Name {
    ///     name: String,
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), keyderive::Error> {
    /// let users = Client::embedded().table::<UserKey, User>("users");
    /// users.create_if_absent().await?;
    /// users.put(&UserKey { id: 7 }, &User { name: "Corrie".into(), portrait: "…".repeat(1000) }).await?;
    /// let names = users.rows_as::<Name>(); // its reads ask for `name`
    /// assert_eq!(names.get(&UserKey { id: 7 }).await?.unwrap().name, "Corrie");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Reads ask for the columns and families of `T`, former names too, and a row without any of them is `None`. If `T` is a map,
    /// reads ask for its family.
    ///
    /// A call that writes does not compile. Change columns by the whole: `users.update(&key).set(User::NAME, "Cornelia")`, and in bulk
    /// [`update_all`](Self::update_all) or [`Writer::update`](super::Writer::update).
    ///
    /// `T` must read every value that the table's own row type writes; otherwise every call of the new table fails before anything is
    /// sent. What the table's own row type says of a family, such as its `ttl`, holds for `T` too. For a table of `()`,
    /// which writes no column, `T` may be any type. A column of `T` that the table's own row type does not have, such as one
    /// of another program or a misspelt one, is no fault: it is read where a row has it, and is absent elsewhere.
    ///
    /// An optional family of `T` is `Some` if a row has its marker, or one of the columns that `T` has in it; other columns of the family do
    /// not count. An enum that is stored as a code is compared by its codes, not by the names of its variants.
    #[must_use]
    pub fn rows_as<T: Row>(&self) -> Table<K, T, ReadOnly<S::Scanned>> {
        let handle = self.handle.with_rows(self.handle.visible.of_type(T::SCHEMA));
        Table { handle, store: ReadOnly(self.store.scanned().clone()), types: PhantomData }
    }
}

/// Scans by one plan.
impl<K: TableKey, R, S: Reads> Table<K, R, S> {
    /// A scan of the rows that `plan` selects: a builder of the key type, or a [`Plan`].
    ///
    /// Sends nothing yet. Running or explaining the scan reports a value that no key can hold.
    ///
    /// A table that is [re-keyed](crate::table::rekey) has it where its key type takes the [place](crate::key::RekeyedFrom) of the old one.
    pub fn scan(&self, plan: impl IntoPlan<K>) -> Scan<K, R, S::Scanned>
    where
        S: Scans<K>,
    {
        S::begin(self.scanned(), plan.into_plan())
    }

    /// How many rows a plan selects.
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
    /// assert_eq!(users.count(UserKey::scan().id(7)).await?, 1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// It reads keys without values, in the ranges that [`explain`](crate::plan::Plan::explain) prints: with a salt, a row
    /// outside of every bucket is neither counted nor an error: [`Plan::complement`] says where such rows are. [`Scan::count`] counts the rows that pass a filter.
    ///
    /// # Errors
    /// When no key can hold a value of the plan, or the read fails; for a row whose key is not of this key type.
    ///
    /// # Cancel safety
    /// A dropped future cancels the read.
    pub async fn count(&self, plan: impl IntoPlan<K>) -> Result<u64, Error>
    where
        S: Scans<K>,
    {
        self.scan(plan).count().await
    }
    /// Splits the table into partitions of about equal size: plans that together cover every row exactly once.
    ///
    /// ```
    /// # use keyderive::{Client, Row, RowKey};
    /// # #[derive(RowKey)] struct EventKey { user_id: String, #[reverse_ts] at: u64 }
    /// # type Event = std::collections::BTreeMap<String, i64>;
    /// # async fn sample(client: Client) -> Result<(), keyderive::Error> {
    /// let events = client.table::<EventKey, Event>("events");
    /// for partition in events.partitions().await? {
    ///     let events = events.clone();
    ///     // A plan can be serialized, for workers in other processes.
    ///     tokio::spawn(async move { events.scan(partition).unordered().collect().await });
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// They begin at the row keys that the service samples, which are about where its tablets begin, and at the salt's
    /// buckets. They stay valid when tablets split or merge. Those of a table that is [re-keyed](crate::table::rekey) are ranges of its first
    /// field, in all buckets, and stay valid in every state, and for the new table.
    ///
    /// # Errors
    /// If sampling row keys fails.
    ///
    /// # Cancel safety
    /// A dropped future cancels the read.
    pub async fn partitions(&self) -> Result<Vec<Plan<K>>, Error>
    where
        S: Scans<K>,
    {
        self.partitions_of(Plan::full(self.handle.key.schema())).await
    }

    /// [`partitions`](Self::partitions) of the rows that a plan selects.
    ///
    /// # Errors
    /// If no key can hold a value of the plan, or sampling row keys fails.
    ///
    /// # Cancel safety
    /// A dropped future cancels the read.
    pub async fn partitions_of(&self, plan: impl IntoPlan<K>) -> Result<Vec<Plan<K>>, Error>
    where
        S: Scans<K>,
    {
        let plan = plan.into_plan().map_err(|error| Error::plan(&self.handle.name, error))?;
        let parts = self.store.scanned().partitions(&self.handle, plan.untyped()).await?;
        Ok(parts.into_iter().filter(|part| !part.is_empty()).map(Plan::typed).collect())
    }
}
