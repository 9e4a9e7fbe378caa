//! The scan as an execution plan.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{fmt, iter};

use async_trait::async_trait;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::compute::SortOptions;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::stats::Precision;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, Statistics};
use datafusion::config::ConfigOptions;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{
    ConstExpr, EquivalenceProperties, Partitioning, PhysicalExpr, PhysicalSortExpr,
};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::filter_pushdown::{
    ChildPushdownResult, FilterPushdownPhase, FilterPushdownPropagation, PushedDown,
};
use datafusion::physical_plan::metrics::{
    BaselineMetrics, Count, ExecutionPlanMetricsSet, MetricBuilder, MetricsSet,
};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, SortOrderPushdownResult, StatisticsArgs,
    apply_expression_roots,
};
use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
use keyderive::Client;
use keyderive::client::ReadStats;
use keyderive::dynamic::{DynKey, KeyFilter, TableLayout};
use keyderive::plan::{KeyRange, Plan, Request};
use keyderive::table::DynTable;
use tokio::sync::Mutex;

use crate::batches::BatchBuilder;
use crate::columns::Columns;
use crate::constraints::{Predicate, key_filter, shown};
use crate::error::{ReadError, external};

/// How long windows are kept. They stay valid when tablets split and merge; only their balance gets worse.
const WINDOWS_FOR: Duration = Duration::from_secs(60);

/// How many rows are read before a batch's bytes are counted again.
const ROWS_AT_A_TIME: usize = 64;

/// How many ranges `EXPLAIN` shows, and over how many values of fields it does not compute them.
const SHOWN_RANGES: usize = 4;
const SHOWN_CHOICES: usize = 1_000;

/// A part of the table, and about how many bytes its rows have.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    pub(crate) range: KeyRange,
    pub(crate) bytes: u64,
}

impl Window {
    /// Cuts it at these keys, which ascend. The bytes are spread evenly.
    fn cut_at(self, splits: &[Vec<u8>]) -> Vec<Self> {
        let range = &self.range;
        let is_inside = |split: &&Vec<u8>| {
            split.as_slice() > range.start() && range.end().is_none_or(|end| split.as_slice() < end)
        };
        let starts = iter::once(range.start()).chain(splits.iter().filter(is_inside).map(Vec::as_slice));
        let starts: Vec<_> = starts.collect();
        let ends = starts.iter().skip(1).copied().map(Some).chain([range.end()]);
        let pieces = starts.len() as u64;
        let piece = |(number, (start, end)): (u64, (&&[u8], Option<&[u8]>))| Self {
            range: KeyRange::new(*start, end.map(<[u8]>::to_vec)),
            bytes: self.bytes / pieces + u64::from(number < self.bytes % pieces),
        };
        (0..).zip(starts.iter().zip(ends)).map(piece).collect()
    }
}

/// The table that a scan reads.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) table: DynTable,
    pub(crate) columns: Columns,
    windows: Mutex<Option<(Instant, Arc<[Window]>)>>,
}

impl Source {
    /// Sends nothing.
    pub(crate) fn new(client: &Client, layout: &TableLayout) -> Result<Self> {
        Ok(Self {
            table: client.dynamic_table(layout),
            columns: Columns::of(layout)?,
            windows: Mutex::new(None),
        })
    }

    /// The parts of the table, about its tablets, cut at the buckets.
    pub(crate) async fn windows(&self) -> Result<Arc<[Window]>> {
        let mut known = self.windows.lock().await;
        if let Some((_, windows)) = known.as_ref().filter(|(at, _)| at.elapsed() < WINDOWS_FOR) {
            return Ok(Arc::clone(windows));
        }
        let parts = self.table.sizes().await.map_err(external)?.parts;
        let splits = self.table.key().schema().bucket_splits();
        let windows = parts
            .into_iter()
            .flat_map(|part| Window { range: part.range, bytes: part.bytes.unwrap_or(0) }.cut_at(&splits));
        let windows: Arc<[Window]> = windows.collect();
        *known = Some((Instant::now(), Arc::clone(&windows)));
        Ok(windows)
    }

    pub(crate) fn filter(&self, predicates: &[Predicate]) -> Result<KeyFilter> {
        key_filter(self.table.key(), predicates)
    }
}

/// What a scan reads.
#[derive(Clone, Debug)]
pub(crate) struct ScanSpec {
    pub(crate) predicates: Vec<Predicate>,
    /// The indices of columns.
    pub(crate) projection: Vec<usize>,
    /// About how many bytes the windows have.
    pub(crate) bytes: u64,
    pub(crate) reversed: bool,
    pub(crate) limit: Option<usize>,
}

