//! The queries, and how their rows are compared.

use std::cmp::Ordering;

use datafusion::arrow::array::{Array, AsArray, RecordBatch};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Float64Type, Int64Type, TimeUnit};
use keyderive_datafusion::Exact;

#[derive(Clone, Debug)]
pub(crate) enum Value {
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

pub(crate) type Rows = Vec<Vec<Value>>;

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

pub(crate) fn rows(batches: &[RecordBatch]) -> Rows {
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
pub(crate) fn assert_equal(of: &str, query: &str, rows: &Rows, expected: &Rows) {
    compare(query, rows, expected).unwrap_or_else(|difference| panic!("{of}: {query}:\n{difference}"));
}

/// How the rows differ, in any order unless the query has one.
pub(crate) fn compare(query: &str, rows: &Rows, expected: &Rows) -> Result<(), String> {
    let (mut rows, mut expected) = (rows.clone(), expected.clone());
    if !query.contains("\nORDER BY") {
        rows.sort_by(|one, other| compare_rows(one, other));
        expected.sort_by(|one, other| compare_rows(one, other));
    }
    let is_equal = rows.len() == expected.len()
        && rows.iter().zip(&expected).all(|(one, other)| compare_rows(one, other).is_eq());
    if is_equal {
        return Ok(());
    }
    Err(format!("{:?}\nexpected:\n{:?}", first(&rows), first(&expected)))
}

fn first(rows: &Rows) -> &[Vec<Value>] {
    &rows[..rows.len().min(20)]
}

pub(crate) fn queries() -> Vec<String> {
    let text = include_str!("queries.sql");
    let text: String =
        text.lines().filter(|line| !line.starts_with("--")).map(|line| format!("{line}\n")).collect();
    let queries = text.split(";\n").map(|query| query.trim().to_owned());
    queries.filter(|query| !query.is_empty()).collect()
}

pub(crate) async fn answer(exact: &Exact, query: &str) -> Rows {
    let frame = exact.sql(query).await.unwrap_or_else(|error| panic!("{query}: {error}"));
    rows(&frame.collect().await.unwrap_or_else(|error| panic!("{query}: {error}")))
}
