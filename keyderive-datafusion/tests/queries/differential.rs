//! Random queries must have the same rows with pushdown, without it, and in memory.

use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray, UInt32Array, UInt64Array,
};
use datafusion::catalog::TableProvider;
use datafusion::datasource::MemTable;
use datafusion::prelude::SessionConfig;
use fastrand::Rng;
use keyderive_datafusion::BigtableTable;

use crate::shared::{
    Event, EventKey, SITES, TIMES, USERS, context, events, layout, lines, provider, query, rows,
};

/// The same rows in memory, in the same columns.
fn in_memory(rows: &[(EventKey, Event)], schema: &dyn TableProvider) -> MemTable {
    let texts = |of: fn(&(EventKey, Event)) -> &str| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(rows.iter().map(of)))
    };
    let columns: Vec<ArrayRef> = vec![
        texts(|(key, _)| &key.user_id),
        texts(|(key, _)| &key.site),
        Arc::new(UInt64Array::from_iter_values(rows.iter().map(|(key, _)| key.at))),
        Arc::new(UInt32Array::from_iter_values(rows.iter().map(|(key, _)| key.seq))),
        texts(|(_, row)| &row.kind),
        Arc::new(Float64Array::from_iter_values(rows.iter().map(|(_, row)| row.amount))),
        Arc::new(rows.iter().map(|(_, row)| row.clicks).collect::<Int64Array>()),
    ];
    let schema = schema.schema();
    let batch = RecordBatch::try_new(Arc::clone(&schema), columns).unwrap();
    MemTable::try_new(schema, vec![vec![batch]]).unwrap()
}

fn one<'a>(random: &mut Rng, of: &[&'a str]) -> &'a str {
    of[random.usize(0..of.len())]
}

/// A literal: mostly a value that rows have.
fn value(random: &mut Rng, column: &str) -> String {
    let is_other = random.u32(0..5) == 0;
    match column {
        "user_id" if is_other => format!("'{}'", one(random, &["a#b", "w", "user0#", "user02", "us"])),
        "user_id" => format!("'{}'", one(random, &USERS)),
        "site" if is_other => one(random, &["'x'", "'homes'", "''", "'h'"]).into(),
        "site" => format!("'{}'", one(random, &SITES)),
        "kind" => "'buy'".into(),
        "at" if is_other => one(random, &["2", "-1", "9223372036854775808", "3.5"]).into(),
        "at" => TIMES[random.usize(0..TIMES.len())].to_string(),
        "seq" if is_other => "1000000".into(),
        "seq" => random.u32(0..600).to_string(),
        _ => random.u32(0..100).to_string(),
    }
}

/// Leftmost fields more often, since those are pushed down.
fn predicate(random: &mut Rng) -> String {
    let columns = [
        "user_id", "user_id", "user_id", "user_id", "site", "site", "site", "at", "at", "seq", "kind",
        "clicks",
    ];
    let column = one(random, &columns);
    let op = one(random, &["=", "=", "=", "<", "<=", ">", ">=", "<>"]);
    let mut list = |count: usize| (0..count).map(|_| value(random, column)).collect::<Vec<_>>().join(", ");
    let (few, many) = (list(2), list(5));
    match random.u32(0..12) {
        0 => format!("{column} IN ({few})"),
        1 => format!("{column} IN ({many})"),
        2 => format!("{column} BETWEEN {} AND {}", value(random, column), value(random, column)),
        3 if column == "user_id" => {
            format!("user_id LIKE '{}%'", one(random, &["", "u", "user", "user0", "user00", "x#"]))
        }
        3 if column == "site" => {
            format!("site LIKE '{}'", one(random, &["h%", "%", "b%", "_iki", "s%p", "x%"]))
        }
        4 => format!("({column} {op} {} OR {column} = {})", value(random, column), value(random, column)),
        5 => format!("{} {op} {column}", value(random, column)),
        6 => format!("NOT ({column} = {})", value(random, column)),
        _ => format!("{column} {op} {}", value(random, column)),
    }
}

