//! `MutateRows`: one request, sent again for the entries that may and should be, until each has its outcome.

use keyderive_proto::data;
use tokio::time::{Instant, sleep_until};
use tonic::Code;
use tonic::metadata::MetadataMap;

use super::answer::{self, EntryStatus};
use super::batch::Entries;
use super::request::{self, Encoded};
use crate::client::attempts::{Attempt, Attempts};
use crate::client::error::{Ended, Error};
use crate::client::failure::Failure;
use crate::client::operation::{Kind, Replay};
use crate::client::{Client, call, headers, observe};

/// An entry that has no outcome yet.
struct Waiting {
    place: usize,
    /// Whether an attempt may have applied it.
    is_open: bool,
    /// Why it is to be sent again.
    failure: Option<Box<Failure>>,
}

impl Client {
    /// Sends entries that fit into one request; their outcomes, in their order.
    pub(crate) async fn send_entries(&self, table: &str, entries: &Entries) -> Vec<Result<(), Error>> {
        if entries.is_empty() {
            return Vec::new();
        }
        let mut outcomes: Vec<Result<(), Error>> = (0..entries.len()).map(|_| Ok(())).collect();
        let mut waiting: Vec<Waiting> =
            (0..entries.len()).map(|place| Waiting { place, is_open: false, failure: None }).collect();
        let operation = self.data_operation(Kind::MutateRows, table);
        let mut attempts = match Attempts::new(self, operation) {
            Ok(attempts) => attempts,
            Err(error) => return spread(outcomes, &waiting, entries, &error),
        };
        if attempts.watch.is_wanted() {
            attempts.watch.count(waiting.len(), entries.bytes().len());
        }
        let mut errors = Errors::default();
        while !waiting.is_empty() {
            if let Some(throttle) = self.throttle() {
                let turn = throttle.reserve().min(attempts.ends());
                observe::throttled(
                    &attempts.operation().table,
                    turn.saturating_duration_since(Instant::now()),
                );
                sleep_until(turn).await;
            }
            let attempt = match attempts.begin() {
                Ok(attempt) => attempt,
                Err(error) => return spread(outcomes, &waiting, entries, &error),
            };
            let mut told = vec![EntryStatus::Nothing; waiting.len()];
            let answer = self.send(&attempts, &attempt, entries, &waiting, &mut told).await;
            let ended = answer.map(|metadata| attempts.learn(&metadata)).err();
            attempts.watch.attempt_ends(ended.as_ref().map_or(Code::Ok, |failure| failure.code));
            if let (Some(throttle), Some(failure)) = (self.throttle(), &ended) {
                throttle.failed(failure.code);
            }
            if ended.is_none() && told.iter().all(|told| matches!(told, EntryStatus::Applied)) {
                break;
            }
            for (mut entry, told) in std::mem::take(&mut waiting).into_iter().zip(told) {
                match verdict(told, ended.as_ref(), entries.replay(entry.place)) {
                    Verdict::Applied => {}
                    Verdict::Again(failure) => {
                        entry.is_open |= !failure.is_refused();
                        entry.failure = Some(failure);
                        waiting.push(entry);
                    }
                    Verdict::Failed(failure) => {
                        entry.is_open |= !failure.is_refused();
                        outcomes[entry.place] =
                            Err(errors.of(&attempts, *failure, None, entry.open(entries)));
                    }
                    Verdict::NotTold => {
                        outcomes[entry.place] = Err(Error::protocol(attempts.operation(), NOT_TOLD));
                    }
                }
            }
            let Some(failure) = ended.or_else(|| waiting.first()?.failure.as_deref().cloned()) else { break };
            if waiting.is_empty() {
                attempts.learn(&failure.metadata);
                break;
            }
            match attempts.decide(&attempt, &failure) {
                Ok(again) => {
                    drop(attempt);
                    sleep_until(again).await;
                }
                Err(ended) => {
                    for entry in waiting {
                        let open = entry.open(entries);
                        let own = entry.failure.map_or_else(|| failure.clone(), |own| *own);
                        outcomes[entry.place] = Err(errors.of(&attempts, own, ended, open));
                    }
                    break;
                }
            }
        }
        let failed = outcomes.iter().find_map(|outcome| outcome.as_ref().err());
        attempts.watch.ends(failed.map_or(Code::Ok, |error| error.code().unwrap_or(Code::Unknown)));
        outcomes
    }

