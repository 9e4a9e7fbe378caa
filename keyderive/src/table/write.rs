//! Writes: one row, many rows, and their deletion.

use std::borrow::Borrow;

use bytes::Bytes;
use serde::Serialize;

use super::Table;
use crate::client::{Batch, Entry, Error};
use crate::key::TableKey;
use crate::row::{self, Mutation, Write};

impl<K: TableKey, R> Table<K, R> {
    /// Makes the row with this key equal to `row`, in one mutation.
    ///
    /// A struct owns the columns that its fields name: those of present fields are set, those of absent
    /// options deleted, and columns that it does not name are left alone, as a newer version of the program may have
    /// written them. A map owns the whole family. A row without a present column still exists, by a marker cell.
    ///
    /// The cells have the time of this machine's clock, and a read takes the newest: what another machine has written
    /// with a clock that is ahead, or a [`Timestamped`](crate::row::Timestamped) of the future, hides what is put until
    /// its time is over.
    ///
    /// # Errors
    /// When the key or the row cannot be encoded, or the write fails, as it does for a field that is a family which the
    /// table does not have.
    pub async fn put(&self, key: &K, row: &R) -> Result<(), Error>
    where
        R: Serialize,
    {
        let (key, mutations) = self.entry(key, row)?;
        self.client.mutate_row(&self.name, key, mutations).await
    }

    /// Sets what is present in `row`, in one mutation, and leaves the rest of the stored row as it is.
    ///
    /// ```
    /// # use keyderive::{Client, RowKey};
    /// # #[derive(RowKey)] struct UserKey { id: u64 }
    /// #[derive(serde::Serialize, serde::Deserialize, Debug, Default, PartialEq)]
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
    /// Nothing is deleted: a `None` and a skipped field leave what is stored, a map adds its entries to those that
    /// are there, [`Versions`](crate::row::Versions) theirs. A row that is not there is made.
    ///
    /// # Errors
    /// As [`put`](Self::put).
    pub async fn merge(&self, key: &K, row: &R) -> Result<(), Error>
    where
        R: Serialize,
    {
        let (key, mutations) = self.entry_of(key, row, true)?;
        self.client.mutate_row(&self.name, key, mutations).await
    }

    /// [`put`](Self::put) for many rows, in as few requests as Bigtable's limits allow.
    ///
    /// Rows are written in the order given, each atomically, not all together: after an error the rows
    /// before it are stored, and some behind it may be.
    ///
    /// ```
    /// # use keyderive::{Client, RowKey};
    /// # #[derive(RowKey)] struct UserKey { id: u64 }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), keyderive::Error> {
    /// # #[derive(serde::Serialize, serde::Deserialize)] struct User { age: u32 }
    /// let users = Client::embedded().table::<UserKey, User>("users");
    /// users.create_if_absent().await?;
    /// let rows = (0..1000).map(|id| (UserKey { id }, User { age: 42 }));
    /// users.put_all(rows).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// The iterator is `Send`, and read as requests are made: the future can be spawned, also where its closures borrow.
    ///
    /// # Errors
    /// For the first row that cannot be encoded, naming its place in the input, before any row of its request
    /// is sent; for the first row that the server refuses, naming its key.
    pub fn put_all<'a, I>(&'a self, rows: I) -> impl Future<Output = Result<(), Error>> + Send + 'a
    where
        I: IntoIterator<Item: Borrow<(K, R)>, IntoIter: Send + 'a>,
        R: Serialize,
    {
        self.write_all(rows.into_iter(), false)
    }

    /// [`merge`](Self::merge) for many rows, as [`put_all`](Self::put_all) writes them.
    ///
    /// # Errors
    /// As `put_all`.
    pub fn merge_all<'a, I>(&'a self, rows: I) -> impl Future<Output = Result<(), Error>> + Send + 'a
    where
        I: IntoIterator<Item: Borrow<(K, R)>, IntoIter: Send + 'a>,
        R: Serialize,
    {
        self.write_all(rows.into_iter(), true)
    }

    async fn write_all(&self, rows: impl Iterator<Item: Borrow<(K, R)>>, merges: bool) -> Result<(), Error>
    where
        R: Serialize,
    {
        let mut batch = Batch::default();
        // Each is read by a call of its own, so that none is held while a request is waited for.
        let entry = |(index, pair): (usize, _)| {
            let (key, row): &(K, R) = Borrow::borrow(&pair);
            self.entry_of(key, row, merges).map_err(|error| Error::input(index, error))
        };
        for entry in rows.enumerate().map(entry) {
            let (key, mutations) = entry?;
            if batch.is_full_for(&key, &mutations) {
                self.send(batch.take()).await?;
            }
            batch.add(key, mutations);
        }
        self.send(batch.take()).await
    }

    pub(super) async fn send(&self, entries: Vec<Entry>) -> Result<(), Error> {
        if entries.is_empty() {
            return Ok(());
        }
        let keys: Vec<Bytes> = entries.iter().map(|(key, _)| key.clone()).collect();
        let outcomes = self.client.mutate_rows(&self.name, entries).await;
        match keys.iter().zip(outcomes).find_map(|(key, outcome)| Some((key, outcome.err()?))) {
            Some((key, error)) => Err(Error::entry(key, error)),
            None => Ok(()),
        }
    }

    pub(super) fn entry(&self, key: &K, row: &R) -> Result<(Bytes, Vec<Mutation>), Error>
    where
        R: Serialize,
    {
        self.entry_of(key, row, false)
    }

    fn entry_of(&self, key: &K, row: &R, merges: bool) -> Result<(Bytes, Vec<Mutation>), Error>
    where
        R: Serialize,
    {
        let key = self.encode(key)?;
        let mutations = row::to_mutations(row, self.writing(merges))
            .map_err(|error| Error::row(&self.name, &key, error))?;
        Ok((key, mutations))
    }

    /// How values are written now.
    ///
    /// The time is given by the client, and not by the server, so that a write that is sent twice is one version.
    pub(super) fn writing(&self, merges: bool) -> Write<'_> {
        Write { family: &self.family, shape: &self.shape, timestamp_micros: row::now_micros(), merges }
    }

    /// Deletes the row with this key; a row that is not there is no error.
    ///
    /// # Errors
    /// When the key cannot be encoded, or the write fails.
    pub async fn delete(&self, key: &K) -> Result<(), Error> {
        let key = self.encode(key)?;
        self.client.mutate_row(&self.name, key, vec![Mutation::delete_row()]).await
    }
}
