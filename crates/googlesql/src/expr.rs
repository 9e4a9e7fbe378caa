//! Expressions with types, and their values for a row.

use std::cmp::Ordering;
use std::fmt;

use tonic::Status;

use crate::error::out_of_range;
use crate::meter::{self, Held};
use crate::value::Value;

/// An expression over the columns of a row.
pub(crate) enum Expr {
    Literal(Value),
    /// The column at this place of the row.
    Column(usize),
    And(Vec<Expr>),
    Or(Vec<Expr>),
    Not(Box<Expr>),
    IsNull(Box<Expr>),
    Compare(Comparison, Box<Expr>, Box<Expr>),
    /// Whether a value is in a list.
    In(Box<Expr>, Vec<Expr>),
    Like(Box<Expr>, Box<Expr>),
    StartsWith(Box<Expr>, Box<Expr>),
    /// Conditions with their results, and the result if none is true.
    Case(Vec<(Expr, Expr)>, Box<Expr>),
    /// The first value that is not NULL.
    Coalesce(Vec<Expr>),
    Array(Vec<Expr>),
    Struct(Vec<Expr>),
    /// The field at this place of a struct.
    Field(Box<Expr>, usize),
    /// The value of a key of a map.
    Entry(Box<Expr>, Box<Expr>),
    /// The element at an index that counts from this number; NULL instead of an error if it is safe.
    Element {
        array: Box<Expr>,
        index: Box<Expr>,
        from: i64,
        is_safe: bool,
    },
    /// NULL if an argument is.
    Strict(Function, Vec<Expr>),
    /// Takes arguments that may be NULL.
    Lenient(Function, Vec<Expr>),
}

pub(crate) type Function = Box<dyn Fn(&[Value]) -> Result<Value, Status> + Send + Sync>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Comparison {
    fn holds(self, order: Option<Ordering>) -> bool {
        // Nothing compares with NaN.
        let Some(order) = order else { return self == Self::NotEqual };
        match self {
            Self::Equal => order.is_eq(),
            Self::NotEqual => order.is_ne(),
            Self::Less => order.is_lt(),
            Self::LessOrEqual => order.is_le(),
            Self::Greater => order.is_gt(),
            Self::GreaterOrEqual => order.is_ge(),
        }
    }

    /// The comparison of the same operands in the other order.
    pub(crate) fn flipped(self) -> Self {
        match self {
            Self::Less => Self::Greater,
            Self::LessOrEqual => Self::GreaterOrEqual,
            Self::Greater => Self::Less,
            Self::GreaterOrEqual => Self::LessOrEqual,
            same => same,
        }
    }
}

impl fmt::Debug for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Expr")
    }
}

impl Expr {
    /// The value for a row.
    pub(crate) fn value(&self, row: &[Value]) -> Result<Value, Status> {
        let all = |exprs| Self::values(exprs, row);
        let both = |left: &Self, right: &Self| {
            let left = left.value(row)?;
            let _held = meter::hold(left.bytes())?;
            Ok::<_, Status>((left, right.value(row)?))
        };
        Ok(match self {
            Self::Literal(value) => value.clone(),
            Self::Column(place) => row.get(*place).cloned().unwrap_or(Value::Null),
            Self::And(operands) => three_valued(operands, row, false)?,
            Self::Or(operands) => three_valued(operands, row, true)?,
            Self::Not(operand) => match operand.value(row)? {
                Value::Bool(value) => Value::Bool(!value),
                _ => Value::Null,
            },
            Self::IsNull(operand) => Value::Bool(operand.value(row)?.is_null()),
            Self::Compare(comparison, left, right) => match both(left, right)? {
                (Value::Null, _) | (_, Value::Null) => Value::Null,
                (left, right) => Value::Bool(comparison.holds(left.compare(&right))),
            },
            Self::In(operand, list) => {
                let value = operand.value(row)?;
                let _held = meter::hold(value.bytes())?;
                let mut found =
                    if value.is_null() && !list.is_empty() { Value::Null } else { Value::Bool(false) };
                for each in if value.is_null() { &[] } else { &list[..] } {
                    match each.value(row)? {
                        Value::Null => found = Value::Null,
                        each if value.compare(&each) == Some(Ordering::Equal) => {
                            return Ok(Value::Bool(true));
                        }
                        _ => {}
                    }
                }
                found
            }
            Self::Like(operand, pattern) => match both(operand, pattern)? {
                (Value::Null, _) | (_, Value::Null) => Value::Null,
                (Value::Text(text), pattern) => {
                    let _held = meter::hold(4 * text.len() + 16 * pattern.raw().len())?;
                    let text: Vec<char> = text.chars().collect();
                    let pattern: Vec<char> = String::from_utf8_lossy(pattern.raw()).chars().collect();
                    Value::Bool(is_like(&text, &LikePattern::new(&pattern, ['\\', '%', '_'])?)?)
                }
                (bytes, pattern) => {
                    Value::Bool(is_like(bytes.raw(), &LikePattern::new(pattern.raw(), *b"\\%_")?)?)
                }
            },
            Self::StartsWith(operand, prefix) => match both(operand, prefix)? {
                (Value::Null, _) | (_, Value::Null) => Value::Null,
                (value, prefix) => Value::Bool(value.raw().starts_with(prefix.raw())),
            },
            Self::Case(branches, otherwise) => {
                for (condition, result) in branches {
                    if condition.value(row)?.is_true() {
                        return result.value(row);
                    }
                }
                otherwise.value(row)?
            }
            Self::Coalesce(operands) => {
                for operand in operands {
                    let value = operand.value(row)?;
                    if !value.is_null() {
                        return Ok(value);
                    }
                }
                Value::Null
            }
            Self::Array(elements) => Value::Array(all(elements)?.0),
            Self::Struct(fields) => Value::Struct(all(fields)?.0),
            Self::Field(operand, place) => match operand.value(row)? {
                Value::Struct(mut fields) if *place < fields.len() => fields.swap_remove(*place),
                _ => Value::Null,
            },
            Self::Entry(map, key) => {
                let (map, key) = both(map, key)?;
                let entry =
                    map.entries().iter().find(|(name, _)| name.compare(&key) == Some(Ordering::Equal));
                if key.is_null() {
                    Value::Null
                } else {
                    entry.map_or(Value::Null, |(_, value)| value.clone())
                }
            }
            Self::Element { array, index, from, is_safe } => match both(array, index)? {
                (Value::Array(mut elements), Value::Int64(index)) => {
                    let place = index.checked_sub(*from).and_then(|place| usize::try_from(place).ok());
                    match place.filter(|place| *place < elements.len()) {
                        Some(place) => elements.swap_remove(place),
                        None if *is_safe => Value::Null,
                        None => return Err(out_of_range(format!("Array index {index} is out of bounds"))),
                    }
                }
                _ => Value::Null,
            },
            Self::Strict(function, arguments) => {
                let (values, held) = all(arguments)?;
                if values.iter().any(Value::is_null) {
                    Value::Null
                } else {
                    called(function, &values, &held)?
                }
            }
            Self::Lenient(function, arguments) => {
                let (values, held) = all(arguments)?;
                called(function, &values, &held)?
            }
        })
    }

