//! Recorded requests.

use bytes::Bytes;
use http::HeaderMap;
use keyderive_proto::{Rpc, data};
use prost::Message;
use tokio::time::Instant;

/// A request as it arrived.
#[derive(Clone, Debug)]
pub struct Request {
    pub rpc: Rpc,
    /// The encoded message.
    pub message: Bytes,
    pub headers: HeaderMap,
    /// When the request was complete.
    pub at: Instant,
    /// The index of its connection, from zero.
    pub connection: usize,
    /// Whether the client cancelled it before the answer was complete.
    pub is_cancelled: bool,
}

impl Request {
    /// The value of a header.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// Decodes the message; panics where it is not an `M`.
    #[must_use]
    pub fn decode<M: Message + Default>(&self) -> M {
        M::decode(self.message.clone()).unwrap_or_else(|error| panic!("{:?}: {error}", self.rpc))
    }

    /// Decodes a `ReadRows` request.
    #[must_use]
    pub fn read_rows(&self) -> data::ReadRowsRequest {
        self.decode()
    }

    /// The row keys of a `MutateRows` request, in order.
    #[must_use]
    pub fn entries(&self) -> Vec<Bytes> {
        let request: data::MutateRowsRequest = self.decode();
        request.entries.into_iter().map(|entry| entry.row_key).collect()
    }
}
