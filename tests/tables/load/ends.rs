//! Inputs that fail, wait or are resumed, and the callbacks of a load.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use keyderive::client::FamilyChange;
use keyderive::embedded::{Bigtable, Faults, Method};
use keyderive::table::Progress;
use keyderive::table::load::{Checkpoint, LoadError};
use keyderive::{Client, GcRule, RowKey, Table};
use keyderive_tests::Folder;
use tokio::time::{Instant, sleep};

use super::{Reading, ReadingKey, empty, ids, reading, readings};

#[derive(RowKey)]
struct OtherKey {
    id: u64,
}

#[tokio::test(start_paused = true)]
async fn an_input_without_rows_is_loaded() {
    let (_, table) = empty().await;
    let report = table.load(stream::empty::<(ReadingKey, Reading)>()).await.unwrap();
    assert_eq!((report.read(), report.requests(), report.checkpoint().items()), (0, 0, 0));
}

/// Rows, references to rows, and results of either.
#[tokio::test(start_paused = true)]
async fn items_have_several_forms() {
    let (_, table) = empty().await;
    let rows: Vec<_> = (0..100).map(reading).collect();
    table.load_iter(&rows).await.unwrap().all_written().unwrap();
    table.load(stream::iter(&rows).map(Ok::<_, std::io::Error>)).await.unwrap().all_written().unwrap();
    table.load_iter(rows.into_iter().map(Ok::<_, String>)).await.unwrap().all_written().unwrap();
    assert_eq!(ids(&table).await, (0..100).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn an_input_that_fails_ends_the_load_after_its_rows() {
    let (_, table) = empty().await;
    let input = |bad: Option<u32>| {
        (0..1_000)
            .map(move |id| if bad == Some(id) { Err(format!("line {id} is bad")) } else { Ok(reading(id)) })
    };
    let error = table.load_iter(input(Some(321))).await.unwrap_err();
    assert!(error.is_input() && error.error().is_none());
    assert_eq!(
        error.to_string(),
        "the load of table `readings` ended early: its input failed: line 321 is bad; the first 321 items are \
         processed, and the checkpoint is after them"
    );
    assert_eq!(std::error::Error::source(&error).unwrap().to_string(), "line 321 is bad");
    assert_eq!((error.report().written(), error.checkpoint().items()), (321, 321));
    assert_eq!(ids(&table).await, (0..321).collect::<Vec<_>>());

    // Where the input fails among the skipped items, the checkpoint does not move.
    let again = table.load_iter(input(Some(7))).resume(error.checkpoint().clone()).await.unwrap_err();
    assert!(again.is_input() && again.checkpoint() == error.checkpoint());

    let report = table.load_iter(input(None)).resume(error.checkpoint().clone()).await.unwrap();
    assert_eq!((report.read(), report.written(), report.checkpoint().items()), (679, 679, 1_000));
    assert_eq!(ids(&table).await, (0..1_000).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn a_checkpoint_is_of_one_load() {
    let (client, table) = empty().await;
    let report = table.load_iter((0..100).map(reading)).await.unwrap();
    let text = serde_json::to_string(report.checkpoint()).unwrap();
    assert!(text.len() < 250, "{text}");
    let checkpoint: Checkpoint = serde_json::from_str(&text).unwrap();
    assert_eq!(checkpoint, *report.checkpoint());

    // The rows before a rejected checkpoint do not count as done.
    let refused = |error: LoadError, why: &str| {
        let told = error.to_string();
        assert!(error.error().unwrap().is_table_mismatch(), "{told}");
        assert!(told.contains(" did not start: table `") && told.contains(why), "{told}");
        assert!(told.ends_with("leave `.resume(…)` out"), "{told}");
        assert_eq!(*error.checkpoint(), checkpoint);
    };
    let other: Table<OtherKey, Reading> = client.table("readings");
    let rows = || (0..100).map(|id| (OtherKey { id }, reading(1).1));
    let error = other.load_iter(rows()).resume(checkpoint.clone()).await.unwrap_err();
    refused(error, "the fingerprint of `OtherKey`");

    let other: Table<ReadingKey, Reading> = client.table("others");
    let error = other.load_iter((0..100).map(reading)).resume(checkpoint.clone()).await.unwrap_err();
    refused(error, "tables/others");

    let error = table.load_iter((0..99).map(reading)).resume(checkpoint.clone()).await.unwrap_err();
    refused(error, "made after 100 items, and the input has 99");

    let mut told = Vec::new();
    let load = table.load_iter((0..100).map(reading)).resume(checkpoint);
    let report = load.on_progress(|progress| told.push(*progress)).await.unwrap();
    assert_eq!((report.read(), report.requests(), told.last().unwrap().left_out), (0, 0, 100));
    assert_eq!(table.load_iter((0..100).map(reading)).resume(None).await.unwrap().read(), 100);
}

/// The new table has the same name, but not the rows before the checkpoint.
#[tokio::test(start_paused = true)]
async fn a_checkpoint_is_of_one_table_and_not_of_its_name() {
    let (_, table) = empty().await;
    let report = table.load_iter((0..100).map(reading)).await.unwrap();
    let checkpoint = report.checkpoint().clone();
    let why = "the load of table `readings` did not start: table `readings`: the checkpoint is of another table of this \
               name: this one was created since, or is in another Bigtable, and lacks the rows before the checkpoint; \
               load it from the beginning: leave `.resume(…)` out";

    // In another Bigtable.
    let (_, other) = empty().await;
    let error = other.load_iter((0..100).map(reading)).resume(checkpoint.clone()).await.unwrap_err();
    assert!(error.error().unwrap().is_table_mismatch());
    assert_eq!(error.to_string(), why);

    // In the same Bigtable, deleted and created anew.
    table.delete_table().await.unwrap();
    let error = table.load_iter((0..100).map(reading)).resume(checkpoint.clone()).await.unwrap_err();
    assert!(error.error().unwrap().is_not_found());
    let told = error.to_string();
    assert!(told.ends_with("create it, and load it from the beginning: leave `.resume(…)` out"), "{told}");
    table.create().await.unwrap();
    let error = table.load_iter((0..100).map(reading)).resume(checkpoint).await.unwrap_err();
    assert_eq!(error.to_string(), why);

    // A checkpoint at the start resumes anywhere.
    table.delete_table().await.unwrap();
    let error = table.load_iter((0..100).map(reading)).await.unwrap_err();
    table.create().await.unwrap();
    let report = table.load_iter((0..100).map(reading)).resume(error.checkpoint().clone()).await.unwrap();
    assert_eq!(report.written(), 100);
    let report = table.load_iter((0..100).map(reading)).resume(report.checkpoint().clone()).await.unwrap();
    assert_eq!(report.read(), 0);
}

/// Reopening a file keeps its identity; a new file at the same path has another.
#[tokio::test]
async fn a_checkpoint_is_of_one_file() {
    let folder = Folder::new("checkpoint");
    let path = folder.join("rows.keyderive");
    let load = async |checkpoint: Option<Checkpoint>| {
        let client = Client::embedded_at(&path).await.unwrap();
        let table = readings(&client);
        table.create_if_absent().await.unwrap();
        // Rewriting a family keeps the table's identity.
        table.modify_families([FamilyChange::gc_rule("cf", GcRule::max_versions(2))]).await.unwrap();
        table.load_iter((0..100).map(reading)).resume(checkpoint).await
    };
    let checkpoint = load(None).await.unwrap().checkpoint().clone();
    assert_eq!(load(Some(checkpoint.clone())).await.unwrap().read(), 0);
    std::fs::remove_file(&path).unwrap();
    let error = load(Some(checkpoint)).await.unwrap_err();
    std::fs::remove_file(&path).unwrap();
    assert!(error.to_string().contains("the checkpoint is of another table of this name"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn checkpoints_come_in_order_from_the_first_to_the_last() {
    let (_, table) = empty().await;
    let mut told = Vec::new();
    let load =
        table.load_iter((0..5_000).map(reading)).batch_rows(10).look_ahead(10_000).checkpoint_every(100);
    load.on_checkpoint(|checkpoint| told.push(checkpoint.clone())).await.unwrap().all_written().unwrap();
    let items: Vec<u64> = told.iter().map(Checkpoint::items).collect();
    assert_eq!((items[0], *items.last().unwrap()), (0, 5_000));
    assert!(
        items.len() > 10 && items[..items.len() - 1].windows(2).all(|pair| pair[0] + 100 <= pair[1]),
        "{items:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn progress_is_reported_at_a_bounded_rate() {
    let bigtable = Bigtable::in_memory();
    readings(&bigtable.client()).create_if_absent().await.unwrap();
    let faults = Faults::seeded(0).delay(Method::MutateRows, 1.0, Duration::from_millis(30));
    let table = readings(&bigtable.with_faults(faults).client());
    let mut told: Vec<(Instant, Progress)> = Vec::new();
    let load = table.load_iter((0..2_000).map(reading)).workers(1).batch_rows(20);
    let report = load.on_progress(|progress| told.push((Instant::now(), *progress))).await.unwrap();
    let (last, before) = told.split_last().unwrap();
    assert!(before.windows(2).all(|pair| pair[1].0 - pair[0].0 >= Duration::from_millis(100)));
    assert!(before.len() > 20, "{}", before.len());
    let rises = |of: fn(&Progress) -> u64| told.windows(2).all(|pair| of(&pair[0].1) <= of(&pair[1].1));
    assert!(rises(|progress| progress.written) && rises(|progress| progress.bytes));
    assert!(told.is_sorted_by_key(|(_, progress)| progress.elapsed));
    assert_eq!((last.1.read, last.1.written, last.1.failed), (2_000, 2_000, 0));
    assert_eq!(
        (last.1.bytes, last.1.requests, last.1.elapsed),
        (report.bytes(), report.requests(), report.elapsed())
    );
    assert!(report.elapsed() >= Duration::from_secs(3));
}

/// Whether reports came at least once a second.
fn assert_lively(begun: Instant, told: &[(Instant, Progress)], least: usize) {
    let times: Vec<_> = [begun].into_iter().chain(told.iter().map(|(at, _)| *at)).collect();
    let gap = times.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap();
    assert!(gap <= Duration::from_millis(1005) && told.len() >= least, "{gap:?} {}", told.len());
}

#[tokio::test(start_paused = true)]
async fn progress_is_of_what_is_written_and_comes_while_nothing_changes() {
    let bigtable = Bigtable::in_memory();
    let steady = readings(&bigtable.client());
    steady.create_if_absent().await.unwrap();
    let slow = |method| Faults::seeded(0).delay(method, 1.0, Duration::from_secs(10));
    let table = readings(&bigtable.with_faults(slow(Method::MutateRows)).client());
    let (mut told, begun) = (Vec::new(), Instant::now());
    let load = table.load_iter((0..400).map(reading)).workers(1).batch_rows(100);
    let report = load.on_progress(|progress| told.push((Instant::now(), *progress))).await.unwrap();
    assert_lively(begun, &told, 160);
    // All rows are read before the first is written.
    assert!(told.iter().any(|(_, progress)| (progress.read, progress.written) == (400, 0)));
    for (_, progress) in &told {
        assert_eq!(progress.fraction(), Some(progress.written as f64 / 400.0));
    }
    assert_eq!(told.last().unwrap().1.fraction(), Some(1.0));

    // An input that stalls, before the checkpoint of a resumed load and after it.
    let rows = stream::iter(0..450).then(|id| async move {
        if id % 200 == 7 {
            sleep(Duration::from_secs(10)).await;
        }
        reading(id)
    });
    let (mut told, begun) = (Vec::new(), Instant::now());
    let load = steady.load(rows).resume(report.checkpoint().clone());
    let loaded = load.on_progress(|progress| told.push((Instant::now(), *progress))).await.unwrap();
    assert_eq!(loaded.written(), 50);
    assert_lively(begun, &told, 30);

    // A comparison whose reads stall.
    let table = readings(&bigtable.with_faults(slow(Method::ReadRows)).client()).unchecked();
    let (mut told, begun) = (Vec::new(), Instant::now());
    let diff = table.diff(&table, |key, _| key);
    assert!(diff.on_progress(|progress| told.push((Instant::now(), *progress))).await.unwrap().is_equal());
    assert_lively(begun, &told, 10);
}

/// A slow input's rows are sent before the look-ahead is full.
#[tokio::test(start_paused = true)]
async fn a_slow_input_is_waited_for_with_patience() {
    let (_, table) = empty().await;
    let second = Duration::from_secs(1);
    let rows = stream::iter(0..60).then(|id| async move {
        sleep(second).await;
        reading(id)
    });
    let begun = Instant::now();
    let mut told = BTreeMap::new();
    let load = table.load(rows).patience(second * 5).checkpoint_every(1);
    let load = load.on_checkpoint(|checkpoint| {
        told.insert(begun.elapsed().as_secs(), checkpoint.items());
    });
    assert_eq!(load.await.unwrap().written(), 60);
    // The load waits without limit for the first row, and five seconds for further ones.
    let told: Vec<_> = told.into_iter().collect();
    assert_eq!(told[..4], [(0, 0), (6, 6), (12, 12), (18, 18)], "{told:?}");
}

/// The load is dropped while one row of an endless stream is in flight.
#[tokio::test(start_paused = true)]
async fn a_load_that_is_dropped_ends() {
    let bigtable = Bigtable::in_memory();
    readings(&bigtable.client()).create_if_absent().await.unwrap();
    let faults = Faults::seeded(0).delay(Method::MutateRows, 1.0, Duration::from_secs(3600));
    let faulty = bigtable.with_faults(faults);
    let client = faulty.client();
    let read = Mutex::new(0);
    let rows = (0..).map(|id| {
        *read.lock().unwrap() += 1;
        reading(id)
    });
    let load = readings(&client).load_iter(rows).look_ahead(10_000).workers(3).into_future();
    assert!(tokio::time::timeout(Duration::from_secs(1), load).await.is_err());
    assert_eq!(faulty.calls(Method::MutateRows), 3);
    let count = *read.lock().unwrap();
    assert!(count < 1_000, "{count} rows were read");
    // No request is in flight any more.
    client.close().await;
    assert_eq!(ids(&readings(&bigtable.client())).await, [0_u32; 0]);
}

/// The future of a load is `Send`.
#[tokio::test]
async fn a_load_is_sent_to_another_task() {
    let (_, table): (Client, _) = empty().await;
    let load = table.load_iter((0..100).map(reading)).into_future();
    assert_eq!(tokio::spawn(load).await.unwrap().unwrap().written(), 100);
}

/// The load yields even if the input does so itself, more often than the load would.
#[tokio::test]
async fn other_tasks_have_their_turn_while_rows_are_read() {
    const ROWS: u32 = 20_000;
    let (_client, table) = empty().await;
    for pauses in [u32::MAX, 32, 3] {
        let turns = Arc::new(AtomicU32::new(0));
        let counter = tokio::spawn({
            let turns = Arc::clone(&turns);
            async move {
                loop {
                    turns.fetch_add(1, Ordering::Relaxed);
                    tokio::task::yield_now().await;
                }
            }
        });
        let (mut next, mut paused, mut seen) = (0, false, 0);
        let rows = stream::poll_fn(|cx| {
            paused = next % pauses == pauses - 1 && !paused;
            if paused {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            seen = turns.load(Ordering::Relaxed);
            next += 1;
            Poll::Ready((next <= ROWS).then(|| reading(next)))
        });
        let report = table.load(rows).await.unwrap();
        counter.abort();
        assert_eq!(report.written(), u64::from(ROWS));
        assert!(seen >= ROWS / 256, "{seen} turns beside pauses of {pauses}");
    }
}
