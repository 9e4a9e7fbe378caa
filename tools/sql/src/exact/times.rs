//! Comparisons of times with literals. DataFusion makes all of them nanoseconds, which begin in 1677 and end in 2262.

use datafusion::arrow::array::timezone::Tz;
use datafusion::arrow::compute::kernels::cast_utils::string_to_datetime;
use datafusion::arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::{DFSchema, Result, ScalarValue, plan_err};
use datafusion::logical_expr::{Between, BinaryExpr, Cast, Expr, ExprSchemable as _, Operator, expr::InList};

const DAY: i64 = 86_400_000_000_000;

/// The comparison, with literals in the unit of the times.
pub(super) fn in_one_unit(expr: Expr, schema: &DFSchema) -> Expr {
    use Operator::{Eq, Gt, GtEq, IsDistinctFrom, IsNotDistinctFrom, Lt, LtEq, NotEq};
    let of = |expr: &Expr| expr.get_type(schema).ok().filter(|of| matches!(of, DataType::Timestamp(..)));
    let moved = |expr: Box<Expr>, to: &Option<DataType>| match to {
        Some(to) => Box::new(literal_in(*expr, to)),
        None => expr,
    };
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right })
            if matches!(op, Eq | NotEq | Lt | LtEq | Gt | GtEq | IsDistinctFrom | IsNotDistinctFrom) =>
        {
            let (of_left, of_right) = (of(&left), of(&right));
            Expr::BinaryExpr(BinaryExpr { left: moved(left, &of_right), op, right: moved(right, &of_left) })
        }
        Expr::Between(Between { expr, negated, low, high }) => {
            let to = of(&expr);
            Expr::Between(Between { expr, negated, low: moved(low, &to), high: moved(high, &to) })
        }
        Expr::InList(InList { expr, list, negated }) => {
            let to = of(&expr);
            let list = list.into_iter().map(|of| *moved(of.into(), &to)).collect();
            Expr::InList(InList { expr, list, negated })
        }
        expr => expr,
    }
}

/// The literal in this type, if it is text that says a time.
fn literal_in(literal: Expr, to: &DataType) -> Expr {
    let DataType::Timestamp(_, zone) = to else { return literal };
    match literal {
        Expr::Literal(scalar, metadata) if is_time(&scalar) => {
            Expr::Cast(Cast::new(Expr::Literal(scalar, metadata).into(), to.clone()))
        }
        Expr::Cast(cast) => match (&*cast.expr, cast.field.data_type()) {
            // Text without a zone is a time of the column's zone.
            (Expr::Literal(scalar, _), DataType::Timestamp(_, of))
                if is_time(scalar) && (of.is_none() || of == zone) =>
            {
                Expr::Cast(Cast::new(cast.expr, to.clone()))
            }
            (Expr::Literal(scalar, _), DataType::Date32) if of_day(scalar) == Some(0) => {
                Expr::Cast(Cast::new(cast.expr, to.clone()))
            }
            _ => Expr::Cast(cast),
        },
        literal => literal,
    }
}

fn is_time(scalar: &ScalarValue) -> bool {
    scalar.data_type().is_string() && of_day(scalar).is_some()
}

/// Refuses a literal that is finer than the times, which DataFusion would cut.
pub(super) fn check(times: &Expr, of: &DataType, literal: &Expr) -> Result<()> {
    let (has, example) = match of {
        DataType::Date32 => ("dates", "'2013-05-01'"),
        DataType::Timestamp(TimeUnit::Second, _) => ("times in seconds", "'2013-05-01T06:00:00Z'"),
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            ("times in milliseconds", "'2013-05-01T06:00:00.123Z'")
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            ("times in microseconds", "'2013-05-01T06:00:00.123456Z'")
        }
        _ => return Ok(()),
    };
    let mut said = literal;
    while let Expr::Cast(cast) = said
        && cast.field.data_type().is_temporal()
    {
        said = &cast.expr;
    }
    let Expr::Literal(scalar, _) = said else { return Ok(()) };
    if is_finer(scalar, of) {
        return plan_err!(
            "`{}` has {has}, and `{}` is finer: write it as {example}",
            times.human_display(),
            literal.human_display()
        );
    }
    Ok(())
}

/// Whether a value says a time that the dates or times of this type do not hold.
pub(super) fn is_finer(scalar: &ScalarValue, of: &DataType) -> bool {
    let unit = match of {
        DataType::Date32 => DAY,
        DataType::Timestamp(TimeUnit::Second, _) => 1_000_000_000,
        DataType::Timestamp(TimeUnit::Millisecond, _) => 1_000_000,
        DataType::Timestamp(TimeUnit::Microsecond, _) => 1_000,
        _ => return false,
    };
    of_day(scalar).is_some_and(|nanos| nanos % unit != 0)
}

/// The nanoseconds since midnight of the time that a literal says.
fn of_day(scalar: &ScalarValue) -> Option<i64> {
    let in_units = |value: i64, unit: i64| value.rem_euclid(DAY / unit) * unit;
    Some(match scalar {
        ScalarValue::TimestampSecond(Some(secs), _) => in_units(*secs, 1_000_000_000),
        ScalarValue::TimestampMillisecond(Some(millis), _) => in_units(*millis, 1_000_000),
        ScalarValue::TimestampMicrosecond(Some(micros), _) => in_units(*micros, 1_000),
        ScalarValue::TimestampNanosecond(Some(nanos), _) => in_units(*nanos, 1),
        scalar => {
            let zone: Tz = "UTC".parse().ok()?;
            let time = string_to_datetime(&zone, scalar.try_as_str()??).ok()?;
            in_units(time.timestamp(), 1_000_000_000) + i64::from(time.timestamp_subsec_nanos())
        }
    })
}
