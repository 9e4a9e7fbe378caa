//! A derive that prints nothing, with attributes that keyderive does not own.

use proc_macro::TokenStream;

/// Takes `#[ts(…)]`, `#[uuid]`, `#[tag]`, `#[salt]`, `#[pad]` and `#[reverse_ts]` in any form.
#[proc_macro_derive(Other, attributes(ts, uuid, tag, salt, pad, reverse_ts))]
pub fn derive_other(_: TokenStream) -> TokenStream {
    TokenStream::new()
}
