//! `MutateRows`: one request, sent again for the entries that may and should be, until each has its outcome.

use prost::Message as _;
use tokio::time::{Instant, sleep_until};
use tonic::metadata::MetadataMap;
use tonic::{Code, Status};

use super::{Entry, message, replay};
use crate::client::attempts::{Attempt, Attempts};
use crate::client::error::{Ended, Error};
use crate::client::failure::Failure;
use crate::client::operation::{Kind, Replay};
use crate::client::{Client, call, headers, observe};
use crate::wire::data;

/// An entry that has no outcome yet.
struct Waiting {
    place: usize,
    message: data::mutate_rows_request::Entry,
    replay: Replay,
    /// Why it is to be sent again.
    failure: Option<Failure>,
}

/// What the server has said of the entries of one request, by their places in it.
type Told = Vec<Option<Status>>;

impl Client {
    /// Sends entries that fit into one request; their outcomes, in their order.
    pub(crate) async fn send_entries(&self, table: &str, entries: Vec<Entry>) -> Vec<Result<(), Error>> {
        if entries.is_empty() {
            return Vec::new();
        }
        let mut outcomes: Vec<Result<(), Error>> = entries.iter().map(|_| Ok(())).collect();
        let mut waiting: Vec<Waiting> = entries.into_iter().enumerate().map(Waiting::new).collect();
        let operation = self.data_operation(Kind::MutateRows, table);
        let mut attempts = match Attempts::new(self, operation) {
            Ok(attempts) => attempts,
            Err(error) => return spread(outcomes, &waiting, &error),
        };
        if attempts.watch.is_wanted() {
            let bytes = waiting.iter().map(|waiting| waiting.message.encoded_len()).sum();
            attempts.watch.count(waiting.len(), bytes);
        }
        let mut errors = Errors::default();
        while !waiting.is_empty() {
            if let Some(throttle) = self.throttle() {
                let turn = throttle.reserve().min(attempts.ends());
                observe::throttled(turn.saturating_duration_since(Instant::now()));
                sleep_until(turn).await;
            }
            let attempt = match attempts.begin() {
                Ok(attempt) => attempt,
                Err(error) => return spread(outcomes, &waiting, &error),
            };
            let mut told: Told = vec![None; waiting.len()];
            let answer = self.send(&attempts, &attempt, &waiting, &mut told).await;
            let ended = answer.map(|metadata| attempts.learn(&metadata)).err();
            attempts.watch.attempt_ends(ended.as_ref().map_or(Code::Ok, |failure| failure.code));
            if let (Some(throttle), Some(failure)) = (self.throttle(), &ended) {
                throttle.failed(failure.code);
            }
            let entries = std::mem::take(&mut waiting).into_iter().zip(told);
            for (mut entry, told) in entries {
                match verdict(told, ended.as_ref(), entry.replay) {
                    Verdict::Applied => {}
                    Verdict::Again(failure) => {
                        entry.failure = Some(failure);
                        waiting.push(entry);
                    }
                    Verdict::Failed(failure) => {
                        outcomes[entry.place] = Err(errors.of(&attempts, failure, None));
                    }
                    Verdict::NotTold => {
                        outcomes[entry.place] = Err(Error::protocol(attempts.operation(), NOT_TOLD));
                    }
                }
            }
            let Some(failure) = ended.or_else(|| waiting.first()?.failure.clone()) else { break };
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
                    for Waiting { place, failure: own, .. } in waiting {
                        let own = own.unwrap_or_else(|| failure.clone());
                        outcomes[place] = Err(errors.of(&attempts, own, ended));
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
        waiting: &[Waiting],
        told: &mut Told,
    ) -> Result<MetadataMap, Failure> {
        let message = data::MutateRowsRequest {
            table_name: self.table_name(&attempts.operation().table),
            app_profile_id: self.app_profile().to_owned(),
            entries: waiting.iter().map(|waiting| waiting.message.clone()).collect(),
        };
        let request = attempts.request(attempt, message).await?;
        let answer = attempt.within(async {
            let response = call::data(attempt.transport()).mutate_rows(request).await?;
            attempts.answered(attempt);
            let (mut head, mut responses, _) = response.into_parts();
            loop {
                match responses.message().await {
                    Ok(Some(response)) => {
                        if let Some(throttle) = self.throttle() {
                            throttle.told(response.rate_limit_info.as_ref());
                        }
                        response.entries.into_iter().for_each(|entry| take(told, entry));
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

impl Waiting {
    fn new((place, (row_key, mutations)): (usize, Entry)) -> Self {
        let replay = replay(&mutations);
        let mutations = message::all(mutations);
        let message = data::mutate_rows_request::Entry { row_key, mutations, idempotency: None };
        Self { place, message, replay, failure: None }
    }
}

/// Takes one outcome. One for an entry that was not in the request says nothing.
fn take(told: &mut Told, entry: data::mutate_rows_response::Entry) {
    let place = usize::try_from(entry.index).ok().and_then(|index| told.get_mut(index));
    if let Some(place) = place {
        let status = entry.status.unwrap_or_default();
        *place = Some(Status::new(Code::from_i32(status.code), status.message));
    }
}

enum Verdict {
    Applied,
    Again(Failure),
    Failed(Failure),
    /// The answer ended well, without a word on the entry.
    NotTold,
}

/// What becomes of an entry after an attempt, which ended with a failure or well.
fn verdict(told: Option<Status>, ended: Option<&Failure>, replay: Replay) -> Verdict {
    let (failure, unsent) = match (told, ended) {
        (Some(status), _) if status.code() == Code::Ok => return Verdict::Applied,
        (Some(status), _) => (Failure::from(status), false),
        (None, Some(failure)) => (failure.clone(), failure.unsent),
        (None, None) => return Verdict::NotTold,
    };
    match failure.transient && (unsent || replay == Replay::Always) {
        true => Verdict::Again(failure),
        false => Verdict::Failed(failure),
    }
}

/// The errors of entries. Those that failed alike share one.
#[derive(Default)]
struct Errors(Option<(Alike, Error)>);

/// What errors that are shared have in common.
type Alike = (Code, String, u32, Option<Ended>);

impl Errors {
    fn of(&mut self, attempts: &Attempts, failure: Failure, ended: Option<Ended>) -> Error {
        let alike = (failure.code, failure.message.clone(), attempts.made(), ended);
        if let Some((last, error)) = &self.0
            && *last == alike
        {
            return error.shared();
        }
        let error = attempts.error(failure, ended);
        self.0 = Some((alike, error.shared()));
        error
    }
}

/// The same error for each entry that has no outcome.
fn spread(
    mut outcomes: Vec<Result<(), Error>>,
    waiting: &[Waiting],
    error: &Error,
) -> Vec<Result<(), Error>> {
    for waiting in waiting {
        outcomes[waiting.place] = Err(error.shared());
    }
    outcomes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::data::mutate_rows_response::Entry;

    #[test]
    fn an_outcome_outside_the_request_is_no_panic() {
        let mut told = vec![None];
        for index in [1, -1, i64::MAX, i64::MIN] {
            take(&mut told, Entry { index, status: None });
        }
        assert!(told[0].is_none());
    }

    #[tokio::test]
    #[cfg(feature = "embedded")]
    async fn entries_that_fail_alike_share_their_error() {
        use crate::client::{Client, NewTable};
        use crate::row::Mutation;
        let client = Client::embedded();
        client.create_table("t", NewTable::with_family("f")).await.unwrap();
        let entry =
            |key: &'static str, family: &'static str| (key.into(), vec![Mutation::set(family, "q", 0, "v")]);
        let entries = || vec![entry("a", "g"), entry("b", "g"), entry("c", "h")];
        for table in ["t", "absent"] {
            let outcomes = client.mutate_rows(table, entries()).await;
            let kinds: Vec<_> = outcomes.iter().map(|outcome| outcome.as_ref().unwrap_err().kind()).collect();
            assert!(std::ptr::eq(kinds[0], kinds[1]));
            assert_eq!(std::ptr::eq(kinds[0], kinds[2]), table == "absent");
        }
    }
}
