//! The rows of one request, and how those of a partition are cut into them.

use std::sync::Arc;

use super::row_arena::{HeldRow, RowArena};
use super::sending::Sending;
use crate::client::{Batch, Entries};

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
pub(super) struct Portion {
    pub(super) entries: Arc<Entries>,
    /// The places of the rows in the input.
    pub(super) indexes: Vec<u64>,
    pub(super) bytes: usize,
}

/// A portion that is filled.
struct Filling {
    batch: Batch,
    indexes: Vec<u64>,
}

impl Filling {
    /// With memory for so many bytes, and a little more, since its last row may go beyond; the rows are of all.
    fn new(bytes: usize, sizes: Sizes, all: &RowArena) -> Self {
        let bytes = (bytes + bytes / 16).min(sizes.bytes);
        let rows = (bytes / (all.bytes() / all.len().max(1)).max(1) + 1).min(sizes.rows);
        Self { batch: Batch::with_capacity(bytes, rows), indexes: Vec::with_capacity(rows) }
    }

    fn has_room_for(&self, row: HeldRow<'_>, sizes: Sizes) -> bool {
        self.batch.len() < sizes.rows
            && !self.batch.is_full_for_encoded(row.encoded, row.traits(), sizes.bytes)
    }

    fn add(&mut self, row: HeldRow<'_>) {
        self.batch.add_encoded(row.encoded, row.traits());
        self.indexes.push(row.index());
    }

    fn end(mut self) -> Portion {
        let bytes = self.batch.bytes();
        Portion { entries: Arc::new(self.batch.take()), indexes: self.indexes, bytes }
    }
}

/// Cuts the rows of a partition into about `count` portions of equal size, each of neighbouring keys; the last one goes
/// first, and those that follow one another are far apart.
///
/// A row stays that is to be written after another of the same key: of two rows with one key the later one counts, and
/// requests at the same time have no order, nor have the rows of one.
pub(super) fn cut(held: &mut RowArena, count: usize, sizes: Sizes, sending: &mut Sending) -> Vec<Portion> {
    let all = held.take();
    sending.learn();
    let mut portions: Vec<Portion> = Vec::with_capacity(count.min(all.len()));
    let mut filling: Option<Filling> = None;
    let mut kept = Vec::new();
    let (mut total, mut sum, mut enough) = (all.bytes(), 0, 0);
    all.in_order(|row, is_again| {
        if is_again || sending.contains(row.key()) {
            total -= row.encoded.len();
            return kept.push(row.place());
        }
        match &mut filling {
            Some(filling) if sum < enough && filling.has_room_for(row, sizes) => filling.add(row),
            full => {
                portions.extend(full.take().map(Filling::end));
                // An equal part of what is left, so that a portion which was full before its end leaves no crumbs.
                let left = count.saturating_sub(portions.len()).max(1);
                let part = (total - sum).div_ceil(left);
                enough = sum + part;
                full.insert(Filling::new(part, sizes, &all)).add(row);
            }
        }
        sum += row.encoded.len();
    });
    portions.extend(filling.map(Filling::end));
    sending.forget(all.len());
    *held = all.keep(kept);
    let mut portions: Vec<Option<Portion>> = portions.into_iter().map(Some).collect();
    let mut order: Vec<Portion> =
        scattered(portions.len()).filter_map(|place| portions.get_mut(place)?.take()).collect();
    order.reverse();
    order
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
mod tests {
    use super::*;
    use crate::client::Entry;
    use crate::row::Mutation;

    const SIZES: Sizes = Sizes { bytes: 1000, rows: 1000 };

    fn rows(keys: impl IntoIterator<Item = u32>) -> RowArena {
        let mut held = RowArena::default();
        for (index, key) in keys.into_iter().enumerate() {
            let name = Mutation::delete_column("cf", "a name of 18 bytes");
            let entry = Entry { key: format!("{key:03}").into(), mutations: vec![name].into() };
            held.push(index as u64, &entry);
        }
        held
    }

    #[test]
    fn rows_have_the_bytes_that_the_sizes_are_of() {
        assert_eq!(rows(0..1).bytes(), 35);
    }

    fn cut_all(mut held: RowArena, count: usize, sizes: Sizes) -> Vec<Portion> {
        cut(&mut held, count, sizes, &mut Sending::default())
    }

    /// The keys of each portion, in the order in which they go.
    fn sent(portions: Vec<Portion>) -> Vec<Vec<String>> {
        let text = |key: &[u8]| String::from_utf8(key.to_vec()).unwrap();
        portions.into_iter().rev().map(|portion| portion.entries.keys().map(text).collect()).collect()
    }

    #[test]
    fn portions_are_equal_and_of_neighbours() {
        let portions = sent(cut_all(rows((0..100).rev()), 8, SIZES));
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
        assert!(sent(cut_all(rows(0..50), 1, sizes)).iter().all(|keys| keys.len() == 2));
        let sizes = Sizes { bytes: 105, rows: 9 };
        assert!(sent(cut_all(rows(0..51), 1, sizes)).iter().all(|keys| keys.len() == 3));
        let sizes = Sizes { bytes: 1, rows: 9 };
        assert_eq!(sent(cut_all(rows(0..5), 1, sizes)).len(), 5);
    }

    /// What is full before its share ends does not leave the rest of the share alone.
    #[test]
    fn full_portions_leave_no_crumbs() {
        // 1001 rows of 35 bytes, in requests of 28 rows at most, though 29 would be fewer requests.
        let sizes = Sizes { bytes: 1_010, rows: 1_000 };
        let count = sizes.requests(1_001, 1_001 * 35);
        assert_eq!((count, cut_all(rows(0..1_001), count, sizes).len()), (35, 36));
    }

    #[test]
    fn fewer_rows_than_portions_go_one_by_one() {
        assert_eq!(cut_all(rows(0..3), 8, SIZES).len(), 3);
        assert!(cut_all(RowArena::default(), 8, SIZES).is_empty());
    }

    #[test]
    fn the_second_row_of_a_key_waits() {
        let mut waiting = rows([5, 7, 5, 6, 5]);
        let mut sending = Sending::default();
        sending.begins(0, &cut_all(rows([6]), 1, SIZES)[0].entries);
        let portions = cut(&mut waiting, 1, SIZES, &mut sending);
        assert_eq!(portions[0].indexes, [0, 1]);
        assert_eq!(sent(portions), [["005", "007"]]);
        assert_eq!((waiting.len(), waiting.bytes()), (3, 3 * 35));
        // The earlier one goes first.
        sending.ends(0);
        assert_eq!(cut(&mut waiting, 1, SIZES, &mut sending)[0].indexes, [2, 3]);
        assert_eq!(cut(&mut waiting, 1, SIZES, &mut sending)[0].indexes, [4]);
        assert!(waiting.is_empty());
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
