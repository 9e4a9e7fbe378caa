//! Row types in the order in which the registry first had them: the older of two need not read what only the newer one reads.

use std::collections::BTreeMap;
use std::time::{Duration, UNIX_EPOCH};

use keyderive::embedded::{Bigtable, Fault, FaultRule, Faults, Method};
use keyderive::row::{Mutation, RawCell, RowFilter};
use keyderive::{Client, GcRule, Row, RowKey, Table};
use keyderive_tests::fixtures::created;

use super::{Counted, EventKey, event, key, refused};
use crate::servers::on_every_bigtable;

/// A column that gets a new name, in releases.
#[derive(Row, Debug, Default, PartialEq)]
struct Before {
    mail: Option<i64>,
}

#[derive(Row, Debug, Default, PartialEq)]
struct Release1 {
    #[row(alias = "email")]
    mail: Option<i64>,
}

#[derive(Row, Debug, Default, PartialEq)]
struct Release2 {
    #[row(alias = "mail")]
    email: Option<i64>,
}

#[derive(Row, Debug, Default, PartialEq)]
struct After {
    email: Option<i64>,
}

on_every_bigtable! {
    an_older_release_starts_again_beside_a_new_former_name
    columns_first_and_rows_later
    a_dropped_former_name_is_refused_until_its_type_is_retired
    columns_under_a_former_name_are_not_hidden
}

fn table<R: Row>(client: &Client) -> Table<EventKey, R> {
    client.table("events")
}

async fn put<R: Row + Default>(client: &Client) -> Result<(), keyderive::Error> {
    table::<R>(client).put(&key("a"), &R::default()).await
}

/// Retires the oldest type.
async fn retire_oldest(client: &Client) {
    let events = table::<After>(client);
    let types = events.row_types().await.unwrap();
    assert!(events.retire_row_type(&types[0].fingerprint).await.unwrap());
    assert!(!events.retire_row_type(&types[0].fingerprint).await.unwrap());
}

async fn an_older_release_starts_again_beside_a_new_former_name(client: Client) {
    table::<Before>(&client).create_if_absent().await.unwrap();
    put::<Before>(&client).await.unwrap();
    put::<Release1>(&client).await.unwrap();
    // It starts again, or a rollback does.
    put::<Before>(&client).await.unwrap();
    table::<Before>(&client).increment(&key("a"), Before::MAIL, 1).await.unwrap();
    put::<Release1>(&client).await.unwrap();
    let types = table::<Before>(&client).row_types().await.unwrap();
    let names: Vec<_> = types.iter().map(|row_type| (&*row_type.name, row_type.is_of_rows)).collect();
    assert_eq!(names, [("Before", true), ("Release1", true)]);

    retire_oldest(&client).await;
    for _ in 0..2 {
        let text = refused(put::<Before>(&client).await);
        assert!(text.contains("`Release1`") && text.contains("lost the alias `cf:email`"), "{text}");
        assert!(text.contains("was retired") && !text.contains("retire_row_type"), "{text}");
    }
    put::<Release2>(&client).await.unwrap();
    refused(put::<Before>(&client).await);
    put::<Release1>(&client).await.unwrap();
}

async fn columns_first_and_rows_later(client: Client) {
    table::<Before>(&client).create_if_absent().await.unwrap();
    let (before, at) = (table::<Before>(&client), key("a"));
    before.update(&at).set(Before::MAIL, 1).await.unwrap();
    table::<Release1>(&client).update(&at).set(Release1::MAIL, 2).await.unwrap();
    // The type is as old as its first column.
    put::<Before>(&client).await.unwrap();
    put::<Release1>(&client).await.unwrap();
    before.update(&at).set(Before::MAIL, 3).await.unwrap();
    table::<Before>(&client).update(&at).set(Before::MAIL, 4).await.unwrap();
    put::<Before>(&client).await.unwrap();
    assert_eq!(table::<Release1>(&client).row_types().await.unwrap().len(), 4);
    // Both kinds at once.
    retire_oldest(&client).await;
    assert_eq!(table::<Release1>(&client).row_types().await.unwrap().len(), 2);
    let changed = table::<Before>(&client).update(&at).set(Before::MAIL, 5).await;
    assert!(refused(changed).contains("was retired"));
}

