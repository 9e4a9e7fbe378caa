//! How scans run: direction, filters, pages, foreign rows, partitions, and operations on the rows of a plan.

use std::collections::BTreeSet;

use keyderive::plan::Plan;
use keyderive::row::RowFilter;
use keyderive::{Client, Error, ErrorKind, OnForeign, Row, RowKey, Table};
use keyderive_tests::fixtures::{assert_error, created, fails};

use crate::servers::on_every_bigtable;

#[derive(RowKey, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[salt(range = 4, over = "user,at")]
struct EventKey {
    user: String,
    at: u16,
}

/// Keys in the range of bucket 2 of [`EventKey`] that do not decode as one.
#[derive(RowKey, Clone, Debug, PartialEq)]
#[row_key(tag = "2")]
struct OtherKey {
    name: String,
}

/// Keys without a tag and a salt.
#[derive(RowKey, Clone, Debug, PartialEq)]
struct PlainKey {
    name: String,
}

#[derive(Row, Clone, Debug, Default, PartialEq)]
struct Event {
    kind: Option<String>,
    count: Option<i64>,
}

/// Only one of the columns.
#[derive(Row, Clone, Debug, PartialEq)]
struct Count {
    count: i64,
}

type Events = Table<EventKey, Event>;

on_every_bigtable! {
    rows_come_backwards
    unordered_rows_are_the_same_rows
    keys_come_without_values
    columns_and_filters_are_left_to_the_server
    several_values_are_read_in_order
    pages_are_one_scan
    pages_of_a_part_stay_in_the_part
    a_token_of_another_scan_is_refused
    foreign_rows_are_skipped_and_counted
    a_limit_holds_behind_foreign_rows
    a_key_filter_reads_on_until_the_limit
    partitions_cover_every_row_once
    rows_of_a_plan_are_counted_and_deleted
    prefixes_are_dropped_and_nothing_else
    a_failure_names_the_last_row
    a_scan_says_how_it_runs
    the_error_of_an_invalid_filter_names_no_bucket
    what_filters_leave_is_counted
    foreign_rows_are_counted_until_an_error
    a_filter_of_keys_fails_at_a_foreign_row_whatever_reads_the_rows
}

fn key(user: &str, at: u16) -> EventKey {
    EventKey { user: user.into(), at }
}

/// 60 rows of three users, in all buckets.
async fn filled(client: &Client) -> (Events, Vec<EventKey>) {
    let events: Events = created(client, "events").await;
    let users = ["alice", "bob", "carol"].into_iter();
    let keys: Vec<_> = users.flat_map(|user| (0..20).map(move |at| key(user, at))).collect();
    let row = |key: &EventKey| Event { kind: Some("login".into()), count: Some(key.at.into()) };
    events.put_all(keys.iter().map(|key| (key.clone(), row(key)))).await.unwrap();
    (events, keys)
}

async fn with_foreign_rows(client: &Client) -> (Events, Vec<EventKey>) {
    let (events, keys) = filled(client).await;
    let others = client.table::<OtherKey, Event>("events").unchecked();
    for name in ["a", "bzz", "carol"] {
        others
            .put(&OtherKey { name: name.into() }, &Event { kind: Some("other".into()), count: None })
            .await
            .unwrap();
    }
    (events, keys)
}

async fn rows_come_backwards(client: Client) {
    let (events, keys) = filled(&client).await;
    let backwards: Vec<_> = keys.iter().rev().cloned().collect();
    let scan = || events.scan(EventKey::scan()).reversed();
    assert_eq!(scan().keys_only().collect().await.unwrap(), backwards);
    assert_eq!(scan().limit(7).keys_only().collect().await.unwrap(), backwards[..7]);
    let scan = events.scan(EventKey::scan().user("bob").at_range(3..=5)).reversed();
    assert!(scan.explain().unwrap().to_string().contains("by at, greatest first"));
    assert_eq!(scan.keys_only().collect().await.unwrap(), [key("bob", 5), key("bob", 4), key("bob", 3)]);
}

