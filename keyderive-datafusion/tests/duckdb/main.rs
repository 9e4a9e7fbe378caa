//! Queries over departures and weather have one result: under each key, with pushdown and without it, in memory, and in DuckDB.
//!
//! The departures are those of `examples/data`, and the hours the first 65 of 2013 at each airport, from the same source; or those of the
//! files that `KEYDERIVE_FLIGHTS` and `KEYDERIVE_WEATHER` name. DuckDB runs if `KEYDERIVE_DUCKDB` names a Python that has its package.
#![allow(missing_docs, clippy::unwrap_used, clippy::cast_possible_truncation, clippy::cast_precision_loss)]

mod data;

use std::cmp::Ordering;
use std::env;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use datafusion::arrow::array::{Array, AsArray, RecordBatch};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Float64Type, Int64Type, TimeUnit};
use datafusion::arrow::util::pretty::pretty_format_batches;
use datafusion::catalog::TableProvider;
use datafusion::prelude::{SessionConfig, SessionContext};
use keyderive::Client;
use keyderive::dynamic::TableLayout;
use keyderive_datafusion::BigtableTable;

use data::{Airports, Epochs, Flight, Hours, Ordered, Salted, Stations, Weather};

#[derive(Clone, Debug)]
enum Value {
    Null,
    Number(f64),
    Text(String),
}

impl Value {
    /// In which sums of floats may differ by 1e-9.
    fn compare(&self, other: &Self) -> Ordering {
        let rank = |value: &Self| match value {
            Self::Null => 0,
            Self::Number(_) => 1,
            Self::Text(_) => 2,
        };
        match (self, other) {
            (Self::Number(one), Self::Number(other)) if is_close(*one, *other) => Ordering::Equal,
            (Self::Number(one), Self::Number(other)) => one.total_cmp(other),
            (Self::Text(one), Self::Text(other)) => one.cmp(other),
            _ => rank(self).cmp(&rank(other)),
        }
    }
}

fn is_close(one: f64, other: f64) -> bool {
    one == other || (one - other).abs() <= 1e-9 * one.abs().max(other.abs())
}

type Rows = Vec<Vec<Value>>;

fn compare_rows(one: &[Value], other: &[Value]) -> Ordering {
    let values = one.iter().zip(other).map(|(one, other)| one.compare(other));
    values.fold(Ordering::Equal, Ordering::then).then(one.len().cmp(&other.len()))
}

fn column(column: &dyn Array) -> Vec<Value> {
    let values = |of: DataType| cast(column, &of).unwrap();
    let numbers = |whole: bool, array: &dyn Array| -> Vec<Value> {
        (0..array.len())
            .map(|at| match (array.is_null(at), whole) {
                (true, _) => Value::Null,
                (_, true) => Value::Number(array.as_primitive::<Int64Type>().value(at) as f64),
                _ => Value::Number(array.as_primitive::<Float64Type>().value(at)),
            })
            .collect()
    };
    match column.data_type() {
        DataType::Timestamp(_, zone) => {
            let micros = values(DataType::Timestamp(TimeUnit::Microsecond, zone.clone()));
            numbers(true, &*cast(&micros, &DataType::Int64).unwrap())
        }
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {
            let texts = values(DataType::Utf8);
            let texts = texts.as_string::<i32>().iter();
            texts.map(|text| text.map_or(Value::Null, |text| Value::Text(text.to_owned()))).collect()
        }
        of if of.is_integer() => numbers(true, &*values(DataType::Int64)),
        _ => numbers(false, &*values(DataType::Float64)),
    }
}

fn rows(batches: &[RecordBatch]) -> Rows {
    let mut rows = Vec::new();
    for batch in batches {
        let columns: Vec<_> = batch.columns().iter().map(|values| column(values)).collect();
        rows.extend(
            (0..batch.num_rows())
                .map(|row| columns.iter().map(|column| column[row].clone()).collect::<Vec<_>>()),
        );
    }
    rows
}

/// Fails unless the rows are equal, in any order unless the query has one.
fn assert_equal(of: &str, query: &str, rows: &Rows, expected: &Rows) {
    let (mut rows, mut expected) = (rows.clone(), expected.clone());
    if !query.contains("\nORDER BY") {
        rows.sort_by(|one, other| compare_rows(one, other));
        expected.sort_by(|one, other| compare_rows(one, other));
    }
    let is_equal = rows.len() == expected.len()
        && rows.iter().zip(&expected).all(|(one, other)| compare_rows(one, other).is_eq());
    assert!(is_equal, "{of}: {query}:\n{:?}\nexpected:\n{:?}", first(&rows), first(&expected));
}

fn first(rows: &Rows) -> &[Vec<Value>] {
    &rows[..rows.len().min(20)]
}

fn queries() -> Vec<String> {
    let text = include_str!("queries.sql");
    let text: String =
        text.lines().filter(|line| !line.starts_with("--")).map(|line| format!("{line}\n")).collect();
    let queries = text.split(";\n").map(|query| query.trim().to_owned());
    queries.filter(|query| !query.is_empty()).collect()
}

