//! Reads of some columns.

use std::borrow::Borrow;
use std::fmt;
use std::marker::PhantomData;

use super::scan::RowType;
use super::{Direct, Reads, Scan, Scans, Table, UntypedTable};
use crate::client::Error;
use crate::dynamic::DynReader;
use crate::key::TableKey;
use crate::plan::IntoPlan;
use crate::row::{RawRow, Row, Selection};

impl<K: TableKey, R: Row, S: Reads> Table<K, R, S> {
    /// Reads only these columns: `get`, `get_many` and `scan` return their values in place of the row.
    ///
    /// ```
    /// use keyderive::{Client, Row, RowKey};
    /// # #[derive(RowKey)] struct UserKey { id: u64 }
    ///
    /// #[derive(Row)]
    /// struct User {
    ///     name: String,
    ///     email: Option<String>,
    ///     portrait: Vec<u8>,
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), keyderive::Error> {
    /// let users = Client::embedded().table::<UserKey, User>("users");
    /// users.create_if_absent().await?;
    /// users.put(&UserKey { id: 7 }, &User { name: "Corrie".into(), email: None, portrait: vec![0; 1000] }).await?;
    /// let found: Option<(String, Option<String>)> = users.select((User::NAME, User::EMAIL)).get(&UserKey { id: 7 }).await?;
    /// assert_eq!(found, Some(("Corrie".into(), None)));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// | selected | read as |
    /// |---|---|
    /// | a column | its type: `T`, `Option<T>`, `Versions<T>`, `Sum`; `i64` for a counter, `Option<T>` for a column with a default |
    /// | a family that is a struct | an `Option` of the struct |
    /// | a family that is a map | a `BTreeMap` |
    /// | a tuple of up to 16 | a tuple |
    ///
    /// The server sends only these columns. If a selected column is required, rows with none of the selected columns are not
    /// returned. Otherwise every row is, and absent columns are `None` or empty. For [`rows_as`](Self::rows_as), a row with
    /// none of its columns does not exist, whether one is required or not, and a selection of it has no such row either. If a
    /// family is optional, select the family: a required column of it is an error in a row without the family. A column that was renamed
    /// without an [`alias`](macro@crate::Row) is absent: what is stored under its former name is not read.
    pub fn select<C: Selection<R>>(&self, selection: C) -> Select<K, C::Output, S>
    where
        C::Output: 'static,
    {
        let visible = self.handle.visible.selected(selection);
        let handle = UntypedTable { visible, ..self.handle.clone() };
        Select { table: Table { handle, store: self.store.clone(), types: PhantomData } }
    }
}

impl<K: TableKey, R: Row, S: Reads> Scan<K, R, S> {
    /// Reads these columns alone, as [`Table::select`] does, of what the scan's conditions, [filters](Self::filter) and
    /// [versions](Self::latest) leave of a row: the same rows, or, if a column is required, those that still have a selected one.
    ///
    /// ```
    /// # use keyderive::{Client, Row, RowKey};
    /// # #[derive(RowKey)] struct UserKey { id: u64 }
    /// # #[derive(Row)] struct User { name: String, portrait: Vec<u8> }
    /// # async fn sample(client: Client) -> Result<(), keyderive::Error> {
    /// let users = client.table::<UserKey, User>("users");
    /// let names: Vec<(UserKey, String)> = users.scan(UserKey::scan()).select(User::NAME).collect().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn select<C: Selection<R>>(self, selection: C) -> Scan<K, Selected<C::Output>, S>
    where
        C::Output: 'static,
    {
        let visible = self.table.handle.visible.selected(selection);
        self.with_visible(visible)
    }
}

/// Reads of some columns, from [`Table::select`].
pub struct Select<K, T, S = Direct> {
    table: Table<K, Selected<T>, S>,
}

impl<K: TableKey, T: 'static, S: Reads> Select<K, T, S> {
    /// Reads the columns of the row with this key, if it exists: one point read.
    ///
    /// # Errors
    /// As [`Table::get`].
    ///
    /// # Cancel safety
    /// A dropped future cancels the read.
    pub async fn get(&self, key: &K) -> Result<Option<T>, Error> {
        let stored = self.table.read_stored(key).await?;
        stored.map(|row| self.table.handle.decode_selected(&row)).transpose()
    }

    /// Reads the columns of the rows with these keys, in the order of the keys, as [`Table::get_many`] does.
    ///
    /// # Errors
    /// As `get_many`.
    ///
    /// # Cancel safety
    /// A dropped future cancels the read.
    pub async fn get_many(&self, keys: impl IntoIterator<Item: Borrow<K>>) -> Result<Vec<Option<T>>, Error> {
        self.table.read_many(keys, |row| self.table.handle.decode_selected(row)).await
    }

    /// A scan of the columns of the rows that `plan` selects, as [`Table::scan`].
    pub fn scan(&self, plan: impl IntoPlan<K>) -> Scan<K, Selected<T>, S::Scanned>
    where
        S: Scans<K>,
    {
        self.table.scan(plan)
    }
}

impl<K, T, S> fmt::Debug for Select<K, T, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Select").field("table", &self.table).finish()
    }
}

impl<K, T, S: Clone> Clone for Select<K, T, S> {
    fn clone(&self) -> Self {
        Self { table: self.table.clone() }
    }
}

/// The rows of a scan with [`select`](Scan::select): a `T` for each.
#[derive(Debug)]
pub struct Selected<T>(PhantomData<fn() -> T>);

impl<K: TableKey, T: 'static> RowType<K> for Selected<T> {
    type Item = (K::Stored, T);
    type Columns = T;

    fn read(table: &UntypedTable, _: &mut Option<Box<DynReader>>, row: &RawRow) -> Result<T, Error> {
        table.decode_selected(row)
    }

    fn item(key: K::Stored, columns: T) -> Self::Item {
        (key, columns)
    }
}