async fn unordered_rows_are_the_same_rows(client: Client) {
    let (events, keys) = filled(&client).await;
    let mut rows = events.scan(EventKey::scan()).unordered().keys_only().collect().await.unwrap();
    rows.sort();
    assert_eq!(rows, keys);
    assert_eq!(events.scan(EventKey::scan()).unordered().limit(9).collect().await.unwrap().len(), 9);
}

async fn keys_come_without_values(client: Client) {
    let (events, keys) = filled(&client).await;
    // A key-only scan includes rows that do not read as events.
    let others = crate::registry::without_registry(&client).table::<EventKey, Count>("events");
    others.put(&key("zoe", 1), &Count { count: 1 }).await.unwrap();
    let read = events.scan(EventKey::scan()).keys_only().collect().await.unwrap();
    assert_eq!(read, [&keys[..], &[key("zoe", 1)]].concat());
}

async fn columns_and_filters_are_left_to_the_server(client: Client) {
    let (events, _) = filled(&client).await;
    let counts: Table<EventKey, Count> = client.table("events");
    let rows = counts.scan(EventKey::scan().user("bob").at(7)).select(Count::COUNT).collect().await.unwrap();
    assert_eq!(rows, [(key("bob", 7), 7)]);
    let only = RowFilter::exact_column("cf", "kind");
    let rows = events.scan(EventKey::scan().user("bob").at(7)).filter(only).collect().await.unwrap();
    assert_eq!(rows[0].1, Event { kind: Some("login".into()), count: None });
    let none = RowFilter::exact_column("cf", "other");
    let scan = events.scan(EventKey::scan()).filter(none);
    assert!(scan.explain().unwrap().to_string().contains("at the server"));
    assert!(scan.collect().await.unwrap().is_empty());
}

async fn several_values_are_read_in_order(client: Client) {
    let (events, _) = filled(&client).await;
    let scan = || EventKey::scan().user_any_of(["carol", "nobody", "alice", "carol"]);
    let read = events.scan(scan().at_range(18..)).keys_only().collect().await.unwrap();
    assert_eq!(read, [key("alice", 18), key("alice", 19), key("carol", 18), key("carol", 19)]);
    let read = events.scan(scan().at_any_of([3, 99, 1])).reversed().keys_only().collect().await.unwrap();
    assert_eq!(read, [key("carol", 3), key("carol", 1), key("alice", 3), key("alice", 1)]);
    let none = events.scan(EventKey::scan().user_any_of([""; 0])).collect().await.unwrap();
    assert_eq!(none, []);
}

async fn pages_are_one_scan(client: Client) {
    let (events, keys) = filled(&client).await;
    for (rows, reversed) in [(1, false), (7, false), (7, true), (20, true), (60, false), (100, true)] {
        let scan = || {
            let scan = events.scan(EventKey::scan()).keys_only();
            if reversed { scan.reversed() } else { scan }
        };
        let (mut read, mut token) = (Vec::new(), None::<String>);
        for _ in 0..=keys.len() {
            let page = match &token {
                None => scan().page(rows).await.unwrap(),
                Some(token) => scan().after(token).page(rows).await.unwrap(),
            };
            read.extend(page.rows);
            token = page.next;
            if token.is_none() {
                break;
            }
        }
        if reversed {
            read.reverse();
        }
        assert_eq!(read, keys, "{rows} {reversed}");
    }
}