/// A query, and whether its rows have an order.
fn statement(random: &mut Rng) -> (bool, String) {
    let mut all: Vec<_> = (0..random.usize(0..4)).map(|_| predicate(random)).collect();
    // Fields further right count once those left of them are fixed.
    if random.bool() {
        all.push(format!("user_id = {}", value(random, "user_id")));
        if random.bool() {
            all.push(format!("site IN ({}, {})", value(random, "site"), value(random, "site")));
        }
    }
    let filter = if all.is_empty() { String::new() } else { format!("WHERE {}", all.join(" AND ")) };
    let orders = [
        "user_id, site, at DESC, seq",
        "user_id DESC, site DESC, at, seq DESC",
        "at DESC, seq, user_id, site",
        "seq DESC",
        "user_id, clicks, seq",
    ];
    match random.u32(0..11) {
        0 => (false, format!("SELECT count(*) FROM events {filter}")),
        1 => {
            (false, format!("SELECT site, count(*), sum(clicks), min(at) FROM events {filter} GROUP BY site"))
        }
        2 | 3 => {
            let order = one(random, &orders);
            (
                true,
                format!(
                    "SELECT user_id, site, at, seq, clicks FROM events {filter} ORDER BY {order} LIMIT {}",
                    random.u32(0..20)
                ),
            )
        }
        4 => (
            false,
            format!("SELECT count(*) FROM (SELECT * FROM events {filter} LIMIT {})", random.u32(0..200)),
        ),
        5 => (
            false,
            format!(
                "SELECT a.user_id, b.at, b.seq FROM events a JOIN events b ON a.user_id = b.user_id AND a.site = b.site AND a.seq = b.seq \
                 WHERE a.kind = 'buy' AND a.user_id < {}",
                value(random, "user_id")
            ),
        ),
        6 => (
            false,
            format!(
                "SELECT user_id, clicks FROM (SELECT * FROM events {filter}) WHERE {}",
                predicate(random)
            ),
        ),
        8 => (
            false,
            format!(
                "SELECT t.s, e.seq FROM (SELECT * FROM events {filter} ORDER BY user_id, site, at DESC, seq LIMIT {}) AS e \
                 JOIN (VALUES ({}, 1), ({}, 2)) AS t(u, s) ON e.user_id = u",
                random.u32(0..200),
                value(random, "user_id"),
                value(random, "user_id")
            ),
        ),
        7 => (
            false,
            format!(
                "SELECT count(*), sum(seq) FROM events JOIN (VALUES ({}, {}), ({}, {})) AS t(u, s) ON user_id = u AND seq < s {filter}",
                value(random, "user_id"),
                random.u32(0..600),
                value(random, "user_id"),
                random.u32(0..600)
            ),
        ),
        _ => (false, format!("SELECT * FROM events {filter}")),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pushed_down_and_not_and_in_memory_are_equal() {
    let number = |name: &str, otherwise| std::env::var(name).map_or(otherwise, |text| text.parse().unwrap());
    let (count, seed) = (number("KEYDERIVE_SQL_QUERIES", 300), number("KEYDERIVE_SQL_SEED", 1));
    let rows = rows(600);
    let client = events(&rows).await;
    let (table, unpushed) =
        (provider(&client), BigtableTable::new(&client, &layout()).unwrap().without_pushdown());
    let (unpushed, memory) = (Arc::new(unpushed), Arc::new(in_memory(&rows, &*table)));
    let mut random = Rng::with_seed(seed);
    let (mut pushed, mut nonempty) = (0, 0);
    for _ in 0..count {
        let config = SessionConfig::new()
            .with_target_partitions(random.usize(1..6))
            .with_batch_size([2, 64, 8192][random.usize(0..3)]);
        let with = context(table.clone(), config.clone());
        let without = context(unpushed.clone(), config.clone());
        let memory = context(memory.clone(), config);
        let (is_sorted, sql) = statement(&mut random);
        let all = [query(&with, &sql).await, query(&without, &sql).await, query(&memory, &sql).await];
        let [Ok(one), Ok(other), Ok(expected)] = &all else {
            let failed = all.iter().filter(|result| result.is_err()).count();
            assert_eq!(failed, 3, "seed {seed}: {sql}: {all:?}");
            continue;
        };
        let expected = lines(expected, is_sorted);
        assert_eq!(lines(one, is_sorted), expected, "pushed down, seed {seed}: {sql}");
        assert_eq!(lines(other, is_sorted), expected, "not pushed down, seed {seed}: {sql}");
        nonempty += usize::from(!expected.is_empty());
        let plan = query(&with, &format!("EXPLAIN {sql}")).await.unwrap();
        pushed += usize::from(
            lines(&plan, true).iter().any(|line| line.contains("key=[") && !line.contains("key=[]")),
        );
    }
    // The queries say something.
    assert!(
        pushed * 3 > count as usize && nonempty * 3 > count as usize,
        "{pushed} and {nonempty} of {count}"
    );
    if count == 300 {
        eprintln!("left out: most random queries; KEYDERIVE_SQL_QUERIES=20000 runs more");
    }
}
