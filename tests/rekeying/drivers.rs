//! Drivers that die, that meet a server which rejects copies, and that come late.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use keyderive::embedded::{Bigtable, Fault, Faults, Method};
use keyderive::table::rekey::{Activity, Migration, MigrationProgress, Rekeyed, State};
use keyderive::{Client, Row};
use tokio::sync::Notify;
use tokio::time::sleep;

use crate::keys::{New, Old};

#[derive(Row, Clone, Debug, PartialEq)]
struct Page {
    title: String,
}

type Pages = Rekeyed<Old, New, Page>;

const ROWS: u64 = 2_000;

fn page(id: u64) -> Page {
    Page { title: format!("page {id}") }
}

/// A table with rows, in two tablets.
async fn created() -> Bigtable {
    let bigtable = Bigtable::in_memory();
    let pages = bigtable.client().table::<Old, Page>("pages");
    pages.create().without_row_key_schema().split_before(Old::scan().id(ROWS / 2)).await.unwrap();
    let rows: Vec<_> = (0..ROWS).map(|id| (Old { id }, page(id))).collect();
    pages.put_all(&rows).await.unwrap();
    bigtable
}

/// The same tables on a server that takes so many milliseconds for each request of a kind.
fn slow(bigtable: &Bigtable, method: Method, millis: u64) -> Bigtable {
    bigtable.with_faults(Faults::seeded(0).delay(method, 1.0, Duration::from_millis(millis)))
}

/// Waits until a re-keying is at a state.
async fn reached(pages: &Pages, state: State) {
    while pages.migration().state().await.unwrap() != state {
        sleep(Duration::from_millis(100)).await;
    }
}

async fn open(client: &Client) -> Pages {
    client.rekeyed("pages", "pages-4").await.unwrap()
}

/// A migration, and what it counts of the rows that it copies.
fn counted(migration: Migration, count: fn(&MigrationProgress) -> u64) -> (Migration, Arc<AtomicU64>) {
    let counted = Arc::new(AtomicU64::new(0));
    let to = Arc::clone(&counted);
    let migration = migration.on_progress(move |progress| {
        if progress.activity == Activity::Copying {
            to.store(count(progress), Ordering::Relaxed);
        }
    });
    (migration, counted)
}

/// The rows that were copied, or found to be there.
fn copied(progress: &MigrationProgress) -> u64 {
    progress.rows.written + progress.rows.kept
}

async fn has_all_rows(pages: &Pages, rows: u64) {
    let found = pages.scan_both(New::scan(), Old::scan()).collect().await.unwrap();
    assert_eq!(found.len() as u64, rows);
    assert!(found.iter().all(|(key, row)| *row == page(key.id)));
}

/// Another process goes on where the pass was, as far as the control row knows.
#[tokio::test(start_paused = true)]
async fn a_pass_goes_on_where_a_dead_driver_was() {
    // Copies take a while, so that the driver dies among them.
    let bigtable = created().await;
    let slow = slow(&bigtable, Method::CheckAndMutateRow, 100);
    let pages = open(&slow.client()).await;
    let (migration, first) = counted(pages.migration().parallel(1), copied);
    let driver = tokio::spawn(async move { migration.run().await });
    while first.load(Ordering::Relaxed) < ROWS / 2 {
        sleep(Duration::from_millis(100)).await;
    }
    driver.abort();
    drop(pages);

    let pages = open(&bigtable.client()).await;
    let (migration, second) = counted(pages.migration(), copied);
    migration.run().await.unwrap();
    let (first, second) = (first.load(Ordering::Relaxed), second.load(Ordering::Relaxed));
    assert!(second < ROWS && second >= ROWS - first, "{first} and {second} of {ROWS}");
    assert_eq!(migration.state().await.unwrap(), State::Moved);
    has_all_rows(&pages, ROWS).await;
}

/// A slow server has all rows in flight that it may have, although the table has two partitions.
#[tokio::test(start_paused = true)]
async fn rows_of_few_partitions_are_copied_at_the_same_time() {
    let bigtable = created().await;
    let pages = open(&slow(&bigtable, Method::CheckAndMutateRow, 100).client()).await;
    let millis = |progress: &MigrationProgress| u64::try_from(progress.rows.elapsed.as_millis()).unwrap();
    let (migration, took) = counted(pages.migration(), millis);
    migration.run().await.unwrap();
    // 512 at a time.
    let (took, least) = (took.load(Ordering::Relaxed), ROWS * 100 / 512);
    assert!((least * 9 / 10..least * 3 / 2).contains(&took), "{took} ms");
    has_all_rows(&pages, ROWS).await;
}

/// The way back too.
#[tokio::test(start_paused = true)]
async fn another_driver_rolls_back_for_a_dead_one() {
    let bigtable = created().await;
    let slow = slow(&bigtable, Method::CheckAndMutateRow, 100);
    let pages = open(&slow.client()).await;
    let migration = pages.migration();
    let driver = tokio::spawn(async move { migration.run().await });
    reached(&pages, State::Copying).await;
    pages.put(&New { id: ROWS }, &page(ROWS)).await.unwrap();
    pages.delete(&New { id: 0 }).await.unwrap();
    driver.abort();
    drop(pages);
    let pages = open(&bigtable.client()).await;
    pages.migration().roll_back().await.unwrap();
    assert_eq!(pages.migration().state().await.unwrap(), State::RolledBack);
    has_all_rows(&pages, ROWS).await;
    let plain = bigtable.client().table::<Old, Page>("pages");
    assert_eq!(plain.count(Old::scan()).await.unwrap(), ROWS);
    assert_eq!(plain.get(&Old { id: 0 }).await.unwrap(), None);
}

