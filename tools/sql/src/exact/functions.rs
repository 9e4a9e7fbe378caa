//! Functions that DataFusion computes, or simplifies, wrongly.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, Int64Array};
use datafusion::arrow::compute::{cast, min};
use datafusion::arrow::datatypes::{DataType, FieldRef, TimeUnit};
use datafusion::common::{DFSchema, Result, exec_err, internal_err};
use datafusion::functions::datetime::date_trunc::DateTruncFunc;
use datafusion::functions::expr_fn::coalesce;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::sort_properties::{ExprProperties, SortProperties};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ExprSchemable as _, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl,
    Signature, lit, when,
};

use super::lists::{as_is, pattern};

/// The function, with DataFusion's answers where these are right.
pub(super) fn exact(ScalarFunction { func, mut args }: ScalarFunction, schema: &DFSchema) -> Result<Expr> {
    let again = |func, args| Expr::ScalarFunction(ScalarFunction { func, args });
    Ok(match (func.name(), &mut args[..]) {
        (_, [_, _]) if func.inner().is::<DateTruncFunc>() => again(Arc::new(ExactTrunc(func).into()), args),
        // The year is compared with the bounds of a range of times, which are NULL where the type does not hold them.
        ("date_part", [_, times]) if times.get_type(schema).is_ok_and(|of| may_lack_years(&of)) => {
            as_is(again(func, args))
        }
        // A list that is no column is simplified to `IN`, which is NULL if the list has a NULL.
        ("array_has", [list, value]) => {
            let is_known = list.clone().is_not_null().and(value.clone().is_not_null());
            when(is_known, coalesce(vec![again(func, args), lit(false)])).end()?
        }
        ("regexp_like", [_, like, ..]) => {
            *like = pattern(std::mem::take(like));
            again(func, args)
        }
        _ => again(func, args),
    })
}

/// Whether the type lacks years, or a zone may lack the midnight at which one begins.
fn may_lack_years(of: &DataType) -> bool {
    match of {
        DataType::Timestamp(TimeUnit::Nanosecond, _) => true,
        DataType::Timestamp(_, Some(zone)) => &**zone != "UTC",
        _ => false,
    }
}

/// `date_trunc`, of a constant as of a column: DataFusion truncates a constant before 1970 towards 1970.
#[derive(Debug, PartialEq, Eq, Hash)]
struct ExactTrunc(Arc<ScalarUDF>);

impl ScalarUDFImpl for ExactTrunc {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn signature(&self) -> &Signature {
        self.0.signature()
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        internal_err!("`date_trunc` has the type of its argument")
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        self.0.return_field_from_args(args)
    }

    fn output_ordering(&self, inputs: &[ExprProperties]) -> Result<SortProperties> {
        self.0.output_ordering(inputs)
    }

    fn invoke_with_args(&self, mut args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        if let Some(times) = args.args.get_mut(1) {
            let array = times.to_array(args.number_rows)?;
            check_least(&array)?;
            *times = ColumnarValue::Array(array);
        }
        self.0.invoke_with_args(args)
    }
}

/// Refuses times of which a day cannot be subtracted, which DataFusion would do.
fn check_least(times: &ArrayRef) -> Result<()> {
    let DataType::Timestamp(unit, _) = times.data_type() else { return Ok(()) };
    let day = match unit {
        TimeUnit::Second => 86_400,
        TimeUnit::Millisecond => 86_400_000,
        TimeUnit::Microsecond => 86_400_000_000,
        TimeUnit::Nanosecond => 86_400_000_000_000,
    };
    let numbers = cast(times, &DataType::Int64)?;
    match numbers.as_any().downcast_ref::<Int64Array>().and_then(min) {
        Some(least) if least < i64::MIN + day => {
            exec_err!("`date_trunc` of {least} in units of {unit:?} is beyond the times of this type")
        }
        _ => Ok(()),
    }
}
