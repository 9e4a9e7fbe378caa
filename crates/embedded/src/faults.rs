//! Injected faults, to test how a program behaves when a Bigtable fails.

use std::collections::{HashMap, VecDeque};
use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use fastrand::Rng;
use futures_core::Stream;
use http_body::{Body as _, Frame};
use keyderive_proto::admin::drop_row_range_request::Target;
use keyderive_proto::admin::{
    CheckConsistencyRequest, CreateTableRequest, DeleteTableRequest, DropRowRangeRequest,
    GenerateConsistencyTokenRequest, GetTableRequest, ModifyColumnFamiliesRequest, UpdateTableRequest,
};
use keyderive_proto::data::read_rows_response::CellChunk;
use keyderive_proto::data::read_rows_response::cell_chunk::RowStatus;
use keyderive_proto::data::{
    CheckAndMutateRowRequest, MutateRowRequest, MutateRowsRequest, ReadModifyWriteRowRequest,
    ReadRowsRequest, ReadRowsResponse, SampleRowKeysRequest,
};
use keyderive_proto::{MAX_MESSAGE_BYTES, RowsMessage, values};
use prost::Message as _;
use tonic::body::Body;
use tonic::{Code, Request, Status};

use crate::interval::{self, Interval};
use crate::{Bigtable, BoxFuture};

/// A method of Bigtable's gRPC services.
pub use keyderive_proto::Rpc as Method;

