//! What can go wrong between this process and a table.

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use tonic::{Code, Status};

use super::call::Operation;
use crate::key::{DecodeError, EncodeError, ShownKey};
use crate::plan::PlanError;
use crate::row::{FilterError, RowError};

/// A failure of an operation on a table, or of reaching a Bigtable at all.
///
/// Its text names the operation, the table and the reason; [`source`](StdError::source) leads to the
/// failure below it, where there is one. What a program may want to decide on is asked by predicate.
///
/// ```
/// # async fn sample(client: keyderive::Client) -> Result<(), keyderive::Error> {
/// match client.delete_table("events").await {
///     Err(error) if error.is_not_found() => Ok(()),
///     outcome => outcome,
/// }
/// # }
/// ```
pub struct Error(Box<Kind>);

/// What an [`Error`] is about.
pub(crate) enum Kind {
    /// The caller or the environment names no Bigtable that can be reached.
    Configuration { message: String },
    /// An RPC failed, at the server or on the way.
    Rpc { rpc: &'static str, table: String, code: Code, message: String, source: Option<Source> },
    /// The server's answer breaks the protocol.
    Protocol { rpc: &'static str, table: String, message: String },
    /// A key cannot be written. Without a table where no table was involved.
    Key { table: Option<String>, error: EncodeError },
    /// A scan cannot be planned.
    Plan { table: Option<String>, error: PlanError },
    /// A read has a filter that the service does not take.
    Filter { table: String, error: FilterError },
    /// A stored row key is not of the table's key type.
    Foreign { table: Option<String>, error: DecodeError },
    /// A row cannot be written, or what is stored under a key not be read as one.
    Row { table: String, key: Bytes, error: RowError },
    /// One row of many was refused.
    Entry { key: Bytes, error: Error },
    /// One row of many could not be encoded.
    Input { index: usize, error: Error },
    /// Rows that were not to be dropped.
    NotPrefixes { table: String },
    /// A scan failed in one of its lanes.
    Scan { bucket: Option<i32>, last: Option<Bytes>, error: Error },
    /// The table that exists is not the one that was to be made.
    Mismatch { table: String, message: String },
}

/// A failure below an [`Error`].
pub(crate) type Source = Arc<dyn StdError + Send + Sync>;

impl Error {
    pub(crate) fn new(kind: Kind) -> Self {
        Self(Box::new(kind))
    }

    pub(crate) fn kind(&self) -> &Kind {
        &self.0
    }

    pub(crate) fn configuration(message: impl Into<String>) -> Self {
        Self::new(Kind::Configuration { message: message.into() })
    }

    pub(crate) fn rpc(operation: &Operation, status: &Status) -> Self {
        Self::new(Kind::Rpc {
            rpc: operation.rpc,
            table: operation.table.clone(),
            code: classify(status),
            message: match status.source() {
                None => status.message().to_owned(),
                // The failure of a connection says nothing of where to.
                Some(_) => format!("{}, at the {}", status.message(), operation.target),
            },
            source: source_of(status),
        })
    }

    pub(crate) fn protocol(operation: &Operation, message: impl Into<String>) -> Self {
        Self::new(Kind::Protocol {
            rpc: operation.rpc,
            table: operation.table.clone(),
            message: message.into(),
        })
    }

    pub(crate) fn key(table: &str, error: EncodeError) -> Self {
        Self::new(Kind::Key { table: Some(table.into()), error })
    }

    pub(crate) fn plan(table: &str, error: PlanError) -> Self {
        Self::new(Kind::Plan { table: Some(table.into()), error })
    }

    pub(crate) fn filter(table: &str, error: FilterError) -> Self {
        Self::new(Kind::Filter { table: table.into(), error })
    }

    pub(crate) fn foreign(table: &str, error: DecodeError) -> Self {
        Self::new(Kind::Foreign { table: Some(table.into()), error })
    }

    pub(crate) fn row(table: &str, key: &Bytes, error: RowError) -> Self {
        Self::new(Kind::Row { table: table.into(), key: key.clone(), error })
    }

    pub(crate) fn entry(key: &Bytes, error: Error) -> Self {
        Self::new(Kind::Entry { key: key.clone(), error })
    }

    pub(crate) fn input(index: usize, error: Error) -> Self {
        Self::new(Kind::Input { index, error })
    }

    /// A failure while a bucket was read.
    pub(crate) fn in_scan(bucket: Option<i32>, error: Error) -> Self {
        Self::new(Kind::Scan { bucket, last: None, error })
    }

    /// The same failure of a scan, whose last row had this key.
    pub(crate) fn behind_row(mut self, key: Option<Bytes>) -> Self {
        if let Kind::Scan { last, .. } = &mut *self.0 {
            *last = key;
        }
        self
    }

    /// The bucket that a scan failed in, where one is known.
    #[must_use]
    pub fn bucket(&self) -> Option<i32> {
        match self.kind() {
            Kind::Scan { bucket, .. } => *bucket,
            _ => None,
        }
    }

    /// The stored key of the last row that a scan has delivered before it failed.
    #[must_use]
    pub fn last_row_key(&self) -> Option<&[u8]> {
        match self.kind() {
            Kind::Scan { last, .. } => last.as_deref(),
            _ => None,
        }
    }

    /// The failure below the place in a list or a scan that it happened at.
    fn cause(&self) -> &Kind {
        match self.kind() {
            Kind::Scan { error, .. } => error.cause(),
            kind => kind,
        }
    }

    pub(crate) fn not_prefixes(table: &str) -> Self {
        Self::new(Kind::NotPrefixes { table: table.into() })
    }

    pub(crate) fn mismatch(table: &str, message: impl Into<String>) -> Self {
        Self::new(Kind::Mismatch { table: table.into(), message: message.into() })
    }

    /// The row key that the failure is about, where it is about one.
    #[must_use]
    pub fn row_key(&self) -> Option<&[u8]> {
        match self.cause() {
            Kind::Foreign { error, .. } => Some(error.key()),
            Kind::Row { key, .. } | Kind::Entry { key, .. } => Some(key),
            Kind::Input { error, .. } => error.row_key(),
            _ => None,
        }
    }

    /// Whether a value was given that no key of the table can hold: to write, to look up or to scan for.
    #[must_use]
    pub fn is_key(&self) -> bool {
        match self.cause() {
            Kind::Input { error, .. } => error.is_key(),
            Kind::Plan { error, .. } => !error.is_token(),
            kind => matches!(kind, Kind::Key { .. }),
        }
    }

    /// Whether a page token is none, or that of another scan.
    #[must_use]
    pub fn is_token(&self) -> bool {
        matches!(self.cause(), Kind::Plan { error, .. } if error.is_token())
    }

    /// Whether a scan met a row whose key is not of the table's key type: it was written by other code,
    /// or under another layout. [`row_key`](Self::row_key) is its key.
    #[must_use]
    pub fn is_foreign_row(&self) -> bool {
        matches!(self.cause(), Kind::Foreign { .. })
    }

    /// Whether a row's value cannot be stored as columns, or stored columns not be read as a row.
    #[must_use]
    pub fn is_row(&self) -> bool {
        match self.cause() {
            Kind::Input { error, .. } => error.is_row(),
            kind => matches!(kind, Kind::Row { .. }),
        }
    }

    /// Whether the table, or a column family that was written to, does not exist.
    ///
    /// The emulator reports a missing column family with other codes.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        self.has_code(Code::NotFound)
    }

    /// Whether the table that was to be created exists.
    #[must_use]
    pub fn is_already_exists(&self) -> bool {
        self.has_code(Code::AlreadyExists)
    }

    /// Whether Bigtable refused the request as malformed, or would have, whatever the state of the table: so it is
    /// with a [`FilterError`].
    #[must_use]
    pub fn is_invalid_argument(&self) -> bool {
        self.has_code(Code::InvalidArgument)
    }

    /// Whether the caller is unknown to Bigtable, or known and not allowed to do this.
    #[must_use]
    pub fn is_permission_denied(&self) -> bool {
        self.has_code(Code::PermissionDenied) || self.has_code(Code::Unauthenticated)
    }

    /// Whether the time for the operation ran out. A write may have been applied.
    #[must_use]
    pub fn is_deadline(&self) -> bool {
        self.has_code(Code::DeadlineExceeded)
    }

    /// Whether Bigtable could not be reached, or said that it cannot serve for the moment. A write may
    /// have been applied.
    ///
    /// Every failure of the connection is of this kind, whatever its form.
    #[must_use]
    pub fn is_unavailable(&self) -> bool {
        self.has_code(Code::Unavailable)
    }

    /// Whether a quota or a limit of the server is used up.
    #[must_use]
    pub fn is_resource_exhausted(&self) -> bool {
        self.has_code(Code::ResourceExhausted)
    }

    /// Whether the server does not offer the operation. The emulator and the embedded Bigtable lack some.
    #[must_use]
    pub fn is_unimplemented(&self) -> bool {
        self.has_code(Code::Unimplemented)
    }

    /// Whether the server's answer broke the protocol: a fault of the server, or of this client.
    #[must_use]
    pub fn is_protocol(&self) -> bool {
        matches!(self.cause(), Kind::Protocol { .. })
    }

    /// Whether no Bigtable could be told from the arguments or the environment.
    #[must_use]
    pub fn is_configuration(&self) -> bool {
        matches!(self.cause(), Kind::Configuration { .. })
    }

    fn has_code(&self, wanted: Code) -> bool {
        match self.cause() {
            Kind::Rpc { code, .. } => *code == wanted,
            Kind::Filter { .. } => wanted == Code::InvalidArgument,
            Kind::Entry { error, .. } => error.has_code(wanted),
            _ => false,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind() {
            Kind::Configuration { message } => f.write_str(message),
            Kind::Rpc { rpc, table, code, message, .. } => {
                write!(f, "{rpc} on table `{table}` failed: {}", name(*code))?;
                if message.is_empty() { Ok(()) } else { write!(f, ": {message}") }
            }
            Kind::Protocol { rpc, table, message } => {
                write!(
                    f,
                    "{rpc} on table `{table}` failed: the server's answer breaks the protocol: {message}"
                )
            }
            Kind::Key { table, error } => write!(f, "{}{error}", InTable(table)),
            Kind::Plan { table, error } => write!(f, "{}{error}", InTable(table)),
            Kind::Filter { table, error } => write!(f, "table `{table}`: {error}"),
            Kind::Foreign { table, error } => write!(f, "{}foreign row: {error}", InTable(table)),
            Kind::Row { table, key, error } => {
                write!(f, "row {} of table `{table}`: {error}", ShownKey(key))
            }
            Kind::Entry { key, error } => {
                write!(f, "row {} was not written: {error}", ShownKey(key))
            }
            Kind::Input { index, error } => write!(f, "row {index} of the input, counted from 0: {error}"),
            Kind::Scan { bucket, last, error } => {
                write!(f, "{error}")?;
                match (bucket, last) {
                    (Some(bucket), Some(key)) => {
                        write!(f, "; in bucket {bucket}, and the last row delivered was {}", ShownKey(key))
                    }
                    (Some(bucket), None) => write!(f, "; in bucket {bucket}, before any row was delivered"),
                    (None, Some(key)) => write!(f, "; the last row delivered was {}", ShownKey(key)),
                    (None, None) => Ok(()),
                }
            }
            Kind::NotPrefixes { table } => write!(
                f,
                "table `{table}`: rows are dropped by prefixes of their keys, and these are not all rows of one \
                 prefix in each bucket: fix fields from the left and no more, or use `delete_rows`",
            ),
            Kind::Mismatch { table, message } => write!(f, "table `{table}`: {message}"),
        }
    }
}

/// Keys and plans that were asked for without a table fail with an error of their own; it becomes this one
/// where a function returns this one.
impl From<EncodeError> for Error {
    fn from(error: EncodeError) -> Self {
        Self::new(Kind::Key { table: None, error })
    }
}

impl From<PlanError> for Error {
    fn from(error: PlanError) -> Self {
        Self::new(Kind::Plan { table: None, error })
    }
}

impl From<DecodeError> for Error {
    fn from(error: DecodeError) -> Self {
        Self::new(Kind::Foreign { table: None, error })
    }
}

/// The table in front of an error's text, where it is known.
struct InTable<'a>(&'a Option<String>);

impl fmt::Display for InTable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.as_ref().map_or(Ok(()), |table| write!(f, "table `{table}`: "))
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_tuple("Error");
        debug.field(&format_args!("{self}"));
        if let Some(source) = self.source() {
            debug.field(&source);
        }
        debug.finish()
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match self.kind() {
            Kind::Rpc { source: Some(source), .. } => Some(source.as_ref()),
            Kind::Key { error, .. } => Some(error),
            Kind::Plan { error, .. } => Some(error),
            Kind::Filter { error, .. } => Some(error),
            Kind::Foreign { error, .. } => Some(error),
            Kind::Row { error, .. } => Some(error),
            Kind::Entry { error, .. } | Kind::Input { error, .. } => Some(error),
            Kind::Scan { error, .. } => error.source(),
            Kind::Rpc { source: None, .. }
            | Kind::Configuration { .. }
            | Kind::Protocol { .. }
            | Kind::NotPrefixes { .. }
            | Kind::Mismatch { .. } => None,
        }
    }
}

