//! Reads of single rows, of many by their keys, and of parts of them.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::TryStreamExt as _;
use serde::de::DeserializeOwned;

use super::skipped::{LogSkipped, OnUnreadable, Skipped};
use super::{Table, VERSIONS};
use crate::client::{Error, ReadRows};
use crate::key::TableKey;
use crate::row::{self, FieldKind, Path, Row, RowFilter, Shape};

/// Which columns are asked for.
#[derive(Clone, Debug)]
pub(super) enum Projection {
    Everything,
    /// Those that the row type names.
    OfRows,
    Named(Arc<[Path]>),
}

impl<K: TableKey, R> Table<K, R> {
    /// The rows with these keys, in the order of the keys; none for a key that names nothing. A key may come several
    /// times.
    ///
    /// ```
    /// # use keyderive::{Client, RowKey};
    /// # #[derive(RowKey)] struct UserKey { id: u64 }
    /// # #[derive(serde::Serialize, serde::Deserialize)] struct User { age: u32 }
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
    /// When a key cannot be encoded, naming its place in the input, before anything is sent; when a read fails, or the
    /// stored columns are not an `R`, unless such rows are [left out](Self::on_unreadable).
    pub async fn get_many(&self, keys: impl IntoIterator<Item: Borrow<K>>) -> Result<Vec<Option<R>>, Error>
    where
        R: DeserializeOwned,
    {
        self.vouched().await?;
        let mut encoded = Vec::new();
        for (index, key) in keys.into_iter().enumerate() {
            encoded.push(self.encode(key.borrow()).map_err(|error| Error::input(index, error))?);
        }
        let stored = self.stored(&encoded).await?;
        let log = LogSkipped::new(&self.name);
        let read = |row: &Row| match (self.read(row), &self.skipped) {
            (Err(error), Some(skipped)) if error.is_unreadable_row() => {
                log.skipped.add_unreadable(row.key(), error.clone());
                skipped.add_unreadable(row.key(), error);
                Ok(None)
            }
            (read, _) => read.map(Some),
        };
        encoded.iter().map(|key| stored.get(key).map_or(Ok(None), read)).collect()
    }

    /// The same table, whose reads of several rows do this with rows that cannot be read as the row type:
    /// [`get_many`](Self::get_many), for which such a row is none, and every [`scan`](Self::scan) and
    /// [`export`](Self::export), which may say otherwise themselves.
    ///
    /// ```
    /// # use keyderive::{Client, OnUnreadable, RowKey};
    /// # #[derive(RowKey)] struct UserKey { id: u64 }
    /// # #[derive(serde::Serialize, serde::Deserialize)] struct User { age: u32, visits: i64 }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), keyderive::Error> {
    /// let users = Client::embedded().table::<UserKey, User>("users").on_unreadable(OnUnreadable::Skip);
    /// users.create_if_absent().await?;
    /// users.increment(&UserKey { id: 7 }, "visits", 1).await?; // a row without an age
    /// assert!(users.get_many([UserKey { id: 7 }]).await?[0].is_none());
    /// assert_eq!(users.skipped().unreadable(), 1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// [`get`](Self::get) fails for such a row, since its error is about this one: `error.is_invalid_row()`.
    #[must_use]
    pub fn on_unreadable(&self, policy: OnUnreadable) -> Self {
        let skipped = (policy == OnUnreadable::Skip).then(Skipped::default);
        Self { skipped, ..self.clone() }
    }

    /// What [`get_many`](Self::get_many) of this handle and its clones has left out, since
    /// [`on_unreadable`](Self::on_unreadable) made it. Scans have [their own](super::Scan::skipped).
    #[must_use]
    pub fn skipped(&self) -> Skipped {
        self.skipped.clone().unwrap_or_default()
    }

    /// The rows that there are of these keys.
    async fn stored(&self, keys: &[Bytes]) -> Result<HashMap<Bytes, Row>, Error> {
        let mut distinct = keys.to_vec();
        distinct.sort_unstable();
        distinct.dedup();
        let request = ReadRows { keys: distinct, ..ReadRows::default() }.filter(self.read_filter());
        let mut rows = self.client.read_rows(&self.name, request);
        let mut stored = HashMap::new();
        while let Some(row) = rows.try_next().await? {
            stored.insert(Bytes::copy_from_slice(row.key()), row);
        }
        Ok(stored)
    }

    /// Whether there is a row with this key. The server sends its key alone.
    ///
    /// # Errors
    /// When the key cannot be encoded, or the read fails.
    pub async fn exists(&self, key: &K) -> Result<bool, Error> {
        self.vouched().await?;
        let one = RowFilter::chain([RowFilter::cells_per_row(1), RowFilter::strip_value()]);
        Ok(self.client.read_row(&self.name, self.encode(key)?, Some(one)).await?.is_some())
    }

