//! The data service.

use std::sync::Arc;
use std::vec;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE;
use bytes::Bytes;
use futures_util::stream;
use prost::Message as _;
use tonic::metadata::MetadataMap;
use tonic::{Request, Response, Status};

use super::filter::Filter;
use super::interval;
use super::mutate::{self, MAX_MUTATIONS};
use super::scan::Scan;
use super::store::{Store, Table};
use crate::client::FEATURES;
use crate::wire::data::bigtable_server::Bigtable;
use crate::wire::data::mutate_rows_response::Entry;
use crate::wire::data::{
    CheckAndMutateRowRequest, CheckAndMutateRowResponse, FeatureFlags, MutateRowRequest, MutateRowResponse,
    MutateRowsRequest, MutateRowsResponse, PingAndWarmRequest, PingAndWarmResponse,
    ReadModifyWriteRowRequest, ReadModifyWriteRowResponse, ReadRowsRequest, SampleRowKeysRequest,
    SampleRowKeysResponse,
};
use crate::wire::values;

/// Reads and writes the rows of a store.
pub(super) struct Data {
    store: Arc<Store>,
}

impl Data {
    pub(super) fn new(store: Arc<Store>) -> Self {
        Self { store }
    }
}

/// Answers that are made before the first is sent.
type Answers<T> = stream::Iter<vec::IntoIter<Result<T, Status>>>;

#[tonic::async_trait]
impl Bigtable for Data {
    type ReadRowsStream = Scan;
    type SampleRowKeysStream = Answers<SampleRowKeysResponse>;
    type MutateRowsStream = Answers<MutateRowsResponse>;

    async fn read_rows(&self, request: Request<ReadRowsRequest>) -> Result<Response<Scan>, Status> {
        let features = features(request.metadata())?;
        let request = request.into_inner();
        let table = self.store.get(&request.table_name)?;
        let limit = u64::try_from(request.rows_limit)
            .map_err(|_| Status::invalid_argument(format!("the row limit is {}", request.rows_limit)))?;
        let limit = Some(limit).filter(|limit| *limit != 0);
        let scan = Scan::new(table, interval::of(request.rows)?, Filter::new(request.filter)?, limit)
            .tells_progress(features.last_scanned_row_responses);
        match (request.reversed, features.reverse_scans) {
            (false, _) => Ok(Response::new(scan)),
            (true, true) => Ok(Response::new(scan.reversed())),
            (true, false) => Err(Status::unimplemented(format!(
                "the client does not say in `{FEATURES}` that it takes rows in reversed order"
            ))),
        }
    }

    async fn sample_row_keys(
        &self,
        request: Request<SampleRowKeysRequest>,
    ) -> Result<Response<Self::SampleRowKeysStream>, Status> {
        let table = self.store.get(&request.get_ref().table_name)?;
        Ok(answers(samples(&table)))
    }

    async fn mutate_row(
        &self,
        request: Request<MutateRowRequest>,
    ) -> Result<Response<MutateRowResponse>, Status> {
        let request = request.into_inner();
        let table = self.store.get(&request.table_name)?;
        check_number(request.mutations.len())?;
        mutate::row(&table, &request.row_key, request.mutations)?;
        Ok(Response::new(MutateRowResponse {}))
    }

    async fn mutate_rows(
        &self,
        request: Request<MutateRowsRequest>,
    ) -> Result<Response<Self::MutateRowsStream>, Status> {
        let request = request.into_inner();
        let table = self.store.get(&request.table_name)?;
        if request.entries.is_empty() {
            return Err(Status::invalid_argument("the request has no entries"));
        }
        check_number(request.entries.iter().map(|entry| entry.mutations.len()).sum())?;
        let outcomes = request.entries.into_iter().zip(0..).map(|(entry, index)| {
            let outcome = mutate::row(&table, &entry.row_key, entry.mutations);
            Entry { index, status: Some(outcome.err().as_ref().map(message).unwrap_or_default()) }
        });
        let entries = outcomes.collect();
        Ok(answers(vec![MutateRowsResponse { entries, rate_limit_info: None }]))
    }

    async fn check_and_mutate_row(
        &self,
        _: Request<CheckAndMutateRowRequest>,
    ) -> Result<Response<CheckAndMutateRowResponse>, Status> {
        Err(Status::unimplemented("the embedded Bigtable has no conditional writes yet"))
    }

    async fn read_modify_write_row(
        &self,
        _: Request<ReadModifyWriteRowRequest>,
    ) -> Result<Response<ReadModifyWriteRowResponse>, Status> {
        Err(Status::unimplemented("the embedded Bigtable has no increments and appends yet"))
    }

    async fn ping_and_warm(
        &self,
        _: Request<PingAndWarmRequest>,
    ) -> Result<Response<PingAndWarmResponse>, Status> {
        Ok(Response::new(PingAndWarmResponse {}))
    }
}

fn answers<T>(answers: Vec<T>) -> Response<Answers<T>> {
    let answers: Vec<_> = answers.into_iter().map(Ok).collect();
    Response::new(stream::iter(answers))
}

fn check_number(mutations: usize) -> Result<(), Status> {
    if mutations <= MAX_MUTATIONS {
        return Ok(());
    }
    Err(Status::invalid_argument(format!(
        "the request has {mutations} mutations, and it may have {MAX_MUTATIONS}"
    )))
}

fn message(status: &Status) -> values::Status {
    values::Status { code: status.code().into(), message: status.message().to_owned(), details: Vec::new() }
}

/// What the client says that it can do; nothing, when it says nothing.
fn features(metadata: &MetadataMap) -> Result<FeatureFlags, Status> {
    let Some(header) = metadata.get(FEATURES) else { return Ok(FeatureFlags::default()) };
    let flags = URL_SAFE.decode(header.as_bytes()).ok().map(Bytes::from);
    flags
        .and_then(|flags| FeatureFlags::decode(flags).ok())
        .ok_or_else(|| Status::invalid_argument(format!("the header `{FEATURES}` is no message in base64")))
}

/// The table's splits and its end, each with the size of the rows before it.
fn samples(table: &Table) -> Vec<SampleRowKeysResponse> {
    let state = table.read();
    let mut samples = Vec::with_capacity(table.splits.len() + 1);
    let mut splits = table.splits.iter().peekable();
    let mut offset_bytes = 0;
    for (key, cells) in &state.rows {
        while let Some(row_key) = splits.next_if(|split| *split <= key) {
            samples.push(SampleRowKeysResponse { row_key: row_key.clone(), offset_bytes });
        }
        let cells: usize = cells.iter().map(|cell| cell.qualifier.len() + cell.value.len()).sum();
        offset_bytes += i64::try_from(key.len() + cells).unwrap_or(i64::MAX);
    }
    let rest = splits.cloned().chain([Bytes::new()]);
    samples.extend(rest.map(|row_key| SampleRowKeysResponse { row_key, offset_bytes }));
    samples
}
