//! Generates stub impls beside the errors, so that every use of the key type compiles.

use std::collections::HashSet;

use proc_macro2::TokenStream;
use quote::quote;
use syn::{DeriveInput, GenericParam, Ident, parse_quote};

use super::check::{BUILDER_METHODS, methods_of};
use super::expand;
use super::model::{Key, scan_ident};
use crate::attr::unraw;
use crate::tokens::Runtime;
use crate::types::self_type;

pub(super) fn row_key(input: &DeriveInput, key: Option<&Key<'_>>) -> TokenStream {
    // A stub for a type with parameters would need bounds that the user did not write.
    if input.generics.params.iter().any(|param| !matches!(param, GenericParam::Lifetime(_))) {
        return TokenStream::new();
    }
    let Runtime { private, import } = key.map_or_else(|| Runtime::new(None, &input.ident), Key::runtime);
    let (name, vis, scan) = (&input.ident, &input.vis, scan_ident(input));
    let (impl_generics, type_generics, where_clause) = input.generics.split_for_impl();
    let decoded = self_type(input, &parse_quote!('__keyderive_key));
    let fixed = self_type(input, &parse_quote!('static));
    let methods = key.map(methods).unwrap_or_default();
    let display = key.and_then(|key| expand::display(key, &private));
    let own_methods = key.is_none_or(|key| key.attrs.trait_methods.tokens().is_none()).then(|| {
        let decoded = self_type(input, &parse_quote!('_));
        expand::methods(input, &decoded, &private)
    });
    let owned = input
        .generics
        .params
        .is_empty()
        .then(|| quote!(#[automatically_derived] impl #private::OwnedRowKey for #name {}));
    quote! {
        #import

        #own_methods

        #[doc(hidden)]
        #[allow(dead_code)]
        #vis struct #scan;

        #[allow(dead_code, clippy::all, clippy::pedantic)]
        const _: () = {
            static __SCHEMA: #private::KeySchema = #private::KeySchema::new(
                "", b'#', #private::core::option::Option::None, #private::core::option::Option::None, &[],
            );

            #[automatically_derived]
            impl #scan {
                #(pub fn #methods<T>(self, _: T) -> Self { self })*

                pub fn into_plan(
                    self,
                ) -> #private::core::result::Result<#private::Plan<#fixed>, #private::PlanError> {
                    #private::core::unreachable!()
                }

                pub fn explain(&self) -> #private::core::result::Result<#private::Explain, #private::PlanError> {
                    #private::core::unreachable!()
                }
            }

            #[automatically_derived]
            impl #private::IntoPlan<#fixed> for #scan {
                fn into_plan(
                    self,
                ) -> #private::core::result::Result<#private::Plan<#fixed>, #private::PlanError> {
                    #private::core::unreachable!()
                }
            }

            #owned

            #display

            #[automatically_derived]
            impl #impl_generics #private::RowKey for #name #type_generics #where_clause {
                type Decoded<'__keyderive_key> = #decoded;
                type Scan = #scan;
                const SCHEMA: &'static #private::KeySchema = &__SCHEMA;

                fn encode_into(
                    &self,
                    _: &mut #private::Vec<#private::core::primitive::u8>,
                ) -> #private::core::result::Result<(), #private::EncodeError> {
                    #private::core::unreachable!()
                }

                fn decode(
                    _: &[#private::core::primitive::u8],
                ) -> #private::core::result::Result<Self::Decoded<'_>, #private::DecodeError> {
                    #private::core::unreachable!()
                }

                fn scan() -> #scan {
                    #scan
                }
            }
        };
    }
}

/// The methods of the stub builder, each once: collisions already have their errors.
fn methods(key: &Key<'_>) -> Vec<Ident> {
    let mut taken: HashSet<String> = BUILDER_METHODS.map(str::to_owned).into();
    let methods = key.fields.iter().flat_map(methods_of);
    methods.filter(|method| taken.insert(unraw(method))).collect()
}
