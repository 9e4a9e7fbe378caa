//! Copies beside a Bigtable that loses answers and breaks streams, and copies that are dropped.

use std::future::{Future, IntoFuture as _, poll_fn};
use std::pin::pin;
use std::task::Poll;

use keyderive::embedded::{Bigtable, Fault, Faults, Method};
use keyderive_tests::Folder;

use super::*;

/// Fails every third request in some way, and breaks rows and streams.
fn faults(seed: u64) -> Faults {
    let lost = || Fault::unavailable().after_the_call();
    Faults::seeded(seed)
        .fail(Method::MutateRows, 0.25, lost())
        .fail(Method::MutateRows, 0.1, Fault::aborted())
        .fail(Method::ReadRows, 0.1, Fault::unavailable())
        .fail(Method::SampleRowKeys, 0.2, Fault::unavailable())
        .cut_streams(0.05)
        .split_rows(0.1)
}

/// Lost answers make requests come twice. Each sum counts once, also where the server is not known to honour tokens.
#[tokio::test(start_paused = true)]
async fn a_copy_is_exact_when_answers_are_lost() {
    for seed in 0..10 {
        let bigtable = Bigtable::in_memory();
        let client = bigtable.client();
        filled(&client, 300).await;
        let faulty = bigtable.with_faults(faults(seed));
        let (old, new) = tables(&faulty.client().with(|settings| {
            settings.idempotency_tokens = (seed % 2 == 0).then_some(false);
        }));
        let copy = old.copy_to(&new, |key, _| user_key(key)).batch_rows(10).look_ahead(3_000);
        let report = copy.await.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        assert_eq!(report.copied(), 300);
        assert_copied(&client).await;
        assert!(faulty.calls(Method::MutateRows) > report.progress().requests, "seed {seed}");
    }
}

/// A dropped copy leaves some rows, each whole; the next one resumes from its checkpoint.
#[tokio::test]
async fn a_dropped_copy_leaves_whole_rows_and_is_resumed() {
    let folder = Folder::new("copy-dropped");
    for polls in (0..60).step_by(7) {
        let checkpoint = folder.join(polls.to_string());
        let client = Client::embedded();
        let (old, new) = filled(&client, 200).await;
        let copy = || {
            let copy = old.copy_to(&new, |key, _| user_key(key)).batch_rows(5).look_ahead(1_000).workers(2);
            copy.checkpoint_every(1).checkpoint(&checkpoint)
        };
        {
            let mut future = pin!(copy().into_future());
            let mut left = polls;
            poll_fn(|cx| {
                left -= 1;
                if left < 0 || future.as_mut().poll(cx).is_ready() { Poll::Ready(()) } else { Poll::Pending }
            })
            .await;
        }
        let rows = dump(&client.raw_table("user-events")).await;
        let whole = dump(&client.raw_table("events")).await;
        for (key, cells) in rows {
            let UserEventKey { user, at } = UserEventKey::decode(&key).unwrap();
            assert_eq!(cells, whole[&EventKey { at, user }.encode().unwrap()], "after {polls} polls");
        }
        // A copy that was dropped before it stored its first checkpoint has written nothing.
        let report = copy().await.unwrap();
        assert_eq!(report.copied(), 200, "after {polls} polls");
        assert_copied(&client).await;
        // Its checkpoint is at the end: nothing is left but to compare.
        let again = copy().await.unwrap();
        assert_eq!((again.copied(), again.progress().read, again.progress().compared), (200, 0, 200));
    }
}

/// A failure that every row would share ends the copy, and the next one resumes.
#[tokio::test(start_paused = true)]
async fn a_copy_that_failed_is_resumed() {
    let folder = Folder::new("copy-failed");
    let bigtable = Bigtable::in_memory();
    let client = bigtable.client();
    filled(&client, 3_000).await;
    let denied = Faults::seeded(0).fail_nth(Method::MutateRows, 700, Fault::permission_denied());
    let copy = |client: &Client| {
        let (old, new) = tables(client);
        let copy = old.copy_to(&new, |key, _| user_key(key)).batch_rows(5).look_ahead(0).parallel(1);
        copy.checkpoint_every(100).checkpoint(folder.join("checkpoint"))
    };
    let faulty = bigtable.with_faults(denied);
    let error = copy(&faulty.client()).await.unwrap_err();
    assert!(error.error().unwrap().is_permission_denied() && !error.is_difference(), "{error}");
    let copied = error.report().copied();
    assert!(error.to_string().contains(&format!("ended early, after {copied} row")), "{error}");
    assert!((500..3_000).contains(&copied), "{error}");
    let report = copy(&client).await.unwrap();
    assert_eq!((report.copied(), report.progress().read), (3_000, 3_000 - copied));
    assert_copied(&client).await;
}
