//! Scans of more buckets than a connection has streams.
//!
//! Google's front ends allow 100 streams on a connection. A client that keeps a stream open for each bucket waits forever
//! for the hundred and first, and two scans deadlock when each holds streams that the other needs. The server here
//! listens on TCP and has that limit; a test that hangs fails by its time limit.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use keyderive::__private::connected_by;
use keyderive::table::Rows;
use keyderive::{Client, RowKey, Table};
use keyderive_scripted::{Answer, MAX_CONCURRENT_STREAMS, Mock, Rpc};
use tokio::time::{Instant, sleep};

/// How many streams scans may hold on a connection: 10 are left for point reads and writes.
const MOST_STREAMS: usize = MAX_CONCURRENT_STREAMS as usize - 10;

/// Far more than any of the scans takes.
const TIME_LIMIT: Duration = Duration::from_secs(120);

#[derive(RowKey, Clone, Copy, Debug, PartialEq)]
#[salt(range = 256)]
struct Wide {
    id: u32,
}

#[derive(RowKey, Clone, Copy, Debug, PartialEq)]
#[salt(range = 4)]
struct Narrow {
    id: u32,
}

/// A server with the keys of `ids` ids, 16 rows per message, and its client.
async fn serve<K: RowKey>(ids: u32, key: fn(u32) -> K) -> (Mock, Client) {
    let keys = (0..ids).map(|id| Bytes::from(key(id).encode().unwrap())).collect();
    let cell = (Bytes::from("a"), Bytes::from_static(&[7; 400]));
    let server = keyderive_scripted::Table::new(keys, vec![cell], 16).serve();
    let client = Client::emulator(server.listen().await).await.unwrap();
    (server, client)
}

async fn wide(ids: u32) -> (Mock, Table<Wide, ()>) {
    let (server, client) = serve(ids, |id| Wide { id }).await;
    (server, client.table("wide"))
}

async fn ids(mut rows: Rows<Wide, ()>) -> Vec<u32> {
    let mut ids = Vec::new();
    while let Some(row) = rows.next().await {
        ids.push(row.unwrap().0.id);
    }
    ids
}

async fn in_time<T>(run: impl Future<Output = T>) -> T {
    tokio::time::timeout(TIME_LIMIT, run).await.expect("the scan hangs")
}

/// Polls once, so that requests are sent, and drops the future.
async fn poll_once(run: impl Future) {
    let mut run = pin!(run);
    poll_fn(|cx| {
        let _ = run.as_mut().poll(cx);
        Poll::Ready(())
    })
    .await;
}

#[tokio::test]
async fn an_ordered_scan_of_256_buckets_completes() {
    let (server, table) = wide(50_000).await;
    in_time(async {
        let mut rows = table.scan(Wide::scan()).stream();
        // A slow consumer: the server sends what its windows admit, and waits.
        let first = rows.next().await.unwrap().unwrap().0;
        server.settled().await;
        assert_eq!(first.id, 0);
        assert!(ids(rows).await.into_iter().eq(1..50_000));

        let reversed = table.scan(Wide::scan()).reversed().stream();
        assert!(ids(reversed).await.into_iter().eq((0..50_000).rev()));
    })
    .await;
    assert!(server.most_open() <= MOST_STREAMS, "{} streams were open", server.most_open());
}

#[tokio::test]
async fn a_scan_inside_the_loop_of_another_completes() {
    let (server, table) = wide(5_000).await;
    in_time(async {
        let mut outer = table.scan(Wide::scan()).stream();
        for id in 0..3 {
            assert_eq!(outer.next().await.unwrap().unwrap().0.id, id);
            assert!(ids(table.scan(Wide::scan()).stream()).await.into_iter().eq(0..5_000));
        }
        assert!(ids(outer).await.into_iter().eq(3..5_000));
    })
    .await;
    assert!(server.most_open() <= MOST_STREAMS, "{} streams were open", server.most_open());
}

#[tokio::test]
async fn unordered_scans_inside_one_another_complete() {
    let (server, table) = wide(20_000).await;
    in_time(async {
        let mut outer = table.scan(Wide::scan()).unordered().stream();
        let mut seen = Vec::new();
        // The first row arrives while the other buckets are still being read.
        for _ in 0..3 {
            seen.push(outer.next().await.unwrap().unwrap().0.id);
            assert_eq!(ids(table.scan(Wide::scan()).unordered().stream()).await.len(), 20_000);
        }
        seen.extend(ids(outer).await);
        seen.sort_unstable();
        assert!(seen.into_iter().eq(0..20_000));
    })
    .await;
    assert!(server.most_open() <= MOST_STREAMS, "{} streams were open", server.most_open());
}

#[tokio::test]
async fn a_scan_that_is_not_polled_holds_up_no_other() {
    let (_server, table) = wide(5_000).await;
    in_time(async {
        let mut left: Vec<_> = (0..3).map(|_| table.scan(Wide::scan()).stream()).collect();
        for rows in &mut left {
            // Several times, so that requests are abandoned in each of their stages.
            for _ in 0..5 {
                poll_once(rows.next()).await;
                tokio::task::yield_now().await;
            }
        }
        assert!(ids(table.scan(Wide::scan()).stream()).await.into_iter().eq(0..5_000));
        drop(left);
        assert!(ids(table.scan(Wide::scan()).reversed().stream()).await.into_iter().eq((0..5_000).rev()));
    })
    .await;
}