    /// The row with this key as it is stored: every version of every column of every family.
    ///
    /// ```
    /// # use keyderive::{Client, RowKey};
    /// # #[derive(RowKey)] struct UserKey { id: u64 }
    /// # #[derive(serde::Serialize, serde::Deserialize)] struct User { age: u32 }
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
    /// A column that was written several times comes with each version that garbage collection has not come to yet;
    /// [`Row::newest`] is what other reads give. [`Scan::raw`](super::Scan::raw) is the same for many rows, and [`Client::raw_table`](crate::Client::raw_table)
    /// has no key type either.
    ///
    /// # Errors
    /// When the key cannot be encoded, or the read fails.
    pub async fn get_raw(&self, key: &K) -> Result<Option<Row>, Error> {
        self.vouched().await?;
        self.client.read_row(&self.name, self.encode(key)?, None).await
    }

    /// The same table, whose reads ask for these columns alone. A row that has none of them is not sent, and is none.
    ///
    /// ```
    /// # use keyderive::{Client, RowKey};
    /// # #[derive(RowKey)] struct UserKey { id: u64 }
    /// # type User = std::collections::BTreeMap<String, i64>;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), keyderive::Error> {
    /// let users = Client::embedded().table::<UserKey, User>("users");
    /// users.create_if_absent().await?;
    /// users.put(&UserKey { id: 7 }, &User::from([("age".into(), 42), ("visits".into(), 3)])).await?;
    /// let user = users.columns(["age"]).get(&UserKey { id: 7 }).await?;
    /// assert_eq!(user, Some(User::from([("age".into(), 42)])));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Columns are named as in all calls: `name`, `family:name`, and `family:` for all of a family. What names none of
    /// these, as the bare name of a family of the row type does, is an error of the reads.
    ///
    /// Projection alone are narrowed. What was read so is no whole row: [`put`](Self::put) would delete the columns that it
    /// lacks, where [`merge`](Self::merge) and [`update`](Self::update) leave them.
    #[must_use]
    pub fn columns<Q: AsRef<[u8]>>(&self, columns: impl IntoIterator<Item = Q>) -> Self {
        let paths = columns.into_iter().map(|path| Path::new(path.as_ref().to_vec())).collect();
        Self { reads: Projection::Named(paths), ..self.clone() }
    }

    /// The same table read, and written, as rows of another type, most often of a part of `R`'s fields.
    ///
    /// ```
    /// # use keyderive::{Client, RowKey};
    /// # #[derive(RowKey)] struct UserKey { id: u64 }
    /// #[derive(serde::Serialize, serde::Deserialize)]
    /// struct User {
    ///     name: String,
    ///     portrait: String,
    /// }
    ///
    /// #[derive(serde::Deserialize)]
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
    /// Where `S` is a struct, its reads ask for the columns and families that it names, aliases too. A row that has none
    /// of them is not sent, and is none. A map, or a struct with a flattened field, names none, and all are asked for.
    #[must_use]
    pub fn rows_as<S: DeserializeOwned>(&self) -> Table<K, S> {
        let mut table = self.clone().with_rows();
        table.shape = Arc::new(Shape::of::<S>());
        table.every_version = table.shape.has_versions();
        table.reads = Projection::OfRows;
        table.check = self.check.again();
        table
    }

    /// The same table, whose reads ask for every version of each column.
    ///
    /// A row type with [`Versions`](crate::row::Versions) asks for them by itself. A struct with a flattened field does
    /// not say what it has, and is read from the newest version of each column without this; a table of such rows that is
    /// [created](Self::create) after it keeps every version.
    #[must_use]
    pub fn every_version(&self) -> Self {
        Self { every_version: true, check: self.check.again(), ..self.clone() }
    }

    /// What the server shall send of a row: the columns that are read, and as many versions as the row type reads.
    pub(super) fn read_filter(&self) -> RowFilter {
        let newest = (!self.every_version).then(|| RowFilter::latest(VERSIONS));
        RowFilter::chain(self.columns_asked().into_iter().chain(newest))
    }

    /// The columns that are read, where not all are.
    pub(super) fn columns_asked(&self) -> Option<RowFilter> {
        match &self.reads {
            Projection::Everything => None,
            Projection::OfRows => self.columns_of_rows(),
            Projection::Named(paths) => Some(row::filter_of(&**paths, &self.family, &self.shape)),
        }
    }

    /// The columns that the row type names, and the markers beside them; none where it names none.
    fn columns_of_rows(&self) -> Option<RowFilter> {
        let fields = self.shape.fields();
        if fields.is_empty() {
            return None;
        }
        let marker = [""];
        let own = fields.iter().filter(|field| matches!(field.kind, FieldKind::Column { .. }));
        let own = RowFilter::any_column(&*self.family, own.map(|field| field.name).chain(marker));
        let families = fields.iter().filter_map(|field| match &field.kind {
            FieldKind::Column { .. } => None,
            FieldKind::Family { columns: None, .. } => Some(RowFilter::family(field.name)),
            FieldKind::Family { columns: Some(columns), .. } => {
                Some(RowFilter::any_column(field.name, columns.iter().copied().chain(marker)))
            }
        });
        Some(RowFilter::interleave([own].into_iter().chain(families)))
    }
}
