//! Filters over the cells of one row.

use keyderive_proto::data;
use keyderive_proto::data::row_filter::{self, Chain, Filter as Message, Interleave};
use keyderive_proto::data::{ColumnRange, TimestampRange, ValueBitmask, ValueRange, value_range};
use tonic::Code;

use super::*;

fn message(filter: Message) -> data::RowFilter {
    data::RowFilter { filter: Some(filter) }
}

fn chain(filters: impl IntoIterator<Item = Message>) -> Message {
    Message::Chain(Chain { filters: filters.into_iter().map(message).collect() })
}

fn interleave(filters: impl IntoIterator<Item = Message>) -> Message {
    Message::Interleave(Interleave { filters: filters.into_iter().map(message).collect() })
}

fn condition(predicate: Message, then: Option<Message>, otherwise: Option<Message>) -> Message {
    let boxed = |filter| Box::new(message(filter));
    Message::Condition(Box::new(row_filter::Condition {
        predicate_filter: Some(boxed(predicate)),
        true_filter: then.map(boxed),
        false_filter: otherwise.map(boxed),
    }))
}

fn cells() -> Vec<Cell> {
    let cell = |family: &str, qualifier: &'static str, timestamp_micros, value: &'static str| Cell {
        family: family.into(),
        qualifier: qualifier.into(),
        timestamp_micros,
        value: value.into(),
        labels: Vec::new(),
    };
    vec![
        cell("a", "x", 2000, "1"),
        cell("a", "x", 1000, "2"),
        cell("a", "y", 1000, "3"),
        cell("b", "y", 1000, "4"),
    ]
}

fn left(filter: Message) -> Vec<Cell> {
    Filter::new(Some(message(filter))).unwrap().apply(&"key".into(), cells()).unwrap()
}

/// The values of the kept cells, which identify them.
fn values(filter: Message) -> String {
    left(filter).iter().map(|cell| String::from_utf8(cell.value.to_vec()).unwrap()).collect()
}

#[track_caller]
fn rejected(filter: Message, text: &str) {
    let status = Filter::new(Some(message(filter))).unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument);
    assert!(status.message().contains(text), "{}", status.message());
}

#[test]
fn all_or_nothing() {
    assert_eq!(left(Message::PassAllFilter(true)), cells());
    assert_eq!(left(Message::BlockAllFilter(true)), []);
    assert_eq!(Filter::new(None).unwrap().apply(&"key".into(), cells()).unwrap(), cells());
}

#[test]
fn limits_count_cells_of_the_row_and_of_each_column() {
    assert_eq!(values(Message::CellsPerRowLimitFilter(3)), "123");
    assert_eq!(values(Message::CellsPerRowOffsetFilter(3)), "4");
    assert_eq!(values(Message::CellsPerRowOffsetFilter(9)), "");
    assert_eq!(values(Message::CellsPerColumnLimitFilter(1)), "134");
    assert_eq!(values(Message::CellsPerColumnLimitFilter(2)), "1234");
}

