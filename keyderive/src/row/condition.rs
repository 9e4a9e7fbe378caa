//! What a row has to be like for a conditional write to be made.

use std::sync::Arc;

use bytes::Bytes;
use serde::Serialize;

use super::RowFilter;
use super::error::{Fault, RowError};
use super::path::Path;
use super::ser::{self, Stored};

/// What a row has to be like for a conditional write to be made.
///
/// ```
/// use keyderive::row::Condition;
///
/// let unclaimed = Condition::column_exists("owner").not();
/// let still_mine = Condition::column_equals("owner", "alice");
/// let first_time = Condition::row_exists().not();
/// ```
///
/// Columns are named as in all calls: `name` in the table's own family, `family:name` in another. Of each, the newest
/// version counts.
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
    /// The row has a cell, in whatever family.
    #[must_use]
    pub fn row_exists() -> Self {
        Kind::Row.into()
    }

    /// The row has a value in this column; in any column of a family, for `family:`.
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
    /// let mine = Page { text: Timestamped::new(2_000_000, "Hello, Bigtable".into()) };
    /// assert!(pages.put_if(&home, &mine, unchanged()).await?);
    /// assert!(!pages.put_if(&home, &mine, unchanged()).await?);
    /// # Ok(())
    /// # }
    /// ```
    pub fn column_version(path: impl Into<Bytes>, timestamp_micros: i64) -> Self {
        Kind::Version(Path::new(path), timestamp_micros).into()
    }

    /// The newest value of this column is equal to `value`, in the form in which a row's field is stored. `None` is
    /// what a row without the column has.
    pub fn column_equals<V: Serialize + ?Sized>(path: impl Into<Bytes>, value: &V) -> Self {
        let path = Path::new(path);
        let stored = ser::to_stored(value).map_err(|fault| match path.column() {
            Some(column) => fault.in_column(column),
            None => fault,
        });
        Kind::Equals(path, stored).into()
    }

    /// The filter leaves a cell of the row.
    #[must_use]
    pub fn filter(filter: RowFilter) -> Self {
        Kind::Filter(filter).into()
    }

    /// The opposite.
    #[must_use]
    #[expect(
        clippy::should_implement_trait,
        reason = "a condition reads better with it behind: `exists().not()`"
    )]
    pub fn not(self) -> Self {
        Self { negated: !self.negated, ..self }
    }

    /// The filter that leaves a cell where the condition holds, or, for `true`, where it does not. None stands for
    /// any cell of the row.
    pub(crate) fn into_filter(self, family: &Arc<str>) -> Result<(Option<RowFilter>, bool), RowError> {
        let Self { kind, negated } = self;
        let newest = |path: &Path| RowFilter::chain([path.filter(family), RowFilter::latest(1)]);
        Ok(match kind {
            Kind::Row => (None, negated),
            Kind::Filter(filter) => (Some(filter), negated),
            Kind::Column(path) => (Some(path.filter(family)), negated),
            Kind::Version(path, at) => {
                (Some(RowFilter::chain([newest(&path), RowFilter::timestamps(at..=at)])), negated)
            }
            Kind::Equals(path, value) => {
                let of = path.family(family);
                match value.map_err(|fault| fault.in_family(of))? {
                    Stored::Absent => (Some(path.filter(family)), !negated),
                    Stored::Value(value) => {
                        let equal = RowFilter::value_range(value.clone()..=value);
                        (Some(RowFilter::chain([newest(&path), equal])), negated)
                    }
                    Stored::Versions(_) | Stored::Family => {
                        let fault = Fault::unsupported(
                            "is compared with values that have timestamps; compare the value alone, or the timestamp \
                             with `Condition::column_version`",
                        );
                        return Err(fault.in_column(path.column().unwrap_or(&Bytes::new())).in_family(of));
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
