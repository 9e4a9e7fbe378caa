//! A record in two tables: when both have it, and when one does not.

use std::time::Duration;

use keyderive::embedded::{Bigtable, Fault, Faults, Method};
use keyderive::table::{PutBothError, WriteOutcome, put_both};
use keyderive::{Client, ErrorKind, Row, RowKey, Table};

use crate::registry::without_registry;

/// A measurement, the newest first.
#[derive(RowKey, Clone, Debug, PartialEq)]
struct MetricKey {
    host: String,
    #[reverse_ts]
    at: u64,
}

/// The latest measurement.
#[derive(RowKey, Clone, Debug, PartialEq)]
struct CurrentKey {
    host: String,
    #[pad(2)]
    core: u8,
}

#[derive(Row, Clone, Debug, PartialEq)]
struct Metric {
    at: u64,
    cpu: f64,
}

/// Both tables, each in a Bigtable with its own faults.
struct Tables {
    metrics: Table<MetricKey, Metric>,
    current: Table<CurrentKey, Metric>,
    servers: [Bigtable; 2],
    steady: Client,
}

const AT: u64 = 1_426_535_612_156;

impl Tables {
    async fn with(faults: [Faults; 2]) -> Self {
        let bigtable = Bigtable::in_memory();
        let steady = bigtable.client();
        steady.table::<MetricKey, Metric>("metric").create_if_absent().await.unwrap();
        steady.table::<CurrentKey, Metric>("current").create_if_absent().await.unwrap();
        let servers = faults.map(|faults| bigtable.with_faults(faults));
        let metrics = without_registry(&servers[0].client()).table("metric");
        Self { metrics, current: without_registry(&servers[1].client()).table("current"), servers, steady }
    }

    async fn put(&self, host: &str, core: u8) -> Result<(), PutBothError> {
        let metric = Metric { at: AT, cpu: 0.5 };
        let (key, current) =
            (MetricKey { host: host.into(), at: AT }, CurrentKey { host: host.into(), core });
        put_both((&self.metrics, &key, &metric), (&self.current, &current, &metric)).await
    }

    /// Whether each table has the record.
    async fn hold(&self) -> [bool; 2] {
        let (metrics, current) = (self.steady.table("metric"), self.steady.table("current"));
        let metric: Option<Metric> = metrics.get(&MetricKey { host: "a".into(), at: AT }).await.unwrap();
        let latest: Option<Metric> = current.get(&CurrentKey { host: "a".into(), core: 1 }).await.unwrap();
        [metric, latest].map(|found| found.is_some_and(|metric| metric == Metric { at: AT, cpu: 0.5 }))
    }

    fn calls(&self) -> [u64; 2] {
        [&self.servers[0], &self.servers[1]].map(|server| server.calls(Method::MutateRow))
    }
}

fn none() -> Faults {
    Faults::seeded(0)
}

fn for_good(fault: Fault) -> Faults {
    none().fail(Method::MutateRow, 1.0, fault)
}

#[tokio::test(start_paused = true)]
async fn both_tables_hold_the_record() {
    let tables = Tables::with([none(), none()]).await;
    for _ in 0..3 {
        tables.put("a", 1).await.unwrap();
    }
    assert_eq!((tables.hold().await, tables.calls()), ([true, true], [3, 3]));
}

#[tokio::test(start_paused = true)]
async fn a_table_that_fails_for_a_while_is_waited_for() {
    for failing in [0, 1] {
        let mut faults = [none(), none()];
        for number in 1..=5 {
            let fault =
                if number == 3 { Fault::unavailable().after_the_call() } else { Fault::unavailable() };
            faults[failing] = faults[failing].clone().fail_nth(Method::MutateRow, number, fault);
        }
        let tables = Tables::with(faults).await;
        tables.put("a", 1).await.unwrap();
        let mut calls = [1, 1];
        calls[failing] = 6;
        assert_eq!((tables.hold().await, tables.calls()), ([true, true], calls));
    }
}

