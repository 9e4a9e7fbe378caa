//! Queries inside of expressions, and joins, that DataFusion answers with other rows.

use datafusion::common::tree_node::TreeNode as _;
use datafusion::common::{JoinConstraint, JoinType, Result, plan_err};
use datafusion::logical_expr::expr::{Exists, InSubquery};
use datafusion::logical_expr::{Expr, LogicalPlan, Subquery};

/// Refuses joins whose common columns DataFusion takes from the side that may have none.
pub(super) fn check_join(plan: &LogicalPlan) -> Result<()> {
    match plan {
        LogicalPlan::Join(join)
            if join.join_constraint == JoinConstraint::Using
                && matches!(join.join_type, JoinType::Right | JoinType::Full) =>
        {
            plan_err!(
                "RIGHT and FULL joins with USING, and NATURAL ones, are not supported: write `ON one.c = other.c`, and `coalesce(one.c, other.c)`"
            )
        }
        // A LATERAL query.
        LogicalPlan::Subquery(of) => check_rows(of),
        _ => Ok(()),
    }
}

/// Refuses what DataFusion computes over all rows, or leaves out, in a query that reads a column of the outer one.
pub(super) fn check_query(expr: &Expr) -> Result<()> {
    let (of, is_value) = match expr {
        Expr::Exists(Exists { subquery, .. }) | Expr::InSubquery(InSubquery { subquery, .. }) => {
            (subquery, false)
        }
        Expr::ScalarSubquery(subquery) => (subquery, true),
        _ => return Ok(()),
    };
    check_rows(of)?;
    let refused = |plan: &LogicalPlan| {
        Ok(match plan {
            LogicalPlan::Join(join) => join.join_type.is_outer(),
            LogicalPlan::Aggregate(_) | LogicalPlan::Limit(_) => !is_value,
            LogicalPlan::Filter(filter) => matches!(&*filter.input, LogicalPlan::Aggregate(_)),
            _ => false,
        })
    };
    match !of.outer_ref_columns.is_empty() && of.subquery.exists(refused)? {
        true => plan_err!(
            "an outer join in a query that reads a column of the outer one is not supported, nor HAVING, nor, after EXISTS and IN, an \
             aggregate or a limit: join the tables outside of it"
        ),
        false => Ok(()),
    }
}

fn check_rows(of: &Subquery) -> Result<()> {
    let refused = |plan: &LogicalPlan| {
        Ok(match plan {
            LogicalPlan::Window(_) => true,
            LogicalPlan::Aggregate(aggregate) => {
                aggregate.group_expr.iter().any(|expr| matches!(expr, Expr::GroupingSet(_)))
            }
            _ => false,
        })
    };
    match !of.outer_ref_columns.is_empty() && of.subquery.exists(refused)? {
        true => plan_err!(
            "window functions and grouping sets in a query that reads a column of the outer one are not supported: compute them outside of it"
        ),
        false => Ok(()),
    }
}
