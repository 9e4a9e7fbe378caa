//! What a program may ask of an error.

use tonic::Code;

use super::{Ended, Error, Protocol, Repr, Rpc, Tries};
use crate::client::operation::Replay;

impl Error {
    /// The bucket that a scan failed in, where one is known.
    #[must_use]
    pub fn bucket(&self) -> Option<i32> {
        match self.repr() {
            Repr::Scan { bucket, .. } => *bucket,
            _ => None,
        }
    }

    /// The stored key of the last row that a scan has delivered before it failed.
    #[must_use]
    pub fn last_row_key(&self) -> Option<&[u8]> {
        match self.repr() {
            Repr::Scan { last, .. } | Repr::Rpc(Rpc { last, .. }) | Repr::Protocol(Protocol { last, .. }) => {
                last.as_deref()
            }
            _ => None,
        }
    }

    /// The row key that the failure is about, where it is about one.
    #[must_use]
    pub fn row_key(&self) -> Option<&[u8]> {
        match self.repr() {
            Repr::Foreign { error, .. } => Some(error.key()),
            Repr::Row { key, .. } | Repr::Entry { key, .. } | Repr::Limit { key, .. } => Some(key),
            Repr::Rpc(Rpc { key, .. }) | Repr::Closed { key, .. } | Repr::Protocol(Protocol { key, .. }) => {
                key.as_deref()
            }
            Repr::Input { error, .. } | Repr::Scan { error, .. } => error.row_key(),
            _ => None,
        }
    }

    /// Whether a value was given that no key of the table can hold: to write, to look up or to scan for.
    #[must_use]
    pub fn is_invalid_key(&self) -> bool {
        match self.cause() {
            Repr::Input { error, .. } => error.is_invalid_key(),
            Repr::Plan { error, .. } => !error.is_invalid_page_token(),
            kind => matches!(kind, Repr::Key { .. }),
        }
    }

    /// Whether a page token is none, or that of another scan.
    #[must_use]
    pub fn is_invalid_page_token(&self) -> bool {
        matches!(self.cause(), Repr::Plan { error, .. } if error.is_invalid_page_token())
    }

    /// Whether a scan met a row whose key is not of the table's key type: it was written by other code,
    /// or under another layout. [`row_key`](Self::row_key) is its key.
    #[must_use]
    pub fn is_foreign_row(&self) -> bool {
        matches!(self.cause(), Repr::Foreign { .. })
    }

    /// Whether a row's value cannot be stored as columns, or stored columns not be read as a row.
    #[must_use]
    pub fn is_invalid_row(&self) -> bool {
        match self.cause() {
            Repr::Input { error, .. } => error.is_invalid_row(),
            kind => matches!(kind, Repr::Row { .. }),
        }
    }

