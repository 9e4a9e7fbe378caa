//! A table without a key type: its keys are bytes, its rows cells.

use std::fmt;
use std::ops::Deref;
use std::time::Duration;
use std::vec;

use bytes::Bytes;

use super::{
    Client, Error, Family, FamilyChange, Granularity, NewTable, RawWriter, ReadRows, Route, RowStream,
    Settings, TableInfo, WriterSettings,
};
use crate::key::MAX_KEY_LEN;
use crate::row::{Mutation, RawRow, ReadModifyWrite, RowFilter};

/// A table whose keys are bytes and whose rows are cells, as Bigtable stores them.
///
/// ```
/// # #[cfg(feature = "embedded")]
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), keyderive::Error> {
/// use keyderive::row::Mutation;
/// use keyderive::{Client, RowKey};
///
/// # #[derive(RowKey)] struct UserKey { id: u64 }
/// # type User = std::collections::BTreeMap<String, u64>;
/// let client = Client::embedded();
/// # client.table::<UserKey, User>("users").create_if_absent().await?;
/// let users = client.raw_table("users");
/// users.mutate_row("7", [Mutation::set("cf", "name", 0, "Corrie")]).await?;
/// let row = users.read_row("7", None).await?;
/// assert_eq!(row.unwrap().newest("cf", "name").unwrap().value(), b"Corrie");
/// # Ok(())
/// # }
/// # #[cfg(not(feature = "embedded"))]
/// # fn main() {}
/// ```
///
/// Use it for rows of other programs, for what a typed table cannot express, and for tools. For your own rows, use a
/// [`Table`](crate::Table).
#[derive(Clone)]
pub struct RawTable {
    client: Client,
    name: Route,
}

impl RawTable {
    pub(super) fn new(client: Client, name: Route) -> Self {
        Self { client, name }
    }

    /// The table's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// This table with a deadline, as [`Client::with_deadline`].
    #[must_use]
    pub fn with_deadline(&self, at: std::time::Instant) -> Self {
        Self { client: self.client.with_deadline(at), name: self.name.clone() }
    }

    /// This table with a deadline, as [`Client::with_timeout`].
    #[must_use]
    pub fn with_timeout(&self, timeout: Duration) -> Self {
        Self { client: self.client.with_timeout(timeout), name: self.name.clone() }
    }

    /// This table with other settings.
    #[must_use]
    pub fn with(&self, change: impl FnOnce(&mut Settings)) -> Self {
        Self { client: self.client.with(change), name: self.name.clone() }
    }

    /// Creates the table with these column families, and tablets that begin at `splits`.
    ///
    /// ```
    /// # #[cfg(feature = "embedded")]
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), keyderive::Error> {
    /// use keyderive::client::{Aggregate, Family};
    /// use keyderive::{Client, GcRule};
    ///
    /// let sites = Client::embedded().raw_table("sites");
    /// let families = [
    ///     Family::new("cf", GcRule::max_versions(1)),
    ///     Family::aggregate("clicks", Aggregate::Sum, GcRule::never()),
    /// ];
    /// sites.create(families, ["g", "n", "t"]).await?;
    /// assert_eq!(sites.info().await?.families().len(), 2);
    /// # Ok(())
    /// # }
    /// # #[cfg(not(feature = "embedded"))]
    /// # fn main() {}
    /// ```
    ///
    /// It is retried only if it was not sent, or the server rejected it. If two families have the same name, the last counts.
    ///
    /// # Errors
    /// When a family has an invalid name or rule, before sending; [`is_already_exists`](Error::is_already_exists) if the table
    /// exists; when the request fails.
    ///
    /// # Cancel safety
    /// If the future is dropped, the table is created or not, perhaps later.
    pub async fn create<S: Into<Bytes>>(
        &self,
        families: impl IntoIterator<Item = Family>,
        splits: impl IntoIterator<Item = S>,
    ) -> Result<(), Error> {
        let families = families.into_iter().collect();
        let splits = splits.into_iter().map(Into::into).collect();
        self.client.create_table(&self.name, NewTable { families, splits, ..NewTable::default() }).await
    }

    /// [`create`](Self::create), for a table whose timestamps have this unit.
    ///
    /// ```
    /// # #[cfg(feature = "embedded")]
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), keyderive::Error> {
    /// use keyderive::client::{Family, Granularity};
    /// use keyderive::row::Mutation;
    /// use keyderive::{Client, GcRule};
    ///
    /// let trades = Client::embedded().raw_table("trades");
    /// let families = [Family::new("cf", GcRule::never())];
    /// trades.create_with_granularity(Granularity::Micros, families, [""; 0]).await?;
    /// trades.mutate_row("k", [Mutation::set("cf", "price", 1_700_000_000_123_456, "7")]).await?;
    /// # Ok(())
    /// # }
    /// # #[cfg(not(feature = "embedded"))]
    /// # fn main() {}
    /// ```
    ///
    /// # Errors
    /// As `create`.
    ///
    /// # Cancel safety
    /// As `create`.
    pub async fn create_with_granularity<S: Into<Bytes>>(
        &self,
        granularity: Granularity,
        families: impl IntoIterator<Item = Family>,
        splits: impl IntoIterator<Item = S>,
    ) -> Result<(), Error> {
        let families = families.into_iter().collect();
        let splits = splits.into_iter().map(Into::into).collect();
        let new = NewTable { families, splits, granularity, ..NewTable::default() };
        self.client.create_table(&self.name, new).await
    }

    /// The table's schema, as [`Client::table_info`].
    ///
    /// # Errors
    /// [`is_not_found`](Error::is_not_found) if there is no such table.
    ///
    /// # Cancel safety
    /// A dropped future cancels the read.
    pub async fn info(&self) -> Result<TableInfo, Error> {
        self.client.table_info(&self.name).await
    }

    /// Adds, changes and drops column families: all changes in order, or none of them. Returns the new schema.
    ///
    /// It is retried only if it was not sent, or the server rejected it.
    ///
    /// # Errors
    /// When there are no changes, or one has an invalid name or rule, before sending; when a family to add exists, or one to
    /// change does not; when the request fails.
    ///
    /// # Cancel safety
    /// If the future is dropped, all changes are made or none, perhaps later.
    pub async fn modify_families(
        &self,
        changes: impl IntoIterator<Item = FamilyChange>,
    ) -> Result<TableInfo, Error> {
        self.client.modify_families(&self.name, changes.into_iter().collect()).await
    }

    /// Removes the table's row key schema, as [`Table::remove_row_key_schema`](crate::Table::remove_row_key_schema).
    ///
    /// ```
    /// # async fn sample(sites: keyderive::client::RawTable) -> Result<(), keyderive::Error> {
    /// sites.remove_row_key_schema().await?;
    /// assert!(sites.info().await?.row_key_schema().is_none());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`is_not_found`](Error::is_not_found) if there is no such table; when a request fails.
    ///
    /// # Cancel safety
    /// If the future is dropped, the schema is removed or not, perhaps later.
    pub async fn remove_row_key_schema(&self) -> Result<(), Error> {
        self.client.remove_row_key_schema(&self.name).await
    }

    /// Waits until every cluster of the instance has all writes to the table that were made before the call.
    ///
    /// It polls the server with the backoff and within the total timeout of the settings for `admin`.
    ///
    /// # Errors
    /// [`is_deadline_exceeded`](Error::is_deadline_exceeded) when it times out; when a request fails.
    ///
    /// # Cancel safety
    /// A dropped future stops waiting.
    pub async fn wait_for_consistency(&self) -> Result<(), Error> {
        self.client.wait_for_consistency(&self.name).await
    }

    /// The row with this key, without the cells that the filter drops; `None` if there is no such row, or no cell is
    /// left.
    ///
    /// ```
    /// # async fn sample(sites: keyderive::client::RawTable) -> Result<(), keyderive::Error> {
    /// if let Some(row) = sites.read_row("n#7", None).await? {
    ///     println!("{} cells", row.cells().len());
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Returns `None` without sending for a key that no row can have: an empty one, or one longer than 4096 bytes.
    ///
    /// # Errors
    /// When Bigtable rejects the filter, or the read fails.
    ///
    /// # Cancel safety
    /// A dropped future cancels the read.
    pub async fn read_row(
        &self,
        key: impl Into<Bytes>,
        filter: Option<RowFilter>,
    ) -> Result<Option<RawRow>, Error> {
        let key = key.into();
        match key.len() {
            1..=MAX_KEY_LEN => self.client.read_row(&self.name, key, filter).await,
            _ => Ok(None),
        }
    }

    /// The rows that a request selects, in ascending or descending order of their keys. With a [limit](ReadRows::limit), the stream
    /// ends after its last row, without waiting for the server, unless the request asks for its [cost](ReadRows::with_stats).
    pub fn read_rows(&self, request: ReadRows) -> RowStream {
        self.client.read_rows(&self.name, request).ending_at_limit()
    }

    /// Changes one row, atomically.
    ///
    /// ```
    /// # async fn sample(sites: keyderive::client::RawTable) -> Result<(), keyderive::Error> {
    /// use keyderive::row::Mutation;
    ///
    /// let now = std::time::UNIX_EPOCH.elapsed().unwrap_or_default().as_millis() as i64 * 1000; // in whole milliseconds
    /// sites.mutate_row("n#7", [Mutation::set("cf", "name", now, "north")]).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Transient failures are retried. A write with [`Mutation::set_now`], or with an addition where the server ignores
    /// [tokens](Settings::idempotency_tokens), is retried only if it was not sent, or the server rejected it: after an error with
    /// [`is_outcome_unknown`](Error::is_outcome_unknown) it may have been applied.
    ///
    /// # Errors
    /// When the write is above a limit of Bigtable, or a deletion has [finer bounds](Mutation::delete_versions) and the table
    /// cannot be read, before sending; when it fails.
    ///
    /// # Cancel safety
    /// If the future is dropped, all mutations are applied or none, perhaps later.
    pub async fn mutate_row(
        &self,
        key: impl Into<Bytes>,
        mutations: impl IntoIterator<Item = Mutation>,
    ) -> Result<(), Error> {
        let mut mutations: Vec<_> = mutations.into_iter().collect();
        self.client.cut_bounds(&self.name, &mut mutations).await?;
        self.client.mutate_row(&self.name, key.into(), mutations).await
    }

    /// Changes many rows, each atomically and independently of the others, in as few requests as Bigtable's limits allow.
    /// The outcomes are in the order of `entries`. Entries with the same key are applied in no order.
    ///
    /// ```
    /// # async fn sample(sites: keyderive::client::RawTable) -> Result<(), keyderive::Error> {
    /// use keyderive::row::Mutation;
    ///
    /// let now = std::time::UNIX_EPOCH.elapsed().unwrap_or_default().as_millis() as i64 * 1000; // in whole milliseconds
    /// let rename = |name: &str| vec![Mutation::set("cf", "name", now, name.to_owned())];
    /// let entries = vec![("n#7".into(), rename("north")), ("s#8".into(), rename("south"))];
    /// sites.mutate_rows(entries).await.all_written()?; // the first failure, if a row was not written
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Rows that failed are retried, each as in [`mutate_row`](Self::mutate_row).
    ///
    /// # Errors
    /// When a deletion has [finer bounds](Mutation::delete_versions) and the table cannot be read, every row fails, and nothing is sent.
    /// Otherwise each outcome is of one row. It is an error if the row's write is above a limit of Bigtable, and then not
    /// sent; if the server rejects it; if the answer leaves the row out, or has two different statuses for it; or if the
    /// request fails. The errors name the rows.
    ///
    /// # Cancel safety
    /// If the future is dropped, some of the rows are changed, each whole or not at all, perhaps later.
    pub async fn mutate_rows(&self, mut entries: Vec<(Bytes, Vec<Mutation>)>) -> RowOutcomes {
        for (_, mutations) in &mut entries {
            if let Err(error) = self.client.cut_bounds(&self.name, mutations).await {
                let failed = entries.iter().map(|(key, _)| Err(Error::entry(key, error.clone())));
                return RowOutcomes(failed.collect());
            }
        }
        RowOutcomes(self.client.mutate_rows(&self.name, entries).await)
    }

    /// A writer of many rows in the background.
    #[must_use]
    pub fn writer(&self) -> RawWriter {
        self.writer_with(|_| ())
    }

    /// A writer of many rows in the background, with other settings.
    #[must_use]
    pub fn writer_with(&self, change: impl FnOnce(&mut WriterSettings)) -> RawWriter {
        let mut settings = WriterSettings::default();
        change(&mut settings);
        RawWriter::new(self.client.clone(), self.name.clone(), settings)
    }

    /// Applies `then` to a row if `condition` passes at least one of its cells, or, without a condition, if the row has
    /// any cell; otherwise applies `otherwise`. Returns true for `then`.
    ///
    /// ```
    /// # async fn sample(sites: keyderive::client::RawTable) -> Result<(), keyderive::Error> {
    /// use keyderive::row::{Mutation, RowFilter};
    ///
    /// let named = RowFilter::exact_column("cf", "name");
    /// let name = vec![Mutation::set_now("cf", "name", "north")];
    /// let was_named = sites.check_and_mutate_row("n#7", Some(named), vec![], name).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// It is retried only if it was not sent, or the server rejected it. After an error with
    /// [`is_outcome_unknown`](Error::is_outcome_unknown) it may have been applied, or may be later, so that a read alone proves
    /// nothing: [unknown outcomes](crate::guide::errors#unknown-outcomes).
    ///
    /// # Errors
    /// When both lists are empty, the write is above a limit of Bigtable, or Bigtable rejects the filter, all before sending;
    /// when it fails.
    ///
    /// # Cancel safety
    /// If the future is dropped, the mutations are applied or not, perhaps later; the condition still guards them.
    pub async fn check_and_mutate_row(
        &self,
        key: impl Into<Bytes>,
        condition: Option<RowFilter>,
        mut then: Vec<Mutation>,
        mut otherwise: Vec<Mutation>,
    ) -> Result<bool, Error> {
        self.client.cut_bounds(&self.name, &mut then).await?;
        self.client.cut_bounds(&self.name, &mut otherwise).await?;
        self.client.check_and_mutate_row(&self.name, key.into(), condition, then, otherwise).await
    }

    /// Increments or appends to cells of a row, in the order of the rules, and returns the changed cells.
    ///
    /// ```
    /// # async fn sample(sites: keyderive::client::RawTable) -> Result<(), keyderive::Error> {
    /// use keyderive::row::ReadModifyWrite;
    ///
    /// let row = sites.read_modify_write_row("n#7", vec![ReadModifyWrite::increment("cf", "visits", 1)]).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// It is retried only if it was not sent, or the server rejected it. After an error with
    /// [`is_outcome_unknown`](Error::is_outcome_unknown) it may have been applied.
    ///
    /// # Errors
    /// When there are no rules, or the write fails.
    ///
    /// # Cancel safety
    /// If the future is dropped, the rules are applied or not, perhaps later.
    pub async fn read_modify_write_row(
        &self,
        key: impl Into<Bytes>,
        rules: Vec<ReadModifyWrite>,
    ) -> Result<RawRow, Error> {
        self.client.read_modify_write_row(&self.name, key.into(), rules, Ok).await
    }

    /// Keys that split the table into parts of about equal size, in order, each with the approximate size in bytes of
    /// the rows before it. No row needs to have these keys. The last may be empty, and then stands for the table's end.
    ///
    /// # Errors
    /// When the request fails.
    ///
    /// # Cancel safety
    /// A dropped future cancels the read.
    pub async fn sample_row_keys(&self) -> Result<Vec<(Bytes, i64)>, Error> {
        self.client.sample_row_keys(&self.name).await
    }
}

impl fmt::Debug for RawTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RawTable").field("name", &self.name).finish_non_exhaustive()
    }
}

