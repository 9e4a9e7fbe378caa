//! Background writers: what happens to the rows they have accepted.

use keyderive::client::{Family, RawWriter};
use keyderive::{Client, ErrorKind, GcRule};
use keyderive_scripted::{Answer, Gate, Mock, Rpc};
use keyderive_tests::fixtures::assert_error;
use tokio::runtime::Handle;
use tokio::time::{Instant, sleep, timeout};
use tonic::Code;

use crate::support::{SECOND, client, set, table, written};

/// A server that writes every row.
fn writing() -> Mock {
    Mock::new()
        .by(|request| Answer::outcomes((0..request.entries().len()).map(|place| (place as i64, Code::Ok))))
}

async fn write(writer: &RawWriter, key: &'static str) {
    writer.write(key, set().into()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn closing_sends_what_a_writer_has_taken_and_waits_for_it() {
    let mock = writing();
    let client = client(&mock);
    let writer = client.raw_table("events").writer_with(|settings| settings.linger = 3600 * SECOND);
    write(&writer, "a").await;
    write(&writer, "b").await;
    timeout(SECOND, client.close()).await.unwrap();
    assert_eq!(written(&mock), ["a b"]);
    assert_eq!(writer.close().await.unwrap(), 2);
}

#[tokio::test(start_paused = true)]
async fn closing_waits_for_the_batch_of_a_writer_that_is_dropped() {
    let gate = Gate::new();
    let mock = Mock::new().on(Rpc::MutateRows, Answer::new().hold(&gate).and_outcomes([(0, Code::Ok)]));
    let client = client(&mock);
    let writer = client.raw_table("events").writer();
    write(&writer, "a").await;
    let closing = client.close();
    drop(writer);
    let mut closing = std::pin::pin!(closing);
    assert!(timeout(SECOND, &mut closing).await.is_err());
    gate.open();
    timeout(SECOND, closing).await.unwrap();
    assert_eq!(written(&mock), ["a"]);
}

#[tokio::test(start_paused = true)]
async fn a_writer_holds_up_no_closing_when_it_has_nothing() {
    let client = client(&writing());
    let writer = client.raw_table("events").writer();
    write(&writer, "a").await;
    writer.flush().await.unwrap();
    timeout(SECOND, client.close()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_writer_of_a_closed_client_takes_nothing() {
    let mock = writing();
    let client = client(&mock);
    let writer = client.raw_table("events").writer();
    write(&writer, "a").await;
    let closing = client.close();
    let error = writer.write("b", set().into()).await.unwrap_err();
    assert!(error.kind() == ErrorKind::ClientClosed && error.row_key() == Some(b"b"), "{error}");
    closing.await;
    assert_eq!(writer.write("c", set().into()).await.unwrap_err().kind(), ErrorKind::ClientClosed);
    assert_eq!(writer.close().await.unwrap(), 1);
    assert_eq!(written(&mock), ["a"]);
}

#[tokio::test(start_paused = true)]
async fn the_first_failures_are_kept_and_the_others_counted() {
    let mock = Mock::new().by(|_| Answer::failure(Code::PermissionDenied));
    let writer = table(&mock).writer_with(|settings| {
        settings.batch_entries = 2;
        settings.failures_kept = 3;
    });
    for key in ["a", "b", "c", "d", "e"] {
        write(&writer, key).await;
        sleep(SECOND).await;
    }
    let errors = writer.flush().await.unwrap_err();
    assert_eq!((errors.written(), errors.failed_count()), (0, 5));
    let keys: Vec<_> = errors.failed().iter().map(|failed| failed.error().row_key().unwrap()).collect();
    assert_eq!(keys, [b"a", b"b", b"c"]);
    assert!(errors.failed().iter().all(|failed| failed.error().is_permission_denied()));
    let text = errors.to_string();
    assert!(text.starts_with("5 of 5 rows were not written; the first: row `a` was not"), "{text}");
    write(&writer, "f").await;
    assert_eq!(writer.flush().await.unwrap_err().failed_count(), 1);
}

/// The test's one thread never yields otherwise, so the writer must let the batch be sent.
#[tokio::test(start_paused = true)]
async fn a_full_batch_is_sent_before_more_rows_are_taken() {
    let mock = writing();
    let writer = table(&mock).writer_with(|settings| settings.batch_entries = 2);
    for key in ["a", "b", "c"] {
        write(&writer, key).await;
    }
    assert_eq!(written(&mock), ["a b"]);
    assert_eq!(writer.close().await.unwrap(), 3);
}

/// The writer has at most one timer, and none while nothing is buffered.
#[tokio::test(start_paused = true)]
async fn a_writer_has_one_timer_and_none_when_it_has_gathered_nothing() {
    let client = Client::embedded();
    client.raw_table("events").create([Family::new("f", GcRule::max_versions(1))], [""; 0]).await.unwrap();
    let tasks = || Handle::current().metrics().num_alive_tasks();
    let before = tasks();
    let writer = client.raw_table("events").writer_with(|settings| {
        settings.batch_entries = 2;
        settings.linger = 3600 * SECOND;
    });
    let mut most = 0;
    for _ in 0..10_000 {
        write(&writer, "a").await;
        write(&writer, "b").await;
        most = most.max(tasks() - before);
    }
    assert!(most <= 10, "{most} tasks for 10,000 batches");
    sleep(SECOND).await;
    assert_eq!(tasks() - before, 0, "after a full batch");
    write(&writer, "c").await;
    sleep(SECOND).await;
    assert_eq!(tasks() - before, 1, "while a row waits for others");
    writer.flush().await.unwrap();
    sleep(SECOND).await;
    assert_eq!(tasks() - before, 0, "after a flush");
    write(&writer, "d").await;
    drop(writer);
    sleep(SECOND).await;
    assert_eq!(tasks() - before, 0, "after it was dropped");
}

/// A row waits no longer than `linger` for others, even after earlier batches.
#[tokio::test(start_paused = true)]
async fn a_row_waits_no_longer_than_it_may() {
    let mock = writing();
    let writer = table(&mock).writer_with(|settings| {
        settings.batch_entries = 2;
        settings.linger = 10 * SECOND;
    });
    write(&writer, "a").await;
    sleep(9 * SECOND).await;
    write(&writer, "b").await;
    sleep(SECOND / 2).await;
    let began = Instant::now();
    write(&writer, "c").await;
    sleep(9 * SECOND).await;
    assert_eq!(written(&mock), ["a b"]);
    sleep(2 * SECOND).await;
    assert_eq!(written(&mock), ["a b", "c"]);
    assert_eq!(mock.requests()[1].at - began, 10 * SECOND);
}

#[test]
fn outside_of_a_runtime_a_writer_takes_nothing() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mock = writing();
    let table = runtime.block_on(async { table(&mock) });
    let writer = table.writer();
    let error = futures_util::FutureExt::now_or_never(writer.write("a", set().into())).unwrap().unwrap_err();
    assert_error(&error, ErrorKind::Misconfiguration, &["tokio runtime"]);
}
