//! Options that are a name alone.

use quote::ToTokens as _;
use syn::meta::ParseNestedMeta;

use super::{Attr, until_comma};
use crate::ctxt::Ctxt;

/// Sets an option that is a name alone.
pub(super) fn flag(cx: &Ctxt, meta: &ParseNestedMeta<'_>, attr: &mut Attr<()>) -> syn::Result<()> {
    no_value(cx, meta)?;
    attr.set(cx, &meta.path, ());
    Ok(())
}

/// Refuses what stands after a name that is understood alone: `desc = false` would be read as `desc`.
pub(super) fn no_value(cx: &Ctxt, meta: &ParseNestedMeta<'_>) -> syn::Result<()> {
    let value = until_comma(meta.input)?;
    if !value.is_empty() {
        let name = meta.path.to_token_stream();
        let mut written = name.clone();
        written.extend(value);
        cx.error(&written, format_args!("`{name}` takes no value; write `{name}` alone"));
    }
    Ok(())
}