/// Which calls of a Bigtable fail or wait, how often, and with which error.
///
/// Does a service survive if Bigtable is unavailable at its third read?
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), keyderive::Error> {
/// # use keyderive::RowKey;
/// use keyderive::embedded::{Bigtable, Fault, Faults, Method};
///
/// # #[derive(keyderive::RowKey)] struct UserKey { id: u64 }
/// # type User = std::collections::BTreeMap<String, u64>;
/// # async fn visits(users: &keyderive::Table<UserKey, User>) -> Result<u64, keyderive::Error> {
/// #     let mut rows = users.scan(UserKey::scan()).stream();
/// #     let mut visits = 0;
/// #     while let Some(row) = rows.next().await { visits += row?.1["visits"]; }
/// #     Ok(visits)
/// # }
/// let bigtable = Bigtable::in_memory();
/// let users = bigtable.client().table::<UserKey, User>("users");
/// users.create_if_absent().await?;
/// users.put(&UserKey { id: 7 }, &User::from([("visits".to_owned(), 1)])).await?;
///
/// // The first read is that of the registry, by which the client compares row types.
/// let faults = Faults::seeded(1).fail_nth(Method::ReadRows, 1 + 3, Fault::unavailable());
/// let faulty = bigtable.with_faults(faults);
/// let users = faulty.client().table("users");
/// for _ in 0..3 {
///     assert_eq!(visits(&users).await?, 1);
/// }
/// // One more than the three scans: the client retried.
/// assert_eq!(faulty.calls(Method::ReadRows), 1 + 4);
/// # Ok(())
/// # }
/// ```
///
/// Each fault is a [`FaultRule`]; the other methods are short forms of rules. Whether a rule hits a call depends only on the seed,
/// the rule, and the call's number among the calls that the rule matches; where a stream breaks or a row is split also depends on the
/// call's number among all calls of its method. So the same calls in the same order meet the same faults, and calls that a rule does
/// not match do not change which others it hits. Each retry of the client is a call of its own.
///
/// If several rules of one kind hit a call, the one added first applies; delays add up. A probability is from 0 to 1; NaN counts
/// as 0.
#[derive(Clone, Debug)]
#[must_use = "faults do nothing until they are passed to `with_faults`"]
pub struct Faults {
    seed: u64,
    rules: Vec<FaultRule>,
}

impl Faults {
    /// Starts without faults. `seed` decides which calls the faults added later hit.
    pub fn seeded(seed: u64) -> Self {
        Self { seed, rules: Vec::new() }
    }

    /// Adds a rule.
    pub fn rule(mut self, rule: FaultRule) -> Self {
        self.rules.push(rule);
        self
    }

    /// Makes calls fail with this probability.
    pub fn fail(self, method: Method, chance: f64, fault: Fault) -> Self {
        self.rule(FaultRule::fail(fault).methods([method]).chance(chance))
    }

    /// Makes the call with this number fail: 1 is the first.
    pub fn fail_nth(self, method: Method, number: u64, fault: Fault) -> Self {
        self.rule(FaultRule::fail(fault).methods([method]).nth(number))
    }

    /// Delays calls with this probability, before they run or fail.
    ///
    /// They wait by tokio's clock, which a test may pause.
    pub fn delay(self, method: Method, chance: f64, delay: Duration) -> Self {
        self.rule(FaultRule::delay(delay).methods([method]).chance(chance))
    }

    /// Delays the call with this number, as [`delay`](Self::delay) does: 1 is the first.
    pub fn delay_nth(self, method: Method, number: u64, delay: Duration) -> Self {
        self.rule(FaultRule::delay(delay).methods([method]).nth(number))
    }

    /// Breaks all streams, as [`FaultRule::cut_streams`] does.
    pub fn cut_streams(self, chance: f64) -> Self {
        self.rule(FaultRule::cut_streams(chance))
    }

    /// Splits the rows of all streams, as [`FaultRule::split_rows`] does.
    pub fn split_rows(self, chance: f64) -> Self {
        self.rule(FaultRule::split_rows(chance))
    }
}

/// One fault, and the calls that it hits: by method, table and key prefix; after the first ones, a number of times, or by chance.
///
/// Does a service survive if the writes of one user fail for a while?
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), keyderive::Error> {
/// use keyderive::RowKey;
/// use keyderive::embedded::{Bigtable, Fault, FaultRule, Faults, Method};
///
/// #[derive(RowKey)]
/// struct VisitKey {
///     user: String,
///     number: u64,
/// }
///
/// # type Visit = std::collections::BTreeMap<String, u64>;
/// let bigtable = Bigtable::in_memory();
/// # bigtable.client().table::<VisitKey, Visit>("visits").create_if_absent().await?;
/// // The first write succeeds, and the next two fail.
/// let rule = FaultRule::fail(Fault::permission_denied())
///     .methods([Method::MutateRow, Method::MutateRows])
///     .tables(["visits"])
///     .key_prefix("ada#")
///     .skip(1)
///     .times(2);
/// let visits = bigtable.with_faults(Faults::seeded(1).rule(rule)).client().table::<VisitKey, Visit>("visits");
///
/// let visit = Visit::from([("pages".to_owned(), 3)]);
/// let mut failed = Vec::new();
/// for number in 0..4 {
///     for user in ["ada", "bea"] {
///         let key = VisitKey { user: user.to_owned(), number };
///         if visits.put(&key, &visit).await.is_err() {
///             failed.push((user, number));
///         }
///     }
/// }
/// assert_eq!(failed, [("ada", 1), ("ada", 2)]);
/// # Ok(())
/// # }
/// ```
///
/// Without conditions it hits every call. With several, a call must match [`methods`](Self::methods), [`tables`](Self::tables) and
/// [`key_prefix`](Self::key_prefix). Of the calls that match, [`skip`](Self::skip) passes over the first;
/// [`chance`](Self::chance) decides for each further one whether the rule hits it; and [`times`](Self::times) counts hits, so that a
/// call that `chance` spares does not use one up.
#[derive(Clone, Debug)]
#[must_use = "a rule does nothing until it is added to `Faults`"]
pub struct FaultRule {
    effect: Effect,
    /// Empty for all methods.
    methods: Vec<Method>,
    /// Empty for all tables.
    tables: Vec<String>,
    key_prefix: Option<Bytes>,
    skip: u64,
    times: u64,
    chance: f64,
}

#[derive(Clone, Debug)]
enum Effect {
    Fail(Fault),
    Delay(Duration),
    /// The probability that a stream breaks before a message.
    CutStreams(f64),
    /// The probability that a row is split into pieces.
    SplitRows(f64),
}

impl FaultRule {
    fn of(effect: Effect) -> Self {
        Self {
            effect,
            methods: Vec::new(),
            tables: Vec::new(),
            key_prefix: None,
            skip: 0,
            times: u64::MAX,
            chance: 1.0,
        }
    }

    /// The call fails.
    pub fn fail(fault: Fault) -> Self {
        Self::of(Effect::Fail(fault))
    }

    /// The call waits before it runs or fails, by tokio's clock, which a test may pause.
    pub fn delay(delay: Duration) -> Self {
        Self::of(Effect::Delay(delay))
    }

    /// The call's stream breaks with this probability before each message, and before its end, with `UNAVAILABLE`. This is
    /// apart from [`chance`](Self::chance), which decides whether the rule hits the call at all.
    ///
    /// The streams are the responses to `ReadRows`, `MutateRows`, `SampleRowKeys` and `ExecuteQuery`. A client that retries
    /// resumes after the last row it received. It gives up after too many attempts without progress, so a probability near 1
    /// makes operations fail.
    pub fn cut_streams(chance: f64) -> Self {
        Self::of(Effect::CutStreams(chance))
    }

    /// Each row of the call's stream is split into pieces with this probability, as the protocol allows: over several messages, with
    /// values in several chunks, and sometimes reset in the middle and sent again. This is apart from
    /// [`chance`](Self::chance), which decides whether the rule hits the call at all.
    ///
    /// A program that reads through a client sees no difference. Together with [`cut_streams`](Self::cut_streams),
    /// streams break in the middle of rows.
    pub fn split_rows(chance: f64) -> Self {
        Self::of(Effect::SplitRows(chance))
    }

    /// Only calls of these methods. Without any, or without this call, calls of all methods.
    pub fn methods(self, methods: impl IntoIterator<Item = Method>) -> Self {
        Self { methods: methods.into_iter().collect(), ..self }
    }

    /// Only calls on these tables, by their short names (`users`) or full ones (`projects/p/instances/i/tables/users`).
    ///
    /// A call on no table, such as `ListTables`, does not match.
    pub fn tables(self, tables: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { tables: tables.into_iter().map(Into::into).collect(), ..self }
    }

    /// Only calls about row keys that begin with these bytes, taken from encoded keys.
    ///
    /// A salted key begins with its bucket: `"ada#"` matches no write of a key type whose keys are `2#ada#…`. Take the prefix
    /// from an encoded key, or leave out the condition.
    ///
    /// A read matches if it names such a key, or a range in which there can be one; a bulk write if one of its rows has such a
    /// key, and then all its rows fail. A call about no keys, such as `GetTable` or `SampleRowKeys`, does not match.
    pub fn key_prefix(self, prefix: impl Into<Bytes>) -> Self {
        Self { key_prefix: Some(prefix.into()), ..self }
    }

    /// Passes over this many of the first calls that match, without asking [`chance`](Self::chance).
    pub fn skip(self, calls: u64) -> Self {
        Self { skip: calls, ..self }
    }

    /// Hits this many calls, and no more. Only hits count.
    pub fn times(self, calls: u64) -> Self {
        Self { times: calls, ..self }
    }

    /// Hits each call that matches, after the first ones that [`skip`](Self::skip) passes over, only with this
    /// probability.
    pub fn chance(self, chance: f64) -> Self {
        Self { chance, ..self }
    }

    /// Hits the call with this number; none if it is 0.
    fn nth(self, number: u64) -> Self {
        self.skip(number.saturating_sub(1)).times(number.min(1))
    }

    fn is_of(&self, method: Method) -> bool {
        let can_have = match self.effect {
            Effect::Fail(_) | Effect::Delay(_) => true,
            Effect::CutStreams(_) => {
                use Method::{ExecuteQuery, MutateRows, ReadRows, SampleRowKeys};
                matches!(method, ReadRows | MutateRows | SampleRowKeys | ExecuteQuery)
            }
            Effect::SplitRows(_) => method == Method::ReadRows,
        };
        can_have && (self.methods.is_empty() || self.methods.contains(&method))
    }

    /// Whether it must know what a call is about.
    fn reads_messages(&self) -> bool {
        !self.tables.is_empty() || self.key_prefix.is_some()
    }

    fn matches(&self, method: Method, subject: &Subject) -> bool {
        let is_on = |table: &String| {
            let name = &subject.table;
            name == table || name.rsplit_once("/tables/").is_some_and(|(_, short)| short == table)
        };
        let is_about = |prefix: &Bytes| {
            let wanted = Interval::prefix(prefix);
            subject.keys.iter().any(|keys| keys.overlaps(&wanted))
        };
        self.is_of(method)
            && (self.tables.is_empty() || self.tables.iter().any(is_on))
            && self.key_prefix.as_ref().is_none_or(is_about)
    }
}

impl Bigtable {
    /// A Bigtable with the same tables and these faults. `self` and its clients are not affected. Both share the clock, and whether
    /// garbage collection is paused.
    ///
    /// The faults replace earlier ones, and [`calls`](Self::calls) counts from 0. See [`Faults`] for an example.
    #[must_use]
    pub fn with_faults(&self, faults: Faults) -> Self {
        let injector = Injector::new(faults);
        Self { faults: Some(injector.into()), ..self.clone() }
    }

    /// How many calls of this method it received, including failed ones. Counting begins with
    /// [`with_faults`](Self::with_faults), even if it adds no faults; without it, this is 0.
    #[must_use]
    pub fn calls(&self, method: Method) -> u64 {
        self.faults.as_ref().map_or(0, |injector| injector.calls(method))
    }
}

const RETRY_INFO: &str = "type.googleapis.com/google.rpc.RetryInfo";

/// The error of a failing call.
///
/// ```
/// use std::time::Duration;
/// use keyderive::embedded::Fault;
///
/// let busy = Fault::resource_exhausted().retry_after(Duration::from_secs(2));
/// let lost = Fault::unavailable().after_the_call();
/// # drop((busy, lost));
/// ```
#[derive(Clone, Debug)]
#[must_use = "a fault does nothing until it is added to `Faults`"]
pub struct Fault {
    code: Code,
    retry_after: Option<Duration>,
    after_the_call: bool,
}

impl Fault {
    /// The server is unavailable for now; a client may retry idempotent calls.
    pub fn unavailable() -> Self {
        Self::of(Code::Unavailable)
    }

    /// The call conflicted with another; a client may retry.
    pub fn aborted() -> Self {
        Self::of(Code::Aborted)
    }

    /// The call took too long; a client may retry idempotent calls.
    pub fn deadline_exceeded() -> Self {
        Self::of(Code::DeadlineExceeded)
    }

    /// A quota is exhausted, or the server is overloaded. A client may retry if the error says
    /// [when](Self::retry_after).
    pub fn resource_exhausted() -> Self {
        Self::of(Code::ResourceExhausted)
    }

    /// An error inside the server.
    pub fn internal() -> Self {
        Self::of(Code::Internal)
    }

    /// The caller may not do this.
    pub fn permission_denied() -> Self {
        Self::of(Code::PermissionDenied)
    }

    /// The caller is not authenticated.
    pub fn unauthenticated() -> Self {
        Self::of(Code::Unauthenticated)
    }

    /// The system is not in a state that allows this call.
    pub fn failed_precondition() -> Self {
        Self::of(Code::FailedPrecondition)
    }

    /// The same fault, with a `RetryInfo` in its details that tells the client to retry after `delay`.
    pub fn retry_after(self, delay: Duration) -> Self {
        Self { retry_after: Some(delay), ..self }
    }

    /// The same fault, after the call has run: its changes are applied, and only the response is lost.
    ///
    /// Use it with faults that leave the outcome open, such as [`unavailable`](Self::unavailable). After a rejection, such
    /// as [`permission_denied`](Self::permission_denied), a client assumes that nothing was applied.
    pub fn after_the_call(self) -> Self {
        Self { after_the_call: true, ..self }
    }

    fn of(code: Code) -> Self {
        Self { code, retry_after: None, after_the_call: false }
    }

    fn status(&self) -> Status {
        let message = "injected by `Faults`: the call fails";
        match self.retry_after {
            None => Status::new(self.code, message),
            Some(delay) => {
                Status::with_details(self.code, message, encode_details(self.code, message, delay))
            }
        }
    }
}

/// The details of a status: the encoded status itself, with the attached messages.
fn encode_details(code: Code, message: &str, delay: Duration) -> Bytes {
    #[derive(prost::Message)]
    struct RetryInfo {
        #[prost(message, optional, tag = "1")]
        retry_delay: Option<values::Duration>,
    }
    let retry_delay = values::Duration {
        seconds: i64::try_from(delay.as_secs()).unwrap_or(i64::MAX),
        nanos: delay.subsec_nanos().cast_signed(),
    };
    let info = RetryInfo { retry_delay: Some(retry_delay) };
    let any = values::Any { type_url: RETRY_INFO.to_owned(), value: info.encode_to_vec().into() };
    let status = values::Status { code: code.into(), message: message.to_owned(), details: vec![any] };
    status.encode_to_vec().into()
}

type ResponseFuture = BoxFuture<Result<http::Response<Body>, Infallible>>;

/// Injects faults, and counts calls.
#[derive(Debug)]
pub(super) struct Injector {
    faults: Faults,
    counts: Mutex<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    calls: HashMap<Method, u64>,
    rules: Vec<RuleCounts>,
}

#[derive(Clone, Copy, Debug, Default)]
struct RuleCounts {
    matched: u64,
    hit: u64,
}

/// The faults of one call.
#[derive(Debug)]
struct Injected {
    delay: Duration,
    fault: Option<Fault>,
    stream_fault: StreamFault,
}

impl Injector {
    pub(super) fn new(faults: Faults) -> Self {
        let rules = vec![RuleCounts::default(); faults.rules.len()];
        Self { faults, counts: Mutex::new(Counts { calls: HashMap::new(), rules }) }
    }

    pub(super) fn calls(&self, method: Method) -> u64 {
        self.counts().calls.get(&method).copied().unwrap_or(0)
    }

    /// Calls `answer`, or fails, or does both.
    pub(super) fn call(
        self: &Arc<Self>,
        request: http::Request<Body>,
        answer: impl FnOnce(http::Request<Body>) -> ResponseFuture + Send + 'static,
    ) -> ResponseFuture {
        let Some(method) = Method::of_path(request.uri().path()) else { return answer(request) };
        let number = {
            let mut counts = self.counts();
            let count = counts.calls.entry(method).or_default();
            *count += 1;
            *count
        };
        if !self.faults.rules.iter().any(|rule| rule.is_of(method) && rule.reads_messages()) {
            return self.next(method, number, &Subject::default()).answer(request, answer);
        }
        let injector = Arc::clone(self);
        Box::pin(async move {
            let (head, body) = request.into_parts();
            let bytes = match read_message(body).await {
                Ok(bytes) => bytes,
                Err(status) => return Ok(status.into_http()),
            };
            let subject = Subject::of(method, &bytes);
            let request = http::Request::from_parts(head, Body::new(OneFrame(Some(bytes))));
            injector.next(method, number, &subject).answer(request, answer).await
        })
    }

    fn next(&self, method: Method, number: u64, subject: &Subject) -> Injected {
        let seed = self.faults.seed;
        let (mut delay, mut fault, mut cut, mut split) = (Duration::ZERO, None, None, None);
        let mut counts = self.counts();
        for (place, (rule, counts)) in self.faults.rules.iter().zip(&mut counts.rules).enumerate() {
            if !rule.matches(method, subject) {
                continue;
            }
            counts.matched += 1;
            let hits =
                Rng::with_seed(call_seed(seed, RULES + place as u64, counts.matched)).f64() < rule.chance;
            if !hits || counts.matched <= rule.skip || counts.hit >= rule.times {
                continue;
            }
            counts.hit += 1;
            match &rule.effect {
                Effect::Fail(added) => fault = fault.or_else(|| Some(added.clone())),
                Effect::Delay(added) => delay = delay.saturating_add(*added),
                Effect::CutStreams(chance) => cut = cut.or(Some(*chance)),
                Effect::SplitRows(chance) => split = split.or(Some(*chance)),
            }
        }
        let stream_seed = call_seed(seed, method as u64, number);
        let stream_fault = StreamFault::new(stream_seed, cut.unwrap_or(0.0), split.unwrap_or(0.0));
        Injected { delay, fault, stream_fault }
    }

    /// Ignores poisoning: nothing panics while it holds the lock.
    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Injected {
    fn answer(
        self,
        mut request: http::Request<Body>,
        answer: impl FnOnce(http::Request<Body>) -> ResponseFuture + Send + 'static,
    ) -> ResponseFuture {
        let Self { delay, fault, stream_fault } = self;
        request.extensions_mut().insert(stream_fault);
        Box::pin(async move {
            if !delay.is_zero() {
                tokio::time::sleep(delay).await;
            }
            let Some(fault) = fault else { return answer(request).await };
            if fault.after_the_call {
                drop(answer(request).await);
            }
            Ok(fault.status().into_http())
        })
    }
}

/// The first number of the rules, after the numbers of the methods that the embedded Bigtable serves.
const RULES: u64 = Method::ListClusters as u64;

/// The seed of one call of a method, or of one that a rule matches, unrelated to the seeds of neighbouring calls.
fn call_seed(seed: u64, of: u64, number: u64) -> u64 {
    let of_seed = Rng::with_seed(seed ^ of.rotate_right(8)).u64(..);
    Rng::with_seed(of_seed ^ number).u64(..)
}

/// What a call is about.
#[derive(Debug, Default)]
struct Subject {
    /// The full name of the table; empty if there is none.
    table: String,
    keys: Vec<Interval>,
}

impl Subject {
    /// `bytes` are a request's body. A message that cannot be read is about nothing, and rejected later.
    fn of(method: Method, bytes: &Bytes) -> Self {
        Self::read(method, bytes).unwrap_or_default()
    }

    fn read(method: Method, bytes: &Bytes) -> Option<Self> {
        let message =
            bytes.get(PREFIX_BYTES..).filter(|_| bytes[0] == 0).map(|message| bytes.slice_ref(message))?;
        let table = |table: String| Some(Self { table, keys: Vec::new() });
        let row = |table: String, key: &Bytes| Some(Self { table, keys: vec![Interval::point(key)] });
        match method {
            Method::ReadRows => {
                let ReadRowsRequest { table_name: table, rows, .. } = decode(message)?;
                Some(Self { table, keys: interval::from_row_set(rows).ok()? })
            }
            Method::MutateRows => {
                let MutateRowsRequest { table_name: table, entries, .. } = decode(message)?;
                Some(Self {
                    table,
                    keys: entries.iter().map(|entry| Interval::point(&entry.row_key)).collect(),
                })
            }
            Method::MutateRow => {
                let request: MutateRowRequest = decode(message)?;
                row(request.table_name, &request.row_key)
            }
            Method::CheckAndMutateRow => {
                let request: CheckAndMutateRowRequest = decode(message)?;
                row(request.table_name, &request.row_key)
            }
            Method::ReadModifyWriteRow => {
                let request: ReadModifyWriteRowRequest = decode(message)?;
                row(request.table_name, &request.row_key)
            }
            Method::DropRowRange => {
                let DropRowRangeRequest { name: table, target } = decode(message)?;
                let keys = match target {
                    Some(Target::RowKeyPrefix(prefix)) => Interval::prefix(&prefix),
                    _ => Interval::all(),
                };
                Some(Self { table, keys: vec![keys] })
            }
            Method::SampleRowKeys => table(decode::<SampleRowKeysRequest>(message)?.table_name),
            Method::CreateTable => {
                let CreateTableRequest { parent, table_id, .. } = decode(message)?;
                table(format!("{parent}/tables/{table_id}"))
            }
            Method::GetTable => table(decode::<GetTableRequest>(message)?.name),
            Method::DeleteTable => table(decode::<DeleteTableRequest>(message)?.name),
            Method::UpdateTable => table(decode::<UpdateTableRequest>(message)?.table?.name),
            Method::ModifyColumnFamilies => table(decode::<ModifyColumnFamiliesRequest>(message)?.name),
            Method::GenerateConsistencyToken => {
                table(decode::<GenerateConsistencyTokenRequest>(message)?.name)
            }
            Method::CheckConsistency => table(decode::<CheckConsistencyRequest>(message)?.name),
            // The text of a query names its table.
            Method::PingAndWarm
            | Method::PrepareQuery
            | Method::ExecuteQuery
            | Method::ListTables
            | Method::ListClusters
            | Method::ListHotTablets => None,
        }
    }
}

fn decode<M: prost::Message + Default>(message: Bytes) -> Option<M> {
    M::decode(message).ok()
}

/// Before a message of gRPC: whether it is compressed, and its length.
const PREFIX_BYTES: usize = 5;

/// A request's body, up to the size of the largest message: the server rejects a larger one by its prefix.
async fn read_message(mut body: Body) -> Result<Bytes, Status> {
    let mut bytes = Vec::new();
    while let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
        if let Ok(data) = frame?.into_data() {
            bytes.extend_from_slice(&data);
        }
        if bytes.len() > PREFIX_BYTES + MAX_MESSAGE_BYTES {
            break;
        }
    }
    Ok(bytes.into())
}

/// A body that was read before.
struct OneFrame(Option<Bytes>);

impl http_body::Body for OneFrame {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        Poll::Ready(self.0.take().map(|bytes| Ok(Frame::data(bytes))))
    }
}

