//! A session: the tables of a Bigtable, and statements that run one after the other.

use std::collections::VecDeque;
use std::future::pending;
use std::io::{self, IsTerminal as _};
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::slice;
use std::sync::Arc;
use std::time::{Duration, Instant};

use datafusion::arrow::array::{ArrayRef, AsArray as _, RecordBatch, StringArray};
use datafusion::arrow::datatypes::{DataType, Field, Schema, UInt64Type};
use datafusion::common::config::{ConfigNonZeroUsize, MaxRowGroupBytes};
use datafusion::common::tree_node::TreeNode as _;
use datafusion::common::{DataFusionError, TableReference};
use datafusion::execution::SessionStateBuilder;
use datafusion::execution::memory_pool::FairSpillPool;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::logical_expr::{DdlStatement, LogicalPlan};
use datafusion::physical_plan::{ExecutionPlan, execute_stream};
use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::Statement as SqlStatement;
use futures_util::{FutureExt as _, StreamExt as _};
use keyderive_command::confirm::name_production;
use keyderive_command::exit::{Exit, Failure, Outcome};
use keyderive_command::instance::Target;
use keyderive_command::layout::Connection;
use keyderive_command::output::{self, Meter};
use keyderive_datafusion::Exact;
use tokio::time::interval;

use crate::SessionArgs;
use crate::catalog::{CATALOG, Catalog, SCHEMA, quoted};
use crate::failure;
use crate::print::{Format, Printer};
use crate::statement::{Part, parts};

/// A scan that DataFusion leaves a sort out for is buffered up to this part of the memory, for each partition.
const BUFFERED: usize = 16;

/// A row group of a Parquet file ends at this many rows or bytes, and is in memory until then.
const GROUP_ROWS: usize = 1 << 17;
const GROUP_BYTES: usize = 32 << 20;

/// How deep expressions and queries may be nested. By it, a chain may have 4,000 operators, for which the stack has room.
const NESTING: usize = 1_000;

/// How often the number of rows is looked at.
const EVERY: Duration = Duration::from_millis(100);

const HELP: &str = "\
A statement ends with `;`. Tab completes tables, fields and keywords; Ctrl-C cancels a query.

  \\d          the tables
  \\d TABLE    the columns of a table
  EXPLAIN …;  the key ranges and buckets that a query would read
  EXPLAIN ANALYZE …;
              run the query and show its cost: `rows_seen` counts the rows that the server has read
  \\q          quit; also Ctrl-D
  \\?          this help";

/// Parses a number of bytes, such as `256MB` or `2GiB`.
pub(crate) fn memory(text: &str) -> Result<usize, String> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let unit: usize = match text[digits..].trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kib" => 1 << 10,
        "m" | "mib" => 1 << 20,
        "g" | "gib" => 1 << 30,
        "kb" => 1_000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        _ => return Err("write a number with `MB`, `MiB`, `GB` or `GiB`".to_owned()),
    };
    let bytes = text[..digits].parse::<usize>().ok().and_then(|number| number.checked_mul(unit));
    bytes.filter(|bytes| *bytes > 0).ok_or_else(|| "write a number of bytes".to_owned())
}

/// What a statement did.
pub(crate) struct Printed {
    /// How many rows it printed, or wrote.
    pub(crate) rows: u64,
    pub(crate) took: Duration,
}

pub(crate) struct Session {
    pub(crate) exact: Exact,
    pub(crate) context: SessionContext,
    pub(crate) catalog: Catalog,
    pub(crate) target: Target,
    format: Format,
    /// Whether statements that write rows are refused.
    pub(crate) is_read_only: bool,
    /// Whether Ctrl-C is listened for, which from then on does not end the process.
    listens: bool,
}

impl Session {
    /// Connects, and finds the tables.
    pub(crate) async fn open(args: &SessionArgs, format: Format) -> Outcome<Self> {
        let target = args.instance.target()?;
        let mut connection = Connection::new(target.clone());
        let layouts = args.layouts.all(&mut connection).await?;
        let client = connection.client().await?;
        let context = context(args.memory).map_err(|error| failure::of(&error))?;
        let exact = Exact::add(&context);
        let catalog = Catalog::register(&exact, &client, layouts)?;
        if catalog.is_empty() {
            output::note(
                "there are no tables: no `layouts.json` in this folder or above it, and no program has registered any",
            );
        }
        Ok(Self { exact, context, catalog, target, format, is_read_only: false, listens: false })
    }

