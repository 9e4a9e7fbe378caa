//! The headers of every request.

use keyderive::__private::connected_by;
use keyderive::Client;
use keyderive::client::{RawTable, ReadRows};
use keyderive::plan::KeyRange;
use keyderive::row::{ReadModifyWrite, RowFilter};
use keyderive_proto::data;
use keyderive_scripted::{Answer, Mock, Request, Rpc};
use tonic::Code;

use crate::support::{SECOND, TABLE, all, asked, client, entries, keys, set, table};

/// A server that answers every RPC with success.
fn willing() -> Mock {
    Mock::new().by(|request| match request.rpc {
        Rpc::ReadRows | Rpc::SampleRowKeys => Answer::new(),
        Rpc::MutateRow => Answer::written(),
        Rpc::MutateRows => Answer::outcomes([(0, Code::Ok)]),
        Rpc::CheckAndMutateRow => Answer::matched(true),
        Rpc::ReadModifyWriteRow => Answer::changed(data::Row::default()),
        _ => Answer::new().send(&data::PingAndWarmResponse {}),
    })
}

/// One operation of each kind.
async fn every_operation(table: &RawTable) {
    assert!(table.read_row("k", None).await.unwrap().is_none());
    assert!(all(table).await.unwrap().is_empty());
    table.mutate_row("k", set()).await.unwrap();
    assert!(table.mutate_rows(entries(["k"])).await[0].is_ok());
    assert!(table.check_and_mutate_row("k", None, set().into(), Vec::new()).await.unwrap());
    table.read_modify_write_row("k", vec![ReadModifyWrite::increment("f", "q", 1)]).await.unwrap();
    assert!(table.sample_row_keys().await.unwrap().is_empty());
}

/// The requests of one operation of each kind, by a client with the app profile `batch 1/2`.
async fn requests() -> Vec<Request> {
    let mock = willing();
    let builder = Client::builder().instance("my-project", "my-instance").app_profile("batch 1/2");
    let client = connected_by(builder, mock.connector()).unwrap();
    every_operation(&client.raw_table("the-events")).await;
    let requests = mock.requests();
    assert_eq!(requests.len(), 7);
    requests
}

/// The table and the app profile that a message names.
macro_rules! named {
    ($request:ident: $($rpc:ident $message:ident),*) => {
        match $request.rpc {
            $(Rpc::$rpc => {
                let message: data::$message = $request.decode();
                (message.table_name, message.app_profile_id)
            })*
            other => panic!("{other:?}"),
        }
    };
}

