//! The rows that a load has read and not sent yet, by the partitions of the key space that they are of.

use std::collections::BTreeSet;

use bytes::Bytes;

use super::portion::{Portion, Sending, Sizes, Waiting, cut, scattered};

/// The rows that wait, and whose turn it is.
///
/// Partitions are taken in turn, and what waits of each is cut into as many requests as that of the fullest one. So they
/// come to their ends together, and none has many more requests of a round than one.
pub(super) struct LookAhead {
    sizes: Sizes,
    /// Where each partition begins; the first one is empty.
    starts: Vec<Bytes>,
    partitions: Vec<Partition>,
    /// Those that have rows, by when it is their turn.
    turns: BTreeSet<(u64, usize)>,
    next_turn: u64,
    bytes: usize,
    /// The keys of rows that are on the way.
    sending: Sending,
}

#[derive(Default)]
struct Partition {
    turn: u64,
    waiting: Vec<Waiting>,
    waiting_bytes: usize,
    /// What was cut of the rows that waited before, the next one last.
    portions: Vec<Portion>,
}

impl LookAhead {
    /// Of partitions that begin at these keys, which are in order, and the first one empty.
    pub(super) fn new(starts: Vec<Bytes>, sizes: Sizes) -> Self {
        let mut partitions: Vec<_> = starts.iter().map(|_| Partition::default()).collect();
        // Neighbours are often on one server.
        for (turn, place) in scattered(partitions.len()).enumerate() {
            partitions[place].turn = turn as u64;
        }
        let next_turn = partitions.len() as u64;
        let (turns, sending) = (BTreeSet::new(), Sending::default());
        Self { sizes, starts, partitions, turns, next_turn, bytes: 0, sending }
    }

    /// How many bytes wait.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn is_empty(&self) -> bool {
        self.turns.is_empty()
    }

    pub(super) fn push(&mut self, row: Waiting) {
        // The first partition begins at the empty key, which is before every other.
        let place = self.starts.partition_point(|start| **start <= *row.key()).saturating_sub(1);
        let Some(partition) = self.partitions.get_mut(place) else { return };
        self.bytes += row.bytes();
        partition.waiting_bytes += row.bytes();
        partition.waiting.push(row);
        self.turns.insert((partition.turn, place));
    }

    /// The rows of the next request. None where no row waits, or each that does is to be written behind one of the same
    /// key that is on the way.
    pub(super) fn take(&mut self) -> Option<Portion> {
        let Self { sizes, partitions, turns, sending, .. } = self;
        let count = partitions.iter().map(|partition| partition.requests(*sizes)).max()?;
        let (turn, place, portion) = turns.iter().find_map(|(turn, place)| {
            let portion = partitions[*place].next(count, *sizes, sending)?;
            Some((*turn, *place, portion))
        })?;
        turns.remove(&(turn, place));
        let partition = &mut partitions[place];
        partition.turn = self.next_turn;
        self.next_turn += 1;
        if !partition.is_empty() {
            turns.insert((partition.turn, place));
        }
        self.bytes -= portion.bytes;
        portion.rows.iter().for_each(|row| sending.begins(row));
        Some(portion)
    }

    /// A row is no longer on the way.
    pub(super) fn landed(&mut self, row: &Waiting) {
        self.sending.ends(row);
    }
}

impl Partition {
    fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.portions.is_empty()
    }

    /// How many requests it takes at least.
    fn requests(&self, sizes: Sizes) -> usize {
        self.portions.len() + sizes.requests(self.waiting.len(), self.waiting_bytes)
    }

    fn next(&mut self, count: usize, sizes: Sizes, sending: &Sending) -> Option<Portion> {
        if self.portions.is_empty() {
            self.portions = cut(&mut self.waiting, count, sizes, sending);
            self.waiting_bytes = self.waiting.iter().map(Waiting::bytes).sum();
        }
        self.portions.pop()
    }
}

#[cfg(test)]
mod tests {
    use super::super::portion::tests::packed;
    use super::*;
    use crate::row::Mutation;

    const MIB: usize = 1 << 20;
    const SIZES: Sizes = Sizes { bytes: 64 << 10, rows: 10_000 };

    fn row(index: u64, key: &str) -> Waiting {
        Waiting::new(index, packed(key, Mutation::set("cf", "q", 1_000, vec![0; 220])))
    }

    fn starts(count: usize) -> Vec<Bytes> {
        let start = |place| if place == 0 { Bytes::new() } else { format!("{place:03}").into() };
        (0..count).map(start).collect()
    }

