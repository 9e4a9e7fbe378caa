//! Fields stored `with` a module of the user's: a marker type for each, and its codec.

use proc_macro2::{Group, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote};

use super::{on_type, respan};
use crate::model::{Field, Key};

/// The codecs of all such fields.
pub(super) fn codecs(key: &Key<'_>, private: &TokenStream) -> TokenStream {
    key.fields.iter().filter_map(|field| codec(field, private)).collect()
}

/// The tokens, those in groups too, all placed at `span`.
fn respan_all(tokens: TokenStream, span: Span) -> TokenStream {
    let respan = |token: TokenTree| {
        let mut token = match token {
            TokenTree::Group(group) => Group::new(group.delimiter(), respan_all(group.stream(), span)).into(),
            token => token,
        };
        token.set_span(span);
        token
    };
    tokens.into_iter().map(respan).collect()
}

/// The marker that stands for the module on this field, so that its type may be foreign.
fn codec(field: &Field<'_>, private: &TokenStream) -> Option<TokenStream> {
    let marker = field.codec.with_marker()?;
    let with = field.attrs.with.get()?;
    let (written, module, ty) = (&with.written, &with.module, field.ty);
    // What is amiss with the module is an error on its path, what is with the type on the type.
    let span = module.to_token_stream().into_iter().next().map_or_else(Span::call_site, |token| token.span());
    let width = respan(quote!(#module::WIDTH), span);
    let write = respan_all(quote!(|value, out| #module::write(value, out)), span);
    let read = respan_all(quote!(|bytes| #module::read(bytes)), span);
    let arg = on_type(field, quote!(&'__keyderive), &quote!(#ty), TokenStream::new());
    Some(quote! {
        pub enum #marker {}

        #[automatically_derived]
        impl #private::KeyField<#marker> for #ty {
            type Arg<'__keyderive> = #arg;
            type Decoded<'__keyderive> = #ty;
            const FORMAT: #private::Format = #private::Format::Custom(#written);
            const WIDTH: #private::Width = #width;

            #[inline]
            fn arg(&self) -> &#ty {
                self
            }

            #[inline]
            fn write(
                value: &#ty,
                out: &mut #private::Vec<#private::core::primitive::u8>,
            ) -> #private::core::result::Result<(), #private::FieldError> {
                #private::write_custom::<#marker, #ty>(value, out, #write)
            }

            #[inline]
            fn read(
                bytes: #private::Cow<'_, [#private::core::primitive::u8]>,
            ) -> #private::core::result::Result<#ty, #private::FieldError> {
                #private::read_custom::<#marker, #ty>(&bytes, #read)
            }
        }
    })
}
