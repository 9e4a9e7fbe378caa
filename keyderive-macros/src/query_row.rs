//! The derive of `FromQueryRow`, for structs with named fields: each is a column of a query's result.

use std::collections::HashMap;

use proc_macro2::TokenStream;
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned as _;
use syn::{Attribute, Data, DeriveInput, Fields, GenericParam, Ident, LitStr, Path, Type};

use crate::attr::{Attr, each_meta, read_crate, skip_value, unknown_option, unraw, value};
use crate::ctxt::Ctxt;
use crate::names;
use crate::tokens::{Runtime, in_scope};

/// Takes and returns `proc_macro2` tokens, which unit tests can make.
pub(crate) fn query_row(input: &DeriveInput) -> TokenStream {
    let cx = Ctxt::new();
    let row = QueryRow::from_input(&cx, input);
    let errors = cx.check().err().map(syn::Error::into_compile_error);
    let expanded = expand(&row, errors.is_none());
    quote!(#errors #expanded)
}

struct QueryRow<'a> {
    input: &'a DeriveInput,
    krate: Option<Path>,
    columns: Vec<Column<'a>>,
}

struct Column<'a> {
    name: String,
    field: &'a Ident,
    ty: &'a Type,
}

impl<'a> QueryRow<'a> {
    fn from_input(cx: &Ctxt, input: &'a DeriveInput) -> Self {
        let mut krate = Attr::none("crate");
        for attr in query_attrs(&input.attrs) {
            each_meta(cx, attr, names::ON_QUERY_ROW, |meta| {
                if meta.path.is_ident("crate") {
                    return read_crate(cx, &meta, &mut krate);
                }
                unknown_option(cx, &meta.path, "query", names::ON_QUERY_ROW);
                skip_value(meta.input)
            });
        }
        for param in &input.generics.params {
            let (tokens, kind) = match param {
                GenericParam::Lifetime(param) => (quote!(#param), "lifetimes"),
                GenericParam::Type(param) => (quote!(#param), "type parameters"),
                GenericParam::Const(param) => (quote!(#param), "const parameters"),
            };
            cx.error(tokens, format_args!("a row of a query owns its values and has no {kind}; remove them"));
        }
        let columns = match &input.data {
            Data::Struct(data) => columns(cx, input, &data.fields),
            _ => {
                cx.error(&input.ident, NO_STRUCT);
                Vec::new()
            }
        };
        Self { input, krate: krate.get().cloned(), columns }
    }
}

const NO_STRUCT: &str = "a row of a query is a struct with a named field for each column that it reads; for columns by their order, \
                         fetch a tuple instead";

fn query_attrs(attrs: &[Attribute]) -> impl Iterator<Item = &Attribute> {
    attrs.iter().filter(|attr| attr.path().is_ident("query"))
}

fn columns<'a>(cx: &Ctxt, input: &DeriveInput, fields: &'a Fields) -> Vec<Column<'a>> {
    let Fields::Named(fields) = fields else {
        cx.error(&input.ident, NO_STRUCT);
        return Vec::new();
    };
    let (mut taken, mut columns) = (HashMap::new(), Vec::new());
    for field in &fields.named {
        let Some(ident) = &field.ident else { continue };
        let mut name = Attr::none("name");
        for attr in query_attrs(&field.attrs) {
            each_meta(cx, attr, names::ON_QUERY_FIELD, |meta| {
                if meta.path.is_ident("name") {
                    if let Some(column) = value::<LitStr>(cx, &meta, "a string, such as name = \"n\"")? {
                        name.set(cx, column.clone(), column);
                    }
                    return Ok(());
                }
                unknown_option(cx, &meta.path, "query", names::ON_QUERY_FIELD);
                skip_value(meta.input)
            });
        }
        let name = name.get().map_or_else(|| unraw(ident), LitStr::value);
        if let Some(first) = taken.insert(name.clone(), ident) {
            cx.error(
                ident,
                format_args!("the column `{name}` is read by `{first}` already; remove one of them"),
            );
        }
        columns.push(Column { name, field: ident, ty: &field.ty });
    }
    columns
}

fn expand(row: &QueryRow<'_>, is_good: bool) -> TokenStream {
    let QueryRow { input, krate, columns } = row;
    // A stub for a type with parameters would need bounds that the user did not write.
    if !input.generics.params.is_empty() {
        return TokenStream::new();
    }
    let ident = &input.ident;
    let Runtime { private, import } = Runtime::new(krate.as_ref(), ident);
    // Both functions read through one list of columns, so that the compiler reports a field's type once.
    let vars: Vec<_> = (0..columns.len()).map(|index| format_ident!("__column_{index}")).collect();
    let types = columns.iter().map(|Column { ty, .. }| ty);
    let list = columns
        .iter()
        .map(|Column { name, ty, .. }| quote_spanned!(ty.span()=> #private::named_column::<#ty>(#name),));
    let fields = columns.iter().map(|Column { field, .. }| field);
    let (list, check, read) = match is_good {
        true => (
            quote! {
                fn __columns() -> (#(#private::NamedColumn<#types>,)*) {
                    (#(#list)*)
                }
            },
            quote! {
                let (#(#vars,)*) = __columns();
                #(#vars.check(__of_result)?;)*
                #private::core::result::Result::Ok(())
            },
            quote! {
                let (#(#vars,)*) = __columns();
                #private::core::result::Result::Ok(Self { #(#fields: #vars.get(&__row)?,)* })
            },
        ),
        false => (quote!(), quote!(#private::core::unreachable!()), quote!(#private::core::unreachable!())),
    };
    // With the type's own span, a deprecated type is not reported in our impl.
    let name = quote_spanned!(ident.span()=> #ident);
    let implementation = quote! {
        #list

        #[automatically_derived]
        impl #private::FromQueryRow for #name {
            fn check_columns(
                __of_result: &#private::QueryColumns,
            ) -> #private::core::result::Result<(), #private::ColumnError> {
                #check
            }

            fn from_query_row(
                __row: #private::QueryRow,
            ) -> #private::core::result::Result<Self, #private::ColumnError> {
                #read
            }
        }
    };
    in_scope(import.as_ref(), &implementation)
}
