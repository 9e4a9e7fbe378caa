//! How connections are made: to which address, and by which options.

use std::fmt;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::future::{BoxFuture, Either, select};
use http::Uri;
use http::uri::{Authority, Scheme};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioIo;
use tokio::io::DuplexStream;
use tokio::net::TcpStream;
use tokio::runtime::Handle;
use tokio::time::{sleep, timeout};
use tonic::transport::{Channel, Endpoint};
use tower_service::Service;

use super::error::Error;
use super::runtime;
use super::transport::Transport;

/// How much one stream may have in flight. Streams that wait for their turn in an ordered merge fill
/// it, so that times the streams of a connection must fit in [`CONNECTION_WINDOW`], or the merge hangs.
const STREAM_WINDOW: u32 = 1 << 20;

/// The same for one of many streams, which are side by side on connections of their own: all that wait are in memory,
/// and together they have as much in flight as few with large windows.
const NARROW_WINDOW: u32 = 1 << 16;

/// The most that HTTP/2 allows. h2 charges a reader for small frames that it leaves unread, against a
/// budget of half this window, and closes the connection when that is gone; streams of tiny rows
/// exhaust the default in moments.
const CONNECTION_WINDOW: u32 = (1 << 31) - 1;

/// How long an emulator may take to answer when a client of it is made, since it may be starting.
const EMULATOR_TIMEOUT: Duration = Duration::from_secs(3);
const EMULATOR_PAUSE: Duration = Duration::from_millis(100);

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Google's front ends drop connections that are idle for minutes.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(30);
const KEEP_ALIVE_TIMEOUT: Duration = Duration::from_secs(10);

const USER_AGENT: &str = concat!("keyderive/", env!("CARGO_PKG_VERSION"));

/// Makes connections to one place, all by the same options.
pub(super) trait Dial: Send + Sync {
    /// A connection of its own, which is made at its first use and again when it breaks.
    fn dial(&self) -> Transport;

    /// Makes connections to the same place whose streams each have little in flight.
    fn small_windows(&self) -> Arc<dyn Dial>;
}

/// Makes connections over TCP, with or without TLS.
#[derive(Clone)]
pub(super) struct Dialer {
    endpoint: Endpoint,
    authority: Authority,
    plaintext: bool,
    /// Where the connections run.
    runtime: Handle,
    connect: Connect,
}

/// Makes a connection by the options of an endpoint.
type Connect = Arc<dyn Fn(Endpoint) -> Channel + Send + Sync>;

impl Dialer {
    /// To an emulator, whose address is `host:port`.
    pub(super) fn emulator(host: &str) -> Result<Self, Error> {
        let address: Option<Authority> = host.parse().ok();
        address
            .filter(|address| address.port_u16().is_some() && is_plain(address))
            .and_then(|address| Self::plaintext(address).transpose())
            .unwrap_or_else(|| {
                Err(Error::configuration(format!(
                    "`{host}` is no emulator address; write a host and a port, such as `localhost:8086`"
                )))
            })
    }

    /// To the server that a URI names, by TLS where its scheme is `https`.
    pub(super) fn endpoint(uri: &str) -> Result<Self, Error> {
        let parts = uri.parse::<Uri>().ok().map(Uri::into_parts);
        let named = parts.filter(|parts| parts.path_and_query.as_ref().is_none_or(|path| path == "/"));
        let named = named.and_then(|parts| parts.scheme.zip(parts.authority.filter(is_plain)));
        let dialer = match named {
            Some((scheme, authority)) if scheme == Scheme::HTTP => Self::plaintext(authority)?,
            Some((scheme, authority)) if scheme == Scheme::HTTPS => Self::tls(&authority)?,
            _ => None,
        };
        dialer.ok_or_else(|| {
            Error::configuration(format!(
                "`{uri}` is no endpoint; write the scheme and the host, such as `https://bigtable.googleapis.com`"
            ))
        })
    }

    /// None where the address cannot be one.
    fn plaintext(authority: Authority) -> Result<Option<Self>, Error> {
        let endpoint = Endpoint::from_shared(format!("http://{authority}")).ok();
        Self::new(endpoint, authority, true)
    }

