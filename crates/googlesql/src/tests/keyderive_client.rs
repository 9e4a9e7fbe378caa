//! keyderive's own client, and the expressions that it writes for the fields of keys.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use keyderive::client::{Family, FamilyChange};
use keyderive::embedded::{Bigtable, Fault, Faults, Method};
use keyderive::{Client, ErrorKind, GcRule, Row, RowKey};

use crate::Engine;

#[derive(RowKey)]
#[salt(range = 4, over = "user_id")]
struct EventKey {
    user_id: String,
    #[reverse_ts]
    at: SystemTime,
}

#[derive(Row)]
#[row(family = "cf")]
struct Event {
    kind: String,
    amount: i64,
}

fn at(seconds: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(seconds)
}

async fn events() -> (Bigtable, Client) {
    let bigtable = Bigtable::in_memory().with_query_engine(Arc::new(Engine::default()));
    let client = bigtable.client();
    let events = client.table::<EventKey, Event>("events");
    events.create_if_absent().await.unwrap();
    for (user, seconds, kind, amount) in
        [("ada", 10, "buy", 5), ("ada", 90_000, "sell", 7), ("bob", 20, "buy", 1)]
    {
        let key = EventKey { user_id: user.to_owned(), at: at(seconds) };
        events.put(&key, &Event { kind: kind.to_owned(), amount }).await.unwrap();
    }
    (bigtable, client)
}

#[tokio::test]
async fn queries_meet_faults() {
    let (bigtable, _client) = events().await;
    let faults = Faults::seeded(1)
        .fail_nth(Method::PrepareQuery, 1, Fault::unavailable())
        .fail_nth(Method::ExecuteQuery, 1, Fault::unavailable())
        .cut_streams(0.5);
    let faulty = bigtable.with_faults(faults);
    let users: Vec<(String,)> = faulty.client().query("SELECT user_id FROM events").fetch().await.unwrap();
    assert_eq!(users.len(), 3);
    assert_eq!(faulty.calls(Method::PrepareQuery), 2);
    assert!(faulty.calls(Method::ExecuteQuery) >= 2);
}

#[tokio::test]
async fn the_client_binds_parameters_and_reads_typed_rows() {
    let (_bigtable, client) = events().await;
    let counts: Vec<(String, i64)> = client
        .query("SELECT CAST(cf['kind'] AS STRING) AS kind, COUNT(*) AS n FROM events WHERE user_id = @user GROUP BY kind ORDER BY kind")
        .bind("user", "ada")
        .fetch()
        .await
        .unwrap();
    assert_eq!(counts, [("buy".to_owned(), 1), ("sell".to_owned(), 1)]);
    let maps: Vec<(BTreeMap<Bytes, Bytes>,)> = client
        .query("SELECT cf FROM events WHERE user_id = @user")
        .bind("user", "bob")
        .fetch()
        .await
        .unwrap();
    assert_eq!(maps[0].0[&Bytes::from("kind")], "buy");
    let total: Option<(Option<i64>,)> =
        client.query("SELECT SUM(TO_INT64(cf['amount'])) FROM events").fetch_first().await.unwrap();
    assert_eq!(total, Some((Some(13),)));
}

#[tokio::test]
async fn the_expressions_of_key_fields_run() {
    let (_bigtable, client) = events().await;
    let sql = EventKey::sql().unwrap();
    let when = sql.field("at").unwrap();
    let text = format!(
        "SELECT user_id, TIMESTAMP_TRUNC({when}, DAY) AS day, COUNT(*) AS n FROM events GROUP BY user_id, day ORDER BY 1, 2"
    );
    let days: Vec<(String, SystemTime, u64)> = client.query(text).fetch().await.unwrap();
    assert_eq!(
        days,
        [("ada".to_owned(), at(0), 1), ("ada".to_owned(), at(86_400), 1), ("bob".to_owned(), at(0), 1)]
    );
    // The salt that SQL computes is the one in the key.
    let salt = sql.salt().unwrap();
    let text = format!("SELECT COUNT(*) FROM events WHERE CAST(salt AS INT64) = {salt}");
    assert_eq!(client.query(text).fetch::<(i64,)>().await.unwrap(), [(3,)]);
}

#[derive(RowKey)]
#[row_key(layout = "ordered")]
struct ReadingKey {
    site: String,
    number: i64,
    #[row_key(desc)]
    at: SystemTime,
}

#[tokio::test]
async fn ordered_keys_are_columns_of_their_types() {
    let client = Bigtable::in_memory().with_query_engine(Arc::new(Engine::default())).client();
    let readings = client.table::<ReadingKey, Event>("readings");
    readings.create_if_absent().await.unwrap();
    let mut expected = Vec::new();
    for site in ["", "a", "a\0b", "é"] {
        for number in [i64::MIN, -65, -64, -1, 0, 63, 64, 8191, 8192, i64::MAX] {
            let key = ReadingKey { site: site.to_owned(), number, at: at(1_000) };
            readings.put(&key, &Event { kind: "k".to_owned(), amount: 1 }).await.unwrap();
            expected.push((site.to_owned(), number, at(1_000)));
        }
    }
    let when = ReadingKey::sql().unwrap();
    let text = format!("SELECT site, number, {} FROM readings", when.field("at").unwrap());
    let found: Vec<(String, i64, SystemTime)> = client.query(text).fetch().await.unwrap();
    assert_eq!(found, expected);
    let one: Vec<(i64,)> =
        client.query("SELECT COUNT(*) FROM readings WHERE site = 'a' AND number < 0").fetch().await.unwrap();
    assert_eq!(one, [(4,)]);
}

#[tokio::test]
async fn a_plan_is_made_again_when_the_table_changes() {
    let (_bigtable, client) = events().await;
    let columns = async || {
        let mut rows = client.query("SELECT * FROM events").rows::<keyderive::query::QueryRow>();
        rows.next()
            .await
            .unwrap()
            .unwrap()
            .columns()
            .iter()
            .map(|column| column.name().to_owned())
            .collect::<Vec<_>>()
    };
    let before = columns().await;
    let table = client.raw_table("events");
    table.modify_families([FamilyChange::add(Family::new("added", GcRule::never()))]).await.unwrap();
    let after = columns().await;
    assert_eq!(after.len(), before.len() + 1);
    assert!(after.contains(&"added".to_owned()), "{after:?}");
}

#[tokio::test]
async fn errors_have_the_kinds_of_the_service() {
    let (bigtable, client) = events().await;
    let kind = async |text: &str| client.query(text).fetch::<(i64,)>().await.unwrap_err().kind();
    assert_eq!(kind("SELECT nope FROM events").await, ErrorKind::InvalidArgument);
    assert_eq!(kind("SELECT 1 UNION ALL SELECT 2").await, ErrorKind::Unimplemented);
    drop(bigtable);
}
