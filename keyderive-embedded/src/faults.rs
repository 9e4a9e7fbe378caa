//! Injected faults, to test how a program behaves when a Bigtable fails.

use std::collections::{HashMap, VecDeque};
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use fastrand::Rng;
use futures_core::Stream;
use keyderive_proto::data::ReadRowsResponse;
use keyderive_proto::data::read_rows_response::CellChunk;
use keyderive_proto::data::read_rows_response::cell_chunk::RowStatus;
use keyderive_proto::{RowsMessage, values};
use prost::Message as _;
use tonic::body::Body;
use tonic::{Code, Request, Status};

use crate::{Bigtable, BoxFuture};

/// A call of Bigtable's services, as its protocol names it.
///
/// A read of one row is a `ReadRows` too, and so is the request for each bucket of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[expect(missing_docs, reason = "they are documented by the protocol")]
pub enum Method {
    ReadRows,
    SampleRowKeys,
    MutateRow,
    MutateRows,
    CheckAndMutateRow,
    ReadModifyWriteRow,
    PingAndWarm,
    CreateTable,
    ListTables,
    GetTable,
    DeleteTable,
    UpdateTable,
    ModifyColumnFamilies,
    DropRowRange,
    GenerateConsistencyToken,
    CheckConsistency,
}

impl Method {
    const ALL: [(Self, &str); 16] = [
        (Self::ReadRows, "ReadRows"),
        (Self::SampleRowKeys, "SampleRowKeys"),
        (Self::MutateRow, "MutateRow"),
        (Self::MutateRows, "MutateRows"),
        (Self::CheckAndMutateRow, "CheckAndMutateRow"),
        (Self::ReadModifyWriteRow, "ReadModifyWriteRow"),
        (Self::PingAndWarm, "PingAndWarm"),
        (Self::CreateTable, "CreateTable"),
        (Self::ListTables, "ListTables"),
        (Self::GetTable, "GetTable"),
        (Self::DeleteTable, "DeleteTable"),
        (Self::UpdateTable, "UpdateTable"),
        (Self::ModifyColumnFamilies, "ModifyColumnFamilies"),
        (Self::DropRowRange, "DropRowRange"),
        (Self::GenerateConsistencyToken, "GenerateConsistencyToken"),
        (Self::CheckConsistency, "CheckConsistency"),
    ];

    fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|(_, known)| *known == name).map(|(method, _)| method)
    }
}

/// How a Bigtable is to fail: which calls, how often, and with what.
///
/// Does a service survive that Bigtable is unavailable at its third read?
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
/// let faults = Faults::seeded(1).fail_nth(Method::ReadRows, 3, Fault::unavailable());
/// let faulty = bigtable.with_faults(faults);
/// let users = faulty.client().table("users");
/// for _ in 0..3 {
///     assert_eq!(visits(&users).await?, 1);
/// }
/// // Once more than was asked: the client has tried again.
/// assert_eq!(faulty.calls(Method::ReadRows), 4);
/// # Ok(())
/// # }
/// ```
///
/// Chances follow from the seed, and those of a call from its number among the calls of its method besides. The same
/// calls in the same order meet the same faults, and calls of one method change nothing for another. Numbers count
/// from 1, and a call that the client tries again has a new one.
///
/// A chance is a number from 0, never, to 1, always; one that is no number counts as 0.
#[derive(Clone, Debug)]
#[must_use = "faults do nothing until a Bigtable has them"]
pub struct Faults {
    seed: u64,
    rules: Vec<Rule>,
    streams: StreamChances,
}

#[derive(Clone, Debug)]
struct Rule {
    method: Method,
    when: When,
    effect: Effect,
}

#[derive(Clone, Copy, Debug)]
enum When {
    Nth(u64),
    AtRandom(f64),
}

#[derive(Clone, Debug)]
enum Effect {
    Fail(Fault),
    Delay(Duration),
}

/// The chances of what can be wrong with a stream.
#[derive(Clone, Copy, Debug, Default)]
struct StreamChances {
    /// That it ends before a message.
    cut: f64,
    /// That a row comes in pieces.
    split: f64,
}

impl Faults {
    /// No faults yet, with a seed for those that are added.
    pub fn seeded(seed: u64) -> Self {
        Self { seed, rules: Vec::new(), streams: StreamChances::default() }
    }

    /// Has calls fail with this chance.
    ///
    /// Of several faults for one call, the one that was added first is taken.
    pub fn fail(self, method: Method, chance: f64, fault: Fault) -> Self {
        self.rule(method, When::AtRandom(chance), Effect::Fail(fault))
    }

    /// Has the call with this number fail: 1 is the first.
    pub fn fail_nth(self, method: Method, number: u64, fault: Fault) -> Self {
        self.rule(method, When::Nth(number), Effect::Fail(fault))
    }

