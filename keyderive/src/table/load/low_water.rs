//! Which items of the input are dealt with.

use std::collections::{BTreeSet, VecDeque};

/// How many failed rows are kept to be tried again. It is the number that may fail unless the caller says otherwise, and
/// some kilobytes of a checkpoint.
pub(super) const KEPT: usize = 1000;

/// Which items of the input are dealt with: from the first one on without a gap, but for failed ones that are kept.
///
/// What it holds is a bit for each item after the first one that is not dealt with, and [`KEPT`] failed ones.
pub(super) struct LowWater {
    /// The items that are not dealt with: a bit for each.
    outstanding: VecDeque<u64>,
    /// The number of the first of these words.
    first_word: u64,
    /// The first failed rows.
    failed: BTreeSet<u64>,
    /// The first one that failed and is not kept.
    first_dropped: Option<u64>,
    /// The number of the next item.
    next: u64,
}

impl LowWater {
    /// Behind so many items, of which these have failed.
    pub(super) fn after(items: u64, failed: &[u64]) -> Self {
        let failed = failed.iter().copied().collect();
        let (first_word, _) = place(items);
        Self { outstanding: VecDeque::new(), first_word, failed, first_dropped: None, next: items }
    }

    /// Numbers the next item.
    pub(super) fn begin(&mut self) -> u64 {
        let index = self.next;
        let (word, bit) = place(index);
        if self.outstanding.is_empty() {
            // Those before it have been dealt with.
            self.first_word = word;
        }
        match self.outstanding.back_mut() {
            // It is the word of the item before.
            Some(last) if bit > 1 => *last |= bit,
            _ => self.outstanding.push_back(bit),
        }
        self.next += 1;
        index
    }

    /// An item is written, or need not be.
    pub(super) fn settle(&mut self, index: u64) {
        self.deal_with(index);
        self.failed.remove(&index);
    }

    fn deal_with(&mut self, index: u64) {
        let (word, bit) = place(index);
        let bits = word.checked_sub(self.first_word).and_then(|word| usize::try_from(word).ok());
        if let Some(bits) = bits.and_then(|word| self.outstanding.get_mut(word)) {
            *bits &= !bit;
        }
        while self.outstanding.front() == Some(&0) {
            self.outstanding.pop_front();
            self.first_word += 1;
        }
    }

    /// An item has failed. Where there is no room for all of them the first ones are kept, and the mark stays before
    /// the others.
    pub(super) fn fail(&mut self, index: u64) {
        self.deal_with(index);
        self.failed.insert(index);
        if self.failed.len() > KEPT
            && let Some(dropped) = self.failed.pop_last()
        {
            self.first_dropped = Some(self.first_dropped.map_or(dropped, |first| first.min(dropped)));
        }
    }

    /// How many items from the first one on are dealt with: each is written, or among the [`failed`](Self::failed) ones.
    pub(super) fn items(&self) -> u64 {
        let first = self.outstanding.front();
        let first = first.map(|bits| self.first_word * WORD + u64::from(bits.trailing_zeros()));
        [first, self.first_dropped].into_iter().flatten().min().unwrap_or(self.next)
    }

    /// The failed ones among them, in order.
    pub(super) fn failed(&self) -> impl Iterator<Item = u64> {
        self.failed.range(..self.items()).copied()
    }
}

const WORD: u64 = u64::BITS as u64;

/// The word of an item, and its bit there.
fn place(index: u64) -> (u64, u64) {
    (index / WORD, 1 << (index % WORD))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(low: &LowWater) -> Vec<u64> {
        low.failed().collect()
    }

    #[test]
    fn a_gap_holds_the_mark() {
        let mut low = LowWater::after(10, &[]);
        assert_eq!(low.items(), 10);
        assert_eq!([low.begin(), low.begin(), low.begin()], [10, 11, 12]);
        low.settle(12);
        low.settle(11);
        assert_eq!(low.items(), 10);
        low.settle(10);
        assert_eq!(low.items(), 13);
    }

    #[test]
    fn failed_items_are_kept_until_they_are_written() {
        let mut low = LowWater::after(10, &[3, 7]);
        assert_eq!([low.begin(), low.begin(), low.begin()], [10, 11, 12]);
        low.fail(12);
        // It is not after the mark yet.
        assert_eq!((low.items(), failed(&low)), (10, vec![3, 7]));
        low.settle(10);
        low.fail(11);
        assert_eq!((low.items(), failed(&low)), (13, vec![3, 7, 11, 12]));
        low.settle(7);
        low.fail(3);
        assert_eq!((low.items(), failed(&low)), (13, vec![3, 11, 12]));
    }

    #[test]
    fn the_mark_stays_in_front_of_what_is_not_kept() {
        let count = KEPT as u64;
        let mut low = LowWater::after(0, &[]);
        for _ in 0..count + 10 {
            low.begin();
        }
        // Found in no order, and every one but the first ten.
        for index in (10..count + 10).rev() {
            low.fail(index);
        }
        assert_eq!((low.items(), low.failed().count()), (0, 0));
        (0..8).for_each(|index| low.settle(index));
        low.fail(8);
        low.fail(9);
        assert_eq!((low.items(), low.failed().count()), (count + 8, KEPT));
        // No mark is taken back, whatever becomes of the kept ones.
        low.settle(8);
        low.begin();
        low.fail(count + 10);
        assert_eq!((low.items(), low.failed().count()), (count + 8, KEPT - 1));
    }

    #[test]
    fn the_mark_is_in_front_of_the_first_item_that_is_not_dealt_with() {
        let mut rng = fastrand::Rng::with_seed(0x6d61_726b);
        for _ in 0..300 {
            let begin = rng.u64(..200);
            let (mut low, mut next) = (LowWater::after(begin, &[]), begin);
            let mut outstanding = BTreeSet::new();
            // What is taken at a time is below, at and above a word's bits.
            let most = rng.usize(1..200);
            for _ in 0..rng.usize(..1_000) {
                if outstanding.len() < most && rng.u8(..3) > 0 {
                    assert_eq!(low.begin(), next);
                    outstanding.insert(next);
                    next += 1;
                } else if let Some(index) = rng.choice(&outstanding).copied() {
                    outstanding.remove(&index);
                    low.settle(index);
                }
                assert_eq!(low.items(), *outstanding.first().unwrap_or(&next));
            }
        }
    }
}
