//! A table without a key type: rows of cells under keys of bytes.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;

use super::{
    Client, Error, Family, FamilyChange, NewTable, RawWriter, ReadRows, RowStream, Settings, TableInfo,
    WriterSettings,
};
use crate::key::MAX_KEY_LEN;
use crate::row::{Mutation, ReadModifyWrite, Row, RowFilter};

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
/// It is for rows of other programs, for what a typed table cannot express, and for tools. A
/// [`Table`](crate::Table) is the way to rows of one's own.
#[derive(Clone)]
pub struct RawTable {
    client: Client,
    name: Arc<str>,
}

impl Client {
    /// The table `name` without a key type. Sends nothing. A name that no table has, by the service's rule of 1 to 50
    /// characters from `a-z`, `A-Z`, `0-9`, `_`, `-` and `.`, is an error of every operation.
    #[must_use]
    pub fn raw_table(&self, name: &str) -> RawTable {
        RawTable { client: self.clone(), name: name.into() }
    }
}

impl RawTable {
    /// The table's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The same table, whose operations have other settings.
    #[must_use]
    pub fn with(&self, change: impl FnOnce(&mut Settings)) -> Self {
        Self { client: self.client.with(change), name: Arc::clone(&self.name) }
    }

    /// Creates the table with these column families, and with tablets that begin at `splits`.
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
    /// It is sent again only when it was not sent, or was refused. Of two families with one name the last counts.
    ///
    /// # Errors
    /// When a family has a name or a rule that no family can have, which is found before it is sent;
    /// [`is_already_exists`](Error::is_already_exists) where there is such a table; when the request fails.
    pub async fn create<S: Into<Bytes>>(
        &self,
        families: impl IntoIterator<Item = Family>,
        splits: impl IntoIterator<Item = S>,
    ) -> Result<(), Error> {
        let families = families.into_iter().collect();
        let splits = splits.into_iter().map(Into::into).collect();
        self.client.create_table(&self.name, NewTable { families, splits, row_key_schema: None }).await
    }

    /// What the table is: [`Client::table_info`].
    ///
    /// # Errors
    /// [`is_not_found`](Error::is_not_found) where there is no such table.
    pub async fn info(&self) -> Result<TableInfo, Error> {
        self.client.table_info(&self.name).await
    }

    /// Adds, changes and drops column families, by all changes in their order, or by none; what the table is then.
    ///
    /// It is sent again only when it was not sent, or was refused.
    ///
    /// # Errors
    /// When there is no change, or one with a name or a rule that no family can have, which is found before it is
    /// sent. When a family that is added is there, or one that is changed is not; when the request fails.
    pub async fn modify_families(
        &self,
        changes: impl IntoIterator<Item = FamilyChange>,
    ) -> Result<TableInfo, Error> {
        self.client.modify_families(&self.name, changes.into_iter().collect()).await
    }

    /// Waits until every cluster of the instance has what was written to the table before the call.
    ///
    /// It is asked again and again, with the pauses of the settings for `admin`, and for as long as these allow in all.
    ///
    /// # Errors
    /// [`is_deadline_exceeded`](Error::is_deadline_exceeded) when the time ran out; when a request fails.
    pub async fn wait_for_consistency(&self) -> Result<(), Error> {
        self.client.wait_for_consistency(&self.name).await
    }

    /// The row with this key, or what the filter leaves of it; none where there is nothing.
    ///
    /// Nothing is sent for a key that no row has, which is empty or above 4096 bytes: there is none.
    ///
    /// # Errors
    /// When the filter is none that Bigtable takes, or the read fails.
    pub async fn read_row(
        &self,
        key: impl Into<Bytes>,
        filter: Option<RowFilter>,
    ) -> Result<Option<Row>, Error> {
        let key = key.into();
        match key.len() {
            1..=MAX_KEY_LEN => self.client.read_row(&self.name, key, filter).await,
            _ => Ok(None),
        }
    }

    /// The rows that a request names, in the order of their keys or against it.
    pub fn read_rows(&self, request: ReadRows) -> RowStream {
        self.client.read_rows(&self.name, request)
    }

    /// Changes one row, by all mutations or none.
    ///
    /// # Errors
    /// When the write is above a limit of Bigtable, which is found before it is sent; when it fails.
    pub async fn mutate_row(
        &self,
        key: impl Into<Bytes>,
        mutations: impl IntoIterator<Item = Mutation>,
    ) -> Result<(), Error> {
        let mutations: Vec<_> = mutations.into_iter().collect();
        self.client.mutate_row(&self.name, key.into(), mutations).await
    }

    /// Changes many rows, each as a whole and independently of the others, in as few requests as Bigtable's limits
    /// allow. What became of each is in the order of `entries`.
    pub async fn mutate_rows(&self, entries: Vec<(Bytes, Vec<Mutation>)>) -> Vec<Result<(), Error>> {
        self.client.mutate_rows(&self.name, entries).await
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
        RawWriter::new(self.client.clone(), Arc::clone(&self.name), settings)
    }

    /// Changes a row by `then` where `condition` leaves a cell of it, or, without a condition, where it has any cell;
    /// by `otherwise` where not. Says which: true for `then`.
    ///
    /// It is sent again only when it was not sent, or was refused. After an error that
    /// [`is_outcome_unknown`](Error::is_outcome_unknown) it may have been applied.
    ///
    /// # Errors
    /// When both lists are empty, or the write is above a limit of Bigtable, or the filter is none that it takes, all
    /// of which are found before it is sent; when it fails.
    pub async fn check_and_mutate_row(
        &self,
        key: impl Into<Bytes>,
        condition: Option<RowFilter>,
        then: Vec<Mutation>,
        otherwise: Vec<Mutation>,
    ) -> Result<bool, Error> {
        self.client.check_and_mutate_row(&self.name, key.into(), condition, then, otherwise).await
    }

    /// Changes cells of a row by what they hold, in the order of the rules; the changed cells, as they are then.
    ///
    /// It is sent again only when it was not sent, or was refused. After an error that
    /// [`is_outcome_unknown`](Error::is_outcome_unknown) it may have been applied.
    ///
    /// # Errors
    /// When there is no rule, or the write fails.
    pub async fn read_modify_write_row(
        &self,
        key: impl Into<Bytes>,
        rules: Vec<ReadModifyWrite>,
    ) -> Result<Row, Error> {
        self.client.read_modify_write_row(&self.name, key.into(), rules).await
    }

    /// Keys that cut the table into parts of about equal size, in order, each with about how many bytes the rows
    /// before it take. They need not be those of rows; the last may be empty, and then stands for the table's end.
    ///
    /// # Errors
    /// When the request fails.
    pub async fn sample_row_keys(&self) -> Result<Vec<(Bytes, i64)>, Error> {
        self.client.sample_row_keys(&self.name).await
    }
}

impl fmt::Debug for RawTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RawTable").field("name", &self.name).finish_non_exhaustive()
    }
}
