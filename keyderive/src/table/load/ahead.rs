//! The rows that a load has read and not sent yet, by the partitions of the key space that they are of.

use std::collections::BTreeSet;

use bytes::Bytes;

use super::portion::{Portion, Sizes, cut, scattered};
use super::row_arena::RowArena;
use super::sending::Sending;
use crate::client::Entry;

/// The rows that wait, and whose turn it is.
///
/// Partitions are taken in turn, and what waits of each is cut into as many requests as that of the fullest one. So they
/// come to their ends together, and none has many more requests of a round than one.
pub(super) struct LookAhead {
    sizes: Sizes,
    starts: Vec<Start>,
    partitions: Vec<Partition>,
    /// Those that have rows, by when it is their turn.
    turns: BTreeSet<(u64, usize)>,
    next_turn: u64,
    bytes: usize,
    /// How many requests were taken.
    taken: u64,
}

/// A request that was taken: its partition, and its number.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    place: usize,
    number: u64,
}

#[derive(Default)]
struct Partition {
    turn: u64,
    waiting: RowArena,
    /// Whether each row that waits is to be written after one in flight.
    is_held_up: bool,
    /// What was cut of the rows that waited before, the next one last.
    portions: Vec<Portion>,
    sending: Sending,
}

/// Where a partition begins, with the first bytes apart, which tell most keys apart. The first one is empty.
struct Start<T = Bytes>(u64, T);

impl<T: AsRef<[u8]>> Start<T> {
    fn new(key: T) -> Self {
        let bytes = key.as_ref();
        let first = bytes.first_chunk().copied().unwrap_or_else(|| {
            let mut first = [0; size_of::<u64>()];
            first[..bytes.len()].copy_from_slice(bytes);
            first
        });
        Self(u64::from_be_bytes(first), key)
    }
}

impl LookAhead {
    /// Of partitions that begin at these keys, which are in order, and the first one empty.
    pub(super) fn new(starts: Vec<Bytes>, sizes: Sizes) -> Self {
        let mut partitions: Vec<_> = starts.iter().map(|_| Partition::default()).collect();
        // Neighbours are often on one server.
        for (turn, place) in scattered(partitions.len()).enumerate() {
            partitions[place].turn = turn as u64;
        }
        Self {
            sizes,
            starts: starts.into_iter().map(Start::new).collect(),
            next_turn: partitions.len() as u64,
            partitions,
            turns: BTreeSet::new(),
            bytes: 0,
            taken: 0,
        }
    }

