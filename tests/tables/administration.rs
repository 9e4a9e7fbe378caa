//! Creating, changing, describing and comparing tables.

use std::time::Duration;

use keyderive::client::{Aggregate, Family, FamilyChange, ReadRows};
use keyderive::row::Mutation;
use keyderive::{Client, ErrorKind, GcRule, RowKey, Table};
use keyderive_tests::fixtures::mismatches;

use crate::registry::stamp_of;
use crate::servers::on_every_bigtable;

type Row = std::collections::BTreeMap<String, String>;

#[derive(RowKey, Clone, Debug, PartialEq)]
#[salt(range = 4, over = "user")]
struct Salted {
    user: String,
    at: u64,
}

/// A key whose rows can lie anywhere in a table.
#[derive(RowKey, Clone, Debug, PartialEq)]
struct Plain {
    user: String,
    at: u64,
}

/// As [`Plain`], with another width.
#[derive(RowKey, Clone, Debug, PartialEq)]
struct Padded {
    user: String,
    #[pad(6)]
    at: u64,
}

#[derive(RowKey, Clone, Debug, PartialEq)]
#[row_key(layout = "ordered")]
struct Ordered {
    user: String,
    at: u64,
}

#[derive(RowKey, Clone, Debug, PartialEq)]
#[row_key(tag = "A")]
struct TaggedA {
    user: String,
}

#[derive(RowKey, Clone, Debug, PartialEq)]
#[row_key(tag = "B")]
struct TaggedB {
    user: String,
}

#[derive(RowKey, Clone, Debug, PartialEq)]
struct OfFamily {
    cf: String,
}

const WEEK: Duration = Duration::from_secs(7 * 24 * 60 * 60);

on_every_bigtable! {
    a_table_has_the_families_it_is_declared_with
    a_table_that_exists_is_not_created_again
    families_are_added_changed_and_dropped
    tables_are_listed_and_described
    every_cluster_has_what_was_written
    a_rule_that_differs_is_reported_with_both_sides
    a_missing_family_is_reported
    an_invalid_table_is_rejected_before_any_request
    what_differs_from_the_stamped_layout_is_said
    a_table_has_the_rows_of_its_user_alone
}

fn table<K: RowKey + keyderive::key::TableKey>(client: &Client) -> Table<K, Row> {
    client.table("events")
}

fn row(value: &str) -> Row {
    [("kind".to_owned(), value.to_owned())].into()
}

fn plain(user: &str, at: u64) -> Plain {
    Plain { user: user.into(), at }
}

async fn a_table_has_the_families_it_is_declared_with(client: Client) {
    let events = table::<Salted>(&client);
    let rule = GcRule::union([
        GcRule::max_age(WEEK),
        GcRule::intersection([GcRule::max_versions(3), GcRule::max_age(Duration::from_millis(1500))]),
    ]);
    let declared = events
        .create()
        .family("raw", rule.clone())
        .family("cf", GcRule::max_versions(2))
        .family("all", GcRule::never())
        .aggregate_family("sums", Aggregate::Sum, GcRule::never())
        .aggregate_family("least", Aggregate::Min, GcRule::never())
        .aggregate_family("most", Aggregate::Max, GcRule::never());
    declared.clone().await.unwrap();
    let verified = declared.verify().await.unwrap();
    assert!(verified.stamp);

    let info = events.info().await.unwrap();
    assert_eq!(*stamp_of(&info, Salted::fingerprint()).unwrap().gc_rule(), GcRule::max_versions(1));
    assert_eq!(info.families().len(), 7);
    assert_eq!(info.family("raw"), Some(&Family::new("raw", rule)));
    assert_eq!(info.family("cf"), Some(&Family::new("cf", GcRule::max_versions(2))));
    assert_eq!(info.family("all"), Some(&Family::new("all", GcRule::never())));
    for (name, aggregate) in [("sums", Aggregate::Sum), ("least", Aggregate::Min), ("most", Aggregate::Max)] {
        assert_eq!(info.family(name), Some(&Family::aggregate(name, aggregate, GcRule::never())));
    }

    let raw = client.raw_table("events");
    for amount in [5, -2, 4] {
        raw.mutate_row("k", [Mutation::add_to_cell("sums", "q", 0, amount)]).await.unwrap();
    }
    let stored = raw.read_row("k", None).await.unwrap().unwrap();
    assert_eq!(stored.cells().next().unwrap().value(), 7_i64.to_be_bytes());
}

