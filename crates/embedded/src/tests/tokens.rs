//! Mutations with idempotency tokens are applied once.

use futures_util::TryStreamExt as _;
use keyderive_proto::data::bigtable_server::Bigtable as _;
use keyderive_proto::data::mutate_rows_request::Entry;
use keyderive_proto::data::mutation::Mutation;
use keyderive_proto::data::{self, Idempotency, MutateRowRequest, MutateRowsRequest};
use keyderive_proto::values::Timestamp;
use tonic::{Code, Request, Status};

use super::aggregates::{add, sum, sums};
use super::raw::{NAME, START, Servers, set_cell};
use super::*;
use crate::mutate::mutate_row;
use crate::storage::Cells;
use crate::store::{Context, RowChange};

const SECOND: i64 = 1_000_000;
const MINUTE: i64 = 60 * SECOND;

fn token(name: &'static str) -> Option<Idempotency> {
    Some(Idempotency { token: name.into(), start_time: None })
}

/// A token that a client made at this time.
fn token_of(name: &'static str, micros: i64) -> Option<Idempotency> {
    let start_time = Some(Timestamp { seconds: micros / SECOND, nanos: 0 });
    Some(Idempotency { token: name.into(), start_time })
}

fn adds_one() -> Vec<data::Mutation> {
    vec![data::Mutation {
        mutation: Some(Mutation::AddToCell(add("sum", 0, 1))),
        ..data::Mutation::default()
    }]
}

async fn add_one(
    servers: &Servers,
    key: &'static str,
    idempotency: Option<Idempotency>,
) -> Result<(), Status> {
    let request = MutateRowRequest {
        table_name: NAME.to_owned(),
        row_key: key.into(),
        mutations: adds_one(),
        idempotency,
        ..MutateRowRequest::default()
    };
    servers.data.mutate_row(Request::new(request)).await.map(|_| ())
}

async fn codes(servers: &Servers, entries: Vec<Entry>) -> Vec<i32> {
    let request = MutateRowsRequest { table_name: NAME.to_owned(), entries, ..MutateRowsRequest::default() };
    let responses = servers.data.mutate_rows(Request::new(request)).await.unwrap().into_inner();
    let responses: Vec<_> = responses.try_collect().await.unwrap();
    let entries = responses.into_iter().flat_map(|response| response.entries);
    entries.map(|entry| entry.status.unwrap().code).collect()
}

#[tokio::test]
async fn a_mutation_with_a_token_is_applied_once() {
    let servers = sums().await;
    for _ in 0..3 {
        add_one(&servers, "a", token("12345678")).await.unwrap();
    }
    assert_eq!(servers.cells().await, ["sum:q@0=1"]);
    // Another token, or none, is another mutation, and so is the token of another row.
    add_one(&servers, "a", token("12345679")).await.unwrap();
    add_one(&servers, "a", None).await.unwrap();
    add_one(&servers, "b", token("12345678")).await.unwrap();
    assert_eq!(servers.cells().await, ["sum:q@0=3", "sum:q@0=1"]);

    servers.delete_table().await.unwrap();
    let servers = servers.with_table([("sum", sum())]).await;
    add_one(&servers, "a", token("12345678")).await.unwrap();
    assert_eq!(servers.cells().await, ["sum:q@0=1"]);
}

#[tokio::test]
async fn entries_have_tokens_of_their_own() {
    let servers = sums().await;
    let entry = |key: &'static str, name| Entry {
        row_key: key.into(),
        mutations: adds_one(),
        idempotency: token(name),
    };
    let wrong = Entry {
        mutations: vec![data::Mutation {
            mutation: Some(set_cell("sum", "q", 0, "v")),
            ..data::Mutation::default()
        }],
        ..entry("a", "token wrong")
    };
    let entries = || {
        vec![
            entry("a", "token one"),
            entry("b", "token one"),
            entry("a", "token two"),
            entry("a", "token one"),
        ]
    };
    for _ in 0..2 {
        assert_eq!(codes(&servers, entries()).await, [0; 4]);
        assert_eq!(servers.cells().await, ["sum:q@0=2", "sum:q@0=1"]);
    }
    // The token of a mutation that was rejected is not remembered.
    assert_eq!(codes(&servers, vec![wrong]).await, [Code::InvalidArgument as i32]);
    add_one(&servers, "a", token("token wrong")).await.unwrap();
    assert_eq!(servers.cells().await, ["sum:q@0=3", "sum:q@0=1"]);
}

