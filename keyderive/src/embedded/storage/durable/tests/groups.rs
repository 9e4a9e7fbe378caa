//! Writes that wait for the disk together.

use std::time::Instant;

use futures_util::future::{FutureExt as _, join_all};

use super::*;
use crate::embedded::clock::SystemClock;
use crate::embedded::store::Store;
use crate::embedded::worker::{GROUP_TIME, Worker};

fn worker(file: &TestFile) -> Worker {
    let worker = Worker::new(Arc::new(Store::new(file.open().unwrap(), SystemClock))).unwrap();
    assert!(worker.store().table(TABLE).is_ok());
    worker
}

async fn write(worker: &Worker, key: String) -> Result<(), Status> {
    let (key, cells) = row(&key, "new");
    let change = move |store: &Store| {
        store.change(TABLE, &key, |_, known, _| {
            known.clone_from(&cells);
            Ok(())
        })
    };
    worker.write(change).await
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
    // That of the first write, the one that was held and one for the rest; any other has taken in writes for as long
    // as one may.
    let most = 3 + (elapsed.as_nanos() / GROUP_TIME.as_nanos()) as usize;
    let waits = file.syncs() - before;
    assert!(waits <= most * of_one, "{waits} waits for the disk in {elapsed:?}");
    drop(worker);
    assert_eq!(all(&file.open().unwrap()).unwrap().len(), 300 + 1 + 200);
}

#[tokio::test]
async fn a_request_of_many_rows_is_one_commit() {
    let file = filled();
    let worker = worker(&file);
    let before = file.syncs();
    let change = |store: &Store| {
        let rows = (0..10_000).map(|number| row(&format!("n{number}"), "new")).collect();
        store.change_each(
            TABLE,
            rows,
            |(key, _)| key.clone(),
            |_, known, (_, cells), _| {
                known.clone_from(&cells);
                Ok(())
            },
        )
    };
    assert_eq!(worker.write(change).await.unwrap().len(), 10_000);
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
    assert!(write(&worker, "later".to_owned()).await.is_err());
    drop(worker);
    assert_eq!(all(&file.open().unwrap()).unwrap(), rows());
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
