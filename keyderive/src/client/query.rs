//! Bigtable's SQL: a query, its plan, and the rows of its result.

mod assembler;

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::marker::PhantomData;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::{Duration, UNIX_EPOCH};

use bytes::Bytes;
use futures_core::Stream;
use futures_core::future::BoxFuture;
use futures_util::TryStreamExt as _;
use keyderive_proto::data::{
    self, execute_query_response::Response, prepare_query_request::DataFormat, result_set_metadata::Schema,
};
use keyderive_proto::{Rpc, values};
use prost::Message as _;
use tokio::time::{Instant, sleep_until, timeout_at};
use tonic::{Code, Status};

use self::assembler::{Assembler, ValueDecoder};
use super::error::{AttemptSummary, RetryLimit};
use super::failure::Failure;
use super::grpc::{Answer, Request};
use super::read::RowTurns;
use super::retry::{Attempt, Attempts, NEVER};
use super::{Client, Error, StreamGuard};
use crate::query::{FromQueryRow, QueryColumn, QueryColumns, QueryRow, SqlType, SqlValue, ToSql};

/// How many statements a client keeps prepared.
const MAX_STATEMENTS: usize = 1_000;

/// A plan is renewed this long before it expires, or a tenth of its time if that is less.
const RENEWED_BEFORE: Duration = Duration::from_secs(60);

/// How long a plan is used at least. A server whose clock is late sends plans that have already expired by our clock; without
/// this, the client would prepare every query again.
const USED_FOR: Duration = Duration::from_secs(1);

/// A query in Bigtable's SQL, with its parameters.
///
/// ```no_run
/// # async fn sample(client: keyderive::Client) -> Result<(), keyderive::Error> {
/// let counts: Vec<(String, i64)> = client
///     .query("SELECT CAST(cf['kind'] AS STRING) AS kind, COUNT(*) AS n FROM events WHERE user_id = @user GROUP BY kind")
///     .bind("user", "alice")
///     .fetch()
///     .await?;
/// # Ok(())
/// # }
/// ```
///
/// Values belong into [parameters](Self::bind), not into the text: the client prepares each text once and keeps its plan, and no
/// value can change what the text means. It prepares the text again shortly before the plan expires, and when the server says
/// that it has expired; at most once a second if plans have expired by this machine's clock when they come.
#[derive(Clone, Debug)]
#[must_use = "it does nothing until it is fetched"]
pub struct Query {
    client: Client,
    text: Arc<str>,
    parameters: BTreeMap<String, Parameter>,
}

#[derive(Clone, Debug)]
struct Parameter {
    of: SqlType,
    value: SqlValue,
}

/// The rows of a query, one after the other, each as a `T`.
///
/// It retries transient failures, and resumes after the rows that it received, so no row comes twice. It ends with the first
/// error that retries cannot mend. If the server renews the plan of the query between its rows, it ends with an error that
/// [`is_retryable`](Error::is_retryable): the other rows would belong to another plan.
///
/// It keeps at most 256 MiB of rows, as the server has sent them, and decodes each row when it delivers it;
/// [the guide](crate::guide::sql#what-the-client-promises) has the limits.
///
/// # Cancel safety
/// Dropping the stream cancels its request.
#[must_use = "it sends nothing until it is polled"]
pub struct QueryRows<T> {
    phase: Phase,
    guard: StreamGuard,
    text: Arc<str>,
    columns: Option<Arc<QueryColumns>>,
    /// Whether `T` has accepted the columns.
    is_checked: bool,
    turns: RowTurns,
    rows: PhantomData<fn() -> T>,
}

