//! Which failures are retried, when, and how often.

use std::time::Duration;

use keyderive::Error;
use keyderive::client::{RawTable, ReadRows};
use keyderive::row::Mutation;
use keyderive_scripted::{Answer, Failure, Mock, Rpc};
use tonic::Code;

use crate::support::{MILLISECOND, SECOND, all, code, entries, gaps, keys, set, table};

const TRANSIENT: [Code; 3] = [Code::Unavailable, Code::DeadlineExceeded, Code::Aborted];

const FINAL: [Code; 13] = [
    Code::Cancelled,
    Code::Unknown,
    Code::InvalidArgument,
    Code::NotFound,
    Code::AlreadyExists,
    Code::PermissionDenied,
    Code::ResourceExhausted,
    Code::FailedPrecondition,
    Code::OutOfRange,
    Code::Unimplemented,
    Code::Internal,
    Code::DataLoss,
    Code::Unauthenticated,
];

/// A server that fails once for each of `failures`, and then succeeds.
fn failing(failures: impl IntoIterator<Item = Failure>) -> Mock {
    let rpcs = [Rpc::ReadRows, Rpc::SampleRowKeys, Rpc::MutateRow, Rpc::MutateRows];
    let failures: Vec<_> = failures.into_iter().collect();
    let on = |mock: Mock, rpc| {
        failures.iter().fold(mock, |mock, failure| mock.on(rpc, Answer::failure(failure.clone())))
    };
    rpcs.into_iter().fold(Mock::new(), on).by(|request| match request.rpc {
        Rpc::ReadRows => Answer::rows(["k"]),
        Rpc::SampleRowKeys => Answer::samples([("k", 7)]),
        Rpc::MutateRow => Answer::written(),
        Rpc::MutateRows => Answer::outcomes([(0, Code::Ok)]),
        Rpc::CheckAndMutateRow => Answer::matched(true),
        _ => Answer::new(),
    })
}

/// The results of a point read, a scan, sampling, and idempotent writes by both RPCs.
async fn outcomes(table: &RawTable) -> Vec<Option<Code>> {
    let failed = |code: Option<i32>| code.map(Code::from);
    vec![
        failed(table.read_row("k", None).await.err().and_then(|error| error.grpc_code())),
        failed(all(table).await.err().and_then(|error| error.grpc_code())),
        failed(table.sample_row_keys().await.err().and_then(|error| error.grpc_code())),
        failed(table.mutate_row("k", set()).await.err().and_then(|error| error.grpc_code())),
        failed(table.mutate_rows(entries(["k"])).await[0].as_ref().err().and_then(Error::grpc_code)),
    ]
}

