//! A proxy between a client and a Bigtable: it loses answers, delays requests, sends them late, and records when the
//! server applied each.
//!
//! It does what a network and Bigtable's front ends may do, and no more: a request that the client sends once is
//! applied at most once, and a request that was answered is not applied again.

use std::collections::HashSet;
use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{BufMut as _, Bytes, BytesMut};
use fastrand::Rng;
use http_body::{Body as _, Frame};
use keyderive_proto::data::bigtable_client::BigtableClient;
use keyderive_proto::data::mutation::{Mutation as Change, SetCell};
use keyderive_proto::data::{
    CheckAndMutateRowRequest, MutateRowRequest, MutateRowsRequest, MutateRowsResponse, Mutation,
    mutate_rows_response,
};
use keyderive_proto::values;
use prost::Message;
use tokio::net::TcpListener;
use tokio::sync::{RwLock, oneshot};
use tokio::task::JoinSet;
use tonic::body::Body;
use tonic::metadata::MetadataMap;
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Channel, Server};
use tonic::{Code, Extensions, Status};
use tower_service::Service;

/// The timeout of a client's attempt.
pub(crate) const ATTEMPT: Duration = Duration::from_millis(300);

/// A point in a history: events are numbered in the order in which they are seen.
pub(crate) type Moment = u64;

/// A write of a row that the server was sent and has applied.
#[derive(Clone, Debug)]
pub(crate) struct Application {
    /// The number of the write.
    pub(crate) id: u64,
    pub(crate) sent: Moment,
    pub(crate) answered: Moment,
    /// Whether the client received the answer.
    pub(crate) is_answered: bool,
}

/// What the proxies of one server have seen.
#[derive(Debug, Default)]
pub(crate) struct Log {
    clock: AtomicU64,
    seen: Mutex<Seen>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    pub(crate) applications: Vec<Application>,
    /// The writes of each request that has two of one row.
    pub(crate) doubled: Vec<Vec<u64>>,
    /// How many requests met each fault.
    pub(crate) faults: [u64; FAULTS.len()],
    /// Answers that a healthy server does not give.
    pub(crate) failures: Vec<String>,
}

impl Log {
    pub(crate) fn now(&self) -> Moment {
        self.clock.fetch_add(1, Ordering::SeqCst)
    }

    pub(crate) fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What happens to a request that writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// The request fails, and is not applied.
    Refused,
    /// The request is applied, and the client receives UNAVAILABLE.
    Lost,
    /// The client receives UNAVAILABLE at once, and the request is applied later: perhaps after a retry, or after the
    /// call.
    Late,
    /// The request is applied a little later, so that others overtake it.
    Delayed,
    /// The request is applied after the client's attempt has timed out.
    Held,
    /// The request is applied, but its answer reports some of the rows as failed.
    Partial,
}

/// Each fault, and how many of a thousand requests meet it.
const FAULTS: [(Fault, u16); 6] = [
    (Fault::Refused, 15),
    (Fault::Lost, 50),
    (Fault::Late, 50),
    (Fault::Delayed, 120),
    (Fault::Held, 2),
    (Fault::Partial, 60),
];

pub(crate) fn names_of_faults() -> impl Iterator<Item = String> {
    FAULTS.iter().map(|(fault, _)| format!("{fault:?}").to_lowercase())
}

/// The proxy of one client.
#[derive(Clone)]
pub(crate) struct Proxy {
    upstream: Channel,
    log: Arc<Log>,
    /// How far the client's clock is off: added to each timestamp that the client sets.
    skew_micros: i64,
    rng: Arc<Mutex<Rng>>,
    /// Held while the server may be applying a write: shared by writes, exclusive for readers that need it.
    applying: Arc<RwLock<()>>,
    /// The requests in flight to the server, including those that the client has cancelled.
    in_flight: Arc<Mutex<JoinSet<()>>>,
}

impl Proxy {
    pub(crate) fn new(
        upstream: Channel,
        log: Arc<Log>,
        skew_micros: i64,
        rng: Rng,
        applying: Arc<RwLock<()>>,
    ) -> Self {
        let (rng, in_flight) = (Arc::new(Mutex::new(rng)), Arc::default());
        Self { upstream, log, skew_micros, rng, applying, in_flight }
    }

    /// Serves the proxy on a free port until `tasks` is dropped; returns its address.
    pub(crate) async fn serve(&self, tasks: &mut JoinSet<()>) -> String {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let host = listener.local_addr().unwrap().to_string();
        let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
        let proxy = self.clone();
        tasks.spawn(async move { Server::builder().serve_with_incoming(proxy, incoming).await.unwrap() });
        host
    }

    /// Waits until no request is in flight.
    pub(crate) async fn settled(&self) {
        let tasks = std::mem::take(&mut *locked(&self.in_flight));
        tasks.join_all().await;
    }

