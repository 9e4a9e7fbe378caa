//! Why a filter cannot be sent.

use std::error::Error;
use std::fmt;

use super::{MAX_DEPTH, MAX_LABEL_BYTES};

/// The error of reading with a [`RowFilter`](super::RowFilter) that the service would reject.
///
/// Its text names the faulty part, the rule and the remedy. Nothing was sent.
#[derive(Clone, Debug, PartialEq)]
pub struct FilterError(Fault);

/// What is wrong with a filter.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Fault {
    Label(String),
    TwoLabels,
    Sample(f64),
    /// A colon in a family's name, or in the regular expression for one.
    Family(String),
    /// A name that is not that of a column, as the error of the row says.
    Column(String),
    /// A value that no cell can hold, as its error says.
    Value(String),
    SinkInCondition,
    Depth,
    /// More bytes, as a message, than the service takes.
    Size {
        bytes: usize,
        limit: usize,
    },
}

impl FilterError {
    /// Whether the service would accept the filter if it had fewer columns or less nesting.
    #[must_use]
    pub fn is_too_large(&self) -> bool {
        matches!(self.0, Fault::Size { .. } | Fault::Depth)
    }
}

impl From<Fault> for FilterError {
    fn from(fault: Fault) -> Self {
        Self(fault)
    }
}

impl fmt::Display for FilterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Fault::Label(label) => write!(
                f,
                "the label `{}` has {} bytes, or others than `a` to `z`, `0` to `9` and `-`; a label is 1 to \
                 {MAX_LABEL_BYTES} of these",
                label.escape_debug(),
                label.len()
            ),
            Fault::TwoLabels => f.write_str(
                "two filters of a chain label cells, and a cell has one label; label in one of them, or in several \
                 filters of an interleave",
            ),
            Fault::Sample(probability) => write!(
                f,
                "the probability {probability} of a sample is not between 0 and 1; for all rows or none use \
                 `RowFilter::pass_all()` or `RowFilter::block_all()`"
            ),
            Fault::Family(family) => write!(
                f,
                "`{}` stands for a column family and has a colon, which no family's name has; give the qualifier \
                 by itself",
                family.escape_debug()
            ),
            Fault::Column(fault) => f.write_str(fault),
            Fault::Value(fault) => write!(f, "the value of a filter {fault}"),
            Fault::SinkInCondition => {
                f.write_str("a sink is in a condition, where the service takes none; put it into an interleave")
            }
            Fault::Depth => write!(
                f,
                "filters are nested more than {MAX_DEPTH} deep, which the service does not take; put the filters of \
                 nested chains into one chain"
            ),
            Fault::Size { bytes, limit } => write!(
                f,
                "the filter has {bytes} bytes, and the service takes {limit}; name fewer columns, or a range of \
                 them with `RowFilter::columns`"
            ),
        }
    }
}

impl Error for FilterError {}
