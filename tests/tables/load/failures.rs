//! Rows that cannot be written, and failures of whole requests.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use keyderive::embedded::{Bigtable, Fault, Faults, Method};
use keyderive::table::load::{FailedRow, LoadError};
use keyderive::{Client, ErrorKind, Row, RowKey, Table};
use keyderive_tests::fixtures::created;
use tonic::Code;

use super::{ReadingKey, client_of, empty, ids, reading, readings, written_by};

#[derive(RowKey)]
struct NameKey {
    name: String,
}

#[derive(Row)]
struct Score {
    points: u64,
}

async fn names() -> Table<NameKey, Score> {
    created(&Client::embedded(), "names").await
}

fn name(index: u64) -> (NameKey, Score) {
    let name = if index % 100 == 3 { "a#b".to_owned() } else { format!("n{index}") };
    // A cell cannot store a number above `i64::MAX`.
    (NameKey { name }, Score { points: if index % 100 == 7 { u64::MAX } else { index } })
}

#[tokio::test(start_paused = true)]
async fn rows_that_cannot_be_encoded_do_not_end_the_load() {
    let names = names().await;
    let report = names.load_iter((0..500).map(name)).await.unwrap();
    assert_eq!((report.read(), report.written(), report.failed_count()), (500, 490, 10));
    assert_eq!(report.checkpoint().items(), 500);
    let failed: Vec<u64> = report.failed().iter().map(FailedRow::index).collect();
    assert_eq!(failed, [3, 7, 103, 107, 203, 207, 303, 307, 403, 407]);
    let [key, row] = [&report.failed()[0], &report.failed()[1]];
    assert!(key.error().kind() == ErrorKind::InvalidKey && key.key().is_none());
    assert!(key.to_string().starts_with("row 3 of the input, counted from 0: table `names`: "), "{key}");
    assert!(key.to_string().contains("name"), "{key}");
    assert!(row.error().kind() == ErrorKind::InvalidRow && **row.key().unwrap() == *b"n7");
    assert!(row.to_string().starts_with("row 7 of the input, counted from 0, with the key `n7`: "), "{row}");
    let error = report.all_written().unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("10 of 500 rows were not written to table `names`; the first is row 3 ")
    );
}

#[tokio::test(start_paused = true)]
async fn too_many_failed_rows_end_the_load() {
    let names = names().await;
    for (allowed, failed) in [(0, 1), (4, 5)] {
        let load = names.load_iter((0..500).map(name)).max_failures(allowed);
        let error = load.await.unwrap_err();
        assert!(error.is_too_many_failures() && error.error().is_none());
        assert_eq!(error.report().failed_count(), failed);
        // Nothing was sent: all rows fit in the look-ahead.
        assert_eq!((error.report().written(), error.checkpoint().items()), (0, 0));
        let rows = if failed == 1 { "1 row was" } else { "5 rows were" };
        let told = error.to_string();
        assert!(
            told.contains(&format!(
                " ended early: {rows} not written, more than the {allowed} that `max_failures` allows; "
            )),
            "{told}"
        );
        assert!(told.ends_with("; the checkpoint is at the beginning of the input"), "{told}");
    }
    assert!(names.load_iter((0..500).map(name)).max_failures(10).await.is_ok());
}

/// A report lists the first thousand failed rows, and counts all.
#[tokio::test(start_paused = true)]
async fn the_list_of_failed_rows_is_bounded() {
    let names = names().await;
    let bad = (0..5_000).map(|_| (NameKey { name: "#".to_owned() }, Score { points: 1 }));
    let report = names.load_iter(bad).max_failures(u64::MAX).await.unwrap();
    assert_eq!((report.failed().len(), report.failed_count(), report.requests()), (1000, 5_000, 0));
    // The checkpoint stops before the first failed row that it does not list.
    let checkpoint = report.checkpoint().clone();
    assert_eq!((checkpoint.items(), checkpoint.failed().len()), (1000, 1000));
    let mended = (0..5_000).map(|id| (NameKey { name: id.to_string() }, Score { points: 1 }));
    let report = names.load_iter(mended).resume(checkpoint).await.unwrap();
    assert_eq!((report.read(), report.written(), report.failed_count()), (5_000, 5_000, 0));
    assert_eq!((report.checkpoint().items(), report.checkpoint().failed()), (5_000, &[][..]));
}

#[tokio::test(start_paused = true)]
async fn rows_that_the_server_refuses_are_reported_with_their_keys() {
    let refused = |key: &[u8]| if key.ends_with(b"77") { Code::InvalidArgument } else { Code::Ok };
    let mock = written_by(Vec::new(), refused);
    let report = readings(&client_of(&mock)).load_iter((0..1000).map(reading)).await.unwrap();
    assert_eq!((report.written(), report.failed_count()), (990, 10));
    for row in report.failed() {
        let (key, _) = reading(u32::try_from(row.index()).unwrap());
        assert!(row.index() % 100 == 77 && row.error().kind() == ErrorKind::InvalidArgument);
        assert_eq!(*row.key().unwrap(), key.encode().unwrap());
    }
}

