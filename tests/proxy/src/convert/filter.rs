//! Filters.

use std::ops::Bound;

use bytes::Bytes;
use keyderive::row::RowFilter;
use keyderive_proto::data;
use keyderive_proto::data::row_filter::{Condition, Filter};
use tonic::Status;

/// How deep the proxy converts a filter; the service stops at 20.
const MAX_DEPTH: u8 = 32;

pub(crate) fn optional_filter(message: Option<data::RowFilter>) -> Result<Option<RowFilter>, Status> {
    message.map(|message| at_depth(message, MAX_DEPTH)).transpose()
}

fn at_depth(message: data::RowFilter, depth: u8) -> Result<RowFilter, Status> {
    let depth = depth.checked_sub(1).ok_or_else(|| refused("a filter is nested too deep"))?;
    let Some(filter) = message.filter else { return Err(refused("a filter says nothing")) };
    Ok(match filter {
        Filter::Chain(chain) => RowFilter::chain(parts(chain.filters, depth)?),
        Filter::Interleave(interleave) => RowFilter::interleave(parts(interleave.filters, depth)?),
        Filter::Condition(condition) => conditional(*condition, depth)?,
        Filter::Sink(true) => RowFilter::sink(),
        Filter::PassAllFilter(true) => RowFilter::pass_all(),
        Filter::BlockAllFilter(true) => RowFilter::block_all(),
        Filter::StripValueTransformer(true) => RowFilter::strip_value(),
        Filter::Sink(false)
        | Filter::PassAllFilter(false)
        | Filter::BlockAllFilter(false)
        | Filter::StripValueTransformer(false) => return Err(refused("a filter that is a flag must be set")),
        Filter::RowKeyRegexFilter(regex) => RowFilter::row_key_regex(regex),
        Filter::RowSampleFilter(probability) => RowFilter::sample(probability),
        Filter::FamilyNameRegexFilter(regex) => RowFilter::family_regex(regex),
        Filter::ColumnQualifierRegexFilter(regex) => RowFilter::qualifier_regex(regex),
        Filter::ColumnRangeFilter(range) => columns(range)?,
        Filter::TimestampRangeFilter(range) => timestamps(range)?,
        Filter::ValueRegexFilter(regex) => RowFilter::value_regex(regex),
        Filter::ValueRangeFilter(range) => values(range)?,
        Filter::CellsPerRowOffsetFilter(cells) => RowFilter::skip_cells(count(cells)?),
        Filter::CellsPerRowLimitFilter(cells) => RowFilter::cells_per_row(count(cells)?),
        Filter::CellsPerColumnLimitFilter(cells) => RowFilter::latest(count(cells)?),
        Filter::ValueBitmaskFilter(_) => return Err(refused("keyderive has no filter of bits")),
        Filter::ApplyLabelTransformer(label) => RowFilter::label(label),
    })
}

/// The filters of a chain or an interleave; the service requires at least two.
fn parts(filters: Vec<data::RowFilter>, depth: u8) -> Result<Vec<RowFilter>, Status> {
    if filters.len() < 2 {
        return Err(refused("a chain and an interleave need at least two filters"));
    }
    filters.into_iter().map(|filter| at_depth(filter, depth)).collect()
}

/// An absent branch lets no cell pass.
fn conditional(condition: Condition, depth: u8) -> Result<RowFilter, Status> {
    let branch = |filter: Option<Box<data::RowFilter>>| {
        filter.map_or_else(|| Ok(RowFilter::block_all()), |filter| at_depth(*filter, depth))
    };
    let Some(predicate) = condition.predicate_filter else {
        return Err(refused("a condition has no predicate"));
    };
    Ok(RowFilter::condition(
        at_depth(*predicate, depth)?,
        branch(condition.true_filter)?,
        branch(condition.false_filter)?,
    ))
}

fn columns(range: data::ColumnRange) -> Result<RowFilter, Status> {
    use data::column_range::{EndQualifier, StartQualifier};
    let start = match range.start_qualifier {
        Some(StartQualifier::StartQualifierClosed(start)) => Bound::Included(start),
        Some(StartQualifier::StartQualifierOpen(start)) => Bound::Excluded(start),
        None => Bound::Unbounded,
    };
    let end = match range.end_qualifier {
        Some(EndQualifier::EndQualifierClosed(end)) => Bound::Included(end),
        Some(EndQualifier::EndQualifierOpen(end)) => Bound::Excluded(end),
        None => Bound::Unbounded,
    };
    Ok(RowFilter::columns::<Bytes>(range.family_name, some_range(start, end)?))
}

fn values(range: data::ValueRange) -> Result<RowFilter, Status> {
    use data::value_range::{EndValue, StartValue};
    let start = match range.start_value {
        Some(StartValue::StartValueClosed(start)) => Bound::Included(start),
        Some(StartValue::StartValueOpen(start)) => Bound::Excluded(start),
        None => Bound::Unbounded,
    };
    let end = match range.end_value {
        Some(EndValue::EndValueClosed(end)) => Bound::Included(end),
        Some(EndValue::EndValueOpen(end)) => Bound::Excluded(end),
        None => Bound::Unbounded,
    };
    Ok(RowFilter::value_range::<Bytes>(some_range(start, end)?))
}

type Bounds = (Bound<Bytes>, Bound<Bytes>);

/// A range that is not empty, and whose end cannot be mistaken for no end.
fn some_range(start: Bound<Bytes>, end: Bound<Bytes>) -> Result<Bounds, Status> {
    let is_some = match (&start, &end) {
        (_, Bound::Unbounded) => true,
        (_, Bound::Included(end) | Bound::Excluded(end)) if end.is_empty() => false,
        (Bound::Unbounded, _) => true,
        (Bound::Included(start), Bound::Included(end)) => start <= end,
        (Bound::Included(start) | Bound::Excluded(start), Bound::Included(end) | Bound::Excluded(end)) => {
            start < end
        }
    };
    if is_some { Ok((start, end)) } else { Err(refused("a range of a filter is empty")) }
}

fn timestamps(range: data::TimestampRange) -> Result<RowFilter, Status> {
    let range = micros(range)?;
    Ok(match range {
        (start, 0) => RowFilter::timestamps(start..),
        (start, end) => RowFilter::timestamps(start..end),
    })
}

/// The start and the end of a range of timestamps that is not empty; an end of 0 is no end.
pub(super) fn micros(range: data::TimestampRange) -> Result<(i64, i64), Status> {
    let (start, end) = (range.start_timestamp_micros, range.end_timestamp_micros);
    if start >= 0 && (end == 0 || start < end) {
        return Ok((start, end));
    }
    Err(refused("a range of timestamps must not be negative, and not empty"))
}

fn count(cells: i32) -> Result<u32, Status> {
    u32::try_from(cells)
        .ok()
        .filter(|cells| *cells > 0)
        .ok_or_else(|| refused("a count of cells must be above 0"))
}

fn refused(reason: &str) -> Status {
    Status::invalid_argument(reason)
}