/// The scan of a Bigtable table, a partition for some neighbouring tablets and buckets.
#[derive(Clone, Debug)]
pub(crate) struct BigtableExec {
    source: Arc<Source>,
    spec: ScanSpec,
    filter: Arc<KeyFilter>,
    /// What each partition reads; none for one without a window.
    partitions: Arc<[Option<KeyRange>]>,
    /// Filters that change while the query runs. Their makers apply them too.
    dynamic: Vec<Arc<dyn PhysicalExpr>>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl BigtableExec {
    pub(crate) fn new(
        source: Arc<Source>,
        spec: ScanSpec,
        windows: &[Window],
        partitions: usize,
    ) -> Result<Self> {
        let at = |partition: usize| partition * windows.len() / partitions;
        let range = |partition| {
            let neighbours = &windows[at(partition)..at(partition + 1)];
            let (first, last) = (neighbours.first()?, neighbours.last()?);
            Some(KeyRange::new(first.range.start(), last.range.end().map(<[u8]>::to_vec)))
        };
        Self::over(source, spec, (0..partitions).map(range).collect(), Vec::new())
    }

    fn over(
        source: Arc<Source>,
        spec: ScanSpec,
        partitions: Arc<[Option<KeyRange>]>,
        dynamic: Vec<Arc<dyn PhysicalExpr>>,
    ) -> Result<Self> {
        let filter = Arc::new(source.filter(&spec.predicates)?);
        let properties = PlanProperties::new(
            equivalences(&source.columns, &spec, &filter)?,
            Partitioning::UnknownPartitioning(partitions.len()),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        let metrics = ExecutionPlanMetricsSet::new();
        Ok(Self { source, spec, filter, partitions, dynamic, properties: Arc::new(properties), metrics })
    }

    fn with_spec(&self, change: impl FnOnce(&mut ScanSpec)) -> Result<Self> {
        let mut spec = self.spec.clone();
        change(&mut spec);
        Self::over(Arc::clone(&self.source), spec, Arc::clone(&self.partitions), self.dynamic.clone())
    }

    /// The declared columns of the row type that are read, each once.
    fn declared(&self) -> Vec<usize> {
        let columns = &self.source.columns;
        let of_row = self.spec.projection.iter().filter_map(|at| at.checked_sub(columns.key.len()));
        let mut seen = HashSet::new();
        of_row.flat_map(|at| columns.row[at].declared()).filter(|column| seen.insert(*column)).collect()
    }

    /// What remains to read under the filters known so far; `None` if nothing.
    fn narrowed(&self, counts: &Counts) -> Result<Option<Plan<DynKey>>> {
        let columns = &self.source.columns;
        // The limit counts rows that a filter above it would drop.
        let dynamic = self.dynamic.iter().filter(|_| self.spec.limit.is_none());
        let more = dynamic.flat_map(|filter| Predicate::implied(filter, columns));
        let all: Vec<_> = self.spec.predicates.iter().cloned().chain(more).collect();
        let count = self.spec.predicates.len();
        let filter =
            if all.len() > count { Arc::new(self.source.filter(&all)?) } else { Arc::clone(&self.filter) };
        if filter.contradiction().is_some() {
            counts.dynamic.add(1);
            return Ok(None);
        }
        // No filter after the scan applies its own predicates.
        let (own, more) = filter.decided().split_at(count);
        if own.iter().all(|decided| *decided) {
            counts.dynamic.add(more.iter().filter(|decided| **decided).count());
            return Ok(Some(filter.plan().clone()));
        }
        Ok(Some(self.filter.plan().clone()))
    }
}

struct Counts {
    /// Rows that the server has read.
    rows_seen: Count,
    /// Predicates of dynamic filters that made the scan read less.
    dynamic: Count,
}

/// What is known of the rows' order.
fn equivalences(columns: &Columns, spec: &ScanSpec, filter: &KeyFilter) -> Result<EquivalenceProperties> {
    let schema = Arc::new(columns.schema.project(&spec.projection)?);
    let place = |field: usize| {
        let at = columns.key.iter().position(|column| column.field == field)?;
        let place = spec.projection.iter().position(|column| *column == at)?;
        Some(Arc::new(Column::new(columns.key[at].name, place)) as Arc<dyn PhysicalExpr>)
    };
    let order = filter.plan().order();
    let order = order.iter().map_while(|field| {
        let descending = field.is_descending != spec.reversed;
        // There are no NULLs; these are the defaults of `ORDER BY`.
        let options = SortOptions { descending, nulls_first: descending };
        Some(PhysicalSortExpr::new(place(field.index)?, options))
    });
    let order: Vec<_> = order.collect();
    let orders = Some(order).filter(|order| !order.is_empty());
    let mut properties = EquivalenceProperties::new_with_orderings(schema, orders);
    let constants = filter.choices().iter().enumerate().filter(|(_, values)| **values == 1);
    properties.add_constants(constants.filter_map(|(field, _)| place(field)).map(ConstExpr::from))?;
    Ok(properties)
}

impl DisplayAs for BigtableExec {
    fn fmt_as(&self, format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { source, spec, filter, dynamic, properties, .. } = self;
        if let DisplayFormatType::TreeRender = format {
            writeln!(f, "table={}", source.table.name())?;
            return writeln!(f, "key={}", shown(&spec.predicates, &source.columns));
        }
        let names: Vec<_> = self.schema().fields().iter().map(|field| field.name().clone()).collect();
        write!(f, "BigtableExec: table={}, columns=[{}]", source.table.name(), names.join(", "))?;
        write!(f, ", key=[{}]", shown(&spec.predicates, &source.columns))?;
        if filter.choices().iter().product::<usize>() <= SHOWN_CHOICES {
            let requests = filter.plan().requests();
            let buckets: HashSet<_> = requests.iter().filter_map(Request::bucket).collect();
            if !buckets.is_empty() {
                write!(f, ", buckets={}", buckets.len())?;
            }
            let keys = requests.iter().flat_map(Request::keys);
            let keys = keys.map(|key| format!("{}", key.escape_ascii()));
            let ranges = requests.iter().flat_map(Request::ranges).map(KeyRange::to_string);
            let all: Vec<String> = keys.chain(ranges).collect();
            let more = match all.len().saturating_sub(SHOWN_RANGES) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            write!(f, ", reads=[{}{more}]", all[..all.len().min(SHOWN_RANGES)].join(", "))?;
        }
        if let Some(order) = properties.eq_properties.output_ordering() {
            write!(f, ", order=[{order}]")?;
        }
        if spec.reversed {
            f.write_str(", reversed")?;
        }
        if let Some(limit) = spec.limit {
            write!(f, ", limit={limit}")?;
        }
        dynamic.iter().try_for_each(|filter| write!(f, ", dynamic=[{filter}]"))
    }
}

#[async_trait]
impl ExecutionPlan for BigtableExec {
    fn name(&self) -> &'static str {
        "BigtableExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    fn with_new_children(self: Arc<Self>, _: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        apply_expression_roots(self.dynamic.iter().cloned(), f)
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let range = self.partitions[partition].clone();
        let counts = Counts {
            rows_seen: MetricBuilder::new(&self.metrics).counter("rows_seen", partition),
            dynamic: MetricBuilder::new(&self.metrics).counter("dynamic_used", partition),
        };
        let baseline = BaselineMetrics::new(&self.metrics, partition);
        let (exec, schema) = (self.clone(), self.schema());
        let max_rows = context.session_config().batch_size();
        let batches = async move { exec.read(range, max_rows, counts).await };
        let batches = stream::once(batches).try_flatten().map(move |batch| {
            if let Ok(batch) = &batch {
                baseline.record_output(batch.num_rows());
            }
            batch
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, batches)))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn fetch(&self) -> Option<usize> {
        self.spec.limit
    }

    fn with_fetch(&self, limit: Option<usize>) -> Option<Arc<dyn ExecutionPlan>> {
        Some(Arc::new(self.with_spec(|spec| spec.limit = limit).ok()?))
    }

    fn repartitioned(&self, _: usize, _: &ConfigOptions) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        Ok(None)
    }

