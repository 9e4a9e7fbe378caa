//! Predicates on fields of the key, and the scan planned from them.
//!
//! A [`Predicate`] of a logical expression holds exactly where the expression is true. [`KeyScan::new`] plans from all predicates of a
//! query, from the leftmost field on, and says which of them the plan applies; the others are filtered after the scan. A predicate of a
//! physical expression holds wherever the expression does: dynamic filters only narrow what is read, and the operators that produce them
//! apply them too.

use std::cmp::Ordering;
use std::fmt;
use std::ops::Bound;
use std::sync::Arc;

use datafusion::arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::{Expr, Operator};
use datafusion::physical_expr::expressions::{
    BinaryExpr, CaseExpr, CastExpr, Column, DynamicFilterPhysicalExpr, InListExpr, Literal as PhysicalLiteral,
};
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use keyderive::dynamic::{DynKey, DynScan, KeyLayout, Value};
use keyderive::plan::Plan;

use crate::columns::{Columns, KeyColumn, Kind, Literal};

#[cfg(test)]
mod tests;

/// With more point reads or ranges than this, a plan is slower than a scan over all between them.
const MAX_CHOICES: usize = 100_000;

/// A test on a field of the key.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Test {
    In(Vec<Value>),
    Range(Bound<Value>, Bound<Value>),
    Prefix(String),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Predicate {
    /// The index of the field in the key.
    pub(crate) field: usize,
    pub(crate) test: Test,
}

impl Test {
    pub(crate) fn holds(&self, value: &Value) -> bool {
        match self {
            Self::In(values) => values.contains(value),
            Self::Prefix(prefix) => matches!(value, Value::Text(text) if text.starts_with(prefix.as_str())),
            Self::Range(lower, upper) => {
                let is =
                    |bound: &Value, passes: fn(Ordering) -> bool| value.compare(bound).is_some_and(passes);
                (match lower {
                    Bound::Included(bound) => is(bound, Ordering::is_ge),
                    Bound::Excluded(bound) => is(bound, Ordering::is_gt),
                    Bound::Unbounded => true,
                }) && (match upper {
                    Bound::Included(bound) => is(bound, Ordering::is_le),
                    Bound::Excluded(bound) => is(bound, Ordering::is_lt),
                    Bound::Unbounded => true,
                })
            }
        }
    }

    /// `None` for an operator that is no equality and no bound.
    fn compared(op: Operator, literal: Literal) -> Option<Self> {
        let value = match (op, literal) {
            (Operator::Eq, Literal::Never) => return Some(Self::In(Vec::new())),
            (_, Literal::Value(value)) => value,
            // A UUID's text may be compared with any text.
            (_, Literal::Never) => return None,
        };
        Some(match op {
            Operator::Eq => Self::In(vec![value]),
            Operator::Lt => Self::Range(Bound::Unbounded, Bound::Excluded(value)),
            Operator::LtEq => Self::Range(Bound::Unbounded, Bound::Included(value)),
            Operator::Gt => Self::Range(Bound::Excluded(value), Bound::Unbounded),
            Operator::GtEq => Self::Range(Bound::Included(value), Bound::Unbounded),
            _ => return None,
        })
    }

    /// A list of the values that are equal to some literal.
    fn any_of(literals: impl IntoIterator<Item = Literal>) -> Self {
        let values = literals.into_iter().filter_map(|literal| match literal {
            Literal::Value(value) => Some(value),
            Literal::Never => None,
        });
        Self::In(values.collect())
    }