    /// Whether one stored row cannot be read as its row type, which others can be read as.
    pub(crate) fn is_unreadable_row(&self) -> bool {
        matches!(self.cause(), Repr::Row { error, .. } if !error.is_unsupported())
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
    /// with a [`FilterError`](crate::row::FilterError).
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
    pub fn is_missing_credentials(&self) -> bool {
        match self.cause() {
            Repr::Credentials { .. } => true,
            Repr::Rpc(Rpc { failure, .. }) => failure.is_of_credentials(),
            _ => false,
        }
    }

    /// Whether nothing of it can have reached the server.
    pub(in crate::client) fn is_unsent(&self) -> bool {
        matches!(self.cause(), Repr::Rpc(Rpc { failure, .. }) if failure.unsent)
    }

    /// Whether a write may have been applied, or not: an attempt ended without the server's word that it did nothing. The
    /// attempt may be any of them, since a later refusal says nothing of the ones before.
    ///
    /// ```
    /// # use keyderive::{Error, RowKey, Table};
    /// # #[derive(RowKey)] struct PageKey { url: String }
    /// # type Page = std::collections::BTreeMap<String, i64>;
    /// # async fn sample(pages: Table<PageKey, Page>, home: PageKey) -> Result<(), Error> {
    /// match pages.increment(&home, "visits", 1).await {
    ///     Ok(visits) => println!("{visits} visits"),
    ///     // To count again might count twice.
    ///     Err(error) if error.is_outcome_unknown() => println!("counted or not: {}", error.redacted()),
    ///     Err(error) => return Err(error), // it is not counted
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Of a read, and of what failed before it was sent, it is false. [Errors](crate::guide::errors#unknown-outcomes) lists
    /// what to do for each call.
    #[must_use]
    pub fn is_outcome_unknown(&self) -> bool {
        match self.cause() {
            Repr::Rpc(Rpc { tries, .. }) => tries.open.is_some(),
            Repr::Protocol(Protocol { is_write, .. }) => *is_write,
            Repr::RuntimeEnded { .. } => true,
            _ => false,
        }
    }

    /// Whether the time for the operation ran out, by the clock of this process or by the server's. Whether a write was
    /// applied tells [`is_outcome_unknown`](Self::is_outcome_unknown).
    #[must_use]
    pub fn is_deadline_exceeded(&self) -> bool {
        self.has_code(Code::DeadlineExceeded)
    }

    /// Whether Bigtable could not be reached, or said that it cannot serve for the moment. Whether a write was applied tells
    /// [`is_outcome_unknown`](Self::is_outcome_unknown).
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
    pub fn is_protocol_violation(&self) -> bool {
        matches!(self.cause(), Repr::Protocol { .. })
    }

    /// Whether a table that exists is not what it was declared to be: it vouches for another layout of its keys or for
    /// none, it lacks a column family, or its rule or its row key schema is another one. The text has both sides.
    #[must_use]
    pub fn is_table_mismatch(&self) -> bool {
        matches!(self.cause(), Repr::Mismatch { .. })
    }

    /// Whether no Bigtable could be told from the arguments or the environment.
    #[must_use]
    pub fn is_misconfiguration(&self) -> bool {
        matches!(self.cause(), Repr::Configuration { .. })
    }

    /// Whether the file of an [embedded Bigtable](crate::Client::embedded_at) is open elsewhere: in another process, or
    /// by another Bigtable of this one.
    #[must_use]
    pub fn is_file_in_use(&self) -> bool {
        matches!(self.cause(), Repr::InUse { .. })
    }

    /// Whether stored data is lost or damaged: a row that cannot be read back as it was written, or the whole file of
    /// an embedded Bigtable.
    #[must_use]
    pub fn is_data_loss(&self) -> bool {
        self.has_code(Code::DataLoss)
    }

    /// Whether the client was closed before the operation began, or while nobody polled its stream, which
    /// [`close`](crate::Client::close) gives up.
    #[must_use]
    pub fn is_client_closed(&self) -> bool {
        matches!(self.cause(), Repr::Closed { .. })
    }

    /// Whether the failure is one that passes, and the same call may be made again, and may succeed.
    ///
    /// The client has tried again for as long as its settings allow, where that was safe. It is false for a conditional
    /// write, an increment, an append and other writes that are not the same twice, where
    /// [the outcome is unknown](Self::is_outcome_unknown). A `put` or a `delete` whose outcome is unknown holds when the
    /// same call has succeeded.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self.cause() {
            Repr::Rpc(Rpc { failure, tries, .. }) => {
                failure.transient && tries.open != Some(Replay::IfUnsent)
            }
            Repr::RuntimeEnded { replay, .. } => *replay == Replay::Always,
            Repr::Credentials { error } => error.is_transient(),
            _ => false,
        }
    }

    /// How many attempts were made; 0 for what was not sent.
    #[must_use]
    pub fn attempts(&self) -> u32 {
        match self.cause() {
            Repr::Rpc(Rpc { tries, .. }) => tries.attempts,
            _ => 0,
        }
    }

    /// The code of gRPC that the operation ended with, where one was sent, or where one stands for what happened.
    #[must_use]
    pub fn grpc_code(&self) -> Option<i32> {
        self.code().map(i32::from)
    }

    pub(in crate::client) fn code(&self) -> Option<Code> {
        match self.cause() {
            Repr::Rpc(Rpc { tries: Tries { ended: Some(Ended::Time(_)), .. }, .. }) => {
                Some(Code::DeadlineExceeded)
            }
            Repr::Rpc(Rpc { failure, .. }) => Some(failure.code),
            Repr::Protocol { .. } => Some(Code::Internal),
            Repr::Closed { .. } | Repr::RuntimeEnded { .. } => Some(Code::Cancelled),
            Repr::Damaged { .. } => Some(Code::DataLoss),
            Repr::Unreachable { .. } => Some(Code::Unavailable),
            Repr::Filter { .. } | Repr::Limit { .. } | Repr::Definition { .. } => Some(Code::InvalidArgument),
            Repr::Credentials { .. } => Some(Code::Unauthenticated),
            _ => None,
        }
    }

    /// Whether it ended with this code, or the last attempt did.
    fn has_code(&self, wanted: Code) -> bool {
        let last = match self.cause() {
            Repr::Rpc(Rpc { failure, .. }) => Some(failure.code),
            _ => None,
        };
        last == Some(wanted) || (!self.is_protocol_violation() && self.code() == Some(wanted))
    }

    /// The failure below the place in a list or a scan that it happened at.
    pub(super) fn cause(&self) -> &Repr {
        match self.repr() {
            Repr::Scan { error, .. } | Repr::Entry { error, .. } => error.cause(),
            kind => kind,
        }
    }
}
