//! Idempotency tokens: what adds to an aggregate carries one, and is repeated only where the server is known to honour it.

use std::time::{Duration, UNIX_EPOCH};

use keyderive::client::RawTable;
use keyderive::row::Mutation;
use keyderive_proto::EMBEDDED_HEADER;
use keyderive_proto::data::{Idempotency, MutateRowRequest, MutateRowsRequest};
use keyderive_scripted::{Answer, Failure, Mock, Rpc};
use tonic::Code;

use crate::support::{MILLISECOND, SECOND, client, table};

fn unavailable() -> Answer {
    Answer::new().fail(Failure::new(Code::Unavailable, "the answer is lost"))
}

/// The answer of an embedded Bigtable on a port.
fn of_an_embedded(answer: Answer) -> Answer {
    answer.header(EMBEDDED_HEADER, "0.1.0")
}

fn add() -> Vec<Mutation> {
    vec![Mutation::add_to_cell("sums", "hits", 0, 1)]
}

/// A token, after a check of its form.
fn token(idempotency: Option<Idempotency>) -> Vec<u8> {
    let Idempotency { token, start_time } = idempotency.expect("a token");
    let start = start_time.expect("a start time").seconds;
    let now = UNIX_EPOCH.elapsed().unwrap().as_secs().cast_signed();
    assert!(token.len() == 16 && (now - 60..=now).contains(&start), "{token:?} of {start}");
    token.to_vec()
}

fn tokens_of_rows(mock: &Mock) -> Vec<Vec<u8>> {
    let requests = mock.requests_of(Rpc::MutateRow);
    requests.iter().map(|request| token(request.decode::<MutateRowRequest>().idempotency)).collect()
}

fn tokens_of_entries(mock: &Mock) -> Vec<Vec<Option<Vec<u8>>>> {
    let of_entry = |idempotency: Option<Idempotency>| idempotency.map(|idempotency| token(Some(idempotency)));
    let of_request = |request: MutateRowsRequest| {
        request.entries.into_iter().map(|entry| of_entry(entry.idempotency)).collect()
    };
    mock.requests_of(Rpc::MutateRows).iter().map(|request| of_request(request.decode())).collect()
}

