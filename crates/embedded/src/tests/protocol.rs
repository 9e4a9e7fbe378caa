//! Requests that keyderive's client never sends.

use futures_util::TryStreamExt as _;
use keyderive_proto::admin::{ListClustersRequest, ListHotTabletsRequest};
use keyderive_proto::data::bigtable_server::Bigtable as _;
use keyderive_proto::data::row_filter::Filter;
use keyderive_proto::data::row_range::{EndKey, StartKey};
use keyderive_proto::data::{
    ExecuteQueryRequest, PingAndWarmRequest, PrepareQueryRequest, ReadRowsRequest, ReadRowsResponse,
    RowRange, RowSet, SampleRowKeysRequest, SampleRowKeysResponse,
};
use keyderive_tests::raw_client::RawClient;
use tonic::{Code, Request, Status};

use super::raw::{INSTANCE, NAME, Servers, code, message};
use super::*;

#[tokio::test]
async fn reversed_order_is_only_for_clients_that_take_it() {
    let servers = Servers::new().await;
    let request = ReadRowsRequest { reversed: true, ..ReadRowsRequest::default() };
    let status = servers.read(request).await.unwrap_err();
    assert_eq!(status.code(), Code::Unimplemented);
    assert!(status.message().contains("`bigtable-features`"), "{status}");
    let mut request = Request::new(ReadRowsRequest::default());
    request.metadata_mut().insert("bigtable-features", "%".parse().unwrap());
    assert_eq!(servers.data.read_rows(request).await.err().unwrap().code(), Code::InvalidArgument);
}

#[tokio::test]
async fn filtered_rows_are_reported_to_clients_with_the_feature() {
    let servers = Servers::new().await;
    servers.set("a", "f", "q", 0, "v").await.unwrap();
    servers.set("b", "f", "q", 0, "v").await.unwrap();
    let request =
        ReadRowsRequest { filter: message(Filter::BlockAllFilter(true)), ..ReadRowsRequest::default() };
    assert!(servers.read(request.clone()).await.unwrap().is_empty());

    let mut request = Request::new(ReadRowsRequest { table_name: NAME.to_owned(), ..request });
    request.metadata_mut().insert("bigtable-features", "CAEgAQ==".parse().unwrap());
    let responses = servers.data.read_rows(request).await.unwrap().into_inner();
    let responses = responses.map_ok(|response| response.decoded().unwrap());
    let responses: Vec<ReadRowsResponse> = responses.try_collect().await.unwrap();
    assert_eq!(responses, [ReadRowsResponse { last_scanned_row_key: "b".into(), ..Default::default() }]);
}

#[tokio::test]
async fn a_request_that_names_no_rows_reads_all() {
    let servers = Servers::new().await;
    servers.set("a", "f", "q", 1000, "v").await.unwrap();
    servers.set("b", "f", "q", 2000, "v").await.unwrap();
    assert_eq!(servers.timestamps().await, [1000, 2000]);
    let status =
        servers.read(ReadRowsRequest { rows_limit: -1, ..ReadRowsRequest::default() }).await.unwrap_err();
    assert_eq!(
        (status.code(), status.message()),
        (Code::InvalidArgument, "the row limit is -1, and it must not be negative")
    );
}

#[tokio::test]
async fn a_row_range_that_holds_no_key_is_refused() {
    let servers = Servers::new().await;
    servers.set("a", "f", "q", 1000, "v").await.unwrap();
    let read = async |start_key, end_key| {
        let ranges = vec![RowRange { start_key: Some(start_key), end_key: Some(end_key) }];
        let rows = Some(RowSet { row_keys: vec!["a".into()], row_ranges: ranges });
        servers.read(ReadRowsRequest { rows, ..ReadRowsRequest::default() }).await
    };
    for (start, end) in [
        (StartKey::StartKeyClosed("b".into()), EndKey::EndKeyOpen("b".into())),
        (StartKey::StartKeyOpen("b".into()), EndKey::EndKeyClosed("b".into())),
        (StartKey::StartKeyOpen("b".into()), EndKey::EndKeyOpen("b\0".into())),
        (StartKey::StartKeyClosed("c".into()), EndKey::EndKeyClosed("b".into())),
    ] {
        let status = read(start.clone(), end.clone()).await.unwrap_err();
        assert_eq!(status.code(), Code::InvalidArgument, "{start:?} {end:?}");
        assert!(status.message().starts_with("row range 0 "), "{status}");
    }
    let rows = read(StartKey::StartKeyOpen("b".into()), EndKey::EndKeyOpen("".into())).await.unwrap();
    assert_eq!(rows.iter().flat_map(|rows| &rows.chunks).count(), 1);
}

#[tokio::test]
async fn samples_are_the_splits_and_the_end() {
    let servers = Servers::new().await;
    for key in ["a", "b", "c", "z"] {
        servers.set(key, "f", "q", 0, "v").await.unwrap();
    }
    let request = SampleRowKeysRequest { table_name: NAME.to_owned(), ..SampleRowKeysRequest::default() };
    let samples = servers.data.sample_row_keys(Request::new(request)).await.unwrap().into_inner();
    let samples: Vec<SampleRowKeysResponse> = samples.try_collect().await.unwrap();
    let samples: Vec<_> = samples.into_iter().map(|sample| (sample.row_key, sample.offset_bytes)).collect();
    assert_eq!(samples, [("c".into(), 6), ("m".into(), 9), (Bytes::new(), 12)]);
}

