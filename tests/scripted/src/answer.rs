//! Answers: the steps that the server takes for one request.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::{BufMut as _, Bytes, BytesMut};
use h2::Reason;
use http::{HeaderMap, HeaderName, HeaderValue};
use keyderive_proto::data::read_rows_response::CellChunk;
use keyderive_proto::{admin, data, values};
use prost::Message;
use tokio::sync::Semaphore;
use tonic::{Code, Status};

use super::rows::{Chunk, row};

/// What a [`Mock`](super::Mock) does with one request, step by step. After the last step the request succeeds.
///
/// ```
/// use std::time::Duration;
///
/// use keyderive_scripted::{Answer, Failure};
/// use tonic::Code;
///
/// let busy = Failure::new(Code::Unavailable, "busy").retry_after(Duration::from_secs(2));
/// let answer = Answer::rows(["a", "b"]).wait(Duration::from_secs(1)).fail(busy);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// Sent before the first message, or with the status where there is no message.
    pub(super) headers: HeaderMap,
    /// Sent with the status.
    pub(super) trailers: HeaderMap,
    pub(super) steps: Vec<Step>,
}

#[derive(Clone, Debug)]
pub(super) enum Step {
    /// Sends bytes: a message, or a part of one.
    Send(Bytes),
    /// Sends messages as fast as the client reads them.
    Stream(Messages),
    Wait(Duration),
    Hold(Gate),
    Stall,
    Fail(Status),
    Reset(Reason),
    Drop,
    Freeze,
    GoAway,
    GoAwayNow(Reason),
}

/// Makes the encoded messages of a stream, each when it is sent.
#[derive(Clone)]
pub(super) struct Messages(Arc<dyn Fn() -> Box<dyn Iterator<Item = Bytes> + Send> + Send + Sync>);

impl Messages {
    pub(super) fn iter(&self) -> impl Iterator<Item = Bytes> + Send + use<> {
        (self.0)().map(|message| framed(&message))
    }
}

impl fmt::Debug for Messages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Messages")
    }
}

/// Holds up every answer that waits for it, until a test opens it.
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
        // Without permits, this waits until the semaphore is closed.
        let _ = self.0.acquire().await;
    }
}

/// Whole answers, and beginnings of answers.
impl Answer {
    /// No message.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Rows of one cell each, one per message.
    #[must_use]
    pub fn rows<K: Into<Bytes>>(keys: impl IntoIterator<Item = K>) -> Self {
        Self::new().and_rows(keys)
    }

    /// One message with these chunks.
    #[must_use]
    pub fn chunks(chunks: impl IntoIterator<Item = Chunk>) -> Self {
        Self::new().and_chunks(chunks)
    }

    /// One message with a status for each entry.
    #[must_use]
    pub fn outcomes(entries: impl IntoIterator<Item = (i64, Code)>) -> Self {
        Self::new().and_outcomes(entries)
    }

    /// Encoded messages, made as the client reads them.
    #[must_use]
    pub fn stream(messages: impl Iterator<Item = Bytes> + Clone + Send + Sync + 'static) -> Self {
        Self::new().then(Step::Stream(Messages(Arc::new(move || Box::new(messages.clone())))))
    }

    /// Sampled row keys.
    #[must_use]
    pub fn samples(samples: impl IntoIterator<Item = (&'static str, i64)>) -> Self {
        samples.into_iter().fold(Self::new(), |answer, (key, offset_bytes)| {
            answer.send(&data::SampleRowKeysResponse { row_key: key.into(), offset_bytes })
        })
    }

    /// Success of `MutateRow`.
    #[must_use]
    pub fn written() -> Self {
        Self::new().send(&data::MutateRowResponse {})
    }

    /// Whether the predicate of `CheckAndMutateRow` matched.
    #[must_use]
    pub fn matched(predicate_matched: bool) -> Self {
        Self::new().send(&data::CheckAndMutateRowResponse { predicate_matched })
    }

    /// The row that `ReadModifyWriteRow` has written.
    #[must_use]
    pub fn changed(row: data::Row) -> Self {
        Self::new().send(&data::ReadModifyWriteRowResponse { row: Some(row) })
    }

    /// A table with these column families.
    #[must_use]
    pub fn table<'a>(families: impl IntoIterator<Item = &'a str>) -> Self {
        let families = families.into_iter().map(|name| (name.to_owned(), admin::ColumnFamily::default()));
        Self::new().send(&admin::Table { column_families: families.collect(), ..Default::default() })
    }

