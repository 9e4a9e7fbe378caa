//! Requests that are encoded already, and how they go.

use bytes::{Buf as _, BufMut as _, Bytes};
use keyderive_proto::MAX_MESSAGE_BYTES;
use prost::Message;
use tonic::client::Grpc;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::codegen::http::uri::PathAndQuery;
use tonic::{Request, Response, Status, Streaming};

use super::body::Completed;
use crate::client::call::Payload;
use crate::client::transport::Transport;

/// A message of which some fields have been encoded beforehand.
#[derive(Clone, Debug)]
pub(super) struct Encoded {
    head: Bytes,
    body: Bytes,
}

impl Encoded {
    /// The fields of `head`, and those of `body` after them. Encoded messages one after the other are one message.
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
    let (mut service, head) = ready(transport, request).await?;
    let answer = service.unary(head, PathAndQuery::from_static(path), BytesCodec).await?;
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
    let (mut service, head) = ready(transport, request).await?;
    service.server_streaming(head, PathAndQuery::from_static(path), BytesCodec).await
}

/// A service that is ready for this request, and sends its body after the head.
async fn ready(
    transport: Transport,
    request: Request<Encoded>,
) -> Result<(Grpc<Completed>, Request<Bytes>), Status> {
    let bytes = request.get_ref().bytes();
    if bytes > MAX_MESSAGE_BYTES {
        return Err(Status::out_of_range(format!(
            "the request has {bytes} bytes, and at most {MAX_MESSAGE_BYTES} are sent"
        )));
    }
    let (metadata, extensions, Encoded { head, body: rest }) = request.into_parts();
    let completed = Completed { transport, rest };
    let mut service = Grpc::new(completed).max_decoding_message_size(MAX_MESSAGE_BYTES);
    let is_ready = service.ready().await;
    is_ready.map_err(|error| Status::unknown(format!("Service was not ready: {error}")))?;
    Ok((service, Request::from_parts(metadata, extensions, head)))
}

/// Hands messages over as they are.
#[derive(Clone, Copy)]
struct BytesCodec;

impl Codec for BytesCodec {
    type Encode = Bytes;
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
    type Item = Bytes;
    type Error = Status;

    fn encode(&mut self, message: Bytes, out: &mut EncodeBuf<'_>) -> Result<(), Status> {
        out.put(message);
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
