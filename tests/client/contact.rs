//! The first contact: what is told of an address where no Bigtable is, and of a client that has lost its runtime.

use std::time::Duration;

use futures_util::FutureExt as _;
use keyderive::client::RawTable;
use keyderive::row::Mutation;
use keyderive::{Client, Error};
use keyderive_scripted::mock::{Answer, Mock, Rpc};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::time::{Instant, timeout};

use crate::support::{MILLISECOND, SECOND, all, set, table, table_by_socket};

/// Sockets take real time; what takes as long as this hangs.
const TOO_LONG: Duration = Duration::from_secs(20);

/// A table at an address where every connection is greeted so, and then left alone.
async fn table_at(greeting: &'static [u8]) -> RawTable {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let host = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        let mut sockets = Vec::new();
        while let Ok((mut socket, _)) = listener.accept().await {
            let _ = socket.write_all(greeting).await;
            sockets.push(socket);
        }
    });
    let client = Client::emulator(host).await.unwrap();
    client.raw_table("events").with(|settings| settings.first_contact = 400 * MILLISECOND)
}

/// The error of an operation, which comes when the time for the first contact is over.
async fn soon<T: std::fmt::Debug>(operation: impl Future<Output = Result<T, Error>>) -> Error {
    let begun = Instant::now();
    let error = timeout(TOO_LONG, operation).await.expect("it hangs").unwrap_err();
    assert!(begun.elapsed() < 3 * SECOND, "{:?}: {error}", begun.elapsed());
    assert!(error.is_unavailable(), "{error}");
    let text = error.to_string();
    assert!(text.contains("given up after "), "{text}");
    let open = if error.is_outcome_unknown() { "; it may have been applied" } else { "" };
    let end = format!("no Bigtable has ever answered there{open}; does the emulator run, at this address?");
    assert!(text.ends_with(&end), "{text}");
    error
}

#[tokio::test]
async fn an_address_that_takes_connections_and_says_nothing_is_told_soon() {
    let table = table_at(b"").await;
    let error = soon(table.read_row("k", None)).await;
    assert!(
        error.to_string().contains("UNAVAILABLE: the connection is there, and no server of HTTP/2"),
        "{error}"
    );
    assert!(!error.is_outcome_unknown(), "{error}");
    soon(all(&table)).await;
    // What is at the other end may have taken it, for all that is known.
    assert!(soon(table.mutate_row("k", set())).await.is_outcome_unknown());
    soon(table.mutate_row("k", [Mutation::set_now("f", "q", "v")])).await;
}