async fn pages_of_a_part_stay_in_the_part(client: Client) {
    let (events, keys) = filled(&client).await;
    let plan: Plan<EventKey> = EventKey::scan().into_plan().unwrap();
    let token_after = async |rows| events.scan(plan.clone()).page(rows).await.unwrap().next.unwrap();
    let (early, late) = (token_after(4).await, token_after(9).await);
    let of_plan = |rows: usize| plan.page_token(&keys[rows - 1].encode().unwrap(), false);
    let rest = plan.after(&of_plan(9), false).unwrap();

    // In the other direction, the pages end where the part begins.
    let (mut read, mut token) = (Vec::new(), None::<String>);
    for _ in 0..=keys.len() {
        let scan = events.scan(rest.clone()).keys_only().reversed();
        let scan = token.iter().fold(scan, |scan, token| scan.after(token));
        let page = scan.page(7).await.unwrap();
        read.extend(page.rows);
        token = page.next;
        if token.is_none() {
            break;
        }
    }
    read.reverse();
    assert_eq!(read, keys[9..]);

    // A token from before the part does not widen it, also as data.
    assert_eq!(events.scan(rest.clone()).after(&early).keys_only().collect().await.unwrap(), keys[9..]);
    let part = plan.after(&of_plan(4), false).unwrap();
    assert_eq!(events.scan(part).after(&late).keys_only().collect().await.unwrap(), keys[9..]);
    let backwards = rest.page_token(&keys[12].encode().unwrap(), true);
    let part: Plan<EventKey> =
        serde_json::from_str(&serde_json::to_string(&rest.after(&backwards, true).unwrap()).unwrap())
            .unwrap();
    assert_eq!(events.scan(part).keys_only().collect().await.unwrap(), keys[9..12]);
    assert!(plan.after(&backwards, true).is_err(), "it is a token of the part alone");
}

async fn a_token_of_another_scan_is_refused(client: Client) {
    let (events, keys) = filled(&client).await;
    let token = events.scan(EventKey::scan()).page(3).await.unwrap().next.unwrap();
    // Of a plan alone, as those of earlier releases are, and for a plan alone.
    let plan: Plan<EventKey> = EventKey::scan().into_plan().unwrap();
    let of_plan = plan.page_token(&keys[2].encode().unwrap(), false);
    assert!(of_plan.starts_with("01") && token.starts_with("02"), "{of_plan} {token}");
    let without = events.scan(EventKey::scan()).after(&of_plan).page(3).await.unwrap_err();
    assert!(without.to_string().contains("an earlier release of keyderive made it"), "{without}");
    let with = plan.after(&token, false).unwrap_err();
    assert!(
        with.is_invalid_page_token() && with.to_string().contains("a scan of a table made the page token"),
        "{with}"
    );
    let after_plan = events.scan(plan.after(&of_plan, false).unwrap()).keys_only();
    let after_page = events.scan(EventKey::scan()).after(&token).keys_only();
    assert_eq!(after_plan.collect().await.unwrap(), after_page.collect().await.unwrap());
    // Of another table with the same layout.
    let copied = created::<EventKey, Event>(&client, "events-copied").await;
    let table = fails(copied.scan(EventKey::scan()).after(&token).page(3).await, "is of another table");
    assert_eq!(table.kind(), ErrorKind::InvalidPageToken);
    // With other fields of `distinct`, or without.
    let distinct = |count| events.scan(EventKey::scan().user("alice")).distinct(count);
    let plain = || events.scan(EventKey::scan().user("alice")).keys_only();
    let of_distinct = distinct(2).page(3).await.unwrap().next.unwrap();
    let of_plain = plain().page(3).await.unwrap().next.unwrap();
    assert!(distinct(2).after(&of_distinct).page(3).await.is_ok());
    for error in [
        plain().after(&of_distinct).page(3).await.unwrap_err(),
        distinct(2).after(&of_plain).page(3).await.unwrap_err(),
        distinct(1).after(&of_distinct).page(3).await.unwrap_err(),
    ] {
        assert!(error.to_string().contains("another `distinct`, or with none"), "{error}");
    }
    let other = events.scan(EventKey::scan().user("bob")).after(&token).page(3).await.unwrap_err();
    assert!(other.to_string().contains("other constraints"), "{other}");
    fails(events.scan(EventKey::scan()).reversed().after(&token).page(3).await, "other direction");
    let others = client.table::<OtherKey, Event>("events").unchecked();
    let layout = fails(others.scan(OtherKey::scan()).after(&token).page(3).await, "another key layout");
    assert!(layout.kind() == ErrorKind::InvalidPageToken && layout.kind() != ErrorKind::InvalidKey);
    // A truncated or changed token is rejected.
    let cut = (0..token.len()).map(|len| token[..len].to_owned());
    let changed = (0..token.len()).map(|at| {
        let digit = if token.as_bytes()[at] == b'0' { "1" } else { "0" };
        [&token[..at], digit, &token[at + 1..]].concat()
    });
    for token in cut.chain(changed) {
        let error = events.scan(EventKey::scan()).after(&token).page(3).await.unwrap_err();
        assert_error(&error, ErrorKind::InvalidPageToken, &["cannot resume"]);
    }
}