async fn a_dropped_former_name_is_refused_until_its_type_is_retired(client: Client) {
    table::<Before>(&client).create_if_absent().await.unwrap();
    put::<Release2>(&client).await.unwrap();
    let text = refused(put::<After>(&client).await);
    assert!(text.contains("lost the alias `cf:mail`"), "{text}");
    assert!(text.contains("If this program's type is the newer one") && text.contains("retire_row_type(\""));
    retire_oldest(&client).await;
    put::<After>(&client).await.unwrap();
    // It is the newer one now, and reads what the other stores.
    put::<Release2>(&client).await.unwrap();
    put::<After>(&client).await.unwrap();
}

/// An increment of one program would hide the value that another finds under a former name.
async fn columns_under_a_former_name_are_not_hidden(client: Client) {
    type Map = BTreeMap<String, i64>;
    let entry = |name: &str| Map::from([(name.to_owned(), 1)]);
    table::<Before>(&client).create_if_absent().await.unwrap();
    let at = key("a");
    put::<Before>(&client).await.unwrap();
    table::<Before>(&client).update(&at).set(Before::MAIL, 100).await.unwrap();
    retire_oldest(&client).await;
    table::<Release2>(&client).update(&key("b")).set(Release2::EMAIL, 1).await.unwrap();

    let after = || table::<After>(&client);
    refused(after().increment(&at, After::EMAIL, 1).await);
    refused(after().update(&at).set(After::EMAIL, 1).await);
    refused(after().update(&at).set(After::EMAIL, 1).only_if(After::EMAIL.absent()).await);
    refused(after().merge(&at, &After { email: Some(1) }).await);
    refused(table::<Map>(&client).merge(&at, &entry("email")).await);
    assert_eq!(table::<Release2>(&client).get(&at).await.unwrap(), Some(Release2 { email: Some(100) }));

    // The other way round: a map reads all names, and the other program deletes one.
    let client = client.with(|_| ());
    let other = || client.table::<EventKey, Release2>("maps");
    other().create_if_absent().await.unwrap();
    client.table::<EventKey, Map>("maps").merge(&at, &entry("mail")).await.unwrap();
    refused(other().update(&at).set(Release2::EMAIL, 1).await);
}

/// When the record of a table has which row types since, in milliseconds.
async fn times(client: &Client) -> BTreeMap<String, i64> {
    let newest = Some(RowFilter::latest(1));
    let row = client.raw_table("keyderive").read_row("table/events", newest).await.unwrap().unwrap();
    let of_row = |cell: &RawCell<'_>| cell.qualifier().starts_with(b"row:");
    let time = |cell: RawCell<'_>| {
        (String::from_utf8(cell.value().to_vec()).unwrap(), cell.timestamp_micros() / 1000)
    };
    row.cells().filter(of_row).map(time).collect()
}

/// A Bigtable whose clock stands, with a table.
async fn stopped() -> Bigtable {
    let bigtable = Bigtable::in_memory();
    bigtable.set_time(UNIX_EPOCH + Duration::from_secs(1000));
    bigtable.pause_garbage_collection();
    table::<Before>(&bigtable.client()).create_if_absent().await.unwrap();
    bigtable
}

/// Programs that have read the record before any of them wrote.
async fn with_old_records<const COUNT: usize>(bigtable: &Bigtable) -> [Client; COUNT] {
    let clients = [(); COUNT].map(|()| bigtable.client());
    for client in &clients {
        table::<Before>(client).create_if_absent().await.unwrap();
    }
    clients
}

#[tokio::test(start_paused = true)]
async fn a_type_keeps_the_time_at_which_it_was_first_declared() {
    let bigtable = stopped().await;
    let [one, two, three] = with_old_records(&bigtable).await;
    put::<Before>(&one).await.unwrap();
    bigtable.advance(Duration::from_secs(10));
    put::<Release1>(&three).await.unwrap();
    bigtable.advance(Duration::from_secs(10));
    tokio::time::advance(Duration::from_secs(59)).await;
    put::<Before>(&two).await.unwrap();
    let expected = [("Before".to_owned(), 1_000_000), ("Release1".to_owned(), 1_010_000)];
    assert_eq!(times(&bigtable.client()).await, BTreeMap::from(expected));
    put::<Before>(&bigtable.client()).await.unwrap();
    put::<Release1>(&bigtable.client()).await.unwrap();
}