    #[cfg(feature = "cloud")]
    fn tls(authority: &Authority) -> Result<Option<Self>, Error> {
        use tonic::transport::ClientTlsConfig;
        let tls = ClientTlsConfig::new().with_webpki_roots();
        let endpoint = Endpoint::from_shared(format!("https://{authority}")).ok();
        Self::new(endpoint.and_then(|endpoint| endpoint.tls_config(tls).ok()), authority.clone(), false)
    }

    #[cfg(not(feature = "cloud"))]
    fn tls(authority: &Authority) -> Result<Option<Self>, Error> {
        Err(Error::configuration(format!(
            "`https://{authority}` is reached by TLS, which keyderive is built without; enable its feature `cloud`"
        )))
    }

    fn new(endpoint: Option<Endpoint>, authority: Authority, plaintext: bool) -> Result<Option<Self>, Error> {
        // A channel spawns its task where it is made, which panics outside a runtime.
        let runtime = runtime::check_connections()?;
        let endpoint = endpoint.and_then(|endpoint| endpoint.user_agent(USER_AGENT).ok()).map(configure);
        let connect: Connect = Arc::new(|endpoint| endpoint.connect_with_connector_lazy(tcp()));
        Ok(endpoint.map(|endpoint| Self { endpoint, authority, plaintext, runtime, connect }))
    }

    /// The same, by pipes that `connect` makes in place of sockets.
    pub(super) fn connected_by(self, connect: impl Connector) -> Self {
        let pipes = Pipes(Arc::new(connect));
        Self {
            connect: Arc::new(move |endpoint| endpoint.connect_with_connector_lazy(pipes.clone())),
            ..self
        }
    }

    /// The address, for people.
    pub(super) fn address(&self) -> &str {
        self.authority.as_str()
    }

    /// Whether others on the way can read what is sent: it is not encrypted, and leaves the machine.
    pub(super) fn is_exposed(&self) -> bool {
        let host = self.authority.host().trim_start_matches('[').trim_end_matches(']');
        let address = host.parse::<std::net::IpAddr>();
        self.plaintext && host != "localhost" && !address.is_ok_and(|address| address.is_loopback())
    }

    pub(super) fn is_plaintext(&self) -> bool {
        self.plaintext
    }

    pub(super) fn runtime(&self) -> &Handle {
        &self.runtime
    }
}

impl fmt::Debug for Dialer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dialer").field("authority", &self.authority).finish_non_exhaustive()
    }
}

impl Dial for Dialer {
    fn dial(&self) -> Transport {
        let _inside = self.runtime.enter();
        Transport::Channel((self.connect)(self.endpoint.clone()), self.runtime.clone())
    }

    fn small_windows(&self) -> Arc<dyn Dial> {
        let endpoint = self.endpoint.clone().initial_stream_window_size(NARROW_WINDOW);
        Arc::new(Self { endpoint, ..self.clone() })
    }
}

/// Waits until a server of HTTP/2 answers at the address of an emulator.
///
/// # Errors
/// When none does in time.
pub(super) async fn check_emulator(host: &str) -> Result<(), Error> {
    let mut reason = String::new();
    let answered = timeout(EMULATOR_TIMEOUT, async {
        while let Err(failed) = ping(host, &mut reason).await {
            reason = failed;
            sleep(EMULATOR_PAUSE).await;
        }
    });
    answered.await.map_err(|_| {
        Error::unreachable(format!(
            "no emulator answers at `{host}` within {EMULATOR_TIMEOUT:?}: {reason}; start one there, or correct the address"
        ))
    })
}

/// Sends a ping of HTTP/2 on a connection of its own. `stage` is what it is waiting for.
async fn ping(host: &str, stage: &mut String) -> Result<(), String> {
    "nothing accepts the connection".clone_into(stage);
    let socket = TcpStream::connect(host).await.map_err(|error| error.to_string())?;
    "something accepts the connection, and says nothing".clone_into(stage);
    let other = |error: h2::Error| format!("something answers there that does not speak HTTP/2: {error}");
    let (_requests, mut connection) = h2::client::handshake(socket).await.map_err(other)?;
    let Some(mut pings) = connection.ping_pong() else { return Ok(()) };
    match select(pin!(pings.ping(h2::Ping::opaque())), pin!(connection)).await {
        Either::Left((answer, _)) => answer.map(drop).map_err(other),
        Either::Right((Err(error), _)) => Err(other(error)),
        Either::Right((Ok(()), _)) => Err("the connection is closed at once".to_owned()),
    }
}

