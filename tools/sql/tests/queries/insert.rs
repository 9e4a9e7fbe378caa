//! `INSERT INTO`.

use std::sync::Arc;

use datafusion::prelude::SessionConfig;
use keyderive::dynamic::TableLayout;
use keyderive::{Client, Row, RowKey};
use keyderive_datafusion::Exact;

use crate::shared::{Event, EventKey, events, lines, provider, query, rows, session, table};

#[tokio::test]
async fn rows_of_a_query_are_written() {
    let client = events(&rows(40)).await;
    let exact = session(provider(&client), Default::default());
    client.table::<EventKey, Event>("copy").create_if_absent().await.unwrap();
    let copy = table(&client, &TableLayout::of::<EventKey, Event>("copy"));
    exact.context().register_table("copy", Arc::new(copy)).unwrap();
    let written =
        query(&exact, "INSERT INTO copy SELECT * FROM events WHERE user_id >= 'user'").await.unwrap();
    assert_eq!(lines(&written, true), ["|30|"]);
    let sql = "SELECT * FROM {} WHERE user_id >= 'user'";
    let [one, other] = ["copy", "events"].map(|name| sql.replace("{}", name));
    let (one, other) = (query(&exact, &one).await.unwrap(), query(&exact, &other).await.unwrap());
    assert_eq!(lines(&one, false), lines(&other, false));

    // A row replaces the one of the same key, whole: `clicks` is gone.
    for values in ["('a', 'x', 1, 1, 'buy', 2.5, 3)", "('a', 'x', 1, 1, 'sell', 1.5, NULL)"] {
        query(&exact, &format!("INSERT INTO copy VALUES {values}")).await.unwrap();
    }
    let row = query(&exact, "SELECT * FROM copy WHERE user_id = 'a'").await.unwrap();
    assert_eq!(lines(&row, true), ["|a|x|1|1|sell|1.5||"]);
}

#[tokio::test]
async fn what_no_key_holds_is_an_error_that_says_so() {
    let client = events(&rows(1)).await;
    let exact = session(provider(&client), Default::default());
    let sql = "INSERT INTO events VALUES ('a#b', 'x', 1, 1, 'buy', 2.5, 3)";
    let error = query(&exact, sql).await.unwrap_err().to_string();
    assert!(error.contains("user_id") && error.contains("a#b"), "{error}");
    for (sql, says) in [
        (
            "INSERT INTO events (user_id, kind, amount) VALUES ('a', 'buy', 2.5)",
            "no value for `site`, `at`, `seq` of the key; list each column in `INSERT INTO events (…)`",
        ),
        (
            "INSERT INTO events (user_id, site, at, kind) VALUES ('a', 'x', 1, 'buy')",
            "no value for `seq` of the key and `amount`; list",
        ),
        (
            "INSERT INTO events SELECT user_id, site, at, seq, NULL, amount, clicks FROM events",
            "no value for `kind`; list",
        ),
        (
            "INSERT INTO events SELECT NULL, site, at, seq, kind, amount, clicks FROM events",
            "`user_id` of the key; list",
        ),
    ] {
        let error = query(&exact, sql).await.unwrap_err().to_string();
        assert!(error.contains(says), "{sql}: {error}");
    }
    assert_eq!(lines(&query(&exact, "SELECT count(*) FROM events").await.unwrap(), true), ["|1|"]);
    let error = query(&exact, "INSERT OVERWRITE events VALUES ('a', 'x', 1, 1, 'buy', 2.5, 3)").await;
    assert!(error.unwrap_err().to_string().contains("only `INSERT INTO` writes"));
}

/// A table with a family that may be absent, and a map.
#[tokio::test]
async fn structs_and_maps_are_written() {
    use std::collections::BTreeMap;

    #[derive(RowKey)]
    struct UserKey {
        id: u32,
    }
    #[derive(Row)]
    struct Address {
        city: String,
        zip: Option<i64>,
    }
    #[derive(Row)]
    struct User {
        name: String,
        #[row(family)]
        address: Option<Address>,
        #[row(family)]
        tags: BTreeMap<String, i64>,
    }
    let client = Client::embedded();
    client.table::<UserKey, User>("users").create_if_absent().await.unwrap();
    let exact = Exact::new(SessionConfig::new());
    let users = exact.table(&client, &TableLayout::of::<UserKey, User>("users")).unwrap();
    exact.context().register_table("users", Arc::new(users)).unwrap();
    let sql = "INSERT INTO users VALUES (1, 'Ann', named_struct('city', 'Chur', 'zip', 7000), MAP {'a': 1, 'b': 2}), \
               (2, 'Bob', NULL, MAP {'c': 3})";
    query(&exact, sql).await.unwrap();
    let rows = query(&exact, "SELECT id, name, address['city'], address['zip'], tags FROM users ORDER BY id")
        .await
        .unwrap();
    assert_eq!(lines(&rows, true), ["|1|Ann|Chur|7000|{a: 1, b: 2}|", "|2|Bob|||{c: 3}|"]);
    let typed = client.table::<UserKey, User>("users").get(&UserKey { id: 2 }).await.unwrap().unwrap();
    assert!(typed.address.is_none() && typed.tags["c"] == 3);
}
