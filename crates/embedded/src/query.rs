//! SQL: the engine that runs it, what the engine reads, and how its rows become responses.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::{Buf as _, BufMut as _, Bytes};
use keyderive_proto::admin::r#type::{Kind, Struct};
use keyderive_proto::admin::{ColumnFamily, Type};
use keyderive_proto::data::execute_query_response::Response;
use keyderive_proto::data::partial_result_set::PartialRows;
use keyderive_proto::data::result_set_metadata::Schema;
use keyderive_proto::data::{
    ColumnMetadata, ExecuteQueryRequest, ExecuteQueryResponse, PartialResultSet, PrepareQueryRequest,
    PrepareQueryResponse, ProtoRowsBatch, ProtoSchema, ResultSetMetadata, Value,
};
use keyderive_proto::values;
use prost::Message as _;
use tonic::{Code, Status};

use crate::check;
use crate::gc;
use crate::interval::{self, Interval};
use crate::storage::Definition;
use crate::store::Store;

/// Runs SQL over the tables of an embedded Bigtable, which takes it by
/// [`Bigtable::with_query_engine`](crate::Bigtable::with_query_engine).
///
/// The server does what is the same for every query: prepared queries and when they expire, the types of parameters, batches with
/// checksums, and resume tokens. It calls an engine on a blocking thread, and may call it from several at a time.
pub trait QueryEngine: Send + Sync {
    /// Analyzes a query once, and calls `on_open` with the columns of its result and with what computes its rows. So the rows fit the
    /// columns, even if a table changes meanwhile. A parameter without a value is NULL, as all are while a query is prepared.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` if the query is wrong, `UNIMPLEMENTED` if the engine does not run such queries, and `OUT_OF_RANGE` if a value
    /// cannot be computed; the message names what it is about. `CANCELLED` if the [caller](QueryTables::caller) has gone. Or those of
    /// `on_open`.
    fn open(
        &self,
        query: &Query,
        parameters: &BTreeMap<String, Value>,
        tables: &QueryTables<'_>,
        on_open: OnOpen<'_>,
    ) -> Result<(), Status>;
}

/// What takes the columns of a query and what computes its rows.
pub type OnOpen<'a> = &'a mut (dyn FnMut(Vec<ColumnMetadata>, RunQuery<'_>) -> Result<(), Status> + Send);

/// Runs an open query, and passes on each row of its result: the values of the columns. NULL has no kind. No value has a type.
pub type RunQuery<'a> = &'a mut dyn FnMut(&mut dyn FnMut(Vec<Value>)) -> Result<(), Status>;

/// A query, as its text and the types of its parameters.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Query {
    /// The text.
    pub text: String,
    /// The types of the parameters, by name.
    pub parameter_types: BTreeMap<String, Type>,
}

/// The tables of an instance, for a [`QueryEngine`] to read.
#[derive(Clone, Copy)]
pub struct QueryTables<'a> {
    store: &'a Store,
    instance: &'a str,
    caller: &'a QueryCaller,
}

impl std::fmt::Debug for QueryTables<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("QueryTables").field("instance", &self.instance).finish_non_exhaustive()
    }
}

impl<'a> QueryTables<'a> {
    /// The caller of the query, who may go before it ends.
    #[must_use]
    pub fn caller(&self) -> QueryCaller {
        self.caller.clone()
    }

    /// The table with this identifier, such as `events`.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub fn table(&self, id: &str) -> Result<Option<QueryTable<'a>>, Status> {
        let name = format!("{}/tables/{id}", self.instance);
        match self.store.table(&name) {
            Ok(definition) => Ok(Some(QueryTable { store: self.store, name, definition })),
            Err(status) if status.code() == Code::NotFound => Ok(None),
            Err(status) => Err(status),
        }
    }

    /// The time of the server in microseconds since the epoch.
    #[must_use]
    pub fn now_micros(&self) -> i64 {
        self.store.now_micros()
    }
}

