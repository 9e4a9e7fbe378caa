//! keyderive's client in Google's conformance test proxy, end to end.

use std::time::{Duration, Instant};

use keyderive_proto::data;
use keyderive_proto::data::read_modify_write_rule::Rule;
use keyderive_proto::values;
use keyderive_scripted::{Answer, Chunk, Mock, Rpc, cell, row};
use keyderive_test_proxy::Proxy;
use keyderive_test_proxy::proto::cloud_bigtable_v2_test_proxy_client::CloudBigtableV2TestProxyClient;
use keyderive_test_proxy::proto::*;
use tonic::Code;
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Channel, Server};

use crate::support::{asked, text};

const INSTANCE: &str = "projects/project/instances/instance";

type ProxyClient = CloudBigtableV2TestProxyClient<Channel>;

/// The proxy in this process, with a client `c` connected to `mock`.
async fn proxy(mock: &Mock) -> ProxyClient {
    proxy_with(mock, |request| request).await
}

async fn proxy_with(
    mock: &Mock,
    change: impl FnOnce(CreateClientRequest) -> CreateClientRequest,
) -> ProxyClient {
    let incoming = TcpIncoming::bind(([127, 0, 0, 1], 0).into()).unwrap();
    let address = incoming.local_addr().unwrap();
    tokio::spawn(Server::builder().serve_with_incoming(Proxy::new().into_service(), incoming));
    let channel = Channel::from_shared(format!("http://{address}")).unwrap().connect_lazy();
    let mut proxy = CloudBigtableV2TestProxyClient::new(channel);
    let request = create(mock.listen().await);
    proxy.create_client(change(request)).await.unwrap();
    proxy
}

fn create(data_target: String) -> CreateClientRequest {
    CreateClientRequest {
        client_id: "c".to_owned(),
        data_target,
        project_id: "project".to_owned(),
        instance_id: "instance".to_owned(),
        ..CreateClientRequest::default()
    }
}

fn table_name() -> String {
    format!("{INSTANCE}/tables/table")
}

fn read_row(key: &str) -> ReadRowRequest {
    ReadRowRequest {
        client_id: "c".to_owned(),
        table_name: table_name(),
        row_key: key.to_owned(),
        filter: None,
    }
}

/// A read of the rows in `rows`.
fn read_rows(rows: data::RowSet) -> ReadRowsRequest {
    let request = data::ReadRowsRequest { table_name: table_name(), rows: Some(rows), ..Default::default() };
    ReadRowsRequest { client_id: "c".to_owned(), request: Some(request), cancel_after_rows: 0 }
}

fn set_cell() -> Vec<data::Mutation> {
    let set = data::mutation::SetCell {
        family_name: "f".to_owned(),
        column_qualifier: "q".into(),
        timestamp_micros: 1000,
        value: "v".into(),
    };
    vec![data::Mutation {
        mutation: Some(data::mutation::Mutation::SetCell(set)),
        ..data::Mutation::default()
    }]
}

fn mutate_row() -> MutateRowRequest {
    let request = data::MutateRowRequest {
        table_name: table_name(),
        row_key: "k".into(),
        mutations: set_cell(),
        ..Default::default()
    };
    MutateRowRequest { client_id: "c".to_owned(), request: Some(request) }
}

fn mutate_rows(keys: &[&'static str]) -> MutateRowsRequest {
    let entry = |key: &&'static str| data::mutate_rows_request::Entry {
        row_key: (*key).into(),
        mutations: set_cell(),
        idempotency: None,
    };
    let entries = keys.iter().map(entry).collect();
    let request = data::MutateRowsRequest { table_name: table_name(), entries, ..Default::default() };
    MutateRowsRequest { client_id: "c".to_owned(), request: Some(request) }
}

#[track_caller]
fn has_code(status: Option<values::Status>, code: Code) {
    let status = status.unwrap();
    assert_eq!(status.code, i32::from(code), "{}", status.message);
}

