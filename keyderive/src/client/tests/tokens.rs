//! Access tokens: requested, sent, renewed, and missing.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::time::Instant;
use tonic::Status;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;

use super::fleet::Fleet;
use super::*;
use crate::client::credentials::Authorizer;
use crate::row::{Mutation, ReadModifyWrite};

/// Answers each request for a token, counted from 0.
#[derive(Clone)]
struct Tokens<F>(F, Arc<AtomicUsize>);

impl<F: Fn(usize) -> Result<AccessToken, CredentialsError> + Send + Sync + 'static> Tokens<F> {
    fn new(answer: F) -> Self {
        Self(answer, Arc::default())
    }
}

impl<F: Fn(usize) -> Result<AccessToken, CredentialsError> + Send + Sync + 'static> Credentials
    for Tokens<F>
{
    async fn access_token(&self) -> Result<AccessToken, CredentialsError> {
        (self.0)(self.1.fetch_add(1, Ordering::SeqCst))
    }
}

/// Credentials that never return a token.
struct Never;

impl Credentials for Never {
    async fn access_token(&self) -> Result<AccessToken, CredentialsError> {
        std::future::pending().await
    }
}

fn numbered(number: usize) -> Result<AccessToken, CredentialsError> {
    Ok(AccessToken::new(format!("token-{number}")).with_quota_project("payer"))
}

async fn client(fleet: &Fleet, credentials: impl Credentials) -> Client {
    let builder = Client::builder().prime(false).connections(1);
    let client = builder.open(fleet.endpoint(Some(Authorizer::new(credentials)))).await;
    client.with(|settings| settings.each(|call| call.max_attempts = 5))
}

fn sent(fleet: &Fleet) -> Vec<String> {
    let token = |headers: &http::HeaderMap| headers["authorization"].to_str().unwrap().to_owned();
    fleet.take_seen().iter().map(|seen| format!("{} {}", seen.rpc, token(&seen.headers))).collect()
}

