//! What a row has to be like for a conditional write to be made.

use std::sync::Arc;

use bytes::Bytes;
use serde::Serialize;

use super::error::{Fault, RowError};
use super::path::Path;
use super::ser::{self, Stored};
use super::{ComparedVersion, RowFilter, Shape, value};

/// The condition of a conditional write on the current state of its row.
///
/// ```
/// use keyderive::row::Condition;
///
/// let unclaimed = Condition::column_exists("owner").not();
/// let still_mine = Condition::column_equals("owner", "alice");
/// let first_time = Condition::row_exists().not();
/// ```
///
/// Columns are named as in all calls: `name` in the table's own family, `family:name` in another. The newest version of a
/// column counts. Using a condition fails if a name is not that of a column, such as the bare name of a family.
#[derive(Debug)]
pub struct Condition {
    kind: Kind,
    negated: bool,
}

#[derive(Debug)]
enum Kind {
    Row,
    Column(Path),
    Version(Path, i64),
    Equals(Path, Result<Stored, Fault>),
    Filter(RowFilter),
}

impl Condition {
    /// The row has a cell in any family.
    #[must_use]
    pub fn row_exists() -> Self {
        Kind::Row.into()
    }

    /// The row has a value in this column, or, for `family:`, in any column of the family.
    pub fn column_exists(path: impl Into<Bytes>) -> Self {
        Kind::Column(Path::new(path)).into()
    }

    /// The newest version of this column has this timestamp, in microseconds: nobody has written it since it was read.
    ///
    /// ```
    /// use keyderive::row::{Condition, Timestamped};
    /// # use keyderive::{Client, RowKey};
    /// # #[derive(RowKey)] struct PageKey { url: String }
    ///
    /// #[derive(serde::Serialize, serde::Deserialize)]
    /// struct Page {
    ///     text: Timestamped<String>,
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), keyderive::Error> {
    /// let pages = Client::embedded().table::<PageKey, Page>("pages");
    /// pages.create_if_absent().await?;
    /// let home = PageKey { url: "/".into() };
    /// pages.put(&home, &Page { text: Timestamped::new(1_000_000, "Hello".into()) }).await?;
    ///
    /// let read = pages.get(&home).await?.unwrap();
    /// let unchanged = || Condition::column_version("text", read.text.timestamp_micros);
    /// let mine = Page { text: Timestamped::now("Hello, Bigtable".into()) };
    /// assert!(pages.put_if(&home, &mine, unchanged()).await?);
    /// assert!(!pages.put_if(&home, &mine, unchanged()).await?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// The guarded write gives the column a later timestamp than the compared one: this machine's time, or one millisecond
    /// after the compared timestamp if that is later. This overrides an earlier time in a
    /// [`Timestamped`](super::Timestamped). So if several writers have read the same version, one of them gets true.
    ///
    /// The guarded write must set the column; otherwise it fails, since the version would stay valid for other writers. The
    /// timestamp must be a whole millisecond, as all stored ones are.
    ///
    /// The comparison is exact if all writers compare the version. Compare a value instead if
    ///
    /// - a plain [`put`](crate::Table::put) may write the column in the same millisecond, which keeps the timestamp;
    /// - the column may be deleted and set again, which can restore the timestamp.
    ///
    /// If this machine's clock is ahead, the cell gets a future timestamp, which hides a plain `put`: write such a column
    /// with conditions only.
    pub fn column_version(path: impl Into<Bytes>, timestamp_micros: i64) -> Self {
        Kind::Version(Path::new(path), timestamp_micros).into()
    }

    /// The newest value of this column equals `value`, stored as a field of a row. `None` matches a row without the
    /// column.
    pub fn column_equals<V: Serialize + ?Sized>(path: impl Into<Bytes>, value: &V) -> Self {
        let path = Path::new(path);
        let stored = ser::to_stored(value).map_err(|fault| fault.in_column(path.name()));
        Kind::Equals(path, stored).into()
    }

    /// The filter passes at least one cell of the row.
    #[must_use]
    pub fn filter(filter: RowFilter) -> Self {
        Kind::Filter(filter).into()
    }

    /// The negation.
    #[must_use]
    #[expect(
        clippy::should_implement_trait,
        reason = "a condition reads better with it after: `exists().not()`"
    )]
    pub fn not(self) -> Self {
        Self { negated: !self.negated, ..self }
    }

    /// The version that it compares, where it holds for a row with that version.
    pub(crate) fn compared_version(&self, own: &Arc<str>) -> Option<ComparedVersion> {
        let Self { kind: Kind::Version(path, timestamp_micros), negated: false } = self else { return None };
        Some(ComparedVersion {
            family: Arc::clone(path.family(own)),
            qualifier: path.name().clone(),
            timestamp_micros: *timestamp_micros,
        })
    }

    /// The filter that leaves a cell where the condition holds, or, for `true`, where it does not. None stands for
    /// any cell of the row.
    pub(crate) fn into_filter(
        self,
        family: &Arc<str>,
        shape: &Shape,
    ) -> Result<(Option<RowFilter>, bool), RowError> {
        let Self { kind, negated } = self;
        Ok(match kind {
            Kind::Row => (None, negated),
            Kind::Filter(filter) => (Some(filter), negated),
            Kind::Column(path) => (Some(path.filter_any(family, shape)?), negated),
            Kind::Version(path, at) => {
                let newest = path.filter_newest(family, shape)?;
                if !value::is_timestamp(at) {
                    let fault = Fault::unsupported(format_args!(
                        "is compared with the timestamp {at}, which no version has; Bigtable stores whole milliseconds \
                         from 0 on, given in microseconds: compare with the timestamp that was read"
                    ));
                    return Err(fault.in_column(path.name()).in_family(path.family(family)));
                }
                (Some(RowFilter::chain([newest, RowFilter::timestamps(at..=at)])), negated)
            }
            Kind::Equals(path, value) => {
                let newest = path.filter_newest(family, shape)?;
                let of = path.family(family);
                match value.map_err(|fault| fault.in_family(of))? {
                    Stored::Absent => (Some(newest), !negated),
                    Stored::Value(value) => {
                        let value = *value;
                        let equal = RowFilter::value_range(value.clone()..=value);
                        (Some(RowFilter::chain([newest, equal])), negated)
                    }
                    Stored::Versions(_) | Stored::Set | Stored::Family => {
                        let fault = Fault::unsupported(
                            "is compared with values that have timestamps; compare the value alone, or the timestamp \
                             with `Condition::column_version`",
                        );
                        return Err(fault.in_column(path.name()).in_family(of));
                    }
                }
            }
        })
    }
}

impl From<Kind> for Condition {
    fn from(kind: Kind) -> Self {
        Self { kind, negated: false }
    }
}
