//! What a failed attempt means: whether it is transient, and whether the server may have applied it.

use std::borrow::Cow;
use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::HeaderMap;
use keyderive_proto::values;
use prost::Message as _;
use tonic::metadata::MetadataMap;
use tonic::{Code, Status};

use super::credentials::CredentialsError;
use super::fault::{ConnectError, Overload, ProtocolViolation, RuntimeEnded, Source, TooLarge};

/// The text of an attempt that timed out.
pub(super) const NO_COMPLETE_ANSWER: &str = "no complete answer came";

/// Why an attempt failed.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(super) code: Code,
    pub(super) message: String,
    pub(super) source: Option<Source>,
    /// Whether a retry may succeed.
    pub(super) transient: bool,
    /// Whether the request cannot have reached the server.
    pub(super) unsent: bool,
    /// Whether the server did nothing: it said so by its answer, or rejected the stream.
    pub(super) refused: bool,
    /// The delay after which the server asks for a retry.
    pub(super) retry_after: Option<Duration>,
    /// Whether the status is the server's, not this process's.
    pub(super) answered: bool,
    /// Whether the attempt timed out by this process's clock.
    pub(super) timed_out: bool,
    /// Whether the server stopped answering on the connection, where another one may answer.
    pub(super) stalled: bool,
    /// Whether too many requests wait for a connection.
    pub(super) overloaded: bool,
    /// Whether the answer breaks the protocol, as the message says.
    pub(super) is_violation: bool,
    /// Whether the plan of the query has expired.
    pub(super) is_plan_expired: bool,
    pub(super) headers: HeaderMap,
    /// After a timeout: the last failure of an earlier attempt that was not a timeout.
    pub(super) earlier: Option<Arc<Failure>>,
}

impl Failure {
    pub(super) fn silent(idle_timeout: Duration) -> Self {
        Self::timed_out("the server sent nothing", idle_timeout)
    }

    /// A timeout by this process's clock. `what` begins the message.
    pub(super) fn timed_out(what: &str, after: Duration) -> Self {
        let status = Status::deadline_exceeded(format!("{what} within {after:?}"));
        Self { answered: false, timed_out: true, ..Self::from(status) }
    }

    /// No time is left for an attempt, and no failure is about to be retried.
    pub(super) fn no_time() -> Self {
        let status = Status::deadline_exceeded("no time is left for an attempt");
        Self { answered: false, timed_out: true, ..Self::from(status).before_sending() }
    }

    /// The server has stopped answering on the connection of the attempt.
    pub(super) fn stalled() -> Self {
        let status = Status::unavailable("the server stopped answering on this connection");
        Self { answered: false, stalled: true, ..Self::from(status) }
    }

    /// The request was not sent, since too many wait for a connection already.
    pub(super) fn overloaded(Overload { waiting, is_open, cause }: &Overload, allowed: usize) -> Self {
        let bound = format!("{waiting} requests wait for one, where `max_waiting` allows {allowed}");
        let status = match (is_open, cause) {
            (true, _) => Status::resource_exhausted(format!(
                "{waiting} requests wait for a connection, and at most {allowed} may (`max_waiting`); send fewer at a time, or \
                 allow more connections (`ClientBuilder::connections`)"
            )),
            // A server that cannot be reached is unavailable, not overloaded.
            (false, Some(cause)) => {
                Status::unavailable(format!("no connection is open, and {bound}; {}", cause.with_cause()))
            }
            (false, None) => Status::resource_exhausted(format!("no connection is open, and {bound}")),
        };
        let failure = Self::from(status).before_sending();
        Self { answered: false, overloaded: true, transient: false, ..failure }
    }

    /// The attempt ended while the request waited for a connection: whether one is open, and the time `allowed`.
    pub(super) fn not_sent(is_open: bool, allowed: Duration) -> Self {
        let what = match is_open {
            true => "the connection took no more requests, and this one was not sent",
            false => "the connection did not open, and the request was not sent",
        };
        Self::timed_out(what, allowed).before_sending()
    }

    /// Adds the last failure that was no timeout, if this one is: why there was no answer in time.
    pub(super) fn after(self, last: Option<&Self>) -> Self {
        let earlier = match last {
            _ if self.code != Code::DeadlineExceeded => None,
            Some(last) if last.code == Code::DeadlineExceeded => last.earlier.clone(),
            Some(last) => Some(Arc::new(last.clone())),
            None => None,
        };
        Self { earlier, ..self }
    }

