//! What only a message of another client can ask.

use futures_util::TryStreamExt as _;
use tonic::{Code, Request, Response, Status};

use super::*;
use crate::embedded::admin::Admin;
use crate::embedded::data::Data;
use crate::embedded::store::Store;
use crate::wire::admin::bigtable_table_admin_server::BigtableTableAdmin as _;
use crate::wire::admin::drop_row_range_request::Target;
use crate::wire::admin::modify_column_families_request::Modification;
use crate::wire::admin::modify_column_families_request::modification::Mod;
use crate::wire::admin::{
    self, CheckConsistencyRequest, ColumnFamily, CreateTableRequest, DropRowRangeRequest,
    GenerateConsistencyTokenRequest, GetTableRequest, ListTablesRequest, ModifyColumnFamiliesRequest,
};
use crate::wire::data::bigtable_server::Bigtable as _;
use crate::wire::data::mutation::{self, AddToCell, DeleteFromColumn, SetCell};
use crate::wire::data::row_filter::Filter;
use crate::wire::data::{self, *};

const NAME: &str = "projects/p/instances/i/tables/t";

struct Servers {
    data: Data,
    admin: Admin,
}

impl Servers {
    /// Servers with a table that has the family `f` and splits at `c` and `m`.
    async fn new() -> Self {
        let store = Arc::new(Store::default());
        let servers = Self { data: Data::new(Arc::clone(&store)), admin: Admin::new(store) };
        let split = |key: &'static str| admin::create_table_request::Split { key: key.into() };
        let request = CreateTableRequest {
            parent: "projects/p/instances/i".to_owned(),
            table_id: "t".to_owned(),
            table: Some(admin::Table {
                column_families: [("f".to_owned(), ColumnFamily::default())].into(),
                ..admin::Table::default()
            }),
            initial_splits: vec![split("m"), split("c"), split("m")],
        };
        servers.admin.create_table(Request::new(request)).await.unwrap();
        servers
    }

    async fn mutate(&self, key: &'static str, mutation: mutation::Mutation) -> Result<(), Status> {
        let request = MutateRowRequest {
            table_name: NAME.to_owned(),
            row_key: key.into(),
            mutations: vec![data::Mutation { mutation: Some(mutation) }],
            ..MutateRowRequest::default()
        };
        self.data.mutate_row(Request::new(request)).await.map(|_| ())
    }

    async fn set(&self, key: &'static str, timestamp_micros: i64) {
        let cell = SetCell {
            family_name: "f".to_owned(),
            column_qualifier: "q".into(),
            timestamp_micros,
            value: "v".into(),
        };
        self.mutate(key, mutation::Mutation::SetCell(cell)).await.unwrap();
    }

    async fn read(&self, request: ReadRowsRequest) -> Result<Vec<ReadRowsResponse>, Status> {
        let request = ReadRowsRequest { table_name: NAME.to_owned(), ..request };
        self.data.read_rows(Request::new(request)).await.map(Response::into_inner)?.try_collect().await
    }

    /// The timestamps of the whole table's cells.
    async fn timestamps(&self) -> Vec<i64> {
        let responses = self.read(ReadRowsRequest::default()).await.unwrap();
        responses.iter().flat_map(|response| &response.chunks).map(|chunk| chunk.timestamp_micros).collect()
    }
}

fn message(filter: Filter) -> Option<data::RowFilter> {
    Some(data::RowFilter { filter: Some(filter) })
}

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
async fn rows_that_a_filter_drops_are_told_to_clients_that_listen() {
    let servers = Servers::new().await;
    servers.set("a", 0).await;
    servers.set("b", 0).await;
    let request =
        ReadRowsRequest { filter: message(Filter::BlockAllFilter(true)), ..ReadRowsRequest::default() };
    assert!(servers.read(request.clone()).await.unwrap().is_empty());

    let mut request = Request::new(ReadRowsRequest { table_name: NAME.to_owned(), ..request });
    request.metadata_mut().insert("bigtable-features", "CAEgAQ==".parse().unwrap());
    let responses = servers.data.read_rows(request).await.unwrap().into_inner();
    let responses: Vec<ReadRowsResponse> = responses.try_collect().await.unwrap();
    assert_eq!(responses, [ReadRowsResponse { chunks: Vec::new(), last_scanned_row_key: "b".into() }]);
}

#[tokio::test]
async fn a_request_that_names_no_rows_reads_all() {
    let servers = Servers::new().await;
    servers.set("a", 1000).await;
    servers.set("b", 2000).await;
    assert_eq!(servers.timestamps().await, [1000, 2000]);
    let status =
        servers.read(ReadRowsRequest { rows_limit: -1, ..ReadRowsRequest::default() }).await.unwrap_err();
    assert_eq!((status.code(), status.message()), (Code::InvalidArgument, "the row limit is -1"));
}

#[tokio::test]
async fn versions_are_deleted_by_time() {
    let servers = Servers::new().await;
    for timestamp in [1000, 2000, 3000, 4000] {
        servers.set("a", timestamp).await;
    }
    let delete = |start, end| {
        mutation::Mutation::DeleteFromColumn(DeleteFromColumn {
            family_name: "f".to_owned(),
            column_qualifier: "q".into(),
            time_range: Some(TimestampRange { start_timestamp_micros: start, end_timestamp_micros: end }),
        })
    };
    servers.mutate("a", delete(2000, 3000)).await.unwrap();
    assert_eq!(servers.timestamps().await, [4000, 3000, 1000]);
    servers.mutate("a", delete(3000, 0)).await.unwrap();
    assert_eq!(servers.timestamps().await, [1000]);
    assert_eq!(servers.mutate("a", delete(3000, 2000)).await.unwrap_err().code(), Code::InvalidArgument);
}

