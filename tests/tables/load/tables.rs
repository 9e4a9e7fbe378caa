//! Loads of one stream into several tables.

use std::sync::{Arc, Mutex};

use futures_util::stream::iter;
use keyderive::embedded::{Bigtable, Fault, Faults, Method};
use keyderive::load::{Checkpoint, LoadReport, load_tables};
use keyderive::{Client, ErrorKind, Row, RowKey, Table};
use keyderive_scripted::{Answer, Mock, Rpc};
use tonic::Code;

use crate::registry::without_registry;
use crate::servers::on_every_bigtable;

use super::client_of;

#[derive(RowKey, Clone, Debug, PartialEq)]
#[salt(range = 4)]
struct EventKey {
    user: String,
    #[pad(8)]
    at: u32,
}

#[derive(RowKey, Clone, Debug, PartialEq)]
struct OrderKey {
    order: String,
}

/// Of the same table as [`OrderKey`], if both had tags.
#[derive(RowKey, Clone, Debug, PartialEq)]
struct DayKey {
    #[pad(4)]
    day: u32,
}

#[derive(Row, Clone, Debug, PartialEq)]
struct Event {
    order: String,
}

#[derive(Row, Clone, Debug, PartialEq)]
struct Lookup {
    user: String,
    at: u32,
}

type Events = Table<EventKey, Event>;
type ByOrder = Table<OrderKey, Lookup>;
type Item = ((EventKey, Event), (OrderKey, Lookup));

on_every_bigtable! {
    each_table_has_its_row_of_every_item
    a_row_that_fails_in_one_table_is_written_to_the_other
    a_resumed_load_ends_with_all_rows
}

fn item(at: u32) -> Item {
    let (user, order) = (format!("user-{}", at % 7), format!("order-{at}"));
    (
        (EventKey { user: user.clone(), at }, Event { order: order.clone() }),
        (OrderKey { order }, Lookup { user, at }),
    )
}

async fn tables(client: &Client) -> (Events, ByOrder) {
    let tables = (client.table("events"), client.table("by-order"));
    let (events, by_order): (&Events, &ByOrder) = (&tables.0, &tables.1);
    events.create_if_absent().await.unwrap();
    by_order.create_if_absent().await.unwrap();
    tables
}

/// How many rows each table has; each is that of its item.
async fn rows((events, by_order): &(Events, ByOrder)) -> [usize; 2] {
    let found = events.scan(EventKey::scan()).collect().await.unwrap();
    found.iter().for_each(|row| assert_eq!(*row, item(row.0.at).0));
    let lookups = by_order.scan(OrderKey::scan()).collect().await.unwrap();
    lookups.iter().for_each(|row| assert_eq!(*row, item(row.1.at).1));
    [found.len(), lookups.len()]
}

/// What each table got: written, kept and failed rows.
fn counts(report: &LoadReport) -> Vec<(&str, u64, u64, u64)> {
    report.tables().iter().map(|table| (&*table.name, table.written, table.kept, table.failed)).collect()
}

async fn each_table_has_its_row_of_every_item(client: Client) {
    let tables = tables(&client).await;
    let mut last = Default::default();
    let load = load_tables(tables.clone(), iter((0..3000).map(item)));
    let report = load
        .look_ahead(20_000)
        .batch_rows(100)
        .on_progress(|progress| last = (progress.read, progress.written, progress.items))
        .await
        .unwrap();
    assert_eq!(counts(&report), [("events", 3000, 0, 0), ("by-order", 3000, 0, 0)]);
    assert_eq!((report.read(), report.written(), report.checkpoint().items()), (6000, 6000, 3000));
    assert_eq!(report.bytes(), report.tables().iter().map(|table| table.bytes).sum::<u64>());
    let text = report.to_string();
    assert!(
        text.starts_with("6000 rows of ") && text.contains("to tables `events` and `by-order` by"),
        "{text}"
    );
    assert_eq!(last, (6000, 6000, Some(6000)));
    assert_eq!(rows(&tables).await, [3000, 3000]);

    // Existing rows stay, in each table by itself.
    tables.1.delete(&item(7).1.0).await.unwrap();
    let again = load_tables(tables.clone(), iter((0..10).map(item))).if_absent().await.unwrap();
    assert_eq!(counts(&again), [("events", 0, 10, 0), ("by-order", 1, 9, 0)]);
}

