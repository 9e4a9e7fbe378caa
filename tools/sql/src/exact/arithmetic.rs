//! Arithmetic that fails where DataFusion's would wrap.

use std::sync::Arc;

use datafusion::arrow::compute::kernels::numeric::{add, mul, sub};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, internal_err};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    ColumnarValue, Expr, Operator, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::physical_expr_common::datum::apply;

/// The sum, difference or product of two integers of 64 bits. A left operand that is one already is extended: a function's
/// name contains its operands' names, so a chain of thousands of functions would repeat them as often.
pub(super) fn checked(op: Operator, left: Expr, right: Expr) -> Expr {
    let (mut ops, mut operands) = match left {
        Expr::ScalarFunction(ScalarFunction { func, args }) => match func.inner().downcast_ref::<Checked>() {
            Some(begun) => (begun.ops.clone(), args),
            None => (String::new(), vec![Expr::ScalarFunction(ScalarFunction { func, args })]),
        },
        left => (String::new(), vec![left]),
    };
    ops.push(match op {
        Operator::Plus => '+',
        Operator::Minus => '-',
        _ => '*',
    });
    operands.push(right);
    let signature = Signature::variadic(vec![DataType::Int64], Volatility::Immutable);
    let func = Arc::new(ScalarUDF::from(Checked { ops, signature }));
    Expr::ScalarFunction(ScalarFunction { func, args: operands })
}

/// The operators `+`, `-` and `*` between operands, from left to right.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Checked {
    ops: String,
    signature: Signature,
}

impl ScalarUDFImpl for Checked {
    fn name(&self) -> &str {
        &self.ops
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Int64)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let mut operands = args.args.into_iter();
        let Some(first) = operands.next() else { return internal_err!("`{}` has no operands", self.ops) };
        self.ops.chars().zip(operands).try_fold(first, |left, (op, right)| {
            apply(
                &left,
                &right,
                match op {
                    '+' => add,
                    '-' => sub,
                    _ => mul,
                },
            )
        })
    }
}
