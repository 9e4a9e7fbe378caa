//! Expressions in one form, in which those that GROUP BY takes for the same are equal.

use std::ops::ControlFlow;

use sqlparser::ast::{
    AccessExpr, Expr as Ast, Ident, ObjectNamePart, Subscript, Value as Literal, VisitMut, VisitorMut,
};

use super::{Grouping, Named, Place};
use crate::expr::Expr;
use crate::parse;

impl Grouping {
    /// The place of the key that an expression is.
    pub(super) fn key(&self, expr: &Ast, place: Place<'_>) -> Option<usize> {
        let normal = normal(expr, place, Literals::Typed);
        self.keys.iter().position(|key| key.normal == normal)
    }

    /// Whether an expression is a key but for literals of other types, which may become the same type.
    pub(super) fn resembles(&self, expr: &Ast, place: Place<'_>) -> bool {
        let normal = normal(expr, place, Literals::Untyped);
        self.keys.iter().any(|key| key.resembling == normal)
    }
}

/// Whether literals of several types may be the same.
#[derive(Clone, Copy)]
pub(super) enum Literals {
    Typed,
    Untyped,
}

/// The expression with columns for its names, values for its literals, and no parentheses.
pub(super) fn normal(expr: &Ast, place: Place<'_>, literals: Literals) -> Ast {
    let mut normal = expr.clone();
    let _ = VisitMut::visit(&mut normal, &mut Normalizer { place, literals });
    normal
}

struct Normalizer<'s> {
    place: Place<'s>,
    literals: Literals,
}

/// What a part of a normal form is, as the quote of its name. No name of a query has one of these quotes.
#[derive(Clone, Copy)]
enum Mark {
    Column,
    Field,
    Literal,
    Other,
}

fn marked(mark: Mark, value: String) -> Ident {
    let quote = match mark {
        Mark::Column => '#',
        Mark::Field => '.',
        Mark::Literal => '=',
        Mark::Other => '?',
    };
    Ident { quote_style: Some(quote), ..Ident::new(value) }
}

fn is_marked(name: &Ident) -> bool {
    matches!(name.quote_style, Some('#' | '.' | '=' | '?'))
}

impl Normalizer<'_> {
    /// The column or the expression that names begin with, and the number of these names.
    fn root(&self, names: &[Ident]) -> Option<(Ast, usize)> {
        let (first, scope) = (names.first()?, self.place.scope);
        let column = |column: usize| Ast::Identifier(marked(Mark::Column, column.to_string()));
        if let Some(named) = self.place.alias(first).ok()? {
            return match named {
                Named::Expr(expr) => {
                    Some((normal(expr, Place { aliases: &[], ..self.place }, self.literals), 1))
                }
                Named::Column(place, _) => Some((column(*place), 1)),
                Named::Field(..) => None,
            };
        }
        let field_of = |range: &super::Range| match range.places(&names.get(1)?.value)[..] {
            [place] => Some((column(range.start + place), 2)),
            _ => None,
        };
        let is_named = |range: &&super::Range| {
            range.is_unnested_struct() && range.columns[0].name.eq_ignore_ascii_case(&first.value)
        };
        if let Some(found) = scope.relations.iter().find(is_named).and_then(field_of) {
            return Some(found);
        }
        match scope.column(first).ok()?.map(|typed| typed.expr) {
            Some(Expr::Column(place)) => Some((column(place), 1)),
            _ => scope.relation(&first.value).and_then(field_of),
        }
    }

    fn path(&self, names: &[Ident], mut rest: Vec<AccessExpr>) -> Option<Ast> {
        let (root, count) = self.root(names)?;
        let dot = |name: &Ident| {
            AccessExpr::Dot(Ast::Identifier(marked(Mark::Field, name.value.to_ascii_lowercase())))
        };
        let mut chain: Vec<AccessExpr> = names[count..].iter().map(dot).collect();
        chain.append(&mut rest);
        Some(match root {
            root if chain.is_empty() => root,
            Ast::CompoundFieldAccess { root, mut access_chain } => {
                access_chain.append(&mut chain);
                Ast::CompoundFieldAccess { root, access_chain }
            }
            root => Ast::CompoundFieldAccess { root: Box::new(root), access_chain: chain },
        })
    }
}

