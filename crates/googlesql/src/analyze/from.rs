//! FROM clauses: tables with their versions, subqueries, `UNPACK` and `UNNEST`.

use std::rc::Rc;

use sqlparser::ast::{
    self, FunctionArg, FunctionArgExpr, Ident, JoinConstraint, JoinOperator, ObjectName, Spanned as _,
    TableAlias, TableFactor, TableFunctionArgs, TableWithJoins,
};
use tonic::Status;

use super::{Analyzer, Place, Scope};
use crate::column::Column;
use crate::error::{invalid, invalid_at, unimplemented};
use crate::expr::Expr;
use crate::relation::{Plan, Relation, versions_of};
use crate::table::{TableScan, Temporal};
use crate::types::Type;
use crate::value::Value;

impl<'a> Analyzer<'a> {
    /// What a FROM clause reads.
    pub(super) fn from(&self, from: &[TableWithJoins]) -> Result<(Plan<'a>, Scope), Status> {
        let (mut plan, mut scope) = (Plan::One, Scope::default());
        for TableWithJoins { relation, joins } in from {
            plan = self.add(plan, &mut scope, relation, false)?;
            for join in joins {
                let is_outer = match &join.join_operator {
                    JoinOperator::CrossJoin(JoinConstraint::None)
                    | JoinOperator::Join(JoinConstraint::None)
                    | JoinOperator::Inner(JoinConstraint::None) => false,
                    JoinOperator::Left(JoinConstraint::None)
                    | JoinOperator::LeftOuter(JoinConstraint::None) => true,
                    _ => return Err(unimplemented("JOIN other than with UNNEST")),
                };
                plan = self.add(plan, &mut scope, &join.relation, is_outer)?;
            }
        }
        Ok((plan, scope))
    }

