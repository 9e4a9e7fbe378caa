//! The network between one process and the server: it delays, loses, repeats nothing, applies requests after their sender gave up, and
//! cuts connections. Some proxies break a rule of the protocol on purpose.

use std::collections::HashMap;
use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::net::Shutdown;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{BufMut as _, Bytes, BytesMut};
use fastrand::Rng;
use futures_util::stream;
use http_body::{Body as _, Frame};
use keyderive_proto::data::mutation::Mutation as Change;
use keyderive_proto::data::{
    CheckAndMutateRowRequest, MutateRowRequest, MutateRowsRequest, Mutation, ReadRowsRequest,
};
use prost::Message;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::sleep;
use tonic::Status;
use tonic::body::Body;
use tonic::transport::{Channel, Server};
use tower_service::Service;

use super::history::now;

/// The family of the marks.
const MARKS: &str = "keyderive-move";
/// The row that holds the state.
const CONTROL: &[u8] = &[0];

/// A rule of the protocol that a proxy breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Broken {
    /// Writes leave no mark.
    Unmarked,
    /// Copies are made whether or not the row is marked.
    CopiesOverwrite,
    /// A write of a row that is not marked yet does not copy it. The pass does not come to it before.
    Uncopied,
    /// One writer sees the first state for ever, as if its lease had no end.
    Frozen,
    /// The state changes at once, without the wait. The run itself breaks this one.
    NoWait,
}

/// What happens to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// It fails, and is not applied.
    Refused,
    /// It is not applied, and has no answer.
    Swallowed,
    /// It is applied, and the client receives UNAVAILABLE.
    Lost,
    /// The client receives UNAVAILABLE at once, and the request is applied later.
    Late,
    /// It is applied later, and has no answer in time.
    Held,
    /// Others overtake it.
    Delayed,
}

/// Each fault, and how many of a thousand requests meet it.
const FAULTS: [(Fault, u16); 6] = [
    (Fault::Refused, 10),
    (Fault::Swallowed, 4),
    (Fault::Lost, 12),
    (Fault::Late, 10),
    (Fault::Held, 8),
    (Fault::Delayed, 120),
];

/// What all proxies of a run have seen.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// When the requests that wrote a row arrived, by process and row.
    pub(super) landings: HashMap<(usize, u64), Vec<u64>>,
    faults: [u64; FAULTS.len()],
    pub(super) requests: u64,
    /// Requests that were applied after their sender could not receive the answer.
    pub(super) after_the_end: u64,
}

impl Seen {
    pub(super) fn faults(&self) -> String {
        let faults = FAULTS.iter().zip(self.faults);
        let faults: Vec<_> = faults
            .map(|((fault, _), count)| format!("{} {count}", format!("{fault:?}").to_lowercase()))
            .collect();
        faults.join(", ")
    }
}

/// What a proxy does.
#[derive(Clone, Copy, Debug)]
pub(super) struct Network {
    /// That of its process.
    pub(super) slot: usize,
    pub(super) is_driver: bool,
    pub(super) broken: Option<Broken>,
    /// The part of the faults that requests meet.
    pub(super) faults: f64,
    /// The longest time after its arrival at which a request is still applied.
    pub(super) latest: Duration,
}

/// The proxy of one process.
#[derive(Clone)]
pub(super) struct Proxy(Arc<Inner>);

struct Inner {
    network: Network,
    upstream: Channel,
    seen: Arc<Mutex<Seen>>,
    rng: Mutex<Rng>,
    /// Until then writes are refused: a process that was stopped sends what it wanted to send before.
    quiet_until: AtomicU64,
    /// Whether the state is not told.
    is_mute: AtomicBool,
    sockets: Mutex<Vec<std::net::TcpStream>>,
    in_flight: Mutex<JoinSet<()>>,
    host: OnceLock<String>,
}

impl Proxy {
    pub(super) fn new(network: Network, upstream: Channel, seen: Arc<Mutex<Seen>>, rng: Rng) -> Self {
        Self(Arc::new(Inner {
            network,
            upstream,
            seen,
            rng: Mutex::new(rng),
            quiet_until: AtomicU64::new(0),
            is_mute: AtomicBool::new(false),
            sockets: Mutex::default(),
            in_flight: Mutex::default(),
            host: OnceLock::new(),
        }))
    }

