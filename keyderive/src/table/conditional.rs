//! Writes that depend on what a row holds.

use std::ops::Not;

use bytes::Bytes;
use serde::Serialize;

use super::Table;
use crate::client::{Entry, Error, Mutations};
use crate::key::TableKey;
use crate::row::{Condition, RowFilter};

impl<K: TableKey, R> Table<K, R> {
    /// [`put`](Self::put), where the row is as the condition says; whether it was.
    ///
    /// ```
    /// use keyderive::row::Condition;
    /// # use keyderive::{Client, RowKey};
    /// # #[derive(RowKey)] struct JobKey { id: u64 }
    /// # #[derive(serde::Serialize, serde::Deserialize)] struct Job { owner: String }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), keyderive::Error> {
    /// let jobs = Client::embedded().table::<JobKey, Job>("jobs");
    /// jobs.create_if_absent().await?;
    /// let (key, job) = (JobKey { id: 7 }, Job { owner: "alice".into() });
    /// let unclaimed = || Condition::column_exists("owner").not();
    /// assert!(jobs.put_if(&key, &job, unclaimed()).await?);
    /// assert!(!jobs.put_if(&key, &job, unclaimed()).await?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// The check and the write are one step of the server. It is not sent again when its outcome is unknown: an
    /// error that [`is_retryable`](Error::is_retryable) leaves open whether the row was written.
    ///
    /// # Errors
    /// When the key, the row or the condition's value cannot be encoded, the condition names no column, or the write
    /// fails.
    pub async fn put_if(&self, key: &K, row: &R, condition: Condition) -> Result<bool, Error>
    where
        R: Serialize,
    {
        self.vouched().await?;
        let Entry { key, mutations } = self.entry(key, row)?;
        self.mutate_if(key.into(), mutations, condition).await
    }

    /// [`delete`](Self::delete), where the row is as the condition says; whether it was.
    ///
    /// # Errors
    /// As [`put_if`](Self::put_if).
    pub async fn delete_if(&self, key: &K, condition: Condition) -> Result<bool, Error> {
        self.vouched().await?;
        self.mutate_if(self.encode(key)?, Mutations::delete_row(), condition).await
    }

    /// [`put`](Self::put), where there is no row with this key; whether there was none.
    ///
    /// # Errors
    /// As [`put_if`](Self::put_if).
    pub async fn put_if_absent(&self, key: &K, row: &R) -> Result<bool, Error>
    where
        R: Serialize,
    {
        self.put_if(key, row, Condition::row_exists().not()).await
    }

    pub(super) async fn mutate_if(
        &self,
        key: Bytes,
        mutations: Mutations,
        condition: Condition,
    ) -> Result<bool, Error> {
        let (filter, negated) = self.condition(&key, condition)?;
        let (then, otherwise) =
            if negated { (Mutations::default(), mutations) } else { (mutations, Mutations::default()) };
        let matched = self.client.check_and_mutate_row(&self.name, key, filter, then, otherwise).await?;
        Ok(if negated { matched.not() } else { matched })
    }

    /// Whether the row is as the condition says, where there is nothing to be written.
    pub(super) async fn holds(&self, key: Bytes, condition: Condition) -> Result<bool, Error> {
        let (filter, negated) = self.condition(&key, condition)?;
        let one = filter.into_iter().chain([RowFilter::cells_per_row(1), RowFilter::strip_value()]);
        let row = self.client.read_row(&self.name, key, Some(RowFilter::chain(one))).await?;
        Ok(row.is_some() != negated)
    }

    fn condition(&self, key: &Bytes, condition: Condition) -> Result<(Option<RowFilter>, bool), Error> {
        let filter = condition.into_filter(&self.family, &self.shape);
        filter.map_err(|error| Error::row(&self.name, key, error))
    }

    /// Adds to an integer column of a row, `name` or `family:name`; what it holds then. A column that the row does not
    /// have counts as 0, and a row that is not there is made.
    ///
    /// ```
    /// # use keyderive::{Client, RowKey};
    /// # #[derive(RowKey)] struct PageKey { url: String }
    /// # #[derive(serde::Serialize, serde::Deserialize)] struct Page { visits: i64 }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), keyderive::Error> {
    /// let pages = Client::embedded().table::<PageKey, Page>("pages");
    /// pages.create_if_absent().await?;
    /// let home = PageKey { url: "/".into() };
    /// assert_eq!(pages.increment(&home, "visits", 1).await?, 1);
    /// assert_eq!(pages.increment(&home, "visits", 41).await?, 42);
    /// assert_eq!(pages.get(&home).await?.map(|page| page.visits), Some(42));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// It is not sent again when its outcome is unknown: an error that [`is_retryable`](Error::is_retryable) leaves
    /// open whether it was added. A sum that is too large wraps around.
    ///
    /// # Errors
    /// When the key cannot be encoded, the column holds something else than 8 bytes, or the write fails. Any 8 bytes
    /// are taken as an integer, those of a float too: Bigtable does not know what they stand for.
    pub async fn increment(&self, key: &K, column: &str, amount: i64) -> Result<i64, Error> {
        let (key, value) = self.modify(key).increment(column, amount).one().await?;
        let value: Result<[u8; 8], _> = value.as_ref().try_into();
        value
            .map(i64::from_be_bytes)
            .map_err(|_| Error::answer(&self.name, &key, "the sum does not have 8 bytes"))
    }

    /// Puts bytes behind what a column of a row, `name` or `family:name`, holds; all that it holds then. A column that
    /// the row does not have counts as empty, and a row that is not there is made.
    ///
    /// It is not sent again when its outcome is unknown, as [`increment`](Self::increment).
    ///
    /// # Errors
    /// When the key cannot be encoded, or the write fails.
    pub async fn append(&self, key: &K, column: &str, value: impl Into<Bytes>) -> Result<Bytes, Error> {
        self.modify(key).append(column, value).one().await.map(|(_, value)| value)
    }
}
