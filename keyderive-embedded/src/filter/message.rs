//! Filters out of their messages: what the service refuses is refused here.

use std::ops::Bound;

use keyderive_proto::data;
use keyderive_proto::data::row_filter::{self, Filter as Message};
use keyderive_proto::data::{column_range, value_range};
use prost::Message as _;
use tonic::Status;

use super::pattern::{Budget, Pattern};
use super::{Columns, Condition, Filter, Range, Sample, Timestamps};

/// The size of the largest filter that the service takes.
const MAX_BYTES: usize = 20_480;

/// How deep the service lets filters be nested.
const MAX_DEPTH: usize = 20;

/// A limit of this Bigtable alone: a filter of a few bytes could otherwise ask for more memory than there is.
pub(super) const MAX_COPIES: usize = 10_000;

const MAX_LABEL_BYTES: usize = 15;

const GRANULARITY_MICROS: i64 = 1000;

/// How large a filter may be, and how large its regular expressions, for it to be made while other tasks wait.
const SOON_MADE_BYTES: usize = 512;

/// Where in a request a filter stands.
#[derive(Clone, Copy)]
struct Place<'a> {
    depth: usize,
    in_condition: bool,
    /// What the regular expressions of the whole filter share.
    patterns: &'a Budget,
}

impl Filter {
    /// The filter that a request asks for; everything passes without one.
    pub(crate) fn new(filter: Option<data::RowFilter>) -> Result<Self, Status> {
        let Some(filter) = filter else { return Ok(Self::PassAll) };
        let bytes = filter.encoded_len();
        if bytes > MAX_BYTES {
            return Err(Status::invalid_argument(format!(
                "the filter has {bytes} bytes, and it may have {MAX_BYTES}"
            )));
        }
        let mut patterns = 0;
        each_pattern(&filter, &mut |_| patterns += 1);
        let patterns = Budget::new(patterns);
        let filter = at(filter, Place { depth: 1, in_condition: false, patterns: &patterns })?;
        match filter.copies() {
            ..=MAX_COPIES => Ok(filter),
            copies => Err(Status::invalid_argument(format!(
                "the `interleave` filters can leave each cell {copies} times, and {MAX_COPIES} times is the most"
            ))),
        }
    }

    /// Whether a filter is checked and compiled so soon that other tasks may wait for it.
    pub(crate) fn is_soon_made(message: &data::RowFilter) -> bool {
        // A repetition makes much of a few bytes.
        let mut repeats = false;
        each_pattern(message, &mut |regex| repeats |= regex.contains(&b'{'));
        !repeats && message.encoded_len() <= SOON_MADE_BYTES
    }
}

/// Visits the regular expressions of a filter and of its parts. Recurses no deeper than a message can be nested to be
/// decoded.
fn each_pattern(filter: &data::RowFilter, visit: &mut dyn FnMut(&[u8])) {
    match &filter.filter {
        Some(
            Message::RowKeyRegexFilter(regex)
            | Message::ColumnQualifierRegexFilter(regex)
            | Message::ValueRegexFilter(regex),
        ) => visit(regex),
        Some(Message::FamilyNameRegexFilter(regex)) => visit(regex.as_bytes()),
        Some(Message::Chain(chain)) => chain.filters.iter().for_each(|part| each_pattern(part, visit)),
        Some(Message::Interleave(interleave)) => {
            interleave.filters.iter().for_each(|part| each_pattern(part, visit));
        }
        Some(Message::Condition(condition)) => {
            let row_filter::Condition { predicate_filter, true_filter, false_filter } = &**condition;
            let parts = [predicate_filter, true_filter, false_filter].into_iter().flatten();
            parts.for_each(|part| each_pattern(part, visit));
        }
        _ => {}
    }
}

