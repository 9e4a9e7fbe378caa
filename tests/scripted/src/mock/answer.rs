//! The steps of an answer.

use std::sync::Arc;
use std::time::Duration;

use bytes::{BufMut as _, Bytes, BytesMut};
use h2::Reason;
use http::{HeaderMap, HeaderName, HeaderValue};
use keyderive_proto::data;
use keyderive_proto::data::read_rows_response::CellChunk;
use keyderive_proto::values;
use prost::Message;
use tokio::sync::Semaphore;
use tonic::{Code, Status};

use super::rows::{Chunk, row};

/// What a [`Mock`](super::Mock) does with one request, step by step. After the last one the request has succeeded.
///
/// ```
/// use std::time::Duration;
///
/// use keyderive_scripted::mock::{Answer, Failure};
/// use tonic::Code;
///
/// let busy = Failure::new(Code::Unavailable, "busy").retry_after(Duration::from_secs(2));
/// let answer = Answer::rows(["a", "b"]).wait(Duration::from_secs(1)).fail(busy);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// Sent with the first message, or with the outcome where there is none.
    pub(super) headers: HeaderMap,
    /// Sent with the outcome.
    pub(super) trailers: HeaderMap,
    pub(super) steps: Vec<Step>,
}

#[derive(Clone, Debug)]
pub(super) enum Step {
    /// Sends bytes: a message, or a part of one.
    Send(Bytes),
    Wait(Duration),
    Hold(Gate),
    Stall,
    Fail(Status),
    Reset(Reason),
    Drop,
    GoAway,
    GoAwayNow(Reason),
}

/// Holds answers up until a test opens it, for all of them at once.
#[derive(Clone, Debug)]
pub struct Gate(Arc<Semaphore>);

impl Gate {
    #[must_use]
    #[expect(
        clippy::new_without_default,
        reason = "a gate is closed or open, and neither is the default one"
    )]
    pub fn new() -> Self {
        Self(Arc::new(Semaphore::new(0)))
    }

    pub fn open(&self) {
        self.0.close();
    }

    pub(super) async fn passed(&self) {
        // It has no permits, so it waits until the semaphore is closed.
        let _ = self.0.acquire().await;
    }
}

/// How answers begin.
impl Answer {
    /// No message.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Rows of one cell each, every one in a message of its own.
    #[must_use]
    pub fn rows<K: Into<Bytes>>(keys: impl IntoIterator<Item = K>) -> Self {
        Self::new().and_rows(keys)
    }

    /// One message of these chunks.
    #[must_use]
    pub fn chunks(chunks: impl IntoIterator<Item = Chunk>) -> Self {
        Self::new().and_chunks(chunks)
    }

    /// One message with the outcomes of these entries.
    #[must_use]
    pub fn outcomes(entries: impl IntoIterator<Item = (i64, Code)>) -> Self {
        Self::new().and_outcomes(entries)
    }

    /// Samples of keys.
    #[must_use]
    pub fn samples(samples: impl IntoIterator<Item = (&'static str, i64)>) -> Self {
        samples.into_iter().fold(Self::new(), |answer, (key, offset_bytes)| {
            answer.send(&data::SampleRowKeysResponse { row_key: key.into(), offset_bytes })
        })
    }

    /// A row was written.
    #[must_use]
    pub fn written() -> Self {
        Self::new().send(&data::MutateRowResponse {})
    }

    /// A condition held, or not.
    #[must_use]
    pub fn matched(predicate_matched: bool) -> Self {
        Self::new().send(&data::CheckAndMutateRowResponse { predicate_matched })
    }

    /// A row was changed, and is this one.
    #[must_use]
    pub fn changed(row: data::Row) -> Self {
        Self::new().send(&data::ReadModifyWriteRowResponse { row: Some(row) })
    }

    /// A failure and nothing else.
    #[must_use]
    pub fn failure(failure: impl Into<Failure>) -> Self {
        Self::new().fail(failure)
    }
}

/// How answers go on.
impl Answer {
    #[must_use]
    pub fn and_rows<K: Into<Bytes>>(self, keys: impl IntoIterator<Item = K>) -> Self {
        keys.into_iter().fold(self, |answer, key| answer.and_chunks([row(key)]))
    }

    #[must_use]
    pub fn and_chunks(self, chunks: impl IntoIterator<Item = Chunk>) -> Self {
        let chunks = chunks.into_iter().map(CellChunk::from).collect();
        self.send(&data::ReadRowsResponse { chunks, last_scanned_row_key: Bytes::new() })
    }

    #[must_use]
    pub fn and_outcomes(self, entries: impl IntoIterator<Item = (i64, Code)>) -> Self {
        let entry = |(index, code): (i64, Code)| {
            let message = if code == Code::Ok { String::new() } else { format!("entry {index}") };
            let status = values::Status { code: code.into(), message, details: Vec::new() };
            data::mutate_rows_response::Entry { index, status: Some(status) }
        };
        let entries = entries.into_iter().map(entry).collect();
        self.send(&data::MutateRowsResponse { entries, rate_limit_info: None })
    }