/// What became of each row of a [`mutate_rows`](RawTable::mutate_rows), in the order of its entries.
///
/// ```
/// # async fn sample(sites: keyderive::client::RawTable) -> Result<(), keyderive::Error> {
/// # let entries = Vec::new();
/// let outcomes = sites.mutate_rows(entries).await;
/// for error in outcomes.iter().filter_map(|outcome| outcome.as_ref().err()) {
///     eprintln!("{error}"); // names the row
/// }
/// outcomes.all_written() // fails if any row was not written
/// # }
/// ```
///
/// A row with an error may have been written all the same, if its error is [`is_outcome_unknown`](Error::is_outcome_unknown):
/// [errors](crate::guide::errors#unknown-outcomes) says what to do. [Guarantees](crate::guide::promises#without-a-key-type) says what
/// holds beside other writers.
#[derive(Clone, Debug)]
#[must_use = "some of the rows may not have been written"]
pub struct RowOutcomes(Vec<Result<(), Error>>);

impl RowOutcomes {
    /// Success if every row was written.
    ///
    /// # Errors
    /// The first failure of a row.
    pub fn all_written(self) -> Result<(), Error> {
        self.0.into_iter().collect()
    }
}

impl Deref for RowOutcomes {
    type Target = [Result<(), Error>];

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl IntoIterator for RowOutcomes {
    type Item = Result<(), Error>;
    type IntoIter = vec::IntoIter<Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}