#[tokio::test]
async fn scans_that_are_dropped_leave_no_request_behind() {
    let (server, table) = wide(50_000).await;
    in_time(async {
        for unordered in [false, true] {
            for polls in 1..20 {
                let scan = table.scan(Wide::scan());
                let mut rows = if unordered { scan.unordered() } else { scan }.stream();
                for _ in 0..polls {
                    poll_once(rows.next()).await;
                    tokio::task::yield_now().await;
                }
            }
        }
        assert!(ids(table.scan(Wide::scan()).stream()).await.into_iter().eq(0..50_000));
        while server.open() > 0 {
            server.settled().await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_hundred_scans_of_4_buckets_run_side_by_side() {
    side_by_side(100, 4_000, 25).await;
}

/// Streams that wait fill their windows of 1 MiB each, and must not fill the window of the connection.
#[tokio::test]
async fn streams_that_wait_do_not_stop_others() {
    side_by_side(17, 12_000, 1).await;
}

/// Starts `scans` scans of `ids` ids in 4 buckets, waits until the server sends no more, and reads `read` of them to
/// their ends, the last one first.
async fn side_by_side(scans: usize, ids: u32, read: usize) {
    let (server, client) = serve(ids, |id| Narrow { id }).await;
    let table = client.table::<Narrow, ()>("narrow");
    in_time(async {
        let mut scans: Vec<_> = (0..scans).map(|_| table.scan(Narrow::scan()).stream()).collect();
        for rows in &mut scans {
            assert_eq!(rows.next().await.unwrap().unwrap().0.id, 0);
        }
        server.settled().await;
        for rows in scans.iter_mut().rev().take(read) {
            let mut expected = 1..ids;
            while let Some(row) = rows.next().await {
                assert_eq!(Some(row.unwrap().0.id), expected.next());
            }
            assert!(expected.is_empty());
        }
    })
    .await;
    assert!(server.most_open() <= MOST_STREAMS, "{} streams were open", server.most_open());
}

/// A bucket may buffer one of these rows: a page ends at its share of bytes, and the scan requests the next page.
#[tokio::test]
async fn pages_of_large_rows_are_cut_short_and_lose_none() {
    let keys = (0..1024).map(|id| Bytes::from(Wide { id }.encode().unwrap())).collect();
    let cell = (Bytes::from("a"), Bytes::from(vec![7; 300 * 1024]));
    let server = keyderive_scripted::Table::new(keys, vec![cell], 1).serve();
    let client = Client::emulator(server.listen().await).await.unwrap();
    let table: Table<Wide, ()> = client.table("wide");
    let scanned = in_time(ids(table.scan(Wide::scan()).stream())).await;
    assert!(scanned.into_iter().eq(0..1024));
    let requests = server.requests_of(Rpc::ReadRows).len();
    assert!(requests >= 1024, "{requests} requests: pages hold more than their share");
    let backwards = in_time(ids(table.scan(Wide::scan()).reversed().limit(300).stream())).await;
    assert!(backwards.into_iter().eq((724..1024).rev()));
}

/// Buckets 0 and 3 end without a row, and bucket 1 has its row, after a second. Bucket 2 has a row at once, and its next one
/// after 50 s. A merge that loses its place as buckets end would wait for bucket 2.
#[tokio::test(start_paused = true)]
async fn an_unordered_scan_passes_over_no_bucket_as_others_end() {
    let key = |bucket: u8, nth: usize| {
        let keys = (0..100).map(|id| Narrow { id }.encode().unwrap());
        keys.filter(|key| key[0] == b'0' + bucket).nth(nth).unwrap()
    };
    let second = Duration::from_secs(1);
    let mock = Mock::new().by(move |request| {
        let ranges = request.read_rows().rows.unwrap().row_ranges;
        match format!("{ranges:?}") {
            ranges if ranges.contains("b\"1#") => Answer::new().wait(second).and_rows([key(1, 0)]),
            ranges if ranges.contains("b\"2#") => {
                Answer::rows([key(2, 0)]).wait(50 * second).and_rows([key(2, 1)])
            }
            _ => Answer::new().wait(second),
        }
    });
    let client: Client = connected_by(Client::builder(), mock.connector()).unwrap();
    let table = client.table::<Narrow, std::collections::BTreeMap<String, String>>("t").unchecked();
    let mut rows = table.scan(Narrow::scan()).unordered().keys_only().stream();
    let start = Instant::now();
    let mut buckets = Vec::new();
    while let Some(row) = rows.next().await {
        buckets.push((row.unwrap().encode().unwrap()[0] - b'0', start.elapsed().as_secs()));
        sleep(2 * second).await;
    }
    assert_eq!(buckets, [(2, 0), (1, 2), (2, 50)]);
}
