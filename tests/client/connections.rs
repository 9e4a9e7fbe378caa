//! How connections and streams end, and what the client makes of it. Every event really happens on a connection.

use std::time::Duration;

use futures_util::TryStreamExt as _;
use h2::Reason;
use keyderive::ErrorKind;
use keyderive::client::{RawTable, ReadRows};
use keyderive::row::Mutation;
use keyderive_scripted::{Answer, Door, Mock, Rpc};
use tokio::time::{Instant, sleep, timeout};
use tonic::Code;

use crate::support::{
    MILLISECOND, SECOND, all, asked, entries, gaps, keys, keys_and_error, opened_after, set, table,
    table_by_socket, text,
};

/// Sockets take real time; a test that takes this long hangs.
const TOO_LONG: Duration = Duration::from_secs(20);

/// A server whose first `ReadRows` sends `a` and then ends as `end` says; the next one sends `b`.
fn ending(end: impl Fn(Answer) -> Answer) -> Mock {
    Mock::new().on(Rpc::ReadRows, end(Answer::rows(["a"]))).on(Rpc::ReadRows, Answer::rows(["b"]))
}

/// Its stream is reset, or its connection breaks, at once or after a grace period for the requests in flight. The client backs off as after
/// other failures.
#[tokio::test(start_paused = true)]
async fn a_scan_goes_on_when_its_stream_or_its_connection_ends() {
    let over = |answer: Answer| answer.wait(4 * SECOND).go_away().wait(SECOND).drop_connection();
    let mut ends = vec![
        ("a broken connection".to_owned(), ending(Answer::drop_connection)),
        ("an old connection".to_owned(), ending(over)),
    ];
    for reason in [Reason::NO_ERROR, Reason::ENHANCE_YOUR_CALM, Reason::INTERNAL_ERROR] {
        ends.push((format!("GOAWAY with {reason:?}"), ending(|answer| answer.go_away_now(reason))));
    }
    for reason in [
        Reason::NO_ERROR,
        Reason::INTERNAL_ERROR,
        Reason::CANCEL,
        Reason::REFUSED_STREAM,
        Reason::ENHANCE_YOUR_CALM,
        Reason::PROTOCOL_ERROR,
    ] {
        ends.push((format!("RST_STREAM with {reason:?}"), ending(|answer| answer.reset(reason))));
    }
    for (end, mock) in ends {
        println!("{end}");
        goes_on(&mock, &table(&mock)).await;
        if end == "a broken connection" {
            assert_eq!(mock.requests()[1].connection, 1);
            let gap = gaps(&mock)[0];
            assert!(gap >= 12 * MILLISECOND && gap <= 40 * MILLISECOND, "{gap:?}");
        }
    }
}

/// Fails unless a scan over `mock` reads `a` and `b` with two requests.
async fn goes_on(mock: &Mock, table: &RawTable) {
    let read = timeout(TOO_LONG, all(table)).await.expect("the scan hangs").unwrap();
    assert_eq!(read, ["a", "b"]);
    assert_eq!(asked(mock), ["[,)", "(a,)"]);
}

#[tokio::test]
async fn a_scan_goes_on_when_its_socket_breaks() {
    let mock = ending(Answer::drop_connection);
    goes_on(&mock, &table_by_socket(&mock).await).await;
}

#[tokio::test]
async fn a_scan_goes_on_when_its_server_is_killed_and_comes_back() {
    let mock = ending(Answer::stall);
    let table = table_by_socket(&mock).await;
    let mut rows = table.read_rows(ReadRows::all());
    assert_eq!(text(rows.try_next().await.unwrap().unwrap().key()), "a");
    mock.stop().await;
    let restart = async {
        sleep(100 * MILLISECOND).await;
        mock.listen().await;
    };
    let (rest, ()) = timeout(TOO_LONG, async { tokio::join!(keys(rows), restart) }).await.unwrap();
    assert_eq!(rest.unwrap(), ["b"]);
    assert_eq!(asked(&mock), ["[,)", "(a,)"]);
}

#[tokio::test]
async fn a_server_that_comes_back_is_found_again() {
    let mock = Mock::new().by(|_| Answer::written());
    let table = table_by_socket(&mock).await;
    for _ in 0..3 {
        timeout(TOO_LONG, table.mutate_row("k", set())).await.unwrap().unwrap();
        mock.stop().await;
        mock.listen().await;
    }
    assert_eq!(mock.requests().len(), 3);
}

