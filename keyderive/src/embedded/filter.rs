//! Filters: what a read leaves out of the rows it sends.

use bytes::Bytes;
use tonic::Status;

use crate::row::Cell;
use crate::wire::data;
use crate::wire::data::row_filter::Filter as Message;

/// A filter that is known to make sense.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Filter {
    PassAll,
    BlockAll,
    CellsPerRow(usize),
    CellsPerColumn(usize),
    StripValue,
    Chain(Vec<Filter>),
}

impl Filter {
    /// The filter that a request asks for; everything passes without one.
    pub(super) fn new(filter: Option<data::RowFilter>) -> Result<Self, Status> {
        let Some(filter) = filter else { return Ok(Self::PassAll) };
        let Some(filter) = filter.filter else {
            return Err(Status::invalid_argument("a filter is empty"));
        };
        match filter {
            Message::PassAllFilter(true) => Ok(Self::PassAll),
            Message::BlockAllFilter(true) => Ok(Self::BlockAll),
            Message::StripValueTransformer(true) => Ok(Self::StripValue),
            Message::PassAllFilter(false) => Err(must_be_true("pass_all_filter")),
            Message::BlockAllFilter(false) => Err(must_be_true("block_all_filter")),
            Message::StripValueTransformer(false) => Err(must_be_true("strip_value_transformer")),
            Message::CellsPerRowLimitFilter(limit) => {
                count("cells_per_row_limit_filter", limit).map(Self::CellsPerRow)
            }
            Message::CellsPerColumnLimitFilter(limit) => {
                count("cells_per_column_limit_filter", limit).map(Self::CellsPerColumn)
            }
            Message::Chain(chain) => {
                if chain.filters.len() < 2 {
                    return Err(Status::invalid_argument("a chain has fewer than two filters"));
                }
                chain
                    .filters
                    .into_iter()
                    .map(|filter| Self::new(Some(filter)))
                    .collect::<Result<_, _>>()
                    .map(Self::Chain)
            }
            other => Err(Status::unimplemented(format!(
                "the embedded Bigtable has no filter `{}` yet",
                name(&other)
            ))),
        }
    }

    /// What the filter leaves of a row's cells.
    pub(super) fn apply(&self, mut cells: Vec<Cell>) -> Vec<Cell> {
        match self {
            Self::PassAll => cells,
            Self::BlockAll => Vec::new(),
            Self::CellsPerRow(limit) => {
                cells.truncate(*limit);
                cells
            }
            Self::CellsPerColumn(limit) => newest_of_each_column(cells, *limit),
            Self::StripValue => {
                cells.iter_mut().for_each(|cell| cell.value = Bytes::new());
                cells
            }
            Self::Chain(filters) => filters.iter().fold(cells, |cells, filter| filter.apply(cells)),
        }
    }
}

/// Relies on the order of cells: those of one column are together, newest first.
fn newest_of_each_column(cells: Vec<Cell>, limit: usize) -> Vec<Cell> {
    let mut kept: Vec<Cell> = Vec::with_capacity(cells.len());
    let mut versions = 0;
    for cell in cells {
        let same =
            kept.last().is_some_and(|last| last.family == cell.family && last.qualifier == cell.qualifier);
        versions = if same { versions + 1 } else { 1 };
        if versions <= limit {
            kept.push(cell);
        }
    }
    kept
}

fn must_be_true(filter: &str) -> Status {
    Status::invalid_argument(format!("`{filter}` is false, and it can only be true"))
}

fn count(filter: &str, limit: i32) -> Result<usize, Status> {
    usize::try_from(limit)
        .ok()
        .filter(|limit| *limit > 0)
        .ok_or_else(|| Status::invalid_argument(format!("`{filter}` is {limit}, and it must be at least 1")))
}