async fn a_row_that_fails_in_one_table_is_written_to_the_other(client: Client) {
    let tables = tables(&client).await;
    // A delimiter in the key of the second table alone, and in both.
    let spoiled = |at: u32| {
        let mut item = item(at);
        if at == 3 || at == 5 {
            item.1.0.order = "#".to_owned();
        }
        if at == 5 {
            item.0.0.user = "#".to_owned();
        }
        item
    };
    let report = load_tables(tables.clone(), iter((0..9).map(spoiled))).await.unwrap();
    assert_eq!(counts(&report), [("events", 8, 0, 1), ("by-order", 7, 0, 2)]);
    let failed: Vec<_> = report.failed().iter().map(|row| (row.index(), row.table().unwrap())).collect();
    assert_eq!(failed, [(3, "by-order"), (5, "events"), (5, "by-order")]);
    let text = report.failed()[0].to_string();
    assert!(text.starts_with("row 3 of the input, counted from 0, of table `by-order`: "), "{text}");
    assert_eq!(report.checkpoint().failed(), [3, 5, 5]);
    let checkpoint: Checkpoint =
        serde_json::from_str(&serde_json::to_string(report.checkpoint()).unwrap()).unwrap();
    assert_eq!(&checkpoint, report.checkpoint());
    let text = report.all_written().unwrap_err().to_string();
    assert!(
        text.starts_with("3 of 18 rows were not written to tables `events` and `by-order`; the first is"),
        "{text}"
    );

    // Only the rows that failed are written again: others have changed one that was written.
    let changed = Event { order: "changed".to_owned() };
    tables.0.put(&item(3).0.0, &changed).await.unwrap();
    let fixed = load_tables(tables.clone(), iter((0..9).map(item))).resume(checkpoint).await.unwrap();
    assert_eq!(counts(&fixed), [("events", 1, 0, 0), ("by-order", 2, 0, 0)]);
    assert_eq!(tables.0.get(&item(3).0.0).await.unwrap(), Some(changed));
    tables.0.put(&item(3).0.0, &item(3).0.1).await.unwrap();
    assert_eq!(rows(&tables).await, [9, 9]);
}

async fn a_resumed_load_ends_with_all_rows(client: Client) {
    let tables = tables(&client).await;
    let stored = Arc::new(Mutex::new(Vec::new()));
    let ended =
        load_tables(tables.clone(), iter((0..2000).map(|at| (at < 1500).then(|| item(at)).ok_or("end"))))
            .look_ahead(5000)
            .batch_rows(50)
            .workers(2)
            .checkpoint_every(100)
            .on_checkpoint(|checkpoint| stored.lock().unwrap().push(checkpoint.clone()))
            .await
            .unwrap_err();
    assert!(ended.is_input() && ended.checkpoint().items() == 1500, "{ended}");
    let stored = stored.lock().unwrap().clone();
    assert!(stored.len() > 5 && stored.iter().map(Checkpoint::items).is_sorted());
    // Any of them: every row before it is in both tables.
    for checkpoint in [stored[stored.len() / 2].clone(), stored[0].clone()] {
        let before = checkpoint.items();
        let report = load_tables(tables.clone(), iter((0..2000).map(item))).resume(checkpoint).await.unwrap();
        assert_eq!(report.read(), 2 * (2000 - before));
        assert_eq!(rows(&tables).await, [2000, 2000]);
    }
}

#[tokio::test]
async fn a_checkpoint_of_other_tables_is_rejected() {
    let client = Client::embedded();
    let (events, by_order) = tables(&client).await;
    let both = load_tables((events.clone(), by_order.clone()), iter((0..9).map(item))).await.unwrap();
    let both = both.checkpoint().clone();
    let one = events.load_iter((0..9).map(|at| item(at).0)).resume(both.clone()).await.unwrap_err();
    assert!(one.error().unwrap().is_table_mismatch(), "{one}");
    assert!(
        one.to_string().contains("the checkpoint is of a load to 2 tables, and this load is to 1"),
        "{one}"
    );
    let one = events.load_iter((0..9).map(|at| item(at).0)).await.unwrap().checkpoint().clone();
    let two = load_tables((events.clone(), by_order.clone()), iter((0..9).map(item)));
    let two = two.resume(one).await.unwrap_err().to_string();
    let said = "the checkpoint is of a load to 1 tables, and this load is to 2";
    assert!(two.contains("table `events`") && two.contains(said), "{two}");
    let turned = iter((0..9).map(|at| (item(at).1, item(at).0)));
    let turned =
        load_tables((by_order.clone(), events.clone()), turned).resume(both.clone()).await.unwrap_err();
    assert!(turned.error().unwrap().is_table_mismatch(), "{turned}");
    // The second table is another one of its name.
    by_order.delete_table().await.unwrap();
    by_order.create_if_absent().await.unwrap();
    let load = load_tables((events.clone(), by_order), iter((0..9).map(item))).resume(both);
    let created = load.await.unwrap_err();
    assert!(
        created.to_string().contains("table `by-order`: the checkpoint is of another table of this name"),
        "{created}"
    );

    let twice = load_tables((events.clone(), events), iter((0..9).map(|at| (item(at).0, item(at + 1).0))));
    let twice = twice.await.unwrap_err();
    assert_eq!(twice.error().unwrap().kind(), ErrorKind::InvalidArgument, "{twice}");
    assert!(twice.to_string().contains("the load writes to it twice"), "{twice}");
}

