//! A writer of typed rows in the background, over the raw one of `client/bulk.rs`.

use std::fmt;
use std::marker::PhantomData;
use std::sync::OnceLock;

use crate::row::{MutationList, Row};

use super::handle::WriteScope;
use super::watch::Watch;
use super::{Direct, Reads, Table, UntypedTable, Update, Writes};
use crate::client::{
    Client, Entries, Error, RawWriter, WriteErrors, WriterFuture, WriterSettings, WriterTarget,
};
use crate::key::TableKey;

/// Writes rows in the background, many in a request and several requests at a time.
///
/// ```
/// # use keyderive::{Client, Row, RowKey};
/// # #[derive(RowKey)] struct UserKey { id: u64 }
/// # #[derive(Row)] struct User { age: u32 }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let users = Client::embedded().table::<UserKey, User>("users");
/// users.create_if_absent().await?;
/// let writer = users.writer();
/// for id in 0..1000 {
///     writer.put(&UserKey { id }, &User { age: 42 }).await?;
/// }
/// assert_eq!(writer.close().await?, 1000);
/// # Ok(())
/// # }
/// ```
///
/// Each row is stored whole, as by [`put`](Table::put), in no order. Two writes of one row may be swapped:
/// [`flush`](Self::flush) between them.
///
/// A batch is sent when it is full, when it has waited for `linger`, or when the client is
/// [closed](crate::Client::close), which waits for it. [`flush`](Self::flush) and
/// [`close`](Self::close) return the failures; both are cancel-safe. Several tasks can share a writer in an
/// [`Arc`](std::sync::Arc), and then call `flush` where one owner would call `close`.
///
/// A dropped writer sends its unsent batch as long as the runtime runs: **rows are lost if `main` returns before they are
/// written**, so close the writer, or await [`Client::close`](crate::Client::close). The failures of a dropped writer are
/// logged as a warning.
///
/// While a table is [re-keyed](crate::table::rekey), each batch goes where the state says when it is sent.
pub struct Writer<K, R, S = Direct> {
    raw: RawWriter,
    table: Table<K, R, S>,
    deletion: MutationList,
    types: PhantomData<fn(K, R)>,
}

impl<K: TableKey, R, S: Reads> Table<K, R, S> {
    /// A writer of many rows in the background.
    ///
    /// For rows that arrive one by one, for as long as the program runs. [Load](Self::load) an input that ends.
    #[must_use]
    pub fn writer(&self) -> Writer<K, R, S>
    where
        S: Writes,
    {
        self.writer_with(|_| ())
    }

    /// A writer of many rows in the background, with other [settings](WriterSettings).
    #[must_use]
    pub fn writer_with(&self, change: impl FnOnce(&mut WriterSettings)) -> Writer<K, R, S>
    where
        S: Writes,
    {
        let raw = self.handle.client.raw_table(&self.handle.name).writer_with(change);
        let target =
            WriterTable { table: self.handle.clone(), store: self.store.clone(), watch: OnceLock::new() };
        Writer {
            raw: raw.to(target),
            table: self.clone(),
            deletion: self.store.deletion(),
            types: PhantomData,
        }
    }
}

impl<K: TableKey, R, S: Writes> Writer<K, R, S> {
    /// Buffers a row, to be written as by [`Table::put`]; waits while too much is buffered or in flight. The row is stored
    /// once [`flush`](Self::flush) or [`close`](Self::close) succeeds.
    ///
    /// ```
    /// # use keyderive::{Client, Row, RowKey};
    /// # #[derive(RowKey)] struct UserKey { id: u64 }
    /// # #[derive(Row)] struct User { age: u32 }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), keyderive::Error> {
    /// # let users = Client::embedded().table::<UserKey, User>("users");
    /// # users.create_if_absent().await?;
    /// let writer = users.writer();
    /// for id in 0..1000 {
    ///     writer.put(&UserKey { id }, &User { age: 42 }).await?;
    /// }
    /// assert_eq!(writer.close().await.unwrap(), 1000);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// When the key or the row cannot be encoded, or is above a limit of Bigtable; when the client is closed, or no
    /// tokio runtime is running.
    ///
    /// # Cancel safety
    /// If the future is dropped while it waits, the row is not buffered. A buffered row is sent even if the writer is
    /// dropped.
    pub async fn put(&self, key: &K, row: &R) -> Result<(), Error>
    where
        R: Row,
    {
        self.table.bound().ensure_writable(WriteScope::Rows).await?;
        self.raw.write_with(|entry| self.table.encode_row(entry, key, row, false)).await
    }