fn at(filter: data::RowFilter, place: Place<'_>) -> Result<Filter, Status> {
    if place.depth > MAX_DEPTH {
        return Err(Status::invalid_argument(format!("filters are nested more than {MAX_DEPTH} deep")));
    }
    let Some(filter) = filter.filter else { return Err(Status::invalid_argument("a filter is empty")) };
    Ok(match filter {
        Message::PassAllFilter(set) => only_true("pass_all_filter", set, Filter::PassAll)?,
        Message::BlockAllFilter(set) => only_true("block_all_filter", set, Filter::BlockAll)?,
        Message::StripValueTransformer(set) => only_true("strip_value_transformer", set, Filter::StripValue)?,
        Message::Sink(_) if place.in_condition => {
            return Err(Status::invalid_argument("`sink` is in a `condition`"));
        }
        Message::Sink(set) => only_true("sink", set, Filter::Sink)?,
        Message::Chain(row_filter::Chain { filters }) => {
            let labels = filters.iter().filter(|filter| has_label(filter)).count();
            if labels > 1 {
                return Err(Status::invalid_argument(format!(
                    "{labels} filters of a `chain` have an `apply_label_transformer`, and one may"
                )));
            }
            Filter::Chain(parts("chain", filters, place)?)
        }
        Message::Interleave(row_filter::Interleave { filters }) => {
            Filter::Interleave(parts("interleave", filters, place)?)
        }
        Message::Condition(condition) => Filter::Condition(Box::new(self::condition(*condition, place)?)),
        Message::RowKeyRegexFilter(regex) if regex.is_empty() => {
            return Err(Status::invalid_argument("`row_key_regex_filter` is empty, and so is no row key"));
        }
        Message::RowKeyRegexFilter(regex) => {
            Filter::RowKey(Pattern::new("row_key_regex_filter", &regex, place.patterns)?)
        }
        Message::RowSampleFilter(probability) if probability > 0.0 && probability < 1.0 => {
            Filter::RowSample(Sample::new(probability))
        }
        Message::RowSampleFilter(probability) => {
            return Err(Status::invalid_argument(format!(
                "`row_sample_filter` is {probability}, and it must be between 0 and 1"
            )));
        }
        Message::FamilyNameRegexFilter(regex) if regex.contains(':') => {
            return Err(Status::invalid_argument(format!(
                "`family_name_regex_filter` `{regex}` has a colon"
            )));
        }
        Message::FamilyNameRegexFilter(regex) => {
            Filter::Family(Pattern::new("family_name_regex_filter", regex.as_bytes(), place.patterns)?)
        }
        Message::ColumnQualifierRegexFilter(regex) => {
            Filter::Qualifier(Pattern::new("column_qualifier_regex_filter", &regex, place.patterns)?)
        }
        Message::ColumnRangeFilter(range) => Filter::Columns(columns(range)?),
        Message::TimestampRangeFilter(range) => Filter::Timestamps(timestamps(range)?),
        Message::ValueRegexFilter(regex) => {
            Filter::Value(Pattern::new("value_regex_filter", &regex, place.patterns)?)
        }
        Message::ValueRangeFilter(range) => Filter::Values(values(range)?),
        Message::CellsPerRowOffsetFilter(skipped) => {
            Filter::SkipCells(count("cells_per_row_offset_filter", skipped, 0)?)
        }
        Message::CellsPerRowLimitFilter(limit) => {
            Filter::CellsPerRow(count("cells_per_row_limit_filter", limit, 1)?)
        }
        Message::CellsPerColumnLimitFilter(limit) => {
            Filter::CellsPerColumn(count("cells_per_column_limit_filter", limit, 1)?)
        }
        Message::ApplyLabelTransformer(label) => Filter::Label(checked(label)?),
    })
}

fn only_true(name: &str, set: bool, filter: Filter) -> Result<Filter, Status> {
    if set {
        return Ok(filter);
    }
    Err(Status::invalid_argument(format!("`{name}` is false, and it can only be true")))
}

fn parts(name: &str, filters: Vec<data::RowFilter>, place: Place<'_>) -> Result<Vec<Filter>, Status> {
    if filters.len() < 2 {
        return Err(Status::invalid_argument(format!("`{name}` has fewer than two filters")));
    }
    let place = Place { depth: place.depth + 1, ..place };
    filters.into_iter().map(|filter| at(filter, place)).collect()
}

/// A branch that is not given leaves nothing.
fn condition(condition: row_filter::Condition, place: Place<'_>) -> Result<Condition, Status> {
    let place = Place { depth: place.depth + 1, in_condition: true, ..place };
    let Some(predicate) = condition.predicate_filter else {
        return Err(Status::invalid_argument("`condition` has no `predicate_filter`"));
    };
    let branch = |filter: Option<Box<data::RowFilter>>| {
        filter.map_or(Ok(Filter::BlockAll), |filter| at(*filter, place))
    };
    Ok(Condition {
        predicate: at(*predicate, place)?,
        then: branch(condition.true_filter)?,
        otherwise: branch(condition.false_filter)?,
    })
}