    /// The values of several expressions, with what they hold.
    pub(crate) fn values(exprs: &[Self], row: &[Value]) -> Result<(Vec<Value>, Held), Status> {
        let (mut values, mut held) = (Vec::with_capacity(exprs.len()), Held::default());
        for expr in exprs {
            let value = expr.value(row)?;
            held.add(value.bytes())?;
            values.push(value);
        }
        Ok((values, held))
    }

    /// The value of a literal.
    pub(crate) fn as_literal(&self) -> Option<&Value> {
        match self {
            Self::Literal(value) => Some(value),
            _ => None,
        }
    }
}

/// What a function may hold beside its arguments for each byte of them: their characters, and its result.
const WORK: usize = 16;

fn called(function: &Function, values: &[Value], arguments: &Held) -> Result<Value, Status> {
    let _work = meter::hold(arguments.bytes.saturating_mul(WORK))?;
    function(values)
}

/// AND or OR: the first operand that decides, even if others are NULL or fail after it.
fn three_valued(operands: &[Expr], row: &[Value], decisive: bool) -> Result<Value, Status> {
    let mut has_null = false;
    for operand in operands {
        match operand.value(row)? {
            Value::Bool(value) if value == decisive => return Ok(Value::Bool(decisive)),
            Value::Null => has_null = true,
            _ => {}
        }
    }
    Ok(if has_null { Value::Null } else { Value::Bool(!decisive) })
}

/// A pattern of LIKE over characters, or over bytes.
pub(crate) struct LikePattern<T>(Vec<LikeStep<T>>);

pub(crate) enum LikeStep<T> {
    /// This one.
    Exactly(T),
    /// Any one.
    One,
    /// Any number of any.
    Any,
}

impl<T: Copy + PartialEq> LikePattern<T> {
    /// `special` are the escape character, and the wildcards for any number and for one.
    pub(crate) fn new(pattern: &[T], special: [T; 3]) -> Result<Self, Status> {
        let [escape, any, one] = special;
        let mut steps = Vec::with_capacity(pattern.len());
        let mut rest = pattern.iter().copied();
        while let Some(each) = rest.next() {
            steps.push(if each == escape {
                let next = rest.next();
                LikeStep::Exactly(next.ok_or_else(|| out_of_range("LIKE pattern ends with a backslash"))?)
            } else if each == any {
                LikeStep::Any
            } else if each == one {
                LikeStep::One
            } else {
                LikeStep::Exactly(each)
            });
        }
        Ok(Self(steps))
    }

    /// What every match begins with.
    pub(crate) fn prefix(&self) -> Vec<T> {
        let exact = self.0.iter().map_while(|step| match step {
            LikeStep::Exactly(each) => Some(*each),
            _ => None,
        });
        exact.collect()
    }
}

/// Whether all of a text matches. On a mismatch, the last wildcard for any number takes one more.
fn is_like<T: Copy + PartialEq>(text: &[T], pattern: &LikePattern<T>) -> Result<bool, Status> {
    let steps = &pattern.0;
    let (mut at, mut step) = (0, 0);
    let mut last_any: Option<(usize, usize)> = None;
    while at < text.len() {
        match steps.get(step) {
            Some(LikeStep::Any) => {
                step += 1;
                last_any = Some((step, at));
            }
            Some(LikeStep::One) => (at, step) = (at + 1, step + 1),
            Some(LikeStep::Exactly(each)) if *each == text[at] => (at, step) = (at + 1, step + 1),
            _ => {
                let Some((after, from)) = last_any else { return Ok(false) };
                // As often as the text has characters, each time for as many steps as the pattern has.
                meter::check_caller()?;
                last_any = Some((after, from + 1));
                (at, step) = (from + 1, after);
            }
        }
    }
    Ok(steps[step..].iter().all(|step| matches!(step, LikeStep::Any)))
}