    /// Makes one attempt. What the server says of the entries until it ends is in `told`; the metadata of an answer
    /// that ends well.
    async fn send(
        &self,
        attempts: &Attempts,
        attempt: &Attempt,
        entries: &Entries,
        waiting: &[Waiting],
        told: &mut [EntryStatus],
    ) -> Result<MetadataMap, Failure> {
        let head = data::MutateRowsRequest {
            table_name: self.table_name(&attempts.operation().table),
            app_profile_id: self.app_profile().to_owned(),
            entries: Vec::new(),
        };
        let body = match waiting.len() == entries.len() {
            true => entries.bytes().clone(),
            false => entries.select(waiting.iter().map(|waiting| waiting.place)),
        };
        let request = attempts.request(attempt, Encoded::new(&head, body)).await?;
        let answer = attempt.within(async {
            let path = "/google.bigtable.v2.Bigtable/MutateRows";
            let response = request::streaming(attempt.transport(), path, request).await?;
            attempts.answered(attempt);
            let (mut head, mut responses, _) = response.into_parts();
            loop {
                match responses.message().await {
                    Ok(Some(response)) => {
                        let info = match answer::read(&response, told) {
                            Ok(info) => info,
                            Err(status) => return Err(call::with_head(status, head)),
                        };
                        if let Some(throttle) = self.throttle() {
                            throttle.told(info.as_ref());
                        }
                    }
                    Ok(None) => {
                        let trailers = responses.trailers().await?.unwrap_or_default();
                        headers::insert_all(&mut head, &trailers);
                        return Ok(head);
                    }
                    Err(status) => return Err(call::with_head(status, head)),
                }
            }
        });
        answer.await
    }
}

const NOT_TOLD: &str = "it has no outcome for this entry";

enum Verdict {
    Applied,
    Again(Box<Failure>),
    Failed(Box<Failure>),
    /// The answer ended well, without a word on the entry.
    NotTold,
}

/// What becomes of an entry after an attempt, which ended with a failure or well.
fn verdict(told: EntryStatus, ended: Option<&Failure>, replay: Replay) -> Verdict {
    let failure = match (told, ended) {
        (EntryStatus::Applied, _) => return Verdict::Applied,
        (EntryStatus::Failed(status), _) => Box::new(Failure::from(status)),
        (EntryStatus::Nothing, Some(failure)) => Box::new(failure.clone()),
        (EntryStatus::Nothing, None) => return Verdict::NotTold,
    };
    match failure.transient && (failure.is_refused() || replay == Replay::Always) {
        true => Verdict::Again(failure),
        false => Verdict::Failed(failure),
    }
}

/// The errors of entries. Those that failed alike share one.
#[derive(Default)]
struct Errors(Option<(Alike, Error)>);

/// What errors that are shared have in common.
type Alike = (Code, String, u32, Option<Ended>, Option<Replay>);

impl Errors {
    fn of(
        &mut self,
        attempts: &Attempts,
        failure: Failure,
        ended: Option<Ended>,
        open: Option<Replay>,
    ) -> Error {
        let alike = (failure.code, failure.message.clone(), attempts.made(), ended, open);
        if let Some((last, error)) = &self.0
            && *last == alike
        {
            return error.clone();
        }
        let error = attempts.error(failure, ended).with_open(open);
        self.0 = Some((alike, error.clone()));
        error
    }
}

/// The same error for each entry that has no outcome.
fn spread(
    mut outcomes: Vec<Result<(), Error>>,
    waiting: &[Waiting],
    entries: &Entries,
    error: &Error,
) -> Vec<Result<(), Error>> {
    for waiting in waiting {
        outcomes[waiting.place] = Err(error.clone().with_open(waiting.open(entries)));
    }
    outcomes
}

impl Waiting {
    /// Where it may have been applied: whether it may be sent again all the same.
    fn open(&self, entries: &Entries) -> Option<Replay> {
        self.is_open.then(|| entries.replay(self.place))
    }
}
