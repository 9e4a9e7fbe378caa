//! The rule before type coercion.

use std::str::FromStr;
use std::sync::Arc;

use datafusion::arrow::datatypes::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode as _, TreeNodeRecursion};
use datafusion::common::{DFSchema, Result, plan_err};
use datafusion::functions_aggregate::sum::Sum;
use datafusion::logical_expr::expr::{AggregateFunction, SetComparison, SetQuantifier, WindowFunction};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{
    AggregateUDF, Between, BinaryExpr, Expr, ExprSchemable as _, LogicalPlan, Operator,
    WindowFunctionDefinition, binary_expr, dml::CopyTo, expr::InList, lit,
};
use datafusion::optimizer::analyzer::AnalyzerRule;
use datafusion::optimizer::analyzer::type_coercion::TypeCoercionRewriter;

use super::sum::ExactSum;
use super::{arithmetic, casts, functions, lists, queries, times};

/// Arithmetic of integers has 64 bits, of `u64` it is decimal; it fails where it would wrap. Dates, times and text are not
/// compared with numbers: `date > 2013-05-01` would compare with the difference, 2007. Values are written as they are, or
/// not at all. What the simplifier gets wrong, it does not recognize.
#[derive(Debug)]
pub(super) struct ExactRule;

impl ExactRule {
    pub(super) const NAME: &'static str = "keyderive_exact";
}

impl AnalyzerRule for ExactRule {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let analyzed = plan.transform_up_with_subqueries(|plan| {
            let (schema, names) = (merge_schema(&plan.inputs()), NamePreserver::new(&plan));
            let is_condition = matches!(plan, LogicalPlan::Filter(_) | LogicalPlan::Join(_));
            queries::check_join(&plan)?;
            let exact = plan.map_expressions(|expr| {
                let name = names.save(&expr);
                expr.apply(|expr| check(expr, &schema).map(|()| TreeNodeRecursion::Continue))?;
                let exact = expr.transform_up(|expr| exact(expr, &schema))?;
                let exact = exact.transform_data(|expr| lists::apart(expr, &schema, is_condition))?;
                Ok(exact.update_data(|expr| name.restore(expr)))
            })?;
            exact.map_data(LogicalPlan::recompute_schema)?.map_data(|plan| match plan {
                // Until then it has the types of its first query.
                LogicalPlan::Union(union) => TypeCoercionRewriter::coerce_union(union),
                LogicalPlan::Copy(copy) => check_copy(&copy).map(|()| LogicalPlan::Copy(copy)),
                plan => casts::exact_writes(plan),
            })
        });
        analyzed.map(|analyzed| analyzed.data)
    }
}

fn exact(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    match expr {
        Expr::BinaryExpr(BinaryExpr {
            left,
            op: op @ (Operator::Plus | Operator::Minus | Operator::Multiply),
            right,
        }) => arithmetic(*left, op, *right, schema).map(Transformed::yes),
        // Of a literal it is a part of the number.
        Expr::Negative(of) if !matches!(*of, Expr::Literal(..)) && is_integer(&of, schema) => {
            arithmetic(lit(0_i64), Operator::Minus, *of, schema).map(Transformed::yes)
        }
        Expr::AggregateFunction(AggregateFunction { func, mut params }) => {
            let func = exact_sum(func);
            if params.distinct {
                params.args = params.args.into_iter().map(|of| lists::one_zero(of, schema)).collect();
            }
            Ok(Transformed::yes(Expr::AggregateFunction(AggregateFunction { func, params })))
        }
        Expr::WindowFunction(window) => {
            let WindowFunction { fun, params } = *window;
            let fun = match fun {
                WindowFunctionDefinition::AggregateUDF(func) => {
                    WindowFunctionDefinition::AggregateUDF(exact_sum(func))
                }
                fun => fun,
            };
            Ok(Transformed::yes(Expr::WindowFunction(WindowFunction { fun, params }.into())))
        }
        Expr::ScalarFunction(function) => functions::exact(function, schema).map(Transformed::yes),
        expr => Ok(Transformed::yes(times::in_one_unit(lists::unrecognized(expr, schema), schema))),
    }
}

fn is_integer(expr: &Expr, schema: &DFSchema) -> bool {
    expr.get_type(schema).is_ok_and(|of| of.is_integer())
}

fn arithmetic(left: Expr, op: Operator, right: Expr, schema: &DFSchema) -> Result<Expr> {
    let types = left.get_type(schema).ok().zip(right.get_type(schema).ok());
    let Some(wide) = types.and_then(|(left, right)| wide(&left, &right)) else {
        return Ok(binary_expr(left, op, right));
    };
    let [left, right] = [left.cast_to(&wide, schema)?, right.cast_to(&wide, schema)?];
    Ok(match wide {
        DataType::Int64 => arithmetic::checked(op, left, right),
        _ => binary_expr(left, op, right),
    })
}

