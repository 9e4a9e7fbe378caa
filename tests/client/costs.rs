//! What reads say of their cost: every request that ends by itself reports, and no other.

use futures_util::TryStreamExt as _;
use keyderive::client::{RawTable, ReadRows, ReadStats};
use keyderive::{Client, ErrorKind, RowKey};
use keyderive_proto::data::read_rows_request::RequestStatsView;
use keyderive_proto::data::request_stats::StatsView;
use keyderive_proto::{RowsMessage, data, values};
use keyderive_scripted::{Answer, Mock, Rpc};
use keyderive_tests::fixtures::created;
use tokio::time::Instant;
use tonic::Code;

use crate::support::{MILLISECOND, SECOND, all, client, keys, table};

/// What a server reports of a request that has read ten rows for each that it returned.
fn cost(rows: i64) -> data::ReadRowsResponse {
    let iteration = data::ReadIterationStats {
        rows_seen_count: 10 * rows,
        rows_returned_count: rows,
        cells_seen_count: 30 * rows,
        cells_returned_count: 3 * rows,
    };
    let latency = values::Duration { seconds: 0, nanos: 2_000_000 };
    let view = data::FullReadStatsView {
        read_iteration_stats: Some(iteration),
        request_latency_stats: Some(data::RequestLatencyStats { frontend_server_latency: Some(latency) }),
    };
    let stats = data::RequestStats { stats_view: Some(StatsView::FullReadStatsView(view)) };
    data::ReadRowsResponse { request_stats: Some(stats), ..Default::default() }
}

fn asks(request: &keyderive_scripted::Request) -> bool {
    request.read_rows().request_stats_view == RequestStatsView::RequestStatsFull as i32
}

/// The requests, those that were reported, and the rows seen and returned.
fn figures(stats: &ReadStats) -> [u64; 4] {
    [stats.requests(), stats.reported(), stats.rows_seen(), stats.rows_returned()]
}

async fn read(table: &RawTable, stats: &ReadStats) -> Vec<String> {
    keys(table.read_rows(ReadRows::all().with_stats(stats))).await.unwrap()
}

#[tokio::test]
async fn the_cost_of_all_reads_is_added_up() {
    let mock = Mock::new().by(|_| Answer::rows(["a", "b"]).send(&cost(2)));
    let (table, stats) = (table(&mock), ReadStats::new());
    assert_eq!(read(&table, &stats).await, ["a", "b"]);
    assert_eq!(figures(&stats), [1, 1, 20, 2]);
    assert_eq!((stats.cells_seen(), stats.cells_returned()), (60, 6));
    assert_eq!(stats.server_latency(), 2 * MILLISECOND);
    assert_eq!(
        stats.to_string(),
        "the server read 20 rows and 60 cells, and returned 2 and 6, in 2.0ms summed over 1 request"
    );
    read(&table, &stats.clone()).await;
    assert_eq!(figures(&stats), [2, 2, 40, 4]);
    // A read without them asks for none, and takes none.
    all(&table).await.unwrap();
    assert_eq!(figures(&stats), [2, 2, 40, 4]);
    assert_eq!(mock.requests().iter().map(asks).collect::<Vec<_>>(), [true, true, false]);
}

#[tokio::test(start_paused = true)]
async fn requests_that_end_early_report_nothing() {
    let mock = Mock::new().by(|request| match request.read_rows().rows.unwrap().row_ranges[0].start_key {
        None => Answer::rows(["a"]).fail(Code::Unavailable),
        Some(_) => Answer::rows(["b"]).send(&cost(1)),
    });
    let (table, stats) = (table(&mock), ReadStats::new());
    assert_eq!(read(&table, &stats).await, ["a", "b"]);
    assert_eq!(figures(&stats), [2, 1, 10, 1]);
    assert!(stats.to_string().ends_with(" summed over 2 requests, of which it reported 1"), "{stats}");
    // A stream that is dropped after its first row.
    let mut rows = table.read_rows(ReadRows::all().with_stats(&stats));
    rows.try_next().await.unwrap().unwrap();
    drop(rows);
    assert_eq!(figures(&stats), [3, 1, 10, 1]);
}

