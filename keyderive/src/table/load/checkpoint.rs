//! How far a load has come, as data that outlives it.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::super::Table;
use crate::client::Error;
use crate::key::TableKey;

/// How far a load has come: the first [`items`](Self::items) items of its input are all dealt with, each written or
/// reported as failed. [`Load::resume`](super::Load::resume) goes on behind them.
///
/// ```
/// # use keyderive::{Client, RowKey};
/// # #[derive(RowKey)] struct UserKey { id: u64 }
/// # #[derive(serde::Serialize, serde::Deserialize)] struct User { age: u32 }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use keyderive::load::Checkpoint;
///
/// # let users = Client::embedded().table::<UserKey, User>("users");
/// # users.create_if_absent().await?;
/// let report = users.load_iter((0..1000).map(|id| (UserKey { id }, User { age: 42 }))).await?;
/// let stored = serde_json::to_string(report.checkpoint())?;
/// let checkpoint: Checkpoint = serde_json::from_str(&stored)?;
/// assert_eq!(checkpoint.items(), 1000);
/// # Ok(())
/// # }
/// ```
///
/// It is data of serde, some 150 bytes of JSON: the number of items, the name of the table, the fingerprint of the key
/// type, and the timestamp of the load's cells. A load into another table or by another key type refuses it. That the
/// input is the same one, in the same order, is the caller's to see to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    items: u64,
    /// By its full name, so that a table of the same name in another instance is another one.
    table: String,
    fingerprint: String,
    timestamp_micros: i64,
}

impl Checkpoint {
    /// That of a load which has not begun.
    pub(super) fn begin<K: TableKey, R>(table: &Table<K, R>, timestamp_micros: i64) -> Self {
        Self {
            items: 0,
            table: table.client.table_name(&table.name),
            fingerprint: K::fingerprint().to_string(),
            timestamp_micros,
        }
    }

    /// The same load, when so many items are dealt with.
    pub(super) fn at(&self, items: u64) -> Self {
        Self { items, ..self.clone() }
    }

    /// How many items of the input are dealt with, from its first one on.
    #[must_use]
    pub fn items(&self) -> u64 {
        self.items
    }

    /// When the load began, in microseconds since 1970: the timestamp of all cells that it writes.
    #[must_use]
    pub fn timestamp_micros(&self) -> i64 {
        self.timestamp_micros
    }

    /// Fails for a table that the checkpoint is not of.
    pub(super) fn check<K: TableKey, R>(&self, table: &Table<K, R>) -> Result<(), Error> {
        let here = Self::begin(table, self.timestamp_micros);
        let differs = |what: &str, found: &str, expected: &str| {
            Err(Error::mismatch(
                &table.name,
                format!(
                    "the checkpoint is of another load: expected {what} `{expected}`, found `{found}`; resume it \
                     there, or begin this load without a checkpoint"
                ),
            ))
        };
        if self.table != here.table {
            return differs("the table", &self.table, &here.table);
        }
        if self.fingerprint != here.fingerprint {
            let what = format!("the fingerprint of `{}`", K::SCHEMA.key_type());
            return differs(&what, &self.fingerprint, &here.fingerprint);
        }
        Ok(())
    }
}

/// Which items of the input are dealt with.
///
/// What it holds is bounded by the rows that are looked ahead at or on the way.
pub(super) struct LowWater {
    outstanding: BTreeSet<u64>,
    /// The number of the next item.
    next: u64,
}

impl LowWater {
    pub(super) fn behind(items: u64) -> Self {
        Self { outstanding: BTreeSet::new(), next: items }
    }

    /// Numbers the next item.
    pub(super) fn begin(&mut self) -> u64 {
        let index = self.next;
        self.outstanding.insert(index);
        self.next += 1;
        index
    }

    /// An item is written, or reported as failed.
    pub(super) fn settle(&mut self, index: u64) {
        self.outstanding.remove(&index);
    }

    /// How many items from the first one on are dealt with, without a gap.
    pub(super) fn items(&self) -> u64 {
        self.outstanding.first().copied().unwrap_or(self.next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_holds_the_mark() {
        let mut low = LowWater::behind(10);
        assert_eq!(low.items(), 10);
        assert_eq!([low.begin(), low.begin(), low.begin()], [10, 11, 12]);
        low.settle(12);
        low.settle(11);
        assert_eq!(low.items(), 10);
        low.settle(10);
        assert_eq!(low.items(), 13);
    }
}