/// Who waits for the answer of a query. A [`QueryEngine`] asks at least every 10,000 rows, also while it sorts, whether they still do.
///
/// ```
/// use keyderive_embedded::QueryCaller;
///
/// fn total(numbers: impl Iterator<Item = u64>, caller: &QueryCaller) -> Option<u64> {
///     let mut total = 0;
///     for number in numbers {
///         if caller.has_gone() {
///             return None;
///         }
///         total += number;
///     }
///     Some(total)
/// }
/// // A caller of no call never goes.
/// assert_eq!(total(1..4, &QueryCaller::default()), Some(6));
/// ```
///
/// A query is prepared for a caller that never goes; and so is one that runs where there are no blocking threads, such as on a paused clock.
#[derive(Clone, Debug, Default)]
pub struct QueryCaller(Arc<AtomicBool>);

impl QueryCaller {
    /// Whether the caller has cancelled the call, has closed its connection, or has waited until its deadline. Then nobody gets the
    /// answer, whatever it is.
    #[must_use]
    pub fn has_gone(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// What says, when it is dropped, that the caller has gone.
    pub(super) fn guard(&self) -> impl Drop + use<> {
        struct Guard(QueryCaller);
        impl Drop for Guard {
            fn drop(&mut self) {
                self.0.0.store(true, Ordering::Relaxed);
            }
        }
        Guard(self.clone())
    }
}

/// A table, for a [`QueryEngine`] to read.
#[derive(Clone)]
pub struct QueryTable<'a> {
    store: &'a Store,
    name: String,
    definition: Arc<Definition>,
}

impl std::fmt::Debug for QueryTable<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("QueryTable").field("name", &self.name).finish_non_exhaustive()
    }
}

/// One version of a column's value.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct QueryCell {
    /// The column family.
    pub family: Arc<str>,
    /// The column's qualifier.
    pub qualifier: Bytes,
    /// The timestamp in microseconds since the epoch.
    pub timestamp_micros: i64,
    /// The stored bytes.
    pub value: Bytes,
}

/// How many rows are read at a time.
const PAGE_ROWS: usize = 256;

impl QueryTable<'_> {
    /// The column families in the order of their names, with their rules of garbage collection and the types of their values.
    pub fn families(&self) -> impl Iterator<Item = (&str, &ColumnFamily)> {
        self.definition.families.iter().map(|(name, family)| (&**name, family))
    }

    /// How the row keys are read as columns, if the table says so.
    #[must_use]
    pub fn row_key_schema(&self) -> Option<&Struct> {
        self.definition.row_key_schema.as_ref()
    }

    /// Calls `visit` on the rows of some intervals in the order of their keys, until it breaks or fails. Cells are in the order of
    /// their families and qualifiers, and the newest first. Rows and cells that are eligible for garbage collection are left out.
    ///
    /// Each row is read at one time, and writes may come between two rows.
    ///
    /// # Errors
    /// Those of `visit`; or if the table is deleted meanwhile, or a file cannot be read.
    pub fn visit(
        &self,
        intervals: Vec<Interval>,
        mut visit: impl FnMut(&Bytes, Vec<QueryCell>) -> Result<ControlFlow<()>, Status>,
    ) -> Result<(), Status> {
        let families = &self.definition.families;
        let gc_time = self.store.collects(families).then(|| self.store.now_micros());
        for mut rest in interval::union(intervals) {
            loop {
                let page = self.store.page(&self.name, &rest, false, PAGE_ROWS)?;
                let last = page.rows.last().map(|(key, _)| key.clone());
                for (key, cells) in page.rows {
                    let mut cells = Arc::unwrap_or_clone(cells);
                    gc::collect(&mut cells, families, gc_time);
                    if cells.is_empty() {
                        continue;
                    }
                    let cells = cells.into_iter().map(|cell| QueryCell {
                        family: cell.family,
                        qualifier: cell.qualifier,
                        timestamp_micros: cell.timestamp_micros,
                        value: cell.value,
                    });
                    if visit(&key, cells.collect())?.is_break() {
                        return Ok(());
                    }
                }
                match last {
                    Some(last) if !page.is_last => rest.advance_past(&last, false),
                    _ => break,
                }
            }
        }
        Ok(())
    }
}