async fn a_table_that_exists_is_not_created_again(client: Client) {
    let events = table::<Plain>(&client);
    assert!(events.create().if_absent().await.unwrap());
    events.put(&plain("alice", 1), &row("login")).await.unwrap();
    let error = events.create().await.unwrap_err();
    assert!(error.is_already_exists() && error.to_string().contains("table `events`"), "{error}");
    assert!(!events.create().if_absent().await.unwrap());
    mismatches(
        events.create().family("cf", GcRule::max_versions(9)).if_absent().await,
        "all but the newest 9 versions",
    );
    mismatches(
        events.create().family("other", GcRule::never()).if_absent().await,
        "without the column family `other`",
    );
    assert_eq!(events.get(&plain("alice", 1)).await.unwrap(), Some(row("login")));
    events.delete_table().await.unwrap();
    assert!(events.info().await.unwrap_err().is_not_found());
}

async fn families_are_added_changed_and_dropped(client: Client) {
    let events = table::<Plain>(&client);
    events.create().family("old", GcRule::never()).await.unwrap();
    let changed = events
        .modify_families([
            FamilyChange::add(Family::new("new", GcRule::max_age(WEEK))),
            FamilyChange::gc_rule("cf", GcRule::max_versions(5)),
            FamilyChange::drop("old"),
        ])
        .await
        .unwrap();
    let stamp = stamp_of(&changed, Plain::fingerprint()).unwrap().clone();
    for info in [changed, events.info().await.unwrap()] {
        assert_eq!(
            info.families(),
            [
                Family::new("cf", GcRule::max_versions(5)),
                stamp.clone(),
                Family::new("new", GcRule::max_age(WEEK)),
            ]
        );
    }
    let raw = client.raw_table("events");
    // Dropping a family deletes its cells.
    raw.mutate_row("k", [Mutation::set("new", "q", 1000, "v")]).await.unwrap();
    raw.modify_families([FamilyChange::drop("new")]).await.unwrap();
    assert_eq!(raw.read_row("k", None).await.unwrap(), None);
}

async fn tables_are_listed_and_described(client: Client) {
    assert_eq!(client.list_tables().await.unwrap(), [""; 0]);
    for name in ["zebra", "apple"] {
        client.raw_table(name).create([Family::new("f", GcRule::never())], [""; 0]).await.unwrap();
    }
    assert_eq!(client.list_tables().await.unwrap(), ["apple", "zebra"]);
    let info = client.table_info("apple").await.unwrap();
    assert_eq!((info.name(), info.is_protected()), ("apple", false));
    assert_eq!(info, client.raw_table("apple").info().await.unwrap());
    assert!(info.row_key_schema().is_none());
    let error = client.table_info("absent").await.unwrap_err();
    assert!(error.is_not_found() && error.to_string().starts_with("GetTable on table `absent`"), "{error}");
}

async fn every_cluster_has_what_was_written(client: Client) {
    let events = table::<Plain>(&client);
    events.create_if_absent().await.unwrap();
    events.wait_for_consistency().await.unwrap();
    client.raw_table("events").wait_for_consistency().await.unwrap();
    assert!(client.raw_table("absent").wait_for_consistency().await.unwrap_err().is_not_found());
}

async fn a_rule_that_differs_is_reported_with_both_sides(client: Client) {
    let events = table::<Plain>(&client);
    let union = |rules: [GcRule; 2]| GcRule::union(rules);
    let (one, week) = (GcRule::max_versions(1), GcRule::max_age(WEEK));
    events.create().family("a", union([one.clone(), week.clone()])).await.unwrap();
    // The order of the rules does not matter.
    events.create().family("a", union([week.clone(), one.clone()])).verify().await.unwrap();
    let error = events.create().family("a", GcRule::intersection([one, week])).verify().await.unwrap_err();
    assert!(error.is_table_mismatch(), "{error}");
    for part in [
        "table `events`",
        "the column family `a`",
        "expected `all but the newest version and older than 7 days`",
        "found `all but the newest version or older than 7 days`",
    ] {
        assert!(error.to_string().contains(part), "{error}");
    }
    let sums = events.create().aggregate_family("cf", Aggregate::Sum, GcRule::max_versions(1));
    mismatches(sums.verify().await, "expected `sums`, found `bytes`");
}

async fn a_missing_family_is_reported(client: Client) {
    let events = table::<Plain>(&client);
    assert!(events.verify().await.unwrap_err().is_not_found());
    events.create_if_absent().await.unwrap();
    events.verify().await.unwrap();
    mismatches(events.clone().family("other").verify().await, "without the column family `other`");
    // Families that are not declared are accepted.
    events.modify_families([FamilyChange::add(Family::new("more", GcRule::never()))]).await.unwrap();
    events.create().verify().await.unwrap();
}

