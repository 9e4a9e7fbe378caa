//! The derive macros of [`keyderive`](https://docs.rs/keyderive); use them through that crate.
//!
//! Four stages, each its own module: `attr` parses attributes, `model` puts the key type together,
//! `check` holds the rules that need more than one part of it, `expand` prints. Every stage reports to
//! one `ctxt::Ctxt`, so that all faults of a key type are seen in one run; after a fault `fallback`
//! prints stub impls beside the errors, so that one mistake is not reported again at every use.

mod attr;
mod check;
mod ctxt;
mod expand;
mod fallback;
mod model;
mod names;

use proc_macro2::TokenStream;
use syn::DeriveInput;

/// Derives [`RowKey`](https://docs.rs/keyderive/latest/keyderive/trait.RowKey.html) for a struct with
/// named fields: encode, decode, the schema and the typed scan builder.
///
/// ```
/// use keyderive::RowKey;
///
/// #[derive(RowKey)]
/// #[salt(range = 4, over = "user_id,site")]
/// struct EventKey {
///     user_id: String,
///     site: String,
///     #[reverse_ts]
///     at: u64,
///     #[pad(6)]
///     seq: u32,
/// }
/// ```
///
/// # Attributes on the struct
/// - `#[salt(range = 4, over = "user_id,site")]` puts a bucket of `0..range` in front, chosen by a hash of
///   the fields named, of all fields without `over`. `range` is 2 to 4096. `over(user_id, site)` is the
///   same with one token a field.
/// - `#[row_key(tag = "BATTERY")]` a constant that every key begins with, in front of the salt.
/// - `#[row_key(delimiter = '-')]` the character between the parts, `#` without it.
/// - `#[row_key(allow(hotspot))]` allows a key that begins with a value which only grows.
/// - `#[row_key(crate = "path")]` where to find `keyderive`, for a renamed or re-exported crate.
///
/// # Attributes on a field
/// - `#[pad(6)]` an integer in 6 digits, zero padded; a string in 6 bytes, space padded on the right.
/// - `#[reverse_ts]` an integer as `i64::MAX - t`, so that the newest comes first;
///   `#[reverse_ts(max = 9999999999999)]` as `max - t` in the digits of `max`.
/// - `#[row_key(sequential)]` says that the field only grows.
///
/// # The scan builder
/// Beside the struct, `<Name>Scan` is declared with the struct's visibility. For a field `f` it has `.f(v)`,
/// `.f_range(a..b)` and `.f_prefix("x")`; they compile only in the order of the fields.
#[proc_macro_derive(RowKey, attributes(row_key, salt, pad, reverse_ts))]
pub fn derive_row_key(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    match syn::parse(input) {
        Ok(input) => row_key(&input),
        Err(error) => error.into_compile_error(),
    }
    .into()
}

/// The derive on tokens that need no compiler, for tests in the process.
fn row_key(input: &DeriveInput) -> TokenStream {
    let cx = ctxt::Ctxt::new();
    let key = model::Key::from_input(&cx, input);
    if let Some(key) = &key {
        check::check(&cx, key);
    }
    match (key, cx.check()) {
        (Some(key), Ok(())) => expand::row_key(&key),
        (key, errors) => {
            let errors = errors.err().map(syn::Error::into_compile_error);
            let stub = fallback::row_key(input, key.as_ref());
            quote::quote!(#errors #stub)
        }
    }
}

#[cfg(test)]
mod tests;