async fn foreign_rows_are_skipped_and_counted(client: Client) {
    let (events, keys) = with_foreign_rows(&client).await;
    let mut rows = events.scan(EventKey::scan()).keys_only().on_foreign(OnForeign::Skip).stream();
    let mut read = Vec::new();
    while let Some(row) = rows.next().await {
        read.push(row.unwrap());
    }
    assert_eq!(read, keys);
    assert_eq!(rows.skipped().foreign(), 3);
    let skipped = rows.skipped();
    let first = skipped.first_foreign().unwrap();
    assert!(
        first.error().kind() == ErrorKind::ForeignRow && OtherKey::decode(first.key()).is_ok(),
        "{first:?}"
    );
    // A scan of the other key type stays within its tag.
    let others = client.table::<OtherKey, Event>("events").unchecked().scan(OtherKey::scan()).keys_only();
    let others = others.on_foreign(OnForeign::Skip).collect().await.unwrap();
    assert_eq!(others.iter().map(|key| key.name.as_str()).collect::<Vec<_>>(), ["a", "bzz", "carol"]);
}

async fn a_limit_holds_behind_foreign_rows(client: Client) {
    let (events, keys) = with_foreign_rows(&client).await;
    for limit in 1..=10 {
        let scan = events.scan(EventKey::scan()).on_foreign(OnForeign::Skip).limit(limit).keys_only();
        assert_eq!(scan.collect().await.unwrap(), keys[..limit as usize]);
    }
}

async fn a_key_filter_reads_on_until_the_limit(client: Client) {
    let (events, keys) = filled(&client).await;
    let expected: Vec<_> = keys.iter().filter(|key| key.at % 9 == 8).take(4).cloned().collect();
    let scan = events.scan(EventKey::scan()).filter_key(|key| key.at % 9 == 8).limit(4);
    assert!(scan.explain().unwrap().to_string().contains("rows are read, and dropped"));
    assert_eq!(scan.keys_only().collect().await.unwrap(), expected);
}

async fn partitions_cover_every_row_once(client: Client) {
    let (events, keys) = filled(&client).await;
    let partitions = events.partitions().await.unwrap();
    assert!(partitions.len() >= 4, "{}", partitions.len());
    let mut read = Vec::new();
    for partition in partitions {
        let sent = serde_json::to_string(&partition).unwrap();
        let partition: Plan<EventKey> = serde_json::from_str(&sent).unwrap();
        read.extend(events.scan(partition).unordered().keys_only().collect().await.unwrap());
    }
    assert_eq!(read.len(), keys.len());
    assert_eq!(read.into_iter().collect::<BTreeSet<_>>(), keys.into_iter().collect());
    let of_bob = events.partitions_of(EventKey::scan().user("bob")).await.unwrap();
    let mut count = 0;
    for partition in of_bob {
        count += events.count(partition).await.unwrap();
    }
    assert_eq!(count, 20);
}

async fn rows_of_a_plan_are_counted_and_deleted(client: Client) {
    let (events, keys) = with_foreign_rows(&client).await;
    let plan = || EventKey::scan().user_any_of(["alice", "bob"]).at_range(..15);
    assert_eq!(events.count(plan()).await.unwrap(), 30);
    assert_eq!(events.delete_rows(plan()).await.unwrap(), 30);
    assert_eq!(events.delete_rows(plan()).await.unwrap(), 0);
    let left: Vec<_> = keys.into_iter().filter(|key| key.user == "carol" || key.at >= 15).collect();
    let scan = || events.scan(EventKey::scan()).keys_only().on_foreign(OnForeign::Skip);
    assert_eq!(scan().collect().await.unwrap(), left);
    assert_eq!(events.delete_rows(EventKey::scan()).await.unwrap(), 30);
    assert_eq!(scan().collect().await.unwrap(), []);
    // Foreign rows are kept.
    let others = client.table::<OtherKey, Event>("events").unchecked();
    assert_eq!(others.count(OtherKey::scan()).await.unwrap(), 3);
}

