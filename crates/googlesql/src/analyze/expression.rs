//! Expressions: their types, and what they compute.

use sqlparser::ast::{
    self, AccessExpr, ArrayElemTypeDef, BinaryOperator, CastKind, CeilFloorKind, DataType, DateTimeField,
    DuplicateTreatment, Expr as Ast, FunctionArg, FunctionArgExpr, FunctionArgumentClause, FunctionArguments,
    Ident, NullTreatment, Spanned as _, Subscript, TrimWhereField, UnaryOperator, Visit, Visitor,
};
use sqlparser::tokenizer::Location;
use tonic::Status;

use super::{Analyzer, Named, Place, Range, ambiguous, at};
use crate::aggregate::{Aggregate, is_aggregate};
use crate::bits;
use crate::cast::cast;
use crate::error::{checked_types, invalid, invalid_at, out_of_range, unimplemented};
use crate::expr::{Comparison, Expr};
use crate::functions::{self, no_signature, not_comparable};
use crate::parse;
use crate::time::Part;
use crate::typed::{Form, Typed, unified};
use crate::types::Type;
use crate::value::{Value, null_unless_unimplemented};

impl Analyzer<'_> {
    /// The type and value of an expression.
    #[expect(clippy::too_many_lines, reason = "a row for each kind of expression")]
    pub(super) fn expression(&self, ast: &Ast, place: Place<'_>) -> Result<Typed, Status> {
        check_operands(ast)?;
        let one = |ast: &Ast| self.expression(ast, place);
        let all = |all: &[Ast]| all.iter().map(one).collect::<Result<Vec<_>, _>>();
        let start = || ast.span().start;
        Ok(match ast {
            Ast::Identifier(name) if name.value.starts_with('@') && name.quote_style.is_none() => {
                self.parameter(name)?
            }
            Ast::Identifier(name) => self.name(name, place)?,
            Ast::CompoundIdentifier(names) => self.path(names, place)?,
            Ast::CompoundFieldAccess { root, access_chain } => {
                // The names that it begins with may be a relation and its column.
                let mut names: Vec<Ident> = match &**root {
                    Ast::Identifier(name) if name.quote_style.is_some() || !name.value.starts_with('@') => {
                        vec![name.clone()]
                    }
                    Ast::CompoundIdentifier(names) => names.clone(),
                    _ => Vec::new(),
                };
                let mut rest = access_chain.iter().peekable();
                while !names.is_empty()
                    && let Some(AccessExpr::Dot(Ast::Identifier(name))) = rest.peek()
                {
                    names.push(name.clone());
                    rest.next();
                }
                let mut value = match &names[..] {
                    [] => one(root)?,
                    [name] => self.name(name, place)?,
                    names => self.path(names, place)?,
                };
                for access in rest {
                    value = match access {
                        AccessExpr::Dot(Ast::Identifier(name)) => field(value, name)?,
                        AccessExpr::Subscript(Subscript::Index { index }) => {
                            self.subscript(value, index, place)?
                        }
                        other => return Err(unimplemented(format!("the access `{other}`"))),
                    };
                }
                value
            }
            Ast::Nested(inner) => {
                // Parentheses keep what a literal may become.
                one(inner)?
            }
            Ast::Value(value) => match parse::literal(&value.value)? {
                None => Typed::null(),
                Some((value, of)) => {
                    let form = match of {
                        Type::Text => Form::Text,
                        Type::Int64 | Type::Float64 => Form::Number,
                        _ => Form::Value,
                    };
                    Typed { expr: Expr::Literal(value), of, form }
                }
            },
            Ast::TypedString(typed) => {
                let to = self.data_type(&typed.data_type)?;
                let literal = one(&Ast::Value(typed.value.clone()))?;
                match literal.coerced(&to)? {
                    Ok(literal) if matches!(to, Type::Date | Type::Timestamp) => literal,
                    _ => return Err(unimplemented(format!("the literal {typed}"))),
                }
            }
            Ast::IsNull(operand) => Typed::new(Expr::IsNull(Box::new(one(operand)?.expr)), Type::Bool),
            Ast::IsNotNull(operand) => {
                not(Typed::new(Expr::IsNull(Box::new(one(operand)?.expr)), Type::Bool))
            }
            Ast::IsTrue(operand) => self.is_bool(one(operand)?, true, start())?,
            Ast::IsFalse(operand) => self.is_bool(one(operand)?, false, start())?,
            Ast::IsNotTrue(operand) => not(self.is_bool(one(operand)?, true, start())?),
            Ast::IsNotFalse(operand) => not(self.is_bool(one(operand)?, false, start())?),
            Ast::InList { expr, list, negated } => {
                let mut operands = vec![one(expr)?];
                operands.extend(all(list)?);
                let found = match unified(operands)? {
                    Ok((operands, of)) if of.is_ordered() => {
                        let mut exprs = operands.into_iter().map(|typed| typed.expr);
                        let operand = exprs.next().unwrap_or(Expr::Literal(Value::Null));
                        Typed::new(Expr::In(Box::new(operand), exprs.collect()), Type::Bool)
                    }
                    Ok((operands, _)) | Err(operands) => {
                        return Err(not_comparable("operator IN", &operands, start()));
                    }
                };
                if *negated { not(found) } else { found }
            }
            Ast::InUnnest { expr, array_expr, negated } => {
                let (value, array) = (one(expr)?, one(array_expr)?);
                // A value decides before literals in the array, and a literal after them.
                let array = match (value.form, array.form) {
                    (Form::Value, _) | (_, Form::EmptyArray) => {
                        array.coerced(&Type::array(value.of.clone()))?.unwrap_or_else(|same| same)
                    }
                    _ => array,
                };
                let element = match &array.of {
                    Type::Array(element) if element.is_ordered() => (**element).clone(),
                    Type::Array(element) if matches!(**element, Type::Struct(_)) => {
                        return Err(unimplemented(format!("comparisons of {element}")));
                    }
                    _ => return Err(no_signature("operator IN UNNEST", &[value, array], start())),
                };
                let value = match value.coerced(&element)? {
                    Ok(value) => value,
                    Err(value) => return Err(no_signature("operator IN UNNEST", &[value, array], start())),
                };
                let contains = |values: &[Value]| {
                    let [value, array] = values else { return Ok(Value::Null) };
                    if array.elements().is_empty() {
                        return Ok(Value::Bool(false));
                    }
                    let list = array.elements().iter().map(|each| Expr::Literal(each.clone())).collect();
                    Expr::In(Box::new(Expr::Literal(value.clone())), list).value(&[])
                };
                let found =
                    Typed::new(Expr::Lenient(Box::new(contains), vec![value.expr, array.expr]), Type::Bool);
                if *negated { not(found) } else { found }
            }
            Ast::Between { expr, negated, low, high } => {
                let between = match unified(vec![one(expr)?, one(low)?, one(high)?])? {
                    Ok((operands, of)) if of.is_ordered() => between(operands),
                    Ok((operands, _)) | Err(operands) => {
                        return Err(not_comparable("operator BETWEEN", &operands, start()));
                    }
                };
                if *negated { not(between) } else { between }
            }
            Ast::Like { negated, any: false, expr, pattern, escape_char: None } => {
                let like = match unified(vec![one(expr)?, one(pattern)?])? {
                    Ok((operands, of)) if of.is_text_or_bytes() => {
                        let (operand, pattern) = pair(operands);
                        Typed::new(Expr::Like(operand, pattern), Type::Bool)
                    }
                    Ok((operands, _)) | Err(operands) => {
                        return Err(no_signature("operator LIKE", &operands, start()));
                    }
                };
                if *negated { not(like) } else { like }
            }
            Ast::BinaryOp { .. } => self.binary(ast, place)?,
            Ast::UnaryOp { op, expr } => self.unary(*op, expr, place)?,
            // `ARRAY<T>[…]`, as it is written for the parser.
            Ast::Cast { kind: CastKind::DoubleColon, expr, data_type, .. } => {
                let (Ast::Array(array), Type::Array(element)) = (&**expr, self.data_type(data_type)?) else {
                    return Err(unimplemented(format!("the expression `{ast}`")));
                };
                let coerced = |element_ast: &Ast| Self::element(one(element_ast)?, &element, element_ast);
                let elements = array.elem.iter().map(coerced).collect::<Result<_, _>>()?;
                Typed::new(Expr::Array(elements), Type::Array(element))
            }
            Ast::Cast { kind, expr, data_type, array: false, format: None } => {
                let is_safe = match kind {
                    CastKind::Cast => false,
                    CastKind::SafeCast => true,
                    _ => return Err(unimplemented(format!("`{ast}`; write CAST or SAFE_CAST"))),
                };
                cast(one(expr)?, self.data_type(data_type)?, is_safe)?
            }
            Ast::Case { operand, conditions, else_result, .. } => {
                let mut branches = Vec::new();
                let mut results = Vec::new();
                for branch in conditions {
                    let condition = match operand {
                        Some(operand) => {
                            compare(Comparison::Equal, "=", one(operand)?, one(&branch.condition)?, start())?
                        }
                        None => one(&branch.condition)?,
                    };
                    let condition = condition.coerced(&Type::Bool)?.map_err(|other| {
                        invalid_at(
                            format!("a condition of CASE has type {}, and not BOOL", other.of),
                            start(),
                        )
                    })?;
                    branches.push(condition.expr);
                    results.push(one(&branch.result)?);
                }
                results.push(else_result.as_ref().map_or_else(|| Ok(Typed::null()), |result| one(result))?);
                let (mut results, of) =
                    unified(results)?.map_err(|results| no_signature("operator CASE", &results, start()))?;
                let otherwise = results.pop().unwrap_or_else(Typed::null);
                let results = results.into_iter().map(|typed| typed.expr);
                Typed::new(
                    Expr::Case(branches.into_iter().zip(results).collect(), Box::new(otherwise.expr)),
                    of,
                )
            }
            Ast::Array(array) => {
                let elements = all(&array.elem)?;
                if elements.is_empty() {
                    let (expr, of) = (Expr::Array(Vec::new()), Type::array(Type::Int64));
                    return Ok(Typed { expr, of, form: Form::EmptyArray });
                }
                let are = |form: Form| {
                    elements.iter().any(|element| element.form == form)
                        && elements.iter().all(|element| element.form == form || element.form == Form::Null)
                };
                let form = match (are(Form::Text), are(Form::Number)) {
                    (true, _) => Form::Texts,
                    (_, true) => Form::Numbers,
                    _ => Form::Value,
                };
                let (elements, of) = unified(elements)?
                    .map_err(|elements| no_signature("the elements of an array", &elements, start()))?;
                if matches!(of, Type::Array(_)) {
                    return Err(invalid_at("Cannot construct array with element type ARRAY", start()));
                }
                let exprs = elements.into_iter().map(|typed| typed.expr).collect();
                Typed { expr: Expr::Array(exprs), of: Type::array(of), form }
            }
            Ast::Struct { values, fields } if !fields.is_empty() => {
                if values.len() != fields.len() {
                    return Err(invalid_at(
                        "STRUCT constructor has another number of values than its type",
                        start(),
                    ));
                }
                let mut of = Vec::with_capacity(fields.len());
                let mut exprs = Vec::with_capacity(fields.len());
                for (value, field) in values.iter().zip(fields) {
                    let (name, field_type) = self.struct_field(field)?;
                    exprs.push(Self::element(one(value)?, &field_type, value)?);
                    of.push((name, field_type));
                }
                Typed::new(Expr::Struct(exprs), Type::Struct(of))
            }
            Ast::Struct { values, .. } => {
                let mut of = Vec::new();
                let mut exprs = Vec::new();
                let mut types = 0;
                for value in values {
                    let (name, value) = match value {
                        Ast::Named { expr, name } => (name.value.clone(), &**expr),
                        value => (super::implied_name(value), value),
                    };
                    let typed = one(value)?;
                    of.push((name, typed.of));
                    exprs.push(typed.expr);
                    types += of.last().map_or(0, |(_, of)| of.count());
                    checked_types(types)?;
                }
                Typed::new(Expr::Struct(exprs), Type::Struct(of))
            }
            // A struct whose fields have no names.
            Ast::Tuple(values) => {
                let (exprs, of) =
                    all(values)?.into_iter().map(|typed| (typed.expr, (String::new(), typed.of))).unzip();
                Typed::new(Expr::Struct(exprs), Type::Struct(of))
            }
            Ast::Function(function) => self.function(function, place)?,
            Ast::Substring { expr, substring_from, substring_for, .. } => {
                let mut arguments = vec![one(expr)?];
                for argument in [substring_from, substring_for].into_iter().flatten() {
                    arguments.push(one(argument)?);
                }
                functions::call("SUBSTR", arguments, start(), self.now)?
            }
            Ast::Trim { trim_where, trim_what: None, expr, trim_characters } => {
                let name = match trim_where {
                    None | Some(TrimWhereField::Both) => "TRIM",
                    Some(TrimWhereField::Leading) => "LTRIM",
                    Some(TrimWhereField::Trailing) => "RTRIM",
                };
                let mut arguments = vec![one(expr)?];
                arguments.extend(all(trim_characters.as_deref().unwrap_or_default())?);
                functions::call(name, arguments, start(), self.now)?
            }
            Ast::Ceil { expr, field: CeilFloorKind::DateTimeField(DateTimeField::NoDateTime) } => {
                functions::call("CEIL", vec![one(expr)?], start(), self.now)?
            }
            Ast::Floor { expr, field: CeilFloorKind::DateTimeField(DateTimeField::NoDateTime) } => {
                functions::call("FLOOR", vec![one(expr)?], start(), self.now)?
            }
            Ast::Extract { field, expr, .. } => {
                let operands = match &**expr {
                    Ast::AtTimeZone { timestamp, time_zone } => vec![one(timestamp)?, one(time_zone)?],
                    time => vec![one(time)?],
                };
                match &field.to_string().to_ascii_uppercase()[..] {
                    "DATE" => functions::call("DATE", operands, start(), self.now)?,
                    name => functions::time_part_call("EXTRACT", operands, time_part(name)?, start())?,
                }
            }
            Ast::Subquery(_) | Ast::Exists { .. } | Ast::InSubquery { .. } => {
                return Err(unimplemented("subqueries in expressions"));
            }
            other => return Err(unimplemented(format!("the expression `{other}`"))),
        })
    }

    /// An expression of the SELECT list or of ORDER BY, which may be one of GROUP BY. A part of it may not, unless it is a path.
    pub(super) fn whole(&self, ast: &Ast, place: Place<'_>) -> Result<Typed, Status> {
        if let Some(grouping) = place.grouping
            && let Some(key) = grouping.key(ast, place)
        {
            return Ok(Typed::new(Expr::Column(key), grouping.keys[key].typed.of.clone()));
        }
        let typed = self.expression(ast, place);
        if typed.is_err() && place.grouping.is_some_and(|grouping| grouping.resembles(ast, place)) {
            return Err(unimplemented(format!(
                "`{ast}` as an expression of GROUP BY with literals of other types"
            )));
        }
        typed
    }

    /// A value where the type of an array or a struct says what it is.
    fn element(value: Typed, of: &Type, ast: &Ast) -> Result<Expr, Status> {
        match value.coerced(of)? {
            Ok(typed) => Ok(typed.expr),
            Err(Typed { of: found @ Type::Struct(_), .. }) if matches!(of, Type::Struct(_)) => {
                Err(unimplemented(format!("a {found} where a {of} is needed")))
            }
            Err(other) => Err(invalid_at(
                format!("an expression of type {} does not coerce to {of}", other.of),
                ast.span().start,
            )),
        }
    }

    /// A parameter. Unlike a literal, it does not become another type by itself.
    fn parameter(&self, name: &Ident) -> Result<Typed, Status> {
        let sought = name.value[1..].to_ascii_lowercase();
        if sought.starts_with('@') {
            return Err(unimplemented("system variables"));
        }
        let found = self.parameters.get(&sought);
        let (of, value) =
            found.ok_or_else(|| invalid_at(format!("Query parameter '{sought}' not found"), at(name)))?;
        Ok(Typed::new(Expr::Literal(value.clone()), of.clone()))
    }

    /// A name: one of the SELECT list where these count, or else a column, or the value of an UNNEST, which is a column too.
    fn name(&self, name: &Ident, place: Place<'_>) -> Result<Typed, Status> {
        if let Some(named) = place.alias(name)? {
            let place = Place { aliases: &[], ..place };
            return match named {
                Named::Expr(expr) if place.grouping.is_none() && has_aggregate(expr) => {
                    Err(invalid_at("Aggregations of aggregations are not allowed", at(name)))
                }
                Named::Expr(expr) => self.whole(expr, place),
                Named::Field(value, field) => {
                    let value = self.expression(value, place)?;
                    let Type::Struct(fields) = &value.of else { return Err(invalid("fields of no struct")) };
                    let of = fields[*field].1.clone();
                    Ok(Typed::new(Expr::Field(Box::new(value.expr), *field), of))
                }
                Named::Column(column, of) => {
                    let column = Typed::new(Expr::Column(*column), of.clone());
                    grouped(column, &name.value, at(name), place)
                }
            };
        }
        match place.scope.column(name)? {
            Some(column) => grouped(column, &name.value, at(name), place),
            None if place.scope.relation(&name.value).is_some() => {
                Err(unimplemented(format!("the name `{}` of a relation as a value", name.value)))
            }
            None => Err(invalid_at(format!("Unrecognized name: {}", name.value), at(name))),
        }
    }

    /// Names with dots: a column of a relation, or a field of a column.
    fn path(&self, names: &[Ident], place: Place<'_>) -> Result<Typed, Status> {
        let [first, second, rest @ ..] = names else { return Err(invalid("an empty name")) };
        if place.alias(first)?.is_some() {
            let value = self.name(first, place)?;
            return names[1..].iter().try_fold(value, field);
        }
        if let Some(grouping) = place.grouping {
            for count in (2..=names.len()).rev() {
                if let Some(key) = grouping.key(&Ast::CompoundIdentifier(names[..count].to_vec()), place) {
                    let value = Typed::new(Expr::Column(key), grouping.keys[key].typed.of.clone());
                    return names[count..].iter().try_fold(value, field);
                }
            }
        }
        // A field of an UNNEST is the column of its name, unless the whole struct is grouped by.
        let is_named = |range: &&Range| {
            range.is_unnested_struct() && range.columns[0].name.eq_ignore_ascii_case(&first.value)
        };
        if let Some(range) = place.scope.relations.iter().find(is_named)
            && let [found] = range.places(&second.value)[..]
            && let Ok(column) = grouped(range.column(found), &second.value, at(second), place)
        {
            return rest.iter().try_fold(column, field);
        }
        if place.scope.column(first)?.is_none()
            && let Some(range) = place.scope.relation(&first.value)
        {
            let column = match range.places(&second.value)[..] {
                [] => {
                    return Err(invalid_at(
                        format!("Name {} not found inside {}", second.value, first.value),
                        at(second),
                    ));
                }
                [found] => range.column(found),
                _ => return Err(ambiguous(second)),
            };
            let column = grouped(column, &second.value, at(second), place)?;
            return rest.iter().try_fold(column, field);
        }
        let column = self.name(first, place)?;
        names[1..].iter().try_fold(column, field)
    }

    /// `map['key']`, `array[0]`, and `array[OFFSET(0)]` and its like.
    fn subscript(&self, value: Typed, index: &Ast, place: Place<'_>) -> Result<Typed, Status> {
        let (name, inner) = match index {
            Ast::Function(function) => {
                match (&function.name.to_string().to_ascii_uppercase()[..], &function.args) {
                    (
                        name @ ("OFFSET" | "ORDINAL" | "SAFE_OFFSET" | "SAFE_ORDINAL" | "KEY" | "SAFE_KEY"),
                        FunctionArguments::List(list),
                    ) => match &list.args[..] {
                        [FunctionArg::Unnamed(FunctionArgExpr::Expr(inner))] => (name.to_owned(), inner),
                        _ => {
                            return Err(invalid_at(
                                format!("Subscript access using [{name}()] takes one argument"),
                                index.span().start,
                            ));
                        }
                    },
                    _ => (String::new(), index),
                }
            }
            index => (String::new(), index),
        };
        let typed = self.expression(inner, place)?;
        let wrong =
            |value: Typed, index: Typed| no_signature("operator []", &[value, index], inner.span().start);
        match value.of.clone() {
            Type::Map(key, of) if matches!(&name[..], "" | "SAFE_KEY" | "KEY") => {
                match typed.coerced(&key)? {
                    // A missing key is an error with KEY alone, which the pages do not show.
                    Ok(_) if name == "KEY" => {
                        Err(unimplemented("the subscript KEY(…); write the key itself"))
                    }
                    Ok(key) => Ok(Typed::new(Expr::Entry(Box::new(value.expr), Box::new(key.expr)), *of)),
                    Err(key) => Err(wrong(value, key)),
                }
            }
            Type::Array(of) if !name.ends_with("KEY") => match typed.coerced(&Type::Int64)? {
                Ok(index) => Ok(Typed::new(
                    Expr::Element {
                        array: Box::new(value.expr),
                        index: Box::new(index.expr),
                        from: i64::from(name.ends_with("ORDINAL")),
                        is_safe: name.starts_with("SAFE_"),
                    },
                    *of,
                )),
                Err(index) => Err(wrong(value, index)),
            },
            _ => Err(wrong(value, typed)),
        }
    }

    fn is_bool(&self, operand: Typed, expected: bool, at: Location) -> Result<Typed, Status> {
        let operand =
            operand.coerced(&Type::Bool)?.map_err(|other| no_signature("operator IS", &[other], at))?;
        let is = move |values: &[Value]| Ok(Value::Bool(values[0] == Value::Bool(expected)));
        Ok(Typed::new(Expr::Lenient(Box::new(is), vec![operand.expr]), Type::Bool))
    }

    /// Operators with two operands. A chain of them, which the parser nests to the left, is taken without recursion.
    fn binary(&self, ast: &Ast, place: Place<'_>) -> Result<Typed, Status> {
        let mut chain = Vec::new();
        let mut first = ast;
        while let Ast::BinaryOp { left, op, right } = first {
            check_operands(first)?;
            chain.push((op, &**right));
            first = left;
        }
        let is_logical = |op: &BinaryOperator| matches!(op, BinaryOperator::And | BinaryOperator::Or);
        let mut value = self.expression(first, place)?;
        let mut chain = chain.into_iter().rev().peekable();
        while let Some((op, right)) = chain.next() {
            let start = right.span().start;
            if !is_logical(op) {
                value = operate(op, value, self.expression(right, place)?, start)?;
                continue;
            }
            let mut operands = vec![value, self.expression(right, place)?];
            while let Some((_, right)) = chain.next_if(|(next, _)| *next == op) {
                operands.push(self.expression(right, place)?);
            }
            let mut exprs = Vec::with_capacity(operands.len());
            for operand in operands {
                match operand.coerced(&Type::Bool)? {
                    Ok(operand) => exprs.push(operand.expr),
                    Err(other) => return Err(no_signature(&format!("operator {op}"), &[other], start)),
                }
            }
            let expr = if *op == BinaryOperator::And { Expr::And(exprs) } else { Expr::Or(exprs) };
            value = Typed::new(expr, Type::Bool);
        }
        Ok(value)
    }

    fn unary(&self, op: UnaryOperator, operand: &Ast, place: Place<'_>) -> Result<Typed, Status> {
        let start = operand.span().start;
        // The least INT64 is a literal too.
        if let (UnaryOperator::Minus, Ast::Value(value)) = (op, operand)
            && let ast::Value::Number(digits, _) = &value.value
            && digits == "9223372036854775808"
        {
            return Ok(Typed {
                expr: Expr::Literal(Value::Int64(i64::MIN)),
                of: Type::Int64,
                form: Form::Number,
            });
        }
        if op == UnaryOperator::BitwiseNot && matches!(operand, Ast::BinaryOp { .. }) {
            // The parser takes a product as the operand.
            return Err(unimplemented("`~` before an operand of another operator; write parentheses"));
        }
        let typed = self.expression(operand, place)?;
        let form = typed.form;
        Ok(match op {
            UnaryOperator::BitwiseNot => bits::not(typed, start)?,
            UnaryOperator::Not => match typed.coerced(&Type::Bool)? {
                Ok(operand) => not(operand),
                Err(other) => return Err(no_signature("operator NOT", &[other], start)),
            },
            UnaryOperator::Plus if typed.of.is_number() => typed,
            UnaryOperator::Minus if typed.of.is_number() => {
                let of = typed.of.clone();
                let negated = Typed::strict(of, vec![typed], |values| {
                    Ok(match &values[0] {
                        Value::Int64(number) => Value::Int64(
                            number
                                .checked_neg()
                                .ok_or_else(|| out_of_range(format!("int64 overflow: -({number})")))?,
                        ),
                        Value::Float32(number) => Value::Float32(-number),
                        number => Value::Float64(-number.float()),
                    })
                });
                match form {
                    Form::Number => Typed { expr: Expr::Literal(negated.expr.value(&[])?), form, ..negated },
                    _ => negated,
                }
            }
            UnaryOperator::Plus | UnaryOperator::Minus => {
                return Err(no_signature(&format!("operator {op}"), &[typed], start));
            }
            op => return Err(unimplemented(format!("the operator {op}"))),
        })
    }

    fn function(&self, function: &ast::Function, place: Place<'_>) -> Result<Typed, Status> {
        let written = function.name.to_string();
        let start = function.name.0.first().map_or(Location::new(0, 0), |part| part.span().start);
        let upper = written.to_ascii_uppercase();
        let (name, is_safe) = match upper.strip_prefix("SAFE.") {
            Some(name) => (name, true),
            None => (&upper[..], false),
        };
        let ast::Function {
            uses_odbc_syntax: _,
            parameters,
            args,
            filter,
            null_treatment,
            over,
            within_group,
            ..
        } = function;
        if !matches!(parameters, FunctionArguments::None) || filter.is_some() || !within_group.is_empty() {
            return Err(unimplemented(format!("the clauses of `{function}`")));
        }
        if over.is_some() {
            return Err(unimplemented("OVER"));
        }
        let (arguments, duplicates, clauses) = match args {
            FunctionArguments::List(list) => (&list.args[..], list.duplicate_treatment, &list.clauses[..]),
            FunctionArguments::None => (&[][..], None, &[][..]),
            FunctionArguments::Subquery(_) => return Err(unimplemented(format!("the subquery of {name}"))),
        };
        let mut ignores_null = *null_treatment == Some(NullTreatment::IgnoreNulls);
        for clause in clauses {
            match clause {
                FunctionArgumentClause::IgnoreOrRespectNulls(treatment) => {
                    ignores_null = *treatment == NullTreatment::IgnoreNulls;
                }
                other => return Err(unimplemented(format!("`{other}` in {name}"))),
            }
        }
        functions::check_served(name)?;
        if is_aggregate(name) && is_safe {
            return Err(unimplemented(format!("SAFE.{name}")));
        }
        if is_aggregate(name) {
            let is_distinct = duplicates == Some(DuplicateTreatment::Distinct);
            return self.aggregate(name, arguments, is_distinct, ignores_null, start, place);
        }
        if duplicates.is_some() || !clauses.is_empty() {
            return Err(invalid_at(format!("{name} is no aggregate function"), start));
        }
        let mut exprs = Vec::with_capacity(arguments.len());
        for argument in arguments {
            match argument {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => exprs.push(expr),
                FunctionArg::Unnamed(_) => {
                    return Err(invalid_at(format!("* is no argument of {name}"), start));
                }
                _ => return Err(unimplemented(format!("named arguments of {name}"))),
            }
        }
        let all = |exprs: &[&Ast]| -> Result<Vec<Typed>, Status> {
            exprs.iter().map(|expr| self.expression(expr, place)).collect()
        };
        let part = functions::time_part_place(name).filter(|part| *part < exprs.len());
        let typed = match part.map(|part| (exprs.remove(part), part)) {
            Some((Ast::Interval(interval), 1)) if functions::takes_interval(name) => {
                let unit = interval.leading_field.as_ref().map(ToString::to_string).unwrap_or_default();
                exprs.push(&interval.value);
                functions::time_part_call(name, all(&exprs)?, time_part(&unit)?, start)?
            }
            Some((part @ (Ast::Identifier(_) | Ast::Function(_)), _)) if !functions::takes_interval(name) => {
                functions::time_part_call(name, all(&exprs)?, time_part(&part.to_string())?, start)?
            }
            Some((other, _)) => {
                return Err(invalid_at(format!("`{other}` is no part of a time for {name}"), start));
            }
            None => functions::call(name, all(&exprs)?, start, self.now)?,
        };
        Ok(match typed.expr {
            Expr::Strict(function, arguments) if is_safe => {
                let safe = move |values: &[Value]| function(values).or_else(null_unless_unimplemented);
                Typed { expr: Expr::Strict(Box::new(safe), arguments), ..typed }
            }
            _ if is_safe => return Err(unimplemented(format!("SAFE.{name}"))),
            expr => Typed { expr, ..typed },
        })
    }

    fn aggregate(
        &self,
        name: &str,
        arguments: &[FunctionArg],
        is_distinct: bool,
        ignores_null: bool,
        at: Location,
        place: Place<'_>,
    ) -> Result<Typed, Status> {
        let Some(grouping) = place.grouping else {
            return Err(invalid_at(format!("Aggregate function {name} not allowed here"), at));
        };
        let (aggregate, of) = match arguments {
            [FunctionArg::Unnamed(FunctionArgExpr::Wildcard)] if name == "COUNT" && !is_distinct => {
                Aggregate::count_rows()
            }
            arguments => {
                let input = Place { grouping: None, ..place };
                let mut typed = Vec::with_capacity(arguments.len());
                for argument in arguments {
                    match argument {
                        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => {
                            typed.push(self.expression(expr, input)?);
                        }
                        other => return Err(invalid_at(format!("`{other}` is no argument of {name}"), at)),
                    }
                }
                Aggregate::new(name, typed, is_distinct, ignores_null, at)?
            }
        };
        let mut aggregates = grouping.aggregates.borrow_mut();
        aggregates.push(aggregate);
        Ok(Typed::new(Expr::Column(grouping.keys.len() + aggregates.len() - 1), of))
    }

    /// The name and the type of a field in the type of a struct.
    fn struct_field(&self, field: &ast::StructField) -> Result<(String, Type), Status> {
        let name = field.field_name.as_ref().map(|name| name.value.clone());
        Ok((name.unwrap_or_default(), self.data_type(&field.field_type)?))
    }

    fn data_type(&self, of: &DataType) -> Result<Type, Status> {
        Ok(match of {
            DataType::Bytes(None) => Type::Bytes,
            DataType::String(None) => Type::Text,
            DataType::Int64 => Type::Int64,
            DataType::Float32 => Type::Float32,
            DataType::Float64 => Type::Float64,
            DataType::Bool | DataType::Boolean => Type::Bool,
            DataType::Date => Type::Date,
            DataType::Timestamp(None, _) => Type::Timestamp,
            DataType::Array(ArrayElemTypeDef::AngleBracket(element)) => match self.data_type(element)? {
                Type::Array(_) => return Err(invalid("Arrays of arrays are not supported")),
                element => Type::array(element),
            },
            DataType::Struct(fields, _) => {
                Type::Struct(fields.iter().map(|field| self.struct_field(field)).collect::<Result<_, _>>()?)
            }
            // The types of protocol buffers have paths as names.
            DataType::Custom(name, _) if name.0.len() > 1 => {
                return Err(unimplemented(format!("the type {name} of a schema bundle")));
            }
            DataType::Custom(name, _) => return Err(invalid(format!("Type not found: {name}"))),
            other => return Err(unimplemented(format!("the type {other}"))),
        })
    }
}

