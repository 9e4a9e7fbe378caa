//! What can go wrong between this process and a table.

mod kind;
mod predicates;
mod text;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tonic::Code;

pub use self::kind::ErrorKind;
use super::Target;
use super::credentials::CredentialsError;
use super::failure::Failure;
use super::operation::{Operation, Replay};
use crate::key::{DecodeError, EncodeError};
use crate::plan::PlanError;
use crate::row::{FilterError, RowError};

/// A failure of an operation on a table, or of reaching a Bigtable at all.
///
/// Its text names the operation, the table, the row key and the reason; [`redacted`](Self::redacted) is the text without
/// keys and values, for logs. [`source`](std::error::Error::source) leads to the failure below it, where there is one. A
/// program decides by [`kind`](Self::kind) or by the predicates. A clone is cheap.
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

/// What an [`Error`] is about.
pub(crate) enum Repr {
    /// The caller or the environment names no Bigtable that can be reached.
    Configuration { message: String },
    /// No emulator answers.
    Unreachable { message: String },
    /// The file of an embedded Bigtable is open elsewhere.
    InUse { message: String },
    /// The file of an embedded Bigtable is not as it was written.
    Damaged { message: String },
    /// There is no access token for the cloud.
    Credentials { error: CredentialsError },
    /// The client was closed before the operation began.
    Closed { rpc: &'static str, table: Arc<str>, key: Option<Bytes> },
    /// An RPC failed, at the server or on the way.
    Rpc(Rpc),
    /// The server's answer breaks the protocol.
    Protocol(Protocol),
    /// The tokio runtime ended while a write was in flight.
    RuntimeEnded { table: Arc<str>, replay: Replay },
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
    /// A scan failed in one of its buckets.
    Scan { bucket: Option<i32>, last: Option<Bytes>, error: Error },
    /// What a table is to be that no table can be.
    Definition { table: String, message: String },
    /// The table that exists is not the one that was declared.
    Mismatch { table: String, message: String },
}

/// An RPC that failed for good.
#[derive(Clone)]
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

/// An answer that breaks the protocol.
pub(crate) struct Protocol {
    rpc: &'static str,
    table: Arc<str>,
    message: String,
    /// Whether it answers a write, which may have been applied then.
    is_write: bool,
    /// The row that it was about.
    key: Option<Bytes>,
    /// The last row that a scan had read.
    last: Option<Bytes>,
}

/// What was tried before an operation failed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tries {
    /// Where an attempt may have been applied: whether the operation may be sent again all the same.
    pub(super) open: Option<Replay>,
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
}

impl Error {
    pub(crate) fn new(kind: Repr) -> Self {
        Self(Arc::new(kind))
    }