/// It names the table and the app profile twice, and says who asks, and what the client supports: reverse scans, scan markers, routing cookies
/// and retry info, and nothing else.
#[tokio::test(start_paused = true)]
async fn every_request_says_where_it_goes_and_who_asks() {
    let routing = "table_name=projects%2Fmy-project%2Finstances%2Fmy-instance%2Ftables%2Fthe-events\
                   &app_profile_id=batch%201%2F2";
    let table = "projects/my-project/instances/my-instance/tables/the-events";
    for request in requests().await {
        let rpc = request.rpc;
        assert_eq!(request.header("x-goog-request-params"), Some(routing), "{rpc:?}");
        let named = named!(request:
            ReadRows ReadRowsRequest, SampleRowKeys SampleRowKeysRequest, MutateRow MutateRowRequest,
            MutateRows MutateRowsRequest, CheckAndMutateRow CheckAndMutateRowRequest,
            ReadModifyWriteRow ReadModifyWriteRowRequest
        );
        assert_eq!((&*named.0, &*named.1), (table, "batch 1/2"), "{rpc:?}");
        assert_eq!(request.header("bigtable-features"), Some("CAEgATABOAE="), "{rpc:?}");
        let api_client = request.header("x-goog-api-client").unwrap();
        assert!(api_client.starts_with("gl-rust/") && api_client.contains(" gccl/"), "{api_client}");
        assert!(request.header("user-agent").unwrap().starts_with("keyderive/"), "{rpc:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn without_an_app_profile_the_routing_says_so() {
    let mock = willing();
    every_operation(&table(&mock)).await;
    for request in mock.requests() {
        let routing = request.header("x-goog-request-params").unwrap();
        assert!(routing.ends_with("%2Fevents&app_profile_id="), "{routing}");
    }
}

#[tokio::test(start_paused = true)]
async fn attempts_are_numbered_from_zero_and_dated() {
    let failure = || Answer::failure(Code::Unavailable);
    let mock = Mock::new()
        .on(Rpc::MutateRow, failure())
        .on(Rpc::MutateRow, failure())
        .on(Rpc::MutateRow, Answer::written())
        .on(Rpc::MutateRow, Answer::written());
    let table = table(&mock);
    table.mutate_row("k", set()).await.unwrap();
    table.mutate_row("k", set()).await.unwrap();
    let requests = mock.requests();
    let header = |name: &'static str| requests.iter().map(move |request| request.header(name).unwrap());
    assert!(header("bigtable-attempt").eq(["0", "1", "2", "0"]));
    let micros: Vec<u64> =
        header("bigtable-client-attempt-epoch-usec").map(|micros| micros.parse().unwrap()).collect();
    assert!(micros.is_sorted() && micros[0] > 1_700_000_000_000_000, "{micros:?}");
}

#[tokio::test(start_paused = true)]
async fn progress_does_not_reset_the_attempt_numbers_of_scans() {
    let mock = Mock::new()
        .on(Rpc::ReadRows, Answer::rows(["a"]).fail(Code::Unavailable))
        .on(Rpc::ReadRows, Answer::rows(["b"]).fail(Code::Unavailable))
        .on(Rpc::ReadRows, Answer::new());
    assert_eq!(all(&table(&mock)).await.unwrap(), ["a", "b"]);
    let requests = mock.requests();
    assert!(requests.iter().map(|request| request.header("bigtable-attempt").unwrap()).eq(["0", "1", "2"]));
}

/// The server stops too when the attempt times out.
#[tokio::test(start_paused = true)]
async fn the_server_is_told_how_long_an_attempt_may_take() {
    let mock = willing();
    let table = table(&mock).with(|settings| settings.each(|call| call.attempt_timeout = 7 * SECOND));
    every_operation(&table).await;
    for request in mock.requests() {
        assert_eq!(grpc_timeout(&request), 7 * SECOND, "{:?}", request.rpc);
    }
}

#[tokio::test(start_paused = true)]
async fn the_server_is_told_no_more_than_the_operation_has_left() {
    let mock = Mock::new()
        .on(Rpc::MutateRow, Answer::new().wait(4 * SECOND).fail(Code::Unavailable))
        .on(Rpc::MutateRow, Answer::written());
    let table = table(&mock).with(|settings| settings.mutate_row.total_timeout = 6 * SECOND);
    table.mutate_row("k", set()).await.unwrap();
    let requests = mock.requests();
    assert_eq!(grpc_timeout(&requests[0]), 6 * SECOND);
    let left = grpc_timeout(&requests[1]);
    assert!(left < 2 * SECOND && left > 2 * SECOND - SECOND / 10, "{left:?}");
}

fn grpc_timeout(request: &Request) -> std::time::Duration {
    let text = request.header("grpc-timeout").unwrap();
    let (count, unit) = text.split_at(text.len() - 1);
    let count: u32 = count.parse().unwrap();
    count
        * match unit {
            "S" => SECOND,
            "m" => SECOND / 1000,
            "u" => SECOND / 1_000_000,
            "n" => SECOND / 1_000_000_000,
            _ => panic!("{text}"),
        }
}

#[tokio::test(start_paused = true)]
async fn a_row_is_read_by_its_key_and_a_limit_of_one() {
    let mock = willing();
    table(&mock).read_row("row-1", None).await.unwrap();
    assert_eq!(asked(&mock), ["row-1 limit 1"]);
}

#[tokio::test(start_paused = true)]
async fn a_scan_asks_for_what_it_was_told_to() {
    let mock = willing();
    let table = table(&mock);
    let range = |start: &str, end: &str| KeyRange::new(start, Some(end.into()));
    let request = ReadRows::new().key("k").range(range("a", "c")).range(range("x", "z")).prefix("p").limit(9);
    keys(table.read_rows(request.filter(RowFilter::latest(1)).reversed())).await.unwrap();
    all(&table).await.unwrap();
    assert_eq!(asked(&mock), ["k [a,c) [x,z) [p,q) limit 9 reversed", "[,)"]);
    let first = mock.requests()[0].read_rows();
    let filter = data::RowFilter { filter: Some(data::row_filter::Filter::CellsPerColumnLimitFilter(1)) };
    assert_eq!((first.table_name.as_str(), first.filter), (TABLE, Some(filter)));
}

#[tokio::test(start_paused = true)]
async fn clones_of_a_client_share_one_connection() {
    let mock = willing();
    let client = client(&mock);
    every_operation(&client.raw_table("a")).await;
    every_operation(&client.clone().with(|settings| settings.read_row.total_timeout = SECOND).raw_table("b"))
        .await;
    assert_eq!(mock.connections(), 1);
}