    /// Has calls wait for so long with this chance, before they are carried out or fail.
    ///
    /// They wait by tokio's clock, which a test may pause. Of several delays for one call, the sum is waited.
    pub fn delay(self, method: Method, chance: f64, delay: Duration) -> Self {
        self.rule(method, When::AtRandom(chance), Effect::Delay(delay))
    }

    /// Has the call with this number wait for so long, as [`delay`](Self::delay): 1 is the first.
    pub fn delay_nth(self, method: Method, number: u64, delay: Duration) -> Self {
        self.rule(method, When::Nth(number), Effect::Delay(delay))
    }

    /// Has streams break with this chance before each of their messages, and before their end, as unavailable.
    ///
    /// The streams are the answers to `ReadRows`, `MutateRows` and `SampleRowKeys`. A client that tries again goes on
    /// after what came; it gives up where too many attempts bring nothing, so that a chance near 1 is one of failure.
    pub fn cut_streams(self, chance: f64) -> Self {
        Self { streams: StreamChances { cut: chance, ..self.streams }, ..self }
    }

    /// Has rows come in pieces with this chance, as the protocol allows: over several messages, with values in several
    /// parts, and at times taken back in the middle and sent anew.
    ///
    /// A program that reads them with a client sees no difference. Together with [`cut_streams`](Self::cut_streams)
    /// streams break in the middle of rows.
    pub fn split_rows(self, chance: f64) -> Self {
        Self { streams: StreamChances { split: chance, ..self.streams }, ..self }
    }

    fn rule(mut self, method: Method, when: When, effect: Effect) -> Self {
        self.rules.push(Rule { method, when, effect });
        self
    }
}

impl Bigtable {
    /// The same tables, behind a server with these faults. Clients of the Bigtable without them stay as they are.
    ///
    /// Faults that it had are replaced, and [`calls`](Self::calls) counts from 0. See [`Faults`] for an example.
    #[must_use]
    pub fn with_faults(&self, faults: Faults) -> Self {
        let injector = Injector::new(faults);
        Self { faults: Some(injector.into()), ..self.clone() }
    }

    /// How many calls of this method have come, those included that failed. They are counted where there are faults,
    /// or [`Faults`] without any; 0 of all others.
    #[must_use]
    pub fn calls(&self, method: Method) -> u64 {
        self.faults.as_ref().map_or(0, |injector| injector.calls(method))
    }
}

const RETRY_INFO: &str = "type.googleapis.com/google.rpc.RetryInfo";

/// What a call fails with.
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
#[must_use = "a fault does nothing until calls fail with it"]
pub struct Fault {
    code: Code,
    retry_after: Option<Duration>,
    after_the_call: bool,
}

impl Fault {
    /// The server cannot be reached for now; a client may try again what may be applied twice.
    pub fn unavailable() -> Self {
        Self::of(Code::Unavailable)
    }

    /// The call has collided with another; a client may try again.
    pub fn aborted() -> Self {
        Self::of(Code::Aborted)
    }

    /// The call took too long; a client may try again.
    pub fn deadline_exceeded() -> Self {
        Self::of(Code::DeadlineExceeded)
    }

    /// A quota is used up, or the server is overloaded. A client may try again where it is told
    /// [when](Self::retry_after).
    pub fn resource_exhausted() -> Self {
        Self::of(Code::ResourceExhausted)
    }

    /// Something is wrong with the server.
    pub fn internal() -> Self {
        Self::of(Code::Internal)
    }

    /// The caller may not do this.
    pub fn permission_denied() -> Self {
        Self::of(Code::PermissionDenied)
    }

    /// The server does not know who calls.
    pub fn unauthenticated() -> Self {
        Self::of(Code::Unauthenticated)
    }

    /// The system is not in a state for this call.
    pub fn failed_precondition() -> Self {
        Self::of(Code::FailedPrecondition)
    }

    /// The same fault, with the server's word that the call is to be tried again after so long, by a `RetryInfo` in
    /// its details.
    pub fn retry_after(self, delay: Duration) -> Self {
        Self { retry_after: Some(delay), ..self }
    }

    /// The same fault, after the call has been carried out: what it changed is changed, and only the answer is lost.
    ///
    /// It is for faults that leave open what was done, as [`unavailable`](Self::unavailable): a client believes a server that
    /// refuses, as by [`permission_denied`](Self::permission_denied).
    pub fn after_the_call(self) -> Self {
        Self { after_the_call: true, ..self }
    }

    fn of(code: Code) -> Self {
        Self { code, retry_after: None, after_the_call: false }
    }

    fn status(&self) -> Status {
        let message = "the call fails because the test asks for it";
        match self.retry_after {
            None => Status::new(self.code, message),
            Some(delay) => {
                Status::with_details(self.code, message, encode_details(self.code, message, delay))
            }
        }
    }
}

/// The details of a status are the status once more as a message, with what is attached to it.
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

