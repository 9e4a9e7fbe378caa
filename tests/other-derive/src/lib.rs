//! A derive that prints nothing, with attributes that keyderive does not own.

use proc_macro::TokenStream;

/// Takes `#[ts(…)]`, `#[uuid]` and `#[tag]` in any form.
#[proc_macro_derive(Other, attributes(ts, uuid, tag))]
pub fn derive_other(_: TokenStream) -> TokenStream {
    TokenStream::new()
}
