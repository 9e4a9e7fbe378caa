//! Writes of many rows: which entries are retried, the result of each, and what is rejected before sending.

use std::collections::BTreeMap;

use bytes::Bytes;
use keyderive::client::{Aggregate, Family, FamilyChange};
use keyderive::row::Mutation;
use keyderive::{Error, ErrorKind, GcRule};
use keyderive_proto::admin::gc_rule::Rule;
use keyderive_proto::admin::modify_column_families_request::modification::Mod;
use keyderive_proto::admin::table::TimestampGranularity;
use keyderive_proto::data::mutation::Mutation as Message;
use keyderive_proto::{admin, data};
use keyderive_scripted::{Answer, Failure, Mock, Rpc};
use keyderive_tests::fixtures::UserKey;
use tonic::Code;

use crate::support::{
    MILLISECOND, SECOND, TABLE, client, entries, gaps, set, table, table_by_socket, written,
};

const OK: Code = Code::Ok;

/// A server that answers `MutateRows` with these, one after the other.
fn mock<const N: usize>(answers: [Answer; N]) -> Mock {
    answers.into_iter().fold(Mock::new(), |mock, answer| mock.on(Rpc::MutateRows, answer))
}

/// The codes of results.
fn codes(outcomes: &[Result<(), Error>]) -> Vec<Code> {
    let code = |error: &Error| Code::from(error.grpc_code().unwrap());
    outcomes.iter().map(|outcome| outcome.as_ref().map_or_else(code, |()| OK)).collect()
}