/// Makes pipes that stand for connections.
pub trait Connector: Fn() -> BoxFuture<'static, io::Result<DuplexStream>> + Send + Sync + 'static {}

impl<F: Fn() -> BoxFuture<'static, io::Result<DuplexStream>> + Send + Sync + 'static> Connector for F {}

/// A [`Connector`] as tonic takes it.
#[derive(Clone)]
struct Pipes(Arc<dyn Connector>);

impl Service<Uri> for Pipes {
    type Response = TokioIo<DuplexStream>;
    type Error = io::Error;
    type Future = BoxFuture<'static, io::Result<Self::Response>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Uri) -> Self::Future {
        let pipe = (self.0)();
        Box::pin(async move { pipe.await.map(TokioIo::new) })
    }
}

/// Whether an address is a host, with or without a port, and nothing more.
fn is_plain(address: &Authority) -> bool {
    !address.host().is_empty() && !address.as_str().contains('@')
}

/// Makes connections over TCP.
fn tcp() -> HttpConnector {
    let mut tcp = HttpConnector::new();
    // The scheme may be `https`: what encrypts comes on top.
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_connect_timeout(Some(CONNECT_TIMEOUT));
    tcp
}

fn configure(endpoint: Endpoint) -> Endpoint {
    endpoint
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .http2_keep_alive_interval(KEEP_ALIVE_INTERVAL)
        .keep_alive_timeout(KEEP_ALIVE_TIMEOUT)
        .keep_alive_while_idle(true)
        .connect_timeout(CONNECT_TIMEOUT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outside_a_runtime_is_an_error() {
        let error = Dialer::emulator("localhost:1").unwrap_err();
        assert!(error.is_misconfiguration() && error.to_string().contains("tokio runtime"));
    }

    #[tokio::test]
    async fn an_address_that_is_none_is_an_error() {
        for host in [
            "local host",
            "http://localhost:8086",
            "localhost",
            "localhost:99999",
            "localhost:1/",
            ":8086",
            "user@localhost:1",
            "",
        ] {
            let error = Dialer::emulator(host).unwrap_err();
            assert_eq!(
                error.to_string(),
                format!("`{host}` is no emulator address; write a host and a port, such as `localhost:8086`")
            );
        }
        assert!(Dialer::emulator("[::1]:8086").is_ok());
    }

    #[tokio::test]
    async fn an_endpoint_has_a_scheme_and_a_host() {
        for uri in [
            "",
            "localhost:8086",
            "ftp://localhost",
            "http://",
            "http://localhost/path",
            "a b",
            "http://:80",
            "http://me@localhost",
        ] {
            let error = Dialer::endpoint(uri).unwrap_err();
            assert!(error.is_misconfiguration());
            assert!(error.to_string().starts_with(&format!("`{uri}` is no endpoint")), "{error}");
        }
        assert_eq!(Dialer::endpoint("http://localhost:1/").unwrap().address(), "localhost:1");
    }

    #[tokio::test]
    async fn what_leaves_the_machine_unencrypted_is_exposed() {
        for (uri, exposed) in [
            ("http://10.0.0.1:80", true),
            ("http://proxy", true),
            ("http://localhost:1", false),
            ("http://127.3.2.1:1", false),
            ("http://[::1]:1", false),
        ] {
            assert_eq!(Dialer::endpoint(uri).unwrap().is_exposed(), exposed, "{uri}");
        }
    }

    #[tokio::test]
    #[cfg(not(feature = "cloud"))]
    async fn without_the_feature_tls_is_an_error_that_names_it() {
        let error = Dialer::endpoint("https://bigtable.googleapis.com").unwrap_err();
        assert!(error.to_string().contains("feature `cloud`"), "{error}");
    }
}
