//! The changes that one write makes to one row.

use std::sync::Arc;

use bytes::Bytes;

/// One change to a row. The changes of one write are applied in order, all or none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Mutation {
    /// Sets one version of a column. `timestamp_micros` is a whole number of milliseconds.
    SetCell { family: Arc<str>, qualifier: Bytes, timestamp_micros: i64, value: Bytes },
    /// Deletes every version of a column.
    DeleteColumn { family: Arc<str>, qualifier: Bytes },
    /// Deletes every column of a family from the row.
    DeleteFamily { family: Arc<str> },
    /// Deletes the row.
    DeleteRow,
}
