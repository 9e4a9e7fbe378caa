//! How connections are made: to which address, over TCP with or without TLS, or over pipes in tests.

use std::fmt;
use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{Either, select};
use http::Uri;
use http::uri::{Authority, Scheme};
use hyper_util::client::legacy::connect::HttpConnector;
use tokio::io::DuplexStream;
use tokio::net::TcpStream;
use tokio::runtime::Handle;
use tokio::time::{sleep, timeout};
use tower_service::Service as _;

use super::http2::{CONNECT_TIMEOUT, Endpoint, Http2, Io, Open};
use super::runtime::check_connections;
use super::{BoxFuture, Transport};
use crate::client::error::Error;

/// The flow-control window of a stream. Streams that wait for their turn in an ordered merge fill it: the windows of all
/// streams of a connection must fit in the connection's, or the merge hangs.
const STREAM_WINDOW: u32 = 1 << 20;

/// The window of a stream of a scan with many streams, which has connections of its own. All waiting streams are
/// buffered in memory; together they have as much in flight as a few streams with large windows.
const SMALL_STREAM_WINDOW: u32 = 1 << 16;

/// How long a stream that was reset is remembered.
const RESET_MEMORY: Duration = Duration::from_secs(1);

/// How long to wait for an emulator that may be starting.
const EMULATOR_TIMEOUT: Duration = Duration::from_secs(3);
const EMULATOR_BACKOFF: Duration = Duration::from_millis(100);

/// Makes connections to one address, all with the same options.
pub(in crate::client) trait Dial: Send + Sync {
    /// A new connection. It connects at its first use, and again when it breaks.
    fn dial(&self) -> Transport;

    /// Makes connections to the same address with small stream windows.
    fn small_windows(&self) -> Arc<dyn Dial>;
}

/// Makes connections over TCP, with or without TLS.
#[derive(Clone)]
pub(in crate::client) struct Dialer(Endpoint);

impl Dialer {
    /// A dialer of the emulator at `host:port`.
    pub(in crate::client) fn emulator(host: &str) -> Result<Self, Error> {
        let address: Option<Authority> = host.parse().ok();
        let address = address.filter(|address| address.port_u16().is_some() && names_only_a_host(address));
        match address {
            Some(address) => Self::plaintext(address),
            None => Err(Error::configuration(format!(
                "`{host}` is no emulator address; write a host and a port, such as `localhost:8086`"
            ))),
        }
    }

    /// A dialer of the server that a URI names, with TLS if its scheme is `https`. `own_roots` are certificates in PEM.
    pub(in crate::client) fn endpoint(uri: &str, own_roots: &[u8]) -> Result<Self, Error> {
        let parts = uri.parse::<Uri>().ok().map(Uri::into_parts);
        let named = parts.filter(|parts| parts.path_and_query.as_ref().is_none_or(|path| path == "/"));
        let named = named.and_then(|parts| parts.scheme.zip(parts.authority.filter(names_only_a_host)));
        match named {
            Some((scheme, authority)) if scheme == Scheme::HTTP => Self::plaintext(authority),
            Some((scheme, authority)) if scheme == Scheme::HTTPS => Self::tls(&authority, own_roots),
            _ => Err(Error::configuration(format!(
                "`{uri}` is no endpoint; write the scheme and the host, such as `https://bigtable.googleapis.com`"
            ))),
        }
    }

    fn plaintext(authority: Authority) -> Result<Self, Error> {
        let open: Open = {
            let authority = authority.clone();
            Arc::new(move || {
                let authority = authority.clone();
                Box::pin(async move { Ok(Box::new(tcp(Scheme::HTTP, authority).await?) as Box<dyn Io>) })
            })
        };
        Self::new(Scheme::HTTP, authority, open)
    }