#[tokio::test]
async fn rows_are_read_with_their_families_and_columns() {
    let answer = Answer::chunks([
        cell("k").timestamp(99),
        Chunk::new().timestamp(98).value("w"),
        Chunk::new().qualifier("r").label("x"),
        Chunk::new().family("a").qualifier("q").timestamp(102).commit(),
    ]);
    let mock = Mock::new().on(Rpc::ReadRows, answer);
    let result = proxy(&mock).await.read_row(read_row("k")).await.unwrap().into_inner();
    has_code(result.status, Code::Ok);
    let cell = |timestamp_micros, value: &'static str, labels: &[&str]| data::Cell {
        timestamp_micros,
        value: value.into(),
        labels: labels.iter().map(|label| (*label).to_owned()).collect(),
    };
    let column = |qualifier: &'static str, cells| data::Column { qualifier: qualifier.into(), cells };
    let family = |name: &str, columns| data::Family { name: name.to_owned(), columns };
    let families = vec![
        family(
            "f",
            vec![
                column("q", vec![cell(99, "v", &[]), cell(98, "w", &[])]),
                column("r", vec![cell(0, "", &["x"])]),
            ],
        ),
        family("a", vec![column("q", vec![cell(102, "", &[])])]),
    ];
    assert_eq!(result.row, Some(data::Row { key: "k".into(), families }));
    assert_eq!(asked(&mock), ["k limit 1"]);
    assert_eq!(mock.requests()[0].read_rows().table_name, table_name());
}

#[tokio::test]
async fn a_row_that_is_not_there_is_no_failure() {
    let mock = Mock::new().on(Rpc::ReadRows, Answer::new());
    let result = proxy(&mock).await.read_row(read_row("k")).await.unwrap().into_inner();
    has_code(result.status, Code::Ok);
    assert_eq!(result.row, None);
}

#[tokio::test]
async fn requests_keep_their_keys_and_ranges() {
    use data::row_range::{EndKey, StartKey};
    let mock = Mock::new().by(|_| Answer::rows(["b"]));
    let mut proxy = proxy(&mock).await;
    let range = |start_key, end_key| data::RowRange { start_key, end_key };
    let rows = data::RowSet {
        row_keys: vec!["a".into(), "b".into()],
        row_ranges: vec![
            range(Some(StartKey::StartKeyClosed("c".into())), Some(EndKey::EndKeyOpen("d".into()))),
            range(Some(StartKey::StartKeyOpen("e".into())), Some(EndKey::EndKeyClosed("f".into()))),
            range(Some(StartKey::StartKeyOpen("g".into())), None),
        ],
    };
    let mut request = read_rows(rows);
    let read = request.request.as_mut().unwrap();
    (read.rows_limit, read.reversed) = (7, true);
    let result = proxy.read_rows(request).await.unwrap().into_inner();
    has_code(result.status, Code::Ok);
    let whole = proxy.read_rows(read_rows(data::RowSet::default())).await.unwrap().into_inner();
    has_code(whole.status, Code::Ok);
    assert_eq!(asked(&mock), [r"a b [c,d) (e,f\x00) (g,) limit 7 reversed", "[,)"]);
}

#[tokio::test]
async fn rows_before_a_failure_come_with_it() {
    let mock = Mock::new().on(Rpc::ReadRows, Answer::rows(["a", "c", "b"]));
    let result = proxy(&mock).await.read_rows(read_rows(data::RowSet::default())).await.unwrap().into_inner();
    let keys: Vec<_> = result.rows.iter().map(|row| text(&row.key)).collect();
    assert_eq!(keys, ["a", "c"]);
    assert!(result.status.as_ref().unwrap().message.contains("increasing"));
    has_code(result.status, Code::Internal);
}

