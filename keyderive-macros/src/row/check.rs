//! Checks the rules that need more than one part of a row type.

use std::collections::HashMap;

use keyderive_layout::Words;
use keyderive_layout::row_rules::Reason;
use proc_macro2::Ident;
use quote::ToTokens;
use syn::{Expr, ExprLit, GenericParam, Lit, LitStr, Meta, Type};

use super::attr::RuleAttrs;
use super::layout;
use super::model::{FamilyType, Field, Row, Values, aggregate_name, argument, is_aggregate};
use crate::ctxt::Ctxt;
use crate::types::{static_borrow, ungrouped};

pub(super) fn check(cx: &Ctxt, row: &Row<'_>) {
    for field in &row.fields {
        let errors = cx.error_count();
        no_alias_of_a_family(cx, field);
        no_family_in_a_name(cx, row, field);
        options(cx, field);
        types(cx, row, field);
        field.is_faulty.set(field.is_faulty.get() || cx.error_count() > errors);
    }
    let misplaced = misplaced_aggregates(cx, row);
    layout::check(cx, row, |field| misplaced.contains(&field.ident));
    one_constant_for_each(cx, row);
    if let (Some(pinned), Some(_)) = (row.attrs.fingerprint.tokens(), row.input.generics.type_params().next())
    {
        cx.error(pinned, "the layout of a row with type parameters depends on them; remove `fingerprint`");
    }
}

/// The stored name of a column is its qualifier: with the family before it, it would be another column, which no row has.
fn no_family_in_a_name(cx: &Ctxt, row: &Row<'_>, field: &Field<'_>) {
    let (Some(tokens), Some(own)) = (field.attrs.name.tokens(), field.family()) else { return };
    let Some((family, name)) = field.name.split_once(':') else { return };
    let is_family = family == own || row.fields.iter().any(|other| other.is_family() && other.name == family);
    if is_family && !name.is_empty() {
        let of_family =
            if family == own { String::new() } else { format!(" with `#[row(family = \"{family}\")]`") };
        cx.error(
            tokens,
            format_args!("`name` is the qualifier alone, and this one would be stored as `{own}:{family}:{name}`; write `name = \"{name}\"`{of_family}"),
        );
    }
}

/// A family has one name, since a column of it could be stored under the former name as well as under this one.
fn no_alias_of_a_family(cx: &Ctxt, field: &Field<'_>) {
    if field.is_family() {
        for alias in field.aliases() {
            cx.error(
                alias.written,
                "`alias` is for a column: a write of one column of the family would hide those of the former one; copy the \
                 cells to the new family instead",
            );
        }
    }
}

/// The options that exclude each other.
fn options(cx: &Ctxt, field: &Field<'_>) {
    let attrs = &field.attrs;
    let ident = field.ident;
    if let (true, Some(tokens)) = (field.is_family(), attrs.default.tokens()) {
        let reason = Reason::OfColumn { option: "default", family: ident.to_string() };
        cx.error(tokens, reason.text(Words::Attributes));
    }
    if let (None, Some(tokens)) = (attrs.family.get(), attrs.rule.tokens()) {
        let name = tokens_name(&attrs.rule);
        cx.error(
            tokens,
            format_args!("`{name}` is for a family; move it to the struct or to a field with `family`"),
        );
    }
    let encodings = [
        ("json", attrs.json.tokens()),
        ("proto", attrs.proto.tokens()),
        ("ts", attrs.ts.tokens()),
        ("with", attrs.with.tokens()),
    ];
    let given: Vec<_> = encodings.into_iter().filter_map(|(name, tokens)| Some((name, tokens?))).collect();
    if let [(first, _), (second, tokens), ..] = &given[..] {
        cx.error(tokens, format_args!("`{first}` and `{second}` are two encodings of one field; keep one"));
    }
    if let (Some(tokens), Some((encoding, _))) = (attrs.counter.tokens(), given.first()) {
        cx.error(
            tokens,
            format_args!(
                "a counter is stored as an integer and not as `{encoding}`; remove `counter` or `{encoding}`"
            ),
        );
    }
    if let (Some(tokens), Some(_)) = (attrs.counter.tokens(), attrs.default.get()) {
        cx.error(tokens, "a counter that is absent counts from 0; remove `default`");
    }
}

fn tokens_name(rule: &RuleAttrs) -> &'static str {
    if rule.gc.tokens().is_some() {
        "gc"
    } else if rule.ttl.tokens().is_some() {
        "ttl"
    } else {
        "exclusive"
    }
}

