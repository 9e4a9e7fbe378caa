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

use super::faults::{Breaks, Cut, Torn};
use super::filter::Filter;
use super::interval;
use super::mutate::{apply, changes};
use super::scan::Scan;
use super::store::Store;
use super::worker::Worker;
use super::{check, modify, mutate, routing, sample};
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
    worker: Arc<Worker>,
}

impl Data {
    pub(super) fn new(worker: Arc<Worker>) -> Self {
        Self { worker }
    }
}

/// Answers that are made before the first is sent.
type Answers<T> = Cut<stream::Iter<vec::IntoIter<Result<T, Status>>>>;

#[tonic::async_trait]
impl Bigtable for Data {
    type ReadRowsStream = Cut<Torn<Scan>>;
    type SampleRowKeysStream = Answers<SampleRowKeysResponse>;
    type MutateRowsStream = Answers<MutateRowsResponse>;

    async fn read_rows(
        &self,
        request: Request<ReadRowsRequest>,
    ) -> Result<Response<Self::ReadRowsStream>, Status> {
        let (features, breaks) = (features(request.metadata())?, Breaks::of(&request));
        let request = routed(request, |message| &message.table_name)?;
        let limit = u64::try_from(request.rows_limit)
            .map_err(|_| Status::invalid_argument(format!("the row limit is {}", request.rows_limit)))?;
        let limit = Some(limit).filter(|limit| *limit != 0);
        let (intervals, filter) = (interval::of(request.rows)?, Filter::new(request.filter)?);
        let scan = Scan::new(self.worker.store(), request.table_name, intervals, filter, limit)?
            .tells_progress(features.last_scanned_row_responses);
        let scan = match (request.reversed, features.reverse_scans) {
            (false, _) => scan,
            (true, true) => scan.reversed(),
            (true, false) => {
                return Err(Status::unimplemented(format!(
                    "the client does not say in `{FEATURES}` that it takes rows in reversed order"
                )));
            }
        };
        Ok(Response::new(Cut::new(Torn::new(scan, &breaks), &breaks)))
    }

    async fn sample_row_keys(
        &self,
        request: Request<SampleRowKeysRequest>,
    ) -> Result<Response<Self::SampleRowKeysStream>, Status> {
        let breaks = Breaks::of(&request);
        let request = routed(request, |message| &message.table_name)?;
        let samples = self.worker.read(move |store| sample::row_keys(store, &request.table_name)).await?;
        Ok(answers(samples, &breaks))
    }

    async fn mutate_row(
        &self,
        request: Request<MutateRowRequest>,
    ) -> Result<Response<MutateRowResponse>, Status> {
        let MutateRowRequest { table_name, row_key, mutations, .. } =
            routed(request, |message| &message.table_name)?;
        check::number_of_mutations(mutations.len())?;
        let write = move |store: &Store| {
            store.change(&table_name, &row_key, |families, cells, now| {
                mutate::row(families, &row_key, cells, mutations, now)
            })
        };
        self.worker.write(write).await?;
        Ok(Response::new(MutateRowResponse {}))
    }

    async fn mutate_rows(
        &self,
        request: Request<MutateRowsRequest>,
    ) -> Result<Response<Self::MutateRowsStream>, Status> {
        let breaks = Breaks::of(&request);
        let MutateRowsRequest { table_name, entries, .. } = routed(request, |message| &message.table_name)?;
        if entries.is_empty() {
            return Err(Status::invalid_argument("the request has no entries"));
        }
        check::number_of_mutations(entries.iter().map(|entry| entry.mutations.len()).sum())?;
        let write = move |store: &Store| {
            store.change_each(
                &table_name,
                entries,
                |entry| entry.row_key.clone(),
                |families, cells, entry, now| {
                    mutate::row(families, &entry.row_key, cells, entry.mutations, now)
                },
            )
        };
        let outcomes = self.worker.write(write).await?;
        let entries = outcomes.into_iter().zip(0..).map(|(outcome, index)| Entry {
            index,
            status: Some(outcome.err().as_ref().map(message).unwrap_or_default()),
        });
        let answer = MutateRowsResponse { entries: entries.collect(), rate_limit_info: None };
        Ok(answers(vec![answer], &breaks))
    }

    async fn check_and_mutate_row(
        &self,
        request: Request<CheckAndMutateRowRequest>,
    ) -> Result<Response<CheckAndMutateRowResponse>, Status> {
        let request = routed(request, |message| &message.table_name)?;
        let CheckAndMutateRowRequest {
            table_name,
            row_key,
            predicate_filter,
            true_mutations,
            false_mutations,
            ..
        } = request;
        check::key(&row_key)?;
        if true_mutations.is_empty() && false_mutations.is_empty() {
            return Err(Status::invalid_argument(format!(
                "there are no mutations for row {row_key:?}, whether the filter finds a cell or not"
            )));
        }
        check::number_of_mutations(true_mutations.len())?;
        check::number_of_mutations(false_mutations.len())?;
        let predicate = Filter::new(predicate_filter)?;
        // Both lists are checked, so that what is wrong with one does not wait for the row that asks for it.
        let write = move |store: &Store| {
            store.change(&table_name, &row_key, |families, cells, now| {
                let (found, missing) =
                    (changes(families, true_mutations, now)?, changes(families, false_mutations, now)?);
                let matched = !predicate.apply(&row_key, cells.clone())?.is_empty();
                apply(cells, if matched { found } else { missing });
                Ok(matched)
            })
        };
        let predicate_matched = self.worker.write(write).await?;
        Ok(Response::new(CheckAndMutateRowResponse { predicate_matched }))
    }

    async fn read_modify_write_row(
        &self,
        request: Request<ReadModifyWriteRowRequest>,
    ) -> Result<Response<ReadModifyWriteRowResponse>, Status> {
        let ReadModifyWriteRowRequest { table_name, row_key, rules, .. } =
            routed(request, |message| &message.table_name)?;
        check::number_of_mutations(rules.len())?;
        let write = move |store: &Store| {
            store.change(&table_name, &row_key, |families, cells, now| {
                modify::row(families, &row_key, cells, rules, now)
            })
        };
        let row = self.worker.write(write).await?;
        Ok(Response::new(ReadModifyWriteRowResponse { row: Some(row) }))
    }

    async fn ping_and_warm(
        &self,
        request: Request<PingAndWarmRequest>,
    ) -> Result<Response<PingAndWarmResponse>, Status> {
        let request = routing::routed(request, "name", |message| &message.name)?;
        check::instance(&request.name)?;
        Ok(Response::new(PingAndWarmResponse {}))
    }
}

fn answers<T>(answers: Vec<T>, breaks: &Breaks) -> Response<Answers<T>> {
    let answers: Vec<_> = answers.into_iter().map(Ok).collect();
    Response::new(Cut::new(stream::iter(answers), breaks))
}

/// The message of a request that is routed by its table.
fn routed<M>(request: Request<M>, table: impl FnOnce(&M) -> &str) -> Result<M, Status> {
    routing::routed(request, "table_name", table)
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