/// The column of the groups for a column of their rows.
pub(super) fn grouped(column: Typed, name: &str, at: Location, place: Place<'_>) -> Result<Typed, Status> {
    let Some(grouping) = place.grouping else { return Ok(column) };
    let is_same = |key: &Typed| matches!((&key.expr, &column.expr), (Expr::Column(left), Expr::Column(right)) if left == right);
    match grouping.keys.iter().position(|key| is_same(&key.typed)) {
        Some(key) => Ok(Typed::new(Expr::Column(key), column.of)),
        None => Err(invalid_at(
            format!(
                "SELECT list expression references column {name} which is neither grouped nor aggregated"
            ),
            at,
        )),
    }
}

/// A field of a struct.
fn field(value: Typed, name: &Ident) -> Result<Typed, Status> {
    match &value.of {
        Type::Struct(fields) => {
            let mut found =
                (0..fields.len()).filter(|place| fields[*place].0.eq_ignore_ascii_case(&name.value));
            match (found.next(), found.next()) {
                (Some(place), None) => {
                    let of = fields[place].1.clone();
                    Ok(Typed::new(Expr::Field(Box::new(value.expr), place), of))
                }
                (Some(_), Some(_)) => {
                    Err(invalid_at(format!("Struct field name {} is ambiguous", name.value), at(name)))
                }
                (None, _) => Err(invalid_at(
                    format!("Field name {} does not exist in {}", name.value, value.of),
                    at(name),
                )),
            }
        }
        Type::Map(..) => Err(invalid_at(
            format!("Cannot access field {0} on a value with type {1}; write ['{0}']", name.value, value.of),
            at(name),
        )),
        Type::Array(element) if matches!(**element, Type::Struct(_)) => {
            Err(unimplemented(format!("the field {} of the elements of an array", name.value)))
        }
        of => {
            Err(invalid_at(format!("Cannot access field {} on a value with type {of}", name.value), at(name)))
        }
    }
}

