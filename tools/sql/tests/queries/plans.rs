//! What `EXPLAIN` promises, and how many rows the server reads.

use std::sync::Arc;

use datafusion::prelude::SessionConfig;

use crate::shared::{analyzed, events, layout, lines, metric, provider, query, rows, session, table};

fn config() -> SessionConfig {
    SessionConfig::new().with_target_partitions(4).with_information_schema(true)
}

#[tokio::test]
async fn orders_of_the_key_need_no_sort() {
    let client = events(&rows(2_000)).await;
    let exact = session(provider(&client), config());
    for (sql, most) in [
        (
            "SELECT user_id, site, at, seq, kind FROM events ORDER BY user_id, site, at DESC, seq LIMIT 10",
            200,
        ),
        (
            "SELECT user_id, site, at, seq FROM events ORDER BY user_id DESC, site DESC, at, seq DESC LIMIT 10",
            200,
        ),
        ("SELECT at, seq FROM events WHERE user_id = 'a' AND site = 'shop' ORDER BY at DESC LIMIT 5", 5),
        ("SELECT at, seq FROM events WHERE user_id = 'a' AND site = 'shop' ORDER BY at LIMIT 5", 5),
        ("SELECT site, at FROM events WHERE user_id = 'user0' ORDER BY site, at DESC", 250),
    ] {
        let plan = analyzed(&exact, sql).await;
        assert!(!plan.contains("SortExec"), "{sql}\n{plan}");
        assert!(metric(&plan, "rows_seen") <= most, "{sql}\n{plan}");
    }
}

#[tokio::test]
async fn the_server_reads_what_the_plan_says() {
    let client = events(&rows(800)).await;
    let exact = session(provider(&client), config());
    query(&exact, "CREATE TABLE vips AS VALUES ('a', 'gold'), ('nobody', 'x')").await.unwrap();
    for (sql, least, most) in [
        ("SELECT * FROM events", 800, 800),
        ("SELECT count(*) FROM events", 800, 800),
        ("SELECT kind FROM events WHERE user_id = 'a'", 100, 100),
        ("SELECT kind FROM events WHERE user_id IN ('a', 'v')", 200, 200),
        ("SELECT kind FROM events WHERE user_id LIKE 'user0%'", 300, 300),
        ("SELECT kind FROM events WHERE user_id > 'user' AND user_id <= 'user00'", 200, 200),
        ("SELECT kind FROM events WHERE user_id = 'a' AND site IN ('home', 'blog') AND at < 5", 5, 40),
        ("SELECT kind FROM events WHERE kind = 'buy' AND user_id = 'v'", 100, 100),
        ("SELECT kind FROM events WHERE user_id = 'no#key'", 0, 0),
        ("SELECT kind FROM events WHERE user_id = 'a' AND user_id = 'v'", 0, 0),
        ("SELECT kind FROM events WHERE site = 'home'", 800, 800),
        ("SELECT count(*) FROM events JOIN vips ON user_id = column1", 100, 100),
    ] {
        let plan = analyzed(&exact, sql).await;
        let seen = metric(&plan, "rows_seen");
        assert!((least..=most).contains(&seen), "{seen} rows for {sql}\n{plan}");
    }
}

/// The server says what it has read when it is done, which a limit does not wait for.
#[tokio::test]
async fn a_scan_that_a_limit_ends_has_seen_its_rows() {
    let client = events(&rows(2_000)).await;
    let exact = session(provider(&client), config().with_target_partitions(1).with_batch_size(10));
    let plan = analyzed(&exact, "SELECT kind FROM events WHERE clicks > 50 LIMIT 5").await;
    assert!(metric(&plan, "rows_seen") >= 10, "{plan}");
}

/// A join's filter narrows a scan, but not one of which a limit takes the first rows, whatever is filtered between.
#[tokio::test]
async fn a_limit_counts_before_a_join() {
    let client = events(&rows(400)).await;
    let sql = "SELECT e.seq FROM (SELECT * FROM events WHERE clicks > 50 ORDER BY user_id, site, at DESC, seq LIMIT 40) AS e \
               JOIN (VALUES ('user'), ('')) AS t(u) ON e.user_id = u";
    let mut counts = Vec::new();
    for (partitions, is_pushed) in [(1, true), (4, true), (1, false)] {
        let events = table(&client, &layout());
        let events = if is_pushed { events } else { events.without_pushdown() };
        let config = SessionConfig::new().with_target_partitions(partitions);
        let exact = session(
            Arc::new(events),
            config.set_bool("datafusion.optimizer.enable_dynamic_filter_pushdown", is_pushed),
        );
        counts.push(lines(&query(&exact, sql).await.unwrap(), false));
    }
    assert!(counts[0] == counts[2] && counts[1] == counts[2], "{counts:?}");
}

#[tokio::test]
async fn explain_shows_ranges_and_buckets() {
    let client = events(&rows(100)).await;
    let exact = session(provider(&client), config());
    let explained = async |sql: &str| {
        let plan = query(&exact, &format!("EXPLAIN {sql}")).await.unwrap();
        lines(&plan, true).into_iter().find(|line| line.contains("BigtableExec")).unwrap()
    };
    let line = explained("SELECT kind FROM events WHERE user_id = 'a' AND site = 'home' AND at >= 5").await;
    for part in [
        "table=events",
        "columns=[kind]",
        r#"key=[user_id = "a" AND site = "home" AND at >= 5]"#,
        "buckets=1",
        "reads=[",
    ] {
        assert!(line.contains(part), "no {part} in {line}");
    }
    let line = explained("SELECT kind FROM events WHERE user_id = 'a'").await;
    assert!(line.contains("buckets=4") && line.contains("[0#a#, 0#a$)"), "{line}");
}

#[tokio::test]
async fn the_information_schema_has_the_columns() {
    let client = events(&rows(1)).await;
    let exact = session(provider(&client), config());
    let sql = "SELECT column_name, data_type, is_nullable FROM information_schema.columns WHERE table_name = 'events' \
               ORDER BY ordinal_position";
    let expected = [
        "|user_id|Utf8|NO|",
        "|site|Utf8|NO|",
        "|at|UInt64|NO|",
        "|seq|UInt32|NO|",
        "|kind|Utf8|NO|",
        "|amount|Float64|NO|",
        "|clicks|Int64|YES|",
    ];
    assert_eq!(lines(&query(&exact, sql).await.unwrap(), true), expected);
}
