//! The data service.

use std::sync::Arc;
use std::vec;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE;
use bytes::Bytes;
use futures_util::stream;
use keyderive_proto::FEATURES_HEADER;
use keyderive_proto::data::bigtable_server::Bigtable;
use keyderive_proto::data::mutate_rows_response::Entry;
use keyderive_proto::data::read_modify_write_rule::Rule;
use keyderive_proto::data::{
    CheckAndMutateRowRequest, CheckAndMutateRowResponse, FeatureFlags, MutateRowRequest, MutateRowResponse,
    MutateRowsRequest, MutateRowsResponse, Mutation, PingAndWarmRequest, PingAndWarmResponse,
    ReadModifyWriteRowRequest, ReadModifyWriteRowResponse, ReadRowsRequest, RowFilter, SampleRowKeysRequest,
    SampleRowKeysResponse, mutate_rows_request, mutation,
};
use keyderive_proto::values;
use prost::Message as _;
use tonic::metadata::MetadataMap;
use tonic::{Request, Response, Status};

use super::faults::{SplitStream, StreamFault, TruncatedStream};
use super::filter::Filter;
use super::interval;
use super::mutate::{apply, changes};
use super::scan::Scan;
use super::storage::{Cells, Families, LARGE_BYTES};
use super::store::{Bulk, RowChange};
use super::worker::{SHORT_WORK, WORK_BYTES, Worker, aside};
use super::{check, modify, mutate, routing, sample};

/// How many keys and ranges of a scan are put in order while other tasks wait.
const SHORT_NAMES: usize = 4096;

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
type Answers<T> = TruncatedStream<stream::Iter<vec::IntoIter<Result<T, Status>>>>;

#[tonic::async_trait]
impl Bigtable for Data {
    type ReadRowsStream = TruncatedStream<SplitStream<Scan>>;
    type SampleRowKeysStream = Answers<SampleRowKeysResponse>;
    type MutateRowsStream = Answers<MutateRowsResponse>;

    async fn read_rows(
        &self,
        request: Request<ReadRowsRequest>,
    ) -> Result<Response<Self::ReadRowsStream>, Status> {
        let (features, faults) = (features(request.metadata())?, StreamFault::of(&request));
        let request = routed(request, |message| &message.table_name)?;
        let limit = u64::try_from(request.rows_limit)
            .map_err(|_| Status::invalid_argument(format!("the row limit is {}", request.rows_limit)))?;
        let limit = Some(limit).filter(|limit| *limit != 0);
        let names = request.rows.as_ref().map_or(0, |rows| rows.row_keys.len() + rows.row_ranges.len());
        let intervals = move || interval::of(request.rows);
        let intervals = if names <= SHORT_NAMES { intervals() } else { aside(intervals).await? }?;
        let filter = filter(request.filter).await?;
        let scan = Scan::new(self.worker.store(), request.table_name, intervals, filter, limit)?
            .tells_progress(features.last_scanned_row_responses);
        let scan = match (request.reversed, features.reverse_scans) {
            (false, _) => scan,
            (true, true) => scan.reversed(),
            (true, false) => {
                return Err(Status::unimplemented(format!(
                    "the client does not say in `{FEATURES_HEADER}` that it takes rows in reversed order"
                )));
            }
        };
        Ok(Response::new(TruncatedStream::new(SplitStream::new(scan, &faults), &faults)))
    }

    async fn sample_row_keys(
        &self,
        request: Request<SampleRowKeysRequest>,
    ) -> Result<Response<Self::SampleRowKeysStream>, Status> {
        let faults = StreamFault::of(&request);
        let request = routed(request, |message| &message.table_name)?;
        let samples = self.worker.read(move |store| sample::row_keys(store, &request.table_name)).await?;
        Ok(answers(samples, &faults))
    }

    async fn mutate_row(
        &self,
        request: Request<MutateRowRequest>,
    ) -> Result<Response<MutateRowResponse>, Status> {
        let MutateRowRequest { table_name, row_key, mutations, .. } =
            routed(request, |message| &message.table_name)?;
        check::number_of_mutations(mutations.len())?;
        let in_line = (work(&mutations) <= SHORT_WORK).then_some(LARGE_BYTES);
        let key = row_key.clone();
        let make = move |families: &Families, cells: &mut Cells, now| {
            mutate::row(families, &row_key, cells, &mutations, now)
        };
        self.worker.change(RowChange { table: table_name, key, in_line, make }).await?;
        Ok(Response::new(MutateRowResponse {}))
    }

