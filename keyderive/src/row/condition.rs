//! What a row has to be like for a conditional write to be made.

use std::sync::Arc;

use bytes::Bytes;
use serde::Serialize;

use super::error::{Fault, RowError};
use super::{RowFilter, ser};

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
/// Columns are those of the table's family; of each, the newest version counts.
#[derive(Debug)]
pub struct Condition {
    kind: Kind,
    negated: bool,
}

#[derive(Debug)]
enum Kind {
    Row,
    Column(Bytes),
    Equals(Bytes, Result<Option<Bytes>, Fault>),
    Filter(RowFilter),
}

impl Condition {
    /// The row has a cell, in whatever family.
    #[must_use]
    pub fn row_exists() -> Self {
        Kind::Row.into()
    }

    /// The row has a value in this column.
    pub fn column_exists(name: impl Into<Bytes>) -> Self {
        Kind::Column(name.into()).into()
    }

    /// The newest value of this column is equal to `value`, in the form in which a row's field is stored. `None` is
    /// what a row without the column has.
    pub fn column_equals<V: Serialize + ?Sized>(name: impl Into<Bytes>, value: &V) -> Self {
        let name = name.into();
        let value = ser::to_value(value).map_err(|fault| fault.in_column(&name));
        Kind::Equals(name, value).into()
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
        let column = |name| RowFilter::exact_column(&**family, name);
        Ok(match kind {
            Kind::Row => (None, negated),
            Kind::Filter(filter) => (Some(filter), negated),
            Kind::Column(name) => (Some(column(name)), negated),
            Kind::Equals(name, value) => match value.map_err(|fault| fault.in_family(family))? {
                None => (Some(column(name)), !negated),
                Some(value) => {
                    let newest = RowFilter::chain([column(name), RowFilter::latest(1)]);
                    (Some(RowFilter::chain([newest, RowFilter::value_range(value.clone()..=value)])), negated)
                }
            },
        })
    }
}

impl From<Kind> for Condition {
    fn from(kind: Kind) -> Self {
        Self { kind, negated: false }
    }
}
