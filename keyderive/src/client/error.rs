//! The error of every operation, and what a program can ask of it. `error/text.rs` has its text.

mod text;

use std::error::Error as StdError;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::HeaderMap;
use tonic::Code;

use super::Target;
use super::credentials::CredentialsError;
use super::failure::{Failure, shortened};
use super::operation::{Idempotency, Operation};
use crate::key::{DecodeError, EncodeError, SqlError};
use crate::plan::PlanError;
use crate::query::ColumnError;
use crate::row::{FilterError, RowError};

/// The failure of an operation, or of connecting to a Bigtable.
///
/// Its text names the operation, the table, the row key and the reason; [`redacted`](Self::redacted) is the text without
/// keys and values, for logs. [`source`](std::error::Error::source) is the underlying failure, if there is one. Programs
/// match on [`kind`](Self::kind) or use the predicates. A clone is cheap.
///
/// A remedy that names calls and attributes of this crate ends the text. `{:#}` leaves it out, for a tool that has other remedies.
///
/// ```
/// # async fn sample(client: keyderive::Client) -> Result<(), keyderive::Error> {
/// match client.delete_table("events").await {
///     Err(error) if error.is_not_found() => Ok(()),
///     outcome => outcome,
/// }
/// # }
/// ```
#[derive(Clone)]
pub struct Error(Arc<Repr>);

/// What kind of failure an [`Error`] is.
///
/// ```
/// use keyderive::ErrorKind;
///
/// /// The HTTP status for the error of a read.
/// fn status(error: &keyderive::Error) -> u16 {
///     match error.kind() {
///         ErrorKind::InvalidKey | ErrorKind::InvalidPageToken => 400,
///         ErrorKind::DeadlineExceeded => 504,
///         ErrorKind::Unavailable | ErrorKind::Overloaded | ErrorKind::ResourceExhausted => 503,
///         ErrorKind::ClientClosed => 503, // the process is ending
///         _ => 500, // `NotFound` too: the table is missing, not a row
///     }
/// }
/// ```
///
/// The kind says what failed, and the predicates of [`Error`] what can be done about it. The predicate of a server's outcome is also
/// true if the last attempt ended with it, or if the last attempts timed out and the one before them ended with it: an operation
/// that timed out while the server was unavailable has the kind `DeadlineExceeded`, and is also
/// [`is_unavailable`](Error::is_unavailable). For a write, ask [`is_outcome_unknown`](Error::is_outcome_unknown) first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The call was given a value that no key of the table can hold, whether to write, look up or scan for.
    InvalidKey,
    /// A page token is invalid, or belongs to another scan.
    InvalidPageToken,
    /// A row's value cannot be stored as columns, stored columns cannot be read as a row, or the columns of a query's result are
    /// not what the program expects.
    InvalidRow,
    /// A stored row key is not of the table's key type: another program wrote it, or wrote it under another layout. See
    /// [`row_key`](Error::row_key).
    ForeignRow,
    /// Bigtable rejects the request as malformed, whatever the state of the table. Some requests are rejected before sending, such
    /// as those with a [`FilterError`].
    InvalidArgument,
    /// See [`is_not_found`](Error::is_not_found).
    NotFound,
    /// See [`is_already_exists`](Error::is_already_exists).
    AlreadyExists,
    /// See [`is_table_mismatch`](Error::is_table_mismatch).
    TableMismatch,
    /// See [`is_permission_denied`](Error::is_permission_denied).
    PermissionDenied,
    /// There was no access token for the request. The source is a [`CredentialsError`]. It is also
    /// [`is_permission_denied`](Error::is_permission_denied).
    MissingCredentials,
    /// See [`is_deadline_exceeded`](Error::is_deadline_exceeded).
    DeadlineExceeded,
    /// See [`is_unavailable`](Error::is_unavailable).
    Unavailable,
    /// A quota or a limit of the server is used up.
    ResourceExhausted,
    /// See [`is_overloaded`](Error::is_overloaded).
    Overloaded,
    /// The server does not offer the operation. The emulator and the embedded Bigtable lack some.
    Unimplemented,
    /// The server's answer broke the protocol: a bug of the server, or of this client.
    ProtocolViolation,
    /// The arguments or the environment are wrong: they name no Bigtable, need a feature that is not enabled, or there is no
    /// suitable tokio runtime.
    Misconfiguration,
    /// The file of an [embedded Bigtable](crate::Client::embedded_at) is open elsewhere: in another process, or by another embedded
    /// Bigtable of this process.
    FileInUse,
    /// Stored data is lost or damaged: of a row, or of the whole file of an embedded Bigtable.
    DataLoss,
    /// The client was closed before the operation began, or gave up its stream because nobody polled it; see
    /// [`close`](crate::Client::close).
    ClientClosed,
    /// The state of the table does not allow the operation: the server's `FAILED_PRECONDITION`.
    FailedPrecondition,
    /// The operation conflicted with another one: the server's `ABORTED`.
    Aborted,
    /// The operation was cancelled: the server's `CANCELLED`, or the end of its tokio runtime.
    Cancelled,
    /// The server failed in another way; see [`grpc_code`](Error::grpc_code).
    Server,
}

