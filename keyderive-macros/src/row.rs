//! The derive of `Row`.
//!
//! In the same stages as `RowKey`: `attr` parses the attributes, `model` builds the model of the row type, `check` checks the
//! rules that need more than one part of it, and `expand` generates the code.

mod attr;
mod check;
mod expand;
mod layout;
mod model;

use proc_macro2::TokenStream;
use syn::DeriveInput;

use crate::ctxt::Ctxt;

/// Takes and returns `proc_macro2` tokens, which unit tests can make.
pub(crate) fn row(input: &DeriveInput) -> TokenStream {
    let cx = Ctxt::new();
    let row = model::Row::from_input(&cx, input);
    if let Some(row) = &row {
        check::check(&cx, row);
    }
    let warnings = cx.take_warnings();
    match (row, cx.check()) {
        (Some(row), Ok(())) => {
            let expanded = expand::row(&row);
            quote::quote!(#warnings #expanded)
        }
        (row, errors) => {
            let errors = errors.err().map(syn::Error::into_compile_error);
            let stub = expand::stub(input, row.as_ref());
            quote::quote!(#errors #warnings #stub)
        }
    }
}
