//! Requests that are not sent: how many wait for a connection, what their errors say, and what they cost others.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::future::join_all;
use keyderive::Client;
use keyderive::client::{ReadRows, Settings};
use keyderive::row::RowFilter;
use keyderive::{Error, ErrorKind};
use keyderive_scripted::{Answer, Door, Gate, Mock};
use tokio::time::{Instant, sleep};
use tonic::Code;

use crate::overload::{client, gated, table, write};
use crate::support::{MILLISECOND, SECOND, all, entries, set};

/// Calls without a pause until another task has run; fails if none gets to.
async fn lets_others_run<T>(call: impl AsyncFn() -> T) {
    let has_run = Arc::new(AtomicBool::new(false));
    let other = Arc::clone(&has_run);
    tokio::spawn(async move { other.store(true, Ordering::Relaxed) });
    for _ in 0..10_000 {
        call().await;
        if has_run.load(Ordering::Relaxed) {
            return;
        }
    }
    panic!("10,000 calls, and no other task has run");
}

#[tokio::test(start_paused = true)]
async fn calls_that_are_rejected_let_other_tasks_run() {
    let mock = Mock::new();
    mock.set_door(Door::Stuck);
    let client = client(&mock, 1);
    let full = client.raw_table("events").with(|settings| settings.max_waiting = 0);
    lets_others_run(async || full.read_row("k", None).await.unwrap_err()).await;
    lets_others_run(async || full.mutate_rows(entries(["a"])).await).await;
    lets_others_run(async || all(&full).await.unwrap_err()).await;
    let late = client.raw_table("events").with_deadline(Instant::now().into_std());
    lets_others_run(async || late.mutate_row("k", set()).await.unwrap_err()).await;
    client.close().await;
    lets_others_run(async || full.read_row("k", None).await.unwrap_err()).await;
}

/// An embedded Bigtable answers at once.
#[tokio::test]
async fn calls_in_process_let_other_tasks_run() {
    let client = Client::embedded();
    let table = client.raw_table("events");
    lets_others_run(async || table.read_row("k", None).await.unwrap_err()).await;
}

/// A connection that takes no more requests answers those that it has. They do not wait.
#[tokio::test(start_paused = true)]
async fn requests_on_a_connection_that_goes_away_do_not_count_as_waiting() {
    let gate = Gate::new();
    let mock = gated(&gate);
    let client = client(&mock, 1);
    let table = client.raw_table("events").with(|settings| settings.max_waiting = 5);
    let mut writes = write(&table, 1);
    sleep(SECOND).await;
    writes.extend(write(&table, 98));
    sleep(SECOND).await;
    mock.go_away();
    mock.set_door(Door::Stuck);
    sleep(SECOND).await;
    for _ in 0..5 {
        writes.extend(write(&table, 1));
        sleep(MILLISECOND).await;
    }
    assert_eq!((client.stats().in_flight, client.stats().waiting), (99, 5));
    assert!(table.mutate_row("k", set()).await.unwrap_err().is_overloaded());
    mock.set_door(Door::Open);
    // The attempt to connect times out after 10 s.
    sleep(11 * SECOND).await;
    assert_eq!((client.stats().in_flight, client.stats().waiting), (104, 0));
    // The new connection takes 100, whatever the old one has.
    writes.extend(write(&table, 95));
    sleep(SECOND).await;
    assert_eq!((client.stats().in_flight, client.stats().waiting), (199, 0));
    writes.extend(write(&table, 5));
    sleep(SECOND).await;
    assert_eq!((client.stats().in_flight, client.stats().waiting), (199, 5));
    assert!(table.mutate_row("k", set()).await.unwrap_err().is_overloaded());
    gate.open();
    assert!(join_all(writes).await.into_iter().all(|written| written.unwrap().is_ok()));
    assert_eq!((client.stats().in_flight, client.stats().waiting), (0, 0));
    table.mutate_row("k", set()).await.unwrap();
}

/// Requests that a broken connection lost wait for the next one like others.
#[tokio::test(start_paused = true)]
async fn requests_of_a_broken_connection_are_sent_again_within_the_bound() {
    let gate = Gate::new();
    let mock = gated(&gate);
    let client = client(&mock, 1);
    let table = client.raw_table("events").with(|settings| {
        settings.max_waiting = 20;
        settings.retry_budget = false;
    });
    let mut writes = write(&table, 1);
    sleep(SECOND).await;
    writes.extend(write(&table, 119));
    sleep(SECOND).await;
    mock.set_door(Door::Stuck);
    mock.drop_connections();
    for _ in 0..1000 {
        sleep(MILLISECOND).await;
        let waiting = client.stats().waiting;
        assert!(waiting <= 20, "{waiting}");
    }
    mock.set_door(Door::Open);
    gate.open();
    let errors = join_all(writes).await.into_iter().filter_map(|written| written.unwrap().err());
    let errors: Vec<Error> = errors.collect();
    assert!(!errors.is_empty() && errors.iter().all(Error::is_overloaded), "{errors:?}");
    // They were sent once, and may have been applied.
    assert!(errors.iter().all(Error::is_outcome_unknown), "{errors:?}");
}