impl Error {
    /// The kind of this failure.
    #[must_use]
    #[deny(clippy::wildcard_enum_match_arm)]
    pub fn kind(&self) -> ErrorKind {
        match self.cause() {
            Repr::Input { error, .. } => error.kind(),
            Repr::Key { .. } => ErrorKind::InvalidKey,
            Repr::Plan { error, .. } if error.is_invalid_page_token() => ErrorKind::InvalidPageToken,
            Repr::Plan { .. } => ErrorKind::InvalidKey,
            Repr::Foreign { .. } => ErrorKind::ForeignRow,
            Repr::Row { .. } | Repr::NewKey { .. } | Repr::Column { .. } => ErrorKind::InvalidRow,
            Repr::Mismatch { .. } => ErrorKind::TableMismatch,
            Repr::Configuration { .. } => ErrorKind::Misconfiguration,
            Repr::InUse { .. } => ErrorKind::FileInUse,
            Repr::Closed { .. } => ErrorKind::ClientClosed,
            Repr::Protocol(_) => ErrorKind::ProtocolViolation,
            Repr::Credentials { .. } => ErrorKind::MissingCredentials,
            Repr::Rpc(_) if self.is_overloaded() && !self.is_unavailable() => ErrorKind::Overloaded,
            Repr::Rpc(_) if self.has_no_token() => ErrorKind::MissingCredentials,
            Repr::Rekeying { cause: Some(error), .. } => error.kind(),
            Repr::Rpc(_)
            | Repr::Unreachable { .. }
            | Repr::Damaged { .. }
            | Repr::RuntimeEnded { .. }
            | Repr::Limit { .. }
            | Repr::Filter { .. }
            | Repr::NotPrefixes { .. }
            | Repr::Parameter { .. }
            | Repr::Sql { .. }
            | Repr::Definition { .. }
            | Repr::Rekeying { cause: None, .. }
            | Repr::Entry { .. }
            | Repr::Scan { .. }
            | Repr::Query { .. } => self.code().map_or(ErrorKind::Server, kind_of_code),
        }
    }

    /// The bucket in which a scan failed, if it is known.
    #[must_use]
    pub fn bucket(&self) -> Option<i32> {
        match self.repr() {
            Repr::Scan { bucket, .. } => *bucket,
            _ => None,
        }
    }

    /// The stored key of the last row that a scan delivered before it failed.
    #[must_use]
    pub fn last_row_key(&self) -> Option<&[u8]> {
        match self.repr() {
            Repr::Scan { last, .. } | Repr::Rpc(Rpc { last, .. }) | Repr::Protocol(Protocol { last, .. }) => {
                last.as_deref()
            }
            _ => None,
        }
    }

    /// The row key that the failure is about, if it is about one row.
    #[must_use]
    pub fn row_key(&self) -> Option<&[u8]> {
        match self.repr() {
            Repr::Foreign { error, .. } => Some(error.key()),
            Repr::Row { key, .. }
            | Repr::NewKey { key, .. }
            | Repr::Entry { key, .. }
            | Repr::Limit { key, .. } => Some(key),
            Repr::Rpc(Rpc { key, .. }) | Repr::Closed { key, .. } | Repr::Protocol(Protocol { key, .. }) => {
                key.as_deref()
            }
            Repr::Input { error, .. } | Repr::Scan { error, .. } => error.row_key(),
            Repr::Rekeying { key, .. } => key.as_deref(),
            _ => None,
        }
    }

    /// Whether there was no access token for the request.
    pub(super) fn has_no_token(&self) -> bool {
        match self.cause() {
            Repr::Credentials { .. } => true,
            Repr::Rpc(Rpc { failure, .. }) => failure.is_missing_token(),
            _ => false,
        }
    }

    /// Whether this stored row cannot be read as the row type, although others may.
    pub(crate) fn is_unreadable_row(&self) -> bool {
        matches!(self.cause(), Repr::Row { error, .. } if !error.is_unsupported())
    }