/// What can be said of a field's type from its tokens.
fn types(cx: &Ctxt, row: &Row<'_>, field: &Field<'_>) {
    let (ty, attrs) = (field.ty, &field.attrs);
    let option = argument(ty, "Option");
    if let Some(lifetime) = static_borrow(ty).or_else(|| option.and_then(static_borrow)) {
        cx.error(
            lifetime,
            "a row is read out of bytes that do not live for `'static`; give the struct a lifetime and write it here, or store \
             a `String`",
        );
    }
    if option.is_some_and(|inner| argument(inner, "Option").is_some()) {
        cx.error(ty, "`Option<Option<…>>` has two ways to be absent, and a column has one; use one `Option`");
    }
    if let (Some(_), Some(tokens)) = (option, attrs.default.tokens()) {
        cx.error(
            tokens,
            "an `Option` is `None` where the column is absent; remove `default` or the `Option`",
        );
    }
    if let (Some(_), Some(tokens)) = (argument(ty, "Versions"), attrs.default.tokens()) {
        cx.error(tokens, "`Versions` are empty where the column is absent; remove `default`");
    }
    if attrs.counter.get().is_some() && !field.is_family() {
        if option.is_some() {
            cx.error(ty, "a counter that is absent counts from 0, so it is no `Option`; write `i64`");
        } else if ty.to_token_stream().to_string().rsplit("::").next().map(str::trim) != Some("i64") {
            cx.error(ty, "a counter is an `i64`, in which the server counts; change the type");
        }
    }
    let has_form = attrs.json.get().or(attrs.proto.get()).is_some()
        || attrs.ts.get().is_some()
        || attrs.with.get().is_some();
    for (wrong, remedy) in [
        ("usize", "the width of `usize` depends on the machine; write `u64`"),
        ("isize", "the width of `isize` depends on the machine; write `i64`"),
        ("u128", "an integer column has 64 bits; store `u128` as text or by `#[row(with = \"…\")]`"),
        ("i128", "an integer column has 64 bits; store `i128` as text or by `#[row(with = \"…\")]`"),
    ] {
        if !has_form && is_ident(field.values().ty(), wrong) {
            cx.error(field.values().ty(), remedy);
        }
    }
    if let (true, FamilyType::Map { .. }, Values::Optional(_) | Values::OptionalTimestamped(_)) =
        (field.is_family(), field.family_type(), field.values())
    {
        cx.error(
            ty,
            "an entry without a value is absent, so a map holds `T` and not `Option<T>`; remove the `Option`",
        );
    }
    let params = row.input.generics.params.iter().filter_map(|param| match param {
        GenericParam::Type(param) => Some(&param.ident),
        _ => None,
    });
    for param in params {
        if field.is_family() && is_ident(option.unwrap_or(ty), &param.to_string()) {
            cx.error(
                ty,
                "a type parameter cannot be a family, whose columns it does not say; name the struct",
            );
        }
    }
    let is_windowed = argument(ty, "Versions").is_some_and(is_aggregate);
    if let (Some(tokens), false) = (attrs.window.tokens(), is_windowed) {
        cx.error(tokens, "`window` is for aggregates in windows of time; change the type to `Versions<Sum>`");
    }
}

fn is_ident(ty: &Type, name: &str) -> bool {
    matches!(ungrouped(ty), Type::Path(path) if path.path.is_ident(name))
}

fn one_constant_for_each(cx: &Ctxt, row: &Row<'_>) {
    let mut constants: HashMap<String, &Field<'_>> = HashMap::new();
    for field in &row.fields {
        let constant = field.constant.to_string();
        if constant == "SCHEMA" {
            cx.error(
                field.ident,
                format_args!(
                    "the constant of `{}` would be `SCHEMA`, which every row has; write `#[row(constant = \"SCHEMA_COLUMN\")]`",
                    field.ident
                ),
            );
        }
        if let Some(other) = constants.insert(constant.clone(), field) {
            cx.error(
                field.ident,
                format_args!(
                    "`{}` and `{}` would both have the constant `{constant}`; write `#[row(constant = \"…\")]` on one of them",
                    other.ident, field.ident
                ),
            );
        }
    }
}

/// Reports the aggregates that share a family which no attribute of theirs names, and returns their fields.
fn misplaced_aggregates<'r>(cx: &Ctxt, row: &'r Row<'_>) -> Vec<&'r Ident> {
    let aggregate_of = |field: &Field<'_>| aggregate_name(argument(field.ty, "Versions").unwrap_or(field.ty));
    let only = row.only_family().is_some() && row.attrs.family.get().is_none();
    let inherits = |field: &Field<'_>| field.attrs.family.get().is_none();
    let mut misplaced = Vec::new();
    for field in row.fields.iter().filter(|field| inherits(field)) {
        let (Some(aggregate), Some(family)) = (aggregate_of(field), field.family()) else { continue };
        let own = format!("{}s", aggregate.to_lowercase());
        let is_other = |other: &&Field<'_>| {
            other.family() == Some(family) && aggregate_of(other) != Some(aggregate) && inherits(other)
        };
        let fault = format!("a `{aggregate}` lies in a family of its kind");
        if family == super::model::DEFAULT_FAMILY && !only {
            cx.error(field.ty, format_args!("{fault}; write `#[row(family = \"{own}\")]`"));
        } else if family != own
            && let Some(other) = row.fields.iter().find(is_other)
        {
            cx.error(
                field.ty,
                format_args!(
                    "{fault}, and `{}` is in `{family}` too; write `#[row(family = \"{own}\")]` on `{}`",
                    other.ident, field.ident
                ),
            );
        } else {
            continue;
        }
        misplaced.push(field.ident);
    }
    misplaced
}

/// The documentation of a field, line by line.
pub(super) fn docs(field: &syn::Field) -> impl Iterator<Item = LitStr> + '_ {
    field.attrs.iter().filter_map(|attr| match &attr.meta {
        Meta::NameValue(meta) if meta.path.is_ident("doc") => match &meta.value {
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.clone()),
            _ => None,
        },
        _ => None,
    })
}
