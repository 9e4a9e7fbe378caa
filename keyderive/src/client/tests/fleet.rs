//! Connections to one embedded Bigtable that record their requests.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};

use http::HeaderMap;
use tonic::Status;
use tonic::body::Body;

use super::*;
use crate::client::builder::ConnectOptions;
use crate::client::connections::{Clock, Dial, Transport};
use crate::client::credentials::Authorizer;
use crate::client::target::TargetKind;

/// Dials connections and records their requests.
#[derive(Clone)]
pub(super) struct Fleet(Arc<Shared>);

struct Shared {
    servers: Arc<dyn InProcess>,
    dialed: AtomicUsize,
    seen: Mutex<Vec<Seen>>,
    refusal: Mutex<Option<Refusal>>,
    lines: Mutex<Vec<Weak<Line>>>,
}

/// The status to refuse a request with, if any.
type Refusal = Box<dyn FnMut(&Seen) -> Option<Status> + Send>;

/// A request.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    /// The number of its connection, from 0.
    pub(super) line: usize,
    pub(super) rpc: String,
    pub(super) headers: HeaderMap,
}

/// One connection.
struct Line(Arc<Shared>, usize);

impl Fleet {
    pub(super) fn new() -> Self {
        let embedded = Client::embedded();
        let servers = embedded.inner.pool.in_process().unwrap();
        Self(Arc::new(Shared {
            servers,
            dialed: AtomicUsize::new(0),
            seen: Mutex::default(),
            refusal: Mutex::default(),
            lines: Mutex::default(),
        }))
    }

    /// Refuses the requests for which `refusal` returns a status from now on.
    pub(super) fn refuse(&self, refusal: impl FnMut(&Seen) -> Option<Status> + Send + 'static) {
        *self.0.refusal.lock().unwrap() = Some(Box::new(refusal));
    }

    /// A client on these connections, as in the cloud.
    pub(super) async fn cloud(&self, builder: ClientBuilder) -> Client {
        builder.open(self.endpoint(None)).await
    }

    pub(super) fn endpoint(&self, credentials: Option<Authorizer>) -> ConnectOptions {
        ConnectOptions {
            target: TargetKind::Cloud("test".into()),
            data: Arc::new(self.clone()),
            admin: None,
            runtime: tokio::runtime::Handle::current(),
            credentials,
            clock: Clock::default(),
        }
    }

    /// The requests since the last call.
    pub(super) fn take_seen(&self) -> Vec<Seen> {
        std::mem::take(&mut self.0.seen.lock().unwrap())
    }

    /// The numbers of the connections of the requests for `rpc` since the last call, in order.
    pub(super) fn take_connections(&self, rpc: &str) -> Vec<usize> {
        let mut lines: Vec<usize> =
            self.take_seen().into_iter().filter(|seen| seen.rpc == rpc).map(|seen| seen.line).collect();
        lines.sort_unstable();
        lines
    }

    pub(super) fn dialed(&self) -> usize {
        self.0.dialed.load(Ordering::SeqCst)
    }

    /// Whether a connection is still open.
    pub(super) fn is_open(&self, line: usize) -> bool {
        self.0.lines.lock().unwrap()[line].upgrade().is_some()
    }

    /// The number of references to the fleet.
    pub(super) fn holders(&self) -> usize {
        Arc::strong_count(&self.0)
    }

    pub(super) fn transport(&self) -> Transport {
        let line = Arc::new(Line(Arc::clone(&self.0), self.0.dialed.fetch_add(1, Ordering::SeqCst)));
        self.0.lines.lock().unwrap().push(Arc::downgrade(&line));
        Transport::InProcess(line)
    }
}

impl Dial for Fleet {
    fn dial(&self) -> Transport {
        self.transport()
    }

    fn small_windows(&self) -> Arc<dyn Dial> {
        Arc::new(self.clone())
    }
}

/// Serves one more connection.
impl tower_service::Service<http::Request<Body>> for Fleet {
    type Response = http::Response<Body>;
    type Error = std::convert::Infallible;
    type Future = BoxFuture<Result<Self::Response, Self::Error>>;

    fn poll_ready(&mut self, _: &mut std::task::Context<'_>) -> std::task::Poll<Result<(), Self::Error>> {
        std::task::Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let Transport::InProcess(line) = self.transport() else { unreachable!("a fleet is in this process") };
        Box::pin(async move { Ok(line.call(request).await) })
    }
}

impl InProcess for Line {
    fn call(&self, request: http::Request<Body>) -> BoxFuture<http::Response<Body>> {
        let Self(shared, line) = self;
        let rpc = request.uri().path().rsplit('/').next().unwrap_or_default().to_owned();
        let seen = Seen { line: *line, rpc, headers: request.headers().clone() };
        let refused = shared.refusal.lock().unwrap().as_mut().and_then(|refusal| refusal(&seen));
        shared.seen.lock().unwrap().push(seen);
        let servers = Arc::clone(&shared.servers);
        Box::pin(async move {
            match refused {
                Some(status) => status.into_http(),
                None => servers.call(request).await,
            }
        })
    }
}