    /// Serves the proxy on a free port until `tasks` is dropped.
    pub(super) async fn serve(&self, tasks: &mut JoinSet<()>) {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        self.0.host.set(listener.local_addr().unwrap().to_string()).unwrap();
        let own = self.clone();
        let incoming = stream::unfold(listener, move |listener| {
            let own = own.clone();
            async move {
                let accepted = async {
                    let (stream, _) = listener.accept().await?;
                    stream.set_nodelay(true)?;
                    let stream = stream.into_std()?;
                    locked(&own.0.sockets).push(stream.try_clone()?);
                    tokio::net::TcpStream::from_std(stream)
                };
                Some((accepted.await, listener))
            }
        });
        let proxy = self.clone();
        tasks.spawn(async move {
            Server::builder().serve_with_incoming(proxy, Box::pin(incoming)).await.unwrap();
        });
    }

    pub(super) fn host(&self) -> String {
        self.0.host.get().cloned().unwrap_or_default()
    }

    /// Cuts every connection.
    pub(super) fn cut(&self) {
        for socket in locked(&self.0.sockets).drain(..) {
            // It may be closed already.
            let _ = socket.shutdown(Shutdown::Both);
        }
    }

    /// Refuses writes for some time.
    pub(super) fn be_quiet(&self, time: Duration) {
        self.0.quiet_until.store(now() + u64::try_from(time.as_nanos()).unwrap(), Ordering::SeqCst);
    }

    /// Tells the process no state any more, so that it acts by the one it knows until its lease ends.
    pub(super) fn be_mute(&self) {
        self.0.is_mute.store(true, Ordering::SeqCst);
    }

    /// Waits until no request is in flight.
    pub(super) async fn settled(&self) {
        let tasks = std::mem::take(&mut *locked(&self.0.in_flight));
        tasks.join_all().await;
    }

    async fn answer(self, request: http::Request<Body>) -> http::Response<Body> {
        let method = request.uri().path().rsplit('/').next().unwrap_or_default().to_owned();
        locked(&self.0.seen).requests += 1;
        let answered = match method.as_str() {
            "MutateRow"
            | "MutateRows"
            | "CheckAndMutateRow"
            | "ReadModifyWriteRow"
            | "CreateTable"
            | "ModifyColumnFamilies" => self.write(&method, request).await,
            _ => self.read(&method, request).await,
        };
        answered.unwrap_or_else(Status::into_http)
    }

    /// What a request meets, and a time for it.
    fn fault(&self) -> (Option<Fault>, Duration) {
        let mut rng = locked(&self.0.rng);
        let (mut drawn, part) = (rng.u16(..1000), rng.f64());
        if rng.f64() >= self.0.network.faults {
            return (None, Duration::ZERO);
        }
        let fault = FAULTS.into_iter().find_map(|(fault, share)| {
            let is_met = drawn < share;
            drawn = drawn.saturating_sub(share);
            is_met.then_some(fault)
        });
        let longest = match fault {
            Some(Fault::Delayed) => Duration::from_millis(60).min(self.0.network.latest),
            _ => self.0.network.latest,
        };
        (fault, longest.mul_f64(part))
    }

    fn count(&self, fault: Option<Fault>) {
        if let Some(fault) = fault {
            locked(&self.0.seen).faults[FAULTS.iter().position(|(known, _)| *known == fault).unwrap()] += 1;
        }
    }

    async fn read(&self, method: &str, request: http::Request<Body>) -> Result<http::Response<Body>, Status> {
        let (head, body) = request.into_parts();
        let body = message(body).await?;
        let is_control = method == "ReadRows"
            && ReadRowsRequest::decode(body.clone()).is_ok_and(|read| {
                read.rows.is_some_and(|rows| rows.row_keys.iter().any(|key| &key[..] == CONTROL))
            });
        if is_control && self.0.network.broken == Some(Broken::Frozen) && self.0.network.slot == 0 {
            return Ok(answered(None));
        }
        if is_control && self.0.is_mute.load(Ordering::SeqCst) {
            return Err(lost());
        }
        let (fault, pause) = self.fault();
        match fault {
            Some(Fault::Refused) => {
                self.count(fault);
                return Err(lost());
            }
            // As an answer that is overtaken by others.
            Some(Fault::Delayed | Fault::Late | Fault::Held) => {
                self.count(fault);
                sleep(pause).await;
            }
            _ => {}
        }
        self.forward(http::Request::from_parts(head, framed(&body))).await
    }

