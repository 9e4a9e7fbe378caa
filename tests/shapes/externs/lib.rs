//! Which files of crates a crate is compiled with, for tests that call the compiler themselves.

use proc_macro::TokenStream;

/// Expands to the names and files of the crates that cargo gave the compiler by `--extern`, as a `&[(&str, &str)]`.
///
/// The build folder can hold one crate several times, with other features. A macro runs in the compiler, whose arguments say which of them
/// is linked.
#[proc_macro]
pub fn externs(_: TokenStream) -> TokenStream {
    let arguments: Vec<String> = std::env::args().collect();
    let externs = arguments.windows(2).filter(|pair| pair[0] == "--extern").filter_map(|pair| {
        // Options may stand before the name, as in `priv:name=file`.
        let (name, file) = pair[1].split_once('=')?;
        Some(format!("({:?}, {file:?}),", name.rsplit(':').next()?))
    });
    let externs: String = externs.collect();
    format!("&[{externs}]").parse().unwrap_or_default()
}
