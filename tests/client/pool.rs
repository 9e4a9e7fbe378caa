//! Which connection a request uses, and how much one connection carries.

use std::time::Duration;

use bytes::Bytes;
use futures_util::TryStreamExt as _;
use futures_util::future::join_all;
use h2::Reason;
use keyderive::__private::connected_by;
use keyderive::Client;
use keyderive::client::{RawTable, ReadRows};
use keyderive_proto::data;
use keyderive_scripted::{Answer, Chunk, Gate, Mock, Rpc, cell};
use tokio::time::{sleep, timeout};
use tonic::Code;

use crate::support::{MILLISECOND, SECOND, all, set, table, table_by_socket, text};

const TOO_LONG: Duration = Duration::from_secs(30);

/// A table of `mock` over `connections` pipes.
fn table_by(mock: &Mock, connections: usize) -> RawTable {
    let client = connected_by(Client::builder().connections(connections), mock.connector());
    client.unwrap().raw_table("events")
}

/// How many requests arrived over each connection.
fn carried(mock: &Mock) -> Vec<usize> {
    let mut carried = vec![0; mock.connections()];
    mock.requests().iter().for_each(|request| carried[request.connection] += 1);
    carried.sort_unstable();
    carried
}

/// A server that answers writes and scans once the gate opens.
fn after(gate: &Gate) -> Mock {
    let gate = gate.clone();
    Mock::new().by(move |request| {
        let answer = Answer::new().hold(&gate);
        match request.rpc {
            Rpc::MutateRow => answer.send(&data::MutateRowResponse {}),
            _ => answer.and_rows(["k"]),
        }
    })
}

/// A client has one connection unless its builder asks for more, and spreads writes and scans over all of them.
#[tokio::test(start_paused = true)]
async fn requests_are_spread_over_the_connections() {
    for (connections, writes, scans, expected) in
        [(None, 8, 0, &[8][..]), (Some(4), 40, 0, &[10; 4]), (Some(3), 0, 9, &[3; 3])]
    {
        let gate = Gate::new();
        let mock = after(&gate);
        let table = connections.map_or_else(|| table(&mock), |connections| table_by(&mock, connections));
        let written = join_all((0..writes).map(|_| table.mutate_row("k", set())));
        let read = join_all((0..scans).map(|_| all(&table)));
        let open = async {
            sleep(SECOND).await;
            assert_eq!(carried(&mock), expected, "{connections:?}");
            gate.open();
        };
        let (written, read, ()) = tokio::join!(written, read, open);
        assert!(written.iter().all(Result::is_ok), "{connections:?}");
        assert!(read.into_iter().all(|rows| rows.unwrap() == ["k"]), "{connections:?}");
    }
}

/// A busy connection is passed over while another is idle.
#[tokio::test(start_paused = true)]
async fn the_least_busy_connection_is_next() {
    let gate = Gate::new();
    let held = gate.clone();
    let mock = Mock::new().by(move |request| match request.rpc {
        Rpc::ReadRows => Answer::rows(["a"]).hold(&held),
        _ => Answer::written(),
    });
    let table = table_by(&mock, 2);
    let mut rows = table.read_rows(ReadRows::all());
    rows.try_next().await.unwrap();
    let busy = mock.requests()[0].connection;
    for _ in 0..6 {
        table.mutate_row("k", set()).await.unwrap();
    }
    assert!(mock.requests()[1..].iter().all(|request| request.connection != busy));
    gate.open();
}

/// A retry uses another connection, where it may succeed.
#[tokio::test(start_paused = true)]
async fn the_next_attempt_goes_by_another_connection() {
    let mock = Mock::new()
        .on(Rpc::MutateRow, Answer::failure(Code::Unavailable))
        .on(Rpc::MutateRow, Answer::failure(Code::Unavailable))
        .on(Rpc::MutateRow, Answer::written());
    table_by(&mock, 3).mutate_row("k", set()).await.unwrap();
    let over: Vec<_> = mock.requests().iter().map(|request| request.connection).collect();
    assert!(over[0] != over[1] && over[1] != over[2], "{over:?}");
}