    /// Listens for Ctrl-C from now on: it cancels a statement, and not the process.
    pub(crate) fn listen(&mut self) {
        self.listens = true;
        // The first poll installs the handler.
        let _ = tokio::signal::ctrl_c().now_or_never();
    }

    /// Runs statements and commands until one fails, once all statements are parsed.
    pub(crate) async fn run_all(&mut self, text: &str) -> Outcome {
        let parts = parts(text).into_iter().map(|part| match part {
            Part::Command(command) => Ok((Some(command), VecDeque::new())),
            Part::Statements(text) => Ok((None, self.parsed(&text)?)),
        });
        for (command, statements) in parts.collect::<Outcome<Vec<_>>>()? {
            match command {
                Some("q") => break,
                Some(command) => self.describe(command).await?,
                None => {
                    for statement in statements {
                        self.run(statement).await?;
                    }
                }
            }
        }
        Ok(Exit::Done)
    }

    /// Runs a statement, and prints its result.
    ///
    /// # Errors
    /// Also if it panics, or Ctrl-C cancels it.
    pub(crate) async fn run(&mut self, statement: Statement) -> Outcome<Printed> {
        self.run_as(statement, Some(self.format)).await
    }

    /// Runs a statement that writes, and prints nothing. Returns the number of rows.
    pub(crate) async fn quiet(&mut self, sql: &str) -> Outcome<u64> {
        let mut rows = 0;
        for statement in self.parsed(sql)? {
            rows += self.run_as(statement, None).await?.rows;
        }
        Ok(rows)
    }

    /// The statements of a text.
    pub(crate) fn parsed(&self, text: &str) -> Outcome<VecDeque<Statement>> {
        self.exact.parse(text).map_err(|error| failure::of(&error))
    }

    /// Plans statements, to find faults.
    pub(crate) async fn plan(&self, sql: &str) -> Outcome<()> {
        for statement in self.parsed(sql)? {
            let plan = self.exact.plan(statement).await;
            plan.map_err(|error| failure::of_plan(&error))?;
        }
        Ok(())
    }

    async fn run_as(&mut self, statement: Statement, format: Option<Format>) -> Outcome<Printed> {
        match AssertUnwindSafe(self.run_inner(statement, format)).catch_unwind().await {
            Ok(ended) => ended,
            Err(_) => Err(Failure::failed("the statement has panicked, which is a fault of the shell")),
        }
    }

    async fn run_inner(&mut self, statement: Statement, format: Option<Format>) -> Outcome<Printed> {
        let begun = Instant::now();
        let is_plan = is_explained(&statement);
        let tables = self.context.state().resolve_table_references(&statement).unwrap_or_default();
        let plan = self.exact.plan(statement).await;
        let plan = plan.map_err(|error| self.with_nearest(failure::of_plan(&error), &tables))?;
        let (writes, is_change) = (writes(&plan), matches!(plan, LogicalPlan::Dml(_) | LogicalPlan::Copy(_)));
        if let Some(name) = self.redefined(&plan) {
            return Err(Failure::usage(format_args!(
                "`{name}` is a table of the Bigtable, which SQL neither creates nor drops: choose another name"
            )));
        }
        if writes && self.is_read_only {
            return Err(Failure::usage("the statement writes rows, which `--read-only` refuses"));
        }
        if writes && format.is_some() {
            name_production(&self.target);
        }
        self.listens |= writes;
        let planned = async {
            let frame = self.context.execute_logical_plan(plan).await?;
            let task = Arc::new(frame.task_ctx());
            Ok::<_, DataFusionError>((frame.create_physical_plan().await?, task))
        };
        let listens = self.listens;
        let cancelled = async {
            match listens {
                true => _ = tokio::signal::ctrl_c().await,
                false => pending().await,
            }
            Failure::failed("cancelled")
        };
        let mut cancelled = pin!(cancelled);
        let mut has_begun = false;
        let ended = async {
            let (plan, task) = tokio::select! {
                planned = planned => planned.map_err(|error| failure::of_plan(&error))?,
                cancelled = &mut cancelled => return Err(cancelled),
            };
            has_begun = true;
            let mut batches = execute_stream(Arc::clone(&plan), task).map_err(|error| failure::of(&error))?;
            let mut printing = Printing::new(format, &batches.schema(), [is_plan, is_change])?;
            let mut ticks = interval(EVERY);
            loop {
                tokio::select! {
                    // Batches may be there all the time.
                    biased;
                    cancelled = &mut cancelled => return Err(cancelled),
                    _ = ticks.tick() => printing.progress(&plan),
                    batch = batches.next() => match batch {
                        Some(batch) => printing.batch(&batch.map_err(|error| failure::of(&error))?)?,
                        None => break,
                    },
                }
            }
            printing.finish()
        };
        let rows = ended.await;
        let rows = rows.map_err(|failure| match writes && has_begun {
            true => {
                failure.after("rows that were written stay, each whole; the same statement may be run again")
            }
            false => failure,
        })?;
        Ok(Printed { rows, took: begun.elapsed() })
    }

