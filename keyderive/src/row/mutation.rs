//! The changes that one write makes to one row.

use std::ops::RangeBounds;
use std::sync::Arc;

use bytes::Bytes;

use super::TimeRange;

/// One change to a row. The changes of one write are applied in order, all or none.
///
/// ```
/// use keyderive::row::Mutation;
///
/// let changes = [
///     Mutation::delete_column("cf", "draft"),
///     Mutation::set("cf", "title", 1_700_000_000_000_000, "Bigtable"),
/// ];
/// ```
///
/// Qualifiers have 16 KiB at most, values 100 MiB; one write has 100,000 changes at most. Timestamps are
/// microseconds since the epoch; a table stores whole milliseconds, unless it was
/// [created](crate::client::Granularity) for microseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mutation(pub(crate) MutationKind);

/// The timestamp that stands for the server's own time.
pub(crate) const SERVER_TIME: i64 = -1;

/// Sent for a range without timestamps: the last possible millisecond, which no clock gives.
///
/// Bigtable has no empty range: it refuses one that ends where it starts, and takes an end of 0 for none.
const NO_VERSIONS: TimeRange = TimeRange { start: i64::MAX / 1000 * 1000, end: None };

/// What a mutation does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum MutationKind {
    /// Sets one version of a column.
    SetCell { family: Arc<str>, qualifier: Bytes, timestamp_micros: i64, value: Bytes },
    /// Adds to a cell of an aggregate family. To a minimum or a maximum, twice is as once: it `is_idempotent`.
    AddToCell { family: Arc<str>, qualifier: Bytes, timestamp_micros: i64, value: i64, is_idempotent: bool },
    /// Merges the state of an aggregate into a cell of an aggregate family.
    MergeToCell { family: Arc<str>, qualifier: Bytes, timestamp_micros: i64, state: Bytes },
    /// Deletes the versions of a column that are in a range, or all.
    DeleteColumn { family: Arc<str>, qualifier: Bytes, versions: Option<TimeRange> },
    /// Deletes every column of a family from the row.
    DeleteFamily { family: Arc<str> },
    /// Deletes the row.
    DeleteRow,
}

impl Mutation {
    /// Sets the version of a column that has this timestamp.
    pub fn set(
        family: impl Into<Arc<str>>,
        qualifier: impl Into<Bytes>,
        timestamp_micros: i64,
        value: impl Into<Bytes>,
    ) -> Self {
        let (family, qualifier, value) = (family.into(), qualifier.into(), value.into());
        Self(MutationKind::SetCell { family, qualifier, timestamp_micros, value })
    }

    /// Sets a version of a column with the server's time.
    ///
    /// A write with it is not retried if its outcome is unknown, since a retry could store a second version. Use
    /// [`set`](Self::set) with a timestamp if you can.
    pub fn set_now(
        family: impl Into<Arc<str>>,
        qualifier: impl Into<Bytes>,
        value: impl Into<Bytes>,
    ) -> Self {
        Self::set(family, qualifier, SERVER_TIME, value)
    }

    /// Adds a number to a cell of an aggregate family: of sums, minima or maxima.
    ///
    /// A write with it carries an [idempotency token](crate::guide::rows#sums-that-count-once), so that it counts once however
    /// often it is retried. Where the server ignores tokens, it is not retried if its outcome is unknown.
    pub fn add_to_cell(
        family: impl Into<Arc<str>>,
        qualifier: impl Into<Bytes>,
        timestamp_micros: i64,
        value: i64,
    ) -> Self {
        let (family, qualifier) = (family.into(), qualifier.into());
        Self(MutationKind::AddToCell { family, qualifier, timestamp_micros, value, is_idempotent: false })
    }

    /// Adds to a minimum or a maximum.
    pub(crate) fn add_to_extreme(
        family: impl Into<Arc<str>>,
        qualifier: impl Into<Bytes>,
        timestamp_micros: i64,
        value: i64,
    ) -> Self {
        let (family, qualifier) = (family.into(), qualifier.into());
        Self(MutationKind::AddToCell { family, qualifier, timestamp_micros, value, is_idempotent: true })
    }

    /// Merges an aggregate's state, as it is stored, into a cell of an aggregate family. It is retried as
    /// [`add_to_cell`](Self::add_to_cell).
    pub fn merge_to_cell(
        family: impl Into<Arc<str>>,
        qualifier: impl Into<Bytes>,
        timestamp_micros: i64,
        state: impl Into<Bytes>,
    ) -> Self {
        let (family, qualifier, state) = (family.into(), qualifier.into(), state.into());
        Self(MutationKind::MergeToCell { family, qualifier, timestamp_micros, state })
    }