/// A driver that goes on after it was stopped meets another state, and does nothing.
#[tokio::test(start_paused = true)]
async fn a_driver_that_was_stopped_gives_way() {
    let bigtable = created().await;
    let slow = slow(&bigtable, Method::CheckAndMutateRow, 500);
    let (stopped, other) = (open(&slow.client()).await, open(&bigtable.client()).await);
    let migration = stopped.migration().parallel(1);
    let driver = tokio::spawn(async move { migration.run().await });
    reached(&other, State::Copying).await;
    other.migration().roll_back().await.unwrap();
    let error = driver.await.unwrap().unwrap_err();
    let text = error.to_string();
    assert!(text.contains("rolled back"), "{text}");
    has_all_rows(&other, ROWS).await;
    assert_eq!(bigtable.client().table::<Old, Page>("pages").count(Old::scan()).await.unwrap(), ROWS);
}

/// Rejected copies are repeated, more slowly.
#[tokio::test(start_paused = true)]
async fn a_server_that_rejects_copies_slows_the_pass_down() {
    let bigtable = created().await;
    let faults = [Fault::unavailable(), Fault::resource_exhausted().retry_after(Duration::from_millis(50))];
    let faults = faults
        .into_iter()
        .fold(Faults::seeded(3), |faults, fault| faults.fail(Method::CheckAndMutateRow, 0.1, fault))
        .fail(Method::CheckAndMutateRow, 0.05, Fault::deadline_exceeded().after_the_call())
        .fail(Method::ReadRows, 0.01, Fault::unavailable())
        .cut_streams(0.01);
    let bigtable = bigtable.with_faults(faults);
    let pages = open(&bigtable.client()).await;
    pages.migration().run().await.unwrap();
    let verified = pages.migration().verify().await.unwrap();
    assert!(verified.is_equal() && verified.equal() == ROWS, "{verified}");
    assert!(bigtable.calls(Method::CheckAndMutateRow) > ROWS + ROWS / 10);
    has_all_rows(&pages, ROWS).await;
}

/// What an answer was lost of is found in the control row.
#[tokio::test(start_paused = true)]
async fn a_change_of_the_state_whose_answer_is_lost_is_looked_up() {
    let bigtable = created().await;
    let lost = (1..4).fold(Faults::seeded(0), |faults, number| {
        faults.fail_nth(Method::CheckAndMutateRow, number, Fault::unavailable().after_the_call())
    });
    let pages = open(&bigtable.with_faults(lost).client()).await;
    pages.migration().run().await.unwrap();
    pages.migration().finish().await.unwrap();
    has_all_rows(&pages, ROWS).await;
}

/// Without the origin, a copy that is under way brings back what was deleted.
#[tokio::test(start_paused = true)]
async fn writes_during_the_pass_are_not_overwritten() {
    let bigtable = created().await;
    let slow = slow(&bigtable, Method::CheckAndMutateRow, 200);
    let (pages, driver) = (open(&bigtable.client()).await, open(&slow.client()).await);
    let migration = driver.migration().parallel(1);
    let driver = tokio::spawn(async move { migration.run().await });
    reached(&pages, State::Copying).await;
    for id in 0..ROWS {
        match id % 3 {
            0 => pages.delete(&New { id }).await.unwrap(),
            1 => pages.put(&New { id }, &Page { title: "new".into() }).await.unwrap(),
            _ => {}
        }
    }
    driver.await.unwrap().unwrap();
    let found = pages.scan_both(New::scan(), Old::scan()).collect().await.unwrap();
    assert_eq!(found.len() as u64, ROWS - ROWS.div_ceil(3));
    for (key, row) in found {
        assert_eq!(row, if key.id % 3 == 1 { Page { title: "new".into() } } else { page(key.id) });
    }
}

/// A program that was not stopped writes a row that the pass does not meet any more: the run fails, and the next one copies it.
#[tokio::test(start_paused = true)]
async fn what_a_forgotten_program_wrote_is_copied_by_the_next_run() {
    let bigtable = created().await;
    let pages = open(&slow(&bigtable, Method::ReadRows, 500).client()).await;
    let forgotten = bigtable.client().table::<Old, Page>("pages").unchecked();
    let written = Arc::new(Notify::new());
    let migration = {
        let written = Arc::clone(&written);
        pages.migration().on_progress(move |progress| {
            if progress.state == State::Copying && progress.activity == Activity::Verifying {
                let (forgotten, written) = (forgotten.clone(), Arc::clone(&written));
                tokio::spawn(async move {
                    forgotten.put(&Old { id: ROWS }, &page(ROWS)).await.unwrap();
                    written.notify_one();
                });
            }
        })
    };
    let error = migration.run().await.unwrap_err();
    written.notified().await;
    assert!(error.is_table_mismatch() && error.to_string().contains("1 is missing in `pages-4`"), "{error}");
    assert_eq!(pages.migration().state().await.unwrap(), State::Copying);
    pages.migration().run().await.unwrap();
    assert_eq!(pages.migration().state().await.unwrap(), State::Moved);
    pages.migration().finish().await.unwrap();
    has_all_rows(&pages, ROWS + 1).await;
}

/// Once the origins are gone there is nothing to compare, and that is no difference.
#[tokio::test(start_paused = true)]
async fn a_comparison_that_another_driver_overtakes_says_so() {
    let bigtable = created().await;
    let slow = slow(&bigtable, Method::ReadRows, 1500);
    let (driver, pages) = (open(&bigtable.client()).await, open(&slow.client()).await);
    driver.migration().run().await.unwrap();
    let (slow, fast) = (pages.migration(), driver.migration());
    let (verified, finished) = tokio::join!(slow.verify(), fast.finish());
    finished.unwrap();
    let error = verified.unwrap_err();
    assert!(error.is_retryable() && error.to_string().contains("next state"), "{error}");
}
