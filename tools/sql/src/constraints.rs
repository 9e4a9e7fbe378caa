//! Predicates on fields of the key, and the scan planned from them.
//!
//! A [`Predicate`] of a logical expression holds exactly where the expression is true. [`key_filter`] plans from all predicates of a query,
//! and says which of them the plan applies; the others are filtered after the scan. A predicate of a physical expression holds wherever the
//! expression does: dynamic filters only narrow what is read, and the operators that produce them apply them too.

use std::fmt;
use std::ops::Bound;
use std::sync::Arc;

use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{Expr, Operator};
use datafusion::physical_expr::expressions::{
    BinaryExpr, CaseExpr, CastExpr, Column, DynamicFilterPhysicalExpr, InListExpr, Literal as PhysicalLiteral,
};
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use keyderive::dynamic::{KeyFilter, KeyLayout, KeyTest, Value};

use crate::columns::{Columns, KeyColumn, Kind, Literal};
use crate::error::external;

#[cfg(test)]
mod tests;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Predicate {
    /// The index of the field in the key.
    pub(crate) field: usize,
    pub(crate) test: KeyTest,
}

/// The test of a comparison; `None` for an operator that is no equality and no bound.
fn compared(op: Operator, literal: Literal) -> Option<KeyTest> {
    let value = match (op, literal) {
        (Operator::Eq, Literal::Never) => return Some(KeyTest::AnyOf(Vec::new())),
        (_, Literal::Value(value)) => value,
        // A UUID's text may be compared with any text.
        (_, Literal::Never) => return None,
    };
    Some(match op {
        Operator::Eq => KeyTest::AnyOf(vec![value]),
        Operator::Lt => KeyTest::Range(Bound::Unbounded, Bound::Excluded(value)),
        Operator::LtEq => KeyTest::Range(Bound::Unbounded, Bound::Included(value)),
        Operator::Gt => KeyTest::Range(Bound::Excluded(value), Bound::Unbounded),
        Operator::GtEq => KeyTest::Range(Bound::Included(value), Bound::Unbounded),
        _ => return None,
    })
}

/// A list of the values that are equal to some literal.
fn any_of(literals: impl IntoIterator<Item = Literal>) -> KeyTest {
    let values = literals.into_iter().filter_map(|literal| match literal {
        Literal::Value(value) => Some(value),
        Literal::Never => None,
    });
    KeyTest::AnyOf(values.collect())
}

impl Predicate {
    fn new(column: &KeyColumn, test: KeyTest) -> Self {
        // Keys of an enum are in the order of its codes, and the column's text is not; a scan takes codes too, which are no text of the column.
        let test = match &column.variants {
            Some(variants) => {
                let variants = variants.iter().map(|variant| Value::from(*variant));
                KeyTest::AnyOf(variants.filter(|variant| test.holds(variant)).collect())
            }
            None => test,
        };
        Self { field: column.field, test }
    }

    /// The predicate that holds exactly where the expression is true. Returns `None` if no predicate on a single key field does.
    pub(crate) fn of_expr(expr: &Expr, columns: &Columns) -> Option<Self> {
        let column = |expr: &Expr| match expr {
            Expr::Column(column) => columns.key_named(&column.name),
            _ => None,
        };
        let literal = |expr: &Expr, column: &KeyColumn| match expr {
            Expr::Literal(scalar, _) => column.kind.literal(scalar),
            _ => None,
        };
        match expr {
            // DataFusion writes `flag = true` as `flag`, and a short list as equalities.
            Expr::Column(_) => {
                let column = column(expr).filter(|column| column.kind == Kind::Bool)?;
                Some(Self::new(column, KeyTest::AnyOf(vec![true.into()])))
            }
            Expr::Not(of) => {
                let column = column(of).filter(|column| column.kind == Kind::Bool)?;
                Some(Self::new(column, KeyTest::AnyOf(vec![false.into()])))
            }
            Expr::BinaryExpr(binary) if binary.op == Operator::Or => {
                let left = Self::of_expr(&binary.left, columns)?;
                let right = Self::of_expr(&binary.right, columns)?;
                match (left.test, right.test) {
                    (KeyTest::AnyOf(mut all), KeyTest::AnyOf(more)) if left.field == right.field => {
                        all.extend(more);
                        Some(Self { field: left.field, test: KeyTest::AnyOf(all) })
                    }
                    _ => None,
                }
            }
            Expr::BinaryExpr(binary) => {
                let (of, op, with) = match column(&binary.left) {
                    Some(of) => (of, binary.op, &binary.right),
                    None => (column(&binary.right)?, binary.op.swap()?, &binary.left),
                };
                Some(Self::new(of, compared(op, literal(with, of)?)?))
            }
            Expr::InList(list) if !list.negated => {
                let of = column(&list.expr)?;
                let literals = list.list.iter().map(|item| literal(item, of)).collect::<Option<Vec<_>>>()?;
                Some(Self::new(of, any_of(literals)))
            }
            Expr::Between(between) if !between.negated => {
                let of = column(&between.expr)?;
                let bound = |expr| match literal(expr, of)? {
                    Literal::Value(value) => Some(Bound::Included(value)),
                    Literal::Never => None,
                };
                Some(Self::new(of, KeyTest::Range(bound(&between.low)?, bound(&between.high)?)))
            }
            Expr::Like(like) if !like.negated && !like.case_insensitive && like.escape_char.is_none() => {
                let of = column(&like.expr)?;
                let Literal::Value(Value::Text(pattern)) = literal(&like.pattern, of)? else { return None };
                let prefix = pattern.strip_suffix('%').filter(|prefix| !prefix.contains(['%', '_', '\\']))?;
                Some(Self::new(of, KeyTest::Prefix(prefix.into())))
            }
            _ => None,
        }
    }