async fn added(table: &RawTable) -> Result<(), keyderive::Error> {
    table.mutate_row(&b"a"[..], add()).await
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_not_known_to_honour_tokens_gets_an_addition_once() {
    let mock = Mock::new().on(Rpc::MutateRow, unavailable());
    let error = added(&table(&mock)).await.unwrap_err();
    assert!(error.is_outcome_unknown() && !error.is_retryable() && error.attempts() == 1);
    assert_eq!(
        error.to_string(),
        "MutateRow of row `a` on table `events` failed: UNAVAILABLE: the answer is lost; it may have been applied, and was not \
         repeated, since it adds to an aggregate, and this server is not known to honour idempotency tokens"
    );
    assert_eq!(tokens_of_rows(&mock).len(), 1);
    // What was refused is repeated.
    let refused = Answer::new().fail(Failure::new(Code::ResourceExhausted, "").retry_after(SECOND));
    let mock = Mock::new().on(Rpc::MutateRow, refused).on(Rpc::MutateRow, Answer::written());
    added(&table(&mock)).await.unwrap();
    let [first, second] = tokens_of_rows(&mock).try_into().unwrap();
    assert_eq!(first, second);
}

#[tokio::test(start_paused = true)]
async fn an_embedded_server_is_known_by_its_answers() {
    // By the failure itself.
    let mock =
        Mock::new().on(Rpc::MutateRow, of_an_embedded(unavailable())).on(Rpc::MutateRow, Answer::written());
    added(&table(&mock)).await.unwrap();
    let [first, second] = tokens_of_rows(&mock).try_into().unwrap();
    assert_eq!(first, second);

    // By an answer to an earlier request.
    let mock = Mock::new()
        .on(Rpc::MutateRow, of_an_embedded(Answer::written()))
        .on(Rpc::MutateRow, unavailable())
        .on(Rpc::MutateRow, Answer::new().wait(10 * SECOND).fail(Failure::new(Code::Internal, "")))
        .on(Rpc::MutateRow, Answer::written())
        .on(Rpc::MutateRow, Answer::written());
    let table = table(&mock);
    added(&table).await.unwrap();
    added(&table).await.unwrap_err();
    added(&table).await.unwrap();
    let [first, second, third, last] = tokens_of_rows(&mock).try_into().unwrap();
    assert!(second == third && first != second && third != last);
}

#[tokio::test(start_paused = true)]
async fn each_entry_has_a_token_of_its_own_if_it_adds() {
    let entries = || {
        vec![
            ("a".into(), add()),
            ("b".into(), vec![Mutation::set("f", "q", 1000, "v")]),
            ("c".into(), add()),
            ("d".into(), vec![Mutation::set_now("f", "q", "v")]),
        ]
    };
    let partly =
        || of_an_embedded(Answer::outcomes([(0, Code::Ok)])).fail(Failure::new(Code::Unavailable, ""));
    let mock = Mock::new()
        .on(Rpc::MutateRows, partly())
        .on(Rpc::MutateRows, Answer::outcomes([(0, Code::Ok), (1, Code::Ok)]));
    let outcomes = table(&mock).mutate_rows(entries()).await;
    let is_ok: Vec<bool> = outcomes.iter().map(Result::is_ok).collect();
    assert_eq!(is_ok, [true, true, true, false]);
    let [first, second] = tokens_of_entries(&mock).try_into().unwrap();
    assert!(first[0].is_some() && first[0] != first[2] && first[1].is_none() && first[3].is_none());
    assert_eq!(second, [None, first[2].clone()]);

    // Where tokens may be ignored, only the others are repeated.
    let mock =
        Mock::new().on(Rpc::MutateRows, unavailable()).on(Rpc::MutateRows, Answer::outcomes([(0, Code::Ok)]));
    let outcomes = table(&mock).mutate_rows(entries()).await;
    let unknown: Vec<bool> = outcomes
        .iter()
        .map(|outcome| outcome.as_ref().is_err_and(keyderive::Error::is_outcome_unknown))
        .collect();
    assert_eq!(unknown, [true, false, true, true]);
    assert_eq!(tokens_of_entries(&mock)[1], [None]);
}

#[tokio::test(start_paused = true)]
async fn the_settings_say_whether_a_server_honours_tokens() {
    let mock = || Mock::new().on(Rpc::MutateRow, unavailable()).on(Rpc::MutateRow, Answer::written());
    let honours = mock();
    let with = |mock: &Mock, known| {
        client(mock).with(|settings| settings.idempotency_tokens = Some(known)).raw_table("events")
    };
    added(&with(&honours, true)).await.unwrap();
    assert_eq!(tokens_of_rows(&honours).len(), 2);

    let ignores =
        Mock::new().on(Rpc::MutateRow, of_an_embedded(unavailable())).on(Rpc::MutateRow, Answer::written());
    let error = added(&with(&ignores, false)).await.unwrap_err();
    assert!(error.is_outcome_unknown() && error.attempts() == 1, "{error}");
    assert_eq!(tokens_of_rows(&ignores).len(), 1);
}

/// Servers remember a token for 15 minutes.
#[tokio::test(start_paused = true)]
async fn an_addition_is_repeated_for_ten_minutes() {
    let mock =
        (0..10_000).fold(Mock::new(), |mock, _| mock.on(Rpc::MutateRow, of_an_embedded(unavailable())));
    let batch = client(&mock).with(keyderive::client::Settings::batch).raw_table("events");
    let begun = tokio::time::Instant::now();
    let error = added(&batch).await.unwrap_err();
    let elapsed = begun.elapsed();
    assert!(error.is_outcome_unknown() && !error.is_retryable(), "{error}");
    assert!(
        (Duration::from_secs(590)..=Duration::from_secs(600) + MILLISECOND).contains(&elapsed),
        "{elapsed:?}"
    );
    let tokens = tokens_of_rows(&mock);
    assert!(tokens.iter().all(|token| *token == tokens[0]), "{tokens:?}");
}
