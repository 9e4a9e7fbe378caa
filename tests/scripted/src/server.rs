//! The server: a thread of its own, a free port of the loopback interface, and counts of what it does.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use bytes::Bytes;
use futures_core::Stream;
use keyderive_proto::admin;
use keyderive_proto::data::ReadRowsRequest;
use prost::Message as _;
use tokio::sync::oneshot;
use tonic::body::Body;
use tonic::server::Grpc;
use tonic::transport::server::TcpIncoming;
use tonic::{Request, Response, Status};
use tower_service::Service;

use crate::codec::Encoded;
use crate::table::FAMILY;

/// How many streams a client may have open at a time: as many as Google's front ends allow.
pub const MAX_CONCURRENT_STREAMS: u32 = 100;

/// How long nothing is sent before the server counts as settled.
const SETTLED: Duration = Duration::from_millis(20);

/// The messages that answer one request, encoded.
pub type Answers = Box<dyn Iterator<Item = Bytes> + Send>;

/// What a server answers.
pub trait Script: Send + Sync + 'static {
    /// The answer to one `ReadRows` request, made message by message as the client takes them.
    fn answer(&self, request: ReadRowsRequest) -> Answers;

    /// The answer to one `MutateRows` request, which is handed over encoded; unless said, there are no outcomes in it.
    fn answer_write(&self, _request: Bytes) -> Answers {
        Box::new(std::iter::empty())
    }
}

/// A running server. It ends with this value.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    counts: Arc<Counts>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Counts {
    open: AtomicUsize,
    most_open: AtomicUsize,
    messages: AtomicUsize,
    requests: AtomicUsize,
}

impl Server {
    /// Starts a server of `script`.
    #[must_use]
    pub fn start(script: impl Script) -> Self {
        Self::start_in(script, || {})
    }

    /// Starts a server of `script`, whose thread first calls `begin`.
    ///
    /// # Panics
    /// When no port of the loopback interface is free.
    #[must_use]
    pub fn start_in(script: impl Script, begin: impl FnOnce() + Send + 'static) -> Self {
        let counts = Arc::new(Counts::default());
        let (stop, stopped) = oneshot::channel();
        let (tell, told) = std::sync::mpsc::channel();
        let service = Scripted { script: Arc::new(script), counts: Arc::clone(&counts) };
        let thread = thread::spawn(move || {
            begin();
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async move {
                let incoming = TcpIncoming::bind(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
                tell.send(incoming.local_addr().unwrap()).unwrap();
                let server = tonic::transport::Server::builder()
                    .max_concurrent_streams(MAX_CONCURRENT_STREAMS)
                    // hyper closes the connection of a client that resets more than 20 streams before they are
                    // accepted. A scan that is dropped resets as many as it has, all at once.
                    .http2_max_pending_accept_reset_streams(Some(100 * MAX_CONCURRENT_STREAMS as usize))
                    .serve_with_incoming(service, incoming.with_nodelay(Some(true)));
                tokio::select! {
                    served = server => served.unwrap(),
                    _ = stopped => {}
                }
            });
        });
        let address = told.recv().unwrap();
        Self { address, counts, stop: Some(stop), thread: Some(thread) }
    }

    /// Its address, as `Client::emulator` takes it.
    #[must_use]
    pub fn host(&self) -> String {
        self.address.to_string()
    }

    /// The most requests that were being answered at a time.
    #[must_use]
    pub fn most_open(&self) -> usize {
        self.counts.most_open.load(Ordering::Relaxed)
    }

    /// How many requests have come.
    #[must_use]
    pub fn requests(&self) -> usize {
        self.counts.requests.load(Ordering::Relaxed)
    }

    /// How many requests are being answered.
    #[must_use]
    pub fn open(&self) -> usize {
        self.counts.open.load(Ordering::Relaxed)
    }

    /// Waits until nothing more is sent: all is answered, or the client takes no more.
    pub async fn settled(&self) {
        let mut before = usize::MAX;
        loop {
            let sent = self.counts.messages.load(Ordering::Relaxed);
            if sent == before {
                return;
            }
            before = sent;
            tokio::time::sleep(SETTLED).await;
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.take();
        let ended = self.thread.take().map(JoinHandle::join);
        assert!(thread::panicking() || matches!(ended, Some(Ok(()))), "the scripted server has failed");
    }
}

/// What every table is that is asked for: it has the family of all cells.
fn table() -> Bytes {
    let column_families = [(FAMILY.to_owned(), admin::ColumnFamily::default())].into();
    let table = admin::Table { column_families, ..admin::Table::default() };
    table.encode_to_vec().into()
}

/// The service. Of its RPCs, those that a script does not answer get one empty message: no row keys are sampled, and a
/// connection is warm.
struct Scripted<S> {
    script: Arc<S>,
    counts: Arc<Counts>,
}

impl<S> Clone for Scripted<S> {
    fn clone(&self) -> Self {
        Self { script: Arc::clone(&self.script), counts: Arc::clone(&self.counts) }
    }
}

impl<S: Script> Service<http::Request<Body>> for Scripted<S> {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let rpc = match request.uri().path().rsplit('/').next() {
            Some("ReadRows") => Rpc::ReadRows,
            Some("MutateRows") => Rpc::MutateRows,
            Some("GetTable") => Rpc::GetTable,
            _ => Rpc::Other,
        };
        let method = Method { rpc, service: self.clone() };
        let mut server = Grpc::new(Encoded).max_decoding_message_size(usize::MAX);
        Box::pin(async move { Ok(server.server_streaming(method, request).await) })
    }
}

#[derive(Clone, Copy)]
enum Rpc {
    ReadRows,
    MutateRows,
    GetTable,
    Other,
}

struct Method<S> {
    rpc: Rpc,
    service: Scripted<S>,
}

impl<S: Script> Service<Request<Bytes>> for Method<S> {
    type Response = Response<Answering>;
    type Error = Status;
    type Future = Ready<Result<Response<Answering>, Status>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Status>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Bytes>) -> Self::Future {
        let (request, Scripted { script, counts }) = (request.into_inner(), &self.service);
        let answers = match self.rpc {
            Rpc::ReadRows => match ReadRowsRequest::decode(request) {
                Ok(request) => script.answer(request),
                Err(error) => return ready(Err(Status::internal(error.to_string()))),
            },
            Rpc::MutateRows => script.answer_write(request),
            Rpc::GetTable => Box::new(std::iter::once(table())),
            Rpc::Other => Box::new(std::iter::once(Bytes::new())),
        };
        let open = counts.open.fetch_add(1, Ordering::Relaxed) + 1;
        counts.most_open.fetch_max(open, Ordering::Relaxed);
        counts.requests.fetch_add(1, Ordering::Relaxed);
        ready(Ok(Response::new(Answering { answers, counts: Arc::clone(counts) })))
    }
}

/// A request that is being answered.
struct Answering {
    answers: Answers,
    counts: Arc<Counts>,
}

impl Stream for Answering {
    type Item = Result<Bytes, Status>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let answer = self.answers.next();
        self.counts.messages.fetch_add(1, Ordering::Relaxed);
        Poll::Ready(answer.map(Ok))
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        self.counts.open.fetch_sub(1, Ordering::Relaxed);
    }
}
