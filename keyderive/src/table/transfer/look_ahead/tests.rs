//! The order and the size of a load's requests.

use fastrand::Rng;

use super::*;
use crate::client::Mutations;
use crate::row::Mutation;

const MIB: usize = 1 << 20;
const LIMITS: BatchLimits = BatchLimits { bytes: 64 << 10, rows: 10_000 };

fn row(key: &str) -> Entry {
    let mutation = Mutation::set("cf", "q", 1_000, vec![0; 220]);
    Entry { key: key.into(), mutations: vec![mutation].into() }
}

fn starts(count: usize) -> Vec<Bytes> {
    let start = |position| if position == 0 { Bytes::new() } else { format!("{position:03}").into() };
    (0..count).map(start).collect()
}

/// Loads rows of these partitions; returns the partition and the size of each request.
fn requests(count: usize, rows: impl Iterator<Item = usize>, look_ahead: usize) -> Vec<(usize, usize)> {
    let mut ahead = LookAhead::new(starts(count), LIMITS);
    let (mut rows, mut requests) = (rows.enumerate(), Vec::new());
    loop {
        while ahead.size().bytes < look_ahead
            && let Some((index, partition)) = rows.next()
        {
            ahead.push(index as u64, &row(&format!("{partition:03}-{index:09}")));
        }
        let Some((request, batch)) = ahead.take(|_| ()) else { return requests };
        let of = |key: &[u8]| std::str::from_utf8(&key[..3]).unwrap().parse().unwrap();
        let partition: usize = of(&batch.entries.key(0));
        assert!(batch.entries.keys().all(|key| of(key) == partition));
        ahead.finish(request);
        requests.push((partition, batch.bytes));
    }
}

/// The most requests that one partition has among any `10 * count` successive ones, for `count` partitions.
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
    // Successive requests go to distant partitions.
    assert!(requests[..16].windows(2).all(|pair| pair[0].0 + 1 != pair[1].0));
}

#[test]
fn unequal_partitions_end_together() {
    // A partition has up to 16 times the rows of another.
    let sorted = (0..16).flat_map(|partition| std::iter::repeat_n(partition, 1_000 * (partition + 1)));
    let requests = requests(16, sorted, 64 * MIB);
    assert!(most(16, &requests) <= 11, "{}", most(16, &requests));
    assert!(requests.iter().all(|(_, bytes)| *bytes <= LIMITS.bytes));
}

#[test]
fn random_rows_beyond_the_look_ahead_are_spread_evenly() {
    let mut rng = fastrand::Rng::with_seed(7);
    let random = (0..200_000).map(move |_| rng.usize(..16));
    let requests = requests(16, random, 4 * MIB);
    assert!(most(16, &requests) <= 12, "{}", most(16, &requests));
    let mean = requests.iter().map(|(_, bytes)| bytes).sum::<usize>() / requests.len();
    assert!(mean > LIMITS.bytes / 2, "{mean}");
}

/// Half of all rows are of one partition, which is 8 times an even share.
#[test]
fn a_partition_of_half_the_rows_does_not_crowd_out_others() {
    let mut rng = fastrand::Rng::with_seed(8);
    let random = (0..200_000).map(move |_| if rng.bool() { 5 } else { rng.usize(..16) });
    let requests = requests(16, random, 4 * MIB);
    // At the end only rows of that partition are left.
    let steady = &requests[..requests.len() / 2];
    assert!(most(16, steady) <= 30, "{}", most(16, steady));
}

#[test]
fn sorted_rows_of_one_partition_do_not_go_in_order() {
    let mut ahead = LookAhead::new(starts(1), LIMITS);
    (0..3_000).for_each(|index| ahead.push(index, &row(&format!("{index:09}"))));
    let first = |(_, batch): (Request, LoadBatch)| batch.entries.key(0);
    let firsts: Vec<_> = std::iter::from_fn(|| ahead.take(|_| ())).map(first).collect();
    assert!(firsts.len() > 10);
    assert!(!firsts.is_sorted() && ahead.is_empty() && ahead.size().bytes + ahead.size().rows == 0);
}

#[test]
fn a_key_in_flight_holds_back_its_next_row() {
    let mut ahead = LookAhead::new(starts(2), LIMITS);
    let keys = ["001", "000", "001"];
    keys.iter().enumerate().for_each(|(index, key)| ahead.push(index as u64, &row(key)));
    let first = [ahead.take(|_| ()).unwrap(), ahead.take(|_| ()).unwrap()];
    assert!(ahead.take(|_| ()).is_none() && !ahead.is_empty());
    first.iter().for_each(|(request, _)| ahead.finish(*request));
    assert_eq!(ahead.take(|_| ()).unwrap().1.indexes, [2]);
    assert!(ahead.is_empty() && ahead.size().bytes == 0);
}

