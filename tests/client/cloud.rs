//! The way to the cloud, with servers on the loopback interface in the place of Google's: TLS, and each source of tokens.
//!
//! Credentials come from the environment of a process, so the client runs in a child process: this program again, as the test
//! [`child`].

mod servers;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use keyderive::{Client, ErrorKind};
use keyderive_scripted::{Answer, Mock, Request, Rpc};
use keyderive_tests::Folder;
use ring::signature::{KeyPair as _, RSA_PKCS1_2048_8192_SHA256, RsaKeyPair, UnparsedPublicKey};
use tonic::Code;

use self::servers::{Authority, TokenAnswer, TokenServer, over_tls};

/// How many reads a child makes, up to the first that runs out of time.
const READS: usize = 3;

/// Where a child finds its client's servers and credentials.
struct Environment<'a> {
    port: u16,
    roots: &'a Path,
    /// The file of credentials.
    file: Option<&'a Path>,
    metadata_port: Option<u16>,
    pause: Duration,
}

/// Runs a client in a child; returns what became of the connection and of each read.
async fn run(environment: Environment<'_>) -> Vec<String> {
    let Environment { port, roots, file, metadata_port, pause } = environment;
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["cloud::child", "--exact", "--nocapture"]);
    child.env("KEYDERIVE_CLOUD_PORT", port.to_string()).env("KEYDERIVE_CLOUD_ROOTS", roots);
    child.env("KEYDERIVE_CLOUD_PAUSE", pause.as_millis().to_string());
    // No credentials of this machine.
    let home = roots.parent().unwrap();
    child.env("HOME", home).env("CLOUDSDK_CONFIG", home).env("APPDATA", home).env("NO_GCE_CHECK", "true");
    child.env_remove("GOOGLE_APPLICATION_CREDENTIALS").env_remove("GCE_METADATA_HOST");
    if let Some(file) = file {
        child.env("GOOGLE_APPLICATION_CREDENTIALS", file);
    }
    if let Some(port) = metadata_port {
        child.env("GCE_METADATA_HOST", format!("127.0.0.1:{port}"));
    }
    let output = tokio::task::spawn_blocking(move || child.output()).await.unwrap().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{printed}\n{}", String::from_utf8_lossy(&output.stderr));
    printed
        .lines()
        .filter_map(|line| line.split_once("outcome: "))
        .map(|(_, outcome)| outcome.to_owned())
        .collect()
}

/// The child of the other tests.
#[tokio::test]
async fn child() {
    let variable = |name: &str| std::env::var(format!("KEYDERIVE_CLOUD_{name}"));
    let Ok(port) = variable("PORT") else { return };
    let roots = std::fs::read(variable("ROOTS").unwrap()).unwrap();
    let pause = Duration::from_millis(variable("PAUSE").unwrap().parse().unwrap());
    let builder = Client::builder().endpoint(format!("https://127.0.0.1:{port}")).connections(1).prime(false);
    let client = match builder.root_certificates(roots).cloud("shop", "orders").await {
        Ok(client) => client.with(|settings| settings.read_row.total_timeout = Duration::from_secs(3)),
        Err(error) => return println!("outcome: {:?}: {error}", error.kind()),
    };
    let table = client.raw_table("events");
    for _ in 0..READS {
        match table.read_row("k", None).await {
            Ok(row) => println!("outcome: read {}", row.is_some()),
            Err(error) => {
                println!("outcome: {:?}: {error}", error.kind());
                if error.kind() == ErrorKind::DeadlineExceeded {
                    return;
                }
            }
        }
        tokio::time::sleep(pause).await;
    }
}

/// The tokens of the requests.
fn tokens(mock: &Mock) -> Vec<String> {
    let token = |request: &Request| request.header("authorization").unwrap_or("none").to_owned();
    mock.requests_of(Rpc::ReadRows).iter().map(token).collect()
}

fn rows() -> Mock {
    Mock::new().by(|_| Answer::rows(["k"]))
}

fn numbered(number: usize) -> TokenAnswer {
    TokenAnswer::Token(format!("token-{number}"), 3600)
}

/// The file that `gcloud auth application-default login` writes.
fn user_file(files: &Folder, tokens: &TokenServer) -> PathBuf {
    files.write(
        "user.json",
        format!(
            r#"{{"type":"authorized_user","client_id":"id","client_secret":"secret","refresh_token":"refresh",
                "token_uri":"http://127.0.0.1:{}/token"}}"#,
            tokens.running.port
        ),
    )
}