    /// How many bytes wait.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn is_empty(&self) -> bool {
        self.turns.is_empty()
    }

    /// Takes the row that has this place in the input.
    pub(super) fn push(&mut self, index: u64, row: &Entry) {
        let key = Start::new(&row.key[..]);
        let begins = |start: &Start| (start.0, &start.1[..]) <= (key.0, key.1);
        // The first partition begins at the empty key, which is before every other.
        let place = self.starts.partition_point(begins).saturating_sub(1);
        let Some(partition) = self.partitions.get_mut(place) else { return };
        if partition.is_empty() {
            self.turns.insert((partition.turn, place));
        }
        let before = partition.waiting.bytes();
        partition.waiting.push(index, row);
        partition.is_held_up = false;
        self.bytes += partition.waiting.bytes() - before;
    }

    /// The rows of the next request. None where no row waits, or each that does is to be written after one of the same
    /// key in flight.
    pub(super) fn take(&mut self) -> Option<(Request, Portion)> {
        let Self { sizes, partitions, turns, .. } = self;
        let count = partitions.iter().map(|partition| partition.requests(*sizes)).max()?;
        let (turn, place, portion) = turns.iter().find_map(|(turn, place)| {
            let portion = partitions[*place].next(count, *sizes)?;
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
        let request = Request { place, number: self.taken };
        self.taken += 1;
        partition.sending.begins(request.number, &portion.entries);
        Some((request, portion))
    }

    /// The request is no longer in flight.
    pub(super) fn landed(&mut self, Request { place, number }: Request) {
        let partition = &mut self.partitions[place];
        partition.sending.ends(number);
        partition.is_held_up = false;
    }
}

impl Partition {
    fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.portions.is_empty()
    }

    /// How many requests it takes at least.
    fn requests(&self, sizes: Sizes) -> usize {
        self.portions.len() + sizes.requests(self.waiting.len(), self.waiting.bytes())
    }

    fn next(&mut self, count: usize, sizes: Sizes) -> Option<Portion> {
        if self.portions.is_empty() && !self.is_held_up {
            self.portions = cut(&mut self.waiting, count, sizes, &mut self.sending);
            self.is_held_up = self.portions.is_empty();
        }
        self.portions.pop()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::Mutation;

    const MIB: usize = 1 << 20;
    const SIZES: Sizes = Sizes { bytes: 64 << 10, rows: 10_000 };

    fn row(key: &str) -> Entry {
        let mutation = Mutation::set("cf", "q", 1_000, vec![0; 220]);
        Entry { key: key.into(), mutations: vec![mutation].into() }
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
                ahead.push(index as u64, &row(&format!("{partition:03}-{index:09}")));
            }
            let Some((request, portion)) = ahead.take() else { return requests };
            let of = |key: &[u8]| std::str::from_utf8(&key[..3]).unwrap().parse().unwrap();
            let partition: usize = of(&portion.entries.key(0));
            assert!(portion.entries.keys().all(|key| of(key) == partition));
            ahead.landed(request);
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
        (0..3_000).for_each(|index| ahead.push(index, &row(&format!("{index:09}"))));
        let first = |(_, portion): (Request, Portion)| portion.entries.key(0);
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
        keys.iter().enumerate().for_each(|(index, key)| ahead.push(index as u64, &row(key)));
        let first = [ahead.take().unwrap(), ahead.take().unwrap()];
        assert!(ahead.take().is_none() && !ahead.is_empty());
        first.iter().for_each(|(request, _)| ahead.landed(*request));
        assert_eq!(ahead.take().unwrap().1.indexes, [2]);
        assert!(ahead.is_empty() && ahead.bytes() == 0);
    }

    /// Whatever lands when: each row goes once, no key is in flight twice, and rows of one key go in their order.
    #[test]
    fn rows_of_one_key_go_one_behind_the_other() {
        let mut rng = fastrand::Rng::with_seed(0x6f6e_6365);
        for _ in 0..400 {
            let sizes = Sizes { bytes: rng.usize(250..4_000), rows: rng.usize(1..20) };
            let mut ahead = LookAhead::new(starts(rng.usize(1..5)), sizes);
            let (keys, count) = (rng.usize(1..200), rng.u64(1..300));
            let mut all: Vec<usize> = Vec::new();
            let (mut on_the_way, mut written) = (Vec::new(), Vec::new());
            for step in 0.. {
                assert!(step < 100_000, "rows are never sent");
                if written.len() == count as usize {
                    break;
                }
                match rng.u8(..4) {
                    0 | 1 if all.len() < count as usize => {
                        let key = rng.usize(..keys);
                        ahead.push(all.len() as u64, &row(&format!("{key:03}")));
                        all.push(key);
                    }
                    2 => {
                        if let Some((request, portion)) = ahead.take() {
                            on_the_way.push((request, portion.indexes));
                        }
                    }
                    _ if on_the_way.is_empty() => {}
                    _ => {
                        let (request, indexes) = on_the_way.swap_remove(rng.usize(..on_the_way.len()));
                        ahead.landed(request);
                        written.extend(indexes);
                    }
                }
                let sent: Vec<usize> =
                    on_the_way.iter().flat_map(|(_, rows)| rows).map(|index| all[*index as usize]).collect();
                assert_eq!(
                    sent.iter().collect::<BTreeSet<_>>().len(),
                    sent.len(),
                    "a key is in flight twice"
                );
            }
            assert!(ahead.is_empty() && ahead.bytes() == 0 && on_the_way.is_empty());
            let mut once = written.clone();
            once.sort_unstable();
            assert!(once.into_iter().eq(0..count));
            for key in 0..keys {
                assert!(written.iter().filter(|index| all[**index as usize] == key).is_sorted());
            }
        }
    }
}
