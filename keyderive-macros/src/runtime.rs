//! Where the printed code finds the runtime.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::{Ident, Path};

use crate::attr::unraw;

/// The path to the runtime's private module, and what has to stand before its first use.
pub(crate) struct Runtime {
    pub(crate) private: TokenStream,
    /// The path that `crate = "…"` gives is named here alone, so that a wrong one is a single error.
    pub(crate) import: Option<TokenStream>,
}

impl Runtime {
    /// That of the type `ident`, by the path that its attribute gives.
    pub(crate) fn new(krate: Option<&Path>, ident: &Ident) -> Self {
        let Some(krate) = krate else {
            return Self { private: quote!(::keyderive::__private), import: None };
        };
        let alias = format_ident!("__keyderive_{}", unraw(ident), span = Span::call_site());
        let span =
            krate.to_token_stream().into_iter().next().map_or_else(Span::call_site, |token| token.span());
        let private = quote_spanned!(span=> __private);
        let import = quote!(use #krate::#private as #alias;);
        Self { private: alias.into_token_stream(), import: Some(import) }
    }
}