#[tokio::test]
async fn tokens_are_remembered_for_15_minutes() {
    let servers = sums().await;
    add_one(&servers, "a", token_of("12345678", START)).await.unwrap();
    add_one(&servers, "a", token("without a time")).await.unwrap();
    servers.clock.set(START + 15 * MINUTE - SECOND);
    add_one(&servers, "a", token_of("12345678", START)).await.unwrap();
    add_one(&servers, "a", token("without a time")).await.unwrap();
    assert_eq!(servers.cells().await, ["sum:q@0=2"]);

    servers.clock.set(START + 15 * MINUTE);
    let status = add_one(&servers, "a", token_of("12345678", START)).await.unwrap_err();
    assert_eq!(status.code(), Code::FailedPrecondition);
    assert!(status.message().contains("began 900 s ago"), "{status}");
    servers.clock.set(START + 17 * MINUTE);
    // Without a time, it counts again.
    add_one(&servers, "a", token("without a time")).await.unwrap();
    assert_eq!(servers.cells().await, ["sum:q@0=3"]);
    // A clock that is ahead, and one that knows no limits.
    add_one(&servers, "a", token_of("from the future", START + 60 * MINUTE)).await.unwrap();
    let never = Some(Timestamp { seconds: i64::MIN, nanos: -1 });
    let never = Some(Idempotency { token: "from long ago".into(), start_time: never });
    assert_eq!(add_one(&servers, "a", never).await.unwrap_err().code(), Code::FailedPrecondition);
    assert_eq!(servers.cells().await, ["sum:q@0=4"]);
}

#[tokio::test]
async fn a_short_token_is_rejected() {
    let servers = sums().await;
    let status = add_one(&servers, "a", token("1234567")).await.unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument);
    assert!(status.message().contains("has 7 bytes, and at least 8 are needed"), "{status}");
    assert!(servers.cells().await.is_empty());
}

#[tokio::test]
async fn with_too_many_tokens_nothing_is_applied() {
    let servers = Servers::over(|store| store.with_max_tokens(2));
    let servers = servers.with_table([("sum", sum())]).await;
    add_one(&servers, "a", token("token one")).await.unwrap();
    add_one(&servers, "b", token("token two")).await.unwrap();
    let status = add_one(&servers, "a", token("token three")).await.unwrap_err();
    assert_eq!(status.code(), Code::ResourceExhausted);
    assert!(status.message().starts_with("2 idempotency tokens are remembered"), "{status}");
    // Known ones are still known.
    add_one(&servers, "a", token("token one")).await.unwrap();
    assert_eq!(servers.cells().await, ["sum:q@0=1", "sum:q@0=1"]);
    servers.clock.set(START + 17 * MINUTE);
    add_one(&servers, "a", token("token three")).await.unwrap();
    assert_eq!(servers.cells().await, ["sum:q@0=2", "sum:q@0=1"]);
}

/// A change that is prepared without the lock, while its repetition is applied and the row changes back.
#[tokio::test]
async fn a_slow_mutation_is_applied_once() {
    let servers = sums().await;
    let change = |input, idempotency: Option<Idempotency>| {
        let mutations = vec![data::Mutation {
            mutation: Some(Mutation::AddToCell(add("sum", 0, input))),
            ..data::Mutation::default()
        }];
        let apply = move |context: &mut Context<'_>, cells: &mut Cells| {
            mutate_row(context, &Bytes::from("a"), cells, &mutations, idempotency.as_ref())
        };
        RowChange { table: NAME.to_owned(), key: "a".into(), inline_bytes: Some(1 << 20), apply }
    };
    let store = &servers.store;
    let slow = change(1, token("12345678"));
    store.change(&change(1, None)).unwrap();
    let prepared = store.prepare(&slow).unwrap();
    store.change(&slow).unwrap();
    store.change(&change(-1, None)).unwrap();
    assert!(store.put_prepared(&slow, prepared).unwrap().is_none());
    let prepared = store.prepare(&slow).unwrap();
    store.put_prepared(&slow, prepared).unwrap().unwrap();
    store.commit().unwrap();
    assert_eq!(servers.cells().await, ["sum:q@0=1"]);
}

#[test]
fn the_digest_is_of_all_parts() {
    let digest = |name: &'static str, table, key: &'static str| {
        let idempotency = Idempotency { token: name.into(), start_time: None };
        crate::tokens::Token::new(&idempotency, table, None, &key.into(), 0).unwrap()
    };
    let all = [
        digest("12345678", "t", "a"),
        digest("12345679", "t", "a"),
        digest("12345678", "u", "a"),
        digest("12345678", "t", "b"),
        digest("2345678x", "t", "a1"),
        digest("12345678x", "t", "a"),
    ];
    for (index, one) in all.iter().enumerate() {
        assert!(!all[..index].contains(one), "{index}");
    }
    // Files have it, so it must stay.
    let stored = b"\t\xf62\xd9\xa9l\xa4N\xbe=\n\xa6\x9cW{6";
    assert_eq!(all[0].as_bytes(), stored);
}
