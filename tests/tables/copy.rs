//! Copies of tables to another key type, and comparisons of tables.

mod by_data;
mod differences;
mod faults;
mod kill;
mod random;
mod refused;

use std::collections::{BTreeMap, BTreeSet};

use futures_util::TryStreamExt as _;
use keyderive::client::{RawTable, ReadRows};
use keyderive::row::{Mutation, Sum};
use keyderive::{Client, Row, RowKey, Table};
use keyderive_tests::fixtures::created;

use crate::servers::on_every_bigtable;

#[derive(RowKey, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct EventKey {
    at: u64,
    user: String,
}

#[derive(RowKey, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[salt(range = 4, over = "user")]
struct UserEventKey {
    user: String,
    #[reverse_ts]
    at: u64,
}

#[derive(Row, Clone, Debug, PartialEq)]
struct Event {
    kind: String,
    amount: Option<f64>,
    #[row(family = "sums")]
    hits: Sum,
}

type Events = Table<EventKey, Event>;
type UserEvents = Table<UserEventKey, Event>;

on_every_bigtable! {
    rows_are_copied_to_another_key_type
    the_closure_leaves_rows_out
    the_closure_of_a_part_reads_whole_rows
    a_table_is_copied_to_the_same_key_type
    copies_beside_each_other_give_the_same_rows
    rows_are_copied_to_another_instance
}

/// The key of the same event in the new table.
fn user_key(key: EventKey) -> UserEventKey {
    UserEventKey { user: key.user, at: key.at }
}

fn key(id: u64) -> EventKey {
    EventKey { at: id, user: format!("user-{}", id % 7) }
}

fn event(id: u64) -> Event {
    Event {
        kind: format!("kind-{}", id % 3),
        amount: id.is_multiple_of(2).then_some(id as f64),
        hits: Sum::default(),
    }
}

/// Both tables, of which the old one has so many events. Every third one has a sum, every fifth one a column that the row type
/// lacks.
async fn filled(client: &Client, events: u64) -> (Events, UserEvents) {
    let (old, new) = tables(client);
    old.create().split_before(EventKey::scan().at_range(events / 2..)).await.unwrap();
    new.create().await.unwrap();
    old.put_all((0..events).map(|id| (key(id), event(id)))).await.unwrap();
    old.update_all(
        (0..events).step_by(3).map(|id| old.update(&key(id)).add(Event::HITS, 1 + id.cast_signed())),
    )
    .await
    .unwrap();
    let unknown = |id| {
        (key(id).encode().unwrap().into(), vec![Mutation::set("cf", "unknown", 1_000 * id as i64, "value")])
    };
    let entries = (0..events).step_by(5).map(unknown).collect();
    client.raw_table("events").mutate_rows(entries).await.all_written().unwrap();
    (old, new)
}

fn tables(client: &Client) -> (Events, UserEvents) {
    (client.table("events"), client.table("user-events"))
}

/// A cell: family, qualifier, timestamp, value.
type Cell = (String, Vec<u8>, i64, Vec<u8>);

/// All cells of a table, by row key.
async fn dump(table: &RawTable) -> BTreeMap<Vec<u8>, BTreeSet<Cell>> {
    let mut rows = table.read_rows(ReadRows::all());
    let mut all = BTreeMap::new();
    while let Some(row) = rows.try_next().await.unwrap() {
        let cells = row.cells().map(|cell| {
            let (family, value) = (cell.family().to_owned(), cell.value().to_vec());
            (family, cell.qualifier().to_vec(), cell.timestamp_micros(), value)
        });
        all.insert(row.key().to_vec(), cells.collect());
    }
    all
}

/// Fails unless the new table has exactly the rows of the old one, by raw reads.
async fn assert_copied(client: &Client) {
    assert_copied_between(client, client).await;
}

async fn assert_copied_between(from: &Client, to: &Client) {
    let (old, new) = (from.raw_table("events"), to.raw_table("user-events"));
    let rekeyed = dump(&old)
        .await
        .into_iter()
        .map(|(key, cells)| (user_key(EventKey::decode(&key).unwrap()).encode().unwrap(), cells));
    assert_eq!(rekeyed.collect::<BTreeMap<_, _>>(), dump(&new).await);
}

async fn rows_are_copied_to_another_key_type(client: Client) {
    let (old, new) = filled(&client, 500).await;
    let mut last = None;
    let copy = old.copy_to(&new, |key, _| user_key(key)).parallel(3).workers(2).batch_rows(40);
    let copy = copy.look_ahead(10_000).on_progress(|progress| last = Some(*progress));
    let report = copy.await.unwrap();
    assert_copied(&client).await;
    assert_eq!((report.copied(), report.left_out()), (500, 0));
    let diff = report.diff().unwrap();
    assert!(diff.is_equal() && diff.first().is_empty() && !diff.is_lower_bound());
    assert_eq!((diff.compared(), diff.counted()), (500, 500));
    let cells = dump(&client.raw_table("events")).await.values().map(BTreeSet::len).sum::<usize>();
    assert_eq!(diff.cells(), cells as u64);
    let last = last.unwrap();
    assert_eq!((last, last.read, last.written, last.compared), (*report.progress(), 500, 500, 500));
    assert!(last.requests >= 500 / 40 && last.bytes > 10_000, "{last:?}");
    let text = report.to_string();
    assert!(
        text.starts_with("500 rows of table `events` copied to table `user-events`, 0 left out; "),
        "{text}"
    );
    assert!(text.contains("; tables `events` and `user-events` are equal: 500 rows, "), "{text}");
    // Typed reads of the new table.
    let hits = new.get(&user_key(key(9))).await.unwrap().unwrap().hits;
    assert_eq!(hits.get(), 10);
}

