//! Untrusted requests to each RPC of the embedded Bigtable, as bytes. None panics, and a rejected request changes nothing.

use std::sync::LazyLock;
use std::time::{Duration, UNIX_EPOCH};

use bytes::Bytes;
use keyderive_embedded::Bigtable;
use keyderive_proto::admin::r#type::aggregate::{Aggregator, Sum};
use keyderive_proto::admin::r#type::int64::encoding::{BigEndianBytes, Encoding as IntegerEncoding};
use keyderive_proto::admin::r#type::{Aggregate, Int64, Kind, int64};
use keyderive_proto::admin::{
    ColumnFamily, CreateTableRequest, GetTableRequest, ListTablesRequest, ListTablesResponse, Table, Type,
    table,
};
use keyderive_proto::data::mutate_rows_request::Entry;
use keyderive_proto::data::mutation::{self, SetCell};
use keyderive_proto::data::{MutateRowsRequest, MutateRowsResponse, Mutation, ReadRowsRequest};
use keyderive_proto::{FEATURES_HEADER, RowsMessage};
use keyderive_tests::fuzz::{Input, fuzz};
use keyderive_tests::proxy::{body_of, collected, messages, prefixed};
use prost::Message as _;
use tokio::runtime::Runtime;
use tonic::Code;
use tower_service::Service as _;

pub(crate) const INSTANCE: &str = "projects/p/instances/i";
pub(crate) const TABLE: &str = "projects/p/instances/i/tables/t";

const READ: &str = "/google.bigtable.v2.Bigtable/ReadRows";
const LIST: &str = "/google.bigtable.admin.v2.BigtableTableAdmin/ListTables";
const GET: &str = "/google.bigtable.admin.v2.BigtableTableAdmin/GetTable";
const CREATE: &str = "/google.bigtable.admin.v2.BigtableTableAdmin/CreateTable";
const MUTATE: &str = "/google.bigtable.v2.Bigtable/MutateRows";

/// The paths, each with the name in the first field of its requests, if that is a name.
const RPCS: [(&str, Option<&str>); 17] = [
    (READ, Some(TABLE)),
    ("/google.bigtable.v2.Bigtable/SampleRowKeys", Some(TABLE)),
    ("/google.bigtable.v2.Bigtable/MutateRow", Some(TABLE)),
    (MUTATE, Some(TABLE)),
    ("/google.bigtable.v2.Bigtable/CheckAndMutateRow", Some(TABLE)),
    ("/google.bigtable.v2.Bigtable/ReadModifyWriteRow", Some(TABLE)),
    ("/google.bigtable.v2.Bigtable/PingAndWarm", Some(INSTANCE)),
    ("/google.bigtable.v2.Bigtable/PrepareQuery", Some(INSTANCE)),
    ("/google.bigtable.v2.Bigtable/ExecuteQuery", Some(INSTANCE)),
    (CREATE, Some(INSTANCE)),
    (LIST, Some(INSTANCE)),
    (GET, Some(TABLE)),
    ("/google.bigtable.admin.v2.BigtableTableAdmin/DeleteTable", Some(TABLE)),
    ("/google.bigtable.admin.v2.BigtableTableAdmin/UpdateTable", None),
    ("/google.bigtable.admin.v2.BigtableTableAdmin/ModifyColumnFamilies", Some(TABLE)),
    ("/google.bigtable.admin.v2.BigtableTableAdmin/DropRowRange", Some(TABLE)),
    ("/google.bigtable.admin.v2.BigtableTableAdmin/CheckConsistency", Some(TABLE)),
];

/// A thread's calls are made on one runtime.
pub(crate) static RUNTIME: LazyLock<Runtime> =
    LazyLock::new(|| tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap());

/// The code of the answer, and its messages.
pub(crate) async fn call(bigtable: &Bigtable, path: &str, message: impl Into<Bytes>) -> (Code, Bytes) {
    let request = http::Request::post(path).header("content-type", "application/grpc");
    // Reversed scans, and keys of rows that a filter leaves out.
    let request = request.header(FEATURES_HEADER, "CAEgAQ==");
    let body = body_of(prefixed(&RowsMessage(message.into())), None);
    let Ok(response) = bigtable.clone().call(request.body(body).unwrap()).await;
    let status = response.headers().get("grpc-status").cloned();
    let (data, trailers) = collected(response.into_body()).await.unwrap();
    let status = status.or(trailers.and_then(|trailers| trailers.get("grpc-status").cloned())).unwrap();
    (Code::from_bytes(status.as_bytes()), data)
}

