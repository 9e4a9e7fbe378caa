//! The kind of an error, for programs that match on it.

use tonic::Code;

use super::{Error, Repr};

/// What kind of failure an [`Error`] is.
///
/// ```
/// use keyderive::ErrorKind;
///
/// fn status(error: &keyderive::Error) -> u16 {
///     match error.kind() {
///         ErrorKind::InvalidKey | ErrorKind::InvalidPageToken => 400,
///         ErrorKind::DeadlineExceeded | ErrorKind::Unavailable => 503,
///         _ => 500,
///     }
/// }
/// ```
///
/// Each has a predicate of [`Error`] with its meaning, but for the last four. A predicate about an outcome of the server is
/// also true if the last attempt had it: an operation that ran out of time while the server was unavailable is of the kind
/// `DeadlineExceeded`, and `is_unavailable` too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// See [`is_invalid_key`](Error::is_invalid_key).
    InvalidKey,
    /// See [`is_invalid_page_token`](Error::is_invalid_page_token).
    InvalidPageToken,
    /// See [`is_invalid_row`](Error::is_invalid_row).
    InvalidRow,
    /// See [`is_foreign_row`](Error::is_foreign_row).
    ForeignRow,
    /// See [`is_invalid_argument`](Error::is_invalid_argument).
    InvalidArgument,
    /// See [`is_not_found`](Error::is_not_found).
    NotFound,
    /// See [`is_already_exists`](Error::is_already_exists).
    AlreadyExists,
    /// See [`is_table_mismatch`](Error::is_table_mismatch).
    TableMismatch,
    /// See [`is_permission_denied`](Error::is_permission_denied).
    PermissionDenied,
    /// See [`is_missing_credentials`](Error::is_missing_credentials).
    MissingCredentials,
    /// See [`is_deadline_exceeded`](Error::is_deadline_exceeded).
    DeadlineExceeded,
    /// See [`is_unavailable`](Error::is_unavailable).
    Unavailable,
    /// See [`is_resource_exhausted`](Error::is_resource_exhausted).
    ResourceExhausted,
    /// See [`is_unimplemented`](Error::is_unimplemented).
    Unimplemented,
    /// See [`is_protocol_violation`](Error::is_protocol_violation).
    ProtocolViolation,
    /// See [`is_misconfiguration`](Error::is_misconfiguration).
    Misconfiguration,
    /// See [`is_file_in_use`](Error::is_file_in_use).
    FileInUse,
    /// See [`is_data_loss`](Error::is_data_loss).
    DataLoss,
    /// See [`is_client_closed`](Error::is_client_closed).
    ClientClosed,
    /// The table is not in a state that allows the operation: the server's `FAILED_PRECONDITION`.
    FailedPrecondition,
    /// The operation collided with another one: the server's `ABORTED`.
    Aborted,
    /// The operation was given up: the server's `CANCELLED`, or the end of its tokio runtime.
    Cancelled,
    /// The server failed in another way; [`grpc_code`](Error::grpc_code) has its code.
    Server,
}

impl Error {
    /// What kind of failure this is.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self.cause() {
            Repr::Input { error, .. } => error.kind(),
            Repr::Key { .. } => ErrorKind::InvalidKey,
            Repr::Plan { error, .. } if error.is_invalid_page_token() => ErrorKind::InvalidPageToken,
            Repr::Plan { .. } => ErrorKind::InvalidKey,
            Repr::Foreign { .. } => ErrorKind::ForeignRow,
            Repr::Row { .. } => ErrorKind::InvalidRow,
            Repr::Mismatch { .. } => ErrorKind::TableMismatch,
            Repr::Configuration { .. } => ErrorKind::Misconfiguration,
            Repr::InUse { .. } => ErrorKind::FileInUse,
            Repr::Closed { .. } => ErrorKind::ClientClosed,
            Repr::Protocol(_) => ErrorKind::ProtocolViolation,
            _ if self.is_missing_credentials() => ErrorKind::MissingCredentials,
            Repr::NotPrefixes { .. } => ErrorKind::InvalidArgument,
            _ => self.code().map_or(ErrorKind::Server, of_code),
        }
    }
}

fn of_code(code: Code) -> ErrorKind {
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

    #[test]
    fn a_kind_agrees_with_its_predicate() {
        let table = "events";
        let key = bytes::Bytes::from_static(b"k");
        for (error, kind, asked) in [
            (
                Error::configuration("none"),
                ErrorKind::Misconfiguration,
                Error::is_misconfiguration as fn(&Error) -> bool,
            ),
            (Error::unreachable("none".to_owned()), ErrorKind::Unavailable, Error::is_unavailable),
            (Error::mismatch(table, "another"), ErrorKind::TableMismatch, Error::is_table_mismatch),
            (Error::definition(table, "no"), ErrorKind::InvalidArgument, Error::is_invalid_argument),
            (
                Error::limit(table, &key, "no".to_owned()),
                ErrorKind::InvalidArgument,
                Error::is_invalid_argument,
            ),
            (Error::answer(table, &key, "no"), ErrorKind::ProtocolViolation, Error::is_protocol_violation),
            (Error::closed_scan(&table.into()), ErrorKind::ClientClosed, Error::is_client_closed),
        ] {
            assert!(error.kind() == kind && asked(&error), "{error}");
            let entry = Error::entry(&key, error.clone());
            assert!(entry.kind() == kind && asked(&entry), "{entry}");
            assert_eq!(Error::input(7, error).kind(), kind);
        }
    }
}
