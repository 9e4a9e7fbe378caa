//! Checks the rules that need more than one part of a row type.

use std::collections::HashMap;
use std::time::Duration;

use quote::ToTokens;
use syn::{Expr, ExprLit, GenericParam, Lit, LitStr, Meta, Type};

use super::attr::{GcAttr, RuleAttrs};
use super::model::{FamilyType, Field, Row, Values, argument, is_aggregate};
use crate::ctxt::Ctxt;
use crate::types::{static_borrow, ungrouped};

/// The longest qualifier that Bigtable allows.
const MAX_QUALIFIER_LEN: usize = 16_384;
/// The longest name of a family.
const MAX_FAMILY_LEN: usize = 64;
const DAY: Duration = Duration::from_secs(86_400);

pub(super) fn check(cx: &Ctxt, row: &Row<'_>) {
    if let Some(family) = row.attrs.family.get() {
        family_name(cx, family, &family.value());
    }
    for field in &row.fields {
        let errors = cx.error_count();
        names(cx, row, field);
        options(cx, field);
        types(cx, row, field);
        field.is_faulty.set(field.is_faulty.get() || cx.error_count() > errors);
    }
    one_place_for_each(cx, row);
    one_constant_for_each(cx, row);
    rules(cx, row);
    aggregates(cx, row);
    if let (Some(pinned), Some(_)) = (row.attrs.fingerprint.tokens(), row.input.generics.type_params().next())
    {
        cx.error(pinned, "the layout of a row with type parameters depends on them; remove `fingerprint`");
    }
}

/// The names that are stored.
fn names(cx: &Ctxt, row: &Row<'_>, field: &Field<'_>) {
    let tokens = field.attrs.name.tokens().cloned().unwrap_or_else(|| field.ident.to_token_stream());
    if field.is_family() {
        family_name(cx, &tokens, &field.name);
        if field.name == row.family {
            cx.error(
                &tokens,
                format_args!(
                    "the family `{}` is that of the row's own columns; give the field another name with `#[row(family, name = \
                     \"…\")]`",
                    field.name
                ),
            );
        }
    } else {
        column_name(cx, &tokens, &field.name);
        if let Some(super::attr::FamilyAttr::ColumnOf(family)) = field.attrs.family.get() {
            family_name(cx, family, &family.value());
        }
    }
    for alias in field.aliases() {
        match (field.is_family(), &alias.family) {
            (true, _) => cx.error(
                alias.written,
                "`alias` is for a column: a write of one column of the family would hide those of the former one; copy the \
                 cells to the new family instead",
            ),
            (false, Some(family)) => {
                family_name(cx, alias.written, family);
                column_name(cx, alias.written, &alias.name);
            }
            (false, None) => column_name(cx, alias.written, &alias.name),
        }
    }
}

fn column_name(cx: &Ctxt, tokens: impl ToTokens, name: &str) {
    if name.is_empty() {
        cx.error(tokens, "the empty name is that of the marker of an empty row; give the column a name");
    } else if name.len() > MAX_QUALIFIER_LEN {
        cx.error(tokens, format_args!("a column's name has at most {MAX_QUALIFIER_LEN} bytes; shorten it"));
    }
}

fn family_name(cx: &Ctxt, tokens: impl ToTokens, name: &str) {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if name.is_empty() || name.len() > MAX_FAMILY_LEN || !name.bytes().all(is_allowed) {
        cx.error(
            tokens,
            format_args!(
                "`{name}` cannot name a family, which has 1 to {MAX_FAMILY_LEN} ASCII letters, digits, `-`, `_` and `.`; choose another \
                 name, for a field that is a family by `#[row(family, name = \"…\")]`"
            ),
        );
    } else if name == "keyderive" || name.starts_with("keyderive.") || name.starts_with("keyderive-") {
        cx.error(tokens, "the families `keyderive…` are the library's; choose another name");
    }
}

