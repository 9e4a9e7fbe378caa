//! `MutateRows`: a request for several rows, retried for the entries that failed, until each has its outcome.

use std::pin::pin;

use http::HeaderMap;
use keyderive_proto::Rpc;
use keyderive_proto::data::mutate_rows_response::Entry;
use keyderive_proto::data::{self, RateLimitInfo};
use prost::{DecodeError, Message as _};
use tokio::time::{Instant, sleep_until};
use tonic::{Code, Status};

use super::Entries;
use crate::client::error::{Error, RetryLimit};
use crate::client::failure::{Failure, shortened};
use crate::client::fault::ProtocolViolation;
use crate::client::grpc::Request;
use crate::client::operation::Idempotency;
use crate::client::protobuf::{LENGTH, Reader, WireError, WireErrorKind};
use crate::client::retry::{Attempt, Attempts};
use crate::client::{Client, Route, observe};

/// An entry without an outcome.
struct Pending {
    index: usize,
    /// Whether an attempt may have applied it.
    may_be_applied: bool,
    /// Why it is retried.
    failure: Option<Box<Failure>>,
}

impl Pending {
    /// Its idempotency if it may have been applied; otherwise none.
    fn unknown_outcome(&self, entries: &Entries) -> Option<Idempotency> {
        self.may_be_applied.then(|| entries.idempotency(self.index))
    }
}

impl Client {
    /// Sends entries that fit into one request; returns their outcomes in their order.
    pub(crate) async fn send_entries(&self, table: &Route, entries: &Entries) -> Vec<Result<(), Error>> {
        if entries.is_empty() {
            return Vec::new();
        }
        let mut outcomes: Vec<Result<(), Error>> = (0..entries.len()).map(|_| Ok(())).collect();
        let mut pending: Vec<Pending> =
            (0..entries.len()).map(|index| Pending { index, may_be_applied: false, failure: None }).collect();
        let operation = self.data_operation(Rpc::MutateRows, table);
        let mut attempts = match self.attempts(operation).await {
            Ok(attempts) => attempts,
            Err(error) => return fail_all(outcomes, &pending, entries, &error),
        };
        if entries.have_tokens() {
            attempts.end_before_tokens(entries.tokens_age());
        }
        if attempts.watch.is_wanted() {
            attempts.watch.count(pending.len(), entries.bytes().len());
        }
        // An entry that may not be repeated waits for its answer.
        attempts.stays = (0..entries.len()).any(|index| !self.may_repeat(entries.idempotency(index)));
        let mut errors = SharedErrors::default();
        while !pending.is_empty() {
            if let Some(throttle) = self.throttle() {
                let turn = throttle.reserve().min(attempts.deadline());
                observe::throttled(
                    attempts.operation().table(),
                    turn.saturating_duration_since(Instant::now()),
                );
                sleep_until(turn).await;
            }
            let attempt = match attempts.begin().await {
                Ok(attempt) => attempt,
                Err(error) => {
                    for entry in pending {
                        let unknown_outcome = entry.unknown_outcome(entries);
                        outcomes[entry.index] = Err(match (entry.failure, error.time_limit()) {
                            (Some(own), limit @ Some(_)) => {
                                errors.of(&attempts, *own, limit, unknown_outcome)
                            }
                            _ => error.clone().with_unknown_outcome(unknown_outcome),
                        });
                    }
                    return outcomes;
                }
            };
            let mut statuses = vec![EntryStatus::Missing; pending.len()];
            let answer = self.send_attempt(&attempts, &attempt, entries, &pending, &mut statuses).await;
            let ended = answer.map(|headers| attempts.note(&headers)).err();
            if let Some(failure) = &ended {
                // Whether entries are retried may depend on it.
                attempts.note_server(&failure.headers);
            }
            attempts.watch.attempt_ends(ended.as_ref().map_or(Code::Ok, |failure| failure.code));
            if let (Some(throttle), Some(failure)) = (self.throttle(), &ended) {
                throttle.failed(failure.code);
            }
            if ended.is_none() && statuses.iter().all(|status| matches!(status, EntryStatus::Applied)) {
                break;
            }
            for (mut entry, status) in std::mem::take(&mut pending).into_iter().zip(statuses) {
                let is_repeatable = self.may_repeat(entries.idempotency(entry.index));
                match verdict(status, ended.as_ref(), is_repeatable) {
                    Verdict::Applied => {}
                    Verdict::Retry(failure) => {
                        entry.may_be_applied |= !failure.is_not_applied();
                        entry.failure = Some(failure);
                        pending.push(entry);
                    }
                    Verdict::Failed(failure) => {
                        entry.may_be_applied |= !failure.is_not_applied();
                        outcomes[entry.index] =
                            Err(errors.of(&attempts, *failure, None, entry.unknown_outcome(entries)));
                    }
                    Verdict::Violation(how) => {
                        outcomes[entry.index] =
                            Err(Error::protocol(attempts.operation(), attempts.made(), how));
                    }
                }
            }
            let Some(failure) = ended.or_else(|| pending.first()?.failure.as_deref().cloned()) else { break };
            if pending.is_empty() {
                attempts.keep_cookies(&failure.headers);
                break;
            }
            match attempts.decide(&attempt, &failure) {
                Ok(retry_at) => {
                    drop(attempt);
                    sleep_until(retry_at).await;
                }
                Err(ended) => {
                    for entry in pending {
                        let unknown_outcome = entry.unknown_outcome(entries);
                        let own = entry.failure.map_or_else(|| failure.clone(), |own| *own);
                        outcomes[entry.index] = Err(errors.of(&attempts, own, ended, unknown_outcome));
                    }
                    break;
                }
            }
        }
        let failed = outcomes.iter().find_map(|outcome| outcome.as_ref().err());
        attempts.watch.set_outcome(failed.map_or(Code::Ok, |error| error.code().unwrap_or(Code::Unknown)));
        outcomes
    }