fn name(filter: &Message) -> &'static str {
    match filter {
        Message::Chain(_) => "chain",
        Message::Interleave(_) => "interleave",
        Message::Condition(_) => "condition",
        Message::Sink(_) => "sink",
        Message::PassAllFilter(_) => "pass_all_filter",
        Message::BlockAllFilter(_) => "block_all_filter",
        Message::RowKeyRegexFilter(_) => "row_key_regex_filter",
        Message::RowSampleFilter(_) => "row_sample_filter",
        Message::FamilyNameRegexFilter(_) => "family_name_regex_filter",
        Message::ColumnQualifierRegexFilter(_) => "column_qualifier_regex_filter",
        Message::ColumnRangeFilter(_) => "column_range_filter",
        Message::TimestampRangeFilter(_) => "timestamp_range_filter",
        Message::ValueRegexFilter(_) => "value_regex_filter",
        Message::ValueRangeFilter(_) => "value_range_filter",
        Message::CellsPerRowOffsetFilter(_) => "cells_per_row_offset_filter",
        Message::CellsPerRowLimitFilter(_) => "cells_per_row_limit_filter",
        Message::CellsPerColumnLimitFilter(_) => "cells_per_column_limit_filter",
        Message::StripValueTransformer(_) => "strip_value_transformer",
        Message::ApplyLabelTransformer(_) => "apply_label_transformer",
    }
}

#[cfg(test)]
mod tests {
    use tonic::Code;

    use super::*;
    use crate::wire::data::row_filter::{Chain, Interleave};

    fn message(filter: Message) -> data::RowFilter {
        data::RowFilter { filter: Some(filter) }
    }

    fn cells() -> Vec<Cell> {
        let cell = |family: &str, qualifier: &'static str, timestamp_micros| Cell {
            family: family.into(),
            qualifier: qualifier.into(),
            timestamp_micros,
            value: "v".into(),
            labels: Vec::new(),
        };
        vec![cell("a", "x", 2000), cell("a", "x", 1000), cell("a", "y", 1000), cell("b", "y", 1000)]
    }

    fn left(filter: Message) -> Vec<Cell> {
        Filter::new(Some(message(filter))).unwrap().apply(cells())
    }

    fn refused(filter: Message) -> (Code, String) {
        let status = Filter::new(Some(message(filter))).unwrap_err();
        (status.code(), status.message().to_owned())
    }

    #[test]
    fn limits_count_cells_of_the_row_and_of_each_column() {
        assert_eq!(left(Message::CellsPerRowLimitFilter(3)), cells()[..3]);
        let newest = left(Message::CellsPerColumnLimitFilter(1));
        assert_eq!(newest, [&cells()[..1], &cells()[2..]].concat());
        assert_eq!(left(Message::CellsPerColumnLimitFilter(2)), cells());
    }

    #[test]
    fn a_chain_filters_what_is_left() {
        let chain = Chain {
            filters: vec![
                message(Message::CellsPerColumnLimitFilter(1)),
                message(Message::CellsPerRowLimitFilter(2)),
                message(Message::StripValueTransformer(true)),
            ],
        };
        let left = left(Message::Chain(chain));
        assert_eq!(left.len(), 2);
        assert!(left.iter().all(|cell| cell.value.is_empty()));
    }

    #[test]
    fn all_or_nothing() {
        assert_eq!(left(Message::PassAllFilter(true)), cells());
        assert_eq!(left(Message::BlockAllFilter(true)), []);
        assert_eq!(Filter::new(None).unwrap(), Filter::PassAll);
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let (code, text) = refused(Message::CellsPerRowLimitFilter(0));
        assert_eq!(code, Code::InvalidArgument);
        assert_eq!(text, "`cells_per_row_limit_filter` is 0, and it must be at least 1");
        assert_eq!(refused(Message::PassAllFilter(false)).0, Code::InvalidArgument);
        assert_eq!(refused(Message::Chain(Chain::default())).0, Code::InvalidArgument);
        let empty = Filter::new(Some(data::RowFilter { filter: None })).unwrap_err();
        assert_eq!(empty.code(), Code::InvalidArgument);
    }

    #[test]
    fn what_is_not_built_yet_is_named() {
        let (code, text) = refused(Message::Interleave(Interleave::default()));
        assert_eq!(code, Code::Unimplemented);
        assert_eq!(text, "the embedded Bigtable has no filter `interleave` yet");
    }
}
