//! Queries as relations: names, types, groups and orders.

mod expression;
mod from;
mod normal;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use keyderive_embedded::QueryTables;
use sqlparser::ast::{
    self, Distinct, GroupByExpr, Ident, LimitClause, OrderByKind, Query, Select, SelectItem,
    SelectItemQualifiedWildcardKind, SetExpr, Spanned as _, WildcardAdditionalOptions,
};
use sqlparser::tokenizer::Location;
use tonic::Status;

use normal::{Literals, normal};

use crate::aggregate::Aggregate;
use crate::column::Column;
use crate::error::{checked_types, invalid, invalid_at, unimplemented};
use crate::expr::Expr;
use crate::keys;
use crate::parse;
use crate::relation::{Plan, Relation};
use crate::typed::Typed;
use crate::types::Type;
use crate::value::Value;

/// Analyzes queries of one request.
pub(crate) struct Analyzer<'a> {
    pub(crate) tables: QueryTables<'a>,
    /// By their names in lower case. While a query is prepared, their values are NULL.
    pub(crate) parameters: BTreeMap<String, (Type, Value)>,
    /// The time of the server.
    pub(crate) now: i64,
}

/// What names refer to: the columns of the relations of a FROM clause, which are the columns of its rows.
#[derive(Default)]
struct Scope {
    relations: Vec<Range>,
    /// The names of relations, and of the elements of UNNEST and their offsets with the places of their columns. They come before the names of
    /// other columns, and no two are the same.
    names: Vec<(Ident, Option<usize>)>,
    /// How many columns they have.
    width: usize,
}

/// A relation in a scope.
struct Range {
    alias: Option<String>,
    columns: Vec<Column>,
    /// The place of its first column.
    start: usize,
    read: Rc<RefCell<BTreeSet<usize>>>,
}

impl Scope {
    fn add(
        &mut self,
        alias: Option<Ident>,
        columns: Vec<Column>,
        read: Rc<RefCell<BTreeSet<usize>>>,
    ) -> Result<(), Status> {
        alias.iter().try_for_each(|alias| self.name(alias, None))?;
        let alias = alias.map(|alias| alias.value);
        let start = self.width;
        self.width += columns.len();
        self.relations.push(Range { alias, columns, start, read });
        checked_types(self.width)
    }

    /// Takes the name of a relation, or of an UNNEST or its offset with the place of its column.
    fn name(&mut self, name: &Ident, column: Option<usize>) -> Result<(), Status> {
        if self.named(name).is_some() {
            return Err(invalid_at(
                format!("Duplicate table alias {} in the same FROM clause", name.value),
                at(name),
            ));
        }
        self.names.push((name.clone(), column));
        Ok(())
    }

    fn named(&self, name: &Ident) -> Option<Option<usize>> {
        let found = self.names.iter().find(|(other, _)| other.value.eq_ignore_ascii_case(&name.value));
        found.map(|(_, column)| *column)
    }

    fn relation(&self, alias: &str) -> Option<&Range> {
        let is = |range: &&Range| range.alias.as_deref().is_some_and(|name| name.eq_ignore_ascii_case(alias));
        self.relations.iter().find(is)
    }

    /// The column with this name, or `None` if no column has it or a relation has it.
    fn column(&self, name: &Ident) -> Result<Option<Typed>, Status> {
        if let Some(column) = self.named(name) {
            let holds = |range: &&Range| column.is_some_and(|at| range.start <= at);
            let range = self.relations.iter().rfind(holds);
            return Ok(range.zip(column).map(|(range, at)| range.column(at - range.start)));
        }
        let found: Vec<(&Range, usize)> = self
            .relations
            .iter()
            .flat_map(|range| range.places(&name.value).into_iter().map(move |place| (range, place)))
            .collect();
        match found[..] {
            [] => Ok(None),
            [(range, place)] => Ok(Some(range.column(place))),
            _ => Err(ambiguous(name)),
        }
    }
}

