//! Loads while others write: rows that exist are replaced, merged or kept.
#![expect(
    clippy::redundant_closure_for_method_calls,
    reason = "a method is not general enough over the load's lifetime"
)]

use std::collections::BTreeMap;
use std::future::IntoFuture as _;
use std::time::Duration;

use keyderive::GcRule;
use keyderive::client::FamilyChange;
use keyderive::embedded::{Bigtable, Fault, Faults, Method};
use keyderive_proto::data::mutation::Mutation as Sent;
use keyderive_proto::data::{CheckAndMutateRowRequest, MutateRowsRequest};
use keyderive_scripted::{Answer, Failure, Mock, Rpc};
use tonic::Code;

use super::{Reading, ReadingKey, client_of, empty, ids, reading, readings, written_by};

fn live() -> Reading {
    Reading { value: 1, text: "live".into(), at_odd: Some(1) }
}

fn loaded() -> Reading {
    Reading { value: 2, text: "loaded".into(), at_odd: None }
}

const KEY: ReadingKey = ReadingKey { id: 7 };

/// The row after a load whose request is applied after a later live put.
async fn loaded_beside_a_live_put(form: impl FnOnce(Load<'_>) -> Load<'_>) -> (Reading, u64) {
    let bigtable = Bigtable::in_memory();
    let steady = readings(&bigtable.client());
    steady.create_if_absent().await.unwrap();
    let second = Duration::from_secs(1);
    let slow = Faults::seeded(1).delay(Method::MutateRows, 1.0, second);
    let slow = slow.delay(Method::CheckAndMutateRow, 1.0, second);
    let table = readings(&bigtable.with_faults(slow).client());
    let load = form(table.load_iter(vec![(KEY, loaded())])).into_future();
    let live = async {
        tokio::time::sleep(second / 2).await;
        steady.put(&KEY, &live()).await.unwrap();
    };
    let (report, ()) = tokio::join!(load, live);
    let done = report.unwrap().all_written().unwrap();
    (steady.get(&KEY).await.unwrap().unwrap(), done.kept)
}

type Load<'a> = keyderive::table::load::Load<'a, super::Readings, Rows>;
type Rows = futures_util::stream::Iter<std::vec::IntoIter<(ReadingKey, Reading)>>;

#[tokio::test(start_paused = true)]
async fn a_loaded_row_replaces_a_live_one_whole() {
    assert_eq!(loaded_beside_a_live_put(|load| load).await, (loaded(), 0));
}

#[tokio::test(start_paused = true)]
async fn new_rows_mix_with_a_live_one() {
    let mixed = Reading { at_odd: Some(1), ..loaded() };
    assert_eq!(loaded_beside_a_live_put(|load| load.new_rows()).await, (mixed, 0));
}

#[tokio::test(start_paused = true)]
async fn a_row_written_during_an_if_absent_load_is_kept() {
    assert_eq!(loaded_beside_a_live_put(|load| load.if_absent()).await, (live(), 1));
}

/// A load that resumes a day after it began, into a table whose cells expire after an hour.
#[tokio::test(start_paused = true)]
async fn rows_of_a_resumed_load_are_as_old_as_their_writes() {
    let (client, table) = empty().await;
    let hour = GcRule::max_age(Duration::from_secs(60 * 60));
    client.raw_table("readings").modify_families([FamilyChange::gc_rule("cf", hour)]).await.unwrap();
    let first = table.load_iter((0..10).map(reading)).await.unwrap();
    let mut stored: BTreeMap<String, serde_json::Value> =
        serde_json::from_str(&serde_json::to_string(first.checkpoint()).unwrap()).unwrap();
    // Older checkpoints stored the time at which the load began.
    if let Some(begun) = stored.get_mut("timestamp_micros") {
        *begun = (begun.as_i64().unwrap() - 24 * 60 * 60 * 1_000_000).into();
    }
    let checkpoint: keyderive::table::load::Checkpoint =
        serde_json::from_value(serde_json::to_value(stored).unwrap()).unwrap();
    table.load_iter((0..20).map(reading)).resume(checkpoint).await.unwrap().all_written().unwrap();
    assert_eq!(ids(&table).await, (0..20).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn new_rows_delete_nothing() {
    let mock = written_by(Vec::new(), |_| Code::Ok);
    let table = readings(&client_of(&mock));
    let deletions = |mock: &Mock| -> usize {
        let requests = mock.requests();
        let requests = requests.iter().filter(|request| request.rpc == Rpc::MutateRows);
        let entries = requests.flat_map(|request| request.decode::<MutateRowsRequest>().entries);
        let mutations = entries.flat_map(|entry| entry.mutations).map(|mutation| mutation.mutation.unwrap());
        mutations.filter(|mutation| matches!(mutation, Sent::DeleteFromColumn(_))).count()
    };
    table.load_iter((0..10).map(reading)).new_rows().await.unwrap().all_written().unwrap();
    assert_eq!(deletions(&mock), 0);
    table.load_iter((0..10).map(reading)).await.unwrap().all_written().unwrap();
    assert_eq!(deletions(&mock), 5);
}

#[tokio::test(start_paused = true)]
async fn rows_that_are_there_are_kept_and_counted() {
    let (_, table) = empty().await;
    for id in (0..1_000).step_by(3) {
        table.put(&ReadingKey { id }, &live()).await.unwrap();
    }
    let load = || table.load_iter((0..1_000).map(reading)).batch_rows(70).if_absent();
    let first = load().await.unwrap();
    assert_eq!((first.read(), first.written(), first.kept()), (1_000, 666, 334));
    assert!(first.to_string().ends_with("0 failed, 334 existed and were kept"), "{first}");
    let again = load().await.unwrap().all_written().unwrap();
    assert_eq!((again.written, again.kept), (0, 1_000));
    for id in 0..1_000 {
        let expected = if id % 3 == 0 { live() } else { reading(id).1 };
        assert_eq!(table.get(&ReadingKey { id }).await.unwrap(), Some(expected));
    }
}

/// The first row of a key is written, and the second finds it there.
#[tokio::test(start_paused = true)]
async fn of_a_key_given_twice_the_first_stays_where_rows_are_kept() {
    let (_, table) = empty().await;
    let rows = vec![(KEY, loaded()), (ReadingKey { id: 8 }, live()), (KEY, live()), (KEY, live())];
    let done = table.load_iter(rows).if_absent().await.unwrap().all_written().unwrap();
    assert_eq!((done.written, done.kept), (2, 2));
    assert_eq!(table.get(&KEY).await.unwrap(), Some(loaded()));
}

/// The answer of the first attempt is lost after the write: the retry finds the row there.
#[tokio::test(start_paused = true)]
async fn a_row_whose_answer_was_lost_is_written_once() {
    let bigtable = Bigtable::in_memory();
    let steady = readings(&bigtable.client());
    steady.create_if_absent().await.unwrap();
    let lost = Fault::unavailable().after_the_call();
    let lossy = Faults::seeded(7).fail(Method::CheckAndMutateRow, 0.3, lost);
    let table = readings(&bigtable.with_faults(lossy).client());
    let done = table.load_iter((0..200).map(reading)).if_absent().await.unwrap().all_written().unwrap();
    assert_eq!(done.written + done.kept, 200);
    assert!(done.kept > 20, "{done:?}");
    assert_eq!(ids(&steady).await, (0..200).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn a_profile_without_transactions_ends_a_load_of_absent_rows_at_once() {
    let refusal = "Single-row transactions are not allowed by this app profile";
    let mock = Mock::new().by(move |request| match request.rpc {
        Rpc::SampleRowKeys => Answer::samples([("", 0)]),
        _ => Answer::failure(Failure::new(Code::FailedPrecondition, refusal)),
    });
    let table = readings(&client_of(&mock));
    let error = table.load_iter((0..5_000).map(reading)).if_absent().await.unwrap_err();
    let shown = error.to_string();
    assert!(shown.contains(refusal) && shown.contains("`.new_rows()`"), "{shown}");
    let requests = mock.requests();
    let tried = requests.iter().filter(|request| request.rpc == Rpc::CheckAndMutateRow).count();
    assert!(tried <= 8 * 64, "{tried} rows were tried");
    let sent: CheckAndMutateRowRequest = requests.last().unwrap().decode();
    assert!(sent.predicate_filter.is_none() && sent.true_mutations.is_empty());
    assert!(!sent.false_mutations.is_empty());
}