/// The options that exclude each other.
fn options(cx: &Ctxt, field: &Field<'_>) {
    let attrs = &field.attrs;
    let ident = field.ident;
    if field.is_family() {
        for (name, tokens) in [
            ("counter", attrs.counter.tokens()),
            ("default", attrs.default.tokens()),
            ("window", attrs.window.tokens()),
        ] {
            if let Some(tokens) = tokens {
                cx.error(
                    tokens,
                    format_args!("`{name}` is for a column, and `{ident}` is a family; put it on a field of the family's struct"),
                );
            }
        }
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
    if let (Some(tokens), Some(_)) = (attrs.counter.tokens(), attrs.aliases.first()) {
        cx.error(tokens, "the server would count from 0 beside a value under the alias; keep the stored name by `#[row(name = \"…\")]`");
    }
    let holds_aggregates = matches!(field.values(), Values::Aggregate(_) | Values::Aggregates(_));
    if let (true, false, Some(alias)) = (holds_aggregates, field.is_family(), field.aliases().next()) {
        cx.error(
            alias.written,
            "the server would count from 0 beside an aggregate under the alias; keep the stored name by `#[row(name = \"…\")]`",
        );
    }
    if let (Some(tokens), Some(_)) = (attrs.counter.tokens(), attrs.default.get()) {
        cx.error(tokens, "a counter that is absent counts from 0; remove `default`");
    }
    if let Some(window) = attrs.window.get()
        && let Some(tokens) = attrs.window.tokens()
    {
        let (day, window) = (DAY.as_secs(), window.as_secs());
        if window > day || !day.is_multiple_of(window) {
            cx.error(tokens, format_args!("{tokens} does not divide a day; write a window such as \"1h\""));
        }
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
    if is_windowed && attrs.window.get().is_none() {
        cx.error(ty, "each aggregate in a column counts for a window of time; write its width, such as `#[row(window = \"1h\")]`");
    }
}

fn is_ident(ty: &Type, name: &str) -> bool {
    matches!(ungrouped(ty), Type::Path(path) if path.path.is_ident(name))
}

/// Two fields cannot share a column, nor a family with the columns of a struct or map.
fn one_place_for_each(cx: &Ctxt, row: &Row<'_>) {
    let mut names: HashMap<(Option<String>, String), &Field<'_>> = HashMap::new();
    for field in &row.fields {
        let place = (field.family().map(str::to_owned), field.name.clone());
        if let Some(other) = names.insert(place, field) {
            let place = match field.family() {
                Some(family) => format!("the column `{family}:{}`", field.name),
                None => format!("the family `{}`", field.name),
            };
            cx.error(
                field.ident,
                format_args!(
                    "`{}` and `{}` are both {place}, which holds one value; give one another name with `#[row(name = \"…\")]`",
                    other.ident, field.ident
                ),
            );
        }
    }
    for field in &row.fields {
        for alias in field.aliases() {
            let family = field.family().map(|own| alias.family.clone().unwrap_or_else(|| own.to_owned()));
            if alias.name.is_empty() {
                continue;
            }
            if let Some(whole) =
                row.fields.iter().find(|other| other.is_family() && Some(&other.name) == family.as_ref())
            {
                cx.error(
                    alias.written,
                    format_args!(
                        "the family `{}` is that of the field `{}`, all of whose columns are its own; remove the alias",
                        whole.name, whole.ident
                    ),
                );
            } else if let Some(other) = names.get(&(family.clone(), alias.name.clone())) {
                let what = if field.is_family() { "family" } else { "column" };
                cx.error(
                    alias.written,
                    format_args!(
                        "`{}` is a {what} and an alias of `{}`; remove the alias",
                        other.name, field.name
                    ),
                );
            } else {
                names.insert((family, alias.name.clone()), field);
            }
        }
        if let Some(family) = field.family().filter(|family| *family != row.family)
            && let Some(whole) = row.fields.iter().find(|other| other.is_family() && other.name == family)
        {
            cx.error(
                field.ident,
                format_args!(
                    "the family `{family}` is that of the field `{}`, all of whose columns are its own; give one another family",
                    whole.ident
                ),
            );
        }
    }
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

/// How long families are kept.
fn rules(cx: &Ctxt, row: &Row<'_>) {
    let mut ruled: HashMap<&str, ()> = HashMap::new();
    let own = row.attrs.rule.tokens().map(|tokens| (&*row.family, &row.attrs.rule, tokens));
    let of_fields = row.fields.iter().filter_map(|field| {
        field.attrs.family.get()?;
        let family = field.family().unwrap_or(&field.name);
        Some((family, &field.attrs.rule, field.attrs.rule.tokens()?))
    });
    for (family, rule, tokens) in own.into_iter().chain(of_fields) {
        if ruled.insert(family, ()).is_some() {
            cx.error(tokens, format_args!("the family `{family}` has two rules; keep one"));
        }
        let max_age = match rule.gc.get() {
            Some(GcAttr::Any { max_age, .. }) => *max_age,
            _ => None,
        };
        if let (Some(ttl), Some(max_age)) = (rule.ttl.get(), max_age)
            && *ttl > max_age
            && let Some(tokens) = rule.ttl.tokens()
        {
            cx.error(tokens, "`ttl` is longer than `max_age`, which deletes cells before; raise `max_age`");
        }
        let fields = row.fields.iter().filter(|field| field.family().unwrap_or(&field.name) == family);
        for field in fields {
            if rule.ttl.get().is_some()
                && let Some(alias) = field.aliases().find(|alias| alias.family.is_some())
            {
                cx.error(
                    alias.written,
                    format_args!(
                        "`ttl` hides cells of the family `{family}` alone, and this alias is in another; copy its values, or remove \
                         the `ttl`"
                    ),
                );
            }
            check_rule(cx, field, family, rule, max_age.or(rule.ttl.get().copied()));
            check_window(cx, field, rule, max_age);
        }
    }
}

fn check_rule(cx: &Ctxt, field: &Field<'_>, family: &str, rule: &RuleAttrs, max_age: Option<Duration>) {
    let keeps_one = matches!(rule.gc.get(), Some(GcAttr::Any { max_versions: Some(1), .. }));
    if keeps_one && argument(field.ty, "Versions").is_some() {
        cx.error(
            field.ty,
            format_args!(
                "`{}` reads every version, and the family `{family}` keeps one; write `gc(never)` or more versions",
                field.ident
            ),
        );
    }
    if max_age.is_none() {
        return;
    }
    if let Some(tokens) = field.attrs.counter.tokens() {
        cx.error(
            tokens,
            "an increment adds to an expired value too; use `Versions<Sum>` with `window`, give it a family of its own without `max_age` and `ttl`, or remove these",
        );
    }
    if let Values::Aggregate(ty) = field.values() {
        cx.error(
            ty,
            "an aggregate is at time 0, and expires at once; use `Versions<…>` with `window`, or remove `max_age` and `ttl`",
        );
    }
}

/// A window has the time of its start, and an addition at its end must not be too old for the family.
fn check_window(cx: &Ctxt, field: &Field<'_>, rule: &RuleAttrs, max_age: Option<Duration>) {
    let (Some(window), Some(tokens)) = (field.attrs.window.get(), field.attrs.window.tokens()) else {
        return;
    };
    if rule.ttl.get().is_some_and(|ttl| ttl < window) {
        cx.error(
            tokens,
            "the window is longer than the `ttl` of its family, which hides it from its start on: additions at its end would never be \
             read; shorten the window, or raise the `ttl`",
        );
    } else if max_age.is_some_and(|max_age| max_age < *window) {
        cx.error(
            tokens,
            "the window is longer than the `max_age` of its family, which is counted from its start: additions at its end would be \
             removed at once; shorten the window, or raise the `max_age`",
        );
    }
}

/// Aggregates are alone in their families.
fn aggregates(cx: &Ctxt, row: &Row<'_>) {
    let aggregate_of = |field: &Field<'_>| {
        let ty = argument(field.ty, "Versions").unwrap_or(field.ty);
        is_aggregate(ty).then(|| ty.to_token_stream().to_string())
    };
    let only = row.only_family().is_some() && row.attrs.family.get().is_none();
    for field in &row.fields {
        let (Some(aggregate), Some(family)) = (aggregate_of(field), field.family()) else { continue };
        if field.attrs.family.get().is_none() && family == super::model::DEFAULT_FAMILY && !only {
            cx.error(
                field.ty,
                format_args!(
                    "a `{aggregate}` lies in a family of its kind; write `#[row(family = \"{}s\")]`",
                    aggregate.to_lowercase()
                ),
            );
            continue;
        }
        let others = row.fields.iter().filter(|other| other.family() == Some(family));
        let others: Vec<_> =
            others.filter(|other| aggregate_of(other).as_ref() != Some(&aggregate)).collect();
        // The aggregate leaves a family that both have from the struct.
        let own = format!("{}s", aggregate.to_lowercase());
        let inherits = |field: &Field<'_>| field.attrs.family.get().is_none();
        if let Some(other) = others.iter().find(|other| inherits(other))
            && inherits(field)
            && family != own
        {
            cx.error(
                field.ty,
                format_args!(
                    "a `{aggregate}` lies in a family of its kind, and `{}` is in `{family}` too; write `#[row(family = \"{own}\")]` \
                     on `{}`",
                    other.ident, field.ident
                ),
            );
            continue;
        }
        for other in others {
            cx.error(
                other.ident,
                format_args!(
                    "the family `{family}` holds `{aggregate}`s, and `{}` is none; give it another family",
                    other.ident
                ),
            );
        }
    }
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
