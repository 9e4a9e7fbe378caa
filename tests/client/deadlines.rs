//! Timeouts of operations, attempts and idle streams.

use std::time::Duration;

use futures_util::TryStreamExt as _;
use keyderive::client::{RawTable, ReadRows};
use keyderive::row::ReadModifyWrite;
use keyderive_proto::data;
use keyderive_scripted::{Answer, Failure, Mock, Request, Rpc};
use tokio::time::{Instant, sleep};
use tonic::Code;

use crate::support::{
    MILLISECOND, SECOND, all, asked, code, entries, gaps, keys, keys_and_error, set, table, text,
};

/// A server that never answers.
fn silent() -> Mock {
    Mock::new().by(|_| Answer::new().stall())
}

/// A table whose operations have `total` as total timeout.
fn within(mock: &Mock, total: Duration) -> RawTable {
    table(mock).with(|settings| settings.each(|call| call.total_timeout = total))
}

/// Fails unless an operation exceeds its deadline at exactly that time.
async fn expires<T: std::fmt::Debug>(
    after: Duration,
    operation: impl Future<Output = Result<T, keyderive::Error>>,
) {
    let begun = Instant::now();
    let error = operation.await.unwrap_err();
    let took = begun.elapsed();
    assert!(
        error.is_deadline_exceeded() && error.grpc_code() == Some(Code::DeadlineExceeded.into()),
        "{error}"
    );
    assert!(took >= after && took <= after + 5 * MILLISECOND, "{took:?}: {error}");
}

#[tokio::test(start_paused = true)]
async fn every_operation_ends_with_its_time() {
    let mock = silent();
    let table = within(&mock, 2 * SECOND);
    expires(2 * SECOND, table.read_row("k", None)).await;
    expires(2 * SECOND, all(&table)).await;
    expires(2 * SECOND, table.sample_row_keys()).await;
    expires(2 * SECOND, table.mutate_row("k", set())).await;
    expires(2 * SECOND, async { table.mutate_rows(entries(["k"])).await.all_written() }).await;
    expires(2 * SECOND, table.check_and_mutate_row("k", None, set().into(), Vec::new())).await;
    let rules = vec![ReadModifyWrite::increment("f", "q", 1)];
    expires(2 * SECOND, table.read_modify_write_row("k", rules)).await;
    assert_eq!(mock.requests().len(), 7);
}

#[tokio::test(start_paused = true)]
async fn the_default_times_are_those_of_the_documentation() {
    let mock = silent();
    let table = table(&mock);
    expires(60 * SECOND, table.mutate_row("k", set())).await;
    expires(20 * SECOND, table.check_and_mutate_row("k", None, set().into(), Vec::new())).await;
    let rules = vec![ReadModifyWrite::increment("f", "q", 1)];
    expires(20 * SECOND, table.read_modify_write_row("k", rules)).await;
    // Each attempt has 20 s, and the longest backoff is 10 s.
    let begun = Instant::now();
    assert!(table.read_row("k", None).await.unwrap_err().is_deadline_exceeded());
    assert!(begun.elapsed() > 570 * SECOND && begun.elapsed() <= 600 * SECOND + 5 * MILLISECOND);
    let attempts = mock.requests_of(Rpc::ReadRows).len();
    assert!((20..=30).contains(&attempts), "{attempts}");
}

