//! The derive of `Cell`, for newtypes, unit structs and enums without fields.
//!
//! This module parses and checks; `expand` generates the code. After a fault, `expand::stub` lets the uses of the type
//! compile.

mod expand;

use std::collections::HashMap;

use proc_macro2::TokenStream;
use quote::ToTokens as _;
use syn::{Attribute, Data, DeriveInput, Fields, GenericParam, Ident, LitStr, Path, Type};

use crate::attr::{Attr, each_meta, flag, read_crate, skip_value, unknown_option, unraw, value};
use crate::ctxt::Ctxt;
use crate::key_field::codes;
use crate::names;
use crate::types::static_borrow;

/// Takes and returns `proc_macro2` tokens, which unit tests can make.
pub(crate) fn cell(input: &DeriveInput) -> TokenStream {
    let cx = Ctxt::new();
    let (cell, shape) = CellInput::from_input(&cx, input);
    let errors = cx.check().err().map(syn::Error::into_compile_error);
    let expanded = match (&shape, &errors) {
        (Some(shape), None) => expand::cell(&cell, shape),
        _ => expand::stub(&cell),
    };
    quote::quote!(#errors #expanded)
}

/// A type that derives `Cell`.
pub(crate) struct CellInput<'a> {
    pub(crate) input: &'a DeriveInput,
    pub(crate) krate: Option<Path>,
}

/// How the type is stored.
pub(crate) enum Shape<'a> {
    /// `struct UserId(String);`: its inner type.
    Newtype(&'a Type),
    /// `struct Seen;`
    Unit,
    /// `enum Kind { Login, Logout }`: its variants with their stored names.
    Names(Vec<(String, &'a Ident)>),
    /// `#[row(code)] enum Kind { Login = 1 }`: the codes of its variants, in ascending order.
    Codes(Vec<(u64, &'a Ident)>),
}

const SHAPES: &str = "a value of a cell is a newtype, such as `struct UserId(String);`, or an enum without fields, such as \
                      `enum Kind { Login, Logout }`";

impl<'a> CellInput<'a> {
    fn from_input(cx: &Ctxt, input: &'a DeriveInput) -> (Self, Option<Shape<'a>>) {
        let (mut krate, mut code) = (Attr::none("crate"), Attr::none("code"));
        for attr in row_attrs(&input.attrs) {
            each_meta(cx, attr, names::ON_CELL, |meta| {
                if meta.path.is_ident("crate") {
                    return read_crate(cx, &meta, &mut krate);
                } else if meta.path.is_ident("code") {
                    return flag(cx, &meta, &mut code);
                }
                unknown_option(cx, &meta.path, "row", names::ON_CELL);
                skip_value(meta.input)
            });
        }
        for param in &input.generics.params {
            let (tokens, kind) = match param {
                GenericParam::Lifetime(param) => (quote::quote!(#param), "lifetimes"),
                GenericParam::Type(param) => (quote::quote!(#param), "type parameters"),
                GenericParam::Const(param) => (quote::quote!(#param), "const parameters"),
            };
            cx.error(
                tokens,
                format_args!("a value of a cell has no {kind}; declare one type for each encoding"),
            );
        }
        let shape = match &input.data {
            Data::Struct(data) => fields_shape(cx, input, &data.fields),
            Data::Enum(data) if code.get().is_some() => {
                for attr in data.variants.iter().flat_map(|variant| row_attrs(&variant.attrs)) {
                    cx.error(attr, "a variant that is stored as its code has no stored name; remove this");
                }
                codes(cx, input, &data.variants).map(Shape::Codes)
            }
            Data::Enum(data) => names_of(cx, input, data).map(Shape::Names),
            Data::Union(data) => {
                cx.error(data.union_token, SHAPES);
                None
            }
        };
        if let (Data::Struct(_), Some(code)) = (&input.data, code.tokens()) {
            cx.error(code, "`code` is for an enum, whose variants have codes; remove it");
        }
        if let Some(Shape::Codes(codes)) = &shape
            && let Some((code, variant)) = codes.last().filter(|(code, _)| i64::try_from(*code).is_err())
        {
            cx.error(
                variant,
                format_args!(
                    "the code {code} is no integer of 64 bits with a sign; choose one up to {}",
                    i64::MAX
                ),
            );
        }
        (Self { input, krate: krate.get().cloned() }, shape)
    }
}

fn row_attrs(attrs: &[Attribute]) -> impl Iterator<Item = &Attribute> {
    attrs.iter().filter(|attr| attr.path().is_ident("row"))
}

fn fields_shape<'a>(cx: &Ctxt, input: &DeriveInput, fields: &'a Fields) -> Option<Shape<'a>> {
    for attr in fields.iter().flat_map(|field| row_attrs(&field.attrs)) {
        cx.error(attr, "the inner type of a newtype has no options; remove this");
    }
    match fields {
        Fields::Unit => Some(Shape::Unit),
        Fields::Unnamed(fields) if fields.unnamed.len() == 1 => {
            let inner = fields.unnamed.first().map(|field| &field.ty)?;
            if let Some(lifetime) = static_borrow(inner) {
                let fault = "a value of a cell is read from bytes that do not live for `'static`; hold a `String` or a `Vec<u8>`";
                cx.error(lifetime, fault);
            }
            Some(Shape::Newtype(inner))
        }
        _ => {
            cx.error(&input.ident, SHAPES);
            None
        }
    }
}

/// The variants with their stored names.
fn names_of<'a>(cx: &Ctxt, input: &DeriveInput, data: &'a syn::DataEnum) -> Option<Vec<(String, &'a Ident)>> {
    if data.variants.is_empty() {
        cx.error(&input.ident, "an enum without variants has no value to store; write `enum Kind { Login }`");
        return None;
    }
    let mut taken: HashMap<String, &Ident> = HashMap::new();
    let mut variants = Vec::new();
    for variant in &data.variants {
        let ident = &variant.ident;
        if !matches!(variant.fields, Fields::Unit) {
            cx.error(
                &variant.fields,
                format_args!(
                    "`{ident}` has fields, but a cell stores only the name of the variant; keep the fields in columns, or \
                     implement `Cell` by hand"
                ),
            );
        }
        let mut name = Attr::none("name");
        for attr in row_attrs(&variant.attrs) {
            each_meta(cx, attr, names::ON_VARIANT, |meta| {
                if !meta.path.is_ident("name") {
                    unknown_option(cx, &meta.path, "row", names::ON_VARIANT);
                    return skip_value(meta.input);
                }
                if let Some(text) = value::<LitStr>(cx, &meta, "a string, such as name = \"login\"")? {
                    name.set(cx, text.clone(), text);
                }
                Ok(())
            });
        }
        let stored = name.get().map_or_else(|| unraw(ident), LitStr::value);
        if let Some(other) = taken.insert(stored.clone(), ident) {
            cx.error(
                name.tokens().cloned().unwrap_or_else(|| ident.to_token_stream()),
                format_args!(
                    "`{other}` and `{ident}` are both stored as `{stored}`; give one another name with \
                     `#[row(name = \"…\")]`"
                ),
            );
        }
        variants.push((stored, ident));
    }
    Some(variants)
}