    /// Whether the table, or a column family that the call writes to, does not exist. A row that does not exist is no error.
    ///
    /// The emulator reports a missing column family with other codes.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        self.has_code(Code::NotFound)
    }

    /// Whether the table to create, or the column family to add, exists already.
    #[must_use]
    pub fn is_already_exists(&self) -> bool {
        self.has_code(Code::AlreadyExists)
    }

    /// Whether the caller is not authenticated, or lacks the permission for this operation. A caller without an access
    /// token is not authenticated.
    #[must_use]
    pub fn is_permission_denied(&self) -> bool {
        self.has_code(Code::PermissionDenied) || self.has_code(Code::Unauthenticated)
    }

    /// Whether no part of the request can have reached the server.
    pub(super) fn is_unsent(&self) -> bool {
        matches!(self.cause(), Repr::Rpc(Rpc { failure, .. }) if failure.unsent)
    }

    /// Whether a write may have been applied: one of its attempts, not always the last, ended without an answer that rules
    /// it out.
    ///
    /// ```
    /// # use keyderive::{Error, Row, RowKey, Table};
    /// # #[derive(RowKey)] struct PageKey { url: String }
    /// # #[derive(Row)] struct Page { #[row(counter)] visits: i64 }
    /// # async fn sample(pages: Table<PageKey, Page>, home: PageKey) -> Result<(), Error> {
    /// match pages.increment(&home, Page::VISITS, 1).await {
    ///     Ok(visits) => println!("{visits} visits"),
    ///     // A retry might count twice.
    ///     Err(error) if error.is_outcome_unknown() => println!("counted or not: {}", error.redacted()),
    ///     Err(error) => return Err(error), // not counted
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// False for reads, and for failures before sending. [Errors](crate::guide::errors#unknown-outcomes) lists what to do for
    /// each call.
    #[must_use]
    pub fn is_outcome_unknown(&self) -> bool {
        self.outcome().is_unknown
    }

    /// Whether the operation timed out, by the clock of this process or of the server. For a write, see also
    /// [`is_outcome_unknown`](Self::is_outcome_unknown).
    #[must_use]
    pub fn is_deadline_exceeded(&self) -> bool {
        self.has_code(Code::DeadlineExceeded)
    }

    /// Whether Bigtable could not be reached, or cannot serve at the moment. For a write, see also
    /// [`is_outcome_unknown`](Self::is_outcome_unknown).
    ///
    /// Every failure of the connection is of this kind.
    #[must_use]
    pub fn is_unavailable(&self) -> bool {
        self.has_code(Code::Unavailable)
    }

    /// Whether the last attempt was not sent, since [`max_waiting`](crate::client::Settings::max_waiting) requests of this
    /// client waited for a connection already.
    ///
    /// If they wait because no connection can be opened, the error is also [`is_unavailable`](Self::is_unavailable), its kind is
    /// `Unavailable`, and its text says why. A retry counts as a request: after a connection broke, calls whose requests were
    /// lost with it can fail so too.
    ///
    /// Shed load rather than call again at once; [`is_retryable`](Self::is_retryable) is false. If
    /// [`attempts`](Self::attempts) is 0, nothing was sent. An earlier attempt of a write may have been applied:
    /// [`is_outcome_unknown`](Self::is_outcome_unknown) says so.
    #[must_use]
    pub fn is_overloaded(&self) -> bool {
        matches!(self.cause(), Repr::Rpc(Rpc { failure, .. }) if failure.overloaded)
    }

    /// Whether an existing table differs from its declaration: it is stamped with another key layout or with none, it lacks a
    /// column family, or it has another garbage collection rule or row key schema. The text says what was expected and
    /// found.
    #[must_use]
    pub fn is_table_mismatch(&self) -> bool {
        matches!(self.cause(), Repr::Mismatch { .. })
    }

    /// Whether the declaration of a table is at fault, and not the table.
    pub(crate) fn is_definition(&self) -> bool {
        matches!(self.cause(), Repr::Definition { .. })
    }

    /// Whether the failure is transient and the program may safely make the same call again.
    ///
    /// The client has already retried within the limits of its settings, where that was safe. False for writes that are not
    /// idempotent, such as conditional writes, increments and appends, when
    /// [the outcome is unknown](Self::is_outcome_unknown). A `put` or a `delete` whose outcome is unknown is applied for sure
    /// once the same call succeeds.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        self.outcome().is_retryable
    }

    /// What is known of a failed call.
    #[deny(clippy::wildcard_enum_match_arm)]
    fn outcome(&self) -> Outcome {
        let (is_unknown, is_retryable) = match self.cause() {
            Repr::Rpc(Rpc { failure, tries, .. }) => (
                tries.unknown_outcome.is_some(),
                failure.transient && tries.unknown_outcome <= Some(Idempotency::Idempotent),
            ),
            Repr::Protocol(Protocol { is_write, .. }) => (*is_write, false),
            Repr::RuntimeEnded { idempotency, .. } => (true, *idempotency == Idempotency::Idempotent),
            Repr::Credentials { error } => (false, error.is_transient()),
            Repr::Rekeying { end, cause, .. } => (
                matches!(end, RekeyingEnd::Late | RekeyingEnd::Unanswered),
                *end != RekeyingEnd::Late && cause.as_ref().is_none_or(Self::is_retryable),
            ),
            Repr::Configuration { .. }
            | Repr::Unreachable { .. }
            | Repr::InUse { .. }
            | Repr::Damaged { .. }
            | Repr::Closed { .. }
            | Repr::Limit { .. }
            | Repr::Key { .. }
            | Repr::Plan { .. }
            | Repr::Filter { .. }
            | Repr::Foreign { .. }
            | Repr::NewKey { .. }
            | Repr::Row { .. }
            | Repr::Entry { .. }
            | Repr::Input { .. }
            | Repr::NotPrefixes { .. }
            | Repr::Scan { .. }
            | Repr::Query { .. }
            | Repr::Parameter { .. }
            | Repr::Column { .. }
            | Repr::Sql { .. }
            | Repr::Definition { .. }
            | Repr::Mismatch { .. } => (false, false),
        };
        Outcome { is_unknown, is_retryable }
    }

    /// The number of attempts; 0 if none was begun. An attempt that found no connection in its time counts too.
    #[must_use]
    pub fn attempts(&self) -> u32 {
        match self.cause() {
            Repr::Rpc(Rpc { tries, .. }) => tries.attempts,
            Repr::Protocol(Protocol { attempts, .. }) => *attempts,
            _ => 0,
        }
    }

    /// The gRPC code that the server sent, or that corresponds to the failure.
    #[must_use]
    pub fn grpc_code(&self) -> Option<i32> {
        self.code().map(i32::from)
    }

    /// The limit that ended the operation, if it ran out of time.
    pub(super) fn time_limit(&self) -> Option<RetryLimit> {
        let Repr::Rpc(Rpc { tries, .. }) = self.cause() else { return None };
        tries.ended.filter(|limit| matches!(limit, RetryLimit::Time(_) | RetryLimit::Deadline))
    }

    #[deny(clippy::wildcard_enum_match_arm)]
    pub(super) fn code(&self) -> Option<Code> {
        if self.time_limit().is_some() {
            return Some(Code::DeadlineExceeded);
        }
        match self.cause() {
            Repr::Rpc(Rpc { failure, .. }) => Some(failure.code),
            Repr::Protocol { .. } => Some(Code::Internal),
            Repr::Closed { .. } | Repr::RuntimeEnded { .. } => Some(Code::Cancelled),
            Repr::Damaged { .. } => Some(Code::DataLoss),
            Repr::Rekeying { cause: Some(error), .. } => error.code(),
            Repr::Rekeying { end: RekeyingEnd::NoLease | RekeyingEnd::Late, .. } => Some(Code::Unavailable),
            Repr::Rekeying { end: RekeyingEnd::Waited | RekeyingEnd::Unanswered, .. } => {
                Some(Code::DeadlineExceeded)
            }
            Repr::Rekeying { end: RekeyingEnd::Changed, .. } => Some(Code::Aborted),
            Repr::Unreachable { .. } => Some(Code::Unavailable),
            Repr::Filter { .. }
            | Repr::Limit { .. }
            | Repr::Definition { .. }
            | Repr::NotPrefixes { .. }
            | Repr::Parameter { .. }
            | Repr::Sql { .. } => Some(Code::InvalidArgument),
            Repr::Credentials { .. } => Some(Code::Unauthenticated),
            Repr::Configuration { .. }
            | Repr::InUse { .. }
            | Repr::Key { .. }
            | Repr::Plan { .. }
            | Repr::Foreign { .. }
            | Repr::NewKey { .. }
            | Repr::Row { .. }
            | Repr::Entry { .. }
            | Repr::Input { .. }
            | Repr::Scan { .. }
            | Repr::Query { .. }
            | Repr::Column { .. }
            | Repr::Mismatch { .. } => None,
        }
    }

    /// Whether the operation or its last attempt ended with this code, or, after a timeout, an attempt before.
    fn has_code(&self, wanted: Code) -> bool {
        let is_of_attempt = match self.cause() {
            Repr::Rpc(Rpc { failure, .. }) => {
                let earlier = failure.earlier.as_ref().map(|earlier| earlier.code);
                failure.code == wanted || earlier == Some(wanted)
            }
            _ => false,
        };
        is_of_attempt || (!matches!(self.cause(), Repr::Protocol { .. }) && self.code() == Some(wanted))
    }

    /// The failure without the row of the list, or the scan, in which it happened.
    fn cause(&self) -> &Repr {
        match self.repr() {
            Repr::Scan { error, .. } | Repr::Entry { error, .. } | Repr::Query { error, .. } => error.cause(),
            kind @ Repr::NewKey { error, .. } => error.downcast_ref::<Self>().map_or(kind, Self::cause),
            kind => kind,
        }
    }
}

