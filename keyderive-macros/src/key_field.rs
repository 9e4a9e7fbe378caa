//! The derive of `KeyField`, for newtypes and for field-less enums with explicit codes.
//!
//! This module parses and checks; `expand` generates the code. After a fault, `expand::stub` lets the uses of the type
//! compile.

mod expand;

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::punctuated::Punctuated;
use syn::{
    Attribute, Data, DeriveInput, Expr, ExprLit, ExprUnary, Fields, GenericParam, Ident, Lit, LitInt, Path,
    Token, Type, UnOp,
};

use crate::attr::{Attr, each_meta, read_crate, skip_value, unknown_option, unraw};
use crate::ctxt::Ctxt;
use crate::names;
use crate::types::{fault_of_type, static_borrow};

/// Takes and returns `proc_macro2` tokens, which unit tests can make.
pub(crate) fn key_field(input: &DeriveInput) -> TokenStream {
    let cx = Ctxt::new();
    let field_type = FieldType::from_input(&cx, input);
    let errors = cx.check().err().map(syn::Error::into_compile_error);
    let expanded = match (&field_type.shape, &errors) {
        (Some(shape), None) => expand::key_field(&field_type, shape),
        _ => expand::stub(&field_type),
    };
    quote::quote!(#errors #expanded)
}

/// A type that derives `KeyField`.
pub(crate) struct FieldType<'a> {
    pub(crate) input: &'a DeriveInput,
    pub(crate) krate: Option<Path>,
    /// `None` if the type has neither shape, or is a newtype of a rejected type.
    pub(crate) shape: Option<Shape<'a>>,
    /// The inner type of a newtype, even if rejected.
    pub(crate) inner: Option<&'a Type>,
}

/// How the type is stored.
pub(crate) enum Shape<'a> {
    /// `struct UserId(String);`: its inner type.
    Newtype(&'a Type),
    /// `enum Kind { Created = 1 }`: the codes of its variants, in ascending order.
    Codes(Vec<(u64, &'a Ident)>),
}

impl<'a> FieldType<'a> {
    pub(crate) fn from_input(cx: &Ctxt, input: &'a DeriveInput) -> Self {
        let krate = read_attrs(cx, &input.attrs);
        reject_parameters(cx, input);
        let inner = match &input.data {
            Data::Struct(data) => inner(cx, input, &data.fields),
            _ => None,
        };
        let shape = match &input.data {
            Data::Struct(_) => inner.filter(|inner| is_allowed(cx, inner)).map(Shape::Newtype),
            Data::Enum(data) => codes(cx, input, &data.variants).map(Shape::Codes),
            Data::Union(data) => {
                cx.error(data.union_token, SHAPES);
                None
            }
        };
        Self { input, krate, shape, inner }
    }
}

const SHAPES: &str = "a field type is a newtype, such as `struct UserId(String);`, or an enum of codes, such as \
                      `enum Kind { Created = 1, Deleted = 2 }`";

/// Reads `#[row_key(crate = "path")]`, the only option of a field type.
fn read_attrs(cx: &Ctxt, attrs: &[Attribute]) -> Option<Path> {
    let mut krate = Attr::none("crate");
    for attr in attrs {
        if attr.path().is_ident("row_key") {
            each_meta(cx, attr, names::ON_FIELD_TYPE, |meta| {
                if meta.path.is_ident("crate") {
                    return read_crate(cx, &meta, &mut krate);
                }
                unknown_option(cx, &meta.path, "row_key", names::ON_FIELD_TYPE);
                skip_value(meta.input)
            });
        } else {
            reject_bare(cx, attr);
        }
    }
    krate.get().cloned()
}

/// The row key chooses the format, so that one type can have several.
fn reject_format(cx: &Ctxt, attrs: &[Attribute]) {
    for attr in attrs {
        if attr.path().is_ident("row_key") {
            cx.error(attr, "`#[row_key]` belongs on a field of the row key, where this type is used");
        } else {
            reject_bare(cx, attr);
        }
    }
}

fn reject_bare(cx: &Ctxt, attr: &Attribute) {
    if let Some(name) = names::BARE.iter().find(|name| attr.path().is_ident(name)) {
        let place = if *name == "salt" { "the row key's struct" } else { "a field of the row key" };
        cx.error(attr, format_args!("`#[{name}]` belongs on {place}, where this type is used"));
    }
}

/// Parameters would make the stored bytes depend on more than this declaration.
fn reject_parameters(cx: &Ctxt, input: &DeriveInput) {
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
    reject_format(cx, &field.attrs);
    Some(&field.ty)
}

/// Whether keys can hold the inner type.
fn is_allowed(cx: &Ctxt, inner: &Type) -> bool {
    let fault = fault_of_type(inner).map(|fault| cx.error(inner, fault));
    let borrowed = static_borrow(inner).map(|lifetime| {
        cx.error(
            lifetime,
            "a field type is read out of bytes that do not live for `'static`; hold a `String`",
        );
    });
    fault.is_none() && borrowed.is_none()
}

/// The variants of an enum with their codes, in ascending order.
pub(crate) fn codes<'a>(
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
                    "`{}` has fields, but only its code is stored; keep the fields in the row key or in columns",
                    variant.ident,
                ),
            );
        }
        return None;
    }
    let mut codes: Vec<(u64, &Ident)> = Vec::new();
    let mut uncoded = Vec::new();
    // The compiler rejects two variants with one code itself.
    for variant in variants {
        reject_format(cx, &variant.attrs);
        match &variant.discriminant {
            Some((_, code)) => {
                codes.extend(read_code(cx, &variant.ident, code).map(|code| (code, &variant.ident)));
            }
            None => uncoded.push(&variant.ident),
        }
    }
    codes.sort_by_key(|(code, _)| *code);
    missing_codes(cx, codes.last().map(|(code, _)| *code), &uncoded);
    Some(codes)
}

/// An implicit code would change when a variant is inserted before it.
fn missing_codes(cx: &Ctxt, greatest: Option<u64>, uncoded: &[&Ident]) {
    for (at, ident) in (1_u64..).zip(uncoded) {
        let free = greatest.unwrap_or(0).saturating_add(at);
        cx.error(
            ident,
            format_args!(
                "`{ident}` has no explicit discriminant; an implicit one would change when variants are added or \
                 removed, but it is stored; write `{ident} = {free}`",
            ),
        );
    }
}

/// The code after `Created =`: a literal, so that the declaration shows the stored bytes.
fn read_code(cx: &Ctxt, ident: &Ident, code: &Expr) -> Option<u64> {
    match code {
        Expr::Lit(ExprLit { lit: Lit::Int(int), .. }) => read_int(cx, int),
        // A macro's `$code:expr` arrives in a group.
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
                    "the code of `{}` is stored, so write it here as a literal number, such as `{ident} = 1`",
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