#[tokio::test]
async fn an_empty_report_and_one_below_zero_count_as_none() {
    let nonsense = |iteration: Option<data::ReadIterationStats>| {
        let view = data::FullReadStatsView { read_iteration_stats: iteration, request_latency_stats: None };
        let stats = data::RequestStats { stats_view: Some(StatsView::FullReadStatsView(view)) };
        data::ReadRowsResponse { request_stats: Some(stats), ..Default::default() }
    };
    let below_zero =
        data::ReadIterationStats { rows_seen_count: -1, rows_returned_count: 7, ..Default::default() };
    for (message, expected) in [
        (data::ReadRowsResponse::default(), [1, 0, 0, 0]),
        (
            data::ReadRowsResponse {
                request_stats: Some(data::RequestStats::default()),
                ..Default::default()
            },
            [1, 0, 0, 0],
        ),
        (nonsense(None), [1, 0, 0, 0]),
        (nonsense(Some(below_zero)), [1, 0, 0, 0]),
        (nonsense(Some(data::ReadIterationStats::default())), [1, 1, 0, 0]),
    ] {
        let mock = Mock::new().on(Rpc::ReadRows, Answer::rows(["a"]).send(&message));
        let stats = ReadStats::new();
        assert_eq!(read(&table(&mock), &stats).await, ["a"], "{message:?}");
        assert_eq!(figures(&stats), expected, "{message:?}");
        let text = match stats.reported() {
            0 => "the server did not report what 1 request cost",
            _ => "the server read 0 rows and 0 cells, and returned 0 and 0, in 0.0ns summed over 1 request",
        };
        assert_eq!(stats.to_string(), text);
    }
    assert_eq!(ReadStats::new().to_string(), "no request was sent");
    // A report of two bytes, of which the first promises more.
    let mock =
        Mock::new().on(Rpc::ReadRows, Answer::rows(["a"]).send(&RowsMessage(b"\x1a\x02\x0a\x09"[..].into())));
    let error = all(&table(&mock)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ProtocolViolation, "{error}");
    assert!(error.to_string().contains("request statistics cannot be decoded"), "{error}");
}

#[derive(RowKey, Clone, Debug, PartialEq)]
#[salt(range = 4, over = "id")]
struct EventKey {
    #[pad(2)]
    id: u8,
}

/// Serves as many rows of each bucket as are asked for, at most 20, and says what that cost.
fn four_buckets() -> Mock {
    let mut all: Vec<_> = (0..80).map(|id| EventKey { id }.encode().unwrap()).collect();
    all.sort();
    Mock::new().admin_by(|_| Answer::table(["cf"])).by(move |request| {
        let read = request.read_rows();
        let range = &read.rows.unwrap().row_ranges[0];
        let bucket = match &range.start_key {
            Some(data::row_range::StartKey::StartKeyClosed(key)) => key[0],
            _ => b'0',
        };
        let limit = usize::try_from(read.rows_limit).ok().filter(|limit| *limit > 0).unwrap_or(usize::MAX);
        let keys: Vec<_> = all.iter().filter(|key| key[0] == bucket).take(limit).cloned().collect();
        let rows = i64::try_from(keys.len()).unwrap();
        Answer::rows(keys).wait(MILLISECOND).send(&cost(rows))
    })
}

#[tokio::test(start_paused = true)]
async fn a_scan_at_its_limit_waits_for_what_its_requests_report() {
    let mock = four_buckets();
    let events = client(&mock).table::<EventKey, ()>("events").unchecked();
    let stats = ReadStats::new();
    let scan = || events.scan(EventKey::scan()).keys_only().with_stats(&stats);
    assert_eq!(scan().limit(3).collect().await.unwrap().len(), 3);
    // Each bucket was asked for three rows.
    assert_eq!(figures(&stats), [4, 4, 120, 12]);
    let page = scan().page(2).await.unwrap();
    assert!(page.rows.len() == 2 && page.next.is_some());
    assert_eq!(figures(&stats), [8, 8, 240, 24]);
    // With `filter_key`, a request has no limit, and is cancelled.
    scan().limit(3).filter_key(|_| true).collect().await.unwrap();
    assert_eq!(figures(&stats)[..2], [12, 8]);
    let visited = scan().limit(3).visit::<EventKey, keyderive::Error>(|_, _| Ok(())).await.unwrap();
    assert_eq!((visited, &figures(&stats)[..2]), (3, &[16, 12][..]));
}

