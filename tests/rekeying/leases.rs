//! What a call does while its process does not know the state, or writes wait for the next one.

use std::time::Duration;

use keyderive::embedded::{Bigtable, Faults, Method};
use keyderive::table::rekey::{Rekeyed, State};
use keyderive::{Client, Row};
use tokio::time::{Instant, sleep};

use crate::keys::{New, Old};

#[derive(Row, Clone, Debug, PartialEq)]
struct Page {
    title: Option<String>,
    #[row(counter)]
    views: i64,
}

type Pages = Rekeyed<Old, New, Page>;

const KEY: New = New { id: 7 };
/// How long the answer to a delayed request takes.
const LATE: Duration = Duration::from_secs(30);
/// More reads of the control row than a test makes.
const READS: u64 = 200;

fn page(title: &str) -> Page {
    Page { title: Some(title.into()), views: 0 }
}

async fn created() -> Bigtable {
    let bigtable = Bigtable::in_memory();
    bigtable.client().table::<Old, Page>("pages").create().without_row_key_schema().await.unwrap();
    bigtable
}

/// The reads and writes of these tests are those of the state and of the table.
async fn open(client: &Client) -> Pages {
    client.with(|settings| settings.registry = false).rekeyed("pages", "pages-4").await.unwrap()
}

/// No read from this one on is answered in time; the first is that of the handle's first lease.
fn silent_from(first: u64) -> Faults {
    (first..READS)
        .fold(Faults::seeded(0), |faults, number| faults.delay_nth(Method::ReadRows, number, LATE * 100))
}

#[tokio::test(start_paused = true)]
async fn nothing_is_sent_without_a_lease() {
    let bigtable = created().await.with_faults(silent_from(2));
    let pages = open(&bigtable.client()).await.with(|settings| {
        settings.mutate_row.total_timeout = Duration::from_secs(1);
        settings.read_row.total_timeout = Duration::from_secs(1);
    });
    pages.put(&KEY, &page("known")).await.unwrap();
    sleep(Duration::from_secs(5)).await;
    let error = pages.put(&KEY, &page("not known")).await.unwrap_err();
    assert!(error.is_unavailable() || error.is_deadline_exceeded(), "{error}");
    assert!(error.is_retryable() && !error.is_outcome_unknown(), "{error}");
    assert!(error.to_string().contains("could not be read"), "{error}");
    assert!(pages.get(&KEY).await.unwrap_err().is_retryable());
    assert_eq!(bigtable.calls(Method::MutateRow), 1);
}