/// Whoever declares a type has compared it with all that the registry has, however old the record is that it has read.
#[tokio::test(start_paused = true)]
async fn old_records_let_no_two_types_in_that_do_not_fit() {
    let bigtable = stopped().await;
    let [one, two, three] = with_old_records(&bigtable).await;
    put::<Before>(&one).await.unwrap();
    let other = table::<Release2>(&two);
    refused(other.put(&key("a"), &Release2 { email: Some(1) }).await);
    refused(table::<Release2>(&three).update(&key("a")).set(Release2::EMAIL, 1).await);
    assert_eq!(times(&two).await.len(), 1);
    put::<Before>(&one).await.unwrap();
}

/// The clock of one server is late.
#[tokio::test]
async fn a_type_is_later_than_those_that_it_was_compared_with() {
    let bigtable = stopped().await;
    put::<Before>(&bigtable.client()).await.unwrap();
    bigtable.set_time(UNIX_EPOCH + Duration::from_secs(900));
    put::<Release1>(&bigtable.client()).await.unwrap();
    put::<Before>(&bigtable.client()).await.unwrap();
    put::<Release1>(&bigtable.client()).await.unwrap();
    bigtable.collect_garbage().await.unwrap();
    let expected = [("Before".to_owned(), 1_000_000), ("Release1".to_owned(), 1_000_001)];
    assert_eq!(times(&bigtable.client()).await, BTreeMap::from(expected));
}

#[tokio::test(start_paused = true)]
async fn a_registration_whose_answer_is_lost_counts_once() {
    let bigtable = stopped().await;
    let lost = FaultRule::fail(Fault::unavailable().after_the_call());
    let lost = lost.methods([Method::CheckAndMutateRow]).tables(["keyderive"]).times(2);
    let faulty = bigtable.with_faults(Faults::seeded(0).rule(lost));
    put::<Before>(&faulty.client()).await.unwrap();
    bigtable.advance(Duration::from_secs(5));
    put::<Release1>(&faulty.client()).await.unwrap();
    put::<Before>(&bigtable.client()).await.unwrap();
    assert_eq!(times(&bigtable.client()).await["Before"], 1_000_000);
    refused(table::<Texts>(&bigtable.client()).put(&key("a"), &Texts { mail: None }).await);
}

#[derive(Row)]
struct Texts {
    mail: Option<String>,
}

/// As programs of the release before declare them: anew, whenever a handle does not know that they did.
#[tokio::test]
async fn records_of_before_are_read_and_refuse_too_much_rather_than_too_little() {
    let bigtable = stopped().await;
    let client = bigtable.client();
    put::<Before>(&client).await.unwrap();
    put::<Release1>(&client).await.unwrap();
    let row = client.raw_table("keyderive").read_row("table/events", None).await.unwrap().unwrap();
    let column = |name: &str| {
        let is_of = |cell: &RawCell<'_>| cell.value() == name.as_bytes();
        row.cells().find(is_of).unwrap().qualifier().to_vec()
    };
    let anew =
        |name: &str, seconds: i64| Mutation::set("cf", column(name), seconds * 1_000_000, name.to_owned());
    let raw = client.raw_table("keyderive");
    raw.mutate_row("table/events", [anew("Before", 2000)]).await.unwrap();
    bigtable.collect_garbage().await.unwrap();
    let text = refused(put::<Before>(&bigtable.client()).await);
    assert!(text.contains("If this program's type is the newer one"), "{text}");
    put::<Release1>(&bigtable.client()).await.unwrap();

    // From the same time, each counts as the newer one.
    raw.mutate_row("table/events", [anew("Release1", 2000)]).await.unwrap();
    let text = refused(put::<Before>(&bigtable.client()).await);
    assert!(text.contains("the same time") && !text.contains("retire_row_type"), "{text}");
    put::<Release1>(&bigtable.client()).await.unwrap();
    let types = table::<Before>(&client).row_types().await.unwrap();
    assert_eq!(types.len(), 2);
    raw.mutate_row("table/events", [anew("Release1", 2001)]).await.unwrap();
    put::<Before>(&bigtable.client()).await.unwrap();
}

