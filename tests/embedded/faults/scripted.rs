//! Faults of single calls.

use std::time::Duration;

use keyderive::embedded::{Bigtable, Fault, FaultRule, Faults, Method};
use tokio::time::Instant;

use super::*;

fn faulty(bigtable: &Bigtable, faults: Faults) -> (Bigtable, Events) {
    let faulty = bigtable.with_faults(faults);
    let events = events(&faulty.client());
    (faulty, events)
}

#[tokio::test(start_paused = true)]
async fn only_the_call_with_the_number_fails() {
    let (bigtable, steady) = with_events(1).await;
    let fault = Fault::permission_denied();
    let (faulty, events) = faulty(&bigtable, Faults::seeded(0).fail_nth(Method::ReadRows, 2, fault));
    let key = SaltedKey { id: 0 };
    assert_eq!(events.get(&key).await.unwrap(), Some(event(0).1));
    let error = events.get(&key).await.unwrap_err();
    assert!(error.is_permission_denied(), "{error}");
    assert!(error.to_string().contains("injected by `Faults`: the call fails"), "{error}");
    assert!(events.get(&key).await.is_ok() && steady.get(&key).await.is_ok());
    events.put(&key, &event(0).1).await.unwrap();
    assert_eq!((faulty.calls(Method::ReadRows), faulty.calls(Method::MutateRow)), (3, 1));
    assert_eq!(bigtable.calls(Method::ReadRows), 0);
}

