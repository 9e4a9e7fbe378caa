//! Addresses without a Bigtable, and clients whose runtime has ended.

use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::{join, join_all};
use keyderive::client::RawTable;
use keyderive::embedded::Bigtable;
use keyderive::row::Mutation;
use keyderive::{Client, Error, ErrorKind};
use keyderive_scripted::{Answer, Mock};
use keyderive_tests::fixtures::assert_error;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;

use crate::support::{all, set, table};

/// Sockets take real time; a test that takes this long hangs.
const TOO_LONG: Duration = Duration::from_secs(20);

/// The error of connecting to an address that sends `greeting` to every connection, and nothing else.
async fn error_at(greeting: &'static [u8]) -> Error {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let host = listener.local_addr().unwrap().to_string();
    let server = tokio::spawn(async move {
        let mut sockets = Vec::new();
        while let Ok((mut socket, _)) = listener.accept().await {
            let _ = socket.write_all(greeting).await;
            sockets.push(socket);
        }
    });
    let error = timeout(TOO_LONG, Client::emulator(&host)).await.expect("it hangs").unwrap_err();
    server.abort();
    assert!(error.is_unavailable(), "{error}");
    let text = error.to_string();
    assert!(text.starts_with(&format!("no emulator answered at `{host}` within 3s: ")), "{text}");
    assert!(text.ends_with("; start one there, or correct the address"), "{text}");
    error
}

/// What answers at an address, and is no emulator; at the same time, since each is waited for.
#[tokio::test]
async fn what_is_no_emulator_is_named() {
    let http1 = b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n";
    let greetings = [
        (&b""[..], "a server accepted the connection, but sent nothing"),
        (http1, "the server there does not speak HTTP/2"),
        (b"220 mail.example ESMTP\r\n", "the server there does not speak HTTP/2"),
    ];
    let nothing = async {
        let error = Client::emulator("127.0.0.1:1").await.unwrap_err();
        let text = error.to_string();
        assert!(error.is_unavailable() && text.contains("refused (os error "), "{text}");
    };
    let all = join_all(greetings.map(async |(greeting, reason)| {
        let text = error_at(greeting).await.to_string();
        assert!(text.contains(reason), "{text}");
    }));
    join(all, nothing).await;
}

#[tokio::test]
async fn an_emulator_that_is_starting_is_waited_for() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let starts = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        let listener = TcpListener::bind(address).await.unwrap();
        let _ = Bigtable::in_memory().serve(listener, std::future::pending()).await;
    };
    tokio::select! {
        client = Client::emulator(address.to_string()) => drop(client.unwrap()),
        () = starts => unreachable!("it serves for ever"),
    }
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
    // Even for a write that is not idempotent, the client knows that nothing was sent.
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
        assert_error(&error, ErrorKind::Misconfiguration, &["tokio runtime"]);
    }
}

/// The errors of one operation of each kind, in a runtime without timers.
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
        assert!(error.kind() == ErrorKind::Misconfiguration && text.contains("`enable_time`"), "{text}");
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
        assert_error(&error, ErrorKind::Misconfiguration, &[missing]);
    }
}