/// How long a prepared query is valid.
const VALID_FOR: Duration = Duration::from_secs(60 * 60);

/// Prepares a query. What identifies it is the request itself, with the columns and the time until which it is valid: the server
/// keeps nothing.
pub(super) fn prepare(
    engine: &dyn QueryEngine,
    store: &Store,
    request: PrepareQueryRequest,
) -> Result<PrepareQueryResponse, Status> {
    let instance = request.instance_name.clone();
    check::instance(&instance)?;
    let query = Query { text: request.query, parameter_types: request.param_types };
    let tables = QueryTables { store, instance: &instance, caller: &QueryCaller::default() };
    let metadata = metadata(engine, &query, &tables)?;
    let until = now() + VALID_FOR;
    let prepared = PreparedQuery { instance, query, metadata: metadata.clone(), valid_until: until };
    Ok(PrepareQueryResponse {
        metadata: Some(metadata),
        prepared_query: prepared.encode(),
        valid_until: Some(values::Timestamp {
            seconds: i64::try_from(until.as_secs()).unwrap_or(i64::MAX),
            nanos: 0,
        }),
    })
}

/// Runs a prepared query, and returns the messages of its answer.
///
/// Each batch has a checksum, and a resume token follows it. The token holds how many rows came before it, and their checksum: a
/// request that resumes runs the query again, and fails as if the prepared query had expired if these rows are others now.
pub(super) fn execute(
    engine: &dyn QueryEngine,
    store: &Store,
    request: ExecuteQueryRequest,
    caller: &QueryCaller,
) -> Result<Vec<ExecuteQueryResponse>, Status> {
    let Some(prepared) = PreparedQuery::decode(request.prepared_query) else {
        return Err(Status::invalid_argument(
            "Invalid prepared query. Please retry request with a valid prepared query",
        ));
    };
    let PreparedQuery { instance, query, metadata: expected, valid_until } = prepared;
    if request.instance_name != instance {
        return Err(Status::invalid_argument(format!(
            "the request names `{}`, and its query was prepared for `{instance}`",
            request.instance_name
        )));
    }
    let resumed_after = match request.resume_token {
        token if token.is_empty() => None,
        token => {
            Some(Position::decode(token).ok_or_else(|| Status::invalid_argument("Invalid resume token"))?)
        }
    };
    check_parameters(&query.parameter_types, &request.params)?;
    let tables = QueryTables { store, instance: &instance, caller };
    if now() >= valid_until {
        return Err(expired());
    }
    let mut answer = AnswerWriter::new(resumed_after);
    let mut is_open = false;
    let result = engine.open(&query, &request.params, &tables, &mut |columns, run| {
        is_open = true;
        if result_metadata(columns) != expected {
            return Err(expired());
        }
        run(&mut |row| answer.add(&row))
    });
    match result {
        Ok(()) => answer.finish().ok_or_else(expired),
        Err(status) if is_open => Err(status),
        // The values of parameters are wrong, unless the query fails without them too: it did not when it was prepared, so that a
        // column or its table has gone.
        Err(status) => match metadata(engine, &query, &tables) {
            Ok(columns) if columns == expected => Err(status),
            _ => Err(expired()),
        },
    }
}

/// The columns of a query before its parameters have values.
fn metadata(
    engine: &dyn QueryEngine,
    query: &Query,
    tables: &QueryTables<'_>,
) -> Result<ResultSetMetadata, Status> {
    let mut metadata = ResultSetMetadata::default();
    engine.open(query, &BTreeMap::new(), tables, &mut |columns, _| {
        metadata = result_metadata(columns);
        Ok(())
    })?;
    Ok(metadata)
}

