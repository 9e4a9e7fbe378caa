//! Filters as protobuf messages.

use std::ops::Bound;

use bytes::Bytes;
use keyderive_proto::data;
use keyderive_proto::data::row_filter::{Chain, Condition, Filter, Interleave};
use prost::Message as _;

use crate::row::{ByteRange, FilterError, FilterFault, FilterKind, LargestPart, RowFilter, TimeRange};

/// The service rejects larger filters.
const MAX_BYTES: usize = 20_480;

/// The message of a filter.
pub(super) fn message(filter: &RowFilter) -> Result<data::RowFilter, FilterError> {
    let message = data::RowFilter { filter: Some(kind(filter)?) };
    match message.encoded_len() {
        ..=MAX_BYTES => Ok(message),
        bytes => {
            Err(FilterFault::Size { bytes, limit: MAX_BYTES, largest: Sizes::of(filter).largest() }.into())
        }
    }
}

/// Fails for a filter that the service would reject.
pub(crate) fn check(filter: &RowFilter) -> Result<(), FilterError> {
    message(filter).map(drop)
}

/// What takes the bytes of a filter.
#[derive(Default)]
struct Sizes {
    parts: usize,
    values: usize,
    value_bytes: usize,
    longest_value: usize,
    longest_regex: usize,
    /// The columns of the filter that has the most bytes of names, and these.
    columns: usize,
    column_bytes: usize,
}

impl Sizes {
    fn of(filter: &RowFilter) -> Self {
        let mut sizes = Self::default();
        sizes.add(filter);
        sizes
    }

    fn add(&mut self, filter: &RowFilter) {
        let regex = match filter.kind() {
            FilterKind::Chain(filters) | FilterKind::Interleave(filters) => {
                return filters.iter().for_each(|filter| self.add(filter));
            }
            FilterKind::Condition(condition) => {
                return [&condition.predicate, &condition.then, &condition.otherwise]
                    .into_iter()
                    .for_each(|filter| self.add(filter));
            }
            FilterKind::AnyColumn { qualifiers, .. } => {
                self.parts += 1;
                let bytes = qualifiers.iter().map(Bytes::len).sum();
                if bytes >= self.column_bytes {
                    (self.columns, self.column_bytes) = (qualifiers.len(), bytes);
                }
                return;
            }
            FilterKind::Values(range) => {
                self.values += 1;
                for bound in [&range.start, &range.end] {
                    let (Bound::Included(value) | Bound::Excluded(value)) = bound else { continue };
                    self.value_bytes += value.len();
                    self.longest_value = self.longest_value.max(value.len());
                }
                return;
            }
            FilterKind::RowKeyRegex(regex)
            | FilterKind::QualifierRegex(regex)
            | FilterKind::ValueRegex(regex) => regex.len(),
            FilterKind::FamilyRegex(regex) => regex.len(),
            _ => 0,
        };
        self.parts += 1;
        self.longest_regex = self.longest_regex.max(regex);
    }

    /// One part that takes a third of the room or more is the cause; otherwise it is how many there are.
    fn largest(&self) -> LargestPart {
        let is_large = |bytes: usize| bytes > MAX_BYTES / 3;
        if is_large(self.longest_value) {
            LargestPart::Value(self.longest_value)
        } else if is_large(self.longest_regex) {
            LargestPart::Regex(self.longest_regex)
        } else if is_large(self.column_bytes) {
            LargestPart::Columns { columns: self.columns, bytes: self.column_bytes }
        } else if is_large(self.value_bytes) && self.values > self.parts {
            LargestPart::Values(self.values)
        } else {
            LargestPart::Parts(self.parts + self.values)
        }
    }
}

fn kind(filter: &RowFilter) -> Result<Filter, FilterError> {
    Ok(match filter.kind() {
        FilterKind::PassAll => Filter::PassAllFilter(true),
        FilterKind::BlockAll => Filter::BlockAllFilter(true),
        FilterKind::Chain(filters) => Filter::Chain(Chain { filters: parts(filters)? }),
        FilterKind::Interleave(filters) => Filter::Interleave(Interleave { filters: parts(filters)? }),
        FilterKind::Condition(condition) => Filter::Condition(Box::new(Condition {
            predicate_filter: Some(Box::new(part(&condition.predicate)?)),
            true_filter: branch(&condition.then)?,
            false_filter: branch(&condition.otherwise)?,
        })),
        FilterKind::Sink => Filter::Sink(true),
        FilterKind::RowKeyRegex(regex) => Filter::RowKeyRegexFilter(regex.clone()),
        FilterKind::RowSample(probability) => Filter::RowSampleFilter(*probability),
        FilterKind::Family(name) => Filter::FamilyNameRegexFilter(escaped_name(name)),
        FilterKind::FamilyRegex(regex) => Filter::FamilyNameRegexFilter(regex.clone()),
        FilterKind::QualifierRegex(regex) => Filter::ColumnQualifierRegexFilter(regex.clone()),
        FilterKind::AnyColumn { family, qualifiers } => any_column(family, qualifiers),
        FilterKind::Columns { family, range } => Filter::ColumnRangeFilter(columns(family, range)),
        FilterKind::Timestamps(TimeRange { start, end }) => {
            Filter::TimestampRangeFilter(data::TimestampRange {
                start_timestamp_micros: *start,
                end_timestamp_micros: end.unwrap_or_default(),
            })
        }
        FilterKind::ValueRegex(regex) => Filter::ValueRegexFilter(regex.clone()),
        FilterKind::Values(range) => Filter::ValueRangeFilter(values(range)),
        FilterKind::SkipCells(cells) => Filter::CellsPerRowOffsetFilter(count(*cells)),
        FilterKind::CellsPerRow(cells) => Filter::CellsPerRowLimitFilter(count(*cells)),
        FilterKind::CellsPerColumn(versions) => Filter::CellsPerColumnLimitFilter(count(*versions)),
        FilterKind::StripValue => Filter::StripValueTransformer(true),
        FilterKind::Label(label) => Filter::ApplyLabelTransformer(label.clone()),
        FilterKind::Refused(error) => return Err(error.clone()),
    })
}