#[tokio::test]
async fn what_is_not_built_yet_says_so() {
    let servers = Servers::new().await;
    let aggregate = servers.mutate("a", mutation::Mutation::AddToCell(AddToCell::default())).await;
    let condition =
        servers.data.check_and_mutate_row(Request::new(CheckAndMutateRowRequest::default())).await;
    let append = servers.data.read_modify_write_row(Request::new(ReadModifyWriteRowRequest::default())).await;
    for (status, what) in [
        (aggregate.unwrap_err(), "aggregates"),
        (condition.unwrap_err(), "conditional writes"),
        (append.unwrap_err(), "increments and appends"),
    ] {
        assert_eq!(status.code(), Code::Unimplemented);
        assert_eq!(status.message(), format!("the embedded Bigtable has no {what} yet"));
    }
    servers.data.ping_and_warm(Request::new(PingAndWarmRequest::default())).await.unwrap();
}

#[tokio::test]
async fn samples_are_the_splits_and_the_end() {
    let servers = Servers::new().await;
    for key in ["a", "b", "c", "z"] {
        servers.set(key, 0).await;
    }
    let request = SampleRowKeysRequest { table_name: NAME.to_owned(), ..SampleRowKeysRequest::default() };
    let samples = servers.data.sample_row_keys(Request::new(request)).await.unwrap().into_inner();
    let samples: Vec<SampleRowKeysResponse> = samples.try_collect().await.unwrap();
    let samples: Vec<_> = samples.into_iter().map(|sample| (sample.row_key, sample.offset_bytes)).collect();
    assert_eq!(samples, [("c".into(), 6), ("m".into(), 9), (Bytes::new(), 12)]);
}

#[tokio::test]
async fn families_change_all_or_none() {
    let servers = Servers::new().await;
    servers.set("a", 0).await;
    let modify = async |modifications: Vec<(&str, Mod)>| {
        let modifications = modifications.into_iter().map(|(id, change)| Modification {
            id: id.to_owned(),
            r#mod: Some(change),
            update_mask: None,
        });
        let request = ModifyColumnFamiliesRequest {
            name: NAME.to_owned(),
            modifications: modifications.collect(),
            ignore_warnings: false,
        };
        servers.admin.modify_column_families(Request::new(request)).await
    };
    let create = || Mod::Create(ColumnFamily::default());
    let status = modify(vec![("g", create()), ("f", create())]).await.unwrap_err();
    assert_eq!(status.code(), Code::AlreadyExists);
    assert_eq!(modify(vec![("h", Mod::Drop(true))]).await.unwrap_err().code(), Code::NotFound);
    let update = Mod::Update(ColumnFamily::default());
    assert_eq!(modify(vec![("h", update.clone())]).await.unwrap_err().code(), Code::NotFound);
    assert_eq!(modify(vec![("-", create())]).await.unwrap_err().code(), Code::InvalidArgument);

    let table =
        modify(vec![("g", create()), ("g", update), ("f", Mod::Drop(true))]).await.unwrap().into_inner();
    assert_eq!(table.column_families.keys().collect::<Vec<_>>(), ["g"]);
    assert!(servers.timestamps().await.is_empty());
    let request = GetTableRequest { name: NAME.to_owned(), view: 0 };
    assert_eq!(servers.admin.get_table(Request::new(request)).await.unwrap().into_inner(), table);
}

#[tokio::test]
async fn rows_are_dropped_by_prefix_or_all() {
    let servers = Servers::new().await;
    for (key, timestamp) in [("a", 1000), ("ab", 2000), ("b", 3000)] {
        servers.set(key, timestamp).await;
    }
    let drop = async |target| {
        let request = DropRowRangeRequest { name: NAME.to_owned(), target };
        servers.admin.drop_row_range(Request::new(request)).await
    };
    drop(Some(Target::RowKeyPrefix("a".into()))).await.unwrap();
    assert_eq!(servers.timestamps().await, [3000]);
    for nothing in
        [None, Some(Target::RowKeyPrefix(Bytes::new())), Some(Target::DeleteAllDataFromTable(false))]
    {
        assert_eq!(drop(nothing).await.unwrap_err().code(), Code::InvalidArgument);
    }
    drop(Some(Target::DeleteAllDataFromTable(true))).await.unwrap();
    assert!(servers.timestamps().await.is_empty());
}

#[tokio::test]
async fn tables_are_listed_by_instance() {
    let servers = Servers::new().await;
    let list = async |parent: &str| {
        let request = ListTablesRequest { parent: parent.to_owned(), ..ListTablesRequest::default() };
        let response = servers.admin.list_tables(Request::new(request)).await.unwrap().into_inner();
        response.tables.into_iter().map(|table| table.name).collect::<Vec<_>>()
    };
    assert_eq!(list("projects/p/instances/i").await, [NAME]);
    assert!(list("projects/p/instances/j").await.is_empty());
}

#[tokio::test]
async fn writes_are_consistent_at_once() {
    let servers = Servers::new().await;
    let request = GenerateConsistencyTokenRequest { name: NAME.to_owned() };
    let token = servers.admin.generate_consistency_token(Request::new(request)).await.unwrap().into_inner();
    let check = async |consistency_token| {
        let request = CheckConsistencyRequest { name: NAME.to_owned(), consistency_token };
        servers.admin.check_consistency(Request::new(request)).await
    };
    assert!(check(token.consistency_token).await.unwrap().into_inner().consistent);
    assert_eq!(check("another".to_owned()).await.unwrap_err().code(), Code::InvalidArgument);
}
