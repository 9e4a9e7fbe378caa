//! The schema constant, and what is checked of it while compiling.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote};

use super::type_name::type_name;
use super::{key_field, respan};
use crate::attr::{Layout, SaltAttr};
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
            let salt = salt_value(key, salt, private);
            quote!(#private::core::option::Option::Some(#salt))
        }
        None => quote!(#private::core::option::Option::None),
    };
    let fields = key.fields.iter().map(|field| {
        let name = field.schema_name();
        let rust_type = type_name(field.ty.to_token_stream());
        let format = key_field(field, "FORMAT", private);
        let width = key_field(field, "WIDTH", private);
        if field.is_hashed() {
            let layout = layout(key, private);
            return quote!({ let _ = #width; #private::Field::hashed(#name, #rust_type, #layout) });
        }
        let order = key_field(field, "ORDER", private);
        quote!(#private::Field::new(#name, #rust_type, #format, #width, #order))
    });
    let layout = layout(key, private);
    quote! {
        #private::Schema::new(#key_type, #delimiter, #tag, #salt, &[#(#fields),*]).with_layout(#layout)
    }
}

fn layout(key: &Key<'_>, private: &TokenStream) -> TokenStream {
    match key.layout() {
        Layout::Text => quote!(#private::Layout::Delimited),
        Layout::Ordered => quote!(#private::Layout::OrderedCode),
    }
}

fn salt_value(key: &Key<'_>, salt: &SaltAttr, private: &TokenStream) -> TokenStream {
    let range = salt.range();
    let over = key.salted_fields();
    let place = key.salt_place(salt).tokens(private);
    // The delimiter itself is the same layout as none.
    let sep = salt.sep.get().filter(|sep| sep.as_bytes() != [key.delimiter()]);
    let sep = sep.map(|sep| quote!(.with_sep(#sep)));
    let hash = salt.java.get().map(|()| quote!(.with_hash(#private::SaltHash::Java)));
    quote!(#private::Salt::new(#range, &[#(#over),*]).with_place(#place) #sep #hash)
}

/// The rules on what only the field types know, such as widths: each an error on the token at fault.
pub(super) fn assertions(key: &Key<'_>, private: &TokenStream) -> TokenStream {
    let fits = assertion(&quote!(assert_fits(__SCHEMA)), key.input.ident.span(), private);
    let delimiter = key.attrs.delimiter.tokens().and_then(first_span);
    let delimiter = delimiter.map(|span| assertion(&quote!(assert_delimiter(__SCHEMA)), span, private));
    let pinned = key.attrs.fingerprint.get().zip(key.attrs.fingerprint.tokens().and_then(first_span));
    let fingerprint =
        pinned.map(|(pinned, span)| assertion(&quote!(assert_fingerprint(__SCHEMA, #pinned)), span, private));
    quote!(#fits #delimiter #fingerprint)
}

fn first_span(tokens: &TokenStream) -> Option<Span> {
    tokens.clone().into_iter().next().map(|token| token.span())
}

/// Calls a check of the schema while compiling, its error at `span`.
fn assertion(check: &TokenStream, span: Span, private: &TokenStream) -> TokenStream {
    let call = respan(quote!(#private::Schema::#check), span);
    quote!(const _: () = #call;)
}
