//! Writes of unknown outcome: which failures leave it unknown, and what the error says then.

use h2::Reason;
use keyderive::client::{RawTable, ReadRows};
use keyderive::row::{Mutation, ReadModifyWrite};
use keyderive::table::put_both;
use keyderive::{Error, ErrorKind, Row};
use keyderive_proto::data;
use keyderive_scripted::{Answer, Door, Failure, Mock, Rpc};
use keyderive_tests::fixtures::UserKey;
use tonic::Code;

use crate::support::{MILLISECOND, SECOND, all, client, entries, set, table};

/// With these codes, the server may have failed midway, or answer for another server.
const OPEN: [Code; 7] = [
    Code::Unavailable,
    Code::DeadlineExceeded,
    Code::Cancelled,
    Code::Aborted,
    Code::Unknown,
    Code::Internal,
    Code::DataLoss,
];

const REFUSED: [Code; 9] = [
    Code::InvalidArgument,
    Code::NotFound,
    Code::AlreadyExists,
    Code::PermissionDenied,
    Code::ResourceExhausted,
    Code::FailedPrecondition,
    Code::OutOfRange,
    Code::Unimplemented,
    Code::Unauthenticated,
];

/// A table whose operations have one attempt.
fn once(mock: &Mock) -> RawTable {
    table(mock).with(|settings| {
        settings.each(|call| {
            call.max_attempts = 1;
            call.attempt_timeout = SECOND;
        });
    })
}

/// The errors of writes: the idempotent ones, and the others.
async fn writes(table: &RawTable) -> ([Error; 2], [Error; 4]) {
    let increment = vec![ReadModifyWrite::increment("f", "q", 1)];
    let now = [Mutation::set_now("f", "q", "v")];
    let repeatable = [
        table.mutate_row("k", set()).await.unwrap_err(),
        table.mutate_rows(entries(["k"])).await.all_written().unwrap_err(),
    ];
    let others = [
        table.mutate_row("k", now.clone()).await.unwrap_err(),
        table.mutate_rows(vec![("k".into(), now.into())]).await.all_written().unwrap_err(),
        table.check_and_mutate_row("k", None, set().into(), Vec::new()).await.unwrap_err(),
        table.read_modify_write_row("k", increment).await.unwrap_err(),
    ];
    (repeatable, others)
}