impl Range {
    /// The places of the columns of a name, of which the case of letters does not count.
    fn places(&self, name: &str) -> Vec<usize> {
        let is = |place: &usize| self.columns[*place].name.eq_ignore_ascii_case(name) && !name.is_empty();
        (0..self.columns.len()).filter(is).collect()
    }

    /// Whether its first column is a struct, and the next are the fields of it.
    fn is_unnested_struct(&self) -> bool {
        matches!(self.columns.first(), Some(Column { is_hidden: true, of: Type::Struct(_), .. }))
    }

    fn column(&self, place: usize) -> Typed {
        self.read.borrow_mut().insert(place);
        self.columns[place].at(self.start + place)
    }
}

/// The groups of a SELECT, while its expressions are analyzed.
struct Grouping {
    keys: Vec<Key>,
    aggregates: RefCell<Vec<Aggregate>>,
}

/// An expression of GROUP BY.
struct Key {
    normal: ast::Expr,
    /// The same without the types of its literals.
    resembling: ast::Expr,
    typed: Typed,
}

/// A name of the SELECT list, and what it names.
struct Name<'s> {
    name: String,
    of: Named<'s>,
}

enum Named<'s> {
    Expr(&'s ast::Expr),
    /// The field at this place of a struct.
    Field(Box<ast::Expr>, usize),
    /// The column at this place of the FROM clause.
    Column(usize, Type),
}

/// Where an expression is analyzed.
#[derive(Clone, Copy)]
struct Place<'s> {
    scope: &'s Scope,
    grouping: Option<&'s Grouping>,
    /// The names of the SELECT list, if they come before those of the FROM clause.
    aliases: &'s [Name<'s>],
}

impl<'s> Place<'s> {
    /// A place where only columns have names.
    fn of(scope: &'s Scope) -> Self {
        Self { scope, grouping: None, aliases: &[] }
    }

    /// What a name of the SELECT list names.
    fn alias(&self, name: &Ident) -> Result<Option<&'s Named<'s>>, Status> {
        let mut found = self.aliases.iter().filter(|each| each.name.eq_ignore_ascii_case(&name.value));
        match (found.next(), found.next()) {
            (_, Some(_)) => Err(ambiguous(name)),
            (found, None) => Ok(found.map(|found| &found.of)),
        }
    }
}