/// What is known of a call that failed.
struct Outcome {
    /// Whether it may have been applied, or may be later.
    is_unknown: bool,
    /// Whether the same call may succeed later, and repeats nothing.
    is_retryable: bool,
}

/// The reason for an [`Error`].
pub(crate) enum Repr {
    /// The arguments or the environment are wrong.
    Configuration { message: String },
    /// No emulator answers.
    Unreachable { message: String },
    /// The file of an embedded Bigtable is open elsewhere.
    InUse { message: String },
    /// The file of an embedded Bigtable is damaged.
    Damaged { message: String },
    /// There is no access token for the cloud.
    Credentials { error: CredentialsError },
    /// The client was closed before the operation began, or `close` gave up its stream.
    Closed { rpc: &'static str, table: Arc<str>, key: Option<Bytes> },
    /// An RPC failed, at the server or in transit.
    Rpc(Rpc),
    /// The server's answer breaks the protocol.
    Protocol(Protocol),
    /// The tokio runtime ended while a write was in flight.
    RuntimeEnded { table: Arc<str>, idempotency: Idempotency },
    /// A write is above a limit of Bigtable, and was not sent.
    Limit { table: String, key: Bytes, message: String },
    /// A key cannot be encoded.
    Key { table: Option<String>, error: EncodeError },
    /// A scan cannot be planned.
    Plan { table: Option<String>, error: PlanError },
    /// The service rejects the filter of a read.
    Filter { table: String, error: FilterError },
    /// A stored row key is not of the table's key type.
    Foreign { table: Option<String>, error: DecodeError },
    /// A closure gave a row no key in another table.
    NewKey { table: String, key: Bytes, error: Box<dyn StdError + Send + Sync> },
    /// A row cannot be encoded, or a stored row cannot be read as the row type.
    Row { table: String, key: Bytes, error: RowError },
    /// One row of many was not written.
    Entry { key: Bytes, error: Error },
    /// One row of many could not be encoded.
    Input { index: usize, error: Error },
    /// The rows to drop are not exactly the rows of one non-empty prefix, in each bucket.
    NotPrefixes { table: String, message: &'static str },
    /// A scan failed in one of its buckets.
    Scan { bucket: Option<i32>, last: Option<Bytes>, error: Error },
    /// A query failed.
    Query { text: Arc<str>, error: Error },
    /// A parameter of a query has a value that cannot be sent.
    Parameter { name: String, message: String },
    /// A column of a query's result is not what the program expects.
    Column { error: ColumnError },
    /// A key type has no row key schema, or no SQL expressions.
    Sql { error: SqlError },
    /// The declaration of a table is invalid.
    Definition { table: String, message: String },
    /// An existing table differs from its declaration.
    Mismatch { table: String, message: String, remedy: Option<&'static str> },
    /// The state of a re-keying does not let the call go on, or does not let its answer count.
    Rekeying { table: Arc<str>, key: Option<Bytes>, end: RekeyingEnd, cause: Option<Error> },
}

/// Why a re-keying ended a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RekeyingEnd {
    /// The process does not know the state: it could not read the control row for longer than a lease.
    NoLease,
    /// Writes wait in this state, and the call ran out of time.
    Waited,
    /// The lease ended before the answer arrived, so that the write may have been applied.
    Late,
    /// As `Late`, for a write that can be repeated: the call ended before it repeated the write.
    Unanswered,
    /// The state changed under a scan that cannot continue in another state.
    Changed,
}

/// An RPC that failed for good.
#[derive(Clone)]
pub(crate) struct Rpc {
    pub(crate) rpc: &'static str,
    pub(crate) table: Arc<str>,
    target: Target,
    failure: Box<Failure>,
    tries: AttemptSummary,
    /// The key of the row that it is about.
    key: Option<Bytes>,
    /// The key of the last row that a scan read.
    last: Option<Bytes>,
}

/// An answer that breaks the protocol.
pub(crate) struct Protocol {
    rpc: &'static str,
    table: Arc<str>,
    message: String,
    /// Whether it answers a write, which may have been applied.
    is_write: bool,
    /// How many attempts were made. The message answers the last.
    attempts: u32,
    /// The key of the row that it is about.
    key: Option<Bytes>,
    /// The key of the last row that a scan read.
    last: Option<Bytes>,
}

/// The attempts of an operation that failed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AttemptSummary {
    /// The operation's idempotency if an attempt may have been applied; otherwise none.
    pub(super) unknown_outcome: Option<Idempotency>,
    pub(super) attempts: u32,
    pub(super) elapsed: Duration,
    pub(super) ended: Option<RetryLimit>,
    /// Whether the client took the server for one that honours idempotency tokens.
    pub(super) honours_tokens: bool,
}

/// Which limit ended the retries of a transient failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RetryLimit {
    /// The maximum number of attempts failed in a row.
    Attempts,
    /// The total time has passed, or would pass before the next attempt.
    Time(Duration),
    /// The same, for the deadline of the table or client.
    Deadline,
    /// The client's retry budget is used up.
    Budget,
}