#[tokio::test]
async fn a_caller_may_give_up_after_some_rows() {
    let mock = Mock::new().by(|_| Answer::rows(["a", "b", "c"]).stall());
    let request = ReadRowsRequest { cancel_after_rows: 2, ..read_rows(data::RowSet::default()) };
    let result = proxy(&mock).await.read_rows(request).await.unwrap().into_inner();
    has_code(result.status, Code::Ok);
    assert_eq!(result.rows.len(), 2);
}

#[tokio::test]
async fn the_app_profile_is_the_clients() {
    let mock = Mock::new().by(|_| Answer::written());
    let profile = |request| CreateClientRequest { app_profile_id: "test_profile".to_owned(), ..request };
    let mut proxy = proxy_with(&mock, profile).await;
    has_code(proxy.mutate_row(mutate_row()).await.unwrap().into_inner().status, Code::Ok);
    let routing = mock.requests()[0].header("x-goog-request-params").unwrap().to_owned();
    assert!(routing.contains("%2Ftables%2Ftable&app_profile_id=test_profile"), "{routing}");
    let mut other = mutate_row();
    other.request.as_mut().unwrap().app_profile_id = "other".to_owned();
    assert_eq!(proxy.mutate_row(other).await.unwrap_err().code(), Code::InvalidArgument);
}

#[tokio::test]
async fn the_timeout_is_of_every_operation() {
    let mock = Mock::new().by(|_| Answer::new().stall());
    let timeout = values::Duration { seconds: 0, nanos: 300_000_000 };
    let timed = |request| CreateClientRequest { per_operation_timeout: Some(timeout), ..request };
    let proxy = proxy_with(&mock, timed).await;
    let begun = Instant::now();
    let (mut one, mut two, mut three, mut four) = (proxy.clone(), proxy.clone(), proxy.clone(), proxy);
    let (row, rows, written, many) = tokio::join!(
        one.read_row(read_row("k")),
        two.read_rows(read_rows(data::RowSet::default())),
        three.mutate_row(mutate_row()),
        four.bulk_mutate_rows(mutate_rows(&["a"])),
    );
    has_code(row.unwrap().into_inner().status, Code::DeadlineExceeded);
    has_code(rows.unwrap().into_inner().status, Code::DeadlineExceeded);
    has_code(written.unwrap().into_inner().status, Code::DeadlineExceeded);
    let many = many.unwrap().into_inner();
    has_code(many.entries[0].status.clone(), Code::DeadlineExceeded);
    has_code(many.status, Code::DeadlineExceeded);
    assert!(begun.elapsed() >= Duration::from_millis(300) && begun.elapsed() < Duration::from_secs(10));
}

#[tokio::test]
async fn entries_that_fail_are_reported_and_others_are_not() {
    let answer =
        Answer::outcomes([(0, Code::Ok), (1, Code::PermissionDenied), (2, Code::NotFound), (3, Code::Ok)]);
    let mock = Mock::new().on(Rpc::MutateRows, answer);
    let mut proxy = proxy(&mock).await;
    let result = proxy.bulk_mutate_rows(mutate_rows(&["a", "b", "c", "d"])).await.unwrap().into_inner();
    has_code(result.status, Code::PermissionDenied);
    let entries: Vec<_> =
        result.entries.into_iter().map(|entry| (entry.index, entry.status.unwrap().code)).collect();
    assert_eq!(entries, [(1, Code::PermissionDenied.into()), (2, Code::NotFound.into())]);
}