    pub(crate) fn repr(&self) -> &Repr {
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

    pub(crate) fn rpc(operation: &Operation, failure: Failure, tries: Tries) -> Self {
        let Operation { rpc, table, target, .. } = operation.clone();
        Self::new(Repr::Rpc(Rpc { rpc, table, target, failure, tries, key: None, last: None }))
    }

    pub(crate) fn closed(operation: &Operation) -> Self {
        Self::new(Repr::Closed { rpc: operation.rpc, table: Arc::clone(&operation.table), key: None })
    }

    /// Of a stream that was given up.
    pub(crate) fn closed_scan(table: &Arc<str>) -> Self {
        Self::new(Repr::Closed { rpc: "ReadRows", table: Arc::clone(table), key: None })
    }

    pub(crate) fn protocol(operation: &Operation, message: impl Into<String>) -> Self {
        Self::new(Repr::Protocol(Protocol {
            rpc: operation.rpc,
            table: Arc::clone(&operation.table),
            message: message.into(),
            is_write: operation.is_write(),
            key: None,
            last: None,
        }))
    }

    /// An answer to a `ReadModifyWriteRow` that is none.
    pub(crate) fn answer(table: &str, key: &Bytes, message: impl Into<String>) -> Self {
        Self::new(Repr::Protocol(Protocol {
            rpc: "ReadModifyWriteRow",
            table: table.into(),
            message: message.into(),
            is_write: true,
            key: Some(key.clone()),
            last: None,
        }))
    }

    /// The runtime ended while a write was in flight, which may be sent again as `replay` says.
    pub(crate) fn runtime_ended(table: &Arc<str>, replay: Replay) -> Self {
        Self::new(Repr::RuntimeEnded { table: Arc::clone(table), replay })
    }

    /// The same failure of an RPC, for an entry of it that may have been applied as `open` says.
    pub(crate) fn with_open(self, open: Option<Replay>) -> Self {
        match self.repr() {
            Repr::Rpc(rpc) if rpc.tries.open != open => {
                Self::new(Repr::Rpc(Rpc { tries: Tries { open, ..rpc.tries }, ..rpc.clone() }))
            }
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

    pub(crate) fn entry(key: &Bytes, error: Error) -> Self {
        Self::new(Repr::Entry { key: key.clone(), error })
    }

    pub(crate) fn input(index: usize, error: Error) -> Self {
        Self::new(Repr::Input { index, error })
    }

    /// A failure while a bucket was read.
    pub(crate) fn in_scan(bucket: Option<i32>, error: Error) -> Self {
        // The scan has its own last row: that of all buckets.
        let error = error.behind_row(None);
        Self::new(Repr::Scan { bucket, last: None, error })
    }

    /// The same failure of a scan, whose last row had this key.
    pub(crate) fn behind_row(mut self, key: Option<Bytes>) -> Self {
        if let Some(
            Repr::Scan { last, .. } | Repr::Rpc(Rpc { last, .. }) | Repr::Protocol(Protocol { last, .. }),
        ) = Arc::get_mut(&mut self.0)
        {
            *last = key;
        }
        self
    }

    /// The same failure, of an RPC about the row with this key.
    pub(crate) fn of_row(mut self, about: &Bytes) -> Self {
        if let Some(
            Repr::Rpc(Rpc { key, .. }) | Repr::Closed { key, .. } | Repr::Protocol(Protocol { key, .. }),
        ) = Arc::get_mut(&mut self.0)
        {
            *key = Some(about.clone());
        }
        self
    }

    /// The same failure, where the server may have given it for what one of these columns holds, which were to be counted
    /// up.
    pub(crate) fn of_increments(mut self, columns: &[String]) -> Self {
        if let Some(Repr::Rpc(Rpc { failure, .. })) = Arc::get_mut(&mut self.0)
            && failure.answered
            && matches!(failure.code, Code::FailedPrecondition | Code::InvalidArgument | Code::Unknown)
            && !columns.is_empty()
        {
            let columns = columns.join(", ");
            failure.message.push_str(&format!(
                "; a column that is counted up, here {columns}, holds an integer of 8 bytes, big-endian, as integer \
                 fields are stored"
            ));
        }
        self
    }

    /// The same failure, of a load that writes the rows that are not there.
    pub(crate) fn of_load_if_absent(mut self) -> Self {
        if let Some(Repr::Rpc(Rpc { failure, .. })) = Arc::get_mut(&mut self.0)
            && failure.is_of_single_row_transactions()
        {
            failure.message.push_str(
                "; a load without them leaves `.if_absent()` out, which replaces the rows that are there, or has \
                 `.new_rows()` in its place, for keys that no row has",
            );
        }
        self
    }

    /// Whether the app profile allows no single-row transactions.
    pub(crate) fn is_of_single_row_transactions(&self) -> bool {
        matches!(self.repr(), Repr::Rpc(Rpc { failure, .. }) if failure.is_of_single_row_transactions())
    }

    pub(crate) fn not_prefixes(table: &str, message: &'static str) -> Self {
        Self::new(Repr::NotPrefixes { table: table.into(), message })
    }

    pub(crate) fn definition(table: &str, message: impl Into<String>) -> Self {
        Self::new(Repr::Definition { table: table.into(), message: message.into() })
    }

    pub(crate) fn mismatch(table: &str, message: impl Into<String>) -> Self {
        Self::new(Repr::Mismatch { table: table.into(), message: message.into() })
    }
}

/// Keys and plans that were asked for without a table fail with an error of their own; it becomes this one
/// where a function returns this one.
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

impl From<DecodeError> for Error {
    fn from(error: DecodeError) -> Self {
        Self::new(Repr::Foreign { table: None, error })
    }
}
