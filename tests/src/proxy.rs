//! The network between clients and a Bigtable, with its faults.
//!
//! A [`Proxy`] stands between one client and the server. It refuses, loses and delays requests, sends them late, cuts connections,
//! and records when the server applied each write; how often, the test's [`Network`] says. It does what a network and Bigtable's
//! front ends may do, and no more: a request that the client sends once is applied at most once, and a request that was answered is
//! not applied again. The entries of a request are applied in any order.
//!
//! A [`Relay`] breaks the connections below the requests, after any byte.

mod relay;
mod request;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashSet};
use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::net::Shutdown;
use std::pin::Pin;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use fastrand::Rng;
use futures_util::stream;
use http::request::Parts;
use keyderive_proto::data::{CheckAndMutateRowResponse, MutateRowsRequest, MutateRowsResponse, Mutation};
use keyderive_proto::values;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{RwLock, RwLockWriteGuard, oneshot};
use tokio::task::JoinSet;
use tokio::time::sleep;
use tonic::body::Body;
use tonic::transport::{Channel, Endpoint, Server};
use tonic::{Code, Status};
use tower_service::Service;

pub use self::relay::Relay;
pub use self::request::{Request, Response, answered, body_of, collected, messages, prefixed};

/// What happens to a request. A read meets a refusal or a pause, and no other fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// It fails, and is not applied.
    Refused,
    /// It is not applied, and has no answer.
    Swallowed,
    /// It is applied, and the client receives UNAVAILABLE.
    Lost,
    /// The client receives UNAVAILABLE at once, and the request is applied later: perhaps after a retry, or after the call.
    Late,
    /// It is applied later, and has no answer in time.
    Held,
    /// It is applied a little later, so that others overtake it.
    Delayed,
    /// It is applied, but its answer reports some of the rows as failed.
    Partial,
}

/// Longer than any attempt waits for an answer.
const NO_ANSWER: Duration = Duration::from_secs(5);

/// A point in time, in nanoseconds of the clock of a [`Log`].
pub type Moment = u64;

/// A write of a row that the server has applied.
#[derive(Clone, Debug)]
pub struct Application {
    /// The number of the client that sent it.
    pub client: usize,
    /// Its name by [`Network::id`].
    pub id: u64,
    /// When the proxy received the request.
    pub arrived: Moment,
    /// When the server was sent the request.
    pub sent: Moment,
    /// When the server had answered.
    pub answered: Moment,
    /// Whether the answer was passed on to the client.
    pub is_answered: bool,
}

/// What the proxies of one server have seen.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// How many requests there were.
    pub requests: u64,
    /// How many of them met each fault.
    pub faults: BTreeMap<Fault, u64>,
    /// What the server applied.
    pub applications: Vec<Application>,
    /// The writes of each request that has two of one row.
    pub doubled: Vec<Vec<u64>>,
    /// Answers that a healthy server does not give.
    pub failures: Vec<String>,
    /// Requests that were answered when their client did not wait for it any more.
    pub unheard: u64,
}

/// Where the proxies of one server record what they have seen.
#[derive(Debug)]
pub struct Log {
    clock: fn() -> Moment,
    seen: Mutex<Seen>,
    /// Held while the server may be applying a write: shared by writes, exclusive for those who wait for none.
    applying: RwLock<()>,
}

impl Default for Log {
    /// Its clock is that of this process.
    fn default() -> Self {
        static BEGUN: LazyLock<Instant> = LazyLock::new(Instant::now);
        Self::new(|| u64::try_from(BEGUN.elapsed().as_nanos()).unwrap_or(Moment::MAX))
    }
}

impl Log {
    /// A log by this clock.
    #[must_use]
    pub fn new(clock: fn() -> Moment) -> Self {
        Self { clock, seen: Mutex::default(), applying: RwLock::default() }
    }

    /// The time.
    #[must_use]
    pub fn now(&self) -> Moment {
        (self.clock)()
    }