#[tokio::test]
async fn conditions_and_rules_and_samples_pass_through() {
    let changed = data::Row { key: "k".into(), families: Vec::new() };
    let mock = Mock::new()
        .on(Rpc::CheckAndMutateRow, Answer::matched(true))
        .on(Rpc::CheckAndMutateRow, Answer::failure(Code::Unavailable))
        .on(Rpc::ReadModifyWriteRow, Answer::changed(changed))
        .on(Rpc::SampleRowKeys, Answer::samples([("row-31", 30), ("row-98", 65)]));
    let mut proxy = proxy(&mock).await;
    let condition = data::CheckAndMutateRowRequest {
        table_name: table_name(),
        row_key: "k".into(),
        true_mutations: set_cell(),
        ..Default::default()
    };
    let condition = CheckAndMutateRowRequest { client_id: "c".to_owned(), request: Some(condition) };
    let result = proxy.check_and_mutate_row(condition.clone()).await.unwrap().into_inner();
    assert!(result.result.unwrap().predicate_matched);
    assert_eq!(
        mock.requests()[0].decode::<data::CheckAndMutateRowRequest>(),
        condition.request.clone().unwrap()
    );
    let result = proxy.check_and_mutate_row(condition).await.unwrap().into_inner();
    has_code(result.status, Code::Unavailable);
    assert_eq!((result.result, mock.requests().len()), (None, 2));

    let rule = |qualifier: &'static str, rule| data::ReadModifyWriteRule {
        family_name: "f".to_owned(),
        column_qualifier: qualifier.into(),
        rule: Some(rule),
    };
    let rules = data::ReadModifyWriteRowRequest {
        table_name: table_name(),
        row_key: "k".into(),
        rules: vec![rule("n", Rule::IncrementAmount(10)), rule("s", Rule::AppendValue("x".into()))],
        ..Default::default()
    };
    let request = ReadModifyWriteRowRequest { client_id: "c".to_owned(), request: Some(rules.clone()) };
    let result = proxy.read_modify_write_row(request).await.unwrap().into_inner();
    assert_eq!(text(&result.row.unwrap().key), "k");
    assert_eq!(mock.requests()[2].decode::<data::ReadModifyWriteRowRequest>(), rules);

    let sample = data::SampleRowKeysRequest { table_name: table_name(), ..Default::default() };
    let request = SampleRowKeysRequest { client_id: "c".to_owned(), request: Some(sample) };
    let result = proxy.sample_row_keys(request).await.unwrap().into_inner();
    let samples: Vec<_> =
        result.samples.iter().map(|sample| (text(&sample.row_key), sample.offset_bytes)).collect();
    assert_eq!(samples, [("row-31".to_owned(), 30), ("row-98".to_owned(), 65)]);
}

