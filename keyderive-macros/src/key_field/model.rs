//! The field type put together from its tokens, and the rules it keeps.

use std::collections::HashMap;

use quote::ToTokens;
use syn::punctuated::Punctuated;
use syn::{
    Attribute, Data, DeriveInput, Expr, ExprLit, ExprUnary, Fields, GenericParam, Ident, Lit, LitInt, Path,
    Token, Type, UnOp,
};

use crate::attr::{Attr, each_meta, read_crate, skip_value, unknown, unraw};
use crate::check::{borrowed_for_ever, fault_of_type};
use crate::ctxt::Ctxt;
use crate::names;

/// A type that is to be a field of keys.
pub(crate) struct FieldType<'a> {
    pub(crate) input: &'a DeriveInput,
    pub(crate) krate: Option<Path>,
    /// None where the type has a shape of neither kind, or is a newtype of a type that is refused.
    pub(crate) shape: Option<Shape<'a>>,
    /// What a newtype holds.
    pub(crate) inner: Option<&'a Type>,
}

/// What the type is stored as.
pub(crate) enum Shape<'a> {
    /// `struct UserId(String);`: its inner type.
    Newtype(&'a Type),
    /// `enum Kind { Created = 1 }`: the codes of its variants, the least first.
    Codes(Vec<(u64, &'a Ident)>),
}

impl<'a> FieldType<'a> {
    /// Reads a field type; every broken rule goes to the context.
    pub(crate) fn from_input(cx: &Ctxt, input: &'a DeriveInput) -> Self {
        let krate = read_attrs(cx, &input.attrs);
        refuse_parameters(cx, input);
        let inner = match &input.data {
            Data::Struct(data) => inner(cx, input, &data.fields),
            _ => None,
        };
        let shape = match &input.data {
            Data::Struct(_) => inner.filter(|inner| is_accepted(cx, inner)).map(Shape::Newtype),
            Data::Enum(data) => codes(cx, input, &data.variants).map(Shape::Codes),
            Data::Union(data) => {
                cx.error(data.union_token, SHAPES);
                None
            }
        };
        Self { input, krate, shape, inner }
    }
}

/// What there is to derive, and how it is written.
const SHAPES: &str = "a field type is a newtype, such as `struct UserId(String);`, or an enum of codes, such as \
                      `enum Kind { Created = 1, Deleted = 2 }`";

/// Reads `#[row_key(crate = "path")]`, the only option of a field type: where the runtime is found.
fn read_attrs(cx: &Ctxt, attrs: &[Attribute]) -> Option<Path> {
    let mut krate = Attr::none("crate");
    for attr in attrs {
        if attr.path().is_ident("row_key") {
            each_meta(cx, attr, names::ON_FIELD_TYPE, |meta| {
                if meta.path.is_ident("crate") {
                    return read_crate(cx, &meta, &mut krate);
                }
                unknown(cx, &meta.path, "row_key", names::ON_FIELD_TYPE);
                skip_value(meta.input)
            });
        } else {
            refuse_bare(cx, attr);
        }
    }
    krate.get().cloned()
}

/// A format is chosen where the type is used, so that one type can have several.
fn refuse_format(cx: &Ctxt, attrs: &[Attribute]) {
    for attr in attrs {
        if attr.path().is_ident("row_key") {
            cx.error(attr, "`#[row_key]` belongs on a field of the row key, where this type is used");
        } else {
            refuse_bare(cx, attr);
        }
    }
}

fn refuse_bare(cx: &Ctxt, attr: &Attribute) {
    if let Some(name) = names::BARE.iter().find(|name| attr.path().is_ident(name)) {
        let place = if *name == "salt" { "the row key's struct" } else { "a field of the row key" };
        cx.error(attr, format_args!("`#[{name}]` belongs on {place}, where this type is used"));
    }
}

/// Parameters would make the stored bytes depend on more than this declaration.
fn refuse_parameters(cx: &Ctxt, input: &DeriveInput) {
    for param in &input.generics.params {
        match param {
            GenericParam::Lifetime(param) => cx.error(
                &param.lifetime,
                "a field type owns its value; hold a `String` in it, or borrow in the row key itself, whose \
                 fields may be `&str` and `Cow<str>`",
            ),
            GenericParam::Type(param) => cx.error(&param.ident, parameter("type")),
            GenericParam::Const(param) => cx.error(&param.ident, parameter("const")),
        }
    }
}

fn parameter(kind: &str) -> String {
    format!(
        "a field type has no {kind} parameters, since they would change the stored bytes; declare one type for each"
    )
}

/// The inner type of a newtype.
fn inner<'a>(cx: &Ctxt, input: &DeriveInput, fields: &'a Fields) -> Option<&'a Type> {
    let Fields::Unnamed(fields) = fields else {
        cx.error(&input.ident, SHAPES);
        return None;
    };
    let mut fields = fields.unnamed.iter();
    let (Some(field), None) = (fields.next(), fields.next()) else {
        cx.error(&input.ident, SHAPES);
        return None;
    };
    refuse_format(cx, &field.attrs);
    Some(&field.ty)
}