/// Google's front ends do this to connections after an hour.
#[tokio::test(start_paused = true)]
async fn a_stream_ends_well_on_a_connection_that_takes_no_more() {
    let mock = Mock::new()
        .on(Rpc::ReadRows, Answer::rows(["a"]).go_away().wait(SECOND).and_rows(["b"]))
        .on(Rpc::ReadRows, Answer::rows(["c"]));
    let table = table(&mock);
    assert_eq!(all(&table).await.unwrap(), ["a", "b"]);
    assert_eq!(all(&table).await.unwrap(), ["c"]);
    let connections: Vec<_> = mock.requests().iter().map(|request| request.connection).collect();
    assert_eq!(connections, [0, 1]);
}

#[tokio::test(start_paused = true)]
async fn requests_go_on_when_an_idle_connection_takes_no_more() {
    let mock = Mock::new().by(|_| Answer::written());
    let table = table(&mock);
    for _ in 0..5 {
        table.mutate_row("k", set()).await.unwrap();
        mock.go_away();
        sleep(SECOND).await;
    }
    assert_eq!((mock.requests().len(), mock.connections()), (5, 5));
}

/// Holds for writes that are not idempotent too: each is sent once, over a live connection.
#[tokio::test(start_paused = true)]
async fn requests_go_on_when_an_idle_connection_breaks() {
    let mock = Mock::new().by(|_| Answer::written());
    let table = table(&mock);
    for _ in 0..5 {
        table.mutate_row("k", [Mutation::set_now("f", "q", "v")]).await.unwrap();
        mock.drop_connections();
        sleep(SECOND).await;
    }
    assert_eq!(mock.requests().len(), 5);
}

#[tokio::test(start_paused = true)]
async fn every_operation_that_may_be_made_twice_is_made_again_when_its_connection_breaks() {
    let lost = || Answer::new().drop_connection();
    let mock = Mock::new()
        .on(Rpc::ReadRows, lost())
        .on(Rpc::ReadRows, Answer::rows(["k"]))
        .on(Rpc::SampleRowKeys, Answer::samples([("a", 1)]).drop_connection())
        .on(Rpc::SampleRowKeys, Answer::samples([("b", 2)]))
        .on(Rpc::MutateRow, lost())
        .on(Rpc::MutateRow, Answer::written())
        .on(Rpc::MutateRows, Answer::outcomes([(1, Code::Ok)]).drop_connection())
        .on(Rpc::MutateRows, Answer::outcomes([(0, Code::Ok)]));
    let table = table(&mock);
    assert!(table.read_row("k", None).await.unwrap().is_some());
    assert_eq!(table.sample_row_keys().await.unwrap(), [("b".into(), 2)]);
    table.mutate_row("k", set()).await.unwrap();
    assert!(table.mutate_rows(entries(["a", "b"])).await.iter().all(Result::is_ok));
    assert_eq!(mock.requests().len(), 8);
}

