//! Writes that depend on what a row holds.

use std::ops::Not;

use bytes::Bytes;
use serde::Serialize;

use super::Table;
use crate::client::{Error, Mutations};
use crate::key::TableKey;
use crate::row::{self, Condition, Mutation, MutationList, RowFilter, Write};

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
    /// True: the condition held, the row was written in the same step, and it is what is read. False: nothing was written.
    ///
    /// It is not sent again when it may have been applied. After an error with
    /// [`is_outcome_unknown`](Error::is_outcome_unknown), read the row to know.
    ///
    /// # Errors
    /// When the key, the row or the condition's value cannot be encoded, the condition names no column, or the write
    /// fails.
    ///
    /// # Cancel safety
    /// Dropped before it is done, the row is written or not, perhaps later; the condition still guards the write.
    pub async fn put_if(&self, key: &K, row: &R, condition: Condition) -> Result<bool, Error>
    where
        R: Serialize,
    {
        self.write_if(key, row, self.writing(false), condition).await
    }

    /// [`delete`](Self::delete), where the row is as the condition says; whether it was.
    ///
    /// True: the row is gone. After an unknown outcome, read it, as for [`put_if`](Self::put_if).
    ///
    /// # Errors
    /// As [`put_if`](Self::put_if).
    ///
    /// # Cancel safety
    /// As `put_if`.
    pub async fn delete_if(&self, key: &K, condition: Condition) -> Result<bool, Error> {
        self.vouched().await?;
        self.mutate_if(self.encode(key)?, Mutation::delete_row().into(), condition).await
    }

    /// [`put`](Self::put), where there is no row with this key; whether there was none.
    ///
    /// Any cell keeps the row, also one of a family that the row type does not have. True and false are as of
    /// [`put_if`](Self::put_if), and so is an unknown outcome.
    ///
    /// # Errors
    /// As [`put_if`](Self::put_if).
    ///
    /// # Cancel safety
    /// As `put_if`.
    pub async fn put_if_absent(&self, key: &K, row: &R) -> Result<bool, Error>
    where
        R: Serialize,
    {
        self.write_if(key, row, self.writing(true), Condition::row_exists().not()).await
    }

    async fn write_if(
        &self,
        key: &K,
        row: &R,
        writing: Write<'_>,
        condition: Condition,
    ) -> Result<bool, Error>
    where
        R: Serialize,
    {
        self.vouched().await?;
        let (key, mut mutations) = (self.encode(key)?, MutationList::default());
        let written = mutations.write(|sink| row::write_row(row, writing, sink));
        written.map_err(|error| Error::row(&self.name, &key, error))?;
        self.mutate_if(key, mutations, condition).await
    }

    pub(super) async fn mutate_if(
        &self,
        key: Bytes,
        mut mutations: MutationList,
        condition: Condition,
    ) -> Result<bool, Error> {
        let compared = condition.compared_version(&self.family);
        let (filter, negated) = self.condition(&key, condition)?;
        if let Some(compared) = compared {
            mutations.supersede(&compared).map_err(|error| Error::row(&self.name, &key, error))?;
        }
        let mutations = Mutations::from(mutations);
        self.check_own_times(&key, &mutations)?;
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
    /// A call that succeeds was applied exactly once, and the answer is what the column held then. It is not sent again when
    /// it may have been applied: after an error with [`is_outcome_unknown`](Error::is_outcome_unknown), the same call may count twice. A sum that is
    /// too large wraps around.
    ///
    /// A row that is missing, or was deleted meanwhile, is made of this column alone; reads can
    /// [skip](crate::Scan::on_unreadable) rows that lack others. A `put` of a row type that has the column sets it, whatever
    /// was counted meanwhile: keep counters in a row type of their own, of the same table or of another.
    ///
    /// # Errors
    /// When the key cannot be encoded, the column holds something else than 8 bytes, or the write fails. Any 8 bytes
    /// are taken as an integer, those of a float too: Bigtable does not know what they stand for.
    ///
    /// # Cancel safety
    /// Dropped before it is done, the amount is added or not, perhaps later.
    pub async fn increment(&self, key: &K, column: &str, amount: i64) -> Result<i64, Error> {
        let (key, value) = self.modify(key).increment(column, amount).one().await?;
        let value: Result<[u8; 8], _> = value.as_ref().try_into();
        value
            .map(i64::from_be_bytes)
            .map_err(|_| Error::answer(&self.name, &key, "the sum does not have 8 bytes"))
    }

    /// Puts bytes after what a column of a row, `name` or `family:name`, holds; all that it holds then. A column that
    /// the row does not have counts as empty, and a row that is not there is made.
    ///
    /// It is applied once, and not sent again when it may have been: [`increment`](Self::increment) says what that means.
    ///
    /// # Errors
    /// When the key cannot be encoded, or the write fails.
    ///
    /// # Cancel safety
    /// Dropped before it is done, the bytes are there or not, perhaps later.
    pub async fn append(&self, key: &K, column: &str, value: impl Into<Bytes>) -> Result<Bytes, Error> {
        self.modify(key).append(column, value).one().await.map(|(_, value)| value)
    }
}
