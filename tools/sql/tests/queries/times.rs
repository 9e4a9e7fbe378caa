//! Times that nanoseconds do not reach.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use chrono::{DateTime, TimeZone as _, Utc};
use datafusion::prelude::{SessionConfig, SessionContext};
use keyderive::dynamic::TableLayout;
use keyderive::{Client, Row, RowKey};
use keyderive_datafusion::Exact;

use crate::shared::{lines, query};

#[derive(RowKey)]
#[row_key(layout = "ordered")]
struct VisitKey {
    id: u32,
    at: SystemTime,
}

#[derive(Row)]
struct Visit {
    seen: DateTime<Utc>,
    note: String,
}

async fn visits() -> Exact {
    let client = Client::embedded();
    let table = client.table::<VisitKey, Visit>("visits");
    table.create_if_absent().await.unwrap();
    for (id, year) in [(1, 2026), (2, 3000), (3, 1999)] {
        let seen = Utc.with_ymd_and_hms(year, 1, 1, 0, 0, 0).unwrap();
        let at = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000 * u64::from(id));
        table.put(&VisitKey { id, at }, &Visit { seen, note: "x".into() }).await.unwrap();
    }
    // 9999-12-30T23:59:59.
    let at = SystemTime::UNIX_EPOCH + Duration::from_secs(253_402_214_399);
    let seen = Utc.with_ymd_and_hms(2000, 1, 1, 0, 0, 0).unwrap();
    table.put(&VisitKey { id: 4, at }, &Visit { seen, note: "y".into() }).await.unwrap();
    let exact = Exact::new(SessionConfig::new());
    let visits = exact.table(&client, &TableLayout::of::<VisitKey, Visit>("visits")).unwrap();
    exact.context().register_table("visits", Arc::new(visits)).unwrap();
    exact
}

#[tokio::test]
async fn microseconds_are_compared_with_any_time() {
    let exact = visits().await;
    for (condition, expected) in [
        ("at < '9999-12-31'", 4),
        ("at < TIMESTAMP '9999-12-31 00:00:00'", 4),
        ("at < DATE '9999-12-31'", 4),
        ("TIMESTAMP '9999-12-31T00:00:00Z' <= at", 0),
        ("at > '1600-01-01'", 4),
        ("at > TIMESTAMP '1600-01-01'", 4),
        ("at BETWEEN '1600-01-01' AND '9999-12-30T23:59:58Z'", 3),
        ("at NOT IN (TIMESTAMP '9999-12-30 23:59:59', TIMESTAMP '1600-01-01 00:00:00')", 3),
        ("at IS DISTINCT FROM TIMESTAMP '9999-12-30 23:59:59'", 3),
        ("NOT (at < TIMESTAMP '9999-12-31' AND note = 'x')", 1),
    ] {
        let sql = format!("SELECT count(*) FROM visits WHERE {condition}");
        assert_eq!(
            lines(&query(&exact, &sql).await.unwrap(), true),
            [format!("|{expected}|")],
            "{condition}"
        );
    }
    // A release that answers has no need of it.
    let at =
        "SELECT * FROM (SELECT arrow_cast(0, 'Timestamp(Microsecond, None)') AS at) WHERE at < '9999-12-31'";
    let error = SessionContext::new().sql(at).await.unwrap().collect().await.unwrap_err().to_string();
    assert!(error.contains("Overflow converting"), "{error}");
    let plan =
        query(&exact, "EXPLAIN SELECT note FROM visits WHERE id = 4 AND at < TIMESTAMP '9999-12-31'").await;
    let plan = lines(&plan.unwrap(), true).join("");
    assert!(plan.contains("key=[id = 4 AND at < "), "{plan}");
    for finer in ["at < '9999-12-31T00:00:00.0000001Z'", "at = TIMESTAMP '1600-01-01 00:00:00.0000001'"] {
        let error = query(&exact, &format!("SELECT note FROM visits WHERE {finer}")).await.unwrap_err();
        assert!(error.to_string().contains("has times in microseconds"), "{error}");
    }
}

#[tokio::test]
async fn a_time_that_nanoseconds_do_not_hold_names_its_row() {
    let exact = visits().await;
    for sql in ["SELECT seen FROM visits", "SELECT count(*) FROM visits WHERE seen > '2000-01-01'"] {
        let error = query(&exact, sql).await.unwrap_err().to_string();
        for says in ["the column `seen` of the row `", "leave the column out of the query"] {
            assert!(error.contains(says), "{sql}: {error}");
        }
    }
    let others = query(&exact, "SELECT id, note FROM visits ORDER BY id LIMIT 2").await.unwrap();
    assert_eq!(lines(&others, true), ["|1|x|", "|2|x|"]);
    assert_eq!(lines(&query(&exact, "SELECT count(*) FROM visits").await.unwrap(), true), ["|4|"]);
    // The other rows, if the key says which.
    let seen =
        query(&exact, "SELECT extract(year FROM seen) FROM visits WHERE id IN (1, 3, 4)").await.unwrap();
    assert_eq!(lines(&seen, false), ["|1999|", "|2000|", "|2026|"]);
}

#[tokio::test]
async fn times_before_1970_are_truncated_down() {
    let exact = visits().await;
    let least = "arrow_cast(-9223372036854775808, 'Timestamp(Nanosecond, None)')";
    for (unit, time, expected) in [
        ("millisecond", "TIMESTAMP '1969-12-31 23:59:59.9999'", "1969-12-31T23:59:59.999"),
        ("microsecond", "TIMESTAMP '1969-12-31 23:59:59.9999995'", "1969-12-31T23:59:59.999999"),
        ("second", "TIMESTAMP '1901-01-01 00:00:00.5'", "1901-01-01T00:00:00"),
        ("minute", "TIMESTAMP '1901-01-01 00:00:59.5'", "1901-01-01T00:00:00"),
        ("month", "TIMESTAMP '1901-02-03 00:00:59.5'", "1901-02-01T00:00:00"),
    ] {
        for from in ["", " FROM visits WHERE id = 1"] {
            let sql = format!("SELECT date_trunc('{unit}', {time}){from}");
            assert_eq!(lines(&query(&exact, &sql).await.unwrap(), true), [format!("|{expected}|")], "{sql}");
        }
    }
    for unit in ["microsecond", "second", "day", "year"] {
        for from in [format!("{least})"), format!("at) FROM (SELECT {least} AS at FROM visits)")] {
            let error = query(&exact, &format!("SELECT date_trunc('{unit}', {from}")).await.unwrap_err();
            assert!(error.to_string().contains("beyond the times of this type"), "{unit}: {error}");
        }
    }
    // DataFusion panics; without checks of overflow it answers with a time of 2262.
    let sql = format!("SELECT date_trunc('microsecond', at) FROM (VALUES ({least})) AS t (at)");
    let of_datafusion = tokio::spawn(async move {
        let context = SessionContext::new();
        lines(&context.sql(&sql).await.unwrap().collect().await.unwrap(), true)
    });
    assert!(of_datafusion.await.map_or(true, |rows| rows[0].starts_with("|2262")));
}
