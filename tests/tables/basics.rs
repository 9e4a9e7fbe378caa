//! Single rows, bulk writes, and scans that fail.

use keyderive::{Client, ErrorKind, Row, RowKey, Table};
use keyderive_tests::fixtures::{EventKey, assert_error, created};

use crate::servers::on_every_bigtable;

/// Keys in the range of bucket 2 of [`EventKey`] that do not decode as one.
#[derive(RowKey, Clone, Debug, PartialEq)]
#[row_key(tag = "2")]
struct OtherKey {
    name: String,
}

#[derive(Row, Clone, Debug, Default, PartialEq)]
struct Event {
    kind: Option<String>,
    amount: Option<f64>,
    count: Option<i64>,
}

type Events = Table<EventKey, Event>;

fn key(user: &str, at: u64) -> EventKey {
    EventKey { user: user.into(), at }
}

fn event(kind: &str) -> Event {
    Event { kind: Some(kind.into()), amount: Some(-0.5), count: Some(i64::MIN) }
}

async fn events(client: &Client) -> Events {
    created(client, "events").await
}

/// The keys of all rows.
async fn keys(events: &Events) -> Vec<EventKey> {
    events.scan(EventKey::scan()).collect().await.unwrap().into_iter().map(|(key, _)| key).collect()
}

on_every_bigtable! {
    a_table_is_created_once
    a_table_without_the_family_is_an_error
    an_absent_key_between_others_finds_nothing
    a_row_without_columns_exists_until_it_is_deleted
    put_all_splits_what_one_request_cannot_hold
    put_all_writes_the_rows_in_front_of_a_bad_key
    limits_count_rows_over_all_buckets
    a_limit_of_zero_asks_nothing
    a_plan_error_is_the_first_and_last_item
    a_dropped_stream_leaves_the_client_usable
    a_foreign_row_ends_the_scan
    a_table_that_is_not_there_is_named
}

async fn a_table_is_created_once(client: Client) {
    let events: Events = created(&client, "events").await;
    events.put(&key("alice", 1), &event("login")).await.unwrap();
    assert!(!events.create_if_absent().await.unwrap());
    assert_eq!(events.get(&key("alice", 1)).await.unwrap(), Some(event("login")));

    client.delete_table("events").await.unwrap();
    assert!(events.create_if_absent().await.unwrap());
    assert_eq!(events.get(&key("alice", 1)).await.unwrap(), None);
}

async fn a_table_without_the_family_is_an_error(client: Client) {
    #[derive(Row)]
    #[row(family = "other")]
    struct Other {
        kind: Option<String>,
    }
    events(&client).await;
    let events = client.table::<EventKey, Other>("events");
    let error = events.create_if_absent().await.unwrap_err().to_string();
    for part in ["table `events`", "without the column family `other`", "it has `cf`"] {
        assert!(error.contains(part), "{error}");
    }
    // The codes differ between the two Bigtables; both texts name the family.
    let error = events.put(&key("alice", 1), &Other { kind: None }).await.unwrap_err().to_string();
    assert!(error.contains("table `events`") && error.contains("other"), "{error}");
}

async fn an_absent_key_between_others_finds_nothing(client: Client) {
    let events = events(&client).await;
    let stored = [key("10:123", 5), key("10:123", 7), key("10:1234", 6), key("10:12", 6)];
    events.put_all(stored.iter().map(|key| (key.clone(), event("login")))).await.unwrap();
    for absent in [key("10:123", 6), key("10:1", 6), key("10:123", 0), key("10:123", u64::MAX), key("", 6)] {
        assert_eq!(events.get(&absent).await.unwrap(), None, "{absent:?}");
        let scan = events.scan(EventKey::scan().user(&absent.user).at(absent.at));
        assert_eq!(scan.limit(1).collect().await.unwrap(), [], "{absent:?}");
    }
    let scan = events.scan(EventKey::scan().user("10:123").at(7));
    assert_eq!(scan.collect().await.unwrap(), [(key("10:123", 7), event("login"))]);
}

async fn a_row_without_columns_exists_until_it_is_deleted(client: Client) {
    let events = events(&client).await;
    events.put(&key("alice", 1), &Event::default()).await.unwrap();
    events.put(&key("alice", 2), &event("")).await.unwrap();
    assert_eq!(events.get(&key("alice", 1)).await.unwrap(), Some(Event::default()));
    assert_eq!(keys(&events).await, [key("alice", 1), key("alice", 2)]);
    events.delete(&key("alice", 1)).await.unwrap();
    events.delete(&key("alice", 1)).await.unwrap();
    assert_eq!(events.get(&key("alice", 1)).await.unwrap(), None);
    assert_eq!(keys(&events).await, [key("alice", 2)]);
}

/// 40,000 rows of three columns exceed the 100,000 mutations of a request, which the embedded Bigtable rejects.
async fn put_all_splits_what_one_request_cannot_hold(client: Client) {
    let events = events(&client).await;
    let stored: Vec<_> = (0..40_000).map(|at| key("alice", at)).collect();
    events.put_all(stored.iter().map(|key| (key.clone(), event("login")))).await.unwrap();
    assert!(keys(&events).await == stored);
    // Writing no rows sends no request.
    let absent: Events = client.table("absent");
    absent.put_all(std::iter::empty::<(EventKey, Event)>()).await.unwrap();
}