/// A resumed load retries the failed rows, along with the new ones.
#[tokio::test(start_paused = true)]
async fn failed_rows_are_tried_again_by_a_resumed_load() {
    let names = names().await;
    let first = names.load_iter((0..500).map(name)).await.unwrap();
    let checkpoint = first.checkpoint().clone();
    let failed = [3, 7, 103, 107, 203, 207, 303, 307, 403, 407];
    assert_eq!((checkpoint.items(), checkpoint.failed()), (500, &failed[..]));
    let told = first.all_written().unwrap_err().to_string();
    assert!(told.ends_with("; a load resumed from the report's checkpoint retries them"), "{told}");

    // The names are corrected, the scores are not, and the input has further rows.
    let mended = |index: u64| (NameKey { name: format!("n{index}") }, name(index).1);
    let again = names.load_iter((0..510).map(mended)).resume(checkpoint).await.unwrap();
    assert_eq!((again.read(), again.written(), again.failed_count()), (20, 14, 6));
    let places: Vec<u64> = again.failed().iter().map(FailedRow::index).collect();
    assert_eq!(places, [7, 107, 207, 307, 407, 507]);
    assert_eq!((again.checkpoint().items(), again.checkpoint().failed()), (510, &places[..]));

    let whole = |index: u64| (NameKey { name: format!("n{index}") }, Score { points: index });
    let last = names.load_iter((0..510).map(whole)).resume(again.checkpoint().clone()).await.unwrap();
    assert_eq!((last.read(), last.written(), last.requests()), (6, 6, 1));
    assert!(last.checkpoint().failed().is_empty());
    assert_eq!(names.count(NameKey::scan()).await.unwrap(), 510);
    last.all_written().unwrap();
}

/// The last row of a key wins, even if the resumed load retries an earlier one.
#[tokio::test(start_paused = true)]
async fn a_failed_row_does_not_come_back_over_a_later_one() {
    let names = names().await;
    let row = |name: &str, points| (NameKey { name: name.to_owned() }, Score { points });
    let first = [row("a", u64::MAX), row("b", u64::MAX), row("c", 1), row("a", 2), row("b", u64::MAX)];
    let report = names.load_iter(first).await.unwrap();
    assert_eq!(report.checkpoint().failed(), [0, 1, 4]);

    let mended = [row("a", 10), row("b", 11), row("c", 1), row("a", 2), row("b", 12), row("b", u64::MAX)];
    let report = names.load_iter(mended).resume(report.checkpoint().clone()).await.unwrap();
    assert_eq!((report.read(), report.written(), report.checkpoint().failed()), (3, 2, &[5][..]));
    let stored = names.scan(NameKey::scan()).collect().await.unwrap();
    let stored: Vec<_> = stored.iter().map(|(key, score)| (key.name.as_str(), score.points)).collect();
    assert_eq!(stored, [("a", 2), ("b", 12), ("c", 1)]);
}

/// A server that rejects rows for a while: each is written in the end.
#[tokio::test(start_paused = true)]
async fn rows_that_a_server_has_refused_are_written_when_it_takes_them() {
    let is_strict = Arc::new(AtomicBool::new(true));
    let strict = Arc::clone(&is_strict);
    let mock = written_by(Vec::new(), move |key| {
        let refused = strict.load(Ordering::Relaxed) && key.ends_with(b"77");
        if refused { Code::InvalidArgument } else { Code::Ok }
    });
    let table = readings(&client_of(&mock));
    let load = || table.load_iter((0..1000).map(reading)).batch_rows(50).look_ahead(10_000);
    let error = load().max_failures(4).await.unwrap_err();
    assert!(error.is_too_many_failures());
    let checkpoint = error.checkpoint().clone();
    assert!(checkpoint.failed().len() >= 4 && checkpoint.failed().iter().all(|place| place % 100 == 77));
    let tail =
        format!("after them; a resumed load retries the {} rows that failed", checkpoint.failed().len());
    assert!(error.to_string().ends_with(&tail), "{error}");

    is_strict.store(false, Ordering::Relaxed);
    let report = load().resume(checkpoint.clone()).await.unwrap();
    assert_eq!(report.written(), 1000 - checkpoint.items() + checkpoint.failed().len() as u64);
    assert_eq!((report.checkpoint().items(), report.checkpoint().failed()), (1000, &[][..]));
}