fn result_metadata(columns: Vec<ColumnMetadata>) -> ResultSetMetadata {
    ResultSetMetadata { schema: Some(Schema::ProtoSchema(ProtoSchema { columns })) }
}

/// The time since the epoch by the clock of this machine, as clients have it.
fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// A client that gets this prepares the query again.
fn expired() -> Status {
    let message =
        "The prepared query has expired. Please re-issue the ExecuteQuery with a valid prepared query.";
    let violation = values::precondition_failure::Violation {
        r#type: "PREPARED_QUERY_EXPIRED".to_owned(),
        ..Default::default()
    };
    let failure = values::PreconditionFailure { violations: vec![violation] };
    let status = values::Status {
        code: Code::FailedPrecondition.into(),
        message: message.to_owned(),
        details: vec![values::Any {
            type_url: "type.googleapis.com/google.rpc.PreconditionFailure".to_owned(),
            value: failure.encode_to_vec().into(),
        }],
    };
    Status::with_details(Code::FailedPrecondition, message, status.encode_to_vec().into())
}

/// Checks that each declared parameter has a value, and that the value states the declared type.
fn check_parameters(types: &BTreeMap<String, Type>, values: &BTreeMap<String, Value>) -> Result<(), Status> {
    for (name, declared) in types {
        let Some(value) = values.get(name) else {
            return Err(Status::invalid_argument(format!("params does not contain key '{name}'")));
        };
        let Some(stated) = value.r#type.as_ref().filter(|of| of.kind.is_some()) else {
            return Err(Status::invalid_argument(format!("params '{name}' has no type")));
        };
        if stated != declared {
            return Err(Status::invalid_argument(format!(
                "params '{name}' has type {} but expected type {}",
                type_name(stated),
                type_name(declared)
            )));
        }
    }
    Ok(())
}

/// The name of a type's field in the protocol.
fn type_name(of: &Type) -> &'static str {
    match &of.kind {
        Some(Kind::BytesType(_)) => "bytes_type",
        Some(Kind::StringType(_)) => "string_type",
        Some(Kind::Int64Type(_)) => "int64_type",
        Some(Kind::Float32Type(_)) => "float32_type",
        Some(Kind::Float64Type(_)) => "float64_type",
        Some(Kind::BoolType(_)) => "bool_type",
        Some(Kind::TimestampType(_)) => "timestamp_type",
        Some(Kind::DateType(_)) => "date_type",
        Some(Kind::AggregateType(_)) => "aggregate_type",
        Some(Kind::StructType(_)) => "struct_type",
        Some(Kind::ArrayType(_)) => "array_type",
        Some(Kind::MapType(_)) => "map_type",
        Some(Kind::ProtoType(_)) => "proto_type",
        Some(Kind::EnumType(_)) => "enum_type",
        None => "unknown_type",
    }
}

/// What the bytes of a prepared query say.
struct PreparedQuery {
    instance: String,
    query: Query,
    metadata: ResultSetMetadata,
    /// Since the epoch.
    valid_until: Duration,
}

/// Begins the bytes of a prepared query, with the version of what follows.
const PREPARED: &[u8] = b"kdq1";

impl PreparedQuery {
    fn encode(self) -> Bytes {
        let mut bytes = PREPARED.to_vec();
        bytes.put_u64(self.valid_until.as_secs());
        let Query { text, parameter_types } = self.query;
        let request = PrepareQueryRequest {
            instance_name: self.instance,
            query: text,
            param_types: parameter_types,
            ..PrepareQueryRequest::default()
        };
        bytes.extend(request.encode_length_delimited_to_vec());
        bytes.extend(self.metadata.encode_to_vec());
        bytes.into()
    }

