//! Peers that are silent, that stall and that are too many: their connections are closed, others are served, and the
//! process ends when asked to.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use bytes::Bytes;
use keyderive::Client;
use keyderive_tests::fixtures::{UserKey, created};
use prost::Message as _;
use tonic::body::Body;
use tonic::transport::{Channel, Endpoint};
use tower_service::Service as _;

use crate::served::Served;

/// The timeout of the tests.
const LONG: Duration = Duration::from_secs(20);

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// An empty SETTINGS frame.
const SETTINGS: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0];

type User = std::collections::BTreeMap<String, u64>;

/// A connection whose peer sends `said`, and then nothing.
fn says(server: &Served, said: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(server.host()).unwrap();
    stream.set_read_timeout(Some(LONG)).unwrap();
    stream.write_all(said).unwrap();
    stream
}

fn mute(server: &Served) -> [TcpStream; 3] {
    [says(server, b""), says(server, &PREFACE[..10]), says(server, &[PREFACE, SETTINGS].concat())]
}

/// Measures the time until the server closes a connection.
fn closed_after(mut stream: TcpStream) -> Duration {
    let begun = Instant::now();
    let mut buffer = [0; 1024];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => return begun.elapsed(),
            Ok(_) => assert!(begun.elapsed() < LONG, "it is not closed"),
            Err(error) if error.kind() == ErrorKind::ConnectionReset => return begun.elapsed(),
            Err(error) => panic!("it is not closed: {error}"),
        }
    }
}

async fn use_it(server: &Served) {
    let users = created::<UserKey, User>(&Client::emulator(server.host()).await.unwrap(), "users").await;
    users.put(&UserKey { id: 7 }, &User::from([("visits".to_owned(), 1)])).await.unwrap();
}

