//! The client before a server that answers by script.

use std::sync::{Arc, Mutex};
use std::vec;

use bytes::Bytes;
use futures_util::{TryStreamExt as _, stream};
use keyderive_proto::RowsMessage;
use keyderive_proto::data::bigtable_server::{Bigtable, BigtableServer};
use keyderive_proto::data::mutate_rows_response::Entry;
use keyderive_proto::data::read_rows_response::CellChunk;
use keyderive_proto::data::read_rows_response::cell_chunk::RowStatus;
use keyderive_proto::data::*;
use keyderive_proto::values::{self, BytesValue, StringValue};
use tonic::body::Body;
use tonic::metadata::MetadataMap;
use tonic::{Request, Response, Status};
use tower_service::Service as _;

use super::*;
use crate::plan::KeyRange;
use crate::row::Mutation;

#[derive(Clone, Default)]
pub(super) struct Script {
    pub(super) reads: Vec<Result<ReadRowsResponse, Status>>,
    pub(super) outcomes: Vec<Result<MutateRowsResponse, Status>>,
    pub(super) seen: Arc<Mutex<Vec<MetadataMap>>>,
}

impl Script {
    fn client(self) -> Client {
        let client = Client::builder().in_process(Arc::new(self), None);
        client.with(|settings| settings.each(|call| call.max_attempts = 1))
    }

    fn see<T>(&self, request: &Request<T>) {
        self.seen.lock().unwrap().push(request.metadata().clone());
    }
}

impl InProcess for Script {
    fn call(&self, request: http::Request<Body>) -> BoxFuture<http::Response<Body>> {
        let mut server = BigtableServer::new(self.clone());
        Box::pin(async move { server.call(request).await.unwrap() })
    }
}

type Answers<T> = stream::Iter<vec::IntoIter<Result<T, Status>>>;

#[tonic::async_trait]
impl Bigtable for Script {
    type ReadRowsStream = Answers<RowsMessage>;
    type SampleRowKeysStream = Answers<SampleRowKeysResponse>;
    type MutateRowsStream = Answers<MutateRowsResponse>;

    async fn read_rows(
        &self,
        request: Request<ReadRowsRequest>,
    ) -> Result<Response<Self::ReadRowsStream>, Status> {
        self.see(&request);
        let reads = self.reads.iter().map(|read| read.as_ref().map(RowsMessage::from).map_err(Status::clone));
        Ok(Response::new(stream::iter(reads.collect::<Vec<_>>())))
    }

    async fn mutate_rows(
        &self,
        request: Request<MutateRowsRequest>,
    ) -> Result<Response<Self::MutateRowsStream>, Status> {
        self.see(&request);
        Ok(Response::new(stream::iter(self.outcomes.clone())))
    }

    async fn mutate_row(
        &self,
        request: Request<MutateRowRequest>,
    ) -> Result<Response<MutateRowResponse>, Status> {
        self.see(&request);
        Ok(Response::new(MutateRowResponse {}))
    }

    async fn sample_row_keys(
        &self,
        _: Request<SampleRowKeysRequest>,
    ) -> Result<Response<Self::SampleRowKeysStream>, Status> {
        Err(Status::unimplemented("not in the script"))
    }

    async fn check_and_mutate_row(
        &self,
        _: Request<CheckAndMutateRowRequest>,
    ) -> Result<Response<CheckAndMutateRowResponse>, Status> {
        Err(Status::unimplemented("not in the script"))
    }

    async fn read_modify_write_row(
        &self,
        _: Request<ReadModifyWriteRowRequest>,
    ) -> Result<Response<ReadModifyWriteRowResponse>, Status> {
        Err(Status::unimplemented("not in the script"))
    }

    async fn ping_and_warm(
        &self,
        _: Request<PingAndWarmRequest>,
    ) -> Result<Response<PingAndWarmResponse>, Status> {
        Err(Status::unimplemented("not in the script"))
    }
}

pub(super) fn row(key: &'static str, commit: bool) -> Result<ReadRowsResponse, Status> {
    let chunk = CellChunk {
        row_key: key.into(),
        family_name: Some(StringValue { value: "f".to_owned() }),
        qualifier: Some(BytesValue { value: "q".into() }),
        row_status: commit.then_some(RowStatus::CommitRow(true)),
        ..CellChunk::default()
    };
    Ok(ReadRowsResponse { chunks: vec![chunk], last_scanned_row_key: Bytes::new() })
}

fn read(reads: Vec<Result<ReadRowsResponse, Status>>) -> RowStream {
    let client = Script { reads, ..Script::default() }.client();
    client.read_rows("t", ReadRows { ranges: vec![KeyRange::new("", None)], ..ReadRows::default() })
}

pub(super) fn outcome(index: i64, code: tonic::Code) -> Entry {
    Entry { index, status: Some(values::Status { code: code.into(), ..values::Status::default() }) }
}

fn outcomes(entries: Vec<Entry>) -> Result<MutateRowsResponse, Status> {
    Ok(MutateRowsResponse { entries, rate_limit_info: None })
}