    async fn answer(self, request: http::Request<Body>) -> http::Response<Body> {
        let method = request.uri().path().rsplit('/').next().unwrap_or_default().to_owned();
        if !matches!(method.as_str(), "MutateRow" | "MutateRows" | "CheckAndMutateRow") {
            return self.pass(request).await.unwrap_or_else(Status::into_http);
        }
        let (head, body) = request.into_parts();
        let write = match message(body).await.and_then(|message| Write::decode(&method, message)) {
            Ok(write) => write,
            Err(status) => return status.into_http(),
        };
        let mut metadata = MetadataMap::from_headers(head.headers);
        // A late request must not be cancelled by its server.
        metadata.remove("grpc-timeout");
        match self.write(write, metadata).await {
            Ok(answer) => answer,
            Err(status) => status.into_http(),
        }
    }

    async fn pass(&self, request: http::Request<Body>) -> Result<http::Response<Body>, Status> {
        let mut upstream = self.upstream.clone();
        let unavailable = |error: tonic::transport::Error| Status::unavailable(error.to_string());
        poll_fn(|cx| upstream.poll_ready(cx)).await.map_err(unavailable)?;
        upstream.call(request).await.map_err(unavailable)
    }

    async fn write(&self, mut write: Write, metadata: MetadataMap) -> Result<http::Response<Body>, Status> {
        let (fault, pause, seed) = {
            let mut rng = locked(&self.rng);
            (fault(&mut rng), Duration::from_micros(rng.u64(..4_000)), rng.u64(..))
        };
        if let Some(fault) = fault {
            self.log.seen().faults[FAULTS.iter().position(|(known, _)| *known == fault).unwrap()] += 1;
        }
        let unavailable = || Err(Status::unavailable("the proxy has lost it"));
        write.each(|mutation| shift(mutation, self.skew_micros));
        let proxy = self.clone();
        // In its own task: when the client cancels, a request in flight continues.
        let mut send = Some(async move {
            match fault {
                Some(Fault::Late | Fault::Delayed) => tokio::time::sleep(pause).await,
                Some(Fault::Held) => tokio::time::sleep(ATTEMPT + 10 * pause).await,
                _ => {}
            }
            let is_answered = !matches!(fault, Some(Fault::Lost | Fault::Late | Fault::Held));
            proxy.send(write, metadata, is_answered, fault, Rng::with_seed(seed)).await
        });
        let (sender, receiver) = oneshot::channel();
        if fault != Some(Fault::Refused)
            && let Some(send) = send.take()
        {
            let mut in_flight = locked(&self.in_flight);
            while in_flight.try_join_next().is_some() {}
            // The client may have stopped waiting.
            in_flight.spawn(async move { _ = sender.send(send.await) });
        }
        match fault {
            Some(Fault::Refused | Fault::Late) => unavailable(),
            Some(Fault::Lost) => {
                let _ = receiver.await;
                unavailable()
            }
            _ => receiver.await.unwrap_or_else(|_| unavailable()),
        }
    }

    /// Sends a write to the server, and records what was applied.
    async fn send(
        &self,
        write: Write,
        metadata: MetadataMap,
        is_answered: bool,
        fault: Option<Fault>,
        mut rng: Rng,
    ) -> Result<http::Response<Body>, Status> {
        let mut client = BigtableClient::new(self.upstream.clone());
        let _applying = self.applying.read().await;
        let sent = self.log.now();
        let applied = |id: Option<u64>, is_answered: bool| {
            let Some(id) = id else { return };
            let application = Application { id, sent, answered: self.log.now(), is_answered };
            self.log.seen().applications.push(application);
        };
        let answer = match write {
            Write::One(request) => {
                let id = id(&request.mutations);
                client.mutate_row(with(request, metadata)).await.map(|answer| {
                    applied(id, is_answered);
                    answered(&answer.into_inner())
                })
            }
            Write::Conditional(request) => {
                let ids = (id(&request.true_mutations), id(&request.false_mutations));
                client.check_and_mutate_row(with(request, metadata)).await.map(|answer| {
                    let answer = answer.into_inner();
                    applied(if answer.predicate_matched { ids.0 } else { ids.1 }, is_answered);
                    answered(&answer)
                })
            }
            Write::Many(request) => self.send_many(client, request, metadata, fault, &mut rng, applied).await,
        };
        if let Err(status) = &answer {
            self.log.seen().failures.push(status.to_string());
        }
        answer
    }

