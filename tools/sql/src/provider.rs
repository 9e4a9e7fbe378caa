//! A table of keyderive for DataFusion's catalog.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::Session;
use datafusion::common::{Constraints, DFSchema, Result, not_impl_err, plan_err};
use datafusion::datasource::sink::DataSinkExec;
use datafusion::datasource::{TableProvider, TableType};
use datafusion::logical_expr::dml::InsertOp;
use datafusion::logical_expr::utils::conjunction;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::physical_plan::filter::FilterExecBuilder;
use keyderive::Client;
use keyderive::dynamic::TableLayout;

use crate::constraints::Predicate;
use crate::exact::is_exact;
use crate::exec::{BigtableExec, ScanSpec, Source};
use crate::insert::Sink;

/// One may be empty. DataFusion passes the filter of a join through a `FilterExec` that has a limit, to a scan that is then narrowed before
/// the limit counts. Partitions are merged below a limit of all rows, and a filter does not pass an ordered merge.
const MIN_PARTITIONS: usize = 2;

/// A table of keyderive as a table of DataFusion, made by [`Exact::table`](crate::Exact::table).
///
/// ```
/// use std::sync::Arc;
///
/// use datafusion::prelude::SessionConfig;
/// use keyderive::dynamic::TableLayout;
/// use keyderive::{Client, Row, RowKey};
/// use keyderive_datafusion::Exact;
///
/// #[derive(RowKey)]
/// #[salt(range = 4, over = "user")]
/// struct EventKey {
///     user: String,
///     #[reverse_ts]
///     at: u64,
/// }
///
/// #[derive(Row)]
/// struct Event {
///     kind: String,
///     amount: Option<f64>,
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let client = Client::embedded();
/// let events = client.table::<EventKey, Event>("events");
/// events.create_if_absent().await?;
/// events.put(&EventKey { user: "alice".into(), at: 5 }, &Event { kind: "buy".into(), amount: Some(2.5) }).await?;
///
/// let exact = Exact::new(SessionConfig::new());
/// let layout = TableLayout::of::<EventKey, Event>("events"); // or of a file of layouts
/// exact.context().register_table("events", Arc::new(exact.table(&client, &layout)?))?;
/// let query = "SELECT at, amount FROM events WHERE \"user\" = 'alice' AND at >= 3 ORDER BY at DESC LIMIT 10";
/// let rows = exact.sql(query).await?.collect().await?;
/// assert_eq!(rows[0].num_rows(), 1);
/// # Ok(())
/// # }
/// ```
///
/// The [crate's documentation](crate) lists its columns, and the predicates that limit what is read.
#[derive(Debug)]
pub struct BigtableTable {
    source: Arc<Source>,
    pushdown: bool,
    /// Whether a session without the rules of [`Exact`](crate::Exact) may use it.
    accepts_any_session: bool,
}

impl BigtableTable {
    /// A table for any session, with DataFusion's own answers: some are wrong, without an error. [`Exact`](crate::Exact) lists them.
    ///
    /// # Errors
    /// If two columns have the same name, even as `family:qualifier`.
    pub fn with_answers_of_datafusion(client: &Client, layout: &TableLayout) -> Result<Self> {
        Self::of(client, layout, true)
    }

    /// Sends no request.
    pub(crate) fn of(client: &Client, layout: &TableLayout, accepts_any_session: bool) -> Result<Self> {
        Ok(Self { source: Arc::new(Source::new(client, layout)?), pushdown: true, accepts_any_session })
    }

    /// Fails for a session to which the table was carried, and whose answers may be wrong.
    fn check(&self, session: &dyn Session) -> Result<()> {
        if self.accepts_any_session || is_exact(session) {
            return Ok(());
        }
        plan_err!(
            "the session does not have the rules without which DataFusion gives wrong answers about the table `{}`: call `Exact::add` with it",
            self.source.table.name()
        )
    }

    /// Disables pushdown: every scan then reads every row. For tests that compare results.
    #[must_use]
    pub fn without_pushdown(self) -> Self {
        Self { pushdown: false, ..self }
    }
}