impl Error {
    fn new(repr: Repr) -> Self {
        Self(Arc::new(repr))
    }

    pub(super) fn repr(&self) -> &Repr {
        &self.0
    }

    pub(crate) fn configuration(message: impl Into<String>) -> Self {
        Self::new(Repr::Configuration { message: message.into() })
    }

    pub(crate) fn unreachable(message: String) -> Self {
        Self::new(Repr::Unreachable { message })
    }

    #[cfg(feature = "embedded")]
    pub(crate) fn in_use(message: String) -> Self {
        Self::new(Repr::InUse { message })
    }

    #[cfg(feature = "embedded")]
    pub(crate) fn damaged(message: String) -> Self {
        Self::new(Repr::Damaged { message })
    }

    pub(crate) fn credentials(error: CredentialsError) -> Self {
        Self::new(Repr::Credentials { error })
    }

    pub(crate) fn rpc(operation: &Operation, failure: Failure, tries: AttemptSummary) -> Self {
        let (rpc, table) = (operation.rpc(), Arc::clone(operation.table()));
        // The headers of an answer, which may be large, are read by now.
        let failure = Box::new(Failure { headers: HeaderMap::new(), ..failure });
        let target = operation.target().clone();
        Self::new(Repr::Rpc(Rpc { rpc, table, target, failure, tries, key: None, last: None }))
    }