/// What DuckDB answers to each query.
fn of_duckdb(python: &str, flights: &str, weather: &str) -> Vec<Rows> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/duckdb");
    let mut command = Command::new(python);
    command.arg(folder.join("answers.py")).arg(folder.join("queries.sql")).args([flights, weather]);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let value = |value: &serde_json::Value| match value {
        serde_json::Value::Null => Value::Null,
        serde_json::Value::String(text) => Value::Text(text.clone()),
        serde_json::Value::Bool(is) => Value::Number(f64::from(u8::from(*is))),
        other => Value::Number(other.as_f64().unwrap()),
    };
    let lines = std::str::from_utf8(&output.stdout).unwrap().lines();
    let rows = lines.map(|line| serde_json::from_str::<Vec<Vec<serde_json::Value>>>(line).unwrap());
    rows.map(|rows| rows.iter().map(|row| row.iter().map(value).collect()).collect()).collect()
}

/// A context of these tables, under the names that the queries use.
fn context(flights: Arc<dyn TableProvider>, weather: Arc<dyn TableProvider>) -> SessionContext {
    let context = SessionContext::new_with_config(SessionConfig::new().with_target_partitions(3));
    context.register_table("flights", flights).unwrap();
    context.register_table("weather", weather).unwrap();
    context
}

async fn answer(context: &SessionContext, query: &str) -> Rows {
    let frame = context.sql(query).await.unwrap_or_else(|error| panic!("{query}: {error}"));
    rows(&frame.collect().await.unwrap_or_else(|error| panic!("{query}: {error}")))
}

/// The paths of the departures and of the weather.
fn files() -> [String; 2] {
    let file = |name: &str, extract: &str| {
        let otherwise = Path::new(env!("CARGO_MANIFEST_DIR")).join(extract);
        env::var(name).unwrap_or_else(|_| otherwise.to_str().unwrap().to_owned())
    };
    [
        file("KEYDERIVE_FLIGHTS", "../examples/data/flights.csv"),
        file("KEYDERIVE_WEATHER", "tests/duckdb/weather.csv"),
    ]
}

/// The tables under each key, and in memory.
async fn contexts(flights: &str, weather: &str) -> ([(&'static str, SessionContext); 5], SessionContext) {
    let client = Client::embedded();
    data::fill(&client, flights, weather).await;

    let table = |layout: TableLayout, pushdown: bool| -> Arc<dyn TableProvider> {
        let table = BigtableTable::new(&client, &layout).unwrap();
        Arc::new(if pushdown { table } else { table.without_pushdown() })
    };
    let airports = || TableLayout::of::<Airports, Flight>("airports");
    let stations = || TableLayout::of::<Stations, Weather>("stations");
    let hours = || TableLayout::of::<Hours, Weather>("hours");
    let contexts = [
        ("airports", context(table(airports(), true), table(stations(), true))),
        ("salted", context(table(TableLayout::of::<Salted, Flight>("salted"), true), table(hours(), true))),
        (
            "epochs",
            context(table(TableLayout::of::<Epochs, Flight>("epochs"), true), table(stations(), true)),
        ),
        (
            "ordered",
            context(table(TableLayout::of::<Ordered, Flight>("ordered"), true), table(hours(), true)),
        ),
        ("without pushdown", context(table(airports(), false), table(stations(), false))),
    ];
    let memory = contexts[4].1.clone();
    for name in ["flights", "weather"] {
        let create = format!("CREATE TABLE copy_of_{name} AS SELECT * FROM {name}");
        memory.sql(&create).await.unwrap().collect().await.unwrap();
    }
    let copies = [memory.table_provider("copy_of_flights"), memory.table_provider("copy_of_weather")];
    let [flights_copy, weather_copy] = copies;
    let in_memory = context(flights_copy.await.unwrap(), weather_copy.await.unwrap());
    (contexts, in_memory)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn queries_have_one_result() {
    let [flights, weather] = files();
    let (contexts, in_memory) = contexts(&flights, &weather).await;
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
        for (name, context) in &contexts {
            assert_equal(name, query, &answer(context, query).await, &expected);
        }
        nonempty += usize::from(!expected.is_empty());
    }
    assert!(nonempty * 10 > queries.len() * 8, "{nonempty} of {} queries have rows", queries.len());
    assert!(of_duckdb.is_empty() || of_duckdb.len() == queries.len());
    println!("{} queries, {nonempty} with rows", queries.len());
}

/// Conditions on the leftmost fields of a key: the server reads the rows that fulfil them, and no other.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_server_reads_the_rows_that_conditions_leave() {
    let [flights, weather] = files();
    let (contexts, in_memory) = contexts(&flights, &weather).await;
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
        let context = &contexts.iter().find(|(of, _)| *of == name).unwrap().1;
        let Value::Number(expected) = answer(&in_memory, &format!("SELECT count(*) FROM {from}")).await[0][0]
        else {
            panic!("{from}: count(*) is no number")
        };
        let query = format!("EXPLAIN ANALYZE SELECT sched, carrier FROM {from}")
            .replace("sched, carrier FROM weather", "sched, temp FROM weather");
        let plan = context.sql(&query).await.unwrap().collect().await.unwrap();
        let plan = pretty_format_batches(&plan).unwrap().to_string();
        let scans = plan.lines().filter(|line| line.contains("BigtableExec"));
        let seen: f64 = scans
            .filter_map(|line| line.split_once("rows_seen="))
            .map(|(_, rest)| {
                let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
                digits.parse::<f64>().unwrap()
            })
            .sum();
        assert!(expected > 0.0 || from.contains("flight = 1 "), "{from} has no rows");
        assert!(seen == expected, "{name}: {seen} rows seen, of {expected}: {from}\n{plan}");
    }
}