impl<'a> Analyzer<'a> {
    /// The relation of a query.
    pub(crate) fn query(&self, query: &Query) -> Result<Relation<'a>, Status> {
        let Query {
            with,
            body,
            order_by,
            limit_clause,
            fetch,
            locks,
            for_clause,
            settings,
            format_clause,
            pipe_operators,
        } = query;
        for (is_there, what) in [
            (with.is_some(), "WITH"),
            (fetch.is_some(), "FETCH"),
            (!locks.is_empty(), "FOR UPDATE"),
            (for_clause.is_some(), "FOR"),
            (settings.is_some(), "SETTINGS"),
            (format_clause.is_some(), "FORMAT"),
            (!pipe_operators.is_empty(), "pipe operators"),
        ] {
            if is_there {
                return Err(unimplemented(what));
            }
        }
        let orders = match order_by.as_ref().map(|order| &order.kind) {
            None => &[][..],
            Some(OrderByKind::Expressions(orders)) => &orders[..],
            Some(OrderByKind::All(_)) => return Err(unimplemented("ORDER BY ALL")),
        };
        let Relation { mut plan, columns, read } = match &**body {
            SetExpr::Select(select) => self.select(select, orders)?,
            SetExpr::Query(inner) if orders.is_empty() => self.query(inner)?,
            SetExpr::Query(_) => return Err(unimplemented("ORDER BY of a query in parentheses")),
            SetExpr::SetOperation { op, .. } => return Err(unimplemented(op)),
            _ => return Err(unimplemented("queries other than SELECT")),
        };
        if let Some(clause) = limit_clause {
            let LimitClause::LimitOffset { limit, offset, limit_by } = clause else {
                return Err(invalid("Syntax error: write LIMIT before OFFSET"));
            };
            if !limit_by.is_empty() {
                return Err(unimplemented("LIMIT BY"));
            }
            if limit.is_none() {
                return Err(invalid("Syntax error: OFFSET needs a LIMIT before it"));
            }
            let limit = limit.as_ref().map(|limit| self.count(limit)).transpose()?;
            let offset = offset.as_ref().map(|offset| self.count(&offset.value)).transpose()?;
            plan = Plan::Limit { input: Box::new(plan), limit, offset };
        }
        Ok(Relation { plan, columns, read })
    }

    /// The number of LIMIT or OFFSET.
    fn count(&self, expr: &ast::Expr) -> Result<Expr, Status> {
        let scope = Scope::default();
        let count = self.expression(expr, Place::of(&scope))?;
        match count.coerced(&Type::Int64)? {
            Ok(count) if matches!(count.expr, Expr::Literal(_)) => Ok(count.expr),
            _ => Err(invalid("LIMIT and OFFSET take a literal or a parameter of INT64")),
        }
    }

    fn select(&self, select: &Select, orders: &[ast::OrderByExpr]) -> Result<Relation<'a>, Status> {
        refuse_clauses(select)?;
        let (mut plan, scope) = self.from(&select.from)?;
        let input = Place::of(&scope);
        if let Some(condition) = &select.selection {
            let condition = self.condition(condition, input, "WHERE")?;
            if let Plan::Scan(scan) = &mut plan {
                scan.intervals = keys::intervals(&condition);
            }
            plan = Plan::Filter { input: Box::new(plan), condition };
        }
        let grouping = self.grouping(select, input)?;
        // Whether there are aggregates shows once the expressions have been analyzed.
        let is_grouped = grouping.is_some() || select.projection.iter().any(has_aggregate);
        if let Some(having) = select.having.as_ref().filter(|_| !is_grouped) {
            return Err(invalid_at(
                "The HAVING clause requires GROUP BY or aggregation in the SELECT list",
                having.span().start,
            ));
        }
        if let Some(order) = orders.iter().find(|order| !is_grouped && expression::has_aggregate(&order.expr))
        {
            return Err(invalid_at(
                "The ORDER BY clause only allows aggregation if GROUP BY or SELECT list aggregation is present",
                order.expr.span().start,
            ));
        }
        let grouping = grouping
            .or_else(|| is_grouped.then(|| Grouping { keys: Vec::new(), aggregates: RefCell::default() }));
        let place = Place { grouping: grouping.as_ref(), ..input };
        let mut items = Vec::new();
        let mut types = 0;
        for item in &select.projection {
            let before = items.len();
            self.select_item(item, place, &mut items)?;
            types += items[before..].iter().map(|(_, typed): &(_, Typed)| typed.of.count()).sum::<usize>();
            checked_types(types)?;
        }
        let (names, items): (Vec<Name<'_>>, Vec<Typed>) = items.into_iter().unzip();
        let place = Place { aliases: &names, ..place };
        let having =
            select.having.as_ref().map(|having| self.condition(having, place, "HAVING")).transpose()?;
        let mut columns: Vec<Column> = names
            .iter()
            .zip(&items)
            .map(|(name, typed)| Column::new(name.name.clone(), typed.of.clone()))
            .collect();
        let is_distinct = match &select.distinct {
            None | Some(Distinct::All) => false,
            Some(Distinct::Distinct) => true,
            Some(Distinct::On(_)) => return Err(unimplemented("DISTINCT ON")),
        };
        if is_distinct && let Some(column) = columns.iter().find(|column| !column.of.is_groupable()) {
            return Err(invalid(format!(
                "Column {} of type {} cannot be used in SELECT DISTINCT",
                column.name, column.of
            )));
        }
        let mut exprs: Vec<Expr> = items.into_iter().map(|typed| typed.expr).collect();
        let count = exprs.len();
        let mut distinct = Scope::default();
        distinct.add(None, columns.clone(), Rc::default())?;
        let mut by = Vec::new();
        for order in orders {
            let descends = order.options.asc == Some(false);
            let nulls_first = order.options.nulls_first.unwrap_or(!descends);
            if order.with_fill.is_some() {
                return Err(unimplemented("WITH FILL"));
            }
            let found = self.ordered_column(order, &columns[..count])?;
            let at = match found {
                Some(at) => at,
                None => {
                    let typed = if is_distinct {
                        // It may name columns of the FROM clause that are in the SELECT list, too, under another name.
                        self.expression(&order.expr, Place::of(&distinct)).map_err(|_| {
                            unimplemented(format!("`{}` in ORDER BY of SELECT DISTINCT", order.expr))
                        })?
                    } else {
                        self.whole(&order.expr, place)?
                    };
                    columns.push(Column::new("", typed.of));
                    exprs.push(typed.expr);
                    exprs.len() - 1
                }
            };
            if !columns[at].of.is_ordered() {
                let of = &columns[at].of;
                return Err(match of {
                    Type::Map(..) => invalid_at(
                        format!("ORDER BY does not support expressions of type {of}"),
                        order.expr.span().start,
                    ),
                    of => unimplemented(format!("comparisons of {of}")),
                });
            }
            by.push((at, descends, nulls_first));
        }
        columns.truncate(count);
        if let Some(Grouping { keys, aggregates }) = grouping {
            let keys = keys.into_iter().map(|key| key.typed.expr).collect();
            plan = Plan::Group { input: Box::new(plan), keys, aggregates: aggregates.into_inner() };
        }
        if let Some(condition) = having {
            plan = Plan::Filter { input: Box::new(plan), condition };
        }
        let is_wider = exprs.len() > count;
        let of_distinct = if is_distinct { exprs.split_off(count) } else { Vec::new() };
        plan = Plan::Project { input: Box::new(plan), columns: exprs };
        if is_distinct {
            plan = Plan::Distinct { input: Box::new(plan) };
        }
        if !of_distinct.is_empty() {
            let columns = (0..count).map(Expr::Column).chain(of_distinct).collect();
            plan = Plan::Project { input: Box::new(plan), columns };
        }
        if !by.is_empty() {
            plan = Plan::Sort { input: Box::new(plan), by };
        }
        if is_wider {
            plan = Plan::Truncate { input: Box::new(plan), count };
        }
        Ok(Relation { plan, columns, read: Rc::default() })
    }

    fn condition(&self, expr: &ast::Expr, place: Place<'_>, clause: &str) -> Result<Expr, Status> {
        let condition = self.expression(expr, place)?;
        match condition.coerced(&Type::Bool)? {
            Ok(condition) => Ok(condition.expr),
            Err(other) => Err(invalid_at(
                format!("{clause} clause should return type BOOL, but returns {}", other.of),
                expr.span().start,
            )),
        }
    }

    /// The keys of GROUP BY: expressions, names of the SELECT list and their numbers.
    fn grouping<'s>(&self, select: &'s Select, input: Place<'s>) -> Result<Option<Grouping>, Status> {
        let exprs = match &select.group_by {
            GroupByExpr::Expressions(exprs, modifiers) if modifiers.is_empty() => exprs,
            GroupByExpr::All(_) => return Err(unimplemented("GROUP BY ALL")),
            GroupByExpr::Expressions(..) => return Err(unimplemented("GROUP BY with ROLLUP or CUBE")),
        };
        if exprs.is_empty() {
            return Ok(None);
        }
        let written = |item: &'s SelectItem| match item {
            SelectItem::ExprWithAlias { expr, alias } => Some((alias.value.clone(), expr)),
            SelectItem::UnnamedExpr(expr) => Some((implied_name(expr), expr)),
            _ => None,
        };
        let names: Vec<Name<'_>> = select
            .projection
            .iter()
            .filter_map(written)
            .map(|(name, expr)| Name { name, of: Named::Expr(expr) })
            .collect();
        let names = Place { aliases: &names, ..input };
        let mut keys = Vec::new();
        for expr in exprs {
            let item = |place: usize| match select.projection.get(place) {
                Some(SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }) => Some(expr),
                _ => None,
            };
            let is_star = |item: &SelectItem| {
                matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..))
            };
            if is_literal(expr) && select.projection.iter().any(is_star) {
                return Err(unimplemented("numbers in GROUP BY with * in the SELECT list"));
            }
            let key = match expr {
                expr if is_literal(expr) => match ordinal(expr, "GROUP BY")?.checked_sub(1) {
                    Some(place) => item(place),
                    None => None,
                }
                .ok_or_else(|| {
                    invalid_at(format!("GROUP BY is out of SELECT list range: {expr}"), expr.span().start)
                })?,
                ast::Expr::CompoundIdentifier(path) if names.alias(&path[0])?.is_some() => {
                    return Err(invalid_at(
                        format!("Cannot GROUP BY field references from SELECT list alias {}", path[0].value),
                        at(&path[0]),
                    ));
                }
                ast::Expr::Identifier(name) => match names.alias(name)? {
                    Some(Named::Expr(named)) => {
                        self.check_one_meaning(name, named, input)?;
                        named
                    }
                    _ => expr,
                },
                expr => expr,
            };
            if expression::has_aggregate(key) {
                return Err(invalid_at("Aggregate function is not allowed in GROUP BY", key.span().start));
            }
            let typed = self.expression(key, input)?;
            if !typed.of.is_groupable() {
                return Err(invalid_at(
                    format!("Grouping by expressions of type {} is not allowed", typed.of),
                    key.span().start,
                ));
            }
            keys.push(Key {
                normal: normal(key, input, Literals::Typed),
                resembling: normal(key, input, Literals::Untyped),
                typed,
            });
        }
        Ok(Some(Grouping { keys, aggregates: RefCell::default() }))
    }

    /// Refuses a name that is a column and also another expression of the SELECT list: Google's pages call it ambiguous.
    fn check_one_meaning(&self, name: &Ident, alias: &ast::Expr, place: Place<'_>) -> Result<(), Status> {
        let Some(column) = place.scope.column(name)? else { return Ok(()) };
        let is_name = matches!(alias, ast::Expr::Identifier(_) | ast::Expr::CompoundIdentifier(_));
        let is_same = is_name
            && match (self.expression(alias, Place::of(place.scope))?.expr, column.expr) {
                (Expr::Column(left), Expr::Column(right)) => left == right,
                _ => false,
            };
        if is_same {
            return Ok(());
        }
        Err(invalid_at(
            format!("Name {} is ambiguous: it is a column, and an expression of the SELECT list", name.value),
            at(name),
        ))
    }

    /// The column of the SELECT list that ORDER BY names, by its name or number.
    fn ordered_column(&self, order: &ast::OrderByExpr, columns: &[Column]) -> Result<Option<usize>, Status> {
        match &order.expr {
            ast::Expr::Identifier(name) => {
                let is =
                    |column: &Column| column.name.eq_ignore_ascii_case(&name.value) && !name.value.is_empty();
                let mut found = (0..columns.len()).filter(|place| is(&columns[*place]));
                let first = found.next();
                match found.next() {
                    None => Ok(first),
                    Some(_) => Err(ambiguous(name)),
                }
            }
            expr if is_literal(expr) => match ordinal(expr, "ORDER BY")? {
                number if (1..=columns.len()).contains(&number) => Ok(Some(number - 1)),
                _ => Err(invalid_at(
                    format!("ORDER BY column number item is out of range: {expr}"),
                    expr.span().start,
                )),
            },
            _ => Ok(None),
        }
    }

    fn select_item<'s>(
        &self,
        item: &'s SelectItem,
        place: Place<'s>,
        items: &mut Vec<(Name<'s>, Typed)>,
    ) -> Result<(), Status> {
        let named = |name: String, expr| {
            Ok::<_, Status>((Name { name, of: Named::Expr(expr) }, self.whole(expr, place)?))
        };
        match item {
            SelectItem::UnnamedExpr(expr) => items.push(named(implied_name(expr), expr)?),
            SelectItem::ExprWithAlias { expr, alias } => items.push(named(alias.value.clone(), expr)?),
            SelectItem::Wildcard(options) => {
                if place.scope.relations.is_empty() {
                    return Err(invalid("SELECT * must have a FROM clause"));
                }
                let all: Vec<&Range> = place.scope.relations.iter().collect();
                self.wildcard(&all, options, place, items)?;
            }
            SelectItem::QualifiedWildcard(kind, options) => {
                let value = match kind {
                    SelectItemQualifiedWildcardKind::ObjectName(name) => {
                        let names: Vec<Ident> =
                            name.0.iter().filter_map(|part| part.as_ident().cloned()).collect();
                        if let [alias] = &names[..]
                            && let Some(range) = place.scope.relation(&alias.value)
                        {
                            return self.wildcard(&[range], options, place, items);
                        }
                        match <[Ident; 1]>::try_from(names) {
                            Ok([name]) => ast::Expr::Identifier(name),
                            Err(names) => ast::Expr::CompoundIdentifier(names),
                        }
                    }
                    SelectItemQualifiedWildcardKind::Expr(expr) => expr.clone(),
                };
                let typed = self.expression(&value, place)?;
                let Type::Struct(fields) = typed.of else {
                    return Err(invalid_at(
                        format!("Dot-star is not supported for type {}", typed.of),
                        value.span().start,
                    ));
                };
                if *options != WildcardAdditionalOptions::default() {
                    return Err(unimplemented("options of the fields of a struct"));
                }
                for (at, (name, of)) in fields.into_iter().enumerate() {
                    let field = Expr::Field(Box::new(self.expression(&value, place)?.expr), at);
                    let of_name = Named::Field(Box::new(value.clone()), at);
                    items.push((Name { name, of: of_name }, Typed::new(field, of)));
                }
            }
            other => return Err(unimplemented(format!("`{other}` in a SELECT list"))),
        }
        Ok(())
    }

    fn wildcard<'s>(
        &self,
        ranges: &[&Range],
        options: &'s WildcardAdditionalOptions,
        place: Place<'s>,
        items: &mut Vec<(Name<'s>, Typed)>,
    ) -> Result<(), Status> {
        let WildcardAdditionalOptions {
            wildcard_token,
            opt_ilike,
            opt_exclude,
            opt_except,
            opt_replace,
            opt_rename,
            opt_alias,
        } = options;
        if opt_ilike.is_some() || opt_exclude.is_some() || opt_rename.is_some() || opt_alias.is_some() {
            return Err(unimplemented("other options of * than EXCEPT and REPLACE"));
        }
        let names = opt_except
            .iter()
            .flat_map(|except| std::iter::once(&except.first_element).chain(&except.additional_elements));
        let mut excepted: Vec<(&Ident, bool)> = names.map(|name| (name, false)).collect();
        let mut replaced: Vec<_> =
            opt_replace.iter().flat_map(|replace| &replace.items).map(|item| (item, false)).collect();
        let before = items.len();
        let start = wildcard_token.0.span.start;
        for range in ranges {
            for (at, column) in range.columns.iter().enumerate() {
                if column.is_hidden {
                    continue;
                }
                let is = |name: &Ident| name.value.eq_ignore_ascii_case(&column.name);
                if let Some((_, is_found)) = excepted.iter_mut().find(|(name, _)| is(name)) {
                    *is_found = true;
                    continue;
                }
                let (of, typed) = match replaced.iter_mut().find(|(item, _)| is(&item.column_name)) {
                    Some((item, is_found)) => {
                        *is_found = true;
                        (Named::Expr(&item.expr), self.expression(&item.expr, place)?)
                    }
                    None => {
                        let typed = expression::grouped(range.column(at), &column.name, start, place)?;
                        (Named::Column(range.start + at, column.of.clone()), typed)
                    }
                };
                items.push((Name { name: column.name.clone(), of }, typed));
            }
        }
        let is_empty = items.len() == before && opt_except.is_some();
        let missing = excepted
            .into_iter()
            .chain(replaced.into_iter().map(|(item, is_found)| (&item.column_name, is_found)));
        match missing.into_iter().find(|(_, is_found)| !is_found) {
            Some((name, _)) => Err(invalid_at(
                format!("Column {} in SELECT * EXCEPT or REPLACE does not exist", name.value),
                name.span.start,
            )),
            None if is_empty => Err(invalid("SELECT * expands to zero columns after applying EXCEPT")),
            None => Ok(()),
        }
    }
}