async fn prefixes_are_dropped_and_nothing_else(client: Client) {
    let (events, keys) = filled(&client).await;
    for (plan, remedy) in [
        (EventKey::scan().user("bob").at_range(3..).into_plan(), "`table.delete_rows(plan)`"),
        (EventKey::scan().user_prefix("b").into_plan(), "`table.delete_rows(plan)`"),
        (EventKey::scan().user_any_of(["bob", "carol"]).into_plan(), "`table.delete_rows(plan)`"),
        (EventKey::scan().user("bob").at_any_of([3, 4]).into_plan(), "whole keys"),
        (EventKey::scan().user("bob").at(3).into_plan(), "delete it with `table.delete(&key)`"),
    ] {
        let error = events.drop_rows(plan.unwrap()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
        let error = error.to_string();
        assert!(error.contains(remedy), "{error}");
    }
    let others = client.table::<PlainKey, Event>("events");
    fails(others.drop_rows(PlainKey::scan()).await, "`client.delete_table(name)`");
    events.put(&key("bobby", 1), &Event::default()).await.unwrap();
    events.drop_rows(EventKey::scan().user("bob")).await.unwrap();
    let mut left: Vec<_> = keys.into_iter().filter(|key| key.user != "bob").collect();
    left.insert(20, key("bobby", 1));
    assert_eq!(events.scan(EventKey::scan()).keys_only().collect().await.unwrap(), left);
}

async fn a_failure_names_the_last_row(client: Client) {
    let (events, _) = with_foreign_rows(&client).await;
    let mut rows = events.scan(EventKey::scan().user_range("bob"..)).keys_only().stream();
    let mut last = None;
    let error = loop {
        match rows.next().await.unwrap() {
            Ok(key) => last = Some(key),
            Err(error) => break error,
        }
    };
    assert_eq!(last, Some(key("bob", 19)));
    assert_eq!(error.kind(), ErrorKind::ForeignRow, "{error}");
    assert_eq!((error.bucket(), error.row_key()), (Some(2), Some(&b"2#bzz"[..])));
    assert_eq!(error.last_row_key(), Some(&last.unwrap().encode().unwrap()[..]));
    assert!(error.to_string().contains("in bucket 2, and the last row delivered was"), "{error}");
}

async fn a_scan_says_how_it_runs(client: Client) {
    let (events, _) = filled(&client).await;
    let scan = || events.scan(EventKey::scan()).reversed();
    let token = scan().page(1).await.unwrap().next.unwrap();
    let explain = scan()
        .after(&token)
        .limit(1)
        .filter(RowFilter::exact_column("cf", "count"))
        .filter_key(|key| key.at > 3)
        .on_foreign(OnForeign::Skip)
        .keys_only()
        .explain()
        .unwrap();
    assert_eq!(
        explain.to_string(),
        "scan of EventKey
  key          <salt 0 to 3>#<user>#<at>
  constraints  none: every row of the key type
  buckets      all 4: the salt is over user, at; not fixed: user, at
  after        carol#00019, where the previous page ended, without its salt
  order        reversed: by user, greatest first; then at, greatest first; merged from 4 streams
  limit        1 row, counted by the client, after the key filter
  values       none: keys only
  filter       at the server: the column `count` of the family `cf`
  filter       `filter_key`: rows are read, and dropped by their keys
  filter       foreign rows are read, and left out
  requests     4
  bucket 0     [0#, 0#carol#00019)
  bucket 1     [1#, 1#carol#00019)
  bucket 2     [2#, 2#carol#00019)
  bucket 3     [3#, 3#carol#00019)"
    );
    let data = serde_json::to_value(&explain).unwrap();
    for (part, value) in [
        ("reversed", serde_json::json!(true)),
        ("unordered", serde_json::json!(false)),
        ("keys_only", serde_json::json!(true)),
        ("limit", serde_json::json!({ "rows": 1, "is_sent": false })),
    ] {
        assert_eq!(data[part], value, "{part}");
    }
    let explain = scan().unordered().latest(3).limit(2).explain().unwrap().to_string();
    for line in [
        "  order        none across buckets: rows are delivered as they arrive, reversed within each\n",
        "  limit        2 rows, sent with each request\n",
        "  values       the newest 3 versions of each column\n",
    ] {
        assert!(explain.contains(line), "{explain}\ndoes not say {line:?}");
    }
    // A single stream is ordered anyway.
    let explain = events.scan(EventKey::scan().user("bob").at_any_of([3])).unordered().explain().unwrap();
    assert!(!explain.to_string().contains("none across buckets"), "{explain}");
}

async fn the_error_of_an_invalid_filter_names_no_bucket(client: Client) {
    let (events, _) = filled(&client).await;
    let scan = || events.scan(EventKey::scan()).filter(RowFilter::label("No Label"));
    let errors = [
        scan().collect().await.unwrap_err(),
        scan().count().await.unwrap_err(),
        scan().explain().unwrap_err(),
    ];
    for error in errors {
        assert!(error.to_string().starts_with("table `events`: the label `No Label` has"), "{error}");
        assert!(!error.to_string().contains("bucket"), "{error}");
        assert!(error.kind() == ErrorKind::InvalidArgument && error.bucket().is_none());
    }
}

async fn what_filters_leave_is_counted(client: Client) {
    let (events, keys) = with_foreign_rows(&client).await;
    let scan = || events.scan(EventKey::scan()).on_foreign(OnForeign::Skip);
    assert_eq!(scan().count().await.unwrap(), 60);
    assert_eq!(scan().limit(7).count().await.unwrap(), 7);
    assert_eq!(scan().filter_key(|key| key.at % 2 == 0).count().await.unwrap(), 30);
    assert_eq!(scan().filter_key(|key| key.at % 2 == 0).limit(4).count().await.unwrap(), 4);
    // Values can be filtered by, even when they are not sent.
    let small = RowFilter::chain([
        RowFilter::exact_column("cf", "count"),
        RowFilter::value_range(5_i64.to_be_bytes()..8_i64.to_be_bytes()),
    ]);
    assert_eq!(scan().filter(small.clone()).count().await.unwrap(), 9);
    assert_eq!(
        scan().filter(small).filter_key(|key| key.user == "bob").keys_only().count().await.unwrap(),
        3
    );
    let token = scan().page(50).await.unwrap().next.unwrap();
    assert_eq!(scan().after(&token).count().await.unwrap(), keys.len() as u64 - 50);
    assert_eq!(events.scan(EventKey::scan()).count().await.unwrap_err().kind(), ErrorKind::ForeignRow);
}

async fn foreign_rows_are_counted_until_an_error(client: Client) {
    let (events, _) = with_foreign_rows(&client).await;
    // The first row that does not read as `Count` ends the scan.
    events.put(&key("zoe", 1), &Event { kind: Some("login".into()), count: None }).await.unwrap();
    let counts = client.table::<EventKey, Count>("events");
    let mut rows = counts.scan(EventKey::scan()).on_foreign(OnForeign::Skip).stream();
    let error = loop {
        match rows.next().await.unwrap() {
            Ok(_) => {}
            Err(error) => break error,
        }
    };
    assert_eq!(error.kind(), ErrorKind::InvalidRow, "{error}");
    assert!(rows.next().await.is_none());
    assert_eq!(rows.skipped().foreign(), 3);
}

async fn a_filter_of_keys_fails_at_a_foreign_row_whatever_reads_the_rows(client: Client) {
    let (events, keys) = with_foreign_rows(&client).await;
    let filtered = || events.scan(EventKey::scan()).filter_key(|_| true);
    for error in [
        filtered().collect().await.map(drop).unwrap_err(),
        filtered().count().await.map(drop).unwrap_err(),
        filtered().visit::<EventKey, Error>(|_, _| Ok(())).await.map(drop).unwrap_err(),
        filtered().explain_analyze().await.map(drop).unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::ForeignRow, "{error}");
    }
    let analysis = filtered().on_foreign(OnForeign::Skip).explain_analyze().await.unwrap();
    assert_eq!(analysis.rows, keys.len() as u64);
}
