//! The rows of one request, and how those of a partition are cut into them.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::collections::hash_map::Entry as Slot;

use crate::client::{Batch, Entries, Packed, is_too_large};
use crate::key::fingerprint64;

/// A row that waits to be sent.
#[derive(Debug)]
pub(super) struct Waiting {
    /// Its place in the input.
    pub(super) index: u64,
    pub(super) entry: Packed,
    /// The first bytes of the key, which tell most keys apart without a look into the memory of the entry.
    prefix: u128,
    fingerprint: u64,
}

impl Waiting {
    pub(super) fn new(index: u64, entry: Packed) -> Self {
        let key = entry.key();
        let mut prefix = [0; size_of::<u128>()];
        prefix.iter_mut().zip(key).for_each(|(to, from)| *to = *from);
        Self { index, prefix: u128::from_be_bytes(prefix), fingerprint: fingerprint64(key), entry }
    }

    /// Orders rows by their keys, and those of one key by their places in the input.
    fn order(&self, other: &Self) -> Ordering {
        let prefixes = self.prefix.cmp(&other.prefix);
        prefixes.then_with(|| (self.key(), self.index).cmp(&(other.key(), other.index)))
    }

    fn has_key_of(&self, other: &Self) -> bool {
        self.fingerprint == other.fingerprint && self.key() == other.key()
    }

    pub(super) fn key(&self) -> &[u8] {
        self.entry.key()
    }

    /// What it takes on the wire.
    pub(super) fn bytes(&self) -> usize {
        self.entry.bytes()
    }
}

/// How large a request may be.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    pub(super) bytes: usize,
    pub(super) rows: usize,
}

impl Sizes {
    /// How many requests so much takes at least.
    pub(super) fn requests(self, rows: usize, bytes: usize) -> usize {
        rows.div_ceil(self.rows).max(bytes.div_ceil(self.bytes))
    }
}

/// The rows of one request: of one partition, in the order of their keys, each key once.
#[derive(Default)]
pub(super) struct Portion {
    pub(super) rows: Vec<Waiting>,
    pub(super) bytes: usize,
    mutations: usize,
}

impl Portion {
    fn has_room_for(&self, row: &Waiting, sizes: Sizes) -> bool {
        let bytes = self.bytes + row.bytes();
        self.rows.is_empty()
            || (self.rows.len() < sizes.rows
                && bytes <= sizes.bytes
                && !is_too_large(self.mutations + row.entry.mutations(), bytes))
    }

    fn add(&mut self, row: Waiting) {
        self.bytes += row.bytes();
        self.mutations += row.entry.mutations();
        self.rows.push(row);
    }

    /// What is to be sent.
    pub(super) fn entries(&self) -> Entries {
        let mut batch = Batch::with_capacity(self.bytes, self.rows.len());
        self.rows.iter().for_each(|row| batch.add_packed(&row.entry));
        batch.take()
    }
}

/// The keys of rows that are on the way, by their fingerprints: a row waits too for one that only has the fingerprint of
/// its key.
#[derive(Debug, Default)]
pub(super) struct Sending(HashMap<u64, u32>);

impl Sending {
    pub(super) fn begins(&mut self, row: &Waiting) {
        *self.0.entry(row.fingerprint).or_default() += 1;
    }

    pub(super) fn ends(&mut self, row: &Waiting) {
        if let Slot::Occupied(mut rows) = self.0.entry(row.fingerprint) {
            *rows.get_mut() -= 1;
            if *rows.get() == 0 {
                rows.remove();
            }
        }
    }

    fn contains(&self, row: &Waiting) -> bool {
        !self.0.is_empty() && self.0.contains_key(&row.fingerprint)
    }
}

/// Cuts the rows of a partition into about `count` portions of equal size, each of neighbouring keys; the last one goes
/// first, and those that follow one another are far apart.
///
/// A row stays in `rows` that is to be written behind another of the same key: of two rows with one key the later one
/// counts, and requests at the same time have no order, nor have the rows of one.
pub(super) fn cut(rows: &mut Vec<Waiting>, count: usize, sizes: Sizes, sending: &Sending) -> Vec<Portion> {
    let free = take_free(rows, sending);
    let total: usize = free.iter().map(Waiting::bytes).sum();
    let mut portions: Vec<Portion> = Vec::with_capacity(count);
    let (mut sum, mut enough) = (0, 0);
    for row in free {
        let bytes = row.bytes();
        match portions.last_mut() {
            Some(portion) if sum < enough && portion.has_room_for(&row, sizes) => portion.add(row),
            _ => {
                // An equal part of what is left, so that a portion which was full before its end leaves no crumbs.
                let left = count.saturating_sub(portions.len()).max(1);
                enough = sum + (total - sum).div_ceil(left);
                let mut portion = Portion::default();
                portion.add(row);
                portions.push(portion);
            }
        }
        sum += bytes;
    }
    let mut portions: Vec<Option<Portion>> = portions.into_iter().map(Some).collect();
    let mut order: Vec<Portion> =
        scattered(portions.len()).filter_map(|place| portions.get_mut(place)?.take()).collect();
    order.reverse();
    order
}

