//! Statements to which DataFusion would give a wrong answer without an error: they are computed exactly, or refused.

use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion::arrow::datatypes::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode as _};
use datafusion::common::{DFSchema, DataFusionError, Result, plan_datafusion_err, plan_err};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{
    Between, BinaryExpr, Expr, ExprSchemable as _, LogicalPlan, Operator, cast, expr::InList,
};
use datafusion::optimizer::analyzer::{Analyzer, AnalyzerRule};
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{TableFactor, Visit as _, Visitor};

/// DataFusion's rules, and before the one that brings operands to one type, [`ExactOperators`].
pub(crate) fn rules() -> Vec<Arc<dyn AnalyzerRule + Send + Sync>> {
    let mut rules = Analyzer::new().rules;
    rules.insert(0, Arc::new(ExactOperators));
    rules
}

/// Arithmetic of short integers is that of 64 bits, where it would wrap, and that of `u64` is decimal. Dates, times and text are not compared
/// with numbers: `date > 2013-05-01` would compare with the difference, 2007.
#[derive(Debug)]
struct ExactOperators;

impl AnalyzerRule for ExactOperators {
    fn name(&self) -> &str {
        "exact_operators"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let analyzed = plan.transform_up_with_subqueries(|plan| {
            let (schema, names) = (merge_schema(&plan.inputs()), NamePreserver::new(&plan));
            let exact = plan.map_expressions(|expr| {
                let name = names.save(&expr);
                let exact = expr.transform_up(|expr| exact(expr, &schema))?;
                Ok(exact.update_data(|expr| name.restore(expr)))
            })?;
            exact.map_data(LogicalPlan::recompute_schema)
        });
        analyzed.map(|analyzed| analyzed.data)
    }
}

fn exact(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    use Operator::{Eq, Gt, GtEq, Lt, LtEq, Minus, Multiply, NotEq, Plus};
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op: op @ (Plus | Minus | Multiply), right }) => {
            let types = left.get_type(schema).ok().zip(right.get_type(schema).ok());
            let wide = types.and_then(|(left, right)| wide(&left, &right));
            let is_wide = wide.is_some();
            let [left, right] = [left, right].map(|operand| match &wide {
                Some(wide) => Box::new(cast(*operand, wide.clone())),
                None => operand,
            });
            let expr = Expr::BinaryExpr(BinaryExpr { left, op, right });
            Ok(if is_wide { Transformed::yes(expr) } else { Transformed::no(expr) })
        }
        Expr::BinaryExpr(BinaryExpr { ref left, op: Eq | NotEq | Lt | LtEq | Gt | GtEq, ref right }) => {
            check_comparison(left, right, schema)?;
            Ok(Transformed::no(expr))
        }
        Expr::Between(Between { expr: ref value, ref low, ref high, .. }) => {
            check_comparison(value, low, schema)?;
            check_comparison(value, high, schema)?;
            Ok(Transformed::no(expr))
        }
        Expr::InList(InList { expr: ref value, ref list, .. }) => {
            list.iter().try_for_each(|of| check_comparison(value, of, schema))?;
            Ok(Transformed::no(expr))
        }
        expr => Ok(Transformed::no(expr)),
    }
}

/// A type that holds the results of arithmetic on these integer types; `None` if they need none, or are not integers.
fn wide(left: &DataType, right: &DataType) -> Option<DataType> {
    let types = [left, right];
    if !types.iter().all(|of| of.is_integer()) || types == [&DataType::Int64; 2] {
        return None;
    }
    Some(match types.contains(&&DataType::UInt64) {
        true => DataType::Decimal128(20, 0),
        false => DataType::Int64,
    })
}

fn check_comparison(one: &Expr, other: &Expr, schema: &DFSchema) -> Result<()> {
    let (Ok(one_type), Ok(other_type)) = (one.get_type(schema), other.get_type(schema)) else {
        return Ok(());
    };
    for (expr, of, number, of_number) in
        [(one, &one_type, other, &other_type), (other, &other_type, one, &one_type)]
    {
        if !of_number.is_numeric() {
            continue;
        }
        let (name, number) = (expr.human_display().to_string(), number.human_display().to_string());
        if matches!(of, DataType::Date32 | DataType::Date64) {
            return plan_err!(
                "`{name}` is a date, and `{number}` a number: write '2013-05-01' in quotation marks"
            );
        }
        if matches!(of, DataType::Timestamp(..)) {
            return plan_err!(
                "`{name}` is a time, and `{number}` a number: write '2013-05-01T06:00:00Z' in quotation marks, or `to_timestamp_millis(…)`"
            );
        }
        // Text beside a column of numbers is parsed as one.
        if matches!(of, DataType::Utf8 | DataType::Utf8View | DataType::LargeUtf8)
            && number.parse::<f64>().is_ok()
        {
            return plan_err!("`{name}` is text, and `{number}` a number: write '{number}'");
        }
    }
    Ok(())
}

/// Refuses a statement with a part that DataFusion ignores.
///
/// # Errors
/// If it samples a table.
pub(crate) fn check(statement: &Statement) -> Result<()> {
    let Statement::Statement(statement) = statement else { return Ok(()) };
    match statement.visit(&mut Samples) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(*error),
    }
}

/// Finds `TABLESAMPLE`.
struct Samples;

impl Visitor for Samples {
    type Break = Box<DataFusionError>;

    fn pre_visit_table_factor(&mut self, table: &TableFactor) -> ControlFlow<Self::Break> {
        match table {
            TableFactor::Table { name, sample: Some(_), .. } => {
                ControlFlow::Break(Box::new(plan_datafusion_err!(
                    "`{name}` is not sampled: leave out `TABLESAMPLE`, which is not supported"
                )))
            }
            _ => ControlFlow::Continue(()),
        }
    }
}