    async fn forward(&self, request: http::Request<Body>) -> Result<http::Response<Body>, Status> {
        let mut upstream = self.0.upstream.clone();
        let unavailable = |error: tonic::transport::Error| Status::unavailable(error.to_string());
        poll_fn(|cx| upstream.poll_ready(cx)).await.map_err(unavailable)?;
        upstream.call(request).await.map_err(unavailable)
    }

    async fn write(
        &self,
        method: &str,
        request: http::Request<Body>,
    ) -> Result<http::Response<Body>, Status> {
        let arrived = now();
        let (mut head, body) = request.into_parts();
        // A late request must not be cancelled by its server.
        head.headers.remove("grpc-timeout");
        let body = self.broken(method, message(body).await?)?;
        let Some(body) = body else { return Ok(answered(Some(&[]))) };
        if arrived < self.0.quiet_until.load(Ordering::SeqCst) {
            return Err(lost());
        }
        let (fault, pause) = self.fault();
        self.count(fault);
        let rows = self.rows(method, &body);
        let (sender, receiver) = oneshot::channel();
        let own = self.clone();
        // In its own task: a request in flight continues when its sender gives up or dies.
        let send = async move {
            if matches!(fault, Some(Fault::Late | Fault::Held | Fault::Delayed)) {
                sleep(pause).await;
            }
            if Duration::from_nanos(now() - arrived) > own.0.network.latest {
                return Err(lost());
            }
            let answer = own.forward(http::Request::from_parts(head, framed(&body))).await?;
            let (head, body) = answer.into_parts();
            let (data, trailers) = collected(body).await?;
            let status = trailers.as_ref().and_then(|trailers| trailers.get("grpc-status"));
            if status.or_else(|| head.headers.get("grpc-status")).is_none_or(|status| status == "0") {
                let mut seen = locked(&own.0.seen);
                for row in rows {
                    seen.landings.entry((own.0.network.slot, row)).or_default().push(arrived);
                }
            }
            let frames = [Some(Frame::data(data)), trailers.map(Frame::trailers)].into_iter().flatten();
            Ok(http::Response::from_parts(head, Body::new(Frames(frames.collect::<Vec<_>>().into_iter()))))
        };
        if !matches!(fault, Some(Fault::Refused | Fault::Swallowed)) {
            let seen = Arc::clone(&self.0.seen);
            let mut in_flight = locked(&self.0.in_flight);
            while in_flight.try_join_next().is_some() {}
            in_flight.spawn(async move {
                // The client may have stopped waiting.
                if sender.send(send.await).is_err() {
                    locked(&seen).after_the_end += 1;
                }
            });
        }
        let received = async { receiver.await.unwrap_or_else(|_| Err(lost())) };
        match fault {
            Some(Fault::Refused | Fault::Late) => Err(lost()),
            Some(Fault::Lost) => {
                let _ = received.await;
                Err(lost())
            }
            Some(Fault::Held | Fault::Swallowed) => {
                let _ = received.await;
                // Longer than any attempt waits.
                sleep(Duration::from_secs(5)).await;
                Err(lost())
            }
            _ => received.await,
        }
    }

    /// The rows that a request writes.
    fn rows(&self, method: &str, body: &Bytes) -> Vec<u64> {
        if self.0.network.is_driver {
            return Vec::new();
        }
        let keys = match method {
            "MutateRow" => MutateRowRequest::decode(body.clone()).map(|request| vec![request.row_key]),
            "CheckAndMutateRow" => {
                CheckAndMutateRowRequest::decode(body.clone()).map(|request| vec![request.row_key])
            }
            "MutateRows" => MutateRowsRequest::decode(body.clone())
                .map(|request| request.entries.into_iter().map(|entry| entry.row_key).collect()),
            _ => return Vec::new(),
        };
        // The last field of a key is the number of its row.
        let row = |key: Bytes| std::str::from_utf8(&key).ok()?.rsplit('#').next()?.parse().ok();
        keys.unwrap_or_default().into_iter().filter_map(row).collect()
    }

