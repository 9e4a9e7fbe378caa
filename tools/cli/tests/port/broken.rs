//! Requests that are randomly broken, absurdly large or absurdly deep: each is rejected or answered, takes little memory,
//! and does not hold up other requests.

mod requests;

use std::error::Error as _;
use std::time::Duration;

use bytes::Bytes;
use fastrand::Rng;
use keyderive::Client;
use keyderive::row::Mutation;
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::transport::{Channel, Endpoint};
use tower_service::Service as _;

use crate::served::Served;
use keyderive_proto::PassthroughCodec;
use keyderive_tests::fixtures::UserKey;

const BROKEN: usize = 1000;

/// The most memory of the process. Its limits allow some 400 MB for a single answer.
const MOST_BYTES: u64 = 1 << 30;

/// Much longer than any request takes.
const TIME_LIMIT: Duration = Duration::from_secs(60);

type User = std::collections::BTreeMap<String, u64>;

/// A server with a table of a few rows, of which one has many cells.
async fn serve() -> (Served, Client, Channel) {
    let server = Served::start();
    let builder = Client::builder().instance("p", "i");
    let client = builder.emulator(server.host()).await.unwrap();
    client.table::<UserKey, User>("t").family("f").create_if_absent().await.unwrap();
    let table = client.raw_table("t");
    let wide = (0..100).map(|cell| Mutation::set("f", "q", cell * 1000, vec![7_u8; 10_000]));
    table.mutate_row("wide", wide.collect::<Vec<_>>()).await.unwrap();
    for key in ["a", "b", "c"] {
        table.mutate_row(key, [Mutation::set("f", "q", 1000, key)]).await.unwrap();
    }
    let channel =
        Endpoint::from_shared(format!("http://{}", server.host())).unwrap().connect().await.unwrap();
    (server, client, channel)
}

/// Sends a message, broken or not, and waits for the first message of the response, or the server's error.
async fn send(channel: &Channel, method: &'static str, message: Bytes) -> Result<(), Status> {
    let path = PathAndQuery::from_static(method);
    let mut client = tonic::client::Grpc::new(channel.clone()).max_decoding_message_size(usize::MAX);
    client.ready().await.unwrap();
    let sent = client.server_streaming(tonic::Request::new(message), path, PassthroughCodec);
    let answer = async { sent.await?.into_inner().message().await.map(drop) };
    let answer = tokio::time::timeout(TIME_LIMIT, answer).await.unwrap();
    // A status from the server has no source; one of a closed connection has.
    if let Err(status) = &answer {
        assert!(status.source().is_none(), "{method} ended the connection: {status:?}");
    }
    answer
}

#[tokio::test]
async fn broken_requests_harm_nobody() {
    let (server, client, channel) = serve().await;
    let table = client.raw_table("t");
    let others = tokio::spawn(async move {
        for served in 0_u32.. {
            let row = table.read_row("wide", None).await;
            // The requests may have deleted the table.
            if let Err(error) = row {
                assert!(error.is_not_found(), "after {served} reads: {error}");
            }
            tokio::task::yield_now().await;
        }
    });
    let rng = &mut Rng::with_seed(5);
    let (mut rejected, mut answered) = (0, 0);
    while rejected + answered < BROKEN {
        let (method, message) = requests::random(rng);
        match send(&channel, method, requests::broken(rng, message)).await {
            Ok(()) => answered += 1,
            Err(_) => rejected += 1,
        }
    }
    assert!(rejected > BROKEN / 4 && answered > BROKEN / 10, "{rejected} rejected, {answered} answered");
    assert!(!others.is_finished());
    others.abort();
    harmed_nobody(server, &client).await;
}

#[tokio::test]
async fn absurd_requests_are_refused() {
    let (server, client, channel) = serve().await;
    for depth in [21, 60, 5_000] {
        let status = send(&channel, requests::READ_ROWS, requests::deep(depth)).await.unwrap_err();
        let code = if depth < 50 { tonic::Code::InvalidArgument } else { tonic::Code::Internal };
        assert_eq!(status.code(), code, "{depth} deep: {status}");
    }
    // The most copies that a filter may make, of a row with many cells.
    for attempt in 0..4 {
        send(&channel, requests::READ_ROWS, requests::copies(10)).await.unwrap_or_else(|status| {
            panic!("attempt {attempt}: {status}");
        });
    }
    assert!(send(&channel, requests::READ_ROWS, requests::copies(11)).await.is_err());
    assert!(send(&channel, requests::MUTATE_ROW, requests::long_key()).await.is_err());
    for _ in 0..20 {
        let status = claim_2_gib(channel.clone()).await;
        assert_eq!(status.as_deref(), Some("11"), "a message said to have 2 GiB");
    }
    harmed_nobody(server, &client).await;
}

/// The status of a request that begins with the header of a message of 2 GiB.
async fn claim_2_gib(mut channel: Channel) -> Option<String> {
    let header = "\0\x7f\x7f\x7f\x7f".to_owned();
    let request = http::Request::post(format!("http://localhost{}", requests::READ_ROWS))
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .body(Body::new(header))
        .unwrap();
    std::future::poll_fn(|context| channel.poll_ready(context)).await.unwrap();
    let answer = channel.call(request).await.unwrap();
    answer.headers().get("grpc-status").map(|status| status.to_str().unwrap().to_owned())
}

async fn harmed_nobody(server: Served, client: &Client) {
    client.raw_table("t").mutate_row("k", [Mutation::set("f", "q", 1000, "v")]).await.unwrap();
    if let Some(bytes) = server.most_bytes() {
        assert!(bytes < MOST_BYTES, "{} MiB", bytes >> 20);
    }
    assert_eq!(server.end(), "");
}
