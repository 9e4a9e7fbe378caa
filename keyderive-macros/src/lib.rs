//! The derive macros of [`keyderive`](https://docs.rs/keyderive); use them through that crate.
//!
//! Each stage is a module: `attr` parses the attributes, `model` builds the model of the key type, `check` checks the
//! rules that need more than one part of it, and `expand` generates the code. Every stage reports to one `ctxt::Ctxt`,
//! so that one run shows all faults. After a fault, `fallback` generates stub impls beside the errors, so that the
//! compiler does not report the same mistake at every use.

mod attr;
mod cell;
mod check;
mod ctxt;
mod expand;
mod fallback;
mod key_field;
mod model;
mod names;
mod query_row;
mod row;
mod since;

use proc_macro2::TokenStream;
use syn::DeriveInput;

#[doc = include_str!("docs/row_key.md")]
#[proc_macro_derive(RowKey, attributes(row_key, salt, pad, reverse_ts))]
pub fn derive_row_key(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    match syn::parse(input) {
        Ok(input) => row_key(&input),
        Err(error) => error.into_compile_error(),
    }
    .into()
}

#[doc = include_str!("docs/key_field.md")]
#[proc_macro_derive(KeyField, attributes(row_key, salt, pad, reverse_ts))]
pub fn derive_key_field(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    match syn::parse(input) {
        Ok(input) => key_field::key_field(&input),
        Err(error) => error.into_compile_error(),
    }
    .into()
}

#[doc = include_str!("docs/cell.md")]
#[proc_macro_derive(Cell, attributes(row))]
pub fn derive_cell(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    match syn::parse(input) {
        Ok(input) => cell::cell(&input),
        Err(error) => error.into_compile_error(),
    }
    .into()
}

#[doc = include_str!("docs/row.md")]
#[proc_macro_derive(Row, attributes(row))]
pub fn derive_row(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    match syn::parse(input) {
        Ok(input) => row::row(&input),
        Err(error) => error.into_compile_error(),
    }
    .into()
}

#[doc = include_str!("docs/from_query_row.md")]
#[proc_macro_derive(FromQueryRow, attributes(query))]
pub fn derive_from_query_row(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    match syn::parse(input) {
        Ok(input) => query_row::query_row(&input),
        Err(error) => error.into_compile_error(),
    }
    .into()
}

/// Takes and returns `proc_macro2` tokens, which unit tests can make.
fn row_key(input: &DeriveInput) -> TokenStream {
    let cx = ctxt::Ctxt::new();
    let key = model::Key::from_input(&cx, input);
    if let Some(key) = &key {
        check::check(&cx, key);
    }
    let warnings = cx.take_warnings();
    match (key, cx.check()) {
        (Some(key), Ok(())) => {
            let expanded = expand::row_key(&key);
            quote::quote!(#warnings #expanded)
        }
        (key, errors) => {
            let errors = errors.err().map(syn::Error::into_compile_error);
            let stub = fallback::row_key(input, key.as_ref());
            quote::quote!(#errors #warnings #stub)
        }
    }
}

#[cfg(test)]
mod tests;
