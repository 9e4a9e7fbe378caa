//! The derive macros of [`keyderive`](https://docs.rs/keyderive); use them through that crate.
//!
//! Each derive is a module, with a module for each stage: `attr` parses the attributes, `model` builds the model of the type, `check`
//! checks the rules that need more than one part of it, and `expand` generates the code. The derives know nothing of each
//! other, except that `Cell` reads codes as `KeyField` does. They share this: `attr` reads options, `types` looks at types,
//! `tokens` prints code, `names` has the names of all options, and every stage reports to one `ctxt::Ctxt`, so that one run
//! shows all faults.

#![warn(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, clippy::print_stderr)]

mod attr;
mod cell;
mod ctxt;
mod key_field;
mod names;
mod query_row;
mod row;
mod row_key;
mod tokens;
mod types;

#[doc = include_str!("docs/row_key.md")]
#[proc_macro_derive(RowKey, attributes(row_key, salt, pad, reverse_ts))]
pub fn derive_row_key(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    match syn::parse(input) {
        Ok(input) => row_key::row_key(&input),
        Err(error) => error.into_compile_error(),
    }
    .into()
}

#[doc = include_str!("docs/key_field.md")]
#[proc_macro_derive(KeyField, attributes(row_key, salt, pad, reverse_ts))]
pub fn derive_key_field(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    match syn::parse(input) {
        Ok(input) => key_field::key_field(&input),
        Err(error) => error.into_compile_error(),
    }
    .into()
}

#[doc = include_str!("docs/cell.md")]
#[proc_macro_derive(Cell, attributes(row))]
pub fn derive_cell(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    match syn::parse(input) {
        Ok(input) => cell::cell(&input),
        Err(error) => error.into_compile_error(),
    }
    .into()
}

#[doc = include_str!("docs/row.md")]
#[proc_macro_derive(Row, attributes(row))]
pub fn derive_row(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    match syn::parse(input) {
        Ok(input) => row::row(&input),
        Err(error) => error.into_compile_error(),
    }
    .into()
}

#[doc = include_str!("docs/from_query_row.md")]
#[proc_macro_derive(FromQueryRow, attributes(query))]
pub fn derive_from_query_row(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    match syn::parse(input) {
        Ok(input) => query_row::query_row(&input),
        Err(error) => error.into_compile_error(),
    }
    .into()
}

#[cfg(test)]
mod tests;