    #[cfg(feature = "cloud")]
    fn tls(authority: &Authority, own_roots: &[u8]) -> Result<Self, Error> {
        use rustls::pki_types::ServerName;
        use tokio_rustls::TlsConnector;

        let config = Arc::new(super::tls::config(own_roots)?);
        let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_owned();
        let name = ServerName::try_from(host).map_err(|error| {
            Error::configuration(format!("`https://{authority}` names no host that TLS can check: {error}"))
        })?;
        let open: Open = {
            let authority = authority.clone();
            Arc::new(move || {
                let (authority, name, tls) =
                    (authority.clone(), name.clone(), TlsConnector::from(Arc::clone(&config)));
                Box::pin(async move {
                    let tcp = tcp(Scheme::HTTPS, authority).await?;
                    let stream = tls.connect(name, tcp).await?;
                    match stream.get_ref().1.alpn_protocol() {
                        Some(b"h2") => Ok(Box::new(stream) as Box<dyn Io>),
                        _ => Err("the server does not speak HTTP/2".into()),
                    }
                })
            })
        };
        Self::new(Scheme::HTTPS, authority.clone(), open)
    }

    #[cfg(not(feature = "cloud"))]
    fn tls(authority: &Authority, _: &[u8]) -> Result<Self, Error> {
        Err(Error::configuration(format!(
            "`https://{authority}` needs TLS, and keyderive was built without it; enable the feature `cloud`"
        )))
    }

    fn new(scheme: Scheme, authority: Authority, open: Open) -> Result<Self, Error> {
        let runtime = check_connections()?;
        let (stream_window, reset_memory) = (STREAM_WINDOW, RESET_MEMORY);
        Ok(Self(Endpoint { scheme, authority, stream_window, reset_memory, runtime, open }))
    }

    /// Uses pipes that `connect` makes in place of sockets. Streams that were reset are remembered for ever, since h2 measures that time by
    /// a clock that tests cannot pause.
    pub(in crate::client) fn connected_by(self, connect: impl Connector) -> Self {
        let open: Open = Arc::new(move || {
            let pipe = connect();
            Box::pin(async move { Ok(Box::new(pipe.await?) as Box<dyn Io>) })
        });
        Self(Endpoint { open, reset_memory: Duration::MAX, ..self.0 })
    }

    pub(in crate::client) fn address(&self) -> &str {
        self.0.authority.as_str()
    }

    /// Whether requests leave the machine unencrypted.
    pub(in crate::client) fn is_exposed(&self) -> bool {
        let host = self.0.authority.host().trim_start_matches('[').trim_end_matches(']');
        let address = host.parse::<std::net::IpAddr>();
        self.is_plaintext() && host != "localhost" && !address.is_ok_and(|address| address.is_loopback())
    }

    pub(in crate::client) fn is_plaintext(&self) -> bool {
        self.0.scheme == Scheme::HTTP
    }

    pub(in crate::client) fn runtime(&self) -> &Handle {
        &self.0.runtime
    }
}

impl fmt::Debug for Dialer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dialer").field("authority", &self.0.authority).finish_non_exhaustive()
    }
}

impl Dial for Dialer {
    fn dial(&self) -> Transport {
        Transport::Http2(Arc::new(Http2::new(self.0.clone())))
    }

    fn small_windows(&self) -> Arc<dyn Dial> {
        Arc::new(Self(Endpoint { stream_window: SMALL_STREAM_WINDOW, ..self.0.clone() }))
    }
}

/// Waits until an HTTP/2 server answers at the address of an emulator.
///
/// # Errors
/// When none answers in time.
pub(in crate::client) async fn check_emulator(host: &str) -> Result<(), Error> {
    let mut reason = String::new();
    let answer = timeout(EMULATOR_TIMEOUT, async {
        while let Err(failure) = ping(host, &mut reason).await {
            reason = failure;
            sleep(EMULATOR_BACKOFF).await;
        }
    });
    answer.await.map_err(|_| {
        Error::unreachable(format!(
            "no emulator answered at `{host}` within {EMULATOR_TIMEOUT:?}: {reason}; start one there, or correct the \
             address"
        ))
    })
}

