//! The entries of one request, and what they add up to.

use bytes::Bytes;

use super::Entry;
use super::limits::MAX_MUTATIONS;
use crate::row::{Change, Mutation};

/// How many bytes of keys and values are sent in one request: well under what the service receives.
const BATCH_BYTES: usize = 8 * 1024 * 1024;

#[derive(Default)]
pub(crate) struct Batch {
    entries: Vec<Entry>,
    mutations: usize,
    bytes: usize,
}

impl Batch {
    /// Whether a request would be too large with another entry.
    pub(crate) fn is_full_for(&self, key: &Bytes, mutations: &[Mutation]) -> bool {
        !self.entries.is_empty()
            && (self.mutations + mutations.len() > MAX_MUTATIONS
                || self.bytes + entry_bytes(key, mutations) > BATCH_BYTES)
    }

    pub(crate) fn add(&mut self, key: Bytes, mutations: Vec<Mutation>) {
        self.mutations += mutations.len();
        self.bytes += entry_bytes(&key, &mutations);
        self.entries.push((key, mutations));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn take(&mut self) -> Vec<Entry> {
        std::mem::take(self).entries
    }
}

/// About what an entry takes on the wire.
pub(crate) fn entry_bytes(key: &Bytes, mutations: &[Mutation]) -> usize {
    /// The lengths and tags of one mutation, its timestamp and its family.
    const OVERHEAD: usize = 32;
    let values: usize = mutations
        .iter()
        .map(|mutation| match &mutation.0 {
            Change::SetCell { qualifier, value, .. } => qualifier.len() + value.len(),
            Change::MergeToCell { qualifier, state, .. } => qualifier.len() + state.len(),
            Change::AddToCell { qualifier, .. } | Change::DeleteColumn { qualifier, .. } => qualifier.len(),
            Change::DeleteFamily { .. } | Change::DeleteRow => 0,
        })
        .sum();
    key.len() + values + OVERHEAD * mutations.len()
}
