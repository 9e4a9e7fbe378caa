//! A scan of a table before it runs.

use std::fmt;

use serde::de::DeserializeOwned;

use super::merge::{Lane, Merge};
use super::rows::Rows;
use super::{Table, latest};
use crate::client::{Error, ReadRows};
use crate::key::TableKey;
use crate::plan::{Explain, Plan, PlanError, Request};

/// A scan of a table: a plan and how it is to be run.
///
/// Rows come in the order of their logical keys, the key without its salt: one stream for each bucket, in
/// parallel, merged. Where a field left of the salt is not fixed, they come in one stream, in the order of
/// the stored keys.
#[must_use = "a scan reads nothing until it is streamed or collected"]
pub struct Scan<K, R> {
    table: Table<K, R>,
    plan: Result<Plan<K>, PlanError>,
    limit: Option<u64>,
}

impl<K: TableKey, R> Scan<K, R> {
    pub(super) fn new(table: Table<K, R>, plan: Result<Plan<K>, PlanError>) -> Self {
        Self { table, plan, limit: None }
    }

    /// At most this many rows, the first ones in the scan's order. The limit is sent with each request;
    /// a limit of 0 sends none.
    pub fn limit(self, rows: u64) -> Self {
        Self { limit: Some(rows), ..self }
    }

    /// What the scan will do, in words, without doing it.
    ///
    /// # Errors
    /// When a field was fixed to a value that no key can hold.
    pub fn explain(&self) -> Result<Explain, Error> {
        match &self.plan {
            Ok(plan) => Ok(plan.explain().with_limit(self.limit)),
            Err(error) => Err(Error::plan(&self.table.name, error.clone())),
        }
    }

    /// Runs the scan. Nothing is sent before the stream is first polled; dropping it cancels what runs.
    ///
    /// An error is the stream's last item: of the plan, a request, or a row that is not one of this table.
    #[must_use = "a stream reads nothing until it is polled"]
    pub fn stream(self) -> Rows<K, R> {
        let Self { table, plan, limit } = self;
        let merge = plan.map_err(|error| Error::plan(&table.name, error)).map(|plan| {
            let lanes = plan.requests().into_iter().map(|request| {
                let request = read_request(request, limit);
                Lane { rows: table.client.read_rows(&table.name, request), schema: K::SCHEMA }
            });
            Merge::new(lanes.collect(), limit)
        });
        Rows::new(table, merge)
    }

    /// Runs the scan and collects its rows.
    ///
    /// ```
    /// # use keyderive::{Client, RowKey};
    /// # #[derive(RowKey)] struct UserKey { id: u64 }
    /// # type User = std::collections::BTreeMap<String, i64>;
    /// # async fn sample(client: Client) -> Result<(), keyderive::Error> {
    /// let users = client.table::<UserKey, User>("users");
    /// let first = users.scan(UserKey::scan()).limit(10).collect().await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The first one of [`stream`](Self::stream); the rows before it are dropped.
    pub async fn collect(self) -> Result<Vec<(K::Stored, R)>, Error>
    where
        R: DeserializeOwned,
    {
        let mut stream = self.stream();
        let mut rows = Vec::new();
        while let Some(row) = stream.next().await {
            rows.push(row?);
        }
        Ok(rows)
    }
}

fn read_request(request: Request, limit: Option<u64>) -> ReadRows {
    let (keys, ranges) = request.into_rows();
    ReadRows {
        keys: keys.into_iter().map(Into::into).collect(),
        ranges,
        limit,
        filter: Some(latest()),
        reversed: false,
    }
}

impl<K, R> fmt::Debug for Scan<K, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { table, plan, limit } = self;
        f.debug_struct("Scan").field("table", table).field("plan", plan).field("limit", limit).finish()
    }
}