enum Phase {
    Ready(Box<Execution>),
    /// Receives rows.
    Receiving(BoxFuture<'static, (Box<Execution>, Result<bool, Error>)>),
    Ended,
}

impl Client {
    /// A query in Bigtable's SQL. Sends nothing yet.
    ///
    /// ```no_run
    /// # async fn sample(client: keyderive::Client) -> Result<(), keyderive::Error> {
    /// let mut rows = client.query("SELECT _key, cf['name'] FROM users").rows::<(bytes::Bytes, Option<bytes::Bytes>)>();
    /// while let Some(row) = rows.next().await {
    ///     let (key, name) = row?;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// [The guide](crate::guide::sql) has more. Google's service runs queries, and the embedded Bigtable does
    /// [with an engine](crate::guide::sql#sql-in-tests); without one it answers with
    /// [`Unimplemented`](crate::ErrorKind::Unimplemented), as Google's emulator does.
    pub fn query(&self, text: impl Into<String>) -> Query {
        Query { client: self.clone(), text: text.into().into(), parameters: BTreeMap::new() }
    }
}

impl Query {
    /// Sets a parameter: `@name` in the text. A later value replaces an earlier one.
    ///
    /// ```no_run
    /// # async fn sample(client: keyderive::Client) -> Result<(), keyderive::Error> {
    /// let query = client.query("SELECT COUNT(*) FROM events WHERE kind IN UNNEST(@kinds) AND site = @site");
    /// let count: Option<(i64,)> =
    ///     query.bind("kinds", vec!["login", "buy"]).bind("site", None::<String>).fetch_first().await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// [`query`](crate::query) lists the types of parameters. `None::<i64>` is NULL. The query fails before anything is sent, with
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument), for a date that the calendar does not have and a timestamp with more
    /// nanoseconds than a second has, such as `chrono`'s in a leap second.
    pub fn bind(self, name: impl Into<String>, value: impl ToSql) -> Self {
        fn type_of<T: ToSql>(_: &T) -> SqlType {
            T::sql_type()
        }
        self.bind_value(name, type_of(&value), value.to_sql())
    }

    /// Sets a parameter whose type only the running program knows.
    ///
    /// ```no_run
    /// use keyderive::query::{SqlType, SqlValue};
    ///
    /// # async fn sample(client: keyderive::Client) -> Result<(), keyderive::Error> {
    /// let query = client.query("SELECT @n").bind_value("n", SqlType::Int64, SqlValue::Int64(7));
    /// let n: Option<(i64,)> = query.fetch_first().await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// The server rejects a value that is not of the type, with [`InvalidArgument`](crate::ErrorKind::InvalidArgument).
    pub fn bind_value(mut self, name: impl Into<String>, of: SqlType, value: SqlValue) -> Self {
        self.parameters.insert(name.into(), Parameter { of, value });
        self
    }

    /// The rows as a stream. Sends nothing before the first poll.
    ///
    /// ```no_run
    /// # async fn sample(client: keyderive::Client) -> Result<(), keyderive::Error> {
    /// let mut rows = client.query("SELECT user_id, kind FROM events").rows::<(String, Option<String>)>();
    /// while let Some(row) = rows.next().await {
    ///     let (user_id, kind) = row?;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn rows<T: FromQueryRow>(self) -> QueryRows<T> {
        let Self { client, text, parameters } = self;
        let (client, guard) = client.streaming();
        let types = parameters.iter().map(|(name, parameter)| (name.clone(), parameter.of.clone()));
        let statement = client.inner.statements.get(&text, types.collect());
        let execution = Execution {
            client,
            statement,
            parameters,
            begun: None,
            token: Bytes::new(),
            assembler: Assembler::default(),
            has_delivered: false,
            has_restarted: false,
        };
        QueryRows {
            phase: Phase::Ready(Box::new(execution)),
            guard,
            text,
            columns: None,
            is_checked: false,
            turns: RowTurns::default(),
            rows: PhantomData,
        }
    }

    /// All rows, in memory together; [`rows`](Self::rows) streams them.
    ///
    /// ```no_run
    /// # async fn sample(client: keyderive::Client) -> Result<(), keyderive::Error> {
    /// let users: Vec<(String,)> = client.query("SELECT DISTINCT user_id FROM events").fetch().await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If the query is invalid, a request fails, the columns are not those of `T`, or a row is no `T`. Each error names the query.
    ///
    /// # Cancel safety
    /// A dropped future cancels the query.
    pub async fn fetch<T: FromQueryRow>(self) -> Result<Vec<T>, Error> {
        self.rows().try_collect().await
    }

    /// The first row; none if the result is empty. The client cancels the rest, which a `LIMIT 1` in the text saves.
    ///
    /// ```no_run
    /// # async fn sample(client: keyderive::Client) -> Result<(), keyderive::Error> {
    /// let count: Option<(i64,)> = client.query("SELECT COUNT(*) FROM events").fetch_first().await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`fetch`](Self::fetch).
    ///
    /// # Cancel safety
    /// A dropped future cancels the query.
    pub async fn fetch_first<T: FromQueryRow>(self) -> Result<Option<T>, Error> {
        self.rows().try_next().await
    }
}