async fn the_closure_leaves_rows_out(client: Client) {
    let (old, new) = filled(&client, 50).await;
    // By the decoded row, and by a column that the row type does not have.
    let new_key = |key: EventKey, row: keyderive::table::RowRef<'_>| {
        let event = row.read::<Event>()?;
        let is_left_out = event.kind == "kind-0" || row.newest("cf", "unknown").is_some();
        Ok::<_, keyderive::Error>((!is_left_out).then(|| user_key(key)))
    };
    let report = old.copy_to(&new, new_key).await.unwrap();
    let kept: BTreeSet<_> =
        (0..50).filter(|id| id % 3 != 0 && id % 5 != 0).map(|id| user_key(key(id))).collect();
    let keys = new.scan(UserEventKey::scan()).keys_only().collect().await.unwrap();
    assert_eq!(keys.into_iter().collect::<BTreeSet<_>>(), kept);
    assert_eq!((report.copied(), report.left_out()), (kept.len() as u64, 50 - kept.len() as u64));
    assert_eq!(report.diff().unwrap().left_out(), report.left_out());
}

async fn the_closure_of_a_part_reads_whole_rows(client: Client) {
    #[derive(Row)]
    struct Amount {
        amount: Option<f64>,
    }
    let (old, new) = filled(&client, 50).await;
    // A copy has every stored cell, whichever columns the source has.
    let new_key = |key: EventKey, row: keyderive::table::RowRef<'_>| {
        let is_kept = row.read::<Event>()?.hits.get() > 0;
        Ok::<_, keyderive::Error>(is_kept.then(|| user_key(key)))
    };
    let part = old.rows_as::<Amount>();
    let report = part.copy_to(&new, new_key).await.unwrap();
    assert_eq!((report.copied(), report.left_out()), (17, 33));
    let diff = part.diff(&new, new_key).await.unwrap();
    assert!(diff.is_equal() && diff.left_out() == 33, "{diff}");
}

async fn a_table_is_copied_to_the_same_key_type(client: Client) {
    let (old, _) = filled(&client, 50).await;
    let new: Events = created(&client, "events-2").await;
    assert_eq!(old.copy_to(&new, |key, _| key).await.unwrap().copied(), 50);
    assert_eq!(dump(&client.raw_table("events")).await, dump(&client.raw_table("events-2")).await);
    assert!(old.diff(&new, |key, _| key).await.unwrap().is_equal());
}

async fn copies_beside_each_other_give_the_same_rows(client: Client) {
    let (old, new) = filled(&client, 200).await;
    let copy = || old.copy_to(&new, |key, _| user_key(key)).batch_rows(10).look_ahead(1_000).allow_existing();
    // Each compares while the other may still write, the same cells.
    let (one, other) = tokio::join!(copy().without_verifying(), copy().without_verifying());
    assert_eq!((one.unwrap().copied(), other.unwrap().copied()), (200, 200));
    assert_copied(&client).await;
    // Once more, over all rows: sums count once.
    copy().await.unwrap();
    assert_copied(&client).await;
}

async fn rows_are_copied_to_another_instance(client: Client) {
    let (old, _) = filled(&client, 100).await;
    let other = Client::embedded();
    let (same, new) = tables(&other);
    new.create().await.unwrap();
    let report = old.copy_to(&new, |key, _| user_key(key)).await.unwrap();
    assert_eq!((report.copied(), report.diff().unwrap().compared()), (100, 100));
    assert_copied_between(&client, &other).await;
    // Under its own name, and compared once more.
    same.create().await.unwrap();
    old.copy_to(&same, |key, _| key).await.unwrap();
    assert!(old.diff(&same, |key, _| key).await.unwrap().is_equal());
    same.delete(&key(7)).await.unwrap();
    assert_eq!(old.diff(&same, |key, _| key).await.unwrap().missing(), 1);
}

/// Key types that share a table: the copy reads and writes the rows of its tags alone.
#[tokio::test]
async fn rows_are_copied_within_a_table() {
    #[derive(RowKey, Debug)]
    #[row_key(tag = "A")]
    struct TaggedA {
        id: u64,
    }
    #[derive(RowKey, Debug)]
    #[row_key(tag = "B")]
    #[salt(range = 2, over = "id")]
    struct TaggedB {
        id: u64,
    }
    let client = Client::embedded();
    let (a, b) = (client.table::<TaggedA, Event>("both"), client.table::<TaggedB, Event>("both"));
    a.create().without_row_key_schema().await.unwrap();
    b.create().without_row_key_schema().if_absent().await.unwrap();
    a.put_all((0..20).map(|id| (TaggedA { id }, event(id)))).await.unwrap();
    let report = a.copy_to(&b, |key, _| TaggedB { id: key.id }).await.unwrap();
    assert_eq!((report.copied(), report.diff().unwrap().counted()), (20, 20));
    assert_eq!(b.count(TaggedB::scan()).await.unwrap(), 20);
    assert_eq!(a.count(TaggedA::scan()).await.unwrap(), 20);
}