    pub(crate) fn closed(operation: &Operation) -> Self {
        Self::new(Repr::Closed { rpc: operation.rpc(), table: Arc::clone(operation.table()), key: None })
    }

    /// The error of a stream that `close` gave up.
    pub(crate) fn closed_scan(table: &Arc<str>) -> Self {
        Self::new(Repr::Closed { rpc: "ReadRows", table: Arc::clone(table), key: None })
    }

    /// The error of a query that `close` gave up.
    pub(crate) fn closed_query() -> Self {
        Self::new(Repr::Closed { rpc: "ExecuteQuery", table: "".into(), key: None })
    }

    /// The failure with the text of its query.
    pub(crate) fn in_query(self, text: &Arc<str>) -> Self {
        match self.repr() {
            Repr::Column { .. } => self,
            _ => Self::new(Repr::Query { text: Arc::clone(text), error: self }),
        }
    }

    pub(crate) fn parameter(name: &str, message: String) -> Self {
        Self::new(Repr::Parameter { name: name.to_owned(), message })
    }

    pub(crate) fn protocol(operation: &Operation, attempts: u32, message: impl Into<String>) -> Self {
        Self::new(Repr::Protocol(Protocol {
            rpc: operation.rpc(),
            table: Arc::clone(operation.table()),
            message: shortened(&message.into()).into_owned(),
            is_write: operation.is_write(),
            attempts,
            key: None,
            last: None,
        }))
    }

    /// The runtime ended while a write was in flight.
    pub(crate) fn runtime_ended(table: &Arc<str>, idempotency: Idempotency) -> Self {
        Self::new(Repr::RuntimeEnded { table: Arc::clone(table), idempotency })
    }

    /// This failure of an RPC as the error of one of its entries, with the entry's `unknown_outcome` instead of the RPC's.
    pub(crate) fn with_unknown_outcome(self, unknown_outcome: Option<Idempotency>) -> Self {
        match self.repr() {
            Repr::Rpc(rpc) if rpc.tries.unknown_outcome != unknown_outcome => Self::new(Repr::Rpc(Rpc {
                tries: AttemptSummary { unknown_outcome, ..rpc.tries },
                ..rpc.clone()
            })),
            _ => self,
        }
    }

    pub(crate) fn limit(table: &str, key: &Bytes, message: String) -> Self {
        Self::new(Repr::Limit { table: table.into(), key: key.clone(), message })
    }

    pub(crate) fn key(table: &str, error: EncodeError) -> Self {
        Self::new(Repr::Key { table: Some(table.into()), error })
    }

    pub(crate) fn plan(table: &str, error: PlanError) -> Self {
        Self::new(Repr::Plan { table: Some(table.into()), error })
    }

    pub(crate) fn filter(table: &str, error: FilterError) -> Self {
        Self::new(Repr::Filter { table: table.into(), error })
    }

    pub(crate) fn foreign(table: &str, error: DecodeError) -> Self {
        Self::new(Repr::Foreign { table: Some(table.into()), error })
    }