/// An older program whose type does not fit, as after two first writes at the same moment.
#[tokio::test]
async fn the_older_of_two_is_not_told_to_retire_the_newer_one() {
    let bigtable = stopped().await;
    let client = bigtable.client();
    put::<Before>(&client).await.unwrap();
    let others = created::<EventKey, Texts>(&client, "others").await;
    others.put(&key("a"), &Texts { mail: None }).await.unwrap();
    let raw = client.raw_table("keyderive");
    let row =
        raw.read_row("table/others", Some(RowFilter::qualifier_regex("row:.*"))).await.unwrap().unwrap();
    let column = row.cells().next().unwrap().qualifier().to_vec();
    let set = Mutation::set("cf", column, 2_000_000_000, "Texts");
    raw.mutate_row("table/events", [set]).await.unwrap();
    let text = refused(put::<Before>(&bigtable.client()).await);
    assert!(text.contains("as programs with `Texts` see it, `cf:mail` was"), "{text}");
    assert!(text.contains("is the older one") && !text.contains("retire_row_type"), "{text}");
    let newer = table::<Texts>(&bigtable.client());
    assert!(refused(newer.put(&key("a"), &Texts { mail: None }).await).contains("retire_row_type(\""));
}

#[derive(RowKey, Clone, Debug, PartialEq)]
#[salt(range = 4, over = "user")]
struct SaltedKey {
    user: String,
}

impl From<EventKey> for SaltedKey {
    fn from(key: EventKey) -> Self {
        Self { user: key.user }
    }
}

impl From<&SaltedKey> for EventKey {
    fn from(key: &SaltedKey) -> Self {
        Self { user: key.user.clone() }
    }
}

/// The new table has the types in the order of the old one, the retired ones too, whatever wrote to the pair first.
#[tokio::test(start_paused = true)]
async fn a_re_keyed_table_has_its_types_in_the_same_order() {
    let bigtable = stopped().await;
    bigtable.advance(Duration::from_secs(1));
    put::<After>(&bigtable.client()).await.unwrap();
    table::<After>(&bigtable.client()).row_types().await.unwrap();
    retire_oldest(&bigtable.client()).await;
    put::<Before>(&bigtable.client()).await.unwrap();
    bigtable.advance(Duration::from_secs(1));
    put::<Release1>(&bigtable.client()).await.unwrap();
    bigtable.advance(Duration::from_secs(1));

    let at = SaltedKey { user: "a".into() };
    let driver = bigtable.client().rekeyed::<EventKey, SaltedKey, ()>("events", "new").await.unwrap();
    let older = bigtable.client().rekeyed::<EventKey, SaltedKey, Before>("events", "new").await.unwrap();
    let newer = bigtable.client().rekeyed::<EventKey, SaltedKey, Release1>("events", "new").await.unwrap();
    driver.migration().run().await.unwrap();
    newer.put(&at, &Release1::default()).await.unwrap();
    older.put(&at, &Before::default()).await.unwrap();
    driver.migration().finish().await.unwrap();
    let plain = |client: Client| client.table::<SaltedKey, Before>("new");
    plain(bigtable.client()).put(&at, &Before::default()).await.unwrap();
    bigtable.client().table::<SaltedKey, Release1>("new").put(&at, &Release1::default()).await.unwrap();
    let gone = bigtable.client().table::<SaltedKey, After>("new");
    assert!(refused(gone.put(&at, &After::default()).await).contains("was retired"));
}

#[tokio::test]
async fn rules_of_other_columns_stay() {
    let bigtable = stopped().await;
    let client = bigtable.client();
    put::<Before>(&client).await.unwrap();
    // A program that writes columns beside those of others.
    table::<Counted>(&client).increment(&key("a"), Counted::VIEWS, 1).await.unwrap();
    let other = created::<EventKey, super::Event>(&client, "plain").await;
    other.put(&key("a"), &event()).await.unwrap();
    let rule = client.table_info("keyderive").await.unwrap().families()[0].gc_rule().clone();
    assert_eq!(rule, GcRule::max_versions(1));
}