    /// A test that holds wherever either does; `None` if the only known one always holds.
    fn or(&self, other: &Self) -> Option<Self> {
        if let (Self::In(one), Self::In(other)) = (self, other) {
            return Some(Self::In(one.iter().chain(other).cloned().collect()));
        }
        let bounds = |test: &Self| match test {
            Self::Range(lower, upper) => Some((lower.clone(), upper.clone())),
            Self::In(values) => {
                let value = values.first().filter(|_| values.len() == 1)?;
                Some((Bound::Included(value.clone()), Bound::Included(value.clone())))
            }
            Self::Prefix(_) => None,
        };
        let ((a, b), (c, d)) = (bounds(self)?, bounds(other)?);
        let (lower, upper) = (looser(a, c, Side::Lower), looser(b, d, Side::Upper));
        (lower != Bound::Unbounded || upper != Bound::Unbounded).then_some(Self::Range(lower, upper))
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Side {
    Lower,
    Upper,
}

/// The tighter bound.
fn tighter(one: Bound<Value>, other: Bound<Value>, side: Side) -> Bound<Value> {
    let keep = match (&one, &other) {
        (_, Bound::Unbounded) => true,
        (Bound::Unbounded, _) => false,
        (Bound::Included(a) | Bound::Excluded(a), Bound::Included(b) | Bound::Excluded(b)) => {
            match a.compare(b) {
                Some(Ordering::Equal) => matches!(one, Bound::Excluded(_)),
                order => (order == Some(Ordering::Greater)) == (side == Side::Lower),
            }
        }
    };
    if keep { one } else { other }
}

/// The looser bound.
fn looser(one: Bound<Value>, other: Bound<Value>, side: Side) -> Bound<Value> {
    if tighter(one.clone(), other.clone(), side) == one { other } else { one }
}

impl Predicate {
    fn new(column: &KeyColumn, test: Test) -> Self {
        // Keys of an enum are in the order of its codes, and the column's text is not; a scan takes codes too, which are no text of the column.
        let test = match &column.variants {
            Some(variants) => {
                let variants = variants.iter().map(|variant| Value::from(*variant));
                Test::In(variants.filter(|variant| test.holds(variant)).collect())
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
                Some(Self::new(column, Test::In(vec![true.into()])))
            }
            Expr::Not(of) => {
                let column = column(of).filter(|column| column.kind == Kind::Bool)?;
                Some(Self::new(column, Test::In(vec![false.into()])))
            }
            Expr::BinaryExpr(binary) if binary.op == Operator::Or => {
                let left = Self::of_expr(&binary.left, columns)?;
                let right = Self::of_expr(&binary.right, columns)?;
                match (left.test, right.test) {
                    (Test::In(mut all), Test::In(more)) if left.field == right.field => {
                        all.extend(more);
                        Some(Self { field: left.field, test: Test::In(all) })
                    }
                    _ => None,
                }
            }
            Expr::BinaryExpr(binary) => {
                let (of, op, with) = match column(&binary.left) {
                    Some(of) => (of, binary.op, &binary.right),
                    None => (column(&binary.right)?, binary.op.swap()?, &binary.left),
                };
                Some(Self::new(of, Test::compared(op, literal(with, of)?)?))
            }
            Expr::InList(list) if !list.negated => {
                let of = column(&list.expr)?;
                let literals = list.list.iter().map(|item| literal(item, of)).collect::<Option<Vec<_>>>()?;
                Some(Self::new(of, Test::any_of(literals)))
            }
            Expr::Between(between) if !between.negated => {
                let of = column(&between.expr)?;
                let bound = |expr| match literal(expr, of)? {
                    Literal::Value(value) => Some(Bound::Included(value)),
                    Literal::Never => None,
                };
                Some(Self::new(of, Test::Range(bound(&between.low)?, bound(&between.high)?)))
            }
            Expr::Like(like) if !like.negated && !like.case_insensitive && like.escape_char.is_none() => {
                let of = column(&like.expr)?;
                let Literal::Value(Value::Text(pattern)) = literal(&like.pattern, of)? else { return None };
                let prefix = pattern.strip_suffix('%').filter(|prefix| !prefix.contains(['%', '_', '\\']))?;
                Some(Self::new(of, Test::Prefix(prefix.to_owned())))
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
                    && let Some(test) = Test::compared(*op, literal)
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
            out.extend(literals.map(|literals| Predicate::new(of, Test::any_of(literals))));
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

/// The scan that predicates make.
#[derive(Clone, Debug)]
pub(crate) struct KeyScan {
    pub(crate) plan: Plan<DynKey>,
    /// No row can satisfy the predicates; the plan then reads more than needed.
    pub(crate) is_empty: bool,
    /// Which predicates the plan meets exactly.
    pub(crate) used: Vec<bool>,
    /// The number of values of each fixed field.
    pub(crate) fixed: Vec<usize>,
}

impl KeyScan {
    /// Plans from the leftmost field on, for as long as predicates fix the next one.
    pub(crate) fn new(layout: &KeyLayout, predicates: &[Predicate]) -> Self {
        let mut scan = Self {
            plan: whole(layout),
            is_empty: predicates.iter().any(|one| matches!(&one.test, Test::In(values) if values.is_empty())),
            used: vec![false; predicates.len()],
            fixed: Vec::new(),
        };
        let mut draft = layout.scan();
        for (field, of) in layout.schema().fields().iter().enumerate() {
            let name = of.name();
            let mine: Vec<usize> =
                (0..predicates.len()).filter(|at| predicates[*at].field == field).collect();
            if mine.is_empty() {
                break;
            }
            let tests = || mine.iter().map(|at| &predicates[*at].test);
            let Some(values) = listed(&tests()) else {
                scan.end(draft, name, predicates, &mine);
                break;
            };
            // No row has a value that no key can hold.
            let held = |value: &Value| layout.can_hold(name, value).unwrap_or(false);
            let values: Vec<Value> = values.into_iter().filter(held).collect();
            let choices = scan.fixed.iter().product::<usize>().saturating_mul(values.len());
            if choices > MAX_CHOICES {
                break;
            }
            let Ok(next) = draft.clone().any_of(name, &values) else { break };
            match next.clone().plan() {
                Ok(plan) => scan.plan = plan,
                // No key has these fields: it would be empty or too long.
                Err(_) if choices == 1 => scan.is_empty = true,
                // No key has some of them; the filter after the scan finds which.
                Err(_) => break,
            }
            draft = next;
            scan.is_empty |= values.is_empty();
            scan.fixed.push(values.len());
            mine.iter().for_each(|at| scan.used[*at] = true);
            if scan.is_empty {
                break;
            }
        }
        scan
    }

    /// Ends the scan with a prefix or a range of a field.
    fn end(&mut self, draft: DynScan, name: &str, predicates: &[Predicate], mine: &[usize]) {
        let tests = || mine.iter().map(|at| (*at, &predicates[*at].test));
        let prefixes = tests().filter_map(|(_, test)| match test {
            Test::Prefix(prefix) => Some(prefix),
            _ => None,
        });
        let planned = if let Some(longest) = prefixes.max_by_key(|prefix| prefix.len()) {
            let value = Value::from(longest.as_str());
            let others = tests().filter(|(_, test)| matches!(test, Test::Prefix(_)));
            let others: Vec<_> = others.map(|(at, test)| (at, test.holds(&value))).collect();
            (draft.prefix(name, value), others)
        } else {
            let (mut lower, mut upper) = (Bound::Unbounded, Bound::Unbounded);
            for (_, test) in tests() {
                if let Test::Range(from, to) = test {
                    lower = tighter(lower, from.clone(), Side::Lower);
                    upper = tighter(upper, to.clone(), Side::Upper);
                }
            }
            (draft.range(name, (lower, upper)), tests().map(|(at, _)| (at, true)).collect())
        };
        if let (Ok(draft), met) = planned
            && let Ok(plan) = draft.plan()
        {
            self.is_empty |= plan.is_empty();
            self.plan = plan;
            for (at, is_met) in met {
                self.used[at] = true;
                // No text begins with two prefixes unless one is a prefix of the other.
                self.is_empty |= !is_met;
            }
        }
    }

    /// How many rows there are at most, if every field is fixed.
    pub(crate) fn max_rows(&self, fields: usize) -> Option<usize> {
        (self.fixed.len() == fields).then(|| self.fixed.iter().product())
    }
}

fn whole(layout: &KeyLayout) -> Plan<DynKey> {
    match layout.scan().plan() {
        Ok(plan) => plan,
        // Nothing is fixed that a key could not hold.
        Err(_) => unreachable!("a scan without constraints has a plan"),
    }
}

/// If a test is a list, the values that pass all tests, sorted and distinct. Lists may have many thousand values.
fn listed<'t>(tests: &(impl Iterator<Item = &'t Test> + Clone)) -> Option<Vec<Value>> {
    let order = |one: &Value, other: &Value| one.compare(other).unwrap_or(Ordering::Equal);
    let lists = tests.clone().filter_map(|test| match test {
        Test::In(values) => {
            let mut values = values.clone();
            values.sort_by(order);
            values.dedup();
            Some(values)
        }
        _ => None,
    });
    let of_all = lists.reduce(|mut values, list| {
        // As a test of one value decides: values that cannot be compared are not equal.
        let has = |at: usize, value: &Value| list[at].compare(value) == Some(Ordering::Equal);
        values.retain(|value| {
            list.binary_search_by(|other| order(other, value)).is_ok_and(|at| has(at, value))
        });
        values
    });
    let mut values = of_all?;
    let others = tests.clone().filter(|test| !matches!(test, Test::In(_)));
    values.retain(|value| others.clone().all(|test| test.holds(value)));
    Some(values)
}

/// Prints a predicate for `EXPLAIN`: `user = "alice"`.
pub(crate) fn shown<'a>(predicates: &'a [Predicate], columns: &'a Columns) -> impl fmt::Display + 'a {
    fmt::from_fn(move |f| {
        predicates.iter().enumerate().try_for_each(|(at, Predicate { field, test })| {
            f.write_str(if at == 0 { "" } else { " AND " })?;
            let name =
                columns.key.iter().find(|column| column.field == *field).map_or("", |column| column.name);
            match test {
                Test::In(values) => match &values[..] {
                    [value] => write!(f, "{name} = {value:?}"),
                    [_, _] | [_, _, _] => write!(f, "{name} IN {values:?}"),
                    values => write!(f, "{name} IN {} values", values.len()),
                },
                Test::Prefix(prefix) => write!(f, "{name} LIKE '{prefix}%'"),
                Test::Range(lower, upper) => {
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