impl<T: FromQueryRow> QueryRows<T> {
    /// The next row; none at the end.
    ///
    /// # Errors
    /// The one that ends the stream.
    ///
    /// # Cancel safety
    /// A future that is dropped loses no row.
    pub async fn next(&mut self) -> Option<Result<T, Error>> {
        futures_util::StreamExt::next(self).await
    }

    fn poll_row(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<QueryRow, Error>>> {
        ready!(self.turns.poll_row(cx));
        loop {
            match &mut self.phase {
                Phase::Ended => return Poll::Ready(None),
                Phase::Ready(execution) => {
                    if let Some(row) = execution.next_row() {
                        return Poll::Ready(Some(row));
                    }
                    let Phase::Ready(mut execution) = std::mem::replace(&mut self.phase, Phase::Ended) else {
                        continue;
                    };
                    self.phase = Phase::Receiving(Box::pin(async move {
                        let received = execution.receive().await;
                        (execution, received)
                    }));
                }
                Phase::Receiving(receiving) => {
                    let (execution, received) = ready!(receiving.as_mut().poll(cx));
                    self.columns = execution.begun.as_ref().map(|begun| Arc::clone(&begun.plan.columns));
                    self.phase = Phase::Ended;
                    let has_rows = received?;
                    if let (false, Some(columns)) = (self.is_checked, &self.columns) {
                        T::check_columns(columns)?;
                        self.is_checked = true;
                    }
                    if has_rows {
                        self.phase = Phase::Ready(execution);
                    }
                }
            }
        }
    }
}

impl<T> QueryRows<T> {
    /// The columns; none before the first row or the end.
    #[must_use]
    pub fn columns(&self) -> Option<&[QueryColumn]> {
        self.columns.as_ref().map(|columns| columns.as_slice())
    }
}

impl<T: FromQueryRow> Stream for QueryRows<T> {
    type Item = Result<T, Error>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let rows = self.get_mut();
        if !rows.guard.record_poll() {
            rows.phase = Phase::Ended;
            rows.guard.end();
            return Poll::Ready(Some(Err(Error::closed_query().in_query(&rows.text))));
        }
        let polled = rows.poll_row(cx);
        let row: Option<Result<T, Error>> = match polled {
            Poll::Pending => {
                rows.guard.register_waker(cx);
                return Poll::Pending;
            }
            Poll::Ready(row) => row.map(|row| Ok(T::from_query_row(row?)?)),
        };
        if !matches!(row, Some(Ok(_))) {
            rows.phase = Phase::Ended;
            rows.guard.end();
        }
        Poll::Ready(row.map(|row| row.map_err(|error| error.in_query(&rows.text))))
    }
}

impl<T> Unpin for QueryRows<T> {}

impl<T> fmt::Debug for QueryRows<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QueryRows").field("query", &self.text).finish_non_exhaustive()
    }
}

/// The statements of a client, prepared once for each text and its types of parameters.
#[derive(Debug, Default)]
pub(super) struct Statements(Mutex<HashMap<StatementKey, Arc<Statement>>>);

type StatementKey = (Arc<str>, ParameterTypes);
type ParameterTypes = Vec<(String, SqlType)>;

#[derive(Debug)]
struct Statement {
    text: Arc<str>,
    types: ParameterTypes,
    /// Locked while it is prepared, so that concurrent queries share one request.
    plan: tokio::sync::Mutex<Option<Arc<PreparedPlan>>>,
}

