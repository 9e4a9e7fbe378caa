//! Writes that depend on what a row holds: none is applied twice.

use keyderive::row::{Mutation, ReadModifyWrite, RowFilter};
use keyderive_proto::data;
use keyderive_scripted::{Answer, Failure, Mock, Rpc};
use tonic::Code;

use crate::support::{MILLISECOND, SECOND, TABLE, code, opened_after, set, table, text};

fn increment() -> Vec<ReadModifyWrite> {
    vec![ReadModifyWrite::increment("f", "q", 1)]
}

/// A server that answers both RPCs with `answer`, and then with success.
fn mock(answer: &Answer) -> Mock {
    Mock::new()
        .on(Rpc::CheckAndMutateRow, answer.clone())
        .on(Rpc::CheckAndMutateRow, Answer::matched(true))
        .on(Rpc::ReadModifyWriteRow, answer.clone())
        .on(Rpc::ReadModifyWriteRow, Answer::changed(data::Row::default()))
}

/// Fails unless both operations fail with this code, after one request each.
async fn not_tried_again(answer: Answer, expected: Code) {
    let mock = mock(&answer);
    let table = table(&mock);
    let error = table.check_and_mutate_row("k", None, set().into(), Vec::new()).await.unwrap_err();
    assert!(error.attempts() == 1 && error.grpc_code() == Some(expected.into()), "{error}");
    assert_eq!(code(table.read_modify_write_row("k", increment()).await), expected);
    assert_eq!(mock.requests().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_conditional_write_is_sent_as_it_was_given() {
    let mock = Mock::new().by(|_| Answer::matched(false));
    let condition = RowFilter::family("f");
    let (then, otherwise) =
        (vec![set()[0].clone(), Mutation::delete_row()], vec![Mutation::delete_family("g")]);
    assert!(!table(&mock).check_and_mutate_row("k", Some(condition), then, otherwise).await.unwrap());
    let request: data::CheckAndMutateRowRequest = mock.requests()[0].decode();
    assert_eq!((request.table_name.as_str(), &request.row_key[..]), (TABLE, &b"k"[..]));
    assert!(request.predicate_filter.is_some());
    assert_eq!((request.true_mutations.len(), request.false_mutations.len()), (2, 1));
}

#[tokio::test(start_paused = true)]
async fn one_side_of_a_condition_may_be_nothing() {
    for matched in [true, false] {
        let mock = Mock::new().by(move |_| Answer::matched(matched));
        let table = table(&mock);
        let (then, otherwise) = if matched { (set().into(), Vec::new()) } else { (Vec::new(), set().into()) };
        assert_eq!(table.check_and_mutate_row("k", None, then, otherwise).await.unwrap(), matched);
        let request: data::CheckAndMutateRowRequest = mock.requests()[0].decode();
        assert_eq!(request.predicate_filter, None);
        assert_eq!(request.true_mutations.len(), usize::from(matched));
        assert_eq!(request.false_mutations.len(), usize::from(!matched));
    }
}

/// The service decides whether to reject an empty value under an empty qualifier.
#[tokio::test(start_paused = true)]
async fn a_cell_may_be_empty() {
    let mock = Mock::new().by(|_| Answer::matched(true));
    let empty = vec![Mutation::set("", "", 0, ""); 2];
    assert!(table(&mock).check_and_mutate_row("k", None, empty, Vec::new()).await.unwrap());
    let request: data::CheckAndMutateRowRequest = mock.requests()[0].decode();
    let expected = data::Mutation {
        mutation: Some(data::mutation::Mutation::SetCell(Default::default())),
        ..data::Mutation::default()
    };
    assert_eq!(request.true_mutations, [expected.clone(), expected]);
}

#[tokio::test(start_paused = true)]
async fn rules_are_sent_in_their_order_and_the_row_comes_back() {
    use data::read_modify_write_rule::Rule;
    let cell = |value: &'static [u8], timestamp_micros| data::Cell {
        timestamp_micros,
        value: value.into(),
        labels: Vec::new(),
    };
    let column = |qualifier: &'static str, cells| data::Column { qualifier: qualifier.into(), cells };
    let columns = vec![
        column("sum", vec![cell(&[0, 0, 0, 0, 0, 0, 0, 12], 2000)]),
        column("text", vec![cell(b"ab", 1000), cell(b"a", 500)]),
    ];
    let family = |name: &str, columns| data::Family { name: name.into(), columns };
    let families = vec![family("f", columns), family("g", vec![column("q", vec![cell(b"", 0)])])];
    let mock =
        Mock::new().by(move |_| Answer::changed(data::Row { key: "k".into(), families: families.clone() }));

    let rules = vec![
        ReadModifyWrite::increment("f", "sum", 10),
        ReadModifyWrite::append("f", "text", "a"),
        ReadModifyWrite::increment("f", "sum", 2),
        ReadModifyWrite::append("f", "text", "b"),
    ];
    let row = table(&mock).read_modify_write_row("k", rules).await.unwrap();
    let request: data::ReadModifyWriteRowRequest = mock.requests()[0].decode();
    assert_eq!((request.table_name.as_str(), &request.row_key[..]), (TABLE, &b"k"[..]));
    let sent: Vec<_> =
        request.rules.into_iter().map(|rule| (text(&rule.column_qualifier), rule.rule.unwrap())).collect();
    assert_eq!(
        sent,
        [
            ("sum".to_owned(), Rule::IncrementAmount(10)),
            ("text".to_owned(), Rule::AppendValue("a".into())),
            ("sum".to_owned(), Rule::IncrementAmount(2)),
            ("text".to_owned(), Rule::AppendValue("b".into())),
        ]
    );
    let cells: Vec<_> = row
        .cells()
        .map(|cell| format!("{}:{}@{}", cell.family(), text(cell.qualifier()), cell.timestamp_micros()))
        .collect();
    assert_eq!(cells, ["f:sum@2000", "f:text@1000", "f:text@500", "g:q@0"]);
    assert_eq!((row.key(), row.cells().next().unwrap().value()[7]), (&b"k"[..], 12));
}

/// Also where the server asks for a retry, which cannot know that this attempt was not applied, and where the answer is lost.
#[tokio::test(start_paused = true)]
async fn failures_are_not_retried() {
    for code in [Code::Unavailable, Code::DeadlineExceeded, Code::Aborted, Code::Internal] {
        not_tried_again(Answer::failure(code), code).await;
    }
    let busy = Failure::new(Code::Unavailable, "busy").retry_after(SECOND);
    not_tried_again(Answer::failure(busy), Code::Unavailable).await;
    not_tried_again(Answer::new().drop_connection(), Code::Unavailable).await;
    not_tried_again(Answer::new().reset(h2::Reason::INTERNAL_ERROR), Code::Unavailable).await;
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_takes_too_long_is_the_only_one() {
    let mock = mock(&Answer::new().stall());
    let table = table(&mock).with(|settings| settings.each(|call| call.attempt_timeout = SECOND));
    let error = table.check_and_mutate_row("k", None, set().into(), Vec::new()).await.unwrap_err();
    assert!(error.is_deadline_exceeded() && error.attempts() == 1, "{error}");
    assert_eq!(code(table.read_modify_write_row("k", increment()).await), Code::DeadlineExceeded);
    assert_eq!(mock.requests().len(), 2);
}

/// A request that was never sent cannot have been applied.
#[tokio::test(start_paused = true)]
async fn what_cannot_have_arrived_is_sent_again() {
    let mock = mock(&Answer::new().send(&data::CheckAndMutateRowResponse { predicate_matched: true }));
    let table = table(&mock);
    let write = table.check_and_mutate_row("k", None, set().into(), Vec::new());
    assert!(opened_after(&mock, 500 * MILLISECOND, write).await.unwrap());
    assert_eq!(mock.requests().len(), 1);
    assert_ne!(mock.requests()[0].header("bigtable-attempt"), Some("0"));
}

#[tokio::test(start_paused = true)]
async fn empty_requests_are_not_sent() {
    let mock = Mock::new();
    let table = table(&mock);
    assert_eq!(
        code(table.check_and_mutate_row("k", None, Vec::new(), Vec::new()).await),
        Code::InvalidArgument
    );
    assert_eq!(code(table.read_modify_write_row("k", Vec::new()).await), Code::InvalidArgument);
    assert_eq!(code(table.read_modify_write_row("", increment()).await), Code::InvalidArgument);
    assert!(mock.requests().is_empty());
}