    fn statistics_from_inputs(
        &self,
        _: &[Arc<Statistics>],
        args: &StatisticsArgs,
    ) -> Result<Arc<Statistics>> {
        let mut statistics = Statistics::new_unknown(&self.schema());
        let partitions = if args.partition().is_some() {
            self.properties.output_partitioning().partition_count()
        } else {
            1
        };
        let bytes = usize::try_from(self.spec.bytes).unwrap_or(usize::MAX) / partitions.max(1);
        statistics.total_byte_size = Precision::Inexact(bytes);
        let choices = self.filter.choices();
        if choices.len() == self.source.table.key().schema().fields().len() {
            statistics.num_rows = Precision::Inexact(choices.iter().product());
        }
        Ok(Arc::new(statistics))
    }

    fn handle_child_pushdown_result(
        &self,
        phase: FilterPushdownPhase,
        result: ChildPushdownResult,
        _: &ConfigOptions,
    ) -> Result<FilterPushdownPropagation<Arc<dyn ExecutionPlan>>> {
        let filters: Vec<_> = result.parent_filters.iter().map(|filter| Arc::clone(&filter.filter)).collect();
        // Hints: the operators that made them apply them too.
        let propagation =
            FilterPushdownPropagation::with_parent_pushdown_result(vec![PushedDown::No; filters.len()]);
        if phase == FilterPushdownPhase::Pre || filters.is_empty() {
            return Ok(propagation);
        }
        let mut scan = self.clone();
        scan.dynamic.extend(filters.into_iter().filter(|filter| !self.dynamic.contains(filter)));
        Ok(propagation.with_updated_node(Arc::new(scan)))
    }