async fn write_three(outcomes: Vec<Result<MutateRowsResponse, Status>>) -> Vec<Result<(), Error>> {
    let entries =
        ["a", "b", "c"].map(|key| (Bytes::from_static(key.as_bytes()), vec![Mutation::delete_row()]));
    Script { outcomes, ..Script::default() }.client().mutate_rows("t", entries.into()).await
}

#[tokio::test]
async fn data_rpcs_are_routed_and_say_what_the_client_can() {
    let script = Script::default();
    let client = script.clone().client();
    client.mutate_row("my-table", "k".into(), vec![Mutation::delete_row()]).await.unwrap();
    assert!(client.read_row("my-table", "k".into(), None).await.unwrap().is_none());
    assert!(
        client.mutate_rows("my-table", vec![("k".into(), vec![Mutation::delete_row()])]).await[0].is_err()
    );
    let seen = script.seen.lock().unwrap();
    assert_eq!(seen.len(), 3);
    for headers in &*seen {
        assert_eq!(
            headers.get("x-goog-request-params").unwrap(),
            "table_name=projects%2Fkeyderive%2Finstances%2Flocal%2Ftables%2Fmy-table&app_profile_id="
        );
        assert_eq!(headers.get("bigtable-features").unwrap(), "CAEgATABOAE=");
        assert_eq!(headers.get("bigtable-attempt").unwrap(), "0");
        assert!(headers.contains_key("bigtable-client-attempt-epoch-usec"));
        assert!(headers.contains_key("x-goog-api-client"));
    }
}

#[tokio::test]
async fn an_answer_that_breaks_the_protocol_ends_the_scan() {
    for (reads, reason) in [
        (vec![row("b", true), row("a", true), row("c", true)], "increasing"),
        (vec![row("b", true), row("c", false)], "the stream ends before row b\"c\" is committed"),
    ] {
        let mut rows = read(reads);
        rows.next().await.unwrap().unwrap();
        let error = rows.next().await.unwrap().unwrap_err();
        assert!(error.is_protocol_violation() && error.to_string().contains(reason), "{error}");
        assert!(rows.next().await.is_none());
    }
}

#[tokio::test]
async fn a_failure_comes_after_the_rows_before_it() {
    let mut rows = read(vec![row("a", true), row("b", false), Err(Status::unavailable("later"))]);
    assert_eq!(rows.next().await.unwrap().unwrap().key(), b"a");
    let error = rows.next().await.unwrap().unwrap_err();
    let text = error.to_string();
    assert!(
        text.starts_with("ReadRows on table `t` failed: UNAVAILABLE: later; given up after 1 attempt"),
        "{text}"
    );
    assert_eq!(error.last_row_key(), Some(&b"a"[..]));
    assert!(error.is_unavailable() && rows.next().await.is_none());
}

#[tokio::test]
async fn a_row_may_be_split_over_responses() {
    let commit = CellChunk { row_status: Some(RowStatus::CommitRow(true)), ..CellChunk::default() };
    let rest = ReadRowsResponse { chunks: vec![commit], last_scanned_row_key: Bytes::new() };
    let rows: Vec<_> = read(vec![row("a", false), Ok(rest)]).try_collect().await.unwrap();
    assert_eq!((rows.len(), rows[0].cells().len()), (1, 2));
}

#[tokio::test]
async fn an_error_after_a_single_row_is_an_error_of_the_read() {
    let client =
        Script { reads: vec![row("k", true), Err(Status::data_loss(""))], ..Script::default() }.client();
    assert!(client.read_row("t", "k".into(), None).await.is_err());
    let client = Script { reads: vec![row("k", true), row("l", true)], ..Script::default() }.client();
    assert!(client.read_row("t", "k".into(), None).await.unwrap_err().is_protocol_violation());
}

#[tokio::test]
async fn entries_without_an_outcome_are_errors() {
    use tonic::Code;
    let told = vec![
        outcomes(vec![outcome(2, Code::Ok)]),
        outcomes(vec![outcome(0, Code::NotFound), outcome(9, Code::Ok)]),
    ];
    let written = write_three(told).await;
    assert!(written[0].as_ref().unwrap_err().is_not_found());
    assert!(written[1].as_ref().unwrap_err().is_protocol_violation());
    assert!(written[2].is_ok());
}

#[tokio::test]
async fn a_failure_is_of_the_entries_whose_outcome_is_unknown() {
    let told = vec![outcomes(vec![outcome(1, tonic::Code::Ok)]), Err(Status::unavailable("later"))];
    let written = write_three(told).await;
    assert!(written[1].is_ok());
    assert!(
        written[0].as_ref().unwrap_err().is_unavailable()
            && written[2].as_ref().unwrap_err().is_unavailable()
    );
    let written = write_three(vec![Err(Status::unavailable("later"))]).await;
    assert!(written.iter().all(|outcome| outcome.as_ref().unwrap_err().is_unavailable()));
}
