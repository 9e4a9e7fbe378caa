//! Rows in memory, encoded one after the other, and the order of their keys.

use crate::client::{Entry, EntryMeta};

/// How much memory is taken at once, but for rows of more than an eighth of the most, which have what they need.
const LEAST: usize = 4 * 1024;
const MOST: usize = 256 * 1024;

/// For how many rows memory is taken at once where there were as many before.
const MOST_ROWS: usize = 16 * 1024;

/// The rows of a partition that wait.
#[derive(Default)]
pub(super) struct RowArena {
    rows: Vec<Row>,
    chunks: Vec<Vec<u8>>,
    /// The chunk that rows are added to.
    open: usize,
    bytes: usize,
    /// What all their keys begin with.
    common: Vec<u8>,
    /// The heads of so many rows are after more than that.
    outdated: usize,
    /// How many rows there were before.
    before: usize,
}

#[derive(Clone, Copy)]
struct Row {
    /// Its place in the input.
    index: u64,
    chunk: usize,
    start: usize,
    len: usize,
    /// Where its key is in it.
    key_start: usize,
    key_len: usize,
    /// What its key has after the bytes that are common.
    head: u64,
    traits: EntryMeta,
}

/// A row, encoded as a field of the request.
#[derive(Clone, Copy)]
pub(super) struct HeldRow<'a> {
    place: usize,
    row: &'a Row,
    pub(super) encoded: &'a [u8],
}

impl<'a> HeldRow<'a> {
    /// Its place among those that are held.
    pub(super) fn place(self) -> usize {
        self.place
    }

    /// Its place in the input.
    pub(super) fn index(self) -> u64 {
        self.row.index
    }

    pub(super) fn key(self) -> &'a [u8] {
        &self.encoded[self.row.key_start..][..self.row.key_len]
    }

    pub(super) fn traits(self) -> EntryMeta {
        self.row.traits
    }
}

impl RowArena {
    /// Takes all rows out.
    pub(super) fn take(&mut self) -> Self {
        std::mem::take(self)
    }

    /// Takes a row after all others.
    pub(super) fn push(&mut self, index: u64, entry: &Entry) {
        let len = entry.bytes();
        let (chunk, start) = self.room(len);
        let key_start = entry.encode(&mut self.chunks[chunk]) - start;
        let (head, key_len, traits) = (self.head(&entry.key), entry.key.len(), entry.meta());
        self.rows.push(Row { index, chunk, start, len, key_start, key_len, head, traits });
    }

    /// Those of these places, in this order. The memory of others is given back when it is half of all.
    pub(super) fn keep(self, places: Vec<usize>) -> Self {
        let kept: usize = places.iter().map(|place| self.rows[*place].len).sum();
        if kept > self.chunks.iter().map(Vec::len).sum::<usize>() / 2 {
            let rows: Vec<Row> = places.into_iter().map(|place| self.rows[place]).collect();
            return Self { outdated: rows.len(), rows, bytes: kept, ..self };
        }
        let mut held = Self { before: self.rows.len(), ..Self::default() };
        for row in places.into_iter().map(|place| self.row(place)) {
            let (chunk, start) = held.room(row.encoded.len());
            held.chunks[chunk].extend_from_slice(row.encoded);
            let head = held.head(row.key());
            held.rows.push(Row { chunk, start, head, ..*row.row });
        }
        held
    }

    /// The chunk that has room for so many bytes, and where in it.
    fn room(&mut self, len: usize) -> (usize, usize) {
        let has_room = |chunk: &Vec<u8>| chunk.capacity() - chunk.len() >= len;
        let before = self.bytes;
        self.bytes += len;
        if self.chunks.get(self.open).is_some_and(has_room) {
            return (self.open, self.chunks[self.open].len());
        }
        let is_large = len > MOST / 8;
        self.chunks.push(Vec::with_capacity(if is_large { len } else { before.clamp(LEAST, MOST).max(len) }));
        let added = self.chunks.len() - 1;
        if !is_large {
            self.open = added;
        }
        (added, 0)
    }

