//! What the simplifier must not recognize. Where one condition has two lists, or two equalities, on the same operand, it makes one of
//! them, and forgets that the operand, or a value of the lists, may be NULL. So each operand that may is wrapped in a function of
//! its own, which returns it as it is: no two are the same to the simplifier.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::tree_node::{Transformed, TreeNode as _, TreeNodeRewriter};
use datafusion::common::utils::take_function_args;
use datafusion::common::{DFSchema, Result, ScalarValue, internal_err, plan_err};
use datafusion::logical_expr::{
    Between, BinaryExpr, ColumnarValue, Expr, ExprSchemable as _, Like, Operator, ReturnFieldArgs,
    ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility, expr::InList, lit,
};

/// What the value of an expression is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    /// A row passes if it and the other parts of a conjunction are true.
    Conjunct,
    /// A row passes if it, or another part, is true.
    Disjunct,
    /// NULL and false differ.
    Value,
}

/// Sets apart the operands of an expression; of a condition, only those for which it matters whether it is NULL or false.
pub(super) fn apart(expr: Expr, schema: &DFSchema, is_condition: bool) -> Result<Transformed<Expr>> {
    let role = if is_condition { Role::Conjunct } else { Role::Value };
    expr.rewrite(&mut Apart { schema, roles: vec![role] })
}

/// Rewrites an expression, with the roles of the expressions around the current one.
struct Apart<'s> {
    schema: &'s DFSchema,
    roles: Vec<Role>,
}

impl TreeNodeRewriter for Apart<'_> {
    type Node = Expr;

    fn f_down(&mut self, expr: Expr) -> Result<Transformed<Expr>> {
        let role = self.roles.last().copied().unwrap_or(Role::Value);
        self.roles.push(match &expr {
            Expr::BinaryExpr(BinaryExpr { op: Operator::Or, .. }) if role != Role::Value => Role::Disjunct,
            Expr::BinaryExpr(BinaryExpr { op: Operator::And, .. }) => role,
            _ => Role::Value,
        });
        Ok(Transformed::no(expr))
    }

    fn f_up(&mut self, expr: Expr) -> Result<Transformed<Expr>> {
        self.roles.pop();
        set_apart(expr, self.schema, self.roles.last().copied().unwrap_or(Role::Value))
    }
}

fn set_apart(expr: Expr, schema: &DFSchema, role: Role) -> Result<Transformed<Expr>> {
    use Operator::{Eq, GtEq, LtEq, RegexIMatch, RegexMatch, RegexNotIMatch, RegexNotMatch};
    let unless_null = |of| unless_null(of, schema);
    Ok(Transformed::yes(match expr {
        // DataFusion takes NULL for false, but where a conjunction has `NOT IN` of a query that reads no column of the outer one.
        Expr::InSubquery(of)
            if role == Role::Value
                || of.negated && (role == Role::Disjunct || !of.subquery.outer_ref_columns.is_empty()) =>
        {
            return plan_err!(
                "`IN` before a query is not supported where NULL and false differ, nor `NOT IN` before one that reads a column of the outer one: write `EXISTS` or `NOT EXISTS (SELECT …)`"
            );
        }
        Expr::InList(InList { expr, mut list, negated }) => {
            let is_null = |of: &Expr| constant(of).is_some_and(ScalarValue::is_null);
            if role != Role::Value && !negated && !list.iter().all(is_null) {
                list.retain(|of| !is_null(of));
            }
            let is_plain = list.iter().all(|of| constant(of).is_some_and(|scalar| !scalar.is_null()));
            let expr = match role {
                _ if !is_plain => as_is(*expr).into(),
                Role::Conjunct => expr,
                Role::Disjunct if !negated => expr,
                _ => unless_null(expr),
            };
            Expr::InList(InList { expr, list, negated })
        }
        // Two disjoint alternations of a pattern are lists, too.
        Expr::BinaryExpr(BinaryExpr { left, op, right })
            if match op {
                Eq | GtEq | LtEq | RegexMatch | RegexIMatch => role == Role::Value,
                RegexNotMatch | RegexNotIMatch => role != Role::Conjunct,
                _ => false,
            } =>
        {
            let (left, right) = match (constant(&left), constant(&right)) {
                (None, Some(_)) => (unless_null(left), right),
                (Some(_), None) => (left, unless_null(right)),
                _ => (left, right),
            };
            Expr::BinaryExpr(BinaryExpr { left, op, right })
        }
        Expr::Between(Between { expr, negated, low, high }) if role == Role::Value => {
            Expr::Between(Between { expr: unless_null(expr), negated, low, high })
        }
        Expr::Like(like) if role == Role::Value => Expr::Like(Like { expr: unless_null(like.expr), ..like }),
        expr => expr,
    }))
}

