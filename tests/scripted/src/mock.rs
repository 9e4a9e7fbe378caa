//! A Bigtable that does what a test says, request by request.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! use keyderive_scripted::mock::{Answer, Mock, Rpc};
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

mod answer;
mod connection;
mod request;
mod rows;
mod rpc;

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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
pub use self::rows::{Chunk, cell, row};
pub use self::rpc::Rpc;
use keyderive_proto::data;

/// How many bytes a pipe holds that nobody has read.
const PIPE_BYTES: usize = 64 << 10;

/// A scripted Bigtable. A clone is the same server, which ends with the last of them.
///
/// Each request takes the next answer that [`on`](Self::on) gave for its RPC, else the answer of the
/// [rule](Self::by). A request for which there is neither fails by `UNIMPLEMENTED`; `PingAndWarm` succeeds.
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
    requests: Vec<Request>,
    connections: Vec<UnboundedSender<Command>>,
    /// How many connections there were.
    opened: usize,
    door: Door,
    address: Option<SocketAddr>,
}

/// What becomes of connections that pipes ask for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Door {
    #[default]
    Open,
    /// They are refused.
    Shut,
    /// They are never there.
    Stuck,
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, State> {
        locked(&self.0)
    }

    /// Keeps a request, and says what becomes of it.
    fn receive(&self, request: Request) -> (usize, Answer) {
        let mut state = self.state();
        let next = state.answers.get_mut(&request.rpc).and_then(VecDeque::pop_front);
        let answer = next.or_else(|| state.rule.as_ref().map(|rule| rule(&request)));
        let answer = answer.unwrap_or_else(|| match request.rpc {
            Rpc::PingAndWarm => Answer::new().send(&data::PingAndWarmResponse {}),
            _ => Answer::failure(Failure::new(Code::Unimplemented, "not in the script")),
        });
        state.requests.push(request);
        (state.requests.len() - 1, answer)
    }

    fn cancelled(&self, place: usize) {
        self.state().requests[place].is_cancelled = true;
    }
}

/// What is answered.
impl Mock {
    #[must_use]
    #[expect(clippy::new_without_default, reason = "a server is started, and not a default")]
    pub fn new() -> Self {
        Self { inner: Arc::default(), tasks: Arc::default() }
    }

    /// The next request of `rpc` for which there is no answer yet gets this one.
    #[must_use]
    pub fn on(self, rpc: Rpc, answer: Answer) -> Self {
        self.inner.state().answers.entry(rpc).or_default().push_back(answer);
        self
    }

    /// Every request for which there is no answer yet gets one by this rule.
    #[must_use]
    pub fn by(self, rule: impl Fn(&Request) -> Answer + Send + Sync + 'static) -> Self {
        self.inner.state().rule = Some(Arc::new(rule));
        self
    }
}

/// How to reach it.
impl Mock {
    /// Listens on a port of the loopback interface: a free one the first time, and the same again after
    /// [`stop`](Self::stop).
    ///
    /// # Panics
    /// When the port is not to be had.
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

    /// A connection by a pipe inside the process, which needs no socket and so lets a paused clock run.
    ///
    /// # Errors
    /// When the [door](Self::set_door) is shut.
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

    /// What becomes of connections from now on.
    pub fn set_door(&self, door: Door) {
        self.inner.state().door = door;
    }

    /// Ends the server as the death of its process does: nothing listens, and every connection breaks.
    pub async fn stop(&self) {
        let mut tasks = std::mem::take(&mut *self.tasks());
        tasks.shutdown().await;
    }

    /// Breaks every connection.
    pub fn drop_connections(&self) {
        self.command(Command::Drop);
    }

    /// Says on every connection that it takes no more requests.
    pub fn go_away(&self) {
        self.command(Command::GoAway);
    }

    /// Ends every connection, with a reason.
    pub fn go_away_now(&self, reason: Reason) {
        self.command(Command::GoAwayNow(reason));
    }

    /// Leaves every connection as it is, and alone from now on: as a machine that was switched off.
    pub fn freeze(&self) {
        self.command(Command::Freeze);
    }

    fn command(&self, command: Command) {
        // A connection that has ended takes none.
        self.inner.state().connections.retain(|connection| connection.send(command).is_ok());
    }

    fn tasks(&self) -> MutexGuard<'_, JoinSet<()>> {
        locked(&self.tasks)
    }
}

/// What it was asked.
impl Mock {
    /// All requests but those of `PingAndWarm`, in the order in which they came.
    #[must_use]
    pub fn requests(&self) -> Vec<Request> {
        let state = self.inner.state();
        state.requests.iter().filter(|request| request.rpc != Rpc::PingAndWarm).cloned().collect()
    }

    /// The requests of one RPC.
    #[must_use]
    pub fn requests_of(&self, rpc: Rpc) -> Vec<Request> {
        self.inner.state().requests.iter().filter(|request| request.rpc == rpc).cloned().collect()
    }

    /// How many connections it was asked for and gave.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.inner.state().opened
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
        state.opened += 1;
        state.opened - 1
    };
    connection::serve(mock, io, number, (command, commands)).await;
}
