//! The data service.

use std::sync::Arc;
use std::time::Instant;
use std::vec;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE;
use bytes::Bytes;
use futures_util::stream;
use keyderive_proto::FEATURES_HEADER;
use keyderive_proto::data::bigtable_server::Bigtable;
use keyderive_proto::data::mutate_rows_response::Entry;
use keyderive_proto::data::read_modify_write_rule::Rule;
use keyderive_proto::data::read_rows_request::RequestStatsView;
use keyderive_proto::data::{
    CheckAndMutateRowRequest, CheckAndMutateRowResponse, ExecuteQueryRequest, ExecuteQueryResponse,
    FeatureFlags, MutateRowRequest, MutateRowResponse, MutateRowsRequest, MutateRowsResponse, Mutation,
    PingAndWarmRequest, PingAndWarmResponse, PrepareQueryRequest, PrepareQueryResponse,
    ReadModifyWriteRowRequest, ReadModifyWriteRowResponse, ReadRowsRequest, RowFilter, RowSet,
    SampleRowKeysRequest, SampleRowKeysResponse, mutate_rows_request, mutation,
};
use keyderive_proto::values;
use prost::Message as _;
use tonic::metadata::MetadataMap;
use tonic::{Request, Response, Status};

use crate::check;
use crate::faults::{SplitStream, StreamFault, TruncatedStream};
use crate::filter::Filter;
use crate::interval::{self, Interval};
use crate::mutate::{apply, changes, mutate_entries, mutate_row, read_modify_write};
use crate::query::{self, QueryCaller, QueryEngine};
use crate::scan::Scan;
use crate::storage::{Cells, LARGE_BYTES};
use crate::store::{Bulk, Context, RowChange, SHORT_WORK, Store, WORK_BYTES};
use crate::worker::{Worker, run_blocking};

/// With more keys and ranges, a `ReadRows` request sorts them on a blocking thread.
const MAX_INLINE_RANGES: usize = 4096;

pub(super) struct Data {
    worker: Arc<Worker>,
    /// Runs SQL.
    engine: Option<Arc<dyn QueryEngine>>,
}

impl Data {
    pub(super) fn new(worker: Arc<Worker>, engine: Option<Arc<dyn QueryEngine>>) -> Self {
        Self { worker, engine }
    }

    fn engine(&self) -> Result<Arc<dyn QueryEngine>, Status> {
        self.engine.clone().ok_or_else(|| {
            Status::unimplemented(
                "this embedded Bigtable does not run SQL; read with scans, serve one with `keyderive serve`, or query the service",
            )
        })
    }
}

/// A stream of responses that are all computed in advance.
type Responses<T> = TruncatedStream<stream::Iter<vec::IntoIter<Result<T, Status>>>>;

#[tonic::async_trait]
impl Bigtable for Data {
    type ReadRowsStream = TruncatedStream<SplitStream<Scan>>;
    type SampleRowKeysStream = Responses<SampleRowKeysResponse>;
    type MutateRowsStream = Responses<MutateRowsResponse>;
    type ExecuteQueryStream = Responses<ExecuteQueryResponse>;

