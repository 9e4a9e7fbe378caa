//! Attempts that end at their deadline, whether by this process's clock or by the server's, which knows the same
//! timeout.

use std::pin::pin;

use futures_util::FutureExt as _;
use h2::Reason;
use keyderive::__private::connected_by;
use keyderive::client::RawTable;
use keyderive::row::ReadModifyWrite;
use keyderive::{Client, Error};
use keyderive_scripted::{Answer, Gate, Mock};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};
use tokio::time::{Duration, Instant, advance, sleep};

use crate::support::{MILLISECOND, set, table};

/// How long each attempt may take.
const TIMEOUT: Duration = Duration::from_secs(2);

/// How long the mock waits before it sends a reset or breaks a connection.
const FLUSH: Duration = Duration::from_millis(2);

/// How often each ending is tried, spread from the deadline to 20 ms after it.
const TIMES: u32 = 1000;

/// A table whose operations have one attempt.
fn once(table: &RawTable) -> RawTable {
    table.with(|settings| {
        settings.each(|call| {
            call.attempt_timeout = TIMEOUT;
            call.total_timeout = 10 * TIMEOUT;
            call.max_attempts = 1;
        });
    })
}

/// The error of an operation whose stream the server ends `at` after its start. The operation is polled only after
/// the end has arrived, as in a busy process.
async fn ends<T: std::fmt::Debug>(
    mock: &Mock,
    gate: &Gate,
    at: Duration,
    operation: impl Future<Output = Result<T, Error>>,
) -> Error {
    let (begun, before) = (Instant::now(), mock.requests().len());
    let mut operation = pin!(operation);
    while mock.requests().len() == before {
        assert!((&mut operation).now_or_never().is_none());
        tokio::task::yield_now().await;
    }
    advance((at - FLUSH).saturating_sub(begun.elapsed())).await;
    gate.open();
    sleep(FLUSH + 2 * MILLISECOND).await;
    operation.await.unwrap_err()
}

/// Ends the stream of an answer.
type End = fn(Answer) -> Answer;

/// The ways in which a server ends a stream, or the connection under it.
fn endings() -> [(&'static str, End); 3] {
    [
        ("CANCEL", |answer| answer.reset(Reason::CANCEL)),
        ("GOAWAY", |answer| answer.go_away_now(Reason::NO_ERROR)),
        ("a closed socket", Answer::drop_connection),
    ]
}

/// A server that ends each stream by `end` when its gate opens.
fn ending(end: fn(Answer) -> Answer) -> (Mock, Gate) {
    let gate = Gate::new();
    let held = gate.clone();
    (Mock::new().by(move |_| end(Answer::new().hold(&held))), gate)
}

#[tokio::test(start_paused = true)]
async fn what_the_server_ends_at_the_deadline_is_a_deadline() {
    for (name, end) in endings() {
        let mut others = Vec::new();
        for time in 0..TIMES {
            let (mock, gate) = ending(end);
            let table = once(&table(&mock));
            let at = TIMEOUT + 20 * MILLISECOND * time / TIMES;
            let error = match time % 2 {
                0 => {
                    let write = table.check_and_mutate_row("k", None, set().into(), Vec::new());
                    ends(&mock, &gate, at, write).await
                }
                _ => {
                    let rules = vec![ReadModifyWrite::increment("f", "q", 1)];
                    ends(&mock, &gate, at, table.read_modify_write_row("k", rules)).await
                }
            };
            if !error.is_deadline_exceeded() || error.is_unavailable() || error.grpc_code() != Some(4) {
                others.push(error);
            }
        }
        assert!(others.is_empty(), "{name}: {} of {TIMES} are others: {}", others.len(), others[0]);
    }
}

#[tokio::test(start_paused = true)]
async fn what_the_server_ends_before_the_deadline_is_unavailable() {
    for (name, end) in endings() {
        let (mock, gate) = ending(end);
        let table = once(&table(&mock));
        let write = table.check_and_mutate_row("k", None, set().into(), Vec::new());
        let error = ends(&mock, &gate, TIMEOUT - 20 * MILLISECOND, write).await;
        assert!(error.is_unavailable() && !error.is_deadline_exceeded(), "{name}: {error}");
    }
}

/// A refused stream was never processed, whatever the clock says.
#[tokio::test(start_paused = true)]
async fn a_stream_that_is_refused_at_the_deadline_is_no_deadline() {
    for time in 0..TIMES {
        let (mock, gate) = ending(|answer| answer.reset(Reason::REFUSED_STREAM));
        let table = once(&table(&mock));
        let at = TIMEOUT + 20 * MILLISECOND * time / TIMES;
        let write = table.check_and_mutate_row("k", None, set().into(), Vec::new());
        refused(&ends(&mock, &gate, at, write).await);
        refused(&above_the_last_stream(at).await);
    }
    let before = TIMEOUT - 20 * MILLISECOND;
    refused(&above_the_last_stream(before).await);
}

#[track_caller]
fn refused(error: &Error) {
    assert!(
        error.is_unavailable() && !error.is_deadline_exceeded() && !error.is_outcome_unknown(),
        "{error}"
    );
}

/// The error of a write when the server says, `at` after its start, that it has processed no stream at all.
async fn above_the_last_stream(at: Duration) -> Error {
    /// An empty SETTINGS, and GOAWAY with last stream 0 and `NO_ERROR`, as in RFC 9113, 6.5 and 6.8.
    const SETTINGS: [u8; 9] = [0, 0, 0, 4, 0, 0, 0, 0, 0];
    const GOAWAY: [u8; 17] = [0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    async fn serve(mut pipe: DuplexStream, at: Duration) {
        pipe.write_all(&SETTINGS).await.unwrap();
        sleep(at).await;
        let _ = pipe.write_all(&GOAWAY).await;
        // The pipe stays open and silent.
        let _ = pipe.read_to_end(&mut Vec::new()).await;
    }
    let connect = move || {
        let (near, far) = tokio::io::duplex(1 << 16);
        tokio::spawn(serve(far, at));
        std::future::ready(Ok(near)).boxed()
    };
    let table = once(&connected_by(Client::builder(), connect).unwrap().raw_table("events"));
    let mut write = pin!(table.check_and_mutate_row("k", None, set().into(), Vec::new()));
    for _ in 0..20 {
        assert!((&mut write).now_or_never().is_none());
        tokio::task::yield_now().await;
    }
    sleep(at + 2 * MILLISECOND).await;
    write.await.unwrap_err()
}
