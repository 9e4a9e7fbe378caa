//! Columns counted up and appended to, in the server.

use std::fmt;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;

use super::Table;
use crate::client::Error;
use crate::key::TableKey;
use crate::row::{Path, ReadModifyWrite, Row, RowError};

/// Changes to columns of one row by what they hold, all or none, from [`Table::modify`].
///
/// Awaited, it is sent, and gives the cells that it changed, as they are then. It is not sent again when its outcome is
/// unknown.
///
/// # Errors
/// When the key or the name of a column cannot be encoded, or there is no change, before anything is sent; when a column
/// to be counted up holds something else than an integer; when the write fails.
#[must_use = "a modification is made when it is awaited"]
pub struct Modify<K, R> {
    table: Table<K, R>,
    key: Result<Bytes, Error>,
    rules: Vec<ReadModifyWrite>,
    /// The first fault of a change.
    fault: Option<RowError>,
}

impl<K: TableKey, R> Table<K, R> {
    /// Counts up and appends to several columns of a row at once; [`increment`](Self::increment) and
    /// [`append`](Self::append) are for one.
    ///
    /// ```
    /// # use keyderive::{Client, RowKey};
    /// # use std::collections::BTreeMap;
    /// # #[derive(RowKey)] struct PageKey { url: String }
    /// #[derive(serde::Serialize, serde::Deserialize)]
    /// struct Page {
    ///     visits: i64,
    ///     daily: BTreeMap<String, i64>, // a family: a column for each day
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), keyderive::Error> {
    /// let pages = Client::embedded().table::<PageKey, Page>("pages");
    /// pages.create_if_absent().await?;
    /// let home = PageKey { url: "/".into() };
    /// let changed = pages.modify(&home).increment("visits", 1).increment("daily:2026-05-01", 1).await?;
    /// assert_eq!(changed.cells().len(), 2);
    /// let page = pages.get(&home).await?.unwrap();
    /// assert_eq!((page.visits, page.daily["2026-05-01"]), (1, 1));
    /// # Ok(())
    /// # }
    /// ```
    pub fn modify(&self, key: &K) -> Modify<K, R> {
        Modify { table: self.clone(), key: self.encode(key), rules: Vec::new(), fault: None }
    }
}

impl<K: TableKey, R> Modify<K, R> {
    /// Adds to an integer column; to 0 where there is none. A sum that is too large wraps around.
    pub fn increment(self, column: &str, amount: i64) -> Self {
        self.with(column, |family, column| ReadModifyWrite::increment(family, column, amount))
    }

    /// Appends bytes to what a column holds, or to nothing if there is none.
    pub fn append(self, column: &str, value: impl Into<Bytes>) -> Self {
        self.with(column, |family, column| ReadModifyWrite::append(family, column, value))
    }

    fn with(mut self, column: &str, rule: impl FnOnce(Arc<str>, Bytes) -> ReadModifyWrite) -> Self {
        match Path::new(column.to_owned()).one_column(&self.table.family, &self.table.shape) {
            Ok((family, column)) => self.rules.push(rule(family, column)),
            Err(error) => _ = self.fault.get_or_insert(error),
        }
        self
    }

    /// Sends it, where it is one change; the row's key, and the value that the cell has then.
    pub(super) async fn one(self) -> Result<(Bytes, Bytes), Error> {
        let table = Arc::clone(&self.table.name);
        let (key, row) = self.send().await?;
        match row.cells().next() {
            Some(cell) => Ok((key, Bytes::copy_from_slice(cell.value()))),
            None => Err(Error::answer(&table, &key, "it has no cell")),
        }
    }

    /// Sends it; the row's key, and the changed cells.
    async fn send(self) -> Result<(Bytes, Row), Error> {
        self.table.vouched().await?;
        let Self { table, key, rules, fault } = self;
        let key = key?;
        if let Some(error) = fault {
            return Err(Error::row(&table.name, &key, error));
        }
        let row = table.client.read_modify_write_row(&table.name, key.clone(), rules).await?;
        Ok((key, row))
    }
}

impl<K: TableKey + 'static, R: 'static> IntoFuture for Modify<K, R> {
    type Output = Result<Row, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { self.send().await.map(|(_, row)| row) })
    }
}

impl<K, R> fmt::Debug for Modify<K, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Modify")
            .field("table", &self.table)
            .field("rules", &self.rules)
            .finish_non_exhaustive()
    }
}
