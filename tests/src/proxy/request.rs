//! Requests and answers, as the messages with prefixes that bodies of gRPC consist of.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};
use http::request::Parts;
use http::{HeaderMap, HeaderValue};
use http_body::{Body as _, Frame};
use keyderive_proto::data::{
    CheckAndMutateRowRequest, MutateRowRequest, MutateRowsRequest, Mutation, ReadRowsRequest,
};
use prost::Message;
use tonic::Status;
use tonic::body::Body;

/// The length of what precedes a message: whether it is compressed, and its length.
const PREFIX: usize = 5;

/// A request, read as far as tests look into it.
#[derive(Clone, Debug)]
pub enum Request {
    /// A request for rows.
    ReadRows(ReadRowsRequest),
    /// A write of a row.
    MutateRow(MutateRowRequest),
    /// A write of several rows.
    MutateRows(MutateRowsRequest),
    /// A conditional write.
    CheckAndMutateRow(CheckAndMutateRowRequest),
    /// A request of another method.
    Other {
        /// Whether it changes rows or tables.
        is_write: bool,
        /// Its body.
        body: Bytes,
    },
}

impl Request {
    pub(super) async fn read(head: &Parts, body: Body) -> Result<Self, Status> {
        let (body, _) = collected(body).await?;
        Ok(match head.uri.path().rsplit('/').next().unwrap_or_default() {
            "ReadRows" => Self::ReadRows(only(body)?),
            "MutateRow" => Self::MutateRow(only(body)?),
            "MutateRows" => Self::MutateRows(only(body)?),
            "CheckAndMutateRow" => Self::CheckAndMutateRow(only(body)?),
            "ReadModifyWriteRow" | "CreateTable" | "ModifyColumnFamilies" => {
                Self::Other { is_write: true, body }
            }
            _ => Self::Other { is_write: false, body },
        })
    }

    /// Whether it changes rows or tables.
    #[must_use]
    pub fn is_write(&self) -> bool {
        !matches!(self, Self::ReadRows(_) | Self::Other { is_write: false, .. })
    }

    pub(super) fn body(&self) -> Body {
        let body = match self {
            Self::ReadRows(request) => prefixed(request),
            Self::MutateRow(request) => prefixed(request),
            Self::MutateRows(request) => prefixed(request),
            Self::CheckAndMutateRow(request) => prefixed(request),
            Self::Other { body, .. } => body.clone(),
        };
        body_of(body, None)
    }

    /// Each list of mutations that it may apply to a row.
    pub fn mutations(&mut self) -> impl Iterator<Item = &mut Vec<Mutation>> {
        let lists: Vec<_> = match self {
            Self::MutateRow(request) => vec![&mut request.mutations],
            Self::MutateRows(request) => {
                request.entries.iter_mut().map(|entry| &mut entry.mutations).collect()
            }
            Self::CheckAndMutateRow(request) => {
                vec![&mut request.true_mutations, &mut request.false_mutations]
            }
            Self::ReadRows(_) | Self::Other { .. } => Vec::new(),
        };
        lists.into_iter()
    }
}

/// What a client receives of a request.
pub type Response = http::Response<Body>;

/// A successful answer of one message.
#[must_use]
pub fn answered(message: &impl Message) -> Response {
    let mut trailers = HeaderMap::new();
    trailers.insert("grpc-status", HeaderValue::from_static("0"));
    let mut response = Response::new(body_of(prefixed(message), Some(trailers)));
    response.headers_mut().insert("content-type", HeaderValue::from_static("application/grpc"));
    response
}

/// The data of a body, and its trailers.
///
/// # Errors
///
/// When the body breaks.
pub async fn collected(body: Body) -> Result<(Bytes, Option<HeaderMap>), Status> {
    let mut body = std::pin::pin!(body);
    let (mut data, mut trailers) = (BytesMut::new(), None);
    while let Some(frame) = poll_fn(|cx| body.as_mut().poll_frame(cx)).await.transpose()? {
        match frame.into_data() {
            Ok(part) => data.put(part),
            Err(frame) => trailers = frame.into_trailers().ok(),
        }
    }
    Ok((data.freeze(), trailers))
}

/// The messages of a body.
///
/// # Errors
///
/// When they are none of this type, or the last one is not whole.
pub fn messages<M: Message + Default>(mut data: Bytes) -> Result<Vec<M>, Status> {
    let mut messages = Vec::new();
    while data.len() >= PREFIX {
        let length = data.split_to(PREFIX).slice(1..).get_u32() as usize;
        if data.len() < length {
            return Err(Status::internal("a part of a message"));
        }
        let message = M::decode(data.split_to(length));
        messages.push(message.map_err(|error| Status::internal(error.to_string()))?);
    }
    Ok(messages)
}

fn only<M: Message + Default>(data: Bytes) -> Result<M, Status> {
    messages(data)?.pop().ok_or_else(|| Status::internal("a request without a message"))
}

/// A message with its prefix.
///
/// # Panics
///
/// When it has 4 GiB.
#[must_use]
pub fn prefixed(message: &impl Message) -> Bytes {
    let mut bytes = BytesMut::new();
    bytes.put_u8(0);
    bytes.put_u32(u32::try_from(message.encoded_len()).unwrap());
    message.encode(&mut bytes).unwrap();
    bytes.freeze()
}

/// A body of this data and these trailers.
#[must_use]
pub fn body_of(data: Bytes, trailers: Option<HeaderMap>) -> Body {
    let frames = [Some(Frame::data(data)), trailers.map(Frame::trailers)];
    Body::new(Frames(frames.into_iter().flatten().collect::<Vec<_>>().into_iter()))
}

struct Frames(std::vec::IntoIter<Frame<Bytes>>);

impl http_body::Body for Frames {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        Poll::Ready(self.0.next().map(Ok))
    }
}