    /// Makes one attempt. Stores the statuses that the server sends in `statuses`, even if the answer breaks off.
    /// Returns the headers of a complete answer.
    async fn send_attempt(
        &self,
        attempts: &Attempts,
        attempt: &Attempt,
        entries: &Entries,
        pending: &[Pending],
        statuses: &mut [EntryStatus],
    ) -> Result<HeaderMap, Failure> {
        let head = data::MutateRowsRequest {
            table_name: attempts.operation().route().full_name().to_owned(),
            app_profile_id: self.app_profile().to_owned(),
            entries: Vec::new(),
        };
        let body = match pending.len() == entries.len() {
            true => entries.bytes().clone(),
            false => entries.select(pending.iter().map(|pending| pending.index)),
        };
        let asked = |&Pending { index, .. }: &Pending| (entries.key_bytes(index), entries.entry(index).len());
        let _heat = self.inner.heat.attempt(pending.iter(), asked, attempts.sending(attempt));
        let request = Request::with_tail(&head, body);
        let headers = attempts.watch.entered(pin!(attempts.headers(attempt))).await?;
        let answer = attempt.within(async {
            let path = attempts.operation().path();
            let mut answer = attempt
                .connection()
                .transport()
                .send(path, headers, request, attempt.deadline, &attempt.is_sent)
                .await?;
            attempts.answered(attempt);
            while let Some(message) = answer.message().await? {
                let info = read_statuses(&message, statuses).map_err(|status| answer.ended(status))?;
                if let Some(throttle) = self.throttle() {
                    throttle.update(info.as_ref());
                }
            }
            Ok(answer.headers().clone())
        });
        attempts.watch.entered(pin!(answer)).await
    }
}

const NO_STATUS: &str = "it has no status for this entry";
const TWO_STATUSES: &str = "it has two different statuses for this entry";