#[async_trait]
impl TableProvider for BigtableTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.source.columns.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn constraints(&self) -> Option<&Constraints> {
        Some(&self.source.columns.constraints)
    }

    /// Answers exact or unsupported, never inexact. DataFusion asks about later filters without the earlier ones, so [`scan`](Self::scan) plans
    /// again from all filters, and adds a filter for those that the key ranges do not cover.
    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        let known: Vec<_> =
            filters.iter().map(|filter| Predicate::of_expr(filter, &self.source.columns)).collect();
        let predicates: Vec<_> = known.iter().flatten().cloned().collect();
        let filter = self.source.filter(&predicates)?;
        let mut decided = filter.decided().iter();
        let answer = |known: &Option<Predicate>| match known.as_ref().and_then(|_| decided.next()) {
            Some(true) if self.pushdown => TableProviderFilterPushDown::Exact,
            _ => TableProviderFilterPushDown::Unsupported,
        };
        Ok(known.iter().map(answer).collect())
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.check(state)?;
        let Source { columns, .. } = &*self.source;
        let wanted = projection.cloned().unwrap_or_else(|| (0..columns.schema.fields().len()).collect());
        let known: Vec<_> = filters.iter().map(|filter| Predicate::of_expr(filter, columns)).collect();
        let filter = self.source.filter(&known.iter().flatten().cloned().collect::<Vec<_>>())?;
        if filter.contradiction().is_some() {
            return Ok(Arc::new(EmptyExec::new(Arc::new(columns.schema.project(&wanted)?))));
        }
        let (mut predicates, mut rest) = (Vec::new(), Vec::new());
        let mut decided = filter.decided().iter();
        for (condition, known) in filters.iter().zip(known) {
            match known.filter(|_| decided.next() == Some(&true)) {
                Some(predicate) => predicates.push(predicate),
                None => rest.push(condition.clone()),
            }
        }
        // Conditions that the plan does not meet are checked here, whatever was answered before.
        let mut read = wanted.clone();
        for column in rest.iter().flat_map(Expr::column_refs) {
            let at = columns.schema.index_of(column.name())?;
            if !read.contains(&at) {
                read.push(at);
            }
        }
        let all = self.source.windows().await?;
        let windows: Vec<_> =
            all.iter().filter(|window| !filter.plan().within(&window.range).is_empty()).cloned().collect();
        let spec = ScanSpec {
            predicates,
            projection: read,
            bytes: windows.iter().map(|window| window.bytes).sum(),
            reversed: false,
            limit: limit.filter(|_| rest.is_empty()),
        };
        let partitions = state.config().target_partitions().min(windows.len()).max(MIN_PARTITIONS);
        let scan: Arc<dyn ExecutionPlan> =
            Arc::new(BigtableExec::new(Arc::clone(&self.source), spec, &windows, partitions)?);
        let Some(rest) = conjunction(rest) else { return Ok(scan) };
        let filter =
            state.create_physical_expr(rest, &DFSchema::try_from(scan.schema().as_ref().clone())?)?;
        let filter =
            FilterExecBuilder::new(filter, scan).apply_projection(Some((0..wanted.len()).collect()))?;
        Ok(Arc::new(filter.build()?))
    }

    /// `INSERT INTO`. The [crate's documentation](crate#insert) says what it guarantees.
    async fn insert_into(
        &self,
        state: &dyn Session,
        input: Arc<dyn ExecutionPlan>,
        op: InsertOp,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.check(state)?;
        let name = self.source.table.name();
        if op != InsertOp::Append {
            return not_impl_err!("only `INSERT INTO` writes to the table `{name}`, and not `{op}`");
        }
        if self.source.columns.key.len() < self.source.table.key().schema().fields().len() {
            return plan_err!(
                "the table `{name}` cannot be written by SQL: its key has a hashed field, which is no column"
            );
        }
        Ok(Arc::new(DataSinkExec::new(input, Arc::new(Sink::new(Arc::clone(&self.source))), None)))
    }
}