/// The faults of the response stream of one call.
#[derive(Clone, Debug)]
pub(super) struct StreamFault {
    seed: u64,
    cut: f64,
    split: f64,
}

impl StreamFault {
    pub(super) fn new(seed: u64, cut: f64, split: f64) -> Self {
        Self { seed, cut, split }
    }

    fn none() -> Self {
        Self::new(0, 0.0, 0.0)
    }

    /// The faults that the injector attached to a request.
    pub(super) fn of<M>(request: &Request<M>) -> Self {
        request.extensions().get().cloned().unwrap_or_else(Self::none)
    }
}

/// A stream that may break early.
pub(super) struct TruncatedStream<S> {
    stream: S,
    rng: Rng,
    chance: f64,
    ended: bool,
}

impl<S> TruncatedStream<S> {
    pub(super) fn new(stream: S, faults: &StreamFault) -> Self {
        Self { stream, rng: Rng::with_seed(faults.seed), chance: faults.cut, ended: false }
    }
}

impl<S: Stream<Item = Result<T, Status>> + Unpin, T> Stream for TruncatedStream<S> {
    type Item = Result<T, Status>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        if this.ended {
            return Poll::Ready(None);
        }
        let message = ready!(Pin::new(&mut this.stream).poll_next(context));
        if this.chance > 0.0 && this.rng.f64() < this.chance {
            this.ended = true;
            return Poll::Ready(Some(Err(Status::unavailable("injected by `Faults`: the stream breaks"))));
        }
        Poll::Ready(message)
    }
}