#[tokio::test(start_paused = true)]
async fn each_operation_has_a_token_of_its_own() {
    let fleet = Fleet::new();
    let client = client(&fleet, Tokens::new(numbered)).await;
    fleet.refuse(|seen| {
        assert_eq!(seen.headers["x-goog-user-project"], "payer");
        None
    });
    client.create_table("t", NewTable::with_family("f")).await.ok();
    let key = || bytes::Bytes::from_static(b"k");
    client.mutate_row(&client.route("t"), key(), vec![Mutation::delete_row()]).await.ok();
    client.read_row(&client.route("t"), key(), None).await.ok();
    client.mutate_rows(&client.route("t"), vec![(key(), vec![Mutation::delete_row()])]).await;
    let expected = ["CreateTable", "MutateRow", "ReadRows", "MutateRows"];
    let expected = expected.iter().enumerate().map(|(number, rpc)| format!("{rpc} Bearer token-{number}"));
    assert_eq!(sent(&fleet), expected.collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn a_transient_failure_to_get_a_token_is_retried() {
    let fleet = Fleet::new();
    let tokens = Tokens::new(|number| match number % 3 {
        2 => numbered(number),
        _ => Err(CredentialsError::new("the token server is busy").transient()),
    });
    let client = client(&fleet, tokens).await;
    client.table_info("t").await.unwrap_err();
    client.read_row(&client.route("t"), "k".into(), None).await.unwrap_err();
    client.mutate_rows(&client.route("t"), vec![("k".into(), vec![Mutation::delete_row()])]).await;
    // Nothing was sent, so this is retried too.
    client
        .read_modify_write_row(
            &client.route("t"),
            "k".into(),
            vec![ReadModifyWrite::increment("f", "q", 1)],
            Ok,
        )
        .await
        .ok();
    assert_eq!(
        sent(&fleet),
        [
            "GetTable Bearer token-2",
            "ReadRows Bearer token-5",
            "MutateRows Bearer token-8",
            "ReadModifyWriteRow Bearer token-11"
        ]
    );
}

/// A cache of one token, which it replaces when the server rejects it.
#[derive(Clone, Default)]
struct Cache(Arc<AtomicUsize>);

impl Credentials for Cache {
    async fn access_token(&self) -> Result<AccessToken, CredentialsError> {
        numbered(self.0.load(Ordering::SeqCst))
    }

    fn rejected(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// The server has applied nothing, so this holds for increments too.
#[tokio::test(start_paused = true)]
async fn a_request_whose_token_is_rejected_is_sent_once_more() {
    let fleet = Fleet::new();
    let client = client(&fleet, Cache::default()).await;
    fleet.refuse(|seen| {
        let token = seen.headers["authorization"].to_str().unwrap();
        (token == "Bearer token-0").then(|| Status::unauthenticated("expired"))
    });
    let increment = || vec![ReadModifyWrite::increment("f", "q", 1)];
    client.read_modify_write_row(&client.route("t"), "k".into(), increment(), Ok).await.ok();
    assert_eq!(sent(&fleet), ["ReadModifyWriteRow Bearer token-0", "ReadModifyWriteRow Bearer token-1"]);
    // Each operation tries once more, and no more.
    fleet.refuse(|_| Some(Status::unauthenticated("no such account")));
    let error = client.read_row(&client.route("t"), "k".into(), None).await.unwrap_err();
    assert!(error.is_permission_denied() && error.attempts() == 2, "{error}");
    assert_eq!(sent(&fleet), ["ReadRows Bearer token-1", "ReadRows Bearer token-2"]);
    // Within the attempts that it has.
    let once = client.with(|settings| settings.each(|call| call.max_attempts = 1));
    let error = once.read_row(&client.route("t"), "k".into(), None).await.unwrap_err();
    assert!(error.is_permission_denied() && error.attempts() == 1, "{error}");
}

#[tokio::test(start_paused = true)]
async fn without_a_token_nothing_is_sent() {
    let fleet = Fleet::new();
    let refused = Tokens::new(|_| {
        Err(CredentialsError::new("the account is disabled")
            .with_source(std::io::Error::other("invalid_grant")))
    });
    let client = client(&fleet, refused).await;
    let start = Instant::now();
    let mutations = || vec![Mutation::delete_row()];
    for error in [
        client.table_info("t").await.unwrap_err(),
        client.read_row(&client.route("t"), "k".into(), None).await.unwrap_err(),
        client.mutate_row(&client.route("t"), "k".into(), mutations()).await.unwrap_err(),
        client.mutate_rows(&client.route("t"), vec![("k".into(), mutations())]).await.remove(0).unwrap_err(),
    ] {
        assert!(
            error.kind() == ErrorKind::MissingCredentials
                && error.is_permission_denied()
                && !error.is_retryable(),
            "{error}"
        );
        assert_eq!((error.attempts(), error.grpc_code()), (1, Some(16)));
        let text = error.to_string();
        assert!(
            text.ends_with("failed: UNAUTHENTICATED: no access token: the account is disabled"),
            "{text}"
        );
        let source = std::error::Error::source(&error).unwrap();
        assert!(source.is::<CredentialsError>());
        assert_eq!(source.source().unwrap().to_string(), "invalid_grant");
    }
    assert!(start.elapsed().is_zero() && fleet.take_seen().is_empty());
}

#[tokio::test(start_paused = true)]
async fn waiting_for_a_token_times_out_with_the_attempt() {
    let fleet = Fleet::new();
    let client = client(&fleet, Never).await;
    let client = client.with(|settings| {
        settings.mutate_row.max_attempts = 1;
        settings.mutate_row.attempt_timeout = Duration::from_secs(7);
    });
    let start = Instant::now();
    let error =
        client.mutate_row(&client.route("t"), "k".into(), vec![Mutation::delete_row()]).await.unwrap_err();
    assert!(
        error.is_deadline_exceeded() && error.to_string().contains("no access token came within 7s"),
        "{error}"
    );
    assert_eq!(start.elapsed().as_secs(), 7);
}

#[tokio::test(start_paused = true)]
async fn a_client_without_a_first_token_is_an_error() {
    let cloud = || Client::builder().endpoint("http://127.0.0.1:1");
    let start = Instant::now();
    let refused = Tokens::new(|_| Err(CredentialsError::new("the account is disabled")));
    let error = cloud().credentials(refused).cloud("p", "i").await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "there is no access token for the cloud: the account is disabled; run `gcloud auth application-default \
         login`, set `GOOGLE_APPLICATION_CREDENTIALS` to a key file, or call `ClientBuilder::credentials`"
    );
    assert!(
        error.kind() == ErrorKind::MissingCredentials
            && error.is_permission_denied()
            && !error.is_retryable()
    );
    assert!(start.elapsed().is_zero());
    let error = cloud().credentials(Never).cloud("p", "i").await.unwrap_err();
    assert!(
        error.kind() == ErrorKind::MissingCredentials
            && error.to_string().contains("no token came within 10s"),
        "{error}"
    );
    assert_eq!(start.elapsed().as_secs(), 10);
    let busy = Tokens::new(|_| Err(CredentialsError::new("busy").transient()));
    assert!(cloud().credentials(busy).cloud("p", "i").await.unwrap_err().is_retryable());
}

#[tokio::test]
async fn a_token_is_not_sent_to_another_machine_unencrypted() {
    for (endpoint, admin) in
        [("http://10.1.2.3:80", "http://127.0.0.1:1"), ("http://[::1]:1", "http://10.1.2.3")]
    {
        let builder = Client::builder().endpoint(endpoint).admin_endpoint(admin);
        let error = builder.credentials(Tokens::new(numbered)).cloud("p", "i").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Misconfiguration, "{error}");
        assert!(error.to_string().starts_with("`http://10.1.2.3"), "{error}");
    }
}

/// Serves the connections of a fleet on loopback.
async fn serve(fleet: &Fleet) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let served = Server::builder().serve_with_incoming(fleet.clone(), TcpIncoming::from(listener));
    tokio::spawn(served);
    address
}

#[tokio::test]
async fn the_two_services_have_endpoints_of_their_own() {
    let (data, admin) = (Fleet::new(), Fleet::new());
    let (data_at, admin_at) = (serve(&data).await, serve(&admin).await);
    let client = Client::builder()
        .endpoint(format!("http://{data_at}"))
        .admin_endpoint(format!("http://{admin_at}"))
        .credentials(Tokens::new(numbered))
        .cloud("p", "i")
        .await
        .unwrap();
    assert_eq!(client.target().to_string(), format!("cloud at {data_at}"));
    let pings = data.take_seen();
    assert_eq!(pings.len(), 4);
    assert!(pings.iter().all(|ping| ping.rpc == "PingAndWarm" && ping.headers.contains_key("authorization")));
    client.table_info("t").await.unwrap_err();
    client.read_row(&client.route("t"), "k".into(), None).await.unwrap_err();
    assert_eq!(sent(&admin), ["GetTable Bearer token-5"]);
    assert_eq!(sent(&data), ["ReadRows Bearer token-6"]);
}

#[tokio::test]
async fn an_endpoint_without_encryption_needs_no_credentials() {
    let fleet = Fleet::new();
    let endpoint = format!("http://{}", serve(&fleet).await);
    let client = Client::builder().endpoint(endpoint).cloud("p", "i").await.unwrap();
    client.table_info("t").await.unwrap_err();
    let seen = fleet.take_seen();
    assert_eq!(seen.len(), 5);
    assert!(seen.iter().all(|seen| !seen.headers.contains_key("authorization")));
}

#[tokio::test]
#[cfg(feature = "cloud")]
async fn an_https_endpoint_is_reached_by_tls() {
    use tokio::io::AsyncReadExt as _;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("https://localhost:{}", listener.local_addr().unwrap().port());
    let cloud = tokio::spawn(async move {
        let builder = Client::builder().endpoint(endpoint).credentials(Tokens::new(numbered));
        builder.connections(1).cloud("p", "i").await
    });
    let (mut socket, _) = listener.accept().await.unwrap();
    let mut head = [0; 5];
    socket.read_exact(&mut head).await.unwrap();
    // A handshake record with the name of the server and HTTP/2.
    assert_eq!(head[..2], [22, 3]);
    let mut hello = vec![0; usize::from(u16::from_be_bytes([head[3], head[4]]))];
    socket.read_exact(&mut hello).await.unwrap();
    let has = |part: &[u8]| hello.windows(part.len()).any(|window| window == part);
    assert!(has(b"localhost") && has(b"\x02h2"));
    drop(socket);
    cloud.await.unwrap().unwrap();
}

/// What `Client::cloud` prints in a process with these variables.
#[cfg(feature = "cloud")]
fn cloud_with(variables: &[(&str, &str)]) -> String {
    let test = "client::tests::tokens::credentials_that_cannot_be_read_are_an_error_at_once";
    let mut process = std::process::Command::new(std::env::current_exe().unwrap());
    process.args([test, "--exact", "--nocapture"]).env("KEYDERIVE_INSIDE", "1");
    let output = process.envs(variables.iter().copied()).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[tokio::test]
#[cfg(feature = "cloud")]
async fn credentials_that_cannot_be_read_are_an_error_at_once() {
    if std::env::var_os("KEYDERIVE_INSIDE").is_some() {
        // Variables apply to all threads of a process, so this runs in one of its own.
        let start = std::time::Instant::now();
        let error = Client::cloud("p", "i").await.unwrap_err();
        assert!(error.kind() == ErrorKind::MissingCredentials && start.elapsed() < Duration::from_secs(5));
        println!("said: {error}");
        return;
    }
    let said = cloud_with(&[("GOOGLE_APPLICATION_CREDENTIALS", "/does/not/exist.json")]);
    assert!(
        said.contains("said: there is no access token for the cloud: the application-default cred"),
        "{said}"
    );
    assert!(said.contains("/does/not/exist.json"), "{said}");
    assert!(said.contains("call `ClientBuilder::credentials`"), "{said}");
}