/// A statement as the server has prepared it.
#[derive(Debug)]
struct PreparedPlan {
    prepared: Bytes,
    columns: Arc<QueryColumns>,
    renewed_at: Instant,
    /// Whether the server says that it has expired.
    is_expired: AtomicBool,
}

impl PreparedPlan {
    fn is_good(&self) -> bool {
        self.renewed_at > Instant::now() && !self.is_expired.load(Ordering::Relaxed)
    }

    /// No query begins with it any more.
    fn expire(&self) {
        self.is_expired.store(true, Ordering::Relaxed);
    }
}

impl Statements {
    fn get(&self, text: &Arc<str>, types: ParameterTypes) -> Arc<Statement> {
        // Nothing panics while it holds the lock.
        let mut statements = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (Arc::clone(text), types);
        if statements.len() >= MAX_STATEMENTS && !statements.contains_key(&key) {
            // Queries in flight keep theirs.
            statements.clear();
        }
        let statement = statements.entry(key).or_insert_with_key(|(text, types)| {
            let (text, types) = (Arc::clone(text), types.clone());
            Arc::new(Statement { text, types, plan: tokio::sync::Mutex::default() })
        });
        Arc::clone(statement)
    }
}

impl Statement {
    /// The plan; a new one if it has expired, or does soon.
    async fn plan(&self, client: &Client) -> Result<Arc<PreparedPlan>, Error> {
        let (begun, total) = (Instant::now(), client.settings().prepare_query.total_timeout);
        let end = client.at_deadline_or(begun + total.min(NEVER));
        let Ok(mut kept) = timeout_at(end, self.plan.lock()).await else {
            let operation = client.instance_operation(Rpc::PrepareQuery);
            let waited = Duration::from_millis(begun.elapsed().as_millis().try_into().unwrap_or(u64::MAX));
            let failure =
                Failure::timed_out("another call, which prepares the same query, has not ended", waited);
            let ended = match client.is_past_deadline() {
                true => RetryLimit::Deadline,
                false => RetryLimit::Time(total),
            };
            let tries = AttemptSummary {
                attempts: 0,
                elapsed: begun.elapsed(),
                ended: Some(ended),
                unknown_outcome: None,
                honours_tokens: false,
            };
            return Err(Error::rpc(&operation, failure, tries));
        };
        if let Some(plan) = kept.as_ref().filter(|plan| plan.is_good()) {
            return Ok(Arc::clone(plan));
        }
        let left = total.saturating_sub(begun.elapsed());
        let plan = Arc::new(
            self.prepare(&client.with(|settings| settings.prepare_query.total_timeout = left)).await?,
        );
        *kept = Some(Arc::clone(&plan));
        Ok(plan)
    }

    async fn prepare(&self, client: &Client) -> Result<PreparedPlan, Error> {
        let operation = client.instance_operation(Rpc::PrepareQuery);
        let message = data::PrepareQueryRequest {
            instance_name: client.instance_name().to_owned(),
            app_profile_id: client.app_profile().to_owned(),
            query: self.text.to_string(),
            param_types: self.types.iter().map(|(name, of)| (name.clone(), of.to_message())).collect(),
            data_format: Some(DataFormat::ProtoFormat(data::ProtoFormat {})),
        };
        let plan = |answer: data::PrepareQueryResponse| {
            let columns = columns(answer.metadata)?;
            Ok(PreparedPlan {
                prepared: answer.prepared_query,
                columns: Arc::new(QueryColumns { query: Arc::clone(&self.text), columns }),
                renewed_at: Instant::now() + used_for(answer.valid_until),
                is_expired: AtomicBool::new(false),
            })
        };
        client.call_checked(operation, Request::new(&message), plan).await
    }
}

