//! The rows of a partition in flight.

use std::collections::hash_map::Entry as Slot;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::client::Entries;
use crate::key::fingerprint64;

/// The rows of a partition in flight, by the numbers of their requests.
#[derive(Default)]
pub(super) struct Sending {
    requests: BTreeMap<u64, Arc<Entries>>,
    rows: usize,
    /// How many of them have each fingerprint of a key, where that is known: a row waits too for one that only has the
    /// fingerprint of its key.
    keys: Option<HashMap<u64, u32>>,
}

impl Sending {
    pub(super) fn begins(&mut self, number: u64, entries: &Arc<Entries>) {
        self.rows += entries.len();
        if let Some(keys) = &mut self.keys {
            add(keys, entries);
        }
        self.requests.insert(number, Arc::clone(entries));
    }

    pub(super) fn ends(&mut self, number: u64) {
        let Some(entries) = self.requests.remove(&number) else { return };
        self.rows -= entries.len();
        let Some(keys) = &mut self.keys else { return };
        for key in entries.keys() {
            if let Slot::Occupied(mut rows) = keys.entry(fingerprint64(key)) {
                *rows.get_mut() -= 1;
                if *rows.get() == 0 {
                    rows.remove();
                }
            }
        }
    }

    /// Has [`contains`](Self::contains) know all keys.
    pub(super) fn learn(&mut self) {
        if self.keys.is_none() && !self.requests.is_empty() {
            let mut keys = HashMap::with_capacity(self.rows);
            self.requests.values().for_each(|entries| add(&mut keys, entries));
            self.keys = Some(keys);
        }
    }

    /// Whether a row with this key, or perhaps another one, is in flight.
    pub(super) fn contains(&self, key: &[u8]) -> bool {
        self.keys.as_ref().is_some_and(|keys| keys.contains_key(&fingerprint64(key)))
    }

    /// Forgets the keys behind questions about so many rows. Where these are few, as in a load of small requests, the
    /// keys are kept up to date rather than learnt each time.
    pub(super) fn forget(&mut self, asked: usize) {
        if asked >= self.rows {
            self.keys = None;
        }
    }
}

fn add(keys: &mut HashMap<u64, u32>, entries: &Entries) {
    for key in entries.keys() {
        *keys.entry(fingerprint64(key)).or_default() += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::{Batch, Mutations};

    fn entries(keys: &[&str]) -> Arc<Entries> {
        let mut batch = Batch::default();
        keys.iter().for_each(|key| batch.add(key.as_bytes(), &Mutations::delete_row()));
        Arc::new(batch.take())
    }

    #[test]
    fn keys_are_known_from_when_they_are_asked_for_until_they_have_landed() {
        // Learnt for each question, and kept.
        for asked in [usize::MAX, 1] {
            let mut sending = Sending::default();
            sending.begins(0, &entries(&["a", "b"]));
            sending.begins(1, &entries(&["c"]));
            let found = |sending: &mut Sending| {
                sending.learn();
                let found: String =
                    ["a", "b", "c"].into_iter().filter(|key| sending.contains(key.as_bytes())).collect();
                sending.forget(asked);
                found
            };
            assert_eq!(found(&mut sending), "abc");
            sending.ends(0);
            assert_eq!(found(&mut sending), "c");
            sending.begins(2, &entries(&["b"]));
            assert_eq!(found(&mut sending), "bc");
            sending.ends(1);
            sending.ends(2);
            assert_eq!((found(&mut sending).as_str(), sending.rows), ("", 0));
        }
    }
}
