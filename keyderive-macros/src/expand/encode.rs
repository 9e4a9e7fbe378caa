//! `encode_into`: the fields, in order, to the runtime's writer.

use proc_macro2::TokenStream;
use quote::quote;

use super::{key_field, on_type};
use crate::model::Key;

pub(super) fn encode_into(key: &Key<'_>, private: &TokenStream) -> TokenStream {
    let count = key.fields.len();
    let fields = key.fields.iter().enumerate().map(|(at, field)| {
        let (ident, ty) = (field.ident, field.type_at(&syn::parse_quote!('_)));
        let codec = field.codec.tokens(private);
        let width = key_field(field, "WIDTH", private);
        let write = on_type(
            field,
            match field.is_hashed() {
                true => quote!(#private::KeyWriter::hashed_field::<#codec,),
                false => quote!(#private::KeyWriter::field::<#codec,),
            },
            &ty,
            quote!(>(__key, #at, &self.#ident)?),
        );
        // The constant in front: see `decode`.
        quote!(let _ = #width; #write;)
    });
    let lens = key.fields.iter().map(|field| {
        let (ident, ty) = (field.ident, field.type_at(&syn::parse_quote!('_)));
        let codec = field.codec.tokens(private);
        let width = key_field(field, "WIDTH", private);
        let len = on_type(field, quote!(#private::written_len::<#codec,), &ty, quote!(>(&self.#ident)));
        quote!({ let _ = #width; #len })
    });
    quote! {
        #[inline]
        fn encode_into(
            &self,
            __out: &mut #private::Vec<#private::core::primitive::u8>,
        ) -> #private::core::result::Result<(), #private::EncodeError> {
            #private::encode_fields::<Self, #count>(__out, [#(#lens),*], |__key| {
                #(#fields)*
                #private::core::result::Result::Ok(())
            })
        }
    }
}