/// The columns of a result.
fn columns(metadata: Option<data::ResultSetMetadata>) -> Result<Vec<QueryColumn>, String> {
    let schema = metadata.and_then(|metadata| metadata.schema);
    let columns = schema.map_or_else(Vec::new, |Schema::ProtoSchema(schema)| schema.columns);
    if columns.is_empty() {
        return Err("the columns cannot be empty".to_owned());
    }
    let column = |data::ColumnMetadata { name, r#type }| match SqlType::of_message(r#type) {
        Ok(of) => Ok(QueryColumn { name, of }),
        Err(how) => Err(format!("column `{name}`: {how}")),
    };
    columns.into_iter().map(column).collect()
}

/// How long a plan is used; forever if the server does not say until when it is valid.
fn used_for(until: Option<values::Timestamp>) -> Duration {
    let Some(until) = until else { return NEVER };
    let now = UNIX_EPOCH.elapsed().unwrap_or_default();
    let until = Duration::from_secs(u64::try_from(until.seconds).unwrap_or(0));
    let left = until.saturating_sub(now);
    (left - (left / 10).min(RENEWED_BEFORE)).clamp(USED_FOR, NEVER)
}

/// A query that runs.
struct Execution {
    client: Client,
    statement: Arc<Statement>,
    parameters: BTreeMap<String, Parameter>,
    /// Once it is prepared.
    begun: Option<Begun>,
    /// The server resumes after the rows that came before it; empty at the beginning.
    token: Bytes,
    assembler: Assembler,
    /// Whether the caller has had a row.
    has_delivered: bool,
    /// Whether it has begun again with another plan.
    has_restarted: bool,
}

struct Begun {
    attempts: Attempts,
    plan: Arc<PreparedPlan>,
    answer: Option<(Attempt, Answer)>,
}

impl Execution {
    /// The next row that has been received.
    fn next_row(&mut self) -> Option<Result<QueryRow, Error>> {
        let Begun { attempts, plan, .. } = self.begun.as_mut()?;
        let columns = &plan.columns.columns;
        let values = self.assembler.next_row(columns.len())?;
        if self.client.is_past_deadline() {
            attempts.watch.set_outcome(Code::DeadlineExceeded);
            let failure = Failure::from(Status::deadline_exceeded("not all rows were read in time"));
            return Some(Err(attempts.error(failure, Some(RetryLimit::Deadline))));
        }
        attempts.watch.rows(1);
        self.has_delivered = true;
        let mut decoder = ValueDecoder::default();
        let decode = |(value, column): (Bytes, &QueryColumn)| {
            let value = decoder.decode(&value, &column.of);
            value.map_err(|error| attempts.violation(error.of_column(&column.name)))
        };
        let values = values.into_iter().zip(columns).map(decode).collect::<Result<_, _>>();
        Some(values.map(|values| QueryRow::new(Arc::clone(&plan.columns), values)))
    }

    /// Receives until there are rows; returns false at the end.
    async fn receive(&mut self) -> Result<bool, Error> {
        let mut begun = match self.begun.take() {
            Some(begun) => begun,
            None => {
                for (name, Parameter { value, .. }) in &self.parameters {
                    value.check().map_err(|how| Error::parameter(name, how))?;
                }
                let plan = self.statement.plan(&self.client).await?;
                let operation = self.client.instance_operation(Rpc::ExecuteQuery);
                Begun { attempts: Attempts::new(&self.client, operation)?, plan, answer: None }
            }
        };
        let received = self.receive_with(&mut begun).await;
        self.begun = Some(begun);
        received
    }

    async fn receive_with(&mut self, begun: &mut Begun) -> Result<bool, Error> {
        while !self.assembler.has_rows() {
            let (attempt, mut answer) = match begun.answer.take() {
                Some(opened) => opened,
                None => match self.open(begun).await? {
                    (attempt, Ok(answer)) => (attempt, answer),
                    (attempt, Err(failure)) => {
                        self.failed(begun, attempt, failure).await?;
                        continue;
                    }
                },
            };
            let next = answer.next::<data::ExecuteQueryResponse>();
            let next = attempt.head_within(begun.attempts.idle_timeout(), next);
            let received = begun.attempts.watch.entered(pin!(next)).await;
            let taken = match received {
                Ok(Some(message)) => self.take(begun, message),
                Ok(None) => match self.assembler.finish() {
                    Ok(()) => {
                        begun.attempts.succeeded();
                        return Ok(false);
                    }
                    Err(how) => Err(how),
                },
                Err(failure) => {
                    self.failed(begun, attempt, failure).await?;
                    continue;
                }
            };
            taken.map_err(|how| begun.attempts.violation(how))?;
            // Further messages may be there already, so that no timer runs.
            if !self.assembler.has_rows() && attempt.is_past_deadline() {
                let failure = attempt.timed_out();
                self.failed(begun, attempt, failure).await?;
                continue;
            }
            begun.answer = Some((attempt, answer));
        }
        Ok(true)
    }

