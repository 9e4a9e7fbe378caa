//! Exports: every row once, however the table is partitioned.

use std::collections::BTreeSet;
use std::time::Duration;

use keyderive::embedded::{Bigtable, Faults, Method};
use keyderive::plan::Plan;
use keyderive::row::Mutation;
use keyderive::{Client, ErrorKind, OnForeign};
use keyderive_scripted::{Answer, Mock, Rpc};
use keyderive_tests::fixtures::fails;

use super::{ReadingKey, Readings, client_of, reading, readings};
use crate::registry::without_registry;

const ROWS: u32 = 3_000;

/// A table of 16 buckets, some of which are split further.
async fn filled(client: &Client) -> Readings {
    let table = readings(client);
    table.create().split_at(&ReadingKey { id: 1_000 }).split_at(&ReadingKey { id: 2_500 }).await.unwrap();
    table.load_iter((0..ROWS).map(reading)).await.unwrap().all_written().unwrap();
    table
}

#[tokio::test(start_paused = true)]
async fn an_export_has_every_row_once() {
    let table = filled(&Client::embedded()).await;
    assert_eq!(table.partitions().await.unwrap().len(), 48);
    for parallel in [0, 1, 3, 100] {
        let mut rows = table.export(ReadingKey::scan()).parallel(parallel).stream();
        let mut found = Vec::new();
        while let Some(row) = rows.next().await {
            let (key, row) = row.unwrap();
            assert_eq!(row, reading(key.id).1);
            found.push(key.id);
        }
        assert!(rows.next().await.is_none());
        assert_eq!(found.len(), ROWS as usize);
        assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), (0..ROWS).collect());
    }
}

#[tokio::test(start_paused = true)]
async fn an_export_of_a_plan_is_its_scan() {
    let table = filled(&Client::embedded()).await;
    let plan = || ReadingKey::scan().id_range(700..2_700);
    let mut keys = table.export(plan()).with(|scan| scan.on_foreign(OnForeign::Skip).keys_only()).stream();
    let mut found = BTreeSet::new();
    while let Some(key) = keys.next().await {
        assert!(found.insert(key.unwrap()));
    }
    let scanned: BTreeSet<_> = table.scan(plan()).keys_only().collect().await.unwrap().into_iter().collect();
    assert_eq!((found.len(), found == scanned), (2_000, true));
}

#[tokio::test(start_paused = true)]
async fn an_export_is_explained() {
    let table = filled(&Client::embedded()).await;
    let export = || table.export(ReadingKey::scan().id_range(700..));
    let told = export().with(|scan| scan.on_foreign(OnForeign::Skip).keys_only()).explain().await.unwrap();
    assert_eq!(told.partitions(), 48);
    let told = told.to_string();
    for part in [
        "scan of ReadingKey\n",
        "\n  order        none across buckets: rows are delivered as they arrive\n",
        "\n  values       none: keys only\n  filter       foreign rows are read, and left out\n",
        "\n  partitions   48, 8 at a time\n               [start of table, 00#0000001000)\n",
    ] {
        assert!(told.contains(part), "{told}");
    }
    assert!(told.ends_with("\n               and 40 more"), "{told}");

    let parts = table.partitions().await.unwrap();
    let told =
        table.export_parts(parts.into_iter().skip(45)).parallel(2).explain().await.unwrap().to_string();
    assert_eq!(
        told,
        "parts of ReadingKey\n  partitions   3, 2 at a time\n               [15#, 15#0000001000)\n               \
         [15#0000001000, 15#0000002500)\n               [15#0000002500, end of table)"
    );
    let absent = Client::embedded()
        .table::<ReadingKey, super::Reading>("absent")
        .export(ReadingKey::scan())
        .explain()
        .await
        .unwrap_err();
    assert!(absent.is_not_found());
}

/// Several processes share the work of one export.
#[tokio::test(start_paused = true)]
async fn parts_are_shared_as_data() {
    let table = filled(&Client::embedded()).await;
    let parts = serde_json::to_string(&table.partitions().await.unwrap()).unwrap();
    let mut found = Vec::new();
    for worker in 0..3 {
        let parts: Vec<Plan<ReadingKey>> = serde_json::from_str(&parts).unwrap();
        let share = parts.into_iter().skip(worker).step_by(3);
        let mut rows = table.export_parts(share).stream();
        while let Some(row) = rows.next().await {
            found.push(row.unwrap().0.id);
        }
    }
    found.sort_unstable();
    assert_eq!(found, (0..ROWS).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn no_more_partitions_are_read_at_a_time_than_said() {
    let bigtable = Bigtable::in_memory();
    filled(&bigtable.client()).await;
    let faults = Faults::seeded(0).delay(Method::ReadRows, 1.0, Duration::from_secs(3600));
    let faulty = bigtable.with_faults(faults);
    let mut rows =
        readings(&without_registry(&faulty.client())).export(ReadingKey::scan()).parallel(5).stream();
    let waited = tokio::time::timeout(Duration::from_secs(1), rows.next()).await;
    assert!(waited.is_err());
    assert_eq!(faulty.calls(Method::ReadRows), 5);
}

/// Rows of one value can be in several partitions.
#[tokio::test]
async fn an_export_of_distinct_values_is_an_error() {
    let table = filled(&Client::embedded()).await;
    let mut keys = table.export(ReadingKey::scan()).with(|scan| scan.distinct(1)).stream();
    fails(keys.next().await.unwrap(), "several can have rows of one value");
    assert!(keys.next().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn an_export_that_fails_ends() {
    let client = Client::embedded();
    let mut rows = client.table::<ReadingKey, super::Reading>("absent").export(ReadingKey::scan()).stream();
    assert!(rows.next().await.unwrap().unwrap_err().is_not_found());
    assert!(rows.next().await.is_none());

    // A foreign row in one of the partitions.
    let table = filled(&client).await;
    client.raw_table("readings").mutate_row("03#x", [Mutation::set("cf", "value", 0, "v")]).await.unwrap();
    let mut rows = table.export(ReadingKey::scan()).stream();
    let failed = loop {
        match rows.next().await.unwrap() {
            Ok(_) => {}
            Err(error) => break error,
        }
    };
    assert!(failed.kind() == ErrorKind::ForeignRow && rows.next().await.is_none());
    let mut rows = table.export(ReadingKey::scan()).with(|scan| scan.on_foreign(OnForeign::Skip)).stream();
    let mut count = 0;
    while let Some(row) = rows.next().await {
        row.unwrap();
        count += 1;
    }
    assert_eq!(count, ROWS);
}

/// Dropping the stream cancels its requests.
#[tokio::test(start_paused = true)]
async fn dropping_an_export_cancels() {
    let mock = Mock::new().by(|request| match request.rpc {
        Rpc::SampleRowKeys => Answer::samples([("", 0)]),
        _ => Answer::new().stall(),
    });
    let mut rows =
        readings(&without_registry(&client_of(&mock))).export(ReadingKey::scan()).parallel(4).stream();
    let waited = tokio::time::timeout(Duration::from_millis(100), rows.next()).await;
    assert!(waited.is_err());
    assert_eq!(mock.requests_of(Rpc::ReadRows).len(), 4);
    drop(rows);
    for _ in 0..1_000 {
        tokio::task::yield_now().await;
    }
    assert!(mock.requests_of(Rpc::ReadRows).iter().all(|request| request.is_cancelled));
}
