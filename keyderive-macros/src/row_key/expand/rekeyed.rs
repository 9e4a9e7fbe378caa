//! A key type that takes the place of another: its conversions, field by field.

use proc_macro2::{Delimiter, Group, Span, TokenStream};
use quote::{ToTokens, format_ident, quote};
use syn::Path;

use super::super::model::{Field, Key};
use super::on_type;
use crate::attr::unraw;
use crate::tokens::first_span;

/// The impls of `From` in both directions, and of `RekeyedFrom`.
pub(super) fn impls(key: &Key<'_>, private: &TokenStream) -> Option<TokenStream> {
    let old = key.attrs.rekeyed_from.get()?;
    let name = &key.input.ident;
    let traits = key.fields.iter().enumerate().map(|(at, field)| same_type(key, old, at, field, private));
    let locals: Vec<_> = (0..key.fields.len()).map(|at| format_ident!("__field{at}")).collect();
    let idents: Vec<_> = key.fields.iter().map(|field| field.ident).collect();
    let sources: Vec<_> = key.fields.iter().map(Field::old_ident).collect();
    let call = |at: usize, function: TokenStream| {
        let (field, same, local) = (&key.fields[at], same_ident(at), &locals[at]);
        on_type(field, quote!(<), &field.ty.to_token_stream(), quote!(as #same<_>>::#function(#local)))
    };
    let to_new = (0..key.fields.len()).map(|at| call(at, quote!(__new)));
    let to_old = (0..key.fields.len()).map(|at| call(at, quote!(__old)));
    // A field that is left over is an error on the path.
    let old_fields = braced(quote!(#(#sources: #locals),*), old);
    let old_values = braced(quote!(#(#sources: #to_old),*), old);
    let names = key.fields.iter().map(|field| unraw(&field.old_ident()));
    let from = quote!(#private::core::convert::From);
    Some(quote! {
        #(#traits)*

        #[automatically_derived]
        impl #from<#old> for #name {
            fn from(__old: #old) -> Self {
                let #old #old_fields = __old;
                Self { #(#idents: #to_new),* }
            }
        }

        #[automatically_derived]
        impl #from<&#name> for #old {
            fn from(__new: &#name) -> Self {
                let #name { #(#idents: #locals),* } = __new;
                #old #old_values
            }
        }

        #[automatically_derived]
        impl #private::RekeyedFrom<#old> for #name {
            const DECLARED: #private::RekeyedFields = #private::RekeyedFields::new::<#old>(&[#(#names),*]);
        }
    })
}

/// The items of `RowKey` that say which key it takes the place of, and what its fields are called in the struct.
pub(super) fn items(key: &Key<'_>, private: &TokenStream) -> TokenStream {
    let option = quote!(#private::core::option::Option);
    let rekeyed = key.attrs.rekeyed_from.get().map(|old| {
        quote! {
            const REKEYED_FROM: #option<#private::RekeyedFields> =
                #option::Some(<Self as #private::RekeyedFrom<#old>>::DECLARED);
        }
    });
    let is_named = key.fields.iter().any(|field| field.attrs.name.get().is_some());
    let names = is_named.then(|| {
        let names = key.fields.iter().map(|field| &field.name);
        quote!(const FIELD_NAMES: &'static [&'static #private::core::primitive::str] = &[#(#names),*];)
    });
    quote!(#rekeyed #names)
}

/// The trait by which a field has the type of the old one. Its second impl keeps the compiler from inferring the old type, so that another
/// one is reported by this message.
fn same_type(key: &Key<'_>, old: &Path, at: usize, field: &Field<'_>, private: &TokenStream) -> TokenStream {
    let (same, new, source) = (same_ident(at), key.name(), unraw(&field.old_ident()));
    let old = old.segments.last().map(|segment| unraw(&segment.ident)).unwrap_or_default();
    let message = format!(
        "`{}` of `{new}` is a `{{Self}}`, and `{source}` of `{old}`, whose values it takes, is a `{{__Old}}`",
        field.name
    );
    let label = format!("not the type of `{source}` in `{old}`");
    let note = "give both fields one type; or remove `rekeyed_from`, write both conversions by hand, and scan by `scan_both`";
    let clone = quote!(#private::core::clone::Clone);
    quote! {
        #[diagnostic::on_unimplemented(message = #message, label = #label, note = #note)]
        trait #same<__Old> {
            fn __new(__old: __Old) -> Self;
            fn __old(&self) -> __Old where Self: #clone;
        }

        impl<__T> #same<__T> for __T {
            fn __new(__old: __T) -> __T {
                __old
            }

            fn __old(&self) -> __T where __T: #clone {
                #clone::clone(self)
            }
        }

        impl<__T> #same<(__T,)> for __T {
            fn __new((__old,): (__T,)) -> __T {
                __old
            }

            fn __old(&self) -> (__T,) where __T: #clone {
                (#clone::clone(self),)
            }
        }
    }
}

fn same_ident(at: usize) -> proc_macro2::Ident {
    format_ident!("__SameType{at}")
}

/// The tokens in braces that have the span of a path.
fn braced(tokens: TokenStream, path: &Path) -> TokenStream {
    let mut group = Group::new(Delimiter::Brace, tokens);
    group.set_span(first_span(&path.to_token_stream()).unwrap_or_else(Span::call_site));
    group.into_token_stream()
}