    /// Sends an attempt, up to the head of its answer.
    async fn open(&mut self, begun: &mut Begun) -> Result<(Attempt, Result<Answer, Failure>), Error> {
        let parameter = |(name, Parameter { of, value }): (&String, &Parameter)| {
            (name.clone(), data::Value { r#type: Some(of.to_message()), ..value.to_message() })
        };
        let message = data::ExecuteQueryRequest {
            instance_name: self.client.instance_name().to_owned(),
            app_profile_id: self.client.app_profile().to_owned(),
            prepared_query: begun.plan.prepared.clone(),
            resume_token: self.token.clone(),
            params: self.parameters.iter().map(parameter).collect(),
        };
        let Begun { attempts, .. } = begun;
        let attempt = attempts.begin().await?;
        let answer = attempts.open(&attempt, Request::new(&message)).await;
        if let Ok(answer) = &answer {
            attempts.keep_cookies(answer.headers());
            attempts.answered(&attempt);
        }
        Ok((attempt, answer))
    }

    /// Takes a message of the answer.
    fn take(&mut self, begun: &mut Begun, message: data::ExecuteQueryResponse) -> Result<(), String> {
        if begun.attempts.watch.is_wanted() {
            begun.attempts.watch.count(0, message.encoded_len());
        }
        let part = match message.response {
            Some(Response::Results(part)) => part,
            Some(Response::Metadata(_)) => {
                return Err("expected results response, but received: METADATA".to_owned());
            }
            // A message of a later version of the protocol.
            None => return Ok(()),
        };
        if let Some(token) = self.assembler.take(part, begun.plan.columns.columns.len())? {
            // The rows that came before are delivered.
            let has_rows = self.assembler.has_rows();
            if has_rows || (token != self.token && !self.has_restarted) {
                begun.attempts.progressed();
            }
            self.token = token;
        }
        Ok(())
    }

    /// Waits until the next attempt may be sent, with a new plan if the server asks for one.
    async fn failed(
        &mut self,
        begun: &mut Begun,
        attempt: Attempt,
        mut failure: Failure,
    ) -> Result<(), Error> {
        self.assembler.restart();
        let is_expired = failure.is_plan_expired;
        if is_expired {
            begun.plan.expire();
            // Rows that follow others have to be of the same plan.
            failure.transient = !self.has_delivered;
            if self.has_delivered {
                failure.message.push_str(
                    "; the plan of the query expired after its first rows were delivered, and the others cannot follow with \
                     another plan: run the query again",
                );
            } else if !self.token.is_empty() {
                // The token belongs to the plan.
                self.token.clear();
                self.has_restarted = true;
            }
        }
        let failed = begun.attempts.failed(&attempt, failure);
        let retry_at = failed.map_err(|error| if is_expired { error.into_retryable() } else { error })?;
        drop(attempt);
        sleep_until(retry_at).await;
        if is_expired {
            let left = begun.attempts.deadline().saturating_duration_since(Instant::now());
            let client = self.client.with(|settings| {
                settings.prepare_query.total_timeout = settings.prepare_query.total_timeout.min(left);
            });
            begun.plan = match self.statement.plan(&client).await {
                // The server has prepared this query before: the failure is not the query's.
                Err(error) if !error.is_deadline_exceeded() => self.statement.plan(&client).await?,
                plan => plan?,
            };
        }
        Ok(())
    }
}
