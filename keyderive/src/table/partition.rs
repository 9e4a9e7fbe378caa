//! A table in parts, to be read side by side, by this process or by others.

use super::Table;
use crate::client::Error;
use crate::key::TableKey;
use crate::plan::{IntoPlan, KeyRange, Plan};

impl<K: TableKey, R> Table<K, R> {
    /// The table in parts of about equal size: plans that together cover every row of the key type exactly once.
    ///
    /// ```
    /// # use keyderive::{Client, RowKey};
    /// # #[derive(RowKey)] struct EventKey { user_id: String, #[reverse_ts] at: u64 }
    /// # type Event = std::collections::BTreeMap<String, i64>;
    /// # async fn sample(client: Client) -> Result<(), keyderive::Error> {
    /// let events = client.table::<EventKey, Event>("events");
    /// for partition in events.partitions().await? {
    ///     let events = events.clone();
    ///     // A plan is data of serde too, for workers in other processes.
    ///     tokio::spawn(async move { events.scan(partition).unordered().collect().await });
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// The parts lie between the row keys that the service samples, which are about where its tablets begin, and
    /// between the salt's buckets. They hold for as long as the table does, whatever becomes of its tablets.
    ///
    /// # Errors
    /// When the request for the samples fails.
    pub async fn partitions(&self) -> Result<Vec<Plan<K>>, Error> {
        self.partitions_of(Plan::full()).await
    }

    /// [`partitions`](Self::partitions) of the rows that a plan selects.
    ///
    /// # Errors
    /// When a value can be in no key, or the request for the samples fails.
    pub async fn partitions_of(&self, plan: impl IntoPlan<K>) -> Result<Vec<Plan<K>>, Error> {
        let plan = plan.into_plan().map_err(|error| Error::plan(&self.name, error))?;
        let starts = self.key_space_starts().await?;
        let ends = starts.iter().skip(1).map(|end| Some(end.clone())).chain([None]);
        let windows = starts.iter().zip(ends).map(|(start, end)| KeyRange::new(start.clone(), end));
        let parts = windows.map(|window| plan.within(&window));
        Ok(parts.filter(|part| !part.is_empty()).collect())
    }

    /// Where the parts of the key space begin, in order; the first one at the empty key.
    pub(super) async fn key_space_starts(&self) -> Result<Vec<Vec<u8>>, Error> {
        self.vouched().await?;
        let samples = self.client.sample_row_keys(&self.name).await?;
        let mut starts = K::SCHEMA.bucket_splits();
        starts.extend(samples.into_iter().map(|(key, _)| key.to_vec()));
        // The end of the table is sampled as an empty key, which is where the first part begins.
        starts.push(Vec::new());
        starts.sort_unstable();
        starts.dedup();
        Ok(starts)
    }
}