fn exact_sum(func: Arc<AggregateUDF>) -> Arc<AggregateUDF> {
    match func.inner().is::<Sum>() {
        true => Arc::new(ExactSum::new(func).into()),
        false => func,
    }
}

/// Refuses a file that would not have the values of the rows.
fn check_copy(copy: &CopyTo) -> Result<()> {
    let has = |is| copy.input.schema().fields().iter().any(|field| has_type(field.data_type(), is));
    let tells_null =
        copy.options.iter().any(|(name, value)| name.ends_with("null_value") && !value.is_empty());
    match copy.file_type.get_ext().as_str() {
        "csv" if (has(DataType::is_string) || has(DataType::is_binary)) && !tells_null => plan_err!(
            "csv would have one form for '' and NULL: write `TO '….parquet'`, or say `OPTIONS ('format.null_value' '…')` with text that no row has"
        ),
        "json" if has(DataType::is_floating) => {
            plan_err!(
                "json has no NaN and no infinity, and would have `null` for them: write `TO '….parquet'`"
            )
        }
        _ => Ok(()),
    }
}

/// Whether values of a type are, or have, such a type.
fn has_type(of: &DataType, is: fn(&DataType) -> bool) -> bool {
    is(of)
        || match of {
            DataType::List(item)
            | DataType::LargeList(item)
            | DataType::FixedSizeList(item, _)
            | DataType::Map(item, _) => has_type(item.data_type(), is),
            DataType::Dictionary(_, value) => has_type(value, is),
            DataType::Struct(fields) => fields.iter().any(|field| has_type(field.data_type(), is)),
            _ => false,
        }
}

fn check(expr: &Expr, schema: &DFSchema) -> Result<()> {
    use Operator::{Eq, Gt, GtEq, Lt, LtEq, NotEq};
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op: Eq | NotEq | Lt | LtEq | Gt | GtEq, right }) => {
            check_comparison(left, right, schema)
        }
        Expr::Between(Between { expr: value, low, high, .. }) => {
            check_comparison(value, low, schema)?;
            check_comparison(value, high, schema)
        }
        Expr::InList(InList { expr: value, list, .. }) => {
            list.iter().try_for_each(|of| check_comparison(value, of, schema))
        }
        Expr::Cast(cast) if cast.field.data_type().is_floating() => check_float(&cast.expr),
        // With two columns of one name, DataFusion compares a column with itself.
        Expr::SetComparison(SetComparison { quantifier, .. }) => plan_err!(
            "`{quantifier}` is not supported before a query: write `{} (SELECT …)`, or compare with `(SELECT min(…) …)` or `max`",
            if *quantifier == SetQuantifier::Any { "IN" } else { "NOT IN" }
        ),
        expr => queries::check_query(expr),
    }
}

/// The type in which arithmetic on these types is computed; `None` if they are not integers.
fn wide(left: &DataType, right: &DataType) -> Option<DataType> {
    let types = [left, right];
    types.iter().all(|of| of.is_integer()).then(|| match types.contains(&&DataType::UInt64) {
        true => DataType::Decimal128(20, 0),
        false => DataType::Int64,
    })
}

fn check_comparison(one: &Expr, other: &Expr, schema: &DFSchema) -> Result<()> {
    let (Ok(one_type), Ok(other_type)) = (one.get_type(schema), other.get_type(schema)) else {
        return Ok(());
    };
    times::check(one, &one_type, other)?;
    times::check(other, &other_type, one)?;
    for (expr, of, number, of_number) in
        [(one, &one_type, other, &other_type), (other, &other_type, one, &one_type)]
    {
        if !of_number.is_numeric() {
            continue;
        }
        check_float(expr)?;
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

/// Refuses text with digits that is beyond the floats, of which DataFusion makes infinity.
fn check_float(literal: &Expr) -> Result<()> {
    match literal {
        Expr::Literal(scalar, _) => {
            match scalar.try_as_str().flatten().filter(|text| is_beyond(text, f64::is_infinite)) {
                None => Ok(()),
                Some(text) => plan_err!("'{text}' is beyond FLOAT64, and would be infinity"),
            }
        }
        _ => Ok(()),
    }
}

/// Whether text with digits is parsed as infinity.
pub(super) fn is_beyond<F: FromStr>(text: &str, is_infinite: fn(F) -> bool) -> bool {
    text.bytes().any(|byte| byte.is_ascii_digit()) && text.trim().parse().is_ok_and(is_infinite)
}