    fn try_pushdown_sort(
        &self,
        order: &[PhysicalSortExpr],
    ) -> Result<SortOrderPushdownResult<Arc<dyn ExecutionPlan>>> {
        for reversed in [self.spec.reversed, !self.spec.reversed] {
            let scan = self.with_spec(|spec| spec.reversed = reversed)?;
            if scan.properties.eq_properties.ordering_satisfy(order.iter().cloned())? {
                return Ok(SortOrderPushdownResult::Exact { inner: Arc::new(scan) });
            }
        }
        Ok(SortOrderPushdownResult::Unsupported)
    }
}

impl BigtableExec {
    /// The batches of a partition. The filters that are known at the first poll narrow what is read.
    async fn read(
        self,
        range: Option<KeyRange>,
        max_rows: usize,
        counts: Counts,
    ) -> Result<impl futures_util::Stream<Item = Result<RecordBatch>> + Send> {
        let declared = self.declared();
        let schema = self.schema();
        let builder =
            BatchBuilder::new(&self.source.columns, &self.spec.projection, &declared, schema, max_rows);
        let plan = match range {
            Some(range) => self.narrowed(&counts)?.map(|plan| plan.within(&range)),
            None => None,
        };
        let stats = ReadStats::new();
        let cursor = match plan.filter(|plan| !plan.is_empty()) {
            None => None,
            Some(plan) => {
                let scan = self.source.table.scan(plan).with_stats(&stats);
                let scan = if self.spec.reversed { scan.reversed() } else { scan };
                let scan = match self.spec.limit {
                    Some(limit) => scan.limit(limit as u64),
                    None => scan,
                };
                Some(scan.cursor(declared).map_err(external)?)
            }
        };
        let read = (cursor, builder, stats, counts, [0, 0]);
        Ok(stream::try_unfold(
            read,
            |(mut cursor, mut builder, stats, counts, [mut came, mut seen])| async move {
                while let Some(rows) = &mut cursor {
                    let room = builder.room().min(ROWS_AT_A_TIME);
                    if room == 0 {
                        break;
                    }
                    let push = |row: keyderive::dynamic::DynRowRef<'_>| builder.push(row).map_err(ReadError);
                    match rows.visit_next(room as u64, push).await {
                        Ok(0) => cursor = None,
                        Ok(rows) => came += rows,
                        Err(ReadError(error)) => return Err(error),
                    }
                }
                // The server says what it has read when it has read all, so a scan that a limit ends would say nothing.
                let now = stats.rows_seen().max(came);
                counts.rows_seen.add(usize::try_from(now - seen).unwrap_or(usize::MAX));
                seen = now;
                Ok(builder.finish()?.map(|batch| (batch, (cursor, builder, stats, counts, [came, seen]))))
            },
        ))
    }

    /// The table's columns in the order of the projection.
    fn schema(&self) -> SchemaRef {
        Arc::clone(self.properties.eq_properties.schema())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_cut_where_buckets_begin() {
        let splits = ["", "1", "2", "3", "3#x"].map(|split| split.as_bytes().to_vec());
        let parts = [(&b""[..], Some(&b"1"[..]), 100), (b"1", Some(b"3#m"), 11), (b"3#m", None, 1)];
        let windows = parts.into_iter().flat_map(|(start, end, bytes)| {
            Window { range: KeyRange::new(start, end.map(<[u8]>::to_vec)), bytes }.cut_at(&splits)
        });
        let shown: Vec<_> = windows.map(|window| format!("{} {}", window.range, window.bytes)).collect();
        let expected = [
            "[start of table, 1) 100",
            "[1, 2) 4",
            "[2, 3) 4",
            "[3, 3#m) 3",
            "[3#m, 3#x) 1",
            "[3#x, end of table) 0",
        ];
        assert_eq!(shown, expected);
    }
}