/// The code of a failure, by what happened rather than by what tonic made of it.
///
/// A status that a server sent has no source. One that arose in this process carries the failure of
/// the connection as its source, and its code then depends on the cargo features that tonic is built
/// with: a connection that breaks is `Unknown`, `Cancelled` or `ResourceExhausted`. The exception is
/// tonic's own timer, whose code is `Cancelled`.
fn classify(status: &Status) -> Code {
    match status.source() {
        None => status.code(),
        Some(source) if causes(source).any(<dyn StdError>::is::<tonic::TimeoutExpired>) => {
            Code::DeadlineExceeded
        }
        Some(_) => Code::Unavailable,
    }
}

fn causes<'a>(error: &'a (dyn StdError + 'static)) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    std::iter::successors(Some(error), |&error| error.source())
}

/// The failure below a status, kept alive by the status that owns it.
fn source_of(status: &Status) -> Option<Source> {
    status.source()?;
    Some(Arc::new(Cause(status.clone())))
}

/// Stands for the source of a status, which cannot be taken out of it.
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

/// A code as gRPC's documentation writes it.
fn name(code: Code) -> &'static str {
    match code {
        Code::Ok => "OK",
        Code::Cancelled => "CANCELLED",
        Code::Unknown => "UNKNOWN",
        Code::InvalidArgument => "INVALID_ARGUMENT",
        Code::DeadlineExceeded => "DEADLINE_EXCEEDED",
        Code::NotFound => "NOT_FOUND",
        Code::AlreadyExists => "ALREADY_EXISTS",
        Code::PermissionDenied => "PERMISSION_DENIED",
        Code::ResourceExhausted => "RESOURCE_EXHAUSTED",
        Code::FailedPrecondition => "FAILED_PRECONDITION",
        Code::Aborted => "ABORTED",
        Code::OutOfRange => "OUT_OF_RANGE",
        Code::Unimplemented => "UNIMPLEMENTED",
        Code::Internal => "INTERNAL",
        Code::Unavailable => "UNAVAILABLE",
        Code::DataLoss => "DATA_LOSS",
        Code::Unauthenticated => "UNAUTHENTICATED",
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    fn operation() -> Operation {
        Operation::for_test("ReadRows", "events")
    }

    #[test]
    fn text_names_operation_table_code_and_message() {
        let error = Error::rpc(&operation(), &Status::not_found("no such table"));
        assert_eq!(error.to_string(), "ReadRows on table `events` failed: NOT_FOUND: no such table");
        assert!(error.is_not_found() && error.source().is_none());
        let error = Error::rpc(&operation(), &Status::new(Code::Aborted, ""));
        assert_eq!(error.to_string(), "ReadRows on table `events` failed: ABORTED");
    }

    #[test]
    fn failures_of_the_connection_are_unavailable() {
        let broken = io::Error::new(io::ErrorKind::BrokenPipe, "pipe is broken");
        let mut status = Status::unknown("error reading a body from connection");
        status.set_source(Arc::new(broken));
        let error = Error::rpc(&operation(), &status);
        assert!(error.is_unavailable());
        assert_eq!(error.source().unwrap().to_string(), "pipe is broken");
        assert!(!Error::rpc(&operation(), &Status::cancelled("by the server")).is_unavailable());
    }

    #[test]
    fn the_timer_of_tonic_is_a_deadline() {
        let mut status = Status::cancelled("Timeout expired");
        status.set_source(Arc::new(tonic::TimeoutExpired(())));
        assert!(Error::rpc(&operation(), &status).is_deadline());
    }
}