async fn an_invalid_table_is_rejected_before_any_request(client: Client) {
    let events = table::<Plain>(&client);
    let errors = [
        events.create().family("cf", GcRule::max_versions(0)).await.unwrap_err(),
        events.create().family("no/name", GcRule::never()).await.unwrap_err(),
        events.create().family("keyderive", GcRule::never()).await.unwrap_err(),
        // In SQL, the name would mean both a family and a column.
        table::<OfFamily>(&client).create_if_absent().await.unwrap_err(),
    ];
    for error in errors {
        assert!(error.kind() == ErrorKind::InvalidArgument && error.attempts() == 0, "{error}");
        assert!(error.to_string().contains("table `events`"), "{error}");
    }
    let error = events.create().split_at(&plain("a#b", 0)).if_absent().await.unwrap_err();
    assert!(error.kind() == ErrorKind::InvalidKey && error.to_string().contains("`user`"), "{error}");
    assert_eq!(client.list_tables().await.unwrap(), [""; 0]);
    table::<OfFamily>(&client).create().without_row_key_schema().await.unwrap();
}

/// The registry has the stored layout.
async fn what_differs_from_the_stamped_layout_is_said(client: Client) {
    let events = table::<Plain>(&client);
    events.create_if_absent().await.unwrap();
    let padded = table::<Padded>(&client);
    let key = Padded { user: "alice".into(), at: 1 };
    for error in [
        padded.verify().await.unwrap_err(),
        padded.create().verify().await.unwrap_err(),
        padded.create_if_absent().await.unwrap_err(),
        padded.get(&key).await.unwrap_err(),
    ] {
        assert!(error.is_table_mismatch(), "{error}");
        let (expected, found) = (Padded::fingerprint().to_string(), Plain::fingerprint().to_string());
        for part in ["table `events`", "the width of the field `at`", &expected, &found, "`Padded`"] {
            assert!(error.to_string().contains(part), "{error}");
        }
    }
    assert!(events.verify().await.unwrap().stamp);
}

/// Law 20: the user's table has the user's rows.
async fn a_table_has_the_rows_of_its_user_alone(client: Client) {
    let events = table::<Plain>(&client);
    events.create_if_absent().await.unwrap();
    assert!(!events.create_if_absent().await.unwrap());
    events.stamp().await.unwrap();
    events.verify().await.unwrap();
    let key = plain("alice", 1);
    events.put(&key, &row("login")).await.unwrap();
    let mut stored = client.raw_table("events").read_rows(ReadRows::all());
    let mut keys = Vec::new();
    while let Some(row) = stored.next().await {
        keys.push(row.unwrap().key().to_vec());
    }
    assert_eq!(keys, [key.encode().unwrap().to_vec()]);
    assert_eq!(client.list_tables().await.unwrap(), ["events", "keyderive"]);
    client.delete_table("events").await.unwrap();
    assert_eq!(client.list_tables().await.unwrap(), ["keyderive"]);
}

/// The emulator applies changes in order, and keeps the earlier ones when one fails.
#[tokio::test]
async fn families_are_changed_all_or_none() {
    let client = Client::embedded();
    let events = table::<Plain>(&client);
    events.create().family("new", GcRule::never()).await.unwrap();
    let before = events.info().await.unwrap();
    for refused in [
        vec![FamilyChange::drop("new"), FamilyChange::drop("absent")],
        vec![FamilyChange::drop("new"), FamilyChange::add(Family::new("cf", GcRule::never()))],
    ] {
        let error = events.modify_families(refused).await.unwrap_err();
        assert!(error.to_string().starts_with("ModifyColumnFamilies on table `events` failed"), "{error}");
        assert!(!error.is_table_mismatch() && error.attempts() == 1, "{error}");
        assert_eq!(events.info().await.unwrap(), before);
    }
}

/// The emulator has no tablets.
#[tokio::test]
async fn a_table_is_split_in_every_bucket() {
    let client = Client::embedded();
    let splits = async |name: &str| {
        let samples = client.raw_table(name).sample_row_keys().await.unwrap();
        let keys = samples.into_iter().map(|(key, _)| key).filter(|key| !key.is_empty());
        keys.map(|key| String::from_utf8(key.to_vec()).unwrap()).collect::<Vec<_>>()
    };
    let salted = client.table::<Salted, Row>("salted");
    salted.create().split_at(&Salted { user: "m".into(), at: 0 }).await.unwrap();
    let inside = |bucket: &str| format!("{bucket}#m#00000000000000000000");
    let (first, rest) = (inside("0"), ["1", "2", "3"].map(|bucket| [format!("{bucket}#"), inside(bucket)]));
    assert_eq!(splits("salted").await, [&[first][..], &rest.concat()].concat());

    client.table::<Plain, Row>("plain").create().split_at(&plain("m", 0)).await.unwrap();
    assert_eq!(splits("plain").await, ["m#00000000000000000000"]);
}

