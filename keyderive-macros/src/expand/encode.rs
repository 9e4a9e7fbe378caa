//! `encode_into`: the fields, in order, to the runtime's writer.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};

use crate::model::Key;

pub(super) fn encode_into(key: &Key<'_>, private: &TokenStream) -> TokenStream {
    let count = key.fields.len();
    let fields = key.fields.iter().map(|field| {
        let (ident, ty) = (field.ident, field.ty);
        let codec = field.codec.tokens(private);
        let writer = quote_spanned!(field.span()=> #private::KeyWriter::field::<#codec, #ty>);
        quote!(#writer(__key, &self.#ident)?;)
    });
    quote! {
        #[inline]
        fn encode_into(
            &self,
            __out: &mut #private::Vec<u8>,
        ) -> #private::core::result::Result<(), #private::EncodeError> {
            #private::encode_fields::<#count>(&__SCHEMA, __out, |__key| {
                #(#fields)*
                #private::core::result::Result::Ok(())
            })
        }
    }
}
