//! A Bigtable that answers by script, for tests and benchmarks.
//!
//! A [`Mock`] answers the data and admin services request by request, over TCP or over pipes inside the process, and
//! records the requests. It speaks HTTP/2 itself, so it can also break the protocol, a stream or a connection.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! use keyderive_scripted::{Answer, Mock, Rpc};
//! use tonic::Code;
//!
//! let mock = Mock::new()
//!     .on(Rpc::ReadRows, Answer::rows(["a"]).fail(Code::Unavailable))
//!     .on(Rpc::ReadRows, Answer::rows(["b"]));
//! let host = mock.listen().await;
//! // A client of `host` reads `a` and `b`, by two requests.
//! assert!(mock.requests().is_empty());
//! # }
//! ```

#![allow(missing_docs, reason = "names that say it all")]
#![allow(clippy::missing_panics_doc, clippy::missing_errors_doc, reason = "a test fails by a panic")]

mod answer;
mod connection;
mod request;
mod rows;

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_core::future::BoxFuture;
use h2::Reason;
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream};
use tokio::net::TcpListener;
use tokio::sync::mpsc::{self, UnboundedSender};
use tokio::task::JoinSet;
use tonic::Code;

pub use self::answer::{Answer, Failure, Gate};
use self::connection::Command;
pub use self::request::Request;
pub use self::rows::{Cell, Chunk, FAMILY, Table, cell, encode_rows, row};
pub use keyderive_proto::Rpc;
use keyderive_proto::data;

/// How many streams a client may open on a connection: as many as Google's front ends allow.
pub const MAX_CONCURRENT_STREAMS: u32 = 100;

/// How many unread bytes a pipe holds.
const PIPE_BYTES: usize = 64 << 10;

/// How long the server must send no message to count as settled.
const SETTLED: Duration = Duration::from_millis(20);

/// A scripted Bigtable. Clones share the server, which ends with the last of them.
///
/// Each request takes the next answer that [`on`](Self::on) queued for its RPC, else the answer of the
/// [rule](Self::by) of its service. A request that neither answers fails with `UNIMPLEMENTED`; `PingAndWarm` succeeds.
#[derive(Clone)]
pub struct Mock {
    inner: Arc<Inner>,
    tasks: Arc<Mutex<JoinSet<()>>>,
}

type Rule = Arc<dyn Fn(&Request) -> Answer + Send + Sync>;

#[derive(Default)]
struct Inner(Mutex<State>);

#[derive(Default)]
struct State {
    answers: HashMap<Rpc, VecDeque<Answer>>,
    rule: Option<Rule>,
    admin_rule: Option<Rule>,
    is_unrecorded: bool,
    requests: Vec<Request>,
    /// Requests in progress now, and the most at any time.
    open: usize,
    most_open: usize,
    /// Messages sent by streams.
    streamed: usize,
    connections: Vec<UnboundedSender<Command>>,
    /// Connections accepted so far.
    accepted: usize,
    door: Door,
    address: Option<SocketAddr>,
}

/// How the server treats new pipes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Door {
    #[default]
    Open,
    /// Connecting is refused.
    Shut,
    /// Connecting never ends.
    Stuck,
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, State> {
        locked(&self.0)
    }

    /// Records a request and chooses its answer; the request's index where it is recorded.
    fn receive(&self, request: Request) -> (Option<usize>, Answer) {
        let mut state = self.state();
        let next = state.answers.get_mut(&request.rpc).and_then(VecDeque::pop_front);
        let rule = if request.rpc.is_admin() { &state.admin_rule } else { &state.rule };
        let answer = next.or_else(|| rule.as_ref().map(|rule| rule(&request)));
        let answer = answer.unwrap_or_else(|| match request.rpc {
            Rpc::PingAndWarm => Answer::new().send(&data::PingAndWarmResponse {}),
            _ => Answer::failure(Failure::new(Code::Unimplemented, "not in the script")),
        });
        if state.is_unrecorded {
            return (None, answer);
        }
        state.requests.push(request);
        (Some(state.requests.len() - 1), answer)
    }
}

/// The script.
impl Mock {
    #[must_use]
    #[expect(clippy::new_without_default, reason = "a mock without answers is no useful default")]
    pub fn new() -> Self {
        Self { inner: Arc::default(), tasks: Arc::default() }
    }

    /// Queues an answer for the next request of `rpc` that has none yet.
    #[must_use]
    pub fn on(self, rpc: Rpc, answer: Answer) -> Self {
        self.inner.state().answers.entry(rpc).or_default().push_back(answer);
        self
    }

    /// Answers every request of the data service that has no queued answer.
    #[must_use]
    pub fn by(self, rule: impl Fn(&Request) -> Answer + Send + Sync + 'static) -> Self {
        self.inner.state().rule = Some(Arc::new(rule));
        self
    }

    /// Answers every request of the admin service that has no queued answer.
    #[must_use]
    pub fn admin_by(self, rule: impl Fn(&Request) -> Answer + Send + Sync + 'static) -> Self {
        self.inner.state().admin_rule = Some(Arc::new(rule));
        self
    }

    /// Keeps no requests, so that a long benchmark does not fill the memory.
    #[must_use]
    pub fn unrecorded(self) -> Self {
        self.inner.state().is_unrecorded = true;
        self
    }
}

