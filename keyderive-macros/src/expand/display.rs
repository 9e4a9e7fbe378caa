//! `Display` and `FromStr` of a key, where it asks for them.

use proc_macro2::TokenStream;
use quote::quote;

use crate::model::Key;

pub(crate) fn display(key: &Key<'_>, private: &TokenStream) -> Option<TokenStream> {
    key.attrs.display.get()?;
    let name = &key.input.ident;
    let (impl_generics, type_generics, where_clause) = key.input.generics.split_for_impl();
    // Text that is borrowed from could only be that of the caller, which `FromStr` does not keep.
    let owned = key.input.generics.params.is_empty().then(|| {
        quote! {
            #[automatically_derived]
            impl #private::core::str::FromStr for #name {
                type Err = #private::DecodeError;

                fn from_str(text: &#private::core::primitive::str) -> #private::core::result::Result<Self, #private::DecodeError> {
                    <Self as #private::RowKey>::from_text(text)
                }
            }
        }
    });
    Some(quote! {
        #[automatically_derived]
        impl #impl_generics #private::core::fmt::Display for #name #type_generics #where_clause {
            fn fmt(&self, f: &mut #private::core::fmt::Formatter<'_>) -> #private::core::fmt::Result {
                #private::display_key(self, f)
            }
        }

        #owned
    })
}