    pub(crate) fn row(table: &str, key: &[u8], error: RowError) -> Self {
        Self::new(Repr::Row { table: table.into(), key: Bytes::copy_from_slice(key), error })
    }

    /// A closure failed to give a row its key in another table, or gave one that cannot be encoded.
    pub(crate) fn new_key(table: &str, key: &[u8], error: Box<dyn StdError + Send + Sync>) -> Self {
        Self::new(Repr::NewKey { table: table.into(), key: Bytes::copy_from_slice(key), error })
    }

    pub(crate) fn entry(key: &Bytes, error: Error) -> Self {
        Self::new(Repr::Entry { key: key.clone(), error })
    }

    pub(crate) fn input(index: usize, error: Error) -> Self {
        Self::new(Repr::Input { index, error })
    }

    /// A failure of a scan while it read a bucket.
    pub(crate) fn in_scan(bucket: Option<i32>, error: Error) -> Self {
        // The scan adds the last row of all its buckets.
        let error = error.with_last_row(None);
        Self::new(Repr::Scan { bucket, last: None, error })
    }

    /// Adds the key of the last row that the scan read.
    pub(crate) fn with_last_row(mut self, key: Option<Bytes>) -> Self {
        if let Some(
            Repr::Scan { last, .. } | Repr::Rpc(Rpc { last, .. }) | Repr::Protocol(Protocol { last, .. }),
        ) = Arc::get_mut(&mut self.0)
        {
            *last = key;
        }
        self
    }

    /// Adds the key of the row that the RPC is about.
    pub(crate) fn with_row_key(mut self, about: &Bytes) -> Self {
        if let Some(
            Repr::Rpc(Rpc { key, .. }) | Repr::Closed { key, .. } | Repr::Protocol(Protocol { key, .. }),
        ) = Arc::get_mut(&mut self.0)
        {
            *key = Some(about.clone());
        }
        self
    }

    /// Marks the failure as transient, although the client did not retry: the same call may succeed.
    pub(crate) fn into_retryable(mut self) -> Self {
        if let Some(Repr::Rpc(Rpc { failure, .. })) = Arc::get_mut(&mut self.0) {
            failure.transient = true;
        }
        self
    }

    /// Adds a hint if the server may have rejected an increment because of the value in one of these columns.
    pub(crate) fn with_increment_hint(mut self, columns: &[String]) -> Self {
        if let Some(Repr::Rpc(Rpc { failure, .. })) = Arc::get_mut(&mut self.0)
            && failure.answered
            && matches!(failure.code, Code::FailedPrecondition | Code::InvalidArgument | Code::Unknown)
            && !columns.is_empty()
        {
            let columns = columns.join(", ");
            failure.message.push_str(&format!(
                "; this write increments {columns}, and an increment needs an integer of 8 bytes, big-endian, as \
                 integer fields are stored"
            ));
        }
        self
    }

    /// Adds a hint for a load with `.if_absent()`, if the app profile allows no single-row transactions.
    pub(crate) fn with_if_absent_hint(mut self) -> Self {
        if let Some(Repr::Rpc(Rpc { failure, .. })) = Arc::get_mut(&mut self.0)
            && failure.needs_single_row_transactions()
        {
            failure.message.push_str(
                "; to load without them, remove `.if_absent()`, so that the load replaces existing rows, or use \
                 `.new_rows()` instead if no row has any of the keys",
            );
        }
        self
    }

    /// Adds to an error about a wrong table what it means for the earlier writes of the call.
    pub(crate) fn after_writes(self, hint: &str) -> Self {
        match self.repr() {
            Repr::Mismatch { table, message, remedy } => Self::new(Repr::Mismatch {
                table: table.clone(),
                message: format!("{message}; {hint}"),
                remedy: *remedy,
            }),
            _ => self.with_hint(hint),
        }
    }

    /// Adds to a failed request what the call makes of it.
    pub(crate) fn with_hint(self, hint: &str) -> Self {
        match self.repr() {
            // Other calls may have the same error.
            Repr::Rpc(rpc) => {
                let mut rpc = rpc.clone();
                let between = if rpc.failure.message.is_empty() { "" } else { "; " };
                rpc.failure.message.push_str(between);
                rpc.failure.message.push_str(hint);
                Self::new(Repr::Rpc(rpc))
            }
            _ => self,
        }
    }

    /// Whether the app profile allows no single-row transactions.
    pub(crate) fn needs_single_row_transactions(&self) -> bool {
        matches!(self.repr(), Repr::Rpc(Rpc { failure, .. }) if failure.needs_single_row_transactions())
    }

    pub(crate) fn not_prefixes(table: &str, message: &'static str) -> Self {
        Self::new(Repr::NotPrefixes { table: table.into(), message })
    }

