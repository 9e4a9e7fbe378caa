//! Queries over departures and weather have one result: under each key, with pushdown and without it, in memory, and in DuckDB.
//!
//! The departures are those of `examples/data`, and the hours the first 65 of 2013 at each airport, from the same source; or those of the
//! files that `KEYDERIVE_FLIGHTS` and `KEYDERIVE_WEATHER` name. DuckDB runs if `KEYDERIVE_DUCKDB` names a Python that has its package.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, clippy::print_stderr)]
#![allow(clippy::cast_possible_truncation, clippy::cast_precision_loss, clippy::doc_markdown)]

mod data;
mod random;
mod rows;

use std::env;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use datafusion::catalog::TableProvider;
use datafusion::physical_plan::{ExecutionPlan, collect};
use datafusion::prelude::SessionConfig;
use keyderive::Client;
use keyderive::dynamic::TableLayout;
use keyderive_datafusion::Exact;

use data::{Design, designs, files};
use rows::{Rows, Value, answer, assert_equal, queries};

/// What DuckDB answers to each query.
fn of_duckdb(python: &str, flights: &str, weather: &str) -> Vec<Rows> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/duckdb");
    let mut command = Command::new(python);
    command.arg(folder.join("answers.py")).arg(folder.join("queries.sql")).args([flights, weather]);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = std::str::from_utf8(&output.stdout).unwrap().lines();
    lines.map(of_json).collect()
}

/// The rows of a line that DuckDB's answer is.
fn of_json(line: &str) -> Rows {
    let value = |value: &serde_json::Value| match value {
        serde_json::Value::Null => Value::Null,
        serde_json::Value::String(text) => Value::Text(text.clone()),
        serde_json::Value::Bool(is) => Value::Number(f64::from(u8::from(*is))),
        other => Value::Number(other.as_f64().unwrap()),
    };
    let rows = serde_json::from_str::<Vec<Vec<serde_json::Value>>>(line).unwrap();
    rows.iter().map(|row| row.iter().map(value).collect()).collect()
}

/// A session of these tables, under the names that the queries use.
fn session(flights: Arc<dyn TableProvider>, weather: Arc<dyn TableProvider>) -> Exact {
    let exact = Exact::new(SessionConfig::new().with_target_partitions(3));
    exact.context().register_table("flights", flights).unwrap();
    exact.context().register_table("weather", weather).unwrap();
    exact
}

