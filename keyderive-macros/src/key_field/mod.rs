//! The derive of `KeyField`: newtypes, and field-less enums with explicit codes.
//!
//! The same stages as for a key type, in small: `model` reads and checks, `expand` prints, and after a
//! fault `expand::stub` lets the uses of the type compile.

mod expand;
mod model;

use proc_macro2::TokenStream;
use syn::DeriveInput;

use crate::ctxt::Ctxt;
use model::FieldType;

/// The derive on tokens that need no compiler, for tests in the process.
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