/// Fails unless every write fails, with an unknown outcome if `is_open`, and with a known one otherwise.
async fn end_open(mock: &Mock, is_open: bool) {
    let table = once(mock);
    let (repeatable, others) = writes(&table).await;
    for error in &others {
        assert!(!is_open || !error.is_retryable(), "{error}");
    }
    for error in repeatable.iter().chain(&others) {
        assert_eq!(error.is_outcome_unknown(), is_open, "{error}");
        assert_eq!(error.to_string().contains("; it may have been applied"), is_open, "{error}");
        assert_eq!(error.redacted().to_string().contains("; it may have been applied"), is_open, "{error}");
    }
    for read in [
        table.read_row("k", None).await.unwrap_err(),
        all(&table).await.unwrap_err(),
        table.sample_row_keys().await.unwrap_err(),
    ] {
        assert!(!read.is_outcome_unknown() && !read.to_string().contains("applied"), "{read}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_servers_answer_refuses_a_write_or_leaves_it_open() {
    for (codes, is_open) in [(&OPEN[..], true), (&REFUSED[..], false)] {
        for code in codes {
            end_open(&Mock::new().by(|_| Answer::failure(*code)), is_open).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_lost_answer_leaves_a_write_open() {
    let endings: [fn() -> Answer; 6] = [
        || Answer::new().stall(),
        || Answer::new().drop_connection(),
        || Answer::new().reset(Reason::CANCEL),
        || Answer::new().reset(Reason::INTERNAL_ERROR),
        || Answer::new().go_away_now(Reason::NO_ERROR),
        || Answer::new().garbage(),
    ];
    for ending in endings {
        end_open(&Mock::new().by(move |_| ending()), true).await;
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_not_sent_or_not_begun_is_not_open() {
    let mock = Mock::new();
    mock.set_door(Door::Shut);
    end_open(&mock, false).await;
    end_open(&Mock::new().by(|_| Answer::new().reset(Reason::REFUSED_STREAM)), false).await;
}

/// An answer that is too large to decode is still an answer: the write was applied.
#[tokio::test(start_paused = true)]
async fn an_answer_that_is_too_large_leaves_a_write_open() {
    let mock = Mock::new().by(|_| Answer::new().oversize((256 << 20) + 1));
    let increment = vec![ReadModifyWrite::increment("f", "q", 1)];
    let error = once(&mock).read_modify_write_row("k", increment).await.unwrap_err();
    assert!(error.is_outcome_unknown() && error.kind() == ErrorKind::ResourceExhausted, "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_later_refusal_leaves_the_outcome_unknown() {
    for last in [Failure::from(Code::PermissionDenied), Failure::from(Code::NotFound)] {
        let mock = Mock::new()
            .on(Rpc::MutateRow, Answer::failure(Code::Unavailable))
            .on(Rpc::MutateRow, Answer::failure(last.clone()))
            .on(Rpc::MutateRows, Answer::new().drop_connection())
            .on(Rpc::MutateRows, Answer::failure(last));
        let table = table(&mock);
        for error in [
            table.mutate_row("k", set()).await.unwrap_err(),
            table.mutate_rows(entries(["k"])).await.all_written().unwrap_err(),
        ] {
            assert!(error.is_outcome_unknown() && error.attempts() == 2, "{error}");
            // It is not transient: a retry would be rejected as well.
            assert!(!error.is_retryable(), "{error}");
        }
    }
    // The same holds when the time runs out before the next attempt.
    let mock = Mock::new().by(|_| Answer::failure(Code::Unavailable));
    let table = table(&mock).with(|settings| settings.each(|call| call.total_timeout = SECOND));
    for error in [
        table.mutate_row("k", set()).await.unwrap_err(),
        table.mutate_rows(entries(["k"])).await.all_written().unwrap_err(),
    ] {
        assert!(
            error.is_outcome_unknown() && error.is_deadline_exceeded() && error.is_retryable(),
            "{error}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn each_row_of_many_has_its_own_outcome() {
    let told = Answer::outcomes([(0, Code::Ok), (1, Code::FailedPrecondition), (2, Code::Internal)]);
    let mock = Mock::new()
        .on(Rpc::MutateRows, told.drop_connection())
        .on(Rpc::MutateRows, Answer::failure(Code::PermissionDenied));
    let outcomes = table(&mock).mutate_rows(entries(["a", "b", "c", "d"])).await;
    let unknown = |place: usize| outcomes[place].as_ref().unwrap_err().is_outcome_unknown();
    assert!(outcomes[0].is_ok() && !unknown(1) && unknown(2) && unknown(3), "{outcomes:?}");
    // A rejected request has changed no row; an answer without an entry's status says nothing about that row.
    let mock = Mock::new()
        .on(Rpc::MutateRows, Answer::failure(Code::NotFound))
        .on(Rpc::MutateRows, Answer::outcomes([(0, Code::Ok)]));
    let table = table(&mock);
    let refused = table.mutate_rows(entries(["a", "b"])).await;
    assert!(refused.iter().all(|outcome| !outcome.as_ref().unwrap_err().is_outcome_unknown()), "{refused:?}");
    let silent = table.mutate_rows(entries(["a", "b"])).await.into_iter().nth(1).unwrap().unwrap_err();
    assert!(silent.kind() == ErrorKind::ProtocolViolation && silent.is_outcome_unknown(), "{silent}");
}

#[tokio::test(start_paused = true)]
async fn what_was_refused_and_may_pass_is_sent_again() {
    let busy = || Failure::new(Code::ResourceExhausted, "busy").retry_after(SECOND);
    for refusal in [Answer::failure(busy()), Answer::new().reset(Reason::REFUSED_STREAM)] {
        let mock = Mock::new()
            .on(Rpc::CheckAndMutateRow, refusal.clone())
            .on(Rpc::CheckAndMutateRow, Answer::matched(true))
            .on(Rpc::MutateRow, refusal.clone())
            .on(Rpc::MutateRow, Answer::written())
            .on(Rpc::MutateRows, refusal)
            .on(Rpc::MutateRows, Answer::outcomes([(0, Code::Ok)]));
        let table = table(&mock);
        let now = [Mutation::set_now("f", "q", "v")];
        assert!(table.check_and_mutate_row("k", None, set().into(), Vec::new()).await.unwrap());
        table.mutate_row("k", now.clone()).await.unwrap();
        assert!(table.mutate_rows(vec![("k".into(), now.into())]).await[0].is_ok());
        assert_eq!(mock.requests().len(), 6);
    }
}

#[derive(Row)]
struct Counts {
    #[row(counter)]
    visits: i64,
}

/// The stored key of id 7.
const SEVEN: &str = "00000000000000000007";

#[tokio::test(start_paused = true)]
async fn errors_of_a_table_say_that_a_row_may_be_written() {
    let mock = Mock::new().by(|_| Answer::new().drop_connection());
    let client = client(&mock).with(|settings| settings.each(|call| call.max_attempts = 1));
    let counts = client.table::<UserKey, Counts>("counts");
    let row = Counts { visits: 1 };
    for error in [
        counts.put(&UserKey { id: 7 }, &row).await.unwrap_err(),
        counts.put_all([(UserKey { id: 7 }, Counts { visits: 1 })]).await.unwrap_err(),
        counts.increment(&UserKey { id: 7 }, Counts::VISITS, 1).await.unwrap_err(),
    ] {
        assert!(error.is_outcome_unknown() && error.row_key() == Some(SEVEN.as_bytes()), "{error}");
        assert!(!error.to_string().contains("was not written"), "{error}");
    }
    let error =
        put_both((&counts, &UserKey { id: 7 }, &row), (&counts, &UserKey { id: 8 }, &row)).await.unwrap_err();
    assert!(error.is_outcome_unknown() && error.is_retryable(), "{error}");
    assert_eq!(error.first().outcome(), keyderive::table::WriteOutcome::Unknown);
    assert_eq!(error.second().outcome(), keyderive::table::WriteOutcome::NotWritten);
    let writer = counts.writer();
    writer.put(&UserKey { id: 7 }, &row).await.unwrap();
    let errors = writer.close().await.unwrap_err();
    assert!(errors.is_outcome_unknown() && errors.failed()[0].error().is_outcome_unknown(), "{errors}");
    let text = errors.to_string();
    let begin = "1 of 1 rows may not have been written; the first: row `";
    assert!(text.starts_with(&format!("{begin}{SEVEN}` may not have been written: MutateRows")), "{text}");
}

/// Two attempts, neither of which the server applied.
#[tokio::test(start_paused = true)]
async fn a_row_of_two_that_was_refused_is_not_written() {
    let busy = Failure::new(Code::ResourceExhausted, "busy").retry_after(MILLISECOND);
    let mock = Mock::new().by(move |_| Answer::failure(busy.clone()));
    let client = client(&mock).with(|settings| settings.each(|call| call.max_attempts = 2));
    let counts = client.table::<UserKey, Counts>("counts");
    let row = Counts { visits: 1 };
    let error =
        put_both((&counts, &UserKey { id: 7 }, &row), (&counts, &UserKey { id: 8 }, &row)).await.unwrap_err();
    assert_eq!(error.first().outcome(), keyderive::table::WriteOutcome::NotWritten, "{error}");
    assert!(!error.is_outcome_unknown() && error.is_retryable(), "{error}");
}

#[test]
fn a_row_whose_runtime_ends_before_its_answer_may_be_written() {
    let mock = Mock::new().by(|_| Answer::new().stall());
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (first, second) = (runtime(), runtime());
    let (table, writer) = first.block_on(async {
        let table = table(&mock);
        let writer = table.writer_with(|settings| settings.batch_entries = 1);
        writer.write("k", set().into()).await.unwrap();
        while mock.requests().is_empty() {
            tokio::task::yield_now().await;
        }
        (table, writer)
    });
    drop(first);
    let errors = second.block_on(writer.close()).unwrap_err();
    let error = errors.failed()[0].error();
    assert!(error.is_outcome_unknown() && error.kind() != ErrorKind::Misconfiguration, "{error}");
    assert!(error.to_string().contains("the tokio runtime ended before the answer came"), "{error}");
    // An operation that starts then is not sent.
    let error = second.block_on(table.mutate_row("k", set())).unwrap_err();
    assert!(!error.is_outcome_unknown(), "{error}");
}

/// A scan writes nothing, however its stream ends.
#[tokio::test(start_paused = true)]
async fn a_failed_scan_has_no_unknown_outcome() {
    let mock = Mock::new().by(|_| Answer::rows(["a"]).drop_connection());
    let table = once(&mock);
    let (_, error) = crate::support::keys_and_error(table.read_rows(ReadRows::all())).await;
    assert!(!error.is_outcome_unknown(), "{error}");
}

/// A stream that is "refused" after the answer has begun was not: the server has taken the request.
#[tokio::test(start_paused = true)]
async fn a_refusal_after_the_answer_is_none() {
    let answer = || Answer::new().send(&data::ReadModifyWriteRowResponse::default());
    for answer in [answer().reset(Reason::REFUSED_STREAM), answer().go_away_now(Reason::NO_ERROR)] {
        let mock = Mock::new().by(move |_| answer.clone());
        let increment = vec![ReadModifyWrite::increment("f", "q", 1)];
        let error = table(&mock).read_modify_write_row("k", increment).await.unwrap_err();
        assert!(error.is_outcome_unknown(), "{error}");
        assert_eq!(mock.requests().len(), 1);
    }
}

/// A success in the head of an answer that goes on says nothing: the trailers do.
#[tokio::test(start_paused = true)]
async fn a_success_before_the_answer_is_none() {
    let mock = Mock::new()
        .on(Rpc::ReadRows, Answer::new().header("grpc-status", "0").fail(Code::Unavailable))
        .on(Rpc::ReadRows, Answer::rows(["k"]).header("grpc-status", "0"));
    assert!(table(&mock).read_row("k", None).await.unwrap().is_some());
}