fn has_aggregate(item: &SelectItem) -> bool {
    match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => {
            expression::has_aggregate(expr)
        }
        _ => false,
    }
}

/// Whether an expression is a literal without a type before it.
fn is_literal(expr: &ast::Expr) -> bool {
    match expr {
        ast::Expr::Value(_) => true,
        ast::Expr::Nested(inner) => is_literal(inner),
        ast::Expr::UnaryOp { op: ast::UnaryOperator::Plus, expr } => is_literal(expr),
        // The minus of a literal in parentheses is an operator.
        ast::Expr::UnaryOp { op: ast::UnaryOperator::Minus, expr } => matches!(**expr, ast::Expr::Value(_)),
        _ => false,
    }
}

/// The number of a column in GROUP BY or ORDER BY, which take no other literal; 0 for one below.
fn ordinal(expr: &ast::Expr, clause: &str) -> Result<usize, Status> {
    let wrong = || invalid_at(format!("Cannot {clause} literal values"), expr.span().start);
    match expr {
        ast::Expr::Nested(inner) => ordinal(inner, clause),
        ast::Expr::UnaryOp { op, expr } => {
            ordinal(expr, clause).map(|number| if *op == ast::UnaryOperator::Minus { 0 } else { number })
        }
        ast::Expr::Value(value) => match parse::literal(&value.value)? {
            Some((Value::Int64(number), _)) => Ok(usize::try_from(number).unwrap_or_default()),
            _ => Err(wrong()),
        },
        _ => Err(wrong()),
    }
}

