//! Faults of single calls.

use std::time::Duration;

use keyderive::embedded::{Bigtable, Fault, Faults, Method};
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
    let key = EventKey { id: 0 };
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
        assert_eq!(events.get(&EventKey { id: 0 }).await.unwrap(), Some(event(0).1));
        events.put(&EventKey { id: 0 }, &event(0).1).await.unwrap();
        assert_eq!((faulty.calls(Method::ReadRows), faulty.calls(Method::MutateRow)), (3, 2));
    }
    for fault in [
        Fault::internal(),
        Fault::resource_exhausted(),
        Fault::unauthenticated(),
        Fault::failed_precondition(),
    ] {
        let (faulty, events) = faulty(&bigtable, Faults::seeded(0).fail(Method::ReadRows, 1.0, fault));
        assert!(events.get(&EventKey { id: 0 }).await.is_err());
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
    assert!(events.get(&EventKey { id: 0 }).await.unwrap().is_some());
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
    assert!(events.get(&EventKey { id: 0 }).await.unwrap().is_some());
    assert_eq!(begun.elapsed().as_secs(), 1);
    let error = events.get(&EventKey { id: 0 }).await.unwrap_err();
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
    let key = EventKey { id: 0 };
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
    assert_eq!(events.scan(EventKey::scan()).collect().await.unwrap().len(), 10);
}
