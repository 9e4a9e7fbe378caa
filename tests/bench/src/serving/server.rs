//! A scripted server in a thread of its own, whose faults can be switched on and off.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use keyderive_proto::data::{MutateRowResponse, ReadRowsResponse};
use keyderive_scripted::{Answer, Mock, Request, Rpc, encode_rows};
use prost::Message as _;
use tonic::Code;

use super::{KEY, READING};
use crate::hot_paths;

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
    server: hot_paths::Server,
    is_on: Arc<AtomicBool>,
    requests: Arc<AtomicU64>,
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
        Self { server: hot_paths::Server::serve(mock.clone()), mock, is_on, requests }
    }

    pub(super) fn host(&self) -> String {
        self.server.host()
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

    pub(super) fn stop(&self) {
        self.server.stop();
    }

    pub(super) fn restart(&self) {
        self.server.restart();
    }
}
