//! `decode`: the fields, in order, from the runtime's reader.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::Lifetime;

use crate::model::Key;

pub(super) fn decode(key: &Key<'_>, private: &TokenStream) -> TokenStream {
    let count = key.fields.len();
    let lifetime: Lifetime = syn::parse_quote!('__keyderive_key);
    let name = &key.input.ident;
    let fields = key.fields.iter().map(|field| {
        let ident = field.ident;
        let ty = field.type_at(&lifetime);
        let codec = field.codec.tokens(private);
        let reader = quote_spanned!(field.span()=> #private::KeyReader::field::<#codec, #ty>);
        quote!(#ident: #reader(__key)?)
    });
    quote! {
        #[inline]
        fn decode<#lifetime>(
            __bytes: &#lifetime [u8],
        ) -> #private::core::result::Result<Self::Decoded<#lifetime>, #private::DecodeError> {
            #private::decode_fields::<_, #count>(&__SCHEMA, __bytes, |__key| {
                #private::core::result::Result::Ok(#name { #(#fields),* })
            })
        }
    }
}