    /// Predicates that hold wherever the expression does; for a dynamic filter, wherever its current state does.
    pub(crate) fn implied(expr: &Arc<dyn PhysicalExpr>, columns: &Columns) -> Vec<Self> {
        let mut all = Vec::new();
        implied(expr, columns, &mut all);
        all
    }
}

fn implied(expr: &Arc<dyn PhysicalExpr>, columns: &Columns, out: &mut Vec<Predicate>) {
    // A join casts keys to a common type. A widening cast keeps every value and the order.
    let column = |expr: &Arc<dyn PhysicalExpr>| {
        let cast = expr.downcast_ref::<CastExpr>();
        let name = cast.map_or(expr, CastExpr::expr).downcast_ref::<Column>()?.name();
        let column = columns.key_named(name)?;
        cast.is_none_or(|cast| is_widening(&column.kind.data_type(), cast.cast_type())).then_some(column)
    };
    if let Some(dynamic) = expr.downcast_ref::<DynamicFilterPhysicalExpr>() {
        if let Ok(current) = dynamic.current() {
            implied(&current, columns, out);
        }
    } else if let Some(binary) = expr.downcast_ref::<BinaryExpr>() {
        match binary.op() {
            Operator::And => {
                implied(binary.left(), columns, out);
                implied(binary.right(), columns, out);
            }
            // The bounds of a TopK: `a < 1 OR a = 1 AND b < 2`.
            Operator::Or => implied_by_each([binary.left(), binary.right()], columns, out),
            op => {
                if let Some(of) = column(binary.left())
                    && let Some(literal) = binary.right().downcast_ref::<PhysicalLiteral>()
                    && let Some(literal) = before_cast(literal.value(), of.kind)
                    && let Some(test) = compared(*op, literal)
                {
                    out.push(Predicate::new(of, test));
                }
            }
        }
    } else if let Some(case) = expr.downcast_ref::<CaseExpr>() {
        // A join of several partitions: `CASE hash % 4 WHEN 0 THEN … END`.
        let arms = case.when_then_expr().iter().map(|(_, then)| then);
        implied_by_each(arms.chain(case.else_expr()), columns, out);
    } else if let Some(list) = expr.downcast_ref::<InListExpr>()
        && !list.negated()
    {
        let literals = list.list().iter().map(|item| Some(item.downcast_ref::<PhysicalLiteral>()?.value()));
        let Some(literals) = literals.collect::<Option<Vec<&ScalarValue>>>() else { return };
        let mut push = |of: &KeyColumn, literals: Option<Vec<Literal>>| {
            out.extend(literals.map(|literals| Predicate::new(of, any_of(literals))));
        };
        if let Some(of) = column(list.expr()) {
            push(of, literals.iter().map(|literal| before_cast(literal, of.kind)).collect());
        } else if let Some(of_struct) = list.expr().downcast_ref::<ScalarFunctionExpr>()
            && of_struct.name() == "struct"
        {
            // A join on several columns: each alone is in the list of its values.
            for (at, arg) in of_struct.args().iter().enumerate() {
                let Some(of) = column(arg) else { continue };
                let literals = literals.iter().map(|literal| match literal {
                    ScalarValue::Struct(values) => {
                        before_cast(&ScalarValue::try_from_array(values.columns().get(at)?, 0).ok()?, of.kind)
                    }
                    _ => None,
                });
                push(of, literals.collect());
            }
        }
    }
}