/// Sends an HTTP/2 ping on a new connection. Keeps in `reason` what it waits for, in case the caller times it out.
async fn ping(host: &str, reason: &mut String) -> Result<(), String> {
    "no server accepted the connection".clone_into(reason);
    let socket = TcpStream::connect(host).await.map_err(|error| error.to_string())?;
    "a server accepted the connection, but sent nothing".clone_into(reason);
    let not_http2 = |error: h2::Error| format!("the server there does not speak HTTP/2: {error}");
    let (_requests, mut connection) = h2::client::handshake(socket).await.map_err(not_http2)?;
    let Some(mut pings) = connection.ping_pong() else { return Ok(()) };
    match select(pin!(pings.ping(h2::Ping::opaque())), pin!(connection)).await {
        Either::Left((answer, _)) => answer.map(drop).map_err(not_http2),
        Either::Right((Err(error), _)) => Err(not_http2(error)),
        Either::Right((Ok(()), _)) => Err("the server closed the connection at once".to_owned()),
    }
}

/// Makes pipes in place of sockets.
pub trait Connector: Fn() -> BoxFuture<io::Result<DuplexStream>> + Send + Sync + 'static {}

impl<F: Fn() -> BoxFuture<io::Result<DuplexStream>> + Send + Sync + 'static> Connector for F {}

/// Whether an address is only a host, with or without a port.
fn names_only_a_host(address: &Authority) -> bool {
    !address.host().is_empty() && !address.as_str().contains('@')
}

/// A socket to the host that an authority names: to the first of its addresses that takes the connection.
async fn tcp(
    scheme: Scheme,
    authority: Authority,
) -> Result<TcpStream, Box<dyn std::error::Error + Send + Sync>> {
    let mut tcp = HttpConnector::new();
    // The scheme, which says the port where the authority does not, may be `https`.
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_connect_timeout(Some(CONNECT_TIMEOUT));
    let mut uri = http::uri::Parts::default();
    (uri.scheme, uri.authority) = (Some(scheme), Some(authority));
    uri.path_and_query = Some(http::uri::PathAndQuery::from_static("/"));
    poll_fn(|cx| tcp.poll_ready(cx)).await?;
    Ok(tcp.call(Uri::from_parts(uri)?).await?.into_inner())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::ErrorKind;

    #[test]
    fn outside_a_runtime_is_an_error() {
        let error = Dialer::emulator("localhost:1").unwrap_err();
        assert!(error.kind() == ErrorKind::Misconfiguration && error.to_string().contains("tokio runtime"));
    }

    #[tokio::test]
    async fn an_invalid_emulator_address_is_an_error() {
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
            let error = Dialer::endpoint(uri, &[]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Misconfiguration);
            assert!(error.to_string().starts_with(&format!("`{uri}` is no endpoint")), "{error}");
        }
        assert_eq!(Dialer::endpoint("http://localhost:1/", &[]).unwrap().address(), "localhost:1");
    }

    #[tokio::test]
    async fn requests_that_leave_the_machine_unencrypted_are_exposed() {
        for (uri, exposed) in [
            ("http://10.0.0.1:80", true),
            ("http://proxy", true),
            ("http://localhost:1", false),
            ("http://127.3.2.1:1", false),
            ("http://[::1]:1", false),
        ] {
            assert_eq!(Dialer::endpoint(uri, &[]).unwrap().is_exposed(), exposed, "{uri}");
        }
    }

    #[tokio::test]
    #[cfg(not(feature = "cloud"))]
    async fn without_the_feature_tls_is_an_error_that_names_it() {
        let error = Dialer::endpoint("https://bigtable.googleapis.com", &[]).unwrap_err();
        assert!(error.to_string().contains("feature `cloud`"), "{error}");
    }
}
