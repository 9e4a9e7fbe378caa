//! `decode`: the fields, in order, from the runtime's reader.

use proc_macro2::TokenStream;
use quote::quote;
use syn::Lifetime;

use super::{key_field, on_type};
use crate::model::Key;

/// What decode gives: the key, or its bytes where a field of it is a hash.
pub(super) fn decoded(key: &Key<'_>, lifetime: &Lifetime, private: &TokenStream) -> TokenStream {
    match key.first_hashed() {
        Some(_) => quote!(#private::RawKey),
        None => key.type_at(lifetime),
    }
}

/// What makes the key type that of a table, where it borrows nothing.
pub(super) fn table_key(key: &Key<'_>, private: &TokenStream) -> Option<TokenStream> {
    let name = &key.input.ident;
    if !key.input.generics.params.is_empty() {
        return None;
    }
    if key.first_hashed().is_none() {
        return Some(quote!(#[automatically_derived] impl #private::OwnedRowKey for #name {}));
    }
    Some(quote! {
        #[automatically_derived]
        impl #private::TableKey for #name {
            type Stored = #private::RawKey;

            fn stored(__bytes: &[#private::core::primitive::u8]) -> #private::core::result::Result<#private::RawKey, #private::DecodeError> {
                <#name as #private::RowKey>::decode(__bytes)
            }
        }
    })
}

pub(super) fn decode(key: &Key<'_>, private: &TokenStream) -> TokenStream {
    let count = key.fields.len();
    let lifetime: Lifetime = syn::parse_quote!('__keyderive_key);
    let name = &key.input.ident;
    let fields = key.fields.iter().enumerate().map(|(at, field)| {
        let ident = field.ident;
        let ty = field.type_at(&syn::parse_quote!('_));
        let codec = field.codec.tokens(private);
        let width = key_field(field, "WIDTH", private);
        let read = on_type(field, quote!(#private::KeyReader::field::<#codec,), &ty, quote!(>(__key, #at)?));
        // The constant in front is the error where the type has no format: without it, the runtime's
        // bounds would be reported too.
        match (key.first_hashed(), field.is_hashed()) {
            (None, _) => quote!(#ident: { let _ = #width; #read }),
            (Some(_), false) => quote!({ let _ = #width; #read };),
            (Some(_), true) => quote!(#private::KeyReader::hashed_field(__key, #at)?;),
        }
    });
    let read = match key.first_hashed() {
        None => quote!(#private::core::result::Result::Ok(#name { #(#fields),* })),
        Some(_) => quote!(#(#fields)* #private::core::result::Result::Ok(#private::RawKey::new(__bytes))),
    };
    quote! {
        #[inline]
        fn decode<#lifetime>(
            __bytes: &#lifetime [#private::core::primitive::u8],
        ) -> #private::core::result::Result<Self::Decoded<#lifetime>, #private::DecodeError> {
            #private::decode_fields::<Self, #count>(__bytes, |__key| {
                #read
            })
        }
    }
}