    async fn mutate_rows(
        &self,
        request: Request<MutateRowsRequest>,
    ) -> Result<Response<Self::MutateRowsStream>, Status> {
        let faults = StreamFault::of(&request);
        let MutateRowsRequest { table_name, entries, .. } = routed(request, |message| &message.table_name)?;
        if entries.is_empty() {
            return Err(Status::invalid_argument("the request has no entries"));
        }
        check::number_of_mutations(entries.iter().map(|entry| entry.mutations.len()).sum())?;
        let is_short = entries.iter().map(work_of_entry).sum::<usize>() <= SHORT_WORK;
        let table = table_name.clone();
        let bulk = move || Bulk::new(table, entries, |entry| &entry.row_key, work_of_entry, make_each);
        let bulk = if is_short { bulk() } else { aside(bulk).await? };
        let (mut outcomes, rest) = self.worker.change_each(bulk, is_short).await?.into_outcomes();
        for (key, entries) in rest {
            let places: Vec<usize> = entries.iter().map(|(place, _)| *place).collect();
            let make = move |families: &Families, cells: &mut Cells, now| {
                Ok(make_each(families, cells, &entries, now))
            };
            let change = RowChange { table: table_name.clone(), key, in_line: None, make };
            match self.worker.change(change).await {
                Ok(made) => {
                    for (place, outcome) in places.into_iter().zip(made) {
                        outcomes[place] = outcome;
                    }
                }
                Err(status) => places.into_iter().for_each(|place| outcomes[place] = Err(status.clone())),
            }
        }
        let entries = outcomes.into_iter().zip(0..).map(|(outcome, index)| Entry {
            index,
            status: Some(outcome.err().as_ref().map(message).unwrap_or_default()),
        });
        let answer = MutateRowsResponse { entries: entries.collect(), rate_limit_info: None };
        Ok(answers(vec![answer], &faults))
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
        let predicate = filter(predicate_filter).await?;
        let in_line = work(true_mutations.iter().chain(&false_mutations)) <= SHORT_WORK;
        let in_line = in_line.then_some(LARGE_BYTES / predicate.work());
        let key = row_key.clone();
        // Both lists are checked, so that what is wrong with one does not wait for the row that asks for it.
        let make = move |families: &Families, cells: &mut Cells, now| {
            let (found, missing) =
                (changes(families, &true_mutations, now)?, changes(families, &false_mutations, now)?);
            let matched = !predicate.apply(&row_key, cells.clone())?.is_empty();
            apply(cells, if matched { found } else { missing });
            Ok(matched)
        };
        let change = RowChange { table: table_name, key, in_line, make };
        let predicate_matched = self.worker.change(change).await?;
        Ok(Response::new(CheckAndMutateRowResponse { predicate_matched }))
    }

    async fn read_modify_write_row(
        &self,
        request: Request<ReadModifyWriteRowRequest>,
    ) -> Result<Response<ReadModifyWriteRowResponse>, Status> {
        let ReadModifyWriteRowRequest { table_name, row_key, rules, .. } =
            routed(request, |message| &message.table_name)?;
        check::number_of_mutations(rules.len())?;
        let work = rules.iter().map(|rule| match &rule.rule {
            Some(Rule::AppendValue(value)) => 1 + value.len() / WORK_BYTES,
            _ => 1,
        });
        let in_line = work.sum::<usize>() <= SHORT_WORK;
        let in_line = in_line.then_some(LARGE_BYTES);
        let key = row_key.clone();
        let make = move |families: &Families, cells: &mut Cells, now| {
            modify::row(families, &row_key, cells, &rules, now)
        };
        let row = self.worker.change(RowChange { table: table_name, key, in_line, make }).await?;
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

/// How much work mutations are.
fn work<'a>(mutations: impl IntoIterator<Item = &'a Mutation>) -> usize {
    let work = |mutation: &Mutation| match &mutation.mutation {
        Some(mutation::Mutation::SetCell(set)) => 1 + set.value.len() / WORK_BYTES,
        _ => 1,
    };
    mutations.into_iter().map(work).sum()
}

fn work_of_entry(entry: &mutate_rows_request::Entry) -> usize {
    1 + work(&entry.mutations)
}

fn make_each(
    families: &Families,
    cells: &mut Cells,
    entries: &[(usize, mutate_rows_request::Entry)],
    now: i64,
) -> Vec<Result<(), Status>> {
    mutate::entries(families, cells, entries.iter().map(|(_, entry)| entry), now)
}

/// The filter of a request, whose regular expressions can take long to be compiled.
async fn filter(message: Option<RowFilter>) -> Result<Filter, Status> {
    if message.as_ref().is_none_or(Filter::is_soon_made) {
        return Filter::new(message);
    }
    aside(|| Filter::new(message)).await?
}

fn answers<T>(answers: Vec<T>, faults: &StreamFault) -> Response<Answers<T>> {
    let answers: Vec<_> = answers.into_iter().map(Ok).collect();
    Response::new(TruncatedStream::new(stream::iter(answers), faults))
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
    let Some(header) = metadata.get(FEATURES_HEADER) else { return Ok(FeatureFlags::default()) };
    let flags = URL_SAFE.decode(header.as_bytes()).ok().map(Bytes::from);
    flags.and_then(|flags| FeatureFlags::decode(flags).ok()).ok_or_else(|| {
        Status::invalid_argument(format!("the header `{FEATURES_HEADER}` is no message in base64"))
    })
}