#[tokio::test]
async fn samples_of_a_range_end_with_it() {
    let servers = Servers::new().await;
    for key in ["a", "b", "c", "n", "z"] {
        servers.set(key, "f", "q", 0, "v").await.unwrap();
    }
    let samples = async |start_key, end_key| {
        let row_range = Some(RowRange { start_key, end_key });
        let request = SampleRowKeysRequest {
            table_name: NAME.to_owned(),
            row_range,
            ..SampleRowKeysRequest::default()
        };
        let samples = servers.data.sample_row_keys(Request::new(request)).await?.into_inner();
        let samples: Vec<_> = samples.try_collect().await?;
        Ok::<_, Status>(
            samples.into_iter().map(|sample| (sample.row_key, sample.offset_bytes)).collect::<Vec<_>>(),
        )
    };
    let start = |key: &'static str| Some(StartKey::StartKeyClosed(key.into()));
    let end = |key: &'static str| Some(EndKey::EndKeyOpen(key.into()));
    assert_eq!(
        samples(start("b"), end("n")).await.unwrap(),
        [("c".into(), 3), ("m".into(), 6), ("n".into(), 6)]
    );
    assert_eq!(samples(start("c"), end("m")).await.unwrap(), [("m".into(), 3)]);
    assert_eq!(samples(start("n"), None).await.unwrap(), [(Bytes::new(), 6)]);
    assert_eq!(samples(None, end("b")).await.unwrap(), [("b".into(), 3)]);
    assert_eq!(code(samples(start("b"), end("b")).await), Code::InvalidArgument);
}

#[tokio::test]
async fn sql_is_not_served() {
    let servers = Servers::new().await;
    let (prepare, execute) = (PrepareQueryRequest::default(), ExecuteQueryRequest::default());
    assert_eq!(code(servers.data.prepare_query(Request::new(prepare)).await), Code::Unimplemented);
    assert_eq!(code(servers.data.execute_query(Request::new(execute)).await), Code::Unimplemented);
}

#[tokio::test]
async fn instances_are_not_administered() {
    let mut instances = RawClient::new(Bigtable::in_memory());
    let parent = INSTANCE.to_owned();
    let clusters = ListClustersRequest { parent: parent.clone(), ..ListClustersRequest::default() };
    let hot = ListHotTabletsRequest { parent, ..ListHotTabletsRequest::default() };
    assert_eq!(code(instances.list_clusters(clusters).await), Code::Unimplemented);
    assert_eq!(code(instances.list_hot_tablets(hot).await), Code::Unimplemented);
}

#[tokio::test]
async fn samples_grow_with_the_rows() {
    let servers = Servers::new().await;
    let last = async || {
        let request = SampleRowKeysRequest { table_name: NAME.to_owned(), ..SampleRowKeysRequest::default() };
        let samples = servers.data.sample_row_keys(Request::new(request)).await.unwrap().into_inner();
        samples.try_collect::<Vec<_>>().await.unwrap().pop().unwrap()
    };
    let mut before = -1;
    for rows in [0, 1, 300, 600] {
        for number in 0..rows {
            servers.set(&format!("{number:03}"), "f", "q", 0, "v").await.unwrap();
        }
        let sample = last().await;
        assert!(sample.row_key.is_empty() && sample.offset_bytes > before, "{sample:?} after {before}");
        before = sample.offset_bytes;
    }
    let request = SampleRowKeysRequest { table_name: "absent".to_owned(), ..SampleRowKeysRequest::default() };
    assert_eq!(code(servers.data.sample_row_keys(Request::new(request)).await), Code::NotFound);
}

#[tokio::test]
async fn ping_and_warm_takes_an_instance() {
    let servers = Servers::new().await;
    let ping = async |name: &str| {
        let request = PingAndWarmRequest { name: name.to_owned(), ..PingAndWarmRequest::default() };
        servers.data.ping_and_warm(Request::new(request)).await
    };
    ping("projects/p/instances/i").await.unwrap();
    for none in ["", "p", "projects//instances/i", NAME] {
        assert_eq!(code(ping(none).await), Code::InvalidArgument, "{none}");
    }
}

#[tokio::test]
async fn a_request_whose_header_names_another_table_is_rejected() {
    let servers = Servers::new().await;
    servers.set("a", "f", "q", 0, "v").await.unwrap();
    let read = async |header: &str| {
        let message = ReadRowsRequest { table_name: NAME.to_owned(), ..ReadRowsRequest::default() };
        let mut request = Request::new(message);
        request.metadata_mut().insert("x-goog-request-params", header.parse().unwrap());
        servers.data.read_rows(request).await.map(|_| ())
    };
    read("table_name=projects%2Fp%2Finstances%2Fi%2Ftables%2Ft&app_profile_id=").await.unwrap();
    read("app_profile_id=x&table_name=projects/p/instances/i/tables/t").await.unwrap();
    let status = read("table_name=projects%2Fp%2Finstances%2Fi%2Ftables%2Fu").await.unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument);
    assert!(status.message().contains("tables%2Fu` as `table_name`, but the request names"), "{status}");
    let status = read("name=t").await.unwrap_err();
    assert!(status.message().contains("has no `table_name`; it must be `projects/p/"), "{status}");
}

#[tokio::test]
async fn a_scan_of_a_table_that_is_deleted_fails() {
    let servers = Servers::new().await;
    for number in 0..200 {
        servers.set(&format!("{number:03}"), "f", "q", 0, "v").await.unwrap();
    }
    let request = ReadRowsRequest { table_name: NAME.to_owned(), ..ReadRowsRequest::default() };
    let mut rows = servers.data.read_rows(Request::new(request)).await.unwrap().into_inner();
    rows.try_next().await.unwrap().unwrap();
    servers.delete_table().await.unwrap();
    assert_eq!(code(rows.try_next().await), Code::NotFound);
    assert_eq!(rows.try_next().await.unwrap(), None);
}