    /// The scan has come to this key.
    #[must_use]
    pub fn scanned(self, key: impl Into<Bytes>) -> Self {
        self.send(&data::ReadRowsResponse { chunks: Vec::new(), last_scanned_row_key: key.into() })
    }

    /// Any message.
    #[must_use]
    pub fn send(self, message: &impl Message) -> Self {
        let message = message.encode_to_vec();
        let mut framed = claim(message.len());
        framed.put_slice(&message);
        self.then(Step::Send(framed.freeze()))
    }

    /// The beginning of a message that is said to have so many bytes.
    #[must_use]
    pub fn oversize(self, bytes: usize) -> Self {
        self.then(Step::Send(claim(bytes).freeze()))
    }

    /// A message that is none.
    #[must_use]
    pub fn garbage(self) -> Self {
        let mut framed = claim(4);
        framed.put_slice(&[0xff; 4]);
        self.then(Step::Send(framed.freeze()))
    }

    #[must_use]
    pub fn wait(self, time: Duration) -> Self {
        self.then(Step::Wait(time))
    }

    #[must_use]
    pub fn hold(self, gate: &Gate) -> Self {
        self.then(Step::Hold(gate.clone()))
    }

    /// Nothing more, and no end.
    #[must_use]
    pub fn stall(self) -> Self {
        self.then(Step::Stall)
    }

    #[must_use]
    pub fn fail(self, failure: impl Into<Failure>) -> Self {
        self.then(Step::Fail(failure.into().0))
    }

    /// Ends the stream by `RST_STREAM`.
    #[must_use]
    pub fn reset(self, reason: Reason) -> Self {
        self.then(Step::Reset(reason))
    }

    /// Ends the connection without a word.
    #[must_use]
    pub fn drop_connection(self) -> Self {
        self.then(Step::Drop)
    }

    /// Says that the connection takes no more requests; this one goes on.
    #[must_use]
    pub fn go_away(self) -> Self {
        self.then(Step::GoAway)
    }

    /// Ends the connection, with a reason.
    #[must_use]
    pub fn go_away_now(self, reason: Reason) -> Self {
        self.then(Step::GoAwayNow(reason))
    }

    #[must_use]
    pub fn header(mut self, name: &'static str, value: &'static str) -> Self {
        self.headers.append(HeaderName::from_static(name), HeaderValue::from_static(value));
        self
    }

    #[must_use]
    pub fn trailer(mut self, name: &'static str, value: &'static str) -> Self {
        self.trailers.append(HeaderName::from_static(name), HeaderValue::from_static(value));
        self
    }

    fn then(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }
}

/// What gRPC writes before a message of so many bytes.
fn claim(bytes: usize) -> BytesMut {
    let mut framed = BytesMut::with_capacity(5 + bytes.min(4096));
    framed.put_u8(0);
    framed.put_u32(u32::try_from(bytes).unwrap());
    framed
}

/// A failure of an RPC.
#[derive(Clone, Debug)]
pub struct Failure(Status);

impl Failure {
    #[must_use]
    pub fn new(code: Code, message: &str) -> Self {
        Self(Status::new(code, message))
    }

    /// The same with the server's word on when to try again.
    #[must_use]
    pub fn retry_after(self, delay: Duration) -> Self {
        let delay = values::Duration {
            seconds: delay.as_secs().try_into().unwrap(),
            nanos: delay.subsec_nanos().try_into().unwrap(),
        };
        let info = values::Any {
            type_url: "type.googleapis.com/google.rpc.RetryInfo".to_owned(),
            value: RetryInfo { retry_delay: Some(delay) }.encode_to_vec().into(),
        };
        let Self(status) = &self;
        let details = values::Status {
            code: status.code().into(),
            message: status.message().to_owned(),
            details: vec![info],
        };
        Self(Status::with_details_and_metadata(
            status.code(),
            status.message(),
            details.encode_to_vec().into(),
            status.metadata().clone(),
        ))
    }

    /// As the message that stands for it where it is of a part of an RPC.
    ///
    /// # Panics
    /// When it has details that are no message.
    #[must_use]
    pub fn as_message(&self) -> values::Status {
        let Self(status) = self;
        match status.details() {
            [] => values::Status {
                code: status.code().into(),
                message: status.message().to_owned(),
                details: Vec::new(),
            },
            details => values::Status::decode(details).unwrap(),
        }
    }

    /// The same with metadata in its trailers.
    #[must_use]
    pub fn metadata(mut self, name: &'static str, value: &'static str) -> Self {
        self.0.metadata_mut().append(name, value.parse().unwrap());
        self
    }
}

impl From<Code> for Failure {
    fn from(code: Code) -> Self {
        Self::new(code, "as scripted")
    }
}

/// `google.rpc.RetryInfo`.
#[derive(Clone, PartialEq, Message)]
struct RetryInfo {
    #[prost(message, optional, tag = "1")]
    retry_delay: Option<values::Duration>,
}