enum Verdict {
    Applied,
    Retry(Box<Failure>),
    Failed(Box<Failure>),
    /// The answer breaks the protocol in what it says of the entry, which may have been applied.
    Violation(&'static str),
}

/// What to do with an entry after an attempt. `ended` is the failure of the attempt as a whole.
fn verdict(status: EntryStatus, ended: Option<&Failure>, is_repeatable: bool) -> Verdict {
    let failure = match (status, ended) {
        (EntryStatus::Applied, _) => return Verdict::Applied,
        (EntryStatus::Failed(status), _) => Box::new(Failure::from(status)),
        (EntryStatus::Missing, Some(failure)) => Box::new(failure.clone()),
        (EntryStatus::Missing, None) => return Verdict::Violation(NO_STATUS),
        (EntryStatus::Contradictory, _) => return Verdict::Violation(TWO_STATUSES),
    };
    match failure.transient && (failure.is_not_applied() || is_repeatable) {
        true => Verdict::Retry(failure),
        false => Verdict::Failed(failure),
    }
}

/// The errors of entries. Successive equal failures share one error.
#[derive(Default)]
struct SharedErrors(Option<(FailureKey, Error)>);

/// What makes two failures equal.
type FailureKey = (Code, String, u32, Option<RetryLimit>, Option<Idempotency>);

impl SharedErrors {
    fn of(
        &mut self,
        attempts: &Attempts,
        failure: Failure,
        ended: Option<RetryLimit>,
        unknown_outcome: Option<Idempotency>,
    ) -> Error {
        let key = (failure.code, failure.message.clone(), attempts.made(), ended, unknown_outcome);
        if let Some((last, error)) = &self.0
            && *last == key
        {
            return error.clone();
        }
        let error = attempts.error(failure, ended).with_unknown_outcome(unknown_outcome);
        self.0 = Some((key, error.clone()));
        error
    }
}

/// Fails every pending entry with the same error.
fn fail_all(
    mut outcomes: Vec<Result<(), Error>>,
    pending: &[Pending],
    entries: &Entries,
    error: &Error,
) -> Vec<Result<(), Error>> {
    for entry in pending {
        outcomes[entry.index] = Err(error.clone().with_unknown_outcome(entry.unknown_outcome(entries)));
    }
    outcomes
}

/// The status of an entry in an answer.
#[derive(Clone, Debug)]
pub(super) enum EntryStatus {
    Missing,
    Applied,
    Failed(Status),
    /// Two statuses with different codes.
    Contradictory,
}

/// Stores the status that the answer has for an entry.
#[inline]
fn set_status(statuses: &mut [EntryStatus], index: i64, next: EntryStatus) -> Result<(), Status> {
    let Some(status) = usize::try_from(index).ok().and_then(|index| statuses.get_mut(index)) else {
        return Err(out_of_range(index, statuses));
    };
    match (&*status, &next) {
        (EntryStatus::Missing, _) => *status = next,
        (EntryStatus::Applied, EntryStatus::Applied) => {}
        (EntryStatus::Failed(first), EntryStatus::Failed(second)) if first.code() == second.code() => {}
        _ => *status = EntryStatus::Contradictory,
    }
    Ok(())
}

/// Reads the statuses of a `MutateRowsResponse` and its rate limit. An entry without a status was applied: a message that is
/// absent stands for its default, whose code is `OK`, and Google's clients for C++ and Java read it so.
///
/// A server that names an entry out of range may count the others wrongly too, so this removes all statuses and fails.
///
/// Bulk writes read a status for every row, so the response is walked by hand; only statuses other than "applied" are
/// decoded into generated messages.
pub(super) fn read_statuses(
    response: &[u8],
    statuses: &mut [EntryStatus],
) -> Result<Option<RateLimitInfo>, Status> {
    const ENTRIES: u32 = 1;
    const RATE_LIMIT_INFO: u32 = 3;
    let mut reader = Reader::new(response, 0);
    let mut info = None;
    while let Some(field) = reader.field().map_err(malformed)? {
        match field {
            (ENTRIES, LENGTH) => {
                let entry = reader.span().map_err(malformed)?.of(response);
                match applied_index(entry) {
                    Some(index) => set_status(statuses, index, EntryStatus::Applied)?,
                    None => {
                        let (index, status) = decode_entry(entry).map_err(|error| undecodable(&error))?;
                        set_status(statuses, index, status)?;
                    }
                }
            }
            (RATE_LIMIT_INFO, LENGTH) => {
                let bytes = reader.span().map_err(malformed)?.of(response);
                let info: &mut RateLimitInfo = info.get_or_insert_default();
                info.merge(bytes).map_err(|error| undecodable(&error))?;
            }
            (ENTRIES | RATE_LIMIT_INFO, _) => return Err(malformed(reader.wrong(WireErrorKind::WireType))),
            (number, wire_type) => reader.skip(number, wire_type).map_err(malformed)?,
        }
    }
    Ok(info)
}

/// The index of an applied entry, in the form in which servers write nearly all of them: an index of up to 14 bits, and an
/// empty status.
#[inline]
fn applied_index(entry: &[u8]) -> Option<i64> {
    const INDEX: u8 = 0x08;
    const STATUS: u8 = 0x12;
    match *entry {
        [STATUS, 0] => Some(0),
        [INDEX, index @ ..0x80, STATUS, 0] => Some(index.into()),
        [INDEX, low, high @ ..0x80, STATUS, 0] if low >= 0x80 => {
            Some(i64::from(low & 0x7f) | i64::from(high) << 7)
        }
        _ => None,
    }
}

#[cold]
fn decode_entry(entry: &[u8]) -> Result<(i64, EntryStatus), DecodeError> {
    let Entry { index, status } = Entry::decode(entry)?;
    let status = status.unwrap_or_default();
    let status = match Code::from_i32(status.code) {
        Code::Ok => EntryStatus::Applied,
        // An answer may have as many of them as the request has rows.
        code => EntryStatus::Failed(Status::new(code, shortened(&status.message))),
    };
    Ok((index, status))
}

#[cold]
fn malformed(wrong: WireError) -> Status {
    ProtocolViolation::status(wrong.into_text())
}

#[cold]
fn undecodable(error: &DecodeError) -> Status {
    ProtocolViolation::status(error.to_string())
}

#[cold]
fn out_of_range(index: i64, statuses: &mut [EntryStatus]) -> Status {
    statuses.fill(EntryStatus::Missing);
    let entries = statuses.len();
    ProtocolViolation::status(format!("it has a status for entry {index}, counted from 0, of {entries}"))
}
