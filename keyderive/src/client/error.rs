//! What can go wrong between this process and a table.

mod text;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tonic::Code;

use super::Target;
use super::credentials::CredentialsError;
use super::failure::Failure;
use super::operation::Operation;
use crate::key::{DecodeError, EncodeError, ShownKey};
use crate::plan::PlanError;
use crate::row::{FilterError, RowError};

/// A failure of an operation on a table, or of reaching a Bigtable at all.
///
/// Its text names the operation, the table and the reason; [`source`](std::error::Error::source) leads to the
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
pub struct Error(Arc<Kind>);

/// What an [`Error`] is about.
#[expect(clippy::large_enum_variant, reason = "it is only ever behind a pointer")]
pub(crate) enum Kind {
    /// The caller or the environment names no Bigtable that can be reached.
    Configuration { message: String },
    /// The file of an embedded Bigtable is open elsewhere.
    InUse { message: String },
    /// The file of an embedded Bigtable is not as it was written.
    Damaged { message: String },
    /// There is no access token for the cloud.
    Credentials { error: CredentialsError },
    /// The client was closed before the operation began.
    Closed { rpc: &'static str, table: Arc<str> },
    /// An RPC failed, at the server or on the way.
    Rpc(Rpc),
    /// The server's answer breaks the protocol.
    Protocol { rpc: &'static str, table: Arc<str>, message: String, last: Option<Bytes> },
    /// A write that Bigtable would refuse, and that was not sent.
    Limit { table: String, key: Bytes, message: String },
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
    NotPrefixes { table: String, message: &'static str },
    /// A scan failed in one of its lanes.
    Scan { bucket: Option<i32>, last: Option<Bytes>, error: Error },
    /// What a table is to be that no table can be.
    Definition { table: String, message: String },
    /// The table that exists is not the one that was declared.
    Mismatch { table: String, message: String },
}

/// An RPC that failed for good.
pub(crate) struct Rpc {
    pub(crate) rpc: &'static str,
    pub(crate) table: Arc<str>,
    target: Target,
    failure: Failure,
    tries: Tries,
    /// The row that it was about.
    key: Option<Bytes>,
    /// The last row that a scan had read.
    last: Option<Bytes>,
}

/// What was tried before an operation failed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tries {
    pub(super) attempts: u32,
    pub(super) elapsed: Duration,
    pub(super) ended: Option<Ended>,
}

/// Why a failure that may pass was not waited out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// As many attempts as are allowed had failed in a row.
    Attempts,
    /// The time for all attempts is over, or would be before the next one.
    Time(Duration),
    /// Nothing has ever answered at the address.
    NoContact,
}

impl Error {
    pub(crate) fn new(kind: Kind) -> Self {
        Self(Arc::new(kind))
    }

    /// The same error once more, for another entry of the same request.
    pub(crate) fn shared(&self) -> Self {
        Self(Arc::clone(&self.0))
    }

    pub(crate) fn kind(&self) -> &Kind {
        &self.0
    }

    pub(crate) fn configuration(message: impl Into<String>) -> Self {
        Self::new(Kind::Configuration { message: message.into() })
    }

    #[cfg(feature = "embedded")]
    pub(crate) fn in_use(message: String) -> Self {
        Self::new(Kind::InUse { message })
    }

    #[cfg(feature = "embedded")]
    pub(crate) fn damaged(message: String) -> Self {
        Self::new(Kind::Damaged { message })
    }

    pub(crate) fn credentials(error: CredentialsError) -> Self {
        Self::new(Kind::Credentials { error })
    }

    pub(crate) fn rpc(operation: &Operation, failure: Failure, tries: Tries) -> Self {
        let Operation { rpc, table, target, .. } = operation.clone();
        Self::new(Kind::Rpc(Rpc { rpc, table, target, failure, tries, key: None, last: None }))
    }