/// Rejects a NULL without a type as an operand of anything but AND and OR, and a comparison as one of another: without parentheses, they do
/// not associate.
fn check_operands(ast: &Ast) -> Result<(), Status> {
    let (op, operands) = match ast {
        Ast::BinaryOp { op: BinaryOperator::And | BinaryOperator::Or, .. } => (String::new(), vec![]),
        Ast::BinaryOp { left, op, right } => (op.to_string(), vec![left, right]),
        Ast::Like { expr, pattern, .. } => ("LIKE".to_owned(), vec![expr, pattern]),
        Ast::UnaryOp { op, expr } => (op.to_string(), vec![expr]),
        _ => (String::new(), vec![]),
    };
    if let Some(operand) = operands.into_iter().find(|operand| is_null_literal(operand)) {
        return Err(invalid_at(format!("Operands of {op} cannot be literal NULL"), operand.span().start));
    }
    let operands = match ast {
        Ast::BinaryOp { left, op, right } if comparison(op).is_some() => vec![left, right],
        Ast::Like { expr, pattern, .. } => vec![expr, pattern],
        Ast::Between { expr, low, high, .. } => vec![expr, low, high],
        Ast::InList { expr, .. } | Ast::InUnnest { expr, .. } => vec![expr],
        Ast::IsNull(operand)
        | Ast::IsNotNull(operand)
        | Ast::IsTrue(operand)
        | Ast::IsNotTrue(operand)
        | Ast::IsFalse(operand)
        | Ast::IsNotFalse(operand) => vec![operand],
        _ => return Ok(()),
    };
    match operands.into_iter().find(|operand| is_comparison(operand)) {
        Some(operand) => Err(invalid_at(
            format!("Syntax error: comparisons do not associate; write ({operand})"),
            operand.span().start,
        )),
        None => Ok(()),
    }
}

