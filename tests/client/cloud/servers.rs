//! What stands in for Google: a server of tokens over HTTP, and TLS before the scripted Bigtable.

use std::sync::{Arc, Mutex};

use keyderive_scripted::Mock;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, date_time_ymd};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

/// An authority of certificates that no machine trusts.
pub(crate) struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    pub(crate) fn new() -> Self {
        Self::named("authority")
    }

    pub(crate) fn named(name: &str) -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    /// Its own certificate.
    pub(crate) fn pem(&self) -> String {
        self.0.pem()
    }

    /// A server of this name, whose certificate ends in this year.
    pub(crate) fn server(&self, name: &str, last_year: i32) -> ServerConfig {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.not_after = date_time_ymd(last_year, 1, 1);
        let certificate = params.signed_by(&key, &self.0).unwrap();
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)
            .unwrap();
        config.alpn_protocols = vec![b"h2".to_vec()];
        config
    }
}

/// A task that ends when dropped.
pub(crate) struct Running {
    pub(crate) port: u16,
    task: JoinHandle<()>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Serves each connection to a free port of the loopback interface.
async fn serve<F: Future<Output = ()> + Send + 'static>(
    mut each: impl FnMut(TcpStream) -> F + Send + 'static,
) -> Running {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let task = tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(each(stream));
        }
    });
    Running { port, task }
}

/// Serves `mock` over TLS.
pub(crate) async fn over_tls(mock: &Mock, config: ServerConfig) -> Running {
    let (host, acceptor) = (mock.listen().await, TlsAcceptor::from(Arc::new(config)));
    serve(move |stream| {
        let (host, acceptor) = (host.clone(), acceptor.clone());
        async move {
            let Ok(mut outside) = acceptor.accept(stream).await else { return };
            let Ok(mut inside) = TcpStream::connect(host).await else { return };
            let _ = copy_bidirectional(&mut outside, &mut inside).await;
        }
    })
    .await
}

/// A request for a token: its first line with its headers, and its body.
#[derive(Clone, Debug)]
pub(crate) struct TokenRequest {
    pub(crate) head: String,
    pub(crate) body: String,
}

/// What a server of tokens answers.
pub(crate) enum TokenAnswer {
    /// A token that is valid for so many seconds.
    Token(String, u32),
    /// A status, and a body.
    Refused(u16, &'static str),
}

pub(crate) struct TokenServer {
    pub(crate) running: Running,
    seen: Arc<Mutex<Vec<TokenRequest>>>,
}

impl TokenServer {
    /// Answers each request for a token, counted from 1.
    pub(crate) async fn start(answer: impl Fn(usize) -> TokenAnswer + Send + Sync + 'static) -> Self {
        let seen = Arc::<Mutex<Vec<TokenRequest>>>::default();
        let (answer, requests) = (Arc::new(answer), Arc::clone(&seen));
        let running = serve(move |mut stream| {
            let (answer, requests) = (Arc::clone(&answer), Arc::clone(&requests));
            async move {
                let Some(request) = read_request(&mut stream).await else { return };
                let number = {
                    let mut requests = requests.lock().unwrap();
                    requests.push(request);
                    requests.len()
                };
                let (status, body) = match answer(number) {
                    TokenAnswer::Token(token, seconds) => (
                        200,
                        format!(
                            r#"{{"access_token":"{token}","expires_in":{seconds},"token_type":"Bearer"}}"#
                        ),
                    ),
                    TokenAnswer::Refused(status, body) => (status, body.to_owned()),
                };
                let answer = format!(
                    "HTTP/1.1 {status} Answer\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
                     metadata-flavor: Google\r\nconnection: close\r\n\r\n{body}",
                    body.len()
                );
                let _ = stream.write_all(answer.as_bytes()).await;
            }
        })
        .await;
        Self { running, seen }
    }

    pub(crate) fn requests(&self) -> Vec<TokenRequest> {
        self.seen.lock().unwrap().clone()
    }
}

async fn read_request(stream: &mut TcpStream) -> Option<TokenRequest> {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let head = head.to_ascii_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
            if body.len() >= length.map_or(0, |length| length.trim().parse().unwrap()) {
                return Some(TokenRequest { head, body: body.to_owned() });
            }
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
}