/// Of two rows with one key the later counts, in each table by itself.
#[tokio::test]
async fn the_last_row_of_a_key_counts_in_each_table() {
    let client = Client::embedded();
    let events: Events = client.table("events");
    let days: Table<DayKey, Event> = client.table("days");
    events.create_if_absent().await.unwrap();
    days.create_if_absent().await.unwrap();
    let rows = |at: u32| {
        let (event, _) = item(at);
        let row = event.1.clone();
        (event, (DayKey { day: at % 10 }, row))
    };
    let load = load_tables((events.clone(), days.clone()), iter((0..1000).map(rows)));
    load.batch_rows(7).look_ahead(2000).await.unwrap().all_written().unwrap();
    assert_eq!(events.count(EventKey::scan()).await.unwrap(), 1000);
    for day in 0..10 {
        let expected = Event { order: format!("order-{}", 990 + day) };
        assert_eq!(days.get(&DayKey { day }).await.unwrap(), Some(expected));
    }
}

/// A retry of a row that failed in one table does not touch the later row of its key in the other one.
#[tokio::test]
async fn a_retried_row_gives_way_to_a_later_one_in_its_table_alone() {
    let client = Client::embedded();
    let tables = tables(&client).await;
    let rows = |is_fixed: bool| {
        move |at: u32| {
            let mut both = item(at);
            // All have one key in the first table.
            both.0.0 = item(0).0.0;
            if at == 2 && !is_fixed {
                both.1.0.order = "#".to_owned();
            }
            both
        }
    };
    let report = load_tables(tables.clone(), iter((0..5).map(rows(false)))).await.unwrap();
    let load = load_tables(tables.clone(), iter((0..5).map(rows(true)))).resume(report.checkpoint().clone());
    assert_eq!(counts(&load.await.unwrap()), [("events", 0, 0, 0), ("by-order", 1, 0, 0)]);
    assert_eq!(tables.0.get(&item(0).0.0).await.unwrap(), Some(item(4).0.1));
    assert_eq!(tables.1.count(OrderKey::scan()).await.unwrap(), 5);
}

/// Lost answers, and requests that fail in one of the tables: the load ends with both complete, or says what is missing.
#[tokio::test]
async fn failures_of_one_table_end_or_delay_the_load_of_both() {
    let bigtable = Bigtable::in_memory();
    let steady = tables(&bigtable.client()).await;
    let faulty = bigtable.with_faults(Faults::seeded(7).fail(
        Method::MutateRows,
        0.5,
        Fault::unavailable().after_the_call(),
    ));
    let by_order: ByOrder = without_registry(&faulty.client()).table("by-order");
    let load = load_tables((steady.0.clone(), by_order), iter((0..500).map(item)));
    load.batch_rows(50).await.unwrap().all_written().unwrap();
    assert_eq!(rows(&steady).await, [500, 500]);
}

#[tokio::test(start_paused = true)]
async fn a_request_has_rows_of_one_table() {
    let mock = Mock::new().by(|request| match request.rpc {
        Rpc::SampleRowKeys => Answer::samples([("1", 0), ("", 0)]),
        _ => Answer::outcomes((0..request.entries().len()).map(|entry| (entry as i64, Code::Ok))),
    });
    let client = client_of(&mock);
    let tables: (Events, ByOrder) = (
        client.table::<EventKey, Event>("events").unchecked(),
        client.table::<OrderKey, Lookup>("by-order").unchecked(),
    );
    load_tables(tables, iter((0..1000).map(item))).batch_rows(100).await.unwrap().all_written().unwrap();
    let mut sent = [0, 0];
    for request in mock.requests_of(Rpc::MutateRows) {
        let table = request.decode::<keyderive_proto::data::MutateRowsRequest>().table_name;
        let is_lookup = table.ends_with("/by-order");
        assert!(request.entries().iter().all(|key| key.starts_with(b"order-") == is_lookup), "{table}");
        sent[usize::from(is_lookup)] += request.entries().len();
    }
    assert_eq!(sent, [1000, 1000]);
}