fn is_null_literal(ast: &Ast) -> bool {
    match ast {
        Ast::Nested(inner) => is_null_literal(inner),
        Ast::Value(value) => value.value == ast::Value::Null,
        _ => false,
    }
}

fn is_comparison(ast: &Ast) -> bool {
    match ast {
        Ast::BinaryOp { op, .. } => comparison(op).is_some(),
        Ast::Like { .. }
        | Ast::Between { .. }
        | Ast::InList { .. }
        | Ast::InUnnest { .. }
        | Ast::IsNull(_)
        | Ast::IsNotNull(_)
        | Ast::IsTrue(_)
        | Ast::IsNotTrue(_)
        | Ast::IsFalse(_)
        | Ast::IsNotFalse(_) => true,
        _ => false,
    }
}

/// The comparison of an operator.
fn comparison(op: &BinaryOperator) -> Option<Comparison> {
    Some(match op {
        BinaryOperator::Eq => Comparison::Equal,
        BinaryOperator::NotEq => Comparison::NotEqual,
        BinaryOperator::Lt => Comparison::Less,
        BinaryOperator::LtEq => Comparison::LessOrEqual,
        BinaryOperator::Gt => Comparison::Greater,
        BinaryOperator::GtEq => Comparison::GreaterOrEqual,
        _ => return None,
    })
}