#[tokio::test(start_paused = true)]
async fn a_late_answer_to_an_increment_has_an_unknown_outcome() {
    let faults = silent_from(2).delay_nth(Method::ReadModifyWriteRow, 1, LATE);
    let bigtable = created().await.with_faults(faults);
    let pages = open(&bigtable.client()).await;
    let begun = Instant::now();
    let error = pages.increment(&KEY, Page::VIEWS, 1).await.unwrap_err();
    assert!(error.is_outcome_unknown() && !error.is_retryable(), "{error}");
    assert!(error.to_string().contains("may have been applied"), "{error}");
    assert_eq!(error.row_key(), Some(&KEY.encode().unwrap()[..]));
    // It does not wait for the answer.
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_write_that_was_sent_and_cannot_go_again_has_an_unknown_outcome() {
    let faults = silent_from(2).delay_nth(Method::MutateRow, 1, LATE).delay_nth(Method::MutateRows, 1, LATE);
    let bigtable = created().await.with_faults(faults);
    let pages = open(&bigtable.client()).await.with(|settings| {
        settings.mutate_row.total_timeout = Duration::from_secs(10);
    });
    // Both are sent while the lease lasts, and what they wait for afterwards does not come.
    let rows = [(New { id: 8 }, page("sent")), (New { id: 9 }, page("sent"))];
    let (row, page_of_row) = (KEY, page("sent"));
    let (one, many) = tokio::join!(pages.put(&row, &page_of_row), pages.put_all(&rows));
    for error in [one.unwrap_err(), many.unwrap_err()] {
        assert!(error.is_outcome_unknown() && error.is_retryable(), "{error}");
        assert!(error.to_string().contains("may have been applied"), "{error}");
    }
    let error = pages.delete(&KEY).await.unwrap_err();
    assert!(!error.is_outcome_unknown() && error.is_retryable(), "{error}");
    assert_eq!((bigtable.calls(Method::MutateRow), bigtable.calls(Method::MutateRows)), (1, 1));
}

/// The server is told to give a request up before the state can have changed twice.
#[tokio::test(start_paused = true)]
async fn no_request_outlives_a_lease() {
    let faults = Faults::seeded(0).delay_nth(Method::ReadModifyWriteRow, 1, LATE);
    let bigtable = created().await.with_faults(faults.delay_nth(Method::MutateRow, 1, LATE));
    let pages = open(&bigtable.client()).await;
    let begun = Instant::now();
    let error = pages.increment(&KEY, Page::VIEWS, 1).await.unwrap_err();
    assert!(error.is_outcome_unknown() && error.is_deadline_exceeded(), "{error}");
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    // What may be repeated is.
    pages.put(&KEY, &page("second attempt")).await.unwrap();
    assert_eq!(bigtable.calls(Method::MutateRow), 2);
}

#[tokio::test(start_paused = true)]
async fn a_put_goes_again_once_the_state_is_known_again() {
    let silence =
        (2..6).fold(Faults::seeded(0), |faults, number| faults.delay_nth(Method::ReadRows, number, LATE));
    let bigtable = created().await.with_faults(silence.delay_nth(Method::MutateRow, 1, LATE));
    let pages = open(&bigtable.client()).await;
    pages.put(&KEY, &page("twice")).await.unwrap();
    assert_eq!(bigtable.calls(Method::MutateRow), 2);
    assert_eq!(pages.get(&KEY).await.unwrap(), Some(page("twice")));
}

#[tokio::test(start_paused = true)]
async fn writes_wait_once_and_reads_never() {
    let bigtable = created().await;
    let (pages, driver) = (open(&bigtable.client()).await, open(&bigtable.client()).await);
    pages.put(&KEY, &page("before")).await.unwrap();
    let driven = tokio::spawn(async move { driver.migration().run().await });
    sleep(Duration::from_millis(1500)).await;
    let begun = Instant::now();
    assert_eq!(pages.get(&KEY).await.unwrap(), Some(page("before")));
    assert!(begun.elapsed() < Duration::from_millis(100), "{:?}", begun.elapsed());

    let hasty = pages.with(|settings| settings.mutate_row.total_timeout = Duration::from_secs(1));
    let error = hasty.put(&KEY, &page("hasty")).await.unwrap_err();
    assert!(error.is_deadline_exceeded() && error.is_retryable() && !error.is_outcome_unknown(), "{error}");
    assert!(error.to_string().contains("writes wait"), "{error}");
    let error = pages.with_deadline(std::time::Instant::now()).put(&KEY, &page("late")).await.unwrap_err();
    assert!(error.is_deadline_exceeded() && !error.is_outcome_unknown(), "{error}");

    let begun = Instant::now();
    pages.put(&KEY, &page("after")).await.unwrap();
    let waited = begun.elapsed();
    assert!(waited > Duration::from_secs(2) && waited < Duration::from_secs(8), "{waited:?}");
    assert_eq!(pages.get(&KEY).await.unwrap(), Some(page("after")));
    driven.await.unwrap().unwrap();
    assert_eq!(pages.migration().state().await.unwrap(), State::Moved);
    assert_eq!(pages.get(&KEY).await.unwrap(), Some(page("after")));
}

/// A handle of a table whose re-keying has ended needs the old table no more.
#[tokio::test(start_paused = true)]
async fn the_last_state_needs_no_lease() {
    let bigtable = created().await;
    let client = bigtable.client();
    let pages = open(&client).await;
    pages.put(&KEY, &page("kept")).await.unwrap();
    pages.migration().run().await.unwrap();
    pages.migration().finish().await.unwrap();
    client.delete_table("pages").await.unwrap();
    sleep(Duration::from_secs(60)).await;
    assert_eq!(pages.get(&KEY).await.unwrap(), Some(page("kept")));
    pages.put(&KEY, &page("written")).await.unwrap();
}

/// Dropping the last handle ends the task that renews the lease.
#[tokio::test(start_paused = true)]
async fn a_dropped_handle_reads_the_state_no_more() {
    let bigtable = created().await.with_faults(Faults::seeded(0));
    let pages = open(&bigtable.client()).await;
    sleep(Duration::from_secs(3)).await;
    drop(pages);
    sleep(Duration::from_secs(2)).await;
    let reads = bigtable.calls(Method::ReadRows);
    assert!(reads > 2, "{reads}");
    sleep(Duration::from_secs(60)).await;
    assert_eq!(bigtable.calls(Method::ReadRows), reads);
}
