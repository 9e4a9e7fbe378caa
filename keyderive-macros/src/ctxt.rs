//! The collector of errors: all faults of a key type in one run.

use std::cell::RefCell;
use std::fmt::Display;

use proc_macro2::TokenStream;
use quote::ToTokens;

use crate::warning;

/// Collects errors until it is checked. Dropping it unchecked would lose them, so that panics.
pub(crate) struct Ctxt {
    /// None once checked.
    errors: RefCell<Option<Vec<syn::Error>>>,
    /// As they are printed.
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

    /// How many errors there are so far.
    pub(crate) fn count(&self) -> usize {
        self.errors.borrow().as_ref().map_or(0, Vec::len)
    }

    pub(crate) fn syn_error(&self, error: syn::Error) {
        if let Some(errors) = self.errors.borrow_mut().as_mut() {
            errors.push(error);
        }
    }

    /// Adds a warning on the first of `tokens`, under a name.
    pub(crate) fn warn(&self, tokens: impl ToTokens, name: &str, message: &str) {
        self.warnings.borrow_mut().extend(warning::print(tokens.into_token_stream(), name, message));
    }

    /// The code that makes the compiler say the warnings.
    pub(crate) fn warnings(&self) -> TokenStream {
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