fn not(operand: Typed) -> Typed {
    Typed::new(Expr::Not(Box::new(operand.expr)), Type::Bool)
}

fn pair(operands: Vec<Typed>) -> (Box<Expr>, Box<Expr>) {
    let mut exprs = operands.into_iter().map(|typed| Box::new(typed.expr));
    let mut next = || exprs.next().unwrap_or_else(|| Box::new(Expr::Literal(Value::Null)));
    (next(), next())
}

/// `low <= value AND value <= high`, of a value that is computed once.
fn between(operands: Vec<Typed>) -> Typed {
    let at_most = |left: &Value, right: &Value| {
        (!left.is_null() && !right.is_null())
            .then(|| left.compare(right).is_some_and(std::cmp::Ordering::is_le))
    };
    let is_between = move |values: &[Value]| {
        let [value, low, high] = values else { return Ok(Value::Null) };
        Ok(match (at_most(low, value), at_most(value, high)) {
            (Some(false), _) | (_, Some(false)) => Value::Bool(false),
            (Some(true), Some(true)) => Value::Bool(true),
            _ => Value::Null,
        })
    };
    let exprs = operands.into_iter().map(|typed| typed.expr).collect();
    Typed::new(Expr::Lenient(Box::new(is_between), exprs), Type::Bool)
}

