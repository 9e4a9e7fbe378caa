//! gRPC over HTTP/2: a request is one message, an answer any number of messages and a status.
//!
//! It follows "gRPC over HTTP2".

use std::error::Error as StdError;
use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Buf as _, Bytes, BytesMut};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use http_body::{Body as _, Frame, SizeHint};
use keyderive_proto::MAX_MESSAGE_BYTES;
use prost::Message;
use tokio::task::coop::poll_proceed;
use tonic::metadata::MetadataMap;
use tonic::{Code, Status};

use super::connections::health::StreamPermit;
use super::fault::{ProtocolViolation, TooLarge};

/// The prefix of a message: a byte for the compression, four for the length.
const PREFIX: usize = 5;

/// A tail up to this size is copied into the frame of the head; a longer one is sent as a frame of its own, without a copy.
const MAX_COPIED: usize = 4 * 1024;

const TIMEOUT: HeaderName = HeaderName::from_static("grpc-timeout");

/// The headers that every request has.
pub(super) fn request_headers() -> HeaderMap {
    let mut headers = HeaderMap::with_capacity(16);
    headers.insert(http::header::TE, HeaderValue::from_static("trailers"));
    headers.insert(http::header::CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
    headers.insert(TIMEOUT, HeaderValue::from_static("0n"));
    headers
}

/// Sets how long the server may take.
pub(super) fn set_timeout(headers: &mut HeaderMap, timeout: Duration) {
    /// A number has at most 8 digits.
    const LARGEST: u128 = 99_999_999;
    let text = match (timeout.as_micros(), timeout.as_millis()) {
        (micros, _) if micros <= LARGEST => format!("{micros}u"),
        (_, millis) if millis <= LARGEST => format!("{millis}m"),
        (_, millis) => format!("{}S", (millis / 1000).min(LARGEST)),
    };
    if let Ok(value) = HeaderValue::try_from(text) {
        headers.insert(TIMEOUT, value);
    }
}

/// A request's message, as it is sent.
#[derive(Clone, Debug)]
pub(super) struct Request {
    /// The prefix, and the message up to the tail.
    head: Bytes,
    tail: Bytes,
}

impl Request {
    pub(super) fn new(message: &impl Message) -> Self {
        Self::with_tail(message, Bytes::new())
    }

    /// The fields of `head`, then of `tail`: concatenated messages are one message.
    pub(super) fn with_tail(head: &impl Message, tail: Bytes) -> Self {
        let len = head.encoded_len();
        let is_copied = tail.len() <= MAX_COPIED;
        let mut bytes = Vec::with_capacity(PREFIX + len + if is_copied { tail.len() } else { 0 });
        bytes.push(0);
        bytes.extend_from_slice(&u32::try_from(len + tail.len()).unwrap_or(u32::MAX).to_be_bytes());
        // A vector has room for every message.
        let _ = head.encode(&mut bytes);
        if !is_copied {
            return Self { head: bytes.into(), tail };
        }
        bytes.extend_from_slice(&tail);
        Self { head: bytes.into(), tail: Bytes::new() }
    }

    /// The size of the message.
    pub(super) fn bytes(&self) -> usize {
        self.head.len() - PREFIX + self.tail.len()
    }

    /// Fails for a message that is too large to be sent.
    pub(super) fn check(&self) -> Result<(), Status> {
        let bytes = self.bytes();
        if bytes > MAX_MESSAGE_BYTES {
            return Err(Status::out_of_range(format!(
                "the request has {bytes} bytes, and at most {MAX_MESSAGE_BYTES} are allowed"
            )));
        }
        Ok(())
    }

    /// What is sent: one frame, or two.
    pub(super) fn into_frames(self) -> (Bytes, Option<Bytes>) {
        (self.head, Some(self.tail).filter(|tail| !tail.is_empty()))
    }
}

/// The request as the body of an HTTP request, for servers in this process.
#[cfg(feature = "embedded")]
impl http_body::Body for Request {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let this = &mut *self;
        let next =
            [&mut this.head, &mut this.tail].into_iter().map(std::mem::take).find(|part| !part.is_empty());
        Poll::Ready(next.map(|frame| Ok(Frame::data(frame))))
    }

    fn is_end_stream(&self) -> bool {
        self.head.is_empty() && self.tail.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::default()
    }
}

/// The answer to a request, after its head was received.
pub(super) struct Answer {
    headers: HeaderMap,
    /// None once the status has come.
    body: Option<AnswerBody>,
    /// Received and not taken yet: whole messages, and the beginning of the next.
    received: Bytes,
    /// The beginning of a message that spans several frames.
    begun: BytesMut,
}