fn part(filter: &RowFilter) -> Result<data::RowFilter, FilterError> {
    kind(filter).map(|filter| data::RowFilter { filter: Some(filter) })
}

fn parts(filters: &[RowFilter]) -> Result<Vec<data::RowFilter>, FilterError> {
    filters.iter().map(part).collect()
}

/// A branch of a condition. One that blocks all is left out, which is faster at the service.
fn branch(filter: &RowFilter) -> Result<Option<Box<data::RowFilter>>, FilterError> {
    match filter.kind() {
        FilterKind::BlockAll => Ok(None),
        _ => part(filter).map(|filter| Some(Box::new(filter))),
    }
}

/// No row, and no column of one, has more cells than an `i32` counts.
fn count(cells: u32) -> i32 {
    i32::try_from(cells).unwrap_or(i32::MAX)
}

/// Selects columns by a regular expression, not by ranges: servers treat an empty bound of a range as unbounded, so a
/// range cannot select the empty qualifier.
fn any_column(family: &str, qualifiers: &[Bytes]) -> Filter {
    let mut regex = Vec::new();
    for (place, qualifier) in qualifiers.iter().enumerate() {
        if place > 0 {
            regex.push(b'|');
        }
        escape(qualifier, &mut regex);
    }
    let filters = [
        Filter::FamilyNameRegexFilter(escaped_name(family)),
        Filter::ColumnQualifierRegexFilter(regex.into()),
    ];
    Filter::Chain(Chain { filters: filters.map(|filter| data::RowFilter { filter: Some(filter) }).into() })
}

fn columns(family: &str, range: &ByteRange) -> data::ColumnRange {
    use data::column_range::{EndQualifier, StartQualifier};
    data::ColumnRange {
        family_name: family.to_owned(),
        start_qualifier: match range.start.clone() {
            Bound::Included(start) => Some(StartQualifier::StartQualifierClosed(start)),
            Bound::Excluded(start) => Some(StartQualifier::StartQualifierOpen(start)),
            Bound::Unbounded => None,
        },
        end_qualifier: match range.end.clone() {
            Bound::Included(end) => Some(EndQualifier::EndQualifierClosed(end)),
            Bound::Excluded(end) => Some(EndQualifier::EndQualifierOpen(end)),
            Bound::Unbounded => None,
        },
    }
}

fn values(range: &ByteRange) -> data::ValueRange {
    use data::value_range::{EndValue, StartValue};
    data::ValueRange {
        start_value: match range.start.clone() {
            Bound::Included(start) => Some(StartValue::StartValueClosed(start)),
            Bound::Excluded(start) => Some(StartValue::StartValueOpen(start)),
            Bound::Unbounded => None,
        },
        end_value: match range.end.clone() {
            Bound::Included(end) => Some(EndValue::EndValueClosed(end)),
            Bound::Excluded(end) => Some(EndValue::EndValueOpen(end)),
            Bound::Unbounded => None,
        },
    }
}

/// Appends a regular expression that matches exactly `literal`.
///
/// RE2 takes a backslash before every ASCII character that is neither letter, digit nor underscore, but not before
/// a zero byte. Bytes from 0x80 match themselves.
fn escape(literal: &[u8], regex: &mut Vec<u8>) {
    for &byte in literal {
        match byte {
            0 => regex.extend_from_slice(br"\x00"),
            b'_' | 0x80.. => regex.push(byte),
            _ if byte.is_ascii_alphanumeric() => regex.push(byte),
            _ => regex.extend_from_slice(&[b'\\', byte]),
        }
    }
}

/// Like [`escape`], for text: the result is text too.
fn escaped_name(name: &str) -> String {
    let mut regex = String::with_capacity(name.len());
    for char in name.chars() {
        match char {
            '\0' => regex.push_str(r"\x00"),
            '_' => regex.push(char),
            _ if char.is_ascii() && !char.is_ascii_alphanumeric() => regex.extend(['\\', char]),
            _ => regex.push(char),
        }
    }
    regex
}

#[cfg(test)]
mod tests;