#[tokio::test(start_paused = true)]
async fn a_write_whose_outcome_is_lost_is_not_made_twice() {
    let mock =
        Mock::new().on(Rpc::MutateRow, Answer::new().drop_connection()).on(Rpc::MutateRow, Answer::written());
    let error = table(&mock).mutate_row("k", [Mutation::set_now("f", "q", "v")]).await.unwrap_err();
    assert!(error.is_unavailable() && error.attempts() == 1, "{error}");
    assert_eq!(mock.requests().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_breaks_is_unavailable_and_says_why() {
    let mock = Mock::new().by(|_| Answer::rows(["a"]).drop_connection());
    let table = table(&mock).with(|settings| settings.read_rows.max_attempts = 1);
    let (_, error) = keys_and_error(table.read_rows(ReadRows::all())).await;
    assert!(error.is_unavailable() && error.is_retryable(), "{error}");
    assert!(std::error::Error::source(&error).is_some(), "{error:?}");
    assert!(error.to_string().contains("UNAVAILABLE") && error.to_string().contains("test:1"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_is_refused_is_tried_again() {
    let mock = Mock::new().by(|_| Answer::rows(["k"]));
    assert_eq!(opened_after(&mock, 2 * SECOND, all(&table(&mock))).await.unwrap(), ["k"]);
    assert_eq!(mock.requests().len(), 1);
}

/// The last backoff is shortened to the time that is left, so that one more attempt fits.
#[tokio::test(start_paused = true)]
async fn a_connection_that_is_refused_is_tried_again_before_the_time_is_over() {
    let mock = Mock::new().by(|_| Answer::rows(["k"]));
    let table = table(&mock).with(|settings| settings.read_rows.backoff.initial = 10 * SECOND);
    assert_eq!(opened_after(&mock, 2 * SECOND, all(&table)).await.unwrap(), ["k"]);
}

/// Even a write that is not idempotent: it was never sent.
#[tokio::test(start_paused = true)]
async fn a_write_that_was_not_sent_is_sent_again() {
    let mock = Mock::new().by(|_| Answer::written());
    let table = table(&mock);
    let write = table.mutate_row("k", [Mutation::set_now("f", "q", "v")]);
    opened_after(&mock, SECOND, write).await.unwrap();
    assert_eq!(mock.requests().len(), 1);
}

#[tokio::test]
async fn a_port_where_nothing_listens_is_unavailable() {
    let mock = Mock::new();
    let table = table_by_socket(&mock).await;
    mock.stop().await;
    let table = table.with(|settings| settings.mutate_row.total_timeout = 200 * MILLISECOND);
    let error = timeout(TOO_LONG, table.mutate_row("k", set())).await.unwrap().unwrap_err();
    assert!(error.is_unavailable() && error.attempts() >= 2, "{error}");
    assert!(std::error::Error::source(&error).is_some());
}

/// The client retries through an outage for the operation's total timeout.
#[tokio::test(start_paused = true)]
async fn a_server_that_has_answered_is_waited_for() {
    let mock = Mock::new().by(|_| Answer::written());
    let table = table(&mock);
    table.mutate_row("k", set()).await.unwrap();
    mock.drop_connections();
    opened_after(&mock, 40 * SECOND, table.mutate_row("k", set())).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_is_never_there_is_unavailable() {
    let mock = Mock::new();
    mock.set_door(Door::Stuck);
    let begun = Instant::now();
    let error = table(&mock).mutate_row("k", set()).await.unwrap_err();
    assert!(error.is_unavailable() || error.is_deadline_exceeded(), "{error}");
    assert!(begun.elapsed() <= 61 * SECOND, "{:?}", begun.elapsed());
}

/// The server dies silently: keepalive probes detect it long before the idle timeout of the stream.
#[tokio::test(start_paused = true)]
async fn a_connection_without_a_server_is_found_out() {
    let mock = Mock::new().by(|request| match request.connection {
        0 => Answer::rows(["a"]).stall(),
        _ => Answer::rows(["b"]),
    });
    let table = table(&mock);
    let mut rows = table.read_rows(ReadRows::all());
    rows.try_next().await.unwrap();
    mock.freeze();
    let begun = Instant::now();
    assert_eq!(keys(rows).await.unwrap(), ["b"]);
    assert!(begun.elapsed() < 60 * SECOND, "{:?}", begun.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_message_above_the_limit_is_final() {
    let mock = ending(|answer| answer.oversize((256 << 20) + 1));
    let (read, error) = keys_and_error(table(&mock).read_rows(ReadRows::all())).await;
    assert_eq!((read, asked(&mock).len()), (vec!["a".to_owned()], 1));
    assert!(error.kind() == ErrorKind::ResourceExhausted && !error.is_retryable(), "{error}");
}

/// Four times tonic's default limit.
#[tokio::test]
async fn large_messages_are_taken() {
    let value = vec![7; 1 << 20];
    let chunk = |key: u8| keyderive_scripted::row(vec![key]).value(value.clone());
    let mock = Mock::new().on(Rpc::ReadRows, Answer::chunks((0..16).map(chunk)));
    assert_eq!(all(&table_by_socket(&mock).await).await.unwrap().len(), 16);
}

#[tokio::test(start_paused = true)]
async fn a_message_that_cannot_be_decoded_is_final() {
    let mock = ending(Answer::garbage);
    let (_, error) = keys_and_error(table(&mock).read_rows(ReadRows::all())).await;
    assert_eq!(error.grpc_code(), Some(Code::Internal.into()), "{error}");
    assert_eq!(asked(&mock).len(), 1);
}

/// These codes are final when a server sends them, but not when a connection breaks.
#[tokio::test(start_paused = true)]
async fn codes_that_the_server_sends_are_the_servers() {
    for code in [Code::Cancelled, Code::Unknown, Code::ResourceExhausted] {
        let mock = ending(|answer| answer.fail(code));
        let (_, error) = keys_and_error(table(&mock).read_rows(ReadRows::all())).await;
        assert!(error.grpc_code() == Some(code.into()) && !error.is_retryable(), "{error}");
        assert_eq!(asked(&mock).len(), 1);
    }
}
