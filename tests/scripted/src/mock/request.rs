//! What the mock was asked.

use bytes::Bytes;
use http::HeaderMap;
use keyderive_proto::data;
use prost::Message;
use tokio::time::Instant;

use super::Rpc;

/// A request as it came in.
#[derive(Clone, Debug)]
pub struct Request {
    pub rpc: Rpc,
    /// The message, encoded.
    pub message: Bytes,
    pub headers: HeaderMap,
    /// When it was complete.
    pub at: Instant,
    /// The number of the connection that it came over, from zero.
    pub connection: usize,
    /// Whether the client gave it up before it was answered.
    pub is_cancelled: bool,
}

impl Request {
    /// A header's value.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The message.
    ///
    /// # Panics
    /// When it is no `M`.
    #[must_use]
    pub fn decode<M: Message + Default>(&self) -> M {
        M::decode(self.message.clone()).unwrap_or_else(|error| panic!("{:?}: {error}", self.rpc))
    }

    /// The message of a `ReadRows` request.
    #[must_use]
    pub fn read_rows(&self) -> data::ReadRowsRequest {
        self.decode()
    }

    /// The keys of a `MutateRows` request, in order.
    #[must_use]
    pub fn entries(&self) -> Vec<Bytes> {
        let request: data::MutateRowsRequest = self.decode();
        request.entries.into_iter().map(|entry| entry.row_key).collect()
    }
}
