//! `decode`: the fields, in order, from the runtime's reader.

use proc_macro2::TokenStream;
use quote::quote;
use syn::Lifetime;

use super::{key_field, on_type};
use crate::model::Key;

pub(super) fn decode(key: &Key<'_>, private: &TokenStream) -> TokenStream {
    let count = key.fields.len();
    let lifetime: Lifetime = syn::parse_quote!('__keyderive_key);
    let name = &key.input.ident;
    let fields = key.fields.iter().map(|field| {
        let ident = field.ident;
        let ty = field.type_at(&syn::parse_quote!('_));
        let codec = field.codec.tokens(private);
        let width = key_field(field, "WIDTH", private);
        let read = on_type(field, quote!(#private::KeyReader::field::<#codec,), &ty, quote!(>(__key)?));
        // The constant in front is the error where the type has no format: without it, the runtime's
        // bounds would be reported too.
        quote!(#ident: { let _ = #width; #read })
    });
    quote! {
        #[inline]
        fn decode<#lifetime>(
            __bytes: &#lifetime [u8],
        ) -> #private::core::result::Result<Self::Decoded<#lifetime>, #private::DecodeError> {
            #private::decode_fields::<_, #count>(__SCHEMA, __bytes, |__key| {
                #private::core::result::Result::Ok(#name { #(#fields),* })
            })
        }
    }
}