/// A stream of rows that may split rows into pieces.
pub(super) struct SplitStream<S> {
    stream: S,
    rng: Rng,
    chance: f64,
    pieces: VecDeque<RowsMessage>,
}

impl<S> SplitStream<S> {
    pub(super) fn new(stream: S, faults: &StreamFault) -> Self {
        let rng = Rng::with_seed(!faults.seed);
        Self { stream, rng, chance: faults.split, pieces: VecDeque::new() }
    }
}

impl<S: Stream<Item = Result<RowsMessage, Status>> + Unpin> Stream for SplitStream<S> {
    type Item = S::Item;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        if let Some(piece) = this.pieces.pop_front() {
            return Poll::Ready(Some(Ok(piece)));
        }
        match ready!(Pin::new(&mut this.stream).poll_next(context)) {
            Some(Ok(message)) if this.chance > 0.0 => {
                let response = message.decoded().unwrap_or_default();
                if response.chunks.is_empty() {
                    return Poll::Ready(Some(Ok(message)));
                }
                let messages = split_rows(&mut this.rng, this.chance, &response.chunks).into_iter();
                let responses = messages.map(|chunks| ReadRowsResponse { chunks, ..Default::default() });
                this.pieces.extend(responses.map(|response| RowsMessage::from(&response)));
                // There is at least one chunk, so there is at least one message.
                Poll::Ready(this.pieces.pop_front().map(Ok))
            }
            other => Poll::Ready(other),
        }
    }
}

