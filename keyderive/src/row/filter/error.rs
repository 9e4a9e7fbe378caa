//! Why a filter cannot be sent.

use std::error::Error;
use std::fmt;

use super::{MAX_DEPTH, MAX_LABEL_BYTES};

/// The error of reading with a [`RowFilter`](super::RowFilter) that the service would reject.
///
/// Its text names the faulty part, the rule and the remedy. Nothing was sent.
#[derive(Clone, Debug, PartialEq)]
pub struct FilterError(FilterFault);

/// What is wrong with a filter.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum FilterFault {
    Label(String),
    OwnLabel(String),
    KeyOfOneTable,
    TwoLabels,
    Sample(f64),
    /// A colon in a family's name, or in the regular expression for one.
    Family(String),
    /// A name that is no column's, as the error of the row says.
    Column(String),
    /// A value that no cell can hold, as its error says.
    Value(String),
    SinkInCondition,
    /// A label or a sink, where columns are selected.
    InSelection,
    Depth,
    /// More bytes, as a message, than the service takes.
    Size {
        bytes: usize,
        limit: usize,
        largest: Largest,
    },
}

/// What takes the most bytes of a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Largest {
    /// One value of this many bytes.
    Value(usize),
    /// This many values.
    Values(usize),
    /// A regular expression of this many bytes.
    Regex(usize),
    /// The names of some columns of one family.
    Columns { columns: usize, bytes: usize },
    /// This many single filters.
    Parts(usize),
}

/// What takes the room, and what to do.
impl fmt::Display for Largest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(bytes) => write!(
                f,
                "a compared value has {bytes} bytes, and equality sends it twice; compare a column that holds a hash of the value, or \
                 the column's `version`, or compare in the program that has read the row"
            ),
            Self::Values(values) => write!(
                f,
                "{values} values are compared; compare fewer of them in one call, or a range of them, or compare in the program that \
                 has read the row"
            ),
            Self::Regex(bytes) => {
                write!(f, "a regular expression has {bytes} bytes; shorten it, or match a prefix by a range")
            }
            Self::Columns { columns, bytes } => write!(
                f,
                "the names of columns have {bytes} bytes, of which it names {columns} in one family; name fewer, or a range of them \
                 with `RowFilter::columns`"
            ),
            Self::Parts(parts) => write!(
                f,
                "it is made of {parts} single filters; join fewer with `and`, `or` and `interleave`, compare one column with several values by \
                 `one_of`, or check some parts in the program that has read the row"
            ),
        }
    }
}

impl FilterError {
    /// Whether the service would accept the filter if it had fewer bytes or less nesting.
    #[must_use]
    pub fn is_too_large(&self) -> bool {
        matches!(self.0, FilterFault::Size { .. } | FilterFault::Depth)
    }
}

impl From<FilterFault> for FilterError {
    fn from(fault: FilterFault) -> Self {
        Self(fault)
    }
}

impl fmt::Display for FilterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            FilterFault::Label(label) => write!(
                f,
                "the label `{}` has {} bytes, or others than `a` to `z`, `0` to `9` and `-`; a label is 1 to \
                 {MAX_LABEL_BYTES} of these",
                label.escape_debug(),
                label.len()
            ),
            FilterFault::OwnLabel(label) => write!(
                f,
                "the label `{label}` begins with `keyderive-`, which is reserved; use another label"
            ),
            FilterFault::KeyOfOneTable => f.write_str(
                "a row of a table that is re-keyed has two keys, and `row_key_regex` would match the one of the table that has \
                 the row just now; choose rows by a plan, or by their columns",
            ),
            FilterFault::TwoLabels => f.write_str(
                "two filters of a chain label cells, and a cell has one label; label in one of them, or in several \
                 filters of an interleave",
            ),
            FilterFault::Sample(probability) => write!(
                f,
                "the probability {probability} of a sample is not between 0 and 1; for all rows or none use \
                 `RowFilter::pass_all()` or `RowFilter::block_all()`"
            ),
            FilterFault::Family(family) => write!(
                f,
                "`{}` stands for a column family and has a colon, which no family's name has; give the qualifier \
                 by itself",
                family.escape_debug()
            ),
            FilterFault::Column(fault) => f.write_str(fault),
            FilterFault::Value(fault) => write!(f, "the value of a filter {fault}"),
            FilterFault::SinkInCondition => {
                f.write_str("a sink is in a condition, where the service takes none; put it into an interleave")
            }
            FilterFault::InSelection => f.write_str(
                "columns are selected, and a filter has a label or a sink: a sink would return cells that are not selected, and the \
                 selection labels a cell of each row itself; read whole rows with this filter, or select columns without it",
            ),
            FilterFault::Depth => write!(
                f,
                "filters are nested more than {MAX_DEPTH} deep, which the service does not take; put the filters of nested chains into one \
                 chain. In a condition, each change between `and` and `or` is a level: instead of `a.and(b).or(c).and(d)`, write one \
                 `or` of `and`s, `a.and(b).and(d).or(c.and(d))`, which has few levels whatever its length, or check some parts in the \
                 program that has read the row"
            ),
            FilterFault::Size { bytes, limit, largest } => {
                write!(f, "the condition or filter has {bytes} bytes, and the service takes {limit}: {largest}")
            }
        }
    }
}

impl Error for FilterError {}