/// The server's time is the sum over requests that run side by side, and longer than the scan.
#[tokio::test(start_paused = true)]
async fn an_analysis_adds_up_the_times_of_all_buckets() {
    let events = client(&four_buckets()).table::<EventKey, ()>("events").unchecked();
    let begun = Instant::now();
    let analysis = events.scan(EventKey::scan()).explain_analyze().await.unwrap();
    assert_eq!((analysis.rows, figures(&analysis.stats)), (80, [4, 4, 800, 80]));
    assert_eq!(analysis.stats.server_latency(), 8 * MILLISECOND);
    assert!(begun.elapsed() < 8 * MILLISECOND, "{:?}", begun.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_failure_after_the_last_row_fails_no_scan() {
    let mock = Mock::new().by(|_| Answer::rows(["007"]).wait(MILLISECOND).fail(Code::Internal));
    let events = client(&mock).table::<PlainKey, ()>("events").unchecked();
    let stats = ReadStats::new();
    let scan = events.scan(PlainKey::scan()).keys_only().with_stats(&stats).limit(1);
    assert_eq!(scan.collect().await.unwrap(), [PlainKey { id: 7 }]);
    assert_eq!(figures(&stats), [1, 0, 0, 0]);
}

/// The caller has its rows, and the server sends no end.
#[tokio::test(start_paused = true)]
async fn a_scan_waits_for_no_report_for_long() {
    let mock = Mock::new().by(|_| Answer::rows(["007"]).stall());
    let events = client(&mock).table::<PlainKey, ()>("events").unchecked();
    let (stats, begun) = (ReadStats::new(), Instant::now());
    let scan = events.scan(PlainKey::scan()).keys_only().with_stats(&stats).limit(1);
    assert_eq!(scan.collect().await.unwrap(), [PlainKey { id: 7 }]);
    assert_eq!((figures(&stats), begun.elapsed().as_millis() / 10), ([1, 0, 0, 0], 100));
}

/// Only the end of the answer says what a read has cost.
#[tokio::test(start_paused = true)]
async fn a_raw_read_at_its_limit_waits_for_the_end_only_for_its_cost() {
    let mock = Mock::new().by(|_| Answer::rows(["a", "b"]).wait(SECOND).send(&cost(2)));
    let (table, stats, begun) = (table(&mock), ReadStats::new(), Instant::now());
    let request = || ReadRows::all().limit(2);
    assert_eq!(keys(table.read_rows(request())).await.unwrap(), ["a", "b"]);
    assert!(begun.elapsed() < SECOND, "{:?}", begun.elapsed());
    tokio::time::sleep(10 * MILLISECOND).await;
    assert_eq!(mock.open(), 0);
    // A server that breaks off then breaks nothing.
    let broken = Mock::new().by(|_| Answer::rows(["a", "b"]).fail(Code::DataLoss));
    assert_eq!(keys(self::table(&broken).read_rows(request())).await.unwrap(), ["a", "b"]);

    assert_eq!(keys(table.read_rows(request().with_stats(&stats))).await.unwrap(), ["a", "b"]);
    assert_eq!(figures(&stats), [1, 1, 20, 2]);
}

#[derive(RowKey, Clone, Debug, PartialEq)]
struct PlainKey {
    #[pad(3)]
    id: u16,
}

#[tokio::test]
async fn an_analysis_shows_the_plan_and_its_cost() {
    let client = Client::embedded();
    let events = created::<EventKey, std::collections::BTreeMap<String, i64>>(&client, "events").await;
    let row = std::collections::BTreeMap::from([("n".to_owned(), 1), ("m".to_owned(), 2)]);
    events.put_all((0..80).map(|id| (EventKey { id }, row.clone()))).await.unwrap();
    let odd = keyderive::row::RowFilter::exact_column("cf", "n");
    let analysis = events.scan(EventKey::scan()).filter(odd).explain_analyze().await.unwrap();
    let stats = &analysis.stats;
    assert_eq!((analysis.rows, figures(stats)), (80, [4, 4, 80, 80]));
    assert_eq!((stats.cells_seen(), stats.cells_returned()), (160, 80));
    let text = analysis.to_string();
    assert!(text.starts_with(&analysis.explain.to_string()), "{text}");
    let [cost, rows] = text.lines().rev().take(2).collect::<Vec<_>>()[..] else { panic!("{text}") };
    assert!(rows.starts_with("  rows         80 in "), "{text}");
    assert!(
        cost.starts_with("  cost         the server read 80 rows and 160 cells, and returned 80 and 80, in "),
        "{text}"
    );
}