/// Runs a client with the credentials of a user against `mock`.
async fn run_as_user(test: &str, mock: &Mock, tokens: &TokenServer, pause: Duration) -> Vec<String> {
    let (files, authority) = (Folder::new(test), Authority::new());
    let server = over_tls(mock, authority.server("127.0.0.1", 2099)).await;
    let (roots, file) = (files.write("roots.pem", authority.pem()), user_file(&files, tokens));
    run(Environment { port: server.port, roots: &roots, file: Some(&file), metadata_port: None, pause }).await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_metadata_server_gives_the_token_of_the_machine() {
    let (files, authority, mock) = (Folder::new("metadata"), Authority::new(), rows());
    let server = over_tls(&mock, authority.server("127.0.0.1", 2099)).await;
    let metadata = TokenServer::start(numbered).await;
    let roots = files.write("roots.pem", authority.pem());
    let outcomes = run(Environment {
        port: server.port,
        roots: &roots,
        file: None,
        metadata_port: Some(metadata.running.port),
        pause: Duration::ZERO,
    })
    .await;
    assert_eq!(outcomes, ["read true"; READS]);
    assert_eq!(tokens(&mock), ["Bearer token-1"; READS]);
    let [request] = &metadata.requests()[..] else { panic!("{:?}", metadata.requests()) };
    assert!(request.head.contains("metadata-flavor: google"), "{request:?}");
    assert!(request.head.contains("/service-accounts/default/token"), "{request:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_refreshes_their_token() {
    let (mock, server) = (rows(), TokenServer::start(numbered).await);
    assert_eq!(run_as_user("user", &mock, &server, Duration::ZERO).await, ["read true"; READS]);
    assert_eq!(tokens(&mock), ["Bearer token-1"; READS]);
    let [request] = &server.requests()[..] else { panic!("{:?}", server.requests()) };
    for part in ["refresh_token", "refresh", "id", "secret"] {
        assert!(request.body.contains(part), "{request:?}");
    }
}

/// A service account signs its own token, which Google's servers take.
#[tokio::test(flavor = "multi_thread")]
async fn a_service_account_signs_its_token() {
    let (files, authority, mock) = (Folder::new("account"), Authority::new(), rows());
    let server = over_tls(&mock, authority.server("127.0.0.1", 2099)).await;
    let roots = files.write("roots.pem", authority.pem());
    let pem = include_str!("cloud/service-account.pem");
    let file = files.write(
        "account.json",
        format!(
            r#"{{"type":"service_account","project_id":"shop","private_key_id":"key-1","private_key":{pem:?},
                "client_email":"job@shop.iam.gserviceaccount.com","client_id":"1","universe_domain":"googleapis.com"}}"#
        ),
    );
    let pause = Duration::ZERO;
    let environment =
        Environment { port: server.port, roots: &roots, file: Some(&file), metadata_port: None, pause };
    assert_eq!(run(environment).await, ["read true"; READS]);
    let tokens = tokens(&mock);
    assert!(tokens.iter().all(|token| *token == tokens[0]), "{tokens:?}");
    let token = tokens[0].strip_prefix("Bearer ").unwrap();
    let (signed, signature) = token.rsplit_once('.').unwrap();
    let decode = |text: &str| URL_SAFE_NO_PAD.decode(text).unwrap();
    let der: String = pem.lines().filter(|line| !line.starts_with("---")).collect();
    let der = base64::engine::general_purpose::STANDARD.decode(der).unwrap();
    let key = RsaKeyPair::from_pkcs8(&der).unwrap();
    let public = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, key.public_key().as_ref().to_vec());
    public.verify(signed.as_bytes(), &decode(signature)).unwrap();
    let claims: serde_json::Value =
        serde_json::from_slice(&decode(signed.split_once('.').unwrap().1)).unwrap();
    assert_eq!(claims["iss"], "job@shop.iam.gserviceaccount.com");
    assert_eq!(claims["scope"], "https://www.googleapis.com/auth/cloud-platform");
    // A server whose clock is some seconds behind takes it already.
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let (issued, expires) = (claims["iat"].as_u64().unwrap(), claims["exp"].as_u64().unwrap());
    assert!((now - 60..=now - 5).contains(&issued) && expires <= now + 3660, "{claims}");
}