/// Scans apply a filter cell by cell, to one row after the other.
#[test]
fn filters_pass_of_each_cell_what_they_pass_of_a_row() {
    let limits = || [Message::CellsPerColumnLimitFilter(1), Message::CellsPerRowLimitFilter(2)];
    let family = |family: &str| Message::FamilyNameRegexFilter(family.to_owned());
    let label = |label: &str| Message::ApplyLabelTransformer(label.to_owned());
    let first =
        || chain([Message::CellsPerRowLimitFilter(1), Message::StripValueTransformer(true), label("one")]);
    let twice = || interleave([Message::PassAllFilter(true), chain([family("a"), label("two")])]);
    let doubled = || interleave([Message::PassAllFilter(true), Message::PassAllFilter(true)]);
    let mut filters: Vec<_> = (1..=5)
        .flat_map(|number| {
            [
                Message::CellsPerRowLimitFilter(number),
                Message::CellsPerRowOffsetFilter(number),
                Message::CellsPerColumnLimitFilter(number),
                // Each of its filters counts the cells that come to it.
                chain([twice(), Message::CellsPerRowLimitFilter(number)]),
                chain([twice(), Message::CellsPerColumnLimitFilter(number)]),
            ]
        })
        .collect();
    filters.extend([
        chain(limits()),
        chain([chain(limits()), Message::CellsPerRowOffsetFilter(1)]),
        chain([Message::CellsPerRowOffsetFilter(1), Message::CellsPerRowLimitFilter(2)]),
        chain([Message::ValueRegexFilter("[23]".into()), Message::CellsPerColumnLimitFilter(1)]),
        interleave([chain([family("a"), chain(limits())]), family("b"), first()]),
        interleave([twice(), first(), twice()]),
        interleave([chain(limits()), Message::BlockAllFilter(true)]),
        label("one"),
        Message::StripValueTransformer(true),
        Message::BlockAllFilter(true),
    ]);
    for message_of_filter in filters {
        let filter = Filter::new(Some(message(message_of_filter.clone()))).unwrap();
        assert!(filter.is_cellwise(), "{message_of_filter:?}");
        let mut counts = CellCounts::default();
        for row in 0..3 {
            counts.next_row();
            let (stored, mut passed) = (cells(), Vec::new());
            for (at, cell) in stored.iter().enumerate() {
                let before = at.checked_sub(1).map(|before| &stored[before]);
                let seen = CellRef {
                    family: &cell.family,
                    qualifier: &cell.qualifier,
                    timestamp_micros: cell.timestamp_micros,
                    value: &cell.value,
                    new_family: before.is_none_or(|before| before.family != cell.family),
                    new_column: before.is_none_or(|before| {
                        (&before.family, &before.qualifier) != (&cell.family, &cell.qualifier)
                    }),
                };
                counts.next_cell(&seen);
                filter.pass(b"key", Passed { cell: seen, label: None }, &mut counts, &mut |copy, _| {
                    let labels = copy.label.map(str::to_owned).into_iter().collect();
                    passed.push(Cell {
                        value: Bytes::copy_from_slice(copy.cell.value),
                        labels,
                        ..cell.clone()
                    });
                });
            }
            assert_eq!(passed, left(message_of_filter.clone()), "row {row} by {message_of_filter:?}");
        }
    }
    for whole in [
        condition(Message::PassAllFilter(true), None, None),
        chain([Message::Sink(true), Message::BlockAllFilter(true)]),
        chain([doubled(), doubled()]),
    ] {
        assert!(!Filter::new(Some(message(whole))).unwrap().is_cellwise());
    }
}

#[test]
fn the_work_of_a_filter_is_that_of_its_parts() {
    let work = |filter: Message| Filter::new(Some(message(filter))).unwrap().work();
    let all = || Message::PassAllFilter(true);
    let heavy = || Message::ValueRegexFilter("(abc){1000}".into());
    let of_heavy = work(heavy());
    assert_eq!((work(all()), work(Message::ValueRegexFilter("a".into()))), (1, 1));
    assert!((2..1000).contains(&of_heavy), "{of_heavy}");
    assert_eq!(work(chain([all(), heavy(), all()])), of_heavy + 2);
    assert_eq!(work(interleave([all(), heavy()])), of_heavy + 4);
    // After an interleave, each copy is work.
    assert_eq!(work(chain([interleave([all(), all()]), heavy()])), 5 + 2 * of_heavy);
    // Of a condition the predicate, and the branch that is more.
    assert_eq!(work(condition(all(), Some(heavy()), Some(all()))), of_heavy + 2);
    assert_eq!(work(condition(heavy(), Some(all()), None)), of_heavy + 2);
}

#[test]
fn every_expression_of_a_filter_is_visited() {
    let regex = |regex: &'static str| Message::ValueRegexFilter(regex.into());
    let parts = condition(regex("d"), Some(regex("e")), Some(Message::FamilyNameRegexFilter("f".to_owned())));
    let mut visited = Vec::new();
    let filter = interleave([chain([regex("a"), regex("b")]), chain([regex("c"), parts])]);
    each_pattern(&message(filter), &mut |regex| visited.extend_from_slice(regex));
    assert_eq!(visited, b"abcdef");
}