async fn put_all_writes_the_rows_in_front_of_a_bad_key(client: Client) {
    let events = events(&client).await;
    let rows = [key("alice", 1), key("a#b", 2), key("alice", 3)].map(|key| (key, event("login")));
    let error = events.put_all(rows).await.unwrap_err();
    assert_error(&error, ErrorKind::InvalidKey, &["`user`"]);
    assert!(error.to_string().contains("row 1 of the input"), "{error}");
    assert_eq!(keys(&events).await, [key("alice", 1)]);
}

async fn limits_count_rows_over_all_buckets(client: Client) {
    let events = events(&client).await;
    let stored: Vec<_> = (0..100).map(|user| key(&format!("user{user:02}"), user)).collect();
    events.put_all(stored.iter().rev().map(|key| (key.clone(), event("login")))).await.unwrap();
    for limit in [1, 2, 50, 99, 100, 101, u64::MAX] {
        let rows = events.scan(EventKey::scan()).limit(limit).collect().await.unwrap();
        let expected = stored.iter().take(usize::try_from(limit).unwrap());
        assert!(rows.iter().map(|(key, _)| key).eq(expected), "limit {limit}: {rows:?}");
    }
}

async fn a_limit_of_zero_asks_nothing(client: Client) {
    let absent: Events = client.table("absent");
    let rows = absent.scan(EventKey::scan()).limit(0).collect().await.unwrap();
    assert_eq!(rows, []);
    // Nor does a plan that no row can satisfy.
    let rows = absent.scan(EventKey::scan().user("alice").at_range(7..7)).collect().await.unwrap();
    assert_eq!(rows, []);
}

async fn a_plan_error_is_the_first_and_last_item(client: Client) {
    let events = events(&client).await;
    let mut rows = events.scan(EventKey::scan().user("a#b")).limit(0).stream();
    let error = rows.next().await.unwrap().unwrap_err();
    assert_error(&error, ErrorKind::InvalidKey, &["`user`"]);
    assert!(rows.next().await.is_none());
}

/// More streams than a connection to Bigtable allows.
async fn a_dropped_stream_leaves_the_client_usable(client: Client) {
    let events = events(&client).await;
    let stored: Vec<_> = (0..10_000).map(|at| key(["alice", "bob"][usize::from(at >= 5_000)], at)).collect();
    events.put_all(stored.iter().map(|key| (key.clone(), event("login")))).await.unwrap();
    drop(events.scan(EventKey::scan()).stream());
    for _ in 0..150 {
        let mut rows = events.scan(EventKey::scan()).stream();
        assert_eq!(rows.next().await.unwrap().unwrap().0, stored[0]);
    }
    assert!(keys(&events).await == stored);
}

async fn a_foreign_row_ends_the_scan(client: Client) {
    let events = events(&client).await;
    let stored: Vec<_> = ["alice", "bob", "carol", "dave", "erin", "frank"].map(|user| key(user, 1)).into();
    events.put_all(stored.iter().map(|key| (key.clone(), event("login")))).await.unwrap();
    let others = client.table::<OtherKey, Event>("events").unchecked();
    let other = OtherKey { name: "c".into() };
    others.put(&other, &event("other")).await.unwrap();

    let mut rows = events.scan(EventKey::scan()).stream();
    assert_eq!(rows.next().await.unwrap().unwrap().0, stored[0]);
    assert_eq!(rows.next().await.unwrap().unwrap().0, stored[1]);
    let error = rows.next().await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ForeignRow, "{error}");
    assert_eq!(error.row_key(), Some(&b"2#c"[..]));
    assert!(error.to_string().contains("table `events`") && error.to_string().contains("2#c"), "{error}");
    assert!(rows.next().await.is_none());

    // A scan of other keys does not meet the row.
    let rows = events.scan(EventKey::scan().user("carol")).collect().await.unwrap();
    assert_eq!(rows, [(key("carol", 1), event("login"))]);
    assert_eq!(others.get(&other).await.unwrap(), Some(event("other")));
}

async fn a_table_that_is_not_there_is_named(client: Client) {
    let absent: Events = client.table("absent");
    let one = key("alice", 1);
    let mut rows = absent.scan(EventKey::scan()).stream();
    for error in [
        absent.get(&one).await.unwrap_err(),
        absent.put(&one, &event("login")).await.unwrap_err(),
        absent.put_all([(one.clone(), event("login"))]).await.unwrap_err(),
        absent.delete(&one).await.unwrap_err(),
        rows.next().await.unwrap().unwrap_err(),
        client.delete_table("absent").await.unwrap_err(),
    ] {
        assert!(error.is_not_found(), "{error}");
        assert!(error.to_string().contains("table `absent`"), "{error}");
    }
    assert!(rows.next().await.is_none());
}

/// Futures of calls with borrowing closures are `Send`.
#[tokio::test]
async fn writes_of_many_rows_are_spawned() {
    let client = Client::embedded();
    let events = events(&client).await;
    let spawned = tokio::spawn(async move {
        let numbers = [1, 2, 3_u64];
        events.put_all(numbers.iter().map(|at| (key("alice", *at), event("login")))).await?;
        events.merge_all(numbers.iter().map(|at| (key("alice", *at), event("logout")))).await?;
        let rows: Vec<_> = numbers.iter().map(|at| (key("bob", *at), event("login"))).collect();
        events.put_all(rows.iter().filter(|(key, _)| key.at > 1)).await?;
        events.scan(EventKey::scan()).count().await
    });
    assert_eq!(spawned.await.unwrap().unwrap(), 5);
}