#[tokio::test(start_paused = true)]
async fn transient_failures_are_retried() {
    let (bigtable, _) = with_events(1).await;
    for fault in [Fault::unavailable(), Fault::aborted(), Fault::deadline_exceeded()] {
        let faults = Faults::seeded(0)
            .fail_nth(Method::ReadRows, 1, fault.clone())
            .fail_nth(Method::ReadRows, 2, fault.clone())
            .fail_nth(Method::MutateRow, 1, fault);
        let (faulty, events) = faulty(&bigtable, faults);
        assert_eq!(events.get(&SaltedKey { id: 0 }).await.unwrap(), Some(event(0).1));
        events.put(&SaltedKey { id: 0 }, &event(0).1).await.unwrap();
        assert_eq!((faulty.calls(Method::ReadRows), faulty.calls(Method::MutateRow)), (3, 2));
    }
    for fault in [
        Fault::internal(),
        Fault::resource_exhausted(),
        Fault::unauthenticated(),
        Fault::failed_precondition(),
    ] {
        let (faulty, events) = faulty(&bigtable, Faults::seeded(0).fail(Method::ReadRows, 1.0, fault));
        assert!(events.get(&SaltedKey { id: 0 }).await.is_err());
        assert_eq!(faulty.calls(Method::ReadRows), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn the_server_says_when_to_try_again() {
    let (bigtable, _) = with_events(1).await;
    let delay = Duration::from_millis(90_001);
    let busy = Fault::resource_exhausted().retry_after(delay);
    let (_, events) = faulty(&bigtable, Faults::seeded(0).fail_nth(Method::ReadRows, 1, busy));
    let begun = Instant::now();
    assert!(events.get(&SaltedKey { id: 0 }).await.unwrap().is_some());
    assert!((delay..delay * 2).contains(&begun.elapsed()), "after {:?}", begun.elapsed());
}

#[tokio::test(start_paused = true)]
async fn calls_are_delayed() {
    let (bigtable, _) = with_events(1).await;
    let (second, hour) = (Duration::from_secs(1), Duration::from_secs(3600));
    let faults = Faults::seeded(0).delay(Method::ReadRows, 1.0, second).delay_nth(Method::ReadRows, 2, hour);
    let (_, events) = faulty(&bigtable, faults);
    let events = events.with(|settings| settings.read_row.total_timeout = second * 5);
    let begun = Instant::now();
    assert!(events.get(&SaltedKey { id: 0 }).await.unwrap().is_some());
    assert_eq!(begun.elapsed().as_secs(), 1);
    let error = events.get(&SaltedKey { id: 0 }).await.unwrap_err();
    assert!(
        error.is_deadline_exceeded() && begun.elapsed().as_secs() == 6,
        "{error} after {:?}",
        begun.elapsed()
    );
}

/// A call that is not idempotent is not retried, and its effect is there.
#[tokio::test(start_paused = true)]
async fn a_call_fails_after_it_was_carried_out() {
    let (bigtable, steady) = with_events(1).await;
    let lost = Fault::unavailable().after_the_call();
    let faults = Faults::seeded(0)
        .fail_nth(Method::ReadModifyWriteRow, 1, lost.clone())
        .fail_nth(Method::ReadModifyWriteRow, 2, Fault::unavailable())
        .fail_nth(Method::MutateRow, 1, lost);
    let (faulty, events) = faulty(&bigtable, faults);
    let key = SaltedKey { id: 0 };
    assert!(events.increment(&key, events.column("id"), 5).await.unwrap_err().is_unavailable());
    assert_eq!(steady.get(&key).await.unwrap().unwrap()["id"], 5);
    assert!(events.increment(&key, events.column("id"), 5).await.unwrap_err().is_unavailable());
    assert_eq!(steady.get(&key).await.unwrap().unwrap()["id"], 5);
    events.delete(&key).await.unwrap();
    assert_eq!(steady.get(&key).await.unwrap(), None);
    assert_eq!((faulty.calls(Method::ReadModifyWriteRow), faulty.calls(Method::MutateRow)), (2, 2));
}

#[tokio::test(start_paused = true)]
async fn administration_fails_too() {
    let faults = Faults::seeded(0).fail(Method::CreateTable, 1.0, Fault::permission_denied());
    let (_, events) = faulty(&Bigtable::in_memory(), faults);
    assert!(events.create_if_absent().await.unwrap_err().is_permission_denied());
}

/// A probability that is not a number means never.
#[tokio::test(start_paused = true)]
async fn a_chance_that_is_not_a_number_never_hits() {
    let (bigtable, _) = with_events(10).await;
    let faults = Faults::seeded(0).fail(Method::ReadRows, f64::NAN, Fault::internal());
    let (_, events) = faulty(&bigtable, faults.cut_streams(f64::NAN).split_rows(f64::NAN));
    assert_eq!(events.scan(SaltedKey::scan()).collect().await.unwrap().len(), 10);
}

fn denied() -> FaultRule {
    FaultRule::fail(Fault::permission_denied())
}

#[tokio::test(start_paused = true)]
async fn a_rule_hits_one_table_and_all_its_methods() {
    let (bigtable, _) = with_events(1).await;
    let client = bigtable.with_faults(Faults::seeded(0).rule(denied().tables([TABLE]))).client();
    let (events, others) = (events(&client), client.table::<SaltedKey, Event>("others"));
    others.create_if_absent().await.unwrap();
    let (key, row) = event(0);
    others.put(&key, &row).await.unwrap();
    assert_eq!(others.scan(SaltedKey::scan()).collect().await.unwrap().len(), 1);
    let refused = [
        events.create().await.err(),
        events.get(&key).await.err(),
        events.put(&key, &row).await.err(),
        events.put_all([(key.clone(), row.clone())]).await.err(),
        events.put_if_absent(&key, &row).await.err(),
        events.increment(&key, events.column("id"), 1).await.err(),
        events.scan(SaltedKey::scan()).collect().await.err(),
        events.delete_table().await.err(),
    ];
    for error in refused {
        assert!(error.is_some_and(|error| error.is_permission_denied()));
    }
    others.delete_table().await.unwrap();
    // By its full name, too.
    let full = format!("projects/keyderive/instances/local/tables/{TABLE}");
    for (name, fails) in [(full, true), ("event".to_owned(), false), ("tables/events".to_owned(), false)] {
        let faulty = bigtable.with_faults(Faults::seeded(0).rule(denied().tables([name])));
        assert_eq!(super::events(&faulty.client()).get(&key).await.is_err(), fails);
    }
}

/// Reads of ranges match if the range can have such a key.
#[tokio::test(start_paused = true)]
async fn a_rule_hits_the_keys_of_a_prefix() {
    let (bigtable, _) = with_events(20).await;
    let encoded = SaltedKey { id: 7 }.encode().unwrap();
    let rule = denied().key_prefix(encoded.clone());
    let (faulty, events) = faulty(&bigtable, Faults::seeded(0).rule(rule));
    for id in 0..20 {
        let (key, row) = event(id);
        let fails = id == 7;
        assert_eq!(events.get(&key).await.is_err(), fails, "{id}");
        assert_eq!(events.put(&key, &row).await.is_err(), fails, "{id}");
        assert_eq!(events.put_all([event(19), event(id)]).await.is_err(), fails, "{id}");
        assert_eq!(events.put_if_absent(&key, &row).await.is_err(), fails, "{id}");
        assert_eq!(events.increment(&key, events.column("id"), 0).await.is_err(), fails, "{id}");
        assert_eq!(events.scan(SaltedKey::scan().id(id)).collect().await.is_err(), fails, "{id}");
    }
    assert!(events.scan(SaltedKey::scan()).collect().await.unwrap_err().is_permission_denied());
    // A prefix of every key, and one of none.
    let client = faulty.with_faults(Faults::seeded(0).rule(denied().key_prefix(""))).client();
    assert!(super::events(&client).get(&SaltedKey { id: 1 }).await.is_err());
    let longer = [&encoded[..], b"!"].concat();
    let client = faulty.with_faults(Faults::seeded(0).rule(denied().key_prefix(longer))).client();
    assert!(super::events(&client).get(&SaltedKey { id: 7 }).await.is_ok());
    // These are about no key.
    super::events(&client).verify().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_rule_begins_late_and_ends() {
    let (bigtable, _) = with_events(4).await;
    let rule = denied().methods([Method::ReadRows, Method::MutateRow]).skip(2).times(3);
    let (server, events) = faulty(&bigtable, Faults::seeded(0).rule(rule));
    let mut failed = Vec::new();
    for call in 0..10 {
        let (key, row) = event(0);
        let outcome =
            if call % 2 == 0 { events.get(&key).await.err() } else { events.put(&key, &row).await.err() };
        failed.extend(outcome.map(|_| call));
    }
    assert_eq!((failed, server.calls(Method::ReadRows)), (vec![2, 3, 4], 5));
    // Calls of other tables and keys are not counted.
    let key = SaltedKey { id: 3 };
    let rule = denied().tables([TABLE]).key_prefix(key.encode().unwrap()).skip(1).times(1);
    let (_, events) = faulty(&bigtable, Faults::seeded(0).rule(rule));
    for id in [0, 1, 2, 0, 1, 2] {
        events.get(&SaltedKey { id }).await.unwrap();
    }
    let outcomes =
        [events.get(&key).await.is_ok(), events.get(&key).await.is_ok(), events.get(&key).await.is_ok()];
    assert_eq!(outcomes, [true, false, true]);
    // None is the call with the number 0.
    let (_, events) =
        faulty(&bigtable, Faults::seeded(0).fail_nth(Method::ReadRows, 0, Fault::permission_denied()));
    events.get(&key).await.unwrap();
}

/// Calls that a rule does not match do not change which others it hits.
#[tokio::test(start_paused = true)]
async fn chances_depend_on_the_calls_of_the_rule_alone() {
    let (bigtable, _) = with_events(4).await;
    let hits = async |others: u64| {
        let key = SaltedKey { id: 3 };
        let rule = denied().key_prefix(key.encode().unwrap()).chance(0.5).skip(2).times(20);
        let (_, events) = faulty(&bigtable, Faults::seeded(5).rule(rule));
        let mut hits = Vec::new();
        for _ in 0..100 {
            for id in 0..others {
                events.get(&SaltedKey { id }).await.unwrap();
            }
            hits.push(events.get(&key).await.is_err());
        }
        hits
    };
    let (alone, among) = (hits(0).await, hits(3).await);
    assert_eq!(alone, among);
    assert_eq!(alone.iter().filter(|hit| **hit).count(), 20);
    assert!(!alone[0] && !alone[1] && alone[..40].contains(&false));
}

/// Streams of one table break and are split, and those of another are not.
#[tokio::test(start_paused = true)]
async fn a_rule_breaks_the_streams_of_one_table() {
    let (bigtable, _) = with_events(200).await;
    let cut = FaultRule::cut_streams(1.0).tables([TABLE]).times(8);
    let faults = Faults::seeded(3).rule(cut).rule(FaultRule::split_rows(1.0).tables([TABLE]));
    let faulty =
        bigtable.with_faults(faults.rule(FaultRule::delay(Duration::from_secs(1)).tables(["others"])));
    let begun = Instant::now();
    assert_eq!(events(&faulty.client()).scan(SaltedKey::scan()).collect().await.unwrap().len(), 200);
    // The four buckets' streams, and those that broke.
    assert_eq!(faulty.calls(Method::ReadRows), 12);
    assert!(begun.elapsed() < Duration::from_secs(60));
    let others = faulty.client().table::<SaltedKey, Event>("others");
    let begun = Instant::now();
    others.create().await.unwrap();
    assert!(begun.elapsed() >= Duration::from_secs(1));
}

/// A message above the limit of the server is rejected as without faults.
#[tokio::test]
async fn a_rule_leaves_large_and_invalid_requests_to_the_server() {
    let (bigtable, _) = with_events(1).await;
    let (faulty, _) = faulty(&bigtable, Faults::seeded(0).rule(denied().tables(["others"])));
    let long = "x".repeat(9 << 20);
    let row = |text: &str| [keyderive::row::Mutation::set_now("cf", "q", text.to_owned())];
    for server in [&bigtable, &faulty] {
        let raw = server.client().raw_table(TABLE);
        raw.mutate_row("a", row(&long)).await.unwrap();
        let read = raw.read_row("a", None).await.unwrap().unwrap();
        assert_eq!(read.cells().map(|cell| cell.value().len()).max(), Some(long.len()));
    }
}