/// Every mutation and filter of the public API is sent unchanged.
#[tokio::test]
async fn mutations_and_filters_pass_through_unchanged() {
    use data::mutation::*;
    use data::row_filter::{Chain, Condition, Filter, Interleave};
    let mock = Mock::new().by(|request| match request.rpc {
        Rpc::MutateRow => Answer::written(),
        _ => Answer::new(),
    });
    let mut proxy = proxy(&mock).await;

    let value = |kind| Some(data::Value { r#type: None, kind: Some(kind) });
    let range = data::TimestampRange { start_timestamp_micros: 1000, end_timestamp_micros: 2000 };
    let delete = |time_range| DeleteFromColumn {
        family_name: "f".to_owned(),
        column_qualifier: "q".into(),
        time_range,
    };
    let add = AddToCell {
        family_name: "sum".to_owned(),
        column_qualifier: value(data::value::Kind::RawValue("q".into())),
        timestamp: value(data::value::Kind::RawTimestampMicros(1000)),
        input: value(data::value::Kind::IntValue(5)),
    };
    let mut request = mutate_row();
    let inner = request.request.as_mut().unwrap();
    let more = [
        Mutation::SetCell(SetCell { timestamp_micros: -1, ..SetCell::default() }),
        Mutation::DeleteFromColumn(delete(None)),
        Mutation::DeleteFromColumn(delete(Some(range))),
        Mutation::DeleteFromFamily(DeleteFromFamily { family_name: "f".to_owned() }),
        Mutation::DeleteFromRow(DeleteFromRow {}),
        Mutation::AddToCell(add),
    ];
    inner.mutations.extend(
        more.map(|mutation| data::Mutation { mutation: Some(mutation), ..data::Mutation::default() }),
    );
    let expected = inner.clone();
    has_code(proxy.mutate_row(request).await.unwrap().into_inner().status, Code::Ok);
    assert_eq!(mock.requests()[0].decode::<data::MutateRowRequest>(), expected);

    let filter = |filter| data::RowFilter { filter: Some(filter) };
    let columns = data::ColumnRange {
        family_name: "f".to_owned(),
        start_qualifier: Some(data::column_range::StartQualifier::StartQualifierOpen("a".into())),
        end_qualifier: Some(data::column_range::EndQualifier::EndQualifierClosed("c".into())),
    };
    let values = data::ValueRange {
        start_value: Some(data::value_range::StartValue::StartValueClosed("a".into())),
        end_value: Some(data::value_range::EndValue::EndValueOpen("c".into())),
    };
    let chain = Filter::Chain(Chain {
        filters: vec![
            filter(Filter::ValueRangeFilter(values)),
            filter(Filter::ApplyLabelTransformer("x".into())),
        ],
    });
    let interleave = Filter::Interleave(Interleave {
        filters: vec![filter(Filter::StripValueTransformer(true)), filter(Filter::PassAllFilter(true))],
    });
    let condition = Filter::Condition(Box::new(Condition {
        predicate_filter: Some(Box::new(filter(Filter::CellsPerRowLimitFilter(2)))),
        true_filter: Some(Box::new(filter(Filter::CellsPerRowOffsetFilter(1)))),
        false_filter: None,
    }));
    let filters = [
        chain,
        interleave,
        condition,
        Filter::RowKeyRegexFilter("a.*".into()),
        Filter::RowSampleFilter(0.5),
        Filter::FamilyNameRegexFilter("f.".into()),
        Filter::ColumnQualifierRegexFilter("q.".into()),
        Filter::ColumnRangeFilter(columns),
        Filter::TimestampRangeFilter(range),
        Filter::ValueRegexFilter("v.".into()),
        Filter::CellsPerColumnLimitFilter(3),
        Filter::BlockAllFilter(true),
    ];
    for expected in filters.map(filter) {
        let request = ReadRowRequest { filter: Some(expected.clone()), ..read_row("k") };
        has_code(proxy.read_row(request).await.unwrap().into_inner().status, Code::Ok);
        assert_eq!(mock.requests().last().unwrap().read_rows().filter, Some(expected));
    }
}

#[tokio::test]
async fn what_the_public_api_cannot_say_is_refused() {
    use data::row_filter::{Chain, Filter};
    let mock = Mock::new();
    let mut proxy = proxy(&mock).await;
    let range = data::TimestampRange { start_timestamp_micros: 2000, end_timestamp_micros: 1000 };
    for filter in [
        None,
        Some(Filter::PassAllFilter(false)),
        Some(Filter::Chain(Chain { filters: Vec::new() })),
        Some(Filter::CellsPerRowLimitFilter(-1)),
        Some(Filter::TimestampRangeFilter(range)),
        Some(Filter::ValueRangeFilter(data::ValueRange {
            start_value: Some(data::value_range::StartValue::StartValueClosed("b".into())),
            end_value: Some(data::value_range::EndValue::EndValueOpen("a".into())),
        })),
    ] {
        let request = ReadRowRequest { filter: Some(data::RowFilter { filter }), ..read_row("k") };
        assert_eq!(proxy.read_row(request).await.unwrap_err().code(), Code::InvalidArgument);
    }
    let mut token = mutate_row();
    token.request.as_mut().unwrap().idempotency = Some(data::Idempotency::default());
    let mut nothing = mutate_row();
    nothing.request.as_mut().unwrap().mutations.push(data::Mutation::default());
    let mut elsewhere = mutate_row();
    elsewhere.request.as_mut().unwrap().table_name = "projects/p/instances/i/tables/t".to_owned();
    let missing = MutateRowRequest { client_id: "c".to_owned(), request: None };
    for request in [token, nothing, elsewhere, missing] {
        assert_eq!(proxy.mutate_row(request).await.unwrap_err().code(), Code::InvalidArgument);
    }
    let query = ExecuteQuery {
        query: "SELECT @a".to_owned(),
        params: [("a".to_owned(), data::Value::default())].into(),
        ..ExecuteQuery::default()
    };
    let query = ExecuteQueryRequest { client_id: "c".to_owned(), request: Some(query) };
    assert_eq!(proxy.execute_query(query).await.unwrap_err().code(), Code::InvalidArgument);
    assert!(mock.requests().is_empty());
}

#[tokio::test]
async fn clients_are_made_closed_and_removed() {
    let mock = Mock::new().by(|_| Answer::written());
    let mut proxy = proxy(&mock).await;
    let other = Mock::new();
    let elsewhere = other.listen().await;
    let again = create(elsewhere.clone());
    assert_eq!(proxy.create_client(again).await.unwrap_err().code(), Code::AlreadyExists);
    let nowhere = CreateClientRequest { client_id: "d".to_owned(), ..create(String::new()) };
    assert_eq!(proxy.create_client(nowhere).await.unwrap_err().code(), Code::InvalidArgument);

    has_code(proxy.mutate_row(mutate_row()).await.unwrap().into_inner().status, Code::Ok);
    let client_id = || "c".to_owned();
    for _ in 0..2 {
        proxy.close_client(CloseClientRequest { client_id: client_id() }).await.unwrap();
    }
    has_code(proxy.mutate_row(mutate_row()).await.unwrap().into_inner().status, Code::Cancelled);
    let many = proxy.bulk_mutate_rows(mutate_rows(&["a", "b"])).await.unwrap().into_inner();
    assert_eq!(many.entries.len(), 2);
    has_code(many.status, Code::Cancelled);

    proxy.remove_client(RemoveClientRequest { client_id: client_id() }).await.unwrap();
    assert_eq!(proxy.mutate_row(mutate_row()).await.unwrap_err().code(), Code::NotFound);
    assert_eq!(proxy.read_row(read_row("k")).await.unwrap_err().code(), Code::NotFound);
    let close = CloseClientRequest { client_id: client_id() };
    assert_eq!(proxy.close_client(close).await.unwrap_err().code(), Code::NotFound);
    let remove = RemoveClientRequest { client_id: client_id() };
    assert_eq!(proxy.remove_client(remove).await.unwrap_err().code(), Code::NotFound);
    proxy.create_client(create(elsewhere)).await.unwrap();
    assert_eq!(mock.requests().len(), 1);
}

#[tokio::test]
async fn operations_run_side_by_side_and_end_when_their_client_is_closed() {
    let mock = Mock::new().by(|request| {
        let keys = request.read_rows().rows.unwrap().row_keys;
        Answer::new().wait(Duration::from_millis(300)).and_chunks(keys.into_iter().map(row))
    });
    let proxy = proxy(&mock).await;
    let reads: Vec<_> = (0..5)
        .map(|operation| {
            let mut proxy = proxy.clone();
            tokio::spawn(async move { proxy.read_row(read_row(&format!("op{operation}-row"))).await })
        })
        .collect();
    while mock.requests().len() < 5 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let mut closing = proxy.clone();
    closing.close_client(CloseClientRequest { client_id: "c".to_owned() }).await.unwrap();
    for (operation, read) in reads.into_iter().enumerate() {
        let result = read.await.unwrap().unwrap().into_inner();
        has_code(result.status, Code::Ok);
        assert_eq!(text(&result.row.unwrap().key), format!("op{operation}-row"));
    }
    let mut late = proxy;
    has_code(late.read_row(read_row("op6-row")).await.unwrap().into_inner().status, Code::Cancelled);
    let requests = mock.requests();
    assert_eq!(requests.len(), 5);
    assert!(requests[4].at - requests[0].at < Duration::from_millis(1000));
}