/// The second table is not written, so it never has a record that the first lacks.
#[tokio::test(start_paused = true)]
async fn a_first_table_that_refuses_leaves_both_as_they_are() {
    let tables = Tables::with([for_good(Fault::permission_denied()), none()]).await;
    let error = tables.put("a", 1).await.unwrap_err();
    assert_eq!(
        (error.first().outcome(), error.second().outcome()),
        (WriteOutcome::NotWritten, WriteOutcome::NotWritten)
    );
    assert!(error.first().error().unwrap().is_permission_denied() && error.second().error().is_none());
    assert_eq!((tables.hold().await, tables.calls()), ([false, false], [1, 0]));
}

#[tokio::test(start_paused = true)]
async fn a_second_table_that_refuses_is_named_with_both_keys() {
    let tables = Tables::with([none(), for_good(Fault::permission_denied())]).await;
    let error = tables.put("a", 1).await.unwrap_err();
    assert_eq!(
        (error.first().outcome(), error.second().outcome()),
        (WriteOutcome::Written, WriteOutcome::NotWritten)
    );
    assert_eq!((error.first().table(), error.second().table()), ("metric", "current"));
    assert_eq!(error.second().key().unwrap(), "a#01");
    assert!(!error.is_retryable() && std::error::Error::source(&error).is_some());
    let text = error.to_string();
    assert!(
        text.starts_with(
            "row `a#9223370610319163651` of table `metric` was written, and row `a#01` of table `current` was not written: \
             MutateRow on table `current` failed: PERMISSION_DENIED"
        ),
        "{text}"
    );
    assert_eq!(tables.hold().await, [true, false]);
}

/// After an outage, the same call writes both.
#[tokio::test(start_paused = true)]
async fn an_outage_is_reported_and_repaired_by_the_same_call() {
    for (failing, fault, held) in [
        (0, Fault::unavailable(), [false, false]),
        (1, Fault::unavailable(), [true, false]),
        (1, Fault::unavailable().after_the_call(), [true, true]),
    ] {
        let mut faults = [none(), none()];
        faults[failing] = for_good(fault);
        let mut tables = Tables::with(faults).await;
        let minute = Duration::from_secs(60);
        let begun = tokio::time::Instant::now();
        let error = tables.put("a", 1).await.unwrap_err();
        assert!(begun.elapsed() <= minute && begun.elapsed() > minute / 2, "{:?}", begun.elapsed());
        let sides = [error.first(), error.second()];
        assert_eq!(sides[failing].outcome(), WriteOutcome::Unknown);
        assert!(error.is_retryable() && error.to_string().ends_with("; the same call again writes both"));
        assert_eq!(tables.hold().await, held);

        tables.metrics = tables.steady.table("metric");
        tables.current = tables.steady.table("current");
        tables.put("a", 1).await.unwrap();
        assert_eq!(tables.hold().await, [true, true]);
    }
}

/// A value that one of the keys cannot encode fails before anything is sent.
#[tokio::test(start_paused = true)]
async fn a_key_that_cannot_be_encoded_leaves_both_as_they_are() {
    let tables = Tables::with([none(), none()]).await;
    let error = tables.put("a", 100).await.unwrap_err();
    assert!(
        error.first().error().is_none() && error.second().error().unwrap().kind() == ErrorKind::InvalidKey
    );
    assert_eq!(
        (error.first().key().unwrap().as_ref(), error.second().key()),
        (&b"a#9223370610319163651"[..], None)
    );
    let error = tables.put("a#b", 1).await.unwrap_err();
    assert!(
        error.first().error().unwrap().kind() == ErrorKind::InvalidKey
            && error.second().error().unwrap().kind() == ErrorKind::InvalidKey,
        "{error}"
    );
    assert_eq!((tables.hold().await, tables.calls()), ([false, false], [0, 0]));
}
