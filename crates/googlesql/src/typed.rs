//! Expressions with their types, and which types become others by themselves.

use tonic::{Code, Status};

use crate::error::invalid;
use crate::expr::Expr;
use crate::parse::as_bytes;
use crate::time;
use crate::types::Type;
use crate::value::Value;

/// An expression with its type.
#[derive(Debug)]
pub(crate) struct Typed {
    pub(crate) expr: Expr,
    pub(crate) of: Type,
    pub(crate) form: Form,
}

/// What an expression is written as, which decides what it becomes by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// A value of its type.
    Value,
    /// NULL, which is of every type.
    Null,
    /// A literal of STRING, which becomes BYTES, DATE or TIMESTAMP.
    Text,
    /// A literal of a number.
    Number,
    /// `[]`.
    EmptyArray,
    /// An array of STRING literals, which can become an array of BYTES.
    Texts,
    /// An array of number literals, which can become an array of floats.
    Numbers,
}

impl Typed {
    pub(crate) fn new(expr: Expr, of: Type) -> Self {
        Self { expr, of, form: Form::Value }
    }

    pub(crate) fn null() -> Self {
        Self { expr: Expr::Literal(Value::Null), of: Type::Int64, form: Form::Null }
    }

    /// A function of arguments that are not NULL.
    pub(crate) fn strict(
        of: Type,
        arguments: Vec<Self>,
        function: impl Fn(&[Value]) -> Result<Value, Status> + Send + Sync + 'static,
    ) -> Self {
        let arguments = arguments.into_iter().map(|argument| argument.expr).collect();
        Self::new(Expr::Strict(Box::new(function), arguments), of)
    }

    /// Whether it becomes this type by itself.
    pub(crate) fn becomes(&self, of: &Type) -> bool {
        self.of == *of
            || match self.form {
                Form::Null => true,
                Form::EmptyArray => matches!(of, Type::Array(_)),
                Form::Text if matches!(of, Type::Bytes | Type::Date | Type::Timestamp) => true,
                Form::Number if of.is_float() => true,
                Form::Texts => matches!(of, Type::Array(of) if **of == Type::Bytes),
                Form::Numbers => matches!(of, Type::Array(of) if of.is_float()),
                _ => match (&self.of, of) {
                    (Type::Int64 | Type::Float32, Type::Float64) => true,
                    // A field without a name, or with another, is the same value.
                    (Type::Struct(from), Type::Struct(to)) => {
                        from.len() == to.len() && from.iter().zip(to).all(|((_, from), (_, to))| from == to)
                    }
                    _ => false,
                },
            }
    }

    /// The expression as one of this type, if it becomes this type by itself.
    ///
    /// # Errors
    /// When a literal is no date or timestamp.
    pub(crate) fn coerced(self, of: &Type) -> Result<Result<Self, Self>, Status> {
        if !self.becomes(of) {
            return Ok(Err(self));
        }
        if self.of == *of && self.form != Form::Null {
            return Ok(Ok(self));
        }
        let expr = match (self.form, self.expr) {
            (Form::Texts | Form::Numbers, Expr::Array(elements)) => {
                let (Type::Array(element), Type::Array(from)) = (of, &self.of) else {
                    return Ok(Ok(Self::new(Expr::Array(elements), of.clone())));
                };
                let form = if self.form == Form::Texts { Form::Text } else { Form::Number };
                let mut coerced = Vec::with_capacity(elements.len());
                for expr in elements {
                    let literal = Self { expr, of: (**from).clone(), form };
                    coerced.push(literal.coerced(element)?.unwrap_or_else(|same| same).expr);
                }
                Expr::Array(coerced)
            }
            (Form::Text, Expr::Literal(Value::Text(text))) => {
                let wrong = || invalid(format!("Could not cast literal \"{text}\" to type {of}"));
                Expr::Literal(match of {
                    Type::Bytes => Value::Bytes(as_bytes(&text)),
                    Type::Date => time::parse_date(&text).map(Value::Date).ok_or_else(wrong)?,
                    _ => match time::parse_timestamp(&text, None) {
                        Ok(micros) => Value::Timestamp(micros),
                        Err(status) if status.code() == Code::OutOfRange => return Err(wrong()),
                        Err(status) => return Err(status),
                    },
                })
            }
            (Form::Null | Form::EmptyArray, expr) => expr,
            #[expect(clippy::cast_possible_truncation, reason = "the nearest FLOAT32, as in SQL")]
            (_, expr) if *of == Type::Float32 => {
                Expr::Strict(Box::new(|values| Ok(Value::Float32(values[0].float() as f32))), vec![expr])
            }
            (_, expr) if *of == Type::Float64 => {
                Expr::Strict(Box::new(|values| Ok(Value::Float64(values[0].float()))), vec![expr])
            }
            (_, expr) => expr,
        };
        Ok(Ok(Self::new(expr, of.clone())))
    }
}

/// The type that all of these become, if there is one.
pub(crate) fn common_type(all: &[Typed]) -> Option<Type> {
    // A value decides before a literal, and a literal before NULL.
    let rank = |typed: &&Typed| match typed.form {
        Form::Value => 0,
        Form::Text | Form::Number | Form::Texts | Form::Numbers => 1,
        Form::EmptyArray => 2,
        Form::Null => 3,
    };
    let mut candidates: Vec<&Typed> = all.iter().collect();
    candidates.sort_by_key(rank);
    let fits = |of: &Type| all.iter().all(|typed| typed.becomes(of));
    let found = candidates.iter().map(|typed| &typed.of).find(|of| fits(of));
    found.cloned().or_else(|| fits(&Type::Float64).then_some(Type::Float64))
}

/// The expressions, converted to their common type, and this type. `Err` has them unchanged: they have no common type.
type Unified = Result<(Vec<Typed>, Type), Vec<Typed>>;

/// These as expressions of one type.
///
/// # Errors
/// As [`Typed::coerced`].
pub(crate) fn unified(all: Vec<Typed>) -> Result<Unified, Status> {
    let Some(of) = common_type(&all) else { return Ok(Err(all)) };
    let mut unified = Vec::with_capacity(all.len());
    for typed in all {
        // Each becomes the common type.
        unified.push(typed.coerced(&of)?.unwrap_or_else(|same| same));
    }
    Ok(Ok((unified, of)))
}

/// The types of arguments, for errors: `BYTES, STRING`.
pub(crate) fn type_list(arguments: &[Typed]) -> String {
    let name =
        |typed: &Typed| if typed.form == Form::Null { "NULL".to_owned() } else { typed.of.to_string() };
    arguments.iter().map(name).collect::<Vec<_>>().join(", ")
}