/// A token that the server rejects is fetched again, and the request sent once more: with the new one, or not at all.
#[tokio::test(flavor = "multi_thread")]
async fn a_rejected_token_is_replaced_once() {
    let mock = Mock::new().by(|request| match request.header("authorization") {
        Some("Bearer token-1") => Answer::failure(Code::Unauthenticated),
        _ => Answer::rows(["k"]),
    });
    let server = TokenServer::start(numbered).await;
    assert_eq!(run_as_user("rejected", &mock, &server, Duration::ZERO).await, ["read true"; READS]);
    assert_eq!(tokens(&mock), ["Bearer token-1", "Bearer token-2", "Bearer token-2", "Bearer token-2"]);

    let mock = Mock::new().by(|_| Answer::failure(Code::Unauthenticated));
    let server = TokenServer::start(numbered).await;
    for outcome in run_as_user("refused", &mock, &server, Duration::ZERO).await {
        assert!(outcome.starts_with("PermissionDenied") && outcome.contains("UNAUTHENTICATED"), "{outcome}");
    }
    // Two attempts of each read; and credentials are read again once in ten seconds.
    assert_eq!((tokens(&mock).len(), server.requests().len()), (2 * READS, 2));
}

/// The next token is there long before the first one ends.
#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_renewed_before_it_ends() {
    if !keyderive_tests::runs_long("a token of 20 s that is renewed before it ends") {
        return;
    }
    let mock = rows();
    let server = TokenServer::start(|number| TokenAnswer::Token(format!("token-{number}"), 20)).await;
    assert_eq!(run_as_user("renewed", &mock, &server, Duration::from_secs(6)).await, ["read true"; READS]);
    let tokens = tokens(&mock);
    assert!(tokens[0] == "Bearer token-1" && tokens[2] != "Bearer token-1", "{tokens:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_of_tokens_that_refuses_is_named() {
    let (mock, server) =
        (rows(), TokenServer::start(|_| TokenAnswer::Refused(400, r#"{"error":"invalid_grant"}"#)).await);
    let outcomes = run_as_user("refuses", &mock, &server, Duration::ZERO).await;
    let [outcome] = &outcomes[..] else { panic!("{outcomes:?}") };
    assert!(outcome.starts_with("MissingCredentials: there is no access token for the cloud"), "{outcome}");
    let remedy = "gcloud auth application-default login";
    assert!(outcome.contains("invalid_grant") && outcome.contains(remedy), "{outcome}");
    assert!(mock.requests().is_empty());
    // One that fails for a moment.
    let server = TokenServer::start(|number| match number {
        1 => TokenAnswer::Refused(503, "busy"),
        _ => numbered(number),
    });
    let (mock, server) = (rows(), server.await);
    assert_eq!(run_as_user("busy", &mock, &server, Duration::ZERO).await, ["read true"; READS]);
}

/// Servers that cannot prove who they are get nothing, neither requests nor tokens.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_a_valid_certificate_gets_no_request() {
    let authority = Authority::new();
    let stranger = Authority::named("stranger");
    let cases = [
        ("other-name", authority.server("other.test", 2099), "not valid for name"),
        ("stranger", stranger.server("127.0.0.1", 2099), "UnknownIssuer"),
        ("expired", authority.server("127.0.0.1", 2020), "certificate expired"),
    ];
    futures_util::future::join_all(cases.map(async |(test, config, text)| {
        let (files, mock, tokens) = (Folder::new(test), rows(), TokenServer::start(numbered).await);
        let server = over_tls(&mock, config).await;
        let (roots, file) = (files.write("roots.pem", authority.pem()), user_file(&files, &tokens));
        let pause = Duration::ZERO;
        let outcomes = run(Environment {
            port: server.port,
            roots: &roots,
            file: Some(&file),
            metadata_port: None,
            pause,
        })
        .await;
        let [outcome] = &outcomes[..] else { panic!("{test}: {outcomes:?}") };
        assert!(outcome.starts_with("DeadlineExceeded: ReadRows of row"), "{test}: {outcome}");
        // Of the last attempt, or of one before it: the last may begin when no time is left for the connection.
        let reason = " attempt: UNAVAILABLE: the connection could not be made: invalid peer certificate: ";
        assert!(outcome.contains(reason) && outcome.contains(text), "{test}: {outcome}");
        assert!(mock.requests().is_empty(), "{test}");
    }))
    .await;
}