/// The name of a column without an alias: the last of the names that it is written with.
fn implied_name(expr: &ast::Expr) -> String {
    match expr {
        ast::Expr::Identifier(name) if !name.value.starts_with('@') => name.value.clone(),
        ast::Expr::CompoundIdentifier(names) => {
            names.last().map(|name| name.value.clone()).unwrap_or_default()
        }
        ast::Expr::CompoundFieldAccess { access_chain, .. } => match access_chain.last() {
            Some(ast::AccessExpr::Dot(ast::Expr::Identifier(name))) => name.value.clone(),
            _ => String::new(),
        },
        ast::Expr::Nested(inner) => implied_name(inner),
        _ => String::new(),
    }
}

fn refuse_clauses(select: &Select) -> Result<(), Status> {
    for (is_there, what) in [
        (select.top.is_some(), "TOP"),
        (select.exclude.is_some(), "EXCLUDE"),
        (select.into.is_some(), "INTO"),
        (!select.lateral_views.is_empty(), "LATERAL VIEW"),
        (select.prewhere.is_some(), "PREWHERE"),
        (!select.connect_by.is_empty(), "CONNECT BY"),
        (!select.cluster_by.is_empty(), "CLUSTER BY"),
        (!select.distribute_by.is_empty(), "DISTRIBUTE BY"),
        (!select.sort_by.is_empty(), "SORT BY"),
        (!select.named_window.is_empty(), "WINDOW"),
        (select.qualify.is_some(), "QUALIFY"),
        (select.value_table_mode.is_some(), "SELECT AS STRUCT or AS VALUE"),
        (select.select_modifiers.is_some(), "modifiers of SELECT"),
    ] {
        if is_there {
            return Err(unimplemented(what));
        }
    }
    Ok(())
}

fn ambiguous(name: &Ident) -> Status {
    invalid_at(format!("Column name {} is ambiguous", name.value), at(name))
}

/// Where a name begins.
fn at(name: &Ident) -> Location {
    name.span.start
}