#[test]
fn cells_are_chosen_by_each_part_of_their_names() {
    assert_eq!(values(Message::RowKeyRegexFilter("k.y".into())), "1234");
    assert_eq!(values(Message::RowKeyRegexFilter("k".into())), "");
    assert_eq!(values(Message::FamilyNameRegexFilter("b".to_owned())), "4");
    assert_eq!(values(Message::ColumnQualifierRegexFilter("[xz]".into())), "12");
    assert_eq!(values(Message::ValueRegexFilter("2|4".into())), "24");
    assert_eq!(
        values(Message::ColumnRangeFilter(ColumnRange { family_name: "a".to_owned(), ..Default::default() })),
        "123"
    );
    let times = |start_timestamp_micros, end_timestamp_micros| {
        Message::TimestampRangeFilter(TimestampRange { start_timestamp_micros, end_timestamp_micros })
    };
    assert_eq!(values(times(1000, 2000)), "234");
    assert_eq!(values(times(2000, 0)), "1");
    let range = ValueRange {
        start_value: Some(value_range::StartValue::StartValueOpen("2".into())),
        end_value: None,
    };
    assert_eq!(values(Message::ValueRangeFilter(range)), "34");
    // Ranges may be empty.
    let range = |end_value| ValueRange {
        start_value: Some(value_range::StartValue::StartValueClosed("2".into())),
        end_value: Some(end_value),
    };
    let [open, closed] = [value_range::EndValue::EndValueOpen, value_range::EndValue::EndValueClosed];
    assert_eq!(values(Message::ValueRangeFilter(range(open("2".into())))), "");
    assert_eq!(values(Message::ValueRangeFilter(range(closed("2".into())))), "2");
    assert_eq!(values(times(1000, 1000)), "");
}

#[test]
fn values_are_chosen_by_their_bits() {
    // `1` to `4` are 0x31 to 0x34.
    let bits = |mask: &'static [u8]| values(Message::ValueBitmaskFilter(ValueBitmask { mask: mask.into() }));
    assert_eq!(bits(b"\x30"), "1234");
    assert_eq!(bits(b"\x01"), "13");
    assert_eq!(bits(b"\x33"), "3");
    assert_eq!(bits(b"\x40"), "");
    assert_eq!(bits(b"\x30\x00"), "");
}

#[test]
fn a_chain_applies_each_filter_to_the_result_of_the_one_before() {
    let left = left(chain([
        Message::CellsPerColumnLimitFilter(1),
        Message::CellsPerRowLimitFilter(2),
        Message::StripValueTransformer(true),
    ]));
    assert_eq!(left.len(), 2);
    assert!(left.iter().all(|cell| cell.value.is_empty()));
}

#[test]
fn an_interleave_repeats_cells_in_the_order_of_the_table() {
    let labelled = chain([
        Message::FamilyNameRegexFilter("a".to_owned()),
        Message::ApplyLabelTransformer("l".to_owned()),
    ]);
    let left = left(interleave([Message::PassAllFilter(true), labelled]));
    let shown: Vec<_> = left.iter().map(|cell| (cell.value[0], cell.labels.len())).collect();
    assert_eq!(shown, [(b'1', 0), (b'1', 1), (b'2', 0), (b'2', 1), (b'3', 0), (b'3', 1), (b'4', 0)]);
    let twice = || interleave([Message::PassAllFilter(true), Message::PassAllFilter(true)]);
    assert_eq!(values(chain([twice(), Message::CellsPerRowOffsetFilter(5)])), "344");
    assert_eq!(values(chain([twice(), Message::CellsPerColumnLimitFilter(1)])), "134");
}

#[test]
fn a_condition_takes_one_of_two_branches() {
    let then = || Some(Message::CellsPerRowLimitFilter(1));
    let otherwise = || Some(Message::CellsPerRowOffsetFilter(3));
    assert_eq!(values(condition(Message::ValueRegexFilter("4".into()), then(), otherwise())), "1");
    assert_eq!(values(condition(Message::ValueRegexFilter("5".into()), then(), otherwise())), "4");
    assert_eq!(values(condition(Message::PassAllFilter(true), None, otherwise())), "");
}

