//! Order after a shuffle.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TransformedResult as _, TreeNode as _};
use datafusion::config::ConfigOptions;
use datafusion::physical_expr::Partitioning;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties as _};

/// Sorts rows after a repartition by hash that is to keep their order, for engines that repartition between machines.
///
/// A scan has an order, and DataFusion keeps it where that helps: it merges what the parts of a repartition get, in order, so that what is
/// above needs no sort. In one process that is right. datafusion-distributed 4.0 replaces the repartition by a shuffle, in which a part gets
/// the rows of all tasks as they arrive. Without this rule it returns the rows of an `ORDER BY` in another order, and groups in parts, and
/// reports no error. The rule comes after DataFusion's own:
///
/// ```
/// use std::sync::Arc;
///
/// use datafusion::execution::SessionStateBuilder;
/// use keyderive_datafusion::SortAfterShuffle;
///
/// let state = SessionStateBuilder::new()
///     .with_default_features()
///     .with_physical_optimizer_rule(Arc::new(SortAfterShuffle))
///     .build();
/// # assert_eq!(state.physical_optimizers().last().unwrap().name(), "SortAfterShuffle");
/// ```
///
/// Orders that need no shuffle, such as `ORDER BY` the key with a `LIMIT`, stay without a sort.
#[derive(Clone, Copy, Debug, Default)]
pub struct SortAfterShuffle;

impl PhysicalOptimizerRule for SortAfterShuffle {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let sorted = |node: Arc<dyn ExecutionPlan>| {
            let Some(repartition) = node.downcast_ref::<RepartitionExec>() else {
                return Ok(Transformed::no(node));
            };
            let (Partitioning::Hash(..), Some(order)) = (repartition.partitioning(), node.output_ordering())
            else {
                return Ok(Transformed::no(node));
            };
            let shuffle = RepartitionExec::try_new(
                Arc::clone(repartition.input()),
                repartition.partitioning().clone(),
            )?;
            let sort = SortExec::new(order.clone(), Arc::new(shuffle)).with_preserve_partitioning(true);
            Ok(Transformed::yes(Arc::new(sort) as Arc<dyn ExecutionPlan>))
        };
        plan.transform_up(sorted).data()
    }

    fn name(&self) -> &'static str {
        "SortAfterShuffle"
    }

    fn schema_check(&self) -> bool {
        true
    }
}
