//! The parts of a table that a scan reads, as rows of its child.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, AsArray as _, BinaryArray, RecordBatch};
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::common::{Result, internal_err};
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::datasource::source::DataSourceExec;
use datafusion::physical_plan::ExecutionPlan;
use keyderive::plan::KeyRange;

/// The columns of a window, from its start to its end, if it has one.
fn window_schema() -> Schema {
    let field = |name, is_nullable| Field::new(name, DataType::Binary, is_nullable);
    Schema::new(vec![field("window_start", false), field("window_end", true)])
}

/// Whether the rows of a plan are windows.
pub(crate) fn are_windows(plan: &dyn ExecutionPlan) -> bool {
    *plan.schema() == window_schema()
}

/// The windows as rows, some neighbouring ones in each partition.
pub(crate) fn window_rows(windows: &[KeyRange], partitions: usize) -> Result<Arc<dyn ExecutionPlan>> {
    let schema = Arc::new(window_schema());
    let at = |partition: usize| partition * windows.len() / partitions;
    let partition = |partition| {
        let ranges = windows[at(partition)..at(partition + 1)].iter();
        let starts = BinaryArray::from_iter_values(ranges.clone().map(KeyRange::start));
        let ends: BinaryArray = ranges.map(KeyRange::end).collect();
        let columns: Vec<ArrayRef> = vec![Arc::new(starts), Arc::new(ends)];
        Ok(vec![RecordBatch::try_new(Arc::clone(&schema), columns)?])
    };
    let rows = (0..partitions).map(partition).collect::<Result<Vec<_>>>()?;
    Ok(DataSourceExec::from_data_source(MemorySourceConfig::try_new(&rows, schema, None)?))
}

fn ranges(batch: &RecordBatch) -> impl Iterator<Item = KeyRange> {
    let (starts, ends) = (batch.column(0).as_binary::<i32>(), batch.column(1).as_binary::<i32>());
    let range = |(start, end): (Option<&[u8]>, Option<&[u8]>)| {
        KeyRange::new(start.unwrap_or_default(), end.map(<[u8]>::to_vec))
    };
    starts.iter().zip(ends).map(range)
}

/// Neighbouring windows as one range, whose rows a scan merges in order; none without a window.
pub(crate) fn range_of(batches: &[RecordBatch]) -> Result<Option<KeyRange>> {
    let mut all: Option<KeyRange> = None;
    for range in batches.iter().flat_map(ranges) {
        let start = match &all {
            None => range.start(),
            // Windows that no row is in are left out.
            Some(before) if before.end().is_some_and(|end| end <= range.start()) => before.start(),
            Some(_) => return internal_err!("the windows of a partition are not in order"),
        };
        all = Some(KeyRange::new(start, range.end().map(<[u8]>::to_vec)));
    }
    Ok(all)
}

/// Divides the windows of a scan among tasks, for an engine that cannot do so by itself, such as datafusion-distributed.
///
/// A window is a key range of the table, about a tablet or a bucket. The child of a scan is a leaf whose rows are the windows that it reads. With
/// datafusion-distributed:
///
/// ```ignore
/// state
///     .with_distributed_desired_task_count_handler(|event: DesiredTaskCountEvent<'_>| {
///         let windows = ScanWindows::of(event.plan)?;
///         Some(Ok(DesiredTaskCountEventResponse::desired(windows.count())))
///     })
///     .with_distributed_scale_up_leaf_node_handler(|event: ScaleUpLeafNodeEvent<'_>| {
///         let leaves = ScanWindows::of(event.plan)?.split(event.task_count);
///         let leaf = leaves.and_then(|leaves| DistributedLeafExec::try_new(Arc::clone(event.plan), leaves));
///         Some(leaf.map(|leaf| ScaleUpLeafNodeEventResponse::new(Arc::new(leaf))))
///     })
/// ```
///
/// Each window must be in exactly one task: a window in two tasks is read twice, and its rows are duplicated. datafusion-distributed also needs
/// [`SortAfterShuffle`](crate::SortAfterShuffle).
#[derive(Debug)]
pub struct ScanWindows {
    windows: Vec<KeyRange>,
    partitions: usize,
}

impl ScanWindows {
    /// Returns the windows that `plan` holds, or `None` if it is not the leaf under a scan of keyderive.
    #[must_use]
    pub fn of(plan: &Arc<dyn ExecutionPlan>) -> Option<Self> {
        let leaf = plan.downcast_ref::<DataSourceExec>().filter(|leaf| are_windows(*leaf))?;
        let rows = leaf.data_source().downcast_ref::<MemorySourceConfig>()?.partitions();
        Some(Self { windows: rows.iter().flatten().flat_map(ranges).collect(), partitions: rows.len() })
    }

    /// The number of windows, and so the greatest useful number of tasks.
    #[must_use]
    pub fn count(&self) -> usize {
        self.windows.len()
    }

    /// Returns one leaf for each task, with the windows of that task. Each has as many partitions as the original leaf.
    ///
    /// # Errors
    /// If `tasks` is zero.
    pub fn split(&self, tasks: usize) -> Result<Vec<Arc<dyn ExecutionPlan>>> {
        if tasks == 0 {
            return internal_err!("the windows of a scan are for at least one task");
        }
        let at = |task: usize| task * self.windows.len() / tasks;
        (0..tasks).map(|task| window_rows(&self.windows[at(task)..at(task + 1)], self.partitions)).collect()
    }
}
