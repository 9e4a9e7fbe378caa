//! The schema constant, and what is checked of it while compiling.

use proc_macro2::{Span, TokenStream};
use quote::quote;

use super::{key_field, respan};
use crate::model::Key;

/// The schema's value: its fields ask their types for format and width.
pub(super) fn schema(key: &Key<'_>, private: &TokenStream) -> TokenStream {
    let key_type = key.name();
    let delimiter = key.delimiter();
    let tag = match key.tag() {
        Some(tag) => quote!(#private::core::option::Option::Some(#tag)),
        None => quote!(#private::core::option::Option::None),
    };
    let salt = match key.salt() {
        Some(salt) => {
            let range = salt.range;
            let over = key.salted_fields();
            quote!(#private::core::option::Option::Some(#private::Salt::new(#range, &[#(#over),*])))
        }
        None => quote!(#private::core::option::Option::None),
    };
    let fields = key.fields.iter().map(|field| {
        let name = &field.name;
        let format = key_field(field, "FORMAT", private);
        let width = key_field(field, "WIDTH", private);
        let order = key_field(field, "ORDER", private);
        quote!(#private::Field::new(#name, #format, #width, #order))
    });
    quote! {
        #private::Schema::new(#key_type, #delimiter, #tag, #salt, &[#(#fields),*])
    }
}

/// The rules on widths, which only the field types know: each an error on the token at fault.
pub(super) fn assertions(key: &Key<'_>, private: &TokenStream) -> TokenStream {
    let fits = assertion(&quote!(assert_fits), key.input.ident.span(), private);
    let delimiter = key.attrs.delimiter.tokens().and_then(|tokens| {
        let span = tokens.clone().into_iter().next()?.span();
        Some(assertion(&quote!(assert_delimiter), span, private))
    });
    quote!(#fits #delimiter)
}

/// Calls a check of the schema while compiling, its error at `span`.
fn assertion(check: &TokenStream, span: Span, private: &TokenStream) -> TokenStream {
    let call = respan(quote!(#private::Schema::#check(__SCHEMA)), span);
    quote!(const _: () = #call;)
}