/// Recurses no deeper than a message can be nested to be decoded.
fn has_label(filter: &data::RowFilter) -> bool {
    let part = |filter: &Option<Box<data::RowFilter>>| filter.as_deref().is_some_and(has_label);
    match &filter.filter {
        Some(Message::ApplyLabelTransformer(_)) => true,
        Some(Message::Chain(chain)) => chain.filters.iter().any(has_label),
        Some(Message::Interleave(interleave)) => interleave.filters.iter().any(has_label),
        Some(Message::Condition(condition)) => {
            part(&condition.predicate_filter) || part(&condition.true_filter) || part(&condition.false_filter)
        }
        _ => false,
    }
}

fn columns(range: data::ColumnRange) -> Result<Columns, Status> {
    use column_range::{EndQualifier, StartQualifier};
    if range.family_name.is_empty() {
        return Err(Status::invalid_argument("`column_range_filter` names no column family"));
    }
    let start = match range.start_qualifier {
        None => Bound::Unbounded,
        Some(StartQualifier::StartQualifierClosed(start)) => Bound::Included(start),
        Some(StartQualifier::StartQualifierOpen(start)) => Bound::Excluded(start),
    };
    let end = match range.end_qualifier {
        None => Bound::Unbounded,
        Some(EndQualifier::EndQualifierClosed(end)) => Bound::Included(end),
        Some(EndQualifier::EndQualifierOpen(end)) => Bound::Excluded(end),
    };
    Ok(Columns { family: range.family_name, qualifiers: ordered("column_range_filter", start, end)? })
}

fn values(range: data::ValueRange) -> Result<Range, Status> {
    use value_range::{EndValue, StartValue};
    let start = match range.start_value {
        None => Bound::Unbounded,
        Some(StartValue::StartValueClosed(start)) => Bound::Included(start),
        Some(StartValue::StartValueOpen(start)) => Bound::Excluded(start),
    };
    let end = match range.end_value {
        None => Bound::Unbounded,
        Some(EndValue::EndValueClosed(end)) => Bound::Included(end),
        Some(EndValue::EndValueOpen(end)) => Bound::Excluded(end),
    };
    ordered("value_range_filter", start, end)
}

/// A range may hold nothing, but not be backwards.
fn ordered(name: &str, start: Bound<bytes::Bytes>, end: Bound<bytes::Bytes>) -> Result<Range, Status> {
    if let (Bound::Included(first) | Bound::Excluded(first), Bound::Included(last) | Bound::Excluded(last)) =
        (&start, &end)
        && first > last
    {
        return Err(Status::invalid_argument(format!(
            "`{name}` starts at {first:?}, after its end {last:?}"
        )));
    }
    Ok(Range { start, end })
}

/// An end of zero is none.
fn timestamps(range: data::TimestampRange) -> Result<Timestamps, Status> {
    let data::TimestampRange { start_timestamp_micros: start, end_timestamp_micros: end } = range;
    if let Some(bound) = [start, end].into_iter().find(|bound| bound % GRANULARITY_MICROS != 0) {
        return Err(Status::invalid_argument(format!(
            "`timestamp_range_filter` has the bound {bound}, which is no whole number of milliseconds, in microseconds"
        )));
    }
    let end = Some(end).filter(|end| *end != 0);
    match end.filter(|end| *end < start) {
        None => Ok(Timestamps { start, end }),
        Some(end) => Err(Status::invalid_argument(format!(
            "`timestamp_range_filter` ends at {end}, before its start {start}"
        ))),
    }
}

fn count(name: &str, number: i32, least: usize) -> Result<usize, Status> {
    usize::try_from(number).ok().filter(|number| *number >= least).ok_or_else(|| {
        Status::invalid_argument(format!("`{name}` is {number}, and it must be at least {least}"))
    })
}

fn checked(label: String) -> Result<String, Status> {
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if (1..=MAX_LABEL_BYTES).contains(&label.len()) && label.bytes().all(allowed) {
        return Ok(label);
    }
    Err(Status::invalid_argument(format!(
        "`apply_label_transformer` is {label:?}, and a label is 1 to {MAX_LABEL_BYTES} of `a` to `z`, `0` to `9` and `-`"
    )))
}