    fn decode(mut bytes: Bytes) -> Option<Self> {
        if !bytes.starts_with(PREPARED) {
            return None;
        }
        bytes.advance(PREPARED.len());
        let valid_until = Duration::from_secs(bytes.try_get_u64().ok()?);
        let request = PrepareQueryRequest::decode_length_delimited(&mut bytes).ok()?;
        Some(Self {
            instance: request.instance_name,
            query: Query { text: request.query, parameter_types: request.param_types },
            metadata: ResultSetMetadata::decode(bytes).ok()?,
            valid_until,
        })
    }
}

/// A place in a result: how many rows come before it, and the checksum of their bytes. A resume token is its encoding.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Position {
    rows: u64,
    checksum: u32,
}

impl Position {
    fn encode(self) -> Bytes {
        let mut bytes = Vec::with_capacity(12);
        bytes.put_u64(self.rows);
        bytes.put_u32(self.checksum);
        bytes.into()
    }

    fn decode(mut bytes: Bytes) -> Option<Self> {
        let position = Self { rows: bytes.try_get_u64().ok()?, checksum: bytes.try_get_u32().ok()? };
        bytes.is_empty().then_some(position)
    }
}

/// A batch ends with the row that reaches this size.
const BATCH_BYTES: usize = 1 << 20;

/// The number of the field `values` of `ProtoRows`.
const VALUES_FIELD: u32 = 2;

/// Collects rows into batches, and these into messages: first a batch, then a resume token. An empty result is an empty batch and
/// a token.
struct AnswerWriter {
    messages: Vec<ExecuteQueryResponse>,
    batch: Vec<u8>,
    /// After the rows added so far.
    position: Position,
    /// Where the answer begins.
    resumed_after: Option<Position>,
}

impl AnswerWriter {
    fn new(resumed_after: Option<Position>) -> Self {
        Self { messages: Vec::new(), batch: Vec::new(), position: Position::default(), resumed_after }
    }

    fn add(&mut self, row: &[Value]) {
        let start = self.batch.len();
        for value in row {
            prost::encoding::message::encode(VALUES_FIELD, value, &mut self.batch);
        }
        self.position.rows += 1;
        self.position.checksum = crc32c::crc32c_append(self.position.checksum, &self.batch[start..]);
        match self.resumed_after {
            // The client has it.
            Some(resumed) if self.position.rows <= resumed.rows => {
                self.batch.truncate(start);
                if self.position == resumed {
                    self.resumed_after = None;
                }
            }
            _ if self.batch.len() >= BATCH_BYTES => self.end_batch(),
            _ => {}
        }
    }

    fn end_batch(&mut self) {
        let mut data = std::mem::take(&mut self.batch);
        // It has grown to twice what it needs, and the whole answer is held.
        data.shrink_to_fit();
        let data = Bytes::from(data);
        let batch = PartialResultSet {
            reset: self.messages.is_empty(),
            batch_checksum: (!data.is_empty()).then(|| crc32c::crc32c(&data)),
            estimated_batch_size: i32::try_from(data.len()).unwrap_or(i32::MAX),
            partial_rows: Some(PartialRows::ProtoRowsBatch(ProtoRowsBatch { batch_data: data })),
            ..PartialResultSet::default()
        };
        let token = PartialResultSet { resume_token: self.position.encode(), ..PartialResultSet::default() };
        let message = |part| ExecuteQueryResponse { response: Some(Response::Results(part)) };
        self.messages.extend([batch, token].map(message));
    }

    /// The messages; `None` if the rows before the resume token are others now.
    fn finish(mut self) -> Option<Vec<ExecuteQueryResponse>> {
        if self.resumed_after.is_some_and(|resumed| resumed != Position::default()) {
            return None;
        }
        if !self.batch.is_empty() || self.messages.is_empty() {
            self.end_batch();
        }
        Some(self.messages)
    }
}
