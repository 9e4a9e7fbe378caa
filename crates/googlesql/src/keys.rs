//! Which row keys a condition can hold for.

use bytes::Bytes;
use keyderive_embedded::Interval;

use crate::expr::{Comparison, Expr, LikePattern};
use crate::table::KEY;
use crate::value::Value;

/// Conditions with more pairs of intervals than this are not intersected.
const MAX_PAIRS: usize = 100_000;

/// The keys of the rows for which a condition may be true. It may be false for some of them.
pub(crate) fn intervals(condition: &Expr) -> Vec<Interval> {
    found(condition).unwrap_or_else(|| vec![Interval::all()])
}

/// `None` for all keys.
fn found(condition: &Expr) -> Option<Vec<Interval>> {
    match condition {
        Expr::And(operands) => {
            operands.iter().filter_map(found).reduce(|left, right| intersection(left, &right))
        }
        Expr::Or(operands) => {
            let all: Option<Vec<_>> = operands.iter().map(found).collect();
            all.map(|all| all.concat())
        }
        Expr::Compare(comparison, left, right) => match (is_key(left), is_key(right)) {
            (true, false) => right.as_literal().and_then(|bound| compared(*comparison, bound)),
            (false, true) => left.as_literal().and_then(|bound| compared(comparison.flipped(), bound)),
            _ => None,
        },
        Expr::In(operand, list) if is_key(operand) => list
            .iter()
            .map(|each| each.as_literal().map(equal))
            .collect::<Option<Vec<_>>>()
            .map(|all| all.concat()),
        Expr::StartsWith(operand, prefix) if is_key(operand) => match prefix.as_literal()? {
            Value::Bytes(prefix) => Some(vec![Interval::prefix(prefix)]),
            _ => Some(Vec::new()),
        },
        Expr::Like(operand, pattern) if is_key(operand) => match pattern.as_literal()? {
            // A pattern that is wrong is an error only for a row.
            Value::Bytes(pattern) => {
                let prefix = LikePattern::new(pattern, *b"\\%_").ok()?.prefix();
                Some(vec![Interval::prefix(&prefix.into())])
            }
            _ => Some(Vec::new()),
        },
        Expr::Literal(value) if !value.is_true() => Some(Vec::new()),
        _ => None,
    }
}

fn is_key(expr: &Expr) -> bool {
    matches!(expr, Expr::Column(KEY))
}

fn equal(value: &Value) -> Vec<Interval> {
    match value {
        Value::Bytes(key) => vec![Interval::point(key)],
        // NULL is equal to nothing.
        _ => Vec::new(),
    }
}

fn compared(comparison: Comparison, bound: &Value) -> Option<Vec<Interval>> {
    let Value::Bytes(bound) = bound else { return Some(Vec::new()) };
    let after = Interval::point(bound).end.unwrap_or_default();
    let interval = match comparison {
        Comparison::Equal => return Some(equal(&Value::Bytes(bound.clone()))),
        Comparison::NotEqual => return None,
        Comparison::Less => Interval { start: Bytes::new(), end: Some(bound.clone()) },
        Comparison::LessOrEqual => Interval { start: Bytes::new(), end: Some(after) },
        Comparison::Greater => Interval { start: after, end: None },
        Comparison::GreaterOrEqual => Interval { start: bound.clone(), end: None },
    };
    Some(vec![interval])
}

fn intersection(left: Vec<Interval>, right: &[Interval]) -> Vec<Interval> {
    if left.len().saturating_mul(right.len()) > MAX_PAIRS {
        return left;
    }
    let pairs = left.iter().flat_map(|left| right.iter().map(move |right| (left, right)));
    pairs
        .map(|(left, right)| Interval {
            start: left.start.clone().max(right.start.clone()),
            end: match (&left.end, &right.end) {
                (Some(left), Some(right)) => Some(left.clone().min(right.clone())),
                (end, None) | (None, end) => end.clone(),
            },
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> Box<Expr> {
        Box::new(Expr::Column(KEY))
    }

    fn literal(value: &'static str) -> Box<Expr> {
        Box::new(Expr::Literal(Value::Bytes(value.into())))
    }

    fn null() -> Box<Expr> {
        Box::new(Expr::Literal(Value::Null))
    }

    fn compare(comparison: Comparison, value: &'static str) -> Expr {
        Expr::Compare(comparison, key(), literal(value))
    }

    fn range(start: &'static str, end: Option<&'static str>) -> Interval {
        Interval { start: start.into(), end: end.map(Into::into) }
    }

    #[test]
    fn a_condition_on_the_key_reads_the_rows_that_it_names() {
        use Comparison::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual};
        let other = || Expr::Column(KEY + 1);
        for (condition, expected) in [
            (compare(Equal, "b"), vec![range("b", Some("b\0"))]),
            (compare(Less, "b"), vec![range("", Some("b"))]),
            (compare(LessOrEqual, "b"), vec![range("", Some("b\0"))]),
            (compare(Greater, "b"), vec![range("b\0", None)]),
            (compare(GreaterOrEqual, "b"), vec![range("b", None)]),
            (compare(NotEqual, "b"), vec![Interval::all()]),
            (Expr::Compare(Less, literal("b"), key()), vec![range("b\0", None)]),
            (Expr::Compare(Equal, key(), null()), vec![]),
            (
                Expr::And(vec![compare(GreaterOrEqual, "b"), other(), compare(Less, "d")]),
                vec![range("b", Some("d"))],
            ),
            (
                Expr::Or(vec![compare(Less, "b"), compare(Equal, "d")]),
                vec![range("", Some("b")), range("d", Some("d\0"))],
            ),
            (Expr::Or(vec![compare(Less, "b"), other()]), vec![Interval::all()]),
            (Expr::Not(Box::new(compare(Less, "b"))), vec![Interval::all()]),
            (Expr::In(key(), vec![*literal("b"), *null()]), vec![range("b", Some("b\0"))]),
            (Expr::In(key(), vec![*literal("b"), other()]), vec![Interval::all()]),
            (Expr::StartsWith(key(), literal("b")), vec![range("b", Some("c"))]),
            (Expr::Like(key(), literal("b\\%c%d")), vec![range("b%c", Some("b%d"))]),
            (Expr::Like(key(), literal("_b")), vec![Interval::all()]),
            (Expr::Like(key(), literal("b\\")), vec![Interval::all()]),
            (Expr::Literal(Value::Bool(false)), vec![]),
            (other(), vec![Interval::all()]),
        ] {
            assert_eq!(intervals(&condition), expected);
        }
    }
}
