//! The requests of a load: each goes to one partition, and all partitions advance evenly.

use bytes::Bytes;
use fastrand::Rng;
use keyderive::{RowKey, Table};
use keyderive_scripted::{Mock, Request, Rpc};
use tonic::Code;

use super::{Reading, ReadingKey, client_of, reading, written_by};

const ROWS: u32 = 40_000;
const PARTITIONS: usize = 16;

/// Without a salt, only the sampled row keys tell the partitions.
#[derive(RowKey)]
struct PlainKey {
    id: u32,
}

/// Loads ids in order, with requests of about 40 rows and the given look-ahead; the keys of each request.
async fn load<K: RowKey + keyderive::key::TableKey>(
    mock: &Mock,
    ids: &[u32],
    key: fn(u32) -> K,
    look_ahead: usize,
) -> Vec<Vec<Bytes>> {
    let table: Table<K, Reading> = client_of(mock).table("readings");
    let rows = ids.iter().map(|id| (key(*id), reading(*id).1));
    let report = table.load_iter(rows).batch_bytes(6_000).look_ahead(look_ahead).await.unwrap();
    assert_eq!((report.written(), report.failed_count()), (ids.len() as u64, 0));
    let requests: Vec<_> = mock.requests_of(Rpc::MutateRows).iter().map(Request::entries).collect();
    assert_eq!(requests.len() as u64, report.requests());
    assert_eq!(requests.iter().map(Vec::len).sum::<usize>(), ids.len());
    requests
}

/// The largest share of one partition in any window of 10 requests per partition, as a multiple of its fair share.
fn most(requests: &[Vec<Bytes>], starts: &[Vec<u8>]) -> f64 {
    let of = |key: &Bytes| starts.partition_point(|start| **start <= **key);
    let partitions: Vec<usize> = requests.iter().map(|keys| of(&keys[0])).collect();
    for (keys, partition) in requests.iter().zip(&partitions) {
        assert!(keys.iter().all(|key| of(key) == *partition), "a request of several partitions");
        assert!(keys.is_sorted(), "a request that is not in the order of its keys");
    }
    let count = starts.len() + 1;
    assert!(requests.len() > 10 * count, "{} requests are no whole window", requests.len());
    let in_window = |window: &[usize]| {
        (0..count).map(|partition| window.iter().filter(|of| **of == partition).count()).max().unwrap()
    };
    let most = partitions.windows(10 * count).map(in_window).max().unwrap();
    most as f64 / 10.0
}

fn sorted() -> Vec<u32> {
    (0..ROWS).collect()
}

fn random() -> Vec<u32> {
    let mut ids = sorted();
    Rng::with_seed(5).shuffle(&mut ids);
    ids
}

/// Ids in the order of the stored keys: bucket after bucket.
fn sorted_by_bucket() -> Vec<u32> {
    let mut ids = sorted();
    ids.sort_by_key(|id| ReadingKey { id: *id }.encode().unwrap());
    ids
}

const DEFAULT: usize = 64 * 1024 * 1024;

#[tokio::test(start_paused = true)]
async fn buckets_are_written_evenly() {
    let starts = ReadingKey::SCHEMA.bucket_splits();
    assert_eq!(starts.len() + 1, PARTITIONS);
    for (order, ids) in [("sorted", sorted()), ("random", random()), ("by bucket", sorted_by_bucket())] {
        let mock = written_by(Vec::new(), |_| Code::Ok);
        let requests = load(&mock, &ids, |id| ReadingKey { id }, DEFAULT).await;
        let most = most(&requests, &starts);
        println!("{order}: {} requests, at most {most} shares", requests.len());
        assert!(most <= 3.0, "{order}: {most}");
    }
}

/// The look-ahead holds an eighth of the rows.
#[tokio::test(start_paused = true)]
async fn buckets_are_written_evenly_beyond_the_look_ahead() {
    for (order, ids) in [("sorted", sorted()), ("random", random())] {
        let mock = written_by(Vec::new(), |_| Code::Ok);
        let requests = load(&mock, &ids, |id| ReadingKey { id }, 750_000).await;
        let most = most(&requests, &ReadingKey::SCHEMA.bucket_splits());
        println!("{order}, beyond: {} requests, at most {most} shares", requests.len());
        assert!(most <= 3.0, "{order}: {most}");
    }
}

fn splits(of: impl Iterator<Item = u32>) -> Vec<&'static str> {
    of.map(|id| &*format!("{id:010}").leak()).collect()
}

fn starts(splits: &[&str]) -> Vec<Vec<u8>> {
    splits.iter().map(|split| split.as_bytes().to_vec()).collect()
}

#[tokio::test(start_paused = true)]
async fn sampled_splits_are_written_evenly() {
    let equal = splits((1..16).map(|part| part * ROWS / 16));
    // Tablets of 625 to 10,000 rows.
    let unequal = splits((1..16).map(|part| ROWS / 256 * part * part));
    for splits in [equal, unequal] {
        for (order, ids) in [("sorted", sorted()), ("random", random())] {
            let mock = written_by(splits.clone(), |_| Code::Ok);
            let requests = load(&mock, &ids, |id| PlainKey { id }, DEFAULT).await;
            let most = most(&requests, &starts(&splits));
            println!("{order}, split: {} requests, at most {most} shares", requests.len());
            assert!(most <= 3.0, "{order}: {most}");
        }
    }
}

/// Sampled row keys split the buckets further.
#[tokio::test(start_paused = true)]
async fn buckets_and_samples_cut_together() {
    let splits = vec!["03#0000020000", "03#0000030000", "07", "09#0000001000"];
    let mut all = starts(&splits);
    all.extend(ReadingKey::SCHEMA.bucket_splits());
    all.sort();
    all.dedup();
    let mock = written_by(splits, |_| Code::Ok);
    let requests = load(&mock, &sorted_by_bucket(), |id| ReadingKey { id }, DEFAULT).await;
    let most = most(&requests, &all);
    assert!(most <= 3.0, "{most}");
}

/// A table that is not split yet is not written in key order either.
#[tokio::test(start_paused = true)]
async fn one_tablet_is_not_written_in_order() {
    let mock = written_by(Vec::new(), |_| Code::Ok);
    let requests = load(&mock, &sorted(), |id| PlainKey { id }, 750_000).await;
    let follow = requests.windows(2).filter(|pair| pair[0].last() < pair[1].first()).count();
    let next = |pair: &&[Vec<Bytes>]| {
        let id = |key: &Bytes| std::str::from_utf8(key).unwrap().parse::<u32>().unwrap();
        id(pair[0].last().unwrap()) + 1 == id(&pair[1][0])
    };
    let neighbours = requests.windows(2).filter(next).count();
    println!("{} requests, {follow} after the one before, {neighbours} right after", requests.len());
    assert!(neighbours < requests.len() / 20 && follow < requests.len() * 9 / 10);
}