/// The most parts of a split value.
const MAX_PARTS: usize = 4;

/// Distributes the chunks of whole rows over messages, and splits each row with this chance.
fn split_rows(rng: &mut Rng, chance: f64, chunks: &[CellChunk]) -> Vec<Vec<CellChunk>> {
    let mut messages = Messages(vec![Vec::new()]);
    for row in chunks.chunk_by(|chunk, _| chunk.row_status.is_none()) {
        if rng.f64() >= chance {
            messages.extend(row);
            continue;
        }
        let pieces: Vec<CellChunk> = row.iter().flat_map(|chunk| split_cell(rng, chunk)).collect();
        // A row that began in an earlier message cannot be sent again from its beginning.
        if pieces.len() > 1 && !pieces[0].row_key.is_empty() && rng.u8(..4) == 0 {
            let reset_at = rng.usize(1..pieces.len());
            messages.spread(rng, &pieces[..reset_at]);
            messages.extend(&[reset()]);
        }
        messages.spread(rng, &pieces);
    }
    messages.0.retain(|message| !message.is_empty());
    messages.0
}

struct Messages(Vec<Vec<CellChunk>>);

impl Messages {
    fn extend(&mut self, chunks: &[CellChunk]) {
        match self.0.last_mut() {
            Some(message) => message.extend_from_slice(chunks),
            None => self.0.push(chunks.to_vec()),
        }
    }