    async fn read_rows(
        &self,
        request: Request<ReadRowsRequest>,
    ) -> Result<Response<Self::ReadRowsStream>, Status> {
        let begun = Instant::now();
        let (features, faults) = (features(request.metadata())?, StreamFault::of(&request));
        let request = routed(request, |message| &message.table_name)?;
        let limit = u64::try_from(request.rows_limit).map_err(|_| {
            let limit = request.rows_limit;
            Status::invalid_argument(format!("the row limit is {limit}, and it must not be negative"))
        })?;
        let limit = Some(limit).filter(|limit| *limit != 0);
        let count = request.rows.as_ref().map_or(0, |rows| rows.row_keys.len() + rows.row_ranges.len());
        let intervals = move || interval::from_row_set(request.rows);
        let intervals =
            if count <= MAX_INLINE_RANGES { intervals() } else { run_blocking(intervals).await? }?;
        let filter = parse_filter(request.filter).await?;
        let scan = Scan::new(self.worker.store(), request.table_name, intervals, filter, limit)?
            .reports_progress(features.last_scanned_row_responses);
        let is_measured = request.request_stats_view == RequestStatsView::RequestStatsFull as i32;
        let scan = if is_measured { scan.measured(begun) } else { scan };
        let scan = match (request.reversed, features.reverse_scans) {
            (false, _) => scan,
            (true, true) => scan.reversed(),
            (true, false) => {
                return Err(Status::unimplemented(format!(
                    "the client requests a reverse scan, but does not declare `reverse_scans` in the header `{FEATURES_HEADER}`"
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
        let SampleRowKeysRequest { table_name, row_range, .. } = request;
        let ranges = RowSet { row_keys: Vec::new(), row_ranges: row_range.into_iter().collect() };
        // One range, or the whole table.
        let range = interval::from_row_set(Some(ranges))?.pop().unwrap_or_else(Interval::all);
        let samples = self.worker.read(move |store| sample_row_keys(store, &table_name, &range)).await?;
        Ok(responses(samples, &faults))
    }

    async fn mutate_row(
        &self,
        request: Request<MutateRowRequest>,
    ) -> Result<Response<MutateRowResponse>, Status> {
        let MutateRowRequest { table_name, row_key, mutations, idempotency, .. } =
            routed(request, |message| &message.table_name)?;
        check::number_of_mutations(mutations.len())?;
        let inline_bytes = (work(&mutations) <= SHORT_WORK).then_some(LARGE_BYTES);
        let key = row_key.clone();
        let apply = move |context: &mut Context<'_>, cells: &mut Cells| {
            mutate_row(context, &row_key, cells, &mutations, idempotency.as_ref())
        };
        self.worker.change(RowChange { table: table_name, key, inline_bytes, apply }).await?;
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
        let bulk = move || Bulk::new(table, entries, |entry| &entry.row_key, work_of_entry, apply_each);
        let bulk = if is_short { bulk() } else { run_blocking(bulk).await? };
        let (mut outcomes, rest) = self.worker.change_rows(bulk, is_short).await?.into_outcomes();
        for (key, entries) in rest {
            let places: Vec<usize> = entries.iter().map(|(place, _)| *place).collect();
            let apply =
                move |context: &mut Context<'_>, cells: &mut Cells| Ok(apply_each(context, cells, &entries));
            let change = RowChange { table: table_name.clone(), key, inline_bytes: None, apply };
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
            status: Some(outcome.err().as_ref().map(status_message).unwrap_or_default()),
        });
        let response = MutateRowsResponse { entries: entries.collect(), rate_limit_info: None };
        Ok(responses(vec![response], &faults))
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
                "the request for row {row_key:?} has neither `true_mutations` nor `false_mutations`"
            )));
        }
        check::number_of_mutations(true_mutations.len())?;
        check::number_of_mutations(false_mutations.len())?;
        let predicate = parse_filter(predicate_filter).await?;
        let is_short = work(true_mutations.iter().chain(&false_mutations)) <= SHORT_WORK;
        let inline_bytes = is_short.then_some(LARGE_BYTES / predicate.work());
        let key = row_key.clone();
        // Validate both lists, so that an invalid mutation is an error whichever list the predicate selects.
        let apply = move |context: &mut Context<'_>, cells: &mut Cells| {
            let (found, missing) = (changes(context, &true_mutations)?, changes(context, &false_mutations)?);
            let matched = !predicate.apply(&row_key, cells.clone())?.is_empty();
            apply(cells, if matched { found } else { missing });
            Ok(matched)
        };
        let change = RowChange { table: table_name, key, inline_bytes, apply };
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
        let is_short = work.sum::<usize>() <= SHORT_WORK;
        let inline_bytes = is_short.then_some(LARGE_BYTES);
        let key = row_key.clone();
        let apply = move |context: &mut Context<'_>, cells: &mut Cells| {
            read_modify_write(context, &row_key, cells, &rules)
        };
        let row = self.worker.change(RowChange { table: table_name, key, inline_bytes, apply }).await?;
        Ok(Response::new(ReadModifyWriteRowResponse { row: Some(row) }))
    }

    async fn ping_and_warm(
        &self,
        request: Request<PingAndWarmRequest>,
    ) -> Result<Response<PingAndWarmResponse>, Status> {
        let request = check::routed(request, "name", |message| &message.name)?;
        check::instance(&request.name)?;
        Ok(Response::new(PingAndWarmResponse {}))
    }

    async fn prepare_query(
        &self,
        request: Request<PrepareQueryRequest>,
    ) -> Result<Response<PrepareQueryResponse>, Status> {
        let engine = self.engine()?;
        let request = check::routed(request, "name", |message| &message.instance_name)?;
        let prepared = self.worker.read(move |store| query::prepare(&*engine, store, request)).await?;
        Ok(Response::new(prepared))
    }

    async fn execute_query(
        &self,
        request: Request<ExecuteQueryRequest>,
    ) -> Result<Response<Self::ExecuteQueryStream>, Status> {
        let (engine, faults) = (self.engine()?, StreamFault::of(&request));
        let request = check::routed(request, "name", |message| &message.instance_name)?;
        let caller = QueryCaller::default();
        // Dropped with this call, whether it ends or is cancelled.
        let _guard = caller.guard();
        let answer = self.worker.read(move |store| query::execute(&*engine, store, request, &caller)).await?;
        Ok(responses(answer, &faults))
    }
}