    /// The head of the next row's key.
    fn head(&mut self, key: &[u8]) -> u64 {
        if self.rows.is_empty() {
            self.common.extend_from_slice(key);
            self.rows.reserve(self.before.min(MOST_ROWS));
        }
        let common = common(&self.common, key);
        if common < self.common.len() {
            self.common.truncate(common);
            self.outdated = self.rows.len();
        }
        head_of(key, common)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// What they take in requests.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    fn row(&self, place: usize) -> HeldRow<'_> {
        let row = &self.rows[place];
        HeldRow { place, row, encoded: &self.chunks[row.chunk][row.start..][..row.len] }
    }

    /// Gives all rows in the order of their keys, those of one key in the order of the input; and whether another has its
    /// key before it.
    pub(super) fn in_order<'a>(&'a self, mut give: impl FnMut(HeldRow<'a>, bool)) {
        let row = |place| self.row(place);
        let mut rows: Vec<Headed> = self.rows.iter().map(|row| row.head).zip(0..).collect();
        for (head, place) in &mut rows[..self.outdated] {
            *head = head_of(row(*place).key(), self.common.len());
        }
        sort(&mut rows, self.common.len(), &row, &mut give);
    }
}

/// Some bytes of a row's key, and the row's place.
type Headed = (u64, usize);

/// How many bytes of a key are in a head. Behind them are how many there are, or that there are more.
const HEAD: usize = size_of::<u64>() - 1;
const MORE: u8 = HEAD as u8 + 1;

/// Gives rows in the order of their keys, which have the first bytes in common, and whose heads are after these.
///
/// Rows are all over the memory: a key is read where others have the same head, not with each comparison, and just before
/// its row is given.
fn sort<'a>(
    rows: &mut [Headed],
    skip: usize,
    row: &impl Fn(usize) -> HeldRow<'a>,
    give: &mut impl FnMut(HeldRow<'a>, bool),
) {
    rows.sort_unstable();
    for same in rows.chunk_by_mut(|one, other| one.0 == other.0) {
        let has_more = same[0].0.to_be_bytes()[HEAD] == MORE;
        let skip = skip + HEAD;
        let rest = |(_, place): &Headed| row(*place).key().get(skip..).unwrap_or_default();
        if has_more && !same.is_sorted_by(|one, other| rest(one) < rest(other)) {
            let first = rest(&same[0]);
            let more = same.iter().fold(first.len(), |more, row| common(&first[..more], rest(row)));
            let skip = skip + more;
            same.iter_mut().for_each(|(head, place)| *head = head_of(row(*place).key(), skip));
            sort(same, skip, row, give);
            continue;
        }
        // They are in order, or all have one key.
        for (number, (_, place)) in same.iter().enumerate() {
            give(row(*place), !has_more && number > 0);
        }
    }
}

/// What is after the first bytes of a key, so that heads are in the order of their keys.
fn head_of(key: &[u8], skip: usize) -> u64 {
    let rest = key.get(skip..).unwrap_or_default();
    match rest.first_chunk() {
        Some(first) => u64::from_be_bytes(*first) & !0xff | u64::from(MORE),
        None => {
            let bytes = rest.iter().chain([0; HEAD].iter()).take(HEAD);
            bytes.fold(0, |head, byte| head << 8 | u64::from(*byte)) << 8 | rest.len() as u64
        }
    }
}

/// How many bytes both begin with.
fn common(one: &[u8], other: &[u8]) -> usize {
    const AT_ONCE: usize = 16;
    let words = one.as_chunks::<AT_ONCE>().0.iter().zip(other.as_chunks().0);
    let skip = AT_ONCE * words.take_while(|(one, other)| one == other).count();
    let rest = one[skip..].iter().zip(&other[skip..]);
    skip + rest.take_while(|(one, other)| one == other).count()
}

#[cfg(test)]
mod tests {
    use fastrand::Rng;

    use super::*;
    use crate::row::Mutation;

