//! Statements to which DataFusion would give a wrong answer without an error: they are computed exactly, or refused.

mod arithmetic;
mod casts;
mod statements;
mod sum;

use std::sync::Arc;

use datafusion::arrow::compute::CastOptions;
use datafusion::arrow::compute::kernels::cast_utils::string_to_timestamp_nanos;
use datafusion::arrow::datatypes::{DataType, TimeUnit};
use datafusion::arrow::util::display::FormatOptions;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode as _, TreeNodeRecursion};
use datafusion::common::{DFSchema, Result, ScalarValue, plan_err};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{
    Between, BinaryExpr, Expr, ExprSchemable as _, LogicalPlan, Operator, expr::InList,
};
use datafusion::optimizer::analyzer::type_coercion::TypeCoercion;
use datafusion::optimizer::analyzer::{Analyzer, AnalyzerRule};

pub(crate) use self::statements::check;
pub(crate) use self::sum::ExactSum;

/// For casts that fail where a value is not of the type.
const CHECKED: CastOptions<'static> = CastOptions { safe: false, format_options: FormatOptions::new() };

/// DataFusion's rules, and before the one that brings operands to one type, [`ExactOperators`].
pub(crate) fn rules() -> Vec<Arc<dyn AnalyzerRule + Send + Sync>> {
    let mut rules = Analyzer::new().rules;
    rules.insert(0, Arc::new(ExactOperators));
    rules
}

/// Arithmetic of integers has 64 bits, of `u64` it is decimal; it fails where it would wrap. Dates, times and text are not
/// compared with numbers: `date > 2013-05-01` would compare with the difference, 2007. Values are written as they are, or
/// not at all.
#[derive(Debug)]
struct ExactOperators;

impl AnalyzerRule for ExactOperators {
    fn name(&self) -> &str {
        "exact_operators"
    }

    fn analyze(&self, plan: LogicalPlan, config: &ConfigOptions) -> Result<LogicalPlan> {
        let analyzed = plan.transform_up_with_subqueries(|plan| {
            let (schema, names) = (merge_schema(&plan.inputs()), NamePreserver::new(&plan));
            let exact = plan.map_expressions(|expr| {
                let name = names.save(&expr);
                expr.apply(|expr| check_comparisons(expr, &schema).map(|()| TreeNodeRecursion::Continue))?;
                let exact = expr.transform_up(|expr| exact(expr, &schema))?;
                Ok(exact.update_data(|expr| name.restore(expr)))
            })?;
            exact.map_data(LogicalPlan::recompute_schema)?.map_data(|plan| match plan {
                // Until then it has the types of its first query.
                LogicalPlan::Union(_) => TypeCoercion::new().analyze(plan, config),
                plan => casts::exact_writes(plan),
            })
        });
        analyzed.map(|analyzed| analyzed.data)
    }
}

fn exact(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let Expr::BinaryExpr(BinaryExpr {
        left,
        op: op @ (Operator::Plus | Operator::Minus | Operator::Multiply),
        right,
    }) = expr
    else {
        return Ok(Transformed::no(expr));
    };
    let types = left.get_type(schema).ok().zip(right.get_type(schema).ok());
    let Some(wide) = types.and_then(|(left, right)| wide(&left, &right)) else {
        return Ok(Transformed::no(Expr::BinaryExpr(BinaryExpr { left, op, right })));
    };
    let [left, right] = [left.cast_to(&wide, schema)?, right.cast_to(&wide, schema)?];
    Ok(Transformed::yes(match wide {
        DataType::Int64 => arithmetic::checked(op, left, right),
        _ => Expr::BinaryExpr(BinaryExpr { left: left.into(), op, right: right.into() }),
    }))
}

fn check_comparisons(expr: &Expr, schema: &DFSchema) -> Result<()> {
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
        _ => Ok(()),
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
    check_time(one, &one_type, other)?;
    check_time(other, &other_type, one)?;
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

/// Refuses a literal that is finer than the times, which DataFusion would cut.
fn check_time(times: &Expr, of: &DataType, literal: &Expr) -> Result<()> {
    let (unit, has, example) = match of {
        DataType::Date32 => (86_400_000_000_000, "dates", "'2013-05-01'"),
        DataType::Timestamp(TimeUnit::Second, _) => {
            (1_000_000_000, "times in seconds", "'2013-05-01T06:00:00Z'")
        }
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            (1_000_000, "times in milliseconds", "'2013-05-01T06:00:00.123Z'")
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            (1_000, "times in microseconds", "'2013-05-01T06:00:00.123456Z'")
        }
        _ => return Ok(()),
    };
    match nanos(literal).filter(|nanos| nanos % unit != 0) {
        None => Ok(()),
        Some(_) => plan_err!(
            "`{}` has {has}, and `{}` is finer: write it as {example}",
            times.human_display(),
            literal.human_display()
        ),
    }
}

/// The nanoseconds since the epoch that a literal says as a time.
fn nanos(literal: &Expr) -> Option<i64> {
    let scalar = match literal {
        Expr::Literal(scalar, _) => scalar,
        Expr::Cast(cast) if cast.field.data_type().is_temporal() => return nanos(&cast.expr),
        _ => return None,
    };
    match scalar {
        ScalarValue::TimestampMillisecond(Some(millis), _) => millis.checked_mul(1_000_000),
        ScalarValue::TimestampMicrosecond(Some(micros), _) => micros.checked_mul(1_000),
        ScalarValue::TimestampNanosecond(Some(nanos), _) => Some(*nanos),
        scalar => string_to_timestamp_nanos(scalar.try_as_str()??).ok(),
    }
}