    /// Adds chunks, and begins a new message after some of them.
    fn spread(&mut self, rng: &mut Rng, chunks: &[CellChunk]) {
        for chunk in chunks {
            self.extend(std::slice::from_ref(chunk));
            if rng.bool() {
                self.0.push(Vec::new());
            }
        }
    }
}

/// Splits a cell's value. The first part names the cell, the last has the row status, and each part but the last states
/// the size of the whole value.
fn split_cell(rng: &mut Rng, cell: &CellChunk) -> Vec<CellChunk> {
    let length = cell.value.len();
    let Some(value_size) = i32::try_from(length).ok().filter(|_| length > 1 && rng.bool()) else {
        return vec![cell.clone()];
    };
    let mut bounds: Vec<usize> = (1..MAX_PARTS).map(|_| rng.usize(1..length)).chain([0, length]).collect();
    bounds.sort_unstable();
    bounds.dedup();
    let mut parts: Vec<CellChunk> = bounds
        .windows(2)
        .map(|part| CellChunk {
            value: cell.value.slice(part[0]..part[1]),
            value_size,
            ..CellChunk::default()
        })
        .collect();
    if let Some(first) = parts.first_mut() {
        let value = std::mem::take(&mut first.value);
        *first = CellChunk { value, value_size, row_status: None, ..cell.clone() };
    }
    if let Some(last) = parts.last_mut() {
        (last.value_size, last.row_status) = (0, cell.row_status);
    }
    parts
}