#[tokio::test]
async fn a_server_of_another_protocol_is_told_soon() {
    let table = table_at(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n").await;
    let error = soon(table.read_row("k", None)).await;
    assert!(error.attempts() > 1, "{error}");
    let told = "(the answer there is one of HTTP/1, and Bigtable speaks HTTP/2), at the emulator at ";
    assert!(error.to_string().contains(told), "{error}");
    // One attempt, since it may not be made twice.
    let error = table.mutate_row("k", [Mutation::set_now("f", "q", "v")]).await.unwrap_err();
    assert!(error.to_string().contains(told), "{error}");
}

#[tokio::test]
async fn a_server_of_a_third_protocol_is_not_said_to_speak_http_1() {
    let table = table_at(b"220 mail.example ESMTP\r\n").await;
    let error = soon(table.read_row("k", None)).await;
    assert!(!error.to_string().contains("HTTP/1"), "{error}");
}

#[tokio::test]
async fn the_first_answer_of_a_server_may_be_slow() {
    let mock = Mock::new()
        .on(Rpc::ReadRows, Answer::new().wait(SECOND).and_rows(["k"]))
        .on(Rpc::MutateRow, Answer::written());
    let table = table_by_socket(&mock).await.with(|settings| settings.first_contact = 200 * MILLISECOND);
    assert!(timeout(TOO_LONG, table.read_row("k", None)).await.unwrap().unwrap().is_some());
    assert_eq!(mock.requests().len(), 1);
}

#[tokio::test]
async fn without_time_for_the_first_contact_there_is_one_attempt() {
    let mock = Mock::new().by(|_| Answer::new().wait(100 * MILLISECOND).and_rows(["k"]));
    let table = table_by_socket(&mock).await.with(|settings| settings.first_contact = Duration::ZERO);
    assert!(timeout(TOO_LONG, table.read_row("k", None)).await.unwrap().unwrap().is_some());
}

/// It has been met, so it is no wrong address.
#[tokio::test]
async fn a_server_that_answers_nothing_at_first_is_asked_again() {
    let mock = Mock::new().on(Rpc::ReadRows, Answer::new().stall()).on(Rpc::ReadRows, Answer::rows(["k"]));
    let table = table_by_socket(&mock).await.with(|settings| {
        settings.first_contact = 200 * MILLISECOND;
        settings.read_row.attempt_timeout = 500 * MILLISECOND;
    });
    assert!(timeout(TOO_LONG, table.read_row("k", None)).await.unwrap().unwrap().is_some());
}

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

#[test]
fn a_client_whose_runtime_has_ended_says_so() {
    let (first, second) = (runtime(), runtime());
    let mock = Mock::new().by(|_| Answer::written());
    let table = first.block_on(async {
        let table = table(&mock);
        table.mutate_row("k", set()).await.unwrap();
        table
    });
    drop(first);
    // Writes that may not be made twice too: it is known that nothing was sent.
    for mutation in [Mutation::set("f", "q", 0, "v"), Mutation::set_now("f", "q", "v")] {
        let write = table.mutate_row("k", [mutation]);
        let error = second.block_on(async { timeout(TOO_LONG, write).await }).unwrap().unwrap_err();
        assert!(error.is_unavailable() && !error.is_retryable() && error.attempts() == 1, "{error}");
        let text = error.to_string();
        assert!(text.contains("the tokio runtime in which this client was made has ended"), "{text}");
        assert!(text.contains("make one client per runtime"), "{text}");
    }
}

#[test]
fn outside_of_a_runtime_an_operation_is_an_error() {
    let runtime = runtime();
    let table = runtime.block_on(async { table(&Mock::new()) });
    for error in [
        table.read_row("k", None).now_or_never().unwrap().unwrap_err(),
        table.mutate_row("k", set()).now_or_never().unwrap().unwrap_err(),
        all(&table).now_or_never().unwrap().unwrap_err(),
    ] {
        assert!(error.is_configuration() && error.to_string().contains("tokio runtime"), "{error}");
    }
}

/// Runs an operation of each kind in a runtime without timers; the errors.
fn without_timers(table: &RawTable) -> Vec<Error> {
    let runtime = Builder::new_current_thread().enable_io().build().unwrap();
    let mut errors = Vec::new();
    runtime.block_on(async {
        errors.push(table.read_row("k", None).await.unwrap_err());
        errors.push(table.mutate_row("k", set()).await.unwrap_err());
        errors.push(all(table).await.unwrap_err());
        let writer = table.writer();
        errors.push(writer.write("k", set().into()).await.unwrap_err());
    });
    errors
}

#[test]
fn in_a_runtime_without_timers_an_operation_is_an_error() {
    let embedded = Client::embedded().raw_table("events");
    let remote = runtime().block_on(async { table(&Mock::new()) });
    for error in [without_timers(&embedded), without_timers(&remote)].into_iter().flatten() {
        let text = error.to_string();
        assert!(error.is_configuration() && text.contains("`enable_time`"), "{text}");
    }
}

#[test]
fn a_client_is_not_made_in_a_runtime_that_cannot_carry_it() {
    let mut without_time = Builder::new_current_thread();
    let mut without_io = Builder::new_current_thread();
    for (builder, missing) in
        [(without_time.enable_io(), "`enable_time`"), (without_io.enable_time(), "`enable_io`")]
    {
        let client = builder.build().unwrap().block_on(Client::emulator("127.0.0.1:1"));
        let error = client.unwrap_err();
        assert!(error.is_configuration() && error.to_string().contains(missing), "{error}");
    }
}
