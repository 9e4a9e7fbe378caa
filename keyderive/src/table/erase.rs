//! Rows counted, deleted and dropped by plan.

use bytes::Bytes;

use super::{OnForeign, Table};
use crate::client::{Batch, Error, Mutations, REQUEST_BYTES};
use crate::key::TableKey;
use crate::plan::{IntoPlan, Plan};

/// How many rows are deleted with one request.
const DELETED_ROWS: usize = 5_000;

impl<K: TableKey, R> Table<K, R> {
    /// How many rows a plan selects.
    ///
    /// Their keys are read, without values. [`Scan::count`](super::Scan::count) counts those that filters leave. Only
    /// keys within the ranges that the plan asks for are met, which [`explain`](Plan::explain) prints: with a salt, a
    /// row outside of every bucket is neither counted nor an error.
    ///
    /// # Errors
    /// When a value can be in no key, or the read fails; for a row whose key is not of this key type.
    pub async fn count(&self, plan: impl IntoPlan<K>) -> Result<u64, Error> {
        self.scan(plan).count().await
    }

    /// Deletes exactly the rows that a plan selects; says how many.
    ///
    /// ```
    /// # use keyderive::{Client, RowKey};
    /// # #[derive(RowKey)] struct EventKey { user_id: String, #[reverse_ts] at: u64 }
    /// # type Event = std::collections::BTreeMap<String, i64>;
    /// # async fn sample(client: Client) -> Result<(), keyderive::Error> {
    /// let events = client.table::<EventKey, Event>("events");
    /// let deleted = events.delete_rows(EventKey::scan().user_id("alice").at_range(..1426535612156)).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Keys are read without their values, and rows deleted in batches. Rows whose keys are not of this key type are
    /// left alone. After an error, call it again: what has been deleted is not found a second time. Rows that are
    /// written meanwhile may be deleted or not.
    ///
    /// # Errors
    /// When a value can be in no key, or a read or a write fails.
    pub async fn delete_rows(&self, plan: impl IntoPlan<K>) -> Result<u64, Error> {
        let mut rows = self.scan(plan).keys_only().unordered().on_foreign(OnForeign::Skip).stream();
        let mut deleted = 0;
        let (mut batch, deletion) = (Batch::default(), Mutations::delete_row());
        while rows.next().await.transpose()?.is_some() {
            if batch.len() == DELETED_ROWS || batch.is_full_for(rows.last_key(), &deletion, REQUEST_BYTES) {
                deleted += self.delete_batch(&mut batch).await?;
            }
            batch.add(rows.last_key(), &deletion);
        }
        Ok(deleted + self.delete_batch(&mut batch).await?)
    }

    async fn delete_batch(&self, batch: &mut Batch) -> Result<u64, Error> {
        let rows = batch.len() as u64;
        self.send(batch).await.map(|()| rows)
    }

    /// Drops all rows of a plan by the prefixes of their keys, with one request for each bucket: far cheaper than
    /// [`delete_rows`](Self::delete_rows). After an error some buckets are dropped; call it again. Rows that are written
    /// meanwhile stay or go.
    ///
    /// Only for a plan whose rows are all those of exactly one byte prefix in each bucket, which is not empty: fields
    /// fixed from the left, one value each, and nothing else; not all of them, which is one row for
    /// [`delete`](Self::delete). Such a prefix ends on a delimiter or a width, so that rows of other values do not begin
    /// with it.
    ///
    /// A salt or a tag is such a prefix by itself: the free scan `EventKey::scan()` of a key type that begins with one
    /// drops all rows under every bucket or the tag. Without either it is the whole table, and an error.
    ///
    /// Every row under the prefixes goes, foreign ones too: where key types share a table, give each a tag, which is a
    /// part of its prefixes. `delete_rows` leaves foreign rows alone.
    ///
    /// # Errors
    /// When the plan is another one, or has an empty prefix, since it is of the whole table: the error says what to
    /// write, and [`delete_rows`](Self::delete_rows) takes every plan. When the request fails.
    pub async fn drop_rows(&self, plan: impl IntoPlan<K>) -> Result<(), Error> {
        let plan = plan.into_plan().map_err(|error| Error::plan(&self.name, error))?;
        if plan.is_empty() {
            return Ok(());
        }
        let prefixes = plan.prefixes().ok_or_else(|| Error::not_prefixes(&self.name, no_prefixes(&plan)))?;
        self.vouched().await?;
        for prefix in prefixes {
            self.client.drop_row_range(&self.name, Bytes::from(prefix)).await?;
        }
        Ok(())
    }
}

/// Why a plan cannot be dropped, and what to write instead.
fn no_prefixes<K>(plan: &Plan<K>) -> &'static str {
    if plan.is_point_read() {
        return "the plan is one row by its whole key, and rows are dropped by prefixes of their keys; delete it with \
                `table.delete(&key)`";
    }
    if plan.is_whole() {
        return "the plan is of rows by their whole keys, and rows are dropped by prefixes of their keys; delete them \
                with `table.delete_rows(plan)`";
    }
    if plan.is_full() {
        return "the plan is of every row, and without a tag or a salt the keys of all rows have no prefix to drop \
                them by; delete them with `table.delete_rows(plan)`, or the table with `client.delete_table(name)`";
    }
    "rows are dropped by prefixes of their keys, and these are not all rows of one prefix in each bucket; fix fields \
     from the left, to one value each, and no more, or delete exactly these rows with `table.delete_rows(plan)`"
}
