//! Warnings, which a derive has no means to give: the use of a constant that is deprecated, on the tokens at fault.

use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::Ident;

/// A warning on `tokens`. The compiler shows `name` before the message, as the name of the constant.
pub(crate) fn print(tokens: TokenStream, name: &str, message: &str) -> TokenStream {
    let span = tokens.into_iter().next().map_or_else(Span::call_site, |token| token.span());
    let [declared, used] = [Span::call_site(), span].map(|span| Ident::new(name, span));
    quote! {
        #[allow(non_upper_case_globals)]
        const _: () = {
            #[deprecated = #message]
            const #declared: () = ();
            #used
        };
    }
}
