//! Closing a client: operations in progress complete, and no new one starts.

use futures_util::TryStreamExt as _;
use keyderive::client::{RawTable, ReadRows};
use keyderive::row::ReadModifyWrite;
use keyderive::{Error, ErrorKind};
use keyderive_proto::data;
use keyderive_scripted::{Answer, Gate, Mock, Rpc};
use tokio::time::{sleep, timeout};
use tonic::Code;

use crate::support::{MILLISECOND, SECOND, all, client, entries, keys, set, text};

/// The errors of one operation of each kind.
async fn errors(table: &RawTable) -> Vec<Option<Error>> {
    let rules = vec![ReadModifyWrite::increment("f", "q", 1)];
    vec![
        table.read_row("k", None).await.err(),
        all(table).await.err(),
        table.sample_row_keys().await.err(),
        table.mutate_row("k", set()).await.err(),
        table.mutate_rows(entries(["k"])).await.all_written().err(),
        table.check_and_mutate_row("k", None, set().into(), Vec::new()).await.err(),
        table.read_modify_write_row("k", rules).await.err(),
    ]
}

/// A server that answers with success once the gate opens.
fn after(gate: &Gate) -> Mock {
    let gate = gate.clone();
    Mock::new().by(move |request| {
        let answer = Answer::new().hold(&gate);
        match request.rpc {
            Rpc::ReadRows => answer.and_rows(["k"]),
            Rpc::MutateRow => answer.send(&data::MutateRowResponse {}),
            Rpc::MutateRows => answer.and_outcomes([(0, Code::Ok)]),
            Rpc::CheckAndMutateRow => answer.send(&data::CheckAndMutateRowResponse::default()),
            Rpc::ReadModifyWriteRow => answer.send(&data::ReadModifyWriteRowResponse::default()),
            _ => answer,
        }
    })
}

#[tokio::test(start_paused = true)]
async fn a_closed_client_begins_nothing() {
    let mock = Mock::new();
    let client = client(&mock);
    let table = client.raw_table("events");
    client.close().await;
    let errors: Vec<_> = errors(&table).await.into_iter().map(Option::unwrap).collect();
    for error in &errors {
        assert!(
            error.kind() == ErrorKind::ClientClosed && error.attempts() == 0 && !error.is_retryable(),
            "{error}"
        );
        assert_eq!(error.grpc_code(), Some(Code::Cancelled.into()));
    }
    // A read, a write and a change of one row.
    for error in [0, 3, 6].map(|at| &errors[at]) {
        assert_eq!(error.row_key(), Some(&b"k"[..]));
        assert!(error.to_string().contains(" of row `k` on table `events` failed: the client"), "{error}");
    }
    assert_eq!(mock.connections(), 0);
}

#[tokio::test(start_paused = true)]
async fn clones_and_other_settings_are_closed_too() {
    let mock = Mock::new();
    let client = client(&mock);
    let (clone, other) = (client.clone(), client.with(|settings| settings.read_row.total_timeout = SECOND));
    clone.close().await;
    for client in [client, other] {
        assert_eq!(
            client.raw_table("events").mutate_row("k", set()).await.unwrap_err().kind(),
            ErrorKind::ClientClosed
        );
    }
    assert!(mock.requests().is_empty());
}

#[tokio::test(start_paused = true)]
async fn what_has_begun_ends_well() {
    let gate = Gate::new();
    let mock = after(&gate);
    let client = client(&mock);
    let table = client.raw_table("events");
    let begun = tokio::spawn(async move {
        let rules = vec![ReadModifyWrite::increment("f", "q", 1)];
        let (row, rows, samples, one, many, checked, changed) = tokio::join!(
            table.read_row("k", None),
            all(&table),
            table.sample_row_keys(),
            table.mutate_row("k", set()),
            table.mutate_rows(entries(["k"])),
            table.check_and_mutate_row("k", None, set().into(), Vec::new()),
            table.read_modify_write_row("k", rules),
        );
        assert!(row.unwrap().is_some() && rows.unwrap() == ["k"] && samples.unwrap().is_empty());
        assert!(one.is_ok() && many[0].is_ok() && checked.is_ok() && changed.is_ok());
    });
    sleep(SECOND).await;
    assert_eq!(mock.requests().len(), 7);

    let mut closing = std::pin::pin!(client.close());
    assert!(timeout(SECOND, &mut closing).await.is_err(), "it is closed before all has ended");
    assert!(
        errors(&client.raw_table("events"))
            .await
            .iter()
            .all(|error| error.as_ref().unwrap().kind() == ErrorKind::ClientClosed)
    );
    gate.open();
    timeout(SECOND, closing).await.unwrap();
    begun.await.unwrap();
    assert_eq!(mock.requests().len(), 7);
}

/// Closing takes no attempts away from an operation.
#[tokio::test(start_paused = true)]
async fn what_has_begun_is_still_tried_again() {
    let mock = Mock::new()
        .on(Rpc::MutateRow, Answer::new().wait(SECOND).fail(Code::Unavailable))
        .on(Rpc::MutateRow, Answer::written())
        .on(Rpc::ReadRows, Answer::rows(["a"]).wait(SECOND).fail(Code::Unavailable))
        .on(Rpc::ReadRows, Answer::rows(["b"]));
    let client = client(&mock);
    let table = client.raw_table("events");
    let close = async {
        sleep(100 * MILLISECOND).await;
        client.close().await;
    };
    let (written, read, ()) = tokio::join!(table.mutate_row("k", set()), all(&table), close);
    written.unwrap();
    assert_eq!(read.unwrap(), ["a", "b"]);
}

#[tokio::test(start_paused = true)]
async fn a_scan_that_is_read_goes_on_and_delays_closing() {
    let mock = Mock::new().by(|_| Answer::rows(["a", "b", "c"]));
    let client = client(&mock);
    let mut rows = client.raw_table("events").read_rows(ReadRows::all());
    assert_eq!(text(rows.try_next().await.unwrap().unwrap().key()), "a");
    let mut closing = std::pin::pin!(client.close());
    assert!(timeout(SECOND, &mut closing).await.is_err());
    assert_eq!(keys(rows).await.unwrap(), ["b", "c"]);
    timeout(SECOND, closing).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_scan_that_is_dropped_does_not_delay_closing() {
    let mock = Mock::new().by(|_| Answer::rows(["a"]).stall());
    let client = client(&mock);
    let mut rows = client.raw_table("events").read_rows(ReadRows::all());
    rows.try_next().await.unwrap();
    drop(rows);
    timeout(SECOND, client.close()).await.unwrap();
    sleep(SECOND).await;
    assert!(mock.requests()[0].is_cancelled);
}

#[tokio::test(start_paused = true)]
async fn an_operation_that_is_dropped_does_not_delay_closing() {
    let mock = Mock::new().by(|_| Answer::new().stall());
    let client = client(&mock);
    let table = client.raw_table("events");
    assert!(timeout(SECOND, table.mutate_row("k", set())).await.is_err());
    timeout(SECOND, client.close()).await.unwrap();
    sleep(SECOND).await;
    assert!(mock.requests()[0].is_cancelled);
}

#[tokio::test(start_paused = true)]
async fn closing_twice_is_closing() {
    let client = client(&Mock::new());
    client.close().await;
    timeout(SECOND, client.close()).await.unwrap();
}