/// Predicates that hold wherever one of the expressions does.
fn implied_by_each<'e>(
    arms: impl IntoIterator<Item = &'e Arc<dyn PhysicalExpr>>,
    columns: &Columns,
    out: &mut Vec<Predicate>,
) {
    let is_false = |arm: &&Arc<dyn PhysicalExpr>| {
        arm.downcast_ref::<PhysicalLiteral>()
            .is_some_and(|literal| matches!(literal.value(), ScalarValue::Boolean(Some(false))))
    };
    let arms = arms.into_iter().filter(|arm| !is_false(arm)).map(|arm| Predicate::implied(arm, columns));
    let of_all = arms.reduce(|left, right| {
        let pairs = left.iter().flat_map(|one| right.iter().map(move |other| (one, other)));
        let pairs = pairs.filter(|(one, other)| one.field == other.field);
        pairs
            .filter_map(|(one, other)| Some(Predicate { field: one.field, test: one.test.or(&other.test)? }))
            .collect()
    });
    out.extend(of_all.into_iter().flatten());
}

/// Whether a cast keeps every value and the order.
fn is_widening(from: &DataType, to: &DataType) -> bool {
    use DataType as T;
    let digits = match from {
        T::UInt8 | T::Int8 => 3,
        T::UInt16 | T::Int16 => 5,
        T::UInt32 | T::Int32 => 10,
        T::UInt64 => 20,
        T::Int64 => 19,
        _ => u8::MAX,
    };
    match (from, to) {
        (from, to) if from == to => true,
        (T::Utf8, T::Utf8View | T::LargeUtf8) | (T::Binary, T::BinaryView | T::LargeBinary) => true,
        (_, T::Decimal128(precision, 0) | T::Decimal256(precision, 0)) => *precision >= digits,
        (T::UInt8, T::UInt16 | T::UInt32 | T::UInt64 | T::Int16 | T::Int32 | T::Int64)
        | (T::UInt16, T::UInt32 | T::UInt64 | T::Int32 | T::Int64)
        | (T::UInt32, T::UInt64 | T::Int64)
        | (T::Int8, T::Int16 | T::Int32 | T::Int64)
        | (T::Int16, T::Int32 | T::Int64)
        | (T::Int32, T::Int64) => true,
        _ => false,
    }
}

/// What a literal means if a column is compared with it after a widening cast; `None` if the column's type lacks the
/// value.
fn before_cast(literal: &ScalarValue, kind: Kind) -> Option<Literal> {
    kind.literal(literal).or_else(|| {
        let own = literal.cast_to(&kind.data_type()).ok()?;
        (own.cast_to(&literal.data_type()).ok()? == *literal).then(|| kind.literal(&own))?
    })
}

/// The scan that all predicates of a query make.
pub(crate) fn key_filter(layout: &KeyLayout, predicates: &[Predicate]) -> Result<KeyFilter> {
    let fields = layout.schema().fields();
    let conditions = predicates.iter().map(|Predicate { field, test }| (fields[*field].name(), test.clone()));
    layout.filter(conditions).map_err(external)
}

/// Prints a predicate for `EXPLAIN`: `user = "alice"`.
pub(crate) fn shown<'a>(predicates: &'a [Predicate], columns: &'a Columns) -> impl fmt::Display + 'a {
    fmt::from_fn(move |f| {
        predicates.iter().enumerate().try_for_each(|(at, Predicate { field, test })| {
            f.write_str(if at == 0 { "" } else { " AND " })?;
            let name =
                columns.key.iter().find(|column| column.field == *field).map_or("", |column| column.name);
            match test {
                KeyTest::AnyOf(values) => match &values[..] {
                    [value] => write!(f, "{name} = {value:?}"),
                    [_, _] | [_, _, _] => write!(f, "{name} IN {values:?}"),
                    values => write!(f, "{name} IN {} values", values.len()),
                },
                KeyTest::Prefix(prefix) => write!(f, "{name} LIKE '{prefix}%'"),
                KeyTest::Range(lower, upper) => {
                    let mut separator = "";
                    for (bound, included, excluded) in [(lower, ">=", ">"), (upper, "<=", "<")] {
                        match bound {
                            Bound::Included(value) => write!(f, "{separator}{name} {included} {value:?}")?,
                            Bound::Excluded(value) => write!(f, "{separator}{name} {excluded} {value:?}")?,
                            Bound::Unbounded => continue,
                        }
                        separator = " AND ";
                    }
                    Ok(())
                }
            }
        })
    })
}