/// A failure that all rows share ends the load, instead of filling the report.
#[tokio::test(start_paused = true)]
async fn a_table_that_is_not_there_ends_the_load() {
    let error = readings(&Client::embedded()).load_iter((0..10).map(reading)).await.unwrap_err();
    assert!(error.error().unwrap().is_not_found(), "{error}");
    assert_eq!((error.report().failed_count(), error.checkpoint().items()), (0, 0));
}

/// The outage outlasts the retries: the next load writes the rows that were in flight.
#[tokio::test(start_paused = true)]
async fn a_load_is_resumed_after_an_outage() {
    let bigtable = Bigtable::in_memory();
    let steady = readings(&bigtable.client());
    steady.create_if_absent().await.unwrap();
    let mut faults = Faults::seeded(3);
    for number in 20..200 {
        // The server applies some of the requests that it fails.
        let fault = Fault::unavailable();
        let fault = if number % 2 == 0 { fault.after_the_call() } else { fault };
        faults = faults.fail_nth(Method::MutateRows, number, fault);
    }
    let faulty = readings(&bigtable.with_faults(faults).client())
        .with(|settings| settings.mutate_rows.total_timeout = Duration::from_millis(200));
    let load =
        || faulty.load_iter((0..5_000).map(reading)).batch_rows(50).look_ahead(20_000).checkpoint_every(10);
    let ended: LoadError = load().await.unwrap_err();
    assert!(ended.error().unwrap().is_unavailable(), "{ended}");
    let report = ended.report();
    assert!(report.failed_count() == 0 && report.written() >= ended.checkpoint().items());
    assert!((1..5_000).contains(&ended.checkpoint().items()), "{ended}");
    assert!(ids(&steady).await.len() < 5_000);

    let checkpoint = ended.checkpoint().clone();
    let rest = steady.load_iter((0..5_000).map(reading)).resume(checkpoint.clone()).await.unwrap();
    assert_eq!(rest.read() + checkpoint.items(), 5_000);
    assert_eq!(rest.checkpoint().items(), 5_000);
    assert_eq!(ids(&steady).await, (0..5_000).collect::<Vec<_>>());
}

/// The load retries transient failures, and sends no written row again.
#[tokio::test(start_paused = true)]
async fn transient_failures_are_not_reported() {
    let bigtable = Bigtable::in_memory();
    let steady = readings(&bigtable.client());
    steady.create_if_absent().await.unwrap();
    let faults = Faults::seeded(4)
        .fail(Method::MutateRows, 0.3, Fault::unavailable().after_the_call())
        .cut_streams(0.1)
        .delay(Method::MutateRows, 0.5, Duration::from_millis(30));
    let faulty = readings(&bigtable.with_faults(faults).client());
    let loaded =
        faulty.load_iter((0..5_000).map(reading)).batch_rows(100).await.unwrap().all_written().unwrap();
    assert_eq!(loaded.written, 5_000);
    assert_eq!(ids(&steady).await, (0..5_000).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn a_client_that_is_closed_ends_the_load() {
    let (client, table) = empty().await;
    client.close().await;
    let error = table.load_iter((0..10).map(reading)).await.unwrap_err();
    assert_eq!(error.error().unwrap().kind(), ErrorKind::ClientClosed);
    assert!(ReadingKey::scan().into_plan().is_ok());
}

#[derive(Row, Clone, Debug, PartialEq)]
struct Scores {
    first: Option<u64>,
    last: Option<u64>,
    both: Option<u64>,
}

/// A load that sets columns alone mixes rows of one key: one that failed must not give way to a later one, nor replace it.
#[tokio::test(start_paused = true)]
async fn a_failed_row_of_new_columns_is_written_before_the_later_one_of_its_key() {
    let table = created::<NameKey, Scores>(&Client::embedded(), "scores").await;
    let key = |name: &str| NameKey { name: name.to_owned() };
    let input = |first| {
        [
            (key("a"), Scores { first: Some(first), last: None, both: Some(1) }),
            (key("b"), Scores { first: Some(4), last: None, both: None }),
            (key("a"), Scores { first: None, last: Some(2), both: Some(2) }),
        ]
    };
    let failed = table.load_iter(input(u64::MAX)).new_rows().await.unwrap();
    assert_eq!((failed.written(), failed.checkpoint().failed()), (2, &[0][..]));
    let checkpoint = failed.checkpoint().clone();
    let resumed =
        table.load_iter(input(3)).new_rows().resume(checkpoint).await.unwrap().all_written().unwrap();
    // Each item counts once.
    assert_eq!((resumed.read, resumed.left_out), (2, 1));
    let expected = Scores { first: Some(3), last: Some(2), both: Some(2) };
    assert_eq!(table.get(&key("a")).await.unwrap(), Some(expected));
}