    /// Deletes every version of a column.
    pub fn delete_column(family: impl Into<Arc<str>>, qualifier: impl Into<Bytes>) -> Self {
        let (family, qualifier) = (family.into(), qualifier.into());
        Self(MutationKind::DeleteColumn { family, qualifier, versions: None })
    }

    /// Deletes the versions of a column whose timestamps are in a range, in microseconds since the epoch.
    ///
    /// ```
    /// use keyderive::row::Mutation;
    ///
    /// // All versions up to this time.
    /// let old = Mutation::delete_versions("cf", "state", ..=1_700_000_000_000_000);
    /// ```
    ///
    /// Exactly the versions in the range are deleted. A table of milliseconds takes no finer bounds, so a bound between two
    /// milliseconds is sent to it as the later one, which matches the same versions; a table of microseconds gets it as it is. The
    /// client learns the granularity from the table's definition, which it reads once, by `GetTable`; the layout check takes it from
    /// there too. **Bounds of whole milliseconds, the start inclusive and the end exclusive, need no `GetTable`**, and no permission
    /// for it: an end such as `..=5_000` is sent as 5,001 µs, and `..6_000` matches the same milliseconds. If the table cannot be read,
    /// a write with finer bounds fails before it is sent.
    ///
    /// An empty range, such as `..0`, deletes none.
    ///
    /// If another program deletes the table and creates it with another [granularity](crate::client::Granularity), make a new
    /// client: this one may cut finer bounds for the table that it has read.
    pub fn delete_versions(
        family: impl Into<Arc<str>>,
        qualifier: impl Into<Bytes>,
        micros: impl RangeBounds<i64>,
    ) -> Self {
        let versions = TimeRange::new(&micros).unwrap_or(NO_VERSIONS);
        let (family, qualifier) = (family.into(), qualifier.into());
        Self(MutationKind::DeleteColumn { family, qualifier, versions: Some(versions) })
    }

    /// Deletes every column of a family.
    pub fn delete_family(family: impl Into<Arc<str>>) -> Self {
        Self(MutationKind::DeleteFamily { family: family.into() })
    }

    /// Deletes the row.
    #[must_use]
    pub fn delete_row() -> Self {
        Self(MutationKind::DeleteRow)
    }

    /// Whether what it deletes depends on the table's granularity.
    pub(crate) fn has_fine_bounds(&self) -> bool {
        matches!(self.0, MutationKind::DeleteColumn { versions: Some(range), .. } if !range.is_in_millis())
    }

    /// Cuts the bounds of a deletion for a table of milliseconds.
    pub(crate) fn cut_to_millis(&mut self) {
        if let MutationKind::DeleteColumn { versions: Some(range), .. } = &mut self.0 {
            *range = range.in_millis().unwrap_or(NO_VERSIONS);
        }
    }

    /// Whether it adds to what a cell holds, so that twice is not as once.
    pub(crate) fn adds(&self) -> bool {
        matches!(
            self.0,
            MutationKind::AddToCell { is_idempotent: false, .. } | MutationKind::MergeToCell { .. }
        )
    }
}

/// One change that depends on what a cell holds.
///
/// ```
/// use keyderive::row::ReadModifyWrite;
///
/// let rules = [ReadModifyWrite::increment("cf", "visits", 1), ReadModifyWrite::append("cf", "log", "seen;")];
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadModifyWrite {
    pub(crate) family: Arc<str>,
    pub(crate) qualifier: Bytes,
    pub(crate) rule: Rule,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    Append(Bytes),
    Increment(i64),
}

impl ReadModifyWrite {
    /// Appends bytes to the newest value of a column, or to nothing if there is none.
    pub fn append(family: impl Into<Arc<str>>, qualifier: impl Into<Bytes>, value: impl Into<Bytes>) -> Self {
        Self { family: family.into(), qualifier: qualifier.into(), rule: Rule::Append(value.into()) }
    }

    /// Adds to the newest value of a column, an integer of 8 bytes, big-endian, or to 0 if there is none.
    pub fn increment(family: impl Into<Arc<str>>, qualifier: impl Into<Bytes>, amount: i64) -> Self {
        Self { family: family.into(), qualifier: qualifier.into(), rule: Rule::Increment(amount) }
    }
}