    /// Whether only the connection failed, so that another one may carry the request at once.
    pub(super) fn is_of_connection(&self) -> bool {
        self.stalled || (self.refused && !self.answered)
    }

    /// Whether the request was not applied: it was not sent, or a server rejected it. After every other failure, a write may
    /// have been applied.
    pub(super) fn is_not_applied(&self) -> bool {
        self.unsent || self.refused
    }

    /// The failure of an attempt at its deadline, after the time `allowed`.
    ///
    /// The server has the same deadline, from `grpc-timeout`. When its clock reaches it, the server resets the stream,
    /// closes the connection, or answers CANCELLED; only the time tells these from other failures.
    pub(super) fn at_deadline(self, allowed: Duration) -> Self {
        if self.is_not_applied() || (self.answered && self.code != Code::Cancelled) {
            return self;
        }
        let ended = Self::timed_out(NO_COMPLETE_ANSWER, allowed);
        let message = match self.message.as_str() {
            "" => ended.message,
            message => format!("{}: {message}", ended.message),
        };
        let Self { source, headers, answered, .. } = self;
        Self { message, source, headers, answered, timed_out: false, ..ended }
    }

    /// Marks a failure from before anything was sent.
    pub(super) fn before_sending(self) -> Self {
        Self { unsent: true, ..self }
    }

    /// There is no access token for the request.
    pub(super) fn no_token(error: CredentialsError) -> Self {
        let status = Status::unauthenticated(format!("no access token: {error}"));
        Self {
            transient: error.is_transient(),
            source: Some(Arc::new(error)),
            answered: false,
            ..Self::from(status).before_sending()
        }
    }

    /// Whether the table lacks a column family of the request. No code says so, and servers use different messages.
    pub(super) fn is_missing_family(&self) -> bool {
        let text = self.message.to_ascii_lowercase();
        let missing = ["not found", "unknown", "has no", "does not exist"];
        text.contains("family") && missing.iter().any(|words| text.contains(words))
    }

    /// Whether the app profile does not allow single-row transactions. No code says so.
    pub(super) fn needs_single_row_transactions(&self) -> bool {
        let text = self.message.to_ascii_lowercase();
        self.answered
            && text.contains("transaction")
            && ["single-row", "single row"].iter().any(|row| text.contains(row))
    }

    /// Whether there was no access token.
    pub(super) fn is_missing_token(&self) -> bool {
        self.source.as_ref().is_some_and(|source| source.is::<CredentialsError>())
    }
}

impl From<Status> for Failure {
    fn from(status: Status) -> Self {
        if let Some(ended) = causes(&status).find(|cause| cause.is::<RuntimeEnded>()) {
            let status = Status::unavailable(ended.to_string());
            return Self { transient: false, answered: false, ..Self::from(status).before_sending() };
        }
        let (code, retry_after) = (code(&status), retry_after(status.details()));
        let is_violation = causes(&status).any(<dyn StdError>::is::<ProtocolViolation>);
        let unsent = causes(&status).any(<dyn StdError>::is::<ConnectError>);
        let answered = is_answer(&status);
        Self {
            transient: !is_violation && (retry_after.is_some() || is_transient(code, status.message())),
            unsent,
            refused: is_refused_stream(&status) || (answered && is_refusal(code)),
            message: message(&status),
            answered,
            timed_out: false,
            stalled: false,
            overloaded: false,
            is_violation,
            is_plan_expired: is_plan_expired(status.details()),
            headers: status.metadata().clone().into_headers(),
            earlier: None,
            source: source(status),
            code,
            retry_after,
        }
    }
}

/// The code of a failure.
///
/// A status from a server has no source. One from this process has the failure of the connection as its source.
fn code(status: &Status) -> Code {
    match status.source() {
        None => status.code(),
        Some(source) if source.is::<TooLarge>() => Code::ResourceExhausted,
        Some(source) if source.is::<ProtocolViolation>() => Code::Internal,
        Some(_) => Code::Unavailable,
    }
}

/// Whether the status is a server's.
fn is_answer(status: &Status) -> bool {
    status.source().is_none()
}