/// All tables, with all that they have.
async fn state(bigtable: &Bigtable) -> Vec<Bytes> {
    let list = ListTablesRequest { parent: INSTANCE.to_owned(), ..ListTablesRequest::default() };
    let (_, tables) = call(bigtable, LIST, list.encode_to_vec()).await;
    let mut all = vec![tables.clone()];
    for table in messages::<ListTablesResponse>(tables).unwrap().pop().unwrap().tables {
        let get = GetTableRequest { name: table.name.clone(), view: table::View::Full.into() };
        // A map is encoded in any order.
        let (_, got) = call(bigtable, GET, get.encode_to_vec()).await;
        let mut got = messages::<Table>(got).unwrap().pop().unwrap();
        let mut families: Vec<_> = std::mem::take(&mut got.column_families).into_iter().collect();
        families.sort_by(|one, other| one.0.cmp(&other.0));
        all.push(format!("{got:?}{families:?}").into());
        let read = ReadRowsRequest { table_name: table.name, ..ReadRowsRequest::default() };
        all.push(call(bigtable, READ, read.encode_to_vec()).await.1);
    }
    all
}

/// A Bigtable whose clock stands still, with the families `a` and `b` and one of sums, `s`, and some cells of the first two.
pub(crate) async fn bigtable() -> Bigtable {
    let bigtable = Bigtable::in_memory();
    bigtable.set_time(UNIX_EPOCH + Duration::from_secs(1_700_000_000));
    let encoding = int64::Encoding { encoding: Some(IntegerEncoding::BigEndianBytes(BigEndianBytes {})) };
    let integer = Type { kind: Some(Kind::Int64Type(Int64 { encoding: Some(encoding) })) };
    let sum = Aggregate {
        input_type: Some(Box::new(integer)),
        state_type: None,
        aggregator: Some(Aggregator::Sum(Sum {})),
    };
    let sum = ColumnFamily {
        gc_rule: None,
        value_type: Some(Type { kind: Some(Kind::AggregateType(Box::new(sum))) }),
    };
    let families = [("a", ColumnFamily::default()), ("b", ColumnFamily::default()), ("s", sum)];
    let column_families = families.into_iter().map(|(name, family)| (name.to_owned(), family)).collect();
    let create = CreateTableRequest {
        parent: INSTANCE.to_owned(),
        table_id: "t".to_owned(),
        table: Some(Table { column_families, ..Table::default() }),
        ..CreateTableRequest::default()
    };
    assert_eq!(call(&bigtable, CREATE, create.encode_to_vec()).await.0, Code::Ok);
    let entries = [
        ("k", "a", "p", 1000, "v"),
        ("k", "a", "p", 2000, "w"),
        ("k", "a", "q", 3000, ""),
        ("k", "b", "p", 1000, "v"),
        ("l", "a", "\u{80}", 0, "\u{ff}\0"),
        ("m", "b", "", 1000, "long value"),
    ]
    .map(|(row, family, qualifier, timestamp_micros, value)| {
        let set = SetCell {
            family_name: family.to_owned(),
            column_qualifier: qualifier.into(),
            timestamp_micros,
            value: value.into(),
        };
        let mutation = Some(mutation::Mutation::SetCell(set));
        Entry {
            row_key: row.into(),
            mutations: vec![Mutation { mutation, ..Mutation::default() }],
            ..Entry::default()
        }
    });
    let write = MutateRowsRequest {
        table_name: TABLE.to_owned(),
        entries: entries.to_vec(),
        ..MutateRowsRequest::default()
    };
    assert_eq!(call(&bigtable, MUTATE, write.encode_to_vec()).await.0, Code::Ok);
    bigtable
}

/// Whether the answer to a `MutateRows` accepts any of its entries.
fn has_written(data: Bytes) -> bool {
    let answers = messages::<MutateRowsResponse>(data).unwrap();
    let mut entries = answers.iter().flat_map(|answer| &answer.entries);
    entries.any(|entry| entry.status.as_ref().is_none_or(|status| status.code == 0))
}

#[test]
fn requests() {
    fuzz("requests", |bytes| {
        RUNTIME.block_on(async {
            let (mut input, bigtable) = (Input::new(bytes), bigtable().await);
            let mut before = state(&bigtable).await;
            while !input.is_empty() {
                let which = input.below(2 * RPCS.len());
                let (path, name) = RPCS[which / 2];
                let mut message = input.bytes().to_vec();
                // The last name counts.
                if let Some(name) = name.filter(|_| which % 2 == 1) {
                    message.extend([0x0a, u8::try_from(name.len()).unwrap()]);
                    message.extend(name.as_bytes());
                }
                let (code, data) = call(&bigtable, path, message).await;
                let changes = code == Code::Ok && (path != MUTATE || has_written(data));
                let after = state(&bigtable).await;
                assert!(changes || after == before, "{path}: {code}");
                before = after;
            }
        });
    });
}
