//! Every filter as its message.

use super::*;

fn sent(filter: &RowFilter) -> Filter {
    message(filter).unwrap().filter.unwrap()
}

fn wrapped(filter: Filter) -> data::RowFilter {
    data::RowFilter { filter: Some(filter) }
}

#[test]
fn simple_filters_are_their_fields() {
    for (filter, field) in [
        (RowFilter::pass_all(), Filter::PassAllFilter(true)),
        (RowFilter::block_all(), Filter::BlockAllFilter(true)),
        (RowFilter::sink(), Filter::Sink(true)),
        (RowFilter::row_key_regex(b"a\xff"), Filter::RowKeyRegexFilter(b"a\xff".as_slice().into())),
        (RowFilter::sample(0.5), Filter::RowSampleFilter(0.5)),
        (RowFilter::family("a.b"), Filter::FamilyNameRegexFilter(r"a\.b".to_owned())),
        (RowFilter::family_regex("a.b"), Filter::FamilyNameRegexFilter("a.b".to_owned())),
        (RowFilter::qualifier_regex("a.b"), Filter::ColumnQualifierRegexFilter("a.b".into())),
        (RowFilter::value_regex("a|b"), Filter::ValueRegexFilter("a|b".into())),
        (RowFilter::skip_cells(2), Filter::CellsPerRowOffsetFilter(2)),
        (RowFilter::cells_per_row(2), Filter::CellsPerRowLimitFilter(2)),
        (RowFilter::latest(u32::MAX), Filter::CellsPerColumnLimitFilter(i32::MAX)),
        (RowFilter::strip_value(), Filter::StripValueTransformer(true)),
        (RowFilter::label("l-1"), Filter::ApplyLabelTransformer("l-1".to_owned())),
    ] {
        assert_eq!(sent(&filter), field);
    }
}

#[test]
fn filters_of_filters_are_messages_of_messages() {
    let two = || [RowFilter::latest(1), RowFilter::strip_value()];
    let messages =
        || vec![wrapped(Filter::CellsPerColumnLimitFilter(1)), wrapped(Filter::StripValueTransformer(true))];
    assert_eq!(sent(&RowFilter::chain(two())), Filter::Chain(Chain { filters: messages() }));
    assert_eq!(sent(&RowFilter::interleave(two())), Filter::Interleave(Interleave { filters: messages() }));
    let [predicate, then] = two();
    assert_eq!(
        sent(&RowFilter::condition(predicate, then, RowFilter::block_all())),
        Filter::Condition(Box::new(Condition {
            predicate_filter: Some(Box::new(wrapped(Filter::CellsPerColumnLimitFilter(1)))),
            true_filter: Some(Box::new(wrapped(Filter::StripValueTransformer(true)))),
            false_filter: None,
        }))
    );
}

#[test]
fn ranges_keep_their_bounds() {
    use data::column_range::{EndQualifier, StartQualifier};
    use data::value_range::{EndValue, StartValue};
    assert_eq!(
        sent(&RowFilter::columns("f", "a".."b")),
        Filter::ColumnRangeFilter(data::ColumnRange {
            family_name: "f".to_owned(),
            start_qualifier: Some(StartQualifier::StartQualifierClosed("a".into())),
            end_qualifier: Some(EndQualifier::EndQualifierOpen("b".into())),
        })
    );
    assert_eq!(
        sent(&RowFilter::columns::<&str>("f", (Bound::Excluded("a"), Bound::Included("b")))),
        Filter::ColumnRangeFilter(data::ColumnRange {
            family_name: "f".to_owned(),
            start_qualifier: Some(StartQualifier::StartQualifierOpen("a".into())),
            end_qualifier: Some(EndQualifier::EndQualifierClosed("b".into())),
        })
    );
    assert_eq!(
        sent(&RowFilter::value_range::<&str>((Bound::Excluded("a"), Bound::Unbounded))),
        Filter::ValueRangeFilter(data::ValueRange {
            start_value: Some(StartValue::StartValueOpen("a".into())),
            end_value: None,
        })
    );
    assert_eq!(
        sent(&RowFilter::value_range(""..="b")),
        Filter::ValueRangeFilter(data::ValueRange {
            start_value: None,
            end_value: Some(EndValue::EndValueClosed("b".into())),
        })
    );
    let times = |start_timestamp_micros, end_timestamp_micros| {
        Filter::TimestampRangeFilter(data::TimestampRange { start_timestamp_micros, end_timestamp_micros })
    };
    assert_eq!(sent(&RowFilter::timestamps(1..=2000)), times(1, 2001));
    assert_eq!(sent(&RowFilter::timestamps(5000..)), times(5000, 0));
}

#[test]
fn columns_are_escaped() {
    let regex = |qualifiers: &[&[u8]]| match sent(&RowFilter::any_column("f-1", qualifiers)) {
        Filter::Chain(Chain { filters }) => {
            assert_eq!(filters[0], wrapped(Filter::FamilyNameRegexFilter(r"f\-1".to_owned())));
            match filters[1].filter.clone() {
                Some(Filter::ColumnQualifierRegexFilter(regex)) => regex,
                other => panic!("{other:?}"),
            }
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(regex(&[b"a_0"]), "a_0");
    assert_eq!(regex(&[b"a.*|\\"]), r"a\.\*\|\\");
    assert_eq!(regex(&[b"", b"a\n\0", b"\xc3\xbc\xff"]), &b"|a\\\n\\x00|\xc3\xbc\xff"[..]);
    assert_eq!(regex(&[b"", b""]), "|");
}

#[test]
fn what_is_refused_or_too_large_is_an_error() {
    let label = RowFilter::chain([RowFilter::latest(1), RowFilter::label("NO")]);
    assert!(message(&label).unwrap_err().to_string().starts_with("the label `NO` has 2 bytes"));
    let columns = |number| RowFilter::any_column("f", (0..number).map(|number| format!("{number:04}")));
    assert!(message(&columns(4000)).is_ok());
    let error = message(&columns(5000)).unwrap_err();
    assert!(error.is_too_large() && error.to_string().contains("the service takes 20480"), "{error}");
}
