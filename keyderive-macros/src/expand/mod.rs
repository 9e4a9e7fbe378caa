//! Printing: one `const` with the impls, and the scan builder beside it.

mod decode;
mod encode;
mod scan;
mod schema;

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::Lifetime;

use crate::model::Key;

/// All that the derive prints for a key type without faults.
pub(crate) fn row_key(key: &Key<'_>) -> TokenStream {
    let krate = key.krate();
    let private = quote!(#krate::__private);
    let lifetime: Lifetime = syn::parse_quote!('__keyderive_key);
    let decoded = key.type_at(&lifetime);
    let name = &key.input.ident;
    let (impl_generics, type_generics, where_clause) = key.input.generics.split_for_impl();
    let scan = key.scan_ident();

    let schema = schema::schema(key, &private);
    let assertions = schema::assertions(key, &private);
    let encode = encode::encode_into(key, &private);
    let decode = decode::decode(key, &private);
    let builder = scan::builder(key, &private);
    let stages = scan::stages(key, &private);

    // The name as the struct declares it: a deprecated struct is not reported in our own impl.
    let name = quote_spanned!(name.span()=> #name);
    quote! {
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
            unused_qualifications,
        )]
        const _: () = {
            static __SCHEMA: #private::Schema = #schema;

            #assertions

            #[automatically_derived]
            impl #impl_generics #private::RowKey for #name #type_generics #where_clause {
                type Decoded<#lifetime> = #decoded;
                type Scan = #scan;
                const SCHEMA: &'static #private::Schema = &__SCHEMA;

                #encode

                #decode

                #[inline]
                fn scan() -> #scan {
                    #scan { draft: #private::Draft::new(&__SCHEMA), stage: #private::core::marker::PhantomData }
                }
            }

            #stages
        };
    }
}