    pub(crate) fn definition(table: &str, message: impl Into<String>) -> Self {
        Self::new(Repr::Definition { table: table.into(), message: message.into() })
    }

    /// A call that a re-keying ended; `cause` is why the state is not known.
    pub(crate) fn rekeying(
        table: &Arc<str>,
        key: Option<&Bytes>,
        end: RekeyingEnd,
        cause: Option<Self>,
    ) -> Self {
        Self::new(Repr::Rekeying { table: Arc::clone(table), key: key.cloned(), end, cause })
    }

    pub(crate) fn mismatch(table: &str, message: impl Into<String>) -> Self {
        Self::new(Repr::Mismatch { table: table.into(), message: message.into(), remedy: None })
    }

    /// Adds to a mismatch what to do about it, in calls and attributes.
    pub(crate) fn with_remedy(mut self, new: &'static str) -> Self {
        if let Some(Repr::Mismatch { remedy, .. }) = Arc::get_mut(&mut self.0) {
            *remedy = Some(new);
        }
        self
    }
}

/// Keys and plans made without a table have errors of their own, which `?` turns into this one.
impl From<EncodeError> for Error {
    fn from(error: EncodeError) -> Self {
        Self::new(Repr::Key { table: None, error })
    }
}

impl From<PlanError> for Error {
    fn from(error: PlanError) -> Self {
        Self::new(Repr::Plan { table: None, error })
    }
}

impl From<ColumnError> for Error {
    fn from(error: ColumnError) -> Self {
        Self::new(Repr::Column { error })
    }
}

/// The key type has no form in SQL, which is a fault of the program.
impl From<SqlError> for Error {
    fn from(error: SqlError) -> Self {
        Self::new(Repr::Sql { error })
    }
}

impl From<DecodeError> for Error {
    fn from(error: DecodeError) -> Self {
        Self::new(Repr::Foreign { table: None, error })
    }
}

fn kind_of_code(code: Code) -> ErrorKind {
    match code {
        Code::InvalidArgument | Code::OutOfRange => ErrorKind::InvalidArgument,
        Code::NotFound => ErrorKind::NotFound,
        Code::AlreadyExists => ErrorKind::AlreadyExists,
        Code::PermissionDenied | Code::Unauthenticated => ErrorKind::PermissionDenied,
        Code::DeadlineExceeded => ErrorKind::DeadlineExceeded,
        Code::Unavailable => ErrorKind::Unavailable,
        Code::ResourceExhausted => ErrorKind::ResourceExhausted,
        Code::Unimplemented => ErrorKind::Unimplemented,
        Code::DataLoss => ErrorKind::DataLoss,
        Code::FailedPrecondition => ErrorKind::FailedPrecondition,
        Code::Aborted => ErrorKind::Aborted,
        Code::Cancelled => ErrorKind::Cancelled,
        Code::Ok | Code::Unknown | Code::Internal => ErrorKind::Server,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RowKey;

    #[derive(RowKey)]
    #[salt(range = 4, hash = "java")]
    struct JavaKey {
        name: String,
    }

    #[test]
    fn a_key_type_without_sql_is_an_invalid_argument() {
        let sql = || -> Result<(), Error> {
            JavaKey::sql()?;
            Ok(())
        };
        let error = sql().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
        assert!(error.to_string().contains("String.hashCode"), "{error}");
        assert!(std::error::Error::source(&error).is_some_and(<dyn std::error::Error>::is::<SqlError>));
    }

    #[test]
    fn a_failure_of_one_row_of_many_has_the_kind_of_its_cause() {
        let table = "events";
        let key = bytes::Bytes::from_static(b"k");
        let operation = Operation::for_test(keyderive_proto::Rpc::ReadRows, table);
        for (error, kind) in [
            (Error::configuration("none"), ErrorKind::Misconfiguration),
            (Error::unreachable("none".to_owned()), ErrorKind::Unavailable),
            (Error::mismatch(table, "another"), ErrorKind::TableMismatch),
            (Error::definition(table, "no"), ErrorKind::InvalidArgument),
            (Error::limit(table, &key, "no".to_owned()), ErrorKind::InvalidArgument),
            (Error::protocol(&operation, 1, "no"), ErrorKind::ProtocolViolation),
            (Error::closed_scan(&table.into()), ErrorKind::ClientClosed),
        ] {
            assert_eq!(error.kind(), kind, "{error}");
            assert_eq!(error.is_unavailable(), kind == ErrorKind::Unavailable);
            assert_eq!(error.is_table_mismatch(), kind == ErrorKind::TableMismatch);
            assert_eq!(Error::entry(&key, error.clone()).kind(), kind);
            assert_eq!(Error::input(7, error).kind(), kind);
        }
    }
}
