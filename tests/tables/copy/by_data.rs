//! Copies and comparisons of tables by data are those by types, and what a copy says before it runs.

use std::collections::BTreeSet;
use std::future::{pending, ready};
use std::num::NonZeroU32;
use std::time::Duration;

use keyderive::dynamic::{KeyMapping, TableLayout};
use keyderive::layouts::Layouts;
use keyderive::table::diff::TableDiff;
use keyderive::{Client, Row, RowKey};
use keyderive_tests::Folder;
use keyderive_tests::fixtures::{created, fails};
use tokio::time::{Instant, sleep};

use super::{Event, EventKey, UserEventKey, assert_copied, dump, event, filled, key, user_key};
use crate::servers::on_every_bigtable;

on_every_bigtable! {
    copies_and_comparisons_by_data_are_those_by_types
    a_copy_does_what_its_check_says
}

fn layouts() -> [TableLayout; 2] {
    let json = Layouts::new().table::<EventKey, Event>("events").table::<UserEventKey, Event>("user-events");
    let layouts = Layouts::from_json(&json.to_json()).unwrap();
    ["events", "user-events"].map(|name| layouts.table_layout(name).unwrap())
}

fn mapping([old, new]: &[TableLayout; 2]) -> KeyMapping {
    KeyMapping::new(old.key(), new.key(), "").unwrap()
}

async fn copies_and_comparisons_by_data_are_those_by_types(client: Client) {
    let layouts = layouts();
    let (mapping, [old, new]) =
        (mapping(&layouts), layouts.each_ref().map(|layout| client.dynamic_table(layout)));
    let (typed_old, typed_new) = filled(&client, 500).await;
    let report = old.copy_to(&new, &mapping).unwrap().await.unwrap();
    assert_eq!((report.copied(), report.left_out()), (500, 0));
    assert_copied(&client).await;
    let by_types = || typed_old.diff(&typed_new, |key, _| user_key(key));
    assert!(by_types().await.unwrap().is_equal());
    // Of each kind, and all are told.
    typed_old.put(&key(7), &event(1)).await.unwrap();
    typed_old.delete(&key(8)).await.unwrap();
    typed_old.put(&key(1000), &event(1000)).await.unwrap();
    let mut told = Vec::new();
    let diff = old.diff(&new, &mapping).unwrap().first(1).on_difference(|row| told.push(format!("{row:?}")));
    let diff = diff.await.unwrap();
    let of_types = by_types().first(1).await.unwrap();
    assert_eq!((diff.missing(), diff.extra(), diff.differing()), (1, 1, 1));
    assert_eq!(diff.different(), of_types.different());
    assert_eq!((told.len(), diff.first().len()), (3, 1), "{told:?}");
    // Rows come in the order of the partitions that are done first.
    let lines = |diff: TableDiff| diff.to_string().lines().map(str::to_owned).collect::<BTreeSet<_>>();
    assert_eq!(lines(old.diff(&new, &mapping).unwrap().await.unwrap()), lines(by_types().await.unwrap()));
    fails(new.copy_to(&old, &mapping), "make the mapping of the layouts of both tables");
}

async fn a_copy_does_what_its_check_says(client: Client) {
    let (old, new) = filled(&client, 600).await;
    let copy = || old.copy_to(&new, |key, _| (key.at % 10 != 0).then(|| user_key(key)));
    let before = dump(&client.raw_table("user-events")).await;
    let found = copy().check().await.unwrap();
    assert!(found.is_ok() && before.is_empty(), "{found}");
    assert_eq!(dump(&client.raw_table("user-events")).await.len(), 0);
    let report = copy().await.unwrap();
    assert_eq!((found.rows, found.left_out), (report.copied(), report.left_out()));
    assert_eq!(found.cells, report.diff().unwrap().cells());
    assert_eq!(found.bytes, report.progress().bytes);
    // What the copy begins with is checked, too.
    fails(copy().check().await, "it has rows, such as");
}

#[tokio::test]
async fn a_check_finds_rows_that_cannot_be_copied() {
    #[derive(RowKey, Clone, Debug)]
    struct SmallKey {
        #[pad(2)]
        at: u64,
    }
    let client = Client::embedded();
    let (old, _) = filled(&client, 150).await;
    let small = created::<SmallKey, Event>(&client, "small").await;
    let found =
        old.copy_to(&small, |key, _| SmallKey { at: key.at.saturating_sub(40) }).check().await.unwrap();
    // 40 have the key of the first one, and 10 none.
    assert_eq!((found.rows, found.collisions, found.faulty), (150, 40, 10), "{found}");
    let text = found.to_string();
    assert!(text.contains("a row before it has the same key in table `small`"), "{text}");
    assert!(!found.is_ok() && text.contains("10 rows cannot be copied"), "{text}");
    assert_eq!(small.count(SmallKey::scan()).await.unwrap(), 0);
}