fn compare(
    comparison: Comparison,
    name: &str,
    left: Typed,
    right: Typed,
    at: Location,
) -> Result<Typed, Status> {
    match unified(vec![left, right])? {
        Ok((operands, of)) if of.is_ordered() => {
            let (left, right) = pair(operands);
            Ok(Typed::new(Expr::Compare(comparison, left, right), Type::Bool))
        }
        Ok((operands, _)) | Err(operands) => Err(not_comparable(&format!("operator {name}"), &operands, at)),
    }
}

/// An operator of two operands, other than AND and OR.
fn operate(op: &BinaryOperator, left: Typed, right: Typed, at: Location) -> Result<Typed, Status> {
    if let Some(comparison) = comparison(op) {
        let name = if comparison == Comparison::NotEqual { "!=".to_owned() } else { op.to_string() };
        return compare(comparison, &name, left, right, at);
    }
    if *op == BinaryOperator::StringConcat {
        return match unified(vec![left, right])? {
            Ok((operands, Type::Array(element))) => {
                Ok(Typed::strict(Type::Array(element), operands, |values| {
                    Ok(Value::Array([values[0].elements(), values[1].elements()].concat()))
                }))
            }
            Ok((operands, of)) if of.is_text_or_bytes() => functions::call("CONCAT", operands, at, 0),
            Ok((operands, _)) | Err(operands) => Err(no_signature("operator ||", &operands, at)),
        };
    }
    // A DATE and a number of days.
    if matches!(
        (&left.of, &right.of, op),
        (Type::Date, Type::Int64, BinaryOperator::Plus | BinaryOperator::Minus)
    ) && left.form == Form::Value
    {
        let name = if *op == BinaryOperator::Plus { "DATE_ADD" } else { "DATE_SUB" };
        return functions::time_part_call(name, vec![left, right], Part::Day, at);
    }
    if matches!((&left.of, &right.of, op), (Type::Int64, Type::Date, BinaryOperator::Plus)) {
        return functions::time_part_call("DATE_ADD", vec![right, left], Part::Day, at);
    }
    if *op == BinaryOperator::Minus && left.of == right.of && matches!(left.of, Type::Date | Type::Timestamp)
    {
        return Err(unimplemented(format!("the difference of two values of {}", left.of)));
    }
    let is_division = *op == BinaryOperator::Divide;
    let calculation: fn(i64, i64) -> Option<i64> = match op {
        BinaryOperator::Plus => i64::checked_add,
        BinaryOperator::Minus => i64::checked_sub,
        BinaryOperator::Multiply => i64::checked_mul,
        BinaryOperator::Divide => |_, _| None,
        BinaryOperator::BitwiseAnd
        | BinaryOperator::BitwiseOr
        | BinaryOperator::BitwiseXor
        | BinaryOperator::PGBitwiseShiftLeft
        | BinaryOperator::PGBitwiseShiftRight => return bits::operate(op, left, right, at),
        other => return Err(unimplemented(format!("the operator {other}"))),
    };
    let sign = match op {
        BinaryOperator::Plus => '+',
        BinaryOperator::Minus => '-',
        BinaryOperator::Multiply => '*',
        _ => '/',
    };
    let (operands, of) = match unified(vec![left, right])? {
        Ok((operands, of)) if of.is_number() => (operands, of),
        Ok((operands, _)) | Err(operands) => {
            return Err(no_signature(&format!("operator {sign}"), &operands, at));
        }
    };
    if of == Type::Int64 && !is_division {
        return Ok(Typed::strict(Type::Int64, operands, move |values| {
            let (left, right) = (values[0].int(), values[1].int());
            let result = calculation(left, right);
            result
                .map(Value::Int64)
                .ok_or_else(|| out_of_range(format!("int64 overflow: {left} {sign} {right}")))
        }));
    }
    Ok(Typed::strict(Type::Float64, operands, move |values| {
        let (left, right) = (values[0].float(), values[1].float());
        let result = match sign {
            '+' => left + right,
            '-' => left - right,
            '*' => left * right,
            _ if right == 0.0 => return Err(out_of_range(format!("division by zero: {left} / {right}"))),
            _ => left / right,
        };
        if result.is_finite() || !left.is_finite() || !right.is_finite() {
            return Ok(Value::Float64(result));
        }
        Err(out_of_range(format!("double overflow: {left} {sign} {right}")))
    }))
}

