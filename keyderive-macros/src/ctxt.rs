//! Collects the errors and warnings of a key type, so that one run shows them all.

use std::cell::RefCell;
use std::fmt::Display;

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote};
use syn::Ident;

/// Collects errors and warnings. Panics if it is dropped before `check`, which would lose the errors.
pub(crate) struct Ctxt {
    /// `None` after `check`.
    errors: RefCell<Option<Vec<syn::Error>>>,
    /// The generated code that triggers them.
    warnings: RefCell<TokenStream>,
}

impl Ctxt {
    pub(crate) fn new() -> Self {
        Self { errors: RefCell::new(Some(Vec::new())), warnings: RefCell::default() }
    }

    /// Adds an error on all of `tokens`.
    pub(crate) fn error(&self, tokens: impl ToTokens, message: impl Display) {
        self.syn_error(syn::Error::new_spanned(tokens, message));
    }

    pub(crate) fn error_count(&self) -> usize {
        self.errors.borrow().as_ref().map_or(0, Vec::len)
    }

    pub(crate) fn syn_error(&self, error: syn::Error) {
        if let Some(errors) = self.errors.borrow_mut().as_mut() {
            errors.push(error);
        }
    }

    /// Adds a warning on the first of `tokens`. The compiler shows `name` before the message.
    pub(crate) fn warn(&self, tokens: impl ToTokens, name: &str, message: &str) {
        self.warnings.borrow_mut().extend(warning_code(tokens.into_token_stream(), name, message));
    }

    /// The generated code that triggers the warnings.
    pub(crate) fn take_warnings(&self) -> TokenStream {
        self.warnings.take()
    }

    /// All errors as one, if there were any.
    pub(crate) fn check(self) -> syn::Result<()> {
        let errors = self.errors.take().unwrap_or_default();
        match errors.into_iter().reduce(|mut all, error| {
            all.combine(error);
            all
        }) {
            Some(all) => Err(all),
            None => Ok(()),
        }
    }
}

impl Drop for Ctxt {
    fn drop(&mut self) {
        assert!(
            self.errors.borrow().is_none() || std::thread::panicking(),
            "a bug in keyderive: the errors of a key type were not checked"
        );
    }
}

/// A stable derive cannot emit warnings, so this generates the use of a deprecated constant on the tokens at fault.
fn warning_code(tokens: TokenStream, name: &str, message: &str) -> TokenStream {
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
