//! Bigtable's SQL for the embedded Bigtable, to test programs that send queries without the service.
//!
//! ```
//! use std::sync::Arc;
//!
//! use keyderive::embedded::Bigtable;
//! use keyderive_googlesql::Engine;
//!
//! # #[derive(keyderive::RowKey)] struct UserKey { id: String }
//! # #[derive(keyderive::Row)] #[row(family = "cf")] struct User { name: String }
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), keyderive::Error> {
//! let client = Bigtable::in_memory().with_query_engine(Arc::new(Engine::default())).client();
//! let users = client.table::<UserKey, User>("users");
//! users.create_if_absent().await?;
//! users.put(&UserKey { id: "ada".to_owned() }, &User { name: "Ada".to_owned() }).await?;
//!
//! let names: Vec<(String, String)> = client
//!     .query("SELECT id, CAST(cf['name'] AS STRING) AS name FROM users WHERE id = @id")
//!     .bind("id", "ada")
//!     .fetch()
//!     .await?;
//! assert_eq!(names, [("ada".to_owned(), "Ada".to_owned())]);
//! # Ok(())
//! # }
//! ```
//!
//! The command `keyderive serve` serves such a Bigtable on a port, to clients in every language.
//!
//! # What it runs
//!
//! GoogleSQL, as [Google's reference](https://docs.cloud.google.com/bigtable/docs/reference/sql) for Bigtable defines it:
//!
//! | | |
//! |---|---|
//! | tables | `_key`, a `MAP<BYTES, BYTES>` for each column family, of `INT64` for sums, minima and maxima; the fields of a row key schema as columns, and then `_key` is left out of `*` |
//! | versions | `t(with_history => TRUE)`, with `after`, `after_or_equal`, `before`, `before_or_equal`, `latest_n`; `t(as_of => …)`; `UNPACK((SELECT …))` |
//! | clauses | `SELECT [DISTINCT]` with `* EXCEPT` and `REPLACE`, subqueries in `FROM`, `UNNEST` as a correlated join, `WHERE`, `GROUP BY`, `HAVING`, `ORDER BY`, `LIMIT` and `OFFSET` |
//! | expressions | comparisons, `AND`, `OR`, `NOT`, `IS`, `IN`, `IN UNNEST`, `BETWEEN`, `LIKE`, `CASE`, arithmetic, `&`, `\|`, `^`, `~`, `<<` and `>>` of INT64 and BYTES, `DATE + INT64`, `\|\|`, `CAST`, `SAFE_CAST`, subscripts of maps and arrays, fields of structs, array and struct literals with and without types, parameters |
//! | functions | of maps, stored bytes, texts, regular expressions, numbers, arrays, dates and timestamps; `COUNT`, `COUNTIF`, `SUM`, `AVG`, `MIN`, `MAX`, `ANY_VALUE`, `ARRAY_AGG`, `STRING_AGG`, `LOGICAL_AND`, `LOGICAL_OR` |
//!
//! Types, NULL and errors are GoogleSQL's: `_key = 'a'` compares BYTES, and a parameter of STRING does not; integer overflow is an error;
//! rows come in the order of their keys. An invalid query fails with `INVALID_ARGUMENT`, and one that uses a feature not listed above with
//! `UNIMPLEMENTED` and the feature's name. So a query that runs here means what Google's pages say. Tests compare the engine with 8,000
//! compliance cases of GoogleSQL's reference implementation; it has not been compared with the service.
//!
//! # What differs from the service
//!
//! - Time zones are those of the IANA database that the program has in it. Without one, a time is in UTC.
//! - Regular expressions have no Unicode classes, such as `\p{Greek}`.
//! - SUM and AVG of floats add in the order of the rows, and fail where a partial sum is out of range; GoogleSQL's reference adds exactly.
//! - At most 16 brackets, CASEs and NOTs may be inside of each other.
//! - Arrays and structs have no equality and no order.
//! - There are no logical views, materialized views or protocol buffers, no hash function but `FARM_FINGERPRINT`, and no JSON, HLL, window
//!   or lambda functions.
//! - Conditions on `_key` by `=`, `<`, `<=`, `>`, `>=`, `IN`, `LIKE` and `STARTS_WITH` read only the rows that they select. Every other
//!   query reads the whole table, even one with conditions on the fields of a row key schema.
//! - A prepared query expires after an hour, or when its columns change. The whole result is held in memory, up to
//!   [a limit](Engine::memory_limit).

#![warn(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, clippy::print_stderr)]

mod aggregate;
mod analyze;
mod bits;
mod cast;
mod column;
mod error;
mod expr;
mod functions;
mod keys;
mod lex;
mod meter;
mod parse;
mod relation;
mod row_key;
mod table;
mod time;
mod typed;
mod types;
mod value;

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::thread;

use keyderive_embedded::{OnOpen, Query, QueryEngine, QueryTables};
use keyderive_proto::data::{ColumnMetadata, Value as Message};
use tonic::Status;

use analyze::Analyzer;
use column::Column;
use types::Type;
use value::Value;

/// Runs SQL over the tables of an embedded Bigtable: pass it to `Bigtable::with_query_engine`.
///
/// A query ends within some milliseconds after its caller has gone, with `CANCELLED`.
#[derive(Clone, Copy, Debug)]
pub struct Engine {
    memory_limit: usize,
}

impl Default for Engine {
    fn default() -> Self {
        Self { memory_limit: 1 << 30 }
    }
}

impl Engine {
    /// Sets how many bytes of rows and values a query may hold, its whole result among them; by default 1 GiB.
    ///
    /// ```
    /// let engine = keyderive_googlesql::Engine::default().memory_limit(64 << 20);
    /// ```
    ///
    /// A query that needs more fails with `RESOURCE_EXHAUSTED`. A function counts its arguments 16 times more while it runs, for what it
    /// computes. What the query's text takes is not counted.
    #[must_use]
    pub fn memory_limit(self, bytes: usize) -> Self {
        Self { memory_limit: bytes }
    }
}

/// The size of the stack on which a query is parsed and run. Both recurse over its expressions, for which the default stack is too small if
/// the text has many tokens.
const STACK_BYTES: usize = 64 << 20;

impl QueryEngine for Engine {
    fn open(
        &self,
        query: &Query,
        parameters: &BTreeMap<String, Message>,
        tables: &QueryTables<'_>,
        on_open: OnOpen<'_>,
    ) -> Result<(), Status> {
        let work = || {
            meter::begin(tables.caller(), self.memory_limit);
            let mut typed = BTreeMap::new();
            for (name, of) in &query.parameter_types {
                let of = Type::of_message(of)?;
                let value = parameters.get(name).map(|message| Value::of_message(message, &of));
                typed.insert(name.to_ascii_lowercase(), (of, value.transpose()?.unwrap_or(Value::Null)));
            }
            let analyzer = Analyzer { tables: *tables, parameters: typed, now: tables.now_micros() };
            let ast = parse::parse(&query.text)?;
            let relation = analyzer.query(&ast)?;
            let column = |column: &Column| ColumnMetadata {
                name: column.name.clone(),
                r#type: Some(column.of.to_message()),
            };
            on_open(relation.columns.iter().map(column).collect(), &mut |row| {
                let mut held = meter::Held::default();
                relation.plan.run(&mut |values| {
                    // The server holds the whole answer.
                    held.add(relation::bytes(&values))?;
                    row(values.iter().map(Value::to_message).collect());
                    Ok(ControlFlow::Continue(()))
                })
            })
        };
        thread::scope(|scope| {
            let thread = thread::Builder::new().name("query".to_owned()).stack_size(STACK_BYTES);
            let thread = thread.spawn_scoped(scope, work);
            let thread = thread
                .map_err(|error| Status::resource_exhausted(format!("a query has no thread: {error}")))?;
            thread.join().unwrap_or_else(|_| Err(Status::internal("the query made the engine panic")))
        })
    }
}

#[cfg(test)]
mod tests;