fn ends(server: &mut Served, signals: usize) -> ExitStatus {
    let begun = Instant::now();
    for _ in 0..signals {
        server.signal();
        std::thread::sleep(Duration::from_millis(300));
    }
    loop {
        if let Some(status) = server.ended() {
            return status;
        }
        assert!(begun.elapsed() < LONG, "it does not end");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[tokio::test]
#[cfg(unix)]
async fn it_ends_beside_peers_that_say_nothing() {
    let mut server = Served::with(&["--grace", "1"]);
    let _mute = mute(&server);
    use_it(&server).await;
    assert!(ends(&mut server, 1).success());
}

#[tokio::test]
#[cfg(unix)]
async fn a_second_signal_ends_it_at_once() {
    let mut server = Served::with(&["--grace", "3600"]);
    let _mute = mute(&server);
    // When it is answered, the earlier connections have been accepted.
    use_it(&server).await;
    let begun = Instant::now();
    assert_eq!(ends(&mut server, 2).code(), Some(128 + 15));
    assert!(begun.elapsed() < Duration::from_secs(5));
}

#[test]
fn peers_that_say_nothing_are_cut_off() {
    let server = Served::with(&["--handshake-timeout", "1"]);
    let [silent, half, idle] = mute(&server);
    for stream in [silent, half] {
        let after = closed_after(stream);
        assert!(after < Duration::from_secs(5), "{after:?}");
    }
    // It sends the preface, so it gets a ping later.
    drop(idle);
}

/// Takes 20 s, the timeout of a ping.
#[test]
fn a_peer_that_answers_no_ping_is_cut_off() {
    if !keyderive_tests::runs_long("a peer that answers no ping for 20 s") {
        return;
    }
    let server = Served::with(&["--keep-alive", "1"]);
    let idle = says(&server, &[PREFACE, SETTINGS].concat());
    idle.set_read_timeout(Some(2 * LONG)).unwrap();
    let begun = Instant::now();
    let mut buffer = Vec::new();
    // The end of the stream, or a reset.
    drop((&idle).read_to_end(&mut buffer));
    let after = begun.elapsed();
    assert!(after > LONG && after < 2 * LONG, "{after:?}");
}

#[tokio::test]
async fn connections_that_are_too_many_wait_for_their_turn() {
    let server = Served::with(&["--connections", "2", "--handshake-timeout", "1"]);
    let _silent = [says(&server, b""), says(&server, b"")];
    let begun = Instant::now();
    use_it(&server).await;
    assert!(begun.elapsed() < LONG, "{:?}", begun.elapsed());
    let log = server.end();
    assert!(
        log.contains("the limit of open connections is reached; further ones wait connections=2"),
        "{log}"
    );
}

/// Without a free descriptor, the process backs off between retries, and continues when there is one.
#[tokio::test]
#[cfg(target_os = "linux")]
async fn connections_that_cannot_be_accepted_cost_nothing() {
    let server = Served::limited_to(40, &["--handshake-timeout", "3"]);
    let silent: Vec<_> = (0..80).map(|_| says(&server, b"")).collect();
    std::thread::sleep(Duration::from_millis(300));
    let before = server.processor_time();
    std::thread::sleep(Duration::from_secs(1));
    let took = server.processor_time() - before;
    assert!(took < Duration::from_millis(150), "{took:?} of a second");
    drop(silent);
    let begun = Instant::now();
    use_it(&server).await;
    assert!(begun.elapsed() < LONG, "{:?}", begun.elapsed());
    let log = server.end();
    assert!(log.contains("no connection can be accepted; retrying"), "{log}");
}

async fn channel(server: &Served) -> Channel {
    Endpoint::from_shared(format!("http://{}", server.host())).unwrap().connect().await.unwrap()
}

/// The status of a request that announces a message of this size and sends nothing; `None` if the server waits for it.
async fn announce(mut channel: Channel, bytes: u32) -> Option<(String, String)> {
    struct Unfinished(Option<Bytes>);
    impl http_body::Body for Unfinished {
        type Data = Bytes;
        type Error = tonic::Status;

        fn poll_frame(
            mut self: std::pin::Pin<&mut Self>,
            _: &mut std::task::Context<'_>,
        ) -> std::task::Poll<Option<Result<http_body::Frame<Bytes>, tonic::Status>>> {
            match self.0.take() {
                Some(header) => std::task::Poll::Ready(Some(Ok(http_body::Frame::data(header)))),
                None => std::task::Poll::Pending,
            }
        }
    }
    let header = [&[0][..], &bytes.to_be_bytes()].concat();
    let request = http::Request::post("http://localhost/google.bigtable.v2.Bigtable/MutateRows")
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .body(Body::new(Unfinished(Some(header.into()))))
        .unwrap();
    std::future::poll_fn(|context| channel.poll_ready(context)).await.unwrap();
    let answer = channel.call(request).await.unwrap();
    let header = |name| answer.headers().get(name).map(|value| value.to_str().unwrap().to_owned());
    Some((header("grpc-status")?, header("grpc-message").unwrap_or_default()))
}

/// Announces twenty requests of 200 MiB, of which the server has memory for two, and sends none.
#[tokio::test]
async fn requests_that_are_not_finished_have_a_bound_on_their_memory() {
    let server = Served::start();
    let channel = channel(&server).await;
    let mut announced = tokio::task::JoinSet::new();
    for _ in 0..20 {
        announced.spawn(announce(channel.clone(), 200 << 20));
    }
    let mut rejected = 0;
    while let Ok(Some(answer)) = tokio::time::timeout(Duration::from_secs(3), announced.join_next()).await {
        let (status, message) = answer.unwrap().unwrap();
        assert_eq!(status, "8", "{message}");
        assert!(message.contains("536870912"), "{message}");
        rejected += 1;
    }
    assert_eq!(rejected, 18);
    // Requests that fit are answered meanwhile. When the others are gone, the whole limit is free again.
    use_it(&server).await;
    announced.shutdown().await;
    let (mut waits, begun) = (false, Instant::now());
    while !waits && begun.elapsed() < LONG {
        let one = announce(channel.clone(), 256 << 20);
        waits = tokio::time::timeout(Duration::from_secs(1), one).await.is_err();
    }
    assert!(waits, "what was announced is still counted");
}

/// The connection of a scan whose response nobody reads is closed.
#[tokio::test]
#[cfg(unix)]
async fn a_peer_that_reads_nothing_does_not_delay_the_end() {
    let mut server = Served::with(&["--grace", "1"]);
    let client = Client::builder().instance("p", "i").emulator(server.host()).await.unwrap();
    client.table::<UserKey, User>("t").family("f").create_if_absent().await.unwrap();
    let table = client.raw_table("t");
    for key in 0..8 {
        let cells =
            (0..100).map(|cell| keyderive::row::Mutation::set("f", "q", cell * 1000, vec![7_u8; 10_000]));
        table.mutate_row(key.to_string(), cells.collect::<Vec<_>>()).await.unwrap();
    }
    let request = keyderive_proto::data::ReadRowsRequest {
        table_name: "projects/p/instances/i/tables/t".to_owned(),
        ..Default::default()
    };
    let request = request.encode_to_vec();
    let message = [&[0][..], &u32::try_from(request.len()).unwrap().to_be_bytes(), &request].concat();
    let stream = says(&server, &[PREFACE, SETTINGS, &windows(), &headers(), &data(&message)].concat());
    std::thread::sleep(Duration::from_millis(500));
    assert!(ends(&mut server, 1).success());
    drop(stream);
}

/// The largest windows, of the connection and of each stream.
fn windows() -> Vec<u8> {
    let increment = [0, 0, 4, 8, 0, 0, 0, 0, 0, 0x7f, 0, 0, 0];
    // SETTINGS_INITIAL_WINDOW_SIZE is 4.
    let initial = [0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 4, 0x7f, 0xff, 0xff, 0xff];
    [&increment[..], &initial].concat()
}

/// The head of a request on stream 1, its fields literal and not indexed.
fn headers() -> Vec<u8> {
    let fields = [
        (":method", "POST"),
        (":scheme", "http"),
        (":path", "/google.bigtable.v2.Bigtable/ReadRows"),
        (":authority", "localhost"),
        ("content-type", "application/grpc"),
        ("te", "trailers"),
    ];
    let mut block = Vec::new();
    for (name, value) in fields {
        block.push(0);
        for text in [name, value] {
            block.push(u8::try_from(text.len()).unwrap());
            block.extend(text.bytes());
        }
    }
    // HEADERS, with END_HEADERS.
    frame(1, 4, &block)
}

/// DATA with `END_STREAM`.
fn data(bytes: &[u8]) -> Vec<u8> {
    frame(0, 1, bytes)
}

fn frame(kind: u8, flags: u8, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags, 0, 0, 0, 1], payload].concat()
}