/// Whether the inner type is one that keys can hold.
fn is_accepted(cx: &Ctxt, inner: &Type) -> bool {
    let fault = fault_of_type(inner).map(|fault| cx.error(inner, fault));
    let borrowed = borrowed_for_ever(inner).map(|lifetime| {
        cx.error(
            lifetime,
            "a field type is read out of bytes that do not live for `'static`; hold a `String`",
        );
    });
    fault.is_none() && borrowed.is_none()
}

/// The variants of an enum by their codes.
fn codes<'a>(
    cx: &Ctxt,
    input: &DeriveInput,
    variants: &'a Punctuated<syn::Variant, Token![,]>,
) -> Option<Vec<(u64, &'a Ident)>> {
    if variants.is_empty() {
        cx.error(&input.ident, "an enum without variants has no value to store; write `Created = 1`");
        return None;
    }
    if variants.iter().any(|variant| !matches!(variant.fields, Fields::Unit)) {
        for variant in variants.iter().filter(|variant| !matches!(variant.fields, Fields::Unit)) {
            cx.error(
                &variant.fields,
                format_args!(
                    "`{}` has fields, and what is stored is its code alone; keep the fields in the row key or in \
                     columns",
                    variant.ident,
                ),
            );
        }
        return None;
    }
    let mut codes: Vec<(u64, &Ident)> = Vec::new();
    let mut uncoded = Vec::new();
    let mut taken: HashMap<u64, &Ident> = HashMap::new();
    for variant in variants {
        refuse_format(cx, &variant.attrs);
        let ident = &variant.ident;
        let code = match &variant.discriminant {
            Some((_, code)) => read_code(cx, ident, code),
            None => {
                uncoded.push(ident);
                continue;
            }
        };
        match code.map(|code| (code, taken.insert(code, ident))) {
            Some((code, Some(other))) => cx.error(
                variant,
                format_args!("`{ident}` has the code {code}, as `{other}` has; give each its own"),
            ),
            Some((code, None)) => codes.push((code, ident)),
            None => {}
        }
    }
    codes.sort_by_key(|(code, _)| *code);
    missing_codes(cx, codes.last().map(|(code, _)| *code), &uncoded);
    Some(codes)
}

/// A code that the compiler counts would change as soon as a variant is put in front.
fn missing_codes(cx: &Ctxt, greatest: Option<u64>, uncoded: &[&Ident]) {
    for (at, ident) in (1_u64..).zip(uncoded) {
        let free = greatest.unwrap_or(0).saturating_add(at);
        cx.error(
            ident,
            format_args!(
                "`{ident}` has no code of its own, and a counted one changes as variants come and go, though it \
                 is in the stored keys; write `{ident} = {free}`",
            ),
        );
    }
}

/// The code after `Created =`: a literal, so that what is stored can be seen where it is declared.
fn read_code(cx: &Ctxt, ident: &Ident, code: &Expr) -> Option<u64> {
    match code {
        Expr::Lit(ExprLit { lit: Lit::Int(int), .. }) => read_int(cx, int),
        // As a macro passes it on.
        Expr::Group(group) => read_code(cx, ident, &group.expr),
        Expr::Unary(ExprUnary { op: UnOp::Neg(_), expr, .. }) => {
            let written = expr.to_token_stream();
            cx.error(
                code,
                format_args!("-{written} is negative, and a code is stored as digits; choose one from 0 on"),
            );
            None
        }
        _ => {
            cx.error(
                code,
                format_args!(
                    "the code of `{}` is stored in keys, so it stands here as a number, such as `{ident} = 1`",
                    unraw(ident),
                ),
            );
            None
        }
    }
}

fn read_int(cx: &Ctxt, int: &LitInt) -> Option<u64> {
    let code = int.base10_parse().ok();
    if code.is_none() {
        cx.error(int, format_args!("a code is at most {}, not {int}; choose a lower one", u64::MAX));
    }
    code
}