#[tokio::test(start_paused = true)]
async fn what_runs_out_of_time_is_cancelled_at_the_server() {
    let mock = silent();
    let table = within(&mock, SECOND);
    expires(SECOND, table.mutate_row("k", set())).await;
    expires(SECOND, all(&table)).await;
    sleep(SECOND).await;
    assert!(mock.requests().iter().all(|request| request.is_cancelled));
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_takes_too_long_is_made_again() {
    let mock = Mock::new()
        .on(Rpc::MutateRow, Answer::new().stall())
        .on(Rpc::MutateRow, Answer::new().wait(9 * SECOND).fail(Code::NotFound))
        .on(Rpc::MutateRow, Answer::written());
    let table = table(&mock).with(|settings| settings.mutate_row.attempt_timeout = 3 * SECOND);
    table.mutate_row("k", set()).await.unwrap();
    for gap in gaps(&mock) {
        assert!(gap >= 3 * SECOND && gap < 3 * SECOND + 60 * MILLISECOND, "{gap:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_read_that_takes_too_long_is_made_again() {
    let mock = Mock::new().on(Rpc::ReadRows, Answer::new().stall()).on(Rpc::ReadRows, Answer::rows(["k"]));
    let table = table(&mock).with(|settings| settings.read_row.attempt_timeout = 3 * SECOND);
    assert!(table.read_row("k", None).await.unwrap().is_some());
    assert_eq!(asked(&mock), ["k limit 1", "k limit 1"]);
}

#[tokio::test(start_paused = true)]
async fn an_answer_just_in_time_counts() {
    let mock = Mock::new().by(|_| Answer::new().wait(1900 * MILLISECOND).send(&data::MutateRowResponse {}));
    within(&mock, 2 * SECOND).mutate_row("k", set()).await.unwrap();
    assert_eq!(mock.requests().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_last_pause_leaves_time_for_an_attempt() {
    let mock = Mock::new()
        .on(Rpc::MutateRow, Answer::failure(Code::Unavailable))
        .on(Rpc::MutateRow, Answer::written());
    let table = within(&mock, 3 * SECOND).with(|settings| settings.mutate_row.backoff.initial = 10 * SECOND);
    table.mutate_row("k", set()).await.unwrap();
    assert_eq!(gaps(&mock)[0].as_millis(), 2250);
}

#[tokio::test(start_paused = true)]
async fn the_last_pause_is_cut_once() {
    let mock = Mock::new().by(|_| Answer::new().wait(SECOND).fail(Code::Unavailable));
    let table = within(&mock, 4 * SECOND).with(|settings| settings.mutate_row.backoff.initial = 10 * SECOND);
    // The first attempt ends after 1 s, and the second starts when a quarter of the rest is left.
    let begun = Instant::now();
    let error = table.mutate_row("k", set()).await.unwrap_err();
    assert!(error.is_deadline_exceeded() && error.attempts() == 2, "{error}");
    assert!(begun.elapsed() > 3 * SECOND && begun.elapsed() <= 4 * SECOND + 5 * MILLISECOND);
}

#[tokio::test(start_paused = true)]
async fn what_was_given_up_says_what_the_last_attempt_ended_with() {
    let mock = Mock::new().by(|_| Answer::failure(Failure::new(Code::Unavailable, "busy")));
    let error = within(&mock, SECOND).mutate_row("k", set()).await.unwrap_err();
    assert!(
        error.is_deadline_exceeded() && error.is_unavailable() && error.grpc_code() == Some(4),
        "{error}"
    );
    let text = error.to_string();
    assert!(text.contains(" failed: DEADLINE_EXCEEDED; given up after "), "{text}");
    assert!(
        text.ends_with("; the timeout is 1s; the last attempt: UNAVAILABLE: busy; it may have been applied"),
        "{text}"
    );
}

/// Also if a pause ends with the time itself, since timers are rounded up.
#[tokio::test(start_paused = true)]
async fn a_pause_that_uses_up_the_time_hides_no_failure() {
    let pause = SECOND - Duration::from_nanos(1);
    let mock =
        Mock::new().by(move |_| Answer::failure(Failure::new(Code::Unavailable, "busy").retry_after(pause)));
    let error = within(&mock, SECOND).mutate_row("k", set()).await.unwrap_err();
    assert_eq!(mock.requests().len(), 1);
    assert!(error.is_deadline_exceeded() && error.is_outcome_unknown(), "{error}");
    let text = error.to_string();
    assert!(text.contains("; the last attempt: UNAVAILABLE: busy"), "{text}");
}

/// Rows that were written together fail with what the server said of each.
#[tokio::test(start_paused = true)]
async fn a_pause_that_uses_up_the_time_hides_no_failure_of_a_row() {
    let pause = SECOND - Duration::from_nanos(1);
    let mock = Mock::new().by(move |_| {
        let busy = Failure::new(Code::Unavailable, "busy").retry_after(pause);
        Answer::outcomes([(0, Code::Ok), (1, Code::Aborted)]).fail(busy)
    });
    let outcomes = within(&mock, SECOND).mutate_rows(entries(["a", "b", "c"])).await;
    assert_eq!(mock.requests().len(), 1);
    assert!(outcomes[0].is_ok());
    for (outcome, last) in [(&outcomes[1], "ABORTED: entry 1"), (&outcomes[2], "UNAVAILABLE: busy")] {
        let error = outcome.as_ref().unwrap_err();
        assert!(error.is_deadline_exceeded() && error.is_outcome_unknown(), "{error}");
        let text = error.to_string();
        assert!(text.contains(&format!("; the last attempt: {last}")), "{text}");
    }
}

/// The server may ask for a longer delay than the operation has left.
#[tokio::test(start_paused = true)]
async fn a_delay_that_the_server_asks_for_is_bounded_by_the_time_of_the_operation() {
    let failure = |seconds: u32| Failure::new(Code::Unavailable, "busy").retry_after(seconds * SECOND);
    let mock = Mock::new()
        .on(Rpc::ReadRows, Answer::rows(["a"]).fail(failure(2)))
        .on(Rpc::ReadRows, Answer::failure(failure(6)))
        .on(Rpc::ReadRows, Answer::rows(["b"]));
    let begun = Instant::now();
    let (read, error) = keys_and_error(within(&mock, 3 * SECOND).read_rows(ReadRows::all())).await;
    assert_eq!(read, ["a"]);
    assert!(error.is_deadline_exceeded() && begun.elapsed() <= 3 * SECOND + 5 * MILLISECOND, "{error}");
    assert_eq!(mock.requests().len(), 2);
}

/// A scan resumes until its total timeout, however many rows it has delivered.
#[tokio::test(start_paused = true)]
async fn a_scan_that_goes_on_and_on_ends_with_its_time() {
    let mock = Mock::new().by(|request| {
        let last = asked_behind(request);
        let rows = (1..=10).map(|row| format!("row-{:04}", last + row));
        rows.fold(Answer::new(), |answer, row| answer.wait(100 * MILLISECOND).and_rows([row]))
            .fail(Code::Aborted)
    });
    let begun = Instant::now();
    let (read, error) = keys_and_error(within(&mock, 10 * SECOND).read_rows(ReadRows::all())).await;
    assert!(error.is_deadline_exceeded(), "{error}");
    let took = begun.elapsed();
    assert!(took > 9 * SECOND && took <= 10 * SECOND + 5 * MILLISECOND, "{took:?}");
    assert!(read.len() > 80 && read.is_sorted(), "{}", read.len());
    assert_eq!(error.last_row_key().map(text).as_ref(), read.last());
}

/// The number of the row that a scan resumes after.
fn asked_behind(request: &Request) -> u32 {
    use data::row_range::StartKey;
    let rows = request.read_rows().rows.unwrap();
    match &rows.row_ranges[0].start_key {
        Some(StartKey::StartKeyOpen(key)) => text(key).trim_start_matches("row-").parse().unwrap(),
        _ => 0,
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_falls_silent_is_taken_up_again() {
    let mock = Mock::new()
        .on(Rpc::ReadRows, Answer::rows(["a"]).stall())
        .on(Rpc::ReadRows, Answer::rows(["b"]).wait(19 * SECOND).and_rows(["c"]));
    let table = table(&mock).with(|settings| settings.read_rows.idle_timeout = 20 * SECOND);
    assert_eq!(all(&table).await.unwrap(), ["a", "b", "c"]);
    assert_eq!(asked(&mock), ["[,)", "(a,)"]);
    let gap = gaps(&mock)[0];
    assert!(gap >= 20 * SECOND && gap <= 20 * SECOND + 30 * MILLISECOND, "{gap:?}");
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_stays_silent_is_a_deadline() {
    let mock = silent();
    let table = table(&mock).with(|settings| {
        settings.read_rows.idle_timeout = 20 * SECOND;
        settings.read_rows.max_attempts = 3;
    });
    let error = all(&table).await.unwrap_err();
    assert!(error.is_deadline_exceeded() && error.attempts() == 3, "{error}");
}

/// Only time spent waiting for the server counts.
#[tokio::test(start_paused = true)]
async fn a_slow_reader_is_no_silent_server() {
    let answer = Answer::rows(["a", "b"]).wait(SECOND).and_rows(["c"]);
    let mock = Mock::new().on(Rpc::ReadRows, answer);
    let table = table(&mock).with(|settings| settings.read_rows.idle_timeout = 5 * SECOND);
    let mut rows = table.read_rows(ReadRows::all());
    let mut read = Vec::new();
    while let Some(row) = rows.try_next().await.unwrap() {
        read.push(text(row.key()));
        sleep(60 * SECOND).await;
    }
    assert_eq!((read.join(" ").as_str(), mock.requests().len()), ("a b c", 1));
}

#[tokio::test(start_paused = true)]
async fn messages_without_rows_break_the_silence() {
    let markers =
        (10..30).fold(Answer::new(), |answer, row| answer.wait(4 * SECOND).scanned(format!("row-{row}")));
    let mock = Mock::new().on(Rpc::ReadRows, markers.and_rows(["z"]));
    let table = table(&mock).with(|settings| settings.read_rows.idle_timeout = 5 * SECOND);
    assert_eq!(keys(table.read_rows(ReadRows::all())).await.unwrap(), ["z"]);
    assert_eq!(mock.requests().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_timeout_of_zero_expires_at_once() {
    let mock = silent();
    let table = within(&mock, Duration::ZERO);
    assert_eq!(code(table.mutate_row("k", set()).await), Code::DeadlineExceeded);
    assert_eq!(code(table.read_row("k", None).await), Code::DeadlineExceeded);
    let table = table.with(|settings| {
        settings.mutate_row.total_timeout = SECOND;
        settings.mutate_row.attempt_timeout = Duration::ZERO;
    });
    let error = table.mutate_row("k", set()).await.unwrap_err();
    assert!(error.is_deadline_exceeded() && error.attempts() == 0, "{error}");
    assert!(error.to_string().ends_with("the timeout is 0ns"), "{error}");
    assert!(mock.requests().is_empty());
}

#[tokio::test(start_paused = true)]
async fn the_longest_times_are_never_over() {
    let mock = Mock::new()
        .on(Rpc::MutateRow, Answer::failure(Code::Unavailable))
        .on(Rpc::MutateRow, Answer::written())
        .on(Rpc::ReadRows, Answer::rows(["a"]).fail(Code::Unavailable))
        .on(Rpc::ReadRows, Answer::rows(["b"]));
    let table = table(&mock).with(|settings| {
        settings.each(|call| {
            call.attempt_timeout = Duration::MAX;
            call.total_timeout = Duration::MAX;
            call.idle_timeout = Duration::MAX;
        });
    });
    table.mutate_row("k", set()).await.unwrap();
    assert_eq!(all(&table).await.unwrap(), ["a", "b"]);
}