#[tokio::test(start_paused = true)]
async fn zero_connections_count_as_one() {
    let mock = Mock::new().by(|_| Answer::written());
    table_by(&mock, 0).mutate_row("k", set()).await.unwrap();
    assert_eq!(mock.connections(), 1);
}

/// Connections are made on first use.
#[tokio::test(start_paused = true)]
async fn a_client_that_does_nothing_connects_to_nothing() {
    let mock = Mock::new();
    let _table = table_by(&mock, 4);
    sleep(60 * SECOND).await;
    assert_eq!(mock.connections(), 0);
}

/// Servers allow 100 streams on a connection: further requests wait, and none fails.
#[tokio::test(start_paused = true)]
async fn more_requests_than_a_connection_carries_wait() {
    let mock = Mock::new().by(|_| Answer::new().wait(SECOND).send(&data::MutateRowResponse {}));
    let table = table_by(&mock, 1).with(|settings| settings.mutate_row.max_attempts = 1);
    let written = join_all((0..350).map(|_| table.mutate_row("k", set()))).await;
    assert!(written.iter().all(Result::is_ok));
    assert_eq!(carried(&mock), [350]);
}

#[tokio::test(start_paused = true)]
async fn streams_that_are_dropped_are_cancelled_at_the_server() {
    let mock = Mock::new().by(|_| Answer::rows(["a"]).stall());
    let table = table(&mock);
    for _ in 0..150 {
        let mut rows = table.read_rows(ReadRows::all());
        assert_eq!(text(rows.try_next().await.unwrap().unwrap().key()), "a");
    }
    sleep(SECOND).await;
    assert_eq!(mock.requests().len(), 150);
    assert!(mock.requests().iter().all(|request| request.is_cancelled));
}

/// A nearly empty row in each message, as an emulator sends them.
fn tiny(rows: u32) -> impl Iterator<Item = [Chunk; 1]> {
    (0..rows).map(|row| [cell(Bytes::copy_from_slice(&row.to_be_bytes())).value("").commit()])
}

/// A reader that pauses leaves small frames unread, which makes some HTTP/2 implementations end the connection.
#[tokio::test]
async fn tiny_rows_that_wait_do_not_end_the_connection() {
    const ROWS: u32 = 40_000;
    let mock = Mock::new().by(|_| tiny(ROWS).fold(Answer::new(), Answer::and_chunks));
    let table = table_by_socket(&mock).await;
    let read = async {
        let mut rows = table.read_rows(ReadRows::all());
        let mut read = 0;
        while let Some(row) = rows.try_next().await.unwrap() {
            assert_eq!(row.key()[..], u32::to_be_bytes(read));
            if read == 0 {
                sleep(500 * MILLISECOND).await;
            }
            read += 1;
        }
        read
    };
    assert_eq!(timeout(TOO_LONG, read).await.expect("the scan hangs"), ROWS);
    assert_eq!(mock.requests().len(), 1);
}

/// Unread scans fill their own windows, and not the connection's.
#[tokio::test]
async fn scans_that_wait_hold_up_no_request() {
    let value = vec![7; 64 << 10];
    let mock = Mock::new().by(move |request| match request.rpc {
        Rpc::ReadRows => (10..60).fold(Answer::new(), |answer, row| {
            answer.and_chunks([cell(format!("row-{row}")).value(value.clone()).commit()])
        }),
        _ => Answer::written(),
    });
    let table = table_by_socket(&mock).await;
    let work = async {
        let mut waiting = Vec::new();
        for _ in 0..20 {
            let mut rows = table.read_rows(ReadRows::all());
            rows.try_next().await.unwrap();
            waiting.push(rows);
        }
        sleep(200 * MILLISECOND).await;
        table.mutate_row("k", set()).await.unwrap();
        for rows in waiting {
            assert_eq!(rows.try_collect::<Vec<_>>().await.unwrap().len(), 49);
        }
    };
    timeout(TOO_LONG, work).await.expect("a request waits for scans that nobody reads");
}