    /// What was seen so far.
    pub fn seen(&self) -> MutexGuard<'_, Seen> {
        locked(&self.seen)
    }

    /// Waits until the server applies no write, and holds writes back while the guard lives.
    pub async fn apart(&self) -> RwLockWriteGuard<'_, ()> {
        self.applying.write().await
    }
}

/// The network of one client, as a test wants it.
pub trait Network: Send + Sync + 'static {
    /// Each fault, and how many of a thousand requests meet it.
    fn faults(&self, is_write: bool) -> &[(Fault, u16)];

    /// The part of these faults that requests meet.
    fn share(&self) -> f64 {
        1.0
    }

    /// How long a request with this fault waits before it is applied; `drawn` is a random number up to 1.
    fn pause(&self, fault: Fault, drawn: f64) -> Duration;

    /// The longest time after its arrival at which a write is still applied.
    fn latest(&self) -> Duration {
        Duration::MAX
    }

    /// Changes a request before it meets a fault, or answers it in the server's place.
    ///
    /// # Errors
    ///
    /// What the client receives in place of an answer.
    fn arrives(&self, request: &mut Request, at: Moment) -> Result<Option<Response>, Status>;

    /// The name of a write in the log, by the row key and the mutations; none for a write that is not recorded.
    fn id(&self, key: &[u8], mutations: &[Mutation]) -> Option<u64>;
}

/// The fault of a request that has drawn this number below 1000, by how many of a thousand requests meet each.
#[must_use]
pub fn fault_of<F: Copy>(faults: &[(F, u16)], mut drawn: u16) -> Option<F> {
    faults.iter().find_map(|(fault, share)| {
        let is_drawn = drawn < *share;
        drawn = drawn.saturating_sub(*share);
        is_drawn.then_some(*fault)
    })
}

/// What a client receives when a request or its answer is lost.
#[must_use]
pub fn lost() -> Status {
    Status::unavailable("the proxy has lost it")
}

/// The proxy of one client.
#[derive(Debug)]
pub struct Proxy<N>(Arc<Inner<N>>);

#[derive(Debug)]
struct Inner<N> {
    client: usize,
    network: N,
    upstream: Channel,
    log: Arc<Log>,
    rng: Mutex<Rng>,
    sockets: Mutex<Vec<std::net::TcpStream>>,
    /// The writes in flight to the server, including those that the client has given up.
    in_flight: Mutex<JoinSet<()>>,
}

impl<N> Clone for Proxy<N> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

/// A request's arrival, and what it meets.
struct Met {
    arrived: Moment,
    arrived_at: Instant,
    fault: Option<Fault>,
    pause: Duration,
    rng: Rng,
}

impl<N: Network> Proxy<N> {
    /// The proxy of the client with this number, to the server at `host`. `rng` draws the faults.
    ///
    /// # Panics
    ///
    /// When `host` is no address, and outside of a tokio runtime.
    #[must_use]
    pub fn new(client: usize, network: N, host: &str, log: Arc<Log>, rng: Rng) -> Self {
        let upstream = Endpoint::from_shared(format!("http://{host}")).unwrap().connect_lazy();
        let (sockets, in_flight) = (Mutex::default(), Mutex::default());
        Self(Arc::new(Inner { client, network, upstream, log, rng: Mutex::new(rng), sockets, in_flight }))
    }

    /// Serves the proxy on a free port until `tasks` is dropped; returns its address.
    ///
    /// # Panics
    ///
    /// When no port is free.
    pub async fn serve(&self, tasks: &mut JoinSet<()>) -> String {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let host = listener.local_addr().unwrap().to_string();
        let own = self.clone();
        let incoming = stream::unfold(listener, move |listener| {
            let own = own.clone();
            async move {
                let accepted = async {
                    let (stream, _) = listener.accept().await?;
                    stream.set_nodelay(true)?;
                    let stream = stream.into_std()?;
                    locked(&own.0.sockets).push(stream.try_clone()?);
                    TcpStream::from_std(stream)
                };
                Some((accepted.await, listener))
            }
        });
        let proxy = self.clone();
        tasks.spawn(async move {
            Server::builder().serve_with_incoming(proxy, Box::pin(incoming)).await.unwrap();
        });
        host
    }