#[tokio::test(start_paused = true)]
async fn a_write_of_a_row_is_sent_as_it_was_given() {
    let mock = Mock::new().on(Rpc::MutateRow, Answer::written());
    let mutations = [
        Mutation::set("f", "q", 1000, "v"),
        Mutation::set_now("f", "r", "w"),
        Mutation::delete_column("f", "q"),
        Mutation::delete_versions("f", "q", 1000..3000),
        Mutation::delete_versions("f", "q", 5000..),
        Mutation::delete_family("g"),
        Mutation::delete_row(),
        Mutation::add_to_cell("sum", "q", 4000, 7),
        Mutation::merge_to_cell("hll", "q", 4000, "state"),
    ];
    table(&mock).mutate_row(&b"\x13\x14\x15\x16"[..], mutations).await.unwrap();
    let request: data::MutateRowRequest = mock.requests()[0].decode();
    assert_eq!((request.table_name.as_str(), &request.row_key[..]), (TABLE, &b"\x13\x14\x15\x16"[..]));
    let sent: Vec<_> = request.mutations.into_iter().map(|mutation| mutation.mutation.unwrap()).collect();

    use data::mutation::{
        AddToCell, DeleteFromColumn, DeleteFromFamily, DeleteFromRow, MergeToCell, SetCell,
    };
    use data::value::Kind;
    let value = |kind| Some(data::Value { r#type: None, kind: Some(kind) });
    let cell = |qualifier: &'static str, timestamp_micros, value: &'static str| SetCell {
        family_name: "f".into(),
        column_qualifier: qualifier.into(),
        timestamp_micros,
        value: value.into(),
    };
    let deletion =
        |time_range| DeleteFromColumn { family_name: "f".into(), column_qualifier: "q".into(), time_range };
    let versions = |start_timestamp_micros, end_timestamp_micros| {
        Some(data::TimestampRange { start_timestamp_micros, end_timestamp_micros })
    };
    assert_eq!(
        sent,
        [
            Message::SetCell(cell("q", 1000, "v")),
            Message::SetCell(cell("r", -1, "w")),
            Message::DeleteFromColumn(deletion(None)),
            Message::DeleteFromColumn(deletion(versions(1000, 3000))),
            Message::DeleteFromColumn(deletion(versions(5000, 0))),
            Message::DeleteFromFamily(DeleteFromFamily { family_name: "g".into() }),
            Message::DeleteFromRow(DeleteFromRow {}),
            Message::AddToCell(AddToCell {
                family_name: "sum".into(),
                column_qualifier: value(Kind::RawValue("q".into())),
                timestamp: value(Kind::RawTimestampMicros(4000)),
                input: value(Kind::IntValue(7)),
            }),
            Message::MergeToCell(MergeToCell {
                family_name: "hll".into(),
                column_qualifier: value(Kind::RawValue("q".into())),
                timestamp: value(Kind::RawTimestampMicros(4000)),
                input: value(Kind::RawValue("state".into())),
            }),
        ]
    );
}

/// A table whose timestamps have this granularity.
fn table_of(granularity: TimestampGranularity) -> Answer {
    Answer::new().send(&admin::Table { granularity: granularity.into(), ..admin::Table::default() })
}

/// The ranges of the deletions in a request.
fn deleted(mutations: &[data::Mutation]) -> Vec<(i64, i64)> {
    let range = |mutation: &data::Mutation| match &mutation.mutation {
        Some(Message::DeleteFromColumn(delete)) => {
            let range = delete.time_range.unwrap();
            (range.start_timestamp_micros, range.end_timestamp_micros)
        }
        other => panic!("{other:?}"),
    };
    mutations.iter().map(range).collect()
}

/// Bigtable rejects bounds that are finer than the table's granularity, and takes an end of 0 for no bound.
#[tokio::test(start_paused = true)]
async fn deletions_of_versions_have_bounds_of_the_tables_granularity() {
    use std::ops::Bound::{Excluded, Included, Unbounded};
    // The last whole millisecond.
    const LAST: i64 = i64::MAX / 1000 * 1000;
    // Bigtable has no empty range; no cell has this timestamp.
    const NONE: (i64, i64) = (LAST, 0);
    let ranges = [
        ((Unbounded, Included(5000)), (0, 6000)),
        ((Unbounded, Included(5001)), (0, 6000)),
        ((Unbounded, Included(5999)), (0, 6000)),
        ((Unbounded, Excluded(5000)), (0, 5000)),
        ((Unbounded, Excluded(5001)), (0, 6000)),
        ((Excluded(5000), Unbounded), (6000, 0)),
        ((Excluded(5999), Unbounded), (6000, 0)),
        ((Included(5000), Unbounded), (5000, 0)),
        ((Included(5001), Unbounded), (6000, 0)),
        ((Included(5000), Included(5000)), (5000, 6000)),
        ((Excluded(5000), Excluded(6000)), NONE),
        ((Included(5001), Included(5999)), NONE),
        ((Unbounded, Included(0)), (0, 1000)),
        ((Unbounded, Excluded(0)), NONE),
        ((Unbounded, Included(-1)), NONE),
        ((Included(-1500), Excluded(1)), (0, 1000)),
        ((Included(i64::MIN), Included(i64::MAX)), (0, 0)),
        ((Excluded(i64::MAX), Unbounded), NONE),
        ((Included(LAST), Excluded(i64::MAX)), (LAST, 0)),
        ((Included(LAST + 1), Unbounded), NONE),
        ((Included(6000), Included(5000)), NONE),
    ];
    let sent = async |granularity, range| {
        let mock = Mock::new().by(|_| Answer::written()).admin_by(move |_| table_of(granularity));
        table(&mock).mutate_row(&b"a"[..], [Mutation::delete_versions("f", "q", range)]).await.unwrap();
        let request: data::MutateRowRequest = mock.requests()[0].decode();
        (deleted(&request.mutations)[0], mock.requests_of(Rpc::GetTable).len())
    };
    for (range, expected) in ranges {
        for granularity in [TimestampGranularity::Millis, TimestampGranularity::Unspecified] {
            assert_eq!(sent(granularity, range).await.0, expected, "{range:?}");
        }
    }
    for (range, expected) in [
        ((Unbounded, Included(5000)), (0, 5001)),
        ((Excluded(5000), Excluded(6000)), (5001, 6000)),
        ((Included(5001), Included(5999)), (5001, 6000)),
        ((Included(-1500), Excluded(1)), (0, 1)),
        ((Included(LAST), Excluded(i64::MAX)), (LAST, i64::MAX)),
        ((Included(i64::MAX), Unbounded), (i64::MAX, 0)),
    ] {
        assert_eq!(sent(TimestampGranularity::Micros, range).await, (expected, 1), "{range:?}");
    }
    // Bounds that tables of both kinds take.
    for (range, expected) in [
        ((Included(5000), Excluded(6000)), (5000, 6000)),
        ((Included(5000), Unbounded), (5000, 0)),
        ((Included(6000), Included(5000)), NONE),
    ] {
        for granularity in [TimestampGranularity::Millis, TimestampGranularity::Micros] {
            assert_eq!(sent(granularity, range).await, (expected, 0), "{range:?}");
        }
    }
}

/// One `GetTable` serves all writes of a client, and a write that needs it is not sent without it.
#[tokio::test(start_paused = true)]
async fn the_granularity_is_read_once_and_never_guessed() {
    let fine = || vec![Mutation::delete_versions("f", "q", ..=5000)];
    let mock = Mock::new()
        .on(Rpc::MutateRow, Answer::written())
        .on(Rpc::MutateRows, Answer::outcomes([(0, OK), (1, OK)]))
        .on(Rpc::CheckAndMutateRow, Answer::matched(true))
        .on(Rpc::MutateRows, Answer::outcomes([(0, OK)]))
        .admin_by(|_| table_of(TimestampGranularity::Micros));
    let events = table(&mock);
    events.mutate_row(&b"a"[..], fine()).await.unwrap();
    let rows = vec![("a".into(), fine()), ("b".into(), fine())];
    events.mutate_rows(rows).await.all_written().unwrap();
    events.check_and_mutate_row("a", None, fine(), fine()).await.unwrap();
    let writer = events.writer();
    writer.write("a", fine()).await.unwrap();
    assert_eq!(writer.close().await.unwrap(), 1);
    assert_eq!(mock.requests_of(Rpc::GetTable).len(), 1);
    let row: data::MutateRowRequest = mock.requests()[0].decode();
    let rows: data::MutateRowsRequest = mock.requests()[1].decode();
    let checked: data::CheckAndMutateRowRequest = mock.requests()[2].decode();
    let written: data::MutateRowsRequest = mock.requests()[3].decode();
    let lists = [&row.mutations, &rows.entries[0].mutations, &rows.entries[1].mutations];
    let lists = lists.into_iter().chain([&checked.true_mutations, &checked.false_mutations]);
    for list in lists.chain([&written.entries[0].mutations]) {
        assert_eq!(deleted(list), [(0, 5001)]);
    }

    let mock = Mock::new().by(|_| Answer::written()).admin_by(|_| Answer::failure(Code::PermissionDenied));
    let events = table(&mock);
    assert!(events.mutate_row(&b"a"[..], fine()).await.unwrap_err().is_permission_denied());
    let outcomes = events.mutate_rows(vec![("a".into(), fine()), ("b".into(), vec![])]).await;
    assert_eq!(codes(&outcomes), [Code::PermissionDenied; 2]);
    assert!(events.check_and_mutate_row("a", None, fine(), vec![]).await.unwrap_err().is_permission_denied());
    assert!(events.writer().write("a", fine()).await.unwrap_err().is_permission_denied());
    assert!(mock.requests().is_empty(), "{:?}", mock.requests());
    events.mutate_row(&b"a"[..], [Mutation::delete_versions("f", "q", ..6000)]).await.unwrap();
}

/// Without a rule, the entry of a family of bytes has no value, and the service makes no family of it.
#[tokio::test(start_paused = true)]
async fn families_are_sent_with_a_rule_also_if_it_removes_nothing() {
    let mock = Mock::new().by(|_| Answer::failure(Code::NotFound)).admin_by(|request| match request.rpc {
        Rpc::CreateTable | Rpc::ModifyColumnFamilies => Answer::new().send(&admin::Table::default()),
        _ => Answer::failure(Code::NotFound),
    });
    let (events, client) = (table(&mock), client(&mock));
    let families =
        || [Family::new("f", GcRule::never()), Family::aggregate("s", Aggregate::Sum, GcRule::never())];
    events.create(families(), [""; 0]).await.unwrap();
    let changes = families().map(FamilyChange::add).into_iter();
    events.modify_families(changes.chain([FamilyChange::gc_rule("f", GcRule::never())])).await.unwrap();
    let typed = client.table::<UserKey, BTreeMap<String, i64>>("typed");
    typed.create().family("g", GcRule::never()).await.unwrap();
    let empty = Some(admin::GcRule { rule: None });
    let mut seen = 0;
    for request in mock.admin_requests() {
        let families: Vec<admin::ColumnFamily> = match request.rpc {
            Rpc::CreateTable => {
                let request: admin::CreateTableRequest = request.decode();
                request.table.unwrap().column_families.into_values().collect()
            }
            Rpc::ModifyColumnFamilies => {
                let request: admin::ModifyColumnFamiliesRequest = request.decode();
                let families = request.modifications.into_iter().map(|change| match change.r#mod {
                    Some(Mod::Create(family) | Mod::Update(family)) => family,
                    other => panic!("{other:?}"),
                });
                families.collect()
            }
            _ => continue,
        };
        // The default family keeps one version.
        let one = Some(admin::GcRule { rule: Some(Rule::MaxNumVersions(1)) });
        assert!(
            families.iter().all(|family| family.gc_rule == empty || family.gc_rule == one),
            "{families:?}"
        );
        seen += families.iter().filter(|family| family.gc_rule == empty).count();
    }
    // Two, two and a change; then one beside the stamp and the families that keep one version.
    assert_eq!(seen, 6);
}

#[tokio::test(start_paused = true)]
async fn outcomes_are_in_the_order_of_the_entries() {
    let answer =
        Answer::outcomes([(2, OK), (0, Code::PermissionDenied)]).and_outcomes([(1, OK), (3, Code::NotFound)]);
    let mock = mock([answer]);
    let outcomes = table(&mock).mutate_rows(entries(["a", "b", "c", "d"])).await;
    assert_eq!(codes(&outcomes), [Code::PermissionDenied, OK, OK, Code::NotFound]);
    assert_eq!(written(&mock), ["a b c d"]);
}

#[tokio::test(start_paused = true)]
async fn the_error_of_an_entry_says_what_the_server_said() {
    let mock = mock([Answer::outcomes([(0, OK), (1, Code::PermissionDenied)])]);
    let outcomes = table(&mock).mutate_rows(entries(["a", "b"])).await;
    let error = outcomes[1].as_ref().unwrap_err();
    let shown = error.to_string();
    assert!(error.is_permission_denied() && error.attempts() == 1, "{shown}");
    assert!(
        shown.contains("MutateRows") && shown.contains("`events`") && shown.contains("entry 1"),
        "{shown}"
    );
}

#[tokio::test(start_paused = true)]
async fn only_entries_that_may_pass_are_sent_again() {
    let busy = Code::Unavailable;
    let mock = mock([
        Answer::outcomes([(0, OK), (1, busy), (2, busy), (3, OK)]),
        Answer::outcomes([(0, busy), (1, OK)]),
        Answer::outcomes([(0, OK)]),
    ]);
    let outcomes = table(&mock).mutate_rows(entries(["r0", "r1", "r2", "r3"])).await;
    assert_eq!(codes(&outcomes), [OK; 4]);
    assert_eq!(written(&mock), ["r0 r1 r2 r3", "r1 r2", "r1"]);
}

#[tokio::test(start_paused = true)]
async fn entries_that_fail_for_good_are_not_sent_again() {
    let mock = mock([
        Answer::outcomes([(0, Code::NotFound), (1, Code::Aborted), (2, Code::DeadlineExceeded)]),
        Answer::outcomes([(1, OK), (0, Code::Internal)]),
    ]);
    let outcomes = table(&mock).mutate_rows(entries(["a", "b", "c"])).await;
    assert_eq!(codes(&outcomes), [Code::NotFound, Code::Internal, OK]);
    assert_eq!(written(&mock), ["a b c", "b c"]);
}

#[tokio::test(start_paused = true)]
async fn an_entry_that_may_not_be_made_twice_is_not_sent_again() {
    let mock = mock([
        Answer::outcomes([(0, Code::Unavailable), (1, Code::Unavailable)]),
        Answer::outcomes([(0, OK)]),
    ]);
    let mut entries = entries(["a", "b"]);
    entries[0].1.push(Mutation::set_now("f", "q", "v"));
    let outcomes = table(&mock).mutate_rows(entries).await;
    assert_eq!(codes(&outcomes), [Code::Unavailable, OK]);
    assert_eq!(written(&mock), ["a b", "b"]);
}

#[tokio::test(start_paused = true)]
async fn an_entry_without_an_outcome_is_an_error() {
    let mock = mock([Answer::outcomes([(0, OK), (2, OK)])]);
    let outcomes = table(&mock).mutate_rows(entries(["a", "b", "c"])).await;
    assert_eq!(codes(&outcomes), [OK, Code::Internal, OK]);
    assert_eq!(outcomes[1].as_ref().unwrap_err().kind(), ErrorKind::ProtocolViolation);
    assert_eq!(mock.requests().len(), 1);
}

/// A server that counts entries wrongly may have said of one row what holds for another.
#[tokio::test(start_paused = true)]
async fn a_status_out_of_range_makes_every_outcome_unknown() {
    for index in [2, -1, i64::MAX, i64::MIN, 1 << 32] {
        let answer = Answer::outcomes([(0, OK)]).and_outcomes([(index, Code::NotFound), (1, OK)]);
        let mock = mock([answer]);
        let outcomes = table(&mock).mutate_rows(entries(["a", "b"])).await;
        for outcome in outcomes.iter() {
            let error = outcome.as_ref().unwrap_err();
            assert!(error.kind() == ErrorKind::ProtocolViolation && error.is_outcome_unknown(), "{error}");
            assert!(error.to_string().contains(&format!("a status for entry {index}, ")), "{error}");
        }
        assert_eq!(mock.requests().len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn two_statuses_that_differ_make_the_outcome_of_an_entry_unknown() {
    let denied = Code::PermissionDenied;
    for (first, second) in [(OK, denied), (denied, OK), (OK, Code::Unavailable), (Code::Aborted, denied)] {
        let mock = mock([Answer::outcomes([(0, first), (1, OK)]).and_outcomes([(1, OK), (0, second)])]);
        let outcomes = table(&mock).mutate_rows(entries(["a", "b"])).await;
        assert_eq!(codes(&outcomes), [Code::Internal, OK]);
        let error = outcomes[0].as_ref().unwrap_err();
        assert!(error.kind() == ErrorKind::ProtocolViolation && error.is_outcome_unknown(), "{error}");
        assert!(error.to_string().contains("two different statuses"), "{error}");
        assert_eq!((mock.requests().len(), error.attempts()), (1, 1));
    }
    // A repetition says nothing new.
    let mock = mock([Answer::outcomes([(0, OK), (1, denied), (0, OK), (1, denied)])]);
    assert_eq!(codes(&table(&mock).mutate_rows(entries(["a", "b"])).await), [OK, denied]);
}

/// As Google's clients read it: a message that is absent stands for its default, and the default status is `OK`.
#[tokio::test(start_paused = true)]
async fn an_entry_without_a_status_was_written() {
    let entries_of = |indexes: [i64; 2]| data::MutateRowsResponse {
        entries: indexes.map(|index| data::mutate_rows_response::Entry { index, status: None }).into(),
        rate_limit_info: None,
    };
    let mock = mock([Answer::new().send(&entries_of([1, 0]))]);
    assert_eq!(codes(&table(&mock).mutate_rows(entries(["a", "b"])).await), [OK, OK]);
}

#[tokio::test(start_paused = true)]
async fn the_error_of_each_entry_names_its_row() {
    let mock = mock([
        // Refused by the server; left out; refused after a retry.
        Answer::outcomes([(0, Code::PermissionDenied), (1, OK), (3, Code::Unavailable)]),
        Answer::outcomes([(0, Code::NotFound)]),
    ]);
    let outcomes = table(&mock).mutate_rows(entries(["a", "b", "c", "d"])).await;
    let keys = outcomes.iter().map(|outcome| outcome.as_ref().err().map(|error| error.row_key().unwrap()));
    assert_eq!(keys.collect::<Vec<_>>(), [Some(&b"a"[..]), None, Some(b"c"), Some(b"d")]);
    let texts = [0, 2, 3].map(|index| outcomes[index].as_ref().unwrap_err().to_string());
    assert!(
        texts[0].starts_with("row `a` was not written: MutateRows on table `events` failed"),
        "{texts:?}"
    );
    assert!(texts[1].starts_with("row `c` may not have been written: "), "{texts:?}");
    assert!(texts[2].starts_with("row `d` may not have been written: "), "{texts:?}");
    // So does an error of the whole request.
    let refused = Mock::new().on(Rpc::MutateRows, Answer::failure(Code::PermissionDenied));
    let error = table(&refused).mutate_rows(entries(["a", "b"])).await.all_written().unwrap_err();
    assert_eq!(error.row_key(), Some(&b"a"[..]));
    assert!(!error.redacted().to_string().contains("`a`"), "{}", error.redacted());
}

/// Also those of an answer that breaks the protocol.
#[tokio::test(start_paused = true)]
async fn errors_count_the_attempts_of_broken_answers() {
    let mock = mock([Answer::failure(Code::Unavailable), Answer::outcomes([(0, OK)])]);
    let outcomes = table(&mock).mutate_rows(entries(["a", "b"])).await;
    let error = outcomes[1].as_ref().unwrap_err();
    assert!(error.kind() == ErrorKind::ProtocolViolation && error.attempts() == 2, "{error}");

    let mock = Mock::new()
        .on(Rpc::ReadModifyWriteRow, Answer::changed(data::Row { key: "other".into(), ..Default::default() }))
        .on(Rpc::ReadRows, Answer::failure(Code::Unavailable))
        .on(Rpc::ReadRows, Answer::rows(["b", "a"]));
    let rule = keyderive::row::ReadModifyWrite::increment("f", "q", 1);
    let error = table(&mock).read_modify_write_row("a", vec![rule]).await.unwrap_err();
    assert!(error.kind() == ErrorKind::ProtocolViolation && error.attempts() == 1, "{error}");
    assert!(error.is_outcome_unknown() && error.row_key() == Some(&b"a"[..]), "{error}");
    let error = crate::support::all(&table(&mock)).await.unwrap_err();
    assert!(error.kind() == ErrorKind::ProtocolViolation && error.attempts() == 2, "{error}");
}

#[tokio::test(start_paused = true)]
async fn what_the_server_said_before_it_failed_holds() {
    let first = Answer::outcomes([(1, OK), (3, Code::PermissionDenied)]).fail(Code::Unavailable);
    let mock = mock([first, Answer::outcomes([(0, OK), (1, OK)])]);
    let outcomes = table(&mock).mutate_rows(entries(["a", "b", "c", "d"])).await;
    assert_eq!(codes(&outcomes), [OK, OK, OK, Code::PermissionDenied]);
    assert_eq!(written(&mock), ["a b c d", "a c"]);
}

#[tokio::test(start_paused = true)]
async fn a_final_failure_is_given_to_the_entries_without_an_outcome() {
    let mock = mock([Answer::outcomes([(1, OK)]).fail(Code::PermissionDenied)]);
    let outcomes = table(&mock).mutate_rows(entries(["a", "b", "c"])).await;
    assert_eq!(codes(&outcomes), [Code::PermissionDenied, OK, Code::PermissionDenied]);
    assert_eq!(mock.requests().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn entries_keep_their_reason_when_the_attempts_end() {
    let mock =
        Mock::new().by(|_| Answer::outcomes([(0, Code::Aborted)]).and_outcomes([(1, Code::Unavailable)]));
    let table = table(&mock).with(|settings| settings.mutate_rows.max_attempts = 3);
    let outcomes = table.mutate_rows(entries(["a", "b"])).await;
    assert_eq!(codes(&outcomes), [Code::Aborted, Code::Unavailable]);
    assert_eq!((mock.requests().len(), outcomes[0].as_ref().unwrap_err().attempts()), (3, 3));
}

#[tokio::test(start_paused = true)]
async fn entries_without_an_outcome_at_the_end_of_the_time_are_deadlines() {
    let mock = Mock::new().by(|_| Answer::outcomes([(0, OK)]).stall());
    let table = table(&mock).with(|settings| settings.mutate_rows.total_timeout = 2 * SECOND);
    let outcomes = table.mutate_rows(entries(["a", "b"])).await;
    assert_eq!(codes(&outcomes), [OK, Code::DeadlineExceeded]);
    assert!(outcomes[1].as_ref().unwrap_err().is_deadline_exceeded());
    assert_eq!(mock.requests().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn pauses_between_requests_grow() {
    let busy = || Answer::outcomes([(0, Code::Unavailable)]);
    let mock = mock([busy(), busy(), busy(), Answer::outcomes([(0, OK)])]);
    assert_eq!(codes(&table(&mock).mutate_rows(entries(["a"])).await), [OK]);
    for (gap, longest) in gaps(&mock).into_iter().zip([25, 50, 100]) {
        let longest = longest * MILLISECOND;
        assert!(gap >= longest / 2 && gap <= longest + 2 * MILLISECOND, "{gap:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_server_says_when_the_rest_may_be_sent() {
    let busy = Failure::new(Code::ResourceExhausted, "busy").retry_after(2 * SECOND);
    let mock = mock([Answer::outcomes([(0, OK)]).fail(busy), Answer::outcomes([(0, OK)])]);
    assert_eq!(codes(&table(&mock).mutate_rows(entries(["a", "b"])).await), [OK; 2]);
    assert_eq!(written(&mock), ["a b", "b"]);
    assert!(gaps(&mock)[0] >= 2 * SECOND && gaps(&mock)[0] < 2 * SECOND + 5 * MILLISECOND);
}

/// The delay of a whole request counts, that of an entry does not.
#[tokio::test(start_paused = true)]
async fn the_delay_of_an_entry_is_ignored() {
    let status = Failure::new(Code::NotFound, "gone").retry_after(2 * SECOND).as_message();
    let entry = data::mutate_rows_response::Entry { index: 0, status: Some(status) };
    let response = data::MutateRowsResponse { entries: vec![entry], rate_limit_info: None };
    let mock = mock([Answer::new().send(&response)]);
    assert_eq!(codes(&table(&mock).mutate_rows(entries(["a"])).await), [Code::NotFound]);
    assert_eq!(mock.requests().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn no_entries_are_no_request() {
    let mock = Mock::new();
    assert!(table(&mock).mutate_rows(Vec::new()).await.is_empty());
    assert_eq!(mock.connections(), 0);
}

#[tokio::test(start_paused = true)]
async fn rows_that_come_twice_are_two_entries() {
    let mock = mock([Answer::outcomes([(0, Code::NotFound), (1, OK)])]);
    let outcomes = table(&mock).mutate_rows(entries(["a", "a"])).await;
    assert_eq!(codes(&outcomes), [Code::NotFound, OK]);
    assert_eq!(written(&mock), ["a a"]);
}

/// A server that writes every entry.
fn writing() -> Mock {
    Mock::new().by(|request| {
        let count = i64::try_from(request.entries().len()).unwrap();
        Answer::outcomes((0..count).map(|index| (index, OK)))
    })
}

/// A request has at most 100,000 mutations.
#[tokio::test]
async fn mutations_are_spread_over_requests() {
    let mock = writing();
    let entry = |row: u32| (Bytes::from(format!("{row:05}")), vec![set()[0].clone(); 30_000]);
    let outcomes = table_by_socket(&mock).await.mutate_rows((0..7).map(entry).collect()).await;
    assert_eq!(codes(&outcomes), [OK; 7]);
    assert_eq!(written(&mock), ["00000 00001 00002", "00003 00004 00005", "00006"]);
}

#[tokio::test]
async fn bytes_are_spread_over_requests() {
    let mock = writing();
    let value = Bytes::from(vec![7; 3 << 20]);
    let entry =
        |row: u32| (Bytes::from(format!("{row}")), vec![Mutation::set("f", "q", 1000, value.clone())]);
    let outcomes = table_by_socket(&mock).await.mutate_rows((0..8).map(entry).collect()).await;
    assert_eq!(codes(&outcomes), [OK; 8]);
    assert!(mock.requests().len() >= 2);
    assert!(mock.requests().iter().all(|request| request.message.len() < 200 << 20));
    assert_eq!(written(&mock).join(" "), "0 1 2 3 4 5 6 7");
}

#[tokio::test(start_paused = true)]
async fn what_bigtable_would_refuse_is_not_sent() {
    let mock = Mock::new();
    let table = table(&mock);
    let row = |mutations| (Bytes::from("k"), mutations);
    let refused: [(Bytes, Vec<Mutation>); 6] = [
        (Bytes::new(), set().into()),
        (Bytes::from(vec![b'k'; 4097]), set().into()),
        row(Vec::new()),
        row(vec![set()[0].clone(); 100_001]),
        row(vec![Mutation::set("f", vec![b'q'; (16 << 10) + 1], 1000, "v")]),
        row(vec![Mutation::set("f", "q", 1000, vec![0; (100 << 20) + 1])]),
    ];
    for (key, mutations) in refused.clone() {
        let error = table.mutate_row(key.clone(), mutations.clone()).await.unwrap_err();
        assert!(error.kind() == ErrorKind::InvalidArgument && error.attempts() == 0, "{error}");
        let error = table.check_and_mutate_row(key, None, mutations, Vec::new()).await.unwrap_err();
        assert!(error.kind() == ErrorKind::InvalidArgument && error.attempts() == 0, "{error}");
    }
    let outcomes = table.mutate_rows(refused.into()).await;
    assert_eq!(codes(&outcomes), [Code::InvalidArgument; 6]);
    assert!(mock.requests().is_empty());
}

#[tokio::test(start_paused = true)]
async fn what_is_refused_holds_up_no_other_row() {
    let mock = writing();
    let mut entries = entries(["a", "b", "c"]);
    entries[1].1.clear();
    let outcomes = table(&mock).mutate_rows(entries).await;
    assert_eq!(codes(&outcomes), [OK, Code::InvalidArgument, OK]);
    assert_eq!(written(&mock), ["a c"]);
}

#[tokio::test(start_paused = true)]
async fn what_is_just_within_the_limits_is_sent() {
    let mock = Mock::new().by(|_| Answer::written());
    let longest = Bytes::from(vec![b'k'; 4096]);
    table(&mock).mutate_row(longest, [Mutation::set("f", vec![b'q'; 16 << 10], 1000, "v")]).await.unwrap();
    assert_eq!(mock.requests().len(), 1);
}