/// Keepalive detects a dead connection after 40 seconds; a reader must not wait that long.
#[tokio::test(start_paused = true)]
async fn a_connection_that_has_gone_silent_is_replaced() {
    let mock = Mock::new().by(|request| match request.connection {
        0 => Answer::new().stall(),
        _ => Answer::new().and_rows(["k"]),
    });
    let table = table(&mock).with(|settings| {
        settings.read_rows.idle_timeout = SECOND;
        settings.read_row.attempt_timeout = SECOND;
    });
    let begun = tokio::time::Instant::now();
    assert_eq!(all(&table).await.unwrap(), ["k"]);
    assert!(begun.elapsed() < 5 * SECOND, "{:?}", begun.elapsed());
    assert_eq!(carried(&mock), [1, 3]);
    assert!(table.read_row("k", None).await.unwrap().is_some());
    assert_eq!(carried(&mock), [2, 3]);
}

/// Point reads show it too, unless they wait for less than a second.
#[tokio::test(start_paused = true)]
async fn attempts_of_a_second_show_that_a_connection_has_gone_silent() {
    for (timeout, connections) in [(SECOND, 2), (SECOND - MILLISECOND, 1)] {
        let mock = Mock::new().by(|request| match request.connection {
            0 => Answer::new().stall(),
            _ => Answer::new().and_rows(["k"]),
        });
        let table = table(&mock).with(|settings| {
            settings.read_row.attempt_timeout = timeout;
            settings.read_row.max_attempts = 5;
        });
        assert_eq!(table.read_row("k", None).await.is_ok(), connections == 2);
        assert_eq!(mock.connections(), connections, "{timeout:?}");
    }
}

/// Reads a row from a server that sends these answers before the row, and uses one connection for all of them.
async fn keeps_its_connection(answers: Vec<Answer>) {
    let requests = answers.len() + 1;
    let answers = answers.into_iter().chain([Answer::rows(["k"])]);
    let mock = answers.fold(Mock::new(), |mock, answer| mock.on(Rpc::ReadRows, answer));
    let table = table(&mock).with(|settings| {
        settings.read_row.attempt_timeout = SECOND;
        settings.read_row.max_attempts = 10;
    });
    assert!(table.read_row("k", None).await.unwrap().is_some());
    assert_eq!((mock.requests().len(), mock.connections()), (requests, 1));
}

/// An answer ends the silence, even if it is a failure.
#[tokio::test(start_paused = true)]
async fn a_connection_that_answers_now_and_then_is_kept() {
    let stall = || Answer::new().stall();
    let busy = Answer::failure(tonic::Code::Unavailable);
    keeps_its_connection(vec![stall(), stall(), busy, stall(), stall()]).await;
}

/// A stream that the server resets is a failure, and no silence.
#[tokio::test(start_paused = true)]
async fn a_connection_whose_streams_are_reset_is_kept() {
    let reset = || Answer::new().reset(Reason::INTERNAL_ERROR);
    keeps_its_connection(vec![reset(), reset(), reset(), reset()]).await;
}

/// A server that answers other requests is alive, however long one request takes.
#[tokio::test(start_paused = true)]
async fn a_connection_by_which_others_are_answered_is_kept() {
    let mock = Mock::new().by(|request| match request.rpc {
        Rpc::ReadRows => Answer::new().stall(),
        _ => Answer::new().send(&data::MutateRowResponse {}),
    });
    let table = table(&mock).with(|settings| {
        settings.read_row.attempt_timeout = SECOND;
        settings.read_row.max_attempts = 10;
    });
    let read = table.read_row("k", None);
    let write = async {
        for _ in 0..15 {
            table.mutate_row("k", set()).await.unwrap();
            sleep(700 * MILLISECOND).await;
        }
    };
    let (read, ()) = tokio::join!(read, write);
    assert!(read.unwrap_err().is_deadline_exceeded());
    assert_eq!(mock.connections(), 1);
}