    pub(crate) fn closed(operation: &Operation) -> Self {
        Self::new(Kind::Closed { rpc: operation.rpc, table: Arc::clone(&operation.table) })
    }

    pub(crate) fn protocol(operation: &Operation, message: impl Into<String>) -> Self {
        Self::new(Kind::Protocol {
            rpc: operation.rpc,
            table: Arc::clone(&operation.table),
            message: message.into(),
            last: None,
        })
    }

    /// An answer to a `ReadModifyWriteRow` that is none.
    pub(crate) fn answer(table: &str, key: &Bytes, message: &str) -> Self {
        Self::new(Kind::Protocol {
            rpc: "ReadModifyWriteRow",
            table: table.into(),
            message: format!("{message}, of row {}", ShownKey(key)),
            last: None,
        })
    }

    pub(crate) fn limit(table: &str, key: &Bytes, message: String) -> Self {
        Self::new(Kind::Limit { table: table.into(), key: key.clone(), message })
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

    pub(crate) fn row(table: &str, key: &[u8], error: RowError) -> Self {
        Self::new(Kind::Row { table: table.into(), key: Bytes::copy_from_slice(key), error })
    }

    pub(crate) fn entry(key: &Bytes, error: Error) -> Self {
        Self::new(Kind::Entry { key: key.clone(), error })
    }

    pub(crate) fn input(index: usize, error: Error) -> Self {
        Self::new(Kind::Input { index, error })
    }

    /// A failure while a bucket was read.
    pub(crate) fn in_scan(bucket: Option<i32>, error: Error) -> Self {
        // The scan has its own last row: that of all buckets.
        let error = error.behind_row(None);
        Self::new(Kind::Scan { bucket, last: None, error })
    }

    /// The same failure of a scan, whose last row had this key.
    pub(crate) fn behind_row(mut self, key: Option<Bytes>) -> Self {
        use Kind::{Protocol, Scan};
        if let Some(Scan { last, .. } | Kind::Rpc(Rpc { last, .. }) | Protocol { last, .. }) =
            Arc::get_mut(&mut self.0)
        {
            *last = key;
        }
        self
    }

    /// The same failure, of an RPC about the row with this key.
    pub(crate) fn of_row(mut self, about: &Bytes) -> Self {
        if let Some(Kind::Rpc(Rpc { key, .. })) = Arc::get_mut(&mut self.0) {
            *key = Some(about.clone());
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
            Kind::Scan { last, .. } | Kind::Rpc(Rpc { last, .. }) | Kind::Protocol { last, .. } => {
                last.as_deref()
            }
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

    pub(crate) fn not_prefixes(table: &str, message: &'static str) -> Self {
        Self::new(Kind::NotPrefixes { table: table.into(), message })
    }

    pub(crate) fn definition(table: &str, message: impl Into<String>) -> Self {
        Self::new(Kind::Definition { table: table.into(), message: message.into() })
    }

    pub(crate) fn mismatch(table: &str, message: impl Into<String>) -> Self {
        Self::new(Kind::Mismatch { table: table.into(), message: message.into() })
    }

    /// The row key that the failure is about, where it is about one.
    #[must_use]
    pub fn row_key(&self) -> Option<&[u8]> {
        match self.cause() {
            Kind::Foreign { error, .. } => Some(error.key()),
            Kind::Row { key, .. } | Kind::Entry { key, .. } | Kind::Limit { key, .. } => Some(key),
            Kind::Rpc(Rpc { key, .. }) => key.as_deref(),
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

    /// Whether the caller is unknown to Bigtable, or known and not allowed to do this. A caller without an access
    /// token is unknown.
    #[must_use]
    pub fn is_permission_denied(&self) -> bool {
        self.has_code(Code::PermissionDenied) || self.has_code(Code::Unauthenticated)
    }

    /// Whether there was no access token to send a request with. The source is a
    /// [`CredentialsError`](crate::client::CredentialsError).
    #[must_use]
    pub fn is_credentials(&self) -> bool {
        match self.cause() {
            Kind::Credentials { .. } => true,
            Kind::Rpc(Rpc { failure, .. }) => failure.is_of_credentials(),
            Kind::Entry { error, .. } => error.is_credentials(),
            _ => false,
        }
    }

    /// Whether nothing of it can have reached the server.
    pub(super) fn is_unsent(&self) -> bool {
        matches!(self.cause(), Kind::Rpc(Rpc { failure, .. }) if failure.unsent)
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

    /// Whether a table that exists is not what it was declared to be: it lacks a column family, its rule or its row
    /// key schema is another one, or the marker row says that its rows are of another layout. The text has both sides.
    #[must_use]
    pub fn is_mismatch(&self) -> bool {
        matches!(self.cause(), Kind::Mismatch { .. })
    }

    /// Whether no Bigtable could be told from the arguments or the environment.
    #[must_use]
    pub fn is_configuration(&self) -> bool {
        matches!(self.cause(), Kind::Configuration { .. })
    }

    /// Whether the file of an [embedded Bigtable](crate::Client::embedded_at) is open elsewhere: in another process, or
    /// by another Bigtable of this one.
    #[must_use]
    pub fn is_in_use(&self) -> bool {
        matches!(self.cause(), Kind::InUse { .. })
    }

    /// Whether stored data is lost or damaged: a row that cannot be read back as it was written, or the whole file of
    /// an embedded Bigtable.
    #[must_use]
    pub fn is_data_loss(&self) -> bool {
        self.has_code(Code::DataLoss)
    }

    /// Whether the client was closed before the operation began.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        matches!(self.cause(), Kind::Closed { .. })
    }

    /// Whether the failure is one that passes, so that the same operation may succeed later.
    ///
    /// The client has tried again for as long as its settings allow, where that was safe. A conditional write, an
    /// increment or an append that failed so may have been applied, or not.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self.cause() {
            Kind::Rpc(Rpc { failure, .. }) => failure.transient,
            Kind::Credentials { error } => error.is_transient(),
            Kind::Entry { error, .. } => error.is_retryable(),
            _ => false,
        }
    }

    /// How many attempts were made; 0 for what was not sent.
    #[must_use]
    pub fn attempts(&self) -> u32 {
        match self.cause() {
            Kind::Rpc(Rpc { tries, .. }) => tries.attempts,
            Kind::Entry { error, .. } => error.attempts(),
            _ => 0,
        }
    }

    /// The code of gRPC that the operation ended with, where one was sent, or where one stands for what happened.
    #[must_use]
    pub fn grpc_code(&self) -> Option<i32> {
        self.code().map(i32::from)
    }

    pub(super) fn code(&self) -> Option<Code> {
        match self.cause() {
            Kind::Rpc(Rpc { tries: Tries { ended: Some(Ended::Time(_)), .. }, .. }) => {
                Some(Code::DeadlineExceeded)
            }
            Kind::Rpc(Rpc { failure, .. }) => Some(failure.code),
            Kind::Protocol { .. } => Some(Code::Internal),
            Kind::Closed { .. } => Some(Code::Cancelled),
            Kind::Damaged { .. } => Some(Code::DataLoss),
            Kind::Filter { .. } | Kind::Limit { .. } | Kind::Definition { .. } => Some(Code::InvalidArgument),
            Kind::Credentials { .. } => Some(Code::Unauthenticated),
            Kind::Entry { error, .. } => error.code(),
            _ => None,
        }
    }

    /// Whether it ended with this code, or the last attempt did.
    fn has_code(&self, wanted: Code) -> bool {
        let last = match self.cause() {
            Kind::Rpc(Rpc { failure, .. }) => Some(failure.code),
            Kind::Entry { error, .. } => return error.has_code(wanted),
            _ => None,
        };
        last == Some(wanted) || (!self.is_protocol() && self.code() == Some(wanted))
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