/// Whenever requests end: each row is sent once, no key is in flight twice, and rows of one key go in their order.
#[test]
fn rows_of_one_key_are_sent_one_after_the_other() {
    let mut rng = fastrand::Rng::with_seed(0x6f6e_6365);
    for _ in 0..400 {
        let limits = BatchLimits { bytes: rng.usize(250..4_000), rows: rng.usize(1..20) };
        let mut ahead = LookAhead::new(starts(rng.usize(1..5)), limits);
        let (keys, count) = (rng.usize(1..200), rng.u64(1..300));
        let mut all: Vec<usize> = Vec::new();
        let (mut sent_requests, mut written) = (Vec::new(), Vec::new());
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
                    if let Some((request, batch)) = ahead.take(|_| ()) {
                        sent_requests.push((request, batch.indexes));
                    }
                }
                _ if sent_requests.is_empty() => {}
                _ => {
                    let (request, indexes) = sent_requests.swap_remove(rng.usize(..sent_requests.len()));
                    ahead.finish(request);
                    written.extend(indexes);
                }
            }
            let sent: Vec<usize> =
                sent_requests.iter().flat_map(|(_, rows)| rows).map(|index| all[*index as usize]).collect();
            assert_eq!(sent.iter().collect::<BTreeSet<_>>().len(), sent.len(), "a key is in flight twice");
        }
        assert!(ahead.is_empty() && ahead.size().bytes + ahead.size().rows == 0 && sent_requests.is_empty());
        let mut once = written.clone();
        once.sort_unstable();
        assert!(once.into_iter().eq(0..count));
        for key in 0..keys {
            assert!(written.iter().filter(|index| all[**index as usize] == key).is_sorted());
        }
    }
}

const SMALL: BatchLimits = BatchLimits { bytes: 1000, rows: 1000 };

fn arena(keys: impl IntoIterator<Item = u32>) -> RowArena {
    let mut arena = RowArena::default();
    for (index, key) in keys.into_iter().enumerate() {
        let deletion = Mutation::delete_column("cf", "a name of 18 bytes");
        let entry = Entry { key: format!("{key:03}").into(), mutations: vec![deletion].into() };
        arena.push(index as u64, &entry);
    }
    arena
}

#[test]
fn rows_have_the_size_that_the_tests_assume() {
    assert_eq!(arena(0..1).bytes(), 35);
}

fn split_all(mut arena: RowArena, count: usize, limits: BatchLimits) -> Vec<LoadBatch> {
    split_into_batches(&mut arena, count, limits, &mut InFlightRows::default(), &mut None)
}

/// The keys of each batch, in the order of their requests.
fn sent(batches: Vec<LoadBatch>) -> Vec<Vec<String>> {
    let text = |key: &[u8]| String::from_utf8(key.to_vec()).unwrap();
    batches.into_iter().rev().map(|batch| batch.entries.keys().map(text).collect()).collect()
}

#[test]
fn batches_are_equal_and_of_neighbours() {
    let batches = sent(split_all(arena((0..100).rev()), 8, SMALL));
    assert_eq!(batches.len(), 8);
    for batch in &batches {
        assert!((12..=13).contains(&batch.len()), "{batches:?}");
        assert!(batch.is_sorted());
    }
    assert!(!batches.is_sorted());
    let mut all: Vec<_> = batches.concat();
    all.sort();
    assert_eq!(all, (0..100).map(|key| format!("{key:03}")).collect::<Vec<_>>());
}

#[test]
fn no_batch_exceeds_the_limits() {
    let limits = BatchLimits { bytes: 105, rows: 2 };
    assert!(sent(split_all(arena(0..50), 1, limits)).iter().all(|keys| keys.len() == 2));
    let limits = BatchLimits { bytes: 105, rows: 9 };
    assert!(sent(split_all(arena(0..51), 1, limits)).iter().all(|keys| keys.len() == 3));
    let limits = BatchLimits { bytes: 1, rows: 9 };
    assert_eq!(sent(split_all(arena(0..5), 1, limits)).len(), 5);
}

#[test]
fn full_batches_leave_no_small_remainder() {
    // 1001 rows of 35 bytes: the least number of requests is 35, with 29 rows in most, but only 28 fit into one.
    let limits = BatchLimits { bytes: 1_010, rows: 1_000 };
    let count = limits.requests(1_001, 1_001 * 35);
    assert_eq!((count, split_all(arena(0..1_001), count, limits).len()), (35, 36));
}

#[test]
fn fewer_rows_than_batches_go_one_by_one() {
    assert_eq!(split_all(arena(0..3), 8, SMALL).len(), 3);
    assert!(split_all(RowArena::default(), 8, SMALL).is_empty());
}

#[test]
fn the_second_row_of_a_key_waits() {
    let mut waiting = arena([5, 7, 5, 6, 5]);
    let mut in_flight = InFlightRows::default();
    in_flight.begin(0, &split_all(arena([6]), 1, SMALL)[0].entries);
    let batches = split_into_batches(&mut waiting, 1, SMALL, &mut in_flight, &mut None);
    assert_eq!(batches[0].indexes, [0, 1]);
    assert_eq!(sent(batches), [["005", "007"]]);
    assert_eq!((waiting.len(), waiting.bytes()), (3, 3 * 35));
    // The earlier row is sent first.
    in_flight.end(0);
    assert_eq!(split_into_batches(&mut waiting, 1, SMALL, &mut in_flight, &mut None)[0].indexes, [2, 3]);
    assert_eq!(split_into_batches(&mut waiting, 1, SMALL, &mut in_flight, &mut None)[0].indexes, [4]);
    assert!(waiting.is_empty());
}