/// The messages and trailers of an answer.
pub(super) enum AnswerBody {
    Http2 {
        stream: h2::RecvStream,
        _permit: StreamPermit,
    },
    #[cfg(feature = "embedded")]
    InProcess(tonic::body::Body),
}

impl Answer {
    /// # Errors
    /// The status, if the answer has nothing else.
    pub(super) fn new(http: http::Response<AnswerBody>) -> Result<Self, Status> {
        let (head, body) = http.into_parts();
        match Status::from_header_map(&head.headers) {
            Some(status) if status.code() != Code::Ok => Err(status),
            // If more follows, the status is in the trailers.
            Some(_) if body.is_end_stream() => Ok(Self::with_body(head.headers, None)),
            _ if head.status != StatusCode::OK => Err(of_http(head.status)),
            _ => Ok(Self::with_body(head.headers, Some(body))),
        }
    }

    fn with_body(headers: HeaderMap, body: Option<AnswerBody>) -> Self {
        Self { headers, body, received: Bytes::new(), begun: BytesMut::new() }
    }

    /// The headers of its head; once it has ended, also of its trailers.
    pub(super) fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// The next message; none once the server has reported success.
    ///
    /// Pending too when it is the turn of other tasks: neither h2 nor a server in this process counts what it finds buffered.
    pub(super) fn poll_message(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Bytes>, Status>> {
        let budget = ready!(poll_proceed(cx));
        let polled = self.poll_received(cx);
        // The end of an answer took a round trip, as its head did.
        if let Poll::Ready(Ok(Some(_))) = polled {
            budget.made_progress();
        }
        polled
    }

    fn poll_received(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Bytes>, Status>> {
        loop {
            if let Some(message) = self.take_message()? {
                return Poll::Ready(Ok(Some(message)));
            }
            let Some(body) = &mut self.body else { return Poll::Ready(Ok(None)) };
            let frame = match ready!(Pin::new(body).poll_frame(cx)) {
                Some(Ok(frame)) => frame,
                Some(Err(error)) => return Poll::Ready(Err(self.ended(Status::from_error(error)))),
                None => return Poll::Ready(Err(self.ended(Status::from_error(Box::new(NoStatus))))),
            };
            match frame.into_data() {
                Ok(data) => {
                    if let Some(message) = self.receive(data)? {
                        return Poll::Ready(Ok(Some(message)));
                    }
                }
                Err(frame) => {
                    let trailers = frame.into_trailers().unwrap_or_default();
                    let status = Status::from_header_map(&trailers)
                        .unwrap_or_else(|| Status::from_error(Box::new(NoStatus)));
                    self.body = None;
                    if status.code() != Code::Ok {
                        return Poll::Ready(Err(self.ended(status)));
                    }
                    let of_server = trailers.iter().filter(|(name, _)| !name.as_str().starts_with("grpc-"));
                    self.headers.extend(of_server.map(|(name, value)| (name.clone(), value.clone())));
                    if !self.received.is_empty() || !self.begun.is_empty() {
                        return Poll::Ready(Err(violation("it ends within a message")));
                    }
                }
            }
        }
    }

    /// The next message; none once the server has reported success.
    pub(super) async fn message(&mut self) -> Result<Option<Bytes>, Status> {
        poll_fn(|cx| self.poll_message(cx)).await
    }

    /// The next message, decoded.
    pub(super) async fn next<M: Message + Default>(&mut self) -> Result<Option<M>, Status> {
        let message = self.message().await?;
        message
            .map(M::decode)
            .transpose()
            .map_err(|error| self.ended(violation(format!("it cannot be decoded: {error}"))))
    }

    /// The only message.
    pub(super) async fn only<M: Message + Default>(mut self) -> Result<M, Status> {
        let only = self.next().await?.ok_or_else(|| violation("it has no message"))?;
        match self.message().await? {
            Some(_) => Err(violation("it has more than one message")),
            None => Ok(only),
        }
    }

    /// Takes the next message, if it was received in full.
    fn take_message(&mut self) -> Result<Option<Bytes>, Status> {
        match message_len(&self.received)? {
            Some(len) if len <= self.received.len() - PREFIX => {
                self.received.advance(PREFIX);
                Ok(Some(self.received.split_to(len)))
            }
            _ => Ok(None),
        }
    }

    /// Adds received bytes; returns the message that they complete. All whole messages must have been taken before.
    fn receive(&mut self, mut data: Bytes) -> Result<Option<Bytes>, Status> {
        /// A longer message is given room as it comes, since a server may not send what it announces.
        const MAX_RESERVED: usize = 4 << 20;
        if self.received.is_empty() && self.begun.is_empty() {
            self.received = data;
            return Ok(None);
        }
        let Self { received, begun, .. } = self;
        if begun.is_empty() {
            let len = message_len(received)?.unwrap_or_default();
            begun.reserve((PREFIX + len).min(MAX_RESERVED));
            begun.extend_from_slice(&std::mem::take(received));
        }
        begun.extend_from_slice(&data.split_to(data.len().min(PREFIX.saturating_sub(begun.len()))));
        let Some(len) = message_len(begun)? else { return Ok(None) };
        let missing = PREFIX + len - begun.len();
        begun.reserve(missing.min(MAX_RESERVED));
        begun.extend_from_slice(&data.split_to(data.len().min(missing)));
        if begun.len() < PREFIX + len {
            return Ok(None);
        }
        *received = data;
        let mut message = std::mem::take(begun).freeze();
        message.advance(PREFIX);
        Ok(Some(message))
    }

    /// The status that ends the answer, with the headers of its head: either may have a routing cookie.
    pub(super) fn ended(&mut self, mut status: Status) -> Status {
        let mut headers = std::mem::take(&mut self.headers);
        let own = std::mem::replace(status.metadata_mut(), MetadataMap::new());
        for (name, value) in &own.into_headers() {
            headers.insert(name, value.clone());
        }
        *status.metadata_mut() = MetadataMap::from_headers(headers);
        status
    }
}

impl http_body::Body for AnswerBody {
    type Data = Bytes;
    type Error = Box<dyn StdError + Send + Sync>;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        match self.get_mut() {
            Self::Http2 { stream, .. } => match ready!(stream.poll_data(cx)) {
                Some(Ok(data)) => {
                    // Fails only for a stream that has ended, whose window no longer counts.
                    let _ = stream.flow_control().release_capacity(data.len());
                    Poll::Ready(Some(Ok(Frame::data(data))))
                }
                Some(Err(error)) => Poll::Ready(Some(Err(Broken(error).into()))),
                None => match ready!(stream.poll_trailers(cx)) {
                    Ok(trailers) => Poll::Ready(trailers.map(|trailers| Ok(Frame::trailers(trailers)))),
                    Err(error) => Poll::Ready(Some(Err(Broken(error).into()))),
                },
            },
            #[cfg(feature = "embedded")]
            Self::InProcess(body) => Pin::new(body).poll_frame(cx).map_err(Into::into),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Http2 { stream, .. } => stream.is_end_stream(),
            #[cfg(feature = "embedded")]
            Self::InProcess(body) => body.is_end_stream(),
        }
    }
}

/// An answer broke off after its head. The server has taken the request, whatever it says then, so h2's error is not the
/// source: it could count as a refusal.
#[derive(Debug)]
struct Broken(h2::Error);

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl StdError for Broken {}

fn violation(how: impl Into<String>) -> Status {
    ProtocolViolation::status(how.into())
}

/// The length of the message that these bytes begin with, from its prefix; none if the prefix is not whole.
fn message_len(bytes: &[u8]) -> Result<Option<usize>, Status> {
    let Some(&[compression, a, b, c, d]) = bytes.first_chunk() else { return Ok(None) };
    if compression != 0 {
        return Err(violation("it is compressed, which was not asked for"));
    }
    let len = usize::try_from(u32::from_be_bytes([a, b, c, d])).unwrap_or(usize::MAX);
    match len > MAX_MESSAGE_BYTES {
        true => Err(TooLarge::Message(len).status()),
        false => Ok(Some(len)),
    }
}

/// The status that an HTTP status stands for, where a proxy answers in the server's place. The codes are those of gRPC's
/// "HTTP to gRPC Status Code Mapping".
fn of_http(status: StatusCode) -> Status {
    let code = match status.as_u16() {
        400 => Code::Internal,
        401 => Code::Unauthenticated,
        403 => Code::PermissionDenied,
        404 => Code::Unimplemented,
        429 | 502..=504 => Code::Unavailable,
        _ => Code::Unknown,
    };
    Status::new(code, format!("the answer has the HTTP status {status}, and none of gRPC"))
}

/// An answer ended without a status, as one that a proxy cuts off.
#[derive(Debug)]
struct NoStatus;

impl fmt::Display for NoStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the answer ended without a status")
    }
}

impl StdError for NoStatus {}

#[cfg(test)]
#[cfg(feature = "embedded")]
mod tests;