fn time_part(name: &str) -> Result<Part, Status> {
    Part::of_name(name).ok_or_else(|| unimplemented(format!("the part `{name}` of a time")))
}

/// Whether an expression has a call of an aggregate function.
pub(super) fn has_aggregate(expr: &Ast) -> bool {
    /// How many queries the expression is inside of: their aggregates are their own.
    struct Seeker(usize);
    impl Visitor for Seeker {
        type Break = ();

        fn pre_visit_query(&mut self, _: &ast::Query) -> std::ops::ControlFlow<()> {
            self.0 += 1;
            std::ops::ControlFlow::Continue(())
        }

        fn post_visit_query(&mut self, _: &ast::Query) -> std::ops::ControlFlow<()> {
            self.0 -= 1;
            std::ops::ControlFlow::Continue(())
        }

        fn pre_visit_expr(&mut self, expr: &Ast) -> std::ops::ControlFlow<()> {
            match expr {
                Ast::Function(function)
                    if self.0 == 0
                        && function.over.is_none()
                        && is_aggregate(&function.name.to_string().to_ascii_uppercase()) =>
                {
                    std::ops::ControlFlow::Break(())
                }
                _ => std::ops::ControlFlow::Continue(()),
            }
        }
    }
    expr.visit(&mut Seeker(0)).is_break()
}
