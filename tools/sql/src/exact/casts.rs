//! Values that are written. DataFusion casts each to the type of its column, and cuts what this type does not hold.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray as _, BooleanArray};
use datafusion::arrow::compute::kernels::cmp::neq;
use datafusion::arrow::compute::{cast, cast_with_options};
use datafusion::arrow::datatypes::{DataType, Float32Type, Float64Type, TimeUnit};
use datafusion::arrow::util::display::array_value_to_string;
use datafusion::common::tree_node::{Transformed, TreeNode as _};
use datafusion::common::utils::take_function_args;
use datafusion::common::{DFSchema, Result, ScalarValue, exec_err, plan_err};
use datafusion::logical_expr::{
    ColumnarValue, DmlStatement, Expr, ExprSchemable as _, LogicalPlan, ScalarFunctionArgs, ScalarUDF,
    ScalarUDFImpl, Signature, Values, Volatility, expr::Alias,
};

use super::CHECKED;
use super::rule::is_beyond;
use super::times::is_finer;

/// Makes a plan's casts to the columns of a table that it writes fail where they would lose a part of a value.
pub(super) fn exact_writes(plan: LogicalPlan) -> Result<LogicalPlan> {
    let LogicalPlan::Dml(dml) = plan else { return Ok(plan) };
    let LogicalPlan::Projection(projection) = &*dml.input else { return Ok(LogicalPlan::Dml(dml)) };
    let mut projection = projection.clone();
    // DataFusion brings the rows of each `VALUES` to the table's types, also of one below a `SELECT`.
    let input = Arc::unwrap_or_clone(projection.input).transform_down(|plan| match plan {
        LogicalPlan::Values(values) => exact_values(values, &projection.expr).map(Transformed::yes),
        plan => Ok(Transformed::no(plan)),
    });
    projection.input = input?.data.into();
    let schema = Arc::clone(projection.input.schema());
    let exprs = std::mem::take(&mut projection.expr).into_iter().map(|expr| exact(expr, &schema, ""));
    projection.expr = exprs.collect::<Result<Vec<_>>>()?;
    Ok(LogicalPlan::Dml(DmlStatement { input: LogicalPlan::Projection(projection).into(), ..dml }))
}

fn exact_values(Values { schema, values }: Values, written: &[Expr]) -> Result<LogicalPlan> {
    let names: Vec<_> = schema.fields().iter().map(|field| written_as(field.name(), written)).collect();
    let none = DFSchema::empty();
    let exact_row = |row: Vec<Expr>| {
        let exprs = row.into_iter().zip(&names).map(|(expr, name)| exact(expr, &none, name));
        exprs.collect::<Result<Vec<_>>>()
    };
    let values = values.into_iter().map(exact_row).collect::<Result<_>>()?;
    Ok(LogicalPlan::Values(Values { schema, values }))
}

/// The column of the table that has this column of the values.
fn written_as(value: &str, exprs: &[Expr]) -> String {
    let of_value = exprs.iter().find_map(|expr| match expr {
        Expr::Alias(Alias { expr, name, .. }) if matches!(&**expr, Expr::Column(column) if column.name == value) => {
            Some(name.clone())
        }
        _ => None,
    });
    of_value.unwrap_or_else(|| value.to_owned())
}

/// The expression; if it is a cast that can lose a part of a value, one that fails then.
fn exact(expr: Expr, schema: &DFSchema, column: &str) -> Result<Expr> {
    match expr {
        Expr::Alias(alias) => {
            let expr = exact(*alias.expr, schema, &alias.name)?.into();
            Ok(Expr::Alias(Alias { expr, ..alias }))
        }
        Expr::Cast(cast) => {
            let (from, to) = (cast.expr.get_type(schema)?, cast.field.data_type().clone());
            // Parquet has times in seconds as integers.
            let in_seconds = matches!(to, DataType::Timestamp(TimeUnit::Second, _));
            if from.is_integer() && matches!(to, DataType::Timestamp(..)) && !in_seconds {
                return plan_err!(
                    "the column `{column}` has times, and `{}` is a number: write `to_timestamp_millis(…)`, or another unit",
                    cast.expr.human_display()
                );
            }
            if !can_lose(&from, &to) {
                return Ok(Expr::Cast(cast));
            }
            Ok(ScalarUDF::from(ExactCast::new(to, column)).call(vec![*cast.expr]))
        }
        expr => Ok(expr),
    }
}

/// Whether a cast can lose a part of a value without an error. Casts of decimals to floats, and of floats to shorter ones,
/// may round.
fn can_lose(from: &DataType, to: &DataType) -> bool {
    use DataType::{Date32, Float32, Float64, Timestamp};
    match (from, to) {
        (Float64, Float32) => true,
        (from, to) if from.is_floating() || from.is_decimal() => to.is_integer() || to.is_decimal(),
        (from, to) if from.is_integer() || from.is_string() && to.is_floating() => to.is_floating(),
        (from, to) => {
            (from.is_string() || matches!(from, Timestamp(..))) && matches!(to, Timestamp(..) | Date32)
        }
    }
}

/// A cast that fails where it would lose a part of a value.
#[derive(Debug, PartialEq, Eq, Hash)]
struct ExactCast {
    to: DataType,
    /// For its message.
    column: String,
    signature: Signature,
}

impl ExactCast {
    fn new(to: DataType, column: &str) -> Self {
        Self { to, column: column.to_owned(), signature: Signature::any(1, Volatility::Immutable) }
    }

    fn cast(&self, values: &ArrayRef) -> Result<ArrayRef> {
        let stored = cast_with_options(values, &self.to, &CHECKED)?;
        match lost(values, &stored)?.iter().position(|is_lost| is_lost == Some(true)) {
            None => Ok(stored),
            Some(at) => exec_err!(
                "the column `{}` has {}, and `{}` would be `{}`: round it in the statement",
                self.column,
                self.to,
                array_value_to_string(values, at)?,
                array_value_to_string(&stored, at)?
            ),
        }
    }
}

/// Which values differ in the type of `stored`.
fn lost(values: &ArrayRef, stored: &ArrayRef) -> Result<BooleanArray> {
    if let (Some(values), Some(stored)) =
        (values.as_primitive_opt::<Float64Type>(), stored.as_primitive_opt::<Float32Type>())
    {
        let pairs = values.iter().zip(stored);
        return Ok(pairs.map(|(value, stored)| Some(value?.is_finite() && stored?.is_infinite())).collect());
    }
    if values.data_type().is_string() {
        let is_lost = |at| {
            let scalar = ScalarValue::try_from_array(values, at)?;
            let text = scalar.try_as_str().flatten().unwrap_or_default();
            Ok(Some(match stored.data_type() {
                DataType::Float32 => is_beyond(text, f32::is_infinite),
                DataType::Float64 => is_beyond(text, f64::is_infinite),
                of => is_finer(&scalar, of),
            }))
        };
        return (0..values.len()).map(is_lost).collect();
    }
    let back = cast(stored, values.data_type())?;
    Ok(neq(&back, values)?)
}

impl ScalarUDFImpl for ExactCast {
    fn name(&self) -> &str {
        "exact_cast"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.to.clone())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [values] = take_function_args(self.name(), args.args)?;
        Ok(ColumnarValue::Array(self.cast(&values.into_array(args.number_rows)?)?))
    }
}