#[tokio::test(start_paused = true)]
async fn transient_failures_are_retried() {
    for passing in TRANSIENT {
        let mock = failing([passing.into()]);
        // Each RPC fails once: the point read consumes the failure that the scan would meet.
        assert_eq!(outcomes(&table(&mock)).await, [None; 5], "{passing:?}");
        assert_eq!(mock.requests().len(), 9, "{passing:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn final_failures_are_not_retried() {
    for last in FINAL {
        let mock = failing([last.into(), last.into()]);
        // The scan consumes the second failure of `ReadRows`, which it shares with the point read.
        assert_eq!(outcomes(&table(&mock)).await, [Some(last); 5], "{last:?}");
        assert_eq!(mock.requests().len(), 5, "{last:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_error_says_what_failed_and_how_often() {
    let mock = failing(vec![Code::Unavailable.into(); 4]);
    let table = table(&mock).with(|settings| settings.each(|call| call.max_attempts = 4));
    let error = table.mutate_row("k", set()).await.unwrap_err();
    assert!(error.is_unavailable() && error.is_retryable() && error.attempts() == 4, "{error}");
    let shown = error.to_string();
    assert!(shown.contains("MutateRow") && shown.contains("`events`"), "{shown}");
    assert!(shown.contains("UNAVAILABLE") && shown.contains("as scripted") && shown.contains('4'), "{shown}");
}

/// Front ends send transient failures as internal errors; their texts tell which.
#[tokio::test(start_paused = true)]
async fn transient_internal_errors_are_retried() {
    for message in [
        "HTTP/2 error code: INTERNAL_ERROR\nReceived Rst Stream",
        "stream terminated by RST_STREAM with error code: 2",
        "Authentication backend internal server error. Please retry.",
        "Stream closed before write could take place",
    ] {
        let mock = failing([Failure::new(Code::Internal, message)]);
        assert_eq!(outcomes(&table(&mock)).await, [None; 5], "{message}");
    }
}

#[tokio::test(start_paused = true)]
async fn samples_begin_anew() {
    let mock = Mock::new()
        .on(Rpc::SampleRowKeys, Answer::samples([("a", 1), ("b", 2)]).fail(Code::Unavailable))
        .on(Rpc::SampleRowKeys, Answer::samples([("c", 3), ("", 4)]));
    let samples = table(&mock).sample_row_keys().await.unwrap();
    assert_eq!(samples, [("c".into(), 3), ("".into(), 4)]);
}

/// A second attempt would store a second version, or count twice.
#[tokio::test(start_paused = true)]
async fn writes_that_are_not_idempotent_are_sent_once() {
    for mutation in [
        Mutation::set_now("f", "q", "v"),
        Mutation::set("f", "q", -1, "v"),
        Mutation::add_to_cell("f", "q", 1000, 1),
        Mutation::merge_to_cell("f", "q", 1000, "state"),
    ] {
        let mutations = [set()[0].clone(), mutation];
        let mock = failing([Code::Unavailable.into()]);
        let table = table(&mock);
        let error = table.mutate_row("k", mutations.clone()).await.unwrap_err();
        assert!(error.is_unavailable() && error.attempts() == 1, "{error}");
        assert_eq!(
            code(table.mutate_rows(vec![("k".into(), mutations.into())]).await.all_written()),
            Code::Unavailable
        );
        assert_eq!(mock.requests().len(), 2);
    }
}

#[tokio::test(start_paused = true)]
async fn deletions_are_idempotent() {
    let mock = failing([Code::Unavailable.into()]);
    let deletions = [
        Mutation::delete_column("f", "q"),
        Mutation::delete_versions("f", "q", 1000..2000),
        Mutation::delete_family("f"),
        Mutation::delete_row(),
    ];
    table(&mock).mutate_row("k", deletions).await.unwrap();
    assert_eq!(mock.requests().len(), 2);
}

/// Each backoff is random, from half of its limit to all of it. The limit starts at 25 ms and doubles. Google's conformance suite requires more
/// than 10 ms.
#[tokio::test(start_paused = true)]
async fn pauses_grow_from_failure_to_failure() {
    let mock = failing(vec![Code::Unavailable.into(); 6]);
    table(&mock).mutate_row("k", set()).await.unwrap();
    for (gap, longest) in gaps(&mock).into_iter().zip([25, 50, 100, 200, 400, 800]) {
        between(gap, longest * MILLISECOND / 2, longest * MILLISECOND);
    }
}

#[tokio::test(start_paused = true)]
async fn pauses_are_those_of_the_settings() {
    let mock = failing(vec![Code::Unavailable.into(); 4]);
    let table = table(&mock).with(|settings| {
        settings.mutate_row.backoff.initial = SECOND;
        settings.mutate_row.backoff.multiplier = 3.0;
        settings.mutate_row.backoff.max = 5 * SECOND;
    });
    table.mutate_row("k", set()).await.unwrap();
    for (gap, longest) in gaps(&mock).into_iter().zip([1, 3, 5, 5]) {
        between(gap, longest * SECOND / 2, longest * SECOND);
    }
}

#[tokio::test(start_paused = true)]
async fn pauses_of_clients_that_failed_together_differ() {
    let mut first = Vec::new();
    for _ in 0..8 {
        let mock = failing([Code::Unavailable.into()]);
        table(&mock).mutate_row("k", set()).await.unwrap();
        first.extend(gaps(&mock));
    }
    first.sort_unstable();
    first.dedup();
    assert!(first.len() > 1, "{first:?}");
}

#[tokio::test(start_paused = true)]
async fn attempts_end_at_their_limit() {
    let mock = failing(vec![Code::Unavailable.into(); 100]);
    let table = table(&mock).with(|settings| settings.each(|call| call.max_attempts = 3));
    let outcomes = outcomes(&table).await;
    assert_eq!(outcomes, [Some(Code::Unavailable); 5]);
    assert_eq!(mock.requests().len(), 15);
}

#[tokio::test(start_paused = true)]
async fn a_scan_without_progress_is_tried_ten_times() {
    let mock = failing(vec![Code::Unavailable.into(); 100]);
    let error = all(&table(&mock)).await.unwrap_err();
    assert!(error.is_unavailable() && error.attempts() == 10, "{error}");
    assert_eq!(mock.requests().len(), 10);
}

/// Each row that arrives resets the attempts and the backoff.
#[tokio::test(start_paused = true)]
async fn rows_are_progress() {
    let rows: Vec<String> = (10..40).map(|row| format!("row-{row}")).collect();
    let mock = rows.iter().fold(Mock::new(), |mock, row| {
        mock.on(Rpc::ReadRows, Answer::rows([row.clone()]).fail(Code::Unavailable))
    });
    let mock = mock.on(Rpc::ReadRows, Answer::new());
    assert_eq!(all(&table(&mock)).await.unwrap(), rows);
    gaps(&mock).into_iter().for_each(|gap| between(gap, 12 * MILLISECOND, 25 * MILLISECOND));
}

#[tokio::test(start_paused = true)]
async fn scan_markers_are_progress() {
    let markers: Vec<String> = (10..40).map(|row| format!("row-{row}")).collect();
    let mock = markers.iter().fold(Mock::new(), |mock, row| {
        mock.on(Rpc::ReadRows, Answer::new().scanned(row.clone()).fail(Code::Unavailable))
    });
    let mock = mock.on(Rpc::ReadRows, Answer::rows(["z"]));
    assert_eq!(all(&table(&mock)).await.unwrap(), ["z"]);
    gaps(&mock).into_iter().for_each(|gap| between(gap, 12 * MILLISECOND, 25 * MILLISECOND));
}

/// The server's delay overrides both the code and the client's backoff.
#[tokio::test(start_paused = true)]
async fn a_server_says_when_to_come_back() {
    for any in TRANSIENT.into_iter().chain(FINAL) {
        let mock = failing([Failure::new(any, "busy").retry_after(7 * SECOND)]);
        let table = table(&mock);
        table.mutate_row("k", set()).await.unwrap();
        assert_eq!(gaps(&mock).as_slice(), exactly(&gaps(&mock), 7 * SECOND), "{any:?}");
        assert_eq!(outcomes(&table).await, [None; 5], "{any:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_scan_goes_on_when_the_server_says() {
    let busy = Failure::new(Code::ResourceExhausted, "busy").retry_after(2500 * MILLISECOND);
    let mock =
        Mock::new().on(Rpc::ReadRows, Answer::rows(["a"]).fail(busy)).on(Rpc::ReadRows, Answer::rows(["b"]));
    assert_eq!(keys(table(&mock).read_rows(ReadRows::all())).await.unwrap(), ["a", "b"]);
    exactly(&gaps(&mock), 2500 * MILLISECOND);
}

#[tokio::test(start_paused = true)]
async fn pauses_begin_anew_after_a_delay_that_the_server_named() {
    let plain = || Failure::from(Code::Unavailable);
    let said = plain().retry_after(3 * SECOND);
    let mock = failing([plain(), plain(), plain(), said, plain(), plain()]);
    table(&mock).mutate_row("k", set()).await.unwrap();
    let gaps = gaps(&mock);
    exactly(&gaps[3..4], 3 * SECOND);
    between(gaps[4], 12 * MILLISECOND, 25 * MILLISECOND);
    between(gaps[5], 25 * MILLISECOND, 50 * MILLISECOND);
}

#[tokio::test(start_paused = true)]
async fn a_delay_of_zero_is_no_pause() {
    let mock = failing([Failure::new(Code::Unavailable, "again").retry_after(Duration::ZERO)]);
    table(&mock).mutate_row("k", set()).await.unwrap();
    exactly(&gaps(&mock), Duration::ZERO);
}

/// Fails unless the only delay is `pause`, up to the milliseconds that a timer rounds up.
fn exactly(gaps: &[Duration], pause: Duration) -> &[Duration] {
    assert_eq!(gaps.len(), 1);
    between(gaps[0], pause, pause);
    gaps
}

#[track_caller]
fn between(gap: Duration, least: Duration, most: Duration) {
    assert!(least <= gap && gap <= most + 2 * MILLISECOND, "{gap:?} is not between {least:?} and {most:?}");
}
