//! Raw tonic: a connection with the client's own options, and a codec that returns the bytes of a message.

use bytes::Bytes;
use http::uri::PathAndQuery;
use prost::Message as _;
use tonic::client::Grpc;
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Streaming};

use keyderive_proto::PassthroughCodec;
use keyderive_proto::data::row_range::StartKey;
use keyderive_proto::data::{ReadRowsRequest, RowRange, RowSet};

use crate::program::Failure;

pub(super) const TABLE: &str = "projects/keyderive/instances/local/tables/readings";

/// A connection whose windows never make a scan wait.
pub(super) async fn connect(host: &str) -> Result<Channel, Failure> {
    let endpoint = Endpoint::from_shared(format!("http://{host}"))?
        .initial_stream_window_size(1 << 20)
        .initial_connection_window_size((1 << 31) - 1)
        .tcp_nodelay(true);
    Ok(endpoint.connect().await?)
}

/// Reads the whole table, or the rows from a key on, by which the scripted server chooses the bucket.
pub(super) fn read_request(start: Option<String>) -> ReadRowsRequest {
    let start_key = start.map(|start| StartKey::StartKeyClosed(start.into()));
    let range = RowRange { start_key, ..RowRange::default() };
    let rows = RowSet { row_ranges: vec![range], ..RowSet::default() };
    ReadRowsRequest { table_name: TABLE.to_owned(), rows: Some(rows), ..ReadRowsRequest::default() }
}

/// The messages of an answer.
pub(super) async fn read_rows(
    channel: &Channel,
    request: &ReadRowsRequest,
) -> Result<Streaming<Bytes>, Failure> {
    call(channel, "/google.bigtable.v2.Bigtable/ReadRows", request.encode_to_vec().into()).await
}

/// Sends an encoded `MutateRows` request.
pub(super) async fn mutate_rows(channel: &Channel, request: Bytes) -> Result<Streaming<Bytes>, Failure> {
    call(channel, "/google.bigtable.v2.Bigtable/MutateRows", request).await
}

/// Sends an encoded `ReadRows` request for one row, and counts the row.
pub(super) async fn read_row(channel: &Channel, request: Bytes) -> Result<u64, Failure> {
    let mut messages = call(channel, "/google.bigtable.v2.Bigtable/ReadRows", request).await?;
    let mut rows = 0;
    while messages.message().await?.is_some() {
        rows += 1;
    }
    Ok(rows)
}

/// Sends an encoded `MutateRow` request, and counts the row.
pub(super) async fn mutate_row(channel: &Channel, request: Bytes) -> Result<u64, Failure> {
    let mut client = Grpc::new(channel.clone());
    client.ready().await?;
    let path = PathAndQuery::from_static("/google.bigtable.v2.Bigtable/MutateRow");
    client.unary(Request::new(request), path, PassthroughCodec).await?;
    Ok(1)
}

async fn call(channel: &Channel, path: &'static str, request: Bytes) -> Result<Streaming<Bytes>, Failure> {
    let mut client = Grpc::new(channel.clone())
        .max_decoding_message_size(usize::MAX)
        .max_encoding_message_size(usize::MAX);
    client.ready().await?;
    let path = PathAndQuery::from_static(path);
    Ok(client.server_streaming(Request::new(request), path, PassthroughCodec).await?.into_inner())
}
