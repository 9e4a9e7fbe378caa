//! SQL: what the server does for every engine.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use futures_util::TryStreamExt as _;
use keyderive_proto::admin::r#type::{self as types, Kind};
use keyderive_proto::admin::{self, ColumnFamily, Type};
use keyderive_proto::data::bigtable_server::Bigtable as _;
use keyderive_proto::data::execute_query_response::Response as Part;
use keyderive_proto::data::partial_result_set::PartialRows;
use keyderive_proto::data::result_set_metadata::Schema;
use keyderive_proto::data::{
    self, ColumnMetadata, ExecuteQueryRequest, PartialResultSet, PrepareQueryRequest, PrepareQueryResponse,
    ProtoRows, Value, value,
};
use keyderive_proto::values;
use prost::Message as _;
use tonic::{Code, Request, Response, Status};

use super::raw::*;
use super::*;
use crate::data::Data;
use crate::query::{OnOpen, Query, QueryEngine, QueryTables};
use crate::worker::Worker;

use crate::Interval;

/// Returns the key and the cells of each row of the table that is the query's text, or of those in `a` to `c` if it has the parameter
/// `few`.
struct Cells;

fn bytes() -> Type {
    Type { kind: Some(Kind::BytesType(types::Bytes::default())) }
}

fn column(name: &str) -> ColumnMetadata {
    ColumnMetadata { name: name.to_owned(), r#type: Some(bytes()) }
}

impl QueryEngine for Cells {
    fn open(
        &self,
        query: &Query,
        parameters: &BTreeMap<String, Value>,
        tables: &QueryTables<'_>,
        on_open: OnOpen<'_>,
    ) -> Result<(), Status> {
        let table = tables.table(&query.text)?;
        let table =
            table.ok_or_else(|| Status::invalid_argument(format!("Table not found: {}", query.text)))?;
        let columns = [column("_key")].into_iter().chain(table.families().map(|(name, _)| column(name)));
        let intervals = match parameters.contains_key("few") {
            // They overlap, and are not in order.
            true => vec![Interval::point(&"b".into()), Interval { start: "a".into(), end: Some("c".into()) }],
            false => vec![Interval::all()],
        };
        on_open(columns.collect(), &mut |row| {
            table.visit(intervals.clone(), |key, cells| {
                let value = |bytes: &Bytes| Value {
                    r#type: None,
                    kind: Some(value::Kind::BytesValue(bytes.clone())),
                };
                let of = |family: &str| {
                    cells.iter().find(|cell| *cell.family == *family).map(|cell| value(&cell.value))
                };
                let families = table.families().map(|(name, _)| of(name).unwrap_or_default());
                row([value(key)].into_iter().chain(families).collect());
                Ok(ControlFlow::Continue(()))
            })
        })
    }
}

impl Servers {
    fn with_engine(self) -> Self {
        let worker = Arc::new(Worker::new(Arc::clone(&self.store)).unwrap());
        Self { data: Data::new(worker, Some(Arc::new(Cells))), ..self }
    }

    async fn prepare(&self, text: &str, parameters: &[&str]) -> Result<PrepareQueryResponse, Status> {
        let request = PrepareQueryRequest {
            instance_name: INSTANCE.to_owned(),
            query: text.to_owned(),
            param_types: parameters.iter().map(|name| ((*name).to_owned(), bytes())).collect(),
            ..PrepareQueryRequest::default()
        };
        self.data.prepare_query(Request::new(request)).await.map(Response::into_inner)
    }

    async fn execute(&self, request: ExecuteQueryRequest) -> Result<Vec<PartialResultSet>, Status> {
        let request = ExecuteQueryRequest { instance_name: INSTANCE.to_owned(), ..request };
        let answer = self.data.execute_query(Request::new(request)).await?.into_inner();
        let part = |answer: data::ExecuteQueryResponse| match answer.response {
            Some(Part::Results(part)) => part,
            _ => panic!("the columns came with the preparation"),
        };
        answer.map_ok(part).try_collect().await
    }

    async fn rows(&self, prepared: &PrepareQueryResponse) -> Result<Vec<PartialResultSet>, Status> {
        self.execute(ExecuteQueryRequest {
            prepared_query: prepared.prepared_query.clone(),
            ..ExecuteQueryRequest::default()
        })
        .await
    }
}

/// The values of a batch, of which the checksum is right.
fn values_of(part: &PartialResultSet) -> Vec<String> {
    let Some(PartialRows::ProtoRowsBatch(batch)) = &part.partial_rows else { panic!("{part:?}") };
    assert_eq!(part.batch_checksum, Some(crc32c::crc32c(&batch.batch_data)));
    let values = ProtoRows::decode(batch.batch_data.clone()).unwrap().values;
    let text = |value: Value| match value.kind {
        Some(value::Kind::BytesValue(bytes)) => bytes.escape_ascii().to_string(),
        _ => "NULL".to_owned(),
    };
    values.into_iter().map(text).collect()
}

fn is_expired(status: &Status) -> bool {
    let details = values::Status::decode(Bytes::copy_from_slice(status.details())).unwrap().details;
    let failure = values::PreconditionFailure::decode(details[0].value.clone()).unwrap();
    status.code() == Code::FailedPrecondition && failure.violations[0].r#type == "PREPARED_QUERY_EXPIRED"
}

#[tokio::test]
async fn a_batch_comes_with_a_checksum_and_before_a_resume_token() {
    let servers = Servers::new().await.with_engine();
    let prepared = servers.prepare("t", &[]).await.unwrap();
    let Some(Schema::ProtoSchema(schema)) = prepared.metadata.clone().unwrap().schema else { panic!() };
    assert_eq!(schema.columns, [column("_key"), column("f")]);
    assert!(prepared.valid_until.unwrap().seconds > 1_700_000_000);

    let empty = servers.rows(&prepared).await.unwrap();
    assert_eq!((empty.len(), empty[0].reset, empty[0].batch_checksum), (2, true, None));
    assert!(!empty[1].resume_token.is_empty() && empty[1].partial_rows.is_none());

    servers.set("b", "f", "q", START, "one").await.unwrap();
    servers.set("a", "f", "q", START, "two").await.unwrap();
    let parts = servers.rows(&prepared).await.unwrap();
    assert_eq!((parts.len(), parts[0].reset, parts[1].reset), (2, true, false));
    assert_eq!(values_of(&parts[0]), ["a", "two", "b", "one"]);
    assert!(parts[0].resume_token.is_empty());
    assert_ne!(parts[1].resume_token, empty[1].resume_token);
}

#[tokio::test]
async fn rows_come_in_batches_and_resume_after_each() {
    let servers = Servers::new().await.with_engine();
    let large = "x".repeat(600 << 10);
    for key in ["a", "b", "c", "d", "e"] {
        servers.set(key, "f", "q", START, large.clone()).await.unwrap();
    }
    let prepared = servers.prepare("t", &[]).await.unwrap();
    let parts = servers.rows(&prepared).await.unwrap();
    let keys = |parts: &[PartialResultSet]| -> Vec<Vec<String>> {
        let batches = parts.iter().filter(|part| part.partial_rows.is_some());
        batches.map(|part| values_of(part).into_iter().step_by(2).collect()).collect()
    };
    assert_eq!(keys(&parts), [vec!["a", "b"], vec!["c", "d"], vec!["e"]]);
    let resume = async |token: &Bytes| {
        let prepared_query = prepared.prepared_query.clone();
        let request = ExecuteQueryRequest {
            prepared_query,
            resume_token: token.clone(),
            ..ExecuteQueryRequest::default()
        };
        servers.execute(request).await
    };
    assert_eq!(keys(&resume(&parts[1].resume_token).await.unwrap()), [vec!["c", "d"], vec!["e"]]);
    assert_eq!(keys(&resume(&parts[3].resume_token).await.unwrap()), [vec!["e"]]);
    // After all rows, only a token is left.
    let ended = resume(&parts[5].resume_token).await.unwrap();
    assert_eq!((ended.len(), &ended[1].resume_token), (2, &parts[5].resume_token));
    // Rows after the place may change.
    servers.set("f", "f", "q", START, "new").await.unwrap();
    assert_eq!(keys(&resume(&parts[3].resume_token).await.unwrap()), [vec!["e", "f"]]);
    // Without those before it, nobody knows which rows the client has.
    servers.set("aa", "f", "q", START, "new").await.unwrap();
    assert!(is_expired(&resume(&parts[1].resume_token).await.unwrap_err()));
    assert_eq!(resume(&"token".into()).await.unwrap_err().code(), Code::InvalidArgument);
}

#[tokio::test]
async fn garbage_is_not_read_and_intervals_may_overlap() {
    let age = admin::GcRule { rule: Some(admin::gc_rule::Rule::MaxNumVersions(1)) };
    let family = ColumnFamily { gc_rule: Some(age), ..ColumnFamily::default() };
    let servers = Servers::with([("f", family)]).await.with_engine();
    for (key, value) in [("a", "1"), ("b", "2"), ("b", "3"), ("c", "4")] {
        servers.set(key, "f", "q", START + if value == "2" { 0 } else { 1000 }, value).await.unwrap();
    }
    let prepared = servers.prepare("t", &["few"]).await.unwrap();
    let few = Value { r#type: Some(bytes()), kind: None };
    let request = |params: &[(&str, Value)]| ExecuteQueryRequest {
        prepared_query: prepared.prepared_query.clone(),
        params: params.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect(),
        ..ExecuteQueryRequest::default()
    };
    let parts = servers.execute(request(&[("few", few)])).await.unwrap();
    assert_eq!(values_of(&parts[0]), ["a", "1", "b", "3"]);
    let text = Type { kind: Some(Kind::StringType(types::String::default())) };
    for (params, message) in [
        (vec![], "params does not contain key 'few'"),
        (vec![("few", Value::default())], "params 'few' has no type"),
        (
            vec![("few", Value { r#type: Some(text), kind: None })],
            "params 'few' has type string_type but expected type bytes_type",
        ),
    ] {
        let status = servers.execute(request(&params)).await.unwrap_err();
        assert_eq!((status.code(), status.message()), (Code::InvalidArgument, message));
    }
}

#[tokio::test]
async fn a_prepared_query_expires_when_its_columns_change() {
    let servers = Servers::new().await.with_engine();
    let prepared = servers.prepare("t", &[]).await.unwrap();
    let create = admin::modify_column_families_request::modification::Mod::Create(ColumnFamily::default());
    servers.modify_families([("g", create)]).await.unwrap();
    assert!(is_expired(&servers.rows(&prepared).await.unwrap_err()));
    let prepared = servers.prepare("t", &[]).await.unwrap();
    assert!(servers.rows(&prepared).await.is_ok());
    servers.delete_table().await.unwrap();
    assert!(is_expired(&servers.rows(&prepared).await.unwrap_err()));
    let status = servers.prepare("t", &[]).await.unwrap_err();
    assert_eq!((status.code(), status.message()), (Code::InvalidArgument, "Table not found: t"));
}

#[tokio::test]
async fn what_was_not_prepared_here_is_rejected() {
    let servers = Servers::new().await.with_engine();
    let prepared = servers.prepare("t", &[]).await.unwrap().prepared_query;
    for prepared_query in ["".into(), "garbage".into(), prepared.slice(..prepared.len() - 1)] {
        let request = ExecuteQueryRequest { prepared_query, ..ExecuteQueryRequest::default() };
        let status = servers.execute(request).await.unwrap_err();
        assert_eq!(status.code(), Code::InvalidArgument, "{status}");
    }
    let request = ExecuteQueryRequest {
        instance_name: "projects/p/instances/other".to_owned(),
        prepared_query: prepared,
        ..ExecuteQueryRequest::default()
    };
    let status = servers.data.execute_query(Request::new(request)).await.err().unwrap();
    assert!(status.message().contains("its query was prepared for"), "{status}");
    let without = Servers::new().await;
    assert_eq!(without.prepare("t", &[]).await.unwrap_err().code(), Code::Unimplemented);
}
