//! The rows that had failed before a checkpoint, as a resumed load meets them in its input.

use std::collections::{BTreeMap, HashMap};

use bytes::Bytes;

use crate::client::{Entry, Error};

/// A row as it is to be sent; or its key, where it has one, and why it cannot be.
pub(super) type Encoded<T = Entry> = Result<T, (Option<Bytes>, Error)>;

/// Failed rows that are tried again.
///
/// Of two rows with one key the later one in the input counts. So one that has failed is not tried again where a later
/// one of its key has been written meanwhile.
#[derive(Default)]
pub(super) struct RetryRows {
    rows: BTreeMap<u64, Encoded>,
    by_key: HashMap<Bytes, Vec<u64>>,
}

impl RetryRows {
    pub(super) fn add(&mut self, index: u64, row: Encoded) {
        let key = match &row {
            Ok(entry) => Some(&entry.key[..]),
            Err((key, _)) => key.as_deref(),
        };
        if let Some(key) = key {
            self.by_key.entry(Bytes::copy_from_slice(key)).or_default().push(index);
        }
        self.rows.insert(index, row);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// A later row of this key has been written: takes out those that it stands for, and gives their places.
    pub(super) fn supersede(&mut self, key: &[u8]) -> Vec<u64> {
        let indexes = self.by_key.remove(key).unwrap_or_default();
        for index in &indexes {
            self.rows.remove(index);
        }
        indexes
    }

    /// What is left, in the order of the input.
    pub(super) fn into_rows(self) -> impl Iterator<Item = (u64, Encoded)> {
        self.rows.into_iter()
    }
}