    /// Runs a command with a backslash, which is left out here.
    pub(crate) async fn describe(&self, command: &str) -> Outcome<()> {
        let mut words = command.trim().trim_end_matches(';').splitn(2, char::is_whitespace);
        let name = words.next().unwrap_or_default();
        match (name, words.next().map(str::trim).filter(|name| !name.is_empty())) {
            ("?" | "h", None) => help(),
            ("d", None) => self.print(["table", "key", "row"], &self.catalog.tables()),
            ("d", Some(name)) => {
                // As the parser reads the name: in lower case, unless it is in quotation marks.
                let place = TableReference::from(name);
                let table = self.context.table_provider(place.clone()).await;
                let table =
                    table.map_err(|error| self.with_nearest(failure::of(&error), slice::from_ref(&place)))?;
                self.print(["column", "type", "is"], &self.catalog.columns(place.table(), &*table))
            }
            _ => Err(Failure::usage(format_args!("there is no command `\\{command}`; `\\?` lists them"))),
        }
    }

    /// The table that a statement would put something else in the place of, or drop.
    fn redefined<'p>(&self, plan: &'p LogicalPlan) -> Option<&'p str> {
        let LogicalPlan::Ddl(definition) = plan else { return None };
        let place = match definition {
            DdlStatement::CreateExternalTable(table) => &table.name,
            DdlStatement::CreateMemoryTable(table) => &table.name,
            DdlStatement::CreateView(view) => &view.name,
            DdlStatement::DropTable(table) => &table.name,
            DdlStatement::DropView(view) => &view.name,
            _ => return None,
        };
        self.catalog.layout(place.table()).is_ok().then(|| place.table())
    }

    /// The failure of a statement about these tables, with the nearest name to one that is not there.
    fn with_nearest(&self, failure: Failure, tables: &[TableReference]) -> Failure {
        let is_absent =
            |table: &&TableReference| matches!(self.context.table_exist((*table).clone()), Ok(false));
        match tables.iter().filter(is_absent).find_map(|table| self.catalog.nearest(table.table())) {
            Some(name) => failure.help(format_args!("did you mean `{}`?", quoted(name))),
            None => failure,
        }
    }

    fn print(&self, head: [&str; 3], rows: &[[String; 3]]) -> Outcome<()> {
        let schema = Schema::new(head.map(|name| Field::new(name, DataType::Utf8, false)).to_vec());
        let column =
            |at: usize| Arc::new(StringArray::from_iter_values(rows.iter().map(|row| &row[at]))) as ArrayRef;
        let columns = (0..head.len()).map(column).collect();
        let mut printer = Printer::new(self.format, &schema, false)?;
        let batch = RecordBatch::try_new(Arc::new(schema), columns).map_err(Failure::failed)?;
        printer.batch(&batch)?;
        printer.finish()
    }
}