    fn held<'a>(keys: impl IntoIterator<Item = &'a [u8]>) -> RowArena {
        let mut held = RowArena::default();
        for (index, key) in keys.into_iter().enumerate() {
            let mutations = vec![Mutation::set("cf", "q", 0, index.to_string())].into();
            held.push(index as u64, &Entry { key: key.into(), mutations });
        }
        held
    }

    /// The places of the rows in their order, with whether they are after one of their key.
    fn order(held: &RowArena) -> Vec<(u64, bool)> {
        let mut order = Vec::new();
        held.in_order(|row, is_again| order.push((row.index(), is_again)));
        order
    }

    /// Keys of few different bytes, with the lowest and the highest, so that many begin with others, or are others.
    fn any_keys(rng: &mut Rng) -> Vec<Vec<u8>> {
        let bytes = rng.choice([&b"a"[..], b"ab", b"\0\xffa"]).unwrap_or_default();
        let any = |rng: &mut Rng, most: usize| -> Vec<u8> {
            (0..rng.usize(..=most)).map(|_| *rng.choice(bytes).unwrap_or(&b'a')).collect()
        };
        let first = any(rng, 40);
        let longest = rng.usize(1..30);
        let key = |rng: &mut Rng| [&first[..rng.usize(..=first.len())], &any(rng, longest)].concat();
        (0..rng.usize(1..60)).map(|_| key(rng)).collect()
    }

    #[test]
    fn rows_are_in_the_order_of_their_keys_and_then_of_the_input() {
        let mut rng = Rng::with_seed(0x6865_6c64);
        for _ in 0..3_000 {
            let keys = any_keys(&mut rng);
            let mut expected: Vec<(&[u8], u64)> =
                keys.iter().zip(0..).map(|(key, index)| (&key[..], index)).collect();
            expected.sort();
            let is_again = |at: usize| at > 0 && expected[at - 1].0 == expected[at].0;
            let expected: Vec<_> =
                expected.iter().enumerate().map(|(at, (_, index))| (*index, is_again(at))).collect();
            assert_eq!(order(&held(keys.iter().map(|key| &key[..]))), expected, "{keys:02x?}");
        }
    }

    #[test]
    fn rows_are_what_was_taken() {
        let keys: Vec<_> = (0..5_000_usize).map(|number| vec![b'k'; number % 300 + 1]).collect();
        let all = || held(keys.iter().map(|key| &key[..]));
        let taken = all();
        let encoded: Vec<&[u8]> = (0..keys.len()).map(|place| taken.row(place).encoded).collect();
        // In place, and copied.
        for step in [1, 3] {
            let places: Vec<usize> = (0..keys.len()).rev().step_by(step).collect();
            let kept = all().keep(places.clone());
            assert_eq!(kept.len(), places.len());
            assert_eq!(kept.bytes(), places.iter().map(|place| encoded[*place].len()).sum::<usize>());
            for (number, place) in places.into_iter().enumerate() {
                let row = kept.row(number);
                assert_eq!((row.index(), row.key()), (place as u64, &keys[place][..]));
                assert_eq!(row.encoded, encoded[place]);
            }
            assert!(order(&kept).windows(2).all(|pair| keys[pair[0].0 as usize] <= keys[pair[1].0 as usize]));
        }
    }

    #[test]
    fn rows_that_go_one_by_one_leave_their_memory() {
        let keys: Vec<_> = (0..1_000_u32).map(u32::to_be_bytes).collect();
        let mut all = held(keys.iter().map(|key| &key[..]));
        while !all.is_empty() {
            let places = (1..all.len()).collect();
            all = all.keep(places);
            assert!(all.chunks.iter().map(Vec::len).sum::<usize>() <= 2 * all.bytes());
        }
    }

    #[test]
    fn large_rows_take_what_they_need() {
        let mut all = RowArena::default();
        for len in [10, 200_000, 10, 200_000, 10] {
            let mutations = vec![Mutation::set("cf", "q", 0, vec![0; len])].into();
            all.push(0, &Entry { key: b"key".into(), mutations });
        }
        let taken: usize = all.chunks.iter().map(Vec::capacity).sum();
        assert_eq!((all.chunks.len(), taken < all.bytes() + 2 * LEAST), (3, true));
    }
}