    /// The request as the broken rule makes it; `None` if nothing is left to send.
    fn broken(&self, method: &str, body: Bytes) -> Result<Option<Bytes>, Status> {
        let failed = |error: prost::DecodeError| Status::internal(error.to_string());
        let Some(broken) = self.0.network.broken else { return Ok(Some(body)) };
        match (broken, method) {
            (Broken::Unmarked, "MutateRow") if !self.0.network.is_driver => {
                let mut request = MutateRowRequest::decode(body).map_err(failed)?;
                request.mutations.retain(|mutation| !is_mark(mutation));
                Ok((!request.mutations.is_empty()).then(|| request.encode_to_vec().into()))
            }
            (Broken::Unmarked, "MutateRows") if !self.0.network.is_driver => {
                let mut request = MutateRowsRequest::decode(body).map_err(failed)?;
                request
                    .entries
                    .iter_mut()
                    .for_each(|entry| entry.mutations.retain(|mutation| !is_mark(mutation)));
                Ok(Some(request.encode_to_vec().into()))
            }
            (Broken::CopiesOverwrite, "CheckAndMutateRow") if self.0.network.is_driver => {
                let mut request = CheckAndMutateRowRequest::decode(body).map_err(failed)?;
                if request.true_mutations.is_empty() && request.false_mutations.iter().any(is_mark) {
                    request.true_mutations.clone_from(&request.false_mutations);
                }
                Ok(Some(request.encode_to_vec().into()))
            }
            (Broken::Uncopied, "CheckAndMutateRow") => {
                let mut request = CheckAndMutateRowRequest::decode(body).map_err(failed)?;
                if self.0.network.is_driver && &request.row_key[..] != CONTROL {
                    return Err(lost());
                }
                if request.true_mutations.iter().any(is_mark) {
                    request.false_mutations.clone_from(&request.true_mutations);
                }
                Ok(Some(request.encode_to_vec().into()))
            }
            _ => Ok(Some(body)),
        }
    }
}

fn is_mark(mutation: &Mutation) -> bool {
    matches!(&mutation.mutation, Some(Change::SetCell(cell)) if cell.family_name == MARKS)
}

fn lost() -> Status {
    Status::unavailable("the proxy has lost it")
}

impl Service<http::Request<Body>> for Proxy {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let proxy = self.clone();
        Box::pin(async move { Ok(proxy.answer(request).await) })
    }
}

/// The length of what precedes a message.
const PREFIX: usize = 5;

/// The only message of a request.
async fn message(body: Body) -> Result<Bytes, Status> {
    let (bytes, _) = collected(body).await?;
    match bytes.len() {
        ..PREFIX => Err(Status::internal("a request without a message")),
        _ => Ok(bytes.slice(PREFIX..)),
    }
}

async fn collected(body: Body) -> Result<(Bytes, Option<http::HeaderMap>), Status> {
    let mut body = std::pin::pin!(body);
    let (mut bytes, mut trailers) = (BytesMut::new(), None);
    while let Some(frame) = poll_fn(|cx| body.as_mut().poll_frame(cx)).await.transpose()? {
        match frame.into_data() {
            Ok(data) => bytes.put(data),
            Err(frame) => trailers = frame.into_trailers().ok(),
        }
    }
    Ok((bytes.freeze(), trailers))
}

fn prefixed(message: &[u8]) -> Bytes {
    let mut bytes = BytesMut::with_capacity(PREFIX + message.len());
    bytes.put_u8(0);
    bytes.put_u32(u32::try_from(message.len()).unwrap());
    bytes.put(message);
    bytes.freeze()
}

fn framed(message: &Bytes) -> Body {
    Body::new(Frames(vec![Frame::data(prefixed(message))].into_iter()))
}

/// A successful answer of one message or none.
fn answered(message: Option<&[u8]>) -> http::Response<Body> {
    let mut trailers = http::HeaderMap::new();
    trailers.insert("grpc-status", http::HeaderValue::from_static("0"));
    let data = message.map(|message| Frame::data(prefixed(message)));
    let frames: Vec<_> = data.into_iter().chain([Frame::trailers(trailers)]).collect();
    let response = http::Response::builder().header("content-type", "application/grpc");
    response.body(Body::new(Frames(frames.into_iter()))).unwrap()
}

struct Frames(std::vec::IntoIter<Frame<Bytes>>);

impl http_body::Body for Frames {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        Poll::Ready(self.0.next().map(Ok))
    }
}

pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
