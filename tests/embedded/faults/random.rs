//! Random faults: reads and writes give the same results as without them.

use std::time::Duration;

use bytes::Bytes;
use fastrand::Rng;
use keyderive::client::{RawTable, ReadRows};
use keyderive::embedded::{Bigtable, Fault, Faults, Method};
use keyderive::plan::KeyRange;
use keyderive::row::{Mutation, RawRow, RowFilter};

use super::*;

/// Faults of every kind that the client survives.
fn transient(rng: &mut Rng) -> Faults {
    let after = Duration::from_millis(rng.u64(1..60_000));
    let faults = Faults::seeded(rng.u64(..)).cut_streams(rng.f64() * 0.3).split_rows(rng.f64());
    [Method::ReadRows, Method::MutateRows, Method::MutateRow, Method::SampleRowKeys].into_iter().fold(
        faults,
        |faults, method| {
            faults
                .fail(method, 0.1, Fault::unavailable())
                .fail(method, 0.1, Fault::aborted().after_the_call())
                .fail(method, 0.05, Fault::resource_exhausted().retry_after(after))
                .delay(method, 0.2, Duration::from_millis(300))
        },
    )
}

/// A client that never stops retrying: when rows arrive in pieces, few attempts deliver one.
fn patient(bigtable: &Bigtable) -> Client {
    bigtable.client().with(|settings| {
        settings
            .each(|call| (call.max_attempts, call.total_timeout) = (u32::MAX, Duration::from_secs(1 << 30)));
    })
}

fn key(rng: &mut Rng) -> Vec<u8> {
    (0..rng.usize(1..4)).map(|_| rng.u8(b'a'..b'f')).collect()
}

/// A row of a few cells, some of them large.
fn row(rng: &mut Rng) -> Vec<Mutation> {
    let cells = rng.i64(1..6);
    let mutations = (0..cells).map(|cell| {
        let length = if rng.u8(..8) == 0 { rng.usize(..100_000) } else { rng.usize(..20) };
        let value: Bytes = std::iter::repeat_n(rng.u8(..), length).collect();
        Mutation::set("cf", ["", "q", "r"][rng.usize(..3)], cell * 1000, value)
    });
    mutations.collect()
}

fn request(rng: &mut Rng) -> ReadRows {
    let mut request = match rng.u8(..3) {
        0 => ReadRows::all(),
        1 => ReadRows::new().prefix(key(rng)).prefix(key(rng)),
        _ => (0..rng.u8(1..20)).fold(ReadRows::new(), |request, _| request.key(key(rng))),
    };
    if rng.bool() {
        let end = rng.bool().then(|| key(rng));
        request = request.range(KeyRange::new(key(rng), end));
    }
    if rng.bool() {
        request = request.reversed();
    }
    if rng.u8(..4) == 0 {
        request = request.limit(rng.u64(1..100));
    }
    match rng.u8(..6) {
        0 => request.filter(RowFilter::latest(1)),
        1 => request.filter(RowFilter::exact_column("cf", "q")),
        2 => request.filter(RowFilter::value_range(&[100_u8][..]..)),
        _ => request,
    }
}

async fn read(table: &RawTable, request: ReadRows) -> Result<Vec<RawRow>, keyderive::Error> {
    let mut rows = table.read_rows(request);
    let mut read = Vec::new();
    while let Some(row) = rows.next().await {
        read.push(row?);
    }
    Ok(read)
}

/// Random rows in Bigtables with and without faults.
#[tokio::test(start_paused = true)]
async fn what_is_written_and_read_through_faults_is_right() {
    let rng = &mut Rng::with_seed(11);
    let mut tried_again = 0;
    for round in 0..30 {
        let (bigtable, _) = with_events(0).await;
        let (other, _) = with_events(0).await;
        let faulty = bigtable.with_faults(transient(rng));
        let through = patient(&faulty).raw_table(TABLE);
        let (steady, expected) = (bigtable.client().raw_table(TABLE), other.client().raw_table(TABLE));

        let entries: Vec<_> = (0..rng.usize(1..400)).map(|_| (Bytes::from(key(rng)), row(rng))).collect();
        assert!(expected.mutate_rows(entries.clone()).await.iter().all(Result::is_ok));
        let outcomes = through.mutate_rows(entries).await;
        assert!(outcomes.iter().all(Result::is_ok), "round {round}: {outcomes:?}");
        let all = read(&expected, ReadRows::all()).await.unwrap();
        assert!(all == read(&steady, ReadRows::all()).await.unwrap(), "round {round}");

        for scan in 0..20 {
            let request = request(rng);
            let expected = read(&expected, request.clone()).await.unwrap();
            let before = faulty.calls(Method::ReadRows);
            let got = read(&through, request.clone()).await;
            tried_again += faulty.calls(Method::ReadRows) - before - 1;
            let got = got.unwrap_or_else(|error| panic!("round {round}, scan {scan}, {request:?}: {error}"));
            assert!(got == expected, "round {round}, scan {scan}, {request:?}");
        }
    }
    assert!(tried_again > 100, "{tried_again} scans were sent again");
}

#[tokio::test(start_paused = true)]
async fn scans_over_buckets_are_whole_and_in_order() {
    let rng = &mut Rng::with_seed(12);
    let (bigtable, _) = with_events(500).await;
    for _ in 0..10 {
        let events = events(&patient(&bigtable.with_faults(transient(rng))));
        let rows = events.scan(SaltedKey::scan()).collect().await.unwrap();
        assert!(rows.into_iter().eq((0..500).map(event)));
    }
}

/// For each call of a fixed program, whether it succeeded.
async fn successes(bigtable: &Bigtable, seed: u64) -> Vec<bool> {
    let faults = Faults::seeded(seed).fail(Method::ReadRows, 0.3, Fault::permission_denied());
    let faulty = bigtable.with_faults(faults.cut_streams(0.3));
    let events = events(&faulty.client().with(|settings| settings.each(|call| call.max_attempts = 1)));
    let mut successes = Vec::new();
    for _ in 0..50 {
        successes.push(events.get(&SaltedKey { id: 1 }).await.is_ok());
    }
    successes
}

#[tokio::test(start_paused = true)]
async fn a_seed_repeats_its_faults() {
    let (bigtable, _) = with_events(5).await;
    let first = successes(&bigtable, 1).await;
    assert_eq!(first, successes(&bigtable, 1).await);
    assert_ne!(first, successes(&bigtable, 2).await);
    let failed = first.iter().filter(|right| !**right).count();
    assert!((10..45).contains(&failed), "{failed} of 50 calls failed");
}

/// Without retries, a test sees where streams break.
#[tokio::test(start_paused = true)]
async fn streams_break_between_rows_and_in_them() {
    let (bigtable, _) = with_events(2_000).await;
    let faulty = bigtable.with_faults(Faults::seeded(3).cut_streams(0.01).split_rows(1.0));
    let hasty = faulty.client().with(|settings| settings.read_rows.max_attempts = 1).raw_table(TABLE);
    let mut broken = Vec::new();
    for _ in 0..50 {
        let mut rows = hasty.read_rows(ReadRows::all());
        let mut read = 0_u32;
        while let Some(row) = rows.next().await {
            match row {
                Ok(_) => read += 1,
                Err(error) => {
                    assert!(error.is_unavailable(), "{error}");
                    broken.push(read);
                }
            }
        }
    }
    broken.sort_unstable();
    broken.dedup();
    assert!(broken.len() > 20, "streams broke after {broken:?} rows");
}
