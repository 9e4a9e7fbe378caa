//! One of the two Bigtables, with the generated clients.

use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::TryStreamExt as _;
use keyderive_proto::FEATURES_HEADER;
use keyderive_proto::admin::modify_column_families_request::Modification;
use keyderive_proto::admin::modify_column_families_request::modification::Mod;
use keyderive_proto::admin::table::TimestampGranularity;
use keyderive_proto::admin::{ColumnFamily, CreateTableRequest, ModifyColumnFamiliesRequest, Table, Type};
use keyderive_proto::data::request_stats::StatsView;
use keyderive_proto::data::{
    MutateRowsResponse, ReadIterationStats, ReadRowsRequest, ReadRowsResponse, RequestStats, Row,
};
use keyderive_proto::values::FieldMask;
use keyderive_tests::raw_client::RawClient;
use tonic::body::Body;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request, Response, Status};
use tower_service::Service;

use super::operations::Operation;
use super::{FAMILIES, FUTURE, PAST, SUMS, TABLE};
use crate::tests::aggregates::sum;
use crate::tests::bigtable;
use crate::{Bigtable, BoxFuture};

/// Only `reverse_scans`, so that neither side reports scanned rows.
const REVERSE_SCANS: &str = "CAE=";

#[derive(Clone)]
pub(super) enum Transport {
    Emulator(Channel),
    Embedded(Bigtable),
}

impl Service<http::Request<Body>> for Transport {
    type Response = http::Response<Body>;
    type Error = tonic::transport::Error;
    type Future = BoxFuture<Result<Self::Response, Self::Error>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        match self {
            Self::Emulator(channel) => channel.poll_ready(context),
            Self::Embedded(_) => Poll::Ready(Ok(())),
        }
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        match self {
            Self::Emulator(channel) => Box::pin(channel.call(request)),
            Self::Embedded(bigtable) => {
                let response = bigtable.call(request);
                Box::pin(async move {
                    let Ok(response) = response.await;
                    Ok(response)
                })
            }
        }
    }
}

pub(in crate::tests) struct Side {
    pub(super) client: RawClient<Transport>,
}

/// The outcome of a request. Answers with the same meaning are equal.
#[derive(Debug, PartialEq)]
pub(in crate::tests) enum Outcome {
    Rejected(Reason),
    Done,
    /// Whether each entry succeeded.
    Entries(Vec<bool>),
    Matched(bool),
    Rows(Vec<(Bytes, Vec<Cell>)>),
    /// Rows, and what it took to read them.
    Read(Vec<(Bytes, Vec<Cell>)>, Option<ReadIterationStats>),
}

/// Why a request was rejected. Shown if the other side accepts it, and equal to every other reason.
#[derive(Debug)]
pub(in crate::tests) struct Reason {
    #[expect(dead_code, reason = "a failed comparison prints it")]
    status: Status,
}

impl PartialEq for Reason {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// A family, a qualifier, a timestamp, labels and a value.
type Cell = (String, Bytes, Time, Vec<String>, Bytes);

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::tests) enum Time {
    At(std::cmp::Reverse<i64>),
    OfServer,
}

impl Side {
    pub(super) fn emulator(host: &str) -> Self {
        Self::new(Transport::Emulator(
            Endpoint::from_shared(format!("http://{host}")).unwrap().connect_lazy(),
        ))
    }

    pub(in crate::tests) fn embedded() -> Self {
        Self::new(Transport::Embedded(bigtable()))
    }

    fn new(transport: Transport) -> Self {
        Self { client: RawClient::new(transport) }
    }

    /// Creates the table, and its families one by one.
    pub(in crate::tests) async fn create_table(&self) {
        self.create_table_of(TimestampGranularity::Unspecified).await;
    }