#[test]
fn sunk_cells_skip_the_filters_that_follow() {
    let sunk = chain([Message::ValueRegexFilter("2".into()), Message::Sink(true)]);
    let filter =
        chain([interleave([sunk, Message::PassAllFilter(true)]), Message::CellsPerRowOffsetFilter(3)]);
    assert_eq!(values(filter), "24");
    rejected(condition(Message::Sink(true), None, None), "`sink` is not allowed inside a `condition`");
}

#[test]
fn an_empty_regex_is_for_qualifiers_and_values() {
    rejected(Message::RowKeyRegexFilter("".into()), "`row_key_regex_filter` is empty");
    assert_eq!(values(Message::ColumnQualifierRegexFilter("".into())), "");
    assert_eq!(values(Message::ValueRegexFilter("".into())), "");
}

#[test]
fn a_sample_has_about_the_stated_size() {
    let filter = Filter::new(Some(message(Message::RowSampleFilter(0.25)))).unwrap();
    let taken =
        (0..10_000).filter(|number| !filter.apply(&number.to_string().into(), cells()).unwrap().is_empty());
    let taken = taken.count();
    assert!((2000..3000).contains(&taken), "{taken}");
}

#[test]
fn invalid_filters_are_rejected() {
    rejected(
        Message::CellsPerRowLimitFilter(0),
        "`cells_per_row_limit_filter` is 0, and it must be at least 1",
    );
    rejected(Message::CellsPerRowOffsetFilter(-1), "it must be at least 0");
    rejected(Message::PassAllFilter(false), "`pass_all_filter` is false, and it can only be true");
    rejected(chain([]), "`chain` has fewer than two filters");
    rejected(interleave([Message::PassAllFilter(true)]), "`interleave` has fewer than two filters");
    rejected(Message::Condition(Box::default()), "`condition` has no `predicate_filter`");
    rejected(Message::RowSampleFilter(f64::NAN), "`row_sample_filter` is NaN");
    rejected(Message::FamilyNameRegexFilter("a:".to_owned()), "has a colon");
    rejected(Message::ColumnRangeFilter(ColumnRange::default()), "names no column family");
    rejected(Message::ApplyLabelTransformer("A".to_owned()), "`apply_label_transformer` is \"A\"");
    let label = || Message::ApplyLabelTransformer("l".to_owned());
    rejected(chain([label(), interleave([label(), label()])]), "2 filters of a `chain`");
    rejected(chain([label(), chain([label(), Message::PassAllFilter(true)])]), "2 filters of a `chain`");
    let times = TimestampRange { start_timestamp_micros: 2, end_timestamp_micros: 1 };
    rejected(Message::TimestampRangeFilter(times), "ends at 1, before its start 2");
    rejected(Message::ValueBitmaskFilter(ValueBitmask::default()), "`value_bitmask_filter` has no mask");
    rejected(Message::ValueRegexFilter(vec![b'a'; 20_480].into()), "and the limit is 20480");
    let empty = Filter::new(Some(data::RowFilter { filter: None })).unwrap_err();
    assert_eq!(empty.code(), Code::InvalidArgument);
}

#[test]
fn filters_that_explode_are_rejected() {
    let deep = (0..20).fold(Message::PassAllFilter(true), |filter, _| chain([filter, Message::Sink(true)]));
    rejected(deep, "nested more than 20 deep");
    let deep = (0..20).fold(Message::PassAllFilter(true), |filter, _| condition(filter, None, None));
    rejected(deep, "nested more than 20 deep");
    let twice = || interleave([Message::PassAllFilter(true), Message::PassAllFilter(true)]);
    rejected(chain(std::iter::repeat_with(twice).take(64)), "times");
    // A row of few cells may be copied more often than one of many: to 1,048,576 cells.
    let copies = Filter::new(Some(message(chain(std::iter::repeat_with(twice).take(10))))).unwrap();
    assert!(copies.check_copies(&"key".into(), 1024).is_ok());
    assert!(copies.check_copies(&"key".into(), 1025).is_err());
    let more = cells().into_iter().cycle().take(1025).collect();
    assert_eq!(copies.apply(&"key".into(), more).unwrap_err().code(), Code::InvalidArgument);
}
