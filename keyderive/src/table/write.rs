//! Writes: one row, many rows, and their deletion.

use std::borrow::Borrow;
use std::num::NonZeroU64;
use std::time::Duration;

use bytes::Bytes;
use rapidhash::v3::{RapidSecrets, rapidhash_v3_nano_inline};
use serde::Serialize;

use super::Table;
use crate::client::{Batch, Entry, Error, Family, Mutations, OwnTime, REQUEST_BYTES};
use crate::key::TableKey;
use crate::row::{self, RowError, Write};

/// The keys of a batch, which has each once: the server applies the entries of a request in any order.
///
/// While keys ascend, each is compared with the one before. From the first that does not on, hashes are; two keys with one
/// hash end a batch early.
struct BatchKeys {
    last: Vec<u8>,
    /// A table of hashes with open addressing, at most half full. None are in it while keys ascend.
    hashes: Vec<Option<NonZeroU64>>,
    count: usize,
    /// Random, so that nobody can choose keys whose hashes are neighbours.
    secrets: RapidSecrets,
}

impl BatchKeys {
    fn new() -> Self {
        let secrets = RapidSecrets::seed(fastrand::u64(..));
        Self { last: Vec::new(), hashes: Vec::new(), count: 0, secrets }
    }

    /// Adds a key; false where the batch may have it already.
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
        let mut place = usize::try_from(hash.get() & mask as u64).unwrap_or(0);
        while let Some(known) = self.hashes[place] {
            if known == hash {
                return false;
            }
            place = (place + 1) & mask;
        }
        self.hashes[place] = Some(hash);
        self.count += 1;
        true
    }

    fn clear(&mut self) {
        self.last.clear();
        self.hashes.fill(None);
        self.count = 0;
    }
}

impl<K: TableKey, R> Table<K, R> {
    /// Makes the row with this key equal to `row`, in one atomic request.
    ///
    /// When it returns, the type's columns have been made those of this value, whole, whatever clients' clocks say; of
    /// concurrent puts the one that the server applies last stays, and no reader sees a mixture. A request that timed out can
    /// arrive after the call has returned, and brings this value back, whole; use [`put_if`](Self::put_if) where that counts.
    ///
    /// A struct owns the columns that its fields name: those of present fields are set at the server's time, those of absent
    /// options deleted, and columns that it does not name are left alone, as a newer version of the program may have
    /// written them. A map owns the whole family. A row without a present column still exists, by a marker cell.
    ///
    /// This relies on two things. The server's clock does not step back under a row. And no program sets cells in the future,
    /// by a raw write or a [`Timestamped`](crate::row::Timestamped) that is ahead: such a cell hides what is put until its
    /// time is over. Reads count cells that are more than a minute in the future, in a warning and in the metric
    /// `keyderive.future_cells`.
    ///
    /// A write is sent again after every transient failure; sent twice, it is one more version of the same value.
    ///
    /// # Errors
    /// When the key or the row cannot be encoded, or the write fails, as it does for a field that is a family which the
    /// table does not have. After any failure that [`is_outcome_unknown`](Error::is_outcome_unknown), the same call again
    /// makes it hold.
    ///
    /// # Cancel safety
    /// Dropped before it is done, the row is put whole or not at all, perhaps later.
    pub async fn put(&self, key: &K, row: &R) -> Result<(), Error>
    where
        R: Serialize,
    {
        self.vouched().await?;
        self.mutate(self.entry(key, row)?).await
    }

    /// Writes a row whose key no row has, at the least cost: what is present is set, and nothing deleted.
    ///
    /// If there is such a row, the columns of both mix: [`put_if_absent`](Self::put_if_absent) looks first, and
    /// [`put`](Self::put) replaces it. A time series whose keys are new by themselves is what this is for.
    ///
    /// # Errors
    /// As [`put`](Self::put).
    ///
    /// # Cancel safety
    /// As `put`.
    pub async fn insert(&self, key: &K, row: &R) -> Result<(), Error>
    where
        R: Serialize,
    {
        self.merge(key, row).await
    }

    /// Sets what is present in `row`, in one atomic request, and leaves the rest of the stored row as it is.
    ///
    /// The changes apply together, and each changed column is read as set. A row that is not there is made of these alone.
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
    /// are there, [`Versions`](crate::row::Versions) theirs. Beside a `put` of the row, columns of both may stay.
    ///
    /// # Errors
    /// As [`put`](Self::put).
    ///
    /// # Cancel safety
    /// As `put`.
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
    /// Rows are stored request by request in the order given, each whole, and of one key the last given stays. After an error
    /// earlier requests are stored, and rows of the failed one may be. A file or a stream with an end is better [loaded](Self::load), and
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
    /// For the first row that cannot be encoded, naming its place in the input, after all rows before it; for the
    /// first row that the server refuses, naming its key.
    ///
    /// # Cancel safety
    /// Dropped before it is done, some of the rows are put, each whole or not at all, perhaps later.
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
        let mut keys = BatchKeys::new();
        let mut rows = rows.enumerate();
        // Each is read by a call of its own, so that none is held while a request is waited for.
        let writing = self.writing(merges);
        let mut next = |entry: &mut Entry| {
            let (index, pair) = rows.next()?;
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
            let is_full = batch.is_full_for(&entry.key, &entry.mutations, REQUEST_BYTES);
            if is_full || !keys.insert(&entry.key, &batch) {
                // The rows before are stored before this one is sent, which may have the key of one of them.
                self.send(&mut batch).await?;
                keys.clear();
                keys.insert(&entry.key, &batch);
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
        written.map_err(|error| Error::row(&self.name, &Bytes::copy_from_slice(&entry.key), error))?;
        self.check_own_times(&entry.key, &entry.mutations)
    }

    /// Fails for a value whose own time is so long ago that the family's rule removes it at once, by this machine's clock.
    #[inline]
    pub(super) fn check_own_times(&self, key: &[u8], mutations: &Mutations) -> Result<(), Error> {
        match mutations.own_times() {
            [] => Ok(()),
            own_times => self.are_kept(key, own_times),
        }
    }

    fn are_kept(&self, key: &[u8], own_times: &[OwnTime]) -> Result<(), Error> {
        let Some(info) = self.client.known_info(&self.name) else { return Ok(()) };
        let now = row::now_micros();
        for OwnTime { family, qualifier, timestamp_micros: at } in own_times {
            let age = Duration::from_micros(now.saturating_sub(*at).max(0).cast_unsigned());
            if let Some(rule) = info.family(family).map(Family::gc_rule)
                && rule.removes_newest(age)
            {
                return Err(Error::row(
                    &self.name,
                    key,
                    RowError::removed_at_once(family, qualifier, *at, rule),
                ));
            }
        }
        Ok(())
    }

    /// How values are written: with what is absent deleted, or left as it is.
    pub(super) fn writing(&self, merges: bool) -> Write<'_> {
        Write { family: &self.family, shape: &self.shape, merges }
    }

    /// Deletes the row with this key; a row that is not there is no error.
    ///
    /// When it returns the row is gone, with the columns of other types. A write that arrives later makes it again.
    ///
    /// # Errors
    /// When the key cannot be encoded, or the write fails. After any failure the same call again makes it hold.
    ///
    /// # Cancel safety
    /// Dropped before it is done, the row is deleted or not, perhaps later.
    pub async fn delete(&self, key: &K) -> Result<(), Error> {
        self.vouched().await?;
        let key = self.encode(key)?;
        self.client.mutate_row(&self.name, key, Mutations::delete_row()).await
    }
}