fn reset() -> CellChunk {
    CellChunk { row_key: Bytes::new(), row_status: Some(RowStatus::ResetRow(true)), ..CellChunk::default() }
}

#[cfg(test)]
mod tests {
    use keyderive_proto::values::{BytesValue, StringValue};

    use super::*;

    fn cell(row_key: &'static str, value: &'static str, last: bool) -> CellChunk {
        CellChunk {
            row_key: row_key.into(),
            family_name: Some(StringValue { value: "f".to_owned() }),
            qualifier: Some(BytesValue { value: "q".into() }),
            timestamp_micros: 1000,
            value: value.into(),
            row_status: last.then_some(RowStatus::CommitRow(true)),
            ..CellChunk::default()
        }
    }

    #[test]
    fn nothing_changes_without_a_chance() {
        let chunks = vec![cell("a", "1", false), cell("", "22", true), cell("b", "3", true)];
        assert_eq!(split_rows(&mut Rng::with_seed(1), 0.0, &chunks), [chunks]);
    }

    /// Tests of the client cover that it joins the pieces.
    #[test]
    fn rows_come_in_every_kind_of_pieces() {
        let rng = &mut Rng::with_seed(1);
        let chunks = vec![cell("a", "some", false), cell("", "", false), cell("", "more", true)];
        let (mut resets, mut parts, mut messages) = (0, 0, 0);
        for _ in 0..100 {
            let pieces = split_rows(rng, 1.0, &chunks);
            assert!(pieces.iter().all(|message| !message.is_empty()));
            messages += pieces.len();
            let pieces: Vec<_> = pieces.concat();
            resets +=
                pieces.iter().filter(|piece| piece.row_status == Some(RowStatus::ResetRow(true))).count();
            parts += pieces.iter().filter(|piece| piece.value_size > 0).count();
            let whole =
                pieces.rsplit(|piece| piece.row_status == Some(RowStatus::ResetRow(true))).next().unwrap();
            let value: Vec<u8> = whole.iter().flat_map(|piece| piece.value.iter().copied()).collect();
            assert_eq!(value, b"somemore");
            assert_eq!(whole[0].row_key, "a");
            assert_eq!(whole.iter().filter(|piece| piece.row_status.is_some()).count(), 1);
        }
        assert!(
            resets > 10 && parts > 100 && messages > 200,
            "{resets} resets, {parts} parts, {messages} messages"
        );
    }
}