    /// Sends entries in random order, as Bigtable may apply them.
    async fn send_many(
        &self,
        mut client: BigtableClient<Channel>,
        mut request: MutateRowsRequest,
        metadata: MetadataMap,
        fault: Option<Fault>,
        rng: &mut Rng,
        applied: impl Fn(Option<u64>, bool),
    ) -> Result<http::Response<Body>, Status> {
        let ids: Vec<_> = request.entries.iter().map(|entry| id(&entry.mutations)).collect();
        let keys: HashSet<_> = request.entries.iter().map(|entry| &entry.row_key).collect();
        if keys.len() < request.entries.len() {
            self.log.seen().doubled.push(ids.iter().flatten().copied().collect());
        }
        let mut order: Vec<usize> = (0..ids.len()).collect();
        rng.shuffle(&mut order);
        request.entries = order.iter().map(|place| request.entries[*place].clone()).collect();
        let mut stream = client.mutate_rows(with(request, metadata)).await?.into_inner();
        let mut statuses = vec![None; ids.len()];
        while let Some(answer) = stream.message().await? {
            for entry in answer.entries {
                let place = usize::try_from(entry.index).ok().and_then(|index| order.get(index)).copied();
                let place = place.ok_or_else(|| Status::internal("an entry that was not sent"))?;
                statuses[place] = entry.status;
            }
        }
        let mut entries = Vec::new();
        for (place, status) in statuses.into_iter().enumerate() {
            let mut status =
                status.ok_or_else(|| Status::internal(format!("no status of the entry {place}")))?;
            let is_hidden = fault == Some(Fault::Partial) && rng.bool();
            if status.code == 0 {
                let is_answered =
                    !is_hidden && !matches!(fault, Some(Fault::Lost | Fault::Late | Fault::Held));
                applied(ids[place], is_answered);
            } else {
                self.log.seen().failures.push(format!("{status:?}"));
            }
            if is_hidden {
                status = values::Status {
                    code: Code::Unavailable.into(),
                    message: "the proxy has lost it".to_owned(),
                    details: Vec::new(),
                };
            }
            let index = i64::try_from(place).unwrap();
            entries.push(mutate_rows_response::Entry { index, status: Some(status) });
        }
        Ok(answered(&MutateRowsResponse { entries, rate_limit_info: None }))
    }
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

/// A request that writes rows.
enum Write {
    One(MutateRowRequest),
    Many(MutateRowsRequest),
    Conditional(CheckAndMutateRowRequest),
}

impl Write {
    fn decode(method: &str, message: Bytes) -> Result<Self, Status> {
        let decoded = match method {
            "MutateRow" => Message::decode(message).map(Self::One),
            "MutateRows" => Message::decode(message).map(Self::Many),
            _ => Message::decode(message).map(Self::Conditional),
        };
        decoded.map_err(|error| Status::internal(error.to_string()))
    }

    fn each(&mut self, change: impl FnMut(&mut Mutation)) {
        let mutations: Vec<&mut Vec<Mutation>> = match self {
            Self::One(request) => vec![&mut request.mutations],
            Self::Many(request) => request.entries.iter_mut().map(|entry| &mut entry.mutations).collect(),
            Self::Conditional(request) => vec![&mut request.true_mutations, &mut request.false_mutations],
        };
        mutations.into_iter().flatten().for_each(change);
    }
}

/// The write of these mutations: the number in the column `id`.
fn id(mutations: &[Mutation]) -> Option<u64> {
    mutations.iter().find_map(|mutation| match &mutation.mutation {
        Some(Change::SetCell(SetCell { family_name, column_qualifier, value, .. }))
            if family_name == "cf" && column_qualifier == "id" =>
        {
            Some(u64::from_be_bytes(value.as_ref().try_into().ok()?))
        }
        _ => None,
    })
}

/// Shifts a timestamp that the client set; -1 is the server's time.
fn shift(mutation: &mut Mutation, micros: i64) {
    if let Some(Change::SetCell(cell)) = &mut mutation.mutation
        && cell.timestamp_micros >= 0
    {
        cell.timestamp_micros += micros;
    }
}

/// What a request meets. Draws as many random numbers whatever it is, so that the same seed gives the same faults.
fn fault(rng: &mut Rng) -> Option<Fault> {
    let mut drawn = rng.u16(..1000);
    FAULTS.into_iter().find_map(|(fault, share)| {
        let is_met = drawn < share;
        drawn = drawn.saturating_sub(share);
        is_met.then_some(fault)
    })
}

fn with<T>(message: T, metadata: MetadataMap) -> tonic::Request<T> {
    tonic::Request::from_parts(metadata, Extensions::default(), message)
}

/// The only message of a request.
async fn message(body: Body) -> Result<Bytes, Status> {
    const PREFIX: usize = 5;
    let mut body = std::pin::pin!(body);
    let mut bytes = BytesMut::new();
    while let Some(frame) = poll_fn(|cx| body.as_mut().poll_frame(cx)).await.transpose()? {
        if let Ok(data) = frame.into_data() {
            bytes.put(data);
        }
    }
    match bytes.len() {
        ..PREFIX => Err(Status::internal("a request without a message")),
        _ => Ok(bytes.freeze().slice(PREFIX..)),
    }
}

/// A successful answer of one message.
fn answered(message: &impl Message) -> http::Response<Body> {
    let mut bytes = BytesMut::new();
    bytes.put_u8(0);
    bytes.put_u32(u32::try_from(message.encoded_len()).unwrap());
    message.encode(&mut bytes).unwrap();
    let mut trailers = http::HeaderMap::new();
    trailers.insert("grpc-status", http::HeaderValue::from_static("0"));
    let frames = [Frame::data(bytes.freeze()), Frame::trailers(trailers)].into_iter();
    let response = http::Response::builder().header("content-type", "application/grpc");
    response.body(Body::new(Frames(frames))).unwrap()
}

struct Frames(std::array::IntoIter<Frame<Bytes>, 2>);

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

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