/// A context with this much memory.
fn context(memory: usize) -> Result<SessionContext, DataFusionError> {
    let mut config =
        SessionConfig::new().with_information_schema(true).with_default_catalog_and_schema(CATALOG, SCHEMA);
    let options = config.options_mut();
    options.sql_parser.recursion_limit = ConfigNonZeroUsize::try_new(NESTING)?;
    // `EXPLAIN` says what is read, which is in the physical plan.
    options.explain.physical_plan_only = true;
    options.execution.sort_pushdown_buffer_capacity = memory / BUFFERED;
    // What each partition of a sort reserves, to merge what it has spilled.
    let partitions = options.execution.target_partitions.max(1);
    options.execution.sort_spill_reservation_bytes =
        options.execution.sort_spill_reservation_bytes.min(memory / 4 / partitions);
    // With several writers, none heeds the bytes of a row group.
    options.execution.parquet.allow_single_file_parallelism = false;
    options.execution.parquet.max_row_group_size = GROUP_ROWS;
    options.execution.parquet.max_row_group_bytes = Some(MaxRowGroupBytes::try_new(GROUP_BYTES)?);
    // Tables of keyderive have `Utf8` and `Binary`.
    options.execution.parquet.schema_force_view_types = false;
    let runtime =
        RuntimeEnvBuilder::new().with_memory_pool(Arc::new(FairSpillPool::new(memory))).build_arc()?;
    let state =
        SessionStateBuilder::new_with_default_features().with_config(config).with_runtime_env(runtime);
    Ok(SessionContext::new_with_state(state.build()).enable_url_table())
}

pub(crate) fn help() -> Outcome<()> {
    let mut out = output::Out::new();
    output::write_safe(&mut out, HELP)?;
    out.finish()?;
    Ok(())
}

fn is_explained(statement: &Statement) -> bool {
    match statement {
        Statement::Explain(_) => true,
        Statement::Statement(statement) => matches!(&**statement, SqlStatement::Explain { .. }),
        _ => false,
    }
}

/// Whether rows of a table are written, also by `EXPLAIN ANALYZE`.
fn writes(plan: &LogicalPlan) -> bool {
    plan.exists(|plan| Ok(matches!(plan, LogicalPlan::Dml(_)))).unwrap_or(true)
}

/// A result that is being printed, and how far it is.
struct Printing {
    printer: Option<Printer>,
    meter: Option<Meter>,
    /// Whether the result is the number of rows that were written.
    is_change: bool,
    rows: u64,
}

impl Printing {
    fn new(format: Option<Format>, schema: &Schema, [is_plan, is_change]: [bool; 2]) -> Outcome<Self> {
        // A definition's schema has no columns.
        let format = format.filter(|_| !schema.fields().is_empty());
        let printer = format.map(|format| Printer::new(format, schema, is_plan)).transpose()?;
        let meter = io::stderr().is_terminal().then(|| Meter::new("read"));
        Ok(Self { printer, meter, is_change, rows: 0 })
    }

    fn batch(&mut self, batch: &RecordBatch) -> Outcome<()> {
        if io::stdout().is_terminal() {
            // It would be in the midst of the rows.
            self.meter = None;
        }
        self.rows += match batch.columns().first().and_then(|column| column.as_primitive_opt::<UInt64Type>())
        {
            Some(counts) if self.is_change => counts.values().iter().sum(),
            _ => batch.num_rows() as u64,
        };
        self.printer.as_mut().map_or(Ok(()), |printer| printer.batch(batch))
    }

    fn progress(&mut self, plan: &Arc<dyn ExecutionPlan>) {
        if let Some(meter) = &mut self.meter {
            meter.rows(rows_seen(plan));
        }
    }

    fn finish(self) -> Outcome<u64> {
        drop(self.meter);
        self.printer.map_or(Ok(()), Printer::finish)?;
        Ok(self.rows)
    }
}

/// How many rows the server has read for the scans of a plan.
fn rows_seen(plan: &Arc<dyn ExecutionPlan>) -> u64 {
    let own = plan.metrics().and_then(|metrics| metrics.sum_by_name("rows_seen"));
    let own = own.map_or(0, |rows| rows.as_usize() as u64);
    own + plan.children().into_iter().map(rows_seen).sum::<u64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_read() {
        for (text, bytes) in
            [("256MB", 256_000_000), ("2GiB", 2 << 30), ("1 kb", 1000), ("7", 7), ("64m", 64 << 20)]
        {
            assert_eq!(memory(text), Ok(bytes));
        }
        for text in ["", "MB", "-1MB", "0", "1.5GB", "99999999999999999999", "18446744073709551615k", "1 é"]
        {
            assert!(memory(text).is_err(), "{text}");
        }
    }
}