/// Connections.
impl Mock {
    /// Listens on a port of the loopback interface: a free one the first time, and the same again after
    /// [`stop`](Self::stop).
    pub async fn listen(&self) -> String {
        let address = self.inner.state().address.unwrap_or_else(|| SocketAddr::from(([127, 0, 0, 1], 0)));
        let listener = TcpListener::bind(address).await.unwrap();
        let address = listener.local_addr().unwrap();
        self.inner.state().address = Some(address);
        let (mock, tasks) = (Arc::clone(&self.inner), Arc::downgrade(&self.tasks));
        self.tasks().spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let Some(tasks) = tasks.upgrade() else { return };
                let _ = stream.set_nodelay(true);
                locked(&tasks).spawn(serve(Arc::clone(&mock), stream));
            }
        });
        address.to_string()
    }

    /// Connects by a pipe inside the process. It needs no socket, so a paused clock runs.
    ///
    /// Fails while the [door](Self::set_door) is shut.
    pub async fn connect(&self) -> io::Result<DuplexStream> {
        let door = self.inner.state().door;
        match door {
            Door::Open => {
                let (near, far) = tokio::io::duplex(PIPE_BYTES);
                self.tasks().spawn(serve(Arc::clone(&self.inner), far));
                Ok(near)
            }
            Door::Shut => Err(io::ErrorKind::ConnectionRefused.into()),
            Door::Stuck => std::future::pending().await,
        }
    }

    /// Makes such pipes, for `keyderive::__private::connected_by`.
    pub fn connector(
        &self,
    ) -> impl Fn() -> BoxFuture<'static, io::Result<DuplexStream>> + Send + Sync + 'static {
        let mock = self.clone();
        move || {
            let mock = mock.clone();
            Box::pin(async move { mock.connect().await })
        }
    }

    /// Changes how pipes are treated from now on.
    pub fn set_door(&self, door: Door) {
        self.inner.state().door = door;
    }

    /// Ends the server as if its process died: nothing listens, and every connection breaks.
    pub async fn stop(&self) {
        let mut tasks = std::mem::take(&mut *self.tasks());
        tasks.shutdown().await;
    }

    /// Breaks every connection.
    pub fn drop_connections(&self) {
        self.command(Command::Drop);
    }

    /// Sends `GOAWAY` on every connection, and completes the requests in flight.
    pub fn go_away(&self) {
        self.command(Command::GoAway);
    }

    /// Ends every connection with `GOAWAY`.
    pub fn go_away_now(&self, reason: Reason) {
        self.command(Command::GoAwayNow(reason));
    }

    /// Stops reading and writing on every connection, as a machine that loses power.
    pub fn freeze(&self) {
        self.command(Command::Freeze);
    }

    /// Stops reading and writing on the oldest connection.
    pub fn freeze_oldest(&self) {
        let connections = &mut self.inner.state().connections;
        connections.retain(|connection| !connection.is_closed());
        if !connections.is_empty() {
            let _ = connections.remove(0).send(Command::Freeze);
        }
    }

    fn command(&self, command: Command) {
        // Forgets the connections that have ended.
        self.inner.state().connections.retain(|connection| connection.send(command).is_ok());
    }

    fn tasks(&self) -> MutexGuard<'_, JoinSet<()>> {
        locked(&self.tasks)
    }
}

/// What the server has seen.
impl Mock {
    /// The requests of the data service without `PingAndWarm`, in order of arrival.
    #[must_use]
    pub fn requests(&self) -> Vec<Request> {
        self.requests_where(|rpc| !rpc.is_admin() && rpc != Rpc::PingAndWarm)
    }

    /// The requests of the admin service, in order of arrival.
    #[must_use]
    pub fn admin_requests(&self) -> Vec<Request> {
        self.requests_where(Rpc::is_admin)
    }

    /// The requests of one RPC.
    #[must_use]
    pub fn requests_of(&self, rpc: Rpc) -> Vec<Request> {
        self.requests_where(|other| other == rpc)
    }

    fn requests_where(&self, is_included: impl Fn(Rpc) -> bool) -> Vec<Request> {
        let state = self.inner.state();
        state.requests.iter().filter(|request| is_included(request.rpc)).cloned().collect()
    }

    /// How many connections the server has accepted.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.inner.state().accepted
    }

    /// How many requests are in progress.
    #[must_use]
    pub fn open(&self) -> usize {
        self.inner.state().open
    }

    /// The most requests that were in progress at the same time.
    #[must_use]
    pub fn most_open(&self) -> usize {
        self.inner.state().most_open
    }

    /// Waits until streams send nothing more: each has ended, or its client does not read on.
    pub async fn settled(&self) {
        let mut before = usize::MAX;
        loop {
            let streamed = self.inner.state().streamed;
            if streamed == before {
                return;
            }
            before = streamed;
            tokio::time::sleep(SETTLED).await;
        }
    }
}

impl fmt::Debug for Mock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mock").field("requests", &self.requests()).finish_non_exhaustive()
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn serve(mock: Arc<Inner>, io: impl AsyncRead + AsyncWrite + Unpin) {
    let (command, commands) = mpsc::unbounded_channel();
    let number = {
        let mut state = mock.state();
        state.connections.push(command.clone());
        state.accepted += 1;
        state.accepted - 1
    };
    connection::serve(mock, io, number, (command, commands)).await;
}
