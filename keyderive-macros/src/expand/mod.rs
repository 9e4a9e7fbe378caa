//! Printing: one `const` with the impls, and the scan builder beside it.

mod decode;
mod display;
mod encode;
mod scan;
mod schema;
mod type_name;
mod with;

pub(crate) use display::display;

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::{Lifetime, Type};

use crate::model::{Field, Key};
use crate::runtime::Runtime;

/// All that the derive prints for a key type without faults.
pub(crate) fn row_key(key: &Key<'_>) -> TokenStream {
    let Runtime { private, import } = key.runtime();
    let lifetime: Lifetime = syn::parse_quote!('__keyderive_key);
    let decoded = decode::decoded(key, &lifetime, &private);
    let name = &key.input.ident;
    let (impl_generics, type_generics, where_clause) = key.input.generics.split_for_impl();
    let scan = key.scan_ident();

    let schema = schema::schema(key, &private);
    let assertions = schema::assertions(key, &private);
    let encode = encode::encode_into(key, &private);
    let decode = decode::decode(key, &private);
    let builder = scan::builder(key, &private);
    let stages = scan::stages(key, &private);
    let codecs = with::codecs(key, &private);
    let display = display(key, &private);

    let table_key = decode::table_key(key, &private);

    // The name as the struct declares it: a deprecated struct is not reported in our own impl.
    let name = quote_spanned!(name.span()=> #name);
    quote! {
        #import

        #builder

        #[doc(hidden)]
        #[allow(
            clippy::all,
            clippy::nursery,
            clippy::pedantic,
            clippy::restriction,
            deprecated,
            non_camel_case_types,
            non_snake_case,
            private_bounds,
            private_interfaces,
            unused_qualifications,
        )]
        const _: () = {
            const __SCHEMA: &#private::Schema = &#schema;

            #assertions

            #[automatically_derived]
            impl #impl_generics #private::RowKey for #name #type_generics #where_clause {
                type Decoded<#lifetime> = #decoded;
                type Scan = #scan;
                const SCHEMA: &'static #private::Schema = __SCHEMA;

                #encode

                #decode

                #[inline]
                fn scan() -> #scan {
                    #scan { draft: #private::Draft::new(__SCHEMA), stage: #private::core::marker::PhantomData }
                }
            }

            #table_key

            #display

            #codecs

            #stages
        };
    }
}

/// `<ty as KeyField<…>>::item`, on the field's type.
///
/// Its lifetimes are left to inference, which finds the same ones everywhere.
fn key_field(field: &Field<'_>, item: &str, private: &TokenStream) -> TokenStream {
    let codec = field.codec.tokens(private);
    let item = Ident::new(item, Span::call_site());
    let ty = field.type_at(&syn::parse_quote!('_));
    on_type(field, quote!(<), &ty, quote!(as #private::KeyField<#codec>>::#item))
}

/// `before ty after`, placed so that an error about it is on the whole of the field's type.
///
/// The compiler takes a span from the first token to the last one. What has no format for its type is
/// printed in this way everywhere, so that it is the same error each time, and said once.
fn on_type(field: &Field<'_>, before: TokenStream, ty: &TokenStream, after: TokenStream) -> TokenStream {
    on_span_of(field.ty, before, ty, after)
}

/// `before ty after`, placed on the whole of the type that `written` is.
pub(crate) fn on_span_of(
    written: &Type,
    before: TokenStream,
    ty: &TokenStream,
    after: TokenStream,
) -> TokenStream {
    let mut spans = written.to_token_stream().into_iter().map(|token| token.span());
    let start = spans.next().unwrap_or_else(Span::call_site);
    let end = spans.last().unwrap_or(start);
    let (before, after) = (respan(before, start), respan(after, end));
    quote!(#before #ty #after)
}

/// The tokens, all placed at `span`; `quote_spanned` leaves those that are interpolated where they were.
pub(crate) fn respan(tokens: TokenStream, span: Span) -> TokenStream {
    let respan = |mut token: TokenTree| {
        token.set_span(span);
        token
    };
    tokens.into_iter().map(respan).collect()
}
