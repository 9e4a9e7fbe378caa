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

/// A physical optimizer rule that adds a sort after each order-preserving hash repartition, for engines that replace it by a network shuffle.
///
/// A scan declares its order, and DataFusion may keep it through a hash repartition: each output partition merges its inputs in order, so no
/// sort is needed above. datafusion-distributed 4.0 replaces the repartition by a shuffle, which delivers the rows of all tasks as they arrive.
/// Without this rule it returns rows in the wrong order, and one group as several rows, without an error. Add the rule after DataFusion's own:
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