    /// Adds a relation to those before it.
    fn add(
        &self,
        plan: Plan<'a>,
        scope: &mut Scope,
        factor: &TableFactor,
        is_outer: bool,
    ) -> Result<Plan<'a>, Status> {
        let is_first = scope.relations.is_empty();
        if let TableFactor::UNNEST { alias, array_exprs, with_offset, with_offset_alias, with_ordinality } =
            factor
        {
            if *with_ordinality {
                return Err(unimplemented("WITH ORDINALITY"));
            }
            let [array] = &array_exprs[..] else { return Err(unimplemented("UNNEST of several arrays")) };
            let named = || with_offset_alias.clone().unwrap_or_else(|| Ident::new("offset"));
            let offset = with_offset.then(named);
            let alias = alias_name(alias.as_ref())?;
            return self.unnest(plan, scope, array, alias, offset, is_outer);
        }
        // `FROM t, t.array` is `FROM t, UNNEST(t.array)`.
        if !is_first {
            if let TableFactor::Table { name, alias, args: None, .. } = factor
                && let Some(array) = path(name).filter(|names| names.len() > 1)
                && scope.relation(&array[0].value).is_some()
            {
                let alias = alias_name(alias.as_ref())?.or_else(|| array.last().cloned());
                let array = ast::Expr::CompoundIdentifier(array);
                return self.unnest(plan, scope, &array, alias, None, is_outer);
            }
            return Err(unimplemented("JOIN other than with UNNEST"));
        }
        let (relation, alias) = match factor {
            TableFactor::Table {
                name,
                alias,
                args,
                with_hints,
                version,
                with_ordinality,
                partitions,
                json_path,
                sample,
                index_hints,
            } => {
                if !with_hints.is_empty()
                    || version.is_some()
                    || *with_ordinality
                    || !partitions.is_empty()
                    || json_path.is_some()
                    || !index_hints.is_empty()
                {
                    return Err(unimplemented(format!(
                        "options of the table `{name}` other than named arguments"
                    )));
                }
                if sample.is_some() {
                    return Err(unimplemented("TABLESAMPLE"));
                }
                let is_unpack = name.to_string().eq_ignore_ascii_case("UNPACK") && args.is_some();
                let relation =
                    if is_unpack { self.unpack(args.as_ref())? } else { self.table(name, args.as_ref())? };
                let implied = path(name).filter(|_| !is_unpack).and_then(|names| names.last().cloned());
                (relation, alias_name(alias.as_ref())?.or(implied))
            }
            TableFactor::Derived { lateral: false, subquery, alias, sample: None } => {
                (self.query(subquery)?, alias_name(alias.as_ref())?)
            }
            other => return Err(unimplemented(format!("`{other}` in FROM"))),
        };
        let Relation { plan, columns, read } = relation;
        scope.add(alias, columns, read)?;
        Ok(plan)
    }

    fn unnest(
        &self,
        input: Plan<'a>,
        scope: &mut Scope,
        array: &ast::Expr,
        alias: Option<Ident>,
        offset: Option<Ident>,
        is_outer: bool,
    ) -> Result<Plan<'a>, Status> {
        let typed = self.expression(array, Place::of(scope))?;
        let Type::Array(element) = typed.of else {
            return Err(invalid_at(
                format!(
                    "Values referenced in UNNEST must be arrays. UNNEST contains expression of type {}",
                    typed.of
                ),
                array.span().start,
            ));
        };
        // The fields of a struct are columns, too, and `*` has these alone.
        let fields = if let Type::Struct(fields) = &*element { fields.clone() } else { Vec::new() };
        let first = scope.width;
        alias.iter().try_for_each(|name| scope.name(name, Some(first)))?;
        let value = Column::new(alias.map(|alias| alias.value).unwrap_or_default(), *element);
        let value = Column { is_hidden: !fields.is_empty(), ..value };
        let with_offset = offset.is_some();
        let mut plan = Plan::Unnest { input: Box::new(input), array: typed.expr, with_offset, is_outer };
        if !fields.is_empty() {
            let place = scope.width;
            let field = |field: usize| Expr::Field(Box::new(Expr::Column(place)), field);
            let columns = (0..=place).map(Expr::Column).chain((0..fields.len()).map(field));
            let offset = with_offset.then_some(Expr::Column(place + 1));
            plan = Plan::Project { input: Box::new(plan), columns: columns.chain(offset).collect() };
        }
        let mut columns = vec![value];
        columns.extend(fields.into_iter().map(|(name, of)| Column::new(name, of)));
        offset.iter().try_for_each(|name| scope.name(name, Some(first + columns.len())))?;
        columns.extend(offset.map(|name| Column::new(name.value, Type::Int64)));
        scope.add(None, columns, Rc::default())?;
        Ok(plan)
    }

    /// A table, with the named arguments that say which versions are read.
    fn table(&self, name: &ObjectName, args: Option<&TableFunctionArgs>) -> Result<Relation<'a>, Status> {
        let names = path(name).unwrap_or_default();
        let [id] = &names[..] else { return Err(invalid(format!("Table not found: {name}"))) };
        let table = self.tables.table(&id.value)?;
        let table =
            table.ok_or_else(|| invalid_at(format!("Table not found: {}", id.value), id.span.start))?;
        let temporal = args.map_or(Ok(Temporal::default()), |args| self.temporal(args))?;
        let read = Rc::default();
        let (scan, columns) = TableScan::new(table, temporal, Rc::clone(&read))?;
        Ok(Relation { plan: Plan::Scan(Box::new(scan)), columns, read })
    }

    fn temporal(&self, args: &TableFunctionArgs) -> Result<Temporal, Status> {
        let mut temporal = Temporal::default();
        let (mut seen, mut needs_history, mut as_of) = (Vec::new(), None, None);
        for arg in &args.args {
            let (FunctionArg::Named { name, arg: FunctionArgExpr::Expr(value), .. }
            | FunctionArg::ExprNamed {
                name: ast::Expr::Identifier(name),
                arg: FunctionArgExpr::Expr(value),
                ..
            }) = arg
            else {
                return Err(invalid(format!(
                    "the arguments of a table have names, such as `with_history => TRUE`, and `{arg}` has none"
                )));
            };
            let lower = name.value.to_ascii_lowercase();
            if seen.contains(&lower) {
                return Err(invalid_at(format!("Duplicate named argument `{lower}`"), name.span.start));
            }
            match &lower[..] {
                "with_history" => {
                    // The types of the columns depend on it, and a parameter has no value while a query is prepared.
                    if !matches!(value, ast::Expr::Value(_)) {
                        return Err(invalid_at("with_history takes TRUE or FALSE", name.span.start));
                    }
                    temporal.with_history = self.argument(name, value, &Type::Bool)?.is_true();
                }
                "as_of" => as_of = Some(self.micros(name, value)?),
                "latest_n" => {
                    let latest = self.argument(name, value, &Type::Int64)?;
                    // While it is prepared, a parameter is NULL.
                    temporal.latest = match latest {
                        Value::Null => None,
                        latest => Some(
                            usize::try_from(latest.int()).ok().filter(|latest| *latest >= 1).ok_or_else(
                                || invalid_at("latest_n must be greater than or equal to 1", name.span.start),
                            )?,
                        ),
                    };
                }
                "after" => {
                    temporal.from = temporal.from.max(Some(self.micros(name, value)?.saturating_add(1)));
                }
                "after_or_equal" => temporal.from = temporal.from.max(Some(self.micros(name, value)?)),
                "before" | "before_or_equal" => {
                    let until =
                        self.micros(name, value)?.saturating_add(i64::from(lower == "before_or_equal"));
                    temporal.until = Some(temporal.until.map_or(until, |other: i64| other.min(until)));
                }
                _ => {
                    return Err(invalid_at(
                        format!("Named argument `{}` not found in signature of the table", name.value),
                        name.span.start,
                    ));
                }
            }
            let of = if lower == "latest_n" { Type::Int64 } else { Type::Timestamp };
            if lower != "with_history" && self.argument(name, value, &of)?.is_null() {
                temporal.null = Some(lower.clone());
            }
            if !matches!(&lower[..], "with_history" | "as_of") {
                needs_history = Some(name.value.clone());
            }
            seen.push(lower);
        }
        match (temporal.with_history, needs_history, as_of) {
            (true, _, Some(_)) => Err(invalid("as_of must not come with with_history => TRUE")),
            (false, Some(name), _) => Err(invalid(format!("{name} needs with_history => TRUE"))),
            (_, _, Some(as_of)) => Ok(Temporal { until: Some(as_of.saturating_add(1)), ..temporal }),
            _ => Ok(temporal),
        }
    }

    /// A time, as an argument of a table. While it is prepared, a parameter is the epoch.
    fn micros(&self, name: &Ident, value: &ast::Expr) -> Result<i64, Status> {
        Ok(crate::cast::timestamp(&self.argument(name, value, &Type::Timestamp)?))
    }

    /// The value of an argument of a table, which is the same for all rows.
    fn argument(&self, name: &Ident, value: &ast::Expr, of: &Type) -> Result<Value, Status> {
        let scope = Scope::default();
        let typed = self.expression(value, Place::of(&scope))?;
        let typed = typed.coerced(of)?.map_err(|other| {
            invalid_at(
                format!("argument `{}` has type {}, and not {of}", name.value, other.of),
                name.span.start,
            )
        })?;
        typed.expr.value(&[])
    }

    /// `UNPACK((SELECT …))`.
    fn unpack(&self, args: Option<&TableFunctionArgs>) -> Result<Relation<'a>, Status> {
        let Some([FunctionArg::Unnamed(FunctionArgExpr::Expr(ast::Expr::Subquery(subquery)))]) =
            args.map(|args| &args.args[..])
        else {
            return Err(invalid("UNPACK takes a query in parentheses: UNPACK((SELECT …))"));
        };
        let Relation { plan, columns, .. } = self.query(subquery)?;
        let mut versions = Vec::with_capacity(columns.len());
        let mut unpacked = Vec::with_capacity(columns.len() + 1);
        for column in columns {
            let (of_column, of) = versions_of(&column.of);
            versions.push(of_column);
            unpacked.push(Column { of, ..column });
        }
        if versions.iter().all(|of_column| *of_column == crate::relation::Versions::None) {
            return Err(invalid(
                "UNPACK needs a column of versions: read the table with `with_history => TRUE`",
            ));
        }
        unpacked.push(Column::new("_timestamp", Type::Timestamp));
        let plan = Plan::Unpack { input: Box::new(plan), columns: versions };
        Ok(Relation { plan, columns: unpacked, read: Rc::default() })
    }
}

/// The parts of a name.
fn path(name: &ObjectName) -> Option<Vec<Ident>> {
    name.0.iter().map(|part| part.as_ident().cloned()).collect()
}

fn alias_name(alias: Option<&TableAlias>) -> Result<Option<Ident>, Status> {
    match alias {
        Some(alias) if !alias.columns.is_empty() => {
            Err(unimplemented("aliases of the columns of a relation"))
        }
        alias => Ok(alias.map(|alias| alias.name.clone())),
    }
}