/// Rows of earlier runs count, and no row more is written.
#[tokio::test]
async fn a_copy_stops_above_its_limit() {
    let client = Client::embedded();
    let (old, new) = filled(&client, 300).await;
    let folder = Folder::new("copy-limit");
    let path = folder.join("checkpoint");
    let copy = || {
        let copy = old.copy_to(&new, |key, _| user_key(key)).checkpoint(&path).checkpoint_every(1);
        copy.look_ahead(1).batch_rows(10).workers(1).parallel(1)
    };
    for limit in [0, 100, 299] {
        let error = copy().at_most(limit).await.unwrap_err();
        assert!(error.is_above_limit() && !error.is_collision() && !error.is_difference(), "{error}");
        assert!(
            error.to_string().contains(&format!("more rows than the {limit} that may be copied")),
            "{error}"
        );
        let rows = new.count(UserEventKey::scan()).await.unwrap();
        assert!(rows <= limit && error.report().copied() <= rows, "{rows} of {limit}: {error}");
    }
    let found = copy().check().await.unwrap();
    assert!(found.copied > 0 && found.copied + found.rows == 300, "{found}");
    let report = copy().at_most(300).await.unwrap();
    assert_eq!(report.copied(), 300);
    assert_copied(&client).await;
}

#[tokio::test(start_paused = true)]
async fn a_copy_keeps_to_its_rate() {
    let client = Client::embedded();
    let (old, new) = filled(&client, 500).await;
    let begun = Instant::now();
    let rate = NonZeroU32::new(100).unwrap();
    old.copy_to(&new, |key, _| user_key(key)).rate(rate).await.unwrap();
    // The first 100 rows at once.
    let took = begun.elapsed();
    assert!((Duration::from_secs(4)..Duration::from_secs(6)).contains(&took), "{took:?}");
    assert_copied(&client).await;
}

/// What is written when it is stopped counts, and is not written again.
#[tokio::test(start_paused = true)]
async fn a_copy_that_is_stopped_keeps_its_place() {
    let client = Client::embedded();
    let (old, new) = filled(&client, 3000).await;
    let folder = Folder::new("copy-stopped");
    let path = folder.join("checkpoint");
    let copy = || old.copy_to(&new, |key, _| user_key(key)).checkpoint(&path);
    let mut copied = 0;
    for _ in 0..3 {
        let begun = Instant::now();
        let rate = NonZeroU32::new(200).unwrap();
        let error = copy().rate(rate).stop_on(sleep(Duration::from_secs(2))).await.unwrap_err();
        assert!(error.is_stopped() && error.error().is_none(), "{error}");
        assert!(error.to_string().ends_with(": it was stopped"), "{error}");
        assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
        let rows = new.count(UserEventKey::scan()).await.unwrap();
        assert_eq!((error.report().copied(), error.report().progress().written), (rows, rows - copied));
        assert!(rows >= copied + 400, "{copied} {rows}");
        copied = rows;
    }
    // Before the first row.
    let error = copy().stop_on(ready(())).await.unwrap_err();
    assert_eq!((error.is_stopped(), error.report().copied()), (true, copied));
    let report = copy().stop_on(pending()).await.unwrap();
    assert_eq!((report.copied(), report.progress().written), (3000, 3000 - copied));
    assert_copied(&client).await;
}

/// A field that is hashed is copied to a table of the same layout, byte by byte.
#[tokio::test]
async fn keys_with_a_hashed_field_are_copied_to_the_same_layout() {
    #[derive(RowKey)]
    struct HashedKey {
        id: u64,
        #[row_key(hash(md5))]
        email: String,
    }

    #[derive(Row)]
    struct User {
        name: String,
    }
    let client = Client::embedded();
    let json = Layouts::new().table::<HashedKey, User>("a").table::<HashedKey, User>("b").to_json();
    let layouts = Layouts::from_json(&json).unwrap();
    let [a, b] = ["a", "b"].map(|name| layouts.table_layout(name).unwrap());
    for name in ["a", "b"] {
        client.table::<HashedKey, User>(name).create().await.unwrap();
    }
    let typed = client.table::<HashedKey, User>("a");
    for id in 0..20 {
        let key = HashedKey { id, email: format!("user-{id}@example.org") };
        typed.put(&key, &User { name: "x".into() }).await.unwrap();
    }
    let mapping = KeyMapping::new(a.key(), b.key(), "").unwrap();
    let (a, b) = (client.dynamic_table(&a), client.dynamic_table(&b));
    assert_eq!(a.copy_to(&b, &mapping).unwrap().await.unwrap().copied(), 20);
    assert_eq!(dump(&client.raw_table("a")).await, dump(&client.raw_table("b")).await);
}
