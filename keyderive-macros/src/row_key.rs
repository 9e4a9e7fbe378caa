//! The derive of `RowKey`.
//!
//! After a fault, `fallback` generates stub impls beside the errors, so that the compiler does not report the same mistake at every
//! use.

mod attr;
mod check;
mod expand;
mod fallback;
mod layout;
mod model;
mod since;

use proc_macro2::TokenStream;
use syn::DeriveInput;

use crate::ctxt::Ctxt;

/// Takes and returns `proc_macro2` tokens, which unit tests can make.
pub(crate) fn row_key(input: &DeriveInput) -> TokenStream {
    let cx = Ctxt::new();
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
