//! A scripted server in a thread of its own, whose faults can be switched on and off.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use keyderive_proto::data::{MutateRowResponse, ReadRowsResponse};
use keyderive_scripted::{Answer, Mock, Request, Rpc, encode_rows};
use prost::Message as _;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tonic::Code;

use super::{KEY, READING};

/// What the server does while its fault is on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Fault {
    None,
    /// This share of the answers takes half a second.
    SlowAtTimes(f64),
    /// This share of the requests fails with UNAVAILABLE.
    Unavailable(f64),
}

pub(super) struct Server {
    mock: Mock,
    host: String,
    is_on: Arc<AtomicBool>,
    requests: Arc<AtomicU64>,
    commands: Option<UnboundedSender<Command>>,
    thread: Option<JoinHandle<()>>,
}

enum Command {
    Stop,
    Start,
}

impl Server {
    pub(super) fn start(fault: Fault) -> Self {
        let (is_on, requests) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let row = [("a", READING.a), ("b", READING.b), ("c", READING.c)];
        let cells = row.map(|(name, value)| (name.into(), value.to_be_bytes().to_vec().into()));
        let key = KEY.encode().expect("the key fits");
        let row = ReadRowsResponse::decode(encode_rows(std::iter::once((key.into(), cells))))
            .expect("the row was encoded");
        let (on, seen) = (Arc::clone(&is_on), Arc::clone(&requests));
        let rule = move |request: &Request| {
            seen.fetch_add(1, Ordering::Relaxed);
            let answer = match (fault, on.load(Ordering::Relaxed)) {
                (Fault::SlowAtTimes(share), true) if fastrand::f64() < share => {
                    Answer::new().wait(Duration::from_millis(500))
                }
                (Fault::Unavailable(share), true) if fastrand::f64() < share => {
                    return Answer::failure(Code::Unavailable);
                }
                _ => Answer::new(),
            };
            match request.rpc {
                Rpc::ReadRows => answer.send(&row),
                _ => answer.send(&MutateRowResponse {}),
            }
        };
        let mock = Mock::new().by(rule).admin_by(|_| Answer::table(["cf"])).unrecorded();
        let (commands, mut received) = unbounded_channel();
        let (sender, host) = std::sync::mpsc::channel();
        let served = mock.clone();
        let thread = thread::spawn(move || {
            crate::hot_paths::pin_server();
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime starts").block_on(async move {
                sender.send(served.listen().await).expect("the starter waits");
                while let Some(command) = received.recv().await {
                    match command {
                        Command::Stop => served.stop().await,
                        Command::Start => drop(served.listen().await),
                    }
                }
            });
        });
        let host = host.recv().expect("the server listens");
        Self { mock, host, is_on, requests, commands: Some(commands), thread: Some(thread) }
    }

    pub(super) fn host(&self) -> String {
        self.host.clone()
    }

    /// Switches the fault on or off.
    pub(super) fn set(&self, is_on: bool) {
        self.is_on.store(is_on, Ordering::Relaxed);
    }

    /// How many requests have come.
    pub(super) fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    pub(super) fn mock(&self) -> &Mock {
        &self.mock
    }

    /// Ends the server as if its process died.
    pub(super) fn stop(&self) {
        self.send(Command::Stop);
    }

    /// Starts it again at the same port.
    pub(super) fn restart(&self) {
        self.send(Command::Start);
    }

    fn send(&self, command: Command) {
        let commands = self.commands.as_ref().expect("the server runs");
        assert!(commands.send(command).is_ok(), "the server runs");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.commands.take();
        let ended = self.thread.take().map(JoinHandle::join);
        assert!(thread::panicking() || matches!(ended, Some(Ok(()))), "the scripted server has failed");
    }
}
