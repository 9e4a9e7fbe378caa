//! Random filters.

use bytes::Bytes;
use fastrand::Rng;
use keyderive_proto::data::row_filter::{Chain, Condition, Filter, Interleave};
use keyderive_proto::data::{ColumnRange, RowFilter, TimestampRange, ValueRange, column_range, value_range};

use super::{KEYS, QUALIFIERS, TIMESTAMPS, any_family, one};

const ROW_KEYS: [&[u8]; 5] = [b"a.*", b"a\\C*", b"b\\.c|0", b"[^a]", b"\\C*\xff"];
const QUALIFIER_REGEXES: [&[u8]; 6] = [b"q.*", b"q\\C*", b"q\\.r|r", b"[^q]*", b"\\C+", b""];
const VALUES: [&[u8]; 6] = [b"v", b"v\\C*", b"[\\x80-\\xff]+", b"a\\|b|w", b"\\C{8}", b""];
const FAMILY_NAMES: [&str; 5] = ["a", "a|b", "s.*", "absent", ".*"];
const BOUNDS: [&[u8]; 6] = [b"", b"a|b", b"v", b"v\n", b"w", b"\xff"];

/// The position of a filter.
#[derive(Clone, Copy)]
struct Place {
    depth: u8,
    /// Whether no other filter follows.
    is_last: bool,
    in_interleave: bool,
}

pub(super) fn filter(rng: &mut Rng) -> RowFilter {
    at(rng, Place { depth: 0, is_last: true, in_interleave: false })
}

fn at(rng: &mut Rng, place: Place) -> RowFilter {
    let composed = place.depth < 3 && rng.u8(..3) == 0;
    if composed { compose(rng, place) } else { single(rng, place) }
}

fn compose(rng: &mut Rng, place: Place) -> RowFilter {
    let inner = Place { depth: place.depth + 1, ..place };
    let number = rng.usize(2..4);
    wrap(match rng.u8(..3) {
        0 => {
            let filters =
                (1..=number).map(|part| at(rng, Place { is_last: place.is_last && part == number, ..inner }));
            Filter::Chain(Chain { filters: filters.collect() })
        }
        1 => {
            let filters = (0..number).map(|_| at(rng, Place { in_interleave: true, ..inner }));
            Filter::Interleave(Interleave { filters: filters.collect() })
        }
        _ => {
            let predicate = at(rng, Place { is_last: false, ..inner });
            let mut branch = || (rng.u8(..5) > 0).then(|| Box::new(at(rng, inner)));
            let (true_filter, false_filter) = (branch(), branch());
            Filter::Condition(Box::new(Condition {
                predicate_filter: Some(Box::new(predicate)),
                true_filter,
                false_filter,
            }))
        }
    })
}

fn single(rng: &mut Rng, place: Place) -> RowFilter {
    wrap(match rng.u8(..16) {
        0 => Filter::PassAllFilter(true),
        1 => Filter::BlockAllFilter(true),
        2 => Filter::RowKeyRegexFilter(if rng.bool() { one(rng, &ROW_KEYS) } else { one(rng, &KEYS[1..3]) }),
        3 | 4 => Filter::FamilyNameRegexFilter(rng.choice(FAMILY_NAMES).unwrap_or_default().to_owned()),
        5 => Filter::ColumnQualifierRegexFilter(one(rng, &QUALIFIER_REGEXES)),
        6 => Filter::ColumnRangeFilter(column_range(rng)),
        7 | 8 => Filter::TimestampRangeFilter(timestamps(rng)),
        9 => Filter::ValueRegexFilter(one(rng, &VALUES)),
        10 => Filter::ValueRangeFilter(value_range(rng)),
        11 => return of_one_family(rng, |number| Filter::CellsPerRowOffsetFilter(number - 1)),
        12 => return of_one_family(rng, Filter::CellsPerRowLimitFilter),
        13 => Filter::CellsPerColumnLimitFilter(rng.i32(1..4)),
        14 if place.is_last || !place.in_interleave => Filter::StripValueTransformer(true),
        15 if place.is_last => Filter::ApplyLabelTransformer(format!("label-{}", rng.u8(..3))),
        _ => Filter::PassAllFilter(true),
    })
}

fn wrap(filter: Filter) -> RowFilter {
    RowFilter { filter: Some(filter) }
}

fn of_one_family(rng: &mut Rng, filter: impl FnOnce(i32) -> Filter) -> RowFilter {
    let family = Filter::FamilyNameRegexFilter(any_family(rng));
    wrap(Filter::Chain(Chain { filters: vec![wrap(family), wrap(filter(rng.i32(1..6)))] }))
}

fn column_range(rng: &mut Rng) -> ColumnRange {
    use column_range::{EndQualifier, StartQualifier};
    let (start, end) = ordered(rng, &QUALIFIERS);
    ColumnRange {
        family_name: any_family(rng),
        start_qualifier: match rng.u8(..3) {
            0 => None,
            1 => Some(StartQualifier::StartQualifierOpen(start)),
            _ => Some(StartQualifier::StartQualifierClosed(start)),
        },
        end_qualifier: match rng.u8(..3) {
            0 => None,
            1 => Some(EndQualifier::EndQualifierOpen(end)),
            _ => Some(EndQualifier::EndQualifierClosed(end)),
        },
    }
}

fn value_range(rng: &mut Rng) -> ValueRange {
    use value_range::{EndValue, StartValue};
    let (start, end) = ordered(rng, &BOUNDS);
    ValueRange {
        start_value: match rng.u8(..3) {
            0 => None,
            1 => Some(StartValue::StartValueOpen(start)),
            _ => Some(StartValue::StartValueClosed(start)),
        },
        end_value: match rng.u8(..3) {
            0 => None,
            1 => Some(EndValue::EndValueOpen(end)),
            _ => Some(EndValue::EndValueClosed(end)),
        },
    }
}

fn ordered(rng: &mut Rng, choices: &[&'static [u8]]) -> (Bytes, Bytes) {
    let (first, second) = (one(rng, choices), one(rng, choices));
    if first <= second { (first, second) } else { (second, first) }
}

fn timestamps(rng: &mut Rng) -> TimestampRange {
    let mut any = || rng.choice(TIMESTAMPS).unwrap_or_default();
    let (first, second) = (any(), any());
    TimestampRange { start_timestamp_micros: first.min(second), end_timestamp_micros: first.max(second) }
}