/// The rows in the order of their keys, without those that are to wait for others.
fn take_free(rows: &mut Vec<Waiting>, sending: &Sending) -> Vec<Waiting> {
    let mut all = std::mem::take(rows);
    all.sort_unstable_by(Waiting::order);
    let mut free: Vec<Waiting> = Vec::with_capacity(all.len());
    for row in all {
        let is_second = free.last().is_some_and(|last| last.has_key_of(&row));
        match is_second || sending.contains(&row) {
            true => rows.push(row),
            false => free.push(row),
        }
    }
    free
}

/// The numbers below `count`, in an order in which those that follow one another are far apart.
pub(super) fn scattered(count: usize) -> impl Iterator<Item = usize> {
    // A step near the golden section comes to every number when it has no divisor in common with their count.
    let golden = (count as f64 * 0.618) as usize;
    let step = (golden.max(1)..=count.max(1)).find(|step| gcd(*step, count) == 1).unwrap_or(1);
    (0..count).scan(count / 2, move |next, _| {
        let this = *next;
        *next = (this + step) % count;
        Some(this)
    })
}

fn gcd(one: usize, other: usize) -> usize {
    if other == 0 { one } else { gcd(other, one % other) }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::client::Entry;
    use crate::row::Mutation;

    pub(in super::super) fn packed(key: &str, mutation: Mutation) -> Packed {
        Packed::new(&Entry { key: key.into(), mutations: vec![mutation].into() })
    }

    const SIZES: Sizes = Sizes { bytes: 1000, rows: 1000 };

    fn rows(keys: impl IntoIterator<Item = u32>) -> Vec<Waiting> {
        let row = |(index, key): (usize, u32)| {
            let name = Mutation::delete_column("cf", "a name of 18 bytes");
            Waiting::new(index as u64, packed(&format!("{key:03}"), name))
        };
        keys.into_iter().enumerate().map(row).collect()
    }

    #[test]
    fn rows_have_the_bytes_that_the_sizes_are_of() {
        assert_eq!(rows(0..1)[0].bytes(), 35);
    }

    /// The keys of each portion, in the order in which they go.
    fn sent(portions: Vec<Portion>) -> Vec<Vec<String>> {
        let text = |row: &Waiting| String::from_utf8(row.key().to_vec()).unwrap();
        let keys = |portion: Portion| portion.rows.iter().map(text).collect();
        portions.into_iter().rev().map(keys).collect()
    }

    #[test]
    fn portions_are_equal_and_of_neighbours() {
        let portions = sent(cut(&mut rows((0..100).rev()), 8, SIZES, &Sending::default()));
        assert_eq!(portions.len(), 8);
        for portion in &portions {
            assert!((12..=13).contains(&portion.len()), "{portions:?}");
            assert!(portion.is_sorted());
        }
        assert!(!portions.is_sorted());
        let mut all: Vec<_> = portions.concat();
        all.sort();
        assert_eq!(all, (0..100).map(|key| format!("{key:03}")).collect::<Vec<_>>());
    }

    #[test]
    fn no_portion_is_larger_than_a_request() {
        let sizes = Sizes { bytes: 105, rows: 2 };
        assert!(
            sent(cut(&mut rows(0..50), 1, sizes, &Sending::default())).iter().all(|keys| keys.len() == 2)
        );
        let sizes = Sizes { bytes: 105, rows: 9 };
        assert!(
            sent(cut(&mut rows(0..51), 1, sizes, &Sending::default())).iter().all(|keys| keys.len() == 3)
        );
        let sizes = Sizes { bytes: 1, rows: 9 };
        assert_eq!(sent(cut(&mut rows(0..5), 1, sizes, &Sending::default())).len(), 5);
    }

    /// What is full before its share ends does not leave the rest of the share alone.
    #[test]
    fn full_portions_leave_no_crumbs() {
        // 1001 rows of 35 bytes, in requests of 28 rows at most, though 29 would be fewer requests.
        let sizes = Sizes { bytes: 1_010, rows: 1_000 };
        let count = sizes.requests(1_001, 1_001 * 35);
        let portions = sent(cut(&mut rows(0..1_001), count, sizes, &Sending::default()));
        assert_eq!((count, portions.len()), (35, 36));
    }

    #[test]
    fn fewer_rows_than_portions_go_one_by_one() {
        assert_eq!(sent(cut(&mut rows(0..3), 8, SIZES, &Sending::default())).len(), 3);
        assert!(cut(&mut Vec::new(), 8, SIZES, &Sending::default()).is_empty());
    }

    #[test]
    fn the_second_row_of_a_key_waits() {
        let mut waiting = rows([5, 7, 5, 6, 5]);
        let mut sending = Sending::default();
        sending.begins(&rows([6])[0]);
        assert_eq!(sent(cut(&mut waiting, 1, SIZES, &sending)), [["005", "007"]]);
        let mut held: Vec<u64> = waiting.iter().map(|row| row.index).collect();
        held.sort_unstable();
        assert_eq!(held, [2, 3, 4]);
        // The earlier one goes first.
        let next = cut(&mut waiting, 1, SIZES, &Sending::default());
        assert_eq!(next[0].rows.iter().map(|row| row.index).collect::<Vec<_>>(), [2, 3]);
    }

    #[test]
    fn every_number_comes_once_and_never_behind_the_one_before() {
        for count in 0..300 {
            let order: Vec<usize> = scattered(count).collect();
            let mut sorted = order.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, (0..count).collect::<Vec<_>>());
            assert!(count < 5 || order.windows(2).all(|pair| pair[0] + 1 != pair[1]), "{order:?}");
            assert!(count < 2 || !order.is_sorted());
        }
    }
}
