//! Requests that are encoded already, and how they go.

use bytes::{Buf as _, BufMut as _, Bytes};
use prost::Message;
use tonic::client::Grpc;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::codegen::http::uri::PathAndQuery;
use tonic::{Request, Response, Status, Streaming};

use crate::client::call::Payload;
use crate::client::transport::{MAX_MESSAGE_BYTES, Transport};

/// A message of which some fields have been encoded beforehand.
#[derive(Clone, Debug)]
pub(super) struct Encoded {
    head: Bytes,
    body: Bytes,
}

impl Encoded {
    /// The fields of `head`, and those of `body` behind them. Encoded messages behind one another are one message.
    pub(super) fn new(head: &impl Message, body: Bytes) -> Self {
        Self { head: head.encode_to_vec().into(), body }
    }
}

impl Payload for Encoded {
    fn bytes(&self) -> usize {
        self.head.len() + self.body.len()
    }
}

/// Sends a request that has one answer.
pub(super) async fn unary<M: Message + Default>(
    transport: Transport,
    path: &'static str,
    request: Request<Encoded>,
) -> Result<Response<M>, Status> {
    let answer = ready(transport).await?.unary(request, PathAndQuery::from_static(path), BytesCodec).await?;
    let (metadata, bytes, extensions) = answer.into_parts();
    let message = M::decode(bytes).map_err(|error| Status::internal(error.to_string()))?;
    Ok(Response::from_parts(metadata, message, extensions))
}

/// Sends a request that has a stream of answers, whose messages come as bytes.
pub(super) async fn streaming(
    transport: Transport,
    path: &'static str,
    request: Request<Encoded>,
) -> Result<Response<Streaming<Bytes>>, Status> {
    ready(transport).await?.server_streaming(request, PathAndQuery::from_static(path), BytesCodec).await
}

async fn ready(transport: Transport) -> Result<Grpc<Transport>, Status> {
    let mut service = Grpc::new(transport)
        .max_decoding_message_size(MAX_MESSAGE_BYTES)
        .max_encoding_message_size(MAX_MESSAGE_BYTES);
    let is_ready = service.ready().await;
    is_ready.map_err(|error| Status::unknown(format!("Service was not ready: {error}")))?;
    Ok(service)
}

/// Hands messages over as they are.
#[derive(Clone, Copy)]
struct BytesCodec;

impl Codec for BytesCodec {
    type Encode = Encoded;
    type Decode = Bytes;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self
    }

    fn decoder(&mut self) -> Self {
        Self
    }
}

impl Encoder for BytesCodec {
    type Item = Encoded;
    type Error = Status;

    fn encode(&mut self, request: Encoded, out: &mut EncodeBuf<'_>) -> Result<(), Status> {
        out.reserve(request.bytes());
        out.put_slice(&request.head);
        out.put_slice(&request.body);
        Ok(())
    }
}

impl Decoder for BytesCodec {
    type Item = Bytes;
    type Error = Status;

    fn decode(&mut self, message: &mut DecodeBuf<'_>) -> Result<Option<Bytes>, Status> {
        Ok(Some(message.copy_to_bytes(message.remaining())))
    }
}
