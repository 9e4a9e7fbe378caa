//! Queries inside of expressions, and joins, that DataFusion answers with other rows.

use datafusion::common::tree_node::{TreeNode as _, TreeNodeRecursion};
use datafusion::common::{JoinConstraint, JoinType, Result, plan_err};
use datafusion::logical_expr::expr::{BinaryExpr, Exists, InSubquery};
use datafusion::logical_expr::{Expr, LogicalPlan, Operator, Subquery};

/// Where an expression stands in a condition.
#[derive(Clone, Copy, PartialEq)]
enum Role {
    /// The condition, or one of those that AND joins.
    Condition,
    /// Below OR, where NULL is as good as false.
    Alternative,
    /// A value, of which NULL is not false.
    Value,
}

/// Refuses `IN (SELECT …)` where DataFusion takes its NULL for false, and that counts.
pub(super) fn check_places(plan: &LogicalPlan) -> Result<()> {
    match plan {
        LogicalPlan::Filter(filter) => check_place(&filter.predicate, Role::Condition),
        LogicalPlan::Join(join) => {
            join.filter.iter().try_for_each(|filter| check_place(filter, Role::Alternative))
        }
        _ => Ok(()),
    }
}

fn check_place(expr: &Expr, role: Role) -> Result<()> {
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op: op @ (Operator::And | Operator::Or), right })
            if role != Role::Value =>
        {
            let role = if *op == Operator::Or { Role::Alternative } else { role };
            check_place(left, role)?;
            check_place(right, role)
        }
        Expr::Not(of) if role == Role::Condition && matches!(**of, Expr::InSubquery(_)) => Ok(()),
        Expr::InSubquery(InSubquery { negated, .. }) => {
            match role == Role::Value || *negated && role != Role::Condition {
                true => plan_err!(
                    "`IN` before a query is supported as a condition of its own, and below OR without NOT: elsewhere write `EXISTS (SELECT …)`, or \
                     join the query's rows"
                ),
                false => Ok(()),
            }
        }
        other => {
            let mut result = Ok(());
            other.apply_children(|child| {
                result = check_place(child, Role::Value);
                Ok(match result {
                    Ok(()) => TreeNodeRecursion::Continue,
                    Err(_) => TreeNodeRecursion::Stop,
                })
            })?;
            result
        }
    }
}

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
