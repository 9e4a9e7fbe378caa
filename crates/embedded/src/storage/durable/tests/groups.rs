//! Writes that share a commit.

use std::time::Instant;

use futures_util::future::{FutureExt as _, join_all};

use super::*;
use crate::store::{ApplyChange, Bulk, Clock, Context, RowChange, Store, SystemClock};
use crate::worker::{GROUP_TIME, Worker};

fn worker(file: &TestFile) -> Worker {
    let worker = Worker::new(Arc::new(Store::new(file.open().unwrap(), SystemClock))).unwrap();
    assert!(worker.store().table(TABLE).is_ok());
    worker
}

/// Puts a row of one cell.
fn change(key: &str) -> RowChange<impl ApplyChange<()> + Send + Sync + 'static> {
    let (key, row) = row(key, "new");
    let make = move |_: &mut Context<'_>, cells: &mut Cells| {
        cells.clone_from(&row);
        Ok(())
    };
    RowChange { table: TABLE.to_owned(), key, inline_bytes: Some(usize::MAX), apply: make }
}

async fn write(worker: &Worker, key: String) -> Result<(), Status> {
    worker.change(change(&key)).await
}

#[tokio::test]
async fn what_waits_for_the_disk_shares_a_commit() {
    let file = filled();
    let worker = worker(&file);
    let before = file.syncs();
    write(&worker, "first".to_owned()).await.unwrap();
    let of_one = file.syncs() - before;
    assert_eq!(of_one, 2);

    let begun = Instant::now();
    let slow = file.hold_syncs();
    let mut writes: Vec<_> = (0..200).map(|number| Box::pin(write(&worker, format!("n{number}")))).collect();
    for write in &mut writes {
        assert!(write.as_mut().now_or_never().is_none());
    }
    drop(slow);
    assert!(join_all(writes).await.iter().all(Result::is_ok));
    let elapsed = begun.elapsed();
    // Three commits: the first write's, the one that `slow` holds, and one of all the rest. Each further one takes a
    // `GROUP_TIME`.
    let most = 3 + (elapsed.as_nanos() / GROUP_TIME.as_nanos()) as usize;
    let syncs = file.syncs() - before;
    assert!(syncs <= most * of_one, "{syncs} syncs in {elapsed:?}");
    drop(worker);
    assert_eq!(all(&file.open().unwrap()).unwrap().len(), 300 + 1 + 200);
}

#[tokio::test]
async fn a_request_of_many_rows_is_one_commit() {
    let file = filled();
    let worker = worker(&file);
    let before = file.syncs();
    let rows = (0..10_000).map(|number| row(&format!("n{number}"), "new")).collect();
    let make = |_: &mut Context<'_>, cells: &mut Cells, rows: &[(usize, (Bytes, Arc<Cells>))]| {
        cells.clone_from(&rows[0].1.1);
        vec![Ok(()); rows.len()]
    };
    let bulk = Bulk::new(TABLE.to_owned(), rows, |(key, _)| key, |_| 1, make);
    let (outcomes, aside) = worker.change_rows(bulk, false).await.unwrap().into_outcomes();
    assert!(outcomes.iter().all(Result::is_ok) && aside.is_empty());
    assert_eq!(file.syncs() - before, 2);
}

#[tokio::test]
async fn nothing_is_acknowledged_that_is_not_committed() {
    let file = filled();
    let worker = worker(&file);
    file.set_fault(ERROR);
    let writes = join_all((0..10).map(|number| write(&worker, format!("n{number}")))).await;
    assert!(writes.iter().all(Result::is_err), "{writes:?}");
    file.set_fault(NONE);
    assert!(write(&worker, "999".to_owned()).await.is_ok());
    drop(worker);
    let mut kept = rows();
    kept.push(row("999", "new"));
    assert_eq!(all(&file.open().unwrap()).unwrap(), kept);
}

#[tokio::test]
async fn a_write_that_panics_is_an_error_of_its_own() {
    let file = filled();
    let worker = worker(&file);
    let panics = worker.write(|_| -> Result<(), Status> { panic!("a fault of ours") });
    let (panicked, written) = tokio::join!(panics, write(&worker, "beside".to_owned()));
    assert_eq!(panicked.unwrap_err().message(), "a write panicked");
    written.unwrap();
}

/// A machine's clock, which can be wrong.
struct FixedClock(i64);

impl Clock for FixedClock {
    fn now_micros(&self) -> i64 {
        self.0
    }
}

#[test]
fn the_clock_does_not_step_back_when_a_file_is_opened_again() {
    let file = filled();
    let later = {
        let store = Store::new(file.open().unwrap(), FixedClock(5_000_000));
        let later = store.now_micros();
        store.change(&change("k")).unwrap();
        store.commit().unwrap();
        later
    };
    let store = Store::new(file.open().unwrap(), FixedClock(1_000_000));
    assert_eq!(store.now_micros(), later);
    drop(store);
    // A file without a time.
    set_version_without_time(Arc::new(file.clone()), 1);
    let store = Store::new(file.open().unwrap(), FixedClock(1_000_000));
    assert_eq!(store.now_micros(), 1_000_000);
}