#[tokio::test(start_paused = true)]
async fn an_error_says_that_no_connection_is_open_and_why() {
    let mock = Mock::new();
    mock.set_door(Door::Shut);
    let table = table(&mock, 1).with(|settings| {
        settings.serving();
        settings.max_waiting = 3;
    });
    let error = table.read_row("k", None).await.unwrap_err();
    assert!(error.is_unavailable() && !error.is_overloaded(), "{error}");
    mock.set_door(Door::Stuck);
    let _waiting = write(&table, 3);
    sleep(MILLISECOND).await;
    let error = table.mutate_row("k", set()).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "MutateRow of row `k` on table `events` failed: UNAVAILABLE: no connection is open, and 3 requests wait for one, where \
         `max_waiting` allows 3; the connection could not be made: connection refused, at the emulator at \
         test:1"
    );
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(error.is_overloaded() && error.is_unavailable() && !error.is_retryable(), "{error}");
    assert!(error.kind() != ErrorKind::ResourceExhausted && error.attempts() == 0, "{error}");
}

/// Before the first connection is open, nothing has failed.
#[tokio::test(start_paused = true)]
async fn an_error_before_the_first_connection_says_so() {
    let mock = Mock::new();
    mock.set_door(Door::Stuck);
    let error =
        table(&mock, 1).with(|settings| settings.max_waiting = 0).read_row("k", None).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Overloaded);
    assert!(error.to_string().contains("no connection is open, and 0 requests wait for one"), "{error}");
}

/// Not by the server's fault, so neither the retry budget nor the outcome of a write suffers.
#[tokio::test(start_paused = true)]
async fn a_request_that_was_never_sent_costs_no_tokens_and_has_a_known_outcome() {
    let gate = Gate::new();
    let mock = gated(&gate);
    let client = client(&mock, 1);
    let patient = client.raw_table("events");
    let held = write(&patient, 100);
    sleep(SECOND).await;
    let table = patient.with(|settings| {
        settings.serving();
        settings.mutate_row.attempt_timeout = 300 * MILLISECOND;
        settings.mutate_row.total_timeout = SECOND;
    });
    for written in join_all(write(&table, 60)).await {
        let error = written.unwrap().unwrap_err();
        assert!(error.is_deadline_exceeded() && !error.is_outcome_unknown(), "{error}");
        assert!(
            error.to_string().contains("took no more requests, and this one was not sent within"),
            "{error}"
        );
        assert!(error.attempts() > 1, "{error}");
    }
    assert!(client.stats().retry_tokens == 100.0, "{}", client.stats().retry_tokens);
    // A conditional write too is safe to repeat then.
    let condition = Some(RowFilter::exact_column("f", "q"));
    let conditional = patient.with(Settings::serving);
    let error = conditional.check_and_mutate_row("k", condition, set().to_vec(), vec![]).await.unwrap_err();
    assert!(error.is_retryable() && !error.is_outcome_unknown(), "{error}");
    gate.open();
    assert!(join_all(held).await.into_iter().all(|written| written.unwrap().is_ok()));
    assert_eq!(mock.requests().len(), 100);
}

/// What was sent and got no answer still counts, and may have been applied.
#[tokio::test(start_paused = true)]
async fn a_request_that_was_sent_costs_a_token_and_has_an_unknown_outcome() {
    let mock = Mock::new().by(|_| Answer::new().stall());
    let client = client(&mock, 1);
    let table = client.raw_table("events").with(|settings| {
        settings.mutate_row.attempt_timeout = 300 * MILLISECOND;
        settings.mutate_row.total_timeout = SECOND;
    });
    let error = table.mutate_row("k", set()).await.unwrap_err();
    assert!(error.is_deadline_exceeded() && error.is_outcome_unknown(), "{error}");
    assert!(client.stats().retry_tokens < 100.0);
}

#[tokio::test(start_paused = true)]
async fn a_timeout_names_the_failure_before_it() {
    let mock = Mock::new()
        .on(keyderive_scripted::Rpc::ReadRows, Answer::failure(Code::Unavailable))
        .by(|_| Answer::new().stall());
    let table = table(&mock, 1).with(|settings| {
        settings.read_row.attempt_timeout = 300 * MILLISECOND;
        settings.read_row.total_timeout = SECOND;
        settings.read_rows = settings.read_row.clone();
    });
    let error = table.read_row("k", None).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::DeadlineExceeded);
    assert!(error.is_unavailable() && error.is_retryable() && error.attempts() > 2, "{error}");
    assert!(error.to_string().contains("; an earlier attempt: UNAVAILABLE"), "{error}");
    // A timeout alone is only that.
    let error = all(&table).await.unwrap_err();
    assert!(error.is_deadline_exceeded() && !error.is_unavailable(), "{error}");
    let mut rows = table.read_rows(ReadRows::all());
    assert!(!rows.next().await.unwrap().unwrap_err().to_string().contains("earlier"));
}