/// Whether this code means that the server applied nothing. With other codes it may have failed halfway, or a proxy may have
/// answered.
fn is_refusal(code: Code) -> bool {
    !matches!(
        code,
        Code::Ok
            | Code::Unavailable
            | Code::DeadlineExceeded
            | Code::Cancelled
            | Code::Aborted
            | Code::Unknown
            | Code::Internal
            | Code::DataLoss
    )
}

/// Whether the server did not process the stream: it reset it with `REFUSED_STREAM`, or sent a `GOAWAY` that names an earlier
/// stream as the last. Streams up to that one end with their answer or their connection.
fn is_refused_stream(status: &Status) -> bool {
    causes(status).filter_map(|cause| cause.downcast_ref::<h2::Error>()).any(|error| {
        error.is_remote() && (error.is_go_away() || error.reason() == Some(h2::Reason::REFUSED_STREAM))
    })
}

/// The message of a status, with its root cause if the status is of this process.
fn message(status: &Status) -> String {
    let message = status.message();
    match causes(status).last().map(ToString::to_string) {
        Some(cause) if !message.contains(&cause) => shortened(&format!("{message}: {cause}")).into_owned(),
        _ => shortened(message).into_owned(),
    }
}

/// A text, perhaps a server's, cut if it is too long for errors and logs.
pub(super) fn shortened(text: &str) -> Cow<'_, str> {
    const MAX_BYTES: usize = 4 * 1024;
    /// Room for the mark, so that a text that has one is not shortened again.
    const MARK: usize = 64;
    match text.len() > MAX_BYTES {
        true => {
            let start = &text[..text.floor_char_boundary(MAX_BYTES - MARK)];
            format!("{start}… (the first {} of {} bytes)", start.len(), text.len()).into()
        }
        false => text.into(),
    }
}

/// Whether Google's clients retry the failure: transient ones, and internal errors of the front ends.
fn is_transient(code: Code, message: &str) -> bool {
    const TRANSIENT_INTERNAL: [&str; 4] = [
        "rst_stream",
        "rst stream",
        "authentication backend internal server error. please retry",
        "stream closed before write could take place",
    ];
    match code {
        Code::Unavailable | Code::DeadlineExceeded | Code::Aborted => true,
        Code::Internal => {
            let message = message.to_ascii_lowercase();
            TRANSIENT_INTERNAL.iter().any(|text| message.contains(text))
        }
        _ => false,
    }
}

/// The delay of the `google.rpc.RetryInfo` among a status's details.
fn retry_after(details: &[u8]) -> Option<Duration> {
    #[derive(prost::Message)]
    struct RetryInfo {
        #[prost(message, optional, tag = "1")]
        retry_delay: Option<Delay>,
    }
    #[derive(prost::Message)]
    struct Delay {
        #[prost(int64, tag = "1")]
        seconds: i64,
        #[prost(int32, tag = "2")]
        nanos: i32,
    }
    let Delay { seconds, nanos } =
        detail::<RetryInfo>(details, "/google.rpc.RetryInfo")?.retry_delay.unwrap_or_default();
    Some(Duration::new(
        u64::try_from(seconds).unwrap_or(0),
        u32::try_from(nanos).unwrap_or(0).min(999_999_999),
    ))
}

/// Whether a status's details say that the plan of a query has expired.
fn is_plan_expired(details: &[u8]) -> bool {
    let failure = detail::<values::PreconditionFailure>(details, "/google.rpc.PreconditionFailure");
    let violations = failure.map(|failure| failure.violations).unwrap_or_default();
    violations.iter().any(|violation| violation.r#type == "PREPARED_QUERY_EXPIRED")
}

/// The message in a status's details whose type ends with `of`.
fn detail<M: prost::Message + Default>(details: &[u8], of: &str) -> Option<M> {
    if details.is_empty() {
        return None;
    }
    let status = values::Status::decode(Bytes::copy_from_slice(details)).ok()?;
    let any = status.details.into_iter().find(|any| any.type_url.ends_with(of))?;
    M::decode(any.value).ok()
}

fn causes(status: &Status) -> impl Iterator<Item = &(dyn StdError + 'static)> {
    std::iter::successors(status.source(), |&error| error.source())
}

/// The source of a status, kept alive by the status itself.
fn source(mut status: Status) -> Option<Source> {
    status.source()?;
    *status.metadata_mut() = MetadataMap::new();
    Some(Arc::new(Cause(status)))
}

/// Stands for the source of the status that it owns, since the source cannot be moved out of the status.
struct Cause(Status);

impl Cause {
    fn get(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source()
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().map_or(Ok(()), |cause| fmt::Display::fmt(cause, f))
    }
}

impl fmt::Debug for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().map_or(Ok(()), |cause| fmt::Debug::fmt(cause, f))
    }
}