    /// Its network.
    #[must_use]
    pub fn network(&self) -> &N {
        &self.0.network
    }

    /// Cuts every connection of the client.
    pub fn cut(&self) {
        for socket in locked(&self.0.sockets).drain(..) {
            // It may be closed already.
            let _ = socket.shutdown(Shutdown::Both);
        }
    }

    /// Waits until no write is in flight.
    pub async fn settled(&self) {
        let tasks = std::mem::take(&mut *locked(&self.0.in_flight));
        tasks.join_all().await;
    }

    async fn answer(self, request: http::Request<Body>) -> Result<Response, Status> {
        let (arrived, arrived_at) = (self.0.log.now(), Instant::now());
        self.0.log.seen().requests += 1;
        let (head, body) = request.into_parts();
        let mut request = Request::read(&head, body).await?;
        if let Some(answer) = self.0.network.arrives(&mut request, arrived)? {
            return Ok(answer);
        }
        let (fault, pause, rng) = self.draw(request.is_write());
        if request.is_write() {
            return self.write(head, request, Met { arrived, arrived_at, fault, pause, rng }).await;
        }
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
        self.forward(head, &request).await
    }

    /// What a request meets, a pause for it, and random numbers of its own. Draws as many whatever it is, so that the same seed gives
    /// the same faults.
    fn draw(&self, is_write: bool) -> (Option<Fault>, Duration, Rng) {
        let network = &self.0.network;
        let mut rng = locked(&self.0.rng);
        let (drawn, part, is_met) = (rng.u16(..1000), rng.f64(), rng.f64() < network.share());
        let fault = fault_of(network.faults(is_write), drawn).filter(|_| is_met);
        let pause = fault.map_or(Duration::ZERO, |fault| network.pause(fault, part));
        (fault, pause, rng.fork())
    }

    fn count(&self, fault: Option<Fault>) {
        if let Some(fault) = fault {
            *self.0.log.seen().faults.entry(fault).or_default() += 1;
        }
    }

    async fn forward(&self, head: Parts, request: &Request) -> Result<Response, Status> {
        let mut upstream = self.0.upstream.clone();
        let unavailable = |error: tonic::transport::Error| Status::unavailable(error.to_string());
        poll_fn(|cx| upstream.poll_ready(cx)).await.map_err(unavailable)?;
        upstream.call(http::Request::from_parts(head, request.body())).await.map_err(unavailable)
    }

    async fn write(&self, mut head: Parts, request: Request, met: Met) -> Result<Response, Status> {
        // A late request must not be cancelled by its server.
        head.headers.remove("grpc-timeout");
        let fault = met.fault;
        self.count(fault);
        match fault {
            Some(Fault::Refused) => return Err(lost()),
            Some(Fault::Swallowed) => {
                sleep(NO_ANSWER).await;
                return Err(lost());
            }
            _ => {}
        }
        let (sender, receiver) = oneshot::channel();
        let own = self.clone();
        // In its own task: a request in flight continues when its sender gives up or dies.
        let send = async move {
            if matches!(fault, Some(Fault::Late | Fault::Held | Fault::Delayed)) {
                sleep(met.pause).await;
            }
            let answer = match met.arrived_at.elapsed() > own.0.network.latest() {
                true => Err(lost()),
                false => own.send(head, request, met).await.inspect_err(|status| {
                    own.0.log.seen().failures.push(status.to_string());
                }),
            };
            if sender.send(answer).is_err() {
                own.0.log.seen().unheard += 1;
            }
        };
        {
            let mut in_flight = locked(&self.0.in_flight);
            while in_flight.try_join_next().is_some() {}
            in_flight.spawn(send);
        }
        if fault == Some(Fault::Late) {
            return Err(lost());
        }
        let answer = receiver.await.unwrap_or_else(|_| Err(lost()));
        match fault {
            Some(Fault::Lost) => Err(lost()),
            Some(Fault::Held) => {
                sleep(NO_ANSWER).await;
                Err(lost())
            }
            _ => answer,
        }
    }