    /// Creates the table with this granularity, and returns the one that it has.
    pub(super) async fn create_table_of(&self, granularity: TimestampGranularity) -> TimestampGranularity {
        let (parent, table_id) = TABLE.split_once("/tables/").unwrap();
        let request = CreateTableRequest {
            parent: parent.to_owned(),
            table_id: table_id.to_owned(),
            table: Some(Table { granularity: granularity.into(), ..Table::default() }),
            ..CreateTableRequest::default()
        };
        let created = self.client.clone().create_table(request).await.unwrap().into_inner();
        for id in FAMILIES {
            let family = if id == SUMS { sum() } else { ColumnFamily::default() };
            let create =
                Modification { id: id.to_owned(), r#mod: Some(Mod::Create(family)), update_mask: None };
            self.modify_family(create).await.unwrap();
        }
        created.granularity()
    }

    /// The new value type of the family, or the code and the text of the refusal.
    pub(super) async fn update_value_type(
        &self,
        id: &str,
        value_type: Option<Type>,
    ) -> Result<Option<Type>, (Code, String)> {
        let update = Modification {
            id: id.to_owned(),
            r#mod: Some(Mod::Update(ColumnFamily { gc_rule: None, value_type })),
            update_mask: Some(FieldMask { paths: vec!["value_type".to_owned()] }),
        };
        let updated = self.modify_family(update).await;
        let mut table = updated.map_err(|status| (status.code(), status.message().to_owned()))?;
        Ok(table.column_families.remove(id).unwrap().value_type)
    }

    async fn modify_family(&self, modification: Modification) -> Result<Table, Status> {
        let request = ModifyColumnFamiliesRequest {
            name: TABLE.to_owned(),
            modifications: vec![modification],
            ignore_warnings: false,
        };
        self.client.clone().modify_column_families(request).await.map(Response::into_inner)
    }

    pub(in crate::tests) async fn run(&self, operation: &Operation) -> Outcome {
        self.answer(operation.clone()).await.unwrap_or_else(|status| Outcome::Rejected(Reason { status }))
    }

    async fn answer(&self, operation: Operation) -> Result<Outcome, Status> {
        let mut client = self.client.clone();
        Ok(match operation {
            Operation::Mutate(request) => {
                client.mutate_row(request).await?;
                Outcome::Done
            }
            Operation::MutateMany(request) => {
                let responses = client.mutate_rows(request).await?.into_inner();
                let responses: Vec<MutateRowsResponse> = responses.try_collect().await?;
                let mut entries: Vec<_> =
                    responses.into_iter().flat_map(|response| response.entries).collect();
                entries.sort_by_key(|entry| entry.index);
                let done = |status: Option<keyderive_proto::values::Status>| {
                    status.is_none_or(|status| status.code == 0)
                };
                Outcome::Entries(entries.into_iter().map(|entry| done(entry.status)).collect())
            }
            Operation::Check(request) => {
                Outcome::Matched(client.check_and_mutate_row(request).await?.into_inner().predicate_matched)
            }
            Operation::Modify(request) => {
                let row = client.read_modify_write_row(request).await?.into_inner().row.unwrap_or_default();
                Outcome::Rows(vec![cells(row)])
            }
            Operation::Drop(request) => {
                client.drop_row_range(request).await?;
                Outcome::Done
            }
            Operation::Read(request) => self.read(request).await?,
        })
    }

    async fn read(&self, request: ReadRowsRequest) -> Result<Outcome, Status> {
        let mut request = Request::new(request);
        request.metadata_mut().insert(FEATURES_HEADER, REVERSE_SCANS.parse().unwrap());
        let responses = self.client.clone().read_rows(request).await?.into_inner();
        let responses = responses.map_ok(|response| response.decoded().unwrap());
        let responses: Vec<ReadRowsResponse> = responses.try_collect().await?;
        let mut rows: Vec<(Bytes, Vec<Cell>)> = Vec::new();
        let stats = responses.iter().filter_map(|response| response.request_stats).map(iteration);
        let stats: Vec<_> = stats.collect();
        assert!(stats.len() <= 1, "{stats:?}");
        let (mut family, mut qualifier) = (String::new(), Bytes::new());
        for chunk in responses.into_iter().flat_map(|response| response.chunks) {
            assert!(chunk.value_size == 0, "a value came in pieces");
            if !chunk.row_key.is_empty() && rows.last().is_none_or(|(key, _)| *key != chunk.row_key) {
                rows.push((chunk.row_key, Vec::new()));
            }
            family = chunk.family_name.map_or(family, |name| name.value);
            qualifier = chunk.qualifier.map_or(qualifier, |name| name.value);
            let cell =
                (family.clone(), qualifier.clone(), time(chunk.timestamp_micros), chunk.labels, chunk.value);
            rows.last_mut().expect("the first chunk has a key").1.push(cell);
        }
        for (_, cells) in &mut rows {
            order_equals(cells);
        }
        Ok(Outcome::Read(rows, stats.first().copied()))
    }
}

fn iteration(stats: RequestStats) -> ReadIterationStats {
    let Some(StatsView::FullReadStatsView(view)) = stats.stats_view else { panic!("{stats:?}") };
    let latency = view.request_latency_stats.and_then(|stats| stats.frontend_server_latency);
    assert!(latency.is_some_and(|latency| latency.seconds >= 0 && latency.nanos >= 0), "{latency:?}");
    view.read_iteration_stats.unwrap()
}

/// Sorts cells of the same column and timestamp, as `interleave` returns them, since their order is undefined.
fn order_equals(cells: &mut [Cell]) {
    for cells in
        cells.chunk_by_mut(|left, right| (&left.0, &left.1, &left.2) == (&right.0, &right.1, &right.2))
    {
        cells.sort();
    }
}

fn cells(row: Row) -> (Bytes, Vec<Cell>) {
    let mut cells = Vec::new();
    for family in row.families {
        for column in family.columns {
            for cell in column.cells {
                let time = time(cell.timestamp_micros);
                cells.push((family.name.clone(), column.qualifier.clone(), time, cell.labels, cell.value));
            }
        }
    }
    (row.key, cells)
}

fn time(micros: i64) -> Time {
    if (PAST..FUTURE).contains(&micros) { Time::OfServer } else { Time::At(std::cmp::Reverse(micros)) }
}