impl StdError for Cause {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.get().and_then(StdError::source)
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    fn with_source(status: Status, source: impl StdError + Send + Sync + 'static) -> Failure {
        let mut status = status;
        status.set_source(Arc::new(source));
        status.into()
    }

    #[test]
    fn failures_of_the_connection_are_unavailable() {
        let broken = io::Error::new(io::ErrorKind::BrokenPipe, "pipe is broken");
        for code in [Code::Unknown, Code::Cancelled, Code::ResourceExhausted] {
            let failure = with_source(
                Status::new(code, "h2 protocol error"),
                io::Error::new(broken.kind(), broken.to_string()),
            );
            assert!(failure.code == Code::Unavailable && failure.transient && !failure.unsent);
            assert_eq!(failure.source.unwrap().to_string(), "pipe is broken");
        }
    }

    #[test]
    fn the_message_has_the_root_cause() {
        let broken = || io::Error::new(io::ErrorKind::BrokenPipe, "pipe is broken");
        let over = io::Error::other(broken());
        assert_eq!(with_source(Status::unknown("h2 error"), over).message, "h2 error: pipe is broken");
        assert_eq!(
            with_source(Status::unknown("the pipe is broken"), broken()).message,
            "the pipe is broken"
        );
    }

    #[test]
    fn only_some_statuses_of_a_server_are_transient() {
        for code in [Code::Unavailable, Code::DeadlineExceeded, Code::Aborted] {
            assert!(Failure::from(Status::new(code, "")).transient, "{code}");
        }
        for code in [Code::Cancelled, Code::Unknown, Code::ResourceExhausted, Code::Internal, Code::NotFound]
        {
            assert!(!Failure::from(Status::new(code, "by the server")).transient, "{code}");
        }
        for message in [
            "HTTP/2 error code: INTERNAL_ERROR\nReceived Rst Stream",
            "RST_STREAM closed stream",
            "Authentication backend internal server error. Please retry",
            "Stream closed before write could take place",
        ] {
            assert!(Failure::from(Status::internal(message)).transient, "{message}");
        }
    }

    #[test]
    fn only_the_connection_has_failed_if_it_stalls() {
        assert!(Failure::stalled().is_of_connection());
        // What a server refuses by a status may be refused again, and a silent server may do its work.
        assert!(!Failure::from(Status::not_found("no table")).is_of_connection());
        let silent = Failure::silent(Duration::from_secs(1));
        assert!(!silent.is_of_connection() && !silent.answered);
    }

    #[test]
    fn a_missing_family_is_known_by_its_words() {
        for message in [
            "Requested column family not found.",
            "unknown family \"f\"",
            "table t has no family f",
            "family f does not exist",
        ] {
            assert!(Failure::from(Status::not_found(message)).is_missing_family(), "{message}");
        }
        for message in ["table not found", "the family of cells is too large"] {
            assert!(!Failure::from(Status::not_found(message)).is_missing_family(), "{message}");
        }
    }

    #[test]
    fn a_server_may_ask_for_a_delay() {
        // 2.5 s, encoded by hand.
        let delay = [0x0a, 0x08, 0x08, 0x02, 0x10, 0x80, 0xca, 0xb5, 0xee, 0x01];
        let any = values::Any {
            type_url: "type.googleapis.com/google.rpc.RetryInfo".into(),
            value: Bytes::copy_from_slice(&delay),
        };
        let details = values::Status { code: 8, message: String::new(), details: vec![any] }.encode_to_vec();
        let failure = Failure::from(Status::with_details(Code::ResourceExhausted, "", details.into()));
        assert!(failure.transient);
        assert_eq!(failure.retry_after, Some(Duration::from_millis(2500)));
    }

    #[test]
    fn invalid_details_are_ignored() {
        for details in [&b""[..], b"\xff", b"\x1a\x03\x0a\x01x"] {
            let status = Status::with_details(Code::NotFound, "", Bytes::copy_from_slice(details));
            assert_eq!(Failure::from(status).retry_after, None);
        }
    }
}
