//! The schema constant, and what is checked of it while compiling.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};

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
        let ty = field.type_at(&syn::parse_quote!('static));
        let codec = field.codec.tokens(private);
        let key_field = quote_spanned!(field.span()=> <#ty as #private::KeyField<#codec>>);
        quote!(#private::Field::new(#name, #key_field::FORMAT, #key_field::WIDTH))
    });
    quote! {
        #private::Schema::new(#key_type, #delimiter, #tag, #salt, &[#(#fields),*])
    }
}

/// The rules on widths, which only the field types know: each an error on the token at fault.
pub(super) fn assertions(key: &Key<'_>, private: &TokenStream) -> TokenStream {
    let fits =
        quote_spanned!(key.input.ident.span()=> const _: () = #private::Schema::assert_fits(&__SCHEMA););
    let delimiter = key.attrs.delimiter.tokens().and_then(|tokens| {
        let span = tokens.clone().into_iter().next()?.span();
        Some(quote_spanned!(span=> const _: () = #private::Schema::assert_delimiter(&__SCHEMA);))
    });
    quote!(#fits #delimiter)
}
