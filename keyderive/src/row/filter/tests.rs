//! What the constructors make of their arguments, in words.

use std::ops::Bound;

use super::*;

#[track_caller]
fn words(filter: &RowFilter, text: &str) {
    assert_eq!(filter.to_string(), text);
}

#[track_caller]
fn refusal(filter: &RowFilter, text: &str) {
    match filter.kind() {
        FilterKind::Refused(error) => assert!(error.to_string().contains(text), "{error}"),
        kind => panic!("{kind:?}"),
    }
}

#[test]
fn every_filter_has_words() {
    words(&RowFilter::latest(1), "the newest 1 of each column");
    words(&RowFilter::value_range("a".."b"), "cells whose value is in [`a`, `b`)");
    words(&RowFilter::columns("f", "a"..), "the columns of the family `f` whose qualifier is in [`a`, end)");
    words(&RowFilter::timestamps(1000..), "versions whose timestamp is in [1000, end) µs");
    words(&RowFilter::exact_column("f", b"\xff"), "the column `\\xff` of the family `f`");
    let either = RowFilter::interleave([RowFilter::family("f"), RowFilter::strip_value()]);
    words(
        &RowFilter::chain([either, RowFilter::label("x")]),
        "(the columns of the family `f` and cells without their values), then cells with the label `x`",
    );
    words(
        &RowFilter::condition(RowFilter::value_regex("x"), RowFilter::pass_all(), RowFilter::block_all()),
        "every cell of rows that have cells whose value matches `x`, and of the others no cell",
    );
}

#[test]
fn few_filters_and_small_numbers_are_no_special_case() {
    let one = RowFilter::strip_value();
    assert_eq!(RowFilter::chain([]), RowFilter::pass_all());
    assert_eq!(RowFilter::interleave([]), RowFilter::block_all());
    assert_eq!(RowFilter::chain([one.clone()]), one);
    assert_eq!(RowFilter::interleave([one.clone()]), one);
    assert_eq!(RowFilter::latest(0), RowFilter::block_all());
    assert_eq!(RowFilter::cells_per_row(0), RowFilter::block_all());
    assert_eq!(RowFilter::skip_cells(0), RowFilter::pass_all());
    assert_eq!(RowFilter::any_column("f", [""; 0]), RowFilter::block_all());
}

#[test]
fn ranges_that_hold_nothing_leave_nothing() {
    let nothing = RowFilter::block_all();
    assert_eq!(RowFilter::columns("f", "b".."a"), nothing);
    assert_eq!(RowFilter::value_range("a".."a"), nothing);
    assert_eq!(RowFilter::value_range(.."",), nothing);
    assert_eq!(RowFilter::value_range::<&str>((Bound::Excluded("a"), Bound::Excluded("a\0"))), nothing);
    assert_eq!(RowFilter::value_range::<&str>((Bound::Excluded("a"), Bound::Included("a"))), nothing);
    assert_eq!(RowFilter::timestamps(5..5), nothing);
    assert_eq!(RowFilter::timestamps(..0), nothing);
    assert_eq!(RowFilter::timestamps(1000..1000), nothing);
    assert_eq!(RowFilter::timestamps((Bound::Excluded(i64::MAX), Bound::Unbounded)), nothing);
    words(&RowFilter::value_range(..=""), "cells whose value is in [``, `\\x00`)");
}

#[test]
fn timestamps_keep_their_bounds() {
    let range = |start, end| RowFilter::from(FilterKind::Timestamps(TimeRange { start, end }));
    assert_eq!(RowFilter::timestamps(..), range(0, None));
    assert_eq!(RowFilter::timestamps(-5..1), range(0, Some(1)));
    assert_eq!(RowFilter::timestamps(1..=1000), range(1, Some(1001)));
    assert_eq!(RowFilter::timestamps(1..=999), range(1, Some(1000)));
    assert_eq!(RowFilter::timestamps((Bound::Excluded(999), Bound::Included(1000))), range(1000, Some(1001)));
    assert_eq!(RowFilter::timestamps(0..i64::MAX), range(0, Some(i64::MAX)));
    assert_eq!(RowFilter::timestamps(..=i64::MAX), range(0, None));
    assert_eq!(RowFilter::timestamps(i64::MAX..), range(i64::MAX, None));
    assert_eq!(RowFilter::timestamps(..i64::MIN), RowFilter::block_all());
}

#[test]
fn what_the_service_refuses_is_told() {
    for label in ["", "0123456789abcdef", "A", "a_b", "ü"] {
        refusal(&RowFilter::label(label), "a label is 1 to 15 of these");
    }
    refusal(&RowFilter::label("keyderive-row"), "use another label");
    for probability in [0.0, 1.0, -1.0, f64::NAN, f64::INFINITY] {
        refusal(&RowFilter::sample(probability), "is not between 0 and 1; for all rows or none use");
    }
    for filter in [RowFilter::family("f:q"), RowFilter::family_regex(":"), RowFilter::exact_column("f:q", "")]
    {
        refusal(&filter, "stands for a column family and has a colon");
    }
    let label = || RowFilter::label("a");
    refusal(&RowFilter::chain([label(), RowFilter::interleave([label(), label()])]), "a cell has one label");
    let sink = RowFilter::interleave([RowFilter::sink(), RowFilter::pass_all()]);
    refusal(
        &RowFilter::condition(sink, RowFilter::pass_all(), RowFilter::pass_all()),
        "put it into an interleave",
    );
}

#[test]
fn nesting_has_an_end() {
    let deeper = |filter| RowFilter::chain([filter, RowFilter::strip_value()]);
    let deepest = (1..MAX_DEPTH).fold(RowFilter::pass_all(), |filter, _| deeper(filter));
    assert!(matches!(deepest.kind(), FilterKind::Chain(_)));
    let refused = deeper(deepest);
    refusal(&refused, "nested more than 20 deep");
    assert_eq!((0..100_000).fold(refused.clone(), |filter, _| deeper(filter)), refused);
}