/// The tables under each key, and in memory.
async fn sessions(flights: &str, weather: &str) -> (Vec<(&'static str, Exact)>, Exact) {
    let client = Client::embedded();
    data::fill(&client, flights, weather).await;

    let table = |layout: &TableLayout, pushdown: bool| -> Arc<dyn TableProvider> {
        let table = Exact::new(SessionConfig::new()).table(&client, layout).unwrap();
        Arc::new(if pushdown { table } else { table.without_pushdown() })
    };
    let of = |Design { flights, weather, .. }: &Design, pushdown| {
        session(table(flights, pushdown), table(weather, pushdown))
    };
    let designs = designs();
    let mut sessions: Vec<_> = designs.iter().map(|design| (design.name, of(design, true))).collect();
    let memory = of(&designs[0], false);
    sessions.push(("without pushdown", memory.clone()));
    for name in ["flights", "weather"] {
        let create = format!("CREATE TABLE copy_of_{name} AS SELECT * FROM {name}");
        memory.sql(&create).await.unwrap().collect().await.unwrap();
    }
    let copies = ["copy_of_flights", "copy_of_weather"].map(|name| memory.context().table_provider(name));
    let [flights_copy, weather_copy] = copies;
    let in_memory = session(flights_copy.await.unwrap(), weather_copy.await.unwrap());
    (sessions, in_memory)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn queries_have_one_result() {
    let [flights, weather] = files(env!("CARGO_MANIFEST_DIR"));
    let (sessions, in_memory) = sessions(&flights, &weather).await;
    let queries = queries();
    let of_duckdb = match env::var("KEYDERIVE_DUCKDB") {
        Ok(python) => of_duckdb(&python, &flights, &weather),
        Err(_) => {
            eprintln!("left out: DuckDB; `KEYDERIVE_DUCKDB` names a Python that has it");
            Vec::new()
        }
    };
    let mut nonempty = 0;
    for (at, query) in queries.iter().enumerate() {
        let expected = answer(&in_memory, query).await;
        if let Some(rows) = of_duckdb.get(at) {
            assert_equal("DuckDB", query, rows, &expected);
        }
        for (name, exact) in &sessions {
            assert_equal(name, query, &answer(exact, query).await, &expected);
        }
        nonempty += usize::from(!expected.is_empty());
    }
    assert!(nonempty * 10 > queries.len() * 8, "{nonempty} of {} queries have rows", queries.len());
    assert!(of_duckdb.is_empty() || of_duckdb.len() == queries.len());
    println!("{} queries, {nonempty} with rows", queries.len());
}

/// The rows that the scans of a plan which has run have made the server read.
fn rows_seen(plan: &Arc<dyn ExecutionPlan>) -> usize {
    let own = plan.metrics().and_then(|metrics| metrics.sum_by_name("rows_seen"));
    own.map_or(0, |own| own.as_usize()) + plan.children().into_iter().map(rows_seen).sum::<usize>()
}

/// Conditions on the leftmost fields of a key: the server reads the rows that fulfil them, and no other.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_server_reads_the_rows_that_conditions_leave() {
    let [flights, weather] = files(env!("CARGO_MANIFEST_DIR"));
    let (sessions, in_memory) = sessions(&flights, &weather).await;
    for (name, from) in [
        ("airports", "flights WHERE origin = 'LGA'"),
        ("airports", "flights WHERE origin IN ('LGA', 'JFK', 'ZRH')"),
        ("airports", "flights WHERE origin > 'EWR'"),
        ("airports", "flights WHERE origin LIKE 'L%'"),
        (
            "airports",
            "flights WHERE origin = 'LGA' AND sched >= TIMESTAMP '2013-01-01 06:00:00' AND sched < TIMESTAMP '2013-01-01 08:00:00'",
        ),
        (
            "airports",
            "flights WHERE origin = 'LGA' AND sched BETWEEN TIMESTAMP '2013-01-01 06:00:00' AND TIMESTAMP '2013-01-01 08:00:00'",
        ),
        (
            "airports",
            "flights WHERE origin = 'LGA' AND sched = TIMESTAMP '2013-01-01 06:00:00' AND carrier < 'DL'",
        ),
        ("airports", "weather WHERE origin = 'EWR' AND sched > TIMESTAMP '2013-01-02 00:00:00'"),
        ("salted", "flights WHERE carrier = 'UA'"),
        ("salted", "flights WHERE carrier = 'UA' AND flight = 15"),
        ("salted", "flights WHERE carrier IN ('UA', 'DL') AND flight < 500"),
        ("salted", "flights WHERE carrier = 'AA' AND flight = 1 AND sched < TIMESTAMP '2013-01-02 00:00:00'"),
        ("salted", "weather WHERE sched <= TIMESTAMP '2013-01-01 12:00:00'"),
        ("salted", "weather WHERE sched = TIMESTAMP '2013-01-01 12:00:00' AND origin = 'JFK'"),
        ("epochs", "flights WHERE carrier = 'B6' AND origin = 'JFK'"),
        (
            "epochs",
            "flights WHERE carrier = 'B6' AND origin = 'JFK' AND sched >= TIMESTAMP '2013-01-01 11:00:00'",
        ),
        ("epochs", "flights WHERE carrier >= 'US'"),
        ("ordered", "flights WHERE carrier = 'UA' AND flight BETWEEN 100 AND 500"),
        (
            "ordered",
            "flights WHERE carrier = 'UA' AND flight = 15 AND origin = 'EWR' AND sched > TIMESTAMP '2013-01-01 00:00:00'",
        ),
        ("ordered", "flights WHERE carrier BETWEEN 'B6' AND 'DL'"),
    ] {
        let exact = &sessions.iter().find(|(of, _)| *of == name).unwrap().1;
        let Value::Number(expected) = answer(&in_memory, &format!("SELECT count(*) FROM {from}")).await[0][0]
        else {
            panic!("{from}: count(*) is no number")
        };
        let query = format!("SELECT sched, carrier FROM {from}")
            .replace("sched, carrier FROM weather", "sched, temp FROM weather");
        let plan = exact.sql(&query).await.unwrap().create_physical_plan().await.unwrap();
        collect(Arc::clone(&plan), exact.context().task_ctx()).await.unwrap();
        let seen = rows_seen(&plan) as f64;
        assert!(expected > 0.0 || from.contains("flight = 1 "), "{from} has no rows");
        assert!(seen == expected, "{name}: {seen} rows seen, of {expected}: {from}");
    }
}
