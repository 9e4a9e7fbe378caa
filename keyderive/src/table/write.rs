//! Writes: one row, many rows, and their deletion.

use std::borrow::Borrow;

use bytes::Bytes;
use serde::Serialize;

use super::Table;
use crate::client::{Batch, Entry, Error, Mutations, REQUEST_BYTES};
use crate::key::TableKey;
use crate::row::{self, Write};

/// How many rows of one call share a look at the clock. They take far less than the millisecond that it shows.
const ROWS_A_LOOK: usize = 32;

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
        self.vouched().await?;
        self.mutate(self.entry(key, row)?).await
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
        self.vouched().await?;
        let mut entry = Entry::default();
        self.fill(&mut entry, key, row, self.writing(true))?;
        self.mutate(entry).await
    }

    /// [`put`](Self::put) for many rows, in requests of about 1 MiB, one after the other.
    ///
    /// Rows are written in the order given, each atomically, not all together: after an error the rows
    /// before it are stored, and some behind it may be, of the same request. A file or a stream with an end is better [loaded](Self::load), and
    /// rows that come one by one go to a [`writer`](Self::writer).
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
    /// For the first row that cannot be encoded, naming its place in the input, behind all rows in front of it; for the
    /// first row that the server refuses, naming its key.
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
        self.vouched().await?;
        let (mut batch, mut entry) = (Batch::default(), Entry::default());
        let mut rows = rows.enumerate();
        // Each is read by a call of its own, so that none is held while a request is waited for.
        let mut writing = self.writing(merges);
        let mut next = |entry: &mut Entry| {
            let (index, pair) = rows.next()?;
            if index % ROWS_A_LOOK == 0 {
                writing = self.writing(merges);
            }
            let (key, row): &(K, R) = Borrow::borrow(&pair);
            Some(self.fill(entry, key, row, writing).map_err(|error| Error::input(index, error)))
        };
        while let Some(filled) = next(&mut entry) {
            let filled = filled.and_then(|()| {
                let checked = entry.check(&self.name);
                checked.map_err(|error| Error::entry(&Bytes::copy_from_slice(&entry.key), error))
            });
            if let Err(error) = filled {
                self.send(&mut batch).await?;
                return Err(error);
            }
            if batch.is_full_for(&entry.key, &entry.mutations, REQUEST_BYTES) {
                self.send(&mut batch).await?;
            }
            batch.add(&entry.key, &entry.mutations);
        }
        self.send(&mut batch).await
    }

    /// Sends what a batch has; fails for the first entry that fails.
    pub(super) async fn send(&self, batch: &mut Batch) -> Result<(), Error> {
        let entries = batch.take();
        let outcomes = self.client.send_entries(&self.name, &entries).await;
        match outcomes.into_iter().enumerate().find_map(|(place, outcome)| Some((place, outcome.err()?))) {
            Some((place, error)) => Err(Error::entry(&entries.key(place), error)),
            None => {
                batch.reuse(entries);
                Ok(())
            }
        }
    }

    async fn mutate(&self, Entry { key, mutations }: Entry) -> Result<(), Error> {
        self.client.mutate_row(&self.name, key.into(), mutations).await
    }

    /// What [`put`](Self::put) writes.
    pub(super) fn entry(&self, key: &K, row: &R) -> Result<Entry, Error>
    where
        R: Serialize,
    {
        let mut entry = Entry::default();
        self.fill(&mut entry, key, row, self.writing(false))?;
        Ok(entry)
    }

    /// Makes an entry that of this row. After an error it has the key, where the key could be encoded.
    pub(super) fn fill(&self, entry: &mut Entry, key: &K, row: &R, writing: Write<'_>) -> Result<(), Error>
    where
        R: Serialize,
    {
        entry.clear();
        self.encode_into(key, &mut entry.key)?;
        let written = entry.mutations.write(|sink| row::write_row(row, writing, sink));
        written.map_err(|error| Error::row(&self.name, &Bytes::copy_from_slice(&entry.key), error))
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
        self.vouched().await?;
        let key = self.encode(key)?;
        self.client.mutate_row(&self.name, key, Mutations::delete_row()).await
    }
}