/// The operand, as it is if it may be NULL.
fn unless_null(of: Box<Expr>, schema: &DFSchema) -> Box<Expr> {
    match of.nullable(schema) {
        Ok(false) => of,
        _ => as_is(*of).into(),
    }
}

/// The literal that an expression is, whatever type it is brought to.
fn constant(expr: &Expr) -> Option<&ScalarValue> {
    match expr {
        Expr::Literal(scalar, _) => Some(scalar),
        Expr::Cast(cast) => constant(&cast.expr),
        Expr::Negative(of) => constant(of),
        _ => None,
    }
}

/// The expression, without a form that the simplifier takes for another one: `v ^ v` for 0, and `s ~ '.*'` for `s IS NOT NULL`.
pub(super) fn unrecognized(expr: Expr, schema: &DFSchema) -> Expr {
    use Operator::{BitwiseXor, Eq, RegexIMatch, RegexMatch};
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op: op @ (RegexMatch | RegexIMatch), right }) => {
            Expr::BinaryExpr(BinaryExpr { left, op, right: pattern(*right).into() })
        }
        // The simplifier makes a list of several equalities.
        Expr::BinaryExpr(BinaryExpr { left, op: op @ Eq, right })
            if constant(&left).is_some() != constant(&right).is_some() =>
        {
            let [left, right] = [left, right].map(|of| Box::new(one_zero(*of, schema)));
            Expr::BinaryExpr(BinaryExpr { left, op, right })
        }
        Expr::InList(InList { expr, list, negated }) => {
            let list = list.into_iter().map(|of| one_zero(of, schema)).collect();
            Expr::InList(InList { expr: one_zero(*expr, schema).into(), list, negated })
        }
        Expr::BinaryExpr(BinaryExpr { left, op: op @ BitwiseXor, right }) => {
            let [left, right] = [left, right].map(|of| unless_null(of, schema));
            Expr::BinaryExpr(BinaryExpr { left, op, right })
        }
        expr => expr,
    }
}

/// The value, 0.0 for -0.0: sets of DataFusion take them for two.
pub(super) fn one_zero(of: Expr, schema: &DFSchema) -> Expr {
    match (&of, of.get_type(schema)) {
        (Expr::Literal(ScalarValue::Float64(Some(value)), _), _) => lit(value + 0.0),
        (Expr::Literal(..), _) => of,
        (_, Ok(DataType::Float64)) => of + lit(0.0),
        (_, Ok(DataType::Float32)) => of + lit(0.0_f32),
        _ => of,
    }
}

/// The pattern, in another form if it is the one that the simplifier recognizes.
pub(super) fn pattern(of: Expr) -> Expr {
    match constant(&of).and_then(|scalar| scalar.try_as_str().flatten()) {
        Some(".*") => lit("(?:.*)"),
        _ => of,
    }
}

/// The value of the expression, by a function that is equal to no other one.
pub(super) fn as_is(of: Expr) -> Expr {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let signature = Signature::any(1, Volatility::Immutable);
    ScalarUDF::from(AsIs { number: NEXT.fetch_add(1, Ordering::Relaxed), signature }).call(vec![of])
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct AsIs {
    number: u64,
    signature: Signature,
}

impl ScalarUDFImpl for AsIs {
    fn name(&self) -> &str {
        "as_is"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        internal_err!("`as_is` has the type of its argument")
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let [of] = take_function_args(self.name(), args.arg_fields)?;
        Ok(Arc::new(Field::new(self.name(), of.data_type().clone(), of.is_nullable())))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [of] = take_function_args(self.name(), args.args)?;
        Ok(of)
    }
}