type Answer = BoxFuture<Result<http::Response<Body>, Infallible>>;

/// Faults, and the calls that they have met.
#[derive(Debug)]
pub(super) struct Injector {
    faults: Faults,
    calls: Mutex<HashMap<Method, u64>>,
}

/// What one call meets.
#[derive(Debug)]
struct Injected {
    delay: Duration,
    fault: Option<Fault>,
    faults: StreamFault,
}

impl Injector {
    pub(super) fn new(faults: Faults) -> Self {
        Self { faults, calls: Mutex::default() }
    }

    pub(super) fn calls(&self, method: Method) -> u64 {
        let calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        calls.get(&method).copied().unwrap_or(0)
    }

    /// The answer to a request: that of `answer`, or a fault, or both.
    pub(super) fn call(
        &self,
        mut request: http::Request<Body>,
        answer: impl FnOnce(http::Request<Body>) -> Answer + Send + 'static,
    ) -> Answer {
        let name = request.uri().path().rsplit('/').next().unwrap_or_default();
        let Some(method) = Method::named(name) else { return answer(request) };
        let Injected { delay, fault, faults } = self.next(method);
        request.extensions_mut().insert(faults);
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

    fn next(&self, method: Method) -> Injected {
        let number = self.count(method);
        let mut rng = Rng::with_seed(call_seed(self.faults.seed, method, number));
        let mut injected = Injected { delay: Duration::ZERO, fault: None, faults: StreamFault::none() };
        for Rule { when, effect, .. } in self.faults.rules.iter().filter(|rule| rule.method == method) {
            let hit = match *when {
                When::Nth(nth) => nth == number,
                When::AtRandom(chance) => rng.f64() < chance,
            };
            match effect {
                Effect::Delay(delay) if hit => injected.delay = injected.delay.saturating_add(*delay),
                Effect::Fail(fault) if hit => {
                    injected.fault.get_or_insert_with(|| fault.clone());
                }
                _ => {}
            }
        }
        let StreamChances { cut, split } = self.faults.streams;
        injected.faults = StreamFault::new(rng.u64(..), cut, split);
        injected
    }

    fn count(&self, method: Method) -> u64 {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let count = calls.entry(method).or_default();
        *count += 1;
        *count
    }
}

/// A seed for one call, far from those of its neighbours.
fn call_seed(seed: u64, method: Method, number: u64) -> u64 {
    let of_method = Rng::with_seed(seed ^ (method as u64) << 56).u64(..);
    Rng::with_seed(of_method ^ number).u64(..)
}

/// What is wrong with the streams that answer one call.
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

    /// Those that a request has met on its way.
    pub(super) fn of<M>(request: &Request<M>) -> Self {
        request.extensions().get().cloned().unwrap_or_else(Self::none)
    }
}

/// A stream that may end before its time.
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
            return Poll::Ready(Some(Err(Status::unavailable(
                "the stream faults because the test asks for it",
            ))));
        }
        Poll::Ready(message)
    }
}

/// A stream of rows of which some come in pieces.
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
                let responses =
                    messages.map(|chunks| ReadRowsResponse { chunks, last_scanned_row_key: Bytes::new() });
                this.pieces.extend(responses.map(|response| RowsMessage::from(&response)));
                // What has chunks has messages.
                Poll::Ready(this.pieces.pop_front().map(Ok))
            }
            other => Poll::Ready(other),
        }
    }
}

/// The most parts that a value comes in.
const MAX_PARTS: usize = 4;

/// Messages with the chunks of whole rows, each row in pieces with this chance.
fn split_rows(rng: &mut Rng, chance: f64, chunks: &[CellChunk]) -> Vec<Vec<CellChunk>> {
    let mut messages = Messages(vec![Vec::new()]);
    for row in chunks.chunk_by(|chunk, _| chunk.row_status.is_none()) {
        if rng.f64() >= chance {
            messages.extend(row);
            continue;
        }
        let pieces: Vec<CellChunk> = row.iter().flat_map(|chunk| split_cell(rng, chunk)).collect();
        // Only what begins here can be sent from its beginning.
        if pieces.len() > 1 && !pieces[0].row_key.is_empty() && rng.u8(..4) == 0 {
            let taken_back = rng.usize(1..pieces.len());
            messages.spread(rng, &pieces[..taken_back]);
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

    /// Adds chunks, with ends of messages after some of them.
    fn spread(&mut self, rng: &mut Rng, chunks: &[CellChunk]) {
        for chunk in chunks {
            self.extend(std::slice::from_ref(chunk));
            if rng.bool() {
                self.0.push(Vec::new());
            }
        }
    }
}

/// A cell in parts: the first says what cell it is, all but the last how large the value is in whole, and the last
/// what the cell says of its row.
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

    /// That a client puts them together again is seen where one reads them.
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