#[test]
fn scattered_numbers_are_complete_and_apart() {
    for count in 0..300 {
        let order: Vec<usize> = scattered(count).collect();
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..count).collect::<Vec<_>>());
        assert!(count < 5 || order.windows(2).all(|pair| pair[0] + 1 != pair[1]), "{order:?}");
        assert!(count < 2 || !order.is_sorted());
    }
}

fn entries(keys: &[&str]) -> Arc<Entries> {
    let mut batch = Batch::default();
    keys.iter().for_each(|key| batch.add(key.as_bytes(), &Mutations::delete_row()));
    Arc::new(batch.take())
}

#[test]
fn keys_are_in_flight_until_their_request_ends() {
    for lookups in [usize::MAX, 1] {
        let mut in_flight = InFlightRows::default();
        in_flight.begin(0, &entries(&["a", "b"]));
        in_flight.begin(1, &entries(&["c"]));
        let found = |in_flight: &mut InFlightRows| {
            in_flight.collect_fingerprints();
            let found: String =
                ["a", "b", "c"].into_iter().filter(|key| in_flight.contains(key.as_bytes())).collect();
            in_flight.drop_fingerprints(lookups);
            found
        };
        assert_eq!(found(&mut in_flight), "abc");
        in_flight.end(0);
        assert_eq!(found(&mut in_flight), "c");
        in_flight.begin(2, &entries(&["b"]));
        assert_eq!(found(&mut in_flight), "bc");
        in_flight.end(1);
        in_flight.end(2);
        assert_eq!((found(&mut in_flight).as_str(), in_flight.rows), ("", 0));
    }
}

fn arena_of_keys<'a>(keys: impl IntoIterator<Item = &'a [u8]>) -> RowArena {
    let mut arena = RowArena::default();
    for (index, key) in keys.into_iter().enumerate() {
        let mutations = vec![Mutation::set("cf", "q", 0, index.to_string())].into();
        arena.push(index as u64, &Entry { key: key.into(), mutations });
    }
    arena
}

/// The indexes of the rows in the order of their keys, with whether a row with the same key came before.
fn order(arena: &RowArena) -> Vec<(u64, bool)> {
    let mut order = Vec::new();
    arena.for_each_sorted(|row, is_duplicate| order.push((row.row.index, is_duplicate)));
    order
}

/// Keys of few different bytes, so that many are equal or begin with others.
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
        let is_duplicate = |at: usize| at > 0 && expected[at - 1].0 == expected[at].0;
        let expected: Vec<_> =
            expected.iter().enumerate().map(|(at, (_, index))| (*index, is_duplicate(at))).collect();
        assert_eq!(order(&arena_of_keys(keys.iter().map(|key| &key[..]))), expected, "{keys:02x?}");
    }
}

#[test]
fn rows_are_what_was_pushed() {
    let keys: Vec<_> = (0..5_000_usize).map(|number| vec![b'k'; number % 300 + 1]).collect();
    let all = || arena_of_keys(keys.iter().map(|key| &key[..]));
    let taken = all();
    let encoded: Vec<&[u8]> = (0..keys.len()).map(|position| taken.row(position).encoded).collect();
    // Kept where they lie in memory, and copied.
    for step in [1, 3] {
        let positions: Vec<usize> = (0..keys.len()).rev().step_by(step).collect();
        let kept = all().retain(positions.clone());
        assert_eq!(kept.len(), positions.len());
        assert_eq!(kept.bytes(), positions.iter().map(|position| encoded[*position].len()).sum::<usize>());
        for (number, position) in positions.into_iter().enumerate() {
            let row = kept.row(number);
            assert_eq!((row.row.index, row.key()), (position as u64, &keys[position][..]));
            assert_eq!(row.encoded, encoded[position]);
        }
        assert!(order(&kept).windows(2).all(|pair| keys[pair[0].0 as usize] <= keys[pair[1].0 as usize]));
    }
}

#[test]
fn rows_that_are_sent_free_their_memory() {
    let keys: Vec<_> = (0..1_000_u32).map(u32::to_be_bytes).collect();
    let mut all = arena_of_keys(keys.iter().map(|key| &key[..]));
    while !all.is_empty() {
        let positions = (1..all.len()).collect();
        all = all.retain(positions);
        assert!(all.chunks.iter().map(Vec::len).sum::<usize>() <= 2 * all.bytes());
    }
}

#[test]
fn large_rows_have_chunks_of_their_own() {
    let mut all = RowArena::default();
    for len in [10, 200_000, 10, 200_000, 10] {
        let mutations = vec![Mutation::set("cf", "q", 0, vec![0; len])].into();
        all.push(0, &Entry { key: b"key".into(), mutations });
    }
    let taken: usize = all.chunks.iter().map(Vec::capacity).sum();
    assert_eq!((all.chunks.len(), taken < all.bytes() + 2 * MIN_CHUNK), (3, true));
}
