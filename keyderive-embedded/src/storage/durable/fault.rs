//! What fails below the storage.

use std::fmt;
use std::io::{self, ErrorKind};

use bytes::Bytes;
use redb::{CommitError, StorageError, TableError, TransactionError};
use tonic::{Code, Status};

use super::record::Damage;

/// A failure of the file, or of what is in it.
#[derive(Debug)]
pub(super) enum Fault {
    Redb(redb::Error),
    /// A write that has failed before, and that nothing is written before.
    StillFails(io::Error),
    Record {
        table: String,
        key: Bytes,
        damage: Damage,
    },
}

impl Fault {
    pub(super) fn record(table: &str, key: &[u8], damage: Damage) -> Self {
        Self::Record { table: table.to_owned(), key: Bytes::copy_from_slice(key), damage }
    }

    /// Whether what is stored is not what was written.
    pub(super) fn is_damage(&self) -> bool {
        match self {
            Self::Record { .. } => true,
            Self::StillFails(_) => false,
            Self::Redb(redb::Error::Io(error)) => {
                matches!(error.kind(), ErrorKind::InvalidData | ErrorKind::UnexpectedEof)
            }
            Self::Redb(error) => matches!(
                error,
                redb::Error::Corrupted(_)
                    | redb::Error::TableTypeMismatch { .. }
                    | redb::Error::TableIsMultimap(_)
                    | redb::Error::TypeDefinitionChanged { .. }
                    | redb::Error::TableDoesNotExist(_)
            ),
        }
    }

    /// Whether redb itself failed, so that its transaction can be in any state.
    pub(super) fn is_of_redb(&self) -> bool {
        matches!(self, Self::Redb(_))
    }

    /// Whether the disk failed, so that this database reads and writes nothing more, and another one over the file may.
    pub(super) fn is_of_disk(&self) -> bool {
        matches!(self, Self::Redb(redb::Error::Io(_) | redb::Error::PreviousIo)) && !self.is_damage()
    }

    pub(super) fn code(&self) -> Code {
        match self {
            _ if self.is_damage() => Code::DataLoss,
            Self::Redb(redb::Error::Io(error)) | Self::StillFails(error)
                if matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded) =>
            {
                Code::ResourceExhausted
            }
            _ => Code::Internal,
        }
    }

    pub(super) fn status(&self, path: &str) -> Status {
        Status::new(self.code(), format!("{self}, in the file `{path}`"))
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Redb(error) => write!(f, "{error}"),
            Self::StillFails(error) => write!(
                f,
                "nothing is written before what failed to be written, which was tried again: {error}"
            ),
            Self::Record { table, key, damage } => {
                let what = match damage {
                    Damage::Checksum => "its checksum is wrong",
                    Damage::Content => "its checksum is right, but its content is none",
                };
                write!(f, "row {key:?} of table `{table}` is damaged: {what}")
            }
        }
    }
}

impl From<TransactionError> for Fault {
    fn from(error: TransactionError) -> Self {
        Self::Redb(error.into())
    }
}

impl From<TableError> for Fault {
    fn from(error: TableError) -> Self {
        Self::Redb(error.into())
    }
}

impl From<StorageError> for Fault {
    fn from(error: StorageError) -> Self {
        Self::Redb(error.into())
    }
}

impl From<CommitError> for Fault {
    fn from(error: CommitError) -> Self {
        Self::Redb(error.into())
    }
}