    /// Buffers an update, as [`Table::update`] makes it; waits while too much is buffered or in flight. An update without a
    /// change is skipped.
    ///
    /// ```
    /// # use keyderive::{Client, Row, RowKey};
    /// # #[derive(RowKey)] struct PageKey { url: String }
    /// use keyderive::row::Sum;
    ///
    /// #[derive(Row)]
    /// struct Page {
    ///     #[row(family = "sums")]
    ///     views: Sum,
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), keyderive::Error> {
    /// let pages = Client::embedded().table::<PageKey, Page>("pages");
    /// pages.create_if_absent().await?;
    /// let (writer, home) = (pages.writer(), PageKey { url: "/".into() });
    /// for _ in 0..1000 {
    ///     writer.update(pages.update(&home).add(Page::VIEWS, 1)).await?;
    /// }
    /// writer.close().await.unwrap();
    /// assert_eq!(pages.get(&home).await?.unwrap().views.get(), 1000);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Those of [`put`](Self::put).
    ///
    /// # Cancel safety
    /// That of [`put`](Self::put).
    pub async fn update(&self, update: Update<K, R, S>) -> Result<(), Error> {
        self.table.bound().ensure_writable(WriteScope::Columns).await?;
        if update.is_empty() {
            return Ok(());
        }
        self.raw.write_with(|entry| update.encode_into(&self.table, entry)).await
    }

    /// Buffers the deletion of a row, as [`Table::delete`]; waits while too much is buffered or in flight.
    ///
    /// # Errors
    /// When the key cannot be encoded, the client is closed, or no tokio runtime is running.
    ///
    /// # Cancel safety
    /// That of [`put`](Self::put).
    pub async fn delete(&self, key: &K) -> Result<(), Error> {
        self.table.bound().ensure_checked().await?;
        self.raw
            .write_with(|entry| {
                self.deletion.as_slice().iter().for_each(|part| entry.mutations.push(part));
                self.table.encode_into(key, &mut entry.key)
            })
            .await
    }

    /// Waits until every buffered row is written or has failed; returns how many were written since the last flush.
    ///
    /// # Errors
    /// The rows that failed since the last flush, each with its key; and [`WriteErrors::table_error`] if the table was [re-keyed, deleted or
    /// created again](crate::guide::tables#layout) meanwhile.
    ///
    /// # Cancel safety
    /// A dropped future stops waiting. The buffered rows are still sent, and the next flush returns their outcomes.
    pub async fn flush(&self) -> Result<u64, WriteErrors> {
        self.raw.flush().await
    }

    /// [`flush`](Self::flush), for the last time.
    ///
    /// # Errors
    /// Those of `flush`.
    ///
    /// # Cancel safety
    /// If the future is dropped, the buffered rows are still sent, and nobody learns their outcomes.
    pub async fn close(self) -> Result<u64, WriteErrors> {
        self.raw.close().await
    }
}

/// The table of a writer, watched from its first batch on.
struct WriterTable<S> {
    table: UntypedTable,
    store: S,
    watch: OnceLock<Watch>,
}

impl<S: Writes> WriterTarget for WriterTable<S> {
    fn before<'a>(&'a self, client: &'a Client, rows: usize) -> WriterFuture<'a, Result<(), Error>> {
        let watch = self.watch.get_or_init(|| self.store.watch_later(&self.table));
        Box::pin(async move { watch.before(&self.table.with_client(client.clone()), rows).await })
    }

    fn send<'a>(
        &'a self,
        client: &'a Client,
        entries: &'a Entries,
    ) -> WriterFuture<'a, Vec<Result<(), Error>>> {
        Box::pin(
            async move { self.store.send_entries(&self.table.with_client(client.clone()), entries).await },
        )
    }

    fn after(&self, rows: usize, not_written: usize) {
        if let Some(watch) = self.watch.get() {
            watch.after(rows, not_written);
        }
    }

    fn end(&self) -> WriterFuture<'_, Result<(), Error>> {
        Box::pin(async {
            match self.watch.get() {
                Some(watch) => watch.end(&self.table).await,
                None => Ok(()),
            }
        })
    }
}

impl<K, R, S: fmt::Debug> fmt::Debug for Writer<K, R, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").field("table", &self.table).finish_non_exhaustive()
    }
}