/// The work of mutations, in the unit of [`SHORT_WORK`].
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

fn apply_each(
    context: &mut Context<'_>,
    cells: &mut Cells,
    entries: &[(usize, mutate_rows_request::Entry)],
) -> Vec<Result<(), Status>> {
    mutate_entries(context, cells, entries.iter().map(|(_, entry)| entry))
}

/// Parses a filter: on a blocking thread if compiling its regular expressions may be slow.
async fn parse_filter(message: Option<RowFilter>) -> Result<Filter, Status> {
    if message.as_ref().is_none_or(Filter::is_cheap_to_parse) {
        return Filter::new(message);
    }
    run_blocking(|| Filter::new(message)).await?
}

fn responses<T>(responses: Vec<T>, faults: &StreamFault) -> Response<Responses<T>> {
    let responses: Vec<_> = responses.into_iter().map(Ok).collect();
    Response::new(TruncatedStream::new(stream::iter(responses), faults))
}

fn routed<M>(request: Request<M>, table: impl FnOnce(&M) -> &str) -> Result<M, Status> {
    check::routed(request, "table_name", table)
}

fn status_message(status: &Status) -> values::Status {
    values::Status { code: status.code().into(), message: status.message().to_owned(), details: Vec::new() }
}

/// The features that the client declares; none without the header.
fn features(metadata: &MetadataMap) -> Result<FeatureFlags, Status> {
    let Some(header) = metadata.get(FEATURES_HEADER) else { return Ok(FeatureFlags::default()) };
    let flags = URL_SAFE.decode(header.as_bytes()).ok().map(Bytes::from);
    flags.and_then(|flags| FeatureFlags::decode(flags).ok()).ok_or_else(|| {
        Status::invalid_argument(format!(
            "the header `{FEATURES_HEADER}` is not a `FeatureFlags` message in base64"
        ))
    })
}

const SAMPLE_PAGE_ROWS: usize = 256;

/// The first key in the range of each tablet but the first, and the end of the range, each with the size of the range's rows
/// before it.
fn sample_row_keys(
    store: &Store,
    table: &str,
    range: &Interval,
) -> Result<Vec<SampleRowKeysResponse>, Status> {
    let definition = store.table(table)?;
    let mut samples = Vec::with_capacity(definition.splits.len() + 1);
    let is_inside =
        |split: &&Bytes| **split > range.start && range.end.as_ref().is_none_or(|end| *split < end);
    let mut splits = definition.splits.iter().filter(is_inside).peekable();
    let mut offset_bytes: i64 = 0;
    let mut rest = range.clone();
    loop {
        let page = store.page(table, &rest, false, SAMPLE_PAGE_ROWS)?;
        for (key, cells) in &page.rows {
            while let Some(row_key) = splits.next_if(|split| *split <= key) {
                samples.push(SampleRowKeysResponse { row_key: row_key.clone(), offset_bytes });
            }
            offset_bytes = offset_bytes.saturating_add(row_bytes(key, cells));
        }
        match page.rows.last() {
            Some((last, _)) if !page.is_last => rest.advance_past(last, false),
            _ => break,
        }
    }
    let rest = splits.cloned().chain([range.end.clone().unwrap_or_default()]);
    samples.extend(rest.map(|row_key| SampleRowKeysResponse { row_key, offset_bytes }));
    Ok(samples)
}

fn row_bytes(key: &Bytes, cells: &Cells) -> i64 {
    let cells: usize = cells.iter().map(|cell| cell.qualifier.len() + cell.value.len()).sum();
    i64::try_from(key.len() + cells).unwrap_or(i64::MAX)
}
