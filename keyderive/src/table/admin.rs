//! What is done to a table as a whole, apart from creating it.

use super::Table;
use crate::client::{Error, FamilyChange, TableInfo};
use crate::key::TableKey;

impl<K: TableKey, R> Table<K, R> {
    /// What the table is: its column families with their rules, and its row key schema.
    ///
    /// ```
    /// # use keyderive::{Client, RowKey};
    /// # #[derive(RowKey)] struct UserKey { id: u64 }
    /// # type User = std::collections::BTreeMap<String, i64>;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), keyderive::Error> {
    /// let users = Client::embedded().table::<UserKey, User>("users");
    /// users.create_if_absent().await?;
    /// let info = users.info().await?;
    /// assert_eq!(info.family("cf").unwrap().gc_rule().to_string(), "all but the newest version");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`is_not_found`](Error::is_not_found) where there is no such table.
    pub async fn info(&self) -> Result<TableInfo, Error> {
        self.client.table_info(&self.name).await
    }

    /// Deletes the table and every row of it.
    ///
    /// # Errors
    /// [`is_not_found`](Error::is_not_found) where there is no such table.
    pub async fn delete_table(&self) -> Result<(), Error> {
        self.client.delete_table(&self.name).await
    }

    /// Adds, changes and drops column families, by all changes in their order, or by none; what the table is then.
    ///
    /// ```
    /// # use keyderive::{Client, RowKey};
    /// # #[derive(RowKey)] struct UserKey { id: u64 }
    /// # type User = std::collections::BTreeMap<String, i64>;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), keyderive::Error> {
    /// use keyderive::GcRule;
    /// use keyderive::client::{Family, FamilyChange};
    ///
    /// let users = Client::embedded().table::<UserKey, User>("users");
    /// users.create_if_absent().await?;
    /// let add = FamilyChange::add(Family::new("stats", GcRule::max_versions(3)));
    /// users.modify_families([add]).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// It is sent again only when it was not sent, or was refused.
    ///
    /// # Errors
    /// As [`RawTable::modify_families`](crate::client::RawTable::modify_families).
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
}