impl VisitorMut for Normalizer<'_> {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Ast) -> ControlFlow<()> {
        while let Ast::Nested(inner) = expr {
            *expr = std::mem::replace(&mut **inner, Ast::Identifier(Ident::new("")));
        }
        let other = |name: &Ident| Ast::Identifier(marked(Mark::Other, name.value.to_ascii_uppercase()));
        match expr {
            Ast::Identifier(name) if is_marked(name) => {}
            Ast::Identifier(name) if name.quote_style.is_none() && name.value.starts_with('@') => {
                *expr = other(name);
            }
            Ast::Identifier(name) => {
                *expr = self.path(std::slice::from_ref(name), Vec::new()).unwrap_or_else(|| other(name));
            }
            Ast::CompoundIdentifier(names) => {
                if let Some(path) = self.path(names, Vec::new()) {
                    *expr = path;
                }
            }
            Ast::CompoundFieldAccess { root, access_chain } => {
                let names = match &**root {
                    Ast::Identifier(name) if !is_marked(name) => vec![name.clone()],
                    Ast::CompoundIdentifier(names) => names.clone(),
                    _ => Vec::new(),
                };
                for access in access_chain.iter_mut() {
                    access_normal(access, self.literals);
                }
                let is_dot = |access: &&AccessExpr| matches!(access, AccessExpr::Dot(Ast::Identifier(_)));
                let dots = if names.is_empty() { 0 } else { access_chain.iter().take_while(is_dot).count() };
                let fields = access_chain[..dots].iter().filter_map(|access| match access {
                    AccessExpr::Dot(Ast::Identifier(name)) => Some(name.clone()),
                    _ => None,
                });
                let names: Vec<Ident> = names.into_iter().chain(fields).collect();
                if let Some(path) = self.path(&names, access_chain[dots..].to_vec()) {
                    *expr = path;
                }
            }
            Ast::Value(value) => {
                if let Some(literal) = literal(&value.value, self.literals) {
                    *expr = literal;
                }
            }
            Ast::TypedString(typed) if matches!(self.literals, Literals::Untyped) => {
                if let Some(literal) = literal(&typed.value.value, self.literals) {
                    *expr = literal;
                }
            }
            Ast::Substring { special, shorthand, .. } => (*special, *shorthand) = (true, true),
            Ast::Function(function) => {
                for part in &mut function.name.0 {
                    if let ObjectNamePart::Identifier(name) = part {
                        *name = Ident::new(name.value.to_ascii_uppercase());
                    }
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

fn literal(value: &Literal, literals: Literals) -> Option<Ast> {
    let text = match parse::literal(value).ok()? {
        None => "NULL".to_owned(),
        Some((value, of)) if matches!(literals, Literals::Untyped) && of.is_text_or_bytes() => {
            format!("{:?}", value.raw())
        }
        Some((value, of)) if matches!(literals, Literals::Untyped) && of.is_number() => {
            format!("{:?}", value.float())
        }
        Some((value, of)) => format!("{of} {value:?}"),
    };
    Some(Ast::Identifier(marked(Mark::Literal, text)))
}

/// A field is no column, and the key of a map is of BYTES, however it is written.
fn access_normal(access: &mut AccessExpr, literals: Literals) {
    match access {
        AccessExpr::Dot(Ast::Identifier(name)) => {
            *name = marked(Mark::Field, name.value.to_ascii_lowercase());
        }
        AccessExpr::Subscript(Subscript::Index { index }) => {
            while let Ast::Nested(inner) = index {
                *index = std::mem::replace(&mut **inner, Ast::Identifier(Ident::new("")));
            }
            if matches!(literals, Literals::Typed)
                && let Ast::Value(value) = index
                && let Ok(Some((crate::value::Value::Text(text), _))) = parse::literal(&value.value)
            {
                let bytes = crate::value::Value::Bytes(parse::as_bytes(&text));
                let text = format!("{} {bytes:?}", crate::types::Type::Bytes);
                *index = Ast::Identifier(marked(Mark::Literal, text));
            }
        }
        _ => {}
    }
}