    /// Loads rows of these partitions with so much look-ahead; the partition and the bytes of each request.
    fn requests(count: usize, rows: impl Iterator<Item = usize>, look_ahead: usize) -> Vec<(usize, usize)> {
        let mut ahead = LookAhead::new(starts(count), SIZES);
        let (mut rows, mut requests) = (rows.enumerate(), Vec::new());
        loop {
            while ahead.bytes() < look_ahead
                && let Some((index, partition)) = rows.next()
            {
                ahead.push(row(index as u64, &format!("{partition:03}-{index:09}")));
            }
            let Some(portion) = ahead.take() else { return requests };
            let of = |key: &[u8]| std::str::from_utf8(&key[..3]).unwrap().parse().unwrap();
            let partition: usize = of(portion.rows[0].key());
            assert!(portion.rows.iter().all(|row| of(row.key()) == partition));
            portion.rows.iter().for_each(|row| ahead.landed(row));
            requests.push((partition, portion.bytes));
        }
    }

    /// The most requests of one partition in any window of 10 for each partition.
    fn most(count: usize, requests: &[(usize, usize)]) -> usize {
        let most_of = |window: &[(usize, usize)]| {
            let of = |partition| window.iter().filter(|request| request.0 == partition).count();
            (0..count).map(of).max().unwrap()
        };
        let window = (10 * count).min(requests.len());
        requests.windows(window).map(most_of).max().unwrap()
    }

    #[test]
    fn sorted_rows_within_the_look_ahead_are_spread_evenly() {
        let sorted = (0..16).flat_map(|partition| std::iter::repeat_n(partition, 8_000));
        let requests = requests(16, sorted, 64 * MIB);
        assert!(requests.len() > 400);
        assert_eq!(most(16, &requests), 10);
        // Not in the order of partitions either.
        assert!(requests[..16].windows(2).all(|pair| pair[0].0 + 1 != pair[1].0));
    }

    #[test]
    fn unequal_partitions_end_together() {
        // A partition has up to 16 times the rows of another.
        let sorted = (0..16).flat_map(|partition| std::iter::repeat_n(partition, 1_000 * (partition + 1)));
        let requests = requests(16, sorted, 64 * MIB);
        assert!(most(16, &requests) <= 11, "{}", most(16, &requests));
        assert!(requests.iter().all(|(_, bytes)| *bytes <= SIZES.bytes));
    }

    #[test]
    fn random_rows_beyond_the_look_ahead_are_spread_evenly() {
        let mut rng = fastrand::Rng::with_seed(7);
        let random = (0..200_000).map(move |_| rng.usize(..16));
        let requests = requests(16, random, 4 * MIB);
        assert!(most(16, &requests) <= 12, "{}", most(16, &requests));
        let mean = requests.iter().map(|(_, bytes)| bytes).sum::<usize>() / requests.len();
        assert!(mean > SIZES.bytes / 2, "{mean}");
    }

    /// Half of all rows are of one partition, which is 8 times an even share.
    #[test]
    fn a_partition_of_half_the_rows_does_not_crowd_out_others() {
        let mut rng = fastrand::Rng::with_seed(8);
        let random = (0..200_000).map(move |_| if rng.bool() { 5 } else { rng.usize(..16) });
        let requests = requests(16, random, 4 * MIB);
        // Until the input has ended, and what waits is of that partition.
        let steady = &requests[..requests.len() / 2];
        assert!(most(16, steady) <= 30, "{}", most(16, steady));
    }

    #[test]
    fn sorted_rows_of_one_partition_do_not_go_in_order() {
        let mut ahead = LookAhead::new(starts(1), SIZES);
        (0..3_000).for_each(|index| ahead.push(row(index, &format!("{index:09}"))));
        let first = |portion: Portion| portion.rows[0].key().to_vec();
        let firsts: Vec<_> = std::iter::from_fn(|| ahead.take()).map(first).collect();
        assert!(
            firsts.len() > 10 && firsts.windows(2).filter(|pair| pair[0] < pair[1]).count() < firsts.len()
        );
        assert!(!firsts.is_sorted() && ahead.is_empty() && ahead.bytes() == 0);
    }

    #[test]
    fn a_key_that_is_on_the_way_holds_the_next_row_of_it() {
        let mut ahead = LookAhead::new(starts(2), SIZES);
        let keys = ["001", "000", "001"];
        keys.iter().enumerate().for_each(|(index, key)| ahead.push(row(index as u64, key)));
        let take = |ahead: &mut LookAhead| ahead.take().map(|mut portion| portion.rows.remove(0));
        let first = [take(&mut ahead).unwrap(), take(&mut ahead).unwrap()];
        assert!(take(&mut ahead).is_none() && !ahead.is_empty());
        first.iter().for_each(|row| ahead.landed(row));
        assert_eq!(take(&mut ahead).unwrap().index, 2);
        assert!(ahead.is_empty());
    }
}