/// The emulator keeps the last input instead of the minimum or the maximum.
#[tokio::test]
async fn aggregate_families_keep_the_least_and_the_greatest() {
    let client = Client::embedded();
    let (min, max) = (Aggregate::Min, Aggregate::Max);
    let families =
        [("least", min), ("most", max)].map(|(name, of)| Family::aggregate(name, of, GcRule::never()));
    let raw = client.raw_table("events");
    raw.create(families, [""; 0]).await.unwrap();
    for amount in [5, -2, 4] {
        let add = ["least", "most"].map(|family| Mutation::add_to_cell(family, "q", 0, amount));
        raw.mutate_row("k", add).await.unwrap();
    }
    let stored = raw.read_row("k", None).await.unwrap().unwrap();
    let values = stored.cells().map(|cell| i64::from_be_bytes(cell.value().try_into().unwrap()));
    assert_eq!(values.clone().collect::<Vec<_>>(), [-2, 5]);
    assert_eq!(values.rev().collect::<Vec<_>>(), [5, -2]);
}

/// The embedded Bigtable stores row key schemas, as the service does; the emulator ignores them.
#[tokio::test]
async fn a_row_key_schema_is_kept_and_compared() {
    let client = Client::embedded();
    let events = table::<Plain>(&client);
    events.create_if_absent().await.unwrap();
    assert!(events.verify().await.unwrap().row_key_schema);
    assert!(events.create().verify().await.unwrap().row_key_schema);
    let info = events.info().await.unwrap();
    assert_eq!(info.row_key_schema().unwrap().to_string(), "`user` STRING, `at` STRING, delimited by `#`");

    // The stamp would be named first.
    let stamp = stamp_of(&info, Plain::fingerprint()).unwrap().clone();
    events.modify_families([FamilyChange::drop(stamp.name())]).await.unwrap();
    let error = table::<Ordered>(&client).verify().await.unwrap_err();
    assert!(error.is_table_mismatch(), "{error}");
    assert_eq!(
        error.to_string(),
        "table `events`: its row key schema is not that of `Ordered`: column 2, `at`, should be INT64 and is STRING; \
         expected `user` STRING, `at` INT64, in ordered code, found `user` STRING, `at` STRING, delimited by `#`; use the key type \
         that the table was created with, or take the schema away with `remove_row_key_schema`"
    );
    events.modify_families([FamilyChange::add(stamp)]).await.unwrap();
    mismatches(events.create().without_row_key_schema().verify().await, "expected none, found `user` STRING");
    let ordered = client.table::<Ordered, Row>("ordered");
    ordered.create_if_absent().await.unwrap();
    assert!(ordered.verify().await.unwrap().row_key_schema);
}

/// SQL that names a column of the schema would fail at a key of the other type.
#[tokio::test]
async fn a_row_key_schema_is_removed() {
    let client = Client::embedded();
    let events = table::<TaggedA>(&client);
    events.create_if_absent().await.unwrap();
    events.put(&TaggedA { user: "alice".into() }, &row("login")).await.unwrap();
    assert!(events.info().await.unwrap().row_key_schema().is_some());
    events.remove_row_key_schema().await.unwrap();
    client.raw_table("events").remove_row_key_schema().await.unwrap();
    assert!(!events.verify().await.unwrap().row_key_schema);
    assert!(!events.create_if_absent().await.unwrap());
    assert_eq!(events.count(TaggedA::scan()).await.unwrap(), 1);
    let error = client.raw_table("absent").remove_row_key_schema().await.unwrap_err();
    assert!(error.is_not_found(), "{error}");
}

#[tokio::test]
async fn an_emulator_without_row_key_schemas_is_accepted() {
    let Some((_emulator, client)) = crate::servers::emulator().await else { return };
    let events = table::<Plain>(&client);
    events.create_if_absent().await.unwrap();
    for verified in [events.verify().await.unwrap(), events.create().verify().await.unwrap()] {
        assert!(!verified.row_key_schema);
    }
    // Nothing is sent to it but a read.
    events.remove_row_key_schema().await.unwrap();
}