    /// A failure without a message before it.
    #[must_use]
    pub fn failure(failure: impl Into<Failure>) -> Self {
        Self::new().fail(failure)
    }
}

/// Further steps.
impl Answer {
    #[must_use]
    pub fn and_rows<K: Into<Bytes>>(self, keys: impl IntoIterator<Item = K>) -> Self {
        keys.into_iter().fold(self, |answer, key| answer.and_chunks([row(key)]))
    }

    #[must_use]
    pub fn and_chunks(self, chunks: impl IntoIterator<Item = Chunk>) -> Self {
        let chunks = chunks.into_iter().map(CellChunk::from).collect();
        self.send(&data::ReadRowsResponse { chunks, ..Default::default() })
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

    /// A message that says how far the scan has read.
    #[must_use]
    pub fn scanned(self, key: impl Into<Bytes>) -> Self {
        self.send(&data::ReadRowsResponse { last_scanned_row_key: key.into(), ..Default::default() })
    }

    /// Any message.
    #[must_use]
    pub fn send(self, message: &impl Message) -> Self {
        self.then(Step::Send(framed(&message.encode_to_vec())))
    }

    /// The header of a message of `bytes` bytes, and nothing of the message.
    #[must_use]
    pub fn oversize(self, bytes: usize) -> Self {
        self.then(Step::Send(header(bytes).freeze()))
    }

    /// A message that cannot be decoded.
    #[must_use]
    pub fn garbage(self) -> Self {
        self.then(Step::Send(framed(&[0xff; 4])))
    }

    #[must_use]
    pub fn wait(self, time: Duration) -> Self {
        self.then(Step::Wait(time))
    }

    #[must_use]
    pub fn hold(self, gate: &Gate) -> Self {
        self.then(Step::Hold(gate.clone()))
    }

    /// Neither a further message nor a status.
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

    /// Breaks the connection.
    #[must_use]
    pub fn drop_connection(self) -> Self {
        self.then(Step::Drop)
    }

    /// Stops reading and writing on the connection, as a machine that loses power.
    #[must_use]
    pub fn freeze(self) -> Self {
        self.then(Step::Freeze)
    }

    /// Sends `GOAWAY`, and continues this answer.
    #[must_use]
    pub fn go_away(self) -> Self {
        self.then(Step::GoAway)
    }

    /// Ends the connection with `GOAWAY`.
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

/// A message with gRPC's header.
fn framed(message: &[u8]) -> Bytes {
    let mut framed = header(message.len());
    framed.put_slice(message);
    framed.freeze()
}

/// The header of a message of `bytes` bytes, with room for the message where that is small.
fn header(bytes: usize) -> BytesMut {
    let mut header = BytesMut::with_capacity(5 + bytes.min(1 << 20));
    header.put_u8(0);
    header.put_u32(u32::try_from(bytes).unwrap());
    header
}

/// The status of a failed RPC.
#[derive(Clone, Debug)]
pub struct Failure(Status);

impl Failure {
    #[must_use]
    pub fn new(code: Code, message: &str) -> Self {
        Self(Status::new(code, message))
    }

    /// Adds a `RetryInfo` with the delay after which the server asks to retry.
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
        self.detail(info)
    }

    /// Adds a detail to the status.
    #[must_use]
    pub fn detail(self, detail: values::Any) -> Self {
        let Self(status) = &self;
        let details = values::Status {
            code: status.code().into(),
            message: status.message().to_owned(),
            details: vec![detail],
        };
        Self(Status::with_details_and_metadata(
            status.code(),
            status.message(),
            details.encode_to_vec().into(),
            status.metadata().clone(),
        ))
    }

    /// The status message for one entry of a request.
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

    /// Adds metadata to the trailers.
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
