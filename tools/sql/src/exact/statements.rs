//! Statements that are refused before they are planned.

use std::ops::ControlFlow;

use datafusion::common::{DataFusionError, Result, plan_datafusion_err};
use datafusion::sql::parser::{CopyToSource, Statement};
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, Query, SetExpr, SetOperator, SetQuantifier, TableFactor, Value, ValueWithSpan,
    Visit as _, Visitor,
};

use super::rule::is_beyond;

/// Refuses a statement with a part that DataFusion ignores, or reads as another one.
///
/// # Errors
/// If it samples a table, counts rows in `EXCEPT ALL` or `INTERSECT ALL`, has an
/// `IS DISTINCT FROM` before an `AND` or `OR`, an integer beyond 64 bits or a float beyond `FLOAT64`.
pub(super) fn check(statement: &Statement) -> Result<()> {
    let found = match statement {
        Statement::Statement(statement) => statement.visit(&mut Refused),
        Statement::Explain(explained) => return check(&explained.statement),
        Statement::CopyTo(copied) => match &copied.source {
            CopyToSource::Query(query) => query.visit(&mut Refused),
            CopyToSource::Relation(_) => return Ok(()),
        },
        _ => return Ok(()),
    };
    match found {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(*error),
    }
}

/// Finds the first part that is refused.
struct Refused;

type Found = ControlFlow<Box<DataFusionError>>;

fn refuse(error: DataFusionError) -> Found {
    ControlFlow::Break(Box::new(error))
}

impl Visitor for Refused {
    type Break = Box<DataFusionError>;

    fn pre_visit_query(&mut self, query: &Query) -> Found {
        check_sets(&query.body)
    }

    fn pre_visit_table_factor(&mut self, table: &TableFactor) -> Found {
        match table {
            TableFactor::Table { name, sample: Some(_), .. } => refuse(plan_datafusion_err!(
                "`{name}` is not sampled: leave out `TABLESAMPLE`, which is not supported"
            )),
            _ => ControlFlow::Continue(()),
        }
    }

    fn pre_visit_value(&mut self, value: &ValueWithSpan) -> Found {
        match &value.value {
            Value::Number(digits, _)
                if digits.bytes().all(|byte| byte.is_ascii_digit()) && digits.parse::<u64>().is_err() =>
            {
                refuse(plan_datafusion_err!(
                    "`{digits}` is beyond 64 bits, and would be rounded: write `arrow_cast('{digits}', 'Decimal256(39, 0)')`"
                ))
            }
            Value::Number(digits, _) if is_beyond(digits, f64::is_infinite) => {
                refuse(plan_datafusion_err!("`{digits}` is beyond FLOAT64, and would be infinity"))
            }
            _ => ControlFlow::Continue(()),
        }
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> Found {
        match expr {
            // The parser takes all that follows for what is compared.
            Expr::IsDistinctFrom(one, other) | Expr::IsNotDistinctFrom(one, other) => match &**other {
                Expr::BinaryOp { left, op: BinaryOperator::And | BinaryOperator::Or, .. } => {
                    let is = match expr {
                        Expr::IsDistinctFrom(..) => "IS DISTINCT FROM",
                        _ => "IS NOT DISTINCT FROM",
                    };
                    refuse(plan_datafusion_err!(
                        "where `{is}` ends is not clear: write `({one} {is} {left})`, in parentheses"
                    ))
                }
                _ => ControlFlow::Continue(()),
            },
            _ => ControlFlow::Continue(()),
        }
    }
}

/// Refuses `ALL` where DataFusion would ignore it, or keep rows that the other query has once.
fn check_sets(of: &SetExpr) -> Found {
    let SetExpr::SetOperation { left, op, set_quantifier, right } = of else {
        return ControlFlow::Continue(());
    };
    let is_all = matches!(set_quantifier, SetQuantifier::All | SetQuantifier::AllByName);
    if is_all && *op != SetOperator::Union {
        return refuse(plan_datafusion_err!(
            "`{op} ALL`, which counts equal rows, is not supported: leave out `ALL`"
        ));
    }
    check_sets(left)?;
    check_sets(right)
}