    /// Sends a write to the server, and records what was applied.
    async fn send(&self, head: Parts, mut request: Request, mut met: Met) -> Result<Response, Status> {
        let log = &self.0.log;
        let order = match &mut request {
            Request::MutateRows(request) => self.shuffle(request, &mut met.rng),
            _ => Vec::new(),
        };
        let _applying = log.applying.read().await;
        let sent = log.now();
        let (head, body) = self.forward(head, &request).await?.into_parts();
        let (mut data, trailers) = collected(body).await?;
        match Status::from_header_map(trailers.as_ref().unwrap_or(&head.headers)) {
            Some(status) if status.code() != Code::Ok => return Err(status),
            _ => {}
        }
        let answered = log.now();
        let is_passed_on = !matches!(met.fault, Some(Fault::Lost | Fault::Late | Fault::Held));
        let record = |key: &[u8], mutations: &[Mutation], is_answered| {
            if let Some(id) = self.0.network.id(key, mutations) {
                let (client, arrived) = (self.0.client, met.arrived);
                let application = Application { client, id, arrived, sent, answered, is_answered };
                log.seen().applications.push(application);
            }
        };
        match &request {
            Request::MutateRow(request) => record(&request.row_key, &request.mutations, is_passed_on),
            Request::CheckAndMutateRow(request) => {
                let answer: Vec<CheckAndMutateRowResponse> = messages(data.clone())?;
                let is_true = answer.first().is_some_and(|answer| answer.predicate_matched);
                let mutations = if is_true { &request.true_mutations } else { &request.false_mutations };
                record(&request.row_key, mutations, is_passed_on);
            }
            Request::MutateRows(request) => {
                let mut all = MutateRowsResponse::default();
                for answer in messages::<MutateRowsResponse>(data)? {
                    all.entries.extend(answer.entries);
                    all.rate_limit_info = answer.rate_limit_info.or(all.rate_limit_info);
                }
                if all.entries.len() != order.len() {
                    return Err(Status::internal("not every entry has an outcome"));
                }
                for outcome in &mut all.entries {
                    let at = usize::try_from(outcome.index).unwrap_or(usize::MAX);
                    let (Some(entry), Some(place)) = (request.entries.get(at), order.get(at)) else {
                        return Err(Status::internal("an outcome of an entry that was not sent"));
                    };
                    outcome.index = *place;
                    let is_hidden = met.fault == Some(Fault::Partial) && met.rng.bool();
                    match &outcome.status {
                        Some(status) if status.code == 0 => {
                            record(&entry.row_key, &entry.mutations, is_passed_on && !is_hidden);
                        }
                        status => log.seen().failures.push(format!("{status:?}")),
                    }
                    if is_hidden {
                        let (code, message) = (Code::Unavailable.into(), lost().message().to_owned());
                        outcome.status = Some(values::Status { code, message, details: Vec::new() });
                    }
                }
                data = prefixed(&all);
            }
            Request::ReadRows(_) | Request::Other { .. } => {}
        }
        Ok(Response::from_parts(head, body_of(data, trailers)))
    }

    /// Brings entries into random order, as Bigtable may apply them; returns the place that each had before.
    fn shuffle(&self, request: &mut MutateRowsRequest, rng: &mut Rng) -> Vec<i64> {
        let keys: HashSet<_> = request.entries.iter().map(|entry| &entry.row_key).collect();
        if keys.len() < request.entries.len() {
            let ids = request
                .entries
                .iter()
                .filter_map(|entry| self.0.network.id(&entry.row_key, &entry.mutations));
            self.0.log.seen().doubled.push(ids.collect());
        }
        let mut entries: Vec<_> = (0..).zip(std::mem::take(&mut request.entries)).collect();
        rng.shuffle(&mut entries);
        let (order, entries) = entries.into_iter().unzip();
        request.entries = entries;
        order
    }
}

impl<N: Network> Service<http::Request<Body>> for Proxy<N> {
    type Response = Response;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let proxy = self.clone();
        Box::pin(async move { Ok(proxy.answer(request).await.unwrap_or_else(Status::into_http)) })
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
